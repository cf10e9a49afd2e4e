package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// logOptions say where log lines go and how they look.
type logOptions struct {
	level, format, file string
}

func (o *logOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.level, "log-level", "info", "what to log: debug, info, warn or error")
	f.StringVar(&o.format, "log-format", "text", "how log lines look: text or json")
	f.StringVar(&o.file, "log-file", "", "append the log to this file instead of standard error")
}

// open makes the logger, which the standard library's log then writes to as
// well: to stderr, or to the file behind redact. The function frees what it
// holds.
func (o *logOptions) open(stderr io.Writer, redact func(io.Writer) io.Writer) (*slog.Logger, func() error, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.level)); err != nil {
		return nil, nil, usageError("--log-level %q: use debug, info, warn or error", o.level)
	}
	w, closeFile := stderr, func() error { return nil }
	if o.file != "" {
		f, err := os.OpenFile(o.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, usageError("--log-file: %w", err)
		}
		w, closeFile = redact(f), f.Close
	}
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler
	switch o.format {
	case "text":
		h = slog.NewTextHandler(w, options)
	case "json":
		h = slog.NewJSONHandler(w, options)
	default:
		return nil, nil, usageError("--log-format %q: use text or json", o.format)
	}
	log := slog.New(h)
	slog.SetDefault(log) // libraries that log by default do it here, never to stdout
	return log, closeFile, nil
}

// quiet raises the level for commands that talk to a person, unless somebody
// asked for one.
func (o *logOptions) quiet(f *pflag.FlagSet) {
	if !f.Changed("log-level") {
		o.level = "warn"
	}
}

// style colours text for a terminal.
type style bool

func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) red(text string) string  { return s.wrap("31", text) }

func (s style) wrap(code, text string) string {
	if !s {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", code, text)
}

// isTerminal reports whether a person reads f.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// style gives colours where f is a terminal and NO_COLOR (no-color.org) is not
// set.
func (a *app) style(f *os.File) style {
	no, _ := a.lookup("NO_COLOR")
	return style(no == "" && isTerminal(f))
}
