package wire

import (
	"context"
	"sync"
)

// group keeps track of what runs under a connection, so that it can be ended.
type group struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	closed  error // why nothing enters any more
	running map[*context.CancelCauseFunc]struct{}
}

func newGroup() *group { return &group{running: make(map[*context.CancelCauseFunc]struct{})} }

// enter gives a context that ends with the group, too. Whoever enters leaves.
func (g *group) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		return ctx, nil, g.closed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g.running[&cancel] = struct{}{}
	g.wg.Add(1)
	return ctx, func() {
		cancel(nil)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, &cancel)
		g.wg.Done()
	}, nil
}

// close ends everything with a cause, and waits for it.
func (g *group) close(cause error) {
	g.mu.Lock()
	g.closed = cause
	for cancel := range g.running {
		(*cancel)(cause)
	}
	g.mu.Unlock()
	g.wg.Wait()
}
