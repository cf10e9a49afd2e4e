package shell

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"a\tb\nc":                  "a\tb\nc",
		"\x1b[1;31mred\x1b[0m":     "red",
		"\x1b[38;2;1;2;3mx":        "x",
		"a\x1b[2K\x1b[1Gb":         "ab",
		"\x1b]0;title\x07text":     "text",
		"\x1b]8;;u\x1b\\l\x1b]8;;": "l8;;",
		"\x1b]52;c;QQ==\u009cx":    "x",
		"\x1bP1$r\x1b\\x":          "x",
		"\x1b]hidden\nshown":       "hidden\nshown",
		"\x1b(Bx\x1b7y\x1b=z\x1bc": "xyz",
		"\x1b":                     "",
		"\x1b[":                    "",
		"\u009b31mx\u0085y":        "xy",
		"a\bb\x7fc\x00d\ve\f":      "abcde",
		"10%\r20%\r\ndone\r":       "10%\n20%\ndone\n",
		"\xff\xfeok":               "\uFFFDok",
		"日本\x1b[0m語":               "日本語",
	} {
		if got := plain([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCleanKeepsWholeCharacters(t *testing.T) {
	euro := "€" // three bytes
	for cut := range 3 {
		got := clean(&process.Stream{Head: []byte("a" + euro[:cut]), Skipped: 10, Tail: []byte(euro[cut+1:] + "b")})
		if got.head != "a" || got.tail != "b" || got.skipped != int64(10+cut+len(euro)-cut-1) {
			t.Errorf("cut %d: got %+v", cut, got)
		}
	}
	if got := clean(&process.Stream{Head: []byte(euro), Skipped: 1, Tail: []byte(euro)}); got.head != euro || got.tail != euro || got.skipped != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestShare(t *testing.T) {
	for _, c := range [][5]int{{10, 2, 20, 2, 8}, {10, 20, 2, 8, 2}, {10, 20, 20, 5, 5}, {10, 1, 1, 1, 9}, {0, 5, 5, 0, 0}} {
		if a, b := share(c[0], c[1], c[2]); a != c[3] || b != c[4] {
			t.Errorf("%v: got %d, %d", c, a, b)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\xff\r\n€"), 100, int64(0))
	f.Add([]byte("\x1b]0;x\x07\x1b]\x1b\u009b€€€€"), 60, int64(5))
	f.Fuzz(func(t *testing.T, b []byte, limit int, skipped int64) {
		if limit < markerRoom || limit > 1<<20 || skipped < 0 || skipped > 1<<40 {
			return
		}
		s := process.Stream{Head: b}
		if skipped > 0 {
			s = process.Stream{Head: b[:len(b)/2], Skipped: skipped, Tail: b[len(b)/2:]}
		}
		cleaned := clean(&s)
		got := cleaned.fit(limit)
		if !utf8.ValidString(got) || len(got) > limit && !strings.HasPrefix(got, "binary, ") {
			t.Errorf("%d of %d bytes: %q", len(got), limit, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0) {
				t.Errorf("control character %U in %q", r, got)
			}
		}
		if again := plain([]byte(got)); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}

// Whatever the value, an element stays one argument that holds the value and
// the text around it, or is refused.
func FuzzArgv(f *testing.F) {
	f.Add("pre{v}post", "x y")
	f.Add("{v}", "-x")
	f.Add("{{v}}{v}$$", "{v}${HOME}")
	f.Fuzz(func(t *testing.T, element, value string) {
		if !utf8.ValidString(value) {
			return
		}
		b := newFuzzTool(element)
		argv, err := b.argv(values{"v": quoted(value)})
		template := template.Parse(element)
		for _, place := range template.Places() {
			if place != "v" {
				return // an argument that is not there
			}
		}
		if err != nil {
			first, leads := firstPlace(template)
			option := strings.HasPrefix(value, "-") || strings.HasPrefix(value, "@") || value == ""
			if refusable := leads && first == "v" && option; !refusable && !strings.ContainsRune(value, 0) {
				t.Errorf("%q in %q is refused: %v", value, element, err)
			}
			return
		}
		want := ""
		for _, s := range template.Segments {
			switch {
			case s.Place != "":
				want += value
			default:
				want += s.Text
			}
		}
		if len(argv) != 2 || argv[1] != want {
			t.Errorf("%q in %q: got %q", value, element, argv)
		}
	})
}

func templates(texts ...string) []template.Text {
	var list []template.Text
	for _, text := range texts {
		list = append(list, template.Parse(text))
	}
	return list
}

func newFuzzTool(element string) *tool {
	return &tool{shell: &config.Shell{Command: templates("prog", element)}}
}

func quoted(s string) value {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return value{raw: raw}
}
