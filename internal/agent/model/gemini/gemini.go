// Package gemini is the model provider for Gemini, through the Gemini API or
// Vertex AI.
//
// Start with [New] and [Model.Generate]. A call goes through here:
//
//   - request.go builds what is sent; package history brings the conversation into
//     the form that the service takes, package dialect the tools' JSON Schema;
//   - client.go makes the genai client on first use; what stands between it and
//     the network is there and in sse.go;
//   - reply.go puts the streamed pieces together, finish.go and errors.go say
//     what became of the call.
//
// What a model takes of the settings goes by its name (family.go). A word of thinking
// that it has not becomes the nearest that it has: none is the fewest tokens with Gemini
// 2.5 Pro, and low with the models since Gemini 3 that know no minimal. Gemini 2.0 and
// before do not think and are asked for none of it.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Deps are what a [Model] takes from outside.
type Deps struct {
	// Lookup is the environment of the agent file.
	Lookup func(name string) (value string, ok bool)
	Log    *slog.Logger
}

// Model is a Gemini model. It is safe for concurrent use.
type Model struct {
	name     string
	timeout  time.Duration
	generate genai.GenerateContentConfig // a call copies it and never writes to it
	deps     Deps
	settings settings
	client   lazyClient
	tools    wire.Declarations
}

// New makes a model of what the agent file says. It needs neither a key nor
// the network: the client is made by the first call, and [Model.Check] says
// beforehand whether that will find a key. generate may be nil; nobody may
// write to it any more. The caller closes the model.
func New(cfg *config.Model, generate *genai.GenerateContentConfig, d Deps) (*Model, error) {
	m := &Model{
		name:     cfg.Name,
		timeout:  cfg.Timeout.Std(),
		deps:     d,
		settings: readSettings(cfg, d.Lookup),
		client:   newLazyClient(),
		tools:    wire.Declarations{Service: "Gemini", Model: cfg.Name, Max: maxTools, Encode: encodeTool, Log: d.Log},
	}
	if generate != nil {
		m.generate = *generate
	}
	var err error
	if m.generate, err = merged(m.generate, cfg, m.settings.vertex); err != nil {
		return nil, err
	}
	if u := m.settings.baseURL; u != "" {
		at, err := wire.Address(u, "/v1beta", "/v1beta1", "/models")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.settings.baseURLSource, err)
		}
		m.settings.baseURL = at.String()
	}
	return m, checkGenerate(&m.generate)
}

// checkGenerate refuses generation settings that the agent file has another
// place for, or that would change what a reply looks like.
func checkGenerate(g *genai.GenerateContentConfig) error {
	switch {
	case g.SystemInstruction != nil:
		return errors.New("generate_content_config.system_instruction: use the agent's instruction")
	case g.Tools != nil:
		return errors.New("generate_content_config.tools: use the agent's tools")
	case g.CandidateCount > 1:
		return errors.New("generate_content_config.candidate_count: an agent takes one answer; leave it out")
	}
	if o := g.HTTPOptions; o != nil {
		switch {
		case o.Timeout != nil:
			return errors.New("generate_content_config.http_options.timeout: use model.timeout")
		case o.RetryOptions != nil:
			return errors.New("generate_content_config.http_options.retry_options: use model.retries")
		}
	}
	if c := g.ToolConfig; c != nil && c.FunctionCallingConfig != nil {
		if s := c.FunctionCallingConfig.StreamFunctionCallArguments; s != nil && *s {
			return errors.New("generate_content_config.tool_config: stream_function_call_arguments is not supported; leave it out")
		}
	}
	return nil
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
	m.client.close()
	return nil
}

// Generate implements [model.Model].
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return wire.Generate(ctx, m.timeout, func(ctx context.Context, partial func(*model.Reply) bool) (*model.Reply, error) {
		return m.call(ctx, req, partial)
	})
}

// call passes on the pieces of an answer and returns the whole. Signatures that the
// service refuses are left out at a second try: with them no request of the
// conversation would succeed any more.
func (m *Model) call(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	shown := false
	reply, err := m.stream(ctx, req, false, func(r *model.Reply) bool {
		shown = true
		return partial(r)
	})
	if shown || !refusesSignatures(err) || !holdsSignatures(req) {
		return reply, err
	}
	m.deps.Log.Info("Gemini does not take the signatures of a conversation back, so they are left out", "model", m.name, "reason", err)
	lost := model.UsageOf(err)
	if reply, err = m.stream(ctx, req, true, partial); err != nil {
		return nil, model.WithUsage(err, lost)
	}
	reply.Usage = reply.Usage.After(lost)
	return reply, nil
}

// stream makes one call.
func (m *Model) stream(ctx context.Context, req *model.Request, unsigned bool, partial func(*model.Reply) bool) (*model.Reply, error) {
	ask, err := m.client.get(ctx, &m.settings)
	if err != nil {
		return nil, err
	}
	body, err := m.body(req, unsigned)
	if err != nil {
		return nil, err
	}
	sent := false
	var whole gathering
	for chunk, err := range ask(ctx, m.name, nil, m.callConfig(req.System, body, &sent)) {
		if err != nil && whole.finish != "" && !errors.Is(ctx.Err(), context.Canceled) {
			break // the answer is there, only its usage may be missing
		}
		if err != nil {
			return nil, m.explain(err, sent)
		}
		if piece := whole.add(chunk); piece != nil && !partial(piece) {
			return nil, wire.ErrBrokenOff
		}
	}
	return whole.reply()
}
