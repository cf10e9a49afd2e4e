package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
)

// Named makes a model whose replies say that they are its own, as provider/name,
// and what they cost in US dollars; cost may be nil.
func Named(name string, m Model, cost func(*Usage) float64) Model { return &named{name, m, cost} }

type named struct {
	name  string
	inner Model
	cost  func(*Usage) float64
}

// Generate implements [Model].
func (n *named) Generate(ctx context.Context, req *Request) iter.Seq2[*Reply, error] {
	return func(yield func(*Reply, error) bool) {
		for reply, err := range n.inner.Generate(ctx, req) {
			if reply != nil && !reply.Partial {
				reply = n.sign(reply)
			}
			if !yield(reply, n.price(err)) {
				return
			}
		}
	}
}

// sign gives a final reply its name and price. The inner model's own is left as it
// is.
func (n *named) sign(reply *Reply) *Reply {
	own := *reply
	if own.Model == "" {
		own.Model = n.name
	}
	own.Usage = n.priced(own.Usage)
	return &own
}

// price says what a call cost that failed.
func (n *named) price(err error) error {
	if err == nil || n.cost == nil {
		return err
	}
	var known *Error
	if !errors.As(err, &known) || known.Usage == nil {
		return err
	}
	own := *known
	own.Usage = n.priced(known.Usage)
	return &own
}

func (n *named) priced(u *Usage) *Usage {
	if u == nil || n.cost == nil {
		return u
	}
	usage := *u
	usage.Cost = n.cost(&usage)
	return &usage
}

// Alternative is one of several models that can answer.
type Alternative struct {
	Name  string // provider/name, for people
	Model Model
}

// Fallback makes a model of several: the first answers, and the next one when it
// fails for a reason that need not hold there. A model that failed is passed over
// for cooldown, unless all of them are; one that only found the history too long or
// ran out of time is not. What had been yielded of an answer that failed was only
// partial and begins again with the next model, which a notice says.
func Fallback(all []Alternative, cooldown time.Duration, now func() time.Time) Model {
	return &fallback{all: all, cooldown: cooldown, now: now, until: make([]time.Time, len(all))}
}

type fallback struct {
	all      []Alternative
	cooldown time.Duration
	now      func() time.Time

	mu    sync.Mutex
	until []time.Time // when each may be asked again
}

// Generate implements [Model].
func (f *fallback) Generate(ctx context.Context, req *Request) iter.Seq2[*Reply, error] {
	return func(yield func(*Reply, error) bool) {
		order, asks := f.order(), []*Request{req}
		if req.Asked != nil { // the model that asked gets the answer; another one begins anew
			order, asks = f.answered(req, order)
		}
		var lost Usage // of models that failed
		var failed []failure
		for n, i := range order {
			own := asks[min(n, len(asks)-1)]
			partial, err := f.attempt(ctx, own, i, &lost, yield)
			if err == nil {
				return
			}
			var known *Error
			if !errors.As(err, &known) || !passesOn(known.Code) || ctx.Err() != nil {
				yield(nil, WithUsage(err, &lost))
				return
			}
			if own.Answer == nil { // whoever was asked may be of this caller only
				f.rest(i, known.Code)
			}
			failed = append(failed, failure{f.all[i].Name, known})
			if n == len(order)-1 {
				yield(nil, WithUsage(allFailed(failed), &lost))
				return
			}
			lost.Add(known.Usage)
			again := ""
			if partial {
				again = "; the answer starts again"
			}
			req.Notify(fmt.Sprintf("%s failed (%s); asking %s%s", f.all[i].Name, known.Code, f.all[order[n+1]].Name, again))
		}
	}
}

// failure is a model that failed, and why.
type failure struct {
	name string
	err  *Error
}

// answered puts the model first that asked, with the answer, and the others behind
// it, without.
func (f *fallback) answered(req *Request, order []int) ([]int, []*Request) {
	asker, own := unwrapSuspension(req)
	anew := *req
	anew.Asked, anew.Answer = nil, nil
	if asker < 0 || asker >= len(f.all) {
		return order, []*Request{&anew}
	}
	first := []int{asker}
	for _, i := range order {
		if i != asker {
			first = append(first, i)
		}
	}
	return first, []*Request{own, &anew}
}

// attempt asks one of the models. It returns a failure without passing it on, and
// whether there were partial replies before it. lost is what others used before.
func (f *fallback) attempt(ctx context.Context, req *Request, i int, lost *Usage, yield func(*Reply, error) bool) (partial bool, err error) {
	for reply, err := range f.all[i].Model.Generate(ctx, req) {
		if err != nil {
			return partial, err
		}
		if reply.Suspend != nil {
			reply = wrapSuspension(reply, i)
		}
		if !reply.Partial {
			reply = counting(reply, lost)
		}
		if !yield(reply, nil) || !reply.Partial {
			return partial, nil
		}
		partial = true
	}
	return partial, &Error{Code: Empty, Message: "the model gave no answer"}
}

// order gives the models in the order in which they are asked: first those that do
// not rest.
func (f *fallback) order() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var ready, resting []int
	for i := range f.all {
		if now.Before(f.until[i]) {
			resting = append(resting, i)
		} else {
			ready = append(ready, i)
		}
	}
	return append(ready, resting...)
}

// rest passes a model over for a while.
func (f *fallback) rest(i int, c Code) {
	if c == ContextOverflow || c == Timeout {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[i] = f.now().Add(f.cooldown)
}

// passesOn reports whether another model may do better. What was withheld, cut at a
// limit, or wrong in the request is not asked for again elsewhere.
func passesOn(c Code) bool {
	switch c {
	case Blocked, MaxTokens, InvalidRequest:
		return false
	}
	return true
}

// allFailed is the error of all models together. Its code is the last one's, but for
// a history that is too long for one of them, about which something can be done.
func allFailed(failed []failure) error {
	last := failed[len(failed)-1].err
	if len(failed) == 1 {
		return last
	}
	all := Error{Code: last.Code, Status: last.Status, Reason: last.Reason, Usage: last.Usage}
	said := make([]string, len(failed))
	for i, f := range failed {
		said[i] = f.name + ": " + f.err.Error()
		if f.err.Code == ContextOverflow {
			all.Code, all.Status, all.Reason = f.err.Code, f.err.Status, f.err.Reason
		}
	}
	all.Message = "every model failed: " + strings.Join(said, "; ")
	return &all
}

// asking is the Opaque of a suspension, with which of the models asks.
type asking struct {
	Model  int             `json:"fallback_model"`
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

func wrapSuspension(reply *Reply, i int) *Reply {
	own, q := *reply, *reply.Suspend
	raw, err := json.Marshal(asking{i, q.Opaque})
	if err == nil { // what is opaque came from JSON
		q.Opaque = raw
	}
	own.Suspend = &q
	return &own
}

func unwrapSuspension(req *Request) (asker int, own *Request) {
	a := asking{Model: -1}
	if json.Unmarshal(req.Asked.Opaque, &a) != nil || a.Model < 0 {
		return -1, req
	}
	changed, q := *req, *req.Asked
	q.Opaque = a.Opaque
	changed.Asked = &q
	return a.Model, &changed
}

// Windowed makes a model that takes no more than window tokens for a request and
// its answer, of which answer are kept free. A request that is surely longer is a
// [ContextOverflow] before anything is sent.
func Windowed(m Model, window, answer int64) Model { return &windowed{m, window, answer} }

type windowed struct {
	inner          Model
	window, answer int64
}

// Generate implements [Model].
func (w *windowed) Generate(ctx context.Context, req *Request) iter.Seq2[*Reply, error] {
	if req.Tokens == 0 || req.Tokens+w.answer <= w.window {
		return w.inner.Generate(ctx, req)
	}
	message := fmt.Sprintf("the request has about %d tokens, model.context_window is %d", req.Tokens, w.window)
	if w.answer > 0 {
		message += fmt.Sprintf(", of which the answer may take %d", w.answer)
	}
	return func(yield func(*Reply, error) bool) { yield(nil, &Error{Code: ContextOverflow, Message: message}) }
}
