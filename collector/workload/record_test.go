package workload

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestSwapsLoseNothing(t *testing.T) {
	const writers, each = 8, 20000
	m := newMeter("test", "request", 2) // fewer recorders than writers: they do contend
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			r := &m.recorders[i%len(m.recorders)]
			for j := range each {
				if j%10 == 0 {
					r.fail(body)
				} else {
					r.done(int64(j), 1)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	operations, errs := 0.0, 0.0
	for last := false; !last; {
		select {
		case <-over:
			last = true
		default:
		}
		row, _, err := m.row(0, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		operations += number(row, "operations")
		errs += number(row, "errors")
	}
	if operations != writers*each*9/10 || errs != writers*each/10 || m.bodyBytes != writers*each*9/10 {
		t.Errorf("%v operations, %v errors, %d bytes", operations, errs, m.bodyBytes)
	}
}

func TestRow(t *testing.T) {
	m := newMeter("test", "request", 3)
	for i := range 1000 {
		m.recorders[i%3].done(int64(i+1)*50, 10) // 50 ns to 50 us
	}
	m.recorders[1].fail(timedOut)
	row, events, err := m.row(7, 8, 9)
	if err != nil {
		t.Fatal(err)
	}
	if events != 1001 || row.WallNS != 7 || row.BootNS != 8 || row.IntervalNS != 9 || text(row, "driver") != "test" || text(row, "unit") != "request" {
		t.Errorf("row: %+v", row)
	}
	for column, want := range map[string]float64{
		"operations": 1000, "errors": 1, "latency_mean_s": 25.025e-6, "latency_p50_s": 25e-6,
		"latency_p95_s": 47.5e-6, "latency_p99_s": 49.5e-6, "latency_max_s": 50e-6,
	} {
		if got := number(row, column); math.Abs(got-want) > want/1000 { // three digits, below 1 ms too
			t.Errorf("%s: %v, want %v", column, got, want)
		}
	}
	h, err := hdrhistogram.Decode(cell(row, "latency_hist").Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if h.TotalCount() != 1000 || !h.Equals(m.hist) {
		t.Errorf("%d values decoded", h.TotalCount())
	}
	if row, events, err = m.row(0, 0, 1); err != nil || events != 0 || number(row, "operations") != 0 || number(row, "errors") != 0 || cell(row, "latency_p50_s").Known {
		t.Errorf("the next row: %+v, %v", row, err)
	}
}

func TestLatencyBeyondTheRangeIsKept(t *testing.T) {
	m := newMeter("test", "request", 1)
	m.recorders[0].done(int64(maxLatency)*10, 0) // a request that the machine slept through
	row, _, err := m.row(0, 0, 1)
	if err != nil || number(row, "operations") != 1 || number(row, "latency_max_s") != maxLatency.Seconds() {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestScheduleDoesNotDrift(t *testing.T) {
	s := Schedule{StartBootNS: 1000, Interval: 100}
	for _, tt := range []struct{ now, want int64 }{
		{1000, 1100}, {1001, 1100}, {1050, 1100}, {1100, 1200}, {1150, 1200},
		{1051, 1200}, {1099, 1200}, // less than half an interval was left
		{1310, 1400}, // 1200 and 1300 were missed
	} {
		if got := s.next(tt.now); got != tt.want {
			t.Errorf("after %d: %d, want %d", tt.now, got, tt.want)
		}
	}
	if got := (Schedule{}).next(5); got != int64(time.Second) {
		t.Errorf("by default: %d", got)
	}
}
