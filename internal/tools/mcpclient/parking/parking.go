// Package parking lets a call of a tool ask a person in the middle and go on when
// the answer has come, although the tool has returned meanwhile: what the call does
// at its server runs on, and waits.
//
// Start with [Lot.Run] and [Lot.Resume]. A [Lot] owns every goroutine of this
// package.
package parking

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Bounds of what waits for a person.
const (
	MaxParked = 100
	MaxEach   = 20               // of one principal
	MaxTime   = 15 * time.Minute // for one question
)

// Errors of this package.
var (
	// ErrGone: there is no such call, or not of this owner. It was never parked
	// here, its time has run out, or somebody has answered already.
	ErrGone = errors.New("the question is no longer open")
	// ErrFull: too many calls wait for somebody.
	ErrFull = errors.New("too many questions are open")

	errClosed  = errors.New("the program ends")
	errExpired = errors.New("nobody has answered in time")
	errPanic   = errors.New("a fault in the program; the log has the details")
)

// Lot holds the calls that run or wait. It is safe for concurrent use.
type Lot struct {
	log *slog.Logger

	mu      sync.Mutex
	parked  map[string]*place
	live    map[*Call]struct{}
	running sync.WaitGroup
	closed  bool
}

// place is where a call waits for an answer.
type place struct {
	call  *Call
	asked *question
	timer *time.Timer
}

// New makes a lot; its owner closes it.
func New(log *slog.Logger) *Lot {
	return &Lot{log: log, parked: map[string]*place{}, live: map[*Call]struct{}{}}
}

// Close cancels whatever runs or waits and returns when all of it has ended.
func (l *Lot) Close() {
	l.mu.Lock()
	l.closed = true
	for c := range l.live {
		c.cancel(errClosed)
	}
	for id := range l.parked {
		l.take(id)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Call is one call that may ask.
type Call struct {
	owner, principal string

	cancel context.CancelCauseFunc
	asks   chan *question
	done   chan struct{} // closed when result and err are there
	result *agent.Result
	err    error

	mu       sync.Mutex
	progress func(text string) // nil while nobody hears it
}

// question is one that waits to be put, and then for its answer.
type question struct {
	*session.Suspension
	answers chan reply // holds one
}

// reply is the answer, or why the question could not be put.
type reply struct {
	*session.Answer
	err error
}

// Caller is who makes a call, or makes it again with an answer.
type Caller struct {
	// Owner is the same for a call and its repetition, and for no other one.
	Owner string
	// Principal is who has to bear that others' questions wait too.
	Principal string
	Progress  func(text string)
}

// Work is what a call does. Its context ends with that of whoever waits for the
// call just then; while it is parked, only time and [Lot.Close] end it.
type Work func(ctx context.Context, c *Call) (*agent.Result, error)

// Run does the work of a call. The result is the work's, or a suspension that
// [Lot.Resume] continues. It returns with ctx's error when ctx has ended and the
// work has too.
func (l *Lot) Run(ctx context.Context, by Caller, work Work) (*agent.Result, error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &Call{owner: by.Owner, principal: by.Principal, cancel: cancel, asks: make(chan *question), done: make(chan struct{}), progress: by.Progress}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		cancel(errClosed)
		return nil, errClosed
	}
	l.live[c] = struct{}{}
	l.running.Add(1)
	l.mu.Unlock()
	go l.do(own, c, work)
	return l.attend(ctx, c)
}

func (l *Lot) do(ctx context.Context, c *Call, work Work) {
	defer l.running.Done()
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a call of an MCP server panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.result, c.err = nil, errPanic
		}
		c.cancel(nil)
		l.mu.Lock()
		delete(l.live, c)
		l.mu.Unlock()
		close(c.done)
	}()
	c.result, c.err = work(ctx, c)
}

// attend waits for what a call comes to: its end, or a question.
func (l *Lot) attend(ctx context.Context, c *Call) (*agent.Result, error) {
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	defer stop()
	defer c.hear(nil)
	for {
		select {
		case <-c.done:
			if c.err != nil && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return c.result, c.err
		case q := <-c.asks:
			asking, err := l.park(c, q)
			if err != nil {
				l.log.WarnContext(ctx, "a question of an MCP server was not put", "error", err)
				q.answers <- reply{err: err}
				continue
			}
			return asking, nil
		}
	}
}

// park gives a question a place, from where its answer finds it.
func (l *Lot) park(c *Call, q *question) (*agent.Result, error) {
	id := rand.Text()
	opaque, err := json.Marshal(ticket{id})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, errClosed
	case len(l.parked) >= MaxParked || l.waiting(c.principal) >= MaxEach:
		return nil, ErrFull
	}
	l.parked[id] = &place{c, q, time.AfterFunc(MaxTime, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p := l.take(id); p != nil {
			p.call.cancel(errExpired)
		}
	})}
	asking := *q.Suspension
	asking.Opaque = opaque
	return &agent.Result{Suspend: &asking}, nil
}

// waiting counts the questions of a principal. l.mu is held.
func (l *Lot) waiting(principal string) int {
	n := 0
	for _, p := range l.parked {
		if p.call.principal == principal {
			n++
		}
	}
	return n
}

// take empties a place; nil for one that there is not. l.mu is held.
func (l *Lot) take(id string) *place {
	p := l.parked[id]
	if p != nil {
		p.timer.Stop()
		delete(l.parked, id)
	}
	return p
}

// ticket is what is stored with a question, to find the call again.
type ticket struct {
	ID string `json:"parked"`
}

// Resume goes on with a call that asked, in the same way as [Lot.Run]. opaque is
// that of the suspension. The error is [ErrGone] if the call does not wait any
// more.
func (l *Lot) Resume(ctx context.Context, by Caller, opaque json.RawMessage, answer *session.Answer) (*agent.Result, error) {
	var t ticket
	if json.Unmarshal(opaque, &t) != nil {
		return nil, ErrGone
	}
	l.mu.Lock()
	p := l.parked[t.ID]
	if p == nil || p.call.owner != by.Owner {
		l.mu.Unlock()
		return nil, ErrGone
	}
	l.take(t.ID)
	l.mu.Unlock()
	p.call.hear(by.Progress)
	p.asked.answers <- reply{Answer: answer}
	return l.attend(ctx, p.call)
}

// Ask puts a question before a person and waits for the answer. Of several
// questions of one call each is put when the one before has its answer. [ErrFull]
// means that it was not put, since too many wait.
func (c *Call) Ask(ctx context.Context, s *session.Suspension) (*session.Answer, error) {
	q := &question{s, make(chan reply, 1)}
	select {
	case c.asks <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case r := <-q.answers:
		return r.Answer, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Progress tells whoever waits for the call something; nobody hears it while the
// call is parked.
func (c *Call) Progress(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress != nil {
		c.progress(text)
	}
}

func (c *Call) hear(progress func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = progress
}
