package builtin

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// holdsSecrets reports whether a file of that name is one of settings that
// hold keys and passwords: .env, .env.local and their like. Some systems do
// not tell upper from lower case, or drop blanks at the end.
func holdsSecrets(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, " "))
	return name == ".env" || strings.HasPrefix(name, ".env.")
}

// refuseSecrets is the error for a path that is, or whose links lead to, a
// file that holds secrets.
func refuseSecrets(root *os.Root, name string) error {
	if holdsSecrets(path.Base(name)) || holdsSecrets(path.Base(resolved(root, name))) {
		return fmt.Errorf("%s holds secrets: files named .env or .env.* can be neither read nor written", name)
	}
	return nil
}

// refuseGit is the error for a path in .git: what stands there is run, such
// as hooks, or says what is run.
func refuseGit(root *os.Root, name string) error {
	isGit := func(element string) bool { return strings.EqualFold(strings.TrimRight(element, " ."), ".git") }
	if slices.ContainsFunc(strings.Split(name, "/"), isGit) || slices.ContainsFunc(strings.Split(resolved(root, name), "/"), isGit) {
		return fmt.Errorf("%s belongs to git: nothing can be written in .git", name)
	}
	return nil
}

// resolved gives the path that name leads to, without links. Links that lead
// out of the folder, which os.Root does not follow, or go round in circles
// give name.
func resolved(root *os.Root, name string) string {
	const maxLinks = 40
	done, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		target, err := root.Readlink(next)
		if err != nil { // no link, or not there
			done = next
			continue
		}
		if links++; links > maxLinks || filepath.IsAbs(target) {
			return name
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return done
}
