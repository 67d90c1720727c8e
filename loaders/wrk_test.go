package loaders

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

func TestReadWrkFiles(t *testing.T) {
	null := math.NaN()
	for _, tt := range []struct {
		file                       string
		requests, errors, duration float64
		p50, p99, max              float64 // as wrk printed them, or the dump has them
		plain99                    float64 // with wrk's addition undone
		connections                int64
		failed                     string
	}{
		{"wrk_302.txt", 240298, 0, 3.09988, null, null, 7310e-6, null, 10, ""},
		{"wrk_conn_close_c100.txt", 252248, 0, 8.09266, 1880e-6, 6080e-6, 13420e-6, null, 100, ""},
		{"wrk_connect_emfile_c20500.txt", 84276, 14875, 5.25587, 0.34, 0.69646, 0.76101, null, 20500, ""},
		{"wrk_lua_hist_c10.txt", 627743, 0, 10.00445, 148e-6, 4712e-6, 30175e-6, 366e-6, 10, ""},
		{"wrk_lua_persec_request_c100.txt", 400806, 0, 5.00708, 1240e-6, 4350e-6, 11740e-6, null, 100, ""},
		{"wrk_lua_persec_response_c100.txt", 408695, 0, 5.01948, 1170e-6, 4720e-6, 16200e-6, null, 100, ""},
		{"wrk_non2xx_404.txt", 0, 431113, 5.00588, 81e-6, 9380e-6, 38030e-6, null, 10, "every response was an error"},
		{"wrk_non2xx_500_nolatency.txt", 0, 270864, 3.00115, null, null, 9230e-6, null, 10, "every response was an error"},
		{"wrk_sigint_d51.txt", 130098, 0, 2.99979, 200e-6, 7460e-6, 26810e-6, null, 10, ""},
		{"wrk_socketerr_read_444.txt", 0, 48186, 3.00957, null, null, null, null, 10, "no request was answered"},
		{"wrk_stopped_never_answers.txt", 130547, 0, 5.02477, 940e-6, 5540e-6, 18600e-6, null, 100, ""},
		{"wrk_t2_c10000_d10.txt", 551517, 0, 10.05828, 0.16619, 0.21399, 0.40199, null, 10000, ""},
		{"wrk_t2_c1000_d10.txt", 564844, 0, 10.10058, 17670e-6, 27920e-6, 43310e-6, null, 1000, ""},
		{"wrk_t2_c100_d10.txt", 555626, 0, 10.03556, 1560e-6, 11180e-6, 63800e-6, null, 100, ""},
		{"wrk_t2_c10_d10.txt", 519978, 0, 10.02463, 126e-6, 4140e-6, 83530e-6, null, 10, ""},
		{"wrk_t2_c5000_d10.txt", 555178, 0, 10.10400, 85190e-6, 0.12173, 0.15701, null, 5000, ""},
		{"wrk_timeout_stop4s.txt", 364844, 100, 10.09246, 1129e-6, 11182e-6, 47945e-6, 8332e-6, 100, ""},
	} {
		t.Run(tt.file, func(t *testing.T) {
			f := oneRun(t, ReadWrk, toolOutput(t, "wrk", tt.file), ForeignOptions{})
			sound(t, f)
			all := loadRows(f, "")
			if got := addUp(all, "operations"); got != tt.requests {
				t.Errorf("%v operations, want %v", got, tt.requests)
			}
			if got := addUp(all, "errors"); got != tt.errors {
				t.Errorf("%v errors, want %v", got, tt.errors)
			}
			var ns int64
			for _, r := range all {
				ns += r.IntervalNS
			}
			if ns != f.DurationNS || math.Abs(float64(ns)/1e9-tt.duration) > 6e-6 {
				t.Errorf("rows of %d ns in %d ns, want %v s", ns, f.DurationNS, tt.duration)
			}
			for metric, want := range map[string]float64{"latency_corrected_p50": tt.p50, "latency_corrected_p99": tt.p99, "latency_max": tt.max, "latency_p99": tt.plain99} {
				if got, _ := figureOf(f, "run", metric); !nearly(got, want) {
					t.Errorf("%s %v, want %v", metric, got, want)
				}
			}
			if f.Params["connections"] != tt.connections || f.Params["url"] == nil {
				t.Errorf("params %v, want %d connections", f.Params, tt.connections)
			}
			if len(f.Failed) > 0 != (tt.failed != "") || tt.failed != "" && !anyHas(f.Failed, tt.failed) {
				t.Errorf("failed %q, want %q", f.Failed, tt.failed)
			}
		})
	}
}

// What wrk adds for coordinated omission can be taken out again: what remains are as
// many latencies as there were responses within the time-out.
func TestWrkAdditionIsUndone(t *testing.T) {
	for _, tt := range []struct {
		file                string
		recorded, corrected int64
		p999, correctedP99  float64
		max                 float64 // of the row
	}{
		// Counted from the dumps by other means.
		{"wrk_lua_hist_c10.txt", 627743, 698268, 4214e-6, 4712e-6, 30175e-6},
		{"wrk_timeout_stop4s.txt", 364744, 384355, 16381e-6, 11182e-6, math.NaN()},
	} {
		f := oneRun(t, ReadWrk, toolOutput(t, "wrk", tt.file), ForeignOptions{})
		row := loadRows(f, "")[0]
		p999, n := quantileOf(t, row, "latency_hist", 0.999)
		if n != tt.recorded || !withinPart(p999, tt.p999, 0.001) || !nearly(cellOf(row, "latency_p99_9_s"), tt.p999) {
			t.Errorf("%s: the row has %d latencies, p99.9 %v (%v), want %d, %v", tt.file, n, p999, cellOf(row, "latency_p99_9_s"), tt.recorded, tt.p999)
		}
		_, r := figureOf(f, "run", "latency_corrected_mean")
		if q, n := quantileOf(t, r, "hist", 0.99); n != tt.corrected || !withinPart(q, tt.correctedP99, 0.001) {
			t.Errorf("%s: wrk's own histogram: %d, p99 %v, want %d, %v", tt.file, n, q, tt.corrected, tt.correctedP99)
		}
		if got := cellOf(row, "latency_max_s"); !nearly(got, tt.max) {
			t.Errorf("%s: maximum %v, want %v", tt.file, got, tt.max)
		}
	}
}

// wrkText is a run of wrk: its latency line, its distribution, its errors.
func wrkText(latency, distribution, errors string, requests int, took, rate string) string {
	return fmt.Sprintf(`Running 2m test @ http://127.0.0.1:8080/
  4 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency  %s    82.12%%
    Req/Sec     2.94k   310.00     3.50k    70.00%%
%s  %d requests in %s, 1.20GB read
%sRequests/sec:  %s
Transfer/sec:     10.24MB
`, latency, distribution, requests, took, errors, rate)
}

// Units go from us over ms and s to m at 0.85 of the next, and the column cuts one off.
func TestWrkUnits(t *testing.T) {
	f := oneRun(t, ReadWrk, wrkText("1000.00m   210.25ms   1.05s ", `  Latency Distribution
     50%  850.00us
     75%    1.20ms
     90%  999.00ms
     99%    0.85m
`, "", 1411266, "2.00m", "11760.55"), ForeignOptions{})
	sound(t, f)
	for metric, want := range map[string]float64{
		"latency_corrected_mean": 1, "latency_corrected_stdev": 0.21025, "latency_max": 1.05,
		"latency_corrected_p50": 0.00085, "latency_corrected_p75": 0.0012, "latency_corrected_p90": 0.999, "latency_corrected_p99": 51,
		"operations": 1411266, "received_bytes": 1.20 * (1 << 30),
	} {
		if got, _ := figureOf(f, "run", metric); !nearly(got, want) {
			t.Errorf("%s %v, want %v", metric, got, want)
		}
	}
	// 2.94k is of a thread: the total is wrk's own rate.
	if got, _ := figureOf(f, "run", "throughput"); !withinPart(got, 11760.55, 1e-6) {
		t.Errorf("throughput %v, want 11760.55", got)
	}
	if !withinPart(float64(f.DurationNS), 120e9, 1e-6) {
		t.Errorf("%d ns, want 120 s", f.DurationNS)
	}
	if !anyHas(f.Warnings, "1000.00m is cut off") || !anyHas(f.Warnings, "above the maximum") {
		t.Errorf("warnings %q", f.Warnings)
	}
	f = oneRun(t, ReadWrk, wrkText("  999.99ms  210.25ms1000.00ms", "", "", 1411266, "2.00m", "11760.55"), ForeignOptions{})
	if got, _ := figureOf(f, "run", "latency_max"); got != 1 {
		t.Errorf("a maximum without a blank before it is %v", got)
	}
	f = oneRun(t, ReadWrk, wrkText("   1.20    210.25ms   1.05s ", "", "", 1411266, "2.00m", "11760.55"), ForeignOptions{})
	if got, _ := figureOf(f, "run", "latency_corrected_mean"); !math.IsNaN(got) || !anyHas(f.Warnings, `"1.20" has no unit`) {
		t.Errorf("a latency without a unit is %v, %q", got, f.Warnings)
	}
}

// Responses that are errors are no operations; the others that failed count beside them.
func TestWrkErrors(t *testing.T) {
	latency := "    1.00ms    1.00ms   2.00ms"
	for _, tt := range []struct {
		name, errors, rate string
		requests           int
		operations, failed float64
		warning            string
		hopeless           bool
	}{
		{"all 4xx or 5xx", "  Non-2xx or 3xx responses: 12000\n", "1200.00", 12000, 0, 12000, "100 % of 12000", true},
		{"time-outs", "  Socket errors: connect 0, read 0, write 0, timeout 53\n", "10000.00", 100000, 100000, 53, "0.053 % of 100053", false},
		{"none", "", "10000.00", 100000, 100000, 0, "", false},
		{"all kinds", "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 10\n", "1200.00", 12000, 11990, 20, "0.167 % of 12010", false},
	} {
		f := oneRun(t, ReadWrk, wrkText(latency, "", tt.errors, tt.requests, "10.00s", tt.rate), ForeignOptions{})
		row := loadRows(f, "")[0]
		if cellOf(row, "operations") != tt.operations || cellOf(row, "errors") != tt.failed {
			t.Errorf("%s: %v operations, %v errors, want %v, %v", tt.name, cellOf(row, "operations"), cellOf(row, "errors"), tt.operations, tt.failed)
		}
		if tt.warning != "" && !anyHas(f.Warnings, tt.warning) || len(f.Failed) > 0 != tt.hopeless {
			t.Errorf("%s: warnings %q, failed %q, want %q, %v", tt.name, f.Warnings, f.Failed, tt.warning, tt.hopeless)
		}
		if missed := strings.Contains(tt.errors, "timeout") && !strings.Contains(tt.errors, "timeout 0"); missed != anyHas(f.Warnings, "the latencies miss") {
			t.Errorf("%s: warnings %q", tt.name, f.Warnings)
		}
	}
}

// Counters of the clock's seconds become rows: the first and the last, which the run
// cuts, share what is left of its length.
func TestWrkSecondsBecomeRows(t *testing.T) {
	f := oneRun(t, ReadWrk, toolOutput(t, "wrk", "wrk_lua_persec_response_c100.txt"), ForeignOptions{})
	all := loadRows(f, "")
	want := []float64{71679, 86786, 74423, 82059, 86778, 6970}
	if len(all) != len(want) {
		t.Fatalf("%d rows, want %d", len(all), len(want))
	}
	for k, r := range all {
		if cellOf(r, "operations") != want[k] {
			t.Errorf("second %d: %v, want %v", k, cellOf(r, "operations"), want[k])
		}
		if k > 0 && k < 5 && r.IntervalNS != 1e9 {
			t.Errorf("second %d is %d ns long", k, r.IntervalNS)
		}
	}
	first, last := float64(all[0].IntervalNS), float64(all[5].IntervalNS)
	if !withinPart(first/last, 71679.0/6970, 1e-6) || !withinPart(first+last, 1.019476e9, 1e-5) {
		t.Errorf("the ends are %v and %v ns", first, last)
	}
	// The whole seconds are those of the clock.
	if at := f.Start.Add(time.Duration(all[0].BootNS)); !at.Equal(time.Unix(1796054787, 0)) {
		t.Errorf("the second row begins at %v", at)
	}

	seconds := "WRK_SEC 1 1796054786 40\nWRK_SEC 1 1796054788 50\nWRK_SEC 1 1796054789 10\n"
	text := wrkText("    1.00ms    1.00ms   2.00ms", "", "", 100, "3.00s", "33.33") + seconds
	f = oneRun(t, ReadWrk, text, ForeignOptions{})
	all = loadRows(f, "")
	if len(all) != 4 || cellOf(all[1], "operations") != 0 || all[1].IntervalNS != 1e9 {
		t.Errorf("a second without responses: %v", all)
	}
	for _, tt := range []struct{ name, text, warning string }{
		{"counts of other requests", strings.Replace(text, "88 50", "88 5000", 1), "they are left out"},
		{"more seconds than the run was long", strings.Replace(text, "6054786 40", "6054776 40", 1), "can't be 3.00 s"},
		{"seconds that are years apart", wrkText("    1.00ms    1.00ms   2.00ms", "", "", 100, "99999999.00s", "0.00") + "WRK_SEC 1 1696054786 40\nWRK_SEC 1 1796054785 60\n", "apart: they are left out"},
		{"errors among the responses", strings.Replace(text, "Requests/sec", "  Non-2xx or 3xx responses: 1\nRequests/sec", 1), "count 4xx and 5xx too"},
	} {
		f := oneRun(t, ReadWrk, tt.text, ForeignOptions{})
		if len(loadRows(f, "")) != 1 || !anyHas(f.Warnings, tt.warning) {
			t.Errorf("%s: %d rows, %q", tt.name, len(loadRows(f, "")), f.Warnings)
		}
	}
}

func TestWrkSlicesAreOneRun(t *testing.T) {
	f := oneRun(t, ReadWrk, toolOutput(t, "wrk", "wrk_slices_10x1s_c100.txt"), ForeignOptions{})
	sound(t, f)
	all := loadRows(f, "")
	if len(all) != 10 || addUp(all, "operations") != 863097 || !f.Start.Equal(time.Unix(1796054840, 216182145)) {
		t.Errorf("%d rows of %v requests from %v on", len(all), addUp(all, "operations"), f.Start)
	}
	if from := all[1].BootNS - all[1].IntervalNS; from != 1115713706 {
		t.Errorf("slice 2 begins at %d, want 1115713706", from)
	}
	for phase, want := range map[string]float64{"slice-1": 5.13e-3, "slice-4": 43.04e-3} {
		if got, _ := figureOf(f, phase, "latency_corrected_p99"); !nearly(got, want) {
			t.Errorf("p99 of %s: %v, want %v", phase, got, want)
		}
	}
	if _, err := ReadWrk("f", "### slice 1 start soon\n", ForeignOptions{}); err == nil {
		t.Error("a slice without a start was read")
	}
}

func TestWrkOutputThatCantBeRight(t *testing.T) {
	good := toolOutput(t, "wrk", "wrk_302.txt")
	for _, tt := range []struct{ name, text, want string }{
		{"a rate that is cut off", strings.Replace(good, "77518.56", "7751", 1), "not as wrk wrote it"},
		{"a decimal comma", strings.Replace(good, "77518.56", "77518,56", 1), "LC_ALL=C"},
		{"a time without a unit", strings.Replace(good, "3.10s", "3.10", 1), "a time"},
		{"more errors than requests", strings.Replace(good, "Requests/sec", "  Non-2xx or 3xx responses: 999999\nRequests/sec", 1), "not as wrk wrote it"},
		{"wrk2", strings.Replace(good, "  Thread", "  Latency Distribution (HdrHistogram - Recorded Latency)\n  Thread", 1), "wrk2"},
		{"a dump that is cut off", good + `WRK_JSON {"summary":{"duration_us":3099`, "WRK_JSON"},
		{"a second that is cut off", good + "WRK_SEC 1 17960", "WRK_SEC"},
	} {
		if runs, err := ReadWrk("f", tt.text, ForeignOptions{}); err == nil || runs != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
	}
	// What doesn't undo to one latency a response is left as it is.
	text := toolOutput(t, "wrk", "wrk_lua_hist_c10.txt")
	f := oneRun(t, ReadWrk, strings.Replace(text, "[21,2]", "[21,3]", 1), ForeignOptions{})
	if r := loadRows(f, "")[0]; r.Cells[schemas.Workload.Column("latency_hist")].Known || !anyHas(f.Warnings, "compare with nothing else") {
		t.Errorf("a histogram with one latency too many was undone: %q", f.Warnings)
	}
	// Of ten requests one took 450 ms, of which wrk makes 350, 250 and 150 ms too: e is the
	// 1 s of the run over 10.
	dump := func(histogram string, requests int) string {
		return strings.Replace(wrkText("    1.00ms    1.00ms 450.00ms", "", "", 10, "1.00s", "10.00"), "and 64 conn", "and 1 conn", 1) +
			fmt.Sprintf(`WRK_JSON {"summary":{"duration_us":1000000,"requests":10,"bytes":%d,"errors":{"timeout":0}},"latency_us":{"mean":-nan,"max":450000,"percentiles":{"50":50},"histogram":[%s]}}`, requests, histogram) + "\n"
	}
	f = oneRun(t, ReadWrk, dump("[50,9],[150000,1],[250000,1],[350000,1],[450000,1]", 10), ForeignOptions{})
	r := loadRows(f, "")[0]
	if q, n := quantileOf(t, r, "latency_hist", 0.9); n != 10 || !withinPart(q, 50e-6, 0.001) || cellOf(r, "latency_p99_s") != 0.45 {
		t.Errorf("%d latencies, p90 %v, p99 %v", n, q, cellOf(r, "latency_p99_s"))
	}
	for _, histogram := range []string{
		"[50,9],[150000,1],[350000,1],[450000,1]",              // one of the added is missing
		"[50,9],[250000,1],[350000,1],[450000,1]",              // the last of them is
		"[50,9],[150000,1],[250000,1],[350000,1],[450000,2]",   // fewer than it takes
		"[50,10],[150000,1],[250000,1],[350000,1],[450000,1]",  // one too many
		"[50,9],[150000,1],[150000,1],[350000,1],[450000,1]",   // no histogram
		"[50,9],[150000,1],[250000,1],[350000,1],[450000,-1]",  // no count
		"[-50,9],[150000,1],[250000,1],[350000,1],[450000,1]",  // no latency
		"[50,9],[150000,1],[250000,1],[350000,1],[450000,1e9]", // more than there were
	} {
		f := oneRun(t, ReadWrk, strings.Replace(dump(histogram, 10), "1e9", "1000000000", 1), ForeignOptions{})
		if loadRows(f, "")[0].Cells[schemas.Workload.Column("latency_hist")].Known {
			t.Errorf("%s was undone", histogram)
		}
	}
	// Of what the errors among the responses took nothing is known apart.
	f = oneRun(t, ReadWrk, strings.Replace(dump("[50,9],[150000,1],[250000,1],[350000,1],[450000,1]", 10), "Requests/sec", "  Non-2xx or 3xx responses: 1\nRequests/sec", 1), ForeignOptions{})
	if v, _ := figureOf(f, "run", "latency_p99"); v != 0.45 || !math.IsNaN(cellOf(loadRows(f, "")[0], "latency_p99_s")) || reasonsOf(f)["absent latency_hist"] != 1 {
		t.Errorf("p99 of all responses %v, of operations %v", v, cellOf(loadRows(f, "")[0], "latency_p99_s"))
	}
	// What may be secret in an address is left out.
	f = oneRun(t, ReadWrk, strings.Replace(good, "http://127.0.0.1:18080/e302", "http://me:secret@h/p?token=secret", 1), ForeignOptions{})
	if f.Params["url"] != "http://h/p" {
		t.Errorf("url %v", f.Params["url"])
	}
}
