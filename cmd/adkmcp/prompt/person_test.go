package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// typing is a person who types this, and what they see.
func typing(text string) (*Person, *strings.Builder) {
	p, seen := nobody()
	p.Lines = NewLines(strings.NewReader(text), 1000)
	return p, seen
}

// nobody is a person who is not there.
func nobody() (*Person, *strings.Builder) {
	seen := &strings.Builder{}
	same := func(text string) string { return text }
	return &Person{
		Absent: "standard input is no terminal", Out: seen, Approval: Ask,
		Style: Style{Plain: func(text string) string { return strings.ReplaceAll(text, "\x1b", "") }, Bold: same, Dim: same},
	}, seen
}

// one is a form of one field, x.
func one(field string, required bool) string {
	if required {
		return `{"type":"object","properties":{"x":` + field + `},"required":["x"]}`
	}
	return `{"type":"object","properties":{"x":` + field + `}}`
}

const (
	colours = `{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`
	titled  = `{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g"}],"default":"g"}`
	several = `{"type":"array","items":{"anyOf":[{"const":"a","title":"Apples"},{"const":"b","title":"Beans"},{"const":"c","title":"Corn"}]},"minItems":1,"maxItems":2}`
	free    = `{"type":"array","items":{"enum":["a","b"]}}`
)

// TestFields types into a required field x; what comes out is its value, or the
// word decline or cancel.
func TestFields(t *testing.T) {
	for _, c := range []struct{ field, typed, want string }{
		{`{"type":"string"}`, "hello <you>\n", `"hello <you>"`},
		{`{"type":"string"}`, " as typed \n", `" as typed "`},
		{`{"type":"string"}`, "d\n", `"d"`},
		{`{"type":"string"}`, "\n  \nat last\n", `"at last"`},
		{`{"type":"string"}`, "last line", `"last line"`},
		{`{"type":"string"}`, "\n\n\n\ntoo late\n", "cancel"},
		{`{"type":"string"}`, "\n\n\nin time\n", `"in time"`},
		{`{"type":"string"}`, "", "cancel"},
		{`{"type":"string"}`, strings.Repeat("x", 1001) + "\nshort\n", `"short"`},
		{`{"type":"string","minLength":2,"maxLength":3}`, "x\nxxxx\näöü\n", `"äöü"`},
		{`{"type":"string","default":"usual"}`, "\n", `"usual"`},
		{`{"type":"string","format":"email"}`, "me\nMe <me@example.com>\nme@example.com\n", `"me@example.com"`},
		{`{"type":"string","format":"uri"}`, "example\nhttps://example.com/a b\nhttps://example.com/a\n", `"https://example.com/a b"`},
		{`{"type":"string","format":"date"}`, "31.12.2026\n2026-02-30\n2026-02-28\n", `"2026-02-28"`},
		{`{"type":"string","format":"date-time"}`, "2026-02-28\n2026-02-28T23:59:00+01:00\n", `"2026-02-28T23:59:00+01:00"`},
		{`{"type":"integer"}`, "one\n1.5\n0x10\n 9007199254740993 \n", "9007199254740993"},
		{`{"type":"integer"}`, "1e2\n99999999999999999999\n01\n\n1\n", "cancel"},
		{`{"type":"integer","minimum":1,"maximum":6}`, "0\n7\n6\n", "6"},
		{`{"type":"integer","default":3}`, "\n", "3"},
		{`{"type":"integer","default":3,"minimum":4}`, "\n4\n", "4"}, // a default that is none
		{`{"type":"integer"}`, "d\n", "decline"},
		{`{"type":"number","maximum":2}`, "NaN\n1e400\n2.5\n-1.5e3\n", "-1.5e3"},
		{`{"type":"number"}`, `"1"` + "\nnull\n0.10\n", "0.10"},
		{`{"type":"boolean"}`, "perhaps\nYES\n", "true"},
		{`{"type":"boolean"}`, "n\n", "false"},
		{`{"type":"boolean","default":true}`, "\n", "true"},
		{`{"type":"boolean"}`, "d\n", "decline"},
		{colours, "0\n3\n2\n", `"g"`},
		{colours, "green\n", `"g"`},
		{colours, "r\n", `"r"`},
		{colours, "d\n", "decline"},
		{titled, "\n", `"g"`},
		{titled, "1\n", `"r"`},
		{several, "1,2,3\n\n3, beans,3\n", `["c","b"]`},
		{several, "1 2\nx\nd\n", "decline"},
		{free, "\n", `[]`},
		{`{"type":"array","items":{"enum":["a","b"]},"default":["b"]}`, "\n", `["b"]`},
	} {
		p, seen := typing(c.typed)
		a, err := p.Fill(t.Context(), "Tell me.", json.RawMessage(one(c.field, true)))
		got := a.Action
		if a.Action == Accept {
			got = strings.TrimSuffix(strings.TrimPrefix(string(a.Content), `{"x":`), "}")
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q: got %s, %v\n%s", c.field, c.typed, got, err, seen)
		}
	}
}

// TestForms looks at whole forms: order, what is left out, and what cannot be
// shown.
func TestForms(t *testing.T) {
	const two = `{"type":"object","properties":{"z":{"type":"string","title":"Name"},"a":{"type":"integer","default":1},"m":{"type":"boolean"}},"required":["z"]}`
	for _, c := range []struct {
		form, typed string
		want        Answer
	}{
		{two, "me\n2\ny\n", Answer{Action: Accept, Content: json.RawMessage(`{"z":"me","a":2,"m":true}`)}},
		{two, "me\n\n\n", Answer{Action: Accept, Content: json.RawMessage(`{"z":"me","a":1}`)}},
		{two, "me\nd\n", Answer{Action: Decline}},
		{two, "me\n", Answer{Action: Cancel}},
		{two, "me\nx\nx\nx\nx\n1\n", Answer{Action: Cancel, Reason: "what was typed was not understood"}},
		{one(`{"type":"string"}`, false), "\n", Answer{Action: Accept, Content: json.RawMessage(`{}`)}},
		{`{"type":"object","properties":{}}`, "y\n", Answer{Action: Accept, Content: json.RawMessage(`{}`)}},
		{``, "\n", Answer{Action: Decline}},
		{`{"type":"object","properties":null}`, "maybe\n", Answer{Action: Cancel}},
		{one(`{"type":"object"}`, true), "", Answer{Action: Cancel, Reason: `the form cannot be shown in a terminal: field "x": of type "object"`}},
		{one(`{"type":"array","items":{"type":"string"}}`, true), "", Answer{Action: Cancel, Reason: `the form cannot be shown in a terminal: field "x": a list of anything but choices`}},
		{`{"properties":[]}`, "", Answer{Action: Cancel, Reason: "the form cannot be shown in a terminal: properties is no object"}},
	} {
		p, seen := typing(c.typed)
		got, err := p.Fill(t.Context(), "Tell me.", json.RawMessage(c.form))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %q: %v\n%s\n%s", c.form, c.typed, err, diff, seen)
		}
	}
}

// TestScreen is what a person sees.
func TestScreen(t *testing.T) {
	const form = `{"properties":{"sides":{"type":"integer","title":"Sides\x1b[2J","description":"of\nthe die","minimum":2,"maximum":20,"default":6},
"colour":` + colours + `,"when":{"type":"string","format":"date","maxLength":10}}}`
	p, seen := typing("x\n\n2\n\n")
	a, err := p.Fill(t.Context(), "About the \x1bdie\n? May I: ", json.RawMessage(strings.ReplaceAll(form, `\x1b`, `\u001b`)))
	const want = `? About the die
  ? May I: 
  Enter takes the default in brackets or skips what is optional; d declines where no text is wanted, Ctrl-D cancels.
  Sides[2J: of the die
  a whole number from 2 to 20 [6]:   want a whole number from 2 to 20
  a whole number from 2 to 20 [6]:   colour
    1) Red
    2) Green
  a number from 1 to 2 (optional):   when
  a date such as 2026-12-31, at most 10 characters (optional): `
	if diff := cmp.Diff(want, seen.String()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got := string(a.Content); got != `{"sides":6,"colour":"g"}` {
		t.Errorf("got %s", got)
	}
}

func TestApprove(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		typed  string
		want   Answer
	}{
		{Ask, "y\n", Answer{Action: Accept}},
		{Ask, " Yes \n", Answer{Action: Accept}},
		{Ask, "n\n", Answer{Action: Decline}},
		{Ask, "\n", Answer{Action: Decline}},
		{Ask, "d\n", Answer{Action: Decline}},
		{Ask, "", Answer{Action: Cancel}},
		{Ask, "yy\nok\n1\ny\n", Answer{Action: Accept}},
		{Ask, "yy\nok\n1\n2\ny\n", Answer{Action: Cancel, Reason: "what was typed was not understood"}},
		{Ask, strings.Repeat("y", 2000) + "\ny\n", Answer{Action: Accept}},
		{Allow, "n\n", Answer{Action: Accept}},
		{Deny, "y\n", Answer{Action: Decline, Reason: "all approvals are denied here"}},
	} {
		p, seen := typing(c.typed)
		p.Approval = c.policy
		got, err := p.Approve(t.Context(), "May I remove it?", json.RawMessage(`{"path":"a"}`))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %q: %v\n%s\n%s", c.policy, c.typed, err, diff, seen)
		}
		if asked := strings.Contains(seen.String(), "? May I remove it?\n  {\"path\":\"a\"}\n  Approve? [y/N] "); asked != (c.policy == Ask) {
			t.Errorf("%s: saw %q", c.policy, seen)
		}
	}
}

// TestElicit takes what a server asks for an approval, or for a form.
func TestElicit(t *testing.T) {
	const yes = `{"type":"object","properties":{"approve":{"type":"boolean"}},"required":["approve"]}`
	for _, c := range []struct {
		form   string
		policy Policy
		typed  string
		want   Answer
	}{
		{yes, Ask, "y\n", Answer{Action: Accept, Content: json.RawMessage(`{"approve":true}`)}},
		{yes, Ask, "n\n", Answer{Action: Decline}},
		{yes, Allow, "", Answer{Action: Accept, Content: json.RawMessage(`{"approve":true}`)}},
		{`{"properties":{}}`, Allow, "", Answer{Action: Accept, Content: json.RawMessage(`{}`)}},
		{one(`{"type":"boolean"}`, true), Allow, "n\n", Answer{Action: Accept, Content: json.RawMessage(`{"x":false}`)}},
		{`{"properties":{"approve":{"type":"string"}}}`, Allow, "\n", Answer{Action: Accept, Content: json.RawMessage(`{}`)}},
		{`[]`, Allow, "y\n", Answer{Action: Cancel}},
	} {
		p, seen := typing(c.typed)
		p.Approval = c.policy
		got, err := p.Elicit(t.Context(), "May I?", json.RawMessage(c.form))
		if c.form == "[]" && strings.HasPrefix(got.Reason, "the form cannot be shown in a terminal: ") {
			got.Reason = ""
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: %v\n%s\n%s", c.form, c.policy, err, diff, seen)
		}
	}
}

// TestGiven fills forms where nobody is, with values that were given before.
func TestGiven(t *testing.T) {
	const form = `{"properties":{"n":{"type":"integer"},"c":` + colours + `,"l":` + several + `,"o":{"type":"string"},"p":{"type":"string","default":"q"}},"required":["n"]}`
	for _, c := range []struct {
		given map[string][]string
		want  Answer
	}{
		{nil, Answer{Action: Cancel, Reason: "nobody can be asked: standard input is no terminal"}},
		{map[string][]string{"other": {"1"}}, Answer{Action: Cancel, Reason: "nobody can be asked: standard input is no terminal"}},
		{map[string][]string{"n": {"1"}}, Answer{Action: Accept, Content: json.RawMessage(`{"n":1,"p":"q"}`)}},
		{map[string][]string{"n": {"1"}, "c": {"g"}, "l": {"a", "Corn"}, "o": {""}, "p": {"a,b"}},
			Answer{Action: Accept, Content: json.RawMessage(`{"n":1,"c":"g","l":["a","c"],"o":"","p":"a,b"}`)}},
		{map[string][]string{"c": {"g"}}, Answer{Action: Cancel, Reason: `nobody can be asked for "n": standard input is no terminal`}},
		{map[string][]string{"n": {"one"}}, Answer{Action: Cancel, Reason: `the answer given for "n" is wrong: want a whole number`}},
		{map[string][]string{"n": {"1", "2"}}, Answer{Action: Cancel, Reason: `the answer given for "n" is wrong: want a whole number`}},
		{map[string][]string{"n": {"1"}, "c": {"2"}}, Answer{Action: Cancel, Reason: `the answer given for "c" is wrong: want one of r, g`}},
	} {
		p, _ := nobody()
		p.Given = c.given
		got, err := p.Fill(t.Context(), "Tell me.", json.RawMessage(form))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", c.given, err, diff)
		}
	}
	p, seen := typing("7\n")
	p.Given = map[string][]string{"a": {"6"}, "unknown": {"x"}, "also": {"y"}}
	got, err := p.Fill(t.Context(), "Tell me.", json.RawMessage(`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`))
	if err != nil || string(got.Content) != `{"a":6,"b":7}` || strings.Contains(seen.String(), "  a\n") {
		t.Errorf("%s, %v, %s", got.Content, err, seen)
	}
	if diff := cmp.Diff([]string{"also", "unknown"}, p.Unused()); diff != "" {
		t.Error(diff)
	}
	p, _ = nobody()
	if a, err := p.Approve(t.Context(), "May I?", nil); err != nil || a.Action != Cancel || a.Reason != "nobody can be asked: standard input is no terminal" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestInterrupted ends the wait for a line, which is not lost.
func TestInterrupted(t *testing.T) {
	r, w := io.Pipe()
	p, _ := nobody()
	p.Lines = NewLines(r, 100)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = w.Write([]byte("half a")) // the question is being waited on
		cancel(why)
	}()
	for _, ask := range []func(context.Context) (Answer, error){
		func(ctx context.Context) (Answer, error) { return p.Approve(ctx, "May I?", nil) },
		func(ctx context.Context) (Answer, error) {
			return p.Fill(ctx, "Tell me.", json.RawMessage(one(`{"type":"string"}`, true)))
		},
	} {
		if _, err := ask(ctx); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	}
	go func() {
		_, _ = w.Write([]byte(" line\r\nand another\n"))
		_ = w.CloseWithError(errors.New("broken"))
	}()
	for _, want := range []string{"half a line", "and another"} {
		if got, err := p.Lines.Next(t.Context()); err != nil || got != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if a, err := p.Approve(t.Context(), "May I?", nil); err == nil || err.Error() != "broken" {
		t.Errorf("got %+v, %v", a, err)
	}
}
