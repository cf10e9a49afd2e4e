package replay_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

// canary is a secret; each place has its own, and all begin and end alike.
func canary(place string) string { return "s3cret<" + place + ">\"end" }

// hiding takes out every canary.
var hiding = replay.Options{Redact: func(s string) string {
	for {
		from := strings.Index(s, "s3cret<")
		if from < 0 {
			return s
		}
		to := strings.Index(s[from:], "\"end")
		if to < 0 {
			return s
		}
		s = s[:from] + "[redacted]" + s[from+to+len("\"end"):]
	}
}}

// secretive is a request and what is said to it, with a canary in each string that can
// hold one.
func secretive() (*model.Request, []said) {
	req := ask(
		user("my key is "+canary("text")),
		calls(&genai.FunctionCall{ID: canary("id"), Name: "find", Args: map[string]any{"list": []any{canary("arg")}, canary("key"): 1}}).Content,
		&genai.Content{Role: "user", Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{Name: "find", Response: map[string]any{"raw": json.RawMessage(`{"x":` + string(quote(canary("raw"))) + `}`)}}},
			{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("in a file: " + canary("file")), DisplayName: canary("name")}},
			{Text: "cut s3cret<in"}, {Text: " two>\"end"}, {FileData: &genai.FileData{FileURI: "https://x/?k=" + canary("uri")}},
			{Text: "x", PartMetadata: map[string]any{"m": canary("metadata")}},
		}},
	)
	req.System = "you know\n" + canary("system")
	req.Tools = []*genai.FunctionDeclaration{{Name: "find" + canary("tool"), Description: canary("description"), ParametersJsonSchema: json.RawMessage(
		`{"description":` + string(quote(canary("schema"))) + `,"properties":{` + string(quote(canary("property"))) + `:{"enum":[` + string(quote(canary("enum"))) + `]}}}`)}}
	req.Hosted, req.OutputSchema = []string{canary("hosted")}, quote(canary("output"))
	req.Asked = &model.Suspension{Kind: "k", Message: canary("asked")}
	req.Answer = &model.Answer{Kind: canary("kind"), Action: model.Decline, Reason: canary("reason"), Payload: quote(canary("payload"))}
	reply := calls(&genai.FunctionCall{Name: "find", Args: map[string]any{"a": map[string]any{canary("reply key"): canary("reply arg")}}})
	reply.Content.Parts = append(reply.Content.Parts, &genai.Part{Text: canary("reply"), ThoughtSignature: []byte("adkmcp:x:" + canary("signature"))})
	reply.Opaque, reply.FinishReason, reply.Model = quote(canary("opaque")), canary("finish"), canary("model")
	reply.Problem = &model.Error{Code: model.MaxTokens, Message: canary("problem"), Reason: canary("why"), Err: errors.New(canary("cause"))}
	reply.Suspend = &model.Suspension{Kind: "k", Message: canary("suspend"), Payload: quote(canary("form")), Opaque: quote(canary("state")), ID: canary("sid"), Tool: canary("stool")}
	piece := func(s string) said { return said{reply: &model.Reply{Partial: true, Content: text("model", s)}} }
	return req, []said{{notice: canary("notice")}, piece("it is s3cret<in "), {notice: "between"}, piece("pieces>\""), piece("end, really"), {reply: reply}}
}

func quote(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestSecretsStayOut(t *testing.T) {
	req, list := secretive()
	file, _ := record(t, hiding, always(list...), req)
	failing, _ := record(t, hiding, inTurn([]said{{err: &model.Error{Code: model.Blocked, Message: canary("message"), Reason: canary("reason")}}}, []said{{err: errors.New(canary("plain"))}}), ask(), ask())
	for _, f := range []string{file, failing} {
		got := content(t, f)
		for _, leak := range []string{"s3cret", "pieces>", " two>", `\"end`, "czNjcmV0", "MzY3JldD"} { // base64 of the beginning too
			if strings.Contains(got, leak) {
				t.Errorf("the file has %q:\n%s", leak, got)
			}
		}
	}
	p := load(t, file, hiding)
	h := hear(t.Context(), p.Model("a"), req)
	if h.err != nil {
		t.Fatalf("the same request does not play: %v", h.err)
	}
	if got := strings.Join(h.Events, "\n"); !strings.Contains(got, "it is [redacted], really") {
		t.Errorf("the stream plays as %s", got)
	}
	// Other secrets are the same request; nothing of them is told of one that is not.
	req.Contents[0] = user("my key is " + canary("a new one"))
	if h := hear(t.Context(), p.Model("a"), req); h.err != nil {
		t.Errorf("with another secret: %v", h.err)
	}
	req.System, req.Tools, req.Contents = canary("1")+"!", nil, []*genai.Content{user(canary("2") + "?")}
	if h := hear(t.Context(), p.Model("a"), req); h.err == nil || strings.Contains(h.err.Error(), "s3cret") {
		t.Errorf("the difference: %v", h.err)
	}
}

// Words in base64 that stand side by side, each with its padding.
func TestBase64SideBySide(t *testing.T) {
	hide := replay.Hiding(func(s string) string { return strings.ReplaceAll(s, "hunter2-secret", "[redacted]") })
	e := base64.StdEncoding.EncodeToString([]byte("hunter2-secret"))
	for _, text := range []string{e + e, e + "=" + e, e + e + e, e + " " + e} {
		if got := hide(text); strings.Contains(got, "aHVudGVy") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// A secret that somebody learned of after the recording was made.
func TestSecretsOfARecordingAreNotTold(t *testing.T) {
	req, _ := secretive()
	file, _ := record(t, open, always(one(says("x"))...), req)
	h := hear(t.Context(), load(t, file, hiding).Model("a"), ask(user("else")))
	if h.err == nil || strings.Contains(h.err.Error(), "s3cret") {
		t.Errorf("%v", h.err)
	}
}

func TestNumbersAndBytesThatAreSecrets(t *testing.T) {
	o := replay.Options{Redact: func(s string) string {
		return strings.NewReplacer("4711471147", "[redacted]", "AAAAAAAA", "[redacted]").Replace(s)
	}}
	r := calls(&genai.FunctionCall{Name: "f", Args: map[string]any{"pin": json.Number("4711471147"), "n": json.Number("-1.50e3")}})
	r.Content.Parts = append(r.Content.Parts, &genai.Part{InlineData: &genai.Blob{Data: make([]byte, 12)}})
	file, _ := record(t, o, always(one(r)...), ask())
	if got := content(t, file); strings.Contains(got, "4711471147") || strings.Contains(got, "AAAAAAAA") || !strings.Contains(got, "-1.50e3") {
		t.Errorf("%s", got)
	}
	if h := hear(t.Context(), load(t, file, o).Model("a"), ask()); h.err != nil {
		t.Error(h.err)
	}
}

// TestSecretsInBase64: whatever stands before and after a secret, and where the lines
// break; in a text, in pieces of one, and as bytes that are no text.
func TestSecretsInBase64(t *testing.T) {
	const secret = "hunter2hunter2"
	o := replay.Options{Redact: strings.NewReplacer(secret, "[redacted]").Replace}
	var forms []string
	for before := range 4 {
		for after := range 3 {
			plain := []byte(strings.Repeat("<", before) + secret + strings.Repeat("?", after))
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				forms = append(forms, enc.EncodeToString(plain))
			}
		}
	}
	for _, form := range forms {
		for _, in := range []string{form, "key: " + form + ".", "/path/" + form + "/more", "data:text/plain;base64," + form + "\nand more", form[:7] + "\n" + form[7:]} {
			reply := says("got " + in)
			reply.Content.Parts = append(reply.Content.Parts, &genai.Part{InlineData: &genai.Blob{MIMEType: "application/zip", Data: []byte("\xff\xfe" + secret + "\xff")}})
			pieces := []said{{reply: &model.Reply{Partial: true, Content: text("model", in[:len(in)/2])}}, {reply: &model.Reply{Partial: true, Content: text("model", in[len(in)/2:])}}, {reply: reply}}
			file, _ := record(t, o, always(pieces...), ask(user(in)))
			got := content(t, file)
			for _, word := range strings.FieldsFunc(in, func(r rune) bool { return strings.ContainsRune(" .:;,\n/=", r) }) {
				if len(word) > 8 && strings.Contains(form, word) && strings.Contains(got, word) {
					t.Errorf("%q stands in the file as %q:\n%s", in, word, got)
				}
			}
			if strings.Contains(got, "dW50ZXIyaHVudGVy") || strings.Contains(got, "aHVudGVyMmh1bnRlcj") || strings.Contains(got, "h1bnRlcjJodW50ZX") { // the three that its bytes have
				t.Errorf("the bytes stand in the file:\n%s", got)
			}
			if h := hear(t.Context(), load(t, file, o).Model("a"), ask(user(in))); h.err != nil {
				t.Errorf("%q does not play: %v", in, h.err)
			}
		}
	}
	// A key of another length is the same request.
	lookup := func(key string) *model.Request {
		return ask(user("k: " + base64.StdEncoding.EncodeToString([]byte("user:"+key))))
	}
	o.Redact = strings.NewReplacer(secret, "[redacted]", "correct horse", "[redacted]").Replace
	file, _ := record(t, o, always(one(says("x"))...), lookup(secret))
	if h := hear(t.Context(), load(t, file, o).Model("a"), lookup("correct horse")); h.err != nil {
		t.Error(h.err)
	}
	innocent := "eW91IGFyZSB3ZWxjb21l and \n\r\n\n\n\n\n\n\n\n a/very/long/path-to_something"
	file, _ = record(t, o, always(one(says(innocent))...), ask(user(innocent)))
	if h := hear(t.Context(), load(t, file, o).Model("a"), ask(user(innocent))); h.err != nil || h.last.Content.Parts[0].Text != innocent {
		t.Errorf("innocent text is changed: %v", h.Events)
	}
}

func TestRedactIsRequired(t *testing.T) {
	r := replay.NewRecorder("never", replay.Options{})
	if h := hear(t.Context(), r.Around("a", always(one(says("x"))...)), ask()); h.err != nil {
		t.Error(h.err)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "Redact") {
		t.Errorf("Close: %v", err)
	}
	if _, err := replay.Load("never", replay.Options{}); err == nil || !strings.Contains(err.Error(), "Redact") {
		t.Errorf("Load: %v", err)
	}
}
