package process

import (
	"maps"
	"runtime"
	"slices"
)

// Environ gives a minimal environment: PATH, LANG and TZ as lookup has them,
// HOME as the folder home, what the operating system cannot do without, the
// variables that pass names where lookup has them, and env on top.
func Environ(lookup func(string) (string, bool), home string, pass []string, env map[string]string) []string {
	vars := map[string]string{"HOME": home, "LANG": "C.UTF-8"}
	take := []string{"PATH", "LANG", "TZ"}
	if runtime.GOOS == "windows" {
		take = append(take, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT")
		vars["USERPROFILE"], vars["TEMP"], vars["TMP"] = home, home, home
	} else {
		vars["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	for _, name := range append(take, pass...) {
		if v, ok := lookup(name); ok {
			vars[canonical(name)] = v
		}
	}
	for name, v := range env {
		vars[canonical(name)] = v
	}
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}
