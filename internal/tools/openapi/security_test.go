package openapi

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

const secured = `
openapi: 3.0.3
security: [{token: []}]
paths:
  /global: {get: {operationId: global}}
  /none: {get: {operationId: none, security: []}}
  /basic: {get: {operationId: basic, security: [{basic: []}]}}
  /both: {get: {operationId: both, security: [{query: [], cookie: []}]}}
  /either: {get: {operationId: either, security: [{missing: []}, {header: []}]}}
  /optional: {get: {operationId: optional, security: [{}, {missing: []}]}}
  /preferred: {get: {operationId: preferred, security: [{}, {oauth: [read]}]}}
  /missing: {get: {operationId: missing, security: [{missing: [], token: []}]}}
  /unknown: {get: {operationId: unknown, security: [{unheard: []}]}}
  /own: {get: {operationId: own, security: [{query: []}, {header: []}], parameters: [{name: key, in: query, required: true, schema: {}}, {name: q, in: query, schema: {}}]}}
components:
  securitySchemes:
    token: {type: http, scheme: Bearer}
    basic: {type: http, scheme: basic}
    query: {type: apiKey, in: query, name: key}
    cookie: {type: apiKey, in: cookie, name: sid}
    header: {type: apiKey, in: header, name: x-api-key}
    oauth: {type: oauth2, flows: {}}
    oidc: {type: openIdConnect, openIdConnectUrl: 'https://x.test'}
    missing: {type: http, scheme: bearer}
`

func TestSecurity(t *testing.T) {
	url, last := echo(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")+r.RequestURI+r.Header.Get("Cookie")+r.Header.Get("X-Api-Key"))
	})
	secret := config.NewSecret
	auth := map[string]config.Auth{
		"token": {Bearer: secret("t0ken-1")}, "basic": {Basic: &config.BasicAuth{Username: "me", Password: secret("p4ssword")}},
		"query": {Bearer: secret("qu&ry-1")}, "cookie": {Bearer: secret("c00kie;1")}, "header": {Bearer: secret("h3ader-1")},
		"oauth": {Bearer: secret("oauth-1")}, "oidc": {Header: &config.HeaderAuth{Name: "X-Token", Value: secret("oidc-1")}},
	}
	tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, secured), Server: url, Auth: auth}})
	want := []string{"there is no auth for the security scheme missing; operations that need it are called without",
		"there is no auth for the security scheme unheard; operations that need it are called without"}
	if diff := cmp.Diff(want, listing.Warnings); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"global": "/global|Bearer t0ken-1||", "none": "/none|||", "basic": "/basic|Basic bWU6cDRzc3dvcmQ=||",
		"both": "/both?key=qu%26ry-1||sid=c00kie%3B1|", "either": "/either|||h3ader-1", "optional": "/optional|||",
		"preferred": "/preferred|Bearer oauth-1||", "missing": "/missing|||", "unknown": "/unknown|||", "own": "/own?q=1&key=qu%26ry-1|||",
	} {
		arguments := `{}`
		if name == "own" {
			arguments = `{"q": 1}`
		}
		res := call(t, tools[name], arguments)
		r := last()
		got := strings.Join([]string{r.uri, r.header.Get("Authorization"), r.header.Get("Cookie"), r.header.Get("X-Api-Key")}, "|")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for _, s := range []string{"t0ken-1", "bWU6", "qu&ry", "qu%26ry", "c00kie", "h3ader", "oauth-1"} {
			if strings.Contains(res.Output.(string), s) {
				t.Errorf("%s: the model reads %s", name, res.Output)
			}
		}
	}
}

func TestBadAuth(t *testing.T) {
	secret := config.NewSecret
	for name, tt := range map[string]struct {
		auth config.Auth
		want string
	}{
		"nobody": {config.Auth{Bearer: secret("s3cret")}, "no security scheme nobody; it has basic, cookie, header, missing, oauth, oidc, query, token"},
		"basic":  {config.Auth{Bearer: secret("s3cret")}, "write them as basic"},
		"token":  {config.Auth{Basic: &config.BasicAuth{Username: "u", Password: secret("s3cret")}}, "write it as bearer"},
		"query":  {config.Auth{Basic: &config.BasicAuth{Username: "u", Password: secret("s3cret")}}, "is an API key in the query key; write it as bearer"},
		"header": {config.Auth{Bearer: secret("s3cret\n")}, "line break"},
		"oauth":  {config.Auth{Header: &config.HeaderAuth{Name: "Host", Value: secret("s3cret")}}, "set by the client itself"},
		"oidc":   {config.Auth{}, "needs a value"},
	} {
		_, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, secured), Server: "https://api.test", Auth: map[string]config.Auth{name: tt.auth}}},
			Deps{newClient(t), slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
