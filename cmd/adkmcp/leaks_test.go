package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// H02 with the whole program: secrets stand everywhere where an agent file can
// have them, servers and programs throw them back, and every sink is searched.

// canaries are secrets by the variable that holds them. Each begins with
// letters and digits that no way of writing changes, which are searched for, and
// goes on with what is written differently in JSON, in URLs and in logs.
var canaries = map[string]string{
	"SHELL_SECRET":    "canary0shell\ttab \"quoted\" <&> ö \\n",
	"HEADER_SECRET":   `canary0header"<&>'\ %2F`,
	"QUERY_SECRET":    "canary0query &=?#+%20 ü",
	"PATH_SECRET":     "canary0path-{x}-$HOME",
	"BODY_SECRET":     "canary0body\nsecond \"line\"\r\n",
	"FORM_SECRET":     "canary0form+&=%",
	"BEARER_SECRET":   "canary0bearer",
	"BASIC_SECRET":    "canary0basic:x",
	"AUTH_SECRET":     "canary0auth\\u0041",
	"USERINFO_SECRET": "canary0userinfo",
	"KEY_SECRET":      "canary0key",
	"MODEL_SECRET":    "canary0model",
	"GATEWAY_SECRET":  "canary0gateway",
}

func canaryEnv(more ...string) []string {
	for name, value := range canaries {
		more = append(more, name+"="+value)
	}
	return more
}

// leaks lists the canaries in a text, base64 of the credentials included.
func leaks(text string) (found []string) {
	for name, value := range canaries {
		mark := strings.FieldsFunc(value, func(r rune) bool { return !strings.ContainsRune("0abcdefghijklmnopqrstuvwxyz", r) })[0]
		credentials := base64.StdEncoding.EncodeToString([]byte("me:" + value))
		if strings.Contains(text, mark) || strings.Contains(text, credentials) {
			found = append(found, name)
		}
	}
	return found
}

// noLeaks searches sinks, by name.
func noLeaks(t *testing.T, sinks map[string]string) {
	t.Helper()
	for name, text := range sinks {
		for _, l := range leaks(text) {
			t.Errorf("%s shows %s:\n%.3000s", name, l, text)
		}
	}
}

// echoing is a server that throws back what it gets, and a body of JSON as JSON.
func echoing(t *testing.T) (url string, arrived func() string) {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, password, _ := r.BasicAuth()
		mu.Lock()
		fmt.Fprintln(&all, r.URL, r.Header, string(body), password)
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/elsewhere") {
			http.Redirect(w, r, "http://127.0.0.2:1"+r.RequestURI+"&again="+r.Header.Get("X-Key"), http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.URL.Path, "/fail") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		var sent any = string(body)
		if json.Valid(body) && !strings.HasPrefix(r.URL.Path, "/nested") {
			sent = json.RawMessage(body)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"uri": r.RequestURI, "header": r.Header, "body": sent, "kept": "innocent"})
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// leakyAgent uses secrets in every field that takes some. ECHO and HOST stand for
// the server that throws them back, NOBODY for an address where nobody listens.
const leakyAgent = `
name: leaky
instruction: Use secrets.
model:
  provider: scripted
  script:
    - match: '^argument (?P<word>.*)'
      steps: [{call: [{show: {word: "{word}"}}]}, {reply: "shown"}]
    - steps:
        - {say: "All at once.", call: [{secrets: {}}, {ok: {}}, {fail: {}}, {post: {}}, {form: {}}, {userinfo: {}}, {nobody: {}}, {elsewhere: {}}]}
        - {reply: "{secrets} {ok} {fail} {post} {form} {userinfo} {nobody} {elsewhere}"}
tools:
  - name: show
    description: Shows an argument, and fails.
    parameters: {word: {type: string}}
    shell: {command: [sh, -c, 'echo "$1" >&2; exit 3', sh, "{word}"]}
  - name: secrets
    description: Prints what it was given.
    shell:
      script: printf '%s\n' "$TOKEN"; printf '%s\n' "$TOKEN" >&2; echo innocent; exit 4
      env: {TOKEN: "${SHELL_SECRET}"}
  - name: ok
    description: Succeeds.
    http:
      url: ECHO/ok/${PATH_SECRET}
      headers: {X-Key: "${HEADER_SECRET}"}
      query: {key: "${QUERY_SECRET}"}
      auth: {bearer: "${BEARER_SECRET}"}
      result: '[.uri, .header, .kept, (.header | tostring)]'
  - name: fail
    description: Fails.
    http:
      url: ECHO/fail/${PATH_SECRET}
      headers: {X-Key: "${HEADER_SECRET}"}
      query: {key: "${QUERY_SECRET}"}
      auth: {basic: {username: me, password: "${BASIC_SECRET}"}}
  - name: post
    description: Sends JSON.
    http: {method: POST, url: ECHO/ok, body: {json: {deep: [{secret: "${BODY_SECRET}"}]}}, auth: {header: {name: X-Api-Key, value: "${AUTH_SECRET}"}}}
  - name: form
    description: Sends a form.
    http: {method: PUT, url: ECHO/fail, body: {form: {secret: "${FORM_SECRET}"}}}
  - name: userinfo
    description: Has credentials in its URL.
    http: {url: "http://me:${USERINFO_SECRET}@HOST/ok"}
  - name: nobody
    description: Reaches nobody.
    http: {url: "http://me:${USERINFO_SECRET}@NOBODY/${PATH_SECRET}", query: {key: "${QUERY_SECRET}"}}
  - name: elsewhere
    description: Is sent elsewhere.
    http: {url: "ECHO/elsewhere", query: {key: "${QUERY_SECRET}"}, headers: {X-Key: "${HEADER_SECRET}"}}
`

func leakyFile(t *testing.T, echo string) string {
	t.Helper()
	return agentFile(t, strings.NewReplacer("ECHO", echo, "NOBODY", nobody(t), "HOST", strings.TrimPrefix(echo, "http://")).Replace(leakyAgent))
}

// nobody is an address of this machine where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// wantArrived makes sure that the secrets were where they could leak.
func wantArrived(t *testing.T, arrived string) {
	t.Helper()
	got := leaks(arrived)
	if len(got) < 9 {
		t.Errorf("only %v arrived:\n%s", got, arrived)
	}
}

func TestH02Serve(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			echo, arrived := echoing(t)
			h := startHost(t, command(t, canaryEnv(), "adkmcp", "serve", "--log-level", "debug", "--log-format", format, leakyFile(t, echo)))
			h.initialize()
			text, isError, progress := h.ask(3, "leaky", "all of them")
			if isError || strings.Count(text, "[redacted]") < 9 || strings.Count(text, "innocent") < 4 || len(progress) < 2 {
				t.Errorf("%v %q, progress %q", isError, text, progress)
			}
			// Arguments are the caller's and the model's: they are in the answer
			// and never in a log.
			h.ask(4, "leaky", "argument canary0query \x1b[31m\nlevel=ERROR msg=forged")
			protocol := h.said.String()
			h.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"canary0shell","arguments":{"request":"canary0shell","conversation":7}}}` + "\n")
			h.send("canary0shell is no JSON\n" + `{"jsonrpc":"2.0","id":6,"method":"canary0shell","params":"canary0shell"}` + "\n")
			h.await("5")
			h.await("6")
			h.end()
			wantArrived(t, arrived())
			wantLog(t, h.stderr.String(), "tool call ends")
			noLeaks(t, map[string]string{"the protocol": protocol, "the log": h.stderr.String()})
			if strings.Contains(h.stderr.String(), "forged") {
				t.Error("an argument was logged")
			}
		})
	}
}

// http.md, case 12: a secret in a header and the server echoing it, in the
// events of --json and in what a person sees.
func TestH02Run(t *testing.T) {
	for _, flags := range [][]string{{"--json"}, {}} {
		t.Run(fmt.Sprintf("12 %v", flags), func(t *testing.T) {
			echo, arrived := echoing(t)
			args := append([]string{"run", "--log-level", "debug"}, flags...)
			got := runCommand(t, command(t, canaryEnv(), "adkmcp", append(args, leakyFile(t, echo), "all of them")...))
			if got.code != exitOK || !strings.Contains(got.stdout, "innocent") || strings.Count(got.stdout, "[redacted]") < 9 {
				t.Errorf("%+v", got)
			}
			wantArrived(t, arrived())
			noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
			if len(flags) == 0 {
				return
			}
			kinds := map[string]int{}
			for line := range strings.Lines(got.stdout) {
				var e struct {
					Kind     string
					Response struct{ Response map[string]any }
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil || strings.HasSuffix(line, "\r\n") {
					t.Errorf("no event: %v %q", err, line)
				}
				kinds[e.Kind]++
				if e.Kind == "tool_finished" && !strings.Contains(fmt.Sprint(e.Response.Response), "[redacted]") && !strings.Contains(line, "kept") && !strings.Contains(line, "127.0.0.") {
					t.Errorf("nothing is hidden in %s", line)
				}
			}
			if kinds["tool_finished"] != 8 || kinds["ended"] != 1 {
				t.Errorf("events %v", kinds)
			}
		})
	}
}

func TestH02Call(t *testing.T) {
	echo, arrived := echoing(t)
	got := runCommand(t, command(t, canaryEnv(), "adkmcp", "call", "--log-level", "debug", leakyFile(t, echo), "all of them"))
	if got.code != exitOK || !strings.Contains(got.stdout, "[redacted]") || !strings.Contains(got.stderr, "level=DEBUG") {
		t.Errorf("%+v", got)
	}
	wantArrived(t, arrived())
	noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
}

// Errors of the model's service that hold everything it was sent.
func TestH02ProviderErrors(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 429, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			service, err := geminitest.Start(t.Context(), func(r *geminitest.Request) geminitest.Reply {
				return geminitest.Fail(status, "SOME_STATUS", fmt.Sprintf("you sent %s and %v", r.Body, r.Header))
			})
			if err != nil {
				t.Fatal(err)
			}
			defer service.Close()
			file := agentFile(t, "name: asker\ninstruction: Ask.\nmodel: {name: gemini-x, base_url: "+service.URL+
				", api_key: \"${KEY_SECRET}\", headers: {X-Team: \"Token ${MODEL_SECRET}\"}, retries: 0}\n")
			h := startHost(t, command(t, canaryEnv(), "adkmcp", "serve", "--log-level", "debug", file))
			h.initialize()
			if text, isError, _ := h.ask(3, "asker", "hi"); !isError || !strings.Contains(text, "you sent") {
				t.Errorf("%v %q", isError, text)
			}
			h.end()
			got := runCommand(t, command(t, canaryEnv(), "adkmcp", "run", "--json", "--log-level", "debug", file, "hi"))
			if got.code != exitFailed || !strings.Contains(got.stdout+got.stderr, "you sent") {
				t.Errorf("%+v", got)
			}
			sent := fmt.Sprint(service.Requests()[0].Header)
			if !strings.Contains(sent, "canary0key") || !strings.Contains(sent, "canary0model") {
				t.Errorf("sent %s", sent)
			}
			noLeaks(t, map[string]string{"the protocol": h.said.String(), "the log": h.stderr.String(), "run": got.stdout, "its standard error": got.stderr})
		})
	}
	t.Run("keys of the environment, and nobody listens", func(t *testing.T) {
		file := agentFile(t, "name: asker\ninstruction: Ask.\nmodel: {name: gemini-x, base_url: \"http://"+nobody(t)+"\", headers: {Authorization: \"Basic ${GATEWAY_SECRET}\"}, retries: 0}\n")
		got := runCommand(t, command(t, canaryEnv("GOOGLE_API_KEY=canary0key", "GEMINI_API_KEY=canary0model"), "adkmcp", "run", "--log-level", "debug", file, "hi"))
		if got.code != exitFailed || !strings.Contains(got.stderr, "cannot be reached") {
			t.Errorf("%+v", got)
		}
		noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
	})
}

// TestH02ModelURLWithCredentials: a URL with credentials is refused by every
// provider, with words on where they belong, and without them.
func TestH02ModelURLWithCredentials(t *testing.T) {
	for _, name := range []string{"gemini-x", "gpt-x", "claude-x", "ollama/x"} {
		file := agentFile(t, "name: asker\ninstruction: Ask.\nmodel: {name: "+name+", base_url: \"http://me:${GATEWAY_SECRET}@127.0.0.1:1/v1\", api_key: \"${KEY_SECRET}\", retries: 0}\n")
		got := runCommand(t, command(t, canaryEnv(), "adkmcp", "run", "--json", "--log-level", "debug", file, "hi"))
		if got.code != exitFailed || !strings.Contains(got.stderr, "model.headers") {
			t.Errorf("%s: %+v", name, got)
		}
		noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
	}
}

// http.md, case 12, for secrets that stand in the file itself.
func TestH02LiteralHeaders(t *testing.T) {
	echo, arrived := echoing(t)
	file := agentFile(t, `
name: literal
instruction: x
model: {provider: scripted, script: [{steps: [{call: [{get: {}}]}, {reply: "{get}"}]}]}
tools:
  - {name: get, description: Gets., http: {url: "`+echo+`/ok", headers: {Authorization: Bearer canary0bearer, X-Api-Key: canary0key, Accept: application/json}}}
`)
	got := runCommand(t, command(t, nil, "adkmcp", "run", "--json", file, "hi"))
	if got.code != exitOK || len(leaks(arrived())) != 2 || !strings.Contains(got.stdout, "application/json") {
		t.Errorf("%+v", got)
	}
	noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
}

// A server that gives back the JSON that it got as a text inside of JSON.
func TestH02JSONInJSON(t *testing.T) {
	echo, arrived := echoing(t)
	file := agentFile(t, `
name: nested
instruction: x
model: {provider: scripted, script: [{steps: [{call: [{post: {}}]}, {reply: "{post}"}]}]}
tools:
  - {name: post, description: Sends JSON., http: {method: POST, url: "`+echo+`/nested", body: {json: {secret: "${BODY_SECRET}"}}}}
`)
	got := runCommand(t, command(t, canaryEnv(), "adkmcp", "run", "--json", file, "hi"))
	if got.code != exitOK || !strings.Contains(arrived(), "canary0body") || !strings.Contains(got.stdout, "innocent") {
		t.Errorf("%+v", got)
	}
	noLeaks(t, map[string]string{"standard output": got.stdout, "standard error": got.stderr})
}

// wrongAgent has the secrets in values that are wrong for their places, as
// variables and as they stand.
const wrongAgent = `
name: wrong
instruction: x
model: {provider: "${KEY_SECRET}", name: "${KEY_SECRET}", base_url: "${GATEWAY_SECRET}", api_key: "${BODY_SECRET}", headers: {"X Y": "${BODY_SECRET}", A: "canary0model\nx"}, timeout: "${KEY_SECRET}", retries: "${KEY_SECRET}"}
tools:
  - {name: a, shell: {command: ["${SHELL_SECRET}/x"], dir: "${PATH_SECRET}", env: {"A B": "${SHELL_SECRET}"}}}
  - {name: b, shell: {script: x, interpreter: ["/${SHELL_SECRET}"]}}
  - {name: c, http: {url: "${USERINFO_SECRET}/", auth: {bearer: "${BODY_SECRET}"}}}
  - {name: d, http: {url: "http://me:${USERINFO_SECRET}@example.com:x/{y", auth: {basic: {username: me, password: "canary0basic\nx"}}}}
  - {name: e, http: {url: "https://example.com/", headers: {"X Y": "canary0header", X: "canary0header\n"}, auth: {header: {name: "a b", value: "canary0auth"}}, body: {json: {a: "${BODY_SECRET}{p}"}}}}
  - {name: f, http: {url: "http://me:canary0userinfo@example.com/{p}", auth: {bearer: canary0bearer, basic: {username: me, pasword: canary0basic}}}}
  - {name: files, args: {root: "${PATH_SECRET}"}}
`

func TestH02Validate(t *testing.T) {
	for _, format := range []string{"text", "json", "github", "sarif"} {
		t.Run(format, func(t *testing.T) {
			file := agentFile(t, wrongAgent)
			dotenv := filepath.Join(filepath.Dir(file), ".env")
			if err := os.WriteFile(dotenv, []byte("A=1\ncanary0key canary0shell\nB='canary0form\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got := runCommand(t, command(t, canaryEnv(), "adkmcp", "validate", "--format", format, file))
			for _, place := range []string{"model.provider", "model.timeout", "tools[0].shell", "tools[1].shell.interpreter", "tools[2].http", "tools[3].http", "tools[4].http", "tools[5].http", "tools[6].args", "the line is no assignment"} {
				if !strings.Contains(got.stdout, place) {
					t.Errorf("nothing is said about %s", place)
				}
			}
			if got.code != exitFailed || got.stderr != "" {
				t.Errorf("code %d, standard error %q", got.code, got.stderr)
			}
			noLeaks(t, map[string]string{"standard output": got.stdout})
			// serve and run refuse with the same text, on standard error.
			for _, args := range [][]string{{"serve", file}, {"run", file, "hi"}} {
				refused := runCommand(t, command(t, canaryEnv(), "adkmcp", args...))
				if refused.code != exitFailed || refused.stdout != "" || format == "text" && refused.stderr != got.stdout {
					t.Errorf("%s: %+v", args[0], refused)
				}
				noLeaks(t, map[string]string{args[0]: refused.stderr})
			}
		})
	}
}
