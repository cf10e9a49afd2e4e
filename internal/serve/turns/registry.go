// Package turns owns the running turns of a server, and says who is at the
// other end of an MCP call.
//
// Start with [Registry]: a call attaches to a turn, waits, and leaves; the turn
// itself belongs to the registry and goes on without it. [Peer] is what a
// transport tells the handler of a call.
package turns

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Bounds of a registry.
const (
	// MaxTurns is how many turns may run at once, those that wait in line for
	// their conversation included.
	MaxTurns = 1000
	// MaxAttached is how many calls may wait for the same turn.
	MaxAttached = 100
	// MaxKept and KeepFor bound the answers that wait for a caller who had
	// gone: the oldest goes first.
	MaxKept = 100
	KeepFor = 10 * time.Minute
	// RepeatAfter is how long a turn has run before the same request, from a
	// caller who may still be there, is taken for the same one sent again. Hosts
	// give up after a minute at the earliest, mostly without a word; what comes
	// sooner is asked for twice on purpose.
	RepeatAfter = 30 * time.Second

	// afterTimeout bounds what is done when a conversation has no turn left.
	afterTimeout = 5 * time.Second
)

// Errors of turns.
var (
	// ErrStopping: the server takes no more turns. It is also the cause for
	// which a turn is cancelled when the server's patience has ended.
	ErrStopping = errors.New("the server is stopping")
	// ErrBusy: a bound on turns or on calls that wait for one is reached.
	ErrBusy = errors.New("too many turns are running")
	// ErrCancelled is the cause for which a turn ends that its caller stopped.
	ErrCancelled = errors.New("the caller cancelled the turn")
	// ErrPanic: the turn ran into a fault of the program.
	ErrPanic = errors.New("internal error")
)

// Runner takes turns of one agent; *agent.Runner is one.
type Runner interface {
	Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error]
}

// Request asks for a turn.
type Request struct {
	Runner Runner
	Turn   agent.Turn
	// Arguments are what the caller asked for: the same arguments in the same
	// conversation are taken for the same request, sent again. Empty means that
	// nobody can ask for this turn again, as when its conversation is new.
	Arguments string
	// Patience is how long the turn waits for the one before it in its
	// conversation; 0 for as long as that takes.
	Patience time.Duration
	// Wanted reports, right before the turn begins, whether the caller still wants
	// it. It may be nil.
	Wanted func() bool
	// Ask puts the questions of a turn that has parked, for which it may take its
	// time, and gives the answers with which the turn goes on; without any the
	// turn stays parked and ends here. It may be nil.
	// If its caller has gone meanwhile, another one is asked; if none is there,
	// whoever asks for the same turn within AskTimeout. Holds reports whether Ask
	// can give answers itself, which is better.
	Ask        func(ctx context.Context, questions []*session.Suspension) []session.Answer
	Holds      func() bool
	AskTimeout time.Duration
	// Ended is called once, when the turn has ended and whoever asks is still
	// attached. It may be nil.
	Ended func(ctx context.Context)
	// Observe sees the events as they happen, from now on. It must return at
	// once and not call the registry.
	Observe func(*session.Event)
}

// Outcome is how a turn ended. Err is set if it did not start or could not be
// recorded; Answer is never nil.
type Outcome struct {
	Answer *answer.Answer
	Err    error
}

// Registry owns turns. It is safe for concurrent use.
type Registry struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	open     []*turn // that can be attached to: running, or ended and kept, oldest first
	kept     []*turn // those that ended without having been delivered, oldest first
	running  map[*turn]struct{}
	busy     map[session.Key]*conversation
	stopping bool
	ended    chan struct{} // closed when stopping and nothing runs any more
	wg       sync.WaitGroup
}

// ident says when two requests are the same.
type ident struct {
	key       session.Key
	arguments [sha256.Size]byte
}

// conversation is one that has turns.
type conversation struct {
	line  []*turn // in order of arrival; the first one runs
	after []func(context.Context)
}

// turn is guarded by Registry.mu, apart from outcome, which is written before
// done is closed and only read after it, and from attached, which is written
// under both locks and read under one of them.
type turn struct {
	id        ident
	began     time.Time
	cancel    context.CancelCauseFunc
	first     chan struct{} // closed when no turn is before it in its conversation
	done      chan struct{}
	outcome   Outcome
	over      bool
	delivered bool
	expires   time.Time

	watchMu  sync.Mutex
	attached map[*Attachment]struct{}
	joined   chan struct{} // closed when somebody attaches, if anybody waits for that
}

// awaits reports whether a turn is there for a request that is sent again: its
// answer found nobody, or those who wait for it have gone, or may have.
func (t *turn) awaits(now time.Time) bool {
	if t.over {
		return len(t.attached) == 0
	}
	return t.abandoned() || now.Sub(t.began) >= RepeatAfter
}

// abandoned reports whether nobody who is still there waits for a turn.
func (t *turn) abandoned() bool {
	for a := range t.attached {
		if !a.absent {
			return false
		}
	}
	return true
}

// New makes a registry without turns. now is the clock.
func New(log *slog.Logger, now func() time.Time) *Registry {
	return &Registry{
		log:     log,
		now:     now,
		running: make(map[*turn]struct{}),
		busy:    make(map[session.Key]*conversation),
		ended:   make(chan struct{}),
	}
}

// Attach attaches to the turn that q asks for: to one that was asked for before
// and whose caller has gone or may have (see RepeatAfter), else to a new one.
// Turns of one conversation run one after the other, in the order of Attach.
// The turn takes the values of ctx, but not its end. The error is ErrStopping
// or ErrBusy. The caller must end with one of the methods of [Attachment].
func (r *Registry) Attach(ctx context.Context, q Request) (*Attachment, error) {
	id := ident{q.Turn.Key, sha256.Sum256([]byte(q.Arguments))}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	if q.Arguments != "" {
		for _, t := range r.open {
			if t.id == id && t.awaits(r.now()) {
				return r.join(t, q)
			}
		}
	}
	if r.stopping {
		return nil, ErrStopping
	}
	if len(r.running) >= MaxTurns {
		return nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &turn{id: id, began: r.now(), cancel: cancel, attached: make(map[*Attachment]struct{}, 1),
		first: make(chan struct{}), done: make(chan struct{})}
	r.supersede(id)
	if q.Arguments != "" {
		r.open = append(r.open, t)
	}
	r.running[t] = struct{}{}
	r.enter(t)
	a, err := r.join(t, q)
	r.wg.Go(func() {
		defer cancel(nil)
		err := t.wait(ctx, q.Patience)
		if err == nil && q.Wanted != nil && !q.Wanted() && t.alone() { // Cancel is on its way
			err = ErrCancelled
		}
		if err != nil {
			r.end(ctx, t, Outcome{Answer: &answer.Answer{}, Err: err})
			return
		}
		r.end(ctx, t, r.run(ctx, t, q))
	})
	return a, err
}

func (r *Registry) join(t *turn, q Request) (*Attachment, error) {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	if len(t.attached) >= MaxAttached {
		return nil, ErrBusy
	}
	if t.over {
		r.kept = slices.DeleteFunc(r.kept, func(k *turn) bool { return k == t })
	}
	a := &Attachment{registry: r, turn: t, observe: q.Observe, ask: q.Ask, holds: q.Holds, ended: q.Ended, left: make(chan struct{})}
	t.attached[a] = struct{}{}
	if t.joined != nil {
		close(t.joined)
		t.joined = nil
	}
	return a, nil
}

// wait waits until it is the turn's turn in its conversation.
func (t *turn) wait(ctx context.Context, patience time.Duration) error {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	select {
	case <-t.first:
	case <-ctx.Done():
	}
	return context.Cause(ctx) // nil if it has not ended
}

// alone reports whether nobody waits for the turn but the one who asked for it.
func (t *turn) alone() bool {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	return len(t.attached) <= 1
}

// supersede forgets the other requests of a conversation that nobody waits for
// any more: once it goes on, their answers are of yesterday.
func (r *Registry) supersede(id ident) {
	for _, t := range slices.Clone(r.open) {
		if t.id.key == id.key && t.id.arguments != id.arguments && t.abandoned() {
			r.drop(t)
		}
	}
}

// drop makes that nobody can attach to the turn any more.
func (r *Registry) drop(t *turn) {
	is := func(other *turn) bool { return other == t }
	r.open = slices.DeleteFunc(r.open, is)
	r.kept = slices.DeleteFunc(r.kept, is)
}

// run takes the turn and shows its events to those who are attached.
func (r *Registry) run(ctx context.Context, t *turn, q Request) (out Outcome) {
	log := r.log.With("agent", q.Turn.Key.Agent)
	defer func() {
		if p := recover(); p != nil {
			log.Error("a turn panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = Outcome{Answer: &answer.Answer{}, Err: ErrPanic}
		}
	}()
	watch := func(e *session.Event) {
		logEvent(ctx, log, e)
		t.watchMu.Lock()
		defer t.watchMu.Unlock()
		for a := range t.attached {
			a.observe(e)
		}
	}
	next := q.Turn
	for {
		said, err := answer.Collect(q.Runner.Run(ctx, next), watch)
		out = Outcome{Answer: said, Err: err} // of the whole turn, see answer.Collect
		if err != nil || len(said.Questions) == 0 {
			return out
		}
		answers := t.ask(ctx, q.AskTimeout, said.Questions)
		if len(answers) == 0 {
			return out
		}
		next = agent.Turn{Key: q.Turn.Key, Mode: session.MustExist, Caller: q.Turn.Caller, Answers: answers}
	}
}

// end records how the turn ended, and does what waited for its conversation
// to be idle.
func (r *Registry) end(ctx context.Context, t *turn, out Outcome) {
	r.mu.Lock()
	t.outcome, t.over = out, true
	close(t.done)
	if len(t.attached) == 0 {
		if out.Err != nil && !errors.Is(out.Err, ErrCancelled) && !errors.Is(out.Err, ErrStopping) && !errors.Is(out.Err, context.Canceled) {
			r.log.Error("a turn failed and nobody waits for it", "agent", t.id.key.Agent, "error", out.Err)
		}
		r.keep(t)
	}
	var tell []func(context.Context)
	for a := range t.attached {
		if a.ended != nil {
			tell = append(tell, a.ended)
		}
	}
	after := r.leave(t)
	r.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	for _, do := range append(tell, after...) {
		do(ctx)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, t)
	r.closeIfEnded()
}

// keep keeps the answer of a turn that nobody has got, if it is one and can be
// asked for.
func (r *Registry) keep(t *turn) {
	if !slices.Contains(r.open, t) {
		return
	}
	if t.outcome.Err != nil || t.outcome.Answer.Problem != nil || t.outcome.Answer.Content == nil {
		r.drop(t)
		return
	}
	t.expires = r.now().Add(KeepFor)
	r.kept = append(r.kept, t)
	r.forget()
}

// forget drops kept answers that have expired or are too many.
func (r *Registry) forget() {
	now := r.now()
	for len(r.kept) > 0 && (len(r.kept) > MaxKept || !now.Before(r.kept[0].expires)) {
		r.drop(r.kept[0])
	}
}

// enter puts the turn at the end of its conversation's line.
func (r *Registry) enter(t *turn) {
	c := r.busy[t.id.key]
	if c == nil {
		c = &conversation{}
		r.busy[t.id.key] = c
	}
	c.line = append(c.line, t)
	if len(c.line) == 1 {
		close(t.first)
	}
}

// leave takes the turn out of the line, lets the next one run if it was the
// first, and gives what is to be done if none is left.
func (r *Registry) leave(t *turn) []func(context.Context) {
	c := r.busy[t.id.key]
	i := slices.Index(c.line, t)
	c.line = slices.Delete(c.line, i, i+1)
	switch {
	case len(c.line) == 0:
		delete(r.busy, t.id.key)
		return c.after
	case i == 0:
		close(c.line[0].first)
	}
	return nil
}

// WhenIdle calls do as soon as the conversation has no turn: now, or when its
// last one has ended. do gets a context that lasts long enough for it.
func (r *Registry) WhenIdle(ctx context.Context, key session.Key, do func(context.Context)) {
	r.mu.Lock()
	if c := r.busy[key]; c != nil {
		c.after = append(c.after, do)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	do(ctx)
}

// Stop takes no more turns, lets those that run go on for grace or until hurry
// is closed, then cancels them and waits until all have ended or ctx ends, which
// is an error. hurry may be nil.
func (r *Registry) Stop(ctx context.Context, grace time.Duration, hurry <-chan struct{}) error {
	r.mu.Lock()
	r.stopping = true
	r.closeIfEnded()
	r.mu.Unlock()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-r.ended:
	case <-patience.C:
	case <-hurry:
	case <-ctx.Done():
	}
	r.mu.Lock()
	for t := range r.running {
		t.cancel(ErrStopping)
	}
	r.mu.Unlock()
	select {
	case <-r.ended:
		r.wg.Wait()
		return nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.running) == 0 {
			return nil
		}
		return fmt.Errorf("%d turns did not end in time after they were cancelled", len(r.running))
	}
}

func (r *Registry) closeIfEnded() {
	if !r.stopping || len(r.running) > 0 {
		return
	}
	select {
	case <-r.ended:
	default:
		close(r.ended)
	}
}

func logEvent(ctx context.Context, log *slog.Logger, e *session.Event) {
	if e.Kind == session.Partial || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("kind", string(e.Kind)), slog.String("invocation", e.Invocation),
		slog.Int64("seq", e.Seq), slog.Int("step", e.Step), slog.String("author", e.Author),
	}
	if e.Call != nil {
		attrs = append(attrs, slog.String("tool", e.Call.Name))
	}
	if e.Problem != nil {
		attrs = append(attrs, slog.String("problem", e.Problem.Code))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "event", attrs...)
}
