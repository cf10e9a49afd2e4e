package hosts

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options say which file is meant, what goes into it, and how far an edit may
// go.
type Options struct {
	Host string
	// Scope is User or Project; empty takes the first that the host has.
	Scope string
	// File is another file than the host's.
	File string
	// Name is the key of the entry; if it is empty, it is made of the agent's
	// name.
	Name string
	// URL is where a running adkmcp is reached, for a host that is not to start
	// one. Token names the variable that holds a bearer token, and Headers are
	// pairs NAME=VARIABLE of more headers.
	URL, Token string
	Headers    []string
	// DryRun shows a diff and changes nothing.
	DryRun bool
	// Force replaces and removes entries that are not ours, and makes the folder
	// of a host that seems not to be installed.
	Force bool
}

// Agents is what the host is to start adkmcp for.
type Agents struct {
	Program string   // adkmcp as it runs now
	Path    string   // the file or folder; absolute
	Dir     string   // the folder with the .env file
	Tools   []string // the names of the MCP tools
	// Needs are the variables that the files cannot do without, Reads those that
	// may be set too, in the order in which they are looked up; NoKey says that
	// the model's key is among these and is not set.
	Needs, Reads []string
	NoKey        bool
	// Timeout is how long the longest turn may take.
	Timeout time.Duration
}

// UsageError is an error in what the user has asked for.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// server is what a host gets to know of adkmcp: how to start it, or where it is.
// With a URL it is the latter.
type server struct {
	name, fallback string // as asked for, and what to make one of
	command        string
	args, env      []string
	dotenv         string // where adkmcp looks for what the host does not pass
	url, token     string
	headers        []header
	timeout        time.Duration
	tools          []string
}

// header is a header of a request and the variable that holds its value.
type header struct{ name, variable string }

// defaultTurn is limits.timeout of an agent file that says nothing.
const defaultTurn = 10 * time.Minute

// margin is how much longer than the agent a host waits, so that the last word
// is the agent's.
const margin = 30 * time.Second

// server puts together what was asked for.
func (sys *System) server(o *Options, a Agents) (*server, error) {
	s := &server{name: o.Name, url: o.URL, token: o.Token}
	switch {
	case (o.URL == "") == (a.Path == ""):
		return nil, usagef("say one of PATH and --url")
	case o.URL == "" && (o.Token != "" || len(o.Headers) > 0):
		return nil, usagef("--token-env and --header-env go with --url")
	case o.URL != "":
		s.timeout = defaultTurn
		return s, s.connect(o.Headers)
	case strings.Contains(a.Program, "go-build") && !o.Force:
		return nil, fmt.Errorf("this adkmcp is %s, which go run removes when it ends; build or install it first, or say --force", a.Program)
	}
	s.command, s.args = sys.program(a.Program), []string{"serve", "--stdio", a.Path}
	s.env = sys.wanted(&a)
	s.dotenv, s.tools = filepath.Join(a.Dir, ".env"), a.Tools
	s.timeout = cmp.Or(a.Timeout, defaultTurn)
	if s.fallback = filepath.Base(a.Path); a.Dir != a.Path && len(a.Tools) > 0 {
		s.fallback = a.Tools[0]
	}
	return s, nil
}

// connect checks a URL and its headers. What is secret must not come into a
// file.
func (s *server) connect(headers []string) error {
	u, err := url.Parse(s.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return usagef("--url: want a URL such as https://host/mcp")
	case u.User != nil:
		return usagef("--url: a secret does not belong into a host's file; name the variable that holds it with --token-env or --header-env")
	}
	s.fallback = "adkmcp"
	if _, name, ok := strings.Cut(u.Path, "/mcp/"); ok {
		s.fallback = name
	}
	variable, token := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`), regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	if s.token != "" && !variable.MatchString(s.token) {
		return usagef("--token-env %s: want the name of an environment variable", s.token)
	}
	for _, pair := range slices.Sorted(slices.Values(headers)) {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case !token.MatchString(name) || !variable.MatchString(value):
			return usagef("--header-env %s: want NAME=ENV_VAR, a header and the variable that holds its value", pair)
		case s.token != "" && strings.EqualFold(name, "Authorization"):
			return usagef("--token-env is the header Authorization; leave one of the two out")
		}
		s.headers = append(s.headers, header{name, value})
	}
	return nil
}

// secrets are the variables that a request needs.
func (s *server) secrets() []string {
	var all []string
	if s.token != "" {
		all = append(all, s.token)
	}
	for _, h := range s.headers {
		all = append(all, h.variable)
	}
	return all
}

// program gives the path under which a host should start a program: that in the
// PATH if it is the same program, since a link there outlives updates.
func (sys *System) program(path string) string {
	self, err := os.Stat(path)
	list, _ := sys.Lookup("PATH")
	for _, dir := range filepath.SplitList(list) {
		found := filepath.Join(dir, filepath.Base(path))
		if other, err2 := os.Stat(found); err == nil && err2 == nil && filepath.IsAbs(dir) && os.SameFile(self, other) {
			return found
		}
	}
	return path
}

// wanted names the variables that the host has to pass: those that the agents
// need, and those that they read and that are set now. Where the key of the model
// is not, it is the last one of that name that was looked for.
func (sys *System) wanted(a *Agents) []string {
	names, key := slices.Clone(a.Needs), ""
	for _, name := range a.Reads {
		if v, _ := sys.Lookup(name); v != "" {
			names = append(names, name)
		}
		if strings.HasSuffix(name, "_KEY") {
			key = name
		}
	}
	if a.NoKey && key != "" {
		names = append(names, key)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Needs names the variables that something cannot do without. It asks incomplete
// with an environment that has nothing to see which are looked up, and then with
// one that lacks a single one of these.
func Needs(incomplete func(lookup func(name string) (string, bool)) bool) []string {
	var asked, names []string
	incomplete(func(name string) (string, bool) { asked = append(asked, name); return "", false })
	slices.Sort(asked)
	for _, name := range slices.Compact(asked) {
		if incomplete(func(other string) (string, bool) { return "x", other != name }) {
			names = append(names, name)
		}
	}
	return names
}
