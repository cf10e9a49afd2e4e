// Package configfile edits one entry of a configuration file and leaves
// everything else as it is, byte for byte.
//
// Start with [Kind], which says what sort of file it is; then read json.go,
// toml.go and yaml.go, which find the places in the text, and file.go, which
// writes files safely.
package configfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Format is one of [JSON], [TOML], [YAMLMap] and [YAMLList].
type Format int

// The formats.
const (
	JSON     Format = iota // with comments and trailing commas, which stay and are not added
	TOML                   // with a table for each entry
	YAMLMap                // in block style, entries by key
	YAMLList               // in block style, entries as items that have a name inside
)

// Kind says where entries stand in a file.
type Kind struct {
	Format Format
	Root   []string // the keys that lead to the entries; one for YAML
	Seed   string   // what a new file begins with
}

// Set puts an entry into a text, in place of one that has its name. The error
// says the line if the text is not valid, or is written in a way that cannot be
// edited.
func (k Kind) Set(text, name string, o Object) (string, error) { return k.edit(text, name, o) }

// Remove takes an entry out of a text. The key that led to it stays.
func (k Kind) Remove(text, name string) (string, error) { return k.edit(text, name, nil) }

// Snippet gives an entry as it stands alone below the keys that lead to it.
func (k Kind) Snippet(name string, o Object) (string, error) {
	doc, err := k.Format.impl().parse("", k.Root)
	if err != nil {
		return "", err
	}
	return doc.set(name, o)
}

// format is a way of writing configuration down.
type format struct {
	// parse finds the entries below the keys root.
	parse func(text string, root []string) (document, error)
	// tree gives the values of a text; of an empty one an empty map.
	tree func(text string) (map[string]any, error)
}

// document is a text whose entries can be edited. Both methods give the new text.
type document interface {
	set(name string, o Object) (string, error)
	remove(name string) (string, error)
}

func (f Format) impl() format {
	return []format{jsonFormat, tomlFormat, yamlMap, yamlList}[f]
}

// byteOrderMark begins files of some editors. It belongs to no format.
const byteOrderMark = "\ufeff"

var errByHand = errors.New("it is written in a way that adkmcp does not edit; edit it by hand, as adkmcp hosts print shows")

// edit sets an entry, or removes it if o is nil. Whatever the editors of the
// formats did, nothing but the entry may mean something else than before.
func (k Kind) edit(text, name string, o Object) (string, error) {
	body, marked := strings.CutPrefix(text, byteOrderMark)
	if o != nil && strings.TrimSpace(body) == "" {
		body = k.Seed + body
	}
	if strings.Contains(strings.ReplaceAll(body, "\r\n", "\n"), "\r") { // a line break to some, not to others
		return "", errByHand
	}
	doc, err := k.Format.impl().parse(body, k.Root)
	if err != nil {
		return "", err
	}
	var after string
	if o == nil {
		after, err = doc.remove(name)
	} else {
		after, err = doc.set(name, o)
	}
	if err != nil {
		return "", err
	}
	if err := k.check(body, after, name, o); err != nil {
		return "", err
	}
	if marked {
		after = byteOrderMark + after
	}
	return after, nil
}

// check compares what two texts mean.
func (k Kind) check(before, after, name string, o Object) error {
	was, err := k.Format.impl().tree(before)
	if err != nil {
		return err
	}
	is, err := k.Format.impl().tree(after)
	if err != nil { // what we have written is not what we meant
		return errByHand
	}
	take(was, k.Root, name)
	got := take(is, k.Root, name)
	switch {
	case !reflect.DeepEqual(was, is):
		return errByHand
	case o == nil && got != nil, o != nil && (!covers(got, o.plain()) || !covers(o.plain(), got)):
		return errByHand
	}
	return nil
}

// take removes an entry from a tree and gives it. Keys on the way that have
// nothing left go too.
func take(tree map[string]any, root []string, name string) any {
	var entry any
	switch inner := tree[root[0]].(type) {
	case map[string]any:
		if len(root) > 1 {
			entry = take(inner, root[1:], name)
		} else {
			entry = inner[name]
			delete(inner, name)
		}
		if len(inner) == 0 {
			delete(tree, root[0])
		}
	case []any:
		var rest []any
		for _, item := range inner {
			if m, ok := item.(map[string]any); ok && m["name"] == name {
				entry = item
				continue
			}
			rest = append(rest, item)
		}
		tree[root[0]] = rest
		if len(rest) == 0 {
			delete(tree, root[0])
		}
	case nil:
		delete(tree, root[0])
	}
	return entry
}

// Entries gives what a text has, by name, as the format's library reads it.
func (k Kind) Entries(text string) (map[string]any, error) {
	tree, err := k.Format.impl().tree(strings.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, err
	}
	var at any = tree
	for _, key := range k.Root {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	switch at := at.(type) {
	case map[string]any:
		return at, nil
	case []any:
		all := map[string]any{}
		for _, item := range at {
			m, _ := item.(map[string]any)
			if name, ok := m["name"].(string); ok {
				all[name] = m
			}
		}
		return all, nil
	case nil:
		return nil, nil
	}
	return nil, fmt.Errorf("%s does not hold servers by name", strings.Join(k.Root, "."))
}

// In reports whether an entry has all that the object has. It may have more.
func (o Object) In(entry any) bool { return covers(entry, o.plain()) }

// plain gives the object as JSON would be read.
func (o Object) plain() any {
	var v any
	_ = json.Unmarshal([]byte(o.json("", style{})), &v) // our own writing
	return v
}

// covers reports whether an entry has each member of another, with the same
// value.
func covers(got, want any) bool {
	g, _ := normal(got).(map[string]any)
	w, _ := normal(want).(map[string]any)
	for key, value := range w {
		if !reflect.DeepEqual(g[key], value) {
			return false
		}
	}
	return g != nil
}

// normal makes values of all formats alike; nil for what JSON cannot say.
func normal(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	_ = json.Unmarshal(data, &out) // valid by construction
	return out
}
