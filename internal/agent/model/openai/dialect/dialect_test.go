package dialect

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

func TestTranslate(t *testing.T) {
	wrap := func(property string) string { return `{"type":"object","properties":{"a":` + property + `}}` }
	cases := []struct {
		name, in, out string
		strict        bool
	}{
		{"no schema to speak of", `{}`, `{"type":"object","properties":{}}`, false},
		{"the order of properties", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`, `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`, false},
		{"strict", `{"type":"object","properties":{"b":{"type":["string","null"]},"a":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["a","b"],"additionalProperties":false}`,
			`{"type":"object","properties":{"b":{"type":["string","null"]},"a":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["a","b"],"additionalProperties":false}`, true},
		{"an optional property is not strict", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`, false},
		{"an open object is not strict", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{"a default is not strict", `{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`, false},
		{"an array without items", wrap(`{"type":["array","null"]}`), wrap(`{"type":["array","null"],"items":{}}`), false},
		{"a tuple", wrap(`{"type":"array","prefixItems":[{"type":"number"}]}`), wrap(`{"type":"array","prefixItems":[{"type":"number"}],"items":{}}`), false},
		{"a tuple of draft 4", wrap(`{"type":"array","items":[{"type":"number"}],"additionalItems":false}`), wrap(`{"type":"array","maxItems":1,"prefixItems":[{"type":"number"}],"items":{}}`), false},
		{"exclusive bounds of draft 4", wrap(`{"type":"number","minimum":0,"exclusiveMinimum":true}`), wrap(`{"type":"number","exclusiveMinimum":0}`), false},
		{"nullable", wrap(`{"type":"string","nullable":true,"enum":["x"]}`), wrap(`{"type":["string","null"],"enum":["x",null]}`), false},
		{"booleans", `{"type":"object","properties":{"a":true,"b":false}}`, `{"type":"object","properties":{"a":{},"b":{"not":{}}}}`, false},
		{"digits", wrap(`{"const":12345678901234567890.10}`), wrap(`{"const":12345678901234567890.10}`), false},
		{"a pattern that is none", wrap(`{"type":"string","pattern":"(?<=["}`), wrap(`{"type":"string","description":"Further constraints (JSON Schema): {\"pattern\":\"(?<=[\"}"}`), false},
		{"a pattern that is none of Python's", wrap(`{"type":"string","pattern":"^\\p{L}+$"}`), wrap(`{"type":"string","description":"Further constraints (JSON Schema): {\"pattern\":\"^\\\\p{L}+$\"}"}`), false},
		{"names by a pattern of another kind", wrap(`{"type":"object","patternProperties":{"^\\pL":{},"^a":{}}}`), wrap(`{"type":"object","patternProperties":{"^a":{}},"description":"Further constraints (JSON Schema): {\"patternProperties\":{\"^\\\\pL\":{}}}"}`), false},
		{"a bound beyond floating point", wrap(`{"type":"number","maximum":1e999}`), wrap(`{"type":"number","description":"Further constraints (JSON Schema): {\"maximum\":1e999}"}`), false},
		{"references by name", `{"$id":"https://x/r","type":"object","properties":{"a":{"$ref":"#here"},"b":{"$dynamicRef":"#here"},"c":{"$ref":"https://x/r"}},"$defs":{"d":{"$anchor":"here","type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/$defs/d"},"c":{"$ref":"#"}},"$defs":{"d":{"type":"string"}}}`, false},
		{"a reference to itself", wrap(`{"$ref":"#/properties/a"}`), wrap(`{}`), false},
		{"two that lead to each other", `{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{},"b":{"$ref":"#/properties/a"}}}`, false},
		{"a reference at the top", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":{"$ref":"#/$defs/A"}}}}}`,
			`{"$defs":{"A":{"type":"object","properties":{"x":{"$ref":"#/$defs/A"}}}},"type":"object","properties":{"x":{"$ref":"#/$defs/A"}}}`, false},
		{"allOf at the top", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}},"required":["b","a"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]}`, false},
		{"anyOf at the top", `{"type":"object","anyOf":[{"properties":{"k":{"const":"a"}},"required":["k"]},{"properties":{"k":{"const":"b"},"y":{}}}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":"a"},{"const":"b"}]},"y":{}},"description":"Further constraints (JSON Schema): {\"anyOf\":[{\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":[\"k\"]},{\"properties\":{\"k\":{\"const\":\"b\"},\"y\":{}}}]}"}`, false},
		{"not at the top", `{"type":"object","properties":{"a":{}},"not":{"required":["a"]},"description":"d"}`,
			`{"type":"object","properties":{"a":{}},"description":"d\nFurther constraints (JSON Schema): {\"not\":{\"required\":[\"a\"]}}"}`, false},
		{"what cannot be seen", wrap(`{"type":"string","description":"a\u200bb\u0000\u202e","x-mine":1}`), wrap(`{"type":"string","description":"ab"}`), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, strict, err := Translate([]byte(c.in))
			if err != nil || string(out) != c.out || strict != c.strict {
				t.Errorf("%v, strict %v\n got %s\nwant %s", err, strict, out, c.out)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	nest := func(open, end string, n int) string { return strings.Repeat(open, n) + "{}" + strings.Repeat(end, n) }
	many := strings.Repeat(`{},`, maxNodes)
	for in, want := range map[string]string{
		`{`:                      "not JSON",
		`null`:                   "null is not a schema",
		`false`:                  "nothing can match it",
		`{"type":"string"}`:      "type must be object, not string",
		`{"type":["a"]}`:         "no type is called a",
		`{"type":[]}`:            "no type at all",
		`{"properties":[]}`:      "properties: array where an object belongs",
		`{"properties":{"a":1}}`: "properties: a: number is not a schema",
		`{"required":true}`:      "required: boolean where a list belongs",
		`{"minItems":-1}`:        "no number of items",
		`{"properties":{"a":{"$ref":"#/nowhere"}}}`:        "leads nowhere",
		`{"properties":{"a":{"$ref":"https://x/y.json"}}}`: "leads out of the schema",
		`{"properties":{"a":{"$ref":1}}}`:                  "number where text belongs",
		nest(`{"items":`, `}`, 60):                         "nested deeper than 50",
		`{"anyOf":[` + many[:len(many)-1] + `]}`:           "larger than 5000",
	} {
		if _, _, err := Translate([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", in, err, want)
		}
	}
}

// TestStrict has what keeps the rules of structured outputs and what breaks one.
func TestStrict(t *testing.T) {
	whole := func(property string) string {
		return `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false,"$defs":{"d":{"type":"string"}}}`
	}
	deep := `{"type":"string"}`
	for range 6 {
		deep = `{"type":"object","properties":{"a":` + deep + `},"required":["a"],"additionalProperties":false}`
	}
	for property, want := range map[string]bool{
		`{"type":"string","enum":["x"]}`: true, `{"type":"string","format":"date"}`: true, `{"$ref":"#/$defs/d"}`: true, `{"$ref":"#"}`: true,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`: true, `{"type":"string","pattern":"^a$"}`: true, `{"type":"boolean","description":"d"}`: true,
		`{}`: false, `true`: false, `{"enum":["x"]}`: false, `{"type":"string","minLength":1}`: false, `{"type":"string","format":"uri"}`: false,
		`{"$ref":"#/$defs/d","description":"d"}`: false, `{"$ref":"#/$defs/none"}`: false, `{"type":"array"}`: false, `{"type":"object"}`: false,
		`{"oneOf":[{"type":"string"}]}`: false, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`: false, `{"anyOf":[]}`: false, `{"type":["string","integer"]}`: false,
		`{"type":"string","pattern":"(?=a)"}`: false, `{"type":"string","pattern":"\\p{L}"}`: false, `{"type":"string","enum":[1]}`: false, `{"type":"string","enum":["a",null]}`: false, `{"type":["string","null"],"enum":["a",null]}`: true,
		`{"type":"integer","const":1.5}`: false, `{"type":"number","enum":[1,2.5]}`: true, `{"type":"boolean","const":true}`: true, `{"type":"number","maximum":1e999}`: false, `{"type":"object","properties":{},"additionalProperties":false}`: false,
		deep: false,
	} {
		if got := func() bool { v, err := ordered.Parse([]byte(whole(property))); return err == nil && isStrict(v) }(); got != want {
			t.Errorf("%s: strict is %v", property, got)
		}
	}
}

// TestHostile sees that whatever is translated is JSON, is a schema of the
// 2020-12 draft and is not taken for something else the second time.
func TestHostile(t *testing.T) {
	raw, err := os.ReadFile("../../gemini/dialect/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	translated := 0
	for _, c := range corpus {
		out, strict, err := Translate(c.Schema)
		if err != nil {
			continue
		}
		translated++
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		if err := compiler.AddResource("schema.json", doc); err != nil {
			t.Fatal(err)
		}
		if _, err := compiler.Compile("schema.json"); err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, out)
		}
		again, strictAgain, err := Translate(out)
		if err != nil || string(again) != string(out) || strict != strictAgain {
			t.Errorf("%s: the second time %v\n%s\n%s", c.Name, err, out, again)
		}
	}
	if translated < 75 {
		t.Errorf("only %d of %d schemas are translated", translated, len(corpus))
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/$defs/a","allOf":[{"$ref":"#"}],"$defs":{"a":{"items":[{}],"anyOf":[true,{"$ref":"#a"}],"$anchor":"a"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, _, err := Translate(raw)
		if err == nil && !json.Valid(out) {
			t.Errorf("%s", out)
		}
	})
}

// TestPortable has patterns that Go compiles: those that Python's re does too, with the
// same meaning, and others.
func TestPortable(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^[a-z0-9._%+-]+@\w+\.\d{2,}$`: true, `(?:a|b)*?`: true, `(?P<year>\d{4})`: true, `\\p`: true, `\\\\(?:x)`: true, `a\(?b`: true, `\x41\t\n\-\/`: true, ``: true,
		`\p{L}`: false, `[^\pN]`: false, `\P{Lu}`: false, `(?<year>\d)`: false, `a(?i)b`: false, `(?i:a)`: false, `\Qa\E`: false, `a\z`: false, `\x{41}`: false,
		`[^\0]`: false, `\012`: false, `\C`: false, `(?=a)`: false, `(?!a)`: false, `\u0041`: false, `(`: false, `a++`: false, `\\\p{L}`: false,
	} {
		if portable(pattern) != want {
			t.Errorf("%s: portable is %v", pattern, !want)
		}
	}
}
