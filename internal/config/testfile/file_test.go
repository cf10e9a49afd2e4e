package testfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/adkmcp/adkmcp/internal/config"
	agents "github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// write puts files into a folder that the test works in, so that paths in
// messages are short.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// model reads a judge's model as the program does.
func model(doc *strictyaml.Document, key string) (*config.Agent, strictyaml.Problems, error) {
	return agents.Model(doc, key, agents.Options{LookupEnv: func(name string) (string, bool) { return "canary-" + name, name == "SET" }})
}

func load(t *testing.T, path string) (*File, string) {
	t.Helper()
	f, problems, err := Load(path, model)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return f, strings.Join(lines, "\n")
}

const everything = `# yaml-language-server: $schema=test.schema.json
agent: sub/dice.yaml
recording: rec/dice.json
judge: {name: gemini-flash-latest, temperature: 0}
x-note: ours
cases:
  - name: rolls
    request: Roll a d20
    tools:
      roll_die: "17"
      look_up: {rows: [1, 2.50], more: null}
      fails: {error: no such die}
      inner/clock: [noon, {error: late}, [1]]
      never: []
    state: {plan: pro, n: 12345678901234567890}
    approve: false
    expect:
      calls: [{roll_die: {sides: 20}}, look_up, {other: }]
      calls_any_order: true
      text: You rolled 17.
      contains: [rolled, "17"]
      not_contains: 18
      matches: ['^You', '\d+\.$']
      json: {".total": 17, ".dice[0]": {sides: 20}}
      judge: says that the die shows 17
      max_tokens: 2000
      max_steps: 3
  - name: refuses
    arguments: {sides: 1}
    expect: {error: blocked, calls: []}
  - name: goes on
    turns:
      - request: Roll a d8
      - request: And again
        expect: {contains: again}
`

func TestLoad(t *testing.T) {
	write(t, map[string]string{"d/sub/dice.yaml": "", "d/x.test.yaml": strings.Replace(everything, "not_contains: 18", `not_contains: "18"`, 1)})
	f, problems := load(t, "d/x.test.yaml")
	if problems != "" {
		t.Fatal(problems)
	}
	if f.Path != "d/x.test.yaml" || f.Agent != "d/sub/dice.yaml" || f.Recording != "d/rec/dice.json" || f.Judge.Model.Provider != "gemini" || *f.Judge.Model.Temperature != 0 || f.Judge.Model.Timeout == 0 {
		t.Errorf("%+v", f)
	}
	first := f.Cases[0]
	want := []StandIn{
		{Tool: "roll_die", Results: []Result{{Output: "17"}}},
		{Tool: "look_up", Results: []Result{{Output: map[string]any{"rows": []any{json.Number("1"), json.Number("2.50")}, "more": nil}}}},
		{Tool: "fails", Results: []Result{{Output: "no such die", IsError: true}}},
		{Tool: "inner/clock", Listed: true, Results: []Result{{Output: "noon"}, {Output: "late", IsError: true}, {Output: []any{json.Number("1")}}}},
		{Tool: "never", Listed: true, Results: []Result{}},
	}
	if d := cmp.Diff(want, first.Tools); d != "" {
		t.Error(d)
	}
	e := first.Turns[0].Expect
	calls := []Call{{"roll_die", json.RawMessage(`{"sides":20}`)}, {"look_up", json.RawMessage(`{}`)}, {"other", json.RawMessage(`{}`)}}
	if d := cmp.Diff(&calls, e.Calls); d != "" {
		t.Error(d)
	}
	if first.Pos.Line != 7 || first.Pos.Column != 5 || *first.Approve || first.State["n"] != json.Number("12345678901234567890") || first.Turns[0].Request != "Roll a d20" {
		t.Errorf("%+v", first)
	}
	if !e.CallsAnyOrder || e.Text[0] != "You rolled 17." || len(e.Contains) != 2 || e.NotContains[0] != "18" || len(e.Matches) != 2 || e.Judge[0] == "" || e.MaxTokens != 2000 || e.MaxSteps != 3 {
		t.Errorf("%+v", e)
	}
	if len(e.JSON) != 2 || e.JSON[0].Program != ".total" || e.JSON[0].Want != json.Number("17") || e.JSON[1].Code == nil {
		t.Errorf("%+v", e.JSON)
	}
	second, third := f.Cases[1].Turns, f.Cases[2].Turns
	if string(second[0].Arguments) != `{"sides":1}` || second[0].Expect.Error != "blocked" || second[0].Expect.Calls == nil || len(*second[0].Expect.Calls) != 0 {
		t.Errorf("%+v", second[0])
	}
	if len(third) != 2 || third[0].Expect != nil || third[1].Expect.Contains[0] != "again" {
		t.Errorf("%+v", third)
	}
}

func TestDefaults(t *testing.T) {
	const one = "cases: [{name: a, request: x, expect: {text: x}}]"
	write(t, map[string]string{"a.yml": "", "a.test.yaml": one, "b.json": "", "b.TEST.json": `{"cases": [{"name": "a", "request": "x", "expect": {"text": "x"}}]}`})
	for path, want := range map[string]string{"a.test.yaml": "a.yml a.recording.json", "b.TEST.json": "b.json b.recording.json"} {
		f, problems := load(t, path)
		if got := f.Agent + " " + f.Recording; got != want || problems != "" || f.Judge.Agent != nil {
			t.Errorf("%s: %s\n%s", path, got, problems)
		}
	}
}

func TestProblems(t *testing.T) {
	one := func(lines ...string) string {
		return "cases:\n  - name: a\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	cases := []struct{ name, file, want string }{
		{"empty", "", "x.test.yaml:1:1: error: the file is empty"},
		{"a list", "[]", "x.test.yaml:1:1: error: want a mapping, not a list"},
		{"no cases", "agent: x.yaml", `x.test.yaml:1:1: error: the key "cases" is missing`},
		{"cases without any", "cases: []", "x.test.yaml:1:8: error: cases: there is no case"},
		{"a slip in a key", "case: []", `x.test.yaml:1:1: error: case: unknown key "case" (did you mean "cases"?)`},
		{"a slip below", one("request: x", "expect: {contain: x}"),
			`x.test.yaml:4:14: error: cases[0].expect.contain: unknown key "contain" (did you mean "contains"?)`},
		{"a key in the wrong place", one("request: x", "contains: x", "expect: {text: x}"),
			`x.test.yaml:4:5: error: cases[0].contains: unknown key "contains" ("contains" belongs under cases[].expect)`},
		{"no agent", "agent: y.yaml\n" + one("request: x", "expect: {text: x}"), "x.test.yaml:1:8: error: agent: there is no file y.yaml"},
		{"no name", "cases: [{request: x, expect: {text: x}}]", `x.test.yaml:1:9: error: cases[0]: the key "name" is missing`},
		{"two of a name", one("request: x", "expect: {text: x}") + "  - {request: x, name: a, expect: {text: x}}",
			"x.test.yaml:5:24: error: cases[1].name: the case in line 2 has this name too (rename one of them)"},
		{"nothing is asked", one("expect: {text: x}"), "x.test.yaml:2:5: error: cases[0]: want one of the keys request, arguments or turns"},
		{"two things are asked", one("request: x", "arguments: {}", "expect: {text: x}"),
			"x.test.yaml:4:5: error: cases[0].arguments: does not go together with request (keep one of them)"},
		{"an empty request", one(`request: " "`, "expect: {text: x}"), "x.test.yaml:3:5: error: cases[0].request: the request is empty"},
		{"arguments that are none", one("arguments: [1]", "expect: {text: x}"), "x.test.yaml:3:5: error: cases[0].arguments: want a mapping of arguments, not a list"},
		{"nothing is expected", one("request: x"), "x.test.yaml:2:5: error: cases[0]: the case expects nothing (add expect with text, contains, calls or another)"},
		{"an empty expect", one("request: x", "expect: {}"), "x.test.yaml:4:13: error: cases[0].expect: nothing is expected (add text, contains, calls or another)"},
		{"turns and expect", one("turns: [{request: x, expect: {text: x}}]", "expect: {text: x}"),
			"x.test.yaml:4:5: error: cases[0].expect: does not go together with turns (give each turn an expect of its own)"},
		{"turns that expect nothing", one("turns: [{request: x}, {request: x}]"), "x.test.yaml:3:5: error: cases[0].turns: no turn expects anything (give the last turn an expect)"},
		{"no turns", one("turns: []"), "x.test.yaml:3:5: error: cases[0].turns: holds no turn"},
		{"a turn without a request", one("turns: [{expect: {text: x}}]"), "x.test.yaml:3:13: error: cases[0].turns[0]: want one of the keys request or arguments"},
		{"a text that is a number", one("request: x", "expect: {contains: [x, 17]}"),
			`x.test.yaml:4:28: error: cases[0].expect.contains[1]: YAML reads 17 as a number, not as text (quote it: "17")`},
		{"no text", one("request: x", `expect: {text: ""}`), "x.test.yaml:4:20: error: cases[0].expect.text: the text is empty"},
		{"no texts", one("request: x", `expect: {text: []}`), "x.test.yaml:4:20: error: cases[0].expect.text: the list is empty"},
		{"texts that are none", one("request: x", `expect: {text: {a: b}}`), "x.test.yaml:4:20: error: cases[0].expect.text: want a text or a list of texts, not a mapping"},
		{"a bad pattern", one("request: x", "expect: {matches: [x, '(']}"),
			"x.test.yaml:4:27: error: cases[0].expect.matches[1]: error parsing regexp: missing closing ): `(` (patterns are RE2)"},
		{"a bad program", one("request: x", "expect: {json: {'.a[': 1}}"),
			`x.test.yaml:4:28: error: cases[0].expect.json[".a["]: unexpected EOF (programs are jq, such as .items[0].name)`},
		{"calls of nothing", one("request: x", "expect: {calls: }"), "x.test.yaml:4:14: error: cases[0].expect.calls: has no value, want a list (give it a value or remove the key)"},
		{"two calls in one", one("request: x", "expect: {calls: [{a: {}, b: {}}]}"),
			"x.test.yaml:4:22: error: cases[0].expect.calls[0]: want a mapping of one tool to its arguments, not of 2 (begin each call with a dash of its own)"},
		{"an order of no calls", one("request: x", "expect: {calls_any_order: true}"),
			"x.test.yaml:4:14: error: cases[0].expect.calls_any_order: there are no calls whose order it is about (add calls)"},
		{"an error in words", one("request: x", "expect: {error: It was blocked}"),
			`x.test.yaml:4:21: error: cases[0].expect.error: want unauthorized, not_found, invalid_request, context_overflow, rate_limited, unavailable, stream_cut, empty, malformed, blocked, max_tokens, timeout, misconfigured, cancelled, interrupted, limit, missing_state, turn_timeout, invalid_output, setup or internal_error, not "It was blocked" (docs/testing.md says what each is)`},
		{"no tokens", one("request: x", "expect: {max_tokens: 0}"), "x.test.yaml:4:26: error: cases[0].expect.max_tokens: 0 is out of range (the least is 1)"},
		{"a result that is a number", one("request: x", "tools: {roll: 17}", "expect: {text: x}"),
			`x.test.yaml:4:19: error: cases[0].tools.roll: YAML reads 17 as a number, not as text (quote it: "17")`},
		{"an error that is none", one("request: x", "tools: {roll: {error: 1}}", "expect: {text: x}"),
			`x.test.yaml:4:27: error: cases[0].tools.roll.error: YAML reads 1 as a number, not as text (quote it: "1")`},
		{"no judge", one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:4:21: error: cases[0].expect.judge: there is no judge (add judge: MODEL at the top of the file)"},
		{"no judge of a turn", one("turns: [{request: x}, {request: z, expect: {judge: is nice}}]"),
			"x.test.yaml:3:56: error: cases[0].turns[1].expect.judge: there is no judge (add judge: MODEL at the top of the file)"},
		{"a judge that is not here", "judge: host\n" + one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:1:8: error: judge: a test has no calling host whose model could judge (name another model)"},
		{"a judge with a variable", "judge: {name: gemini-x, api_key: \"${KEY}\"}\n" + one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:1:34: error: judge.api_key: the environment variable KEY is not set (set it, put it into .env beside the file, or write ${KEY:-default})"},
		{"a judge with a variable that is set", "judge: {name: gemini-x, api_key: \"${SET}\"}\n" + one("request: x", "expect: {judge: is nice}"), ""},
		{"a setting that the judge's provider has not", "judge: {name: gpt-5, top_k: 3}\n" + one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:1:29: error: judge.top_k: the provider openai has no top_k (remove it)"},
		{"a judge that falls back on what is not here", "judge: {name: gemini-x, fallback: [host]}\n" + one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:1:8: error: judge: a test has no calling host whose model could judge (name another model)"},
		{"a variable elsewhere", "judge: gemini-x\nagent: ${SET}.yaml\n" + one("request: x", "expect: {judge: is nice}"),
			"x.test.yaml:2:8: error: agent: there is no file ${SET}.yaml"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			write(t, map[string]string{"x.yaml": "", "x.test.yaml": c.file})
			if _, got := load(t, "x.test.yaml"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestNoAgentBeside(t *testing.T) {
	write(t, map[string]string{"x.test.yaml": "cases: [{name: a, request: x, expect: {text: x}}]"})
	const want = "x.test.yaml:1:1: error: there is no agent file x.yaml (name the agent's file: agent: FILE)"
	if _, got := load(t, "x.test.yaml"); got != want {
		t.Error(got)
	}
}

func TestFind(t *testing.T) {
	write(t, map[string]string{
		"d/a.yaml": "", "d/a.test.yaml": "", "d/b.yml": "", "d/b.Test.YML": "", "d/c.yaml": "", "d/notes.txt": "", "d/test.yaml": "",
		"d/sub/e.test.yaml": "", "d/a.test.yaml.bak": "", "empty/x.yaml": "",
	})
	cases := []struct {
		name  string
		paths []string
		want  string
	}{
		{"a folder", []string{"d"}, "d/a.test.yaml d/b.Test.YML"},
		{"a test file", []string{"d/sub/e.test.yaml"}, "d/sub/e.test.yaml"},
		{"an agent", []string{"d/a.yaml"}, "d/a.test.yaml"},
		{"each once", []string{"./d/a.yaml", "d", "d/a.test.yaml"}, "./d/a.test.yaml d/b.Test.YML"},
		{"an agent without", []string{"d/c.yaml"}, "d/c.yaml has no test file: write its cases into d/c.test.yaml"},
		{"a folder without", []string{"empty", "d"}, "d/a.test.yaml d/b.Test.YML; empty holds no test file: their names end in .test.yaml"},
		{"nothing there", []string{"nowhere", "empty"}, "cannot read nowhere: no such file or directory\nempty holds no test file: their names end in .test.yaml"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files, err := Find(c.paths)
			got := strings.Join(files, " ")
			if err != nil {
				got = strings.TrimPrefix(got+"; "+err.Error(), "; ")
			}
			if got = filepath.ToSlash(got); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	if _, _, err := Load(filepath.Join(t.TempDir(), "x.test.yaml"), model); err == nil || !strings.HasPrefix(err.Error(), "cannot read ") {
		t.Error(err)
	}
}

func TestLoadAll(t *testing.T) {
	const one = "cases: [{name: a, request: x, expect: {text: x}}]"
	write(t, map[string]string{"a.yaml": "", "a.test.yaml": one, "b.yaml": "", "b.test.yaml": one + "\ncase: 1\n", "c.test.yaml": ""})
	files, problems, err := LoadAll([]string{"."}, model)
	if len(files) != 2 || len(problems) != 2 || err != nil || files[1].Agent != "b.yaml" {
		t.Error(files, problems, err)
	}
	if files, _, err := LoadAll([]string{".", "d.yaml"}, model); files != nil || err == nil {
		t.Error(files, err)
	}
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// The schema takes what the decoder takes.
func TestSchema(t *testing.T) {
	s := schema(t)
	if err := valid(t, s, strings.Replace(everything, "not_contains: 18", `not_contains: "18"`, 1)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{everything, "cases: 1", "cases: [{name: a, request: x, expect: {contain: x}}]", "{}"} {
		if valid(t, s, bad) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

var block = regexp.MustCompile("(?ms)^```yml\n(.*?)^```$")

// The page about tests shows test files in blocks that are marked yml.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	s := schema(t)
	blocks := block.FindAllSubmatch(text, -1)
	if len(blocks) < 4 {
		t.Errorf("%d examples", len(blocks))
	}
	for _, m := range blocks {
		write(t, map[string]string{"dice.yaml": "", "dice.test.yaml": string(m[1])})
		if _, problems := load(t, "dice.test.yaml"); problems != "" {
			t.Errorf("%s\n%s", problems, m[1])
		}
		if err := valid(t, s, string(m[1])); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
}
