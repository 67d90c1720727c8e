package schemas

import (
	"slices"
	"testing"
)

// The columns are the groups in order, each behind its two times.
func TestPerfColumnsFollowTheGroups(t *testing.T) {
	i := 0
	for _, g := range PerfGroups {
		for _, name := range []string{g.Name + "_enabled_ns", g.Name + "_running_ns"} {
			if Perf.Columns[i].Name != name {
				t.Errorf("column %d is %s, want %s", i, Perf.Columns[i].Name, name)
			}
			i++
		}
		for _, c := range g.Events {
			c.Enabled, c.Running = g.Name+"_enabled_ns", g.Name+"_running_ns"
			if Perf.Columns[i] != c || c.Source == "" || c.Sar != "" && c.Sar != c.Source {
				t.Errorf("column %d is %+v, want %+v", i, Perf.Columns[i], c)
			}
			i++
		}
	}
	if i != len(Perf.Columns) {
		t.Errorf("%d columns, of groups %d", len(Perf.Columns), i)
	}
}

// Quotients between groups would compare other times: a quotient's columns are of one.
func TestPerfQuotientsStayInTheirGroup(t *testing.T) {
	for _, m := range Perf.Derived {
		names := slices.Concat(m.Plus, m.Minus, m.Per)
		in := 0
		for _, g := range PerfGroups {
			has := func(name string) bool {
				return name == g.EnabledColumn() || name == g.RunningColumn() ||
					slices.ContainsFunc(g.Events, func(c Column) bool { return c.Name == name })
			}
			if !slices.ContainsFunc(names, func(name string) bool { return !has(name) }) {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%s is formed from %q: of %d groups", m.Name, names, in)
		}
	}
}

// What needs no asking for fits the 6 counters of common CPUs.
func TestPerfGroupsFitTheCounters(t *testing.T) {
	n := 0
	for _, g := range PerfGroups {
		if g.Name == "software" || g.Extended {
			continue
		}
		n += len(g.Events)
		if len(g.Events) > 4 {
			t.Errorf("%s needs %d counters", g.Name, len(g.Events))
		}
	}
	if n != 6 {
		t.Errorf("%d counters, want 6", n)
	}
}

func TestPerfColumnOfAnEvent(t *testing.T) {
	for _, tt := range []struct{ event, column string }{
		{"context-switches", "context_switches"}, {"cs", "context_switches"},
		{"cpu-clock", "cpu_clock_ns"}, {"migrations", "cpu_migrations"}, {"faults", "page_faults"},
		{"cycles", "cycles"}, {"cpu-cycles", "cycles"},
		{"instructions", "instructions"}, // not those counted beside others
		{"branch-instructions", "branches"}, {"idle-cycles-backend", "stalled_cycles_backend"},
		{"L1-dcache-load-misses", "l1d_load_misses"}, {"LLC-loads", "llc_loads"}, {"dTLB-load-misses", "dtlb_load_misses"},
		{"cycles:u", ""}, {"cpu_core/cycles/", ""}, {"sched:sched_switch", ""}, {"L1-dcache-stores", ""}, {"", ""},
	} {
		if got, ok := PerfColumn(tt.event); got != tt.column || ok != (tt.column != "") {
			t.Errorf("%q: %q, %v, want %q", tt.event, got, ok, tt.column)
		}
	}
	for _, c := range Perf.Columns {
		if c.Sar == "" {
			continue
		}
		if got, ok := PerfColumn(c.Sar); !ok || got != c.Name {
			t.Errorf("%s: %q, want %s", c.Sar, got, c.Name)
		}
	}
}
