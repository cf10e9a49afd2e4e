// Package openai is the model provider for OpenAI's Responses API.
//
// Start with [New] and [Model.Generate]. A call goes through here:
//
//   - approve.go sees whether a person has to be asked first, or has answered;
//   - request.go builds what is sent, hosted.go the MCP servers that the service calls
//     itself; package history brings the conversation into form, package dialect the
//     schemas;
//   - concede.go sends it, and again without what the service refuses to this model or
//     organization;
//   - stream.go gathers the events of the answer, package history reads what the service
//     says in it, reply.go makes parts of that and says what became of the call,
//     errors.go what went wrong.
//
// A word of model.thinking that a model has not becomes the nearest that it has (package
// thinking): none is minimal with gpt-5, minimal is low from gpt-5.1 on, gpt-5-pro knows
// high alone. Models that do not think are asked for none of it.
//
// Nothing is stored with the service: what it must get back goes into the parts of
// the conversation, signed with [model.Sign].
package openai

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// name is the service's, for messages.
const name = "OpenAI"

// Deps are what a [Model] takes from outside.
type Deps struct {
	// Lookup is the environment of the agent file.
	Lookup func(name string) (value string, ok bool)
	Log    *slog.Logger
}

// Model is a model of OpenAI's. It is safe for concurrent use.
type Model struct {
	cfg      *config.Model
	deps     Deps
	settings settings
	extra    map[string]any // of the request; nil for nothing
	servers  map[string]*server
	client   *wire.Client
	tools    wire.Declarations

	mu      sync.Mutex
	without concessions // that the service will not take back
}

// New makes a model of what the agent file says; servers are the MCP servers that
// the service may call. It contacts nothing and needs no key: [Model.Check] says
// whether the first call will find one. The caller closes the model. Nobody may
// write to cfg and servers any more.
func New(cfg *config.Model, servers []*config.HostedMCP, d Deps) (*Model, error) {
	m := &Model{cfg: cfg, deps: d, settings: readSettings(cfg, d.Lookup), servers: make(map[string]*server, len(servers))}
	at, err := wire.Address(m.settings.baseURL, "/responses", "/chat/completions")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.settings.baseURLSource, err)
	}
	if most := cfg.MaxOutputTokens; most != nil && *most < minOutput {
		return nil, fmt.Errorf("model.max_output_tokens: %d is less than the %d that OpenAI wants at least", *most, minOutput)
	}
	if m.extra, err = readExtra(cfg.ExtraBody); err != nil {
		return nil, err
	}
	secrets := m.settings.secrets
	for _, s := range servers {
		made, err := newServer(s)
		if err != nil {
			return nil, err
		}
		m.servers[s.ServerLabel] = made
		secrets = append(secrets, made.secrets...)
	}
	m.client = wire.New(wire.Service{
		Name: name, URL: at.String(), Header: m.settings.header, Who: m.settings.who(),
		Model: cfg.Name, Secrets: secrets, Lookup: d.Lookup,
	})
	m.tools = wire.Declarations{Service: name, Model: cfg.Name, Max: maxTools, Encode: m.encodeTool, Log: d.Log}
	return m, nil
}

// Check says whether the first call will find a key. It is cheap and contacts
// nothing; the error is a *[model.Error] that says what to set.
func (m *Model) Check() error {
	if problem := m.settings.problem(); problem != nil {
		return problem
	}
	return nil
}

// Close frees the connections that are kept open. No call may run any more.
func (m *Model) Close() error {
	m.client.Close()
	return nil
}

// Generate implements [model.Model].
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return wire.Generate(ctx, m.cfg.Timeout.Std(), func(ctx context.Context, partial func(*model.Reply) bool) (*model.Reply, error) {
		return m.call(ctx, req, partial)
	})
}

// call makes one step: it asks the service, or the person first whose approval an
// earlier answer of this step waits for.
func (m *Model) call(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	if problem := m.settings.problem(); problem != nil {
		return nil, problem
	}
	so, err := m.resume(req)
	if err != nil {
		return nil, err
	}
	if so.asks != nil {
		return so.suspend(nil)
	}
	answer, err := m.ask(ctx, req, so.items, partial)
	if err != nil {
		return nil, err
	}
	return m.reply(ctx, req, so, answer)
}

// stream posts a body, passes on the pieces of the answer and gathers it whole, or what
// there is of it where there is an error.
func (m *Model) stream(ctx context.Context, body []byte, partial func(*model.Reply) bool) (*gathering, error) {
	g := &gathering{}
	for event, err := range m.client.Stream(ctx, "/responses", body) {
		if err != nil {
			return g, err
		}
		piece, err := g.add(event)
		switch {
		case err != nil:
			return g, err
		case piece != nil && !partial(piece):
			return g, wire.ErrBrokenOff
		case g.failure != nil:
			return g, g.failure
		case g.final != nil:
			return g, nil
		}
	}
	return g, g.unfinished()
}
