package chunk

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxCalls bounds the calls of one answer; no service takes nearly as many results.
const maxCalls = 1000

// Calls puts tool calls together of their pieces. The zero value is ready for use.
//
// The API numbers calls by index, and gives the id and the name with the first piece
// of each. Servers leave the index out or have it 0 for all calls, give no ids or
// the same one twice, repeat the name with each piece, and send whole calls at once.
// So a piece with a name begins a call unless it plainly goes on with one.
//
// Servers also say a call again when they have given all of it: at another index, in
// a last chunk, in a whole message behind the chunks. Such a call must not be made
// twice, so what is said again counts as one (see [Calls.All]).
type Calls struct {
	calls []*gathered
	event int  // counts the events, to tell pieces of one from those of the next
	many  bool // there were more than maxCalls
}

// Call is a call that a model makes.
type Call struct {
	ID    string // empty where there is none, or another call of the answer has it
	Name  string
	Args  map[string]any // every digit kept
	Extra json.RawMessage
}

// Add takes the pieces of one event.
func (c *Calls) Add(pieces []Piece) {
	c.event++
	for i := range pieces {
		p := &pieces[i]
		if p.ID == "" && p.Name == "" && p.Args == "" && p.Extra == nil {
			continue
		}
		call := c.goesOn(p)
		if call == nil {
			call = c.begin(p)
		}
		call.take(p)
		call.event = c.event
	}
}

// begin begins a call.
func (c *Calls) begin(p *Piece) *gathered {
	call := &gathered{index: p.Index, numbered: p.Numbered}
	if c.many = c.many || len(c.calls) == maxCalls; !c.many {
		c.calls = append(c.calls, call)
	}
	return call
}

// goesOn gives the call that a piece goes on with, nil where it begins one.
func (c *Calls) goesOn(p *Piece) *gathered {
	call := c.newest(p)
	switch {
	case call == nil:
		return nil
	case p.ID != "" && call.id != "" && p.ID != call.id:
		return nil
	case p.Name == "" || call.name == "":
		return call
	case call.event == c.event:
		return nil
	case p.Name != call.name:
		// The rest of a name: where calls have ids and numbers, one that begins has
		// an id.
		if p.Numbered && p.ID == "" && call.id != "" && call.args.Len() == 0 {
			return call
		}
		return nil
	case p.Args == "": // the name is repeated, or begins another call without arguments
		if p.ID == "" && call.id == "" && !p.Numbered && call.args.Len() == 0 {
			return nil
		}
		return call
	case p.ID == "" && call.id == "" && call.whole():
		return nil
	case call.whole() && !call.blank(): // all of another call, or of this one again
		return nil
	}
	return call
}

// newest is the last call that a piece may belong to: of its index, or of its id, or
// the last of all.
func (c *Calls) newest(p *Piece) *gathered {
	for _, call := range slices.Backward(c.calls) {
		switch {
		case p.Numbered && (!call.numbered || call.index != p.Index):
		case !p.Numbered && p.Name == "" && p.ID != "" && call.id != p.ID:
		default:
			return call
		}
	}
	return nil
}

// Repeat takes the calls of a message that comes behind pieces: it has all calls of
// the answer, and what is not among those that the pieces gave is added.
func (c *Calls) Repeat(message []Piece) {
	c.event++
	if c.many = c.many || len(message) > maxCalls; c.many {
		return
	}
	open := slices.Clone(c.calls) // which the message has not named yet
	var rest []*Piece
	for i := range message {
		p := &message[i]
		if !settle(&open, p, func(g *gathered) bool { return g.says(p.Args) }) {
			rest = append(rest, p)
		}
	}
	for _, p := range rest { // one that either of them gave in part
		if !settle(&open, p, func(g *gathered) bool { return sameID(g.id, p.ID) && (g.blank() || !g.whole() || isBlank(p.Args)) }) {
			c.begin(p).take(p)
		}
	}
}

// settle finds the open call of a piece's name that is like it, and has it take what
// it lacks of the whole call that the piece is.
func settle(open *[]*gathered, p *Piece, like func(*gathered) bool) bool {
	at := slices.IndexFunc(*open, func(g *gathered) bool { return g.name == p.Name && like(g) })
	if at < 0 {
		return false
	}
	call, whole := (*open)[at], *p
	*open = slices.Delete(*open, at, at+1)
	if isBlank(p.Args) || call.says(p.Args) {
		whole.Args = ""
	} else {
		call.args.Reset()
	}
	call.take(&whole)
	return true
}

// All gives the calls, each once: those of the same name and arguments are one if
// they have the same id, or if only one of them has any, as in a chunk that says it
// again. Without ids they stay two. problem says what is wrong with them, empty for
// nothing: then there are no calls.
func (c *Calls) All() (calls []Call, problem string) {
	if c.many {
		return nil, fmt.Sprintf("the model made more than %d calls at once", maxCalls)
	}
	var kept []*gathered
	for _, g := range c.calls {
		args, err := wire.ReadArguments([]byte(g.args.String()))
		switch {
		case g.name == "":
			return nil, "the model made a call that names no tool"
		case err != nil:
			return nil, fmt.Sprintf("the model made a call of the tool %q whose arguments are no JSON object", g.name)
		}
		if len(c.calls) > 1 {
			g.key = key(args)
		}
		if slices.ContainsFunc(kept, g.repeats) {
			continue
		}
		call := Call{ID: g.id, Name: g.name, Args: args, Extra: g.extra}
		if slices.ContainsFunc(kept, func(k *gathered) bool { return k.id == g.id }) {
			call.ID = ""
		}
		kept, calls = append(kept, g), append(calls, call)
	}
	return calls, ""
}
