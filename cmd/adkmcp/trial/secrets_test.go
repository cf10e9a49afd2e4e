package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// secret looks different in XML, in a workflow command and in a text of Go; pin is a
// number.
const (
	secret = `hunter2/<a> & 100% "b"::c,d`
	pin    = "4711471147"
)

// hide takes out what config.Redactor would.
func hide(text string) string {
	quoted, _ := json.Marshal(secret)
	return strings.NewReplacer(secret, "[redacted]", strings.Trim(string(quoted), `"`), "[redacted]", pin, "[redacted]").Replace(text)
}

// TestSecretsStayOut: whatever escapes there are in a report, and wherever a text is
// cut, no part of a secret is told; and cases see what they see in a replay, where the
// models have said all without it.
func TestSecretsStayOut(t *testing.T) {
	s := newStand()
	long := strings.Repeat("x", maxQuoted-10) + secret // cut in its middle
	s.model = fake(func(ctx context.Context, req *model.Request, newest *genai.Content) (*model.Reply, error) {
		switch newest.Parts[0].Text {
		case "text":
			return says(text("it is " + secret)), nil
		case "long":
			return says(text(long)), nil
		case "calls":
			return says(call("roll_die", map[string]any{"how": map[string]any{"k": secret, secret: []any{json.Number(pin), true}}})), nil
		case "error":
			return nil, errors.New("refused: " + long)
		case "problem":
			return nil, &model.Error{Code: model.Blocked, Message: "blocked: " + secret}
		}
		return dice(ctx, req, newest)
	})
	s.judge = fake(func(_ context.Context, _ *model.Request, newest *genai.Content) (*model.Reply, error) {
		var m material
		if err := json.Unmarshal([]byte(newest.Parts[0].Text), &m); err != nil {
			return nil, err
		}
		if m.Statement == "prose" {
			return says(text("so " + long)), nil
		}
		raw, err := json.Marshal(verdict{false, "not " + long})
		return says(text(string(raw))), err
	})
	const yaml = `
  - {name: sees what a replay gives, request: text, expect: {text: "it is [redacted]"}}
  - {name: long, request: long, expect: {text: z}}
  - {name: calls, request: calls, tools: {roll_die: ok}, expect: {calls: [{roll_die: {how: {k: other}}}]}}
  - {name: sees the calls of a replay, request: calls, tools: {roll_die: ok}, expect: {calls: [{roll_die: {how: {k: "[redacted]", "[redacted]": ["[redacted]", true]}}}]}}
  - {name: error, request: error, expect: {text: z}}
  - {name: problem, request: problem, expect: {text: z}}
  - {name: judged, request: long, expect: {judge: is kind}}
  - {name: not judged, request: text, expect: {judge: prose}}
`
	check := func(format, got string) {
		t.Helper()
		for _, piece := range []string{"hunter", "100%", pin} {
			if strings.Contains(got, piece) {
				t.Errorf("%s has %q:\n%s", format, piece, got)
			}
		}
		if !strings.Contains(got, "redacted") {
			t.Errorf("%s: %s", format, got)
		}
	}
	for format := range Formats {
		got, all, err := s.run(t, format, "", yaml)
		if err != nil {
			t.Fatal(err)
		}
		check(format, got)
		for _, i := range []int{0, 3} {
			if c := all[0].Cases[i]; c.Status != Passed {
				t.Errorf("%s: %v", c.Name, c.Failures)
			}
		}
		var report bytes.Buffer
		if err := JUnit(&report, all); err != nil {
			t.Fatal(err)
		}
		check("JUnit", report.String())
	}
	s.wrong = errors.New("cannot start with " + secret)
	got, _, _ := s.run(t, "github", "", "  - {name: a, request: text, expect: {text: z}}")
	check("github", got)
}
