package selection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

type fake struct{ spec agent.Spec }

func (f *fake) Spec() *agent.Spec { return &f.spec }

func (f *fake) Call(context.Context, *agent.Call) (*agent.Result, error) {
	return agent.Text(f.spec.Name), nil
}

// bench is a selector with its tools, one an entry.
type bench struct {
	*Selector
	all   []Tool
	state map[string]any
	fails map[string]int
	log   bytes.Buffer
}

func newBench(t *testing.T, entries ...config.Tool) *bench {
	t.Helper()
	b := &bench{state: map[string]any{}, fails: map[string]int{}}
	var err error
	if b.Selector, err = New(entries, slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		e := &entries[i]
		b.all = append(b.all, Tool{&fake{agent.Spec{Name: e.Name, Description: e.Description}}, e})
	}
	return b
}

// query is what the runner asks, with the state as it would come out of a store.
func (b *bench) query(t *testing.T) *agent.Query {
	t.Helper()
	text, err := json.Marshal(b.state)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]any{}
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	return &agent.Query{
		Agent:    "a",
		State:    func(key string) (any, bool) { v, ok := stored[key]; return v, ok },
		Failures: func(tool string) int { return b.fails[tool] },
	}
}

func (b *bench) pick(t *testing.T) (names []string, search agent.Tool) {
	t.Helper()
	seen, err := b.Pick(b.query(t), b.all)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range seen {
		names = append(names, tool.Spec().Name)
		if tool.Spec().Name == "tool_search" {
			search = tool
		}
	}
	return names, search
}

func (b *bench) expect(t *testing.T, names ...string) {
	t.Helper()
	got, _ := b.pick(t)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Error(diff)
	}
}

// find searches, and lets the state know.
func (b *bench) find(t *testing.T, args string) string {
	t.Helper()
	_, search := b.pick(t)
	res, err := search.Call(t.Context(), &agent.Call{Args: json.RawMessage(args), State: b.state})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range res.StateDelta {
		b.state[k] = v
	}
	if res.IsError != res.NotRun {
		t.Errorf("%+v", res)
	}
	return res.Output.(string)
}

func expr(s string) *config.Condition { return &config.Condition{Expr: s} }

func TestNeeded(t *testing.T) {
	for want, entries := range map[bool][]config.Tool{
		false: {{}, {Retry: &config.Retry{}, RequiresApproval: expr("true")}},
	} {
		if got := Needed(entries); got != want {
			t.Errorf("%+v: %v", entries, got)
		}
	}
	for _, e := range []config.Tool{{When: expr("true")}, {When: &config.Condition{}}, {Defer: true}, {MaxFailures: 1}} {
		if !Needed([]config.Tool{{}, e}) {
			t.Errorf("%+v is not needed", e)
		}
	}
	if Needed(nil) {
		t.Error("nothing is needed")
	}
}

func TestWhen(t *testing.T) {
	b := newBench(t, config.Tool{Name: "any"}, config.Tool{Name: "pro", When: expr(`state.plan == "pro"`)},
		config.Tool{Name: "old", When: expr(`state["user:age"] >= 18`)},
		config.Tool{Name: "never", When: &config.Condition{}}, config.Tool{Name: "ever", When: &config.Condition{Is: true}})
	b.expect(t, "any", "ever")
	if lines := strings.Split(strings.TrimSpace(b.log.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "tool=old") || !strings.Contains(lines[0], "not set: state") {
		t.Errorf("log: %s", &b.log)
	}
	b.state["plan"], b.state["user:age"] = "pro", 18
	b.expect(t, "any", "pro", "old", "ever")
	b.state["plan"], b.state["user:age"] = "free", 17
	b.expect(t, "any", "ever")
}

func TestWhenIsChecked(t *testing.T) {
	if _, err := New([]config.Tool{{}, {When: expr("args.x")}}, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), `when: at column 1: there is no "args" here`) {
		t.Error(err)
	}
}

// An entry with many tools is decided on once.
func TestWhenOfManyTools(t *testing.T) {
	b := newBench(t, config.Tool{Name: "one", When: expr(`state.x > 1`)})
	for i := range 300 {
		b.all = append(b.all, Tool{&fake{agent.Spec{Name: fmt.Sprint("t", i)}}, b.all[0].Entry})
	}
	b.expect(t)
	if n := strings.Count(b.log.String(), "\n"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestMaxFailures(t *testing.T) {
	b := newBench(t, config.Tool{Name: "two", MaxFailures: 2}, config.Tool{Name: "any"})
	for n, want := range [][]string{{"two", "any"}, {"two", "any"}, {"any"}, {"any"}} {
		b.fails["two"], b.fails["any"] = n, n
		b.expect(t, want...)
	}
}

func TestDefer(t *testing.T) {
	b := newBench(t, config.Tool{Name: "plain"}, config.Tool{Name: "read_file", Description: "Read a file.", Defer: true},
		config.Tool{Name: "write_file", Description: "Write a file.", Defer: true}, config.Tool{Name: "mail", Description: "Send mail.", Defer: true})
	b.expect(t, "plain", "tool_search")
	if got := b.find(t, `{"query":"read a file"}`); got != "These tools can be called now:\nread_file: Read a file.\nwrite_file: Write a file.\nmail: Send mail." {
		t.Error(got) // "a" is a word, too
	}
	b.expect(t, "plain", "read_file", "write_file", "mail", "tool_search")

	clear(b.state) // the next turn
	b.expect(t, "plain", "tool_search")
	if got := b.find(t, `{"query":"READ  file","limit":1}`); got != "These tools can be called now:\nread_file: Read a file." {
		t.Error(got)
	}
	b.expect(t, "plain", "read_file", "tool_search")
	if got := b.find(t, `{"query":"mail","limit":50}`); got != "These tools can be called now:\nmail: Send mail." {
		t.Error(got)
	}
	b.expect(t, "plain", "read_file", "mail", "tool_search")
	const none = "No tool fits. There are 3 that can be searched; try other words for what the tool should do."
	for _, query := range []string{`""`, `" "`, `"_ - ."`, `"weather"`} {
		if got := b.find(t, `{"query":`+query+`}`); got != none {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// Searches of one step, which see the same state, add to each other.
func TestSearchesAtTheSameTime(t *testing.T) {
	b := newBench(t, config.Tool{Name: "one", Defer: true}, config.Tool{Name: "two", Defer: true})
	_, search := b.pick(t)
	for _, query := range []string{"one", "two"} {
		res, err := search.Call(t.Context(), &agent.Call{Args: json.RawMessage(`{"query":"` + query + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range res.StateDelta {
			if !strings.HasPrefix(k, "temp:") {
				t.Errorf("%s outlives the turn", k)
			}
			b.state[k] = v
		}
	}
	b.expect(t, "one", "two", "tool_search")
}

func TestSearchArguments(t *testing.T) {
	b := newBench(t, config.Tool{Name: "one", Defer: true})
	for args, want := range map[string]bool{
		`{"query":"one","limit":1}`: true, `{"query":"one","limit":50}`: true, `{"query":"one","limit":5.0}`: true, `{"query":"one","limit":1e1}`: true,
		`{"query":"one","limit":0}`: false, `{"query":"one","limit":51}`: false, `{"query":"one","limit":1.5}`: false, `{"query":"one","limit":null}`: false,
		`{}`: false, `{"query":1}`: false, `{"query":"one","more":1}`: false, `[]`: false, `{`: false, ``: false,
	} {
		if got := b.find(t, args); strings.Contains(got, "can be called now") != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestScore(t *testing.T) {
	spec := &agent.Spec{Name: "read_file", Description: "Reads the text of one file."}
	for query, want := range map[string]int{
		"read_file": 10 + 3 + 3 + 1 + 1, "read file": 10 + 3 + 3 + 1 + 1, "Read-File": 3 + 3 + 1 + 1, "file": 10 + 5 + 3 + 1, "file file": 3 + 1,
		"text of one": 5 + 1 + 1 + 1, "text, file": 3 + 1 + 1, "mail": 0, "": 0, "  ": 0, "!": 0,
	} {
		if got := score(query, spec); got != want {
			t.Errorf("%q: %d, want %d", query, got, want)
		}
	}
}

func TestFindOrder(t *testing.T) {
	var tools []agent.Tool
	for _, name := range []string{"b_mail", "c_mail", "a_mail", "mail_list"} {
		tools = append(tools, &fake{agent.Spec{Name: name}})
	}
	var got []string
	for _, spec := range newSearch(tools).find("mail list", 3) {
		got = append(got, spec.Name)
	}
	if diff := cmp.Diff([]string{"mail_list", "b_mail", "c_mail"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongDescriptions(t *testing.T) {
	got := line(&agent.Spec{Name: "t", Description: "a\nb\t" + strings.Repeat("é", 500)})
	if !strings.HasPrefix(got, "t: a b é") || !strings.HasSuffix(got, "é…") || len(got) > maxLineBytes+len("…") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := line(&agent.Spec{Name: "t"}); got != "t" {
		t.Error(got)
	}
}

// What when hides, and what has failed too often, is not found either.
func TestHiddenToolsAreNotFound(t *testing.T) {
	b := newBench(t, config.Tool{Name: "mail_a", Defer: true, When: expr(`state.on == true`)}, config.Tool{Name: "mail_b", Defer: true, MaxFailures: 1})
	b.expect(t, "tool_search")
	_, all := b.pick(t)
	b.fails["mail_b"] = 1
	if got := b.find(t, `{"query":"mail"}`); !strings.HasPrefix(got, "No tool fits. There are 0 ") {
		t.Error(got)
	}
	b.state["on"], b.fails["mail_b"] = true, 0
	if got := b.find(t, `{"query":"mail"}`); got != "These tools can be called now:\nmail_a\nmail_b" {
		t.Error(got)
	}
	b.state["on"], b.fails["mail_b"] = false, 1
	b.expect(t, "tool_search") // found, but hidden again
	b.fails["mail_b"] = 0
	if _, again := b.pick(t); again != all {
		t.Error("the same list has another tool_search")
	}
}

func TestSameSearchForTheSameList(t *testing.T) {
	b := newBench(t, config.Tool{Name: "one", Defer: true}, config.Tool{Name: "two", Defer: true})
	_, first := b.pick(t)
	b.find(t, `{"query":"one"}`)
	if _, again := b.pick(t); again != first || again.Spec() != first.Spec() {
		t.Error("what is found changes tool_search")
	}
	for i := range 3 * maxSearches {
		more := Tool{&fake{agent.Spec{Name: fmt.Sprint("t", i)}}, b.all[0].Entry}
		seen, err := b.Pick(b.query(t), []Tool{b.all[0], b.all[1], more})
		if err != nil || seen[len(seen)-1] == first || len(b.searches) > maxSearches {
			t.Fatalf("%v, %d searches", err, len(b.searches))
		}
		if _, again := b.pick(t); again != first {
			t.Fatal("what is used is forgotten")
		}
	}
}

func TestPeek(t *testing.T) {
	b := newBench(t, config.Tool{Name: "off", When: &config.Condition{}}, config.Tool{Name: "deferred", Defer: true}, config.Tool{Name: "any", MaxFailures: 1})
	seen, err := b.Pick(&agent.Query{Peek: true}, b.all)
	if err != nil || len(seen) != 3 || seen[1] != b.all[1].Tool {
		t.Errorf("%v, %v", seen, err)
	}
	if seen, err = b.Pick(&agent.Query{}, b.all); err != nil || len(seen) != 2 { // nothing is known of the turn
		t.Errorf("%v, %v", seen, err)
	}
}

func TestNameIsTaken(t *testing.T) {
	b := newBench(t, config.Tool{Name: "one", Defer: true}, config.Tool{Name: "tool_search", Pos: config.Position{Line: 7}})
	_, err := b.Pick(b.query(t), b.all)
	var setup *agent.SetupError
	if !errors.As(err, &setup) || !strings.Contains(setup.Message, "line 7") {
		t.Error(err)
	}
	if seen, err := b.Pick(b.query(t), b.all[1:]); err != nil || len(seen) != 1 {
		t.Errorf("%v, %v", seen, err)
	}
}

func BenchmarkPick(b *testing.B) {
	entries := []config.Tool{{Name: "srv", Defer: true, MaxFailures: 3, When: expr(`state.plan == "pro"`)}}
	s, err := New(entries, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var all []Tool
	for i := range 300 {
		all = append(all, Tool{&fake{agent.Spec{Name: fmt.Sprint("t", i)}}, &entries[0]})
	}
	q := &agent.Query{State: func(key string) (any, bool) { return "pro", key == "plan" }, Failures: func(string) int { return 0 }}
	b.ReportAllocs()
	for b.Loop() {
		if seen, err := s.Pick(q, all); err != nil || len(seen) != 1 {
			b.Fatal(seen, err)
		}
	}
}
