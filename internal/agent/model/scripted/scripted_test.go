package scripted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/config"
)

var script = []config.Rule{
	{Match: `(?i)\bd(?P<sides>\d+)`, Steps: []config.Step{
		{Say: "Rolling.", Call: []config.ScriptCall{
			{Tool: "roll_die", Args: json.RawMessage(`{"sides":"{sides}","label":"d{sides}","big":12345678901234567890,"deep":{"x":["{sides}"]}}`)},
			{Tool: "other"}}},
		{Reply: `You rolled {roll_die}, {{sides}}, {"a": 1}.`},
	}},
	{Match: `broken`, Steps: []config.Step{{Reply: "{nothing}"}}},
	{Match: `forever`, Steps: []config.Step{{Reply: "first"}, {Reply: "last"}}},
}

func generate(t *testing.T, contents ...*genai.Content) (*model.Reply, error) {
	t.Helper()
	m, err := scripted.New(script)
	if err != nil {
		t.Fatal(err)
	}
	turn := len(contents) - 1
	for turn > 0 && (contents[turn].Role == genai.RoleModel || contents[turn].Parts[0].FunctionResponse != nil) {
		turn--
	}
	req := &model.Request{Contents: contents, Turn: turn, Tools: []*genai.FunctionDeclaration{{Name: "roll_die",
		ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"sides":{"type":"integer"},"label":{"type":"string"}}}`)}}}
	for r, err := range m.Generate(t.Context(), req) {
		return r, err
	}
	t.Fatal("no reply")
	return nil, nil
}

func user(text string) *genai.Content {
	return &genai.Content{Role: "user", Parts: []*genai.Part{{Text: text}}}
}

func said(text string) *genai.Content {
	return &genai.Content{Role: "model", Parts: []*genai.Part{{Text: text}}}
}

func response(name string, r map[string]any) *genai.Content {
	return &genai.Content{Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: name, Response: r}}}}
}

func TestCalls(t *testing.T) {
	r, err := generate(t, user("earlier forever"), said("x"), user("roll a D20"))
	if err != nil {
		t.Fatal(err)
	}
	want := []*genai.Part{{Text: "Rolling."},
		{FunctionCall: &genai.FunctionCall{Name: "roll_die", Args: map[string]any{
			"sides": json.Number("20"), "label": "d20", "big": json.Number("12345678901234567890"),
			"deep": map[string]any{"x": []any{"20"}}}}},
		{FunctionCall: &genai.FunctionCall{Name: "other", Args: map[string]any{}}}}
	if d := cmp.Diff(want, r.Content.Parts); d != "" {
		t.Error(d)
	}
}

func TestReplies(t *testing.T) {
	for name, tt := range map[string]struct {
		result map[string]any
		want   string
	}{
		"text":   {map[string]any{"output": "17"}, `You rolled 17, {sides}, {"a": 1}.`},
		"error":  {map[string]any{"error": "no dice"}, `You rolled no dice, {sides}, {"a": 1}.`},
		"object": {map[string]any{"output": map[string]any{"n": json.Number("17")}}, `You rolled {"n":17}, {sides}, {"a": 1}.`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := generate(t, user("d6"), said("Rolling."), response("roll_die", tt.result))
			if err != nil || r.Content.Parts[0].Text != tt.want {
				t.Errorf("reply %v, %v", r, err)
			}
		})
	}
}

func TestLastStepRepeats(t *testing.T) {
	contents := []*genai.Content{user("forever")}
	for i, want := range []string{"first", "last", "last"} {
		r, err := generate(t, contents...)
		if err != nil || r.Content.Parts[0].Text != want {
			t.Errorf("call %d: %v, %v", i, r, err)
		}
		contents = append(contents, said(want), response("x", nil))
	}
}

func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		"hello":  `no rule of the model's script matches the request "hello"`,
		"broken": "names {nothing}, but",
	} {
		if _, err := generate(t, user(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", in, err, want)
		}
	}
}
