package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemasThatAreNone(t *testing.T) {
	there := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(there, []byte(`{"type":"integer"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was fetched", r.URL) }))
	defer site.Close()
	for _, tc := range []struct {
		name, schema, want string
		elsewhere          bool
	}{
		{"nothing", ``, "not JSON: EOF", false},
		{"not JSON", `{`, "not JSON: unexpected EOF", false},
		{"not a schema", `[]`, "the schema: got array, want boolean or object", false},
		{"a type that is none", `{"type":"objekt"}`, "type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'", false},
		{"two places", object(`{"a b":{"minimum":"1"},"c":{"required":[1]}}`), `properties."a b".minimum: got string, want number; properties.c.required[0]: got number, want string`, false},
		{"a pattern that is not RE2", object(`{"c":{"pattern":"(?<=x)"}}`), "properties.c.pattern: '(?<=x)' is not valid regex: error parsing regexp: invalid named capture: `(?<=x)`", false},
		{"a number that the library fails at", object(`{"c":{"multipleOf":1e99999999999}}`), "properties.c.multipleOf: the number 1e99999999999 is out of range", false},
		{"two numbers", `{"enum":[1e999,1],"maximum":-1e-999}`, "enum[0]: the number 1e999 is out of range; maximum: the number -1e-999 is out of range", false},
		{"a place that is not there", `{"$ref":"#/$defs/n"}`, `"#/$defs/n"`, false},
		{"an anchor that is not there", `{"$ref":"#n"}`, `"#n"`, false},
		{"a file", `{"$ref":"file://` + filepath.ToSlash(there) + `"}`, "not to file://", true},
		{"an address", `{"$ref":"` + site.URL + `/schema.json"}`, "not to " + site.URL + "/schema.json", true},
		{"a relative reference", `{"$ref":"other.json#/a"}`, "not to other.json", true},
		{"a draft of its own", `{"$schema":"` + site.URL + `/draft.json"}`, "not to " + site.URL + "/draft.json", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := New(json.RawMessage(tc.schema), Arguments("t"))
			err := s.Compile()
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), outside) || errors.Is(err, ErrElsewhere) != tc.elsewhere {
				t.Fatalf("got %v", err)
			}
			if again := s.Compile(); !errors.Is(again, err) {
				t.Errorf("then %v", again)
			}
			if got, want := s.Check(json.RawMessage(`{}`)), "the arguments cannot be checked, the schema is none: "+err.Error(); got != want {
				t.Errorf("it lets pass: %q", got)
			}
		})
	}
}

// The places are for those who know where each of them stands in a file.
func TestPlaces(t *testing.T) {
	err := New(json.RawMessage(`{"anyOf":[{"minimum":"many"}],"type":["string","text"]}`), Options{}).Compile()
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	want := []Place{
		{[]string{"anyOf", "0", "minimum"}, "got string, want number"},
		{[]string{"type", "1"}, "value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
	}
	if d := cmp.Diff(want, invalid.Places); d != "" {
		t.Error(d)
	}
}

func TestRead(t *testing.T) {
	s := New(json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`), Options{})
	value, problem := s.Read(json.RawMessage(` {"n": 12345678901234567890.10} `))
	if d := cmp.Diff(map[string]any{"n": json.Number("12345678901234567890.10")}, value); d != "" || problem != "" {
		t.Error(problem, d)
	}
	if value, problem := s.Read(json.RawMessage(`{"n":"x"}`)); value != nil || problem == "" {
		t.Errorf("%v, %q", value, problem)
	}
}

// References that go in circles end.
func TestCircles(t *testing.T) {
	for _, schema := range []string{`{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`} {
		if got := arguments(t, schema, `{}`); got != "the arguments: cannot be checked, the schema refers to itself in circles" {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

func TestConcurrently(t *testing.T) {
	s := New(json.RawMessage(dieSchema), Arguments("roll_die"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if problem := s.Check(fmt.Appendf(nil, `{"sides":%d}`, i)); (problem != "") != (i < 2) {
				t.Errorf("%d: %q", i, problem)
			}
		})
	}
	wg.Wait()
}

// Checking a plain value costs what reading it costs.
func TestAllocations(t *testing.T) {
	s := New(json.RawMessage(dieSchema), Arguments("roll_die"))
	value := json.RawMessage(`{"sides":6}`)
	n := testing.AllocsPerRun(100, func() {
		if problem := s.Check(value); problem != "" {
			t.Fatal(problem)
		}
	})
	if n > 10 {
		t.Errorf("a check allocates %v times", n)
	}
}
