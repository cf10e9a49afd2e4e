package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func chain(c *clock, models ...*outcomes) model.Model {
	var all []model.Alternative
	for i, m := range models {
		all = append(all, model.Alternative{Name: string(rune('A' + i)), Model: m})
	}
	return model.Fallback(all, time.Minute, c.Now)
}

func generate(m model.Model) (reply *model.Reply, notices []string, err error) {
	req := &model.Request{Notice: func(text string) { notices = append(notices, text) }}
	for r, e := range m.Generate(context.Background(), req) {
		reply, err = r, e
	}
	return reply, notices, err
}

func TestFallbackByCode(t *testing.T) {
	for code, passes := range map[model.Code]bool{
		model.Unauthorized: true, model.NotFound: true, model.ContextOverflow: true, model.RateLimited: true, model.Unavailable: true,
		model.StreamCut: true, model.Empty: true, model.Malformed: true, model.Timeout: true, model.Misconfigured: true,
		model.InvalidRequest: false, model.Blocked: false, model.MaxTokens: false,
	} {
		a, b := &outcomes{list: []outcome{fail(code)}}, &outcomes{list: []outcome{done}}
		reply, notices, err := generate(chain(&clock{}, a, b))
		if (reply == done.reply) != passes || (err == nil) != passes || len(b.calls) > 0 != passes || len(notices) > 0 != passes {
			t.Errorf("%s: reply %v, error %v, notices %q", code, reply, err, notices)
		}
		if passes && !strings.Contains(notices[0], "A failed ("+string(code)+"); asking B") {
			t.Errorf("notice %q", notices[0])
		}
	}
}

func TestFallbackCoolsDown(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	a, b := &outcomes{list: []outcome{fail(model.Unavailable), done}}, &outcomes{list: []outcome{done}}
	m := chain(c, a, b)
	for range 3 {
		if _, _, err := generate(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.calls) != 1 || len(b.calls) != 3 {
		t.Errorf("%d and %d calls while the first rests", len(a.calls), len(b.calls))
	}
	c.now = c.now.Add(time.Minute)
	if _, _, err := generate(m); err != nil || len(a.calls) != 2 {
		t.Errorf("%d calls after the rest, %v", len(a.calls), err)
	}
}

func TestFallbackDoesNotRestForLongHistories(t *testing.T) {
	a, b := &outcomes{list: []outcome{fail(model.ContextOverflow)}}, &outcomes{list: []outcome{done}}
	m := chain(&clock{}, a, b)
	for range 2 {
		if _, _, err := generate(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.calls) != 2 {
		t.Errorf("%d calls", len(a.calls))
	}
}

func TestFallbackAllFail(t *testing.T) {
	m := chain(&clock{}, &outcomes{list: []outcome{fail(model.Unauthorized)}}, &outcomes{list: []outcome{fail(model.Unavailable)}})
	for range 2 { // all rest, and are asked all the same
		_, _, err := generate(m)
		var e *model.Error
		if !errors.As(err, &e) || e.Code != model.Unavailable || !strings.Contains(e.Message, "A: unauthorized; B: unavailable") {
			t.Errorf("%v", err)
		}
	}
}

// asker suspends once, and remembers what came back.
type asker struct{ asked *model.Request }

func (a *asker) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if req.Answer != nil {
			a.asked = req
			yield(done.reply, nil)
			return
		}
		yield(&model.Reply{Suspend: &model.Suspension{Kind: model.Approval, Opaque: json.RawMessage(`"mine"`)}}, nil)
	}
}

func TestFallbackAnswersTheOneWhoAsked(t *testing.T) {
	c := &clock{}
	a, b := &outcomes{list: []outcome{fail(model.Unavailable), done}}, &asker{}
	m := model.Fallback([]model.Alternative{{Name: "A", Model: a}, {Name: "B", Model: b}}, time.Minute, c.Now)
	reply, _, err := generate(m)
	if err != nil || reply.Suspend == nil {
		t.Fatalf("%v %v", reply, err)
	}
	c.now = c.now.Add(time.Hour) // the first would be asked again
	req := &model.Request{Asked: reply.Suspend, Answer: &model.Answer{Action: model.Accept}}
	for r, err := range m.Generate(t.Context(), req) {
		if err != nil || r != done.reply {
			t.Errorf("%v %v", r, err)
		}
	}
	if b.asked == nil || string(b.asked.Asked.Opaque) != `"mine"` || len(a.calls) != 1 {
		t.Errorf("asked %+v, %d calls of the other", b.asked, len(a.calls))
	}
}

func TestNamed(t *testing.T) {
	inner := &model.Reply{Content: content("x"), Usage: &model.Usage{Input: 10, Output: 5, Total: 15}}
	m := model.Named("p/m", &outcomes{list: []outcome{{partial: "x", reply: inner}}}, func(u *model.Usage) float64 { return float64(u.Input) })
	reply, _, err := generate(m)
	if err != nil || reply.Model != "p/m" || reply.Usage.Cost != 10 || inner.Model != "" || inner.Usage.Cost != 0 {
		t.Errorf("%+v %v; inner %+v", reply, err, inner)
	}
}

func TestSignatures(t *testing.T) {
	signature := model.Sign("a", []byte("data"))
	data, ok := model.Signed("a", signature)
	_, other := model.Signed("b", signature)
	if !ok || string(data) != "data" || other || !model.IsSigned(signature) || model.IsSigned([]byte("raw")) {
		t.Errorf("%q %v %v", data, ok, other)
	}
}

// TestUsageOfEmptyAnswers: what an answer that was thrown away used is not lost.
func TestUsageOfEmptyAnswers(t *testing.T) {
	empty := outcome{reply: &model.Reply{Usage: &model.Usage{Input: 7, Total: 7}}}
	good := outcome{reply: &model.Reply{Content: content("x"), Usage: &model.Usage{Input: 1, Output: 2, Total: 3}}}
	r := run(t.Context(), &outcomes{list: []outcome{empty, good}}, model.Policy{Rand: func() float64 { return 0 }})
	if r.err != nil || *r.reply.Usage != (model.Usage{Input: 8, Output: 2, Total: 10, Request: 1}) || !slices.Contains(r.notices, r.notices[0]) {
		t.Errorf("%+v", r)
	}
}

// spent is a failure that used something all the same.
func spent(code model.Code, tokens int64) outcome {
	return outcome{err: &model.Error{Code: code, Message: string(code), Usage: &model.Usage{Input: tokens, Total: tokens}}}
}

// TestUsageOfFailures: what calls used that failed counts with the one that did not,
// or with the last failure.
func TestUsageOfFailures(t *testing.T) {
	good := outcome{reply: &model.Reply{Content: content("x"), Usage: &model.Usage{Input: 1, Total: 1}}}
	half := func() float64 { return 0 }
	policy := model.Policy{Retries: 1, Rand: half}
	r := run(t.Context(), &outcomes{list: []outcome{spent(model.StreamCut, 10), good}}, policy)
	if r.err != nil || r.reply.Usage.Total != 11 {
		t.Errorf("retried: %+v", r)
	}
	r = run(t.Context(), &outcomes{list: []outcome{spent(model.StreamCut, 10)}}, policy)
	var e *model.Error
	if !errors.As(r.err, &e) || e.Usage == nil || e.Usage.Total != 20 {
		t.Errorf("failed twice: %v", r.err)
	}
	a, b := &outcomes{list: []outcome{spent(model.Malformed, 10)}}, &outcomes{list: []outcome{good}}
	if reply, _, err := generate(chain(&clock{}, a, b)); err != nil || reply.Usage.Total != 11 {
		t.Errorf("fallback: %v %v", reply, err)
	}
	_, _, err := generate(chain(&clock{}, a, &outcomes{list: []outcome{spent(model.Empty, 5)}}))
	if !errors.As(err, &e) || e.Usage.Total != 15 {
		t.Errorf("all failed: %v", err)
	}
	_, _, err = generate(model.Named("p/m", a, func(u *model.Usage) float64 { return float64(u.Total) }))
	var own *model.Error
	if !errors.As(err, &e) || e.Usage.Cost != 10 || !errors.As(a.list[0].err, &own) || own.Usage.Cost != 0 {
		t.Errorf("priced: %v", err)
	}
}

// TestFallbackTellsOfOverflow: something can be done about it, whatever the last
// model said.
func TestFallbackTellsOfOverflow(t *testing.T) {
	_, _, err := generate(chain(&clock{}, &outcomes{list: []outcome{fail(model.ContextOverflow)}}, &outcomes{list: []outcome{fail(model.Unauthorized)}}))
	var e *model.Error
	if !errors.As(err, &e) || e.Code != model.ContextOverflow {
		t.Errorf("%v", err)
	}
}

// TestFallbackAfterAnAnswer: if the one who asked fails with the answer, another
// begins the step anew.
func TestFallbackAfterAnAnswer(t *testing.T) {
	asks := &outcomes{list: []outcome{{reply: &model.Reply{Suspend: &model.Suspension{Kind: model.Sampling}}}, fail(model.Misconfigured)}}
	other := &asker{}
	m := model.Fallback([]model.Alternative{{Name: "A", Model: asks}, {Name: "B", Model: other}}, time.Minute, (&clock{}).Now)
	reply, _, err := generate(m)
	if err != nil || reply.Suspend == nil {
		t.Fatal(reply, err)
	}
	var last *model.Reply
	for r, err := range m.Generate(t.Context(), &model.Request{Asked: reply.Suspend, Answer: &model.Answer{Action: model.Cancel}}) {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if last == nil || last.Suspend == nil || last.Suspend.Kind != model.Approval {
		t.Errorf("the other one was not asked anew: %+v", last)
	}
}

func TestWindowed(t *testing.T) {
	inner := &outcomes{list: []outcome{done}}
	m := model.Windowed(inner, 100, 20)
	for tokens, fits := range map[int64]bool{0: true, 80: true, 81: false} {
		var err error
		for _, e := range m.Generate(t.Context(), &model.Request{Tokens: tokens}) {
			err = e
		}
		var e *model.Error
		if fits != (err == nil) || !fits && (!errors.As(err, &e) || e.Code != model.ContextOverflow || !strings.Contains(e.Message, "context_window is 100")) {
			t.Errorf("%d tokens: %v", tokens, err)
		}
	}
	if len(inner.calls) != 2 {
		t.Errorf("%d calls", len(inner.calls))
	}
}

func TestBlankAnswers(t *testing.T) {
	r := run(t.Context(), &outcomes{list: []outcome{{reply: &model.Reply{Content: content(" \n ")}}}}, model.Policy{Rand: func() float64 { return 0 }})
	if r.code() != model.Empty {
		t.Errorf("%+v", r)
	}
}
