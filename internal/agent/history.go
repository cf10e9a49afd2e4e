package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/budget"
	"github.com/adkmcp/adkmcp/internal/agent/compaction"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// history is what the events of a conversation come to. It is extended event
// by event and holds nothing that the events do not say, so it may be thrown
// away and computed again at any time.
type history struct {
	version  int64
	talk     compaction.Conversation     // for the model; its contents are append-only
	state    map[string]any              // of this conversation, without app: and user:; replaced, never written to
	listings map[string]*session.Listing // what each source of tools listed last
	used     budget.Used                 // by all turns
	turn     turnState
}

// turnState is where the newest turn stands.
type turnState struct {
	open       bool // begun and not ended
	invocation string
	begun      int64 // sequence number of its first event
	first      int   // index of the turn's first content
	step       int   // replies of the model so far
	asks       int   // times that the model was asked, that ended with a question too
	used       budget.Used
	thoughts   int            // replies in a row that held nothing but thoughts
	reply      *session.Event // the newest
	final      bool           // it is the answer, or all there will be
	rejected   bool           // it is an answer that does not match and can be asked for again
	corrected  bool           // that has been done, once a turn
	calls      []callState
	failures   map[string]int      // of each tool, in this turn
	asked      *session.Suspension // the model's own question, while it waits
	answer     *session.Answer     // the answer to it

	summary      compaction.Summary // of the turn's own beginning, where the model is shown nothing else
	shrunk       bool               // a summary was made since the newest reply because a request was too long
	unsummarised bool               // a summary failed
}

// callState is one call of the newest model reply.
type callState struct {
	call      *genai.FunctionCall
	started   bool
	response  *genai.FunctionResponse
	suspended *session.Suspension
	answer    *session.Answer
}

// apply extends the history by one event.
func (h *history) apply(e *session.Event) {
	h.version = e.Seq
	h.applyState(e.StateDelta)
	h.used.Add(e.Usage)
	t := &h.turn
	t.used.Add(e.Usage)
	switch e.Kind {
	case session.UserMessage:
		h.turn = turnState{open: true, invocation: e.Invocation, begun: e.Seq, first: len(h.talk.Contents), calls: t.calls[:0]}
		h.talk.Turns = append(h.talk.Turns, len(h.talk.Contents))
		h.talk.Contents = append(h.talk.Contents, e.Content)
	case session.Compacted:
		h.applyCompacted(e)
	case session.ModelReply:
		h.applyReply(e)
	case session.Correction:
		t.rejected, t.corrected = false, true
		h.talk.Contents = append(h.talk.Contents, e.Content)
	case session.ToolStarted:
		if c := t.find(e.Call.ID); c != nil {
			c.started = true
		}
	case session.ToolFinished:
		h.applyFinished(e)
	case session.ToolsListed:
		if h.listings == nil {
			h.listings = make(map[string]*session.Listing)
		}
		h.listings[e.Listing.Source] = e.Listing
	case session.Suspended:
		if c := t.find(e.Suspension.CallID); c != nil {
			// It took no effect yet; with the answer it starts anew.
			c.suspended, c.answer, c.started = e.Suspension, nil, false
		} else {
			t.asked, t.answer = e.Suspension, nil
			if e.Suspension.Kind != session.Sampling { // that call ends with the answer
				t.asks++
			}
		}
	case session.Answered:
		if c := t.find(e.Answer.CallID); c != nil {
			c.answer = e.Answer
		} else {
			t.answer = e.Answer
		}
	case session.TurnEnded:
		t.open = false
		h.dropTemporary()
	}
}

// applyState takes what an event sets of the conversation's own state. The map is
// never written to, since the calls of a step read it while it changes.
func (h *history) applyState(delta map[string]any) {
	if len(delta) == 0 {
		return
	}
	state := make(map[string]any, len(h.state)+len(delta))
	maps.Copy(state, h.state)
	for k, v := range delta {
		if !shared(k) {
			state[k] = v
		}
	}
	h.state = state
}

// dropTemporary ends what lives as long as a turn.
func (h *history) dropTemporary() {
	temporary := func(k string, _ any) bool { return strings.HasPrefix(k, session.TempPrefix) }
	for k, v := range h.state {
		if temporary(k, v) {
			h.state = maps.Clone(h.state)
			maps.DeleteFunc(h.state, temporary)
			return
		}
	}
}

func (h *history) applyFinished(e *session.Event) {
	t := &h.turn
	if e.IsError && !e.NotRun {
		if t.failures == nil {
			t.failures = make(map[string]int)
		}
		t.failures[e.Call.Name]++
	}
	if c := t.find(e.Call.ID); c != nil {
		c.response = e.Response
		h.joinResponses()
	}
}

func (h *history) applyReply(e *session.Event) {
	t := &h.turn
	t.step, t.calls, t.asked, t.answer = e.Step, t.calls[:0], nil, nil
	t.asks++
	t.shrunk, h.talk.Input, h.talk.Seen = false, 0, len(h.talk.Contents)
	if e.Usage != nil {
		h.talk.Input = cmp.Or(e.Usage.Request, e.Usage.Input)
	}
	t.rejected = !t.corrected && e.Problem != nil && e.Problem.Code == session.InvalidOutput
	t.reply, t.final = e, e.Problem != nil
	if e.Content == nil || len(e.Content.Parts) == 0 {
		return
	}
	if onlyThoughts(e.Content) {
		// Sent back alone it would make two model contents in a row, which
		// services refuse, so it stays in the record only.
		t.thoughts++
		if slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool { return model.IsSigned(p.ThoughtSignature) }) {
			// What a provider has signed says what its service did; without it, it would
			// be done again.
			h.talk.Contents = append(h.talk.Contents, e.Content)
		}
		return
	}
	t.thoughts = 0
	h.talk.Contents = append(h.talk.Contents, e.Content)
	for _, p := range e.Content.Parts {
		if p.FunctionCall != nil {
			t.calls = append(t.calls, callState{call: p.FunctionCall})
		}
	}
	t.final = len(t.calls) == 0 && !t.rejected
}

// applyCompacted puts a summary in place of what it stands for. The contents stay,
// since the next summary may be made of them too.
func (h *history) applyCompacted(e *session.Event) {
	if e.Content == nil || e.Compaction == nil {
		h.turn.unsummarised = true
		return
	}
	s := compaction.Summary{Content: e.Content, UpTo: min(e.Compaction.UpTo, len(h.talk.Contents))}
	if e.Compaction.TurnOnly {
		h.turn.summary = s
	} else {
		h.talk.Summary = s
	}
	h.turn.shrunk = e.Compaction.Reason == session.Overflow
	h.talk.Input = 0
}

// joinResponses makes one content of a step's responses once all are there:
// in the order of the calls, since services match them by place.
func (h *history) joinResponses() {
	calls := h.turn.calls
	for i := range calls {
		if calls[i].response == nil {
			return
		}
	}
	parts := make([]*genai.Part, len(calls))
	block := make([]genai.Part, len(calls))
	for i := range calls {
		block[i].FunctionResponse = calls[i].response
		parts[i] = &block[i]
	}
	h.talk.Contents = append(h.talk.Contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
}

// find gives the state of a call, nil for an id that is not of this step.
func (t *turnState) find(id string) *callState {
	if id == "" {
		return nil
	}
	for i := range t.calls {
		if t.calls[i].call.ID == id {
			return &t.calls[i]
		}
	}
	return nil
}

// working reports whether a call of the newest reply has no response yet.
func (t *turnState) working() bool {
	return slices.ContainsFunc(t.calls, func(c callState) bool { return c.response == nil })
}

// parked reports whether nothing can go on before somebody answers.
func (t *turnState) parked() bool {
	if !t.open {
		return false
	}
	if t.asked != nil && t.answer == nil {
		return true
	}
	waits := false
	for i := range t.calls {
		c := &t.calls[i]
		if c.response != nil {
			continue
		}
		if c.suspended == nil || c.answer != nil {
			return false
		}
		waits = true
	}
	return waits
}

// pending gives the questions that wait for an answer.
func (t *turnState) pending() []*session.Suspension {
	var all []*session.Suspension
	if t.asked != nil && t.answer == nil {
		all = append(all, t.asked)
	}
	for i := range t.calls {
		if c := &t.calls[i]; c.response == nil && c.suspended != nil && c.answer == nil {
			all = append(all, c.suspended)
		}
	}
	return all
}

// shown is what there is to show to the model: all turns, or the current one alone.
func (h *history) shown(currentTurnOnly bool) *compaction.Conversation {
	c := h.talk
	if currentTurnOnly {
		c.Turns, c.Summary = c.Turns[len(c.Turns)-1:], h.turn.summary
		if h.turn.step == 0 { // the newest request was another turn's
			c.Input = 0
		}
	}
	return &c
}

func shared(key string) bool {
	return strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:")
}

func onlyThoughts(c *genai.Content) bool {
	return len(c.Parts) > 0 && !slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return !p.Thought })
}
