package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

var errNothing = errors.New("there was no answer")

// fake is a server in memory, and the way to it.
type fake struct {
	// versions are those that it speaks; those it has a handshake for.
	versions []string
	// streams gives each request a stream of its own, as over HTTP.
	streams bool
	// capabilities is what it declares, as JSON.
	capabilities string
	// handle answers what is no greeting. Its requests are served side by side.
	handle func(q *query)
	// greet may answer a greeting in its own way; it reports whether it has.
	greet func(q *query) bool

	in   wire.Inbox
	work sync.WaitGroup
	done chan struct{}

	mu   sync.Mutex
	sent []*query
	err  error
	came chan *rpc.Message // responses and notifications of the client
	open bool
}

// query is a message of the client's.
type query struct {
	*rpc.Message
	s        *fake
	ctx      context.Context
	out      *wire.Outgoing
	answered bool
}

func (f *fake) Open(ctx context.Context, in wire.Inbox) error {
	f.in, f.done, f.came = in, make(chan struct{}), make(chan *rpc.Message, 100)
	f.open = true
	return nil
}

func (f *fake) Done() <-chan struct{} {
	if f.streams {
		return nil
	}
	return f.done
}

func (f *fake) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// die ends the connection from the server's side.
func (f *fake) die(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		close(f.done)
	}
}

func (f *fake) Close() error {
	f.mu.Lock()
	f.open = false
	f.mu.Unlock()
	f.work.Wait()
	return nil
}

func (f *fake) Send(ctx context.Context, out *wire.Outgoing) error {
	m, bad := rpc.Parse(out.Body)
	if bad != nil {
		panic(fmt.Sprintf("the client sent %s: %v", out.Body, bad))
	}
	q := &query{Message: m, s: f, ctx: ctx, out: out}
	f.mu.Lock()
	if err := f.err; err != nil || !f.open {
		f.mu.Unlock()
		return &wire.NotSentError{Err: cmpErr(err, errClosed)}
	}
	f.sent = append(f.sent, q)
	f.work.Add(1)
	f.mu.Unlock()
	served := make(chan struct{})
	go func() {
		defer f.work.Done()
		defer close(served)
		f.serve(q)
	}()
	if !f.streams || !m.IsRequest() {
		return nil
	}
	select {
	case <-served:
		if !q.answered {
			return errNothing
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (f *fake) serve(q *query) {
	if !q.IsRequest() {
		f.came <- q.Message
		return
	}
	switch q.Method {
	case methodDiscover, rpc.Initialize:
		if f.greet == nil || !f.greet(q) {
			f.greeting(q)
		}
	default:
		f.handle(q)
	}
}

func (f *fake) greeting(q *query) {
	capabilities := json.RawMessage(cmpText(f.capabilities, `{"tools":{}}`))
	info := map[string]any{"name": "fake", "version": "7"}
	if q.Method == methodDiscover {
		if !slices.Contains(f.versions, rpc.Stateless) {
			q.fail(rpc.CodeNoMethod, "no such method", nil)
			return
		}
		q.reply(map[string]any{
			"resultType": "complete", "supportedVersions": f.versions, "capabilities": capabilities, "instructions": "Be kind.",
			"_meta": map[string]any{rpc.MetaServerInfo: info},
		})
		return
	}
	var params struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(q.Params, &params)
	version := params.Version
	if !slices.Contains(f.versions, version) {
		version = f.versions[0]
	}
	q.reply(map[string]any{"protocolVersion": version, "capabilities": capabilities, "instructions": "Be kind.", "serverInfo": info})
}

func cmpText(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// of is the stream on which the query is answered.
func (q *query) of() string {
	if q.s.streams {
		return q.out.ID
	}
	return ""
}

func (q *query) give(body json.RawMessage) {
	m, err := wire.Parse(body)
	if err != nil {
		panic(err)
	}
	q.s.in.Receive(m, q.of())
}

func (q *query) reply(result any) {
	q.answered = true
	q.give(rpc.Succeed(q.ID, result).Body)
}

func (q *query) fail(code int, message string, data any) {
	q.answered = true
	q.give(rpc.Fail(q.ID, &rpc.Error{Code: code, Message: message, Data: data}).Body)
}

func (q *query) notify(method string, params any) {
	body, err := rpc.Notification(method, params)
	if err != nil {
		panic(err)
	}
	q.give(body)
}

// ask sends a request of the server's.
func (q *query) ask(id any, method string, params any) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	q.give(body)
}

// answer waits for a message of the client that is no request.
func (f *fake) answer(ctx context.Context) *rpc.Message {
	for {
		select {
		case m := <-f.came:
			if m.Method != methodInitialized {
				return m
			}
		case <-ctx.Done():
			return &rpc.Message{Error: json.RawMessage(`"nothing came"`)}
		}
	}
}

// param gives one of the query's params as text.
func (q *query) param(name string) string {
	var params map[string]json.RawMessage
	_ = json.Unmarshal(q.Params, &params)
	return string(params[name])
}

// methods are those of all that the client has sent.
func (f *fake) methods() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, q := range f.sent {
		all = append(all, q.Method)
	}
	return all
}

// last is the last message of a method that the client has sent.
func (f *fake) last(method string) *query {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range slices.Backward(f.sent) {
		if q.Method == method {
			return q
		}
	}
	return nil
}

// The two eras, and the two kinds of transport.
const (
	modern = rpc.Stateless
	legacy = "2025-11-25"
)

// serverOf makes a server of one version.
func serverOf(version string, streams bool, handle func(q *query)) *fake {
	return &fake{versions: []string{version}, streams: streams, handle: handle}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// dial connects to the server, for the length of the test.
func dial(t *testing.T, f *fake, o Options) *Client {
	t.Helper()
	o.Transport = f
	if o.Log == nil {
		o.Log = quiet()
	}
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// everywhere runs a test for both eras over both kinds of transport.
func everywhere(t *testing.T, test func(t *testing.T, version string, streams bool)) {
	for _, version := range []string{modern, legacy} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s streams %v", version, streams), func(t *testing.T) { test(t, version, streams) })
		}
	}
}
