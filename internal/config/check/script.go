package check

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// callable are the names of the tools that a script can call; nil where a server or
// a document says what they are.
func (f *File) callable() []string {
	names := []string{}
	for i := range f.Agent.Tools {
		switch t := &f.Agent.Tools[i]; {
		case t.MCP != nil || t.OpenAPI != nil:
			return nil
		case isFunction(t):
			names = append(names, t.Names()...)
		}
		if f.Agent.Tools[i].Defer {
			names = append(names, config.ToolSearch)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkScript checks a script against the tools that there are; nil means that any
// may be there.
func (f *File) checkScript(tools []string) {
	for i, rule := range f.Agent.Model.Script {
		p := At("model").Key("script").Index(i)
		var groups []string
		re, err := syntax.Parse(rule.Match, syntax.Perl)
		if err != nil {
			f.errorf(p.Key("match"), "patterns are RE2: github.com/google/re2/wiki/Syntax", "no valid pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		} else {
			groups = re.CapNames()
		}
		if len(rule.Steps) == 0 && f.ok(p) {
			f.errorf(p, "add steps: with a list of what to say, call or reply", "the rule has no step")
		}
		for j := range rule.Steps {
			f.checkStep(&rule.Steps[j], p.Key("steps").Index(j), tools, append(groups, tools...), err == nil && tools != nil)
		}
	}
}

// checkStep checks one step of a script; known are the names of its places, unless
// there may be others.
func (f *File) checkStep(s *config.Step, p *strictyaml.Path, tools, known []string, allKnown bool) {
	switch {
	case !f.ok(p):
	case s.Reply != "" && (s.Say != "" || len(s.Call) > 0):
		f.errorf(p, "make two steps of it", "a step replies, or it calls tools")
	case s.Reply == "" && len(s.Files) > 0:
		f.errorf(p.Key("files"), "add reply:", "files go along with a reply")
	case s.Reply == "" && len(s.Call) == 0:
		f.errorf(p, "a text without calls is a reply", "the step neither replies nor calls a tool")
	}
	f.checkFiles(s.Files, p.Key("files"))
	places := func(p *strictyaml.Path, text string) string {
		for _, name := range template.ParsePlaces(text).Places() {
			if allKnown && !slices.Contains(known, name) {
				f.errorf(p, orLiteral(name, known), "{%s} is neither a group of the rule's pattern nor a tool", name)
			}
		}
		return text
	}
	places(p.Key("say"), s.Say)
	places(p.Key("reply"), s.Reply)
	for i, call := range s.Call {
		q := p.Key("call").Index(i).Key(call.Tool)
		if call.Tool != "" && tools != nil && !slices.Contains(tools, call.Tool) {
			hint := "the agent has " + strings.Join(tools, ", ")
			if near := strictyaml.Nearest(call.Tool, tools); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			} else if len(tools) == 0 {
				hint = "the agent has no tools"
			}
			f.errorf(q, hint, "the agent has no tool %q", call.Tool)
		}
		if call.Args != nil && f.node(q) != nil {
			f.Doc.JSON(q, places)
		}
	}
}

// maxStepFiles bounds the files of a step, in bytes: a reply holds them in
// memory.
const maxStepFiles = 8 << 20

func (f *File) checkFiles(paths []string, p *strictyaml.Path) {
	var size int64
	for i, path := range paths {
		size += f.checkFile(path, p.Index(i))
	}
	if size > maxStepFiles {
		f.errorf(p, "the most is 8 MiB", "the files of this step have %d bytes together", size)
	}
}
