package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// glob matches paths below a folder. A pattern without a slash looks at the
// last name alone, wherever it stands; one with a slash at the whole path, from
// that folder on.
type glob struct {
	re       *regexp.Regexp
	lastOnly bool
}

// newGlob reads a pattern: * and ? within a name, ** for any folders, [a-z],
// [!a-z] and {this,that}. An empty one matches everything. It becomes an RE2
// expression, which takes linear time whatever the pattern is.
func newGlob(pattern string) (*glob, error) {
	if pattern == "" {
		return &glob{re: regexp.MustCompile(""), lastOnly: true}, nil
	}
	var b strings.Builder
	depth := 0
	rest := strings.TrimPrefix(pattern, "./")
	for rest != "" {
		expr, n := globToken(rest, &depth)
		b.WriteString(expr)
		rest = rest[n:]
	}
	re, err := regexp.Compile(`^(?:` + b.String() + `)$`)
	if err != nil || depth != 0 {
		return nil, fmt.Errorf("%q is not a glob: there are *, ?, **/, [a-z], [!a-z] and {this,that}", pattern)
	}
	return &glob{re: re, lastOnly: !strings.Contains(pattern, "/")}, nil
}

// globToken gives the expression for the beginning of a pattern, which is not
// empty, and how many bytes of it that was. depth counts open braces.
func globToken(p string, depth *int) (expr string, n int) {
	switch {
	case strings.HasPrefix(p, "**/"):
		return `(?:[^/]+/)*`, 3
	case strings.HasPrefix(p, "**"):
		return `.*`, 2
	case p[0] == '*':
		return `[^/]*`, 1
	case p[0] == '?':
		return `[^/]`, 1
	case p[0] == '{':
		*depth++
		return `(?:`, 1
	case p[0] == '}' && *depth > 0:
		*depth--
		return `)`, 1
	case p[0] == ',' && *depth > 0:
		return `|`, 1
	case p[0] == '[':
		if end := strings.IndexByte(p[1:], ']'); end > 0 {
			class := strings.ReplaceAll(p[1:1+end], `\`, `\\`)
			if after, ok := strings.CutPrefix(class, "!"); ok {
				class = "^/" + after
			}
			return `[` + strings.ReplaceAll(class, `[`, `\[`) + `]`, end + 2
		}
	}
	end := strings.IndexAny(p[1:], "*?{},[") + 1
	if end == 0 {
		end = len(p)
	}
	return regexp.QuoteMeta(p[:end]), end
}

// matches reports whether the pattern fits name, which is below dir.
func (g *glob) matches(dir, name string) bool {
	name = strings.TrimPrefix(name, dir+"/")
	if g.lastOnly {
		name = path.Base(name)
	}
	return g.re.MatchString(name)
}
