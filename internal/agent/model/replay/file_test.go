package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

func TestBrokenFiles(t *testing.T) {
	const good = `{"number":1,"agent":"a","request":{"contents":[{"role":"user","parts":[{"text":"x"}]}]},"reply":{"content":{"role":"model","parts":[{"text":"y"}]}}}`
	file := func(exchanges ...string) string {
		return `{"version":1,"exchanges":[` + strings.Join(exchanges, ",") + `]}`
	}
	second := func(request, rest string) string {
		return file(good, `{"number":2,"agent":"a","request":`+request+`,`+rest+`}`)
	}
	const reply = `"reply":{}`
	cases := map[string]struct{ data, want string }{
		"empty":                {"", "the JSON ends too early"},
		"cut":                  {`{"version":1,"exchanges":[`, "the JSON ends too early"},
		"syntax":               {"{\n\"version\":1,\n,}", "line 3: invalid character"},
		"no version":           {`{"exchanges":[]}`, "it has no version"},
		"version of tomorrow":  {`{"version":2,"exchanges":[],"more":1}`, "has version 2, this program reads version 1"},
		"other JSON":           {`[]`, "cannot be a JSON array"},
		"more":                 {file() + "{}", "after the end"},
		"unknown field":        {`{"version":1,"exchanges":[],"more":1}`, `unknown field "more"`},
		"unknown in exchange":  {file(strings.Replace(good, `"agent"`, `"more":1,"agent"`, 1)), `exchange 1: json: unknown field "more"`},
		"unknown in request":   {second(`{"more":1}`, reply), `exchange 2: json: unknown field "more"`},
		"unknown in contents":  {second(`{"contents":[{"more":1}]}`, reply), `exchange 2: request: message 1: json: unknown field "more"`},
		"unknown in tools":     {second(`{"tools":[{"more":1}]}`, reply), `exchange 2: request: tools: json: unknown field "more"`},
		"unknown in answer":    {second(`{"answer":{"more":1}}`, reply), `exchange 2: request: answer: json: unknown field "more"`},
		"unknown in reply":     {second(`{}`, `"reply":{"content":{"more":1}}`), `exchange 2: reply: content: json: unknown field "more"`},
		"unknown in piece":     {second(`{}`, `"pieces":[{"partial":{"more":1}}],`+reply), `exchange 2: piece 1: json: unknown field "more"`},
		"type":                 {second(`{"after":"1"}`, reply), "exchange 2: request.after: cannot be a JSON string"},
		"number":               {file(strings.Replace(good, `:1`, `:7`, 1)), "exchange 1: has the number 7"},
		"null":                 {file("null"), "exchange 1: has the number 0"},
		"after itself":         {second(`{"after":2}`, reply), "exchange 2: request: after: 2 is no earlier exchange"},
		"after nothing":        {second(`{"after":-1}`, reply), "exchange 2: request: after: -1 is no earlier exchange"},
		"after a later one":    {second(`{"after":3}`, reply), "exchange 2: request: after: 3 is no earlier exchange"},
		"after another agent":  {strings.Replace(second(`{"after":1}`, reply), `"a"`, `"b"`, 1), "exchange 2: request: after: exchange 1 is of another agent, b"},
		"after an error":       {file(strings.Replace(good, `"reply":{"content":{"role":"model","parts":[{"text":"y"}]}}`, `"error":{"text":"x"}`, 1), `{"number":2,"agent":"a","request":{"after":1},"reply":{}}`), "exchange 2: request: after: exchange 1 has no reply"},
		"no outcome":           {file(`{"number":1,"agent":"a","request":{}}`), "exchange 1: needs one of reply and error"},
		"two outcomes":         {second(`{}`, reply+`,"error":{"text":"x"}`), "exchange 2: needs one of reply and error"},
		"two errors":           {second(`{}`, `"error":{"text":"x","code":"blocked"}`), "exchange 2: error: has one of code and text"},
		"problem without code": {second(`{}`, `"reply":{"problem":{"text":"x"}}`), "exchange 2: reply: problem: needs a code"},
		"empty piece":          {second(`{}`, `"pieces":[{}],`+reply), "exchange 2: piece 1: needs one of notice and partial"},
		"double piece":         {second(`{}`, `"pieces":[{"notice":"","partial":null}],`+reply), "exchange 2: piece 1: needs one of notice and partial"},
		"deep":                 {second(`{"contents":[{"parts":[{"functionCall":{"args":{"a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}}}]}]}`, reply), "exchange 2: request: message 1: JSON is nested more than 1000 levels deep"},
		"no base64":            {second(`{"contents":[{"parts":[{"inlineData":{"data":"?"}}]}]}`, reply), "exchange 2: request: message 1: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "broken.json")
			if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := replay.Load(path, open)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	t.Run("good", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "good.json")
		if err := os.WriteFile(path, []byte("\ufeff"+second(`{"after":1,"tools":[],"system":[],"output_schema":null}`, reply)), 0o600); err != nil {
			t.Fatal(err)
		}
		p := load(t, path, open)
		if h := hear(t.Context(), p.Model("a"), ask(user("x"), text("model", "y"))); h.err != nil {
			t.Error(h.err)
		}
	})
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "none"): "no such file", dir: "not a regular file", huge: "at most 64 MiB"} {
		if _, err := replay.Load(path, open); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNotRecorded(t *testing.T) {
	piece := said{reply: &model.Reply{Partial: true, Content: text("model", "pie")}}
	file := filepath.Join(t.TempDir(), "r.json")
	r := replay.NewRecorder(file, open)

	for range r.Around("broken off", always(piece, said{reply: says("x")})).Generate(t.Context(), ask()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range r.Around("cancelled", always(piece, said{err: context.Canceled})).Generate(ctx, ask()) {
		cancel()
	}
	hear(ctx, r.Around("cancelled before", always(piece, said{reply: says("x")})), ask())
	hear(t.Context(), r.Around("no end", always(piece)), ask())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v\n%s", err, content(t, file))
	}

	// The same model, heard to its end by one who breaks off there, as the runner does.
	r = replay.NewRecorder(file, open)
	for reply := range r.Around("whole", always(piece, said{reply: says("x")})).Generate(t.Context(), ask()) {
		if !reply.Partial {
			break
		}
	}
	if err := r.Close(); err != nil || !strings.Contains(content(t, file), `"whole"`) {
		t.Errorf("not recorded: %v", err)
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := replay.NewRecorder(file, open)
	m := r.Around("a", always(one(says("x"))...))
	hear(t.Context(), m, ask())
	if got := content(t, file); got != "before" {
		t.Errorf("written before Close: %s", got)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		hear(t.Context(), m, ask(user("unrecorded")))
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 || strings.Contains(content(t, file), "unrecorded") {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if info, err := os.Stat(recordedAnew(t)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: %v %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// recordedAnew is a recording where there was none.
func recordedAnew(t *testing.T) string {
	t.Helper()
	file, _ := record(t, open, always(one(says("x"))...), ask())
	return file
}

// TestFailuresReplaceNothing: a recording is not lost to one of which no model gave a
// reply; where there is none, that is written.
func TestFailuresReplaceNothing(t *testing.T) {
	file, _ := record(t, open, always(one(says("hi"))...), ask(user("x")))
	before := content(t, file)
	for at, want := range map[string]string{file: "stays as it was, since no model gave a reply", filepath.Join(t.TempDir(), "new.json"): ""} {
		r := replay.NewRecorder(at, open)
		hear(t.Context(), r.Around("a", always(said{err: &model.Error{Code: model.Misconfigured, Message: "no key"}})), ask(user("x")))
		if err := r.Close(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if want == "" && !strings.Contains(content(t, at), "no key") {
			t.Error("the failure is not recorded")
		}
	}
	if content(t, file) != before {
		t.Error("the recording is another one")
	}
}

func TestCloseSaysWhatFailed(t *testing.T) {
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	cases := map[string]struct {
		file string
		req  *model.Request
		said []said
		want string
	}{
		"no folder":    {"no/such/r.json", ask(), one(says("x")), "no/such"},
		"odd request":  {"r.json", ask(calls(&genai.FunctionCall{Name: "f", Args: map[string]any{"n": math.NaN()}}).Content), one(says("x")), "agent a: message 1: json: unsupported value"},
		"odd reply":    {"r.json", ask(), one(&model.Reply{Opaque: []byte(deep)}), "agent a: opaque: JSON is nested more than 1000 levels deep"},
		"broken reply": {"r.json", ask(), one(&model.Reply{Opaque: []byte("{")}), "agent a: opaque: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := replay.NewRecorder(filepath.Join(dir, c.file), open)
			for i := range 5 {
				h := hear(t.Context(), r.Around("a", always(c.said...)), &model.Request{System: fmt.Sprint(i), Contents: c.req.Contents})
				if h.err != nil || h.last == nil {
					t.Fatalf("the agent is disturbed: %v", h.err)
				}
			}
			first := r.Close()
			if first == nil || !strings.Contains(first.Error(), c.want) || !strings.Contains(first.Error(), c.file) {
				t.Errorf("error %v", first)
			}
			if again := r.Close(); !errors.Is(again, first) {
				t.Errorf("the second time: %v", again)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestReplayStops(t *testing.T) {
	piece := said{reply: &model.Reply{Partial: true, Content: text("model", "pie")}}
	file, _ := record(t, open, always(piece, piece, said{reply: says("x")}), ask())
	m := load(t, file, open).Model("a")
	reason := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	for _, err := range m.Generate(ctx, ask()) {
		if n++; n == 1 {
			cancel(reason)
		} else if !errors.Is(err, reason) {
			t.Errorf("piece %d: %v", n, err)
		}
	}
	if h := hear(ctx, m, ask()); n != 2 || !errors.Is(h.err, reason) || len(h.Events) != 1 {
		t.Errorf("%d pieces, then %v", n, h.Events)
	}
	for range m.Generate(t.Context(), ask()) {
		break
	}
}

func FuzzLoad(f *testing.F) {
	seed, err := os.ReadFile("testdata/conversation.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"version":1,"exchanges":[{"number":1,"agent":"a","request":{"contents":[null,{"parts":[null,{"functionResponse":{"parts":[null]}}]}]},"pieces":[{"partial":null},{"notice":""}],"reply":{"content":{"parts":[null,{"functionCall":{}}]},"suspend":{"payload":1}}}]}`))
	f.Add([]byte(`{"version":1,"exchanges":[{"number":1,"agent":"a","request":{"tools":null,"system":null,"output_schema":{},"answer":{}},"error":{"code":"x"}}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := os.CreateTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := replay.Load(file.Name(), hiding)
		if err != nil {
			return
		}
		for _, req := range []*model.Request{ask(), ask(user("gold")), long("x")} {
			if h := hear(t.Context(), p.Model("a"), req); len(h.Events) == 0 {
				t.Error("nothing came")
			}
		}
	})
}

func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "r.json"), filepath.Join(t.TempDir(), "link.json")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Skip("SKIPPED, no links here:", err)
	}
	r := replay.NewRecorder(link, open)
	hear(t.Context(), r.Around("a", always(one(says("x"))...)), ask())
	if err := errors.Join(replay.CanRecord(link), r.Close()); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != file || content(t, file) == "" {
		t.Errorf("the link leads to %s: %v", target, err)
	}
}

func TestCanRecord(t *testing.T) {
	dir := t.TempDir()
	path := func(name, data string, mode os.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(data), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for file, want := range map[string]string{
		recordedAnew(t):                                  "",
		path("empty", "", 0o600):                         "",
		filepath.Join(dir, "new"):                        "",
		path("agent.yaml", "name: a", 0o600):             "agent.yaml is there and is no recording",
		path("other.json", `{"version":1,"x":2}`, 0o600): "other.json is there and is no recording",
		filepath.Join(dir, "none", "x"):                  "there is no folder " + filepath.Join(dir, "none"),
		filepath.Join(dir, "empty", "x"):                 "there is no folder " + filepath.Join(dir, "empty"),
		dir:                                              "is no file",
		filepath.Join(dir, strings.Repeat("x", 254)):     "nothing can be written into the folder " + dir, // the name beside it is too long
	} {
		before, _ := os.ReadDir(filepath.Dir(file))
		err := replay.CanRecord(file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", file, err)
		}
		if after, _ := os.ReadDir(filepath.Dir(file)); len(after) != len(before) {
			t.Errorf("%s: left behind: %v", file, after)
		}
	}
}
