package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/steadybench/steady/schemas"
)

// StreamName is the stream that holds all runs in transit.
const StreamName = "STEADY"

// DefaultStreamBytes bounds the stream unless asked otherwise: 72 h of some twenty
// hosts at one tick a second.
const DefaultStreamBytes = 16 << 30

// Conn is a connection to a server, which it finds again for ever.
type Conn struct {
	nc *nats.Conn
	js jetstream.JetStream

	limit atomic.Int64 // of a message, as the server said; 0: not known yet

	mu      sync.Mutex
	changed chan struct{} // closed when the connection is made or lost
}

// Connect connects to the server at url. A server that is not there yet is an error
// unless wait is set: then the connection is made as soon as there is one.
func Connect(url, name string, wait bool) (*Conn, error) {
	c := &Conn{changed: make(chan struct{})}
	var err error
	c.nc, err = nats.Connect(url, nats.Name(name),
		nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1), // what can't be sent stays with the publisher
		nats.RetryOnFailedConnect(wait), nats.Timeout(5*time.Second),
		nats.PingInterval(20*time.Second), // a dead line is known within a minute
		nats.FlusherTimeout(10*time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // errors reach the calls concerned
		nats.ConnectHandler(c.change), nats.ReconnectHandler(c.change),
		nats.DisconnectErrHandler(func(nc *nats.Conn, _ error) { c.change(nc) }),
	)
	if err != nil {
		return nil, fmt.Errorf("bus: %s: %w: start a nats-server with JetStream there, or leave --nats out", url, err)
	}
	c.limit.Store(c.nc.MaxPayload())
	c.js, err = jetstream.New(c.nc)
	if err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("bus: %s: %w", url, err)
	}
	return c, nil
}

// reconnectDelay is how long the connection waits before it tries again: longer after
// each failure, up to 2 s, and not in step with other hosts.
func reconnectDelay(attempts int) time.Duration {
	d := min(100*time.Millisecond<<min(attempts, 5), 2*time.Second)
	return d + rand.N(d/4)
}

func (c *Conn) change(nc *nats.Conn) {
	c.limit.Store(nc.MaxPayload())
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

// state returns whether there is a connection, the how manieth it is, and what is
// closed when that is no more so.
func (c *Conn) state() (up bool, made uint64, changed <-chan struct{}) {
	c.mu.Lock()
	changed = c.changed
	c.mu.Unlock()
	return c.nc.IsConnected(), c.nc.Stats().Reconnects, changed
}

// Connected reports whether there is a connection now.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// Close closes the connection. Publishers on it must have been closed. Where the server
// takes nothing, it leaves the rest to the end of the process.
func (c *Conn) Close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.nc.Close()
	}()
	select {
	case <-closed:
	case <-time.After(lastMoment):
	}
}

// Stream is the stream and what tells it from another of the same name.
type Stream struct {
	s jetstream.Stream
	// Created tells a stream that was made anew from the one before.
	Created time.Time
	// First and Last are its sequence numbers at the call; Last 0 is an empty one.
	First, Last uint64
	Bytes, Max  uint64
}

// ID names the stream in parts and manifests.
func (s *Stream) ID() string { return StreamName + "@" + s.Created.UTC().Format(time.RFC3339Nano) }

// EnsureStream returns the stream, made if there is none, of at most maxBytes and
// with so many replicas. A stream of that name which would lose unread messages
// (it discards old ones, or they age) is refused.
func (c *Conn) EnsureStream(ctx context.Context, maxBytes int64, replicas int) (*Stream, error) {
	s, err := c.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: StreamName, Subjects: []string{schemas.SubjectPrefix + ">"},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
			Discard: jetstream.DiscardNew, MaxBytes: maxBytes,
			Duplicates: 10 * time.Minute, Replicas: replicas,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("bus: stream %s: %w", StreamName, explain(err))
	}
	cfg := s.CachedInfo().Config
	switch {
	case cfg.Discard != jetstream.DiscardNew || cfg.MaxAge != 0 || cfg.Retention != jetstream.LimitsPolicy:
		return nil, fmt.Errorf("bus: stream %s: it would lose unread messages (discard %v, age limit %v, retention %v): delete it, steady makes its own", StreamName, cfg.Discard, cfg.MaxAge, cfg.Retention)
	case cfg.Storage != jetstream.FileStorage:
		return nil, fmt.Errorf("bus: stream %s: it is in memory: delete it, steady makes its own on disk", StreamName)
	}
	return c.Stream(ctx)
}

// Stream returns the stream as it is now. jetstream.ErrStreamNotFound says that
// nobody made it yet.
func (c *Conn) Stream(ctx context.Context) (*Stream, error) {
	s, err := c.js.Stream(ctx, StreamName)
	if err != nil {
		return nil, fmt.Errorf("bus: stream %s: %w", StreamName, explain(err))
	}
	i := s.CachedInfo()
	out := &Stream{s: s, Created: i.Created, First: i.State.FirstSeq, Last: i.State.LastSeq, Bytes: i.State.Bytes}
	if i.Config.MaxBytes > 0 {
		out.Max = uint64(i.Config.MaxBytes)
	}
	return out, nil
}

// PurgeRun removes a run's messages: its folder is in place.
func (c *Conn) PurgeRun(ctx context.Context, run string) error {
	s, err := c.js.Stream(ctx, StreamName)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(schemas.RunSubjects(run)))
	}
	if err != nil {
		return fmt.Errorf("bus: purge %s: %w", run, explain(err))
	}
	return nil
}

// explain says what to do about the server's word.
func explain(err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: the server runs without JetStream: start it with -js", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: no answer from the server", err)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return errNoConnection
	}
	return err
}

// Delivery is a message as the stream holds it.
type Delivery struct {
	Seq     uint64
	Subject string
	Data    []byte
}

// Consume delivers the stream's messages from sequence number from on, in order and
// each once, until ctx ends, the server is away or the stream is gone or made anew
// (then the error says so; ask for the stream again). handle owns the message; its error ends Consume.
// When nothing came for the idle time, handle is called with nil.
func (c *Conn) Consume(ctx context.Context, s *Stream, from uint64, idle time.Duration, handle func(*Delivery) error) error {
	// One attempt: the library would wait for a stream that is gone for ever, and let
	// nobody end it.
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), MaxResetAttempts: 1}
	cons, err := s.s.OrderedConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("bus: consume: %w", explain(err))
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(512))
	if err != nil {
		return fmt.Errorf("bus: consume: %w", explain(err))
	}
	defer it.Stop()
	for {
		msg, err := it.Next(jetstream.NextMaxWait(idle))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded):
			if err := c.same(ctx, s); err != nil {
				return err
			}
			if err := handle(nil); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("bus: consume: %w", err)
		}
		md, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("bus: consume: %w", err)
		}
		if err := handle(&Delivery{Seq: md.Sequence.Stream, Subject: msg.Subject(), Data: msg.Data()}); err != nil {
			return err
		}
	}
}

// ErrOtherStream says that the stream was made anew.
var ErrOtherStream = errors.New("bus: the stream was made anew")

// same returns an error if the stream is known to be another one now. While the
// server is away nothing is known: the consumer waits for it.
func (c *Conn) same(ctx context.Context, s *Stream) error {
	if !c.nc.IsConnected() {
		return nil
	}
	ask, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	now, err := c.Stream(ask)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ErrOtherStream
	case err == nil && !now.Created.Equal(s.Created):
		return ErrOtherStream
	}
	return nil
}

// URL returns where the connection leads.
func (c *Conn) URL() string { return c.nc.ConnectedUrl() }
