package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// The words that output may be, besides a MIME type.
const (
	outputText = "text"
	outputJSON = "json"
)

// maxMediaBytes bounds what a tool whose output is a MIME type gives; images
// are larger than the text that a model should read.
const maxMediaBytes = 8 << 20

// report turns what a program did into a result.
type report struct {
	out     *process.Output
	stopped string // why it was stopped; empty when it ended by itself
	late    bool   // it was stopped by a deadline
	limit   int    // bytes of text
}

// result gives what the tool's output asks for when the run was a success, and
// otherwise a failure that shows everything there is.
func (r *report) result(s *config.Shell) *agent.Result {
	if r.stopped != "" || r.out.Signal != "" || !slices.Contains(s.SuccessExitCodes, r.out.ExitCode) {
		failure := agent.Failure(r.full(r.status()))
		failure.Transient = r.late
		return failure
	}
	switch s.Output {
	case "", outputText:
		return agent.Text(r.text())
	case outputJSON:
		return r.json()
	}
	return r.media(s.Output)
}

// text is standard output alone when that is all there is to say. Like $(…) it
// does not end with line ends.
func (r *report) text() string {
	if r.out.Stderr.Size() == 0 && r.out.Stdout.Size() > 0 {
		return clean(&r.out.Stdout).fit(r.limit)
	}
	return r.full(r.status())
}

// json is the value on standard output. What stands on standard error, often
// progress, is shown when the value cannot be used.
func (r *report) json() *agent.Result {
	if r.out.Stdout.Skipped > 0 {
		return agent.Failure(r.full(fmt.Sprintf("the output has %d bytes, more JSON than the tool may give (%d bytes)", r.out.Stdout.Size(), r.limit)))
	}
	text := strings.ToValidUTF8(string(r.out.Stdout.Head), "\uFFFD")
	var value json.RawMessage
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return agent.Failure(r.full(fmt.Sprintf("the output is not JSON (%v); %s", err, r.status())))
	}
	return &agent.Result{Output: value}
}

// media is standard output as bytes of a type, with a line that says so.
func (r *report) media(mime string) *agent.Result {
	size := r.out.Stdout.Size()
	switch {
	case size == 0:
		return agent.Failure(r.full(fmt.Sprintf("the program was to print %s but printed nothing; %s", mime, r.status())))
	case size > maxMediaBytes:
		return agent.Failure(fmt.Sprintf("the output has %d bytes, more than the %d bytes that %s may have", size, maxMediaBytes, mime))
	}
	text := fmt.Sprintf("%s, %d bytes", mime, size)
	if r.out.Stderr.Size() > 0 {
		text += "\nstderr:\n" + clean(&r.out.Stderr).fit(r.room(text))
	}
	return &agent.Result{Output: text, Media: []*genai.Blob{{MIMEType: mime, Data: bytes.Clone(r.out.Stdout.Head)}}}
}

// status says how the program ended.
func (r *report) status() string {
	switch {
	case r.stopped != "" && r.out.Stdout.Size()+r.out.Stderr.Size() > 0:
		return r.stopped + "; output so far:"
	case r.stopped != "":
		return r.stopped
	case r.out.Signal != "":
		return "ended by a signal: " + r.out.Signal
	}
	return fmt.Sprintf("exit code %d", r.out.ExitCode)
}

// full is a status followed by both streams:
//
//	exit code 3
//	stdout:
//	…
//	stderr:
//	…
func (r *report) full(status string) string {
	stdout, stderr := clean(&r.out.Stdout), clean(&r.out.Stderr)
	if r.out.Stdout.Size()+r.out.Stderr.Size() == 0 {
		return status + ", no output"
	}
	first, second := share(r.room(status), stdout.size(), stderr.size())
	var b strings.Builder
	b.WriteString(status)
	if r.out.Stdout.Size() > 0 {
		b.WriteString("\nstdout:\n" + stdout.fit(first))
	}
	if r.out.Stderr.Size() > 0 {
		b.WriteString("\nstderr:\n" + stderr.fit(second))
	}
	return b.String()
}

// room is what the streams may take beside a status and their headings.
func (r *report) room(status string) int {
	return max(0, r.limit-len(status)-len("\nstdout:\n\nstderr:\n"))
}

// share divides room between two texts, so that a short one leaves the rest to
// the other.
func share(room, first, second int) (int, int) {
	half := room / 2
	switch {
	case first <= half:
		return first, room - first
	case second <= half:
		return room - second, second
	}
	return half, half
}
