package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// Call is a call of a tool that a model has made.
type Call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// String is the call as people read it.
func (c Call) String() string { return c.Tool + " " + string(c.Args) }

// talk is the conversation of one case.
type talk struct {
	*run
	*testfile.Case
	scene *scene
	key   session.Key
	out   *Case
}

// heard is what a turn has come to.
type heard struct {
	*answer.Answer
	text  string // of the answer, or why there is none
	calls []Call
	steps int
}

// take runs one case, the n-th of those that run. It has as long as one turn of
// the agent may take.
func (r *run) take(ctx context.Context, c *testfile.Case, n int) *Case {
	if r.Begins != nil {
		r.Begins(c)
	}
	start, limit := r.Now(), r.Config.Limits.Timeout.Std()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the case took longer than limits.timeout (%v)", limit))
	defer cancel()
	// Callers of different names share neither memory nor user: state.
	key := session.Key{Principal: fmt.Sprintf("case-%d", n), Agent: r.Config.Name, Handle: fmt.Sprintf("case-%d", n)}
	t := &talk{run: r, Case: c, scene: r.stage.begin(c), key: key, out: &Case{Name: c.Name, Line: c.Pos.Line, Calls: []Call{}}}
	if len(t.scene.failures) == 0 {
		for i := range c.Turns {
			if !t.turn(ctx, i) {
				break
			}
		}
	}
	for _, text := range t.scene.end(r.Config) {
		t.broken(0, text)
	}
	if t.out.Status == "" {
		t.out.Status = Passed
	}
	t.out.Seconds = r.Now().Sub(start).Seconds()
	return t.out
}

// broken takes why a case did not run to its end.
func (t *talk) broken(turn int, what string) {
	t.out.Status = Broken
	t.out.Failures = append(t.out.Failures, Failure{Turn: turn, What: t.Redact(what)})
}

// failed takes an expectation that did not come true.
func (t *talk) failed(turn int, f Failure) {
	f.Turn = turn
	t.out.Failures, t.out.Status = append(t.out.Failures, f), Failed
}

// turn takes one turn and holds it against what is expected. It is over for the
// case when it gives false.
func (t *talk) turn(ctx context.Context, i int) bool {
	turn, number := &t.Turns[i], 0
	if len(t.Turns) > 1 {
		number = i + 1
	}
	request, problem := t.input(turn)
	if problem != "" {
		t.broken(number, problem)
		return false
	}
	h, err := t.ask(ctx, request)
	t.out.Calls, t.out.Answer = append(t.out.Calls, h.calls...), h.text
	if err != nil {
		t.broken(number, err.Error())
		return false
	}
	if t.scene.failed() {
		return false // which is said at the end
	}
	if what := badEnd(h, turn.Expect); what != "" {
		t.broken(number, what)
		return false
	}
	if turn.Expect == nil {
		return true
	}
	for _, f := range compare(ctx, h, turn.Expect) {
		t.failed(number, f)
	}
	for _, statement := range turn.Expect.Judge {
		v, err := t.judge(ctx, request, h, string(statement))
		switch {
		case err != nil:
			t.broken(number, err.Error())
			return false
		case !v.Pass:
			t.failed(number, Failure{What: "judge", Want: quoted(string(statement)), Got: quoted(v.Reason)})
		}
	}
	return true
}

// badEnd says how a turn ended that had to end otherwise.
func badEnd(h *heard, e *testfile.Expect) string {
	want := ""
	if e != nil {
		want = e.Error
	}
	p := h.Problem
	switch {
	case p == nil || p.Code == want:
		return ""
	case want != "":
		return fmt.Sprintf("the turn ended with %s, not with %s: %s", p.Code, want, p.Message)
	}
	return fmt.Sprintf("the turn ended with %s: %s", p.Code, p.Message)
}

// input is the text that the agent gets for a turn, as it would from a host.
func (t *talk) input(turn *testfile.Turn) (text, problem string) {
	schema := t.Config.InputSchema
	switch {
	case len(schema) == 0 && turn.Arguments == nil:
		return turn.Request, ""
	case len(schema) == 0:
		return "", "the agent has no input_schema: write request instead of arguments"
	case turn.Arguments == nil:
		return "", "the agent has an input_schema: write arguments instead of request"
	}
	if problem := jsonschema.New(schema, jsonschema.Arguments("")).Check(turn.Arguments); problem != "" {
		return "", problem
	}
	return string(turn.Arguments), ""
}

// ask takes one turn, with the approvals that it needs on the way.
func (t *talk) ask(ctx context.Context, request string) (*heard, error) {
	h := &heard{}
	in := agent.Turn{
		Key: t.key, Mode: session.Create, Caller: agent.Caller{Principal: t.key.Principal}, State: t.State,
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: request}}},
	}
	for {
		var err error
		h.Answer, err = answer.Collect(t.Runner.Run(ctx, in), func(e *session.Event) { t.hear(h, e) })
		switch {
		case err != nil && ctx.Err() != nil:
			return h, context.Cause(ctx)
		case err != nil:
			return h, err
		case len(h.Questions) == 0:
			h.text = t.Hide(t.said(h.Answer))
			h.Structured = redacted(h.Structured, t.Hide)
			return h, nil
		}
		in.Input, in.Mode = nil, session.MustExist
		if in.Answers, err = t.answers(h.Questions); err != nil {
			return h, err
		}
	}
}

// hear takes what a turn says on its way.
func (t *talk) hear(h *heard, e *session.Event) {
	if e.Kind != session.ModelReply {
		return
	}
	h.steps = e.Step
	if e.Content == nil {
		return
	}
	for _, p := range e.Content.Parts {
		if p.FunctionCall == nil {
			continue
		}
		h.calls = append(h.calls, Call{p.FunctionCall.Name, t.arguments(p.FunctionCall)})
		t.scene.called(p.FunctionCall.Name, p.FunctionCall.ID)
	}
}

// arguments are those of a call, without secrets.
func (t *talk) arguments(call *genai.FunctionCall) json.RawMessage {
	args, err := json.Marshal(call.Args)
	if err != nil || len(call.Args) == 0 {
		return json.RawMessage("{}")
	}
	return redacted(args, t.Hide)
}

// redacted is JSON without secrets, as a recording would have it; or, where none
// could, the reason.
func redacted(raw json.RawMessage, redact func(string) string) json.RawMessage {
	clean, err := replay.Rewrite(raw, redact)
	if err != nil {
		clean, _ = json.Marshal(err.Error()) // text always has a JSON form
	}
	return clean
}

// said is the text that a host would get, or why there is none.
func (t *talk) said(a *answer.Answer) string {
	if a.Problem != nil {
		return a.Problem.Message
	}
	content := a.Content
	if t.Config.Serve.Result == "all" {
		content = a.All
	}
	if content == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range content.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// answers gives the answers to questions, as far as a case can have any.
func (t *talk) answers(questions []*session.Suspension) ([]session.Answer, error) {
	var all []session.Answer
	for _, q := range questions {
		switch {
		case q.Kind == model.Sampling:
			return nil, errors.New("the agent's model is that of the calling host, and a test has no host")
		case q.Kind != model.Approval:
			return nil, fmt.Errorf("the agent asks %s, and nobody is there to answer: let a result stand in for the tool %s", quoted(t.Redact(q.Message)), q.Tool)
		case t.Approve == nil:
			return nil, fmt.Errorf("a call of %s wants an approval: write approve: true or false into the case, or let a result stand in for the tool", q.Tool)
		}
		a := session.Answer{CallID: q.CallID, ID: q.ID, Action: model.Accept}
		if !*t.Approve {
			a.Action = model.Decline
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.New("the agent waits for nothing that could be answered")
	}
	return all, nil
}
