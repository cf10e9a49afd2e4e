package middleware

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// arguments checks a call's arguments against the tool's schema and answers a
// bad call itself, with every problem at once. Schemas are compiled at the
// first call, since most tools of most programs are never called.
//
// A schema that is none is the operator's mistake and ends the turn.
func arguments() Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		compiled := sync.OnceValues(func() (*checker, error) { return newChecker(spec) })
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			check, err := compiled()
			if err != nil {
				return nil, err
			}
			// Services write a call without arguments in several ways.
			if args := bytes.TrimSpace(call.Args); len(args) == 0 || string(args) == "null" {
				c := *call
				c.Args = json.RawMessage("{}")
				call = &c
			}
			if problems := check.problems(call.Args); problems != "" {
				return agent.Failure(problems), nil
			}
			return next(ctx, call)
		}
	}
}

// checker checks arguments of one tool.
type checker struct {
	tool   string
	schema *jsonschema.Schema
	names  []string // the arguments that there are, sorted
	plain  *plain   // nil where the schema is not plain
}

// newChecker compiles the tool's schema.
func newChecker(spec *agent.Spec) (*checker, error) {
	schema, err := compile(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("the parameters of tool %s are not a usable JSON Schema: %w", spec.Name, err)
	}
	return &checker{tool: spec.Name, schema: schema, names: argumentNames(schema), plain: newPlain(schema)}, nil
}

// compile reads a schema of 2020-12 or of the draft that it names. A reference
// that leads out of it is refused: nothing is read from disk or fetched.
// Patterns are RE2, the library's own choice, and so take linear time.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	const location = "tool:///parameters"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// noLoader refuses to load what a schema refers to.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may refer to parts of itself only")
}

// argumentNames lists the arguments that an object schema names.
func argumentNames(s *jsonschema.Schema) []string {
	for s.Ref != nil && len(s.Properties) == 0 {
		s = s.Ref
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// problems says everything that is wrong with args, in words for the model, or
// nothing if they are right.
func (c *checker) problems(args json.RawMessage) string {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return "the arguments are not JSON: " + err.Error()
	}
	if c.plain != nil && c.plain.accepts(value) {
		return ""
	}
	if at, n := hugeNumber(value, nil); n != "" {
		return fmt.Sprintf("%s: the number %s is out of range", subject(at), clip(string(n)))
	}
	err = c.schema.Validate(value)
	if err == nil {
		return ""
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "the arguments cannot be checked: " + err.Error()
	}
	return c.explain(invalid)
}

// hugeNumber finds a number whose exact form would be a burden: the validator
// computes with every digit, and has no answer for an exponent beyond a million.
func hugeNumber(v any, at []string) ([]string, json.Number) {
	switch v := v.(type) {
	case json.Number:
		const digits = 400 // a double has up to 309 before the point
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if e, err := strconv.Atoi(cmp.Or(exponent, "0")); err != nil || max(e, -e) > digits || len(v) > 2*digits {
			return at, v
		}
	case []any:
		for i, e := range v {
			if at, n := hugeNumber(e, append(at, strconv.Itoa(i))); n != "" {
				return at, n
			}
		}
	case map[string]any:
		for k, e := range v {
			if at, n := hugeNumber(e, append(at, k)); n != "" {
				return at, n
			}
		}
	}
	return nil, ""
}
