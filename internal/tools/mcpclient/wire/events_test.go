package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read reads a whole stream as texts: name=data, and where it has come to.
func readEvents(r io.Reader, most int64) (got []string, p place, err error) {
	e := newEvents(r, most, &p)
	for {
		ev, err := e.next()
		if err != nil {
			return got, p, err
		}
		got = append(got, ev.name+"="+string(ev.data))
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, tt := range map[string]struct {
		text string
		want []string
		place
	}{
		"one":               {"data: {}\n\n", []string{"={}"}, place{}},
		"named":             {"event: message\ndata:{}\n\n", []string{"message={}"}, place{}},
		"no space, two":     {"data:a\n\ndata:  b\n\n", []string{"=a", "= b"}, place{}},
		"many lines":        {"data: {\ndata: \"a\":\ndata:\ndata: 1}\n\n", []string{"={\n\"a\":\n\n1}"}, place{}},
		"CRLF":              {"event: endpoint\r\ndata: /x\r\n\r\ndata: y\r\n\r\n", []string{"endpoint=/x", "=y"}, place{}},
		"CR":                {"data: a\rdata: b\r\rdata: c\r\r", []string{"=a\nb", "=c"}, place{}},
		"mixed ends":        {"data: a\r\ndata: b\n\rdata: c\r\n\n", []string{"=a\nb", "=c"}, place{}},
		"comments":          {": keep-alive\n\n:\n\ndata: a\n: in between\n\n", []string{"=a"}, place{}},
		"byte order mark":   {"\uFEFFdata: a\n\n", []string{"=a"}, place{}},
		"unknown field":     {"data: a\nwhat: b\nnothing\n\n", []string{"=a"}, place{}},
		"priming":           {"id: 7\nretry: 1500\ndata: \n\n", nil, place{"7", 1500 * time.Millisecond}},
		"id without data":   {"id: 7\n\ndata: a\n\n", []string{"=a"}, place{id: "7"}},
		"id stays":          {"id: 7\ndata: a\n\ndata: b\n\n", []string{"=a", "=b"}, place{id: "7"}},
		"id is taken back":  {"id: 7\ndata: a\n\nid\ndata: b\n\n", []string{"=a", "=b"}, place{}},
		"id with NUL":       {"id: 7\n\nid: a\x00b\ndata: a\n\n", []string{"=a"}, place{id: "7"}},
		"id for no header":  {"id: 7\n\nid: a\x01b\ndata: a\n\n", []string{"=a"}, place{}},
		"id too long":       {"id: " + long + "\ndata: a\n\n", []string{"=a"}, place{}},
		"retry no number":   {"retry: 1s\nretry: -1\nretry: 99999999999999999999\n\n", nil, place{}},
		"cut in event":      {"id: 1\ndata: a\n\nid: 2\ndata: b\n", []string{"=a"}, place{id: "1"}},
		"cut in line":       {"data: a\n\ndata: b", []string{"=a"}, place{}},
		"longer than a buf": {"data: " + long + "\ndata: " + long + "\n\n", []string{"=" + long + "\n" + long}, place{}},
	} {
		for how, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				got, p, err := readEvents(reader(strings.NewReader(tt.text)), 100_000)
				if !errors.Is(err, io.EOF) {
					t.Errorf("got the error %v", err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if p != tt.place {
					t.Errorf("came to %+v, want %+v", p, tt.place)
				}
			})
		}
	}
}

// endless gives a text again and again.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

func TestEventsTooLarge(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"a line":         io.MultiReader(strings.NewReader("data: "), endless("xxxxxxxx")),
		"many lines":     endless("data: x\n"),
		"empty lines":    endless("data:\n"),
		"a comment":      io.MultiReader(strings.NewReader(":"), endless("xxxxxxxx")),
		"one byte":       strings.NewReader("data: " + strings.Repeat("x", 1001) + "\n\n"),
		"in two lines":   strings.NewReader("data: " + strings.Repeat("x", 500) + "\ndata: " + strings.Repeat("x", 520) + "\n\n"),
		"after a proper": io.MultiReader(strings.NewReader("data: x\n\ndata: "), endless("xxxxxxxx")),
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := readEvents(r, 1000)
			if !errors.Is(err, errMessageSize) || len(got) > 1 {
				t.Errorf("got %d events and %v", len(got), err)
			}
		})
	}
	if got, _, err := readEvents(strings.NewReader("data: "+strings.Repeat("x", 1000)+"\n\n"), 1000); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("an event of the largest size: %d, %v", len(got), err)
	}
}
