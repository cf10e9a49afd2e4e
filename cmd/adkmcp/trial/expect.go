package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// maxQuoted bounds what of a text is shown, in characters.
const maxQuoted = 1000

// maxQueryTime bounds one jq program.
const maxQueryTime = 5 * time.Second

// quoted shows a text on one line.
func quoted(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		return fmt.Sprintf("%q and %d more characters", string(r[:maxQuoted]), len(r)-maxQuoted)
	}
	return fmt.Sprintf("%q", s)
}

// compare holds a turn against what is expected, but for what a model judges.
func compare(ctx context.Context, h *heard, e *testfile.Expect) []Failure {
	var failures []Failure
	fail := func(what, want, got string) { failures = append(failures, Failure{What: what, Want: want, Got: got}) }
	if e.Error != "" && h.Problem == nil {
		fail("error", e.Error, "an answer, "+quoted(h.text))
	}
	if e.Calls != nil && !sameCalls(*e.Calls, h.calls, e.CallsAnyOrder) {
		fail("calls", wanted(*e.Calls), list(h.calls))
	}
	compareTexts(h.text, e, fail)
	compareJSON(ctx, h, e.JSON, fail)
	if used := h.Usage.Total; e.MaxTokens > 0 && used > e.MaxTokens {
		fail("max_tokens", fmt.Sprintf("%d at most", e.MaxTokens), fmt.Sprint(used))
	}
	if e.MaxSteps > 0 && h.steps > e.MaxSteps {
		fail("max_steps", fmt.Sprintf("%d at most", e.MaxSteps), fmt.Sprint(h.steps))
	}
	return failures
}

// failing takes a failure: the expectation, what it wants and what came.
type failing func(what, want, got string)

func compareTexts(text string, e *testfile.Expect, fail failing) {
	equal := len(e.Text) == 0
	var any []string
	for _, want := range e.Text {
		equal = equal || strings.TrimSpace(string(want)) == strings.TrimSpace(text)
		any = append(any, quoted(string(want)))
	}
	if !equal {
		fail("text", strings.Join(any, " or "), quoted(text))
	}
	for _, want := range e.Contains {
		if !strings.Contains(text, string(want)) {
			fail("contains", quoted(string(want)), quoted(text))
		}
	}
	for _, not := range e.NotContains {
		if strings.Contains(text, string(not)) {
			fail("not_contains", "nothing of "+quoted(string(not)), quoted(text))
		}
	}
	for _, p := range e.Matches {
		if !p.MatchString(text) {
			fail("matches", p.String(), quoted(text))
		}
	}
}

func compareJSON(ctx context.Context, h *heard, queries []testfile.Query, fail failing) {
	if len(queries) == 0 {
		return
	}
	text := h.Structured
	if text == nil {
		text = json.RawMessage(h.text)
	}
	v, err := decode(text)
	if err != nil {
		fail("json", "an answer in JSON", quoted(string(text)))
		return
	}
	for i := range queries {
		q := &queries[i]
		switch got, err := value(ctx, q.Code, v); {
		case err != nil:
			fail("json "+q.Program, shown(q.Want), err.Error())
		case gojq.Compare(got, q.Want) != 0:
			fail("json "+q.Program, shown(q.Want), shown(got))
		}
	}
}

// value is the only value that a jq program gives.
func value(ctx context.Context, code *gojq.Code, input any) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxQueryTime, fmt.Errorf("nothing within %v", maxQueryTime))
	defer cancel()
	it := code.RunWithContext(ctx, input)
	v, ok := it.Next()
	if !ok {
		return nil, errors.New("nothing")
	}
	if err, failed := v.(error); failed {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if _, more := it.Next(); more {
		return nil, errors.New("several values; put the program into [ ]")
	}
	return v, nil
}

// decode reads one JSON value, with numbers as written.
func decode(text json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// shown is a value as JSON.
func shown(v any) string {
	text, err := gojq.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func wanted(calls []testfile.Call) string {
	made := make([]Call, len(calls))
	for i, c := range calls {
		made[i] = Call{c.Tool, c.Args}
	}
	return list(made)
}

// list shows calls.
func list(calls []Call) string {
	if len(calls) == 0 {
		return "no calls"
	}
	all := make([]string, len(calls))
	for i, c := range calls {
		all[i] = c.String()
	}
	return strings.Join(all, ", ")
}

// sameCalls reports whether each call is one that is expected, and each expected
// one came.
func sameCalls(want []testfile.Call, got []Call, anyOrder bool) bool {
	if len(want) != len(got) {
		return false
	}
	fits := func(i, j int) bool {
		if want[i].Tool != got[j].Tool {
			return false
		}
		w, errW := decode(want[i].Args)
		g, errG := decode(got[j].Args)
		return errW == nil && errG == nil && within(w, g)
	}
	if anyOrder {
		return pair(len(want), fits)
	}
	for i := range want {
		if !fits(i, i) {
			return false
		}
	}
	return true
}

// pair reports whether each of n can have another one that it fits. One that is
// taken is given up where its owner can have another (augmenting paths).
func pair(n int, fits func(i, j int) bool) bool {
	owner := make([]int, n)
	for j := range owner {
		owner[j] = -1
	}
	for i := range n {
		tried := make([]bool, n)
		var find func(i int) bool
		find = func(i int) bool {
			for j := range n {
				if tried[j] || !fits(i, j) {
					continue
				}
				tried[j] = true
				if owner[j] < 0 || find(owner[j]) {
					owner[j] = i
					return true
				}
			}
			return false
		}
		if !find(i) {
			return false
		}
	}
	return true
}

// within reports whether a value holds all of another: every member of an object,
// the items of a list one by one, and equal single values.
func within(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			member, there := g[key]
			ok = ok && there && within(value, member)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := 0; ok && i < len(w); i++ {
			ok = within(w[i], g[i])
		}
		return ok
	}
	return gojq.Compare(want, got) == 0
}
