package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// arranged is an exchange on its way to its place in the file.
type arranged struct {
	*exchange
	after *arranged         // whose reply the contents go on from; may be nil
	fresh []json.RawMessage // the contents since then, or all
	next  []*arranged       // those that come right after it
}

// arrange gives exchanges as they are written, in the order that the package's
// documentation says.
func arrange(exchanges []*exchange) []*written {
	all := make([]*arranged, len(exchanges))
	for i, x := range exchanges {
		all[i] = &arranged{exchange: x}
	}
	slices.SortFunc(all, func(a, b *arranged) int { return a.begun - b.begun })
	link(all)
	var first []*arranged
	questions := make(map[key]*arranged)
	for _, x := range all {
		before := x.after
		if q := questions[x.question(x.asked)]; x.request.answer != "" && q != nil {
			before = q
		}
		if asks := x.question(x.asks); x.asks != "" && questions[asks] == nil {
			questions[asks] = x
		}
		if before == nil {
			first = append(first, x)
		} else {
			before.next = append(before.next, x)
		}
	}
	list := make([]*written, 0, len(all))
	for stack := sorted(first); len(stack) > 0; {
		x := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], sorted(x.next)...)
		x.number = len(list) + 1
		list = append(list, x.write())
	}
	return list
}

// link finds what each exchange goes on from: the newest reply in its contents that
// is recorded. If several recorded ones fit, one with the same head is taken, and of
// those the first.
func link(all []*arranged) {
	replies := make(map[key][]*arranged) // by agent and place, with and without head
	for _, x := range all {
		if x.then != nil {
			every := key{agent: x.request.agent, at: x.then}
			same := key{agent: x.request.agent, at: x.then, head: x.request.head}
			replies[every], replies[same] = append(replies[every], x), append(replies[same], x)
		}
	}
	for _, x := range all {
		for n := x.request.at; n != nil && x.after == nil; n = n.parent {
			if fit := replies[key{agent: x.request.agent, at: n, head: x.request.head}]; fit != nil {
				x.after = slices.MinFunc(fit, compareHere)
			} else if fit := replies[key{agent: x.request.agent, at: n}]; fit != nil {
				x.after = slices.MinFunc(fit, compareHere)
			}
		}
		var from *node
		if x.after != nil {
			from = x.after.then
		}
		x.fresh = x.request.at.since(from)
	}
}

// sizeOf is what an exchange adds to the file, or a little more. replied has where the
// conversations stand that it may go on from, by agent and place, with and without
// head.
func sizeOf(x *exchange, replied map[key]bool) (int, error) {
	k := key{agent: x.request.agent}
	for k.at = x.request.at; k.at != nil && !replied[k]; k.at = k.at.parent {
		continue
	}
	other := &head{system: "\x00", tools: "\x00", hosted: "\x00", schema: "\x00"} // nobody has it, so all is written
	if k.head = x.request.head; replied[k] {
		other = k.head
	}
	own := *x
	own.number = maxSize // no number has more digits
	before := &arranged{exchange: &exchange{request: key{head: other}, number: maxSize}}
	data, err := encode([]*written{(&arranged{exchange: &own, after: before, fresh: x.request.at.since(k.at)}).write()})
	return len(data), err
}

// question is the key of a question that the model asked at this place.
func (x *arranged) question(text string) key {
	k := x.request
	k.answer = text
	return k
}

// sorted puts the exchanges that come after the same one in order, last first.
func sorted(list []*arranged) []*arranged {
	slices.SortFunc(list, func(a, b *arranged) int { return compare(b, a) })
	return list
}

func compare(a, b *arranged) int {
	return cmp.Or(
		strings.Compare(a.request.agent, b.request.agent),
		slices.CompareFunc(a.fresh, b.fresh, func(a, b json.RawMessage) int { return bytes.Compare(a, b) }),
		compareHere(a, b),
	)
}

// compareHere compares requests of one agent with the same contents.
func compareHere(a, b *arranged) int {
	g, h := a.request.head, b.request.head
	return cmp.Or(
		strings.Compare(g.system, h.system), strings.Compare(g.tools, h.tools),
		strings.Compare(g.hosted, h.hosted), strings.Compare(g.schema, h.schema),
		strings.Compare(a.request.answer, b.request.answer),
		a.begun-b.begun,
	)
}

// write gives the form that the file has. The number of what x goes on from is set.
func (x *arranged) write() *written {
	w := &written{Number: x.number, Agent: x.request.agent, outcome: x.outcome}
	r, h, common := &w.Request, x.request.head, head{}
	if x.after != nil {
		r.After, common = x.after.number, *x.after.request.head
	}
	r.Contents = x.fresh
	if h.system != common.system {
		r.System = lines(h.system)
	}
	if h.tools != common.tools {
		r.Tools = json.RawMessage(cmp.Or(h.tools, "[]"))
	}
	if h.hosted != common.hosted {
		r.Hosted = lines(h.hosted)
	}
	if h.schema != common.schema {
		r.OutputSchema = json.RawMessage(cmp.Or(h.schema, "null"))
	}
	r.Answer = json.RawMessage(x.request.answer)
	return w
}

// lines gives the lines of a text, none of an empty one.
func lines(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}
