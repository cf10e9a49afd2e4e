package httpserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// trickle opens a connection, sends a beginning and then a byte every now and
// then until the server ends the connection, and gives how long that took and
// what the server said.
func trickle(addr, beginning string, every time.Duration) (took time.Duration, answer string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	start := time.Now()
	if _, err := io.WriteString(conn, beginning); err != nil {
		return 0, "", err
	}
	_ = conn.SetReadDeadline(start.Add(2 * limit))
	var sending sync.WaitGroup
	ended := make(chan struct{})
	sending.Go(func() {
		for tick := time.NewTicker(every); ; {
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
				_, _ = io.WriteString(conn, "x") // fails once the server has gone
			}
		}
	})
	data, err := io.ReadAll(conn)
	took = time.Since(start)
	close(ended)
	sending.Wait()
	if strings.Contains(fmt.Sprint(err), "reset by peer") { // bytes that nobody read were under way
		err = nil
	}
	return took, string(data), err
}

// TestA07Slowloris: 500 headers and 500 bodies that trickle are cut within the
// time for a header and for a body, and others hardly notice.
func TestA07Slowloris(t *testing.T) {
	s := open(t, nil)
	s.server.body = 3 * time.Second
	s.serve()
	ask := func() time.Duration {
		start := time.Now()
		s.expect(200)
		return time.Since(start)
	}
	var alone, meanwhile []time.Duration
	for range 100 {
		alone = append(alone, ask())
	}

	const each = 500
	var slow sync.WaitGroup
	for range each {
		for _, c := range []struct {
			beginning string
			within    time.Duration
		}{
			{"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", headerTimeout},
			{"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", s.server.body},
		} {
			slow.Go(func() {
				took, answer, err := trickle(s.addr, c.beginning, 500*time.Millisecond)
				if err != nil || took < c.within-time.Second || took > c.within+10*time.Second || answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") {
					t.Errorf("%.40q: cut after %v with %.60q, %v", c.beginning, took, answer, err)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { slow.Wait(); close(done) }()
	for running := true; running; {
		meanwhile = append(meanwhile, ask())
		select {
		case <-done:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	// A busy machine is slow for everybody.
	most := max(time.Second, 20*percentile(alone, 99))
	if p := percentile(meanwhile, 99); p > most {
		t.Errorf("a call takes %v, want at most %v; alone it takes %v", p, most, percentile(alone, 99))
	}
	t.Logf("%d calls meanwhile, p99 %v, alone %v", len(meanwhile), percentile(meanwhile, 99), percentile(alone, 99))
}

// TestStopIsBounded: a request that never becomes whole cannot keep a server
// without turns for longer than answers may take.
func TestStopIsBounded(t *testing.T) {
	s := open(t, func(c *Config) { c.DrainTimeout = time.Hour })
	l, err := s.server.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The server asks for the body, so it is in the request then.
	_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	if _, readErr := conn.Read(make([]byte, 100)); err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	start := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > closeTimeout+3*time.Second {
		t.Errorf("took %v", took)
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*p/100]
}
