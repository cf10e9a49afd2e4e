package main

import (
	"encoding/base64"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
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
	s.n++
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%d%s", kind, s.n, extension(mimeType)))
	if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // the person's own file
		return "", err
	}
	return what + " saved as " + path, nil
}

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
