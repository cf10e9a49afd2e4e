package chat

import (
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// maxDescription is how many characters OpenAI takes as the description of a tool;
// other servers know no bound.
const maxDescription = 1024

// describe gives what stands in the declaration of a tool, and the rest of its
// description, which stands in the system text.
func (s *settings) describe(description string) (declared, rest string) {
	runes := []rune(description)
	if !s.isOpenAI() || len(runes) <= maxDescription {
		return description, ""
	}
	end := maxDescription - 1 // the last one is …
	for at := end; at > end/2; at-- {
		if unicode.IsSpace(runes[at]) {
			end = at
			break
		}
	}
	return strings.TrimSpace(string(runes[:end])) + "…", strings.TrimSpace(string(runes[end:]))
}

// system is the system text, and what there is more to say of tools.
func (m *Model) system(req *model.Request) string {
	var all strings.Builder
	all.WriteString(req.System)
	for _, tool := range req.Tools {
		if _, rest := m.settings.describe(tool.Description); rest != "" {
			all.WriteString("\n\nMore on the tool " + tool.Name + ":\n…" + rest)
		}
	}
	return strings.TrimLeft(all.String(), "\n")
}
