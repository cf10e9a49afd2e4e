package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"crypto/rand"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve"
	jsonrpc "github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// testApp is a program whose environment is env.
func testApp(t testing.TB, env map[string]string) *app {
	t.Helper()
	if env["PATH"] == "" {
		env["PATH"] = os.Getenv("PATH")
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stderr.Close()
		if text, err := os.ReadFile(stderr.Name()); err == nil && t.Failed() {
			t.Logf("standard error: %s", text)
		}
	})
	return &app{
		stdin: os.Stdin, stdout: stderr, stderr: stderr,
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		now:    time.Now, newID: rand.Text, executable: os.Executable,
	}
}

func openHouse(t testing.TB, env map[string]string, paths ...string) *opened {
	t.Helper()
	h, err := testApp(t, env).open(&streams.Log{Level: "warn", Format: "text"}, paths, opening{bounds: house.DefaultBounds()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// ask takes one turn of the only agent and gives the answer's text.
func ask(t testing.TB, h *opened, request string) string {
	t.Helper()
	return askIn(t, h, request, request)
}

// askIn does it in the conversation of that handle.
func askIn(t testing.TB, h *opened, handle, request string) string {
	t.Helper()
	a, err := answer.Collect(h.Residents[0].Runner.Run(t.Context(), agent.Turn{
		Key: session.Key{Principal: localPrincipal, Agent: h.Residents[0].Config.Name, Handle: handle}, Mode: session.Create,
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: request}}},
	}), nil)
	if err != nil || a.Problem != nil || a.Content == nil {
		t.Fatalf("%s: %v, %+v", request, err, a.Problem)
	}
	return a.Content.Parts[0].Text
}

// twin is an example whose model is replaced by a script.
func twin(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(repository, "agents", name+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "twins", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	model := regexp.MustCompile(`(?m)^model: .*\n`)
	if !model.Match(text) {
		t.Fatalf("%s has no line that names its model", file)
	}
	path := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, model.ReplaceAllLiteral(text, script), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDice(t *testing.T) {
	h := openHouse(t, map[string]string{}, repository+"/agents/dice.yaml")
	if got := ask(t, h, "a d1000, please"); !regexp.MustCompile(`^You rolled \d+ on a d1000\.$`).MatchString(got) {
		t.Errorf("answer %q", got)
	}
	if got := ask(t, h, "a d1, please"); !strings.Contains(got, "sides") {
		t.Errorf("a die with one side gives %q", got)
	}
}

func TestReviewer(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("hello.txt", "hello\n")
	git("add", ".")
	git("commit", "-qm", "first")
	write("hello.txt", "goodbye\n")
	write("other.txt", "other\n")
	git("add", ".")
	git("commit", "-qm", "second")
	write("hello.txt", "again\n")

	h := openHouse(t, map[string]string{"REVIEW_REPO": repo}, twin(t, "reviewer"))
	got := ask(t, h, "commit HEAD~1")
	for _, want := range []string{`COMMITS [0-9a-f]+ second\n[0-9a-f]+ first`, `CHANGE commit [0-9a-f]+(.|\n)*\+hello`, `FILE (.|\n)*again`, `OPEN diff(.|\n)*-goodbye\n\+again`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("want %s in the answer:\n%s", want, got)
		}
	}
	if got := ask(t, h, "only other.txt"); !strings.Contains(got, "+other") || strings.Contains(got, "goodbye") {
		t.Errorf("the change of one file is:\n%s", got)
	}
	if got := ask(t, h, "only --output=pwned"); strings.Contains(got, "fatal") || exists(filepath.Join(repo, "pwned")) {
		t.Errorf("an option as a path gives:\n%s", got)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestGitHubIssues(t *testing.T) {
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI()+" "+r.Header.Get("Accept"))
		switch r.URL.Path {
		case "/search/issues":
			fmt.Fprint(w, `{"items":[{"number":41344,"title":"hangs","state":"open","labels":[{"name":"bug"}],"rest":1}]}`)
		case "/repos/golang/go/issues/41344":
			fmt.Fprint(w, `{"title":"hangs","state":"open","body":"text","comments":1,"user":{"login":"gopher"}}`)
		default:
			fmt.Fprint(w, `[{"user":{"login":"gopher"},"body":"same here"}]`)
		}
	}))
	defer api.Close()
	h := openHouse(t, map[string]string{"GITHUB_API_URL": api.URL}, twin(t, "github_issues"))
	got := ask(t, h, "find repo:golang/go is:open a&b")
	for _, want := range []string{`"labels":["bug"]`, `"author":"gopher"`, `"body":"same here"`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
	const accept = " application/vnd.github+json"
	if want := "/search/issues?q=repo%3Agolang%2Fgo%20is%3Aopen%20a%26b&per_page=10" + accept; len(asked) != 3 || strings.ReplaceAll(asked[0], "+is", "%20is") != want && asked[0] != strings.ReplaceAll(want, "%20", "+") {
		t.Errorf("asked %q, want first %q", asked, want)
	}
}

// TestDiceTable has the program itself as an MCP server.
func TestDiceTable(t *testing.T) {
	h := openHouse(t, map[string]string{}, repository+"/agents/dice_table.yaml")
	if got := ask(t, h, "a d20, please"); !regexp.MustCompile(`^The dice server says: You rolled \d+ on a d20\.$`).MatchString(got) {
		t.Errorf("answer %q", got)
	}
}

func TestFrontDesk(t *testing.T) {
	h := openHouse(t, map[string]string{}, repository+"/agents/front_desk.yaml")
	if got := ask(t, h, "What time is it in Asia/Tokyo?"); !regexp.MustCompile(`^The clock says: [0-9T:-]+\+09:00, [A-Z][a-z]+day$`).MatchString(got) {
		t.Errorf("answer %q", got)
	}
}

func TestWeather(t *testing.T) {
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"current":{"temperature_2m":7.5}}`)
	}))
	defer api.Close()
	h := openHouse(t, map[string]string{"WEATHER_API_URL": api.URL}, repository+"/agents/weather.yaml")
	if got := ask(t, h, "52.4, -4.9"); got != `{"current":{"temperature_2m":7.5}}` {
		t.Errorf("answer %q", got)
	}
	want := []string{"GET /v1/forecast?latitude=52.4&longitude=-4.9&current=temperature_2m,wind_speed_10m"}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("asked: %s", d)
	}
}

// exampleFiles are the example agents.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(repository + "/agents/*.yaml")
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".test.yaml") })
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	return files
}

// TestToolSnapshots shows what a change does to what hosts see.
func TestToolSnapshots(t *testing.T) {
	for _, file := range exampleFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			h := openHouse(t, map[string]string{"GEMINI_API_KEY": "none"}, file)
			s, err := serve.New(serve.Options{
				Agents: served(t.Context(), h), Version: "1", IdleExpiry: time.Hour,
				Turns: turns.New(h.log, time.Now), Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			list, bad := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if bad != nil {
				t.Fatal(bad)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, s.All().Handle(t.Context(), list).Body, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			snapshot := filepath.Join("testdata", "tools", name+".json")
			if *update {
				if err := os.WriteFile(snapshot, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("tools/list has changed (go test ./cmd/adkmcp -run Snapshots -update):\n%s", d)
			}
		})
	}
}
