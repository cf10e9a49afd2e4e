//go:build linux || darwin

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const largeHint = "; no single one may exceed 131072 bytes on Linux"

// tree is a process group; its number is that of its leader, the program.
type tree struct{ id int }

// start starts cmd in a session of its own. That makes it a process group's
// leader, and takes the terminal away: a program that asks for a password
// fails instead of waiting for ever.
func start(cmd *exec.Cmd) (*tree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &tree{cmd.Process.Pid}, nil
}

// terminate asks every process of the group to end.
func (t *tree) terminate() { _ = syscall.Kill(-t.id, syscall.SIGTERM) }

// kill ends every process of the group.
func (t *tree) kill() { _ = syscall.Kill(-t.id, syscall.SIGKILL) }

// release waits until the group is empty. Killed processes whose parent is
// gone as well are reaped by the system's first process, which normally takes
// no time; where there is none that does, this gives up soon.
func (t *tree) release() {
	for pause := time.Millisecond; pause < closeTime/2; pause *= 2 {
		if errors.Is(syscall.Kill(-t.id, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(pause)
	}
}

func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

func isTooLarge(err error) bool { return errors.Is(err, syscall.E2BIG) }
func isBusy(err error) bool     { return errors.Is(err, syscall.ETXTBSY) }
func isFormat(err error) bool   { return errors.Is(err, syscall.ENOEXEC) }
