package outputs

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// seeds adds the files of a tool, but for large ones.
func seeds(f *testing.F, tool string) {
	files, err := filepath.Glob(filepath.Join("..", "loaders", "testdata", tool, "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no files of %s: %v", tool, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 2<<10 {
			f.Add(string(text))
		}
	}
}

// readAll feeds a parser with all lines and keeps the intervals of those it accepts.
func readAll(p Parser, text string) (all []Interval, r *Report) {
	for _, line := range strings.Split(text, "\n") {
		ivs, _ := p.Line(line)
		all = append(all, ivs...)
	}
	ivs, r, _ := p.End()
	if r == nil {
		return nil, nil
	}
	return append(all, ivs...), r
}

// check holds intervals and a report to what the tables need of them.
func check(t *testing.T, all []Interval, r *Report) {
	t.Helper()
	last := map[string]int64{}
	for _, iv := range all {
		if iv.FromNS < 0 || iv.ToNS < iv.FromNS || iv.ToNS < last[iv.Part] {
			t.Fatalf("an interval from %d to %d behind %d", iv.FromNS, iv.ToNS, last[iv.Part])
		}
		last[iv.Part] = iv.ToNS
		if _, err := iv.Rows("x", r.Unit, 0, iv.ToNS); err != nil {
			t.Fatal(err)
		}
		for column, v := range iv.Values {
			if v < 0 && column != "lost" || schemas.Workload.Column(column) < 0 {
				t.Fatalf("%s %v", column, v)
			}
		}
	}
	for _, f := range r.Figures {
		if f.Metric == "" || f.Phase == "" || math.IsNaN(f.Value) || math.IsInf(f.Value, 0) || f.Value < 0 {
			t.Fatalf("figure %+v", f)
		}
	}
	if _, err := r.Rows("x", 0, r.DurationNS); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 && len(r.Failed)+len(r.Incomplete) == 0 {
		t.Fatalf("nothing, and no reason: %+v", r)
	}
}

// same reports whether two values agree but for rounding, or are both no number.
func same(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
}

func compare(t *testing.T, got, want []Interval, text string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d intervals, want %d, of\n%s", len(got), len(want), text)
	}
	for k := range want {
		if got[k].Part != want[k].Part || got[k].FromNS != want[k].FromNS || got[k].ToNS != want[k].ToNS || len(got[k].Values) != len(want[k].Values) {
			t.Fatalf("interval %d: %+v, want %+v, of\n%s", k, got[k], want[k], text)
		}
		for column, v := range want[k].Values {
			if !same(got[k].Values[column], v) {
				t.Fatalf("interval %d: %s %v, want %v, of\n%s", k, column, got[k].Values[column], v, text)
			}
		}
	}
}

func decimal(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-nan"
	case math.IsInf(v, 0):
		return "inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// What is accepted, printed again as sysbench prints it, is the same.
func FuzzSysbench(f *testing.F) {
	seeds(f, "sysbench")
	f.Fuzz(func(t *testing.T, text string) {
		p := &Sysbench{}
		all, r := readAll(p, text)
		if r == nil {
			return
		}
		check(t, all, r)
		all = all[:min(p.lines, len(all))] // without those of the reports
		again := "Target transaction rate: 1/sec\n"
		for _, iv := range all {
			s := float64(iv.ToNS-iv.FromNS) / 1e9
			rate := func(column string) string {
				if s == 0 {
					return "0"
				}
				return decimal(iv.Values[column] / s)
			}
			percent, latency := "95", "0.00"
			for p, column := range sysbenchColumns {
				if v, ok := iv.Values[column]; ok {
					percent, latency = p, decimal(v*1e3)
				}
			}
			second := iv.ToNS / 1e9
			_, ops := iv.Values["operations"]
			_, queries := iv.Values["reads"]
			_, errs := iv.Values["errors"]
			switch {
			case !ops && s > 0:
				again += fmt.Sprintf("[ %ds ] 1 MiB/sec\n", second)
			case queries:
				again += fmt.Sprintf("[ %ds ] thds: 1 tps: %s qps: 1 (r/w/o: %s/%s/%s) lat (ms,%s%%): %s", second, rate("operations"), rate("reads"), rate("writes"), rate("others"), percent, latency)
			default:
				again += fmt.Sprintf("[ %ds ] thds: 1 eps: %s lat (ms,%s%%): %s", second, rate("operations"), percent, latency)
			}
			if errs {
				again += fmt.Sprintf(" err/s: %s reconn/s: %s", rate("errors"), rate("reconnects"))
			}
			if ops || s == 0 {
				again += "\n"
			}
			if _, ok := iv.Values["queue"]; ok {
				again += fmt.Sprintf("[ %ds ] queue length: %s, concurrency: %s\n", second, decimal(iv.Values["queue"]), decimal(iv.Values["concurrency"]))
			}
		}
		if len(all) == 0 {
			return
		}
		got, _ := readAll(&Sysbench{}, again)
		compare(t, got, all, again)
	})
}

// What is accepted, printed again as wrk prints it, is the same.
func FuzzWrk(f *testing.F) {
	seeds(f, "wrk")
	f.Add("Running 1s test @ h\n  1 threads and 2 connections\n    Latency   1.00ms   1.00ms   1.00ms   80.00%\n  4 requests in 1.00s, 1.00KB read\nRequests/sec: 4.00\nTransfer/sec: 1.00KB\n" +
		`WRK_JSON {"summary":{"duration_us":1000000,"requests":4,"bytes":9,"errors":{"timeout":0}},"latency_us":{"max":1100000,"mean":1,"percentiles":{"50":3},"histogram":[[1,3],[600000,1],[1100000,1]]}}` + "\nWRK_SEC 1 1796054786 3\nWRK_SEC 1 1796054787 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := &Wrk{}
		all, r := readAll(p, text)
		if r == nil {
			return
		}
		check(t, all, r)
		if len(all) == 0 {
			return
		}
		if n := total(all[0].Latencies); n > 0 && n != p.dump.Summary.Requests-p.dump.Summary.Errors["timeout"] {
			t.Fatalf("%d latencies of %+v", n, p.dump.Summary)
		}
		seconds := float64(r.DurationNS) / 1e9
		again := fmt.Sprintf("Running 1s test @ h\n  1 threads and 1 connections\n  %d requests in %ss, %sB read\n", p.requests, decimal(seconds), decimal(p.read.value))
		again += fmt.Sprintf("  Socket errors: connect %d, read %d, write %d, timeout %d\n", p.failures["connect"], p.failures["read"], p.failures["write"], p.failures["timeout"])
		again += fmt.Sprintf("  Non-2xx or 3xx responses: %d\nRequests/sec: %s\nTransfer/sec: 1B\n", p.failures["status"], decimal(float64(p.requests)/seconds))
		got, _ := readAll(&Wrk{}, again)
		if len(got) != 1 {
			t.Fatalf("%d intervals of\n%s", len(got), again)
		}
		var sent float64
		for _, iv := range all {
			sent += iv.Values["operations"]
		}
		if len(p.seconds) == 0 && !same(got[0].Values["operations"], sent) || math.Abs(float64(got[0].ToNS-r.DurationNS)) > 1e-3*float64(r.DurationNS)+1 {
			t.Fatalf("%v operations in %d ns, want %v in %d, of\n%s", got[0].Values["operations"], got[0].ToNS, sent, r.DurationNS, again)
		}
	})
}

// What is accepted, printed again as iperf3 -J prints it, is the same.
func FuzzIperf3(f *testing.F) {
	seeds(f, "iperf3")
	f.Add(`{"start":{"version":"iperf 3.12","test_start":{"protocol":"UDP","omit":1}},"intervals":[{"streams":[{"start":0,"end":1,"bytes":5,"sender":true}]},{"sum":{"start":1,"end":2,"seconds":1,"bytes":5,"packets":3,"lost_packets":1,"jitter_ms":nan,"sender":true},"sum_bidir_reverse":{"start":1,"end":2,"bytes":6,"sender":false}}],"end":{"sum_received":{"start":0,"end":2,"bytes":5,"packets":3,"lost_packets":9},"cpu_utilization_percent":{"host_total":3}},"error":"x"}`)
	f.Add(`{"event":"start","data":{"test_start":{"omit":1}}}` + "\n" + `{"event":"interval","data":{"sum":{"start":0,"end":1,"bytes":5,"omitted":true}}}` + "\n" + `{"event":"interval","data":{"sum":{"start":0,"end":1,"bytes":-nan,"packets":5,"lost_packets":-1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p := &Iperf3{}
		all, r := readAll(p, text)
		if r == nil {
			return
		}
		check(t, all, r)
		ReviewLoss(all)
		check(t, all, r)
		all = slices.DeleteFunc(all, func(iv Interval) bool { return iv.Part == "" && p.last[""] == [2]float64{} }) // of the totals
		protocol := "TCP"
		parts := map[string]bool{}
		for _, iv := range all {
			parts[iv.Part] = true
			if iv.Part == "send" {
				protocol = "UDP"
			}
		}
		if len(all) == 0 || parts["send"] && parts[""] || p.omittedS > 0 {
			return
		}
		type object = map[string]any
		var intervals []object
		for _, iv := range all {
			_, received := iv.Values["received_bytes"]
			if _, ok := iv.Values["operations"]; !ok {
				received = !p.sends[iv.Part]
			}
			o := object{"start": float64(iv.FromNS) / 1e9, "end": float64(iv.ToNS) / 1e9, "sender": !received}
			for column, v := range iv.Values {
				switch column {
				case "operations":
					o["bytes"] = v / 8
				case "jitter_s":
					o["jitter_ms"] = v * 1e3
				case "lost":
					o["lost_packets"] = v
				case "packets", "retransmits":
					o[column] = v
				}
			}
			if iv.Part == "receive" {
				intervals = append(intervals, object{"sum_bidir_reverse": o})
			} else {
				intervals = append(intervals, object{"sum": o})
			}
		}
		b, err := json.Marshal(object{"start": object{"version": "x", "test_start": object{"protocol": protocol}}, "intervals": intervals, "end": object{}})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := readAll(&Iperf3{}, string(b))
		for k := range got { // ends that were printed with fewer digits, and lie in nanoseconds between two numbers
			if k < len(all) && max(got[k].FromNS-all[k].FromNS, all[k].FromNS-got[k].FromNS, got[k].ToNS-all[k].ToNS, all[k].ToNS-got[k].ToNS) <= 256 {
				got[k].FromNS, got[k].ToNS = all[k].FromNS, all[k].ToNS
			}
		}
		compare(t, got, all, string(b))
	})
}

// What is accepted, printed again as perf stat -x prints it, is the same.
func FuzzPerf(f *testing.F) {
	seeds(f, "perf")
	f.Add("1.000000000,CPU0,100,,cycles:u,5,100.00,,\n2.000000000,S0-D0-C1,2,100,msec,task-clock,web,5,100.00,,\n")
	f.Add("1,000104528;0,31;msec;task-clock;306000;100,00;0,310;CPUs utilized\n")
	read := func(text string) (out []PerfInterval) {
		var p Perf
		for _, line := range strings.Split(text, "\n") {
			if iv, _ := p.Line(line); iv != nil {
				out = append(out, *iv)
			}
		}
		if iv, _, _ := p.End(); iv != nil {
			out = append(out, *iv)
		}
		return out
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := read(text)
		again := ""
		last := int64(0)
		for _, iv := range all {
			if iv.FromNS != last || iv.ToNS < iv.FromNS {
				t.Fatalf("an interval from %d to %d behind %d", iv.FromNS, iv.ToNS, last)
			}
			last = iv.ToNS
			for _, c := range iv.Counts {
				if c.Event == "" || (c.Missing != "") != math.IsNaN(c.Running) && c.Missing != "" || math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || c.RunNS < 0 || c.Running < 0 || c.Running > 100 {
					t.Fatalf("count %+v", c)
				}
				if iv.ToNS == 0 || iv.ToNS >= 1e18 || !printable(&c) {
					return
				}
				running := c.Running
				if math.IsNaN(running) {
					running = 100
				}
				value := strconv.FormatFloat(c.Value, 'f', -1, 64)
				if c.Missing != "" {
					value = "<" + c.Missing + ">"
				}
				again += fmt.Sprintf("%d.%09d|", iv.ToNS/1e9, iv.ToNS%1e9)
				if c.Scope != "" {
					again += c.Scope + "|"
					if perfGroup.MatchString(c.Scope) {
						again += "1|"
					}
				}
				again += value + "|" + c.Unit + "|" + c.Event + "|"
				if c.Cgroup != "" {
					again += c.Cgroup + "|"
				}
				again += fmt.Sprintf("%d|%.2f||\n", c.RunNS, running)
			}
		}
		got := read(again)
		if len(got) != len(all) {
			t.Fatalf("%d intervals, want %d, of\n%s", len(got), len(all), again)
		}
		for k := range all {
			if got[k].ToNS != all[k].ToNS || len(got[k].Counts) != len(all[k].Counts) {
				t.Fatalf("interval %d: %+v, want %+v, of\n%s", k, got[k], all[k], again)
			}
			for j, want := range all[k].Counts {
				c := got[k].Counts[j]
				if c.Event != want.Event || c.Scope != want.Scope || c.Cgroup != want.Cgroup || c.Unit != want.Unit || c.Missing != want.Missing || !same(c.Value, want.Value) ||
					c.RunNS != want.RunNS || c.Missing == "" && !math.IsNaN(want.Running) && math.Abs(c.Running-want.Running) > 0.006 {
					t.Fatalf("count %+v, want %+v, of\n%s", c, want, again)
				}
			}
		}
	})
}

// printable reports whether a count's names can stand in CSV: JSON and text take others.
func printable(c *PerfCount) bool {
	plain := func(s string) bool {
		return !strings.ContainsAny(s, "|\n\r#") && strings.TrimSpace(s) == s && s != "summary"
	}
	return plain(c.Event) && plain(c.Scope) && plain(c.Cgroup) && perfUnit.MatchString(c.Unit) && c.Running <= 100 &&
		(c.Scope == "" || perfScope.MatchString(c.Scope)) && strings.Trim(c.Event, "0123456789.") != "" && strings.Count(c.Event, "/")%2 == 0 &&
		!strings.HasSuffix(c.Cgroup, "%") && strings.Trim(c.Cgroup, "0123456789") == c.Cgroup
}
