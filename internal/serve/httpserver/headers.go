package httpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// Headers of MCP.
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
	sessionHeader = "Mcp-Session-Id"
	lastEvent     = "Last-Event-Id"
)

// nameFields says which of its params the header Mcp-Name of a request mirrors
// (basic/transports/streamable-http, "Standard Request Headers"; SEP-2663,
// "Routing Headers").
var nameFields = map[string]string{
	rpc.CallTool: "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// isModern reports whether a message belongs to MCP 2026-07-28 or later. One
// that says so in one place only contradicts itself, see checkHeaders.
func isModern(h http.Header, m *rpc.Message) bool {
	return m.Modern() || rpc.IsModern(h.Get(versionHeader))
}

// checkHeaders checks that the headers of a request of MCP 2026-07-28 or later
// say what the request itself says, so that whoever looks at one of them only is
// not misled (basic/transports/streamable-http, "Server Validation").
func checkHeaders(h http.Header, m *rpc.Message) *rpc.Error {
	if h.Get(lastEvent) != "" {
		return mismatch("Last-Event-ID: streams cannot be resumed; send the request again with a new id")
	}
	version, bad := mirrored(h, versionHeader)
	switch {
	case bad != nil:
		return bad
	case m.Version() == "":
		return &rpc.Error{Code: rpc.CodeInvalidParams, Message: "missing or invalid _meta field " + rpc.MetaVersion}
	case version != m.Version():
		return differs(versionHeader, version, m.Version())
	}
	if bad := checkVersion(version); bad != nil {
		return bad
	}
	switch method, bad := mirrored(h, methodHeader); {
	case bad != nil:
		return bad
	case method != m.Method:
		return differs(methodHeader, method, m.Method)
	}
	return checkName(h, m)
}

// checkVersion refuses a version that is not spoken.
func checkVersion(version string) *rpc.Error {
	if mcp.IsValidProtocolVersion(version) {
		return nil
	}
	return &rpc.Error{Code: rpc.CodeVersion, Message: "protocol version " + version + " is not supported",
		Data: map[string]any{"supported": slices.Clone(mcp.ValidProtocolVersions), "requested": version}}
}

func checkName(h http.Header, m *rpc.Message) *rpc.Error {
	field, named := nameFields[m.Method]
	if !named {
		return nil
	}
	header, bad := mirrored(h, nameHeader)
	if bad != nil {
		return bad
	}
	name, ok := decode(header)
	if !ok {
		return mismatch(nameHeader + ": invalid base64")
	}
	var params map[string]json.RawMessage
	var want string
	if json.Unmarshal(m.Params, &params) == nil && params[field] != nil {
		_ = json.Unmarshal(params[field], &want) // what is no text has no header that fits
	}
	if name != want {
		return differs(nameHeader, name, want)
	}
	return nil
}

// mirrored gives a header that must be there, once, and in visible ASCII.
func mirrored(h http.Header, name string) (string, *rpc.Error) {
	values := h.Values(name)
	switch {
	case len(values) == 0 || values[0] == "":
		return "", mismatch(name + ": missing required header")
	case len(values) > 1:
		return "", mismatch(name + ": the header stands more than once")
	case strings.IndexFunc(values[0], func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) >= 0:
		return "", mismatch(name + ": invalid characters")
	}
	return values[0], nil
}

// decode undoes what clients do to a value that is not fit for a header
// ("Value Encoding").
func decode(value string) (string, bool) {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if encoded, ok = strings.CutSuffix(encoded, "?="); !ok {
		return value, true
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	return string(text), err == nil
}

func mismatch(what string) *rpc.Error {
	return &rpc.Error{Code: rpc.CodeHeaderMismatch, Message: "header mismatch: " + what}
}

func differs(name, header, body string) *rpc.Error {
	return mismatch(fmt.Sprintf("%s says %q, the message %q", name, header, body))
}

// httpStatus gives the status that MCP 2026-07-28 has for the code of an error.
func httpStatus(code int) int {
	switch code {
	case rpc.CodeNoMethod:
		return http.StatusNotFound
	case rpc.CodeHeaderMismatch, rpc.CodeMissingCap, rpc.CodeVersion, rpc.CodeInvalidRequest, rpc.CodeInvalidParams, rpc.CodeParse:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
