package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// withSchema is a bench whose agent answers with a total, and keeps it.
func withSchema() *bench {
	b := newBench()
	b.cfg.OutputKey = "bill"
	b.cfg.Instruction = "Add up."
	b.cfg.OutputSchema = json.RawMessage(`{"type":"object","properties":{"total":{"type":"number"},"note":{"type":"string","maxLength":5},"odd key":{"type":"object","properties":{"x":{"type":"array","items":{"enum":["a","b"]}}}}},"required":["total"]}`)
	return b
}

func TestStructuredAnswers(t *testing.T) {
	png := &genai.Blob{MIMEType: "image/png", Data: []byte("png")}
	said := func(texts ...string) (parts []*genai.Part) {
		for _, s := range texts {
			parts = append(parts, &genai.Part{Text: s})
		}
		return parts
	}
	for name, tt := range map[string]struct {
		parts []*genai.Part
		want  string // the JSON
		wrong string // or what is wrong
	}{
		"plain":                   {said(`{"total":1}`), `{"total":1}`, ""},
		"numbers stay":            {said(`{"total":12345678901234567890.10}`), `{"total":12345678901234567890.10}`, ""},
		"in pieces":               {said(`{"tot`, `al": `, `1e2}`), `{"total": 1e2}`, ""},
		"white space":             {said("\n \t{\"total\":\n1}\r\n "), "{\"total\":\n1}", ""},
		"a fence":                 {said("```json\n{\"total\":1}\n```\n"), `{"total":1}`, ""},
		"a bare fence":            {said("```\r\n{\"total\":1}\r\n```"), `{"total":1}`, ""},
		"a fence on one line":     {said("```JSON {\"total\":1} ```"), `{"total":1}`, ""},
		"a longer fence":          {said("````json\n{\"total\":1}\n````"), `{"total":1}`, ""},
		"a fence inside":          {said("```\n{\"total\":1,\"note\":\"```\"}\n```"), "{\"total\":1,\"note\":\"```\"}", ""},
		"thoughts":                {append([]*genai.Part{{Text: "hm", Thought: true}}, said(`{"total":1}`)...), `{"total":1}`, ""},
		"an image before it":      {append([]*genai.Part{{InlineData: png}}, said(`{"total":1}`)...), `{"total":1}`, ""},
		"a fence with words":      {said("```json here you are\n{\"total\":1}\n```"), "", "it is not JSON: invalid character '`'"},
		"an open fence":           {said("```json\n{\"total\":1}"), "", "it is not JSON"},
		"words":                   {said("The total is 1."), "", "it is not JSON: invalid character 'T'"},
		"words around it":         {said("Here:\n```json\n{\"total\":1}\n```"), "", "it is not JSON"},
		"something behind it":     {said(`{"total":1} {}`), "", "it is not JSON"},
		"only an image":           {[]*genai.Part{{InlineData: png}}, "", "it holds no text"},
		"no object":               {said(`[1]`), "", "answer: must be object, got array"},
		"something missing":       {said(`{}`), "", "answer.total: missing"},
		"several things":          {said(`{"total":"1","note":"abcdef","odd key":{"x":["a","c"]}}`), "", `: answer."odd key".x[1]: must be one of "a", "b", got "c"; answer.note: must have at most 5 characters, has 6; answer.total: must be number, got string`},
		"a number without end":    {said(`{"total":1e999999999}`), "", "answer.total: the number 1e999999999 is out of range"},
		"a small one":             {said(`{"odd key":{"x":[{"y":1e-999999999}]}}`), "", `answer."odd key".x[0].y: the number 1e-999999999 is out of range`},
		"too much to be repeated": {said(`{"total":1,"odd key":{"x":[` + strings.Repeat(`"`+strings.Repeat("ö", 500)+`",`, 50) + `"a"]}}`), "", "; and 30 more problems"},
	} {
		t.Run(name, func(t *testing.T) {
			b := withSchema()
			events, a := take(t, t.Context(), b.runner(answers{reply(tt.parts...)}), request("go"))
			if tt.wrong != "" {
				if a.Problem == nil || a.Problem.Code != session.InvalidOutput || !strings.Contains(a.Problem.Message, tt.wrong) || len(a.Problem.Message) > 4000 {
					t.Errorf("problem %+v, want %q", a.Problem, tt.wrong)
				}
				if a.Structured != nil || len(events) != 5 {
					t.Errorf("structured %s after %v", a.Structured, kinds(events))
				}
				for _, e := range events {
					if e.StateDelta != nil {
						t.Errorf("kept %v", e.StateDelta)
					}
				}
				return
			}
			if a.Problem != nil || string(a.Structured) != tt.want || a.Content.Parts[0].Text != tt.want || len(events) != 3 {
				t.Fatalf("%+v %+v after %v", a, a.Problem, kinds(events))
			}
			if rest := a.Content.Parts[1:]; (len(rest) == 1 && rest[0].InlineData == png) != (tt.parts[0].InlineData != nil) || len(rest) > 1 {
				t.Errorf("beside it %v", rest)
			}
			if d := cmp.Diff(a.Content, a.All); d != "" {
				t.Error(d)
			}
			value, ok := events[1].StateDelta["bill"].(map[string]any)
			if n, isNumber := value["total"].(json.Number); !ok || !isNumber || !strings.Contains(tt.want, n.String()) {
				t.Errorf("kept %v", events[1].StateDelta)
			}
		})
	}
}

// TestCorrection: the model is told what was wrong, once, and it counts as a
// model call.
func TestCorrection(t *testing.T) {
	var seen []*model.Request
	watched := func(next func(*model.Request) (*model.Reply, error)) func(*model.Request) (*model.Reply, error) {
		return func(req *model.Request) (*model.Reply, error) { seen = append(seen, req); return next(req) }
	}
	b := withSchema()
	m := answers{reply(&genai.Part{Text: "Adding."}, call("echo", nil)), watched(says("one")), watched(says(`{"total":1}`))}
	_, a := take(t, t.Context(), b.runner(m, newTool("echo", echo)), request("go"))
	if string(a.Structured) != `{"total":1}` || a.Problem != nil || a.Usage.Total != 30 {
		t.Errorf("%+v", a)
	}
	if d := cmp.Diff([]*genai.Part{{Text: "Adding."}, {Text: `{"total":1}`}}, a.All.Parts); d != "" {
		t.Error(d)
	}
	last := seen[1].Contents[len(seen[1].Contents)-1]
	if last.Role != genai.RoleUser || !strings.Contains(last.Parts[0].Text, "it is not JSON: invalid character 'o'") || strings.Contains(last.Parts[0].Text, "output_schema") {
		t.Errorf("the model was told %q", last.Parts[0].Text)
	}
	for _, req := range seen {
		if !strings.Contains(req.System, "Add up.\n\n") || !strings.HasSuffix(req.System, string(b.cfg.OutputSchema)) || string(req.OutputSchema) != string(b.cfg.OutputSchema) {
			t.Errorf("with tools the instruction is %q", req.System)
		}
	}
	seen = nil
	b = withSchema()
	b.cfg.Limits.MaxModelCalls = 1
	_, a = take(t, t.Context(), b.runner(answers{watched(says("one"))}), request("go"))
	if len(seen) != 1 || seen[0].System != "Add up." || a.Problem == nil || a.Content != nil || a.All != nil ||
		a.Problem.Message != "the turn reached limits.max_model_calls (1) without an answer that matches output_schema" {
		t.Errorf("%d calls, %+v %+v", len(seen), a, a.Problem)
	}
}

// TestNothingIsKept of an answer without text.
func TestNothingIsKept(t *testing.T) {
	b := newBench()
	b.cfg.OutputKey = "last"
	events, a := take(t, t.Context(), b.runner(answers{reply(&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png"}})}), request("go"))
	if events[1].StateDelta != nil || len(a.Content.Parts) != 1 {
		t.Errorf("%v, %+v", events[1].StateDelta, a)
	}
}

func TestProblemsOfTheModelComeFirst(t *testing.T) {
	b := withSchema()
	cut := func(req *model.Request) (*model.Reply, error) {
		r, _ := says(`{"total":`)(req)
		r.Problem = &model.Error{Code: model.MaxTokens, Message: "cut at the limit"}
		return r, nil
	}
	events, a := take(t, t.Context(), b.runner(answers{cut}), request("go"))
	if a.Problem == nil || a.Problem.Code != string(model.MaxTokens) || len(events) != 3 {
		t.Errorf("%+v after %v", a.Problem, kinds(events))
	}
}

// TestSchemasThatAreNone end the turn before the model is paid for it, and reach
// for nothing.
func TestSchemasThatAreNone(t *testing.T) {
	there := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(there, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{`{"type":"objekt"}`, `{"$ref":"file://` + filepath.ToSlash(there) + `"}`, `{"$ref":"https://example.com/s.json"}`, `{`} {
		b := newBench()
		b.cfg.OutputSchema = json.RawMessage(schema)
		events, a := take(t, t.Context(), b.runner(answers{says("{}")}), request("go"))
		if a.Problem == nil || a.Problem.Code != session.InternalError || len(events) != 2 {
			t.Errorf("%s: %+v after %v", schema, a.Problem, kinds(events))
		}
	}
}

func TestStructuredAnswersAtTheSameTime(t *testing.T) {
	b := withSchema()
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) {
		return says(`{"total":` + req.Contents[0].Parts[0].Text + `}`)(req)
	}})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			turn := request(fmt.Sprint(i))
			turn.Key.Handle = fmt.Sprint(i)
			if _, a := take(t, t.Context(), r, turn); string(a.Structured) != fmt.Sprintf(`{"total":%d}`, i) {
				t.Errorf("%d: %s", i, a.Structured)
			}
		})
	}
	wg.Wait()
}

// TestAll: what is said beside calls, in parts that tell the replies apart.
func TestAll(t *testing.T) {
	b := newBench()
	png := &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("png")}}
	thought := &genai.Part{Text: "hm", Thought: true}
	m := answers{
		reply(thought, &genai.Part{Text: "One, "}, &genai.Part{Text: "two."}, call("echo", nil)),
		reply(call("echo", nil)),
		reply(&genai.Part{Text: "Three."}, png, call("echo", nil)),
		reply(thought, &genai.Part{Text: "Four."}),
	}
	_, a := take(t, t.Context(), b.runner(m, newTool("echo", echo)), request("go"))
	want := []*genai.Part{{Text: "One, two."}, {Text: "Three."}, png, {Text: "Four."}}
	if d := cmp.Diff(want, a.All.Parts); d != "" {
		t.Error(d)
	}
	if text(a) != "Four." {
		t.Errorf("content %q", text(a))
	}
}

// TestOneAnswerOfTwo: the other question is asked again, with what the turn has
// come to so far.
func TestOneAnswerOfTwo(t *testing.T) {
	b := newBench()
	ask := newTool("ask", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		if c.Answer == nil {
			return &agent.Result{Suspend: &session.Suspension{Kind: model.Question, Message: string(c.Args)}}, nil
		}
		if c.Answer.Action == model.Cancel {
			return &agent.Result{Suspend: &session.Suspension{Kind: model.Question, Message: "Really?"}}, nil
		}
		return &agent.Result{Output: c.Answer.Kind, Artifacts: []session.Artifact{{Name: "n", Version: len(c.Answer.Payload)}}}, nil
	})
	r := b.runner(answers{reply(&genai.Part{Text: "May I?"}, call("ask", map[string]any{"n": 1}), call("ask", map[string]any{"n": 2})), says("Done.")}, ask)
	take(t, t.Context(), b.runner(answers{reply(call("read", nil)), says("An earlier turn.")}, storyTools(map[string]int{})...), request("before"))
	_, a := take(t, t.Context(), r, request("go"))
	asked := func() (all []string) {
		for _, q := range a.Questions {
			all = append(all, q.Message)
		}
		return all
	}
	if d := cmp.Diff([]string{`{"n":1}`, `{"n":2}`}, asked()); d != "" { // in the order of the calls
		t.Fatal(d)
	}
	second := a.Questions[1].CallID
	for i, step := range []struct {
		answer session.Answer
		want   []string
	}{
		{session.Answer{CallID: second, Action: model.Accept, Payload: []byte(`12`)}, []string{`{"n":1}`}},
		{session.Answer{Action: model.Cancel}, []string{"Really?"}},
		{session.Answer{Action: model.Accept, Payload: []byte(`1`)}, nil},
	} {
		if step.answer.CallID == "" {
			step.answer.CallID = a.Questions[0].CallID
		}
		_, a = take(t, t.Context(), r, agent.Turn{Key: key, Answers: []session.Answer{step.answer}})
		if d := cmp.Diff(step.want, asked()); d != "" || a.All.Parts[0].Text != "May I?" {
			t.Errorf("answer %d: %+v %s", i+1, a, d)
		}
	}
	if text(a) != "Done." || a.Usage.Total != 20 || len(a.All.Parts) != 2 || len(a.Artifacts) != 1 || a.Artifacts[0].Version != 2 {
		t.Errorf("%+v", a)
	}
}
