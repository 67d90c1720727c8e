package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// body returns what record n holds: some bytes that no other record has.
func body(n uint64) []byte {
	r := rand.New(rand.NewPCG(n, 1))
	b := fmt.Appendf(nil, "record %d ", n)
	for range r.IntN(250) {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

func records(from, to uint64) (out []Record) {
	for n := from; n <= to; n++ {
		out = append(out, Record{Seq: n, Body: body(n)})
	}
	return out
}

// bench is a directory with a log, and what its opening said.
type bench struct {
	testing.TB
	dir     string
	o       Options
	warned  []string
	visited []uint64
	heads   []string
}

func newBench(t testing.TB) *bench { return &bench{TB: t, dir: t.TempDir()} }

func (b *bench) open() *Log {
	b.Helper()
	b.warned, b.visited, b.heads = nil, nil, nil
	o := b.o
	o.Warn = func(err error) { b.warned = append(b.warned, err.Error()) }
	o.Visit = func(r Record) {
		switch {
		case r.Kind == Head:
			b.heads = append(b.heads, string(r.Body))
		case bytes.Equal(r.Body, body(r.Seq)):
			b.visited = append(b.visited, r.Seq)
		default:
			b.Errorf("record %d has another body", r.Seq)
		}
	}
	l, err := Open(b.dir, o)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// crash ends a log as the process's death does.
func (b *bench) crash(l *Log) {
	l.abandon()
	if l.in != nil {
		l.in.Close()
	}
	l.lock.Close()
}

// readable returns the numbers of the records that Read gives from a number on.
func (b *bench) readable(l *Log, from uint64) (out []uint64) {
	b.Helper()
	for {
		r, err := l.Read(from)
		if err == io.EOF {
			return out
		}
		b.must(err)
		if r.Seq < from || !bytes.Equal(r.Body, body(r.Seq)) {
			b.Fatalf("from %d: record %d with body %.20q", from, r.Seq, r.Body)
		}
		out = append(out, r.Seq)
		from = r.Seq + 1
	}
}

func numbers(from, to uint64) (out []uint64) {
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func (b *bench) files() (out []string) {
	b.Helper()
	out, err := filepath.Glob(filepath.Join(b.dir, "*"+suffix))
	b.must(err)
	slices.Sort(out)
	return out
}

func TestWhatWasAppendedOutlivesTheProcess(t *testing.T) {
	b := newBench(t)
	l := b.open()
	if l.Last() != 0 || l.Released() != 0 || l.Bytes() != 0 {
		t.Errorf("a new log has %d, %d, %d bytes", l.Last(), l.Released(), l.Bytes())
	}
	b.must(l.Append(records(1, 3)...))
	b.must(l.Append(records(4, 4)...))
	if got := b.readable(l, 1); !slices.Equal(got, numbers(1, 4)) {
		t.Errorf("read %v", got)
	}
	if got := b.readable(l, 3); !slices.Equal(got, numbers(3, 4)) {
		t.Errorf("read %v from 3", got)
	}
	b.crash(l)

	l = b.open()
	if !slices.Equal(b.visited, numbers(1, 4)) || len(b.warned) > 0 || l.Last() != 4 {
		t.Errorf("visited %v, last %d, warned %q", b.visited, l.Last(), b.warned)
	}
	b.must(l.Append(records(5, 6)...))
	b.must(l.Release(2))
	b.must(l.Append(records(7, 7)...)) // says that it was released
	if got := b.readable(l, l.Released()+1); !slices.Equal(got, numbers(3, 7)) {
		t.Errorf("read %v", got)
	}
	b.crash(l)

	l = b.open()
	if l.Released() != 2 || l.Last() != 7 {
		t.Errorf("released %d, last %d", l.Released(), l.Last())
	}
	b.must(l.Release(4))
	b.must(l.Close())
	if got := b.files(); len(got) == 0 {
		t.Error("closed, what was not released is gone")
	}
	l = b.open()
	if l.Released() != 4 || l.Last() != 7 {
		t.Errorf("closed: released %d, last %d", l.Released(), l.Last())
	}
	b.must(l.Append(records(8, 8)...))
	b.must(l.Release(8))
	b.must(l.Close())
	if got := b.files(); len(got) > 0 {
		t.Errorf("all was released, left %q", got)
	}
}

func TestReleasedFilesGo(t *testing.T) {
	b := newBench(t)
	b.o = Options{Limit: 80 << 10, Head: func() []byte { return []byte("head") }}
	l := b.open()
	n, refused := uint64(0), 0
	for refused < 3 {
		if next := body(n + 1); !l.Fits(Size(len(next))) {
			refused++
			b.must(l.Release(l.Released() + 40))
			continue
		}
		n++
		b.must(l.Append(records(n, n)...))
		if l.Bytes() > b.o.Limit {
			t.Fatalf("%d bytes, the limit is %d", l.Bytes(), b.o.Limit)
		}
	}
	on := int64(0)
	for _, f := range b.files() {
		st, err := os.Stat(f)
		b.must(err)
		on += st.Size()
	}
	if on != l.Bytes() || n < 500 {
		t.Errorf("%d bytes on disk, it says %d; %d records", on, l.Bytes(), n)
	}
	if got := b.readable(l, l.Released()+1); !slices.Equal(got, numbers(121, n)) {
		t.Errorf("read %v", got)
	}
	if !l.Releases(n) || l.Releases(0) {
		t.Error("asked whether a release gives room, it is wrong")
	}
	b.must(l.Release(n))
	if got := b.files(); len(got) != 1 {
		t.Errorf("left %q", got)
	}
	b.crash(l)
	l = b.open()
	if len(b.heads) != 1 || b.heads[0] != "head" {
		t.Errorf("heads %q", b.heads)
	}
	b.must(l.Close())
}

func TestTwoOnOneDirectory(t *testing.T) {
	b := newBench(t)
	l := b.open()
	if _, err := Open(b.dir, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), b.dir) {
		t.Error(err)
	}
	b.must(l.Close())
	b.must(b.open().Close())
}

func TestFileOfAnotherVersion(t *testing.T) {
	b := newBench(t)
	name := filepath.Join(b.dir, "00000001-00000001.wal2")
	b.must(os.WriteFile(name, nil, 0o644))
	if _, err := Open(b.dir, Options{}); err == nil || !strings.Contains(err.Error(), name+": written by another version") {
		t.Error(err)
	}
}

func TestTooLargeARecord(t *testing.T) {
	b := newBench(t)
	l := b.open()
	b.must(l.Append(records(1, 1)...))
	if err := l.Append(Record{Seq: 2, Body: make([]byte, MaxBody+1)}); err == nil || !strings.Contains(err.Error(), "record 2 has 68157441 bytes") {
		t.Error(err)
	}
	big := bytes.Repeat([]byte("x"), 3<<20)
	b.must(l.Append(Record{Seq: 2, Body: big}))
	if r, err := l.Read(2); err != nil || !bytes.Equal(r.Body, big) {
		t.Errorf("%d bytes, %v", len(r.Body), err)
	}
	b.must(l.Release(2))
	b.must(l.Close())
}

// written returns a directory whose only file has the records 1 to n, and where each
// begins and ends.
func written(b *bench, n uint64) (file string, ends []int64) {
	b.Helper()
	l := b.open()
	for _, r := range records(1, n) {
		b.must(l.Append(r))
		ends = append(ends, l.Bytes())
	}
	b.must(l.Sync())
	b.crash(l)
	return b.files()[0], ends
}

// only makes a file of that name and content the only one of the log.
func (b *bench) only(name string, content []byte) {
	b.Helper()
	for _, f := range b.files() {
		b.must(os.Remove(f))
	}
	b.must(os.WriteFile(filepath.Join(b.dir, filepath.Base(name)), content, 0o644))
}

// reopened opens a damaged log, appends record n+1, opens it once more, and returns
// what can be read.
func (b *bench) reopened(n uint64) []uint64 {
	b.Helper()
	l := b.open()
	warned := b.warned
	if got := b.readable(l, 1); !slices.Equal(got, b.visited) {
		b.Fatalf("visited %v, read %v", b.visited, got)
	}
	b.must(l.Append(records(max(n, l.Last())+1, max(n, l.Last())+1)...))
	last := l.Last()
	b.crash(l)
	l = b.open()
	defer b.crash(l)
	got := b.readable(l, 1)
	if l.Last() != last || len(got) == 0 || got[len(got)-1] != last {
		b.Fatalf("what was appended afterwards is not there: %v", got)
	}
	b.warned = warned
	return got[:len(got)-1]
}

// Cut off at any byte, a log has all records before.
func TestCutOffAnywhere(t *testing.T) {
	const n = 4
	template := newBench(t)
	file, ends := written(template, n)
	whole, err := os.ReadFile(file)
	template.must(err)
	b := newBench(t)
	for cut := int(ends[n-2]) - headerBytes; cut <= len(whole); cut++ {
		for name, tail := range map[string][]byte{"nothing": nil, "zeros": make([]byte, 300), "garbage": body(77)} {
			b.only(file, append(whole[:cut:cut], tail...))
			good := uint64(0)
			for good < n && ends[good] <= int64(cut) {
				good++
			}
			if got := b.reopened(n); !slices.Equal(got, numbers(1, good)) {
				t.Fatalf("cut at %d, then %s: %v, want 1 to %d", cut, name, got, good)
			}
			rest := len(tail)
			if good < n {
				rest = cut - int(append([]int64{0}, ends...)[good]) + len(tail)
			}
			if rest > 0 != (len(b.warned) == 1) || rest > 0 && !strings.Contains(b.warned[0], fmt.Sprintf("the last %d bytes are no whole record", rest)) {
				t.Fatalf("cut at %d, then %s: warned %q", cut, name, b.warned)
			}
		}
	}
}

// A damaged byte costs its record and no other.
func TestDamageInTheMiddle(t *testing.T) {
	const n = 6
	template := newBench(t)
	file, ends := written(template, n)
	whole, err := os.ReadFile(file)
	template.must(err)
	b := newBench(t)
	for at := ends[1]; at < ends[3]; at++ { // of records 3 and 4
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		b.only(file, damaged)
		hit := uint64(1)
		for ends[hit-1] <= at {
			hit++
		}
		want := slices.DeleteFunc(numbers(1, n), func(x uint64) bool { return x == hit })
		if got := b.reopened(n); !slices.Equal(got, want) {
			t.Fatalf("byte %d of record %d: %v", at, hit, got)
		}
		says := fmt.Sprintf("%s: %d bytes at byte %d are damaged, 1 records lost", filepath.Base(file), ends[hit-1]-ends[hit-2], ends[hit-2])
		if len(b.warned) != 1 || !strings.Contains(b.warned[0], says) {
			t.Fatalf("byte %d: warned %q, want %q", at, b.warned, says)
		}
	}
}

// A record that was there when the log was opened, and then can't be read any more, is
// passed over.
func TestDamageWhileOpen(t *testing.T) {
	b := newBench(t)
	file, ends := written(b, 6)
	l := b.open()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	b.must(err)
	_, err = f.WriteAt([]byte("damage"), ends[1]+5)
	b.must(errors.Join(err, f.Truncate(ends[4]+3), f.Close()))
	b.must(l.Append(records(7, 8)...))
	if got := b.readable(l, 1); !slices.Equal(got, []uint64{1, 2, 4, 5, 7, 8}) {
		t.Errorf("read %v", got)
	}
	if len(b.warned) != 1 || !strings.Contains(b.warned[0], "no whole record") {
		t.Errorf("warned %q", b.warned)
	}
	b.must(l.Release(8))
	b.must(l.Close())
}

// What an old file of the same place holds is not taken for a record.
func TestRecordsOfAnotherFile(t *testing.T) {
	b := newBench(t)
	file, _ := written(b, 4)
	old, err := os.ReadFile(file)
	b.must(err)
	l := b.open()
	b.must(l.Release(4))
	b.must(l.Close())
	file, _ = written(b, 2)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	b.must(err)
	_, err = f.Write(old) // as if after a power cut
	b.must(errors.Join(err, f.Close()))
	if got := b.reopened(2); !slices.Equal(got, numbers(1, 2)) {
		t.Errorf("read %v", got)
	}
}

// A record that was written, in vain as it seemed, and then again to the next file, is
// one record.
func TestRecordWrittenTwice(t *testing.T) {
	b := newBench(t)
	for i, rs := range [][]Record{records(1, 3), records(3, 5)} {
		var image []byte
		for _, r := range rs {
			image = appendRecord(image, Record{Data, r.Seq, r.Body}, 7)
		}
		b.must(os.WriteFile(filepath.Join(b.dir, fileName(uint32(i+1), 7)), image, 0o644))
	}
	l := b.open()
	if got := b.readable(l, 1); !slices.Equal(got, numbers(1, 5)) || !slices.Equal(b.visited, got) || len(b.warned) > 0 {
		t.Errorf("visited %v, read %v, warned %q", b.visited, got, b.warned)
	}
	b.must(l.Release(5))
	b.must(l.Close())
}

// Whatever is done, a log has what was appended and not released.
func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := newBench(t)
		b.o.Limit = 1 << uint(14+r.IntN(5))
		l := b.open()
		last, done, read := uint64(0), uint64(0), uint64(0)
		for range 400 {
			switch r.IntN(12) {
			case 0:
				b.crash(l)
				l = b.open()
				if l.Last() != last || l.Released() > done || len(b.warned) > 0 {
					t.Fatalf("last %d of %d, released %d of %d, warned %q", l.Last(), last, l.Released(), done, b.warned)
				}
				b.must(l.Release(done)) // that it was said is lost with the process, until the next record
				read = done
			case 1:
				b.must(l.Close())
				l = b.open()
				if done == last {
					last, done, read = 0, 0, 0
				}
				if l.Last() != last || l.Released() > done {
					t.Fatalf("closed and opened: last %d of %d, released %d of %d", l.Last(), last, l.Released(), done)
				}
				b.must(l.Release(done))
				read = done
			case 2:
				done += r.Uint64N(last - done + 1)
				b.must(l.Release(done))
			case 3:
				b.must(l.Sync())
			case 4, 5, 6:
				from := max(read, done) + 1
				got, err := l.Read(from)
				if from > last {
					if err != io.EOF {
						t.Fatalf("read %d of %d: %v", from, last, err)
					}
					continue
				}
				b.must(err)
				if read = got.Seq; read != from || !bytes.Equal(got.Body, body(read)) {
					t.Fatalf("asked for %d, read %d", from, read)
				}
			default:
				n := r.Uint64N(4)
				b.must(l.Append(records(last+1, last+n)...))
				last += n
			}
		}
		if got := b.readable(l, done+1); !slices.Equal(got, numbers(done+1, last)) {
			t.Fatalf("seed %d: read %v, want %d to %d", seed, got, done+1, last)
		}
		b.crash(l)
	}
}

// A disk that is full refuses a record whole, and takes it when there is room again.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a small file system has to be mounted: needs root")
	}
	b := newBench(t)
	b.dir = filepath.Join(os.TempDir(), "steady-test-full-log")
	unix.Unmount(b.dir, unix.MNT_DETACH) // of a test that was killed
	b.must(os.MkdirAll(b.dir, 0o755))
	if err := unix.Mount("tmpfs", b.dir, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("tmpfs can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		unix.Unmount(b.dir, unix.MNT_DETACH)
		os.Remove(b.dir)
	})
	l := b.open()
	last := uint64(0)
	var err error
	for err == nil {
		if err = l.Append(records(last+1, last+3)...); err == nil {
			last += 3
		}
	}
	if !errors.Is(err, unix.ENOSPC) || last < 60 {
		t.Fatalf("%d records, then %v", last, err)
	}
	if got := b.readable(l, 1); !slices.Equal(got, numbers(1, last)) {
		t.Errorf("read %v", got)
	}
	b.must(unix.Mount("tmpfs", b.dir, "tmpfs", unix.MS_REMOUNT, "size=1m"))
	b.must(l.Append(records(last+1, last+1)...)) // less than what failed
	b.crash(l)
	l = b.open()
	if !slices.Equal(b.visited, numbers(1, last+1)) || len(b.warned) > 0 {
		t.Errorf("visited %v, warned %q", b.visited, b.warned)
	}
	b.must(l.Release(last + 1))
	b.must(l.Close())
}

func BenchmarkAppend(b *testing.B) {
	x := newBench(b)
	l := x.open()
	r := Record{Body: make([]byte, 3000)}
	b.ReportAllocs()
	b.SetBytes(Size(3000))
	for b.Loop() {
		r.Seq++
		if err := l.Append(r); err != nil {
			b.Fatal(err)
		}
		if err := l.Release(r.Seq - 1); err != nil {
			b.Fatal(err)
		}
	}
	x.must(l.Release(r.Seq))
	x.must(l.Close())
}

// BenchmarkOpen reads through a full log of the default size.
func BenchmarkOpen(b *testing.B) {
	x := newBench(b)
	l := x.open()
	r := Record{Body: make([]byte, 3000)}
	for l.Fits(Size(3000)) {
		r.Seq++
		x.must(l.Append(r))
	}
	x.crash(l)
	b.SetBytes(DefaultLimit)
	for b.Loop() {
		l, err := Open(x.dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		x.crash(l)
	}
}
