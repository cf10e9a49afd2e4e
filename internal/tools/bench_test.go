package tools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// asEcho as the only argument makes this program an MCP server whose tool gives
// back its argument.
const asEcho = "serve-echo"

func echoServer(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`
		case "tools/call":
			answer = fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}]}`, m.Params.Arguments.Text)
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// BenchmarkMCPTool measures one call of an MCP server's tool as the runner makes
// it, the question for the tools of the step included, against one on the bare
// connection. Both servers are children over stdio, and they take turns, so that
// whatever else the machine does meets both.
func BenchmarkMCPTool(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	t := entry(3, "")
	t.Schema, t.MCP = nil, &config.MCP{Server: &config.MCPServer{
		Name: "echo", Command: self, Args: []string{asEcho}, Dir: b.TempDir(), Transport: "auto", Protocol: "auto", Connect: "lazy", Elicitation: "ask", Sampling: "deny",
	}}
	d := deps()
	set, faults := Build(file(t), d)
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	direct, err := protocol.Connect(b.Context(), protocol.Options{Log: d.Log, Elicitation: true,
		Transport: wire.NewStdio(process.Spec{Args: []string{self, asEcho}, Dir: b.TempDir()}, wire.StdioOptions{Name: "echo", Log: slog.New(slog.DiscardHandler)})})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := direct.Close(); err != nil {
			b.Error(err)
		}
		if err := set.Close(); err != nil {
			b.Error(err)
		}
	}()
	args, key := json.RawMessage(`{"text":"hello"}`), session.Key{Principal: "ann", Agent: "a", Handle: "cv"}
	whole := func() error {
		tools, err := set.Tools(b.Context(), &agent.Query{Agent: "a", Caller: agent.Caller{Principal: "ann"}, Key: key})
		if err != nil {
			return err
		}
		r, err := tools[0].Call(b.Context(), &agent.Call{ID: "c", Name: "echo", Args: args, Agent: "a", Invocation: "i", Key: key,
			Caller: agent.Caller{Principal: "ann"}, Progress: func(string) {}})
		if err == nil && r.Output != "hello" {
			err = fmt.Errorf("got %+v", r)
		}
		return err
	}
	bare := func() error {
		_, err := direct.Do(b.Context(), &protocol.Call{Method: "tools/call", Params: map[string]any{"name": "echo", "arguments": args}})
		return err
	}
	var times [2][]float64
	for b.Loop() {
		for i, call := range []func() error{whole, bare} {
			start := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], float64(time.Since(start).Microseconds()))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	middle := len(times[0]) / 2
	b.ReportMetric(times[0][middle], "chain-us")
	b.ReportMetric(times[1][middle], "direct-us")
	b.ReportMetric(times[0][middle]/times[1][middle], "ratio")
}
