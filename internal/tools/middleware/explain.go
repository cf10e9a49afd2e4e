package middleware

import (
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

// Bounds of a message to the model: it repeats what the model wrote, which may
// be anything.
const (
	maxProblems  = 20
	maxNames     = 30 // of arguments or of allowed values
	maxValueText = 80 // bytes of one value or name
)

// explain turns the validator's findings into sentences, sorted, so that the
// same call always gives the same answer.
func (c *checker) explain(err *jsonschema.ValidationError) string {
	lines := c.findings(err)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if n := len(lines) - maxProblems; n > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more problems", n))
	}
	return cut(strings.Join(lines, "; "), maxErrorBytes)
}

// findings gives one line per problem at the leaves of err.
func (c *checker) findings(err *jsonschema.ValidationError) []string {
	at := err.InstanceLocation
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(err.Causes) > 0 {
			return []string{c.alternatives(err)}
		}
	case *kind.Required:
		return eachName(at, k.Missing, "missing")
	case *kind.DependentRequired:
		return eachName(at, k.Missing, "missing, since "+name(k.Prop)+" is given")
	case *kind.AdditionalProperties:
		if len(at) == 0 {
			return eachName(at, k.Properties, c.unknown())
		}
		return eachName(at, k.Properties, "not allowed here")
	case *kind.FalseSchema:
		return []string{subject(at) + ": not allowed"}
	}
	if len(err.Causes) == 0 {
		return []string{subject(at) + ": " + reason(err.ErrorKind)}
	}
	var lines []string
	for _, cause := range err.Causes {
		lines = append(lines, c.findings(cause)...)
	}
	return lines
}

// alternatives says why a value has none of the forms that it may have.
func (c *checker) alternatives(err *jsonschema.ValidationError) string {
	own := subject(err.InstanceLocation) + ": "
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

// unknown is said of an argument that the tool does not have.
func (c *checker) unknown() string {
	text := "not an argument of " + c.tool
	if len(c.names) == 0 {
		return text + ", which takes none"
	}
	return text + ", its arguments are " + list(c.names, name)
}

// eachName gives a line for every key of the object at a place.
func eachName(at, keys []string, text string) []string {
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		lines = append(lines, subject(append(slices.Clip(at), key))+": "+text)
	}
	return lines
}

// subject names a place in the arguments: "argument a.b[0]".
func subject(at []string) string {
	if len(at) == 0 {
		return "the arguments"
	}
	var b strings.Builder
	b.WriteString("argument ")
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
	text, err := outputText([]any{v}) // in a list, so that text is quoted
	if err != nil {
		return "a value"
	}
	return clip(text[1 : len(text)-1])
}

// number writes r as a decimal.
func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// name writes the name of an argument, quoted when it is an odd one.
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
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= maxValueText {
		return s
	}
	return headOf(s, maxValueText) + "..."
}
