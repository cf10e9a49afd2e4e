// Package tasks keeps calls that have become tasks: the extension
// io.modelcontextprotocol/tasks of MCP 2026-07-28, by which a client gets a
// handle of a call that takes long, asks how it stands and gets its result
// (SEP-2663).
//
// Start with [Table.Add] and [Task]. serve.go answers the extension's methods,
// listen.go tells of changes.
package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Extension is the name under which clients and servers declare tasks.
const Extension = "io.modelcontextprotocol/tasks"

const (
	// maxTasks is how many tasks there may be; past it the one that began first
	// of those that are over goes.
	maxTasks = 1000
	// maxWorking is how many of one principal may be at work. Further calls stay
	// calls.
	maxWorking = 100
	// maxBytes is how much the results of all tasks may hold; past it those that
	// began first go.
	maxBytes = 64 << 20
	// pollEvery is how often a client should ask for a task.
	pollEvery = time.Second
)

// The states of a task.
const (
	works     = "working"
	asks      = "input_required"
	completed = "completed"
	cancelled = "cancelled"
)

// Table holds tasks by id. It is safe for concurrent use.
type Table struct {
	now     func() time.Time
	askTime time.Duration

	mu  sync.Mutex
	all map[string]*Task
}

// NewTable makes an empty table. askTime is how long a client may take to answer.
func NewTable(now func() time.Time, askTime time.Duration) *Table {
	return &Table{now: now, askTime: askTime, all: make(map[string]*Task)}
}

// Spec is what makes a [Task].
type Spec struct {
	ID        string // unguessable
	Principal string // whose it is
	// Kept is how long it is kept after it is over, and Expected how long it will
	// take until then, more or less.
	Kept, Expected time.Duration
	// Message says what it is at.
	Message string
	// Client is whose call it was.
	Client turns.Client
	// Stop stops the work. It is called once at most, and let go of when the task
	// is over.
	Stop func(ctx context.Context)
}

// Task is a call that its client does not wait for any more.
type Task struct {
	Spec
	table   *Table
	began   time.Time
	expires time.Time

	mu        sync.Mutex
	status    string
	message   string
	updated   time.Time
	change    int // counts what a listener is told of
	result    json.RawMessage
	asked     int // rounds of questions so far
	open      map[string]*session.Suspension
	answers   map[string]session.Answer // by call id
	answered  chan struct{}             // closed when nothing is open any more
	listeners map[*listener]struct{}
}

// Add makes a task, or gives nil if there is no room: then all tasks are still
// at work.
func (tt *Table) Add(s Spec) *Task {
	now := tt.now()
	t := &Task{Spec: s, table: tt, began: now, updated: now, status: works, message: s.Message}
	tt.mu.Lock()
	defer tt.mu.Unlock()
	working := 0
	for id, old := range tt.all {
		switch over, expires := old.end(); {
		case !over && old.Principal == s.Principal:
			working++
		case over && !now.Before(expires):
			delete(tt.all, id)
		}
	}
	if working >= maxWorking || len(tt.all) >= maxTasks && !tt.dropOldest() {
		return nil
	}
	tt.all[t.ID] = t
	return t
}

// dropOldest drops the task that began first of those that are over, if there
// is one. tt.mu is held.
func (tt *Table) dropOldest() bool {
	var oldest *Task
	for _, old := range tt.all {
		if over, _ := old.end(); over && (oldest == nil || old.began.Before(oldest.began)) {
			oldest = old
		}
	}
	if oldest != nil {
		delete(tt.all, oldest.ID)
	}
	return oldest != nil
}

// of gives those of the ids that are tasks of the principal.
func (tt *Table) of(principal string, ids []string) []*Task {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	var found []*Task
	for _, id := range ids[:min(len(ids), maxListened)] {
		t := tt.all[id]
		if t == nil || t.Principal != principal || slices.Contains(found, t) {
			continue
		}
		if over, expires := t.end(); !over || tt.now().Before(expires) {
			found = append(found, t)
		}
	}
	return found
}

// Created is the result of the call that has become the task.
func (t *Task) Created() map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state()
	state["resultType"] = "task"
	return state
}

// state is what all forms of a task have in common. t.mu is held.
func (t *Task) state() map[string]any {
	state := map[string]any{
		"taskId": t.ID, "status": t.status,
		"createdAt": stamp(t.began), "lastUpdatedAt": stamp(t.updated),
		"ttlMs": t.ttl().Milliseconds(), "pollIntervalMs": pollEvery.Milliseconds(),
	}
	if t.message != "" {
		state["statusMessage"] = t.message
	}
	return state
}

// ttl is how long the task is kept from its beginning on, or will be. t.mu is held.
func (t *Task) ttl() time.Duration {
	if t.isOver() {
		return t.expires.Sub(t.began)
	}
	return max(t.Expected, t.updated.Sub(t.began)) + t.Kept
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// detailed is the task as tasks/get shows it, with the number of its latest
// change and whether it is over.
func (t *Task) detailed() (state map[string]any, change int, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state = t.state()
	if t.status == completed {
		state["result"] = t.result
	}
	if t.status == asks {
		requests := make(map[string]elicit.Request, len(t.open))
		for key, q := range t.open {
			requests[key] = elicit.For(q, &t.Client)
		}
		state["inputRequests"] = requests
	}
	return state, t.change, t.isOver()
}

// end says whether the task is over, and until when it is kept then.
func (t *Task) end() (over bool, expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.isOver(), t.expires
}

// isOver is end with t.mu held.
func (t *Task) isOver() bool { return t.status == completed || t.status == cancelled }

// become notes a change of the task. t.mu is held.
func (t *Task) become(status, message string) {
	t.status, t.message, t.updated = status, message, t.table.now()
	t.change++
	for l := range t.listeners {
		l.news()
	}
}

// Observe notes in a line what the work is at.
func (t *Task) Observe(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == works {
		t.message, t.updated = line, t.table.now()
	}
}

// watch has a listener told of the task, beginning with how it stands.
func (t *Task) watch(l *listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listeners == nil {
		t.listeners = make(map[*listener]struct{}, 1)
	}
	t.listeners[l] = struct{}{}
	t.change = max(t.change, 1)
	l.news()
}

func (t *Task) unwatch(l *listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listeners, l)
}

// Ask shows the questions to whoever asks for the task, and waits for the
// answers. Those that do not come in time count as none; a task that is over asks
// nothing.
func (t *Task) Ask(ctx context.Context, questions []*session.Suspension) []session.Answer {
	t.mu.Lock()
	if t.isOver() { // cancelled while the turn was about to ask
		t.mu.Unlock()
		return nil
	}
	t.open = make(map[string]*session.Suspension, len(questions))
	t.answers = make(map[string]session.Answer, len(questions))
	t.answered = make(chan struct{})
	answered := t.answered
	t.asked++
	keys := elicit.Keys(questions)
	for i, q := range questions {
		key := keys[i]
		if t.asked > 1 { // no key is ever used twice
			key += ".round" + strconv.Itoa(t.asked)
		}
		t.open[key] = q
	}
	t.become(asks, questions[0].Message)
	t.mu.Unlock()

	patience := time.NewTimer(t.table.askTime)
	defer patience.Stop()
	reason := ""
	select {
	case <-answered:
	case <-patience.C:
		reason = fmt.Sprintf("nobody answered within %s", t.table.askTime)
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = nil
	if t.status == asks {
		t.become(works, "")
	}
	answers := make([]session.Answer, 0, len(questions))
	for _, q := range questions {
		a, ok := t.answers[q.CallID]
		if !ok {
			a = elicit.Unanswered(q, reason, 0)
		}
		answers = append(answers, a)
	}
	return answers
}

// answer takes the answers to questions that are open; others are ignored, as
// the extension wants.
func (t *Task) answer(responses map[string]json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, response := range responses {
		if q := t.open[key]; q != nil {
			t.answers[q.CallID] = elicit.Answer(q, response)
			delete(t.open, key)
			if len(t.open) == 0 {
				close(t.answered)
			}
		}
	}
}

// Finish keeps the result of the work, unless the task has been cancelled.
func (t *Task) Finish(result json.RawMessage) {
	t.mu.Lock()
	if t.status != cancelled {
		t.result, t.Stop = result, nil
		t.expires = t.table.now().Add(t.Kept)
		t.become(completed, fmt.Sprintf("took %s", t.table.now().Sub(t.began).Round(time.Second)))
	}
	t.mu.Unlock()
	t.table.trim(t)
}

// trim drops results that are too many bytes together, but the newest.
func (tt *Table) trim(newest *Task) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	total := 0
	for _, t := range tt.all {
		total += t.size()
	}
	for total > maxBytes {
		var oldest *Task
		for _, t := range tt.all {
			if t != newest && t.size() > 0 && (oldest == nil || t.began.Before(oldest.began)) {
				oldest = t
			}
		}
		if oldest == nil {
			return
		}
		total -= oldest.size()
		delete(tt.all, oldest.ID)
	}
}

func (t *Task) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.result)
}

// Cancel stops the work, unless it is over.
func (t *Task) Cancel(ctx context.Context) {
	t.mu.Lock()
	stop, over := t.Stop, t.isOver()
	if !over {
		t.Stop, t.expires = nil, t.table.now().Add(t.Kept)
		t.become(cancelled, "cancelled by the client")
	}
	t.mu.Unlock()
	if !over {
		stop(ctx)
	}
}
