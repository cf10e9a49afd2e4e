package gemini

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// explain says what an error of genai means. sent tells whether the request
// had been built. Nothing of an error's own text goes further unless it is
// known to hold no secret and no content.
func (m *Model) explain(err error, sent bool) error {
	var (
		byService genai.APIError
		refused   *wire.Refusal
		token     *auth.Error
		untrusted *tls.CertificateVerificationError
		transport *url.Error
		noJSON    *json.MarshalerError
		noValue   *json.UnsupportedValueError
		noType    *json.UnsupportedTypeError
	)
	switch {
	case errors.As(err, &noJSON):
		return notEncoded(noJSON.Err)
	case errors.As(err, &noValue):
		return notEncoded(noValue)
	case errors.As(err, &noType):
		return notEncoded(noType)
	case errors.As(err, &byService):
		return m.serviceError(&byService, 0)
	case errors.As(err, &refused):
		e := parseError(refused.Body)
		if e == nil {
			e = &genai.APIError{Message: string(refused.Body)}
		}
		e.Code = refused.Status
		return m.serviceError(e, refused.RetryAfter)
	case errors.As(err, &token):
		return &model.Error{
			Code:    model.Unauthorized,
			Message: "no access token for the Google Cloud credentials: run `gcloud auth application-default login` again or check GOOGLE_APPLICATION_CREDENTIALS",
			Err:     errors.New(m.settings.redact(wire.Excerpt(token.Error(), maxMessage))),
		}
	case errors.As(err, &untrusted):
		return &model.Error{Code: model.Misconfigured, Message: "the certificate of Gemini's address is not trusted: check model.base_url and the proxy", Err: untrusted}
	case errors.As(err, &transport):
		return &model.Error{Code: model.Unavailable, Message: "Gemini cannot be reached: check the network, the proxy and model.base_url", Err: transport.Err}
	case sent:
		return &model.Error{Code: model.StreamCut, Message: "Gemini's answer could not be read"}
	}
	return &model.Error{
		Code:    model.InvalidRequest,
		Message: "the request could not be made from these settings: " + m.settings.redact(wire.Excerpt(err.Error(), maxMessage)),
	}
}

const maxMessage = 500 // characters of a service's message

// overflow is what the services say of a history that is too long, in tokens or in
// bytes. There is neither a status nor a detail for it (as of the v1beta API).
var overflow = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)input token count.* (exceeds the maximum number of tokens|but model only supports up to)|request payload size exceeds the limit`)
})

// serviceError turns an error that the service reported into ours. asked is
// the wait that its headers asked for.
func (m *Model) serviceError(e *genai.APIError, asked time.Duration) *model.Error {
	if e.Code == 0 {
		e.Code = httpStatus(e.Status)
	}
	reason, delay := details(e)
	out := &model.Error{Status: e.Code, Reason: e.Status}
	if reason != "" {
		out.Reason = reason
	}
	said := m.settings.redact(wire.Excerpt(e.Message, maxMessage))
	say := func(code model.Code, format string, args ...any) *model.Error {
		out.Code, out.Message = code, fmt.Sprintf(format, args...)
		if said != "" {
			out.Message += ": " + said
		}
		return out
	}
	switch {
	case e.Status == statusCut:
		return say(model.StreamCut, "Gemini's answer broke off")
	case e.Status == statusStalled:
		return say(model.StreamCut, "Gemini's answer stopped in the middle")
	case e.Status == statusForeign:
		return say(model.Misconfigured, "the answer is not Gemini's: check model.base_url and the proxy")
	case reason == "API_KEY_INVALID", e.Code == http.StatusUnauthorized, e.Code == http.StatusForbidden:
		return say(model.Unauthorized, "Gemini refused access (%d): check %s", e.Code, m.settings.who())
	case e.Code == http.StatusBadRequest && e.Status == "FAILED_PRECONDITION": // "Troubleshooting guide" of the Gemini API
		return say(model.Unauthorized, "Gemini refused to serve this account or place (400): check %s, its billing and where this program runs", m.settings.who())
	case e.Code == http.StatusNotFound:
		return say(model.NotFound, "Gemini has no model %q (404): check model.name and model.base_url", m.name)
	case e.Code == http.StatusRequestEntityTooLarge, e.Code == http.StatusBadRequest && overflow().MatchString(e.Message):
		return say(model.ContextOverflow, "the conversation is too long for %s (%d)", m.name, e.Code)
	case e.Code == http.StatusTooManyRequests:
		out.RetryAfter = max(delay, asked)
		return say(model.RateLimited, "Gemini's rate limit or quota is used up (429)")
	case e.Code >= 500, e.Code == http.StatusRequestTimeout, e.Code == http.StatusConflict:
		out.RetryAfter = max(delay, asked)
		return say(model.Unavailable, "Gemini is unavailable (%d)", e.Code)
	case e.Code >= 300 && e.Code < 400:
		return say(model.Misconfigured, "the answer is a redirect (%d): check model.base_url", e.Code)
	}
	return say(model.InvalidRequest, "Gemini refused the request (%d): check model.name, generate_content_config and the tools", e.Code)
}

// badSignature is what the service says of signatures that it does not take back:
// those that another key, project or model got, or the other of the two services
// ("Corrupted thought signature.", "Invalid thought signature."), or that it misses.
var badSignature = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)thought.?signature`) })

func refusesSignatures(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Code == model.InvalidRequest && badSignature().MatchString(e.Message)
}

// holdsSignatures reports whether a conversation has signatures of Gemini's.
func holdsSignatures(req *model.Request) bool {
	return slices.ContainsFunc(req.Contents, func(c *genai.Content) bool {
		return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
			return p != nil && len(p.ThoughtSignature) > 0 && !model.IsSigned(p.ThoughtSignature)
		})
	})
}

// details reads google.rpc.ErrorInfo and google.rpc.RetryInfo
// (https://cloud.google.com/apis/design/errors#error_details).
func details(e *genai.APIError) (reason string, delay time.Duration) {
	for _, d := range e.Details {
		switch d["@type"] {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			reason, _ = d["reason"].(string)
		case "type.googleapis.com/google.rpc.RetryInfo":
			text, _ := d["retryDelay"].(string)
			if parsed, err := time.ParseDuration(text); err == nil {
				delay = max(0, parsed)
			}
		}
	}
	return reason, delay
}

// httpStatus is the HTTP status of a google.rpc.Code, for errors within a
// stream that give its name only.
func httpStatus(code string) int {
	switch code {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE":
		return http.StatusBadRequest
	case "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "PERMISSION_DENIED":
		return http.StatusForbidden
	case "NOT_FOUND":
		return http.StatusNotFound
	case "ABORTED", "ALREADY_EXISTS":
		return http.StatusConflict
	case "RESOURCE_EXHAUSTED":
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// parseError reads an error object, alone or in a list of one; nil if text is
// something else.
func parseError(text []byte) *genai.APIError {
	type wrapped struct {
		Error *genai.APIError `json:"error"`
	}
	var one wrapped
	if json.Unmarshal(text, &one) == nil {
		return one.Error
	}
	var list []wrapped
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		return list[0].Error
	}
	return nil
}
