package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a program of a load or of what is under test.
type Command struct {
	Path string
	Args []string
	Dir  string   // working directory; "" is this process's
	Env  []string // beside this process's environment and LC_ALL=C, which all get
	// CPUs are those that it may run on; nil: those of this process.
	CPUs []int
	// Stdout and Stderr take what it prints; nil drops it. The end of what it wrote to
	// its standard error is in errors anyway.
	Stdout, Stderr io.Writer
}

// String returns the command as a shell would take it, for manifests and errors.
func (c *Command) String() string {
	words := append([]string{c.Path}, c.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$&|;<>()*?[]{}~#!`") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

const (
	startTime = 10 * time.Second       // for a server process to say where it listens
	termTime  = 700 * time.Millisecond // for it to end on SIGTERM
)

// Process is a running Command.
type Process struct {
	PID  int
	Done <-chan struct{} // closed when the process has ended and is reaped

	cmd    *exec.Cmd
	stderr tail
	err    error // how it ended; to be read after Done

	mu      sync.Mutex // guards the two below, and the group's existence
	gone    bool       // it ended: its id may be another's by now
	stopped bool       // Stop was called before
}

// Start starts the command.
//
// The process is the leader of a group of its own: a Ctrl-C at the terminal is not
// meant for it. It is killed when this process dies, however it dies, and when it ends,
// what else is in its group is killed with it.
func (c *Command) Start() (*Process, error) {
	done := make(chan struct{})
	p := &Process{Done: done, cmd: exec.Command(c.Path, c.Args...)}
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(append(os.Environ(), "LC_ALL=C"), c.Env...)
	p.cmd.Stdout = c.Stdout
	p.cmd.Stderr = &p.stderr
	if c.Stderr != nil {
		p.cmd.Stderr = io.MultiWriter(&p.stderr, c.Stderr)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 100 * time.Millisecond // for a pipe that outlives the process

	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the starting thread ends: keep it (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startOn(p.cmd, c.CPUs)
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
		return nil, fmt.Errorf("workload: %s: %w", c.Path, err)
	}
	return p, nil
}

// startOn starts cmd bound to cpus from its first instruction on: a process inherits
// the CPUs of the thread that starts it, which is this one.
func startOn(cmd *exec.Cmd, cpus []int) error {
	if cpus == nil {
		return cmd.Start()
	}
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cpus %v: %w", cpus, err)
	}
	return errors.Join(cmd.Start(), unix.SchedSetaffinity(0, &before))
}

// StartServer starts exe and returns it with its address, once it wrote the line of
// Announce. ctx bounds the start only; Stop ends the process. On error it has ended.
func StartServer(ctx context.Context, exe string, args []string) (*Process, string, error) {
	out := &announced{addr: make(chan string, 1)}
	p, err := (&Command{Path: exe, Args: args, Stdout: out}).Start()
	if err != nil {
		return nil, "", err
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
	return nil, "", fmt.Errorf("workload: %s: %w%s", exe, cause, p.stderr.text())
}

// wait reaps the process when it ends, and kills the rest of its group before: until
// the leader is reaped, the group's id can't be another's.
func (p *Process) wait() {
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

// Wait waits until the process ends by itself, and returns nil if it did with status
// 0. When ctx ends before, it is stopped, and the cause is returned.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.Done:
	case <-ctx.Done():
		p.Stop()
		return context.Cause(ctx)
	}
	if p.err != nil {
		return p.ended()
	}
	return nil
}

// Stop ends the process, with SIGTERM and 0.7 s later with SIGKILL for its group, and
// returns when it is reaped. Its error says that the process had ended by itself.
func (p *Process) Stop() error { return p.StopWithin(termTime) }

// StopWithin is Stop with another patience, for what has to put data away.
func (p *Process) StopWithin(patience time.Duration) error {
	p.mu.Lock()
	first := !p.stopped
	p.stopped = true
	p.mu.Unlock()
	if !p.Signal(unix.SIGTERM) {
		<-p.Done
		if first {
			return p.ended()
		}
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C:
		p.Signal(unix.SIGKILL)
		<-p.Done
	}
	return nil
}

// Signal sends s to the group and reports whether the process was still there.
func (p *Process) Signal(s unix.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false
	}
	unix.Kill(-p.PID, s)
	return true
}

// ended returns the error that the process, which is done, ended by itself.
func (p *Process) ended() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("workload: %s ended: %s%s", p.cmd.Path, how, p.stderr.text())
}

// Lines is a writer that calls each with every line written to it, without its end, and
// with what is left at Close.
type Lines struct {
	Each func(line []byte)
	rest []byte
}

func (l *Lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			l.rest = append(l.rest, b...)
			return n, nil
		}
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = nil
		}
		l.Each(line)
		b = rest
	}
}

// Close hands out a last line without an end.
func (l *Lines) Close() {
	if len(l.rest) > 0 {
		l.Each(l.rest)
		l.rest = nil
	}
}

// listening begins the line by which a server process says where it listens.
const listening = "listening on "

// Announce returns a ready function for Serve that writes to w, the process's standard
// output, the line that StartServer waits for.
func Announce(w io.Writer) func(addr string) {
	return func(addr string) { fmt.Fprintf(w, "%s%s\n", listening, addr) }
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
