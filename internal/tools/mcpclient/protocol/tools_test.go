package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

func tool(i int) map[string]any {
	return map[string]any{"name": fmt.Sprintf("tool-%d", i), "inputSchema": map[string]any{"type": "object"}}
}

// paged gives 300 tools over pages of 7, and the same page again when again is set.
func paged(again bool) func(q *query) {
	const per, all = 7, 300
	return func(q *query) {
		from := 0
		_, _ = fmt.Sscanf(q.param("cursor"), `"at %d"`, &from)
		var tools []any
		for i := from; i < min(from+per, all); i++ {
			tools = append(tools, tool(i))
		}
		page := map[string]any{"tools": tools, "ttlMs": 1000 + from}
		if from+per < all {
			page["nextCursor"] = fmt.Sprintf("at %d", from+per)
		}
		if again && from == 2*per {
			page["nextCursor"] = fmt.Sprintf("at %d", per)
		}
		q.reply(page)
	}
}

func TestToolsOverPages(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		f := serverOf(version, streams, paged(false))
		c := dial(t, f, Options{})
		list, err := c.Tools(t.Context(), http.Header{"X-Caller": {"anna"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 300 || len(list.Warnings) > 0 || list.TTL != time.Second {
			t.Errorf("got %d tools, %v, %v", len(list.Tools), list.Warnings, list.TTL)
		}
		for i, tool := range list.Tools {
			if tool.Name != fmt.Sprintf("tool-%d", i) {
				t.Fatalf("tool %d is %s", i, tool.Name)
			}
		}
		if f.last(methodListTools).out.Header.Get("X-Caller") != "anna" {
			t.Error("a page was fetched without the header")
		}
		f.handle = paged(true)
		if list, err = c.Tools(t.Context(), nil); err != nil || len(list.Tools) != 21 {
			t.Fatalf("got %v, %v", list, err)
		}
		if len(list.Warnings) != 1 || !strings.Contains(list.Warnings[0], "repeats itself after page 3") {
			t.Errorf("warned %q", list.Warnings)
		}
	})
}

// TestToolsWithoutEnd: cursors that are always new end the list all the same.
func TestToolsWithoutEnd(t *testing.T) {
	for name, c := range map[string]struct{ per, tools, pages int }{"pages": {1, maxPages, maxPages}, "tools": {3000, maxTools, 4}} {
		n := 0
		f := serverOf(legacy, true, func(q *query) {
			var tools []any
			for range c.per {
				tools = append(tools, tool(n))
				n++
			}
			q.reply(map[string]any{"tools": tools, "nextCursor": fmt.Sprint("after ", n)})
		})
		list, err := dial(t, f, Options{}).Tools(t.Context(), nil)
		if err != nil || len(list.Tools) != c.tools || len(list.Warnings) != 1 || n != c.pages*c.per {
			t.Errorf("%s: %d tools of %d, %v, %v", name, len(list.Tools), n, list.Warnings, err)
		}
	}
}

// TestBadTools: one that cannot be read is named, and costs no other.
func TestBadTools(t *testing.T) {
	schema := `{"type":"object","$schema":"s","oneOf":[{"required":["a"]},{}],"x":1.0}`
	f := serverOf(modern, true, func(q *query) {
		q.reply(json.RawMessage(`{"tools":[
			"no object", {}, {"name":7}, {"name":"","inputSchema":{}},
			{"name":"list","inputSchema":[]}, {"name":"text","inputSchema":"object"}, {"name":"number","inputSchema":{},"outputSchema":5},
			{"name":"titled","title":5,"inputSchema":{}}, {"name":"noted","annotations":"x","inputSchema":{}}, {"name":"run","execution":{"taskSupport":true},"inputSchema":{}},
			{"name":"mirrors","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}},
			{"name":"good","title":"T","description":"D","inputSchema":` + schema + `,"outputSchema":true,"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"required"},"icons":[],"_meta":{}},
			{"name":"good","inputSchema":{}}, {"name":"bool","inputSchema":false}, {"name":"bare"}, {"name":"null","inputSchema":null,"outputSchema":null,"annotations":null,"execution":null,"description":null}
		]}`))
	})
	list, err := dial(t, f, Options{}).Tools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	object := json.RawMessage(`{"type":"object"}`)
	want := []Tool{
		{Name: "good", Title: "T", Description: "D", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage("true"), Annotations: map[string]any{"readOnlyHint": true}},
		{Name: "bool", InputSchema: json.RawMessage("false")}, {Name: "bare", InputSchema: object}, {Name: "null", InputSchema: object},
	}
	want[0].Execution.TaskSupport = "required"
	if diff := cmp.Diff(want, list.Tools); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"no name", "no name", "no name", "no name", `"list" is left out: its inputSchema must be an object or a boolean`, `"text"`, `"number" is left out: its outputSchema`,
		`"titled" is left out: its title must not be a JSON number`, `"noted" is left out: its annotations must not be a JSON string`, `"run" is left out: its execution.taskSupport`,
		`"mirrors" is left out: its argument a has an x-mcp-header`, `"good" is left out: an earlier one`,
	} {
		if i >= len(list.Warnings) || !strings.Contains(list.Warnings[i], want) {
			t.Errorf("warning %d is not %q: %q", i, want, list.Warnings)
		}
	}
}

func TestNoTools(t *testing.T) {
	refuse := func(q *query) { q.fail(rpc.CodeNoMethod, "no such method", nil) }
	f := serverOf(legacy, true, refuse)
	f.capabilities = `{"prompts":{}}`
	if list, err := dial(t, f, Options{}).Tools(t.Context(), nil); err != nil || len(list.Tools) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	var refused *Error
	if _, err := dial(t, serverOf(legacy, true, refuse), Options{}).Tools(t.Context(), nil); !errors.As(err, &refused) {
		t.Errorf("tools were declared: %v", err)
	}
	if _, err := dial(t, serverOf(legacy, true, func(q *query) { q.reply([]int{1}) }), Options{}).Tools(t.Context(), nil); err == nil {
		t.Error("a list that is none was read")
	}
}

// TestHeaders: what is repeated in headers, and how it is written.
func TestHeaders(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"}, "n":{"type":["integer","null"],"x-mcp-header":"Count"}, "on":{"type":"boolean","x-mcp-header":"On"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}}, "absent":{"type":"string","x-mcp-header":"Absent"},
		"null":{"type":["string","null"],"x-mcp-header":"Null"}, "half":{"type":"integer","x-mcp-header":"Half"}, "huge":{"type":"integer","x-mcp-header":"Huge"},
		"odd":{"type":"string","x-mcp-header":"Odd"}, "x-mcp-header":{"type":"string"}}}`)
	f := serverOf(modern, true, func(q *query) { q.reply(struct{}{}) })
	c := dial(t, f, Options{})
	call := &Call{Method: rpc.CallTool, Schema: schema, Header: http.Header{"X-Caller": {"anna"}, "Mcp-Name": {"forged"}}, Params: map[string]any{
		"name": "wetter für alle", "arguments": json.RawMessage(`{"region":"us-west1","n":42.0,"on":false,"deep":{"er":" padded "},"null":null,"half":1.5,"huge":9007199254740992,"odd":{"a":1},"x-mcp-header":"y"}`),
	}}
	if _, err := c.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"X-Caller": {"anna"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?d2V0dGVyIGbDvHIgYWxsZQ==?="},
		"Mcp-Param-Region": {"us-west1"}, "Mcp-Param-Count": {"42"}, "Mcp-Param-On": {"false"}, "Mcp-Param-Deeper": {"=?base64?IHBhZGRlZCA=?="},
	}
	if diff := cmp.Diff(want, f.last(rpc.CallTool).out.Header); diff != "" {
		t.Error(diff)
	}
	if call.Header.Get("Mcp-Method") != "" {
		t.Error("the caller's headers were changed")
	}
	for method, params := range map[string]map[string]any{"resources/read": {"uri": "file:///a"}, "prompts/get": {"name": "file:///a"}} {
		if _, err := c.Do(t.Context(), &Call{Method: method, Params: params, Schema: schema}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(http.Header{"Mcp-Method": {method}, "Mcp-Name": {"file:///a"}}, f.last(method).out.Header); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(http.Header{"Mcp-Method": {methodDiscover}}, f.last(methodDiscover).out.Header); diff != "" {
		t.Error(diff)
	}
	old := serverOf(legacy, true, f.handle)
	if _, err := dial(t, old, Options{}).Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(call.Header, old.last(rpc.CallTool).out.Header); diff != "" {
		t.Error(diff)
	}
}
