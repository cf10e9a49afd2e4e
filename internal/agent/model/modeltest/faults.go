package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// streams are about answers that do not come to their end.
func (s *suite) streams(t *testing.T) {
	cases := []struct {
		name   string
		answer Answer
		code   model.Code
	}{
		{"no finish marker", Answer{Text: []string{"half an ans"}, End: NoMarker}, model.StreamCut},
		{"no finish marker after a call", Answer{Calls: []Call{{Name: "a", Args: `{}`}}, End: NoMarker}, model.StreamCut},
		{"connection lost", Answer{Text: []string{"half an ans"}, End: Cut}, model.StreamCut},
		{"half an event", Answer{Text: []string{"half an ans"}, End: HalfEvent}, model.StreamCut},
		{"HTML", Answer{Status: 200, Body: "<html><body>Sign in</body></html>"}, model.Misconfigured},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, req := s.withTools(t, "a")
			f.Play(c.answer)
			o := ask(t.Context(), t, f.Model, req)
			clean(t, f)
			if o.code() != c.code || o.reply != nil {
				t.Errorf("code %q, %+v", o.code(), o)
			}
			o.secret(t, f)
		})
	}
	t.Run("an empty body", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Status: 200, Body: " "})
		if o := ask(t.Context(), t, f.Model, request(user("hi"))); o.code() != model.StreamCut && o.code() != model.Unavailable && o.code() != model.Empty {
			t.Errorf("%+v", o)
		}
	})
	t.Run("cut once, then whole", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"half"}, End: NoMarker}, Answer{Text: []string{"whole"}})
		retrying := model.Retrying(f.Model, model.Policy{Retries: 3, Rand: func() float64 { return 0 }})
		o := ask(t.Context(), t, retrying, request(user("hi")))
		clean(t, f)
		if o.err != nil || o.text() != "whole" || len(o.notices) != 1 || !strings.Contains(o.notices[0], "starts again") {
			t.Errorf("%+v", o)
		}
	})
}

// refusals are answers with another status than 200.
func (s *suite) refusals(t *testing.T) {
	cases := []struct {
		status int
		after  string
		body   string
		code   model.Code
		says   string
	}{
		{status: 400, code: model.InvalidRequest, says: "400"},
		{status: 401, code: model.Unauthorized, says: s.traits.Who},
		{status: 403, code: model.Unauthorized, says: s.traits.Who},
		{status: 404, code: model.NotFound, says: "model.name"},
		{status: 413, code: model.ContextOverflow, says: "too long"},
		{status: 429, code: model.RateLimited, says: "429"},
		{status: 429, after: "7", code: model.RateLimited, says: "429"},
		{status: 500, code: model.Unavailable, says: "500"},
		{status: 502, body: "<html>bad gateway</html>", code: model.Unavailable, says: "502"},
		{status: 503, code: model.Unavailable, says: "503"},
		{status: 529, code: model.Unavailable, says: "529"},
		{status: 302, body: "moved", code: model.Misconfigured, says: "model.base_url"},
		{status: 418, body: "{}", code: model.InvalidRequest, says: "418"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.status, c.after), func(t *testing.T) {
			f := s.make(t)
			f.Play(Answer{Status: c.status, RetryAfter: c.after, Body: c.body})
			o := ask(t.Context(), t, f.Model, request(user("hi")))
			var e *model.Error
			if !errors.As(o.err, &e) || e.Code != c.code || e.Status != c.status || !strings.Contains(e.Error(), c.says) {
				t.Fatalf("%+v", o.err)
			}
			if want, _ := time.ParseDuration(c.after + "s"); c.after != "" && e.RetryAfter != want {
				t.Errorf("asks to wait %s", e.RetryAfter)
			}
			o.secret(t, f)
		})
	}
	t.Run("the history is too long", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Status: 400, Overflow: true})
		if o := ask(t.Context(), t, f.Model, request(user("hi"))); o.code() != model.ContextOverflow {
			t.Errorf("%v", o.err)
		}
	})
	t.Run("a service that says the key again", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Status: 401, Body: "bad key " + f.Key})
		o := ask(t.Context(), t, f.Model, request(user("hi")))
		if o.code() != model.Unauthorized {
			t.Errorf("%v", o.err)
		}
		o.secret(t, f)
	})
}

// cancel stops calls in the middle.
func (s *suite) cancel(t *testing.T) {
	t.Run("by the caller", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"half"}, End: Hang})
		reason := errors.New("the caller has gone")
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		var got error
		for reply, err := range f.Model.Generate(ctx, request(user("hi"))) {
			got = err
			if reply != nil && reply.Partial {
				stop(reason)
			}
		}
		if !errors.Is(got, reason) {
			t.Errorf("%v", got)
		}
	})
	t.Run("by breaking off", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"half"}, End: Hang}, Answer{Text: []string{"again"}})
		for _, err := range f.Model.Generate(t.Context(), request(user("hi"))) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if o := ask(t.Context(), t, f.Model, request(user("hi"))); o.text() != "again" {
			t.Errorf("%+v", o)
		}
	})
	t.Run("by the deadline of the turn", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"half"}, End: Hang})
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		if o := ask(ctx, t, f.Model, request(user("hi"))); o.code() != model.Timeout {
			t.Errorf("%v", o.err)
		}
	})
	t.Run("before it begins", func(t *testing.T) {
		f := s.make(t)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if o := ask(ctx, t, f.Model, request(user("hi"))); !errors.Is(o.err, context.Canceled) {
			t.Errorf("%v", o.err)
		}
	})
}
