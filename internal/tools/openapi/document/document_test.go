package document

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

func parsed(t testing.TB, version, schemas string) *Document {
	t.Helper()
	d, err := Parse([]byte(`{"openapi": "` + version + `", "components": {"schemas": ` + schemas + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestValues(t *testing.T) {
	v := Value(`{ "a\"b" : [ 1 , "x]\"}" , { } , [ ] , null ] , "n":-1.50e3,"t" :true , "a\"b": "last" }`)
	var got []string
	for name, member := range v.Members() {
		got = append(got, name+"="+string(member))
		for item := range member.Items() {
			got = append(got, string(item))
		}
	}
	want := []string{`a"b=[ 1 , "x]\"}" , { } , [ ] , null ]`, "1", `"x]\"}"`, "{ }", "[ ]", "null", "n=-1.50e3", "t=true", `a"b="last"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v.Get(`a"b`).Text() != "last" || v.Get("none") != nil || v.Get("n").Text() != "" || !v.Get("n").IsNumber() || !v.Get("t").IsTrue() {
		t.Error("wrong members")
	}
	for _, none := range []Value{nil, Value("1"), Value(`"x"`), Value("{}"), Value("[]"), Value("[ ]")} {
		for range none.Members() {
			t.Error("has members", none)
		}
		for range none.Items() {
			t.Error("has items", none)
		}
	}
}

func TestYAML(t *testing.T) {
	const text = `
openapi: 3.1.0
z: {b: 1, a: 12345678901234567890.10}
responses: {200: ok, 404: 'no', default: ~}
numbers: [0x1F, 0o17, 1_000, +1, .5, 1e3, -0]
words: [yes, no, on, 2020-01-01, "1", true, False, ~, null, '']
base: &base {x: 1, y: [1, &two 2]}
merged: {<<: *base, y: *two}
q: |
  lines
  of <text> & "quotes"
`
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"openapi":"3.1.0","z":{"b":1,"a":12345678901234567890.10},"responses":{"200":"ok","404":"no","default":null},` +
		`"numbers":[31,15,1000,1,0.5,1e3,-0],"words":["yes","no","on","2020-01-01","1",true,false,null,null,""],` +
		`"base":{"x":1,"y":[1,2]},"merged":{"y":2,"x":1},"q":"lines\nof <text> & \"quotes\"\n"}`
	if got := string(d.Root); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for text, want := range map[string]string{
		"openapi: 3.0.0\nx: .inf":            "JSON has no number .inf",
		"openapi: 3.0.0\n? [a]\n: 1":         "a key must be a text",
		"openapi: 3.0.0\nx: {<<: 1}":         "takes a mapping",
		"openapi: 3.0.0\nx: [":               "neither JSON nor YAML",
		"openapi: 3.0.0\nx: \xff":            "not UTF-8",
		strings.Repeat("#", MaxBytes+1):      "larger than 16 MiB",
		"openapi: 3.0.0\na: 1\nb: 2\na: 3\n": `line 4: the key "a" stands twice`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestResolve(t *testing.T) {
	d := parsed(t, "3.1.0", `{"a/b~c": {"x": [{"deep": 1}, 2]}, "ü %": {}, "$defs": {"y": 3}}`)
	for ref, want := range map[string]string{
		"#/components/schemas/a~1b~0c/x/0/deep": "1", "#/components/schemas/a~1b~0c/x/1": "2", "#/components/schemas/%C3%BC%20%25": "{}",
		"#/components/schemas/$defs/y": "3", "#": string(d.Root), "#/components/schemas/none": "", "#anchor": "", "x.json": "", "#/components/schemas/a~1b~0c/x/2": "",
	} {
		got, err := d.Resolve(ref)
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
}

// Schemas of 3.0 and 3.1 become JSON Schema 2020-12.
func TestConvert(t *testing.T) {
	tests := []struct{ name, version, schema, want string }{
		{"nullable", "3.0.3", `{"type":"string","nullable":true,"enum":["a"]}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"nullable with null among the values", "3.0.3", `{"type":"string","nullable":true,"enum":["a",null]}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"nullable without a type", "3.0.3", `{"nullable":true}`, `{}`},
		{"not nullable", "3.0.3", `{"type":"string","nullable":false}`, `{"type":"string"}`},
		{"type lists", "3.1.0", `{"type":["string","null","string"]}`, `{"type":["string","null"]}`},
		{"exclusive bounds, true", "3.0.3", `{"minimum":1,"exclusiveMinimum":true,"maximum":2.50,"exclusiveMaximum":false}`, `{"exclusiveMinimum":1,"maximum":2.50}`},
		{"exclusive bounds, numbers", "3.1.0", `{"exclusiveMinimum":1,"exclusiveMaximum":9223372036854775807}`, `{"exclusiveMinimum":1,"exclusiveMaximum":9223372036854775807}`},
		{"an exclusive bound of nothing", "3.0.3", `{"exclusiveMinimum":true}`, `{}`},
		{"example", "3.0.3", `{"type":"integer","example":1.0}`, `{"type":"integer","examples":[1.0]}`},
		{"examples", "3.1.0", `{"examples":[1,{"a":2}],"example":3}`, `{"examples":[1,{"a":2}]}`},
		{"examples of 3.0", "3.0.3", `{"examples":{"a":{"value":1}},"example":3}`, `{"examples":[3]}`},
		{"what only OpenAPI has", "3.0.3", `{"type":"object","discriminator":{"propertyName":"a"},"xml":{},"externalDocs":{"url":"x"},"x-a":1,"writeOnly":true}`, `{"type":"object"}`},
		{"answers only", "3.0.3", `{"required":["a","b","b"],"properties":{"a":{"readOnly":true},"b":{"$ref":"#/components/schemas/RO"},"c":{"readOnly":false}}}`, `{"properties":{"c":{}}}`},
		{"a reference in 3.0", "3.0.3", `{"$ref":"#/components/schemas/A","description":"An A","minLength":3,"nullable":true}`, `{"$ref":"#/$defs/A","description":"An A"}`},
		{"a reference in 3.1", "3.1.0", `{"$ref":"#/components/schemas/A","description":"An A","minLength":3}`, `{"$ref":"#/$defs/A","description":"An A","minLength":3}`},
		{"a reference into a schema", "3.1.0", `{"$ref":"#/components/schemas/A/properties/x"}`, `{"$ref":"#/$defs/schemas_A_properties_x"}`},
		{"combinations", "3.1.0", `{"oneOf":[{"type":"null"},true],"if":{"const":1},"then":false,"not":{"enum":[null]}}`, `{"oneOf":[{"type":"null"},true],"if":{"const":1},"then":false,"not":{"enum":[null]}}`},
		{"lists", "3.1.0", `{"prefixItems":[{}],"items":false,"contains":{"type":"number"},"minContains":0}`, `{"prefixItems":[{}],"items":false,"contains":{"type":"number"},"minContains":0}`},
		{"lists of older drafts", "3.0.3", `{"type":"array","items":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"}]}`},
		{"objects", "3.1.0", `{"patternProperties":{"^a":{"type":"string"},"(?!x)":{}},"additionalProperties":{"type":"integer"},"dependentRequired":{"a":["b","b"]}}`,
			`{"patternProperties":{"^a":{"type":"string"}},"additionalProperties":{"type":"integer"},"dependentRequired":{"a":["b"]}}`},
		{"patterns that others take", "3.0.3", `{"pattern":"^(?=a)b$","format":"x"}`, `{"format":"x"}`},
		{"names are not keywords", "3.0.3", `{"properties":{"example":{"type":"string"},"nullable":{"nullable":true,"type":"number"},"$ref":{"type":"object"}}}`,
			`{"properties":{"example":{"type":"string"},"nullable":{"type":["number","null"]},"$ref":{"type":"object"}}}`},
		{"texts", "3.0.3", `{"title":"a\u0000b","description":"x\u202e\u200by\tz\r\n"}`, `{"title":"ab","description":"xy z"}`},
		{"values keep their digits", "3.0.3", `{"default": 1.10, "enum": [ 12345678901234567890 , {"b":1, "a":2} ]}`, `{"enum":[12345678901234567890,{"b":1,"a":2}],"default":1.10}`},
		{"true", "3.1.0", `true`, `true`},
		{"no schema", "3.1.0", `7`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parsed(t, tt.version, `{"A":{"type":"string","properties":{"x":{}}},"RO":{"readOnly":true},"S":`+tt.schema+`}`)
			s := NewSchemas(d)
			v, err := d.Resolve("#/components/schemas/S")
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Convert(v, Note{})
			if err != nil || string(got.text) != tt.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got.text, tt.want)
			}
			whole, err := s.Parameters([]Property{{Name: "x", Schema: got}})
			if err != nil {
				t.Fatal(err)
			}
			if err := jsonschema.New(whole, jsonschema.Arguments("x")).Compile(); err != nil {
				t.Errorf("%v: %s", err, whole)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	d := parsed(t, "3.0.0", `{"A":{}}`)
	for schema, want := range map[string]string{
		`{"description":"its own","type":"string"}`: `{"description":"noted","deprecated":true,"type":"string"}`,
		`{"$ref":"#/components/schemas/A"}`:         `{"description":"noted","deprecated":true,"$ref":"#/$defs/A"}`,
		`true`:                                      `{"description":"noted","deprecated":true}`,
		``:                                          `{"description":"noted","deprecated":true}`,
	} {
		got, err := NewSchemas(d).Convert(Value(schema), Note{Description: " noted\u200b ", Deprecated: true})
		if err != nil || string(got.text) != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got.text, want)
		}
	}
}

// Definitions are those that are needed, once each, under names that are free.
func TestParameters(t *testing.T) {
	d := parsed(t, "3.1.0", `{"A":{"items":{"$ref":"#/components/schemas/B C"}},"B C":{"anyOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B_C"}]},
		"B_C":{"properties":{"a":{"$ref":"#/components/schemas/A"}}},"Unused":{}}`)
	s := NewSchemas(d)
	one, err := s.Convert(Value(`{"$ref":"#/components/schemas/A"}`), Note{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Convert(Value(`{"type":"integer"}`), Note{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Parameters([]Property{{"x", All([]*Schema{one, two}), true}, {`"y"`, two, false}})
	const want = `{"type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/A"},{"type":"integer"}]},"\"y\"":{"type":"integer"}},"required":["x"],"additionalProperties":false,` +
		`"$defs":{"A":{"items":{"$ref":"#/$defs/B_C"}},"B_C":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B_C_2"}]},"B_C_2":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	if got, err := s.Parameters(nil); err != nil || string(got) != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestMembers(t *testing.T) {
	d := parsed(t, "3.0.3", `{"Base":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"id":{"readOnly":true}}},
		"Alias":{"$ref":"#/components/schemas/Base"},"Self":{"allOf":[{"$ref":"#/components/schemas/Self"}],"properties":{"a":{}}}}`)
	for schema, want := range map[string]string{
		`{"$ref":"#/components/schemas/Alias"}`:                                                                 "a!",
		`{"properties":{"x":{},"y":{}},"required":["y"],"additionalProperties":true}`:                           "x y!",
		`{"allOf":[{"$ref":"#/components/schemas/Base"},{"required":["b","id"]}],"properties":{"b":{},"a":{}}}`: "a! b!",
		`{"type":"object"}`: "", `{"type":["object","null"],"properties":{"x":{}}}`: "", `{"type":"object","nullable":true,"properties":{"x":{}}}`: "",
		`{"properties":{"x":{}},"anyOf":[{"required":["x"]}]}`: "", `{"$ref":"#/components/schemas/None"}`: "", `true`: "", ``: "",
		`{"$ref":"#/components/schemas/Self"}`: "", `{"allOf":[{"oneOf":[]}],"properties":{"x":{}}}`: "",
	} {
		members, ok := d.Members(Value(schema))
		var got []string
		for _, m := range members {
			name := m.Name
			if m.Required {
				name += "!"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want || ok != (want != "") {
			t.Errorf("%s: %s %v, want %s", schema, got, ok, want)
		}
	}
}

// FuzzDocument: whatever is a document, its schemas become JSON, or an error says why
// not.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"openapi":"3.0.0","components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}]},"B":{"properties":{"a":{"$ref":"#/components/schemas/B"}}}}}}`))
	f.Add([]byte("openapi: 3.1.0\ncomponents: {schemas: {A: {type: [a, null], items: [1], exclusiveMinimum: true, minimum: 1e999}}}"))
	f.Add([]byte("openapi: 3.1.0\nx: &a [*a]\ncomponents: {schemas: {<<: {A: {enum: [1]}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			return
		}
		if !json.Valid(d.Root) {
			t.Fatalf("%q", d.Root)
		}
		s := NewSchemas(d)
		n := 0
		for _, v := range d.Root.Get("components").Get("schemas").Members() {
			if n++; n > 50 {
				break
			}
			_, _ = d.Members(v)
			made, err := s.Convert(v, Note{Description: "x"})
			if err != nil {
				continue
			}
			whole, err := s.Parameters([]Property{{"x", made, true}})
			if err == nil && !json.Valid(whole) {
				t.Fatalf("%q", whole)
			}
			if err == nil && len(whole) < 2000 && !slices.Contains(whole, '#') {
				if err := jsonschema.New(whole, jsonschema.Arguments("x")).Compile(); err != nil {
					t.Fatalf("%v: %s", err, whole)
				}
			}
		}
	})
}
