package models

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// hosted sees that a model has the tools that its service has to run, and that it
// can have them beside the others.
func (c *checker) hosted(l link) {
	function := slices.IndexFunc(c.Agent.Tools, func(t config.Tool) bool { return check.IsFunction(&t) })
	for i := range c.Agent.Tools {
		t, p := &c.Agent.Tools[i], check.At("tools").Index(i)
		instead := check.Instead(t)
		if instead == "" || l.Provider == "" || c.Unset[l.at.String()] || c.Unset[l.at.Key("provider").String()] {
			continue
		}
		name := p.Key("name")
		const apart = "put it into an agent of its own, and that into the tools as agent: FILE"
		switch {
		case l.Provider != config.Gemini:
			c.errorf(name, instead, "the Gemini API runs %s, and the provider %s does not have it", t.Name, l.Provider)
		case function < 0:
		case c.onVertex():
			c.errorf(name, apart, "Vertex AI runs %s only in agents without other tools, such as that of line %d", t.Name, c.Agent.Tools[function].Pos.Line)
		case strings.HasPrefix(l.Name, "gemini-1.") || strings.HasPrefix(l.Name, "gemini-2."):
			c.errorf(name, "use a Gemini 3 model or newer, such as gemini-flash-latest, or "+apart,
				"%s runs %s only in agents without other tools, such as that of line %d", c.shown(l), t.Name, c.Agent.Tools[function].Pos.Line)
		}
	}
}

// onVertex reports whether the environment sends Gemini's requests to Vertex AI;
// the newer variable wins.
func (c *checker) onVertex() bool {
	for _, name := range []string{"GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI"} {
		if v, ok := c.Agent.LookupEnv(name); ok {
			return v == "1" || strings.EqualFold(v, "true")
		}
	}
	return false
}

// servers checks the MCP servers that the model's service calls itself (OpenAI,
// "MCP and Connectors").
func (c *checker) servers(chain []link) {
	labels := map[string]bool{}
	for i := range c.Agent.Tools {
		s, p := c.Agent.Tools[i].HostedMCP, check.At("tools").Index(i).Key("hosted_mcp")
		if s == nil {
			continue
		}
		c.server(s, p)
		for _, l := range chain {
			if l.Provider != config.OpenAI && l.Provider != "" && c.known(l) {
				c.errorf(p, "use mcp, with which adkmcp itself calls the server, or a model of the provider openai",
					"OpenAI's service runs hosted_mcp, and the provider %s does not have it", l.Provider)
			}
		}
		if labels[s.ServerLabel] {
			c.errorf(p.Key("server_label"), "give each server a label of its own", "the label %q is used twice", s.ServerLabel)
		}
		labels[s.ServerLabel] = true
	}
}

func (c *checker) server(s *config.HostedMCP, p *strictyaml.Path) {
	if !c.OK(p) {
		return
	}
	c.OneOf(p, "say where the server is", "server_url", "connector_id")
	if q := p.Key("server_url"); s.ServerURL != "" && !c.Unset[q.String()] {
		if u, err := url.Parse(s.ServerURL); err != nil || u.Host == "" || u.Scheme != "https" {
			c.errorf(q, "", "want a URL such as https://host/mcp, which OpenAI's service can reach")
		}
	}
	if s.ConnectorID != "" && s.Authorization.IsZero() && !c.Unset[p.Key("authorization").String()] {
		c.errorf(p, "add authorization: ${TOKEN}", "a connector needs an access token")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		c.CheckHeader(p.Key("headers").Key(name), name, s.Headers[name].Reveal())
		if strings.EqualFold(name, "Authorization") && !s.Authorization.IsZero() {
			c.errorf(p.Key("headers").Key(name), "keep one of them", "authorization says the same")
		}
	}
	for _, tool := range s.RequireApproval.Never {
		if slices.Contains(s.RequireApproval.Always, tool) {
			c.errorf(p.Key("require_approval"), "keep it in one of them", "%s stands in always and in never", tool)
		}
	}
}
