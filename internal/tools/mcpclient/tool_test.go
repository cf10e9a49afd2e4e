package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// within runs a test in a bubble, with the toolset of one entry.
func within(t *testing.T, f *fake, e *config.Tool, test func(t *testing.T, s *Toolset)) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPool(t, f)
		defer p.Close()
		test(t, open(t, p, e))
	})
}

func TestCallSendsWhatWasSaid(t *testing.T) {
	var sent *protocol.Call
	f := &fake{do: func(_ context.Context, c *protocol.Call) (string, error) {
		sent = c
		c.Progress("halfway")
		return `{"content":[{"type":"text","text":"ok"}]}`, nil
	}}
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"x-mcp-header":"N"}}}`)
	f.set(protocol.Tool{Name: "files.read", InputSchema: schema})
	f.list.Tools[0].Execution.TaskSupport = "required"
	web := func(c *config.Tool) {
		c.Prefix = "fs"
		c.MCP.Server.Command, c.MCP.Server.URL = "", "http://127.0.0.1:1/mcp"
		c.MCP.Server.ForwardHeaders = []string{"x-user", "Authorization", "cookie", "X-None"}
	}
	within(t, f, entry(web), func(t *testing.T, s *Toolset) {
		tools, _ := asked(t, s, agent.Query{})
		c := call(`{"n": 1.50, "big": 12345678901234567890}`)
		c.Caller.Hops = 2
		c.Caller.Header = http.Header{"X-User": {"ann"}, "Authorization": {"Bearer t"}, "Cookie": {"c"}, "X-Other": {"o"}}
		said := ""
		c.Progress = func(text string) { said = text }
		if r := called(t, tools["fs_files_read"], c); r.Output != "ok" || said != "halfway" {
			t.Errorf("%+v, %q", r, said)
		}
		if diff := cmp.Diff(map[string]any{"name": "files.read", "arguments": c.Args}, sent.Params); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(http.Header{"X-User": {"ann"}}, sent.Header); diff != "" {
			t.Error(diff)
		}
		if sent.Method != "tools/call" || sent.Meta[agent.MetaHops] != 3 || !sent.Task || string(sent.Schema) != string(schema) {
			t.Errorf("%+v", sent)
		}
		c.Caller.Hops = agent.MaxHops
		sent = nil
		if r := called(t, tools["fs_files_read"], c); !r.NotRun || sent != nil {
			t.Errorf("%+v", r)
		}
	})
}

// TestHeadersDecideLists: each caller sees the list that the server gave it, over a
// connection that nobody with other headers uses.
func TestHeadersDecideLists(t *testing.T) {
	f := &fake{}
	within(t, f, entry(func(c *config.Tool) {
		c.MCP.Server.Command, c.MCP.Server.URL, c.MCP.Server.ForwardHeaders = "", "http://127.0.0.1:1/mcp", []string{"X-User"}
	}), func(t *testing.T, s *Toolset) {
		for _, user := range []string{"ann", "bob", "ann"} {
			asked(t, s, agent.Query{Caller: agent.Caller{Header: http.Header{"X-User": {user}}}})
		}
		if f.tools != 2 || f.dials != 2 {
			t.Errorf("asked %d times on %d connections", f.tools, f.dials)
		}
	})
}

func TestFailures(t *testing.T) {
	unknown := &protocol.UnknownOutcomeError{Err: errors.New("cut")}
	const lost = "the connection to the server files was lost while a ran; whether it took effect is unknown. Check before calling it again."
	yes, no := true, false
	for name, tt := range map[string]struct {
		err        error
		hint       string
		idempotent *bool
		calls      int
		want       *agent.Result
	}{
		"refused":             {&protocol.Error{Code: -32602, Message: "unknown tool"}, "", nil, 1, agent.Failure("the server refused the call: unknown tool (code -32602)")},
		"unknown":             {unknown, "", nil, 1, &agent.Result{Output: lost, IsError: true, Transient: true}},
		"unknown, read only":  {unknown, "readOnlyHint", nil, 2, &agent.Result{Output: lost, IsError: true, Transient: true}},
		"unknown, idempotent": {unknown, "idempotentHint", nil, 2, &agent.Result{Output: lost, IsError: true, Transient: true}},
		"the lever yes":       {unknown, "", &yes, 2, &agent.Result{Output: lost, IsError: true, Transient: true}},
		"the lever no":        {unknown, "readOnlyHint", &no, 1, &agent.Result{Output: lost, IsError: true, Transient: true}},
		"lost session":        {wire.ErrSessionLost, "", nil, 2, &agent.Result{Output: "the server files gave no result: the server has lost the session", IsError: true, Transient: true}},
		"not found":           {&wire.StatusError{Code: 404}, "", nil, 1, agent.Failure("the server files gave no result: the server answered 404 Not Found")},
		"a status":            {&wire.StatusError{Code: 500, Text: "s3cret-key"}, "", nil, 1, &agent.Result{Output: "the server files gave no result: the server answered 500 Internal Server Error: [redacted]", IsError: true, Transient: true}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			f := &fake{do: func(context.Context, *protocol.Call) (string, error) { calls++; return "", tt.err }}
			f.set(protocol.Tool{Name: "a", Annotations: map[string]any{tt.hint: true}})
			e := entry(func(c *config.Tool) { c.Idempotent, c.MCP.Server.Secrets = tt.idempotent, []string{"s3cret-key"} })
			within(t, f, e, func(t *testing.T, s *Toolset) {
				tools, _ := asked(t, s, agent.Query{})
				if diff := cmp.Diff(tt.want, called(t, tools["a"], call(`{}`))); diff != "" {
					t.Error(diff)
				}
				if calls != tt.calls {
					t.Errorf("called %d times", calls)
				}
			})
		})
	}
}

// TestServerDiesForGood: a call of a tool whose server does not come back says so.
func TestServerDiesForGood(t *testing.T) {
	f := &fake{do: func(context.Context, *protocol.Call) (string, error) { return "", wire.ErrSessionLost }}
	f.set(named("a")...)
	within(t, f, entry(nil), func(t *testing.T, s *Toolset) {
		tools, _ := asked(t, s, agent.Query{})
		f.dialErr = errors.New("no way")
		r := called(t, tools["a"], call(`{}`))
		if r.Output != "not run: the server files cannot be used now: no way" || !r.IsError || !r.Transient {
			t.Errorf("%+v", r)
		}
	})
}

// TestCallEndsWithItsContext: and the server's call with it.
func TestCallEndsWithItsContext(t *testing.T) {
	why := errors.New("the tool's timeout")
	f := &fake{do: func(ctx context.Context, _ *protocol.Call) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}}
	f.set(named("a")...)
	within(t, f, entry(nil), func(t *testing.T, s *Toolset) {
		tools, _ := asked(t, s, agent.Query{})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if r, err := tools["a"].Call(ctx, call(`{}`)); r != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", r, err)
		}
	})
}

func TestExtras(t *testing.T) {
	var sent *protocol.Call
	answer := ""
	f := &fake{info: protocol.Server{Capabilities: map[string]json.RawMessage{"resources": nil, "prompts": nil}}}
	f.do = func(_ context.Context, c *protocol.Call) (string, error) { sent = c; return answer, nil }
	f.set(named("files_read_resource")...)
	within(t, f, entry(func(c *config.Tool) { c.MCP.Resources, c.MCP.Prompts = true, true }), func(t *testing.T, s *Toolset) {
		tools, listing := asked(t, s, agent.Query{})
		if diff := cmp.Diff([]string{"files_list_resources", "files_read_resource", "files_list_prompts", "files_get_prompt"}, listing.Tools); diff != "" {
			t.Error(diff)
		}
		for _, tt := range []struct {
			tool, args, method string
			params             map[string]any
			answer             string
			want               any
		}{
			{"files_list_resources", `{}`, "resources/list", map[string]any{}, `{"resources":[{"uri":"u","size":1.0}],"nextCursor":"n","ttlMs":1}`, json.RawMessage(`{"resources":[{"uri":"u","size":1.0}],"nextCursor":"n"}`)},
			{"files_list_resources", `{"cursor":"n","templates":true}`, "resources/templates/list", map[string]any{"cursor": "n"}, `{"resourceTemplates":[]}`, json.RawMessage(`{"resourceTemplates":[]}`)},
			{"files_read_resource", `{"uri":"u"}`, "resources/read", map[string]any{"uri": "u"}, `{"contents":[{"uri":"u","text":"t"}]}`, "[resource u]\nt"},
			{"files_list_prompts", `{}`, "prompts/list", map[string]any{}, `{"prompts":[{"name":"p"}]}`, json.RawMessage(`{"prompts":[{"name":"p"}]}`)},
			{"files_get_prompt", `{"name":"p","arguments":{"a":"1"}}`, "prompts/get", map[string]any{"name": "p", "arguments": map[string]string{"a": "1"}}, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`, "user: hi"},
			{"files_list_prompts", `{}`, "prompts/list", map[string]any{}, `[]`, "the server's list cannot be read"},
		} {
			answer = tt.answer
			r := called(t, tools[tt.tool], call(tt.args))
			if diff := cmp.Diff(tt.want, r.Output); diff != "" || sent.Method != tt.method || !cmp.Equal(sent.Params, tt.params) {
				t.Errorf("%s %s: %s, sent %s %v", tt.tool, tt.args, diff, sent.Method, sent.Params)
			}
			if h := tools[tt.tool].Spec().Hints; !h.ReadOnly {
				t.Errorf("%s: %+v", tt.tool, h)
			}
		}
		if r := called(t, tools["files_read_resource"], call(`{"uri":7}`)); !r.IsError {
			t.Errorf("%+v", r)
		}
	})
}

// elicit has the server ask a question and give what came back.
func elicit(method, params string) func(ctx context.Context, c *protocol.Call) (string, error) {
	return func(ctx context.Context, c *protocol.Call) (string, error) {
		answer, err := c.Ask(ctx, method, json.RawMessage(params))
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(string(answer))
		return `{"content":[{"type":"text","text":` + string(text) + `}]}`, err
	}
}

const question = `{"message":"Which\u200b\u202e one?","requestedSchema":{"type":"object","properties":{"x":{"type":"string","enum":["a","b"]},"n":{"type":"integer"},"l":{"type":"array","items":{"enum":["c"]}}},"required":["x"]}}`

func TestElicitation(t *testing.T) {
	f := &fake{do: elicit("elicitation/create", question)}
	f.set(named("a")...)
	within(t, f, entry(nil), func(t *testing.T, s *Toolset) {
		tools, _ := asked(t, s, agent.Query{})
		for want, answer := range map[string]session.Answer{
			`{"action":"accept","content":{"x":"a"}}`: {Action: model.Accept, Payload: json.RawMessage(`{"x":"a"}`)},
			`{"action":"accept","content":{}}`:        {Action: model.Accept},
			`{"action":"decline"}`:                    {Action: model.Decline, Payload: json.RawMessage(`{"x":"a"}`)},
			`{"action":"cancel"}`:                     {Action: model.Cancel},
		} {
			c := call(`{}`)
			r := called(t, tools["a"], c)
			if r.Suspend == nil || r.Suspend.Kind != model.Question || r.Suspend.Message != "files asks: Which one?" || !strings.Contains(string(r.Suspend.Payload), `"schema":{"type":"object","properties":{"x":{`) {
				t.Fatalf("%+v", r.Suspend)
			}
			stranger := again(c, r, answer)
			stranger.Key.Principal = "bob"
			if got := called(t, tools["a"], stranger); !got.IsError || !strings.Contains(got.Output.(string), "no longer open") {
				t.Errorf("somebody else answers: %+v", got)
			}
			time.Sleep(10 * time.Minute) // people take their time
			if got := called(t, tools["a"], again(c, r, answer)); got.Output != want {
				t.Errorf("got %v, want %s", got.Output, want)
			}
			if got := called(t, tools["a"], again(c, r, answer)); !strings.Contains(got.Output.(string), "whether a took effect is unknown") {
				t.Errorf("answered twice: %+v", got)
			}
		}
		r := called(t, tools["a"], call(`{}`))
		time.Sleep(16 * time.Minute)
		if got := called(t, tools["a"], again(call(`{}`), r, session.Answer{Action: model.Accept})); !got.IsError || !strings.Contains(got.Output.(string), "no longer open") {
			t.Errorf("too late: %+v", got)
		}
	})
}

// TestDeclined: what cannot be put before a person is declined, and the model reads
// why.
func TestDeclined(t *testing.T) {
	for name, tt := range map[string]struct{ params, note string }{
		"nested":  {`{"message":"?","requestedSchema":{"type":"object","properties":{"o":{"type":"object"}}}}`, `[the server files asked the person something that was declined, since its form has a field "o" that cannot be shown]`},
		"a list":  {`{"message":"?","requestedSchema":{"type":"object","properties":{"o":{"type":"array","items":{"type":"string"}}}}}`, `field "o" that cannot be shown`},
		"no type": {`{"message":"?","requestedSchema":{"type":"string"}}`, `is not of type object`},
		"network": {`{"message":"?","requestedSchema":{"type":"object","properties":{"o":{"type":"string","$ref":"https://example.com"}}}}`, `refer to parts of itself only`},
		"url":     {`{"mode":"url","message":"Log in","url":"https://example.com/login"}`, `[the server files wants the person to open https://example.com/login (Log in); that was declined here: tell the person the address]`},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{do: elicit("elicitation/create", tt.params)}
			f.set(named("a")...)
			within(t, f, entry(nil), func(t *testing.T, s *Toolset) {
				tools, _ := asked(t, s, agent.Query{})
				r := called(t, tools["a"], call(`{}`))
				if out, _ := r.Output.(string); !strings.HasPrefix(out, `{"action":"decline"}`+"\n[") || !strings.Contains(out, tt.note) {
					t.Errorf("%+v", r)
				}
			})
		})
	}
	for name, tt := range map[string]struct {
		method string
		change func(*config.Tool)
		want   string
	}{
		"denied":       {"elicitation/create", func(c *config.Tool) { c.MCP.Server.Elicitation = "deny" }, `{"action":"decline"}`},
		"no sampling":  {"sampling/createMessage", nil, "the server refused the call: this client does not answer sampling/createMessage (code -32601)"},
		"other":        {"roots/list", nil, "the server refused the call: this client does not answer roots/list (code -32601)"},
		"not a params": {"elicitation/create", nil, "the server refused the call: the params of elicitation/create cannot be read (code -32602)"},
	} {
		t.Run(name, func(t *testing.T) {
			params := question
			if name == "not a params" {
				params = `[]`
			}
			f := &fake{do: elicit(tt.method, params)}
			f.set(named("a")...)
			within(t, f, entry(tt.change), func(t *testing.T, s *Toolset) {
				tools, _ := asked(t, s, agent.Query{})
				if r := called(t, tools["a"], call(`{}`)); r.Output != tt.want {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}
