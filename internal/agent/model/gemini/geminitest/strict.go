package geminitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// refusal is what the service says, in its own words.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// rawContent is a content whose parts are still to be checked for having data:
// an empty text is data, no text is none.
type rawContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

func (r rawContent) content() (*genai.Content, error) {
	if r.Role != genai.RoleUser && r.Role != genai.RoleModel {
		return nil, refusal("Please use a valid role: user, model.")
	}
	if len(r.Parts) == 0 {
		return nil, errors.New("must include at least one parts field")
	}
	c := &genai.Content{Role: r.Role}
	for i, raw := range r.Parts {
		var fields map[string]json.RawMessage
		p := &genai.Part{}
		if err := errors.Join(json.Unmarshal(raw, &fields), decode(raw, p)); err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		data := 0
		for _, name := range []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
			if _, ok := fields[name]; ok {
				data++
			}
		}
		if data != 1 {
			return nil, fmt.Errorf("parts[%d].data: required oneof field 'data' must have one initialized field", i)
		}
		c.Parts = append(c.Parts, p)
	}
	return c, nil
}

// checkContents holds a conversation against the rules on turns.
func checkContents(r *Request, said [][]*genai.Part) error {
	model, contents := r.Model, r.Contents
	if len(contents) == 0 {
		return errors.New("contents is not specified")
	}
	for i, c := range contents {
		calls, responses := count(c)
		var before, after *genai.Content
		if i > 0 {
			before = contents[i-1]
		}
		if i+1 < len(contents) {
			after = contents[i+1]
		}
		var err error
		switch {
		case c.Role == genai.RoleModel && (before == nil || before.Role == genai.RoleModel):
			err = errors.New("a model turn must come immediately after a user turn")
		case c.Role == genai.RoleModel && after == nil:
			err = errors.New("the request must end with a user turn")
		case r.Vertex && slices.ContainsFunc(c.Parts, ofGeminiAPI):
			err = refusal("Invalid JSON payload received. Unknown name at 'contents.parts': Cannot find field.")
		case !named(c):
			err = errors.New("function_call.name: Invalid function name")
		case c.Role == genai.RoleUser && blank(c):
			err = errors.New("must include at least one parts field")
		case c.Role == genai.RoleModel && responses > 0, c.Role == genai.RoleUser && calls > 0:
			err = errors.New("a function call belongs to the model, a function response to the user")
		case c.Role == genai.RoleModel:
			if err = errors.Join(checkSaid(model, c, said), checkMedia(c)); err == nil && calls > 0 {
				err = checkResponses(c, after)
			}
		case responses > 0:
			err = checkResponseTurn(model, before, c)
		default:
			err = checkMedia(c)
		}
		if err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	return nil
}

// ofGeminiAPI reports whether a part has what Vertex AI does not know (genai's
// converters refuse it too).
func ofGeminiAPI(p *genai.Part) bool {
	return p.ToolCall != nil || p.ToolResponse != nil || p.PartMetadata != nil
}

// named reports whether calls and responses have names that the service takes.
func named(c *genai.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return p.FunctionCall != nil && !toolName.MatchString(p.FunctionCall.Name) || p.FunctionResponse != nil && !toolName.MatchString(p.FunctionResponse.Name)
	})
}

// blank reports whether a content is text alone and says nothing.
func blank(c *genai.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return strings.TrimSpace(p.Text) != "" || p.FunctionResponse != nil || p.InlineData != nil || p.FileData != nil
	})
}

func count(c *genai.Content) (calls, responses int) {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			calls++
		}
		if p.FunctionResponse != nil {
			responses++
		}
	}
	return calls, responses
}

// checkSaid holds a model turn against what the model has said: with calls, or
// what the service's own tools have done, it must be that, part for part; its
// signatures must be known in any case.
func checkSaid(model string, c *genai.Content, said [][]*genai.Part) error {
	is := normal(c.Parts)
	whole := slices.ContainsFunc(said, func(s []*genai.Part) bool { return equal(s, is) })
	for _, s := range said {
		if rest := without(s); !whole && len(rest) < len(s) && equal(normal(rest), normal(without(is))) {
			return refusal("The parts of server-side tool invocations must be sent back as they came")
		}
	}
	if calls, _ := count(c); calls > 0 {
		if whole {
			return nil
		}
		own := func(s []*genai.Part) bool { return equal(unsigned(s), unsigned(is)) }
		if (isForeign(c) || oldModel.MatchString(model)) && !slices.ContainsFunc(said, func(s []*genai.Part) bool { return own(s) && isSigned(s) }) {
			return nil
		}
		if slices.ContainsFunc(said, own) {
			return refusal("Function call is missing a thought_signature in functionCall parts, or has another one")
		}
		if slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return !isIssued(p, said) }) {
			return refusal("Corrupted thought signature.")
		}
		return errors.New("the function calls are not the ones that the model made, or not in its order")
	}
	for _, p := range c.Parts {
		if len(p.ThoughtSignature) > 0 && !slices.ContainsFunc(slices.Concat(said...), func(s *genai.Part) bool {
			return string(s.ThoughtSignature) == string(p.ThoughtSignature) && s.Text == p.Text
		}) {
			return refusal("Corrupted thought signature.")
		}
	}
	return nil
}

// isIssued reports whether a part's signature is one that this service gave, and not
// one of another key, another project or the other of the two services.
func isIssued(p *genai.Part, said [][]*genai.Part) bool {
	return len(p.ThoughtSignature) == 0 || string(p.ThoughtSignature) == dummy ||
		slices.ContainsFunc(slices.Concat(said...), func(s *genai.Part) bool { return string(s.ThoughtSignature) == string(p.ThoughtSignature) })
}

// dummy stands where a call that another model made has no signature.
const dummy = "skip_thought_signature_validator"

// isForeign reports whether the first call says that another model made it ("Thought
// signatures").
func isForeign(c *genai.Content) bool {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			return string(p.ThoughtSignature) == dummy
		}
	}
	return false
}

func isSigned(parts []*genai.Part) bool {
	return slices.ContainsFunc(parts, func(p *genai.Part) bool { return len(p.ThoughtSignature) > 0 })
}

// without gives parts without those of the service's own tools.
func without(parts []*genai.Part) []*genai.Part {
	return slices.DeleteFunc(slices.Clone(parts), ofService)
}

func ofService(p *genai.Part) bool {
	return p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.ToolCall != nil || p.ToolResponse != nil
}

// checkResponses holds the turn after function calls against them.
func checkResponses(calls, next *genai.Content) error {
	var called, answered []string
	for _, p := range calls.Parts {
		if p.FunctionCall != nil {
			called = append(called, p.FunctionCall.Name+" "+p.FunctionCall.ID)
		}
	}
	for _, p := range next.Parts {
		if p.FunctionResponse != nil {
			answered = append(answered, p.FunctionResponse.Name+" "+p.FunctionResponse.ID)
		}
	}
	if len(called) != len(answered) {
		return refusal(fmt.Sprintf("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn (%d calls, %d responses).", len(called), len(answered)))
	}
	slices.Sort(called)
	slices.Sort(answered)
	if !slices.Equal(called, answered) {
		return fmt.Errorf("the responses are to %v, the calls were %v", answered, called)
	}
	return nil
}

// Media that the service reads.
var (
	responseMedia = regexp.MustCompile(`^(image/(png|jpeg|webp)|application/pdf|text/plain)$`)
	inputMedia    = regexp.MustCompile(`^(image/(png|jpeg|webp|heic|heif)|application/pdf|text/[a-z0-9.+-]+` +
		`|audio/(wav|mp3|mpeg|aiff|(x-)?aac|ogg|flac|m4a|mp4|mpga|pcm|webm)|video/(mp4|mpeg|mpegps|mpg|mov|quicktime|avi|x-flv|webm|wmv|3gpp))$`)
	oldModel = regexp.MustCompile(`^gemini-[12]`)
)

// checkResponseTurn holds a turn with function responses against the rules on
// what it may hold.
func checkResponseTurn(model string, before, c *genai.Content) error {
	if before == nil {
		return errors.New("a function response without a call")
	}
	if calls, _ := count(before); calls == 0 {
		return errors.New("a function response turn must come immediately after a function call turn")
	}
	for _, p := range c.Parts {
		r := p.FunctionResponse
		if r == nil {
			if p.InlineData == nil {
				return errors.New("function responses cannot share a turn with other parts than their images")
			}
			continue
		}
		if r.Response == nil {
			return errors.New("function_response.response: required field is missing")
		}
		if len(r.Parts) > 0 && oldModel.MatchString(model) {
			return errors.New("multimodal function responses are not supported by this model")
		}
		var names []string
		for _, media := range r.Parts {
			switch b := media.InlineData; {
			case b == nil || !responseMedia.MatchString(b.MIMEType):
				return errors.New("unsupported MIME type in a function response")
			case !isData(b.MIMEType, b.Data):
				return refusal("Unable to process input image")
			}
			names = append(names, media.InlineData.DisplayName)
		}
		for _, ref := range refs(r.Response) {
			if !slices.Contains(names, ref) {
				return refusal(fmt.Sprintf("The referenced name `%s` in function_response.response does not match to a display_name in the function_response.parts.", ref))
			}
		}
	}
	return checkMedia(c)
}

func checkMedia(c *genai.Content) error {
	for _, p := range c.Parts {
		b := p.InlineData
		switch {
		case b == nil:
		case !inputMedia.MatchString(b.MIMEType):
			return refusal(fmt.Sprintf("Unsupported MIME type: %s", b.MIMEType))
		case b.DisplayName != "":
			return refusal(`Invalid JSON payload received. Unknown name "displayName" at 'contents.parts.inline_data'`)
		case !isData(b.MIMEType, b.Data):
			return refusal("Unable to process input image")
		}
	}
	return nil
}

// isData reports whether data is what it is called, as far as its beginning tells.
func isData(kind string, data []byte) bool {
	switch kind {
	case "image/png":
		return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	case "image/jpeg":
		return bytes.HasPrefix(data, []byte("\xff\xd8\xff"))
	case "image/webp":
		return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
	case "image/heic", "image/heif":
		return len(data) >= 12 && string(data[4:8]) == "ftyp"
	case "application/pdf":
		return bytes.HasPrefix(data, []byte("%PDF-"))
	}
	return len(data) > 0
}

// refs lists the values of the keys $ref in a value.
func refs(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if s, ok := value.(string); ok && key == "$ref" {
				found = append(found, s)
			}
			found = append(found, refs(value)...)
		}
	case []any:
		for _, value := range v {
			found = append(found, refs(value)...)
		}
	}
	return found
}

// normal is what must come back of parts: text that was streamed in pieces is
// one, empty parts and thoughts without a signature may be missing.
func normal(parts []*genai.Part) []*genai.Part {
	var out []*genai.Part
	open := false
	for _, p := range parts {
		plain := len(p.ThoughtSignature) == 0 && p.FunctionCall == nil && p.InlineData == nil && !ofService(p)
		switch {
		case plain && (p.Thought || p.Text == ""):
		case plain && open:
			joined := *out[len(out)-1]
			joined.Text += p.Text
			out[len(out)-1] = &joined
		default:
			out = append(out, p)
			open = plain
		}
	}
	return out
}

func unsigned(parts []*genai.Part) []*genai.Part {
	var out []*genai.Part
	for _, p := range parts {
		bare := *p
		bare.ThoughtSignature = nil
		out = append(out, &bare)
	}
	return normal(out)
}

func equal(a, b []*genai.Part) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
