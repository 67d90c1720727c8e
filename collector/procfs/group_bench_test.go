package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
)

const (
	wide  = 100_000 // files to keep open: all of them
	pods  = 300
	podID = "cri-containerd-%08d8ac6d674a1ee47b9103cd164bee1d10e69a6e1b657e992e871c37a50cf6.scope"
)

// manyGroups writes a host of v2 with so many containers in one slice, each with the
// fixture's files.
func manyGroups(tb testing.TB, n int) (root string) {
	tb.Helper()
	root = tb.TempDir()
	const from = "testdata/cgroup2-6.1/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b5d61a3_28ce_46bc_a2c4_5654e9b20bdd.slice"
	inner, err := filepath.Glob(from + "/cri-*")
	if err != nil || len(inner) != 1 {
		tb.Fatal(inner, err)
	}
	groupPut(tb, root, "proc/self/mountinfo", "24 22 0:21 / /cg rw - cgroup2 cgroup2 rw\n")
	groupPut(tb, root, "cg/cgroup.controllers", "cpu memory io pids\n")
	for i := range n {
		if err := os.CopyFS(filepath.Join(root, "cg/pods", fmt.Sprintf(podID, i)), os.DirFS(inner[0])); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// liveMany makes as many empty groups on this host.
func liveMany(b *testing.B, n int) (pattern string) {
	l := liveHierarchies(b)
	parent := fmt.Sprintf("steady-bench-%d", os.Getpid())
	l.mkdir(parent)
	if l.v2 != "" {
		for _, c := range []string{"+cpu", "+memory", "+io", "+pids"} {
			os.WriteFile(filepath.Join(l.v2, parent, "cgroup.subtree_control"), []byte(c), 0)
		}
	}
	for i := range n {
		l.mkdir(filepath.Join(parent, fmt.Sprintf(podID, i)))
	}
	return "/" + parent + "/*"
}

// BenchmarkGroups is a tick of 300 containers: with all files kept open, with none, and
// of it finding the groups; live are the kernel's own files.
func BenchmarkGroups(b *testing.B) {
	for _, where := range []string{"files", "live"} {
		b.Run(where, func(b *testing.B) {
			root, pattern := "/", "/pods/*"
			if where == "live" {
				pattern = liveMany(b, pods)
			} else {
				root = manyGroups(b, pods)
			}
			for _, keep := range []int{wide, 0} {
				g := openTest(b, root, keep, pattern)
				blocks := newBlocks(g)
				sampled(b, g, blocks)
				if n := len(blocks[0].Devices); n != pods {
					b.Fatalf("%d groups", n)
				}
				b.Run(fmt.Sprintf("keep=%d/tick", keep), func(b *testing.B) {
					b.ReportAllocs()
					begin := rusage(unix.RUSAGE_SELF)
					for b.Loop() {
						if err := g.Sample(blocks); err != nil {
							b.Fatal(err)
						}
					}
					reportCPU(b, begin, pods, "group")
				})
				b.Run(fmt.Sprintf("keep=%d/find", keep), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						g.scan()
					}
				})
				b.Run(fmt.Sprintf("keep=%d/list", keep), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						for _, h := range g.hierarchies {
							h.tree.dead = true
						}
						g.scan()
					}
				})
			}
		})
	}
}

// reportCPU reports the CPU time of one of n things: a busy host doesn't change it as it
// does the time that passed.
func reportCPU(b *testing.B, begin unix.Rusage, n int, what string) {
	end := rusage(unix.RUSAGE_SELF)
	ns := end.Utime.Nano() + end.Stime.Nano() - begin.Utime.Nano() - begin.Stime.Nano()
	b.ReportMetric(float64(ns)/1e3/float64(b.N)/float64(n), "cpu-us/"+what)
}

// Of so many containers that not all files can be kept open the rest are opened,
// read and closed, and a tick allocates nothing.
func TestManyGroupsWithFewFiles(t *testing.T) {
	root := manyGroups(t, 40)
	var want map[string]int64
	for _, keep := range []int{wide, 100, 0} {
		g := openTest(t, root, keep, "/pods/*")
		b := newBlocks(g)
		got := sampled(t, g, b)
		if want == nil {
			want = got
		}
		if len(got) < 40*30 {
			t.Errorf("keeping %d: %d values", keep, len(got))
		}
		for _, d := range differences(got, want) {
			t.Errorf("keeping %d: %s", keep, d)
		}
		told(g)
		if n := testing.AllocsPerRun(20, func() { g.Sample(b) }); n != 0 {
			t.Errorf("keeping %d: %v allocations a tick", keep, n)
		}
	}
}

// A quarter of the descriptors that the process may have are kept at most.
func TestKeeperKnowsItsShare(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	s, _, err := Groups(manyGroups(t, 40), []string{"/pods/*"}, collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := newBlocks(s)
	before := openDescriptors(t)
	got := sampled(t, s, b)
	if n := openDescriptors(t); n > before+64 {
		t.Errorf("%d files are open, %d were before", n, before)
	}
	if len(got) < 40*30 {
		t.Errorf("%d values", len(got))
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// manyProcesses writes a /proc of so many processes, of which every 1000th is nginx.
func manyProcesses(tb testing.TB, n int) (root string) {
	tb.Helper()
	root = tb.TempDir()
	for i := range n {
		p := fakeProcess{pid: i + 1, ppid: 1, comm: fmt.Sprintf("other%d", i%100), start: 1, cmdline: "other"}
		if i%1000 == 999 {
			p.comm, p.cmdline = "nginx", "nginx: worker process"
		}
		p.write(tb, root)
	}
	return root
}

// BenchmarkProcesses is a tick with 30 processes chosen, of 30,000 and of 300; live is
// this host, with one.
func BenchmarkProcesses(b *testing.B) {
	run := func(b *testing.B, s *processes, n int) {
		blocks := newBlocks(s)
		for range 3 {
			sampled(b, s, blocks)
		}
		b.ReportAllocs()
		begin := rusage(unix.RUSAGE_SELF)
		for b.Loop() {
			if err := s.Sample(blocks); err != nil {
				b.Fatal(err)
			}
		}
		reportCPU(b, begin, 1, "tick")
		b.ReportMetric(float64(len(s.chosen)), "chosen")
		b.ReportMetric(float64(len(s.entries)), "there")
	}
	for _, n := range []int{300, 30_000} {
		b.Run(fmt.Sprintf("files/%d", n), func(b *testing.B) {
			run(b, openTestProcesses(b, manyProcesses(b, n), many, collector.Now, "nginx"), n)
		})
	}
	for name, selectors := range map[string][]string{"comm": {"procfs.test"}, "cmd": {"cmd:-test.bench"}, "each": {"each *"}} {
		b.Run("live/"+name, func(b *testing.B) {
			startChild(b)
			run(b, openTestProcesses(b, "/", wide, collector.Now, selectors...), 1)
		})
	}
}

// A tick allocates nothing while the processes stay, however many are not chosen.
func TestManyProcesses(t *testing.T) {
	s := openTestProcesses(t, manyProcesses(t, 1000), many, collector.Now, "nginx", "cmd:worker")
	b := newBlocks(s)
	sampled(t, s, b)
	expect(t, b, "nginx", "processes", 1)
	expect(t, b, "cmd:worker", "processes", 1)
	if n := testing.AllocsPerRun(70, func() {
		if err := s.Sample(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}
