package strictyaml

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample has a field of every shape.
type sample struct {
	_ string `yaml:"$schema"`
	_ any    `yaml:"x-*"`

	Name    string            `yaml:"name" required:"true" pattern:"^[a-z ]+$" form:"small letters" why:"it is said so" max:"8"`
	Level   string            `yaml:"level" default:"low" enum:"low,high"`
	On      bool              `yaml:"switched"`
	Maybe   *bool             `yaml:"maybe"`
	Count   int               `yaml:"count" default:"7" min:"1" max:"9"`
	Share   float64           `yaml:"share" min:"0"`
	Small   int32             `yaml:"small" env:"true"`
	List    []int             `yaml:"list" default:"3" min:"2"`
	Map     map[string]string `yaml:"map" env:"true"`
	Raw     json.RawMessage   `yaml:"raw"`
	Any     any               `yaml:"any"`
	Entries []entry           `yaml:"entries" entries:"true"`
	Union   union             `yaml:"union"`
	Nested  nested            `yaml:"nested"`
	Pointer *nested           `yaml:"pointer"`
	Foreign *foreign          `yaml:"foreign"`
	Ignored string            `yaml:"-"`
}

type nested struct {
	Text  string   `yaml:"text" default:"as ever"`
	Inner []nested `yaml:"inner"`
}

// foreign is a type of another module, with camelCase json tags.
type foreign struct {
	MaxTokens *int32   `json:"maxTokens,omitempty"`
	TopP      float32  `json:"topP"`
	Data      []byte   `json:"data"`
	Stop      []string `json:"stopSequences"`
	Tools     []string `json:"tools"`
}

type entry struct{ name, text string }

func (e *entry) DecodeYAML(c *Cursor) { e.name = c.Key(); e.text, _ = c.Text() }
func (*entry) DescribeYAML(g *Generator) Object {
	return g.Of("")
}

// union is a text or a mapping with one key.
type union struct {
	Text string `yaml:"-"`
	One  string `yaml:"one"`
	Size int    `yaml:"size" default:"1"`
}

func (u *union) DecodeYAML(c *Cursor) {
	if c.Node().Kind == Scalar {
		c.Defaults(u)
		u.Text, _ = c.Text()
		return
	}
	c.DecodeStruct(u)
}

func (*union) DescribeYAML(g *Generator) Object { return AnyOf(g.Of(""), g.Struct(union{})) }

var sampleOptions = Options{
	Refused: map[reflect.Type]map[string]string{
		reflect.TypeFor[sample]():  {"code": "write it in YAML"},
		reflect.TypeFor[foreign](): {"tools": "use the others"},
	},
	Expand: func(c *Cursor, text string) (string, bool) {
		if strings.Contains(text, "MISSING") {
			c.Report(Warning, "", "not set")
			return "", false
		}
		return strings.ReplaceAll(text, "$N", "5"), true
	},
}

func decode(t *testing.T, data string) (sample, Problems) {
	t.Helper()
	doc, problems := Parse("f", []byte(data))
	if doc == nil {
		t.Fatal(problems)
	}
	var s sample
	problems = append(problems, NewDecoder(sampleOptions).Decode(doc, &s)...)
	return s, problems.Sort()
}

func TestDecode(t *testing.T) {
	got, problems := decode(t, `
$schema: any
x-mine: {a: 1}
name: sample
switched: true
maybe: false
count: 9
share: 0.5
small: "$N"
list: [2, 3]
map: {a: "$N", b: "$"}
raw: {z: 1.10, a: [12345678901234567890, yes]}
any: {n: 1.10, l: [~, true]}
entries: {b: two, a: one}
union: text
nested:
pointer: {inner: [{text: deep}]}
foreign: {max_tokens: 5, topP: 0.5, data: aGk=, stopSequences: [a]}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	no, five := false, int32(5)
	want := sample{
		Name: "sample", Level: "low", On: true, Maybe: &no, Count: 9, Share: 0.5, Small: 5, List: []int{2, 3},
		Map: map[string]string{"a": "5", "b": "$"}, Raw: json.RawMessage(`{"z":1.10,"a":[12345678901234567890,"yes"]}`),
		Any:     map[string]any{"n": json.Number("1.10"), "l": []any{nil, true}},
		Entries: []entry{{"b", "two"}, {"a", "one"}}, Union: union{Text: "text", Size: 1}, Nested: nested{Text: "as ever"},
		Pointer: &nested{Text: "as ever", Inner: []nested{{Text: "deep"}}},
		Foreign: &foreign{MaxTokens: &five, TopP: 0.5, Data: []byte("hi"), Stop: []string{"a"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{}, sample{})); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	got, problems := decode(t, "name: a\nlist:\nunion: {one: x}\npointer: {}\n")
	want := sample{Name: "a", Level: "low", Count: 7, List: []int{3}, Union: union{One: "x", Size: 1}, Nested: nested{Text: "as ever"}, Pointer: &nested{Text: "as ever"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{}, sample{})); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

func TestDecodeProblems(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"not a mapping", "[a]", "f:1:1: error: want a mapping, not a list"},
		{"missing key", "{}", `f:1:1: error: the key "name" is missing`},
		{"unknown key", "nme: a", `f:1:1: error: nme: unknown key "nme" (did you mean "name"?)`},
		{"unknown key that is elsewhere", "name: a\nnested: {level: low, one: 1, text: x}",
			`f:2:10: error: nested.level: unknown key "level" ("level" belongs at the top level)` + "\n" +
				`f:2:22: error: nested.one: unknown key "one" ("one" belongs under union)`},
		{"unknown key of several places", "name: a\ntext: b\ninner: []", `f:2:1: error: text: unknown key "text" ("text" belongs under nested)` + "\n" +
			`f:3:1: error: inner: unknown key "inner" ("inner" belongs under nested)`},
		{"refused key", "name: a\ncode: {}\nforeign: {tools: []}", `f:2:1: error: code: the key "code" cannot be used here (write it in YAML)` + "\n" +
			`f:3:11: error: foreign.tools: the key "tools" cannot be used here (use the others)`},
		{"two spellings", "name: a\nforeign: {max_tokens: 1, maxTokens: 2}", "f:2:26: error: foreign.maxTokens: stands here as max_tokens and as maxTokens (keep one of them)"},
		{"near a foreign key", "name: a\nforeign: {maxToken: 1}", `f:2:11: error: foreign.maxToken: unknown key "maxToken" (did you mean "maxTokens"?)`},
		{"pattern, length", "name: A1234567890", `f:1:7: error: name: has 11 characters, the most is 8 (it is said so)` + "\n" +
			`f:1:7: error: name: want small letters, not "A1234567890" (it is said so)`},
		{"enum", "name: a\nlevel: hihg", `f:2:8: error: level: want low or high, not "hihg" (did you mean "high"?)`},
		{"06 text", "name: 1.10\nlevel: [a]\nentries: {a: ~, b: on, c: {}}", "f:1:7: error: name: YAML reads 1.10 as a number, not as text (quote it: \"1.10\")\n" +
			"f:2:8: error: level: want text, not a list\nf:3:14: error: entries.a: YAML reads ~ as nothing, not as text (quote it: \"~\")\n" +
			"f:3:20: error: entries.b: many YAML readers take on for true or false (quote it: \"on\")\nf:3:27: error: entries.c: want text, not a mapping"},
		{"boolean", "name: a\nswitched: on\nmaybe: \"true\"", `f:2:11: error: switched: want true or false, not on` + "\n" + `f:3:8: error: maybe: want true or false, not the text "true"`},
		{"numbers", "name: a\ncount: 10\nshare: -1\nsmall: 3000000000\nlist: [1, 2.0, 0x3, 1_0]",
			"f:2:8: error: count: 10 is out of range (the most is 9)\nf:3:8: error: share: -1 is out of range (the least is 0)\n" +
				"f:4:8: error: small: 3000000000 is out of range\nf:5:8: error: list[0]: 1 is out of range (the least is 2)\n" +
				"f:5:11: error: list[1]: want a whole number in plain digits, not 2.0\nf:5:16: error: list[2]: want a whole number in plain digits, not 0x3\n" +
				"f:5:21: error: list[3]: want a whole number in plain digits, not 1_0"},
		{"JSON has no such numbers", "name: a\nraw: [.inf, 0x1, 010, +1, .5]\nany: {a.b: .nan}",
			"f:2:7: error: raw[0]: JSON has no number .inf (write it in plain digits, or quote it: \".inf\")\nf:2:13: error: raw[1]: JSON has no number 0x1 (write it in plain digits, or quote it: \"0x1\")\n" +
				"f:2:18: error: raw[2]: JSON has no number 010 (write it in plain digits, or quote it: \"010\")\nf:2:23: error: raw[3]: JSON has no number +1 (write it in plain digits, or quote it: \"+1\")\n" +
				"f:2:27: error: raw[4]: JSON has no number .5 (write it in plain digits, or quote it: \".5\")\nf:3:12: error: any[\"a.b\"]: JSON has no number .nan (write it in plain digits, or quote it: \".nan\")"},
		{"no value", "name:\nswitched:\ncount:", "f:1:1: error: name: has no value, want text (give it a value or remove the key)\n" +
			"f:2:1: error: switched: has no value, want true or false (give it a value or remove the key)\n" +
			"f:3:1: error: count: has no value, want a whole number in plain digits (give it a value or remove the key)"},
		{"what the environment holds is not shown", "name: a\nsmall: \"x$N\"\nmap: {a: \"$MISSING\"}",
			"f:2:8: error: small: want a whole number in plain digits, not the text \"x$N\"\nf:3:10: warning: map.a: not set"},
		{"base64", "name: a\nforeign: {data: \"!\"}", "f:2:17: error: foreign.data: is not of the form that is wanted here"},
		{"shared by aliases, said once", "name: a\nx-a: &a {wrong: 1}\nnested: *a\npointer: *a", `f:2:10: error: nested.wrong: unknown key "wrong"`},
		{"every unknown key, whatever its value", "name: a\none: 1\ntwo: [1]\nthree: {a: {b: c}}\nfour:\nfive: |\n  x\nsix: \"s\"",
			`f:2:1: error: one: unknown key "one" ("one" belongs under union)` + "\n" + `f:3:1: error: two: unknown key "two"` + "\n" + `f:4:1: error: three: unknown key "three"` + "\n" +
				`f:5:1: error: four: unknown key "four"` + "\n" + `f:6:1: error: five: unknown key "five"` + "\n" + `f:8:1: error: six: unknown key "six"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := decode(t, tt.data)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(strings.Split(tt.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"comand", []string{"name", "command"}, "command"},
		{"sidez", []string{"sides"}, "sides"},
		{"naem", []string{"name"}, "name"}, // two neighbours swapped
		{"Name", []string{"name"}, "name"},
		{"a", []string{"b"}, ""},
		{"one", []string{"two"}, ""},
		{"", []string{"a"}, ""},
		{strings.Repeat("a", 1000), []string{strings.Repeat("a", 999)}, ""},
	} {
		if got := Nearest(tt.name, tt.candidates); got != tt.want {
			t.Errorf("Nearest(%.20q, %q) = %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
}

func TestProblemsAreValues(t *testing.T) {
	_, problems := decode(t, "name: 1\n")
	raw, err := json.Marshal(problems)
	const want = `[{"severity":"error","file":"f","line":1,"column":7,"path":"name","message":"YAML reads 1 as a number, not as text","hint":"quote it: \"1\""}]`
	if err != nil || string(raw) != want {
		t.Errorf("got  %s %v\nwant %s", raw, err, want)
	}
	if !problems.HasErrors() || (Problems{{Severity: Warning}}).HasErrors() {
		t.Error("HasErrors")
	}
}

func TestSchema(t *testing.T) {
	got, err := NewDecoder(sampleOptions).Schema("Sample", sample{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Sample","type":"object","properties":{
"$schema":{"type":"string"},
"name":{"type":"string","pattern":"^[a-z ]+$","maxLength":8},
"level":{"type":"string","enum":["low","high"],"default":"low"},
"switched":{"type":"boolean"},
"maybe":{"type":"boolean"},
"count":{"type":"integer","minimum":1,"maximum":9,"default":7},
"share":{"type":"number","minimum":0},
"small":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"\\$"}]},
"list":{"type":["array","null"],"items":{"type":"integer","minimum":2},"default":[3]},
"map":{"type":["object","null"],"additionalProperties":{"type":"string"}},
"raw":{},"any":{},
"entries":{"type":["object","null"],"additionalProperties":{"type":"string"}},
"union":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/union"}]},
"nested":{"anyOf":[{"$ref":"#/$defs/nested"},{"type":"null"}]},
"pointer":{"anyOf":[{"$ref":"#/$defs/nested"},{"type":"null"}]},
"foreign":{"anyOf":[{"$ref":"#/$defs/foreign"},{"type":"null"}]}},
"patternProperties":{"^x-":{}},"required":["name"],"additionalProperties":false,
"$defs":{
"foreign":{"type":"object","properties":{"max_tokens":{"type":"integer"},"maxTokens":{"type":"integer"},"top_p":{"type":"number"},"topP":{"type":"number"},
"data":{"type":"string","contentEncoding":"base64"},"stop_sequences":{"type":["array","null"],"items":{"type":"string"}},"stopSequences":{"type":["array","null"],"items":{"type":"string"}}},"additionalProperties":false},
"nested":{"type":"object","properties":{"text":{"type":"string","default":"as ever"},"inner":{"type":["array","null"],"items":{"$ref":"#/$defs/nested"}}},"additionalProperties":false},
"union":{"type":"object","properties":{"one":{"type":"string"},"size":{"type":"integer","default":1}},"additionalProperties":false}}}`
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		t.Fatal("no JSON")
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(string(got), "{\n  \"$schema\"") {
		t.Error("not indented, or not in order")
	}
}
