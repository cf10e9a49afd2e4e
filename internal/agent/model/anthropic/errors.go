package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// apiError is an error as the service words it (the API's page on errors).
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// statuses are those of the types, for errors within a stream.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
}

// What the service says of a history that is too long, and of an account without
// credit. Both are an invalid_request_error like any other.
var (
	overflow = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)prompt is too long|exceeds? (the )?(model's )?(maximum )?context (limit|window)`)
	})
	noCredit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)credit balance is too low`) })
)

// reading says what an error means. Its status is that of the type, 0 if it has none
// that is known.
func (e *apiError) reading() wire.Reading {
	r := wire.Reading{Message: e.Message, Reason: e.Type, Status: statuses[e.Type]}
	switch {
	case e.Type == "billing_error", e.Type == "invalid_request_error" && noCredit().MatchString(e.Message):
		r.Code = model.Unauthorized
		r.Message = "the account has no credit left, see its billing settings: " + e.Message
	case e.Type == "authentication_error", e.Type == "permission_error":
		r.Code = model.Unauthorized
	case e.Type == "invalid_request_error" && overflow().MatchString(e.Message):
		r.Code = model.ContextOverflow
	}
	return r
}

// read gives what a refusal's body says; its status goes by HTTP.
func read(body []byte) wire.Reading {
	var b struct {
		Error *apiError `json:"error"`
	}
	if json.Unmarshal(body, &b) != nil || b.Error == nil {
		return wire.Reading{}
	}
	r := b.Error.reading()
	r.Status = 0
	return r
}

// reported is an error that the service reported within a stream.
type reported struct{ apiError }

// Error implements error.
func (r *reported) Error() string { return r.Type + ": " + r.Message }

// faulty is the error of a stream that cannot be gone on with.
func (m *Model) faulty(err error) error {
	var r *reported
	if !errors.As(err, &r) {
		return err
	}
	reading := r.reading()
	if reading.Status == 0 {
		reading.Status = http.StatusInternalServerError
	}
	return m.client.Refusal(reading)
}
