package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

const (
	// actEnv makes the test binary steady itself.
	actEnv = "STEADY_TEST_ACT"
	// markEnv is inherited by all that a test starts, so that what it left behind can
	// be told from everything else on the host.
	markEnv = "STEADY_TEST_MARK"
)

// scratch is a directory for what several tests share; it is removed at the end.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(actEnv) != "" {
		main()
	}
	var err error
	if scratch, err = os.MkdirTemp("", "steady-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// steady runs the command in this process.
func steady(args ...string) result {
	var out, msg lockedBuffer
	code := run(args, strings.NewReader(""), &out, &msg)
	return result{code, out.String(), msg.String()}
}

// must runs the command and fails the test unless it ends with 0.
func must(t *testing.T, args ...string) result {
	t.Helper()
	r := steady(args...)
	if r.code != 0 {
		t.Fatalf("steady %s: exit %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// lockedBuffer collects output while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// process is something that a test started.
type process struct {
	name           string
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
	done           chan struct{} // closed when it has ended
}

// start starts a program and kills it at the test's end.
func start(t testing.TB, env []string, exe string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(exe) + " " + strings.Join(args, " "), cmd: exec.Command(exe, args...), done: make(chan struct{})}
	// A process under the race detector sleeps for a second at its end otherwise.
	// What it keeps on the host is kept apart.
	p.cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_STATE_HOME="+t.TempDir(), "STATE_DIRECTORY="), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal for it is not for the test
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // how it ended is in ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%s:\n%s", p.name, p.stderr.String())
		}
	})
	return p
}

// startSteady starts the command as a process of its own, with what else the
// environment should say.
func startSteady(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return start(t, append(env, actEnv+"=1"), os.Args[0], args...)
}

// signal sends s and returns how long it took to end.
func (p *process) signal(t testing.TB, s os.Signal) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	p.wait(t, 10*time.Second)
	return time.Since(began)
}

// wait waits for the end and returns the exit code, -1 for a signal.
func (p *process) wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-timer.C:
		t.Fatalf("%s: has not ended within %s", p.name, limit)
		return 0
	}
}

// says waits until the process wrote the text to its standard error.
func (p *process) says(t testing.TB, text string) {
	t.Helper()
	await(t, p.name+": "+text, func() bool { return strings.Contains(p.stderr.String(), text) || p.ended() })
	if !strings.Contains(p.stderr.String(), text) {
		t.Fatalf("%s: ended without a word of %q", p.name, text)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// patience is how long await waits; nothing here takes a fifth of it.
const patience = 30 * time.Second

// await asks again and again whether something is so.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// marked returns the processes with the mark, each as its id and command line.
func marked(mark string) []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []string
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), markEnv+"="+mark) || filepath.Base(d) == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		if len(line) > 0 { // else it is a zombie, and dead
			out = append(out, filepath.Base(d)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// tool returns the path of a real tool, or skips the test.
func tool(t testing.TB, name string, elsewhere ...string) string {
	t.Helper()
	dir := os.Getenv("STEADY_TOOLS")
	if dir == "" {
		dir = filepath.Join(home, "..", "..", ".tools")
	}
	for _, path := range append([]string{filepath.Join(dir, name)}, elsewhere...) {
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return path
		}
	}
	if path, err := exec.LookPath(filepath.Base(name)); err == nil && len(elsewhere) > 0 {
		return path
	}
	t.Skipf("%s is not in %s: make test installs it (.ci/tools)", name, dir)
	return ""
}

// home is the package's directory: tests that change theirs find testdata by it.
var home = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

// serve starts a server in this process and returns its URL and a connection to it.
func serve(t testing.TB) (string, *bus.Conn) {
	t.Helper()
	s, err := bus.StartServer(bus.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.URL(), connect(t, s.URL())
}

func connect(t testing.TB, url string) *bus.Conn {
	t.Helper()
	var c *bus.Conn
	await(t, "a connection to "+url, func() (ok bool) {
		var err error
		c, err = bus.Connect(url, "test", false)
		return err == nil
	})
	t.Cleanup(c.Close)
	return c
}

// streamed returns the number of the stream's last message, 0 where there is none yet.
func streamed(c *bus.Conn) uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := c.Stream(ctx)
	if err != nil {
		return 0
	}
	return s.Last
}

// freePort returns a port of loopback that nobody listens on.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// manifests returns the manifests of a data directory's runs.
func manifests(t testing.TB, data string) []*schemas.Manifest {
	t.Helper()
	runs, err := loaders.Runs(data, "")
	if err != nil && !errors.Is(err, loaders.ErrNoData) {
		t.Fatal(err)
	}
	var out []*schemas.Manifest
	for _, r := range runs {
		out = append(out, r.Manifest)
	}
	return out
}

// one returns the manifest of the only run there is.
func one(t testing.TB, data string) *schemas.Manifest {
	t.Helper()
	ms := manifests(t, data)
	if len(ms) != 1 {
		t.Fatalf("%d runs in %s, want 1", len(ms), data)
	}
	return ms[0]
}

// rows returns how many rows of a table a run has.
func tableRows(m *schemas.Manifest, table string) int64 {
	for _, t := range m.Tables {
		if t.Table == table {
			return t.Rows
		}
	}
	return 0
}

// alive returns what is in DATA/live besides its lock.
func alive(t testing.TB, data string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, "live"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.Name() != ".lock" {
			out = append(out, e.Name())
		}
	}
	return out
}
