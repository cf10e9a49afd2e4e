package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestDocumentation loads every YAML block of the documentation as an agent,
// and the JSON blocks as JSON.
func TestDocumentation(t *testing.T) {
	files, err := filepath.Glob(repository + "/docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	schema := agentSchema(t)
	agents := 0
	for _, file := range append(files, repository+"/README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllSubmatchIndex(text, -1) {
			line := bytes.Count(text[:m[0]], []byte("\n")) + 1
			body := text[m[4]:m[5]]
			switch string(text[m[2]:m[3]]) {
			case "yaml":
				agents++
				checkExample(t, schema, body, file, line)
			case "json":
				if !json.Valid(body) {
					t.Errorf("%s:%d: is no JSON", file, line)
				}
			}
		}
	}
	if agents < 8 {
		t.Errorf("only %d examples", agents)
	}
}

func checkExample(t *testing.T, schema *jsonschema.Schema, body []byte, file string, line int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o700); err != nil { // a folder that examples name
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes", "wiring.png"), nil, 0o600); err != nil { // and a file in it
		t.Fatal(err)
	}
	path := filepath.Join(dir, "example.yaml")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems, err := load.Agents([]string{path}, load.Options{LookupEnv: os.LookupEnv, Validate: true})
	if err != nil {
		t.Errorf("%s:%d: %v", file, line, err)
	}
	for _, p := range problems {
		if p.Severity == "error" {
			t.Errorf("%s:%d: %s", file, line, p)
		}
	}
	checkSchema(t, schema, body, file)
}

func agentSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("agent.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("agent.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func checkSchema(t *testing.T, schema *jsonschema.Schema, text []byte, file string) {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// TestExampleAgents holds the examples to the schema and to validate --strict,
// but for the variables that they want.
func TestExampleAgents(t *testing.T) {
	schema := agentSchema(t)
	for _, file := range exampleFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, schema, text, file)
		agents, problems, err := load.Agents([]string{file}, load.Options{LookupEnv: os.LookupEnv, Validate: true})
		if err != nil || len(problems) > 0 || len(agents) != 1 {
			t.Errorf("%s: %v %v", file, problems, err)
		}
	}
}

// TestREADME keeps what the README promises about itself.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile(repository + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 200 {
		t.Errorf("it has %d lines", n)
	}
	commands := map[string]bool{}
	for _, c := range testApp(t, map[string]string{}).root().Commands() {
		commands[c.Name()] = true
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `adkmcp (\\w+)").FindAllSubmatch(text, -1) {
		if !commands[string(m[1])] {
			t.Errorf("there is no command %s", m[1])
		}
		delete(commands, string(m[1]))
	}
	delete(commands, "help")
	delete(commands, "completion")
	for name := range commands {
		t.Errorf("the table of commands lacks %s", name)
	}
	first := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(text)
	if first == nil || !strings.Contains(string(first[1]), "\ngo run ./cmd/adkmcp call agents/dice.yaml \"Roll a d20\"\nmake test\n") {
		t.Errorf("the first block is %s", first)
	}
}
