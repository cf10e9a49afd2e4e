package webclient

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"
)

func wide(s string, order func(hi, lo byte) []byte) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, order(byte(u>>8), byte(u))...)
	}
	return b
}

func littleEndian(hi, lo byte) []byte { return []byte{lo, hi} }
func bigEndian(hi, lo byte) []byte    { return []byte{hi, lo} }

func TestContent(t *testing.T) {
	const gruss = "Grüße, 世界"
	latin := []byte("Gr\xfc\xdfe")
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	tests := []struct {
		name, contentType string
		body              []byte
		kind              Kind
		mime, text        string
	}{
		{"latin-1 declared", "text/plain; charset=ISO-8859-1", latin, Text, "text/plain", "Grüße"},
		{"latin-1 JSON declared", "application/json; charset=latin1", []byte("\"Gr\xfc\""), Text, "application/json", `"Grü"`},
		{"no charset, latin-1", "text/plain", latin, Text, "text/plain", "Grüße"},
		{"no charset, UTF-8", "text/plain", []byte(gruss), Text, "text/plain", gruss},
		{"no charset, UTF-8 far behind", "text/plain", []byte(strings.Repeat("a", 5000) + gruss), Text, "text/plain", strings.Repeat("a", 5000) + gruss},
		{"no type, UTF-8", "", []byte(gruss), Text, "text/plain", gruss},
		{"no type, latin-1", "", latin, Text, "text/plain", "Grüße"},
		{"unknown charset", "text/plain; charset=klingon", []byte(gruss), Text, "text/plain", gruss},
		{"UTF-8 BOM", "application/json", []byte("\xef\xbb\xbf{}"), Text, "application/json", "{}"},
		{"UTF-16LE BOM", "text/plain", append([]byte{0xff, 0xfe}, wide(gruss, littleEndian)...), Text, "text/plain", gruss},
		{"UTF-16BE BOM", "text/plain; charset=utf-16", append([]byte{0xfe, 0xff}, wide(gruss, bigEndian)...), Text, "text/plain", gruss},
		{"UTF-16LE declared", "text/plain; charset=utf-16le", wide(gruss, littleEndian), Text, "text/plain", gruss},
		{"UTF-16 declared, big-endian", "text/plain; charset=utf-16", wide("Hello "+gruss, bigEndian), Text, "text/plain", "Hello " + gruss},
		{"UTF-16LE undeclared", "application/json", wide(`{"a": "`+gruss+`"}`, littleEndian), Text, "application/json", `{"a": "` + gruss + `"}`},
		{"UTF-16BE without type", "", wide("Hello, "+gruss, bigEndian), Text, "text/plain", "Hello, " + gruss},
		{"meta charset", "text/html", []byte("<meta charset=shift_jis><p>\x93\xfa\x96\x7b"), Text, "text/html", "<meta charset=shift_jis><p>日本"},
		{"invalid UTF-8 declared", "text/plain; charset=utf-8", []byte("a\xffb"), Text, "text/plain", "a\uFFFDb"},
		{"problem JSON", "application/problem+json", []byte("{}"), Text, "application/problem+json", "{}"},
		{"SVG", "image/svg+xml", []byte("<svg/>"), Text, "image/svg+xml", "<svg/>"},
		{"image", "image/png", png, Media, "image/png", ""},
		{"image without type", "", png, Media, "image/png", ""},
		{"image as octet-stream", "application/octet-stream", png, Media, "image/png", ""},
		{"audio", "audio/mpeg", []byte("ID3\x03"), Media, "audio/mpeg", ""},
		{"PDF", "application/pdf", []byte("%PDF-1.7\n"), Binary, "application/pdf", ""},
		{"PDF called text", "text/plain", []byte("%PDF-1.7\n"), Binary, "text/plain", ""},
		{"bytes called text", "text/plain", []byte("ab\x00\x01\x02c"), Binary, "text/plain", ""},
		{"bytes without type", "", []byte{1, 2, 3, 0xfe}, Binary, "application/octet-stream", ""},
		{"image models don't take", "image/tiff", []byte("II*\x00"), Binary, "image/tiff", ""},
		{"only a BOM", "text/plain", []byte("\xef\xbb\xbf"), Empty, "text/plain", ""},
		{"nothing", "text/plain", nil, Empty, "text/plain", ""},
	}
	for _, tt := range tests {
		t.Run("11 "+tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.contentType != "" {
					w.Header().Set("Content-Type", tt.contentType)
				}
				_, _ = w.Write(tt.body)
			})
			r, err := get(t, newClient(t, Options{}), s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != tt.kind || r.MIME != tt.mime || r.Text != tt.text || r.Truncated || r.Size != int64(len(tt.body)) {
				t.Errorf("got kind %d, %q, text %q, size %d", r.Kind, r.MIME, r.Text, r.Size)
			}
			if (tt.kind == Media || tt.kind == Binary) && !bytes.Equal(r.Body, tt.body) {
				t.Errorf("body %q", r.Body)
			}
		})
	}
}

func TestCutInsideCharacter(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "aüü") })
	r, err := get(t, newClient(t, Options{MaxBody: 4}), s.URL)
	if err != nil || r.Text != "aü" || !r.Truncated || r.Size != 5 {
		t.Errorf("got %+v, %v; want the text aü, cut, of 5 bytes", r, err)
	}
}

func compress(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t testing.TB, encoding string, body []byte) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip was not asked for")
		}
		w.Header().Set("Content-Encoding", encoding)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(body)
	}).URL
}

func TestGzip(t *testing.T) {
	once := compress(t, []byte("hello"))
	t.Run("F06 gzip", func(t *testing.T) {
		r, err := get(t, newClient(t, Options{}), gzipped(t, "gzip", once))
		if err != nil || r.Text != "hello" || r.Size != 5 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("F06 nested gzip is decoded once", func(t *testing.T) {
		r, err := get(t, newClient(t, Options{}), gzipped(t, "gzip", compress(t, once)))
		if err != nil || r.Kind != Binary || !bytes.Equal(r.Body, once) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	for _, encoding := range []string{"gzip, gzip", "br", "deflate"} {
		t.Run("F06 refused: "+encoding, func(t *testing.T) {
			_, err := get(t, newClient(t, Options{}), gzipped(t, encoding, compress(t, once)))
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	t.Run("F06 broken gzip", func(t *testing.T) {
		if r, err := get(t, newClient(t, Options{}), gzipped(t, "gzip", once[:len(once)-6])); err == nil {
			t.Errorf("got %+v, want an error", r)
		}
	})
}

// allocated runs f and gives how many bytes it allocated in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestHugeBodies(t *testing.T) {
	const gigabyte = 1 << 30
	var sent atomic.Int64
	stopped := make(chan struct{}, 1)
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	endless := func(length bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if length {
				w.Header().Set("Content-Length", fmt.Sprint(gigabyte))
			}
			sent.Store(0)
			for sent.Load() < gigabyte {
				n, err := w.Write(chunk)
				sent.Add(int64(n))
				if err != nil {
					break
				}
			}
			stopped <- struct{}{}
		}
	}
	bomb := bytes.Repeat(compress(t, make([]byte, 1<<20)), 1<<10) // as many members as make 1 GB
	tests := []struct {
		name string
		url  string
		size int64
	}{
		{"07 F06 1 GB", serve(t, endless(true)).URL, gigabyte},
		{"07 F06 endless chunks", serve(t, endless(false)).URL, defaultMaxBody},
		{"07 F06 gzip bomb", gzipped(t, "gzip", bomb), defaultMaxBody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, Options{})
			var r *Response
			var err error
			bytes := allocated(func() { r, err = get(t, c, tt.url) })
			if err != nil {
				t.Fatal(err)
			}
			if !r.Truncated || r.Size != tt.size || max(len(r.Text), len(r.Body)) != defaultMaxBody {
				t.Errorf("cut: %v, size %d, kept %d", r.Truncated, r.Size, max(len(r.Text), len(r.Body)))
			}
			if bytes > 128<<20 {
				t.Errorf("allocated %d MiB", bytes>>20)
			}
			if strings.Contains(tt.name, "gzip") {
				return
			}
			select {
			case <-stopped:
			case <-time.After(10 * time.Second):
				t.Fatal("the server could go on sending")
			}
			if n := sent.Load(); n > gigabyte/4 {
				t.Errorf("the connection was open for %d MiB", n>>20)
			}
		})
	}
}

func TestHugeHeader(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int64)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			close(done)
			return
		}
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		n, _ := io.Copy(conn, io.LimitReader(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nX-Big: "), zeros{}), 1<<30))
		_ = conn.Close()
		done <- n
	}()
	c := newClient(t, Options{})
	bytes := allocated(func() { _, err = get(t, c, "http://"+l.Addr().String()) })
	_ = l.Close()
	if err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("F06 got %v, want an error about the header", err)
	}
	if n := <-done; n > 256<<20 || bytes > 16<<20 {
		t.Errorf("F06 the server sent %d MiB, %d MiB were allocated", n>>20, bytes>>20)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestSlowServers(t *testing.T) {
	trickle := func(w http.ResponseWriter, r *http.Request, step string) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				_, _ = io.WriteString(w, step)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"08 never answers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"08 F06 trickles its body", func(w http.ResponseWriter, r *http.Request) { trickle(w, r, "x") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.handler)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := newClient(t, Options{}).Do(ctx, &Request{Method: "GET", URL: mustURL(t, s.URL+"/s3cret"), Policy: Configured})
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want the deadline without the path", err)
			}
		})
	}
	t.Run("08 F06 trickles its header", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			for _, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "); err == nil; _, err = io.WriteString(conn, "x") {
				time.Sleep(10 * time.Millisecond)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := newClient(t, Options{}).Do(ctx, &Request{Method: "GET", URL: mustURL(t, s.URL), Policy: Configured})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
	})
}

func TestClosed(t *testing.T) {
	c := New(Options{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, c, "http://127.0.0.1/"); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// answering is the URL of a server that sends a fixed answer, whatever it is,
// and then says nothing more.
func answering(t testing.TB, answer string) string {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, answer)
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}).URL
}

func TestStrangeAnswers(t *testing.T) {
	tests := []struct{ name, answer, want string }{
		{"08 another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "another protocol"},
		{"no HTTP", strings.Repeat("s", 100_000) + "\r\n\r\n", "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := get(t, newClient(t, Options{}), answering(t, tt.answer))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 300 {
				t.Errorf("got %.400v", err)
			}
		})
	}
}

func TestErrorsNameOriginOnly(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	u := strings.Replace(s.URL, "http://", "http://user:s3cret@", 1) + "/s3cret?key=s3cret#s3cret"
	_, err := get(t, newClient(t, Options{}), u)
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("got %v, want an error that names the origin and no more", err)
	}
}
