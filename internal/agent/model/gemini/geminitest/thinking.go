package geminitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// thinkers are how much models can be told to think ("Gemini thinking", and the
// models' pages); the first name that fits counts.
var thinkers = []struct {
	name        *regexp.Regexp
	least, most int    // tokens; all 0 for a model that does not think
	never       bool   // it takes 0 too
	levels      string // words
}{
	{regexp.MustCompile(`^gemini-(1|2\.0)`), 0, 0, false, ""},
	{regexp.MustCompile(`^gemini-2\.5-pro`), 128, 32768, false, ""},
	{regexp.MustCompile(`^gemini-2\.5-flash-lite`), 512, 24576, true, ""},
	{regexp.MustCompile(`^gemini-2\.5`), 1, 24576, true, ""},
	{regexp.MustCompile(`^gemini-3-pro`), 128, 32768, false, "LOW HIGH"},
	{regexp.MustCompile(`^gemini-([0-9.]+-)?pro`), 128, 32768, false, "LOW MEDIUM HIGH"},
	{regexp.MustCompile(`^gemini-`), 1, 32768, true, "MINIMAL LOW MEDIUM HIGH"},
}

// checkThinking holds the settings for thinking against what the model knows.
func checkThinking(model string, config map[string]any) error {
	set, ok := config["thinkingConfig"]
	if !ok {
		return nil
	}
	var c struct {
		IncludeThoughts bool   `json:"includeThoughts"`
		ThinkingBudget  *int   `json:"thinkingBudget"`
		ThinkingLevel   string `json:"thinkingLevel"`
	}
	raw, err := json.Marshal(set)
	if err == nil {
		err = decode(raw, &c)
	}
	if err != nil {
		return fmt.Errorf("generation_config.thinking_config: %w", err)
	}
	for _, t := range thinkers {
		if !t.name.MatchString(model) {
			continue
		}
		switch b := c.ThinkingBudget; {
		case t.most == 0:
			return refusal("Unable to submit request because Thinking is not supported by this model.")
		case b != nil && c.ThinkingLevel != "":
			return refusal("You can only set only one of thinking budget and thinking level.")
		case b != nil && *b != -1 && (*b < t.least || *b > t.most) && (*b != 0 || !t.never):
			return refusal(fmt.Sprintf("The thinking budget %d is invalid. Please choose a value between %d and %d.", *b, t.least, t.most))
		case c.ThinkingLevel != "" && !slices.Contains(strings.Fields(t.levels), strings.ToUpper(c.ThinkingLevel)):
			return refusal("Thinking level " + c.ThinkingLevel + " is not supported for this model.")
		}
		return nil
	}
	return nil
}
