package serve

import (
	"context"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	handlePrefix = "cv_"
	// startAfresh is the word that is no handle.
	startAfresh = "new"
	// theProcess stands for the connection where a conversation belongs to the
	// process; it is no connection of a transport.
	theProcess = "process"
	// maxOwned bounds the conversations that go with one connection. Past it
	// the oldest is left to the store's own bounds.
	maxOwned = 64
)

// thread is the conversation that a call belongs to.
type thread struct {
	key  session.Key
	mode session.Mode
	// place is the connection that the conversation belongs to, if any.
	place string
	// tell: the caller needs the handle to go on.
	tell bool
	// once: there is no going on; the conversation goes with its turn.
	once bool
	// fresh: it was made for this call.
	fresh bool
}

// arguments tells a request of this conversation from others; it is empty if
// the caller cannot come back to the conversation.
func (t *thread) arguments(in input) string {
	if t.once {
		return ""
	}
	return in.digest
}

// connection is what an MCP connection has started.
type connection struct {
	current map[string]string // agent to handle
	owned   []session.Key
}

// thread is what the agent's policy says about a call's conversation, whichever
// it is. modern says that the protocol is 2026-07-28 or later, where a
// connection must not stand for a conversation (basic/index, "Statelessness").
func (a *Agent) thread(peer *turns.Peer, modern bool) thread {
	policy := a.policy()
	t := thread{mode: session.MustExist, once: policy == config.NoHistory, place: peer.Connection}
	switch {
	case policy == config.PerProcess:
		t.place = theProcess
	case policy != config.PerConnection || modern:
		t.place = ""
	}
	t.tell = t.place == "" && !t.once
	return t
}

// newThread decides which conversation a call belongs to. handle is the call's
// argument.
func (s *Server) newThread(a *Agent, peer *turns.Peer, handle string, modern bool) (thread, error) {
	t := a.thread(peer, modern)
	t.key = session.Key{Principal: peer.Caller.Principal, Agent: a.Name, Handle: handle}
	if handle != "" && handle != startAfresh && !t.once {
		return t, nil
	}
	fresh, err := s.newID(handlePrefix)
	if err != nil {
		return thread{}, err
	}
	t.key.Handle, t.mode = fresh, session.Create
	if t.place == "" {
		t.fresh = true
		return t, nil
	}
	t.key.Handle = s.current(t.place, t.key, handle == startAfresh)
	t.fresh = t.key.Handle == fresh
	return t, nil
}

// current gives the handle of the conversation that the connection is in with
// the agent of key; key's own handle becomes it if there is none or afresh asks
// for another.
func (s *Server) current(name string, key session.Key, afresh bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.connections[name]
	if c == nil {
		c = &connection{current: make(map[string]string, 1)}
		s.connections[name] = c
	}
	if handle, ok := c.current[key.Agent]; ok && !afresh {
		return handle
	}
	c.current[key.Agent] = key.Handle
	if len(c.owned) == maxOwned {
		c.owned = append(c.owned[:0], c.owned[1:]...)
	}
	c.owned = append(c.owned, key)
	return key.Handle
}

// End is told by a transport that a connection has gone and has no call left.
// The conversations that belong to it go with it, each as soon as it has no
// running turn.
func (s *Server) End(ctx context.Context, name string) {
	s.mu.Lock()
	c := s.connections[name]
	delete(s.connections, name)
	s.mu.Unlock()
	if c == nil {
		return
	}
	for _, key := range c.owned {
		s.drop(ctx, key)
	}
}

// drop deletes a conversation when it has no running turn.
func (s *Server) drop(ctx context.Context, key session.Key) {
	s.opts.Turns.WhenIdle(ctx, key, func(ctx context.Context) {
		if err := s.opts.Delete(ctx, key); err != nil {
			s.opts.Log.Warn("a conversation could not be deleted", "agent", key.Agent, "error", err)
		}
	})
}
