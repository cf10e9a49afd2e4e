// Package webpage makes load_web_page, which fetches a page of the public internet
// and gives it to the model as Markdown.
//
// Start with [New]. The address is the model's choice, so package webclient lets
// connections go to public addresses only, redirects included; page.go turns
// HTML, which may be hostile, into Markdown.
package webpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

const (
	maxURL      = 8 << 10
	description = "Fetch a page of the public web by its address, as Markdown."
	parameters  = `{"type":"object","properties":{"url":{"type":"string","description":"Address of the page, beginning with https:// or http://"}},"required":["url"],"additionalProperties":false}`
	// accept says what can be read, the best first.
	accept = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1"
)

type tool struct {
	spec   agent.Spec
	client *webclient.Client
	hosts  []string // globs in lower case; none for every public host
	policy webclient.Policy
}

// New makes the tool of a load_web_page entry. It uses c, which stays its owner's.
func New(t *config.Tool, c *webclient.Client) (agent.Tool, error) {
	made := &tool{
		spec: agent.Spec{
			Name: t.Name, Description: description, Parameters: json.RawMessage(parameters),
			Hints: agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true},
		},
		client: c, policy: webclient.PublicOnly,
	}
	if t.Builtin == nil {
		return made, nil
	}
	if t.Builtin.Root != "" || t.Builtin.Write {
		return nil, fmt.Errorf("%s takes no other args than allow_hosts", t.Name)
	}
	for _, host := range t.Builtin.AllowHosts {
		if host == "" || strings.ContainsAny(host, "/:@?#") {
			return nil, fmt.Errorf("allow_hosts: %q is no host name: leave out the scheme, the port and the path", host)
		}
		made.hosts = append(made.hosts, strings.ToLower(host))
	}
	return made, nil
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call implements [agent.Tool]. Failures begin as those of ADK's tool do.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	var args struct{ URL string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return agent.NotRun("the arguments cannot be read: " + err.Error()), nil //nolint:nilerr // the model hears of it
	}
	text, err := t.load(ctx, args.URL)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, webclient.ErrClosed)):
		return nil, err
	case err != nil:
		return agent.Failure("Failed to fetch url: " + err.Error()), nil //nolint:nilerr // the model hears of it
	}
	return agent.Text(text), nil
}

func (t *tool) load(ctx context.Context, address string) (string, error) {
	u, err := t.target(address)
	if err != nil {
		return "", err
	}
	res, err := t.client.Do(ctx, &webclient.Request{
		Method: http.MethodGet, URL: u, Header: http.Header{"Accept": {accept}}, Policy: t.policy, Follow: t.allows,
	})
	if err != nil {
		return "", err
	}
	origin := webclient.Origin(res.URL)
	switch {
	case res.Status < 200 || res.Status > 299:
		return "", fmt.Errorf("%s answered %s", origin, res.StatusLine())
	case res.Kind == webclient.Empty:
		return "The page is empty.", nil
	case res.Kind != webclient.Text:
		return "", fmt.Errorf("what %s gives is no page: it is %s, %d bytes", origin, kindOf(res.MIME), res.Size)
	}
	text, cut := visible(res.Text), res.Truncated
	if res.MIME == "text/html" || res.MIME == "application/xhtml+xml" {
		var less bool
		if text, less, err = markdown(ctx, res.Text, res.URL); err != nil {
			return "", fmt.Errorf("the page of %s cannot be read: %w", origin, err)
		}
		cut = cut || less
	}
	if cut {
		text = "Note: the page is too large, this is only its beginning.\n\n" + text
	}
	return text, nil
}

func kindOf(mime string) string {
	if mime == "" {
		return "of an unknown type"
	}
	return mime
}

// target reads an address that the model gave.
func (t *tool) target(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if len(address) > maxURL {
		return nil, fmt.Errorf("it is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errors.New("it is no address of a page: begin with https:// and the name of a host")
	}
	return u, t.allows(u)
}

// allows says why a host is not among those of allow_hosts.
func (t *tool) allows(u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, glob := range t.hosts {
		if config.Glob(glob, host) {
			return nil
		}
	}
	if len(t.hosts) == 0 {
		return nil
	}
	return errors.New("this tool may load pages of these hosts only: " + strings.Join(t.hosts, ", "))
}
