package budget_test

import (
	"errors"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/budget"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestCheck(t *testing.T) {
	var turn, all budget.Used
	for range 2 {
		turn.Add(&model.Usage{Total: 10, Cost: 0.1})
	}
	all.Add(&model.Usage{Total: 30, Cost: 1.2345678})
	turn.Add(nil)
	for _, tt := range []struct {
		limits    config.Limits
		corrected bool
		want      string
	}{
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 21, MaxCost: 0.21, MaxConversationTokens: 31, MaxConversationCost: 1.24}, false, ""},
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 21}, false, ""},
		{config.Limits{MaxModelCalls: 2, MaxTotalTokens: 21}, false, "the turn reached limits.max_model_calls (2) without an answer"},
		{config.Limits{MaxModelCalls: 2, MaxTotalTokens: 21}, true, "the turn reached limits.max_model_calls (2) without an answer that matches output_schema"},
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 20}, false, "the turn used 20 tokens, limits.max_total_tokens is 20"},
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 21, MaxCost: 0.2}, false, "the turn cost $0.2, limits.max_cost is $0.2; ask for less at once"},
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 21, MaxConversationTokens: 30}, false, "the conversation used 30 tokens, limits.max_conversation_tokens is 30; start a new conversation"},
		{config.Limits{MaxModelCalls: 3, MaxTotalTokens: 21, MaxConversationCost: 1.2}, false, "the conversation cost $1.234568, limits.max_conversation_cost is $1.2; start a new conversation"},
		{config.Limits{MaxModelCalls: 2, MaxTotalTokens: 2, MaxConversationTokens: 3}, false, "the conversation used 30 tokens, limits.max_conversation_tokens is 3; start a new conversation"},
	} {
		got := ""
		if err := budget.Check(&tt.limits, &budget.Turn{Used: turn, Calls: 2, Corrected: tt.corrected}, &all); err != nil {
			var limit *budget.Error
			if got = err.Error(); !errors.As(err, &limit) {
				t.Errorf("%T", err)
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.limits, got, tt.want)
		}
	}
}
