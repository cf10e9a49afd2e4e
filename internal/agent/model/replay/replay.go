// Package replay records what passes between agents and their models, and plays it
// again without a model: for tests that run anywhere and cost nothing. It works on
// requests and replies as every provider sees them, so one recording looks the same
// whoever answered.
//
// Start with [NewRecorder] and [Load]. file.go is the form of a recording,
// scrub.go and request.go are what requests are compared by, tree.go holds the
// conversations, order.go gives a recording its order, closest.go says why a request
// is not in it, with package difference.
//
// # How requests are compared
//
// Two requests are equal if they have the same instruction, tools, hosted tools,
// output schema, contents and answer to a suspension, in a form that does not differ
// from run to run: secrets are taken out, JSON has its keys sorted and its numbers as
// they were written, ids of calls that the runner gave are counted, and inline data
// of more than 4 KiB is its hash.
//
// # The order of a recording
//
// Agents run side by side, so the order in which replies come is chance. A
// recording is ordered by agent, and within an agent each conversation is kept
// together: an exchange is followed by those that go on from it, the exchanges that
// go on from the same one are ordered by their new contents, then by instruction,
// tools and answer. Only exchanges with equal requests keep the order in which they
// began, for that is the order in which they have to play. Two runs that ask and
// hear the same give the same bytes, unless equal requests were answered
// differently at the same time.
package replay

import "errors"

const (
	version = 1
	// maxSize bounds a recording as a file, and so what it takes in memory.
	maxSize = 64 << 20
	// maxInline is how much inline data of a request is kept as it is.
	maxInline = 4 << 10
	// maxDepth bounds the nesting of JSON, which an indented file pays for in space.
	maxDepth = 1000
)

// Options are what recordings need from outside.
type Options struct {
	// Redact takes secrets out of a text, or of bytes that are none; required. What it
	// gives holds none, so that giving it that again changes nothing. Those that stand
	// in base64 are found by its means, too.
	Redact func(string) string
	// Stopped, if not nil, is told when recording stops before its end, and why.
	Stopped func(error)
}

var errNoRedact = errors.New("replay: Options.Redact is missing")
