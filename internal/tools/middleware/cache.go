package middleware

import (
	"container/list"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// cache answers a call with the result of an equal one of the same caller, as long
// as c says; nil is never. Only successes are kept that left nothing behind, neither
// state nor files, and for which nobody was asked. Equal calls that run at the same
// time all run. A call that a person has approved runs, and is none of this.
//
// With o.CacheState calls are equal only in the same state.
func cache(c *config.Cache, o *Options) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		if c == nil {
			return next
		}
		kept := &results{Cache: *c, index: make(map[cacheKey]*list.Element)}
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			if call.Approved || call.Answer != nil {
				return next(ctx, call)
			}
			key, err := keyOf(call, o)
			if err != nil {
				return nil, err
			}
			if res := kept.find(key, o.Now()); res != nil {
				return res, nil
			}
			res, err := next(ctx, call)
			if err != nil || !keepable(res) {
				return res, err
			}
			text, err := outputText(res.Output)
			if err != nil {
				return nil, err
			}
			size := len(text) + len(key.caller) + len(key.args) + len(key.state)
			for _, m := range res.Media {
				size += len(m.Data)
			}
			kept.keep(&cached{key: key, result: res, size: size, until: o.Now().Add(c.TTL.Std())})
			return res, nil
		}
	}
}

// cacheKey is what calls of a tool are equal by: who calls, the arguments whatever
// their order and spacing, numbers as they were written, and the state where that
// matters.
type cacheKey struct{ caller, args, state string }

func keyOf(call *agent.Call, o *Options) (cacheKey, error) {
	args, err := canonical(call)
	if err != nil || !o.CacheState {
		return cacheKey{caller: callerOf(call, o.CacheBy), args: args}, err
	}
	lasting := maps.Clone(call.State)
	maps.DeleteFunc(lasting, func(key string, _ any) bool { return strings.HasPrefix(key, "temp:") })
	state, err := jsonText(lasting)
	return cacheKey{caller: callerOf(call, o.CacheBy), args: args, state: state}, err
}

// callerOf tells callers apart that get results of their own: by the principal, and
// by what some headers of the request say.
func callerOf(call *agent.Call, headers []string) string {
	if len(headers) == 0 {
		return call.Caller.Principal
	}
	parts := []string{call.Caller.Principal}
	for _, name := range headers {
		parts = append(parts, strings.Join(call.Caller.Header.Values(name), "\x00"))
	}
	return strings.Join(parts, "\x01")
}

func canonical(call *agent.Call) (string, error) {
	value, err := generic(call.Args)
	if err != nil {
		return "", err
	}
	return jsonText(value) // which sorts names
}

func keepable(res *agent.Result) bool {
	return res != nil && !res.IsError && res.Suspend == nil && len(res.StateDelta) == 0 && len(res.Artifacts) == 0
}

// results are those of one tool.
type results struct {
	config.Cache
	mu    sync.Mutex
	order list.List // of *cached; what was used last is in front
	index map[cacheKey]*list.Element
	bytes int
}

type cached struct {
	key    cacheKey
	result *agent.Result
	size   int
	until  time.Time
}

// find gives a result that is still good, or nil.
func (r *results) find(key cacheKey, now time.Time) *agent.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.index[key]
	if e == nil {
		return nil
	}
	c, _ := e.Value.(*cached)
	if !now.Before(c.until) {
		r.drop(e)
		return nil
	}
	r.order.MoveToFront(e)
	return c.result
}

// keep makes room for a result, unless it is too large by itself.
func (r *results) keep(c *cached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.index[c.key]; old != nil {
		r.drop(old)
	}
	if c.size > r.MaxBytes {
		return
	}
	for r.order.Len() >= r.Entries || r.bytes+c.size > r.MaxBytes {
		r.drop(r.order.Back())
	}
	r.index[c.key] = r.order.PushFront(c)
	r.bytes += c.size
}

func (r *results) drop(e *list.Element) {
	c, _ := r.order.Remove(e).(*cached)
	delete(r.index, c.key)
	r.bytes -= c.size
}
