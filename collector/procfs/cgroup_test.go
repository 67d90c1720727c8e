package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// groupHosts are hosts with containers, as kernels wrote them: v2 (Linux 6.1, a disk, a
// disk under two volumes), v1 (6.1), and v1 with v2's memory (6.12).
var groupHosts = []struct {
	name  string
	v1    map[string]string // controller to its directory
	v2    string            // directory
	disks map[string]string // that count, by name
}{
	{"cgroup2-6.1", nil, "", map[string]string{"254:0": "vda", "253:0": "dm-0", "253:1": "dm-1"}},
	{"cgroup1-6.1", map[string]string{"cpu": "cpu,cpuacct", "cpuacct": "cpu,cpuacct", "memory": "memory", "blkio": "blkio", "pids": "pids"}, "-", map[string]string{"254:0": "vda"}},
	{"cgroup-hybrid-6.12", map[string]string{"cpu": "cpu,cpuacct", "cpuacct": "cpu,cpuacct", "blkio": "blkio", "pids": "pids"}, "unified", map[string]string{"254:0": "vda"}},
}

// groupHost copies a host's files, and says what its block devices are: vdb is under
// dm-0 and dm-1. (Names with colons can't be kept among the fixtures.)
func groupHost(t testing.TB, name string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	putDisk(t, root, "254:0", "vda")
	putDisk(t, root, "254:16", "vdb", "holders/dm-0", "holders/dm-1")
	putDisk(t, root, "253:0", "dm-0")
	putDisk(t, root, "253:1", "dm-1")
	for i := range 8 {
		putDisk(t, root, fmt.Sprintf("7:%d", i), fmt.Sprintf("loop%d", i))
	}
	return root
}

// putDisk makes a block device of sysfs, with files.
func putDisk(t testing.TB, root, number, name string, files ...string) {
	t.Helper()
	for _, f := range append(files, "holders/", "queue/") {
		groupPut(t, root, "sys/block/"+name+"/"+f, "")
	}
	groupPut(t, root, "sys/dev/block/", "")
	if err := os.Symlink("../../block/"+name, filepath.Join(root, "sys/dev/block", number)); err != nil {
		t.Fatal(err)
	}
}

// put writes a file below root, or makes a directory where the name ends in a slash.
func groupPut(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	err := os.MkdirAll(filepath.Dir(filepath.Join(root, name+"x")), 0o777)
	if err == nil && !strings.HasSuffix(name, "/") {
		err = os.WriteFile(path, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openTest opens a source of groups that keeps at most so many files open.
func openTest(t testing.TB, root string, keep int, patterns ...string) *groups {
	t.Helper()
	globs, err := parseGlobs(patterns)
	if err != nil {
		t.Fatal(err)
	}
	k := newKeeper()
	k.left = keep
	g, _, err := openGroups(root, globs, collector.Now, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if k.left != keep {
			t.Errorf("%d of %d files were given back", k.left, keep)
		}
	})
	return g
}

// sampled takes a tick and returns its rows as the values of columns by device.
func sampled(t testing.TB, s collector.Source, b []schemas.Block) map[string]int64 {
	t.Helper()
	if err := s.Sample(b); err != nil {
		t.Fatal(err)
	}
	if n := b[0].Rows() * len(b[0].Table.Columns); len(b[0].Values) != n || len(b[0].Known) != n {
		t.Fatalf("%d values, %d marks for %d cells", len(b[0].Values), len(b[0].Known), n)
	}
	return cells(&b[0])
}

// told are the notes since the last call: reason, column, device, detail.
func told(s collector.Noter) (out []string) {
	for _, r := range s.Notes(nil) {
		c := func(name string) string { return r.Cells[r.Table.Column(name)].Text }
		out = append(out, fmt.Sprintf("%s %s %s: %s", c("reason"), c("column"), c("part"), c("detail")))
	}
	return out
}

const many = 1000 // files to keep open: all of them

// referenceGroups reads the groups of a host in the plainest way.
func referenceGroups(t *testing.T, root string, v1 map[string]string, v2 string, counts map[string]string) map[string]int64 {
	t.Helper()
	top := filepath.Join(root, "sys/fs/cgroup")
	out := make(map[string]int64)
	groups := map[string]bool{}
	tops := []string{}
	for _, dir := range v1 {
		tops = append(tops, dir)
	}
	if v2 != "-" {
		tops = append(tops, v2)
	}
	for _, dir := range tops {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, d fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(filepath.Join(top, dir), path); err == nil && d.IsDir() {
				groups[strings.TrimPrefix("/"+rel, "/.")] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	number := func(s string) int64 {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(v)
	}
	for group := range groups {
		device := "/" + strings.TrimPrefix(group, "/")
		set := func(column string, v int64) { out["cgroup/"+device+"/"+column] = v }
		read := func(dir, file string) (lines [][]string) {
			text, err := os.ReadFile(filepath.Join(top, dir, group, file))
			if err != nil {
				return nil
			}
			for line := range strings.Lines(string(text)) {
				lines = append(lines, strings.Fields(line))
			}
			return lines
		}
		named := func(dir, file string, mul int64, columns ...string) {
			for _, f := range read(dir, file) {
				for i := 0; i < len(columns); i += 2 {
					if f[0] == columns[i] {
						set(columns[i+1], mul*number(f[1]))
					}
				}
			}
		}
		one := func(dir, file, column string) {
			for _, f := range read(dir, file) {
				if f[0] != "max" && f[0] != "9223372036854771712" {
					set(column, number(f[0]))
				}
			}
		}
		if dir, ok := v1["cpuacct"]; ok {
			one(dir, "cpuacct.usage", "cpu_ns")
			named(dir, "cpuacct.stat", 1e7, "user", "user_ns", "system", "system_ns")
			named(dir, "cpu.stat", 1, "nr_periods", "nr_periods", "nr_throttled", "nr_throttled", "throttled_time", "throttled_ns")
		} else {
			named(v2, "cpu.stat", 1000, "usage_usec", "cpu_ns", "user_usec", "user_ns", "system_usec", "system_ns", "throttled_usec", "throttled_ns")
			named(v2, "cpu.stat", 1, "nr_periods", "nr_periods", "nr_throttled", "nr_throttled")
		}
		if dir, ok := v1["memory"]; ok {
			one(dir, "memory.usage_in_bytes", "memory_bytes")
			one(dir, "memory.max_usage_in_bytes", "memory_peak_bytes")
			one(dir, "memory.limit_in_bytes", "memory_limit_bytes")
			one(dir, "memory.kmem.usage_in_bytes", "kernel_bytes")
			named(dir, "memory.oom_control", 1, "oom_kill", "oom_kill")
			named(dir, "memory.stat", 1, "total_rss", "anon_bytes", "total_cache", "file_bytes", "total_shmem", "shmem_bytes", "total_swap", "swap_bytes",
				"total_pgfault", "pgfault", "total_pgmajfault", "pgmajfault")
		} else {
			one(v2, "memory.current", "memory_bytes")
			one(v2, "memory.peak", "memory_peak_bytes")
			one(v2, "memory.max", "memory_limit_bytes")
			one(v2, "memory.swap.current", "swap_bytes")
			named(v2, "memory.events", 1, "oom", "oom", "oom_kill", "oom_kill")
			named(v2, "memory.stat", 1, "anon", "anon_bytes", "file", "file_bytes", "shmem", "shmem_bytes", "kernel", "kernel_bytes", "slab", "slab_bytes",
				"sock", "sock_bytes", "pgfault", "pgfault", "pgmajfault", "pgmajfault")
		}
		if dir, ok := v1["blkio"]; ok {
			for file, columns := range map[string][]string{"io_service_bytes": {"read_bytes", "write_bytes", "discard_bytes"}, "io_serviced": {"reads", "writes", "discards"}} {
				for i, op := range []string{"Read", "Write", "Discard"} {
					sum := int64(0)
					for _, f := range read(dir, "blkio.throttle."+file+"_recursive") {
						if counts[f[0]] != "" && f[1] == op {
							sum += number(f[2])
						}
					}
					if sum > 0 {
						set(columns[i], sum)
					}
				}
			}
		} else if _, err := os.Stat(filepath.Join(top, v2, group, "io.stat")); err == nil {
			for i, key := range []string{"rbytes=", "rios=", "wbytes=", "wios=", "dbytes=", "dios="} {
				sum := int64(0)
				for _, f := range read(v2, "io.stat") {
					for _, field := range f[1:] {
						if v, ok := strings.CutPrefix(field, key); ok && counts[f[0]] != "" {
							sum += number(v)
						}
					}
				}
				set([]string{"read_bytes", "reads", "write_bytes", "writes", "discard_bytes", "discards"}[i], sum)
			}
		}
		if dir, ok := v1["pids"]; ok {
			one(dir, "pids.current", "pids")
		} else {
			one(v2, "pids.current", "pids")
		}
		for _, resource := range []string{"cpu", "memory", "io"} {
			for _, f := range read(v2, resource+".pressure") {
				set(resource+"_"+f[0]+"_ns", 1000*number(strings.TrimPrefix(f[4], "total=")))
			}
		}
	}
	return out
}

func TestGroupsExact(t *testing.T) {
	for _, host := range groupHosts {
		for _, keep := range []int{many, 7, 0} {
			t.Run(fmt.Sprintf("%s/%d", host.name, keep), func(t *testing.T) {
				root := groupHost(t, host.name)
				g := openTest(t, root, keep, "/", "/**")
				b := newBlocks(g)
				want := goldenOf(t, "testdata/"+host.name+".golden")
				for range 3 { // again from the open files, and from those closed
					got := sampled(t, g, b)
					for _, d := range differences(got, want) {
						t.Error(d)
					}
					for _, d := range differences(got, referenceGroups(t, root, host.v1, host.v2, host.disks)) {
						t.Error("reference:", d)
					}
				}
				if n, example := g.Skipped(); n != 0 {
					t.Errorf("%d lines skipped: %s", n, example)
				}
				if !slices.IsSorted(b[0].Devices) {
					t.Errorf("devices %q", b[0].Devices)
				}
			})
		}
	}
}

// goldenOf reads lines "table/device/column value".
func goldenOf(t *testing.T, file string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		blank := strings.LastIndexByte(line, ' ') // a device may have some
		v, err := strconv.ParseInt(line[blank+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[line[:blank]] = v
	}
	return out
}

// Each column that is null is told once, with the cause, by the first group without it.
func TestGroupsLack(t *testing.T) {
	for _, tt := range []struct {
		host, pattern string
		want          []string
	}{
		{"cgroup2-6.1", "/", []string{
			"absent memory_bytes /: memory.current does not exist",
			"absent swap_bytes /: memory.swap.current does not exist",
			"absent memory_peak_bytes /: memory.peak does not exist",
			"absent memory_limit_bytes /: memory.max does not exist",
			"absent oom /: memory.events does not exist",
			"absent oom_kill /: memory.events does not exist",
			"absent pids /: pids.current does not exist",
		}},
		{"cgroup1-6.1", "/system.slice/*.service", []string{
			"absent memory_bytes /system.slice/nginx.service: memory.usage_in_bytes: the group is not in its hierarchy",
			"absent slab_bytes /system.slice/nginx.service: no hierarchy that is mounted has it",
			"absent cpu_some_ns /system.slice/nginx.service: no hierarchy that is mounted has it",
		}},
		{"cgroup1-6.1", "/docker", []string{
			"absent memory_limit_bytes /docker: memory.limit_in_bytes says that there is no limit",
			"absent discards /docker: blkio.throttle.io_serviced_recursive says 0, which this kernel says too of I/O that it doesn't count: it does where a limit is set",
		}},
	} {
		t.Run(tt.host+tt.pattern, func(t *testing.T) {
			root := groupHost(t, tt.host)
			g := openTest(t, root, many, tt.pattern)
			b := newBlocks(g)
			sampled(t, g, b)
			got := told(g)
			for _, w := range tt.want {
				if !slices.Contains(got, w) {
					t.Errorf("not told: %s", w)
				}
			}
			nulls := 0
			for _, known := range b[0].Known[:len(b[0].Table.Columns)] {
				if !known {
					nulls++
				}
			}
			absent := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, "absent ") })
			if nulls != len(absent) {
				t.Errorf("%d columns are null, told are\n%s", nulls, strings.Join(got, "\n"))
			}
			sampled(t, g, b)
			if again := told(g); len(again) != 0 {
				t.Errorf("told again: %q", again)
			}
		})
	}
}

// Of stacked devices the topmost counts, and what is left out is told.
func TestStackedDisks(t *testing.T) {
	root := t.TempDir()
	putDisk(t, root, "8:0", "sda", "sda1/start", "sda1/holders/", "sda2/holders/dm-1", "sda2/holders/dm-0")
	putDisk(t, root, "8:16", "sdb", "holders/md0", "sdb1/holders/")
	putDisk(t, root, "8:32", "sdc", "sdc1/holders/")
	putDisk(t, root, "259:0", "nvme0n1", "nvme0n1p1/holders/")
	putDisk(t, root, "9:0", "md0", "holders/dm-2")
	putDisk(t, root, "253:2", "dm-2")
	putDisk(t, root, "7:3", "loop3")
	putDisk(t, root, "252:1", "zram1")
	putDisk(t, root, "1:0", "ram0")
	putDisk(t, root, "147:0", "rambler0")
	l := newLacks(&schemas.Cgroup)
	d := disks{sys: filepath.Join(root, "sys"), counts: make(map[string]bool), lacks: &l}
	for device, want := range map[string]bool{"8:0": false, "8:16": false, "8:32": true, "259:0": true, "9:0": false, "253:2": true,
		"7:3": false, "252:1": false, "1:0": false, "147:0": true, "8:48": true, "(unknown)": false} {
		for range 2 {
			if got := d.has([]byte(device)); got != want {
				t.Errorf("%s counts: %v", device, got)
			}
		}
	}
	var notes []string
	for _, n := range l.notes {
		notes = append(notes, n.reason+" "+n.detail)
	}
	slices.Sort(notes)
	want := []string{
		"skipped I/O of groups is counted at dm-0, dm-1, not at sda below: what went to sda past them is in no group's row",
		"skipped I/O of groups is counted at dm-2, not at md0 below: what went to md0 past them is in no group's row",
		"skipped I/O of groups is counted at md0, not at sdb below: what went to sdb past them is in no group's row",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
}

func TestGroupPatterns(t *testing.T) {
	root := t.TempDir()
	all := []string{"/", "/a", "/a/b", "/a/b/c", "/a/x.scope", "/b", "/b/b", "/b/b/x.scope", "/kube", "/kube/pod1", "/kube/pod1/c", "/kube/pod2", `/m\x2d1`, "/a/[z]", "/aé"}
	groupPut(t, root, "proc/self/mountinfo", "30 1 0:26 / /cg rw shared:1 - cgroup2 none rw\n")
	for _, group := range all {
		groupPut(t, root, "cg/"+group+"/pids.current", "1\n")
	}
	groupPut(t, root, "cg/a/b.file", "")
	for _, tt := range []struct {
		patterns string
		want     string
	}{
		{"/", "/"},
		{"/*", `/a /aé /b /kube /m\x2d1`},
		{"/**", strings.Join(all[1:], " ")},
		{"/ /**", strings.Join(all, " ")},
		{"/a", "/a"},
		{"/a/*", "/a/[z] /a/b /a/x.scope"},
		{"/a/**", "/a/[z] /a/b /a/b/c /a/x.scope"},
		{"/a/**/c", "/a/b/c"},
		{"/**/x.scope", "/a/x.scope /b/b/x.scope"},
		{"/**/b", "/a/b /b /b/b"},
		{"/**/b/**", "/a/b/c /b/b /b/b/x.scope"},
		{"/kube/pod?/*", "/kube/pod1/c"},
		{"/[ab]", "/a /b"},
		{"/[!a]", "/b"},
		{"/[^a]", "/b"},
		{`/m\\x2d1`, `/m\x2d1`},
		{`/a/\[z]`, "/a/[z]"},
		{"/a? /a/b /a/b", "/a/b /aé"},
		{"/none/**", ""},
		{"/b.file", ""},
	} {
		t.Run(tt.patterns, func(t *testing.T) {
			g := openTest(t, root, many, strings.Fields(tt.patterns)...)
			b := newBlocks(g)
			for range 2 {
				sampled(t, g, b)
				want := strings.Fields(tt.want)
				slices.Sort(want)
				if !slices.Equal(b[0].Devices, want) {
					t.Errorf("%q, want %q", b[0].Devices, want)
				}
			}
		})
	}
}

func TestGroupsRefused(t *testing.T) {
	host := groupHost(t, "cgroup2-6.1")
	bare := t.TempDir()
	groupPut(t, bare, "proc/self/mountinfo", "24 22 0:21 / / rw - ext4 /dev/vda rw\n30 1 0:26 / /nowhere rw - cgroup2 none rw\n")
	for _, tt := range []struct {
		name, root string
		patterns   []string
		says       string
	}{
		{"relative", host, []string{"/a", "system.slice"}, `procfs: cgroup pattern "system.slice": it does not begin with "/": want a path below the hierarchy's root, "/" or "/system.slice/*.service"`},
		{"empty", host, []string{""}, `it does not begin with "/"`},
		{"empty name", host, []string{"/a//b"}, `"" is no name of a group`},
		{"trailing slash", host, []string{"/a/"}, `"" is no name of a group`},
		{"dots", host, []string{"/a/../b"}, `".." is no name of a group`},
		{"stars in a name", host, []string{"/a**/b"}, `"a**": ** stands for whole names`},
		{"open bracket", host, []string{"/a[b"}, `"a[b" is no shell pattern`},
		{"no pattern", host, nil, "procfs: cgroup: no pattern: which groups?"},
		{"nothing mounted", bare, []string{"/*"}, "names no cgroup file system that can be read: is one mounted?"},
		{"no proc", filepath.Join(bare, "none"), []string{"/*"}, "no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, absent, err := Groups(tt.root, tt.patterns, collector.Now)
			if s != nil || absent != nil || err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, %v, %v", s, absent, err)
			}
		})
	}
}

// A pattern without a match is no error: a group may come.
func TestGroupsAbsent(t *testing.T) {
	root := groupHost(t, "cgroup1-6.1")
	s, absent, err := Groups(root, []string{"/later/*", "/docker"}, collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := map[string]string{"cgroup /later/*": "no group matches it yet", "cgroup pressure": "no hierarchy that is mounted counts it"}
	if fmt.Sprint(absent) != fmt.Sprint(want) {
		t.Errorf("%q", absent)
	}
	b := newBlocks(s)
	sampled(t, s, b)
	groupPut(t, root, "sys/fs/cgroup/pids/later/a/pids.current", "5\n")
	if got := sampled(t, s, b); got["cgroup//later/a/pids"] != 5 {
		t.Errorf("%v", got)
	}
}

// Where the mounts are is what mountinfo says, with its escapes, and as seen through
// root.
func TestMounts(t *testing.T) {
	text := "30 1 0:26 /docker/a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n" +
		`31 1 0:26 / /odd\040name/with\134back rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate` + "\n" +
		"32 1 0:27 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 1 0:28 / /proc rw - proc proc rw\n" +
		"cgroup nonsense\n34 1 0:2"
	var bad skips
	var got []string
	for _, m := range parseMounts([]byte(text), &bad) {
		got = append(got, fmt.Sprintf("%s %q %s", m.root, m.point, strings.Join(m.controllers, " ")))
	}
	want := []string{`/ "/odd name/with\\back" `, `/ "/cg/cpu,cpuacct" rw cpu cpuacct`, `/docker/a "/sys/fs/cgroup/memory" rw memory`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if bad.lines != 2 || !strings.Contains(bad.example, `procfs: mountinfo: line 5: field "cgroup nonsense": not a mount`) {
		t.Errorf("%d lines, %s", bad.lines, bad.example)
	}
	for _, tt := range [][3]string{{"/", "/sys/fs/cgroup", "/sys/fs/cgroup"}, {"/host", "/sys/fs/cgroup", "/host/sys/fs/cgroup"}, {"/host", "/host/sys/fs/cgroup", "/host/sys/fs/cgroup"},
		{"/host/", "/host/sys", "/host/sys"}, {"/host", "/hostile", "/host/hostile"}} {
		if got := throughRoot(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%s through %s is %s", tt[1], tt[0], got)
		}
	}
}

// small is a host of cgroup v2 with one group each of CPU time, and a way to change it.
func small(t *testing.T, usec map[string]int) (root string) {
	root = t.TempDir()
	groupPut(t, root, "proc/self/mountinfo", "30 1 0:26 / /cg rw - cgroup2 none rw\n")
	groupPut(t, root, "cg/", "")
	for group, v := range usec {
		makeGroup(t, root, group, v)
	}
	return root
}

func makeGroup(t *testing.T, root, group string, usec int) {
	t.Helper()
	groupPut(t, root, "cg/"+group+"/cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 0\n", usec, usec))
}

// remake removes a group and makes another one of its name, which has another inode.
func remake(t *testing.T, root, group string, usec int) {
	t.Helper()
	makeGroup(t, root, "new", usec)
	old, fresh := filepath.Join(root, "cg", group), filepath.Join(root, "cg/new")
	if err := errors.Join(os.RemoveAll(old), os.Rename(fresh, old)); err != nil {
		t.Fatal(err)
	}
}

func TestGroupsComeAndGo(t *testing.T) {
	for _, keep := range []int{many, 0} {
		root := small(t, map[string]int{"x/a": 1, "x/b": 2})
		g := openTest(t, root, keep, "/x/*", "/y/**")
		b := newBlocks(g)
		tick := func(want string) {
			t.Helper()
			got := sampled(t, g, b)
			var rows []string
			for _, d := range b[0].Devices {
				rows = append(rows, fmt.Sprintf("%s=%d", d, got["cgroup/"+d+"/cpu_ns"]/1000))
			}
			if s := strings.Join(rows, " "); s != want {
				t.Errorf("keeping %d: %q, want %q", keep, s, want)
			}
		}
		tick("/x/a=1 /x/b=2")
		held := b[0].Devices
		makeGroup(t, root, "x/c", 3)
		tick("/x/a=1 /x/b=2 /x/c=3")
		if err := os.RemoveAll(filepath.Join(root, "cg/x/a")); err != nil {
			t.Fatal(err)
		}
		tick("/x/b=2 /x/c=3")
		makeGroup(t, root, "y/k/l/m", 4)
		tick("/x/b=2 /x/c=3 /y/k/l/m=4")
		if err := os.RemoveAll(filepath.Join(root, "cg/x")); err != nil {
			t.Fatal(err)
		}
		tick("/y/k/l/m=4")
		makeGroup(t, root, "x/a", 5)
		tick("/x/a=5 /y/k/l/m=4")
		tick("/x/a=5 /y/k/l/m=4")
		if fmt.Sprint(held) != "[/x/a /x/b]" {
			t.Errorf("the devices of the first tick became %q", held)
		}
	}
}

// A group that was made anew under its name is told from one that went on: by a counter
// that fell, else by a tick without it; and a note says so.
func TestGroupMadeAnew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		then   int
		row    bool
		detail string
	}{
		{"its counters fell", 781274, true, "the group was removed and made again"},
		{"its counters are beyond the old", 99999999, false, "the group was removed and made again; this tick has no row of it, since no counter fell"},
		{"its counters are the old", 16405214, false, "the group was removed and made again; this tick has no row of it, since no counter fell"},
	} {
		for _, keep := range []int{many, 0} {
			t.Run(fmt.Sprint(tt.name, keep), func(t *testing.T) {
				root := small(t, map[string]int{"a": 16405214, "b": 7})
				g := openTest(t, root, keep, "/*")
				b := newBlocks(g)
				sampled(t, g, b)
				sampled(t, g, b)
				told(g)
				remake(t, root, "a", tt.then)
				got := sampled(t, g, b)
				if v, ok := got["cgroup//a/cpu_ns"]; ok != tt.row || ok && v != 1000*int64(tt.then) {
					t.Errorf("%v: %v", b[0].Devices, got)
				}
				if got["cgroup//b/cpu_ns"] != 7000 {
					t.Errorf("the other group: %v", got)
				}
				if got, want := told(g), []string{"restart  /a: " + tt.detail}; !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
				got = sampled(t, g, b)
				if v := got["cgroup//a/cpu_ns"]; v != 1000*int64(tt.then) || len(told(g)) != 0 {
					t.Errorf("a tick later: %v", got)
				}
			})
		}
	}
}

// A group that was away for a tick needs no more: ingest sees that.
func TestGroupMadeAnewLater(t *testing.T) {
	root := small(t, map[string]int{"a": 5})
	g := openTest(t, root, many, "/*")
	b := newBlocks(g)
	sampled(t, g, b)
	told(g)
	if err := os.RemoveAll(filepath.Join(root, "cg/a")); err != nil {
		t.Fatal(err)
	}
	if sampled(t, g, b); len(b[0].Devices) != 0 {
		t.Errorf("%q", b[0].Devices)
	}
	makeGroup(t, root, "a", 9)
	if got := sampled(t, g, b); got["cgroup//a/cpu_ns"] != 9000 {
		t.Errorf("%v", got)
	}
	if n := told(g); len(n) != 0 {
		t.Errorf("%q", n)
	}
}

// A controller that is switched on later brings its files.
func TestFilesThatComeLater(t *testing.T) {
	root := small(t, map[string]int{"a": 5})
	g := openTest(t, root, many, "/*")
	b := newBlocks(g)
	sampled(t, g, b)
	groupPut(t, root, "cg/a/pids.current", "3\n")
	for range waitTicks {
		sampled(t, g, b)
	}
	if got := sampled(t, g, b); got["cgroup//a/pids"] != 3 {
		t.Errorf("%v", got)
	}
}

// What can't be read or parsed costs its own columns.
func TestBadFilesOfGroups(t *testing.T) {
	root := small(t, map[string]int{"a": 5, "b": 6})
	groupPut(t, root, "cg/a/memory.current", "12x\n")
	groupPut(t, root, "cg/a/pids.current", "7\n")
	groupPut(t, root, "cg/a/memory.peak/", "")
	g := openTest(t, root, many, "/*")
	b := newBlocks(g)
	got := sampled(t, g, b)
	want := map[string]int64{"cgroup//a/cpu_ns": 5000, "cgroup//a/user_ns": 5000, "cgroup//a/system_ns": 0, "cgroup//a/pids": 7,
		"cgroup//b/cpu_ns": 6000, "cgroup//b/user_ns": 6000, "cgroup//b/system_ns": 0}
	for _, d := range differences(got, want) {
		t.Error(d)
	}
	if n, example := g.Skipped(); n != 1 || example != `procfs: memory.current: line 1: field "12x": not a number of group /a` {
		t.Errorf("%d, %s", n, example)
	}
	if n := told(g); !slices.Contains(n, "absent memory_peak_bytes /a: memory.peak: is a directory") {
		t.Errorf("%q", n)
	}
}

// A group's name may be any bytes; a device is text.
func TestGroupNamesThatAreNoText(t *testing.T) {
	root := small(t, map[string]int{"a\xff": 1, "a\xfe": 2, "é": 3})
	g := openTest(t, root, many, "/*")
	b := newBlocks(g)
	sampled(t, g, b)
	if want := []string{`/a\xfe`, `/a\xff`, "/é"}; !slices.Equal(b[0].Devices, want) {
		t.Errorf("%q", b[0].Devices)
	}
}

func TestLacksSaysWhy(t *testing.T) {
	l := newLacks(&schemas.Cgroup)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{unix.ENOENT, "f does not exist"},
		{unix.EOPNOTSUPP, "f is there, but the kernel does not support it (switched off)"},
		{unix.EACCES, "f can't be read: permission denied: run the collector as root, with CAP_SYS_PTRACE"},
		{unix.EIO, "f: input/output error"},
	} {
		if l.because([]int{2}, "f", tt.err); l.cause[2] != tt.want {
			t.Errorf("%s, want %s", l.cause[2], tt.want)
		}
	}
	l.told[2] = true
	if l.because([]int{2}, "f", unix.ENOENT); l.cause[2] != "f: input/output error" {
		t.Error("said again")
	}
}

// parsed parses one text into an empty row of table cgroup, and returns its known
// values by column.
func parsed(parse func(b *schemas.Block, bad *skips)) (values map[string]int64, bad skips) {
	b := schemas.Block{Table: &schemas.Cgroup, Devices: []string{"g"}}
	b.Resize(1)
	parse(&b, &bad)
	values = make(map[string]int64)
	for key, v := range cells(&b) {
		values[key[strings.LastIndexByte(key, '/')+1:]] = v
	}
	return values, bad
}

// countAll counts every device.
func countAll() *disks {
	l := newLacks(&schemas.Cgroup)
	return &disks{sys: "/nonexistent", counts: map[string]bool{"7:0": false, "(unknown)": false}, lacks: &l}
}

func TestIOStat(t *testing.T) {
	all := func(v ...int64) map[string]int64 {
		out := make(map[string]int64)
		for i, name := range []string{"read_bytes", "write_bytes", "reads", "writes", "discard_bytes", "discards"} {
			if v[i] >= 0 {
				out[name] = v[i]
			}
		}
		return out
	}
	for _, tt := range []struct {
		name, text string
		want       map[string]int64
		bad        int64
	}{
		{"no I/O", "", all(0, 0, 0, 0, 0, 0), 0},
		{"two disks", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=50 dios=60\n", all(11, 22, 33, 44, 55, 66), 0},
		{"more fields, another order", "8:0 wbytes=2 cost.usage=9 rbytes=1 wios=4 rios=3 dios=6 dbytes=5 use_delay=0\n", all(1, 2, 3, 4, 5, 6), 0},
		{"no discards before 4.20", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n", all(1, 2, 3, 4, -1, -1), 0},
		{"devices with nothing to say", "7:7 7:6 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n253:1 \n", all(1, 2, 3, 4, 5, 6), 0},
		{"such a device last", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n252:0 ", all(1, 2, 3, 4, 5, 6), 0},
		{"one that is not counted", "7:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", all(0, 0, 0, 0, 0, 0), 0},
		{"one without a number", "(unknown) rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", all(1, 2, 3, 4, 5, 6), 0},
		{"a field that is no number", "8:0 rbytes=x wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", all(-1, 2, 3, 4, 5, 6), 1},
		{"a field twice, and again", "8:0 rbytes=1 rbytes=1 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", all(-1, 2, 3, 4, 5, 6), 1},
		{"no device", "sda rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", all(-1, -1, -1, -1, -1, -1), 1},
		{"cut off", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16 rby", all(-1, -1, -1, -1, -1, -1), 1},
		{"all bits", "8:0 rbytes=18446744073709551615 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n", map[string]int64{"read_bytes": -1, "write_bytes": 2, "reads": 3, "writes": 4, "discard_bytes": 5, "discards": 6}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad := parsed(func(b *schemas.Block, bad *skips) { parseIOStat(b, 0, countAll(), "io.stat", []byte(tt.text), bad) })
			for _, d := range differences(got, tt.want) {
				t.Error(d)
			}
			if bad.lines != tt.bad {
				t.Errorf("%d bad: %s", bad.lines, bad.example)
			}
		})
	}
}

func TestBlkio(t *testing.T) {
	const old = "8:0 Read 5\n8:0 Write 0\n8:0 Sync 3\n8:0 Async 2\n8:0 Total 5\n8:16 Read 1\n8:16 Write 0\n8:16 Total 1\nTotal 6\n"
	for _, tt := range []struct {
		name, text string
		all        bool
		want       map[string]int64
		bad        int64
	}{
		{"two disks, no discards before 4.19", old, true, map[string]int64{"read_bytes": 6, "write_bytes": 0}, 0},
		{"a 0 that may be I/O not counted", old, false, map[string]int64{"read_bytes": 6}, 0},
		{"with discards", "8:0 Read 5\n8:0 Write 6\n8:0 Discard 7\nTotal 18\n", false, map[string]int64{"read_bytes": 5, "write_bytes": 6, "discard_bytes": 7}, 0},
		{"no disk", "Total 0\n", true, map[string]int64{"read_bytes": 0, "write_bytes": 0}, 0},
		{"no disk, not counted", "Total 0\n", false, nil, 0},
		{"one that is not counted", "7:0 Read 5\n7:0 Write 6\n7:0 Discard 1\nTotal 12\n", true, map[string]int64{"read_bytes": 0, "write_bytes": 0, "discard_bytes": 0}, 0},
		{"one without a number", "(unknown) Read 5\n8:0 Read 6\n8:0 Write 1\nTotal 12\n", false, map[string]int64{"read_bytes": 6, "write_bytes": 1}, 0},
		{"not a number", "8:0 Read 5\n8:0 Write x\nTotal 5\n", true, nil, 1},
		{"cut off", "8:0 Read 5\n8:0 Wri", true, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cols := groupColumns("read_bytes", "write_bytes", "discard_bytes")
			got, bad := parsed(func(b *schemas.Block, bad *skips) {
				parseBlkio(b, 0, cols, countAll(), tt.all, "blkio", []byte(tt.text), bad)
			})
			for _, d := range differences(got, tt.want) {
				t.Error(d)
			}
			if bad.lines != tt.bad {
				t.Errorf("%d bad: %s", bad.lines, bad.example)
			}
		})
	}
	for release, want := range map[string]bool{"3.10.0-1160.el7.x86_64\n": true, "4.18.0": true, "5.15.9": true, "5.16.0-rc1": false, "6.1.0-57-cloud-amd64": false,
		"6.4": false, "6.5.1": true, "6.9": true, "6.10.0": false, "6.18.44": false, "7.0": false, "": false, "x": false} {
		if got := countsAll(release); got != want {
			t.Errorf("%q counts all: %v", release, got)
		}
	}
}

func TestGroupNumbers(t *testing.T) {
	limit, peak, usage := groupColumn("memory_limit_bytes"), groupColumn("memory_peak_bytes"), groupColumn("cpu_ns")
	for _, tt := range []struct {
		name, text string
		col        int
		want       string // of the column, or "null"
		limited    bool
		bad        int64
	}{
		{"number", "4096\n", peak, "4096", true, 0},
		{"no limit of v2", "max\n", limit, "null", false, 0},
		{"no limit of v1", "9223372036854771712\n", limit, "null", false, 0},
		{"no limit with pages of 64 KiB", "9223372036854710272\n", limit, "null", false, 0},
		{"no limit of old kernels", "18446744073709551615\n", limit, "null", false, 0},
		{"limit", "67108864\n", limit, "67108864", true, 0},
		{"a counter of 64 bits", "18446744073709551615\n", usage, "-1", true, 0},
		{"empty", "", peak, "null", true, 1},
		{"cut off", "40", peak, "null", true, 1},
		{"two lines", "4096\n4096\n", peak, "null", true, 1},
		{"two numbers", "4096 1\n", peak, "null", true, 1},
		{"beyond 64 bits", "18446744073709551616\n", usage, "null", true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limited := false
			got, bad := parsed(func(b *schemas.Block, bad *skips) { limited = parseOne(b, 0, tt.col, "f", []byte(tt.text), bad) })
			value := "null"
			if v, ok := got[schemas.Cgroup.Columns[tt.col].Name]; ok {
				value = strconv.FormatInt(v, 10)
			}
			if value != tt.want || limited != tt.limited || bad.lines != tt.bad {
				t.Errorf("%s, limited %v, bad %d %s", value, limited, bad.lines, bad.example)
			}
		})
	}
}

func TestGroupPressure(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]int64
		bad        int64
	}{
		{"both", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n", map[string]int64{"io_some_ns": 7000, "io_full_ns": 3000}, 0},
		{"no full before 5.13", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", map[string]int64{"io_some_ns": 7000}, 0},
		{"no total", "some avg10=0.00\nfull total=x\n", nil, 2},
		{"neither", "most total=1\n", nil, 1},
		{"cut off", "some total=7\nfull total=3", map[string]int64{"io_some_ns": 7000}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad := parsed(func(b *schemas.Block, bad *skips) {
				parseTotals(b, 0, groupColumn("io_some_ns"), groupColumn("io_full_ns"), "io.pressure", []byte(tt.text), bad)
			})
			for _, d := range differences(got, tt.want) {
				t.Error(d)
			}
			if bad.lines != tt.bad {
				t.Errorf("%d bad: %s", bad.lines, bad.example)
			}
		})
	}
}

func TestNoAllocationATickOfGroups(t *testing.T) {
	for _, host := range groupHosts {
		for _, keep := range []int{many, 0} {
			g := openTest(t, groupHost(t, host.name), keep, "/", "/**")
			b := newBlocks(g)
			sampled(t, g, b)
			told(g)
			n := testing.AllocsPerRun(100, func() {
				if err := g.Sample(b); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%s, keeping %d: %v allocations a tick", host.name, keep, n)
			}
		}
	}
}

// Text longer than the buffer is read again.
func TestKeeperGrows(t *testing.T) {
	root := t.TempDir()
	text := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	groupPut(t, root, "a/long", string(text))
	dir, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	for _, keep := range []int{1, 0} {
		k := newKeeper()
		k.left = keep
		var f kept
		for range 2 {
			if got, err := k.read(dir, &f, "a", "long"); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
		if (f.fd != 0) != (keep == 1) || k.left != 0 {
			t.Errorf("kept %v, %d left of %d", f.fd != 0, k.left, keep)
		}
		if k.close(&f); k.left != keep {
			t.Errorf("%d left of %d", k.left, keep)
		}
		if _, err := k.read(dir, &f, "a", "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}
