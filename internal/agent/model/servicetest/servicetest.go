// Package servicetest is what the strict fakes of services have in common: where they
// listen, what came to them, and how a script gives replies in order.
//
// Start with [Start]; a fake embeds the [Server] that it gives.
package servicetest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is an HTTP server on a loopback port that keeps requests, of type R as the
// fake reads them. It is safe for concurrent use.
type Server[R any] struct {
	URL string // without a path

	http    *http.Server
	running sync.WaitGroup

	mu       sync.Mutex
	requests []*R
	refusals []string
}

// Start serves with h. The caller closes the server; ctx counts for the start only.
func Start[R any](ctx context.Context, h http.HandlerFunc) (*Server[R], error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server[R]{URL: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	s.running.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Close ends the server and drops its connections.
func (s *Server[R]) Close() error {
	err := s.http.Close()
	s.running.Wait()
	return err
}

// Keep keeps a request, and gives it its number, from 0.
func (s *Server[R]) Keep(r *R, number *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*number = len(s.requests)
	s.requests = append(s.requests, r)
}

// Requests lists the requests so far, refused ones included.
func (s *Server[R]) Requests() []*R {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refuse keeps why a request was refused.
func (s *Server[R]) Refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, why)
}

// Refusals lists why requests were refused. A status that the script gave is no
// refusal.
func (s *Server[R]) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Play is a script of replies in order, and none for whoever asks for more.
func Play[R, P any](none P, replies ...P) func(*R) P {
	var mu sync.Mutex
	next := 0
	return func(*R) P {
		mu.Lock()
		defer mu.Unlock()
		if next == len(replies) {
			return none
		}
		next++
		return replies[next-1]
	}
}
