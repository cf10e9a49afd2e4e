package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/stdio"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
)

// faulty is the program, serving over stdio, with faults that no agent file can
// bring about: tools and turns that panic, and libraries that write to the
// standard loggers. Arguments are the log format and the agent file. A tool whose
// name begins with fault_ has the fault of that name instead of what its file says.
func faulty() {
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		lookup: os.LookupEnv, now: time.Now, newID: rand.Text, executable: os.Executable,
	}
	if err := a.serveFaulty(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "adkmcp-faulty:", err)
		os.Exit(exitFailed)
	}
}

func (a *app) serveFaulty(ctx context.Context, format, path string) (err error) {
	h, err := a.open(&streams.Log{Level: "debug", Format: format}, []string{path}, opening{bounds: house.DefaultBounds()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	secret, _ := a.lookup("SECRET_OF_THE_FAULT")
	for _, r := range h.Residents {
		parts := r.Runner.Parts
		parts.Tools = &faultyTools{inner: r.Tools, secret: secret, log: h.log}
		r.Runner = agent.NewRunner(r.Config, parts)
	}
	registry := turns.New(h.log, a.now)
	agents := served(ctx, h)
	for i := range agents {
		agents[i].Runner = &faultyRunner{agents[i].Runner, secret}
	}
	s, err := serve.New(serve.Options{Agents: agents, Version: "faulty", IdleExpiry: time.Hour,
		Turns: registry, Delete: h.Store.Delete, Artifacts: h.Artifacts, Sealer: elicit.NewSealer([]byte("key"), a.now), AskTimeout: time.Minute,
		Random: rand.Reader, Now: a.now, Log: h.log})
	if err != nil {
		return err
	}
	return stdio.Run(ctx, stdio.Config{Handler: s.All(), In: a.stdin, Out: a.stdout, Turns: registry, Ended: s.End, Log: h.log})
}

// faultyRunner panics when it is asked to crash.
type faultyRunner struct {
	turns.Runner
	secret string
}

func (f *faultyRunner) Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error] {
	if strings.HasPrefix(t.Input.Parts[0].Text, "crash") {
		panic("the turn saw " + f.secret + forged)
	}
	return f.Runner.Run(ctx, t)
}

// forged is what must not become a line of its own, or a colour, in a log.
const forged = "\x1b[31m\ntime=2026-01-01T00:00:00Z level=ERROR msg=forged\r\n"

// faultyTools puts faults in the place of tools.
type faultyTools struct {
	inner  agent.Toolset
	secret string
	log    *slog.Logger
}

func (f *faultyTools) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	all, err := f.inner.Tools(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []agent.Tool
	for _, t := range all {
		if kind, ok := strings.CutPrefix(t.Spec().Name, "fault_"); ok {
			broken := &faultyTool{spec: t.Spec(), kind: kind, secret: f.secret}
			if t = broken; kind != "bare" { // as every tool of a file is wrapped
				t = middleware.Wrap(broken, middleware.Options{Log: f.log, Now: time.Now, Secrets: []string{f.secret}, Timeout: time.Minute, MaxResultBytes: 1 << 16})
			}
		}
		out = append(out, t)
	}
	return out, nil
}

type faultyTool struct {
	spec         *agent.Spec
	kind, secret string
}

func (f *faultyTool) Spec() *agent.Spec { return f.spec }

func (f *faultyTool) Call(context.Context, *agent.Call) (*agent.Result, error) {
	text := "the tool saw " + f.secret + forged
	switch f.kind {
	case "panic", "bare":
		panic(text)
	case "error":
		return nil, errors.New(text)
	case "log": // as libraries do that know nothing of ours
		log.Print(text)
		log.Default().Println("second", text)
		slog.Warn(text, "value", text)
		slog.Default().WithGroup("g").With("a", text).Error("grouped")
	}
	return agent.Text("went on"), nil
}
