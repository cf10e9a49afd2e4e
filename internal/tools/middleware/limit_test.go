package middleware

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

func limited(t *testing.T, max int, res *agent.Result) *agent.Result {
	t.Helper()
	o := options()
	o.MaxResultBytes = max
	out, err := Wrap(die(gives(res, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLimitText(t *testing.T) {
	for _, tc := range []struct {
		name string
		max  int
		out  any
		want any
	}{
		{"at the bound", 100, strings.Repeat("x", 100), strings.Repeat("x", 100)},
		{"over it", 100, strings.Repeat("x", 200) + "END", strings.Repeat("x", 42) + "\n[... 140 of 203 bytes left out ...]\n" + strings.Repeat("x", 18) + "END"},
		{"no room for a marker", 5, "äöü" + strings.Repeat("x", 20), "äö"},
		{"no room at all", 0, "abc", ""},
		{"invalid UTF-8", 100, "a\xff\xfeb\x80", "a\ufffdb\ufffd"},
		{"nothing", 100, nil, nil},
		{"a value over it", 100, map[string]any{"k": strings.Repeat("<", 200)}, `{"k":"` + strings.Repeat("<", 36) + "\n[... 145 of 208 bytes left out ...]\n" + strings.Repeat("<", 19) + `"}`},
		{"raw JSON over it", 60, json.RawMessage(`["` + strings.Repeat("x", 100) + `"]`), `["xxxxxxxxxxxxx` + "\n[... 81 of 104 bytes left out ...]\n" + `xxxxxx"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := limited(t, tc.max, &agent.Result{Output: tc.out})
			if res.Output != tc.want {
				t.Errorf("got %q, want %q", res.Output, tc.want)
			}
		})
	}
}

func TestLimitKeepsWhatFits(t *testing.T) {
	for _, out := range []any{
		"text", nil, 7, json.RawMessage(`{"a": 1}`), struct{ A string }{"x"}, []string{"a"},
		map[string]any{"a": []any{"\x00\x01", json.Number("1.50"), true, nil, map[string]any{}}},
		map[string]any{"a": strings.Repeat("x", 90)}, // only writing it shows that it fits
	} {
		res := &agent.Result{Output: out}
		if got := limited(t, 100, res); got != res {
			t.Errorf("%v became %+v", out, got)
		}
	}
}

// fits may say no to what fits, but never yes to what does not.
func TestFits(t *testing.T) {
	for _, v := range []any{
		"\x00\x01", []any{}, []any{nil}, []any{1, 2, 3}, int64(math.MinInt64), json.Number("1e5"), json.RawMessage(`[1]`),
		map[string]any{"\x7f\u2028": "\u2028", "b": []any{"<>&\t"}}, map[string]any{}, false,
	} {
		text, err := outputText([]any{v})
		if err != nil {
			t.Fatal(err)
		}
		if fits([]any{v}, len(text)-1) {
			t.Errorf("%s fits into %d bytes", text, len(text)-1)
		}
		if !fits([]any{v}, 6*len(text)+40) {
			t.Errorf("%s is not seen to fit into %d bytes", text, 6*len(text)+40)
		}
	}
	for _, v := range []any{math.NaN(), json.RawMessage(`{`), func() {}, []any{math.Inf(1)}} {
		if fits(v, 1000) {
			t.Errorf("%v is not JSON and fits", v)
		}
	}
}

func TestLimitMedia(t *testing.T) {
	blob := func(mib int) *genai.Blob { return &genai.Blob{MIMEType: "image/png", Data: make([]byte, mib<<20)} }
	const note = "[1 of 3 media left out: a result holds at most 8 MiB of them]"
	for _, tc := range []struct {
		out, want any
	}{
		{nil, note},
		{"a picture", "a picture\n" + note},
		{map[string]any{"a": 1}, "{\"a\":1}\n" + note},
		{strings.Repeat("x", 3000), strings.Repeat("x", 599) + "\n[... 2101 of 3000 bytes left out ...]\n" + strings.Repeat("x", 300) + "\n" + note},
	} {
		res := limited(t, 1000, &agent.Result{Output: tc.out, Media: []*genai.Blob{blob(5), blob(4), blob(3)}})
		if res.Output != tc.want {
			t.Errorf("got %q, want %q", res.Output, tc.want)
		}
		if len(res.Media) != 2 || len(res.Media[0].Data) != 5<<20 || len(res.Media[1].Data) != 3<<20 {
			t.Errorf("kept %d media", len(res.Media))
		}
	}
	whole := &agent.Result{Media: []*genai.Blob{blob(5), blob(3)}}
	if got := limited(t, 1000, whole); got != whole {
		t.Errorf("media that fit became %+v", got)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("hello, wörld", 5)
	f.Add(strings.Repeat("ü", 300), 101)
	f.Add(strings.Repeat("a\U0001F600", 100), 64)
	f.Add("\xff\xfe\x00\x80", 2)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, s string, max int) {
		text, err := outputText(s)
		if err != nil {
			t.Fatal(err)
		}
		got := cut(text, max)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if bound := min(len(text), max); len(got) > bound && got != "" {
			t.Errorf("%d bytes, bound %d", len(got), bound)
		}
		if len(text) <= max && got != text {
			t.Errorf("%q was cut", text)
		}
		head, rest, ok := strings.Cut(got, "\n[... ")
		if !ok || len(text) <= max {
			return
		}
		var left, all int
		if n, _ := fmt.Sscanf(rest, "%d of %d bytes", &left, &all); n == 2 && all == len(text) {
			if !strings.HasPrefix(text, head) || !strings.HasPrefix(text[len(head)+left:], got[len(got)-(all-left-len(head)):]) {
				t.Errorf("the marker of %q does not tell what is missing", got)
			}
		}
	})
}

func TestLimitTokens(t *testing.T) {
	xs := func(n int) string { return strings.Repeat("x", n) }
	note := func(n, m int) string { return fmt.Sprintf("\n[Result truncated: %d → %d tokens]", n, m) }
	spaced := "[" + strings.Repeat("\n    1,", 60) + "\n    2\n]"
	for _, tc := range []struct {
		name string
		max  int
		out  any
		want any
	}{
		{"at the bound", 20, xs(80), xs(80)},
		{"a byte over it", 20, xs(81), xs(80-len(note(21, 20))) + note(21, 20)},
		{"far over it", 20, xs(40_000), xs(80-len(note(10_000, 20))) + note(10_000, 20)},
		{"whole characters", 20, strings.Repeat("é", 41), strings.Repeat("é", (80-len(note(21, 20)))/2) + note(21, 20)},
		{"room for a short note", 6, xs(100), xs(5) + "\n[Result truncated]"},
		{"room for a short note alone", 5, xs(100), xs(1) + "\n[Result truncated]"},
		{"no room for a note", 2, xs(9), "[Result truncated]"},
		{"JSON that fits without space", 62, spaced, "[" + strings.Repeat("1,", 60) + "2]"},
		{"JSON that fits as it is", 200, spaced, spaced},
		{"JSON over it", 20, spaced, ("[" + strings.Repeat("1,", 60))[:80-len(note(31, 20))] + note(31, 20)},
		{"nearly JSON", 20, "[" + xs(100), "[" + xs(80-len(note(26, 20))-1) + note(26, 20)},
		{"spaced text", 20, "a" + strings.Repeat(" ", 100), "a" + strings.Repeat(" ", 80-len(note(26, 20))-1) + note(26, 20)},
		{"a value over it", 20, map[string]any{"k": xs(100)}, `{"k":"` + xs(80-len(note(27, 20))-6) + note(27, 20)},
		{"nothing", 1, nil, nil},
		{"any number", 0, xs(1000), xs(1000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options()
			o.MaxResultTokens = tc.max
			res, err := Wrap(die(gives(&agent.Result{Output: tc.out, IsError: true}, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
			if err != nil {
				t.Fatal(err)
			}
			if res.Output != tc.want || !res.IsError {
				t.Errorf("got %q, want %q", res.Output, tc.want)
			}
			if text, _ := res.Output.(string); tc.max > 2 && len(text) > tc.max*4 && tc.max != 200 {
				t.Errorf("%d bytes", len(text))
			}
		})
	}
}

func TestLimitTokensKeepsWhatFits(t *testing.T) {
	o := options()
	o.MaxResultTokens, o.MaxResultBytes = 30, 1000
	for _, out := range []any{map[string]any{"a": strings.Repeat("x", 100)}, json.RawMessage(`{"a":  1}`), "text", nil} {
		res := &agent.Result{Output: out, Media: []*genai.Blob{{Data: make([]byte, 10_000)}}}
		if got, err := Wrap(die(gives(res, nil)), o).Call(t.Context(), roll(`{"sides":6}`)); err != nil || got != res {
			t.Errorf("%v became %+v, %v", out, got, err)
		}
	}
}

// What was not run says why, whole.
func TestLimitTokensKeepsWhyNothingRan(t *testing.T) {
	o := options()
	o.MaxResultTokens, o.Approve = 2, &config.Condition{Is: true}
	res, err := Wrap(die(gives(agent.Text("4"), nil)), o).Call(t.Context(), answered(`{"sides":6}`, &session.Answer{Kind: "approval", Action: "decline"}))
	if err != nil || res.Output != "not run: the person declined" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// Tokens come first, then bytes.
func TestLimitTokensAndBytes(t *testing.T) {
	o := options()
	o.MaxResultTokens, o.MaxResultBytes = 100, 100
	res, err := Wrap(die(gives(agent.Text(strings.Repeat("x", 1000)), nil)), o).Call(t.Context(), roll(`{"sides":6}`))
	if text, _ := res.Output.(string); err != nil || len(text) != 100 || !strings.Contains(text, "of 400 bytes left out") || !strings.HasSuffix(text, "tokens]") {
		t.Errorf("got %+v, %v", res, err)
	}
}
