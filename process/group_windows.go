package process

import (
	"math"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// NotEnforced says what this system does not keep of the promises of the package,
// a sentence each; nil if it keeps all.
func NotEnforced() []string {
	return []string{
		"A process is not asked to end before it is killed: there is no SIGTERM.",
		"What a process starts before it is in its job, a moment after its start, is not in the job.",
		"Background processes are counted as one.",
		"There is no sandbox: a process starts at the level none only, and has the rights of its user.",
		"The limits of processes and memory are those of a job, and untested on this platform. Threads are not counted. The size of files is not bounded.",
	}
}

// A group is a job: the system kills what is in it when its last handle is closed,
// when we are killed too.
type group struct{ job windows.Handle }

// startGroup starts the program in a job of its own, with the limits that a job has.
func startGroup(cmd *exec.Cmd, l Limits) (g group, err error) {
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return g, err
	}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if l.Processes > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = uint32(min(l.Processes, math.MaxUint32))
	}
	if l.Memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(min(uint64(l.Memory), uint64(^uintptr(0))))
	}
	if _, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return g, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	if err = cmd.Start(); err != nil {
		return g, err
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(g.job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return g, err
}

func (g group) terminate() { windows.TerminateJobObject(g.job, 1) }
func (g group) kill()      { windows.TerminateJobObject(g.job, 1) }
func (g group) close()     { windows.CloseHandle(g.job) }

func (g group) running() bool {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		userTime, kernelTime, periodUserTime, periodKernelTime int64
		pageFaults, total, active, terminated                  uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active > 0
}

func status(s *os.ProcessState) (code int, signal string) { return s.ExitCode(), "" }
