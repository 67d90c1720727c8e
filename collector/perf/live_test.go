package perf

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// live opens the sources of the running kernel below root, or skips the test with the
// reason.
func live(t testing.TB, root string, o Options) []*reader {
	t.Helper()
	sources, absent, err := Sources(root, collector.Now, o)
	if err != nil {
		t.Fatal(err)
	}
	if why, ok := absent["perf"]; ok {
		t.Skipf("perf events: %s", why)
	}
	var out []*reader
	for _, s := range sources {
		t.Cleanup(func() { s.Close() })
		out = append(out, newReader(t, s))
	}
	return out
}

// total is a column's sum over the devices of a tick.
func (r *reader) total(column string) (sum int64) {
	values, notes := r.tick()
	if len(notes) > 0 {
		r.Errorf("notes %q", notes)
	}
	for k, v := range values {
		if strings.HasSuffix(k, " "+column) {
			sum += v
		}
	}
	return sum
}

// onTheirWay is how many forks or faults of others may be between the two places in the
// kernel that count them when both are read.
const onTheirWay = 8

// kernelCounter reads a number of a file in /proc by the name at the start of its line.
func kernelCounter(t testing.TB, file, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == name {
			v, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("/proc/%s has no %s", file, name)
	return 0
}

// pingPong has two threads on one CPU wait for each other n times, which takes two
// context switches each.
func pingPong(t testing.TB, cpu, n int) {
	t.Helper()
	var there, back [2]int
	for _, p := range []*[2]int{&there, &back} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
	}
	var wait sync.WaitGroup
	player := func(in, out int, first bool) {
		runtime.LockOSThread() // and never unlocked: the thread ends with its affinity
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			t.Error(err)
		}
		ball := []byte{0}
		for i := range n {
			if !first || i > 0 {
				unix.Read(in, ball)
			}
			unix.Write(out, ball)
		}
		if first {
			unix.Read(in, ball)
		}
	}
	wait.Go(func() { player(back[0], there[1], true) })
	wait.Go(func() { player(there[0], back[1], false) })
	wait.Wait()
}

// firstCPU is one that the process may run on.
func firstCPU(t testing.TB) int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for n := range 1024 {
		if set.IsSet(n) {
			return n
		}
	}
	t.Fatal("no CPU")
	return 0
}

// Between two readings of what the kernel counts itself, none is missed and none is
// made up: the kernel's own number is read just outside of our readings, and inside.
func TestContextSwitchesAreExact(t *testing.T) {
	r := live(t, "/", Options{})[0]
	cpu := firstCPU(t)
	ctxt := func() int64 { return kernelCounter(t, "stat", "ctxt") }
	outer := ctxt()
	before, _ := r.tick()
	inner := ctxt()
	const rounds = 2000
	pingPong(t, cpu, rounds)
	inner = ctxt() - inner
	after, _ := r.tick()
	outer = ctxt() - outer
	var got int64
	for k := range after {
		if strings.HasSuffix(k, " context_switches") {
			got += after[k] - before[k]
		}
	}
	key := fmt.Sprintf("%d context_switches", cpu)
	t.Logf("%d context switches, the kernel says %d to %d; %d on CPU %d, of which %d the test's", got, inner, outer, after[key]-before[key], cpu, 2*rounds)
	if got < inner || got > outer {
		t.Errorf("%d context switches, want %d to %d", got, inner, outer)
	}
	if got := after[key] - before[key]; got < 2*rounds {
		t.Errorf("%d context switches on CPU %d, want at least %d", got, cpu, 2*rounds)
	}
}

func TestPageFaultsAreExact(t *testing.T) {
	r := live(t, "/", Options{})[0]
	const pages = 5000
	size := os.Getpagesize()
	pgfault := func() int64 { return kernelCounter(t, "vmstat", "pgfault") }
	outer := pgfault()
	before, minor := r.total("page_faults"), r.total("minor_faults")
	mem, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // a kernel without huge pages
		t.Fatal(err)
	}
	for i := range pages {
		mem[i*size] = 1
	}
	minor = r.total("minor_faults") - minor
	all := r.total("page_faults") - before
	outer = pgfault() - outer
	t.Logf("%d page faults, %d of them minor; the test's are %d, the kernel says at most %d", all, minor, pages, outer)
	// The kernel counts those that it brings in itself (get_user_pages) in pgfault only.
	if minor < pages || all < minor-onTheirWay || minor > outer+onTheirWay {
		t.Errorf("%d page faults, %d of them minor, want %d to %d", all, minor, pages, outer)
	}
}

// withTracefs returns a root at which tracefs is mounted, or skips the test.
func withTracefs(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("tracepoints: mounting tracefs needs root")
	}
	root := t.TempDir()
	tracing := filepath.Join(root, "sys/kernel/tracing")
	if err := os.MkdirAll(tracing, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"devices", "bus"} {
		if err := os.Symlink("/sys/"+dir, filepath.Join(root, "sys", dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount("nodev", tracing, "tracefs", 0, ""); err != nil {
		t.Skipf("tracepoints: mounting tracefs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(tracing, 0); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestForksAreExact(t *testing.T) {
	readers := live(t, withTracefs(t), Options{Events: []string{"sched:sched_process_fork,sched:nosuch"}})
	r := readers[len(readers)-1]
	if r.source.Name() != "perf_event" {
		t.Skip("tracepoints: the kernel has none")
	}
	const forks = 50
	processes := func() int64 { return kernelCounter(t, "stat", "processes") }
	outer := processes()
	got := r.total("count")
	inner := processes()
	for range forks {
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	inner = processes() - inner
	got = r.total("count") - got
	outer = processes() - outer
	t.Logf("%d forks, of which %d the test's; the kernel says %d to %d", got, forks, inner, outer)
	if got < forks || got < inner-onTheirWay || got > outer+onTheirWay {
		t.Errorf("%d forks, want %d, or %d to %d", got, forks, inner, outer)
	}
}

// A modifier leaves out what it does not name: of a tight loop of system calls both
// sides see something, and a tracepoint in the kernel is never hit from user mode.
func TestModifiersReachTheKernel(t *testing.T) {
	readers := live(t, withTracefs(t), Options{Events: []string{"sched:sched_switch,sched:sched_switch:u,sched:sched_switch:k"}})
	r := readers[len(readers)-1]
	if r.source.Name() != "perf_event" {
		t.Skip("tracepoints: the kernel has none")
	}
	before, _ := r.tick()
	pingPong(t, firstCPU(t), 500)
	after, _ := r.tick()
	delta := func(event string) int64 { return after[event+" count"] - before[event+" count"] }
	if all, k, u := delta("sched:sched_switch"), delta("sched:sched_switch:k"), delta("sched:sched_switch:u"); all < 1000 || k < 1000 || u != 0 {
		t.Errorf("%d switches, %d in the kernel, %d in user mode", all, k, u)
	}
}

// Counting begins when all are open, and no file is left behind.
func TestFilesOfTheProcess(t *testing.T) {
	files := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.Contains(to, "perf_event") {
				n++
			}
		}
		return n
	}
	before := files()
	sources, absent, err := Sources("/", collector.Now, Options{Events: []string{"cs", "faults"}})
	if err != nil {
		t.Fatal(err)
	}
	if why, ok := absent["perf"]; ok {
		t.Skipf("perf events: %s", why)
	}
	r := newReader(t, sources[0])
	r.tick()
	if got, least := files()-before, len(r.block[0].Devices)*(9+2); got < least {
		t.Errorf("%d events are open, want %d and more", got, least)
	}
	for _, s := range sources {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := files(); n != before {
		t.Errorf("%d events were left open", n-before)
	}
}

func TestNoAllocationATickLive(t *testing.T) {
	for _, r := range live(t, "/", Options{Extended: true, Events: []string{"cs", "faults"}}) {
		r.tick()
		n := testing.AllocsPerRun(100, func() {
			if err := r.source.Sample(r.block); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a tick", r.source.Name(), n)
		}
	}
}

// besidePerf are the software events, as perf and the table call them, and what brings
// perf's unit to ours.
var besidePerf = []struct {
	event  string
	factor float64
}{
	{"cpu-clock", 1e6}, {"task-clock", 1e6}, {"context-switches", 1}, {"cpu-migrations", 1}, {"page-faults", 1},
	{"minor-faults", 1}, {"major-faults", 1}, {"alignment-faults", 1}, {"emulation-faults", 1},
}

// reading is a moment and what was counted until then, by event: at some time from to
// until the values were those.
type reading struct {
	from, to time.Time
	values   []int64
}

// perfLine is a line of perf's: event, at when since its start, how many in the interval,
// and when it was read here.
type perfLine struct {
	event string
	at    time.Duration
	count float64
	read  time.Time
}

// runBesidePerf runs perf stat -I and reads our counters all the while, under a load that
// switches and faults. It returns the moment before perf was started.
func runBesidePerf(t testing.TB, interval time.Duration, n int) (started time.Time, lines []perfLine, ours []reading) {
	t.Helper()
	tool, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed: apt-get install linux-perf")
	}
	if os.Geteuid() != 0 {
		t.Skip("perf stat -a needs root")
	}
	r := live(t, "/", Options{})[0]
	columns := make([]int, len(besidePerf))
	var events []string
	for i, e := range besidePerf {
		events = append(events, e.event)
		name, _ := schemas.PerfColumn(e.event)
		columns[i] = schemas.Perf.Column(name)
	}
	read := func() {
		x := reading{from: time.Now(), values: make([]int64, len(columns))}
		if err := r.source.Sample(r.block); err != nil {
			t.Error(err)
			return
		}
		x.to = time.Now()
		b := &r.block[0]
		for row := range b.Devices {
			for i, c := range columns {
				x.values[i] += b.Values[row*len(b.Table.Columns)+c]
			}
		}
		ours = append(ours, x)
	}
	var done atomic.Bool
	var wait sync.WaitGroup
	stop := sync.OnceFunc(func() {
		done.Store(true)
		wait.Wait()
	})
	defer stop()
	wait.Go(func() {
		for !done.Load() {
			pingPong(t, firstCPU(t), 50)
			mem, err := unix.Mmap(-1, 0, 64*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				t.Error(err)
				return
			}
			for i := 0; i < len(mem); i += os.Getpagesize() {
				mem[i] = 1
			}
			unix.Munmap(mem)
		}
	})
	wait.Go(func() {
		pause := time.NewTicker(time.Millisecond) // else all that is measured is this loop
		defer pause.Stop()
		for !done.Load() {
			read()
			<-pause.C
		}
	})
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	started = time.Now()
	perf := exec.Command(tool, "stat", "-a", "-I", fmt.Sprint(interval.Milliseconds()), "-x,", "-e", strings.Join(events, ","), "--log-fd", "3",
		"sleep", fmt.Sprintf("%.3f", (interval*time.Duration(n)+interval/2).Seconds()))
	perf.Env = append(os.Environ(), "LC_ALL=C")
	perf.ExtraFiles = []*os.File{in}
	if err := perf.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	for s := bufio.NewScanner(out); s.Scan(); {
		f := strings.Split(s.Text(), ",")
		if len(f) < 6 {
			continue // its first line says when it started
		}
		at, err1 := strconv.ParseFloat(strings.TrimSpace(f[0]), 64)
		count, err2 := strconv.ParseFloat(f[1], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("perf says %q", s.Text())
		}
		lines = append(lines, perfLine{f[3], time.Duration(at * 1e9), count, time.Now()})
	}
	if err := perf.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	read() // after perf's last
	// What the last lines are about ended with perf's command. On a busy machine perf
	// leaves intervals out, the others are then longer.
	whole := len(lines)/len(events) - 1
	if whole < 1 {
		t.Fatalf("perf wrote %d lines", len(lines))
	}
	return started, lines[:whole*len(events)], ours
}

// agreement compares perf's counts with ours, interval by interval. When perf read is
// known within bounds: not before its start and the time that it says, and not after its
// line came. It fails where perf's count is not between what we had counted at least and
// at most in that time, and returns by how much the counts differ at the likely time, in
// percent, the median by event (NaN where there was nothing to count).
func agreement(t testing.TB, started time.Time, lines []perfLine, ours []reading) (medians []float64) {
	t.Helper()
	n := len(besidePerf)
	delay := time.Hour // between what perf says and its line, at best
	for _, l := range lines {
		delay = min(delay, l.read.Sub(started)-l.at)
	}
	least := func(event int, at time.Time) int64 { // counted at that time
		i := slices.IndexFunc(ours, func(r reading) bool { return r.to.After(at) })
		return ours[max(i-1, 0)].values[event]
	}
	most := func(event int, at time.Time) int64 {
		i := slices.IndexFunc(ours, func(r reading) bool { return !r.from.Before(at) })
		if i < 0 {
			i = len(ours) - 1
		}
		return ours[i].values[event]
	}
	likely := func(event int, at time.Time) float64 {
		i := max(slices.IndexFunc(ours, func(r reading) bool { return r.to.After(at) }), 1)
		a, b := ours[i-1], ours[i]
		part := float64(at.Sub(a.to)) / float64(b.to.Sub(a.to))
		return float64(a.values[event]) + part*float64(b.values[event]-a.values[event])
	}
	for event, e := range besidePerf {
		first, last, start := started, started.Add(delay), started.Add(delay) // perf's reading before
		var off []float64
		for k := event; k < len(lines); k += n {
			l := lines[k]
			if l.event != e.event {
				t.Fatalf("line %d is of %s, want %s", k, l.event, e.event)
			}
			batch := lines[k-event].read
			count := l.count * e.factor
			rounding := e.factor / 100 // perf writes milliseconds with two decimals
			if e.factor == 1 {
				rounding = 0
			}
			lo := float64(least(event, started.Add(l.at))-most(event, last)) - rounding
			hi := float64(most(event, batch)-least(event, first)) + rounding
			if count < lo || count > hi {
				t.Errorf("%s in the interval to %s: perf counted %.0f, we at least %.0f and at most %.0f", e.event, l.at, count, lo, hi)
			}
			end := started.Add(delay + l.at)
			if we := likely(event, end) - likely(event, start); we > 0 {
				off = append(off, 100*math.Abs(count-we)/we)
			}
			first, last, start = started.Add(l.at), batch, end
		}
		slices.Sort(off)
		m := math.NaN()
		if len(off) > 0 {
			m = off[len(off)/2]
		}
		medians = append(medians, m)
	}
	return medians
}

func TestAgreesWithPerf(t *testing.T) {
	started, lines, ours := runBesidePerf(t, 100*time.Millisecond, 10)
	for i, m := range agreement(t, started, lines, ours) {
		t.Logf("%s: %d in all, median difference in an interval %.2f %%", besidePerf[i].event, ours[len(ours)-1].values[i]-ours[0].values[i], m)
	}
}

// BenchmarkBesidePerf is TestAgreesWithPerf at one interval a second, for a few: it
// reports the median difference of an interval, in percent, by event.
func BenchmarkBesidePerf(b *testing.B) {
	started, lines, ours := runBesidePerf(b, time.Second, 6)
	for b.Loop() { // the work was perf's
	}
	b.ReportMetric(0, "ns/op")
	for i, m := range agreement(b, started, lines, ours) {
		if !math.IsNaN(m) {
			b.ReportMetric(m, besidePerf[i].event+"-%")
		}
	}
}
