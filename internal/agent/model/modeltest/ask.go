package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// outcome is what one Generate came to.
type outcome struct {
	partial  string // the pieces of text, thoughts apart
	pieces   int
	thoughts string
	reply    *model.Reply
	err      error
	notices  []string
}

// code is that of the error, of the reply's problem, or none.
func (o *outcome) code() model.Code {
	var e *model.Error
	switch {
	case errors.As(o.err, &e):
		return e.Code
	case o.reply != nil && o.reply.Problem != nil:
		return o.reply.Problem.Code
	}
	return ""
}

// text is that of the reply, thoughts apart.
func (o *outcome) text() string {
	var b strings.Builder
	for _, p := range o.parts() {
		if !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func (o *outcome) parts() []*genai.Part {
	if o.reply == nil || o.reply.Content == nil {
		return nil
	}
	return o.reply.Content.Parts
}

// calls are the tool calls of the reply.
func (o *outcome) calls() []*genai.FunctionCall {
	var all []*genai.FunctionCall
	for _, p := range o.parts() {
		if p.FunctionCall != nil {
			all = append(all, p.FunctionCall)
		}
	}
	return all
}

// ask makes one call and holds it to the contract of [model.Model].
func ask(ctx context.Context, t *testing.T, m model.Model, req *model.Request) *outcome {
	t.Helper()
	o := &outcome{}
	req.Notice = func(text string) { o.notices = append(o.notices, text) }
	for reply, err := range m.Generate(ctx, req) {
		if o.reply != nil || o.err != nil {
			t.Error("something came after the end")
		}
		switch {
		case err != nil:
			o.err = err
			if reply != nil {
				t.Error("a reply beside an error")
			}
		case reply == nil:
			t.Fatal("neither a reply nor an error")
		case reply.Partial:
			o.piece(t, reply)
		default:
			o.reply = reply
		}
	}
	if o.reply == nil && o.err == nil {
		t.Error("neither a final reply nor an error")
	}
	if o.reply != nil && o.reply.Content != nil && o.reply.Content.Role != genai.RoleModel {
		t.Errorf("the reply has role %q", o.reply.Content.Role)
	}
	return o
}

func (o *outcome) piece(t *testing.T, reply *model.Reply) {
	t.Helper()
	for _, p := range reply.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			t.Error("a piece holds a call")
		case p.Thought:
			o.thoughts += p.Text
		default:
			o.partial += p.Text
			o.pieces++
		}
	}
}

// user is what a caller says.
func user(text string) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: text}}}
}

// request is one of some contents.
func request(contents ...*genai.Content) *model.Request {
	return &model.Request{System: "Be brief.", Contents: contents}
}

// tool declares a tool.
func tool(name, schema string) *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: name, Description: "Does " + name + ".", ParametersJsonSchema: json.RawMessage(schema)}
}

// anything is the schema of a tool with one text.
const anything = `{"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":false}`

// name gives every call of a reply an id, as the runner does.
func name(o *outcome) *genai.Content {
	for i, c := range o.calls() {
		if c.ID == "" {
			c.ID = "adk-0e1b9f62-0000-4000-8000-00000000000" + string(rune('0'+i))
		}
	}
	return o.reply.Content
}

// results answers the calls of a reply, as the runner does.
func results(o *outcome, outputs ...map[string]any) *genai.Content {
	c, calls := &genai.Content{Role: genai.RoleUser}, o.calls()
	for i, output := range outputs {
		if i == len(calls) {
			break
		}
		c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: calls[i].ID, Name: calls[i].Name, Response: output}})
	}
	return c
}

// snapshot is what a request holds, to see that nobody writes to it.
func snapshot(t *testing.T, req *model.Request) string {
	t.Helper()
	raw, err := json.Marshal([]any{req.Contents, req.Tools, req.OutputSchema})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// clean sees that the fake found nothing wrong.
func clean(t *testing.T, f *Fixture) {
	t.Helper()
	for _, r := range f.Refusals() {
		t.Errorf("refused: %s", r)
	}
}

// last is the newest request that the fake was sent.
func last(t *testing.T, f *Fixture) Request {
	t.Helper()
	all := f.Requests()
	if len(all) == 0 {
		t.Fatal("the fake was asked nothing")
	}
	return all[len(all)-1]
}

// secret sees that no message holds the key.
func (o *outcome) secret(t *testing.T, f *Fixture) {
	t.Helper()
	if f.Key != "" && o.err != nil && strings.Contains(o.err.Error(), f.Key) {
		t.Errorf("the message holds the key: %v", o.err)
	}
}
