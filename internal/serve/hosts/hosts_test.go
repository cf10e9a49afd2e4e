package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// golden compares with a file of testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if os.Getenv("UPDATE") != "" {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(got), 0o600))
		want = []byte(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// machine is an editor for a home and a project in folders of the test, and what
// it has said.
func machine(t *testing.T, env map[string]string) (e *Editor, home string, out, stderr *bytes.Buffer) {
	t.Helper()
	home, out, stderr = t.TempDir(), &bytes.Buffer{}, &bytes.Buffer{}
	all := map[string]string{"HOME": home}
	maps.Copy(all, env)
	return &Editor{System: System{GOOS: "linux", Dir: t.TempDir(), Lookup: lookup(all)}, Out: out, Err: stderr}, home, out, stderr
}

func reviewer() Agents {
	return Agents{
		Program: "/opt/bin/adkmcp", Path: "/srv/agents/reviewer.yaml", Dir: "/srv/agents", Tools: []string{"code_reviewer"},
		Needs: []string{"REPO_TOKEN"}, Reads: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, NoKey: true, Timeout: 20 * time.Minute,
	}
}

func remote() Options {
	return Options{URL: "https://agents.example.com/mcp/code_reviewer", Token: "AGENT_TOKEN", Headers: []string{"X-Team=TEAM"}}
}

// TestPlaces is the table of files on each system.
func TestPlaces(t *testing.T) {
	for goos, env := range map[string]map[string]string{
		"linux":   {"HOME": "/home/ann"},
		"darwin":  {"HOME": "/Users/ann"},
		"windows": {"USERPROFILE": `C:\Users\ann`, "APPDATA": `C:\Users\ann\AppData\Roaming`},
	} {
		sys := System{GOOS: goos, Dir: "/project", Lookup: lookup(env)}
		if goos == "windows" {
			sys.Dir = `D:\work`
		}
		var b strings.Builder
		for _, h := range table() {
			for _, scope := range []string{User, Project} {
				spots, err := sys.spots(h, scope)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range spots {
					fmt.Fprintf(&b, "%s %s: %s\n", h.name, scope, s.path)
					if !strings.HasPrefix(s.path, s.dir) {
						t.Errorf("%s is not below %s", s.path, s.dir)
					}
				}
			}
		}
		golden(t, "places_"+goos+".txt", b.String())
	}
}

func TestPlacesOfVariables(t *testing.T) {
	sys := System{GOOS: "linux", Dir: "/project", Lookup: lookup(map[string]string{
		"HOME": "/home/ann", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "COPILOT_HOME": "/e", "XDG_CONFIG_HOME": "/x", "APPDATA": "/not",
	})}
	for name, want := range map[string]string{
		"codex": "/c/config.toml", "claude-code": "/d/.claude.json", "copilot-cli": "/e/mcp-config.json", "goose": "/x/goose/config.yaml",
		"vscode": "/x/Code/User/mcp.json", "zed": "/x/zed/settings.json", "cursor": "/home/ann/.cursor/mcp.json",
	} {
		h, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		if spots, err := sys.spots(h, User); err != nil || len(spots) == 0 || spots[0].path != filepath.FromSlash(want) {
			t.Errorf("%s: %v %v", name, spots, err)
		}
	}
	h, _ := find("zed")
	sys.Lookup = lookup(map[string]string{"HOME": "/home/ann", "XDG_CONFIG_HOME": "relative"}) // to be ignored, says XDG
	if spots, err := sys.spots(h, User); err != nil || spots[0].path != filepath.FromSlash("/home/ann/.config/zed/settings.json") {
		t.Error(spots, err)
	}
	sys.Lookup = lookup(nil)
	if _, err := sys.spots(h, User); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Error(err)
	}
}

// TestPrint has what each host gets, to start adkmcp and to connect to it.
func TestPrint(t *testing.T) {
	for _, name := range Names() {
		var b strings.Builder
		for _, o := range []Options{{}, remote()} {
			e, home, out, stderr := machine(t, nil)
			a := reviewer()
			if o.Host = name; o.URL != "" {
				a = Agents{}
			}
			if name == "claude-desktop" {
				o.File = "claude_desktop_config.json"
			}
			if err := e.Print(o, a); err != nil {
				fmt.Fprintf(stderr, "error: %v\n", err)
			}
			said := strings.NewReplacer(home, "~", e.Dir, ".").Replace(stderr.String())
			fmt.Fprintf(&b, "%s----\n%s====\n", said, out)
		}
		golden(t, "print/"+name+".txt", b.String())
	}
}

// TestSecrets sees that no value of a variable comes out anywhere.
func TestSecrets(t *testing.T) {
	env := map[string]string{"REPO_TOKEN": "hunter2", "GEMINI_API_KEY": "hunter2", "AGENT_TOKEN": "hunter2", "TEAM": "hunter2"}
	for _, name := range Names() {
		for _, o := range []Options{{}, remote()} {
			e, _, out, stderr := machine(t, env)
			o.Host, o.Force = name, true
			a := reviewer()
			if o.URL != "" {
				a = Agents{}
			}
			if name == "claude-desktop" {
				o.File = "d.json"
			}
			if err := errors.Join(e.Print(o, a), e.Install(o, a)); err != nil && o.URL == "" {
				t.Error(err)
			}
			said := out.String() + stderr.String()
			for _, dir := range []string{e.Dir, filepath.Dir(e.Dir)} {
				_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() {
						data, _ := os.ReadFile(path)
						said += string(data)
					}
					return nil
				})
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}

// originals are files as the hosts have them.
var originals = map[string]string{
	".json": "{\n\t// mine\n\t\"theme\": \"dark\",\n\t\"ROOT\": {\n\t\t\"files\": {\"command\": \"npx\"}, // files\n\t},\n}",
	".toml": "model = \"x\" # mine\r\n\r\n[ROOT.files]\r\ncommand = \"npx\"\r\n",
	".yaml": "# mine\nmodel: x\nROOT:\nENTRY\n\n# end\n",
}

func original(h *host, path string) string {
	item := "  files:\n    cmd: npx # files"
	if h.name == "continue" {
		item = "  - name: files\n    command: npx # files"
	}
	return strings.NewReplacer("ROOT", h.kind.Root[0], "ENTRY", item).Replace(originals[filepath.Ext(path)])
}

// TestInstall goes through a life: into a file that has other things, a second
// time, another version, and out again.
func TestInstall(t *testing.T) {
	for _, h := range table() {
		for _, scope := range []string{User, Project} {
			if len(h.scopes()[scope]) == 0 {
				continue
			}
			t.Run(h.name+"_"+scope, func(t *testing.T) {
				e, _, out, stderr := machine(t, nil)
				o := Options{Host: h.name, Scope: scope}
				if h.name == "claude-desktop" {
					e.GOOS = "darwin"
				}
				spot, _, err := e.where(h, o)
				if err != nil {
					t.Fatal(err)
				}
				before := original(h, spot.path)
				write(t, spot.path, before)
				if err := e.Install(o, reviewer()); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(stderr.String(), "Added code") || !strings.HasSuffix(stderr.String(), h.next+"\n") || out.Len() > 0 {
					t.Errorf("out %q, err %q", out, stderr)
				}
				after := read(t, spot.path)
				entries, err := h.kind.Entries(after)
				name := strings.ReplaceAll("code_reviewer", cmpOr(h.names.avoid, "\x00"), "-")
				if err != nil || !ours(entries[name]) || len(entries) != 2 {
					t.Fatalf("%v %v\n%s", err, entries, after)
				}
				stderr.Reset()
				if err := e.Install(o, reviewer()); err != nil || !strings.Contains(stderr.String(), "has this entry already; nothing is changed") || read(t, spot.path) != after {
					t.Errorf("again: %v %q", err, stderr)
				}
				a := reviewer()
				a.Path = "/srv/agents/other.yaml"
				if err := e.Install(o, a); err != nil || strings.Count(read(t, spot.path), "other.yaml") != 1 {
					t.Errorf("replace: %v\n%s", err, read(t, spot.path))
				}
				if err := e.Remove(o, name); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, read(t, spot.path)); diff != "" {
					t.Errorf("removed: %s", diff)
				}
				if read(t, spot.path+".bak") != before || read(t, spot.path+".bak.1") != after {
					t.Error("the backups are not what was there")
				}
			})
		}
	}
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNewFile makes folders of a project, those of a host that is installed, and
// others only by force.
func TestNewFile(t *testing.T) {
	e, home, _, _ := machine(t, nil)
	if err := e.Install(Options{Host: "kiro", Scope: Project}, reviewer()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(e.Dir, ".kiro/settings/mcp.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Error(info, err)
	}
	o := Options{Host: "kiro"}
	err := e.Install(o, reviewer())
	if err == nil || !strings.Contains(err.Error(), filepath.Join(home, ".kiro")) || !strings.Contains(err.Error(), "--force") {
		t.Error(err)
	}
	if there(filepath.Join(home, ".kiro")) {
		t.Error("the folder was made")
	}
	if err := os.Mkdir(filepath.Join(home, ".kiro"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := e.Install(o, reviewer()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(home, ".kiro/settings/mcp.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := e.Install(Options{Host: "codex", Force: true}, reviewer()); err != nil || !there(filepath.Join(home, ".codex/config.toml")) {
		t.Error(err)
	}
	if err := e.Install(Options{Host: "continue", Scope: Project}, reviewer()); err != nil || !strings.HasPrefix(read(t, filepath.Join(e.Dir, ".continue/mcpServers/adkmcp.yaml")), "name: adkmcp\n") {
		t.Error(err)
	}
}

// TestCandidates prefers the file that is there, then the folder.
func TestCandidates(t *testing.T) {
	e, home, _, _ := machine(t, nil)
	h, _ := find("cline")
	vscode := filepath.Join(home, ".config/Code/User/globalStorage/saoudrizwan.claude-dev")
	where := func() string {
		s, _, err := e.where(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s.path
	}
	write(t, filepath.Join(vscode, "state"), "")
	if got := where(); got != filepath.Join(vscode, "settings/cline_mcp_settings.json") {
		t.Error(got)
	}
	both := filepath.Join(home, ".cline/data/settings/cline_mcp_settings.json")
	write(t, both, "{}")
	if got := where(); got != both {
		t.Error(got)
	}
	h, _ = find("opencode")
	write(t, filepath.Join(e.Dir, "opencode.jsonc"), "{}")
	if s, _, err := e.where(h, Options{Scope: Project}); err != nil || filepath.Base(s.path) != "opencode.jsonc" {
		t.Error(s, err)
	}
}

// TestDryRun changes nothing, not even by making folders.
func TestDryRun(t *testing.T) {
	e, home, out, stderr := machine(t, nil)
	path := filepath.Join(home, ".cursor/mcp.json")
	write(t, path, "{\n  \"mcpServers\": {}\n}\n")
	if err := e.Install(Options{Host: "cursor", DryRun: true}, reviewer()); err != nil {
		t.Fatal(err)
	}
	golden(t, "dry_run.diff", strings.ReplaceAll(out.String(), path, "mcp.json"))
	if len(files(t, home)) != 1 || stderr.Len() > 0 {
		t.Error(files(t, home), stderr)
	}
	out.Reset()
	if err := e.Install(Options{Host: "vscode", Scope: Project, DryRun: true}, reviewer()); err != nil || !strings.HasPrefix(out.String(), "--- "+os.DevNull) {
		t.Error(err, out)
	}
	if got := files(t, e.Dir); len(got) > 0 {
		t.Error(got)
	}
}

func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if path != dir && (!d.IsDir() || len(all) == 0) && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestList(t *testing.T) {
	e, home, out, _ := machine(t, nil)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"b": {"command": "C:\\bin\\ADKMCP.exe"}, "a": {"command": "/opt/bin/adkmcp"}, "c": {"command": "npx"}, "d": {"url": "x"}}}`)
	write(t, filepath.Join(home, ".codex/config.toml"), "a = 1\nb = [\n")
	write(t, filepath.Join(e.Dir, ".zed/settings.json"), `{"context_servers": {"old": {"command": {"path": "/opt/bin/adkmcp"}}}}`)
	write(t, filepath.Join(e.Dir, "opencode.json"), `{"mcp": {"o": {"command": ["adkmcp", "serve"]}}}`)
	write(t, filepath.Join(home, ".cline/data/settings/cline_mcp_settings.json"), `{"mcpServers": {"n": {"transport": {"command": "adkmcp"}}}}`)
	write(t, filepath.Join(home, ".config/goose/config.yaml"), "extensions:\n  g: {cmd: adkmcp}\n")
	write(t, filepath.Join(home, ".continue/config.yaml"), "mcpServers:\n- {name: k, command: adkmcp}\n- 1\n")
	if err := e.List(false); err != nil {
		t.Fatal(err)
	}
	golden(t, "list.txt", strings.NewReplacer(home, "~", e.Dir, ".").Replace(squeeze(out.String())))
	out.Reset()
	if err := e.List(true); err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.Host == "cursor" && r.Scope == User })
	if diff := cmp.Diff(row{Host: "cursor", Title: "Cursor", Scope: User, File: filepath.Join(home, ".cursor/mcp.json"), Exists: true, Servers: []string{"a", "b"}}, rows[i]); diff != "" {
		t.Error(diff)
	}
}

// squeeze makes one blank of several, which depend on the length of paths.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestDocs keeps the entries in the pages those that are printed.
func TestDocs(t *testing.T) {
	const docs = "../../../docs/hosts/"
	index := read(t, docs+"index.md")
	for _, h := range table() {
		page := read(t, docs+h.name+".md")
		printed := read(t, "testdata/print/"+h.name+".txt")
		for part := range strings.SplitSeq(strings.TrimSuffix(printed, "====\n"), "====\n") {
			_, entry, _ := strings.Cut(part, "----\n")
			if !strings.Contains(page, "\n"+entry) {
				t.Errorf("%s.md lacks\n%s", h.name, entry)
			}
		}
		if !strings.HasPrefix(page, "# "+h.title+"\n") || !strings.Contains(page, "adkmcp hosts install "+h.name+" ") {
			t.Errorf("%s.md lacks its title or the command", h.name)
		}
		if !strings.Contains(index, "["+h.title+"]("+h.name+".md)") {
			t.Errorf("index.md lacks %s", h.name)
		}
	}
	if got, err := filepath.Glob(docs + "*.md"); err != nil || len(got) != len(table())+1 {
		t.Error("a page for no host", got, err)
	}
}
