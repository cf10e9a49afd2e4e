package strictyaml

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// attack is H01 of the security cases: each file is refused with its place, soon
// and in bounded memory.
func TestRefused(t *testing.T) {
	anchors := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- &a%d x\n", i)
		}
		return b.String()
	}
	laughs := "a0: &a0 [x, x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	tests := []struct{ name, data, want string }{
		{"H01 14 billion laughs", laughs, "f:8:20: error: the aliases of this file stand for more than 10000 values (write the values out, or use fewer aliases)"},
		{"H01 self alias", "a: &a [*a]\n", "f:1:8: error: the alias *a stands inside the very value that it names"},
		{"H01 self alias in a mapping", "a: &a\n  b: {c: *a}\n", "f:2:10: error: the alias *a stands inside the very value that it names"},
		{"H01 merge of itself", "a: &a\n  <<: *a\n", "f:2:7: error: the alias *a stands inside the very value that it names"},
		{"H01 14 flow nested 20,000 deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "f:1:10001: error: nested deeper than 64 levels"},
		{"H01 14 flow nested 9,000 deep", strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "f:1:65: error: nested deeper than 64 levels"},
		{"14 block nested 10,000 deep", strings.Repeat("- ", 9999) + "x", "f:1:129: error: nested deeper than 64 levels"},
		{"H01 nested through aliases", "a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nb: " + strings.Repeat("[", 30) + "*a" + strings.Repeat("]", 30), "f:2:34: error: nested deeper than 64 levels"},
		{"H01 14 scalar of 50 MB", "a: " + strings.Repeat("x", 50<<20), "f:1:1: error: the file is larger than 1048576 bytes"},
		{"H01 200,000 anchors", anchors(200_000), "f:1:1: error: the file is larger than 1048576 bytes"},
		{"H01 more values than a file may hold", "[" + strings.Repeat("a,", 110_000) + "]", "f:1:40000: error: more than 20000 values in one file"},
		{"H01 two documents", "a: 1\n---\nb: 2\n", "f:2:1: error: a second document begins here (a file holds one document; put the other into a file of its own)"},
		{"H01 two documents, the second is empty", "a: 1\n---\n", "f:2:1: error: a second document begins here"},
		{"H01 duplicate key", "a: 1\nb: {c: 2, c: 3}\na: 4\n", "f:2:11: error: the key \"c\" stands twice"},
		{"H01 duplicate key in another spelling", "a: 1\n\"a\": 2\n", "f:2:1: error: the key \"a\" stands twice in this mapping, on lines 1 and 2 (keep one of them)"},
		{"H01 NUL", "a: \"x\x00\"\n", "f:1:6: error: the control character U+0000 does not belong into a text file"},
		{"H01 bad UTF-8", "a: ok\nb: ü\xff\n", "f:2:5: error: the byte 0xff is not UTF-8"},
		{"H01 UTF-16", "\xff\xfea\x00", "f:1:1: error: the file is in UTF-16; save it as UTF-8"},
		{"H01 Python tag", "a: !!python/object/apply:os.system [id]\n", "f:1:4: error: the tag !!python/object/apply:os.system has no meaning here (remove the tag)"},
		{"H01 binary tag", "a: !!binary aGk=\n", "f:1:4: error: the tag !!binary has no meaning here"},
		{"H01 separator that some take for a line's end", "a: b\u2028c\n", "f:1:5: error: the separator U+2028 ends a line for some programs only"},
		{"09 empty", "", "f:1:1: error: the file is empty"},
		{"09 only a mark", "---\n", "f:1:1: error: the file is empty"},
		{"09 only comments", "# nothing\n\n", "f:1:1: error: the file is empty"},
		{"09 tab", "a: 1\nb:\n\tc: 2\n", "f:3:1: error: a tab cannot indent (use spaces)"},
		{"09 tab behind blanks", "a: 1\nb:\n  \tc: 2\n", "f:3:3: error: a tab cannot indent (use spaces)"},
		{"reserved sign", "a: @b\n", "f:1:4: error: a text cannot begin with '@' (quote the text)"},
		{"two colons", "a: b: c\n", "f:1:5: error: a mapping cannot begin here"},
		{"open quote", "a: 1\nb: \"c\nd: 2\n", "f:2:4: error: the quote that opens here is not closed"},
		{"indentation", "a: 1\n b: 2\n", "f:2:3: error: a mapping cannot begin here"},
		{"key without colon", "a: 1\nb\nc: 3\n", "f:2:1: error: want a colon behind the key (check the indentation)"},
		{"unknown anchor", "a: 1\nb: *c\n", "f:2:5: error: *NAME stands for what &NAME marks, and nothing is marked so (quote a text that begins with *)"},
		{"key that is a number", "a: {1: x}\n", "f:1:5: error: YAML reads the key 1 as a number, not as text (quote it: \"1\")"},
		{"key that is true", "true: x\n", "f:1:1: error: YAML reads the key true as true or false, not as text"},
		{"key that is a list", "[a]: x\n", "f:1:1: error: a key must be a text, not a list"},
		{"empty key", "a:\n  ? \n  : x\n", "f:2:4: error: the key is empty"},
		{"05 merge of a text", "<<: x\n", "f:1:1: error: << takes a mapping or a list of mappings, not a single value"},
		{"05 two merges", "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", "f:4:3: error: the key \"<<\" stands twice in this mapping, on lines 3 and 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, problems := Parse("f", []byte(tt.data))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if len(problems) == 0 || !strings.HasPrefix(problems.Sort()[0].String(), tt.want) {
				t.Errorf("got  %v\nwant %s", problems, tt.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 300<<20 {
				t.Errorf("used %d MB", used>>20)
			}
			if took > 5*time.Second { // one, on a machine that does nothing else
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"09 byte order mark", "\ufeffa: 1\nb: 2\n", `{"a":1,"b":2}`},
		{"09 CRLF", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", `{"a":1,"b":"x\ny\n"}`},
		{"09 no newline at the end", "a: 1\nb: c", `{"a":1,"b":"c"}`},
		{"09 JSON", "{\n\t\"a\": [1, 2.50, true, null],\n\t\"<<\": \"x\"\n}", `{"a":[1,2.50,true,null],"<<":"x"}`},
		{"05 merge, the override wins", "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {z: 9, <<: [*a, *b]}", `{"a":{"x":1,"y":2},"b":{"y":3,"z":4},"c":{"z":9,"x":1,"y":2}}`},
		{"merge of merged", "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}", `{"a":{"x":1},"b":{"y":2,"x":1},"c":{"y":2,"x":1}}`},
		{"anchored text", "a: &t text\nb: *t\n*t : key", `{"a":"text","b":"text","text":"key"}`},
		{"numbers as written", "[12345678901234567890, 1.10, 1e400, -0.0, 0]", `[12345678901234567890,1.10,1e400,-0.0,0]`},
		{"words and dates are text", "[yes, No, on, y, 2026-11-30, 2026-11-30T10:00:00Z, 1.2.3, 12:30, 2026-11-30 is a date]",
			`["yes","No","on","y","2026-11-30","2026-11-30T10:00:00Z","1.2.3","12:30","2026-11-30 is a date"]`},
		{"core tags", "[!!str 1, !!int 2, !!float 3, !!bool true, !!null null, !!seq [], !!map {}, !!int \"4\"]", `["1",2,3,true,null,[],{},4]`},
		{"an end mark", "a: 1\n...\n", `{"a":1}`},
		{"a start mark", "---\na: 1\n", `{"a":1}`},
		{"folded text", "a: >\n  b\n  c\n", `{"a":"b c\n"}`},
		{"escapes", `a: "\x41 \u2028 \0 <&>"`, `{"a":"A ` + `\u2028` + ` \u0000 <&>"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, problems := Parse("f", []byte(tt.data))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := doc.JSON(nil, func(_ *Path, s string) string { return s }); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// 09: neither a byte order mark nor CRLF shifts positions, and columns count
// characters.
func TestPositions(t *testing.T) {
	for _, tt := range []struct{ name, data string }{
		{"plain", "a: 1\n\"ü€😀\": {b: [x, *y]}\n"},
		{"09 CRLF", "a: 1\r\n\"ü€😀\": {b: [x, *y]}\r\n"},
		{"09 CR", "a: 1\r\"ü€😀\": {b: [x, *y]}\r"},
		{"09 byte order mark", "\ufeffa: 1\n\"ü€😀\": {b: [x, *y]}\n"},
		{"09 both", "\ufeffa: 1\r\n\"ü€😀\": {b: [x, *y]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Parse("f", []byte(tt.data))
			if len(problems) != 1 || problems[0].Line != 2 || problems[0].Column != 17 {
				t.Errorf("the unknown anchor: %v", problems)
			}
			doc, problems := Parse("f", []byte(strings.ReplaceAll(tt.data, "*y", " z")))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var root *Path
			p := root.Key("ü€😀").Key("b").Index(1)
			if line, column := doc.Position(p); line != 2 || column != 17 {
				t.Errorf("the item stands at %d:%d", line, column)
			}
			if line, column := doc.KeyPosition(root.Key("ü€😀")); line != 2 || column != 1 {
				t.Errorf("the key stands at %d:%d", line, column)
			}
			if line, column := doc.Position(p.Key("no such key")); line != 2 || column != 17 {
				t.Errorf("what is not there is said to stand at %d:%d", line, column)
			}
		})
	}
}

func TestExcerpt(t *testing.T) {
	_, problems := Parse("f", []byte("a:\n  \tb: 1\n"))
	if got, want := problems[0].Excerpt(), "  →b: …\n  ^"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, problems = Parse("f", []byte("a: secret: b\n"))
	if got := problems[0].Excerpt(); got != "" {
		t.Errorf("shows what may be a secret: %q", got)
	}
	_, problems = Parse("f", []byte("a: !x 1\n"))
	if got := problems[0].Excerpt(); got != "" {
		t.Errorf("an excerpt of what is no matter of characters: %q", got)
	}
}

func TestLongFilesNameTheLineOnly(t *testing.T) {
	data := strings.Repeat("a: b\n\n", 1) + strings.Repeat("# comment\n", 10_000) + "c: d: e\n"
	_, problems := Parse("f", []byte(data))
	if len(problems) != 1 || problems[0].Line != 10_003 || problems[0].Column != 1 {
		t.Errorf("%v", problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, problems := Parse("f", []byte("["+strings.Repeat("!x a,", 2000)+"]"))
	if len(problems) != MaxProblems+1 || !strings.Contains(problems[MaxProblems].Message, "more than 1000 problems") {
		t.Errorf("%d problems, the last is %v", len(problems), problems[len(problems)-1])
	}
}

// FuzzParse feeds the parser and the decoder whatever comes: they never panic,
// they end, and every place lies inside of the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a", "a: 1", "a: [b, {c: d}]", "- a\n- b", "a: &x {b: 1}\nc: {<<: *x, d: 2}", "a: *b", "\ufeffa: b\r\nc: d", "a: |\n  x\n\ty", "a: 'b''c'", "? a\n: b",
		"a: \"\\u2028\"", "---\na\n---\nb", "%YAML 1.2\n---\na: b", "a: !!str 1", "!<tag:yaml.org,2002:map> {}", "{a: [}", "a:\n\tb", "# c\n", "a: b: c", "[[[[", "{{{{",
		"name: x\nlist: [1, 2]\nentries: {a: b}\nnested: {text: y}\nlevel: high\nuno: 3", "x: \x85y", "a: b\rc: d", "<<: [{a: 1}, {a: 2}]", "a: >-\n\n  b\n", "\"\\x41\": 1", "a: .inf",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 16<<10 {
			return
		}
		doc, problems := Parse("f", data)
		if doc == nil && len(problems) == 0 {
			t.Fatal("no document and no problem")
		}
		if doc != nil {
			var into sample
			d := NewDecoder(Options{Expand: func(_ *Cursor, text string) (string, bool) { return text, true }})
			problems = append(problems, d.Decode(doc, &into)...)
			doc.Canonical(func(string) bool { return false })
		}
		lines := bytes.Split(bytes.ReplaceAll(bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")), []byte("\n"))
		for _, p := range problems.Sort() {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(string(lines[p.Line-1])))+1 {
				t.Fatalf("%v lies outside of %q", p, data)
			}
			_ = p.String() + p.Excerpt()
		}
	})
}
