package chunk

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// What servers say of a history that is too long, and of one that a model's template
// does not take, where they have no code for it: vLLM, OpenRouter and DeepSeek,
// llama.cpp, LM Studio, Mistral, Groq, Gemini, xAI, Kimi, MiniMax, Bedrock, Qwen;
// llama.cpp with status 500.
var (
	overflow = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)maximum context length|(exceeds?|larger than|overflows?) the (available |model's )?context|context the overflows|` +
			`too large for model with \d+ maximum context|prompt is too long|reduce the length of the messages|input token count.* exceeds the maximum|` +
			`maximum prompt length is|longer than the maximum model length|too long to fit into the model|exceeded model token limit|context window exceeds limit|input is too long for|range of input length should be`)
	})
	template = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Jinja Exception|raise_exception\(`) })
)

// Failure is what a server says in an error of its own.
type Failure struct {
	Message string
	Kind    string // its type
	Code    string
	Param   string // the member that it is about
	Status  int    // that the code is; 0 for none
}

// failureBody is an error in the forms that servers give it: an object or a text
// under error, its members at the top (vLLM, Mistral), or detail (FastAPI).
type failureBody struct {
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Message json.RawMessage `json:"message"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   json.RawMessage `json:"param"`

	// What the service behind a gateway said (OpenRouter, "Errors and Debugging").
	Metadata json.RawMessage `json:"metadata"`
}

// ReadFailure reads an error; empty for what is none.
func ReadFailure(body []byte) Failure {
	var list []json.RawMessage // Gemini's own Chat Completions
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var b failureBody
	if json.Unmarshal(body, &b) != nil {
		return Failure{}
	}
	switch {
	case isSet(b.Error) && b.Error[0] == '{':
		inner := failureBody{}
		if json.Unmarshal(b.Error, &inner) != nil {
			return Failure{}
		}
		b = inner
	case isSet(b.Error):
		b.Message = b.Error
	case isSet(b.Detail) && !isSet(b.Message):
		b.Message = b.Detail
	}
	f := Failure{Message: asText(b.Message), Kind: asText(b.Type), Code: asText(b.Code), Param: asText(b.Param)}
	if n, err := strconv.Atoi(f.Code); err == nil {
		f.Code = ""
		if n >= 400 && n < 600 {
			f.Status = n
		}
	}
	f.behind(b.Metadata)
	return f
}

// behind adds what a gateway passes on, since its own words are "Provider returned
// error".
func (f *Failure) behind(metadata json.RawMessage) {
	var m struct {
		Raw     json.RawMessage `json:"raw"`
		Flagged json.RawMessage `json:"flagged_input"`
	}
	if !isSet(metadata) || json.Unmarshal(metadata, &m) != nil {
		return
	}
	if isSet(m.Flagged) && f.Code == "" {
		f.Code = "content_filter"
	}
	if !isSet(m.Raw) {
		return
	}
	raw := asText(m.Raw)
	inner := ReadFailure([]byte(raw))
	if inner.Message == "" {
		inner.Message = raw
	}
	f.Message = strings.TrimPrefix(f.Message+": "+inner.Message, ": ")
	f.Code, f.Kind, f.Param = cmp.Or(f.Code, inner.Code), cmp.Or(f.Kind, inner.Kind), cmp.Or(f.Param, inner.Param)
}

// asText reads a text, or shows what there is instead.
func asText(raw json.RawMessage) string {
	var s string
	if !isSet(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(withoutInput(raw))
}

// withoutInput takes out of a list of validation errors what each is about (pydantic,
// "Error Handling": input), which is a part of the request or all of it: no word of it is
// the server's.
func withoutInput(raw json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	for _, fault := range list {
		delete(fault, "input")
	}
	out, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return out
}

// Reading says what can be done about a failure. status is that of the answer, 0 for
// one within a stream, where the failure's own names are all there is.
func (f *Failure) Reading(status int) wire.Reading {
	r := wire.Reading{Message: f.Message, Reason: f.Code, Status: status}
	if r.Reason == "" {
		r.Reason = f.Kind
	}
	if status == 0 {
		r.Status = f.StatusWithin()
	}
	switch {
	case f.is("context_length_exceeded", "exceed_context_size_error"), overflow().MatchString(f.Message):
		r.Code = model.ContextOverflow
	case f.is("insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error"), r.Status == http.StatusPaymentRequired:
		r.Code = model.Unauthorized
		r.Message = strings.TrimSuffix("the account's quota or credit is used up, see its billing: "+f.Message, ": ")
	case f.is("content_filter", "content_policy_violation"):
		r.Code = model.Blocked
	case f.is("tool_use_failed"): // Groq
		r.Code = model.Malformed
	case template().MatchString(f.Message):
		r.Code = model.InvalidRequest
	}
	return r
}

// StatusWithin is the status that a failure within a stream stands for.
func (f *Failure) StatusWithin() int {
	switch {
	case f.Status != 0:
		return f.Status
	case f.is("invalid_request_error", "BadRequestError"):
		return http.StatusBadRequest
	case f.is("authentication_error", "invalid_api_key"):
		return http.StatusUnauthorized
	case f.is("not_found_error", "NotFoundError", "model_not_found"):
		return http.StatusNotFound
	case f.is("rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "exceeded_current_quota_error"):
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// is reports whether a failure is called by one of some names.
func (f *Failure) is(names ...string) bool {
	return slices.Contains(names, f.Code) || slices.Contains(names, f.Kind)
}

// Names reports whether a failure is about one of some members.
func (f *Failure) Names(members ...string) bool {
	said := letters(f.Param + " " + f.Message)
	return slices.ContainsFunc(members, func(name string) bool { return strings.Contains(said, letters(name)) })
}

// letters is a text without what servers write names apart with.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
