package geminitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body and gives the status and what came back.
func post(t *testing.T, s *Server, method, body string) (status int, answer string) {
	t.Helper()
	return postTo(t, s, "v1beta/models/gemini-3-flash:"+method, body)
}

func postTo(t *testing.T, s *Server, place, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/"+place, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Goog-Api-Key", "key")
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

func TestStrict(t *testing.T) {
	const (
		ask      = `{"role":"user","parts":[{"text":"hi"}]}`
		callA    = `{"functionCall":{"name":"a","args":{"n":1}},"thoughtSignature":"c2ln"}`
		callB    = `{"functionCall":{"name":"b","args":{}}}`
		unsigned = `{"functionCall":{"name":"a","args":{"n":1}}}`
		answerA  = `{"functionResponse":{"name":"a","response":{"output":"1"}}}`
		answerB  = `{"functionResponse":{"name":"b","response":{"output":"2"}}}`
		image    = `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}`
	)
	said := func(parts ...string) string { return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` }
	user := func(parts ...string) string { return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}` }
	contents := func(all ...string) string { return `{"contents":[` + strings.Join(all, ",") + `]}` }
	tools := func(all ...string) string {
		return `{"contents":[` + ask + `],"tools":[{"functionDeclarations":[` + strings.Join(all, ",") + `]}]}`
	}
	output := func(config string) string {
		return `{"contents":[` + ask + `],"generationConfig":` + config + `}`
	}
	cases := []struct{ name, body, refusal string }{
		{"the two calls answered", contents(ask, said(callA, callB), user(answerA, answerB)), ""},
		{"answered in another order", contents(ask, said(callA, callB), user(answerB, answerA)), ""},
		{"images beside responses", contents(ask, said(callA, callB), user(answerA, image, answerB)), ""},
		{"two user turns", contents(ask, ask), ""},
		{"no signature", contents(ask, said(unsigned, callB), user(answerA, answerB)), "missing a thought_signature"},
		{"another order", contents(ask, said(callB, callA), user(answerB, answerA)), "not in its order"},
		{"other arguments", contents(ask, said(strings.Replace(callA, "1", "2", 1), callB), user(answerA, answerB)), "not the ones that the model made"},
		{"an id that was not given", contents(ask, said(strings.Replace(callA, `"name"`, `"id":"x","name"`, 1), callB), user(answerA, answerB)), "not the ones that the model made"},
		{"a call left out", contents(ask, said(callA), user(answerA)), "not the ones that the model made"},
		{"one response too few", contents(ask, said(callA, callB), user(answerA)), "(2 calls, 1 responses)"},
		{"responses spread over two turns", contents(ask, said(callA, callB), user(answerA), user(answerB)), "(2 calls, 1 responses)"},
		{"calls that are not answered", contents(ask, said(callA, callB), ask), "(2 calls, 0 responses)"},
		{"a response to another function", contents(ask, said(callA, callB), user(answerA, answerA)), "the calls were"},
		{"responses with text beside them", contents(ask, said(callA, callB), user(answerA, answerB, `{"text":"x"}`)), "other parts than their images"},
		{"a response without a call", contents(ask, user(answerA)), "must come immediately after a function call turn"},
		{"two model turns", contents(ask, said(`{"text":"a"}`), said(`{"text":"b"}`), ask), "must come immediately after a user turn"},
		{"the model's turn last", contents(ask, said(`{"text":"a"}`)), "must end with a user turn"},
		{"nothing", contents(), "contents is not specified"},
		{"another role", contents(`{"role":"system","parts":[{"text":"a"}]}`), "valid role"},
		{"a part without data", contents(user(`{"thoughtSignature":"c2ln"}`)), "must have one initialized field"},
		{"a foreign signature", contents(ask, said(`{"text":"a","thoughtSignature":"eHh4"}`), ask), "Corrupted thought signature"},
		{"a call's foreign signature", contents(ask, said(strings.Replace(callA, "c2ln", "eHh4", 1)), user(answerA)), "Corrupted thought signature"},
		{"sound that cannot be heard", contents(user(`{"inlineData":{"mimeType":"audio/midi","data":"aaaa"}}`)), "Unsupported MIME type"},
		{"penalties", output(`{"presencePenalty":0.5}`), "Penalty is not enabled"},
		{"no penalties", output(`{"presencePenalty":0,"frequencyPenalty":0,"stopSequences":["a","b","c","d","e"]}`), ""},
		{"too many places to stop", output(`{"stopSequences":["a","b","c","d","e","f"]}`), "at most 5"},
		{"a field that is not known", contents(user(`{"text":"a","colour":"red"}`)), `unknown field "colour"`},
		{"an image that cannot be read", contents(user(`{"inlineData":{"mimeType":"image/gif","data":"aaaa"}}`)), "Unsupported MIME type"},
		{"an image that is none", contents(user(strings.Replace(image, "iVBORw0KGgo=", "aaaa", 1))), "Unable to process"},
		{"an image of nothing", contents(user(strings.Replace(image, "iVBORw0KGgo=", "", 1))), "Unable to process"},
		{"an image with parameters", contents(user(strings.Replace(image, "image/png", "image/png; x=1", 1))), "Unsupported MIME type"},
		{"an image with a name", contents(user(strings.Replace(image, `"data"`, `"displayName":"a.png","data"`, 1))), "displayName"},
		{"a PDF that is none", contents(user(strings.Replace(image, "image/png", "application/pdf", 1))), "Unable to process"},
		{"an image of the model that is none", contents(ask, said(strings.Replace(image, "iVBORw0KGgo=", "aaaa", 1)), ask), "Unable to process"},
		{"an image in a response that is none", contents(ask, said(callA, callB), user(answerA, `{"functionResponse":{"name":"b","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"aaaa"}}]}}`)), "Unable to process"},
		{"blanks", contents(user(`{"text":" "}`)), "at least one parts"},
		{"a call's name that is none", contents(ask, said(strings.Replace(callA, `"a"`, `"7 up"`, 1)), user(strings.Replace(answerA, `"a"`, `"7 up"`, 1))), "Invalid function name"},
		{"thinking", output(`{"thinkingConfig":{"thinkingLevel":"MINIMAL","includeThoughts":true}}`), ""},
		{"thinking in two ways", output(`{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":5}}`), "only one of"},
		{"thinking by a word that there is not", output(`{"thinkingConfig":{"thinkingLevel":"HUGE"}}`), "HUGE is not supported"},
		{"thinking with another member", output(`{"thinkingConfig":{"depth":1}}`), "thinking_config"},
		{"a reference in a response", contents(ask, said(callA, callB), user(answerA, `{"functionResponse":{"name":"b","response":{"output":{"$ref":"x"}}}}`)), "does not match to a display_name"},
		{"a good declaration", tools(`{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}}`), ""},
		{"a name that is none", tools(`{"name":"7"}`), "Invalid function name"},
		{"a name twice", tools(`{"name":"a"}`, `{"name":"a"}`), "Duplicate function declaration"},
		{"parameters that are no object", tools(`{"name":"a","parametersJsonSchema":{"type":"string"}}`), "must describe an object"},
		{"a word of JSON Schema that is not in the dialect", tools(`{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":{"pattern":"a"}}}}`), `.properties.x: Unknown name "pattern"`},
		{"a reference", tools(`{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`), `Unknown name "$ref"`},
		{"a requirement of nothing", tools(`{"name":"a","parametersJsonSchema":{"type":"object","required":["x"]}}`), "property is not defined"},
		{"an answer with a schema", output(`{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"b":{},"a":{}},"propertyOrdering":["b","a"]}}`), ""},
		{"an answer with half an order", output(`{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"b":{},"a":{}},"propertyOrdering":["b"]}}`), "must name every property"},
		{"an answer with another word of JSON Schema", output(`{"responseMimeType":"application/json","responseJsonSchema":{"pattern":"a"}}`), `Unknown name "pattern"`},
		{"a schema for text", output(`{"responseJsonSchema":{"type":"object"}}`), "needs response_mime_type"},
		{"two schemas", output(`{"responseMimeType":"application/json","responseJsonSchema":{},"responseSchema":{}}`), "only one of"},
		{"an answer with a schema beside tools", output(`{"responseMimeType":"application/json"},"tools":[{"functionDeclarations":[{"name":"a"}]}]`), "is unsupported"},
		{"a tool of the service", `{"contents":[` + ask + `],"tools":[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}}]}`, ""},
		{"functions beside one", `{"contents":[` + ask + `],"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}]}`, "include_server_side_tool_invocations"},
		{"functions beside one, as it should be", `{"contents":[` + ask + `],"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}],"toolConfig":{"includeServerSideToolInvocations":true}}`, ""},
		{"a tool that there is not", `{"contents":[` + ask + `],"tools":[{"teleport":{}}]}`, `unknown field "teleport"`},
		{"JSON beside a tool of the service", `{"contents":[` + ask + `],"generationConfig":{"responseMimeType":"application/json"},"tools":[{"googleSearch":{}}]}`, "is unsupported"},
		{"a boolean schema", tools(`{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":true}}}`), "true is not a schema"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Start(t.Context(), Play(Stream(Chunk(callA), Final("STOP", callB)), Say("fine")))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if status, text := post(t, s, "streamGenerateContent?alt=sse", contents(ask)); status != 200 || strings.Count(text, "data: ") != 2 {
				t.Fatalf("%d %s", status, text)
			}
			status, text := post(t, s, "streamGenerateContent?alt=sse", c.body)
			refusals := fmt.Sprint(s.Refusals())
			if c.refusal == "" {
				if status != 200 || refusals != "[]" {
					t.Errorf("%d %s", status, text)
				}
			} else if status != 400 || !strings.Contains(refusals, c.refusal) || !strings.Contains(text, "INVALID_ARGUMENT") {
				t.Errorf("%d %s, want %q", status, text, c.refusal)
			}
		})
	}
}

func TestGenerateContent(t *testing.T) {
	s, err := Start(t.Context(), Play(Stream(Chunk(Text("a")), Final("STOP", Text("b")))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status, text := post(t, s, "generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`)
	if status != 200 || !strings.Contains(text, `"parts":[{"text":"a"},{"text":"b"}]`) || !strings.Contains(text, `"finishReason":"STOP"`) {
		t.Errorf("%d %s", status, text)
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestStrictAboutItsOwnTools(t *testing.T) {
	const (
		ask    = `{"role":"user","parts":[{"text":"hi"}]}`
		code   = `{"executableCode":{"code":"1+1","language":"PYTHON"},"thoughtSignature":"c2ln"}`
		result = `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`
		text   = `{"text":"two"}`
	)
	for said, refused := range map[string]bool{
		code + "," + result + "," + text: false, text: true, result + "," + text: true,
		result + "," + code + "," + text: true, code + "," + strings.Replace(result, `"2"`, `"3"`, 1) + "," + text: true,
	} {
		s, err := Start(t.Context(), Play(Stream(Chunk(code, result), Final("STOP", text)), Say("fine")))
		if err != nil {
			t.Fatal(err)
		}
		if status, text := post(t, s, "streamGenerateContent?alt=sse", `{"contents":[`+ask+`]}`); status != 200 {
			t.Fatal(text)
		}
		status, _ := post(t, s, "streamGenerateContent?alt=sse", `{"contents":[`+ask+`,{"role":"model","parts":[`+said+`]},`+ask+`]}`)
		if (status == 400) != refused {
			t.Errorf("%s: %d %v", said, status, s.Refusals())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStrictAboutThinking has what each model takes of it.
func TestStrictAboutThinking(t *testing.T) {
	level := func(word string) map[string]any {
		return map[string]any{"thinkingConfig": map[string]any{"thinkingLevel": word}}
	}
	budget := func(n int) map[string]any {
		return map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": n}}
	}
	for _, c := range []struct {
		model  string
		config map[string]any
		ok     bool
	}{
		{"gemini-2.0-flash", nil, true}, {"gemini-2.0-flash", budget(0), false}, {"gemini-2.5-pro", budget(0), false}, {"gemini-2.5-pro", budget(128), true}, {"gemini-2.5-pro", budget(-1), true},
		{"gemini-2.5-pro", level("LOW"), false}, {"gemini-2.5-flash-lite", budget(511), false}, {"gemini-2.5-flash-lite", budget(0), true}, {"gemini-2.5-flash", budget(1), true},
		{"gemini-2.5-flash", budget(24577), false}, {"gemini-3-pro-preview", level("MEDIUM"), false}, {"gemini-3-pro-preview", level("low"), true}, {"gemini-3.1-pro-preview", level("MEDIUM"), true},
		{"gemini-3.1-pro-preview", level("MINIMAL"), false}, {"gemini-pro-latest", level("MINIMAL"), false}, {"gemini-3-flash", level("MINIMAL"), true}, {"gemini-flash-latest", level("HIGH"), true},
		{"gemini-3.6-flash", level("MINIMAL"), true}, {"gemini-3.8-flash", level("MINIMAL"), false}, {"gemini-3.8-flash", budget(500), true}, {"gemini-flash-latest", level("MINIMAL"), false},
		{"gemini-3.5-flash-lite", level("MINIMAL"), true}, {"gemini-flash-lite-latest", level("MINIMAL"), true}, {"gemini-4-argon", level("MINIMAL"), false}, {"gemini-4-argon", budget(500), false},
		{"gemini-4-argon", level("LOW"), true}, {"gemma-4-31b-it", level("LOW"), false}, {"gemma-4-31b-it", level("HIGH"), true}, {"gemma-3-27b-it", level("HIGH"), false},
	} {
		if err := checkThinking(c.model, c.config); (err == nil) != c.ok {
			t.Errorf("%s %v: %v", c.model, c.config, err)
		}
	}
}

// TestStrictAboutModelsAndServices: what one of them takes another does not.
func TestStrictAboutModelsAndServices(t *testing.T) {
	const (
		ask   = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
		mixed = ask + `,"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}]`
		flag  = `,"toolConfig":{"includeServerSideToolInvocations":true}`
		told  = `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"toolCall":{"id":"1"}}]},{"role":"user","parts":[{"text":"hi"}]}]}`
	)
	for _, c := range []struct{ at, body, refusal string }{
		{"v1beta/models/gemini-2.5-flash", mixed + flag + "}", "Tool use with function calling is unsupported"},
		{"v1beta1/publishers/google/models/gemini-2.5-flash", mixed + "}", "Multiple tools are supported only"},
		{"v1beta1/publishers/google/models/gemini-3-flash", mixed + "}", ""},
		{"v1beta1/publishers/google/models/gemini-3-flash", mixed + flag + "}", "Unknown name"},
		{"v1beta1/publishers/google/models/gemini-3-flash", told, "Unknown name"},
		{"v1beta/models/gemini-3-flash", told, ""},
		{"v1beta/models/gemini-2.0-flash", ask + `,"generationConfig":{"presencePenalty":0.5}}`, ""},
	} {
		s, err := Start(t.Context(), Play(Say("fine")))
		if err != nil {
			t.Fatal(err)
		}
		status, text := postTo(t, s, c.at+":streamGenerateContent?alt=sse", c.body)
		if refusals := fmt.Sprint(s.Refusals()); (status == 200) != (c.refusal == "") || !strings.Contains(refusals, c.refusal) {
			t.Errorf("%s %s: %d %s", c.at, c.body, status, text)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
