package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// defaultProbe is how long a server may take to show that it speaks
// [rpc.Stateless]. Old ones keep silent when they are asked something before the
// handshake.
const defaultProbe = 2 * time.Second

// clientName is what servers are told.
const clientName = "adkmcp"

// Names of the protocol.
const (
	methodDiscover    = "server/discover"
	methodInitialized = "notifications/initialized"
	methodElicit      = "elicitation/create"
	methodSample      = "sampling/createMessage"
	methodRoots       = "roots/list"

	tasksExtension = "io.modelcontextprotocol/tasks"
)

// Protocol versions with which something came.
const (
	withElicitation = "2025-06-18"
	withModes       = "2025-11-25" // of elicitation
)

// errSilent: what came is no answer to server/discover.
var errSilent = errors.New("the server does not say which protocol versions it speaks")

// handshakes are the versions that begin with a handshake, newest first.
func handshakes() []string { return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} }

// versions are all versions that are spoken here, newest first.
func versions() []string { return append([]string{rpc.Stateless}, handshakes()...) }

// greet finds out which version the server speaks (basic/versioning, "Backward
// Compatibility"), and what it says of itself.
func (c *Client) greet(ctx context.Context) error {
	version := c.o.Version
	if version == "" {
		var err error
		if version, err = c.probe(ctx); err != nil || version == "" {
			return err
		}
	}
	for tried := []string{}; ; tried = append(tried, version) {
		err := c.open(ctx, version)
		if err == nil || c.o.Version != "" {
			return err
		}
		next, other := alternative(err)
		if !other || slices.Contains(tried, next) || next == version {
			return err
		}
		version = next
	}
}

// open begins to speak a version.
func (c *Client) open(ctx context.Context, version string) error {
	var err error
	if rpc.IsModern(version) {
		err = c.discover(ctx, version)
	} else {
		err = c.initialize(ctx, version)
	}
	return settled(err)
}

// settled takes away what only says that a call might have been run.
func settled(err error) error {
	var unknown *UnknownOutcomeError
	if errors.As(err, &unknown) {
		return unknown.Err
	}
	return err
}

// probe asks for the newest version. It gives the one to go on with, empty if that
// is spoken now.
func (c *Client) probe(ctx context.Context) (next string, err error) {
	within, cancel := context.WithTimeout(ctx, c.o.ProbeTimeout)
	defer cancel()
	err = settled(c.discover(within, rpc.Stateless))
	var refused *Error
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", err
	case within.Err() != nil: // silence
	case c.over():
		return "", fmt.Errorf("%w\n(it ended when it was asked for its protocol version; if it is an older server that does not bear that, set its protocol to %s)",
			err, handshakes()[0])
	case isNotSent(err):
		return "", err
	case errors.As(err, &refused):
		if other, ok := alternative(err); ok {
			return other, nil
		}
		if refused.Code == rpc.CodeVersion || refused.Code == rpc.CodeHeaderMismatch || refused.Code == rpc.CodeMissingCap {
			return "", err
		}
	}
	c.o.Log.Debug("an MCP server does not speak "+rpc.Stateless, "answer", err)
	return handshakes()[0], nil
}

// alternative gives the newest of our versions among those that an error of the
// server names.
func alternative(err error) (version string, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return "", false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return "", false
	}
	for _, v := range versions() {
		if slices.Contains(data.Supported, v) {
			return v, true
		}
	}
	return "", false
}

// unsupported is the error of a server that speaks these versions only. It has the
// form of its own error, for [alternative].
func unsupported(supported []string) error {
	data, _ := json.Marshal(map[string]any{"supported": supported}) //nolint:errchkjson // texts always have a form in JSON
	return &Error{
		Code: rpc.CodeVersion, Data: data,
		Message: fmt.Sprintf("the server speaks protocol versions %s; spoken here are %s", strings.Join(supported, ", "), strings.Join(versions(), ", ")),
	}
}

// greeting is what a server says of itself: in the handshake, or when it is asked.
type greeting struct {
	Version      string                     `json:"protocolVersion"` // of the handshake
	Info         json.RawMessage            `json:"serverInfo"`
	Supported    []string                   `json:"supportedVersions"` // from [rpc.Stateless] on
	Meta         map[string]json.RawMessage `json:"_meta"`
	Capabilities map[string]json.RawMessage `json:"capabilities"`
	Instructions string                     `json:"instructions"`
}

// discover learns what a server without handshake says of itself (server/discover).
func (c *Client) discover(ctx context.Context, version string) error {
	raw, err := c.exchange(ctx, &request{method: methodDiscover, version: version, header: c.o.Header, untold: true})
	if err != nil {
		return err
	}
	var g greeting
	if json.Unmarshal(raw, &g) != nil || len(g.Supported) == 0 {
		return errSilent
	}
	if !slices.Contains(g.Supported, version) {
		return unsupported(g.Supported)
	}
	c.settle(version, &g, g.Meta[rpc.MetaServerInfo])
	return nil
}

// initialize is the handshake (2025-11-25, basic/lifecycle).
func (c *Client) initialize(ctx context.Context, version string) error {
	raw, err := c.exchange(ctx, &request{
		method: rpc.Initialize, header: c.o.Header, untold: true,
		params: map[string]any{"protocolVersion": version, "capabilities": c.capabilities(version), "clientInfo": c.info()},
	})
	if err != nil {
		return err
	}
	var g greeting
	if err := json.Unmarshal(raw, &g); err != nil {
		return fmt.Errorf("the server's answer to %s cannot be read: %w", rpc.Initialize, err)
	}
	if !slices.Contains(handshakes(), g.Version) {
		return fmt.Errorf("the server wants to speak protocol version %q; spoken here are %s", g.Version, strings.Join(versions(), ", "))
	}
	c.settle(g.Version, &g, g.Info)
	body, err := rpc.Notification(methodInitialized, nil)
	if err != nil {
		return err
	}
	return c.o.Transport.Send(ctx, &wire.Outgoing{Body: body, Version: g.Version, Header: c.o.Header})
}

// settle notes which version is spoken, and with whom.
func (c *Client) settle(version string, g *greeting, info json.RawMessage) {
	var who struct{ Name, Version string }
	_ = json.Unmarshal(info, &who) // it need not say its name
	c.server = Server{Name: who.Name, Version: who.Version, Protocol: version, Instructions: g.Instructions, Capabilities: g.Capabilities}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}

// info is what the server is told of us.
func (c *Client) info() map[string]any {
	v := c.o.ClientVersion
	if v == "" {
		v = "dev"
	}
	return map[string]any{"name": clientName, "version": v}
}

// capabilities are what the server may ask of us, in the form of a version.
func (c *Client) capabilities(version string) map[string]any {
	can := make(map[string]any)
	none := struct{}{}
	if len(c.o.Roots) > 0 {
		can["roots"] = none
	}
	if c.o.Sampling {
		can["sampling"] = none
	}
	switch {
	case !c.o.Elicitation || version < withElicitation:
	case version < withModes:
		can["elicitation"] = none
	default:
		can["elicitation"] = map[string]any{"form": none}
	}
	if rpc.IsModern(version) {
		can["extensions"] = map[string]any{tasksExtension: none}
	}
	return can
}

// declares reports whether the server may ask for this.
func (c *Client) declares(method string) bool {
	switch method {
	case methodElicit:
		return c.o.Elicitation && c.spoken() >= withElicitation
	case methodSample:
		return c.o.Sampling
	case methodRoots:
		return len(c.o.Roots) > 0
	}
	return false
}

// roots is the result of roots/list.
func (c *Client) roots() json.RawMessage {
	list := make([]map[string]string, 0, len(c.o.Roots))
	for _, uri := range c.o.Roots {
		list = append(list, map[string]string{"uri": uri})
	}
	raw, _ := json.Marshal(map[string]any{"roots": list}) //nolint:errchkjson // texts always have a form in JSON
	return raw
}
