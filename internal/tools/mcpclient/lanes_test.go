package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
)

// perUser is an entry whose server is told the user.
func perUser(c *config.Tool) {
	c.MCP.Server.Command, c.MCP.Server.URL, c.MCP.Server.ForwardHeaders = "", "http://127.0.0.1:1/mcp", []string{"X-User"}
}

func asUser(name string) agent.Query {
	return agent.Query{Caller: agent.Caller{Principal: name, Header: http.Header{"X-User": {name}}}}
}

// One caller's bad headers are no reason to leave another one alone, nor anything
// that the other one hears of.
func TestBadHeadersOfAnother(t *testing.T) {
	f := &fake{list: &protocol.ToolList{Tools: named("a")}}
	p, log := newPool(t, nil)
	defer p.Close()
	p.dial = func(*config.MCPServer, upstream.DialOptions) upstream.Dial {
		return func(ctx context.Context, header http.Header, changed func(string)) (upstream.Client, *protocol.Server, error) {
			if header.Get("X-User") == "bob" {
				return nil, nil, errors.New("the key of bob is forbidden")
			}
			return f.dial(ctx, header, changed)
		}
	}
	s := open(t, p, entry(perUser))
	for range 3 {
		if tools, l := asked(t, s, asUser("bob")); len(tools) != 0 || !strings.Contains(l.Error, "bob is forbidden") {
			t.Errorf("bob: %v, %+v", tools, l)
		}
		if tools, l := asked(t, s, asUser("ann")); len(tools) != 1 || l.Error != "" {
			t.Errorf("ann: %v, %+v", tools, l)
		}
	}
	if n := strings.Count(log.String(), "forbidden"); n > 3 {
		t.Errorf("it is logged %d times", n)
	}
}

// Only so many connections are kept; the one that nobody has used for the longest
// time goes, and none that is in use.
func TestManyLanes(t *testing.T) {
	f := &fake{}
	s := &shared{lanes: map[string]*lane{}, options: upstream.Options{Dial: f.dial}}
	of := func(i int) (*upstream.Server, error) {
		return s.of(http.Header{"X-User": {fmt.Sprint(i)}})
	}
	first, err := of(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < maxLanes; i++ {
		if _, err := of(i); err != nil {
			t.Fatal(i, err)
		}
	}
	if again, err := of(0); err != nil || again != first {
		t.Errorf("the same headers give another server: %v", err)
	}
	if _, err := of(maxLanes); err != nil {
		t.Error(err)
	}
	if again, err := of(0); err != nil || again != first {
		t.Errorf("the newest was given up: %v", err)
	}
	if len(s.lanes) != maxLanes || s.lanes[upstream.KeyOf(http.Header{"X-User": {"1"}})] != nil {
		t.Errorf("%d are kept", len(s.lanes))
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
