package catalog_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

type (
	principalKey struct{}
	failureKey   struct{}
)

// as makes a context for requests of a principal.
func as(t *testing.T, principal string) context.Context {
	return context.WithValue(t.Context(), principalKey{}, principal)
}

// options are those of a server; failures go where its requests look for them.
func options(artifacts artifact.Store) catalog.Options {
	return catalog.Options{
		Artifacts: artifacts,
		Principal: func(ctx context.Context) string { name, _ := ctx.Value(principalKey{}).(string); return name },
		Failed: func(ctx context.Context, e *rpc.Error) {
			if failed, ok := ctx.Value(failureKey{}).(**rpc.Error); ok {
				*failed = e
			}
		},
	}
}

// memory is a store of artifacts.
func memory() *artifact.Memory {
	return artifact.NewMemory(artifact.MemoryOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// library makes an MCP server as package serve does.
func library(t *testing.T, agents []catalog.Agent, o catalog.Options) *server.MCPServer {
	t.Helper()
	c, err := catalog.New(agents, o)
	if err != nil {
		t.Fatal(err)
	}
	m := server.NewMCPServer("test", "1.0", append(c.ServerOptions(),
		server.WithToolCapabilities(false), server.WithCacheHints(300_000, mcp.CacheScopePrivate))...)
	c.Register(m)
	return m
}

// ask sends a request and gives the result or the error of the response. What
// every modern result has is left out.
func ask(ctx context.Context, t *testing.T, m *server.MCPServer, modern bool, method, params string) (result, failure map[string]any) {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	if modern {
		p["_meta"] = map[string]any{rpc.MetaVersion: "2026-07-28", rpc.MetaCapabilities: map[string]any{}}
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": p})
	if err != nil {
		t.Fatal(err)
	}
	var failed *rpc.Error
	var answer any = m.HandleMessage(context.WithValue(ctx, failureKey{}, &failed), message)
	if failed != nil {
		answer = rpc.Fail(json.RawMessage("1"), failed).Body
	}
	body, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var response struct{ Result, Error map[string]any }
	if err := json.Unmarshal(body, &response); err != nil {
		t.Fatal(err)
	}
	delete(response.Result, "_meta")
	delete(response.Result, "resultType")
	return response.Result, response.Error
}

// loaded gives the agents in the files of a folder, as package serve would.
func loaded(t *testing.T, files ...string) []catalog.Agent {
	t.Helper()
	agents, problems, err := load.Agents(files, load.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	var all []catalog.Agent
	for _, a := range agents {
		all = append(all, catalog.Agent{
			Name: a.Name, Title: a.Title, Description: a.Description,
			Prompts: a.Serve.Prompts, Resources: a.Serve.Resources,
			Card: catalog.Card{
				Name: a.Name, Title: a.Title, Description: a.Description, Version: "1.0", Conversation: string(a.Serve.Conversation),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"request":{"type":"string"}},"required":["request"]}`),
				Tools:       []catalog.Tool{{Name: "look", Description: "Looks & sees."}},
			},
		})
	}
	return all
}

// TestWire plays the exchanges of testdata. A file of an archive whose name ends
// in .hex is written decoded, and without that ending. The section wire holds:
//
//	> both METHOD params   what the host asks, as legacy, modern or both
//	< result               the result that it gets; both leaves cache hints out
//	! error                the error that it gets
func TestWire(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playWire(t, file) })
	}
}

func playWire(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var agents []string
	var wire string
	for _, f := range archive.Files {
		if f.Name == "wire" {
			wire = string(f.Data)
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if filepath.Ext(path) == ".yaml" {
			agents = append(agents, path)
		}
		write(t, path, f.Data)
	}
	m := library(t, loaded(t, agents...), options(nil))
	line := 0
	var eras []bool // that the last request was made in
	var method, params string
	for text := range strings.Lines(wire) {
		line++
		kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch kind {
		case ">":
			era, asked, _ := strings.Cut(rest, " ")
			method, params, _ = strings.Cut(asked, " ")
			eras = map[string][]bool{"legacy": {false}, "modern": {true}, "both": {false, true}}[era]
		case "<", "!":
			for _, modern := range eras {
				result, failure := ask(as(t, "ann"), t, m, modern, method, params)
				got := map[string]any{"<": result, "!": failure}
				if len(eras) == 2 {
					delete(result, "ttlMs")
					delete(result, "cacheScope")
				}
				var want map[string]any
				if err := json.Unmarshal([]byte(rest), &want); err != nil {
					t.Fatalf("%s: line %d of the wire: %v", file, line, err)
				}
				if diff := cmp.Diff(map[string]any{"<": map[string]any(nil), "!": map[string]any(nil), kind: want}, got); diff != "" {
					t.Errorf("%s: line %d of the wire, modern %v: %s %s\n%s", file, line, modern, method, params, diff)
				}
			}
		}
	}
	if line < 2 {
		t.Errorf("%s asks nothing", file)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if name, ok := strings.CutSuffix(path, ".hex"); ok {
		path, data = name, unhex(t, data)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
