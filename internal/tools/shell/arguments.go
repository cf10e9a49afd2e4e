package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refusal is what the model is told about arguments that cannot be used.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// value is one argument.
type value struct {
	raw json.RawMessage
	// leading is set when the value may begin an argument with a dash: the
	// parameter says so, or it is the agent file's own default.
	leading bool
}

// values are the arguments of one call by name. A parameter that is absent and
// has no default is not among them, and neither is one that is null.
type values map[string]value

// read takes the arguments of a call apart and puts defaults in. Types are the
// business of the schema check before this; names are checked again, since
// they become variables of a program.
func (t *tool) read(args json.RawMessage) (values, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(args)) > 0 {
		if err := json.Unmarshal(args, &given); err != nil {
			return nil, refuse("the arguments are no JSON object: %v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := t.params[name]; !ok {
			return nil, refuse("argument %q is none that %s takes; it takes %s", name, t.spec.Name, t.names())
		}
	}
	found := values{}
	for _, name := range slices.Sorted(maps.Keys(t.params)) {
		p := t.params[name]
		raw, ok := given[name]
		switch {
		case ok && string(raw) != "null":
			found[name] = value{raw: raw, leading: p.AllowLeadingDash}
		case ok:
		case len(p.Default) > 0:
			found[name] = value{raw: bytes.TrimSpace(p.Default), leading: true}
		case !p.Optional:
			return nil, refuse("argument %q is missing", name)
		}
	}
	return found, nil
}

func (t *tool) names() string {
	if len(t.params) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(t.params)), ", ")
}

// isList reports whether the argument is a list.
func (v value) isList() bool { return v.raw[0] == '[' }

// items gives the texts of a list's items.
func (v value) items(name string) ([]string, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(v.raw, &raws); err != nil {
		return nil, refuse("argument %q is no list: %v", name, err)
	}
	texts := make([]string, 0, len(raws))
	for _, raw := range raws {
		text, err := value{raw: raw}.text(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// text gives the argument as a program should see it: text as it is, numbers
// as they were written, true and false, lists and objects as compact JSON.
func (v value) text(name string) (string, error) {
	switch v.raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(v.raw, &s); err != nil {
			return "", refuse("argument %q: %v", name, err)
		}
		if strings.ContainsRune(s, 0) {
			return "", refuse("argument %q holds a NUL character, which no program can be given", name)
		}
		return s, nil
	case '[', '{':
		var b bytes.Buffer
		if err := json.Compact(&b, v.raw); err != nil {
			return "", refuse("argument %q: %v", name, err)
		}
		return b.String(), nil
	}
	return string(v.raw), nil
}
