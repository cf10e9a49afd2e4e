// Package memorytest is the contract that every memory service keeps.
//
// Start with [Run].
package memorytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/memory"
)

// Run checks a service against the contract of [memory.Service]. open gives an
// empty one that keeps at least a hundred entries of 1 KiB for each of ten
// owners; it sees to its end.
func Run(t *testing.T, open func(t *testing.T) memory.Service) {
	for name, check := range map[string]func(*testing.T, memory.Service){
		"what was added is found": found,
		"the best first":          ranked,
		"words of any script":     scripts,
		"at most so many":         bounded,
		"isolation":               isolated,
		"concurrency":             concurrent,
		"cancelled":               cancelled,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

var ann = memory.Owner{Principal: "ann", Agent: "a"}

// Add adds texts of an owner, a minute apart, or fails the test.
func Add(t *testing.T, s memory.Service, owner memory.Owner, texts ...string) {
	t.Helper()
	entries := make([]memory.Entry, len(texts))
	for i, text := range texts {
		entries[i] = memory.Entry{Owner: owner, Conversation: "c", Time: time.Unix(int64(i)*60, 0).UTC(), Author: "user", Text: text}
	}
	if err := s.Add(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
}

// Texts gives what a search finds, joined by |, or its error.
func Texts(t *testing.T, s memory.Service, owner memory.Owner, query string, most int) string {
	t.Helper()
	entries, err := s.Search(t.Context(), owner, query, most)
	if err != nil {
		return err.Error()
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	return strings.Join(texts, "|")
}

func found(t *testing.T, s memory.Service) {
	e := memory.Entry{Owner: ann, Conversation: "c", Time: time.Unix(1, 2).UTC(), Author: "a", Text: "The Garden gate is green, isn't it?"}
	if err := s.Add(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for query, hit := range map[string]bool{"GARDEN": true, "what about the gate": true, "isn": true, "gar": false, "": false, "?": false, "x garden_gate": true} {
		all, err := s.Search(t.Context(), ann, query, 5)
		if err != nil || hit != (len(all) == 1) {
			t.Errorf("%q: %+v %v", query, all, err)
		}
		if hit && all[0] != e {
			t.Errorf("%q: %+v", query, all[0])
		}
	}
}

func ranked(t *testing.T, s memory.Service) {
	Add(t, s, ann, "red red red", "red and blue", "blue whale", "red", "green")
	if got := Texts(t, s, ann, "Red BLUE red blue", 9); got != "red and blue|red|blue whale|red red red" {
		t.Error(got)
	}
}

func scripts(t *testing.T, s memory.Service) {
	Add(t, s, ann, "Grüße aus Köln", "Привет, мир", "नमस्ते दुनिया", "room 42b")
	for query, want := range map[string]string{"köln": "Grüße aus Köln", "МИР": "Привет, мир", "दुनिया": "नमस्ते दुनिया", "दुन": "", "42B": "room 42b", "42": ""} {
		if got := Texts(t, s, ann, query, 9); got != want {
			t.Errorf("%s: %q", query, got)
		}
	}
}

func bounded(t *testing.T, s memory.Service) {
	for i := range 100 {
		Add(t, s, ann, fmt.Sprintf("common %d %s", i, strings.Repeat("x", 1000)))
	}
	for most, want := range map[int]int{-1: 0, 0: 0, 1: 1, 7: 7, 1000: 100} {
		if all, err := s.Search(t.Context(), ann, "common", most); err != nil || len(all) != want {
			t.Errorf("%d: %d, %v", most, len(all), err)
		}
	}
}

func isolated(t *testing.T, s memory.Service) {
	others := []memory.Owner{{Principal: "bob", Agent: "a"}, {Principal: "ann", Agent: "b"}, {Principal: "a", Agent: "ann"}, {}}
	for _, o := range others {
		Add(t, s, o, "secret of "+o.Principal+"/"+o.Agent)
	}
	if got := Texts(t, s, ann, "secret", 9); got != "" {
		t.Errorf("ann finds %q", got)
	}
	Add(t, s, ann, "my secret")
	if got := Texts(t, s, ann, "secret", 9); got != "my secret" {
		t.Errorf("ann finds %q", got)
	}
	for _, o := range others {
		if got := Texts(t, s, o, "secret", 9); got != "secret of "+o.Principal+"/"+o.Agent {
			t.Errorf("%+v finds %q", o, got)
		}
	}
}

func concurrent(t *testing.T, s memory.Service) {
	var all sync.WaitGroup
	for i := range 10 {
		owner := memory.Owner{Principal: fmt.Sprint("p", i), Agent: "a"}
		all.Go(func() {
			for n := range 20 {
				if err := s.Add(t.Context(), memory.Entry{Owner: owner, Text: fmt.Sprint("word ", n)}); err != nil {
					t.Error(err)
				}
				if got, err := s.Search(t.Context(), owner, "word", 100); err != nil || len(got) != n+1 {
					t.Errorf("%d found, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}

func cancelled(t *testing.T, s memory.Service) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Add(ctx, memory.Entry{Owner: ann, Text: "word"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.Search(ctx, ann, "word", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := Texts(t, s, ann, "word", 1); got != "" {
		t.Error(got)
	}
}
