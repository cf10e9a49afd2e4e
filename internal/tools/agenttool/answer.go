package agenttool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// place is where an answer goes: the question of a call in a conversation. It is
// the Opaque of what the tool asks.
type place struct {
	Handle   string `json:"handle"`
	Question string `json:"question"`
	Call     string `json:"call,omitempty"`
}

// ask passes on what the agent asks. Of several questions the next one is asked
// when the first is answered.
func (t *tool) ask(key session.Key, q *session.Suspension) (*agent.Result, error) {
	opaque, err := json.Marshal(place{Handle: key.Handle, Question: q.ID, Call: q.CallID})
	if err != nil {
		return nil, fmt.Errorf("the question of agent %s: %w", t.agent.Name, err)
	}
	return &agent.Result{Suspend: &session.Suspension{
		Kind: q.Kind, Message: t.spec.Name + ": " + q.Message, Payload: q.Payload, Opaque: opaque,
	}}, nil
}

// placeOf is where a question came from, nil for one that is not the agent's.
func placeOf(asked *session.Suspension) *place {
	p := &place{}
	if asked == nil || len(asked.Opaque) == 0 || json.Unmarshal(asked.Opaque, p) != nil || p.Handle == "" {
		return nil
	}
	return p
}

// result is what a turn came to.
func (t *tool) result(ctx context.Context, call *agent.Call, key session.Key, said *answer.Answer) *agent.Result {
	r := &agent.Result{StateDelta: handedOn(said.StateDelta)}
	if said.Usage != (model.Usage{}) {
		r.Usage = &said.Usage
	}
	var texts []string
	if said.Content != nil {
		for _, p := range said.Content.Parts {
			switch {
			case p.InlineData != nil:
				r.Media = append(r.Media, p.InlineData)
			case p.FileData != nil:
				texts = append(texts, p.FileData.FileURI)
			case p.Text != "":
				texts = append(texts, p.Text)
			}
		}
	}
	var notes []string
	r.Artifacts, notes = t.handOver(ctx, call, key, said.Artifacts)
	text := strings.Join(append(texts, notes...), "\n")
	switch {
	case said.Problem != nil:
		r.IsError = true
		r.Output = fmt.Sprintf("agent %s failed: %s", t.agent.Name, said.Problem.Message)
		if text != "" {
			r.Output = fmt.Sprintf("%s\nUntil then it had said:\n%s", r.Output, text)
		}
	case said.Structured != nil:
		r.Output = said.Structured
	case text == "" && len(r.Media) == 0:
		r.Output = "agent " + t.agent.Name + " has nothing to say"
	default:
		r.Output = text
	}
	return r
}

// handOver gives the files that the agent saved to the conversation of the call,
// and says which could not be.
func (t *tool) handOver(ctx context.Context, call *agent.Call, key session.Key, files []session.Artifact) (kept []session.Artifact, notes []string) {
	if t.Artifacts == nil {
		return files, nil
	}
	to := call.Key
	for _, f := range files {
		saved, err := t.Artifacts.Load(ctx, key, f.Name, f.Version)
		if err == nil {
			saved, err = t.Artifacts.Save(ctx, to, artifact.Artifact{Name: f.Name, MIMEType: saved.MIMEType, Data: saved.Data})
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("The file %s was saved, but could not be handed over: %v", f.Name, err))
			continue
		}
		kept = append(kept, saved.Info())
	}
	return kept, notes
}

// describe says what happens in a turn, in the words that front ends use for the
// tools of the agent that they serve.
func describe(e *session.Event) string {
	switch e.Kind {
	case session.ToolStarted:
		return "running " + e.Call.Name
	case session.ToolFinished:
		if e.IsError {
			return e.Call.Name + " failed"
		}
		return e.Call.Name + " done"
	case session.Correction, session.Notice:
		return e.Text
	}
	return ""
}
