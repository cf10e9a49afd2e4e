// Package hosts knows where MCP hosts keep their configuration, and edits it so
// that a host starts adkmcp or connects to it.
//
// Start with [Editor], whose methods are the subcommands of adkmcp hosts, then
// read table.go, which has one row for each host; entry.go makes the entries of
// these rows, and package configfile puts them into files. What depends on the
// machine comes in as [System].
package hosts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/hosts/configfile"
)

// System is the machine whose hosts are meant.
type System struct {
	GOOS   string
	Dir    string // the working directory: the project
	Lookup func(name string) (string, bool)
}

// place is where a host keeps its configuration: a file below the folder that
// the host makes when it is installed. The folder begins with ~ for the home of
// the user, with config: for the folder in which the system keeps settings, with
// xdg: for the one that Linux has for them, and is empty for the project.
type place struct {
	dir, file string
	env       string // a variable that stands for dir where it is set
	on        string // windows, -windows and so on; empty for all systems
}

// spot is a place on one machine.
type spot struct{ dir, path string }

// host is a row of the table.
type host struct {
	name, title   string
	kind          configfile.Kind
	user, project []place // the first that is there counts
	entry         func(h *host, s *server) configfile.Object
	shape         shape
	ref           string // how a value names a variable, with %s for its name; empty if it cannot
	inherits      bool   // whether what it starts gets its whole environment
	limit         limit
	names         names
	next          string // what to do for the host to see a change
}

// shape is what differs between hosts whose entries look alike.
type shape struct {
	stdio, http string // values of type; empty for no such key
	url         string // the key of the URL; empty if the host starts processes only
	more        configfile.Object
}

// limit is a host's key for how long a call may take.
type limit struct {
	key  string
	unit time.Duration
	most int // in units; 0 for none
}

// Scopes of a configuration file.
const (
	User    = "user"
	Project = "project"
)

// Names lists the hosts.
func Names() []string {
	var all []string
	for _, h := range table() {
		all = append(all, h.name)
	}
	return all
}

func find(name string) (*host, error) {
	for _, h := range table() {
		if h.name == name {
			return h, nil
		}
	}
	return nil, usagef("there is no host %q; there are %s", name, strings.Join(Names(), ", "))
}

func (h *host) scopes() map[string][]place {
	return map[string][]place{User: h.user, Project: h.project}
}

// spots gives the places of one scope on a machine. There is none where the host
// has no such scope, or does not run.
func (sys *System) spots(h *host, scope string) ([]spot, error) {
	var all []spot
	for _, p := range h.scopes()[scope] {
		other, not := strings.CutPrefix(p.on, "-")
		if p.on != "" && (other == sys.GOOS) == not {
			continue
		}
		dir := sys.Dir
		if scope == User {
			var err error
			if dir, err = sys.folder(p); err != nil {
				return nil, err
			}
		}
		all = append(all, spot{dir, sys.join(dir, p.file)})
	}
	return all, nil
}

// folder is the folder of a place in the user's home.
func (sys *System) folder(p place) (string, error) {
	if p.env != "" {
		if dir, _ := sys.Lookup(p.env); dir != "" {
			return dir, nil
		}
	}
	variable := "HOME"
	if sys.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	home, _ := sys.Lookup(variable)
	if home == "" {
		return "", fmt.Errorf("%s is not set, so that there is no home folder; say --file or --scope project", variable)
	}
	kind, rest, _ := strings.Cut(p.dir, ":")
	switch {
	case kind == "config" && sys.GOOS == "windows":
		return sys.join(sys.or("APPDATA", home, "AppData/Roaming"), rest), nil
	case kind == "config" && sys.GOOS == "darwin":
		return sys.join(home, "Library/Application Support", rest), nil
	case kind == "config", kind == "xdg":
		return sys.join(sys.or("XDG_CONFIG_HOME", home, ".config"), rest), nil
	}
	return sys.join(home, strings.TrimPrefix(strings.TrimPrefix(p.dir, "~"), "/")), nil
}

// or is the folder in a variable, or else one in the home folder.
func (sys *System) or(variable, home, below string) string {
	if dir, _ := sys.Lookup(variable); filepath.IsAbs(dir) || sys.GOOS == "windows" && dir != "" {
		return dir
	}
	return sys.join(home, below)
}

// join joins parts of a path as the machine does it, which may not be this one.
func (sys *System) join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if sys.GOOS == "windows" {
		return strings.ReplaceAll(strings.Join(parts, `\`), "/", `\`)
	}
	return filepath.Join(parts...)
}

// About is the help text of adkmcp hosts.
func About() string {
	return `Show or edit the configuration of an MCP host, so that it starts adkmcp for an
agent file or folder, or connects to a URL:

  adkmcp hosts list
  adkmcp hosts install claude-code agents/dice.yaml
  adkmcp hosts install cursor --scope project --dry-run agents/dice.yaml
  adkmcp hosts print codex --url https://agents.example.com/mcp/dice --token-env AGENTS_TOKEN
  adkmcp hosts remove codex dice

An edit leaves the rest of the file as it is, byte for byte, and keeps a backup.
Values of variables are never written, only references to them. The hosts:

  ` + strings.Join(Names(), "\n  ")
}
