// Package ask makes tools that put a form before the person who waits.
//
// Start with [New], then read the tool's Call: it suspends the turn, and when
// the answer has come it is called again and gives it to the model. What a form
// may look like, and whether an answer fits it, is in form.go.
package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

const (
	// maxAgain is how often a person is asked again when the answer did not fit.
	maxAgain = 2
	// maxMessage bounds what a person has to read, in bytes.
	maxMessage = 8 << 10
)

// tool is one ask tool. It is safe for concurrent use.
type tool struct {
	spec     agent.Spec
	message  template.Text
	defaults map[string]json.RawMessage // of parameters that have one
	form     *form
}

// New makes the tool that t describes, which has passed the checks of a load.
// The error joins everything that is wrong with it.
func New(t *config.Tool) (agent.Tool, error) {
	if t.Ask == nil {
		return nil, errors.New("ask: a tool needs its ask section")
	}
	made := &tool{
		// A question changes nothing, and nobody but the caller is asked.
		spec: agent.Spec{Name: t.Name, Description: t.Description, Parameters: t.Schema,
			Hints: agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}},
		message:  t.Ask.Message,
		defaults: map[string]json.RawMessage{},
	}
	form, badForm := newForm(t.Ask.Form)
	made.form = form
	if err := errors.Join(made.readParameters(t), badForm); err != nil {
		return nil, err
	}
	return made, nil
}

// readParameters finds the defaults and sees that the message names parameters
// only.
func (t *tool) readParameters(c *config.Tool) error {
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		return fmt.Errorf("the schema of the parameters: %w", err)
	}
	for name, property := range schema.Properties {
		var keys struct{ Default json.RawMessage }
		if json.Unmarshal(property, &keys) == nil && len(keys.Default) > 0 { // a property may also be true
			t.defaults[name] = keys.Default
		}
	}
	if len(t.message.Segments) == 0 {
		return errors.New("ask.message: says nothing")
	}
	var errs []error
	for _, name := range t.message.Places() {
		if _, ok := schema.Properties[name]; !ok {
			errs = append(errs, fmt.Errorf("ask.message: {%s} is not a parameter of this tool", name))
		}
	}
	return errors.Join(errs...)
}

// Spec describes the tool.
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call asks, or gives the answer that has come.
func (t *tool) Call(_ context.Context, call *agent.Call) (*agent.Result, error) {
	a := call.Answer
	if a == nil || a.Kind != model.Question {
		return t.ask(call, 0, "")
	}
	switch a.Action {
	case model.Accept:
		return t.accept(call)
	case model.Decline:
		return agent.Failure(because("the person declined to answer", a.Reason)), nil
	}
	return agent.Failure(because("nobody answered", a.Reason)), nil
}

func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// question is the payload of a suspension: the form, and how often it has been
// put before the person again.
type question struct {
	model.Form
	Again int `json:"again,omitempty"`
}

// ask suspends the call; problem says what was wrong with an earlier answer.
func (t *tool) ask(call *agent.Call, again int, problem string) (*agent.Result, error) {
	message, err := t.text(call.Args)
	switch {
	case err != nil:
		return agent.Failure("the arguments cannot be read: " + err.Error()), nil //nolint:nilerr // the model hears of it
	case strings.TrimSpace(message) == "":
		return agent.Failure("not asked: with these arguments the message is empty"), nil
	case len(message) > maxMessage:
		return agent.Failure(fmt.Sprintf("not asked: with these arguments the message has %d bytes, more than the %d that a person can be shown", len(message), maxMessage)), nil
	}
	if problem != "" {
		message = "The answer does not fit: " + problem + "\n" + message
	}
	payload, err := json.Marshal(question{model.Form{Schema: t.form.schema}, again})
	if err != nil {
		return nil, fmt.Errorf("the form of %s: %w", t.spec.Name, err)
	}
	return &agent.Result{Suspend: &session.Suspension{Kind: model.Question, Message: message, Payload: payload}}, nil
}

// accept gives what was filled in to the model if it fits the form, and
// otherwise asks again, but not for ever.
func (t *tool) accept(call *agent.Call) (*agent.Result, error) {
	payload := call.Answer.Payload
	if len(bytes.TrimSpace(payload)) == 0 {
		payload = json.RawMessage("{}")
	}
	if err := t.form.answer.Compile(); err != nil {
		return nil, fmt.Errorf("the form of %s is not a usable JSON Schema: %w", t.spec.Name, err)
	}
	problem := t.form.answer.Check(payload)
	if problem == "" {
		return t.form.result(payload)
	}
	again, err := askedAgain(call.Asked)
	if err != nil {
		return nil, err
	}
	if again >= maxAgain {
		return agent.Failure(fmt.Sprintf("no answer fits the form, after %d tries: %s", again+1, problem)), nil
	}
	return t.ask(call, again+1, problem)
}

func askedAgain(q *session.Suspension) (int, error) {
	if q == nil {
		return 0, nil
	}
	var asked question
	if err := json.Unmarshal(q.Payload, &asked); err != nil {
		return 0, fmt.Errorf("the stored question: %w", err)
	}
	return asked.Again, nil
}

// text is the message with the arguments put in. One that is absent and has no
// default is empty there; lists and objects are JSON.
func (t *tool) text(raw json.RawMessage) (string, error) {
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &args); err != nil {
		return "", err
	}
	return t.message.Expand(func(place string) (string, error) {
		v := bytes.TrimSpace(args[place])
		if len(v) == 0 || string(v) == "null" {
			v = bytes.TrimSpace(t.defaults[place])
		}
		return textOf(v)
	})
}

// textOf writes a value for a person: text as it is, numbers as they were
// written, anything else as JSON.
func textOf(v json.RawMessage) (string, error) {
	switch {
	case len(v) == 0:
		return "", nil
	case v[0] == '"':
		var s string
		err := json.Unmarshal(v, &s)
		return s, err
	}
	var b bytes.Buffer
	err := json.Compact(&b, v)
	return b.String(), err
}
