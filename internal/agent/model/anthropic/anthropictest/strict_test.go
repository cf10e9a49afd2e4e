package anthropictest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body and gives the status and what came back.
func post(t *testing.T, s *Server, body string, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Api-Key": {s.Key}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func asked(model string, messages string, more string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":8192,"stream":true,"messages":[%s]%s}`, model, messages, more)
}

func said(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

const (
	model    = "claude-sonnet-4-5-20250929"
	hi       = `{"type":"text","text":"hi"}`
	pixel    = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV" // the beginning of a PNG of 1 x 1 pixel
	image    = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}`
	pdf      = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="}}`
	thought  = `{"type":"thinking","thinking":"hm","signature":"sig"}`
	redacted = `{"type":"redacted_thinking","data":"xyz"}`
	useA     = `{"type":"tool_use","id":"a","name":"look","input":{}}`
	useB     = `{"type":"tool_use","id":"b","name":"look","input":{}}`
	gotA     = `{"type":"tool_result","tool_use_id":"a","content":"1"}`
	gotB     = `{"type":"tool_result","tool_use_id":"b"}`
	tools    = `,"tools":[{"name":"look","input_schema":{"type":"object"}}]`
	enabled  = `,"thinking":{"type":"enabled","budget_tokens":1024}`
)

// wide is the beginning of a PNG of so many pixels by one.
func wide(pixels int) string {
	header := binary.BigEndian.AppendUint32([]byte("IHDR"), uint32(pixels))
	header = append(header, 0, 0, 0, 1, 8, 0, 0, 0, 0)
	header = binary.BigEndian.AppendUint32(header, crc32.ChecksumIEEE(header))
	return base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\r"), header...))
}

func TestStrict(t *testing.T) {
	ask := said("user", hi)
	with := func(m string) string { return asked(model, m, "") }
	calls := func(thinking string, messages ...string) string {
		return asked(model, strings.Join(messages, ","), tools+thinking)
	}
	tool := func(schema string) string {
		return asked(model, ask, `,"tools":[{"name":"a","input_schema":`+schema+`}]`)
	}
	output := func(name, schema string) string {
		return asked(name, ask, `,"output_config":{"format":{"type":"json_schema","schema":`+schema+`}}`)
	}
	set := func(name, more string) string { return asked(name, ask, ","+more) }
	cases := []struct{ name, body, refusal string }{
		{"a question", with(ask), ""},
		{"calls answered", calls("", ask, said("assistant", hi, useA, useB), said("user", gotB, gotA, hi)), ""},
		{"thoughts that come back", calls(enabled, ask, said("assistant", thought, redacted, useA), said("user", gotA)), ""},
		{"images and documents", with(said("user", image, pdf)), ""},

		{"no messages", with(""), "at least one message"},
		{"the assistant first", with(said("assistant", hi) + "," + ask), "first message must use"},
		{"the assistant last", with(ask + "," + said("assistant", hi)), "must end with a user message"},
		{"two users", with(ask + "," + ask), "roles must alternate"},
		{"another role", with(said("system", hi)), "Unexpected role"},
		{"no content", with(`{"role":"user","content":[]}`), "non-empty content"},
		{"a blank text", with(said("user", `{"type":"text","text":" \n"}`)), "non-whitespace"},
		{"a member that is not known", asked(model, ask, `,"seed":1`), "Extra inputs"},
		{"a member of another block", with(said("user", `{"type":"text","text":"x","id":"y"}`)), "text.id: Extra inputs"},
		{"a mark on a thought", calls("", ask, said("assistant", strings.Replace(thought, "}", `,"cache_control":{"type":"ephemeral"}}`, 1), useA), said("user", gotA)), "Extra inputs"},
		{"a block that there is not", with(said("user", `{"type":"audio"}`)), "does not match any"},
		{"an image of the assistant", with(ask + "," + said("assistant", image) + "," + ask), "other role"},
		{"an image of another type", with(said("user", strings.Replace(image, "image/png", "image/tiff", 1))), "media_type"},
		{"an image that is another", with(said("user", strings.Replace(image, "image/png", "image/gif", 1))), "does not appear"},
		{"an image that is none", with(said("user", strings.Replace(image, pixel, "!", 1))), "invalid base64"},
		{"an image with parameters", with(said("user", strings.Replace(image, "image/png", "image/png; x=1", 1))), "media_type"},
		{"an image of nothing", with(said("user", strings.Replace(image, pixel, "", 1))), "invalid base64"},
		{"a sound called an image", with(said("user", strings.Replace(strings.Replace(image, "image/png", "image/webp", 1), pixel, "UklGRgAAAABXQVZFZm10IA==", 1))), "does not appear"},
		{"an image that ends too soon", with(said("user", strings.Replace(image, pixel, "iVBORw0KGgo=", 1))), "Could not process image"},
		{"an image too wide", with(said("user", strings.Replace(image, pixel, wide(8001), 1))), "8000 pixels"},
		{"a WebP too wide", with(said("user", strings.NewReplacer("image/png", "image/webp", pixel, "UklGRgAAAABXRUJQVlA4WAoAAAAAAAAAQB8AAAAA").Replace(image))), "8000 pixels"},
		{"twenty images, one of them wide", with(said("user", strings.Repeat(image+",", 19)+strings.Replace(image, pixel, wide(2001), 1))), ""},
		{"one more, within a result", calls("", said("user", strings.Repeat(image+",", 20)+hi), said("assistant", useA), said("user", `{"type":"tool_result","tool_use_id":"a","content":[`+strings.Replace(image, pixel, wide(2001), 1)+`]}`)), "many-image requests: 2000 pixels"},
		{"a hundred images", with(said("user", strings.Repeat(image+",", 99)+image)), ""},
		{"a hundred and one", with(said("user", strings.Repeat(image+",", 100)+image)), "Too many images"},
		{"a hundred and one for a large window", asked("claude-opus-5", said("user", strings.Repeat(image+",", 100)+image), ""), ""},
		{"a PDF that is none", with(said("user", strings.Replace(pdf, "JVBERi0xLjc=", "bm9uZQ==", 1))), "not valid"},
		{"a PDF of nothing", with(said("user", strings.Replace(pdf, "JVBERi0xLjc=", "", 1))), "invalid base64"},

		{"no max_tokens", strings.Replace(with(ask), `"max_tokens":8192,`, "", 1), "max_tokens: Field required"},
		{"too many tokens", asked("claude-3-haiku-20240307", ask, ""), "maximum allowed number"},
		{"not streamed", strings.Replace(with(ask), "true", "false", 1), "stream"},
		{"a model that there is not", asked("claude-9", ask, ""), "model: claude-9"},

		{"a call without a result", calls("", ask, said("assistant", useA, useB), said("user", gotA)), "without `tool_result` blocks"},
		{"a result without a call", calls("", ask, said("assistant", useA), said("user", gotA, gotB)), "unexpected `tool_use_id`"},
		{"a result twice", calls("", ask, said("assistant", useA), said("user", gotA, gotA)), "unexpected `tool_use_id`"},
		{"results behind text", calls("", ask, said("assistant", useA), said("user", hi, gotA)), "must come first"},
		{"ids twice", calls("", ask, said("assistant", useA), said("user", gotA), said("assistant", useA), said("user", gotA)), "ids must be unique"},
		{"an id of another form", calls("", ask, said("assistant", strings.Replace(useA, `"a"`, `"a:b"`, 1)), said("user", gotA)), "tool_use.id"},
		{"a call's name of another form", calls("", ask, said("assistant", strings.Replace(useA, "look", "lo.ok", 1)), said("user", gotA)), "tool_use.name"},
		{"arguments that are no object", calls("", ask, said("assistant", strings.Replace(useA, "{}", "[]", 1)), said("user", gotA)), "valid dictionary"},
		{"text behind a call", calls("", ask, said("assistant", useA, hi), said("user", gotA)), "behind the last"},
		{"an image of a failed call", calls("", ask, said("assistant", useA), said("user", `{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[`+image+`]}`)), "must be type text"},
		{"calls without tools", with(ask + "," + said("assistant", useA) + "," + said("user", gotA)), "must define tools"},

		{"a thought that was changed", calls("", ask, said("assistant", strings.Replace(thought, "hm", "mh", 1), useA), said("user", gotA)), "Invalid `signature`"},
		{"a thought of another", calls("", ask, said("assistant", strings.Replace(redacted, "xyz", "abc", 1), useA), said("user", gotA)), "Invalid `data`"},
		{"a thought at the end", with(ask + "," + said("assistant", hi, thought) + "," + ask), "final block"},
		{"a thought whose conversation is as it was", asked("claude-opus-5-5", ask+","+said("assistant", thought, hi)+","+ask, ""), ""},
		{"a thought whose conversation has changed", asked("claude-opus-5-5", said("user", hi, hi)+","+said("assistant", thought, hi)+","+ask, ""), "bound to a different conversation"},
		{"and of a model that does not mind", asked("claude-opus-5", said("user", hi, hi)+","+said("assistant", thought, hi)+","+ask, ""), ""},
		{"no thought at the beginning", calls(enabled, ask, said("assistant", useA), said("user", gotA)), "Expected `thinking`"},
		{"no thought later in a turn", calls(enabled, ask, said("assistant", thought, useA), said("user", gotA), said("assistant", useB), said("user", gotB)), ""},
		{"no thought in an older turn", calls(enabled, ask, said("assistant", useA), said("user", gotA), said("assistant", hi), ask), ""},

		{"a budget too small", set(model, `"thinking":{"type":"enabled","budget_tokens":1000}`), "1024"},
		{"a budget too large", set(model, `"thinking":{"type":"enabled","budget_tokens":8192}`), "must be greater than"},
		{"a budget for a newer model", set("claude-opus-4-8", enabled[1:]), "not supported"},
		{"no budget for an older model", set(model, `"thinking":{"type":"adaptive"}`), "adaptive thinking is not supported"},
		{"thinking turned off where it cannot", set("claude-opus-5-5", `"thinking":{"type":"disabled"}`), "not supported"},
		{"thinking turned off as another model has it", set("claude-sonnet-5-5", `"thinking":{"type":"disabled"}`), "not supported"},
		{"thinking turned off", set("claude-sonnet-5-5", `"thinking":{"type":"between_tools"}`), ""},
		{"binding without the beta", set("claude-opus-5-5", `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`), "block_binding"},
		{"an effort of an older model", set(model, `"output_config":{"effort":"low"}`), "effort"},
		{"temperature beside thinking", set(model, `"temperature":0`+enabled), "temperature"},
		{"top_k beside thinking", set(model, `"top_k":5`+enabled), "top_k"},
		{"top_p beside thinking", set(model, `"top_p":0.5`+enabled), "top_p"},
		{"both samplers", set(model, `"temperature":0.5,"top_p":0.5`), "cannot both"},
		{"a temperature of a newer model", set("claude-sonnet-5", `"temperature":0.5`), "deprecated"},
		{"a temperature too high", set(model, `"temperature":1.5`), "range"},
		{"a blank stop text", set(model, `"stop_sequences":["\n"]`), "non-whitespace"},
		{"five marks", with(said("user", strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5)+hi)), "maximum of 4"},

		{"a tool's name of another form", set(model, `"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), "name: String should match"},
		{"a tool's name twice", set(model, `"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "must be unique"},
		{"a schema of a text", tool(`{"type":"string"}`), "should be 'object'"},
		{"alternatives at the top", tool(`{"type":"object","anyOf":[{}]}`), "at the top level"},
		{"alternatives within", tool(`{"type":"object","properties":{"a":{"anyOf":[{},true]}}}`), ""},
		{"a property's name", tool(`{"type":"object","properties":{"$a":{}}}`), "Property keys"},
		{"a tuple of an older draft", tool(`{"type":"object","properties":{"a":{"items":[{}]}}}`), "draft 2020-12"},
		{"a bound of an older draft", tool(`{"type":"object","properties":{"a":{"exclusiveMinimum":true}}}`), "draft 2020-12"},
		{"a type that there is not", tool(`{"type":"object","properties":{"a":{"type":"any"}}}`), "draft 2020-12"},
		{"a reference that leads nowhere", tool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`), "draft 2020-12"},
		{"an answer with a schema", output(model, `{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`), ""},
		{"an answer of an older model", output("claude-opus-4-1-20250805", `{"type":"object"}`), "does not support output format"},
		{"an answer that is open", output(model, `{"type":"object"}`), "additionalProperties"},
		{"an answer with a bound", output(model, `{"type":"integer","minimum":1}`), "not supported"},
		{"an answer with a reference", output(model, `{"$ref":"#"}`), "not supported"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Start(t.Context(), "key", Play(Stream("tool_use", Thought("hm", "sig"), Redacted("xyz"), Call("a", "look", "{}")), Say("fine")))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if status, text := post(t, s, with(ask)); status != 200 || strings.Count(text, "event: content_block_start") != 3 || !strings.Contains(text, "message_stop") {
				t.Fatalf("%d %s", status, text)
			}
			status, text := post(t, s, c.body)
			refusals := fmt.Sprint(s.Refusals())
			if c.refusal == "" {
				if status != 200 || refusals != "[]" {
					t.Errorf("%d %s", status, text)
				}
			} else if status != 400 && status != 404 || !strings.Contains(refusals, c.refusal) || !strings.Contains(text, `"type":"error"`) {
				t.Errorf("%d %s, want %q", status, text, c.refusal)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	s, err := Start(t.Context(), "key", Play(Say("fine"), Say("fine")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	good := asked(model, said("user", hi), "")
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 200}, {[]string{"X-Api-Key", "other"}, 401}, {[]string{"X-Api-Key", ""}, 401}, {[]string{"X-Api-Key", "", "Authorization", "Bearer key"}, 200},
		{[]string{"Anthropic-Version", ""}, 400}, {[]string{"Content-Type", "text/plain"}, 400},
	} {
		if status, text := post(t, s, good, c.headers...); status != c.status {
			t.Errorf("%v: %d %s", c.headers, status, text)
		}
	}
	if status, _ := post(t, s, good); status != 400 || len(s.Requests()) != 7 {
		t.Errorf("more than is played: %d", status)
	}
}
