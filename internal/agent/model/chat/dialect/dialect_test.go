package dialect

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestHostile: schemas that are left out by other services are left out here with
// the same words, and all others can be declared.
func TestHostile(t *testing.T) {
	text, err := os.ReadFile("../../gemini/dialect/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Name    string          `json:"name"`
		Schema  json.RawMessage `json:"schema"`
		LeftOut string          `json:"left_out"`
	}
	if err := json.Unmarshal(text, &corpus); err != nil || len(corpus) < 60 {
		t.Fatalf("%d schemas, %v", len(corpus), err)
	}
	for _, h := range corpus {
		out, err := Parameters(h.Schema)
		switch {
		case (err != nil) != (h.LeftOut != ""):
			t.Errorf("%s: %v, want it left out: %q", h.Name, err, h.LeftOut)
		case err != nil && !strings.Contains(err.Error(), h.LeftOut) && !strings.Contains(err.Error(), "no type is called"):
			t.Errorf("%s: %v, want %q", h.Name, err, h.LeftOut)
		case err == nil && !json.Valid(out):
			t.Errorf("%s: no JSON: %s", h.Name, out)
		}
	}
}

// TestParameters translates what the common part has not.
func TestParameters(t *testing.T) {
	const further = `Further constraints (JSON Schema): `
	cases := []struct{ name, schema, want string }{
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"the order of members stays", `{"type":"object","properties":{"z":{"type":"string"},"a":{"description":"x","type":"integer"}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","description":"x"}},"required":["z"]}`},
		{"constraints in words", `{"type":"object","properties":{"a":{"type":"string","pattern":"^a","maxLength":3}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"` + further + `{\"pattern\":\"^a\",\"maxLength\":3}"}}}`},
		{"a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"array","items":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`},
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"` + further + `{\"$ref\":\"#\"}"}}}`},
		{"anything", `{"type":"object","properties":{"a":true}}`,
			`{"type":"object","properties":{"a":{"type":["string","number","boolean","object","array","null"],"items":{"type":["string","number","boolean","object","null"]}}}}`},
		{"both of two", `{"allOf":[{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]},{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`},
		{"alternatives at the top", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"description":"` + further +
				`{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},{\"properties\":{\"a\":{\"type\":\"integer\"}}}]}"}`},
		{"a tuple", `{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false}}}`,
			`{"type":"object","properties":{"t":{"type":"array","maxItems":2,"items":{"anyOf":[{"type":"number"},{"type":"string"}]},"description":"` + further +
				`{\"prefixItems\":[{\"type\":\"number\"},{\"type\":\"string\"}]}"}}}`},
		{"bounds that are too large", `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":18446744073709551615}}}`,
			`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"description":"` + further + `{\"maximum\":18446744073709551615}"}}}`},
		{"nullable", `{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`},
		{"hidden characters", `{"type":"object","properties":{"a":{"type":"string","description":"a\u200b\u001b[31m\u202eb"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"a[31mb"}}}`},
	}
	for _, c := range cases {
		for range 5 { // the same each time
			got, err := Parameters([]byte(c.schema))
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, got, c.want)
				break
			}
		}
	}
}

// TestOutput tells which schemas OpenAI takes with strict.
func TestOutput(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                                  true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                               false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                                   false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:                                         false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":false}]}},"required":["a"],"additionalProperties":false}`:         false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","null"]},"minItems":1}},"required":["a"],"additionalProperties":false}`:                   true,
		`{"type":"object","properties":{"type":{"type":"string"},"required":{"type":"integer"}},"required":["type","required"],"additionalProperties":false,"description":"x"}`: true,
	} {
		if _, strict, err := Output([]byte(schema)); err != nil || strict != want {
			t.Errorf("%s: strict %v, %v", schema, strict, err)
		}
	}
}

// TestBounds: what grows without an end is refused, and soon.
func TestBounds(t *testing.T) {
	double := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d16"}},"$defs":{"d0":{"type":"string"}`
	for i := 1; i <= 16; i++ {
		double += `,"d` + itoa(i) + `":{"type":"object","properties":{"l":{"$ref":"#/$defs/d` + itoa(i-1) + `"},"r":{"$ref":"#/$defs/d` + itoa(i-1) + `"}}}`
	}
	for schema, says := range map[string]string{
		double + "}}": "larger than",
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 60) + `{}` + strings.Repeat(`}`, 60) + `}}`: "nested deeper",
		strings.Repeat(`{"not":`, 9000) + `{}` + strings.Repeat(`}`, 9000):                                                             "nested deeper",
		`{"type":"object"} {}`: "not JSON",
		`{"type":`:             "not JSON",
	} {
		if _, err := Parameters([]byte(schema)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v", schema, err)
		}
	}
	many := make([]string, 2000)
	for i := range many {
		many[i] = `"value ` + itoa(i) + `"`
	}
	out, err := Parameters([]byte(`{"type":"object","properties":{"a":{"type":"string","enum":[` + strings.Join(many, ",") + `]}}}`))
	if err != nil || len(out) > 2000 || !strings.Contains(string(out), "enum of 2000 values") {
		t.Errorf("%v %s", err, out)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// FuzzParameters: whatever comes, the end is an error or JSON.
func FuzzParameters(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"enum":[1,"x",null]}]}},"required":["a"]}`))
	f.Add([]byte(`{"allOf":[{"type":["object","null"],"nullable":true},{"additionalProperties":{"items":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		begun := time.Now()
		if out, err := Parameters(raw); err == nil && !json.Valid(out) {
			t.Errorf("%s gives %s", raw, out)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s took %s", raw, took)
		}
	})
}
