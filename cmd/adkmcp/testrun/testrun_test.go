package testrun

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the key of the tests, which nothing may show or keep.
const key = "canary0key-of-the-environment"

// service is a fake of the Gemini API.
func service(t *testing.T, replies ...g.Reply) *g.Server {
	t.Helper()
	s, err := g.Start(t.Context(), g.Play(replies...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range s.Refusals() {
			t.Errorf("the service refused: %s", r)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// test runs the test files of the folder, and gives what is printed.
func test(t *testing.T, env map[string]string, o Options) (passed bool, out string, err error) {
	t.Helper()
	var stdout, stderr strings.Builder
	ids := 0
	o.LookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o.NewID = func() string { ids++; return fmt.Sprint(ids) }
	o.Now, o.Version, o.Out, o.Err, o.Secrets = time.Now, "1", &stdout, &stderr, func([]string) {}
	if o.Format == "" {
		o.Format = "text"
	}
	passed, err = Run(t.Context(), &o, slog.New(slog.DiscardHandler), []string{"."})
	return passed, stdout.String() + stderr.String(), err
}

const asker = `name: asker
instruction: Ask.
model: {name: gemini-3-flash, base_url: %s, retries: 0}
tools:
  - agent: {name: inner, instruction: Think.}
  - {name: clock, description: The time., parameters: {}, shell: [date]}
`

const cases = `judge: {name: gemini-3-flash, base_url: %s, retries: 0}
cases:
  - name: asks
    request: What time is it?
    tools: {clock: noon}
    expect:
      calls: [inner, clock]
      text: It is noon.
      judge: says what time it is
`

func TestLiveThenReplay(t *testing.T) {
	live := service(t,
		g.Stream(g.Final("STOP", g.Call("inner", `{"request":"think"}`, "c2ln"), g.Call("clock", `{}`, ""))),
		g.Say("I have thought."),
		g.Say("It is noon."),
		g.Say(`{"pass": true, "reason": "noon is a time"}`))
	write(t, map[string]string{"asker.yaml": fmt.Sprintf(asker, live.URL), "asker.test.yaml": fmt.Sprintf(cases, live.URL)})
	env := map[string]string{"GEMINI_API_KEY": key, "PATH": os.Getenv("PATH")}

	passed, out, err := test(t, env, Options{Live: true})
	if err != nil || !passed || len(live.Requests()) != 4 {
		t.Fatalf("live: %v after %d requests\n%s", err, len(live.Requests()), out)
	}
	recording := read(t, "asker.recording.json")
	if strings.Contains(recording, key) || !strings.Contains(recording, `"judge in asks"`) || !strings.Contains(recording, `"inner in asks"`) {
		t.Error(recording)
	}

	// Without a key, and without the service.
	passed, out, err = test(t, map[string]string{"PATH": os.Getenv("PATH")}, Options{})
	if err != nil || !passed || len(live.Requests()) != 4 {
		t.Fatalf("replay: %v\n%s", err, out)
	}

	// Another case is not in the recording.
	other := strings.Replace(read(t, "asker.test.yaml"), "What time", "What hour", 1)
	if err := os.WriteFile("asker.test.yaml", []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	passed, out, err = test(t, env, Options{})
	if err != nil || passed || !strings.Contains(out, "the turn ended with misconfigured: ") || len(live.Requests()) != 4 {
		t.Errorf("another case: %v\n%s", err, out)
	}
}

// A run that breaks leaves the recording, one that fails does not.
func TestRecordingStays(t *testing.T) {
	live := service(t, g.Say("first"), g.Fail(403, "PERMISSION_DENIED", "no"), g.Say("third"))
	write(t, map[string]string{
		"asker.yaml":      fmt.Sprintf("name: asker\ninstruction: Ask.\nmodel: {name: gemini-3-flash, base_url: %s, retries: 0}\n", live.URL),
		"asker.test.yaml": "cases: [{name: asks, request: Go, expect: {text: third}}]",
	})
	env := map[string]string{"GEMINI_API_KEY": key}
	for i, want := range []struct{ recorded, out string }{
		{"first", `want "third"`},
		{"first", "the recording stays as it was"},
		{"third", "1 passed"},
	} {
		_, out, err := test(t, env, Options{Live: true})
		if recording := read(t, "asker.recording.json"); err != nil || !strings.Contains(recording, `"`+want.recorded+`"`) || !strings.Contains(out, want.out) {
			t.Errorf("run %d: %v\n%s%s", i+1, err, out, recording)
		}
	}
}

// With a script nothing is recorded but the judge.
func TestScriptWithJudge(t *testing.T) {
	live := service(t, g.Say(`{"pass": false, "reason": "it is rude"}`))
	const agent = "name: greeter\ninstruction: Greet.\nmodel: {provider: scripted, script: [{steps: [{reply: %s}]}]}\n"
	write(t, map[string]string{
		"greeter.yaml":      fmt.Sprintf(agent, "Go away."),
		"greeter.test.yaml": fmt.Sprintf("judge: {name: gemini-3-flash, base_url: %s}\ncases: [{name: greets, request: Hello, expect: {judge: is kind}}]", live.URL),
	})
	for _, o := range []Options{{Live: true}, {}} {
		passed, out, err := test(t, map[string]string{"GEMINI_API_KEY": key}, o)
		if err != nil || passed || !strings.Contains(out, `want "is kind"`) || !strings.Contains(out, `got  "it is rude"`) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if recording := read(t, "greeter.recording.json"); strings.Contains(recording, `"greeter"`) {
		t.Error(recording)
	}
}

func TestSecretsStayOutOfTheReport(t *testing.T) {
	write(t, map[string]string{
		"a.yaml": `name: a
instruction: x
model: {provider: scripted, script: [{steps: [{reply: "` + key + `"}]}]}
tools: [{name: get, description: x, http: {url: "https://example.com", auth: {bearer: "${TOKEN}"}}}]
`,
		"a.test.yaml": "cases: [{name: a, request: x, expect: {text: z}}]",
	})
	passed, _, err := test(t, map[string]string{"TOKEN": key}, Options{JUnit: "report.xml"})
	if report := read(t, "report.xml"); err != nil || passed || strings.Contains(report, key) || !strings.Contains(report, "[redacted]") {
		t.Error(err, report)
	}
}
