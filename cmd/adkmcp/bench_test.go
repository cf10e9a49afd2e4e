package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/agent"
)

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// peer is one of the two servers that are measured side by side.
type peer struct {
	name string
	args []string
}

func buildPeers(b *testing.B) []peer {
	b.Helper()
	dir := b.TempDir()
	dice, err := filepath.Abs(repository + "/agents/dice.yaml")
	if err != nil {
		b.Fatal(err)
	}
	ours, bare := filepath.Join(dir, "adkmcp"), filepath.Join(dir, "bare")
	for out, pkg := range map[string]string{ours: ".", bare: "./testdata/bare"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", pkg, err, msg)
		}
	}
	return []peer{
		{"adkmcp", []string{ours, "serve", "--stdio", "--log-level", "error", dice}},
		{"bare", []string{bare, dice}},
	}
}

// server is a started peer.
type serverProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func spawn(b *testing.B, p peer) *serverProcess {
	b.Helper()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return &serverProcess{cmd, in, bufio.NewReader(out)}
}

// ask writes lines and reads until the answer with that id.
func (s *serverProcess) ask(b *testing.B, lines, id string) {
	b.Helper()
	if _, err := io.WriteString(s.in, lines); err != nil {
		b.Fatal(err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(line, `"id":`+id+`,`) || strings.HasSuffix(strings.TrimSpace(line), `"id":`+id+`}`) {
			return
		}
	}
}

func (s *serverProcess) end(b *testing.B) {
	b.Helper()
	s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

// resident is the memory that a process holds, in KiB; 0 where the system
// does not say.
func (s *serverProcess) resident() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}

// BenchmarkSpawn measures from the start of the process to the answer to
// tools/list, and the memory held then. The two servers take turns, so that
// whatever else the machine does meets both.
func BenchmarkSpawn(b *testing.B) {
	peers := buildPeers(b)
	times, memory := make([][]float64, len(peers)), make([][]float64, len(peers))
	for b.Loop() {
		for i, p := range peers {
			start := time.Now()
			s := spawn(b, p)
			s.ask(b, handshake, "2")
			times[i] = append(times[i], time.Since(start).Seconds()*1000)
			memory[i] = append(memory[i], s.resident())
			s.end(b)
		}
	}
	for i, p := range peers {
		slices.Sort(times[i])
		slices.Sort(memory[i])
		b.ReportMetric(times[i][len(times[i])/2], p.name+"-ms")
		b.ReportMetric(times[i][0], p.name+"-best-ms")
		b.ReportMetric(memory[i][len(memory[i])/2], p.name+"-KiB")
	}
	b.ReportMetric(times[0][len(times[0])/2]/times[1][len(times[1])/2], "time-ratio")
	b.ReportMetric(memory[0][len(memory[0])/2]/memory[1][len(memory[1])/2], "memory-ratio")
}

// BenchmarkCall measures one tools/call over stdio: adkmcp with a scripted
// model that only replies, and the bare server's echo.
func BenchmarkCall(b *testing.B) {
	for _, p := range buildPeers(b) {
		b.Run(p.name, func(b *testing.B) {
			s := spawn(b, p)
			defer s.end(b)
			s.ask(b, handshake, "2")
			id := 2
			for b.Loop() {
				id++
				s.ask(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"dice_agent","arguments":{"request":"hello"}}}`+"\n", id), fmt.Sprint(id))
			}
		})
	}
}

// BenchmarkTurn measures one turn of a scripted agent with one tool call, from
// the request to the answer with everything in between but the MCP transport:
// in a new conversation, and as turn 500 of one.
func BenchmarkTurn(b *testing.B) {
	file := filepath.Join(b.TempDir(), "clock.yaml")
	if err := os.WriteFile(file, []byte(`
name: clock
instruction: Tell the time.
model: {provider: scripted, script: [{steps: [{call: [{current_time: {timezone: UTC}}]}, {reply: "It is {current_time}."}]}]}
tools: [{name: current_time}]
`), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("new", func(b *testing.B) {
		h := openHouse(b, map[string]string{}, file)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			askIn(b, h, fmt.Sprint(i), "go")
		}
	})
	b.Run("turn500", func(b *testing.B) {
		h := openHouse(b, map[string]string{}, file)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			for range 499 {
				askIn(b, h, fmt.Sprint(i), "go")
			}
			b.StartTimer()
			askIn(b, h, fmt.Sprint(i), "go")
		}
	})
}

// BenchmarkStartTenServers measures how long a house whose agent has ten MCP
// servers, each of which takes 200 ms to start, takes to list all their tools, and
// one that has one of them.
func BenchmarkStartTenServers(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "late.sh"), []byte("sleep 0.2\n"+oddServer), 0o600); err != nil {
		b.Fatal(err)
	}
	list := func(servers int) float64 {
		var text strings.Builder
		text.WriteString("name: many\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: x}]}]}\ntools:\n")
		for i := range servers {
			fmt.Fprintf(&text, "  - {mcp: {command: sh, args: [%s, '{\"content\":[]}', \"\"], env: {N: \"%d\"}}, prefix: p%d}\n", filepath.Join(dir, "late.sh"), i, i)
		}
		h, err := testApp(b, map[string]string{}).open(&streams.Log{Level: "warn", Format: "text"}, []string{agentFile(b, text.String())}, opening{bounds: house.DefaultBounds()})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		tools, err := h.Residents[0].Tools.Tools(b.Context(), &agent.Query{Agent: "many"})
		took := time.Since(start)
		if err != nil || len(tools) != servers {
			b.Fatalf("%d tools, %v", len(tools), err)
		}
		if err := h.Close(); err != nil {
			b.Error(err)
		}
		return took.Seconds() * 1000
	}
	var one, ten []float64
	for b.Loop() {
		one, ten = append(one, list(1)), append(ten, list(10))
	}
	slices.Sort(one)
	slices.Sort(ten)
	b.ReportMetric(one[len(one)/2], "one-ms")
	b.ReportMetric(ten[len(ten)/2], "ten-ms")
	b.ReportMetric(ten[len(ten)/2]/one[len(one)/2], "ratio")
}
