package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
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
// JSON, and of a list each item. A number that has a shorter way to be written
// comes in both.
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
	text, err := jsonText(v)
	if err != nil { // v came out of JSON
		return nil
	}
	return []string{text}
}

// plainNumber writes 1e2, 100.0 and -0 as 100, 100 and 0. A number that would
// become long stays as it is.
func plainNumber(n json.Number) string {
	const most = 40
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	shift := 0
	if exponent != "" {
		if _, err := fmt.Sscan(exponent, &shift); err != nil || shift > most || shift < -most {
			return n.String()
		}
	}
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
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	defaults := map[string]any{}
	for name, property := range s.Properties {
		var p struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(property, &p) != nil || len(p.Default) == 0 {
			continue
		}
		if v, err := generic(p.Default); err == nil {
			defaults[name] = v
		}
	}
	return defaults
}

// strictObject reads arguments as tools do, with numbers as they are written, but
// takes no object that names something twice. Nothing and null are no arguments.
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
	return token, nil
}

// withDefaults gives a call's arguments as the tool will see them.
func withDefaults(args, defaults map[string]any) map[string]any {
	all := make(map[string]any, len(args)+len(defaults))
	maps.Copy(all, defaults)
	maps.Copy(all, args)
	return all
}
