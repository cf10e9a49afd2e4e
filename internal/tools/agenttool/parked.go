package agenttool

import (
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// maxParked bounds how many conversations are known to wait. Those that are
// forgotten here are left to the bounds of their store.
const maxParked = 1000

// parking knows which of the agent's conversations wait for an answer. The answer
// may never come: a caller that begins a new turn instead has given up the calls
// of the one before.
type parking struct {
	mu   sync.Mutex
	list []parked // who parked longest ago comes first
}

type parked struct {
	caller     session.Key // the conversation of the call
	invocation string      // its turn
	key        session.Key // the agent's own conversation
}

// park takes down that a conversation waits.
func (p *parking) park(call *agent.Call, key session.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(q parked) bool { return q.key == key })
	if len(p.list) == maxParked {
		p.list = slices.Delete(p.list, 0, 1)
	}
	p.list = append(p.list, parked{call.Key, call.Invocation, key})
}

// leave takes down that a conversation waits no more.
func (p *parking) leave(key session.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(q parked) bool { return q.key == key })
}

// abandoned gives, once, the conversations that were parked in earlier turns of the
// call's conversation.
func (p *parking) abandoned(call *agent.Call) []session.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []session.Key
	p.drop(func(q parked) bool {
		gone := q.caller == call.Key && q.invocation != call.Invocation
		if gone {
			keys = append(keys, q.key)
		}
		return gone
	})
	return keys
}

func (p *parking) drop(which func(parked) bool) { p.list = slices.DeleteFunc(p.list, which) }
