package procfs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

const processHost = "testdata/processes-6.18"

// selectorsOf reads selectors from text; "each " before one asks for a row for each
// process, "fds " for the open files.
func selectorsOf(t testing.TB, texts ...string) (out []Selector) {
	t.Helper()
	for _, text := range texts {
		text, each := strings.CutPrefix(text, "each ")
		text, fds := strings.CutPrefix(text, "fds ")
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Each, s.FDs = each, fds
		out = append(out, s)
	}
	return out
}

// openTestProcesses opens a source of processes that keeps at most so many files open.
func openTestProcesses(t testing.TB, root string, keep int, clock collector.Clock, selectors ...string) *processes {
	t.Helper()
	k := newKeeper()
	k.left = keep
	s, _, err := openProcesses(root, selectorsOf(t, selectors...), clock, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if k.left != keep {
			t.Errorf("%d of %d files were given back", k.left, keep)
		}
	})
	return s
}

// fakeProcess is a process of a /proc of files.
type fakeProcess struct {
	pid, ppid int
	comm      string
	start     int
	user      int // ticks
	threads   int // 0 is 1
	run       int // ns of the first thread
	cmdline   string
}

// write writes the process's files below root.
func (p fakeProcess) write(t testing.TB, root string) {
	t.Helper()
	dir := fmt.Sprintf("proc/%d/", p.pid)
	groupPut(t, root, dir+"stat", fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194304 %d 0 0 0 %d 0 0 0 20 0 %d 0 %d 4096000 10 18446744073709551615 0 0 0\n",
		p.pid, p.comm, p.ppid, 2*p.user, p.user, max(p.threads, 1), p.start))
	groupPut(t, root, dir+"status", fmt.Sprintf("Name:\t%s\nVmRSS:\t 40 kB\nRssAnon:\t 20 kB\nRssFile:\t 16 kB\nRssShmem:\t 4 kB\nVmSwap:\t 8 kB\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		strings.ReplaceAll(p.comm, "\n", `\n`), 3*p.user, p.user))
	groupPut(t, root, dir+"schedstat", fmt.Sprintf("%d %d 7\n", p.run, 2*p.run))
	groupPut(t, root, dir+"io", fmt.Sprintf("rchar: %d\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 9\n", p.user))
	groupPut(t, root, dir+"cmdline", p.cmdline)
}

// writeThread writes a thread of a process.
func writeThread(t testing.TB, root string, pid, tid, run int) {
	t.Helper()
	dir := fmt.Sprintf("proc/%d/task/%d/", pid, tid)
	groupPut(t, root, dir+"schedstat", fmt.Sprintf("%d 0 1\n", run))
	groupPut(t, root, dir+"status", "Name:\tx\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n")
}

func groupRemove(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// value returns a cell of table process, -1 for null and -2 where there is no such row.
func value(b []schemas.Block, device, column string) int64 {
	row := slices.Index(b[0].Devices, device)
	if row < 0 {
		return -2
	}
	i := row*len(b[0].Table.Columns) + processColumn(column)
	if !b[0].Known[i] {
		return -1
	}
	return b[0].Values[i]
}

func expect(t *testing.T, b []schemas.Block, device, column string, want int64) {
	t.Helper()
	if got := value(b, device, column); got != want {
		t.Errorf("%s of %q: %d, want %d", column, device, got, want)
	}
}

// referenceProcesses reads what the kernel says of all processes in the plainest way, by
// column and pid.
func referenceProcesses(t *testing.T, root string) map[int]map[string]int64 {
	t.Helper()
	out := make(map[int]map[string]int64)
	number := func(s string) int64 {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	stats, err := filepath.Glob(filepath.Join(root, "proc/[0-9]*/stat"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		dir := filepath.Dir(path)
		read := func(file string) string {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		field := func(text, name string) int64 {
			m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+)`).FindStringSubmatch(text)
			if m == nil {
				return 0
			}
			return number(m[1])
		}
		stat := read("stat")
		f := append([]string{"", "", ""}, strings.Fields(stat[strings.LastIndex(stat, ")")+1:])...) // numbered as in proc(5)
		v := map[string]int64{"user_ns": 1e7 * number(f[14]), "system_ns": 1e7 * number(f[15]), "minflt": number(f[10]), "majflt": number(f[12]),
			"threads": number(f[20]), "processes": 1}
		threads, _ := filepath.Glob(filepath.Join(dir, "task/*"))
		if len(threads) == 0 {
			threads = []string{dir}
		}
		for _, thread := range threads {
			rel, _ := filepath.Rel(dir, thread)
			sched, status := strings.Fields(read(rel+"/schedstat")), read(rel+"/status")
			v["run_ns"] += number(sched[0])
			v["run_delay_ns"] += number(sched[1])
			v["cswch"] += field(status, "voluntary_ctxt_switches")
			v["nvcswch"] += field(status, "nonvoluntary_ctxt_switches")
		}
		status, io := read("status"), read("io")
		for name, column := range map[string]string{"VmRSS": "rss_bytes", "RssAnon": "anon_bytes", "RssFile": "file_bytes", "RssShmem": "shmem_bytes", "VmSwap": "swap_bytes"} {
			v[column] = 1024 * field(status, name)
		}
		for name, column := range map[string]string{"rchar": "rchar_bytes", "wchar": "wchar_bytes", "syscr": "syscr", "syscw": "syscw", "read_bytes": "read_bytes", "write_bytes": "write_bytes"} {
			v[column] = field(io, name)
		}
		out[int(number(filepath.Base(dir)))] = v
	}
	return out
}

// Of processes that begin while the source is there all that they did counts: by that
// the fixture's numbers come out as they are.
func TestProcessesExact(t *testing.T) {
	for _, keep := range []int{many, 7, 0} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			root := t.TempDir()
			groupPut(t, root, "proc/", "")
			s := openTestProcesses(t, root, keep, collector.Now, "nginx", "cmd:^nginx: worker", "pid:24987", "tree:2", "tree:24986", "each a) R (*")
			b := newBlocks(s)
			sampled(t, s, b)
			if err := os.CopyFS(root, os.DirFS(processHost)); err != nil {
				t.Fatal(err)
			}
			want := goldenOf(t, processHost+".golden")
			for range 3 {
				for _, d := range differences(sampled(t, s, b), want) {
					t.Error(d)
				}
			}
			reference := make(map[string]int64)
			each := referenceProcesses(t, root)
			for device, pids := range map[string][]int{"nginx": {24986, 24993, 24994, 24995}, "cmd:^nginx: worker": {24993, 24994, 24995}, "pid:24987": {24987},
				"tree:2": {2, 8}, "tree:24986": {24986, 24993, 24994, 24995}, "a) R (b\uFFFDc d[24987]": {24987}, "a) R (b\uFFFDc d[24992]": {24992}} {
				for _, pid := range pids {
					for column, v := range each[pid] {
						reference["process/"+device+"/"+column] += v
					}
				}
			}
			for _, d := range differences(cells(&b[0]), reference) {
				t.Error("reference:", d)
			}
			if n, example := s.Skipped(); n != 0 {
				t.Errorf("%d skipped: %s", n, example)
			}
			if n := told(s); len(n) != 0 {
				t.Errorf("%q", n)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Selector
		says string
	}{
		{"nginx", Selector{Comm: "nginx"}, ""},
		{"post*", Selector{Comm: "post*"}, ""},
		{"kworker/[!0]:?", Selector{Comm: "kworker/[!0]:?"}, ""},
		{"cmd:java .*(kafka|zoo)", Selector{Cmdline: "java .*(kafka|zoo)"}, ""},
		{"pid:17", Selector{PID: 17}, ""},
		{"tree:17", Selector{PID: 17, Tree: true}, ""},
		{"a:b", Selector{Comm: "a:b"}, ""},
		{"", Selector{}, `procfs: process "": chooses nothing: want a name or a pattern of names ("nginx", "post*"), "cmd:" and a regular expression for the command line, "pid:" or "tree:" and a number`},
		{"cmd:", Selector{}, "chooses nothing"},
		{"cmd:a(", Selector{}, `procfs: process "cmd:a(": error parsing regexp: missing closing ): ` + "`a(`: want"},
		{"[a", Selector{}, `"[a" is no shell pattern`},
		{"pid:x", Selector{}, `procfs: process "pid:x": want the number of a process, as in "pid:1"`},
		{"pid:0", Selector{}, "want the number of a process"},
		{"tree:-1", Selector{}, "want the number of a process"},
		{"pid:4294967297", Selector{}, "want the number of a process"},
	} {
		got, err := ParseSelector(tt.text)
		switch {
		case tt.says == "" && (err != nil || got != tt.want || got.String() != tt.text):
			t.Errorf("%q: %+v, %v", tt.text, got, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}

func TestProcessesRefused(t *testing.T) {
	for _, tt := range []struct {
		name, root string
		selectors  []Selector
		says       string
	}{
		{"none", processHost, nil, "procfs: process: no selector: which processes?"},
		{"nothing", processHost, []Selector{{}}, "chooses nothing"},
		{"two things", processHost, []Selector{{Comm: "a", PID: 1}}, "chooses nothing"},
		{"a tree of nothing", processHost, []Selector{{Comm: "a", Tree: true}}, "chooses nothing"},
		{"negative", processHost, []Selector{{PID: -1}}, "chooses nothing"},
		{"twice", processHost, []Selector{{Comm: "a"}, {Comm: "b"}, {Comm: "a", Each: true}}, `procfs: process "a": given twice`},
		{"no proc", "testdata/none", []Selector{{Comm: "a"}}, "no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, absent, err := Processes(tt.root, tt.selectors, collector.Now)
			if s != nil || absent != nil || err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, %v, %v", s, absent, err)
			}
		})
	}
}

// A selector that chooses nothing is no error: a process may come. Its row says that
// there is none.
func TestProcessesAbsent(t *testing.T) {
	s, absent, err := Processes(processHost, selectorsOf(t, "nginx", "none", "a-name-of-more-than-15", "each kworker/*", "each other"), collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := map[string]string{"process none": "no process matches it yet", "process other": "no process matches it yet",
		"process a-name-of-more-than-15": "no process matches it yet (the kernel cuts names to 15 bytes)"}
	if !maps.Equal(absent, want) {
		t.Errorf("%q", absent)
	}
	b := newBlocks(s)
	sampled(t, s, b)
	if want := []string{"nginx", "none", "a-name-of-more-than-15", "kworker/R-netns[8]"}; !slices.Equal(b[0].Devices, want) {
		t.Errorf("%q", b[0].Devices)
	}
	for column, want := range map[string]int64{"processes": 0, "rss_bytes": 0, "user_ns": 0, "syscr": 0, "fds": -1} {
		expect(t, b, "none", column, want)
	}
	expect(t, b, "nginx", "processes", 4)
	expect(t, b, "nginx", "user_ns", 0) // what they did before is of no interval
	expect(t, b, "nginx", "threads", 4)
}

// The sum over processes goes on when one of them ends, and has all of one that began.
func TestSumGoesOn(t *testing.T) {
	for _, keep := range []int{many, 0} {
		root := t.TempDir()
		a := fakeProcess{pid: 10, comm: "w", start: 100, user: 1000, run: 5000}
		b := fakeProcess{pid: 12, comm: "w", start: 900, user: 30, run: 70}
		a.write(t, root)
		fakeProcess{pid: 11, comm: "other", start: 100, user: 50}.write(t, root)
		s := openTestProcesses(t, root, keep, collector.Now, "w", "each w*")
		blocks := newBlocks(s)
		tick := func(user, run, processes int64, devices ...string) {
			t.Helper()
			sampled(t, s, blocks)
			expect(t, blocks, "w", "user_ns", user*1e7)
			expect(t, blocks, "w", "minflt", 2*user)
			expect(t, blocks, "w", "cswch", 3*user)
			expect(t, blocks, "w", "rchar_bytes", user)
			expect(t, blocks, "w", "run_ns", run)
			expect(t, blocks, "w", "run_delay_ns", 2*run)
			expect(t, blocks, "w", "processes", processes)
			expect(t, blocks, "w", "anon_bytes", processes*20<<10)
			if want := append([]string{"w"}, devices...); !slices.Equal(blocks[0].Devices, want) {
				t.Errorf("keeping %d: %q, want %q", keep, blocks[0].Devices, want)
			}
		}
		tick(0, 0, 1, "w[10]")
		a.user, a.run = 1007, 5300
		a.write(t, root)
		tick(7, 300, 1, "w[10]")
		a.user = 1010
		a.write(t, root)
		b.write(t, root) // began, and did 30
		tick(40, 370, 2, "w[10]", "w[12]")
		expect(t, blocks, "w[12]", "user_ns", 30e7)
		groupRemove(t, root, "proc/10")
		b.user = 31
		b.write(t, root)
		tick(41, 370, 1, "w[12]")
		groupRemove(t, root, "proc/12")
		tick(41, 370, 0)
	}
}

// A pid that is used again is another process, which its start tells: what the new one
// did is added to what the old one did, and nothing is taken back.
func TestPIDIsUsedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		gone bool // it was away for a tick
	}{{"within a tick", false}, {"later", true}} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			p := fakeProcess{pid: 10, comm: "w", start: 100, user: 1000, run: 5000}
			p.write(t, root)
			s := openTestProcesses(t, root, 0, collector.Now, "w", "each w*", "pid:10")
			b := newBlocks(s)
			sampled(t, s, b)
			p.user = 1004
			p.write(t, root)
			sampled(t, s, b)
			groupRemove(t, root, "proc/10")
			if tt.gone {
				sampled(t, s, b)
			}
			fakeProcess{pid: 10, comm: "w", start: 700, user: 9000, run: 60}.write(t, root)
			sampled(t, s, b)
			for _, device := range []string{"w", "w[10]"} {
				expect(t, b, device, "user_ns", 9004e7)
				expect(t, b, device, "run_ns", 60)
				expect(t, b, device, "processes", 1)
			}
			expect(t, b, "pid:10", "user_ns", 4e7) // it was the other one
			expect(t, b, "pid:10", "processes", 0)
		})
	}
}

// A pid may be used again by a process that isn't chosen.
func TestPIDIsUsedByAnother(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 10, comm: "w", start: 100, user: 1000}.write(t, root)
	s := openTestProcesses(t, root, 0, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	fakeProcess{pid: 10, comm: "x", start: 200, user: 5}.write(t, root)
	sampled(t, s, b)
	expect(t, b, "w", "processes", 0)
	expect(t, b, "w", "user_ns", 0)
	fakeProcess{pid: 10, comm: "w", start: 200, user: 6}.write(t, root) // it is new, and looked at again soon
	sampled(t, s, b)
	expect(t, b, "w", "processes", 1)
}

// A process may end, or become another, between the listing and its reading.
func TestProcessVanishes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event func(t *testing.T, root string)
		want  int64
		user  int64
	}{
		{"all of it", func(t *testing.T, root string) { groupRemove(t, root, "proc/10") }, 1, 0},
		{"but its stat", func(t *testing.T, root string) {
			groupRemove(t, root, "proc/10/status", "proc/10/io", "proc/10/schedstat")
		}, 2, 0},
		{"its stat", func(t *testing.T, root string) { groupRemove(t, root, "proc/10/stat") }, 1, 0},
		{"and another comes", func(t *testing.T, root string) {
			groupRemove(t, root, "proc/10")
			fakeProcess{pid: 10, comm: "w", start: 200, user: 6}.write(t, root)
		}, 2, 6e7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			fakeProcess{pid: 10, comm: "w", start: 100, user: 1000}.write(t, root)
			fakeProcess{pid: 11, comm: "w", start: 100, user: 1000}.write(t, root)
			event := func(*testing.T, string) {}
			s := openTestProcesses(t, root, 0, func() (int64, int64) { event(t, root); return 0, 0 }, "w")
			b := newBlocks(s)
			sampled(t, s, b)
			event = tt.event
			sampled(t, s, b)
			expect(t, b, "w", "processes", tt.want)
			expect(t, b, "w", "user_ns", tt.user)
		})
	}
}

// What a process is called is asked at each reading: one that runs another program
// leaves, and one that is seen before it runs its own is found later.
func TestProcessIsRenamed(t *testing.T) {
	root := t.TempDir()
	p := fakeProcess{pid: 10, comm: "sh", start: 100, user: 100, cmdline: "sh\x00-c\x00nginx\x00"}
	p.write(t, root)
	s := openTestProcesses(t, root, 0, collector.Now, "sh", "nginx", "each n*", "cmd:^nginx -g", "pid:10")
	b := newBlocks(s)
	tick := func(devices string, users ...int64) {
		t.Helper()
		sampled(t, s, b)
		if got := fmt.Sprint(b[0].Devices); got != devices {
			t.Errorf("%s, want %s", got, devices)
		}
		for i, user := range users {
			if got := value(b, b[0].Devices[i], "user_ns"); got != user*1e7 {
				t.Errorf("%s: %d, want %d", b[0].Devices[i], got, user*1e7)
			}
		}
	}
	tick("[sh nginx cmd:^nginx -g pid:10]", 0, 0, 0, 0)
	p.user = 110
	p.write(t, root)
	tick("[sh nginx cmd:^nginx -g pid:10]", 10, 0, 0, 10)
	p.comm, p.user, p.cmdline = "nginx", 125, "nginx\x00-g\x00daemon off;\x00"
	p.write(t, root)
	tick("[sh nginx cmd:^nginx -g pid:10 nginx[10]]", 10, 15, 15, 25, 15)
	p.user = 126
	p.write(t, root)
	tick("[sh nginx cmd:^nginx -g pid:10 nginx[10]]", 10, 16, 16, 26, 16)
	p.comm = "other"
	p.write(t, root)
	tick("[sh nginx cmd:^nginx -g pid:10]", 10, 16, 16, 26)
}

// A process that isn't chosen is looked at again, ever more seldom; what it did until it
// was is of no interval.
func TestProcessIsFoundLater(t *testing.T) {
	root := t.TempDir()
	p := fakeProcess{pid: 10, comm: "sh", start: 100, user: 100}
	p.write(t, root)
	s := openTestProcesses(t, root, 0, collector.Now, "w")
	b := newBlocks(s)
	for range 3 {
		sampled(t, s, b)
	}
	p.comm, p.user = "w", 700
	p.write(t, root)
	after := 0
	for value(b, "w", "processes") == 0 {
		if after++; after > 64 {
			t.Fatal("never found")
		}
		sampled(t, s, b)
	}
	expect(t, b, "w", "user_ns", 0)
	p.user = 705
	p.write(t, root)
	sampled(t, s, b)
	expect(t, b, "w", "user_ns", 5e7)
}

// A tree has its root, and what descends from it, whatever their pids; one whose parent
// ended stays.
func TestTree(t *testing.T) {
	root := t.TempDir()
	for _, p := range []fakeProcess{{pid: 50, ppid: 1, comm: "root"}, {pid: 20, ppid: 50, comm: "child"}, {pid: 10, ppid: 20, comm: "grandchild"}, {pid: 51, ppid: 1, comm: "other"}, {pid: 1, comm: "init"}} {
		p.start = 1
		p.write(t, root)
	}
	s := openTestProcesses(t, root, 0, collector.Now, "tree:50", "each tree:20", "other")
	b := newBlocks(s)
	sampled(t, s, b)
	if got, want := fmt.Sprint(b[0].Devices), "[tree:50 other grandchild[10] child[20]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	expect(t, b, "tree:50", "processes", 3)
	groupRemove(t, root, "proc/20")
	fakeProcess{pid: 10, ppid: 1, comm: "grandchild", start: 1}.write(t, root)
	fakeProcess{pid: 5, ppid: 10, comm: "late", start: 9, user: 3}.write(t, root)
	fakeProcess{pid: 4, ppid: 5, comm: "later", start: 9, user: 4}.write(t, root)
	sampled(t, s, b)
	expect(t, b, "tree:50", "processes", 4)
	expect(t, b, "tree:50", "user_ns", 7e7)
	if got, want := fmt.Sprint(b[0].Devices), "[tree:50 other later[4] late[5] grandchild[10]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// One of a tree that is gone before it is chosen is let go.
func TestTreeLosesOne(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 50, ppid: 1, comm: "root"}.write(t, root)
	fakeProcess{pid: 51, ppid: 1, comm: "other"}.write(t, root)
	s := openTestProcesses(t, root, many, collector.Now, "tree:50")
	groupRemove(t, root, "proc/51")
	s.looked = append(s.looked, kin{s.index(51), 50})
	s.climb()
	if e := s.entries[s.index(51)]; e.p != nil {
		t.Error("it was chosen")
	}
}

// Run time, run delay and context switches are the kernel's of threads: they are added
// up, and go on when a thread ends.
func TestThreads(t *testing.T) {
	for _, keep := range []int{many, 0} {
		root := t.TempDir()
		p := fakeProcess{pid: 10, comm: "w", start: 100, threads: 3, run: 1000}
		p.write(t, root)
		writeThread(t, root, 10, 10, 999999) // the first thread is read as the process
		writeThread(t, root, 10, 12, 500)
		writeThread(t, root, 10, 11, 500)
		s := openTestProcesses(t, root, keep, collector.Now, "w")
		b := newBlocks(s)
		tick := func(run, switches int64) {
			t.Helper()
			sampled(t, s, b)
			expect(t, b, "w", "run_ns", run)
			expect(t, b, "w", "cswch", switches)
		}
		tick(0, 0)
		p.run = 1100
		p.write(t, root)
		writeThread(t, root, 10, 11, 530)
		tick(130, 0)
		groupRemove(t, root, "proc/10/task/11") // with what it did since
		writeThread(t, root, 10, 9, 40)         // began
		tick(170, 1)
		p.threads = 1 // all but the first end
		p.run = 1101
		p.write(t, root)
		groupRemove(t, root, "proc/10/task/9", "proc/10/task/12")
		tick(171, 1)
		p.threads = 2
		p.write(t, root)
		writeThread(t, root, 10, 12, 3) // the id is used again
		tick(174, 2)
		writeThread(t, root, 10, 12, 1) // and again, before a listing was without it
		tick(175, 2)
		groupRemove(t, root, "proc/10/task/12/schedstat") // listed, and gone when it is read
		if keep == 0 {
			tick(175, 2)
		}
	}
}

// In a process that wasn't there before all threads began while the source was.
func TestThreadsOfANewProcess(t *testing.T) {
	root := t.TempDir()
	groupPut(t, root, "proc/", "")
	s := openTestProcesses(t, root, many, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	fakeProcess{pid: 10, comm: "w", start: 100, threads: 2, run: 1000}.write(t, root)
	writeThread(t, root, 10, 10, 0)
	writeThread(t, root, 10, 12, 500)
	sampled(t, s, b)
	expect(t, b, "w", "run_ns", 1500)
	expect(t, b, "w", "run_delay_ns", 2000)
}

// A thread of the kernel and a zombie have no memory, and say so with none; of a process
// whose first thread ended the others show it.
func TestProcessesWithoutMemory(t *testing.T) {
	root := t.TempDir()
	for _, p := range []fakeProcess{{pid: 2, comm: "kworker/u4:1-events"}, {pid: 3, comm: "zombie"}, {pid: 4, comm: "threads", threads: 2}} {
		p.write(t, root)
		dir := fmt.Sprintf("proc/%d/", p.pid)
		groupPut(t, root, dir+"status", "Name:\tx\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n")
	}
	for tid := 4; tid < 8; tid++ {
		writeThread(t, root, 4, tid, 0)
	}
	groupPut(t, root, "proc/4/task/6/status", "Name:\tx\nVmRSS:\t8 kB\nRssAnon:\t4 kB\nRssFile:\t3 kB\nRssShmem:\t1 kB\nVmSwap:\t2 kB\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n")
	groupPut(t, root, "proc/4/task/7/status", "Name:\tx\nVmRSS:\t9 kB\n") // it is the same memory, read later
	s := openTestProcesses(t, root, many, collector.Now, "kworker*", "zombie", "threads")
	b := newBlocks(s)
	sampled(t, s, b)
	for column, kib := range map[string]int64{"rss_bytes": 8, "anon_bytes": 4, "file_bytes": 3, "shmem_bytes": 1, "swap_bytes": 2} {
		expect(t, b, "kworker*", column, 0)
		expect(t, b, "zombie", column, 0)
		expect(t, b, "threads", column, kib<<10)
	}
}

// Linux before 4.5 says how much memory is resident, and not of which kind.
func TestKindsOfMemoryAreUnknown(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 10, comm: "w"}.write(t, root)
	groupPut(t, root, "proc/10/status", "Name:\tw\nVmRSS:\t8 kB\nVmSwap:\t0 kB\n")
	s := openTestProcesses(t, root, many, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	for column, want := range map[string]int64{"rss_bytes": 8 << 10, "anon_bytes": -1, "file_bytes": -1, "shmem_bytes": -1, "swap_bytes": 0, "cswch": -1} {
		expect(t, b, "w", column, want)
	}
}

// What can't be read of a process is null in its sum, and told once; the other columns
// are there.
func TestProcessFilesThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	for _, pid := range []int{10, 11} {
		fakeProcess{pid: pid, comm: "w", start: 1, user: 5}.write(t, root)
	}
	fakeProcess{pid: 12, comm: "bad", start: 1}.write(t, root)
	groupPut(t, root, "proc/12/stat", "12 (bad) S x\n")
	groupRemove(t, root, "proc/11/io")
	groupPut(t, root, "proc/11/io/", "")
	groupPut(t, root, "proc/10/status", "Name:\tw\nVmSwap:\t1 MB\nvoluntary_ctxt_switches:\t7\n")
	s := openTestProcesses(t, root, many, collector.Now, "w", "fds pid:10")
	b := newBlocks(s)
	sampled(t, s, b)
	for column, want := range map[string]int64{"rchar_bytes": -1, "syscw": -1, "nvcswch": -1, "cswch": 0, "swap_bytes": -1, "anon_bytes": -1, "rss_bytes": -1, "user_ns": 0, "processes": 2, "fds": -1} {
		expect(t, b, "w", column, want)
	}
	expect(t, b, "pid:10", "syscw", 0)
	want := []string{
		"absent nvcswch w: status does not say", "absent read_bytes w: io: is a directory", "absent write_bytes w: io: is a directory",
		"absent rchar_bytes w: io: is a directory", "absent wchar_bytes w: io: is a directory", "absent syscr w: io: is a directory", "absent syscw w: io: is a directory",
		"absent rss_bytes w: status does not say", "absent anon_bytes w: status does not say", "absent file_bytes w: status does not say", "absent shmem_bytes w: status does not say", "absent swap_bytes w: status does not say",
		"absent fds pid:10: fd does not exist",
	}
	if got := told(s); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	for range 2 * waitTicks {
		sampled(t, s, b)
	}
	if got := told(s); len(got) != 0 {
		t.Errorf("told again: %q", got)
	}
	groupRemove(t, root, "proc/11/io")
	fakeProcess{pid: 11, comm: "w", start: 1, user: 5}.write(t, root)
	for range waitTicks + 1 {
		sampled(t, s, b)
	}
	expect(t, b, "w", "syscw", 0)
	if n, example := s.Skipped(); n == 0 || example != `procfs: 12/stat: line 1: field "x": not a number` {
		t.Errorf("%d, %s", n, example)
	}
}

// A process whose stat is damaged has no values in this tick; its sum is not known, and
// goes on after it.
func TestDamagedStat(t *testing.T) {
	root := t.TempDir()
	p := fakeProcess{pid: 10, comm: "w", start: 1, user: 5}
	p.write(t, root)
	s := openTestProcesses(t, root, many, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	groupPut(t, root, "proc/10/stat", "10 (w) S 1 1\n")
	sampled(t, s, b)
	expect(t, b, "w", "user_ns", -1)
	expect(t, b, "w", "rss_bytes", -1)
	expect(t, b, "w", "processes", 1)
	p.user = 9
	p.write(t, root)
	sampled(t, s, b)
	expect(t, b, "w", "user_ns", 4e7)
}

// So it is where the stat can't be read, and the process isn't gone.
func TestUnreadableStat(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 10, comm: "w", start: 1, user: 5}.write(t, root)
	s := openTestProcesses(t, root, 0, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	groupRemove(t, root, "proc/10/stat")
	groupPut(t, root, "proc/10/stat/", "")
	sampled(t, s, b)
	expect(t, b, "w", "user_ns", -1)
	expect(t, b, "w", "processes", 1)
}

// What a process lacks that comes later is told when it comes.
func TestLacksOfAProcessThatComesLater(t *testing.T) {
	root := t.TempDir()
	groupPut(t, root, "proc/", "")
	s := openTestProcesses(t, root, many, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	if got := told(s); len(got) != 0 {
		t.Errorf("%q", got)
	}
	fakeProcess{pid: 10, comm: "w", start: 1}.write(t, root)
	groupRemove(t, root, "proc/10/io")
	sampled(t, s, b)
	if got := told(s); !slices.Contains(got, "absent syscr w: io does not exist") {
		t.Errorf("%q", got)
	}
}

// A kernel that keeps no scheduling statistics says 0 of everyone, even of the one who
// asks.
func TestSchedstatIsOff(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 10, comm: "w", start: 1}.write(t, root)
	groupPut(t, root, "proc/self/schedstat", "0 0 0\n")
	s := openTestProcesses(t, root, many, collector.Now, "w")
	b := newBlocks(s)
	sampled(t, s, b)
	expect(t, b, "w", "run_ns", -1)
	expect(t, b, "w", "run_delay_ns", -1)
	expect(t, b, "w", "cswch", 0)
	if got := told(s); !slices.Contains(got, "absent run_ns w: schedstat is switched off") {
		t.Errorf("%q", got)
	}
}

// The collector chooses itself by its pid only.
func TestCollectorIsNotChosen(t *testing.T) {
	root := t.TempDir()
	fakeProcess{pid: 10, ppid: 1, comm: "steady", start: 1, cmdline: "steady\x00--process\x00nginx\x00"}.write(t, root)
	fakeProcess{pid: 11, ppid: 10, comm: "steady", start: 1, cmdline: "other"}.write(t, root)
	fakeProcess{pid: 1, comm: "init", start: 1}.write(t, root)
	if err := os.Symlink("10", filepath.Join(root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	s := openTestProcesses(t, root, many, collector.Now, "steady", "cmd:nginx", "tree:1", "pid:10", "tree:10")
	b := newBlocks(s)
	sampled(t, s, b)
	for device, want := range map[string]int64{"steady": 1, "cmd:nginx": 0, "tree:1": 1, "pid:10": 1, "tree:10": 2} {
		expect(t, b, device, "processes", want)
	}
}

func TestOpenFilesAreCounted(t *testing.T) {
	s := openTestProcesses(t, processHost, many, collector.Now, "fds pid:24986", "nginx")
	b := newBlocks(s)
	sampled(t, s, b)
	expect(t, b, "pid:24986", "fds", 13)
	expect(t, b, "nginx", "fds", -1) // not asked for
}

// Names that are no text, or can't be printed, make devices that are.
func TestNamesOfProcesses(t *testing.T) {
	for _, tt := range [][2]string{{"nginx", "nginx[7]"}, {"a) (b", "a) (b[7]"}, {"a\nb\x00", "a\uFFFDb\uFFFD[7]"}, {"\xff\xfe", "\uFFFD\uFFFD[7]"}, {"é", "é[7]"}, {"", "[7]"}} {
		if got := deviceName(tt[0], 7); got != tt[1] {
			t.Errorf("%q: %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestPidStat(t *testing.T) {
	const rest = " S 7 1 1 0 -1 4194304 11 12 13 14 15 16 17 18 20 0 3 0 19 4096 2 18446744073709551615 1\n"
	for _, tt := range []struct {
		name, text string
		comm, says string
	}{
		{"plain", "10 (nginx)" + rest, "nginx", ""},
		{"blanks and parentheses", "10 (a) R 1 (b)" + rest, "a) R 1 (b", ""},
		{"newlines", "10 (a\n) S 1\n(b)" + rest, "a\n) S 1\n(b", ""},
		{"empty", "10 ()" + rest, "", ""},
		{"no name", "10 nginx" + rest, "", "no name in parentheses"},
		{"turned", "10 )(" + rest, "", "no name in parentheses"},
		{"cut off", "10 (nginx)" + rest[:len(rest)-1], "", "cut off"},
		{"too short", "10 (nginx) S 7 1 1 0 -1 4194304 11\n", "", "missing"},
		{"no state", "10 (nginx) 7 1 1\n", "", "missing"},
		{"two states", "10 (nginx) SS 1 1\n", "", "not a state"},
		{"not a number", "10 (nginx)" + strings.Replace(rest, " 15 ", " 1x5 ", 1), "", "not a number"},
		{"negative", "10 (nginx)" + strings.Replace(rest, " 15 ", " -15 ", 1), "", "not a number"},
		{"parent out of range", "10 (nginx)" + strings.Replace(rest, " 7 ", " 4294967296 ", 1), "", "out of range"},
		{"of text without anything", "", "", "no name in parentheses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReading()
			st, f := parsePidStat(&r, []byte(tt.text))
			if f.why != tt.says {
				t.Errorf("%q", f.why)
			}
			if f.why != "" {
				return
			}
			if string(st.comm) != tt.comm || st.ppid != 7 || st.start != 19 || st.threads != 3 {
				t.Errorf("%q %+v", st.comm, st)
			}
			got := [...]uint64{r.v[pMinflt], r.v[pMajflt], r.v[pUser], r.v[pSystem], r.v[pThreads]}
			if want := [...]uint64{11, 13, 15e7, 16e7, 3}; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestNamedLinesOfProcesses(t *testing.T) {
	anon, vol := processColumn("anon_bytes"), pCswch
	lines := []namedColumn{{"RssAnon", anon, 1024}, {"voluntary_ctxt_switches", vol, 1}}
	for _, tt := range []struct {
		name, text string
		anon, vol  string
		bad        bool
	}{
		{"both", "RssAnon:\t     112 kB\nvoluntary_ctxt_switches:\t5\n", "114688", "5", false},
		{"a longer name has it", "nonvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t5\n", "null", "5", false},
		{"a name has it", "Name:\tRssAnon:\t1 kB\\nRssAnon:\t2 kB\nRssAnon: 3 kB\n", "3072", "null", false},
		{"another unit", "RssAnon:\t1 MB\nvoluntary_ctxt_switches:\t5\n", "null", "5", true},
		{"no unit", "RssAnon:\t1\n", "null", "null", true},
		{"a unit where none belongs", "voluntary_ctxt_switches:\t5 kB\n", "null", "null", true},
		{"too much", "RssAnon:\t9007199254740992 kB\n", "null", "null", true},
		{"cut off", "RssAnon:\t1 kB\nvoluntary_ctxt_switches:\t5", "1024", "null", false},
		{"empty", "", "null", "null", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReading()
			f := parseNamedLines(&r, lines, []byte(tt.text))
			show := func(col int) string {
				if r.known[col] {
					return strconv.FormatUint(r.v[col], 10)
				}
				return "null"
			}
			if show(anon) != tt.anon || show(vol) != tt.vol || (f.why != "") != tt.bad {
				t.Errorf("%s, %s, %q", show(anon), show(vol), f.why)
			}
		})
	}
}

func TestTaskSchedstat(t *testing.T) {
	for _, tt := range []struct {
		text       string
		run, delay uint64
		bad        bool
	}{
		{"70181 62819 2\n", 70181, 62819, false},
		{"18446744073709551615 0 0\n", 1<<64 - 1, 0, false},
		{"1 2\n", 0, 0, true}, {"1 2 3 4\n", 0, 0, true}, {"1 2 3", 0, 0, true}, {"x 2 3\n", 0, 0, true}, {"1 x 3\n", 0, 0, true}, {"", 0, 0, true},
	} {
		run, delay, f := parseTaskSchedstat([]byte(tt.text))
		if (f.why != "") != tt.bad || !tt.bad && (run != tt.run || delay != tt.delay) {
			t.Errorf("%q: %d %d %q", tt.text, run, delay, f.why)
		}
	}
}

func TestNoAllocationATickOfProcesses(t *testing.T) {
	for _, keep := range []int{many, 0} {
		s := openTestProcesses(t, processHost, keep, collector.Now, "nginx", "cmd:worker|longer", "pid:24987", "fds tree:24986", "each a) R (*")
		b := newBlocks(s)
		sampled(t, s, b)
		told(s)
		if n := testing.AllocsPerRun(300, func() {
			if err := s.Sample(b); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("keeping %d: %v allocations a tick", keep, n)
		}
	}
}

// A selector may be called otherwise than by what it chooses, which differs from run to run.
func TestSelectorOfAnotherName(t *testing.T) {
	if got := (Selector{Name: "server", PID: 7, Tree: true}).String(); got != "server" {
		t.Errorf("%q", got)
	}
	if got := (Selector{PID: 7, Tree: true}).String(); got != "tree:7" {
		t.Errorf("%q", got)
	}
}
