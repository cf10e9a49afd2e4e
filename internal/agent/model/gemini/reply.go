package gemini

import (
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// gathering puts the chunks of one answer together.
type gathering struct {
	chunks int
	parts  []*genai.Part
	run    strings.Builder // text that belongs to the last of parts
	open   bool            // the last of parts may go on

	finish  genai.FinishReason
	message string // with finish, where the service gives one
	blocked *genai.GenerateContentResponsePromptFeedback
	usage   *genai.GenerateContentResponseUsageMetadata
}

// add takes the next chunk and gives what there is to show of it, nil for
// nothing. Function calls come with the whole answer only.
func (g *gathering) add(chunk *genai.GenerateContentResponse) *model.Reply {
	g.chunks++
	if chunk.UsageMetadata != nil { // a running total
		g.usage = chunk.UsageMetadata
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		g.blocked = f
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return nil
	}
	candidate := chunk.Candidates[0]
	if f := candidate.FinishReason; f != "" && f != genai.FinishReasonUnspecified {
		g.finish, g.message = f, candidate.FinishMessage
	}
	if candidate.Content == nil {
		return nil
	}
	var shown []*genai.Part
	for _, p := range candidate.Content.Parts {
		if g.part(p) && p.FunctionCall == nil && !isHosted(p) && !model.IsBlank(p) {
			shown = append(shown, p)
		}
	}
	if shown == nil {
		return nil
	}
	return &model.Reply{Partial: true, Content: &genai.Content{Role: genai.RoleModel, Parts: shown}}
}

// part takes one part. Text goes on in the part before it if both are thoughts
// or both are not; a part with a signature stays as it is, at its place. An
// empty part without a signature, as it closes a stream, is nothing.
func (g *gathering) part(p *genai.Part) bool {
	switch {
	case p == nil || model.IsBlank(p) && len(p.ThoughtSignature) == 0:
		return false
	case isPlainText(p):
		if g.open && g.parts[len(g.parts)-1].Thought == p.Thought {
			g.run.WriteString(p.Text)
			return true
		}
		g.close()
		g.parts = append(g.parts, &genai.Part{Thought: p.Thought})
		g.run.WriteString(p.Text)
		g.open = true
		return true
	}
	restoreArgs(p)
	g.close()
	g.parts = append(g.parts, p)
	return true
}

// close ends the text that is being gathered.
func (g *gathering) close() {
	if g.open {
		g.parts[len(g.parts)-1].Text = g.run.String()
		g.run.Reset()
		g.open = false
	}
}

// isPlainText reports whether a part is text and nothing more.
func isPlainText(p *genai.Part) bool {
	rest := *p
	rest.Text = ""
	return p.Text != "" && model.IsBlank(&rest) && len(p.ThoughtSignature) == 0 &&
		p.VideoMetadata == nil && p.MediaResolution == nil && p.PartMetadata == nil && p.SpeechMetadata == nil
}

// reply is the whole answer, or what is wrong with it.
func (g *gathering) reply() (*model.Reply, error) {
	g.close()
	problem, keep := g.verdict()
	if problem != nil && !keep {
		problem.Usage = usage(g.usage)
		return nil, problem
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: g.parts},
		FinishReason: string(g.finish),
		Usage:        usage(g.usage),
		Problem:      problem,
	}, nil
}

func usage(u *genai.GenerateContentResponseUsageMetadata) *model.Usage {
	if u == nil {
		return nil
	}
	out := &model.Usage{
		Input:    int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount),
		Output:   int64(u.CandidatesTokenCount),
		Thoughts: int64(u.ThoughtsTokenCount),
		Cached:   int64(u.CachedContentTokenCount),
		Total:    int64(u.TotalTokenCount),
	}
	if out.Total == 0 {
		out.Total = out.Input + out.Output + out.Thoughts
	}
	return out
}
