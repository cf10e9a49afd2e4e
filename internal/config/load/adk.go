package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// translate puts entries of tools that are written as in ADK's Agent Config,
// McpToolset and AgentTool with args, into our own form, so that whatever comes
// after sees only that. Each value stays where it stands in the file. It gives the
// document that is to be read and reports what has no counterpart.
func (f *file) translate() *strictyaml.Document {
	tools := f.Doc.Root.Get("tools")
	if tools == nil || tools.Kind != strictyaml.List {
		return f.Doc
	}
	items := slices.Clone(tools.Items)
	for i, n := range items {
		if name := n.Get("name"); name != nil && name.Kind == strictyaml.Scalar {
			items[i] = f.translateEntry(n, name.Text, check.At("tools").Index(i))
		}
	}
	if slices.Equal(items, tools.Items) {
		return f.Doc
	}
	list, root := *tools, *f.Doc.Root
	list.Items, root.Pairs = items, slices.Clone(root.Pairs)
	for i := range root.Pairs {
		if root.Pairs[i].Value == tools {
			root.Pairs[i].Value = &list
		}
	}
	return &strictyaml.Document{File: f.Doc.File, Root: &root}
}

func (f *file) translateEntry(n *strictyaml.Node, name string, p *strictyaml.Path) *strictyaml.Node {
	out := *n
	out.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(pair strictyaml.Pair) bool { return pair.Key.Text == "name" || pair.Key.Text == "args" })
	args, at := n.Get("args"), n
	if args != nil {
		at = args
	}
	a, before := &adk{f: f, entry: &out}, len(f.Found)
	switch {
	case slices.ContainsFunc([]string{"shell", "http", "ask", "mcp", "openapi", "agent", "hosted_mcp"}, func(kind string) bool { return n.Get(kind) != nil }):
		return n
	case name == "McpToolset" || name == "MCPToolset":
		a.path, a.server = p.Key("mcp"), &strictyaml.Node{Kind: strictyaml.Mapping, Line: at.Line, Column: at.Column}
		a.add(&out, at, "mcp", a.server)
		if a.toolset(args); a.ways != 1 && len(a.f.Found) == before {
			a.wrong(at, "name one of stdio_server_params, stdio_connection_params, sse_connection_params and streamable_http_connection_params",
				"args says %d ways to reach the server", a.ways)
		}
	case name == "AgentTool":
		a.path = p.Key("agent")
		a.agentTool(args)
		if out.Get("agent") != nil {
			break
		}
		if len(f.Found) == before {
			a.wrong(at, "write args: {agent: {config_path: FILE.yaml}}", "args names no agent")
		}
		a.add(&out, at, "agent", &strictyaml.Node{Line: at.Line, Column: at.Column})
	default:
		return n
	}
	return &out
}

// adk is one entry that is put into our form.
type adk struct {
	f             *file
	path          *strictyaml.Path // of what becomes of it, for problems
	entry, server *strictyaml.Node
	ways          int // how often a server is described
}

// wrong reports a problem at a node.
func (a *adk) wrong(at *strictyaml.Node, hint, format string, args ...any) {
	a.f.Found = append(a.f.Found, strictyaml.Problem{Severity: strictyaml.Error, File: a.f.Doc.File, Line: at.Line, Column: at.Column,
		Path: a.path.String(), Message: fmt.Sprintf(format, args...), Hint: hint})
}

// unknown reports a key that ADK has not here.
func (a *adk) unknown(key *strictyaml.Node, known ...string) {
	hint := ""
	if near := strictyaml.Nearest(key.Text, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	if key.Text == "tool_filter" {
		hint = "it belongs under args itself"
	}
	a.wrong(key, hint, "unknown key %q", key.Text)
}

// pairs gives the entries of a mapping; anything else is reported.
func (a *adk) pairs(n *strictyaml.Node) []strictyaml.Pair {
	if n == nil {
		return nil
	}
	if n.Kind != strictyaml.Mapping {
		a.wrong(n, "", "want a mapping, not %s", n.Kind)
	}
	return n.Pairs
}

// add puts a value into a mapping of ours, where at stands in the file.
func (a *adk) add(to, at *strictyaml.Node, key string, value *strictyaml.Node) {
	if to.Get(key) != nil {
		a.wrong(at, "keep one of them", "%s says again what %s says", at.Text, key)
		return
	}
	to.Pairs = append(to.Pairs, strictyaml.Pair{Key: &strictyaml.Node{Text: key, Line: at.Line, Column: at.Column}, Value: value})
}

// text adds a text that the file does not hold.
func (a *adk) text(to, at *strictyaml.Node, key, value string) {
	a.add(to, at, key, &strictyaml.Node{Text: value, Line: at.Line, Column: at.Column})
}

func (a *adk) toolset(args *strictyaml.Node) {
	known := []string{"stdio_server_params", "stdio_connection_params", "sse_connection_params", "streamable_http_connection_params", "tool_filter", "tool_name_prefix", "use_mcp_resources"}
	for _, p := range a.pairs(args) {
		switch key := p.Key.Text; key {
		case "stdio_server_params":
			a.reach(p, "stdio", "command", "args", "env", "cwd", "encoding")
		case "stdio_connection_params":
			a.reach(p, "stdio", "server_params", "timeout")
		case "sse_connection_params":
			a.reach(p, "sse", "url", "headers", "timeout", "sse_read_timeout")
		case "streamable_http_connection_params":
			a.reach(p, "http", "url", "headers", "timeout", "sse_read_timeout", "terminate_on_close")
		case "tool_filter":
			a.add(a.entry, p.Key, "include", p.Value)
		case "tool_name_prefix":
			a.add(a.entry, p.Key, "prefix", p.Value)
		case "use_mcp_resources":
			a.add(a.server, p.Key, "resources", p.Value)
		case "auth_scheme", "auth_credential", "credential_key":
			a.wrong(p.Key, "write headers: {Authorization: \"Bearer ${TOKEN}\"}, or an entry mcp: with oauth", "%s has no counterpart here", key)
		default:
			a.unknown(p.Key, known...)
		}
	}
}

// reach reads how the server is reached.
func (a *adk) reach(p strictyaml.Pair, transport string, known ...string) {
	if a.ways++; a.ways == 1 {
		a.text(a.server, p.Key, "transport", transport)
		a.params(p.Value, known)
	}
}

// params reads what ADK has of a server.
func (a *adk) params(n *strictyaml.Node, known []string) {
	for _, p := range a.pairs(n) {
		switch key := p.Key.Text; {
		case !slices.Contains(known, key):
			a.unknown(p.Key, known...)
		case key == "server_params":
			a.params(p.Value, []string{"command", "args", "env", "cwd", "encoding"})
		case key == "timeout":
			a.seconds(p, a.server, "start_timeout")
		case key == "sse_read_timeout":
			if a.entry.Get("timeout") == nil {
				a.seconds(p, a.entry, "timeout")
			}
		case key == "encoding":
			a.only(p, "utf-8", "MCP is always in UTF-8")
		case key == "terminate_on_close":
			a.only(p, "true", "a session that is over is always closed")
		case key == "cwd":
			a.add(a.server, p.Key, "dir", p.Value)
		default:
			a.add(a.server, p.Key, key, p.Value)
		}
	}
}

func (a *adk) agentTool(args *strictyaml.Node) {
	for _, p := range a.pairs(args) {
		switch p.Key.Text {
		case "agent":
			for _, q := range a.pairs(p.Value) {
				switch q.Key.Text {
				case "config_path":
					a.f.confined[q.Value] = true
					a.add(a.entry, q.Key, "agent", q.Value)
				case "code":
					a.wrong(q.Key, "name an agent file with config_path", "Python cannot run here")
				default:
					a.unknown(q.Key, "config_path")
				}
			}
		case "skip_summarization":
			a.only(p, "false", "the model always reads what the agent answers")
		default:
			a.unknown(p.Key, "agent", "skip_summarization")
		}
	}
}

// only accepts the one value that means what is done anyway.
func (a *adk) only(p strictyaml.Pair, value, why string) {
	if p.Value.Kind != strictyaml.Scalar || !strings.EqualFold(p.Value.Text, value) {
		a.wrong(p.Key, "remove it", "%s can only be %s: %s", p.Key.Text, value, why)
	}
}

// seconds makes a length of time of a number of seconds.
func (a *adk) seconds(p strictyaml.Pair, to *strictyaml.Node, key string) {
	const most = 24 * 60 * 60
	n, err := strconv.ParseFloat(p.Value.Text, 64)
	if p.Value.Kind != strictyaml.Scalar || err != nil || !(n > 0 && n <= most) {
		a.wrong(p.Value, "", "want a number of seconds, at most a day")
		return
	}
	a.text(to, p.Value, key, time.Duration(n*float64(time.Second)).String())
}
