package strictyaml

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Value is implemented by pointers to types whose YAML form is not that of
// their Go type, such as a union of a text and a mapping. Both methods describe
// the same form; keep them side by side.
type Value interface {
	// DecodeYAML fills the receiver from the value at the cursor and reports
	// what is wrong with it.
	DecodeYAML(c *Cursor)
	// DescribeYAML gives the JSON Schema of what DecodeYAML takes. It does not
	// look at the receiver.
	DescribeYAML(g *Generator) Object
}

// Options say what a [Decoder] cannot know of the types.
type Options struct {
	// Refused are keys of a struct type that its Go type has, or that users
	// know from elsewhere, and that are refused: key to what to do instead.
	// They are in no schema.
	Refused map[reflect.Type]map[string]string
	// Expand replaces what stands for something else in the texts of fields
	// tagged env; ok is false when it cannot, which it has reported. Messages
	// never show what it gave. It may be nil.
	Expand func(c *Cursor, text string) (expanded string, ok bool)
}

// Decoder fills Go values from documents, and describes their types. It is not
// safe for concurrent use.
//
// A struct field is read from the key that its yaml tag names. Without one it
// is read from the key of its json tag, in that spelling (maxOutputTokens) and
// with underscores (max_output_tokens). More tags:
//
//	alias     another spelling of the key
//	doc       the key's description
//	required  true: the key must be there
//	default   the value, in YAML text, where the key is not there
//	enum      the texts that are allowed, with commas between
//	pattern   an RE2 pattern for a text, which form puts into words; why says
//	          what it is good for
//	min, max  bounds of a number; max is also that of a text's length
//	env       true: texts of this key and below go through Options.Expand;
//	          false: they do not
//	type      what a schema says of a value that is kept as JSON; whoever uses
//	          the value checks it
//	entries   true: a list that is written as a mapping; its items implement
//	          [Value] and find their key in [Cursor.Key]
//
// A blank field (_) is a key that is accepted and not kept; a star at its end
// takes every key that begins so. Every key that is not there is a problem.
type Decoder struct {
	opts     Options
	structs  map[reflect.Type]*structShape
	patterns map[string]*regexp.Regexp
	*collector
	root shape
}

// NewDecoder makes a decoder; it may serve many documents.
func NewDecoder(opts Options) *Decoder {
	return &Decoder{opts: opts, structs: map[reflect.Type]*structShape{}, patterns: map[string]*regexp.Regexp{}}
}

// pattern compiles the pattern of a tag, once.
func (d *Decoder) pattern(p string) *regexp.Regexp {
	if d.patterns[p] == nil {
		d.patterns[p] = regexp.MustCompile(p)
	}
	return d.patterns[p]
}

// Decode fills what the pointer into points to from the document and gives
// every problem of it.
func (d *Decoder) Decode(doc *Document, into any) Problems {
	d.collector = &collector{file: doc.File}
	v := reflect.ValueOf(into).Elem()
	d.root = d.shapeOf(v.Type(), "")
	d.root.decode(&Cursor{decoder: d, node: doc.Root}, v)
	return d.list
}

// Cursor is a value of a document while it is being decoded.
type Cursor struct {
	decoder *Decoder
	node    *Node
	path    *Path
	env     bool
}

// File is the file's name.
func (c *Cursor) File() string { return c.decoder.file }

// Node is the value itself.
func (c *Cursor) Node() *Node { return c.node }

// Path is the way to the value.
func (c *Cursor) Path() *Path { return c.path }

// Errorf reports an error at the value. The hint says what to do and may be
// empty.
func (c *Cursor) Errorf(hint, format string, args ...any) {
	c.report(Error, c.node, hint, fmt.Sprintf(format, args...))
}

// Report reports a problem at the value.
func (c *Cursor) Report(s Severity, hint, message string) { c.report(s, c.node, hint, message) }

// report reports a problem at a node, which is the value or its key.
func (c *Cursor) report(s Severity, at *Node, hint, message string) {
	c.decoder.add(Problem{Severity: s, Line: at.Line, Column: at.Column, Path: c.path.String(), Message: message, Hint: hint})
}

// Decode fills what the pointer into points to from the value.
func (c *Cursor) Decode(into any) {
	v := reflect.ValueOf(into).Elem()
	c.decoder.shapeOf(v.Type(), "").decode(c, v)
}

// DecodeStruct fills the struct that into points to from a mapping, whatever
// DecodeYAML method it has, and leaves out some of its keys.
func (c *Cursor) DecodeStruct(into any, skip ...string) {
	v := reflect.ValueOf(into).Elem()
	c.decoder.structOf(v.Type()).fill(c, v, skip)
}

// DecodeField fills the struct that into points to as a mapping would of which the
// value is that of one key, and that has no other.
func (c *Cursor) DecodeField(into any, key string) {
	v := reflect.ValueOf(into).Elem()
	s := c.decoder.structOf(v.Type())
	s.setDefaults(c.decoder, v)
	s.fields[s.index[key]].read(c, v, nil)
}

// Defaults gives the fields of the struct that into points to their defaults.
func (c *Cursor) Defaults(into any) {
	v := reflect.ValueOf(into).Elem()
	c.decoder.structOf(v.Type()).setDefaults(c.decoder, v)
}

// Pairs gives the entries of a mapping in their order; another kind of value is
// reported as not being what.
func (c *Cursor) Pairs(what string) []*Cursor {
	if c.node.Kind != Mapping {
		c.Wrong(what)
		return nil
	}
	cs := make([]*Cursor, len(c.node.Pairs))
	for i := range c.node.Pairs {
		cs[i] = c.at(&c.node.Pairs[i])
	}
	return cs
}

// Key is the last key of the path.
func (c *Cursor) Key() string { return c.path.key }

// KeyErrorf reports an error at a key of the mapping; at the mapping itself
// where it has no such key.
func (c *Cursor) KeyErrorf(key, hint, format string, args ...any) {
	at, on := c.node, c
	if p := c.node.pair(key); p != nil {
		at, on = p.Key, c.at(p)
	}
	on.report(Error, at, hint, fmt.Sprintf(format, args...))
}

// at is the cursor of an entry of the mapping.
func (c *Cursor) at(p *Pair) *Cursor {
	return &Cursor{decoder: c.decoder, node: p.Value, path: c.path.Key(p.Key.Text), env: c.env}
}

// Wrong reports that the value is not what is wanted, such as "a list". It does
// not show the value, which may be a secret in the wrong place.
func (c *Cursor) Wrong(want string) {
	n := c.node
	switch {
	case n.Kind != Scalar:
		c.Errorf("", "want %s, not %s", want, n.Kind)
	case n.Class == Null && n.Text == "":
		c.Errorf("give it a value or remove the key", "has no value, want %s", want)
	default:
		c.Errorf("", "want %s, not %s", want, n.Class)
	}
}

// Not reports that a single value is not what is wanted, and shows it.
func (c *Cursor) Not(want string) {
	shown := c.node.Text
	if c.node.Class == Text {
		shown = "the text " + quote(shown)
	}
	c.Errorf("", "want %s, not %s", want, shown)
}

// quote shows a text in a message, shortened.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Scalar gives a single value whatever YAML takes it for, after Options.Expand
// where the field has the env tag. When it is not ok that has been reported,
// with the words for what is wanted.
func (c *Cursor) Scalar(want string) (n *Node, ok bool) {
	if c.node.Kind != Scalar || c.node.Class == Null && c.node.Text == "" {
		c.Wrong(want)
		return c.node, false
	}
	if !c.env || c.decoder.opts.Expand == nil || c.node.Class != Text || !strings.Contains(c.node.Text, "$") {
		return c.node, true
	}
	text, ok := c.decoder.opts.Expand(c, c.node.Text)
	return &Node{Text: text, Line: c.node.Line, Column: c.node.Column, expanded: true}, ok
}

// Text gives the value where it is text. What YAML turns into something else is
// reported together with the form that it has to be written in.
func (c *Cursor) Text() (string, bool) {
	n, ok := c.Scalar("text")
	switch {
	case !ok:
		return "", false
	case n.Class == Text:
		return n.Text, true
	case n.Class == Word:
		c.Errorf(fmt.Sprintf("quote it: %q", n.Text), "many YAML readers take %s for true or false", n.Text)
	default:
		c.Errorf(fmt.Sprintf("quote it: %q", n.Text), "YAML reads %s as %s, not as text", n.Text, n.Class)
	}
	return "", false
}
