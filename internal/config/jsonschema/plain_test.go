package jsonschema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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
		c, err := newChecker(json.RawMessage(text), &Options{})
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
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
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
		c, err := newChecker(json.RawMessage(schema), &Options{})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if c.plain != nil {
			t.Errorf("%s counts as plain", schema)
		}
	}
}
