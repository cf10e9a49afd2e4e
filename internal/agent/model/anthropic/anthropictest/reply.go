package anthropictest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Reply is what the service answers with.
type Reply struct {
	Status int
	Header map[string]string
	Body   string // in place of a stream
	// Blocks are the content of a stream, which ends for the reason Stop; without one
	// it has no finish marker.
	Blocks []Block
	Stop   string
	// Raw are events that are sent in place of the ones for Blocks and Stop.
	Raw  []string
	Half bool // ends in the middle of one more event
	Cut  bool // drops the connection
	Hang bool // keeps the connection open after the last event
}

// Block is a content block of a reply.
type Block struct {
	kind      string
	pieces    []string // of text, a thought, or the input of a call
	signature string
	data      string
	id, name  string
}

// Stream is a reply of blocks that ends for a reason such as end_turn.
func Stream(stop string, blocks ...Block) Reply {
	return Reply{Status: 200, Blocks: blocks, Stop: stop}
}

// Say is a reply of text.
func Say(text string) Reply { return Stream("end_turn", Text(text)) }

// Text is a text in pieces.
func Text(pieces ...string) Block { return Block{kind: "text", pieces: pieces} }

// Thought is a thought with its signature.
func Thought(text, signature string) Block {
	return Block{kind: "thinking", pieces: []string{text}, signature: signature}
}

// Redacted is a thought that only the service can read.
func Redacted(data string) Block { return Block{kind: "redacted_thinking", data: data} }

// Call is a call of a tool; input comes in two pieces.
func Call(id, name, input string) Block {
	return Block{kind: "tool_use", id: id, name: name, pieces: []string{input[:len(input)/2], input[len(input)/2:]}}
}

// Fail is an error as the service words them.
func Fail(status int, kind, message string) Reply {
	return Reply{
		Status: status, Header: map[string]string{"Content-Type": "application/json"},
		Body: fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_fake"}`, quote(kind), quote(message)),
	}
}

type event struct{ name, data string }

// events are those of a stream: 10 tokens of input, 100 that were cached and 1000 that
// are now, and 7 of output of which 2 are thoughts.
func (r *Reply) events() []event {
	if r.Raw != nil {
		all := make([]event, len(r.Raw))
		for i, raw := range r.Raw {
			var named struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal([]byte(raw), &named) // what is no JSON has no name
			all[i] = event{named.Type, raw}
		}
		return all
	}
	all := []event{
		{"message_start", `{"type":"message_start","message":{"id":"msg_fake","type":"message","role":"assistant","model":"fake","content":[],"stop_reason":null,"stop_sequence":null,` +
			`"usage":{"input_tokens":10,"cache_creation_input_tokens":1000,"cache_read_input_tokens":100,"output_tokens":1}}}`},
		{"ping", `{"type":"ping"}`},
	}
	for i, b := range r.Blocks {
		all = append(all, b.events(i)...)
	}
	if r.Stop == "" {
		return all
	}
	return append(all,
		event{"message_delta", `{"type":"message_delta","delta":{"stop_reason":` + quote(r.Stop) + `,"stop_sequence":null},"usage":{"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}`},
		event{"message_stop", `{"type":"message_stop"}`})
}

func (b *Block) events(index int) []event {
	start := map[string]string{
		"text": `{"type":"text","text":""}`, "thinking": `{"type":"thinking","thinking":"","signature":""}`,
		"redacted_thinking": `{"type":"redacted_thinking","data":` + quote(b.data) + `}`,
		"tool_use":          `{"type":"tool_use","id":` + quote(b.id) + `,"name":` + quote(b.name) + `,"input":{}}`,
	}[b.kind]
	member := map[string]string{"text": "text", "thinking": "thinking", "tool_use": "partial_json"}[b.kind]
	kind := map[string]string{"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}[b.kind]
	all := []event{{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)}}
	delta := func(kind, member, value string) {
		all = append(all, event{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, member, quote(value))})
	}
	for _, p := range b.pieces {
		delta(kind, member, p)
	}
	if b.signature != "" {
		delta("signature_delta", "signature", b.signature)
	}
	return append(all, event{"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)})
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always marshal
	return string(text)
}

// decode reads JSON, keeps numbers as they are written and refuses members that the
// value does not have.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: Extra inputs are not permitted", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
