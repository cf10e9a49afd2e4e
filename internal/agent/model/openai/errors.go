package openai

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// serviceError is an error as the service words it, in a body or in a stream.
type serviceError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param"`
	Code    any    `json:"code"` // text, null, or with gateways a number

	used *usage // by an answer that failed; nil for nothing
}

// Error implements error. The words may hold a secret: see [Model.explain].
func (e *serviceError) Error() string { return "the service reported an error within the answer" }

// readError reads an error object; nil if raw is something else.
func readError(raw []byte) *serviceError {
	var e serviceError
	if json.Unmarshal(raw, &e) == nil && (e.Message != "" || e.code() != "") {
		return &e
	}
	return nil
}

func (e *serviceError) code() string {
	code, _ := e.Code.(string)
	return code
}

// wrapped is the body of a refusal.
type wrapped struct {
	Error json.RawMessage `json:"error"`
}

// bodyError reads the error in a refusal's body; nil if there is none.
func bodyError(body []byte) *serviceError {
	var w wrapped
	if json.Unmarshal(body, &w) == nil {
		return readError(w.Error)
	}
	return nil
}

// read says what a refusal's body means.
func read(body []byte) wire.Reading {
	if e := bodyError(body); e != nil {
		return e.reading()
	}
	var w wrapped
	if json.Unmarshal(body, &w) != nil {
		return wire.Reading{}
	}
	var text string // of gateways
	if json.Unmarshal(w.Error, &text) == nil {
		return wire.Reading{Message: text}
	}
	return wire.Reading{}
}

// reading says what an error means (OpenAI, "Error codes" and the error of a
// response).
func (e *serviceError) reading() wire.Reading {
	r := wire.Reading{Message: e.Message, Reason: e.code()}
	if r.Reason == "" {
		r.Reason = e.Type
	}
	switch code := e.code(); code {
	case "context_length_exceeded":
		r.Code = model.ContextOverflow
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated":
		r.Code = model.Unauthorized // waiting does not bring it back
		r.Message = "the account has no credit left; look at its plan and billing: " + e.Message
	case "invalid_api_key", "invalid_organization", "invalid_project":
		r.Code = model.Unauthorized
	case "model_not_found":
		r.Code = model.NotFound
	case "rate_limit_exceeded":
		r.Code, r.RetryAfter = model.RateLimited, waitIn(e.Message)
		if strings.HasPrefix(e.Message, "Request too large") { // for a whole minute: no waiting helps
			r.Code, r.RetryAfter = model.ContextOverflow, 0
		}
	case "server_error", "server_is_overloaded", "slow_down", "vector_store_timeout":
		r.Code = model.Unavailable
	case "invalid_prompt", "content_filter", "content_policy_violation", "image_content_policy_violation", "cyber_policy", "cyber_policy_violation", "bio_policy", "misalignment_policy_violation", "moderation_blocked", "safety_violation":
		r.Code = model.Blocked
	case "unsupported_value", "unsupported_parameter":
		switch {
		case e.Param == "reasoning.summary":
			r.Message += " (or set reasoning: {summary: null} in model.extra_body)"
		case strings.HasPrefix(e.Param, "reasoning"):
			r.Message += " (this is model.thinking)"
		}
	}
	return r
}

// tryAgain is how the service asks for a wait, within a stream in no other way.
var tryAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)try again in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)`)
})

// waitIn is how long a message asks to wait; 0 if it does not say.
func waitIn(message string) time.Duration {
	m := tryAgain().FindStringSubmatch(strings.ReplaceAll(message, " seconds", "s"))
	if m == nil {
		return 0
	}
	wait, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return wait
}

// streamed is the reading of an error within a stream, which has no status.
func (e *serviceError) streamed() wire.Reading {
	r := e.reading()
	switch {
	case r.Code == model.RateLimited:
		r.Status = http.StatusTooManyRequests
	case r.Code == model.Unavailable || r.Code == "" && (e.code() == "" && e.Type != "invalid_request_error"):
		r.Code, r.Status = model.Unavailable, http.StatusInternalServerError
	case r.Code == model.Unauthorized:
		r.Status = http.StatusForbidden
	case r.Code == model.NotFound:
		r.Status = http.StatusNotFound
	default:
		r.Status = http.StatusBadRequest
	}
	return r
}
