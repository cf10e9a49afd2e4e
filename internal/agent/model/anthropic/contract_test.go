package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/agent/model/modeltest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Traits{NoImages: true, Who: "ANTHROPIC_API_KEY"}, func(t *testing.T) *modeltest.Fixture {
		answers := make(chan modeltest.Answer, 16)
		n := 0
		f := start(t, func(*anthropictest.Request) anthropictest.Reply {
			select {
			case a := <-answers:
				n++
				return played(a, n)
			default:
				return anthropictest.Fail(400, "invalid_request_error", "nothing more is queued")
			}
		}, func(c *config.Model) { c.Thinking = &config.Thinking{Effort: config.LowThinking} })
		return &modeltest.Fixture{
			Model: f,
			Play: func(all ...modeltest.Answer) {
				for _, a := range all {
					answers <- a
				}
			},
			Requests: func() []modeltest.Request {
				var all []modeltest.Request
				for _, r := range f.service.Requests() {
					all = append(all, neutral(r))
				}
				return all
			},
			Refusals: f.service.Refusals,
			Key:      key,
		}
	})
}

// played is an answer of the suite as the service gives it. Thinking is on, so an
// answer with calls has a thought even where the suite has none.
func played(a modeltest.Answer, n int) anthropictest.Reply {
	var r anthropictest.Reply
	switch {
	case a.Body != "":
		r = anthropictest.Reply{Status: max(a.Status, 200), Body: a.Body}
	case a.Overflow:
		r = anthropictest.Fail(400, "invalid_request_error", "prompt is too long: 207310 tokens > 200000 maximum")
	case a.Status != 0 && a.Status != 200:
		r = anthropictest.Fail(a.Status, map[int]string{
			400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
			413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
		}[a.Status], "as the test wants it")
	default:
		r = streamed(a, n)
	}
	if a.RetryAfter != "" {
		r.Header["Retry-After"] = a.RetryAfter
	}
	return r
}

func streamed(a modeltest.Answer, n int) anthropictest.Reply {
	r := anthropictest.Reply{Stop: "end_turn"}
	if a.Thought != "" || len(a.Calls) > 0 {
		r.Blocks = append(r.Blocks, anthropictest.Thought(a.Thought, fmt.Sprint("c2ln/+", n)))
	}
	if a.Text != nil {
		r.Blocks = append(r.Blocks, anthropictest.Text(a.Text...))
	}
	for i, c := range a.Calls {
		if r.Stop = "tool_use"; c.ID == "" {
			c.ID = fmt.Sprintf("toolu_%d_%d", n, i)
		}
		r.Blocks = append(r.Blocks, anthropictest.Call(c.ID, c.Name, c.Args))
	}
	switch a.End {
	case modeltest.Length:
		r.Stop = "max_tokens"
	case modeltest.Filtered:
		r.Stop = "refusal"
	case modeltest.NoMarker:
		r.Stop = ""
	case modeltest.Cut:
		r.Stop, r.Cut = "", true
	case modeltest.HalfEvent:
		r.Stop, r.Half = "", true
	case modeltest.Hang:
		r.Stop, r.Hang = "", true
	}
	return r
}

// neutral is a request in the suite's words.
func neutral(r *anthropictest.Request) modeltest.Request {
	out := modeltest.Request{System: r.System, Schema: r.Format, Body: r.Body, Header: map[string]string{}}
	for name := range r.Header {
		out.Header[name] = r.Header.Get(name)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			p := modeltest.Part{Role: "user", Text: b.Text}
			if m.Role == "assistant" {
				p.Role = "model"
			}
			switch b.Type {
			case "image":
				p.Image = true
			case "thinking", "redacted_thinking":
				p.Thought = true
			case "tool_use":
				p.Call, p.Args = b.Name, b.Input
			case "tool_result":
				p.Role, p.Result, p.Failed, p.Text = "tool", b.ToolUseID, b.IsError, string(b.Result)
				_ = json.Unmarshal(b.Result, &p.Text) // a list stays JSON
				p.Image = strings.Contains(string(b.Result), `"type":"image"`)
			}
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}
