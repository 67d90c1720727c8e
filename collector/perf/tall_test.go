package perf

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// An event's row is the sum over its CPUs, or each has its own.
func TestEventsOverCPUs(t *testing.T) {
	events := []string{"cs, cycles:u", "r1a8"}
	for _, tt := range []struct {
		perCPU  bool
		devices []string
		values  map[string]string
	}{
		{false, []string{"cs", "cycles:u", "r1a8"},
			map[string]string{"cs count": "12", "cs enabled_ns": "6000000", "cs running_ns": "6000000", "r1a8 count": "12"}},
		{true, []string{"cs@0", "cs@1", "cs@2", "cycles:u@0", "cycles:u@1", "cycles:u@2", "r1a8@0", "r1a8@1", "r1a8@2"},
			map[string]string{"cs@0 count": "2", "cs@2 count": "6", "cs@2 enabled_ns": "2000000"}},
	} {
		m := newMachine(t, "0-2")
		sources, absent := m.open(Options{Events: events, PerCPU: tt.perCPU})
		if len(absent) > 0 || sources[1].Name() != "perf_event" {
			t.Fatalf("absent %q, %d sources", absent, len(sources))
		}
		r := newReader(t, sources[1])
		m.fake.pass(2)
		got, notes := r.tick()
		wantNotes(t, notes)
		want(t, got, tt.values)
		if !slices.Equal(r.block[0].Devices, tt.devices) {
			t.Errorf("devices %q", r.block[0].Devices)
		}
	}
}

// An event that the host lacks is named with its cause; the others are counted.
func TestEventsThatTheHostLacks(t *testing.T) {
	m := newMachine(t, "0")
	m.fake.refuse = func(a *attr, _, _ int) error {
		if a.is("bus-cycles") || a.is("ref-cycles") {
			return unix.ENOENT
		}
		return nil
	}
	sources, absent := m.open(Options{Events: []string{"bus-cycles,cs,nosuch/event=1/,sched:sched_switch,ref-cycles"}})
	says(t, absent, map[string]string{
		"perf_event/bus-cycles, ref-cycles": "does not have this event",
		"perf_event/nosuch/event=1/":        "no PMU nosuch",
		"perf_event/sched:sched_switch":     "mount -t tracefs nodev /sys/kernel/tracing",
	})
	r := newReader(t, sources[1])
	m.fake.pass(1)
	if got, _ := r.tick(); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// What a CPU's counters had counted stays in the sum when they end, to the last reading
// that they give: the sum only grows. A row of the CPU alone begins anew.
func TestSumsOverCPUsThatComeAndGo(t *testing.T) {
	for _, perCPU := range []bool{false, true} {
		m := newMachine(t, "0-1")
		sources, _ := m.open(Options{Events: []string{"cs"}, PerCPU: perCPU})
		r := newReader(t, sources[1])
		step := func(sum, alone string, notes int) {
			t.Helper()
			got, said := r.tick()
			if perCPU {
				want(t, got, map[string]string{"cs@1 count": alone})
			} else {
				want(t, got, map[string]string{"cs count": sum})
			}
			if len(said) != notes {
				t.Errorf("notes %q", said)
			}
		}
		m.fake.pass(1000)
		step("3000", "2000", 0)
		m.fake.pass(1000)
		m.fake.offline(1)
		m.fake.pass(1000)
		m.online("0")
		step("7000", "-", 1) // 3000 and 4000
		m.fake.pass(1000)
		step("8000", "-", 0)
		m.online("0-1")
		m.fake.pass(1000)
		step("9000", "-", 0)
		m.fake.pass(1000)
		step("12000", "6000", 0)
		m.online("0-2")
		m.fake.pass(1000)
		step("15000", "8000", 0)
		m.fake.pass(1000)
		step("21000", "10000", 0)
	}
}

// A PMU that counts for several CPUs is opened on those that stand for them, is the sum of its
// instances, and stays when its CPU goes: the kernel moves its events.
func TestUncoreEvents(t *testing.T) {
	m := newMachine(t, "0-3")
	for _, name := range []string{"uncore_imc_0", "uncore_imc_1", "uncore_imc_free_running"} {
		m.write(map[string]string{
			"sys/bus/event_source/devices/" + name + "/type":                   "1" + name[len(name)-1:],
			"sys/bus/event_source/devices/" + name + "/cpumask":                "0,2,4",
			"sys/bus/event_source/devices/" + name + "/format/event":           "config:0-7",
			"sys/bus/event_source/devices/" + name + "/format/umask":           "config:8-15",
			"sys/bus/event_source/devices/" + name + "/events/cas_count_read":  "event=0x04,umask=0x03",
			"sys/bus/event_source/devices/" + name + "/events/cas_count_write": "event=0x04,umask=0x0c",
		})
	}
	m.remove("sys/bus/event_source/devices/uncore_imc_free_running/type")
	sources, absent := m.open(Options{Events: []string{"uncore_imc/cas_count_read/,uncore_imc_1/cas_count_write/"}})
	if len(absent) > 0 {
		t.Errorf("absent %q", absent)
	}
	r := newReader(t, sources[1])
	m.fake.pass(1)
	got, _ := r.tick()
	want(t, got, map[string]string{"uncore_imc/cas_count_read/ count": "8", "uncore_imc/cas_count_read/ enabled_ns": "4000000", "uncore_imc_1/cas_count_write/ count": "4"})
	m.online("1-5")
	m.fake.pass(1)
	got, notes := r.tick()
	want(t, got, map[string]string{"uncore_imc/cas_count_read/ count": "16", "uncore_imc_1/cas_count_write/ count": "8"})
	wantNotes(t, notes)
	m.fake.pass(1)
	got, _ = r.tick()
	want(t, got, map[string]string{"uncore_imc/cas_count_read/ count": "24", "uncore_imc_1/cas_count_write/ count": "12"})
}

// PMUs of one name with numbers, each on every CPU.
func TestInstancesOnEachCPU(t *testing.T) {
	m := newMachine(t, "0-1")
	m.write(map[string]string{"sys/bus/event_source/devices/x_0/type": "20", "sys/bus/event_source/devices/x_1/type": "21"})
	sources, absent := m.open(Options{Events: []string{"x/config=1/"}, PerCPU: true})
	if len(absent) > 0 {
		t.Errorf("absent %q", absent)
	}
	r := newReader(t, sources[1])
	m.fake.pass(1)
	got, _ := r.tick()
	want(t, got, map[string]string{"x/config=1/@0 count": "2", "x/config=1/@1 count": "4"})
	m.online("0-2")
	r.tick()
	m.fake.pass(1)
	got, _ = r.tick()
	want(t, got, map[string]string{"x/config=1/@0 count": "4", "x/config=1/@2 count": "6"})
}

// Raw events have the type of each kind of core's PMU, and those of one kind stay on it.
func TestEventsOnCoresOfSeveralKinds(t *testing.T) {
	m := newMachine(t, "0-1,8")
	m.hybrid("0-1", "8")
	m.fake.refuse = func(a *attr, cpu, _ int) error {
		if a.config[0] != 0x1a8 {
			return nil
		}
		if want := map[int]uint32{0: 4, 1: 4, 8: 10}[cpu]; a.typ != want {
			t.Errorf("type %d on CPU %d, want %d", a.typ, cpu, want)
		}
		return nil
	}
	sources, absent := m.open(Options{Events: []string{"r1a8,cpu_atom/cycles/,cpu_core/instructions/u"}})
	if len(absent) > 0 {
		t.Errorf("absent %q", absent)
	}
	r := newReader(t, sources[1])
	m.fake.pass(1)
	got, _ := r.tick()
	want(t, got, map[string]string{"r1a8 count": "12", "cpu_atom/cycles/ count": "9", "cpu_core/instructions/u count": "3"})
	m.online("0-1")
	r.tick()
	if n := len(m.fake.leaders(8)); n != 3 { // those of table perf, which was not read
		t.Errorf("%d groups on CPU 8", n)
	}
}

// The turns of an event are noted once, be it by the sum or by one of its CPUs.
func TestEventsThatTakeTurns(t *testing.T) {
	for _, perCPU := range []bool{false, true} {
		m := newMachine(t, "0-1")
		m.fake.share = func(leader *attr, cpu int) int64 {
			switch {
			case leader.is("bus-cycles"):
				return 50
			case leader.is("ref-cycles"):
				return 0
			}
			return 100
		}
		sources, _ := m.open(Options{Events: []string{"bus-cycles", "ref-cycles"}, PerCPU: perCPU})
		r := newReader(t, sources[1])
		if _, notes := r.tick(); len(notes) > 0 {
			t.Errorf("notes %q before there were turns", notes)
		}
		m.fake.pass(1000)
		got, notes := r.tick()
		if perCPU {
			want(t, got, map[string]string{"bus-cycles@1 count": "1000", "bus-cycles@1 running_ns": "500000000", "ref-cycles@1 count": "-", "ref-cycles@1 running_ns": "0"})
			wantNotes(t, notes, "multiplexed running_ns bus-cycles@0", "absent running_ns ref-cycles@0")
		} else {
			want(t, got, map[string]string{"bus-cycles count": "1500", "bus-cycles running_ns": "1000000000", "ref-cycles count": "-", "ref-cycles running_ns": "0"})
			wantNotes(t, notes, "multiplexed running_ns bus-cycles", "absent running_ns ref-cycles")
		}
		m.fake.pass(1000)
		_, notes = r.tick()
		wantNotes(t, notes)
	}
}

// While no counter of an event can be read its sum is unknown: it does not stand still.
func TestSumOfNothing(t *testing.T) {
	m := newMachine(t, "0-1")
	sources, _ := m.open(Options{Events: []string{"cs"}})
	r := newReader(t, sources[1])
	m.fake.pass(1000)
	r.tick()
	m.fake.refuse = func(*attr, int, int) error { return unix.EBUSY }
	m.fake.offline(0)
	m.fake.offline(1)
	got, notes := r.tick()
	want(t, got, map[string]string{"cs count": "-", "cs enabled_ns": "-"})
	if len(notes) != 4 {
		t.Errorf("notes %q", notes)
	}
	m.fake.refuse = nil
	r.tick()
	m.fake.pass(1000)
	got, _ = r.tick()
	want(t, got, map[string]string{"cs count": "6000", "cs enabled_ns": "4000000000"})
}
