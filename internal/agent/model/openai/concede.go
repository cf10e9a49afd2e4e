package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/thinking"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// concessions are what a request does without, since the service has refused it to this
// model, organization or conversation.
type concessions struct {
	thoughts bool          // those of earlier answers, and any to give back later
	effort   config.Effort // is asked for instead of the one in the agent file
	think    bool          // any word of how much to think
	summary  bool          // of thoughts
	stream   bool
	schema   bool // of the answer; the instructions say it instead
	images   bool
}

// held are what a request has of all that.
type held struct {
	thoughts, include, summary, stream, schema, images bool

	effort config.Effort
}

// ask sends the request and gathers the answer. What the service refuses and the request
// can do without is left out of another one.
func (m *Model) ask(ctx context.Context, req *model.Request, so []*history.Item, partial func(*model.Reply) bool) (*gathering, error) {
	m.mu.Lock()
	without := m.without
	m.mu.Unlock()
	var learnt []func(*concessions)
	var lost *model.Usage // of answers that failed
	shown := false
	show := func(piece *model.Reply) bool {
		shown = true
		return partial(piece)
	}
	for {
		body, has, err := m.body(req, so, without)
		if err != nil {
			return nil, err
		}
		answer, err := m.stream(ctx, body, show)
		switch {
		case err == nil, errors.Is(err, wire.ErrBrokenOff):
			m.learn(learnt)
			answer.lost = lost
			return answer, err
		case !errors.Is(ctx.Err(), context.Canceled) && answer.keep(m.ending(ctx, err)):
			answer.lost = lost
			return answer, nil
		}
		refused, before := refusal(err), without
		change, lasting := concede(refused, has)
		if change != nil {
			change(&without)
		}
		if without == before { // there is nothing more to leave out
			return nil, model.WithUsage(m.explain(err), lost)
		}
		lost = model.Sum(lost, refused.used.tokens())
		said := wire.Excerpt(m.client.Redact(refused.Message), maxSaid)
		m.deps.Log.DebugContext(ctx, "asking again without what the service refuses", "model", m.cfg.Name, "refusal", said)
		if without.images && !before.images {
			req.Notify(name + " refuses the images of this conversation, so the model is not shown them: " + said)
		}
		if shown {
			req.Notify("the answer starts again")
			shown = false
		}
		if lasting {
			learnt = append(learnt, change)
		}
	}
}

// learn keeps in mind what a request went without that the service took. A refusal about
// which that changed nothing was of something else.
func (m *Model) learn(changes []func(*concessions)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range changes {
		change(&m.without)
	}
}

// refusal gives the service's words about a request that it has refused; nil for
// any other error.
func refusal(err error) *serviceError {
	var within *serviceError
	if errors.As(err, &within) {
		return within
	}
	var refused *wire.Refusal
	if errors.As(err, &refused) && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusNotFound) {
		return bodyError(refused.Body)
	}
	return nil
}

// concede says what a request can do without after a refusal, nil for nothing and after
// any other error, and whether that lasts: a model will never do what it cannot do, but
// other thoughts and images may be taken.
func concede(e *serviceError, has held) (change func(*concessions), lasting bool) {
	if e == nil {
		return nil, false
	}
	unsupported := e.code() == "unsupported_value" || e.code() == "unsupported_parameter"
	ofInput := e.code() == "" && (e.Param == "input" || strings.HasPrefix(e.Param, "input["))
	switch {
	case e.Param == "include" && has.include: // a model that does not think
		return func(c *concessions) { c.thoughts = true }, true
	case e.Param == "stream" && unsupported && has.stream: // an organization that is not verified
		return func(c *concessions) { c.stream = true }, true
	case e.Param == "reasoning.summary" && unsupported && has.summary: // the same
		return func(c *concessions) { c.summary = true }, true
	case e.Param == "reasoning.effort" && e.code() == "unsupported_parameter" && has.effort != "":
		return func(c *concessions) { c.think = true }, true
	case e.Param == "reasoning.effort" && unsupported && has.effort != "":
		if effort := thinking.Named(e.Message, has.effort); effort != "" && effort != has.effort {
			return func(c *concessions) { c.effort = effort }, true
		}
		return nil, false
	case has.schema && strings.Contains(e.Message, "'text.format' of type 'json_schema' is not supported"):
		return func(c *concessions) { c.schema = true }, true
	case has.images && strings.Contains(e.Message, "does not support image input"):
		return func(c *concessions) { c.images = true }, true
	case has.images && badImage(e.code()):
		return func(c *concessions) { c.images = true }, false
	case has.thoughts && (e.code() == "invalid_encrypted_content" || ofInput):
		return func(c *concessions) { c.thoughts = true }, false
	}
	return nil, false
}

// badImage reports whether a code is about an image that the service cannot read
// (OpenAI, the error of a response). Left in the history it would end every later turn.
func badImage(code string) bool {
	switch code {
	case "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_mode", "image_too_large", "image_too_small",
		"image_parse_error", "image_file_too_large", "unsupported_image_media_type", "empty_image_file":
		return true
	}
	return false
}

// ending says why an answer broke off.
func (m *Model) ending(ctx context.Context, err error) error {
	if late := ctx.Err(); late != nil {
		return &model.Error{Code: model.Timeout, Message: "the time for the answer ran out", Err: late}
	}
	return m.explain(err)
}

// explain turns an error of stream into one of package model.
func (m *Model) explain(err error) error {
	var within *serviceError
	if errors.As(err, &within) {
		return model.WithUsage(m.client.Refusal(within.streamed()), within.used.tokens())
	}
	return m.client.Explain(err, read)
}
