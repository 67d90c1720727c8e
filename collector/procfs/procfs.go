// Package procfs reads the kernel's counters and gauges out of /proc and /sys: one source a
// file (or a few), each one a plain reading and a pure parser of its text. It forms no
// differences or rates. Numbers of the network are those of the network namespace that
// the sources were opened in.
//
// # Lines that do not parse
//
// The kernel's own text always parses. Others write /proc as well (lxcfs in
// containers), and files differ between kernels. What can't be read is null, never
// zero: a line that does not parse costs that line and is counted (see [collector.Skipper]), so
// does a last line without its end, which is text cut off. Only a file whose first
// line does not parse is an error: it is not the file that it should be.
//
// # Stamps
//
// A block is stamped immediately before its (first) file is read. Counters are only
// ever used as differences, so a constant delay between stamp and reading cancels; what
// harms an interval is a delay that varies. The kernel forms the text in the order of
// its lines within the call, and it reschedules on the way back from a system call
// rather than between reading a clock and entering one: a stamp taken after the call
// would more often be late.
package procfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// A parser fills blocks, one a table, from the text of files.
type parser func(blocks []schemas.Block, files []*file, bad *skips) error

// kinds are all sources: the files that they read below proc, whether they are lost
// without the first of them, what they fill, how.
var kinds = []struct {
	name   string
	files  []string
	first  bool
	tables []*schemas.Table
	parser func(h *host) parser
}{
	{"stat", []string{"stat", "loadavg", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/inode-nr", "sys/kernel/pty/nr"}, true,
		[]*schemas.Table{&schemas.CPU, &schemas.Load, &schemas.Kernel}, statParser},
	{"meminfo", []string{"meminfo"}, true, []*schemas.Table{&schemas.Memory}, meminfoParser},
	{"diskstats", []string{"diskstats"}, true, []*schemas.Table{&schemas.Disk}, diskstatsParser},
	{"net_dev", []string{"net/dev"}, true, []*schemas.Table{&schemas.Net}, netDevParser},
	{"vmstat", []string{"vmstat"}, true, []*schemas.Table{&schemas.Paging}, vmstatParser},
	{"pressure", []string{"pressure/cpu", "pressure/memory", "pressure/io"}, false, []*schemas.Table{&schemas.Pressure}, pressureParser},
	{"interrupts", []string{"interrupts", "softirqs"}, true, []*schemas.Table{&schemas.Interrupts, &schemas.InterruptsCPU}, interruptsParser},
	{"softnet", []string{"net/softnet_stat"}, true, []*schemas.Table{&schemas.Softnet}, softnetParser},
	{"serial", []string{"tty/driver/serial"}, true, []*schemas.Table{&schemas.Serial}, serialParser},
	{"filesystem", []string{mountsFile}, true, []*schemas.Table{&schemas.Filesystem}, filesystemParser},
	{"net_proto", []string{"net/snmp", "net/netstat"}, false, []*schemas.Table{&schemas.NetProto}, netProtoParser},
	{"net_proto6", []string{"net/snmp6"}, true, []*schemas.Table{&schemas.NetProto6}, netProto6Parser},
	{"sockets", []string{"net/sockstat", "net/sockstat6"}, false, []*schemas.Table{&schemas.Sockets}, socketsParser},
	{"nfs_client", []string{"net/rpc/nfs"}, true, []*schemas.Table{&schemas.NFSClient}, nfsClientParser},
	{"nfs_server", []string{"net/rpc/nfsd"}, true, []*schemas.Table{&schemas.NFSServer}, nfsServerParser},
	{"swaps", []string{"swaps"}, true, []*schemas.Table{&schemas.Swap}, swapsParser},
	{"schedstat", []string{"schedstat"}, true, []*schemas.Table{&schemas.Sched}, schedstatParser},
}

// Options are what a user may want to be read besides the usual.
type Options struct {
	// InterruptCells asks for table interrupt_cells: each interrupt on each CPU.
	InterruptCells bool
}

// Sources opens all sources of the host whose /proc and /sys are below root: "/", or a
// directory like it. What this host lacks is left out and named in absent, with the
// cause in words: a source ("vmstat"), or a part of one that can do without it
// ("loadavg", "pressure/io"), or a table of hardware that is not there ("battery"). An
// error means that there is no proc to be used. The caller closes the sources.
func Sources(root string, clock collector.Clock, options Options) (sources []collector.Source, absent map[string]string, err error) {
	h := newHost(root, options)
	if sources, absent, err = h.sources(clock); err == nil {
		sources = h.hardware(sources, clock, absent)
	}
	return sources, absent, err
}

// host is where the sources read.
type host struct {
	root, proc, sys string
	options         Options
	page            int64 // its size in bytes
	open            func(path string) (handle, error)
	openSys         func(path string) (handle, error) // nil: openSysFile
	statfs          func(path []byte, buf *unix.Statfs_t) error
	now             func() time.Time
}

func newHost(root string, options Options) *host {
	return &host{root: root, proc: filepath.Join(root, "proc"), sys: filepath.Join(root, "sys"), options: options,
		page: int64(os.Getpagesize()), open: openFile, statfs: statfs, now: time.Now}
}

type handle interface {
	io.ReaderAt
	io.Closer
}

// openFile opens a file so that the runtime does not wait for its events: it would
// take from us what the kernel tells once, that mounts changed.
func openFile(path string) (handle, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return os.NewFile(uintptr(fd), path), nil
		}
	}
}

func (h *host) sources(clock collector.Clock) (sources []collector.Source, absent map[string]string, err error) {
	fi, err := os.Stat(h.proc)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: h.proc, Err: unix.ENOTDIR}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("procfs: %w", err)
	}
	absent = make(map[string]string)
	for i := range kinds {
		k := &kinds[i]
		s := &source{name: k.name, tables: k.tables, clock: clock, parse: k.parser(h)}
		if h.options.InterruptCells && slices.Contains(k.tables, &schemas.Interrupts) {
			s.tables = append(slices.Clone(k.tables), &schemas.InterruptCells)
		}
		lacks := make(map[string]string)
		for _, name := range k.files {
			if f, cause := h.file(name); f != nil {
				s.files = append(s.files, f)
			} else {
				lacks[name] = cause
			}
		}
		first := k.files[0]
		if len(s.files) == 0 || k.first && lacks[first] != "" {
			absent[k.name] = lacks[first]
			s.Close() // nothing was written
			continue
		}
		maps.Copy(absent, lacks)
		sources = append(sources, s)
	}
	return sources, absent, nil
}

// file opens a file and reads it once, since some are there and can't be read; it
// returns nil and the cause if this host doesn't have it.
func (h *host) file(name string) (*file, string) {
	path := filepath.Join(h.proc, name)
	r, err := h.open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, path + " does not exist"
	case err != nil:
		return nil, err.Error()
	}
	f := &file{name: name, device: []byte(filepath.Base(name)), r: r, buf: make([]byte, 4096)}
	if fd, ok := r.(interface{ Fd() uintptr }); ok && name == mountsFile {
		f.poll = []unix.PollFd{{Fd: int32(fd.Fd()), Events: unix.POLLPRI}}
	}
	for whole := false; !whole; {
		switch whole, err = f.read(); {
		case errors.Is(err, unix.EOPNOTSUPP):
			r.Close() // nothing was written
			return nil, path + " is there, but the kernel does not support it (switched off)"
		case err != nil:
			return f, "" // it may pass: the ticks will meet it, or not
		}
	}
	return f, ""
}

// file is an open file and its text.
type file struct {
	name   string // below proc
	device []byte // its last element: of what a file in pressure is
	r      handle
	buf    []byte
	text   []byte // of the last reading, valid until the next one; nil if that failed
	// readings are how many gave text.
	readings int
	// poll is for a file that the kernel tells to have changed: it is read only then.
	poll []unix.PollFd
}

// read reads the file from its beginning, in one call. If it isn't whole then the
// buffer was too small: it has grown, and the file is to be read again, since two
// readings joined are text that the kernel never wrote.
//
// The kernel itself hands files of many records (diskstats, net/dev, vmstat) out by the
// page; ReadAt goes on until the end, and no record is torn.
func (f *file) read() (whole bool, err error) {
	if f.text != nil && !f.changed() {
		return true, nil
	}
	f.text = nil
	n, err := f.r.ReadAt(f.buf, 0)
	switch {
	case err == io.EOF:
		f.text = f.buf[:n]
		f.readings++
		return true, nil
	case err != nil:
		return false, fmt.Errorf("procfs: %s: %w", f.name, err)
	}
	f.buf = make([]byte, 2*len(f.buf))
	return false, nil
}

// changed reports whether the text may be another than before.
func (f *file) changed() bool {
	if f.poll == nil {
		return true
	}
	_, err := unix.Poll(f.poll, 0)
	return err != nil || f.poll[0].Revents != 0
}

// source is a collector.Source and a collector.Skipper.
type source struct {
	name   string
	tables []*schemas.Table
	clock  collector.Clock
	files  []*file
	parse  parser
	bad    skips
}

var (
	_ collector.Source  = (*source)(nil)
	_ collector.Skipper = (*source)(nil)
)

func (s *source) Name() string             { return s.name }
func (s *source) Tables() []*schemas.Table { return s.tables }

// Sample reads all files before it parses any, since one stamp stands for all.
func (s *source) Sample(blocks []schemas.Block) error {
	for i, f := range s.files {
		for whole := false; !whole; {
			if i == 0 {
				wall, boot := s.clock()
				for b := range blocks {
					blocks[b].WallNS, blocks[b].BootNS = wall, boot
				}
			}
			var err error
			if whole, err = f.read(); err != nil {
				return err
			}
		}
	}
	return s.parse(blocks, s.files, &s.bad)
}

func (s *source) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.r.Close())
	}
	return errors.Join(errs...)
}

func (s *source) Skipped() (lines int64, example string) { return s.bad.lines, s.bad.example }
