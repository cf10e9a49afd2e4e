package chattest

import (
	"encoding/base64"
	"encoding/json"
)

// Call is a tool call that an answer makes.
type Call struct {
	ID   string // empty: one by the server's manner
	Name string
	Args string // JSON or not
}

// Answer is what the server says on one request. The zero value is an answer that is
// empty and ends well.
type Answer struct {
	Thought string
	Text    []string // pieces
	Image   []byte   // a PNG
	Refusal string
	Calls   []Call
	Finish  string // the finish_reason, where it is not the usual one

	NoFinish  bool // the stream ends cleanly, without a finish_reason
	Cut       bool // the connection is dropped after the pieces
	HalfEvent bool // the stream ends cleanly within an event
	Hang      bool // after the pieces nothing comes until the request ends

	Events []string // the data of the stream's events, in place of all of that

	Status     int // an error
	RetryAfter string
	Overflow   bool   // it is about a history that is too long
	Body       string // in place of the server's own; with Status 200 a body that is no answer
}

type object = map[string]any

// stream gives the data of an answer's events.
func (m *Manner) stream(a *Answer, id int) []string {
	var events []string
	add := func(delta object, finish any) {
		event := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}}}
		if m.Usage == CountEvery {
			event["usage"] = usage(len(events) + 1)
		}
		if m.BigExtra {
			event["timings"], event["provider"], event["system_fingerprint"] = object{"prompt_n": 1.5}, "somebody", nil
		}
		events = append(events, text(event))
	}
	if !m.NoRole {
		add(object{"role": "assistant", "content": m.content("")}, nil)
	}
	for _, delta := range m.thoughts(a.Thought) {
		add(delta, nil)
	}
	for _, piece := range a.Text {
		add(object{"content": m.content(piece)}, nil)
	}
	if a.Image != nil && m.Images {
		add(object{"images": images(a.Image)}, nil)
	}
	if a.Refusal != "" {
		add(object{"refusal": a.Refusal}, nil)
	}
	for _, delta := range m.callPieces(a, id) {
		add(delta, nil)
	}
	if a.NoFinish || a.Cut || a.HalfEvent || a.Hang {
		return events
	}
	last := object{}
	if m.Again && len(a.Calls) > 0 {
		last["tool_calls"] = m.again(a, id)
	}
	add(last, m.finish(a))
	if m.Message {
		events = append(events, m.whole(a, id))
	}
	if m.Usage == CountLast {
		events = append(events, text(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []any{}, "usage": usage(7)}))
	}
	return events
}

// images are the list that stands beside the content (OpenRouter, "Image Generation").
func images(data []byte) []any {
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
	return []any{object{"type": "image_url", "index": 0, "image_url": object{"url": url}}}
}

// usage counts 10 tokens of the prompt, 3 of them cached, and n of the answer, 2 of
// them for thoughts.
func usage(n int) object {
	return object{"prompt_tokens": 10, "completion_tokens": n + 2, "total_tokens": 12 + n,
		"prompt_tokens_details": object{"cached_tokens": 3}, "completion_tokens_details": object{"reasoning_tokens": 2}}
}

func (m *Manner) finish(a *Answer) any {
	switch {
	case a.NoFinish:
		return nil
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0 && m.CallFinish != "":
		return m.CallFinish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// content is a text as the server gives it.
func (m *Manner) content(s string) any {
	switch {
	case s == "" && m.NullContent:
		return nil
	case m.ContentList && s != "":
		return []any{object{"type": "text", "text": s}}
	}
	return s
}

// thoughts gives the pieces of a thought.
func (m *Manner) thoughts(s string) []object {
	if s == "" {
		return nil
	}
	half := len(s) / 2
	if m.InContent {
		return []object{{"content": []any{object{"type": "thinking", "thinking": []any{object{"type": "text", "text": s}}}}}}
	}
	if m.Reasoning == "" {
		return nil
	}
	var all []object
	for _, piece := range []string{s[:half], s[half:]} {
		delta := object{m.Reasoning: piece, "content": m.content("")}
		if m.Details {
			delta["reasoning_details"] = []any{object{"type": "reasoning.text", "text": piece, "format": "f", "index": 0}}
		}
		all = append(all, delta)
	}
	if m.Details {
		all = append(all, object{"reasoning_details": []any{object{"type": "reasoning.text", "text": "", "signature": "sig of " + s, "index": 0}}})
	}
	return all
}

// callPieces gives the pieces of calls.
func (m *Manner) callPieces(a *Answer, first int) []object {
	if m.Legacy && len(a.Calls) == 1 {
		return []object{{"function_call": object{"name": a.Calls[0].Name, "arguments": m.args(a.Calls[0].Args)}}}
	}
	var all []object
	var atOnce []any
	for i, c := range a.Calls {
		piece := func(args any, withName bool) object {
			f := object{"arguments": args}
			p := object{"function": f}
			if m.Signatures && i == 0 && withName {
				p["extra_content"] = object{"google": object{"thought_signature": "signed"}}
			}
			if id := m.id(a, i, first); id != "" && withName {
				p["id"], p["type"] = id, "function"
			}
			if withName {
				f["name"] = c.Name
			}
			switch {
			case m.ZeroIndex:
				p["index"] = 0
			case !m.NoIndex:
				p["index"] = i
			}
			return p
		}
		switch {
		case m.OneChunk:
			atOnce = append(atOnce, piece(m.args(c.Args), true))
		case m.WholeCalls:
			all = append(all, object{"tool_calls": []any{piece(m.args(c.Args), true)}})
		default:
			half := len(c.Args) / 2
			for n, args := range []string{"", c.Args[:half], c.Args[half:], ""} {
				all = append(all, object{"tool_calls": []any{piece(args, n == 0 || m.RepeatName)}})
			}
		}
	}
	if atOnce != nil {
		all = append(all, object{"tool_calls": atOnce})
	}
	return all
}

// again gives all calls whole, with their arguments encoded twice.
func (m *Manner) again(a *Answer, first int) []any {
	var all []any
	for i, c := range a.Calls {
		args := c.Args
		if args != "" {
			args = text(args)
		}
		all = append(all, object{"index": i, "id": m.id(a, i, first), "type": "function", "function": object{"name": c.Name, "arguments": args}})
	}
	return all
}

// args are arguments as the server gives them.
func (m *Manner) args(s string) any {
	var o object
	switch {
	case s == "" && m.NullArgs:
		return nil
	case m.ObjectArgs && json.Unmarshal([]byte(s), &o) == nil:
		return json.RawMessage(s)
	}
	return s
}

// whole gives an answer as one JSON object.
func (m *Manner) whole(a *Answer, first int) string {
	message := object{"content": m.content("")}
	if !m.NoRole {
		message["role"] = "assistant"
	}
	said := ""
	for _, piece := range a.Text {
		said += piece
	}
	if said != "" {
		message["content"] = m.content(said)
	}
	if a.Thought != "" && m.Reasoning != "" {
		message[m.Reasoning] = a.Thought
	}
	if a.Refusal != "" {
		message["refusal"] = a.Refusal
	}
	if a.Image != nil && m.Images {
		message["images"] = images(a.Image)
	}
	var calls []any
	for i, c := range a.Calls {
		call := object{"type": "function", "function": object{"name": c.Name, "arguments": m.args(c.Args)}}
		if id := m.id(a, i, first); id != "" {
			call["id"] = id
		}
		calls = append(calls, call)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
		"choices": []any{object{"index": 0, "message": message, "finish_reason": m.finish(a)}}}
	if m.Usage != CountNever {
		out["usage"] = usage(7)
	}
	return text(out)
}
