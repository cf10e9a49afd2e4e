// Package thinking knows how much OpenAI's models can be told to think.
//
// Start with [Effort].
package thinking

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/config"
)

// scale has all the words, from none upwards.
var scale = []config.Effort{config.NoThinking, config.MinimalThinking, config.LowThinking, config.MediumThinking, config.HighThinking}

// models are the words that models take, by the first pattern that fits a name
// (OpenAI, "Reasoning models", and the page of each model): a name as it is, with a
// date, or with what a gateway or a fine-tuning puts around it.
var models = sync.OnceValue(func() []words {
	of := func(name, efforts string) words {
		w := words{name: regexp.MustCompile(`(?:^|[/:])` + name)}
		for _, e := range scale {
			if slices.Contains(strings.Fields(efforts), string(e)) {
				w.efforts = append(w.efforts, e)
			}
		}
		return w
	}
	return []words{
		of(`gpt-5-chat`, ""),
		of(`gpt-5\.\d+-chat`, "medium"),
		of(`gpt-5-pro`, "high"),
		of(`gpt-5\.\d+-pro`, "medium high"),
		of(`gpt-5-codex`, "low medium high"),
		of(`gpt-5\.\d+-codex`, "low medium high"),
		of(`gpt-5(?:[-:]|$)`, "minimal low medium high"),
		of(`gpt-5\.\d`, "none low medium high"),
		of(`o1-(?:mini|preview)`, ""),
		of(`o\d`, "low medium high"),
		of(`(?:gpt-[1-4]|chatgpt-|davinci|babbage)`, ""),
	}
})

// words are the efforts that the models of a name take; none for those that do not
// think.
type words struct {
	name    *regexp.Regexp
	efforts []config.Effort
}

// Effort gives the word of a model that comes nearest to the one that is wanted, the
// higher one of two that are as near. It is empty where the model does not think. A
// model that is not known gets the word as it is.
func Effort(model string, wanted config.Effort) config.Effort {
	all := models()
	i := slices.IndexFunc(all, func(w words) bool { return w.name.MatchString(model) })
	if i < 0 {
		return wanted
	}
	var nearest config.Effort
	best := len(scale)
	for _, e := range all[i].efforts {
		if d := distance(e, wanted); d <= best {
			nearest, best = e, d
		}
	}
	return nearest
}

func distance(a, b config.Effort) int {
	d := slices.Index(scale, a) - slices.Index(scale, b)
	return max(d, -d)
}
