package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// chunk is one event of an answer (chat.completion.chunk), or the whole of it
// (chat.completion). What servers send in several forms stays JSON here.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int             `json:"index"`
	Delta   *said           `json:"delta"`
	Message *said           `json:"message"`
	Finish  json.RawMessage `json:"finish_reason"`
}

// said is what a piece says.
type said struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callPiece     `json:"tool_calls"`
	FunctionCall     *functionPiece  `json:"function_call"` // what tool_calls were before
}

type callPiece struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function functionPiece   `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type functionPiece struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// asString reads a JSON string; anything else is none.
func asString(raw json.RawMessage) string {
	var s string
	if !isSet(raw) || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// asArguments reads arguments: a string of JSON or a piece of it, or JSON itself.
func asArguments(raw json.RawMessage) string {
	if !isSet(raw) || raw[0] == '"' {
		return asString(raw)
	}
	return string(raw)
}

// asContent reads a content: a string, or a list of parts of text and of thinking
// (Mistral, "reasoning").
func asContent(raw json.RawMessage) (text, thought string) {
	if !isSet(raw) || raw[0] != '[' {
		return asString(raw), ""
	}
	var parts []struct {
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	var said, thoughts strings.Builder
	for _, p := range parts {
		said.WriteString(asString(p.Text))
		inside, _ := asContent(p.Thinking)
		thoughts.WriteString(inside)
	}
	return said.String(), thoughts.String()
}

// tokens are what a server counted. Some count in fractions, or leave parts out.
type tokens struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
	CacheHit   float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	Input      struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// asList reads a list; anything else is none.
func asList(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if !isSet(raw) || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// asUsage reads what a call used, nil where that is not said.
func asUsage(raw json.RawMessage) *model.Usage {
	var t tokens
	if !isSet(raw) || json.Unmarshal(raw, &t) != nil {
		return nil
	}
	u := &model.Usage{
		Input:    int64(t.Prompt),
		Thoughts: int64(min(t.Output.Reasoning, t.Completion)), // among those of the completion
		Cached:   int64(min(max(t.Input.Cached, t.CacheHit), t.Prompt)),
		Total:    int64(t.Total),
	}
	u.Output = int64(t.Completion) - u.Thoughts
	u.Total = max(u.Total, u.Input+u.Output+u.Thoughts)
	if u.Total <= 0 {
		return nil
	}
	return u
}
