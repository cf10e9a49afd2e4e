package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/prompt"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// person is whoever is in front of the terminal, if there is one: who answers
// has to see the question.
func (a *app) person(approval prompt.Policy) *prompt.Person {
	style := streams.StyleOf(a.stderr, a.lookup)
	p := &prompt.Person{
		Out: a.redact.Writer(a.stderr), Approval: approval,
		Style: prompt.Style{Plain: show.Plain, Bold: style.Bold, Dim: style.Dim},
	}
	switch {
	case !streams.IsTerminal(a.stdin):
		p.Absent = "standard input is no terminal"
	case !streams.IsTerminal(a.stderr):
		p.Absent = "standard error is no terminal"
	default:
		p.Lines = prompt.NewLines(a.stdin, maxRequest)
	}
	return p
}

// answers has a person answer what a turn waits for. The error is ctx's or that
// of the input.
func answers(ctx context.Context, p *prompt.Person, questions []*session.Suspension) ([]session.Answer, error) {
	all := make([]session.Answer, 0, len(questions))
	for _, q := range questions {
		a, err := answerOne(ctx, p, q)
		if err != nil {
			return nil, err
		}
		all = append(all, session.Answer{CallID: q.CallID, Action: a.Action, Reason: a.Reason, Payload: a.Content})
	}
	return all, nil
}

func answerOne(ctx context.Context, p *prompt.Person, q *session.Suspension) (prompt.Answer, error) {
	switch q.Kind {
	case model.Approval:
		return p.Approve(ctx, q.Message, q.Payload)
	case model.Question:
		var form model.Form
		if err := json.Unmarshal(q.Payload, &form); err != nil {
			return prompt.Answer{}, fmt.Errorf("the form of a question: %w", err)
		}
		return p.Fill(ctx, q.Message, form.Schema)
	case model.Sampling:
		return prompt.Answer{Action: prompt.Cancel, Reason: "a calling host that offers sampling is wanted, and the terminal is none: serve the agent to one, or name another model"}, nil
	}
	return prompt.Answer{Action: prompt.Cancel, Reason: fmt.Sprintf("the terminal cannot answer a question of kind %q", q.Kind)}, nil
}
