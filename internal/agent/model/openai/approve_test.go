package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	o "github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func dice() *config.HostedMCP {
	return &config.HostedMCP{ServerLabel: "dice", ServerURL: "https://dice.example/mcp"}
}

// hosting is a request in which the model has the server.
func hosting(contents ...*genai.Content) *model.Request {
	r := request(contents...)
	r.Hosted = []string{"mcp:dice"}
	return r
}

// resumed is the same request with an answer to what was asked.
func resumed(r *model.Request, asked *model.Suspension, action, reason string) *model.Request {
	again := *r
	again.Asked, again.Answer = asked, &model.Answer{Kind: asked.Kind, Action: action, Reason: reason}
	return &again
}

func TestApprovals(t *testing.T) {
	f := start(t, o.Play(
		o.Answer(o.Thought("rs_1", "hm"), o.List("mcpl_1", "dice", ""), o.Phase("commentary", "I will roll."), o.Asks("mcpr_1", "dice", "roll", `{"sides":6,"big":12345678901234567890}`), o.Asks("mcpr_2", "dice", "drop", `{}`)),
		o.Answer(o.Thought("rs_2"), o.Ran("mcp_1", "dice", "roll", "4"), o.Asks("mcpr_3", "dice", "roll", "{\"who\":\"a\u202eb\"}")),
		o.Answer(o.Ran("mcp_2", "dice", "roll", "5"), o.Phase("final_answer", "4 and 5")),
		o.Say("you rolled 4 and 5"),
	), options{servers: []*config.HostedMCP{dice()}})
	req := hosting(user("go"))

	first := ask(t.Context(), f, req)
	if first.err != nil || first.reply.Suspend == nil || first.reply.Usage == nil || first.reply.Usage.Total != 29 {
		t.Fatalf("%+v", first)
	}
	q := first.reply.Suspend
	if q.Kind != model.Approval || q.Tool != "dice.roll" || q.Message != "The model wants to run dice.roll" || string(q.Payload) != `{"sides":6,"big":12345678901234567890}` {
		t.Errorf("asked %+v, payload %s", q, q.Payload)
	}

	second := ask(t.Context(), f, resumed(req, q, model.Accept, ""))
	if second.err != nil || second.reply.Suspend == nil || second.reply.Suspend.Tool != "dice.drop" || second.reply.Usage != nil {
		t.Fatalf("%+v", second)
	}
	if n := len(f.service.Requests()); n != 1 {
		t.Fatalf("%d requests before all was answered", n)
	}

	third := ask(t.Context(), f, resumed(req, second.reply.Suspend, model.Decline, ""))
	noRefusals(t, f)
	if third.err != nil || third.reply.Suspend == nil || string(third.reply.Suspend.Payload) != `{"who":"a\u202eb"}` {
		t.Fatalf("%+v", third)
	}
	if got, want := f.kinds(), "user reasoning mcp_list_tools assistant mcp_approval_request mcp_approval_request mcp_approval_response mcp_approval_response"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	answers := f.service.Requests()[1].Items[6:]
	if !answers[0].Approve || answers[0].Request != "mcpr_1" || answers[1].Approve || answers[1].Request != "mcpr_2" || answers[1].Reason != "the person declined" {
		t.Errorf("answered %s and %s", answers[0].Raw, answers[1].Raw)
	}

	last := ask(t.Context(), f, resumed(req, third.reply.Suspend, model.Cancel, "the host cannot ask"))
	noRefusals(t, f)
	if last.err != nil || last.text() != "4 and 5" {
		t.Fatalf("%+v, text %q", last, last.text())
	}

	later := hosting(stored(t, []*genai.Content{user("go"), last.reply.Content, user("again?")})...)
	later.Turn = 2
	if out := ask(t.Context(), f, later); out.err != nil || out.text() != "you rolled 4 and 5" {
		t.Fatalf("%+v", out)
	}
	noRefusals(t, f)
	want := "user reasoning mcp_list_tools assistant mcp_approval_request mcp_approval_request mcp_approval_response mcp_approval_response " +
		"reasoning mcp_call mcp_approval_request mcp_approval_response mcp_call assistant user"
	if got := f.kinds(); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if said := f.service.Requests()[3].Items; said[3].Phase != "commentary" || said[13].Phase != "final_answer" || said[11].Reason != "the host cannot ask" {
		t.Errorf("sent %s, %s, %s", said[3].Raw, said[13].Raw, said[11].Raw)
	}
}

// TestApprovalOfAnotherServer: nobody is asked about a server that the agent does
// not have; the answer could not be sent.
func TestApprovalOfAnotherServer(t *testing.T) {
	f := start(t, o.Play(o.Answer(o.Asks("mcpr_1", "stranger", "roll", `{}`), o.Text("well"))), options{servers: []*config.HostedMCP{dice()}})
	req := request(user("go"))
	req.Hosted = []string{"mcp:dice"}
	got := ask(t.Context(), f, req)
	if got.err != nil || got.reply == nil || got.reply.Suspend != nil || got.text() != "well" {
		t.Errorf("%+v", got)
	}
}

// TestApprovalBesideCalls has an answer with a call of the agent's own tool, which
// runs first.
func TestApprovalBesideCalls(t *testing.T) {
	f := start(t, o.Play(
		o.Answer(o.Thought("rs_1"), o.Call("call_1", "look", `{}`), o.Asks("mcpr_1", "dice", "roll", ``)),
		o.Say("done"), o.Say("hello"),
	), options{servers: []*config.HostedMCP{dice()}})
	req := hosting(user("go"))
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	first := ask(t.Context(), f, req)
	if first.err != nil || first.reply.Suspend != nil {
		t.Fatalf("%+v", first)
	}
	req.Contents = stored(t, append(req.Contents, first.reply.Content, results(first.reply, map[string]any{"output": "seen"})))
	asked := ask(t.Context(), f, req)
	if asked.err != nil || asked.reply.Suspend == nil || string(asked.reply.Suspend.Payload) != `{}` || len(f.service.Requests()) != 1 {
		t.Fatalf("%+v", asked)
	}
	second := ask(t.Context(), f, resumed(req, asked.reply.Suspend, model.Accept, ""))
	noRefusals(t, f)
	if got, want := f.kinds(), "user reasoning function_call mcp_approval_request function_call_output mcp_approval_response"; second.text() != "done" || got != want {
		t.Fatalf("%+v\nsent %s\nwant %s", second, got, want)
	}

	// Nobody answers, and a new turn begins: the request is not repeated.
	abandoned := hosting(append(req.Contents, user("leave it"))...)
	abandoned.Turn, abandoned.Tools = 3, req.Tools
	if out := ask(t.Context(), f, abandoned); out.err != nil || out.text() != "hello" {
		t.Fatalf("%+v", out)
	}
	noRefusals(t, f)
	if got, want := f.kinds(), "user reasoning function_call function_call_output user"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}

	// The server is not there any more: nothing about it goes back, nor is asked.
	alone := request(append(req.Contents, user("and now?"))...)
	alone.Tools = req.Tools
	ask(t.Context(), f, alone)
	noRefusals(t, f)
	if got, want := f.kinds(), "user reasoning function_call function_call_output user"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestQuestionsOfOthers(t *testing.T) {
	for _, opaque := range []string{``, `{"by":"approve"}`, `[1]`} {
		f := start(t, o.Play(o.Say("anew")), options{servers: []*config.HostedMCP{dice()}})
		q := &model.Suspension{Kind: model.Sampling, Opaque: json.RawMessage(opaque)}
		if out := ask(t.Context(), f, resumed(hosting(user("go")), q, model.Accept, "")); out.text() != "anew" {
			t.Errorf("%s: %+v", opaque, out)
		}
		noRefusals(t, f)
	}
}

func TestQuestionsThatAreTooLarge(t *testing.T) {
	long := o.Asks("mcpr_1", "dice", "roll", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`)
	f := start(t, o.Play(o.Answer(long)), options{servers: []*config.HostedMCP{dice()}, change: func(c *config.Model) { c.Timeout = config.Duration(time.Minute) }})
	out := ask(t.Context(), f, hosting(user("go")))
	if out.code() != model.InvalidRequest || !strings.Contains(out.err.Error(), "dice.roll") || !strings.Contains(out.err.Error(), "require_approval") {
		t.Errorf("%v", out.err)
	}
}

func TestShownArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{"a":1}`:                        `{"a":1}`,
		``:                               `{}`,
		`not JSON`:                       `{"arguments":"not JSON"}`,
		`["a"]`:                          `{"arguments":"[\"a\"]"}`,
		"{\"a\":\"x\u200by\U000e0041\"}": `{"a":"x\u200by\udb40\udc41"}`,
		`{"a":"` + strings.Repeat("x", 5000) + `"}`: `{"arguments":"{\"a\":\"` + strings.Repeat("x", 2042) + fmt.Sprintf(` [... %d bytes left out ...]"}`, 5008-2048),
	} {
		f := start(t, o.Play(o.Answer(o.Asks("mcpr_1", "dice", "roll", args))), options{servers: []*config.HostedMCP{dice()}})
		out := ask(t.Context(), f, hosting(user("go")))
		if out.err != nil || out.reply.Suspend == nil || string(out.reply.Suspend.Payload) != want {
			t.Errorf("%.40s: %+v\n got %s\nwant %s", args, out.err, out.reply.Suspend.Payload, want)
		}
	}
}

func TestServers(t *testing.T) {
	secret := config.NewSecret
	for _, c := range []struct {
		name   string
		server config.HostedMCP
		want   string
	}{
		{"a server", config.HostedMCP{ServerLabel: "dice", ServerURL: "https://x/mcp", ServerDescription: "d & e", Headers: map[string]config.Secret{"X-Key": secret("header-secret")}, AllowedTools: []string{"roll"}, RequireApproval: config.HostedApproval{All: "never"}},
			`{"type":"mcp","server_label":"dice","server_description":"d & e","server_url":"https://x/mcp","headers":{"X-Key":"header-secret"},"allowed_tools":["roll"],"require_approval":"never"}`},
		{"a connector", config.HostedMCP{ServerLabel: "dice", ConnectorID: "connector_gmail", Authorization: secret("token-secret"), RequireApproval: config.HostedApproval{Always: []string{"send"}, Never: []string{"read"}}},
			`{"type":"mcp","server_label":"dice","connector_id":"connector_gmail","authorization":"token-secret","require_approval":{"always":{"tool_names":["send"]},"never":{"tool_names":["read"]}}}`},
		{"one that is searched", config.HostedMCP{ServerLabel: "dice", ServerURL: "https://x/mcp", DeferLoading: true},
			`{"type":"mcp","server_label":"dice","server_url":"https://x/mcp","require_approval":"always","defer_loading":true},{"type":"tool_search"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := c.server
			f := start(t, o.Play(o.Say("a"), o.Fail(400, "", "the token header-secret or token-secret is bad")), options{servers: []*config.HostedMCP{&server}})
			out := ask(t.Context(), f, hosting(user("go")))
			noRefusals(t, f)
			if body := string(f.service.Requests()[0].Body); out.err != nil || !strings.Contains(body, `"tools":[`+c.want+`]`) {
				t.Errorf("%v, sent %s\nwant in it %s", out.err, body, c.want)
			}
			unseen := ask(t.Context(), f, request(user("go")))
			if strings.Contains(string(f.service.Requests()[1].Body), "mcp") {
				t.Error("a server that is not visible was sent")
			}
			for _, s := range []string{"header-secret", "token-secret"} {
				if strings.Contains(c.want, s) && strings.Contains(unseen.err.Error(), s) {
					t.Errorf("the message holds a secret: %v", unseen.err)
				}
			}
		})
	}
	f := start(t, o.Play())
	if out := ask(t.Context(), f, hosting(user("go"))); out.code() != model.InvalidRequest || !strings.Contains(out.err.Error(), "mcp:dice") {
		t.Errorf("%v", out.err)
	}
}

// TestHostedItems has what the service did itself: it goes back, nobody sees it, and
// a server that failed is told of.
func TestHostedItems(t *testing.T) {
	server := dice()
	server.DeferLoading = true
	items := append(o.Searched("1"), o.List("mcpl_1", "dice", "424: the server is down"), o.Ran("mcp_1", "dice", "roll", "secret output"), o.Broken("mcp_2", "dice", "drop"), o.Other("ws_1", "web_search_call", `"action":{"x":1}`))
	f := start(t, o.Play(o.Answer(items...), o.Say("four"), o.Say("bye")), options{servers: []*config.HostedMCP{server}})
	req := hosting(user("go"))
	first := ask(t.Context(), retrying(f), req)
	if first.err != nil || first.text() != "" || len(f.service.Requests()) != 1 {
		t.Fatalf("what was done is asked for again: %+v", first)
	}
	if len(first.notices) != 1 || !strings.Contains(first.notices[0], "dice") || !strings.Contains(first.notices[0], "the server is down") || !strings.Contains(f.logged.String(), "level=WARN") {
		t.Errorf("told %q", first.notices)
	}
	if first.partial != "" || first.reply.Content.Parts[2].Text != "[ran dice.roll]" || first.reply.Content.Parts[3].Text != "[dice.drop failed]" {
		t.Errorf("%q, parts %+v", first.partial, first.reply.Content.Parts)
	}
	for _, p := range first.reply.Content.Parts {
		if !p.Thought || strings.Contains(p.Text, "secret output") {
			t.Errorf("part %+v", p)
		}
	}
	req.Contents = stored(t, append(req.Contents, first.reply.Content))
	if second := ask(t.Context(), f, req); second.text() != "four" {
		t.Fatalf("%+v", second)
	}
	if got, want := f.kinds(), "user tool_search_call tool_search_output mcp_call mcp_call"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	noRefusals(t, f)
	if ask(t.Context(), f, request(req.Contents...)); f.kinds() != "user" {
		t.Errorf("without the server: sent %s", f.kinds())
	}
	noRefusals(t, f)
}

// TestServersThatFail has the forms in which the service says why.
func TestServersThatFail(t *testing.T) {
	for failure, want := range map[string]string{
		`"no route"`: "no route",
		`{"type":"http_error","code":503,"message":"try later"}`:     "try later",
		`{"type":"mcp_tool_execution_error","content":[{"text":1}]}`: `[{"text":1}]`,
	} {
		f := start(t, o.Play(o.Answer(o.Other("mcpl_1", "mcp_list_tools", `"server_label":"dice","tools":[],"error":`+failure), o.Text("without it"))), options{servers: []*config.HostedMCP{dice()}})
		out := ask(t.Context(), f, hosting(user("go")))
		if out.text() != "without it" || len(out.reply.Content.Parts) != 1 || len(out.notices) != 1 || !strings.Contains(out.notices[0], want) {
			t.Errorf("%+v", out)
		}
	}
}

// retrying wraps a model as the program does.
func retrying(m model.Model) model.Model {
	return model.Retrying(m, model.Policy{Retries: 1, Rand: func() float64 { return 0 }})
}
