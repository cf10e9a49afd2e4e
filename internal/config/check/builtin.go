package check

import (
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// builtinArgs are the args of the built-ins that have some.
var builtinArgs = map[string][]string{
	"files":         {"root", "write"},
	"load_web_page": {"allow_hosts"},
}

// checkBuiltin checks an entry that names a built-in.
func (f *File) checkBuiltin(t *config.Tool, p *strictyaml.Path) {
	args := p.Key("args")
	f.checkArgs(t.Name, args)
	switch {
	case t.Name == "files" && t.Builtin.Root != "":
		f.checkFolder(t.Builtin.Root, args.Key("root"))
	case t.Name == "files" && f.ok(args) && !f.Unset[args.Key("root").String()]:
		f.errorf(p, "add args: {root: ./docs}", "files needs args.root, the folder that it may use")
	}
	if hosts := args.Key("allow_hosts"); f.node(hosts) != nil && len(t.Builtin.AllowHosts) == 0 && f.ok(hosts) {
		f.errorf(hosts, "name hosts, or remove it to allow all public ones", "allows no host, so that no page could be loaded")
	}
}

// checkArgs sees that the args of a built-in are its own.
func (f *File) checkArgs(name string, p *strictyaml.Path) {
	n, own := f.node(p), builtinArgs[name]
	if n == nil || !f.ok(p) {
		return
	}
	if own == nil && len(n.Pairs) > 0 {
		f.errorf(p, "remove args", "%s takes no args", name)
		return
	}
	for _, pair := range n.Pairs {
		if !slices.Contains(own, pair.Key.Text) {
			f.errorf(p.Key(pair.Key.Text), "its args are "+strings.Join(own, " and "), "%s does not take the arg %s", name, pair.Key.Text)
		}
	}
}

// hosted are the tools that the Gemini API runs itself, with what to do where
// there is another model.
var hosted = map[string]string{
	"code_execution": "use a shell tool",
	"google_search":  "use an http tool with a search API, or an MCP server that searches",
	"url_context":    "use load_web_page",
}

// Instead says what to use in place of a tool that the Gemini API runs itself;
// empty for any other tool.
func Instead(t *config.Tool) string {
	if t.Builtin == nil {
		return ""
	}
	return hosted[t.Name]
}

// isHosted reports whether the model's own service runs a tool.
func isHosted(t *config.Tool) bool { return Instead(t) != "" || t.HostedMCP != nil }

// IsFunction reports whether a tool is a function that the model calls.
func IsFunction(t *config.Tool) bool { return isFunction(t) }

// isFunction reports whether a tool is a function that the model calls.
func isFunction(t *config.Tool) bool {
	return !isHosted(t) && (t.Builtin == nil || t.Name != "preload_memory")
}

// checkMemory warns of a memory that nothing is put into, or read from.
func (f *File) checkMemory() {
	first := slices.IndexFunc(f.Agent.Tools, func(t config.Tool) bool {
		return t.Builtin != nil && (t.Name == "load_memory" || t.Name == "preload_memory")
	})
	p := At("memory")
	switch auto := f.Agent.Memory == "auto"; {
	case !f.ok(p):
	case auto && first < 0:
		f.warnf(p, "add the tool load_memory or preload_memory", "what is remembered is never read")
	case !auto && first >= 0:
		f.warnf(At("tools").Index(first).Key("name"), "write memory: auto at the top level", "%s finds nothing, since nothing gets into the memory", f.Agent.Tools[first].Name)
	}
}
