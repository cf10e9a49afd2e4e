package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// headBytes is how much of a file decides what it is.
const headBytes = 8192

// images are the types that models look at.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

type readArgs struct {
	Path   string `json:"path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
}

func (f *folder) read(ctx context.Context, args *readArgs) (*agent.Result, error) {
	root, name, err := f.open(args.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, info, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	head, binary, err := sniff(file)
	switch {
	case err != nil:
		return nil, problem(root, name, err)
	case binary != "":
		return readBinary(name, binary, info, io.MultiReader(bytes.NewReader(head), file))
	case len(head) == 0:
		return agent.Text(name + " is empty"), nil
	}
	part := part{first: args.Offset.or(1), budget: f.budget}
	part.end = part.first + args.Limit.or(maxLines)
	if err := part.read(ctx, io.MultiReader(bytes.NewReader(head), file)); err != nil {
		return nil, problem(root, name, err)
	}
	return part.result(name)
}

// sniff reads the beginning of a file and names its type, if it is not text.
func sniff(file *os.File) (head []byte, binary string, err error) {
	head = make([]byte, headBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", err
	}
	head = head[:n]
	kind := http.DetectContentType(head)
	switch {
	case !strings.HasPrefix(kind, "text/"):
		return head, kind, nil
	case bytes.IndexByte(head, 0) >= 0: // UTF-16, or a text that goes on as something else
		return head, "application/octet-stream", nil
	}
	return head, "", nil
}

// readBinary gives an image as such, and of anything else what it is.
func readBinary(name, kind string, info fs.FileInfo, content io.Reader) (*agent.Result, error) {
	about := fmt.Sprintf("%s: %s, %d bytes", name, kind, info.Size())
	switch {
	case !slices.Contains(images, kind):
		return agent.Text(about + ", no text"), nil
	case info.Size() > maxFileBytes:
		return agent.Text(fmt.Sprintf("%s, over the %d MiB that can be looked at", about, maxFileBytes>>20)), nil
	}
	data, err := io.ReadAll(io.LimitReader(content, maxFileBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, reason(err))
	}
	return &agent.Result{Output: about, Media: []*genai.Blob{{MIMEType: kind, Data: data}}}, nil
}

const maxLines = 2000 // of one files_read, unless limit says otherwise

// part is a run of lines out of a text.
type part struct {
	first, end int // lines, counted from 1; end is the one after the last
	budget     int // bytes

	text    strings.Builder
	line    int  // the current one
	last    int  // the last one that has anything
	more    bool // the text goes on at line
	clipped bool // the last line is longer than what was taken of it
}

// read goes through the text as far as it must. Lines before the first and
// those that are too long cost no memory.
func (p *part) read(ctx context.Context, text io.Reader) error {
	r := bufio.NewReaderSize(text, 64<<10)
	for p.line = 1; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := r.ReadSlice('\n')
		whole := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return err
		}
		if len(piece) > 0 {
			p.last = p.line
			if p.line >= p.first && !p.take(piece) {
				return nil
			}
		}
		if whole {
			p.line++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// take adds a piece of the current line. It reports whether to go on reading.
func (p *part) take(piece []byte) bool {
	if p.line >= p.end {
		p.more = true
		return false
	}
	if left := p.budget - p.text.Len(); len(piece) > left {
		p.more = true
		if p.text.Len() == 0 || !strings.HasSuffix(p.text.String(), "\n") {
			// A line that does not fit as a whole: all that can be had of it.
			for left > 0 && !utf8.RuneStart(piece[left]) {
				left--
			}
			p.text.Write(piece[:left])
			p.clipped = true
		}
		return false
	}
	p.text.Write(piece)
	return true
}

// result is the text, and a last line that says how to go on.
func (p *part) result(name string) (*agent.Result, error) {
	text := strings.ToValidUTF8(p.text.String(), "\uFFFD")
	switch {
	case p.clipped:
		return agent.Text(fmt.Sprintf("%s\n[line %d is longer and was cut; the next line is offset %d]", text, p.line, p.line+1)), nil
	case p.more:
		return agent.Text(fmt.Sprintf("%s[lines %d to %d; the file goes on, next offset %d]", text, p.first, p.line-1, p.line)), nil
	case text == "":
		return nil, fmt.Errorf("%s has only %d lines: offset %d is past the end", name, p.last, p.first)
	}
	return agent.Text(text), nil
}
