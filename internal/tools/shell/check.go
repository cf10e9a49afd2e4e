package shell

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// check finds what would let a model run code of its own, or this tool hang.
// Everything else has been said, with its place in the file, when the file was
// loaded.
func check(t *config.Tool, params map[string]config.Parameter) error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format, args...))
	}
	s := t.Shell
	switch {
	case s.Script == "" && len(s.Command) == 0, s.Script != "" && (len(s.Command) > 0 || len(s.Interpreter) == 0):
		add("shell needs either a command, or a script and its interpreter")
	case s.Script != "":
		for _, name := range slices.Sorted(maps.Keys(params)) {
			if problem := variable(s, name); problem != "" {
				add("parameter %q %s; give it another name", name, problem)
			}
		}
	default:
		if places := s.Command[0].Places(); len(places) > 0 {
			add("{%s} is the program, and a model must not choose what runs", places[0])
		}
		if _, place := template.CodePlace(s.Command); place != "" {
			add("{%s} stands in code, where a value would be run; use script, which gets it as the variable $%s", place, place)
		}
	}
	if s.Concurrency < 1 || t.MaxResultBytes < 1 {
		add("concurrency and max_result_bytes must be at least 1")
	}
	return errors.Join(errs...)
}

// variable says why a parameter cannot be a script's variable. A model must
// neither change what programs do nor what the agent file sets.
func variable(s *config.Shell, name string) string {
	_, set := s.Env[name]
	switch {
	case !template.IsVariableName(name):
		return "is none that a script can read; it takes letters, digits and _"
	case isReserved(name):
		return "would become a variable that changes how programs run"
	case set || slices.Contains(s.PassEnv, name):
		return "would replace the variable of that name in env or pass_env"
	}
	return ""
}

// reserved are variables that change what programs do, and so are none that a
// model may set; those that end in * stand for all that begin so.
var reserved = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "TZ", "TZDIR", "LANG", "LANGUAGE", "LC_*",
	"LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN",
	"ENV", "BASH_*", "BASHOPTS", "SHELLOPTS", "IFS", "CDPATH", "GLOBIGNORE", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH", "POSIXLY_CORRECT",
	"PYTHON*", "NODE_*", "NPM_*", "npm_*", "DENO_*", "BUN_*", "RUBYOPT", "RUBYLIB", "GEM_*", "BUNDLE_*", "PERL*", "PHPRC", "PHP_*", "LUA_*",
	"JAVA_*", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_*", "GRADLE_*", "AWKPATH", "AWKLIBPATH", "R_*", "GOFLAGS", "GOENV", "GOROOT",
	"CARGO_*", "RUSTC*", "MAKEFLAGS", "CC", "CXX", "GCC_*",
	"GIT_*", "SSH_*", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESS", "LESSOPEN", "LESSCLOSE", "BROWSER", "TERM", "TERMINFO*", "TERMCAP",
	"CURL_*", "SSL_*", "OPENSSL_*", "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY",
	"ALL_PROXY", "NO_PROXY", "DOCKER_*", "KUBECONFIG", "AWS_*", "GOOGLE_*", "AZURE_*", "XDG_*", "DBUS_*",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PSMODULEPATH",
}

// isReserved reports whether a variable is one of the reserved. Windows does
// not tell upper from lower case.
func isReserved(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.ContainsFunc(reserved, func(r string) bool {
		if runtime.GOOS == "windows" {
			r = strings.ToUpper(r)
		}
		if prefix, ok := strings.CutSuffix(r, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == r
	})
}
