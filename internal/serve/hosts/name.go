package hosts

import (
	"fmt"
	"strings"
)

// names is how a host makes a tool's full name for its model, and what becomes
// of a long one: prefix, the server's name, separator, the tool's name.
type names struct {
	prefix, separator string
	most              int    // characters of the full name; 0 where nothing is known
	avoid             string // characters that the host takes for something else
}

// longestName bounds a server's name for every host.
const longestName = 63

// shortestCut is what is left of a derived name at least when it is cut.
const shortestCut = 8

// named gives the server's name for a host and what its user has to know of it.
func (h *host) named(s *server) (name, warning string, err error) {
	if name = s.name; name == "" {
		name = h.fit(valid(s.fallback, h.names.avoid), s.tools)
	} else if err := h.checkName(name); err != nil {
		return "", "", err
	}
	tool := longest(s.tools)
	if full := h.names.prefix + name + h.names.separator + tool; h.names.most > 0 && tool != "" && len(full) > h.names.most {
		warning = fmt.Sprintf("%s cuts or leaves out tools whose full name is longer than %d characters, and %s has %d: choose a shorter --name or a shorter name for the agent.",
			h.title, h.names.most, full, len(full))
	}
	return name, warning, nil
}

func (h *host) checkName(name string) error {
	switch {
	case name != valid(name, ""):
		return usagef("--name %s: a name is a letter, then letters, digits, _ and -, %d at most", name, longestName)
	case name != valid(name, h.names.avoid):
		return usagef("--name %s: %s takes %q for the end of a server's name; use - instead", name, h.title, h.names.avoid)
	}
	return nil
}

// valid makes a name that every host takes: a letter, then letters, digits, _
// and -. What stands in avoid becomes a dash too.
func valid(name, avoid string) string {
	var b strings.Builder
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		later := letter || '0' <= r && r <= '9' || r == '_' || r == '-'
		switch {
		case b.Len() == 0 && !letter:
		case later && !strings.ContainsRune(avoid, r):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	if len(s) > longestName {
		s = s[:longestName]
	}
	// A name that is fine as it stands keeps its end.
	if s != name {
		s = strings.TrimRight(s, "-_")
	}
	if s == "" {
		return "adkmcp"
	}
	return s
}

// fit cuts a derived name so that the full names of the tools are not too long
// for the host.
func (h *host) fit(name string, tools []string) string {
	room := h.names.most - len(h.names.prefix) - len(h.names.separator) - len(longest(tools))
	if h.names.most == 0 || len(name) <= room {
		return name
	}
	if room = max(room, shortestCut); len(name) > room {
		name = strings.TrimRight(name[:room], "-_")
	}
	return name
}

func longest(names []string) string {
	var long string
	for _, n := range names {
		if len(n) > len(long) {
			long = n
		}
	}
	return long
}
