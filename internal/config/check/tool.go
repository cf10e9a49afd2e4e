package check

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// checkTool checks one entry of tools.
func (f *File) checkTool(t *config.Tool, p *strictyaml.Path) {
	f.checkName(p.Key("name"), t.Name)
	var args []string // that it declares, nil where they are not known
	switch {
	case t.Builtin != nil:
		f.checkBuiltin(t, p)
	case t.Shell != nil:
		as := f.arguments(t, p)
		f.checkShell(t.Shell, p.Key("shell"), as)
		args = as.declared()
	case t.HTTP != nil:
		as := f.arguments(t, p)
		f.checkHTTP(t.HTTP, p.Key("http"), as)
		args = as.declared()
	case t.Ask != nil:
		as := f.arguments(t, p)
		f.checkAsk(t.Ask, p.Key("ask"), as)
		args = as.declared()
	case t.Agent != nil:
		f.checkAgentTool(t.Agent, p.Key("agent"))
		args = ofAgent(t.Agent.Agent)
	}
	f.checkLevers(t, p, args)
}

func (f *File) checkAsk(a *config.Ask, p *strictyaml.Path, as *arguments) {
	as.template(a.Message, p.Key("message"))
	if form := p.Key("form"); f.node(form) != nil {
		f.add(f.schema(a.Form, form).Form())
	}
	as.unused()
}

// checkFolder sees that a folder is there.
func (f *File) checkFolder(path string, p *strictyaml.Path) {
	if f.Unset[p.String()] {
		return
	}
	if info := f.stat(path, "folder", p); info != nil && !info.IsDir() {
		f.errorf(p, "", "%s is not a folder", f.shown(p, path))
	}
}

// checkFile sees that a file is there, and gives its size.
func (f *File) checkFile(path string, p *strictyaml.Path) int64 {
	if f.Unset[p.String()] || !f.ok(p) {
		return 0
	}
	if path == "" {
		f.errorf(p, "name a file", "the path is empty")
		return 0
	}
	info := f.stat(path, "file", p)
	if info == nil {
		return 0
	}
	if !info.Mode().IsRegular() {
		f.errorf(p, "", "%s is not a regular file", f.shown(p, path))
	}
	return info.Size()
}

// stat looks at a path; it gives nil where there is nothing, which it reports.
func (f *File) stat(path, kind string, p *strictyaml.Path) fs.FileInfo {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.errorf(p, f.pathHint(p), "there is no %s %s", kind, f.shown(p, path))
	case err != nil:
		f.errorf(p, "", "the %s cannot be used: %v", kind, Reason(err))
	}
	return info
}

// pathHint explains a path that is not absolute in the file.
func (f *File) pathHint(p *strictyaml.Path) string {
	if n := f.node(p); n != nil && filepath.IsAbs(n.Text) {
		return ""
	}
	return "relative paths begin at the folder of this file"
}

// shown is how a message names a path: what the environment said is not shown.
func (f *File) shown(p *strictyaml.Path, path string) string {
	if n := f.node(p); n != nil && strings.Contains(n.Text, "$") {
		return n.Text
	}
	return path
}

func (f *File) checkShell(s *config.Shell, p *strictyaml.Path, as *arguments) {
	n := f.node(p)
	command := CommandPath(n, p)
	hasCommand, hasScript := n.Kind == strictyaml.List || n.Get("command") != nil, n.Get("script") != nil
	switch {
	case !f.ok(p): // what is missing may be what is wrong
	case hasCommand && hasScript:
		f.errorf(p.Key("script"), "make two tools of it", "script stands beside command")
	case !hasCommand && !hasScript:
		f.errorf(p, "add command: with a list, or script:", "says nothing to run")
	case hasCommand && len(s.Command) == 0:
		f.errorf(command, "name the program", "the command is empty")
	case hasCommand && n.Get("interpreter") != nil:
		f.errorf(p.Key("interpreter"), "remove it", "an interpreter goes with script, not with command")
	case hasScript && (strings.TrimSpace(s.Script) == "" || len(s.Interpreter) == 0):
		f.errorf(p, "", "script and interpreter must not be empty")
	}
	if s.Stdin != nil {
		as.template(*s.Stdin, p.Key("stdin"))
	}
	if codes := p.Key("success_exit_codes"); f.node(codes) != nil && len(s.SuccessExitCodes) == 0 && f.ok(codes) {
		f.errorf(codes, "the default is [0]", "lists no code, so that no run could be a success")
	}
	f.checkFolder(s.Dir, p.Key("dir"))
	f.checkVariables(s, p, as)
	if len(s.Command) > 0 {
		f.checkCommand(s, command, as)
		as.unused()
	}
	for i, element := range s.Interpreter {
		if places := element.Places(); len(places) > 0 && hasScript {
			f.errorf(p.Key("interpreter").Index(i), "the script finds it as the variable $"+places[0], "an interpreter has no places")
		}
	}
	if hasScript && len(s.Interpreter) > 0 {
		f.checkProgram(s, s.Interpreter[0], p.Key("interpreter").Index(0))
	}
}

// checkVariables checks the environment of a program, of which a model must not
// be able to change what the agent file says.
func (f *File) checkVariables(s *config.Shell, p *strictyaml.Path, as *arguments) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		q := p.Key("env").Key(name)
		if !template.IsVariableName(name) {
			f.errorf(q, "", "%q is no name of an environment variable", name)
		}
		t := s.Env[name]
		for i, seg := range t.Segments {
			if as.by[seg.Place] != nil {
				f.errorf(q, "use script, where parameters are variables anyway", "a variable has no places, and {%s} is a parameter", seg.Place)
			}
			if seg.Place != "" {
				t.Segments[i] = template.Segment{Text: "{" + seg.Place + "}"}
			}
		}
	}
	if s.Script == "" {
		return
	}
	for _, name := range as.names {
		q := as.by[name].path
		_, set := s.Env[name]
		switch {
		case !template.IsVariableName(name):
			f.errorf(q, "name it with letters, digits and _", "a script cannot read a variable called %s", name)
		case set || slices.Contains(s.PassEnv, name):
			f.errorf(q, "rename it", "the parameter %s would replace the variable of env or pass_env", name)
		case changesPrograms(name):
			f.errorf(q, "rename it", "a variable called %s changes how programs run", name)
		}
	}
}

// changesPrograms reports whether shells, interpreters or the system's loader
// take a variable for more than data. The shell tools know many more; these are
// the ones that somebody might really think of.
func changesPrograms(name string) bool {
	exact := []string{"PATH", "HOME", "SHELL", "USER", "PWD", "IFS", "ENV", "TMPDIR", "LANG", "TZ", "TERM", "PAGER", "EDITOR", "CDPATH", "SHELLOPTS"}
	prefixes := []string{"LD_", "DYLD_", "BASH_", "PYTHON", "NODE_", "PERL", "RUBY", "GIT_", "LC_"}
	return slices.Contains(exact, strings.ToUpper(name)) && (runtime.GOOS == "windows" || name == strings.ToUpper(name)) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// checkCommand checks the argv form.
func (f *File) checkCommand(s *config.Shell, p *strictyaml.Path, as *arguments) {
	if places := s.Command[0].Places(); len(places) > 0 {
		f.errorf(p.Index(0), "name the program", "a model must not choose what runs, and {%s} is the program", places[0])
	}
	for i, element := range s.Command {
		q := p.Index(i)
		_, only := element.Only()
		for _, name := range element.Places() {
			if a := as.place(name, q); a != nil && a.kind == "array" && !only {
				f.errorf(q, "make {"+name+"} an element of its own; it becomes one argument per item", "the list {%s} stands inside a longer argument", name)
			}
		}
	}
	if i, place := template.CodePlace(s.Command); place != "" {
		f.errorf(p.Index(i), "use script: with an interpreter; the script finds it as the variable $"+place,
			"{%s} stands in code, where a value would be run", place)
	}
	f.checkProgram(s, s.Command[0], p.Index(0))
}

// checkProgram sees that the program of a shell tool is there.
func (f *File) checkProgram(s *config.Shell, program template.Text, p *strictyaml.Path) {
	if len(program.Places()) > 0 {
		return
	}
	path, set := s.Env["PATH"]
	f.CheckExecutable(program.Plain(), path.Plain(), set, p)
}

// CheckExecutable sees that a program is there. One with a folder has to be; a bare
// name is for the PATH of the machine that the agent runs on, unless another list
// of folders is set.
func (f *File) CheckExecutable(name, list string, set bool, p *strictyaml.Path) {
	if f.Unset[p.String()] || !f.ok(p) {
		return
	}
	if name == "" {
		f.errorf(p, "", "the program's name is empty")
		return
	}
	if filepath.IsAbs(name) {
		if _, err := exec.LookPath(name); err != nil {
			why := "there is no program " + f.shown(p, name)
			if !errors.Is(err, fs.ErrNotExist) {
				why = f.shown(p, name) + " cannot be run: " + execReason(err)
			}
			f.errorf(p, f.pathHint(p), "%s", why)
		}
		return
	}
	if !set {
		if list, set = f.Agent.LookupEnv("PATH"); !set && runtime.GOOS != "windows" {
			list = "/usr/local/bin:/usr/bin:/bin"
		}
	}
	if !f.inPath(name, list) {
		f.warnf(p, "install it, or write its path", "the program %s is not in the PATH (%s)", f.shown(p, name), list)
	}
}

func execReason(err error) string {
	var execErr *exec.Error
	if errors.As(err, &execErr) {
		err = execErr.Err
	}
	return Reason(err).Error()
}

// inPath looks for a program in the absolute folders of a PATH, once.
func (f *File) inPath(name, list string) bool {
	key := name + "\x00" + list
	found, known := f.Programs[key]
	if !known {
		found = slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool {
			_, err := exec.LookPath(filepath.Join(dir, name))
			return filepath.IsAbs(dir) && err == nil
		})
		f.Programs[key] = found
	}
	return found
}
