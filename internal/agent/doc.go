// Package agent runs agents: it takes a caller's message through model calls
// and tool calls to an answer, and records every step as an event of the
// conversation.
//
// Start with [Runner.Run]. A run is a fold over the events: history.apply in
// history.go computes from them what has to happen next, turn.go does it and
// appends what came of it, and ask.go asks the model. So a turn that broke off
// anywhere, even in another process, goes on from its events, and nothing that is
// recorded runs twice.
// Packages instruction, compaction, budget and output know what a model call is
// made of and held to: the instruction with the session's state, the conversation
// at its length, the limits and output_schema.
//
// [Tool] and [Toolset] are what the runner calls; package tools makes them
// from an agent file. Package answer tells what a run comes to, for those who only
// want its end.
package agent
