package loaders

import (
	"math"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// What the files' own summaries say, and what their lines add up to.
func TestReadSysbenchFiles(t *testing.T) {
	null := math.NaN()
	for _, tt := range []struct {
		file                  string
		unit                  string
		rows                  int
		operations            float64 // of the rows
		duration              float64
		events, p95, p99      float64 // of the summary
		errors                float64
		hist                  int64
		incomplete, failed    string
		test                  string
		workers               int64
		reconnects, latencies int // rows of quality, of latencies that are none
	}{
		{file: "cpu_t1.txt", unit: "event", rows: 10, operations: 25980, duration: 10.0018, events: 25980, p95: 0.40e-3, p99: null, errors: null, test: "cpu", workers: 1},
		{file: "cpu_t2.txt", unit: "event", rows: 10, operations: 14864, duration: 10.0060, events: 14864, p95: null, p99: 16.41e-3, errors: null, hist: 14864, test: "cpu", workers: 2},
		{file: "memory_t2.txt", unit: "event", rows: 10, operations: 50493574, duration: 10.0003, events: 50493574, p95: null, p99: null, errors: null, test: "memory", workers: 2},
		{file: "memory_total_reached.txt", unit: "event", rows: 1, operations: 20480, duration: 0.4862, events: 20480, p95: 0.05e-3, p99: null, errors: null, test: "memory", workers: 2},
		{file: "oltp_rw_events500.txt", unit: "transaction", rows: 1, operations: 500, duration: 0.8524, events: 500, p95: null, p99: 22.69e-3, test: "oltp", workers: 4},
		{file: "oltp_rw_noserver.txt", duration: 0, events: null, p95: null, p99: null, errors: null, failed: "unable to connect to MySQL server", workers: 2},
		{file: "oltp_rw_sigint.txt", unit: "transaction", rows: 3, operations: 1222.81, duration: 3, events: null, p95: null, p99: null, errors: null, incomplete: "interrupted", test: "oltp", workers: 4},
		{file: "oltp_rw_t1.txt", unit: "transaction", rows: 15, operations: 4622.58, duration: 15.0044, events: 4624, p95: null, p99: 7.17e-3, hist: 4624, test: "oltp", workers: 1},
		{file: "oltp_rw_t8.txt", unit: "transaction", rows: 15, operations: 19669.62, duration: 15.0094, events: 19679, p95: null, p99: 12.30e-3, hist: 19679, test: "oltp", workers: 8},
		{file: "oltp_rw_t64.txt", unit: "transaction", rows: 15, operations: 15251.39, duration: 15.0626, events: 15316, p95: null, p99: 147.61e-3, errors: 2, hist: 15316, test: "oltp", workers: 64},
		{file: "oltp_rw_t16_deadlocks.txt", unit: "transaction", rows: 10, operations: 4770.06, duration: 10.0239, events: 4788, p95: null, p99: 123.28e-3, errors: 2151, test: "oltp", workers: 16},
		{file: "oltp_rw_t4_killed_fatal.txt", unit: "transaction", rows: 2, operations: 1090.71, duration: 2, events: null, p95: null, p99: null, errors: null, incomplete: "error 2013", test: "oltp", workers: 4},
		{file: "oltp_rw_t4_psdisable_reconnect.txt", unit: "transaction", rows: 3, operations: 2468.63, duration: 3, events: null, p95: null, p99: null, errors: null, incomplete: "crashed", test: "oltp", workers: 4},
		{file: "oltp_rw_t4_reconnect_SEGV.txt", unit: "transaction", rows: 3, operations: 1450.75, duration: 3, events: null, p95: null, p99: null, errors: null, incomplete: "crashed", test: "oltp", workers: 4},
		{file: "oltp_rw_t8_psdisable.txt", unit: "transaction", rows: 12, operations: 11518.01, duration: 12.0061, events: 11527, p95: null, p99: 16.71e-3, errors: 1, test: "oltp", workers: 8},
		{file: "oltp_rw_t8_rate300.txt", unit: "transaction", rows: 8, operations: 2376.89, duration: 8.0285, events: 2383, p95: null, p99: 262.64e-3, test: "oltp", workers: 8},
		{file: "oltp_rw_t8_stall4s.txt", unit: "transaction", rows: 12, operations: 5596.89, duration: 12.0089, events: 5608, p95: null, p99: 39.65e-3, errors: 1, hist: 5608, test: "oltp", workers: 8, latencies: 3},
		{file: "oltp_rw_t8_stall4s_and_disk_stall31s.txt", unit: "transaction", rows: 14, operations: 3262, duration: 42.9028, events: 3262, p95: null, p99: 90.78e-3, hist: 3262, test: "oltp", workers: 8, latencies: 5},
		{file: "threads_t8.txt", unit: "event", rows: 5, operations: 5384, duration: 5.0017, events: 5384, p95: 13.95e-3, p99: null, errors: null, workers: 8},
	} {
		t.Run(tt.file, func(t *testing.T) {
			f := oneRun(t, ReadSysbench, toolOutput(t, "sysbench", tt.file), ForeignOptions{})
			sound(t, f)
			all := loadRows(f, "")
			if len(all) != tt.rows || !nearly(addUp(all, "operations"), tt.operations) {
				t.Errorf("%d rows, %v operations, want %d, %v", len(all), addUp(all, "operations"), tt.rows, tt.operations)
			}
			if !nearly(float64(f.DurationNS)/1e9, tt.duration) || f.Params["threads"] != tt.workers || f.Facts["sysbench.test"] != tt.test || f.Facts["sysbench.version"] != "1.0.20" {
				t.Errorf("%d ns, %v, %v, want %v s, %d, %q", f.DurationNS, f.Params, f.Facts, tt.duration, tt.workers, tt.test)
			}
			for metric, want := range map[string]float64{"operations": tt.events, "latency_p95": tt.p95, "latency_p99": tt.p99, "errors": tt.errors} {
				if got, _ := figureOf(f, "run", metric); !nearly(got, want) {
					t.Errorf("%s %v, want %v", metric, got, want)
				}
			}
			for _, r := range all {
				if textOf(r, "unit") != tt.unit || textOf(r, "driver") != "sysbench" {
					t.Errorf("%s of %s, want %s of sysbench", textOf(r, "unit"), textOf(r, "driver"), tt.unit)
				}
			}
			if _, r := figureOf(f, "run", "latency_mean"); tt.hist > 0 {
				q, n := quantileOf(t, r, "hist", 0.99)
				if n != tt.hist || !withinPart(q, tt.p99, 0.002) {
					t.Errorf("histogram of %d with p99 %v, want %d, %v", n, q, tt.hist, tt.p99)
				}
			}
			if got := anyHas(f.Incomplete, tt.incomplete); len(f.Incomplete) > 0 != (tt.incomplete != "") || len(f.Incomplete) > 0 && !got {
				t.Errorf("incomplete %q, want %q", f.Incomplete, tt.incomplete)
			}
			if got := anyHas(f.Failed, tt.failed); len(f.Failed) > 0 != (tt.failed != "") || len(f.Failed) > 0 && !got {
				t.Errorf("failed %q, want %q", f.Failed, tt.failed)
			}
			if n := reasonsOf(f)["absent latency_p99_s"]; n != tt.latencies {
				t.Errorf("%d latencies are none, want %d", n, tt.latencies)
			}
		})
	}
}

// The first line of each form, and the columns that it goes to.
func TestSysbenchLinesFillTheirColumns(t *testing.T) {
	first := func(file string) schemas.Row {
		return loadRows(oneRun(t, ReadSysbench, toolOutput(t, "sysbench", file), ForeignOptions{}), "")[0]
	}
	for _, tt := range []struct {
		file, column string
		want         float64
	}{
		{"oltp_rw_t8.txt", "operations", 1221.59}, {"oltp_rw_t8.txt", "latency_p99_s", 0.01165}, {"oltp_rw_t8.txt", "errors", 0},
		{"oltp_rw_t16_deadlocks.txt", "errors", 232}, {"oltp_rw_t16_deadlocks.txt", "reads", 9928.18}, {"oltp_rw_t16_deadlocks.txt", "writes", 2154.53},
		{"oltp_rw_t16_deadlocks.txt", "others", 1173.48}, {"oltp_rw_t16_deadlocks.txt", "reconnects", 0},
		{"oltp_rw_t8_rate300.txt", "queue", 10}, {"oltp_rw_t8_rate300.txt", "concurrency", 8},
		{"cpu_t1.txt", "operations", 1772.66}, {"cpu_t1.txt", "latency_p95_s", 0.00144}, {"cpu_t1.txt", "errors", math.NaN()},
		{"memory_t2.txt", "operations", 4973.45 * 1024}, {"memory_t2.txt", "latency_p95_s", math.NaN()},
	} {
		if got := cellOf(first(tt.file), tt.column); !nearly(got, tt.want) {
			t.Errorf("%s: %s %v, want %v", tt.file, tt.column, got, tt.want)
		}
	}
}

// A second that is left out makes its row longer, a stalled one has no latency.
func TestSysbenchSkippedAndStalledSeconds(t *testing.T) {
	all := loadRows(oneRun(t, ReadSysbench, toolOutput(t, "sysbench", "oltp_rw_t8_stall4s_and_disk_stall31s.txt"), ForeignOptions{}), "")
	for _, tt := range []struct {
		row             int
		seconds         float64
		operations, p99 float64
	}{
		{3, 1, 0, math.NaN()}, {6, 1, 16.97, 4.05523}, {11, 7, 0.93 * 7, math.NaN()}, {12, 7, 0, math.NaN()},
		// The lines end at second 25, the run at 42.9028: what is left of 3262.
		{13, 17.9028, 200.33, math.NaN()},
	} {
		r := all[tt.row]
		if !nearly(float64(r.IntervalNS)/1e9, tt.seconds) || math.Abs(cellOf(r, "operations")-tt.operations) > 1e-6 || !nearly(cellOf(r, "latency_p99_s"), tt.p99) {
			t.Errorf("row %d: %d ns, %v operations, p99 %v, want %v", tt.row, r.IntervalNS, cellOf(r, "operations"), cellOf(r, "latency_p99_s"), tt)
		}
	}
}

// A checkpoint sets the counters back: the summary at the end is about the rest.
func TestSysbenchCheckpointsArePhases(t *testing.T) {
	f := oneRun(t, ReadSysbench, toolOutput(t, "sysbench", "oltp_rw_t8_checkpoint5.txt"), ForeignOptions{})
	sound(t, f)
	if want := []schemas.Phase{{Name: "checkpoint-1", ToNS: 5000100000}, {Name: "checkpoint-2", FromNS: 5000100000, ToNS: 10011300000}}; len(f.Phases) != 2 || f.Phases[0] != want[0] || f.Phases[1] != want[1] {
		t.Errorf("phases %v, want %v", f.Phases, want)
	}
	for _, tt := range []struct {
		phase, metric string
		want          float64
	}{
		{"checkpoint-1", "operations", 4233}, {"checkpoint-2", "operations", 4342},
		{"checkpoint-1", "latency_p99", 0.020}, {"checkpoint-2", "latency_p99", 0.01763},
		{"checkpoint-1", "transactions_per_s", 844.92}, {"checkpoint-2", "transactions_per_s", 867.90},
		{"checkpoint-1", "throughput", 4233 / 5.0001}, {"checkpoint-2", "throughput", 4342 / 5.0112},
	} {
		if got, _ := figureOf(f, tt.phase, tt.metric); !nearly(got, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.metric, tt.phase, got, tt.want)
		}
	}
	all := loadRows(f, "")
	if len(all) != 10 || !withinPart(addUp(all, "operations"), 4233+4342, 0.01) {
		t.Errorf("%d rows of %v operations, want 10 of %d", len(all), addUp(all, "operations"), 4233+4342)
	}
	// The checkpoint of second 5 emptied the histogram just before line 5 was printed.
	if got := cellOf(all[4], "latency_p99_s"); !math.IsNaN(got) || reasonsOf(f)["reset latency_p99_s"] != 1 {
		t.Errorf("p99 of second 5 is %v, %v", got, reasonsOf(f))
	}
	if got := cellOf(all[5], "latency_p99_s"); !nearly(got, 0.01895) {
		t.Errorf("p99 of second 6 is %v", got)
	}
}

const sysbench10 = `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 8
Report intermediate results every 2 second(s)

Threads started!

`

// Two versions, percentiles of their lines, errors that are no latencies, and the same
// throughput.
func TestSysbenchForms(t *testing.T) {
	lines := `[ 2s ] thds: 8 tps: 250.00 qps: 5000.00 (r/w/o: 3500.00/1000.00/500.00) lat (ms,95%): 15.55 err/s: 0.00 reconn/s: 0.00
[ 4s ] thds: 8 tps: 260.00 qps: 5200.00 (r/w/o: 3640.00/1040.00/520.00) lat (ms,99%): 21.50 err/s: 2.00 reconn/s: 0.50
`
	all := loadRows(oneRun(t, ReadSysbench, sysbench10+lines, ForeignOptions{}), "")
	for _, tt := range []struct {
		row    int
		column string
		want   float64
	}{
		{0, "operations", 500}, {0, "latency_p95_s", 0.01555}, {0, "latency_p99_s", math.NaN()}, {0, "errors", 0},
		{1, "operations", 520}, {1, "latency_p95_s", math.NaN()}, {1, "latency_p99_s", 0.0215}, {1, "errors", 4}, {1, "reconnects", 1},
	} {
		if got := cellOf(all[tt.row], tt.column); !nearly(got, tt.want) {
			t.Errorf("row %d: %s %v, want %v", tt.row, tt.column, got, tt.want)
		}
	}

	eps := oneRun(t, ReadSysbench, "[ 1s ] thds: 1 eps: 963.12 lat (ms,95%): 1.10\n", ForeignOptions{})
	if r := loadRows(eps, "")[0]; cellOf(r, "operations") != 963.12 || !math.IsNaN(cellOf(r, "reads")) || !anyHas(eps.Warnings, "version") {
		t.Errorf("events: %v, warnings %q", r, eps.Warnings)
	}

	const rest = `
Latency (ms):
         min:                                    1.00
         avg:                                    1.10
         max:                                    9.99
         percentile stats:               disabled
         sum:                                 9991.30

Threads fairness:
    events (avg/stddev):           9083.0000/0.00
    execution time (avg/stddev):   9.9913/0.00
`
	old := oneRun(t, ReadSysbench, sysbench10+`General statistics:
    total time:                          10.0005s
    total number of events:              9083
`+rest, ForeignOptions{})
	new := oneRun(t, ReadSysbench, strings.Replace(sysbench10, "1.0.20", "1.1.0-bbee5d5", 1)+`Throughput:
    events/s (eps):                      908.2546
    time elapsed:                        10.0005s
    total number of events:              9083
`+rest, ForeignOptions{})
	for _, f := range []*Foreign{old, new} {
		if got, _ := figureOf(f, "run", "throughput"); math.Round(got*1e4)/1e4 != 908.2546 {
			t.Errorf("%s: throughput %v, want 908.2546", f.Facts["sysbench.version"], got)
		}
		r := loadRows(f, "")[0]
		if cellOf(r, "operations") != 9083 || r.IntervalNS != 10000500000 || cellOf(r, "latency_max_s") != 0.00999 || !math.IsNaN(cellOf(r, "latency_p95_s")) {
			t.Errorf("%s: row %v", f.Facts["sysbench.version"], r)
		}
		if v, _ := figureOf(f, "run", "latency_p95"); !math.IsNaN(v) {
			t.Errorf("a percentile that was disabled: %v", v)
		}
	}
	if old.Facts["sysbench.version"] != "1.0.20" || new.Facts["sysbench.version"] != "1.1.0-bbee5d5" {
		t.Errorf("versions %v, %v", old.Facts, new.Facts)
	}
}

func TestSysbenchLinesThatCantBeRead(t *testing.T) {
	good := "[ 1s ] thds: 1 eps: 963.12 lat (ms,95%): 1.10\n"
	for _, tt := range []struct{ name, line, want string }{
		{"cut off", "[ 2s ] thds: 1 eps: 963.12 lat (ms,9", "no whole interval line"},
		{"a decimal comma", "[ 2s ] thds: 1 eps: 963,12 lat (ms,95%): 1,10", "LC_ALL=C"},
		{"of another run", "[ 0s ] thds: 1 eps: 963.12 lat (ms,95%): 1.10", "second 0 behind second 1"},
		{"below 0", "[ 2s ] thds: 1 eps: -963.12 lat (ms,95%): 1.10", "not below 0"},
		{"a second of no use", "[ 99999999999s ] thds: 1 eps: 963.12 lat (ms,95%): 1.10", "out of range"},
		{"a bar without a count", "Latency histogram (values are in milliseconds)\n       value  --- count\n       1.184 |***", "histogram"},
		{"bars that fall", "Latency histogram (values are in milliseconds)\n       2.184 |*** 1\n       1.184 |*** 1", "ascending"},
		{"a total that is none", "General statistics:\n    total time:   soons", `field "soons"`},
	} {
		text := sysbench10 + good + tt.line + "\n"
		if runs, err := ReadSysbench("f", text, ForeignOptions{}); err == nil || runs != nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
		f := oneRun(t, ReadSysbench, text, ForeignOptions{Salvage: true})
		sound(t, f)
		if len(loadRows(f, "")) != 1 || !anyHas(f.Incomplete, "damaged") {
			t.Errorf("%s: salvaged %d rows, %q", tt.name, len(loadRows(f, "")), f.Incomplete)
		}
	}
}

// Rates that C can't form are null, and a second line of a second has no length.
func TestSysbenchUnknownIntervals(t *testing.T) {
	f := oneRun(t, ReadSysbench, sysbench10+`[ 2s ] thds: 8 tps: -nan qps: -nan (r/w/o: -nan/-nan/-nan) lat (ms,95%): 0.00 err/s: -nan reconn/s: -nan
[ 4s ] thds: 8 eps: 10.00 lat (ms,98%): 1.00
[ 4s ] thds: 8 eps: 12.00 lat (ms,95%): 1.00
[ 5s ] 100.00 MiB/sec
General statistics:
    total time:                          9.0000s
    total number of events:              99
Threads fairness:
    execution time (avg/stddev):   9.9913/0.00
`, ForeignOptions{})
	sound(t, f)
	all := loadRows(f, "")
	if len(all) != 5 {
		t.Fatalf("%d rows, want 5", len(all))
	}
	for row, want := range []float64{math.NaN(), 20, math.NaN(), math.NaN(), math.NaN()} {
		if got := cellOf(all[row], "operations"); !nearly(got, want) {
			t.Errorf("row %d: %v operations, want %v", row, got, want)
		}
	}
	if all[2].IntervalNS != 0 || all[4].IntervalNS != 4e9 {
		t.Errorf("intervals %d, %d", all[2].IntervalNS, all[4].IntervalNS)
	}
	r := reasonsOf(f)
	if r["nan operations"] != 1 || r["gap"] != 2 || r["absent operations"] != 1 || !anyHas(f.Warnings, "percentile 98") {
		t.Errorf("reasons %v, warnings %q", r, f.Warnings)
	}
}
