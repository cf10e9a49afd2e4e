package wire

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

const maxMessage = 500 // characters of a service's message

// Reading is what a service said in an error of its own.
type Reading struct {
	// Code is what can be done about it, where the service's words say more than
	// the status; empty to go by the status.
	Code    model.Code
	Message string // the service's own words
	Reason  string // the service's own name of the error
	// Status is set where an error within a stream stands for one.
	Status int
	// RetryAfter is the wait that the error itself asks for; 0 for none.
	RetryAfter time.Duration
}

// Explain turns an error of [Client.Stream] into one of package model. read gives
// what a refusal's body says. Nothing of an error's own text goes further unless it
// is known to hold no secret.
func (c *Client) Explain(err error, read func(body []byte) Reading) error {
	var (
		refused   *Refusal
		known     *model.Error
		strange   *foreign
		untrusted *tls.CertificateVerificationError
		network   net.Error
	)
	s := &c.service
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		r := read(refused.Body)
		if r.Message == "" && r.Reason == "" {
			r.Message = string(refused.Body)
		}
		if r.Status == 0 {
			r.Status = refused.Status
		}
		r.RetryAfter = max(r.RetryAfter, refused.RetryAfter)
		return c.Refusal(r)
	case errors.Is(err, ErrStalled):
		return &model.Error{Code: model.StreamCut, Message: s.Name + "'s answer stopped in the middle: " + ErrStalled.Error()}
	case errors.As(err, &strange):
		if r := read(strange.text); r.Message != "" { // an error without its status
			return c.Refusal(r)
		}
		return &model.Error{Code: model.Misconfigured, Message: fmt.Sprintf("the answer is not %s's: check model.base_url and the proxy: %s", s.Name, Excerpt(c.Redact(string(strange.text)), 200))}
	case errors.Is(err, ErrTooLong):
		return &model.Error{Code: model.StreamCut, Message: s.Name + ": " + ErrTooLong.Error()}
	case errors.Is(err, ErrCut):
		return &model.Error{Code: model.StreamCut, Message: s.Name + "'s answer broke off"}
	case errors.As(err, &untrusted):
		return &model.Error{Code: model.Misconfigured, Message: fmt.Sprintf("the certificate of %s's address is not trusted: check model.base_url and the proxy", s.Name), Err: untrusted}
	case errors.As(err, &network):
		return &model.Error{Code: model.Unavailable, Message: s.Name + " cannot be reached: check the network, the proxy and model.base_url", Err: errors.New(c.Redact(network.Error()))}
	}
	return &model.Error{Code: model.Unavailable, Message: s.Name + " cannot be reached: check the network, the proxy and model.base_url", Err: errors.New(Excerpt(c.Redact(err.Error()), maxMessage))}
}

// Refusal is the error of a service's own words; the status decides what can be
// done about it where the reading does not.
func (c *Client) Refusal(r Reading) *model.Error {
	s := &c.service
	e := &model.Error{Code: r.Code, Status: r.Status, Reason: r.Reason}
	if e.Code == "" {
		e.Code = byStatus(r.Status)
	}
	switch e.Code {
	case model.Unauthorized:
		e.Message = fmt.Sprintf("%s refused access (%d): check %s", s.Name, r.Status, s.Who)
	case model.NotFound:
		e.Message = fmt.Sprintf("%s has no model %q (%d): check model.name and model.base_url (%s)", s.Name, s.Model, r.Status, s.URL)
	case model.ContextOverflow:
		e.Message = fmt.Sprintf("the conversation is too long for %s (%d)", s.Model, r.Status)
	case model.RateLimited:
		e.Message, e.RetryAfter = fmt.Sprintf("%s's rate limit is used up (%d)", s.Name, r.Status), r.RetryAfter
	case model.Unavailable:
		e.Message, e.RetryAfter = fmt.Sprintf("%s is unavailable (%d)", s.Name, r.Status), r.RetryAfter
	case model.Misconfigured:
		e.Message = fmt.Sprintf("the answer is a redirect (%d): check model.base_url", r.Status)
	case model.Blocked:
		e.Message = s.Name + " withheld the answer"
		if r.Reason != "" {
			e.Message += " (" + r.Reason + ")"
		}
	case model.Malformed:
		e.Message = fmt.Sprintf("%s could not read what the model wrote (%d)", s.Name, r.Status)
	default:
		e.Message = fmt.Sprintf("%s refused the request (%d): check model.name, the settings of the model and the tools", s.Name, r.Status)
	}
	if said := Excerpt(c.Redact(r.Message), maxMessage); said != "" {
		e.Message += ": " + said
	}
	return e
}

func byStatus(status int) model.Code {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Unauthorized
	case status == http.StatusNotFound:
		return model.NotFound
	case status == http.StatusRequestEntityTooLarge:
		return model.ContextOverflow
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return model.Unavailable
	case status >= 300 && status < 400:
		return model.Misconfigured
	}
	return model.InvalidRequest
}

// Redact takes everything secret out of a text.
func (c *Client) Redact(text string) string {
	for _, secret := range c.service.Secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// Excerpt is the beginning of a text, on one line.
func Excerpt(text string, length int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if r := []rune(text); len(r) > length {
		return string(r[:length]) + "…"
	}
	return text
}

// NotEncoded is the error of a conversation that has no JSON form.
func NotEncoded(service string, err error) error {
	var byValue *json.MarshalerError
	if errors.As(err, &byValue) {
		err = byValue.Err
	}
	return &model.Error{Code: model.InvalidRequest, Message: "the conversation cannot be sent to " + service, Err: err}
}
