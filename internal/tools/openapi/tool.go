package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/style"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// tool is one operation.
type tool struct {
	*entry
	spec   agent.Spec
	method string
	server *url.URL
	path   []piece
	query  string // what the document writes into the path
	params []*style.Parameter
	body   *style.Body // nil for none
	sign   signature
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call implements [agent.Tool]. Whatever goes wrong on the way to the answer is a
// result that the model reads.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	a, err := readArgs(call.Args)
	if err != nil {
		return agent.Failure(err.Error()), nil
	}
	req, err := t.request(a)
	if err != nil {
		return agent.Failure(err.Error()), nil
	}
	out, err := t.client.Ask(ctx, req, webclient.Wording{Timeout: t.tool.Timeout, Secrets: t.secrets})
	if err != nil {
		return nil, err
	}
	r := &agent.Result{Output: out.Output, IsError: out.Failed, Transient: out.Transient}
	if out.Data != nil {
		r.Media = []*genai.Blob{{MIMEType: out.MIME, Data: out.Data}}
	}
	return r, nil
}

// readArgs takes the arguments of a call.
func readArgs(raw json.RawMessage) (style.Args, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	v := document.Value(raw)
	if !json.Valid(raw) || !v.IsObject() {
		return nil, errors.New("the arguments are not a JSON object")
	}
	a := style.Args{}
	for name, member := range v.Members() {
		a[name] = member
	}
	return a, nil
}

// query collects what is not in the path.
type query struct{ pairs, cookies []string }

func (q *query) add(pairs ...string) { q.pairs = append(q.pairs, pairs...) }

// request puts the arguments of a call in.
func (t *tool) request(a style.Args) (*webclient.Request, error) {
	r := &webclient.Request{Method: t.method, Header: http.Header{}, Policy: webclient.Configured, AllowHosts: t.openapi.AllowHosts}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	var err error
	if r.URL, err = t.url(a); err != nil {
		return nil, err
	}
	q := &query{}
	if t.query != "" {
		q.add(t.query)
	}
	for _, p := range t.params {
		texts, err := p.Write(a[p.Argument])
		switch {
		case err != nil:
			return nil, err
		case len(texts) == 0 && p.Required && a[p.Argument] == nil:
			return nil, fmt.Errorf("the argument %q is missing", p.Argument)
		case p.In == "query", p.In == "cookie":
			if err := t.disjoint(p, texts); err != nil {
				return nil, err
			}
			if p.In == "query" {
				q.add(texts...)
			} else {
				q.cookies = append(q.cookies, texts...)
			}
		case len(texts) == 0:
		case strings.ContainsFunc(texts[0], webclient.IsControl):
			return nil, fmt.Errorf("the argument %q goes into a header, which cannot hold a line break or another control character", p.Argument)
		default:
			r.Header.Set(p.Name, texts[0])
		}
	}
	if t.body != nil {
		contentType, data, err := t.body.Write(a)
		if err != nil {
			return nil, err
		}
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		r.Body, r.PrivateBody = data, t.secrets.In(data)
	}
	for name, value := range t.headers {
		r.Header.Set(name, value)
	}
	t.sign.apply(q, r.Header)
	r.URL.RawQuery = strings.Join(q.pairs, "&")
	if len(q.cookies) > 0 {
		if own := r.Header.Get("Cookie"); own != "" {
			q.cookies = append([]string{own}, q.cookies...)
		}
		r.Header.Set("Cookie", strings.Join(q.cookies, "; "))
	}
	return r, nil
}

// disjoint makes an error for an argument whose members would set what another
// parameter or the agent file sets.
func (t *tool) disjoint(p *style.Parameter, texts []string) error {
	for _, name := range p.Beside(texts) {
		declared := func(o *style.Parameter) bool { return o.In == p.In && o.Name == name }
		if t.given(p.In, name) || slices.ContainsFunc(t.params, declared) {
			return fmt.Errorf("the argument %q must not set %q, which is set elsewhere; leave that member out", p.Argument, name)
		}
		if name == "" && p.In == "cookie" {
			return fmt.Errorf("the argument %q has a member without a name, which cannot be a cookie", p.Argument)
		}
	}
	return nil
}

// given reports whether the agent file, or the query that the document writes into
// the path, sets a name in a query or among cookies.
func (t *tool) given(in, name string) bool {
	if in == "query" {
		fixed, _ := url.ParseQuery(t.query) // what can be read of it
		return fixed.Has(name) || t.sign.sets(in, name)
	}
	own := append([]string{t.headers["Cookie"]}, t.sign.cookies()...)
	for pair := range strings.SplitSeq(strings.Join(own, ";"), ";") {
		if n, _, _ := strings.Cut(pair, "="); strings.TrimSpace(n) == name && name != "" {
			return true
		}
	}
	return t.sign.sets(in, name)
}

// url makes the URL of a call without its query. No argument changes its origin, or
// adds, removes or leaves a segment of its path.
func (t *tool) url(a style.Args) (*url.URL, error) {
	var b strings.Builder
	b.WriteString(strings.TrimRight(t.server.EscapedPath(), "/"))
	for _, p := range t.path {
		if p.param == nil {
			b.WriteString(p.text)
			continue
		}
		texts, err := p.param.Write(a[p.param.Argument])
		if err != nil {
			return nil, err
		}
		b.WriteString(texts[0])
	}
	path := b.String()
	if err := webclient.CheckPath(path); err != nil {
		return nil, err
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return nil, errors.New("the URL's path is not properly encoded")
	}
	return &url.URL{Scheme: t.server.Scheme, Host: t.server.Host, Path: decoded, RawPath: path}, nil
}
