package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	serviceURL = "https://api.anthropic.com"
	apiVersion = "2023-06-01"
	// bindingControls is the beta in which a request says what becomes of thoughts
	// that are bound to a conversation which has changed.
	bindingControls = "thinking-binding-controls-2026-08-01"
)

// The variables of the service's own SDKs.
const (
	keyVariable    = "ANTHROPIC_API_KEY"
	bearerVariable = "ANTHROPIC_AUTH_TOKEN" //nolint:gosec // a name, no secret
	urlVariable    = "ANTHROPIC_BASE_URL"
)

// settings say where the service is and as whom it is asked.
type settings struct {
	key     string // for x-api-key
	token   string // for Authorization
	source  string // the setting that key or token came from, for messages
	url     string
	headers map[string]string // of the agent file
}

func readSettings(cfg *config.Model, lookup func(string) (string, bool)) (settings, error) {
	env := func(name string) string { // files that secrets are mounted as end with a line break
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	s := settings{key: strings.TrimSpace(cfg.APIKey.Reveal()), source: "model.api_key"}
	if s.key == "" {
		s.key, s.source = env(keyVariable), keyVariable
	}
	if s.key == "" {
		s.token, s.source = env(bearerVariable), bearerVariable
	}
	s.headers = make(map[string]string, len(cfg.Headers))
	for name, value := range cfg.Headers {
		s.headers[http.CanonicalHeaderKey(name)] = value.Reveal()
	}
	from := "model.base_url"
	if s.url = cfg.BaseURL; s.url == "" {
		s.url, from = env(urlVariable), urlVariable
	}
	if s.url == "" {
		s.url = serviceURL
	}
	at, err := wire.Address(s.url, "/v1/messages", "/messages", "/v1/complete")
	if err != nil {
		return s, fmt.Errorf("%s: %w", from, err)
	}
	s.url = strings.TrimRight(strings.TrimSuffix(at.String(), "/v1"), "/")
	return s, nil
}

// problem says what is missing or wrong to make a call, nil if nothing is.
func (s *settings) problem() *model.Error {
	switch {
	case strings.ContainsFunc(s.key+s.token, unicode.IsControl):
		return &model.Error{
			Code:    model.Misconfigured,
			Message: "the key of " + s.source + " holds a line break or another control character, so it cannot be sent: set it again, on one line",
		}
	case s.key != "" || s.token != "" || s.proves():
		return nil
	}
	return &model.Error{
		Code: model.Misconfigured,
		Message: "no API key for Anthropic: set " + keyVariable + " or " + bearerVariable + " in the environment of this program or in a .env file beside the file that names the model; " +
			"an MCP host may pass on only the variables that its own configuration lists under env",
	}
}

// proves reports whether the agent file's headers prove our identity.
func (s *settings) proves() bool {
	return s.headers["Authorization"] != "" || s.headers["X-Api-Key"] != ""
}

// service is the service as the client knows it. beta is the feature that requests
// use, empty for none.
func (s *settings) service(modelName, beta string, lookup func(string) (string, bool)) wire.Service {
	header := http.Header{"Anthropic-Version": {apiVersion}}
	who := s.source
	switch {
	case s.key != "":
		header.Set("X-Api-Key", s.key)
	case s.token != "":
		header.Set("Authorization", "Bearer "+s.token)
	}
	secrets := []string{s.key, s.token}
	for name, value := range s.headers {
		header.Set(name, value)
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // such as Bearer TOKEN
			secrets = append(secrets, token)
		}
	}
	if s.proves() {
		who = "the headers of the model"
	}
	if beta != "" && !strings.Contains(header.Get("Anthropic-Beta"), beta) {
		header.Set("Anthropic-Beta", strings.TrimPrefix(header.Get("Anthropic-Beta")+","+beta, ","))
	}
	return wire.Service{
		Name: "Anthropic", URL: s.url, Header: header, Who: who, Model: modelName,
		Secrets: secrets, Lookup: lookup,
	}
}
