package credential

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

// refusal is the answer to a request with these headers.
func refusal(status int, sent http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Request: &http.Request{Header: sent}}
}

func TestStatic(t *testing.T) {
	v := visit(t, &config.MCPServer{URL: "http://x/mcp", Headers: map[string]config.Secret{"x-api-key": config.NewSecret("k")}}, nil)
	h, err := v.Headers(t.Context())
	if diff := cmp.Diff(http.Header{"X-Api-Key": {"k"}}, h); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if again, err := v.Challenged(t.Context(), refusal(401, h)); again || err != nil {
		t.Errorf("got %v, %v", again, err)
	}
	_, err = visit(t, &config.MCPServer{URL: "http://x/mcp"}, nil).Challenged(t.Context(), refusal(401, nil))
	fails(t, err, `"files"`, "http://x", "oauth")
	if _, err := New(&config.MCPServer{URL: "http://x/mcp", Headers: map[string]config.Secret{"X": config.NewSecret("hidden\n")}}, Options{}); err == nil {
		t.Error("a line break went through")
	} else {
		fails(t, err, `"X"`)
	}
}

func TestParseHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want http.Header
		err  string
	}{
		"lines":         {"Authorization: Bearer a:b\r\n\n  x-two:1\nX-Two: 2\n", http.Header{"Authorization": {"Bearer a:b"}, "X-Two": {"1", "2"}}, ""},
		"JSON":          {" {\"authorization\": \"Bearer x\"}\n", http.Header{"Authorization": {"Bearer x"}}, ""},
		"JSON, nothing": {"{}", http.Header{}, ""},
		"JSON, number":  {`{"a": 1, "b": "hidden"}`, nil, "an object with texts"},
		"JSON, cut":     {`{"a": "hidden`, nil, "an object with texts"},
		"JSON, break":   {`{"a": "hidden\nb"}`, nil, "cannot stand in a header"},
		"a token":       {"hidden", nil, "line 1 is not"},
		"second line":   {"a: b\nhidden", nil, "line 2 is not"},
		"bad name":      {"a b: hidden", nil, "line 1 is not"},
		"nothing":       {"\n", nil, "there are no headers"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseHeaders([]byte(tt.text))
			if tt.err != "" {
				fails(t, err, tt.err)
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// counting is a server whose command says how often it has run, and what of its
// environment is there.
func counting(t *testing.T, script string) (*visitor, func() int) {
	t.Helper()
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	s := &config.MCPServer{URL: "http://x/mcp", Dir: dir, HeadersFrom: &config.HeadersFrom{
		Command: []string{"sh", "-c", "echo run >>runs\n" + script}, PassEnv: []string{"KEY"}, TTL: config.Duration(5 * time.Minute)}}
	v := visit(t, s, func(o *Options) {
		o.Lookup = func(name string) (string, bool) {
			value, ok := map[string]string{"KEY": "k", "SECRET": "hidden", "PATH": os.Getenv("PATH")}[name]
			return value, ok
		}
	})
	return v, func() int {
		data, _ := os.ReadFile(runs)
		return strings.Count(string(data), "run")
	}
}

func TestCommand(t *testing.T) {
	v, runs := counting(t, `echo "X-Run: $(wc -l <runs | tr -d ' ') $KEY ${SECRET-unset}"`)
	now := func(want string) http.Header {
		t.Helper()
		h, err := v.Headers(t.Context())
		if err != nil || h.Get("X-Run") != want {
			t.Errorf("got %v, %v; want %q", h, err, want)
		}
		return h
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { now("1 k unset") })
	}
	wg.Wait()
	v.pass(5*time.Minute - time.Nanosecond)
	first := now("1 k unset")
	v.pass(time.Nanosecond)
	second := now("2 k unset")
	for _, tt := range []struct {
		sent  http.Header
		again bool
		runs  int
	}{{first, true, 2}, {second, true, 3}, {second, true, 3}} {
		again, err := v.Challenged(t.Context(), refusal(401, tt.sent))
		if again != tt.again || err != nil || runs() != tt.runs {
			t.Errorf("got %v, %v after %d runs, want %+v", again, err, runs(), tt)
		}
	}
	if again, err := v.Challenged(t.Context(), refusal(403, now("3 k unset"))); again || err != nil || runs() != 3 {
		t.Errorf("a 403: %v, %v", again, err)
	}
	same, runs := counting(t, `echo '{"A": "b"}'`)
	h, err := same.Headers(t.Context())
	if again, other := same.Challenged(t.Context(), refusal(401, h)); err != nil || other != nil || again || runs() != 2 {
		t.Errorf("the same again: %v, %v, %v", again, err, other)
	}
}

func TestCommandFails(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"exit code": {"echo hidden; echo hidden >&2; exit 3", `"sh" failed with exit code 3`},
		"signal":    {"kill -9 $$", `"sh" was ended by a signal`},
		"no header": {"echo hidden", `"sh": line 1 is not NAME: VALUE`},
		"too much":  {"head -c 70000 /dev/zero | tr '\\0' x", "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			v, runs := counting(t, tt.script)
			_, err := v.Headers(t.Context())
			fails(t, err, tt.want, `"files"`)
			if _, err := v.Headers(t.Context()); err == nil || runs() != 2 {
				t.Errorf("got %v after %d runs; a failure is not kept", err, runs())
			}
		})
	}
	t.Run("not there", func(t *testing.T) {
		v := visit(t, &config.MCPServer{URL: "http://x/mcp", HeadersFrom: &config.HeadersFrom{Command: []string{"no-such-program", "hidden"}}}, nil)
		_, err := v.Headers(t.Context())
		fails(t, err, "no-such-program")
	})
	t.Run("cancelled", func(t *testing.T) {
		v, _ := counting(t, "sleep 60")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 { // the one that runs and those that wait
			wg.Go(func() {
				if _, err := v.Headers(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	tick := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(text string, mtime time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, mtime, mtime); err != nil {
			t.Fatal(err)
		}
	}
	v := visit(t, &config.MCPServer{URL: "http://x/mcp", HeadersFrom: &config.HeadersFrom{File: path}}, nil)
	now := func(want string) http.Header {
		t.Helper()
		h, err := v.Headers(t.Context())
		if err != nil || h.Get("A") != want {
			t.Errorf("got %v, %v; want %s", h, err, want)
		}
		return h
	}
	_, err := v.Headers(t.Context())
	fails(t, err, `"files"`, "headers")
	write("A: 1", tick)
	now("1")
	write("A: 22", tick) // another size
	now("22")
	write("A: 33", tick.Add(time.Second)) // another time
	now("33")
	write("A: 44", tick.Add(time.Second)) // neither
	old := now("33")
	if again, err := v.Challenged(t.Context(), refusal(401, old)); !again || err != nil {
		t.Errorf("got %v, %v", again, err)
	}
	if again, err := v.Challenged(t.Context(), refusal(401, now("44"))); again || err != nil {
		t.Errorf("nothing new: %v, %v", again, err)
	}
	write("hidden", tick)
	_, err = v.Headers(t.Context())
	fails(t, err, "line 1")
	write(strings.Repeat("x", maxHeaders+1), tick)
	_, err = v.Headers(t.Context())
	fails(t, err, "more than 65536 bytes")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = v.Headers(t.Context())
	fails(t, err, "not a regular file")
}

func TestChallenge(t *testing.T) {
	for line, want := range map[string]challenge{
		`Bearer`: {},
		`Bearer resource_metadata="https://x/y?a=b,c", scope="a  b", error="invalid_token"`: {"https://x/y?a=b,c", "invalid_token", []string{"a", "b"}},
		`bearer realm="a \"b\" , Bearer", ERROR = insufficient_scope ,scope=x`:              {"", "insufficient_scope", []string{"x"}},
		`Basic realm="x", Bearer scope="a"`:                                                 {scopes: []string{"a"}},
		`Bearer scope="a", DPoP scope="b"`:                                                  {scopes: []string{"a"}},
		`Negotiate abc==, Bearer scope="a"`:                                                 {scopes: []string{"a"}},
		`Basic scope="a"`:                                                                   {},
		`Bearer scope="a`:                                                                   {scopes: []string{"a"}},
		``:                                                                                  {},
		`=, ="`:                                                                             {},
	} {
		got := challengeOf(&http.Response{Header: http.Header{"Www-Authenticate": {"Basic", line}}})
		if len(got.scopes) == 0 {
			got.scopes = nil
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(challenge{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
