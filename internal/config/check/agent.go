package check

import (
	"net"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Check adds to Found what the decoder cannot see.
func (f *File) Check() {
	a := f.Agent
	f.checkName(At("name"), a.Name)
	f.checkName(At("serve").Key("name"), a.Serve.Name)
	f.checkInstruction()
	f.checkSchemas()
	for _, key := range []string{"candidate_count", "candidateCount"} {
		if p := At("generate_content_config").Key(key); f.node(p) != nil && a.Generate != nil && a.Generate.CandidateCount > 1 {
			f.errorf(p, "remove it", "an agent takes one answer")
		}
	}
	first := map[string]*strictyaml.Path{}
	for i := range a.Tools {
		p := At("tools").Index(i)
		f.checkTool(&a.Tools[i], p)
		f.checkToolNames(&a.Tools[i], p, first)
	}
	f.checkMemory()
	if !f.Inherited {
		f.checkScript(f.callable())
	}
	f.checkServe()
}

// checkSchemas checks what the agent takes and gives.
func (f *File) checkSchemas() {
	if p := At("input_schema"); f.node(p) != nil {
		f.add(f.schema(f.Agent.InputSchema, p).Input())
	}
	p := At("output_schema")
	if f.node(p) == nil {
		return
	}
	f.add(f.schema(f.Agent.OutputSchema, p).Output())
	for _, key := range []string{"response_json_schema", "responseJsonSchema"} {
		if q := At("generate_content_config").Key(key); f.node(q) != nil {
			f.errorf(q, "remove it", "output_schema says already what the answer looks like")
		}
	}
}

// checkName says what the pattern of a name cannot.
func (f *File) checkName(p *strictyaml.Path, name string) {
	const comfortable = 40
	switch {
	case f.node(p) == nil:
	case name == "user":
		f.errorf(p, "", `the name "user" is reserved for the one who asks`)
	case len(name) > comfortable && f.ok(p):
		f.warnf(p, "hosts put a prefix before it and cut what is too long for them", "the name has %d characters; more than %d get cut by some hosts", len(name), comfortable)
	}
}

func (f *File) checkToolNames(t *config.Tool, p *strictyaml.Path, first map[string]*strictyaml.Path) {
	for _, name := range t.Names() {
		other := first[name]
		switch name {
		case "":
			continue
		case config.ToolSearch:
			f.errorf(p.Key("name"), "give it another name", "the name %s is that of the tool that finds deferred ones", name)
		}
		if other == nil {
			first[name] = p.Key("name")
			continue
		}
		line, _ := f.Doc.Position(p.Key("name"))
		before, _ := f.Doc.Position(other)
		f.errorf(p.Key("name"), "rename one of them", "the tool name %q is used twice, on lines %d and %d", name, before, line)
	}
}

// IsLoopback reports whether a host of a URL is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkHeader checks a header's name, and its value as far as it is known.
func (f *File) checkHeader(p *strictyaml.Path, name string, values ...string) {
	if !httpguts.ValidHeaderFieldName(name) {
		f.errorf(p, "", "%q is no valid header name", name)
	}
	if slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
		f.errorf(p, "look at its end, if it comes from the environment", "the value holds a line break or another control character")
	}
}

// checkInstruction warns of state that is not there at run time.
func (f *File) checkInstruction() {
	a := f.Agent
	seen := map[string]bool{}
	for _, s := range template.ParseInstruction(a.Instruction) {
		name := s.Key
		if name == "" || s.Optional || seen[name] {
			continue
		}
		seen[name] = true
		_, given := a.State[name]
		switch {
		case strings.HasPrefix(name, template.ArtifactPrefix):
			f.warnf(At("instruction"), "let the model call load_artifacts, and write {"+name+"?} if it may be missing", "{%s} names an artifact, and this version puts none into instructions", name)
		case strings.Contains(name, ":"): // other conversations or tools may set it
		case !given && name != a.OutputKey:
			f.warnf(At("instruction"), "set it under state, or write {"+name+"?} if it may be missing", "nothing provides the state {%s}", name)
		}
	}
}

// orLiteral is the hint for a place whose name is not known.
func orLiteral(name string, known []string) string {
	hint := "write {{" + name + "}} for the text itself"
	if near := strictyaml.Nearest(name, known); near != "" {
		hint = "did you mean {" + near + "}? Else " + hint
	}
	return hint
}
