package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// TestPlainSchemasCompile holds the quick check against the validator: what the
// first takes, the second must take.
func TestPlainSchemasCompile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for range 3000 {
		text := randomSchema(r, 3)
		doc, problems := strictyaml.Parse("f", []byte(text))
		if doc == nil {
			t.Fatal(problems, text)
		}
		if !plain(doc.Root) || doc.Root.Kind != strictyaml.Mapping {
			continue
		}
		seen++
		var found findings
		Schema{Node: doc.Root, JSON: json.RawMessage(text)}.compile(&found)
		if len(found) > 0 {
			t.Fatalf("%s: %v", text, found)
		}
	}
	if seen < 300 {
		t.Errorf("only %d of the schemas were plain", seen)
	}
}

func randomSchema(r *rand.Rand, depth int) string {
	values := []string{
		`"string"`, `"integer"`, `"text"`, `["string","null"]`, `[]`, `["a","a"]`, `["a","b"]`, `1`, `0`, `-1`, `1.5`, `1e999999999`, `true`, `false`, `null`, `{}`, `"^a+$"`, `"("`, `"(?=x)"`, `"\\p{Greek}"`,
	}
	value := func() string { return values[r.IntN(len(values))] }
	keywords := []string{
		"title", "description", "format", "$comment", "pattern", "type", "default", "const", "enum", "examples", "minimum", "exclusiveMaximum", "minLength", "maxItems",
		"uniqueItems", "deprecated", "items", "additionalProperties", "properties", "required", "anyOf", "unknown",
	}
	fitting := map[string]string{"type": `"array"`, "pattern": `"^[a-z]{1,3}$"`, "required": `["x"]`, "minimum": "-3.5e2", "minLength": "3", "enum": `[1,null]`, "title": `"t"`, "uniqueItems": "true"}
	var members []string
	for _, i := range r.Perm(len(keywords))[:r.IntN(4)] {
		key := keywords[i]
		v := value()
		switch {
		case depth > 0 && (key == "items" || key == "additionalProperties") && r.IntN(4) > 0:
			v = randomSchema(r, depth-1)
		case depth > 0 && key == "properties" && r.IntN(4) > 0:
			v = fmt.Sprintf(`{"x":%s,"y":%s}`, randomSchema(r, depth-1), randomSchema(r, depth-1))
		case fitting[key] != "" && r.IntN(3) > 0:
			v = fitting[key]
		}
		members = append(members, fmt.Sprintf("%q:%s", key, v))
	}
	return "{" + strings.Join(members, ",") + "}"
}
