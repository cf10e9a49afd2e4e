// Package agenttool makes a tool of an agent: each call is a turn in a
// conversation of its own.
//
// Start with [New]. What the agent says becomes the result, and what it asks is
// asked by the tool; answer.go has both. The agent is built elsewhere.
package agenttool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Runner takes turns of the agent; it is [agent.Runner].
type Runner interface {
	Run(ctx context.Context, in agent.Turn) iter.Seq2[*session.Event, error]
}

// Options are what the tool needs beside the agent file.
type Options struct {
	Runner Runner
	// Hints are the worst of what the agent's own tools may do.
	Hints agent.Hints
	// Store, if set, is where the agent's conversations are: each is deleted when
	// it has come to its end. Without it they are left to the store's bounds.
	Store session.Store
	// Artifacts, if set, is where files are that the agent saves: those of a call
	// are handed on to the conversation of its caller.
	Artifacts artifact.Store
}

type tool struct {
	Options
	spec    agent.Spec
	agent   *config.Agent
	waiting parking
}

// requestSchema is that of an agent without an input_schema.
const requestSchema = `{"type":"object","properties":{"request":{"type":"string","description":"What the agent should do, with everything that it has to know."}},"required":["request"],"additionalProperties":false}`

// New makes the tool of an agent entry. It is called like the agent unless the
// entry has a name and a description of its own.
func New(t *config.Tool, o Options) (agent.Tool, error) {
	if t.Agent == nil || t.Agent.Agent == nil || o.Runner == nil {
		return nil, errors.New("agent: there is no such agent")
	}
	inner := t.Agent.Agent
	made := &tool{Options: o, agent: inner, spec: agent.Spec{
		Name: t.Name, Description: t.Description, Parameters: inner.InputSchema, Hints: o.Hints,
	}}
	if made.spec.Name == "" {
		made.spec.Name = inner.Name
	}
	if made.spec.Description == "" {
		made.spec.Description = inner.Description
	}
	if made.spec.Description == "" {
		made.spec.Description = "Run the " + inner.Name + " agent."
	}
	if len(made.spec.Parameters) == 0 {
		made.spec.Parameters = json.RawMessage(requestSchema)
	}
	return made, nil
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call implements [agent.Tool]. It takes one turn of the agent, or goes on with
// the one that asked what has now been answered.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	if call.Caller.Hops >= agent.MaxHops {
		return agent.NotRun(fmt.Sprintf("not run: %d agents have called each other in a row, which is as many as may", agent.MaxHops)), nil
	}
	t.clear(ctx, call)
	turn, problem := t.turn(call)
	if problem != "" {
		return agent.NotRun(problem), nil
	}
	said, err := answer.Collect(t.Runner.Run(ctx, turn), func(e *session.Event) {
		if line := describe(e); line != "" {
			call.Progress(t.spec.Name + ": " + line)
		}
	})
	parked := err == nil && said.Problem == nil && len(said.Questions) > 0
	if parked {
		t.waiting.park(call, turn.Key)
		return t.ask(turn.Key, said.Questions[0])
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTimeout)
	defer cancel()
	t.waiting.leave(turn.Key)
	defer t.forget(closing, turn.Key)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("agent %s: %w", t.agent.Name, err)
	case turn.Input == nil && (errors.Is(err, session.ErrNotFound) || errors.Is(err, agent.ErrNothingOpen)):
		return agent.Failure("the conversation in which " + t.spec.Name + " asked has gone meanwhile; call it again if its answer is still wanted"), nil
	case err != nil:
		return nil, fmt.Errorf("agent %s: %w", t.agent.Name, err)
	}
	res := t.result(closing, call, turn.Key, said)
	if ctx.Err() != nil {
		return res, context.Cause(ctx)
	}
	return res, nil
}

// turn is what the agent is asked: what it is called with, in a conversation of
// its own, or to go on where it has asked.
func (t *tool) turn(call *agent.Call) (in agent.Turn, problem string) {
	in.Caller = call.Caller
	in.Caller.Hops++
	// The agent is the one that this tool of this caller is: agents that are called
	// alike share neither memory nor state. Names have no /, so it is no other's.
	in.Key = session.Key{Principal: call.Caller.Principal, Agent: call.Key.Agent + "/" + t.spec.Name}
	if place := placeOf(call.Asked); call.Answer != nil && place != nil {
		in.Key.Handle, in.Mode = place.Handle, session.MustExist
		in.Answers = []session.Answer{{
			CallID: place.Call, ID: place.Question,
			Action: call.Answer.Action, Reason: call.Answer.Reason, Payload: call.Answer.Payload,
		}}
		return in, ""
	}
	text, problem := t.request(call.Args)
	// The random part is what keeps callers from naming the conversation, and
	// tells it from that of another call to which the model gave the same id.
	in.Key.Handle, in.Mode = call.Key.Handle+"/"+call.ID+"/"+rand.Text(), session.Create
	in.Input = &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: text}}}
	in.State = handedOn(call.State)
	return in, problem
}

// request is the text of the agent's request: the argument, or with an
// input_schema all arguments as JSON.
func (t *tool) request(raw json.RawMessage) (text, problem string) {
	if len(t.agent.InputSchema) > 0 {
		return string(raw), ""
	}
	// Members of a struct would take names in any case, for which approvals and
	// other readers of the arguments do not look.
	var args map[string]json.RawMessage
	var request string
	if err := json.Unmarshal(raw, &args); err != nil {
		return "", "the arguments cannot be read: " + err.Error()
	}
	for name, value := range args {
		if name != "request" {
			return "", fmt.Sprintf("there is no argument %.100q: the only one is request", name)
		}
		if err := json.Unmarshal(value, &request); err != nil {
			return "", "the argument request cannot be read: " + err.Error()
		}
	}
	if strings.TrimSpace(request) == "" {
		return "", "the argument request is empty: say what the agent should do"
	}
	return request, ""
}

// handedOn is the state that goes from one agent to the other and back: neither
// what lives as long as a turn, nor what begins with _ and is somebody's own, nor
// what is shared, which each agent keeps for itself.
func handedOn(state map[string]any) map[string]any {
	var kept map[string]any
	for key, value := range state {
		if strings.HasPrefix(key, "_") || strings.HasPrefix(key, "temp:") || strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:") {
			continue
		}
		if kept == nil {
			kept = make(map[string]any, len(state))
		}
		kept[key] = value
	}
	return kept
}

// closingTimeout bounds what is left to do for a conversation that has come to
// its end, also when the call itself has to end.
const closingTimeout = 5 * time.Second

// clear deletes the conversations that wait for an answer which cannot come any
// more, since the turn that was to bring it is over.
func (t *tool) clear(ctx context.Context, call *agent.Call) {
	for _, key := range t.waiting.abandoned(call) {
		t.forget(ctx, key)
	}
}

// forget deletes a conversation. What cannot be deleted is left to the bounds of
// its store.
func (t *tool) forget(ctx context.Context, key session.Key) {
	if t.Artifacts != nil {
		_ = t.Artifacts.DeleteConversation(ctx, key)
	}
	if t.Store != nil {
		_ = t.Store.Delete(ctx, key)
	}
}
