package tasks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// aliveEvery is how often a client that listens is shown that we live.
const aliveEvery = 15 * time.Second

// maxListened is how many tasks one stream may be about.
const maxListened = 100

// Listen serves subscriptions/listen (MCP 2026-07-28, basic/patterns/subscriptions):
// it says what the client will be told of, which are its tasks and nothing else,
// since our lists never change; then it tells of them until the client has
// enough or the server stops. With nothing to tell it ends at once.
func (tt *Table) Listen(ctx context.Context, r *Request) (any, *rpc.Error) {
	if !r.Modern() {
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: rpc.Listen + " came with protocol version " + rpc.Stateless}
	}
	var params struct {
		Notifications struct {
			TaskIDs []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if json.Unmarshal(r.Params, &params) != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "notifications must be an object, and taskIds in it a list of ids"}
	}
	granted := make(map[string]any, 1)
	var tasks []*Task
	if r.Client.Tasks {
		tasks = tt.of(r.Peer.Caller.Principal, params.Notifications.TaskIDs)
	}
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	if len(ids) > 0 {
		granted["taskIds"] = ids
	}
	meta := map[string]json.RawMessage{rpc.MetaSubscription: r.ID}
	l := &listener{request: r, meta: meta, wake: make(chan struct{}, 1)}
	for _, t := range tasks {
		t.watch(l)
		defer t.unwatch(l)
	}
	if l.notify("notifications/subscriptions/acknowledged", map[string]any{"notifications": granted}) == nil && len(tasks) > 0 {
		l.run(ctx, tasks)
	}
	return map[string]any{"_meta": meta}, nil
}

// listener tells one client how its tasks stand.
type listener struct {
	request *Request
	meta    map[string]json.RawMessage
	wake    chan struct{} // holds a token while a task has news
}

// news says that one of the tasks has changed. It never waits.
func (l *listener) news() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run tells of every change that a task has gone through last, until all are
// over or ctx ends.
func (l *listener) run(ctx context.Context, tasks []*Task) {
	told := make(map[string]int, len(tasks))
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for len(tasks) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			if keep := l.request.Peer.KeepAlive; keep != nil && keep() != nil {
				return
			}
			continue
		case <-l.wake:
		}
		open := tasks[:0:0]
		for _, t := range tasks {
			state, change, over := t.detailed()
			if change != told[t.ID] {
				told[t.ID] = change
				state["_meta"] = l.meta
				if l.notify("notifications/tasks", state) != nil {
					return
				}
			}
			if !over {
				open = append(open, t)
			}
		}
		tasks = open
	}
}

// notify sends a notification that bears the subscription's id.
func (l *listener) notify(method string, params map[string]any) error {
	if l.request.Peer.Notify == nil {
		return context.Canceled
	}
	params["_meta"] = l.meta
	data, err := rpc.Notification(method, params)
	if err != nil {
		return err
	}
	return l.request.Peer.Notify(data)
}
