package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// note is a description of constraints that could not be expressed.
func noted(constraints string) string {
	text, _ := json.Marshal("Further constraints (JSON Schema): " + constraints)
	return `"description":` + string(text)
}

// object is a schema with one optional property.
func object(property string) string {
	return `{"properties":{"a":` + property + `},"type":"object"}`
}

var schemaCases = []struct {
	name, in, out string
	valid         []string // arguments that the tool takes
}{
	{"what the service takes", `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","type":"object","properties":{"a":{"type":"string","description":"d","enum":["x","y"],"format":"date-time"},"b":{"type":["integer","null"],"minimum":1,"maximum":12345678901234567890},"c":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3}},"required":["a"],"additionalProperties":false}`,
		`{"additionalProperties":false,"properties":{"a":{"description":"d","enum":["x","y"],"format":"date-time","type":"string"},"b":{"maximum":12345678901234567890,"minimum":1,"type":["integer","null"]},"c":{"items":{"type":"number"},"maxItems":3,"minItems":1,"type":"array"}},"required":["a"],"title":"T","type":"object"}`,
		[]string{`{"a":"x","b":null,"c":[1.5]}`}},
	{"no type", `{}`, `{"type":"object"}`, []string{`{}`, `{"x":1}`}},
	{"an object or null", `{"type":["object","null"]}`, `{"type":"object"}`, []string{`{}`}},
	{"patterns and lengths", object(`{"type":"string","pattern":"^[0-9a-f]{7,40}$","minLength":7,"description":"Commit id"}`),
		object(`{"description":"Commit id\nFurther constraints (JSON Schema): {\"minLength\":7,\"pattern\":\"^[0-9a-f]{7,40}$\"}","type":"string"}`), []string{`{"a":"0123456789"}`}},
	{"defaults", object(`{"type":"boolean","default":false}`), object(`{` + noted(`{"default":false}`) + `,"type":"boolean"}`), []string{`{"a":true}`}},
	{"constants", object(`{"const":"x"}`), object(`{"enum":["x"],"type":"string"}`), []string{`{"a":"x"}`}},
	{"a number as constant", object(`{"const":5,"type":"integer"}`), object(`{"enum":[5],"type":"integer"}`), []string{`{"a":5}`}},
	{"a boolean as constant", object(`{"const":true}`), object(`{` + noted(`{"const":true}`) + `,"type":"boolean"}`), []string{`{"a":true}`}},
	{"null among values", object(`{"enum":["x",null]}`), object(`{"enum":["x"],"type":["null","string"]}`), nil},
	{"objects among values", object(`{"enum":[{"k":1},2]}`), object(`{` + noted(`{"enum":[{"k":1},2]}`) + `,"type":["number","object"]}`), []string{`{"a":{"k":1}}`}},
	{"exclusive bounds", object(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":10}`), object(`{` + noted(`{"exclusiveMaximum":10,"exclusiveMinimum":0}`) + `,"maximum":10,"minimum":0,"type":"number"}`), []string{`{"a":0.5}`}},
	{"two bounds", object(`{"minimum":3,"exclusiveMinimum":1,"maximum":3,"exclusiveMaximum":5}`), object(`{` + noted(`{"exclusiveMaximum":5,"exclusiveMinimum":1}`) + `,"maximum":3,"minimum":3}`), []string{`{"a":3}`}},
	{"tuples", object(`{"type":"array","prefixItems":[{"type":"string"},true],"items":false}`), object(`{"maxItems":2,"prefixItems":[{"type":"string"},{}],"type":"array"}`), []string{`{"a":["x",1]}`}},
	{"tuples until 2019", object(`{"items":[{"type":"string"}],"additionalItems":false}`), object(`{` + noted(`{"additionalItems":false}`) + `,"prefixItems":[{"type":"string"}],"type":"array"}`), nil},
	{"alternatives", object(`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"},false]}`), object(`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`), []string{`{"a":null}`}},
	{"one alternative and null", object(`{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}],"default":null,"title":"A"}`), object(`{` + noted(`{"default":null}`) + `,"items":{"type":"string"},"title":"A","type":["array","null"]}`), []string{`{"a":null}`, `{"a":["x"]}`}},
	{"one alternative that contradicts", object(`{"items":{"type":"integer"},"anyOf":[{"items":{"type":"string"}},{"type":"null"}]}`), object(`{"anyOf":[{"items":{"type":"string"},"type":"array"},{"type":"null"}],` + noted(`{"items":{"type":"integer"}}`) + `}`), []string{`{"a":null}`}},
	{"exactly one", object(`{"oneOf":[{"type":"string"},{"type":"integer"}]}`), object(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), []string{`{"a":"x"}`}},
	{"both kinds of alternatives", object(`{"anyOf":[{"type":"string"}],"oneOf":[{"maxLength":3},{"minLength":7}]}`),
		object(`{` + noted(`{"oneOf":[{"maxLength":3},{"minLength":7}]}`) + `,"type":"string"}`), []string{`{"a":"xyz"}`}},
	{"alternatives at the top", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}],"additionalProperties":true}`,
		`{` + noted(`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"},{"properties":{"b":{}},"type":"object"}]}`) + `,"properties":{"a":{"type":"string"},"b":{}},"type":"object"}`, []string{`{"a":"x"}`, `{"b":1}`}},
	{"alternatives at the top with a kind", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}}},{"type":"object","properties":{"kind":{"const":"b"},"x":{"type":"integer"}}},{"type":"object","properties":{"kind":{"const":"c"},"x":{"type":"boolean"}}}]}`,
		`{` + noted(`{"anyOf":[{"properties":{"kind":{"enum":["a"],"type":"string"},"x":{"type":"string"}},"type":"object"},{"properties":{"kind":{"enum":["b"],"type":"string"},"x":{"type":"integer"}},"type":"object"},{"properties":{"kind":{"enum":["c"],"type":"string"},"x":{"type":"boolean"}},"type":"object"}]}`) +
			`,"properties":{"kind":{"enum":["a","b","c"],"type":"string"},"x":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"boolean"}]}},"type":"object"}`, []string{`{"kind":"b","x":2}`, `{"kind":"c","x":true}`}},
	{"all of several", object(`{"allOf":[{"type":["object","null"],"properties":{"x":{"type":"string","maxLength":9}},"required":["x"],"additionalProperties":false},{"type":"object","properties":{"x":{"pattern":"^a"},"y":{"minimum":2}},"required":["y","x"]}]}`),
		object(`{"additionalProperties":true,"properties":{"x":{` + noted(`{"maxLength":9,"pattern":"^a"}`) + `,"type":"string"},"y":{"minimum":2}},"required":["x","y"],"type":"object"}`), nil},
	{"numbers that are integers", object(`{"allOf":[{"type":"number","minimum":1},{"type":"integer","minimum":3,"maximum":7},{"maximum":5}]}`), object(`{"maximum":5,"minimum":3,"type":"integer"}`), []string{`{"a":4}`}},
	{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#/definitions/z%20z","description":"mine"}},"$defs":{"x/y":{"type":"string"}},"definitions":{"z z":{"$ref":"#/$defs/x~1y"}}}`,
		`{"properties":{"a":{"type":"string"},"b":{"description":"mine","type":"string"}},"type":"object"}`, []string{`{"a":"x","b":"y"}`}},
	{"a reference into a list", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]},"b":{"$ref":"#/properties/a/anyOf/0"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, []string{`{"b":"x"}`}},
	{"a circle", `{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"n":{"type":"integer"}},"required":["n"]}}}`,
		`{"properties":{"tree":{"properties":{"left":{` + noted(`{"$ref":"#/$defs/node"}`) + `,"type":"object"},"n":{"type":"integer"}},"required":["n"],"type":"object"}},"type":"object"}`, []string{`{"tree":{"n":1,"left":{"n":2,"left":{"n":3}}}}`}},
	{"a circle through the top", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, object(`{` + noted(`{"$ref":"#"}`) + `,"type":"object"}`), []string{`{"a":{"a":{}}}`}},
	{"a circle of references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`, object(`{` + noted(`{"$ref":"#/$defs/x"}`) + `}`), nil},
	{"not, if and their like", object(`{"type":"object","not":{"required":["x"]},"if":{},"then":{"minProperties":1},"dependentRequired":{"x":["y"]}}`),
		object(`{` + noted(`{"dependentRequired":{"x":["y"]},"if":{},"not":{"required":["x"]},"then":{"minProperties":1}}`) + `,"type":"object"}`), []string{`{"a":{"z":1}}`}},
	{"patterns of names", object(`{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`),
		object(`{` + noted(`{"additionalProperties":false,"patternProperties":{"^x":{"type":"string"}}}`) + `,"type":"object"}`), []string{`{"a":{"xy":"z"}}`}},
	{"other properties with a schema", object(`{"type":"object","additionalProperties":{"type":"string","pattern":"^a"}}`), object(`{"additionalProperties":{` + noted(`{"pattern":"^a"}`) + `,"type":"string"},"type":"object"}`), []string{`{"a":{"z":"a"}}`}},
	{"boolean schemas", `{"type":"object","properties":{"a":true,"b":false}}`, `{` + noted(`{"not":{"required":["b"]}}`) + `,"properties":{"a":{}},"type":"object"}`, []string{`{"a":[]}`}},
	{"a requirement of what is not described", `{"type":"object","properties":{"a":{}},"required":["a","z"]}`, `{` + noted(`{"required":["a","z"]}`) + `,"properties":{"a":{}},"required":["a"],"type":"object"}`, []string{`{"a":1,"z":2}`}},
	{"nullable", object(`{"type":"string","nullable":true}`), object(`{"type":["string","null"]}`), []string{`{"a":"x"}`}},
	{"words that mean nothing", object(`{"type":"string","x-order":1,"readOnly":true,"deprecated":true,"$comment":"c"}`), object(`{"type":"string"}`), []string{`{"a":"x"}`}},
	{"a property called like a keyword", `{"type":"object","properties":{"$ref":{"type":"string"},"not":{"type":"string"}},"required":["not"]}`, `{"properties":{"$ref":{"type":"string"},"not":{"type":"string"}},"required":["not"],"type":"object"}`, []string{`{"not":"x"}`}},
	{"anchors and ids", `{"$id":"https://x.example/s","type":"object","properties":{"a":{"$ref":"#an"},"b":{"$ref":"https://x.example/s#/$defs/y"},"c":{"$dynamicRef":"#dyn"},"d":{"$ref":"item"},"e":{"$ref":"https://x.example/s"}},"$defs":{"x":{"$anchor":"an","type":"string"},"y":{"type":"integer"},"z":{"$dynamicAnchor":"dyn","type":"boolean"},"i":{"$id":"item","type":"null"}}}`,
		`{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},"d":{"type":"null"},"e":{` + noted(`{"$ref":"#"}`) + `,"type":"object"}},"type":"object"}`, nil},
	{"nullable references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","nullable":true},"b":{"allOf":[{"$ref":"#/$defs/x"}],"nullable":true}},"$defs":{"x":{"type":"string"}}}`,
		`{"properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]}},"type":"object"}`, nil},
	{"formats", `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"integer","format":"int64"},"c":{"type":"string","format":"int64"},"d":{"format":"date-time"}}}`,
		`{"properties":{"a":{` + noted(`{"format":"uri"}`) + `,"type":"string"},"b":{"format":"int64","type":"integer"},"c":{` + noted(`{"format":"int64"}`) + `,"type":"string"},"d":{"format":"date-time"}},"type":"object"}`, []string{`{"a":"https://x.example","b":1}`}},
	{"keywords of other types", object(`{"type":"string","properties":{"x":{}},"required":["x"],"items":{},"minItems":1,"minimum":1}`), object(`{"type":"string"}`), []string{`{"a":"x"}`}},
	{"lists of anything", object(`{"type":"array"}`), object(`{"items":{},"type":"array"}`), []string{`{"a":[1,"x"]}`}},
	{"objects and lists without a type", `{"type":"object","properties":{"a":{"properties":{"x":{}}},"b":{"items":{}},"c":{"properties":{},"items":{}}}}`,
		`{"properties":{"a":{"properties":{"x":{}},"type":"object"},"b":{"items":{},"type":"array"},"c":{"items":{},"properties":{},"type":["array","object"]}},"type":"object"}`, []string{`{"a":{"x":1},"b":[1]}`}},
	{"values that are no good", `{"type":"object","properties":{"a":{"enum":["","x"]},"b":{"enum":["x",1]},"c":{"type":"string","enum":[1,2]},"d":{"enum":["x","x"]},"e":{"type":"integer","enum":[1,2]},"f":{"enum":[1e400]}}}`,
		`{"properties":{"a":{` + noted(`{"enum":["","x"]}`) + `,"type":"string"},"b":{` + noted(`{"enum":["x",1]}`) + `,"type":["number","string"]},"c":{` + noted(`{"enum":[1,2]}`) + `,"type":"string"},"d":{"enum":["x"],"type":"string"},"e":{"enum":[1,2],"type":"integer"},"f":{` + noted(`{"enum":[1e400]}`) + `,"type":"number"}},"type":"object"}`, []string{`{"a":"","b":1,"d":"x","e":2}`}},
	{"bounds that are no good", `{"type":"object","properties":{"a":{"type":"number","maximum":1e400,"minimum":-1e308},"b":{"type":"array","maxItems":1e3,"minItems":2.0},"c":{"type":"array","maxItems":9007199254740991}}}`,
		`{"properties":{"a":{` + noted(`{"maximum":1e400}`) + `,"minimum":-1e308,"type":"number"},"b":{"items":{},"maxItems":1000,"minItems":2,"type":"array"},"c":{` + noted(`{"maxItems":9007199254740991}`) + `,"items":{},"type":"array"}},"type":"object"}`, []string{`{"a":1,"b":[1,2]}`}},
	{"names that are none", `{"type":"object","properties":{"":{"type":"string"},"$x.y-ü z":{"type":"string"}},"required":["","$x.y-ü z"]}`,
		`{` + noted(`{"properties":{"":{"type":"string"}},"required":["","$x.y-ü z"]}`) + `,"properties":{"$x.y-ü z":{"type":"string"}},"required":["$x.y-ü z"],"type":"object"}`, nil},
	{"invisible text", object(`{"type":"string","title":"a\u0000b\u001b[0m","description":"x\u200by\n\u202ez\udb40\udc41"}`), object(`{"description":"xy\nz","title":"ab[0m","type":"string"}`), nil},
	{"invisible constraints", object(`{"type":"string","pattern":"a\u007f\u200b\udb40\udc41ü"}`), object(`{` + noted(`{"pattern":"a\u007f\u200b\udb40\udc41ü"}`) + `,"type":"string"}`), nil},
	{"constraints that are too long", object(`{"type":"string","pattern":"` + strings.Repeat("x", 2000) + `"}`), object(`{"type":"string"}`), nil},
}

func TestSchema(t *testing.T) {
	for _, c := range schemaCases {
		t.Run(c.name, func(t *testing.T) {
			out, err := Translate([]byte(c.in))
			if err != nil || string(out) != c.out {
				t.Fatalf("%v\n got %s\nwant %s", err, out, c.out)
			}
			if err := accepted(out); err != nil {
				t.Errorf("the service refuses it: %v", err)
			}
			for _, arguments := range c.valid {
				for name, schema := range map[string]string{"the tool": c.in, "the service": string(out)} {
					if err := validate(schema, arguments); err != nil {
						t.Errorf("%s does not take %s: %v", name, arguments, err)
					}
				}
			}
		})
	}
}

func TestSchemasThatCannotBe(t *testing.T) {
	bomb := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d13"}},"$defs":{"d0":{"type":"string"}`
	for i := 1; i <= 13; i++ {
		bomb += fmt.Sprintf(`,"d%d":{"type":"array","prefixItems":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	cases := []struct{ in, says string }{
		{`{"type":"object"`, "not JSON"},
		{`true`, ""},
		{`false`, "nothing can match it"},
		{`[]`, "array is not a schema"},
		{`{"type":"string"}`, "type must be object, not string"},
		{object(`{"type":"float"}`), "properties: a: type: no type is called float"},
		{object(`{"type":[]}`), "no type at all"},
		{object(`{"$ref":"other.json"}`), `"other.json" leads out of the schema`},
		{object(`{"$ref":"#/$defs/nowhere"}`), `"#/$defs/nowhere" leads nowhere`},
		{object(`{"$ref":"#anchor"}`), `"#anchor" leads nowhere`},
		{object(`{"$ref":"#/%zz"}`), "invalid URL escape"},
		{object(`{"type":"array","maxItems":1.5}`), "1.5 is no number of items"},
		{object(`{"$ref":1}`), "number where text belongs"},
		{object(`{"enum":[]}`), "array where a list of values belongs"},
		{object(`{"minimum":"1"}`), "string where a number belongs"},
		{object(`{"description":1}`), "number where text belongs"},
		{object(`{"anyOf":[]}`), "list of schemas"},
		{object(`{"anyOf":[false]}`), ""},
		{`{"properties":{"a":false},"required":["a"]}`, "required, but nothing can match it"},
		{`{"properties":[]}`, "array where an object belongs"},
		{`{"required":"a"}`, "string where a list belongs"},
		{object(`{"allOf":[{"type":"string"},{"type":"integer"}]}`), "nothing is both string and integer"},
		{object(`{"allOf":{}}`), "object where a list of schemas belongs"},
		{object(strings.Repeat(`{"items":`, 60) + `{}` + strings.Repeat(`}`, 60)), "nested deeper than 50"},
		{bomb + `}}`, "larger than 5000 parts"},
	}
	for _, c := range cases {
		t.Run(c.in[:min(len(c.in), 40)], func(t *testing.T) {
			out, err := Translate([]byte(c.in))
			switch {
			case c.says == "" && err == nil:
				if err := accepted(out); err != nil {
					t.Error(err)
				}
			case c.says == "":
				t.Error(err)
			case err == nil || !strings.Contains(err.Error(), c.says):
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// accepted is what the service says of a schema.
func accepted(schema json.RawMessage) error {
	var decoded any
	if err := json.Unmarshal(schema, &decoded); err != nil {
		return err
	}
	body := fmt.Sprintf(`{"name":"f","parametersJsonSchema":%s}`, schema)
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	tool := &genai.FunctionDeclaration{}
	if err := d.Decode(tool); err != nil {
		return err
	}
	return geminitest.CheckTools([]*genai.FunctionDeclaration{tool})
}

func validate(schema, arguments string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("mem:///s")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// FuzzSchema looks for schemas that end the translation badly, or whose
// translation the service would refuse.
func FuzzSchema(f *testing.F) {
	for _, c := range schemaCases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Translate(in)
		if err != nil {
			return
		}
		if err := accepted(out); err != nil {
			t.Errorf("%s\n%s\n%v", in, out, err)
		}
		out, err = Output(in)
		if err == nil {
			err = geminitest.CheckOutput(out)
		}
		if err != nil {
			t.Errorf("%s\n%s\n%v", in, out, err)
		}
	})
}
