package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	o "github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestConcessions: what a model or an organization does not have is left out, which
// costs a request once.
func TestConcessions(t *testing.T) {
	thinking := func(name string, effort config.Effort) func(*config.Model) {
		return func(c *config.Model) { c.Name, c.Thinking = name, &config.Thinking{Effort: effort} }
	}
	picture := func(r *model.Request) {
		r.Contents = []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "see"}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}}}
	}
	form := func(r *model.Request) {
		r.OutputSchema = json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)
	}
	for _, c := range []struct {
		name       string
		change     func(*config.Model)
		unverified bool
		ask        func(*model.Request)
		requests   int // for two calls
		want, not  string
	}{
		{"streams and summaries", thinking("gpt-5", "low"), true, nil, 4, `"reasoning":{"effort":"low"},`, `"stream":true`},
		{"streams", nil, true, nil, 3, `"stream":false`, `"summary"`},
		{"a word for thinking", thinking("gpt-7", "high"), false, nil, 3, `"effort":"medium","summary":"auto"`, `"high"`},
		{"no word near", thinking("gpt-7", "none"), false, nil, 3, `"effort":"low"`, `"none"`},
		{"a schema", func(c *config.Model) { c.Name = "gpt-4-turbo" }, false, form, 4, `that matches this JSON Schema:\n{\"type\":\"object\",\"properties\":{\"colour\"`, `"format"`},
		{"images", func(c *config.Model) { c.Name = "o3-mini" }, false, picture, 3, "[left out, since you cannot read it", `"input_image"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, o.Play(o.Say("one"), o.Say("two")), options{change: c.change})
			f.service.Unverified = c.unverified
			req := request(user("hi"))
			if c.ask != nil {
				c.ask(req)
			}
			for _, want := range []string{"one", "two"} {
				if out := ask(t.Context(), f, req); out.err != nil || out.text() != want {
					t.Fatalf("%v, %q", out.err, out.text())
				}
			}
			noRefusals(t, f)
			all := f.service.Requests()
			if body := string(all[len(all)-1].Body); len(all) != c.requests || !strings.Contains(body, c.want) || strings.Contains(body, c.not) {
				t.Errorf("%d requests, sent %s", len(all), body)
			}
		})
	}
}

// TestConcessionsEnd: what is refused for what it says, or was set by the user's own
// hand, is not asked for again and again.
func TestConcessionsEnd(t *testing.T) {
	f := start(t, o.Play(o.Say("no")), options{change: func(c *config.Model) {
		c.Thinking, c.ExtraBody = &config.Thinking{Effort: "low"}, json.RawMessage(`{"reasoning":{"summary":"detailed"}}`)
	}})
	f.service.Unverified = true
	out := ask(t.Context(), f, request(user("hi")))
	if out.code() != model.InvalidRequest || !strings.Contains(out.err.Error(), "model.extra_body") || len(f.service.Requests()) > 2 {
		t.Errorf("%d requests, %v", len(f.service.Requests()), out.err)
	}
}

// TestBrokenImages: one image that the service cannot read does not end the
// conversation; the others are shown again in the next call.
func TestBrokenImages(t *testing.T) {
	f := start(t, o.Play(o.Failed("invalid_image", "animated"), o.Say("one"), o.Say("two")))
	req := request(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/gif", Data: []byte("GIF89a")}}}})
	first, second := ask(t.Context(), f, req), ask(t.Context(), f, req)
	noRefusals(t, f)
	all := f.service.Requests()
	if first.text() != "one" || len(first.notices) != 1 || !strings.Contains(first.notices[0], "animated") || second.text() != "two" || len(all) != 3 {
		t.Fatalf("%+v, %+v", first, second)
	}
	if strings.Contains(string(all[1].Body), "input_image") || !strings.Contains(string(all[2].Body), "input_image") {
		t.Errorf("sent %s and then %s", all[1].Body, all[2].Body)
	}
	if u := first.reply.Usage; u.Total != 2*second.reply.Usage.Total || u.Request != second.reply.Usage.Input {
		t.Errorf("the answer that failed does not count: %+v", u)
	}
}

// TestLearnsWhatHelped: what did not make a request good is asked for again.
func TestLearnsWhatHelped(t *testing.T) {
	refused := o.Reply{Status: 400, Body: `{"error":{"message":"Unsupported value: 'stream'","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}`}
	f := start(t, o.Play(refused, o.Fail(400, "", "something else"), o.Say("ok")))
	for range 2 {
		ask(t.Context(), f, request(user("go")))
	}
	if all := f.service.Requests(); len(all) != 3 || all[1].Stream || !all[2].Stream {
		t.Errorf("%d requests", len(all))
	}
}

// TestRefusedAlways: a service that refuses whatever it gets is asked no more than there
// is to leave out. The gateway's approvals have no ids.
func TestRefusedAlways(t *testing.T) {
	refused := o.Failed("invalid_encrypted_content", "no")
	f := start(t, o.Play(o.Answer(o.Thought("rs_1"), o.Asks("", "dice", "roll", `{}`)), refused, refused, refused, refused), options{servers: []*config.HostedMCP{dice()}})
	req := hosting(user("go"))
	first := ask(t.Context(), f, req)
	if first.reply == nil || first.reply.Suspend == nil {
		t.Fatalf("%+v", first)
	}
	out := ask(t.Context(), f, resumed(req, first.reply.Suspend, model.Accept, ""))
	if n := len(f.service.Requests()); out.code() != model.InvalidRequest || n > 3 {
		t.Errorf("%d requests, %v", n, out.err)
	}
}

// TestRefusedAfterSomeText: who saw the beginning is told that it starts again.
func TestRefusedAfterSomeText(t *testing.T) {
	f := start(t, o.Play(o.Answer(o.Thought("rs_1"), o.Text("hi")), o.Failed("invalid_encrypted_content", "no", o.Text("half")), o.Say("ok")))
	first := ask(t.Context(), f, request(user("go")))
	out := ask(t.Context(), f, request(user("go"), first.reply.Content, user("and?")))
	if out.text() != "ok" || out.partial != "halfok" || len(out.notices) != 1 || !strings.Contains(out.notices[0], "starts again") {
		t.Errorf("%+v", out)
	}
}

// TestThoughtsRefusedWithinTheStream: the service may find out only then that it
// cannot read them, or find a status of its own.
func TestThoughtsRefusedWithinTheStream(t *testing.T) {
	for name, refusal := range map[string]o.Reply{
		"a failed response": o.Failed("invalid_encrypted_content", "could not be verified"),
		"an error event":    {Status: 200, Events: []string{`{"type":"error","error":{"type":"invalid_request_error","code":"invalid_encrypted_content","message":"could not be verified"}}`}},
		"not found":         {Status: 404, Body: `{"error":{"message":"Item with id 'rs_1' not found. Items are not persisted when store is set to false.","type":"invalid_request_error","param":"input","code":null}}`},
	} {
		f := start(t, o.Play(o.Answer(o.Thought("rs_1"), o.Text("hi")), refusal, o.Say("ok")))
		first := ask(t.Context(), f, request(user("go")))
		out := ask(t.Context(), f, request(user("go"), first.reply.Content, user("and?")))
		if out.err != nil || out.text() != "ok" || f.kinds() != "user assistant user" {
			t.Errorf("%s: %v, sent %s", name, out.err, f.kinds())
		}
	}
}

// TestBareServers: calls that the service made are told without their thoughts, as
// calls like any other, and none is made again.
func TestBareServers(t *testing.T) {
	script := []o.Reply{
		o.Answer(o.List("mcpl_1", "dice", ""), o.Thought("rs_1"), o.Asks("mcpr_1", "dice", "roll", `{}`)),
		o.Answer(o.Thought("rs_2"), o.Ran("mcp_1", "dice", "roll", "4"), o.Broken("mcp_2", "dice", "drop"), o.Thought("rs_3"), o.Asks("mcpr_2", "dice", "drop", `{}`)),
		o.Answer(o.Text("well")),
		o.Failed("invalid_encrypted_content", "no"), o.Say("bye"),
	}
	f := start(t, o.Play(script...), options{servers: []*config.HostedMCP{dice()}})
	req := hosting(user("go"))
	first := ask(t.Context(), f, req)
	second := ask(t.Context(), f, resumed(req, first.reply.Suspend, model.Accept, ""))
	third := ask(t.Context(), f, resumed(req, second.reply.Suspend, model.Decline, "too risky"))
	if third.text() != "well" {
		t.Fatalf("%+v", third)
	}
	later := hosting(user("go"), third.reply.Content, user("again?"))
	later.Turn = 2
	out := ask(t.Context(), f, later)
	noRefusals(t, f)
	if out.err != nil || out.text() != "bye" {
		t.Fatalf("%v", out.err)
	}
	want := "user function_call function_call_output function_call function_call_output function_call function_call_output assistant user"
	if got := f.kinds(); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	var said []string
	all := f.service.Requests()
	for _, i := range all[len(all)-1].Items[:7] {
		if said = append(said, i.Name); len(i.Parts) > 0 {
			said[len(said)-1] = *i.Parts[0].Text
		}
	}
	if got := strings.Join(said[1:], ", "); got != "dice_roll, 4, dice_drop, error: down, dice_drop, error: not approved: too risky" {
		t.Errorf("told %s", got)
	}
}

// TestServersOfModelsThatDoNotThink: nothing is missing there, so all goes back as it
// was said.
func TestServersOfModelsThatDoNotThink(t *testing.T) {
	f := start(t, o.Play(o.Answer(o.List("mcpl_1", "dice", ""), o.Ran("mcp_1", "dice", "roll", "4"), o.Text("four")), o.Say("bye")),
		options{servers: []*config.HostedMCP{dice()}, change: func(c *config.Model) { c.Name = "gpt-4.1" }})
	first := ask(t.Context(), f, hosting(user("go")))
	out := ask(t.Context(), f, hosting(user("go"), first.reply.Content, user("again?")))
	noRefusals(t, f)
	if got, want := f.kinds(), "user mcp_list_tools mcp_call assistant user"; out.text() != "bye" || got != want {
		t.Errorf("%v, sent %s\nwant %s", out.err, got, want)
	}
}

// TestBareApproval: an approval that was given just now still goes to the service.
func TestBareApproval(t *testing.T) {
	f := start(t, o.Play(o.Answer(o.Thought("rs_1"), o.Text("I will roll."), o.Asks("mcpr_1", "dice", "roll", `{}`)),
		o.Failed("invalid_encrypted_content", "no"), o.Answer(o.Ran("mcp_1", "dice", "roll", "4"), o.Text("four"))), options{servers: []*config.HostedMCP{dice()}})
	req := hosting(user("go"))
	first := ask(t.Context(), f, req)
	out := ask(t.Context(), f, resumed(req, first.reply.Suspend, model.Accept, ""))
	noRefusals(t, f)
	if got, want := f.kinds(), "user assistant mcp_approval_request mcp_approval_response"; out.text() != "four" || got != want {
		t.Errorf("%v, sent %s\nwant %s", out.err, got, want)
	}
}

// TestFileNames has what documents are called.
func TestFileNames(t *testing.T) {
	for name, want := range map[string]string{"": "file.pdf", "report": "report.pdf", "a.txt": "a.txt.pdf", "b.PDF": "b.PDF"} {
		f := start(t, o.Play(o.Say("ok")))
		out := ask(t.Context(), f, request(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "application/pdf", DisplayName: name, Data: []byte("%PDF-1.7")}}}}))
		noRefusals(t, f)
		if got := f.service.Requests()[0].Items[0].Parts[0].Filename; out.err != nil || got != want {
			t.Errorf("%q is called %q: %v", name, got, out.err)
		}
	}
}

// TestIDsOfThoughts has those of gateways that the service refuses.
func TestIDsOfThoughts(t *testing.T) {
	for _, id := range []string{"", strings.Repeat("x", 65)} {
		f := start(t, o.Play(o.Answer(o.Thought(id), o.Text("hi")), o.Say("ok")))
		first := ask(t.Context(), f, request(user("go")))
		out := ask(t.Context(), f, request(user("go"), first.reply.Content, user("and?")))
		noRefusals(t, f)
		if out.text() != "ok" || f.kinds() != "user reasoning assistant user" {
			t.Errorf("%v, sent %s", out.err, f.kinds())
		}
	}
}

// TestRateLimits has what they say beside their code.
func TestRateLimits(t *testing.T) {
	for message, want := range map[string]struct {
		code model.Code
		wait string
	}{
		"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms.": {model.RateLimited, "644ms"},
		"Rate limit reached. Please try again in 11.054s. Visit https://x.":                                                        {model.RateLimited, "11.054s"},
		"Try again in 35 seconds":      {model.RateLimited, "35s"},
		"Please try again in 1m30.5s.": {model.RateLimited, "1m30.5s"},
		"Please try again later.":      {model.RateLimited, "0s"},
		"Request too large for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully.": {model.ContextOverflow, "0s"},
	} {
		for _, reply := range []o.Reply{o.Failed("rate_limit_exceeded", message), o.Fail(429, "rate_limit_exceeded", message)} {
			f := start(t, o.Play(reply))
			out := ask(t.Context(), f, request(user("hi")))
			var e *model.Error
			if out.code() != want.code || !errors.As(out.err, &e) || e.RetryAfter.String() != want.wait || !strings.Contains(e.Message, message) {
				t.Errorf("%s: %v, %+v", message, out.err, e)
			}
		}
	}
}

// TestUsageOfFailures: what a failed answer used counts.
func TestUsageOfFailures(t *testing.T) {
	f := start(t, o.Play(o.Failed("server_error", "oops", o.Text("half"))))
	out := ask(t.Context(), f, request(user("hi")))
	if u := model.UsageOf(out.err); u == nil || u.Total != 29 {
		t.Errorf("%v, usage %+v", out.err, u)
	}
}

// expiring is a context whose time runs out when the test says so.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e *expiring) Done() <-chan struct{} { return e.done }

func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestNothingRunsTwiceInTime: an answer whose time runs out after the service called a
// server is kept, so that no model of a fallback begins again.
func TestNothingRunsTwiceInTime(t *testing.T) {
	hangs := o.Answer(o.Ran("mcp_1", "dice", "roll", "4"), o.Text("I roll.")).Unfinished()
	hangs.Hang = true
	f := start(t, o.Play(hangs, o.Say("again")), options{servers: []*config.HostedMCP{dice()}})
	ctx := &expiring{t.Context(), make(chan struct{})}
	var last *model.Reply
	for reply, err := range retrying(f).Generate(ctx, hosting(user("go"))) {
		if err != nil {
			t.Fatal(err)
		}
		if last == nil {
			close(ctx.done)
		}
		last = reply
	}
	if last.Problem == nil || last.Problem.Code != model.Timeout || len(f.service.Requests()) != 1 || last.Content.Parts[0].Text != "[ran dice.roll]" {
		t.Errorf("%+v", last)
	}
}

// TestNothingRunsTwice: an answer in which the service called a server is not asked for
// again, however it ends; what was done stays in the history.
func TestNothingRunsTwice(t *testing.T) {
	ran := []o.Output{o.Text("I roll."), o.Ran("mcp_1", "dice", "roll", "4")}
	cut := o.Answer(ran...).Unfinished()
	begun := o.Answer(ran...).Unfinished()
	begun.Events = begun.Events[:len(begun.Events)-1]
	failed, atEnd := o.Failed("server_error", "oops", ran...), o.Failed("server_error", "oops", ran...)
	atEnd.Events = atEnd.Events[len(atEnd.Events)-1:]
	unbegun := failed
	unbegun.Events = slices.DeleteFunc(slices.Clone(failed.Events), func(e string) bool { return strings.Contains(e, "output_item.added") })
	cancelled := failed.Whole()
	cancelled.Body = strings.Replace(cancelled.Body, `"status":"failed"`, `"status":"cancelled"`, 1)
	for name, c := range map[string]struct {
		reply o.Reply
		code  model.Code
		done  string
	}{
		"cut":                     {cut, model.StreamCut, "[ran dice.roll]"},
		"cut while it runs":       {begun, model.StreamCut, "[began to run dice.roll; whether it did is not known]"},
		"a failure":               {failed, model.Unavailable, "[ran dice.roll]"},
		"a failure that is whole": {failed.Whole(), model.Unavailable, "[ran dice.roll]"},
		"told at the end alone":   {atEnd, model.Unavailable, "[ran dice.roll]"},
		"told when it was over":   {unbegun, model.Unavailable, "[ran dice.roll]"},
		"cancelled":               {cancelled, model.StreamCut, "[ran dice.roll]"},
		"an item of another form": {o.Answer(append(ran, o.Other("m", "message", `"role":"assistant","content":"text"`))...), model.StreamCut, "[ran dice.roll]"},
		"thoughts that are wrong": {o.Failed("invalid_encrypted_content", "oops", ran...), model.InvalidRequest, "[ran dice.roll]"},
		"an ending by an error":   {o.Incomplete("network_error", ran...), model.Unavailable, "[ran dice.roll]"},
		"a call that is no JSON":  {o.Answer(append(ran, o.Call("c", "look", `{"a`))...), model.Malformed, "[ran dice.roll]"},
		"a refusal":               {o.Answer(append(ran, o.Refusal("no"))...), model.Blocked, "[ran dice.roll]"},
	} {
		f := start(t, o.Play(c.reply, o.Say("again")), options{servers: []*config.HostedMCP{dice()}})
		out := ask(t.Context(), retrying(f), hosting(user("go")))
		if out.err != nil || out.reply.Problem == nil || out.reply.Problem.Code != c.code || len(f.service.Requests()) != 1 || out.text() != "I roll." {
			t.Errorf("%s: %+v", name, out)
			continue
		}
		parts := out.reply.Content.Parts
		if got := parts[len(parts)-1]; got.Text != c.done || !got.Thought {
			t.Errorf("%s: parts end with %+v", name, got)
		}
		ask(t.Context(), f, hosting(user("go"), out.reply.Content, user("and?")))
		if next := string(f.service.Requests()[1].Body); name == "cut while it runs" && !strings.Contains(next, c.done) {
			t.Errorf("the model does not hear of it: %s", next)
		}
		if out.reply.Usage == nil && strings.HasPrefix(name, "a failure") {
			t.Errorf("%s: what it used does not count", name)
		}
		noRefusals(t, f)
	}
}
