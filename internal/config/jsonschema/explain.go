package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bounds of what is said: it repeats what somebody wrote, which may be
// anything.
const (
	maxProblems  = 20
	maxBytes     = 4096
	maxNames     = 30 // of arguments or of allowed values
	maxValueText = 80 // bytes of one value or name
)

// bounded joins sentences, sorted, so that the same value always gets the same
// answer. Those that are too many are counted.
func bounded(lines []string) string {
	const between, more = "; ", "and %d more problems"
	slices.Sort(lines)
	lines = slices.Compact(lines)
	left := maxBytes - len(between) - len(fmt.Sprintf(more, len(lines)))
	shown := 0
	for shown < min(len(lines), maxProblems) && len(lines[shown])+len(between) <= left {
		left -= len(lines[shown]) + len(between)
		shown++
	}
	said := slices.Clone(lines[:shown])
	if shown == 0 {
		said, shown = []string{head(lines[0], left-len("..."))}, 1
	}
	if n := len(lines) - shown; n > 0 {
		said = append(said, fmt.Sprintf(more, n))
	}
	return strings.Join(said, between)
}

const notAllowed = "not allowed here"

// findings gives one line per problem at the leaves of err.
func (c *checker) findings(err *jsonschema.ValidationError) []string {
	at := err.InstanceLocation
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(err.Causes) > 0 {
			return []string{c.alternatives(err)}
		}
	case *kind.Required:
		return c.eachName(at, k.Missing, "missing")
	case *kind.DependentRequired:
		return c.eachName(at, k.Missing, "missing, since "+name(k.Prop)+" is given")
	case *kind.AdditionalProperties:
		if len(at) == 0 {
			return c.eachName(at, k.Properties, c.unknown())
		}
		return c.eachName(at, k.Properties, notAllowed)
	case *kind.FalseSchema:
		return []string{c.subject(at) + ": not allowed"}
	}
	if len(err.Causes) == 0 {
		return []string{c.subject(at) + ": " + reason(err.ErrorKind)}
	}
	var lines []string
	for _, cause := range err.Causes {
		lines = append(lines, c.findings(cause)...)
	}
	return lines
}

// alternatives says why a value has none of the forms that it may have.
func (c *checker) alternatives(err *jsonschema.ValidationError) string {
	own := c.subject(err.InstanceLocation) + ": "
	var forms []string
	for _, cause := range err.Causes {
		lines := c.findings(cause)
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, own)
		}
		slices.Sort(lines)
		forms = append(forms, strings.Join(lines, " and "))
	}
	return own + strings.Join(slices.Compact(forms), ", or ")
}

// unknown is said of a part at the top that there is not.
func (c *checker) unknown() string {
	if c.Tool == "" {
		return notAllowed
	}
	text := "not an argument of " + c.Tool
	if len(c.names) == 0 {
		return text + ", which takes none"
	}
	return text + ", its arguments are " + list(c.names, name)
}

// eachName gives a line for every key of the object at a place.
func (o *Options) eachName(at, keys []string, text string) []string {
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		lines = append(lines, o.subject(append(slices.Clip(at), key))+": "+text)
	}
	return lines
}

// subject names a place: "argument a.b[0]".
func (o *Options) subject(at []string) string {
	if len(at) == 0 {
		return o.Whole
	}
	var b strings.Builder
	b.WriteString(o.Part)
	for i, key := range at {
		switch _, err := strconv.ParseUint(key, 10, 32); {
		case err == nil && i > 0:
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + name(key))
		default:
			b.WriteString(name(key))
		}
	}
	return b.String()
}

// reason says what a value must be, and what it is.
func reason(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return fmt.Sprintf("must be one of %s, got %s", list(k.Want, value), value(k.Got))
	case *kind.Const:
		return fmt.Sprintf("must be %s, got %s", value(k.Want), value(k.Got))
	case *kind.Minimum:
		return fmt.Sprintf("must be >= %s, got %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("must be <= %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("must be > %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("must be < %s, got %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("must be a multiple of %s, got %s", number(k.Want), number(k.Got))
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.Pattern:
		return fmt.Sprintf("must match the pattern %s, got %s", k.Want, value(k.Got))
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got)
	case *kind.RefCycle:
		return "cannot be checked, the schema refers to itself in circles"
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got)
	}
	return clip(k.LocalizedString(message.NewPrinter(language.English)))
}

// list writes the first few of vs.
func list[T any](vs []T, write func(T) string) string {
	var texts []string
	for _, v := range vs[:min(len(vs), maxNames)] {
		texts = append(texts, write(v))
	}
	if len(vs) > maxNames {
		texts = append(texts, "...")
	}
	return strings.Join(texts, ", ")
}

// value writes a value as JSON.
func value(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "a value"
	}
	return clip(strings.TrimSuffix(b.String(), "\n"))
}

// number writes r as a decimal.
func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// name writes the name of a part, quoted when it is an odd one.
func name(s string) string {
	odd := func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		s = strconv.Quote(s)
	}
	return clip(s)
}

// clip shortens one value's text.
func clip(s string) string {
	return head(strings.ToValidUTF8(s, string(utf8.RuneError)), maxValueText)
}

// head gives the first n bytes of a text, whole characters only, and dots if
// there is more.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
