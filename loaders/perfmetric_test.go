package loaders

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

// core is a reading of a CPU's cycles and instructions since they were opened, in
// millions, and of its group's times in milliseconds.
func coreGroup(device string, cycles, instructions, enabled, running int64) row {
	return row{device, map[string]int64{"cycles": cycles * 1e6, "instructions": instructions * 1e6, "core_enabled_ns": enabled * 1e6, "core_running_ns": running * 1e6}}
}

// Cores of two kinds: each has its own quotient, and the whole that of the sums.
func TestInstructionsPerCycleOfTwoKindsOfCores(t *testing.T) {
	l := newLab(t)
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.Perf, coreGroup("cpu_core/0", 0, 0, 0, 0), coreGroup("cpu_atom/8", 0, 0, 0, 0)),
		read("h", 1, &schemas.Perf, coreGroup("cpu_core/0", 6000, 9000, 1000, 1000), coreGroup("cpu_atom/8", 2000, 1000, 1000, 1000)),
	}}), &schemas.Perf)
	for device, want := range map[string]string{"cpu_core/0": "- 1.50", "cpu_atom/8": "- 0.50", Total: "- 1.25"} {
		l.want("ipc of "+device, l.values(x, "h", device, "ipc"), want)
	}
	for device, want := range map[string]string{"cpu_core/0": "- 6.00", "cpu_atom/8": "- 2.00", Total: "- 4.00"} {
		l.want("ghz of "+device, l.values(x, "h", device, "ghz"), want) // a mean over CPUs
	}
	l.want("cycles", l.values(x, "h", Total, "cycles_per_s"), "- 8000000000.00")
}

// A quotient needs both of its events; a rate needs its own.
func TestEventThatWasNotCounted(t *testing.T) {
	l := newLab(t)
	without := coreGroup("0", 0, 7000, 2000, 2000)
	delete(without.v, "cycles")
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.Perf, coreGroup("0", 0, 0, 0, 0)),
		read("h", 1, &schemas.Perf, coreGroup("0", 2000, 3000, 1000, 1000)),
		read("h", 2, &schemas.Perf, without),
	}}), &schemas.Perf)
	l.want("ipc", l.values(x, "h", "0", "ipc"), "- 1.50 -")
	l.want("instructions", l.values(x, "h", "0", "instructions_per_s"), "- 3000000000.00 4000000000.00")
	l.want("cycles", l.values(x, "h", "0", "cycles_per_s"), "- 2000000000.00 -")
}

// What shared its counters is scaled to the time that it was to count; in a quotient of
// one group the scale cancels, and in a sum each part has the weight of its whole time.
// Without a turn nothing is known: it is not 0.
func TestCountersThatTookTurns(t *testing.T) {
	l := newLab(t)
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.Perf, coreGroup("0", 0, 0, 0, 0), coreGroup("1", 0, 0, 0, 0)),
		read("h", 1, &schemas.Perf, coreGroup("0", 1000, 2000, 1000, 500), coreGroup("1", 2000, 2000, 1000, 1000)), // half of the time
		read("h", 2, &schemas.Perf, coreGroup("0", 1000, 2000, 2000, 500), coreGroup("1", 4000, 4000, 2000, 2000)), // no turn
		read("h", 3, &schemas.Perf, coreGroup("0", 1250, 2250, 3000, 750), coreGroup("1", 6000, 6000, 3000, 3000)), // a quarter
	}}), &schemas.Perf)
	l.want("cycles of 0", l.values(x, "h", "0", "cycles_per_s"), "- 2000000000.00 - 1000000000.00")
	l.want("cycles of both", l.values(x, "h", Total, "cycles_per_s"), "- 4000000000.00 2000000000.00 3000000000.00")
	l.want("ghz of 0", l.values(x, "h", "0", "ghz"), "- 2.00 - 1.00")
	l.want("ipc of 0", l.values(x, "h", "0", "ipc"), "- 2.00 - 1.00")
	// 4000 + 2000 instructions in 2000 + 2000 cycles, then 2 in 2, then 1 + 2 in 1 + 2.
	l.want("ipc of both", l.values(x, "h", Total, "ipc"), "- 1.50 1.00 1.00")
	l.want("turns of 0", l.values(x, "h", "0", "core_running_pct"), "- 50.00 0.00 25.00")
	l.want("turns of both", l.values(x, "h", Total, "core_running_pct"), "- 75.00 50.00 62.50")
}

// The same of a user's events.
func TestEventThatTookTurns(t *testing.T) {
	l := newLab(t)
	at := func(count, enabled, running int64) row {
		return row{"r1a8", map[string]int64{"count": count, "enabled_ns": enabled, "running_ns": running}}
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.PerfEvent, at(0, 0, 0)),
		read("h", 1, &schemas.PerfEvent, at(100, 2e9, 2e9)),
		read("h", 2, &schemas.PerfEvent, at(200, 4e9, 3e9)),
		read("h", 3, &schemas.PerfEvent, at(200, 6e9, 3e9)),
		read("h", 4, &schemas.PerfEvent, row{"r1a8", map[string]int64{"count": 300, "running_ns": 4e9}}),
	}}), &schemas.PerfEvent)
	l.want("count", l.values(x, "h", "r1a8", "count_per_s"), "- 100.00 200.00 - -")
	l.want("turns", l.values(x, "h", "r1a8", "running_pct"), "- 100.00 50.00 0.00 -")
}

// A CPU that came back counts from 0. The tick without counts that its collector puts in
// between keeps the old counts and the new apart, even where the new are already more.
func TestCPUThatCameBack(t *testing.T) {
	l := newLab(t)
	cpu := func(at, cycles0, cycles1 int64) hostTick {
		return read("h", at, &schemas.Perf, coreGroup("0", cycles0, 0, at*1000, at*1000), coreGroup("1", cycles1, 0, cycles1, cycles1))
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		cpu(0, 0, 1), cpu(1, 1000, 2),
		read("h", 2, &schemas.Perf, coreGroup("0", 2000, 0, 2000, 2000)),
		read("h", 3, &schemas.Perf, coreGroup("0", 3000, 0, 3000, 3000), row{"1", nil}),
		cpu(4, 4000, 900), cpu(5, 5000, 1900),
	}}), &schemas.Perf)
	l.want("CPU 1", l.values(x, "h", "1", "cycles_per_s"), "- 1000000.00 - - 1000000000.00")
	l.want("all", l.values(x, "h", Total, "cycles_per_s"), "- 1001000000.00 1000000000.00 1000000000.00 1000000000.00 2000000000.00")
}
