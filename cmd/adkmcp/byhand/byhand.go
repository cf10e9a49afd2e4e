// Package byhand lets a person look at an agent's tools and call one of them, with
// everything around it that a call by the model has.
//
// Start with [List] and [Call].
package byhand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/tools"
)

// Agent is what is looked at.
type Agent struct {
	Name  string
	Tools *tools.Set
	// State is the session's state at the start of a conversation.
	State map[string]any
	// Principal is the person.
	Principal string
}

// caller is the person as tools see it.
func (a *Agent) caller() agent.Caller {
	return agent.Caller{Principal: a.Principal, Interactive: true}
}

// key is that of a conversation which nobody keeps.
func (a *Agent) key() session.Key {
	return session.Key{Principal: a.Principal, Agent: a.Name, Handle: "by-hand"}
}

// query is that of a turn which has just begun. The listings of sources go to
// report.
func (a *Agent) query(report func(*session.Listing)) *agent.Query {
	return &agent.Query{
		Agent: a.Name, Caller: a.caller(), Key: a.key(), Invocation: "by-hand",
		State:    func(key string) (any, bool) { v, ok := a.State[key]; return v, ok },
		Failures: func(string) int { return 0 },
		Input:    func() string { return "" },
		Report:   report,
	}
}

// Listed is a tool as [List] prints it.
type Listed struct {
	Name        string          `json:"name"`
	From        string          `json:"from"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	ReadOnly    bool            `json:"read_only"`
	Destructive bool            `json:"destructive"`
	Idempotent  bool            `json:"idempotent"`
	OpenWorld   bool            `json:"open_world"`
	Hidden      string          `json:"hidden,omitempty"` // why the model does not see it at first
}

// List gives the tools that the model can come to see, and what each source
// listed. It connects to what has to be asked.
func List(ctx context.Context, a *Agent) ([]Listed, []*session.Listing, error) {
	listings := []*session.Listing{}
	all, err := a.Tools.Describe(ctx, a.query(func(l *session.Listing) { listings = append(listings, l) }))
	if err != nil {
		return nil, listings, err
	}
	list := make([]Listed, len(all))
	for i, d := range all {
		s := d.Spec()
		list[i] = Listed{
			Name: s.Name, From: d.From, Description: s.Description, Parameters: s.Parameters, Hidden: d.Hidden,
			ReadOnly: s.Hints.ReadOnly, Destructive: !s.Hints.NonDestructive && !s.Hints.ReadOnly,
			Idempotent: s.Hints.Idempotent || s.Hints.ReadOnly, OpenWorld: !s.Hints.ClosedWorld,
		}
	}
	return list, listings, nil
}

// Answer has the person answer what a tool asks.
type Answer func(ctx context.Context, q *session.Suspension) (session.Answer, error)

// ErrNoTool means that the agent has no tool of the name; the error names those
// that there are.
var ErrNoTool = errors.New("there is no such tool")

// Request is one call by hand.
type Request struct {
	Tool string
	// Arguments are key=value pairs, or one JSON object.
	Arguments []string
	// Answer has the person answer what the tool asks.
	Answer Answer
}

// Call calls a tool, as often as it asks the person something on the way, and
// prints its result. An error of the tool is one of the call.
func Call(ctx context.Context, a *Agent, r Request, p *show.Printer) error {
	res, err := a.call(ctx, r, p.Note)
	if err != nil {
		return err
	}
	text, err := textOf(res)
	switch {
	case err != nil:
		return err
	case res.IsError:
		return errors.New(text)
	case text != "" || len(res.Media) == 0:
		if err := p.Text(text); err != nil {
			return err
		}
	}
	for _, m := range res.Media {
		p.Data("data", m.DisplayName, m.MIMEType, m.Data)
	}
	if p.Failed {
		return errors.New("not everything could be saved")
	}
	return nil
}

// call is the call itself; progress goes to note.
func (a *Agent) call(ctx context.Context, r Request, note func(string)) (*agent.Result, error) {
	tool, err := a.find(ctx, r.Tool, note)
	if err != nil {
		return nil, err
	}
	args, err := arguments(tool.Spec().Parameters, r.Arguments)
	if err != nil {
		return nil, err
	}
	call := &agent.Call{ID: "by-hand", Name: r.Tool, Args: args, Agent: a.Name, Invocation: "by-hand", Key: a.key(),
		Caller: a.caller(), Progress: note, State: a.State}
	for {
		res, err := tool.Call(ctx, call)
		switch {
		case err != nil:
			return nil, err
		case res.Suspend == nil:
			return res, nil
		}
		asked := *res.Suspend
		asked.CallID, asked.Tool, asked.ID = call.ID, r.Tool, "by-hand"
		answer, err := r.Answer(ctx, &asked)
		if err != nil {
			return nil, err
		}
		answer.CallID, answer.Kind = call.ID, asked.Kind
		next := *call
		next.Answer, next.Asked = &answer, &asked
		call = &next
	}
}

// find gives a tool, those that the model does not see at first included.
func (a *Agent) find(ctx context.Context, name string, note func(string)) (agent.Tool, error) {
	all, err := a.Tools.Describe(ctx, a.query(func(l *session.Listing) {
		if l.Error != "" {
			note(l.Source + ": " + l.Error)
		}
	}))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range all {
		s := d.Spec()
		if s.Hosted != "" || s.Hidden {
			continue
		}
		if s.Name == name {
			return d.Tool, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: %s; the agent has none that can be called", ErrNoTool, name)
	}
	return nil, fmt.Errorf("%w: %s; the tools are %s", ErrNoTool, name, strings.Join(names, ", "))
}

// textOf is what the model would read of a result.
func textOf(r *agent.Result) (string, error) {
	switch out := r.Output.(type) {
	case nil:
		return "", nil
	case string:
		return out, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r.Output)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// arguments makes the JSON of a call out of key=value pairs, by the types that the
// tool's schema gives them: text as it is, everything else as JSON. A pair
// key:=value is JSON whatever the schema says.
func arguments(parameters json.RawMessage, pairs []string) (json.RawMessage, error) {
	if len(pairs) == 1 && strings.HasPrefix(pairs[0], "{") {
		return json.RawMessage(pairs[0]), nil
	}
	var schema struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(parameters, &schema) // what has no types here takes JSON
	args := make(map[string]json.RawMessage, len(pairs))
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("argument %q: want key=value", pair)
		}
		key, raw := strings.CutSuffix(key, ":")
		if _, twice := args[key]; twice {
			return nil, fmt.Errorf("argument %s is given twice", key)
		}
		text := json.RawMessage(value)
		if takesText(schema.Properties[key]) && !raw || !json.Valid(text) && !raw {
			var err error
			if text, err = json.Marshal(value); err != nil {
				return nil, err
			}
		}
		if !json.Valid(text) {
			return nil, fmt.Errorf("argument %s: %s is no JSON", key, value)
		}
		args[key] = text
	}
	return json.Marshal(args)
}

// takesText reports whether a schema takes text; true and false are schemas too.
func takesText(schema json.RawMessage) bool {
	var s struct{ Type any }
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	list, several := s.Type.([]any)
	return s.Type == "string" || several && slices.Contains(list, any("string"))
}

// Print writes a list for people: a line for each tool and one for each argument,
// then what went wrong.
func Print(w io.Writer, list []Listed, listings []*session.Listing, plain func(string) string) error {
	var b strings.Builder
	for i := range list {
		printTool(&b, &list[i])
	}
	for _, l := range listings {
		if l.Error != "" {
			fmt.Fprintf(&b, "! %s: %s\n", l.Source, l.Error)
		}
		for _, warning := range l.Warnings {
			fmt.Fprintf(&b, "! %s: %s\n", l.Source, warning)
		}
	}
	if len(list) == 0 {
		b.WriteString("the model sees no tools\n")
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

func printTool(b *strings.Builder, t *Listed) {
	fmt.Fprintf(b, "%s  (%s", t.Name, t.From)
	switch {
	case t.ReadOnly:
		b.WriteString(", read-only")
	case t.Destructive:
		b.WriteString(", destructive")
	}
	if t.Hidden != "" {
		b.WriteString(", " + t.Hidden)
	}
	b.WriteString(")\n")
	if first, _, _ := strings.Cut(t.Description, "\n"); first != "" {
		fmt.Fprintf(b, "    %s\n", first)
	}
	for _, line := range parameterLines(t.Parameters) {
		fmt.Fprintf(b, "    - %s\n", line)
	}
}
