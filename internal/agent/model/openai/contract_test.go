package openai_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/modeltest"
	o "github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
)

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Traits{NoImages: true, Who: "OPENAI_API_KEY"}, contract)
}

func contract(t *testing.T) *modeltest.Fixture {
	var mu sync.Mutex
	var queue []modeltest.Answer
	asked := 0
	f := start(t, func(*o.Request) o.Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(queue) == 0 {
			return o.Fail(400, "", "the script of the test has no more answers")
		}
		a := queue[0]
		queue = queue[1:]
		asked++
		return reply(a, asked)
	})
	return &modeltest.Fixture{
		Model: f, Key: key, Refusals: f.service.Refusals,
		Play: func(answers ...modeltest.Answer) {
			mu.Lock()
			defer mu.Unlock()
			queue = append(queue, answers...)
		},
		Requests: func() []modeltest.Request {
			var all []modeltest.Request
			for _, r := range f.service.Requests() {
				all = append(all, neutral(r))
			}
			return all
		},
	}
}

// reply is a neutral answer in the service's form.
func reply(a modeltest.Answer, n int) o.Reply {
	if a.Status != 0 && a.Status != 200 || a.Body != "" {
		return failure(a)
	}
	letter := string(rune('a' + n%26))
	var items []o.Output
	if a.Thought != "" {
		items = append(items, o.Thought("rs_"+letter, a.Thought))
	}
	if a.Text != nil {
		items = append(items, o.Text(a.Text...))
	}
	for i, c := range a.Calls {
		id := c.ID
		if id == "" {
			id = "call_" + letter + string(rune('0'+i))
		}
		items = append(items, o.Call(id, c.Name, c.Args))
	}
	switch a.End {
	case modeltest.Length:
		return o.Incomplete("max_output_tokens", items...)
	case modeltest.Filtered:
		return o.Incomplete("content_filter", items...)
	}
	r := o.Answer(items...)
	if a.End != modeltest.Done {
		r = r.Unfinished()
	}
	r.Cut, r.Half, r.Hang = a.End == modeltest.Cut, a.End == modeltest.HalfEvent, a.End == modeltest.Hang
	return r
}

func failure(a modeltest.Answer) o.Reply {
	code, message := "", "it went wrong"
	switch {
	case a.Overflow:
		code = "context_length_exceeded"
	case a.Status == 401:
		code, message = "invalid_api_key", "Incorrect API key provided: "+key
	case a.Status == 404:
		code = "model_not_found"
	case a.Status == 429:
		code = "rate_limit_exceeded"
	case a.Status >= 500:
		code = "server_error"
	}
	r := o.Fail(max(a.Status, 200), code, message)
	if a.Overflow && a.Status == 0 {
		r.Status = 400
	}
	if a.Body != "" {
		r.Body, r.Header = a.Body, map[string]string{"Content-Type": "text/html"}
	}
	if a.RetryAfter != "" {
		r.Header["Retry-After"] = a.RetryAfter
	}
	return r
}

// neutral is a request in neutral words.
func neutral(r *o.Request) modeltest.Request {
	n := modeltest.Request{System: r.Instructions, Schema: r.Schema, Body: r.Body, Header: map[string]string{}}
	for name := range r.Header {
		n.Header[name] = r.Header.Get(name)
	}
	for _, t := range r.Tools {
		if t.Type == "function" {
			n.Tools = append(n.Tools, t.Name)
		}
	}
	for _, i := range r.Items {
		n.Parts = append(n.Parts, neutralItem(i)...)
	}
	return n
}

func neutralItem(i *o.Item) []modeltest.Part {
	role := map[string]string{"assistant": "model", "user": "user"}[i.Role]
	switch i.Type {
	case "reasoning":
		return []modeltest.Part{{Role: "model", Thought: true}}
	case "function_call":
		return []modeltest.Part{{Role: "model", Call: i.Name, Args: []byte(i.Arguments)}}
	}
	var parts []modeltest.Part
	for _, p := range i.Parts {
		part := modeltest.Part{Role: role, Image: p.Type == "input_image"}
		if p.Text != nil {
			part.Text = *p.Text
		}
		if i.CallID != "" {
			part.Role, part.Result, part.Failed = "tool", i.CallID, strings.HasPrefix(part.Text, "error: ")
		}
		parts = append(parts, part)
	}
	return parts
}
