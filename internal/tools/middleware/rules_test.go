package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	denied     = "not run: a deny rule of this agent forbids it"
	notAllowed = "not run: no allow rule of this agent permits it"
)

// ruled calls a tool with rules and gives what the model reads; "ran" if it ran.
func ruled(t *testing.T, name, schema, args string, o Options) string {
	t.Helper()
	tool := Wrap(&fake{&agent.Spec{Name: name, Parameters: json.RawMessage(schema)}, gives(agent.Text("ran"), nil)}, o)
	res, err := tool.Call(t.Context(), roll(args))
	if err != nil {
		t.Fatal(err)
	}
	if res.Output != "ran" && !res.NotRun {
		t.Errorf("%v counts as a failure of the tool", res.Output)
	}
	return res.Output.(string)
}

func TestRules(t *testing.T) {
	rule := func(args ...string) []config.CallRule {
		r := config.CallRule{Args: map[string]string{}}
		for i := 0; i < len(args); i += 2 {
			r.Args[args[i]] = args[i+1]
		}
		return []config.CallRule{r}
	}
	tools := func(globs ...string) (list []config.CallRule) {
		for _, g := range globs {
			list = append(list, config.CallRule{Tool: g})
		}
		return list
	}
	const schema = `{"type":"object","properties":{"branch":{"default":"main"},"n":{"default":null},"mode":{"type":"string","default":"auto"},
		"q":{"$ref":"#/$defs/Q"},"loop":{"$ref":"#/$defs/loop"},"elsewhere":{"$ref":"#anchor"}},
		"$defs":{"Q":{"allOf":[{"$ref":"#/$defs/a~1b%20c"}],"$ref":"#/$defs/Q/allOf/0"},"a/b c":{"type":"string","default":"all"},"loop":{"$ref":"#/$defs/loop"},"x":{"$anchor":"anchor"}}}`
	for _, tc := range []struct {
		name        string
		allow, deny []config.CallRule
		args        string
		want        string
	}{
		{"none match", nil, rule("path", "/etc/*"), `{"path":"/tmp/x"}`, "ran"},
		{"deny", nil, rule("path", "/etc/*"), `{"path":"/etc/passwd"}`, denied},
		{"deny all", nil, []config.CallRule{{}}, `{}`, denied},
		{"deny needs every argument", nil, rule("path", "/etc/*", "mode", "w"), `{"path":"/etc/x","mode":"r"}`, "ran"},
		{"deny with every argument", nil, rule("path", "/etc/*", "mode", "w"), `{"path":"/etc/x","mode":"w"}`, denied},
		{"deny of an absent argument", nil, rule("path", "*"), `{}`, "ran"},
		{"deny by the second rule", nil, append(rule("a", "1"), rule("b", "2")...), `{"b":"2"}`, denied},
		{"deny a list by one item", nil, rule("path", "/etc/*"), `{"path":["/tmp/a","/etc/b"]}`, denied},
		{"deny a list in a list", nil, rule("path", "/etc/*"), `{"path":[["/etc/b"]]}`, denied},
		{"deny an empty list", nil, rule("path", "*"), `{"path":[]}`, "ran"},
		{"deny a number", nil, rule("n", "100"), `{"n":100}`, denied},
		{"deny a number written otherwise", nil, rule("n", "100"), `{"n":1.0e2}`, denied},
		{"deny a number as it is written", nil, rule("n", "1e2"), `{"n":1e2}`, denied},
		{"deny another number", nil, rule("n", "100"), `{"n":1000}`, "ran"},
		{"deny a boolean", nil, rule("force", "true"), `{"force":true}`, denied},
		{"deny null", nil, rule("force", "null"), `{"force":null}`, denied},
		{"deny an object", nil, rule("o", `{"a":"<é>","b":1}`), `{ "o": {"b": 1, "a": "\u003c\u00e9>"} }`, denied},
		{"deny what escapes hide", nil, rule("path", "/etc/*"), `{"p\u0061th":"\/e\u0074c/passwd"}`, denied},
		{"deny another case", nil, rule("path", "/etc/*"), `{"PATH":"/etc/passwd"}`, denied},
		{"deny a case that only Unicode folds", nil, rule("task", "x"), `{"taſK":"x"}`, denied},
		{"deny either case", nil, rule("path", "/etc/*"), `{"path":"/tmp/x","Path":"/etc/passwd"}`, denied},
		{"deny a default", nil, rule("branch", "main"), `{}`, denied},
		{"deny but not the default", nil, rule("branch", "main"), `{"branch":"dev"}`, "ran"},
		{"deny a default behind null", nil, rule("mode", "auto"), `{"mode":null}`, denied},
		{"allow another than the default behind null", rule("mode", "null"), nil, `{"mode":null}`, notAllowed},
		{"deny a default behind references", nil, rule("q", "all"), `{}`, denied},
		{"deny a default behind references and null", nil, rule("q", "all"), `{"q":null}`, denied},
		{"deny but not the default behind references", nil, rule("q", "all"), `{"q":"x"}`, "ran"},
		{"allow a default behind references", rule("q", "all"), nil, `{}`, "ran"},
		{"deny a number with a zero before its exponent", nil, rule("n", "100000000"), `{"n":1e08}`, denied},
		{"deny a number with a signed exponent", nil, rule("n", "100"), `{"n":1E+0002}`, denied},
		{"deny a large number", nil, rule("n", "1"+strings.Repeat("0", 50)), `{"n":10e+049}`, denied},
		{"deny a small number", nil, rule("n", "0."+strings.Repeat("0", 49)+"1"), `{"n":1e-50}`, denied},
		{"deny a number that is out of range", nil, rule("n", "7"), `{"x":[1e401]}`, "argument x[0]: the number 1e401 is out of range"},
		{"deny a number in an object", nil, rule("o", `{"n":100}`), `{"o":{"n":1e2}}`, denied},
		{"deny a number in an object as it is written", nil, rule("o", `{"n":1e2}`), `{"o":{"n":1e2}}`, denied},
		{"deny a number in a list in an object", nil, rule("o", `*[100]*`), `{"o":{"a":[{"n":[100.0]}],"b":1}}`, denied},
		{"allow a number in an object in one way", rule("o", `{"n":1e2}`), nil, `{"o":{"n":1e2}}`, notAllowed},
		{"deny no arguments", nil, rule("path", "*"), ``, "ran"},
		{"deny null arguments", nil, rule("branch", "main"), `null`, denied},

		{"allow", rule("path", "docs/*"), nil, `{"path":"docs/a"}`, "ran"},
		{"allow another", rule("path", "docs/*"), nil, `{"path":"src/a"}`, notAllowed},
		{"allow an absent argument", rule("path", "*"), nil, `{}`, notAllowed},
		{"allow by the second rule", append(rule("a", "1"), rule("b", "2")...), nil, `{"b":"2"}`, "ran"},
		{"allow a list by every item", rule("path", "docs/*"), nil, `{"path":["docs/a","docs/b"]}`, "ran"},
		{"allow a list by one item", rule("path", "docs/*"), nil, `{"path":["docs/a","/etc/passwd"]}`, notAllowed},
		{"allow an empty list", rule("path", "*"), nil, `{"path":[]}`, notAllowed},
		{"allow another case", rule("path", "docs/*"), nil, `{"Path":"docs/a"}`, notAllowed},
		{"allow either case", rule("path", "docs/*"), nil, `{"path":"docs/a","PATH":"/etc/passwd"}`, notAllowed},
		{"allow a number in every way", rule("n", "1*"), nil, `{"n":1e2}`, "ran"},
		{"allow a number in one way", rule("n", "1e2"), nil, `{"n":1e2}`, notAllowed},
		{"allow a default", rule("branch", "main"), nil, `{}`, "ran"},
		{"deny wins", rule("path", "docs/*"), rule("path", "*secret*"), `{"path":"docs/secret"}`, denied},

		{"tool of no rule", tools("write_*"), nil, `{}`, notAllowed},
		{"tool of an allow rule", tools("write_*", "read_*"), nil, `{}`, "ran"},
		{"tool of a deny rule", nil, tools("*_file"), `{}`, denied},
		{"tool of another deny rule", nil, tools("file", "read_files"), `{}`, "ran"},

		{"twice", nil, rule("path", "/etc/*"), `{"path":"/etc/passwd","path":"/tmp"}`, `not run: the arguments name "path" twice`},
		{"twice in escapes", nil, rule("path", "/etc/*"), `{"path":"/tmp","p\u0061th":"/tmp"}`, `not run: the arguments name "path" twice`},
		{"twice deep inside", nil, rule("path", "/etc/*"), `{"o":[{"a":1,"a":2}]}`, `not run: the arguments name "a" twice`},
		{"no object", nil, rule("path", "/etc/*"), `["/etc/x"]`, "the arguments: must be object, got array"},
		{"no JSON", nil, rule("path", "/etc/*"), `{"path":"/etc/x"`, "the arguments are not JSON: unexpected EOF"},
		{"more than one object", nil, rule("path", "/etc/*"), `{}{"path":"/etc/x"}`, "the arguments are not JSON: invalid character after top-level value"},
		{"too deep", nil, rule("path", "/etc/*"), `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "the arguments are not JSON: invalid character '[' exceeded max depth"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options()
			o.Allow, o.Deny = tc.allow, tc.deny
			if got := ruled(t, "read_file", schema, tc.args, o); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Rules come before approval, and no answer lifts them.
func TestRulesHoldWhoeverApproves(t *testing.T) {
	o := options()
	o.Approve, o.Deny = &config.Condition{Is: true}, []config.CallRule{{Args: map[string]string{"k": "x*"}}}
	for _, a := range []*session.Answer{nil, {Kind: "approval", Action: "accept"}, {Kind: "question", Action: "accept"}} {
		var calls []*agent.Call
		tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(_ context.Context, call *agent.Call) (*agent.Result, error) {
			calls = append(calls, call)
			return agent.Text("done"), nil
		}}, o)
		res, err := tool.Call(t.Context(), answered(`{"k":"xy"}`, a))
		if err != nil || res.Output != denied || len(calls) > 0 {
			t.Errorf("%+v: got %+v, %v", a, res, err)
		}
	}
}

// Where somebody decides on arguments, or results are kept by them, they name
// nothing twice; elsewhere that is between the model and the tool.
func TestNamedTwice(t *testing.T) {
	const args = `{"k":1,"k":2}`
	for name, o := range map[string]Options{"approve": {Approve: &config.Condition{Is: true}}, "cache": {Cache: &config.Cache{}}} {
		all := options()
		all.Approve, all.Cache = o.Approve, o.Cache
		if got := ruled(t, "t", openSchema, args, all); got != `not run: the arguments name "k" twice` {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := ruled(t, "t", openSchema, args, options()); got != "ran" {
		t.Error(got)
	}
}

// What is decided on is never a number that has no plain form.
func TestStrictObjectRefusesNumbersOutOfRange(t *testing.T) {
	if args, problem := strictObject(json.RawMessage(`{"a":{"b":[1e0401]}}`)); args != nil || problem != "the number 1e0401 is out of range" {
		t.Errorf("got %v, %q", args, problem)
	}
}

func TestPlainNumber(t *testing.T) {
	for written, want := range map[string]string{
		"100": "100", "1e2": "100", "1E+2": "100", "100.0": "100", "-0": "0", "-0.0e5": "0", "0.10": "0.1", "1.5e1": "15", "15e-1": "1.5", "5e-3": "0.005",
		"-12.50": "-12.5", "12345678901234567890.10": "12345678901234567890.1", "1e041": "1" + strings.Repeat("0", 41), "-1E+0041": "-1" + strings.Repeat("0", 41), "1e-41": "0." + strings.Repeat("0", 40) + "1",
		"0.001e0400": "1" + strings.Repeat("0", 397), "1e08": "100000000", "1e401": "1e401", "1e99999999999999999999": "1e99999999999999999999",
	} {
		if got := plainNumber(json.Number(written)); got != want {
			t.Errorf("%s: %s, want %s", written, got, want)
		}
	}
}
