package httpreq

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

func respond(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestResults(t *testing.T) {
	page := "<html>" + strings.Repeat("<p>ü broken</p>", 1000)
	tests := []struct {
		name    string
		handler http.HandlerFunc
		filter  string
		isError bool
		want    []string // parts of what the model reads; one with = is all of it
		most    int      // bytes of what the model reads
	}{
		{"06 404 with JSON", respond(404, "application/json", `{"error": "no such issue"}`), ".title", true,
			[]string{"404 Not Found", `{"error": "no such issue"}`}, 200},
		{"06 500 with HTML", respond(500, "text/html", page), "", true, []string{"500 Internal Server Error", "<html><p>ü broken</p>", "shortened, 16006 bytes"}, 2500},
		{"06 204", respond(204, "text/plain", ""), ".title", false, []string{"=204 No Content: the answer is empty."}, 0},
		{"06 200 empty", respond(200, "application/json", ""), ".title", false, []string{"200 OK", "empty"}, 0},
		{"06 200 with invalid JSON", respond(200, "application/json", "<html>busy</html>"), ".title", false, []string{"Note: ", "not valid JSON", "<html>busy</html>"}, 0},
		{"06 200 with JSON of another shape", respond(200, "application/json", `"x"`), ".a.b", false, []string{"Note: ", `"x"`}, 0},
		{"304", respond(304, "text/plain", ""), "", true, []string{"304 Not Modified"}, 0},
		{"429", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "", true, []string{"429 Too Many Requests", "Retry-After: 30"}, 0},
		{"201 with a location", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/items/5")
			w.WriteHeader(http.StatusCreated)
		}, "", false, []string{"201 Created", "Location: /items/5"}, 0},
		{"text", respond(200, "text/plain", "hello"), "", false, []string{"=hello"}, 0},
		{"JSON as it came", respond(200, "application/json", `{"b": 9007199254740993, "a": 1.10}`), "", false, []string{`={"b": 9007199254740993, "a": 1.10}`}, 0},
		{"jq text", respond(200, "application/json", `{"title": "a \"b\""}`), ".title", false, []string{`=a "b"`}, 0},
		{"jq number", respond(200, "application/json", `{"id": 9007199254740993}`), ".id", false, []string{`=9007199254740993`}, 0},
		{"jq several", respond(200, "text/plain", `[{"n": "a"}, {"n": 1.10}]`), ".[].n", false, []string{`=["a",1.10]`}, 0},
		{"jq empty text", respond(200, "application/json", `{"a": ""}`), ".a", false, []string{`=""`}, 0},
		{"jq nothing", respond(200, "application/json", `[]`), ".[]", false, []string{"found nothing"}, 0},
		{"11 latin-1", respond(200, "text/plain; charset=iso-8859-1", "Gr\xfc\xdfe"), "", false, []string{"=Grüße"}, 0},
		{"11 UTF-16", respond(200, "text/plain", "\xff\xfeG\x00r\x00\xfc\x00"), "", false, []string{"=Grü"}, 0},
		{"11 no charset", respond(200, "text/plain", "Grüße"), "", false, []string{"=Grüße"}, 0},
		{"11 PDF", respond(200, "application/pdf", "%PDF-1.7"), "", false, []string{"application/pdf", "8 bytes"}, 0},
		{"11 PDF with a failure", respond(500, "application/pdf", "%PDF-1.7"), "", true, []string{"500", "application/pdf", "8 bytes"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := server(t, tt.handler)
			res := call(t, build(t, entry(config.HTTP{URL: url, Result: tt.filter})), `{}`)
			text := outputText(t, res)
			if res.IsError != tt.isError || len(res.Media) != 0 {
				t.Errorf("error %v, media %v", res.IsError, res.Media)
			}
			for _, part := range tt.want {
				if all, exact := strings.CutPrefix(part, "="); exact && text != all || !exact && !strings.Contains(text, part) {
					t.Errorf("got %q, want %q", text, part)
				}
			}
			if tt.most > 0 && len(text) > tt.most {
				t.Errorf("the text has %d bytes", len(text))
			}
		})
	}
}

func TestImage(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\nxyz"
	url, _ := server(t, respond(200, "image/png", png))
	res := call(t, build(t, entry(config.HTTP{URL: url})), `{}`)
	if res.IsError || len(res.Media) != 1 || res.Media[0].MIMEType != "image/png" || string(res.Media[0].Data) != png {
		t.Errorf("11 got %+v", res)
	}
	if text := outputText(t, res); !strings.Contains(text, "image/png") || !strings.Contains(text, "11 bytes") {
		t.Errorf("11 got %q", text)
	}
}

func TestHuge(t *testing.T) {
	chunk := []byte(strings.Repeat("x", 64<<10))
	flood := func(w io.Writer) (sent int64) {
		for sent < 1<<30 {
			n, err := w.Write(chunk)
			if sent += int64(n); err != nil {
				break
			}
		}
		return sent
	}
	sent := make(chan int64, 1)
	tests := []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"07 F06 1 GB", func(w http.ResponseWriter, _ *http.Request) { sent <- flood(w) }},
		{"07 F06 gzip bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			sent <- flood(z)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := server(t, tt.handler)
			tool := build(t, entry(config.HTTP{URL: url, Result: "."}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text := succeed(t, tool, `{}`)
			runtime.ReadMemStats(&after)
			if !strings.HasPrefix(text, "Note: the answer was cut") || len(text) > 9<<20 {
				t.Errorf("got %d bytes: %.100s", len(text), text)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 192 {
				t.Errorf("allocated %d MiB", mib)
			}
			select {
			case n := <-sent:
				if n >= 1<<30 {
					t.Error("the server could send everything")
				}
			case <-time.After(10 * time.Second):
				t.Error("the connection is still open")
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	url, _ := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	tool := build(t, entry(config.HTTP{URL: url + "/s3cret"}))
	t.Run("08", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		res, err := tool.Call(ctx, &agent.Call{})
		if err != nil || !res.IsError {
			t.Fatalf("got %+v, %v", res, err)
		}
		text := outputText(t, res)
		if !strings.Contains(text, "timed out") || !strings.Contains(text, "1m0s") || strings.Contains(text, "s3cret") {
			t.Errorf("got %q", text)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if res, err := tool.Call(ctx, &agent.Call{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		text := fail(t, build(t, entry(config.HTTP{URL: "http://127.0.0.1:1/s3cret"})), `{}`)
		if !strings.Contains(text, "http://127.0.0.1:1") || strings.Contains(text, "s3cret") {
			t.Errorf("got %q", text)
		}
	})
}

func TestRedirects(t *testing.T) {
	var hits atomic.Int64
	canary, last := server(t, func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})
	host := strings.TrimPrefix(canary, "http://")
	_, port, _ := strings.Cut(host, ":")
	auth := &config.Auth{Header: &config.HeaderAuth{Name: "X-Api-Key", Value: config.NewSecret("s3cret")}}
	headers := map[string]template.Text{"Cookie": places("sid=s3cret"), "Accept": places("text/plain")}
	redirect := func(status int, to string) string {
		url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		})
		return url
	}
	for _, to := range []string{canary, "file:///etc/passwd", "http://169.254.169.254/", "http://localhost:" + port} {
		t.Run("09 F02 "+to, func(t *testing.T) {
			fail(t, build(t, entry(config.HTTP{URL: redirect(302, to), Auth: auth})), `{}`)
			if n := hits.Load(); n != 0 {
				t.Errorf("the canary was reached %d times", n)
			}
		})
	}
	t.Run("09 a loop", func(t *testing.T) {
		if text := fail(t, build(t, entry(config.HTTP{URL: redirect(302, "/again")})), `{}`); !strings.Contains(text, "10 redirects") {
			t.Errorf("got %q", text)
		}
	})
	t.Run("F04 a body with a secret stays", func(t *testing.T) {
		c := entry(config.HTTP{
			Method: "POST", URL: redirect(307, canary), AllowHosts: []string{host},
			Body: &config.Body{Form: []config.QueryParam{{Name: "key", Value: places("hunter&22")}}},
		})
		c.Secrets = []string{"hunter&22"}
		if text := fail(t, build(t, c), `{}`); !strings.Contains(text, "credentials") || hits.Load() != 0 {
			t.Errorf("got %q", text)
		}
	})
	t.Run("09 F04 allowed", func(t *testing.T) {
		c := entry(config.HTTP{URL: redirect(302, canary), Auth: auth, Headers: headers, AllowHosts: []string{host}})
		text := fail(t, build(t, c), `{}`)
		if !strings.Contains(text, "401") || !strings.Contains(text, canary) || !strings.Contains(text, "credentials are not sent") {
			t.Errorf("got %q", text)
		}
		if h := last().header; h.Get("X-Api-Key") != "" || h.Get("Cookie") != "" || h.Get("Accept") != "text/plain" {
			t.Errorf("arrived: %v", h)
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	const secret = `s3cret/"x` + "&y"
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"auth": r.Header.Get("Authorization"), "key": r.Header.Get("X-Key"), "uri": r.RequestURI, "number": 12345678, "ok": "kept",
			})
		}
	}
	query := []config.QueryParam{{Name: "key", Value: template.Text{Segments: []template.Segment{{Text: secret, FromEnv: true}}}}}
	tests := []struct {
		status int
		filter string
	}{{200, ""}, {200, "."}, {200, ".auth, .key, .ok"}, {200, "[.key, .ok] | tostring"}, {500, ""}}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("12 %d %s", tt.status, tt.filter), func(t *testing.T) {
			url, last := server(t, echo(tt.status))
			c := entry(config.HTTP{
				URL: url, Query: query, Result: tt.filter, Headers: map[string]template.Text{"X-Key": query[0].Value},
				Auth: &config.Auth{Basic: &config.BasicAuth{Username: "me", Password: config.NewSecret("passw0rd")}},
			})
			c.Secrets = []string{secret, "passw0rd", "12345678", ""}
			text := outputText(t, call(t, build(t, c), `{}`))
			basic := base64.StdEncoding.EncodeToString([]byte("me:passw0rd"))
			if h := last().header; h.Get("X-Key") != secret || h.Get("Authorization") != "Basic "+basic {
				t.Fatalf("arrived: %v", h)
			}
			for _, s := range []string{"s3cret", "passw0rd", basic, "12345678"} {
				if strings.Contains(text, s) {
					t.Errorf("%q is not hidden in %s", s, text)
				}
			}
			if !strings.Contains(text, "kept") || !strings.Contains(text, "[redacted]") {
				t.Errorf("got %s", text)
			}
		})
	}
	t.Run("12 in a URL", func(t *testing.T) {
		c := entry(config.HTTP{URL: "http://me:passw0rd@127.0.0.1:1/tok3n/"})
		c.Secrets = []string{"tok3n"}
		if text := fail(t, build(t, c), `{}`); strings.Contains(text, "passw0rd") || strings.Contains(text, "tok3n") {
			t.Errorf("got %q", text)
		}
	})
}

// What may go better the next time is marked so.
func TestTransient(t *testing.T) {
	for status, want := range map[int]bool{200: false, 400: false, 404: false, 408: true, 429: true, 500: false, 502: true, 503: true, 504: true} {
		url, _ := server(t, respond(status, "text/plain", "x"))
		if got := call(t, build(t, entry(config.HTTP{URL: url})), `{}`); got.Transient != want {
			t.Errorf("%d: %+v", status, got)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if got := call(t, build(t, entry(config.HTTP{URL: gone.URL})), `{}`); !got.IsError || !got.Transient {
		t.Errorf("got %+v", got)
	}
}
