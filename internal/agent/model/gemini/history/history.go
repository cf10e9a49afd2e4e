// Package history brings a conversation into the form in which Gemini takes it,
// whosever it was: a model's turn stands between two of the user's, each call has one
// result, in the content that comes next and holds nothing else, and no part is empty
// or of a kind that the service refuses.
//
// Start with [Of]. Parts.go has what becomes of a single part, media.go of its data,
// results.go of the responses of tools.
package history

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// goOn is what the user says where the service wants a user and there is none.
const goOn = "Go on."

// Reader is whom a conversation is for.
type Reader struct {
	Older  bool // a model before Gemini 3: no signatures of calls, no data within a response
	Vertex bool // Vertex AI, which does not know all parts of the Gemini API
	// Unsigned is for one that refused the signatures: they are of another model, key or
	// service. Then it is told a history that another model made.
	Unsigned bool
}

// Of gives contents as the service takes them. The contents that are given are not
// written to; what needs no change is shared with the result. The error says what
// cannot be told as JSON.
func Of(contents []*genai.Content, r Reader) ([]*genai.Content, error) {
	c := conversation{Reader: r}
	for _, content := range contents {
		switch {
		case content == nil:
		case content.Role == genai.RoleModel:
			c.model(content.Parts)
		default:
			c.user(content.Parts)
		}
	}
	c.answer()
	if n := len(c.out); c.err == nil && (n == 0 || c.out[n-1].Role == genai.RoleModel) {
		c.add(genai.RoleUser, &genai.Part{Text: goOn})
	}
	return c.out, c.err
}

// conversation is a history that is being made.
type conversation struct {
	Reader
	out []*genai.Content
	err error // the first one

	open  []*pending    // calls of the last content of the model
	aside []*genai.Part // what else was said since then
}

// pending is a call that waits for its result.
type pending struct {
	call   *genai.FunctionCall // as it is sent
	id     string              // as the history has them
	name   string
	result *genai.FunctionResponse
}

// add adds a content; the model's own follow only the user's.
func (c *conversation) add(role string, parts ...*genai.Part) {
	if len(c.out) == 0 && role == genai.RoleModel {
		c.add(genai.RoleUser, &genai.Part{Text: goOn})
	}
	c.out = append(c.out, &genai.Content{Role: role, Parts: parts})
}

// model adds what the model said. Neighbours become one, since the service refuses
// two of its turns in a row.
func (c *conversation) model(parts []*genai.Part) {
	said, calls := c.said(parts)
	if !says(said) {
		return
	}
	if len(c.aside) > 0 || slices.ContainsFunc(c.open, func(p *pending) bool { return p.result != nil }) {
		c.answer()
	}
	if n := len(c.out); n > 0 && c.out[n-1].Role == genai.RoleModel {
		c.out[n-1].Parts = append(c.out[n-1].Parts, said...)
	} else {
		c.add(genai.RoleModel, said...)
	}
	c.open = append(c.open, calls...)
}

// user takes what came from outside: results of the calls that are open, and the rest.
func (c *conversation) user(parts []*genai.Part) {
	var rest []*genai.Part
	for _, p := range parts {
		if p != nil && p.FunctionResponse != nil && c.takes(p.FunctionResponse) {
			continue
		}
		rest = append(rest, c.heard(p)...)
	}
	switch {
	case !says(rest):
	case len(c.open) > 0: // results may still come
		c.aside = append(c.aside, rest...)
	default:
		c.add(genai.RoleUser, rest...)
	}
}

// takes keeps a response for its call, if there is one that has none yet.
func (c *conversation) takes(r *genai.FunctionResponse) bool {
	for _, p := range c.open {
		same := p.id == r.ID
		if p.id == "" || r.ID == "" {
			same = p.name == r.Name
		}
		if same && p.result == nil {
			p.result = r
			return true
		}
	}
	return false
}

// answer gives every open call its result, in a content of their own, and adds behind
// it what was said besides.
func (c *conversation) answer() {
	if len(c.open) > 0 {
		var results, behind []*genai.Part
		for _, p := range c.open {
			inside, beside := c.result(p)
			results, behind = append(results, inside...), append(behind, beside...)
		}
		c.add(genai.RoleUser, results...)
		c.aside = append(behind, c.aside...)
	}
	if len(c.aside) > 0 {
		c.add(genai.RoleUser, c.aside...)
	}
	c.open, c.aside = nil, nil
}

// says reports whether parts say anything: not if they are blank, all of them.
func says(parts []*genai.Part) bool {
	return slices.ContainsFunc(parts, func(p *genai.Part) bool {
		rest := *p
		rest.Text = ""
		return strings.TrimSpace(p.Text) != "" || len(p.ThoughtSignature) > 0 || !model.IsBlank(&rest)
	})
}
