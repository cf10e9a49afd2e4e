// Package chat is the model provider for servers of the Chat Completions API at
// any address: Ollama, vLLM, the llama.cpp server, LM Studio, OpenRouter and other
// gateways, DeepSeek, Mistral, Groq, and OpenAI's own.
//
// Start with [New] and [Model.Generate]. A call goes through here:
//
//   - settings.go says who is asked, and what of the agent file goes into every
//     request;
//   - request.go, describe.go, messages.go, results.go and media.go build what is sent; package
//     dialect turns the tools' JSON Schema into what all servers take;
//   - concede.go asks, and asks again in another manner where a server refuses one;
//   - package chunk reads the pieces of an answer, reply.go puts them together,
//     finish.go and errors.go say what became of the call; kept.go holds what a
//     server must get back.
//
// The API has no specification that all servers hold to. Requests keep to what the
// strictest of them takes, answers are read with what the loosest of them sends. Where
// no form suits all, the address of a service says which, or else its refusal (concede.go):
//
//	                wants in requests                  does in answers
//	OpenAI, Azure   ids of up to 40 characters, no     counts in a last chunk without
//	                alternatives at the top of a       choices; gives refusals apart from
//	                schema, max_completion_tokens      the text
//	Ollama          schemas of its own types, images   gives whole calls, all of index 0
//	                as data, content null only         or of none, and finish_reason stop
//	                beside calls                       with calls; reasoning; cuts a long
//	                                                   history without a word
//	llama.cpp       schemas that become a grammar,     gives whole calls or pieces;
//	                templates that want roles to       reasoning_content; status 500 for
//	                take turns                         what a template refuses
//	vLLM            the same templates                 reasoning_content, or reasoning in
//	                                                   newer versions; errors without the
//	                                                   object around them
//	LM Studio       properties in all parameters       reasoning; errors as text
//	OpenRouter      reasoning_details again            comments while it waits, errors
//	                                                   within the stream and of others
//	                                                   within its own, reasoning, images
//	LiteLLM         ids of calls again, which hold     images
//	                Gemini's signatures
//	DeepSeek        reasoning_content again, no        reasoning_content
//	                json_schema, no images
//	Kimi            reasoning_content again, if a      reasoning_content
//	                blank; its own ids
//	Mistral         an assistant between tool and      content as a list of parts
//	                user, ids of nine letters and
//	                digits, no member it has not,
//	                such as stream_options
//	Groq            no reasoning_content               reasoning; status 400 for a call that
//	                                                   it cannot read
//	xAI             no reasoning_effort for some       counts thoughts apart
//	Gemini          extra_content of calls again,      errors in a list
//	                or one that says there is none
//	other gateways                                     no ids, arguments as objects, no
//	                                                   counts, no [DONE], one JSON object
//	                                                   in place of a stream
//
// Where a refusal does not name the member that it is about, null in model.extra_body
// takes one out, such as {"stream_options": null}.
//
// Reasoning that a server writes into the text itself, as <think>…</think>, is text
// here: such a server has a setting that tells them apart (vLLM
// --reasoning-parser, llama.cpp --reasoning-format).
package chat

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Deps are what a [Model] takes from outside.
type Deps struct {
	// Lookup is the environment of the agent file, for HTTP_PROXY and its kind; no
	// key is read from it, since one service's key must not go to another's address.
	Lookup func(name string) (value string, ok bool)
	Log    *slog.Logger
}

// Model is a model of one server. It is safe for concurrent use.
type Model struct {
	name     string
	timeout  time.Duration
	settings settings
	client   *wire.Client
	log      *slog.Logger
	tools    wire.Declarations
	brief    wire.Declarations // with short descriptions

	mu sync.Mutex
	as manner // what is known of the server by now
}

// New makes a model of what the agent file says, and contacts nothing. The error
// says which of its settings no server takes. The caller closes the model.
func New(cfg *config.Model, d Deps) (*Model, error) {
	s, err := readSettings(cfg)
	if err != nil {
		return nil, err
	}
	return &Model{
		name: cfg.Name, timeout: cfg.Timeout.Std(), settings: *s,
		client: wire.New(wire.Service{
			Name: s.host, URL: s.url, Header: s.header, Who: s.who(), Model: cfg.Name, Secrets: s.secrets, Lookup: d.Lookup,
		}),
		log:   d.Log,
		tools: wire.Declarations{Service: s.host, Model: cfg.Name, Max: maxTools, Encode: declare(manner{}), Log: d.Log},
		brief: wire.Declarations{Service: s.host, Model: cfg.Name, Max: maxTools, Encode: declare(manner{brief: true}), Log: d.Log},
		as:    s.mannerAt(),
	}, nil
}

// Check says whether the key can be sent. Without one it is nil, since many servers
// want none; the error is a *[model.Error] that says what to set.
func (m *Model) Check() error {
	if problem := m.settings.problem; problem != nil {
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

// call makes one call, passes on the pieces and returns the whole.
func (m *Model) call(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m.ask(ctx, req, partial)
}

// exchange sends a request and reads its answer. The error is one for explain.
func (m *Model) exchange(ctx context.Context, body []byte, partial func(*model.Reply) bool) (*model.Reply, error) {
	answer := gathering{host: m.settings.host, origin: m.settings.origin}
	for event, err := range m.client.Stream(ctx, "/chat/completions", body) {
		if err != nil {
			if answer.finish != "" && ctx.Err() == nil { // nothing is missing but [DONE]
				break
			}
			return nil, err
		}
		if string(bytes.TrimSpace(event.Data)) == "[DONE]" {
			break
		}
		piece, err := answer.add(event.Data)
		switch {
		case err != nil:
			return nil, err
		case event.Name == "json" && !answer.chosen:
			return nil, &model.Error{Code: model.Misconfigured, Message: m.settings.host + "'s answer is no chat completion: check model.base_url"}
		}
		if piece != nil && !partial(piece) {
			return nil, wire.ErrBrokenOff
		}
	}
	return answer.reply()
}
