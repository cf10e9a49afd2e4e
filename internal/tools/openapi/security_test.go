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

const disjoint = `
openapi: 3.0.3
security: [{query: [], cookie: []}]
paths:
  /a?fixed=1:
    get:
      operationId: op
      parameters:
        - {name: f, in: query, schema: {type: object}}
        - {name: deep, in: query, style: deepObject, schema: {type: object}}
        - {name: 'deep[er]', in: query, schema: {type: string}}
        - {name: page, in: query, schema: {type: string}}
        - {name: ck, in: cookie, schema: {type: object}}
        - {name: lang, in: cookie, schema: {type: string}}
        - {name: own, in: cookie, schema: {type: string}}
        - {name: X-Object, in: header, explode: true, schema: {type: object}}
components:
  securitySchemes:
    query: {type: apiKey, in: query, name: api_key}
    cookie: {type: apiKey, in: cookie, name: sid}
`

// An object whose members become parameters sets none that is somebody else's.
func TestDisjoint(t *testing.T) {
	url, last := echo(t, nil)
	tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, disjoint), Server: url,
		Auth:    map[string]config.Auth{"query": {Bearer: config.NewSecret("s3cret-q")}, "cookie": {Bearer: config.NewSecret("s3cret-c")}},
		Headers: map[string]config.Secret{"cookie": config.NewSecret("own=1; theme=x")}}})
	if strings.Contains(string(tools["op"].Spec().Parameters), `"own"`) {
		t.Error("the model is asked for a cookie of the agent file")
	}
	for arguments, name := range map[string]string{
		`{"f": {"api_key": "mine"}}`:            `"f" must not set "api_key"`,
		`{"f": {"api\u005fkey": "mine"}}`:       `"f" must not set "api_key"`,
		`{"f": {"a": 1, "page": "2"}}`:          `"f" must not set "page"`,
		`{"f": {"fixed": "2"}}`:                 `"f" must not set "fixed"`,
		`{"f": {"deep[er]": "2"}}`:              `"f" must not set "deep[er]"`,
		`{"deep": {"er": "2"}}`:                 `"deep" must not set "deep[er]"`,
		`{"ck": {"sid": "EVIL"}}`:               `"ck" must not set "sid"`,
		`{"ck": {"lang": "EVIL"}}`:              `"ck" must not set "lang"`,
		`{"ck": {"own": "EVIL"}}`:               `"ck" must not set "own"`,
		`{"ck": {"theme": "EVIL"}}`:             `"ck" must not set "theme"`,
		`{"ck": {"": "sid=EVIL"}, "lang": "x"}`: `"ck" has a member without a name`,
	} {
		res := call(t, tools["op"], arguments)
		if said, _ := res.Output.(string); !res.IsError || !strings.Contains(said, name) || last() != nil {
			t.Errorf("%s: %v", arguments, res)
		}
	}
	succeed(t, tools["op"], `{"f": {"f": 1, "sid": 2}, "deep": {"page": 3}, "page": "4", "ck": {"ck": 5, "SID": 6, "api_key": 7}, "lang": "=8", "X-Object": {"cookie": 9}}`)
	r := last()
	if want := "/a?fixed=1&f=1&sid=2&deep%5Bpage%5D=3&page=4&api_key=s3cret-q"; r.uri != want {
		t.Errorf("got  %s\nwant %s", r.uri, want)
	}
	if got, want := r.header.Get("Cookie"), "own=1; theme=x; ck=5; SID=6; api_key=7; lang==8; sid=s3cret-c"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.header.Get("X-Object"); got != "cookie=9" {
		t.Error(got)
	}
}

const misnamed = `
openapi: 3.0.3
paths:
  /cookie: {get: {operationId: cookie, parameters: [{name: "a; sid=evil", in: cookie, schema: {type: string}}]}}
  /header: {get: {operationId: header, parameters: [{name: "bad name\r\nX: y\u202e", in: header, schema: {type: string}}]}}
  /query: {get: {operationId: query, security: [{bad: []}], parameters: [{name: "a; b", in: query, schema: {type: string}}]}}
components: {securitySchemes: {bad: {type: apiKey, in: cookie, name: "a; sid=evil"}}}
`

// What cannot be the name of a header or a cookie costs the operation, or the auth.
func TestNamesThatAreNone(t *testing.T) {
	tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, misnamed), Server: "https://api.test"}})
	want := []string{
		`GET /cookie is left out: parameter "a; sid=evil": "a; sid=evil" cannot be the name of a cookie`,
		`GET /header is left out: parameter "bad name\nX: y": "bad name\nX: y" cannot be the name of a header`,
		"there is no auth for the security scheme bad; operations that need it are called without",
	}
	if diff := cmp.Diff(want, listing.Warnings); diff != "" || len(tools) != 1 || tools["query"] == nil {
		t.Error(tools, diff)
	}
	_, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, misnamed), Server: "https://api.test",
		Auth: map[string]config.Auth{"bad": {Bearer: config.NewSecret("s3cret")}}}}, Deps{newClient(t), slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), `auth: bad: "a; sid=evil" cannot be the name of a cookie`) {
		t.Error(err)
	}
}
