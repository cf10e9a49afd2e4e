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
	least, most int    // tokens; both 0 for a model that takes no number
	never       bool   // it takes 0 too
	levels      string // words; none and no tokens for a model that does not think
}{
	{regexp.MustCompile(`^gemini-(1|2\.0)`), 0, 0, false, ""},
	{regexp.MustCompile(`^gemini-2\.5-pro`), 128, 32768, false, ""},
	{regexp.MustCompile(`^gemini-2\.5-flash-lite`), 512, 24576, true, ""},
	{regexp.MustCompile(`^gemini-2\.5`), 1, 24576, true, ""},
	{regexp.MustCompile(`^gemini-3-pro`), 128, 32768, false, "LOW HIGH"},
	{regexp.MustCompile(`^gemini-([0-9.]+-)?pro`), 128, 32768, false, "LOW MEDIUM HIGH"},
	{regexp.MustCompile(`^gemini-3(\.[0-6])?-flash`), 1, 32768, false, "MINIMAL LOW MEDIUM HIGH"},
	{regexp.MustCompile(`^gemini-(3\.[0-9]-)?flash-lite`), 1, 32768, false, "MINIMAL LOW MEDIUM HIGH"},
	{regexp.MustCompile(`^gemini-(3\.|flash-latest)`), 1, 32768, false, "LOW MEDIUM HIGH"}, // since Gemini 3.7 Flash
	{regexp.MustCompile(`^gemini-`), 0, 0, false, "LOW MEDIUM HIGH"},                       // since Gemini 4
	{regexp.MustCompile(`^gemma-4`), 0, 0, false, "MINIMAL HIGH"},
	{regexp.MustCompile(`^gemma-`), 0, 0, false, ""},
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
		case t.most == 0 && t.levels == "":
			return refusal("Unable to submit request because Thinking is not supported by this model.")
		case b != nil && c.ThinkingLevel != "":
			return refusal("You can only set only one of thinking budget and thinking level.")
		case b != nil && t.most == 0:
			return refusal("Thinking budget is not supported for this model.")
		case b != nil && *b != -1 && (*b < t.least || *b > t.most) && (*b != 0 || !t.never):
			return refusal(fmt.Sprintf("The thinking budget %d is invalid. Please choose a value between %d and %d.", *b, t.least, t.most))
		case c.ThinkingLevel != "" && !slices.Contains(strings.Fields(t.levels), strings.ToUpper(c.ThinkingLevel)):
			return refusal("Thinking level " + c.ThinkingLevel + " is not supported for this model.")
		}
		return nil
	}
	return nil
}

// penalized are the models that take penalties for what was said already; 0 counts as
// none (google-gemini/cookbook#1290). Vertex AI may take them for Gemini 2.5 too.
var penalized = regexp.MustCompile(`^gemini-(1|2\.0)`)

// checkSettings holds the other settings of an answer against what the model takes.
func checkSettings(model string, config map[string]any) error {
	for _, name := range []string{"presencePenalty", "frequencyPenalty"} {
		if n, ok := config[name].(json.Number); ok && n.String() != "0" && !penalized.MatchString(model) {
			return refusal("Penalty is not enabled for this model")
		}
	}
	if all, _ := config["stopSequences"].([]any); len(all) > 5 {
		return refusal("stop_sequences: at most 5 are allowed")
	}
	return checkThinking(model, config)
}
