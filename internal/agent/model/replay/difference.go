package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// explain says why no recorded exchange matches a request, for the person who can
// record anew. way is as far as its contents are known.
func (p *Player) explain(agent string, r *request, way []*node) string {
	x := p.closest(agent, r, way)
	if x == nil {
		return fmt.Sprintf("no recorded exchange matches this request: %s has none of agent %q, only of: %s. Record again with --record FILE",
			p.name, agent, cmp.Or(strings.Join(p.agents(), ", "), "none"))
	}
	diffs := differences(x, r)
	names := make([]string, len(diffs))
	var out report
	for i, d := range diffs {
		names[i] = d.part
		out.line(d.part + ":")
		for _, line := range d.lines {
			out.line(line)
		}
	}
	return fmt.Sprintf("no recorded exchange of agent %q matches this request. The closest is exchange %d of %s, which differs in %s (- recorded, + now):\n%s"+
		"If that is meant, record again: with --record FILE, or adkmcp test --live", agent, x.number, p.name, shorten(strings.Join(names, ", "), 0, 300), out.String())
}

// agents names those of the recording.
func (p *Player) agents() []string {
	var names []string
	for _, x := range p.exchanges {
		names = append(names, x.request.agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// closest finds the exchange of the agent that is most like r; nil if it has none.
func (p *Player) closest(agent string, r *request, way []*node) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Where each recorded conversation leaves the way, and its first node beside it.
	leaves := make([]int, len(p.tree.nodes))
	beside := make([]*node, len(p.tree.nodes))
	for i, n := range p.tree.nodes {
		switch {
		case n.depth < len(way) && way[n.depth] == n:
			leaves[i] = n.depth
		case beside[n.parent.place] == nil:
			leaves[i], beside[i] = leaves[n.parent.place], n
		default:
			leaves[i], beside[i] = leaves[n.parent.place], beside[n.parent.place]
		}
	}
	var best *exchange
	var record []int
	for _, x := range p.exchanges {
		if x.request.agent != agent {
			continue
		}
		at := x.request.at
		common, head, alike := leaves[at.place], 0, 0
		if *x.request.head == r.head {
			head = 1
		}
		if n := beside[at.place]; n != nil && common < len(r.contents) {
			alike = shared(n.json, r.contents[common].json)
		}
		// First the contents that are the same, then how many more or less there are,
		// the head, what the first contents that differ share, and what has not played.
		c := []int{
			common, min(at.depth-len(r.contents), len(r.contents)-at.depth), head, alike,
			len(p.equal[x.request]) - p.played[x.request],
		}
		if best == nil || slices.Compare(c, record) > 0 {
			best, record = x, c
		}
	}
	return best
}

// shared counts the bytes that two texts begin and end with alike.
func shared(a, b string) int {
	n := begin(a, b)
	a, b = a[n:], b[n:]
	m := 0
	for m < len(a) && m < len(b) && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}

// difference is a part of two requests that differs, as lines.
type difference struct {
	part  string
	lines []string
}

// differences lists what differs between a recorded request and one now.
func differences(x *exchange, r *request) []difference {
	var list []difference
	add := func(part string, recorded, now []string) {
		if d := diff(recorded, now); d != nil {
			list = append(list, difference{part, d})
		}
	}
	old, now := x.request.head, &r.head
	add("instruction", lines(old.system), lines(now.system))
	was, wasOrder := toolTexts(old.tools)
	is, isOrder := toolTexts(now.tools)
	names := slices.Concat(wasOrder, isOrder)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add("tool "+name, was[name], is[name])
	}
	if len(was) == len(is) {
		add("order of the tools", wasOrder, isOrder)
	}
	add("hosted tools", lines(old.hosted), lines(now.hosted))
	add("output_schema", indented(old.schema), indented(now.schema))
	recorded := x.request.at.since(nil)
	for i := range max(len(recorded), len(r.contents)) {
		var was, is string
		if i < len(recorded) {
			was = string(recorded[i])
		}
		if i < len(r.contents) {
			is = r.contents[i].json
		}
		if was != is { // those after it differ for its sake
			add(fmt.Sprintf("message %d", i+1), message(was), message(is))
			break
		}
	}
	add("answer to the suspension", indented(x.request.answer), indented(r.answer))
	return list
}

// toolTexts gives what each tool says, as lines, and the names in order.
func toolTexts(text string) (texts map[string][]string, order []string) {
	var list []tool
	_ = json.Unmarshal([]byte(text), &list) // nothing for none
	texts = make(map[string][]string, len(list))
	for _, t := range list {
		texts[t.Name] = slices.Concat([]string{"declared"}, lines(t.Description), indented(string(t.Parameters)))
		order = append(order, t.Name)
	}
	return texts, order
}

// message gives a content as lines: the text of parts that are nothing else, JSON of
// others.
func message(text string) []string {
	if text == "" {
		return nil
	}
	var c struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	}
	_ = json.Unmarshal([]byte(text), &c) // of null too
	list := []string{"role: " + c.Role}
	for _, raw := range c.Parts {
		var only struct {
			Text string `json:"text"`
		}
		if unmarshal(raw, &only) == nil {
			list = append(list, strings.Split(only.Text, "\n")...)
		} else {
			list = append(list, indented(string(raw))...)
		}
	}
	return list
}

// indented gives JSON as lines.
func indented(text string) []string {
	if text == "" {
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", " ") != nil {
		return []string{text}
	}
	return strings.Split(b.String(), "\n")
}
