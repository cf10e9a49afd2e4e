package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// callTools runs the calls of the newest reply that can run, all at the same
// time, and records each as it ends. What the events already hold a result
// for never runs again.
func (t *turn) callTools(ctx context.Context) error {
	if t.tools == nil {
		if err := t.listTools(ctx); err != nil {
			return err
		}
	}
	jobs, err := t.schedule(ctx)
	if err != nil || len(jobs) == 0 {
		return err
	}
	state, err := t.callState(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.doing = "running " + names(jobs)
	work := &step{
		Call:    Call{Agent: t.cfg.Name, Invocation: t.h.turn.invocation, Key: t.in.Key, Caller: t.in.Caller, State: state},
		done:    make(chan outcome, len(jobs)),
		notices: make(chan string),
		log:     t.Log,
	}
	for i := range jobs {
		go work.run(ctx, &jobs[i])
	}
	var failed error
	for range jobs {
		o := work.next(t.notice)
		err := o.err
		if err == nil {
			err = t.record(ctx, t.concluded(o.job, o.result))
		}
		if err != nil && failed == nil {
			failed = err
			cancel(errStepFailed)
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errStepFailed) {
		return cause
	}
	return failed
}

// job is one call that runs.
type job struct {
	tool   Tool
	call   *genai.FunctionCall
	args   json.RawMessage
	answer *session.Answer
	asked  *session.Suspension // what it answers
}

// schedule decides what becomes of each open call and records that those are
// started that had not been.
func (t *turn) schedule(ctx context.Context) ([]job, error) {
	var jobs []job
	var events []*session.Event
	for i := range t.h.turn.calls {
		c := &t.h.turn.calls[i]
		if c.response != nil || c.suspended != nil && c.answer == nil {
			continue
		}
		tool := t.tool(c.call.Name)
		refusal := ""
		switch {
		case tool == nil:
			refusal = t.unknownTool(c.call.Name)
		case i >= maxCallsPerStep:
			refusal = fmt.Sprintf("not run: more than %d calls in one step", maxCallsPerStep)
		case c.started && !repeatable(tool.Spec().Hints):
			refusal = "the program was interrupted while this ran; whether it took effect is unknown. Check before calling it again."
		}
		if refusal != "" {
			events = append(events, t.finished(c.call, NotRun(refusal)))
			continue
		}
		args, err := rawArgs(c.call)
		if err != nil {
			return nil, err
		}
		if !c.started {
			e := t.event(session.ToolStarted)
			e.Call = &session.Call{ID: c.call.ID, Name: c.call.Name, Args: args}
			events = append(events, e)
		}
		jobs = append(jobs, job{tool: tool, call: c.call, args: args, answer: c.answer, asked: c.suspended})
	}
	return jobs, t.record(ctx, events...)
}

func repeatable(h Hints) bool { return h.Idempotent || h.ReadOnly }

func rawArgs(call *genai.FunctionCall) (json.RawMessage, error) {
	if len(call.Args) == 0 {
		return json.RawMessage("{}"), nil
	}
	args, err := json.Marshal(call.Args)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", call.Name, err)
	}
	return args, nil
}

func (t *turn) tool(name string) Tool {
	for _, tool := range t.tools {
		if s := tool.Spec(); s.Name == name && s.Hosted == "" && !s.Hidden {
			return tool
		}
	}
	return nil
}

func (t *turn) unknownTool(name string) string {
	var all []string
	for _, tool := range t.tools {
		if s := tool.Spec(); s.Hosted == "" && !s.Hidden {
			all = append(all, s.Name)
		}
	}
	text := "this agent has no tools"
	if len(all) > 0 {
		slices.Sort(all)
		text = "the tools are: " + strings.Join(all, ", ")
	}
	for _, source := range slices.Sorted(maps.Keys(t.h.listings)) {
		if why := t.h.listings[source].Error; why != "" {
			text += fmt.Sprintf("; those of %s are missing now: %s", source, why)
		}
	}
	return fmt.Sprintf("there is no tool %q; %s", name, text)
}

func names(jobs []job) string {
	all := make([]string, len(jobs))
	for i := range jobs {
		all[i] = jobs[i].call.Name
	}
	return strings.Join(all, ", ")
}

// step is what the calls of one step share while they run.
type step struct {
	Call                 // what is the same for all
	done    chan outcome // one for every call; never blocks
	notices chan string
	log     *slog.Logger
}

type outcome struct {
	job    *job
	result *Result
	err    error
}

// next waits for a call to end and passes on what the running ones say
// meanwhile.
func (s *step) next(notice func(string)) outcome {
	for {
		select {
		case o := <-s.done:
			return o
		case text := <-s.notices:
			notice(text)
		}
	}
}

// run makes one call, on a goroutine of its own.
func (s *step) run(ctx context.Context, j *job) {
	ctx, cancel := context.WithCancel(ctx)
	o := outcome{job: j}
	defer func() {
		cancel()
		if p := recover(); p != nil {
			s.log.Error("tool panicked", "tool", j.call.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			o.result, o.err = Failure("the tool failed with an internal error"), nil
		}
		s.done <- o
	}()
	call := s.Call
	call.ID, call.Name, call.Args = j.call.ID, j.call.Name, j.args
	call.Answer, call.Asked = j.answer, j.asked
	call.Progress = func(text string) {
		select {
		case s.notices <- text:
		case <-ctx.Done():
		}
	}
	o.result, o.err = j.tool.Call(ctx, &call)
	switch {
	case o.err != nil && ctx.Err() == nil:
		o.err = fmt.Errorf("tool %s: %w", j.call.Name, o.err)
	case o.err == nil && o.result == nil:
		o.err = fmt.Errorf("tool %s: %w", j.call.Name, errNoResult)
	}
}

var errNoResult = errors.New("gave neither a result nor an error")

// concluded is the event of a call that came back.
func (t *turn) concluded(j *job, r *Result) *session.Event {
	if r.Suspend == nil {
		return t.finished(j.call, r)
	}
	e := t.event(session.Suspended)
	q := *r.Suspend
	q.ID, q.CallID, q.Tool = t.NewID(), j.call.ID, j.call.Name
	e.Suspension = &q
	return e
}

// finished is the event of a call that has its result.
func (t *turn) finished(call *genai.FunctionCall, r *Result) *session.Event {
	e := t.event(session.ToolFinished)
	key, output := "output", r.Output
	if r.IsError {
		key = "error"
	}
	if output == nil {
		output = ""
	}
	e.Call = &session.Call{ID: call.ID, Name: call.Name}
	e.IsError, e.NotRun, e.Usage, e.StateDelta, e.Artifacts = r.IsError, r.NotRun && r.IsError, r.Usage, r.StateDelta, r.Artifacts
	e.Attach = r.Attach && len(r.Media) > 0
	e.Response = &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{key: output}}
	for _, b := range r.Media {
		e.Response.Parts = append(e.Response.Parts, &genai.FunctionResponsePart{
			InlineData: &genai.FunctionResponseBlob{MIMEType: b.MIMEType, Data: b.Data, DisplayName: b.DisplayName},
		})
	}
	return e
}
