package chunk_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chunk"
)

// TestOddMembers: a member of a type that nobody foresaw is no reason to throw an
// answer away.
func TestOddMembers(t *testing.T) {
	frames := map[string]string{
		"usage": `{"usage":%s,%s}`, "error": `{"error":%s,%s}`, "delta": `{"choices":[{"delta":%s}],%s}`,
		"message": `{"choices":[{"message":%s}],%s}`, "index": `{"choices":[{"index":%s}],%s}`, "finish_reason": `{"choices":[{"finish_reason":%s}],%s}`,
	}
	for _, name := range []string{"content", "refusal", "reasoning_content", "reasoning", "reasoning_details", "tool_calls", "function_call", "images"} {
		frames[name] = `{"choices":[{"delta":{"` + name + `":%s}}],%s}`
	}
	for _, name := range []string{"index", "id", "function", "extra_content"} {
		frames["call's "+name] = `{"choices":[{"delta":{"tool_calls":[{"` + name + `":%s}]}}],%s}`
	}
	frames["image_url"] = `{"choices":[{"delta":{"images":[{"image_url":%s}]}}],%s}`
	frames["image_url's url"] = `{"choices":[{"delta":{"content":[{"image_url":{"url":%s}}]}}],%s}`
	for _, name := range []string{"name", "arguments"} {
		frames["function's "+name] = `{"choices":[{"delta":{"tool_calls":[{"function":{"` + name + `":%s}}]}}],%s}`
	}
	for name, frame := range frames {
		for _, odd := range []string{`null`, `true`, `7`, `1e999`, `"x"`, `""`, `[]`, `[null]`, `[7,"x"]`, `[[]]`, `{}`, `{"a":1}`} {
			event := fmt.Sprintf(frame, odd, `"more":1`)
			c, err := chunk.Read([]byte(event))
			if err != nil {
				t.Errorf("%s: %s: %v", name, event, err)
				continue
			}
			var calls chunk.Calls
			for _, choice := range c.Choices {
				for _, said := range []*chunk.Said{choice.Delta, choice.Message} {
					if said != nil {
						calls.Add(said.Calls)
						calls.Repeat(said.Calls)
						chunk.JoinDetails(said.Details)
					}
				}
			}
			calls.All()
		}
	}
	if _, err := chunk.Read([]byte(`{"choices":[`)); err == nil {
		t.Error("half of it is taken")
	}
}

// TestPieces cuts the arguments of two calls everywhere, in what servers send with
// each piece.
func TestPieces(t *testing.T) {
	const args = `{"a":{"b":"}{"},"c":[{},{"d":{}}],"e":"\"{}\""}`
	var want map[string]any
	if err := json.Unmarshal([]byte(args), &want); err != nil {
		t.Fatal(err)
	}
	manners := map[string]chunk.Piece{
		"nothing else": {Numbered: true}, "the name": {Numbered: true, Name: "f"}, "the id": {Numbered: true, ID: "0"},
		"both": {Numbered: true, ID: "0", Name: "f"}, "both and no index": {ID: "0", Name: "f"},
	}
	for name, with := range manners {
		for size := 1; size < len(args); size++ {
			var calls chunk.Calls
			for n := range 2 {
				for at := 0; at < len(args); at += size {
					p := with
					if at == 0 {
						p.ID, p.Name = "0", "f"
					}
					if p.ID != "" {
						p.ID = fmt.Sprint(n)
					}
					p.Index, p.Args = n, args[at:min(at+size, len(args))]
					calls.Add([]chunk.Piece{p})
				}
			}
			all, problem := calls.All()
			if problem != "" || len(all) != 2 || !cmp.Equal(all[0].Args, want) || !cmp.Equal(all[1].Args, want) || all[0].ID != "0" || all[1].ID != "1" {
				t.Fatalf("%s, pieces of %d: %s %+v", name, size, problem, all)
			}
		}
	}
}
