package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// serviceURL is where the API is.
const serviceURL = "https://api.openai.com/v1"

// settings say where the service is called and as whom.
type settings struct {
	key           string
	keySource     string // the setting that the key came from, for messages
	baseURL       string
	baseURLSource string
	header        http.Header
	secrets       []string
	byHeader      bool   // the agent file's headers prove who we are
	unfit         string // the setting whose value cannot be sent; empty for none
}

func readSettings(cfg *config.Model, lookup func(string) (string, bool)) settings {
	env := func(name string) (value, source string) {
		v, _ := lookup(name)
		return strings.TrimSpace(v), name // files that secrets are mounted as end with a line break
	}
	s := settings{header: make(http.Header)}
	if s.baseURL, s.baseURLSource = cfg.BaseURL, "model.base_url"; s.baseURL == "" {
		s.baseURL, s.baseURLSource = env("OPENAI_BASE_URL")
	}
	if s.baseURL == "" {
		s.baseURL = serviceURL
	}
	if s.key, s.keySource = strings.TrimSpace(cfg.APIKey.Reveal()), "model.api_key"; s.key == "" {
		s.key, s.keySource = env("OPENAI_API_KEY")
	}
	if s.key != "" {
		s.header.Set("Authorization", "Bearer "+s.key)
		s.secrets = append(s.secrets, s.key)
	}
	for header, variable := range map[string]string{"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"} {
		v, _ := env(variable)
		switch {
		case strings.ContainsFunc(v, unicode.IsControl):
			s.unfit = variable
		case v != "":
			s.header.Set(header, v)
		}
	}
	for header, value := range cfg.Headers {
		s.header.Set(header, value.Reveal())
		s.secrets = append(s.secrets, secretsIn(value.Reveal())...)
		if slices.Contains([]string{"Authorization", "Api-Key"}, http.CanonicalHeaderKey(header)) {
			s.byHeader = true
		}
	}
	return s
}

// secretsIn gives a header's value, and the token that stands behind a word such as
// Bearer in it.
func secretsIn(value string) []string {
	all := []string{value}
	if _, token, ok := strings.Cut(value, " "); ok {
		all = append(all, token)
	}
	return all
}

// problem says what is missing or wrong to ask the service, nil if nothing is.
func (s *settings) problem() *model.Error {
	unfit := s.unfit
	if unfit == "" && !s.byHeader && strings.ContainsFunc(s.key, unicode.IsControl) {
		unfit = "the key of " + s.keySource
	}
	switch {
	case unfit != "":
		return &model.Error{
			Code:    model.Misconfigured,
			Message: unfit + " holds a line break or another control character, so it cannot be sent: set it again, on one line",
		}
	case s.key == "" && !s.byHeader:
		return &model.Error{
			Code: model.Misconfigured,
			Message: "no API key for OpenAI: set OPENAI_API_KEY in the environment of this program or in a .env file beside the file that names the model; " +
				"an MCP host may pass on only the variables that its own configuration lists under env",
		}
	}
	return nil
}

// who names what proves our identity, for messages.
func (s *settings) who() string {
	if s.byHeader {
		return "the headers of the model"
	}
	return s.keySource
}

// ours are the members of a request that extra_body may not have: the agent's other
// settings say them, or the conversation would be kept in two places.
var ours = []string{"model", "input", "instructions", "tools", "stream", "previous_response_id", "conversation", "background", "prompt"}

// readExtra reads what the agent file adds to each request.
func readExtra(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var extra map[string]any
	if err := d.Decode(&extra); err != nil {
		return nil, fmt.Errorf("model.extra_body: %w", err)
	}
	for _, key := range ours {
		if _, ok := extra[key]; ok {
			return nil, fmt.Errorf("model.extra_body.%s: it is not for extra_body; leave it out", key)
		}
	}
	return extra, nil
}
