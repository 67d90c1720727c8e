package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listening begins the line by which a server process says where it listens.
const listening = "listening on "

// Announce returns a ready function for Serve that writes to w, the process's standard
// output, the line that StartServer waits for.
func Announce(w io.Writer) func(addr string) {
	return func(addr string) { fmt.Fprintf(w, "%s%s\n", listening, addr) }
}

const (
	startTime = 10 * time.Second       // for a server process to say where it listens
	termTime  = 700 * time.Millisecond // for it to end on SIGTERM
)

// ServerProcess is a server in a process of its own.
type ServerProcess struct {
	PID  int
	Done <-chan struct{} // closed when the process has ended and is reaped

	cmd    *exec.Cmd
	stderr tail
	err    error // how it ended; to be read after Done

	mu      sync.Mutex // guards the two below, and the group's existence
	gone    bool       // it ended: its id may be another's by now
	stopped bool       // Stop was called before
}

// StartServer starts exe and returns it with its address, once it wrote the line of
// Announce. ctx bounds the start only; Stop ends the process.
//
// The process is the leader of a group of its own: a Ctrl-C at the terminal is not
// meant for it. It is killed when this process dies, however it dies, and when it ends,
// what else is in its group is killed with it. On error it has ended; the error carries
// the end of what it wrote to its standard error.
func StartServer(ctx context.Context, exe string, args []string) (*ServerProcess, string, error) {
	done := make(chan struct{})
	p := &ServerProcess{Done: done, cmd: exec.Command(exe, args...)}
	out := &announced{addr: make(chan string, 1)}
	p.cmd.Stdout, p.cmd.Stderr = out, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 100 * time.Millisecond // for a pipe that outlives the process

	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the starting thread ends: keep it (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if err == nil {
			p.PID = p.cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.wait()
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return nil, "", fmt.Errorf("workload: server process: %w", err)
	}

	timer := time.NewTimer(startTime)
	defer timer.Stop()
	var cause error
	select {
	case addr := <-out.addr:
		return p, addr, nil
	case <-p.Done:
		return nil, "", p.ended()
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-timer.C:
		cause = fmt.Errorf("did not say within %v where it listens", startTime)
	}
	p.Stop() // its end is no news beside the cause
	return nil, "", fmt.Errorf("workload: server process: %s: %w%s", exe, cause, p.stderr.text())
}

// wait reaps the process when it ends, and kills the rest of its group before: until
// the leader is reaped, the group's id can't be another's.
func (p *ServerProcess) wait() {
	for {
		err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	unix.Kill(-p.PID, unix.SIGKILL) // mostly there is nobody
	p.gone = true
	p.mu.Unlock()
	p.err = p.cmd.Wait()
}

// Stop ends the process, with SIGTERM and 0.7 s later with SIGKILL for its group, and
// returns when it is reaped. Its error says that the process had ended by itself.
func (p *ServerProcess) Stop() error {
	p.mu.Lock()
	first := !p.stopped
	p.stopped = true
	p.mu.Unlock()
	if !p.signal(unix.SIGTERM) {
		<-p.Done
		if first {
			return p.ended()
		}
		return nil
	}
	timer := time.NewTimer(termTime)
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C:
		p.signal(unix.SIGKILL)
		<-p.Done
	}
	return nil
}

// signal sends s to the group and reports whether the process was still there.
func (p *ServerProcess) signal(s unix.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false
	}
	unix.Kill(-p.PID, s)
	return true
}

// ended returns the error that the process, which is done, ended by itself.
func (p *ServerProcess) ended() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("workload: server process: %s ended: %s%s", p.cmd.Path, how, p.stderr.text())
}

// announced looks for the line of Announce in what is written to it, and drops the rest.
type announced struct {
	addr chan string // holds one
	line []byte      // the line begun
	done bool
}

func (a *announced) Write(b []byte) (int, error) {
	n := len(b)
	for !a.done {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		a.line = append(a.line, line...)
		if !whole {
			break
		}
		if addr, ok := strings.CutPrefix(string(a.line), listening); ok {
			a.addr <- addr
			a.done = true
		}
		a.line, b = a.line[:0], rest
	}
	return n, nil
}

// tail keeps the last few KB written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const size = 4096
	t.b = append(t.b, b...)
	if over := len(t.b) - size; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// text returns what is there, to be appended to an error.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.TrimSpace(string(t.b)); s != "" {
		return ": " + s
	}
	return ""
}
