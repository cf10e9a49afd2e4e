package stdio

import (
	"bytes"
	"encoding/json"
	"sync"
)

// table holds the requests that have been read and not answered, by id. It
// fills what the library leaves open: a cancel that comes before the call has
// started, a response after a cancel, and the end of the input while calls run.
type table struct {
	mu      sync.Mutex
	pending map[string]*request
	waiting bool          // somebody waits for empty
	empty   chan struct{} // closed when waiting and nothing is pending
}

type request struct{ cancelled bool }

// add notes a request; it reports false if there are too many.
func (t *table) add(id any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) >= maxPending {
		return false
	}
	t.pending[key(id)] = &request{}
	return true
}

// cancel marks a pending request as cancelled.
func (t *table) cancel(id any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.pending[key(id)]; r != nil {
		r.cancelled = true
	}
}

// isCancelled reports whether a pending request has been cancelled.
func (t *table) isCancelled(id any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.pending[key(id)]
	return r != nil && r.cancelled
}

// answered takes a request out because its response is here; it reports
// whether the response may be sent.
func (t *table) answered(id any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.pending[key(id)]
	delete(t.pending, key(id))
	t.closeIfEmpty()
	return r == nil || !r.cancelled
}

// drained gives a channel that is closed as soon as nothing is pending. It is
// called once, when no more requests come.
func (t *table) drained() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = true
	t.closeIfEmpty()
	return t.empty
}

func (t *table) closeIfEmpty() {
	if !t.waiting || len(t.pending) > 0 {
		return
	}
	select {
	case <-t.empty:
	default:
		close(t.empty)
	}
}

// key makes ids comparable: a number and a string never are the same.
func key(id any) string {
	b, err := json.Marshal(id)
	if err != nil {
		return ""
	}
	return string(b)
}

// isID reports whether a message's id is one: what the library answers to
// others cannot be told from what it answers to unreadable messages.
func isID(id any) bool {
	switch id.(type) {
	case string, float64:
		return true
	}
	return false
}

// message is what we look at of an incoming message. The library decides by
// the same fields what it answers.
type message struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	ID      any    `json:"id"`
	Result  any    `json:"result"`
	Params  struct {
		RequestID any `json:"requestId"`
	} `json:"params"`
}

// idOf finds the id at the top of a message without reading all of it; nil if
// there is none before the first value that is a list or an object, or if the
// message breaks off before.
func idOf(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		value, err := d.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return nil
		}
		if name == "id" {
			return value
		}
	}
}
