package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// streamEvent is an event of any type (the API's page on streaming).
type streamEvent struct {
	Type         string    `json:"type"`
	Message      *whole    `json:"message"`       // message_start
	Index        int       `json:"index"`         // content_block_…
	ContentBlock *piece    `json:"content_block"` // content_block_start
	Delta        delta     `json:"delta"`         // content_block_delta, message_delta
	Usage        *usage    `json:"usage"`         // message_delta
	Error        *apiError `json:"error"`         // error
}

// whole is a message: the frame of a stream, or all there is from a server that does
// not stream.
type whole struct {
	Content []piece `json:"content"`
	ending
	Usage *usage `json:"usage"`
}

// ending says why an answer ended.
type ending struct {
	StopReason  string `json:"stop_reason"`
	StopDetails *struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// piece is a content block, at first mostly empty.
type piece struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Text        string `json:"text"`
	PartialJSON string `json:"partial_json"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	ending
}

// usage counts tokens. Those of a later event include those of the ones before.
type usage struct {
	Input         int64 `json:"input_tokens"` // those that are cached apart
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	Output        int64 `json:"output_tokens"` // thoughts included
	Details       struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) update(more *usage) {
	if more == nil {
		return
	}
	u.Input = max(u.Input, more.Input)
	u.CacheRead = max(u.CacheRead, more.CacheRead)
	u.CacheCreation = max(u.CacheCreation, more.CacheCreation)
	u.Output = max(u.Output, more.Output)
	u.Details.Thinking = max(u.Details.Thinking, more.Details.Thinking)
}

func (u *usage) reply() *model.Usage {
	if *u == (usage{}) {
		return nil
	}
	thoughts := min(u.Details.Thinking, u.Output)
	out := &model.Usage{
		Input:    u.Input + u.CacheRead + u.CacheCreation,
		Cached:   u.CacheRead,
		Output:   u.Output - thoughts,
		Thoughts: thoughts,
	}
	out.Total = out.Input + out.Output + out.Thoughts
	return out
}

// gathered is a content block that is being put together.
type gathered struct {
	start     piece
	text      strings.Builder // of text or thinking
	signature strings.Builder
	input     strings.Builder
}

// gathering puts the events of one answer together.
type gathering struct {
	model      string
	events     int
	blocks     []*gathered
	at         map[int]*gathered // by the service's index
	passedOver []string          // types of blocks that are not known
	usage      usage
	ending     ending
	stopped    bool // the finish marker has come
}

// add takes the next event and gives what there is to show of it. Calls come with
// the whole answer only.
func (g *gathering) add(e wire.Event) ([]*model.Reply, error) {
	if string(e.Data) == "[DONE]" {
		return nil, nil
	}
	g.events++
	var event streamEvent
	if err := json.Unmarshal(e.Data, &event); err != nil {
		return nil, &model.Error{Code: model.StreamCut, Message: "Anthropic's answer could not be read"}
	}
	switch event.Type {
	case "error":
		if event.Error == nil {
			event.Error = &apiError{Type: "api_error"}
		}
		return nil, &reported{*event.Error}
	case "message":
		return g.message(e.Data)
	case "message_start":
		if event.Message != nil {
			g.usage.update(event.Message.Usage)
		}
	case "content_block_start":
		if event.ContentBlock != nil {
			return g.begin(event.Index, event.ContentBlock), nil
		}
	case "content_block_delta":
		return g.goOn(event.Index, &event.Delta), nil
	case "message_delta":
		g.usage.update(event.Usage)
		if event.Delta.StopReason != "" {
			g.ending = event.Delta.ending
		}
	case "message_stop":
		g.stopped = true
	default: // ping, content_block_stop, and whatever is new
		if e.Name == "json" {
			return nil, &model.Error{Code: model.Misconfigured, Message: "the answer is not Anthropic's: check model.base_url and the proxy"}
		}
	}
	return nil, nil
}

// message takes an answer that comes in one piece.
func (g *gathering) message(data []byte) (shown []*model.Reply, err error) {
	var w whole
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, &model.Error{Code: model.StreamCut, Message: "Anthropic's answer could not be read"}
	}
	for i := range w.Content {
		shown = append(shown, g.begin(i, &w.Content[i])...)
	}
	g.usage.update(w.Usage)
	g.ending, g.stopped = w.ending, true
	return shown, nil
}

// begin takes the beginning of a block, which may be all of it.
func (g *gathering) begin(index int, p *piece) []*model.Reply {
	switch p.Type {
	case "text", "thinking", "redacted_thinking", "tool_use":
	default:
		if !slices.Contains(g.passedOver, p.Type) {
			g.passedOver = append(g.passedOver, p.Type)
		}
		return nil
	}
	b := &gathered{start: *p}
	g.blocks = append(g.blocks, b)
	if g.at == nil {
		g.at = map[int]*gathered{}
	}
	g.at[index] = b
	return g.goOn(index, &delta{Text: p.Text, Thinking: p.Thinking, Signature: p.Signature})
}

// goOn takes more of a block.
func (g *gathering) goOn(index int, d *delta) []*model.Reply {
	b := g.at[index]
	if b == nil {
		return nil
	}
	b.signature.WriteString(d.Signature)
	b.input.WriteString(d.PartialJSON)
	text := d.Text
	if b.start.Type == "thinking" {
		text = d.Thinking
	}
	if text == "" {
		return nil
	}
	b.text.WriteString(text)
	part := &genai.Part{Text: text, Thought: b.start.Type == "thinking"}
	return []*model.Reply{{Partial: true, Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}}
}
