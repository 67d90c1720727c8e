package schemas

import "slices"

// PerfGroup is events that are put on a CPU's counters together or not at all, so that
// their quotients hold even where more is asked for than the CPU can count at once.
type PerfGroup struct {
	Name string
	// Extended marks what is counted on request only.
	Extended bool
	// Events are its columns; Source is the event counted, by perf's name.
	Events []Column
}

// PerfGroups are the groups of table perf. Those that are not Extended need 6 hardware
// counters, which common CPUs have free for each thread: Intel since Nehalem 4 of general
// purpose (8 without hyper-threading and since Ice Lake) and one each for cycles and
// instructions, AMD since Zen 6 in all, Arm Neoverse 6 and one for cycles. A core group
// of 4 still fits where the NMI watchdog or a hypervisor keeps one or two of them; then
// core and branch take turns. Each Extended group shares the counters with the others.
var PerfGroups = []PerfGroup{
	{Name: "software", Events: []Column{
		{Name: "cpu_clock_ns", Unit: "ns", Kind: Busy, Source: "cpu-clock", Sar: "cpu-clock", Help: "time on the CPU's clock: the number of CPUs, however busy they are"},
		{Name: "task_clock_ns", Unit: "ns", Kind: Busy, Source: "task-clock", Sar: "task-clock", Help: "the same for CPUs as a whole"},
		{Name: "context_switches", Source: "context-switches", Sar: "context-switches", Help: "switches from one task to another, the idle task included"},
		{Name: "cpu_migrations", Source: "cpu-migrations", Sar: "cpu-migrations", Help: "tasks that went on on another CPU"},
		{Name: "page_faults", Source: "page-faults", Sar: "page-faults", Help: "page faults, minor and major"},
		{Name: "minor_faults", Source: "minor-faults", Sar: "minor-faults", Help: "page faults without I/O"},
		{Name: "major_faults", Source: "major-faults", Better: Lower, Sar: "major-faults", Help: "page faults that waited for I/O"},
		{Name: "alignment_faults", Source: "alignment-faults", Better: Lower, Sar: "alignment-faults", Help: "unaligned accesses that the kernel mended; always 0 on x86"},
		{Name: "emulation_faults", Source: "emulation-faults", Better: Lower, Sar: "emulation-faults", Help: "instructions that the kernel emulated"},
	}},
	{Name: "core", Events: []Column{
		{Name: "cycles", Source: "cycles", Sar: "cycles", Help: "cycles in which the CPU was not halted"},
		{Name: "instructions", Source: "instructions", Sar: "instructions", Help: "instructions retired"},
		{Name: "cache_references", Source: "cache-references", Sar: "cache-references", Help: "accesses to the cache that the kernel takes for this event: the last level on Intel, L2 on AMD Zen, L1 data on Arm"},
		{Name: "cache_misses", Source: "cache-misses", Better: Lower, Sar: "cache-misses", Help: "those that missed it"},
	}},
	{Name: "branch", Events: []Column{
		{Name: "branches", Source: "branches", Sar: "branches", Help: "branch instructions retired"},
		{Name: "branch_misses", Source: "branch-misses", Better: Lower, Sar: "branch-misses", Help: "branches predicted wrongly"},
	}},
	{Name: "stall", Extended: true, Events: []Column{
		{Name: "stalled_cycles_frontend", Source: "stalled-cycles-frontend", Better: Lower, Sar: "stalled-cycles-frontend", Help: "cycles in which no instruction could be issued for want of instructions"},
		{Name: "stalled_cycles_backend", Source: "stalled-cycles-backend", Better: Lower, Sar: "stalled-cycles-backend", Help: "cycles in which none could be issued for want of data or units"},
		{Name: "stall_cycles", Source: "cycles", Help: "cycles counted beside them"},
	}},
	{Name: "l1d", Extended: true, Events: []Column{
		{Name: "l1d_loads", Source: "L1-dcache-loads", Sar: "L1-dcache-loads", Help: "loads from the L1 data cache"},
		{Name: "l1d_load_misses", Source: "L1-dcache-load-misses", Better: Lower, Sar: "L1-dcache-load-misses", Help: "those that missed it"},
		{Name: "l1d_instructions", Source: "instructions", Help: "instructions counted beside them"},
	}},
	{Name: "llc", Extended: true, Events: []Column{
		{Name: "llc_loads", Source: "LLC-loads", Sar: "LLC-loads", Help: "loads from the last level cache"},
		{Name: "llc_load_misses", Source: "LLC-load-misses", Better: Lower, Sar: "LLC-load-misses", Help: "those that missed it"},
		{Name: "llc_instructions", Source: "instructions", Help: "instructions counted beside them"},
	}},
	{Name: "dtlb", Extended: true, Events: []Column{
		{Name: "dtlb_loads", Source: "dTLB-loads", Sar: "dTLB-loads", Help: "loads that looked up the data TLB"},
		{Name: "dtlb_load_misses", Source: "dTLB-load-misses", Better: Lower, Sar: "dTLB-load-misses", Help: "those that missed it"},
		{Name: "dtlb_instructions", Source: "instructions", Help: "instructions counted beside them"},
	}},
}

// EnabledColumn and RunningColumn name the columns of the group's times.
func (g *PerfGroup) EnabledColumn() string { return g.Name + "_enabled_ns" }
func (g *PerfGroup) RunningColumn() string { return g.Name + "_running_ns" }

// Perf is one logical CPU's counters at one tick (perf_event_open(2)), since they were
// opened. Counts are raw: a group that shares the hardware counts only while it runs, and
// what it would have counted is count * enabled / running. Where a CPU has cores of
// several kinds the device names the kind: "cpu_core/0", "cpu_atom/8".
var Perf = Table{Name: "perf", Version: 1, Device: "cpu", PerEpoch: true, Sparse: true, Alike: true, Class: "perf",
	Columns: perfColumns(), Derived: []Metric{
		{Name: "ipc", Plus: []string{"instructions"}, Per: []string{"cycles"}, Better: None, Sar: "insn per cycle", Help: "instructions per cycle"},
		{Name: "ghz", Unit: "GHz", Plus: []string{"cycles"}, Per: []string{"core_enabled_ns"}, Better: None, Sar: "GHz", Help: "cycles a nanosecond, a mean over the CPUs: halted time counts as 0"},
		{Name: "cache_miss_pct", Unit: "%", Factor: 100, Plus: []string{"cache_misses"}, Per: []string{"cache_references"}, Better: Lower, Sar: "of all cache refs", Help: "accesses that missed the cache, of all"},
		{Name: "cache_mpki", Factor: 1000, Plus: []string{"cache_misses"}, Per: []string{"instructions"}, Better: Lower, Help: "cache misses per 1000 instructions"},
		{Name: "branch_miss_pct", Unit: "%", Factor: 100, Plus: []string{"branch_misses"}, Per: []string{"branches"}, Better: Lower, Sar: "of all branches", Help: "branches predicted wrongly, of all"},
		{Name: "frontend_stalled_pct", Unit: "%", Factor: 100, Plus: []string{"stalled_cycles_frontend"}, Per: []string{"stall_cycles"}, Better: Lower, Sar: "frontend cycles idle", Help: "cycles without instructions to issue"},
		{Name: "backend_stalled_pct", Unit: "%", Factor: 100, Plus: []string{"stalled_cycles_backend"}, Per: []string{"stall_cycles"}, Better: Lower, Sar: "backend cycles idle", Help: "cycles waiting for data or units"},
		{Name: "l1d_miss_pct", Unit: "%", Factor: 100, Plus: []string{"l1d_load_misses"}, Per: []string{"l1d_loads"}, Better: Lower, Sar: "of all L1-dcache accesses", Help: "loads that missed the L1 data cache, of all"},
		{Name: "l1d_mpki", Factor: 1000, Plus: []string{"l1d_load_misses"}, Per: []string{"l1d_instructions"}, Better: Lower, Help: "L1 data cache misses per 1000 instructions"},
		{Name: "llc_miss_pct", Unit: "%", Factor: 100, Plus: []string{"llc_load_misses"}, Per: []string{"llc_loads"}, Better: Lower, Sar: "of all LL-cache accesses", Help: "loads that missed the last level cache, of all"},
		{Name: "llc_mpki", Factor: 1000, Plus: []string{"llc_load_misses"}, Per: []string{"llc_instructions"}, Better: Lower, Help: "last level cache misses per 1000 instructions"},
		{Name: "dtlb_miss_pct", Unit: "%", Factor: 100, Plus: []string{"dtlb_load_misses"}, Per: []string{"dtlb_loads"}, Better: Lower, Sar: "of all dTLB cache accesses", Help: "loads that missed the data TLB, of all"},
		{Name: "dtlb_mpki", Factor: 1000, Plus: []string{"dtlb_load_misses"}, Per: []string{"dtlb_instructions"}, Better: Lower, Help: "data TLB misses per 1000 instructions"},
		running("core"), running("branch"), running("stall"), running("l1d"), running("llc"), running("dtlb"),
	}, Help: "per CPU, from perf_event_open(2)"}

// PerfEvent is the events that a user asked for, one row an event, summed over the CPUs
// ("sched:sched_switch"), or one an event and CPU ("cycles:k@3").
var PerfEvent = Table{Name: "perf_event", Version: 1, Device: "event", NoTotal: []string{""}, PerEpoch: true, Sparse: true, Class: "perf", Columns: []Column{
	{Name: "enabled_ns", Unit: "ns", Help: "time in which the event was to be counted, summed over CPUs"},
	{Name: "running_ns", Unit: "ns", Help: "the part of it in which it was counted"},
	{Name: "count", Enabled: "enabled_ns", Running: "running_ns", Sar: "counts", Help: "what was counted, not scaled"},
}, Derived: []Metric{running("")}, Help: "per event, from perf_event_open(2)"}

func perfColumns() (out []Column) {
	for i := range PerfGroups {
		g := &PerfGroups[i]
		out = append(out,
			Column{Name: g.EnabledColumn(), Unit: "ns", Help: "time in which group " + g.Name + " was to be counted"},
			Column{Name: g.RunningColumn(), Unit: "ns", Help: "the part of it in which it was counted"})
		for _, c := range g.Events {
			c.Enabled, c.Running = g.EnabledColumn(), g.RunningColumn()
			out = append(out, c)
		}
	}
	return out
}

// running is the part of the time in which a group, or an event, was counted.
func running(group string) Metric {
	prefix := ""
	if group != "" {
		prefix = group + "_"
	}
	return Metric{Name: prefix + "running_pct", Unit: "%", Factor: 100, Plus: []string{prefix + "running_ns"}, Per: []string{prefix + "enabled_ns"}, Better: None,
		Help: "time in which it was counted, of the time in which it was to be: below 100 % it took turns on the counters, and its counts are estimates"}
}

// perfNames are perf's own names of those that it takes as well.
var perfNames = map[string]string{
	"cs":                   "context-switches",
	"migrations":           "cpu-migrations",
	"faults":               "page-faults",
	"cpu-cycles":           "cycles",
	"branch-instructions":  "branches",
	"idle-cycles-frontend": "stalled-cycles-frontend",
	"idle-cycles-backend":  "stalled-cycles-backend",
}

// PerfEventName returns the name of table perf for an event that perf calls by several:
// "cycles" for "cpu-cycles", and the name itself if there is no other.
func PerfEventName(event string) string {
	if name, ok := perfNames[event]; ok {
		return name
	}
	return event
}

// PerfColumn returns the column of table perf that counts an event, by the name that
// perf prints: "context_switches" for "context-switches". An event with a modifier or of
// a named PMU is another one.
func PerfColumn(event string) (column string, ok bool) {
	name := PerfEventName(event)
	i := slices.IndexFunc(Perf.Columns, func(c Column) bool { return c.Sar != "" && c.Sar == name })
	if i < 0 {
		return "", false
	}
	return Perf.Columns[i].Name, true
}
