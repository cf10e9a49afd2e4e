package check

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/itchyny/gojq"
	"github.com/yosida95/uritemplate/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

func (f *File) checkHTTP(h *config.HTTP, p *strictyaml.Path, as *arguments) {
	f.checkURL(h, p.Key("url"), as)
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		q := p.Key("headers").Key(name)
		var texts []string
		for _, s := range h.Headers[name].Segments {
			texts = append(texts, s.Text)
		}
		f.checkHeader(q, name, texts...)
		if other := seen[strings.ToLower(name)]; other != "" {
			f.errorf(q, "keep one of them", "the header stands here as %s and as %s", other, name)
		}
		seen[strings.ToLower(name)] = name
		as.template(h.Headers[name], q)
	}
	for _, q := range h.Query {
		as.template(q.Value, p.Key("query").Key(q.Name))
	}
	if h.Body != nil {
		f.checkBody(h.Body, p.Key("body"), as)
	}
	if h.Auth != nil {
		f.checkAuth(h, p.Key("auth"), seen)
	}
	if h.Result != "" {
		f.checkResult(h.Result, p.Key("result"))
	}
	as.unused()
}

// checkResult compiles a jq program.
func (f *File) checkResult(program string, p *strictyaml.Path) {
	query, err := gojq.Parse(program)
	if err == nil {
		_, err = gojq.Compile(query)
	}
	if err != nil {
		f.errorf(p, "programs are jq, such as .items[].name", "%v", err)
	}
}

// oneOf sees that a mapping has exactly one of some keys; none says what it
// means if there is none.
func (f *File) oneOf(p *strictyaml.Path, none string, keys ...string) {
	n := f.node(p)
	var there []string
	for _, key := range keys {
		if n.Get(key) != nil {
			there = append(there, key)
		}
	}
	switch {
	case len(there) > 1:
		f.errorf(p.Key(there[1]), "keep one of them", "%s stands beside %s", there[1], there[0])
	case len(there) == 0 && f.ok(p):
		last := len(keys) - 1
		f.errorf(p, "add "+strings.Join(keys[:last], ", ")+" or "+keys[last], "%s", none)
	}
}

func (f *File) checkBody(b *config.Body, p *strictyaml.Path, as *arguments) {
	n := f.node(p)
	f.oneOf(p, "says nothing to send", "json", "form", "multipart", "raw")
	for _, q := range b.Form {
		as.template(q.Value, p.Key("form").Key(q.Name))
	}
	for i := range b.Multipart {
		f.checkPart(&b.Multipart[i], p.Key("multipart").Key(b.Multipart[i].Name), as)
	}
	if b.Raw != nil {
		as.template(*b.Raw, p.Key("raw"))
	}
	if n.Get("json") != nil {
		f.Doc.JSON(p.Key("json"), func(p *strictyaml.Path, text string) string {
			as.template(template.Parse(text), p)
			return text
		})
	}
	if q := p.Key("content_type"); n.Get("content_type") != nil && n.Get("multipart") != nil {
		f.errorf(q, "remove it; each part may have a content_type", "a multipart body has the MIME type multipart/form-data and a boundary that is made for it")
	}
	f.checkContentType(b.ContentType, p.Key("content_type"))
}

// checkPart checks a part of a multipart body.
func (f *File) checkPart(part *config.Part, p *strictyaml.Path, as *arguments) {
	as.template(part.Value, PartPath(f.node(p), p))
	if part.Filename != nil {
		as.template(*part.Filename, p.Key("filename"))
	}
	f.checkContentType(part.ContentType, p.Key("content_type"))
}

func (f *File) checkContentType(s string, p *strictyaml.Path) {
	if !httpguts.ValidHeaderFieldValue(s) {
		f.errorf(p, "", "holds a line break or another control character")
	}
}

// checkAuth sees that there is one way to sign, and that it stays private.
func (f *File) checkAuth(h *config.HTTP, p *strictyaml.Path, headers map[string]string) {
	f.CheckCredential(h.Auth, p)
	header := "Authorization"
	if a := h.Auth.Header; a != nil && a.Name != "" {
		header = a.Name
	}
	if other := headers[strings.ToLower(header)]; other != "" {
		f.errorf(p, "remove one of them", "auth sets the header %s, which stands under headers too", http.CanonicalHeaderKey(other))
	}
	if u, err := url.Parse(origin(h.URL)); err == nil && u.Scheme == "http" && !IsLoopback(u.Hostname()) {
		f.warnf(p, "use https", "the secret is sent without encryption")
	}
}

// origin is the part of a URL that says where requests go.
func origin(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	if i := strings.IndexAny(rest, "/?#{"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}

// expression is one expression of RFC 6570: its operator and what it names.
var expression = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([+#./;?&]?)([^{}]*)\}`) })

// checkURL checks a URL template. Its messages never show the URL itself, which
// may hold what came out of the environment.
func (f *File) checkURL(h *config.HTTP, p *strictyaml.Path, as *arguments) {
	as.noteURL(h.URL)
	if h.URL == "" || f.Unset[p.String()] {
		return
	}
	from := origin(h.URL)
	u, err := url.Parse(from)
	switch {
	case !strings.HasPrefix(strings.ToLower(from), "http://") && !strings.HasPrefix(strings.ToLower(from), "https://"):
		f.errorf(p, "", "a URL begins with http:// or https://")
		return
	case err != nil || u.Hostname() == "":
		f.errorf(p, "", "the URL has no valid host; places can stand behind it only")
		return
	}
	tail := h.URL[len(from):]
	if strings.HasPrefix(tail, "{") && !strings.HasPrefix(tail, "{/") && !strings.HasPrefix(tail, "{?") {
		f.errorf(p, "put a slash between them", "the host must be fixed, and a place would change it")
		return
	}
	t, err := uritemplate.New(h.URL)
	if err != nil {
		f.errorf(p, "names in a URL are letters, digits and _; braces that are text are %7B and %7D", "not a template of RFC 6570")
		return
	}
	for _, name := range t.Varnames() {
		as.place(name, p)
	}
	path, _, _ := strings.Cut(tail, "?")
	for _, m := range expression().FindAllStringSubmatch(tail, -1) {
		if m[1] == "#" {
			f.errorf(p, "remove it", "a fragment is never sent")
		}
		if (m[1] == "" || m[1] == "+") && strings.Contains(path, m[0]) {
			f.checkInPath(m[2], p, as)
		}
	}
}

// checkInPath refuses arguments that may be missing where the path needs them.
func (f *File) checkInPath(names string, p *strictyaml.Path, as *arguments) {
	for name := range strings.SplitSeq(names, ",") {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
		switch a := as.by[name]; {
		case a == nil:
		case a.optional:
			f.errorf(p, "make it required, give it a default, or write {/"+name+"}", "{%s} may be missing, which would change the path", name)
		case a.kind == "object":
			f.errorf(p, "declare its fields one by one", "the object {%s} has no place in a URL", name)
		}
	}
}

// noteURL marks what a URL names as used, also where the URL is no good.
func (as *arguments) noteURL(raw string) {
	for _, m := range expression().FindAllStringSubmatch(raw, -1) {
		for _, name := range as.names {
			as.by[name].used = as.by[name].used || strings.Contains(m[2], name)
		}
	}
}

// CheckCredential sees that there is one way to sign, which a request can hold.
func (f *File) CheckCredential(a *config.Auth, p *strictyaml.Path) {
	f.oneOf(p, "says no way to sign", "bearer", "basic", "header")
	f.checkHeader(p.Key("bearer"), "Authorization", a.Bearer.Reveal())
	if a.Header != nil && a.Header.Name != "" {
		f.checkHeader(p.Key("header").Key("value"), "X", a.Header.Value.Reveal())
		if name := p.Key("header").Key("name"); !httpguts.ValidHeaderFieldName(a.Header.Name) {
			f.errorf(name, "", "%q is no valid header name", f.shown(name, a.Header.Name))
		}
	}
}
