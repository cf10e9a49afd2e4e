package openaitest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body and gives the status and what came back.
func post(t *testing.T, s *Server, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer key")
	r.Header.Set("Content-Type", "application/json")
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

// The items that most cases are made of.
const (
	hi       = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	hello    = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}`
	callA    = `{"type":"function_call","call_id":"a","name":"look","arguments":"{}"}`
	resultA  = `{"type":"function_call_output","call_id":"a","output":"seen"}`
	thought  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed-rs_1"}`
	asks     = `{"id":"mcpr_1","type":"mcp_approval_request","arguments":"{}","name":"roll","server_label":"dice"}`
	ran      = `{"id":"mcp_1","type":"mcp_call","approval_request_id":null,"arguments":"{}","error":null,"name":"roll","output":"4","server_label":"dice"}`
	approves = `{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}`
	server   = `{"type":"mcp","server_label":"dice","server_url":"https://x/mcp","require_approval":"never"}`
)

func with(more string, items ...string) string {
	return `{"model":"gpt-5","store":false,"stream":true` + more + `,"input":[` + strings.Join(items, ",") + `]}`
}

func tools(all ...string) string { return with(`,"tools":[`+strings.Join(all, ",")+`]`, hi) }

func function(schema, strict string) string {
	return tools(`{"type":"function","name":"f","parameters":` + schema + `,"strict":` + strict + `}`)
}

func TestStrict(t *testing.T) {
	declared := `,"tools":[` + server + `]`
	cases := []struct{ name, body, refusal string }{
		{"a message", with("", hi), ""},
		{"all kinds", with(declared, hi, thought, hello, callA, resultA, asks, approves, hello), ""},
		{"a member that is not known", with(`,"seed":1`, hi), "seed"},
		{"stop", with(`,"stop":["x"]`, hi), "stop"},
		{"no model", `{"input":[` + hi + `]}`, "'model'"},
		{"no input", with(""), "'input'"},
		{"a temperature that is too high", with(`,"temperature":2.1`, hi), "temperature"},
		{"a temperature of a thinking model", with(`,"temperature":1`, hi), "not supported with this model"},
		{"too few tokens", with(`,"max_output_tokens":1`, hi), "Expected a value"},
		{"an effort that there is not", with(`,"reasoning":{"effort":"maximal"}`, hi), "maximal"},
		{"no thinking of gpt-5", with(`,"reasoning":{"effort":"none"}`, hi), "Supported values are: 'minimal', 'low'"},
		{"little thinking of a newer one", strings.Replace(with(`,"reasoning":{"effort":"minimal"}`, hi), "gpt-5", "gpt-5.1", 1), "Supported values are: 'none', 'low'"},
		{"little thinking of gpt-5-pro", strings.Replace(with(`,"reasoning":{"effort":"low"}`, hi), "gpt-5", "gpt-5-pro", 1), "Supported values are: 'high'."},
		{"little thinking of o3", strings.Replace(with(`,"reasoning":{"effort":"minimal"}`, hi), "gpt-5", "o3", 1), "Supported values are: 'low'"},
		{"thinking of a model that does not", strings.Replace(with(`,"reasoning":{"effort":"low"}`, hi), "gpt-5", "gpt-4.1", 1), "not supported with this model"},
		{"no thinking of a newer one", strings.Replace(with(`,"reasoning":{"effort":"none"}`, hi), "gpt-5", "gpt-5.1", 1), ""},
		{"blanks alone", with("", `{"type":"message","role":"user","content":[{"type":"input_text","text":" \n"}]}`), "blank"},
		{"an image", with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}`), ""},
		{"an image that is another", with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/jpeg;base64,iVBORw0KGgo="}]}`), "invalid image"},
		{"an image of nothing", with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}`), "invalid image"},
		{"an image with parameters", with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;x=1;base64,iVBORw0KGgo="}]}`), "invalid image"},
		{"a PDF that is none", with("", `{"type":"message","role":"user","content":[{"type":"input_file","filename":"a","file_data":"data:application/pdf;base64,bm9uZQ=="}]}`), "file_data"},
		{"a budget", with(`,"reasoning":{"budget":1}`, hi), "budget"},
		{"include", with(`,"include":["everything"]`, hi), "everything"},
		{"sealed thoughts of a model that does not think", strings.Replace(with(`,"include":["reasoning.encrypted_content"]`, hi), "gpt-5", "gpt-4o", 1), "Encrypted content"},
		{"thoughts for a model that does not think", strings.Replace(with("", hi, thought, hello), "gpt-5", "gpt-4o", 1), "only be provided to a reasoning"},
		{"an item that is not known", with("", `{"type":"dream"}`), "dream"},
		{"a role that is not known", with("", `{"type":"message","role":"model","content":"x"}`), "model"},
		{"output of the user", with("", strings.Replace(hi, "input_text", "output_text", 1)), "output_text"},
		{"input of the assistant", with("", strings.Replace(hello, "output_text", "input_text", 1)), "input_text"},
		{"an empty message", with("", `{"type":"message","role":"user","content":[]}`), "empty"},
		{"an image of a wrong type", with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/tiff;base64,aa"}]}`), "invalid image"},
		{"a file without a name", with("", `{"type":"message","role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,aa"}]}`), "file_data"},
		{"a phase of the user", with("", `{"type":"message","role":"user","phase":"commentary","content":"x"}`), "phase"},
		{"a message id that nobody knows", with("", strings.Replace(hello, `"role"`, `"id":"msg_9","role"`, 1)), "not found"},
		{"a call without a result", with("", hi, callA), "No tool output found"},
		{"a result without a call", with("", hi, resultA), "No tool call found"},
		{"two results", with("", callA, resultA, resultA), "No tool call found"},
		{"a result before the call", with("", resultA, callA), "No tool call found"},
		{"two calls of one id", with("", callA, resultA, callA), "Duplicate"},
		{"a long id", with("", strings.Replace(callA, `"a"`, `"`+strings.Repeat("a", 65)+`"`, 1)), "call_id"},
		{"a name with a dot", with("", strings.Replace(callA, "look", "lo.ok", 1), resultA), "name"},
		{"arguments that are an object", with("", strings.Replace(callA, `"{}"`, `{}`, 1), resultA), "cannot unmarshal object"},
		{"thoughts that lead to nothing", with("", hi, thought), "required following item"},
		{"thoughts that lead to the user", with("", thought, hi), "required following item"},
		{"thoughts that were changed", with("", strings.Replace(thought, "sealed-rs_1", "x", 1), hello), "could not be verified"},
		{"thoughts that are not sealed", with("", strings.Replace(thought, `,"encrypted_content":"sealed-rs_1"`, "", 1), hello), "not persisted"},
		{"thoughts without an id", with("", strings.Replace(thought, `"id":"rs_1",`, "", 1), hello), ""},
		{"thoughts with an empty id", with("", strings.Replace(thought, "rs_1", "", 1), hello), "invalid 'id'"},
		{"a file that is called something else", with("", `{"type":"message","role":"user","content":[{"type":"input_file","filename":"report","file_data":"data:application/pdf;base64,JVBERi0="}]}`), "context stuffing"},
		{"a PDF", with("", `{"type":"message","role":"user","content":[{"type":"input_file","filename":"report.PDF","file_data":"data:application/pdf;base64,JVBERi0="}]}`), ""},
		{"an image for a model that cannot see", strings.Replace(with("", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}`), "gpt-5", "o3-mini", 1), "does not support image inputs"},
		{"a call of a server without its thoughts", with(declared, ran), "without its required 'reasoning' item: 'rs_2'"},
		{"a call of a server with its thoughts", with(declared, strings.ReplaceAll(thought, "rs_1", "rs_2"), ran), ""},
		{"thoughts with a status", with("", strings.Replace(thought, `"id"`, `"status":null,"id"`, 1), hello), "status"},
		{"an approval that nobody answered", with(declared, asks), "No approval response"},
		{"an answer to nothing", with(declared, approves), "No approval request"},
		{"an answer without a decision", with(declared, asks, `{"type":"mcp_approval_response","approval_request_id":"mcpr_1"}`), "'approve'"},
		{"a request that was changed", with(declared, strings.Replace(asks, "roll", "drop", 1), approves), "not the one"},
		{"a request of no server", with("", asks, approves), "no tool of the request"},

		{"a tool", function(`{"type":"object","properties":{}}`, "false"), ""},
		{"no strict is strict", tools(`{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}`), "additionalProperties"},
		{"a tool of a wrong name", tools(`{"type":"function","name":"f.g","parameters":{"type":"object","properties":{}},"strict":false}`), "pattern"},
		{"a tool twice", tools(server, server), "Duplicate"},
		{"a tool of another kind", tools(`{"type":"teleport"}`), "teleport"},
		{"a member that tools have not", tools(`{"type":"function","function":{}}`), "function"},
		{"too many tools", tools(strings.Split(strings.Repeat(server+"|", 129), "|")[:129]...), "too long"},
		{"no type", function(`{"properties":{}}`, "false"), "got 'type:"},
		{"no properties", function(`{"type":"object"}`, "false"), "missing properties"},
		{"alternatives at the top", function(`{"type":"object","properties":{},"anyOf":[{}]}`, "false"), "top level"},
		{"an array without items", function(`{"type":"object","properties":{"a":{"type":["array","null"]}}}`, "false"), "missing items"},
		{"items of draft 4", function(`{"type":"object","properties":{"a":{"items":[{}]}}}`, "false"), "not of type"},
		{"a bound of draft 4", function(`{"type":"object","properties":{"a":{"exclusiveMinimum":true}}}`, "false"), "not valid"},
		{"a type that there is not", function(`{"type":"object","properties":{"a":{"type":"any"}}}`, "false"), "not valid"},
		{"a reference to nowhere", function(`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, "false"), "not valid"},
		{"a pattern by Unicode", function(`{"type":"object","properties":{"a":{"pattern":"^\\p{L}$"}}}`, "false"), "not valid"},
		{"a pattern with flags", function(`{"type":"object","properties":{"a":{"pattern":"a(?i)b"}}}`, "false"), "not valid"},
		{"names by Unicode", function(`{"type":"object","properties":{"a":{"patternProperties":{"[\\pL]":{}}}}}`, "false"), "is not a 'regex'"},
		{"a backslash, and a group", function(`{"type":"object","properties":{"a":{"pattern":"\\\\p(?:a|(?P<x>\\d\\.))"}}}`, "false"), ""},
		{"a pattern that is none", function(`{"type":"object","properties":{"a":{"pattern":"("}}}`, "false"), "not valid"},
		{"strict without required", function(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, "true"), "Missing 'a'"},
		{"strict with a default", function(`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`, "true"), "'default' is not permitted"},
		{"strict without a type", function(`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`, "true"), "must have a 'type'"},

		{"a server", tools(server), ""},
		{"a server at two places", tools(strings.Replace(server, `"require`, `"connector_id":"connector_gmail","require`, 1)), "One of"},
		{"a server without encryption", tools(strings.Replace(server, "https", "http", 1)), "https"},
		{"a word for approvals", tools(strings.Replace(server, "never", "sometimes", 1)), "sometimes"},
		{"approvals by tool", tools(strings.Replace(server, `"never"`, `{"always":{"tool_names":["a"]}}`, 1)), ""},
		{"approvals by list", tools(strings.Replace(server, `"never"`, `{"always":["a"]}`, 1)), "require_approval"},
		{"deferred without a search", tools(strings.Replace(server, `"require`, `"defer_loading":true,"require`, 1)), "tool_search"},
		{"a search without anything", tools(`{"type":"tool_search"}`), "tool_search"},
		{"deferred", tools(strings.Replace(server, `"require`, `"defer_loading":true,"require`, 1), `{"type":"tool_search"}`), ""},

		{"an answer in JSON", with(`,"text":{"format":{"type":"json_schema","name":"answer","strict":false,"schema":{"type":"object","properties":{}}}}`, hi), ""},
		{"an answer without a name", with(`,"text":{"format":{"type":"json_schema","schema":{"type":"object","properties":{}}}}`, hi), "name"},
		{"an answer by a bad schema", with(`,"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"array"}}}`, hi), "Invalid schema"},
		{"an answer in JSON of an older model", strings.Replace(with(`,"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object","properties":{}}}}`, hi), "gpt-5", "gpt-4-turbo", 1), "'text.format' of type 'json_schema' is not supported"},
		{"a form that there is not", with(`,"text":{"format":{"type":"xml"}}`, hi), "xml"},
	}
	s, err := Start(t.Context(), func(r *Request) Reply {
		if r.N == 0 {
			return Answer(Thought("rs_1"), Text("hello"), Asks("mcpr_1", "dice", "roll", "{}"), Thought("rs_2"), Ran("mcp_1", "dice", "roll", "4"))
		}
		return Say("ok")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if status, answer := post(t, s, with("", hi)); status != http.StatusOK {
		t.Fatal(answer)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, answer := post(t, s, c.body)
			switch {
			case c.refusal == "" && status != http.StatusOK:
				t.Errorf("refused: %s", answer)
			case c.refusal != "" && (status != http.StatusBadRequest || !strings.Contains(answer, c.refusal)):
				t.Errorf("%d: %s, want %s", status, answer, c.refusal)
			}
		})
	}
	if len(s.Refusals()) == 0 {
		t.Error("no refusal is recorded")
	}
}
