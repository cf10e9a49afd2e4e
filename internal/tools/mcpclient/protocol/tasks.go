package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// A task is asked for as often as the server says, within bounds.
const (
	defaultPoll = time.Second
	minPoll     = 200 * time.Millisecond
	maxPoll     = 30 * time.Second
)

// task is a call that the server goes on with while we ask how it stands: of
// 2025-11-25 (basic/utilities/tasks), or of the extension that took its place
// (SEP-2663), whose tasks carry questions and result.
type task struct {
	ID             string                  `json:"taskId"`
	Status         string                  `json:"status"`
	Message        string                  `json:"statusMessage"`
	PollInterval   float64                 `json:"pollInterval"` // 2025-11-25
	PollIntervalMs float64                 `json:"pollIntervalMs"`
	State          json.RawMessage         `json:"requestState"`
	Inputs         map[string]inputRequest `json:"inputRequests"`
	Result         json.RawMessage         `json:"result"`
	Error          json.RawMessage         `json:"error"`
}

// await waits for the end of a task. When ctx ends, the server is told to stop it.
func (c *Client) await(ctx context.Context, r *running, created json.RawMessage) (json.RawMessage, error) {
	t, err := readTask(created)
	if err != nil {
		return nil, err
	}
	raw, err := c.follow(ctx, r, t)
	if ctx.Err() != nil {
		c.stop(ctx, r, t)
		return nil, ctx.Err()
	}
	return raw, err
}

func readTask(raw json.RawMessage) (*task, error) {
	var t task
	if err := json.Unmarshal(raw, &t); err != nil || t.ID == "" {
		return nil, errors.New("the server made a task of the call that cannot be read")
	}
	return &t, nil
}

// follow asks how a task stands until it is over.
func (c *Client) follow(ctx context.Context, r *running, created *task) (json.RawMessage, error) {
	modern := rpc.IsModern(r.version)
	answered := make(map[string]bool)
	told := ""
	for t := created; ; {
		if t.Message != told {
			told = t.Message
			r.report(line(told))
		}
		switch {
		case t.Status == "cancelled":
			return nil, fmt.Errorf("the server has cancelled the task (%s)", cmp.Or(line(t.Message), "it does not say why"))
		case t.Status == "working":
		case t.Status != "completed" && t.Status != "failed" && t.Status != "input_required":
			return nil, fmt.Errorf("the server's task has status %q, which is not known here", t.Status)
		case !modern: // the answer comes when it is over, and questions with it
			return c.inquire(ctx, r.about(t, "tasks/result", nil))
		case t == created: // says no more than that
		case t.Status == "completed":
			return orEmpty(t.Result), nil
		case t.Status == "failed":
			return nil, errorOf(t.Error)
		default:
			if err := c.supply(ctx, r, t, answered); err != nil {
				return nil, err
			}
		}
		if err := c.pause(ctx, t.interval()); err != nil {
			return nil, &UnknownOutcomeError{Err: err}
		}
		raw, err := c.inquire(ctx, r.about(t, "tasks/get", nil))
		if err != nil {
			return nil, err
		}
		if t, err = readTask(raw); err != nil {
			return nil, err
		}
	}
}

// inquire makes a request about a task. That it was not sent does not mean that the
// call was not run.
func (c *Client) inquire(ctx context.Context, rq *request) (json.RawMessage, error) {
	raw, err := c.exchange(ctx, rq)
	var answer *Error
	var not *wire.NotSentError
	if errors.As(err, &not) {
		err = not.Err
	}
	if err == nil || errors.As(err, &answer) {
		return raw, err
	}
	return nil, &UnknownOutcomeError{Err: settled(err)}
}

// about is a request about a task.
func (r *running) about(t *task, method string, more map[string]any) *request {
	params := with(more, map[string]any{"taskId": t.ID})
	if t.State != nil {
		params["requestState"] = t.State
	}
	return &request{method: method, version: r.version, params: params, header: r.Header, owner: r}
}

// supply answers those of a task's questions that were not answered yet.
func (c *Client) supply(ctx context.Context, r *running, t *task, answered map[string]bool) error {
	open := make(map[string]inputRequest, len(t.Inputs))
	for key, q := range t.Inputs {
		if !answered[key] {
			open[key] = q
		}
	}
	if len(open) == 0 {
		return nil
	}
	if len(answered)+len(open) > maxRounds*maxInputs {
		return fmt.Errorf("the server has asked %d questions, and asks more", len(answered))
	}
	responses, err := c.inputs(ctx, r, open)
	if err != nil {
		return err
	}
	for key := range open {
		answered[key] = true
	}
	_, err = c.inquire(ctx, r.about(t, "tasks/update", map[string]any{"inputResponses": responses}))
	return err
}

// interval is how long to wait before the task is asked for again.
func (t *task) interval() time.Duration {
	ms := max(t.PollInterval, t.PollIntervalMs)
	if ms <= 0 {
		return defaultPoll
	}
	ms = min(ms, float64(maxPoll.Milliseconds()))
	return max(time.Duration(ms)*time.Millisecond, minPoll)
}

// pause waits, unless ctx or the connection ends.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop tells the server to stop a task. Its answer makes no difference.
func (c *Client) stop(ctx context.Context, r *running, t *task) {
	c.mu.Lock()
	id := c.next()
	c.mu.Unlock()
	m, err := c.outgoing(id, r.about(t, "tasks/cancel", nil))
	if err == nil {
		c.tell(context.WithoutCancel(ctx), m, cancelTime)
	}
}
