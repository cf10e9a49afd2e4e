package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/agent/model/modeltest"
)

// TestContract runs the contract of model providers with every kind of server.
func TestContract(t *testing.T) {
	for _, m := range chattest.Manners() {
		t.Run(m.Name, func(t *testing.T) {
			traits := modeltest.Traits{
				NoThoughts: m.Reasoning == "" && !m.InContent, NoImages: !m.Images, NoResultImages: true, NoSchema: m.NoSchema,
				NoArgsOnWire: m.ObjectArgs, Who: "model.api_key",
			}
			url := map[string]string{ // what a service demands is known by its address
				"DeepSeek": "http://api.deepseek.com/v1", "OpenAI": "http://api.openai.com/v1",
				"Mistral": "http://api.mistral.ai/v1", "Gemini": "http://generativelanguage.googleapis.com/v1",
			}[m.Name]
			modeltest.Run(t, traits, func(t *testing.T) *modeltest.Fixture {
				f := startAt(t, m, url, nil)
				return &modeltest.Fixture{
					Model: f.Model, Key: key, Refusals: f.server.Refusals,
					Play: func(answers ...modeltest.Answer) {
						for _, a := range answers {
							f.server.Play(answer(a))
						}
					},
					Requests: func() []modeltest.Request {
						var all []modeltest.Request
						for _, r := range f.server.Requests() {
							all = append(all, neutral(r))
						}
						return all
					},
				}
			})
		})
	}
}

// answer says a neutral answer in the fake's words.
func answer(a modeltest.Answer) chattest.Answer {
	out := chattest.Answer{
		Thought: a.Thought, Text: a.Text, Image: a.Image, Status: a.Status, RetryAfter: a.RetryAfter, Overflow: a.Overflow, Body: a.Body,
		NoFinish: a.End == modeltest.NoMarker, Cut: a.End == modeltest.Cut, HalfEvent: a.End == modeltest.HalfEvent, Hang: a.End == modeltest.Hang,
	}
	for _, c := range a.Calls {
		out.Calls = append(out.Calls, chattest.Call(c))
	}
	switch a.End {
	case modeltest.Length:
		out.Finish = "length"
	case modeltest.Filtered:
		out.Finish = "content_filter"
	}
	return out
}

// neutral says a request in neutral words.
func neutral(r *chattest.Request) modeltest.Request {
	out := modeltest.Request{Tools: r.Tools, Schema: r.Schema, Body: r.Body, Header: map[string]string{}}
	for name := range r.Header {
		out.Header[name] = r.Header.Get(name)
	}
	names := map[string]string{}
	for _, m := range r.Messages {
		role := map[string]string{"user": "user", "assistant": "model", "tool": "tool"}[m.Role]
		if m.Role == "system" {
			out.System = m.Parts[0].Text
			continue
		}
		if m.Reasoning != nil && *m.Reasoning != " " {
			out.Parts = append(out.Parts, modeltest.Part{Role: role, Text: *m.Reasoning, Thought: true})
		}
		for _, p := range m.Parts {
			part := modeltest.Part{Role: role, Text: p.Text, Image: p.Type == "image_url"}
			if m.Role == "tool" {
				part.Result, part.Failed = names[m.ToolCallID], strings.HasPrefix(p.Text, "Error: ")
			}
			out.Parts = append(out.Parts, part)
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
			out.Parts = append(out.Parts, modeltest.Part{Role: role, Call: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
		}
	}
	return out
}
