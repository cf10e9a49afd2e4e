package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/memory/memorytest"
)

func open(t *testing.T, o memory.Options) *memory.Memory {
	m := memory.NewMemory(o)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestMemoryKeepsTheContract(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memory.Service { return open(t, memory.Options{}) })
}

func ownerOf(name string) memory.Owner { return memory.Owner{Principal: name, Agent: "a"} }

func TestOldestGoesFirst(t *testing.T) {
	long := strings.Repeat("x", 1000)
	cases := []struct {
		name  string
		opts  memory.Options
		texts []string
		want  string
	}{
		{"entries", memory.Options{MaxEntries: 2}, []string{"w 1", "w 2", "w 3"}, "w 3|w 2"},
		{"bytes", memory.Options{MaxBytes: 4000}, []string{"w 1 " + long, "w 2 " + long, "w 3"}, "w 3|w 2 " + long},
		{"too large altogether", memory.Options{MaxBytes: 1000}, []string{"w 1", "w 2 " + long}, ""},
		{"too large for all", memory.Options{MaxTotalBytes: 1000}, []string{"w 1 " + long}, ""},
		{"nothing but signs", memory.Options{MaxEntries: 1}, []string{"w 1", "?!", ""}, "w 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, c.opts)
			memorytest.Add(t, m, ownerOf("ann"), c.texts...)
			if got := memorytest.Texts(t, m, ownerOf("ann"), "w", 9); got != c.want {
				t.Errorf("found %q", got)
			}
		})
	}
}

func TestOwnersAreBounded(t *testing.T) {
	for name, o := range map[string]memory.Options{"owners": {MaxOwners: 3}, "bytes": {MaxTotalBytes: 4000}} {
		t.Run(name, func(t *testing.T) {
			m := open(t, o)
			text := "word " + strings.Repeat("x", 400) // about 1,100 bytes with its words
			for i := range 3 {
				memorytest.Add(t, m, ownerOf(fmt.Sprint(i)), text)
			}
			memorytest.Add(t, m, ownerOf("0"), "word") // used last
			for i := 3; i < 5; i++ {
				memorytest.Add(t, m, ownerOf(fmt.Sprint(i)), text)
			}
			for i, kept := range []bool{true, false, false, true, true} {
				if got := memorytest.Texts(t, m, ownerOf(fmt.Sprint(i)), "word", 9); (got != "") != kept {
					t.Errorf("owner %d has %q", i, got)
				}
			}
		})
	}
}

func TestLongTexts(t *testing.T) {
	m := open(t, memory.Options{})
	memorytest.Add(t, m, ownerOf("ann"), "first "+strings.Repeat("ü ", 20<<10)+"last")
	got := memorytest.Texts(t, m, ownerOf("ann"), "first", 1)
	if len(got) > 16<<10 || len(got) < 16<<10-2 || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes kept", len(got))
	}
	var query strings.Builder
	for i := range 1000 {
		fmt.Fprint(&query, "q", i, " ")
	}
	if got := memorytest.Texts(t, m, ownerOf("ann"), query.String()+"first", 1); got != "" {
		t.Error("a query counts without end")
	}
}

func TestClosed(t *testing.T) {
	m := open(t, memory.Options{})
	memorytest.Add(t, m, ownerOf("ann"), "word")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Add(t.Context(), memory.Entry{Text: "word"}); !errors.Is(err, memory.ErrClosed) {
		t.Error(err)
	}
	if _, err := m.Search(t.Context(), ownerOf("ann"), "word", 1); !errors.Is(err, memory.ErrClosed) {
		t.Error(err)
	}
}

func BenchmarkSearch(b *testing.B) {
	m := memory.NewMemory(memory.Options{})
	for i := range memory.DefaultMaxEntries {
		text := fmt.Sprintf("entry %d of many, with some words that others have and some such as w%d and v%d", i, i, i)
		if err := m.Add(b.Context(), memory.Entry{Owner: ownerOf("ann"), Text: text}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := m.Search(b.Context(), ownerOf("ann"), "what did i say of w7 and of some others", 10); err != nil {
			b.Fatal(err)
		}
	}
}
