package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// arguments checks a call's arguments against the tool's schema and answers a
// bad call itself, with every problem at once.
//
// A schema that is none is the operator's mistake and ends the turn.
func arguments() Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		schema := jsonschema.New(spec.Parameters, jsonschema.Arguments(spec.Name))
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			if err := schema.Compile(); err != nil {
				return nil, fmt.Errorf("the parameters of tool %s are not a usable JSON Schema: %w", spec.Name, err)
			}
			// Services write a call without arguments in several ways.
			if args := bytes.TrimSpace(call.Args); len(args) == 0 || string(args) == "null" {
				c := *call
				c.Args = json.RawMessage("{}")
				call = &c
			}
			if problem := schema.Check(call.Args); problem != "" {
				return agent.Failure(problem), nil
			}
			return next(ctx, call)
		}
	}
}
