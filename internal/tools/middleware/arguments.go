package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// arguments checks a call's arguments against the tool's schema and answers a
// bad call itself, with every problem at once.
//
// Models often write null for an argument that they leave out. Where the schema
// does not take it, that is what it means.
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
				args, some := withoutNulls(call.Args)
				if !some || schema.Check(args) != "" {
					return agent.NotRun(problem), nil
				}
				c := *call
				c.Args = args
				call = &c
			}
			return next(ctx, call)
		}
	}
}

// withoutNulls gives an object without its members that are null, and whether
// there were any.
func withoutNulls(args json.RawMessage) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return nil, false
	}
	n := len(members)
	maps.DeleteFunc(members, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	if len(members) == n {
		return nil, false
	}
	rest, err := json.Marshal(members)
	return rest, err == nil
}
