// Package artifacttest is the contract that every artifact store keeps.
//
// Start with [Run].
package artifacttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Bounds are those that a store is opened with; 0 means its own.
type Bounds struct {
	MaxBytes, MaxConversationBytes, MaxVersions, MaxArtifacts int
}

// Opener gives an empty store with these bounds. Run closes it.
type Opener func(t *testing.T, b Bounds) artifact.Store

// Run checks a store against the contract of [artifact.Store].
func Run(t *testing.T, open Opener) {
	for name, check := range map[string]func(*testing.T, artifact.Store){
		"save and load":         saveAndLoad,
		"versions":              versions,
		"list":                  list,
		"names":                 names,
		"isolation":             isolation,
		"ids":                   ids,
		"delete a conversation": remove,
		"concurrency":           concurrency,
		"cancelled":             cancelled,
		"close":                 closing,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Bounds{})
			defer s.Close()
			check(t, s)
		})
	}
	for name, check := range map[string]func(*testing.T, Opener){
		"bytes of an artifact":     maxBytes,
		"bytes of a conversation":  maxConversationBytes,
		"versions of a name":       maxVersions,
		"versions in conversation": maxArtifacts,
	} {
		t.Run("bounds: "+name, func(t *testing.T) { check(t, open) })
	}
}

var key = session.Key{Principal: "ann", Agent: "a", Handle: "h"}

// others have nothing to do with key.
var others = []session.Key{
	{Principal: "bob", Agent: "a", Handle: "h"},
	{Principal: "ann", Agent: "b", Handle: "h"},
	{Principal: "ann", Agent: "a", Handle: "x"},
}

// Save saves text under a name or fails the test.
func Save(t *testing.T, s artifact.Store, k session.Key, name, text string) *artifact.Artifact {
	t.Helper()
	a, err := s.Save(t.Context(), k, artifact.Artifact{Name: name, MIMEType: "text/plain", Data: []byte(text)})
	if err != nil {
		t.Fatalf("save %s: %v", name, err)
	}
	return a
}

// Text gives what a version holds, or its error.
func Text(t *testing.T, s artifact.Store, k session.Key, name string, version int) string {
	t.Helper()
	a, err := s.Load(t.Context(), k, name, version)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(a.Data)
}

const missing = "error: no such artifact"

func saveAndLoad(t *testing.T, s artifact.Store) {
	in := artifact.Artifact{ID: "mine", Name: "a/b c.bin", Version: 7, MIMEType: "image/png", Data: []byte{0, 255, 1}}
	saved, err := s.Save(t.Context(), key, in)
	if err != nil {
		t.Fatal(err)
	}
	if saved.ID == "" || saved.ID == "mine" || saved.Version != 1 {
		t.Errorf("saved as %q version %d: the store sets both", saved.ID, saved.Version)
	}
	byName, err := s.Load(t.Context(), key, in.Name, 0)
	if err != nil {
		t.Fatal(err)
	}
	byID, err := s.Get(t.Context(), key.Principal, key.Agent, saved.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*artifact.Artifact{saved, byName, byID} {
		if a.Info() != saved.Info() || a.Name != in.Name || a.MIMEType != in.MIMEType || !bytes.Equal(a.Data, in.Data) {
			t.Errorf("got %+v", a)
		}
	}
	empty := Save(t, s, key, "empty", "")
	if got := Text(t, s, key, "empty", 0); got != "" || empty.Info().Size != 0 {
		t.Errorf("an empty artifact came back as %q", got)
	}
}

func versions(t *testing.T, s artifact.Store) {
	for i := range 3 {
		if a := Save(t, s, key, "x", fmt.Sprint("text ", i+1)); a.Version != i+1 {
			t.Errorf("save %d gave version %d", i+1, a.Version)
		}
	}
	if a := Save(t, s, key, "y", "other"); a.Version != 1 {
		t.Errorf("another name begins at version %d", a.Version)
	}
	for version, want := range map[int]string{0: "text 3", 1: "text 1", 2: "text 2", 3: "text 3", 4: missing, -1: missing} {
		if got := Text(t, s, key, "x", version); got != want {
			t.Errorf("version %d is %q, want %q", version, got, want)
		}
	}
	if got := Text(t, s, key, "z", 0); got != missing {
		t.Errorf("an unknown name gives %q", got)
	}
}

func list(t *testing.T, s artifact.Store) {
	if all, err := s.List(t.Context(), key); err != nil || len(all) != 0 {
		t.Errorf("an empty conversation lists %v, %v", all, err)
	}
	first := Save(t, s, key, "b", "1")
	second := Save(t, s, key, "a", "22")
	third := Save(t, s, key, "b", "333")
	all, err := s.List(t.Context(), key)
	if err != nil || len(all) != 2 || all[0] != second.Info() || all[1] != third.Info() || all[1].Size != 3 || all[1].Version != 2 {
		t.Errorf("listed %+v, %v", all, err)
	}
	if a, err := s.Get(t.Context(), key.Principal, key.Agent, first.ID); err != nil || string(a.Data) != "1" {
		t.Errorf("an older version cannot be had by its id: %v", err)
	}
}

func names(t *testing.T, s artifact.Store) {
	for _, name := range []string{"a", "A b.txt", "reports/2026/März-1_final.md", "...", strings.Repeat("x", 200)} {
		Save(t, s, key, name, "text")
	}
	for _, name := range []string{
		"", ".", "..", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", `a\b`, "C:a", "a\x00", "a\nb", "a\u202eb", "a\xff", " a", "a ", "a/ b", "user:a", "app:a", "a?b", strings.Repeat("x", 201),
	} {
		_, err := s.Save(t.Context(), key, artifact.Artifact{Name: name})
		if err == nil || err.Error() != artifact.CheckName(name).Error() {
			t.Errorf("%q: error %v", name, err)
		}
		if got := Text(t, s, key, name, 0); got != missing {
			t.Errorf("%q was kept", name)
		}
	}
}

func isolation(t *testing.T, s artifact.Store) {
	a := Save(t, s, key, "x", "secret")
	for _, k := range others {
		if got := Text(t, s, k, "x", 0); got != missing {
			t.Errorf("%+v reads %q", k, got)
		}
		if all, err := s.List(t.Context(), k); err != nil || len(all) != 0 {
			t.Errorf("%+v lists %v, %v", k, all, err)
		}
		if b := Save(t, s, k, "x", "other"); b.Version != 1 {
			t.Errorf("%+v begins at version %d", k, b.Version)
		}
		// An id is known to whoever got the link, whatever the conversation.
		got, err := s.Get(t.Context(), k.Principal, k.Agent, a.ID)
		if mine := k.Principal == key.Principal && k.Agent == key.Agent; mine != (err == nil) || !mine && (got != nil || !errors.Is(err, artifact.ErrNotFound)) {
			t.Errorf("%+v gets %v, %v by id", k, got, err)
		}
	}
	if got := Text(t, s, key, "x", 0); got != "secret" {
		t.Errorf("it holds %q now", got)
	}
}

func ids(t *testing.T, s artifact.Store) {
	seen := map[string]bool{}
	for i := range 200 {
		a := Save(t, s, others[i%len(others)], fmt.Sprint("n", i%20), "same")
		random, ok := strings.CutPrefix(a.ID, "ar_")
		if !ok || len(random) != 22 || strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("id %q is not ar_ and 128 bits in base64url", a.ID)
		}
		if seen[a.ID] {
			t.Fatalf("id %q twice", a.ID)
		}
		seen[a.ID] = true
	}
	for _, id := range []string{"", "ar_", "ar_AAAAAAAAAAAAAAAAAAAAAA", "n1"} {
		if _, err := s.Get(t.Context(), "ann", "a", id); !errors.Is(err, artifact.ErrNotFound) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func remove(t *testing.T, s artifact.Store) {
	a := Save(t, s, key, "x", "text")
	Save(t, s, key, "x", "text")
	kept := Save(t, s, others[2], "x", "kept")
	for range 2 { // a second time there is nothing
		if err := s.DeleteConversation(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if got := Text(t, s, key, "x", 0); got != missing {
		t.Errorf("it still holds %q", got)
	}
	if _, err := s.Get(t.Context(), key.Principal, key.Agent, a.ID); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("its id still leads somewhere: %v", err)
	}
	if got, err := s.Get(t.Context(), key.Principal, key.Agent, kept.ID); err != nil || string(got.Data) != "kept" {
		t.Errorf("another conversation lost its own: %v", err)
	}
	if a := Save(t, s, key, "x", "anew"); a.Version != 1 {
		t.Errorf("it begins anew at version %d", a.Version)
	}
}

func concurrency(t *testing.T, s artifact.Store) {
	var group sync.WaitGroup
	for i := range 8 {
		k := others[i%2]
		group.Go(func() {
			for range 10 {
				a, err := s.Save(t.Context(), k, artifact.Artifact{Name: "x", Data: []byte{byte(i)}})
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Load(t.Context(), k, "x", a.Version); err != nil || got.ID != a.ID || got.Data[0] != byte(i) {
					t.Errorf("version %d is another's: %v", a.Version, err)
				}
				if _, err := s.Get(t.Context(), k.Principal, k.Agent, a.ID); err != nil {
					t.Error(err)
				}
				if all, err := s.List(t.Context(), k); err != nil || len(all) != 1 {
					t.Errorf("listed %v, %v", all, err)
				}
			}
		})
	}
	group.Wait()
	for _, k := range others[:2] {
		if a, err := s.Load(t.Context(), k, "x", 0); err != nil || a.Version != 40 {
			t.Errorf("40 saves come to version %+v, %v", a, err)
		}
	}
}

func cancelled(t *testing.T, s artifact.Store) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for name, err := range all(ctx, s) {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := Text(t, s, key, "x", 0); got != missing {
		t.Errorf("it was saved all the same: %q", got)
	}
}

func closing(t *testing.T, s artifact.Store) {
	Save(t, s, key, "x", "text")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, err := range all(t.Context(), s) {
		if !errors.Is(err, artifact.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// all gives the error of every method that takes a context.
func all(ctx context.Context, s artifact.Store) map[string]error {
	errs := map[string]error{}
	_, errs["save"] = s.Save(ctx, key, artifact.Artifact{Name: "x"})
	_, errs["load"] = s.Load(ctx, key, "x", 0)
	_, errs["list"] = s.List(ctx, key)
	_, errs["get"] = s.Get(ctx, key.Principal, key.Agent, "x")
	errs["delete"] = s.DeleteConversation(ctx, key)
	return errs
}

func maxBytes(t *testing.T, open Opener) {
	s := open(t, Bounds{MaxBytes: 1000})
	defer s.Close()
	Save(t, s, key, "x", strings.Repeat("x", 1000))
	if _, err := s.Save(t.Context(), key, artifact.Artifact{Name: "x", Data: make([]byte, 1001)}); !errors.Is(err, artifact.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if a, err := s.Load(t.Context(), key, "x", 0); err != nil || a.Version != 1 {
		t.Errorf("what was refused left something: %+v, %v", a, err)
	}
}

func maxConversationBytes(t *testing.T, open Opener) {
	const most, each = 100_000, 10_000
	s := open(t, Bounds{MaxConversationBytes: most})
	defer s.Close()
	saved := 0
	var err error
	for err == nil && saved <= most/each {
		if _, err = s.Save(t.Context(), key, artifact.Artifact{Name: fmt.Sprint("n", saved), Data: make([]byte, each)}); err == nil {
			saved++
		}
	}
	if !errors.Is(err, artifact.ErrTooLarge) || saved < most/each/2 || saved > most/each {
		t.Errorf("%d of %d bytes each were saved, then %v", saved, each, err)
	}
	if all, err := s.List(t.Context(), key); err != nil || len(all) != saved {
		t.Errorf("%d are listed, %v", len(all), err)
	}
	Save(t, s, others[0], "x", "another conversation has its own bound")
	if err := s.DeleteConversation(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	Save(t, s, key, "x", strings.Repeat("x", each))
}

func maxVersions(t *testing.T, open Opener) {
	s := open(t, Bounds{MaxVersions: 3})
	defer s.Close()
	first := Save(t, s, key, "x", "1")
	for i := 2; i <= 5; i++ {
		if a := Save(t, s, key, "x", fmt.Sprint(i)); a.Version != i {
			t.Errorf("save %d gave version %d", i, a.Version)
		}
	}
	for version, want := range map[int]string{1: missing, 2: missing, 3: "3", 4: "4", 5: "5", 0: "5"} {
		if got := Text(t, s, key, "x", version); got != want {
			t.Errorf("version %d is %q, want %q", version, got, want)
		}
	}
	if _, err := s.Get(t.Context(), key.Principal, key.Agent, first.ID); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("the id of a version that went leads somewhere: %v", err)
	}
}

func maxArtifacts(t *testing.T, open Opener) {
	s := open(t, Bounds{MaxArtifacts: 3, MaxVersions: 2})
	defer s.Close()
	Save(t, s, key, "x", "1")
	Save(t, s, key, "x", "2")
	Save(t, s, key, "y", "1")
	if _, err := s.Save(t.Context(), key, artifact.Artifact{Name: "z"}); !errors.Is(err, artifact.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if a := Save(t, s, key, "x", "3"); a.Version != 3 { // in the place of the first
		t.Errorf("version %d", a.Version)
	}
	Save(t, s, others[0], "z", "another conversation has its own bound")
}
