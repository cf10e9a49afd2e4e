// Package history brings a conversation into the form in which the Responses API takes
// it, whosever it was: every call has an id that the service takes and one result, and
// what the service said itself goes back as it said it, as far as the request can have
// it.
//
// Start with [Of]. Item.go has what the service says and is told besides, and makes
// hidden parts of it that carry it through the conversation; media.go shows data.
package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Request is what the items of a conversation stand in.
type Request struct {
	Servers map[string]bool // the labels of MCP servers that the service may call
	Search  bool            // the model may search for tools
	Bare    bool            // without thoughts
	Blind   bool            // without images and documents
}

// Takes reports whether an item of an earlier answer can go back with a request: those
// about a server that is not there any more cannot.
func (r *Request) Takes(i *Item) bool {
	switch i.Type {
	case typeSearch, typeFound:
		return r.Search
	case TypeList, TypeRan, TypeAsks:
		return r.Servers[i.ServerLabel]
	}
	return true
}

// Input is the conversation of a request.
type Input struct {
	Items    []json.RawMessage
	Thoughts bool // there are some
	Images   bool // there are some, or would be but for Blind
}

// Of gives contents, and after them what this step has said and been told already, as
// the items of a request. The error says what has no JSON form.
func Of(contents []*genai.Content, so []*Item, r Request) (*Input, error) {
	in := &input{
		Request: r, Input: Input{Items: []json.RawMessage{}},
		asked: map[string]bool{}, answers: map[string]*Item{}, waiting: map[string]bool{}, used: map[string]bool{}, open: map[string]string{},
	}
	in.conversation(contents, so)
	return &in.Input, in.err
}

// IsName reports whether the service takes a name for a function, or an id for a call.
func IsName(s string) bool { return name().MatchString(s) }

var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// input is a conversation that is being made.
type input struct {
	Request
	Input
	speech *message // that is still being added to
	err    error    // the first one

	asked, waiting map[string]bool   // requests for an approval, and those whose calls the service still has to make
	answers        map[string]*Item  // to those requests
	severed        bool              // there were thoughts, which are left out
	used           map[string]bool   // ids of calls, as the service knows them
	open           map[string]string // calls without a result, from the history's ids to the service's
	order          []string          // of open
}

// message is a message of a request.
type message struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
	Phase   string `json:"phase,omitempty"`
}

type inputText struct {
	Type string `json:"type"` // input_text or output_text
	Text string `json:"text"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // text, or parts of a message
}

// assistant is a message of the model's.
func assistant(text, phase string) message {
	return message{TypeMessage, "assistant", []any{inputText{"output_text", text}}, phase}
}

// conversation adds contents, and after them what this step has said and been told.
func (in *input) conversation(contents []*genai.Content, so []*Item) {
	contents = append(slices.Clone(contents), &genai.Content{Role: genai.RoleModel, Parts: Hidden(so)})
	contents = slices.DeleteFunc(contents, func(c *genai.Content) bool { return c == nil })
	for _, c := range contents {
		for _, p := range c.Parts {
			in.note(Signed(p))
		}
	}
	for _, i := range slices.Backward(so) {
		if i.Type != TypeAnswers {
			break
		}
		if i.Request != "" { // which those have not that are no approvals
			in.waiting[i.Request] = true
		}
	}
	for _, c := range contents {
		if c.Role == genai.RoleModel {
			in.model(c.Parts)
		} else {
			in.user(c.Parts)
		}
	}
	if in.close(); len(in.Items) == 0 { // the service refuses nothing, and blanks alone
		in.user([]*genai.Part{{Text: "Go on."}})
	}
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// note remembers which approvals were asked for and which given, since the one
// without the other is refused, and whether there are thoughts.
func (in *input) note(i *Item) {
	switch {
	case i == nil:
	case i.Type == TypeThoughts:
		in.severed = in.Bare
	case i.Type == TypeAsks && in.Takes(i):
		in.asked[i.ID] = true
	case i.Type == TypeAnswers:
		in.answers[i.Request] = i
	}
}

// model adds what the model said. Thoughts at its end lead to nothing, and the
// service refuses them.
func (in *input) model(parts []*genai.Part) {
	in.close()
	end := len(in.Items)
	for _, p := range parts {
		if in.part(p) {
			in.flush()
			end = len(in.Items)
		}
	}
	in.Items = in.Items[:end]
}

// part adds a part of what the model said, and reports whether that was more than
// thoughts.
func (in *input) part(p *genai.Part) bool {
	switch {
	case p == nil:
		return false
	case p.Thought:
		return in.signed(Signed(p))
	case p.FunctionCall != nil:
		in.call(p.FunctionCall)
	case !isBlank(p.Text):
		in.say("assistant", phaseOf(p), inputText{"output_text", p.Text})
	case p.InlineData != nil:
		in.say("assistant", "", inputText{"output_text", wire.LeftOut([]*genai.Blob{p.InlineData})})
	case p.FileData != nil:
		in.say("assistant", "", inputText{"output_text", p.FileData.FileURI})
	default:
		return false
	}
	return true
}

// signed adds an item as the service gave it, if the request can have it.
func (in *input) signed(i *Item) bool {
	switch {
	case i == nil, !in.Takes(i):
		return false
	case i.Type == TypeAsks && in.answers[i.ID] == nil, i.Type == TypeAnswers && !in.asked[i.Request]:
		return false
	case in.severed && i.Type != TypeMessage && !in.waiting[i.ID] && !in.waiting[i.Request]:
		return in.told(i)
	}
	in.Thoughts = in.Thoughts || i.Type == TypeThoughts
	in.add(i.Raw)
	return i.Type != TypeThoughts
}

// told tells without thoughts what the service did itself, as calls like any other: it
// refuses its own items without the thoughts that led to them ("of type 'mcp_call' was
// provided without its required 'reasoning' item"). What was only preparation is left
// out, as is an approval of what has been run.
func (in *input) told(i *Item) bool {
	var output string
	switch {
	case i.Type == TypeRan:
		output = i.output()
	case i.Type == TypeAsks && !in.answers[i.ID].Approve:
		output = "error: not approved: " + in.answers[i.ID].Reason
	default:
		return false
	}
	id := in.unique(i.ID)
	in.add(functionCall{TypeCall, id, fitName(i.ServerLabel + "_" + i.Name), cmp.Or(i.Arguments, "{}")})
	in.add(functionResult{typeResult, id, output})
	return true
}

// call adds a call.
func (in *input) call(c *genai.FunctionCall) {
	args, err := wire.Arguments(c)
	in.err = cmp.Or(in.err, err)
	id := in.unique(c.ID)
	in.open[c.ID] = id
	in.order = append(in.order, id)
	in.add(functionCall{TypeCall, id, fitName(c.Name), string(args)})
}

// unique makes of an id one that the service takes and that no other call has.
func (in *input) unique(id string) string {
	if !IsName(id) { // the rule is the same for ids
		sum := sha256.Sum256([]byte(id))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	unique := id
	for n := 2; in.used[unique]; n++ {
		unique = fmt.Sprintf("%.50s-%d", id, n)
	}
	in.used[unique] = true
	return unique
}

// fitName is the name of a tool as the service takes it; one that was called under
// another provider may have characters that it does not.
func fitName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && IsName(string(r)) {
			return r
		}
		return '_'
	}, name)
	if fit == "" {
		return "_"
	}
	return fit[:min(len(fit), 64)]
}

// user adds what came from outside: results first, then the rest as one message.
func (in *input) user(parts []*genai.Part) {
	var rest []*genai.Part
	for _, p := range parts {
		if p != nil && !p.Thought && (p.FunctionResponse == nil || !in.result(p.FunctionResponse)) {
			rest = append(rest, p)
		}
	}
	in.close()
	for _, p := range rest {
		switch {
		case p.FunctionResponse != nil: // of no call
			in.say("user", "", inputText{"input_text", fmt.Sprintf("[a result of %s: %s]", p.FunctionResponse.Name, in.text(p.FunctionResponse))})
		case !isBlank(p.Text):
			in.say("user", "", inputText{"input_text", p.Text})
		case p.InlineData != nil:
			shown := in.media(p.InlineData)
			if shown == nil {
				shown = inputText{"input_text", wire.LeftOut([]*genai.Blob{p.InlineData})}
			}
			in.say("user", "", shown)
		case p.FileData != nil:
			in.say("user", "", inputText{"input_text", "[a file that is not shown here: " + p.FileData.FileURI + "]"})
		}
	}
	in.flush()
}

// result adds the result of a call, if there is such a call that has none yet.
func (in *input) result(r *genai.FunctionResponse) bool {
	id, ok := in.open[r.ID]
	if !ok {
		return false
	}
	delete(in.open, r.ID)
	in.order = slices.DeleteFunc(in.order, func(o string) bool { return o == id })
	text := in.text(r)
	var shown []any
	var unreadable []*genai.Blob
	for _, blob := range wire.Media(r) {
		if m := in.media(blob); m != nil {
			shown = append(shown, m)
		} else {
			unreadable = append(unreadable, blob)
		}
	}
	if note := wire.LeftOut(unreadable); note != "" {
		text = strings.TrimLeft(text+"\n"+note, "\n")
	}
	switch {
	case shown == nil:
		in.add(functionResult{typeResult, id, text})
	case text == "":
		in.add(functionResult{typeResult, id, shown})
	default:
		in.add(functionResult{typeResult, id, append([]any{inputText{"input_text", text}}, shown...)})
	}
	return true
}

// text is what a result says. The service has no other mark for a failure.
func (in *input) text(r *genai.FunctionResponse) string {
	text, failed, err := wire.Output(r)
	in.err = cmp.Or(in.err, err)
	if failed {
		text = "error: " + text
	}
	return text
}

// close gives a result to every call that has none.
func (in *input) close() {
	for _, id := range in.order {
		in.add(functionResult{typeResult, id, "error: the result is not known"})
	}
	in.order = nil
	clear(in.open)
}

// say adds to the message that is being made, or begins another.
func (in *input) say(role, phase string, part any) {
	if in.speech == nil || in.speech.Phase != phase {
		in.flush()
		in.speech = &message{Type: TypeMessage, Role: role, Phase: phase}
	}
	in.speech.Content = append(in.speech.Content, part)
}

// flush ends the message that is being made.
func (in *input) flush() {
	if said := in.speech; said != nil {
		in.speech = nil
		in.add(said)
	}
}

// add adds an item.
func (in *input) add(v any) {
	in.flush()
	raw, ok := v.(json.RawMessage)
	if !ok {
		var err error
		raw, err = wire.Encode(v)
		in.err = cmp.Or(in.err, err)
	}
	in.Items = append(in.Items, raw)
}
