package strictyaml

import (
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// builder turns the parser's nodes into ours and guards against what the
// parser lets through.
type builder struct {
	*collector
	anchored map[*yaml.Node]*Node // nil while the node is being built
	nodes    int
	aliased  int
}

// errGuard ends the building; what is wrong has been reported.
var errGuard = errors.New("refused")

func (b *builder) problem(y *yaml.Node, hint, format string, args ...any) {
	b.add(Problem{Severity: Error, Line: y.Line, Column: y.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (b *builder) build(y *yaml.Node, depth int) (*Node, error) {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, depth)
	}
	b.nodes++
	switch {
	case b.nodes > maxNodes:
		b.problem(y, "", "more than %d values in one file", maxNodes)
		return nil, errGuard
	case depth > maxDepth:
		b.problem(y, "", "nested deeper than %d levels", maxDepth)
		return nil, errGuard
	}
	n := &Node{Line: y.Line, Column: y.Column, size: 1, height: 1}
	if y.Anchor != "" {
		b.anchored[y] = nil
	}
	var err error
	switch y.Kind {
	case yaml.SequenceNode:
		n.Kind = List
		err = b.list(n, y, depth)
	case yaml.MappingNode:
		n.Kind = Mapping
		err = b.mapping(n, y, depth)
	default:
		b.scalar(n, y)
	}
	if err != nil {
		return nil, err
	}
	if y.Style&yaml.TaggedStyle != 0 {
		b.checkTag(n, y)
	}
	if y.Anchor != "" {
		b.anchored[y] = n
	}
	return n, nil
}

func (b *builder) alias(y *yaml.Node, depth int) (*Node, error) {
	n := b.anchored[y.Alias]
	if n == nil {
		b.problem(y, "", "the alias *%s stands inside the very value that it names", y.Value)
		return nil, errGuard
	}
	b.aliased += n.size
	switch {
	case b.aliased > maxAliased:
		b.problem(y, "write the values out, or use fewer aliases", "the aliases of this file stand for more than %d values", maxAliased)
		return nil, errGuard
	case depth+n.height-1 > maxDepth:
		b.problem(y, "", "nested deeper than %d levels", maxDepth)
		return nil, errGuard
	}
	return n, nil
}

func (n *Node) grow(child *Node) {
	n.size += child.size
	n.height = max(n.height, child.height+1)
}

func (b *builder) list(n *Node, y *yaml.Node, depth int) error {
	n.Items = make([]*Node, 0, len(y.Content))
	for _, c := range y.Content {
		item, err := b.build(c, depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
		n.grow(item)
	}
	return nil
}

func (b *builder) mapping(n *Node, y *yaml.Node, depth int) error {
	n.Pairs = make([]Pair, 0, len(y.Content)/2)
	var seen map[string]*Node // only where searching the pairs would take long
	if len(y.Content) > 64 {
		seen = make(map[string]*Node, len(y.Content)/2)
	}
	var merge *yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := b.build(y.Content[i], depth+1)
		if err != nil {
			return err
		}
		value, err := b.build(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		n.grow(key)
		n.grow(value)
		if !b.checkKey(key, y.Content[i]) {
			continue
		}
		first := seen[key.Text]
		if p := n.pair(key.Text); seen == nil && p != nil {
			first = p.Key
		}
		if first != nil {
			b.problem(y.Content[i], "keep one of them", "the key %q stands twice in this mapping, on lines %d and %d", key.Text, first.Line, key.Line)
			continue
		}
		if value.IsNull() && value.Text == "" {
			empty := *value
			empty.Line, empty.Column = key.Line, key.Column
			value = &empty
		}
		if y.Content[i].Tag == "!!merge" {
			merge = y.Content[i]
		}
		n.Pairs = append(n.Pairs, Pair{Key: key, Value: value})
		if seen != nil {
			seen[key.Text] = key
		}
	}
	if merge != nil {
		b.merge(n, merge)
	}
	return nil
}

// merge replaces the pair of a merge key by those that it stands for: what stands
// in the mapping itself wins, then what comes first in the list
// (yaml.org/type/merge.html).
func (b *builder) merge(n *Node, y *yaml.Node) {
	from := n.Get(y.Value)
	n.Pairs = slices.DeleteFunc(n.Pairs, func(p Pair) bool { return p.Key.Text == y.Value })
	sources := []*Node{from}
	if from.Kind == List {
		sources = from.Items
	}
	for _, s := range sources {
		if s.Kind != Mapping {
			b.problem(y, "", "<< takes a mapping or a list of mappings, not %s", s.Kind)
			return
		}
		for _, p := range s.Pairs {
			if n.pair(p.Key.Text) == nil {
				n.Pairs = append(n.Pairs, p)
			}
		}
	}
}

func (b *builder) checkKey(key *Node, y *yaml.Node) bool {
	switch {
	case key.Kind != Scalar:
		b.problem(y, "", "a key must be a text, not %s", key.Kind)
		return false
	case key.Class == Null && key.Text == "":
		b.problem(y, "", "the key is empty")
		return false
	case key.Class != Text && key.Class != Word && key.Class != Date:
		b.problem(y, fmt.Sprintf("quote it: %q", key.Text), "YAML reads the key %s as %s, not as text", key.Text, key.Class)
		return false
	}
	return true
}

func (b *builder) scalar(n *Node, y *yaml.Node) {
	n.Text = y.Value
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if y.Style&quoted == 0 {
		n.Class = classify(n.Text)
	}
}

// checkTag accepts the tags of YAML's core schema where they say what the value
// is anyway, and !!str on any single value.
func (b *builder) checkTag(n *Node, y *yaml.Node) {
	switch is := classify(n.Text); {
	case y.Tag == "!!seq" && n.Kind == List, y.Tag == "!!map" && n.Kind == Mapping:
		return
	case n.Kind != Scalar:
	case y.Tag == "!!str":
		n.Class = Text
		return
	case y.Tag == "!!null" && is == Null, y.Tag == "!!bool" && is == Bool, y.Tag == "!!int" && is == Int, y.Tag == "!!float" && (is == Float || is == Int):
		n.Class = is
		return
	}
	b.problem(y, "remove the tag", "the tag %s has no meaning here", y.Tag)
}
