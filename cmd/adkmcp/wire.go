package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/tape"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/report"
)

// localPrincipal is the caller in the terminal and on stdio: the user that the
// operating system started us for.
const localPrincipal = "local"

// opened is a house with the log that it writes to. Whoever opens it closes it.
type opened struct {
	*house.House
	log      *slog.Logger
	closeLog func() error
	endTape  func() error
}

// opening is how agents are opened.
type opening struct {
	bounds house.Bounds
	// login: a person at the terminal can be sent to log in to an MCP server.
	login bool
	tape  tape.Tape
}

// names are those of the agents.
func (o *opened) names() []string {
	var all []string
	for _, r := range o.Residents {
		all = append(all, r.Config.Name)
	}
	return all
}

// only gives the agent of a command that takes one.
func (o *opened) only(path string) (*house.Resident, error) {
	if len(o.Residents) == 1 {
		return o.Residents[0], nil
	}
	var files []string
	for _, r := range o.Residents {
		files = append(files, r.Config.File)
	}
	return nil, usageError("%s holds %d agents; name one: %s", path, len(files), strings.Join(files, ", "))
}

// Close frees what was opened, the log last.
func (o *opened) Close() error {
	var err error
	if o.House != nil {
		err = o.House.Close()
	}
	if o.endTape != nil {
		err = errors.Join(err, o.endTape())
	}
	return errors.Join(err, o.closeLog())
}

// open loads the agents of paths for a command that runs them. Problems are
// printed; with an error among them nothing is open.
func (a *app) open(logs *streams.Log, paths []string, how opening) (*opened, error) {
	log, closeLog, err := logs.Open(a.redact.Writer(a.stderr), a.redact.Writer)
	if err != nil {
		return nil, usageError("%w", err)
	}
	o := &opened{log: log, closeLog: closeLog}
	if err := a.build(o, paths, &how); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (a *app) build(o *opened, paths []string, how *opening) error {
	agents, problems, err := load.Agents(paths, load.Options{LookupEnv: a.lookup, Logger: o.log, Unasked: how.tape.Replay != ""})
	printing := report.Text(a.stderr, problems)
	switch {
	case err != nil:
		return &exitError{exitUsage, err}
	case printing != nil:
		return printing
	case problems.HasErrors():
		return &exitError{code: exitFailed}
	case len(agents) == 0:
		return usageError("no agent in %s; an agent file has name and instruction at the top", strings.Join(paths, ", "))
	}
	a.redact.Add(house.Secrets(agents))
	options := house.Options{Agents: agents, Bounds: how.bounds, Now: a.now, NewID: a.newID, Log: o.log, Version: buildVersion()}
	if how.login {
		options.Login = a.login
	}
	if o.endTape, err = how.tape.Insert(&options, a.redact.Text); err != nil {
		return usageError("%w", err)
	}
	if o.House, problems = house.Build(options); len(problems) > 0 {
		return errors.Join(report.Text(a.stderr, problems), &exitError{code: exitFailed})
	}
	return nil
}

// login shows the person at the terminal where to log in. The browser is theirs to
// open: a program that starts one for an address it was told is a way in.
func (a *app) login(_ context.Context, url string) error {
	_, err := io.WriteString(a.redact.Writer(a.stderr), fmt.Sprintf("To log in to the MCP server, open this address in a browser on this machine:\n\n  %s\n\n", url))
	return err
}
