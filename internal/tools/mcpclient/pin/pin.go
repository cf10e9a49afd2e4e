// Package pin remembers what the tools of a server looked like when somebody
// approved of them, so that a server cannot change a tool unseen: its description
// is read by a model, and its schema says what a model gives it.
//
// Start with [Reader], which is asked while agents run; [Write] approves.
package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// version is that of the file's form.
const version = 1

// maxFile bounds a pin file, in bytes.
const maxFile = 4 << 20

// file is a pin file: server to tool to hash. Several servers may share one.
type file struct {
	Version int                 `json:"version"`
	Servers map[string]Approved `json:"servers"`
}

// Approved are the hashes of one server's tools, by their name there.
type Approved map[string]string

// Has reports whether a tool is just as it was when it was approved, and whether
// one of its name ever was.
func (a Approved) Has(t *protocol.Tool) (same, known bool) {
	want, known := a[t.Name]
	sum, err := Sum(t)
	return known && err == nil && sum == want, known
}

// Sum is the hash of everything of a tool that a model reads or that decides how
// it is treated. The order of keys does not matter.
func Sum(t *protocol.Tool) (string, error) {
	text, err := json.Marshal(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description, "annotations": t.Annotations,
		"inputSchema": generic(t.InputSchema), "outputSchema": generic(t.OutputSchema),
	})
	if err != nil {
		return "", fmt.Errorf("the tool %s cannot be written as JSON: %w", t.Name, err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// generic is a JSON value of which the keys come in order; numbers stay as they
// were written. What is no JSON counts as its text.
func generic(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

// read reads a pin file. Whatever it does not expect is an error: a file that is
// half understood would approve of the wrong things.
func read(path string) (*file, error) {
	data, err := contents(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s is no pin file: %w", path, err)
	}
	switch {
	case d.More():
		return nil, fmt.Errorf("%s is no pin file: something stands behind it", path)
	case f.Version != version:
		return nil, fmt.Errorf("%s is a pin file of version %d; this program knows version %d", path, f.Version, version)
	}
	return &f, nil
}

// contents reads a file of a bounded size. It opens nothing else: a pipe may never
// say anything, and a device never end.
func contents(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, err
}

// Reader gives what a file approves of, and notices when the file has changed. It
// is safe for concurrent use.
type Reader struct {
	path, server string

	mu       sync.Mutex
	info     fs.FileInfo // of the file that was read; nil before
	approved *Approved
	err      error
}

// NewReader reads nothing yet.
func NewReader(path, server string) *Reader { return &Reader{path: path, server: server} }

// Approved gives the hashes. The same pointer says the same. An error means that
// nothing is approved, and why.
func (r *Reader) Approved() (*Approved, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.path)
	if err != nil {
		r.info = nil
		return nil, fmt.Errorf("the pin file cannot be read: %w", err)
	}
	if r.info != nil && os.SameFile(r.info, info) && r.info.ModTime().Equal(info.ModTime()) && r.info.Size() == info.Size() {
		return r.approved, r.err
	}
	r.info = info
	r.approved, r.err = r.read()
	return r.approved, r.err
}

func (r *Reader) read() (*Approved, error) {
	f, err := read(r.path)
	if err != nil {
		return nil, fmt.Errorf("the pin file cannot be used: %w", err)
	}
	approved, ok := f.Servers[r.server]
	if !ok {
		return nil, fmt.Errorf("the pin file %s holds nothing of the server %s", r.path, r.server)
	}
	return &approved, nil
}

// Write approves of a server's tools as they are now, all of them, and leaves other
// servers in the file alone. The changes are lines for a person, none if the file
// said the same before. The file is replaced at once or not at all, and only its
// owner may read it. With look it stays as it is.
func Write(path, server string, tools []protocol.Tool, look bool) (changes []string, err error) {
	f, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f = &file{Version: version}
	case err != nil:
		return nil, fmt.Errorf("mend or remove the old pin file first: %w", err)
	}
	now := Approved{}
	for i := range tools {
		if now[tools[i].Name], err = Sum(&tools[i]); err != nil {
			return nil, err
		}
	}
	before, known := f.Servers[server]
	changes = differences(before, now)
	if look || known && len(changes) == 0 {
		return changes, nil
	}
	if f.Servers == nil {
		f.Servers = map[string]Approved{}
	}
	f.Servers[server] = now
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the pin file: %w", err)
	}
	return changes, replace(path, append(text, '\n'))
}

// differences says what has changed, sorted by tool.
func differences(before, now Approved) []string {
	names := maps.Clone(now)
	maps.Copy(names, before)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, old := before[name]
		is, still := now[name]
		switch {
		case !old:
			lines = append(lines, "added "+name)
		case !still:
			lines = append(lines, "removed "+name)
		case was != is:
			lines = append(lines, "changed "+name)
		}
	}
	return lines
}

// replace puts a file in the place of another in one step. A symbolic link stays, and
// what it leads to is replaced.
func replace(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".adkmcp-pin-*") // mode 0600
	if err != nil {
		return fmt.Errorf("the pin file cannot be written: %w", err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the pin file cannot be written: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}
