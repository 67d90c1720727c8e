package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// globs are patterns of paths, cut into names.
type globs [][]string

// parseGlobs reads patterns of group paths.
func parseGlobs(patterns []string) (globs, error) {
	var out globs
	for _, p := range patterns {
		names, err := parseGlob(p)
		if err != nil {
			return nil, fmt.Errorf(`procfs: cgroup pattern %q: %w: want a path below the hierarchy's root, "/" or "/system.slice/*.service": *, ? and [a-z] match within a name, ** any number of names, \ takes the next character as it is`, p, err)
		}
		out = append(out, names)
	}
	return out, nil
}

func parseGlob(pattern string) ([]string, error) {
	rest, ok := strings.CutPrefix(pattern, "/")
	if !ok {
		return nil, errors.New(`it does not begin with "/"`)
	}
	if rest == "" {
		return nil, nil
	}
	names := strings.Split(rest, "/")
	for i, name := range names {
		switch {
		case name == "" || name == "." || name == "..":
			return nil, fmt.Errorf("%q is no name of a group", name)
		case name != "**" && strings.Contains(name, "**"):
			return nil, fmt.Errorf("%q: ** stands for whole names", name)
		}
		var err error
		if names[i], err = shellGlob(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// shellGlob brings a shell's pattern to the form of path.Match, which knows [^a] but
// not [!a].
func shellGlob(pattern string) (string, error) {
	b := []byte(pattern)
	for i := 0; i+1 < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '[' && b[i+1] == '!':
			b[i+1] = '^'
		}
	}
	if _, err := path.Match(string(b), ""); err != nil {
		return "", fmt.Errorf("%q is no shell pattern", pattern)
	}
	return string(b), nil
}

// state says that names at of a pattern may match a name in a directory.
type state struct{ pattern, at int }

// begin returns the states of the hierarchy's root, and whether a pattern is the root.
func (g globs) begin(found []bool) (states []state, match bool) {
	for p := range g {
		if len(g[p]) == 0 {
			found[p], match = true, true
			continue
		}
		states = g.enter(states, state{p, 0})
	}
	return states, match
}

// enter adds a state and those that are reached from it without a name.
func (g globs) enter(states []state, s state) []state {
	for {
		if !slices.Contains(states, s) {
			states = append(states, s)
		}
		if names := g[s.pattern]; names[s.at] != "**" || s.at+1 == len(names) {
			return states
		}
		s.at++
	}
}

// step returns the states below name, and whether a pattern ends there; found marks
// which.
func (g globs) step(states []state, name string, found []bool) (below []state, match bool) {
	for _, s := range states {
		names := g[s.pattern]
		glob, last := names[s.at], s.at+1 == len(names)
		if glob == "**" {
			below = g.enter(below, s)
		} else if ok, _ := path.Match(glob, name); !ok {
			continue
		} else if !last {
			below = g.enter(below, state{s.pattern, s.at + 1})
		}
		if last {
			found[s.pattern], match = true, true
		}
	}
	return below, match
}

// relistTicks is after how many ticks a directory is listed anew though nothing shows
// that it changed.
const relistTicks = 10

// tree finds the groups of a hierarchy that patterns match. Each tick it looks at the
// number of subdirectories (nlink) and the mtime of each directory in which one may
// appear, and lists it if they changed, or if a group in the tree turned out to be
// dead. The kernel gives cgroup directories no mtime of their own: a group that was
// made in the second in which another one, not matched, was removed, is found by the
// listing every relistTicks.
type groupTree struct {
	globs globs
	found []bool // by pattern: it matched at some time
	root  int    // descriptor of the hierarchy's root
	top   *dir
	tick  int
	dead  bool // something has gone: list all
	k     *keeper
}

// dir is a directory of a listing.
type dir struct {
	path   string // below the root: "", "a", "a/b"
	base   string // its last name
	ino    uint64
	match  bool
	states []state // nil: nothing below may match
	self   kept
	nlink  uint64
	mtime  unix.Timespec
	listed int    // how often
	seen   int    // the parent's listing that saw it last
	kids   []*dir // by base; those that don't match too, if it was listed
}

func newTree(g globs, root int, k *keeper) *groupTree {
	t := &groupTree{globs: g, found: make([]bool, len(g)), root: root, k: k}
	t.top = &dir{}
	t.top.states, t.top.match = g.begin(t.found)
	if err := unix.Fstat(root, &k.stat); err == nil {
		t.top.ino = k.stat.Ino
	}
	return t
}

// scan brings the tree up to date and reports whether its directories changed.
func (t *groupTree) scan() (changed bool) {
	all := t.dead || t.tick%relistTicks == 0
	t.tick++
	t.dead = false
	return t.visit(t.top, all)
}

func (t *groupTree) visit(d *dir, all bool) (changed bool) {
	if d.states == nil {
		return false
	}
	fd, err := t.k.open(t.root, &d.self, d.path, "", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		t.dead = t.dead || err == unix.ENOENT // its parent's next listing will do without it
		return false
	}
	defer t.k.done(&d.self, fd)
	st := &t.k.stat
	if err := unix.Fstat(fd, st); err != nil {
		return false
	}
	// A file system that doesn't count subdirectories says 1.
	if nlink := uint64(st.Nlink); all || d.listed == 0 || nlink < 2 || nlink != d.nlink || st.Mtim != d.mtime {
		d.nlink, d.mtime = nlink, st.Mtim
		d.listed++
		if nlink != 2 || len(d.kids) > 0 {
			changed = t.list(d, fd)
		}
	}
	for _, kid := range d.kids {
		changed = t.visit(kid, all) || changed
	}
	return changed
}

// list lists a directory, and reports whether those in it changed.
func (t *groupTree) list(d *dir, fd int) (changed bool) {
	n := len(d.kids)
	err := t.k.list(fd, func(ino uint64, typ byte, name []byte) {
		if typ != unix.DT_DIR && (typ != unix.DT_UNKNOWN || !isDir(fd, name)) {
			return
		}
		if kid := d.kid(n, name); kid != nil && kid.ino == ino {
			kid.seen = d.listed
			return
		}
		changed = true
		kid := &dir{base: string(name), ino: ino, seen: d.listed}
		kid.path = path.Join(d.path, kid.base)
		kid.states, kid.match = t.globs.step(d.states, kid.base, t.found)
		d.kids = append(d.kids, kid)
	})
	if err != nil {
		t.dead = true // it was removed, or will be listed again
		return false
	}
	kids := d.kids[:0]
	for _, kid := range d.kids {
		if kid.seen == d.listed {
			kids = append(kids, kid)
		} else {
			changed = true
			t.close(kid)
		}
	}
	clear(d.kids[len(kids):])
	d.kids = kids
	if changed {
		slices.SortFunc(d.kids, func(a, b *dir) int { return cmp.Compare(a.base, b.base) })
	}
	return changed
}

// kid returns the directory of that name among the first n, or nil.
func (d *dir) kid(n int, name []byte) *dir {
	i, ok := slices.BinarySearchFunc(d.kids[:n], name, func(k *dir, name []byte) int {
		switch {
		case k.base < string(name):
			return -1
		case k.base == string(name):
			return 0
		}
		return 1
	})
	if !ok {
		return nil
	}
	return d.kids[i]
}

func isDir(fd int, name []byte) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// matches calls each for the directories that match, by path and inode.
func (t *groupTree) matches(each func(path string, ino uint64)) {
	var walk func(d *dir)
	walk = func(d *dir) {
		if d.match {
			each(d.path, d.ino)
		}
		for _, kid := range d.kids {
			walk(kid)
		}
	}
	walk(t.top)
}

func (t *groupTree) close(d *dir) {
	t.k.close(&d.self)
	for _, kid := range d.kids {
		t.close(kid)
	}
}

// cgroupMount is a cgroup file system: a hierarchy.
type cgroupMount struct {
	root        string   // what of the hierarchy is seen
	point       string   // where
	controllers []string // of v1; nil: v2
}

// parseMounts returns the cgroup file systems in the text of /proc/PID/mountinfo
// (proc_pid_mountinfo(5)), those that show a whole hierarchy first.
func parseMounts(text []byte, bad *skips) []cgroupMount {
	var out []cgroupMount
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		before, after, ok := bytes.Cut(line, []byte(" - "))
		fields, last := bytes.Fields(before), bytes.Fields(after)
		if !ok || len(fields) < 6 || len(last) < 3 {
			if bytes.Contains(line, []byte("cgroup")) {
				bad.add("mountinfo", l.n, fault{line, "not a mount"})
			}
			continue
		}
		m := cgroupMount{root: string(unescape(nil, fields[3])), point: string(unescape(nil, fields[4]))}
		switch string(last[0]) {
		case "cgroup":
			m.controllers = strings.Split(string(last[len(last)-1]), ",")
		case "cgroup2":
		default:
			continue
		}
		out = append(out, m)
	}
	l.end("mountinfo", bad)
	slices.SortStableFunc(out, func(a, b cgroupMount) int {
		switch {
		case (a.root == "/") == (b.root == "/"):
			return 0
		case a.root == "/":
			return -1
		}
		return 1
	})
	return out
}

// throughRoot returns where a mount point is, as seen through root, under which another
// root file system may be mounted.
func throughRoot(root, point string) string {
	if root != "/" && strings.HasPrefix(point, strings.TrimSuffix(root, "/")+"/") {
		return point
	}
	return filepath.Join(root, point)
}

// disks says which block devices count in a group's I/O. A group's file lists each
// device that its I/O went through: a volume and the disks beneath it. Counted are the
// topmost, where the group's own requests are: what goes on to the disks below may be
// as much again, a multiple (RAID), or another group's (dm-crypt and RAID 5 write by
// threads of the kernel). Loop and RAM disks are left out, as in the totals of table
// disk.
type disks struct {
	sys    string // where sysfs is
	counts map[string]bool
	lacks  *lacks
}

// has reports whether the device, "8:0", counts, and remembers.
func (d *disks) has(device []byte) bool {
	counts, ok := d.counts[string(device)]
	if !ok {
		counts = d.look(string(device))
		d.counts[string(device)] = counts
	}
	return counts
}

func (d *disks) look(device string) bool {
	if device == "(unknown)" {
		return false
	}
	at := filepath.Join(d.sys, "dev/block", device)
	link, err := os.Readlink(at)
	if err != nil {
		return true // without sysfs there is nothing to tell by
	}
	name := filepath.Base(link)
	for _, memory := range []string{"loop", "ram", "zram"} {
		if rest, ok := strings.CutPrefix(name, memory); ok && strings.Trim(rest, "0123456789") == "" {
			return false
		}
	}
	holders := entries(filepath.Join(at, "holders"))
	for _, part := range entries(at) {
		if strings.HasPrefix(part, name) {
			holders = append(holders, entries(filepath.Join(at, part, "holders"))...)
		}
	}
	if len(holders) == 0 {
		return true
	}
	slices.Sort(holders)
	d.lacks.note("skipped", "", "", fmt.Sprintf("I/O of groups is counted at %s, not at %s below: what went to %s past them is in no group's row", strings.Join(slices.Compact(holders), ", "), name, name))
	return false
}

// entries are the names in a directory, none if it can't be read.
func entries(dir string) (out []string) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}
