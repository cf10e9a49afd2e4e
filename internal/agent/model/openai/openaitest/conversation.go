package openaitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Item is an item of a conversation.
type Item struct {
	Type string
	Raw  json.RawMessage

	Role  string // of a message
	Phase string
	Parts []Part // of a message, or of a result

	ID        string // the item's own, where it has one
	CallID    string
	Name      string
	Arguments string
	Encrypted string
	Label     string // of a server
	Request   string // of an approval
	Approve   bool
	Reason    string
}

// Part is a part of a message or a result.
type Part struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL string  `json:"image_url"`
	Detail   string  `json:"detail"`
	Filename string  `json:"filename"`
	FileData string  `json:"file_data"`
}

var (
	imageURL = regexp.MustCompile(`^data:image/(png|jpeg|webp|gif);base64,([A-Za-z0-9+/]+=*)$`)
	fileURL  = regexp.MustCompile(`^data:application/(pdf);base64,([A-Za-z0-9+/]+=*)$`)
	// magic is how data of a type begins.
	magic = map[string]string{"png": "\x89PNG\r\n\x1a\n", "jpeg": "\xff\xd8\xff", "gif": "GIF8", "webp": "RIFF", "pdf": "%PDF-"}
)

// isData reports whether a URL holds data of the kind that it names.
func isData(form *regexp.Regexp, url string) bool {
	m := form.FindStringSubmatch(url)
	if m == nil {
		return false
	}
	data, err := base64.StdEncoding.DecodeString(m[2])
	return err == nil && bytes.HasPrefix(data, []byte(magic[m[1]])) && (m[1] != "webp" || len(data) >= 12 && string(data[8:12]) == "WEBP")
}

// readItem reads an item; each type knows only its own members.
func readItem(raw json.RawMessage) (*Item, error) {
	var kind struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	i := &Item{Type: kind.Type, Raw: raw}
	if i.Type == "" && kind.Role != "" {
		i.Type = "message"
	}
	switch i.Type {
	case "message":
		return i, i.message()
	case "function_call":
		var w struct {
			Type, ID, Status, Name, Arguments string
			CallID                            string `json:"call_id"`
		}
		err := decode(raw, &w)
		i.ID, i.CallID, i.Name, i.Arguments = w.ID, w.CallID, w.Name, w.Arguments
		return i, err
	case "function_call_output":
		return i, i.result()
	case "reasoning":
		return i, i.thought()
	case "mcp_approval_response":
		var w struct {
			Type    string
			ID      *string
			Request string `json:"approval_request_id"`
			Approve *bool
			Reason  *string
		}
		if err := decode(raw, &w); err != nil {
			return nil, err
		}
		if w.Approve == nil {
			return nil, errors.New("missing required parameter: 'approve'")
		}
		if i.Request, i.Approve = w.Request, *w.Approve; w.Reason != nil {
			i.Reason = *w.Reason
		}
		return i, nil
	case "mcp_list_tools", "mcp_call", "mcp_approval_request", "tool_search_call", "tool_search_output":
		var w struct {
			ID    string
			Label string `json:"server_label"`
		}
		err := json.Unmarshal(raw, &w)
		i.ID, i.Label = w.ID, w.Label
		return i, err
	}
	return nil, fmt.Errorf("invalid value: '%s'. Supported values are: 'message', 'function_call', …", i.Type)
}

func (i *Item) thought() error {
	var w struct {
		Type      string
		ID        *string
		Encrypted *string `json:"encrypted_content"`
		Summary   *[]struct {
			Type, Text string
		}
	}
	if err := decode(i.Raw, &w); err != nil {
		return err
	}
	if w.Encrypted != nil {
		i.Encrypted = *w.Encrypted
	}
	switch {
	case w.Summary == nil:
		return errors.New("missing required parameter: 'summary'")
	case w.ID != nil && (*w.ID == "" || len(*w.ID) > 64): // codex sends none
		return errors.New("invalid 'id': expected a string with 1 to 64 characters")
	case w.ID != nil:
		i.ID = *w.ID
	}
	return nil
}

func (i *Item) message() error {
	var w struct {
		Type, ID, Role, Status string
		Phase                  *string
		Content                json.RawMessage
	}
	if err := decode(i.Raw, &w); err != nil {
		return err
	}
	if i.ID, i.Role = w.ID, w.Role; w.Phase != nil {
		i.Phase = *w.Phase
	}
	allowed := []string{"input_text", "input_image", "input_file"}
	switch i.Role {
	case "user", "system", "developer":
	case "assistant":
		allowed = []string{"output_text"}
	default:
		return fmt.Errorf("invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'", i.Role)
	}
	if i.Phase != "" && (i.Role != "assistant" || i.Phase != "commentary" && i.Phase != "final_answer") {
		return fmt.Errorf("invalid phase '%s'", i.Phase)
	}
	return i.parts(w.Content, allowed)
}

func (i *Item) result() error {
	var w struct {
		Type, Status string
		ID           *string
		CallID       string `json:"call_id"`
		Output       json.RawMessage
	}
	if err := decode(i.Raw, &w); err != nil {
		return err
	}
	i.CallID = w.CallID
	return i.parts(w.Output, []string{"input_text", "input_image", "input_file"})
}

// parts reads text, or a list of parts.
func (i *Item) parts(raw json.RawMessage, allowed []string) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		i.Parts = []Part{{Type: allowed[0], Text: &text}}
		return nil
	}
	if err := decode(raw, &i.Parts); err != nil {
		return err
	}
	if len(i.Parts) == 0 {
		return fmt.Errorf("invalid content: empty array")
	}
	for _, p := range i.Parts {
		switch {
		case !slices.Contains(allowed, p.Type):
			return fmt.Errorf("invalid value: '%s'. Supported values are: %v", p.Type, allowed)
		case (p.Type == "input_text" || p.Type == "output_text") && (p.Text == nil || p.ImageURL+p.FileData != ""):
			return fmt.Errorf("missing required parameter: 'text'")
		case p.Type == "input_image" && (!isData(imageURL, p.ImageURL) || p.Text != nil):
			return fmt.Errorf("invalid image: expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,…')")
		case p.Type == "input_file" && (!isData(fileURL, p.FileData) || p.Text != nil):
			return fmt.Errorf("invalid file_data")
		case p.Type == "input_file" && !strings.EqualFold(path.Ext(p.Filename), ".pdf"):
			return fmt.Errorf("Invalid input: Expected context stuffing file type to be a supported format: .pdf but got %q", path.Ext(p.Filename)) //nolint:staticcheck // the service's words
		}
	}
	return nil
}

// blank reports whether an item is a message that says nothing.
func (i *Item) blank() bool {
	return i.Type == "message" && !slices.ContainsFunc(i.Parts, func(p Part) bool { return p.Text == nil || strings.TrimSpace(*p.Text) != "" })
}

// conversation holds the items of a request against the rules.
type conversation struct {
	request *Request
	said    map[string]json.RawMessage
	leads   map[string]string // from what was said to the thoughts right before it
	stored  bool

	calls, results, asked, answered map[string]int
}

func (c *conversation) check() error {
	c.calls, c.results, c.asked, c.answered = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	items := c.request.Items
	if !slices.ContainsFunc(items, func(i *Item) bool { return !i.blank() }) {
		return refuse("input", "Invalid 'input': all of it is blank.")
	}
	for n, i := range items {
		if blind.MatchString(c.request.Model) && slices.ContainsFunc(i.Parts, func(p Part) bool { return p.Type == "input_image" || p.Type == "input_file" }) {
			return &refusal{param: "input", message: "Model '" + c.request.Model + "' does not support image inputs. Try again with a vision model.", expected: true}
		}
		var err error
		switch i.Type {
		case "function_call":
			err = c.call(i)
		case "function_call_output":
			if c.results[i.CallID]++; c.calls[i.CallID] == 0 || c.results[i.CallID] > 1 {
				err = refuse("input", "No tool call found for function call output with call_id %s.", i.CallID)
			}
		case "reasoning":
			err = c.thought(i, items[n+1:])
		case "mcp_approval_response":
			if c.answered[i.Request]++; c.asked[i.Request] == 0 || c.answered[i.Request] > 1 {
				err = refuse("input", "No approval request found with id %s.", i.Request)
			}
		case "mcp_list_tools", "mcp_call", "mcp_approval_request", "tool_search_call", "tool_search_output":
			err = c.own(i)
		case "message":
			if i.ID != "" && c.said[i.ID] == nil {
				err = refuse("input", "Item with id '%s' not found.", i.ID)
			}
		}
		if err != nil {
			return err
		}
	}
	for id := range c.calls {
		if c.results[id] == 0 {
			return refuse("input", "No tool output found for function call %s.", id)
		}
	}
	for id := range c.asked {
		if c.answered[id] == 0 {
			return refuse("input", "No approval response found for approval request %s.", id)
		}
	}
	return nil
}

func (c *conversation) call(i *Item) error {
	switch c.calls[i.CallID]++; {
	case !nameRule.MatchString(i.CallID):
		return refuse("input", "Invalid 'input.call_id': %q", i.CallID)
	case c.calls[i.CallID] > 1:
		return refuse("input", "Duplicate call_id %s", i.CallID)
	case !nameRule.MatchString(i.Name):
		return refuse("input", "Invalid 'input.name': string does not match pattern.")
	case !json.Valid([]byte(i.Arguments)):
		return refuse("input", "Invalid 'input.arguments'")
	case i.ID != "" && c.said[i.ID] == nil:
		return refuse("input", "Item with id '%s' not found.", i.ID)
	}
	return nil
}

// thought sees that thoughts are the service's own and lead to something.
func (c *conversation) thought(i *Item, after []*Item) error {
	switch {
	case !thinks.MatchString(c.request.Model):
		return &refusal{param: "input", message: "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.", expected: true}
	case i.Encrypted == "" && !c.stored:
		return refuse("input", "Item with id '%s' not found. Items are not persisted when `store` is set to false.", i.ID)
	case !c.sealed(i):
		return &refusal{param: "input", code: "invalid_encrypted_content", message: "The encrypted content could not be verified.", expected: true}
	}
	for _, next := range after {
		switch {
		case next.Type == "reasoning":
			continue
		case next.Type == "message" && next.Role != "assistant", next.Type == "function_call_output", next.Type == "mcp_approval_response":
		default:
			return nil
		}
		break
	}
	return refuse("input", "Item '%s' of type 'reasoning' was provided without its required following item.", i.ID)
}

// sealed reports whether thoughts hold what the service has said.
func (c *conversation) sealed(i *Item) bool {
	for id, raw := range c.said {
		var known struct {
			Encrypted string `json:"encrypted_content"`
		}
		if (i.ID == "" || i.ID == id) && json.Unmarshal(raw, &known) == nil && known.Encrypted != "" && known.Encrypted == i.Encrypted {
			return true
		}
	}
	return false
}

// own sees that an item of the service's own tools is what it said, and that the
// tool is declared.
func (c *conversation) own(i *Item) error {
	declared := slices.ContainsFunc(c.request.Tools, func(t *Tool) bool {
		return i.Label != "" && t.ServerLabel == i.Label || i.Label == "" && t.Type == "tool_search"
	})
	var is, was bytes.Buffer
	if json.Compact(&is, i.Raw) != nil || c.said[i.ID] == nil || json.Compact(&was, c.said[i.ID]) != nil || is.String() != was.String() {
		return refuse("input", "Item '%s' of type '%s' is not the one that was said", i.ID, i.Type)
	}
	if !declared {
		return refuse("input", "Item '%s' of type '%s' belongs to no tool of the request", i.ID, i.Type)
	}
	if led := c.leads[i.ID]; led != "" && !slices.ContainsFunc(c.request.Items, func(other *Item) bool { return other.Type == "reasoning" && (other.ID == led || other.ID == "") }) {
		return refuse("input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", i.ID, i.Type, led)
	}
	if i.Type == "mcp_approval_request" {
		c.asked[i.ID]++
	}
	return nil
}
