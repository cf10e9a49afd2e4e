package house

import (
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/hosts"
)

// NoteReads notes the variables that an agent takes from the environment without
// saying ${}: those of its programs, and those of its models' providers.
func NoteReads(cfg *config.Agent, now func() time.Time, to *hosts.Agents) {
	for _, t := range cfg.Tools {
		to.Reads = append(to.Reads, t.RequiresEnv...)
		switch {
		case t.Shell != nil:
			to.Reads = append(to.Reads, t.Shell.PassEnv...)
		case t.MCP != nil:
			to.Reads = append(to.Reads, t.MCP.Server.PassEnv...)
			if from := t.MCP.Server.HeadersFrom; from != nil {
				to.Reads = append(to.Reads, from.PassEnv...)
			}
		case t.Agent != nil:
			NoteReads(t.Agent.Agent, now, to)
		}
	}
	probe := *cfg
	probe.LookupEnv = func(name string) (string, bool) { to.Reads = append(to.Reads, name); return cfg.LookupEnv(name) }
	m, err := NewModel(&probe, now, slog.New(slog.DiscardHandler))
	if err != nil {
		return
	}
	to.NoKey = to.NoKey || m.NotReady != nil
	_ = m.Close() // nothing has been started
}
