package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/condition"
)

// approve lets a person decide on each call that when is true of; nil is never.
// The turn parks until the answer comes, and only an answer to this question
// counts: nothing that the model or the caller's request says does. Where it cannot
// be said whether when is true, the person decides, and reads why.
func approve(when *config.Condition, secrets *redactor) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		if when == nil || when.Expr == "" && !when.Is {
			return next
		}
		decide := newGate(when, spec)
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			a := call.Answer
			switch {
			case a == nil || a.Kind == "":
				needed, doubt := decide(call)
				if !needed {
					return next(ctx, call)
				}
				return askApproval(spec, call, doubt, secrets)
			case answersTool(call):
				// The tool asks something itself, so it has run, with approval.
				return next(ctx, call)
			case a.Action == model.Accept:
				first := *call // the answer is none to the tool's own questions
				first.Answer, first.Asked, first.Approved = nil, nil, true
				return next(ctx, &first)
			case a.Action == model.Decline:
				return notRun("the person declined", a.Reason), nil
			default:
				return notRun("nobody approved it", a.Reason), nil
			}
		}
	}
}

// ours marks the questions that are asked here. A tool that asks for approvals
// itself, such as an agent, puts a mark of its own on them.
const ours = `{"by":"approve"}`

// isOurs reports whether a question about an approval was asked here. One without
// any mark counts as such, since that approves less.
func isOurs(q *session.Suspension) bool {
	return q == nil || len(q.Opaque) == 0 || string(q.Opaque) == ours
}

// answersTool reports whether a call comes again with the answer to a question of
// the tool's own.
func answersTool(call *agent.Call) bool {
	a := call.Answer
	return a != nil && a.Kind != "" && (a.Kind != model.Approval || !isOurs(call.Asked))
}

// gate says whether a call needs an approval, and what makes that doubtful.
type gate func(call *agent.Call) (needed bool, doubt error)

func newGate(when *config.Condition, spec *agent.Spec) gate {
	if when.Expr == "" {
		return func(*agent.Call) (bool, error) { return when.Is, nil }
	}
	program := sync.OnceValues(func() (*condition.Program, error) { return condition.Approval(when.Expr, nil) })
	defaults := defaultsOf(spec.Parameters)
	return func(call *agent.Call) (bool, error) {
		p, err := program()
		if err != nil {
			return true, err
		}
		args, problem := strictObject(call.Args)
		if problem != "" {
			return true, errors.New(problem)
		}
		needed, err := p.Eval(condition.Env{
			Args: withDefaults(args, defaults), Tool: spec.Name, Annotations: spec.Annotations,
			Hints: condition.Hints{ReadOnly: spec.Hints.ReadOnly, Destructive: !spec.Hints.NonDestructive && !spec.Hints.ReadOnly,
				Idempotent: spec.Hints.Idempotent, OpenWorld: !spec.Hints.ClosedWorld},
			State: func(key string) (any, bool) { v, ok := call.State[key]; return v, ok },
		})
		return needed || err != nil, err
	}
}

func askApproval(spec *agent.Spec, call *agent.Call, doubt error, secrets *redactor) (*agent.Result, error) {
	args, err := shownArguments(call.Args, secrets)
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("Agent %s wants to run %s", call.Agent, spec.Name)
	if doubt != nil {
		message += fmt.Sprintf(". Whether that needs an approval could not be decided: %v", doubt)
	}
	return &agent.Result{Suspend: &session.Suspension{Kind: model.Approval, Message: message, Payload: args, Opaque: json.RawMessage(ours)}}, nil
}

func notRun(why, reason string) *agent.Result {
	if reason != "" {
		why += ": " + reason
	}
	return agent.NotRun("not run: " + why)
}

// maxShownBytes bounds the arguments that a person is shown.
const maxShownBytes = 4096

// shownArguments gives arguments as a person should see them: JSON of at most
// maxShownBytes, without secrets and with everything invisible escaped. What
// is too long is cut, and each cut says how much is missing.
func shownArguments(args json.RawMessage, secrets *redactor) (json.RawMessage, error) {
	value, err := generic(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments cannot be shown: %w", err)
	}
	value = secrets.value(value, new(bool)) // before anything could be cut in half
	const everything = math.MaxInt
	text, entries := everything, everything
	for text >= 64 {
		shown, err := jsonText(shorten(value, text, entries))
		if err != nil {
			return nil, err
		}
		if shown = escapeInvisible(shown); len(shown) <= maxShownBytes {
			return json.RawMessage(shown), nil
		}
		text = min(text, maxShownBytes) / 2
		entries = text / 16
	}
	note := fmt.Sprintf("[... %d bytes left out ...]", len(args))
	return json.Marshal(map[string]string{"arguments": note})
}

// shorten gives v with its texts cut to so many bytes and its lists and objects
// to so many entries.
func shorten(v any, text, entries int) any {
	switch v := v.(type) {
	case string:
		return cut(v, text)
	case []any:
		out := make([]any, 0, min(len(v), entries)+1)
		for _, e := range v[:min(len(v), entries)] {
			out = append(out, shorten(e, text, entries))
		}
		if n := len(v) - len(out); n > 0 {
			out = append(out, fmt.Sprintf("[... %d of %d entries left out ...]", n, len(v)))
		}
		return out
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		keys = keys[:min(len(keys), entries)]
		out := make(map[string]any, len(keys)+1)
		for _, key := range keys {
			out[key] = shorten(v[key], text, entries)
		}
		if n := len(v) - len(keys); n > 0 {
			out["..."] = fmt.Sprintf("[... %d of %d entries left out ...]", n, len(v))
		}
		return out
	}
	return v
}

// escapeInvisible writes what cannot be seen in a JSON text as escapes, such as
// the characters that turn the direction of what follows: a person should
// approve what will run, not what it looks like.
func escapeInvisible(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return string(out)
}
