package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const largeHint = "; a command line may have 32767 characters"

// tree is a job object, which ends every process in it when it is closed.
type tree struct {
	job     windows.Handle
	program windows.Handle
}

// start starts cmd suspended, puts it into a job, and lets it go, so that no
// process that it starts can be outside the job.
func start(cmd *exec.Cmd) (*tree, error) {
	if err := checkBatch(cmd); err != nil {
		return nil, err
	}
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW,
		HideWindow:    true,
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	t := &tree{job: job}
	if err := t.adopt(uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.release()
		return nil, err
	}
	return t, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("set up a job object: %w", err)
	}
	return job, nil
}

// adopt puts the suspended process into the job and resumes its thread.
func (t *tree) adopt(pid uint32) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.SYNCHRONIZE
	var err error
	if t.program, err = windows.OpenProcess(access, false, pid); err != nil {
		return fmt.Errorf("open the process: %w", err)
	}
	if err := windows.AssignProcessToJobObject(t.job, t.program); err != nil {
		return fmt.Errorf("put the process into its job: %w", err)
	}
	return resume(pid)
}

// resume lets the threads of a process run; os/exec does not give us its own
// handle of the one thread that there is.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open the process's thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return fmt.Errorf("find the process's thread: %w", err)
}

// await blocks until the program has ended.
func (t *tree) await() { _, _ = windows.WaitForSingleObject(t.program, windows.INFINITE) }

// terminate ends the job: there is no way of asking it to end.
func (t *tree) terminate() { t.kill() }

// kill ends every process of the job.
func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

// release closes the job and what is left in it.
func (t *tree) release() {
	if t.program != 0 {
		_ = windows.CloseHandle(t.program)
	}
	_ = windows.CloseHandle(t.job)
}

// checkBatch refuses arguments that cmd.exe, which runs batch files, would
// take for syntax: no quoting is safe there.
func checkBatch(cmd *exec.Cmd) error {
	if ext := strings.ToLower(filepath.Ext(cmd.Path)); ext != ".bat" && ext != ".cmd" {
		return nil
	}
	for _, arg := range cmd.Args[1:] {
		if strings.ContainsAny(arg, "\"%!^&|<>()\r\n") {
			return errors.New("it is a batch file, and one of its arguments holds a character that cmd.exe would take for syntax")
		}
	}
	return nil
}

func signalName(*os.ProcessState) string { return "" }

func isTooLarge(err error) bool { return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) }
func isBusy(err error) bool     { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
func isFormat(err error) bool   { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }
