package procfs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// Groups opens source "cgroup" of the host whose /proc and /sys are below root: the
// control groups whose path below their hierarchy's root matches one of the patterns,
// as they come and go. In a pattern *, ? and [a-z] match within a name; ** is any
// number of names, at the end one or more: "/kubepods.slice/**" is all below that
// group. "/" is the root group.
//
// The hierarchies are the mounts of cgroup and cgroup2 in /proc/self/mountinfo; where
// both are mounted, v1 says what its controllers count and v2 the rest, such as
// pressure. Of a hierarchy only a part may be mounted (in a container): paths begin
// there.
//
// A pattern that matches nothing yet is named in absent, with the cause in words, and so
// is a controller that no hierarchy has. An error says that a pattern is none, or that
// no cgroup file system is mounted. The caller closes the source. It is a
// [collector.Noter]: a group made anew under its old path is noted with the reason
// "restart", and the first time that a column is null with "absent".
func Groups(root string, patterns []string, clock collector.Clock) (s collector.Source, absent map[string]string, err error) {
	globs, err := parseGlobs(patterns)
	if err != nil {
		return nil, nil, err
	}
	g, absent, err := openGroups(root, globs, clock, newKeeper())
	if err != nil {
		return nil, nil, err
	}
	for p, pattern := range patterns {
		if !slices.ContainsFunc(g.hierarchies, func(h *hierarchy) bool { return h.tree.found[p] }) {
			absent["cgroup "+pattern] = "no group matches it yet"
		}
	}
	return g, absent, nil
}

// hierarchy is an open cgroup file system.
type hierarchy struct {
	root  int // descriptor
	tree  *groupTree
	files []groupFile
}

// groupFile is a file that is read of each group.
type groupFile struct {
	name    string
	columns []int // that it gives
	parse   groupParser
}

type groupParser func(g *groups, b *schemas.Block, row int, name string, text []byte)

// group is a control group.
type group struct {
	path   string // "/", "/a/b"
	below  string // the same below a root: "", "a/b"
	parts  []part // by hierarchy
	last   []int64
	known  []bool // of last
	looked bool   // for columns that are null
}

// part is a group's directory in a hierarchy.
type part struct {
	listed uint64 // its inode, as listed; 0: it isn't there
	ino    uint64 // of the one that is read; 0: the one that will be listed next
	files  []waiting
	read   bool // in the last tick
	again  bool // the scan found another directory than was read in the last tick
}

var errElsewhere = errors.New("the group is not in its hierarchy")

// groups is the source.
type groups struct {
	clock       collector.Clock
	keeper      *keeper
	hierarchies []*hierarchy
	byPath      map[string]*group
	groups      []*group // by path
	devices     []string // of a tick
	disks       disks
	countsAll   bool // v1's blkio does
	lacks       lacks
	bad         skips
	wallNS      int64 // of the last tick
	bootNS      int64
}

var (
	_ collector.Source  = (*groups)(nil)
	_ collector.Skipper = (*groups)(nil)
	_ collector.Noter   = (*groups)(nil)
)

// openGroups opens the hierarchies and finds the groups that are there.
func openGroups(root string, globs globs, clock collector.Clock, k *keeper) (*groups, map[string]string, error) {
	if len(globs) == 0 {
		return nil, nil, errors.New("procfs: cgroup: no pattern: which groups?")
	}
	info := filepath.Join(root, "proc/self/mountinfo")
	text, err := os.ReadFile(info)
	if err != nil {
		return nil, nil, fmt.Errorf("procfs: cgroup: %w", err)
	}
	g := &groups{clock: clock, keeper: k, lacks: newLacks(&schemas.Cgroup)}
	g.disks = disks{sys: filepath.Join(root, "sys"), counts: make(map[string]bool), lacks: &g.lacks}
	release, _ := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease"))
	g.countsAll = countsAll(string(release))
	claimed := make(map[string]bool)
	mounts := parseMounts(text, &g.bad)
	for _, v2 := range []bool{false, true} {
		for _, m := range mounts {
			if v2 == (m.controllers == nil) {
				g.mount(throughRoot(root, m.point), m.controllers, globs, claimed)
			}
		}
	}
	if len(g.hierarchies) == 0 {
		return nil, nil, fmt.Errorf("procfs: cgroup: %s names no cgroup file system that can be read: is one mounted?", info)
	}
	for col := range g.lacks.cause {
		g.lacks.cause[col] = "no hierarchy that is mounted has it"
	}
	for _, h := range g.hierarchies {
		for _, f := range h.files {
			for _, col := range f.columns {
				g.lacks.cause[col] = f.name + " does not say"
			}
		}
	}
	absent := make(map[string]string)
	for _, c := range []string{"cpuacct", "memory", "blkio", "pids", "pressure"} {
		if !claimed[c] {
			absent["cgroup "+c] = "no hierarchy that is mounted counts it"
		}
	}
	g.scan()
	return g, absent, nil
}

// mount opens the hierarchy at path, if it counts what none before does; claimed is
// what they count, by the names of v1's controllers.
func (g *groups) mount(path string, controllers []string, globs globs, claimed map[string]bool) {
	root, err := openRoot(path)
	if err != nil {
		return // another mount of the hierarchy may do
	}
	files := filesV1()
	if controllers == nil {
		files, controllers = filesV2(), v2Controllers(root)
	}
	h := &hierarchy{root: root, tree: newTree(globs, root, g.keeper)}
	var claims []string
	for _, c := range controllers {
		if !claimed[c] && files[c] != nil {
			claims = append(claims, c)
			h.files = append(h.files, files[c]...)
		}
	}
	if len(claims) == 0 {
		unix.Close(root) // nothing was written
		return
	}
	for _, c := range claims {
		claimed[c] = true
	}
	for i := range h.files {
		// Where blkio can count what is below a group too, it has a second file for it.
		if all := h.files[i].name + "_recursive"; unix.Faccessat(root, all, unix.F_OK, 0) == nil {
			h.files[i].name = all
		}
	}
	g.hierarchies = append(g.hierarchies, h)
}

// v2Controllers returns what a mount of cgroup v2 counts, by the names of v1. CPU time
// and pressure it always does.
func v2Controllers(root int) []string {
	out := []string{"cpuacct", "pressure"}
	var f kept
	text, err := (&keeper{buf: make([]byte, 4096)}).read(root, &f, "", "cgroup.controllers")
	has := strings.Fields(string(text))
	for _, c := range [][2]string{{"memory", "memory"}, {"io", "blkio"}, {"pids", "pids"}} {
		if err != nil || slices.Contains(has, c[0]) {
			out = append(out, c[1])
		}
	}
	return out
}

func (g *groups) Name() string             { return "cgroup" }
func (g *groups) Tables() []*schemas.Table { return []*schemas.Table{&schemas.Cgroup} }

// Sample finds the groups before it takes the stamp, and reads them after it.
func (g *groups) Sample(blocks []schemas.Block) error {
	g.scan()
	b := &blocks[0]
	b.WallNS, b.BootNS = g.clock()
	g.wallNS, g.bootNS = b.WallNS, b.BootNS
	b.Resize(len(g.groups))
	g.devices = g.devices[:0]
	for _, x := range g.groups {
		if g.group(b, len(g.devices), x) {
			g.devices = append(g.devices, x.path)
		}
	}
	setDevices(b, g.devices)
	return nil
}

// scan finds the groups that match.
func (g *groups) scan() {
	changed := g.byPath == nil
	for _, h := range g.hierarchies {
		changed = h.tree.scan() || changed
	}
	if !changed {
		return
	}
	old := g.byPath
	for _, x := range old {
		for j := range x.parts {
			x.parts[j].listed = 0
		}
	}
	g.byPath = make(map[string]*group)
	for j, h := range g.hierarchies {
		h.tree.matches(func(path string, ino uint64) {
			x := g.byPath[path]
			if x == nil {
				if x = old[path]; x == nil {
					x = g.newGroup(path)
				}
				g.byPath[path] = x
			}
			x.parts[j].listed = ino
		})
	}
	for _, x := range old {
		for j := range x.parts {
			p := &x.parts[j]
			if p.listed == 0 || p.ino != 0 && p.ino != p.listed {
				p.again = p.read && p.listed != 0
				g.shut(p)
			}
		}
	}
	g.groups = slices.SortedFunc(maps.Values(g.byPath), func(a, b *group) int { return cmp.Compare(a.path, b.path) })
	for _, x := range g.groups {
		for j := range x.parts {
			x.parts[j].ino = x.parts[j].listed
		}
	}
}

func (g *groups) newGroup(below string) *group {
	n := len(schemas.Cgroup.Columns)
	path := "/" + below
	if !utf8.ValidString(path) {
		path = strings.Trim(strconv.Quote(path), `"`)
	}
	x := &group{path: path, below: below, parts: make([]part, len(g.hierarchies)), last: make([]int64, n), known: make([]bool, n)}
	for j := range x.parts {
		x.parts[j].files = make([]waiting, len(g.hierarchies[j].files))
	}
	return x
}

// shut closes a directory's files and forgets what is known of them.
func (g *groups) shut(p *part) {
	for i := range p.files {
		g.keeper.close(&p.files[i].kept)
		p.files[i] = waiting{}
	}
	p.ino = 0
}

// group fills a row, and reports whether there is one. Of a group that was made anew it
// makes sure that ingest sees it: by a counter that fell, else by a tick without it.
func (g *groups) group(b *schemas.Block, row int, x *group) bool {
	read, again := false, false
	for j := range x.parts {
		r, a := g.part(b, row, x, j)
		read, again = read || r, again || a
	}
	if !read {
		return false
	}
	n := len(b.Table.Columns)
	values, known := b.Values[row*n:(row+1)*n], b.Known[row*n:(row+1)*n]
	seen := !again || fell(b, row, x.last, x.known)
	copy(x.last, values)
	copy(x.known, known)
	if again {
		detail := "the group was removed and made again"
		if !seen {
			detail += "; this tick has no row of it, since no counter fell"
		}
		g.lacks.note("restart", "", x.path, detail)
	}
	if !seen {
		forget(b, row, 0, n)
		return false
	}
	if !x.looked {
		x.looked = true
		for j, h := range g.hierarchies {
			for _, f := range h.files {
				if x.parts[j].listed == 0 {
					g.lacks.because(f.columns, f.name, errElsewhere)
				}
			}
		}
		g.lacks.look(b, row, x.path)
	}
	return true
}

// part reads a group's files in a hierarchy. It reports whether it could read any, and
// whether the directory is another one than was read in the last tick.
func (g *groups) part(b *schemas.Block, row int, x *group, j int) (read, again bool) {
	p, h := &x.parts[j], g.hierarchies[j]
	was := p.read
	p.read, again, p.again = false, p.again, false
	if p.listed == 0 {
		return false, false
	}
	for range 2 {
		dead := false
		for i := range h.files {
			f, is := &p.files[i], &h.files[i]
			if f.wait > 0 {
				f.wait--
				continue
			}
			ino := f.ino
			text, err := g.keeper.read(h.root, &f.kept, x.below, is.name)
			if err == unix.ENODEV {
				dead = true // what is open is of a group that was removed
				break
			}
			if err != nil {
				f.wait = waitTicks
				g.lacks.because(is.columns, is.name, err)
				continue
			}
			again = again || ino != 0 && f.ino != ino
			p.read = true
			first := g.bad.lines == 0
			is.parse(g, b, row, is.name, text)
			if first && g.bad.lines > 0 {
				g.bad.example += " of group " + x.path
			}
		}
		if !dead {
			break
		}
		for _, is := range h.files {
			for _, col := range is.columns {
				forget(b, row, col, col+1)
			}
		}
		g.shut(p)
		p.read, again = false, true // if there is one to be read
	}
	if !p.read && was {
		g.shut(p)
		h.tree.dead = true
	}
	return p.read, p.read && again
}

func (g *groups) Skipped() (lines int64, example string) { return g.bad.lines, g.bad.example }

func (g *groups) Notes(dst []schemas.Row) []schemas.Row { return g.lacks.take(dst, g.wallNS, g.bootNS) }

func (g *groups) Close() error {
	var errs []error
	for j, h := range g.hierarchies {
		for _, x := range g.groups {
			g.shut(&x.parts[j])
		}
		h.tree.close(h.tree.top)
		errs = append(errs, unix.Close(h.root))
	}
	return errors.Join(errs...)
}

// groupColumn returns a column of table cgroup.
func groupColumn(name string) int {
	col := schemas.Cgroup.Column(name)
	if col < 0 {
		panic("procfs: table cgroup has no column " + name)
	}
	return col
}

func groupColumns(names ...string) (out []int) {
	for _, n := range names {
		out = append(out, groupColumn(n))
	}
	return out
}

// flatField is a line "name value" of a file: its column, and what brings its value to
// the column's unit.
type flatField struct {
	name, column string
	mul          uint64
}

// flat is a file of such lines.
func flat(file string, fields ...flatField) groupFile {
	n := &names{columns: make(map[string]column)}
	mul := make([]uint64, len(schemas.Cgroup.Columns))
	f := groupFile{name: file}
	for _, x := range fields {
		col := groupColumn(x.column)
		n.columns[x.name], mul[col] = column{col: col}, x.mul
		f.columns = append(f.columns, col)
	}
	f.parse = func(g *groups, b *schemas.Block, row int, name string, text []byte) {
		parseFlat(b, row, n, mul, name, text, &g.bad)
	}
	return f
}

// one is a file of one number.
func one(file, column string) groupFile {
	col := groupColumn(column)
	return groupFile{file, []int{col}, func(g *groups, b *schemas.Block, row int, name string, text []byte) {
		if !parseOne(b, row, col, name, text, &g.bad) && !g.lacks.told[col] {
			g.lacks.cause[col] = name + " says that there is no limit"
		}
	}}
}

// totals is a file of pressure.
func totals(file, some, full string) groupFile {
	cols := groupColumns(some, full)
	return groupFile{file, cols, func(g *groups, b *schemas.Block, row int, name string, text []byte) {
		parseTotals(b, row, cols[0], cols[1], name, text, &g.bad)
	}}
}

// blkio is a file of numbers by device and operation.
func blkio(file string, columns ...string) groupFile {
	cols := groupColumns(columns...)
	return groupFile{file, cols, func(g *groups, b *schemas.Block, row int, name string, text []byte) {
		parseBlkio(b, row, cols, &g.disks, g.countsAll, name, text, &g.bad)
		if !g.countsAll && !g.lacks.told[cols[0]] {
			for _, col := range cols {
				g.lacks.cause[col] = name + " says 0, which this kernel says too of I/O that it doesn't count: it does where a limit is set"
			}
		}
	}}
}

// userHZ is the number of clock ticks a second in files of the kernel.
const userHZ = 100

// filesV1 are the files of cgroup v1, by controller. Of the two that split CPU time
// into user and system, cpuacct.stat is read: cpuacct.usage_user and _sys are finer, but
// do not add up to cpuacct.usage, and were wrong before Linux 5.17.
func filesV1() map[string][]groupFile {
	const tick = 1e9 / userHZ
	return map[string][]groupFile{
		"cpuacct": {
			one("cpuacct.usage", "cpu_ns"),
			flat("cpuacct.stat", flatField{"user", "user_ns", tick}, flatField{"system", "system_ns", tick}),
		},
		"cpu": {
			flat("cpu.stat", flatField{"nr_periods", "nr_periods", 1}, flatField{"nr_throttled", "nr_throttled", 1}, flatField{"throttled_time", "throttled_ns", 1}),
		},
		"memory": {
			one("memory.usage_in_bytes", "memory_bytes"),
			flat("memory.stat", flatField{"total_rss", "anon_bytes", 1}, flatField{"total_cache", "file_bytes", 1}, flatField{"total_shmem", "shmem_bytes", 1},
				flatField{"total_swap", "swap_bytes", 1}, flatField{"total_pgfault", "pgfault", 1}, flatField{"total_pgmajfault", "pgmajfault", 1}),
			one("memory.kmem.usage_in_bytes", "kernel_bytes"),
			one("memory.max_usage_in_bytes", "memory_peak_bytes"),
			one("memory.limit_in_bytes", "memory_limit_bytes"),
			flat("memory.oom_control", flatField{"oom_kill", "oom_kill", 1}),
		},
		"blkio": {
			blkio("blkio.throttle.io_service_bytes", "read_bytes", "write_bytes", "discard_bytes"),
			blkio("blkio.throttle.io_serviced", "reads", "writes", "discards"),
		},
		"pids": {one("pids.current", "pids")},
	}
}

// filesV2 are the files of cgroup v2, by what counts the same in v1.
func filesV2() map[string][]groupFile {
	const usec = 1000
	return map[string][]groupFile{
		"cpuacct": {
			flat("cpu.stat", flatField{"usage_usec", "cpu_ns", usec}, flatField{"user_usec", "user_ns", usec}, flatField{"system_usec", "system_ns", usec},
				flatField{"nr_periods", "nr_periods", 1}, flatField{"nr_throttled", "nr_throttled", 1}, flatField{"throttled_usec", "throttled_ns", usec}),
		},
		"memory": {
			one("memory.current", "memory_bytes"),
			flat("memory.stat", flatField{"anon", "anon_bytes", 1}, flatField{"file", "file_bytes", 1}, flatField{"shmem", "shmem_bytes", 1},
				flatField{"kernel", "kernel_bytes", 1}, flatField{"slab", "slab_bytes", 1}, flatField{"sock", "sock_bytes", 1},
				flatField{"pgfault", "pgfault", 1}, flatField{"pgmajfault", "pgmajfault", 1}),
			one("memory.swap.current", "swap_bytes"),
			one("memory.peak", "memory_peak_bytes"),
			one("memory.max", "memory_limit_bytes"),
			flat("memory.events", flatField{"oom", "oom", 1}, flatField{"oom_kill", "oom_kill", 1}),
		},
		"blkio": {{"io.stat", groupColumns("read_bytes", "reads", "write_bytes", "writes", "discard_bytes", "discards"),
			func(g *groups, b *schemas.Block, row int, name string, text []byte) {
				parseIOStat(b, row, &g.disks, name, text, &g.bad)
			}}},
		"pids": {one("pids.current", "pids")},
		"pressure": {
			totals("cpu.pressure", "cpu_some_ns", "cpu_full_ns"),
			totals("memory.pressure", "memory_some_ns", "memory_full_ns"),
			totals("io.pressure", "io_some_ns", "io_full_ns"),
		},
	}
}
