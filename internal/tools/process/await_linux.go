package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await blocks until the program has ended, and leaves it to be waited for, so
// that the group's number cannot go to another group meanwhile.
func (t *tree) await() {
	for {
		err := unix.Waitid(unix.P_PID, t.id, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
