package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/internal/serve"
)

// Set by the linker in releases.
var version, commit string

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func buildCommit() string {
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return cmp.Or(commit, "unknown")
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the MCP versions spoken",
		Example: "  adkmcp version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "adkmcp %s\ncommit %s\nbuilt with %s for %s/%s\nMCP %s\n", buildVersion(), buildCommit(),
				runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(serve.ProtocolVersions(), ", "))
			return err
		},
	}
}
