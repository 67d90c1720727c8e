package bus

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// unwrittenBytes bounds what waits in memory for the disk of a log.
	unwrittenBytes = 1 << 20
	// batchBytes is about how much is written to the log at once.
	batchBytes = 64 << 10
	// rememberedBytes is what is kept in memory although it is in the log: most outages
	// are short.
	rememberedBytes = 256 << 10
	// syncEvery is how long what the server has not acknowledged waits for its sync.
	syncEvery = time.Second
)

// A queue holds a publisher's messages in the order in which they were taken, until the
// server has them: in memory, or, with a log, on disk with only the newest in memory.
//
// With a log there are three at work, and none waits for another: who pushes, the
// keeper, which alone waits for the disk, and the sender, which alone waits for the
// network. So the sender may be ahead of the log: what the server has by then is not
// written at all.
type queue struct {
	log   *Log  // nil: there is none
	limit int64 // of bytes in memory without a log
	batch uint64
	warn  func(error)

	wake   chan struct{} // the sender: something is to be taken, or closing
	toKeep chan struct{} // the keeper: something is to be written or released
	finish chan struct{} // closed when nothing more is pushed or acknowledged
	ended  chan struct{} // closed when the keeper is done
	// finished closes finish, once.
	finished sync.Once
	timer    *time.Timer // wakes the keeper for a sync

	mu      sync.Mutex
	memory  []*message // not taken yet, or not in the log yet; oldest first
	next    uint64     // number of the next message
	cursor  uint64     // number of the next to be taken
	due     uint64     // up to here they may be taken
	evicted uint64     // up to here, what is not taken yet is in the log only
	done    uint64     // up to here the server has all
	written uint64     // the last message written to the log
	dirty   time.Time  // since when one that the server may have, and has not, is not synced
	unacked sizes
	onDisk  sizes // of unacked: not taken yet, in the log only
	bytes   int64 // of memory
	waiting int64 // of memory: not in the log yet
	closing bool
	failing bool // the log could not be written
	err     error
}

// sizes counts messages and the bytes of their payloads.
type sizes struct{ messages, bytes int64 }

func (s *sizes) add(m *message)    { s.messages++; s.bytes += int64(len(m.data)) }
func (s *sizes) remove(m *message) { s.messages--; s.bytes -= int64(len(m.data)) }

func newQueue(o PublisherOptions) *queue {
	log := o.Log
	q := &queue{log: log, limit: o.Pending, batch: uint64(max(o.Batch, 1)), warn: o.Warn, next: 1, cursor: 1,
		wake: make(chan struct{}, 1), toKeep: make(chan struct{}, 1), finish: make(chan struct{}), ended: make(chan struct{}),
		timer: time.NewTimer(time.Hour)}
	q.timer.Stop()
	if log != nil {
		q.written = log.wal.Last()
		q.next, q.evicted = q.written+1, q.written
		q.done = log.wal.Released()
		q.cursor = q.done + 1
		q.onDisk = sizes{log.leftCount, log.leftBytes}
		q.unacked = q.onDisk
	}
	q.due = q.next - 1
	return q
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push takes a message, or, unless it is a control message, refuses it for want of room.
func (q *queue) push(m *message) error {
	m.wallNS, m.bootNS = now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(m); err != nil && !m.control {
		return err
	}
	m.number = q.next
	q.next++
	q.memory = append(q.memory, m)
	q.bytes += int64(len(m.data))
	q.unacked.add(m)
	if q.log != nil {
		q.waiting += m.logBytes()
		signal(q.toKeep)
	}
	if m.control || m.number-q.due >= q.batch {
		q.due = m.number
		signal(q.wake)
	}
	return nil
}

// full returns why there is no room for a message.
func (q *queue) full(m *message) error {
	switch {
	case q.log == nil && q.unacked.bytes+int64(len(m.data)) > q.limit:
		return fmt.Errorf("%w: %d bytes in %d messages: is the server there, and its stream not full?", ErrFull, q.unacked.bytes, q.unacked.messages)
	case q.log == nil:
		return nil
	case !q.log.wal.Fits(q.waiting + m.logBytes()):
		return fmt.Errorf("%w: %d bytes in %d messages, and the log %s is full (--wal-bytes): is the server there, and its stream not full?", ErrFull, q.unacked.bytes, q.unacked.messages, q.log.Dir())
	case q.waiting+m.logBytes() > unwrittenBytes:
		return fmt.Errorf("%w: %d bytes in %d messages, and the log %s takes none: is its disk full, or slow?", ErrFull, q.unacked.bytes, q.unacked.messages, q.log.Dir())
	}
	return nil
}

func now() (wallNS, bootNS int64) {
	var b unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &b) // always there
	return time.Now().UnixNano(), b.Nano()
}

// close says that nothing more is pushed.
func (q *queue) close() {
	q.mu.Lock()
	q.closing, q.due = true, q.next-1
	q.mu.Unlock()
	signal(q.wake)
}

// take returns the next message for the sender; nil: there is none, and, if over, none
// will come.
func (q *queue) take() (m *message, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.cursor <= q.evicted {
		if m := q.takeFromLog(); m != nil {
			return m, false
		}
	}
	if n := q.onDisk; n.messages > 0 { // which can't be read any more
		q.unacked.messages -= n.messages
		q.unacked.bytes -= n.bytes
		q.onDisk = sizes{}
	}
	for _, m := range q.memory {
		if m.number < q.cursor {
			continue
		}
		if m.number > q.due {
			break
		}
		q.cursor = m.number + 1
		q.forget()
		return m, false
	}
	return nil, q.closing
}

// takeFromLog returns the next of the messages that are in the log only; nil: look
// again. It gives up mu while it reads.
func (q *queue) takeFromLog() *message {
	from, to := q.cursor, q.evicted
	q.mu.Unlock()
	m, err := q.log.read(from)
	q.mu.Lock()
	switch {
	case err == nil && m.number <= q.evicted:
		q.cursor = m.number + 1
		q.onDisk.remove(m)
		return m
	case errors.Is(err, errNoMessage): // of another version
		q.warn(err)
		q.cursor = m.number + 1
	default: // damaged since the log was opened
		if err != nil && err != io.EOF {
			q.warn(err)
		}
		q.cursor = to + 1
	}
	return nil
}

// forget drops from memory what nobody needs there: what was taken, and is in the log
// or acknowledged, and of the rest in the log all but the newest.
func (q *queue) forget() {
	q.memory = slices.DeleteFunc(q.memory, func(m *message) bool {
		taken := m.number < q.cursor
		switch {
		case taken && (q.log == nil || m.written || m.unneeded()):
		case !taken && m.written && q.bytes > rememberedBytes:
			q.evicted = m.number
			q.onDisk.add(m)
		default:
			return false
		}
		q.bytes -= int64(len(m.data))
		return true
	})
}

// acknowledge is told by the sender that the server has a message, or never will, and
// which is the first that it waits for, 0: none.
func (q *queue) acknowledge(m *message, first uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.acked = true
	q.unacked.remove(m)
	if first == 0 {
		first = q.cursor
	}
	q.done = first - 1
	if q.log == nil {
		return
	}
	if !m.written && m.unneeded() {
		q.waiting -= m.logBytes()
		q.forget()
	}
	if q.done >= min(q.written, q.due) {
		q.dirty = time.Time{}
		q.timer.Stop()
	}
	if q.log.wal.Releases(q.done) {
		signal(q.toKeep)
	}
}

// unneeded reports whether the log can do without the message: the server has it. A
// control message is logged nevertheless: it tells who has ended.
func (m *message) unneeded() bool { return m.acked && !m.control }

// keep is the keeper: it writes what is pushed to the log, releases there what the
// server has, and syncs the rest, until finish.
func (q *queue) keep() {
	defer close(q.ended)
	for finish := false; ; {
		q.keepOnce()
		if finish {
			if err := q.log.wal.Close(); err != nil {
				q.fail(err)
			}
			return
		}
		select {
		case <-q.toKeep:
		case <-q.timer.C:
		case <-q.finish:
			finish = true
		}
	}
}

func (q *queue) keepOnce() {
	for q.write() {
	}
	q.mu.Lock()
	done, due := q.done, time.Until(q.dirty.Add(syncEvery))
	dirty := !q.dirty.IsZero()
	if dirty && due > 0 {
		q.timer.Reset(due)
	} else {
		q.dirty = time.Time{}
	}
	q.mu.Unlock()
	var err error
	if dirty && due <= 0 {
		err = q.log.wal.Sync()
	}
	if err := errors.Join(err, q.log.wal.Release(done)); err != nil {
		q.warn(fmt.Errorf("bus: log: %w", err))
	}
}

// write writes some of what is not in the log yet, and reports whether there may be more.
func (q *queue) write() (more bool) {
	q.mu.Lock()
	var batch []*message
	bytes := int64(0)
	for _, m := range q.memory {
		if m.written || m.unneeded() {
			continue
		}
		if more = bytes > batchBytes; more {
			break
		}
		batch = append(batch, m)
		bytes += m.logBytes()
	}
	q.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	if err := q.log.append(batch); err != nil {
		q.say(fmt.Errorf("%w: ticks wait in memory, up to %d bytes: free some space", err, int64(unwrittenBytes)))
		return false // the next tick tries again
	}
	q.say(nil)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range batch {
		if !m.unneeded() {
			q.waiting -= m.logBytes()
		}
		m.written = true
		q.written = m.number
	}
	q.forget()
	if q.dirty.IsZero() && min(q.written, q.due) > q.done {
		q.dirty = time.Now()
	}
	return more
}

// say tells once that the log can't be written, and once that it can again.
func (q *queue) say(err error) {
	if failing := err != nil; failing != q.failing {
		q.failing = failing
		if !failing {
			err = fmt.Errorf("bus: log: %s takes ticks again", q.log.Dir())
		}
		q.warn(err)
	}
}

func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = errors.Join(q.err, fmt.Errorf("bus: log: %w", err))
}

func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

func (q *queue) unackedNow() (messages, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unacked.messages, q.unacked.bytes
}
