package wrk

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/collector/workload"
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
	if !strings.Contains(r.outputs["nginx.conf"], "stub_status") {
		t.Errorf("nginx.conf: %q", r.outputs["nginx.conf"])
	}
	if len(s.Watch) != 1 || s.Facts["nginx.version"] == "" || !strings.Contains(s.Facts["wrk.command"], "-c20") {
		t.Errorf("watch %v, facts %v", s.Watch, s.Facts)
	}
	if l.warned() != "" {
		t.Errorf("warnings %q", l.warned())
	}
}

// The load is split where a process can't have all connections, and is one load still.
func TestSplitLoad(t *testing.T) {
	need(t, "wrk", "nginx")
	l := newLab(t)
	l.limits = &limits{files: 400, ports: 20000}
	l.env.Measure = time.Second
	r, s, err := l.run(t.Context(), "connections: 700\nthreads: 2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Facts["wrk.processes"] != "2" || s.Facts["nginx.workers"] == "1" || strings.Count(s.Facts["wrk.command"], "-c350 ") != 2 {
		t.Errorf("facts %v", s.Facts)
	}
	total := r.figure("wrk", "operations")
	if got := sum(r.measured(""), "operations"); got != total || total == 0 {
		t.Errorf("rows hold %v operations, the processes %v", got, total)
	}
	if one, two := r.figure("wrk 1", "operations"), r.figure("wrk 2", "operations"); one == 0 || two == 0 || one+two != total {
		t.Errorf("%v and %v operations, %v in all", one, two, total)
	}
	h := r.histogram()
	if n := float64(h.TotalCount()); n != total-r.figure("wrk", "errors_timeout") {
		t.Errorf("%v latencies of %v operations", n, total)
	}
	if p, want := float64(h.ValueAtQuantile(50))/1e9, r.figure("wrk", "latency_p50"); math.Abs(p/want-1) > 0.02 {
		t.Errorf("median %v in the histogram, %v in table summary", p, want)
	}
	if r.outputs["wrk-measure-1.txt"] == "" || r.outputs["wrk-measure-2.txt"] == "" {
		t.Error("an output is missing")
	}
}

// server serves for a test and returns its URL.
func server(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

func TestWarmUpIsInNoFigureOfTheMeasuredPhase(t *testing.T) {
	need(t, "wrk")
	l := newLab(t)
	var once sync.Once
	var slowUntil time.Time
	s := server(t, func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { slowUntil = time.Now().Add(800 * time.Millisecond) })
		if time.Now().Before(slowUntil) {
			time.Sleep(850 * time.Millisecond)
		}
	})
	r, _, err := l.run(t.Context(), "connections: 4\nthreads: 1\nurl: "+s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`Latency .* 8\d\d\.\d\dms`).MatchString(r.outputs["wrk-warmup.txt"]) {
		t.Fatalf("the warm-up was not slow: %s", r.outputs["wrk-warmup.txt"])
	}
	if longest := r.figure("wrk", "latency_max"); longest > 0.8 {
		t.Errorf("%v s in the measured phase", longest)
	}
	if h := r.histogram(); h.Max() > 800e6 || float64(h.TotalCount()) != r.figure("wrk", "operations") {
		t.Errorf("%v ns, %v latencies", h.Max(), h.TotalCount())
	}
}

func TestStalledServerShows(t *testing.T) {
	need(t, "wrk", "nginx")
	l := newLab(t)
	l.env.Warmup, l.env.Measure = 0, 4*time.Second
	r, _, err := l.run(t.Context(), "connections: 10\nthreads: 1\ntimeout: 1s", func(s *workload.Session, phase string) {
		if phase == "measure" {
			time.AfterFunc(time.Second, func() { syscall.Kill(-s.Watch[0].PID, syscall.SIGSTOP) })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := r.measured("")
	silent := 0
	for _, row := range rows {
		if c := cell(row, "operations"); !c.Known {
			t.Error("a row without operations")
		} else if c.Float == 0 {
			silent++
		}
	}
	if silent < 2 || sum(rows, "operations") == 0 {
		t.Errorf("%d silent rows of %d", silent, len(rows))
	}
	for _, want := range []string{"no answer at all for ", "are in no latency", "polls of nginx's stub_status were not answered"} {
		if !strings.Contains(l.warned(), want) {
			t.Errorf("warnings %q: want %q", l.warned(), want)
		}
	}
}

func TestErrorsAreCounted(t *testing.T) {
	need(t, "wrk")
	l := newLab(t)
	l.env.Warmup, l.env.Measure = 0, time.Second
	var n atomic.Int64
	s := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	r, _, err := l.run(t.Context(), "connections: 4\nthreads: 1\nurl: "+s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := sum(r.measured(""), "operations"), sum(r.measured(""), "errors")
	if good != r.figure("wrk", "operations") || bad != r.figure("wrk", "errors_status") || math.Abs(bad/(good+bad)-0.1) > 0.02 {
		t.Errorf("%v operations, %v errors", good, bad)
	}
	if !strings.Contains(l.warned(), "errors: status ") {
		t.Errorf("warnings %q", l.warned())
	}
}

func TestLoadWithoutAResultFails(t *testing.T) {
	need(t, "wrk", "nginx")
	refused := server(t, nil)
	refused.Close()
	failing := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	leaving := server(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		name, params string
		onMeasure    func(s *workload.Session)
		want         string
	}{
		{"nobody listens", "url: " + refused.URL, nil, "unable to connect to 127.0.0.1"},
		{"only errors", "url: " + failing.URL, nil, "every answer was an error"},
		{"server leaves", "url: " + leaving.URL, func(*workload.Session) {
			time.AfterFunc(500*time.Millisecond, func() {
				leaving.Listener.Close()
				leaving.CloseClientConnections()
			})
		}, "the server went away"},
		{"nginx is killed", "port: 0", func(s *workload.Session) { syscall.Kill(s.Watch[0].PID, syscall.SIGKILL) }, "nginx ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.env.Warmup = 0
			_, _, err := l.run(t.Context(), "connections: 4\nthreads: 1\n"+tt.params, func(s *workload.Session, phase string) {
				if phase == "measure" && tt.onMeasure != nil {
					tt.onMeasure(s)
				}
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestInterruptEndsAtOnce(t *testing.T) {
	need(t, "wrk", "nginx")
	l := newLab(t)
	l.env.Measure = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := l.run(ctx, "connections: 4\nthreads: 1", func(_ *workload.Session, phase string) {
		if phase == "measure" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
