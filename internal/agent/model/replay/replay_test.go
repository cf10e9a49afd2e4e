package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

// open hides nothing.
var open = replay.Options{Redact: func(s string) string { return s }}

// said is one thing that a model does.
type said struct {
	notice string
	reply  *model.Reply
	err    error
}

// fake answers each request with what the function gives for it.
type fake func(req *model.Request) []said

func (f fake) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		for _, s := range f(req) {
			if s.notice != "" {
				req.Notify(s.notice)
			} else if !yield(s.reply, s.err) {
				return
			}
		}
	}
}

// always says the same, whatever is asked.
func always(list ...said) fake { return func(*model.Request) []said { return list } }

// inTurn says one thing after the other.
func inTurn(lists ...[]said) fake {
	var n atomic.Int32
	return func(*model.Request) []said { return lists[n.Add(1)-1] }
}

func one(r *model.Reply) []said { return []said{{reply: r}} }

func text(role, s string) *genai.Content {
	return &genai.Content{Role: role, Parts: []*genai.Part{{Text: s}}}
}

func user(s string) *genai.Content { return text("user", s) }

func says(s string) *model.Reply {
	return &model.Reply{Content: text("model", s), FinishReason: "STOP"}
}

func calls(ps ...*genai.FunctionCall) *model.Reply {
	c := &genai.Content{Role: "model"}
	for _, p := range ps {
		c.Parts = append(c.Parts, &genai.Part{FunctionCall: p})
	}
	return &model.Reply{Content: c}
}

func ask(contents ...*genai.Content) *model.Request { return &model.Request{Contents: contents} }

// heard is what one generation gave.
type heard struct {
	Events []string // in order, replies and errors as JSON
	last   *model.Reply
	err    error
}

func hear(ctx context.Context, m model.Model, req *model.Request) *heard {
	h := &heard{}
	own := *req
	own.Notice = func(s string) { h.Events = append(h.Events, "notice "+s) }
	for r, err := range m.Generate(ctx, &own) {
		var e *model.Error
		switch {
		case errors.As(err, &e):
			h.Events = append(h.Events, fmt.Sprintf("error %s %q %q %d", e.Code, e.Error(), e.Reason, e.Status))
		case err != nil:
			h.Events = append(h.Events, "error "+err.Error())
		default:
			h.Events = append(h.Events, describe(r))
		}
		h.last, h.err = r, err
	}
	return h
}

// describe gives all of a reply as text. A cause within a problem counts by its text.
func describe(r *model.Reply) string {
	own := *r
	problem := ""
	if p := r.Problem; p != nil {
		problem = fmt.Sprintf("problem %s %q %q %d", p.Code, p.Error(), p.Reason, p.Status)
		own.Problem = nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return err.Error()
	}
	return string(raw) + problem
}

// record records one agent's requests and gives the file.
func record(t *testing.T, o replay.Options, m model.Model, reqs ...*model.Request) (file string, all []*heard) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "recording.json")
	r := replay.NewRecorder(file, o)
	for _, req := range reqs {
		all = append(all, hear(t.Context(), r.Around("a", m), req))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return file, all
}

func load(t *testing.T, file string, o replay.Options) *replay.Player {
	t.Helper()
	p, err := replay.Load(file, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func tools() []*genai.FunctionDeclaration {
	return []*genai.FunctionDeclaration{
		{Name: "find", Description: "finds <it> & more", ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number","maximum":12345678901234567890.10}}}`)},
		{Name: "bare"},
	}
}

func TestReplayGivesWhatWasRecorded(t *testing.T) {
	big := strings.Repeat("\x89PNG\xff", 4<<10)
	full := ask(user("hello\n\n<b>&"), text("model", "yes?"), &genai.Content{Role: "user", Parts: []*genai.Part{
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte(big)}}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("small")}},
		{FunctionResponse: &genai.FunctionResponse{ID: "x", Name: "find", Response: map[string]any{"n": json.Number("1.10"), "raw": json.RawMessage(`{"b":1,"a":2}`)},
			Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "audio/wav", Data: []byte(big)}}}}},
	}})
	full.System, full.Tools, full.Hosted, full.OutputSchema = "line one\n\n  line two\n", tools(), []string{"google_search"}, json.RawMessage(`{"type":"object"}`)
	whole := &model.Reply{
		Content: &genai.Content{Role: "model", Parts: []*genai.Part{
			{Text: "thinking", Thought: true, ThoughtSignature: []byte{0, 1, 0xfe}},
			{FunctionCall: &genai.FunctionCall{ID: "theirs", Name: "find", Args: map[string]any{"z": "<&>", "a": json.Number("12345678901234567890.10"), "e": json.Number("1E+2")}}},
			{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte(big)}},
			{ExecutableCode: &genai.ExecutableCode{Code: "1+1", Language: "PYTHON"}},
		}},
		FinishReason: "STOP", Model: "gemini/x", Opaque: json.RawMessage(`{"z":1.50,"a":["\u003c",null]}`),
		Usage: &model.Usage{Input: 1, Output: 2, Thoughts: 3, Cached: 4, Total: 5, Cost: 0.000125},
	}
	partial := func(s string) *model.Reply { return &model.Reply{Partial: true, Content: text("model", s)} }
	cases := map[string]struct {
		req  *model.Request
		said []said
	}{
		"everything":       {full, []said{{reply: whole}}},
		"nothing asked":    {&model.Request{}, one(says("hm"))},
		"stream to an end": {ask(user("x")), []said{{notice: "before"}, {reply: partial("a")}, {notice: "again"}, {reply: partial("")}, {reply: &model.Reply{Partial: true}}, {reply: says("ab")}}},
		"error": {ask(user("x")), []said{{reply: partial("a")}, {notice: "n"}, {err: fmt.Errorf("around: %w",
			&model.Error{Code: model.Blocked, Message: "no", Reason: "SAFETY", Status: 400, Err: errors.New("the cause")})}}},
		"plain error": {ask(user("x")), []said{{err: errors.New("a plain one")}}},
		"problem": {ask(user("x")), one(&model.Reply{Content: text("model", "cut of"), FinishReason: "MAX_TOKENS",
			Problem: &model.Error{Code: model.MaxTokens, Message: "cut", Reason: "MAX_TOKENS"}})},
		"suspension": {ask(user("x")), one(&model.Reply{Model: "sampling", Usage: &model.Usage{Total: 7},
			Suspend: &model.Suspension{Kind: model.Approval, Message: "may I?", Payload: json.RawMessage(`{"z":[1.0],"a":2}`), Opaque: json.RawMessage(`"o"`)}})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file, live := record(t, open, always(c.said...), c.req)
			p := load(t, file, open)
			for range 2 {
				again := hear(t.Context(), p.Model("a"), c.req)
				if d := cmp.Diff(live[0].Events, again.Events); d != "" {
					t.Errorf("the replay differs (-live +replay):\n%s", d)
				}
			}
		})
	}
}

// conversation goes on as the runner does: calls get ids and results, until the model
// calls nothing.
func conversation(ctx context.Context, m model.Model, question string, id func() string) []*genai.Content {
	contents := []*genai.Content{user(question)}
	for range 10 {
		req := ask(contents...)
		req.System, req.Tools = "do it\nwell", tools()
		h := hear(ctx, m, req)
		if h.err != nil {
			return append(contents, user(h.err.Error()))
		}
		results := &genai.Content{Role: "user"}
		for _, p := range h.last.Content.Parts {
			if c := p.FunctionCall; c != nil {
				if c.ID == "" {
					c.ID = id() // in place, as the runner does
				}
				results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: map[string]any{"for": c.Args}}})
			}
		}
		contents = append(contents[:len(contents):len(contents)], h.last.Content)
		if results.Parts == nil {
			return contents
		}
		contents = append(contents, results)
	}
	return contents
}

// digging calls tools twice, then answers.
func digging(req *model.Request) []said {
	question := req.Contents[0].Parts[0].Text
	switch len(req.Contents) {
	case 1:
		return one(calls(&genai.FunctionCall{Name: "find", Args: map[string]any{"q": question}}, &genai.FunctionCall{Name: "bare"}))
	case 3:
		return one(calls(&genai.FunctionCall{Name: "find", Args: map[string]any{"n": json.Number("1.0")}}))
	}
	return append([]said{{notice: "nearly"}, {reply: &model.Reply{Partial: true, Content: text("model", "fou")}}}, one(says("found "+question))...)
}

// newIDs gives ids as the runner's: never the same twice, in any run.
func newIDs(run string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("adk-%s-%d", run, n.Add(1)) }
}

func TestConversationReplays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	r := replay.NewRecorder(file, open)
	live := conversation(t.Context(), r.Around("a", fake(digging)), "gold", newIDs("x"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/conversation.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(content(t, file), "\n")); d != "" {
		t.Errorf("the file differs (-want +got):\n%s", d)
	}
	again := conversation(t.Context(), load(t, file, open).Model("a"), "gold", newIDs("y"))
	got, _ := json.Marshal(again)
	expected, _ := json.Marshal(live)
	if g := strings.ReplaceAll(string(got), "adk-y-", "adk-x-"); g != string(expected) {
		t.Errorf("replayed %s\nwant %s", g, expected)
	}
}

func TestTwoRunsGiveTheSameBytes(t *testing.T) {
	run := func(name string, reverse bool) string {
		file := filepath.Join(t.TempDir(), name)
		r := replay.NewRecorder(file, open)
		id := newIDs(name)
		var wg sync.WaitGroup
		for i := range 24 {
			if reverse {
				i = 23 - i
			}
			// Three agents, four questions, each of them twice.
			agent, question := string(rune('a'+i%3)), fmt.Sprint("question ", i/3%4)
			wg.Go(func() { conversation(t.Context(), r.Around(agent, fake(digging)), question, id) })
			if i%7 == 0 {
				wg.Wait()
			}
		}
		wg.Wait()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := run("first", false)
	for i := range 5 {
		if d := cmp.Diff(content(t, first), content(t, run(fmt.Sprint("run", i), i%2 == 0))); d != "" {
			t.Fatalf("run %d differs:\n%s", i, d)
		}
	}
	// The reordered replay: everything at once, in any order.
	p := load(t, first, open)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			question := fmt.Sprint("question ", i%4)
			got := conversation(t.Context(), p.Model(string(rune('a'+i%3))), question, newIDs("z"))
			if last := got[len(got)-1].Parts[0].Text; last != "found "+question {
				t.Errorf("%s: %s", question, last)
			}
		})
	}
	wg.Wait()
}

func TestSuspensionGoesOn(t *testing.T) {
	id := "adk-1"
	history := func() []*genai.Content {
		c := calls(&genai.FunctionCall{ID: id, Name: "find"}).Content
		return []*genai.Content{user("x"), c, {Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "find"}}}}}
	}
	asks := func(n int) *model.Suspension {
		return &model.Suspension{Kind: model.Approval, Message: fmt.Sprint("question ", n), Payload: json.RawMessage(`{"tool":"` + id + `"}`)}
	}
	request := func(n int, payload string) *model.Request {
		req := ask(history()...)
		if n > 0 {
			req.Asked, req.Answer = asks(n), &model.Answer{ID: "run's " + id, Kind: model.Approval, Action: model.Accept, Payload: json.RawMessage(payload)}
			req.Asked.ID, req.Asked.CallID = "new "+id, id
		}
		return req
	}
	requests := func() []*model.Request {
		// The answers are in an order that is not that of their text.
		return []*model.Request{request(0, ""), request(1, `{"z": 1, "b": 2}`), request(2, `{"a":1.0}`)}
	}
	file, live := record(t, open, fake(func(req *model.Request) []said {
		switch {
		case req.Answer == nil:
			return one(&model.Reply{Suspend: asks(1)})
		case req.Asked.Message == "question 1":
			return one(&model.Reply{Suspend: asks(2)})
		}
		return one(says("done"))
	}), requests()...)
	if strings.Contains(content(t, file), "adk-") {
		t.Error("the file has an id of the runner")
	}
	order := strings.Index(content(t, file), `"question 2"`)
	if order < 0 || order > strings.Index(content(t, file), `"done"`) {
		t.Errorf("the steps of the chain are not in order:\n%s", content(t, file))
	}
	id = "adk-2"
	m := load(t, file, open).Model("a")
	for i, req := range requests() {
		got := hear(t.Context(), m, req)
		want := strings.ReplaceAll(strings.Join(live[i].Events, "\n"), "adk-1", "adk-2")
		if d := cmp.Diff(want, strings.Join(got.Events, "\n")); d != "" {
			t.Errorf("step %d:\n%s", i, d)
		}
	}
	other := request(1, `{"z":2}`)
	if h := hear(t.Context(), m, other); h.err == nil || !strings.Contains(h.err.Error(), "answer to the suspension") {
		t.Errorf("another answer: %v", h.err)
	}
}

func TestEqualRequests(t *testing.T) {
	req := ask(user("dice"))
	file, _ := record(t, open, inTurn(one(says("z")), one(says("a")), one(says("m"))), req, req, req)
	m := load(t, file, open).Model("a")
	var got []string
	for range 5 {
		got = append(got, hear(t.Context(), m, req).last.Content.Parts[0].Text)
	}
	if d := cmp.Diff([]string{"z", "a", "m", "m", "m"}, got); d != "" {
		t.Error(d)
	}
}

func TestEachReplayIsItsOwn(t *testing.T) {
	req := ask(user("x"))
	file, _ := record(t, open, always(one(calls(&genai.FunctionCall{Name: "find"}))...), req)
	m := load(t, file, open).Model("a")
	hear(t.Context(), m, req).last.Content.Parts[0].FunctionCall.ID = "written by the runner"
	if got := hear(t.Context(), m, req).last.Content.Parts[0].FunctionCall.ID; got != "" {
		t.Errorf("the second replay has what was done to the first: %q", got)
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	const number = "12345678901234567890.1230"
	file, _ := record(t, open, always(one(calls(&genai.FunctionCall{Name: "f", Args: map[string]any{"deep": []any{json.Number(number)}}}))...), ask(user("x")))
	got := hear(t.Context(), load(t, file, open).Model("a"), ask(user("x"))).last.Content.Parts[0].FunctionCall.Args
	if d := cmp.Diff(map[string]any{"deep": []any{json.Number(number)}}, got); d != "" {
		t.Error(d)
	}
}
