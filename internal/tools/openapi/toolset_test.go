package openapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// serveDocument serves what handler gives and counts how often it is asked.
func serveDocument(t testing.TB, handler http.HandlerFunc) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "openapi") {
			asked.Add(1)
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

const remote = "openapi: 3.1.0\nservers: [{url: '/v1'}]\npaths: {/x: {get: {operationId: op}}}\n"

func TestRemoteDocument(t *testing.T) {
	url, asked := serveDocument(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/docs/openapi.yaml":
			http.Redirect(w, r, "/docs/v1/openapi.yaml", http.StatusFound)
		case "/docs/v1/openapi.yaml":
			w.Header().Set("Content-Type", "application/yaml")
			_, _ = io.WriteString(w, remote)
		default:
			_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get("X-Key"))
		}
	})
	set, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: url + "/docs/openapi.yaml", Headers: map[string]config.Secret{"X-Key": config.NewSecret("k")}}},
		Deps{newClient(t), slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if tools, err := set.Tools(t.Context(), &agent.Query{Peek: true}); !errors.Is(err, agent.ErrNotListed) || tools != nil || asked.Load() > 0 {
		t.Fatal(tools, err, asked.Load())
	}
	var wg sync.WaitGroup
	for range 20 { // all at once, and one of them loads it
		wg.Go(func() {
			if tools, err := set.Tools(t.Context(), &agent.Query{}); err != nil || len(tools) != 1 {
				t.Error(tools, err)
			}
		})
	}
	wg.Wait()
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	first, listing := listOf(t, set)
	tools, err := set.Tools(t.Context(), &agent.Query{Peek: true})
	if err != nil || len(tools) != 1 || tools[0] != first["op"] || listing != set.listed.Load().listing {
		t.Error(tools, err)
	}
	if res := call(t, first["op"], `{}`); res.Output != "/v1/x k" {
		t.Error(res.Output)
	}
}

func TestRemoteFailures(t *testing.T) {
	var mode atomic.Value
	mode.Store("missing")
	url, asked := serveDocument(t, func(w http.ResponseWriter, r *http.Request) {
		switch mode.Load() {
		case "missing":
			http.NotFound(w, r)
		case "broken":
			_, _ = io.WriteString(w, "openapi: 2")
		case "elsewhere":
			_, _ = io.WriteString(w, strings.Replace(remote, "/v1", "http://127.0.0.1:1/internal", 1))
		case "binary":
			_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n")
		case "large":
			for range 17 {
				_, _ = w.Write(bytes.Repeat([]byte("# comment\n"), 1<<20/10))
			}
		default:
			_, _ = io.WriteString(w, remote)
		}
	})
	var log bytes.Buffer
	set, err := New(&config.Tool{Secrets: []string{"s3cret"}, OpenAPI: &config.OpenAPI{Document: url + "/s3cret/openapi?token=s3cret"}},
		Deps{newClient(t), slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	set.now = func() time.Time { return now }
	for i, tt := range []struct{ mode, want string }{
		{"missing", "the server answered 404 Not Found"}, {"broken", "is not an OpenAPI 3 document"},
		{"elsewhere", "its server is http://127.0.0.1:1, which is not where the document comes from; if that is right, write server: http://127.0.0.1:1/internal"},
		{"binary", "is not text"}, {"large", "larger than 16 MiB"},
	} {
		mode.Store(tt.mode)
		for range 3 { // within the pause nobody is asked again
			tools, listing := listOf(t, set)
			if len(tools) > 0 || !strings.Contains(listing.Error, tt.want) || listing != set.failed {
				t.Errorf("%v, want %s", listing, tt.want)
			}
		}
		if asked.Load() != int64(i+1) || strings.Count(log.String(), "level=WARN") != i+1 {
			t.Errorf("asked %d times, want %d\n%s", asked.Load(), i+1, log.String())
		}
		now = now.Add(retryPause)
	}
	mode.Store("fine")
	if tools, listing := listOf(t, set); len(tools) != 1 || listing.Error != "" {
		t.Error(tools, listing)
	}
	if strings.Contains(log.String(), "s3cret") || !strings.Contains(log.String(), "[redacted]") {
		t.Error(log.String())
	}
}

// Whoever waits goes when its context ends; a load that was broken off is no failure.
func TestCancelledLoad(t *testing.T) {
	began, leave := make(chan struct{}, 2), make(chan struct{})
	url, _ := serveDocument(t, func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-leave:
			_, _ = io.WriteString(w, remote)
		case <-r.Context().Done():
		}
	})
	set, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: url + "/openapi"}}, Deps{newClient(t), slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	loading, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := set.Tools(loading, &agent.Query{})
		ended <- err
	}()
	<-began
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Tools(waiting, &agent.Query{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) || set.failed != nil {
		t.Error(err, set.failed)
	}
	close(leave)
	if tools, _ := listOf(t, set); len(tools) != 1 {
		t.Error(tools)
	}
}

// The headers of the entry go to the document only where the API is.
func TestHeadersOfTheDocument(t *testing.T) {
	for _, same := range []bool{true, false} {
		var got atomic.Value
		url, _ := serveDocument(t, func(w http.ResponseWriter, r *http.Request) {
			got.Store(r.Header.Get("X-Key"))
			_, _ = io.WriteString(w, remote)
		})
		server, want := "https://api.test", ""
		if same {
			server, want = url+"/v1", "k"
		}
		set, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: url + "/openapi", Server: server, Headers: map[string]config.Secret{"X-Key": config.NewSecret("k")}}},
			Deps{newClient(t), slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if tools, _ := listOf(t, set); len(tools) != 1 || got.Load() != want {
			t.Error(tools, got.Load(), want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	secret := config.NewSecret("v\n")
	for want, o := range map[string]config.OpenAPI{
		"document: none.yaml: no such file":              {Document: "/none.yaml"},
		"document: testdata: is not a file":              {Document: "testdata"},
		"document: is not a valid URL":                   {Document: "http://"},
		"document: holds a user name":                    {Document: "https://me:s3cret@api.test/openapi"},
		"server: it has no scheme and host":              {Document: "https://api.test", Server: "api.test"},
		"server: it is not an http or https URL":         {Document: "https://api.test", Server: "ftp://api.test"},
		"server: it has a query":                         {Document: "https://api.test", Server: "https://api.test?a=b"},
		`server: its path has a "." or ".." segment`:     {Document: "https://api.test", Server: "https://api.test/a/../b"},
		"headers: Host is set for each request":          {Document: "https://api.test", Headers: map[string]config.Secret{"host": secret}},
		"headers: the value of X holds a line break":     {Document: "https://api.test", Headers: map[string]config.Secret{"x": secret}},
		`allow_hosts: "*.test" is not a host name`:       {Document: "https://api.test", AllowHosts: []string{"*.test"}},
		"auth: the value holds a line break or another":  {Document: "https://api.test", Auth: map[string]config.Auth{"a": {Bearer: secret}}},
		"auth: the document has no security scheme none": {Document: "testdata/petstore-3.0.yaml", Auth: map[string]config.Auth{"none": {Bearer: config.NewSecret("x")}}},
	} {
		_, err := New(&config.Tool{OpenAPI: &o}, Deps{newClient(t), slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Answers are those of the http kind.
func TestAnswers(t *testing.T) {
	url, _ := echo(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/401":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message": "no"}`)
		case "/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n")
		case "/latin1":
			w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
			_, _ = io.WriteString(w, "gr\xfcn")
		case "/hang":
			<-r.Context().Done()
		}
	})
	tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Server: url, Document: write(t,
		"openapi: 3.0.0\npaths: {'/{x}': {get: {operationId: op, parameters: [{name: x, in: path, required: true, schema: {}}]}}}")}})
	for x, want := range map[string]agent.Result{
		"401":    {IsError: true, Output: "GET " + url + ": the server answered 401 Unauthorized.\n\n" + `{"message": "no"}`},
		"503":    {IsError: true, Transient: true, Output: "GET " + url + ": the server answered 503 Service Unavailable."},
		"latin1": {Output: "grün"},
		"png":    {Output: "The answer is image/png, 8 bytes."},
		"none":   {Output: "200 OK: the answer is empty."},
	} {
		got := call(t, tools["op"], `{"x": "`+x+`"}`)
		if x == "png" {
			if len(got.Media) != 1 || got.Media[0].MIMEType != "image/png" {
				t.Error(got.Media)
			}
			got.Media = nil
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Error(diff)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	res, err := tools["op"].Call(ctx, &agent.Call{Args: []byte(`{"x": "hang"}`)})
	if err != nil || !res.IsError || !res.Transient || !strings.Contains(res.Output.(string), "timed out") {
		t.Error(res, err)
	}
	for _, raw := range []string{`[]`, `{"x": `, ``} {
		if res, err := tools["op"].Call(t.Context(), &agent.Call{Args: []byte(raw)}); err != nil || !res.IsError {
			t.Error(raw, res, err)
		}
	}
}

var _ agent.Toolset = (*Toolset)(nil)
