package scripted

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// maxFileBytes bounds the files of one step together.
const maxFileBytes = 8 << 20

// readFiles gives the files of a step as parts, in order. They are read each
// time that the step plays.
func readFiles(paths []string) ([]*genai.Part, error) {
	parts := make([]*genai.Part, 0, len(paths))
	left := int64(maxFileBytes)
	for _, path := range paths {
		data, err := readFile(path, left)
		if err != nil {
			return nil, &model.Error{Code: model.Misconfigured, Message: "the file " + filepath.Base(path) + " of the model's script", Err: err}
		}
		left -= int64(len(data))
		parts = append(parts, &genai.Part{InlineData: &genai.Blob{
			MIMEType: mediatype.Of(path, data), Data: data, DisplayName: filepath.Base(path),
		}})
	}
	return parts, nil
}

// readFile reads a regular file of at most most bytes. The error leaves out the
// path, which is nothing for the agent's callers.
func readFile(path string, most int64) (data []byte, err error) {
	defer func() {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
	}()
	info, err := os.Stat(path) // opening a pipe would wait for whoever writes to it
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the files of one step may have %d bytes together", maxFileBytes)
	}
	return data, err
}
