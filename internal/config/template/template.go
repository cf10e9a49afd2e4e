// Package template finds the places in the texts of an agent file: those for a
// tool's arguments, for variables of the environment, and for the session's state
// in an instruction.
//
// Start with [Text] and [ParseInstruction]. [CodePlace] says which place of an argv
// list would become code.
package template

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Text is text with places for a tool's arguments. Places and environment
// variables are found together, before anything is put in, so that no value
// can become syntax.
//
//	{name}          a place: an argument
//	{{name}}        the text {name}
//	${VAR}          an environment variable, replaced when the file is loaded
//	${VAR:-text}    the same with a default
//	$$              a dollar
//
// Any other brace or dollar stays as it is.
type Text struct {
	Segments []Segment
}

// Segment is a piece of a [Text]. Exactly one of Place, Var and Text says
// what it is; after loading there is no Var left.
type Segment struct {
	Text string
	// Place is the name of an argument.
	Place string
	// Var is an environment variable's name, Default its default where
	// HasDefault is set.
	Var, Default string
	HasDefault   bool
	// FromEnv marks Text that came out of the environment and may be secret.
	FromEnv bool
}

// Parse splits s into segments. Every text is a valid template.
func Parse(s string) Text { return parse(s, true, true) }

// ParsePlaces is [Parse] for text in which a dollar means nothing, such
// as the script of a model.
func ParsePlaces(s string) Text { return parse(s, false, true) }

// ParseVars is [Parse] for text in which a brace means nothing, such as
// a path or a key.
func ParseVars(s string) Text { return parse(s, true, false) }

func parse(s string, vars, places bool) Text {
	var t Text
	for i := 0; i < len(s); {
		var seg Segment
		var n int
		switch {
		case s[i] == '$' && vars:
			seg, n = scanVar(s[i:])
		case s[i] == '{' && places:
			seg, n = scanPlace(s[i:], i > 0 && s[i-1] == '$')
		default:
			n = strings.IndexAny(s[i:], "${")
			if n < 0 {
				n = len(s) - i
			}
			n = max(n, 1)
			seg.Text = s[i : i+n]
		}
		t.add(seg)
		i += n
	}
	return t
}

// scanVar reads what begins with the dollar s[0]; n is its length.
func scanVar(s string) (seg Segment, n int) {
	if strings.HasPrefix(s, "$$") {
		return Segment{Text: "$"}, 2
	}
	if !strings.HasPrefix(s, "${") {
		return Segment{Text: "$"}, 1
	}
	end := 2 + identifier(s[2:], false)
	name, rest := s[2:end], s[end:]
	switch {
	case name == "":
	case strings.HasPrefix(rest, "}"):
		return Segment{Var: name}, end + 1
	case strings.HasPrefix(rest, ":-"):
		if text, _, ok := strings.Cut(rest[2:], "}"); ok {
			return Segment{Var: name, HasDefault: true, Default: text}, end + 3 + len(text)
		}
	}
	return Segment{Text: "$"}, 1
}

// scanPlace reads what begins with the brace s[0]; n is its length. A brace
// behind a dollar is shell syntax and never a place.
func scanPlace(s string, afterDollar bool) (seg Segment, n int) {
	if strings.HasPrefix(s, "{{") {
		end := 2 + identifier(s[2:], true)
		if end > 2 && strings.HasPrefix(s[end:], "}}") {
			return Segment{Text: s[1 : end+1]}, end + 2
		}
		return Segment{Text: "{"}, 1
	}
	end := 1 + identifier(s[1:], true)
	if end > 1 && strings.HasPrefix(s[end:], "}") && !afterDollar {
		return Segment{Place: s[1:end]}, end + 1
	}
	return Segment{Text: "{"}, 1
}

// IsParameterName reports whether a place can have the name.
func IsParameterName(name string) bool { return name != "" && identifier(name, true) == len(name) }

// IsVariableName reports whether an environment variable can have the name.
func IsVariableName(name string) bool { return name != "" && identifier(name, false) == len(name) }

// identifier gives the length of the identifier that s begins with. The names
// of arguments may hold a dash, those of variables not.
func identifier(s string, dash bool) int {
	i := 0
	for i < len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		later := '0' <= c && c <= '9' || c == '-' && dash
		if !letter && (i == 0 || !later) {
			break
		}
		i++
	}
	return i
}

// add appends seg and merges text with text before it.
func (t *Text) add(seg Segment) {
	if n := len(t.Segments); n > 0 && seg.isText() && t.Segments[n-1].isText() {
		t.Segments[n-1].Text += seg.Text
		return
	}
	t.Segments = append(t.Segments, seg)
}

func (s *Segment) isText() bool { return s.Place == "" && s.Var == "" && !s.FromEnv }

// Places lists the arguments that the template names, in order.
func (t Text) Places() []string {
	var names []string
	for _, s := range t.Segments {
		if s.Place != "" {
			names = append(names, s.Place)
		}
	}
	return names
}

// Only gives the name of the argument when the template is exactly one place.
func (t Text) Only() (name string, ok bool) {
	if len(t.Segments) == 1 && t.Segments[0].Place != "" {
		return t.Segments[0].Place, true
	}
	return "", false
}

// Expand puts values in; value is asked once for every place.
func (t Text) Expand(value func(place string) (string, error)) (string, error) {
	if len(t.Segments) == 1 && t.Segments[0].Place == "" {
		return t.Segments[0].Text, nil
	}
	var b strings.Builder
	for _, s := range t.Segments {
		if s.Place == "" {
			b.WriteString(s.Text)
			continue
		}
		v, err := value(s.Place)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

// Resolve replaces variables by what lookup gives for them, and returns the
// names of those that are neither set nor have a default.
func (t Text) Resolve(lookup func(string) (string, bool)) (Text, []string) {
	var missing []string
	out := Text{Segments: make([]Segment, 0, len(t.Segments))}
	for _, s := range t.Segments {
		if s.Var != "" {
			v, ok := lookup(s.Var)
			switch {
			case ok && (v != "" || !s.HasDefault):
				s = Segment{Text: v, FromEnv: true}
			case s.HasDefault:
				s = Segment{Text: s.Default}
			default:
				missing = append(missing, s.Var)
				continue
			}
		}
		out.Segments = append(out.Segments, s)
	}
	return out, missing
}

// EnvValues lists the texts that came out of the environment.
func (t Text) EnvValues() []string {
	var vs []string
	for _, s := range t.Segments {
		if s.FromEnv && s.Text != "" {
			vs = append(vs, s.Text)
		}
	}
	return vs
}

// Plain joins the texts and leaves the places out.
func (t Text) Plain() string {
	var b strings.Builder
	for _, s := range t.Segments {
		b.WriteString(s.Text)
	}
	return b.String()
}

// SplitFolder splits a path at the last separator before the first place: the
// folder, and what lies below it. A path without a separator there has none.
func (t Text) SplitFolder() (folder string, below Text) {
	first := slices.IndexFunc(t.Segments, func(s Segment) bool { return s.Place != "" })
	if first < 0 {
		first = len(t.Segments)
	}
	folder, name := filepath.Split(Text{t.Segments[:first]}.Plain())
	if name != "" {
		below.add(Segment{Text: name})
	}
	below.Segments = append(below.Segments, t.Segments[first:]...)
	return folder, below
}

// Source writes a resolved template so that [ParsePlaces] gives it again; ok is
// false where no text does, because a value of the environment ends in a brace
// or a dollar right before a place.
func (t Text) Source() (s string, ok bool) {
	var b strings.Builder
	var want Text // neighbouring texts as one
	for _, seg := range t.Segments {
		if seg.Place != "" {
			want.add(seg)
		} else if seg.Text != "" {
			want.add(Segment{Text: seg.Text})
		}
	}
	for _, seg := range want.Segments {
		if seg.Place != "" {
			b.WriteString("{" + seg.Place + "}")
		} else {
			b.WriteString(escapePlaces(seg.Text))
		}
	}
	return b.String(), slices.Equal(ParsePlaces(b.String()).Segments, want.Segments)
}

// escapePlaces doubles the braces of what would be a place.
func escapePlaces(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if n := identifier(s[i+1:], true); s[i] == '{' && n > 0 && strings.HasPrefix(s[i+1+n:], "}") {
			b.WriteString("{" + s[i:i+n+2] + "}")
			i += n + 1
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// DecodeYAML reads a text with places.
func (t *Text) DecodeYAML(c *strictyaml.Cursor) {
	if text, ok := c.Text(); ok {
		*t = Parse(text)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Text) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	return strictyaml.Object{{Key: "type", Value: "string"}}
}
