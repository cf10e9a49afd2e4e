package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await blocks until the program has ended, and leaves it to be waited for, so
// that the group's number cannot go to another group meanwhile. It watches by
// kqueue because waitid also returns for a stopped process here. A program
// that has already ended is reported as one that does not exist.
func (t *tree) await() {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	var change unix.Kevent_t
	unix.SetKevent(&change, t.id, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT
	changes := []unix.Kevent_t{change}
	for {
		_, err := unix.Kevent(queue, changes, make([]unix.Kevent_t, 1), nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
