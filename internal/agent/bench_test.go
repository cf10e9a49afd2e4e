package agent_test

import (
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/config"
)

// BenchmarkTurn measures one turn with two model calls and one tool call, in
// a new conversation and in one that already has hundreds of turns.
func BenchmarkTurn(b *testing.B) {
	m, err := scripted.New([]config.Rule{{Steps: []config.Step{
		{Call: []config.ScriptCall{{Tool: "echo", Args: []byte(`{"text":"hello"}`)}}},
		{Reply: "It says {echo}."},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, r *agent.Runner) {
		a, err := answer.Collect(r.Run(b.Context(), request("go")), nil)
		if err != nil || a.Problem != nil {
			b.Fatal(err, a.Problem)
		}
	}
	b.Run("new", func(b *testing.B) {
		t := newBench()
		r := t.runner(m, newTool("echo", echo))
		b.ReportAllocs()
		for b.Loop() {
			run(b, r)
			b.StopTimer()
			_ = t.store.Delete(b.Context(), key)
			b.StartTimer()
		}
	})
	b.Run("turn500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			t := newBench()
			r := t.runner(m, newTool("echo", echo))
			for range 499 {
				run(b, r)
			}
			b.StartTimer()
			run(b, r)
		}
	})
}
