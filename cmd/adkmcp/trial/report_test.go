package trial

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// mixed has a case of each status.
var mixed = []string{`
  - {name: fine, request: say yes, expect: {text: yes.}}
  - name: "fine, <too>"
    request: roll 6
    tools: {roll_die: "4"}
    expect: {contains: "4"}
`, `
  - name: "wrong: 100%, \e[31mred\e[0m"
    request: "say a\nb"
    expect: {text: "yes & no", contains: [x]}
  - {name: broken, request: block it, expect: {text: x}}
`}

func printed(t *testing.T, format string) (string, []*Outcome) {
	t.Helper()
	s := newStand()
	got, all, err := s.run(t, format, "", strings.Replace(mixed[0], "say yes", "say yes.", 1), mixed[1])
	if err != nil {
		t.Fatal(err)
	}
	return got, all
}

func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		"text": `f1.test.yaml
  ok    fine (0.01s)
  ok    fine, <too> (0.01s)
f2.test.yaml
  FAIL  wrong: 100%, red (0.01s)
        text
          want "yes & no"
          got  "a\nb"
        contains
          want "x"
          got  "a\nb"
  FAIL  broken (0.01s)
        the turn ended with blocked: blocked for it
4 cases: 2 passed, 1 failed, 1 broken
`,
		"github": `::error file=f2.test.yaml,line=4,title=wrong%3A 100%25%2C red::text%0A  want "yes & no"%0A  got  "a\nb"%0Acontains%0A  want "x"%0A  got  "a\nb"
::error file=f2.test.yaml,line=7,title=broken::the turn ended with blocked: blocked for it
4 cases: 2 passed, 1 failed, 1 broken
`,
		"json": `{
  "files": [
    {
      "file": "f1.test.yaml",
      "agent": "dice",
      "cases": [
        {
          "name": "fine",
          "line": 4,
          "status": "passed",
          "seconds": 0.01,
          "calls": [],
          "answer": "yes."
        },
        {
          "name": "fine, <too>",
          "line": 5,
          "status": "passed",
          "seconds": 0.01,
          "calls": [
            {
              "tool": "roll_die",
              "args": {
                "how": {
                  "cup": true,
                  "hand": "left"
                },
                "sides": 6
              }
            }
          ],
          "answer": "Got {\"output\":\"4\"}"
        }
      ]
    },
    {
      "file": "f2.test.yaml",
      "agent": "dice",
      "cases": [
        {
          "name": "wrong: 100%, \u001b[31mred\u001b[0m",
          "line": 4,
          "status": "failed",
          "seconds": 0.01,
          "failures": [
            {
              "what": "text",
              "want": "\"yes & no\"",
              "got": "\"a\\nb\""
            },
            {
              "what": "contains",
              "want": "\"x\"",
              "got": "\"a\\nb\""
            }
          ],
          "calls": [],
          "answer": "a\nb"
        },
        {
          "name": "broken",
          "line": 7,
          "status": "broken",
          "seconds": 0.01,
          "failures": [
            {
              "what": "the turn ended with blocked: blocked for it"
            }
          ],
          "calls": [],
          "answer": "blocked for it"
        }
      ]
    }
  ],
  "cases": 4,
  "passed": 2,
  "failed": 1,
  "broken": 1
}
`,
	} {
		if got, _ := printed(t, format); got != want {
			t.Errorf("%s: %s", format, cmp.Diff(want, got))
		}
	}
}

func TestJUnit(t *testing.T) {
	_, all := printed(t, "text")
	var b strings.Builder
	if err := JUnit(&b, all); err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="1" time="0.040">
  <testsuite name="dice" file="f1.test.yaml" tests="2" failures="0" errors="0" time="0.020">
    <testcase name="fine" classname="dice" file="f1.test.yaml" line="4" time="0.010"></testcase>
    <testcase name="fine, &lt;too&gt;" classname="dice" file="f1.test.yaml" line="5" time="0.010"></testcase>
  </testsuite>
  <testsuite name="dice" file="f2.test.yaml" tests="2" failures="1" errors="1" time="0.020">
    <testcase name="wrong: 100%, red" classname="dice" file="f2.test.yaml" line="4" time="0.010">
      <failure message="text: want &#34;yes &amp; no&#34;, got &#34;a\nb&#34;" type="failed">text&#xA;  want &#34;yes &amp; no&#34;&#xA;  got  &#34;a\nb&#34;&#xA;contains&#xA;  want &#34;x&#34;&#xA;  got  &#34;a\nb&#34;</failure>
    </testcase>
    <testcase name="broken" classname="dice" file="f2.test.yaml" line="7" time="0.010">
      <error message="the turn ended with blocked: blocked for it" type="broken">the turn ended with blocked: blocked for it</error>
    </testcase>
  </testsuite>
</testsuites>
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	if err := xml.Unmarshal([]byte(b.String()), new(junitSuites)); err != nil {
		t.Error(err)
	}
}

func TestNothingRan(t *testing.T) {
	for format, want := range map[string]string{"text": "", "github": "", "json": "{\n  \"files\": [],\n  \"cases\": 0,\n  \"passed\": 0,\n  \"failed\": 0,\n  \"broken\": 0\n}\n"} {
		var b strings.Builder
		if err := Formats[format](&b).End(nil); err != nil || b.String() != want {
			t.Errorf("%s: %q %v", format, b.String(), err)
		}
	}
}

func TestLongTexts(t *testing.T) {
	if got := quoted(strings.Repeat("é", maxQuoted+5)); got != `"`+strings.Repeat("é", maxQuoted)+`" and 5 more characters` {
		t.Error(got)
	}
}

// listing is a toolset whose tools depend on who asks.
type listing func(q *agent.Query) ([]agent.Tool, error)

func (l listing) Tools(_ context.Context, q *agent.Query) ([]agent.Tool, error) { return l(q) }

// Instruct makes the tool an [agent.Instructor].
type instructor struct{ *tool }

func (instructor) Instruct(context.Context, *agent.Query) (string, error) { return "Be kind.", nil }

// TestToolset looks at the toolset itself, for what no case shows.
func TestToolset(t *testing.T) {
	var s stage
	main, inner := &config.Agent{Name: "main", Tools: []config.Tool{{Name: "later", Defer: true}}}, &config.Agent{Name: "inner"}
	s.main = main
	kind, plain := instructor{newTool("kind", "")}, newTool("clock", "")
	var listed []string
	all := listing(func(q *agent.Query) ([]agent.Tool, error) {
		q.Report(&session.Listing{Source: "mcp x", Error: "is down"})
		return []agent.Tool{kind, plain}, nil
	})
	mainTools, innerTools := s.around(main, all), s.around(inner, agent.Static{plain})
	q := &agent.Query{Report: func(l *session.Listing) { listed = append(listed, l.Source) }}
	play := func(c testfile.Case) ([]agent.Tool, []agent.Tool, *scene) {
		t.Helper()
		sc := s.begin(&c)
		mine, err := mainTools.Tools(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := innerTools.Tools(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return mine, theirs, sc
	}
	stand := func(names ...string) (c testfile.Case) {
		for _, name := range names {
			c.Tools = append(c.Tools, testfile.StandIn{Tool: name, Results: []testfile.Result{{Output: "played"}}})
		}
		return c
	}

	mine, theirs, sc := play(stand("kind", "inner/clock", "later"))
	if mine[1] != agent.Tool(plain) || theirs[0] == agent.Tool(plain) || theirs[0].Spec() != plain.Spec() {
		t.Error("the wrong tools are played")
	}
	if by, ok := mine[0].(agent.Instructor); !ok {
		t.Error("the instruction is lost")
	} else if text, err := by.Instruct(t.Context(), q); text != "Be kind." || err != nil {
		t.Error(text, err)
	}
	if r, err := theirs[0].Call(t.Context(), &agent.Call{Args: json.RawMessage(`{"sides":null}`)}); err != nil || r.Output != "played" {
		t.Error(r, err)
	}
	if again, err := mainTools.Tools(t.Context(), q); err != nil || again[0] != mine[0] || len(listed) != 2 {
		t.Error("the same tool is another one", err, listed)
	}
	if failures := sc.end(main); failures != nil { // later is hidden, but it is there
		t.Error(failures)
	}
	if peeked, err := mainTools.Tools(t.Context(), &agent.Query{Peek: true, Report: q.Report}); err != nil || peeked[0] != agent.Tool(kind) {
		t.Error("a stand-in is described")
	}

	next, _, sc := play(stand("kind", "clok"))
	if next[0] == mine[0] {
		t.Error("a stand-in outlives its case")
	}
	want := []string{"tools: clok stands in for no tool of the agent; its tools are clock, kind; mcp x: is down"}
	if d := cmp.Diff(want, sc.end(main)); d != "" {
		t.Error(d)
	}

	c := stand("inner/clok")
	sc = s.begin(&c)
	if _, err := innerTools.Tools(t.Context(), q); err == nil || err.Error() != "tools: inner/clok stands in for no tool of the agent; its tools are inner/clock" || !sc.failed() {
		t.Error(err)
	}
}

func TestFailureOnOneLine(t *testing.T) {
	if got := (Failure{Turn: 2, What: "text", Want: `"a"`, Got: `"b"`}).String(); got != `turn 2: text: want "a", got "b"` {
		t.Error(got)
	}
}

// The judge sees what the turn came to, and nothing of it as an instruction.
func TestJudgeMaterial(t *testing.T) {
	s := newStand()
	var got, system string
	s.judge = fake(func(_ context.Context, req *model.Request, newest *genai.Content) (*model.Reply, error) {
		got, system = newest.Parts[0].Text, req.System
		return says(text(`{"pass": true, "reason": "so"}`)), nil
	})
	if _, _, err := s.run(t, "text", "", `  - {name: a, request: call roll_die, tools: {roll_die: "</answer> & \"more\""}, expect: {judge: is <b>}}`); err != nil {
		t.Fatal(err)
	}
	const want = `{"statement":"is <b>","request":"call roll_die","calls":[{"tool":"roll_die","args":{}}],"answer":"Got {\"output\":\"\\u003c/answer\\u003e \\u0026 \\\"more\\\"\"}"}`
	if d := cmp.Diff(want, got); d != "" || strings.Contains(system, "roll_die") {
		t.Error(d)
	}
}
