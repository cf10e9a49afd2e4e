package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is what a run of the program wrote.
type told struct {
	code           int
	stdout, stderr string
}

// inStillWorld runs a command line in a world without chance: the clock stands still and
// ids count.
func inStillWorld(t *testing.T, env map[string]string, args ...string) told {
	t.Helper()
	a := testApp(t, env)
	n := 0
	a.now = func() time.Time { return time.Unix(1_800_000_000, 0).UTC() }
	a.newID = func() string { n++; return fmt.Sprintf("id%04d", n) }
	dir := t.TempDir()
	var err error
	if a.stdout, err = os.Create(filepath.Join(dir, "stdout")); err != nil {
		t.Fatal(err)
	}
	if a.stderr, err = os.Create(filepath.Join(dir, "stderr")); err != nil {
		t.Fatal(err)
	}
	if a.stdin, err = os.Open(os.DevNull); err != nil {
		t.Fatal(err)
	}
	defer a.stdin.Close()
	var out told
	out.code = a.run(t.Context(), args)
	for into, f := range map[*string]*os.File{&out.stdout: a.stdout, &out.stderr: a.stderr} {
		f.Close()
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		*into = string(text)
	}
	return out
}

// TestRecording records a turn with each provider's fake and plays it without: the
// events are the same to the byte. No secret is in the file, and another
// instruction is told apart.
func TestRecording(t *testing.T) {
	const secret = "canary0secret-of-a-header"
	for _, swap := range swaps {
		t.Run(swap.name, func(t *testing.T) {
			m, refusals := swap.start(t, []spoken{
				{"Let me see.", []called{{"look", `{"at":"a","big":12345678901234567890}`}}},
				{"", []called{{"look", `{"at":"` + secret + `"}`}}}, // one by one: those of one step end in any order
				{"All is well, " + key + ".", nil},
			})
			dir := t.TempDir()
			file := func(instruction string) string {
				path := filepath.Join(dir, "agent.yaml")
				text := fmt.Sprintf(`name: watcher
instruction: %s
model: {provider: %s, name: %s, base_url: %q, api_key: "${KEY}", headers: {X-Team: "${SECRET}"}, price: {input: 1, output: 2}}
tools:
  - name: look
    description: Look.
    parameters: {at: {type: string, description: Where}, big: {type: integer, optional: true, description: How}}
    shell: [echo, "saw {at} and ${SECRET}"]
`, instruction, m.Provider, m.Name, m.BaseURL)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			env := map[string]string{"KEY": key, "SECRET": secret}
			recording := filepath.Join(dir, "tape.json")
			live := inStillWorld(t, env, "run", "--json", "--record", recording, file("Look around."), "Is all well?")
			for _, r := range refusals() {
				t.Errorf("the service refused: %s", r)
			}
			if live.code != exitOK {
				t.Fatalf("%+v", live)
			}
			played := inStillWorld(t, env, "run", "--json", "--replay", recording, file("Look around."), "Is all well?")
			if d := cmp.Diff(live.stdout+live.stderr, played.stdout+played.stderr); d != "" {
				t.Errorf("the replay differs: %s", d)
			}
			text, err := os.ReadFile(recording)
			if err != nil {
				t.Fatal(err)
			}
			for _, canary := range []string{secret, key, m.BaseURL} {
				if strings.Contains(string(text), canary) {
					t.Errorf("the recording holds %q", canary)
				}
			}
			other := inStillWorld(t, env, "run", "--json", "--replay", recording, file("Look around twice."), "Is all well?")
			if other.code != exitFailed || !strings.Contains(other.stderr, "instruction") || !strings.Contains(other.stderr, "- Look around.") || !strings.Contains(other.stderr, "+ Look around twice.") {
				t.Errorf("%+v", other)
			}
			// A file can name its recording itself.
			own := strings.ReplaceAll(string(mustRead(t, file("Look around."))), "model: {", "model: {provider: replay, recording: tape.json}\nx-model: {")
			if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(own), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := inStillWorld(t, env, "run", filepath.Join(dir, "own.yaml"), "Is all well?"); r.code != exitOK || !strings.Contains(r.stdout, "All is well") {
				t.Errorf("%+v", r)
			}
		})
	}
	if got := inStillWorld(t, map[string]string{}, "run", "--record", "a", "--replay", "b", repository+"/agents/dice.yaml", "x"); got.code != exitUsage || !strings.Contains(got.stderr, "exclude") {
		t.Errorf("%+v", got)
	}
}

// TestRecordingSpares: what cannot be recorded is found out before anything is asked,
// and a file that is no recording stays what it is.
func TestRecordingSpares(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(agent, []byte("name: a\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: hi}]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, tape, says string }{
		{agent, agent, "is no recording"},
		{agent, filepath.Join(dir, "none", "x.json"), "there is no folder"},
		{agent, dir, "is no file"},
	} {
		got := inStillWorld(t, map[string]string{}, "run", "--record", c.tape, c.file, "hello")
		if got.code != exitUsage || !strings.Contains(got.stderr, c.says) || got.stdout != "" {
			t.Errorf("%s: %+v", c.says, got)
		}
	}
	if !strings.HasPrefix(string(mustRead(t, agent)), "name: a") {
		t.Error("the agent file is gone")
	}
	for range 2 { // a recording takes the place of another
		if got := inStillWorld(t, map[string]string{}, "run", "--record", filepath.Join(dir, "x.json"), agent, "hello"); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	}
}

// TestReplayWantsNoKey: a variable that only the model wants may be missing.
func TestReplayWantsNoKey(t *testing.T) {
	dir := t.TempDir()
	file, tape := filepath.Join(dir, "agent.yaml"), filepath.Join(dir, "tape.json")
	m, _ := swaps[2].start(t, []spoken{{"hello", nil}})
	text := fmt.Sprintf("name: a\ninstruction: x\nmodel: {provider: openai-compatible, name: m, base_url: %s, api_key: \"${TEAM_KEY}\"}\n", m.BaseURL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := inStillWorld(t, map[string]string{"TEAM_KEY": key}, "run", "--record", tape, file, "hi"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if got := inStillWorld(t, map[string]string{}, "run", "--replay", tape, file, "hi"); got.code != exitOK || !strings.Contains(got.stdout, "hello") {
		t.Errorf("%+v", got)
	}
	if got := inStillWorld(t, map[string]string{}, "run", file, "hi"); got.code != exitFailed || !strings.Contains(got.stderr, "TEAM_KEY") {
		t.Errorf("%+v", got)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRecordingBorrowed records what a calling host's model says, and plays it where
// there is no such host.
func TestRecordingBorrowed(t *testing.T) {
	dir := t.TempDir()
	file, tape := filepath.Join(dir, "agent.yaml"), filepath.Join(dir, "tape.json")
	text := "name: borrower\ninstruction: x\nmodel: host\ntools: [{name: look, description: Look., shell: [echo, all is quiet]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startHost(t, command(t, nil, "adkmcp", "serve", "--record", tape, file))
	h.send(strings.Replace(handshake, `"capabilities":{}`, `"capabilities":{"sampling":{"tools":{}}}`, 1))
	h.await("2")
	h.send(callOf(3, "borrower", "Is all well?"))
	for _, content := range []string{`[{"type":"tool_use","id":"c1","name":"look","input":{}}]`, `{"type":"text","text":"All is well."}`} {
		m, err := h.read()
		for ; err == nil && m.Method != "sampling/createMessage"; m, err = h.read() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"role":"assistant","model":"m","content":%s,"stopReason":"endTurn"}}`+"\n", m.ID, content))
	}
	if m, _ := h.await("3"); m.text() != "All is well." {
		t.Errorf("%+v", m)
	}
	h.end()
	if got := inStillWorld(t, map[string]string{}, "run", "--replay", tape, file, "Is all well?"); got.code != exitOK || !strings.Contains(got.stdout, "All is well.") {
		t.Errorf("%+v", got)
	}
}
