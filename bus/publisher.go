package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/steadybench/steady/schemas"
)

const (
	// ackTimeout is how long an acknowledgement may take before the message is sent
	// again under the same id.
	ackTimeout = 5 * time.Second
	// window is how many messages wait for their acknowledgement at once.
	window = 64
	// headerRoom is left below the server's payload limit for headers.
	headerRoom = 4 << 10
	// DefaultPending bounds what a publisher holds: some seven hours of one host.
	DefaultPending = 64 << 20
	// fullShare is the share of the stream's limit at which producers are warned.
	fullShare = 0.8
)

var (
	// ErrFull is returned for ticks that no more fit into the publisher's memory.
	ErrFull = errors.New("bus: too much waits for the server's word")
	// ErrTooLarge is returned for a tick that is larger than the server takes.
	ErrTooLarge = errors.New("bus: tick larger than the server's limit")
)

// PublisherOptions configure a publisher.
type PublisherOptions struct {
	// Pending bounds the bytes held until they are acknowledged; 0: DefaultPending.
	Pending int64
	// Warn is told what a user should know, each change once; nil: nobody is.
	Warn func(error)
}

// A Publisher sends one producer's messages, in order as far as the server answers.
// It holds each until the server has it on disk, and sends it again, under the same
// id, for as long as it takes.
type Publisher struct {
	conn     *Conn
	producer schemas.Producer
	opt      PublisherOptions
	enc      *schemas.Encoder
	stop     context.CancelFunc
	done     chan struct{}
	wake     chan struct{}

	mu      sync.Mutex
	queue   []outgoing // oldest first
	bytes   int64      // in queue
	resent  int64
	dropped []string // messages the server will never take
	closing bool
}

type outgoing struct {
	subject, id string
	header      nats.Header
	data        []byte
	sent        bool // once, without an acknowledgement
	again       bool // more than once
}

// NewPublisher returns a publisher of p's messages on the connection.
func NewPublisher(conn *Conn, p schemas.Producer, o PublisherOptions) *Publisher {
	if o.Pending == 0 {
		o.Pending = DefaultPending
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	pub := &Publisher{conn: conn, producer: p, opt: o, enc: schemas.NewEncoder(p), stop: stop,
		done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go pub.send(ctx)
	return pub
}

// Tick takes one tick as a message of its own. It never waits; ErrFull and
// ErrTooLarge refuse the tick.
func (p *Publisher) Tick(t *schemas.Tick) error { return p.Ticks([]*schemas.Tick{t}) }

// Ticks takes consecutive ticks of one layout, in as few messages as the server's
// limit allows. An error refuses those ticks that did not fit, and names them.
func (p *Publisher) Ticks(ticks []*schemas.Tick) error {
	data, err := p.enc.Encode(ticks)
	if err != nil {
		return err
	}
	if limit := p.limit(); int64(len(data)) > limit {
		if len(ticks) == 1 {
			return fmt.Errorf("%w: tick %d has %d bytes, the limit is %d: raise max_payload on the server", ErrTooLarge, ticks[0].Seq, len(data), limit)
		}
		var err error
		size := len(ticks)
		for part := range slices.Chunk(ticks, (size-1)/(int(int64(len(data))/limit)+1)+1) {
			err = errors.Join(err, p.Ticks(part))
		}
		return err
	}
	seq := ticks[0].Seq
	h := nats.Header{}
	h.Set("Steady-Wire", schemas.WireVersion)
	h.Set("Steady-Seq", strconv.FormatInt(seq, 10))
	h.Set("Steady-Ticks", strconv.Itoa(len(ticks)))
	h.Set("Content-Encoding", "zstd")
	return p.enqueue(outgoing{subject: p.producer.Subject(), id: p.producer.MessageID(seq), header: h, data: data}, false)
}

// limit is the server's payload limit less room for headers; before the first
// connection nothing is known and the server's usual one holds.
func (p *Publisher) limit() int64 {
	if m := p.conn.nc.MaxPayload(); m > 0 {
		return m - headerRoom
	}
	return 1<<20 - headerRoom
}

// Control takes a control message about the run. It is never refused for want of
// memory: there are few of them, and without them the run can't be put together.
func (p *Publisher) Control(c *schemas.Control) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("bus: control %s: %w", c.Kind, err)
	}
	// Not the same id twice in a run unless it is the same message.
	id := fmt.Sprintf("%s/%s/%d/%s/%d", p.producer.Run, p.producer.Host, p.producer.Epoch, c.Kind, c.At.BootNS)
	return p.enqueue(outgoing{subject: schemas.ControlSubject(p.producer.Run), id: id, header: nats.Header{}, data: data}, true)
}

func (p *Publisher) enqueue(m outgoing, always bool) error {
	m.header.Set(jetstream.MsgIDHeader, m.id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !always && p.bytes+int64(len(m.data)) > p.opt.Pending {
		return fmt.Errorf("%w: %d bytes in %d messages: is the server there, and its stream not full?", ErrFull, p.bytes, len(p.queue))
	}
	p.queue = append(p.queue, m)
	p.bytes += int64(len(m.data))
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// UnackedBytes returns the bytes of what the server has not acknowledged.
func (p *Publisher) UnackedBytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Resent returns how many messages were sent more than once.
func (p *Publisher) Resent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resent
}

// Close waits until all is acknowledged or ctx ends, and ends the publisher. Its
// error says what never was acknowledged, by count and bytes.
func (p *Publisher) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.stop()
		<-p.done
	}
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if len(p.queue) > 0 {
		err = fmt.Errorf("bus: %d messages (%d bytes) were not acknowledged: the run will be incomplete", len(p.queue), p.bytes)
	}
	for _, d := range p.dropped {
		err = errors.Join(err, errors.New(d))
	}
	return err
}

// send is the publisher's goroutine: up to a window of messages at a time, each
// removed only when acknowledged.
func (p *Publisher) send(ctx context.Context) {
	defer close(p.done)
	backoff := newBackoff()
	warned := false
	checkAt := time.Now()
	for {
		p.mu.Lock()
		batch := slices.Clone(p.queue[:min(window, len(p.queue))])
		closing := p.closing
		p.mu.Unlock()
		if len(batch) == 0 {
			if closing {
				return
			}
			select {
			case <-p.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		if !time.Now().Before(checkAt) {
			p.checkRoom(ctx)
			checkAt = time.Now().Add(30 * time.Second)
		}
		acked, err := p.sendBatch(ctx, batch)
		p.remove(batch, acked)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			backoff.reset()
			if warned {
				p.opt.Warn(errors.New("bus: the server takes messages again"))
				warned = false
			}
			continue
		}
		if !warned {
			p.opt.Warn(fmt.Errorf("bus: publish: %w: will try again until it works", explain(err)))
			warned = true
		}
		if !backoff.wait(ctx) {
			return
		}
	}
}

// sendBatch publishes the batch and waits for every acknowledgement. acked marks the
// messages that are done with.
func (p *Publisher) sendBatch(ctx context.Context, batch []outgoing) (acked []bool, err error) {
	acked = make([]bool, len(batch))
	futures := make([]jetstream.PubAckFuture, len(batch))
	for i, m := range batch {
		msg := &nats.Msg{Subject: m.subject, Header: m.header, Data: m.data}
		futures[i], err = p.conn.js.PublishMsgAsync(msg, jetstream.WithStallWait(ackTimeout))
		if err != nil && permanent(err) { // taken while a server was not there or took more
			p.drop(m.id, err)
			acked[i], err = true, nil
			continue
		}
		if err != nil {
			break
		}
		batch[i].again, batch[i].sent = m.sent, true
	}
	for i, f := range futures {
		if f == nil {
			continue
		}
		select {
		case <-f.Ok(): // a duplicate is as good: the server has it
			acked[i] = true
		case e := <-f.Err():
			if permanent(e) {
				acked[i] = true
				p.drop(batch[i].id, e)
				continue
			}
			err = e
		case <-ctx.Done():
			return acked, ctx.Err()
		}
	}
	return acked, err
}

// drop gives up a message that the server will never take.
func (p *Publisher) drop(id string, cause error) {
	err := fmt.Errorf("bus: %s: refused for good: %w", id, cause)
	p.mu.Lock()
	p.dropped = append(p.dropped, err.Error())
	p.mu.Unlock()
	p.opt.Warn(err)
}

// permanent reports whether sending the message again can't help.
func permanent(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) || (errors.As(err, &api) && api.ErrorCode == 10054) // message size exceeds maximum allowed
}

func (p *Publisher) remove(batch []outgoing, acked []bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make([]outgoing, 0, len(p.queue))
	for i := range batch {
		if batch[i].again && !p.queue[i].again {
			p.resent++
		}
		if acked[i] {
			p.bytes -= int64(len(batch[i].data))
			continue
		}
		kept = append(kept, batch[i])
	}
	p.queue = append(kept, p.queue[len(batch):]...)
}

// checkRoom warns when the stream nears its limit: from there the server refuses
// messages, and this publisher's memory is all that is left.
func (p *Publisher) checkRoom(ctx context.Context) {
	ask, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := p.conn.Stream(ask)
	if err == nil && s.Max > 0 && float64(s.Bytes) >= fullShare*float64(s.Max) {
		p.opt.Warn(fmt.Errorf("bus: the stream is %.0f %% full (%d of %d bytes): is steady ingest running?", 100*float64(s.Bytes)/float64(s.Max), s.Bytes, s.Max))
	}
}

// backoff waits longer after each failure, up to 2 s.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{next: 50 * time.Millisecond} }
func (b *backoff) reset()  { b.next = 50 * time.Millisecond }
func (b *backoff) wait(ctx context.Context) bool {
	t := time.NewTimer(b.next)
	defer t.Stop()
	b.next = min(2*b.next, 2*time.Second)
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
