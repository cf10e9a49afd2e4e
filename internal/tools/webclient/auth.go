package webclient

import (
	"encoding/base64"
	"errors"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Credential is a header that proves who is asking.
type Credential struct{ Name, Value string }

// NewCredential makes the header that a tool's auth section asks for. It fails
// when a value cannot stand in a header; the error doesn't hold the value.
func NewCredential(a *config.Auth) (Credential, error) {
	c := Credential{Name: "Authorization"}
	switch {
	case !a.Bearer.IsZero():
		c.Value = "Bearer " + a.Bearer.Reveal()
	case a.Basic != nil:
		c.Value = BasicAuth(a.Basic.Username, a.Basic.Password.Reveal())
	case a.Header != nil:
		c = Credential{Name: http.CanonicalHeaderKey(a.Header.Name), Value: a.Header.Value.Reveal()}
	default:
		return c, errors.New("auth: needs a value for bearer, basic or header")
	}
	if !httpguts.ValidHeaderFieldName(c.Name) {
		return c, errors.New("auth: the header's name is not a valid header name")
	}
	if !httpguts.ValidHeaderFieldValue(c.Value) {
		return c, errors.New("auth: the value holds a line break or another control character; " +
			"look at the end of the environment variable or file that it comes from")
	}
	return c, nil
}

// BasicAuth is the value of an Authorization header (RFC 7617).
func BasicAuth(username, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}
