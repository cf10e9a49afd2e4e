package chat

import (
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxDescription is how many characters OpenAI takes as the description of a tool;
// no other service documents a bound.
const maxDescription = 1024

// describe gives what stands in the declaration of a tool, and the rest of its
// description, which stands in the system text.
func (as manner) describe(description string) (declared, rest string) {
	runes := []rune(description)
	if !as.brief || len(runes) <= maxDescription {
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

// system is the system text, what there is more to say of tools, and the schema of an
// answer that nothing else holds to it.
func system(req *model.Request, as manner, held bool) string {
	var all strings.Builder
	all.WriteString(req.System)
	for _, tool := range req.Tools {
		if _, rest := as.describe(tool.Description); rest != "" {
			all.WriteString("\n\nMore on the tool " + tool.Name + ":\n…" + rest)
		}
	}
	text := strings.TrimLeft(all.String(), "\n")
	if held {
		return text
	}
	return wire.Demanding(text, req)
}
