package progress

import (
	"slices"
	"strings"
	"time"
)

// margin is by how much our answer comes before a host's limit.
const margin = 5 * time.Second

// hostLimits are hosts that are known to give a call up after a time that its
// progress does not extend, by a part of the name that they give themselves in
// lower case. Hosts change, and their users can raise most of these limits:
// serve.timeout overrides what stands here.
var hostLimits = []struct {
	name  string
	limit time.Duration
}{
	{"claude-ai", 240 * time.Second},
	{"cline", 60 * time.Second},
	{"roo", 60 * time.Second},
	{"zed", 60 * time.Second},
	{"continue", 60 * time.Second},
	{"copilot-cli", 60 * time.Second},
	{"codex", 300 * time.Second},
	{"goose", 300 * time.Second},
	{"gemini-cli", 600 * time.Second},
}

// HostLimit is how long a caller waits whose host is known to have a limit; 0
// for one that is not.
func HostLimit(client string) time.Duration {
	client = strings.ToLower(client)
	i := slices.IndexFunc(hostLimits, func(h struct {
		name  string
		limit time.Duration
	}) bool {
		return strings.HasPrefix(client, h.name)
	})
	if i < 0 {
		return 0
	}
	return hostLimits[i].limit - margin
}
