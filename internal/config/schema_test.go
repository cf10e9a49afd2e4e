package config_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

var update = flag.Bool("update", false, "write agent.schema.json anew")

const schemaFile = "agent.schema.json"

func TestSchemaDoesNotDrift(t *testing.T) {
	got, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%s is not what the types say; run go test ./internal/config -run Drift -update", schemaFile)
	}
	again, err := config.Schema()
	if err != nil || !bytes.Equal(got, again) {
		t.Error("the schema is not the same a second time")
	}
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, errors.New("not loaded: " + url) }

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("urn:agent", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:agent")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks a file against the JSON Schema, as an editor does.
func validate(t *testing.T, path string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := strictyaml.Parse(path, data)
	if doc == nil {
		t.Fatal(problems)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc.JSON(nil, func(_ *strictyaml.Path, text string) string { return text })))
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t).Validate(value)
}
