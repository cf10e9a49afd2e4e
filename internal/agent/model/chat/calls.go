package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// callPieces puts the pieces of tool calls together.
//
// The API numbers calls by index, and gives the id and the name with the first piece
// of each. Servers leave the index out or have it 0 for all calls, give no ids or
// the same one twice, repeat the name with each piece, and send whole calls at once.
// So a piece with a name begins a call unless it plainly goes on with one.
type callPieces struct {
	calls []*gatheredCall
	event int // counts the events, to tell pieces of one from those of the next
}

type gatheredCall struct {
	index int // noIndex where the server gave none
	id    string
	name  string
	args  strings.Builder
	extra json.RawMessage
	event int // of the newest piece
}

const noIndex = -1

// add takes the pieces of one event.
func (c *callPieces) add(pieces []callPiece) {
	c.event++
	for i := range pieces {
		p := &pieces[i]
		name, args := asString(p.Function.Name), asArguments(p.Function.Arguments)
		call := c.goesOn(p, name, args)
		if call == nil {
			call = &gatheredCall{index: noIndex, name: name}
			if p.Index != nil {
				call.index = *p.Index
			}
			c.calls = append(c.calls, call)
		}
		if call.id == "" {
			call.id = asString(p.ID)
		}
		if call.name == "" {
			call.name = name
		}
		if isSet(p.Extra) {
			call.extra = p.Extra
		}
		call.args.WriteString(args)
		call.event = c.event
	}
}

// goesOn gives the call that a piece goes on with, nil where it begins one.
func (c *callPieces) goesOn(p *callPiece, name, args string) *gatheredCall {
	id := asString(p.ID)
	call := c.newest(p.Index, id, name)
	switch {
	case call == nil:
		return nil
	case id != "" && call.id != "" && id != call.id:
		return nil
	case name == "" || call.name == "":
		return call
	case name != call.name, call.event == c.event, id == "" && call.whole() && args != "":
		return nil
	case call.whole() && args != "": // the same id again, and all of another call
		return nil
	}
	return call // the name is repeated
}

// newest is the last call that a piece may belong to: of its index, or of its id, or
// the last of all.
func (c *callPieces) newest(index *int, id, name string) *gatheredCall {
	for _, call := range slices.Backward(c.calls) {
		switch {
		case index != nil && call.index != *index:
		case index == nil && name == "" && id != "" && call.id != id:
		default:
			return call
		}
	}
	return nil
}

// whole reports whether there is no more to come of the arguments.
func (g *gatheredCall) whole() bool {
	args := g.args.String()
	return args != "" && json.Valid([]byte(args))
}

// parts are the calls as parts of a reply. A call that cannot be read is given as
// broken, by its name.
func (c *callPieces) parts(origin string) (parts []*genai.Part, broken string, ok bool) {
	seen := make(map[string]bool, len(c.calls))
	for _, g := range c.calls {
		args, err := wire.ReadArguments([]byte(g.args.String()))
		if err != nil || g.name == "" {
			return nil, g.name, false
		}
		call := &genai.FunctionCall{ID: g.id, Name: g.name, Args: args}
		if seen[g.id] { // the runner gives it one of its own
			call.ID = ""
		}
		seen[g.id] = true
		parts = append(parts, &genai.Part{FunctionCall: call, ThoughtSignature: kept{Extra: g.extra}.sign(origin)})
	}
	return parts, "", true
}
