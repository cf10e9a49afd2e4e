package artifact_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/artifact/artifacttest"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

func TestMemory(t *testing.T) {
	artifacttest.Run(t, func(_ *testing.T, b artifacttest.Bounds) artifact.Store {
		return artifact.NewMemory(artifact.MemoryOptions{
			MaxBytes: b.MaxBytes, MaxConversationBytes: b.MaxConversationBytes, MaxVersions: b.MaxVersions, MaxArtifacts: b.MaxArtifacts,
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
	})
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(o artifact.MemoryOptions) (*artifact.Memory, *clock, *bytes.Buffer) {
	c, log := &clock{time.Unix(0, 0)}, &bytes.Buffer{}
	o.Now, o.Log = c.Now, slog.New(slog.NewTextHandler(log, nil))
	return artifact.NewMemory(o), c, log
}

func key(principal, handle string) session.Key {
	return session.Key{Principal: principal, Agent: "a", Handle: handle}
}

// held names the conversations, of ann and bob, that still hold x, without
// reading them.
func held(t *testing.T, ids map[string]string, s artifact.Store) string {
	t.Helper()
	var names []string
	for _, who := range []string{"ann", "bob"} {
		for n := range 10 {
			name := fmt.Sprint(who, n)
			if _, err := s.Get(t.Context(), who, "a", ids[name]); err == nil {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, " ")
}

// fill saves 30,000 bytes to a conversation such as ann1.
func fill(t *testing.T, s artifact.Store, ids map[string]string, name string) {
	t.Helper()
	a := artifacttest.Save(t, s, key(name[:3], name[3:]), "x", strings.Repeat("x", 30_000))
	ids[name] = a.ID
}

func TestTheTotalIsBounded(t *testing.T) {
	for _, tc := range []struct{ name, saves, want string }{
		{"fits", "ann1 ann2 ann3", "ann1 ann2 ann3"},
		{"the oldest goes", "ann1 ann2 ann3 ann4 ann5", "ann3 ann4 ann5"},
		{"written again is not old", "ann1 ann2 ann1 ann3", "ann1 ann3"},
		{"what was just written stays", "ann1 ann1 ann1", "ann1"},
		{"read again is not old", "ann1 ann2 ann3 ?ann1 ann4", "ann1 ann3 ann4"},
		{"nobody drives out another", "bob1 ann1 ann2 ann3 ann4 ann5", "ann4 ann5 bob1"},
		{"the last of the largest may be the one just written", "bob1 ann1 ann1 ann1", "ann1"},
		{"what has gone counts no more", "ann1 ann2 ann3 ann4 ann5 bob1 bob2 bob3", "ann5 bob2 bob3"},
		{"nor does who has nothing", "ann1 -ann1 bob1 bob2 bob3 bob4", "bob2 bob3 bob4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, log := open(artifact.MemoryOptions{MaxTotalBytes: 100_000})
			ids := map[string]string{}
			for name := range strings.FieldsSeq(tc.saves) {
				if gone, ok := strings.CutPrefix(name, "-"); ok {
					delete(ids, gone)
					if err := s.DeleteConversation(t.Context(), key(gone[:3], gone[3:])); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if read, ok := strings.CutPrefix(name, "?"); ok {
					artifacttest.Text(t, s, key(read[:3], read[3:]), "x", 0)
					continue
				}
				fill(t, s, ids, name)
			}
			got := held(t, ids, s)
			if got != tc.want {
				t.Errorf("held are %s, want %s", got, tc.want)
			}
			gone := len(ids) - strings.Count(got+" ", " ")
			if n := strings.Count(log.String(), `msg="artifacts of a conversation evicted" agent=a reason="too many bytes" artifacts=1 bytes=30`); n != gone {
				t.Errorf("%d are gone, the log says\n%s", gone, log)
			}
		})
	}
}

// One conversation alone cannot hold more than the total.
func TestTheTotalBoundsAConversation(t *testing.T) {
	s, _, _ := open(artifact.MemoryOptions{MaxTotalBytes: 40_000})
	ids := map[string]string{}
	fill(t, s, ids, "ann1")
	fill(t, s, ids, "ann2")
	_, err := s.Save(t.Context(), key("ann", "2"), artifact.Artifact{Name: "y", Data: make([]byte, 30_000)})
	if !errors.Is(err, artifact.ErrTooLarge) || held(t, ids, s) != "ann2" {
		t.Errorf("error %v, held %s", err, held(t, ids, s))
	}
}

// Artifacts that hold nothing take memory too.
func TestEmptyArtifactsAreBounded(t *testing.T) {
	s, _, log := open(artifact.MemoryOptions{MaxTotalBytes: 100_000})
	for n := range 1000 {
		artifacttest.Save(t, s, key("ann", fmt.Sprint(n)), "x", "")
	}
	if n := strings.Count(log.String(), "evicted"); n < 800 {
		t.Errorf("%d of 1000 conversations are gone", n)
	}
}

func TestIdleConversationsAreForgotten(t *testing.T) {
	s, c, log := open(artifact.MemoryOptions{IdleTTL: time.Hour})
	ids := map[string]string{}
	for _, name := range []string{"ann1", "ann2", "ann3", "ann4", "bob1"} {
		fill(t, s, ids, name)
	}
	c.now = c.now.Add(40 * time.Minute)
	fill(t, s, ids, "ann1") // written
	if got := artifacttest.Text(t, s, key("ann", "2"), "x", 0); len(got) != 30_000 {
		t.Error("ann2 is gone already")
	}
	if _, err := s.Get(t.Context(), "ann", "a", ids["ann3"]); err != nil {
		t.Error("ann3 is gone already")
	}
	c.now = c.now.Add(40 * time.Minute)
	if got := held(t, ids, s); got != "ann1 ann2 ann3" {
		t.Errorf("held are %s", got)
	}
	if n := strings.Count(log.String(), "reason=idle artifacts=1 bytes=30523 idle=1h20m0s"); n != 2 {
		t.Errorf("the log says\n%s", log)
	}
	c.now = c.now.Add(2 * time.Hour)
	if all, err := s.List(t.Context(), key("ann", "1")); err != nil || len(all) != 0 {
		t.Errorf("listed %v, %v", all, err)
	}
	if a := artifacttest.Save(t, s, key("ann", "1"), "x", "anew"); a.Version != 1 {
		t.Errorf("it begins anew at version %d", a.Version)
	}
}

// A source that repeats itself or runs dry never makes two ids the same.
func TestBadRandomness(t *testing.T) {
	for name, random := range map[string]io.Reader{
		"repeats itself": bytes.NewReader(make([]byte, 64)),
		"runs dry":       bytes.NewReader(make([]byte, 17)),
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := open(artifact.MemoryOptions{Random: random, MaxVersions: 1})
			ann := artifacttest.Save(t, s, key("ann", "1"), "x", "ann's")
			if a, err := s.Save(t.Context(), key("bob", "1"), artifact.Artifact{Name: "x"}); err == nil {
				t.Errorf("saved %+v", a)
			}
			if a, err := s.Save(t.Context(), key("ann", "1"), artifact.Artifact{Name: "x"}); err == nil {
				t.Errorf("saved %+v", a)
			}
			if got, err := s.Get(t.Context(), "ann", "a", ann.ID); err != nil || string(got.Data) != "ann's" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestCheckNameSaysWhatToDo(t *testing.T) {
	for name, want := range map[string]string{
		"user:x":                      `the artifact name "user:x" begins with user:, but artifacts belong to one conversation and cannot be shared: leave user: out`,
		"../x":                        `"../x" cannot be the name of an artifact: use a relative path of letters, digits, spaces and _ - . / such as reports/2026.md`,
		strings.Repeat("ü", 101):      `the artifact name "` + strings.Repeat("ü", 30) + `..." is longer than 200 bytes`,
		strings.Repeat("ü", 99) + "?": `"` + strings.Repeat("ü", 30) + `..." cannot be the name of an artifact: use a relative path of letters, digits, spaces and _ - . / such as reports/2026.md`,
	} {
		if err := artifact.CheckName(name); err == nil || err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
