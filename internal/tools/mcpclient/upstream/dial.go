package upstream

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
	"github.com/adkmcp/adkmcp/internal/tools/process"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// DialOptions are what [NewDial] needs beside the configuration.
type DialOptions struct {
	// Lookup gives the variables of the agent file's environment.
	Lookup func(name string) (string, bool)
	// Authority gives credentials over HTTP; nil for none.
	Authority wire.Authority
	// Elicitation and Sampling say that calls can answer such requests.
	Elicitation, Sampling bool
	Version               string // this program's, for the server
	TempDir               string // where private folders are made; empty is the system's own place
	Log                   *slog.Logger
}

// NewDial connects as c says.
func NewDial(c *config.MCPServer, o DialOptions) Dial {
	d := &dialer{c, o}
	return d.dial
}

type dialer struct {
	c *config.MCPServer
	o DialOptions
}

// client is a connection with what has to go when it does.
type client struct {
	*protocol.Client
	home string // a private folder; empty where there is none
}

// Close implements [Client].
func (c *client) Close() error { return errors.Join(c.Client.Close(), remove(c.home)) }

func (d *dialer) dial(ctx context.Context, header http.Header, changed func(what string)) (Client, *protocol.Server, error) {
	if d.c.Command != "" {
		return d.start(ctx, header, changed)
	}
	ways := []func(wire.HTTPOptions) wire.Transport{wire.NewHTTP, wire.NewSSE}
	switch d.c.Transport {
	case "http":
		ways = ways[:1]
	case "sse":
		ways = ways[1:]
	}
	var connected *protocol.Client
	err := wire.ErrLegacySSE
	for i := 0; i < len(ways) && errors.Is(err, wire.ErrLegacySSE); i++ {
		connected, err = d.connect(ctx, ways[i](wire.HTTPOptions{
			URL: d.c.URL, RoundTripper: webclient.NewTransport(webclient.Configured, webclient.Options{}),
			Header: header, Authority: d.o.Authority, Log: d.o.Log, Listen: true,
		}), header, changed)
	}
	if err != nil {
		return nil, nil, err
	}
	server := connected.Server()
	return &client{Client: connected}, &server, nil
}

// start runs the server as a child. Its HOME is a folder of its own, which lasts as
// long as the connection, unless pass_env or env name it.
func (d *dialer) start(ctx context.Context, header http.Header, changed func(what string)) (Client, *protocol.Server, error) {
	home, err := os.MkdirTemp(d.o.TempDir, "adkmcp-*") // mode 0700
	if err != nil {
		return nil, nil, err
	}
	env := make(map[string]string, len(d.c.Env))
	for name, value := range d.c.Env {
		env[name] = value.Reveal()
	}
	transport := wire.NewStdio(process.Spec{
		Args: append([]string{d.c.Command}, d.c.Args...), Dir: d.c.Dir,
		Env: process.Environ(d.o.Lookup, home, d.c.PassEnv, env),
	}, wire.StdioOptions{Name: d.c.Name, Log: d.o.Log})
	connected, err := d.connect(ctx, transport, header, changed)
	if err != nil {
		return nil, nil, errors.Join(err, remove(home))
	}
	server := connected.Server()
	return &client{connected, home}, &server, nil
}

func (d *dialer) connect(ctx context.Context, t wire.Transport, header http.Header, changed func(what string)) (*protocol.Client, error) {
	version := d.c.Protocol
	if version == "auto" {
		version = ""
	}
	var roots []string
	for _, dir := range d.c.Roots {
		roots = append(roots, fileURI(dir))
	}
	return protocol.Connect(ctx, protocol.Options{
		Transport: t, Version: version, Header: header, Roots: roots,
		Elicitation: d.o.Elicitation, Sampling: d.o.Sampling, Changed: changed, ClientVersion: d.o.Version, Log: d.o.Log,
	})
}

// fileURI is the URI of a folder, given by its absolute path (RFC 8089).
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// remove removes a folder with everything in it. Folders that a program made
// read-only are opened first, as a module cache has them.
func remove(dir string) error {
	if dir == "" || os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that goes away; RemoveAll reports what this could not help
		}
		return nil
	})
	return os.RemoveAll(dir)
}
