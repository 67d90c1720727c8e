package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
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

// lean makes the process cost its host as little as may be. Threads inherit the slack
// from the first one, and the watchdog is there before any code of ours: so the process
// becomes itself anew, once, with the slack set before.
func (a *app) lean(interval time.Duration) error {
	if a.stderr != os.Stderr {
		return nil // part of another program: a test
	}
	want := timerSlack(interval)
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && slack != want {
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(want), 0, 0, 0); err == nil {
			return fmt.Errorf("collect: %w", syscall.Exec(self(), os.Args, os.Environ()))
		}
	}
	runtime.GOMAXPROCS(1)
	bus.Quiet()
	return nil
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
