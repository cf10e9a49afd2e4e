// Package jsonschema checks JSON against a JSON Schema and says in words what
// is wrong with it, for the model or the person who has written it.
//
// Start with [New], then read [Schema.Check]. A schema is compiled when it is
// first needed, since most schemas of most programs never are; what is wrong
// with one that is none is in invalid.go. What most values need is checked
// without the validator (plain.go), which alone knows what is wrong with the
// others; explain.go puts that into words.
package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Options say what a schema is for.
type Options struct {
	Whole string // names the value that is checked, such as "the arguments"
	Is    string // begins what is said of its text, such as "the arguments are"
	Part  string // stands before the place of a part, such as "argument "
	// Tool is the tool whose arguments the parts at the top are; empty if they
	// are none.
	Tool string
	// Formats says that the keyword format is checked. JSON Schema 2020-12 means
	// it for readers only, older drafts check it by themselves.
	Formats bool
}

// Arguments are the options for what a tool is called with.
func Arguments(tool string) Options {
	return Options{Whole: "the arguments", Is: "the arguments are", Part: "argument ", Tool: tool}
}

// Schema is a JSON Schema of 2020-12, or of the draft that it names. It is safe
// for concurrent use.
type Schema struct {
	opts    Options
	checker func() (*checker, error)
}

// New takes a schema's text, which is read when it is first needed and must not
// change until then.
func New(text json.RawMessage, o Options) *Schema {
	s := &Schema{opts: o}
	s.checker = sync.OnceValues(func() (*checker, error) { return newChecker(text, &s.opts) })
	return s
}

// Compile reads the schema unless that has been done. The error says why it is
// none: an [*Invalid], [ErrElsewhere], or another.
func (s *Schema) Compile() error {
	_, err := s.checker()
	return err
}

// Check says everything that is wrong with a value, in sorted sentences of at
// most 4 KiB together, or nothing if it is right. A schema that cannot be used
// lets nothing pass.
func (s *Schema) Check(value json.RawMessage) (problem string) {
	_, problem = s.Read(value)
	return problem
}

// Read gives the value as well, with numbers as [json.Number]. It is nil if
// there is a problem.
func (s *Schema) Read(text json.RawMessage) (value any, problem string) {
	c, err := s.checker()
	if err != nil {
		return nil, bounded([]string{s.opts.Whole + " cannot be checked, the schema is none: " + err.Error()})
	}
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, s.opts.Is + " not JSON: " + clip(err.Error())
	}
	if problem = c.problem(value); problem != "" {
		return nil, problem
	}
	return value, ""
}

// checker is a schema that has been compiled.
type checker struct {
	*Options
	schema *jsonschema.Schema
	names  []string // the parts at the top that there are, sorted
	plain  *plain   // nil where the schema is not plain
}

func newChecker(text json.RawMessage, o *Options) (*checker, error) {
	schema, err := compile(text, o.Formats)
	if err != nil {
		return nil, err
	}
	return &checker{Options: o, schema: schema, names: partNames(schema), plain: newPlain(schema)}, nil
}

// compile lets nothing be read from disk or fetched. Patterns are RE2, the
// library's own choice, and so take linear time.
func compile(text json.RawMessage, formats bool) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if err := outOfRange(doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if formats {
		c.AssertFormat()
	}
	if err := c.AddResource(location, doc); err != nil {
		return nil, unusable(err)
	}
	schema, err := c.Compile(location)
	if err != nil {
		return nil, unusable(err)
	}
	return schema, nil
}

// partNames lists the parts that an object schema names, itself or where it
// refers to, which may be in circles.
func partNames(s *jsonschema.Schema) []string {
	seen := map[*jsonschema.Schema]bool{}
	for s.Ref != nil && len(s.Properties) == 0 && !seen[s] {
		seen[s] = true
		s = s.Ref
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// problem says everything that is wrong with a value, or nothing.
func (c *checker) problem(value any) string {
	if c.plain != nil && c.plain.accepts(value) {
		return ""
	}
	var huge []string
	eachHuge(value, nil, func(at []string, n json.Number) {
		huge = append(huge, c.subject(at)+": "+tooFar(n))
	})
	if len(huge) > 0 {
		return bounded(huge)
	}
	err := c.schema.Validate(value)
	if err == nil {
		return ""
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return c.Whole + " cannot be checked: " + clip(err.Error())
	}
	return bounded(c.findings(invalid))
}

// eachHuge finds the numbers whose exact form would be a burden: the validator
// computes with every digit, and has no answer for an exponent beyond a million.
func eachHuge(v any, at []string, found func(at []string, n json.Number)) {
	switch v := v.(type) {
	case json.Number:
		if Huge(v) {
			found(at, v)
		}
	case []any:
		for i, e := range v {
			eachHuge(e, append(at, strconv.Itoa(i)), found)
		}
	case map[string]any:
		for k, e := range v {
			eachHuge(e, append(at, k), found)
		}
	}
}

// Huge reports whether a number is refused, in values as in schemas, for the
// number of its digits: a double has up to 309 before the point.
func Huge(n json.Number) bool {
	const digits = 400
	_, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	return err != nil || max(e, -e) > digits || len(n) > 2*digits
}

func tooFar(n json.Number) string {
	return "the number " + clip(n.String()) + " is out of range"
}
