// Package workload drives load and says, interval by interval, what came of it: its
// rows are those of the tables workload and summary. It brings a server of its own
// too, so that a comparison can be made on a host that has none installed.
//
// It does not judge what it measured, does not trim, and sends nothing anywhere.
package workload

import (
	"context"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// A Load is something that can be driven and measured.
type Load interface {
	// Run drives the load until ctx ends, which is its regular end and no error. It
	// calls emit with a row of table workload at the end of each interval, and with
	// the rows of table summary at the end; always from the calling goroutine. The
	// rows are contiguous: each begins where the one before ended. The last one is as
	// long as the time that was left; it is omitted if that was less than half an
	// interval and nothing happened in it. An error says that the load could not be
	// driven at all: a server that fails is a finding, not an error.
	Run(ctx context.Context, emit func(schemas.Row)) error
}

// Schedule says when the intervals of a load end. They stand fixed on the boot time
// clock, so that the rows of all producers of a run can be laid side by side and no
// delay adds up: a late end makes its own row longer and the next one shorter. An
// interval of which less than half is left then is joined to the next, since a row of a
// few milliseconds in which nothing ended looks like a stall.
type Schedule struct {
	// StartBootNS is the moment on CLOCK_BOOTTIME at which interval 0, and the load,
	// begins; interval k ends at StartBootNS + (k+1)*Interval. If it has passed, the
	// load begins at once, and the first row with it.
	StartBootNS int64
	// Interval is an interval's nominal length; 0 means one second.
	Interval time.Duration
}

// begin waits for the start and returns the moment on the boot time clock at which the
// first row begins; ok is false if ctx ended before.
func (s Schedule) begin(ctx context.Context) (bootNS int64, ok bool) {
	_, now := collector.Now()
	if now >= s.StartBootNS {
		return now, ctx.Err() == nil
	}
	return s.StartBootNS, sleep(ctx, time.Duration(s.StartBootNS-now))
}

// step returns an interval's nominal length in ns.
func (s Schedule) step() int64 {
	if s.Interval == 0 {
		return int64(time.Second)
	}
	return int64(s.Interval)
}

// next returns the first end of an interval that is half an interval or more after
// nowNS, which is not before the start.
func (s Schedule) next(nowNS int64) int64 {
	step := s.step()
	k := (nowNS + (step-1)/2 - s.StartBootNS) / step
	return s.StartBootNS + (k+1)*step
}

// run calls row with the stamps of each interval's end and its length, the first
// interval beginning at beginNS. When ctx ends it calls stop, and row for the rest:
// only that can be shorter than half an interval.
func (s Schedule) run(ctx context.Context, beginNS int64, stop func(), row func(wallNS, bootNS, intervalNS int64)) {
	end := func() {
		wall, boot := collector.Now()
		row(wall, boot, boot-beginNS)
		beginNS = boot
	}
	for {
		due := s.next(beginNS)
		_, now := collector.Now()
		if !sleep(ctx, time.Duration(due-now)) {
			stop()
			end()
			return
		}
		end()
	}
}

// sleep waits for d and reports whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
