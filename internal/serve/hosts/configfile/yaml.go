package configfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The entries of YAML files stand in block style, below one key.
var (
	yamlMap  = format{parse: func(text string, root []string) (document, error) { return parseYAML(text, root[0], false) }, tree: yamlTree}
	yamlList = format{parse: func(text string, root []string) (document, error) { return parseYAML(text, root[0], true) }, tree: yamlTree}
)

func yamlTree(text string) (map[string]any, error) {
	tree := map[string]any{}
	err := decode(yaml.NewDecoder(strings.NewReader(text)), &tree)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return tree, yamlError(text, err)
}

// decode reads one document. The library panics on some texts that are not
// valid.
func decode(d *yaml.Decoder, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return d.Decode(v)
}

// yamlError adds the column, which the library does not give: that of the first
// character of the line.
func yamlError(text string, err error) error {
	if err == nil {
		return nil
	}
	message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
	line := 1
	if _, e := fmt.Sscanf(message, "line %d:", &line); e == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	lines := strings.Split(text, "\n")
	blanks := 0
	if line <= len(lines) {
		blanks = len(leading(lines[line-1], " \t"))
	}
	return fmt.Errorf("line %d, column %d: %s", line, blanks+1, message)
}

type yamlDocument struct {
	text       string
	starts     []int // offsets of lines, and at last that of the end
	root       string
	list       bool
	key, value *yaml.Node // of root; nil where it is missing
	end        int        // where what stands below root ends at the latest
	style
}

func parseYAML(text, root string, list bool) (*yamlDocument, error) {
	if strings.ContainsAny(text, "\u0085\u2028\u2029") { // line breaks to YAML, but to no editor
		return nil, errByHand
	}
	d := &yamlDocument{text: text, root: root, list: list, end: len(text), style: styleOf(text, "  ")}
	for at := 0; at < len(text); {
		d.starts = append(d.starts, at)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			at += i + 1
		} else {
			at = len(text)
		}
	}
	d.starts = append(d.starts, len(text))
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	if err := decode(decoder, &doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(text, err)
	}
	if err := decode(decoder, &more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return d, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value == root {
			d.key, d.value = top.Content[i], top.Content[i+1]
			if d.value.Anchor != "" || d.value.Style&yaml.TaggedStyle != 0 {
				return nil, errByHand
			}
			if i+2 < len(top.Content) {
				d.end = d.starts[top.Content[i+2].Line-1]
			}
		}
	}
	return d, nil
}

// offset gives that of a node's first character.
func (d *yamlDocument) offset(n *yaml.Node) int {
	at := d.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(d.text[at:])
		at += size
	}
	return at
}

// colon gives the offset behind that of the key.
func (d *yamlDocument) colon() int {
	at := d.offset(d.key) + len(d.key.Value)
	return at + strings.IndexByte(d.text[at:], ':') + 1
}

// alone reports whether the line of the key has nothing but a comment behind it.
func (d *yamlDocument) alone() bool {
	rest := strings.TrimSpace(d.text[d.colon():max(d.colon(), d.starts[d.key.Line])])
	return rest == "" || rest[0] == '#'
}

// span is where an entry stands: whole lines.
type span struct {
	name     string
	from, to int
}

// entries gives the entries in order, and how far they are indented.
func (d *yamlDocument) entries() (all []span, indent string, err error) {
	v := d.value
	switch {
	case d.list && v.Kind != yaml.SequenceNode, !d.list && v.Kind != yaml.MappingNode, v.Style&yaml.FlowStyle != 0, !d.alone():
		return nil, "", errByHand
	}
	step, column := 2, v.Content[0].Column
	if d.list {
		step, column = 1, v.Column
	}
	for i := 0; i < len(v.Content); i += step {
		n := v.Content[i]
		s := span{name: n.Value, from: d.starts[n.Line-1]}
		if d.list {
			s.name = nameIn(n)
		}
		head := d.text[s.from:]
		if len(leading(head, " ")) != column-1 || d.list && !strings.HasPrefix(head[column-1:], "-") {
			return nil, "", errByHand
		}
		all = append(all, s)
	}
	for i := range all {
		to := d.end
		if i+1 < len(all) {
			to = all[i+1].from
		}
		all[i].to = d.trim(all[i].from, to, column)
	}
	return all, strings.Repeat(" ", column-1), nil
}

func nameIn(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// trim leaves out the blank lines at the end of an entry, and the comments that
// are not indented more than the entry.
func (d *yamlDocument) trim(from, to, column int) int {
	for i := len(d.starts) - 2; i >= 0; i-- {
		line := d.text[d.starts[i]:d.starts[i+1]]
		text := strings.TrimSpace(line)
		switch {
		case d.starts[i] >= to:
		case d.starts[i] <= from:
			return d.starts[i+1]
		case text == "", text == "...", text[0] == '#' && len(leading(line, " ")) < column:
			to = d.starts[i]
		default:
			return d.starts[i+1]
		}
	}
	return to
}

func (d *yamlDocument) set(name string, o Object) (string, error) {
	if d.value == nil {
		return d.put(len(d.text), len(d.text), d.root+":"+d.newline+d.write("  ", name, o)), nil
	}
	bare, err := d.bare()
	switch {
	case err != nil:
		return "", err
	case bare != nil && !bare.alone():
		return "", errByHand
	case bare != nil:
		at := bare.behindKey()
		return bare.put(at, at, d.write("  ", name, o)), nil
	}
	all, indent, err := d.entries()
	if err != nil {
		return "", err
	}
	at := span{from: all[len(all)-1].to, to: all[len(all)-1].to}
	for _, s := range all {
		if s.name == name && at.from < at.to { // twice in a list: which of them counts is up to the host
			return "", errByHand
		} else if s.name == name {
			at = s
		}
	}
	return d.put(at.from, at.to, d.write(indent, name, o)), nil
}

// bare gives the document without the {}, [] or null that stands for no entries;
// nil if there are entries.
func (d *yamlDocument) bare() (*yamlDocument, error) {
	v := d.value
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag == "!!null" && v.Value == "":
		return d, nil
	case v.Kind == yaml.ScalarNode && v.Tag == "!!null", v.Kind != yaml.ScalarNode && v.Kind != yaml.AliasNode && len(v.Content) == 0:
	default:
		return nil, nil
	}
	from := d.offset(v)
	to := from + len(v.Value)
	if v.Kind != yaml.ScalarNode {
		to = from + strings.IndexAny(d.text[from:], "]}") + 1
	}
	if v.Line != d.key.Line || strings.ContainsAny(d.text[from:to], "\n#") {
		return nil, errByHand
	}
	return parseYAML(strings.TrimRight(d.text[:from], " ")+d.text[to:], d.root, d.list)
}

// behindKey is where the first entry goes: behind the line of the key and the
// comments that are indented below it.
func (d *yamlDocument) behindKey() int {
	at := d.starts[d.key.Line]
	for i := d.key.Line; i < len(d.starts)-1 && d.starts[i] < d.end; i++ {
		line := d.text[d.starts[i]:d.starts[i+1]]
		text := strings.TrimSpace(line)
		if text != "" && (text[0] != '#' || line[0] != ' ') {
			break
		}
		if text != "" {
			at = d.starts[i+1]
		}
	}
	return at
}

// write gives the lines of an entry.
func (d *yamlDocument) write(indent, name string, o Object) string {
	if d.list {
		return o.yaml(indent+"- ", indent+"  ", d.newline)
	}
	return indent + yamlKey(name) + ":" + d.newline + o.yaml(indent+"  ", indent+"  ", d.newline)
}

// put replaces lines. A last line without a line break stays one.
func (d *yamlDocument) put(from, to int, lines string) string {
	before, after := d.text[:from], d.text[to:]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += d.newline
	}
	if after == "" && d.text != "" && !strings.HasSuffix(d.text, "\n") {
		lines = strings.TrimSuffix(lines, d.newline)
	}
	return before + lines + after
}

func (d *yamlDocument) remove(name string) (string, error) {
	if d.value == nil {
		return d.text, nil
	}
	all, _, err := d.entries()
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.name != name {
			continue
		}
		before, after := d.text[:s.from], d.text[s.to:]
		if after == "" && !strings.HasSuffix(d.text, "\n") {
			before = strings.TrimSuffix(strings.TrimSuffix(before, "\n"), "\r")
		}
		if len(all) == 1 {
			nothing := " {}"
			if d.list {
				nothing = " []"
			}
			before = before[:d.colon()] + nothing + before[d.colon():]
		}
		return before + after, nil
	}
	return d.text, nil
}
