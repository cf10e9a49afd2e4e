// Package compaction lets the older part of a conversation give way to a summary,
// as ADK does with events_compaction_config.
//
// Start with [Conversation]: it says what a model is shown, and what is to be
// summarised before it is asked again. summary.go makes the request for a summary
// and reads it; transcript.go writes the older part as text. Nothing here calls a
// model or records anything; package agent does.
package compaction

import (
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Conversation is what there is to show to a model. Nobody writes to what it
// points to.
type Conversation struct {
	// Contents are all contents of the conversation, from its start. One with
	// function calls is followed by one with all their responses.
	Contents []*genai.Content
	// Turns are where in Contents the turns that are shown begin, ascending. The last
	// one is the current turn. There is at least one.
	Turns   []int
	Summary Summary
	// Input is how many tokens the newest request had, as the service counted them,
	// and Seen how many Contents there were then. Input is 0 where that is not known
	// or where the summary has come since.
	Input int64
	Seen  int
}

// Summary stands for the contents before UpTo; the zero value for none.
type Summary struct {
	Content *genai.Content // from the user
	UpTo    int
}

// View is what the model is shown, and where in it the current turn begins: the
// summary and what it does not stand for. Where that begins inside a turn, the
// message that opened this turn stays before it, word for word.
func (c *Conversation) View() (contents []*genai.Content, turn int) {
	current, n := c.current(), len(c.Contents)
	if c.Summary.Content == nil {
		from := c.Turns[0]
		return c.Contents[from:n:n], current - from
	}
	from := c.Summary.UpTo
	contents = append(make([]*genai.Content, 0, n-from+2), c.Summary.Content)
	if opening := c.opening(from); opening < from {
		contents = append(contents, c.Contents[opening])
	}
	if turn = 1; current >= from {
		turn = len(contents) + current - from
	}
	return append(contents, c.Contents[from:]...), turn
}

// Due says what is to be summarised before the next model call, nil for nothing.
// begins means that it is the turn's first call, before which turns are counted.
func (c *Conversation) Due(cfg *config.Compaction, begins bool) *session.Compaction {
	if begins && cfg.CompactionInterval > 0 {
		if due := c.byTurns(cfg.CompactionInterval, size(cfg.OverlapSize)); due != nil {
			return due
		}
	}
	if cfg.TokenThreshold == 0 {
		return nil
	}
	contents, _ := c.View()
	shown := Tokens(contents)
	tokens := c.Input
	if tokens == 0 {
		tokens = shown
	}
	if tokens <= cfg.TokenThreshold {
		return nil
	}
	due := c.keeping(size(cfg.EventRetentionSize), session.Tokens)
	if due == nil {
		return nil
	}
	// The service counts other tokens than we do, so shares are compared.
	if gone := Tokens(c.part(due.From, due.UpTo)); gone*tokens*worthwhile < cfg.TokenThreshold*shown {
		return nil
	}
	return due
}

// worthwhile is the part of token_threshold that a summary has to take away. Where
// what is kept is more than the threshold by itself, there would be a summary before
// each call otherwise.
const worthwhile = 4

// Overflowed says what is to be summarised after a request that was more than the
// model takes, nil for nothing. Without an event_retention_size, or where that
// leaves nothing, the newer half is kept.
func (c *Conversation) Overflowed(cfg *config.Compaction) *session.Compaction {
	if cfg.EventRetentionSize != nil {
		if due := c.keeping(*cfg.EventRetentionSize, session.Overflow); due != nil {
			return due
		}
	}
	contents, _ := c.View()
	return c.keeping(len(contents)/2, session.Overflow)
}

// Estimate is about how many tokens a request has that shows the conversation.
func (c *Conversation) Estimate(req *model.Request) int64 {
	if c.Input > 0 {
		return c.Input + Tokens(c.Contents[c.Seen:])
	}
	rest := len(req.System) + len(req.OutputSchema)
	for _, f := range req.Tools {
		rest += len(f.Name) + len(f.Description)
		if parameters, ok := f.ParametersJsonSchema.(json.RawMessage); ok {
			rest += len(parameters)
		}
	}
	contents, _ := c.View()
	return int64(rest/bytesPerToken) + Tokens(contents)
}

// byTurns summarises all turns before the current one when interval turns have
// begun since the last summary, together with the overlap turns before them.
func (c *Conversation) byTurns(interval, overlap int) *session.Compaction {
	before := c.Turns[:len(c.Turns)-1]
	first, _ := slices.BinarySearch(before, c.Summary.UpTo)
	if len(before)-first < interval {
		return nil
	}
	from := c.least()
	if overlap > 0 {
		from = min(from, before[max(0, first-overlap)])
	}
	return &session.Compaction{From: from, UpTo: c.current(), Reason: session.Interval}
}

// keeping summarises all but the newest contents, and a few more of them where the
// cut would tear a call from its response.
func (c *Conversation) keeping(newest int, reason string) *session.Compaction {
	least := c.least()
	for cut := len(c.Contents) - newest; cut > least; cut-- {
		if c.mayCut(cut) {
			return &session.Compaction{From: least, UpTo: cut, Reason: reason}
		}
	}
	return nil
}

// mayCut reports whether what is kept may begin at cut. Inside a turn it begins with
// a model's content, for the opening message stays before it; behind the last one
// it may lie when all calls have their responses.
func (c *Conversation) mayCut(cut int) bool {
	switch c.opening(cut) {
	case cut:
		return true
	case cut - 1: // only the message that stays would come before it
		return false
	}
	if cut == len(c.Contents) {
		return slices.ContainsFunc(c.Contents[cut-1].Parts, func(p *genai.Part) bool { return p.FunctionResponse != nil })
	}
	return c.Contents[cut].Role == genai.RoleModel
}

// part are the contents from one up to another, with the message that opened the
// turn in which they begin.
func (c *Conversation) part(from, upTo int) []*genai.Content {
	if opening := c.opening(from); opening < from {
		return append([]*genai.Content{c.Contents[opening]}, c.Contents[from:upTo]...)
	}
	return c.Contents[from:upTo]
}

// opening is where the turn begins that a content belongs to.
func (c *Conversation) opening(content int) int {
	i, found := slices.BinarySearch(c.Turns, content)
	if found || i == 0 {
		return content
	}
	return c.Turns[i-1]
}

// least is the first content that is shown as it is.
func (c *Conversation) least() int { return max(c.Turns[0], c.Summary.UpTo) }

func (c *Conversation) current() int { return c.Turns[len(c.Turns)-1] }

func size(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
