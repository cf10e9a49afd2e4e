package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

const (
	loadTimeout = 30 * time.Second
	// retryPause is how long after a failure the next use does not try again.
	retryPause  = 30 * time.Second
	maxWarnings = 20
	maxError    = 1 << 10 // bytes
)

// Deps are what the tools need from outside; both are required.
type Deps struct {
	// Client sends the requests. It stays its owner's.
	Client *webclient.Client
	Log    *slog.Logger
}

// entry is what all tools of an openapi entry share.
type entry struct {
	tool    *config.Tool
	openapi *config.OpenAPI
	client  *webclient.Client
	server  *url.URL          // the API's base URL, nil where the document says it
	headers map[string]string // by canonical name
	secrets *webclient.Secrets
}

// Toolset is the operations of a document. It implements [agent.Toolset].
type Toolset struct {
	*entry
	log     *slog.Logger
	source  string   // names the document
	address *url.URL // where the document comes from, nil for a file
	now     func() time.Time
	listed  atomic.Pointer[listed] // nil until the document has been loaded
	// turn is held by whoever loads the document, and guards the rest.
	turn   chan struct{}
	failed *session.Listing // of the last try
	again  time.Time        // when to try again
}

// listed is what a document gave.
type listed struct {
	tools   []agent.Tool
	listing *session.Listing
}

// New makes the toolset of an openapi entry. A document in a file is read here, one
// with a URL on the first use. Errors are mistakes in the entry or in the document,
// and begin with the key below openapi that they are about; they hold no secrets.
func New(t *config.Tool, d Deps) (*Toolset, error) {
	e, err := newEntry(t, d.Client)
	if err != nil {
		return nil, err
	}
	ts := &Toolset{entry: e, log: d.Log, now: time.Now, turn: make(chan struct{}, 1)}
	if isURL(t.OpenAPI.Document) {
		if ts.address, err = url.Parse(t.OpenAPI.Document); err != nil || ts.address.Hostname() == "" {
			return nil, errors.New("document: is not a valid URL")
		}
		if ts.address.User != nil {
			return nil, errors.New("document: holds a user name, which is not sent; use headers and server, with the same host")
		}
		ts.source = e.secrets.Hide(ts.address.Host + ts.address.Path)
		return ts, nil
	}
	ts.source = filepath.Base(t.OpenAPI.Document)
	data, err := readFile(t.OpenAPI.Document)
	if err != nil {
		return nil, fmt.Errorf("document: %s: %w", ts.source, err)
	}
	if _, err := ts.list(data, nil); err != nil {
		return nil, fmt.Errorf("document: %s: %s", ts.source, document.Clean(err.Error(), maxError))
	}
	return ts, nil
}

func newEntry(t *config.Tool, c *webclient.Client) (*entry, error) {
	e := &entry{tool: t, openapi: t.OpenAPI, client: c, headers: map[string]string{}}
	secrets := append([]string{}, t.Secrets...)
	for key, value := range e.openapi.Headers {
		name := http.CanonicalHeaderKey(key)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("headers: %q is not a valid header name", key)
		case webclient.ReservedHeader(name), name == "Content-Type":
			return nil, fmt.Errorf("headers: %s is set for each request; remove it", name)
		case e.headers[name] != "":
			return nil, fmt.Errorf("headers: %s is there twice", name)
		case !httpguts.ValidHeaderFieldValue(value.Reveal()):
			return nil, fmt.Errorf("headers: the value of %s holds a line break or another control character; "+
				"where it comes from an environment variable, look at its end", name)
		}
		e.headers[name] = value.Reveal()
	}
	var credentials []webclient.Credential
	for _, a := range e.openapi.Auth {
		c, err := webclient.NewCredential(&a)
		if err != nil {
			return nil, err
		}
		credentials = append(credentials, c)
		if secrets = append(secrets, a.Bearer.Reveal()); a.Basic != nil {
			secrets = append(secrets, a.Basic.Password.Reveal())
		}
	}
	e.secrets = webclient.NewSecrets(secrets, credentials...)
	if e.openapi.Server != "" {
		u, err := url.Parse(e.openapi.Server)
		if err == nil {
			err = checkServer(u)
		} else {
			err = errors.New("it is not a URL")
		}
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		e.server = u
	}
	return e, webclient.CheckAllowHosts(e.openapi.AllowHosts)
}

func isURL(s string) bool {
	lower := strings.ToLower(s)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// readFile reads a document as far as its bound.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a file")
	}
	if err != nil {
		return nil, err
	}
	const most = document.MaxBytes + 1
	b := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, most))
	return b.Bytes(), err
}

// Tools implements [agent.Toolset]. Where the document cannot be loaded there are no
// tools; why is reported, and the next use after a pause tries again.
func (ts *Toolset) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	l := ts.listed.Load()
	if l == nil && q.Peek {
		return nil, agent.ErrNotListed
	}
	if l == nil {
		var err error
		if l, err = ts.load(ctx); err != nil {
			return nil, err
		}
	}
	if q.Report != nil {
		q.Report(l.listing)
	}
	return l.tools, nil
}

// load loads the document from its URL, or waits until somebody else has. The error
// is ctx's.
func (ts *Toolset) load(ctx context.Context) (*listed, error) {
	select {
	case ts.turn <- struct{}{}:
		defer func() { <-ts.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l := ts.listed.Load(); l != nil {
		return l, nil
	}
	if ts.failed != nil && ts.now().Before(ts.again) {
		return &listed{listing: ts.failed}, nil
	}
	data, from, err := ts.fetch(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		var l *listed
		if l, err = ts.list(data, from); err == nil {
			return l, nil
		}
	}
	said := document.Clean(ts.secrets.Hide(err.Error()), maxError)
	if ts.failed == nil || ts.failed.Error != said {
		ts.failed = &session.Listing{Source: ts.source, Error: said}
		ts.log.WarnContext(ctx, "an OpenAPI document cannot be used", "document", ts.source, "error", said)
	}
	ts.again = ts.now().Add(retryPause)
	return &listed{listing: ts.failed}, nil
}

// fetch gets the document and says where it came from. The entry's headers go along
// only where the API itself is.
func (ts *Toolset) fetch(ctx context.Context) (data []byte, from *url.URL, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	r := &webclient.Request{
		Method: http.MethodGet, URL: ts.address, Header: http.Header{}, Policy: webclient.Configured,
		AllowHosts: ts.openapi.AllowHosts, MaxBody: document.MaxBytes,
	}
	if ts.server != nil && webclient.Origin(ts.server) == webclient.Origin(ts.address) {
		for name, value := range ts.headers {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	res, err := ts.client.Do(ctx, r)
	switch {
	case err != nil:
		return nil, nil, err
	case res.Status != http.StatusOK:
		return nil, nil, fmt.Errorf("%s: the server answered %s", webclient.Origin(ts.address), res.StatusLine())
	case res.Truncated:
		return nil, nil, fmt.Errorf("is larger than %d MiB", document.MaxBytes>>20)
	case res.Kind == webclient.Text:
		return []byte(res.Text), res.URL, nil
	}
	return nil, nil, errors.New("is not text")
}

// list makes the tools of a document.
func (ts *Toolset) list(data []byte, from *url.URL) (*listed, error) {
	a, err := parse(data)
	if err != nil {
		return nil, err
	}
	tools, warnings, err := ts.build(a, from)
	if err != nil {
		return nil, err
	}
	if n := len(warnings) - maxWarnings; n > 0 {
		warnings = append(warnings[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more", n))
	}
	l := &listed{tools: tools, listing: &session.Listing{Source: ts.source, Warnings: warnings}}
	for _, t := range tools {
		l.listing.Tools = append(l.listing.Tools, t.Spec().Name)
	}
	for i, w := range warnings {
		w = document.Clean(w, maxError)
		warnings[i] = w
		ts.log.Warn("openapi: "+w, "document", ts.source)
	}
	ts.listed.Store(l)
	return l, nil
}
