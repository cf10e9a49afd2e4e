package replay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

// bound is how large files may be here.
const bound = 1 << 20

// stops records up to 200 requests until recording stops, and gives the number
// of the request at which Stopped was told.
func stops(t *testing.T, file string, m model.Model, request func(i int) *model.Request) (at int, closed error) {
	t.Helper()
	var told []error
	r := replay.NewRecorder(file, replay.Options{Redact: open.Redact, Stopped: func(err error) { told = append(told, err) }})
	if was := r.Bound(bound); was != replay.MaxSize {
		t.Errorf("a file may have %d bytes, and Load takes %d", was, replay.MaxSize)
	}
	most := 200
	for i := 1; i <= most; i++ {
		if h := hear(t.Context(), r.Around("a", m), request(i)); h.err != nil || h.last == nil {
			t.Fatalf("the agent is disturbed: %v", h.err)
		}
		if at == 0 && len(told) > 0 {
			at = i
			if err := r.Err(); !errors.Is(told[0], err) || !strings.Contains(err.Error(), fmt.Sprintf("%s stopped at exchange %d, a reply to agent a: ", file, i)) {
				t.Errorf("told %v, and it says %v", told[0], err)
			}
			most = min(most, i+3) // those after it change nothing
		}
	}
	if len(told) > 1 {
		t.Errorf("told %d times", len(told))
	}
	return at, r.Close()
}

// TestStopsAtOnce: recording stops where it cannot go on, says so there, and the file
// has what was recorded before.
func TestStopsAtOnce(t *testing.T) {
	nested := json.RawMessage(strings.Repeat("[", 300) + strings.Repeat("]", 300)) // 180 KB when it is indented
	large := strings.Repeat("0123456789abcdef", 1<<14)                             // a quarter of the bound
	apart := func(i int) *model.Request { return ask(user(fmt.Sprint("question ", i))) }
	goingOn := []*genai.Content{}
	cases := map[string]struct {
		m       model.Model
		request func(i int) *model.Request
		why     string
		at      int // which exchange is one too many
	}{
		"replies":             {always(said{notice: large}, said{reply: says("x")}), apart, "larger than 64 MiB", 4},
		"space of the format": {always(one(&model.Reply{Opaque: nested})...), apart, "larger than 64 MiB", 6},
		// The reply that is in the next request is not the one that was recorded, so the
		// file has the whole conversation each time.
		"the same again and again": {always(one(says("x"))...), func(i int) *model.Request {
			goingOn = append(goingOn, user(large[:64<<10]), text("model", "changed"))
			return ask(append(goingOn[:len(goingOn):len(goingOn)], user(fmt.Sprint(i)))...)
		}, "larger than 64 MiB", 6},
		"what cannot be written": {fake(func(req *model.Request) []said {
			if strings.HasSuffix(req.Contents[0].Parts[0].Text, " 3") {
				return one(&model.Reply{Opaque: []byte("{")})
			}
			return one(says("x"))
		}), apart, "opaque: ", 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.json")
			at, err := stops(t, file, c.m, c.request)
			if at != c.at || err == nil || !strings.Contains(err.Error(), c.why) || !strings.HasSuffix(err.Error(), fmt.Sprintf("; the %d before it are recorded", c.at-1)) {
				t.Fatalf("stopped at exchange %d: %v", at, err)
			}
			load(t, file, open)
			if n := strings.Count(content(t, file), `"number": `); n != c.at-1 {
				t.Errorf("the file has %d exchanges", n)
			}
		})
	}
}

// TestFillsTheFile: conversations, each going on from its reply, have nearly as much
// of the file as there is, and load.
func TestFillsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	long := strings.Repeat("y", 10<<10)
	at, err := stops(t, file, always(one(says(long))...), func(i int) *model.Request {
		so := []*genai.Content{user(fmt.Sprint((i + 1) / 2))}
		if i%2 == 0 {
			so = append(so, text("model", long), user("and?"))
		}
		req := ask(so...)
		req.System = fmt.Sprint("Instruction ", i/10)
		return req
	})
	info, stat := os.Stat(file)
	if stat != nil || err == nil || info.Size() > bound || info.Size() < bound-12<<10 || at < 90 {
		t.Errorf("stopped at %d with %d bytes: %v, %v", at, info.Size(), err, stat)
	}
	load(t, file, open)
}
