// Package progress tells the caller of a turn what happens in it, and waits with
// him for its end.
//
// Start with [Reporter.Wait]. limits.go knows how long hosts wait.
package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// beatEvery is how long a caller hears nothing at most. Some hosts give a
	// silent HTTP call up after 60 seconds.
	beatEvery = 15 * time.Second
	// progressEvery is the least time between two notifications; what happens
	// meanwhile goes into the next one, or one after it (basic/patterns/progress
	// asks for a limit).
	progressEvery = 100 * time.Millisecond
	// maxMessage is the length of a message in characters, maxPending the
	// number of lines that wait for being sent.
	// Beyond it the oldest are left out.
	maxMessage = 200
	maxPending = 100
	separator  = " · "
)

// Reporter tells the caller of one call what its turn does. All sending is
// done by the goroutine that waits, so that nothing is sent after the result
// and nothing that happened before it is left out.
type Reporter struct {
	peer  *turns.Peer
	token json.RawMessage // nil: the caller wants no progress notifications
	log   bool            // the client wants log messages
	count int
	last  time.Time
	mute  bool

	mu      sync.Mutex
	begun   bool // the turn, which may have to wait for others
	asks    int  // questions that the client is being asked
	asking  string
	since   time.Time
	asked   time.Duration // that it has taken, until the last answer
	running []string      // tools
	pending []string
	dropped int           // lines that did not fit into pending
	ready   chan struct{} // holds a token while there is something pending
}

// Ending is how waiting has ended.
type Ending int

// The endings.
const (
	Ended   Ending = iota // the turn has
	Stopped               // by the caller
	Overdue               // the caller waits no longer
	Task                  // the call has become a task
)

// Until says what ends waiting beside the turn and the caller.
type Until struct {
	// Overdue is how long the caller waits; 0 for as long as it takes. The time
	// that a person takes to answer does not end it.
	Overdue time.Duration
	// TaskAfter is when BecomeTask is called, once; 0 for never. Waiting ends if
	// it says yes.
	TaskAfter  time.Duration
	BecomeTask func() bool
}

// New makes a reporter. token is the JSON under which the caller wants progress,
// nil if it wants none; level is from which on it wants log messages, empty for
// none.
func New(peer *turns.Peer, token json.RawMessage, level string) *Reporter {
	return &Reporter{peer: peer, token: token, log: wantsLog(level), ready: make(chan struct{}, 1)}
}

// logLevels are those of MCP, the lowest first (server/utilities/logging).
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// IsLogLevel reports whether MCP has such a level of log messages.
func IsLogLevel(level string) bool { return slices.Contains(logLevels, level) }

// logLevel is that of what we have to say.
const logLevel = "info"

// wantsLog reports whether a client that has set this level, or none, wants our
// messages.
func wantsLog(level string) bool {
	i := slices.Index(logLevels, level)
	return i >= 0 && i <= slices.Index(logLevels, logLevel)
}

// Observe notes an event. It is called by the turn and never waits.
func (p *Reporter) Observe(e *session.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	switch e.Kind {
	case session.ToolStarted:
		p.running = append(p.running, e.Call.Name)
	case session.Suspended:
		if i := slices.Index(p.running, e.Suspension.Tool); i >= 0 {
			p.running = slices.Delete(p.running, i, i+1)
		}
	case session.ToolFinished:
		if i := slices.Index(p.running, e.Call.Name); i >= 0 {
			p.running = slices.Delete(p.running, i, i+1)
		}
	}
	if p.token == nil && !p.log {
		return
	}
	line := Describe(e)
	if line == "" {
		return
	}
	if len(p.pending) == maxPending {
		p.pending = append(p.pending[:0], p.pending[1:]...)
		p.dropped++
	}
	p.pending = append(p.pending, line)
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// Doing says what the turn is at.
func (p *Reporter) Doing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asks > 0:
		return p.asking
	case len(p.running) > 0:
		return "running " + strings.Join(p.running, ", ")
	case !p.begun:
		return "waiting for an earlier request of the conversation"
	}
	return "waiting for the model"
}

// Asking says that the client is being asked, in words for people such as "waiting
// for a person's answer", which takes the time it takes; done ends that.
func (p *Reporter) Asking(what string) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking = what
	if p.asks++; p.asks == 1 {
		p.since = time.Now()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.asks--; p.asks == 0 {
			p.asked += time.Since(p.since)
		}
	}
}

// left is how much of its time to wait a caller has left that began then: what
// its own answers take does not count.
func (p *Reporter) left(limit time.Duration, began time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	if p.asks > 0 {
		asked += time.Since(p.since)
	}
	return limit - (time.Since(began) - asked)
}

// Wait keeps the caller informed until the turn has ended, or the call does.
func (p *Reporter) Wait(ctx context.Context, held *turns.Attachment, u Until) Ending {
	p.beat("started")
	began := time.Now()
	silence := time.NewTimer(beatEvery)
	defer silence.Stop()
	gone := p.peer.Gone
	var due <-chan time.Time
	overdue, stop := after(u.Overdue)
	defer stop()
	task, stop := after(u.TaskAfter)
	defer stop()
	for {
		select {
		case <-held.Done():
			p.flush()
			return Ended
		case <-ctx.Done():
			select {
			case <-held.Done():
				return Ended
			default:
				return Stopped
			}
		case <-gone:
			held.Absent()
			gone, p.mute = nil, true
		case <-p.ready:
			if due == nil {
				due = time.After(progressEvery - time.Since(p.last))
			}
		case <-due:
			due = nil
			if p.sendNext() {
				due = time.After(progressEvery)
			}
			silence.Reset(beatEvery)
		case <-silence.C:
			p.beat("still " + p.Doing())
			silence.Reset(beatEvery)
		case <-overdue:
			left := p.left(u.Overdue, began)
			if left <= 0 {
				p.flush()
				return Overdue
			}
			overdue = time.After(max(left, progressEvery))
		case <-task:
			if u.BecomeTask() {
				p.flush()
				return Task
			}
		}
	}
}

// after gives a channel that tells when d is over, never for 0.
func after(d time.Duration) (<-chan time.Time, func() bool) {
	if d <= 0 {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// beat shows the caller that we live.
func (p *Reporter) beat(message string) {
	if p.peer.KeepAlive != nil && !p.mute {
		p.mute = p.peer.KeepAlive() != nil
	}
	if p.token != nil {
		p.send(message)
	}
}

// sendNext sends as much of what is pending as fits into one message; it reports
// whether there is more.
func (p *Reporter) sendNext() (more bool) {
	p.mu.Lock()
	if p.dropped > 0 {
		p.pending = append([]string{fmt.Sprintf("%d earlier lines left out", p.dropped)}, p.pending...)
		p.dropped = 0
	}
	n := fitting(p.pending)
	message := strings.Join(p.pending[:n], separator)
	p.pending = append(p.pending[:0], p.pending[n:]...)
	more = len(p.pending) > 0
	p.mu.Unlock()
	if n > 0 {
		p.send(message)
	}
	return more
}

// flush sends all that is pending, since nothing can come later.
func (p *Reporter) flush() {
	for p.sendNext() {
	}
}

func (p *Reporter) send(message string) {
	p.last = time.Now()
	if p.token != nil {
		p.count++
		p.notify("notifications/progress", progressParams{Token: p.token, Progress: p.count, Message: message})
	}
	if p.log {
		p.notify("notifications/message", logParams{Level: logLevel, Logger: "agent", Data: message})
	}
}

func (p *Reporter) notify(method string, params any) {
	if p.mute || p.peer.Notify == nil {
		return
	}
	data, err := rpc.Notification(method, params)
	p.mute = err != nil || p.peer.Notify(data) != nil
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress int             `json:"progress"`
	Message  string          `json:"message"`
}

type logParams struct {
	Level  string `json:"level"`
	Logger string `json:"logger"`
	Data   string `json:"data"`
}

// Describe says in one line what an event means to a person who waits, or
// nothing. The text of an answer is no progress, that before tool calls is.
func Describe(e *session.Event) string {
	switch e.Kind {
	case session.ModelReply:
		return textBeforeCalls(e)
	case session.ToolStarted:
		return "running " + e.Call.Name
	case session.ToolFinished:
		if e.IsError {
			return e.Call.Name + " failed"
		}
		return e.Call.Name + " done"
	case session.Suspended:
		if e.Suspension.Kind == model.Sampling {
			return oneLine(e.Suspension.Message)
		}
		return "waiting for an answer: " + oneLine(e.Suspension.Message)
	case session.Correction, session.Notice:
		return oneLine(e.Text)
	}
	return ""
}

func textBeforeCalls(e *session.Event) string {
	if e.Content == nil {
		return ""
	}
	var text strings.Builder
	calls := false
	for _, part := range e.Content.Parts {
		calls = calls || part.FunctionCall != nil
		if !part.Thought {
			text.WriteString(part.Text)
		}
	}
	if !calls {
		return ""
	}
	return oneLine(text.String())
}

// oneLine makes text fit into one message.
func oneLine(text string) string {
	return cut(strings.Join(strings.Fields(text), " "))
}

func cut(text string) string {
	r := []rune(text)
	if len(r) <= maxMessage {
		return text
	}
	return strings.TrimSpace(string(r[:maxMessage-1])) + "…"
}

// fitting is how many of the first lines go into one message.
func fitting(lines []string) int {
	length := 0
	for i, line := range lines {
		length += utf8.RuneCountInString(line)
		if i > 0 && length > maxMessage {
			return i
		}
		length += utf8.RuneCountInString(separator)
	}
	return len(lines)
}
