package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/replay/difference"
)

// again says what to do about a request that was not recorded.
const again = "record again: with --record FILE, or adkmcp test --live"

// explain says why no recorded exchange matches a request, for the person who can
// record anew. way is as far as its contents are known.
func (p *Player) explain(agent string, r *request, way []*node) string {
	x := p.closest(agent, r, way)
	if x == nil {
		return fmt.Sprintf("no recorded exchange matches this request: %s has none of agent %q, only of: %s; "+again,
			p.name, agent, cmp.Or(strings.Join(p.agents(), ", "), "none"))
	}
	parts, text := difference.Show(x.request.shown(), r.shown())
	return fmt.Sprintf("no recorded exchange of agent %q matches this request. The closest is exchange %d of %s, which differs in %s (- recorded, + now):\n%s"+
		"If that is meant, "+again, agent, x.number, p.name, parts, text)
}

// shown gives a request to those who show it.
func (r *request) shown() *difference.Request {
	all := r.head.shown(r.answer)
	for _, c := range r.contents {
		all.Contents = append(all.Contents, c.json)
	}
	return all
}

// shown gives the request of a key to those who show it.
func (k key) shown() *difference.Request {
	all := k.head.shown(k.answer)
	for _, raw := range k.at.since(nil) {
		all.Contents = append(all.Contents, string(raw))
	}
	return all
}

func (h *head) shown(answer string) *difference.Request {
	return &difference.Request{System: h.system, Tools: h.tools, Hosted: h.hosted, Schema: h.schema, Answer: answer}
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
			alike = difference.Alike(n.json, r.contents[common].json)
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
