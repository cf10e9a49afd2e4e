package template

import (
	"slices"
	"strings"
)

// reader is a program that takes code from an argument.
type reader struct {
	flags []string // before the code; a single letter may end a cluster, as in -ec
	rest  bool     // everything after the flag is code
	bare  bool     // the first argument that is no option is code, too
	tail  bool     // everything after the first argument that is no option is code
	// values are options that a value follows, which is then not what is
	// read. Readers with neither bare nor tail share valueFlags.
	values []string
	// operands is how many arguments may stand before the flag.
	operands int
}

// many is more arguments than stand before a flag.
const many = 16

var (
	shellReader      = reader{flags: []string{"-c"}}
	evalReader       = reader{flags: []string{"-e", "-E"}}
	nodeReader       = reader{flags: []string{"-e", "-p", "--eval", "--print"}}
	powershellReader = reader{flags: []string{"-c", "-command", "-encodedcommand"}, rest: true}
	awkReader        = reader{flags: []string{"-e", "--source"}, bare: true, values: []string{"-v", "-F", "-i", "-l", "-W", "--assign", "--field-separator", "--include", "--load"}}
	sedReader        = reader{flags: []string{"-e", "--expression"}, bare: true, values: []string{"-l", "--line-length"}}
	joinReader       = reader{bare: true, tail: true} // hands its arguments, joined, to a shell
	sshReader        = reader{flags: []string{"-o"}, tail: true, values: []string{
		"-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-P", "-p", "-Q", "-R", "-S", "-W", "-w",
	}}
	commandReader = reader{flags: []string{"-c", "--command"}, operands: many}
	suReader      = reader{flags: []string{"-c", "--command"}, operands: many, values: []string{"-s", "--shell"}}
	mysqlReader   = reader{flags: []string{"-e", "--execute", "--init-command"}, operands: many}
)

// readers by the programs' names, without folder, version and .exe.
var readers = map[string]reader{
	"sh": shellReader, "bash": shellReader, "dash": shellReader, "ash": shellReader, "zsh": shellReader, "ksh": shellReader, "mksh": shellReader,
	"csh": shellReader, "tcsh": shellReader, "fish": {flags: []string{"-c", "-C", "--command", "--init-command"}}, "su": suReader,
	"python": shellReader, "pypy": shellReader, "perl": evalReader, "ruby": evalReader, "lua": evalReader, "luajit": evalReader, "rscript": evalReader,
	"osascript": evalReader, "groovy": evalReader, "julia": {flags: []string{"-e", "-E", "--eval", "--print"}}, "elixir": {flags: []string{"-e", "--eval"}},
	"php": {flags: []string{"-r", "-B", "-R", "-E"}}, "node": nodeReader, "nodejs": nodeReader, "bun": nodeReader, "deno": {flags: []string{"eval"}},
	"awk": awkReader, "gawk": awkReader, "mawk": awkReader, "nawk": awkReader, "env": {flags: []string{"-S", "--split-string"}},
	"powershell": powershellReader, "pwsh": powershellReader, "cmd": {flags: []string{"/c", "/k", "/r"}, rest: true},
	"sed": sedReader, "gsed": sedReader, "ssh": sshReader, "autossh": sshReader, "watch": joinReader, "parallel": joinReader,
	"script": commandReader, "flock": {flags: []string{"-c", "--command"}, operands: 1},
	"psql": commandReader, "mysql": mysqlReader, "mariadb": mysqlReader, "sqlite": {flags: []string{"-cmd", "--cmd"}, tail: true},
}

// valueFlags are options of readers that a value follows.
var valueFlags = []string{"-o", "+o", "-O", "+O", "-W", "-X", "-I", "-r", "-l", "-d", "-v", "-F", "-u", "--require", "--import", "--rcfile", "--init-file", "-executionpolicy"}

// CodePlace finds a place that stands in code, where a value would be run: in
// what an interpreter such as sh -c or python -c takes as its program. It gives
// the place and the index of its element, or no place. Programs that run another
// one, such as env, xargs and timeout, are seen through: whatever element names
// an interpreter counts.
func CodePlace(command []Text) (index int, place string) {
	var r reader
	code, previous := false, ""
	for i, element := range command {
		text, places := element.literalStart(), element.Places()
		flag := slices.ContainsFunc(r.flags, func(flag string) bool { return endsInFlag(text, flag) })
		glued := slices.ContainsFunc(r.flags, func(flag string) bool { return gluedToFlag(text, flag) })
		operand := !code && !flag && !r.isOption(text) && !r.takesValue(previous) && (text != "" || len(places) > 0)
		next, isReader := readers[programName(text)]
		isReader = isReader && !code && !slices.Contains(r.values, previous) && (!operand || !r.tail)
		if len(places) > 0 && (code || flag || glued || operand && r.bare && !isReader) {
			return i, places[0]
		}
		switch {
		case code && r.rest:
			continue
		case isReader:
			r = next
		case operand && r.tail:
			code, r = true, reader{rest: true}
			continue
		case operand && r.operands > 0:
			r.operands--
		case operand:
			r = reader{} // a script's file, or another program; what follows is its own
		case code:
			r.bare = false // what follows the code is data
		}
		code, previous = flag, text
	}
	return 0, ""
}

// isOption reports whether the program takes an argument that begins with text
// for an option.
func (r *reader) isOption(text string) bool {
	switch {
	case strings.HasPrefix(text, "-"):
		return true
	case strings.HasPrefix(text, "+"):
		return !r.bare
	}
	return strings.HasPrefix(text, "/") && len(r.flags) > 0 && r.flags[0][0] == '/'
}

// takesValue reports whether what follows an option is its value.
func (r *reader) takesValue(option string) bool {
	if slices.Contains(r.values, option) {
		return true
	}
	return !r.bare && !r.tail && slices.ContainsFunc(valueFlags, func(flag string) bool { return strings.EqualFold(flag, option) })
}

// literalStart is the text before the first place.
func (t Text) literalStart() string {
	for i, s := range t.Segments {
		if s.Place != "" {
			return Text{t.Segments[:i]}.Plain()
		}
	}
	return t.Plain()
}

// programName is python for /usr/bin/python3.12 and cmd for C:\…\CMD.EXE.
func programName(s string) string {
	s = strings.ToLower(s[strings.LastIndexAny(s, `/\`)+1:])
	return strings.TrimRight(strings.TrimSuffix(s, ".exe"), "0123456789.")
}

func endsInFlag(arg, flag string) bool {
	if len(flag) > 2 || flag[0] != '-' {
		return strings.EqualFold(arg, flag)
	}
	return isCluster(arg) && strings.HasSuffix(arg, flag[1:])
}

// gluedToFlag reports whether code may follow the flag in the same argument.
func gluedToFlag(arg, flag string) bool {
	if strings.HasPrefix(flag, "--") {
		return strings.HasPrefix(arg, flag+"=")
	}
	return len(flag) == 2 && flag[0] == '-' && isCluster(arg) && strings.Contains(arg, flag[1:])
}

func isCluster(arg string) bool { return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' }
