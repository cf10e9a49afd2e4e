// Package budget holds what was used against the limits of an agent file.
//
// Start with [Check].
package budget

import (
	"fmt"
	"math"
	"strconv"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Used is what model calls used, those of tools and for summaries too.
type Used struct {
	Tokens int64
	Cost   float64 // US dollars
}

// Add counts one more call; nil is one of which nothing is known.
func (u *Used) Add(more *model.Usage) {
	if more != nil {
		u.Tokens += more.Total
		u.Cost += more.Cost
	}
}

// Turn is what counts towards the limits of one turn.
type Turn struct {
	Used
	Calls     int  // of the model
	Corrected bool // one of them was to mend an answer that does not match output_schema
}

// Error is a limit that was reached, in words for the one who asked.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Check says which limit forbids another model call, as an [*Error]. What a call
// uses is known only when it has ended: the one that reaches a limit of tokens or
// cost may go beyond it, and none is made after it.
func Check(l *config.Limits, turn *Turn, conversation *Used) error {
	switch {
	case l.MaxConversationTokens > 0 && conversation.Tokens >= l.MaxConversationTokens:
		return reached("the conversation used %d tokens, limits.max_conversation_tokens is %d; start a new conversation", conversation.Tokens, l.MaxConversationTokens)
	case l.MaxConversationCost > 0 && conversation.Cost >= l.MaxConversationCost:
		return reached("the conversation cost %s, limits.max_conversation_cost is %s; start a new conversation", dollars(conversation.Cost), dollars(l.MaxConversationCost))
	case turn.Calls >= l.MaxModelCalls && turn.Corrected:
		return reached("the turn reached limits.max_model_calls (%d) without an answer that matches output_schema", l.MaxModelCalls)
	case turn.Calls >= l.MaxModelCalls:
		return reached("the turn reached limits.max_model_calls (%d) without an answer", l.MaxModelCalls)
	case turn.Tokens >= l.MaxTotalTokens:
		return reached("the turn used %d tokens, limits.max_total_tokens is %d", turn.Tokens, l.MaxTotalTokens)
	case l.MaxCost > 0 && turn.Cost >= l.MaxCost:
		return reached("the turn cost %s, limits.max_cost is %s; ask for less at once", dollars(turn.Cost), dollars(l.MaxCost))
	}
	return nil
}

func reached(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// dollars prints an amount to a millionth of a dollar.
func dollars(amount float64) string {
	const millionth = 1e6
	return "$" + strconv.FormatFloat(math.Round(amount*millionth)/millionth, 'f', -1, 64)
}
