package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"google.golang.org/genai"

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

// What the service says of a history that is too long, of an account without credit or
// at the limit that its owner set, and of an answer that a filter stopped. All are an
// invalid_request_error like any other.
var (
	overflow = pattern(`(?i)prompt is too long|exceeds? (the )?(model's )?(maximum )?context (limit|window)`)
	noCredit = pattern(`(?i)credit balance is too low|reached your specified (\w+ )?usage limits`)
	filtered = pattern(`(?i)blocked by (our )?content filter`)
)

// pattern is a regular expression that is compiled when it is first needed.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// reading says what an error means. Its status is that of the type, 0 if it has none
// that is known.
func (e *apiError) reading() wire.Reading {
	r := wire.Reading{Message: e.Message, Reason: e.Type, Status: statuses[e.Type]}
	switch {
	case e.Type == "billing_error", e.Type == "invalid_request_error" && noCredit().MatchString(e.Message):
		r.Code = model.Unauthorized
		r.Message = "the account has no credit left or is at its limit, see its billing settings: " + e.Message
	case e.Type == "authentication_error", e.Type == "permission_error":
		r.Code = model.Unauthorized
	case e.Type == "invalid_request_error" && overflow().MatchString(e.Message):
		r.Code = model.ContextOverflow
	case e.Type == "invalid_request_error" && filtered().MatchString(e.Message):
		r.Code = model.Blocked
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

// spared is what a request goes without, since the service refused one with it for
// reasons that cannot be known before.
type spared struct {
	// thoughts of the past: they are signed for one account, and newer models bind them
	// to all that stood before them. Without this no request of the conversation would
	// succeed any more (the page on troubleshooting thinking).
	thoughts bool
	// format: a schema within all documented bounds may be too large once compiled (the
	// page on structured outputs, "Additional internal limits").
	format bool
	// images: one whose beginning looks right may be broken behind it (the page on vision).
	images bool
}

var (
	badThought = pattern(`(?i)redacted_thinking|thinking.? blocks?\b`)
	badImage   = pattern(`(?i)could not process image`)
	badFormat  = pattern(`(?i)compiled grammar|schema is too complex|output_config\.format`)
)

// blamed gives what the next try goes without: what this one did, and what a refusal is
// about. Nothing more means that there is nothing to try.
func (m *Model) blamed(err error, req *model.Request, without spared) spared {
	var refusal *model.Error
	if !errors.As(err, &refusal) || refusal.Code != model.InvalidRequest {
		return without
	}
	switch {
	case badThought().MatchString(refusal.Message) && m.thinking.back && holdsThoughts(req):
		m.log.Info("Anthropic does not take the thoughts of a conversation back, so they are left out", "model", m.name, "reason", refusal.Message)
		without.thoughts = true
	case badFormat().MatchString(refusal.Message) && m.output(req) != nil:
		m.log.Info("Anthropic cannot hold answers to output_schema, so the instruction says it", "model", m.name, "reason", refusal.Message)
		without.format = true
	case badImage().MatchString(refusal.Message) && holdsImages(req):
		m.log.Info("Anthropic cannot read an image of a conversation, so all are left out", "model", m.name, "reason", refusal.Message)
		without.images = true
	}
	return without
}

// holdsThoughts reports whether a conversation has thoughts of this provider's.
func holdsThoughts(req *model.Request) bool {
	ours := func(p *genai.Part) bool { _, ok := model.Signed(provider, p.ThoughtSignature); return ok }
	return slices.ContainsFunc(req.Contents, func(c *genai.Content) bool {
		return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
			return p != nil && p.Thought && ours(p)
		})
	})
}

// holdsImages reports whether a conversation has data that may be an image.
func holdsImages(req *model.Request) bool {
	return slices.ContainsFunc(req.Contents, func(c *genai.Content) bool {
		return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
			return p != nil && (p.InlineData != nil || p.FunctionResponse != nil && len(p.FunctionResponse.Parts) > 0)
		})
	})
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
