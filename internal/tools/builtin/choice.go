package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	choiceDescription = "Have the person who asked choose one of several options; gives the option."

	optionsProperty = `"options":{"type":"array","items":{"type":"string","minLength":1,"maxLength":500},"minItems":1,"maxItems":100,"description":"What can be chosen"}`
	messageProperty = `"message":{"type":"string","maxLength":2000,"description":"What the person reads above the options"}`
)

type choiceArgs struct {
	Options []string `json:"options"`
	Message string   `json:"message"`
}

// newUserChoice gives the tool that has a person choose.
func newUserChoice(t *config.Tool, _ Deps) ([]agent.Tool, error) {
	if err := refuseArgs(t); err != nil {
		return nil, err
	}
	spec := specOf("get_user_choice", choiceDescription, reads, "!"+optionsProperty, messageProperty)
	return []agent.Tool{&tool[choiceArgs]{spec, choose}}, nil
}

// choose suspends the call, and gives the choice when it has come.
func choose(_ context.Context, call *agent.Call, args *choiceArgs) (*agent.Result, error) {
	a := call.Answer
	if a == nil || a.Kind != model.Question {
		return askToChoose(args)
	}
	why := ""
	if a.Reason != "" {
		why = ": " + a.Reason
	}
	switch a.Action {
	case model.Accept:
		return chosen(args.Options, a.Payload)
	case model.Decline:
		return nil, errors.New("the person declined to choose" + why)
	}
	return nil, errors.New("the person did not choose" + why)
}

func askToChoose(args *choiceArgs) (*agent.Result, error) {
	type field struct {
		Type  string   `json:"type"`
		Title string   `json:"title"`
		Enum  []string `json:"enum"`
	}
	type form struct {
		Type       string           `json:"type"`
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	message := cmp.Or(args.Message, "Please choose")
	var options []string
	for _, o := range args.Options {
		if !slices.Contains(options, o) { // a form takes each once
			options = append(options, o)
		}
	}
	schema, err := json.Marshal(form{"object", map[string]field{"choice": {"string", message, options}}, []string{"choice"}})
	if err != nil {
		return nil, fmt.Errorf("the options: %w", err)
	}
	payload, err := json.Marshal(model.Form{Schema: schema})
	if err != nil {
		return nil, fmt.Errorf("the options: %w", err)
	}
	return &agent.Result{Suspend: &session.Suspension{Kind: model.Question, Message: message, Payload: payload}}, nil
}

func chosen(options []string, payload json.RawMessage) (*agent.Result, error) {
	var fields map[string]any
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fmt.Errorf("the person's choice cannot be read: %w", err)
	}
	choice, ok := fields["choice"].(string)
	switch {
	case !ok:
		return nil, errors.New("the person accepted but chose nothing")
	case !slices.Contains(options, choice):
		return nil, errors.New("what came back is none of the options")
	}
	return agent.Text(choice), nil
}
