package elicit

import (
	"bytes"
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// SamplingMethod is that of a request to the client's own model (client/sampling).
const SamplingMethod = "sampling/createMessage"

// The first protocol versions whose sampling has these.
const (
	firstWithAudio  = "2025-03-26"
	firstWithBlocks = "2025-11-25" // several blocks in a message, and tools
)

// Why a client's model cannot be asked, in words for who chose it.
const (
	noSampling = "model: host needs a calling host that offers sampling (MCP client/sampling); this one does not: choose another model in the agent file"
	noTools    = "the host's model cannot call tools (sampling.tools); model: host needs a calling host that offers them, or an agent without tools: choose another model in the agent file"
	noAudio    = "the host's model takes no audio before MCP " + firstWithAudio + ": leave it out, or choose another model in the agent file"

	notReadable = "what the agent asks of the host's model cannot be read"
)

// knowsTools reports whether a client takes the whole form of sampling.
func knowsTools(c *turns.Client) bool {
	return c.SamplesTools && c.Protocol >= firstWithBlocks
}

// fit gives the params of sampling in the form that a client takes: as they are,
// or with one block in each message where it knows no more. why says that it
// cannot take them at all.
func fit(payload json.RawMessage, c *turns.Client) (params json.RawMessage, why string) {
	switch {
	case !c.Samples:
		return nil, noSampling
	case len(payload) == 0:
		return nil, notReadable
	case knowsTools(c):
		return payload, ""
	}
	var whole map[string]json.RawMessage
	var messages []message
	if json.Unmarshal(payload, &whole) != nil || json.Unmarshal(whole["messages"], &messages) != nil {
		return nil, notReadable
	}
	if whole["tools"] != nil {
		return nil, noTools
	}
	single := make([]message, 0, len(messages))
	for i := range messages {
		for _, block := range messages[i].blocks() {
			switch kind := typeOf(block); {
			case kind == "tool_use" || kind == "tool_result":
				return nil, noTools
			case kind == "audio" && c.Protocol < firstWithAudio:
				return nil, noAudio
			}
			single = append(single, message{messages[i].Role, block})
		}
	}
	var err error
	if whole["messages"], err = json.Marshal(single); err == nil {
		params, err = json.Marshal(whole)
	}
	if err != nil {
		return nil, "what the agent asks of the host's model has no form in JSON"
	}
	return params, ""
}

// message is one of the conversation that the client's model goes on with.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// blocks are the contents of a message, each for itself.
func (m *message) blocks() []json.RawMessage {
	var several []json.RawMessage
	if bytes.HasPrefix(m.Content, []byte("[")) && json.Unmarshal(m.Content, &several) == nil {
		return several
	}
	return []json.RawMessage{m.Content}
}

func typeOf(block json.RawMessage) string {
	var b struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(block, &b) // what is none has no type
	return b.Type
}

// sampled takes the result of [SamplingMethod] for an answer. Whether it is one
// is for the model's provider to say.
func sampled(q *session.Suspension, result json.RawMessage) session.Answer {
	a := session.Answer{CallID: q.CallID, ID: q.ID, Action: model.Accept, Payload: result}
	if !json.Valid(result) {
		a.Action, a.Reason, a.Payload = model.Cancel, "the client's answer could not be read", nil
	}
	return a
}
