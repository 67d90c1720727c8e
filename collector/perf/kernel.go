package perf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// kernel is what counts.
type kernel interface {
	// open opens an event on a CPU, all of its tasks, in the group of leader, or as a
	// leader if that is -1. A leader is opened disabled, with the group's events to come.
	open(a *attr, cpu, leader int) (fd int, err error)
	// enable begins the counting of a leader's group.
	enable(leader int) error
	// read reads a leader's group: how many events it has, the nanoseconds enabled and
	// running, and each one's count, in order of opening.
	read(leader int, p []byte) (n int, err error)
	close(fd int) error
}

// linux is the kernel itself.
type linux struct{}

// Groups are not pinned: a pinned group that once finds no counter free is in error until
// it is opened again, and it takes the counters from all others, the watchdog among them.
// One that is not takes turns, and its times say for how long.
func (linux) open(a *attr, cpu, leader int) (int, error) {
	x := unix.PerfEventAttr{
		Type: a.typ, Size: unix.PERF_ATTR_SIZE_VER1, // up to config2
		Config: a.config[0], Ext1: a.config[1], Ext2: a.config[2],
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        a.exclude,
	}
	if leader < 0 {
		x.Bits |= unix.PerfBitDisabled // the others follow
	}
	return unix.PerfEventOpen(&x, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
}

func (linux) enable(leader int) error {
	return unix.IoctlSetInt(leader, unix.PERF_EVENT_IOC_ENABLE, 0)
}

func (linux) read(leader int, p []byte) (int, error) { return unix.Read(leader, p) }
func (linux) close(fd int) error                     { return unix.Close(fd) }

// spareFiles are left to the rest of the process.
const spareFiles = 256

// filesLeft returns how many files the process may open for its events, and its limit:
// the hard one, to which the Go runtime raises the soft one at the start.
func filesLeft() (left, limit int) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 1 << 30, 1 << 30 // the kernel will tell
	}
	limit = int(min(r.Cur, 1<<30))
	open, _ := os.ReadDir("/proc/self/fd") // without /proc: as if there were none
	return max(limit-len(open)-spareFiles, 0), limit
}

// passing reports whether an error at opening may pass: a CPU that is on its way up or
// down, another user of the counters, a lack of memory or files.
func passing(err error) bool {
	for _, e := range []unix.Errno{unix.ENODEV, unix.EBUSY, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// cause returns in words why an event could not be opened, and what to do about it.
func (h *host) cause(err error, typ uint32) string {
	hardware := typ == unix.PERF_TYPE_HARDWARE || typ == unix.PERF_TYPE_HW_CACHE || typ == unix.PERF_TYPE_RAW
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	switch errno {
	case unix.ENOENT, unix.ENODEV, unix.EOPNOTSUPP:
		switch {
		case hardware && len(h.corePMUs()) == 0:
			return "the host has no hardware counters: a virtual machine needs a virtual PMU (QEMU: -cpu host,pmu=on; in clouds metal or the largest instances), hardware a kernel with its PMU's driver"
		case errno == unix.ENOENT:
			return "the CPU's PMU does not have this event"
		case errno == unix.ENODEV:
			return "no PMU of this CPU counts it"
		}
		return "the PMU can't count it, or not with these modifiers"
	case unix.EACCES, unix.EPERM:
		return fmt.Sprintf("not allowed%s: run as root, or give the program CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN), or set the sysctl kernel.perf_event_paranoid to 0, for tracepoints to -1; a container needs a seccomp profile with perf_event_open as well", h.paranoid())
	case unix.EMFILE:
		_, limit := h.filesLeft()
		return fmt.Sprintf("the process has no more files than the %d that it may open: raise its hard limit (ulimit -Hn, LimitNOFILE= of a service)", limit)
	case unix.ENFILE:
		return "the system has no more open files: raise the sysctl fs.file-max"
	case unix.EINVAL:
		return "the kernel refuses it: a number, field or modifier that the PMU does not have, or more than it can count together"
	case unix.EBUSY:
		return "another program has the PMU for itself: end it (perf, a profiler)"
	case unix.ENOSYS:
		return "the kernel is built without perf events (CONFIG_PERF_EVENTS)"
	case unix.E2BIG:
		return "the kernel is too old for this event's attributes"
	case unix.ENOMEM:
		return "the kernel has no memory for it"
	}
	return errno.Error()
}

func (h *host) paranoid() string {
	text, err := readWord(filepath.Join(h.proc, "sys/kernel/perf_event_paranoid"))
	if err != nil {
		return ""
	}
	return " (kernel.perf_event_paranoid is " + text + ")"
}
