package procfs

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// mountsFile is the list of mounts. It is read again only when the kernel tells, by
// poll(2), that mounts changed.
const mountsFile = "self/mountinfo"

func filesystemParser(h *host) parser {
	p := filesystems{root: h.root, statfs: h.statfs}
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		if f := files[0]; p.readings != f.readings {
			var err error
			if p.mounts, err = localMounts(f.text, bad); err != nil {
				return err
			}
			p.readings = f.readings
			p.findPaths()
		}
		p.sample(&blocks[0], bad)
		return nil
	}
}

// filesystems are those that are mounted.
type filesystems struct {
	root     string
	statfs   func(path []byte, buf *unix.Statfs_t) error
	readings int // of the list of mounts that mounts are from
	mounts   []mount
	paths    [][]byte // of mounts, below root, each with a zero byte at its end
	buf      unix.Statfs_t
}

func (p *filesystems) findPaths() {
	p.paths = p.paths[:0]
	for i := range p.mounts {
		p.paths = append(p.paths, append([]byte(filepath.Join(p.root, p.mounts[i].point)), 0))
	}
}

// sample fills filesystem from statfs(2) of each mount point. One that has no blocks is
// left out, one that can't be asked is null.
func (p *filesystems) sample(filesystem *schemas.Block, bad *skips) {
	filesystem.Resize(len(p.mounts))
	row := 0
	for i := range p.mounts {
		m := &p.mounts[i]
		err := p.statfs(p.paths[i], &p.buf)
		if err == nil && p.buf.Blocks == 0 {
			continue
		}
		f := fault{}
		if err != nil {
			f = fault{m.name, err.Error()}
		} else {
			f = setFilesystem(filesystem, row, &p.buf, m.name)
		}
		if f.why != "" {
			bad.add(mountsFile, m.line, f)
		}
		filesystem.SetDevice(row, m.name)
		row++
	}
	trim(filesystem, row)
}

var inodesColumn = schemas.Filesystem.Column("inodes") // after size, free and available bytes

func setFilesystem(filesystem *schemas.Block, row int, buf *unix.Statfs_t, name []byte) (f fault) {
	unit := uint64(buf.Frsize)
	if unit == 0 {
		unit = uint64(buf.Bsize)
	}
	for col, blocks := range [...]uint64{buf.Blocks, buf.Bfree, buf.Bavail} {
		if unit == 0 || blocks > math.MaxInt64/unit {
			f = fault{name, outOfRange}
			continue
		}
		filesystem.Set(row, col, int64(blocks*unit))
	}
	if buf.Files == 0 {
		return f // it has no fixed number of them
	}
	for i, n := range [...]uint64{buf.Files, buf.Ffree} {
		if n > math.MaxInt64 {
			f = fault{name, outOfRange}
			continue
		}
		filesystem.Set(row, inodesColumn+i, int64(n))
	}
	return f
}

// statfs is statfs(2) of a path that ends in a zero byte. Unlike unix.Statfs it does not
// allocate, but on kernels of 32 bits, where the call has another layout.
func statfs(path []byte, buf *unix.Statfs_t) error {
	if unsafe.Sizeof(uintptr(0)) < 8 {
		return unix.Statfs(string(path[:len(path)-1]), buf)
	}
	for {
		_, _, errno := unix.Syscall(unix.SYS_STATFS, uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(buf)), 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// mount is a line of mountinfo.
type mount struct {
	line       int
	id, parent uint64
	root       string // of the file system, what is mounted
	point      string // where
	name       []byte // point again
	kind       string
	source     string
}

// localMounts returns the mounts to be asked from the text of /proc/self/mountinfo
// (proc_pid_mountinfo(5)): file systems on local storage, each source once, where its
// mount point leads to it and to no other mount above.
//
// A mount of the whole file system goes before one of a part (a bind mount), else the
// first one counts.
func localMounts(text []byte, bad *skips) ([]mount, error) {
	var all []mount
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		m, f := mountLine(line)
		if f.why != "" {
			if l.n == 1 {
				return nil, f.in(mountsFile, 1)
			}
			bad.add(mountsFile, l.n, f)
			continue
		}
		m.line = l.n
		all = append(all, m)
	}
	if l.n == 0 {
		return nil, fault{text, "no whole line"}.in(mountsFile, 1)
	}
	l.end(mountsFile, bad)
	var out []mount
	for i := range all {
		m := &all[i]
		before := slices.IndexFunc(out, func(o mount) bool { return o.source == m.source })
		switch {
		case !local(m.kind, m.source):
		case before >= 0 && (m.root != "/" || out[before].root == "/"):
		case slices.ContainsFunc(out, func(o mount) bool { return o.point == m.point }):
		case !visible(all, i): // last: it looks at all mounts
		case before < 0:
			out = append(out, *m)
		default:
			out[before] = *m
		}
	}
	return out, nil
}

// mountLine reads "27 1 254:0 / /mnt rw shared:1 - ext4 /dev/sda1 rw".
func mountLine(line []byte) (m mount, f fault) {
	s := line
	if m.id, s, f = number(s); f.why != "" {
		return m, f
	}
	if m.parent, s, f = number(s); f.why != "" {
		return m, f
	}
	_, s = word(s) // device
	root, s := word(s)
	point, s := word(s)
	before, after, ok := bytes.Cut(s, []byte(" - "))
	kind, after, _ := bytes.Cut(after, []byte{' '})
	source, _, _ := bytes.Cut(after, []byte{' '}) // which may be empty
	if !ok || len(point) == 0 || len(before) == 0 || len(kind) == 0 {
		return m, fault{line, "not a mount"}
	}
	m.root, m.name = string(unescape(nil, root)), unescape(nil, point)
	m.point, m.kind, m.source = string(m.name), string(kind), string(unescape(nil, source))
	return m, fault{}
}

// local reports whether a file system is on storage of this host: statfs(2) of others
// may hang for as long as a server or a process does not answer.
func local(kind, source string) bool {
	switch {
	case kind == "zfs", kind == "btrfs":
		return true
	case kind == "autofs", kind == "fuse", strings.HasPrefix(kind, "fuse."), kind == "gfs2", kind == "ocfs2":
		return false
	}
	return strings.HasPrefix(source, "/dev/")
}

// visible reports whether the mount point of mount i leads to it, and not to another
// mount on top of it or on the way.
func visible(all []mount, i int) bool {
	m := &all[i]
	for k := range all {
		if n := &all[k]; k != i && n.parent == m.id && n.point == m.point {
			return false // on top of it
		}
	}
	for steps := 0; steps < len(all); steps++ { // no circle is a list of mounts
		above := -1
		for k := range all {
			n := &all[k]
			switch {
			case k == i:
			case n.id == all[i].parent:
				above = k
			case n.parent == all[i].parent && (n.point == all[i].point && k > i || n.point != all[i].point && below(all[i].point, n.point)):
				return false // on the way
			}
		}
		if above < 0 {
			return true
		}
		i = above
	}
	return false
}

// below reports whether a path is in a directory, or is it.
func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}
