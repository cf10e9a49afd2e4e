package chat

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chunk"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// manner is how a server wants requests where servers differ, as far as its address
// says it or a refusal has said it. The zero value is what most of them take.
type manner struct {
	completion bool      // the limit on output tokens is max_completion_tokens, not max_tokens
	brief      bool      // descriptions of tools are no longer than maxDescription
	uncounted  bool      // there are no stream_options
	whole      bool      // the answer is not streamed
	unthinking bool      // there is no reasoning_effort
	told       bool      // the system text has the schema of the answer
	plain      bool      // the user says the system text
	blind      bool      // the model sees no images and hears nothing
	vouched    bool      // calls need the signature of Gemini
	worded     bool      // content is a text beside calls too, if an empty one, not null
	thoughts   returning // of reasoning_content
}

// returning says whether a server gets something back.
type returning int

const (
	found  returning = iota // if the conversation has it
	always                  // if empty
	never
)

// mannerAt is what the address of a service says.
func (s *settings) mannerAt() manner {
	m := manner{
		completion: s.isOpenAI(),           // its models that think refuse max_tokens; Azure has both names
		brief:      s.isOpenAI(),           // "string too long. Expected a string with maximum length 1024"
		uncounted:  s.is("mistral.ai"),     // 422 extra_forbidden; it counts without being asked
		told:       s.is("deepseek.com"),   // "This response_format type is unavailable now"
		vouched:    s.is("googleapis.com"), // "Thought Signatures", a history of another model's
	}
	if s.is("deepseek.com") || s.is("moonshot.ai") || s.is("moonshot.cn") { // "Thinking Mode"
		m.thoughts = always
	}
	return m
}

// held is what a request has of all that.
type held struct {
	limit, options, stream, effort, schema, system, media, calls, thoughts, null, long bool
}

// What servers say of a member that they do not know, of models without eyes, of
// such models for good, of one image, of templates without a system message, and of
// content that is null.
var (
	unwelcome = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)not (supported|permitted|allowed|recogni[sz]ed|available|accepted)|not support|n't support|un(supported|recogni[sz]ed|expected|known|available)|forbidden`)
	})
	blindness = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)image|audio|vision|multi-?modal|modalit|mmproj|\bfile\b|content(\[\d+\])?['"]? must be a string|content part`)
	})
	forGood = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?i)not support|n't support|unknown variant|multi-?modal|mmproj|must be a string|text-only|only support")
	})
	ofOne = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(formats?|mime|dimensions?|sizes?|resolution|pixels?|bytes|jpe?g|png|webp|gif|heic|more than|at most|too (many|large|small))\b`)
	})
	wordless = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)content.{0,80}(must be a string|be a valid string|null|nil\b|none\b|required|missing)`)
	})
	systemless = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)system (role|message|prompt|instruction)s? (is |are )?not|(developer|system) instructions? (is|are) not|not support ['"]?system|only user.{0,20}roles`)
	})
)

// concede says what a request may do without, or say in another way, after a refusal,
// and whether that holds for all later ones; nil for nothing. It goes by the names of
// the API's members, which servers give as a param or within their words.
func concede(f *chunk.Failure, as manner, has held) (change func(*manner), lasting bool) {
	refused, forever := unwelcome().MatchString(f.Message), forGood().MatchString(f.Message) && !ofOne().MatchString(f.Message)
	switch {
	case has.options && f.Names("stream_options", "include_usage"):
		return func(m *manner) { m.uncounted = true }, true
	case has.stream && (f.Param == "stream" || f.Names("to stream this model")): // an organization that is not verified
		return func(m *manner) { m.whole = true }, true
	case has.limit && refused && f.Names("max_tokens", "max_completion_tokens"):
		return func(m *manner) { m.completion = !as.completion }, true
	case has.thoughts && refused && f.Names("reasoning_content"):
		return func(m *manner) { m.thoughts = never }, true
	case !has.thoughts && f.Names("reasoning_content"):
		return func(m *manner) { m.thoughts = always }, true
	case has.calls && f.Names("thought_signature"):
		return func(m *manner) { m.vouched = true }, true
	case has.effort && (f.Names("reasoning_effort") || refused && f.Names("thinking")):
		return func(m *manner) { m.unthinking = true }, true
	case has.schema && f.Names("response_format", "json_schema", "grammar"):
		return func(m *manner) { m.told = true }, true
	case has.long && f.Names("description"):
		return func(m *manner) { m.brief = true }, true
	case has.system && systemless().MatchString(f.Message):
		return func(m *manner) { m.plain = true }, true
	case has.media && blindness().MatchString(f.Message) && (forever || f.Status < http.StatusInternalServerError):
		return func(m *manner) { m.blind = true }, forever
	case has.null && wordless().MatchString(f.Message):
		return func(m *manner) { m.worded = true }, true
	}
	return nil, false
}

// refusal gives the failure of a request that the server would not take; nil for any
// other error, and for what no other request would make good.
func refusal(err error) *chunk.Failure {
	var (
		within *streamError
		whole  *wire.Refusal
		f      chunk.Failure
		status int
	)
	switch {
	case errors.As(err, &within):
		f = within.Failure
		status = f.StatusWithin()
	case errors.As(err, &whole):
		if f, status = chunk.ReadFailure(whole.Body), whole.Status; f.Message == "" && !isPage(whole.Body) {
			f.Message = string(whole.Body)
		}
	}
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return nil
	}
	if code := f.Reading(status).Code; code != "" && code != model.InvalidRequest {
		return nil
	}
	f.Status = status
	return &f
}

// isPage reports whether a body is the HTML of something that stands before the server.
func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// unnamed is a failure without the model's name, which says nothing about the refusal:
// qwen-vision-thinking can neither see nor think by being called so.
func (m *Model) unnamed(f *chunk.Failure) *chunk.Failure {
	own := *f
	own.Message = regexp.MustCompile(`(^|\W)`+regexp.QuoteMeta(m.name)+`(\W|$)`).ReplaceAllString(f.Message, "$1$2")
	return &own
}

// ask makes a call, and again without what the server refuses. Every manner is tried
// once.
func (m *Model) ask(ctx context.Context, req *model.Request, partial func(*model.Reply) bool) (*model.Reply, error) {
	m.mu.Lock()
	as := m.as
	m.mu.Unlock()
	var learnt []func(*manner)
	shown := false
	show := func(piece *model.Reply) bool {
		shown = true
		return partial(piece)
	}
	for tried := []manner{as}; ; tried = append(tried, as) {
		body, has, err := m.body(req, as)
		if err != nil {
			return nil, err
		}
		reply, err := m.exchange(ctx, body, show)
		if err == nil || errors.Is(err, wire.ErrBrokenOff) {
			m.learn(learnt)
			return reply, err
		}
		refused := refusal(err)
		if refused == nil || shown {
			return nil, m.explain(err)
		}
		change, lasting := concede(m.unnamed(refused), as, has)
		if change == nil {
			return nil, m.explain(err)
		}
		before := as
		if change(&as); slices.Contains(tried, as) {
			return nil, m.explain(err)
		}
		m.tell(ctx, req, refused, before, as)
		if lasting {
			learnt = append(learnt, change)
		}
	}
}

// learn keeps in mind in what manner the server took a request. A refusal about which
// that changed nothing was of something else.
func (m *Model) learn(changes []func(*manner)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range changes {
		change(&m.as)
	}
}

// tell says what a request goes on without: to the person who waits, if it was asked
// for.
func (m *Model) tell(ctx context.Context, req *model.Request, refused *chunk.Failure, before, as manner) {
	said := wire.Excerpt(m.client.Redact(refused.Message), maxMessage)
	m.log.DebugContext(ctx, "asking again without what the server refuses", "model", m.name, "refusal", said)
	switch {
	case as.blind && !before.blind:
		req.Notify(m.settings.host + " refuses the images and other data of this conversation, so the model is not shown them: " + said)
	case as.unthinking && !before.unthinking:
		req.Notify(m.settings.host + " refuses model.thinking, so the model thinks as much as it does by itself: " + said)
	}
}
