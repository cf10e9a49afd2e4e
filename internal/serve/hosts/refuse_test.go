package hosts

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefuse has what is not done, and whose fault it is.
func TestRefuse(t *testing.T) {
	const foreign = `{"mcpServers": {"code_reviewer": {"command": "npx"}, "net": {"url": "https://elsewhere.example.com"}}}`
	install := func(o Options, a Agents) func(*Editor) error {
		return func(e *Editor) error { return e.Install(o, a) }
	}
	with := func(change func(o *Options)) Options {
		o := remote()
		o.Host = "cursor"
		change(&o)
		return o
	}
	temporary := reviewer()
	temporary.Program = "/tmp/go-build123/b001/exe/adkmcp"
	for _, c := range []struct {
		name  string
		do    func(*Editor) error
		want  string
		usage bool
	}{
		{"host", install(Options{Host: "emacs"}, reviewer()), `no host "emacs"; there are claude-code, `, true},
		{"scope", install(Options{Host: "cursor", Scope: "world"}, reviewer()), "use user or project", true},
		{"no such scope", install(Options{Host: "windsurf", Scope: Project}, reviewer()), "Windsurf has no configuration file for a project", true},
		{"no such system", install(Options{Host: "claude-desktop"}, reviewer()), "no file of Claude Desktop is known on linux; name one with --file", false},
		{"nothing", install(Options{Host: "cursor"}, Agents{}), "one of PATH and --url", true},
		{"both", install(with(func(*Options) {}), reviewer()), "one of PATH and --url", true},
		{"token without URL", install(Options{Host: "cursor", Token: "A"}, reviewer()), "go with --url", true},
		{"no URL here", install(with(func(o *Options) { o.Host = "junie" }), Agents{}), "it starts processes only", true},
		{"no URL", install(with(func(o *Options) { o.URL = "agents.example.com" }), Agents{}), "want a URL", true},
		{"ftp", install(with(func(o *Options) { o.URL = "ftp://agents.example.com" }), Agents{}), "want a URL", true},
		{"secret in URL", install(with(func(o *Options) { o.URL = "https://ann:pw@agents.example.com/" }), Agents{}), "a secret does not belong", true},
		{"token itself", install(with(func(o *Options) { o.Token = "sk-123" }), Agents{}), "the name of an environment variable", true},
		{"header", install(with(func(o *Options) { o.Headers = []string{"X-Team"} }), Agents{}), "want NAME=ENV_VAR", true},
		{"header name", install(with(func(o *Options) { o.Headers = []string{"X Team=A"} }), Agents{}), "want NAME=ENV_VAR", true},
		{"two tokens", install(with(func(o *Options) { o.Headers = []string{"authorization=A"} }), Agents{}), "leave one of the two out", true},
		{"name", install(Options{Host: "cursor", Name: "a b"}, reviewer()), "a letter, then letters", true},
		{"name of Gemini", install(Options{Host: "gemini-cli", Name: "a_b"}, reviewer()), "use - instead", true},
		{"temporary", install(Options{Host: "cursor"}, temporary), "go run removes", false},
		{"foreign", install(Options{Host: "cursor"}, reviewer()), "it has npx; choose another --name, or replace it with --force", false},
		{"foreign URL", install(with(func(o *Options) { o.Name = "net" }), Agents{}), "it has https://elsewhere.example.com", false},
		{"remove foreign", func(e *Editor) error { return e.Remove(Options{Host: "cursor"}, "code_reviewer") }, "it starts npx; remove it with --force", false},
		{"remove nothing", func(e *Editor) error { return e.Remove(Options{Host: "cursor"}, "nobody") }, "has no entry nobody", false},
		{"remove elsewhere", func(e *Editor) error { return e.Remove(Options{Host: "codex"}, "nobody") }, "has no entry nobody", false},
		{"syntax", install(Options{Host: "vscode"}, reviewer()), "mcp.json: line 2, column 1: ", false},
		{"dangling", install(Options{Host: "zed"}, reviewer()), "is a link to a file that is not there", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, home, out, stderr := machine(t, nil)
			write(t, filepath.Join(home, ".cursor/mcp.json"), foreign)
			write(t, filepath.Join(home, ".config/Code/User/mcp.json"), "{\n]")
			write(t, filepath.Join(home, ".config/zed/keymap.json"), "[]")
			if err := os.Symlink("nowhere", filepath.Join(home, ".config/zed/settings.json")); err != nil {
				t.Skip("no links here:", err)
			}
			before := files(t, home)
			err := c.do(e)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			var wrong *UsageError
			if errors.As(err, &wrong) != c.usage {
				t.Errorf("a usage error: %v", !c.usage)
			}
			if out.Len()+stderr.Len() > 0 || !cmp.Equal(before, files(t, home)) || read(t, filepath.Join(home, ".cursor/mcp.json")) != foreign {
				t.Error("something was said or changed", out, stderr, files(t, home))
			}
		})
	}
}

// TestForce does what is refused otherwise.
func TestForce(t *testing.T) {
	e, home, _, stderr := machine(t, nil)
	path := filepath.Join(home, ".cursor/mcp.json")
	write(t, path, `{"mcpServers": {"code_reviewer": {"command": "npx"}}}`)
	if err := e.Install(Options{Host: "cursor", Force: true}, reviewer()); err != nil || !strings.Contains(read(t, path), "/opt/bin/adkmcp") || !strings.Contains(stderr.String(), "Replaced code_reviewer") {
		t.Error(err, stderr, read(t, path))
	}
	write(t, path, `{"mcpServers": {"x": {"command": "npx"}}}`)
	if err := e.Remove(Options{Host: "cursor", Force: true}, "x"); err != nil || read(t, path) != `{"mcpServers": {}}` {
		t.Error(err, read(t, path))
	}
}

// TestSameURL replaces what connects to the same place, and removes what was
// connected.
func TestSameURL(t *testing.T) {
	e, home, _, _ := machine(t, nil)
	path := filepath.Join(home, ".cursor/mcp.json")
	o := remote()
	o.Host, o.Token, o.Headers, o.Force = "cursor", "", nil, true
	if err := e.Install(o, Agents{}); err != nil {
		t.Fatal(err)
	}
	o.Token, o.Force = "AGENT_TOKEN", false
	if err := e.Install(o, Agents{}); err != nil || !strings.Contains(read(t, path), "${env:AGENT_TOKEN}") {
		t.Error(err, read(t, path))
	}
	if err := e.Remove(o, "code_reviewer"); err != nil || strings.Contains(read(t, path), "reviewer") {
		t.Error(err, read(t, path))
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 40)
	for _, c := range []struct{ host, fallback, tool, want, warning string }{
		{"cursor", "my agents (2)", "t", "my-agents-2", ""},
		{"cursor", "2_fast", "t", "fast", ""},
		{"cursor", "日本", "t", "adkmcp", ""},
		{"cursor", "a--b", "t", "a--b", ""},
		{"cursor", "Ünï/c..d", "t", "n-c-d", ""},
		{"cursor", "keeps_", "t", "keeps_", ""},
		{"gemini-cli", "my_agent", "t", "my-agent", ""},
		{"cursor", long, long, strings.Repeat("a", 20), ""},
		{"cursor", long, strings.Repeat("b", 63), "aaaaaaaa", "longer than 60 characters"},
		{"roo-code", long, long, strings.Repeat("a", 17), ""},
		{"claude-code", long, long, long, ""},
		{"vscode", strings.Repeat("x", 80), long, strings.Repeat("x", 63), ""},
	} {
		h, err := find(c.host)
		if err != nil {
			t.Fatal(err)
		}
		name, warning, err := h.named(&server{fallback: c.fallback, tools: []string{"x", c.tool}})
		if err != nil || name != c.want || (warning == "") != (c.warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s, %s: %q %q %v", c.host, c.fallback, name, warning, err)
		}
		if h.checkName(name) != nil {
			t.Errorf("%s is no name", name)
		}
	}
	h, _ := find("cursor")
	if _, warning, err := h.named(&server{name: long, tools: []string{long}}); err != nil || warning == "" {
		t.Error(warning, err)
	}
}

// TestServer makes names and variables of what is known of agents.
func TestServer(t *testing.T) {
	sys := System{GOOS: "linux", Lookup: lookup(map[string]string{"SET": "1", "GOOGLE_API_KEY": "", "PROXY": "p"})}
	for _, c := range []struct {
		name, fallback string
		a              Agents
		env            []string
	}{
		{"file", "tool", Agents{Path: "/a/x.yaml", Dir: "/a", Tools: []string{"tool"}, Reads: []string{"PROXY", "UNSET", "GOOGLE_API_KEY", "GEMINI_API_KEY"}}, []string{"PROXY"}},
		{"no key", "tool", Agents{Path: "/a/x.yaml", Dir: "/a", Tools: []string{"tool"}, Reads: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY", "PROXY"}, NoKey: true}, []string{"GEMINI_API_KEY", "PROXY"}},
		{"folder", "agents", Agents{Path: "/a/agents", Dir: "/a/agents", Tools: []string{"one", "two"}, Needs: []string{"SET", "B"}, Reads: []string{"SET"}}, []string{"B", "SET"}},
	} {
		s, err := sys.server(&Options{}, c.a)
		if err != nil || s.fallback != c.fallback || !slices.Equal(s.env, c.env) || s.timeout != defaultTurn {
			t.Errorf("%s: %+v %v", c.name, s, err)
		}
	}
	for url, want := range map[string]string{"https://h/mcp/dice": "dice", "https://h/mcp": "adkmcp", "http://127.0.0.1:8080": "adkmcp", "https://h/mcp/a%20b": "a b"} {
		if s, err := sys.server(&Options{URL: url}, Agents{}); err != nil || s.fallback != want {
			t.Errorf("%s: %+v %v", url, s, err)
		}
	}
}

// TestCapped says so where a host waits less than the agent may take.
func TestCapped(t *testing.T) {
	h, _ := find("cline")
	for limit, want := range map[time.Duration]bool{10 * time.Minute: false, time.Hour: false, time.Hour + time.Second: true, 10 * time.Hour: true} {
		s := &server{timeout: limit}
		if got := h.capped(s); (got != "") != want || h.wait(s) > 3600 {
			t.Errorf("%v: %q, waits %d", limit, got, h.wait(s))
		}
	}
}

// TestProgram keeps a link in the PATH.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	real, bin, other := filepath.Join(dir, "v1", "adkmcp"), filepath.Join(dir, "bin"), filepath.Join(dir, "other")
	write(t, real, "program")
	write(t, filepath.Join(other, "adkmcp"), "another")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(real, filepath.Join(bin, "adkmcp"))); err != nil {
		t.Skip("no links here:", err)
	}
	for path, want := range map[string]string{
		bin: filepath.Join(bin, "adkmcp"), other: real, "": real, other + string(os.PathListSeparator) + bin: filepath.Join(bin, "adkmcp"),
	} {
		sys := System{Lookup: lookup(map[string]string{"PATH": path})}
		if got := sys.program(real); got != want {
			t.Errorf("PATH %s: %s", path, got)
		}
	}
}

func TestNeeds(t *testing.T) {
	got := Needs(func(lookup func(string) (string, bool)) bool {
		_, a := lookup("A")
		_, b := lookup("B")
		_, _ = lookup("OPTIONAL")
		_, _ = lookup("A")
		return !a || !b
	})
	if !slices.Equal(got, []string{"A", "B"}) {
		t.Error(got)
	}
}
