package load

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// servers gives the servers of an agent's tools without what is the same for all.
func servers(t *testing.T, a *config.Agent) []config.MCPServer {
	t.Helper()
	var all []config.MCPServer
	for _, tool := range a.Tools {
		if tool.MCP == nil || tool.MCP.Server == nil {
			t.Fatalf("%+v has no server", tool)
		}
		s := *tool.MCP.Server
		s.Pos, s.Secrets = config.Position{}, nil
		if s.Protocol != "auto" || s.Connect != "lazy" || s.IdleTimeout.Std() != 10*time.Minute || s.Elicitation != "ask" || s.Sampling != "deny" {
			t.Errorf("defaults of %s: %+v", s.Name, s)
		}
		s.Protocol, s.Connect, s.IdleTimeout, s.Elicitation, s.Sampling = "", "", 0, "", ""
		all = append(all, s)
	}
	return all
}

func compareServers(t *testing.T, got, want []config.MCPServer) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Error(diff)
	}
}

// parsed loads a file whose paths need not be there.
func parsed(t *testing.T, data string, pairs ...string) *config.Agent {
	t.Helper()
	agents, problems, err := Agents([]string{write(t, t.TempDir(), "agent.yaml", data)}, Options{LookupEnv: env(pairs...)})
	if err != nil || len(agents) != 1 {
		t.Fatal(problems, err)
	}
	for _, p := range problems {
		if !strings.Contains(p.Message, "there is no ") && p.Severity == strictyaml.Error {
			t.Error(p)
		}
	}
	return agents[0]
}

func TestServers(t *testing.T) {
	a := parsed(t, minimal+`mcp_servers:
  files: {type: stdio, command: "bin/${NAME}", args: ["${NAME}", x], cwd: ., env: {A: "${NAME}"}, roots: [., sub]}
  far: {type: streamableHttp, url: "https://${NAME}.example.com/mcp", headers: {A: "${NAME}"}, headers_from: {file: h.json}}
tools:
  - mcp: files
  - mcp: {server: files, required: true, resources: true, prompts: true, pin: "pins/${NAME}.json"}
    prefix: p
  - mcp: far
  - mcp: {command: npx, args: [-y, "@scope/server-everything@2.0"], start_timeout: 5s, required: true, pin: x.json}
  - mcp: {transport: sse, url: "https://example.com/sse", headers_from: {command: [./token, x], ttl: 1m}}
`, "PATH", "", "NAME", "prog")
	dir := a.Dir
	thirty := config.Duration(30 * time.Second)
	files := config.MCPServer{Name: "files", Transport: "stdio", Command: filepath.Join(dir, "bin", "prog"), Args: []string{"prog", "x"}, Dir: dir,
		Env: map[string]config.Secret{"A": config.NewSecret("prog")}, Roots: []string{dir, filepath.Join(dir, "sub")}, StartTimeout: thirty}
	far := config.MCPServer{Name: "far", Transport: "http", URL: "https://prog.example.com/mcp", Dir: dir, Headers: map[string]config.Secret{"A": config.NewSecret("prog")},
		HeadersFrom: &config.HeadersFrom{File: filepath.Join(dir, "h.json"), TTL: config.Duration(5 * time.Minute)}, StartTimeout: thirty}
	compareServers(t, servers(t, a), []config.MCPServer{files, files, far,
		{Name: "server-everything", Transport: "auto", Command: "npx", Args: []string{"-y", "@scope/server-everything@2.0"}, Dir: dir, StartTimeout: config.Duration(5 * time.Second)},
		{Name: "example.com", Transport: "sse", URL: "https://example.com/sse", Dir: dir, StartTimeout: thirty,
			HeadersFrom: &config.HeadersFrom{Command: []string{filepath.Join(dir, "token"), "x"}, TTL: config.Duration(time.Minute)}}})
	if a.Tools[0].MCP.Server != a.Tools[1].MCP.Server || a.Tools[0].MCP.Server != &a.MCPServers[0] {
		t.Error("one server is several")
	}
	second, inline := a.Tools[1].MCP, a.Tools[3].MCP
	if second.Ref != "files" || !second.Required || !second.Resources || !second.Prompts || second.Pin != filepath.Join(dir, "pins", "prog.json") {
		t.Errorf("%+v", second)
	}
	if inline.Ref != "" || !inline.Required || inline.Resources || inline.Pin != filepath.Join(dir, "x.json") {
		t.Errorf("%+v", inline)
	}
}

// ADK's forms mean what ours do.
func TestADKServers(t *testing.T) {
	a := parsed(t, minimal+`tools:
  - name: MCPToolset
    args:
      stdio_server_params: {command: ./run, args: [x], env: {A: "${T}"}, cwd: sub}
      tool_filter: [one, two]
      tool_name_prefix: fs
  - name: McpToolset
    args: {stdio_connection_params: {server_params: {command: node}, timeout: 2.5}, use_mcp_resources: true}
    timeout: 7s
  - name: McpToolset
    args: {sse_connection_params: {url: "https://example.com/", headers: {A: b}, timeout: 3, sse_read_timeout: 9}}
  - name: McpToolset
    args: {streamable_http_connection_params: {url: "https://example.com/", sse_read_timeout: 300}}
    timeout: 7s
    requires_approval: true
`, "PATH", "", "T", "secret-value")
	dir, thirty := a.Dir, config.Duration(30*time.Second)
	compareServers(t, servers(t, a), []config.MCPServer{
		{Name: "run", Transport: "stdio", Command: filepath.Join(dir, "run"), Args: []string{"x"}, Env: map[string]config.Secret{"A": config.NewSecret("secret-value")},
			Dir: filepath.Join(dir, "sub"), StartTimeout: thirty},
		{Name: "node", Transport: "stdio", Command: "node", Dir: dir, StartTimeout: config.Duration(2500 * time.Millisecond)},
		{Name: "example.com", Transport: "sse", URL: "https://example.com/", Headers: map[string]config.Secret{"A": config.NewSecret("b")}, Dir: dir, StartTimeout: config.Duration(3 * time.Second)},
		{Name: "example.com", Transport: "http", URL: "https://example.com/", Dir: dir, StartTimeout: thirty},
	})
	first := a.Tools[0]
	if first.Name != "" || first.Prefix != "fs" || !slices.Equal(first.Include, []string{"one", "two"}) || !slices.Contains(first.Secrets, "secret-value") {
		t.Errorf("%+v", first)
	}
	if a.Tools[1].Timeout.Std() != 7*time.Second || !a.Tools[1].MCP.Resources || a.Tools[2].Timeout.Std() != 9*time.Second || a.Tools[3].Timeout.Std() != 7*time.Second {
		t.Errorf("timeouts %v %v %v", a.Tools[1].Timeout, a.Tools[2].Timeout, a.Tools[3].Timeout)
	}
	if a.Tools[3].RequiresApproval == nil {
		t.Error("what stands beside args is lost")
	}
	ours := one(t, minimal+"tools: [{mcp: {command: node, transport: stdio}, include: [x]}]\n", "PATH", "")
	theirs := one(t, minimal+"tools: [{name: McpToolset, args: {stdio_server_params: {command: node}, tool_filter: [x]}}]\n", "PATH", "")
	if ours.Definition != theirs.Definition {
		t.Error("two forms, two definitions")
	}
}

func TestOpenAPIPaths(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "api.yaml", "openapi: 3.1.0\n")
	agents, problems, err := Agents([]string{write(t, dir, "a.yaml", minimal+`tools:
  - openapi: ${API}.yaml
  - openapi: https://example.com/${API}.json
  - openapi: {document: ./api.yaml, methods: [get, Post]}
`)}, Options{LookupEnv: env("API", "api")})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	tools := agents[0].Tools
	got := []string{tools[0].OpenAPI.Document, tools[1].OpenAPI.Document, tools[2].OpenAPI.Document, strings.Join(tools[2].OpenAPI.Methods, " ")}
	want := []string{filepath.Join(dir, "api.yaml"), "https://example.com/api.json", filepath.Join(dir, "api.yaml"), "GET POST"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServerSecrets(t *testing.T) {
	a := parsed(t, minimal+`mcp_servers:
  stdio: {command: x, args: ["--token=${ARG_TOKEN}", "${PLAIN}"], env: {MODE: "${FROM_ENV}", API_KEY: literal-key, DEBUG: literal-debug}, pass_env: [PASSED_TOKEN, PLAIN]}
  http:
    url: "https://example.com/?api_key=in-query&q=not-secret"
    headers: {X-Auth: "Bearer literal-bearer", X-Team: literal-team, X-Other: "a-${FROM_HEADER}"}
    oauth: {client_id: not-secret, client_secret: literal-client}
    headers_from: {command: [x], pass_env: [HEADER_TOKEN]}
tools:
  - mcp: stdio
  - mcp: http
  - openapi:
      document: "https://example.com/?token=in-document"
      auth: {a: {bearer: literal-auth}, b: {basic: {username: u, password: literal-password}}}
      headers: {X-Key: literal-header}
`, "PATH", "", "ARG_TOKEN", "arg-token", "PLAIN", "plain-value", "FROM_ENV", "from-env", "PASSED_TOKEN", "passed-token", "FROM_HEADER", "from-header", "HEADER_TOKEN", "header-token")
	for i, want := range [][]string{
		{"from-env", "literal-key", "passed-token", "arg-token"},
		{"literal-bearer", "from-header", "in-query", "literal-client", "header-token"},
		{"literal-header", "in-document", "literal-auth", "literal-password", "dTpsaXRlcmFsLXBhc3N3b3Jk"},
	} {
		if diff := cmp.Diff(want, a.Tools[i].Secrets); diff != "" {
			t.Error(diff)
		}
		for _, secret := range want {
			if !slices.Contains(a.Secrets, secret) {
				t.Errorf("the agent does not know %s", secret)
			}
		}
		if i < 2 && !slices.Equal(a.MCPServers[i].Secrets, want) {
			t.Errorf("the server knows %q", a.MCPServers[i].Secrets)
		}
	}
}

func TestServerMessagesKeepSecrets(t *testing.T) {
	const canary = "CANARY\nhttp://x y{"
	got := problemsOf(t, minimal+`mcp_servers:
  a: {command: "${S}/x", args: ["${S}"], cwd: "${S}", env: {"A": "${S}"}, roots: ["${S}"], type: stdio}
  b: {url: "${S}", headers: {A: "${S}"}, headers_from: {file: "${S}/x"}, oauth: {client_id: "${S}", token_url: "${S}"}}
  c: {command: "${S}"}
tools:
  - mcp: {server: a, pin: "${S}/x"}
  - mcp: b
  - mcp: c
  - mcp: {url: "${S}"}
  - openapi: "${S}"
  - openapi: {document: "${S}", server: "${S}", auth: {a: {header: {name: "${S}", value: "${S}"}}}, headers: {A: "${S}"}}
  - agent: "${S}"
`, "PATH", "/nowhere", "S", canary)
	if strings.Contains(got, "CANARY") {
		t.Errorf("shown: %s", got)
	}
	for _, want := range []string{
		"mcp_servers.a.command: there is no program ${S}/x", "mcp_servers.a.cwd: there is no folder ${S}", "mcp_servers.a.roots[0]: there is no folder ${S}",
		"mcp_servers.b.url: want a URL", "mcp_servers.b.headers.A: the value holds", "mcp_servers.b.headers_from.file: there is no folder ${S}",
		"mcp_servers.c.command: there is no program ${S}", "tools[0].mcp.pin: there is no folder ${S}", "tools[3].mcp.url: want a URL", "tools[4].openapi: want a URL",
		"tools[5].openapi.document: want a URL", "tools[5].openapi.auth.a.header.name: ", "tools[6].agent: there is no file ${S}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s in\n%s", want, got)
		}
	}
}

// Whoever installs an agent into a host has to learn of every variable that its
// files name.
func TestAllVariablesAreAskedFor(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "inner.yaml", "name: inner\ninstruction: x\nmodel: {name: gemini-x, api_key: \"${IN_INNER}\"}\n")
	path := write(t, dir, "a.yaml", minimal+`mcp_servers:
  a: {command: x, args: ["${IN_ARGS}"], env: {A: "${IN_ENV}"}, roots: ["${IN_ROOTS}"]}
  b: {url: "${IN_URL}", headers: {A: "${IN_HEADERS}"}, headers_from: {command: ["${IN_COMMAND}"]}, oauth: {client_secret: "${IN_SECRET}"}}
tools:
  - mcp: {server: a, pin: "${IN_PIN}"}
  - mcp: {url: "${IN_INLINE}"}
  - openapi: {document: "${IN_DOCUMENT}", server: "${IN_SERVER}", auth: {a: {bearer: "${IN_AUTH}"}}}
  - openapi: ${IN_TEXT}
  - agent: inner.yaml
  - agent: {name: i, instruction: x, tools: [{name: t, shell: [x, "${IN_INLINE_AGENT}"]}]}
  - name: McpToolset
    args: {stdio_server_params: {command: "${IN_ADK}"}}
`)
	for _, name := range []string{"IN_ARGS", "IN_ENV", "IN_ROOTS", "IN_URL", "IN_HEADERS", "IN_COMMAND", "IN_SECRET", "IN_PIN", "IN_INLINE", "IN_DOCUMENT", "IN_SERVER", "IN_AUTH", "IN_TEXT",
		"IN_INNER", "IN_INLINE_AGENT", "IN_ADK"} {
		agents, _, err := Agents([]string{path}, Options{Validate: true, LookupEnv: func(other string) (string, bool) { return "x", other != name }})
		if err != nil || len(agents) != 1 || !agents[0].Incomplete {
			t.Errorf("%s is not missed: %v", name, err)
		}
	}
}
