package gemini

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// ask asks the service. It is a genai client's one method that we use: a
// field of the client's own type would make the linker keep all the others,
// since a model is used as an interface; they are a megabyte.
type ask func(ctx context.Context, model string, contents []*genai.Content, config *genai.GenerateContentConfig) iter.Seq2[*genai.GenerateContentResponse, error]

// lazyClient makes the genai client when it is first asked for, once. A
// failure is not remembered, since credentials may appear while we run.
type lazyClient struct {
	making chan struct{} // holds one token while somebody makes the client

	mu        sync.Mutex
	made      ask
	transport *http.Transport
}

func newLazyClient() lazyClient { return lazyClient{making: make(chan struct{}, 1)} }

func (l *lazyClient) get(ctx context.Context, s *settings) (ask, error) {
	if c := l.current(); c != nil {
		return c, nil
	}
	select { // looking for credentials may take seconds, so waiting can be stopped
	case l.making <- struct{}{}:
		defer func() { <-l.making }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c := l.current(); c != nil {
		return c, nil
	}
	transport := wire.NewTransport(s.lookup)
	made, err := newClient(ctx, s, transport)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made, l.transport = made, transport
	return made, nil
}

func (l *lazyClient) current() ask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

func (l *lazyClient) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transport != nil {
		l.transport.CloseIdleConnections()
	}
}

// newClient makes the client of the settings. Errors of genai.NewClient print
// the whole configuration, the key included, so none of them goes further.
func newClient(ctx context.Context, s *settings, base http.RoundTripper) (ask, error) {
	if problem := s.problem(); problem != nil {
		return nil, problem
	}
	hc := &http.Client{Transport: &transport{base: base, idle: wire.IdleTimeout}}
	headers := s.headers.Clone()
	if s.usesADC() {
		quota, err := signWithADC(ctx, s, hc)
		if err != nil {
			return nil, &model.Error{
				Code: model.Misconfigured,
				Message: "no usable Google Cloud credentials: run `gcloud auth application-default login`, " +
					"or set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_API_KEY",
				Err: err,
			}
		}
		if quota != "" && headers.Get("X-Goog-User-Project") == "" {
			if headers == nil {
				headers = make(http.Header, 1)
			}
			headers.Set("X-Goog-User-Project", quota)
		}
	}
	cc := &genai.ClientConfig{
		Backend:     genai.BackendGeminiAPI,
		APIKey:      s.key,
		Project:     s.project,
		Location:    s.location,
		HTTPClient:  hc,
		HTTPOptions: genai.HTTPOptions{BaseURL: s.baseURL, Headers: headers},
	}
	switch {
	case s.vertex:
		cc.Backend = genai.BackendVertexAI
	case s.baseURL == "":
		cc.HTTPOptions.BaseURL = geminiURL
	}
	client, err := genai.NewClient(ctx, cc)
	if err != nil {
		return nil, &model.Error{
			Code:    model.Misconfigured,
			Message: "the Gemini client could not be made from these settings: check " + s.who() + " and model.base_url",
		}
	}
	return client.Models.GenerateContentStream, nil
}

// signWithADC makes hc sign its requests with Application Default
// Credentials, and returns the project that pays for them, if they name one.
func signWithADC(ctx context.Context, s *settings, hc *http.Client) (quotaProject string, err error) {
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{
		Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
		// The file is the operator's own choice, as it is where the library
		// reads the variable itself.
		CredentialsFile:     s.credentials, //nolint:staticcheck // deprecated for files of strangers
		DisableAsyncRefresh: true,          // nothing runs on beside the calls
	})
	if err != nil {
		return "", err
	}
	if err := httptransport.AddAuthorizationMiddleware(hc, creds); err != nil {
		return "", err
	}
	return creds.QuotaProjectID(ctx)
}

// transport stands between genai and the network. It makes an error of every
// answer that is not 200, redirects included, because genai keeps neither
// their headers nor a bound on their length; and it hands genai a stream that
// genai can read.
type transport struct {
	base http.RoundTripper
	idle time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel(nil)
		return nil, wire.Refused(resp)
	}
	resp.Body = newEventStream(wire.Watch(resp.Body, t.idle, cancel), maxAnswer)
	resp.ContentLength = -1
	return resp, nil
}
