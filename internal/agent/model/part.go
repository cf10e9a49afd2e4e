package model

import "google.golang.org/genai"

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
