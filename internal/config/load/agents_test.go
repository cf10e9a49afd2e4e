package load

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

// tree writes files and loads some of them; it gives the agents by name.
func tree(t *testing.T, files map[string]string, opts Options, paths ...string) (map[string]*config.Agent, string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, data)
	}
	for i := range paths {
		paths[i] = filepath.Join(dir, paths[i])
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = env("PATH", "")
	}
	agents, problems, err := Agents(paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*config.Agent{}
	for _, a := range agents {
		byName[a.Name] = a
	}
	return byName, strings.ReplaceAll(text(problems, "-"), dir+string(filepath.Separator), "")
}

func agentWith(name string, tools ...string) string {
	s := "name: " + name + "\ninstruction: Do it.\n"
	for i, tool := range tools {
		if i == 0 {
			s += "tools:\n"
		}
		s += "  - agent: " + tool + "\n"
	}
	return s
}

func names(agents map[string]*config.Agent) string {
	var all []string
	for name := range agents {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAgentsAreReadOnce(t *testing.T) {
	files := map[string]string{
		"a.yaml": agentWith("a", "helper.yaml", "b.yaml"), "b.yaml": agentWith("b", "./below/../helper.yaml", "below/deep.yaml"),
		"helper.yaml": agentWith("helper") + "wrong: 1\n", "below/deep.yaml": agentWith("deep"),
	}
	agents, problems := tree(t, files, Options{}, ".")
	if want := `helper.yaml:3:1: error: wrong: unknown key "wrong"`; problems != want {
		t.Errorf("problems %s", problems)
	}
	if names(agents) != "a" {
		t.Fatalf("served: %s", names(agents))
	}
	a := agents["a"]
	b := a.Tools[1].Agent.Agent
	if a.Tools[0].Agent.Agent != b.Tools[0].Agent.Agent {
		t.Error("the same file is two agents")
	}
	if a.Tools[0].Name != "helper" || b.Tools[1].Name != "deep" || b.Tools[1].Agent.Path != filepath.Join(a.Dir, "below", "deep.yaml") {
		t.Errorf("tools %q %q %q", a.Tools[0].Name, b.Tools[1].Name, b.Tools[1].Agent.Path)
	}
	if deep := b.Tools[1].Agent.Agent; deep.Dir != filepath.Join(a.Dir, "below") || filepath.Base(deep.File) != "deep.yaml" {
		t.Errorf("dir %q file %q", deep.Dir, deep.File)
	}
}

func TestWhatIsServed(t *testing.T) {
	files := map[string]string{"a.yaml": agentWith("a", "z.yaml"), "z.yaml": agentWith("z"), "other.yaml": agentWith("other")}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"."}, "a other"},
		{[]string{".", "z.yaml"}, "a other z"},
		{[]string{"z.yaml", "."}, "a other z"},
		{[]string{"a.yaml"}, "a"},
		{[]string{"a.yaml", "z.yaml"}, "a z"},
	} {
		agents, problems := tree(t, files, Options{Logger: logger}, slices.Clone(tt.paths)...)
		if names(agents) != tt.want || problems != "" {
			t.Errorf("%q: %s, problems %s", tt.paths, names(agents), problems)
		}
	}
	if !strings.Contains(log.String(), "agent is not served by itself") || !strings.Contains(log.String(), "z.yaml") {
		t.Errorf("log %s", log.String())
	}
}

// What a name means in a server is no matter of agents that it does not serve.
func TestInnerNamesMayRepeat(t *testing.T) {
	_, problems := tree(t, map[string]string{"a.yaml": agentWith("a", "x/b.yaml"), "b.yaml": agentWith("b"), "x/b.yaml": agentWith("b")}, Options{}, ".")
	if problems != "" {
		t.Error(problems)
	}
}

func TestCircles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"itself", map[string]string{"a.yaml": agentWith("a", "./a.yaml")}, "a.yaml:4:12: error: tools[0].agent: the agents call each other in a circle: a.yaml → a.yaml"},
		{"two", map[string]string{"a.yaml": agentWith("a", "x/b.yaml"), "x/b.yaml": agentWith("b", "../a.yaml")},
			filepath.Join("x", "b.yaml") + ":4:12: error: tools[0].agent: the agents call each other in a circle: " + filepath.Join("..", "a.yaml") + " → b.yaml → " + filepath.Join("..", "a.yaml")},
		{"through one inside", map[string]string{"a.yaml": agentWith("a", "{name: i, instruction: x, tools: [{agent: a.yaml}]}")},
			"a.yaml:4:54: error: tools[0].agent.tools[0].agent: the agents call each other in a circle: a.yaml → a.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := tree(t, tt.files, Options{}, "a.yaml")
			if want := tt.want + " (let one of them do without the other)"; problems != want {
				t.Errorf("got  %s\nwant %s", problems, want)
			}
		})
	}
}

func TestNesting(t *testing.T) {
	chain := func(n int) map[string]string {
		files := map[string]string{}
		for i := 1; i < n; i++ {
			files[fmt.Sprintf("%02d.yaml", i)] = agentWith(fmt.Sprintf("a%02d", i), fmt.Sprintf("%02d.yaml", i+1))
		}
		files[fmt.Sprintf("%02d.yaml", n)] = agentWith(fmt.Sprintf("a%02d", n))
		return files
	}
	for _, tt := range []struct {
		n     int
		paths []string
		want  int
	}{
		{8, []string{"01.yaml"}, 0}, {9, []string{"01.yaml"}, 1}, {30, []string{"01.yaml"}, 1},
		{9, []string{"09.yaml", "08.yaml", "07.yaml", "06.yaml", "05.yaml", "04.yaml", "03.yaml", "02.yaml", "01.yaml"}, 1}, // the innermost first
	} {
		_, problems := tree(t, chain(tt.n), Options{}, tt.paths...)
		if got := strings.Count(problems, "more than 8 agents call each other in a row"); got != tt.want || tt.want == 0 && problems != "" {
			t.Errorf("%d: %s", tt.n, problems)
		}
	}
	inside := "{name: i, instruction: x}"
	for range 8 {
		inside = "{name: i, instruction: x, tools: [{agent: " + inside + "}]}"
	}
	if _, problems := tree(t, map[string]string{"a.yaml": agentWith("a", inside)}, Options{}, "a.yaml"); !strings.Contains(problems, "more than 8 agents") {
		t.Error(problems)
	}
}

func TestAgentInside(t *testing.T) {
	a := one(t, `name: a
instruction: x
model: {provider: scripted, script: [{steps: [{call: [{only_here: {}}]}, {reply: x}]}]}
tools:
  - name: only_here
    shell: [x]
  - agent:
      name: own
      model: {name: gemini-x, api_key: "${KEY}"}
      instruction: x
      tools: [{agent: {name: below, instruction: x}}]
  - agent: {name: heir, instruction: x, output_key: k, tools: [{name: current_time}]}
`, "PATH", "", "KEY", "secret-of-inner")
	own, heir := a.Tools[1].Agent.Agent, a.Tools[2].Agent.Agent
	if own.Model.Name != "gemini-x" || own.Tools[0].Agent.Agent.Model.Name != "gemini-x" {
		t.Errorf("models %+v %+v", own.Model, own.Tools[0].Agent.Agent.Model)
	}
	if diff := cmp.Diff(a.Model, heir.Model, cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Error(diff)
	}
	if a.Tools[1].Name != "own" || heir.Dir != a.Dir || heir.File != a.File || heir.Serve.Name != "heir" || heir.Limits.MaxModelCalls != 50 {
		t.Errorf("%+v", heir)
	}
	if v, _ := heir.LookupEnv("KEY"); v != "secret-of-inner" {
		t.Error("an agent inside has another environment")
	}
	for name, secrets := range map[string][]string{"agent": a.Secrets, "tool": a.Tools[1].Secrets, "inner": own.Secrets} {
		if !slices.Contains(secrets, "secret-of-inner") {
			t.Errorf("the %s does not know the secret", name)
		}
	}
}

// A file means the same wherever it is used.
func TestAgentFileKeepsItsModel(t *testing.T) {
	agents, _ := tree(t, map[string]string{"a.yaml": "model: gemini-x\n" + agentWith("a", "b.yaml"), "b.yaml": agentWith("b")}, Options{}, "a.yaml")
	if m := agents["a"].Tools[0].Agent.Agent.Model.Name; m != "gemini-flash-latest" {
		t.Error(m)
	}
}

// What an inner agent lacks, the outer one lacks; each file has its own .env.
func TestInnerEnvironment(t *testing.T) {
	files := map[string]string{"a.yaml": agentWith("a", "${WHERE}/b.yaml"), "x/.env": "FROM_FILE=here\n",
		"x/b.yaml": agentWith("b") + "model: {name: gemini-x, base_url: \"https://${FROM_FILE}\", api_key: \"${NOT_SET}\"}\n"}
	agents, problems := tree(t, files, Options{Validate: true, LookupEnv: env("WHERE", "x")}, "a.yaml")
	a := agents["a"]
	if b := a.Tools[0].Agent.Agent; !a.Incomplete || !b.Incomplete || b.Model.BaseURL != "https://here" {
		t.Errorf("%v %v %q", a.Incomplete, b.Incomplete, b.Model.BaseURL)
	}
	if want := filepath.Join("x", "b.yaml") + ":3:68: warning: model.api_key: the environment variable NOT_SET is not set"; !strings.HasPrefix(problems, want) {
		t.Error(problems)
	}
	if _, problems := tree(t, map[string]string{"a.yaml": agentWith("a", "${NOT_SET}/b.yaml")}, Options{}, "a.yaml"); !strings.Contains(problems, "NOT_SET is not set") || strings.Contains(problems, "no file") {
		t.Error(problems)
	}
}

func TestConfigPathStaysInside(t *testing.T) {
	adk := func(path string) string {
		return "name: a\ninstruction: x\ntools: [{name: AgentTool, args: {agent: {config_path: " + path + "}}}]\n"
	}
	dir := t.TempDir()
	for _, sub := range []string{"in", "in/real"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out := write(t, dir, "out.yaml", agentWith("out"))
	write(t, dir, "in/real/b.yaml", agentWith("b"))
	for from, to := range map[string]string{"in/link.yaml": out, "in/folder": dir, "in/near.yaml": filepath.Join(dir, "in", "real", "b.yaml")} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for path, refused := range map[string]bool{"link.yaml": true, "folder/out.yaml": true, "../out.yaml": true, out: true, "real/../../out.yaml": true,
		"near.yaml": false, "real/b.yaml": false, "./real/../real/b.yaml": false} {
		file := write(t, dir, "in/a.yaml", adk(path))
		_, problems, err := Agents([]string{file}, Options{LookupEnv: env()})
		if err != nil {
			t.Fatal(err)
		}
		got := text(problems, file)
		if refused != strings.Contains(got, "leaves the folder of this file") || !refused && got != "" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestDefinitionOfAgentsInside(t *testing.T) {
	hash := func(outer, inner string) string {
		agents, problems := tree(t, map[string]string{"a.yaml": outer, "b.yaml": inner}, Options{}, "a.yaml")
		if agents["a"] == nil || problems != "" {
			t.Fatal(problems)
		}
		return agents["a"].Definition
	}
	base := hash(agentWith("a", "b.yaml"), agentWith("b"))
	if hash(agentWith("a", "b.yaml"), "# comment\n"+agentWith("b")) != base {
		t.Error("a comment changes the definition")
	}
	if hash(agentWith("a", "b.yaml"), agentWith("b")+"title: t\n") == base {
		t.Error("another inner agent, the same definition")
	}
	inner := func(model string) string {
		a := one(t, model+agentWith("a", "{name: i, instruction: x}"))
		return a.Tools[0].Agent.Agent.Definition
	}
	if inner("") == inner("model: gemini-x\n") {
		t.Error("another inherited model, the same definition")
	}
}

// A turn of an agent that is a tool has a bound of its own, which is the tool's too
// unless the entry says another.
func TestTimeoutOfAgentTools(t *testing.T) {
	agents, problems := tree(t, map[string]string{
		"inner.yaml": agentWith("inner") + "limits: {timeout: 7m}\n",
		"outer.yaml": agentWith("outer", "inner.yaml", "inner.yaml\n    name: quick\n    timeout: 3s"),
	}, Options{}, "outer.yaml")
	if problems != "" {
		t.Fatal(problems)
	}
	if a := agents["outer"].Tools; a[0].Timeout.Std() != 7*time.Minute || a[1].Timeout.Std() != 3*time.Second {
		t.Errorf("timeouts %v and %v", a[0].Timeout, a[1].Timeout)
	}
}
