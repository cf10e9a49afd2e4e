package webclient

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMultipart(t *testing.T) {
	contentType, body, err := Multipart([]Part{
		{Name: "a", Data: []byte("x\r\n--b--\r\ny")},
		{Name: "q\"u\r\nX-Evil: 1\\\x00", Filename: "ü \"f\"\n.png", ContentType: "image/png", Data: []byte{0, 0xff}},
		{Name: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(contentType, "multipart/form-data; boundary=") || len(params["boundary"]) < 40 {
		t.Fatal(contentType, err)
	}
	var got []string
	for r := multipart.NewReader(strings.NewReader(string(body)), params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(p)
		if p.Header.Get("X-Evil") != "" {
			t.Error("a name made a header")
		}
		got = append(got, p.Header.Get("Content-Disposition")+"|"+p.Header.Get("Content-Type")+"|"+string(data))
	}
	want := []string{
		`form-data; name="a"||` + "x\r\n--b--\r\ny",
		`form-data; name="q%22u%0D%0AX-Evil: 1\` + "\uFFFD" + `"; filename="ü %22f%22%0A.png"|image/png|` + "\x00\xff",
		`form-data; name="a"||`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, _, err := Multipart(nil)
	if err != nil || again == contentType {
		t.Error("the boundary is always the same", err)
	}
	if _, _, err := Multipart([]Part{{Name: "a", ContentType: "a/b\r\nX-Evil: 1"}}); err == nil {
		t.Error("a content type may hold a line break")
	}
}

func TestDecodeBase64(t *testing.T) {
	for s, want := range map[string]string{"": "", "AAH/": "\x00\x01\xff", "AAH_": "\x00\x01\xff", "AA==": "\x00", "AA": "\x00", "QU\r\nJD": "ABC"} {
		if got, err := DecodeBase64(s); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"a", "!!!!", "data:image/png;base64,AA==", "ü"} {
		if _, err := DecodeBase64(s); err == nil || strings.Contains(err.Error(), s+" ") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// One request may have a bound of its own.
func TestOwnBound(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 100)) })
	c := newClient(t, Options{MaxBody: 10})
	for most, want := range map[int64]int{0: 10, 50: 50, 1000: 100} {
		res, err := c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, s.URL), Policy: Configured, MaxBody: most})
		if err != nil || len(res.Text) != want || res.Truncated != (want < 100) {
			t.Error(most, res, err)
		}
	}
}

func TestOutcomeIsTransient(t *testing.T) {
	status := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	c := newClient(t, Options{})
	for _, tt := range []struct {
		status    int
		transient bool
	}{{408, true}, {429, true}, {502, true}, {503, true}, {504, true}, {400, false}, {401, false}, {404, false}, {409, false}, {500, false}, {501, false}} {
		status = tt.status
		o, err := c.Ask(limited(t), &Request{Method: "GET", URL: mustURL(t, s.URL), Policy: Configured}, Wording{})
		if err != nil || !o.Failed || o.Transient != tt.transient {
			t.Error(tt, o, err)
		}
	}
	address := s.URL
	s.Close()
	o, err := c.Ask(limited(t), &Request{Method: "GET", URL: mustURL(t, address), Policy: Configured}, Wording{})
	if err != nil || !o.Failed || !o.Transient {
		t.Error("no connection:", o, err)
	}
	o, err = c.Ask(limited(t), &Request{Method: "GET", URL: mustURL(t, "http://169.254.169.254/"), Policy: Configured}, Wording{})
	if err != nil || !o.Failed || o.Transient {
		t.Error("refused:", o, err)
	}
}
