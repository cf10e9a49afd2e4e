// Package prompt puts questions to a person at a terminal: whether something may
// be done, or a form of fields. It knows neither MCP nor agents, only a message,
// a form as JSON Schema and the lines that somebody types.
//
// Start with [Person], whose Approve, Fill and Elicit ask.
package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// What came of a question, in the words of MCP (client/elicitation).
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Answer is what came of a question.
type Answer struct {
	Action string // Accept, Decline or Cancel
	// Reason says why nothing was accepted where it was not the person's choice.
	Reason string
	// Content is what was filled in, a JSON object; only of an accepted form.
	Content json.RawMessage
}

// Policy says what becomes of approvals.
type Policy string

// The policies.
const (
	Ask   Policy = "ask"
	Deny  Policy = "deny"
	Allow Policy = "allow"
)

// Style is how a terminal shows text.
type Style struct {
	Plain     func(string) string // takes out what a terminal would act on
	Bold, Dim func(string) string
}

// maxRetries is how often a field that was filled in wrongly is asked for again.
const maxRetries = 3

// Person is somebody who can answer, one question at a time.
type Person struct {
	Lines *Lines // what they type; nil if nobody can be asked
	// Absent says why nobody can be asked, as in "standard input is no terminal".
	Absent   string
	Out      io.Writer // where they read; each write ends with a line or a prompt
	Style    Style
	Approval Policy
	// Given are values for fields, by name, that need not be asked for; those of
	// a list are its choices.
	Given map[string][]string

	used map[string]bool // names of Given that a form has had
}

// Approve asks whether something may be done. arguments are what it would be done
// with, as JSON in which everything shows; nil where the message says it all. The
// error is ctx's or that of the input.
func (p *Person) Approve(ctx context.Context, message string, arguments json.RawMessage) (Answer, error) {
	switch {
	case p.Approval == Allow:
		p.say(p.Style.Dim("· approved: " + oneLine(p.Style.Plain(message))))
		return Answer{Action: Accept}, nil
	case p.Approval == Deny:
		return Answer{Action: Decline, Reason: "all approvals are denied here"}, nil
	case p.Lines == nil:
		return Answer{Action: Cancel, Reason: "nobody can be asked: " + p.Absent}, nil
	}
	if arguments != nil {
		message += "\n" + string(arguments)
	}
	return p.confirm(ctx, message, "Approve?")
}

// confirm wants a yes to take something for one.
func (p *Person) confirm(ctx context.Context, message, question string) (Answer, error) {
	p.put(message)
	for range 1 + maxRetries {
		text, err := p.read(ctx, "  "+question+" [y/N] ")
		if errors.Is(err, io.EOF) {
			return *p.left(), nil
		}
		if err != nil && !errors.Is(err, ErrTooLong) {
			return Answer{}, err
		}
		switch answer := strings.ToLower(strings.TrimSpace(text)); {
		case err != nil:
		case answer == "y", answer == "yes":
			return Answer{Action: Accept}, nil
		case answer == "", answer == "n", answer == "no", answer == "d":
			return *p.declined(), nil
		}
		p.say("  want y or n")
	}
	return *p.misunderstood(), nil
}

// Elicit puts a question as a server asks it, which does not say what is an
// approval: a form without fields, or with nothing but a yes or no named approve,
// is taken for one.
func (p *Person) Elicit(ctx context.Context, message string, schema json.RawMessage) (Answer, error) {
	fields, err := parseForm(schema)
	named := len(fields) == 1 && fields[0].name == "approve" && fields[0].Type == "boolean"
	if err != nil || len(fields) > 0 && !named {
		return p.Fill(ctx, message, schema)
	}
	a, err := p.Approve(ctx, message, nil)
	switch {
	case a.Action != Accept:
	case named:
		a.Content = json.RawMessage(`{"approve":true}`)
	default:
		a.Content = json.RawMessage("{}")
	}
	return a, err
}

// Fill asks for the fields of a form, a flat JSON Schema of type object; one
// without fields is a yes or no. The error is ctx's or that of the input.
func (p *Person) Fill(ctx context.Context, message string, schema json.RawMessage) (Answer, error) {
	fields, err := parseForm(schema)
	if err != nil {
		return Answer{Action: Cancel, Reason: "the form cannot be shown in a terminal: " + err.Error()}, nil //nolint:nilerr // the server hears of it
	}
	given := slices.ContainsFunc(fields, func(f *field) bool { return p.Given[f.name] != nil })
	if p.Lines == nil && !given {
		return Answer{Action: Cancel, Reason: "nobody can be asked: " + p.Absent}, nil
	}
	if len(fields) == 0 {
		a, err := p.confirm(ctx, message, "Yes?")
		if a.Action == Accept {
			a.Content = json.RawMessage("{}")
		}
		return a, err
	}
	if p.Lines != nil {
		p.put(message)
		p.say(p.Style.Dim("  " + instructions(fields)))
	} else {
		p.say(p.Style.Dim("· answered: " + oneLine(p.Style.Plain(message))))
	}
	filled := &content{}
	for _, f := range fields {
		value, end, err := p.field(ctx, f)
		switch {
		case err != nil:
			return Answer{}, err
		case end != nil:
			return *end, nil
		case value == nil:
			continue
		}
		if err := filled.set(f, value); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Action: Accept, Content: filled.object()}, nil
}

// instructions say how to leave a form.
func instructions(fields []*field) string {
	text := "Enter takes the default in brackets or skips what is optional; "
	texts := 0
	for _, f := range fields {
		if f.freeText() {
			texts++
		}
	}
	switch texts {
	case 0:
		text += "d declines, "
	case len(fields): // d is text
	default:
		text += "d declines where no text is wanted, "
	}
	return text + "Ctrl-D cancels."
}

// field gives the value of one field, nil if it is left out, or the answer that
// the form ends with.
func (p *Person) field(ctx context.Context, f *field) (value json.RawMessage, end *Answer, err error) {
	if texts := p.Given[f.name]; texts != nil {
		return p.given(f, texts)
	}
	if p.Lines == nil {
		if f.Default == nil && f.required {
			return nil, &Answer{Action: Cancel, Reason: fmt.Sprintf("nobody can be asked for %q: %s", f.name, p.Absent)}, nil
		}
		return f.Default, nil, nil
	}
	return p.ask(ctx, f)
}

// given takes a value that need not be asked for.
func (p *Person) given(f *field, texts []string) (value json.RawMessage, end *Answer, err error) {
	if p.used == nil {
		p.used = make(map[string]bool)
	}
	p.used[f.name] = true
	if value, err := f.parse(strings.Join(texts, ",")); err == nil && (len(texts) == 1 || f.Type == "array") {
		return value, nil, nil
	}
	want := f.wanted()
	if f.options != nil {
		var values []string
		for _, o := range f.options {
			values = append(values, o.Value)
		}
		want = "one of " + strings.Join(values, ", ")
	}
	return nil, &Answer{Action: Cancel, Reason: fmt.Sprintf("the answer given for %q is wrong: want %s", f.name, want)}, nil
}

func (p *Person) ask(ctx context.Context, f *field) (value json.RawMessage, end *Answer, err error) {
	p.say(p.heading(f))
	for range 1 + maxRetries {
		text, err := p.read(ctx, p.Style.Plain(f.prompt()))
		switch {
		case errors.Is(err, io.EOF):
			return nil, p.left(), nil
		case errors.Is(err, ErrTooLong):
			p.say("  " + err.Error())
			continue
		case err != nil:
			return nil, nil, err
		}
		word := strings.TrimSpace(text)
		if word == "" && (f.Default != nil || !f.required) {
			return f.Default, nil, nil
		}
		if !f.freeText() {
			text = word
		}
		if value, err := f.typed(text); err == nil && (word != "" || f.Type == "array") {
			return value, nil, nil
		}
		if word == "d" && !f.freeText() {
			return nil, p.declined(), nil
		}
		p.say("  want " + f.wanted())
	}
	return nil, p.misunderstood(), nil
}

// heading is what stands above the prompt of a field: its name and what may be
// chosen.
func (p *Person) heading(f *field) string {
	text := "  " + p.Style.Bold(p.Style.Plain(f.label()))
	if f.Description != "" {
		text += ": " + p.Style.Plain(oneLine(f.Description))
	}
	for i, o := range f.options {
		text += fmt.Sprintf("\n    %d) %s", i+1, p.Style.Plain(oneLine(o.Title)))
	}
	return text
}

func (p *Person) declined() *Answer {
	p.say("  declined")
	return &Answer{Action: Decline}
}

// left is the answer of somebody who ended the input.
func (p *Person) left() *Answer {
	p.say("\n  cancelled")
	return &Answer{Action: Cancel}
}

func (p *Person) misunderstood() *Answer {
	p.say("  cancelled")
	return &Answer{Action: Cancel, Reason: "what was typed was not understood"}
}

// put shows a message. Its lines are indented, so that none of them looks like
// one of ours.
func (p *Person) put(message string) {
	p.say("? " + strings.ReplaceAll(p.Style.Plain(message), "\n", "\n  "))
}

func (p *Person) say(text string) { fmt.Fprintln(p.Out, text) }

func (p *Person) read(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.Out, prompt)
	return p.Lines.Next(ctx)
}

// Unused are names of Given that no form had, in order.
func (p *Person) Unused() []string {
	var names []string
	for name := range p.Given {
		if !p.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
