// Package chunk reads the pieces in which servers of the Chat Completions API give
// their answers.
//
// Start with [Read]: it gives what an event says, in one form for the many that
// servers have for it (loose.go). [Calls] puts tool calls together of their pieces
// (calls.go, call.go), [JoinDetails] the details of reasoning; image.go reads
// images, and failure.go errors, which stand in place of a piece or of an answer.
package chunk

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// Chunk is what one event of an answer says (chat.completion.chunk), or the whole of
// it (chat.completion).
type Chunk struct {
	// Choices are those of the answer that is read, which is the first one.
	Choices []Choice
	// Chosen says that there were choices, if only an empty list of them.
	Chosen bool
	// Odd says that the event has an error, or nothing of what answers have: it may
	// be an error itself.
	Odd bool
	// Usage is a running total; nil where nothing is said of it.
	Usage *model.Usage
}

// Choice is a piece of an answer.
type Choice struct {
	Finish string // why the answer ended; empty for nothing said
	// Delta is what is new, Message all that there is of the answer; nil for none.
	Delta, Message *Said
}

// Said is what a piece of an answer says.
type Said struct {
	Text    string
	Thought string
	// Returns says that the thought came as reasoning_content, which some servers
	// want back so.
	Returns bool
	Details []json.RawMessage // reasoning_details (OpenRouter)
	Refusal string            // why the model does not answer (OpenAI)
	Calls   []Piece
	Images  []Image
}

// Piece is a piece of a tool call.
type Piece struct {
	Index    int
	Numbered bool // Index was given
	ID       string
	Name     string
	Args     string          // JSON, or a piece of it
	Extra    json.RawMessage // extra_content (Gemini's own Chat Completions)
}

type event struct {
	Choices list[choice]    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   number       `json:"index"`
	Delta   object[said] `json:"delta"`
	Message object[said] `json:"message"`
	Finish  text         `json:"finish_reason"`
}

type said struct {
	Content          content          `json:"content"`
	Refusal          text             `json:"refusal"`
	ReasoningContent text             `json:"reasoning_content"`
	Reasoning        text             `json:"reasoning"`
	Details          details          `json:"reasoning_details"`
	Images           list[pictured]   `json:"images"`
	ToolCalls        list[call]       `json:"tool_calls"`
	FunctionCall     object[function] `json:"function_call"` // what tool_calls were before
}

type call struct {
	Index    number           `json:"index"`
	ID       text             `json:"id"`
	Function object[function] `json:"function"`
	Extra    json.RawMessage  `json:"extra_content"`
}

type function struct {
	Name text      `json:"name"`
	Args arguments `json:"arguments"`
}

// Read reads the data of an event. The error is that of JSON.
func Read(data []byte) (*Chunk, error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	c := &Chunk{
		Chosen: e.Choices != nil,
		Odd:    isSet(e.Error) || e.Choices == nil && !isSet(e.Usage),
		Usage:  usage(e.Usage),
	}
	for i := range e.Choices {
		if from := &e.Choices[i]; from.Index.is == 0 {
			c.Choices = append(c.Choices, Choice{string(from.Finish), from.Delta.is.read(), from.Message.is.read()})
		}
	}
	return c, nil
}

// read gives what a piece says, nil for no piece.
func (s *said) read() *Said {
	if s == nil {
		return nil
	}
	out := &Said{
		Text: s.Content.text, Thought: s.Content.thought, Returns: s.ReasoningContent != "",
		Details: s.Details, Refusal: string(s.Refusal),
	}
	if out.Returns {
		out.Thought += string(s.ReasoningContent)
	} else if out.Thought == "" { // some servers send both
		out.Thought = string(s.Reasoning)
	}
	at := s.Content.images
	for _, p := range s.Images {
		at = append(at, p.URL)
	}
	out.Images = images(at)
	calls := s.ToolCalls
	if s.FunctionCall.is != nil {
		calls = append(calls, call{Function: s.FunctionCall})
	}
	for i := range calls {
		out.Calls = append(out.Calls, calls[i].read())
	}
	return out
}

func (c *call) read() Piece {
	p := Piece{Index: c.Index.is, Numbered: c.Index.set, ID: string(c.ID)}
	if f := c.Function.is; f != nil {
		p.Name, p.Args = string(f.Name), string(f.Args)
	}
	if isSet(c.Extra) {
		p.Extra = c.Extra
	}
	return p
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

// usage reads what a call used, nil where that is not said.
func usage(raw json.RawMessage) *model.Usage {
	var t tokens
	if !isSet(raw) || json.Unmarshal(raw, &t) != nil {
		return nil
	}
	if r := t.Output.Reasoning; r > 0 && t.Total == t.Prompt+t.Completion+r { // counted apart (xAI, "Consumption")
		t.Completion += r
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
