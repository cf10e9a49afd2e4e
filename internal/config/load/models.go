package load

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// resolveModel makes the paths of a model and of its fallbacks absolute, and gives
// all but Gemini's the settings of generate_content_config.
func (f *file) resolveModel(m *config.Model, p *strictyaml.Path) {
	for i := range m.Script {
		for j := range m.Script[i].Steps {
			files := m.Script[i].Steps[j].Files
			for k := range files {
				files[k] = f.absolute(files[k])
			}
		}
	}
	if m.Provider == config.Replay && m.Recording == "" && !f.Unset[p.Key("recording").String()] {
		base := filepath.Base(f.Agent.File)
		m.Recording = strings.TrimSuffix(base, filepath.Ext(base)) + ".recording.json"
	}
	m.Recording = f.absolute(m.Recording)
	if m.Provider != config.Gemini {
		m.Adopt(f.Agent.Generate)
	}
	for i := range m.Fallback {
		f.resolveModel(&m.Fallback[i], p.Key("fallback").Index(i))
	}
}

// keyVariables are the variables that providers take their keys from.
var keyVariables = map[string][]string{
	config.Gemini:    {"GOOGLE_API_KEY", "GEMINI_API_KEY"},
	config.OpenAI:    {"OPENAI_API_KEY"},
	config.Anthropic: {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
}

// modelSecrets collects what must not be printed of a model.
func (f *file) modelSecrets(m *config.Model) []string {
	secrets := secretList{}
	secrets.add(m.APIKey.Reveal())
	secrets.add(inURL(m.BaseURL)...)
	for _, name := range keyVariables[m.Provider] {
		key, _ := f.Agent.LookupEnv(name)
		secrets.add(key)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		secrets.add(m.Headers[name].Reveal())
	}
	return secrets
}

// hostedSecrets are the values of a server that the model's service calls which
// must not be printed.
func hostedSecrets(s *config.HostedMCP) []string {
	secrets := secretList{}
	secrets.add(s.Authorization.Reveal())
	secrets.add(inURL(s.ServerURL)...)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		secrets.add(s.Headers[name].Reveal())
	}
	return secrets
}
