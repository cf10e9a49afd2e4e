package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// errorPrefix stands before the text of a result that is one, since the API has no word
// for it.
const errorPrefix = "Error: "

// results answers the open calls, in their order; a call without an answer gets one
// that says so, since no server takes a call without its result.
func (c *conversation) results(answers map[int]*genai.FunctionResponse) error {
	for i, call := range c.open {
		text := errorPrefix + "there is no result."
		if r := answers[i]; r != nil {
			out, failed, err := wire.Output(r)
			if err != nil {
				return err
			}
			_, unreadable := split(wire.Media(r))
			if note := wire.LeftOut(unreadable); note != "" {
				out = strings.TrimLeft(out+"\n"+note, "\n")
			}
			if text = out; failed {
				text = errorPrefix + out
			}
		}
		c.messages = append(c.messages, message{Role: "tool", ToolCallID: call.sent, Content: text})
	}
	c.open = nil
	return nil
}

// answer pairs results with the open calls. It gives what stands beside the results
// in the user's next message: their images, and results of calls that there are not.
func (c *conversation) answer(answers []*genai.FunctionResponse) ([]piece, error) {
	paired := make(map[int]*genai.FunctionResponse, len(answers))
	var beside, strays []piece
	for _, r := range answers {
		i := slices.IndexFunc(c.open, func(call openCall) bool { return call.id == r.ID && call.name == r.Name })
		for i >= 0 && paired[i] != nil { // the same id again
			next := slices.IndexFunc(c.open[i+1:], func(call openCall) bool { return call.id == r.ID && call.name == r.Name })
			if i += next + 1; next < 0 {
				i = -1
			}
		}
		if i >= 0 {
			paired[i] = r
			continue
		}
		out, failed, err := wire.Output(r)
		if err != nil {
			return nil, err
		}
		if failed {
			out = errorPrefix + out
		}
		strays = append(strays, piece{text: fmt.Sprintf("[result of %s] %s", r.Name, out)})
	}
	for i, call := range c.open {
		if r := paired[i]; r != nil {
			if shown, _ := split(wire.Media(r)); len(shown) > 0 {
				beside = append(append(beside, piece{text: fmt.Sprintf("[what %s (%s) gave besides its result]", call.name, call.sent)}), shown...)
			}
		}
	}
	return append(beside, strays...), c.results(paired)
}

// goodID is what all servers take: OpenAI no more than 40 characters, others no odd
// ones. Kimi's own ids have dots and colons in them.
var goodID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-zA-Z0-9_.:-]{1,40}\z`) })

// idOf gives the id under which a call is sent: its own where every server takes it
// and no other call of the message has it.
func (c *conversation) idOf(id string) string {
	sent := id
	for n := 0; ; n++ {
		taken := slices.ContainsFunc(c.open, func(call openCall) bool { return call.sent == sent })
		if !taken && goodID().MatchString(sent) {
			return sent
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, id))
		sent = "call_" + hex.EncodeToString(sum[:12])
	}
}

// calledName is the name of a called function; one that no server takes, which a
// model made up or another service allowed, is sent with _ for what is odd.
func calledName(name string) string {
	if toolName().MatchString(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if r < 128 && toolName().MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	return (name + "_")[:min(len(name)+1, 64)]
}
