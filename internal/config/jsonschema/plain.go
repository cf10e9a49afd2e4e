package jsonschema

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plain is a schema that uses only the few keywords that most arguments need.
// It says yes faster than the validator, which computes with fractions of any
// size and counts every step; where plain is not sure the validator decides,
// and only the validator says what is wrong.
type plain struct {
	kind       string            // object, array, string, integer or boolean
	properties map[string]*plain // of an object
	required   []string
	closed     bool // no other properties
	items      *plain
	min, max   int64 // of an integer, or of a string's length in characters
	enum       []string
	pattern    jsonschema.Regexp
}

// plainKeywords are the fields of a compiled schema that newPlain looks at or
// that say nothing about a value. Any other one that is set, of this version
// of the library or of a later one, makes a schema not plain.
var plainKeywords = []string{
	"DraftVersion", "Location", "Types", "Title", "Description", "Default", "Examples", "Comment",
	"Properties", "Required", "AdditionalProperties", "Items2020",
	"Minimum", "Maximum", "MinLength", "MaxLength", "Enum", "Pattern",
}

// newPlain gives nil for a schema that is not plain.
func newPlain(s *jsonschema.Schema) *plain {
	if s == nil || s.DraftVersion < 2020 || s.Types == nil || hasOther(s) {
		return nil
	}
	types := s.Types.ToStrings()
	if len(types) != 1 {
		return nil
	}
	p := &plain{kind: types[0], min: math.MinInt64, max: math.MaxInt64, required: s.Required, pattern: s.Pattern}
	ok := p.kind == "boolean"
	switch p.kind {
	case "object":
		ok = p.setProperties(s)
	case "array":
		p.items = newPlain(s.Items2020)
		ok = p.items != nil
	case "string":
		p.setLength(s)
		ok = true
	case "integer":
		ok = p.setRange(s)
	}
	if !ok || !p.setEnum(s) {
		return nil
	}
	return p
}

// hasOther reports whether s uses a keyword that is not in plainKeywords.
func hasOther(s *jsonschema.Schema) bool {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		f := fields.Type().Field(i)
		if f.IsExported() && !fields.Field(i).IsZero() && !slices.Contains(plainKeywords, f.Name) {
			return true
		}
	}
	return false
}

func (p *plain) setProperties(s *jsonschema.Schema) bool {
	open, ok := s.AdditionalProperties.(bool)
	p.closed = ok && !open
	if !ok && s.AdditionalProperties != nil {
		return false
	}
	p.properties = make(map[string]*plain, len(s.Properties))
	for name, property := range s.Properties {
		p.properties[name] = newPlain(property)
		if p.properties[name] == nil {
			return false
		}
	}
	return true
}

func (p *plain) setLength(s *jsonschema.Schema) {
	if s.MinLength != nil {
		p.min = int64(*s.MinLength)
	}
	if s.MaxLength != nil {
		p.max = int64(*s.MaxLength)
	}
}

func (p *plain) setRange(s *jsonschema.Schema) bool {
	low, lowOK := whole(s.Minimum, p.min)
	high, highOK := whole(s.Maximum, p.max)
	p.min, p.max = low, high
	return lowOK && highOK
}

// whole gives a bound as a number that fits, or otherwise where there is none.
func whole(bound *big.Rat, otherwise int64) (int64, bool) {
	if bound == nil {
		return otherwise, true
	}
	return bound.Num().Int64(), bound.IsInt() && bound.Num().IsInt64()
}

func (p *plain) setEnum(s *jsonschema.Schema) bool {
	if s.Enum == nil {
		return true
	}
	for _, v := range s.Enum.Values {
		text, ok := v.(string)
		if !ok || p.kind != "string" {
			return false
		}
		p.enum = append(p.enum, text)
	}
	return true
}

// accepts reports whether v surely fits. Keywords for one kind say nothing of
// the others, so each kind looks at its own only.
func (p *plain) accepts(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return p.kind == "object" && p.acceptsObject(v)
	case []any:
		return p.kind == "array" && !slices.ContainsFunc(v, func(e any) bool { return !p.items.accepts(e) })
	case string:
		return p.kind == "string" && p.acceptsString(v)
	case json.Number:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return p.kind == "integer" && err == nil && p.min <= n && n <= p.max
	case bool:
		return p.kind == "boolean"
	}
	return false
}

func (p *plain) acceptsObject(v map[string]any) bool {
	for _, name := range p.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	for name, e := range v {
		property, known := p.properties[name]
		if known && !property.accepts(e) || !known && p.closed {
			return false
		}
	}
	return true
}

func (p *plain) acceptsString(v string) bool {
	n := int64(utf8.RuneCountInString(v))
	return p.min <= n && n <= p.max &&
		(p.enum == nil || slices.Contains(p.enum, v)) &&
		(p.pattern == nil || p.pattern.MatchString(v))
}
