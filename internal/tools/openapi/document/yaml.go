package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The bounds of a YAML document: its size as JSON, with aliases written out, and how
// many mappings it may merge into others.
const (
	maxExpanded = MaxBytes
	maxMerges   = 10_000
)

// fromYAML turns YAML into JSON: mappings keep their order, numbers their digits,
// and dates are text.
func fromYAML(data []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("is neither JSON nor YAML: %w", err)
	}
	if len(root.Content) == 0 {
		return nil, errors.New("is empty")
	}
	w := yamlWriter{}
	if err := w.value(root.Content[0], 0); err != nil {
		return nil, err
	}
	return w.b.Bytes(), nil
}

type yamlWriter struct {
	b      bytes.Buffer
	merges int
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("line %d: is nested deeper than %d levels, or an alias stands inside what it names", n.Line, maxDepth)
	case w.b.Len() > maxExpanded:
		return fmt.Errorf("line %d: its aliases stand for more than %d MiB", n.Line, maxExpanded>>20)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.b.WriteByte(',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.b.WriteByte(']')
		return nil
	default:
		return w.scalar(n)
	}
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	own, inherited, err := w.merge(n, depth)
	if err != nil {
		return err
	}
	w.b.WriteByte('{')
	seen := make(map[string]bool, len(own)/2)
	for i, pairs := 0, append(slices.Clip(own), inherited...); i+1 < len(pairs); i += 2 {
		key := target(pairs[i])
		switch {
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a key must be a text", key.Line)
		case seen[key.Value] && i < len(own):
			return fmt.Errorf("line %d: the key %q stands twice in this mapping", key.Line, key.Value)
		case seen[key.Value]: // what stands in the mapping itself wins over what it inherits
			continue
		case len(seen) > 0:
			w.b.WriteByte(',')
		}
		seen[key.Value] = true
		writeText(&w.b, key.Value)
		w.b.WriteByte(':')
		if err := w.value(pairs[i+1], depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// merge gives the keys and values of a mapping, and those of its merge key "<<".
func (w *yamlWriter) merge(n *yaml.Node, depth int) (own, inherited []*yaml.Node, err error) {
	at := -1
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			at = i
		}
	}
	if at < 0 {
		return n.Content, nil, nil
	}
	own = slices.Delete(slices.Clone(n.Content), at, at+2)
	sources := []*yaml.Node{n.Content[at+1]}
	if sources[0].Kind == yaml.SequenceNode {
		sources = sources[0].Content
	}
	for _, s := range sources {
		s = target(s)
		if w.merges++; s.Kind != yaml.MappingNode || depth > maxDepth || w.merges > maxMerges {
			return nil, nil, fmt.Errorf("line %d: << takes a mapping or a list of mappings, at most %d in a document", s.Line, maxMerges)
		}
		theirs, more, err := w.merge(s, depth+1)
		if err != nil {
			return nil, nil, err
		}
		inherited = append(append(inherited, theirs...), more...)
	}
	return own, inherited, nil
}

func (w *yamlWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		w.b.WriteString("null")
	case "!!bool":
		w.b.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		number, err := plainNumber(n.Value)
		if err != nil {
			return fmt.Errorf("line %d: JSON has no number %s", n.Line, n.Value)
		}
		w.b.WriteString(number)
	default:
		writeText(&w.b, n.Value)
	}
	return nil
}

// plainNumber gives a number of YAML as JSON writes it.
func plainNumber(s string) (string, error) {
	if json.Valid([]byte(s)) {
		return s, nil
	}
	plain := strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
	if i, ok := new(big.Int).SetString(plain, 0); ok {
		return i.String(), nil
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(f) // refuses what is no number
	return string(b), err
}

// writeText writes a JSON string, without the escapes that only HTML needs.
func writeText(b *bytes.Buffer, s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || r == '"' || r == '\\' }) {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if e.Encode(s) == nil { // text always encodes
		b.Truncate(b.Len() - 1)
	}
}
