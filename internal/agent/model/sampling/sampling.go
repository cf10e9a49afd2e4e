// Package sampling is the model provider "host": the agent borrows the model of
// the program that calls it, by MCP sampling (client/sampling).
//
// Start with [Model.Generate]. The provider itself contacts nobody: it parks the
// step with a question of kind [model.Sampling], which whoever serves the agent
// puts to the caller, and the step comes again with the answer. params.go builds
// the question and messages.go the conversation in it; answer.go reads what came
// back.
package sampling

import (
	"context"
	"iter"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// question is what people read of a step that waits.
const question = "asks the model of the calling host"

// Model is the calling host's model, whichever host calls. It is safe for
// concurrent use.
//
// Do not put it into [model.Retrying]: a call that is repeated would read the very
// same answer again.
type Model struct{ cfg *config.Model }

// New makes a model of what the agent file says: its name is a hint for the host,
// and of the settings of an answer those count that sampling has (temperature,
// max_output_tokens, stop).
func New(cfg *config.Model) *Model { return &Model{cfg} }

// Generate implements [model.Model]. The reply to a request without an Answer is a
// suspension. Its payload has the form that hosts take which know tools; whoever
// puts it to an older one makes it fit.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		step := m.ask
		if req.Answer != nil {
			step = read
		}
		reply, err := step(req)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(reply, nil)
	}
}

// ask parks the step.
func (m *Model) ask(req *model.Request) (*model.Reply, error) {
	payload, err := m.params(req)
	if err != nil {
		return nil, err
	}
	return &model.Reply{Suspend: &model.Suspension{Kind: model.Sampling, Message: question, Payload: payload}}, nil
}
