package template_test

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/template"
)

func TestParseInstruction(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"{a}":                         "<a>",
		"{{a}} and { b }":             "<a> and <b>",
		"x{a?}y":                      "x<a?>y",
		"{app:a}{user:b?}{temp:c_1}":  "<app:a><user:b?><temp:c_1>",
		"{artifact.a b.txt}":          "<artifact.a b.txt>",
		`{"a": 1} {1a} {a-b} {} { }`:  `{"a": 1} {1a} {a-b} {} { }`,
		"${a} $ {b}":                  "${a} $ <b>",
		"{a {b} c}":                   "{a <b> c}",
		"{unclosed":                   "{unclosed",
		"{ünïcode٣}":                  "<ünïcode٣>",
		"{other:a} {artifact.} {a:b}": "{other:a} {artifact.} {a:b}",
	} {
		var b strings.Builder
		for _, s := range template.ParseInstruction(in) {
			b.WriteString(s.Text)
			if s.Key != "" {
				b.WriteString("<" + s.Key)
				if s.Optional {
					b.WriteString("?")
				}
				b.WriteString(">")
			}
		}
		if b.String() != want {
			t.Errorf("%q gives %q, want %q", in, b.String(), want)
		}
	}
}
