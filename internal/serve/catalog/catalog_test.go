package catalog_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func unhex(t *testing.T, data []byte) []byte {
	t.Helper()
	out, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// place is a text with places, or a path.
func place(s string) *template.Text {
	t := template.ParsePlaces(s)
	return &t
}

func catalogOf(t testing.TB, o catalog.Options, resources ...config.Resource) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New([]catalog.Agent{{Name: "a", Resources: resources}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCollisions(t *testing.T) {
	fixed := func(name, uri string) config.Resource {
		return config.Resource{Name: name, URI: uri, Text: place("x")}
	}
	fits := func(name, uri string) config.Resource {
		return config.Resource{Name: name, URITemplate: uri, Text: place("x")}
	}
	prompt := func(name string) []config.Prompt { return []config.Prompt{{Name: name, Text: place("x")}} }
	for _, c := range []struct {
		name string
		a, b catalog.Agent
		want string // empty: both can be offered
	}{
		{"a prompt", catalog.Agent{Prompts: prompt("review")}, catalog.Agent{Prompts: prompt("review")},
			`the prompt "review" is offered by the agent a and by the agent b; rename one of them`},
		{"other prompts", catalog.Agent{Prompts: prompt("review")}, catalog.Agent{Prompts: prompt("Review")}, ""},
		{"a URI", catalog.Agent{Resources: []config.Resource{fixed("x", "n://x")}}, catalog.Agent{Resources: []config.Resource{fixed("y", "n://x")}},
			`the resource "n://x" is offered by the agent a and by the agent b; rename one of them`},
		{"a name", catalog.Agent{Resources: []config.Resource{fixed("x", "n://x")}}, catalog.Agent{Resources: []config.Resource{fits("x", "m://{x}")}},
			`the resource name "x" is offered by the agent a and by the agent b; rename one of them`},
		{"a template", catalog.Agent{Resources: []config.Resource{fits("x", "n://{x}")}}, catalog.Agent{Resources: []config.Resource{fits("y", "n://{x}")}},
			`the resource "n://{x}" is offered by the agent a and by the agent b; rename one of them`},
		{"a template with other places", catalog.Agent{Resources: []config.Resource{fits("x", "n://{x}/z")}}, catalog.Agent{Resources: []config.Resource{fits("y", "n://{y}/z")}},
			`a URI may fit both the resource "n://{y}/z" of the agent b and "n://{x}/z" of the agent a; change one of them`},
		{"a template and a URI", catalog.Agent{Resources: []config.Resource{fits("x", "n://{x}")}}, catalog.Agent{Resources: []config.Resource{fixed("y", "n://today")}},
			`a URI may fit both the resource "n://today" of the agent b and "n://{x}" of the agent a; change one of them`},
		{"a URI and a template", catalog.Agent{Resources: []config.Resource{fixed("y", "n://a-today")}}, catalog.Agent{Resources: []config.Resource{fits("x", "n://a-{x}")}},
			`a URI may fit both the resource "n://a-{x}" of the agent b and "n://a-today" of the agent a; change one of them`},
		{"texts around places", catalog.Agent{Resources: []config.Resource{fits("x", "n://a-{x}")}}, catalog.Agent{Resources: []config.Resource{fits("y", "n://{x}.md")}},
			`a URI may fit both the resource "n://{x}.md" of the agent b and "n://a-{x}" of the agent a; change one of them`},
		{"other texts around places", catalog.Agent{Resources: []config.Resource{fits("x", "n://a-{x}")}}, catalog.Agent{Resources: []config.Resource{fits("y", "n://b-{x}"), fixed("z", "n://a-")}}, ""},
		{"other lengths", catalog.Agent{Resources: []config.Resource{fits("x", "n://{x}")}}, catalog.Agent{Resources: []config.Resource{fits("y", "n://{x}/y"), fits("z", "m://{x}")}}, ""},
		{"within one agent the order counts", catalog.Agent{Resources: []config.Resource{fits("x", "n://{x}"), fixed("y", "n://y")}}, catalog.Agent{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.a.Name, c.b.Name = "a", "b"
			_, err := catalog.New([]catalog.Agent{c.a, c.b}, catalog.Options{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := catalog.New([]catalog.Agent{{Name: "a"}, {Name: "a"}}, catalog.Options{}); err == nil {
		t.Error("two agents of one name are offered")
	}
}

// TestForeignArtifact asks for what belongs to another caller or another agent,
// or never was: the answers are the same but for the URI.
func TestForeignArtifact(t *testing.T) {
	store := memory()
	defer store.Close()
	saved, err := store.Save(t.Context(), session.Key{Principal: "ann", Agent: "a", Handle: "h"}, artifact.Artifact{Name: "r.md", MIMEType: "text/markdown", Data: []byte("# Report")})
	if err != nil {
		t.Fatal(err)
	}
	empty, err := store.Save(t.Context(), session.Key{Principal: "ann", Agent: "a", Handle: "h"}, artifact.Artifact{Name: "empty"})
	if err != nil {
		t.Fatal(err)
	}
	m := library(t, []catalog.Agent{{Name: "a"}, {Name: "b"}}, options(store))
	uri := catalog.ArtifactURI("a", saved.ID)
	if want := "adkmcp://a/artifacts/" + saved.ID; uri != want {
		t.Errorf("the URI is %s, want %s", uri, want)
	}
	read := func(ctx context.Context, modern bool, uri string) (result, failure map[string]any) {
		return ask(ctx, t, m, modern, "resources/read", `{"uri":"`+uri+`"}`)
	}
	for _, modern := range []bool{false, true} {
		result, failure := read(as(t, "ann"), modern, uri)
		want := []any{map[string]any{"uri": uri, "mimeType": "text/markdown", "text": "# Report"}}
		if diff := cmp.Diff(want, result["contents"]); diff != "" || failure != nil {
			t.Error(diff, failure)
		}
		if result, failure = read(as(t, "ann"), modern, catalog.ArtifactURI("a", empty.ID)); failure != nil {
			t.Error("an empty artifact:", result, failure)
		}
		_, unknown := read(as(t, "ann"), modern, "adkmcp://a/artifacts/ar_0000000000000000000000")
		for name, foreign := range map[string]struct{ principal, uri string }{
			"of another caller": {"bob", uri},
			"of nobody":         {"", uri},
			"of another agent":  {"ann", strings.Replace(uri, "//a/", "//b/", 1)},
			"cut":               {"ann", uri[:len(uri)-1]},
			"empty":             {"ann", "adkmcp://a/artifacts/"},
			"longer":            {"ann", uri + "/x"},
		} {
			_, failure := read(as(t, foreign.principal), modern, foreign.uri)
			same := strings.ReplaceAll(fmt.Sprint(failure), foreign.uri, "URI")
			if want := strings.ReplaceAll(fmt.Sprint(unknown), "adkmcp://a/artifacts/ar_0000000000000000000000", "URI"); same != want {
				t.Errorf("modern %v, %s: got %s, want %s", modern, name, same, want)
			}
		}
	}
	_, templates := ask(as(t, "ann"), t, m, true, "resources/templates/list", `{}`)
	if templates != nil {
		t.Error(templates)
	}
	if err := store.DeleteConversation(t.Context(), session.Key{Principal: "ann", Agent: "a", Handle: "h"}); err != nil {
		t.Fatal(err)
	}
	if _, failure := read(as(t, "ann"), true, uri); failure["code"] != float64(-32602) {
		t.Errorf("after its conversation was deleted: %v", failure)
	}
}

// TestRead is what calls use that attach a resource.
func TestRead(t *testing.T) {
	store := memory()
	defer store.Close()
	saved, err := store.Save(t.Context(), session.Key{Principal: "ann", Agent: "a", Handle: "h"}, artifact.Artifact{Name: "x", Data: []byte{0xff, 0xd8, 0xff}})
	if err != nil {
		t.Fatal(err)
	}
	c := catalogOf(t, options(store), config.Resource{Name: "n", URITemplate: "n://{x}", Text: place("N {x}"), MIMEType: "text/markdown"})
	for _, r := range []struct{ agent, uri, want, kind string }{
		{"a", "n://1", "N 1", "text/markdown"},
		{"a", catalog.ArtifactURI("a", saved.ID), "\xff\xd8\xff", "image/jpeg"},
		{"a", "adkmcp://a/card", `{"name":"","version":"","conversation":"","tools":[],"prompts":[],"resources":[],"resourceTemplates":[{"uriTemplate":"n://{x}","name":"n","mimeType":"text/markdown"},{"uriTemplate":"adkmcp://a/artifacts/{id}","name":"a/artifacts","description":"A file that a made, by the id in a link to it."}]}` + "\n", "application/json"},
		{"b", "n://1", "", ""},
		{"a", "n://", "", ""},
	} {
		data, kind, err := c.Read(as(t, "ann"), r.agent, r.uri)
		if string(data) != r.want || kind != r.kind || errors.Is(err, catalog.ErrNotFound) != (r.kind == "") {
			t.Errorf("%s %s: got %q %s %v, want %q %s", r.agent, r.uri, data, kind, err, r.want, r.kind)
		}
	}
	ctx, cancel := context.WithCancel(as(t, "ann"))
	cancel()
	if _, _, err := c.Read(ctx, "a", "n://1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(as(t, "ann"), "a", catalog.ArtifactURI("a", saved.ID)); !errors.Is(err, artifact.ErrClosed) || errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a store that is closed: %v", err)
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "fits.txt"), []byte("12345678"))
	write(t, filepath.Join(dir, "large.txt"), []byte("123456789"))
	o := options(nil)
	o.MaxRead = 8
	c := catalogOf(t, o,
		config.Resource{Name: "f", URI: "f://fits", File: place(dir + "/fits.txt")},
		config.Resource{Name: "l", URI: "f://large", File: place(dir + "/large.txt")},
		config.Resource{Name: "d", URI: "f://dir", File: place(dir)},
		config.Resource{Name: "g", URI: "f://gone", File: place(dir + "/gone.txt")},
		config.Resource{Name: "t", URITemplate: "t://{x}", File: place(dir + "/{x}.txt")},
		config.Resource{Name: "w", URITemplate: "w://{x}", File: place(filepath.Join(dir, "none") + "/{x}.txt")},
		config.Resource{Name: "x", URITemplate: "x://{x}", Text: place("{x}{x}")},
	)
	for uri, want := range map[string]string{
		"f://fits":  "",
		"t://fits":  "",
		"x://1234":  "",
		"f://large": "the resource f://large cannot be read: too large: it has 9 bytes, at most 8 are served",
		"t://large": "the resource t://large cannot be read: too large: it has 9 bytes, at most 8 are served",
		"x://12345": "the resource x://12345 cannot be read: too large: with its places filled it has 10 bytes, at most 8 are served",
		"f://dir":   "the resource f://dir cannot be read: it is not a regular file",
		"f://gone":  "the resource f://gone cannot be read: ...",
		"w://fits":  "the resource w://fits cannot be read: its folder cannot be opened: ...",
	} {
		_, _, err := c.Read(t.Context(), "a", uri)
		begin, cut := strings.CutSuffix(want, "...") // the rest is the system's
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") && (!cut || !strings.HasPrefix(got, begin)) {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
		if err != nil && strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error holds a path: %v", uri, err)
		}
	}
	prompts := []config.Prompt{{Name: "p", Arguments: []config.PromptArgument{{Name: "x"}}, Text: place("{x}{x}")}}
	m := library(t, []catalog.Agent{{Name: "a", Prompts: prompts}}, o)
	_, failure := ask(as(t, "ann"), t, m, true, "prompts/get", `{"name":"p","arguments":{"x":"12345"}}`)
	want := map[string]any{"code": -32602.0, "message": "a message of the prompt p is too large: with its places filled it has 10 bytes, at most 8 are served"}
	if diff := cmp.Diff(want, failure); diff != "" {
		t.Error(diff)
	}
}

// TestChanges reads a file again that has changed, and fails with a reason that
// names no path when it is gone.
func TestChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "now.txt")
	m := library(t, []catalog.Agent{{
		Name:      "a",
		Resources: []config.Resource{{Name: "now", URI: "f://now", File: place(path)}},
		Prompts:   []config.Prompt{{Name: "p", Messages: []config.PromptMessage{{File: path}}}},
	}}, options(nil))
	for _, text := range []string{"one", "two"} {
		write(t, path, []byte(text))
		result, _ := ask(as(t, "ann"), t, m, true, "resources/read", `{"uri":"f://now"}`)
		if !strings.Contains(fmt.Sprint(result), text) {
			t.Errorf("got %v, want %s", result, text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for method, params := range map[string]string{"resources/read": `{"uri":"f://now"}`, "prompts/get": `{"name":"p"}`} {
		_, failure := ask(as(t, "ann"), t, m, true, method, params)
		text := fmt.Sprint(failure)
		if failure["code"] != float64(-32603) || !strings.Contains(text, "cannot be read") || strings.Contains(text, dir) {
			t.Errorf("%s: %s", method, text)
		}
	}
}

// TestManyCompletions has more values than an answer may hold.
func TestManyCompletions(t *testing.T) {
	var values []string
	for i := range 150 {
		values = append(values, fmt.Sprintf("v%03d", i))
	}
	m := library(t, []catalog.Agent{{Name: "a", Prompts: []config.Prompt{{
		Name: "p", Text: place("{x}"), Arguments: []config.PromptArgument{{Name: "x", Values: values}},
	}}}}, options(nil))
	for typed, want := range map[string]struct {
		sent, total int
		more        any
	}{"": {100, 150, true}, "v0": {100, 100, nil}, "14": {12, 12, nil}} {
		result, _ := ask(as(t, "ann"), t, m, true, "completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"`+typed+`"}}`)
		c, _ := result["completion"].(map[string]any)
		sent, _ := c["values"].([]any)
		if len(sent) != want.sent || c["total"] != float64(want.total) || c["hasMore"] != want.more {
			t.Errorf("%q: got %d %v %v, want %v", typed, len(sent), c["total"], c["hasMore"], want)
		}
	}
}

// TestConcurrent reads, prompts and completes at the same time; the race
// detector judges.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.md"), []byte("X"))
	store := memory()
	defer store.Close()
	m := library(t, []catalog.Agent{{
		Name:      "a",
		Resources: []config.Resource{{Name: "x", URITemplate: "x://{x}", File: place(dir + "/{x}.md"), Values: map[string][]string{"x": {"x"}}}},
		Prompts:   []config.Prompt{{Name: "p", Arguments: []config.PromptArgument{{Name: "u"}}, Messages: []config.PromptMessage{{Resource: place("{u}")}}}},
	}}, options(store))
	var all sync.WaitGroup
	for i := range 8 {
		ctx := as(t, fmt.Sprint("caller", i%2))
		all.Go(func() {
			for range 25 {
				for method, params := range map[string]string{
					"resources/read":      `{"uri":"x://x"}`,
					"prompts/get":         `{"name":"p","arguments":{"u":"adkmcp://a/card"}}`,
					"completion/complete": `{"ref":{"type":"ref/resource","uri":"x://{x}"},"argument":{"name":"x","value":""}}`,
					"resources/list":      `{}`,
				} {
					if _, failure := ask(ctx, t, m, i%2 == 0, method, params); failure != nil {
						t.Errorf("%s: %v", method, failure)
					}
				}
			}
		})
	}
	all.Wait()
}
