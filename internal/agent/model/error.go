package model

import (
	"errors"
	"fmt"
	"time"
)

// Code classifies an [Error] by what can be done about it.
type Code string

// The codes. Only the provider that saw the failure sets them; nothing else in
// the program looks at a status or at a message's text.
const (
	Unauthorized    Code = "unauthorized"     // 401, 403: the key or its rights
	NotFound        Code = "not_found"        // 404: the model's name or the URL
	InvalidRequest  Code = "invalid_request"  // 400: we or the agent's settings
	ContextOverflow Code = "context_overflow" // the history is too long
	RateLimited     Code = "rate_limited"     // 429; see RetryAfter
	Unavailable     Code = "unavailable"      // 5xx, connection refused or lost before an answer
	StreamCut       Code = "stream_cut"       // the answer broke off in the middle
	Empty           Code = "empty"            // an answer without anything in it
	Malformed       Code = "malformed"        // a function call that the service itself could not read
	Blocked         Code = "blocked"          // safety, recitation and their like; final
	MaxTokens       Code = "max_tokens"       // the output token limit
	Timeout         Code = "timeout"          // the deadline of the call
	Misconfigured   Code = "misconfigured"    // no key, no such script, no client
)

// Error is a failure that a provider understood.
type Error struct {
	Code Code
	// Message is for the person who can act: what went wrong and what to
	// check. It never holds a key.
	Message string
	// Reason is the service's own word, such as SAFETY; may be empty.
	Reason string
	// Status is the HTTP status, 0 where there was none.
	Status int
	// RetryAfter is how long the service asked to wait, 0 if it did not say.
	RetryAfter time.Duration
	// Usage is what the call used all the same, as far as the service said it; nil
	// for nothing.
	Usage *Usage
	// Err is the cause; may be nil.
	Err error
}

// WithUsage is the error of a call that used something, or before which others did;
// lost may be nil.
func WithUsage(err error, lost *Usage) error {
	var known *Error
	switch {
	case lost == nil || *lost == (Usage{}):
		return err
	case !errors.As(err, &known): // the call was stopped while it waited to try again
		return &Error{Code: Timeout, Message: "stopped", Usage: lost, Err: err}
	}
	more := *known
	more.Usage = Sum(lost, known.Usage)
	return &more
}

// UsageOf is what a failed call used all the same; nil for nothing.
func UsageOf(err error) *Usage {
	var known *Error
	if errors.As(err, &known) {
		return known.Usage
	}
	return nil
}

// Error gives the message, followed by the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
