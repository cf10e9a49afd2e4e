package model

import (
	"bytes"

	"google.golang.org/genai"
)

// Sign makes the signature of a part of what a provider must get back with it, so
// that no other provider takes it for its own: a conversation may go on with
// another model. Gemini's signatures are the service's own bytes and have no mark.
func Sign(provider string, data []byte) []byte {
	return append([]byte(mark(provider)), data...)
}

// Signed gives what [Sign] made a signature of. ok is false for another
// provider's.
func Signed(provider string, signature []byte) (data []byte, ok bool) {
	return bytes.CutPrefix(signature, []byte(mark(provider)))
}

// IsSigned reports whether a signature is one that [Sign] made, for whichever
// provider.
func IsSigned(signature []byte) bool { return bytes.HasPrefix(signature, []byte(marked)) }

const marked = "adkmcp:"

func mark(provider string) string { return marked + provider + ":" }

// IsBlank reports whether a part says nothing and asks for nothing: it has
// neither text nor data of any kind. A signature or other notes about a part
// do not count.
func IsBlank(p *genai.Part) bool {
	return p == nil || p.Text == "" &&
		p.FunctionCall == nil && p.FunctionResponse == nil &&
		p.InlineData == nil && p.FileData == nil &&
		p.ExecutableCode == nil && p.CodeExecutionResult == nil &&
		p.ToolCall == nil && p.ToolResponse == nil &&
		p.AudioTranscription == nil
}
