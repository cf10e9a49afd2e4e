package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

const (
	maxHeaders     = 64 << 10 // bytes of what a command or a file gives
	commandTimeout = 30 * time.Second
)

// command gives the headers that a program prints. It runs once at a time.
type command struct {
	from    *config.HeadersFrom
	dir     string
	subject string
	o       Options
	lock    lock
	header  http.Header // as of the last run; nil before
	until   time.Time
}

func newCommand(s *config.MCPServer, o Options) *command {
	return &command{from: s.HeadersFrom, dir: s.Dir, subject: subject(s), o: o, lock: newLock()}
}

func (c *command) headers(ctx context.Context) (http.Header, error) {
	if err := c.lock.enter(ctx); err != nil {
		return nil, err
	}
	defer c.lock.leave()
	if c.header == nil || !c.o.Now().Before(c.until) {
		if err := c.run(ctx); err != nil {
			return nil, err
		}
	}
	return c.header, nil
}

func (c *command) refused(ctx context.Context, res *http.Response) (bool, error) {
	if res.StatusCode != http.StatusUnauthorized {
		return false, nil
	}
	if err := c.lock.enter(ctx); err != nil {
		return false, err
	}
	defer c.lock.leave()
	if c.header != nil && !carried(res, c.header) {
		return true, nil // somebody else has been here meanwhile
	}
	before := c.header
	if err := c.run(ctx); err != nil {
		return false, err
	}
	return !same(before, c.header), nil
}

func same(a, b http.Header) bool { return maps.EqualFunc(a, b, slices.Equal) }

// run runs the program. Its output is in no error.
func (c *command) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	home, err := os.MkdirTemp(c.o.TempDir, "adkmcp-*") // mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	dir := c.dir
	if dir == "" {
		dir = home
	}
	out, err := process.Run(ctx, process.Spec{
		Args: c.from.Command, Dir: dir, Env: process.Environ(c.o.Lookup, home, c.from.PassEnv, nil), MaxOutput: maxHeaders,
	})
	program := c.from.Command[0]
	switch {
	case err != nil:
		return fmt.Errorf("%s: headers_from: %w", c.subject, err)
	case out.Stopped != nil:
		return fmt.Errorf("%s: headers_from: the command %q did not end in time: %w", c.subject, program, out.Stopped)
	case out.Signal != "":
		return fmt.Errorf("%s: headers_from: the command %q was ended by a signal (%s)", c.subject, program, out.Signal)
	case out.ExitCode != 0:
		return fmt.Errorf("%s: headers_from: the command %q failed with exit code %d; run it by hand to see why", c.subject, program, out.ExitCode)
	case out.Stdout.Skipped > 0:
		return fmt.Errorf("%s: headers_from: the command %q printed more than %d bytes", c.subject, program, maxHeaders)
	}
	header, err := parseHeaders(out.Stdout.Head)
	if err != nil {
		return fmt.Errorf("%s: headers_from: the command %q: %w", c.subject, program, err)
	}
	c.header, c.until = header, c.o.Now().Add(c.from.TTL.Std())
	return nil
}

// file gives the headers that stand in a file, and reads it again when it has
// changed.
type file struct {
	path, subject string

	mu     sync.Mutex
	header http.Header // nil before the first reading
	size   int64
	time   time.Time
}

func (f *file) headers(context.Context) (http.Header, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(false); err != nil {
		return nil, err
	}
	return f.header, nil
}

func (f *file) refused(_ context.Context, res *http.Response) (bool, error) {
	if res.StatusCode != http.StatusUnauthorized {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(true); err != nil { // it may have changed within one tick of its clock
		return false, err
	}
	return !carried(res, f.header), nil
}

// read reads the file if it is not the one that was read before, or always.
func (f *file) read(always bool) error {
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: headers_from: %w", f.subject, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: headers_from: %s is not a regular file", f.subject, f.path)
	case !always && f.header != nil && info.Size() == f.size && info.ModTime().Equal(f.time):
		return nil
	}
	r, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("%s: headers_from: %w", f.subject, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxHeaders+1))
	if err == nil && len(data) > maxHeaders {
		err = fmt.Errorf("it has more than %d bytes", maxHeaders)
	}
	var header http.Header
	if err == nil {
		header, err = parseHeaders(data)
	}
	if err != nil {
		return fmt.Errorf("%s: headers_from: %s: %w", f.subject, f.path, err)
	}
	f.header, f.size, f.time = header, info.Size(), info.ModTime()
	return nil
}

// parseHeaders reads a JSON object of texts, or lines of NAME: VALUE. Errors hold
// nothing of it.
func parseHeaders(data []byte) (http.Header, error) {
	data = bytes.TrimSpace(data)
	h := http.Header{}
	if bytes.HasPrefix(data, []byte("{")) {
		var values map[string]string
		if err := json.Unmarshal(data, &values); err != nil {
			return nil, errors.New("headers as JSON must be an object with texts")
		}
		for name, value := range values {
			if !validHeader(name, value) {
				return nil, errors.New("a name or value in the JSON cannot stand in a header")
			}
			h.Add(name, value)
		}
		return h, nil
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		name, value, ok := strings.Cut(text, ":")
		if value = strings.TrimSpace(value); !ok || !validHeader(name, value) {
			return nil, fmt.Errorf("line %d is not NAME: VALUE", n)
		}
		h.Add(name, value)
	}
	if len(h) == 0 {
		return nil, errors.New("there are no headers")
	}
	return h, nil
}

func validHeader(name, value string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value)
}
