// Package gemini is the model provider for Gemini, through the Gemini API or
// Vertex AI.
//
// Start with [New] and [Model.Generate]. A call goes through here:
//
//   - request.go builds what is sent; package dialect turns the tools' JSON Schema
//     into the dialect that the service takes;
//   - client.go makes the genai client on first use, transport.go and sse.go
//     stand between it and the network;
//   - reply.go puts the streamed pieces together, finish.go and errors.go say
//     what became of the call.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
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
	tools    toolCache
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
	}
	if generate != nil {
		m.generate = *generate
	}
	if u := m.settings.baseURL; u != "" {
		parsed, err := url.Parse(u)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			return nil, fmt.Errorf("%s: it must be a URL such as https://host/path", m.settings.baseURLSource)
		}
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
	return func(yield func(*model.Reply, error) bool) {
		call := ctx
		if m.timeout > 0 {
			var cancel context.CancelFunc
			call, cancel = context.WithTimeout(ctx, m.timeout)
			defer cancel()
		}
		reply, err := m.stream(call, req, func(r *model.Reply) bool { return yield(r, nil) })
		switch {
		case errors.Is(err, errBrokenOff):
		case err != nil:
			yield(nil, m.whyStopped(ctx, call, err))
		default:
			yield(reply, nil)
		}
	}
}

// errBrokenOff: the consumer has stopped the iteration.
var errBrokenOff = errors.New("iteration broken off")

// stream makes one call, passes on the pieces and returns the whole.
func (m *Model) stream(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	ask, err := m.client.get(ctx, &m.settings)
	if err != nil {
		return nil, err
	}
	body, err := m.body(req)
	if err != nil {
		return nil, err
	}
	sent := false
	var whole gathering
	for chunk, err := range ask(ctx, m.name, nil, m.callConfig(req.System, body, &sent)) {
		if err != nil {
			return nil, m.explain(err, sent)
		}
		if piece := whole.add(chunk); piece != nil && !partial(piece) {
			return nil, errBrokenOff
		}
	}
	reply, err := whole.reply()
	if whole.unknown {
		m.deps.Log.DebugContext(ctx, "unknown finish reason, taken for being done", "model", m.name, "reason", string(whole.finish))
	}
	return reply, err
}

// whyStopped replaces the errors of a call whose time ran out or that was
// stopped by those that say so.
func (m *Model) whyStopped(ctx, call context.Context, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return &model.Error{Code: model.Timeout, Message: "the time for this turn ran out while the model was answering", Err: context.Cause(ctx)}
	case call.Err() != nil:
		return &model.Error{
			Code:    model.Timeout,
			Message: fmt.Sprintf("the model did not finish its answer within model.timeout (%s)", m.timeout),
			Err:     context.DeadlineExceeded,
		}
	}
	return err
}
