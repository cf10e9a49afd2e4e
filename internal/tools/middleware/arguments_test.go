package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
		{"missing", dieSchema, `{}`, "argument sides: missing"},
		{"extra", dieSchema, `{"sides":6,"foo":1}`, "argument foo: not an argument of roll_die, its arguments are sides"},
		{"everything at once", two, `{"sides":1,"foo":1,"bar baz":2}`,
			`argument "bar baz": not an argument of roll_die, its arguments are count, sides; argument count: missing; argument foo: not an argument of roll_die, its arguments are count, sides; argument sides: must be >= 2, got 1`},
		{"none taken", object(`{}`), `{"x":1}`, "argument x: not an argument of roll_die, which takes none"},
		{"nothing for no arguments", object(`{}`), ``, "called"},
		{"null for an optional argument", object(`{"n":{"type":"integer"}}`), `{"n":null}`, "called"},
		{"null for a required argument", dieSchema, `{"sides":null}`, "argument sides: must be integer, got null"},
		{"null beside a fault", object(`{"n":{"type":"integer"},"b":{"type":"boolean"}}`), `{"n":null,"b":1}`, "argument b: must be boolean, got number; argument n: must be integer, got null"},
		{"null for no arguments", object(`{}`), ` null `, "called"},
		{"null with one required", dieSchema, `null`, "argument sides: missing"},
		{"not JSON", dieSchema, `{"sides":`, "the arguments are not JSON: unexpected EOF"},
		{"a list of arguments", dieSchema, `[6]`, "the arguments: must be object, got array"},
		{"an exponent that would fill the memory", dieSchema, `{"sides":1e999999999}`, `argument sides: the number 1e999999999 is out of range`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _ := check(t, tc.schema, tc.args); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestArgumentsReachTheTool(t *testing.T) {
	for args, want := range map[string]string{``: `{}`, `null`: `{}`, `{"c": 12345678901234567890.10}`: `{"c": 12345678901234567890.10}`, `{"c": null}`: `{}`} {
		if _, seen := check(t, object(`{"c":{"type":"number"}}`), args); seen != want {
			t.Errorf("%q: the tool saw %q, want %q", args, seen, want)
		}
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
