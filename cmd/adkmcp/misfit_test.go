package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisfits: what a provider itself does not take of a model is told with its place,
// as all problems are.
func TestMisfits(t *testing.T) {
	for model, want := range map[string]string{
		"{name: gpt-5-mini, base_url: https://x/v1/chat/completions}":                      ":3:8: error: model.base_url: leave out /chat/completions at its end\n",
		"{name: gemini-2.5-flash, presence_penalty: 1}":                                    ":3:8: error: model.presence_penalty: gemini-2.5-flash takes none: leave it out\n",
		"\n  name: gpt-5-mini\n  fallback:\n    - {name: claude-opus-4-7, thinking: 5000}": ":6:7: error: model.fallback[0].thinking: claude-opus-4-7 takes no number of tokens",
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte("name: a\ninstruction: x\nmodel: "+model+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := inStillWorld(t, map[string]string{}, "validate", file); got.code != exitFailed || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", model, got)
		}
	}
}
