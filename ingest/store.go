// Package ingest turns the stream into Parquet: messages to parts, parts to run
// folders. It keeps no state but its files and acknowledges nothing: killed at any
// moment and started again, it gives the same run folders.
package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// A Store is a data directory open for writing, by one process at a time.
type Store struct {
	// Volatile leaves out all syncing, for runs that can be made again at will.
	Volatile bool

	dir    string
	warn   func(error)
	lock   *os.File
	stream string
	seen   uint64 // last message of the stream handed to Add
	floor  uint64 // up to here every run is durable
	runs   map[string]*liveRun
	dec    *schemas.Decoder
	// step is called before each write, sync and rename, and after the last; tests
	// end the process there.
	step func(what string)
}

// liveRun is a run that is not a folder yet.
type liveRun struct {
	id        string
	controls  []schemas.Control
	producers map[producerKey]*producer
	parts     []*part
	durable   uint64 // last message of the current stream that is in a part
	last      uint64 // last message of the current stream seen
	touched   time.Time
	since     time.Time // first seen, or read from parts
	// reported says that the user was told that nobody opened the run.
	reported bool

	// Not in a part yet:
	tables      map[*schemas.Table]columns.Frame
	newControls []schemas.Control
	newSeqs     map[producerKey]*ranges
	newDups     map[producerKey]int64
	newBoots    map[bootKey]*partBoot
	newRefused  map[uint64][]byte
	refusals    []refusal
	rows        int
}

type producerKey struct {
	host  string
	epoch int64
}

type producer struct {
	bootID     string
	received   ranges
	duplicates int64
}

type bootKey struct{ host, bootID string }

// OpenStore opens the data directory, made if it is not there, and reads what lives
// in it. Only one process may have it open: another one gets an error that says so.
func OpenStore(dir string, warn func(error)) (*Store, error) {
	if warn == nil {
		warn = func(error) {}
	}
	live := filepath.Join(dir, "live")
	if err := os.MkdirAll(live, 0o755); err != nil {
		return nil, fmt.Errorf("ingest: data directory: %w: choose one that can be written, with --data", err)
	}
	lock, err := os.OpenFile(filepath.Join(live, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("ingest: data directory: %w: choose one that can be written, with --data", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("ingest: %s: another steady writes there: end it, or choose another directory with --data", dir)
	}
	s := &Store{dir: dir, warn: warn, lock: lock, runs: map[string]*liveRun{}, dec: schemas.NewDecoder(), step: func(string) {}}
	entries, err := os.ReadDir(live)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("ingest: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if strings.HasPrefix(e.Name(), trashPrefix) { // Forget was cut short
			if err := os.RemoveAll(filepath.Join(live, e.Name())); err != nil {
				s.Close()
				return nil, fmt.Errorf("ingest: %w", err)
			}
			continue
		}
		if err := s.load(e.Name()); err != nil {
			s.Close()
			return nil, fmt.Errorf("ingest: live run %s: %w", e.Name(), err)
		}
	}
	return s, nil
}

// Close lets others open the directory. It writes nothing: see Flush.
func (s *Store) Close() { s.lock.Close() }

func (s *Store) liveDir(run string) string { return filepath.Join(s.dir, "live", run) }

func (s *Store) load(id string) error {
	parts, err := s.readParts(id)
	if err != nil {
		return err
	}
	r := s.run(id)
	r.parts = parts
	for _, p := range parts {
		r.controls = append(r.controls, p.Controls...)
		r.refusals = append(r.refusals, p.Refused...)
		for _, x := range p.Producers {
			q := r.producer(producerKey{x.Host, x.Epoch}, x.BootID)
			q.received.merge(x.Ranges)
			q.duplicates += x.Duplicates
		}
	}
	return nil
}

func (s *Store) run(id string) *liveRun {
	r := s.runs[id]
	if r == nil {
		r = &liveRun{id: id, producers: map[producerKey]*producer{}, touched: time.Now(), since: time.Now()}
		r.clear()
		s.runs[id] = r
	}
	return r
}

func (r *liveRun) clear() {
	r.tables = map[*schemas.Table]columns.Frame{}
	r.newControls = nil
	r.newSeqs = map[producerKey]*ranges{}
	r.newDups = map[producerKey]int64{}
	r.newBoots = map[bootKey]*partBoot{}
	r.newRefused = map[uint64][]byte{}
	r.rows = 0
}

func (r *liveRun) producer(k producerKey, bootID string) *producer {
	p := r.producers[k]
	if p == nil {
		p = &producer{bootID: bootID}
		r.producers[k] = p
	}
	return p
}

// Begin says from which stream Add will be given messages, and returns the sequence
// number to read from: 1 for a stream not read before.
func (s *Store) Begin(stream string) (from uint64) {
	s.stream, s.floor = stream, 0
	s.Waited()
	for _, r := range s.runs {
		r.durable = 0
		for _, p := range r.parts {
			if p.Stream == stream {
				r.durable = max(r.durable, p.Last)
				s.floor = max(s.floor, p.Floor)
			}
		}
		r.last = r.durable
	}
	s.seen = s.floor
	return s.floor + 1
}

// Add takes the stream's next message. What can't be read is kept aside and counted,
// and costs its run the status complete; it is no error.
func (s *Store) Add(seq uint64, subject string, data []byte) {
	run, token, ok := strings.Cut(strings.TrimPrefix(subject, schemas.SubjectPrefix), ".")
	if !ok || run == "" || strings.ContainsAny(run, "/\\") || strings.HasPrefix(run, ".") {
		s.seen = seq
		s.warn(fmt.Errorf("ingest: message %d: subject %q is not ours: left in the stream", seq, subject))
		return
	}
	r := s.next(seq, run)
	if r == nil {
		return
	}
	if token == "_control" {
		c, err := schemas.DecodeControl(data)
		if err != nil {
			s.refuse(r, seq, data, err)
			return
		}
		r.hear(c)
		return
	}
	m, err := s.dec.Decode(data)
	if err == nil && (m.Run != run || schemas.HostToken(m.Host) != token) {
		err = fmt.Errorf("%w: run %s of host %q on subject %s", schemas.ErrCorrupt, m.Run, m.Host, subject)
	}
	if err != nil {
		s.refuse(r, seq, data, err)
		return
	}
	r.add(m)
}

// AddMessage and AddControl take what was made here (an import, a simulation) and never
// travelled. They keep none of it.
func (s *Store) AddMessage(seq uint64, m *schemas.Message) {
	if r := s.next(seq, m.Run); r != nil {
		r.add(m)
	}
}

func (s *Store) AddControl(seq uint64, run string, c *schemas.Control) {
	if r := s.next(seq, run); r != nil {
		r.hear(c)
	}
}

// next returns the run of message seq, or nil if it has the message already.
func (s *Store) next(seq uint64, run string) *liveRun {
	s.seen = seq
	r := s.run(run)
	if seq <= r.durable {
		return nil
	}
	r.last, r.touched = seq, time.Now()
	return r
}

func (s *Store) refuse(r *liveRun, seq uint64, data []byte, cause error) {
	s.warn(fmt.Errorf("ingest: run %s: message %d: %w: kept aside", r.id, seq, cause))
	r.newRefused[seq] = slices.Clone(data)
	r.refusals = append(r.refusals, refusal{seq, cause.Error()})
}

// hear takes a control message, unless it was sent again: a phase that began twice
// would end at once.
func (r *liveRun) hear(c *schemas.Control) {
	if slices.ContainsFunc(r.controls, func(x schemas.Control) bool { return reflect.DeepEqual(x, *c) }) {
		return
	}
	r.controls = append(r.controls, *c)
	r.newControls = append(r.newControls, *c)
}

func (r *liveRun) add(m *schemas.Message) {
	k := producerKey{m.Host, m.Epoch}
	p := r.producer(k, m.BootID)
	for i := range m.Ticks {
		t := &m.Ticks[i]
		if !p.received.add(t.Seq) {
			p.duplicates++
			r.newDups[k]++
			continue
		}
		if r.newSeqs[k] == nil {
			r.newSeqs[k] = &ranges{}
		}
		r.newSeqs[k].add(t.Seq)
		for j := range t.Blocks {
			if b := &t.Blocks[j]; !b.Gap {
				r.stamp(m, b.WallNS, b.BootNS)
				appendBlock(r.frame(b.Table, b.Rates != nil), m.Producer, t.Seq, b)
				r.rows += b.Rows()
			}
		}
		for j := range t.Rows {
			r.stamp(m, t.Rows[j].WallNS, t.Rows[j].BootNS)
			appendRow(r.frame(t.Rows[j].Table, false), m.Producer, t.Seq, &t.Rows[j])
			r.rows++
		}
	}
}

func (r *liveRun) frame(t *schemas.Table, rates bool) columns.Frame {
	f := r.tables[t]
	switch {
	case f == nil:
		f = rawFrame(t, rates)
	case rates && !hasRates(t, f):
		f = grow(t, f)
	default:
		return f
	}
	r.tables[t] = f
	return f
}

func (r *liveRun) stamp(m *schemas.Message, wall, boot int64) {
	k := bootKey{m.Host, m.BootID}
	b := r.newBoots[k]
	if b == nil {
		b = &partBoot{Host: m.Host, BootID: m.BootID, FirstWallNS: wall, FirstBootNS: boot, LastBootNS: boot}
		r.newBoots[k] = b
	}
	if boot < b.FirstBootNS {
		b.FirstWallNS, b.FirstBootNS = wall, boot
	}
	b.LastBootNS = max(b.LastBootNS, boot)
}

// Buffered returns the number of rows that are in no part yet.
func (s *Store) Buffered() (rows int) {
	for _, r := range s.runs {
		rows += r.rows
	}
	return rows
}

// Flush makes all that Add took durable, a part a run. After an error (a full disk)
// what is in no part is still in memory and in the stream.
func (s *Store) Flush() error {
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		if err := s.flushRun(s.runs[id]); err != nil {
			return fmt.Errorf("ingest: run %s: part: %w", id, diskFull(err))
		}
	}
	s.floor = s.seen
	return nil
}

func diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: nothing is lost, the messages stay in the stream: free some space and start again", err)
	}
	return err
}

func (s *Store) flushRun(r *liveRun) error {
	if r.last <= r.durable {
		return nil
	}
	p := &part{Schema: partSchema, Run: r.id, Stream: s.stream, Last: r.last, Floor: s.floor, Controls: r.newControls}
	for _, k := range sortedProducers(r.producers) {
		got, dups := r.newSeqs[k], r.newDups[k]
		if got == nil && dups == 0 {
			continue
		}
		x := partProducer{Host: k.host, Epoch: k.epoch, BootID: r.producers[k].bootID, Duplicates: dups}
		if got != nil {
			x.Ranges = *got
		}
		p.Producers = append(p.Producers, x)
	}
	for _, b := range r.newBoots {
		p.Boots = append(p.Boots, *b)
	}
	for seq := range r.newRefused {
		i := slices.IndexFunc(r.refusals, func(x refusal) bool { return x.StreamSeq == seq })
		p.Refused = append(p.Refused, r.refusals[i])
	}
	if err := s.writePart(r.id, len(r.parts)+1, p, r.tables, r.newRefused); err != nil {
		return err
	}
	r.parts = append(r.parts, p)
	r.durable = r.last
	r.clear()
	return nil
}

func sortedProducers(m map[producerKey]*producer) []producerKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b producerKey) int {
		if c := strings.Compare(a.host, b.host); c != 0 {
			return c
		}
		return int(min(max(a.epoch-b.epoch, -1), 1))
	})
}

// Orphans returns the runs that have rows and were never opened, each once: they stay
// in live until someone says what they are.
func (s *Store) Orphans() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[id]
		if r.open() == nil && !r.reported && time.Since(r.touched) > orphanAfter {
			r.reported = true
			out = append(out, id)
		}
	}
	return out
}

// trashPrefix marks a live run that is being removed, renamed first so that it is
// never seen half removed.
const trashPrefix = ".trash-"

// orphanAfter is how long a run's rows may come before its opening.
const orphanAfter = 10 * time.Second

// Over returns the runs that have nothing more to come: their producers said so, or
// their controller, or nothing came for the time given.
func (s *Store) Over(silence time.Duration) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		if s.runs[id].over(silence) {
			out = append(out, id)
		}
	}
	return out
}

// closeGrace is how long a closed run's producers may still take for their end.
const closeGrace = 5 * time.Second

func (r *liveRun) over(silence time.Duration) bool {
	open := r.open()
	if open == nil {
		return false
	}
	quiet := time.Since(r.touched)
	switch {
	case quiet > silence:
		return true
	case r.control("abort") != nil || r.control("close") != nil:
		return r.allEnded() || quiet > closeGrace
	case open.Controlled:
		return false
	}
	hosts := map[string]bool{}
	for i := range r.controls {
		if r.controls[i].Kind == "hello" {
			hosts[r.controls[i].At.Host] = true
		}
	}
	return len(hosts) >= open.Hosts && r.allEnded()
}

// allEnded reports whether every producer that said hello or sent rows said its end,
// and all that it says it sent is here.
func (r *liveRun) allEnded() bool {
	ends := map[producerKey]*schemas.End{}
	for i := range r.controls {
		if c := &r.controls[i]; c.End != nil {
			ends[producerKey{c.At.Host, c.End.Epoch}] = c.End
		}
	}
	said := func(k producerKey) bool { return ends[k] != nil || r.superseded(k.epoch) }
	for i := range r.controls {
		if c := &r.controls[i]; c.Hello != nil && !said(producerKey{c.At.Host, c.Hello.Epoch}) {
			return false
		}
	}
	for k := range r.producers {
		if !said(k) {
			return false
		}
	}
	for k, e := range ends {
		var here ranges
		here.merge(e.Refused)
		if p := r.producers[k]; p != nil {
			here.merge(p.received)
		}
		if len(here.missing(e.LastSeq)) > 0 {
			return false // some are still on their way
		}
	}
	return true
}

// superseded reports whether a producer of the same kind began on the same host after
// this one: it died, and will not say its end.
func (r *liveRun) superseded(epoch int64) bool {
	var mine *schemas.Control
	for i := range r.controls {
		c := &r.controls[i]
		switch {
		case c.Hello == nil:
		case c.Hello.Epoch == epoch:
			mine = c
		case mine != nil && c.At.Host == mine.At.Host && c.Hello.Kind == mine.Hello.Kind:
			return true
		}
	}
	return false
}

// control returns the first control message of the kind, or nil.
func (r *liveRun) control(kind string) *schemas.Control {
	for i := range r.controls {
		if r.controls[i].Kind == kind {
			return &r.controls[i]
		}
	}
	return nil
}

func (r *liveRun) open() *schemas.Open {
	if c := r.control("open"); c != nil {
		return c.Open
	}
	return nil
}

// Forget removes what is left of a run in live: its folder is in place, and its
// messages are out of the stream.
func (s *Store) Forget(id string) error {
	delete(s.runs, id)
	s.step("rename live")
	trash := filepath.Join(s.dir, "live", trashPrefix+id)
	if err := os.Rename(s.liveDir(id), trash); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("ingest: run %s: %w", id, err)
	}
	s.step("remove live")
	err := os.RemoveAll(trash)
	s.step("removed live")
	if err != nil {
		return fmt.Errorf("ingest: run %s: %w", id, err)
	}
	return nil
}

// Waited says that nothing could come up to now: no run's silence has begun yet.
func (s *Store) Waited() {
	for _, r := range s.runs {
		r.touched = time.Now()
	}
}

// Oldest returns when the oldest live run was first seen, now if there is none.
func (s *Store) Oldest(now time.Time) time.Time {
	oldest := now
	for _, r := range s.runs {
		if r.since.Before(oldest) {
			oldest = r.since
		}
	}
	return oldest
}

// Live returns the ids of the runs that are not folders yet.
func (s *Store) Live() []string { return slices.Sorted(maps.Keys(s.runs)) }
