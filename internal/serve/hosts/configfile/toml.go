package configfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat is TOML with one table for each entry.
var tomlFormat = format{
	parse: func(text string, root []string) (document, error) { return parseTOML(text, root) },
	tree:  tomlTree,
}

func tomlTree(text string) (map[string]any, error) {
	tree := map[string]any{}
	err := toml.Unmarshal([]byte(text), &tree)
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return tree, err
}

type tomlDocument struct {
	text     string
	root     []string
	sections []section
}

// section is the text from a header to the end of the last line that says
// something; comments and blank lines behind it belong to what comes next. Before
// the first header the key is empty.
type section struct {
	key        []string
	start, end int
	// within are the keys that are set in it, from the top.
	within [][]string
}

func parseTOML(text string, root []string) (*tomlDocument, error) {
	if _, err := tomlTree(text); err != nil {
		return nil, err
	}
	d := &tomlDocument{text: text, root: root, sections: []section{{}}}
	var p unstable.Parser
	p.Reset([]byte(text))
	for p.NextExpression() {
		n := p.Expression()
		key, at, to := keyOf(n)
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			d.sections = append(d.sections, section{key: key, start: strings.LastIndexByte(text[:at], '\n') + 1, end: d.lineEnd(to)})
		case unstable.KeyValue:
			s := &d.sections[len(d.sections)-1]
			s.within = append(s.within, append(slices.Clone(s.key), key...))
			s.end = d.lineEnd(int(n.Raw.Offset + n.Raw.Length))
		}
	}
	return d, p.Error()
}

// keyOf gives the parts of a key and where it begins and ends.
func keyOf(n *unstable.Node) (key []string, from, to int) {
	from = -1
	for it := n.Key(); it.Next(); {
		raw := it.Node().Raw
		if key = append(key, string(it.Node().Data)); from < 0 {
			from = int(raw.Offset)
		}
		to = int(raw.Offset + raw.Length)
	}
	return key, from, to
}

// lineEnd gives the offset behind the line break that follows.
func (d *tomlDocument) lineEnd(at int) int {
	if i := strings.IndexByte(d.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(d.text)
}

// of gives the sections of an entry. An entry that has no header of its own is
// not edited.
func (d *tomlDocument) of(name string) ([]section, error) {
	entry := append(slices.Clone(d.root), name)
	var all []section
	for _, s := range d.sections {
		if within(s.key, entry) {
			all = append(all, s)
			continue
		}
		for _, key := range s.within {
			if within(key, entry) {
				return nil, errByHand
			}
		}
	}
	return all, nil
}

// within reports whether a key is prefix or below it.
func within(key, prefix []string) bool {
	return len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix)
}

func (d *tomlDocument) set(name string, o Object) (string, error) {
	sections, err := d.of(name)
	if err != nil {
		return "", err
	}
	newline := styleOf(d.text, "").newline
	header := make([]string, 0, len(d.root)+1)
	for _, key := range append(slices.Clone(d.root), name) {
		header = append(header, tomlKey(key))
	}
	table := "[" + strings.Join(header, ".") + "]" + newline + o.toml(newline)
	if len(sections) > 0 {
		first := sections[0]
		if !strings.HasSuffix(d.text[:first.end], "\n") {
			table = strings.TrimSuffix(table, newline)
		}
		return splice(d.without(sections[1:]), cut{first.start, first.end, table}), nil
	}
	switch {
	case d.text == "":
		return table, nil
	case strings.HasSuffix(d.text, "\n"):
		return d.text + newline + table, nil
	}
	return d.text + newline + newline + strings.TrimSuffix(table, newline), nil
}

func (d *tomlDocument) remove(name string) (string, error) {
	sections, err := d.of(name)
	if err != nil {
		return "", err
	}
	return d.without(sections), nil
}

// without removes sections, each with the blank line before it if there is one
// behind it too, or nothing.
func (d *tomlDocument) without(sections []section) string {
	text := d.text
	for _, s := range slices.Backward(sections) {
		before, after := text[:s.start], text[s.end:]
		if blank := strings.TrimSuffix(strings.TrimSuffix(before, "\n"), "\r"); strings.HasSuffix(blank, "\n") &&
			(after == "" || strings.HasPrefix(strings.TrimPrefix(after, "\r"), "\n")) {
			before = blank
		}
		if after == "" && !strings.HasSuffix(text, "\n") {
			before = strings.TrimSuffix(strings.TrimSuffix(before, "\n"), "\r")
		}
		text = before + after
	}
	return text
}
