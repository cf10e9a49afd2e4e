package chattest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRefuses breaks one rule after another.
func TestRefuses(t *testing.T) {
	const (
		options = `"model":"m","stream":true,"stream_options":{"include_usage":true}`
		hi      = `"messages":[{"role":"user","content":"hi"}]`
		call    = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		ask     = `{"role":"user","content":"hi"},`
		answer  = `,{"role":"tool","tool_call_id":"a","content":"x"}`
	)
	messages := func(list string) string { return `{` + options + `,"messages":[` + list + `]}` }
	schema := func(parameters string) string {
		return `{` + options + `,` + hi + `,"tools":[{"type":"function","function":{"name":"f","parameters":` + parameters + `}}]}`
	}
	property := func(s string) string { return schema(`{"type":"object","properties":{"a":` + s + `}}`) }
	described := func(length int) string {
		return strings.Replace(schema(`{"type":"object","properties":{}}`), `"name":"f"`, `"name":"f","description":"`+strings.Repeat("ü", length)+`"`, 1)
	}
	cases := []struct {
		body string
		says string // empty: taken
	}{
		{`{` + options + `,` + hi + `}`, ""},
		{messages(ask + call + answer), ""},
		{messages(ask + call + answer + `,{"role":"assistant","content":"x"},{"role":"user","content":"y"}`), ""},
		{messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`), ""},
		{property(`{"type":["string","null"],"enum":["a",null]}`), ""},
		{`{"stream":true,` + hi + `}`, "model"},
		{`{"model":"m",` + hi + `}`, "stream"},
		{`{"model":"m","stream":true,` + hi + `}`, "stream_options"},
		{`{` + options + `,` + hi + `,"top_k":1}`, "top_k"},
		{`{` + options + `,` + hi + `,"tools":[]}`, "too short"},
		{`{` + options + `,` + hi + `,"stop":["a","b","c","d","e"]}`, "stop"},
		{`{` + options + `,` + hi + `,"reasoning_effort":"1000"}`, "reasoning_effort"},
		{messages(``), "last role"},
		{messages(`{"role":"user","content":"hi","name":"x"}`), "unknown field"},
		{messages(`{"role":"user","content":""}`), "empty"},
		{messages(`{"role":"user","content":[{"type":"text","text":"a"}]}`), "must be a string"},
		{messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/a.png"}}]}`), "no data"},
		{messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}`), "no data"},
		{messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), "no valid image/png"},
		{messages(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"ogg"}}]}`), "no data"},
		{messages(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}}]}`), "no valid audio/mp3"},
		{messages(`{"role":"user","content":[{"type":"file","file":{"filename":"a","file_data":"data:application/pdf;base64,AAAA"}}]}`), "no valid application/pdf"},
		{messages(`{"role":"user","content":[{"type":"file","file":{"filename":"","file_data":"data:application/pdf;base64,AAAA"}}]}`), "type"},
		{messages(ask + `{"role":"user","content":"x"}`), "alternate"},
		{messages(ask + `{"role":"system","content":"x"}`), "beginning"},
		{messages(`{"role":"developer","content":"x"}`), "unknown role"},
		{messages(`{"role":"assistant","content":"x"},{"role":"user","content":"y"}`), "begin with a user"},
		{messages(ask + `{"role":"assistant","content":"x"}`), "last role"},
		{messages(ask + `{"role":"assistant","content":null},{"role":"user","content":"y"}`), "not empty"},
		{messages(ask + `{"role":"assistant","content":""},{"role":"user","content":"y"}`), "not empty"},
		{messages(ask + `{"role":"assistant","content":"x","tool_calls":[]},{"role":"user","content":"y"}`), "tool_calls must not be empty"},
		{messages(ask + call), "did not have response"},
		{messages(ask + call + `,{"role":"user","content":"y"}`), "did not have response"},
		{messages(ask + call + answer + answer), "preceding message"},
		{messages(ask + call + `,{"role":"tool","tool_call_id":"b","content":"x"}`), "next open call"},
		{messages(ask + call + `,{"role":"tool","tool_call_id":"a","content":null}`), "must be a text"},
		{messages(ask + call + answer + `,{"role":"user","content":"y"}`), "after role 'tool'"},
		{messages(ask + strings.Replace(call, `"a"`, `"`+strings.Repeat("a", 41)+`"`, 1)), "too long"},
		{messages(ask + strings.Replace(call, `"f"`, `"f f"`, 1)), "name"},
		{messages(ask + strings.Replace(call, `"{}"`, `""`, 1)), "arguments"},
		{messages(ask + strings.Replace(call, `"{}"`, `{}`, 1)), "cannot unmarshal"},
		{messages(ask + strings.Replace(call, `"content":null`, `"content":null,"reasoning_content":"x"`, 1) + answer), "reasoning_content"},
		{described(1024), ""},
		{described(1025), "too long"},
		{schema(`{"type":"object"}`), "properties"},
		{schema(`{"properties":{}}`), "type"},
		{schema(`{"type":"object","properties":{},"anyOf":[{"type":"object"}]}`), "top level"},
		{property(`true`), "cannot unmarshal"},
		{property(`{}`), "no type"},
		{property(`{"type":"dict"}`), "not valid"},
		{property(`{"type":["string"]}`), "fewer than two"},
		{property(`{"type":"array"}`), "missing items"},
		{property(`{"type":"array","items":{"type":"string"},"minItems":5000}`), "sane"},
		{property(`{"type":"string","pattern":"a"}`), "not all servers"},
		{property(`{"type":"string","description":1}`), "no clean text"},
		{property(`{"$ref":"#/$defs/a"}`), "not all servers"},
		{schema(`{"type":"object","properties":{},"required":["a"]}`), "not a property"},
		{`{` + options + `,` + hi + `,"response_format":{"type":"json_object"}}`, "json_schema"},
		{`{` + options + `,` + hi + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}`, "additionalProperties"},
		{strings.TrimSuffix(property(`{"type":"string"}`), "}") + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{}}}}}`, "combined"},
	}
	s := Start(Manner{MaxDescription: 1024})
	defer s.Close()
	for _, c := range cases {
		s.Play(Answer{Text: []string{"fine"}})
		before := len(s.Refusals())
		status, said := post(t, s.URL+"/chat/completions", c.body)
		refused := len(s.Refusals()) > before
		if c.says == "" && (status != 200 || refused) || c.says != "" && (status != 400 || !refused || !strings.Contains(said, c.says)) {
			t.Errorf("%s\n%d %s, want %q", c.body, status, said, c.says)
		}
	}
	if status, _ := post(t, s.URL+"/completions", `{}`); status != 404 {
		t.Errorf("status %d for another path", status)
	}
	s.Key = "k"
	if status, _ := post(t, s.URL+"/chat/completions", `{}`); status != 401 {
		t.Errorf("status %d without the key", status)
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
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

// TestManners breaks the rules of single servers.
func TestManners(t *testing.T) {
	const (
		ask   = `{"role":"user","content":"hi"}`
		head  = `{"model":"m","stream":true,`
		count = `"stream_options":{"include_usage":true},`
	)
	calls := func(id, extra string) string {
		return ask + `,{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}` + extra + `}]},{"role":"tool","tool_call_id":"` + id + `","content":"x"}`
	}
	thought := func(s string) string {
		return ask + `,{"role":"assistant","content":"x","reasoning_content":"` + s + `"},` + ask
	}
	const format = `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{}}}},`
	const image = `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`
	const signed = `,"extra_content":{"google":{"thought_signature":"s"}}`
	for _, c := range []struct {
		manner         Manner
		taken, refused string // members and messages
		says           string
	}{
		{Manner{ShortIDs: true}, head + count + `"messages":[` + calls("aB3456789", ""), head + count + `"messages":[` + calls("call_5678", ""), "length of 9"},
		{Manner{Refuses: []string{"stream_options"}}, head + `"messages":[` + ask, head + count + `"messages":[` + ask, "extra_forbidden"},
		{Manner{Refuses: []string{"seed"}}, head + count + `"random_seed":1,"messages":[` + ask, head + count + `"seed":1,"messages":[` + ask, "extra_forbidden"},
		{Manner{}, head + count + `"seed":1,"messages":[` + ask, head + count + `"random_seed":1,"messages":[` + ask, "random_seed"},
		{Manner{Refuses: []string{"reasoning_content"}}, head + count + `"messages":[` + ask, head + count + `"messages":[` + thought("hm"), "extra_forbidden"},
		{Manner{Demands: true, Reasoning: "reasoning_content"}, head + count + `"messages":[` + thought(" "), head + count + `"messages":[` + thought(""), "must be passed back"},
		{Manner{NewLimit: true}, head + count + `"max_completion_tokens":1,"messages":[` + ask, head + count + `"max_tokens":1,"messages":[` + ask, "max_completion_tokens"},
		{Manner{NoStream: true}, `{"model":"m","stream":false,"messages":[` + ask, head + count + `"messages":[` + ask, "stream"},
		{Manner{NoStream: true}, `{"model":"m","stream":false,"messages":[` + ask, `{"model":"m","stream":false,` + count + `"messages":[` + ask, "without stream"},
		{Manner{NoSchema: true}, head + count + `"messages":[` + ask, head + count + format + `"messages":[` + ask, "response_format"},
		{Manner{NoSystem: true}, head + count + `"messages":[` + ask, head + count + `"messages":[{"role":"system","content":"x"},` + ask, "System role"},
		{Manner{NoMedia: true}, head + count + `"messages":[` + ask, head + count + `"messages":[` + image, "image_url"},
		{Manner{Signatures: true}, head + count + `"messages":[` + calls("a", signed), head + count + `"messages":[` + calls("a", ""), "thought_signature"},
		{Manner{}, head + count + `"messages":[` + calls("a", ""), head + count + `"messages":[` + calls("a", signed), "extra_content"},
	} {
		s := Start(c.manner)
		s.Play(Answer{Text: []string{"fine"}}, Answer{Text: []string{"fine"}})
		if status, said := post(t, s.URL+"/chat/completions", c.taken+"]}"); status != 200 {
			t.Errorf("%+v: %s: %d %s", c.manner, c.taken, status, said)
		}
		if status, said := post(t, s.URL+"/chat/completions", c.refused+"]}"); status != 400 || !strings.Contains(said, c.says) || len(s.Refusals()) != 1 {
			t.Errorf("%s: %d %s, want %q", c.refused, status, said, c.says)
		}
		s.Close()
	}
}
