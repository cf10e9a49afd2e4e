package testfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// endings are those of agent files; a test file has .test before one of them.
var endings = []string{".yaml", ".yml", ".json"}

// Find gives the test files that paths mean: a test file itself, that beside an
// agent file, or all that a folder holds, not those in folders below it. Each comes
// once. The error joins what is not there or cannot be read.
func Find(paths []string) ([]string, error) {
	var found []string
	var errs []error
	seen := map[string]bool{}
	for _, path := range paths {
		files, err := find(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			abs, err := filepath.Abs(file)
			if err != nil {
				errs = append(errs, err)
			}
			if !seen[abs] {
				found = append(found, file)
			}
			seen[abs] = true
		}
	}
	return found, errors.Join(errs...)
}

func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", path, reason(err))
	case info.IsDir():
		return inFolder(path)
	case isTest(path):
		return []string{path}, nil
	}
	name := strings.TrimSuffix(path, filepath.Ext(path)) + ".test"
	if file := beside(name); file != "" {
		return []string{file}, nil
	}
	return nil, fmt.Errorf("%s has no test file: write its cases into %s.yaml", path, name)
}

func inFolder(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", dir, reason(err))
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && isTest(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no test file: their names end in .test.yaml", dir)
	}
	return files, nil
}

func isTest(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	ext := filepath.Ext(name)
	return slices.Contains(endings, ext) && strings.HasSuffix(strings.TrimSuffix(name, ext), ".test")
}

// beside gives the file of a name that lacks its ending, or nothing.
func beside(name string) string {
	for _, ending := range endings {
		if info, err := os.Stat(name + ending); err == nil && info.Mode().IsRegular() {
			return name + ending
		}
	}
	return ""
}

// reason is the error without the path, which messages name themselves.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// LoadAll reads the test files that paths mean; see [Find] and [Load].
func LoadAll(paths []string, model ReadModel) ([]*File, strictyaml.Problems, error) {
	found, err := Find(paths)
	if err != nil {
		return nil, nil, err
	}
	var files []*File
	var problems strictyaml.Problems
	for _, path := range found {
		f, ps, err := Load(path, model)
		if err != nil {
			return nil, nil, err
		}
		problems = append(problems, ps...)
		if f != nil {
			files = append(files, f)
		}
	}
	return files, problems, nil
}

// Load reads one test file. Whoever runs the cases has to see first that the
// problems have no errors. The error means that the file cannot be read at all.
func Load(path string, model ReadModel) (*File, strictyaml.Problems, error) {
	data, err := read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %s: %w", path, reason(err))
	}
	doc, problems := strictyaml.Parse(path, data)
	if doc == nil {
		return nil, problems, nil
	}
	f := &File{Path: path}
	problems = append(problems, newDecoder().Decode(doc, f)...)
	l := &loader{doc: doc, file: f}
	if err := l.readJudge(model); err != nil {
		return nil, nil, err
	}
	l.resolve()
	l.checkNames()
	l.checkJudge()
	return f, append(problems, l.found...).Sort(), nil
}

// read takes one byte more than a file may have, so that a longer one is found
// out.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
}

// loader checks what the decoder cannot see.
type loader struct {
	doc   *strictyaml.Document
	file  *File
	found strictyaml.Problems
}

func (l *loader) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	line, column := l.doc.Position(p)
	l.found = append(l.found, strictyaml.Problem{Severity: strictyaml.Error, File: l.doc.File, Line: line, Column: column,
		Path: p.String(), Message: fmt.Sprintf(format, args...), Hint: hint})
}

// at is the path of a key at the top.
func at(key string) *strictyaml.Path { return (*strictyaml.Path)(nil).Key(key) }

// resolve gives paths their defaults and puts them below the file's folder.
func (l *loader) resolve() {
	f := l.file
	name := strings.TrimSuffix(f.Path, filepath.Ext(f.Path))
	name = name[:len(name)-len(filepath.Ext(name))] // .test, in any case of letters
	f.Recording = cmp.Or(l.below(f.Recording), name+".recording.json")
	if f.Agent != "" {
		f.Agent = l.below(f.Agent)
		if info, err := os.Stat(f.Agent); err != nil || !info.Mode().IsRegular() {
			l.errorf(at("agent"), "", "there is no file %s", f.Agent)
		}
	} else if f.Agent = beside(name); f.Agent == "" {
		l.errorf(nil, "name the agent's file: agent: FILE", "there is no agent file %s.yaml", name)
	}
}

// below puts a path below the file's folder; an empty one stays.
func (l *loader) below(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.file.Path), filepath.FromSlash(path))
}

// checkNames sees that each case has a name of its own.
func (l *loader) checkNames() {
	if n := l.doc.Find(at("cases")); n != nil && n.Kind == strictyaml.List && len(n.Items) == 0 {
		l.errorf(at("cases"), "", "there is no case")
	}
	lines := map[string]int{}
	for i := range l.file.Cases {
		c := &l.file.Cases[i]
		if c.Name == "" {
			continue // reported
		}
		if line, taken := lines[c.Name]; taken {
			l.errorf(at("cases").Index(i).Key("name"), "rename one of them", "the case in line %d has this name too", line)
		}
		lines[c.Name] = c.Pos.Line
	}
}

// readJudge reads the judge's model, if there is one.
func (l *loader) readJudge(model ReadModel) (err error) {
	if l.doc.Root.Get("judge").IsNull() {
		return nil
	}
	var problems strictyaml.Problems
	l.file.Judge.Agent, problems, err = model(l.doc, "judge")
	l.found = append(l.found, problems...)
	return err
}

// checkJudge sees that there is a judge where one is asked, and that it can be.
func (l *loader) checkJudge() {
	if judge := l.file.Judge.Agent; judge != nil {
		for _, m := range append([]config.Model{judge.Model}, judge.Model.Fallback...) {
			if m.Provider == config.Host {
				l.errorf(at("judge"), "name another model", "a test has no calling host whose model could judge")
			}
		}
		return
	}
	for i := range l.file.Cases {
		for j, t := range l.file.Cases[i].Turns {
			p := at("cases").Index(i)
			if l.doc.Find(p.Key("turns")) != nil {
				p = p.Key("turns").Index(j)
			}
			if t.Expect != nil && t.Expect.Judge != nil {
				l.errorf(p.Key("expect").Key("judge"), "add judge: MODEL at the top of the file", "there is no judge")
			}
		}
	}
}
