package gemini_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/genai"

	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// hostileTool is a schema of dialect/testdata, and why it is left out if it is.
type hostileTool struct {
	Name    string          `json:"name"`
	Schema  json.RawMessage `json:"schema"`
	LeftOut string          `json:"left_out"`
}

// hostileTools reads the corpus and adds what is made better than written.
func hostileTools(t *testing.T) []hostileTool {
	t.Helper()
	text, err := os.ReadFile("dialect/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []hostileTool
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	property := func(format string, args ...any) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"a":` + fmt.Sprintf(format, args...) + `}}`)
	}
	values, names, many := make([]string, 5000), make([]string, 300), make([]string, 6000)
	for i := range values {
		values[i] = fmt.Sprintf(`"value %d"`, i)
	}
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{"type":"string","description":%q}`, i, strings.Repeat("long ", 200))
	}
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	nest := func(open, inside, end string, n int) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(end, n)
	}
	double := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d16"}},"$defs":{"d0":{"type":"string"}`
	for i := 1; i <= 16; i++ {
		double += fmt.Sprintf(`,"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1)
	}
	return append(all,
		hostileTool{"a huge enum", property(`{"type":"string","enum":[%s]}`, strings.Join(values, ",")), ""},
		hostileTool{"many properties with long descriptions", json.RawMessage(`{"type":"object","properties":{` + strings.Join(names, ",") + `}}`), ""},
		hostileTool{"too many properties", json.RawMessage(`{"type":"object","properties":{` + strings.Join(many, ",") + `}}`), "larger than"},
		hostileTool{"deep nesting", property("%s", nest(`{"type":"object","properties":{"a":`, `{"type":"string"}`, `}}`, 20)), ""},
		hostileTool{"deeper nesting", property("%s", nest(`{"type":"array","items":`, `{}`, `}`, 500)), "nested deeper"},
		hostileTool{"nesting in what goes into the description", property(`{"type":"string","not":%s}`, nest(`{"not":`, `{}`, `}`, 900)), ""},
		hostileTool{"references that double", json.RawMessage(double + "}}"), "larger than"},
		hostileTool{"a constraint that is too long to tell", property(`{"type":"string","pattern":%q}`, strings.Repeat("x", 5000)), ""},
	)
}

// TestHostileTools declares all of them in one request, with good ones between.
func TestHostileTools(t *testing.T) {
	corpus := hostileTools(t)
	if len(corpus) < 60 {
		t.Fatalf("only %d schemas", len(corpus))
	}
	r := request(user("go"))
	want := map[string]bool{}
	for i, h := range corpus {
		name, good := fmt.Sprint("tool_", i), fmt.Sprint("good_", i)
		r.Tools = append(r.Tools, tool(name, string(h.Schema)), tool(good, anything))
		want[good], want[name] = true, h.LeftOut == ""
	}
	f := start(t, g.Play(g.Say("fine"), g.Say("fine")))
	o := ask(t.Context(), f, r)
	noRefusals(t, f)
	if o.err != nil {
		t.Fatal(o.err)
	}
	sent := map[string]bool{}
	for _, d := range f.service.Requests()[0].Tools {
		sent[d.Name] = true
	}
	for i, h := range corpus {
		name, good := fmt.Sprint("tool_", i), fmt.Sprint("good_", i)
		if sent[name] != want[name] || !sent[good] {
			t.Errorf("%s: declared: %v, want %v; the good one after it: %v", h.Name, sent[name], want[name], sent[good])
		}
		told := ""
		for _, n := range o.notices {
			if strings.Contains(n, "the tool "+name+" is left out") {
				told = n
			}
		}
		logged := strings.Contains(f.logged.String(), "tool="+name+" ")
		if (told != "") != (h.LeftOut != "") || !strings.Contains(told, h.LeftOut) || logged != (h.LeftOut != "") {
			t.Errorf("%s: told %q, want %q; logged: %v", h.Name, told, h.LeftOut, logged)
		}
	}
	if again := ask(t.Context(), f, r); again.err != nil || len(again.notices) > 0 {
		t.Errorf("%v, told again %v", again.err, again.notices)
	}
}

// TestToolNames has the names that the service takes and those that it does not.
func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 128)
	names := map[string]bool{
		"a": true, "_a": true, "A.b:c-d_9": true, "mcp__files__read": true, long: true,
		"": false, "1a": false, "-a": false, ".a": false, "a b": false, "a/b": false, "größe": false, "a\n": false, "a\u200b": false, "a$": false, "a[0]": false, long + "x": false,
	}
	r := request(user("go"))
	for name := range names {
		r.Tools = append(r.Tools, &genai.FunctionDeclaration{Name: name, ParametersJsonSchema: json.RawMessage(anything)})
	}
	f := start(t, g.Play(g.Say("fine")))
	o := ask(t.Context(), f, r)
	noRefusals(t, f)
	if o.err != nil {
		t.Fatal(o.err)
	}
	sent := map[string]bool{}
	for _, d := range f.service.Requests()[0].Tools {
		sent[d.Name] = true
	}
	for name, good := range names {
		if sent[name] != good {
			t.Errorf("%q is declared: %v", name, sent[name])
		}
	}
	if len(o.notices) != 12 {
		t.Errorf("told %q", o.notices)
	}
}
