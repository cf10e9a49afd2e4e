// Package memory keeps what was said in conversations that have ended, so that
// later ones can find it. A caller finds only what was said to it.
//
// Start with [Service]. [Memory] keeps it all in the process; package memorytest is
// what every service holds to.
package memory

import (
	"context"
	"time"
)

// Owner says whose memory it is: each caller of each agent has its own. Agent is
// that of the conversation's key, so an agent that is a tool has one in each place.
type Owner struct {
	Principal string
	Agent     string
}

// Entry is one thing that was said.
type Entry struct {
	Owner        Owner
	Conversation string
	Time         time.Time
	Author       string // "user" or the agent's name
	Text         string
}

// Service is a store of entries. It is safe for concurrent use.
type Service interface {
	// Add keeps entries, in the order in which they were said.
	Add(ctx context.Context, entries ...Entry) error
	// Search gives the entries of an owner that fit a query best, the best first,
	// at most so many.
	Search(ctx context.Context, owner Owner, query string, most int) ([]Entry, error)
}
