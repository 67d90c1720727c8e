package wrk

import (
	"math"
	"strings"
	"testing"
)

func TestRunOnOwnNginx(t *testing.T) {
	need(t, "wrk", "nginx")
	l := newLab(t)
	r, s, err := l.run(t.Context(), "connections: 20\nthreads: 2", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.measured("")
	total := r.figure("wrk", "operations")
	if got := sum(rows, "operations"); got != total || total == 0 {
		t.Errorf("rows hold %v operations, wrk says %v", got, total)
	}
	if first, last := rows[0], rows[len(rows)-1]; first.BootNS-first.IntervalNS != r.phases["measure"] || last.BootNS != r.phases["cooldown"] {
		t.Errorf("the rows are not the measured phase")
	}
	length := float64(r.phases["cooldown"]-r.phases["measure"]) / 1e9
	if got := total / length; math.Abs(got/r.figure("wrk", "throughput")-1) > 0.001 {
		t.Errorf("throughput %v by the rows, %v by wrk", got, r.figure("wrk", "throughput"))
	}
	if counted := r.figure("stub_status", "requests"); math.Abs(counted-total) > 0.01*total+40 {
		t.Errorf("nginx counted %v requests, wrk %v", counted, total)
	}
	h := r.histogram()
	if n := float64(h.TotalCount()); n != total {
		t.Errorf("%v latencies of %v operations", n, total)
	}
	if p, want := float64(h.ValueAtQuantile(99))/1e9, r.figure("wrk", "latency_p99"); math.Abs(p/want-1) > 0.02 {
		t.Errorf("p99 %v in the histogram, %v in table summary", p, want)
	}
	if r.figure("wrk", "latency_corrected_p99") < r.figure("wrk", "latency_p50") {
		t.Error("the corrected p99 is below the median")
	}
	if len(r.part("stub_status")) == 0 {
		t.Error("no row of stub_status")
	}
	for name, want := range map[string]string{"wrk-warmup.txt": "Requests/sec", "wrk-measure.txt": "  2 threads and 20 connections\n"} {
		if !strings.Contains(r.outputs[name], want) || strings.Contains(r.outputs[name], "STEADY") {
			t.Errorf("%s: %q", name, r.outputs[name])
		}
	}
	if len(s.Watch) != 1 || s.Facts["nginx.version"] == "" || !strings.Contains(s.Facts["wrk.command"], "-c20") {
		t.Errorf("watch %v, facts %v", s.Watch, s.Facts)
	}
	t.Log(l.warned())
}
