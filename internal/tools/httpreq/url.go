package httpreq

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// urlTemplate is a URL whose scheme, host and port are fixed and whose path and
// query are RFC 6570 templates (level 4 for texts and lists).
type urlTemplate struct {
	scheme, host string // host with its port, as written
	user         *url.Userinfo
	path, query  []urlPart
	doubleSlash  bool // the template itself has an empty path segment
}

// urlPart is a literal, percent-encoded, or an expression.
type urlPart struct {
	text   string
	op     *operator
	vars   []urlVar
	inPath bool
}

type urlVar struct {
	name    string
	explode bool
	prefix  int // how many characters of the value; 0 is all
}

// operator is a row of the table in RFC 6570, appendix A.
type operator struct {
	symbol       byte // 0 for none
	first, sep   string
	named        bool
	ifEmpty      string
	slashes      bool // values may bring their own slashes
	path, query  bool // where it makes sense
	mayBeMissing bool // the path keeps its shape without it
}

var operators = []operator{
	{sep: ",", path: true, query: true},
	{symbol: '+', sep: ",", slashes: true, path: true},
	{symbol: '.', first: ".", sep: ".", path: true, mayBeMissing: true},
	{symbol: '/', first: "/", sep: "/", path: true, mayBeMissing: true},
	{symbol: ';', first: ";", sep: ";", named: true, path: true, mayBeMissing: true},
	{symbol: '?', first: "?", sep: "&", named: true, ifEmpty: "=", path: true},
	{symbol: '&', first: "&", sep: "&", named: true, ifEmpty: "=", query: true},
}

var (
	urlVarPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)(\*|:[1-9][0-9]{0,3})?$`) })
	dotSegment    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)\.\.?(/|;|$)`) })
)

// parseURL reads a URL template. Its errors don't hold the URL, which may hold
// secrets.
func parseURL(raw string, ps params) (*urlTemplate, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return nil, errors.New("must begin with http:// or https://")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#{"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if strings.HasPrefix(tail, "{") && !strings.HasPrefix(tail, "{/") && !strings.HasPrefix(tail, "{?") {
		return nil, errors.New("the host must be fixed; a place can stand in the path and in the query")
	}
	base, err := url.Parse(scheme + "://" + authority)
	if err != nil || base.Hostname() == "" || base.Path != "" {
		return nil, errors.New("has no valid host")
	}
	t := &urlTemplate{scheme: scheme, host: base.Host, user: base.User}
	if err := t.parseTail(tail, ps); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *urlTemplate) parseTail(tail string, ps params) error {
	parts, inQuery := &t.path, false
	for tail != "" {
		literal := tail
		if i := strings.IndexByte(tail, '{'); i >= 0 {
			literal = tail[:i]
		}
		tail = tail[len(literal):]
		if strings.ContainsAny(literal, "#}") {
			return errors.New(`holds a "}" without its "{", or a fragment (#), which is never sent`)
		}
		if path, query, found := strings.Cut(literal, "?"); found && !inQuery {
			t.path = append(t.path, urlPart{text: webclient.Escape(path, webclient.Reserved+"%")})
			parts, inQuery, literal = &t.query, true, query
		}
		if literal != "" {
			*parts = append(*parts, urlPart{text: webclient.Escape(literal, webclient.Reserved+"%")})
		}
		if tail == "" {
			break
		}
		expression, after, closed := strings.Cut(tail[1:], "}")
		if !closed {
			return errors.New(`holds a "{" without its "}"`)
		}
		tail = after
		part, err := parseExpression(expression, inQuery, ps)
		if err != nil {
			return fmt.Errorf("{%s}: %w", expression, err)
		}
		if part.op.symbol == '?' {
			parts, inQuery = &t.query, true
		}
		*parts = append(*parts, part)
	}
	return t.checkLiterals()
}

// checkLiterals refuses a path that clients and servers would rewrite.
func (t *urlTemplate) checkLiterals() error {
	var b strings.Builder
	for _, p := range t.path {
		if p.op != nil {
			b.WriteString("x") // stands for a value
		}
		b.WriteString(p.text)
	}
	path, err := url.PathUnescape(b.String())
	if err != nil || dotSegment().MatchString(path) {
		return errors.New(`the path holds a "." or ".." segment; write the path without it`)
	}
	t.doubleSlash = strings.Contains(b.String(), "//")
	return nil
}

func parseExpression(s string, inQuery bool, ps params) (urlPart, error) {
	part := urlPart{op: &operators[0], inPath: !inQuery}
	for i := range operators {
		if op := &operators[i]; op.symbol != 0 && s != "" && s[0] == op.symbol {
			part.op, s = op, s[1:]
			part.inPath = part.inPath && op.symbol != '?'
		}
	}
	switch {
	case inQuery && !part.op.query && part.op.symbol == '?':
		return part, errors.New("the query has begun before; use {&name}")
	case inQuery && !part.op.query:
		return part, errors.New("can stand in the path only; use {&name}")
	case !inQuery && !part.op.path:
		return part, errors.New("needs a query before it; use {?name}")
	}
	for _, spec := range strings.Split(s, ",") {
		m := urlVarPattern().FindStringSubmatch(spec)
		if m == nil {
			return part, errors.New("is not an expression of RFC 6570 that can be used here")
		}
		v := urlVar{name: m[1], explode: m[2] == "*"}
		if len(m[2]) > 1 {
			v.prefix, _ = strconv.Atoi(m[2][1:]) // at most four digits
		}
		p, ok := ps[v.name]
		switch {
		case !ok:
			return part, fmt.Errorf("%s is not a parameter of this tool", v.name)
		case p.object:
			return part, fmt.Errorf("%s is an object, which has no place in a URL; declare its fields one by one", v.name)
		case part.inPath && !part.op.mayBeMissing && !p.always():
			return part, fmt.Errorf("%s may be missing, which would change the path; make it required, give it a default, or write {/%s}", v.name, v.name)
		}
		part.vars = append(part.vars, v)
	}
	return part, nil
}

// expand makes the URL of a call. Scheme, host and port are the template's
// whatever the arguments are; an argument never adds, removes or leaves a
// segment of the path, except that those of {/x*} and {+x} add some.
func (t *urlTemplate) expand(a args) (*url.URL, error) {
	path, err := expandParts(t.path, a)
	if err != nil {
		return nil, err
	}
	query, err := expandParts(t.query, a)
	if err != nil {
		return nil, err
	}
	if err := webclient.CheckPath(path); err != nil {
		return nil, err
	}
	if !t.doubleSlash && strings.Contains(path, "//") {
		return nil, errors.New("an argument would make a part of the URL's path empty; leave out slashes at its ends and double ones")
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return nil, errors.New("the URL's path is not properly encoded")
	}
	return &url.URL{
		Scheme: t.scheme, Host: t.host, Path: decoded, RawPath: path,
		RawQuery: strings.TrimLeft(query, "?&"),
	}, nil
}

func expandParts(parts []urlPart, a args) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		if p.op == nil {
			b.WriteString(p.text)
			continue
		}
		lead := p.op.first
		for _, v := range p.vars {
			texts, list, err := p.values(v, a)
			if err != nil {
				return "", err
			}
			if len(texts) == 0 {
				continue
			}
			b.WriteString(lead)
			lead = p.op.sep
			p.write(&b, v, texts, list)
		}
	}
	return b.String(), nil
}

// values gives the texts of a variable, none when it is undefined.
func (p *urlPart) values(v urlVar, a args) (texts []string, list bool, err error) {
	if strings.HasPrefix(string(a[v.name]), "{") {
		return nil, false, fmt.Errorf("the argument %q is an object, which has no place in a URL", v.name)
	}
	texts, list = a.items(v.name)
	if !list {
		if s, ok := a.text(v.name); ok {
			texts = []string{s}
		}
	}
	if p.inPath && !p.op.mayBeMissing && len(texts) == 0 {
		return nil, false, emptyError(v.name)
	}
	for i, s := range texts {
		if p.inPath && !p.op.named && s == "" {
			return nil, false, emptyError(v.name)
		}
		if v.prefix > 0 && !list {
			texts[i] = firstRunes(s, v.prefix)
		}
	}
	return texts, list, nil
}

func emptyError(name string) error {
	return fmt.Errorf("the argument %q is empty, but it is a part of the URL's path", name)
}

// write is the middle of the algorithm in RFC 6570, section 3.2.1.
func (p *urlPart) write(b *strings.Builder, v urlVar, texts []string, list bool) {
	name := func(empty bool) {
		switch {
		case !p.op.named:
		case empty:
			b.WriteString(v.name + p.op.ifEmpty)
		default:
			b.WriteString(v.name + "=")
		}
	}
	joined := list && !v.explode
	if joined {
		name(false)
	}
	for i, s := range texts {
		if i > 0 && joined {
			b.WriteByte(',')
		} else if i > 0 {
			b.WriteString(p.op.sep)
		}
		if !joined {
			name(s == "")
		}
		b.WriteString(webclient.Escape(s, p.keep()))
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// keep are the reserved characters that stay as they are in a value. {+x} keeps
// those that a path may hold; it encodes "?" and "%" as well, unlike the RFC,
// since a value is text and never the beginning of a query.
func (p *urlPart) keep() string {
	if p.op.slashes {
		return ":/@!$&'()*+,;="
	}
	return ""
}
