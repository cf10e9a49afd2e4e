package chattest

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Counting says when a server tells what was used.
type Counting int

// When usage comes.
const (
	CountLast  Counting = iota // in a chunk of its own, without choices
	CountEvery                 // in every chunk, as a running total
	CountNever
)

// Form is how a server words a failure.
type Form int

// The forms.
const (
	ErrorObject Form = iota // {"error":{"message":…,"type":…,"code":…}}
	ErrorText               // {"error":"…"}
	ErrorFlat               // {"object":"error","message":…,"type":…,"code":400}
	ErrorDetail             // {"detail":"…"}
	ErrorList               // [{"error":{"message":…,"status":…,"code":400}}]
)

// Manner is how a server differs from others. The zero value answers as OpenAI does.
type Manner struct {
	Name string

	NoIDs      bool   // calls have none
	SameID     bool   // all calls of an answer have the same
	NoIndex    bool   // calls are not numbered
	ZeroIndex  bool   // all calls have number 0
	WholeCalls bool   // each call comes in one piece
	OneChunk   bool   // all calls come in one chunk
	ObjectArgs bool   // arguments are an object
	NullArgs   bool   // arguments of nothing are null
	RepeatName bool   // each piece of a call has its id and name
	Legacy     bool   // a single call comes as function_call
	CallFinish string // the finish_reason with calls; by default tool_calls

	Reasoning   string // the member for thoughts; none where it is empty
	InContent   bool   // thoughts are parts of the content
	Demands     bool   // thoughts must come back in reasoning_content
	Details     bool   // thoughts have reasoning_details, which must come back
	ContentList bool   // content is a list of parts
	NullContent bool   // content is null beside calls and thoughts
	NoRole      bool

	Usage    Counting
	NoDone   bool
	Comments bool
	Whole    bool // stream is ignored
	Again    bool // the last chunk has all calls once more, their arguments encoded twice
	Message  bool // behind the last chunk comes the whole answer as a message
	BigExtra bool // members that nobody knows

	MaxDescription int // characters of a tool's description; 0 for no bound

	Refuses    []string // members of a request, or of a message, that there are not
	ShortIDs   bool     // ids of calls have nine letters and digits
	NewLimit   bool     // the limit on output tokens is max_completion_tokens
	NoStream   bool
	NoSchema   bool // answers are not held to a schema
	NoMedia    bool // content is text alone
	NoSystem   bool // there are no system messages
	Signatures bool // the first call of a message has a signature in its extra_content
	Images     bool // images of answers are listed beside the content

	Form         Form
	Overflow     string // the words for a history that is too long
	OverflowCode string
}

// Manners lists those that there are.
func Manners() []Manner {
	const (
		vllm = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages."
	)
	return []Manner{
		{Name: "OpenAI", MaxDescription: 1024, NewLimit: true, Overflow: "Your input exceeds the limit of this model.", OverflowCode: "context_length_exceeded"},
		{Name: "Ollama", WholeCalls: true, ZeroIndex: true, CallFinish: "stop", Reasoning: "reasoning", Overflow: "the input length exceeds the context length"},
		{Name: "Ollama of old", WholeCalls: true, NoIndex: true, OneChunk: true, CallFinish: "stop", Overflow: "the input length exceeds the context length"},
		{Name: "llama.cpp", WholeCalls: true, OneChunk: true, NullContent: true, Reasoning: "reasoning_content", NoIDs: true, BigExtra: true,
			Overflow: "the request exceeds the available context size (4096 tokens), try increasing it", OverflowCode: "exceed_context_size_error"},
		{Name: "vLLM", Reasoning: "reasoning_content", Usage: CountEvery, RepeatName: true, Form: ErrorFlat, Overflow: vllm, OverflowCode: "BadRequestError"},
		{Name: "LM Studio", Reasoning: "reasoning", NoRole: true, Form: ErrorText,
			Overflow: "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"},
		{Name: "OpenRouter", Reasoning: "reasoning", Details: true, Comments: true, BigExtra: true, Images: true,
			Overflow: "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens"},
		{Name: "DeepSeek", Reasoning: "reasoning_content", Demands: true, NullContent: true, NoSchema: true, Overflow: vllm, OverflowCode: "invalid_request_error"},
		{Name: "Mistral", ContentList: true, InContent: true, WholeCalls: true, OneChunk: true, Form: ErrorFlat,
			ShortIDs: true, Refuses: []string{"stream_options", "seed", "max_completion_tokens", "reasoning_content", "reasoning_details"},
			Overflow: "Prompt contains 5000 tokens, too large for model with 4096 maximum context length"},
		{Name: "Gemini", Signatures: true, WholeCalls: true, Overflow: "The input token count (5000) exceeds the maximum number of tokens allowed (4096).", Form: ErrorList},
		{Name: "MiniMax", Message: true, Reasoning: "reasoning_content", Usage: CountEvery, Overflow: vllm},
		{Name: "LiteLLM", Again: true, Reasoning: "reasoning_content", Overflow: vllm},
		{Name: "a gateway", NoIDs: true, NoIndex: true, WholeCalls: true, ObjectArgs: true, Usage: CountNever, NoDone: true, Comments: true, Form: ErrorDetail, Overflow: vllm},
		{Name: "a gateway with one id for all", SameID: true, ZeroIndex: true, WholeCalls: true, NullArgs: true, Legacy: true, CallFinish: "function_call", Form: ErrorText, Overflow: vllm},
		{Name: "a gateway that does not stream", Whole: true, NullContent: true, Reasoning: "reasoning_content", Form: ErrorDetail, Overflow: vllm},
		{Name: "a gateway that does not stream, with objects", Whole: true, NoIDs: true, ObjectArgs: true, NoRole: true, Usage: CountNever, CallFinish: "stop", Overflow: vllm},
	}
}

// failure is a refusal in the server's form.
func (m *Manner) failure(status int, code, message string) string {
	var v any
	switch m.Form {
	case ErrorText:
		v = map[string]any{"error": message}
	case ErrorFlat:
		v = map[string]any{"object": "error", "message": message, "type": code, "param": nil, "code": status}
	case ErrorDetail:
		v = map[string]any{"detail": message}
	case ErrorList:
		v = []any{map[string]any{"error": map[string]any{"message": message, "status": code, "code": status}}}
	default:
		v = map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}}
	}
	return text(v)
}

// id is that of a call of an answer, empty for none. first numbers the calls.
func (m *Manner) id(a *Answer, i, first int) string {
	switch {
	case a.Calls[i].ID != "":
		return a.Calls[i].ID
	case m.NoIDs:
		return ""
	case m.SameID:
		return "call_" + strconv.Itoa(first)
	case m.ShortIDs:
		return fmt.Sprintf("%09d", first+i)
	}
	return fmt.Sprintf("call_%024d", first+i)
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error() // a test's own mistake, which the client will not understand
	}
	return string(raw)
}
