package session

import (
	"context"
	"errors"
	"iter"
)

// Key names a conversation. The handle alone opens nothing: it is bound to
// the principal who started it and to the agent that it is held with.
type Key struct {
	Principal string
	Agent     string
	Handle    string
}

// Mode says whether [Store.Open] may start a conversation.
type Mode int

// The modes.
const (
	MustExist Mode = iota
	Create         // start it where there is none
)

// Errors of stores.
var (
	// ErrNotFound: no such conversation for this principal and agent, or it
	// has expired; nobody learns which.
	ErrNotFound = errors.New("no such conversation")
	// ErrConflict: the conversation is not at the version that an append
	// expected, or the lease has been lost.
	ErrConflict = errors.New("conversation changed in the meantime")
	// ErrTooLarge: the conversation has reached its bound on bytes.
	ErrTooLarge = errors.New("conversation is full")
	// ErrStateFull: the app: or user: state that conversations share has
	// reached its bound.
	ErrStateFull = errors.New("shared state is full")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("conversation store is closed")
)

// Store keeps conversations. It is safe for concurrent use.
type Store interface {
	// Open leases the conversation, waiting in line until nobody else holds
	// it or ctx ends. Whoever holds the lease is the only one to append.
	Open(ctx context.Context, key Key, mode Mode) (Lease, error)
	// Delete removes the conversation; it is no error if there is none.
	// Appends of a lease that is still held fail with ErrNotFound.
	Delete(ctx context.Context, key Key) error
	// Close ends all waiting and frees what the store holds.
	Close() error
}

// Lease is the sole right to one conversation, until Release.
type Lease interface {
	// Version is the sequence number of the last event, 0 for none.
	Version() int64
	// Load yields the events after a sequence number, in order.
	Load(ctx context.Context, after int64) iter.Seq2[*Event, error]
	// Append stores events and sets their sequence numbers; either all are
	// stored or none. expect is the version that the caller has seen.
	// Keys of their state deltas that begin with app: or user: also go to
	// the state that conversations share; those with temp: nowhere.
	Append(ctx context.Context, expect int64, events ...*Event) error
	// Shared gives the app: and user: state that this conversation sees.
	Shared(ctx context.Context) (map[string]any, error)
	// Memo is a slot for what can be computed again from the events. It
	// lives at most as long as the store holds the conversation in memory.
	Memo() *any
	// Release gives the conversation to the next in line.
	Release()
}
