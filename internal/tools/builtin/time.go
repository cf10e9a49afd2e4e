package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // 0.4 MB; Windows and bare containers have no zone database

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

type timeArgs struct {
	Timezone string `json:"timezone"`
}

// newCurrentTime gives the tool that knows what time it is.
func newCurrentTime(t *config.Tool, d Deps) ([]agent.Tool, error) {
	if err := refuseArgs(t); err != nil {
		return nil, err
	}
	spec := &agent.Spec{
		Name:        "current_time",
		Description: "The current date and time (RFC 3339) and the day of the week.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"timezone":{"type":"string","maxLength":100,"description":"IANA name such as Europe/Vienna or UTC; the local time zone if left out"}` +
			`},"additionalProperties":false}`),
		Hints: reads,
	}
	return []agent.Tool{newTool(spec, func(_ context.Context, args *timeArgs) (*agent.Result, error) {
		now := d.Now()
		if args.Timezone != "" {
			zone, err := time.LoadLocation(args.Timezone)
			if err != nil {
				return nil, fmt.Errorf("there is no time zone %q: use an IANA name such as Europe/Vienna, or UTC", args.Timezone)
			}
			now = now.In(zone)
		}
		return agent.Text(now.Format(time.RFC3339 + ", Monday")), nil
	})}, nil
}

// reads are the hints of a tool that only looks.
var reads = agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
