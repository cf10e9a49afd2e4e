package gemini

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestVertexSignsWithCredentials has a service account's file whose tokens
// come from a server of ours.
func TestVertexSignsWithCredentials(t *testing.T) {
	expired := false
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/json")
		if expired {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"token-1","token_type":"Bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "other", "private_key_id": "1", "client_email": "a@example.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri":   tokens.URL, "quota_project_id": "payer",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": file}
	m, err := New(&config.Model{Name: "gemini-3-flash"}, nil, Deps{Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	var sent *http.Request
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(ending))}, nil
	})
	m.client.made, err = newClient(t.Context(), &m.settings, base)
	if err != nil {
		t.Fatal(err)
	}
	if _, reply, err := generate(t.Context(), m); err != nil || reply == nil {
		t.Fatal(err)
	}
	want := "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
	if sent.URL.String() != want || sent.Header.Get("Authorization") != "Bearer token-1" || sent.Header.Get("X-Goog-User-Project") != "payer" || sent.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("%s\n%v", sent.URL, sent.Header)
	}

	expired = true
	if m.client.made, err = newClient(t.Context(), &m.settings, base); err != nil {
		t.Fatal(err)
	}
	var e *model.Error
	if err := second(generate(t.Context(), m)); !errors.As(err, &e) || e.Code != model.Unauthorized || !strings.Contains(e.Message, "gcloud auth application-default login") {
		t.Errorf("%v", err)
	}
}
