package wrk

import (
	"strings"
	"testing"
	"time"
)

// report is what wrk 4.1.0 prints of 100 requests in a second on 2 connections.
const report = `Running 1s test @ http://127.0.0.1:1/
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.21ms    0.92ms  16.20ms   84.97%
    Req/Sec   100.00      5.07    120.00     77.00%
  Latency Distribution
     50%    1.17ms
     75%    1.41ms
     90%    1.89ms
     99%    4.72ms
  100 requests in 1.00s, 498.12KB read
Requests/sec:    100.00
Transfer/sec:    498.12KB
`

// Each misbehaviour ends the run, soon, with its cause.
func TestWrkThatMisbehaves(t *testing.T) {
	before := spareTime
	spareTime = time.Second
	t.Cleanup(func() { spareTime = before })
	const begin = "echo \"STEADY begin 1 $STEADY_ORIGIN_NS\"\n"
	told := "cat <<'X'\n" + report + "X\n"
	for _, tt := range []struct{ name, script, want string }{
		{"exit status", begin + "echo broken pipe dream >&2; exit 3", "exit status 3: broken pipe dream"},
		{"usage", begin + "echo 'Usage: wrk <options> <url>'", "it did not run"},
		{"silence", "exit 0", "did not say that all threads began"},
		{"nothing of wrk", begin + "echo hello", "nothing of wrk in it"},
		{"killed", begin + "kill -9 $$", "signal: killed"},
		{"cut off", begin + "echo 'Running 1s test @ http://127.0.0.1:1/'", "without a result"},
		{"hangs", begin + "sleep 1000", "did not end within 1s of its duration of 1s"},
		{"hangs and does not heed signals", begin + "trap '' TERM\nsleep 1000 & wait; sleep 1000", "did not end within"},
		{"garbage from the script", begin + "echo STEADY 1 2 x", "STEADY 1 2 x"},
		{"a thread that did not begin", "echo STEADY 1 0 1 0 1", "not as the script writes it"},
		{"a thread too many", begin + "echo STEADY 2 0 1 0 1", "not as the script writes it"},
		{"a begin before the run's", "echo STEADY begin 1 5", "of a time out of the run's"},
		{"time to come", begin + "echo STEADY 1 0 1 0 900000000000", "of a time out of the run's"},
		{"counts that don't agree", begin + "echo STEADY 1 0 50 0 0\n" + told, "its script counted 50 answers, wrk 100"},
		{"numbers that don't agree", begin + "echo STEADY 1 0 100 0 0\n" + strings.ReplaceAll(told, "100 requests in 1.00s", "100 requests in 9.00s"), "not as wrk wrote it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.env.Warmup, l.env.Measure = 0, time.Second
			path := l.script("wrk", "if [ \"$1\" = -v ]; then echo 'wrk 4.1.0 [epoll]'; exit 1; fi\n"+tt.script+"\n")
			began := time.Now()
			_, _, err := l.run(t.Context(), "connections: 2\nthreads: 1\nurl: http://127.0.0.1:1/\nwrk: "+path, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// Without the histogram there are wrk's own percentiles, under names that say so, and
// none on the rows.
func TestWrkWithoutAHistogram(t *testing.T) {
	l := newLab(t)
	l.env.Warmup, l.env.Measure = 0, time.Second
	path := l.script("wrk", "if [ \"$1\" = -v ]; then echo 'wrk 4.1.0 [epoll]'; exit 1; fi\necho \"STEADY begin 1 $STEADY_ORIGIN_NS\"\necho STEADY 1 0 100 0 0\ncat <<'X'\n"+report+"X\n")
	r, _, err := l.run(t.Context(), "connections: 2\nthreads: 1\nurl: http://127.0.0.1:1/\nwrk: "+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.figure("wrk", "latency_corrected_p99"); got != 0.00472 {
		t.Errorf("p99 %v", got)
	}
	for _, row := range r.part("") {
		if cell(row, "latency_hist").Known || cell(row, "latency_p99_s").Known {
			t.Error("a row has latencies")
		}
	}
	if got := r.outputs["wrk-measure.txt"]; got != report {
		t.Errorf("kept %q", got)
	}
	if !strings.Contains(l.warned(), "no histogram") {
		t.Errorf("warnings %q", l.warned())
	}
}
