package perf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// fake is a kernel that counts what a test says.
type fake struct {
	// refuse says why an event can't be opened; nil: all can.
	refuse func(a *attr, cpu, leader int) error
	// perMS is what an event counts a millisecond; nil: the CPU's number and one.
	perMS func(a *attr, cpu int) int64
	// share is the part of the time, in percent, that a leader's group runs; nil: all.
	share func(leader *attr, cpu int) int64

	events map[int]*fakeEvent // by file descriptor
	next   int
	opened int  // events, ever
	hurry  bool // each reading finds a nanosecond more gone by
}

type fakeEvent struct {
	attr
	cpu, leader          int
	members              []int // of a leader, itself first
	enabled, gone        bool
	time, running, count int64
	readError            error
	short                bool // the end of the file
}

func (f *fake) open(a *attr, cpu, leader int) (int, error) {
	if f.refuse != nil {
		if err := f.refuse(a, cpu, leader); err != nil {
			return -1, err
		}
	}
	f.opened++
	f.next++
	fd := 100 + f.next
	e := &fakeEvent{attr: *a, cpu: cpu, leader: leader}
	if leader < 0 {
		e.leader = fd
	}
	if l := f.events[e.leader]; l != nil && l.cpu != cpu {
		return -1, unix.EINVAL
	}
	f.events[fd] = e
	l := f.events[e.leader]
	l.members = append(l.members, fd)
	return fd, nil
}

func (f *fake) enable(leader int) error {
	f.events[leader].enabled = true
	return nil
}

func (f *fake) read(leader int, p []byte) (int, error) {
	e := f.events[leader]
	if e.readError != nil || e.short {
		return 0, e.readError
	}
	if f.hurry {
		e.time++
		e.running++
	}
	n := size(len(e.members))
	if len(p) < n {
		return 0, unix.ENOSPC
	}
	put := func(i int, v int64) { binary.NativeEndian.PutUint64(p[8*i:], uint64(v)) }
	put(0, int64(len(e.members)))
	put(1, e.time)
	put(2, e.running)
	for i, fd := range e.members {
		put(3+i, f.events[fd].count)
	}
	return n, nil
}

func (f *fake) close(fd int) error {
	if f.events[fd] == nil {
		return unix.EBADF
	}
	delete(f.events, fd)
	return nil
}

// pass lets time go by.
func (f *fake) pass(ms int64) {
	for fd, e := range f.events {
		l := f.events[e.leader]
		if l == nil || !l.enabled || l.gone {
			continue
		}
		running := ms
		if f.share != nil {
			running = ms * f.share(&l.attr, l.cpu) / 100
		}
		rate := int64(e.cpu + 1)
		if f.perMS != nil {
			rate = f.perMS(&e.attr, e.cpu)
		}
		e.count += rate * running
		if fd == e.leader {
			e.time += ms * 1e6
			e.running += running * 1e6
		}
	}
}

// offline takes a CPU's groups apart, as the kernel does when the CPU goes.
func (f *fake) offline(cpu int) {
	for fd, e := range f.events {
		if e.cpu == cpu {
			e.gone = true
			e.leader, e.members = fd, []int{fd}
		}
	}
}

func (f *fake) leaders(cpu int) (out []*fakeEvent) {
	for fd, e := range f.events {
		if e.cpu == cpu && e.leader == fd {
			out = append(out, e)
		}
	}
	return out
}

// machine is a host of the tests': files that describe it, and its kernel.
type machine struct {
	testing.TB
	*host
	fake  *fake
	root  string
	files int // that the process may open for events
	boot  int64
}

// newMachine makes a host of CPUs "0-3" with the PMU of a plain CPU.
func newMachine(t testing.TB, cpus string) *machine {
	t.Helper()
	m := &machine{TB: t, root: t.TempDir(), fake: &fake{events: make(map[int]*fakeEvent)}, files: 1 << 20}
	m.host = &host{proc: filepath.Join(m.root, "proc"), sys: filepath.Join(m.root, "sys"), kernel: m.fake,
		filesLeft: func() (int, int) { return m.files - len(m.fake.events), m.files }}
	m.online(cpus)
	m.write(map[string]string{
		"sys/bus/event_source/devices/cpu/type": "4", "proc/sys/kernel/perf_event_paranoid": "2",
	})
	return m
}

func (m *machine) write(files map[string]string) {
	m.Helper()
	for name, text := range files {
		path := filepath.Join(m.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			m.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o666); err != nil {
			m.Fatal(err)
		}
	}
}

func (m *machine) remove(name string) {
	m.Helper()
	if err := os.RemoveAll(filepath.Join(m.root, name)); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) online(cpus string) {
	m.Helper()
	m.write(map[string]string{"sys/devices/system/cpu/online": cpus})
}

// hybrid makes of the host one with two kinds of cores.
func (m *machine) hybrid(core, atom string) {
	m.Helper()
	m.remove("sys/bus/event_source/devices/cpu")
	m.write(map[string]string{
		"sys/bus/event_source/devices/cpu_core/type": "4", "sys/bus/event_source/devices/cpu_core/cpus": core,
		"sys/bus/event_source/devices/cpu_atom/type": "10", "sys/bus/event_source/devices/cpu_atom/cpus": atom,
	})
}

func (m *machine) clock() (wallNS, bootNS int64) {
	m.boot++
	return 1e18 + m.boot, m.boot
}

// open opens the sources, and closes them with the test.
func (m *machine) open(o Options) (sources []collector.Source, absent map[string]string) {
	m.Helper()
	sources, absent, err := m.sources(m.clock, o)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		for _, s := range sources {
			if err := s.Close(); err != nil {
				m.Error(err)
			}
		}
		if n := len(m.fake.events); n > 0 {
			m.Errorf("%d events are still open", n)
		}
	})
	return sources, absent
}

// only opens the one source that there is.
func (m *machine) only(o Options) (*reader, map[string]string) {
	m.Helper()
	sources, absent := m.open(o)
	if len(sources) != 1 {
		m.Fatalf("%d sources, absent %v", len(sources), absent)
	}
	return newReader(m, sources[0]), absent
}

// reader reads a source tick by tick.
type reader struct {
	testing.TB
	source collector.Source
	block  []schemas.Block
}

func newReader(t testing.TB, s collector.Source) *reader {
	return &reader{t, s, []schemas.Block{{Table: s.Tables()[0]}}}
}

// tick reads the source and returns its known values by "device column", and its notes as
// "reason column part".
func (r *reader) tick() (values map[string]int64, notes []string) {
	r.Helper()
	if err := r.source.Sample(r.block); err != nil {
		r.Fatal(err)
	}
	b := &r.block[0]
	n := len(b.Table.Columns)
	if len(b.Values) != n*len(b.Devices) || len(b.Known) != len(b.Values) {
		r.Fatalf("%d values of %d devices", len(b.Values), len(b.Devices))
	}
	values = make(map[string]int64)
	for i, known := range b.Known {
		if known {
			values[b.Devices[i/n]+" "+b.Table.Columns[i%n].Name] = b.Values[i]
		}
	}
	for _, row := range r.source.(collector.Noter).Notes(nil) {
		q := row.Table
		text := func(c string) string { return row.Cells[q.Column(c)].Text }
		if text("table") != b.Table.Name || text("detail") == "" || row.BootNS > b.BootNS || row.BootNS < b.BootNS-1 || row.WallNS-row.BootNS != b.WallNS-b.BootNS {
			r.Errorf("note %+v of a tick at %d", row, b.BootNS)
		}
		notes = append(notes, strings.Join([]string{text("reason"), text("column"), text("part")}, " "))
	}
	return values, notes
}

func (r *reader) detail() string {
	rows := r.source.(collector.Noter).Notes(nil)
	return rows[len(rows)-1].Cells[schemas.Quality.Column("detail")].Text
}

// want compares some of the values: null is "-".
func want(t testing.TB, got map[string]int64, wanted map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		s := "-"
		if v, ok := got[k]; ok {
			s = fmt.Sprint(v)
		}
		if s != wanted[k] {
			t.Errorf("%s: %s, want %s", k, s, wanted[k])
		}
	}
}

func wantNotes(t testing.TB, got []string, wanted ...string) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("notes %q, want %q", got, wanted)
	}
}

// is reports whether an attribute is that of a named event.
func (a *attr) is(event string) bool {
	e := named[event]
	return a.typ == e.typ && a.config == [3]uint64{e.config}
}
