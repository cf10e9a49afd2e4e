package mcphost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// outputDelay is how long an ended server's standard error may stay open in the
// hands of what it started.
const outputDelay = 500 * time.Millisecond

// Program is a server that is started as a host starts one. It inherits our
// environment.
type Program struct {
	Command []string               // argv; not empty
	Stderr  io.Writer              // gets what the server logs
	Drop    func(line string) bool // names lines of the environment that it does not get; may be nil
}

// child is a server that we have started.
type child struct {
	*transport.Stdio
	sifter
	cmd    *exec.Cmd
	stderr *heard
}

// heard passes on what is written and remembers that there was something.
type heard struct {
	w     io.Writer
	spoke atomic.Bool
}

func (h *heard) Write(p []byte) (int, error) {
	h.spoke.Store(true)
	return h.w.Write(p)
}

// Start names a program as the server. It starts with [Server.Connect] and ends
// with [Host.Close].
func Start(p Program) *Server {
	s := &child{stderr: &heard{w: p.Stderr}}
	s.Stdio = transport.NewStdioWithOptions(p.Command[0], nil, p.Command[1:],
		transport.WithCommandFunc(func(ctx context.Context, name string, _, args []string) (*exec.Cmd, error) {
			s.cmd = exec.CommandContext(context.WithoutCancel(ctx), name, args...) // ended by closing its standard input
			s.cmd.Stderr, s.cmd.WaitDelay = s.stderr, outputDelay
			if p.Drop != nil {
				s.cmd.Env = slices.DeleteFunc(s.cmd.Environ(), p.Drop)
			}
			return s.cmd, nil
		}))
	return &Server{s}
}

// SendRequest sends a request as the MCP library does.
func (s *child) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := s.Stdio.SendRequest(ctx, req)
	s.sift(req.Method, response)
	return response, err
}

// reason tells how the server ended, if it did. Its end shows on its standard
// output or, as an error of the file, on its standard input.
func (s *child) reason(when string, err error) error {
	var input *fs.PathError
	if !errors.Is(err, transport.ErrTransportClosed) && !errors.As(err, &input) || s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	if err := s.Close(); errors.Is(err, transport.ErrChildShutdownTimeout) {
		return fmt.Errorf("the server closed its standard output %s and did not end", when)
	}
	how := s.cmd.ProcessState.String()
	if code := s.cmd.ProcessState.ExitCode(); code >= 0 {
		how = fmt.Sprintf("exit code %d", code)
	}
	if s.stderr.spoke.Load() {
		how += "); what it said stands above"
	} else {
		how += ") and said nothing"
	}
	return fmt.Errorf("the server ended %s (%s", when, how)
}
