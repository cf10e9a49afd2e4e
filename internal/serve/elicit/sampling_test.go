package elicit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func sampling(payload string) *session.Suspension {
	return &session.Suspension{CallID: "c3", ID: "q3", Kind: model.Sampling, Message: "m", Payload: json.RawMessage(payload)}
}

// TestFit: a client gets the form of sampling that its version and its
// capabilities have, or nothing.
func TestFit(t *testing.T) {
	const (
		plain = `{"messages":[{"role":"user","content":[{"type":"text","text":"<a>"},{"type":"image","data":"aQ==","mimeType":"image/png"}]},{"role":"assistant","content":{"type":"text","text":"b"}}],"maxTokens":12345678901234567890,"systemPrompt":"s"}`
		split = `{"messages":[{"role":"user","content":{"type":"text","text":"<a>"}},{"role":"user","content":{"type":"image","data":"aQ==","mimeType":"image/png"}},{"role":"assistant","content":{"type":"text","text":"b"}}],"maxTokens":12345678901234567890,"systemPrompt":"s"}`
		tools = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"tools":[{"name":"x","inputSchema":{"type":"object"}}],"maxTokens":1}`
		used  = `{"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"x","input":{}}]}],"maxTokens":1}`
		heard = `{"messages":[{"role":"user","content":{"type":"audio","data":"aQ==","mimeType":"audio/wav"}}],"maxTokens":1}`
	)
	for _, tt := range []struct {
		name, payload, protocol string
		samples, withTools      bool
		want, why               string
	}{
		{"no sampling", plain, "2026-07-28", false, false, "", "needs a calling host that offers sampling"},
		{"tools, modern", tools, "2026-07-28", true, true, tools, ""},
		{"tools, 2025-11-25", used, "2025-11-25", true, true, used, ""},
		{"tools before they were there", tools, "2025-06-18", true, true, "", "cannot call tools (sampling.tools)"},
		{"tools not offered", tools, "2026-07-28", true, false, "", "cannot call tools (sampling.tools)"},
		{"tools in the history", used, "2026-07-28", true, false, "", "cannot call tools (sampling.tools)"},
		{"no tools", plain, "2026-07-28", true, false, split, ""},
		{"one block a message", plain, "2025-06-18", true, false, split, ""},
		{"whole", plain, "2025-11-25", true, true, plain, ""},
		{"audio", heard, "2025-03-26", true, false, heard, ""},
		{"audio too early", heard, "2024-11-05", true, false, "", "no audio before MCP 2025-03-26"},
		{"nothing", "", "2025-11-25", true, true, "", "cannot be read"},
		{"not readable", `{"messages":1}`, "2025-06-18", true, false, "", "cannot be read"},
	} {
		c := &turns.Client{Protocol: tt.protocol, Samples: tt.samples, SamplesTools: tt.withTools, Elicits: true}
		q := sampling(tt.payload)
		why := Unfit(q, c)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q", tt.name, why)
		}
		if why != "" {
			continue
		}
		r := For(q, c)
		if diff := cmp.Diff(canonical(t, []byte(tt.want)), canonical(t, r.Params.(json.RawMessage))); r.Method != "sampling/createMessage" || diff != "" {
			t.Errorf("%s: %s %s", tt.name, r.Method, diff)
		}
	}
}

// canonical is JSON with its numbers as written.
func canonical(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// TestUnfit: who can only sample is not asked as a person, and the other way round.
func TestUnfit(t *testing.T) {
	for _, tt := range []struct {
		client turns.Client
		q      *session.Suspension
		fits   bool
	}{
		{turns.Client{Protocol: "2025-11-25", Elicits: true}, approval, true},
		{turns.Client{Protocol: "2025-03-26", Elicits: true}, approval, false},
		{turns.Client{Protocol: "2025-11-25", Samples: true, SamplesTools: true}, approval, false},
		{turns.Client{Protocol: "2025-11-25", Samples: true, SamplesTools: true}, question, false},
		{turns.Client{Protocol: "2024-11-05", Samples: true}, sampling(`{"messages":[]}`), true},
		{turns.Client{Protocol: "2025-11-25", Elicits: true}, sampling(`{"messages":[]}`), false},
	} {
		if why := Unfit(tt.q, &tt.client); (why == "") != tt.fits {
			t.Errorf("%+v, %s: %q", tt.client, tt.q.Kind, why)
		}
	}
}

func TestSampled(t *testing.T) {
	const result = `{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"}`
	got := Answer(sampling("{}"), json.RawMessage(result))
	if diff := cmp.Diff(session.Answer{CallID: "c3", ID: "q3", Action: "accept", Payload: json.RawMessage(result)}, got); diff != "" {
		t.Error(diff)
	}
	if got := Answer(sampling("{}"), nil); got.Action != model.Cancel || got.Reason == "" {
		t.Errorf("nothing: %+v", got)
	}
	if got := Unanswered(sampling("{}"), "r", -1); got.Action != model.Decline || got.ID != "q3" || got.Reason != "r" {
		t.Errorf("unanswered: %+v", got)
	}
	if got := Unanswered(sampling("{}"), "r", -32603); got.Action != model.Cancel {
		t.Errorf("a failure is no refusal: %+v", got)
	}
	if got := Unanswered(approval, "r", -1); got.Action != model.Cancel {
		t.Errorf("unanswered: %+v", got)
	}
}

// TestSealed: what is only for the asking side does not go with the client, and of
// what a model is asked nothing.
func TestSealed(t *testing.T) {
	s := NewSealer([]byte("a key"), time.Now)
	asked, form := *sampling(`{"messages":[]}`), *question
	asked.Opaque, form.Opaque = json.RawMessage(`{"own":1}`), json.RawMessage(`{"own":2}`)
	in := State{Key: session.Key{Principal: "ann", Agent: "a"}, Questions: []session.Suspension{asked, form}, Expires: time.Now().Add(time.Minute)}
	text, err := s.Seal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Open(text, "ann", "a", "")
	want := []session.Suspension{{CallID: "c3", ID: "q3", Kind: model.Sampling}, *question}
	if diff := cmp.Diff(want, out.Questions); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	if asked.Payload == nil || in.Questions[0].Opaque == nil {
		t.Error("sealing has changed the question")
	}
}
