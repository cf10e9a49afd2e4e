package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// shape is a conversation in short: roles and parts.
func shape(contents []*genai.Content) string {
	var all []string
	for _, c := range contents {
		s := c.Role[:1] + ":"
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				s += " call(" + p.FunctionCall.ID + p.FunctionCall.Name + ")"
				if string(p.ThoughtSignature) == "skip_thought_signature_validator" {
					s += "*"
				}
			case p.FunctionResponse != nil:
				r := p.FunctionResponse
				raw, _ := json.Marshal(r.Response)
				s += " result(" + r.ID + r.Name + ")" + string(raw)
				for _, media := range r.Parts {
					s += "+" + media.InlineData.MIMEType
				}
			case p.InlineData != nil:
				s += " " + p.InlineData.MIMEType
			case p.FileData != nil:
				s += " " + p.FileData.FileURI
			case p.Thought:
				s += " thought"
			default:
				s += " " + p.Text
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, " / ")
}

func said(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

func heard(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func words(s string) *genai.Part { return &genai.Part{Text: s} }

func calling(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name}}
}

func resulting(id, name, output string, media ...string) *genai.Part {
	r := &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{"output": output}}
	for i := 0; i < len(media); i += 2 {
		r.Parts = append(r.Parts, &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: media[i], Data: []byte(media[i+1])}})
	}
	return &genai.Part{FunctionResponse: r}
}

func blob(kind, data string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: []byte(data), DisplayName: "a file"}}
}

// TestHistories: whatever a history holds, the service takes it.
func TestHistories(t *testing.T) {
	const lost = `{"error":"the result is not known"}`
	thought := func(signature []byte) *genai.Part {
		return &genai.Part{Text: "reasoning", Thought: true, ThoughtSignature: signature}
	}
	foreign := calling("1", "look")
	foreign.ThoughtSignature = model.Sign("openai", []byte(`{}`))
	long := strings.Repeat("ü", 200)
	cases := []struct {
		name     string
		contents []*genai.Content
		want     string
	}{
		{"nothing", nil, "u: Go on."},
		{"nil and blanks", []*genai.Content{nil, heard(nil, words("")), said(words(" \n")), heard(words("\t"))}, "u: Go on."},
		{"a blank turn of the model", []*genai.Content{user("a"), said(words(" ")), user("b")}, "u: a / u: b"},
		{"two users", []*genai.Content{user("a"), user("b")}, "u: a / u: b"},
		{"two models", []*genai.Content{user("a"), said(words("b")), said(words("c")), user("d")}, "u: a / m: b c / u: d"},
		{"the model at both ends", []*genai.Content{said(words("a")), user("b"), said(words("c"))}, "u: Go on. / m: a / u: b / m: c / u: Go on."},
		{"other roles", []*genai.Content{{Parts: []*genai.Part{words("a")}}, {Role: "assistant", Parts: []*genai.Part{words("b")}}, user("c")}, "u: a / u: b / u: c"},
		{"thoughts of nobody and of others", []*genai.Content{user("a"), said(thought(nil), thought(model.Sign("openai", []byte("x"))), words("b")), said(thought(nil)), user("c")}, "u: a / m: b / u: c"},
		{"a call of another", []*genai.Content{user("a"), said(foreign, calling("2", "see")), heard(resulting("1", "look", "x"), resulting("2", "see", "y"))},
			`u: a / m: call(1look)* call(2see) / u: result(1look){"output":"x"} result(2see){"output":"y"}`},
		{"a call without a result", []*genai.Content{user("a"), said(calling("1", "look"), calling("2", "look")), heard(resulting("2", "look", "y")), said(words("b")), user("c")},
			`u: a / m: call(1look)* call(2look) / u: result(1look)` + lost + ` result(2look){"output":"y"} / m: b / u: c`},
		{"calls at the end", []*genai.Content{user("a"), said(calling("1", "look"))}, `u: a / m: call(1look)* / u: result(1look)` + lost},
		{"words in place of a result", []*genai.Content{user("a"), said(calling("1", "look")), user("b")}, `u: a / m: call(1look)* / u: result(1look)` + lost + ` / u: b`},
		{"results in another order", []*genai.Content{user("a"), said(calling("1", "look"), calling("2", "see")), heard(resulting("2", "see", "y"), words("b"), resulting("1", "look", "x"))},
			`u: a / m: call(1look)* call(2see) / u: result(1look){"output":"x"} result(2see){"output":"y"} / u: b`},
		{"results in two contents", []*genai.Content{user("a"), said(calling("1", "look"), calling("2", "look")), heard(resulting("1", "look", "x")), user("b"), heard(resulting("2", "look", "y"))},
			`u: a / m: call(1look)* call(2look) / u: result(1look){"output":"x"} result(2look){"output":"y"} / u: b`},
		{"results too late", []*genai.Content{user("a"), said(calling("1", "look"), calling("2", "look")), heard(resulting("1", "look", "x")), said(words("b")), heard(resulting("2", "look", "y"))},
			`u: a / m: call(1look)* call(2look) / u: result(1look){"output":"x"} result(2look)` + lost + ` / m: b / u: [a result of look, whose call is missing: y]`},
		{"a call, then words of the model", []*genai.Content{user("a"), said(calling("1", "look")), said(words("b")), heard(resulting("1", "look", "x"))}, `u: a / m: call(1look)* b / u: result(1look){"output":"x"}`},
		{"results without calls", []*genai.Content{user("a"), heard(resulting("1", "look", "x", "image/png", pixels)), said(resulting("2", "see", "y"))},
			`u: a / u: [a result of look, whose call is missing: x] image/png / m: [a result of see, whose call is missing: y] / u: Go on.`},
		{"a call of the user's", []*genai.Content{heard(calling("1", "look")), heard(resulting("1", "look", "x"))}, `u: [a call of look: {}] / u: [a result of look, whose call is missing: x]`},
		{"ids twice", []*genai.Content{user("a"), said(calling("1", "look"), calling("1", "look")), heard(resulting("1", "look", "x"), resulting("1", "look", "y"), resulting("1", "look", "z"))},
			`u: a / m: call(1look)* call(1look) / u: result(1look){"output":"x"} result(1look){"output":"y"} / u: [a result of look, whose call is missing: z]`},
		{"no ids, and ours", []*genai.Content{user("a"), said(calling("", "look"), calling("adk-1", "see")), heard(resulting("adk-1", "see", "y"), resulting("", "look", "x"))},
			`u: a / m: call(look)* call(see) / u: result(look){"output":"x"} result(see){"output":"y"}`},
		{"names", []*genai.Content{user("a"), said(calling("1", ""), calling("2", "7 up"), calling("3", long)), heard(resulting("1", "", "x"), resulting("2", "7 up", "y"), resulting("3", long, "z"))},
			"u: a / m: call(1_)* call(2_7_up) call(3" + strings.Repeat("_", 128) + ") / u: result(1_){\"output\":\"x\"} result(2_7_up){\"output\":\"y\"} result(3" + strings.Repeat("_", 128) + "){\"output\":\"z\"}"},
		{"no output", []*genai.Content{user("a"), said(calling("1", "look")), heard(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "look"}})}, `u: a / m: call(1look)* / u: result(1look){"output":""}`},
		{"images", []*genai.Content{heard(blob("image/png", pixels), blob("IMAGE/JPG; x=1", "\xff\xd8\xff\xe0"), blob("image/gif", pixels), blob("application/pdf; v=1", "%PDF-1.7"), blob("image/heic", "\x00\x00\x00\x18ftypheic\x00"))},
			"u: image/png image/jpeg image/png application/pdf image/heic"},
		{"sound and film", []*genai.Content{heard(blob("audio/x-wav", "RIFF"), blob("video/mp4; codecs=x", "x"))}, "u: audio/wav video/mp4"},
		{"sound and film by other names, or of kinds that it does not know", []*genai.Content{heard(blob("audio/x-m4a", "m"), blob("video/x-msvideo", "v"), blob("audio/midi", "x"), blob("video/x-matroska", "yz"))},
			`u: audio/m4a video/avi [left out, since you cannot read it: 1 bytes of type "audio/midi"] [left out, since you cannot read it: 2 bytes of type "video/x-matroska"]`},
		{"texts", []*genai.Content{heard(blob("text/csv; charset=utf-8", "a,b"), blob("application/json", "{}"), blob("application/yaml", "a: 1"), blob("image/svg+xml", "<svg/>"))}, "u: a,b {} a: 1 <svg/>"},
		{"what is broken", []*genai.Content{heard(blob("image/png", ""), blob("application/pdf", "no"), blob("text/plain", "\xff"), blob("x", ""))},
			`u: [left out, since you cannot read it: 0 bytes of type "image/png"] [left out, since you cannot read it: 2 bytes of type "application/pdf"] ` +
				`[left out, since you cannot read it: 1 bytes of type "text/plain"] [left out, since you cannot read it: 0 bytes of type "x"]`},
		{"painted by another", []*genai.Content{user("a"), said(blob("image/png", pixels), blob("image/png", "no")), user("b")}, `u: a / m: image/png [left out, since you cannot read it: 2 bytes of type "image/png"] / u: b`},
		{"data in a result", []*genai.Content{user("a"), said(calling("1", "look")), heard(resulting("1", "look", "x", "image/png; x=1", pixels, "text/csv", "a,b", "audio/wav", "RIFF", "image/png", ""))},
			`u: a / m: call(1look)* / u: result(1look){"output":"x\n[left out, since you cannot read it: 0 bytes of type \"image/png\"]"}+image/png+text/plain audio/wav`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(g.Say("fine")))
			before := fmt.Sprint(asJSON(t, c.contents))
			o := ask(t.Context(), f, request(c.contents...))
			noRefusals(t, f)
			if o.err != nil || len(f.service.Requests()) != 1 {
				t.Fatal(o.err)
			}
			r := f.service.Requests()[0]
			if got := shape(r.Contents); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(string(r.Body), "reasoning") {
				t.Errorf("another's thoughts were sent: %s", r.Body)
			}
			if asJSON(t, c.contents) != before {
				t.Error("sending changed the conversation")
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestHistoriesOfOlderModels: no signatures, and no data within a response.
func TestHistoriesOfOlderModels(t *testing.T) {
	f := startWith(t, g.Play(g.Say("fine")), func(c *config.Model) { c.Name = "gemini-2.5-flash" }, nil)
	o := ask(t.Context(), f, request(user("a"), said(calling("1", "look")), heard(resulting("1", "look", "x", "image/png", pixels, "application/json", "{}"), words("b"))))
	noRefusals(t, f)
	const want = `u: a / m: call(1look) / u: result(1look){"output":"x"} image/png / u: {} b`
	if got := shape(f.service.Requests()[0].Contents); o.err != nil || got != want {
		t.Errorf("%v\ngot  %s\nwant %s", o.err, got, want)
	}
}
