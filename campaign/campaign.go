// Package campaign carries out runs: it opens each, drives the collector and the
// load through its phases, and closes it. What comes of it is the stream's.
package campaign

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/schemas"
)

// Phase is a part of a run.
type Phase struct {
	Name     string
	Duration time.Duration
}

// Run is one repetition of a scenario on a system.
type Run struct {
	schemas.Open
	// ID is the run's ULID; empty draws one.
	ID     string
	Phases []Phase
	// Setup brings up what the load needs, before the run is opened, and returns the
	// load for a run that begins at a moment of the boot time clock. The cleanup is
	// called when the run is over, however it ends. Nil: nothing is driven.
	Setup func(ctx context.Context) (load func(startBootNS int64) workload.Load, cleanup func() error, err error)
}

// Host is this host as a run's collector tells it.
type Host struct {
	Name    string
	Roles   []string
	BootID  string
	Facts   map[string]string
	Sources func() (sources []collector.Source, absent map[string]string, err error)
}

// Controller carries out runs on this host.
type Controller struct {
	Conn *bus.Conn
	Host Host
	// Interval between ticks; 0: 1 s.
	Interval time.Duration
	// Warn is told what a user should know; nil: nobody is.
	Warn func(error)
	// Phase is told when a phase begins, with the time the run still takes; nil:
	// nobody is.
	Phase func(r *Run, phase string, left time.Duration)
}

// lead is the time between opening a run and its start, so that all are ready.
const lead = 250 * time.Millisecond

// flushTime is how long a run's last messages may take once it is over; after an
// interrupt they get what is left of the two seconds that a user waits.
const (
	flushTime     = 30 * time.Second
	interruptTime = 1200 * time.Millisecond
)

// ErrInterrupted is returned for a run that was ended by the user: what was measured
// is kept.
var ErrInterrupted = errors.New("interrupted")

// Do carries out one run. A load that can't be driven, or an interrupt, aborts it:
// its rows stay, its status is failed.
func (c *Controller) Do(ctx context.Context, r *Run) (err error) {
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Phase == nil {
		c.Phase = func(*Run, string, time.Duration) {}
	}
	if c.Interval == 0 {
		c.Interval = time.Second
	}
	if r.ID == "" {
		r.ID = NewRunID()
	}
	var total time.Duration
	for _, p := range r.Phases {
		total += p.Duration
	}
	var load func(int64) workload.Load
	if r.Setup != nil {
		l, cleanup, e := r.Setup(ctx)
		if e != nil {
			return fmt.Errorf("campaign: %s: set-up: %w", r.name(), e)
		}
		defer func() {
			if e := cleanup(); e != nil {
				err = errors.Join(err, fmt.Errorf("campaign: %s: clean-up: %w", r.name(), e))
			}
		}()
		load = l
	}
	sources, absent, err := c.Host.Sources()
	if err != nil {
		return fmt.Errorf("campaign: %s: %w", r.name(), err)
	}
	defer func() {
		for _, s := range sources {
			s.Close()
		}
	}()

	wall, boot := collector.Now()
	start := schemas.Stamp{Host: c.Host.Name, WallNS: wall + lead.Nanoseconds(), BootNS: boot + lead.Nanoseconds(), BootID: c.Host.BootID}
	at := func(d time.Duration) schemas.Stamp {
		s := start
		s.WallNS += d.Nanoseconds()
		s.BootNS += d.Nanoseconds()
		return s
	}
	col := c.producer(r)
	open := r.Open
	open.Hosts, open.Controlled = 1, true
	say := func(p *bus.Publisher, x schemas.Control) {
		if e := p.Control(&x); e != nil {
			err = errors.Join(err, e)
		}
	}
	say(col.pub, schemas.Control{Kind: "open", At: start, Open: &open})
	say(col.pub, schemas.Control{Kind: "hello", At: start, Hello: &schemas.Hello{Epoch: col.id.Epoch, Kind: "collector",
		Roles: c.Host.Roles, IntervalNS: c.Interval.Nanoseconds(), Facts: c.Host.Facts, Absent: absent}})

	running, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	sampler := &collector.Sampler{Interval: c.Interval, StartBootNS: start.BootNS, Ticks: int64(total/c.Interval) + 1,
		Sources: sources, Sink: col.pub, Warn: c.Warn, UnackedBytes: col.pub.UnackedBytes}
	var account collector.Account
	var sampleErr, loadErr error
	wg.Go(func() { account, sampleErr = sampler.Run(running) })
	var gen *producer
	var rows *rowSink
	if load != nil {
		gen = c.producer(r)
		rows = &rowSink{sink: gen.pub, warn: c.Warn}
		say(gen.pub, schemas.Control{Kind: "hello", At: start, Hello: &schemas.Hello{Epoch: gen.id.Epoch, Kind: "workload",
			Roles: c.Host.Roles, IntervalNS: c.Interval.Nanoseconds()}})
		driving, end := context.WithCancel(running)
		defer end()
		wg.Go(func() {
			defer stopOnError(&loadErr, stop)
			loadErr = load(start.BootNS).Run(driving, rows.emit)
		})
		wg.Go(func() {
			sleepUntil(driving, start.BootNS+total.Nanoseconds())
			end()
		})
	}
	var elapsed time.Duration
	for _, p := range r.Phases {
		if !sleepUntil(running, start.BootNS+elapsed.Nanoseconds()) {
			break
		}
		say(col.pub, schemas.Control{Kind: "phase", At: at(elapsed), Phase: p.Name})
		c.Phase(r, p.Name, total-elapsed)
		elapsed += p.Duration
	}
	wg.Wait()

	if len(r.Phases) == 0 || running.Err() != nil { // it ended before its time
		_, now := collector.Now()
		elapsed = time.Duration(max(now-start.BootNS, 0))
	}
	say(col.pub, schemas.Control{Kind: "end", At: at(elapsed), End: &schemas.End{Epoch: col.id.Epoch, LastSeq: account.LastSeq, Refused: account.Refused, Missed: account.Missed}})
	if gen != nil {
		say(gen.pub, schemas.Control{Kind: "end", At: at(elapsed), End: &schemas.End{Epoch: gen.id.Epoch, LastSeq: rows.seq, Refused: rows.refused}})
	}
	last := schemas.Control{Kind: "close", At: at(elapsed)}
	cause := errors.Join(sampleErr, loadErr)
	if ctx.Err() != nil {
		cause = ErrInterrupted
	}
	if cause != nil {
		last.Kind, last.Cause = "abort", cause.Error()
		err = errors.Join(err, fmt.Errorf("campaign: %s: %w", r.name(), cause))
	}
	say(col.pub, last)

	// Not ctx: what was measured before an interrupt is kept.
	wait := flushTime
	if ctx.Err() != nil {
		wait = interruptTime
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	if gen != nil {
		err = errors.Join(err, gen.pub.Close(flush))
	}
	return errors.Join(err, col.pub.Close(flush))
}

func (r *Run) name() string {
	return fmt.Sprintf("%s/%s/%s/%02d", r.Experiment, r.System, r.Scenario, r.Open.Run)
}

func stopOnError(err *error, stop func()) {
	if *err != nil {
		stop()
	}
}

// producer is one of a run's producers on this host.
type producer struct {
	id  schemas.Producer
	pub *bus.Publisher
}

func (c *Controller) producer(r *Run) *producer {
	id := schemas.Producer{Run: r.ID, Host: c.Host.Name, Epoch: schemas.NewEpoch(), BootID: c.Host.BootID}
	return &producer{id: id, pub: bus.NewPublisher(c.Conn, id, bus.PublisherOptions{Warn: c.Warn})}
}

// rowSink turns a load's rows into ticks.
type rowSink struct {
	sink    collector.Sink
	warn    func(error)
	seq     int64
	refused []schemas.Range
}

func (s *rowSink) emit(row schemas.Row) {
	s.seq++
	if err := s.sink.Tick(&schemas.Tick{Seq: s.seq, Rows: append([]schemas.Row{row}, row.Clean()...)}); err != nil {
		if len(s.refused) == 0 {
			s.warn(fmt.Errorf("campaign: workload row %d: %w", s.seq, err))
		}
		s.refused = collector.AddToRanges(s.refused, s.seq)
	}
}

// sleepUntil waits for a moment of the boot time clock and reports whether it came
// before ctx ended.
func sleepUntil(ctx context.Context, bootNS int64) bool {
	for {
		_, now := collector.Now()
		if now >= bootNS {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Duration(bootNS - now)):
		}
	}
}

// NewRunID draws a run's id.
func NewRunID() string { return ulid.MustNew(ulid.Now(), rand.Reader).String() }

// SharedRunID returns the id of a run that has no controller: the same on every host
// that names it alike, so that their rows come together.
func SharedRunID(experiment, system, scenario string, run int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{experiment, system, scenario, fmt.Sprint(run)}, "\x00")))
	var id ulid.ULID
	copy(id[:], sum[:])
	return id.String()
}

// Order returns the systems in the order ABC CBA ABC ..., so that a steady drift of
// the machine falls on all alike.
func Order(systems []string, repeats int) []string {
	var out []string
	for k := range repeats {
		for i := range systems {
			if k%2 == 1 {
				i = len(systems) - 1 - i
			}
			out = append(out, systems[i])
		}
	}
	return out
}
