package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/dialect"
)

// compile reads a schema by the 2020-12 draft, whose meta-schema it must match.
func compile(t *testing.T, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:///s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///s.json")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

func matches(t *testing.T, s *jsonschema.Schema, value string) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

// noted is a description of constraints that have no place.
func noted(constraints string) string {
	text, _ := json.Marshal("Further constraints (JSON Schema): " + constraints)
	return `"description":` + string(text)
}

func prop(property string) string { return `{"type":"object","properties":{"a":` + property + `}}` }

func TestTranslate(t *testing.T) {
	cases := []struct {
		name, in, out string
		valid         []string // arguments that the tool takes
	}{
		{"nothing", `{}`, `{"type":"object"}`, []string{`{}`, `{"x":1}`}},
		{"true", `true`, `{"type":"object"}`, []string{`{}`}},
		{"an object or null", `{"type":["object","null"]}`, `{"type":"object"}`, []string{`{}`}},
		{"order, numbers and constraints stay", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"z":{"type":"string","pattern":"^x","minLength":1},"a":{"type":"integer","maximum":18446744073709551615,"default":1.10}},"required":["z"],"additionalProperties":false}`,
			`{"type":"object","properties":{"z":{"type":"string","pattern":"^x","minLength":1},"a":{"type":"integer","maximum":18446744073709551615,"default":1.10}},"required":["z"],"additionalProperties":false}`,
			[]string{`{"z":"x","a":7}`}},
		{"references stay", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/A"}}}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/A"}}}}}`,
			[]string{`{"a":{"b":{"b":{}}}}`}},
		{"references by name become pointers", `{"$id":"https://example.com/r","type":"object","properties":{"a":{"$ref":"#here"},"b":{"$ref":"https://example.com/r"}},"$defs":{"x/y":{"$anchor":"here","type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#"}},"$defs":{"x/y":{"type":"integer"}}}`, []string{`{"a":1,"b":{"a":2}}`}},
		{"a reference at the top", `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}`,
			`{"definitions":{"Args":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}},"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`,
			[]string{`{"path":"x"}`}},
		{"all of several at the top", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true},{"properties":{"b":{},"a":{"minLength":2}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":2}]},"b":{}},"required":["a","b"]}`, []string{`{"a":"xy","b":1}`}},
		{"alternatives at the top", `{"type":"object","properties":{"n":{"type":"integer"}},"oneOf":[{"properties":{"id":{"type":"string"},"k":{"const":"x"}},"required":["id"]},{"properties":{"k":{"const":"y"}}},false],"additionalProperties":false}`,
			`{"type":"object","properties":{"n":{"type":"integer"},"id":{"type":"string"},"k":{"anyOf":[{"const":"x"},{"const":"y"}]}},` +
				noted(`{"oneOf":[{"properties":{"id":{"type":"string"},"k":{"const":"x"}},"required":["id"]},{"properties":{"k":{"const":"y"}}},false]}`) + `}`, nil},
		{"alternatives within stay", prop(`{"oneOf":[{"type":"string"},{"type":"null"}]}`), prop(`{"oneOf":[{"type":"string"},{"type":"null"}]}`), []string{`{"a":null}`}},
		{"names that are refused", `{"type":"object","properties":{"$filter":{"type":"string"},"ok":{}},"required":["$filter"],"additionalProperties":false}`,
			`{"type":"object","properties":{"ok":{}},"required":["$filter"],` + noted(`{"properties":{"$filter":{"type":"string"}}}`) + `}`, []string{`{"$filter":"x"}`}},
		{"tuples of older drafts", prop(`{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"boolean"}}`),
			prop(`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"boolean"}}`), []string{`{"a":["x",true]}`}},
		{"bounds of draft 4", prop(`{"type":"number","minimum":0,"exclusiveMinimum":true}`), prop(`{"type":"number","minimum":0,` + noted(`{"exclusiveMinimum":true}`) + `}`), []string{`{"a":1}`}},
		{"nullable", prop(`{"type":"string","nullable":true}`), prop(`{"type":["string","null"]}`), []string{`{"a":null}`}},
		{"types in capitals", `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`, prop(`{"type":"string"}`), nil},
		{"a type that there is not", prop(`{"type":"dict"}`), prop(`{` + noted(`{"type":"dict"}`) + `}`), nil},
		{"bounds that are none", prop(`{"type":"array","minItems":-1,"maxItems":2.0}`), prop(`{"type":"array","maxItems":2,` + noted(`{"minItems":-1}`) + `}`), []string{`{"a":[1]}`}},
		{"an enum with the same twice", prop(`{"enum":["a","a",1]}`), prop(`{"enum":["a",1]}`), []string{`{"a":1}`}},
		{"a constant that is null", prop(`{"const":null}`), prop(`{"const":null}`), []string{`{"a":null}`}},
		{"what cannot be seen", prop("{\"type\":\"string\",\"description\":\"a\u200b\u202eb\"}"), prop(`{"type":"string","description":"ab"}`), nil},
		{"words that say nothing", prop(`{"type":"string","x-ui":1,"example":"x","$comment":"c","title":7}`), prop(`{"type":"string"}`), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := dialect.Translate([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.out {
				t.Errorf("got  %s\nwant %s", got, c.out)
			}
			if err := anthropictest.CheckInput(got); err != nil {
				t.Errorf("refused%v", err)
			}
			for _, v := range c.valid {
				if !matches(t, compile(t, got), v) {
					t.Errorf("forbids %s", v)
				}
			}
		})
	}
}

func TestTranslateRefuses(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	for in, says := range map[string]string{
		`null`: "null is not a schema", `false`: "nothing can match it", `"x"`: "string is not a schema", `{"type":"string"}`: "type must be object",
		`{`: "not JSON", `{"properties":[]}`: "array where an object belongs", prop(`null`): "null is not a schema", prop(`{"anyOf":[]}`): "list of schemas",
		prop(`{"$ref":"https://example.com/x"}`): "leads out of the schema", prop(`{"$ref":"#/$defs/x"}`): "leads nowhere", prop(`{"$ref":7}`): "number where text belongs",
		`{"$ref":"#"}`: "leads to itself", `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`: "leads to itself", strings.Repeat(" ", 1<<20): "larger than 512 KiB", `{"allOf":[false]}`: "nothing can match it", prop(deep): "nested deeper",
		// What stands where a reference leads is somewhere else afterwards.
		`{"allOf":[{"properties":{"a":{"type":"string"}}}],"properties":{"b":{"$ref":"#/allOf/0/properties/a"}}}`: "leads nowhere",
	} {
		if got, err := dialect.Translate([]byte(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %s, %v, want %q", in, got, err, says)
		}
	}
}

// TestCorpus has schemas as servers have sent them.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("../../gemini/dialect/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name   string
		Schema json.RawMessage
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 100 {
		t.Fatal(len(all), err)
	}
	names := make([]string, 6000)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	all = append(all, struct {
		Name   string
		Schema json.RawMessage
	}{"too many properties", json.RawMessage(`{"properties":{` + strings.Join(names, ",") + `}}`)})
	left := 0
	for _, c := range all {
		got, err := dialect.Translate(c.Schema)
		if err != nil {
			left++
			continue
		}
		if err := anthropictest.CheckInput(got); err != nil {
			t.Errorf("%s: %s is refused%v", c.Name, got, err)
		}
		compile(t, []byte(strings.ReplaceAll(string(got), `"(?<=["`, `"x"`))) // the service does not read patterns
		if out, err := dialect.Output(c.Schema); err == nil {
			if err := anthropictest.CheckOutput(out); err != nil {
				t.Errorf("%s: as an answer %s is refused%v", c.Name, out, err)
			}
		}
	}
	if left > 25 {
		t.Errorf("%d of %d are left out", left, len(all))
	}
}

func closed(property string) string {
	return `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false}`
}

func must(property string) string {
	return `{"type":"object","properties":{"a":` + property + `},"required":["a"]}`
}

func TestOutput(t *testing.T) {
	cases := []struct{ name, in, out string }{
		{"closed, in order", `{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"integer"}},"required":["why"],"additionalProperties":{"type":"string"}}`,
			`{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"integer"}},"required":["why"],"additionalProperties":false}`},
		{"bounds are told", must(`{"type":"integer","minimum":1,"maximum":5}`), closed(`{"type":"integer",` + noted(`{"minimum":1,"maximum":5}`) + `}`)},
		{"formats", must(`{"type":"string","format":"date","description":"d"}`), closed(`{"description":"d","type":"string","format":"date"}`)},
		{"formats that are not known", must(`{"type":"string","format":"color"}`), closed(`{"type":"string",` + noted(`{"format":"color"}`) + `}`)},
		{"lists", must(`{"type":"array","items":{"type":"string"},"minItems":3,"uniqueItems":true}`),
			closed(`{"type":"array","items":{"type":"string"},"minItems":1,` + noted(`{"uniqueItems":true,"minItems":3}`) + `}`)},
		{"references are written out", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"}},"required":["a","b"],"$defs":{"x":{"enum":["p",1,null]}}}`,
			`{"type":"object","properties":{"a":{"enum":["p",1,null]},"b":{"enum":["p",1,null]}},"required":["a","b"],"additionalProperties":false}`},
		{"all of several", must(`{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false},{"properties":{"y":{"type":"null"}}}]}`),
			closed(`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"null"}},"required":["x"],"additionalProperties":false}`)},
		{"alternatives", must(`{"oneOf":[{"type":"string","maxLength":2},{"type":"object","properties":{"x":{"type":"boolean"}}},false]}`),
			closed(`{"anyOf":[{"type":"string",` + noted(`{"maxLength":2}`) + `},{"type":"object","properties":{"x":{"type":"boolean"}},"additionalProperties":false}]}`)},
		{"types", must(`{"type":["string","null"]}`), closed(`{"type":["string","null"]}`)},
		{"an object or null", must(`{"type":["object","null"],"properties":{"x":{"type":"string"}},"required":["x"]}`),
			closed(`{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false},{"type":"null"}]}`)},
		{"what holds for all alternatives", must(`{"type":"string","anyOf":[{"format":"date"},{"pattern":"^now$"}]}`),
			closed(`{"anyOf":[{"type":"string","format":"date"},{"type":"string",` + noted(`{"pattern":"^now$"}`) + `}]}`)},
		{"constants", must(`{"const":"x"}`), closed(`{"const":"x"}`)},
		{"impossible properties are left out", `{"type":"object","properties":{"a":{"type":"string"},"b":false}}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{"nothing at all", `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := dialect.Output([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.out {
				t.Errorf("got  %s\nwant %s", got, c.out)
			}
			if err := anthropictest.CheckOutput(got); err != nil {
				t.Errorf("refused%v", err)
			}
		})
	}
}

func TestOutputRefuses(t *testing.T) {
	many := make([]string, 25)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	unions := strings.ReplaceAll(strings.Join(many[:17], ","), `"string"`, `["string","null"]`)
	for in, says := range map[string]string{
		`{"type":"array","items":{"type":"string"}}`: "must be an object", must(`{}`): "of which type", must(`true`): "of which type",
		must(`{"type":"object"}`): "list its properties", must(`{"type":"object","additionalProperties":{"type":"string"}}`): "list its properties",
		must(`{"$ref":"#"}`): "within itself", must(`{"type":"array"}`): "of which type", must(`{"enum":[{"a":1}]}`): "plain values",
		must(`{"type":"array","prefixItems":[{"type":"string"}]}`): "items of one schema", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`: "required but no property",
		`{"type":"object","properties":{` + strings.Join(many, ",") + `}}`: "optional", `{"type":"object","properties":{` + unions + `}}`: "alternatives",
		must(`{"anyOf":[false]}`): "nothing can match it",
	} {
		if got, err := dialect.Output([]byte(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %s, %v, want %q", in, got, err, says)
		}
	}
}

// FuzzTranslate: whatever comes, the result is one that the service takes.
func FuzzTranslate(f *testing.F) {
	f.Add([]byte(prop(`{"$ref":"#/$defs/x"}`)))
	f.Add([]byte(`{"allOf":[{"$ref":"#/allOf/0"}]}`))
	f.Add([]byte(`{"anyOf":[{"$ref":"#"}],"properties":{"a":{"$ref":"#/properties/a"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := dialect.Translate(raw); err == nil {
			if err := anthropictest.CheckInput(got); err != nil {
				t.Errorf("%s refused%v", got, err)
			}
		}
		if got, err := dialect.Output(raw); err == nil {
			if err := anthropictest.CheckOutput(got); err != nil {
				t.Errorf("%s refused%v", got, err)
			}
		}
	})
}
