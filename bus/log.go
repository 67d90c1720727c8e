package bus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/steadybench/steady/schemas"
	"github.com/steadybench/steady/wal"
)

// DefaultLogBytes bounds a log unless asked otherwise: a day of one host.
const DefaultLogBytes = wal.DefaultLimit

// LogOptions configure a log.
type LogOptions struct {
	// Bytes bounds the log on disk; 0: DefaultLogBytes. Control messages may exceed it.
	Bytes int64
	// Warn is told of damage; nil: nobody is.
	Warn func(error)
	// Step is for tests: see wal.Options.
	Step func(what string)
}

// A Log is a directory in which a publisher keeps its messages until the server has
// them, so that neither a killed process nor a power cut loses what it took. The next
// publisher on the directory delivers what this one could not, under the same ids.
type Log struct {
	wal *wal.Log

	mu      sync.Mutex
	unended map[producerKey]*unended
	opens   map[string][]byte // by run: its open, as logged

	leftCount, leftBytes int64 // of what Open found and nobody released
}

type producerKey struct {
	run, host string
	epoch     int64
}

// unended is a producer that said hello and no end. Each file of the log begins with a
// list of them.
type unended struct {
	Producer schemas.Producer `json:"producer"`
	LastSeq  int64            `json:"last_seq"`
	At       schemas.Stamp    `json:"at"` // of the last tick
	// Told are the records of its run's opening and of its hello: who delivers its
	// last ticks tells again what they are.
	Told [][]byte `json:"told"`
}

// OpenLog opens the log in a directory, made if it is not there, and finds what an
// earlier publisher left in it.
func OpenLog(dir string, o LogOptions) (*Log, error) {
	l := &Log{unended: map[producerKey]*unended{}, opens: map[string][]byte{}}
	type size struct {
		seq   uint64
		bytes int64
	}
	var sizes []size
	w, err := wal.Open(dir, wal.Options{Limit: o.Bytes, Head: l.encodeHead, Warn: o.Warn, Step: o.Step, Visit: func(r wal.Record) {
		if r.Kind == wal.Head {
			var list []*unended
			if json.Unmarshal(r.Body, &list) == nil { // else of another version: its ticks come all the same
				clear(l.unended)
				for _, u := range list {
					l.unended[keyOf(u.Producer)] = u
				}
			}
			return
		}
		m, err := decodeMessage(r.Body)
		if err != nil { // as above
			return
		}
		sizes = append(sizes, size{r.Seq, int64(len(m.data))})
		l.note(m, r.Body)
	}})
	if errors.Is(err, wal.ErrLocked) {
		return nil, fmt.Errorf("bus: log: %w: end it, or choose another directory with --wal", err)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: log: %w: choose another directory with --wal, or none", err)
	}
	l.wal = w
	for _, s := range sizes {
		if s.seq > w.Released() {
			l.leftCount++
			l.leftBytes += s.bytes
		}
	}
	return l, nil
}

// Dir returns the log's directory.
func (l *Log) Dir() string { return l.wal.Dir() }

// Close closes a log that no publisher was given; a nil one has nothing to close.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return l.wal.Close()
}

// Bytes returns the size of the log's files.
func (l *Log) Bytes() int64 { return l.wal.Bytes() }

// Left returns how many messages an earlier publisher left, with how many bytes.
func (l *Log) Left() (messages, bytes int64) { return l.leftCount, l.leftBytes }

// LastTick returns when a producer of that run and host that was killed took the last
// tick that the log knows of: there its successor's gap begins.
func (l *Log) LastTick(run, host string) (at schemas.Stamp, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.unended {
		if u.Producer.Run == run && u.Producer.Host == host && u.LastSeq > 0 && u.At.WallNS > at.WallNS {
			at, ok = u.At, true
		}
	}
	return at, ok
}

func keyOf(p schemas.Producer) producerKey { return producerKey{p.Run, p.Host, p.Epoch} }

// note keeps in mind what a message says of producers: who began, who ended, how far
// each is. body is the message as logged.
func (l *Log) note(m *message, body []byte) {
	run, _, _ := strings.Cut(strings.TrimPrefix(m.subject, schemas.SubjectPrefix), ".")
	if m.subject != schemas.ControlSubject(run) {
		l.noteTicks(run, m)
		return
	}
	c, err := schemas.DecodeControl(m.data)
	if err != nil {
		return
	}
	switch {
	case c.Open != nil:
		l.opens[run] = slices.Clone(body)
	case c.Hello != nil:
		p := schemas.Producer{Run: run, Host: c.At.Host, Epoch: c.Hello.Epoch, BootID: c.At.BootID}
		if l.unended[keyOf(p)] != nil {
			return // said again by one that ends it
		}
		u := &unended{Producer: p, At: c.At}
		if open := l.opens[run]; open != nil {
			u.Told = append(u.Told, open)
		}
		u.Told = append(u.Told, slices.Clone(body))
		l.unended[keyOf(p)] = u
	case c.End != nil:
		delete(l.unended, producerKey{run, c.At.Host, c.End.Epoch})
	}
}

func (l *Log) noteTicks(run string, m *message) {
	host, epoch, ok := producerOf(m.id)
	if !ok {
		return
	}
	p := schemas.Producer{Run: run, Host: host, Epoch: epoch}
	u := l.unended[keyOf(p)]
	if u == nil { // its hello was in a part of the log that is damaged
		u = &unended{Producer: p}
		l.unended[keyOf(p)] = u
	}
	first, _ := strconv.ParseInt(m.header.Get(headerSeq), 10, 64)
	ticks, _ := strconv.ParseInt(m.header.Get(headerTicks), 10, 64)
	u.LastSeq = max(u.LastSeq, first+ticks-1)
	u.At = schemas.Stamp{Host: host, WallNS: m.wallNS, BootNS: m.bootNS, BootID: u.Producer.BootID}
}

// producerOf returns the host and epoch of a data message's id, RUN/HOST/EPOCH/SEQ.
func producerOf(id string) (host string, epoch int64, ok bool) {
	_, rest, _ := strings.Cut(id, "/")
	if i := strings.LastIndexByte(rest, '/'); i > 0 {
		rest = rest[:i]
	}
	i := strings.LastIndexByte(rest, '/')
	if i < 1 {
		return "", 0, false
	}
	epoch, err := strconv.ParseInt(rest[i+1:], 10, 64)
	return rest[:i], epoch, err == nil
}

// encodeHead is what each file of the log begins with.
func (l *Log) encodeHead() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unended) == 0 {
		return nil
	}
	b, err := json.Marshal(slices.Collect(maps.Values(l.unended)))
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// append writes messages to the log.
func (l *Log) append(ms []*message) error {
	records := make([]wal.Record, len(ms))
	for i, m := range ms {
		records[i] = wal.Record{Seq: m.number, Body: m.encode()}
	}
	if err := l.wal.Append(records...); err != nil {
		return fmt.Errorf("bus: log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range ms {
		l.note(m, records[i].Body)
	}
	return nil
}

// read returns the first message of number from or above that is in the log.
func (l *Log) read(from uint64) (*message, error) {
	r, err := l.wal.Read(from)
	if err != nil {
		return nil, err
	}
	m, err := decodeMessage(r.Body)
	if err != nil {
		m = &message{}
	}
	m.number, m.written = r.Seq, true
	return m, err
}

// ends returns what is to be said of the producers, besides own, that were killed: once
// more what they are, and their end.
func (l *Log) ends(own schemas.Producer) (out []*message, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, u := range l.unended {
		if k == keyOf(own) {
			continue
		}
		for _, body := range u.Told {
			m, e := decodeMessage(body)
			if e != nil {
				err = errors.Join(err, e)
				continue
			}
			m.control = true
			out = append(out, m)
		}
		m, e := controlMessage(u.Producer, &schemas.Control{Kind: "end", At: u.At, End: &schemas.End{Epoch: u.Producer.Epoch, LastSeq: u.LastSeq, Cut: true}})
		err = errors.Join(err, e)
		out = append(out, m)
	}
	return out, err
}

// A message in the log is, little endian:
//
//	0  8  wall clock when it was taken, Unix nanoseconds
//	8  8  boot time clock then
//	16    subject and id, then 1 byte: how many headers, then name and value of each;
//	      each text is 2 bytes of length and its bytes
//	      the payload, to the end
func (m *message) encode() []byte {
	b := make([]byte, 0, m.logBytes())
	b = binary.LittleEndian.AppendUint64(b, uint64(m.wallNS))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.bootNS))
	text := func(s string) {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	text(m.subject)
	text(m.id)
	b = append(b, byte(len(m.header)))
	for _, name := range slices.Sorted(maps.Keys(m.header)) {
		text(name)
		text(m.header[name][0])
	}
	return append(b, m.data...)
}

// logBytes returns what the message takes in the log.
func (m *message) logBytes() int64 {
	n := 16 + 2 + len(m.subject) + 2 + len(m.id) + 1 + len(m.data)
	for name, v := range m.header {
		n += 2 + len(name) + 2 + len(v[0])
	}
	return wal.Size(n)
}

var errNoMessage = errors.New("bus: log: not a message of this version")

// decodeMessage returns the message of a record, which it copies.
func decodeMessage(b []byte) (*message, error) {
	if len(b) < 16 {
		return nil, errNoMessage
	}
	m := &message{header: nats.Header{},
		wallNS: int64(binary.LittleEndian.Uint64(b)), bootNS: int64(binary.LittleEndian.Uint64(b[8:]))}
	b = b[16:]
	ok := true
	text := func() (s string) {
		if len(b) < 2 || len(b) < 2+int(binary.LittleEndian.Uint16(b)) {
			ok = false
			return ""
		}
		n := int(binary.LittleEndian.Uint16(b))
		s, b = string(b[2:2+n]), b[2+n:]
		return s
	}
	m.subject, m.id = text(), text()
	if !ok || len(b) < 1 {
		return nil, errNoMessage
	}
	headers := int(b[0])
	b = b[1:]
	for range headers {
		name, value := text(), text()
		if !ok {
			return nil, errNoMessage
		}
		m.header[name] = []string{value}
	}
	m.data = slices.Clone(b)
	return m, nil
}
