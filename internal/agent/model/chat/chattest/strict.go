package chattest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Message is a message of a request.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  *string         `json:"reasoning_content"`
	Details    json.RawMessage `json:"reasoning_details"`
	ToolCalls  []ToolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`

	// Parts are the content read, of a text or of the parts that it lists.
	Parts []Part `json:"-"`
}

// ToolCall is a call that comes back.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Extra *struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

// Part is a part of a message's content.
type Part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image *struct {
		URL string `json:"url"`
	} `json:"image_url"`
	Audio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type format struct {
	Type   string `json:"type"`
	Schema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	} `json:"json_schema"`
}

// wire is a request's body; what is not here is refused.
type wire struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Tools         *[]tool   `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature         *float64 `json:"temperature"`
	TopP                *float64 `json:"top_p"`
	MaxTokens           *int     `json:"max_tokens"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	Stop                []string `json:"stop"`
	Seed                *int     `json:"seed"`
	RandomSeed          *int     `json:"random_seed"`
	Presence            *float64 `json:"presence_penalty"`
	Frequency           *float64 `json:"frequency_penalty"`
	Effort              string   `json:"reasoning_effort"`
	Format              *format  `json:"response_format"`
}

// decode reads JSON and refuses members that the value does not have.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// check reads a request and holds it against the rules.
func (s *Server) check(r *Request) error {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return fmt.Errorf("415 Content-Type is %q", kind)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &members); err != nil {
		return err
	}
	for _, name := range s.Extra {
		delete(members, name)
	}
	if err := s.manner.checkMembers(members); err != nil {
		return err
	}
	var w wire
	if err := decode([]byte(text(members)), &w); err != nil {
		return err
	}
	for i := range w.Messages {
		if err := w.Messages[i].read(); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	r.Messages = w.Messages
	switch {
	case w.Model == "":
		return errors.New("you must provide a model parameter")
	case w.Stream == s.manner.NoStream:
		return fmt.Errorf("stream is %v", w.Stream)
	case !w.Stream && w.StreamOptions != nil:
		return errors.New("stream_options without stream")
	case w.Stream && !s.manner.refuses("stream_options") && (w.StreamOptions == nil || !w.StreamOptions.IncludeUsage):
		return errors.New("stream_options does not ask for usage")
	case s.manner.NewLimit && w.MaxTokens != nil:
		return errors.New("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.") //nolint:revive,staticcheck // OpenAI's words
	case len(w.Stop) > 4:
		return errors.New("stop has more than 4 texts")
	case w.Effort != "" && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh"}, w.Effort):
		return fmt.Errorf("reasoning_effort %q", w.Effort)
	}
	if err := checkOrder(w.Messages); err != nil {
		return err
	}
	if err := s.manner.checkMessages(w.Messages); err != nil {
		return err
	}
	if err := s.checkReasoning(w.Messages); err != nil {
		return err
	}
	if w.Tools != nil {
		if err := s.manner.checkTools(*w.Tools); err != nil {
			return err
		}
		for _, t := range *w.Tools {
			r.Tools = append(r.Tools, t.Function.Name)
		}
	}
	if w.Format == nil {
		return nil
	}
	switch {
	case w.Tools != nil:
		return errors.New("response_format cannot be combined with tools")
	case s.manner.NoSchema:
		return errors.New("This response_format type is unavailable now") //nolint:staticcheck // DeepSeek's words
	}
	return checkFormat(w.Format, r)
}

var (
	goodName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	goodID   = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,40}$`)
	dataURL  = regexp.MustCompile(`^data:([a-z]+/[a-z0-9]+);base64,(.+)$`)
)

// read reads the content.
func (m *Message) read() error {
	switch {
	case len(m.Content) == 0:
		return errors.New("content is missing")
	case string(m.Content) == "null":
		return nil
	case m.Content[0] == '"':
		var p Part
		err := json.Unmarshal(m.Content, &p.Text)
		m.Parts = []Part{p}
		return err
	}
	return decode(m.Content, &m.Parts)
}

// checkOrder holds messages against what the strictest templates want of their
// order: an optional system message, then user and assistant in turn, with all
// results of an assistant's calls, in their order, between it and the next one.
func checkOrder(messages []Message) error {
	before := ""
	var open []string
	for i := range messages {
		m := &messages[i]
		err := m.check()
		switch {
		case err != nil:
		case m.Role == "system" && i > 0:
			err = errors.New("system message must be at the beginning")
		case m.Role == "tool" && len(open) == 0:
			err = errors.New("messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
		case m.Role == "tool" && m.ToolCallID != open[0]:
			err = fmt.Errorf("the result is of %q, the next open call is %q", m.ToolCallID, open[0])
		case m.Role != "tool" && len(open) > 0:
			err = fmt.Errorf("tool_call_ids did not have response messages: %v", open)
		case m.Role == "user" && before == "tool":
			err = errors.New("unexpected role 'user' after role 'tool'")
		case m.Role == before && m.Role != "tool":
			err = errors.New("conversation roles must alternate user/assistant/user/assistant/")
		case m.Role == "assistant" && (before == "" || before == "system"):
			err = errors.New("the conversation must begin with a user message")
		}
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.Role == "tool" {
			open = open[1:]
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
		before = m.Role
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("tool_call_ids did not have response messages: %v", open)
	case before != "user" && before != "tool":
		return fmt.Errorf("expected last role user or tool but got %q", before)
	}
	return nil
}

// check holds a message against the rules for its role.
func (m *Message) check() error {
	isText := len(m.Content) > 0 && m.Content[0] == '"'
	blank := len(m.Parts) == 0 || isText && strings.TrimSpace(m.Parts[0].Text) == ""
	if m.Role != "assistant" && (m.ToolCalls != nil || m.Reasoning != nil || m.Details != nil) || m.Role != "tool" && m.ToolCallID != "" {
		return errors.New("a member does not belong to a message of this role")
	}
	switch m.Role {
	case "system":
		if !isText || blank {
			return errors.New("content must be a text that is not empty")
		}
	case "user":
		if blank {
			return errors.New("content must not be empty")
		}
		if !isText {
			return checkParts(m.Parts)
		}
	case "tool":
		if !isText {
			return errors.New("content must be a text")
		}
	case "assistant":
		switch {
		case m.ToolCalls == nil && (!isText || blank):
			return errors.New("content must be a text that is not empty, or there must be tool_calls")
		case m.ToolCalls != nil && len(m.ToolCalls) == 0:
			return errors.New("tool_calls must not be empty")
		case string(m.Content) != "null" && (!isText || blank):
			return errors.New("content must be a text that is not empty, or null")
		}
		return checkCalls(m.ToolCalls)
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func checkCalls(calls []ToolCall) error {
	seen := map[string]bool{}
	for _, c := range calls {
		var args map[string]any
		switch {
		case !goodID.MatchString(c.ID):
			return fmt.Errorf("the id %q of a call is too long or odd", c.ID)
		case seen[c.ID]:
			return fmt.Errorf("the id %q is there twice", c.ID)
		case c.Type != "function":
			return fmt.Errorf("type %q", c.Type)
		case !goodName.MatchString(c.Function.Name):
			return fmt.Errorf("name %q", c.Function.Name)
		case json.Unmarshal([]byte(c.Function.Arguments), &args) != nil || args == nil:
			return fmt.Errorf("arguments %q are no object in a string", c.Function.Arguments)
		}
		seen[c.ID] = true
	}
	return nil
}

// checkParts holds the parts of a user's message against what there is for them.
func checkParts(parts []Part) error {
	plain := true
	for i, p := range parts {
		set := 0
		for _, is := range []bool{p.Image != nil, p.Audio != nil, p.File != nil, p.Text != ""} {
			if is {
				set++
			}
		}
		var err error
		switch {
		case set != 1:
			err = errors.New("it must have exactly what its type says")
		case p.Type == "text" && strings.TrimSpace(p.Text) != "":
		case p.Type == "image_url" && p.Image != nil:
			err = checkData(p.Image.URL, "image/png", "image/jpeg", "image/webp", "image/gif")
		case p.Type == "input_audio" && p.Audio != nil:
			err = checkData("data:audio/"+p.Audio.Format+";base64,"+p.Audio.Data, "audio/wav", "audio/mp3")
		case p.Type == "file" && p.File != nil && p.File.Name != "":
			err = checkData(p.File.Data, "application/pdf")
		default:
			err = fmt.Errorf("type %q", p.Type)
		}
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		plain = plain && p.Type == "text"
	}
	if plain {
		return errors.New("content of text alone must be a string, some templates take no list")
	}
	return nil
}

// begins says how data of a type begins; a ? is any byte.
var begins = map[string][]string{
	"image/png":       {"\x89PNG\r\n\x1a\n"},
	"image/jpeg":      {"\xff\xd8\xff"},
	"image/webp":      {"RIFF????WEBPVP"},
	"image/gif":       {"GIF87a", "GIF89a"},
	"audio/wav":       {"RIFF????WAVE"},
	"audio/mp3":       {"ID3", "\xff\xfb", "\xff\xf3", "\xff\xf2", "\xff\xfa", "\xff\xe3", "\xff\xe2"},
	"application/pdf": {"%PDF-"},
}

func checkData(url string, types ...string) error {
	m := dataURL.FindStringSubmatch(url)
	if m == nil || !slices.Contains(types, m[1]) {
		return fmt.Errorf("no data of %v in %.40q", types, url)
	}
	data, err := base64.StdEncoding.DecodeString(m[2])
	if err == nil && !slices.ContainsFunc(begins[m[1]], func(start string) bool { return isLike(data, start) }) {
		err = fmt.Errorf("the data is no valid %s: it begins with %.12q", m[1], data)
	}
	return err
}

func isLike(data []byte, start string) bool {
	if len(data) < len(start) {
		return false
	}
	for i := range len(start) {
		if start[i] != '?' && data[i] != start[i] {
			return false
		}
	}
	return true
}

// checkReasoning sees that thoughts come back to servers that demand them, as they
// were, and go to no others.
func (s *Server) checkReasoning(messages []Message) error {
	for i, m := range messages {
		if m.Role != "assistant" {
			continue
		}
		thought := ""
		if len(m.ToolCalls) > 0 { // one for all calls of an answer
			thought = s.thoughts[m.ToolCalls[0].ID]
		}
		switch {
		case m.Reasoning != nil && s.manner.Reasoning != "reasoning_content":
			return fmt.Errorf("messages[%d]: property 'reasoning_content' is unsupported", i)
		case m.Details != nil && !s.manner.Details:
			return fmt.Errorf("messages[%d]: property 'reasoning_details' is unsupported", i)
		case s.manner.Demands && (m.Reasoning == nil || *m.Reasoning == ""): // Kimi K2.5 takes an empty one for none, but a blank
			return fmt.Errorf("messages[%d]: the reasoning_content in the thinking mode must be passed back to the API", i)
		case s.manner.Demands && thought != "" && *m.Reasoning != thought:
			return fmt.Errorf("messages[%d]: reasoning_content is %q, it was %q", i, *m.Reasoning, thought)
		}
		if want := `[{"format":"f","index":0,"signature":"sig of ` + thought + `","text":"` + thought + `","type":"reasoning.text"}]`; s.manner.Details && thought != "" && string(m.Details) != want {
			return fmt.Errorf("messages[%d]: reasoning_details are %s, they were %s", i, m.Details, want)
		}
	}
	return nil
}
