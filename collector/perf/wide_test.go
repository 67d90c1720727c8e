package perf

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// Each CPU has its row, each event its own count, as it was counted.
func TestEachEventInItsColumn(t *testing.T) {
	m := newMachine(t, "0-1,8")
	// Each event counts something else, by its place in the table.
	m.fake.perMS = func(a *attr, cpu int) int64 {
		i := slices.IndexFunc(schemas.Perf.Columns, func(c schemas.Column) bool { return c.Source != "" && a.is(c.Source) })
		return int64(1000*cpu + i)
	}
	r, absent := m.only(Options{Extended: true})
	if len(absent) > 0 {
		t.Errorf("absent %q", absent)
	}
	m.fake.pass(5)
	got, notes := r.tick()
	wantNotes(t, notes)
	if !slices.Equal(r.block[0].Devices, []string{"0", "1", "8"}) {
		t.Errorf("devices %q", r.block[0].Devices)
	}
	for _, cpu := range []struct {
		device string
		base   int64
	}{{"0", 0}, {"1", 1000}, {"8", 8000}} {
		for _, c := range schemas.Perf.Columns {
			v, ok := got[cpu.device+" "+c.Name]
			w := int64(5e6)
			if c.Source != "" {
				first := slices.IndexFunc(schemas.Perf.Columns, func(x schemas.Column) bool { return x.Source == c.Source })
				w = 5 * (cpu.base + int64(first))
			}
			if !ok || v != w {
				t.Errorf("%s of CPU %s: %d, %v, want %d", c.Name, cpu.device, v, ok, w)
			}
		}
	}
}

// What is counted on request only is null else, and nothing is said about it.
func TestLeanUnlessAsked(t *testing.T) {
	m := newMachine(t, "0")
	r, absent := m.only(Options{})
	m.fake.pass(1)
	got, _ := r.tick()
	if len(absent) > 0 || len(got) != 11+6+4 || m.fake.opened != 9+4+2 {
		t.Errorf("absent %q, %d values, %d events", absent, len(got), m.fake.opened)
	}
}

// A reading is stamped before the first CPU is read.
func TestStamp(t *testing.T) {
	m := newMachine(t, "0")
	r, _ := m.only(Options{})
	for i := range int64(3) {
		m.fake.pass(1)
		r.tick()
		if b := r.block[0]; b.BootNS != i+1 || b.WallNS != 1e18+i+1 {
			t.Errorf("tick %d at %d, %d", i, b.BootNS, b.WallNS)
		}
	}
}

// An event that can't be had costs itself, be it the leader.
func TestGroupWithoutAMember(t *testing.T) {
	for _, tt := range []struct {
		lacking []string
		null    []string
		absent  map[string]string
	}{
		{[]string{"cache-misses"}, []string{"cache_misses"}, map[string]string{"perf/cache-misses": "does not have this event"}},
		{[]string{"cycles"}, []string{"cycles"}, map[string]string{"perf/cycles": "does not have this event"}},
		{[]string{"cycles", "instructions", "branch-misses"}, []string{"cycles", "instructions", "branch_misses"},
			map[string]string{"perf/cycles, instructions, branch-misses": "does not have this event"}},
		{[]string{"branches", "branch-misses", "cache-references"}, []string{"branch_enabled_ns", "branch_running_ns", "branches", "branch_misses", "cache_references"},
			map[string]string{"perf/cache-references, branch": "does not have this event"}},
	} {
		t.Run(strings.Join(tt.lacking, " "), func(t *testing.T) {
			m := newMachine(t, "0-1")
			m.fake.refuse = func(a *attr, _, _ int) error {
				if slices.ContainsFunc(tt.lacking, a.is) {
					return unix.ENOENT
				}
				return nil
			}
			r, absent := m.only(Options{})
			says(t, absent, tt.absent)
			m.fake.pass(3)
			got, notes := r.tick()
			wantNotes(t, notes) // absent has said it
			for i := range 11 + 6 + 4 {
				c := schemas.Perf.Columns[i].Name
				v, ok := got["1 "+c]
				switch {
				case ok == slices.Contains(tt.null, c):
					t.Errorf("%s: %d, %v", c, v, ok)
				case ok && schemas.Perf.Columns[i].Source != "" && v != 6:
					t.Errorf("%s: %d, want 6", c, v)
				}
			}
		})
	}
}

// says compares causes: each wanted one is part of the text.
func says(t *testing.T, absent, wanted map[string]string) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(absent)), slices.Sorted(maps.Keys(wanted)); !slices.Equal(a, b) {
		t.Errorf("absent %q, want %q", absent, b)
	}
	for k, part := range wanted {
		if !strings.Contains(absent[k], part) {
			t.Errorf("%s: %q does not say %q", k, absent[k], part)
		}
	}
}

// Each cause in words, with what to do about it.
func TestCausesInWords(t *testing.T) {
	for _, tt := range []struct {
		errno unix.Errno
		noPMU bool
		says  string
	}{
		{unix.ENOENT, true, "virtual PMU"},
		{unix.EOPNOTSUPP, true, "virtual PMU"},
		{unix.ENODEV, true, "virtual PMU"},
		{unix.ENOENT, false, "does not have this event"},
		{unix.ENODEV, false, "no PMU of this CPU"},
		{unix.EOPNOTSUPP, false, "not with these modifiers"},
		{unix.EACCES, false, "kernel.perf_event_paranoid is 2): run as root, or give the program CAP_PERFMON"},
		{unix.EPERM, false, "seccomp"},
		{unix.EMFILE, false, "1048576 that it may open: raise its hard limit"},
		{unix.ENFILE, false, "fs.file-max"},
		{unix.EINVAL, false, "more than it can count together"},
		{unix.EBUSY, false, "another program"},
		{unix.ENOSYS, false, "CONFIG_PERF_EVENTS"},
		{unix.E2BIG, false, "too old"},
		{unix.ENOMEM, false, "no memory"},
		{unix.EIO, false, "input/output error"},
	} {
		t.Run(tt.errno.Error(), func(t *testing.T) {
			m := newMachine(t, "0-1")
			if tt.noPMU {
				m.remove("sys/bus/event_source/devices/cpu")
			}
			m.fake.refuse = func(a *attr, _, _ int) error {
				if a.typ == unix.PERF_TYPE_SOFTWARE {
					return nil
				}
				return tt.errno
			}
			_, absent := m.only(Options{Events: []string{"cycles:u"}})
			says(t, absent, map[string]string{"perf/core, branch": tt.says, "perf_event": tt.says})
		})
	}
}

// Where nothing can be had there is no source, and one cause for it.
func TestNothingToBeHad(t *testing.T) {
	m := newMachine(t, "0-3")
	m.fake.refuse = func(*attr, int, int) error { return unix.EACCES }
	sources, absent := m.open(Options{Extended: true, Events: []string{"cs", "cycles"}})
	if len(sources) > 0 {
		t.Errorf("%d sources", len(sources))
	}
	says(t, absent, map[string]string{"perf": "run as root", "perf_event": "run as root"})

	m = newMachine(t, "0")
	m.remove("sys")
	sources, absent = m.open(Options{Events: []string{"cs"}})
	if len(sources) > 0 {
		t.Errorf("%d sources", len(sources))
	}
	says(t, absent, map[string]string{"perf": "is /sys mounted?", "perf_event": "is /sys mounted?"})
}

// An event that only some CPUs have is null on the others.
func TestEventOfSomeCPUs(t *testing.T) {
	m := newMachine(t, "0-3")
	m.fake.refuse = func(a *attr, cpu, _ int) error {
		if cpu >= 2 && a.is("stalled-cycles-frontend") {
			return unix.ENOENT
		}
		return nil
	}
	r, absent := m.only(Options{Extended: true})
	says(t, absent, map[string]string{"perf/stalled-cycles-frontend": "on 2 of 4 CPUs (first on CPU 2): the CPU's PMU"})
	m.fake.pass(1)
	got, notes := r.tick()
	wantNotes(t, notes)
	want(t, got, map[string]string{"1 stalled_cycles_frontend": "2", "2 stalled_cycles_frontend": "-", "2 stalled_cycles_backend": "3", "2 stall_cycles": "3"})
}

// A group that only some CPUs have is absent on the others, which no tick says again.
func TestGroupOfSomeCPUs(t *testing.T) {
	m := newMachine(t, "0-3")
	m.fake.refuse = func(a *attr, cpu, _ int) error {
		if cpu >= 2 && a.typ == unix.PERF_TYPE_HARDWARE {
			return unix.ENOENT
		}
		return nil
	}
	sources, absent := m.open(Options{Events: []string{"bus-cycles"}})
	says(t, absent, map[string]string{"perf/core, branch": "on 2 of 4 CPUs (first on CPU 2)", "perf_event": "on 2 of 4 CPUs"})
	for i, wanted := range []map[string]string{
		{"1 cycles": "2", "2 cycles": "-", "2 context_switches": "3"}, {"bus-cycles count": "3"},
	} {
		r := newReader(t, sources[i])
		if i == 0 {
			m.fake.pass(1)
		}
		got, notes := r.tick()
		want(t, got, wanted)
		wantNotes(t, notes)
	}
}

// Files are shared out group by group, and the rest of the process keeps some: a group is
// there on all CPUs or on none.
func TestFilesLacking(t *testing.T) {
	m := newMachine(t, "0-3")
	m.files = 4*9 + 4*2 + 4 + 3 // software fits, core does not, branch does
	sources, absent := m.open(Options{Events: []string{"cs", "migrations"}})
	says(t, absent, map[string]string{
		"perf/core":             "it needs 16 open files (4 CPUs x 4 events); of the 51 that the process may open 15 are left",
		"perf_event/migrations": "it needs 4 open files (4 CPUs x 1 events)",
	})
	m.fake.pass(1)
	wide, _ := newReader(t, sources[0]).tick()
	want(t, wide, map[string]string{"3 task_clock_ns": "4", "3 cycles": "-", "3 branches": "4"})
	tall, _ := newReader(t, sources[1]).tick()
	want(t, tall, map[string]string{"cs count": "10", "migrations count": "-"})
}

// Groups that share the counters: their counts stay as counted, and it is said once.
func TestGroupsThatTakeTurns(t *testing.T) {
	m := newMachine(t, "0-1")
	share := int64(100)
	m.fake.share = func(leader *attr, cpu int) int64 {
		if leader.is("cycles") && cpu == 1 {
			return share
		}
		return 100
	}
	r, _ := m.only(Options{})
	for i, tt := range []struct {
		share          int64
		cycles, branch string
		notes          []string
	}{
		{100, "2000", "2000", nil},
		{91, "3820", "4000", nil}, // little is scaled up
		{60, "5020", "6000", []string{"multiplexed core_running_ns 1"}},
		{40, "5820", "8000", nil}, // said already
		{0, "5820", "10000", nil}, // no turn at all in a tick: the times say so
	} {
		share = tt.share
		m.fake.pass(1000)
		got, notes := r.tick()
		want(t, got, map[string]string{"1 cycles": tt.cycles, "1 branches": tt.branch})
		wantNotes(t, notes, tt.notes...)
		if i == 2 && !strings.Contains(r.detail(), "core was counted for 60 % of the time") {
			t.Error(r.detail())
		}
		if i == 4 {
			want(t, got, map[string]string{"1 core_enabled_ns": "5000000000", "1 core_running_ns": "2910000000", "0 core_running_ns": "5000000000"})
		}
	}
}

// A group that never had its turn has counted nothing: its counts are null, not 0.
func TestGroupThatNeverGetsItsTurn(t *testing.T) {
	m := newMachine(t, "0")
	share := int64(0)
	m.fake.share = func(leader *attr, _ int) int64 {
		if leader.is("branches") {
			return share
		}
		return 100
	}
	r, _ := m.only(Options{})
	got, notes := r.tick() // nothing was to be counted yet
	want(t, got, map[string]string{"0 branches": "0", "0 branch_enabled_ns": "0"})
	wantNotes(t, notes)
	for i := range 2 {
		m.fake.pass(1000)
		got, notes = r.tick()
		want(t, got, map[string]string{"0 branches": "-", "0 branch_misses": "-", "0 branch_running_ns": "0", "0 cycles": []string{"1000", "2000"}[i]})
		wantNotes(t, notes, [][]string{{"absent branch_running_ns 0"}, nil}[i]...)
	}
	share = 100
	m.fake.pass(1000)
	got, _ = r.tick()
	want(t, got, map[string]string{"0 branches": "1000", "0 branch_running_ns": "1000000000", "0 branch_enabled_ns": "3000000000"})
}

// Cores of several kinds are told apart by name.
func TestCoresOfSeveralKinds(t *testing.T) {
	m := newMachine(t, "0-1,8")
	m.hybrid("0-1", "8-9")
	r, _ := m.only(Options{})
	m.fake.pass(1)
	got, _ := r.tick()
	want(t, got, map[string]string{"cpu_core/0 cycles": "1", "cpu_core/1 cycles": "2", "cpu_atom/8 cycles": "9"})
	m.online("0-1,8-9")
	r.tick()
	if want := []string{"cpu_core/0", "cpu_core/1", "cpu_atom/8", "cpu_atom/9"}; !slices.Equal(r.block[0].Devices, want) {
		t.Errorf("devices %q, want %q", r.block[0].Devices, want)
	}
}

// One kind of core needs no name, whatever its PMU is called.
func TestPMUOfOneKind(t *testing.T) {
	m := newMachine(t, "0-1")
	m.remove("sys/bus/event_source/devices/cpu")
	m.write(map[string]string{"sys/bus/event_source/devices/armv8_pmuv3_0/type": "8", "sys/bus/event_source/devices/armv8_pmuv3_0/cpus": "0-1"})
	r, _ := m.only(Options{})
	r.tick()
	if want := []string{"0", "1"}; !slices.Equal(r.block[0].Devices, want) {
		t.Errorf("devices %q, want %q", r.block[0].Devices, want)
	}
}

// A CPU that goes takes its row with it. One that comes back begins anew, after a tick
// without counts, so that no difference goes across; the others count on.
func TestCPUGoesAndComesBack(t *testing.T) {
	m := newMachine(t, "0-2")
	r, _ := m.only(Options{})
	step := func(devices string, values map[string]string, notes ...string) {
		t.Helper()
		m.fake.pass(1000)
		got, said := r.tick()
		if d := strings.Join(r.block[0].Devices, " "); d != devices {
			t.Errorf("devices %s, want %s", d, devices)
		}
		want(t, got, values)
		wantNotes(t, said, notes...)
	}
	step("0 1 2", map[string]string{"1 cycles": "2000", "2 cycles": "3000"})
	held := r.block[0].Devices
	m.fake.offline(1)
	m.online("0,2")
	step("0 2", map[string]string{"0 cycles": "2000", "2 cycles": "6000"}, "hotplug  1")
	step("0 2", map[string]string{"0 cycles": "3000"})
	if n := len(m.fake.leaders(1)); n > 0 {
		t.Errorf("%d groups of the CPU that went are still open", n)
	}
	m.online("0-2")
	step("0 1 2", map[string]string{"1 cycles": "-", "1 core_enabled_ns": "-", "2 cycles": "12000"}, "hotplug  1")
	step("0 1 2", map[string]string{"1 cycles": "2000", "1 core_enabled_ns": "1000000000", "2 cycles": "15000"})
	m.online("0-3")
	step("0 1 2 3", map[string]string{"3 cycles": "-"}, "hotplug  3")
	step("0 1 2 3", map[string]string{"3 cycles": "4000"})
	if !slices.Equal(held, []string{"0", "1", "2"}) {
		t.Errorf("the devices of an earlier tick became %q", held)
	}
}

// Counters that ended are found whatever shows it, also when the list of CPUs is the same
// again at the next tick.
func TestCountersThatEndedAreOpenedAgain(t *testing.T) {
	for name, end := range map[string]func(m *machine){
		"a CPU gone and back":    func(m *machine) { m.fake.offline(1) },
		"a PMU gone":             func(m *machine) { m.each(1, func(e *fakeEvent) { e.readError = unix.ENODEV }) },
		"an error state":         func(m *machine) { m.each(1, func(e *fakeEvent) { e.short = true }) },
		"one group's time":       func(m *machine) { m.each(1, func(e *fakeEvent) { e.gone = e.is("branches") }) },
		"a time that stands":     func(m *machine) { m.each(1, func(e *fakeEvent) { e.gone = true }) },
		"a member that is apart": func(m *machine) { m.each(1, func(e *fakeEvent) { e.members = e.members[:1] }) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "0-1")
			r, _ := m.only(Options{})
			m.fake.pass(1000)
			r.tick()
			end(m)
			m.fake.pass(1000)
			got, notes := r.tick()
			want(t, got, map[string]string{"0 cycles": "2000", "1 cycles": "-", "1 core_enabled_ns": "-", "1 context_switches": "-", "1 branches": "-"})
			wantNotes(t, notes, "hotplug  1")
			m.fake.pass(1000)
			got, notes = r.tick()
			want(t, got, map[string]string{"0 cycles": "3000", "1 cycles": "2000", "1 core_enabled_ns": "1000000000", "1 context_switches": "2000"})
			wantNotes(t, notes)
		})
	}
}

func (m *machine) each(cpu int, f func(*fakeEvent)) {
	for _, e := range m.fake.leaders(cpu) {
		f(e)
	}
}

// What can't be opened again is tried at each tick while it may come back, said once.
func TestCountersTakenAway(t *testing.T) {
	for _, tt := range []struct {
		errno unix.Errno
		again bool
	}{{unix.EBUSY, true}, {unix.ENODEV, true}, {unix.EMFILE, true}, {unix.EACCES, false}} {
		t.Run(tt.errno.Error(), func(t *testing.T) {
			m := newMachine(t, "0-1")
			r, _ := m.only(Options{})
			m.fake.pass(1000)
			r.tick()
			refused := 0
			m.fake.refuse = func(a *attr, cpu, _ int) error {
				if a.typ == unix.PERF_TYPE_SOFTWARE || a.is("branches") || a.is("branch-misses") {
					return nil
				}
				refused++
				return tt.errno
			}
			m.each(0, func(e *fakeEvent) { e.gone = e.is("cycles") })
			m.fake.pass(1000)
			got, notes := r.tick()
			want(t, got, map[string]string{"0 cycles": "-", "0 branches": "-", "1 cycles": "4000"})
			wantNotes(t, notes, "hotplug  0", "absent core_running_ns 0")
			m.fake.pass(1000)
			got, notes = r.tick()
			want(t, got, map[string]string{"0 cycles": "-", "0 branches": "1000", "1 cycles": "6000"})
			wantNotes(t, notes)
			if w := map[bool]int{true: 8, false: 4}[tt.again]; refused != w {
				t.Errorf("tried %d times, want %d", refused, w)
			}
			m.fake.refuse = nil
			m.fake.pass(1000)
			r.tick()
			m.fake.pass(1000)
			got, _ = r.tick()
			want(t, got, map[string]string{"0 cycles": map[bool]string{true: "1000", false: "-"}[tt.again], "0 branches": "3000"})
		})
	}
}

// A host all of whose counters were taken away has a gap, no empty tick.
func TestNoCPUCounts(t *testing.T) {
	m := newMachine(t, "0-1")
	r, _ := m.only(Options{})
	m.fake.refuse = func(*attr, int, int) error { return unix.EBUSY }
	m.fake.offline(0)
	m.fake.offline(1)
	if err := r.source.Sample(r.block); err == nil || !strings.Contains(err.Error(), "no CPU counts") {
		t.Error(err)
	}
}

// A list of CPUs that can't be read is a gap, and the next reading goes on.
func TestListOfCPUsDamaged(t *testing.T) {
	m := newMachine(t, "0-1")
	r, _ := m.only(Options{})
	for _, text := range []string{"0-", "x", "1,0", "0-99999999"} {
		m.online(text)
		if err := r.source.Sample(r.block); err == nil || !strings.Contains(err.Error(), "no list of CPUs") {
			t.Errorf("%q: %v", text, err)
		}
	}
	m.online("0-1")
	m.fake.pass(1)
	got, notes := r.tick()
	want(t, got, map[string]string{"0 cycles": "1", "1 cycles": "2"})
	wantNotes(t, notes)
}

func TestNoAllocationATick(t *testing.T) {
	m := newMachine(t, "0-255")
	sources, _ := m.open(Options{Extended: true, Events: []string{"cycles:u", "sched_x:y", "r1a8"}})
	m.fake.pass(1)
	for _, s := range sources {
		r := newReader(t, s)
		r.tick()
		var rows []schemas.Row
		n := testing.AllocsPerRun(20, func() {
			m.fake.pass(1)
			if err := s.Sample(r.block); err != nil {
				t.Fatal(err)
			}
			rows = s.(interface {
				Notes([]schemas.Row) []schemas.Row
			}).Notes(rows)
		})
		if n != 0 || len(rows) > 0 {
			t.Errorf("%s: %v allocations a tick, %d notes", s.Name(), n, len(rows))
		}
	}
}
