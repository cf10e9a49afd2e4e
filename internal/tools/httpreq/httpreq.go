package httpreq

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	body       body // nil for none
	credential *webclient.Credential
	allowHosts []string
	filter     *webclient.Filter // nil without result
	secrets    *webclient.Secrets
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
	does, known := webclient.MethodEffect(h.Method)
	if !known {
		return nil, fmt.Errorf("method: %q is not one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", h.Method)
	}
	made := &tool{
		spec: agent.Spec{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
			Hints: agent.Hints{ReadOnly: does.Safe, Idempotent: does.Idempotent},
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
	if err := webclient.CheckAllowHosts(h.AllowHosts); err != nil {
		return nil, err
	}
	if h.Result != "" {
		if made.filter, err = webclient.CompileFilter(h.Result); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	var credentials []webclient.Credential
	if made.credential != nil {
		credentials = append(credentials, *made.credential)
	}
	secrets := slices.Clone(t.Secrets)
	if made.url.user != nil {
		password, _ := made.url.user.Password()
		secrets = append(secrets, password)
	}
	made.secrets = webclient.NewSecrets(secrets, credentials...)
	return made, nil
}

func checkContentType(h *config.HTTP, headers []header) error {
	set := slices.ContainsFunc(headers, func(x header) bool { return x.name == "Content-Type" })
	switch {
	case !set || h.Body == nil:
		return nil
	case h.Body.ContentType != "":
		return errors.New("headers: Content-Type is set by body.content_type too; remove one of them")
	case h.Body.Multipart != nil:
		return errors.New("headers: Content-Type is set by body.multipart, with the boundary of its parts; remove it")
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
	out, err := t.client.Ask(ctx, req, webclient.Wording{Timeout: t.timeout, Filter: t.filter, Secrets: t.secrets})
	if err != nil {
		return nil, err
	}
	return result(out), nil
}

// request puts the arguments of a call in.
func (t *tool) request(a args) (*webclient.Request, error) {
	u, err := t.url.expand(a)
	if err != nil {
		return nil, err
	}
	u.RawQuery = joinQuery(u.RawQuery, t.query.encode(a, func(s string) string { return webclient.Escape(s, "") }))
	r := &webclient.Request{
		Method: t.method, URL: u, Header: http.Header{},
		Policy: webclient.Configured, AllowHosts: t.allowHosts,
	}
	if t.body != nil {
		var contentType string
		if contentType, r.Body, err = t.body(a); err != nil {
			return nil, err
		}
		if len(r.Body) > 0 {
			r.Header.Set("Content-Type", contentType)
		}
		r.PrivateBody = t.secrets.In(r.Body)
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
		if strings.ContainsFunc(value, webclient.IsControl) {
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
