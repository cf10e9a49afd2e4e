package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
)

const maxListed = 1000 // lines of files_list

type listArgs struct {
	Path  string `json:"path"`
	Glob  string `json:"glob"`
	Depth number `json:"depth"`
}

func (f *folder) list(ctx context.Context, args *listArgs) (*agent.Result, error) {
	root, dir, err := f.open(args.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	glob, err := newGlob(args.Glob)
	if err != nil {
		return nil, err
	}
	depth := args.Depth.or(1)
	if args.Glob != "" {
		depth = args.Depth.or(maxDepth)
	}

	out := lines{budget: f.budget, most: maxListed}
	w := walk{root: root, visit: func(name string, e fs.DirEntry) bool {
		return !glob.matches(dir, name) || out.add(listed(root, name, e))
	}}
	if _, err := w.in(ctx, dir, depth); err != nil {
		if ctx.Err() != nil {
			return agent.Text(out.String()), ctx.Err()
		}
		return nil, problem(root, dir, err)
	}
	switch {
	case out.full:
		out.note("there is more: name a folder or a narrower glob")
	case w.partial:
		out.note("not everything was looked at: too many files, or a folder that may not be read; name a folder")
	case out.count == 0 && args.Glob != "":
		return agent.Text(fmt.Sprintf("nothing in %s matches %s", here(dir), args.Glob)), nil
	case out.count == 0:
		return agent.Text(here(dir) + " is empty"), nil
	}
	return agent.Text(out.String()), nil
}

// listed gives the line of one entry.
func listed(root *os.Root, name string, e fs.DirEntry) string {
	line := strings.TrimSuffix(name, e.Name()) + label(e)
	if !e.Type().IsRegular() {
		return line
	}
	info, err := root.Lstat(name)
	if err != nil { // it has gone since, or its folder may not be searched
		return line
	}
	return fmt.Sprintf("%s %d bytes", line, info.Size())
}

// lines collects the lines of a result within bounds.
type lines struct {
	budget int // bytes
	most   int // lines
	b      strings.Builder
	count  int
	full   bool
}

// add reports whether there was room for the line.
func (l *lines) add(line string) bool {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if l.count >= l.most || l.b.Len()+len(line)+1 > l.budget {
		l.full = true
		return false
	}
	l.count++
	l.b.WriteString(line + "\n")
	return true
}

// note adds a line that is not one of the lines.
func (l *lines) note(text string) { l.b.WriteString("[" + text + "]\n") }

func (l *lines) String() string { return l.b.String() }
