package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

const maxMessage = 500 // characters of a server's message

// Where Ollama and LM Studio listen unless they are told otherwise.
const (
	ollamaPort   = "11434"
	lmStudioPort = "1234"
)

// What servers say of a history that is too long, and of one that a model's template
// does not take, where they have no code for it: vLLM, OpenRouter and DeepSeek,
// llama.cpp, LM Studio, Mistral, Groq; llama.cpp with status 500.
var (
	overflow = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)maximum context length|(exceeds?|larger than|overflows?) the (available |model's )?context|context the overflows|` +
			`too large for model with \d+ maximum context|prompt is too long|reduce the length of the messages`)
	})
	template = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Jinja Exception|raise_exception\(`) })
)

// failure is what a server says in an error of its own.
type failure struct {
	message string
	kind    string // its type
	code    string
	status  int // that the code is; 0 for none
}

// failureBody is an error in the forms that servers give it: an object or a text
// under error, its members at the top (vLLM, Mistral), or detail (FastAPI).
type failureBody struct {
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Message json.RawMessage `json:"message"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// readFailure reads an error; empty for what is none.
func readFailure(body []byte) failure {
	var list []json.RawMessage // Gemini's own Chat Completions
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var b failureBody
	if json.Unmarshal(body, &b) != nil {
		return failure{}
	}
	switch {
	case isSet(b.Error) && b.Error[0] == '{':
		inner := failureBody{}
		if json.Unmarshal(b.Error, &inner) != nil {
			return failure{}
		}
		b = inner
	case isSet(b.Error):
		b.Message = b.Error
	case isSet(b.Detail) && !isSet(b.Message):
		b.Message = b.Detail
	}
	f := failure{message: asText(b.Message), kind: asText(b.Type), code: asText(b.Code)}
	if n, err := strconv.Atoi(f.code); err == nil {
		f.code = ""
		if n >= 400 && n < 600 {
			f.status = n
		}
	}
	return f
}

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// asText reads a text, or shows what there is instead.
func asText(raw json.RawMessage) string {
	var s string
	if !isSet(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// reading says what can be done about a failure. status is that of the answer, 0 for
// one within a stream, where the failure's own names are all there is.
func (f *failure) reading(status int) wire.Reading {
	r := wire.Reading{Message: f.message, Reason: f.code, Status: status}
	if r.Reason == "" {
		r.Reason = f.kind
	}
	if status == 0 {
		r.Status = f.ownStatus()
	}
	switch {
	case f.is("context_length_exceeded", "exceed_context_size_error"), overflow().MatchString(f.message):
		r.Code = model.ContextOverflow
	case f.is("insufficient_quota", "billing_hard_limit_reached"), r.Status == http.StatusPaymentRequired:
		r.Code = model.Unauthorized
		r.Message = strings.TrimSuffix("the account's quota or credit is used up, see its billing: "+f.message, ": ")
	case f.is("content_filter", "content_policy_violation"):
		r.Code = model.Blocked
	case template().MatchString(f.message):
		r.Code = model.InvalidRequest
	}
	return r
}

// ownStatus is the status that a failure within a stream stands for.
func (f *failure) ownStatus() int {
	switch {
	case f.status != 0:
		return f.status
	case f.is("invalid_request_error", "BadRequestError"):
		return http.StatusBadRequest
	case f.is("authentication_error", "invalid_api_key"):
		return http.StatusUnauthorized
	case f.is("not_found_error", "NotFoundError", "model_not_found"):
		return http.StatusNotFound
	case f.is("rate_limit_exceeded", "rate_limit_error", "insufficient_quota"):
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// is reports whether a failure is called by one of some names.
func (f *failure) is(names ...string) bool {
	return slices.Contains(names, f.code) || slices.Contains(names, f.kind)
}

// streamError is a failure in place of a piece of the answer.
type streamError struct{ failure }

// Error implements error.
func (e *streamError) Error() string { return "an error within the answer" }

// inStream gives the error that an event is, nil for none.
func inStream(data []byte) error {
	f := readFailure(data)
	if f.message == "" && f.code == "" && f.status == 0 {
		return nil
	}
	return &streamError{f}
}

// explain says what an error means.
func (m *Model) explain(err error) error {
	var (
		within  *streamError
		refused *wire.Refusal
		dial    *net.OpError
	)
	status := 0
	switch {
	case errors.As(err, &within):
		return m.client.Refusal(m.advise(within.reading(0)))
	case errors.As(err, &refused):
		status = refused.Status
	case m.settings.local && errors.As(err, &dial) && dial.Op == "dial":
		return m.notRunning(dial)
	}
	return m.client.Explain(err, func(body []byte) wire.Reading {
		f := readFailure(body)
		return m.advise(f.reading(status))
	})
}

// notRunning is the error of a server on this computer that does not listen.
func (m *Model) notRunning(dial *net.OpError) error {
	hint := ""
	switch m.settings.port {
	case ollamaPort:
		hint = " (ollama serve)"
	case lmStudioPort:
		hint = " (lms server start)"
	}
	return &model.Error{
		Code:    model.Unavailable,
		Message: fmt.Sprintf("the model's server cannot be reached at %s: is it running?%s", m.settings.url, hint),
		Err:     dial.Err,
	}
}

// advise says how to get a model that Ollama has not.
func (m *Model) advise(r wire.Reading) wire.Reading {
	if m.settings.port == ollamaPort && r.Status == http.StatusNotFound && strings.Contains(r.Message, m.name) {
		r.Message += "; get it with `ollama pull " + m.name + "`"
	}
	return r
}
