package gemini

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/config"
)

// family is what models of a name take ("Gemini thinking" of both services, and the
// models' pages).
type family struct {
	name *regexp.Regexp // of what a name begins with, behind a path

	least, most int32 // tokens of thinking; both 0 for one that takes no number
	off         bool  // it takes 0 tokens too
	levels      words // its words for how much to think, most first
	plain       bool  // it takes neither: it does not think
	penalties   bool  // for what was said already
}

// words are config's for the service's, of which only no thinking has none there.
type words []config.Effort

// Words that families have. All do since Gemini 3, but not all of them.
var (
	allWords   = words{config.HighThinking, config.MediumThinking, config.LowThinking, config.MinimalThinking}
	someWords  = allWords[:3]
	firstWords = words{config.HighThinking, config.LowThinking}
	gemmaWords = words{config.HighThinking, config.MinimalThinking}
)

// anyTokens are as many as a number can say, where the bound is not known.
const anyTokens = math.MaxInt32

// families are the models that are known; the first whose name fits counts.
var families = sync.OnceValue(func() []family {
	all := []struct {
		name string
		family
	}{
		{`gemini-(1|2\.0)(\.|-|$)`, family{plain: true, penalties: true}},
		{`gemini-2\.5-pro`, family{least: 128, most: 32768}},
		{`gemini-2\.5-flash-lite`, family{least: 512, most: 24576, off: true}},
		{`gemini-2([.-]|$)`, family{least: 1, most: 24576, off: true}},
		{`gemini-([4-9]|[1-9][0-9]+)([.-]|$)`, family{levels: someWords}},
		{`gemini-3-pro`, family{least: 128, most: 32768, levels: firstWords}},
		{`gemini-([0-9.]+-)?pro`, family{least: 128, most: 32768, levels: someWords}},
		{`gemini-(3(\.[0-6])?-flash|3[0-9.]*-flash-lite|flash-lite)`, family{least: 1, most: 32768, levels: allWords}},
		{`gemini-(3([.-]|$)|flash)`, family{least: 1, most: 32768, levels: someWords}}, // since Gemini 3.7 Flash
		{`gemma-4`, family{levels: gemmaWords}},
		{`gemma-`, family{plain: true}},
		{``, family{least: 1, most: anyTokens, levels: someWords, penalties: true}}, // a deployment's own name
	}
	out := make([]family, len(all))
	for i, f := range all {
		out[i] = f.family
		out[i].name = regexp.MustCompile(`(^|/)` + f.name)
	}
	return out
})

func familyOf(model string) *family {
	all := families()
	for i := range all {
		if all[i].name.MatchString(model) {
			return &all[i]
		}
	}
	return &all[len(all)-1]
}

// older are the models before Gemini 3.
var older = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-[12]([.-]|$)`) })

// budgets are the tokens of thinking that stand for the words with models that
// know no words (Gemini 2.5; 0 turns thinking off where that can be).
var budgets = map[config.Effort]int32{
	config.NoThinking: 0, config.MinimalThinking: 512, config.LowThinking: 1024, config.MediumThinking: 8192, config.HighThinking: 24576,
}

// thinking is what is sent for the thinking that an agent file asks for: of the model
// itself, or else of generate_content_config. A word that the family has not becomes
// the nearest that it has, and so does a number of generate_content_config, which other
// models share; nil is for nothing. The error says which number of the model's own the
// family does not take.
func (f *family) thinking(own *config.Thinking, shared *genai.ThinkingConfig, name string) (*genai.ThinkingConfig, error) {
	if f.plain && own != nil && own.Budget > 0 {
		return nil, fmt.Errorf("model.thinking: %s does not think: leave it out", name)
	}
	if f.plain || own == nil && shared == nil {
		return nil, nil
	}
	t := genai.ThinkingConfig{}
	if shared != nil {
		t = *shared
	}
	switch {
	case own == nil:
		f.fit(&t)
	case own.Budget == 0:
		f.say(&t, own.Effort)
	case f.most == 0:
		return nil, fmt.Errorf("model.thinking: %s takes no number of tokens: say low, medium or high", name)
	case own.Budget < int(f.least) || own.Budget > int(f.most):
		return nil, fmt.Errorf("model.thinking: %s takes %d to %d tokens, not %d", name, f.least, f.most, own.Budget)
	default:
		spend(&t, int32(own.Budget))
	}
	if t == (genai.ThinkingConfig{}) {
		return nil, nil
	}
	return &t, nil
}

// fit makes of settings in the service's own terms those that the family takes. What is
// no word at all stays, for the service to say so.
func (f *family) fit(t *genai.ThinkingConfig) {
	const dynamic = -1 // as much as the model sees fit, which is the default
	switch b := t.ThinkingBudget; {
	case t.ThinkingLevel != "":
		f.say(t, config.Effort(strings.ToLower(string(t.ThinkingLevel))))
	case b == nil:
	case f.most == 0 && *b == dynamic:
		t.ThinkingBudget = nil
	case *b == dynamic, *b == 0 && f.off:
	case *b == 0:
		f.say(t, config.NoThinking)
	case f.most == 0:
		f.say(t, near(*b))
	default:
		spend(t, min(max(*b, f.least), f.most))
	}
}

// say asks for as much thinking as a word says, or for what comes nearest.
func (f *family) say(t *genai.ThinkingConfig, word config.Effort) {
	tokens, known := budgets[word]
	switch {
	case !known:
	case len(f.levels) > 0: // of two that are equally near, the one that thinks more
		nearest := slices.MinFunc(f.levels, func(a, b config.Effort) int { return cmp.Compare(apart(a, word), apart(b, word)) })
		t.ThinkingLevel, t.ThinkingBudget = genai.ThinkingLevel(strings.ToUpper(string(nearest))), nil
	case tokens == 0 && f.off:
		spend(t, 0)
	default:
		spend(t, max(tokens, f.least))
	}
}

func spend(t *genai.ThinkingConfig, tokens int32) { t.ThinkingBudget, t.ThinkingLevel = &tokens, "" }

// apart is how far a word is from another.
func apart(a, b config.Effort) int {
	place := func(e config.Effort) int {
		if e == config.NoThinking {
			return len(allWords)
		}
		return slices.Index(allWords, e)
	}
	return max(place(a)-place(b), place(b)-place(a))
}

// near is the word that comes nearest to a number of tokens.
func near(tokens int32) config.Effort {
	off := func(e config.Effort) int32 { return max(budgets[e]-tokens, tokens-budgets[e]) }
	return slices.MinFunc(allWords, func(a, b config.Effort) int { return cmp.Compare(off(a), off(b)) })
}
