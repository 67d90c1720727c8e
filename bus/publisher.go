package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/steadybench/steady/schemas"
)

const (
	// headerRoom is left below the server's payload limit for headers.
	headerRoom = 4 << 10
	// DefaultPending bounds what a publisher without a log holds: some seven hours of
	// one host.
	DefaultPending = 64 << 20
)

// Headers of a data message.
const (
	headerWire     = "Steady-Wire"
	headerSeq      = "Steady-Seq"
	headerTicks    = "Steady-Ticks"
	headerEncoding = "Content-Encoding"
)

var (
	// ErrFull is returned for ticks for which there is no room left.
	ErrFull = errors.New("bus: too much waits for the server's word")
	// ErrTooLarge is returned for a tick that is larger than the server takes.
	ErrTooLarge = errors.New("bus: tick larger than the server's limit")
)

// PublisherOptions configure a publisher.
type PublisherOptions struct {
	// Log keeps what the server has not acknowledged on disk. It is the publisher's
	// from then on, which closes it. nil: all is kept in memory, and lost with the
	// process.
	Log *Log
	// Pending bounds the bytes held in memory, without a log; 0: DefaultPending.
	Pending int64
	// Batch makes the publisher send so many data messages at a time, so that sender and
	// server wake up less often; 0: 1. Control messages take along what waits. What waits
	// for its batch is in the log, and not synced there.
	Batch int
	// Warn is told what a user should know, each change once; nil: nobody is.
	Warn func(error)
}

// A Publisher sends one producer's messages, in order as far as the server answers.
// It keeps each until the server has it on disk, and sends it again, under the same
// id, for as long as it takes. What an earlier publisher left in the log goes first.
type Publisher struct {
	conn     *Conn
	producer schemas.Producer
	queue    *queue
	sender   *sender
	enc      *schemas.Encoder
	stop     context.CancelFunc
}

// message is one on its way to the server.
type message struct {
	number         uint64 // in the order of being taken, and in the log
	subject, id    string
	header         nats.Header // besides the id
	data           []byte
	control        bool
	wallNS, bootNS int64 // when it was taken

	written, acked bool // the queue's
	sends          int  // the sender's
	sentAt         time.Time
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
	q := newQueue(o)
	pub := &Publisher{conn: conn, producer: p, queue: q, sender: newSender(conn, q, o.Warn), enc: schemas.NewEncoder(p), stop: stop}
	if o.Log != nil {
		go q.keep()
	}
	go pub.sender.run(ctx)
	return pub
}

// Tick takes one tick as a message of its own. It waits neither for the network nor for
// the disk; ErrFull and ErrTooLarge refuse the tick.
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
	h := nats.Header{headerWire: {schemas.WireVersion}, headerSeq: {strconv.FormatInt(seq, 10)},
		headerTicks: {strconv.Itoa(len(ticks))}, headerEncoding: {"zstd"}}
	return p.queue.push(&message{subject: p.producer.Subject(), id: p.producer.MessageID(seq), header: h, data: data})
}

// limit is the server's payload limit less room for headers; before the first
// connection nothing is known and the server's usual one holds.
func (p *Publisher) limit() int64 {
	if m := p.conn.limit.Load(); m > 0 {
		return m - headerRoom
	}
	return 1<<20 - headerRoom
}

// Control takes a control message about the run. It is never refused for want of
// room: there are few of them, and without them the run can't be put together.
func (p *Publisher) Control(c *schemas.Control) error {
	m, err := controlMessage(p.producer, c)
	if err != nil {
		return err
	}
	return p.queue.push(m)
}

// EndKilled says the end of the producers that the log knows and that were killed
// before they could, in their own runs. It is for after this producer's hello, lest its
// run be over in between.
func (p *Publisher) EndKilled() error {
	if p.queue.log == nil {
		return nil
	}
	ms, err := p.queue.log.ends(p.producer)
	for _, m := range ms {
		err = errors.Join(err, p.queue.push(m))
	}
	return err
}

func controlMessage(p schemas.Producer, c *schemas.Control) (*message, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("bus: control %s: %w", c.Kind, err)
	}
	// Not the same id twice in a run unless it is the same message.
	id := fmt.Sprintf("%s/%s/%d/%s/%d", p.Run, p.Host, p.Epoch, c.Kind, c.At.BootNS)
	return &message{subject: schemas.ControlSubject(p.Run), id: id, data: data, control: true}, nil
}

// UnackedBytes returns the bytes of what the server has not acknowledged.
func (p *Publisher) UnackedBytes() int64 {
	_, bytes := p.queue.unackedNow()
	return bytes
}

// Resent returns how many messages were sent more than once.
func (p *Publisher) Resent() int64 { return p.sender.resent.Load() }

// lastMoment is how long what can't be waited for may take once the time is over.
const lastMoment = 200 * time.Millisecond

// Close waits until all is acknowledged or ctx ends, and ends the publisher and its
// log. Its error says what never was acknowledged, by count and bytes.
func (p *Publisher) Close(ctx context.Context) error {
	p.queue.close()
	if !closedWithin(ctx, p.sender.ended) {
		p.stop()
		closedWithin(ctx, p.sender.ended) // else the network holds it in a call
	}
	p.stop()
	var err error
	if log := p.queue.log; log != nil {
		p.queue.finished.Do(func() { close(p.queue.finish) })
		if !closedWithin(ctx, p.queue.ended) {
			err = fmt.Errorf("bus: log: the disk of %s does not answer: what it has not taken is lost", log.Dir())
		}
	}
	if n, bytes := p.queue.unackedNow(); n > 0 && p.queue.log != nil {
		err = errors.Join(err, fmt.Errorf("bus: %d messages (%d bytes) were not acknowledged: they stay in %s, and the next steady collect on it delivers them", n, bytes, p.queue.log.Dir()))
	} else if n > 0 {
		err = errors.Join(err, fmt.Errorf("bus: %d messages (%d bytes) were not acknowledged: the run will be incomplete", n, bytes))
	}
	return errors.Join(err, p.queue.failure(), p.sender.failure())
}

// closedWithin waits until c is closed, and only a last moment more once ctx has ended.
func closedWithin(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
	}
	select {
	case <-c:
		return true
	case <-time.After(lastMoment):
		return false
	}
}
