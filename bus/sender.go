package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ackTimeout is how long an acknowledgement may take before the message is sent
	// again under the same id.
	ackTimeout = 5 * time.Second
	// window and windowBytes bound what waits for its acknowledgement at once.
	window      = 64
	windowBytes = 1 << 20
	// fullShare is the share of the stream's limit at which producers are warned.
	fullShare = 0.8
	// roomEvery is how often the stream is asked for its room.
	roomEvery = 30 * time.Second
)

var (
	errNoConnection = errors.New("no connection to the server")
	errNoAnswer     = errors.New("no answer from the server")
)

// A sender publishes a queue's messages, several at a time, and sends each again until
// the server has it.
type sender struct {
	conn  *Conn
	queue *queue
	warn  func(error)
	ended chan struct{}

	inbox   string // acknowledgements come to its subjects, named by the message
	acks    chan *nats.Msg
	flight  []*message // waits for its acknowledgement, oldest first
	bytes   int64      // of flight
	made    uint64     // the connection on which it was sent
	timer   *time.Timer
	backoff backoff
	// probing says that something went wrong: only the oldest message is sent, at
	// probeAt, until the server takes one.
	probing bool
	probeAt time.Time
	warned  bool
	checkAt time.Time

	resent atomic.Int64
	mu     sync.Mutex
	err    error // of messages the server will never take
}

func newSender(conn *Conn, q *queue, warn func(error)) *sender {
	return &sender{conn: conn, queue: q, warn: warn, ended: make(chan struct{}), acks: make(chan *nats.Msg, 4*window),
		inbox: nats.NewInbox(), timer: time.NewTimer(time.Hour), checkAt: time.Now()}
}

// run sends until ctx ends, or the queue is closed and all is acknowledged.
func (s *sender) run(ctx context.Context) {
	defer close(s.ended)
	defer s.timer.Stop()
	sub, err := s.conn.nc.ChanSubscribe(s.inbox+".*", s.acks)
	if err != nil {
		s.warn(fmt.Errorf("bus: publish: %w", err)) // the connection was closed
		return
	}
	defer sub.Unsubscribe()
	for {
		up, made, changed := s.conn.state()
		if !up || made != s.made {
			s.made, s.probing, s.backoff = made, false, 0
			s.recall()
		}
		over := s.fill()
		if over && len(s.flight) == 0 {
			return
		}
		next := time.Time{}
		switch {
		case len(s.flight) == 0:
		case !up:
			s.trouble(errNoConnection)
		default:
			s.checkRoom(ctx)
			next = s.publish(time.Now())
		}
		if !s.wait(ctx, changed, next) {
			return
		}
	}
}

// wait waits for whatever comes first, next included unless it is zero, and reports
// whether to go on.
func (s *sender) wait(ctx context.Context, changed <-chan struct{}, next time.Time) bool {
	if next.IsZero() {
		s.timer.Stop()
	} else {
		s.timer.Reset(time.Until(next))
	}
	select {
	case m := <-s.acks:
		for more := true; more; {
			s.acknowledged(m)
			select {
			case m = <-s.acks:
			default:
				more = false
			}
		}
	case <-s.queue.wake:
	case <-changed:
	case <-s.timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// fill takes messages from the queue as long as the window has room.
func (s *sender) fill() (over bool) {
	for len(s.flight) < window && (s.bytes < windowBytes || len(s.flight) == 0) {
		m, over := s.queue.take()
		if m == nil {
			return over
		}
		s.flight = append(s.flight, m)
		s.bytes += int64(len(m.data))
	}
	return false
}

// recall makes all that waits for its acknowledgement be sent again.
func (s *sender) recall() {
	for _, m := range s.flight {
		m.sentAt = time.Time{}
	}
}

// publish sends what is to be sent and returns when to look again.
func (s *sender) publish(now time.Time) (next time.Time) {
	if now.Sub(s.oldestSent(now)) >= ackTimeout {
		s.fail(errNoAnswer, now)
		s.recall()
	}
	for i := 0; i < len(s.flight); i++ {
		m := s.flight[i]
		switch {
		case s.probing && i > 0:
			return s.oldestSent(now).Add(ackTimeout)
		case !m.sentAt.IsZero():
			continue
		case s.probing && now.Before(s.probeAt):
			return s.probeAt
		}
		err := s.send(m, now)
		if permanent(err) { // taken while a server was not there or took more
			s.drop(m, err)
			s.leave(i)
			i--
		} else if err != nil {
			s.fail(err, now)
			return s.probeAt
		}
	}
	return s.oldestSent(now).Add(ackTimeout)
}

// oldestSent returns since when a message waits for its acknowledgement, at most now.
func (s *sender) oldestSent(now time.Time) time.Time {
	for _, m := range s.flight {
		if !m.sentAt.IsZero() && m.sentAt.Before(now) {
			now = m.sentAt
		}
	}
	return now
}

func (s *sender) send(m *message, now time.Time) error {
	h := nats.Header{jetstream.MsgIDHeader: {m.id}}
	maps.Copy(h, m.header)
	err := s.conn.nc.PublishMsg(&nats.Msg{Subject: m.subject, Reply: s.inbox + "." + strconv.FormatUint(m.number, 10), Header: h, Data: m.data})
	if err != nil {
		return err
	}
	m.sentAt = now
	if m.sends++; m.sends == 2 {
		s.resent.Add(1)
	}
	return nil
}

// acknowledged takes the server's answer to a message.
func (s *sender) acknowledged(a *nats.Msg) {
	number, _ := strconv.ParseUint(strings.TrimPrefix(a.Subject, s.inbox+"."), 10, 64)
	i := slices.IndexFunc(s.flight, func(m *message) bool { return m.number == number })
	if i < 0 {
		return // it was sent twice
	}
	m := s.flight[i]
	switch err := answer(a); {
	case err == nil: // a duplicate is as good: the server has it
		s.leave(i)
		s.probing = false
		s.backoff = 0
		if s.warned {
			s.warned = false
			s.warn(errors.New("bus: the server takes messages again"))
		}
	case permanent(err):
		s.drop(m, err)
		s.leave(i)
	default:
		m.sentAt = time.Time{}
		s.fail(err, time.Now())
	}
}

// answer returns the error that an acknowledgement tells.
func answer(a *nats.Msg) error {
	if len(a.Data) == 0 && a.Header.Get("Status") == "503" {
		return nats.ErrNoResponders
	}
	if bytes.HasPrefix(a.Data, []byte(`{"stream":`)) && !bytes.Contains(a.Data, []byte(`"error"`)) {
		return nil
	}
	var reply struct {
		Stream string              `json:"stream"`
		Error  *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(a.Data, &reply); {
	case err != nil:
		return fmt.Errorf("acknowledgement: %w", err)
	case reply.Error != nil:
		return reply.Error
	case reply.Stream == "":
		return errors.New("acknowledgement: it names no stream")
	}
	return nil
}

// leave takes a message off those that wait.
func (s *sender) leave(i int) {
	m := s.flight[i]
	s.flight = slices.Delete(s.flight, i, i+1)
	s.bytes -= int64(len(m.data))
	first := uint64(0)
	if len(s.flight) > 0 {
		first = s.flight[0].number
	}
	s.queue.acknowledge(m, first)
}

// fail makes the sender go slow: the server does not take messages.
func (s *sender) fail(err error, now time.Time) {
	s.probing, s.probeAt = true, now.Add(s.backoff.longer())
	s.trouble(err)
}

// trouble tells once that messages can't be sent.
func (s *sender) trouble(err error) {
	if !s.warned {
		s.warned = true
		s.warn(fmt.Errorf("bus: publish: %w: will try again until it works", explain(err)))
	}
}

// drop gives up a message that the server will never take.
func (s *sender) drop(m *message, cause error) {
	err := fmt.Errorf("bus: %s: refused for good: %w", m.id, cause)
	s.mu.Lock()
	s.err = errors.Join(s.err, err)
	s.mu.Unlock()
	s.warn(err)
}

// failure returns an error of all that was dropped.
func (s *sender) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// permanent reports whether sending the message again can't help.
func permanent(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) || (errors.As(err, &api) && api.ErrorCode == 10054) // message size exceeds maximum allowed
}

// checkRoom warns when the stream nears its limit: from there the server refuses
// messages, and what the publisher can keep is all that is left.
func (s *sender) checkRoom(ctx context.Context) {
	now := time.Now()
	if now.Before(s.checkAt) {
		return
	}
	s.checkAt = now.Add(roomEvery)
	ask, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stream, err := s.conn.Stream(ask)
	if err == nil && stream.Max > 0 && float64(stream.Bytes) >= fullShare*float64(stream.Max) {
		s.warn(fmt.Errorf("bus: the stream is %.0f %% full (%d of %d bytes): is steady ingest running?", 100*float64(stream.Bytes)/float64(stream.Max), stream.Bytes, stream.Max))
	}
}

// backoff is how long to wait after a failure: longer after each, up to 2 s.
type backoff time.Duration

func (b *backoff) longer() time.Duration {
	d := max(time.Duration(*b), 50*time.Millisecond)
	*b = backoff(min(2*d, 2*time.Second))
	return d
}
