package loaders

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// rate returns a stored rate of a device in a tick; NaN is null, and of a device that is
// not there.
func rate(tick schemas.Tick, table *schemas.Table, device, metric string) float64 {
	for _, b := range tick.Blocks {
		row := slices.Index(b.Devices, device)
		k := slices.IndexFunc(table.Stored(), func(m schemas.Metric) bool { return m.Name == metric })
		if b.Table == table && row >= 0 && b.Rates != nil {
			return b.Rates[row*len(table.Stored())+k]
		}
	}
	return math.NaN()
}

func TestReadPerfFiles(t *testing.T) {
	null := math.NaN()
	for _, tt := range []struct {
		file     string
		ticks    int
		duration int64
		devices  string  // of table perf
		switches float64 // of the first interval, over its length
		migrates float64
		clock    float64 // ns of the first interval
		absent   int     // events with a notice
		start    string
	}{
		{"stat_a_I1000.csv", 6, 6003235587, "all", 1794, 14, 2002.53e6, 2, "16:23:03"},
		{"stat_a_I1000.json", 6, 6001852070, "all", 1099, 7, 2000.989306e6, 2, "16:23:09"},
		{"stat_a_I1000.txt", 6, 6001398754, "all", 1478, 22, 2002.43e6, 2, "16:23:15"},
		{"stat_a_I100.csv", 10, 1001559591, "all", 125, 2, 204.23e6, 2, "16:23:48"},
		{"stat_A_percpu_I1000.csv", 4, 4001530618, "0 1 all", 360 + 563, 22, 2005.72e6, 2, "16:23:21"},
		{"stat_A_percpu_I1000.json", 4, 4003999122, "0 1 all", 490 + 1793, 12, 2005.958149e6, 2, "16:23:33"},
		{"stat_A_percpu_I1000.txt", 4, 4001905503, "0 1 all", 597 + 2892, 27, 2011.72e6, 2, "16:23:37"},
		{"stat_percore_I1000.csv", 4, 4001231816, "S0-D0-C0 S0-D0-C1 all", 1602 + 1548, 47, 2002.44e6, 2, "16:23:25"},
		{"stat_percore_I1000.json", 4, 4001360330, "S0-D0-C0 S0-D0-C1 all", 1054 + 1855, 13, 2007.999731e6, 2, "16:23:29"},
		{"stat_semicolon.csv", 2, 2001398871, "all", 2125, 16, 2006.47e6, 2, "16:23:54"},
		{"stat_default_events.csv", 3, 3001324367, "all", 4892, 33, null, 4, "16:23:44"},
		{"stat_not_counted_sleeper.csv", 5, 4006243101, "all", null, null, null, 4, "16:24:15"},
		{"stat_not_counted_sleeper.json", 4, 4001443414, "all", null, null, null, 4, "16:24:23"},
		{"stat_not_counted_sleeper.txt", 5, 4003684659, "all", null, null, null, 4, "16:24:19"},
		{"stat_cmd_noI.txt", 1, 1006126157, "all", 1, 0, 0.71e6, 2, "16:23:42"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			f := oneRun(t, ReadPerf, toolOutput(t, "perf", tt.file), ForeignOptions{Zone: time.UTC})
			sound(t, f)
			ticks := f.Boots[0]
			if len(ticks) != tt.ticks || f.DurationNS != tt.duration {
				t.Errorf("%d ticks in %d ns, want %d in %d", len(ticks), f.DurationNS, tt.ticks, tt.duration)
			}
			if got := strings.Join(ticks[0].Blocks[0].Devices, " "); got != tt.devices {
				t.Errorf("devices %q, want %q", got, tt.devices)
			}
			seconds := float64(ticks[0].Blocks[0].IntervalNS) / 1e9
			for metric, want := range map[string]float64{"context_switches_per_s": tt.switches / seconds, "cpu_migrations_per_s": tt.migrates / seconds,
				"task_clock_pct": tt.clock / seconds / 1e7, "cycles_per_s": null, "ipc": null} {
				if got := rate(ticks[0], &schemas.Perf, schemas.All, metric); !nearly(got, want) {
					t.Errorf("%s %v, want %v", metric, got, want)
				}
			}
			n := 0
			for reason, k := range reasonsOf(f) {
				if strings.HasPrefix(reason, "absent ") {
					n += k
				}
			}
			if n != tt.absent || len(f.Failed)+len(f.Incomplete) > 0 {
				t.Errorf("%d notices of events that were not counted, want %d: %q %q", n, tt.absent, f.Failed, f.Incomplete)
			}
			if want := "2026-11-30 " + tt.start; f.Start.Format(time.DateTime) != want {
				t.Errorf("start %v, want %s", f.Start, want)
			}
		})
	}
}

// Without -I perf doesn't say how long it counted: the counts stand in the summary.
func TestPerfWithoutIntervals(t *testing.T) {
	for _, tt := range []struct {
		file   string
		counts map[string]float64
	}{
		{"stat_cmd_noI.csv", map[string]float64{"task-clock": 0.69e6, "context-switches": 1, "page-faults": 58, "cycles": math.NaN()}},
		{"stat_cmd_noI.json", map[string]float64{"task-clock": 674940, "context-switches": 1, "page-faults": 59, "instructions": math.NaN()}},
		{"stat_dd.csv", map[string]float64{"cpu-clock": 2018.34e6, "context-switches": 4263, "L1-dcache-loads": math.NaN()}},
	} {
		f := oneRun(t, ReadPerf, toolOutput(t, "perf", tt.file), ForeignOptions{Zone: time.UTC})
		sound(t, f)
		for event, want := range tt.counts {
			if got, _ := figureOf(f, "run", event); !nearly(got, want) {
				t.Errorf("%s: %s %v, want %v", tt.file, event, got, want)
			}
		}
		if len(f.Boots[0][0].Blocks) > 0 || f.DurationNS != 0 || !anyHas(f.Warnings, "does not say for how long") {
			t.Errorf("%s: %d blocks, %q", tt.file, len(f.Boots[0][0].Blocks), f.Warnings)
		}
	}
}

// What has no column of table perf is a row of perf_event.
func TestPerfEventsWithoutAColumn(t *testing.T) {
	f := oneRun(t, ReadPerf, toolOutput(t, "perf", "stat_tracepoints_I1000.csv"), ForeignOptions{Zone: time.UTC})
	sound(t, f)
	for event, want := range map[string]float64{"sched:sched_switch": 4688, "syscalls:sys_enter_fsync": 0, "sched:sched_process_fork": 4, "msr/tsc/": 5615485862} {
		if got := rate(f.Boots[0][0], &schemas.PerfEvent, event, "count_per_s"); !nearly(got, want/1.003880498) {
			t.Errorf("%s: %v a second, want %v", event, got, want/1.003880498)
		}
	}
	f = oneRun(t, ReadPerf, `1.000000000,CPU0,100,,cycles:u,5,100.00,,
1.000000000,CPU1,300,,cycles:u,5,100.00,,
1.000000000,S0,1,2.50,Joules,power/energy-pkg/,5,100.00,,
1.000000000,7,,cpu/event=0x3c,umask=0x1/,5,100.00,,
1.000000000,8,,page-faults,web,5,100.00,,
`, ForeignOptions{})
	for device, want := range map[string]float64{"cycles:u": 400, "cycles:u@0": 100, "cycles:u@1": 300, "power/energy-pkg/@S0": 2.5, "cpu/event=0x3c,umask=0x1/": 7, "page-faults@web": 8} {
		if got := rate(f.Boots[0][0], &schemas.PerfEvent, device, "count_per_s"); got != want {
			t.Errorf("%s: %v a second, want %v", device, got, want)
		}
	}
	if f.Facts["perf.unit.power/energy-pkg/"] != "Joules" {
		t.Errorf("facts %v", f.Facts)
	}
}

// An event that was not counted is null, one that took turns is not scaled again, and
// quotients are of events that were counted in the same time.
func TestPerfEventsThatWereNotAlwaysCounted(t *testing.T) {
	const text = `1.000100000,2000000000,,cycles,1000000000,100.00,,
1.000100000,3000000000,,instructions,1000000000,100.00,1.50,insn per cycle
2.000200000,<not counted>,,cycles,0,100.00,,
2.000200000,1000000,,instructions,1000000000,100.00,,
3.000300000,<not supported>,,LLC-load-misses,0,100.00,,
4.000400000,1400000,,branches,100000000,10.00,,
4.000400000,14000,,branch-misses,200000000,20.00,,
5.000500000,1400000,,branches,100000000,10.00,,
5.000500000,14000,,branch-misses,100002000,10.00,,
5.000500000,14000,,branch-misses,100002000,10.00,,
5.000500000,2000000,,cycles,1000000000,100.00,,
5.000500000,3000000,,instructions,1000300000,100.00,,
`
	f := oneRun(t, ReadPerf, text, ForeignOptions{})
	sound(t, f)
	null := math.NaN()
	for _, tt := range []struct {
		tick         int
		metric       string
		want, factor float64
	}{
		{0, "cycles_per_s", 2e9, 1 / 1.0001}, {0, "ipc", 1.50, 1}, {0, "ghz", 2, 1},
		{1, "cycles_per_s", null, 1}, {1, "instructions_per_s", 1e6, 1 / 1.0001}, {1, "ipc", null, 1},
		{2, "llc_load_misses_per_s", null, 1},
		{3, "branches_per_s", 1400000, 1 / 1.0001}, {3, "branch_miss_pct", null, 1},
		{4, "branch_miss_pct", 1, 1}, {4, "ipc", 1.50, 1},
	} {
		if got := rate(f.Boots[0][tt.tick], &schemas.Perf, schemas.All, tt.metric); !nearly(got, tt.want*tt.factor) {
			t.Errorf("interval %d: %s %v, want %v", tt.tick, tt.metric, got, tt.want*tt.factor)
		}
	}
	want := map[string]int{"absent cycles": 1, "absent llc_load_misses": 1, "multiplexed branches": 2, "multiplexed branch_misses": 2}
	if got := reasonsOf(f); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("quality %v, want %v", got, want)
	}
	for _, r := range typedRows(f, &schemas.Quality) {
		if textOf(r, "column") == "branches" && (textOf(r, "current") != "10.00" || textOf(r, "part") != "all") {
			t.Errorf("branches ran %s %% on %s", textOf(r, "current"), textOf(r, "part"))
		}
	}
	if !anyHas(f.Warnings, "branches was counted in less than 90 % of the time, once in 10.00 %") || !anyHas(f.Warnings, "branch-misses was asked for twice") {
		t.Errorf("warnings %q", f.Warnings)
	}
}

// Kinds of core stand apart, and all of them together.
func TestPerfHybridCPUs(t *testing.T) {
	f := oneRun(t, ReadPerf, `1.000000000,9000000000,,cpu_core/instructions/,750000000,75.00,,
1.000000000,1000000000,,cpu_atom/instructions/,250000000,25.00,,
1.000000000,6000000000,,cpu_core/cycles/,750000000,75.00,,
1.000000000,2000000000,,cpu_atom/cycles/,250000000,25.00,,
1.000000000,100,,context-switches,1000000000,100.00,,
`, ForeignOptions{})
	sound(t, f)
	for _, tt := range []struct {
		device, metric string
		want           float64
	}{
		{"cpu_core", "ipc", 1.50}, {"cpu_atom", "ipc", 0.50}, {"all", "ipc", 1.25},
		{"cpu_core", "cycles_per_s", 6e9}, {"cpu_atom", "cycles_per_s", 2e9}, {"all", "cycles_per_s", 8e9},
		{"all", "context_switches_per_s", 100}, {"cpu_core", "context_switches_per_s", math.NaN()},
	} {
		if got := rate(f.Boots[0][0], &schemas.Perf, tt.device, tt.metric); !nearly(got, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.metric, tt.device, got, tt.want)
		}
	}
	// The parts are the time on each kind of core, not counters that starved.
	if r := reasonsOf(f); len(r) > 0 || !anyHas(f.Warnings, "hybrid") || anyHas(f.Warnings, "estimates") {
		t.Errorf("quality %v, warnings %q", r, f.Warnings)
	}

	f = oneRun(t, ReadPerf, `{"interval" : 1.000000000, "cpu" : "0", "counter-value" : "600.000000", "unit" : "", "event" : "cpu_core/cycles/", "event-runtime" : 1000, "pcnt-running" : 100.00, "metric-value" : nan, "metric-unit" : ""}
{"interval" : 1.000000000, "cpu" : "8", "counter-value" : "200.000000", "unit" : "", "event" : "cpu_atom/cycles/", "event-runtime" : 1000, "pcnt-running" : 100.00, "metric-value" : "0.1", "metric-unit" : ""}
{"interval" : 1.000000000, "cpu" : "0", "counter-value" : "5.000000", "unit" : "", "event" : "context-switches", "event-runtime" : 1000, "pcnt-running" : 100.00}
{"interval" : 1.000000000, "cpu" : "0", "metric-value" : "0.1", "metric-unit" : "of all"}
`, ForeignOptions{})
	if got := rate(f.Boots[0][0], &schemas.Perf, "cpu_core/0", "context_switches_per_s"); got != 5 {
		t.Errorf("context switches of cpu_core/0: %v", got)
	}
	if got := rate(f.Boots[0][0], &schemas.Perf, "cpu_atom/8", "cycles_per_s"); got != 200 {
		t.Errorf("cycles of cpu_atom/8: %v", got)
	}
}

// A decimal comma is told from a separator, or refused with the way out.
func TestPerfDecimalCommas(t *testing.T) {
	const b = "1,000104528,6376000000,,cycles,2011000000,100,00,3,190,GHz\n"
	const c = "1,000104528;0,31;msec;task-clock;306000;100,00;0,310;CPUs utilized\n"
	for _, text := range []string{b, toolOutput(t, "perf", "stat_de_DE.csv"), toolOutput(t, "perf", "stat_de_DE.json"), toolOutput(t, "perf", "stat_de_DE.txt"),
		toolOutput(t, "perf", "stat_a_I1000.csv") + b} {
		runs, err := ReadPerf("f", text, ForeignOptions{Zone: time.UTC})
		if err == nil || runs != nil || !strings.Contains(err.Error(), "LC_ALL=C") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	f := oneRun(t, ReadPerf, c, ForeignOptions{})
	if got := rate(f.Boots[0][0], &schemas.Perf, schemas.All, "task_clock_pct"); f.DurationNS != 1000104528 || !nearly(got, 100*0.31e-3/1.000104528) {
		t.Errorf("%d ns, task-clock %v %%", f.DurationNS, got)
	}
	// Thousands that are grouped, as in English text, are no decimals.
	f = oneRun(t, ReadPerf, `#           time             counts unit events
     1.000000000          2,003.89 msec task-clock                       #    2.004 CPUs utilized
     1.000000000             3,281      context-switches                 #    1.637 K/sec                    (50.00%)
`, ForeignOptions{})
	if got := rate(f.Boots[0][0], &schemas.Perf, schemas.All, "context_switches_per_s"); got != 3281 || reasonsOf(f)["multiplexed context_switches"] != 1 {
		t.Errorf("context switches %v, %v", got, reasonsOf(f))
	}
}

// The same count by any separator, with the fields that options add.
func TestPerfForms(t *testing.T) {
	for _, tt := range []struct{ name, text, device string }{
		{"comma", "1.000000000,42,,page-faults,5,100.00,,\n", "all"},
		{"semicolon", "1.000000000;42;;page-faults;5;100.00;;\n", "all"},
		{"tab", "1.000000000\t42\t\tpage-faults\t5\t100.00\t\t\n", "all"},
		{"bar", "1.000000000|42||page-faults|5|100.00||\n", "all"},
		{"two characters", "1.000000000:#42:#:#page-faults:#5:#100.00:#:#\n", "all"},
		{"another name", "1.000000000,42,,faults,5,100.00,,\n", "all"},
		{"a CPU", "1.000000000,CPU3,42,,page-faults,5,100.00,,\n", "3"},
		{"a socket", "1.000000000,S1,8,42,,page-faults,5,100.00,,\n", "S1"},
		{"a core", "1.000000000,S1-D0-C3,2,42,,page-faults,5,100.00,,\n", "S1-D0-C3"},
		{"a core, before perf 5", "1.000000000,S1-C3,2,42,,page-faults,5,100.00,,\n", "S1-C3"},
		{"a node", "1.000000000,N1,8,42,,page-faults,5,100.00,,\n", "N1"},
		{"a thread", "1.000000000,web-123,42,,page-faults,5,100.00,,\n", "web-123"},
		{"-r", "1.000000000,42,,page-faults,0.05%,5,100.00,,\n", "all"},
		{"no metric", "1.000000000,42,,page-faults,5,100.00\n", "all"},
		{"a metric's own line", "1.000000000,42,,page-faults,5,100.00,1.0,K/sec\n1.000000000,,,,,0.12,stalled cycles per insn\n", "all"},
		{"--summary", "1.000000000,42,,page-faults,5,100.00,,\n          summary,42,,page-faults,5,100.00,,\n", "all"},
		{"JSON and its summary", `{"interval" : 1.000000000, "counter-value" : "42.000000", "event" : "page-faults", "event-runtime" : 5, "pcnt-running" : 100.00}` + "\n" + `{"counter-value" : "42.000000", "event" : "page-faults", "event-runtime" : 5, "pcnt-running" : 100.00}` + "\n", "all"},
		{"text", "#           time             counts unit events\n     1.000000000                 42      page-faults\n", "all"},
		{"text and its summary", "#           time             counts unit events\n     1.000000000                 42      page-faults\n\n Performance counter stats for 'system wide':\n\n                42      page-faults\n\n       1.0 seconds time elapsed\n", "all"},
		{"text of a core", "#           time core         cpus             counts unit events\n     1.000000000 S0-D0-C1              2                 42      page-faults\n", "S0-D0-C1"},
	} {
		f := oneRun(t, ReadPerf, tt.text, ForeignOptions{})
		sound(t, f)
		if got := rate(f.Boots[0][0], &schemas.Perf, tt.device, "page_faults_per_s"); got != 42 || len(f.Boots[0]) != 1 || anyHas(f.Warnings, "twice") {
			t.Errorf("%s: %v page faults of %s in %d ticks: %v", tt.name, got, tt.device, len(f.Boots[0]), f.Boots[0][0].Blocks)
		}
	}
	for _, tt := range []struct {
		name, event, value, unit string
		ns                       float64
	}{
		{"perf 4", "task-clock", "2.500000", "", 2.5e6}, {"perf 6", "task-clock", "2.50", "msec", 2.5e6}, {"of late", "task-clock", "2500000", "", 2.5e6}, {"cpu-clock", "cpu-clock", "2.50", "msec", 2.5e6},
	} {
		f := oneRun(t, ReadPerf, fmt.Sprintf("1.000000000,%s,%s,%s,5,100.00,,\n", tt.value, tt.unit, tt.event), ForeignOptions{})
		if got := rate(f.Boots[0][0], &schemas.Perf, schemas.All, strings.Replace(tt.event, "-", "_", 1)+"_pct"); !nearly(got, tt.ns/1e7) {
			t.Errorf("%s: %v %%, want %v", tt.name, got, tt.ns/1e7)
		}
	}
}

// JSON prints whole nanoseconds with decimals.
func TestPerfClocksInJSON(t *testing.T) {
	for value, want := range map[string]float64{
		`"2500000.000000", "unit" : ""`: 2.5e6, `"2500000.000000", "unit" : "ns"`: 2.5e6, `"2.500000", "unit" : "msec"`: 2.5e6,
	} {
		f := oneRun(t, ReadPerf, `{"interval" : 1.000000000, "counter-value" : `+value+`, "event" : "task-clock", "event-runtime" : 5, "pcnt-running" : 100.00}`, ForeignOptions{})
		if got := rate(f.Boots[0][0], &schemas.Perf, schemas.All, "task_clock_pct"); !nearly(got, want/1e7) {
			t.Errorf("%s: %v %%, want %v", value, got, want/1e7)
		}
	}
}

func TestPerfOutputThatCantBeRead(t *testing.T) {
	good := "1.000000000,42,,page-faults,5,100.00,,\n"
	for _, tt := range []struct{ name, text, want string }{
		{"cut off", good + "2.000000000,42,,page-fau", "line 2"},
		{"time that goes back", good + "2.000000000,42,,page-faults,5,100.00,,\n1.500000000,42,,page-faults,5,100.00,,\n", "behind"},
		{"a word for a count", good + "2.000000000,many,,page-faults,5,100.00,,\n", "many"},
		{"a part above 100", good + "2.000000000,42,,page-faults,5,900.00,,\n", "0 to 100"},
		{"metrics only", "time,insn per cycle,\n", "--metric-only"},
		{"an event and a group in text", "#           time             counts unit events\n     1.000000000                 42      page-faults   web\n", "-j"},
		{"a group of two numbers in JSON", `{"interval" : 1.0, "counter-value" : "4 2", "event" : "x"}` + "\n", "4 2"},
	} {
		runs, err := ReadPerf("f", tt.text, ForeignOptions{Zone: time.UTC})
		if err == nil || runs != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
	}
	f := oneRun(t, ReadPerf, good+"2.000000000,1,,cycles,5,100.00,,\n2.000000000,42,,page-fau", ForeignOptions{Salvage: true})
	if len(f.Boots[0]) != 1 || !anyHas(f.Incomplete, "damaged") {
		t.Errorf("salvaged %d ticks, %q", len(f.Boots[0]), f.Incomplete)
	}
	f = oneRun(t, ReadPerf, "1.000000000,1,,cycles,5,100.00,,\n"+good+"2.000000000,1,,cycles,5,100.00,,\n", ForeignOptions{})
	if !anyHas(f.Incomplete, "the last interval has 1 counts") {
		t.Errorf("incomplete %q", f.Incomplete)
	}
	if f := oneRun(t, ReadPerf, toolOutput(t, "perf", "stat_a_I1000.csv"), ForeignOptions{}); !f.Start.IsZero() || !anyHas(f.Warnings, "without a zone") {
		t.Errorf("start %v, %q", f.Start, f.Warnings)
	}
}
