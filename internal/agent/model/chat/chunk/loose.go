package chunk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// The types of this file read members that servers give in several forms. What is of
// none of them counts as not given, since it says nothing that is of use to us.

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// text is a string.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// number is a whole number, as a text too, or with a fraction of nothing.
type number struct {
	is  int
	set bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if is := int(f); err == nil && float64(is) == f {
		n.is, n.set = is, true
	}
	return nil
}

// object is an object; nil for none.
type object[T any] struct{ is *T }

// UnmarshalJSON implements [json.Unmarshaler].
func (o *object[T]) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return nil
	}
	o.is = new(T)
	return json.Unmarshal(raw, o.is)
}

// list is a list of objects; a single object is a list of one.
type list[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(raw []byte) error {
	var all []object[T]
	switch raw[0] {
	case '[':
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
	case '{':
		all = make([]object[T], 1)
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			return err
		}
	default:
		return nil
	}
	*l = make(list[T], 0, len(all))
	for _, o := range all {
		if o.is != nil {
			*l = append(*l, *o.is)
		}
	}
	return nil
}

// details are a list of anything.
type details []json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (d *details) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		return nil
	}
	return json.Unmarshal(raw, (*[]json.RawMessage)(d))
}

// arguments are a string of JSON or a piece of it, or JSON itself.
type arguments string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(a))
	case isSet(raw) && string(raw) != "[]": // an object without members, as PHP writes it
		*a = arguments(raw)
	}
	return nil
}

// content is a string, or parts of text, of thinking (Mistral, "reasoning") and of
// images.
type content struct {
	text, thought string
	images        []address
}

type part struct {
	Text     text    `json:"text"`
	Thinking content `json:"thinking"`
	Image    address `json:"image_url"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts list[part]
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var said, thoughts strings.Builder
	for i := range parts {
		said.WriteString(string(parts[i].Text))
		thoughts.WriteString(parts[i].Thinking.text)
		if at := parts[i].Image; at != "" {
			c.images = append(c.images, at)
		}
	}
	c.text, c.thought = said.String(), thoughts.String()
	return nil
}
