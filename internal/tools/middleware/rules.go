package middleware

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// rules lets only such calls pass as no deny rule matches and, where there are
// allow rules, as one of those matches. They hold whoever approves, in every way
// of running an agent.
//
// With strict, and where there are rules, arguments that name something twice are
// refused: somebody decides on what they say, and the tool might see the other one.
func rules(allow, deny []config.CallRule, strict bool) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		if len(allow) == 0 && len(deny) == 0 && !strict {
			return next
		}
		allowed, denied := rulesFor(spec.Name, allow), rulesFor(spec.Name, deny)
		defaults := defaultsOf(spec.Parameters)
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			args, problem := strictObject(call.Args)
			if problem != "" {
				return notRun(problem, ""), nil
			}
			args = withDefaults(args, defaults)
			if slices.ContainsFunc(denied, func(r config.CallRule) bool { return denies(r, args) }) {
				return notRun("a deny rule of this agent forbids it", ""), nil
			}
			if len(allow) > 0 && !slices.ContainsFunc(allowed, func(r config.CallRule) bool { return allows(r, args) }) {
				return notRun("no allow rule of this agent permits it", ""), nil
			}
			return next(ctx, call)
		}
	}
}

// rulesFor gives the rules that are about a tool.
func rulesFor(tool string, rules []config.CallRule) []config.CallRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r config.CallRule) bool { return r.Tool != "" && !config.Glob(r.Tool, tool) })
}

// denies reports whether a deny rule matches: each of its arguments in some
// spelling, with one item of a list, or in one way to write a number.
func denies(r config.CallRule, args map[string]any) bool {
	for name, pattern := range r.Args {
		found := false
		for given, value := range args {
			// Who reads JSON into a struct may take either case.
			found = found || strings.EqualFold(given, name) &&
				slices.ContainsFunc(texts(value), func(s string) bool { return config.Glob(pattern, s) })
		}
		if !found {
			return false
		}
	}
	return true
}

// allows reports whether an allow rule matches: each of its arguments, under that
// name alone, with all items of a list and in all ways to write a number.
func allows(r config.CallRule, args map[string]any) bool {
	for name, pattern := range r.Args {
		value, given := args[name]
		if !given {
			return false
		}
		for other := range args {
			if other != name && strings.EqualFold(other, name) {
				return false
			}
		}
		all := texts(value)
		if len(all) == 0 || slices.ContainsFunc(all, func(s string) bool { return !config.Glob(pattern, s) }) {
			return false
		}
	}
	return true
}

// texts gives a value as rules see it: a string as it is, anything else as its
// JSON, and of a list each item. Numbers come as they are written and in plain form,
// those of an object all in the same.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		if plain := plainNumber(v); plain != v.String() {
			return []string{v.String(), plain}
		}
		return []string{v.String()}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, texts(item)...)
		}
		return all
	}
	var all []string
	for _, form := range []any{v, plainNumbers(v)} {
		if text, err := jsonText(form); err == nil { // v came out of JSON
			all = append(all, text)
		}
	}
	return slices.Compact(all)
}

// plainNumbers gives a copy of a value with its numbers in plain form.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(plainNumber(v))
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainNumbers(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = plainNumbers(value)
		}
		return out
	}
	return v
}

// plainNumber writes 1e2, 100.0 and -0 as 100, 100 and 0: of all ways to write a
// number one. One that is out of range, which no call gets through, stays as it is.
func plainNumber(n json.Number) string {
	if jsonschema.Huge(n) {
		return n.String()
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	shift, _ := strconv.Atoi(cmp.Or(exponent, "0")) // in range, so it is one
	digits, point := whole+fraction, len(whole)+shift
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	plain := "0"
	if whole != "" {
		plain = whole
	}
	if fraction != "" {
		plain += "." + fraction
	}
	if negative && plain != "0" {
		plain = "-" + plain
	}
	return plain
}

// defaultsOf are the values that a tool sees for arguments that are not given.
func defaultsOf(schema json.RawMessage) map[string]any {
	root, err := generic(schema)
	if err != nil {
		return nil
	}
	found, _ := keyword(root, root, "properties")
	properties, _ := found.(map[string]any)
	defaults := map[string]any{}
	for name, property := range properties {
		if v, ok := keyword(root, property, "default"); ok {
			defaults[name] = v
		}
	}
	return defaults
}

// keyword gives what a schema says under a name, itself or where it refers to.
func keyword(root, schema any, name string) (any, bool) {
	const hops = 16 // a schema may refer in circles
	for range 1 + hops {
		s, _ := schema.(map[string]any)
		if v, ok := s[name]; ok {
			return v, true
		}
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		schema = pointed(root, ref)
	}
	return nil, false
}

// pointed gives the part of a schema that a reference such as #/$defs/X means, a
// JSON Pointer (RFC 6901) in a fragment; nil where there is none.
func pointed(root any, ref string) any {
	path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil || !strings.HasPrefix(ref, "#") || path != "" && path[0] != '/' {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range strings.Split(path, "/")[1:] {
		switch at := root.(type) {
		case map[string]any:
			root = at[unescape.Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			root = at[i]
		default:
			return nil
		}
	}
	return root
}

// strictObject reads arguments as tools do, with numbers as they are written, but
// takes no object that names something twice and no number that is out of range.
// Nothing and null are no arguments.
func strictObject(text json.RawMessage) (args map[string]any, problem string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return map[string]any{}, ""
	}
	if text[0] != '{' || !json.Valid(text) { // which bounds the depth, too
		return nil, "the arguments are not a JSON object"
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	value, err := strictValue(dec)
	if err != nil {
		return nil, err.Error()
	}
	args, _ = value.(map[string]any)
	return args, ""
}

func strictValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			item, err := strictValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if _, twice := object[name]; twice {
				return nil, fmt.Errorf("the arguments name %q twice", headOf(name, 100))
			}
			if object[name], err = strictValue(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return object, err
	}
	if n, ok := token.(json.Number); ok && jsonschema.Huge(n) {
		return nil, fmt.Errorf("the number %s is out of range", headOf(n.String(), 100))
	}
	return token, nil
}

// withDefaults gives a call's arguments as the tool will see them.
func withDefaults(args, defaults map[string]any) map[string]any {
	all := make(map[string]any, len(args)+len(defaults))
	maps.Copy(all, defaults)
	maps.Copy(all, args)
	return all
}
