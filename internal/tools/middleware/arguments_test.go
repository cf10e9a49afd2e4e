package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// check calls a tool with a schema; it gives what the model reads and the
// arguments that the tool has seen, if it was called.
func check(t *testing.T, schema, args string) (text, seen string) {
	t.Helper()
	tool := Wrap(&fake{
		&agent.Spec{Name: "roll_die", Parameters: json.RawMessage(schema)},
		func(_ context.Context, call *agent.Call) (*agent.Result, error) {
			seen = string(call.Args)
			return agent.Text("called"), nil
		},
	}, options())
	res, err := tool.Call(t.Context(), roll(args))
	if err != nil {
		t.Fatal(err)
	}
	if called := seen != ""; called == res.IsError {
		t.Errorf("called: %v, but the result is %+v", called, res)
	}
	return res.Output.(string), seen
}

func object(properties string) string {
	return `{"type":"object","additionalProperties":false,"properties":` + properties + `}`
}

func TestArguments(t *testing.T) {
	const two = `{"type":"object","additionalProperties":false,"required":["sides","count"],"properties":{"sides":{"type":"integer","minimum":2},"count":{"type":"integer"}}}`
	for _, tc := range []struct{ name, schema, args, want string }{
		{"fine", dieSchema, `{"sides":6}`, "called"},
		{"at a bound", dieSchema, `{"sides":1000}`, "called"},
		{"an integer written with a point", dieSchema, `{"sides":6.0}`, "called"},
		{"below the minimum", dieSchema, `{"sides":1}`, "argument sides: must be >= 2, got 1"},
		{"above the maximum", dieSchema, `{"sides":1001}`, "argument sides: must be <= 1000, got 1001"},
		{"an integer beyond 64 bits", dieSchema, `{"sides":99999999999999999999}`, "argument sides: must be <= 1000, got 99999999999999999999"},
		{"wrong type", dieSchema, `{"sides":"six"}`, "argument sides: must be integer, got string"},
		{"a fraction", dieSchema, `{"sides":2.5}`, "argument sides: must be integer, got number"},
		{"missing", dieSchema, `{}`, "argument sides: missing"},
		{"extra", dieSchema, `{"sides":6,"foo":1}`, "argument foo: not an argument of roll_die, its arguments are sides"},
		{"case of a name", dieSchema, `{"Sides":6}`, "argument Sides: not an argument of roll_die, its arguments are sides; argument sides: missing"},
		{"everything at once", two, `{"sides":1,"foo":1,"bar baz":2}`,
			`argument "bar baz": not an argument of roll_die, its arguments are count, sides; argument count: missing; argument foo: not an argument of roll_die, its arguments are count, sides; argument sides: must be >= 2, got 1`},
		{"none taken", object(`{}`), `{"x":1}`, "argument x: not an argument of roll_die, which takes none"},
		{"nothing for no arguments", object(`{}`), ``, "called"},
		{"null for no arguments", object(`{}`), ` null `, "called"},
		{"null with one required", dieSchema, `null`, "argument sides: missing"},
		{"not JSON", dieSchema, `{"sides":`, "the arguments are not JSON: unexpected EOF"},
		{"two values", dieSchema, `{"sides":6} {"sides":7}`, "the arguments are not JSON: invalid character after top-level value"},
		{"a list of arguments", dieSchema, `[6]`, "the arguments: must be object, got array"},
		{"enum", object(`{"c":{"enum":["red","green"]}}`), `{"c":"blue"}`, `argument c: must be one of "red", "green", got "blue"`},
		{"const", object(`{"c":{"const":1}}`), `{"c":2}`, `argument c: must be 1, got 2`},
		{"pattern", object(`{"c":{"type":"string","pattern":"^[0-9a-f]{7,40}$"}}`), `{"c":"--config=/etc/passwd"}`,
			`argument c: must match the pattern ^[0-9a-f]{7,40}$, got "--config=/etc/passwd"`},
		{"too short", object(`{"c":{"type":"string","minLength":2}}`), `{"c":"ü"}`, `argument c: must have at least 2 characters, has 1`},
		{"too long", object(`{"c":{"type":"string","maxLength":2}}`), `{"c":"üüü"}`, `argument c: must have at most 2 characters, has 3`},
		{"long enough in characters", object(`{"c":{"type":"string","maxLength":2}}`), `{"c":"üü"}`, `called`},
		{"items", object(`{"c":{"type":"array","items":{"type":"string"},"maxItems":2}}`), `{"c":["a",1,"b"]}`,
			`argument c: must have at most 2 items, has 3; argument c[1]: must be string, got number`},
		{"nested", object(`{"o":{"type":"object","required":["a","b c"],"properties":{"a":{"type":"integer"}},"additionalProperties":false}}`), `{"o":{"a":"x","z":1}}`,
			`argument o."b c": missing; argument o.a: must be integer, got string; argument o.z: not allowed here`},
		{"several forms", object(`{"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}`), `{"c":1}`,
			`argument c: must be string, got number, or must be array, got number`},
		{"several forms, one half right", object(`{"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}`), `{"c":[1]}`,
			`argument c: must be string, got array, or argument c[0]: must be string, got number`},
		{"two types", object(`{"c":{"type":["string","null"]}}`), `{"c":1}`, `argument c: must be null or string, got number`},
		{"fractions", object(`{"c":{"type":"number","exclusiveMinimum":0.5,"multipleOf":0.25}}`), `{"c":0.3}`,
			`argument c: must be > 0.5, got 0.3; argument c: must be a multiple of 0.25, got 0.3`},
		{"dependent", object(`{"a":{},"b":{}}`)[:len(object(`{"a":{},"b":{}}`))-1] + `,"dependentRequired":{"a":["b"]}}`, `{"a":1}`,
			`argument b: missing, since a is given`},
		{"a reference within", `{"type":"object","properties":{"c":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"c":"x"}`,
			`argument c: must be integer, got string`},
		{"arguments behind a reference", `{"$ref":"#/$defs/n","$defs":{"n":` + dieSchema + `}}`, `{"sides":6,"x":1}`,
			`argument x: not an argument of roll_die, its arguments are sides`},
		{"forbidden", object(`{"c":false}`), `{"c":1}`, `argument c: not allowed`},
		{"a keyword without words of its own", object(`{"c":{"uniqueItems":true}}`), `{"c":[1,1]}`, `argument c: items at 0 and 1 are equal`},
		{"an exponent that would fill the memory", dieSchema, `{"sides":1e999999999}`, `argument sides: the number 1e999999999 is out of range`},
		{"an exponent that would take long", dieSchema, `{"sides":1E+99999}`, `argument sides: the number 1E+99999 is out of range`},
		{"a small one that would take long", object(`{"c":{"type":"array"}}`), `{"c":[1,1e-99999]}`, `argument c[1]: the number 1e-99999 is out of range`},
		{"an exponent that is fine", object(`{"c":{"type":"number"}}`), `{"c":1e308}`, `called`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _ := check(t, tc.schema, tc.args); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestArgumentsReachTheTool(t *testing.T) {
	for args, want := range map[string]string{``: `{}`, `null`: `{}`, `{"c": 12345678901234567890.10}`: `{"c": 12345678901234567890.10}`} {
		if _, seen := check(t, object(`{"c":{"type":"number"}}`), args); seen != want {
			t.Errorf("%q: the tool saw %q, want %q", args, seen, want)
		}
	}
}

func TestArgumentMessagesAreBounded(t *testing.T) {
	var args []string
	for i := range 1000 {
		args = append(args, fmt.Sprintf("%q:1", fmt.Sprintf("a%03d%s", i, strings.Repeat("ü", 500))))
	}
	got, _ := check(t, dieSchema, "{"+strings.Join(args, ",")+"}")
	if len(got) > maxErrorBytes || !strings.HasSuffix(got, "; and 981 more problems") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	got, _ = check(t, object(`{"c":{"enum":["x"]}}`), `{"c":"`+strings.Repeat("ü", 5000)+`"}`)
	if len(got) > 200 || !strings.Contains(got, `got "üü`) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// A schema that is none is a fault that only the operator can mend.
func TestSchemaFaultsEndTheTurn(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(secret, []byte(`{"type":"integer"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, schema := range map[string]string{
		"not JSON":      `{`,
		"not a schema":  `{"type":"objekt"}`,
		"nothing":       ``,
		"bad pattern":   object(`{"c":{"pattern":"(?<=x)"}}`),
		"file":          object(`{"c":{"$ref":"file://` + filepath.ToSlash(secret) + `"}}`),
		"network":       object(`{"c":{"$ref":"https://example.com/schema.json"}}`),
		"relative":      object(`{"c":{"$ref":"other.json"}}`),
		"its own draft": `{"$schema":"https://example.com/draft.json","type":"object"}`,
	} {
		t.Run(name, func(t *testing.T) {
			tool := Wrap(&fake{&agent.Spec{Name: "broken", Parameters: json.RawMessage(schema)}, gives(agent.Text("called"), nil)}, options())
			res, err := tool.Call(t.Context(), roll(`{"c":1}`))
			if err == nil || !strings.HasPrefix(err.Error(), "the parameters of tool broken are not a usable JSON Schema: ") {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

func TestArgumentsConcurrently(t *testing.T) {
	tool := Wrap(die(gives(agent.Text("called"), nil)), options())
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			res, err := tool.Call(t.Context(), roll(fmt.Sprintf(`{"sides":%d}`, i)))
			if err != nil || res.IsError != (i < 2) {
				t.Errorf("%d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
}

// The quick way may never accept what the validator refuses.
func TestPlainAgreesWithTheValidator(t *testing.T) {
	schemas := []string{
		dieSchema,
		object(`{"a":{"type":"string","minLength":1,"maxLength":3,"pattern":"^a"},"b":{"type":"array","items":{"type":"integer","minimum":0}},"c":{"type":"boolean"}}`),
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["a","ab"],"default":"a"},"b":{"type":"object","properties":{"c":{"type":"integer"}},"additionalProperties":false}}}`,
	}
	values := []string{`1`, `2`, `0`, `-1`, `2.0`, `1e2`, `1001`, `"a"`, `"ab"`, `"abcd"`, `""`, `"ü"`, `true`, `null`, `[]`, `[1]`, `["a"]`, `[-1]`, `{}`, `{"c":1}`, `{"c":"x"}`, `{"d":1}`}
	names := []string{"sides", "a", "b", "c", "d"}
	random := rand.New(rand.NewPCG(1, 2))
	var accepted, refused int
	for _, text := range schemas {
		c, err := newChecker(&agent.Spec{Name: "t", Parameters: json.RawMessage(text)})
		if err != nil || c.plain == nil {
			t.Fatalf("%s is not plain (%v)", text, err)
		}
		for range 2000 {
			v := map[string]any{}
			for range random.IntN(3) {
				v[names[random.IntN(len(names))]] = json.RawMessage(values[random.IntN(len(values))])
			}
			args, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			value, err := generic(json.RawMessage(args))
			if err != nil {
				t.Fatal(err)
			}
			valid := c.schema.Validate(value) == nil
			if c.plain.accepts(value) {
				accepted++
				if !valid {
					t.Fatalf("%s accepts %s", text, args)
				}
			} else if !valid {
				refused++
			}
		}
	}
	if accepted < 100 || refused < 100 {
		t.Errorf("only %d accepted and %d refused: the test tests little", accepted, refused)
	}
}

func TestNotPlain(t *testing.T) {
	for _, schema := range []string{
		`{}`, `true`, `{"type":["object","null"]}`,
		object(`{"a":{}}`), object(`{"a":{"type":"number"}}`), object(`{"a":{"type":"array"}}`),
		object(`{"a":{"type":"integer","multipleOf":2}}`), object(`{"a":{"type":"integer","minimum":0.5}}`), object(`{"a":{"type":"integer","enum":[1]}}`),
		object(`{"a":{"type":"integer","maximum":99999999999999999999}}`),
		object(`{"a":{"type":"string","not":{"const":"x"}}}`), object(`{"a":{"type":"boolean","const":true}}`),
		object(`{"a":{"type":"array","items":{"type":"string"},"minItems":1}}`),
		`{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{},"minProperties":1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
	} {
		c, err := newChecker(&agent.Spec{Name: "t", Parameters: json.RawMessage(schema)})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if c.plain != nil {
			t.Errorf("%s counts as plain", schema)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, args := range []string{`{"sides":6}`, `{"n":1e400,"list":[1e-9]}`, `{"text":"\ud800","more":{"x":null}}`, `[]`, `"`, `{"a":{"b":[{}]},"":0}`} {
		f.Add([]byte(args))
	}
	c, err := newChecker(&agent.Spec{Name: "t", Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["n"],"properties":{
		"n":{"type":"number","multipleOf":0.1,"maximum":1e300},"text":{"type":"string","pattern":"^(a+)+$","maxLength":9},
		"list":{"type":"array","items":{"type":"integer"},"uniqueItems":true},"more":{"anyOf":[{"type":"object","minProperties":1},{"const":1},{"$ref":"#"}]}}}`)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		text := c.problems(args)
		if !utf8.ValidString(text) || len(text) > maxErrorBytes {
			t.Errorf("%d bytes for the model: %q", len(text), text)
		}
		if text == "" && !json.Valid(args) {
			t.Errorf("%q is accepted", args)
		}
	})
}
