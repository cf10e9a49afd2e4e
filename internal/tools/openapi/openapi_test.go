package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is a request as it came in.
type seen struct {
	method, uri, body string
	header            http.Header
}

// echo remembers its last request and answers with handler, if any.
func echo(t testing.TB, handler http.HandlerFunc) (url string, last func() *seen) {
	t.Helper()
	var p atomic.Pointer[seen]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.Store(&seen{r.Method, r.RequestURI, string(body), r.Header})
		if handler != nil {
			handler(w, r)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() *seen { return p.Swap(nil) }
}

func newClient(t testing.TB) *webclient.Client {
	t.Helper()
	client := webclient.New(webclient.Options{})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// load makes the toolset of an entry, and gives what it has listed.
func load(t testing.TB, c *config.Tool) (map[string]agent.Tool, *session.Listing) {
	t.Helper()
	c.Timeout = config.Duration(time.Minute)
	set, err := New(c, Deps{newClient(t), slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return listOf(t, set)
}

func listOf(t testing.TB, set *Toolset) (map[string]agent.Tool, *session.Listing) {
	t.Helper()
	var listing *session.Listing
	tools, err := set.Tools(t.Context(), &agent.Query{Report: func(l *session.Listing) { listing = l }})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]agent.Tool{}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Spec().Name)
		byName[tool.Spec().Name] = tool
	}
	if !slices.Equal(names, listing.Tools) {
		t.Errorf("listed %q, reported %q", names, listing.Tools)
	}
	return byName, listing
}

// write writes a document and gives its path.
func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// call calls a tool with arguments that its schema takes.
func call(t testing.TB, tool agent.Tool, arguments string) *agent.Result {
	t.Helper()
	if tool == nil {
		t.Fatal("there is no such tool")
	}
	spec := tool.Spec()
	if problem := jsonschema.New(spec.Parameters, jsonschema.Arguments(spec.Name)).Check(json.RawMessage(arguments)); problem != "" {
		t.Fatalf("%s\n%s", problem, spec.Parameters)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := tool.Call(ctx, &agent.Call{Args: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func succeed(t testing.TB, tool agent.Tool, arguments string) {
	t.Helper()
	if res := call(t, tool, arguments); res.IsError {
		t.Fatal(res.Output)
	}
}

// parts writes a multipart body in one line for each part.
func parts(t testing.TB, contentType, body string) string {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(strings.NewReader(body), params["boundary"])
	var b bytes.Buffer
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(p)
		b.WriteString(p.Header.Get("Content-Disposition") + " [" + p.Header.Get("Content-Type") + "] " + string(data) + "\n")
	}
}

// The Petstore, in the words of 3.0 and of 3.1, gives the same tools, and they make
// the same requests.
func TestPetstore(t *testing.T) {
	url, last := echo(t, nil)
	for _, file := range []string{"petstore-3.0.yaml", "petstore-3.1.json"} {
		t.Run(file, func(t *testing.T) {
			tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{
				Document: filepath.Join("testdata", file), Server: url + "/api/v3/",
				Auth: map[string]config.Auth{"petstore_auth": {Bearer: config.NewSecret("t0ken")}, "api_key": {Bearer: config.NewSecret("k3y-k3y")}},
			}})
			want := []string{"listPets", "createPet", "getPet", "deletePet", "updatePetWithForm", "uploadImage", "get_store_inventory"}
			if diff := cmp.Diff(want, listing.Tools); diff != "" || listing.Warnings != nil || listing.Source != file {
				t.Fatal(diff, listing)
			}
			for _, tt := range []struct{ tool, arguments, method, uri, header, body string }{
				{"listPets", `{"X-Tenant": "me", "limit": 5, "tags": ["a b", "c&d"], "status": ["sold", "pending"]}`,
					"GET", "/api/v3/pets?limit=5&tags=a%20b&tags=c%26d&status=sold,pending", "X-Tenant: me|Authorization: Bearer t0ken", ""},
				{"listPets", `{"X-Tenant": "me"}`, "GET", "/api/v3/pets", "Accept: application/json, */*;q=0.5|Content-Type: ", ""},
				{"createPet", `{"X-Tenant": "me", "name": "Rex", "nickname": null, "chip": 123456789012345678, "parent": {"name": "Ada", "chip": 1e3}, "category": {"name": "<dog>"}}`,
					"POST", "/api/v3/pets", "Content-Type: application/json|X-Tenant: me",
					`{"name":"Rex","nickname":null,"chip":123456789012345678,"category":{"name":"<dog>"},"parent":{"name":"Ada","chip":1e3}}`},
				{"getPet", `{"petId": 9007199254740993, "session": "a=1; b"}`, "GET", "/api/v3/pets/9007199254740993", "Cookie: session=a=1%3B%20b", ""},
				{"deletePet", `{"petId": 7, "api_key": "mine"}`, "DELETE", "/api/v3/pets/7", "Api_key: mine|Authorization: ", ""},
				{"updatePetWithForm", `{"petId": 7, "name": "x&admin=1", "labels": ["a", "b"]}`,
					"POST", "/api/v3/pets/7", "Content-Type: application/x-www-form-urlencoded", "name=x%26admin%3D1&labels=a&labels=b"},
				{"updatePetWithForm", `{"petId": 7}`, "POST", "/api/v3/pets/7", "Content-Type: ", ""},
				{"uploadImage", `{"petId": 7, "file": "AAECAw==", "about": {"alt": "Rex"}}`, "POST", "/api/v3/pets/7/image", "",
					"form-data; name=\"file\"; filename=\"file\" [application/octet-stream] \x00\x01\x02\x03\nform-data; name=\"about\" [application/json] {\"alt\":\"Rex\"}\n"},
				{"get_store_inventory", `{}`, "GET", "/api/v3/store/inventory", "Api_key: k3y-k3y|Authorization: ", ""},
			} {
				succeed(t, tools[tt.tool], tt.arguments)
				got := last()
				if strings.HasPrefix(got.header.Get("Content-Type"), "multipart/form-data;") {
					got.body = parts(t, got.header.Get("Content-Type"), got.body)
				}
				if got.method != tt.method || got.uri != tt.uri || got.body != tt.body {
					t.Errorf("%s %s\ngot  %s %s %s\nwant %s %s %s", tt.tool, tt.arguments, got.method, got.uri, got.body, tt.method, tt.uri, tt.body)
				}
				for h := range strings.SplitSeq(tt.header, "|") {
					if name, value, ok := strings.Cut(h, ": "); ok && got.header.Get(name) != value {
						t.Errorf("%s %s: header %s is %q, want %q", tt.tool, tt.arguments, name, got.header.Get(name), value)
					}
				}
			}
		})
	}
}

// sameJSON compares JSON as values.
var sameJSON = cmp.Transformer("JSON", func(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
})

func TestSpecs(t *testing.T) {
	const listPets = `{"type":"object","properties":{"X-Tenant":{"description":"Whose pets","type":"string"},` +
		`"limit":{"description":"How many at most","type":"integer","exclusiveMinimum":0,"examples":[20],"format":"int32","maximum":100},` +
		`"tags":{"type":"array","items":{"type":"string"}},"status":{"type":"array","items":{"type":"string","enum":["available","pending","sold"]}}},` +
		`"required":["X-Tenant"],"additionalProperties":false}`
	const createPet = `{"type":"object","properties":{"X-Tenant":{"description":"Whose pets","type":"string"},"limit":{"type":"integer"},` +
		`"name":{"type":"string","examples":["Rex"],"maxLength":50},"nickname":{"type":["string","null"]},"chip":{"type":"integer","format":"int64"},` +
		`"category":{"$ref":"#/$defs/Category"},"parent":{"$ref":"#/$defs/Pet"}},"required":["X-Tenant","name"],"additionalProperties":false,` +
		`"$defs":{"Category":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}}},` +
		`"NewPet":{"type":"object","required":["name"],"properties":{"name":{"type":"string","examples":["Rex"],"maxLength":50},"nickname":{"type":["string","null"]},` +
		`"chip":{"type":"integer","format":"int64"},"category":{"$ref":"#/$defs/Category"}}},` +
		`"Pet":{"allOf":[{"$ref":"#/$defs/NewPet"},{"type":"object","properties":{"parent":{"$ref":"#/$defs/Pet"}}}]}}}`
	want := map[string]agent.Spec{
		"pets_listPets":  {Description: "List pets\n\nAll pets that match.", Parameters: json.RawMessage(listPets), Hints: agent.Hints{ReadOnly: true, Idempotent: true}},
		"pets_createPet": {Description: "Add a pet", Parameters: json.RawMessage(createPet)},
		"pets_deletePet": {Description: "Deprecated.", Hints: agent.Hints{Idempotent: true}, Parameters: json.RawMessage(
			`{"type":"object","properties":{"petId":{"type":"integer","format":"int64"},"api_key":{"type":"string"}},"required":["petId"],"additionalProperties":false}`)},
	}
	for _, file := range []string{"petstore-3.0.yaml", "petstore-3.1.json"} {
		tools, _ := load(t, &config.Tool{Prefix: "pets", OpenAPI: &config.OpenAPI{Document: filepath.Join("testdata", file)}})
		for name, w := range want {
			w.Name = name
			got := *tools[name].Spec()
			if diff := cmp.Diff(w, got, sameJSON); diff != "" {
				t.Errorf("%s: %s\n%s", file, diff, got.Parameters)
			}
		}
		if u := tools["pets_getPet"].(*tool).server.String(); u != "https://eu.pets.test/api/v3" {
			t.Errorf("the server is %s", u)
		}
	}
}

func TestFilters(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tool     config.Tool
		openapi  config.OpenAPI
		want     []string
		warnings []string
	}{
		{name: "include", tool: config.Tool{Include: []string{"*Pet", "nobody*"}}, want: []string{"createPet", "getPet", "deletePet"}, warnings: []string{"include: nobody* matches no operation"}},
		{name: "exclude", tool: config.Tool{Include: []string{"*Pet"}, Exclude: []string{"delete*", "get_store*", "x"}}, want: []string{"createPet", "getPet"}, warnings: []string{"exclude: x matches no operation"}},
		{name: "tags", openapi: config.OpenAPI{Tags: []string{"st*", "users"}}, want: []string{"get_store_inventory"}, warnings: []string{"tags: users matches no operation"}},
		{name: "paths", openapi: config.OpenAPI{Paths: []string{"/pets/{petId}", "/x"}}, want: []string{"getPet", "deletePet", "updatePetWithForm"}, warnings: []string{"paths: /x matches no operation"}},
		{name: "methods", openapi: config.OpenAPI{Methods: []string{"delete", "PUT"}}, want: []string{"deletePet"}, warnings: []string{"methods: PUT matches no operation"}},
		{name: "all", tool: config.Tool{Include: []string{"get*"}, Prefix: "p"}, openapi: config.OpenAPI{Tags: []string{"pets"}, Methods: []string{"GET"}, Paths: []string{"/pets*"}}, want: []string{"p_getPet"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.openapi.Document = "testdata/petstore-3.0.yaml"
			tt.openapi.Headers = map[string]config.Secret{"Authorization": config.NewSecret("x y"), "api_key": config.NewSecret("z")}
			tt.tool.OpenAPI = &tt.openapi
			_, listing := load(t, &tt.tool)
			if diff := cmp.Diff(tt.want, listing.Tools) + cmp.Diff(tt.warnings, listing.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}
