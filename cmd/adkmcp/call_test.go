package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
)

// oddServer is an MCP server of 2025-11-25 over stdio that answers a call with the
// result in its first argument, after a progress message. The second and third say
// what it does else: "toolless", "mute", "exit" during the call, "close" at once,
// "loud", which is close with a word on standard error, and "ask", which puts the
// first argument before the caller and gives back the answer.
const oddServer = `
case $2 in
loud) echo my last words >&2; exit $3 ;;
close) exit $3 ;;
esac
while IFS= read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $2$line in
  mute*|*'"method":"notifications/'*) ;;
  toolless*'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"odd","version":"1"},"capabilities":{}}}\n' "$id" ;;
  *'"method":"initialize"'*)
    case $line in *'"elicitation":{}'*) may=1 ;; *) may= ;; esac
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"odd","version":"1"},"capabilities":{"tools":{}}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  exit*'"method":"tools/call"'*) exit $3 ;;
  ask*'"method":"tools/call"'*)
    answer='{"action":"none"}'
    if [ $may ]; then
      printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}\n' "$1"
      IFS= read -r answer
      answer=${answer#*'"result":'}
      answer=${answer%\}}
    fi
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}\n' "$id" "$answer" ;;
  *'"method":"tools/call"'*)
    printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call","progress":1,"message":"step\u001b[2J\u0007 one"}}'
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1" ;;
  *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not known"}}\n' "$id" ;;
  esac
done
`

// odd is the command line of the odd server.
func odd(result, what string) []string {
	return append([]string{"sh", "-c", oddServer, "odd", result}, append(strings.Fields(what), "", "")...)
}

// callOdd calls the odd server.
func callOdd(t *testing.T, result, what string, flags ...string) outcome {
	t.Helper()
	args := append([]string{"call", "a request"}, flags...)
	cmd := command(t, nil, "adkmcp", append(append(args, "--"), odd(result, what)...)...)
	return runCommand(t, cmd)
}

func TestCallOddResults(t *testing.T) {
	const sentence = `{"type":"text","text":"kept"}`
	for name, c := range map[string]struct {
		result, what, stdout, stderr string
		code                         int
	}{
		"text into a pipe stays as it is": {`{"content":[{"type":"text","text":"a\u001b[31mb"}]}`, "", "a\x1b[31mb\n", "· step one\n", 0},
		"bad base64":                      {`{"content":[{"type":"image","mimeType":"image/png","data":"%%"},` + sentence + `]}`, "", "kept\n", "the server sent image data that is not base64", 1},
		"unknown kind":                    {`{"content":[{"type":"smell\u001b[2J"},` + sentence + `]}`, "", "kept\n", "a block of the result cannot be shown: ", 1},
		"structured only":                 {`{"content":[],"structuredContent":{"n":12345678901234567890}}`, "", `{"n":12345678901234567890}` + "\n", "", 0},
		"structured, no content key":      {`{"structuredContent":{"a":1}}`, "", `{"a":1}` + "\n", "", 0},
		"empty":                           {`{"content":[]}`, "", "", "the result is empty\n", 1},
		"no tools":                        {``, "toolless", "", "adkmcp: the server has no tools\n", 1},
		"dies during the call":            {``, "exit 3", "", "adkmcp: the server ended during the call (exit code 3) and said nothing\n", 1},
		"dies at once":                    {``, "close 4", "", "adkmcp: the server ended before it answered (exit code 4) and said nothing\n", 1},
		"dies with a word":                {``, "loud 5", "", "my last words\nadkmcp: the server ended before it answered (exit code 5); what it said stands above\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := callOdd(t, c.result, c.what)
			if got.stdout != c.stdout || !strings.Contains(got.stderr, c.stderr) || got.code != c.code {
				t.Errorf("got %d, %q, %q", got.code, got.stdout, got.stderr)
			}
			if strings.ContainsAny(got.stderr, "\x1b\a") {
				t.Errorf("a control sequence got through: %q", got.stderr)
			}
		})
	}
}

const (
	approvalForm = `{"message":"May\u001b[2J I?","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}},"required":["approve"]}}`
	numberForm   = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"},"word":{"type":"string"}},"required":["n"]}}`
)

// TestCallAsked lets the server ask where nobody is at a terminal.
func TestCallAsked(t *testing.T) {
	for name, c := range map[string]struct {
		form, stdout, stderr string
		flags                []string
	}{
		"nobody":             {approvalForm, `{"action":"none"}`, "", nil},
		"approved":           {approvalForm, `{"action":"accept","content":{"approve":true}}`, "· approved: May I?\n", []string{"--approve"}},
		"not approved":       {approvalForm, `{"action":"cancel"}`, "· cancel: nobody can be asked: standard input is no terminal\n", []string{"--answer", "approve=true"}},
		"answered":           {numberForm, `{"action":"accept","content":{"n":7,"word":"a=b"}}`, "· answered: Which?\n", []string{"--answer", "n=7", "--answer", "word=a=b"}},
		"an answer too many": {numberForm, `{"action":"accept","content":{"n":7}}`, "--answer x: the server has asked for no such field\n", []string{"--answer", "n=7", "--answer", "x=1"}},
		"wrong":              {numberForm, `{"action":"cancel"}`, `· cancel: the answer given for "n" is wrong: want a whole number`, []string{"--answer", "n=seven"}},
		"no approval":        {numberForm, `{"action":"cancel"}`, "· cancel: nobody can be asked: standard input is no terminal", []string{"--approve"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := callOdd(t, c.form, "ask", c.flags...)
			if got.stdout != c.stdout+"\n" || !strings.Contains(got.stderr, c.stderr) || got.code != 0 {
				t.Errorf("got %d, %q, %q", got.code, got.stdout, got.stderr)
			}
		})
	}
	cmd := command(t, []string{"ADKMCP_APPROVE=true"}, "adkmcp", append([]string{"call", "a request", "--"}, odd(approvalForm, "ask")...)...)
	if got := runCommand(t, cmd); got.stdout != `{"action":"none"}`+"\n" {
		t.Errorf("the environment approved: %+v", got)
	}
	for _, bad := range []string{"n", "=7"} {
		if got := callOdd(t, numberForm, "ask", "--answer", bad); got.code != 2 || !strings.Contains(got.stderr, "want FIELD=VALUE") {
			t.Errorf("%q: got %+v", bad, got)
		}
	}
}

func TestCallMuteServer(t *testing.T) {
	o := &callOptions{logs: &streams.Log{}, patience: 200 * time.Millisecond}
	err := testApp(t, map[string]string{}).call(t.Context(), o, []string{"a request"}, odd("", "mute"))
	if err == nil || err.Error() != "the server did not answer within 200ms" {
		t.Errorf("got %v", err)
	}
}

func TestCallSaveKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "image-1.png")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	image := `{"type":"image","mimeType":"image/png","data":"bmV3"}`
	got := callOdd(t, `{"content":[`+image+`,`+image+`]}`, "", "--save", dir)
	for file, want := range map[string]string{"image-1.png": "old", "image-2.png": "new", "image-3.png": "new"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if got.code != 0 || !strings.Contains(got.stderr, "saved as "+filepath.Join(dir, "image-3.png")) {
		t.Errorf("got %+v", got)
	}
}

func TestCallURL(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/private":
			w.WriteHeader(http.StatusUnauthorized)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	nobody := "http://" + nobody(t) + "/mcp"
	for _, c := range []struct {
		url, want string
		code      int
		flags     []string
	}{
		{s.URL, "the server answered with status 404 at " + s.URL + "; adkmcp serves MCP at /mcp, as in http://127.0.0.1:8080/mcp\n", 1, nil},
		{s.URL + "/mcp", "the server answered with status 404 at " + s.URL + "/mcp\n", 1, nil},
		{s.URL + "/broken", "the server answered with status 502 at ", 1, nil},
		{s.URL + "/private", "name the environment variable that holds it with --token-env\n", 1, nil},
		{s.URL + "/private", "the server does not take the token (status 401) that --token-env MY_TOKEN names\n", 1, []string{"--token-env", "MY_TOKEN"}},
		{nobody, "nothing listens at " + nobody + ";", 1, nil},
		{"nonsense", `--url "nonsense": want a whole URL`, 2, nil},
		{"ftp://127.0.0.1/mcp", `want a whole URL`, 2, nil},
		{"http:///mcp", `want a whole URL`, 2, nil},
		{s.URL + "/sse", "the server answered with status 404 at " + s.URL + "/sse\n", 1, nil},
		{s.URL + "/sse", "--approve and --answer do nothing over SSE", 2, []string{"--approve"}},
	} {
		got := runCommand(t, command(t, []string{"MY_TOKEN=x"}, "adkmcp", append([]string{"call", "--url", c.url, "a request"}, c.flags...)...))
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: got %+v", c.url, got)
		}
	}
}

func TestCallNoFile(t *testing.T) {
	if got := runCommand(t, command(t, nil, "adkmcp", "call", "nothing.yaml", "a request")); got.code != 2 {
		t.Errorf("got %+v", got)
	}
}
