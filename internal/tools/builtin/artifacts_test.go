package builtin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// shelves are both tools of artifacts on one store.
type shelves struct {
	set
	store *artifact.Memory
}

func newShelves(t *testing.T, o artifact.MemoryOptions, maxResult int) shelves {
	t.Helper()
	o.Now, o.Log = time.Now, slog.New(slog.DiscardHandler)
	s := shelves{set{}, artifact.NewMemory(o)}
	t.Cleanup(func() { _ = s.store.Close() })
	for _, name := range []string{"save_artifact", "load_artifacts"} {
		s.add(t, &config.Tool{Name: name, MaxResultBytes: maxResult}, Deps{Artifacts: s.store})
	}
	return s
}

var ann = session.Key{Principal: "ann", Agent: "a", Handle: "h"}

// as calls a tool in a conversation.
func (s shelves) as(t *testing.T, key session.Key, name string, args any) *agent.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.set[name].Call(t.Context(), &agent.Call{
		Name: name, Args: raw, Agent: key.Agent, Key: key, Caller: agent.Caller{Principal: key.Principal}, Progress: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (s shelves) save(t *testing.T, a args) string {
	t.Helper()
	return shown(s.as(t, ann, "save_artifact", a))
}

func (s shelves) load(t *testing.T, names ...string) string {
	t.Helper()
	return shown(s.as(t, ann, "load_artifacts", naming(names)))
}

// naming gives the arguments that name artifacts; nil leaves them out.
func naming(names []string) args {
	if names == nil {
		return args{}
	}
	return args{"names": names}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestSaveArtifact(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		args       args
	}{
		{"text", "saved a.txt, version 1, text/plain, 5 bytes", args{"name": "a.txt", "content": "hello"}},
		{"type by name", "saved a/B.MD, version 1, text/markdown, 2 bytes", args{"name": "a/B.MD", "content": "ü"}},
		{"no ending", "saved notes, version 1, text/plain, 0 bytes", args{"name": "notes", "content": ""}},
		{"type of its own", "saved a.txt, version 1, text/x-ada; charset=utf-8, 1 bytes", args{"name": "a.txt", "content": "x", "mime_type": "text/x-ada; charset=utf-8"}},
		{"an image that is text", "saved a.svg, version 1, image/svg+xml, 6 bytes", args{"name": "a.svg", "content": "<svg/>"}},
		{"bytes", "saved a.png, version 1, image/png, 16 bytes", args{"name": "a.png", "data": b64(png)}},
		{"type by content", "saved chart, version 1, image/png, 16 bytes", args{"name": "chart", "data": b64(png)}},
		{"nothing known", "saved x.bin, version 1, application/octet-stream, 2 bytes", args{"name": "x.bin", "data": b64("\x00\x01")}},
		{"base64 in lines", "saved a.png, version 1, image/png, 16 bytes", args{"name": "a.png", "data": b64(png)[:6] + "\r\n" + b64(png)[6:]}},
		{"both", "error: nothing was saved: give either content, which is text, or data, which is base64", args{"name": "a", "content": "", "data": ""}},
		{"neither", "error: nothing was saved: give either content, which is text, or data, which is base64", args{"name": "a"}},
		{"not base64", "error: nothing was saved: data is not base64 with padding: illegal base64 data at input byte 0", args{"name": "a", "data": "<svg/>"}},
		{"text that is to be an image", "error: nothing was saved: content is text, but a.png is to be of type image/png; give its bytes as data, in base64, or another type or name", args{"name": "a.png", "content": b64(png)}},
		{"no name", "error: argument name: missing", args{"content": "x"}},
		{"bad name", `error: nothing was saved: "../a" cannot be the name of an artifact: use a relative path of letters, digits, spaces and _ - . / such as reports/2026.md`, args{"name": "../a", "content": "x"}},
		{"shared", `error: nothing was saved: the artifact name "user:a" begins with user:, but artifacts belong to one conversation and cannot be shared: leave user: out`, args{"name": "user:a", "content": "x"}},
		{"bad type", `error: argument mime_type: must match the pattern ^[a-z]+/[A-Za-z0-9.+-]+(; *[a-z]+=[A-Za-z0-9._-]+)*$, got "png"`, args{"name": "a", "content": "x", "mime_type": "png"}},
		{"too large", "error: nothing was saved: artifact is too large: a has 1001 bytes, at most 1000 can be kept", args{"name": "a", "content": strings.Repeat("x", 1001)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newShelves(t, artifact.MemoryOptions{MaxBytes: 1000}, 0)
			res := s.as(t, ann, "save_artifact", tc.args)
			if got := shown(res); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			all, err := s.store.List(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(all, res.Artifacts); diff != "" {
				t.Errorf("the result tells another artifact than is kept: %s", diff)
			}
			if saved := len(all) == 1; saved == res.IsError {
				t.Errorf("kept %v", all)
			}
		})
	}
}

func TestSavedBytesAreThose(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{}, 0)
	s.save(t, args{"name": "a", "content": "first\n"})
	if got := s.save(t, args{"name": "a", "data": b64(png)}); got != "saved a, version 2, image/png, 16 bytes" {
		t.Error(got)
	}
	for version, want := range map[int]string{1: "first\n", 2: png} {
		if a, err := s.store.Load(t.Context(), ann, "a", version); err != nil || string(a.Data) != want {
			t.Errorf("version %d: %+v, %v", version, a, err)
		}
	}
}

func TestLoadArtifacts(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{}, 0)
	if got := s.load(t); got != "nothing has been saved in this conversation" {
		t.Error(got)
	}
	if got := s.load(t, "x"); got != `error: there is no artifact "x": nothing has been saved in this conversation` {
		t.Error(got)
	}
	for _, a := range []args{
		{"name": "notes.md", "content": "old"}, {"name": "notes.md", "content": "# New\n"}, {"name": "chart.png", "data": b64(png)},
		{"name": "data.json", "content": `{"a":1}`}, {"name": "empty.png", "data": ""}, {"name": "broken.txt", "data": b64("\xff")},
	} {
		if got := s.save(t, a); !strings.HasPrefix(got, "saved ") {
			t.Fatal(got)
		}
	}
	const listed = "broken.txt, version 1, text/plain, 1 bytes\nchart.png, version 1, image/png, 16 bytes\ndata.json, version 1, application/json, 7 bytes\n" +
		"empty.png, version 1, image/png, 0 bytes\nnotes.md, version 2, text/markdown, 6 bytes"
	for _, tc := range []struct {
		names []string
		want  string
		media string
	}{
		{nil, listed, ""},
		{[]string{}, listed, ""},
		{[]string{"notes.md"}, "notes.md, version 2, text/markdown, 6 bytes:\n# New", ""},
		{[]string{"data.json", "notes.md", "data.json"}, "data.json, version 1, application/json, 7 bytes:\n{\"a\":1}\nnotes.md, version 2, text/markdown, 6 bytes:\n# New", ""},
		{[]string{"chart.png"}, "chart.png, version 1, image/png, 16 bytes: attached", "image/png=" + png},
		{[]string{"empty.png", "chart.png"}, "empty.png, version 1, image/png, 0 bytes\nchart.png, version 1, image/png, 16 bytes: attached", "image/png=" + png},
		{[]string{"broken.txt"}, "broken.txt, version 1, text/plain, 1 bytes: attached", "text/plain=\xff"},
		{[]string{"notes.md", "nots.md"}, `error: there is no artifact "nots.md"; there are: broken.txt, chart.png, data.json, empty.png, notes.md`, ""},
		{[]string{"../notes.md"}, `error: there is no artifact "../notes.md"; there are: broken.txt, chart.png, data.json, empty.png, notes.md`, ""},
	} {
		res := s.as(t, ann, "load_artifacts", naming(tc.names))
		media := ""
		for _, m := range res.Media {
			media += m.MIMEType + "=" + string(m.Data)
		}
		if got := shown(res); got != tc.want || media != tc.media {
			t.Errorf("%q:\ngot  %s %q\nwant %s %q", tc.names, got, media, tc.want, tc.media)
		}
	}
	if got := shown(s.result(t, t.Context(), "load_artifacts", `{}`)); got != "nothing has been saved in this conversation" {
		t.Errorf("a call of nobody sees %s", got)
	}
}

// Conversations see nothing of each other, nor do callers and agents.
func TestArtifactsOfOthers(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{}, 0)
	s.save(t, args{"name": "a", "content": "ann's"})
	for _, key := range []session.Key{{Principal: "bob", Agent: "a", Handle: "h"}, {Principal: "ann", Agent: "b", Handle: "h"}, {Principal: "ann", Agent: "a", Handle: "i"}} {
		if got := shown(s.as(t, key, "load_artifacts", args{})); got != "nothing has been saved in this conversation" {
			t.Errorf("%+v sees %s", key, got)
		}
		if got := shown(s.as(t, key, "load_artifacts", args{"names": []string{"a"}})); strings.Contains(got, "ann's") {
			t.Errorf("%+v reads %s", key, got)
		}
	}
}

func TestLoadedArtifactsAreBounded(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{MaxArtifacts: 100}, 1000)
	s.save(t, args{"name": "long.txt", "content": strings.Repeat("x", 5000) + "END"})
	if got := s.load(t, "long.txt"); len(got) > 1000 || !strings.HasPrefix(got, "long.txt, version 1, text/plain, 5003 bytes:\nxxx") || !strings.HasSuffix(got, "END") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	for i := range 98 {
		s.save(t, args{"name": fmt.Sprintf("n%02d", i), "content": ""})
	}
	if got := s.load(t, "x"); !strings.HasSuffix(got, "n47, n48, and 49 more") {
		t.Error(got)
	}
}

func TestArtifactsWithoutAStore(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{}, 0)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"error: nothing was saved: artifact store is closed": s.save(t, args{"name": "a", "content": ""}),
		"error: artifact store is closed":                    s.load(t),
	} {
		if got != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
}

func TestArtifactHints(t *testing.T) {
	s := newShelves(t, artifact.MemoryOptions{}, 0)
	want := map[string]agent.Hints{
		"save_artifact":  {NonDestructive: true, ClosedWorld: true},
		"load_artifacts": {ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true},
	}
	for name, hints := range want {
		if got := s.set[name].Spec().Hints; got != hints {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
