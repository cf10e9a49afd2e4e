package testrun

import (
	"encoding/base64"
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
	passed, err = Run(t.Context(), &o, slog.New(slog.NewTextHandler(&stderr, nil)), []string{"."})
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
	coded := base64.StdEncoding.EncodeToString([]byte(key))
	write(t, map[string]string{
		"a.yaml": `name: a
instruction: x
model: {provider: scripted, script: [{steps: [{reply: "` + key + ` or ` + coded + `"}]}]}
tools: [{name: get, description: x, http: {url: "https://example.com", auth: {bearer: "${TOKEN}"}}}]
`,
		"a.test.yaml": "cases: [{name: a, request: x, expect: {text: z}}]",
	})
	passed, _, err := test(t, map[string]string{"TOKEN": key}, Options{JUnit: "report.xml"})
	if report := read(t, "report.xml"); err != nil || passed || strings.Contains(report, key) || strings.Contains(report, coded) || !strings.Contains(report, "[redacted]") {
		t.Error(err, report)
	}
}

// A judge is written as an agent's model is: its key may come from a variable, or from
// .env beside the test file. Nothing keeps or shows it, and a replay wants it not.
func TestJudgeWithAKeyOfItsOwn(t *testing.T) {
	const own = "canary0key-of-the-judge"
	for name, given := range map[string]struct{ env, dotenv string }{"variable": {own, ""}, ".env": {"", "JUDGE_KEY=" + own}} {
		t.Run(name, func(t *testing.T) {
			live := service(t, g.Say(`{"pass": false, "reason": "your key is `+own+`"}`))
			write(t, map[string]string{
				"greeter.yaml": "name: greeter\ninstruction: Greet.\nmodel: {provider: scripted, script: [{steps: [{reply: Hello.}]}]}\n",
				"greeter.test.yaml": fmt.Sprintf("judge: {name: gemini-3-flash, base_url: %s, api_key: \"${JUDGE_KEY}\"}\n", live.URL) +
					"cases: [{name: greets, request: Hello, expect: {judge: is kind}}]",
				".env": given.dotenv,
			})
			env := map[string]string{}
			if given.env != "" {
				env["JUDGE_KEY"] = given.env
			}
			passed, out, err := test(t, env, Options{Live: true, JUnit: "report.xml"})
			if err != nil || passed || len(live.Requests()) != 1 {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := live.Requests()[0].Header.Get("X-Goog-Api-Key"); got != own {
				t.Errorf("the key was %q", got)
			}
			for _, text := range []string{out, read(t, "report.xml"), read(t, "greeter.recording.json")} {
				if strings.Contains(text, own) || !strings.Contains(text, "your key is [redacted]") {
					t.Error(text)
				}
			}
			if err := os.Remove(".env"); err != nil {
				t.Fatal(err)
			}
			if passed, out, err := test(t, nil, Options{}); err != nil || passed || !strings.Contains(out, "your key is [redacted]") {
				t.Errorf("%v\n%s", err, out)
			}
			if _, out, err := test(t, nil, Options{Live: true}); err == nil || !strings.Contains(out, "error: judge.api_key: the environment variable JUDGE_KEY is not set") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The outcome of a case does not depend on the secrets of other files' agents.
func TestSecretsOfOthers(t *testing.T) {
	const cases = "cases: [{name: wins, request: Hello, expect: {text: good research wins}}]"
	script := "instruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: good research wins}]}]}\n"
	write(t, map[string]string{
		"a.yaml": "name: a\n" + strings.Replace(script, "scripted,", `scripted, headers: {X-Team: "${TEAM}"},`, 1), "a.test.yaml": strings.Replace(cases, "good research wins", "'good [redacted] wins'", 1),
		"b.yaml": "name: b\n" + script, "b.test.yaml": cases,
	})
	if passed, out, err := test(t, map[string]string{"TEAM": "research"}, Options{}); err != nil || !passed {
		t.Errorf("%v\n%s", err, out)
	}
}

// What is wrong with a judge has its place, and what may be is told too.
func TestJudgeHasAPlace(t *testing.T) {
	for judge, want := range map[string]string{
		"{name: gpt-5-mini, base_url: https://x/v1/chat/completions}": "greeter.test.yaml:1:8: judge.base_url: leave out /chat/completions",
		"{name: gpt-5-mini, temperature: 1}":                          "greeter.test.yaml:1:40: warning: judge.temperature: ",
	} {
		write(t, map[string]string{
			"greeter.yaml":      "name: greeter\ninstruction: Greet.\nmodel: {provider: scripted, script: [{steps: [{reply: Hello.}]}]}\n",
			"greeter.test.yaml": "judge: " + judge + "\ncases: [{name: greets, request: Hello, expect: {judge: is kind}}]",
		})
		if _, out, err := test(t, nil, Options{Live: true}); !strings.Contains(fmt.Sprint(out, err), want) {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// What cannot be written is found out before a model is asked, and what is no
// recording stays what it is.
func TestWhatCannotBeWritten(t *testing.T) {
	live := service(t)
	files := map[string]string{
		"asker.yaml":      fmt.Sprintf("name: asker\ninstruction: Ask.\nmodel: {name: gemini-3-flash, base_url: %s, retries: 0}\n", live.URL),
		"asker.test.yaml": "cases: [{name: asks, request: Go, expect: {text: third}}]",
		"notes.json":      "[]",
	}
	for recording, want := range map[string]string{
		"none/r.json": "there is no folder none", "asker.yaml": "is there and is no recording", "notes.json": "is there and is no recording", ".": "is no file",
	} {
		write(t, files)
		if err := os.WriteFile("asker.test.yaml", []byte("recording: "+recording+"\n"+files["asker.test.yaml"]), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := test(t, map[string]string{"GEMINI_API_KEY": key}, Options{Live: true})
		if err == nil || !strings.Contains(err.Error(), want) || len(live.Requests()) != 0 || read(t, "asker.yaml") != files["asker.yaml"] || read(t, "notes.json") != "[]" {
			t.Errorf("%s: %v after %d requests", recording, err, len(live.Requests()))
		}
	}
	for _, report := range []string{"none/r.xml", "."} {
		write(t, files)
		if _, _, err := test(t, map[string]string{"GEMINI_API_KEY": key}, Options{Live: true, JUnit: report}); err == nil || !strings.Contains(err.Error(), "--junit: ") || len(live.Requests()) != 0 {
			t.Errorf("%s: %v after %d requests", report, err, len(live.Requests()))
		}
	}
}

// A report is for others too; a recording holds what nobody has read yet.
func TestModes(t *testing.T) {
	live := service(t, g.Say("hello"))
	write(t, map[string]string{
		"asker.yaml":      fmt.Sprintf("name: asker\ninstruction: Ask.\nmodel: {name: gemini-3-flash, base_url: %s}\n", live.URL),
		"asker.test.yaml": "cases: [{name: asks, request: Go, expect: {text: hello}}]",
	})
	if passed, out, err := test(t, map[string]string{"GEMINI_API_KEY": key}, Options{Live: true, JUnit: "report.xml"}); !passed {
		t.Fatal(out, err)
	}
	for name, want := range map[string]os.FileMode{"report.xml": 0o644, "asker.recording.json": 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want&^umask(t) {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// umask is what a new file has not of its mode.
func umask(t *testing.T) os.FileMode {
	t.Helper()
	f, err := os.OpenFile("probe", os.O_CREATE|os.O_WRONLY, 0o777)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return 0o777 &^ info.Mode().Perm()
}

// A recording that stops would lack replies, so the earlier one stays, and the run
// says so while it goes on and at its end.
func TestRecordingThatStops(t *testing.T) {
	deep := strings.Repeat("[", 1500) + strings.Repeat("]", 1500) // a recording has no room for it
	live := service(t, g.Say("first"), g.Stream(g.Final("STOP", g.Call("clock", `{"a":`+deep+`}`, "c2ln"))), g.Say("first"))
	write(t, map[string]string{
		"asker.yaml":      fmt.Sprintf(strings.Replace(asker, "  - agent: {name: inner, instruction: Think.}\n", "", 1), live.URL),
		"asker.test.yaml": "cases: [{name: asks, request: Go, tools: {clock: noon}, expect: {text: first}}]",
	})
	env := map[string]string{"GEMINI_API_KEY": key, "PATH": os.Getenv("PATH")}
	if passed, out, err := test(t, env, Options{Live: true}); !passed {
		t.Fatal(out, err)
	}
	before := read(t, "asker.recording.json")
	_, out, err := test(t, env, Options{Live: true})
	if err == nil || !strings.Contains(err.Error(), "stopped at exchange 1, a reply to agent asker in asks: ") || !strings.Contains(err.Error(), "; the recording stays as it was") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out, `level=WARN msg="the models go on unrecorded" error="recording asker.recording.json stopped at exchange 1`) {
		t.Error(out)
	}
	if read(t, "asker.recording.json") != before {
		t.Error("the recording is another one")
	}
}
