package show

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
)

// maxStem bounds what of a name goes into that of a file.
const maxStem = 60

// Data writes data of the answer into a file of Dir and notes what there was and
// where it is now. The file is named after name, with the next number that is
// free; kind is what people call the data.
func (p *Printer) Data(kind, name, mimeType string, data []byte) {
	what := fmt.Sprintf("[%s %s, %d bytes]", kind, mimeType, len(data))
	if p.Dir == "" {
		p.Note(what + " keep it with --save DIR")
		return
	}
	file, err := p.save(stem(name), extension(mimeType), data)
	if err != nil {
		p.Problem(err)
		return
	}
	p.Note(what + " saved as " + file)
}

func (p *Printer) save(stem, ending string, data []byte) (file string, err error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil { //nolint:gosec // a folder that the person named
		return "", err
	}
	f, err := p.create(stem, ending)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

// create makes a file with the next number that is free. Files of earlier calls
// stay as they are.
func (p *Printer) create(stem, ending string) (*os.File, error) {
	for {
		p.files++
		path := filepath.Join(p.Dir, fmt.Sprintf("%s-%d%s", stem, p.files, ending))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // the person's own file
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// stem makes the first part of a file name of a name that a server gave. It
// never leads out of the folder and means nothing to a shell or a system.
func stem(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		name = name[:i] // the type gives the ending
	}
	var b strings.Builder
	for _, r := range name {
		if b.Len() == maxStem {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	if s := strings.TrimRight(b.String(), "-"); s != "" {
		return s
	}
	return "resource"
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
	case "markdown":
		return ".md"
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
