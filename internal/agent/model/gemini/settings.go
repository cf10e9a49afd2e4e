package gemini

import (
	"net/http"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// geminiURL is where the Gemini API is.
const geminiURL = "https://generativelanguage.googleapis.com/"

// settings say which service is called and as whom. They follow the rules of
// genai.NewClient, which reads the process's environment only and not the
// agent file's.
type settings struct {
	vertex        bool
	key           string
	keySource     string // the setting that the key came from, for messages
	project       string
	location      string
	baseURL       string // empty for the service's own
	baseURLSource string
	headers       http.Header
	credentials   string // GOOGLE_APPLICATION_CREDENTIALS
	lookup        func(string) (string, bool)
}

func readSettings(cfg *config.Model, lookup func(string) (string, bool)) settings {
	env := func(names ...string) (value, name string) {
		for _, n := range names {
			// Files that secrets are mounted as end with a line break.
			v, ok := lookup(n)
			if v = strings.TrimSpace(v); ok && v != "" {
				return v, n
			}
		}
		return "", ""
	}
	s := settings{lookup: lookup}
	s.vertex = usesVertex(lookup)
	s.credentials, _ = env("GOOGLE_APPLICATION_CREDENTIALS")

	s.baseURL, s.baseURLSource = cfg.BaseURL, "model.base_url"
	if s.baseURL == "" {
		name := "GOOGLE_GEMINI_BASE_URL"
		if s.vertex {
			name = "GOOGLE_VERTEX_BASE_URL"
		}
		s.baseURL, s.baseURLSource = env(name)
	}
	s.key, s.keySource = strings.TrimSpace(cfg.APIKey.Reveal()), "model.api_key"
	if s.key == "" {
		s.key, s.keySource = env("GOOGLE_API_KEY", "GEMINI_API_KEY")
	}
	if s.vertex {
		s.project, _ = env("GOOGLE_CLOUD_PROJECT")
		s.location, _ = env("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION")
		s.chooseVertexAuth()
	}
	for name, value := range cfg.Headers {
		if s.headers == nil {
			s.headers = make(http.Header, len(cfg.Headers))
		}
		s.headers.Set(name, value.Reveal())
	}
	return s
}

// usesVertex reports which of the two services the environment asks for.
func usesVertex(lookup func(string) (string, bool)) bool {
	for _, name := range []string{"GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI"} {
		if v, ok := lookup(name); ok {
			return v == "1" || strings.EqualFold(v, "true")
		}
	}
	return false
}

// chooseVertexAuth settles on a key or on a project, as genai does: a key of
// the agent file first, then a project, then a key of the environment. Behind
// a URL of one's own the environment's project is not used.
func (s *settings) chooseVertexAuth() {
	own := s.keySource == "model.api_key"
	if !own && (s.project != "" || s.location != "") {
		s.key, s.keySource = "", ""
	}
	if own || s.baseURL != "" {
		s.project, s.location = "", ""
	}
	if s.location == "" && s.key == "" && s.baseURL == "" {
		s.location = "global"
	}
}

// usesADC reports whether calls are signed with Google's Application Default
// Credentials.
func (s *settings) usesADC() bool { return s.vertex && s.project != "" }

// problem says what is missing or wrong to make a client, nil if nothing is.
func (s *settings) problem() *model.Error {
	var message string
	switch {
	case strings.ContainsFunc(s.key, unicode.IsControl):
		return &model.Error{
			Code:    model.Misconfigured,
			Message: "the key of " + s.keySource + " holds a line break or another control character, so it cannot be sent: set it again, on one line",
		}
	case s.key != "" || s.usesADC() || s.vertex && s.baseURL != "":
		return nil
	case s.vertex:
		message = "no project for Vertex AI: set GOOGLE_CLOUD_PROJECT (and GOOGLE_CLOUD_LOCATION), or GOOGLE_API_KEY"
	default:
		message = "no API key for Gemini: set GEMINI_API_KEY or GOOGLE_API_KEY"
	}
	return &model.Error{
		Code: model.Misconfigured,
		Message: message + " in the environment of this program or in a .env file beside the file that names the model; " +
			"an MCP host may pass on only the variables that its own configuration lists under env",
	}
}

// who names what proves our identity, for messages.
func (s *settings) who() string {
	switch {
	case s.key != "":
		return s.keySource
	case s.usesADC():
		return "the Google Cloud credentials and the project " + s.project
	}
	return "the headers of the model"
}

// redact takes everything secret out of a text.
func (s *settings) redact(text string) string {
	hide := func(secret string) {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	hide(s.key)
	for _, values := range s.headers {
		for _, v := range values {
			hide(v)
			if _, token, ok := strings.Cut(v, " "); ok { // such as Bearer TOKEN
				hide(token)
			}
		}
	}
	return text
}
