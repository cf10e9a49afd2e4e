package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Paths of prompts, resources and scripts are absolute after loading, whatever
// stands in them.
func TestServedFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	note := write(t, filepath.Join(dir, "notes"), "a.md", "A")
	path := write(t, dir, "agent.yaml", `name: a
instruction: x
model: {provider: scripted, script: [{steps: [{reply: x, files: [notes/a.md]}]}]}
serve:
  prompts: [{name: p, messages: [{file: "${DIR}/a.md"}, {resource: "q://$$a"}]}]
  resources:
    - {uri: "q://$$a", name: q, file: "${DIR}/a.md"}
    - {uri: "n://a", name: a, file: "${DIR}/./a.md"}
    - {uri_template: "n://{x}", name: b, file: "${DIR}/../notes/n-{x}/y.md"}
    - {uri_template: "m://{x}", name: c, file: "{x}"}
    - {uri_template: "o://{x}", name: d, file: "`+filepath.ToSlash(dir)+`/{x}${EMPTY:-.md}"}
    - {uri_template: "p://{x}", name: e, text: "${DIR} {x} {{x}} $$"}
`)
	agents, problems, err := Agents([]string{path}, Options{LookupEnv: env("DIR", "notes")})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	a := agents[0]
	if got := a.Model.Script[0].Steps[0].Files; !slices.Equal(got, []string{note}) {
		t.Errorf("files of the step: %q", got)
	}
	messages := a.Serve.Prompts[0].Messages
	if messages[0].File != note || texts([]template.Text{*messages[1].Resource})[0] != "q://$$a" {
		t.Errorf("messages %+v", messages)
	}
	var got []string
	for _, r := range a.Serve.Resources {
		if r.Text != nil {
			got = append(got, texts([]template.Text{*r.Text})...)
			continue
		}
		folder, below := r.File.SplitFolder()
		got = append(got, folder+"|"+texts([]template.Text{below})[0])
	}
	sep := string(filepath.Separator)
	want := []string{
		filepath.Dir(note) + sep + "|a.md", filepath.Dir(note) + sep + "|a.md", filepath.Dir(note) + sep + "|n-[x]/y.md", dir + sep + "|[x]", dir + sep + "|[x].md", "${DIR} [x] {x} $$",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(a.Serve.Resources[2].File.Segments) != 3 {
		t.Errorf("segments %+v", a.Serve.Resources[2].File.Segments)
	}
}

func TestStepFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"a": 5 << 20, "b": 3 << 20, "c": 1} {
		if err := os.Truncate(write(t, dir, name, ""), size); err != nil {
			t.Fatal(err)
		}
	}
	for files, want := range map[string]string{
		"[a, b]":    "",
		"[a, b, c]": "3:65: error: model.script[0].steps[0].files: the files of this step have 8388609 bytes together (the most is 8 MiB)",
	} {
		path := write(t, dir, "agent.yaml", "name: a\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: x, files: "+files+"}]}]}\n")
		_, problems, err := Agents([]string{path}, Options{LookupEnv: env()})
		if got := text(problems, path); err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s, %v", files, got, err)
		}
	}
}

func TestServeForms(t *testing.T) {
	for _, tt := range []struct {
		yaml        string
		attachments *config.Attachments
		wait        config.Wait
	}{
		{"", nil, config.Wait{Auto: true}},
		{"serve: {attachments: false, timeout: auto}", nil, config.Wait{Auto: true}},
		{"serve: {attachments: true, timeout: 90s}", &config.Attachments{MaxCount: 10, MaxBytes: 4 << 20}, config.Wait{Limit: config.Duration(90e9)}},
		{"serve: {attachments: {}, timeout: \"auto\"}", &config.Attachments{MaxCount: 10, MaxBytes: 4 << 20}, config.Wait{Auto: true}},
		{"serve: {attachments: {max_count: 1, types: [image/*]}}", &config.Attachments{MaxCount: 1, MaxBytes: 4 << 20, Types: []string{"image/*"}}, config.Wait{Auto: true}},
	} {
		s := one(t, minimal+tt.yaml+"\n").Serve
		if diff := cmp.Diff(tt.attachments, s.Attachments); diff != "" || s.Timeout != tt.wait {
			t.Errorf("%s: %s, %+v", tt.yaml, diff, s.Timeout)
		}
	}
}

func TestAsk(t *testing.T) {
	a := one(t, minimal+`tools:
  - name: plain
    parameters: {p: {type: string}}
    ask: {message: "${HOME} {p} $$"}
  - name: form
    ask: {message: x, form: {type: object, properties: {b: {type: integer, minimum: 1.50}, a: {type: boolean}}}}
    requires_approval: true
`)
	for i, want := range []struct{ message, form, schema string }{
		{"${HOME} [p] $$", "",
			`{"type":"object","properties":{"p":{"type":"string"}},"required":["p"],"additionalProperties":false}`},
		{"x", `{"type":"object","properties":{"b":{"type":"integer","minimum":1.50},"a":{"type":"boolean"}}}`, `{"type":"object","properties":{},"additionalProperties":false}`},
	} {
		tool := a.Tools[i]
		if got := texts([]template.Text{tool.Ask.Message})[0]; got != want.message || string(tool.Ask.Form) != want.form || string(tool.Schema) != want.schema {
			t.Errorf("%s: %s %s %s", tool.Name, got, tool.Ask.Form, tool.Schema)
		}
		if (tool.RequiresApproval != nil) != (i == 1) || !slices.Equal(tool.Names(), []string{tool.Name}) {
			t.Errorf("%+v", tool)
		}
	}
}
