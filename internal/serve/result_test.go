package serve_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
)

// ask makes one call of MCP 2026-07-28 as a principal and gives the result.
func (w *web) ask(args map[string]any, token string) map[string]any {
	w.t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "parrot", "arguments": args, "_meta": modernMeta("")}}
	return resultOf(w.t, w.mustPost("/mcp", m, append(modernHeader(), "Authorization", "Bearer "+token)...).last())
}

// read reads a resource as a principal and gives the whole answer.
func (w *web) read(uri, token string) map[string]any {
	w.t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]any{"uri": uri, "_meta": modernMeta("")}}
	return w.mustPost("/mcp", m, "Authorization", "Bearer "+token,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", uri).last()
}

// twoCallers lets ann and bob in.
func twoCallers(c *httpserver.Config) {
	c.Tokens = []httpserver.Token{{Principal: "ann", Secret: config.NewSecret("ann-token")}, {Principal: "bob", Secret: config.NewSecret("bob-token")}}
}

func blocksOf(r map[string]any) (blocks []map[string]any) {
	for _, b := range r["content"].([]any) {
		blocks = append(blocks, b.(map[string]any))
	}
	return blocks
}

// TestMedia: each part of an answer is content of its kind, in order; what is
// neither text, image nor sound has a URI that the same caller can read.
func TestMedia(t *testing.T) {
	h := newHouse(t, `name: parrot
instruction: Show.
model:
  provider: scripted
  script: [{steps: [{reply: "Look:", files: [a.png, b.wav, c.pdf, d.md, e.pdf]}]}]
`)
	data := map[string]string{"a.png": "\x89PNG\r\n\x1a\n", "b.wav": "RIFF....WAVE", "c.pdf": "%PDF-1", "d.md": "# Title", "e.pdf": "%PDF-2"}
	for name, text := range data {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b64 := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(data[name])) }
	w := openHTTP(t, h.open(t, nil), twoCallers)
	blocks := blocksOf(w.ask(map[string]any{"request": "x"}, "ann-token"))
	if len(blocks) != 7 {
		t.Fatalf("%d blocks: %v", len(blocks), blocks)
	}
	resource := func(i int) map[string]any { r, _ := blocks[i]["resource"].(map[string]any); return r }
	got := []any{blocks[0]["text"], blocks[1]["data"], blocks[1]["mimeType"], blocks[2]["data"], blocks[2]["mimeType"],
		resource(3)["blob"], resource(3)["mimeType"], resource(4)["text"], resource(4)["mimeType"], resource(5)["blob"]}
	want := []any{"Look:", b64("a.png"), "image/png", b64("b.wav"), "audio/wav", b64("c.pdf"), "application/pdf", "# Title", "text/markdown", b64("e.pdf")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if first, second := fmt.Sprint(resource(3)["uri"]), fmt.Sprint(resource(5)["uri"]); first == second || !strings.HasPrefix(first, "adkmcp://parrot/artifacts/") {
		t.Errorf("URIs %s and %s", first, second)
	}
	// The same caller reads it again; to another it is the same as one that never was.
	uri := fmt.Sprint(resource(3)["uri"])
	if text := fmt.Sprint(w.read(uri, "ann-token")); !strings.Contains(text, b64("c.pdf")) || !strings.Contains(text, "cacheScope:private") {
		t.Errorf("read: %s", text)
	}
	const unknown = "adkmcp://parrot/artifacts/ar_AAAAAAAAAAAAAAAAAAAAAA"
	foreign := strings.ReplaceAll(fmt.Sprint(w.read(uri, "bob-token")), uri, unknown)
	if never := fmt.Sprint(w.read(unknown, "bob-token")); foreign != never || !strings.Contains(never, "-32602") {
		t.Errorf("foreign %s, unknown %s", foreign, never)
	}
}

// TestLongAnswer keeps its head and tail, and the link leads to the whole.
func TestLongAnswer(t *testing.T) {
	long := "BEGIN " + strings.Repeat("é0123456789 ", 400) + "END"
	h := newHouse(t, `name: parrot
instruction: Talk.
model: {provider: scripted, script: [{steps: [{reply: "`+long+`"}]}]}
serve: {max_answer_bytes: 1024}
`)
	w := openHTTP(t, h.open(t, nil), twoCallers)
	blocks := blocksOf(w.ask(map[string]any{"request": "x"}, "ann-token"))
	text := fmt.Sprint(blocks[0]["text"])
	left := regexp.MustCompile(`\[\.\.\. (\d+) of (\d+) bytes left out; the link below leads to the whole \.\.\.\]`).FindStringSubmatch(text)
	if len(text) > 1024 || !strings.HasPrefix(text, "BEGIN ") || !strings.HasSuffix(text, "END") || left == nil || left[2] != fmt.Sprint(len(long)) {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	if kept := len(text) - len("\n"+left[0]+"\n"); fmt.Sprint(len(long)-kept) != left[1] {
		t.Errorf("%d bytes are kept, of %d, and %s left out", kept, len(long), left[1])
	}
	if blocks[1]["type"] != "resource_link" || blocks[1]["size"] != float64(len(long)) {
		t.Errorf("second block %v", blocks[1])
	}
	if whole := fmt.Sprint(w.read(fmt.Sprint(blocks[1]["uri"]), "ann-token")); !strings.Contains(whole, long) {
		t.Errorf("the link leads to %.100s", whole)
	}
}

// TestStructuredAnswer: the object exactly, and its JSON as text; one that does
// not match is asked for once more.
func TestStructuredAnswer(t *testing.T) {
	const agent = `name: parrot
instruction: Count.
output_schema: {type: object, properties: {n: {type: integer}}, required: [n]}
model:
  provider: scripted
  script: [{steps: [%s]}]
serve: {conversation: explicit}
`
	for name, tt := range map[string]struct {
		steps, text string
		n           any
	}{
		"at once":       {`{reply: '{"n": 12345678901234567}'}`, `{"n": 12345678901234567}`, 12345678901234567.0},
		"repaired":      {`{reply: '{"n": "x"}'}, {reply: '{"n": 2}'}`, `{"n": 2}`, 2.0},
		"never matches": {`{reply: '{"n": "x"}'}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := openHTTP(t, newHouse(t, fmt.Sprintf(agent, tt.steps)).open(t, nil), twoCallers)
			r := w.ask(map[string]any{"request": "x"}, "ann-token")
			first := fmt.Sprint(blocksOf(r)[0]["text"])
			structured, _ := r["structuredContent"].(map[string]any)
			if tt.n == nil {
				text := fmt.Sprint(r["content"])
				if r["isError"] != true || structured != nil || !strings.Contains(text, "invalid_output") {
					t.Errorf("%v", r)
				}
				return
			}
			if r["isError"] != nil || first != tt.text || len(structured) != 1 || structured["n"] != tt.n {
				t.Errorf("text %s, structured %v, error %v", first, structured, r["isError"])
			}
		})
	}
}

// TestResultAll: with result: all the caller gets what was said beside the calls.
func TestResultAll(t *testing.T) {
	const agent = `name: parrot
instruction: Think aloud.
tools: [{name: current_time}]
model:
  provider: scripted
  script: [{steps: [{say: "First I look.", call: [{current_time: {}}]}, {reply: "Done."}]}]
serve: {conversation: none, result: %s}
`
	for result, want := range map[string][]string{"last": {"Done."}, "all": {"First I look.", "Done."}} {
		w := openHTTP(t, newHouse(t, fmt.Sprintf(agent, result)).open(t, nil), twoCallers)
		var got []string
		for _, b := range blocksOf(w.ask(map[string]any{"request": "x"}, "ann-token")) {
			got = append(got, fmt.Sprint(b["text"]))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", result, d)
		}
	}
}

// TestSavedArtifactsAreLinked, and can be attached to the next request.
func TestSavedArtifactsAreLinked(t *testing.T) {
	h := newHouse(t, `name: parrot
instruction: Save.
tools: [{name: save_artifact}]
model:
  provider: scripted
  script:
    - {match: save, steps: [{call: [{save_artifact: {name: notes.txt, content: "kept"}}]}, {reply: "Saved."}]}
    - {steps: [{reply: "Got it."}]}
serve: {attachments: {max_count: 2, max_bytes: 10, types: [text/*]}}
`)
	w := openHTTP(t, h.open(t, nil), twoCallers)
	blocks := blocksOf(w.ask(map[string]any{"request": "save"}, "ann-token"))
	uri := fmt.Sprint(blocks[1]["uri"])
	if blocks[1]["type"] != "resource_link" || blocks[1]["name"] != "notes.txt" || blocks[1]["mimeType"] != "text/plain" {
		t.Errorf("%v", blocks)
	}
	if text := fmt.Sprint(w.read(uri, "ann-token")); !strings.Contains(text, "kept") {
		t.Errorf("read: %s", text)
	}
	for name, tt := range map[string]struct {
		token string
		list  any
		want  string // part of the error; empty for none
	}{
		"a resource":      {"ann-token", []any{map[string]any{"uri": uri}}, ""},
		"somebody else's": {"bob-token", []any{map[string]any{"uri": uri}}, "there is no resource"},
		"elsewhere":       {"ann-token", []any{map[string]any{"uri": "http://127.0.0.1:1/secret"}}, "there is no resource"},
		"a file":          {"ann-token", []any{map[string]any{"uri": "file:///etc/passwd"}}, "there is no resource"},
		"text":            {"ann-token", []any{map[string]any{"text": "hi"}}, ""},
		"data":            {"ann-token", []any{map[string]any{"data": "aGk=", "mimeType": "text/csv"}}, ""},
		"no base64":       {"ann-token", []any{map[string]any{"data": "?", "mimeType": "text/csv"}}, "not base64"},
		"no type":         {"ann-token", []any{map[string]any{"data": "aGk="}}, "mimeType is missing"},
		"wrong type":      {"ann-token", []any{map[string]any{"data": "aGk=", "mimeType": "image/png"}}, "is not taken, only text/*"},
		"both":            {"ann-token", []any{map[string]any{"data": "aGk=", "text": "x"}}, "exactly one"},
		"too much":        {"ann-token", []any{map[string]any{"text": "12345678"}, map[string]any{"text": "123"}}, "more than 10 bytes together"},
		"too many":        {"ann-token", []any{map[string]any{"text": "1"}, map[string]any{"text": "2"}, map[string]any{"text": "3"}}, "at most 2"},
		"no list":         {"ann-token", "x", "must be a list"},
	} {
		r := w.ask(map[string]any{"request": "look", "attachments": tt.list}, tt.token)
		text := fmt.Sprint(blocksOf(r)[0]["text"])
		if tt.want == "" && text != "Got it." || tt.want != "" && (r["isError"] != true || !strings.Contains(text, tt.want)) {
			t.Errorf("%s: %q", name, text)
		}
	}
	// Off unless the agent allows it.
	w = openHTTP(t, newHouse(t, "name: parrot\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: none}]}]}\n").open(t, nil), twoCallers)
	if text := fmt.Sprint(blocksOf(w.ask(map[string]any{"request": "x", "attachments": []any{}}, "ann-token"))[0]["text"]); !strings.Contains(text, "takes no attachments") {
		t.Error(text)
	}
}
