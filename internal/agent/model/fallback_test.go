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
	if r.err != nil || *r.reply.Usage != (model.Usage{Input: 8, Output: 2, Total: 10}) || !slices.Contains(r.notices, r.notices[0]) {
		t.Errorf("%+v", r)
	}
}
