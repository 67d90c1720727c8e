package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// policies returns how each thread of a process is scheduled, as "policy nice", how many
// by each.
func policies(pid int) map[string]int {
	out := map[string]int{}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, t := range tasks {
		id, _ := strconv.Atoi(filepath.Base(t))
		if a, err := unix.SchedGetAttr(id, 0); err == nil {
			out[fmt.Sprintf("%d %d", a.Policy, a.Nice)]++
		}
	}
	return out
}

// mayBeRealtime skips the test where no process may be real-time.
func mayBeRealtime(t *testing.T) {
	t.Helper()
	p := start(t, nil, "sleep", "60")
	if err := unix.SchedSetAttr(p.cmd.Process.Pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0); err != nil {
		t.Skipf("no real-time class here: %v", err)
	}
}

func TestCollectKeepsTheClassThatItGot(t *testing.T) {
	mayBeRealtime(t)
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ class, says, most string }{
		{"auto", "realtime (SCHED_RR 1)", "2 0"},
		{"realtime", "realtime (SCHED_RR 1)", "2 0"},
		{"nice", "nice -10", "0 -10"},
		{"normal", fmt.Sprintf("normal (as started: policy %d, nice %d)", own.Policy, own.Nice), fmt.Sprintf("%d %d", own.Policy, own.Nice)},
	} {
		t.Run(tt.class, func(t *testing.T) {
			data := t.TempDir()
			url, c := serve(t)
			in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
			in.says(t, "ingest: ")
			col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "50ms", "--class", tt.class)
			await(t, "ticks in the stream", func() bool { return streamed(c) > 8 })
			got := policies(col.cmd.Process.Pid)
			others := 0
			if tt.most == "2 0" {
				others = got["0 -10"] // the runtime's watchdog
			}
			if len(got) != 1+others || got[tt.most] < 2 || others > 1 {
				t.Errorf("threads %v", got)
			}
			slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", col.cmd.Process.Pid))
			if want := strconv.Itoa(timerSlack(50 * time.Millisecond)); err == nil && tt.most != "2 0" && strings.TrimSpace(string(slack)) != want {
				t.Errorf("timer slack %s, want %s", slack, want)
			}
			col.signal(t, syscall.SIGINT)
			in.says(t, "complete")
			if m := one(t, data); m.Status != schemas.Complete || m.Hosts[0].Facts["collector.class"] != tt.says || !strings.Contains(col.stderr.String(), "scheduled as "+tt.says) {
				t.Errorf("%s, facts %q\n%s", m.Status, m.Hosts[0].Facts, col.stderr.String())
			}
		})
	}
}

// A process that took too much at real-time priority is an ordinary one from then on.
func TestRealtimeFuse(t *testing.T) {
	mayBeRealtime(t)
	url, c := serve(t)
	ensureStream(t, c)
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "50ms", "--class", "realtime")
	await(t, "ticks in the stream", func() bool { return streamed(c) > 5 })
	var limit unix.Rlimit
	if err := unix.Prlimit(col.cmd.Process.Pid, rlimitRTTime, nil, &limit); err != nil || limit.Cur != uint64(rtSoft.Microseconds()) || limit.Max != uint64(rtHard.Microseconds()) {
		t.Errorf("limit %+v, %v", limit, err)
	}
	col.cmd.Process.Signal(syscall.SIGXCPU) // as the kernel would
	col.says(t, "at real-time priority without a pause: it goes on with nice -10")
	if got := policies(col.cmd.Process.Pid); got["0 -10"] < 2 || len(got) != 1 {
		t.Errorf("threads %v", got)
	}
	n := streamed(c)
	await(t, "more ticks in the stream", func() bool { return streamed(c) > n+3 })
	col.signal(t, syscall.SIGINT)
}

// Without the privilege auto takes what there is, and what was asked for is refused.
func TestCollectWithoutThePrivilege(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user's process is to be started: needs root")
	}
	dir, err := os.MkdirTemp("", "steady-test-user-") // that user can come here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "steady")
	in, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(exe, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	out.Close()
	args := []string{"--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "env", actEnv + "=1", exe, "collect", "--nats", "nats://127.0.0.1:" + freePort(t), "--experiment", "e", "--system", "s", "--scenario", "c", "--wal", filepath.Join(dir, "wal"), "--class"}
	setpriv := tool(t, "setpriv", "/usr/bin/setpriv")
	col := start(t, nil, setpriv, append(slices.Clone(args), "auto")...)
	col.says(t, "scheduled as normal (as started: policy ")
	col.signal(t, syscall.SIGINT)
	col = start(t, nil, setpriv, append(args, "realtime")...)
	if code := col.wait(t, patience); code != exitFailed || !strings.Contains(col.stderr.String(), "--class realtime: operation not permitted: it needs CAP_SYS_NICE") {
		t.Errorf("exit %d: %s", code, col.stderr.String())
	}
}

// The runtime's watchdog is the thread that wakes most often while something runs.
func TestWatchdogIsFound(t *testing.T) {
	id, ok := watchdog()
	if !ok {
		t.Fatal("no second thread")
	}
	switches := func() map[int]int64 {
		out := map[int]int64{}
		tasks, _ := filepath.Glob("/proc/self/task/*/status")
		for _, path := range tasks {
			b, _ := os.ReadFile(path)
			_, rest, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:")
			var n int64
			fmt.Sscan(rest, &n)
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out[id] = n
		}
		return out
	}
	before := switches()
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
	}
	most, times := 0, int64(-1)
	for id, n := range switches() {
		if n -= before[id]; n > times {
			most, times = id, n
		}
	}
	if most != id || times < 10 {
		t.Errorf("thread %d switched most, %d times; thread %d is taken for the watchdog", most, times, id)
	}
}

// other is a source of a table.
type other struct {
	table  *schemas.Table
	closed *int
}

func (o other) Name() string                 { return o.table.Name }
func (o other) Tables() []*schemas.Table     { return []*schemas.Table{o.table} }
func (o other) Sample([]schemas.Block) error { return nil }
func (o other) Close() error                 { *o.closed++; return nil }

func TestLeanProfile(t *testing.T) {
	closed := 0
	absent := map[string]string{"a": "b"}
	left := leanSources([]collector.Source{other{&schemas.Collector, &closed}, other{&schemas.Memory, &closed}, other{&schemas.Workload, &closed}}, absent)
	if len(left) != 1 || left[0].Name() != "memory" || closed != 2 || len(absent) != 3 || absent["workload"] != "left out by --profile lean" {
		t.Errorf("%d left, %d closed, absent %q", len(left), closed, absent)
	}

	data := t.TempDir()
	url, c := serve(t)
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "ingest: ")
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "20ms", "--profile", "lean")
	await(t, "two bursts", func() bool { return streamed(c) > 20 })
	col.signal(t, syscall.SIGINT)
	in.says(t, "complete")
	m := one(t, data)
	if p := m.Producers[0]; m.Status != schemas.Complete || p.Received != *p.Expected || m.Hosts[0].Facts["collector.profile"] != "lean" {
		t.Errorf("%s %q: %+v", m.Status, m.Reasons, p)
	}
}

// What only the start needs is given back.
func TestMemoryOfACollectingProcess(t *testing.T) {
	url, c := serve(t)
	ensureStream(t, c)
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "100ms")
	const budget = 20_000_000 / 1024
	await(t, fmt.Sprintf("less than %d KiB", budget), func() bool { return streamed(c) > 60 && rssKiB(col.cmd.Process.Pid) < budget })
	t.Logf("%d KiB", rssKiB(col.cmd.Process.Pid))
	col.signal(t, syscall.SIGINT)
}
