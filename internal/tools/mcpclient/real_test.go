package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// child is an entry whose server is this program. The marker names its processes.
func child(t *testing.T, mode string, change func(*config.Tool)) (e *config.Tool, marker string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marker = filepath.Join(t.TempDir(), "marker")
	return entry(func(c *config.Tool) {
		c.MCP.Server.Command, c.MCP.Server.Args, c.MCP.Server.Protocol = self, []string{serveArg, mode, marker}, "2025-11-25"
		if change != nil {
			change(c)
		}
	}), marker
}

// web is an entry whose server is a site.
func web(t *testing.T, s *site, change func(*config.Tool)) *config.Tool {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return entry(func(c *config.Tool) {
		c.MCP.Server.Command, c.MCP.Server.URL = "", server.URL+"/mcp"
		if change != nil {
			change(c)
		}
	})
}

// textOf is what a result says.
func textOf(t *testing.T, r *agent.Result) string {
	t.Helper()
	text, ok := r.Output.(string)
	if !ok || r.IsError {
		t.Fatalf("got %+v", r)
	}
	return text
}

func TestChild(t *testing.T) {
	p, l := newPool(t, nil)
	e, marker := child(t, "banner", func(c *config.Tool) {
		c.MCP.Server.Env = map[string]config.Secret{"KEY": config.NewSecret("v")}
		c.MCP.Resources, c.MCP.Prompts = true, true
	})
	s := open(t, p, e)
	tools, listing := asked(t, s, agent.Query{})
	if listing.Error != "" || len(tools) != 12 {
		t.Fatalf("%+v\n%s", listing, l)
	}
	if got := textOf(t, called(t, tools["echo"], call(`{"n":1.50,"big":12345678901234567890}`))); got != `{"big":12345678901234567890,"n":1.50} hops 1` {
		t.Errorf("echo: %s", got)
	}
	var said []string
	c := call(`{}`)
	c.Progress = func(text string) { said = append(said, text) }
	if got := textOf(t, called(t, tools["progress"], c)); got != "done" || len(said) != 1 || !strings.Contains(said[0], "halfway") {
		t.Errorf("progress: %s, %q", got, said)
	}
	if got := textOf(t, called(t, tools["files_read_resource"], call(`{"uri":"demo://1"}`))); got != "[resource demo://1]\nits text" {
		t.Errorf("resource: %s", got)
	}
	if got := textOf(t, called(t, tools["files_get_prompt"], call(`{"name":"hello","arguments":{"a":"b"}}`))); got != "user: hi map[a:b]" {
		t.Errorf("prompt: %s", got)
	}
	env := textOf(t, called(t, tools["env"], call(`{}`)))
	home := ""
	for line := range strings.SplitSeq(env, "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch name {
		case "HOME":
			home = value
		case "KEY", "PATH", "LANG":
		default:
			t.Errorf("the child sees %s", line)
		}
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() || !strings.Contains(env, "KEY=v") {
		t.Errorf("HOME is %s: %v", home, err)
	}
	_ = s.Close()
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("the private folder is left: %v", err)
	}
	_ = p.Close()
	processtest.NoneWith(t, marker)
}

func TestListChangedOfAChild(t *testing.T) {
	p, _ := newPool(t, nil)
	defer p.Close()
	e, _ := child(t, "", nil)
	s := open(t, p, e)
	before, _ := asked(t, s, agent.Query{})
	called(t, before["change"], call(`{}`))
	after, _ := asked(t, s, agent.Query{})
	if after["new"] == nil || after["echo"] != before["echo"] {
		t.Errorf("got %v", after)
	}
}

// TestChildDies: the model learns that the outcome is unknown, and the next step
// has the tools again.
func TestChildDies(t *testing.T) {
	p, l := newPool(t, nil)
	defer p.Close()
	e, _ := child(t, "", nil)
	s := open(t, p, e)
	tools, _ := asked(t, s, agent.Query{})
	r := called(t, tools["die"], call(`{}`))
	if text, _ := r.Output.(string); !r.IsError || !strings.Contains(text, "was lost while die ran; whether it took effect is unknown") {
		t.Errorf("got %+v", r)
	}
	again, listing := asked(t, s, agent.Query{})
	if again["echo"] != tools["echo"] || listing.Error != "" {
		t.Errorf("not restarted: %+v", listing)
	}
	if got := textOf(t, called(t, tools["echo"], call(`{}`))); got != "{} hops 1" {
		t.Errorf("got %s", got)
	}
	if text := l.String(); !strings.Contains(text, "last words") || !strings.Contains(text, "has ended") {
		t.Errorf("the log does not say why: %s", text)
	}
}

func TestChildDoesNotStart(t *testing.T) {
	p, _ := newPool(t, nil)
	defer p.Close()
	for mode, want := range map[string]string{"fails": "no licence", "silent": "within 1s; raise its start_timeout"} {
		e, marker := child(t, mode, func(c *config.Tool) {
			if mode == "silent" {
				c.MCP.Server.StartTimeout = config.Duration(time.Second)
			}
		})
		s := open(t, p, e)
		tools, listing := asked(t, s, agent.Query{})
		if len(tools) != 0 || !strings.Contains(listing.Error, want) {
			t.Errorf("%s: %+v", mode, listing)
		}
		_ = s.Close()
		processtest.NoneWith(t, marker)
	}
}

// TestQuestionOfAServer: over pipes and over HTTP.
func TestQuestionOfAServer(t *testing.T) {
	overPipes, _ := child(t, "", nil)
	for name, e := range map[string]*config.Tool{"pipes": overPipes, "HTTP": web(t, &site{}, nil)} {
		t.Run(name, func(t *testing.T) {
			p, _ := newPool(t, nil)
			defer p.Close()
			s := open(t, p, e)
			tools, _ := asked(t, s, agent.Query{})
			c := call(`{}`)
			r := called(t, tools["ask"], c)
			if r.Suspend == nil || r.Suspend.Message != "files asks: Which one?" {
				t.Fatalf("got %+v", r)
			}
			r = called(t, tools["ask"], again(c, r, session.Answer{Action: model.Accept, Payload: json.RawMessage(`{"x":"y"}`)}))
			if got := textOf(t, r); got != `{"action":"accept","content":{"x":"y"}}` {
				t.Errorf("got %s", got)
			}
			called(t, tools["ask"], call(`{}`)) // is still open when everything ends
		})
	}
}

// TestLostSession: a call that has not run for want of a session is made again, one
// that may have run is not unless that does no harm.
func TestLostSession(t *testing.T) {
	site := &site{}
	p, _ := newPool(t, nil)
	defer p.Close()
	s := open(t, p, web(t, site, nil))
	tools, listing := asked(t, s, agent.Query{})
	if listing.Error != "" {
		t.Fatal(listing.Error)
	}
	site.forget()
	if got := textOf(t, called(t, tools["progress"], call(`{}`))); got != "done" || site.sessionCount() != 2 {
		t.Errorf("got %s after %d sessions", got, site.sessionCount())
	}
	site.cutNext()
	if r := called(t, tools["progress"], call(`{}`)); !r.IsError || !strings.Contains(r.Output.(string), "is unknown") {
		t.Errorf("got %+v", r)
	}
	site.cutNext()
	if got := textOf(t, called(t, tools["echo"], call(`{}`))); got != "{} hops 1" { // read only
		t.Errorf("got %s", got)
	}
}

// TestHeadersOfCallers: every request carries those of its own caller, and none a
// caller's credentials.
func TestHeadersOfCallers(t *testing.T) {
	site := &site{}
	p, _ := newPool(t, nil)
	defer p.Close()
	s := open(t, p, web(t, site, func(c *config.Tool) {
		c.MCP.Server.ForwardHeaders = []string{"X-User", "Authorization"}
		c.MCP.Server.Headers = map[string]config.Secret{"X-Fixed": config.NewSecret("f")}
	}))
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			user := fmt.Sprint("user-", i)
			caller := agent.Caller{Principal: user, Header: http.Header{"X-User": {user}, "X-Other": {"o"}, "Authorization": {"Bearer caller"}}}
			q := agent.Query{Caller: caller}
			tools, err := s.Tools(t.Context(), &q)
			if err != nil {
				t.Error(err)
				return
			}
			at := slices.IndexFunc(tools, func(tool agent.Tool) bool { return tool.Spec().Name == "headers" })
			for range 10 {
				c := call(`{}`)
				c.Caller = caller
				r, err := tools[at].Call(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				if got := fmt.Sprint(r.Output); !strings.Contains(got, `"X-User":["`+user+`"]`) || strings.Contains(got, "X-Other") {
					t.Errorf("%s: the server saw %s", user, got)
				}
			}
		})
	}
	group.Wait()
	if site.started != 10 || len(site.seen) < 110 {
		t.Errorf("%d sessions, %d requests", site.started, len(site.seen))
	}
	for _, h := range site.seen {
		if strings.Contains(fmt.Sprint(h["Authorization"]), "caller") || h.Get("X-Other") != "" {
			t.Errorf("a request with %v", h)
		}
	}
}

// shellServer is a server that starts at once and never answers a call.
const shellServer = `while IFS= read -r line; do
	id=${line#*\"id\":\"}; id=${id%%\"*}
	case $line in
	*\"initialize\"*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
	*\"tools/list\"*) result='{"tools":[{"name":"hang","inputSchema":{"type":"object"}}]}' ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":"%s","result":%s}\n' "$id" "$result"
done`

// TestNothingIsLeft: no process, goroutine or folder after many starts and stops.
func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := httptest.NewServer(&site{})
	overHTTP := entry(func(c *config.Tool) { c.MCP.Server.Command, c.MCP.Server.URL = "", server.URL+"/mcp" })
	marker := filepath.Join(t.TempDir(), "marker")
	e := entry(func(c *config.Tool) {
		c.MCP.Server.Command, c.MCP.Server.Args, c.MCP.Server.Protocol = "sh", []string{"-c", shellServer, marker}, "2025-11-25"
	})
	temp := t.TempDir()
	for i := range 100 {
		p, _ := newPool(t, nil)
		p.o.TempDir = temp
		one, two := open(t, p, e), open(t, p, overHTTP)
		if i%10 == 0 { // an eager one that nobody waits for
			eager := open(t, p, entry(func(c *config.Tool) {
				c.MCP.Server.Command, c.MCP.Server.Args, c.MCP.Server.Connect = "sh", []string{"-c", "sleep 1000; true", marker}, "eager"
			}))
			eager.Start(t.Context())
		}
		tools, listing := asked(t, one, agent.Query{})
		if listing.Error != "" {
			t.Fatal(listing.Error)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := tools["hang"].Call(gone, call(`{}`)); err == nil {
			t.Fatal("it has an answer")
		}
		cancel()
		if _, listing := asked(t, two, agent.Query{}); listing.Error != "" {
			t.Fatal(listing.Error)
		}
		if i%2 == 0 {
			_ = one.Close()
		}
		_ = p.Close()
	}
	processtest.NoneWith(t, marker)
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	server.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
