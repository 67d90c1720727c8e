package procfs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childMark is set in the environment of a test binary that is to be a child.
const childMark = "PROCFS_TEST_CHILD"

// A child does what it is told, line by line, so that the test knows what the kernel
// must have counted.
func init() {
	if os.Getenv(childMark) == "" {
		return
	}
	runtime.LockOSThread() // this is the first thread
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		f := append(strings.SplitN(in.Text(), " ", 3), "", "")
		what, path := f[0], f[2]
		n, _ := strconv.ParseInt(f[1], 10, 64)
		if err := childDo(what, n, path); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

var childMemory [][]byte

func childDo(what string, n int64, path string) error {
	switch what {
	case "burn": // n ms of CPU time
		burn(time.Duration(n) * time.Millisecond)
	case "memory": // n MiB
		m, err := unix.Mmap(-1, 0, int(n)<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
			return err
		}
		for i := 0; i < len(m); i += os.Getpagesize() {
			m[i] = 1
		}
		childMemory = append(childMemory, m)
	case "write", "read": // n MiB, past the page cache
		flags := unix.O_RDONLY
		if what == "write" {
			flags = unix.O_WRONLY | unix.O_CREAT | unix.O_SYNC
		}
		fd, err := unix.Open(path, flags|unix.O_DIRECT, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		m, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for range n {
			if what == "write" {
				_, err = unix.Write(fd, m)
			} else {
				_, err = unix.Read(fd, m)
			}
			if err != nil {
				return err
			}
		}
	case "name":
		b := append([]byte(strings.ReplaceAll(path, `\n`, "\n")), 0)
		if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0); err != nil {
			return err
		}
	case "threads": // n that burn 20 ms each and stay
		done := make(chan bool)
		for range n {
			go func() {
				runtime.LockOSThread()
				burn(20 * time.Millisecond)
				done <- true
				select {}
			}()
		}
		for range n {
			<-done
		}
	case "thread": // one that burns n ms and ends
		done := make(chan bool)
		go func() {
			runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
			burn(time.Duration(n) * time.Millisecond)
			done <- true
		}()
		<-done
	case "sleep": // n times a millisecond: voluntary context switches
		for range n {
			ts := unix.NsecToTimespec(1e6)
			unix.Nanosleep(&ts, nil)
		}
	case "spawn": // n processes that end at once
		for range n {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{childMark + "=1"} // without input it ends
			if err := cmd.Run(); err != nil {
				return err
			}
		}
	case "usage":
		u, t := rusage(unix.RUSAGE_SELF), rusage(unix.RUSAGE_THREAD)
		_, err := fmt.Println(u.Utime.Nano(), u.Stime.Nano(), u.Minflt, u.Majflt, u.Nvcsw, u.Nivcsw, t.Nvcsw)
		return err
	default:
		return fmt.Errorf("%q?", what)
	}
	_, err := fmt.Println("done")
	return err
}

func rusage(who int) (u unix.Rusage) {
	if err := unix.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return u
}

// burn uses CPU time of this thread.
func burn(d time.Duration) {
	begin := rusage(unix.RUSAGE_THREAD)
	for x := 0; ; x++ {
		if x%1000 == 0 {
			if u := rusage(unix.RUSAGE_THREAD); u.Utime.Nano()+u.Stime.Nano()-begin.Utime.Nano()-begin.Stime.Nano() >= d.Nanoseconds() {
				return
			}
		}
	}
}

// child is a process that does what it is told.
type child struct {
	testing.TB
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t testing.TB) *child {
	t.Helper()
	c := &child{TB: t, Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childMark+"=1", "GOMAXPROCS=2")
	c.Stderr = os.Stderr
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill() // it may have ended
		c.Wait()
	})
	return c
}

// ask returns the child's answer.
func (c *child) ask(format string, args ...any) string {
	c.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.Fatal(err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error:") {
		c.Fatalf("%s: %s%v", fmt.Sprintf(format, args...), line, err)
	}
	return strings.TrimSpace(line)
}

// usage is what a child used, by its own account.
type usage struct {
	userNS, systemNS, minflt, majflt, nvcsw, nivcsw, threadNvcsw int64
}

func (u *usage) cpu() int64 { return u.userNS + u.systemNS }

func (c *child) usage() (u usage) {
	c.Helper()
	if _, err := fmt.Sscan(c.ask("usage"), &u.userNS, &u.systemNS, &u.minflt, &u.majflt, &u.nvcsw, &u.nivcsw, &u.threadNvcsw); err != nil {
		c.Fatal(err)
	}
	return u
}
