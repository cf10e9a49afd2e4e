package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// event is an event of a stream (OpenAI, "Streaming events"). What it holds is read
// only where the event's type is known.
type event struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Output   int             `json:"output_index"`
	Summary  int             `json:"summary_index"`
	Item     json.RawMessage `json:"item"`
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// response is an answer, as the last event of a stream tells it.
type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type usage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64 `json:"total_tokens"`
}

// gathering puts the events of one answer together.
type gathering struct {
	events  int
	items   map[int]json.RawMessage // those that are whole, by their place
	begun   map[int]*history.Item   // as they began, by their place too
	final   *response
	failure *serviceError
	lost    *model.Usage // of answers before it that failed
	broken  *model.Error // why there is no more than this; nil for a whole answer
}

// add takes the next event and gives what there is to show of it, nil for nothing.
// Calls come with the whole answer only.
func (g *gathering) add(e wire.Event) (*model.Reply, error) {
	g.events++
	if e.Name == "json" { // a server that does not stream
		return nil, g.end(e.Data)
	}
	if string(e.Data) == "[DONE]" { // some gateways say so besides
		return nil, nil
	}
	var ev event
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return nil, wire.ErrCut
	}
	switch cmp.Or(ev.Type, e.Name) {
	case "response.output_item.added":
		if begun, err := history.Read(ev.Item); err == nil && begun != nil {
			if g.begun == nil {
				g.begun = make(map[int]*history.Item, 4)
			}
			g.begun[ev.Output] = begun
		}
	case "response.output_text.delta":
		return piece(ev.text(), g.isCommentary(ev.Output)), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return piece(ev.text(), true), nil
	case "response.reasoning_summary_part.added":
		if ev.Summary > 0 {
			return piece("\n\n", true), nil
		}
	case "response.output_item.done":
		if g.items == nil {
			g.items = make(map[int]json.RawMessage, 4)
		}
		g.items[ev.Output] = bytes.Clone(ev.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return nil, g.end(ev.Response)
	case "error":
		g.fail(cmp.Or(readError(ev.Error), readError(e.Data)))
	}
	return nil, nil
}

// isCommentary reports whether the message at a place comes before the answer.
func (g *gathering) isCommentary(at int) bool {
	begun := g.begun[at]
	return begun != nil && begun.Phase == history.Commentary
}

// text is what a delta holds; events of the same name that hold something else have
// none.
func (e *event) text() string {
	var s string
	if json.Unmarshal(e.Delta, &s) != nil {
		return ""
	}
	return s
}

func piece(text string, thought bool) *model.Reply {
	if text == "" {
		return nil
	}
	return &model.Reply{Partial: true, Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: text, Thought: thought}}}}
}

// end takes the last word about an answer.
func (g *gathering) end(raw []byte) error {
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return wire.ErrCut
	}
	switch r.Status {
	case "completed", "incomplete":
		g.final = &r
	case "failed":
		g.take(r.Output)
		g.fail(readError(r.Error))
		g.failure.used = r.Usage
	case "":
		if e := readError(r.Error); e != nil {
			g.fail(e)
			return nil
		}
		return &model.Error{Code: model.Misconfigured, Message: "the answer is not that of OpenAI's Responses API: check model.base_url and the proxy"}
	default: // cancelled, or not done yet
		g.take(r.Output)
		return wire.ErrCut
	}
	return nil
}

// take adds the items that only the end of an answer tells of.
func (g *gathering) take(output []json.RawMessage) {
	if len(output) > len(g.items) {
		g.items = make(map[int]json.RawMessage, len(output))
		for at, raw := range output {
			g.items[at] = raw
		}
	}
}

// acted reports whether the service has called servers, or has begun to.
func (g *gathering) acted() bool {
	whole := func(raw json.RawMessage) bool {
		i, err := history.Read(raw)
		return err == nil && i != nil && ran(i)
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(g.items)), whole) || slices.ContainsFunc(slices.Collect(maps.Values(g.begun)), ran)
}

// fail takes an error of the service's; nil for one without any words.
func (g *gathering) fail(e *serviceError) {
	if g.failure = e; e == nil {
		g.failure = &serviceError{}
	}
}

// unfinished says why there is no last word.
func (g *gathering) unfinished() *model.Error {
	if g.events == 0 {
		return &model.Error{Code: model.Unavailable, Message: "OpenAI's answer had no content at all"}
	}
	return &model.Error{Code: model.StreamCut, Message: "OpenAI's answer ended without a finish marker"}
}

// keep makes what there is of an answer that broke off the whole of it, if the service
// has called servers in it: asking again would call them again. It reports whether there
// is such an answer.
func (g *gathering) keep(why error) bool {
	var known *model.Error
	if !g.acted() || !errors.As(why, &known) {
		return false
	}
	g.final, g.broken = &response{}, known
	if g.failure != nil {
		g.final.Usage = g.failure.used
	}
	return true
}

// unknown lists the calls of servers whose results never came.
func (g *gathering) unknown() []*genai.Part {
	var parts []*genai.Part
	for _, at := range slices.Sorted(maps.Keys(g.begun)) {
		if i := g.begun[at]; i.Type == history.TypeRan && g.items[at] == nil && g.broken != nil {
			parts = append(parts, history.Note("[began to run "+i.Tool()+"; whether it did is not known]"))
		}
	}
	return parts
}

// output lists what the service said, in its order. Some servers tell the items only
// one by one, others only at the end.
func (g *gathering) output() (items []*history.Item, unread *model.Error) {
	all := g.final.Output
	if len(all) < len(g.items) {
		all = make([]json.RawMessage, 0, len(g.items))
		for _, at := range slices.Sorted(maps.Keys(g.items)) {
			all = append(all, g.items[at])
		}
	}
	items = make([]*history.Item, 0, len(all))
	for _, raw := range all {
		i, err := history.Read(raw)
		if err != nil {
			unread = &model.Error{Code: model.StreamCut, Message: "OpenAI's answer could not be read"}
			continue
		}
		if i != nil {
			items = append(items, i)
		}
	}
	return items, unread
}

// tokens is what the answer used.
func (g *gathering) tokens() *model.Usage { return g.final.Usage.tokens().After(g.lost) }

// tokens gives figures as the program counts them; nil for none.
func (u *usage) tokens() *model.Usage {
	if u == nil {
		return nil
	}
	return &model.Usage{
		Input: u.Input, Cached: u.InputDetails.Cached,
		Output: max(0, u.Output-u.OutputDetails.Reasoning), Thoughts: u.OutputDetails.Reasoning,
		Total: cmp.Or(u.Total, u.Input+u.Output),
	}
}
