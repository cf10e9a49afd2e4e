// Package streams is what the program writes to: the log, and the person's terminal,
// both without the secrets of the agents.
//
// Start with [Log] and [Redactor].
package streams

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Log says where log lines go and how they look.
type Log struct {
	Level, Format, File string
}

// Flags adds the flags that set it.
func (o *Log) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Level, "log-level", "info", "what to log: debug, info, warn or error")
	f.StringVar(&o.Format, "log-format", "text", "how log lines look: text or json")
	f.StringVar(&o.File, "log-file", "", "append the log to this file instead of standard error")
}

// Open makes the logger, which the standard library's log then writes to as
// well: to stderr, or to the file behind redact. The function frees what it
// holds.
func (o *Log) Open(stderr io.Writer, redact func(io.Writer) io.Writer) (*slog.Logger, func() error, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		return nil, nil, fmt.Errorf("--log-level %q: use debug, info, warn or error", o.Level)
	}
	w, closeFile := stderr, func() error { return nil }
	if o.File != "" {
		f, err := os.OpenFile(o.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("--log-file: %w", err)
		}
		w, closeFile = redact(f), f.Close
	}
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler
	switch o.Format {
	case "text":
		h = slog.NewTextHandler(w, options)
	case "json":
		h = slog.NewJSONHandler(w, options)
	default:
		return nil, nil, fmt.Errorf("--log-format %q: use text or json", o.Format)
	}
	log := slog.New(h)
	slog.SetDefault(log) // libraries that log by default do it here, never to stdout
	return log, closeFile, nil
}

// Quiet raises the level for commands that talk to a person, unless somebody
// asked for one.
func (o *Log) Quiet(f *pflag.FlagSet) {
	if !f.Changed("log-level") {
		o.Level = "warn"
	}
}

// Style colours text for a terminal.
type Style bool

// Dim makes text dim.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Bold makes text bold.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Red makes text red.
func (s Style) Red(text string) string { return s.wrap("31", text) }

func (s Style) wrap(code, text string) string {
	if !s {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", code, text)
}

// IsTerminal reports whether a person reads f.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// StyleOf gives colours where f is a terminal and NO_COLOR (no-color.org) is not
// set in the environment.
func StyleOf(f *os.File, lookup func(string) (string, bool)) Style {
	no, _ := lookup("NO_COLOR")
	return Style(no == "" && IsTerminal(f))
}
