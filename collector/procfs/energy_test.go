package procfs

import (
	"path/filepath"
	"strconv"
	"testing"
)

// The range of a package's counter, and the joules that it may count in a second.
const (
	rapl   = 262143328850
	second = int64(1e9)
)

func TestMeter(t *testing.T) {
	type reading struct {
		v     uint64
		atNS  int64
		total uint64
		ok    bool
	}
	for _, tt := range []struct {
		name     string
		limit    uint64
		readings []reading
	}{
		{"goes on", rapl, []reading{{100, 0, 0, true}, {100, second, 0, true}, {250, 2 * second, 150, true}}},
		{"wraps exactly", rapl, []reading{{rapl - 5, 0, 0, true}, {rapl, second, 5, true}, {0, 2 * second, 6, true}, {7, 3 * second, 13, true}}},
		{"wraps in one step", rapl, []reading{{rapl - 99e6, 0, 0, true}, {100e6 - 1, second, 199e6, true}}},
		{"twice in all", 1e9 - 1, []reading{{9e8, 0, 0, true}, {1e8, second / 2, 2e8, true}, {9e8, second, 1e9, true}, {1e8, 3 * second / 2, 12e8, true}}},
		{"from its largest value", rapl, []reading{{rapl, 0, 0, true}, {0, second, 1, true}}},
		{"began anew", rapl, []reading{{5e9, 0, 0, true}, {1e6, second, 0, false}, {3e6, 2 * second, 2e6, true}}},
		{"too long ago", rapl, []reading{{5e9, 0, 0, true}, {6e9, 263 * second, 0, false}, {7e9, 264 * second, 1e9, true}}},
		{"just in time", rapl, []reading{{5e9, 0, 0, true}, {6e9, 262 * second, 1e9, true}}},
		{"no range", 0, []reading{{5, 0, 0, true}, {1e15, 1e6 * second, 1e15 - 5, true}, {3, 1e6*second + 1, 1e15 - 5, false}, {4, 1e6*second + 2, 1e15 - 4, true}}},
		{"above its range", 1000, []reading{{2000, 0, 0, true}, {3, 1, 0, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := meter{limit: tt.limit}
			for i, r := range tt.readings {
				if total, ok := m.add(r.v, r.atNS); total != r.total || ok != r.ok {
					t.Errorf("reading %d: %d, %v, want %d, %v", i, total, ok, r.total, r.ok)
				}
			}
		})
	}
}

// The counter of the source goes on where the kernel's wraps, and is null where it began
// anew; what a domain counted is not lost when another comes.
func TestEnergyOverWraps(t *testing.T) {
	root := machine(t, "intel-2s")
	s := open(t, newHost(root, Options{}))
	file := filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj")
	const key = "energy/package-0/energy_uj"
	say := func(v uint64) { write(t, strconv.FormatUint(v, 10)+"\n", file) }
	say(rapl - 20e6)
	s.tick(lookEvery) // after the readings that opening made
	for i, step := range []struct {
		v    uint64
		want int64 // -1: null
	}{
		{rapl - 10e6, 10e6}, {30e6, 50e6 + 1}, {130e6, 150e6 + 1}, {5, -1}, {1e6 + 5, 151e6 + 1},
	} {
		say(step.v)
		if i == 2 {
			write(t, "package-2\n", root, "sys/class/powercap/intel-rapl:2/name")
			write(t, "77\n", root, "sys/class/powercap/intel-rapl:2/energy_uj")
			s.ns += lookEvery - second
		}
		got := s.tick(second)
		v, ok := got[key]
		if !ok {
			v = -1
		}
		if v != step.want {
			t.Errorf("step %d: %d, want %d", i, v, step.want)
		}
		if v, ok := got["energy/package-2/energy_uj"]; ok != (i >= 2) || v != 0 {
			t.Errorf("step %d: the new domain: %d, %v", i, v, ok)
		}
	}
	if n, example := s.source("energy").(*tree).Skipped(); n != 1 || example != `procfs: sys/class/powercap/intel-rapl:0/energy_uj: line 1: field "5": the counter began anew, or may have wrapped more than once` {
		t.Errorf("%d: %s", n, example)
	}
}

// A domain that was taken away and came back counts on from an unknown amount.
func TestEnergyOfAnotherDomain(t *testing.T) {
	old := meter{limit: rapl, started: true, known: true, last: 500, bootNS: second, total: 300}
	m := meter{limit: rapl / 4}
	m.from(&old)
	if want := (meter{limit: rapl / 4, started: true, known: true, last: 500, bootNS: second, total: 300}); m != want {
		t.Errorf("%+v", m)
	}
	m.known = false
	if total, ok := m.add(700, 2*second); ok {
		t.Errorf("%d is known", total)
	}
	if total, ok := m.add(750, 3*second); !ok || total != 350 {
		t.Errorf("%d, %v", total, ok)
	}
}
