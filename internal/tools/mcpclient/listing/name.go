package listing

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// maxName is how long a tool's name may be: 64 is the least that models take, and
// some count from it.
const maxName = 63

// reserved are names of tools of our own, which steer the agent.
var reserved = []string{"tool_search", "transfer_to_agent"}

// names gives the names that a model sees, one for each tool, empty where none can
// be had. A name that models take is the server's own behind the prefix, whatever
// else is listed; the others are mapped, in a way that does not depend on the
// order of the list.
func (r *Rules) names(tools []*protocol.Tool) []string {
	names := make([]string, len(tools))
	claimed := make(map[string]bool, len(tools)+len(r.Taken))
	for _, name := range r.Taken {
		claimed[name] = true
	}
	mapped := map[string]int{} // how often a mapped name is wanted
	for i, t := range tools {
		full := Join(r.Prefix, t.Name)
		if names[i] = Fit(full); names[i] == full {
			if claimed[full] { // only by Taken: the server's names differ
				names[i] = ""
			}
			claimed[full] = true
			continue
		}
		mapped[names[i]]++
	}
	for i, t := range tools {
		full := Join(r.Prefix, t.Name)
		if names[i] == full || names[i] == "" {
			continue
		}
		if mapped[names[i]] > 1 || claimed[names[i]] {
			names[i] = hashed(full)
		}
		if claimed[names[i]] {
			names[i] = ""
		}
		claimed[names[i]] = true
	}
	return names
}

// Join puts a prefix before a name.
func Join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "_" + name
}

// Fit gives a name that models take: a letter, then letters, digits, _ and -, 63
// characters at most. It is the name itself if that is one.
func Fit(name string) string {
	fit := plain(name)
	if len(fit) > maxName {
		return hashed(name)
	}
	return fit
}

// plain replaces the characters that models refuse.
func plain(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || isLetter(r) {
			return r
		}
		return '_'
	}, name)
	if fit == "" || !isLetter(rune(fit[0])) {
		fit = "t_" + fit
	}
	return fit
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// hashed is a name that stands for just this one, cut to its length.
func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	fit := plain(name)
	return fit[:min(len(fit), maxName-len(tail))] + tail
}

// shown is a server's name for a warning: whatever it holds, it stays one short
// word in quotes if it is no plain one.
func shown(name string) string {
	const most = 100
	if name == plain(name) && len(name) <= most || slices.Contains(reserved, name) {
		return name
	}
	return strconv.QuoteToASCII(cut(name, most))
}
