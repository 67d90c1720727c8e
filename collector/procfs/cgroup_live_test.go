package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
)

// liveGroups are this host's hierarchies: v1's directories by controller, and v2's.
type liveGroups struct {
	testing.TB
	v1   map[string]string
	v2   string
	dirs []string
}

// liveHierarchies finds them, or skips the test where groups can't be made.
func liveHierarchies(t testing.TB) *liveGroups {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make control groups")
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	l := &liveGroups{TB: t, v1: make(map[string]string)}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		switch f[dash+1] {
		case "cgroup":
			counts := false
			for _, c := range strings.Split(f[dash+3], ",") {
				l.v1[c] = f[4]
				counts = counts || slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio", "pids"}, c)
			}
			if !counts {
				continue
			}
		case "cgroup2":
			l.v2 = f[4]
		default:
			continue
		}
		if !slices.Contains(l.dirs, f[4]) {
			l.dirs = append(l.dirs, f[4])
		}
	}
	if len(l.dirs) == 0 {
		t.Skip("no cgroup file system is mounted")
	}
	if l.v2 != "" {
		l.delegate()
	}
	return l
}

// delegate has v2's root give its controllers to the groups below it, for as long as the
// test runs. What it can't give isn't compared.
func (l *liveGroups) delegate() {
	l.Helper()
	control := filepath.Join(l.v2, "cgroup.subtree_control")
	had, err := os.ReadFile(control)
	if err != nil {
		l.Fatal(err)
	}
	for _, c := range []string{"cpu", "memory", "io", "pids"} {
		if slices.Contains(strings.Fields(string(had)), c) || os.WriteFile(control, []byte("+"+c), 0) != nil {
			continue
		}
		l.Cleanup(func() {
			if err := os.WriteFile(control, []byte("-"+c), 0); err != nil {
				l.Error(err)
			}
		})
	}
}

// mkdir makes a group in every hierarchy, for as long as the test runs.
func (l *liveGroups) mkdir(group string) {
	l.Helper()
	for _, dir := range l.dirs {
		path := filepath.Join(dir, group)
		if err := os.Mkdir(path, 0o755); err != nil {
			if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
				l.Skipf("needs control groups that can be written: %v", err)
			}
			l.Fatal(err)
		}
		l.Cleanup(func() {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				l.Error(err)
			}
		})
	}
}

func (l *liveGroups) rmdir(group string) {
	l.Helper()
	for _, dir := range l.dirs {
		if err := os.Remove(filepath.Join(dir, group)); err != nil {
			l.Fatal(err)
		}
	}
}

// enter puts a process into a group, in every hierarchy.
func (l *liveGroups) enter(group string, pid int) {
	l.Helper()
	for _, dir := range l.dirs {
		if err := os.WriteFile(filepath.Join(dir, group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			l.Fatal(err)
		}
	}
}

// set writes to a file of a group of v1 or v2, whichever counts.
func (l *liveGroups) set(group, controller, v1, v1Text, v2, v2Text string) bool {
	l.Helper()
	path, text := filepath.Join(l.v2, group, v2), v2Text
	if dir, ok := l.v1[controller]; ok {
		path, text = filepath.Join(dir, group, v1), v1Text
	}
	err := os.WriteFile(path, []byte(text), 0)
	if err != nil {
		l.Logf("not compared: %v", err)
	}
	return err == nil
}

// throttling is what the kernel says of a group's CPU limit, by column.
func (l *liveGroups) throttling(group string) map[string]int64 {
	l.Helper()
	dir, ok := l.v1["cpu"]
	if !ok {
		dir = l.v2
	}
	text, err := os.ReadFile(filepath.Join(dir, group, "cpu.stat"))
	if err != nil {
		l.Fatal(err)
	}
	out := make(map[string]int64)
	f := strings.Fields(string(text))
	for i := 0; i+1 < len(f); i += 2 {
		v, err := strconv.ParseInt(f[i+1], 10, 64)
		if err != nil {
			l.Fatal(err)
		}
		switch f[i] {
		case "nr_periods", "nr_throttled":
			out[f[i]] = v
		case "throttled_time":
			out["throttled_ns"] = v
		case "throttled_usec":
			out["throttled_ns"] = 1000 * v
		}
	}
	return out
}

// within fails the test if a value is known and outside of what was used, by more than
// the kernel's accounting may be off.
func within(t testing.TB, what string, got map[string]int64, key string, least, most, off int64) {
	t.Helper()
	v, ok := got[key]
	if !ok {
		t.Logf("not compared: %s: it isn't counted here", what)
		return
	}
	t.Logf("%s: %d, used %d to %d", what, v, least, most)
	if v < least-off || v > most+off {
		t.Errorf("%s: %d, want %d to %d, or %d off", what, v, least, most, off)
	}
}

// since returns the increments of the counters and the gauges.
func since(before, after map[string]int64) map[string]int64 {
	out := make(map[string]int64)
	for k, v := range after {
		if b, ok := before[k]; ok {
			out[k] = v - b
		}
	}
	return out
}

// What a group's files say is what its process used, by getrusage and by what it was
// told to do.
func TestLiveGroup(t *testing.T) {
	l := liveHierarchies(t)
	name := fmt.Sprintf("steady-test-%d", os.Getpid())
	l.mkdir(name)
	c := startChild(t)
	l.enter(name, c.Process.Pid)
	g, absent, err := Groups("/", []string{"/" + name}, collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	t.Logf("absent: %v", absent)
	b := newBlocks(g)
	key := func(column string) string { return "cgroup//" + name + "/" + column }
	file := filepath.Join(t.TempDir(), "f")

	// What the child uses between a sample and its own account of it stays unknown: each
	// sample is between two accounts.
	u0, first, u1 := c.usage(), sampled(t, g, b), c.usage()
	if len(first) < 5 {
		t.Fatalf("only %v", first)
	}
	c.ask("burn 300")
	c.ask("memory 64")
	u2, second, u3 := c.usage(), sampled(t, g, b), c.usage()
	d := since(first, second)
	const ms, mib = 1e6, 1 << 20
	least, most := u2.cpu()-u1.cpu(), u3.cpu()-u0.cpu()
	within(t, "CPU time", d, key("cpu_ns"), least, most, 5*ms)
	within(t, "user and system", map[string]int64{"": d[key("user_ns")] + d[key("system_ns")]}, "", least, most, 20*ms)
	within(t, "anonymous memory", d, key("anon_bytes"), 64*mib, 64*mib, mib)
	within(t, "memory", d, key("memory_bytes"), 64*mib, 64*mib, 4*mib)
	within(t, "page faults", d, key("pgfault"), u2.minflt-u1.minflt, u3.minflt-u0.minflt, 128)
	if threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.Process.Pid)); err != nil {
		t.Error(err)
	} else {
		within(t, "tasks", second, key("pids"), int64(len(threads)), int64(len(threads)), 1)
	}
	if v, ok := second[key("memory_peak_bytes")]; ok && v < second[key("memory_bytes")] {
		t.Errorf("the peak %d is below %d", v, second[key("memory_bytes")])
	}

	if c.tryIO(file) {
		first = sampled(t, g, b)
		c.ask("write 8 %s", file)
		c.ask("read 8 %s", file)
		d = since(first, sampled(t, g, b))
		// A file system writes its own blocks beside the data.
		within(t, "bytes written", d, key("write_bytes"), 8*mib, 9*mib, 0)
		within(t, "bytes read", d, key("read_bytes"), 8*mib, 9*mib, 0)
	}

	if l.set(name, "cpu", "cpu.cfs_quota_us", "10000", "cpu.max", "10000 100000") {
		before := l.throttling(name)
		for range 100 { // a busy host may not let it use up its tenth of a CPU
			c.ask("burn 20")
			if l.throttling(name)["nr_throttled"] > before["nr_throttled"] {
				break
			}
		}
		least, got, most := l.throttling(name), sampled(t, g, b), l.throttling(name)
		if least["nr_throttled"] == before["nr_throttled"] {
			t.Error("2 s of CPU time, and never throttled")
		}
		for column := range least {
			within(t, column, got, key(column), least[column], most[column], 0)
		}
		l.set(name, "cpu", "cpu.cfs_quota_us", "-1", "cpu.max", "max")
	}

	if l.set(name, "memory", "memory.limit_in_bytes", "100663296", "memory.max", "100663296") {
		within(t, "limit", sampled(t, g, b), key("memory_limit_bytes"), 96*mib, 96*mib, 0)
		os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.Process.Pid), []byte("1000"), 0) // it, if anything
		l.set(name, "memory", "memory.memsw.limit_in_bytes", "100663296", "memory.swap.max", "0")
		first = sampled(t, g, b)
		fmt.Fprintln(c.in, "memory 64")
		if line, err := c.out.ReadString('\n'); err == nil {
			t.Errorf("128 MiB of 96: %s", line)
		}
		within(t, "killed", since(first, sampled(t, g, b)), key("oom_kill"), 1, 1, 0)
	}
	if n, example := g.(collector.Skipper).Skipped(); n != 0 {
		t.Errorf("%d lines skipped: %s", n, example)
	}
	for _, n := range told(g.(collector.Noter)) {
		t.Log(n)
	}
}

// tryIO reports whether the child can write past the page cache there, onto a disk.
func (c *child) tryIO(file string) bool {
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CREAT|unix.O_DIRECT, 0o600)
	if err != nil {
		c.Logf("I/O not compared: %v", err)
		return false
	}
	unix.Close(fd)
	return true
}

// The kernel's files of a group that was removed can't be read any more: its successor
// of the same name is read in the same tick, and told.
func TestLiveGroupMadeAnew(t *testing.T) {
	for _, keep := range []int{many, 0} {
		l := liveHierarchies(t)
		name := fmt.Sprintf("steady-test-%d", os.Getpid())
		l.mkdir(name)
		c := startChild(t)
		l.enter(name, c.Process.Pid)
		g := openTest(t, "/", keep, "/"+name)
		b := newBlocks(g)
		sampled(t, g, b)
		c.ask("burn 100")
		first := sampled(t, g, b)
		told(g)
		c.in.Close()
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		l.rmdir(name)
		l.mkdir(name)
		second := sampled(t, g, b)
		key := "cgroup//" + name + "/cpu_ns"
		if _, ok := first[key]; !ok {
			t.Fatal("no CPU time")
		}
		if v, ok := second[key]; !ok || v > 1e6 {
			t.Errorf("keeping %d: CPU time %d, then %d, %v", keep, first[key], v, ok)
		}
		if got, want := told(g), []string{"restart  /" + name + ": the group was removed and made again"}; !slices.Equal(got, want) {
			t.Errorf("keeping %d: %q", keep, got)
		}

		l.rmdir(name)
		l.mkdir(name) // both without a process: no counter falls
		if got := sampled(t, g, b); len(got) != 0 {
			t.Errorf("keeping %d: %v", keep, got)
		}
		if got := told(g); len(got) != 1 || !strings.HasPrefix(got[0], "restart  /"+name+": the group was removed and made again; this tick has no row") {
			t.Errorf("keeping %d: %q", keep, got)
		}
		if got := sampled(t, g, b); len(got) == 0 {
			t.Error("no row a tick later")
		}

		l.rmdir(name)
		if got := sampled(t, g, b); len(b[0].Devices) != 0 {
			t.Errorf("keeping %d: a group that was removed: %v", keep, got)
		}
		sampled(t, g, b)
	}
}
