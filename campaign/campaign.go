// Package campaign carries out runs: it opens each, drives the collector and the
// load through its phases, and closes it. What comes of it is the stream's.
package campaign

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/schemas"
)

// Run is one repetition of a scenario on a system.
type Run struct {
	schemas.Open
	// ID is the run's ULID; empty draws one.
	ID string
	// Length is about how long the job takes, for the time left.
	Length time.Duration
	// Setup brings up what the load needs, before the run is opened. Nil: nothing is
	// driven, and the run is Length long.
	Setup func(ctx context.Context) (*workload.Session, error)
}

// Host is this host as a run's collector tells it.
type Host struct {
	Name   string
	Roles  []string
	BootID string
	Facts  map[string]string
	// Sources opens the sources; watch are processes that the run is about.
	Sources func(watch []workload.Watch) (sources []collector.Source, absent map[string]string, err error)
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
	session := &workload.Session{}
	if r.Setup != nil {
		if session, err = r.Setup(ctx); err != nil {
			return fmt.Errorf("campaign: %s: set-up: %w", r.name(), err)
		}
		if session.Stop != nil {
			defer func() {
				if e := session.Stop(); e != nil {
					err = errors.Join(err, fmt.Errorf("campaign: %s: clean-up: %w", r.name(), e))
				}
			}()
		}
	}
	sources, absent, err := c.Host.Sources(session.Watch)
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
	at := func(bootNS int64) schemas.Stamp {
		s := start
		s.WallNS += bootNS - start.BootNS
		s.BootNS = bootNS
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
	facts := maps.Clone(c.Host.Facts)
	maps.Copy(facts, session.Facts)
	say(col.pub, schemas.Control{Kind: "open", At: start, Open: &open})
	say(col.pub, schemas.Control{Kind: "hello", At: start, Hello: &schemas.Hello{Epoch: col.id.Epoch, Kind: "collector",
		Roles: c.Host.Roles, IntervalNS: c.Interval.Nanoseconds(), Facts: facts, Absent: absent}})

	running, stop := context.WithCancel(ctx)
	defer stop()
	sampler := &collector.Sampler{Interval: c.Interval, StartBootNS: start.BootNS,
		Sources: sources, Sink: col.pub, Warn: c.Warn, UnackedBytes: col.pub.UnackedBytes}
	var account collector.Account
	var sampleErr, jobErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		if account, sampleErr = sampler.Run(running); sampleErr != nil {
			stop()
		}
	})
	var gen *producer
	var out *jobOut
	measured := int64(0) // when the measured phase ended
	ends := start.BootNS + r.Length.Nanoseconds()
	if session.Job == nil {
		workload.SleepUntil(running, ends)
	} else {
		gen = c.producer(r)
		out = &jobOut{sink: gen.pub, warn: c.Warn, phase: func(name string, bootNS int64) {
			say(col.pub, schemas.Control{Kind: "phase", At: at(bootNS), Phase: name})
			c.Phase(r, name, time.Duration(max(ends-bootNS, 0)))
			if name == "cooldown" {
				measured = bootNS
			}
		}}
		say(gen.pub, schemas.Control{Kind: "hello", At: start, Hello: &schemas.Hello{Epoch: gen.id.Epoch, Kind: "workload",
			Roles: c.Host.Roles, IntervalNS: c.Interval.Nanoseconds()}})
		if jobErr = session.Job(start.BootNS).Run(running, out); jobErr != nil {
			stop()
		}
		out.flush()
	}
	_, over := collector.Now()
	if measured != 0 { // what comes after is of no interest
		sampler.EndAfter(measured)
	} else {
		sampler.EndAfter(over)
	}
	wg.Wait()

	say(col.pub, schemas.Control{Kind: "end", At: at(over), End: &schemas.End{Epoch: col.id.Epoch, LastSeq: account.LastSeq, Refused: account.Refused, Missed: account.Missed}})
	if gen != nil {
		say(gen.pub, schemas.Control{Kind: "end", At: at(over), End: &schemas.End{Epoch: gen.id.Epoch, LastSeq: out.seq, Refused: out.refused}})
	}
	last := schemas.Control{Kind: "close", At: at(over)}
	cause := errors.Join(sampleErr, jobErr)
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

// producer is one of a run's producers on this host.
type producer struct {
	id  schemas.Producer
	pub *bus.Publisher
}

func (c *Controller) producer(r *Run) *producer {
	id := schemas.Producer{Run: r.ID, Host: c.Host.Name, Epoch: schemas.NewEpoch(), BootID: c.Host.BootID}
	return &producer{id: id, pub: bus.NewPublisher(c.Conn, id, bus.PublisherOptions{Warn: c.Warn})}
}

// jobOut turns what a job says into ticks and phases.
type jobOut struct {
	sink    collector.Sink
	warn    func(error)
	phase   func(name string, bootNS int64)
	seq     int64
	refused []schemas.Range
	names   []string // of pending, in the order in which they came
	pending map[string][]byte
}

var _ workload.Out = (*jobOut)(nil)

func (o *jobOut) Phase(name string, bootNS int64) { o.phase(name, bootNS) }

func (o *jobOut) Row(row schemas.Row) { o.tick(append([]schemas.Row{row}, row.Clean()...)...) }

// Output collects a tool's output to pieces worth a message.
func (o *jobOut) Output(name string, data []byte) {
	if o.pending == nil {
		o.pending = map[string][]byte{}
	}
	if _, ok := o.pending[name]; !ok {
		o.names = append(o.names, name)
	}
	o.pending[name] = append(o.pending[name], data...)
	if len(o.pending[name]) >= schemas.OutputPiece {
		o.output(name)
	}
}

func (o *jobOut) output(name string) {
	wall, boot := collector.Now()
	for _, row := range schemas.OutputRows(wall, boot, name, o.pending[name]) {
		o.tick(row)
	}
	o.pending[name] = o.pending[name][:0]
}

// flush sends what is left of each output; an empty one becomes an empty file.
func (o *jobOut) flush() {
	for _, name := range o.names {
		o.output(name)
	}
}

func (o *jobOut) tick(rows ...schemas.Row) {
	o.seq++
	if err := o.sink.Tick(&schemas.Tick{Seq: o.seq, Rows: rows}); err != nil {
		if len(o.refused) == 0 {
			o.warn(fmt.Errorf("campaign: workload row %d: %w", o.seq, err))
		}
		o.refused = collector.AddToRanges(o.refused, o.seq)
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
