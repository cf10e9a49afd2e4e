package process

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCapture(t *testing.T) {
	var input []byte
	for i := range 20_000 {
		input = append(input, byte(i%251))
	}
	for _, size := range []int{0, 1, 5, 6, 7, 8, 9, 10, 11, 14, 4095, 4096, 4097, 10_000, 20_000} {
		for _, max := range []int{1, 2, 7, 8, 4096, 5000, 10_000, 30_000} {
			for name, reader := range map[string]func(io.Reader) io.Reader{
				"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "data with error": iotest.DataErrReader,
			} {
				c := newCapture(max)
				if n, err := c.ReadFrom(reader(bytes.NewReader(input[:size]))); err != nil || n != int64(size) {
					t.Fatalf("read %d, %v", n, err)
				}
				s := c.stream()
				want := Stream{Head: input[:size]}
				if size > max {
					want = Stream{Head: input[:max/2], Skipped: int64(size - max), Tail: input[size-(max-max/2) : size]}
				}
				if !bytes.Equal(s.Head, want.Head) || s.Skipped != want.Skipped || !bytes.Equal(s.Tail, want.Tail) || s.Size() != int64(size) {
					t.Errorf("%d bytes into %d (%s): got %d, %d, %d", size, max, name, len(s.Head), s.Skipped, len(s.Tail))
				}
				if len(c.buf) > max {
					t.Errorf("the buffer has %d of %d bytes", len(c.buf), max)
				}
			}
		}
	}
}

func TestEnviron(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows needs more variables than these")
	}
	ours := map[string]string{"PATH": "/p", "LANG": "de_DE.UTF-8", "TZ": "UTC", "HOME": "/root", "KEY": "k", "SECRET": "s"}
	lookup := func(name string) (string, bool) { v, ok := ours[name]; return v, ok }
	cases := []struct {
		name string
		pass []string
		env  map[string]string
		want string
	}{
		{"minimal", nil, nil, "HOME=/h LANG=de_DE.UTF-8 PATH=/p TZ=UTC"},
		{"passed", []string{"HOME", "KEY", "UNSET"}, nil, "HOME=/root KEY=k LANG=de_DE.UTF-8 PATH=/p TZ=UTC"},
		{"set", []string{"KEY"}, map[string]string{"KEY": "other", "TZ": ""}, "HOME=/h KEY=other LANG=de_DE.UTF-8 PATH=/p TZ="},
	}
	for _, c := range cases {
		if got := strings.Join(Environ(lookup, "/h", c.pass, c.env), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	none := func(string) (string, bool) { return "", false }
	if got := fmt.Sprint(Environ(none, "/h", nil, nil)); got != "[HOME=/h LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin]" {
		t.Errorf("from nothing: %s", got)
	}
}
