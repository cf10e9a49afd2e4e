package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/agent/model/modeltest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Traits{Who: "GEMINI_API_KEY", NoArgsOnWire: true, OwnSignatures: true}, contract)
}

func contract(t *testing.T) *modeltest.Fixture {
	var queue []modeltest.Answer
	f := startWith(t, func(*g.Request) g.Reply {
		if len(queue) == 0 {
			return g.Fail(400, "INVALID_ARGUMENT", "the test has no more answers")
		}
		a := queue[0]
		queue = queue[1:]
		return reply(a)
	}, func(c *config.Model) { c.Timeout = config.Duration(5 * time.Second) }, nil)
	return &modeltest.Fixture{
		Model: f.Model, Key: key, Refusals: f.service.Refusals,
		Play: func(answers ...modeltest.Answer) { queue = append(queue, answers...) },
		Requests: func() []modeltest.Request {
			var all []modeltest.Request
			for _, r := range f.service.Requests() {
				all = append(all, seen(t, r))
			}
			return all
		},
	}
}

// reply is an answer in Gemini's words.
func reply(a modeltest.Answer) g.Reply {
	switch {
	case a.Overflow:
		return g.Fail(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")
	case a.Status != 0:
		r := g.Fail(a.Status, "STATUS", "the service's words")
		if a.Body != "" {
			r.Body = a.Body
		}
		if a.RetryAfter != "" {
			r.Header["Retry-After"] = a.RetryAfter
		}
		return r
	}
	var chunks []string
	if a.Thought != "" {
		chunks = append(chunks, g.Chunk(g.Thought(a.Thought)))
	}
	for _, text := range a.Text {
		chunks = append(chunks, g.Chunk(g.Text(text)))
	}
	if a.Image != nil {
		data, _ := json.Marshal(a.Image)
		chunks = append(chunks, g.Chunk(`{"inlineData":{"mimeType":"image/png","data":`+string(data)+`}}`))
	}
	signature := "sig-1"
	for _, c := range a.Calls {
		args := c.Args
		if args == "" {
			args = "{}"
		}
		chunks = append(chunks, g.Chunk(g.Call(c.Name, args, signature)))
		signature = ""
	}
	end := map[modeltest.End]string{modeltest.Done: "STOP", modeltest.Length: "MAX_TOKENS", modeltest.Filtered: "SAFETY"}[a.End]
	if end != "" {
		chunks = append(chunks, g.Final(end))
	}
	r := g.Stream(chunks...)
	r.Cut, r.Half, r.Hang = a.End == modeltest.Cut, a.End == modeltest.HalfEvent, a.End == modeltest.Hang
	return r
}

// seen is a request in neutral words.
func seen(t *testing.T, r *g.Request) modeltest.Request {
	t.Helper()
	out := modeltest.Request{System: r.System, Body: r.Body}
	for _, tool := range r.Tools {
		out.Tools = append(out.Tools, tool.Name)
	}
	var settings struct {
		GenerationConfig struct {
			Schema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(r.Body, &settings); err != nil {
		t.Error(err)
	}
	out.Schema = settings.GenerationConfig.Schema
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			out.Parts = append(out.Parts, part(t, c.Role, p)...)
		}
	}
	return out
}

func part(t *testing.T, role string, p *genai.Part) []modeltest.Part {
	t.Helper()
	one := modeltest.Part{Role: role, Text: p.Text, Thought: p.Thought, Image: p.InlineData != nil && strings.HasPrefix(p.InlineData.MIMEType, "image/")}
	if p.FunctionCall != nil {
		raw, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			t.Error(err)
		}
		one.Call, one.Args = p.FunctionCall.Name, raw
		return []modeltest.Part{one}
	}
	r := p.FunctionResponse
	if r == nil {
		return []modeltest.Part{one}
	}
	raw, err := json.Marshal(r.Response)
	if err != nil {
		t.Error(err)
	}
	_, failed := r.Response["error"]
	all := []modeltest.Part{{Role: "tool", Result: r.Name, Text: string(raw), Failed: failed}}
	for _, media := range r.Parts {
		all = append(all, modeltest.Part{Role: "tool", Image: strings.HasPrefix(media.InlineData.MIMEType, "image/")})
	}
	return all
}
