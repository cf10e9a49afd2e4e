package load

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// check finds what the decoder cannot see: what keys mean together.
func (f *file) check() {
	a := f.agent
	f.checkName(at("name"), a.Name)
	f.checkName(at("serve").Key("name"), a.Serve.Name)
	f.checkModel(&a.Model, at("model"))
	f.checkInstruction()
	for _, key := range []string{"candidate_count", "candidateCount"} {
		if p := at("generate_content_config").Key(key); f.node(p) != nil && a.Generate != nil && a.Generate.CandidateCount > 1 {
			f.errorf(p, "remove it", "an agent takes one answer")
		}
	}
	first := map[string]*strictyaml.Path{}
	for i := range a.Tools {
		p := at("tools").Index(i)
		f.checkTool(&a.Tools[i], p)
		f.checkToolNames(&a.Tools[i], p, first)
	}
	f.checkScript(slices.Sorted(maps.Keys(first)))
}

// checkName says what the pattern of a name cannot.
func (f *file) checkName(p *strictyaml.Path, name string) {
	const comfortable = 40
	switch {
	case f.node(p) == nil:
	case name == "user":
		f.errorf(p, "", `the name "user" is reserved for the one who asks`)
	case len(name) > comfortable && f.ok(p):
		f.warnf(p, "hosts put a prefix before it and cut what is too long for them", "the name has %d characters; more than %d get cut by some hosts", len(name), comfortable)
	}
}

func (f *file) checkToolNames(t *config.Tool, p *strictyaml.Path, first map[string]*strictyaml.Path) {
	for _, name := range t.Names() {
		other := first[name]
		if name == "" {
			continue
		}
		if other == nil {
			first[name] = p.Key("name")
			continue
		}
		line, _ := f.doc.Position(p.Key("name"))
		before, _ := f.doc.Position(other)
		f.errorf(p.Key("name"), "rename one of them", "the tool name %q is used twice, on lines %d and %d", name, before, line)
	}
}

func (f *file) checkModel(m *config.Model, p *strictyaml.Path) {
	if f.unset[p.String()] || f.unset[p.Key("name").String()] || f.unset[p.Key("provider").String()] {
		return
	}
	script := p.Key("script")
	switch {
	case !f.ok(p):
	case m.Provider == "" && len(m.Script) > 0:
		f.errorf(script, "add provider: scripted", "only the scripted provider plays a script")
	case m.Provider == "":
		f.errorf(p, "add name: gemini-flash-latest", "names neither a model nor a provider")
	case m.Provider == config.Scripted && len(m.Script) == 0:
		f.errorf(p, "add script: with a list of rules", "the scripted provider has no script")
	case m.Provider != config.Scripted && f.node(script) != nil:
		f.errorf(script, "remove it, or say provider: scripted", "the provider %s plays no script", m.Provider)
	case m.Provider == config.Gemini && m.Name == "":
		f.errorf(p, "add name: gemini-flash-latest", "has no name")
	}
	f.checkBaseURL(m, p.Key("base_url"))
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		f.checkHeader(p.Key("headers").Key(name), name, m.Headers[name].Reveal())
	}
}

func (f *file) checkBaseURL(m *config.Model, p *strictyaml.Path) {
	if m.BaseURL == "" || f.unset[p.String()] {
		return
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		f.errorf(p, "", "want a URL such as https://host/path")
		return
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !m.APIKey.IsZero() {
		f.warnf(p, "use https", "the key is sent without encryption")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkHeader checks a header's name, and its value as far as it is known.
func (f *file) checkHeader(p *strictyaml.Path, name string, values ...string) {
	if !httpguts.ValidHeaderFieldName(name) {
		f.errorf(p, "", "%q is no valid header name", name)
	}
	if slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
		f.errorf(p, "look at its end, if it comes from the environment", "the value holds a line break or another control character")
	}
}

// checkInstruction warns of state that is not there at run time.
func (f *file) checkInstruction() {
	a := f.agent
	seen := map[string]bool{}
	for _, s := range config.ParseInstruction(a.Instruction) {
		name := s.Key
		if name == "" || s.Optional || seen[name] {
			continue
		}
		seen[name] = true
		_, given := a.State[name]
		switch {
		case strings.HasPrefix(name, config.ArtifactPrefix):
			f.warnf(at("instruction"), "write {"+name+"?} if it may be missing", "{%s} names an artifact, and this version keeps none", name)
		case strings.Contains(name, ":"): // other conversations or tools may set it
		case !given && name != a.OutputKey:
			f.warnf(at("instruction"), "set it under state, or write {"+name+"?} if it may be missing", "nothing provides the state {%s}", name)
		}
	}
}

// checkScript checks a script against the tools that there are.
func (f *file) checkScript(tools []string) {
	for i, rule := range f.agent.Model.Script {
		p := at("model").Key("script").Index(i)
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
			f.checkStep(&rule.Steps[j], p.Key("steps").Index(j), tools, append(groups, tools...), err == nil)
		}
	}
}

// checkStep checks one step of a script; known are the names of its places.
func (f *file) checkStep(s *config.Step, p *strictyaml.Path, tools, known []string, groupsKnown bool) {
	switch {
	case !f.ok(p):
	case s.Reply != "" && (s.Say != "" || len(s.Call) > 0):
		f.errorf(p, "make two steps of it", "a step replies, or it calls tools")
	case s.Reply == "" && len(s.Call) == 0:
		f.errorf(p, "a text without calls is a reply", "the step neither replies nor calls a tool")
	}
	places := func(p *strictyaml.Path, text string) string {
		for _, name := range config.ParsePlaces(text).Places() {
			if groupsKnown && !slices.Contains(known, name) {
				f.errorf(p, orLiteral(name, known), "{%s} is neither a group of the rule's pattern nor a tool", name)
			}
		}
		return text
	}
	places(p.Key("say"), s.Say)
	places(p.Key("reply"), s.Reply)
	for i, call := range s.Call {
		q := p.Key("call").Index(i).Key(call.Tool)
		if call.Tool != "" && !slices.Contains(tools, call.Tool) {
			hint := "the agent has " + strings.Join(tools, ", ")
			if near := strictyaml.Nearest(call.Tool, tools); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			} else if len(tools) == 0 {
				hint = "the agent has no tools"
			}
			f.errorf(q, hint, "the agent has no tool %q", call.Tool)
		}
		if call.Args != nil && f.node(q) != nil {
			f.doc.JSON(q, places)
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
