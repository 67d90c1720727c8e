package loaders

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/schemas"
)

// reader is one of the readers of tools' output.
type reader func(name, text string, o ForeignOptions) ([]*Foreign, error)

func toolOutput(t testing.TB, tool, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", tool, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// oneRun reads a text with one run.
func oneRun(t testing.TB, read reader, text string, o ForeignOptions) *Foreign {
	t.Helper()
	runs, err := read("f", text, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	return runs[0]
}

// typedRows returns a run's rows of a typed table.
func typedRows(f *Foreign, table *schemas.Table) (out []schemas.Row) {
	for _, boot := range f.Boots {
		for _, tick := range boot {
			for _, r := range tick.Rows {
				if r.Table == table {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// loadRows returns the rows of table workload of a part.
func loadRows(f *Foreign, part string) []schemas.Row {
	return slices.DeleteFunc(typedRows(f, &schemas.Workload), func(r schemas.Row) bool { return r.Device != part })
}

// cellOf returns a row's value; NaN is null.
func cellOf(r schemas.Row, column string) float64 {
	i := r.Table.Column(column)
	switch c := r.Cells[i]; {
	case !c.Known:
		return math.NaN()
	case r.Table.Columns[i].Float:
		return c.Float
	default:
		return float64(c.Int)
	}
}

func textOf(r schemas.Row, column string) string { return r.Cells[r.Table.Column(column)].Text }

// addUp adds up a column of the rows; NaN if one is null.
func addUp(rows []schemas.Row, column string) (v float64) {
	for _, r := range rows {
		v += cellOf(r, column)
	}
	return v
}

// figureOf returns the figure of table summary, and its row; NaN if there is none.
func figureOf(f *Foreign, phase, metric string) (float64, schemas.Row) {
	for _, r := range typedRows(f, &schemas.Summary) {
		if textOf(r, "phase") == phase && textOf(r, "metric") == metric {
			return cellOf(r, "value"), r
		}
	}
	return math.NaN(), schemas.Row{}
}

// reasonsOf returns how often each reason stands in table quality, as "reason column".
func reasonsOf(f *Foreign) map[string]int {
	out := map[string]int{}
	for _, r := range typedRows(f, &schemas.Quality) {
		out[strings.TrimSpace(textOf(r, "reason")+" "+textOf(r, "column"))]++
	}
	return out
}

func anyHas(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// nearly reports whether two values agree to a part of 10^-9, or are both null.
func nearly(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
}

func withinPart(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }

// quantileOf returns a quantile of a row's histogram, in s, and its count.
func quantileOf(t *testing.T, r schemas.Row, column string, q float64) (float64, int64) {
	t.Helper()
	b := r.Cells[r.Table.Column(column)].Bytes
	if b == nil {
		return math.NaN(), 0
	}
	h, err := hdrhistogram.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return float64(h.ValueAtQuantile(100*q)) / 1e9, h.TotalCount()
}

// sound holds a run to what every reader of tools promises.
func sound(t testing.TB, f *Foreign) {
	t.Helper()
	var last int64 = -1
	for _, tick := range f.Boots[0] {
		at := int64(-1)
		check := func(bootNS, intervalNS int64) {
			if at >= 0 && bootNS != at {
				t.Fatalf("a tick at %d and %d", at, bootNS)
			}
			at = bootNS
			if intervalNS < 0 || intervalNS > bootNS {
				t.Fatalf("an interval of %d ns ends at %d", intervalNS, bootNS)
			}
		}
		for _, r := range tick.Rows {
			check(r.BootNS, r.IntervalNS)
			if r.WallNS != 0 {
				t.Fatalf("wall time %d is for the one who stores it", r.WallNS)
			}
			for i, c := range r.Cells {
				if math.IsNaN(c.Float) || math.IsInf(c.Float, 0) {
					t.Fatalf("%s: %v", r.Table.Columns[i].Name, c.Float)
				}
				if !c.Known && (c.Int != 0 || c.Float != 0 || c.Text != "" || c.Bytes != nil) {
					t.Fatalf("%s: a null has a value", r.Table.Columns[i].Name)
				}
			}
		}
		for _, b := range tick.Blocks {
			check(b.BootNS, b.IntervalNS)
			if n := len(b.Devices) * len(b.Table.Columns); len(b.Values) != n || slices.Contains(b.Known, true) {
				t.Fatalf("%s: %d values for %d devices", b.Table.Name, len(b.Values), len(b.Devices))
			}
			if n := len(b.Devices) * len(b.Table.Stored()); len(b.Rates) != 0 && len(b.Rates) != n {
				t.Fatalf("%s: %d rates for %d devices", b.Table.Name, len(b.Rates), len(b.Devices))
			}
			for i, v := range b.Rates {
				if math.IsInf(v, 0) {
					t.Fatalf("%s: rate %d is infinite", b.Table.Name, i)
				}
			}
		}
		if at <= last || len(tick.Rows)+len(tick.Blocks) == 0 {
			t.Fatalf("a tick at %d behind one at %d, with %d rows", at, last, len(tick.Rows))
		}
		last = at
	}
	if last > f.DurationNS || f.Kind == "" {
		t.Fatalf("%s: a row at %d in a run of %d ns", f.Kind, last, f.DurationNS)
	}
	for _, p := range f.Phases {
		if p.FromNS < 0 || p.ToNS <= p.FromNS || p.ToNS > f.DurationNS {
			t.Fatalf("phase %+v in a run of %d ns", p, f.DurationNS)
		}
	}
	if len(f.Boots[0]) == 0 && len(f.Failed) == 0 {
		t.Fatal("no row, and no reason")
	}
}

func TestOutputOfSomethingElseIsRefusedByKind(t *testing.T) {
	for _, tt := range []struct {
		name       string
		read       reader
		tool, file string
		want       string
	}{
		{"an empty file", ReadWrk, "iperf3", "noserver.txt", "empty"},
		{"an empty file", ReadIperf3, "iperf3", "noserver.txt", "empty"},
		{"an empty file", ReadSysbench, "iperf3", "noserver.txt", "empty"},
		{"an empty file", ReadPerf, "iperf3", "noserver.txt", "empty"},
		{"wrk's usage", ReadWrk, "wrk", "wrk_bad_args_c_lt_t.txt", "usage"},
		{"a table of polls", ReadWrk, "wrk", "stub_poll_during_c1000.tsv", "nothing of wrk"},
		{"sysbench as wrk", ReadWrk, "sysbench", "oltp_rw_t8.txt", "looks like output of sysbench"},
		{"wrk as sysbench", ReadSysbench, "wrk", "wrk_302.txt", "looks like output of wrk"},
		{"wrk as iperf3", ReadIperf3, "wrk", "wrk_302.txt", "looks like output of wrk"},
		{"iperf3 as perf", ReadPerf, "iperf3", "lo_tcp_P1.txt", "looks like output of iperf3"},
		{"iperf3's document as perf", ReadPerf, "iperf3", "lo_tcp_P1.json", "looks like output of iperf3"},
		{"perf as iperf3", ReadIperf3, "perf", "stat_a_I1000.json", "looks like output of perf"},
		{"perf sched", ReadPerf, "perf", "sched_latency.txt", "line 2"},
		{"a preparation", ReadSysbench, "sysbench", "oltp_prepare.txt", "no run"},
	} {
		runs, err := tt.read("f.txt", toolOutput(t, tt.tool, tt.file), ForeignOptions{Zone: time.UTC, Salvage: true})
		if err == nil || runs != nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "loaders: f.txt: ") {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
	}
}

// Three runs of which one ends well and without a result: it is there, counts for
// nothing, and says why.
func TestAToolThatEndsWithoutAResultIsAFailedRun(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		read       reader
		why        string
	}{
		{"iperf3 -J exits 0", toolOutput(t, "iperf3", "noserver.json"), ReadIperf3, "Connection refused"},
		{"iperf3, server busy", toolOutput(t, "iperf3", "server_busy.json"), ReadIperf3, "busy"},
		{"iperf3's standard error", "iperf3: error - unable to connect to server: Connection refused\n", ReadIperf3, "Connection refused"},
		{"wrk exits 0", toolOutput(t, "wrk", "wrk_socketerr_read_444.txt"), ReadWrk, "no request was answered"},
		{"wrk, killed", "Running 10s test @ http://h/\n  2 threads and 10 connections\n", ReadWrk, "no result"},
		{"sysbench, killed before its first line", sysbench10, ReadSysbench, "no result"},
		{"sysbench without a server", toolOutput(t, "sysbench", "oltp_rw_noserver.txt"), ReadSysbench, "unable to connect"},
	} {
		f := oneRun(t, tt.read, tt.text, ForeignOptions{})
		sound(t, f)
		if !anyHas(f.Failed, tt.why) {
			t.Errorf("%s: failed %q, want %q", tt.name, f.Failed, tt.why)
		}
		for _, r := range loadRows(f, "") {
			if v := cellOf(r, "operations"); v != 0 {
				t.Errorf("%s: %v operations", tt.name, v)
			}
		}
		if n := reasonsOf(f)["failed"]; n != 1 {
			t.Errorf("%s: %d rows of quality say so, want 1", tt.name, n)
		}
	}
}

func TestSeveralRunsOfAFileStayApart(t *testing.T) {
	for _, tt := range []struct {
		name       string
		read       reader
		tool       string
		files      []string
		operations []float64
	}{
		{"wrk", ReadWrk, "wrk", []string{"wrk_302.txt", "wrk_t2_c10_d10.txt"}, []float64{240298, 519978}},
		{"sysbench", ReadSysbench, "sysbench", []string{"cpu_t1.txt", "threads_t8.txt"}, []float64{25980, 5384}},
		{"iperf3's documents", ReadIperf3, "iperf3", []string{"lo_tcp_P1.json", "veth_tcp_P1.json"}, []float64{85815459840, 67428679680}},
		{"iperf3's text", ReadIperf3, "iperf3", []string{"lo_tcp_b100M.txt", "lo_tcp_fm.txt"}, []float64{301151027.2, 19209912320}},
	} {
		var all string
		for _, f := range tt.files {
			all += toolOutput(t, tt.tool, f)
		}
		runs, err := tt.read("f", "what a shell printed before\n"+all, ForeignOptions{})
		if err != nil || len(runs) != 2 {
			t.Errorf("%s: %d runs, %v", tt.name, len(runs), err)
			continue
		}
		for k, f := range runs {
			if got := addUp(loadRows(f, ""), "operations"); !nearly(got, tt.operations[k]) || f.Run != []string{"1", "2"}[k] {
				t.Errorf("%s: run %q: %v operations, want %v", tt.name, f.Run, got, tt.operations[k])
			}
		}
	}
}

// Any text is refused without rows, or becomes sound runs; with Salvage no less is read.
func FuzzReadOutput(f *testing.F) {
	readers := []reader{ReadPerf, ReadWrk, ReadSysbench, ReadIperf3}
	for _, tool := range []string{"perf", "wrk", "sysbench", "iperf3"} {
		files, err := filepath.Glob(filepath.Join("testdata", tool, "*"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			if text, err := os.ReadFile(name); err != nil {
				f.Fatal(err)
			} else if len(text) < 2<<10 {
				f.Add(string(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range readers {
			runs, err := read("f", text, ForeignOptions{Zone: time.UTC})
			if (err == nil) != (len(runs) > 0) {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			salvaged, _ := read("f", text, ForeignOptions{Zone: time.UTC, Salvage: true})
			if len(salvaged) < len(runs) {
				t.Fatalf("%d runs, salvaged %d", len(runs), len(salvaged))
			}
			for _, f := range slices.Concat(runs, salvaged) {
				sound(t, f)
			}
		}
	})
}
