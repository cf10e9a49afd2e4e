package serve_test

import (
	"encoding/json"
	"os"
	"regexp"
	"sync"
	"testing"
)

// recorder writes what went over the wire in a test into a file of the folder
// that ADKMCP_WIRE_DIR names, where a script holds it against the official JSON
// Schema of its protocol version (e2e/schema). Tests send a lot of
// nonsense on purpose, which is marked: it gets an error.
type recorder struct {
	file *os.File

	mu       sync.Mutex
	legacy   string                     // the version that an initialize has agreed on
	versions map[string]string          // of requests, by id, and of progress, by token
	requests map[string]json.RawMessage // by id
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// newRecorder gives a recorder for one connection of a test; nil records nothing.
func newRecorder(t testing.TB) *recorder {
	t.Helper()
	dir := os.Getenv("ADKMCP_WIRE_DIR")
	if dir == "" {
		return nil
	}
	f, err := os.CreateTemp(dir, unfit.ReplaceAllString(t.Name(), "_")+".*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &recorder{file: f, legacy: "2025-11-25", versions: make(map[string]string), requests: make(map[string]json.RawMessage)}
}

type recorded struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Params struct {
		Token json.RawMessage            `json:"progressToken"`
		Meta  map[string]json.RawMessage `json:"_meta"`
	}
}

// sent notes what a client sent.
func (r *recorder) sent(data []byte) {
	var m recorded
	if r == nil || json.Unmarshal(data, &m) != nil || m.Method == "" || m.ID == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	version := r.legacy
	if raw := m.Params.Meta["io.modelcontextprotocol/protocolVersion"]; raw != nil {
		_ = json.Unmarshal(raw, &version)
	}
	if m.Method == "initialize" {
		version = ""
	}
	r.versions[string(m.ID)] = version
	r.requests[string(m.ID)] = data
	if token := m.Params.Meta["progressToken"]; token != nil {
		r.versions["token "+string(token)] = version
	}
}

// came notes what came from the server.
func (r *recorder) came(data []byte) {
	var m recorded
	if r == nil || json.Unmarshal(data, &m) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	version, known := r.versions[string(m.ID)]
	switch {
	case m.Method == "" && known && version == "": // an initialize
		var agreed struct{ ProtocolVersion string }
		if json.Unmarshal(m.Result, &agreed); agreed.ProtocolVersion != "" {
			r.legacy = agreed.ProtocolVersion
		}
		version = r.legacy
	case m.Method != "" && m.Params.Token != nil:
		version = r.versions["token "+string(m.Params.Token)]
	case m.Params.Meta["io.modelcontextprotocol/subscriptionId"] != nil:
		version = "2026-07-28"
	}
	if version == "" {
		version = r.legacy
	}
	if request := r.requests[string(m.ID)]; m.Method == "" && request != nil {
		why := ""
		if m.Result == nil {
			why = "it gets an error"
		}
		r.write(version, "client", why, request)
	}
	r.write(version, "server", "", data)
}

func (r *recorder) write(version, direction, deliberate string, message json.RawMessage) {
	line, err := json.Marshal(struct {
		Version    string          `json:"version"`
		Direction  string          `json:"direction"`
		Deliberate string          `json:"deliberate,omitempty"`
		Message    json.RawMessage `json:"message"`
	}{version, direction, deliberate, message})
	if err == nil {
		_, _ = r.file.Write(append(line, '\n'))
	}
}
