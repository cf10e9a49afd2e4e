// Package schema checks the JSON Schemas that stand in agent files: those of
// arguments, of answers, and of forms.
//
// Start with [Schema]: each of its methods checks a schema for one use. What is
// sure to be valid is seen without the validator (plain.go), the rest is compiled
// (compile.go); on top come the rules of those who get the schema: MCP hosts
// (input.go) and the people behind them (form.go).
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Schema is a JSON Schema in a file.
type Schema struct {
	Node *strictyaml.Node // not nil
	Path *strictyaml.Path // to Node
	// JSON is what Node says. It may be nil where that is not all JSON, which
	// has been said; then the validator is not asked.
	JSON json.RawMessage
}

// Finding is one thing that is wrong with a schema, at the value that Path leads
// to.
type Finding struct {
	Severity      strictyaml.Severity
	Path          *strictyaml.Path
	Message, Hint string
}

// findings are those of one schema.
type findings []Finding

func (fs *findings) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	*fs = append(*fs, Finding{strictyaml.Error, p, fmt.Sprintf(format, args...), hint})
}

func (fs *findings) warnf(p *strictyaml.Path, hint, format string, args ...any) {
	*fs = append(*fs, Finding{strictyaml.Warning, p, fmt.Sprintf(format, args...), hint})
}

func (fs findings) hasErrors() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == strictyaml.Error })
}

// Parameters checks the schemas of a tool's parameters, and what they are
// together. A node that is no mapping has been reported.
func Parameters(each []Schema, together Schema) []Finding {
	var fs findings
	doubtful := 0
	for _, s := range each {
		found, plain := s.parameter()
		if !plain && s.JSON != nil && !found.hasErrors() {
			doubtful++
			s.compile(&found)
		}
		fs = append(fs, found...)
	}
	if doubtful > 1 && together.JSON != nil && !fs.hasErrors() {
		together.compile(&fs) // two of them may define the same name
	}
	return fs
}

// parameter checks one parameter's schema and reports whether that was enough.
func (s Schema) parameter() (fs findings, plain bool) {
	n, p := s.Node, s.Path
	if n.Kind != strictyaml.Mapping {
		return nil, true
	}
	if r := n.Get("required"); r != nil && r.Class == strictyaml.Bool {
		fs.errorf(p.Key("required"), "use optional: true where it may be missing", "a parameter is required by itself")
		return fs, true
	}
	plain = true
	for _, pair := range n.Pairs {
		if !slices.Contains(ourKeywords, pair.Key.Text) {
			plain = plainKeyword(pair.Key.Text, pair.Value) && plain
		}
	}
	s.nearKeywords(&fs)
	if d, t := n.Get("default"), n.Get("type"); d != nil && t != nil && t.Kind == strictyaml.Scalar && plain && !hasType(d, t.Text) {
		fs.errorf(p.Key("default"), "", "the default is not of the type %s", t.Text)
	}
	return fs, plain
}

// nearKeywords warns of keywords that are nearly one of JSON Schema's; the
// others mean nothing and harm nobody.
func (s Schema) nearKeywords(fs *findings) {
	for _, pair := range s.Node.Pairs {
		key := pair.Key.Text
		if slices.Contains(keywords, key) || slices.Contains(ourKeywords, key) || strings.HasPrefix(key, "x-") {
			continue
		}
		if near := strictyaml.Nearest(key, append(slices.Clone(keywords), ourKeywords...)); near != "" {
			fs.warnf(s.Path.Key(key), `did you mean "`+near+`"?`, "%q means nothing in JSON Schema", key)
		}
	}
}

// Arguments checks the schema of a tool's arguments.
func (s Schema) Arguments() []Finding {
	var fs findings
	if s.object(&fs, "the arguments of a tool are an object") {
		s.whole(&fs)
	}
	return fs
}

// Output checks the schema of an agent's answer.
func (s Schema) Output() []Finding {
	var fs findings
	if s.written(&fs) && s.object(&fs, "MCP takes nothing but objects for a structured answer") {
		s.whole(&fs)
	}
	return fs
}

// object sees that the schema is one of type object; why says why it has to be.
func (s Schema) object(fs *findings, why string) bool {
	n := s.Node
	if n.Kind != strictyaml.Mapping {
		fs.errorf(s.Path, "", "want a JSON Schema of type object, not %s", n.Kind)
		return false
	}
	if kind := n.Get("type"); kind == nil || kind.Text != "object" {
		fs.errorf(s.Path, "add type: object", "%s", why)
		return false
	}
	return true
}

// written sees that the schema itself stands in an agent file where ADK has a
// reference to a Python class: a name, or a mapping with a name.
func (s Schema) written(fs *findings) bool {
	name := s.Node
	if name.Kind == strictyaml.Mapping && name.Get("type") == nil && name.Get("properties") == nil {
		name = name.Get("name")
	}
	if name == nil || !isText(name) {
		return true
	}
	fs.errorf(s.Path, "Python cannot run here: write the JSON Schema itself, {type: object, properties: …}", "want a JSON Schema, not the name of a class")
	return false
}

// whole checks what JSON Schema says of the schema.
func (s Schema) whole(fs *findings) {
	s.nearKeywords(fs)
	s.valid(fs)
}

// valid asks the validator where nothing has been found and it is not sure.
func (s Schema) valid(fs *findings) {
	if !plain(s.Node) && s.JSON != nil && !fs.hasErrors() {
		s.compile(fs)
	}
}
