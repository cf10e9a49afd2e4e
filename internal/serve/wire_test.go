package serve_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
)

// TestWire plays the exchanges of testdata/wire. A file's server section names
// the transport and the conversation policy, and further agents. Its wire
// section holds:
//
//	> message            what the host sends
//	< message            what it must get next, in full
//	>> PATH words        HTTP: where the next message goes; session=x, modern, auth=TOKEN, DELETE
//	<< STATUS type words HTTP: how the answer comes; session=x keeps the session
//
// In a message the string "$name" stands for a value that is the same wherever
// it stands, "$_" for anything, and "_meta":"$modern" or "$modern:TOKEN" for the
// _meta of MCP 2026-07-28.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playWire(t, file) })
	}
}

func playWire(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, file: file, values: make(map[string]any)}
	for _, section := range archive.Files {
		switch section.Name {
		case "server":
			w.open(strings.Fields(string(section.Data)))
		case "wire":
			for i, line := range strings.Split(string(section.Data), "\n") {
				w.line = i + 1
				w.play(line)
			}
		}
	}
	if len(w.got) > 0 {
		t.Errorf("%s: not expected: %v", file, w.got)
	}
}

type wire struct {
	t      *testing.T
	file   string
	line   int
	values map[string]any

	pipe   *pipe
	web    *web
	target []string
	reply  *reply
	got    []map[string]any
}

func (w *wire) open(words []string) {
	var more []serve.Agent
	for _, name := range words[2:] {
		more = append(more, serve.Agent{Name: name, Title: strings.ToUpper(name), File: name + ".yaml", Instructions: "Ask " + name + "."})
	}
	f := newFixture(w.t, config.Conversation(words[1]), more...)
	if words[0] == "stdio" {
		w.pipe = openStdio(w.t, f)
		return
	}
	w.web = openHTTP(w.t, f, func(c *httpserver.Config) {
		if words[0] == "http+token" {
			c.Tokens = []httpserver.Token{{Principal: "ann", Secret: config.NewSecret("ann-token")}, {Principal: "bob", Secret: config.NewSecret("bob-token")}}
		}
	})
}

func (w *wire) play(line string) {
	w.t.Helper()
	mark, rest, _ := strings.Cut(line, " ")
	switch mark {
	case ">":
		w.send([]byte(rest))
	case ">>":
		w.target = strings.Fields(rest)
		if strings.Contains(rest, "DELETE") {
			w.send(nil)
		}
	case "<":
		w.expect([]byte(rest))
	case "<<":
		w.expectStatus(strings.Fields(rest))
	case "", "#":
	default:
		w.t.Fatalf("%s:%d: what is %q?", w.file, w.line, line)
	}
}

func (w *wire) send(data []byte) {
	w.t.Helper()
	if len(w.got) > 0 {
		w.t.Fatalf("%s:%d: not expected before: %v", w.file, w.line, w.got)
	}
	body := data
	var m any
	if err := json.Unmarshal(data, &m); err == nil {
		if body, err = json.Marshal(w.fill(m)); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.pipe != nil {
		w.pipe.write(body)
		return
	}
	method, header := "POST", []string{}
	message, _ := m.(map[string]any)
	for _, word := range w.target[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "session":
			if v, ok := w.values["$session."+value].(string); ok {
				value = v
			}
			header = append(header, "Mcp-Session-Id", value)
		case "auth":
			header = append(header, "Authorization", "Bearer "+value)
		case "modern":
			header = append(header, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", fmt.Sprint(message["method"]))
			if params, ok := message["params"].(map[string]any); ok && params["name"] != nil {
				header = append(header, "Mcp-Name", fmt.Sprint(params["name"]))
			}
		case "json":
			header = append(header, "Accept", "application/json")
		case "DELETE":
			method = name
		}
	}
	w.request(method, body, header)
}

func (w *wire) request(method string, body []byte, header []string) {
	w.t.Helper()
	req := newRequest(w.t, method, w.web.url+w.target[0], body)
	r, err := w.web.do(req, header...)
	if err != nil {
		w.t.Fatalf("%s:%d: %v", w.file, w.line, err)
	}
	w.reply, w.got = r, r.messages
}

// fill puts known values into a message that is to be sent.
func (w *wire) fill(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			v[name] = w.fill(x)
		}
	case []any:
		for i, x := range v {
			v[i] = w.fill(x)
		}
	case string:
		if rest, ok := strings.CutPrefix(v, "$modern"); ok {
			return modernMeta(strings.TrimPrefix(rest, ":"))
		}
		if known, ok := w.values[v]; ok {
			return known
		}
	}
	return v
}

func (w *wire) expectStatus(words []string) {
	w.t.Helper()
	got := fmt.Sprintf("%d %s", w.reply.status, w.reply.kind)
	want := strings.Join(words, " ")
	if before, name, ok := strings.Cut(want, " session="); ok {
		want = before
		w.values["$session."+name] = w.reply.header.Get("Mcp-Session-Id")
	}
	if strings.TrimSpace(got) != want {
		w.t.Fatalf("%s:%d: got %s, want %s: %s", w.file, w.line, got, want, w.reply.body)
	}
}

func (w *wire) expect(data []byte) {
	w.t.Helper()
	var want any
	if err := json.Unmarshal(data, &want); err != nil {
		w.t.Fatalf("%s:%d: %v", w.file, w.line, err)
	}
	var got any
	switch {
	case w.pipe != nil:
		got = w.pipe.read()
	case len(w.got) == 0:
		w.t.Fatalf("%s:%d: no message", w.file, w.line)
	default:
		got, w.got = w.got[0], w.got[1:]
	}
	w.learn(want, got)
	if diff := cmp.Diff(w.known(want, got), got); diff != "" {
		raw, _ := json.Marshal(got)
		w.t.Fatalf("%s:%d: (-want +got)\n%s\ngot %s", w.file, w.line, diff, raw)
	}
}

// learn takes the values of names that are new.
func (w *wire) learn(want, got any) {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			for name, x := range want {
				w.learn(x, got[name])
			}
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			for i, x := range want {
				w.learn(x, got[i])
			}
		}
	case string:
		if _, known := w.values[want]; !known && strings.HasPrefix(want, "$") && want != "$_" && !strings.Contains(want, " ") {
			w.values[want] = got
		}
	}
}

// known gives want with the values of its names.
func (w *wire) known(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, x := range want {
			want[name] = w.known(x, g[name])
		}
	case []any:
		g, _ := got.([]any)
		for i, x := range want {
			if i < len(g) {
				want[i] = w.known(x, g[i])
			}
		}
	case string:
		if want == "$_" {
			return got
		}
		if v, ok := w.values[want]; ok {
			return v
		}
		for name, v := range w.values {
			if text, ok := v.(string); ok {
				want = strings.ReplaceAll(want, name, text)
			}
		}
		return want
	}
	return want
}
