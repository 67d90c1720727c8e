package workload

import (
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/schemas"
)

// A failure is why an operation failed; the summary counts each on its own.
type failure int

const (
	connect  failure = iota // no connection came about
	timedOut                // no complete answer in time
	broken                  // the connection ended, or what came was no HTTP, before a whole header
	status                  // a complete answer, other than 2xx
	body                    // a 2xx answer whose body is cut short or another than expected
	failures
)

func (f failure) String() string {
	return [...]string{"connect", "timeout", "broken", "status", "body"}[f]
}

// tally is what happened in an interval.
type tally struct {
	latencies []int64 // ns, one an operation, in order of completion
	failed    [failures]int64
	bodyBytes int64 // of operations, as they were sent
}

func (t *tally) reset() { *t = tally{latencies: t.latencies[:0]} }

// recorder takes what a few connections do. Latencies are kept one by one: an append is
// all that a request costs, and a histogram for each of 10,000 connections would be
// 2 GB. Its lock is held for an append or a swap.
type recorder struct {
	mu  sync.Mutex
	now tally
	_   [64]byte // the next recorder is another's: keep its cache line apart
}

func (r *recorder) done(latencyNS, bodyBytes int64) {
	r.mu.Lock()
	r.now.latencies = append(r.now.latencies, latencyNS)
	r.now.bodyBytes += bodyBytes
	r.mu.Unlock()
}

func (r *recorder) fail(why failure) {
	r.mu.Lock()
	r.now.failed[why]++
	r.mu.Unlock()
}

// swap takes the tally out and leaves t, which must be empty, in its place.
func (r *recorder) swap(t *tally) {
	r.mu.Lock()
	r.now, *t = *t, r.now
	r.mu.Unlock()
}

// maxLatency is the end of the histograms' range. Their lowest value is 1 ns and not
// 1 us: HdrHistogram's resolution below 2048 x the lowest value is that value's power
// of two, and 512 ns are no three digits of 50 us.
const maxLatency = 60 * time.Second

// meter forms rows of the recorders' tallies.
type meter struct {
	driver, unit string
	recorders    []recorder
	spare        []tally // one a recorder, empty between the calls of row
	hist         *hdrhistogram.Histogram

	// Of the whole run:
	operations, bodyBytes int64
	failed                [failures]int64
}

// newMeter returns a meter with up to 64 recorders for n connections: a swap of all is
// over in microseconds, and two connections hardly ever want the same one at a time.
func newMeter(driver, unit string, n int) *meter {
	n = min(n, 64)
	return &meter{driver: driver, unit: unit, recorders: make([]recorder, n), spare: make([]tally, n),
		hist: hdrhistogram.New(1, int64(maxLatency), 3)}
}

// row closes the interval and returns its row, and how many operations and failures
// are in it. An interval without operations has a row with 0 of them, and null
// latencies.
func (m *meter) row(wallNS, bootNS, intervalNS int64) (row schemas.Row, events int64, err error) {
	for i := range m.recorders {
		m.recorders[i].swap(&m.spare[i])
	}
	m.hist.Reset()
	var errs, sum, longest int64
	for i := range m.spare {
		t := &m.spare[i]
		for _, ns := range t.latencies {
			ns = min(ns, int64(maxLatency))
			if err := m.hist.RecordValue(ns); err != nil {
				return schemas.Row{}, 0, fmt.Errorf("workload: %s: %w", m.driver, err)
			}
			sum += ns
			longest = max(longest, ns)
		}
		for why, n := range t.failed {
			m.failed[why] += n
			errs += n
		}
		m.bodyBytes += t.bodyBytes
		t.reset()
	}
	n := m.hist.TotalCount()
	m.operations += n

	row = schemas.NewRow(&schemas.Workload, wallNS, bootNS, intervalNS)
	row.SetText("driver", m.driver)
	row.SetText("unit", m.unit)
	row.SetFloat("operations", float64(n))
	row.SetInt("errors", errs)
	if n == 0 {
		return row, errs, nil
	}
	encoded, err := m.hist.EncodeV2()
	if err != nil {
		return schemas.Row{}, 0, fmt.Errorf("workload: %s: %w", m.driver, err)
	}
	row.SetFloat("latency_mean_s", float64(sum)/float64(n)/1e9)
	for column, percent := range map[string]float64{"latency_p50_s": 50, "latency_p95_s": 95, "latency_p99_s": 99} {
		// The histogram gives the upper end of a bucket, which may lie above the maximum.
		row.SetFloat(column, float64(min(m.hist.ValueAtPercentile(percent), longest))/1e9)
	}
	row.SetFloat("latency_max_s", float64(longest)/1e9)
	row.SetBytes("latency_hist", encoded)
	return row, n + errs, nil
}

// total is a row of table summary to be.
type total struct {
	metric, unit string
	value        float64
}

// totals returns the totals of all rows formed so far.
func (m *meter) totals() []total {
	var errs int64
	for _, n := range m.failed {
		errs += n
	}
	list := []total{
		{"operations", m.unit, float64(m.operations)},
		{"body_bytes", "B", float64(m.bodyBytes)},
		{"errors", m.unit, float64(errs)},
	}
	for why, n := range m.failed {
		list = append(list, total{"errors_" + failure(why).String(), m.unit, float64(n)})
	}
	return list
}

// summaryRow returns the row of a total of the whole run, which is intervalNS long.
func (m *meter) summaryRow(t total, wallNS, bootNS, intervalNS int64) schemas.Row {
	row := schemas.NewRow(&schemas.Summary, wallNS, bootNS, intervalNS)
	row.SetText("metric", t.metric)
	row.SetText("phase", "run")
	row.SetFloat("value", t.value)
	row.SetText("unit", t.unit)
	row.SetText("source", m.driver)
	return row
}
