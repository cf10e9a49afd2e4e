package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/condition"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// checkLevers checks what bends a tool, whatever its kind. The arguments that it
// declares are nil where they are not known.
func (f *File) checkLevers(t *config.Tool, p *strictyaml.Path, args []string) {
	f.checkRequiresEnv(t, p.Key("requires_env"))
	f.checkWhen(t.When, p.Key("when"))
	if !isFunction(t) {
		f.refuseLevers(t, p)
		return
	}
	f.checkApproval(t.RequiresApproval, p.Key("requires_approval"), args)
	f.checkRules("allow", t, p, args)
	f.checkRules("deny", t, p, args)
	if q := p.Key("allow"); f.node(q) != nil && len(t.Allow) == 0 && f.ok(q) {
		f.errorf(q, "remove it to allow all calls", "allow has no rule, so that no call could run")
	}
	f.checkRetry(t, p)
	if t.Cache != nil && t.MCP == nil && t.OpenAPI == nil && !mayRepeat(t, "GET", "HEAD") {
		f.warnf(p.Key("cache"), "write idempotent: true if it is so, or remove cache",
			"a call that equals an earlier one does not run, and nothing says that this tool only reads")
	}
	if q := p.Key("rate_limit").Key("max_wait"); f.node(q) != nil && t.RateLimit != nil && t.RateLimit.Exceeded == "error" {
		f.errorf(q, "remove it, or write exceeded: wait", "max_wait stands beside exceeded: error, and then nothing waits")
	}
}

// checkWhen compiles the condition on which a tool is there.
func (f *File) checkWhen(c *config.Condition, p *strictyaml.Path) {
	if c == nil || c.Expr == "" {
		return
	}
	if _, err := condition.When(c.Expr); err != nil {
		f.errorf(p, "", "%v", err)
	}
}

// checkApproval compiles the condition on which a person is asked.
func (f *File) checkApproval(c *config.Condition, p *strictyaml.Path, args []string) {
	if c == nil || c.Expr == "" {
		return
	}
	if _, err := condition.Approval(c.Expr, args); err != nil {
		f.errorf(p, "", "%v", err)
	}
}

// refuseLevers reports levers of a tool that is not called through us.
func (f *File) refuseLevers(t *config.Tool, p *strictyaml.Path) {
	why := "the model's service runs this tool"
	if !isHosted(t) {
		why = "the model does not call this tool"
	}
	for _, key := range []string{
		"requires_approval", "allow", "deny", "max_result_tokens", "max_result_bytes", "max_failures", "retry", "cache", "rate_limit", "defer", "timeout", "idempotent", "answer_media",
	} {
		if q := p.Key(key); f.node(q) != nil {
			f.errorf(q, "remove it", "%s cannot hold here: %s", key, why)
		}
	}
}

// checkRequiresEnv reports all variables of an entry that are not there.
func (f *File) checkRequiresEnv(t *config.Tool, p *strictyaml.Path) {
	var missing []string
	for _, name := range t.RequiresEnv {
		if v, _ := f.Agent.LookupEnv(name); v == "" && template.IsVariableName(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	f.Agent.Incomplete = true
	severity, message := strictyaml.Error, "the environment variable %s is not set"
	if len(missing) > 1 {
		message = "the environment variables %s are not set"
	}
	if f.Validate {
		severity = strictyaml.Warning
	}
	f.Report(severity, p, "set what is missing, or put it into .env beside the file", message, listed(missing))
}

// listed joins texts as a sentence does.
func listed(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// checkRules checks the rules of allow or deny.
func (f *File) checkRules(key string, t *config.Tool, p *strictyaml.Path, args []string) {
	rules := t.Deny
	if key == "allow" {
		rules = t.Allow
	}
	for i, rule := range rules {
		q := p.Key(key).Index(i)
		if rule.Tool != "" {
			f.checkRuleTool(t, rule.Tool, q.Key("tool"))
		}
		if key == "allow" && rule.Tool == "" && len(rule.Args) == 0 && f.ok(q) {
			f.errorf(q, "say which calls, or remove allow", "this rule matches every call, so that the others mean nothing")
		}
		for _, name := range slices.Sorted(maps.Keys(rule.Args)) {
			if args != nil && !slices.Contains(args, name) {
				f.errorf(q.Key("args").Key(name), nearestOf(name, args, "the tool takes "), "the tool has no argument %q", name)
			}
		}
	}
}

// nearestOf is the hint for a name that is none of some.
func nearestOf(name string, known []string, they string) string {
	switch near := strictyaml.Nearest(name, known); {
	case near != "":
		return `did you mean "` + near + `"?`
	case len(known) == 0:
		return they + "none"
	}
	return they + listed(known)
}

// checkRuleTool checks the glob of a rule for the names of an entry's tools.
func (f *File) checkRuleTool(t *config.Tool, glob string, p *strictyaml.Path) {
	several := t.MCP != nil || t.OpenAPI != nil
	names := t.Names()
	switch {
	case !several && len(names) < 2:
		f.errorf(p, "remove it", "this entry gives one tool only, to which its rules apply anyway")
	case !several && !slices.ContainsFunc(names, func(name string) bool { return config.Glob(glob, name) }):
		f.errorf(p, nearestOf(glob, names, "this entry gives "), "no tool of this entry is called %q", glob)
	case several && t.Prefix != "":
		prefix := t.Prefix + "_"
		fixed, _, star := strings.Cut(glob, "*")
		if may := strings.HasPrefix(fixed, prefix) || star && strings.HasPrefix(prefix, fixed); !may {
			f.errorf(p, "write the name that the model sees, such as "+prefix+glob, "no tool of this entry is called %q: their names begin with %s", glob, prefix)
		}
	}
}

// checkRetry sees that nothing is done twice that must not be.
func (f *File) checkRetry(t *config.Tool, p *strictyaml.Path) {
	r := t.Retry
	if r == nil {
		return
	}
	retry, either := p.Key("retry"), t.MCP != nil || t.OpenAPI != nil
	switch {
	case !f.ok(p.Key("idempotent")):
	case t.Idempotent != nil && !*t.Idempotent:
		f.errorf(retry, "keep one of them", "retry stands beside idempotent: false, which says that a second call does more than the first")
	case !either && !mayRepeat(t, "GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
		f.errorf(retry, "write idempotent: true if the same call twice has the effect of one, or remove retry",
			"a call whose outcome is unknown would run again, and nothing says that this tool bears it")
	}
	if r.Delay > r.MaxDelay && f.ok(retry) {
		f.errorf(retry, "max_delay is the longest pause, by default 10s", "delay (%s) is longer than max_delay (%s)", r.Delay, r.MaxDelay)
	}
}

// mayRepeat reports whether an entry says, or is of a kind of which is known, that
// the same call twice has the effect of one; http tools with some methods are.
func mayRepeat(t *config.Tool, methods ...string) bool {
	switch {
	case t.Idempotent != nil:
		return *t.Idempotent
	case t.HTTP != nil:
		return slices.Contains(methods, t.HTTP.Method)
	case t.Builtin != nil:
		return slices.Contains([]string{"current_time", "load_artifacts", "load_memory", "load_web_page"}, t.Name) || t.Name == "files" && !t.Builtin.Write
	}
	return false
}

// ofAgent are the arguments of an agent as a tool, nil where they are not known.
func ofAgent(a *config.Agent) []string {
	if a == nil {
		return nil
	}
	if a.InputSchema == nil {
		return []string{"request"}
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(a.InputSchema, &schema) != nil || schema.Properties == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}
