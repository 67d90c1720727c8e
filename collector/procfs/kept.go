package procfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// kept is a small file, or a directory, that may stay open between ticks.
type kept struct {
	fd  int32  // plus one; 0: closed
	ino uint64 // of the file that was opened last
}

// waiting is a file that is not tried at each tick if it can't be read.
type waiting struct {
	kept
	wait int // ticks until it is tried again
}

// waitTicks is for how many ticks a file that isn't there is not looked for.
const waitTicks = 10

// keeper reads many small files. It keeps them open as long as its share of the
// process's file descriptors lasts, and opens, reads and closes the others, which takes
// twice as long.
type keeper struct {
	left int // how many more may be kept open
	path []byte
	buf  []byte
	stat unix.Stat_t
}

// newKeeper returns a keeper that keeps at most a quarter of the descriptors that the
// process may have.
func newKeeper() *keeper {
	var r unix.Rlimit
	share := 0
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil {
		share = int(min(r.Cur/4, math.MaxInt32))
	}
	return &keeper{left: share, buf: make([]byte, 32<<10)}
}

// read returns the text of the file base/name below the directory dir, valid until the
// next call. It takes one call of pread: the kernel writes these files as one record,
// and hands out a record whole where the buffer takes it.
func (k *keeper) read(dir int, f *kept, base, name string) ([]byte, error) {
	fd, err := k.open(dir, f, base, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	for {
		n, err := unix.Pread(fd, k.buf, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && n == len(k.buf):
			k.buf = make([]byte, 2*len(k.buf))
			continue
		}
		k.done(f, fd)
		if err != nil {
			k.close(f)
			return nil, err
		}
		return k.buf[:n], nil
	}
}

// open returns the file's descriptor; done gives it back.
func (k *keeper) open(dir int, f *kept, base, name string, flags int) (int, error) {
	if f.fd != 0 {
		return int(f.fd - 1), nil
	}
	k.path = append(k.path[:0], base...)
	if base != "" && name != "" {
		k.path = append(k.path, '/')
	}
	k.path = append(k.path, name...)
	if len(k.path) == 0 {
		k.path = append(k.path, '.')
	}
	k.path = append(k.path, 0)
	fd, err := openat(dir, k.path, flags)
	if err != nil {
		return -1, err
	}
	if err := unix.Fstat(fd, &k.stat); err != nil {
		unix.Close(fd)
		return -1, err
	}
	f.ino = k.stat.Ino
	if k.left > 0 {
		k.left--
		f.fd = int32(fd) + 1
	}
	return fd, nil
}

// done closes what is not kept.
func (k *keeper) done(f *kept, fd int) {
	if f.fd == 0 {
		unix.Close(fd) // nothing was written
	}
}

// close closes what was kept.
func (k *keeper) close(f *kept) {
	if f.fd != 0 {
		unix.Close(int(f.fd - 1)) // nothing was written
		f.fd = 0
		k.left++
	}
}

// openat is unix.Openat of a path that ends in 0, and doesn't copy it.
func openat(dir int, path []byte, flags int) (int, error) {
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&path[0])), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		default:
			return -1, errno
		}
	}
}

// openRoot opens a directory for the paths of a keeper.
func openRoot(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// list calls each for the entries of an open directory, from its beginning. The names
// are valid within the call, which may not use the keeper.
func (k *keeper) list(fd int, each func(ino uint64, typ byte, name []byte)) error {
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return err
	}
	for {
		n, err := unix.ReadDirent(fd, k.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return nil
		}
		// struct linux_dirent64 of getdents64(2): inode, offset, length, type, name.
		const head = 8 + 8 + 2 + 1
		for b := k.buf[:n]; len(b) > head; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size <= head || size > len(b) {
				break
			}
			name, _, _ := bytes.Cut(b[head:size], []byte{0})
			if string(name) != "." && string(name) != ".." {
				each(binary.NativeEndian.Uint64(b), b[18], name)
			}
			b = b[size:]
		}
	}
}

// lacks says once, in table quality, that a column is null, and why.
type lacks struct {
	table *schemas.Table
	cause []string // by column
	told  []bool
	notes []lackNote
}

// lackNote is a row of table quality to be.
type lackNote struct {
	reason, column, part, detail string
}

func newLacks(t *schemas.Table) lacks {
	return lacks{table: t, cause: make([]string, len(t.Columns)), told: make([]bool, len(t.Columns))}
}

// because keeps why a file's columns are null, if that is still to be told.
func (l *lacks) because(columns []int, file string, err error) {
	for _, c := range columns {
		switch {
		case l.told[c]:
		case errors.Is(err, fs.ErrPermission):
			l.cause[c] = file + " can't be read: " + err.Error() + ": run the collector as root, with CAP_SYS_PTRACE"
		case errors.Is(err, fs.ErrNotExist):
			l.cause[c] = file + " does not exist"
		case err == unix.EOPNOTSUPP:
			l.cause[c] = file + " is there, but the kernel does not support it (switched off)"
		default:
			l.cause[c] = file + ": " + err.Error()
		}
	}
}

// look tells the columns of a row that are null and were not told before.
func (l *lacks) look(b *schemas.Block, row int, device string) {
	n := len(l.table.Columns)
	for col, known := range b.Known[row*n : (row+1)*n] {
		if known || l.told[col] {
			continue
		}
		l.told[col] = true
		l.note("absent", l.table.Columns[col].Name, device, l.cause[col])
	}
}

func (l *lacks) note(reason, column, part, detail string) {
	l.notes = append(l.notes, lackNote{reason, column, part, detail})
}

// take appends the notes to dst, stamped as b, and forgets them.
func (l *lacks) take(dst []schemas.Row, wall, boot int64) []schemas.Row {
	for _, n := range l.notes {
		r := schemas.QualityRow(wall, boot, n.reason, l.table.Name, n.detail)
		r.SetText("column", n.column)
		r.SetText("part", n.part)
		dst = append(dst, r)
	}
	l.notes = l.notes[:0]
	return dst
}

// fell reports whether an ordinary counter of a row is below its last reading, which is
// how ingest tells that a device began anew.
func fell(b *schemas.Block, row int, last []int64, known []bool) bool {
	n := len(b.Table.Columns)
	for col := range b.Table.Columns {
		c := &b.Table.Columns[col]
		i := row*n + col
		if c.Kind.Cumulative() && c.Retreats == "" && known[col] && b.Known[i] && b.Values[i]-last[col] < 0 {
			return true
		}
	}
	return false
}

// setDevices gives a block, which has room for more, the devices of this tick, in a list
// of its own: a tick handed on may hold the old one.
func setDevices(b *schemas.Block, devices []string) {
	cells := len(devices) * len(b.Table.Columns)
	b.Values, b.Known = b.Values[:cells], b.Known[:cells]
	if !slices.Equal(b.Devices, devices) {
		b.Devices = slices.Clone(devices)
	}
}
