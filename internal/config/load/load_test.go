package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

const minimal = "name: a\ninstruction: Do it.\n"

func write(t *testing.T, dir, name, data string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// one loads a file that has to be fine.
func one(t *testing.T, data string, pairs ...string) *config.Agent {
	t.Helper()
	path := write(t, t.TempDir(), "agent.yaml", data)
	agents, problems, err := Agents([]string{path}, Options{LookupEnv: env(pairs...)})
	if err != nil || problems.HasErrors() || len(agents) != 1 {
		t.Fatal(problems, err)
	}
	return agents[0]
}

// problemsOf loads a file and gives what is wrong with it, without the file's
// name.
func problemsOf(t *testing.T, data string, pairs ...string) string {
	t.Helper()
	path := write(t, t.TempDir(), "agent.yaml", data)
	_, problems, err := Agents([]string{path}, Options{LookupEnv: env(pairs...)})
	if err != nil {
		t.Fatal(err)
	}
	return text(problems, path)
}

func text(problems Problems, path string) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, strings.TrimPrefix(p.String(), path+":"))
	}
	return strings.Join(lines, "\n")
}

func TestDefaults(t *testing.T) {
	a := one(t, minimal+`tools:
  - name: s
    shell: {script: x}
  - name: h
    http: {url: "https://example.com/"}
  - name: current_time
`, "PATH", "")
	want := &config.Agent{
		Class: "LlmAgent", Name: "a", Instruction: "Do it.", IncludeContents: "default", Memory: "none",
		Model:  config.Model{Provider: "gemini", Name: "gemini-flash-latest", Timeout: config.Duration(5 * 60e9), Retries: 3, Cooldown: config.Duration(60e9)},
		Limits: config.Limits{MaxModelCalls: 50, MaxTotalTokens: 200_000, Timeout: config.Duration(10 * 60e9)},
		Serve: config.Serve{Name: "a", Conversation: config.PerConnection, Result: "last", Timeout: config.Wait{Auto: true},
			TaskAfter: config.Duration(10e9), MaxAnswer: 256 << 10},
	}
	if diff := cmp.Diff(want, a, cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{"File", "Dir", "Definition", "LookupEnv", "Tools", "_"}, p.Last().String()[min(1, len(p.Last().String())):])
	}, cmp.Ignore()), cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Error(diff)
	}
	for _, tool := range a.Tools {
		if tool.Timeout != config.Duration(60e9) || tool.MaxResultBytes != 64<<10 {
			t.Errorf("%s: %v, %d bytes", tool.Name, tool.Timeout, tool.MaxResultBytes)
		}
	}
	s := a.Tools[0].Shell
	if s.Concurrency != 4 || !slices.Equal(s.SuccessExitCodes, []int{0}) || s.Dir != a.Dir || s.Output != "text" || s.Interpreter[0].Plain() != "sh" {
		t.Errorf("shell: %+v", s)
	}
	if h := a.Tools[1].HTTP; h.Method != http.MethodGet {
		t.Errorf("http: %+v", h)
	}
	if a.Tools[2].Builtin == nil {
		t.Error("no args of a built-in")
	}
}

func TestArgumentSchemas(t *testing.T) {
	a := one(t, minimal+`tools:
  - name: params
    parameters:
      z: {type: integer, minimum: 1.50, description: "<b> & c"}
      a: {type: string, optional: true}
      m: {type: string, default: x, allow_leading_dash: true}
    shell: [x, "{z}", "{a}", "{m}"]
  - name: whole
    input_schema: {type: object, properties: {w: {type: string}}, required: [w]}
    shell: [x, "{w}"]
  - name: none
    shell: [x]
`)
	for i, want := range []string{
		`{"type":"object","properties":{"z":{"type":"integer","minimum":1.50,"description":"<b> & c"},"a":{"type":"string"},"m":{"type":"string","default":"x"}},"required":["z"],"additionalProperties":false}`,
		`{"type":"object","properties":{"w":{"type":"string"}},"required":["w"],"additionalProperties":false}`,
		`{"type":"object","properties":{},"additionalProperties":false}`,
	} {
		if got := string(a.Tools[i].Schema); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	want := []config.Parameter{
		{Name: "z", Schema: json.RawMessage(`{"type":"integer","minimum":1.50,"description":"<b> & c"}`)},
		{Name: "a", Schema: json.RawMessage(`{"type":"string"}`), Optional: true},
		{Name: "m", Schema: json.RawMessage(`{"type":"string","default":"x"}`), Optional: true, Default: json.RawMessage(`"x"`), AllowLeadingDash: true},
	}
	if diff := cmp.Diff(want, a.Tools[0].Parameters); diff != "" {
		t.Error(diff)
	}
}

// 07: where variables are replaced, and what becomes of what looks like one
// elsewhere.
func TestSubstitution(t *testing.T) {
	a := one(t, `name: a
title: ${T}
description: ${T} costs $5
instruction: ${HOME} {x?} $$HOME
# ${MISSING}
model: {name: "gemini-${V}", base_url: "https://${V}/", api_key: "${SECRET_KEY}", headers: {A: "b-${V}"}, retries: "${N}", timeout: "${N}s"}
output_key: ${V}
serve: {instructions: "${V}"}
tools:
  - name: s
    description: ${V}
    parameters: {p: {type: string, pattern: '^$|${V}', description: "${V}"}}
    shell: [x, "${V}", "${V}{p}", "$$HOME $5 ${UNSET:-d} {{p}}", "${V:-d}${EMPTY:-e}"]
  - name: i
    parameters: {p: {type: string}}
    shell: {script: "echo ${V} $p", interpreter: ["${V}", -x], stdin: "${V}{p}", env: {A: "${SECRET_ENV}", B: "{v}"}}
  - name: h
    parameters: {p: {type: string}, q: {type: string}}
    http:
      url: https://${V}.example.com/${BRACES}/{p}{?q}
      headers: {A: "${SECRET_HEADER}{p}"}
      query: {a: "${SECRET_QUERY}"}
      body:
        json: {a: "${SECRET_BODY}{p}", b: "$$5 {{p}}", c: ["${BRACES}", "{p}"], "${V}": 1, d: "x"}
        content_type: application/${V}
      auth: {basic: {username: "${V}", password: "${SECRET_PASSWORD}"}}
      result: '"${V}"'
`, "PATH", "", "V", "v", "N", "2", "T", "t", "EMPTY", "", "BRACES", "{p}$", "SECRET_KEY", "sk", "SECRET_ENV", "se", "SECRET_HEADER", "sh", "SECRET_QUERY", "sq",
		"SECRET_BODY", "sb", "SECRET_PASSWORD", "sp", "HOME", "/home")
	h := a.Tools[2].HTTP
	got := map[string]any{
		"title": a.Title, "description": a.Description, "instruction": a.Instruction, "output_key": a.OutputKey, "for the host": a.Serve.Instructions,
		"model": a.Model.Name, "base_url": a.Model.BaseURL, "key": a.Model.APIKey.Reveal(), "model header": a.Model.Headers["A"].Reveal(),
		"retries": a.Model.Retries, "timeout": a.Model.Timeout.String(), "tool": a.Tools[0].Description, "pattern": string(a.Tools[0].Parameters[0].Schema),
		"argv": texts(a.Tools[0].Shell.Command), "script": a.Tools[1].Shell.Script, "interpreter": texts(a.Tools[1].Shell.Interpreter),
		"stdin": texts([]template.Text{*a.Tools[1].Shell.Stdin}), "env": texts([]template.Text{a.Tools[1].Shell.Env["A"], a.Tools[1].Shell.Env["B"]}),
		"url": h.URL, "header": texts([]template.Text{h.Headers["A"]}), "query": texts([]template.Text{h.Query[0].Value}), "json": string(h.Body.JSON),
		"content type": h.Body.ContentType, "user": h.Auth.Basic.Username, "password": h.Auth.Basic.Password.Reveal(), "jq": h.Result,
	}
	want := map[string]any{
		"title": "${T}", "description": "${T} costs $5", "instruction": "${HOME} {x?} $$HOME", "output_key": "${V}", "for the host": "${V}",
		"model": "gemini-v", "base_url": "https://v/", "key": "sk", "model header": "b-v", "retries": 2, "timeout": "2s", "tool": "${V}",
		"pattern": `{"type":"string","pattern":"^$|${V}","description":"${V}"}`, "argv": []string{"x", "v", "v[p]", "$HOME $5 d {p}", "ve"},
		"script": "echo ${V} $p", "interpreter": []string{"v", "-x"}, "stdin": []string{"v[p]"}, "env": []string{"se", "{v}"},
		"url": "https://v.example.com/%7Bp%7D$/{p}{?q}", "header": []string{"sh[p]"}, "query": []string{"sq"},
		"json":         `{"a":"sb{p}","b":"$5 {{p}}","c":["{{p}}$","{p}"],"${V}":1,"d":"x"}`,
		"content type": "application/${V}", "user": "v", "password": "sp", "jq": `"${V}"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := a.Tools[2].Secrets, []string{"v", "{p}$", "sh", "sq", "sb", "sp", "djpzcA=="}; !slices.Equal(got, want) {
		t.Errorf("secrets of the tool: %q", got)
	}
	if got, want := a.Secrets, []string{"sk", "b-v", "se", "v", "{p}$", "sh", "sq", "sb", "sp", "djpzcA=="}; !slices.Equal(got, want) {
		t.Errorf("secrets of the file: %q", got)
	}
}

func TestModelNames(t *testing.T) {
	for _, tt := range []struct{ yaml, provider, name string }{
		{"gemini-2.5-flash", "gemini", "gemini-2.5-flash"},
		{"gemini/any/thing", "gemini", "any/thing"},
		{`"gemini-${V}"`, "gemini", "gemini-v"},
		{`"${UNSET:-gemini/x}"`, "gemini", "x"},
		{"{provider: gemini, name: projects/p/models/m}", "gemini", "projects/p/models/m"},
		{"{name: gemini/x}", "gemini", "x"},
		{"{provider: scripted, script: [{steps: [{reply: x}]}]}", "scripted", ""},
	} {
		m := one(t, minimal+"model: "+tt.yaml+"\n", "V", "v").Model
		if m.Provider != tt.provider || m.Name != tt.name || m.Retries != 3 || m.Timeout != config.Duration(5*60e9) {
			t.Errorf("%s: %+v", tt.yaml, m)
		}
	}
}

// texts shows templates with their places in brackets.
func texts(ts []template.Text) []string {
	var out []string
	for _, t := range ts {
		s, _ := t.Expand(func(place string) (string, error) { return "[" + place + "]", nil })
		out = append(out, s)
	}
	return out
}

// H02: whatever is wrong with what the environment holds, no message shows it.
func TestMessagesKeepSecrets(t *testing.T) {
	const canary = "CANARY\nhttp://x y{"
	got := problemsOf(t, `name: a
instruction: x
model: {provider: "${S}", name: "${S}", base_url: "${S}", api_key: "${S}", headers: {A: "${S}"}, retries: "${S}", timeout: "${S}"}
tools:
  - name: s
    shell: {command: ["${S}/x"], dir: "${S}", env: {A: "${S}"}}
  - name: s2
    shell: ["${S}", x]
  - name: i
    shell: {script: x, interpreter: ["/${S}"]}
  - name: files
    args: {root: "${S}"}
  - name: h1
    http: {url: "${S}/", auth: {bearer: "${S}"}}
  - name: h2
    parameters: {p: {type: string}}
    http: {url: "https://example.com/${S}}", headers: {A: "${S}"}, body: {json: "${E}{p}"}, auth: {header: {name: "${S}", value: "${S}"}}}
serve:
  prompts: [{name: p, messages: [{file: "${S}"}]}]
  resources:
    - {uri: "a://b", name: r, file: "${S}"}
    - {uri_template: "a://{x}", name: t, file: "${S}/{x}"}
`, "PATH", "/nowhere", "S", canary, "E", "CANARY$")
	if strings.Contains(got, "CANARY") {
		t.Errorf("shown: %s", got)
	}
	for _, want := range []string{
		"model.provider: want gemini, openai, openai-compatible, ollama, anthropic, host, scripted or replay", "model.base_url: want a URL", "model.headers.A: the value holds", "model.retries: want a whole number", "model.timeout: want a length",
		"tools[0].shell.command[0]: there is no program ${S}/x", "tools[0].shell.dir: there is no folder ${S}", "tools[1].shell[0]: there is no program ${S}",
		"tools[2].shell.interpreter[0]: there is no program", "tools[3].args.root: there is no folder ${S}", "tools[4].http.url: a URL begins with",
		"tools[5].http.url: not a template", "tools[5].http.headers.A: the value holds", "tools[5].http.body.json: the value of a variable",
		"serve.prompts[0].messages[0].file: there is no file ${S}", "serve.resources[0].file: there is no file ${S}", "serve.resources[1].file: there is no folder ${S}/{x}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s in\n%s", want, got)
		}
	}
}

func TestDotenv(t *testing.T) {
	agent := minimal + "tools:\n  - name: t\n    shell: [x, \"${A}\", \"${B}\"]\n"
	load := func(dir, dotenv string) ([]*config.Agent, Problems) {
		write(t, dir, ".env", dotenv)
		agents, problems, err := Agents([]string{write(t, dir, "agent.yaml", agent)}, Options{LookupEnv: env("A", "process", "PATH", "")})
		if err != nil {
			t.Fatal(err)
		}
		return agents, problems
	}
	t.Run("07 never overrides", func(t *testing.T) {
		agents, problems := load(t.TempDir(), "\ufeff# a comment\r\nA=file\r\nexport B='of the file' # text\r\n")
		if problems.HasErrors() || !slices.Equal(texts(agents[0].Tools[0].Shell.Command), []string{"x", "process", "of the file"}) {
			t.Error(texts(agents[0].Tools[0].Shell.Command), problems)
		}
		if v, ok := agents[0].LookupEnv("B"); v != "of the file" || !ok {
			t.Error("the agent does not see its .env file")
		}
		if _, ok := os.LookupEnv("B"); ok {
			t.Error("the process sees the .env file")
		}
	})
	for _, tt := range []struct{ name, data, want string }{
		{"no assignment", "B=1\nQ=\"a\nb\"\nCANARY CANARY\nC=2\n", ":4:1: error: the line is no assignment, or a quote in it is not closed"},
		{"no assignment at all", "CANARY", ":1:1: error: the line is no assignment"},
		{"open quote", "B=1\nC='CANARY\nD=2\n", ":2:1: error: the line is no assignment"},
		{"too large", "B=" + strings.Repeat("x", 70_000), ":1:1: error: the file is larger than 64 KiB"},
		{"many lines", "B=1\n'" + strings.Repeat("\n", 60_000), ":2:1: error: the line is no assignment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			_, problems := load(dir, tt.data)
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			got := strings.Join(all, "\n")
			if !strings.Contains(got, filepath.Join(dir, ".env")+tt.want) || strings.Contains(got, "CANARY") {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("a folder of that name", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".env"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, problems, err := Agents([]string{write(t, dir, "a.yaml", minimal)}, Options{LookupEnv: env()})
		if err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}

// 13: what of a folder is an agent.
func TestFolder(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	const dir = "../testdata/good/13-folder"
	agents, problems, err := Agents([]string{dir, filepath.Join(dir, "one.yaml")}, Options{LookupEnv: env("TOKEN", "x"), Logger: logger})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var names []string
	for _, a := range agents {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"one", "three", "two"}) {
		t.Errorf("agents %q", names)
	}
	for _, name := range []string{"README.md", ".env", "schema.json", "openapi.yaml", "dice.test.yaml", "compose.yaml", "broken.yaml", "kubernetes.yaml", "below.yaml"} {
		if !strings.Contains(log.String(), "file="+filepath.Join(dir, name)) {
			t.Errorf("nothing is said about %s", name)
		}
	}
}

func TestCouldNotRun(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.yaml", minimal)
	bad := write(t, dir, "bad.yaml", "name: b\ninstruction: x\nwrong: 1\n")
	agents, problems, err := Agents([]string{filepath.Join(dir, "none.yaml"), good, bad, good, filepath.Join(dir, ".", "good.yaml")}, Options{LookupEnv: env()})
	if err == nil || !strings.Contains(err.Error(), "cannot read "+filepath.Join(dir, "none.yaml")+": ") {
		t.Errorf("error %v", err)
	}
	if len(agents) != 2 || len(problems) != 1 {
		t.Errorf("%d agents, problems %v", len(agents), problems)
	}
	if runtime.GOOS != "windows" && os.Getuid() != 0 {
		if err := os.Chmod(good, 0); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Agents([]string{good}, Options{LookupEnv: env()}); err == nil {
			t.Error("a file that nobody may read")
		}
	}
	if runtime.GOOS == "linux" {
		if _, _, err := Agents([]string{"/dev/null"}, Options{LookupEnv: env()}); err == nil {
			t.Error("a device is no file")
		}
	}
}

// 09: files as a whole, named by the user.
func TestWholeFiles(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"09 byte order mark and CRLF", "\ufeff" + strings.ReplaceAll(minimal, "\n", "\r\n") + "wrong: 1\r\n", `3:1: error: wrong: unknown key "wrong"`},
		{"09 no newline at the end", "name: a\ninstruction: x", ""},
		{"09 empty", "", "1:1: error: the file is empty"},
		{"09 tab", "name: a\n\tinstruction: x\n", "2:1: error: a tab cannot indent (use spaces)"},
		{"09 two documents", minimal + "---\n" + minimal, "3:1: error: a second document begins here (a file holds one document; put the other into a file of its own)"},
		{"09 compose", "services: {}\nvolumes: {}\n", "1:1: error: this is not an agent file: its keys are services, volumes (an agent file has name and instruction at its top level)"},
		{"09 JSON", `{"name": "a", "instruction": "x"}`, ""},
		{"09 JSON with a key twice", `{"name": "a", "instruction": "x", "name": "b"}`, `1:35: error: the key "name" stands twice in this mapping, on lines 1 and 1 (keep one of them)`},
		{"14 a file of 50 MB", "name: a\ninstruction: " + strings.Repeat("x", 50<<20), "1:1: error: the file is larger than 1048576 bytes"},
		{"18 no instruction", "name: a\nmodel: gemini-x\n", `1:1: error: the key "instruction" is missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := problemsOf(t, tt.data); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// 15: paths are those of the file, wherever the program was started; a program
// that is not there is named with the PATH that was searched.
func TestPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script is no program on Windows")
	}
	abs, err := filepath.Abs("../testdata/good/15-paths")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("/")
	rel, err := filepath.Rel("/", abs)
	if err != nil {
		t.Fatal(err)
	}
	agents, problems, err := Agents([]string{filepath.Join(rel, "agent.yaml")}, Options{LookupEnv: env("PATH", "")})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	tools := agents[0].Tools
	if got, want := texts(tools[0].Shell.Command), []string{filepath.Join(abs, "bin/run"), "bin/run"}; !slices.Equal(got, want) {
		t.Errorf("command %q", got)
	}
	if tools[0].Shell.Dir != filepath.Join(abs, "bin") || tools[1].Shell.Dir != abs || tools[2].Builtin.Root != filepath.Join(abs, "bin") {
		t.Errorf("dirs %q %q %q", tools[0].Shell.Dir, tools[1].Shell.Dir, tools[2].Builtin.Root)
	}
	if agents[0].Dir != abs || agents[0].File != filepath.Join(rel, "agent.yaml") {
		t.Errorf("file %q, dir %q", agents[0].File, agents[0].Dir)
	}
	got := problemsOf(t, minimal+"tools:\n  - name: t\n    shell: [no-such-program]\n", "PATH", "")
	if want := "5:13: warning: tools[0].shell[0]: the program no-such-program is not in the PATH () (install it, or write its path)"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestDefinition(t *testing.T) {
	hash := func(data string) string { return one(t, data, "PATH", "").Definition }
	base := hash("name: a\ninstruction: x\nstate: {p: 1, q: [1, 2]}\n")
	for _, same := range []string{
		"# comment\nstate:\n  q:\n    - 1\n    - 2\n  p: 1\ninstruction: \"x\"\n'name': a\n",
		"x-p: &p [1, 2]\n$schema: z\nname: a\ninstruction: x\nstate: {p: 1, q: *p}\n",
	} {
		if hash(same) != base {
			t.Errorf("another hash for %s", same)
		}
	}
	for _, other := range []string{
		"name: a\ninstruction: z\nstate: {p: 1, q: [1, 2]}\n", "name: a\ninstruction: x\nstate: {p: 1, q: [2, 1]}\n",
		"name: a\ninstruction: x\nstate: {p: \"1\", q: [1, 2]}\n", "name: a\ninstruction: x\nstate: {p: 1, q: [1, 2]}\ntitle: t\n",
	} {
		if hash(other) == base {
			t.Errorf("the same hash for %s", other)
		}
	}
}

// 11: names of one run are unique, whatever the order of the paths.
func TestNames(t *testing.T) {
	a, b := write(t, t.TempDir(), "a.yaml", minimal), write(t, t.TempDir(), "b.yaml", minimal)
	for _, paths := range [][]string{{a, b}, {b, a}} {
		_, problems, err := Agents(paths, Options{LookupEnv: env()})
		want := fmt.Sprintf("%s:1:7: error: name: the name \"a\" is also that of the agent in %s (each agent becomes an MCP tool of its own name; rename one of them)", paths[1], paths[0])
		if err != nil || len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%v %v", problems, err)
		}
	}
}

// Several files, one run: all problems, sorted.
func TestAllAtOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.yaml", minimal+"one: 1\ntools:\n  - {name: t, shell: [x, 5]}\n  - {name: current_time, two: 2}\n")
	write(t, dir, "a.yaml", "name: b\ninstruction: \"x\n")
	write(t, dir, "c.yaml", "name: c\ninstruction: x\nmodel: {name: gemini-x, api_key: \"${MISSING}\"}\nthree: 3\n")
	_, problems, err := Agents([]string{dir}, Options{LookupEnv: env("PATH", "")})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(text(problems, "-"), dir+string(filepath.Separator), "")
	want := `a.yaml:2:14: error: the quote that opens here is not closed
b.yaml:3:1: error: one: unknown key "one"
b.yaml:5:23: warning: tools[0].shell[0]: the program x is not in the PATH () (install it, or write its path)
b.yaml:5:26: error: tools[0].shell[1]: YAML reads 5 as a number, not as text (quote it: "5")
b.yaml:6:26: error: tools[1].two: unknown key "two"
c.yaml:3:34: error: model.api_key: the environment variable MISSING is not set (set it, put it into .env beside the file, or write ${MISSING:-default})
c.yaml:4:1: error: three: unknown key "three"`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// Validating and serving differ in one severity and nothing else.
func TestValidateIsServe(t *testing.T) {
	path := write(t, t.TempDir(), "a.yaml", minimal+"wrong: 1\nmodel: {name: gemini-x, api_key: \"${MISSING}\"}\n")
	_, serve, _ := Agents([]string{path}, Options{LookupEnv: env()})
	_, validate, _ := Agents([]string{path}, Options{LookupEnv: env(), Validate: true})
	if len(validate) != 2 || validate[1].Severity != strictyaml.Warning || serve[1].Severity != strictyaml.Error {
		t.Fatal(validate, serve)
	}
	validate[1].Severity = strictyaml.Error
	if diff := cmp.Diff(serve, validate); diff != "" {
		t.Error(diff)
	}
}
