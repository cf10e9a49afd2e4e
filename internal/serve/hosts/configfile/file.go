package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// Bounds of a configuration file. Claude Code keeps its state in the same file,
// so that it may be large.
const (
	largest    = 64 << 20 // bytes
	deepest    = 1000     // nesting, and so the stack of the parsers
	mostBackup = 1000
)

// File is a configuration file as it was read.
type File struct {
	Path   string // of the file itself, where the name is a link
	Exists bool
	Text   string
	mode   fs.FileMode
}

// Open reads a file. One that is not there is empty.
func Open(path string) (*File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &File{Path: path}, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is a link to a file that is not there; make that file or remove the link", path)
		} else if err != nil {
			return nil, err
		}
		return Open(real)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f := &File{Path: path, Exists: true, mode: info.Mode().Perm()}
	data, err := read(path)
	f.Text = string(data)
	switch {
	case err != nil:
		return nil, err
	case len(data) > largest:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, largest>>20)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not UTF-8 text", path)
	case tooDeep(data):
		return nil, fmt.Errorf("%s nests values more than %d deep", path, deepest)
	}
	return f, nil
}

func read(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, largest+1))
}

// tooDeep counts brackets outside strings. Those in comments count too, which
// only makes the bound a little narrower.
func tooDeep(text []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
			inString = c != '\n' // no string of JSON goes on over a line
		case c == '{', c == '[':
			if depth++; depth > deepest {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// Write puts a new text in place of the file and gives the name of the backup,
// if there was something to keep. Readers see the old file or the new one. It
// refuses if somebody else has changed the file since it was read.
func (f *File) Write(text string, fresh fs.FileMode) (backup string, err error) {
	mode := f.mode
	if !f.Exists {
		mode = fresh
	}
	temp, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".*")
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(text)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		backup, err = f.keep()
	}
	if err == nil {
		err = f.unchanged()
	}
	if err == nil {
		err = os.Rename(temp.Name(), f.Path)
	}
	if err == nil {
		return backup, nil
	}
	err = errors.Join(err, os.Remove(temp.Name()))
	if backup != "" {
		err = errors.Join(err, os.Remove(backup))
	}
	return "", err
}

// unchanged sees that the file is as it was read.
func (f *File) unchanged() error {
	data, err := read(f.Path)
	switch {
	case !f.Exists && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !f.Exists || string(data) != f.Text:
		return fmt.Errorf("%s was changed by another program meanwhile, so it is left alone; try again", f.Path)
	}
	return nil
}

// keep copies the file to a name that is free.
func (f *File) keep() (string, error) {
	if !f.Exists {
		return "", nil
	}
	name := f.Path + ".bak"
	for i := 1; i <= mostBackup; i++ {
		out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode)
		if errors.Is(err, fs.ErrExist) {
			name = f.Path + ".bak." + strconv.Itoa(i)
			continue
		} else if err != nil {
			return "", err
		}
		_, err = out.WriteString(f.Text)
		return name, errors.Join(err, out.Close())
	}
	return "", fmt.Errorf("there are %d backups of %s; remove some", mostBackup, f.Path)
}
