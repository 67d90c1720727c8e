// Package wal is a write-ahead log: numbered records appended to the files of one
// directory, read back in order, by the process that wrote them or by the one after it,
// and removed from the front once they are done with. It knows nothing of what is in
// them, starts no goroutine and keeps no record in memory.
//
// docs/decisions/0006-write-ahead-log.md has the format, byte by byte, and what a crash
// costs.
package wal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// DefaultLimit bounds a log unless asked otherwise: a day of one host and more.
const DefaultLimit = 256 << 20

// ErrLocked is returned by Open for a directory that another process has open.
var ErrLocked = errors.New("another process writes there")

// Options configure a log.
type Options struct {
	// Limit bounds the bytes of all files; 0: DefaultLimit. Fits asks for it.
	Limit int64
	// Head, if not nil, returns what shall be known as long as a file exists, although
	// the records before it are gone: it stands at the beginning of each file. Of nil
	// there is no record.
	Head func() []byte
	// Visit, if not nil, is given all Data and Head records that Open finds, oldest
	// first, released ones too. The body is valid during the call.
	Visit func(Record)
	// Warn is told of damage, each once; nil: nobody is.
	Warn func(error)
	// Step, if not nil, is called before each creation, write, sync, truncation and
	// removal: tests end the process there.
	Step func(what string)
}

// A Log is a write-ahead log open for writing. Append, Sync, Release and Close are one
// goroutine's, Read is one's, which may be another; the rest is anyone's.
type Log struct {
	dir  string
	o    Options
	lock *os.File

	mu       sync.Mutex
	files    []*file // oldest first
	bytes    int64   // of them
	last     uint64  // number of the last Data record
	released uint64  // up to here all is done with

	// The writer's.
	out      *os.File // the newest of files; nil: made with the next record
	buf      []byte
	told     uint64 // the last release that stands in the log
	unsynced bool
	nameless bool // the newest file's name is not synced
	used     bool // something was appended or released

	// The reader's.
	in      *os.File
	reading *file
	scan    scanner
	read    uint64 // the last record read of reading
}

// file is one of the log's files.
type file struct {
	name  string
	count uint32 // its place among them
	salt  uint32
	last  uint64 // number of its last Data record, 0: it has none
	bytes int64
}

// fileBytes is the size at which the next file is begun: what is done with goes from
// the disk by the file.
const fileBytes = 1 << 20

const suffix = ".wal1" // with the format's version

// Open opens the log in a directory, made if it is not there, and reads through what
// an earlier process left. ErrLocked says that one has it open.
func Open(dir string, o Options) (*Log, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Visit == nil {
		o.Visit = func(Record) {}
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	l := &Log{dir: dir, o: o, lock: lock}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = ErrLocked
		lock.Close()
		return nil, fmt.Errorf("wal: %s: %w", dir, err)
	}
	if err := l.load(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("wal: %w", err)
	}
	return l, nil
}

func (l *Log) load() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f := &file{name: e.Name()}
		if n, err := fmt.Sscanf(f.name, "%08x-%08x"+suffix, &f.count, &f.salt); n == 2 && err == nil && f.name == fileName(f.count, f.salt) {
			l.files = append(l.files, f)
		} else if strings.Contains(f.name, ".wal") {
			return fmt.Errorf("%s: written by another version of steady: let that one deliver it, or move it away", filepath.Join(l.dir, f.name))
		}
	}
	slices.SortFunc(l.files, func(a, b *file) int { return cmp.Compare(a.count, b.count) })
	known := false // whether last is
	for _, f := range l.files {
		if err := l.loadFile(f, &known); err != nil {
			return err
		}
		l.bytes += f.bytes
	}
	l.last = max(l.last, l.released)
	l.told = l.released
	l.scan = scanner{}
	return nil
}

// loadFile reads through a file.
func (l *Log) loadFile(f *file, known *bool) error {
	in, err := os.Open(l.path(f))
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	f.bytes = st.Size()
	l.scan.begin(in, f.salt, f.bytes)
	for {
		r, passed, err := l.scan.next()
		if err != nil {
			if passed > 0 {
				l.warnPassed(f, f.bytes-passed, passed, 0, true)
			}
			return nil
		}
		before := r.Seq // of what must have come before
		if r.Kind == Data {
			before--
		}
		lost := uint64(0)
		if *known && before > max(l.last, l.released) {
			lost = before - max(l.last, l.released)
		}
		if passed > 0 || lost > 0 {
			l.warnPassed(f, l.scan.off-int64(headerBytes+len(r.Body))-passed, passed, lost, false)
		}
		*known = true
		switch r.Kind {
		case released:
			l.released = max(l.released, binary.LittleEndian.Uint64(r.Body))
		case Data:
			if r.Seq <= l.last {
				continue // its write was cut off and done again
			}
			f.last = r.Seq
			l.o.Visit(r)
		case Head:
			l.o.Visit(r)
		}
		l.last = max(l.last, r.Seq)
	}
}

// warnPassed tells of bytes that are no records.
func (l *Log) warnPassed(f *file, at, n int64, lost uint64, tail bool) {
	why := ""
	if l.scan.err != nil {
		why = ": " + l.scan.err.Error()
	}
	if tail {
		l.o.Warn(fmt.Errorf("wal: %s: the last %d bytes are no whole record: the process or the power went while it was written, or they are damaged%s", l.path(f), n, why))
		return
	}
	l.o.Warn(fmt.Errorf("wal: %s: %d bytes at byte %d are damaged, %d records lost%s", l.path(f), n, at, lost, why))
}

func (l *Log) path(f *file) string { return filepath.Join(l.dir, f.name) }

func fileName(count, salt uint32) string { return fmt.Sprintf("%08x-%08x"+suffix, count, salt) }

// Dir returns the log's directory.
func (l *Log) Dir() string { return l.dir }

// Last returns the number of the last record, 0 in a new log: the next one's must be
// above it.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Released returns up to which record all is done with.
func (l *Log) Released() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// Bytes returns the size of all files.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Fits reports whether so many more bytes of records stay within the limit.
func (l *Log) Fits(n int64) bool { return l.Bytes()+n <= l.o.Limit }

// Size returns what a record of so many bytes takes in a file.
func Size(body int) int64 { return int64(headerBytes + body) }

// Append writes Data records, whose numbers rise, by one write after which a killed
// process doesn't lose them; only Sync guards against a power cut. On error none of
// them is in the log.
func (l *Log) Append(records ...Record) error {
	for _, r := range records {
		if len(r.Body) > MaxBody {
			return fmt.Errorf("wal: record %d has %d bytes, the most is %d", r.Seq, len(r.Body), int64(MaxBody))
		}
	}
	if l.out == nil || l.newest().bytes >= min(fileBytes, l.o.Limit/8) {
		if err := l.begin(); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	f := l.newest()
	last, done := l.Last(), l.Released()
	buf := l.buf[:0]
	if done > l.told {
		buf = appendRecord(buf, Record{released, last, binary.LittleEndian.AppendUint64(nil, done)}, f.salt)
	}
	if f.bytes == 0 && l.o.Head != nil {
		if head := l.o.Head(); head != nil {
			buf = appendRecord(buf, Record{Head, last, head}, f.salt)
		}
	}
	for _, r := range records {
		buf = appendRecord(buf, Record{Data, r.Seq, r.Body}, f.salt)
		last = r.Seq
	}
	if len(buf) == 0 {
		return nil
	}
	if l.buf = buf; cap(buf) > keptBytes {
		l.buf = nil
	}
	if err := l.write(f, buf); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	l.told, l.unsynced, l.used = done, true, true
	l.mu.Lock()
	defer l.mu.Unlock()
	f.bytes += int64(len(buf))
	l.bytes += int64(len(buf))
	if len(records) > 0 {
		f.last, l.last = last, last
	}
	return nil
}

// keptBytes is the largest buffer kept from one Append to the next.
const keptBytes = 64 << 10

func (l *Log) newest() *file { return l.files[len(l.files)-1] }

// begin begins a file. The one before it is synced, since Sync won't come to it.
func (l *Log) begin() error {
	if l.out != nil {
		if err := l.Sync(); err != nil {
			return err
		}
		l.abandon()
	}
	f := &file{count: 1, salt: rand.Uint32()}
	if len(l.files) > 0 {
		f.count = l.newest().count + 1
	}
	f.name = fileName(f.count, f.salt)
	l.o.Step("create")
	out, err := os.OpenFile(l.path(f), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = append(l.files, f)
	l.out, l.nameless = out, true
	return nil
}

// abandon writes no more to the newest file.
func (l *Log) abandon() {
	if l.out != nil {
		l.out.Close()
	}
	l.out, l.unsynced, l.nameless = nil, false, false
}

// write writes to the end of the newest file, all or nothing.
func (l *Log) write(f *file, buf []byte) error {
	l.o.Step("write")
	_, err := l.out.WriteAt(buf, f.bytes)
	if err == nil {
		return nil
	}
	l.o.Step("truncate")
	if l.out.Truncate(f.bytes) != nil {
		l.abandon() // what is there would stand between this file's records
	}
	return err
}

// Sync makes all that was appended safe from a power cut. After an error it is not,
// and what comes next goes to another file.
func (l *Log) Sync() error {
	if !l.unsynced {
		return nil
	}
	l.o.Step("sync")
	err := ignoringEINTR(func() error { return unix.Fdatasync(int(l.out.Fd())) })
	if err == nil && l.nameless {
		err = l.syncDir()
	}
	if err != nil {
		l.abandon() // the kernel may hold the pages for clean now
		return fmt.Errorf("wal: %s: sync: %w: a power cut now would lose ticks", l.dir, err)
	}
	l.unsynced, l.nameless = false, false
	return nil
}

func (l *Log) syncDir() error {
	l.o.Step("sync directory")
	d, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoringEINTR(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}

// Releases reports whether releasing up to number n would give back room.
func (l *Log) Releases(n uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.files) > 1 && l.files[0].last <= max(n, l.released)
}

// Release says that all records up to number n are done with: the files of which
// nothing else is left go, but for the newest. That it was said stands in the log with
// the next Append.
func (l *Log) Release(n uint64) error {
	l.used = true
	l.mu.Lock()
	l.released = max(l.released, n)
	l.mu.Unlock()
	for l.Releases(n) {
		if err := l.Sync(); err != nil { // the newest file's Head is to outlive this one
			return err
		}
		if err := l.remove(); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the oldest file.
func (l *Log) remove() error {
	f := l.files[0]
	l.o.Step("remove")
	if err := os.Remove(l.path(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wal: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = l.files[1:]
	l.bytes -= f.bytes
	return nil
}

// Close lets others open the directory. What is not released stays, synced; if all is,
// no record stays. A log to which nothing was said stays as it was found.
func (l *Log) Close() (err error) {
	released, all := l.Released(), l.Released() >= l.Last()
	if l.used && released > l.told && (!all || l.out != nil) {
		err = l.Append() // what is done with shall not come again
	}
	if err == nil && !all {
		err = l.Sync()
	}
	l.abandon()
	for l.used && all && err == nil && len(l.files) > 0 {
		err = l.remove()
	}
	if l.in != nil {
		err = errors.Join(err, l.in.Close())
	}
	return errors.Join(err, l.lock.Close())
}

// Read returns the first Data record of number from or above, io.EOF if there is none
// yet. Its body is valid until the next call.
func (l *Log) Read(from uint64) (Record, error) {
	for {
		f, end := l.fileOf(from)
		if f == nil {
			l.scan.mem, l.scan.buf = nil, nil // mostly what comes next is read by nobody
			return Record{}, io.EOF
		}
		if f != l.reading || from <= l.read {
			if err := l.rewind(f); err != nil {
				return Record{}, fmt.Errorf("wal: %w", err)
			}
		}
		l.scan.end = end
		r, passed, err := l.scan.next()
		if err != nil { // it was there, and can't be read any more
			l.warnPassed(f, end-passed, passed, 0, true)
			l.mu.Lock()
			f.last = from - 1
			l.mu.Unlock()
			continue
		}
		if r.Kind == Data {
			l.read = r.Seq
			if r.Seq >= from {
				return r, nil
			}
		}
	}
}

// fileOf returns the first file that has a record of number from or above, and its end.
func (l *Log) fileOf(from uint64) (*file, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		if f.last >= from {
			return f, f.bytes
		}
	}
	return nil, 0
}

// rewind makes the reader begin with a file.
func (l *Log) rewind(f *file) error {
	in, err := os.Open(l.path(f))
	if err != nil {
		return err
	}
	if l.in != nil {
		l.in.Close()
	}
	l.in, l.reading, l.read = in, f, 0
	l.scan.begin(in, f.salt, 0)
	return nil
}
