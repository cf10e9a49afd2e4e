package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// input builds the conversation of a request out of contents, whosever they were:
// every call has an id that the service takes and one result.
type input struct {
	servers  *visible
	bare     bool // without thoughts
	items    []json.RawMessage
	thoughts bool     // there are some
	speech   *message // that is still being added to
	err      error    // the first one

	asked, answered map[string]bool   // approvals, by the ids of their requests
	used            map[string]bool   // ids of calls, as the service knows them
	open            map[string]string // calls without a result, from the history's ids to the service's
	order           []string          // of open
}

func newInput(servers *visible, bare bool) *input {
	return &input{
		servers: servers, bare: bare, items: []json.RawMessage{},
		asked: map[string]bool{}, answered: map[string]bool{}, used: map[string]bool{}, open: map[string]string{},
	}
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

type inputImage struct {
	Type   string `json:"type"`
	URL    string `json:"image_url"`
	Detail string `json:"detail"`
}

type inputFile struct {
	Type string `json:"type"`
	Name string `json:"filename"`
	Data string `json:"file_data"`
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
	return message{typeMessage, "assistant", []any{inputText{"output_text", text}}, phase}
}

// conversation adds contents, and after them what this step has said and been told.
func (in *input) conversation(contents []*genai.Content, so []*item) error {
	contents = append(slices.Clone(contents), &genai.Content{Role: genai.RoleModel, Parts: hidden(so)})
	contents = slices.DeleteFunc(contents, func(c *genai.Content) bool { return c == nil })
	for _, c := range contents {
		for _, p := range c.Parts {
			in.note(signedItem(p))
		}
	}
	for _, c := range contents {
		if c.Role == genai.RoleModel {
			in.model(c.Parts)
		} else {
			in.user(c.Parts)
		}
	}
	if in.close(); len(in.items) == 0 { // the service refuses nothing, and blanks alone
		in.user([]*genai.Part{{Text: "Go on."}})
	}
	return in.err
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// note remembers which approvals were asked for and which given, since the one
// without the other is refused.
func (in *input) note(i *item) {
	switch {
	case i == nil:
	case i.Type == typeAsks && in.servers.takes(i):
		in.asked[i.ID] = true
	case i.Type == typeAnswers:
		in.answered[i.Request] = true
	}
}

// model adds what the model said. Thoughts at its end lead to nothing, and the
// service refuses them.
func (in *input) model(parts []*genai.Part) {
	in.close()
	end := len(in.items)
	for _, p := range parts {
		if in.part(p) {
			in.flush()
			end = len(in.items)
		}
	}
	in.items = in.items[:end]
}

// part adds a part of what the model said, and reports whether that was more than
// thoughts.
func (in *input) part(p *genai.Part) bool {
	switch {
	case p == nil:
		return false
	case p.Thought:
		return in.signed(signedItem(p))
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
func (in *input) signed(i *item) bool {
	switch {
	case i == nil, !in.servers.takes(i):
		return false
	case i.Type == typeAsks && !in.answered[i.ID], i.Type == typeAnswers && !in.asked[i.Request]:
		return false
	case i.Type == typeThoughts && in.bare:
		return false
	}
	in.thoughts = in.thoughts || i.Type == typeThoughts
	in.add(i.raw)
	return i.Type != typeThoughts
}

// call adds a call under an id that the service takes and that no other call has.
func (in *input) call(c *genai.FunctionCall) {
	args, err := wire.Arguments(c)
	in.err = cmp.Or(in.err, err)
	id := c.ID
	if !toolName().MatchString(id) { // the rule is the same for ids
		sum := sha256.Sum256([]byte(id))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	unique := id
	for n := 2; in.used[unique]; n++ {
		unique = fmt.Sprintf("%.50s-%d", id, n)
	}
	in.used[unique] = true
	in.open[c.ID] = unique
	in.order = append(in.order, unique)
	in.add(functionCall{typeCall, unique, fitName(c.Name), string(args)})
}

// fitName is the name of a tool as the service takes it; one that was called under
// another provider may have characters that it does not.
func fitName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && toolName().MatchString(string(r)) {
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
			shown := media(p.InlineData)
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
		if m := media(blob); m != nil {
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
		in.speech = &message{Type: typeMessage, Role: role, Phase: phase}
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
	in.items = append(in.items, raw)
}

// media is data as the service shows it to the model; nil for what the model cannot
// read (OpenAI, "Images and vision" and "File inputs").
func media(b *genai.Blob) any {
	switch kind := mediatype.Shown(b.MIMEType, b.Data); kind {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		return inputImage{"input_image", dataURL(kind, b.Data), "auto"}
	case "application/pdf":
		return inputFile{"input_file", cmp.Or(b.DisplayName, "file.pdf"), dataURL(kind, b.Data)}
	case mediatype.Text:
		return inputText{"input_text", string(b.Data)}
	}
	return nil
}

func dataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}
