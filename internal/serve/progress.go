package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// beatEvery is how long a caller hears nothing at most. Some hosts give a
	// silent HTTP call up after 60 seconds.
	beatEvery = 15 * time.Second
	// progressEvery is the least time between two rounds of notifications; what
	// happens meanwhile goes into one round (basic/patterns/progress asks for a limit).
	progressEvery = 100 * time.Millisecond
	// maxMessage is the length of a message in characters, maxPending the
	// number of lines that wait for being sent.
	// Beyond it the oldest are left out.
	maxMessage = 200
	maxPending = 32
	separator  = " · "
)

// progress tells the caller of one call what its turn does. All sending is
// done by the goroutine that waits, so that nothing is sent after the result
// and nothing that happened before it is left out.
type progress struct {
	peer  *turns.Peer
	token json.RawMessage // nil: the caller wants no notifications
	count int
	last  time.Time
	mute  bool

	mu      sync.Mutex
	pending []string
	dropped int           // lines that did not fit into pending
	ready   chan struct{} // holds a token while there is something pending
}

func newProgress(peer *turns.Peer, token json.RawMessage) *progress {
	return &progress{peer: peer, token: token, ready: make(chan struct{}, 1)}
}

// observe notes an event. It is called by the turn and never waits.
func (p *progress) observe(e *session.Event) {
	if p.token == nil {
		return
	}
	line := describe(e)
	if line == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
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

// wait keeps the caller informed until the turn has ended; it reports false if
// the call's context ended first.
func (p *progress) wait(ctx context.Context, held *turns.Attachment) bool {
	p.beat("started")
	silence := time.NewTimer(beatEvery)
	defer silence.Stop()
	gone := p.peer.Gone
	var due <-chan time.Time
	for {
		select {
		case <-held.Done():
			p.flush()
			return true
		case <-ctx.Done():
			return closed(held.Done())
		case <-gone:
			held.Absent()
			gone, p.mute = nil, true
		case <-p.ready:
			if due == nil {
				due = time.After(progressEvery - time.Since(p.last))
			}
		case <-due:
			due = nil
			p.flush()
			silence.Reset(beatEvery)
		case <-silence.C:
			p.beat("still working")
			silence.Reset(beatEvery)
		}
	}
}

// beat shows the caller that we live.
func (p *progress) beat(message string) {
	if p.peer.KeepAlive != nil && !p.mute {
		p.mute = p.peer.KeepAlive() != nil
	}
	if p.token != nil {
		p.send(message)
	}
}

// flush sends what is pending, in as many notifications as that needs.
func (p *progress) flush() {
	p.mu.Lock()
	lines, dropped := p.pending, p.dropped
	p.pending, p.dropped = nil, 0
	p.mu.Unlock()
	if dropped > 0 {
		lines = append([]string{fmt.Sprintf("%d earlier lines left out", dropped)}, lines...)
	}
	for _, message := range pack(lines) {
		p.send(message)
	}
}

func (p *progress) send(message string) {
	if p.mute || p.peer.Notify == nil {
		return
	}
	p.count++
	p.last = time.Now()
	data, err := json.Marshal(notification{
		JSONRPC: "2.0", Method: "notifications/progress",
		Params: progressParams{Token: p.token, Progress: p.count, Message: message},
	})
	p.mute = err != nil || p.peer.Notify(data) != nil
}

type notification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  progressParams `json:"params"`
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress int             `json:"progress"`
	Message  string          `json:"message"`
}

// describe says in one line what an event means to a person who waits, or
// nothing. The text of an answer is no progress, that before tool calls is.
func describe(e *session.Event) string {
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
	case session.Notice:
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

// pack puts lines together to messages, each with as many as fit.
func pack(lines []string) (messages []string) {
	length := 0 // of the last message
	for _, line := range lines {
		line = cut(line)
		n := len([]rune(line))
		if more := len([]rune(separator)) + n; len(messages) > 0 && length+more <= maxMessage {
			messages[len(messages)-1] += separator + line
			length += more
			continue
		}
		messages = append(messages, line)
		length = n
	}
	return messages
}
