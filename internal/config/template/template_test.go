package template

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTemplate(t *testing.T) {
	place := func(name string) Segment { return Segment{Place: name} }
	lit := func(s string) Segment { return Segment{Text: s} }
	tests := []struct {
		in   string
		want []Segment
	}{
		{"", nil},
		{"plain", []Segment{lit("plain")}},
		{"{name}", []Segment{place("name")}},
		{"a{b-c}d", []Segment{lit("a"), place("b-c"), lit("d")}},
		{"{{name}}", []Segment{lit("{name}")}},
		{"{{{name}}}", []Segment{lit("{{name}}")}},
		{"{print $1} {a b} {} {1} {?x}", []Segment{lit("{print $1} {a b} {} {1} {?x}")}},
		{"costs $5, $$HOME, $HOME", []Segment{lit("costs $5, $HOME, $HOME")}},
		{"${VAR}", []Segment{{Var: "VAR"}}},
		{"a${VAR:-x y}b", []Segment{lit("a"), {Var: "VAR", HasDefault: true, Default: "x y"}, lit("b")}},
		{"${VAR:-}", []Segment{{Var: "VAR", HasDefault: true}}},
		{"${VAR:-open", []Segment{lit("${VAR:-open")}},
		{"${a-b} ${1} ${} ${x", []Segment{lit("${a-b} ${1} ${} ${x")}},
		{"$${name}", []Segment{lit("${name}")}},
		{"${{name}}", []Segment{lit("${name}")}},
		{"ü{x}€", []Segment{lit("ü"), place("x"), lit("€")}},
		{"{x}{y}", []Segment{place("x"), place("y")}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Parse(tt.in).Segments); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
	if got := ParsePlaces("${VAR} $$ {x} ${x} {{y}}").Segments; !slices.Equal(got, []Segment{lit("${VAR} $$ "), place("x"), lit(" ${x} {y}")}) {
		t.Errorf("ParsePlaces: %+v", got)
	}
	if got := ParseVars("${VAR} $$ {x} {{y}}").Segments; !slices.Equal(got, []Segment{{Var: "VAR"}, lit(" $ {x} {{y}}")}) {
		t.Errorf("ParseVars: %+v", got)
	}
}

func TestResolve(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"SET": "{x}$$", "EMPTY": ""}[name]
		return v, ok
	}
	got, missing := Parse("${SET}{x}${EMPTY}${EMPTY:-e}${NONE:-n}${NONE}${GONE}").Resolve(lookup)
	if !slices.Equal(missing, []string{"NONE", "GONE"}) {
		t.Errorf("missing %q", missing)
	}
	text, err := got.Expand(func(string) (string, error) { return "[x]", nil })
	if err != nil || text != "{x}$$[x]en" {
		t.Errorf("%q %v: a value became syntax", text, err)
	}
	if !slices.Equal(got.EnvValues(), []string{"{x}$$"}) {
		t.Errorf("values %q", got.EnvValues())
	}
}

// FuzzSource: a resolved template that can be written reads as itself.
func FuzzSource(f *testing.F) {
	for _, seed := range []string{"", "a{x}b", "{{x}}", "${V}{x}", "${V}{x}${V}", "$$${V}"} {
		f.Add(seed, "{x}")
		f.Add(seed, "{")
		f.Add(seed, "$")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		resolved, _ := Parse(source).Resolve(func(string) (string, bool) { return value, true })
		written, ok := resolved.Source()
		expand := func(t Text) string {
			s, _ := t.Expand(func(place string) (string, error) { return "\x00" + place + "\x00", nil })
			return s
		}
		if ok && expand(ParsePlaces(written)) != expand(resolved) {
			t.Errorf("%q with %q is written as %q", source, value, written)
		}
		if !ok && value == "" {
			t.Errorf("%q cannot be written", source)
		}
	})
}
