package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// property is a field of a form as JSON Schema, in what MCP lets it be
// (client/elicitation, PrimitiveSchemaDefinition).
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`
	choices
	Items *choices `json:"items"`
}

// choices are what may be chosen: values, with titles or without.
type choices struct {
	Enum      []string `json:"enum"`
	EnumNames []string `json:"enumNames"` // before MCP 2025-11-25
	OneOf     []option `json:"oneOf"`
	AnyOf     []option `json:"anyOf"`
}

type option struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

// list gives the options in one form, each with a title.
func (c *choices) list() []option {
	all := slices.Concat(c.OneOf, c.AnyOf)
	for i, v := range c.Enum {
		o := option{Value: v}
		if i < len(c.EnumNames) {
			o.Title = c.EnumNames[i]
		}
		all = append(all, o)
	}
	for i := range all {
		if all[i].Title == "" {
			all[i].Title = all[i].Value
		}
	}
	return all
}

// field is one field of a form.
type field struct {
	property
	name     string
	required bool
	options  []option // of a choice, or of several
	preset   string   // the default as somebody would type it
}

func newField(name string, text json.RawMessage, required bool) (*field, error) {
	f := &field{name: name, required: required}
	if err := json.Unmarshal(text, &f.property); err != nil {
		return nil, fmt.Errorf("field %q: %w", name, err)
	}
	switch f.Type {
	case "string":
		f.options = f.list()
	case "array":
		if f.Items != nil {
			f.options = f.Items.list()
		}
		if len(f.options) == 0 {
			return nil, fmt.Errorf("field %q: a list of anything but choices", name)
		}
	case "integer", "number", "boolean":
	default:
		return nil, fmt.Errorf("field %q: of type %q", name, f.Type)
	}
	f.setPreset()
	return f, nil
}

// setPreset takes the default if it is one that might have been typed.
func (f *field) setPreset() {
	var text string
	var list []string
	switch {
	case f.Default == nil:
		return
	case f.Type == "array" && json.Unmarshal(f.Default, &list) == nil:
		text = strings.Join(list, ",")
	case f.Type == "string" && json.Unmarshal(f.Default, &text) == nil:
	default:
		text = string(f.Default)
	}
	if value, err := f.parse(text); err == nil && (text != "" || string(value) == "[]") {
		f.preset, f.Default = text, value
		return
	}
	f.Default = nil
}

// label is what people call the field, on one line.
func (f *field) label() string {
	label := f.name
	if f.Title != "" {
		label = f.Title
	}
	return oneLine(label)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// freeText reports whether whatever is typed may be meant.
func (f *field) freeText() bool { return f.Type == "string" && f.options == nil }

// wanted says what the field takes.
func (f *field) wanted() string {
	switch {
	case f.Type == "boolean":
		return "y or n"
	case f.Type == "integer":
		return "a whole number" + bounds(f.Minimum, f.Maximum)
	case f.Type == "number":
		return "a number" + bounds(f.Minimum, f.Maximum)
	case f.Type == "array":
		return "numbers of choices such as 1,2" + counted(f.MinItems, f.MaxItems, "choices")
	case f.options != nil:
		return fmt.Sprintf("a number from 1 to %d", len(f.options))
	}
	what, ok := map[string]string{
		"email": "an e-mail address", "uri": "a URL", "date": "a date such as 2026-12-31",
		"date-time": "a date and time such as 2026-12-31T23:59:00Z",
	}[f.Format]
	if !ok {
		what = "text"
	}
	return what + counted(f.MinLength, f.MaxLength, "characters")
}

// prompt is what stands before what is typed.
func (f *field) prompt() string {
	text := "  " + f.wanted()
	switch {
	case f.Type == "boolean" && f.Default != nil:
		text += " [" + map[bool]string{true: "y", false: "n"}[string(f.Default) == "true"] + "]"
	case f.Default != nil:
		text += " [" + oneLine(f.preset) + "]"
	case !f.required:
		text += " (optional)"
	}
	return text + ": "
}

func bounds(low, high *float64) string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case low != nil && high != nil:
		return " from " + number(*low) + " to " + number(*high)
	case low != nil:
		return " from " + number(*low)
	case high != nil:
		return " up to " + number(*high)
	}
	return ""
}

func counted(low, high *int, what string) string {
	switch {
	case low != nil && *low > 0 && high != nil:
		return fmt.Sprintf(", %d to %d %s", *low, *high, what)
	case low != nil && *low > 0:
		return fmt.Sprintf(", at least %d %s", *low, what)
	case high != nil:
		return fmt.Sprintf(", at most %d %s", *high, what)
	}
	return ""
}

var errWrong = errors.New("not what the field takes")

// parse makes the field's value of text that names it. A choice is named by its
// value or its title, several with commas between.
func (f *field) parse(text string) (json.RawMessage, error) {
	switch {
	case f.Type == "boolean":
		return parseBool(text)
	case f.Type == "integer" || f.Type == "number":
		return f.parseNumber(text)
	case f.Type == "array":
		return f.parseList(text, f.value)
	case f.options != nil:
		value, ok := f.value(text)
		return quoted(value, ok)
	}
	return quoted(text, f.fits(text))
}

// typed makes the field's value of what a person typed, who sees the choices
// with numbers.
func (f *field) typed(text string) (json.RawMessage, error) {
	byNumber := func(text string) (string, bool) {
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.options) {
			return f.options[n-1].Value, true
		}
		return f.value(text)
	}
	switch {
	case f.Type == "array":
		return f.parseList(text, byNumber)
	case f.options != nil:
		value, ok := byNumber(text)
		return quoted(value, ok)
	}
	return f.parse(text)
}

// value finds a choice.
func (f *field) value(text string) (string, bool) {
	i := slices.IndexFunc(f.options, func(o option) bool { return o.Value == text })
	if i < 0 {
		i = slices.IndexFunc(f.options, func(o option) bool { return strings.EqualFold(o.Title, text) })
	}
	if i < 0 {
		return "", false
	}
	return f.options[i].Value, true
}

func (f *field) parseList(text string, find func(string) (string, bool)) (json.RawMessage, error) {
	chosen := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		value, ok := find(part)
		if !ok {
			return nil, errWrong
		}
		if !slices.Contains(chosen, value) {
			chosen = append(chosen, value)
		}
	}
	if !within(len(chosen), f.MinItems, f.MaxItems) {
		return nil, errWrong
	}
	return json.Marshal(chosen)
}

func (f *field) parseNumber(text string) (json.RawMessage, error) {
	var number json.Number
	if err := json.Unmarshal([]byte(text), &number); err != nil || strings.HasPrefix(text, `"`) || text == "null" {
		return nil, errWrong
	}
	if _, err := number.Int64(); err != nil && f.Type == "integer" {
		return nil, errWrong
	}
	n, err := number.Float64()
	if err != nil || f.Minimum != nil && n < *f.Minimum || f.Maximum != nil && n > *f.Maximum {
		return nil, errWrong
	}
	return json.RawMessage(number), nil
}

// fits reports whether free text has the length and the format that are wanted.
func (f *field) fits(text string) bool {
	var err error
	switch f.Format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = errWrong
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errWrong
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err == nil && utf8.ValidString(text) && within(utf8.RuneCountInString(text), f.MinLength, f.MaxLength)
}

func within(n int, low, high *int) bool {
	return (low == nil || n >= *low) && (high == nil || n <= *high)
}

func parseBool(text string) (json.RawMessage, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return json.RawMessage("true"), nil
	case "n", "no", "false":
		return json.RawMessage("false"), nil
	}
	return nil, errWrong
}

func quoted(text string, ok bool) (json.RawMessage, error) {
	if !ok {
		return nil, errWrong
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
