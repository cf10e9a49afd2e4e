package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// serviceError is an error as the service words it, in a body or in a stream.
type serviceError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param"`
	Code    any    `json:"code"` // text, null, or with gateways a number
}

// readError reads an error object; nil if raw is something else.
func readError(raw []byte) *serviceError {
	var e serviceError
	if len(raw) == 0 || json.Unmarshal(raw, &e) != nil || e.Message == "" && e.code() == "" {
		return nil
	}
	return &e
}

func (e *serviceError) code() string {
	code, _ := e.Code.(string)
	return code
}

// read says what a refusal's body means.
func read(body []byte) wire.Reading {
	var wrapped struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &wrapped) != nil {
		return wire.Reading{}
	}
	if e := readError(wrapped.Error); e != nil {
		return e.reading()
	}
	var text string // of gateways
	if json.Unmarshal(wrapped.Error, &text) == nil {
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
		r.Code = model.RateLimited
	case "server_error", "server_is_overloaded", "slow_down", "vector_store_timeout":
		r.Code = model.Unavailable
	case "invalid_prompt", "content_filter", "content_policy_violation", "image_content_policy_violation", "cyber_policy", "cyber_policy_violation", "bio_policy", "moderation_blocked", "safety_violation":
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

// refusesThoughts reports whether a refusal is about the thoughts that a request
// asks for or holds, and remembers what will not change. There is a code only for
// those of another account.
func (m *Model) refusesThoughts(err error, sent bool) bool {
	var refused *wire.Refusal
	if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		return false
	}
	var body struct {
		Error *serviceError `json:"error"`
	}
	if json.Unmarshal(refused.Body, &body) != nil || body.Error == nil {
		return false
	}
	switch e := body.Error; {
	case e.Param == "include":
		m.unreasoning.Store(true)
		return true
	case e.code() == "invalid_encrypted_content":
		return sent
	default:
		return sent && e.code() == "" && (e.Param == "input" || strings.HasPrefix(e.Param, "input["))
	}
}
