// Package thinking knows how much OpenAI's models can be told to think.
//
// Start with [Effort]; [Named] is for models that it does not know.
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
		of(`o\d.*-deep-research`, "medium"),
		of(`gpt-5-chat`, ""),
		of(`gpt-5\.\d+-chat`, "medium"),
		of(`gpt-5-pro`, "high"),
		of(`gpt-5\.\d+-pro`, "medium high"),
		of(`gpt-5-codex`, "low medium high"),
		of(`gpt-5\.\d+-codex`, "low medium high"),
		of(`gpt-5(?:[-:]|$)`, "minimal low medium high"),
		of(`gpt-5\.\d`, "none low medium high"),
		of(`gpt-6`, "low medium high"),
		of(`(?:gpt-oss|codex-mini)`, "low medium high"),
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
	return nearest(all[i].efforts, wanted)
}

// Named gives the nearest of the words that a refusal names as those that the model
// takes, each in quotes; empty if it names none.
func Named(refusal string, wanted config.Effort) config.Effort {
	_, named, _ := strings.Cut(refusal, "Supported values are")
	return nearest(slices.DeleteFunc(slices.Clone(scale), func(e config.Effort) bool { return !strings.Contains(named, "'"+string(e)+"'") }), wanted)
}

// nearest gives one of several words, in the order of the scale; empty for none.
func nearest(efforts []config.Effort, wanted config.Effort) config.Effort {
	var nearest config.Effort
	best := len(scale)
	for _, e := range efforts {
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
