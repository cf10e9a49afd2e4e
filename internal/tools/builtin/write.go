package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/adkmcp/adkmcp/internal/agent"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Mode    string `json:"mode"`
}

func (f *folder) write(ctx context.Context, args *writeArgs) (*agent.Result, error) {
	root, name, err := f.open(args.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Calls of one step run at the same time: two that append to one file must
	// not both start from the same contents.
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	if err := errors.Join(refuseSecrets(root, name), refuseGit(root, name)); err != nil {
		return nil, err
	}
	perm, existed, err := target(root, name)
	if err != nil {
		return nil, err
	}
	content := []byte(args.Content)
	if existed && args.Mode == "append" {
		if content, err = appended(root, name, content); err != nil {
			return nil, err
		}
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%s would have %d bytes, more than the %d that a file may have", name, len(content), maxFileBytes)
	}
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return nil, fmt.Errorf("the folder for %s cannot be made: %w", name, reason(err))
	}
	if err := replace(root, name, content, perm); err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", name, reason(err))
	}
	done := "created"
	if existed {
		done = "overwritten"
		if args.Mode == "append" {
			done = "appended to"
		}
	}
	return agent.Text(fmt.Sprintf("%s %s, now %d bytes", name, done, len(content))), nil
}

// target looks at what is to be written: whether it is there, and with which
// permissions. A link is refused, because writing would replace it.
func target(root *os.Root, name string) (perm fs.FileMode, existed bool, err error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, problem(root, name, err)
	case info.IsDir():
		return 0, false, fmt.Errorf("%s is a folder", name)
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, false, fmt.Errorf("%s is a link: write to the file that it leads to", name)
	case !info.Mode().IsRegular():
		return 0, false, fmt.Errorf("%s is not a file", name)
	case info.Mode().Perm()&0o200 == 0:
		return 0, false, fmt.Errorf("%s is write-protected", name)
	}
	return info.Mode().Perm(), true, nil
}

// appended gives what is in the file followed by content.
func appended(root *os.Root, name string, content []byte) ([]byte, error) {
	file, info, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size()+int64(len(content)) > maxFileBytes {
		return nil, fmt.Errorf("%s would have %d bytes, more than the %d that a file may have", name, info.Size()+int64(len(content)), maxFileBytes)
	}
	old, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return nil, problem(root, name, err)
	}
	return append(old, content...), nil
}

// replace puts a new file in the place of name in one step, so that nobody
// ever sees half of it.
func replace(root *os.Root, name string, content []byte, perm fs.FileMode) error {
	draft := path.Join(path.Dir(name), ".adkmcp-"+rand.Text())
	err := create(root, draft, content, perm)
	if err == nil {
		err = root.Rename(draft, name)
	}
	if err == nil {
		return nil
	}
	if gone := root.Remove(draft); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}

// create writes a file that was not there, through to the disk. A perm of 0
// leaves the permissions to the system.
func create(root *os.Root, name string, content []byte, perm fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil && perm != 0 {
		err = file.Chmod(perm)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
