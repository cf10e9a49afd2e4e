package ask

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
)

const parameters = `{"type":"object","additionalProperties":false,"required":["service"],"properties":{` +
	`"service":{"type":"string"},"hours":{"type":"number","default":2},"tags":{"type":"array","items":{"type":"string"}},"any":true}}`

const windowForm = `{"type":"object","required":["when"],"properties":{` +
	`"when":{"type":"string","enum":["now","tonight"]},"hours":{"type":"integer","minimum":1,"maximum":8},` +
	`"mail":{"type":"string","format":"email"},"sure":{"type":"boolean"},"who":{"type":"array","items":{"type":"string","enum":["ann","bob"]}}}}`

func entry(message, form string) *config.Tool {
	return &config.Tool{
		Name: "ask_window", Description: "Ask when.", Schema: json.RawMessage(parameters),
		Ask: &config.Ask{Message: template.ParsePlaces(message), Form: json.RawMessage(form)},
	}
}

func newTool(t *testing.T, message, form string) agent.Tool {
	t.Helper()
	made, err := New(entry(message, form))
	if err != nil {
		t.Fatal(err)
	}
	return middleware.Wrap(made, middleware.Options{
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Timeout: time.Minute, MaxResultBytes: 65536,
	})
}

// call calls the tool as the runner does, with an answer to the question that
// was asked last.
func call(t *testing.T, tool agent.Tool, args string, asked *session.Suspension, a *session.Answer) *agent.Result {
	t.Helper()
	if a != nil && asked != nil {
		a.Kind = asked.Kind
	}
	res, err := tool.Call(t.Context(), &agent.Call{ID: "c1", Name: "ask_window", Args: json.RawMessage(args), Progress: func(string) {}, Answer: a, Asked: asked})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func accept(payload string) *session.Answer {
	return &session.Answer{Action: model.Accept, Payload: json.RawMessage(payload)}
}

func TestAsks(t *testing.T) {
	for _, tc := range []struct{ name, message, args, want string }{
		{"text", "Deploy {service}?", `{"service":"api"}`, "Deploy api?"},
		{"twice", "{service}{service}", `{"service":"a{service}"}`, "a{service}a{service}"},
		{"default", "For {hours} h?{tags}", `{"service":"api"}`, "For 2 h?"},
		{"null for an optional argument", "For {hours} h?", `{"service":"api","hours":null}`, "For 2 h?"},
		{"a number as written", "For {hours} h?", `{"service":"api","hours":2.50}`, "For 2.50 h?"},
		{"list", "Tags {tags}", `{"service":"api","tags":["a", "b"]}`, `Tags ["a","b"]`},
		{"object", "{any}", `{"service":"api","any":{"a": "<"}}`, `{"a":"<"}`},
		{"literal", "{{service}} $HOME", `{"service":"api"}`, "{service} $HOME"},
		{"nothing to read", "{tags} ", `{"service":"api"}`, "not asked: with these arguments the message is empty"},
		{"too much to read", "{service}", `{"service":"` + strings.Repeat("x", 9000) + `"}`, "not asked: with these arguments the message has 9000 bytes, more than the 8192 that a person can be shown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := call(t, newTool(t, tc.message, ""), tc.args, nil, nil)
			if res.Suspend == nil {
				if !res.IsError || res.Output != tc.want {
					t.Errorf("got %+v", res)
				}
				return
			}
			want := &session.Suspension{Kind: "question", Message: tc.want, Payload: json.RawMessage(`{"schema":` + defaultForm + `}`)}
			if diff := cmp.Diff(want, res.Suspend); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The form goes to the person as the author wrote it.
func TestFormAsWritten(t *testing.T) {
	var form model.Form
	res := call(t, newTool(t, "When?", windowForm), `{"service":"api"}`, nil, nil)
	if err := json.Unmarshal(res.Suspend.Payload, &form); err != nil || string(form.Schema) != windowForm {
		t.Errorf("%s, %v", form.Schema, err)
	}
}

func TestAnswers(t *testing.T) {
	const again = "The answer does not fit: "
	for _, tc := range []struct {
		name, form string
		answer     *session.Answer
		want       any // of the result, or the beginning of the question that is asked again
	}{
		{"text", "", accept(`{"answer":"tonight"}`), "tonight"},
		{"text and more", "", accept(`{"answer":"a","Answer":"b","x":1}`), "a"},
		{"no fields", `{"type":"object","properties":{}}`, accept(`{}`), "the person accepted"},
		{"no text", "", accept(`{"answer":""}`), again + "answer: must have at least 1 characters, has 0\nWhen?"},
		{"nothing", "", accept(``), again + "answer: missing\nWhen?"},
		{"null", "", accept(`null`), again + "the form: must be object, got null\nWhen?"},
		{"another type", "", accept(`{"answer":1}`), again + "answer: must be string, got number\nWhen?"},
		{"fields", windowForm, accept(`{"when":"now","hours":3,"mail":"a@example.com","sure":true,"who":["ann"]}`),
			json.RawMessage(`{"when":"now","hours":3,"mail":"a@example.com","sure":true,"who":["ann"]}`)},
		{"several problems", windowForm, accept(`{"when":"later","hours":9}`), again + `hours: must be <= 8, got 9; when: must be one of "now", "tonight", got "later"` + "\nWhen?"},
		{"a list", windowForm, accept(`{"when":"now","who":["ann","eve"]}`), again + `who[1]: must be one of "ann", "bob", got "eve"` + "\nWhen?"},
		{"no mail address", windowForm, accept(`{"when":"now","mail":"x"}`), again + "mail: 'x' is not valid email: missing @\nWhen?"},
		{"not JSON", windowForm, accept(`{"when":`), again + "it is not JSON: unexpected EOF\nWhen?"},
		{"a number beyond bounds", windowForm, accept(`{"when":"now","hours":1e999999999}`), again + "hours: the number 1e999999999 is out of range\nWhen?"},
		{"a huge text", windowForm, accept(`{"when":"now","mail":"` + strings.Repeat("é", 9000) + `"}`), again + "mail: '" + strings.Repeat("é", 39) + "...\nWhen?"},
		{"declined", "", &session.Answer{Action: "decline"}, "error: the person declined to answer"},
		{"declined with a reason", "", &session.Answer{Action: "decline", Reason: "no idea"}, "error: the person declined to answer: no idea"},
		{"cancelled", "", &session.Answer{Action: "cancel"}, "error: nobody answered"},
		{"cancelled with a reason", "", &session.Answer{Action: "cancel", Reason: "this host cannot ask"}, "error: nobody answered: this host cannot ask"},
		{"no action", "", &session.Answer{Payload: json.RawMessage(`{"answer":"x"}`)}, "error: nobody answered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool := newTool(t, "When?", tc.form)
			asked := call(t, tool, `{"service":"api"}`, nil, nil).Suspend
			res := call(t, tool, `{"service":"api"}`, asked, tc.answer)
			got := res.Output
			switch {
			case res.Suspend != nil:
				got = res.Suspend.Message
			case res.IsError:
				got = "error: " + res.Output.(string)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A person may try three times, whichever process asks.
func TestAsksAgainButNotForEver(t *testing.T) {
	asked := call(t, newTool(t, "When?", windowForm), `{"service":"api"}`, nil, nil).Suspend
	for try := 1; try <= 3; try++ {
		res := call(t, newTool(t, "When?", windowForm), `{"service":"api"}`, asked, accept(fmt.Sprintf(`{"when":"now","hours":%d}`, 10+try)))
		if try == 3 {
			want := "no answer fits the form, after 3 tries: hours: must be <= 8, got 13"
			if res.Suspend != nil || !res.IsError || res.Output != want {
				t.Errorf("got %+v", res)
			}
			break
		}
		if res.Suspend == nil {
			t.Fatalf("try %d: %+v", try, res)
		}
		stored, err := json.Marshal(res.Suspend) // as the conversation store does
		if err != nil {
			t.Fatal(err)
		}
		asked = &session.Suspension{}
		if err := json.Unmarshal(stored, asked); err != nil {
			t.Fatal(err)
		}
	}
	// One that fits in the end counts.
	if res := call(t, newTool(t, "When?", windowForm), `{"service":"api"}`, asked, accept(`{"when":"now"}`)); string(res.Output.(json.RawMessage)) != `{"when":"now"}` {
		t.Errorf("got %+v", res)
	}
}

// The approval of the call is no answer to the question.
func TestAnswerToAnotherQuestion(t *testing.T) {
	for _, kind := range []string{model.Approval, "", "other"} {
		asked := &session.Suspension{Kind: kind}
		if res := call(t, newTool(t, "When?", ""), `{"service":"api"}`, asked, accept(`{"answer":"x"}`)); res.Suspend == nil {
			t.Errorf("%s: %+v", kind, res)
		}
	}
}

func TestHints(t *testing.T) {
	if h := newTool(t, "When?", "").Spec().Hints; h != (agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}) {
		t.Errorf("hints %+v", h)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		tool *config.Tool
		want string
	}{
		"no section":        {&config.Tool{Name: "a"}, "ask: a tool needs its ask section"},
		"no message":        {entry("", ""), "ask.message: says nothing"},
		"unknown parameter": {entry("{servce} {service}", ""), "ask.message: {servce} is not a parameter of this tool"},
		"several":           {entry("{a}", `{"type":"object"}`), "ask.message: {a} is not a parameter of this tool\nask.form: want a JSON Schema with type: object, and the fields in properties"},
		"not JSON":          {entry("x", `{`), "ask.form: unexpected end of JSON input"},
		"not an object":     {entry("x", `{"type":"string"}`), "ask.form: want a JSON Schema with type: object"},
		"nested":            {entry("x", `{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"string"},"c":{"$ref":"#"},"d":true}}`), "ask.form: the field a must be of type string, number, integer or boolean, or an array whose items are an enum: hosts cannot show another\nask.form: the field c must be"},
		"a free list":       {entry("x", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`), "ask.form: the field a must be"},
		"required":          {entry("x", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`), "ask.form: required names b, which is no field"},
		"no schema":         {&config.Tool{Name: "a", Ask: &config.Ask{Message: template.ParsePlaces("x")}}, "the schema of the parameters: "},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := New(tc.tool)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || made != nil {
				t.Errorf("got %v, %v", made, err)
			}
		})
	}
}

// A schema that only turns out to be none when it is used is a failure that
// says so, and nothing outside of it is read.
func TestFormsThatCannotBeUsed(t *testing.T) {
	for name, form := range map[string]string{
		"bad pattern": `{"type":"object","properties":{"a":{"type":"string","pattern":"(?<=x)"}}}`,
		"file":        `{"type":"object","properties":{"a":{"type":"string","$ref":"file:///etc/hostname"}}}`,
		"network":     `{"type":"object","properties":{"a":{"type":"string","$ref":"https://example.com/x.json"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tool := newTool(t, "When?", form)
			res := call(t, tool, `{"service":"api"}`, call(t, tool, `{"service":"api"}`, nil, nil).Suspend, accept(`{"a":"x"}`))
			if res.Suspend != nil || !res.IsError || !strings.HasPrefix(res.Output.(string), "the form of ask_window is not a usable JSON Schema: ") {
				t.Errorf("got %+v", res)
			}
		})
	}
}
