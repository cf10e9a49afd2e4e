package httpreq

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

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// tool is one http entry, compiled.
type tool struct {
	spec       agent.Spec
	client     *webclient.Client
	timeout    config.Duration
	params     params
	method     string
	url        *urlTemplate
	headers    []header
	query      pairs
	body       *body
	credential *webclient.Credential
	allowHosts []string
	filter     *webclient.Filter // nil without result
	secrets    []string
	redact     *strings.Replacer
}

// New makes the tool of an http entry. Nothing is sent before a call. The tool
// uses c, which stays its owner's. Errors are mistakes in the entry and begin
// with the key below http that they are about; they hold no secrets.
func New(t *config.Tool, c *webclient.Client) (agent.Tool, error) {
	h := t.HTTP
	ps, err := declared(t)
	if err != nil {
		return nil, err
	}
	does, known := methods[h.Method]
	if !known {
		return nil, fmt.Errorf("method: %q is not one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", h.Method)
	}
	made := &tool{
		spec: agent.Spec{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
			Hints: agent.Hints{ReadOnly: does.safe, Idempotent: does.idempotent},
		},
		client: c, timeout: t.Timeout, params: ps, method: h.Method,
		query: h.Query, allowHosts: h.AllowHosts,
	}
	if made.url, err = parseURL(h.URL, ps); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if made.headers, err = newHeaders(h, ps); err != nil {
		return nil, err
	}
	if err := made.query.check(ps); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	if made.body, err = newBody(h.Body, ps); err != nil {
		return nil, err
	}
	if made.credential, err = credential(h, made.url.user, made.headers); err != nil {
		return nil, err
	}
	if err := checkContentType(h, made.headers); err != nil {
		return nil, err
	}
	if err := checkAllowHosts(h.AllowHosts); err != nil {
		return nil, err
	}
	if h.Result != "" {
		if made.filter, err = webclient.CompileFilter(h.Result); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	secrets := slices.Clone(t.Secrets)
	if made.url.user != nil {
		password, _ := made.url.user.Password()
		secrets = append(secrets, password)
	}
	made.keepSecrets(secrets)
	return made, nil
}

func checkContentType(h *config.HTTP, headers []header) error {
	set := slices.ContainsFunc(headers, func(x header) bool { return x.name == "Content-Type" })
	if set && h.Body != nil && h.Body.ContentType != "" {
		return errors.New("headers: Content-Type is set by body.content_type too; remove one of them")
	}
	return nil
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call implements [agent.Tool]. Whatever goes wrong on the way to the answer is
// a result that the model reads.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	a, err := t.params.read(call.Args)
	if err != nil {
		return agent.Failure(err.Error()), nil
	}
	req, err := t.request(a)
	if err != nil {
		return agent.Failure(err.Error()), nil
	}
	res, err := t.client.Do(ctx, req)
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.hide(t.result(ctx, res)), nil
}

// request puts the arguments of a call in.
func (t *tool) request(a args) (*webclient.Request, error) {
	u, err := t.url.expand(a)
	if err != nil {
		return nil, err
	}
	u.RawQuery = joinQuery(u.RawQuery, t.query.encode(a, func(s string) string { return escape(s, "") }))
	r := &webclient.Request{
		Method: t.method, URL: u, Header: http.Header{},
		Policy: webclient.Configured, AllowHosts: t.allowHosts,
	}
	if t.body != nil {
		if r.Body, err = t.body.render(a); err != nil {
			return nil, err
		}
		if len(r.Body) > 0 {
			r.Header.Set("Content-Type", t.body.contentType)
		}
		r.PrivateBody = t.holdsSecret(r.Body)
	}
	if err := t.setHeaders(r.Header, a); err != nil {
		return nil, err
	}
	return r, nil
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}

func (t *tool) setHeaders(h http.Header, a args) error {
	for _, header := range t.headers {
		value, ok := a.expand(header.value)
		if !ok {
			continue
		}
		if strings.ContainsFunc(value, isControl) {
			return fmt.Errorf("the header %s cannot hold a line break or another control character; "+
				"change the argument that goes into it", header.name)
		}
		h.Set(header.name, value)
	}
	if t.credential != nil {
		h.Set(t.credential.Name, t.credential.Value)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func (t *tool) holdsSecret(body []byte) bool {
	return slices.ContainsFunc(t.secrets, func(s string) bool { return bytes.Contains(body, []byte(s)) })
}

const redacted = "[redacted]"

// keepSecrets prepares for hiding secrets in what a server sends back, and for
// finding them in a body.
func (t *tool) keepSecrets(secrets []string) {
	const shortest = 4 // hiding shorter ones would only garble the text
	for _, s := range secrets {
		if s != "" {
			t.secrets = append(t.secrets, forms(s)...)
		}
	}
	hidden := slices.Clone(t.secrets)
	if t.credential != nil {
		_, token, _ := strings.Cut(t.credential.Value, " ")
		hidden = append(hidden, t.credential.Value, token)
	}
	slices.SortStableFunc(hidden, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range hidden {
		if len(s) >= shortest {
			pairs = append(pairs, s, redacted)
		}
	}
	t.redact = strings.NewReplacer(pairs...)
}

// forms are the ways in which a secret is sent and comes back: as it is, inside
// a URL, a form, or JSON, where some escape <, > and & as well.
func forms(s string) []string {
	list := []string{s, escape(s, ""), url.QueryEscape(s)}
	if q, err := quote(s); err == nil {
		list = append(list, string(q[1:len(q)-1]))
	}
	if q, err := json.Marshal(s); err == nil {
		list = append(list, string(q[1:len(q)-1]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
