package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/bus"
)

// timerSlack returns how many nanoseconds late the kernel may wake a thread of a
// collecting process that waits for a time: a thousandth of the interval, by which a
// tick may begin later. The Go runtime's watchdog thread asks to be woken every 20 µs as
// long as anything runs; each time costs more than the work that it watches.
func timerSlack(interval time.Duration) int {
	return int(min(max(interval/1000, 50*time.Microsecond), time.Millisecond))
}

// Scheduling of a collecting process.
const (
	// niceness is that of class nice.
	niceness = -10
	// rtPriority is the lowest, so that it goes before ordinary threads only.
	rtPriority = 1
	// After rtSoft of CPU time without a pause a real-time thread is ordinary again;
	// after rtHard the kernel kills the process. A tick takes a hundredth of it.
	rtSoft, rtHard = 100 * time.Millisecond, 2 * time.Second
	rlimitRTTime   = 15 // RLIMIT_RTTIME of getrlimit(2)
)

// classes of --class.
var classes = []string{"auto", "realtime", "nice", "normal"}

// leanEnv says to the process that it has become itself anew.
const leanEnv = "STEADY_COLLECT_CLASS"

// lean makes the process cost its host as little as may be, and keep its second on a
// busy one, and returns the class that it was given, in words. Threads inherit slack and
// class from the first one, and the runtime's are there before any code of ours: so the
// process becomes itself anew, once, with both set before.
func (a *app) lean(interval time.Duration, class string) (got string, err error) {
	if a.stderr != os.Stderr {
		return "normal", nil // part of another program: a test
	}
	got = os.Getenv(leanEnv)
	if got == "" {
		if got, err = a.becomeLean(interval, class); err != nil {
			return "", err
		}
	}
	os.Unsetenv(leanEnv)
	runtime.GOMAXPROCS(1)
	bus.Quiet()
	if strings.HasPrefix(got, "realtime") {
		calm(timerSlack(interval))
		go a.fuse()
	}
	return got, nil
}

// calm makes the runtime's watchdog an ordinary thread with slack: real-time threads
// have none. It is the first that the runtime makes, and the kernel lists threads in the
// order in which they were made.
func calm(slack int) {
	if id, ok := watchdog(); ok && ordinary(id) == nil {
		os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", id), strconv.AppendInt(nil, int64(slack), 10), 0) // else it only costs more
	}
}

// watchdog returns the id of the runtime's watchdog thread.
func watchdog() (id int, ok bool) {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return 0, false
	}
	defer tasks.Close()
	names, err := tasks.Readdirnames(-1) // in the kernel's order
	if err != nil || len(names) < 2 || names[0] != strconv.Itoa(os.Getpid()) {
		return 0, false
	}
	id, err = strconv.Atoi(names[1])
	return id, err == nil
}

// becomeLean starts the program anew in this process. It returns only if it can't: with
// the class that the process has, or an error if it can't have the one asked for.
func (a *app) becomeLean(interval time.Duration, class string) (is string, err error) {
	runtime.LockOSThread() // what is set is the thread's
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return "", fmt.Errorf("collect: --class: %w", err)
	}
	got, err := setClass(class)
	if err != nil {
		return "", fmt.Errorf("collect: --class %s: %w: it needs CAP_SYS_NICE (root, or setcap cap_sys_nice+ep on the program); --class auto takes what it gets", class, err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack(interval)), 0, 0, 0); err != nil {
		a.warn(fmt.Errorf("collect: timer slack: %w", err)) // it only costs more
	}
	err = syscall.Exec(self(), os.Args, append(os.Environ(), leanEnv+"="+got))
	unix.SchedSetAttr(0, before, 0)
	a.warn(fmt.Errorf("collect: %s: %w: it goes on as it was started", self(), err))
	return setClass("normal")
}

// setClass gives this thread a class and returns it in words.
func setClass(class string) (got string, err error) {
	switch class {
	case "auto":
		for _, class := range []string{"realtime", "nice"} {
			if got, err := setClass(class); err == nil {
				return got, nil
			}
		}
	case "realtime":
		limit := &unix.Rlimit{Cur: uint64(rtSoft.Microseconds()), Max: uint64(rtHard.Microseconds())}
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: rtPriority}, 0)
		if err == nil {
			err = unix.Setrlimit(rlimitRTTime, limit)
		}
		return fmt.Sprintf("realtime (SCHED_RR %d)", rtPriority), err
	case "nice":
		return fmt.Sprintf("nice %d", niceness), ordinary(0)
	}
	is, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("normal (as started: policy %d, nice %d)", is.Policy, is.Nice), nil
}

// ordinary makes a thread an ordinary one of our niceness; 0 is this one.
func ordinary(id int) error {
	return unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: niceness}, 0)
}

// fuse makes the process an ordinary one when a thread of it took more CPU time without
// a pause than all of its work is worth: a mistake of ours must not stop the host.
func (a *app) fuse() {
	blown := make(chan os.Signal, 1)
	signal.Notify(blown, syscall.SIGXCPU)
	<-blown
	tasks, _ := filepath.Glob("/proc/self/task/*")
	for _, t := range tasks {
		if id, err := strconv.Atoi(filepath.Base(t)); err == nil {
			ordinary(id) // it may have ended
		}
	}
	a.warn(fmt.Errorf("collect: it ran for %s at real-time priority without a pause: it goes on with nice %d", rtSoft, niceness))
}

// self returns the program file, by its name unless that is another one's by now.
func self() string {
	const exe = "/proc/self/exe"
	name, err := os.Readlink(exe)
	if err != nil {
		return exe
	}
	a, errA := os.Stat(name)
	b, errB := os.Stat(exe)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return exe
	}
	return name
}

// startTime is when what a collecting process does for the first time is done.
const startTime = 5 * time.Second

// trim gives back the memory that only the start has needed: the pages of the program
// file, which come back from the page cache when they are needed, and free heap.
func (a *app) trim() {
	if a.stderr != os.Stderr {
		return
	}
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	var from, to uint64
	for in := bufio.NewScanner(maps); in.Scan(); {
		f := strings.Fields(in.Text())
		switch {
		case len(f) >= 6 && strings.Contains(f[0], "-"):
			from, to = 0, 0
			if strings.Join(f[5:], " ") == exe && !strings.Contains(f[1], "w") {
				fmt.Sscanf(f[0], "%x-%x", &from, &to)
			}
		case len(f) > 1 && f[0] == "Anonymous:" && f[1] == "0" && to > from:
			// Only what is in the file as it is in memory: nothing gets lost.
			unix.RawSyscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
		}
	}
}
