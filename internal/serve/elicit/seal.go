package elicit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Errors of [Sealer.Open]. They say nothing about whose a state is.
var (
	ErrForged  = errors.New("the requestState is not one of this server's, or not for this caller and request")
	ErrExpired = errors.New("the time to answer has run out; make the request again without requestState")
)

// State is what a client carries between the request that was answered with
// questions and the one that brings the answers. Of questions it comes back
// without what is only for the asking side, and of those for a model also without
// what was asked.
type State struct {
	Key session.Key // the conversation whose turn is parked
	// Arguments are the request's own, in any form that is the same for the same
	// request.
	Arguments string
	Questions []session.Suspension
	Expires   time.Time
}

// Sealer signs states. What it signs holds for one principal and one request,
// until a time. That a state is used only once follows from the conversation:
// a question that has been answered is not open any more.
type Sealer struct {
	key []byte
	now func() time.Time
}

// NewSealer makes a sealer. Whoever has the same key can open its states, such
// as a server that takes over from another.
func NewSealer(key []byte, now func() time.Time) *Sealer { return &Sealer{key: key, now: now} }

// sealed is the signed part of a state. The principal and the arguments are not
// in it, since whoever opens it knows them.
type sealed struct {
	Handle    string               `json:"h"`
	Questions []session.Suspension `json:"q"`
	Expires   int64                `json:"e"` // in Unix seconds
}

// Seal gives the text that stands for a state.
func (s *Sealer) Seal(st State) (string, error) {
	questions := make([]session.Suspension, len(st.Questions))
	for i, q := range st.Questions {
		questions[i] = carried(q)
	}
	body, err := json.Marshal(sealed{st.Key.Handle, questions, st.Expires.Unix()})
	if err != nil {
		return "", fmt.Errorf("a turn's questions: %w", err)
	}
	mac := s.sign(body, st.Key, st.Arguments)
	return base64.RawURLEncoding.EncodeToString(mac) + "." + base64.RawURLEncoding.EncodeToString(body), nil
}

// carried is what of a question goes with its client: enough to take the answer,
// and to ask once more without the turn. A client's model cannot be asked once
// more, since its question holds the whole conversation. Opaque is the asking
// side's own.
func carried(q session.Suspension) session.Suspension {
	q.Opaque = nil
	if q.Kind == model.Sampling {
		q.Message, q.Payload = "", nil
	}
	return q
}

// Open gives the state that was sealed for this principal, agent and arguments.
func (s *Sealer) Open(text, principal, agent, arguments string) (State, error) {
	first, second, ok := strings.Cut(text, ".")
	mac, err := base64.RawURLEncoding.DecodeString(first)
	body, err2 := base64.RawURLEncoding.DecodeString(second)
	if !ok || err != nil || err2 != nil {
		return State{}, ErrForged
	}
	var in sealed
	if json.Unmarshal(body, &in) != nil {
		return State{}, ErrForged
	}
	st := State{
		Key: session.Key{Principal: principal, Agent: agent, Handle: in.Handle}, Arguments: arguments,
		Questions: in.Questions, Expires: time.Unix(in.Expires, 0),
	}
	switch {
	case !hmac.Equal(mac, s.sign(body, st.Key, arguments)):
		return State{}, ErrForged
	case !s.now().Before(st.Expires):
		return State{}, ErrExpired
	}
	return st, nil
}

// sign signs a body for a principal, an agent and arguments.
func (s *Sealer) sign(body []byte, key session.Key, arguments string) []byte {
	mac := hmac.New(sha256.New, s.key)
	for _, part := range []string{key.Principal, key.Agent, arguments, string(body)} {
		sum := sha256.Sum256([]byte(part))
		mac.Write(sum[:])
	}
	return mac.Sum(nil)
}
