// Package processtest lets tests make sure that processes are gone. It reads
// /proc, and so its checks work on Linux; elsewhere they skip the test.
package processtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a killed process may take to disappear.
const patience = 2 * time.Second

// Gone fails the test unless the process has ended, or ends very soon.
func Gone(t testing.TB, pid int) {
	t.Helper()
	eventually(t, func() error {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !dead(stat) {
			return fmt.Errorf("process %d is still there: %s", pid, describe(pid))
		}
		return nil
	})
}

// NoneWith fails the test if a process other than this one has marker in its
// command line or environment, and does not go away very soon. Give what a
// test starts a marker of its own, such as a folder's name.
func NoneWith(t testing.TB, marker string) {
	t.Helper()
	eventually(t, func() error {
		pids := With(t, marker)
		if len(pids) == 0 {
			return nil
		}
		var left []string
		for _, pid := range pids {
			left = append(left, describe(pid))
		}
		return fmt.Errorf("processes are left: %s", strings.Join(left, "; "))
	})
}

// With lists the processes other than this one that have marker in their
// command line or environment.
func With(t testing.TB, marker string) []int {
	t.Helper()
	needProc(t)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			// A process may end meanwhile, or belong to somebody else.
			if data, _ := os.ReadFile(filepath.Join(dir, name)); bytes.Contains(data, []byte(marker)) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

func needProc(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("finding processes needs /proc")
	}
}

func eventually(t testing.TB, check func() error) {
	t.Helper()
	needProc(t)
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Error(err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// dead tells of a process that has ended and only waits to be reaped. Its
// state follows the name, which stands in parentheses and may hold any byte.
func dead(stat []byte) bool {
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	fields := bytes.Fields(rest)
	return len(fields) > 0 && (fields[0][0] == 'Z' || fields[0][0] == 'X')
}

func describe(pid int) string {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return fmt.Sprintf("%d (%s)", pid, strings.TrimSpace(strings.ReplaceAll(string(cmdline), "\x00", " ")))
}
