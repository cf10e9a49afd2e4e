package httpserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/duplex"
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

// TestA08NeverReads: a client that opens a stream and does not read it is given
// up, what waits for it is bounded, and others do not notice.
func TestA08NeverReads(t *testing.T) {
	for path, requests := range map[string]string{
		"/mcp": post("/mcp", modernCall("flood"), "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: flood\r\nAccept: text/event-stream\r\n"),
		"/sse": "GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(path, func(t *testing.T) {
			s := open(t, nil)
			s.server.write = time.Second
			s.serve()
			other := s.connect("/sse")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, requests); err != nil {
				t.Fatal(err)
			}
			if path == "/sse" { // read as far as the endpoint, and no further
				r := bufio.NewReaderSize(conn, 16)
				for line := ""; !strings.HasPrefix(line, "data: "); {
					if line, err = r.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
					if endpoint, ok := strings.CutPrefix(line, "data: "); ok {
						c := &sseClient{&eventReader{t: t}, s, s.at(strings.TrimSpace(endpoint)), ""}
						c.post(202, callOf(2, "wait"))
						c.post(202, callOf(1, "flood")) // the last, since it ends the session
					}
				}
			}
			if err := next(t, s.stopped); err == nil {
				t.Error("everything was taken")
			}
			if path == "/sse" {
				if err := next(t, s.stopped); !errors.Is(err, errSlow) {
					t.Errorf("another call of the connection ended for %v", err)
				}
				next(t, s.ended)
			}
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4*maxQueuedBytes {
				t.Errorf("the heap grew by %d", grown)
			}
			other.post(202, callOf(1, "canary"))
			other.want("anonymous")
			s.expect(200)
		})
	}
}

// stuck is the response to a client that takes nothing.
type stuck struct {
	header  http.Header
	release chan struct{}
}

func (s stuck) Header() http.Header { return s.header }
func (s stuck) WriteHeader(int)     {}
func (s stuck) Write([]byte) (int, error) {
	<-s.release
	return 0, errors.New("too late")
}

// TestA08FullQueue: calls end when the queue is full, not when the write that is
// stuck has had its time.
func TestA08FullQueue(t *testing.T) {
	s := open(t, nil)
	w := stuck{make(http.Header), make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.ServeHTTP(w, s.request(t.Context(), http.MethodGet, "http://localhost/sse", nil))
	}()
	var conn *duplex.Conn
	waitFor(t, "the connection", func() bool {
		s.server.sse.mu.Lock()
		defer s.server.sse.mu.Unlock()
		for st := range s.server.sse.open {
			conn = st.conn
		}
		return conn != nil
	})
	conn.Receive(t.Context(), []byte(callOf(1, "wait")))
	conn.Receive(t.Context(), []byte(callOf(2, "flood")))
	for range 2 {
		if err := next(t, s.stopped); !errors.Is(err, errSlow) {
			t.Error(err)
		}
	}
	close(w.release)
	<-done
	if len(s.ended) != 1 {
		t.Error("the connection has not ended")
	}
}

// post gives a request as it goes over the wire.
func post(path, body, header string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", path, header, len(body), body)
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*p/100]
}
