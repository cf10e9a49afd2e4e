package chat

import (
	"crypto/sha256"
	"encoding/base32"
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
			_, unreadable := c.split(wire.Media(r))
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
			if shown, _ := c.split(wire.Media(r)); len(shown) > 0 {
				beside = append(append(beside, piece{text: fmt.Sprintf("[what %s (%s) gave besides its result]", call.name, call.sent)}), shown...)
			}
		}
	}
	return append(beside, strays...), c.results(paired)
}

// anyID is what all servers take for an id: nine letters and digits, since Mistral's
// service and its templates take nothing else ("Tool call id was … but must be a-z,
// A-Z, 0-9, with a length of 9"). OpenAI takes no more than 40 characters.
var anyID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-zA-Z0-9]{9}\z`) })

// idOf gives the id under which a call is sent: the server's own, or one that every
// server takes; never one that another call of the message has.
func (c *conversation) idOf(id, own string) string {
	sent, good := id, anyID().MatchString(id)
	if own != "" {
		sent, good = own, true
	}
	for n := 0; ; n++ {
		if good && !slices.ContainsFunc(c.open, func(call openCall) bool { return call.sent == sent }) {
			return sent
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, id))
		sent, good = base32.StdEncoding.EncodeToString(sum[:])[:9], true
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
