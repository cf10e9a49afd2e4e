package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model: what it says to the newest content.
type fake func(ctx context.Context, req *model.Request, newest *genai.Content) (*model.Reply, error)

func (f fake) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if !yield(&model.Reply{Partial: true, Content: &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "…"}}}}, nil) {
			return
		}
		yield(f(ctx, req, req.Contents[len(req.Contents)-1]))
	}
}

func says(parts ...*genai.Part) *model.Reply {
	return &model.Reply{Content: &genai.Content{Role: "model", Parts: parts}, Usage: &model.Usage{Total: 100}}
}

func text(s string) *genai.Part { return &genai.Part{Text: s} }

func call(tool string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{Name: tool, Args: args}}
}

// dice does what its request says: "roll 20 6" calls roll_die twice in a step,
// "say x" says x, "call tool" calls any, and so on. What tools gave it tells.
func dice(ctx context.Context, _ *model.Request, newest *genai.Content) (*model.Reply, error) {
	if newest.Parts[0].FunctionResponse != nil {
		var all []string
		for _, p := range newest.Parts {
			raw, _ := json.Marshal(p.FunctionResponse.Response)
			all = append(all, string(raw))
		}
		return says(text("Got " + strings.Join(all, " "))), nil
	}
	verb, rest, _ := strings.Cut(newest.Parts[0].Text, " ")
	switch verb {
	case "roll":
		var calls []*genai.Part
		for _, n := range strings.Fields(rest) {
			calls = append(calls, call("roll_die", map[string]any{"sides": json.Number(n), "how": map[string]any{"hand": "left", "cup": true}}))
		}
		return says(calls...), nil
	case "call":
		return says(call(rest, nil)), nil
	case "block":
		return nil, &model.Error{Code: model.Blocked, Message: "blocked for " + rest}
	case "wait":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return says(text(rest)), nil
}

// tool is one that says what it is, or asks for an approval.
type tool struct {
	spec agent.Spec
	asks string
	runs atomic.Int64
}

func newTool(name, asks string) *tool {
	return &tool{asks: asks, spec: agent.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{"sides":{"type":"integer","minimum":2},"how":{"type":"object"}}}`)}}
}

func (t *tool) Spec() *agent.Spec { return &t.spec }

func (t *tool) Call(_ context.Context, c *agent.Call) (*agent.Result, error) {
	if t.asks != "" && c.Answer == nil {
		return &agent.Result{Suspend: &session.Suspension{Kind: t.asks, Message: "Really?"}}, nil
	}
	t.runs.Add(1)
	if c.Answer != nil {
		return agent.Text("told " + c.Answer.Action), nil
	}
	return agent.Text("really " + t.spec.Name), nil
}

// stand is what a test of this package needs.
type stand struct {
	cfg   config.Agent
	tools []agent.Tool
	model model.Model
	judge model.Model
	saved int
	built int
	open  int
	wrong error
}

func newStand() *stand {
	return &stand{
		cfg: config.Agent{Name: "dice", File: "dice.yaml", Limits: config.Limits{MaxModelCalls: 5, MaxTotalTokens: 10_000, Timeout: config.Duration(time.Minute)}},
		tools: []agent.Tool{newTool("roll_die", ""), newTool("approved", model.Approval), newTool("asking", model.Question),
			&tool{spec: agent.Spec{Name: "google_search", Hosted: "google_search"}}},
		model: fake(dice),
		judge: fake(judging),
	}
}

// judging passes what holds its own statement.
func judging(_ context.Context, req *model.Request, newest *genai.Content) (*model.Reply, error) {
	var m material
	if err := json.Unmarshal([]byte(newest.Parts[0].Text), &m); err != nil || req.OutputSchema == nil || req.System == "" {
		return nil, errors.New("a request of another kind")
	}
	switch m.Statement {
	case "malformed":
		return says(text(`{"pass": "yes"}`)), nil
	case "prose":
		return says(text("Certainly.")), nil
	case "silent":
		return &model.Reply{}, nil
	case "blocked":
		return nil, &model.Error{Code: model.Blocked, Message: "no judgement on this"}
	case "cut":
		return &model.Reply{Problem: &model.Error{Code: model.MaxTokens, Message: "the verdict was cut"}}, nil
	case "fenced":
		return says(&genai.Part{Text: "hm", Thought: true}, text("```json\n{\"pass\": true, \"reason\": \"so\"}\n```")), nil
	}
	pass := strings.Contains(m.Answer, m.Statement) || strings.Contains(m.Request, m.Statement)
	raw, _ := json.Marshal(verdict{pass, "it says " + m.Answer})
	return says(text(string(raw))), nil
}

func (s *stand) build(_ context.Context, f *testfile.File, around Around) (*Built, error) {
	if s.wrong != nil {
		return nil, s.wrong
	}
	store := session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 100, MaxBytes: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	ids := 0
	s.built++
	s.open++
	return &Built{Hide: hide,
		Config: &s.cfg,
		Judge:  s.judge,
		Runner: agent.NewRunner(&s.cfg, agent.Parts{
			Model: s.model, Tools: around(&s.cfg, agent.Static(s.tools)), Store: store, Now: time.Now,
			NewID: func() string { ids++; return fmt.Sprint(ids) }, Log: slog.New(slog.DiscardHandler),
		}),
		Save:  func() error { s.saved++; return nil },
		Close: func() error { s.open--; return store.Close() },
	}, nil
}

// judged gives a judge of whatever model.
func judged(*strictyaml.Document, string) (*config.Agent, strictyaml.Problems, error) {
	return &config.Agent{}, nil, nil
}

// files loads test files from YAML; each is named by its number.
func files(t *testing.T, texts ...string) []*testfile.File {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	var all []*testfile.File
	for i, text := range texts {
		name := fmt.Sprintf("f%d", i+1)
		for _, file := range []struct{ name, text string }{{name + ".yaml", ""}, {name + ".test.yaml", "judge: gemini-x\ncases:\n" + text}} {
			if err := os.WriteFile(filepath.Join(dir, file.name), []byte(file.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, problems, err := testfile.Load(name+".test.yaml", judged)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		all = append(all, f)
	}
	return all
}

// run gives what is printed. Each look at the clock takes 10 milliseconds.
func (s *stand) run(t *testing.T, format, pattern string, texts ...string) (string, []*Outcome, error) {
	t.Helper()
	var b strings.Builder
	now := time.Unix(0, 0)
	o := Options{Build: s.build, Printer: Formats[format](&b), Redact: hide, Now: func() time.Time { now = now.Add(10 * time.Millisecond); return now }}
	if pattern != "" {
		o.Select = regexp.MustCompile(pattern)
	}
	all, err := Run(t.Context(), files(t, texts...), o)
	if s.open != 0 {
		t.Errorf("%d agents are not closed", s.open)
	}
	return b.String(), all, err
}

// TestCases has the case, and what is said of it but for its name; nothing where
// it passes.
func TestCases(t *testing.T) {
	cases := []struct{ name, yaml, want string }{
		{"text", `{request: "say  yes \n", expect: {text: yes.}}`, `text|  want "yes."|  got  " yes \n"`},
		{"text around", `{request: "say  yes. ", expect: {text: "yes.\n"}}`, ""},
		{"text of several", `{request: say b, expect: {text: [a, b]}}`, ""},
		{"text of none", `{request: say c, expect: {text: [a, b]}}`, `text|  want "a" or "b"|  got  "c"`},
		{"contains", `{request: say one two, expect: {contains: [one, two]}}`, ""},
		{"contains not all", `{request: say one two, expect: {contains: [one, six]}}`, `contains|  want "six"|  got  "one two"`},
		{"not_contains", `{request: say one, expect: {not_contains: two}}`, ""},
		{"contains after all", `{request: say one, expect: {not_contains: [two, one]}}`, `not_contains|  want nothing of "one"|  got  "one"`},
		{"matches", `{request: say d20, expect: {matches: '^d\d+$'}}`, ""},
		{"matches not", `{request: say 20, expect: {matches: ['\d', '^d']}}`, `matches|  want ^d|  got  "20"`},
		{"several at once", `{request: say 20, expect: {text: a, contains: b}}`, `text|  want "a"|  got  "20"|contains|  want "b"|  got  "20"`},

		{"calls", `{request: roll 20 6, expect: {calls: [{roll_die: {sides: 20}}, roll_die]}}`, ""},
		{"calls deep", `{request: roll 20, expect: {calls: [{roll_die: {sides: 2e1, how: {cup: true}}}]}}`, ""},
		{"calls with another argument", `{request: roll 20, expect: {calls: [{roll_die: {how: {cup: false}}}]}}`,
			`calls|  want roll_die {"how":{"cup":false}}|  got  roll_die {"how":{"cup":true,"hand":"left"},"sides":20}|the calls were roll_die {"how":{"cup":true,"hand":"left"},"sides":20}`},
		{"calls with one more argument", `{request: call roll_die, expect: {calls: [{roll_die: {sides: 1}}]}}`,
			`calls|  want roll_die {"sides":1}|  got  roll_die {}|the calls were roll_die {}`},
		{"calls of another tool", `{request: call roll_die, expect: {calls: [other]}}`, `calls|  want other {}|  got  roll_die {}|the calls were roll_die {}`},
		{"calls that did not come", `{request: say no, expect: {calls: [roll_die]}}`, `calls|  want roll_die {}|  got  no calls`},
		{"no calls", `{request: say no, expect: {calls: []}}`, ""},
		{"no calls but one", `{request: call roll_die, expect: {calls: []}}`, `calls|  want no calls|  got  roll_die {}|the calls were roll_die {}`},
		{"calls in another order", `{request: roll 20 6 8, expect: {calls: [roll_die, {roll_die: {sides: 8}}, {roll_die: {sides: 20}}], calls_any_order: true}}`, ""},
		{"calls in no order", `{request: roll 20 6, expect: {calls: [{roll_die: {sides: 6}}, {roll_die: {sides: 6}}], calls_any_order: true}}`, "calls|"},

		{"json", `{request: 'say {"total": 17.0, "dice": [{"sides": 20}]}', expect: {json: {.total: 17, ".dice[0]": {sides: 20}, ".dice | length": 1}}}`, ""},
		{"json that differs", `{request: 'say {"total": 17}', expect: {json: {.total: "17"}}}`, `json .total|  want "17"|  got  17`},
		{"json with every digit", `{request: 'say {"n": 12345678901234567890}', expect: {json: {.n: 12345678901234567891}}}`, `json .n|  want 12345678901234567891|  got  12345678901234567890`},
		{"json that gives several", `{request: 'say [1, 2]', expect: {json: {".[]": 1}}}`, `json .[]|  want 1|  got  several values; put the program into [ ]`},
		{"json that gives nothing", `{request: 'say []', expect: {json: {".[]": 1}}}`, `json .[]|  want 1|  got  nothing`},
		{"json that fails", `{request: 'say []', expect: {json: {.a: 1}}}`, `json .a|  want 1|  got  expected an object`},
		{"no json", `{request: 'say {} {}', expect: {json: {.a: 1}}}`, `json|  want an answer in JSON|  got  "{} {}"`},

		{"error", `{request: block a reason, expect: {error: blocked, contains: a reason}}`, ""},
		{"an error that did not come", `{request: say hi, expect: {error: blocked}}`, `error|  want blocked|  got  an answer, "hi"`},
		{"another error", `{request: block a reason, expect: {error: limit}}`, `the turn ended with blocked, not with limit: blocked for a reason`},
		{"an error unasked for", `{request: block a reason, expect: {text: x}}`, `the turn ended with blocked: blocked for a reason`},

		{"max_tokens", `{request: roll 6, expect: {max_tokens: 200}}`, ""},
		{"more tokens", `{request: roll 6, expect: {max_tokens: 199}}`, `max_tokens|  want 199 at most|  got  200|`},
		{"max_steps", `{request: roll 6, expect: {max_steps: 2}}`, ""},
		{"more steps", `{request: roll 6, expect: {max_steps: 1}}`, `max_steps|  want 1 at most|  got  2|`},

		{"judge", `{request: say nice, expect: {judge: [nice, fenced]}}`, ""},
		{"judge says no", `{request: say nice, expect: {judge: [nice, rude]}}`, `judge|  want "rude"|  got  "it says nice"`},
		{"judge malformed", `{request: say nice, expect: {text: x, judge: malformed}}`,
			`text|  want "x"|  got  "nice"|the judge gave no verdict but "{\"pass\": \"yes\"}": its pass: must be boolean, got string; its reason: missing`},
		{"judge in prose", `{request: say nice, expect: {judge: prose}}`, `the judge gave no verdict but "Certainly.": it is not JSON: `},
		{"judge silent", `{request: say nice, expect: {judge: silent}}`, `the judge gave no verdict: it said nothing`},
		{"judge blocked", `{request: say nice, expect: {judge: blocked}}`, `the judge gave no verdict: no judgement on this`},
		{"judge cut", `{request: say nice, expect: {judge: cut}}`, `the judge gave no verdict: the verdict was cut`},

		{"turns", `{turns: [{request: say a}, {request: say b, expect: {text: b}}]}`, ""},
		{"turns that fail", `{turns: [{request: say a, expect: {text: x}}, {request: roll 6}, {request: say b, expect: {text: b, calls: []}}]}`,
			`turn 1: text|  want "x"|  got  "a"|the calls were roll_die `},
		{"turns that break", `{turns: [{request: block it}, {request: say b, expect: {text: x}}]}`, `turn 1: the turn ended with blocked: blocked for it`},

		{"a real tool", `{request: call roll_die, expect: {text: 'Got {"output":"really roll_die"}'}}`, ""},
		{"a stand-in", `{request: call roll_die, tools: {roll_die: "17"}, expect: {text: 'Got {"output":"17"}', calls: [roll_die]}}`, ""},
		{"a stand-in with JSON", `{request: call roll_die, tools: {roll_die: {n: 1.50}}, expect: {text: 'Got {"output":{"n":1.50}}'}}`, ""},
		{"a stand-in that fails", `{request: call roll_die, tools: {roll_die: {error: lost}}, expect: {text: 'Got {"error":"lost"}'}}`, ""},
		{"a stand-in again and again", `{request: roll 6 8, tools: {roll_die: "17"}, expect: {text: 'Got {"output":"17"} {"output":"17"}'}}`, ""},
		{"a stand-in in order", `{request: roll 6 8 9, tools: {roll_die: ["1", "2", "3", "4"]}, expect: {text: 'Got {"output":"1"} {"output":"2"} {"output":"3"}'}}`, ""},
		{"a stand-in over turns", `{turns: [{request: roll 6}, {request: roll 6, expect: {contains: '"2"'}}], tools: {roll_die: ["1", "2"]}}`, ""},
		{"a stand-in with too few", `{request: roll 6 8, tools: {roll_die: ["1"]}, expect: {contains: x}}`, `tools: roll_die has 1 result and is called once more|the calls were`},
		{"a stand-in that must not be called", `{request: roll 6, tools: {roll_die: []}, expect: {contains: x}}`, `tools: roll_die has 0 results and is called once more|the calls were`},
		{"a stand-in for nothing", `{request: say x, tools: {rol_die: "1"}, expect: {text: x}}`,
			`tools: rol_die stands in for no tool of the agent; its tools are approved, asking, roll_die`},
		{"a stand-in for a hosted tool", `{request: say x, tools: {google_search: "1"}, expect: {text: x}}`,
			`tools: google_search stands in for no tool of the agent; its tools are approved, asking, roll_die`},
		{"a stand-in for no agent", `{request: say x, tools: {other/clock: "1"}, expect: {text: x}}`, `tools: other/clock is a tool of no agent here; the agents are dice`},
		{"a stand-in checks arguments", `{request: roll 1, tools: {roll_die: "17"}, expect: {contains: ['argument sides: must be ', got 1]}}`, ""},

		{"an approval", `{request: call approved, approve: true, expect: {contains: told accept}}`, ""},
		{"an approval denied", `{request: call approved, approve: false, expect: {contains: told decline, calls: [approved], max_steps: 2}}`, ""},
		{"an approval that nobody gives", `{request: call approved, expect: {contains: x}}`,
			`a call of approved wants an approval: write approve: true or false into the case, or let a result stand in for the tool|the calls were approved {}`},
		{"a question", `{request: call asking, approve: true, expect: {contains: x}}`,
			`the agent asks "Really?", and nobody is there to answer: let a result stand in for the tool asking|the calls were asking {}`},
		{"a question with a stand-in", `{request: call asking, tools: {asking: blue}, expect: {contains: blue}}`, ""},
		{"arguments for none", `{arguments: {a: 1}, expect: {text: x}}`, `the agent has no input_schema: write request instead of arguments`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStand()
			got, all, err := s.run(t, "text", "", "  - {name: it, "+c.yaml[1:])
			if err != nil {
				t.Fatal(err)
			}
			got = strings.ReplaceAll(strings.ReplaceAll(got, "\n        ", "|"), "\n", "|")
			want := "f1.test.yaml|  FAIL  it (0.01s)|" + c.want
			if c.want == "" {
				want = "f1.test.yaml|  ok    it (0.01s)|1 case: 1 passed|"
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, "|", "\n"), strings.ReplaceAll(want, "|", "\n"))
			}
			if saved := s.saved == 1; saved != (all[0].Cases[0].Status != Broken) {
				t.Errorf("saved %v of a case that is %s", saved, all[0].Cases[0].Status)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	s := newStand()
	s.cfg.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	s.model = fake(func(_ context.Context, _ *model.Request, newest *genai.Content) (*model.Reply, error) {
		return says(text("asked " + newest.Parts[0].Text)), nil
	})
	got, _, err := s.run(t, "text", "", `
  - {name: fine, arguments: {n: 1}, expect: {text: 'asked {"n":1}'}}
  - {name: wrong, arguments: {n: x}, expect: {text: y.}}
  - {name: none, request: x, expect: {text: y.}}
`)
	const want = `f1.test.yaml
  ok    fine (0.01s)
  FAIL  wrong (0.01s)
        argument n: must be integer, got string
  FAIL  none (0.01s)
        the agent has an input_schema: write arguments instead of request
3 cases: 1 passed, 2 broken
`
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// What belongs to one case is not seen by the next.
func TestCasesAreApart(t *testing.T) {
	s := newStand()
	s.cfg.State = map[string]any{"plan": "free", "rest": "r"}
	s.cfg.Instruction = "plan {plan}, {rest}"
	s.model = fake(func(_ context.Context, req *model.Request, _ *genai.Content) (*model.Reply, error) {
		return says(text(fmt.Sprintf("%s, %d contents", req.System, len(req.Contents)))), nil
	})
	got, _, err := s.run(t, "text", "", `
  - {name: own, request: x, state: {plan: pro}, expect: {text: "plan pro, r, 1 contents"}}
  - {name: other, request: x, expect: {text: "plan free, r, 1 contents"}}
`)
	if !strings.Contains(got, "2 cases: 2 passed") || err != nil {
		t.Error(got, err)
	}
}

func TestDeadline(t *testing.T) {
	s := newStand()
	s.cfg.Limits.Timeout = config.Duration(20 * time.Millisecond)
	got, all, err := s.run(t, "text", "", `  - {name: slow, request: wait, expect: {text: x}}`)
	if err != nil || all[0].Cases[0].Status != Broken || !strings.Contains(got, "limits.timeout (20ms)") {
		t.Error(got, err)
	}
}

func TestInterrupted(t *testing.T) {
	s, b := newStand(), &strings.Builder{}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("a signal")
	s.model = fake(func(ctx context.Context, _ *model.Request, _ *genai.Content) (*model.Reply, error) {
		cancel(gone)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	all, err := Run(ctx, files(t, "  - {name: a, request: x, expect: {text: x}}"), Options{Build: s.build, Printer: Formats["text"](b), Redact: hide, Now: time.Now})
	if !errors.Is(err, gone) || b.Len() > 0 || s.saved != 0 || s.open != 0 {
		t.Errorf("%v %q", err, b)
	}
	if len(all) != 1 || !all[0].Unsaved || len(all[0].Cases) != 1 || all[0].Cases[0].Status != Broken || !strings.Contains(all[0].Cases[0].Failures[0].What, "a signal") {
		t.Errorf("a report would say %+v %+v", all[0], all[0].Cases[0])
	}
}

// A jq program without an end is ended, and says why in words that are not Go's.
func TestEndlessQuery(t *testing.T) {
	query, err := gojq.Parse("def f: f; f")
	if err != nil {
		t.Fatal(err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the case took too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := value(ctx, code, nil); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func TestSelect(t *testing.T) {
	s := newStand()
	got, all, err := s.run(t, "text", "^b", "  - {name: a, request: say a, expect: {text: a}}", `
  - {name: a, request: say a, expect: {text: x}}
  - {name: b, request: say b, expect: {text: b}}
`)
	if got != "f2.test.yaml\n  ok    b (0.01s)\n1 case: 1 passed\n" || err != nil || len(all) != 1 {
		t.Error(got, err)
	}
	if s.saved != 0 || s.built != 1 || !all[0].Unsaved {
		t.Errorf("saved %d, built %d: a recording of some cases takes the place of that of all", s.saved, s.built)
	}
	if _, all, err := s.run(t, "text", "^c", "  - {name: a, request: say a, expect: {text: a}}"); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
}

func TestNotBuilt(t *testing.T) {
	s := newStand()
	s.wrong = errors.New("there is no recording")
	_, all, err := s.run(t, "text", "", "  - {name: a, request: say a, expect: {text: a}}", "  - {name: b, request: say b, expect: {text: b}}")
	if err == nil || err.Error() != "f1.test.yaml: there is no recording\nf2.test.yaml: there is no recording" {
		t.Errorf("%v %v", all, err)
	}
	for _, of := range all { // reports say so too
		if len(of.Cases) != 1 || of.Cases[0].Status != Broken || !strings.Contains(of.Cases[0].Failures[0].What, "there is no recording") {
			t.Errorf("%+v", of)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d files are told of", len(all))
	}
}

func TestRecorded(t *testing.T) {
	scripted, gemini := config.Model{Provider: config.Scripted}, config.Model{Provider: config.Gemini}
	inner := func(m config.Model) []config.Tool {
		return []config.Tool{{Name: "shell"}, {Agent: &config.AgentTool{Agent: &config.Agent{Model: m}}}}
	}
	for _, c := range []struct {
		name string
		file testfile.File
		cfg  config.Agent
		want [2]bool // agents, judge
	}{
		{"a script", testfile.File{}, config.Agent{Model: scripted, Tools: inner(scripted)}, [2]bool{}},
		{"a recording", testfile.File{Judge: testfile.Judge{Agent: &config.Agent{Model: scripted}}}, config.Agent{Model: config.Model{Provider: config.Replay}}, [2]bool{}},
		{"a model", testfile.File{}, config.Agent{Model: gemini}, [2]bool{true}},
		{"a model of an inner agent", testfile.File{}, config.Agent{Model: scripted, Tools: inner(gemini)}, [2]bool{true}},
		{"a fallback", testfile.File{}, config.Agent{Model: config.Model{Provider: config.Scripted, Fallback: []config.Model{gemini}}}, [2]bool{true}},
		{"a judge", testfile.File{Judge: testfile.Judge{Agent: &config.Agent{Model: gemini}}}, config.Agent{Model: scripted}, [2]bool{false, true}},
	} {
		if agents, judge := Recorded(&c.file, &c.cfg); agents != c.want[0] || judge != c.want[1] {
			t.Errorf("%s: %v %v", c.name, agents, judge)
		}
	}
}
