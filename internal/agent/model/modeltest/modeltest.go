// Package modeltest is the contract of model providers as a suite of tests: the
// same conversations with every provider, each against a strict fake of its own
// service.
//
// Start with [Run]. A provider's tests give it a [Fixture]: a model that asks a
// fake, and the means to say in neutral words what the fake answers and to see in
// neutral words what it was asked.
package modeltest

import (
	"encoding/json"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// End is how an answer of the fake ends.
type End string

// The ends.
const (
	Done      End = ""           // as the service ends an answer that is whole
	Length    End = "length"     // at the limit on output tokens
	Filtered  End = "filtered"   // withheld by a content filter
	NoMarker  End = "no marker"  // the stream ends cleanly, without the service's finish marker
	Cut       End = "cut"        // the connection is dropped after the pieces
	HalfEvent End = "half event" // the stream ends cleanly in the middle of an event
	Hang      End = "hang"       // after the pieces nothing comes until the request ends
)

// Call is a tool call that the fake makes.
type Call struct {
	ID   string // empty: the fake gives one, if its service does
	Name string
	Args string // as it goes on the wire, JSON or not
}

// Answer is what the fake says on one request. The zero value is an answer that is
// empty and ends well.
type Answer struct {
	Thought string   // before the text; with a signature where the service has them
	Text    []string // pieces of a stream
	Image   []byte   // a PNG, where the service gives images
	Calls   []Call
	End     End

	// With Status, not 0 and not 200, the rest but these is left out.
	Status     int
	RetryAfter string // the header
	Overflow   bool   // the status and words for a history that is too long
	Body       string // in place of the service's own error; with Status 200 in place of everything
}

// Part is what the fake was sent, in neutral words: one of text, an image, a call,
// or a result.
type Part struct {
	Role    string // user, model, or tool for results
	Text    string
	Image   bool
	Thought bool            // reasoning that came back, signature and all
	Call    string          // the called tool's name
	Result  string          // the name or, where the service has none, the id of the call that it answers
	Failed  bool            // of a result
	Args    json.RawMessage // of a call
}

// Request is a request that the fake was sent.
type Request struct {
	System string
	Parts  []Part
	Tools  []string        // names
	Schema json.RawMessage // that the answer is held to; nil for none
	Header map[string]string
	Body   []byte
}

// Fixture is a model that asks a fake.
type Fixture struct {
	// Model asks the fake, without retries and with model.timeout 5 s.
	Model model.Model
	// Play queues answers; a request beyond them is refused.
	Play func(...Answer)
	// Requests are those that the fake accepted or refused, oldest first.
	Requests func() []Request
	// Refusals is what the fake found wrong with requests: rules of the service that
	// were broken.
	Refusals func() []string
	// Key is the secret that the model was given; no message may hold it.
	Key string
}

// Traits is what a service has not, so that the suite leaves it out or expects
// other words.
type Traits struct {
	NoThoughts     bool // the service has no thoughts, or does not show them
	NoImages       bool // it gives no images
	NoResultImages bool // a tool's result is text only; images stand beside it or are named
	NoSchema       bool // answers are not held to a schema
	NoArgsOnWire   bool // arguments are an object on the wire and cannot be malformed
	OwnSignatures  bool // signatures without a mark are the service's own (Gemini)
	// Who is a word that a message about a refused key must hold, such as
	// OPENAI_API_KEY.
	Who string
}

// Run runs the suite. make gives a fresh fixture, which ends with the test.
func Run(t *testing.T, traits Traits, make func(*testing.T) *Fixture) {
	s := &suite{traits, make}
	t.Run("Answers", s.answers)
	t.Run("Calls", s.calls)
	t.Run("Media", s.media)
	t.Run("Schema", s.schema)
	t.Run("Foreign", s.foreign)
	t.Run("Streams", s.streams)
	t.Run("Refusals", s.refusals)
	t.Run("Cancel", s.cancel)
	t.Run("Hostile", s.hostile)
}

type suite struct {
	traits Traits
	make   func(*testing.T) *Fixture
}
