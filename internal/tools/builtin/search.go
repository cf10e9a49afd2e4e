package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// Bounds of files_search.
const (
	maxMatches   = 200
	maxLineBytes = 300 // of a line that is shown
)

type searchArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

func (f *folder) search(ctx context.Context, args *searchArgs) (*agent.Result, error) {
	root, start, err := f.open(args.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not an RE2 expression: %w", err)
	}
	glob, err := newGlob(args.Glob)
	if err != nil {
		return nil, err
	}

	s := search{root: root, re: re, out: lines{budget: f.budget, most: maxMatches}}
	info, err := root.Stat(start)
	switch {
	case err != nil:
		return nil, problem(root, start, err)
	case !info.IsDir():
		if err := refuseSecrets(root, start); err != nil {
			return nil, err
		}
		s.file(ctx, start)
	default:
		w := walk{root: root, visit: func(name string, e fs.DirEntry) bool {
			if e.Type().IsRegular() && glob.matches(start, name) {
				s.file(ctx, name)
			}
			return !s.out.full
		}}
		if _, err := w.in(ctx, start, maxDepth); err != nil && ctx.Err() == nil {
			return nil, problem(root, start, err)
		}
		s.partial = w.partial
	}
	return s.result(), ctx.Err()
}

// search is one files_search.
type search struct {
	root     *os.Root
	re       *regexp.Regexp
	out      lines
	searched int  // files
	left     int  // files that are too large or may not be read
	partial  bool // not every file was visited
}

// file looks through one file; one that cannot be read is counted.
func (s *search) file(ctx context.Context, name string) {
	file, info, err := openFile(s.root, name)
	if err != nil {
		s.left++
		return
	}
	defer file.Close()
	head, binary, err := sniff(file)
	switch {
	case err != nil, binary == "" && info.Size() > maxFileBytes:
		s.left++
		return
	case binary != "":
		return
	}
	// The file may have grown since it was looked at.
	text, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), file), maxFileBytes))
	if err != nil {
		s.left++
		return
	}
	s.searched++
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if ctx.Err() != nil {
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		if at := s.re.FindIndex(line); at != nil && !s.out.add(fmt.Sprintf("%s:%d: %s", name, n, excerpt(line, at[0]))) {
			return
		}
	}
}

// excerpt gives the part of a long line that begins a little before the match.
func excerpt(line []byte, match int) string {
	from, to := 0, len(line)
	if len(line) > maxLineBytes {
		from = max(0, min(match-maxLineBytes/3, len(line)-maxLineBytes))
		to = from + maxLineBytes
	}
	for from > 0 && from < len(line) && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := string(line[from:to])
	if from > 0 {
		text = "..." + text
	}
	if to < len(line) {
		text += "..."
	}
	return text
}

func (s *search) result() *agent.Result {
	if s.out.count == 0 && !s.out.full {
		fmt.Fprintf(&s.out.b, "no line matches in %s\n", files(s.searched))
	}
	if s.out.full {
		s.out.note("there is more: narrow the pattern, the path or the glob")
	}
	if s.partial {
		s.out.note("not every file was searched: too many, or a folder that may not be read; name a folder")
	}
	if s.left > 0 {
		s.out.note(files(s.left) + " left out: over 8 MiB, or not to be read")
	}
	return agent.Text(strings.TrimSuffix(s.out.String(), "\n"))
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
