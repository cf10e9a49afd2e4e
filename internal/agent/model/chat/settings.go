package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// settings say which server is asked and as whom, and what every request holds.
type settings struct {
	url     string // without a slash at its end
	host    string // with the port; for messages
	name    string // without it, in small letters
	port    string
	local   bool   // on this computer
	origin  string // tells the model at this address from all others
	key     bool
	header  http.Header
	secrets []string
	problem *model.Error // with the key; nil for none
	members map[string]json.RawMessage
	own     map[string]json.RawMessage // of extra_body, null for what it takes out
}

const maxStop = 4 // texts at which OpenAI stops

func readSettings(cfg *config.Model) (*settings, error) {
	s := &settings{url: strings.TrimSpace(cfg.BaseURL), header: make(http.Header, len(cfg.Headers)+4)}
	if err := s.readURL(); err != nil {
		return nil, fmt.Errorf("model.base_url: %w", err)
	}
	sum := sha256.Sum256([]byte(s.url + "\n" + cfg.Name))
	s.origin = hex.EncodeToString(sum[:8])
	s.readKey(cfg)
	var err error
	s.members, err = s.readMembers(cfg)
	return s, err
}

func (s *settings) readURL() error {
	if s.url == "" {
		return errors.New("openai-compatible needs the address of the server, such as http://127.0.0.1:11434/v1")
	}
	u, err := wire.Address(s.url, "/chat/completions")
	if err != nil {
		return err
	}
	s.url, s.host, s.name, s.port = u.String(), u.Host, strings.ToLower(u.Hostname()), u.Port()
	address := net.ParseIP(s.name)
	s.local = s.name == "localhost" || address.IsLoopback() || address.IsUnspecified()
	return nil
}

// readKey takes the key of the agent file, and the headers, which may replace it.
func (s *settings) readKey(cfg *config.Model) {
	key := strings.TrimSpace(cfg.APIKey.Reveal()) // files that secrets are mounted as end with a line break
	if s.key = key != ""; s.key {
		s.header.Set("Authorization", "Bearer "+key)
		s.secrets = append(s.secrets, key)
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		s.problem = &model.Error{
			Code:    model.Misconfigured,
			Message: "the key of model.api_key holds a line break or another control character, so it cannot be sent: set it again, on one line",
		}
	}
	for name, secret := range cfg.Headers {
		value := secret.Reveal()
		s.header.Set(name, value)
		s.secrets = append(s.secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // such as Bearer TOKEN
			s.secrets = append(s.secrets, token)
		}
	}
}

// who names what proves our identity, for messages.
func (s *settings) who() string {
	switch {
	case s.key:
		return "model.api_key"
	case s.header.Get("Authorization") != "":
		return "model.headers"
	}
	return "model.api_key, which is not set"
}

// is reports whether the server is one of a service's own.
func (s *settings) is(domain string) bool {
	return s.name == domain || strings.HasSuffix(s.name, "."+domain)
}

// isOpenAI reports whether the server is OpenAI's own, or Azure's of the same.
func (s *settings) isOpenAI() bool { return s.is("api.openai.com") || s.is("openai.azure.com") }

// isOurs reports whether a member of a request is not for extra_body to replace.
func isOurs(member string) bool {
	switch member {
	case "model", "messages", "tools", "stream":
		return true
	}
	return false
}

// readMembers gives the members of every request that the agent file sets: its
// settings, and extra_body on top, in which null takes a member out.
func (s *settings) readMembers(cfg *config.Model) (map[string]json.RawMessage, error) {
	all := map[string]any{streamOptions: map[string]bool{"include_usage": true}}
	put := func(name string, value any, set bool) {
		if set {
			all[name] = value
		}
	}
	put("temperature", cfg.Temperature, cfg.Temperature != nil)
	put("top_p", cfg.TopP, cfg.TopP != nil)
	if len(cfg.Stop) > maxStop && s.isOpenAI() {
		return nil, fmt.Errorf("model.stop: %s takes no more than %d texts, these are %d", s.host, maxStop, len(cfg.Stop))
	}
	put("stop", cfg.Stop, len(cfg.Stop) > 0)
	seed := "seed"
	if s.is("mistral.ai") { // its name for it, and it refuses others
		seed = "random_seed"
	}
	put(seed, cfg.Seed, cfg.Seed != nil)
	put("presence_penalty", cfg.PresencePenalty, cfg.PresencePenalty != nil)
	put("frequency_penalty", cfg.FrequencyPenalty, cfg.FrequencyPenalty != nil)
	put(oldLimit, cfg.MaxOutputTokens, cfg.MaxOutputTokens != nil)
	if t := cfg.Thinking; t != nil {
		if t.Effort == "" {
			return nil, errors.New("model.thinking: the API takes a word, such as low, not a number of tokens")
		}
		put(effort, t.Effort, true)
	}
	if cfg.TopK != nil {
		return nil, errors.New("model.top_k: the API has none; for a server that has it put it into model.extra_body")
	}
	members := make(map[string]json.RawMessage, len(all))
	for name, value := range all {
		raw, err := wire.Encode(value)
		if err != nil {
			return nil, fmt.Errorf("model: %s: %w", name, err)
		}
		members[name] = raw
	}
	return members, s.addExtra(members, cfg.ExtraBody)
}

func (s *settings) addExtra(members map[string]json.RawMessage, extra json.RawMessage) error {
	if len(extra) == 0 {
		return nil
	}
	if err := json.Unmarshal(extra, &s.own); err != nil {
		return fmt.Errorf("model.extra_body: %w", err)
	}
	for name := range s.own {
		if isOurs(name) {
			return fmt.Errorf("model.extra_body: %s is not for it to set", name)
		}
	}
	if s.ownLimit() {
		delete(members, oldLimit)
	}
	maps.Copy(members, s.own)
	maps.DeleteFunc(members, func(name string, value json.RawMessage) bool {
		return string(value) == "null" && name != responseFormat
	})
	return nil
}

// ownLimit reports whether extra_body says how the limit on output tokens is called.
func (s *settings) ownLimit() bool { return s.owns(oldLimit) || s.owns(newLimit) }

// owns reports whether extra_body has a member.
func (s *settings) owns(member string) bool {
	_, ok := s.own[member]
	return ok
}
