package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

const dieSchema = `{"type":"object","additionalProperties":false,"required":["sides"],"properties":{"sides":{"type":"integer","minimum":2,"maximum":1000}}}`

func object(properties string) string {
	return `{"type":"object","additionalProperties":false,"properties":` + properties + `}`
}

// arguments checks what a tool is called with.
func arguments(t *testing.T, schema, args string) (problem string) {
	t.Helper()
	s := New(json.RawMessage(schema), Arguments("roll_die"))
	if err := s.Compile(); err != nil {
		t.Fatal(err)
	}
	return s.Check(json.RawMessage(args))
}

func TestArguments(t *testing.T) {
	const two = `{"type":"object","additionalProperties":false,"required":["sides","count"],"properties":{"sides":{"type":"integer","minimum":2},"count":{"type":"integer"}}}`
	for _, tc := range []struct{ name, schema, args, want string }{
		{"fine", dieSchema, `{"sides":6}`, ""},
		{"at a bound", dieSchema, `{"sides":1000}`, ""},
		{"an integer written with a point", dieSchema, `{"sides":6.0}`, ""},
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
		{"not JSON", dieSchema, `{"sides":`, "the arguments are not JSON: unexpected EOF"},
		{"two values", dieSchema, `{"sides":6} {"sides":7}`, "the arguments are not JSON: invalid character after top-level value"},
		{"a list of arguments", dieSchema, `[6]`, "the arguments: must be object, got array"},
		{"enum", object(`{"c":{"enum":["red","green"]}}`), `{"c":"blue"}`, `argument c: must be one of "red", "green", got "blue"`},
		{"const", object(`{"c":{"const":1}}`), `{"c":2}`, `argument c: must be 1, got 2`},
		{"pattern", object(`{"c":{"type":"string","pattern":"^[0-9a-f]{7,40}$"}}`), `{"c":"--config=/etc/passwd"}`,
			`argument c: must match the pattern ^[0-9a-f]{7,40}$, got "--config=/etc/passwd"`},
		{"too short", object(`{"c":{"type":"string","minLength":2}}`), `{"c":"ü"}`, `argument c: must have at least 2 characters, has 1`},
		{"too long", object(`{"c":{"type":"string","maxLength":2}}`), `{"c":"üüü"}`, `argument c: must have at most 2 characters, has 3`},
		{"long enough in characters", object(`{"c":{"type":"string","maxLength":2}}`), `{"c":"üü"}`, ""},
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
		{"an exponent that is fine", object(`{"c":{"type":"number"}}`), `{"c":1e308}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := arguments(t, tc.schema, tc.args); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// What is no argument is spoken of in the words of its options.
func TestOtherValues(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"integer"},"mail":{"format":"email"},"odd key":{"items":{"type":"string"}}}}`
	answer := Options{Whole: "answer", Is: "it is", Part: "answer."}
	form := Options{Whole: "the form", Is: "it is", Formats: true}
	for _, tc := range []struct {
		name, value string
		opts        Options
		want        string
	}{
		{"not JSON", `so`, answer, "it is not JSON: invalid character 's' looking for beginning of value"},
		{"the whole", `[]`, answer, "answer: must be object, got array"},
		{"parts", `{"odd key":["x",1],"b":2}`, answer, `answer."odd key"[1]: must be string, got number; answer.a: missing; answer.b: not allowed here`},
		{"the whole form", `null`, form, "the form: must be object, got null"},
		{"parts without a name", `{"b":2}`, form, `a: missing; b: not allowed here`},
		{"a format", `{"a":1,"mail":"x"}`, form, `mail: 'x' is not valid email: missing @`},
		{"a format for readers", `{"a":1,"mail":"x"}`, answer, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := New(json.RawMessage(schema), tc.opts).Check(json.RawMessage(tc.value)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	var args []string
	for i := range 1000 {
		args = append(args, fmt.Sprintf("%q:1", fmt.Sprintf("a%03d%s", i, strings.Repeat("ü", 500))))
	}
	many := "{" + strings.Join(args, ",") + "}"
	if got := arguments(t, dieSchema, many); len(got) > maxBytes || !strings.HasSuffix(got, "; and 981 more problems") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	got := arguments(t, object(`{"c":{"enum":["x"]}}`), `{"c":"`+strings.Repeat("ü", 5000)+`"}`)
	if len(got) > 200 || !strings.Contains(got, `got "üü`) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	deep := strings.Repeat(`{"`+strings.Repeat("ü", 500)+`":`, 500) + "1" + strings.Repeat("}", 500)
	for name, tc := range map[string]struct{ schema, args, begins, ends string }{
		"long sentences": {object(strings.ReplaceAll(many, ":1", `:{"type":"string"}`)), strings.ReplaceAll(many, `"a`, `"b`), `argument "b000`, "more problems"},
		"one too long":   {`{"$defs":{"n":{"type":"object","additionalProperties":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}`, deep, `argument "üü`, "..."},
		"huge numbers":   {`{}`, strings.ReplaceAll(many, ":1", ":1e999"), `argument "a000`, "; and 980 more problems"},
		"long patterns":  {object(`{"a":{"pattern":"` + strings.Repeat("x", 5000) + `"},"b":{"type":"string"}}`), `{"a":"y","b":1}`, "argument a: must match", "...; and 1 more problems"},
	} {
		t.Run(name, func(t *testing.T) {
			got := arguments(t, tc.schema, tc.args)
			if len(got) > maxBytes || !utf8.ValidString(got) || !strings.HasPrefix(got, tc.begins) || !strings.HasSuffix(got, tc.ends) {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}

func FuzzArguments(f *testing.F) {
	for _, args := range []string{`{"sides":6}`, `{"n":1e400,"list":[1e-9]}`, `{"text":"\ud800","more":{"x":null}}`, `[]`, `"`, `{"a":{"b":[{}]},"":0}`} {
		f.Add([]byte(args))
	}
	s := New(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["n"],"properties":{
		"n":{"type":"number","multipleOf":0.1,"maximum":1e300},"text":{"type":"string","pattern":"^(a+)+$","maxLength":9},
		"list":{"type":"array","items":{"type":"integer"},"uniqueItems":true},"more":{"anyOf":[{"type":"object","minProperties":1},{"const":1},{"$ref":"#"}]}}}`), Arguments("t"))
	if err := s.Compile(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		text := s.Check(args)
		if !utf8.ValidString(text) || len(text) > maxBytes {
			t.Errorf("%d bytes for the model: %q", len(text), text)
		}
		if text == "" && !json.Valid(args) {
			t.Errorf("%q is accepted", args)
		}
	})
}
