package check

import (
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// checkAgentTool checks an entry of tools that is another agent, which has been
// read and checked by itself.
func (f *File) checkAgentTool(a *config.AgentTool, p *strictyaml.Path) {
	if n := f.node(p); n.Kind != strictyaml.Mapping {
		f.checkFile(a.Path, p)
	} else if n.Get("serve") != nil {
		f.warnf(p.Key("serve"), "remove it", "an agent inside of another one is a tool of that only, and is not served")
	}
}
