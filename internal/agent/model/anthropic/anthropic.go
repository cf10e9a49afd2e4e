// Package anthropic is the model provider for Anthropic's Messages API.
//
// Start with [New] and [Model.Generate]. A call goes through here:
//
//   - request.go builds what is sent, with the conversation from messages.go, blocks.go
//     and images.go; package dialect turns JSON Schema into what the service takes;
//   - package wire carries it there and the answer back;
//   - stream.go puts the streamed pieces together, finish.go and errors.go say what
//     became of the call, and what a second try goes without.
//
// What differs between models is decided by their names, once: models.go has the
// tables, thinking.go the decisions. A word of model.thinking that a model has not
// becomes the nearest that it has: none is low with those that always think, and every
// word is none with those that do not. An answer has 8192 tokens by default and as many
// more as thoughts may take, but no more than the model gives; to ask for more in
// model.max_output_tokens is an error of [New].
package anthropic

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// provider marks what is ours in a conversation.
const provider = "anthropic"

// Deps are what a [Model] takes from outside.
type Deps struct {
	// Lookup is the environment of the agent file.
	Lookup func(name string) (value string, ok bool)
	Log    *slog.Logger
}

// Model is a Claude model. It is safe for concurrent use.
type Model struct {
	name     string
	named    named
	timeout  time.Duration
	settings settings
	sampling sampling
	thinking thinking
	client   *wire.Client
	tools    wire.Declarations
	outputs  outputCache
	log      *slog.Logger
}

// New makes a model of what the agent file says. It contacts nothing and needs no
// key yet; [Model.Check] says whether a call will find one. The error names the key of
// the agent file that this model does not take. The caller closes the model.
func New(cfg *config.Model, d Deps) (*Model, error) {
	s, err := readSettings(cfg, d.Lookup)
	if err != nil {
		return nil, err
	}
	n := readName(cfg.Name)
	t, err := planThinking(cfg, n)
	if err != nil {
		return nil, err
	}
	if err := checkSampling(cfg, n, &t); err != nil {
		return nil, err
	}
	beta := ""
	if string(t.member) == adaptiveBound {
		beta = bindingControls
	}
	return &Model{
		name: cfg.Name, named: n, timeout: cfg.Timeout.Std(), settings: s,
		sampling: readSampling(cfg, n), thinking: t,
		client: wire.New(s.service(cfg.Name, beta, d.Lookup)),
		tools:  wire.Declarations{Service: "Anthropic", Model: cfg.Name, Max: maxTools, Encode: encodeTool, Log: d.Log},
		log:    d.Log,
	}, nil
}

// Check says whether a call will find a key. It is cheap and contacts nothing; the
// error is a *[model.Error] that says what to set.
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
	return wire.Generate(ctx, m.timeout, func(ctx context.Context, partial func(*model.Reply) bool) (*model.Reply, error) {
		return m.call(ctx, req, partial)
	})
}

// call makes one call, passes on the pieces and returns the whole. What the service
// refuses to take back, or to hold an answer to, is left out at a second try.
func (m *Model) call(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	var without spared
	for {
		shown := false
		reply, err := m.attempt(ctx, req, without, func(r *model.Reply) bool {
			shown = true
			return partial(r)
		})
		if err == nil && without.format {
			m.outputs.refused(req.OutputSchema)
		}
		if err == nil || shown {
			return reply, err
		}
		also := m.blamed(err, req, without)
		if also == without {
			return nil, err
		}
		without = also
	}
}

func (m *Model) attempt(ctx context.Context, req *model.Request, without spared, partial func(*model.Reply) bool) (*model.Reply, error) {
	body, err := m.body(ctx, req, without)
	if err != nil {
		return nil, err
	}
	whole := gathering{model: m.name}
	for event, err := range m.client.Stream(ctx, "/v1/messages", body) {
		if err != nil {
			return nil, m.client.Explain(err, read)
		}
		pieces, err := whole.add(event)
		if err != nil {
			return nil, m.faulty(err)
		}
		for _, p := range pieces {
			if !partial(p) {
				return nil, wire.ErrBrokenOff
			}
		}
		if whole.stopped { // whatever becomes of the connection now, the answer is there
			break
		}
	}
	if whole.passedOver != nil {
		m.log.DebugContext(ctx, "parts of an answer that are not known were passed over", "model", m.name, "types", whole.passedOver)
	}
	return whole.reply()
}
