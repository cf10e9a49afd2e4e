package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// request builds what the model is asked.
func (t *turn) request(ctx context.Context) (*model.Request, error) {
	system, err := t.system(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.listTools(ctx); err != nil {
		return nil, err
	}
	req := &model.Request{System: system, Notice: t.notice}
	if state := &t.h.turn; state.answer != nil {
		req.Asked, req.Answer = state.asked, state.answer
	}
	if err := t.declare(ctx, req); err != nil {
		return nil, err
	}
	req.Contents, req.Turn = t.conversation().View()
	if t.output != nil {
		if err := t.output.Demand(req); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// declare tells the model of the step's tools.
func (t *turn) declare(ctx context.Context, req *model.Request) error {
	req.Tools = make([]*genai.FunctionDeclaration, 0, len(t.tools))
	block := make([]genai.FunctionDeclaration, len(t.tools))
	for i, tool := range t.tools {
		s := tool.Spec()
		if by, ok := tool.(Instructor); ok {
			text, err := by.Instruct(ctx, t.query(ctx))
			if err != nil {
				return fmt.Errorf("tool %s: %w", s.Name, err)
			}
			if text != "" {
				req.System = strings.TrimPrefix(req.System+"\n\n"+text, "\n\n")
			}
		}
		switch {
		case s.Hosted != "":
			req.Hosted = append(req.Hosted, s.Hosted)
		case !s.Hidden:
			block[i] = genai.FunctionDeclaration{Name: s.Name, Description: s.Description, ParametersJsonSchema: s.Parameters}
			req.Tools = append(req.Tools, &block[i])
		}
	}
	return nil
}

// system renders the instruction with the state as it is now.
func (t *turn) system(ctx context.Context) (string, error) {
	var err error
	text, missing := t.instruction.Render(func(key string) (any, bool) {
		v, ok, stateErr := t.state(ctx, key)
		err = cmp.Or(err, stateErr)
		return v, ok
	}, t.cfg.File)
	if err != nil {
		return "", err
	}
	return text, missing
}

// state gives a key of the session's state, or of what is shared.
func (t *turn) state(ctx context.Context, key string) (v any, ok bool, err error) {
	if !shared(key) {
		v, ok = t.h.state[key]
		return v, ok, nil
	}
	all, err := t.lease.Shared(ctx)
	v, ok = all[key]
	return v, ok, err
}

// callState is the state as the calls of a step see it: the session's, and what is
// shared where there is any.
func (t *turn) callState(ctx context.Context) (map[string]any, error) {
	common, err := t.lease.Shared(ctx)
	if err != nil || len(common) == 0 {
		return t.h.state, err
	}
	all := make(map[string]any, len(t.h.state)+len(common))
	maps.Copy(all, t.h.state)
	maps.Copy(all, common)
	return all, nil
}

// query is what a toolset is asked with.
func (t *turn) query(ctx context.Context) *Query {
	return &Query{
		Agent: t.cfg.Name, Caller: t.in.Caller, Key: t.in.Key, Invocation: t.h.turn.invocation,
		State: func(key string) (any, bool) {
			v, ok, err := t.state(ctx, key)
			if err != nil {
				t.Log.Warn("state cannot be read", "agent", t.cfg.Name, "error", err)
			}
			return v, ok
		},
		Failures: func(tool string) int { return t.h.turn.failures[tool] },
		Input:    func() string { return answer.Text(t.h.talk.Contents[t.h.turn.first]) },
	}
}

// listTools asks the toolset, once a step, and records what its sources listed
// where that is news.
func (t *turn) listTools(ctx context.Context) error {
	q := t.query(ctx)
	var events []*session.Event
	q.Report = func(l *session.Listing) {
		if known := t.h.listings[l.Source]; known != l && !reflect.DeepEqual(known, l) {
			e := t.event(session.ToolsListed)
			e.Listing = l
			events = append(events, e)
		}
	}
	tools, err := t.Tools.Tools(ctx, q)
	if recording := t.record(ctx, events...); recording != nil {
		return recording
	}
	if err != nil {
		return fmt.Errorf("list the agent's tools: %w", err)
	}
	t.tools = tools
	return nil
}
