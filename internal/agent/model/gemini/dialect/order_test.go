package dialect

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

func TestOutput(t *testing.T) {
	for name, tt := range map[string]struct{ in, out string }{
		"everywhere": {`{"type":"object","properties":{"z":{"type":"array","items":{"type":"object","properties":{"b":{},"a":{}}}},"a":{"anyOf":[{"type":"object","properties":{"y":{},"x":{}}},{"type":"null"}]}},"additionalProperties":{"properties":{"d":{},"c":{}}}}`,
			`{"additionalProperties":{"properties":{"c":{},"d":{}},"propertyOrdering":["d","c"],"type":"object"},"properties":{"a":{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":["object","null"]},` +
				`"z":{"items":{"properties":{"a":{},"b":{}},"propertyOrdering":["b","a"],"type":"object"},"type":"array"}},"propertyOrdering":["z","a"],"type":"object"}`},
		"properties called so": {`{"type":"object","properties":{"properties":{"type":"object","properties":{"items":{},"anyOf":{}}},"items":{}}}`,
			`{"properties":{"items":{},"properties":{"properties":{"anyOf":{},"items":{}},"propertyOrdering":["items","anyOf"],"type":"object"}},"propertyOrdering":["properties","items"],"type":"object"}`},
		"one that cannot be": {`{"type":"object","properties":{"b":{},"n":false,"a":{}}}`, `{"description":"Further constraints (JSON Schema): {\"not\":{\"required\":[\"n\"]}}","properties":{"a":{},"b":{}},"propertyOrdering":["b","a"],"type":"object"}`},
		"of several places":  {`{"type":"object","properties":{"b":{}},"allOf":[{"properties":{"a":{}}}]}`, `{"additionalProperties":true,"properties":{"a":{},"b":{}},"propertyOrdering":["b","a"],"type":"object"}`},
		"by reference (pydantic)": {`{"$defs":{"Step":{"type":"object","properties":{"why":{"type":"string"},"answer":{"$ref":"#/$defs/Answer"}}},"Answer":{"type":"object","properties":{"y":{},"x":{}}}},"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/Step"}},"best":{"anyOf":[{"$ref":"#/$defs/Step"},{"type":"null"}]},"all":{"allOf":[{"$ref":"#/$defs/Answer"}]}}}`,
			`{"properties":{"all":{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":"object"},` +
				`"best":{"properties":{"answer":{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":"object"},"why":{"type":"string"}},"propertyOrdering":["why","answer"],"type":["object","null"]},` +
				`"steps":{"items":{"properties":{"answer":{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":"object"},"why":{"type":"string"}},"propertyOrdering":["why","answer"],"type":"object"},"type":"array"}},` +
				`"propertyOrdering":["steps","best","all"],"type":"object"}`},
		"by reference to itself": {`{"type":"object","properties":{"b":{"$ref":"#"},"a":{}}}`, `{"properties":{"a":{},"b":{"description":"Further constraints (JSON Schema): {\"$ref\":\"#\"}","type":"object"}},"propertyOrdering":["b","a"],"type":"object"}`},
		"by an anchor":           {`{"type":"object","properties":{"s":{"$ref":"#step"}},"$defs":{"x":{"$anchor":"step","type":"object","properties":{"b":{},"a":{}}}}}`, `{"properties":{"s":{"properties":{"a":{},"b":{}},"propertyOrdering":["b","a"],"type":"object"}},"propertyOrdering":["s"],"type":"object"}`},
		"alternatives that are no": {`{"type":"object","properties":{"a":{"anyOf":[false,{"properties":{"y":{},"x":{}}},{"properties":{"x":{},"y":{}}}]}}}`,
			`{"properties":{"a":{"anyOf":[{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":"object"},{"properties":{"x":{},"y":{}},"propertyOrdering":["x","y"],"type":"object"}]}},"propertyOrdering":["a"],"type":"object"}`},
		"alternatives at the top": {`{"type":"object","properties":{"z":{}},"oneOf":[{"properties":{"y":{},"b":{}}},{"properties":{"y":{},"a":{}}}]}`,
			`{"description":"Further constraints (JSON Schema): {\"anyOf\":[{\"properties\":{\"b\":{},\"y\":{}},\"type\":\"object\"},{\"properties\":{\"a\":{},\"y\":{}},\"type\":\"object\"}]}","properties":{"a":{},"b":{},"y":{},"z":{}},"propertyOrdering":["z","y","b","a"],"type":"object"}`},
		"of what is told in words": {`{"type":"object","properties":{"a":{"allOf":[{"items":{"properties":{"y":{},"x":{}}}},{"items":{"properties":{"z":{},"w":{}}}}]}}}`,
			`{"properties":{"a":{"description":"Further constraints (JSON Schema): {\"items\":{\"properties\":{\"w\":{},\"z\":{}},\"type\":\"object\"}}","items":{"properties":{"x":{},"y":{}},"propertyOrdering":["y","x"],"type":"object"},"type":"array"}},"propertyOrdering":["a"],"type":"object"}`},
		"no properties": {`{"type":"object","properties":{}}`, `{"properties":{},"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Output([]byte(tt.in))
			if err != nil || string(out) != tt.out {
				t.Errorf("%v\n got %s\nwant %s", err, out, tt.out)
			}
			if err := geminitest.CheckOutput(out); err != nil {
				t.Errorf("the service refuses it: %v", err)
			}
		})
	}
	if _, err := Output([]byte(`{"type":"object"`)); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("error %v", err)
	}
}
