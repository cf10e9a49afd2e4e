package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Bounds of a question about an approval.
const (
	maxShown  = 4096    // bytes of the arguments that a person is shown
	maxParked = 1 << 20 // bytes of what is kept until the answer
)

// exchange is what the service said and was told in this step, before the request
// that is to be made. A step with approvals has several requests; the turn parks
// between them.
type exchange struct {
	items   []*history.Item
	asks    *history.Item // the first request for an approval that nobody has answered
	servers history.Request
}

// parked is the Opaque of a question: an exchange, and which of its requests the
// question is about.
type parked struct {
	OpenAI *parkedItems `json:"openai"`
}

type parkedItems struct {
	Items []json.RawMessage `json:"items"`
	Asks  string            `json:"asks"`
}

// readParked reads an Opaque; nil for one of another model.
func readParked(opaque json.RawMessage) *parkedItems {
	var p parked
	if json.Unmarshal(opaque, &p) != nil {
		return nil
	}
	return p.OpenAI
}

// resume gives the exchange so far, the answer to the last question included.
// Requests for an approval that came beside calls of the agent's own tools stand in
// the history of this turn.
func (m *Model) resume(req *model.Request) (*exchange, error) {
	_, servers, err := m.host(req)
	if err != nil {
		return nil, err
	}
	so := &exchange{servers: servers}
	if req.Asked != nil && req.Answer != nil {
		if err := so.answer(req.Asked, req.Answer); err != nil {
			return nil, err
		}
	}
	var all []*history.Item
	for _, c := range req.Contents[min(max(0, req.Turn), len(req.Contents)):] {
		if c == nil {
			continue
		}
		for _, p := range c.Parts {
			if i := history.Signed(p); i != nil {
				all = append(all, i)
			}
		}
	}
	so.find(append(all, so.items...), servers)
	return so, nil
}

// answer takes up the exchange that a question was parked with. A question that
// another model asked is none of ours, and this model begins the step anew.
func (so *exchange) answer(asked *model.Suspension, a *model.Answer) error {
	kept := readParked(asked.Opaque)
	if kept == nil {
		return nil
	}
	decision := map[string]any{"type": history.TypeAnswers, "approval_request_id": kept.Asks, "approve": a.Action == model.Accept}
	switch {
	case a.Action == model.Decline:
		decision["reason"] = cmp.Or(a.Reason, "the person declined")
	case a.Action != model.Accept:
		decision["reason"] = cmp.Or(a.Reason, "nobody approved it")
	}
	raw, err := wire.Encode(decision)
	if err != nil {
		return err
	}
	for _, raw := range append(kept.Items, raw) {
		i, err := history.Read(raw)
		if err != nil {
			return fmt.Errorf("what was kept with the question about %s cannot be read: %w", asked.Tool, err)
		}
		if i != nil {
			so.items = append(so.items, i)
		}
	}
	return nil
}

// find looks for the first request that nobody has answered.
func (so *exchange) find(all []*history.Item, servers history.Request) {
	answered := make(map[string]bool)
	for _, i := range all {
		if i.Type == history.TypeAnswers {
			answered[i.Request] = true
		}
	}
	for _, i := range all {
		if i.Type == history.TypeAsks && !answered[i.ID] && servers.Takes(i) {
			so.asks = i
			return
		}
	}
}

// with is the exchange with what the service has said now.
func (so *exchange) with(said []*history.Item) *exchange {
	next := &exchange{items: append(so.items[:len(so.items):len(so.items)], said...), servers: so.servers}
	for _, i := range said {
		if i.Type == history.TypeAsks && so.servers.Takes(i) {
			next.asks = i
			break
		}
	}
	return next
}

// suspend is the reply that asks a person about the call that waits for it.
func (so *exchange) suspend(used *model.Usage) (*model.Reply, error) {
	kept := &parkedItems{Asks: so.asks.ID}
	for _, i := range so.items {
		kept.Items = append(kept.Items, i.Raw)
	}
	opaque, err := wire.Encode(parked{kept})
	if err != nil {
		return nil, err
	}
	tool := so.asks.Tool()
	if len(opaque) > maxParked {
		return nil, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("%s wants to run %s, and what has to be kept until somebody approves it has %d bytes, more than %d: "+
			"list fewer tools of the server in allowed_tools, or let require_approval be never", name, tool, len(opaque), maxParked)}
	}
	return &model.Reply{Usage: used, Suspend: &model.Suspension{
		Kind: model.Approval, Tool: tool, Message: "The model wants to run " + tool, Payload: shown(so.asks.Arguments), Opaque: opaque,
	}}, nil
}

// shown gives a call's arguments as a person should see them: what is invisible is
// escaped, since a person should approve what will run and not what it looks like,
// and what is too long is cut and says so.
func shown(arguments string) json.RawMessage {
	text := escape(arguments)
	if args, err := wire.ReadArguments([]byte(arguments)); err == nil && len(text) <= maxShown {
		if len(args) == 0 {
			return json.RawMessage(`{}`)
		}
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	if missing := len(text) - maxShown/2; missing > 0 {
		text = fmt.Sprintf("%s [... %d bytes left out ...]", strings.ToValidUTF8(text[:maxShown/2], ""), missing)
	}
	raw, _ := json.Marshal(map[string]string{"arguments": text}) // text always marshals
	return raw
}

// escape writes what cannot be seen in a JSON text as JSON writes it.
func escape(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case unicode.IsPrint(r) || r == '\n' || r == '\t':
			out = utf8.AppendRune(out, r)
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return string(out)
}
