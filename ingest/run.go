package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/schemas"
)

// Options configure Run.
type Options struct {
	// FlushEvery is how long rows may wait in memory for their part; 0: 10 s, and
	// more as a run gets older, up to 10 min: 72 h shall not be 26,000 parts. They
	// are in the stream meanwhile.
	FlushEvery time.Duration
	// Silence is how long a run may be silent before it is ended as incomplete; 0:
	// 10 min, so that a host may boot in between.
	Silence time.Duration
	// StreamBytes and Replicas are for a stream that has to be made; 0:
	// bus.DefaultStreamBytes, 1.
	StreamBytes int64
	Replicas    int
	// Warn is told what a user should know; nil: nobody is.
	Warn func(error)
	// Sealed is told of each folder made; nil: nobody is.
	Sealed func(dir string, m *schemas.Manifest)
}

// pollEvery is how often Run looks for runs that are over while nothing comes.
const pollEvery = 100 * time.Millisecond

// maxBuffered is how many rows wait in memory at most.
const maxBuffered = 200_000

// Run reads the connection's stream into the store and makes run folders, until ctx
// ends; then what it has is made durable and Run returns nil. A full disk or a data
// directory that can't be written is an error: nothing is lost, the messages stay in
// the stream.
func Run(ctx context.Context, conn *bus.Conn, s *Store, o Options) error {
	if o.Silence == 0 {
		o.Silence = 10 * time.Minute
	}
	if o.StreamBytes == 0 {
		o.StreamBytes = bus.DefaultStreamBytes
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	l := &loop{s: s, conn: conn, o: o, flushed: time.Now(), stuck: map[string]bool{}}
	said := ""
	for {
		stream, err := conn.EnsureStream(ctx, o.StreamBytes, o.Replicas)
		if err == nil {
			from := s.Begin(stream.ID())
			err = conn.Consume(ctx, stream, from, pollEvery, func(d *bus.Delivery) error { return l.handle(ctx, d) })
		}
		var fatal *storeError
		switch {
		case ctx.Err() != nil:
			return s.Flush()
		case errors.As(err, &fatal):
			return errors.Join(fatal.err, flushQuietly(s))
		case err != nil && err.Error() != said:
			said = err.Error()
			o.Warn(fmt.Errorf("ingest: %w: will go on when it is there again", err))
		}
		// What Add took is in memory and, once Begin was called anew, read again.
		if err := s.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// flushQuietly tries once more to save what is in memory; the error that led here
// has been told.
func flushQuietly(s *Store) error {
	if err := s.Flush(); err != nil && s.Buffered() == 0 {
		return err
	}
	return nil
}

// storeError is an error of the data directory, not of the bus.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

type loop struct {
	s       *Store
	conn    *bus.Conn
	o       Options
	flushed time.Time
	looked  time.Time
	stuck   map[string]bool // runs that can't be finished, said once
}

func (l *loop) handle(ctx context.Context, d *bus.Delivery) error {
	if d != nil {
		l.s.Add(d.Seq, d.Subject, d.Data)
	}
	now := time.Now()
	if l.s.Buffered() >= maxBuffered || now.Sub(l.flushed) >= l.flushEvery(now) {
		if err := l.s.Flush(); err != nil {
			return &storeError{err}
		}
		l.flushed = now
	}
	if d != nil && now.Sub(l.looked) < pollEvery {
		return nil
	}
	l.looked = now
	for _, id := range l.s.Orphans() {
		l.o.Warn(fmt.Errorf("ingest: run %s: rows came, and nobody said what the run is: they stay in %s", id, l.s.liveDir(id)))
	}
	if !l.conn.Connected() {
		l.s.Waited()
	}
	for _, id := range l.s.Over(l.o.Silence) {
		if err := l.finish(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// flushEvery returns how long rows may wait now: a twentieth of the oldest live run's
// age, unless the user said.
func (l *loop) flushEvery(now time.Time) time.Duration {
	if l.o.FlushEvery > 0 {
		return l.o.FlushEvery
	}
	return min(max(10*time.Second, now.Sub(l.s.Oldest(now))/20), 10*time.Minute)
}

func (l *loop) finish(ctx context.Context, id, cause string) error {
	if l.stuck[id] {
		return nil
	}
	dir, m, err := l.s.Finish(id, cause)
	if errors.Is(err, ErrRunExists) {
		l.stuck[id] = true
		l.o.Warn(err)
		return nil
	}
	if err != nil {
		return &storeError{err}
	}
	if err := Settle(ctx, l.conn, l.s, id); err != nil {
		return err
	}
	if l.o.Sealed != nil {
		l.o.Sealed(dir, m)
	}
	return nil
}

// Settle removes a finished run from the stream and then from live: in this order,
// so that what is in live can always be told from what is still to be read.
func Settle(ctx context.Context, conn *bus.Conn, s *Store, id string) error {
	s.step("purge")
	if err := conn.PurgeRun(ctx, id); err != nil {
		return err
	}
	if err := s.Forget(id); err != nil {
		return &storeError{err}
	}
	return nil
}
