package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The bounds of a file. What is beyond them ends with an error that says so.
const (
	MaxBytes   = 1 << 20
	maxDepth   = 64
	maxNodes   = 20_000
	maxAliased = 10_000 // nodes that all aliases together stand for
)

// Document is a file that was read as YAML.
type Document struct {
	File string
	Root *Node
}

// Find gives the value at p, nil where there is none.
func (d *Document) Find(p *Path) *Node {
	v, _ := d.pair(p)
	return v
}

func (d *Document) pair(p *Path) (value, key *Node) {
	if p == nil {
		return d.Root, d.Root
	}
	in, _ := d.pair(p.up)
	if !p.list {
		if pair := in.pair(p.key); pair != nil {
			return pair.Value, pair.Key
		}
	} else if in != nil && in.Kind == List && p.index < len(in.Items) {
		return in.Items[p.index], in.Items[p.index]
	}
	return nil, nil
}

// Position gives the line and column of the value at p, or of what surrounds it
// where there is no such value.
func (d *Document) Position(p *Path) (line, column int) {
	v, _ := d.nearest(p)
	return v.Line, v.Column
}

// KeyPosition gives the line and column of the key of the value at p.
func (d *Document) KeyPosition(p *Path) (line, column int) {
	_, k := d.nearest(p)
	return k.Line, k.Column
}

func (d *Document) nearest(p *Path) (value, key *Node) {
	for ; ; p = p.up {
		if value, key = d.pair(p); value != nil {
			return value, key
		}
	}
}

// Parse reads data, which is one YAML or JSON document of at most MaxBytes in
// UTF-8, with or without a byte order mark. The document is nil when nothing can
// be made of it; otherwise it may be used, whatever the problems are.
func Parse(file string, data []byte) (*Document, Problems) {
	c := &collector{file: file}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at, why := unreadable(data); at >= 0 {
		line, column := position(data, at)
		c.add(Problem{Severity: Error, Line: line, Column: column, Message: why})
		return nil, c.list
	}
	root, err := parseYAML(data)
	if err != nil {
		c.add(syntaxProblem(data, err))
		return nil, c.list
	}
	if root == nil || isEmpty(root.Content[0]) {
		c.add(Problem{Severity: Error, Line: 1, Column: 1, Message: "the file is empty"})
		return nil, c.list
	}
	b := builder{collector: c, anchored: map[*yaml.Node]*Node{}}
	node, err := b.build(root.Content[0], 1)
	if err != nil {
		return nil, c.list
	}
	return &Document{File: file, Root: node}, c.list
}

// isEmpty reports whether a value is not there at all. The parser puts it where
// the next thing begins, which may be behind the end of the file.
func isEmpty(y *yaml.Node) bool {
	return y.Kind == yaml.ScalarNode && y.Value == "" && y.Style == 0 && y.Anchor == ""
}

// unreadable finds the first byte that YAML should not see, -1 for none, and says
// why.
func unreadable(data []byte) (at int, why string) {
	switch {
	case len(data) > MaxBytes:
		return 0, fmt.Sprintf("the file is larger than %d bytes", MaxBytes)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return 0, "the file is in UTF-16; save it as UTF-8"
	}
	for i := 0; i < len(data); {
		r, n := rune(data[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(data[i:])
		}
		switch {
		case r == utf8.RuneError && n == 1:
			return i, fmt.Sprintf("the byte %#02x is not UTF-8", data[i])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
			return i, fmt.Sprintf("the control character %U does not belong into a text file", r)
		case r == '\u2028', r == '\u2029': // the parser would end the line there, and an editor would not
			return i, fmt.Sprintf("the separator %U ends a line for some programs only; end the line, or write it as an escape in quotes", r)
		}
		i += n
	}
	return -1, ""
}

// secondDocument is the error of a file with more than one document.
type secondDocument struct{ first int } // the line where the content of the first one begins

func (secondDocument) Error() string { return "second document" }

// offset is where a line begins, counted from 1.
func offset(data []byte, line int) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	return len(bytes.Join(lines[:min(max(line-1, 0), len(lines)-1)], nil))
}

// parseYAML gives the one document of data, nil when there is none. The parser
// reports some of its own faults by a panic, which is an error of the file here.
func parseYAML(data []byte) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	doc = new(yaml.Node)
	if err := d.Decode(doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var second yaml.Node
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
		return doc, nil
	case err != nil:
		return nil, err
	}
	return nil, secondDocument{doc.Content[0].Line}
}

// syntaxProblem says what the parser did not like and where.
func syntaxProblem(data []byte, err error) Problem {
	p := Problem{Severity: Error}
	at := 0
	var line int
	var second secondDocument
	if errors.As(err, &second) {
		at = offset(data, second.first)
		at += max(bytes.Index(data[at:], []byte("\n---"))+1, 0) // a mark can stand nowhere else
	} else if len(data) <= maxSearched {
		at = search(data, err)
		p.Source = sourceLine(data, at)
	} else if _, e := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); e == nil {
		at = offset(data, line)
	}
	p.Line, p.Column = position(data, at)
	p.Message, p.Hint = explain(err, data[at:])
	return p
}

// search finds the place of a syntax error. The parser knows only lines, and
// often that of the surrounding block: the place is the end of the shortest
// beginning of the file that shows the same error.
func search(data []byte, err error) int {
	fine, wrong := 0, len(data)
	for wrong-fine > 1 {
		middle := (fine + wrong) / 2
		if _, e := parseYAML(data[:middle]); e != nil && e.Error() == err.Error() {
			wrong = middle
		} else {
			fine = middle
		}
	}
	return max(wrong-1, 0)
}

// maxSearched bounds the files in which the place of a syntax error is searched
// for, since the search parses the file some sixteen times.
const maxSearched = 64 << 10

// explanations put the parser's messages into the words of one who has to repair
// the file: part of the message, the text, the hint.
var explanations = [][3]string{
	{"second document", "a second document begins here", "a file holds one document; put the other into a file of its own"},
	{"mapping values are not allowed", "a mapping cannot begin here", `quote a text that holds ": ", or check the indentation`},
	{"did not find expected key", "want the next key here", "check the indentation, and that quotes and brackets are closed"},
	{"unknown anchor", "*NAME stands for what &NAME marks, and nothing is marked so", "quote a text that begins with *"},
	{"could not find expected ':'", "want a colon behind the key", "check the indentation"},
	{"did not find expected '-' indicator", `want the next "- " here`, "check the indentation"},
	{"unexpected end of stream", "the quote that opens here is not closed", ""},
	{"exceeded max depth", fmt.Sprintf("nested deeper than %d levels", maxDepth), ""},
}

func explain(err error, rest []byte) (text, hint string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, after, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "line ") {
		text = after
	}
	if len(rest) > 0 && rest[0] == '\t' && strings.Contains(text, "found") {
		return "a tab cannot indent", "use spaces"
	}
	if len(rest) > 0 && strings.Contains(text, "cannot start any token") {
		return fmt.Sprintf("a text cannot begin with %q", rest[0]), "quote the text"
	}
	for _, e := range explanations {
		if strings.Contains(text, e[0]) {
			return e[1], e[2]
		}
	}
	return text, ""
}

// position gives the line and column of the character at an offset; what ends a
// line stands behind its last character.
func position(data []byte, at int) (line, column int) {
	for at > 0 && at < len(data) && !utf8.RuneStart(data[at]) {
		at--
	}
	line, column = 1, 1
	for i, r := range string(data[:at]) {
		switch {
		case r == '\r' && i+1 < len(data) && data[i+1] == '\n': // counts with what follows
		case r == '\r' || r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
	}
	return line, column
}

// sourceLine is the line that holds an offset, as far as its first colon. What is
// behind may be a secret, so that a fault there is not shown.
func sourceLine(data []byte, at int) string {
	start := bytes.LastIndexAny(data[:at], "\r\n") + 1
	line, _, _ := bytes.Cut(data[start:], []byte("\n"))
	key, _, found := bytes.Cut(line, []byte(":"))
	const most = 200
	if len(line) > most || found && at-start > len(key) {
		return ""
	}
	if found {
		return string(key) + ": …"
	}
	return strings.TrimRight(string(key), "\r")
}
