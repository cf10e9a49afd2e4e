package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// recording is a file.
type recording struct {
	Version   int        `json:"version"`
	Exchanges []*written `json:"exchanges"`
}

// written is an exchange as the file has it.
type written struct {
	Number  int            `json:"number"` // its place, counted from 1
	Agent   string         `json:"agent"`
	Request writtenRequest `json:"request"`
	outcome
}

// tool is a function that the model may call.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// writtenRequest is a request. With After, the contents go on from the reply of that
// exchange, and each of system, tools, hosted and output_schema that is not there is
// the one of that exchange; without, it is empty.
type writtenRequest struct {
	After        int               `json:"after,omitempty"`
	System       []string          `json:"system,omitzero"` // its lines
	Tools        json.RawMessage   `json:"tools,omitempty"` // a list of tool
	Hosted       []string          `json:"hosted,omitzero"`
	OutputSchema json.RawMessage   `json:"output_schema,omitempty"` // null for none
	Contents     []json.RawMessage `json:"contents,omitempty"`
	Answer       json.RawMessage   `json:"answer,omitempty"` // a model.Answer
}

// model gives the request, its contents only those since After.
func (w *writtenRequest) model() (*model.Request, error) {
	req := &model.Request{System: strings.Join(w.System, "\n"), Hosted: w.Hosted, OutputSchema: w.OutputSchema}
	var list []tool
	if len(w.Tools) > 0 {
		if err := unmarshal(w.Tools, &list); err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
	}
	for _, t := range list {
		d := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Parameters) > 0 {
			d.ParametersJsonSchema = t.Parameters
		}
		req.Tools = append(req.Tools, d)
	}
	for i, raw := range w.Contents {
		c, err := readContent(raw)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		req.Contents = append(req.Contents, c)
	}
	if len(w.Answer) > 0 {
		if err := unmarshal(w.Answer, &req.Answer); err != nil {
			return nil, fmt.Errorf("answer: %w", err)
		}
	}
	return req, nil
}

// outcome is what came of a request: pieces, then a reply or an error.
type outcome struct {
	Pieces []piece  `json:"pieces,omitempty"`
	Reply  *reply   `json:"reply,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

// piece is something that came before the end, one of the two.
type piece struct {
	Notice  *string         `json:"notice,omitempty"`
	Partial json.RawMessage `json:"partial,omitempty"` // the content of a partial reply
}

// reply is a final one.
type reply struct {
	Content      json.RawMessage   `json:"content,omitempty"`
	FinishReason string            `json:"finish_reason,omitempty"`
	Model        string            `json:"model,omitempty"`
	Usage        *model.Usage      `json:"usage,omitempty"`
	Opaque       json.RawMessage   `json:"opaque,omitempty"`
	Problem      *failure          `json:"problem,omitempty"`
	Suspend      *model.Suspension `json:"suspend,omitempty"`
}

// failure is a [model.Error], or an error that has nothing but a text.
type failure struct {
	Code    model.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Status  int        `json:"status,omitempty"`
	Text    string     `json:"text,omitempty"`
}

// newFailure is the recorded form of an error, its cause within its message.
func newFailure(err error, redact func(string) string) *failure {
	var e *model.Error
	if errors.As(err, &e) && e.Code != "" {
		return &failure{Code: e.Code, Message: redact(e.Error()), Reason: redact(e.Reason), Status: e.Status}
	}
	return &failure{Text: redact(err.Error())}
}

func (f *failure) model() *model.Error {
	return &model.Error{Code: f.Code, Message: f.Message, Reason: f.Reason, Status: f.Status}
}

// check says why an outcome cannot be played.
func (o *outcome) check() error {
	for i, p := range o.Pieces {
		if (p.Notice == nil) == (p.Partial == nil) {
			return fmt.Errorf("piece %d: needs one of notice and partial", i+1)
		}
		if p.Partial != nil {
			if _, err := readContent(p.Partial); err != nil {
				return fmt.Errorf("piece %d: %w", i+1, err)
			}
		}
	}
	switch {
	case (o.Reply == nil) == (o.Error == nil):
		return errors.New("needs one of reply and error")
	case o.Error != nil && o.Error.Code != "" && o.Error.Text != "":
		return errors.New("error: has one of code and text")
	case o.Reply != nil && o.Reply.Problem != nil && o.Reply.Problem.Code == "":
		return errors.New("reply: problem: needs a code")
	case o.Reply != nil:
		if _, err := o.Reply.model(&namer{}); err != nil {
			return fmt.Errorf("reply: %w", err)
		}
	}
	return nil
}

// marshal is json.Marshal without its escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// unmarshal reads one JSON value. Numbers without a type keep every digit, and a
// field that v has no place for is an error.
func unmarshal(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return explained(err, data)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the end of the JSON")
	}
	return nil
}

// explained says of an error in data where it is, in words that are not Go's.
func explained(err error, data []byte) error {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: cannot be a JSON %s", cmp.Or(kind.Field, "the value"), kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	}
	return err
}

// write puts data in the place of file, all of it or nothing. The mode of a file that
// is there stays.
func write(file string, data []byte) (err error) {
	file = behind(file)
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	if info, there := os.Stat(file); there == nil && err == nil {
		err = temp.Chmod(info.Mode().Perm())
	}
	if err = cmp.Or(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// CanRecord says why a recording cannot be written as file: there is no such folder,
// nothing can be written into it, or something else than a recording has the name.
func CanRecord(file string) error {
	file = behind(file)
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", dir)
	}
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", file)
	case info.Size() > 0 && !isRecording(file):
		return fmt.Errorf("%s is there and is no recording; name another file or remove it", file)
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("nothing can be written into the folder %s: %w", dir, errors.Unwrap(err))
	}
	return errors.Join(temp.Close(), os.Remove(temp.Name()))
}

// behind is the file that a symbolic link leads to, which stays one.
func behind(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	return file
}

func isRecording(file string) bool {
	_, err := Load(file, Options{Redact: unchanged})
	return err == nil
}

// encode gives the bytes of a recording.
func encode(exchanges []*written) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(recording{Version: version, Exchanges: exchanges})
	return b.Bytes(), err
}

// errTooLarge is what [Load] would say of the file.
var errTooLarge = fmt.Errorf("the recording would be larger than %d MiB; record fewer conversations at a time", maxSize>>20)

// read gives the bytes of a recording.
func read(file string) (data []byte, err error) {
	info, err := os.Stat(file) // opening a pipe would wait for whoever writes to it
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", file)
	case info.Size() > maxSize:
		return nil, tooLarge(file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize { // it has grown since
		err = tooLarge(file)
	}
	return data, err
}

func tooLarge(file string) error {
	return fmt.Errorf("%s: a recording has at most %d MiB", file, maxSize>>20)
}
