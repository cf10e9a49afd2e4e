// Package artifact keeps what agents make beside their answers: files with a
// name, in versions, that belong to a conversation.
//
// Start with [Store]. An artifact is found in two ways: by its name within the
// conversation that it belongs to, which is how agents know it, and by its id,
// under which the caller gets a link to it.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Errors of stores.
var (
	// ErrNotFound: no such artifact for this principal; nobody learns whether
	// there is one for others.
	ErrNotFound = errors.New("no such artifact")
	// ErrTooLarge: the artifact, or all of the conversation's, would exceed a bound.
	ErrTooLarge = errors.New("artifact is too large")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("artifact store is closed")
)

// Artifact is one version of a named file. It is immutable.
type Artifact struct {
	ID       string // unguessable; set by the store
	Name     string
	Version  int // from 1; set by the store
	MIMEType string
	Data     []byte
}

// Info is what an event and a link say of the artifact.
func (a *Artifact) Info() session.Artifact {
	return session.Artifact{ID: a.ID, Name: a.Name, Version: a.Version, MIMEType: a.MIMEType, Size: len(a.Data)}
}

// maxName is how many bytes a name may have.
const maxName = 200

// CheckName says, in words for the one who chose it, why name cannot be one of
// an artifact. Names look like relative paths, but nothing opens them as such.
func CheckName(name string) error {
	if strings.HasPrefix(name, "user:") {
		return fmt.Errorf("the artifact name %q begins with user:, but artifacts belong to one conversation and cannot be shared: leave user: out", clip(name))
	}
	if len(name) > maxName {
		return fmt.Errorf("the artifact name %q is longer than %d bytes", clip(name), maxName)
	}
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./ ", r)
	}
	edge := func(element string) bool { return strings.TrimSpace(element) != element }
	if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, odd) || anyElement(name, edge) {
		return fmt.Errorf("%q cannot be the name of an artifact: use a relative path of letters, digits, spaces and _ - . / such as reports/2026.md", clip(name))
	}
	return nil
}

func anyElement(name string, is func(string) bool) bool {
	for element := range strings.SplitSeq(name, "/") {
		if is(element) {
			return true
		}
	}
	return false
}

// clip shortens a name for a message.
func clip(name string) string {
	const shown = 60
	if len(name) <= shown {
		return name
	}
	return strings.ToValidUTF8(name[:shown], "") + "..."
}

// Store keeps artifacts. It is safe for concurrent use.
type Store interface {
	// Save adds a version of a.Name, which must pass [CheckName], to the
	// conversation and gives it with its id and version. a.Data is not copied.
	// Past its bound on versions a store lets go of the oldest of that name; no
	// version's number is used twice.
	Save(ctx context.Context, key session.Key, a Artifact) (*Artifact, error)
	// Load gives a version of a name; 0 is the newest.
	Load(ctx context.Context, key session.Key, name string, version int) (*Artifact, error)
	// List gives the newest version of every name of the conversation, sorted
	// by name.
	List(ctx context.Context, key session.Key) ([]session.Artifact, error)
	// Get gives the artifact with this id, if it belongs to the principal and agent.
	Get(ctx context.Context, principal, agent, id string) (*Artifact, error)
	// DeleteConversation removes everything of the conversation; it is no error
	// if there is nothing.
	DeleteConversation(ctx context.Context, key session.Key) error
	// Close frees what the store holds.
	Close() error
}
