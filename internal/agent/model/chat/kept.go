package chat

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// provider marks our signatures.
const provider = "openai-compatible"

// kept is what a server must get back with a part, in the part's signature. It goes
// only to the model and the address that it came from.
type kept struct {
	Origin string `json:"of"`
	// ID is that of a call. LiteLLM keeps the signatures of Gemini's calls in it, and
	// Kimi's template shows it to the model, so it goes back as it was.
	ID string `json:"id,omitempty"`
	// Content says that the thought came as reasoning_content and goes back so.
	Content bool `json:"reasoning_content,omitempty"`
	// Details are OpenRouter's reasoning_details, signatures of the model's own
	// service among them.
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
	// Extra is the extra_content of a call, in which Gemini's own Chat Completions
	// keep the call's signature.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// sign makes a signature, nil where there is nothing to get back.
func (k kept) sign(origin string) []byte {
	if k.ID == "" && !k.Content && k.Details == nil && k.Extra == nil {
		return nil
	}
	k.Origin = origin
	raw, err := wire.Encode(k)
	if err != nil {
		return nil // cannot be: the pieces are JSON as it came
	}
	return model.Sign(provider, raw)
}

// readKept gives what is in a signature, nothing for another origin's.
func readKept(signature []byte, origin string) kept {
	var k kept
	data, ok := model.Signed(provider, signature)
	if !ok || json.Unmarshal(data, &k) != nil || k.Origin != origin {
		return kept{}
	}
	return k
}
