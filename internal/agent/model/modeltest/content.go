package modeltest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// PNG is an image of one pixel.
var PNG = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

// media are images and other data in requests, results and answers.
func (s *suite) media(t *testing.T) {
	t.Run("an image from the caller", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"a dot"}})
		c := user("what is this?")
		c.Parts = append(c.Parts, &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: PNG}})
		o := ask(t.Context(), t, f.Model, request(c))
		clean(t, f)
		if o.err != nil || images(last(t, f)) != 1 {
			t.Errorf("%v; sent %+v", o.err, last(t, f).Parts)
		}
	})
	t.Run("data that nobody reads", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"I see nothing"}})
		c := user("what is this?")
		c.Parts = append(c.Parts, &genai.Part{InlineData: &genai.Blob{MIMEType: "application/x-thing", Data: []byte("\x00\x01")}},
			&genai.Part{InlineData: &genai.Blob{MIMEType: "nonsense", Data: nil}})
		o := ask(t.Context(), t, f.Model, request(c))
		clean(t, f)
		if o.err != nil {
			t.Fatal(o.err)
		}
	})
	t.Run("an image in a result", s.imageInResult)
	if !s.traits.NoImages {
		t.Run("an image in an answer", s.imageInAnswer)
	}
	t.Run("an image that another model painted", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"nice"}})
		painted := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: PNG}}}}
		o := ask(t.Context(), t, f.Model, request(user("paint"), painted, user("thanks")))
		clean(t, f)
		if o.err != nil {
			t.Error(o.err)
		}
	})
}

// imageInResult goes to the model, or is told to it in words.
func (s *suite) imageInResult(t *testing.T) {
	f, req := s.withTools(t, "a", "b")
	f.Play(Answer{Calls: []Call{{Name: "a", Args: `{}`}, {Name: "b", Args: `{}`}}}, Answer{Text: []string{"a dot"}})
	first := ask(t.Context(), t, f.Model, req)
	content := name(first)
	answers := results(first, map[string]any{"output": "a picture"}, map[string]any{"output": "none"})
	answers.Parts[0].FunctionResponse.Parts = []*genai.FunctionResponsePart{
		{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: PNG}},
		{InlineData: &genai.FunctionResponseBlob{MIMEType: "application/x-thing", Data: []byte{0}}},
	}
	req.Contents = append(req.Contents, content, answers)
	second := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if second.err != nil || second.text() != "a dot" {
		t.Fatalf("%+v", second)
	}
	sent := last(t, f)
	if images(sent) != 1 {
		t.Errorf("sent %+v", sent.Parts)
	}
	if !strings.Contains(string(sent.Body), "x-thing") {
		t.Error("nothing says what was left out")
	}
}

// imageInAnswer comes out, and goes back with the history.
func (s *suite) imageInAnswer(t *testing.T) {
	f := s.make(t)
	f.Play(Answer{Text: []string{"here"}, Image: PNG}, Answer{Text: []string{"glad"}})
	req := request(user("paint"))
	o := ask(t.Context(), t, f.Model, req)
	found := false
	for _, p := range o.parts() {
		found = found || p.InlineData != nil && bytes.Equal(p.InlineData.Data, PNG) && p.InlineData.MIMEType == "image/png"
	}
	if !found {
		t.Fatalf("%+v", o)
	}
	req.Contents = append(req.Contents, o.reply.Content, user("thanks"))
	o = ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if o.err != nil {
		t.Error(o.err)
	}
}

func images(r Request) int {
	n := 0
	for _, p := range r.Parts {
		if p.Image {
			n++
		}
	}
	return n
}

// schema holds answers to a schema.
func (s *suite) schema(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"total":{"type":"integer","minimum":1},"why":{"type":"string","maxLength":100}},"required":["total"],"additionalProperties":false}`,
		`{"type":"object","properties":{"n":{"type":"number"}}}`,
		`{"type":"object","properties":{"list":{"type":"array","items":{"$ref":"#/$defs/x"},"minItems":2}},"required":["list"],"$defs":{"x":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}}}`,
		`{"type":"object","properties":{"e":{"enum":["a","b"]},"any":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["e","any"],"additionalProperties":{"type":"string"}}`,
	}
	for _, schema := range schemas {
		for _, tools := range []bool{false, true} {
			f, req := s.withTools(t, "a")
			if !tools {
				req.Tools = nil
			}
			req.OutputSchema = json.RawMessage(schema)
			f.Play(Answer{Text: []string{`{"total":1}`}})
			o := ask(t.Context(), t, f.Model, req)
			clean(t, f)
			if o.err != nil || o.text() != `{"total":1}` {
				t.Errorf("tools %v, %s: %+v", tools, schema, o)
			}
			if held := last(t, f).Schema != nil; !tools && !held && !s.traits.NoSchema {
				t.Errorf("%s: the answer is not held to it", schema)
			}
		}
	}
}

// corpus are schemas as servers have sent them, from the folder of a provider.
const corpus = "../gemini/dialect/testdata/hostile.json"

// hostile declares tools with schemas as servers have sent them: each gives a
// request that the service takes, or is left out with a warning.
func (s *suite) hostile(t *testing.T) {
	var cases []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	}
	text, err := os.ReadFile(corpus)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	declared, tried := 0, 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			tried++
			f := s.make(t)
			req := request(user("go"))
			req.Tools = []*genai.FunctionDeclaration{tool("plain", anything), tool("hostile", string(c.Schema))}
			f.Play(Answer{Text: []string{"fine"}})
			o := ask(t.Context(), t, f.Model, req)
			clean(t, f)
			if o.err != nil {
				t.Fatal(o.err)
			}
			switch n := len(last(t, f).Tools); {
			case n == 2:
				declared++
			case n != 1 || len(o.notices) != 1 || !strings.Contains(o.notices[0], "hostile"):
				t.Errorf("%d tools, notices %q", n, o.notices)
			}
		})
	}
	if declared < tried*2/3 {
		t.Errorf("only %d of %d could be declared", declared, tried)
	}
	for _, name := range []string{"7up", "with blank", "dot.ted", "ünicode", strings.Repeat("x", 65), strings.Repeat("x", 200), "", "a/b", "-dash"} {
		f := s.make(t)
		req := request(user("go"))
		req.Tools = []*genai.FunctionDeclaration{tool(name, anything)}
		f.Play(Answer{Text: []string{"fine"}})
		o := ask(t.Context(), t, f.Model, req)
		clean(t, f)
		if o.err != nil {
			t.Errorf("%q: %v", name, o.err)
		}
	}
	f := s.make(t)
	req := request(user("go"))
	for range 600 {
		req.Tools = append(req.Tools, tool("t"+strings.Repeat("x", len(req.Tools)%60), anything))
	}
	if o := ask(t.Context(), t, f.Model, req); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "600 tools") {
		t.Errorf("600 tools: %v", o.err)
	}
}
