// Package model is the seam between the runner and a language model: one
// request, one reply, and errors that say who can do something about them.
//
// Start with [Model]. Providers live in the folders below this one and import
// this package; it imports none of them. The contents of a conversation are
// genai content types, the common vocabulary of the whole program.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"google.golang.org/genai"
)

// Model produces replies. An implementation is safe for concurrent use.
type Model interface {
	// Generate asks for one reply and yields it in pieces: any number of
	// partial replies, then exactly one that is not partial and repeats
	// everything. A failure is a final (nil, error); what the model's service
	// reported is a *[Error]. Breaking off the iteration or ending ctx stops
	// the request and frees what it held.
	Generate(ctx context.Context, req *Request) iter.Seq2[*Reply, error]
}

// Request is what a model sees. Everything in it is shared with other
// goroutines and with later requests: a provider reads it and never writes.
type Request struct {
	// System is the system instruction, already templated; may be empty.
	System string
	// Contents is the conversation so far, oldest first.
	Contents []*genai.Content
	// Turn is where in Contents the caller's message stands that opened this
	// turn.
	Turn int
	// Tools are the functions that the model may call, in the agent's order.
	// Their parameters are JSON Schema in ParametersJsonSchema, held as
	// json.RawMessage.
	Tools []*genai.FunctionDeclaration
	// Hosted names tools that the service runs itself, such as google_search.
	Hosted []string
	// OutputSchema is the JSON Schema, of type object, that the model's last
	// reply of the turn must match; nil for text. With tools System says it too,
	// since few services hold a model to a schema that may call tools meanwhile.
	OutputSchema json.RawMessage
	// Tokens is about how many tokens the request has; 0 where nobody wants to know.
	Tokens int64
	// Notice tells the person who waits what happens, such as "waiting 2s
	// because of a rate limit". It may be nil; use [Request.Notify].
	Notice func(text string)
	// Asked is the suspension with which the model parked this very step, and
	// Answer what came back on it; both are nil in all other requests.
	Asked  *Suspension
	Answer *Answer
}

// Notify passes text to Notice, if there is one.
func (r *Request) Notify(text string) {
	if r.Notice != nil {
		r.Notice(text)
	}
}

// Reply is one piece of a model's answer, or the whole of it.
type Reply struct {
	// Partial marks a piece of a stream: Content holds only what is new.
	Partial bool
	// Content has role "model". Parts are kept as the provider sent them,
	// signatures included, since some services refuse a history that differs.
	Content *genai.Content
	// FinishReason is the provider's own word for why it stopped.
	FinishReason string
	// Usage is nil where the provider reports none.
	Usage *Usage
	// Opaque is what this provider must get back with the content and that
	// has no place in it; it is stored with the event as it is.
	Opaque json.RawMessage
	// Problem is set on a final reply that is worth keeping although it did
	// not come to its own end, such as text cut at the token limit. The turn
	// ends with it; function calls of such a reply are never run.
	Problem *Error
	// Suspend parks the turn until somebody answers; the same request then
	// comes again with Asked and Answer. Everything else in the Reply but Usage
	// and Model is ignored: what the model needs for going on is in the
	// suspension's Opaque.
	Suspend *Suspension
	// Model says which model answered, as provider/name, where there are several.
	Model string
}

// Usage counts tokens of one model call.
type Usage struct {
	Input    int64 `json:"input,omitempty"`    // those that were cached included
	Output   int64 `json:"output,omitempty"`   // without thoughts
	Thoughts int64 `json:"thoughts,omitempty"` // where the service counts them apart
	Cached   int64 `json:"cached,omitempty"`   // of Input
	Total    int64 `json:"total,omitempty"`
	// Request is how many of Input the request had that was answered, where others
	// before it failed and count too; else 0.
	Request int64 `json:"request,omitempty"`
	// Cost is in US dollars; 0 where no price is known.
	Cost float64 `json:"cost,omitempty"`
}

// Log gives the figures as arguments of a logger; nil counts as nothing.
func (u *Usage) Log() []any {
	if u == nil {
		u = &Usage{}
	}
	return []any{"input", u.Input, "cached", u.Cached, "output", u.Output + u.Thoughts, "cost", u.Cost}
}

// Sum is what two calls used together; nil for nothing.
func Sum(a, b *Usage) *Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a
	sum.Add(b)
	return &sum
}

// After is what an answer used together with the calls before it that failed; nil for
// nothing. Request says how much of it the request had that was answered.
func (u *Usage) After(lost *Usage) *Usage {
	sum := Sum(u, lost)
	if u == nil || sum == u {
		return sum
	}
	if sum.Request == 0 {
		sum.Request = u.Input
	}
	return sum
}

// Add counts more to u; nil is nothing.
func (u *Usage) Add(more *Usage) {
	if more == nil {
		return
	}
	u.Input += more.Input
	u.Output += more.Output
	u.Thoughts += more.Thoughts
	u.Cached += more.Cached
	u.Total += more.Total
	u.Cost += more.Cost
}
