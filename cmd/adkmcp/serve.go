package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/tape"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/stdio"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

type serveOptions struct {
	stdio          bool
	http, sse      string
	name           string
	approve        string
	askTimeout     time.Duration
	tlsCert        string
	tlsKey         string
	maxCalls       int
	jsonOnly       bool
	tokens         []string
	insecureNoAuth bool
	allowHosts     []string
	allowOrigins   []string
	drain          time.Duration
	bounds         house.Bounds
	logs           *streams.Log
	tape           tape.Tape
}

// httpFlags go with --http and --sse only.
const httpFlags = "auth-token insecure-no-auth allow-host allow-origin tls-cert tls-key max-calls json-responses"

func (a *app) serveCommand(logs *streams.Log) *cobra.Command {
	o := &serveOptions{logs: logs, bounds: house.DefaultBounds()}
	cmd := &cobra.Command{
		Use:   "serve [--stdio | --http ADDR | --sse ADDR] PATH...",
		Short: "Serve every agent found in PATH as an MCP tool",
		Long: `Serve every agent found in PATH, files or folders, as one MCP tool each.

--stdio, the default, is for a host that starts adkmcp itself. --http serves
streamable HTTP: all agents at /mcp, each one at /mcp/NAME. --sse serves the
deprecated HTTP+SSE transport for old hosts as well, at /sse and /sse/NAME. :PORT
listens on the loopback interface; an address that others can reach needs a token
for every caller, or --insecure-no-auth.

A tool with requires_approval runs when the person behind the caller's program has
agreed. --approve=deny asks nobody and runs none of them, --approve=allow runs them
all. Where nobody can be asked they do not run.

The server stops when its standard input ends (--stdio) or on SIGTERM or SIGINT,
and exits with 0. A second signal does not wait for running turns.`,
		Example: `  adkmcp serve --stdio agents/dice.yaml
  adkmcp serve --http :8080 agents/
  adkmcp serve --http 0.0.0.0:8080 --auth-token ann=ANN_TOKEN --allow-host agents.example.com agents/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return a.serve(cmd.Context(), o, paths)
		},
		// Given --stdio, the environment's words about HTTP are for others.
		Annotations: map[string]string{"stdio": "http sse " + httpFlags, "http": "stdio sse", "sse": "stdio http"},
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *serveOptions) flags(f *pflag.FlagSet) {
	o.tape.Flags(f)
	f.BoolVar(&o.stdio, "stdio", false, "serve on standard input and output (the default)")
	f.StringVar(&o.http, "http", "", "serve streamable HTTP on HOST:PORT, or on :PORT of the loopback interface")
	f.StringVar(&o.sse, "sse", "", "serve the deprecated HTTP+SSE transport on HOST:PORT, beside streamable HTTP")
	f.StringVar(&o.approve, "approve", string(serve.Ask), "what becomes of tools that need an approval: ask, deny or allow")
	f.DurationVar(&o.askTimeout, "ask-timeout", 10*time.Minute, "how long a person may take to answer")
	f.StringVar(&o.tlsCert, "tls-cert", "", "serve HTTPS with the certificate chain in this PEM file")
	f.StringVar(&o.tlsKey, "tls-key", "", "the PEM file of the certificate's key")
	f.IntVar(&o.maxCalls, "max-calls", 256, "how many tool calls an HTTP server takes at the same time")
	f.BoolVar(&o.jsonOnly, "json-responses", false, "answer HTTP requests without event streams, and so without progress")
	f.StringVar(&o.name, "name", "", "the MCP server's name; by default that of the only agent, else adkmcp")
	f.StringSliceVar(&o.tokens, "auth-token", nil, "NAME=ENV_VAR: let the caller NAME in with the bearer token in ENV_VAR; repeatable")
	f.BoolVar(&o.insecureNoAuth, "insecure-no-auth", false, "serve an address that others can reach without any token")
	f.StringSliceVar(&o.allowHosts, "allow-host", nil, "a host name under which the server is reached; repeatable")
	f.StringSliceVar(&o.allowOrigins, "allow-origin", nil, "a web origin that may use the server, such as https://app.example.com; repeatable")
	f.DurationVar(&o.drain, "drain-timeout", 30*time.Second, "how long an HTTP server may take to stop: running turns go on until 5 s before its end")
	f.DurationVar(&o.bounds.TTL, "conversation-ttl", o.bounds.TTL, "how long an idle conversation is kept")
	f.IntVar(&o.bounds.Count, "max-conversations", o.bounds.Count, "how many conversations are kept")
	f.IntVar(&o.bounds.Bytes, "max-conversation-bytes", o.bounds.Bytes, "how large a conversation may grow")
}

func (o *serveOptions) check(flags *pflag.FlagSet) error {
	transports := 0
	for _, chosen := range []bool{o.stdio, o.http != "", o.sse != ""} {
		if chosen {
			transports++
		}
	}
	if transports > 1 {
		return usageError("--stdio, --http and --sse exclude each other; --sse serves streamable HTTP as well")
	}
	if o.address() == "" {
		for _, name := range strings.Fields(httpFlags) {
			if flags.Changed(name) {
				return usageError("--%s goes with --http or --sse", name)
			}
		}
	}
	switch serve.Approve(o.approve) {
	case serve.Ask, serve.Deny, serve.Allow:
	default:
		return usageError("--approve is ask, deny or allow, not %q", o.approve)
	}
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return usageError("--tls-cert and --tls-key go together")
	case o.bounds.TTL <= 0 || o.bounds.Count <= 0 || o.bounds.Bytes <= 0 || o.askTimeout <= 0 || o.maxCalls <= 0 || o.drain < 0:
		return usageError("--conversation-ttl, --max-conversations, --max-conversation-bytes, --ask-timeout and --max-calls must be positive, --drain-timeout not negative")
	}
	return nil
}

// address is where an HTTP server listens; empty for stdio.
func (o *serveOptions) address() string { return cmp.Or(o.http, o.sse) }

func (a *app) serve(ctx context.Context, o *serveOptions, paths []string) (err error) {
	tokens, err := a.tokens(o.tokens)
	if err != nil {
		return err
	}
	h, err := a.open(o.logs, paths, opening{bounds: o.bounds, tape: o.tape})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	h.Start(ctx)
	registry := turns.New(h.log, a.now)
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	s, err := serve.New(serve.Options{
		Agents: served(ctx, h), Name: o.name, Version: buildVersion(), HTTP: o.address() != "", IdleExpiry: o.bounds.TTL,
		Turns: registry, Delete: h.Store.Delete, Approve: serve.Approve(o.approve), AskTimeout: o.askTimeout,
		Sealer: elicit.NewSealer(key, a.now), Artifacts: h.Artifacts, Random: rand.Reader, Now: a.now, Log: h.log,
	})
	if err != nil {
		return usageError("%w", err)
	}
	if o.address() == "" {
		return stdio.Run(ctx, stdio.Config{Handler: s.All(), In: a.stdin, Out: a.stdout, Turns: registry, Ended: s.End, Log: h.log})
	}
	front, err := httpserver.New(httpserver.Config{
		Addr: o.address(), SSE: o.sse != "", Endpoints: s.Endpoints(), Tokens: tokens, InsecureNoAuth: o.insecureNoAuth,
		AllowHosts: o.allowHosts, AllowOrigins: o.allowOrigins, DrainTimeout: o.drain, IdleTTL: o.bounds.TTL,
		MaxCalls: o.maxCalls, JSONOnly: o.jsonOnly, TLSCert: o.tlsCert, TLSKey: o.tlsKey,
		Turns: registry, Ended: s.End, Random: rand.Reader, Log: h.log, Now: a.now, Hurry: a.hurry,
	})
	if err != nil {
		return usageError("%w", err)
	}
	l, err := front.Listen(ctx)
	if err != nil {
		return err
	}
	h.log.Info("serving", "url", o.url(l.Addr().String()), "agents", strings.Join(h.names(), ", "))
	return front.Serve(ctx, l)
}

// url is where clients connect to.
func (o *serveOptions) url(address string) string {
	scheme, path := "http", "/mcp"
	if o.tlsCert != "" {
		scheme = "https"
	}
	if o.sse != "" {
		path = "/sse"
	}
	return scheme + "://" + address + path
}

// served is how the agents look from outside.
func served(ctx context.Context, h *opened) []serve.Agent {
	all := make([]serve.Agent, len(h.Residents))
	for i, r := range h.Residents {
		if r.NotReady != nil {
			h.log.Warn("the model cannot be asked yet", "agent", r.Config.Name, "reason", r.NotReady)
		}
		all[i] = serve.Agent{
			Name:         cmp.Or(r.Config.Serve.Name, r.Config.Name),
			Title:        cmp.Or(r.Config.Serve.Title, r.Config.Title),
			Description:  r.Config.Description,
			Instructions: r.Config.Serve.Instructions,
			File:         r.Config.File,
			Hints:        agent.HintsOf(ctx, r.Tools, &agent.Query{Agent: r.Config.Name, Peek: true}),
			Annotations:  r.Config.Serve.Annotations,
			Conversation: r.Config.Serve.Conversation,
			Runner:       r.Runner,
			Patience:     r.Config.Limits.Timeout.Std(),
			Wait:         r.Config.Serve.Timeout,
			TaskAfter:    r.Config.Serve.TaskAfter.Std(),
			Input:        inputOf(r.Config),
			InputSchema:  r.Config.InputSchema,
			OutputSchema: r.Config.OutputSchema,
			ResultAll:    r.Config.Serve.Result == "all",
			MaxAnswer:    r.Config.Serve.MaxAnswer,
			Attachments:  r.Config.Serve.Attachments,
			Tools:        specs(ctx, r),
			Prompts:      r.Config.Serve.Prompts,
			Resources:    r.Config.Serve.Resources,
		}
	}
	return all
}

// inputOf checks the arguments of an agent with an input_schema; nil without.
func inputOf(cfg *config.Agent) *jsonschema.Schema {
	if cfg.InputSchema == nil {
		return nil
	}
	return jsonschema.New(cfg.InputSchema, jsonschema.Arguments(cmp.Or(cfg.Serve.Name, cfg.Name)))
}

// specs are the agent's tools as the model sees them, where they can be listed.
func specs(ctx context.Context, r *house.Resident) []*agent.Spec {
	tools, err := r.Tools.Tools(ctx, &agent.Query{Agent: r.Config.Name, Peek: true})
	if err != nil {
		return nil // the first call says why
	}
	all := make([]*agent.Spec, len(tools))
	for i, t := range tools {
		all[i] = t.Spec()
	}
	return all
}

// tokens reads NAME=ENV_VAR pairs.
func (a *app) tokens(pairs []string) ([]httpserver.Token, error) {
	var all []httpserver.Token
	for _, p := range pairs {
		name, variable, ok := strings.Cut(p, "=")
		if !ok || name == "" || variable == "" {
			return nil, usageError("--auth-token %s: want NAME=ENV_VAR, the name of the variable that holds the token", p)
		}
		token, ok := a.lookup(variable)
		if !ok || token == "" {
			return nil, usageError("--auth-token %s: the environment variable %s is not set", name, variable)
		}
		all = append(all, httpserver.Token{Principal: name, Secret: config.NewSecret(token)})
	}
	return all, nil
}
