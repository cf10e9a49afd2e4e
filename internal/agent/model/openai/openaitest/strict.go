package openaitest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// body is a request; what is not here the service does not know.
type body struct {
	Model             string            `json:"model"`
	Input             []json.RawMessage `json:"input"`
	Instructions      *string           `json:"instructions"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	Text              *textConfig       `json:"text"`
	Reasoning         *reasoning        `json:"reasoning"`
	Include           []string          `json:"include"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
	Stream            bool              `json:"stream"`
	Store             *bool             `json:"store"`
	Metadata          map[string]string `json:"metadata"`
	ServiceTier       *string           `json:"service_tier"`
	Truncation        *string           `json:"truncation"`
	User              *string           `json:"user"`
	SafetyIdentifier  *string           `json:"safety_identifier"`
	PromptCacheKey    *string           `json:"prompt_cache_key"`
	TopLogprobs       *int              `json:"top_logprobs"`
	StreamOptions     map[string]bool   `json:"stream_options"`
	MaxToolCalls      *int              `json:"max_tool_calls"`
}

type textConfig struct {
	Format    *format `json:"format"`
	Verbosity *string `json:"verbosity"`
}

type format struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// Tool is one of the tools of a request.
type Tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`

	ServerLabel       string            `json:"server_label"`
	ServerDescription string            `json:"server_description"`
	ServerURL         string            `json:"server_url"`
	ConnectorID       string            `json:"connector_id"`
	Headers           map[string]string `json:"headers"`
	Authorization     string            `json:"authorization"`
	AllowedTools      []string          `json:"allowed_tools"`
	RequireApproval   json.RawMessage   `json:"require_approval"`
	DeferLoading      bool              `json:"defer_loading"`
}

var (
	nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	thinks   = regexp.MustCompile(`^(o[0-9]|gpt-[5-9])`)
	// unformed are models that are held to no schema, blind ones that take no images.
	unformed = regexp.MustCompile(`^(gpt-3\.5|gpt-4(-0613|-turbo|$)|gpt-4o-2024-05-13|gpt-5-chat|o\d.*-deep-research)`)
	blind    = regexp.MustCompile(`^(gpt-3\.5|gpt-4(-0613|$)|o3-mini)`)
	includes = []string{"reasoning.encrypted_content", "message.output_text.logprobs", "file_search_call.results", "message.input_image.image_url", "code_interpreter_call.outputs"}
)

// efforts are the words for thinking that the models of a name take ("Reasoning
// models", and the models' own pages); the first name that fits counts.
var efforts = []struct {
	name  *regexp.Regexp
	words string
}{
	{regexp.MustCompile(`deep-research`), "medium"},
	{regexp.MustCompile(`^gpt-7`), "low medium"}, // one that nobody has heard of
	{regexp.MustCompile(`^gpt-6`), "low medium high xhigh max"},
	{regexp.MustCompile(`^gpt-5-pro`), "high"},
	{regexp.MustCompile(`^gpt-5(-(mini|nano))?(-20\d\d-\d\d-\d\d)?$`), "minimal low medium high"},
	{regexp.MustCompile(`^gpt-5\.1(-20\d\d-\d\d-\d\d)?$`), "none low medium high"},
	{regexp.MustCompile(`^gpt-5\.\d`), "none low medium high xhigh"},
	{regexp.MustCompile(`^(o\d|gpt-5)`), "low medium high"},
}

// checkEffort sees that the model takes a word for thinking.
func checkEffort(model, effort string) error {
	for _, e := range efforts {
		if !e.name.MatchString(model) {
			continue
		}
		if words := strings.Fields(e.words); !slices.Contains(words, effort) {
			return &refusal{
				param: "reasoning.effort", code: "unsupported_value",
				message:  "Unsupported value: '" + effort + "' is not supported with the '" + model + "' model. Supported values are: '" + strings.Join(words, "', '") + "'.",
				expected: strings.HasPrefix(model, "gpt-7"),
			}
		}
		return nil
	}
	return &refusal{param: "reasoning.effort", code: "unsupported_parameter", message: "Unsupported parameter: 'reasoning.effort' is not supported with this model."}
}

// decode reads JSON, keeps numbers as they are written and refuses members that the
// value does not have.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// check reads a request and holds it against the service's rules.
func (s *Server) check(r *Request) error {
	var b body
	if err := decode(r.Body, &b); err != nil {
		return refuse("", "Unknown parameter or invalid value: %v", err)
	}
	r.Model, r.Include, r.Stream = b.Model, b.Include, b.Stream
	if b.Instructions != nil {
		r.Instructions = *b.Instructions
	}
	for _, err := range []error{checkSettings(r, &b), s.checkVerified(&b), checkFormat(r, b.Text), checkTools(r, b.Tools)} {
		if err != nil {
			return err
		}
	}
	if len(b.Input) == 0 {
		return refuse("input", "Missing required parameter: 'input'.")
	}
	for i, raw := range b.Input {
		item, err := readItem(raw)
		if err != nil {
			return refuse("input", "input[%d]: %v", i, err)
		}
		r.Items = append(r.Items, item)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := b.Store == nil || *b.Store
	return (&conversation{request: r, said: s.said, leads: s.leads, stored: stored}).check()
}

func checkSettings(r *Request, b *body) error {
	within := func(v *float64, top float64) bool { return v == nil || *v >= 0 && *v <= top }
	mind := thinks.MatchString(b.Model)
	switch {
	case b.Model == "":
		return refuse("model", "Missing required parameter: 'model'.")
	case !within(b.Temperature, 2), !within(b.TopP, 1):
		return refuse("temperature", "Invalid 'temperature' or 'top_p': decimal above maximum value.")
	case b.Temperature != nil && mind:
		return refuse("temperature", "Unsupported parameter: 'temperature' is not supported with this model.")
	case b.MaxOutputTokens != nil && *b.MaxOutputTokens < 16:
		return refuse("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.")
	case b.Instructions != nil && *b.Instructions == "":
		return refuse("instructions", "instructions are empty")
	}
	for _, i := range b.Include {
		if !slices.Contains(includes, i) {
			return refuse("include", "Invalid value: '%s'.", i)
		}
		if i == "reasoning.encrypted_content" && !mind {
			return &refusal{param: "include", message: "Encrypted content is not supported with this model.", expected: true}
		}
	}
	if b.Reasoning == nil {
		return nil
	}
	if e := b.Reasoning.Effort; e != nil {
		r.Effort = *e
		if err := checkEffort(b.Model, *e); err != nil {
			return err
		}
	}
	if sum := b.Reasoning.Summary; sum != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *sum) {
		return refuse("reasoning.summary", "Invalid value: '%s'.", *sum)
	}
	return nil
}

// checkVerified refuses what only verified organizations may have. Nothing tells the
// client beforehand.
func (s *Server) checkVerified(b *body) error {
	refused := func(param, what string) error {
		return &refusal{param: param, code: "unsupported_value", message: "Your organization must be verified to " + what + ".", expected: true}
	}
	switch {
	case !s.Unverified || !thinks.MatchString(b.Model):
		return nil
	case b.Reasoning != nil && b.Reasoning.Summary != nil:
		return refused("reasoning.summary", "generate reasoning summaries")
	case b.Stream:
		return refused("stream", "stream this model")
	}
	return nil
}

func checkFormat(r *Request, t *textConfig) error {
	if t == nil || t.Format == nil {
		return nil
	}
	f := t.Format
	switch f.Type {
	case "text", "json_object":
		return nil
	case "json_schema":
	default:
		return refuse("text.format.type", "Invalid value: '%s'.", f.Type)
	}
	if unformed.MatchString(r.Model) {
		return &refusal{message: "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `" + r.Model + "`.", expected: true}
	}
	r.Schema, r.Strict = f.Schema, f.Strict != nil && *f.Strict
	if !nameRule.MatchString(f.Name) {
		return refuse("text.format.name", "Invalid 'text.format.name': string does not match pattern.")
	}
	if err := CheckSchema(f.Schema, r.Strict); err != nil {
		return refuse("text.format.schema", "Invalid schema for response_format '%s': %v", f.Name, err)
	}
	return nil
}

func checkTools(r *Request, raws []json.RawMessage) error {
	if len(raws) > 128 {
		return refuse("tools", "Invalid 'tools': array too long. Expected an array with maximum length 128.")
	}
	names := map[string]bool{}
	deferred, search := false, false
	for i, raw := range raws {
		t := &Tool{}
		if err := decode(raw, t); err != nil {
			return refuse("tools", "tools[%d]: %v", i, err)
		}
		r.Tools = append(r.Tools, t)
		var err error
		switch t.Type {
		case "function":
			err = checkFunction(t)
		case "mcp":
			deferred = deferred || t.DeferLoading
			err = checkMCP(t)
		case "tool_search":
			search = true
			if string(raw) != `{"type":"tool_search"}` {
				err = refuse("tools", "Unknown parameter of tool_search")
			}
		default:
			err = refuse("tools", "Invalid value: '%s'.", t.Type)
		}
		if err != nil {
			return err
		}
		key := t.Type + t.Name + t.ServerLabel
		if names[key] {
			return refuse("tools", "Duplicate tool %s", key)
		}
		names[key] = true
	}
	if deferred != search {
		return refuse("tools", "tool_search and deferred tools go together")
	}
	return nil
}

func checkFunction(t *Tool) error {
	if t.ServerLabel+t.ServerURL+t.ConnectorID+t.Authorization != "" || t.DeferLoading {
		return refuse("tools", "Unknown parameter of the function %s", t.Name)
	}
	if !nameRule.MatchString(t.Name) {
		return refuse("tools", "Invalid 'tools.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
	}
	if err := CheckSchema(t.Parameters, t.Strict == nil || *t.Strict); err != nil {
		return &refusal{param: "tools", code: "invalid_function_parameters", message: "Invalid schema for function '" + t.Name + "': " + err.Error()}
	}
	return nil
}

func checkMCP(t *Tool) error {
	switch {
	case t.Name != "" || t.Parameters != nil || t.Strict != nil:
		return refuse("tools", "Unknown parameter of the server %s", t.ServerLabel)
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`).MatchString(t.ServerLabel):
		return refuse("tools", "Invalid server_label")
	case (t.ServerURL == "") == (t.ConnectorID == ""):
		return refuse("tools", "One of server_url or connector_id must be provided")
	case t.ServerURL != "" && !strings.HasPrefix(t.ServerURL, "https://"):
		return refuse("tools", "server_url must be https")
	}
	var word string
	if json.Unmarshal(t.RequireApproval, &word) == nil {
		if word != "always" && word != "never" {
			return refuse("tools", "Invalid require_approval '%s'", word)
		}
		return nil
	}
	type filter struct {
		ToolNames []string `json:"tool_names"`
	}
	var filters struct{ Always, Never *filter }
	if t.RequireApproval != nil && decode(t.RequireApproval, &filters) != nil {
		return refuse("tools", "Invalid require_approval")
	}
	return nil
}
