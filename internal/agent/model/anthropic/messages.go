package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// message is one message of a conversation.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// The roles.
const (
	user      = "user"
	assistant = "assistant"
)

// Texts of ours in a conversation.
const (
	goOn     = "Go on."                                    // the service wants a user at both ends
	noResult = "There is no result: the call never ended." // and a result for each call
)

// turn is what one side says until the other does.
type turn struct {
	role    string
	blocks  []block // of calls only their place, in calls
	calls   []*genai.FunctionCall
	results []*genai.FunctionResponse
}

// empty reports whether a turn says nothing.
func (t *turn) empty() bool { return len(t.blocks)+len(t.results) == 0 }

// messagesOf turns contents into messages by the service's rules: users and assistants
// alternate and a user has the first and the last word; all results of an assistant's
// calls stand at the beginning of the next message, each under the id of its call; no
// text is blank. Only thoughts of the model of that name are kept.
//
// Histories of other providers are taken as they are: what the service could not
// read is said in words.
func messagesOf(contents []*genai.Content, thoughtsOf string) ([]message, error) {
	turns, err := turnsOf(contents, thoughtsOf)
	if err != nil {
		return nil, err
	}
	var all []message
	ids := usedIDs{}
	var open []pending
	for i := range turns {
		t := &turns[i]
		if t.role == assistant {
			open = ids.name(t)
			all = append(all, message{assistant, ordered(t.blocks)})
			continue
		}
		content, err := answered(t, open)
		if err != nil {
			return nil, err
		}
		all, open = append(all, message{user, content}), nil
	}
	if len(all) == 0 || all[0].Role == assistant {
		all = slices.Insert(all, 0, message{user, []block{textBlock(goOn)}})
	}
	if all[len(all)-1].Role == assistant {
		content, err := answered(&turn{}, open)
		if err != nil {
			return nil, err
		}
		if content == nil {
			content = []block{textBlock(goOn)}
		}
		all = append(all, message{user, content})
	}
	return all, nil
}

// turnsOf reads contents, neighbours of one role together.
func turnsOf(contents []*genai.Content, thoughtsOf string) ([]turn, error) {
	var turns []turn
	for _, c := range contents {
		if c == nil {
			continue
		}
		t := turn{role: user}
		if c.Role == genai.RoleModel || c.Role == assistant {
			t.role = assistant
		}
		for _, p := range c.Parts {
			if err := t.add(p, thoughtsOf); err != nil {
				return nil, err
			}
		}
		for n := len(t.blocks); n > 0 && t.blocks[n-1].isThought(); n-- {
			t.blocks = t.blocks[:n-1] // the service takes none at the end
		}
		n := len(turns)
		switch {
		case t.empty():
		case n > 0 && turns[n-1].role == t.role:
			last := &turns[n-1]
			last.blocks = append(last.blocks, t.blocks...)
			last.calls = append(last.calls, t.calls...)
			last.results = append(last.results, t.results...)
		default:
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// add reads one part.
func (t *turn) add(p *genai.Part, thoughtsOf string) error {
	switch {
	case p == nil:
	case p.Thought:
		if b, ok := thoughtBlock(p, thoughtsOf); ok && t.role == assistant && thoughtsOf != "" {
			t.blocks = append(t.blocks, b)
		}
	case p.FunctionCall != nil && t.role == assistant:
		input, err := wire.Arguments(p.FunctionCall)
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, block{Type: "tool_use", Name: callName(p.FunctionCall.Name), Input: input})
		t.calls = append(t.calls, p.FunctionCall)
	case p.FunctionResponse != nil && t.role == user:
		t.results = append(t.results, p.FunctionResponse)
	default:
		t.blocks = append(t.blocks, plainBlocks(p, t.role == assistant)...)
	}
	return nil
}

// ordered gives an assistant's blocks as the service takes them: nothing follows the
// last call. Only where two contents were read together does something.
func ordered(blocks []block) []block {
	call := len(blocks) - 1
	for call >= 0 && blocks[call].Type != "tool_use" {
		call--
	}
	if call < 0 {
		return blocks
	}
	out := slices.Clone(blocks[:call])
	for _, b := range blocks[call+1:] {
		if b.Type == "text" {
			out = append(out, b)
		}
	}
	return append(out, blocks[call])
}

// begunWithThought reports whether each message of the assistant's turn that goes on
// begins with a thought, as far as the service asks: those after something else than
// results.
func begunWithThought(messages []message) bool {
	for i := len(messages) - 1; i > 0; i -= 2 {
		content := messages[i].Content
		if content[0].Type != "tool_result" {
			return true // a new turn begins here
		}
		before := i - 2
		onlyResults := before >= 0 && !slices.ContainsFunc(messages[before].Content, func(b block) bool { return b.Type != "tool_result" })
		if !onlyResults && !messages[i-1].Content[0].isThought() {
			return false
		}
	}
	return true
}

// pending is a call that waits for its result.
type pending struct {
	call *genai.FunctionCall
	id   string
	done bool
}

// answered gives the blocks of a user's turn after calls: their results in order, one
// for each, and then the rest.
func answered(t *turn, open []pending) ([]block, error) {
	results := make([]*genai.FunctionResponse, len(open))
	var beside []block
	for _, r := range t.results {
		if i := slices.IndexFunc(open, func(p pending) bool { return p.takes(r) }); i >= 0 {
			open[i].done, results[i] = true, r
			continue
		}
		text, _, err := wire.Output(r)
		if err != nil {
			return nil, err
		}
		data, note := dataBlocks(wire.Media(r))
		beside = append(beside, textBlock(strings.TrimSpace(fmt.Sprintf("[result of %s, whose call is missing]\n%s\n%s", r.Name, text, note))))
		beside = append(beside, data...)
	}
	var all []block
	for i, p := range open {
		result, more, err := resultBlock(results[i])
		if err != nil {
			return nil, err
		}
		result.ToolUseID = p.id
		all = append(all, result)
		beside = append(beside, more...)
	}
	return append(append(all, beside...), t.blocks...), nil
}

// takes reports whether a response is to this call.
func (p *pending) takes(r *genai.FunctionResponse) bool {
	if p.done {
		return false
	}
	if p.call.ID == "" || r.ID == "" {
		return p.call.Name == r.Name
	}
	return p.call.ID == r.ID
}

// resultBlock gives the block of a response, nil for one that is missing. Images of a
// failed one stand beside it, since the service takes only text there.
func resultBlock(r *genai.FunctionResponse) (out block, beside []block, err error) {
	out = block{Type: "tool_result"}
	if r == nil {
		out.Content, out.IsError = noResult, true
		return out, nil, nil
	}
	text, failed, err := wire.Output(r)
	if err != nil {
		return out, nil, err
	}
	data, note := dataBlocks(wire.Media(r))
	if note != "" {
		text = strings.TrimLeft(text+"\n"+note, "\n")
	}
	out.IsError = failed
	switch {
	case len(data) > 0 && !failed:
		if !isBlank(text) {
			data = slices.Insert(data, 0, textBlock(text))
		}
		out.Content = data
		return out, nil, nil
	case !isBlank(text):
		out.Content = text
	case failed:
		out.Content = "failed"
	}
	return out, data, nil
}

// The service's rules for ids and names of calls.
var (
	goodID   = pattern(`^[a-zA-Z0-9_-]{1,64}$`)
	badRunes = pattern(`[^a-zA-Z0-9_-]`)
)

// callName is the name of a call of the past. It may be one that no tool has.
func callName(name string) string {
	name = badRunes().ReplaceAllString(name, "_")
	if name == "" {
		return "_"
	}
	return name[:min(len(name), 64)]
}

// usedIDs are the ids of a conversation, where the service wants each but once.
type usedIDs map[string]bool

// name gives the calls of a turn their ids, and lists them.
func (u usedIDs) name(t *turn) []pending {
	open := make([]pending, 0, len(t.calls))
	for i := range t.blocks {
		if t.blocks[i].Type != "tool_use" {
			continue
		}
		call := t.calls[len(open)]
		t.blocks[i].ID = u.take(call.ID)
		open = append(open, pending{call: call, id: t.blocks[i].ID})
	}
	return open
}

// take gives an id that the service takes for one of any form. The same history gets
// the same ids again.
func (u usedIDs) take(id string) string {
	if !goodID().MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = "toolu_" + hex.EncodeToString(sum[:12])
	}
	unique := id
	for n := 2; u[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", id, n)
	}
	u[unique] = true
	return unique
}
