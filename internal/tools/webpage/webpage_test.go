package webpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTool(t *testing.T, hosts ...string) *tool {
	t.Helper()
	c := webclient.New(webclient.Options{MaxBody: 1 << 20})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	made, err := New(&config.Tool{Name: "load_web_page", Builtin: &config.Builtin{AllowHosts: hosts}}, c)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*tool)
}

// local is the tool with this machine within its reach.
func local(t *testing.T, hosts ...string) *tool {
	made := newTool(t, hosts...)
	made.policy = webclient.Configured
	return made
}

func load(t *testing.T, tool agent.Tool, address string) *agent.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"url": address})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Call(t.Context(), &agent.Call{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestKinds(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		want                    string
		failed                  bool
	}{
		{"HTML", "text/html; charset=iso-8859-1", "<title>T</title><h1>Gr\xfc\xdfe</h1><p>See <a href=\"b?c=d\">there</a>.", 200,
			"Title: T\n\n# Grüße\n\nSee [there](URL/b?c=d).", false},
		{"XHTML", "application/xhtml+xml", `<html><body><p>one<br/>two</p></body></html>`, 200, "one  \ntwo", false},
		{"text", "text/plain", "a <b>\u202e\u200bc\x1b[0m\r\n", 200, "a <b>c[0m\n", false},
		{"JSON", "application/json", `{"a": 1}`, 200, `{"a": 1}`, false},
		{"XML", "application/xml", "<a>b</a>", 200, "<a>b</a>", false},
		{"nothing", "text/html", "", 200, "The page is empty.", false},
		{"large", "text/plain", big + "y", 200, "Note: the page is too large, this is only its beginning.\n\n" + big, false},
		{"image", "image/png", "\x89PNG\r\n\x1a\n", 200, "Failed to fetch url: what URL gives is no page: it is image/png, 8 bytes", true},
		{"PDF", "application/pdf", "%PDF-1.7", 200, "Failed to fetch url: what URL gives is no page: it is application/pdf, 8 bytes", true},
		{"not there", "text/html", "<p>no", 404, "Failed to fetch url: URL answered 404 Not Found", true},
		{"partial", "text/plain", "no", 304, "Failed to fetch url: URL answered 304 Not Modified", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.Header.Get("Accept"), "text/html") {
					t.Errorf("asked for %q", r.Header.Get("Accept"))
				}
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			})
			r := load(t, local(t), origin+"/a")
			if want := strings.ReplaceAll(c.want, "URL", origin); r.Output != want || r.IsError != c.failed {
				t.Errorf("got %.200q, failed: %v", r.Output, r.IsError)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	asked := false
	origin := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	for address, says := range map[string]string{
		origin: "not on the public internet",
		strings.Replace(origin, "127.0.0.1", "localhost", 1):  "not on the public internet",
		strings.Replace(origin, "127.0.0.1", "2130706433", 1): "",
		"http://169.254.169.254/latest/meta-data/":            "not on the public internet",
		"http://[::ffff:10.0.0.1]/":                           "not on the public internet",
		"file:///etc/passwd":                                  "no address of a page",
		"ftp://example.com/":                                  "only http and https",
		"javascript:alert(1)":                                 "no address of a page",
		"example.com":                                         "no address of a page",
		"":                                                    "no address of a page",
		"http://a b/":                                         "no address of a page",
		"https://example.com/" + strings.Repeat("x", 9000): "longer than",
	} {
		r := load(t, newTool(t), address)
		text := fmt.Sprint(r.Output)
		if !r.IsError || !strings.HasPrefix(text, "Failed to fetch url: ") || !strings.Contains(text, says) {
			t.Errorf("%.60s: %s", address, text)
		}
	}
	if asked {
		t.Error("this machine was reached")
	}
}

func TestAllowedHosts(t *testing.T) {
	tool := newTool(t, "*.Example.com", "go.dev", "127.0.0.1")
	for address, allowed := range map[string]bool{
		"https://www.example.com/": true, "https://a.b.EXAMPLE.com:8443": true, "https://go.dev./x": true,
		"https://example.com/": false, "https://www.example.com.evil.org/": false, "https://evil.org/www.example.com": false,
		"https://www.example.com@evil.org/": false, "https://evilgo.dev": false, "https://evil.org#.example.com": false,
	} {
		if _, err := tool.target(address); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	r := load(t, tool, "https://evil.org/")
	if want := "Failed to fetch url: this tool may load pages of these hosts only: *.example.com, go.dev, 127.0.0.1"; r.Output != want {
		t.Errorf("got %s", r.Output)
	}
	for _, host := range []string{"", "https://example.com", "example.com/x", "example.com:80"} {
		if _, err := New(&config.Tool{Name: "load_web_page", Builtin: &config.Builtin{AllowHosts: []string{host}}}, nil); err == nil {
			t.Errorf("%q is taken for a host", host)
		}
	}
	if _, err := New(&config.Tool{Name: "load_web_page", Builtin: &config.Builtin{Root: "x"}}, nil); err == nil {
		t.Error("args of another tool are taken")
	}
}

func TestRedirects(t *testing.T) {
	to := ""
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<a href=x>y</a>")
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	to = "/end"
	if r := load(t, local(t, "127.0.0.1"), origin+"/a/b"); r.Output != "[y]("+origin+"/x)" {
		t.Errorf("got %s", r.Output)
	}
	to = strings.Replace(origin, "127.0.0.1", "localhost", 1) + "/end"
	if r := load(t, local(t, "127.0.0.1"), origin+"/a"); !r.IsError || !strings.Contains(fmt.Sprint(r.Output), "not followed") {
		t.Errorf("got %s", r.Output)
	}
}

func TestTheCallEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	origin := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	tool := local(t)
	args := json.RawMessage(`{"url":"` + origin + `"}`)
	if r, err := tool.Call(ctx, &agent.Call{Args: args}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	if err := tool.client.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := tool.Call(t.Context(), &agent.Call{Args: args}); !errors.Is(err, webclient.ErrClosed) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := tool.Call(t.Context(), &agent.Call{Args: json.RawMessage(`{"url":1}`)}); err != nil || !r.NotRun {
		t.Errorf("%+v, %v", r, err)
	}
}
