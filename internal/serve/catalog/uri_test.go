package catalog

import (
	"maps"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          map[string]string // nil: it does not fit
	}{
		{"n://{x}", "n://a", map[string]string{"x": "a"}},
		{"n://{x}", "n://a%20b%2Fc%25", map[string]string{"x": "a b/c%"}},
		{"n://{x}", "n://%c3%a9", map[string]string{"x": "é"}},
		{"n://{x}", "n://", nil},
		{"n://{x}", "n://a/b", nil},
		{"n://{x}", "n:///a", nil},
		{"n://{x}", "m://a", nil},
		{"n://{x}", "N://a", nil},
		{"n://{x}", "n://a?b", nil},
		{"n://{x}", "n://a#b", nil},
		{"n://{x}", "n://é", nil},
		{"n://{x}", "n://a b", nil},
		{"n://{x}", "n://a+b", nil},
		{"n://{x}", "n://%", nil},
		{"n://{x}", "n://%zz", nil},
		{"n://{x}", "n://%ff", nil},
		{"n://{x}", "n://%00", nil},
		{"n://{x}", "n://%7f", nil},
		{"n://a-{x}.md", "n://a-b.md", map[string]string{"x": "b"}},
		{"n://a-{x}.md", "n://a-.md", nil},
		{"n://a-{x}-a", "n://a-a", nil},
		{"n://{a}/x/{b}", "n://1/x/2", map[string]string{"a": "1", "b": "2"}},
		{"n://{a}/x/{b}", "n://1/y/2", nil},
		{"n:{a}", "n:1", map[string]string{"a": "1"}},
		{"n://x?q={q}", "n://x?q=1", map[string]string{"q": "1"}},
	} {
		got, ok := newPattern(c.template).match(c.uri)
		if ok != (c.want != nil) || ok && !maps.Equal(got, c.want) {
			t.Errorf("%s %s: got %q %v, want %q", c.template, c.uri, got, ok, c.want)
		}
	}
	if _, ok := newPattern("n://x").match("n://x"); !ok {
		t.Error("a URI without places does not fit itself")
	}
}

// FuzzEscape holds escape and decode together: what one writes the other reads,
// where it can be a value at all.
func FuzzEscape(f *testing.F) {
	for _, value := range []string{"a", "a b", "%", "é", "\x00", "a/b:c@d", ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		uri := "n://" + escape(value)
		values, ok := newPattern("n://{x}").match(uri)
		if ok && values["x"] != value {
			t.Errorf("%q became %q", value, values["x"])
		}
		if got, readable := decode(escape(value)); readable != ok || ok && got != value {
			t.Errorf("%q: %q %v", value, got, readable)
		}
	})
}

// FuzzOverlap looks for a URI that fits two patterns which are said not to overlap.
func FuzzOverlap(f *testing.F) {
	f.Add("n://{x}", "n://a", "n://a")
	f.Add("n://a-{x}", "n://{x}.md", "n://a-b.md")
	f.Add("n://{x}/b", "n://a/{x}", "n://a/b")
	f.Fuzz(func(t *testing.T, p, q, uri string) {
		a, b := newPattern(p), newPattern(q)
		_, one := a.match(uri)
		_, other := b.match(uri)
		if one && other && (!a.overlaps(b) || !b.overlaps(a)) {
			t.Errorf("%q fits %q and %q", uri, p, q)
		}
	})
}
