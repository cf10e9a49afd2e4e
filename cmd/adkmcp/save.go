package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// saver writes the data of an answer into a folder, if there is one.
type saver struct {
	dir string
	n   int
}

// encoded takes data as MCP carries it.
func (s *saver) encoded(kind, mimeType, data string) (note string, err error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", fmt.Errorf("the server sent %s data that is not base64: %w", kind, err)
	}
	return s.save(kind, mimeType, raw)
}

// save gives a line that says what there was and where it is now.
func (s *saver) save(kind, mimeType string, data []byte) (note string, err error) {
	what := fmt.Sprintf("[%s %s, %d bytes]", kind, mimeType, len(data))
	if s.dir == "" {
		return what + " keep it with --save DIR", nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil { //nolint:gosec // a folder that the person named
		return "", err
	}
	f, err := s.create(kind, extension(mimeType))
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return what + " saved as " + f.Name(), nil
}

// create makes a file with the next number that is free. Files of earlier calls
// stay as they are.
func (s *saver) create(kind, ending string) (*os.File, error) {
	for {
		s.n++
		path := filepath.Join(s.dir, fmt.Sprintf("%s-%d%s", kind, s.n, ending))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // the person's own file
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// printer prints a result. What it cannot show it notes, and goes on.
type printer struct {
	out, notes io.Writer
	raw        bool // no terminal: out gets the bytes as they came
	style      style
	saver      saver
	failed     bool
}

func (p *printer) text(text string) error {
	if !p.raw {
		text = plain(text)
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

func (p *printer) note(text string) { fmt.Fprintln(p.notes, p.style.dim(plain(text))) }

func (p *printer) problem(err error) {
	p.failed = true
	fmt.Fprintln(p.notes, p.style.red(plain(err.Error())))
}

// control is what a terminal would act on: control sequences, the strings that go
// with some of them (ECMA-48), and the control characters but newline and tab.
var control = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` +
		`|(?:\x1b[PX\]^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x00-\x1f\x7f-\x{9f}]*(?:\x07|\x1b\\|\x{9c})` +
		`|\x1b[ -/]*[0-~]?` +
		`|[\x00-\x08\x0b-\x1f\x7f-\x{9f}]`)
})

// plain is text that a terminal only shows, however a server has written it.
func plain(text string) string { return control().ReplaceAllString(text, "") }

// extension is a usual file name ending for a MIME type. The subtype itself
// serves where the system's table, which differs between machines, would give
// an odd one.
func extension(mimeType string) string {
	t, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ".bin"
	}
	_, sub, _ := strings.Cut(t, "/")
	switch sub {
	case "jpeg":
		return ".jpg"
	case "mpeg":
		return ".mp3"
	case "plain":
		return ".txt"
	case "svg+xml":
		return ".svg"
	case "", "octet-stream":
		return ".bin"
	}
	for _, r := range sub {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return ".bin"
		}
	}
	return "." + sub
}
