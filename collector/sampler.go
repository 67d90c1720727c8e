package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// Account is what a sampler did.
type Account struct {
	LastSeq int64
	Refused []schemas.Range // taken, and refused by the sink
	Missed  int64           // ticks not taken
	Late    int64           // ticks that began more than a tenth of the interval late
}

// A Sampler takes a tick of its sources each interval, on an absolute schedule: a
// tick that takes long moves no other, and a source that takes long no other source.
// What can't begin within its own interval is not made up for: it is missed, and the
// next one says so.
type Sampler struct {
	Interval time.Duration // 0: 1 s
	// StartBootNS is the boot time at which the first tick is due; 0: now.
	StartBootNS int64
	// Ticks ends the run after so many ticks, the missed ones included; 0: never.
	Ticks   int64
	Sources []Source
	Sink    Sink
	Clock   Clock // nil: Now
	// Warn is told what a user should know, each thing once; nil: nobody is.
	Warn func(error)
	// Since is the boot time of the last tick of a collector that was killed and whose
	// place this one takes: the ticks due since are missed. nil: there was none.
	Since *int64
	// UnackedBytes tells what the sink still holds, LogBytes what it has on this host's
	// disk; nil: unknown.
	UnackedBytes, LogBytes func() int64

	end     atomic.Int64 // no tick due after this moment; 0: none is too late
	ctx     context.Context
	tick    schemas.Tick
	k       int64 // which tick it is, the missed ones included, from 0
	late    int64 // by how much it began late
	at      int   // the reader whose turn it is
	readers []*reader
	self    self
	account Account
	missed  int64 // ticks missed just before this one
	rusage  unix.Rusage
	timer   *time.Timer
	over    chan struct{} // closed when all ticks are taken
	quit    chan struct{} // closed when Run returns

	watch   *time.Timer // calls overdue; nil: nobody watches
	mu      sync.Mutex
	reading *reader // the source that holds up the sampler now
	ticking bool    // a tick is being taken
}

// self reads the process's own memory.
type self struct {
	statm *os.File
	buf   [128]byte
	page  int64
}

// Columns of table collector, by index.
var (
	colCPU     = schemas.Collector.Column("cpu_ns")
	colRSS     = schemas.Collector.Column("rss_bytes")
	colLate    = schemas.Collector.Column("late_ns")
	colMissed  = schemas.Collector.Column("missed_ticks")
	colRefused = schemas.Collector.Column("refused_ticks")
	colUnacked = schemas.Collector.Column("unacked_bytes")
	colLog     = schemas.Collector.Column("log_bytes")
	colSample  = schemas.Collector.Column("sample_ns")
	colFailed  = schemas.Collector.Column("failed")
)

// Run takes ticks until ctx ends or all are taken, and returns what was done. A
// source that fails costs its part of the tick, which is then a gap; an error says
// that sampling can't begin at all. A source that hangs at the end is left behind.
func (s *Sampler) Run(ctx context.Context) (Account, error) {
	if err := s.prepare(); err != nil {
		return Account{}, err
	}
	defer s.self.close()
	s.ctx, s.over, s.quit = ctx, make(chan struct{}), make(chan struct{})
	defer close(s.quit)
	s.timer = time.NewTimer(time.Hour)
	defer s.timer.Stop()
	s.watch = time.AfterFunc(time.Hour, s.overdue)
	defer s.watch.Stop()
	go s.work(nil)
	<-s.over
	return s.account, nil
}

// work takes ticks; unless slow is nil, it first ends the tick that this source holds
// up. It returns when all is done, or when another goroutine took over: then it stays
// with the source that was too slow for it.
func (s *Sampler) work(slow *reader) {
	if slow != nil {
		s.setApart(slow)
		if r := s.takeRest(); r != nil {
			s.serve(r)
			return
		}
		s.k++
	}
	for ; (s.Ticks == 0 || s.k < s.Ticks) && s.await(); s.k++ {
		if r := s.takeTick(); r != nil {
			s.serve(r)
			return
		}
	}
	close(s.over)
}

// await waits for the next tick that can still begin, and reports whether there is one
// before ctx ends.
func (s *Sampler) await() bool {
	interval := s.Interval.Nanoseconds()
	for s.ctx.Err() == nil {
		due := s.StartBootNS + s.k*interval
		if e := s.end.Load(); e != 0 && s.k > 0 && due-interval >= e {
			return false // the one before was the last
		}
		_, now := s.Clock()
		if now < due {
			s.timer.Reset(time.Duration(due - now))
			select {
			case <-s.ctx.Done():
			case <-s.timer.C:
			}
			continue
		}
		skip := (now - due) / interval
		if s.Ticks != 0 {
			skip = min(skip, s.Ticks-s.k) // after the last there are none to miss
		}
		if e := s.end.Load(); e != 0 {
			skip = min(skip, max((e-due+interval-1)/interval, 0))
		}
		if skip > 0 {
			s.account.Missed += skip
			s.missed = skip
			s.k += skip
			due += skip * interval
		}
		s.late = now - due
		return s.Ticks == 0 || s.k < s.Ticks
	}
	return false
}

// EndAfter ends Run with the first tick that is due at or after a moment of the boot time
// clock. It may be called while Run goes on.
func (s *Sampler) EndAfter(bootNS int64) { s.end.Store(bootNS) }

func (s *Sampler) prepare() error {
	if s.Interval == 0 {
		s.Interval = time.Second
	}
	if s.Interval < 10*time.Millisecond {
		return fmt.Errorf("collector: interval %s: the shortest is 10ms", s.Interval)
	}
	if s.Clock == nil {
		s.Clock = Now
	}
	if s.Warn == nil {
		s.Warn = func(error) {}
	}
	if s.StartBootNS == 0 {
		_, s.StartBootNS = s.Clock()
	}
	if err := s.self.open(); err != nil {
		return err
	}
	own := schemas.Block{Table: &schemas.Collector}
	own.SetDevice(0, []byte("process"))
	for _, src := range s.Sources {
		r := &reader{source: src, first: len(s.tick.Blocks)}
		for _, t := range src.Tables() {
			r.blocks = append(r.blocks, schemas.Block{Table: t})
		}
		r.devices = make([][]string, len(r.blocks))
		s.tick.Blocks = append(s.tick.Blocks, r.blocks...)
		s.readers = append(s.readers, r)
		if slices.Contains(own.Devices, src.Name()) {
			return fmt.Errorf("collector: two sources, or one and the collector's own row, are called %q", src.Name())
		}
		own.SetDevice(len(own.Devices), []byte(src.Name()))
	}
	s.tick.Blocks = append(s.tick.Blocks, own)
	return nil
}

// Take takes one tick now, which was due lateNS ago, and hands it to the sink.
func (s *Sampler) Take(lateNS int64) {
	s.late = lateNS
	s.takeTick()
}

// takeTick takes one tick. It returns the source that was too slow for it, if another
// goroutine took over.
func (s *Sampler) takeTick() (slow *reader) {
	s.tick.Seq++
	s.tick.Rows = s.tick.Rows[:0]
	wall, boot := s.Clock()
	if s.tick.Seq > 1 && s.late > s.Interval.Nanoseconds()/10 {
		s.account.Late++
		s.note(wall, boot, "late", "", fmt.Sprintf("the tick began %.3f s after it was due", float64(s.late)/1e9))
	}
	if s.Since != nil && s.tick.Seq == 1 {
		s.resume(wall, boot)
	}
	if s.missed > 0 {
		s.note(wall, boot, "missed", "", fmt.Sprintf("%d ticks before this one could not begin within their interval", s.missed))
		s.missed = 0
	}
	s.own().Resize(1 + len(s.readers))
	s.at = 0
	s.setTicking(true)
	return s.takeRest()
}

// own is the block of table collector.
func (s *Sampler) own() *schemas.Block { return &s.tick.Blocks[len(s.tick.Blocks)-1] }

func (s *Sampler) setTicking(on bool) {
	if s.watch == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticking = on
	if on {
		s.watch.Reset(s.slow())
	} else {
		s.watch.Stop()
	}
}

// takeRest takes what is left of a tick, as takeTick does.
func (s *Sampler) takeRest() (slow *reader) {
	wall, boot := s.Clock()
	began := boot
	for ; s.at < len(s.readers); s.at++ {
		r := s.readers[s.at]
		if r.apart {
			continue
		}
		if !s.read(r, began) {
			return r
		}
		began += r.took
		r.done = false
		s.take(s.at, r, wall, boot)
	}
	s.setTicking(false)
	for i, r := range s.readers {
		if r.apart {
			s.takeApart(i, r, wall, began)
		}
	}
	s.account.LastSeq = s.tick.Seq
	s.takeOwn()
	if err := s.Sink.Tick(&s.tick); err != nil {
		if len(s.account.Refused) == 0 {
			s.Warn(fmt.Errorf("collector: tick %d: %w", s.tick.Seq, err))
		}
		s.account.Refused = AddToRanges(s.account.Refused, s.tick.Seq)
	}
	s.readAgain()
	return nil
}

// take puts a reading into the tick.
func (s *Sampler) take(i int, r *reader, wall, boot int64) {
	blocks := s.tick.Blocks[r.first : r.first+len(r.blocks)]
	copy(blocks, r.blocks)
	for j := range blocks {
		blocks[j].Gap = r.err != nil
		r.devices[j] = blocks[j].Devices
	}
	if r.err != nil {
		r.failed++
		if !r.failing {
			s.Warn(fmt.Errorf("collector: %s: %w", r.source.Name(), r.err))
		}
		for j := range blocks {
			s.note(wall, boot, "failed", blocks[j].Table.Name, r.err.Error())
		}
	}
	r.failing = r.err != nil
	s.noteSkipped(r, wall, boot)
	if n, ok := r.source.(Noter); ok {
		s.tick.Rows = n.Notes(s.tick.Rows)
	}
	s.own().Set(1+i, colSample, r.took)
}

// takeOwn puts what the sampler knows of itself into the tick.
func (s *Sampler) takeOwn() {
	own := s.own()
	own.WallNS, own.BootNS = s.Clock()
	for i, r := range s.readers {
		own.Set(1+i, colFailed, r.failed)
	}
	own.Set(0, colLate, s.late)
	own.Set(0, colMissed, s.account.Missed)
	own.Set(0, colRefused, s.refused())
	if s.UnackedBytes != nil {
		own.Set(0, colUnacked, s.UnackedBytes())
	}
	if s.LogBytes != nil {
		own.Set(0, colLog, s.LogBytes())
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &s.rusage); err == nil {
		own.Set(0, colCPU, s.rusage.Utime.Nano()+s.rusage.Stime.Nano())
	}
	if rss, ok := s.self.rss(); ok {
		own.Set(0, colRSS, rss)
	}
}

// resume accounts for the time between a collector that was killed and this one.
func (s *Sampler) resume(wall, boot int64) {
	gap := boot - *s.Since
	n := max((gap+s.Interval.Nanoseconds()/2)/s.Interval.Nanoseconds()-1, 0)
	s.account.Missed += n
	s.note(wall, boot, "missed", "", fmt.Sprintf("the collector before this one was killed: there is no tick of the %.3f s before, %d of them", float64(gap)/1e9, n))
}

// A Skipper is a source that tells how many lines it had to skip.
type Skipper interface {
	// Skipped returns how many lines (or groups of fields of a line) did not parse in
	// all readings so far, and the first of them in words. A line that is bad at each
	// tick counts at each tick.
	Skipped() (lines int64, example string)
}

// noteSkipped says once that a source has lines that can't be read: they cost
// themselves, and the columns that they carry are null.
func (s *Sampler) noteSkipped(r *reader, wall, boot int64) {
	k, ok := r.source.(Skipper)
	if !ok || r.skipped {
		return
	}
	if n, example := k.Skipped(); n > 0 {
		r.skipped = true
		s.Warn(fmt.Errorf("collector: %s: line skipped: %s", r.source.Name(), example))
		s.note(wall, boot, "skipped", r.source.Tables()[0].Name, example)
	}
}

func (s *Sampler) note(wall, boot int64, reason, table, detail string) {
	s.tick.Rows = append(s.tick.Rows, QualityRow(wall, boot, reason, table, detail))
}

// QualityRow returns a row of table quality about a whole table, or about the
// producer where table is empty.
func QualityRow(wall, boot int64, reason, table, detail string) schemas.Row {
	r := schemas.NewRow(&schemas.Quality, wall, boot, 0)
	r.SetText("reason", reason)
	r.SetText("table", table)
	r.SetText("column", "")
	r.SetText("part", "")
	r.SetText("detail", detail)
	return r
}

func (s *Sampler) refused() int64 {
	var n int64
	for _, r := range s.account.Refused {
		n += r.Last - r.First + 1
	}
	return n
}

// AddToRanges adds the next sequence number to ranges in ascending order.
func AddToRanges(r []schemas.Range, seq int64) []schemas.Range {
	if n := len(r); n > 0 && r[n-1].Last == seq-1 {
		r[n-1].Last = seq
		return r
	}
	return append(r, schemas.Range{First: seq, Last: seq})
}

func (p *self) open() (err error) {
	if p.statm, err = os.Open("/proc/self/statm"); err != nil {
		return fmt.Errorf("collector: own memory: %w: is /proc mounted?", err)
	}
	p.page = int64(os.Getpagesize())
	return nil
}

func (p *self) close() { p.statm.Close() }

// rss returns the resident memory: the second field of statm, in pages.
func (p *self) rss() (int64, bool) {
	n, _ := p.statm.ReadAt(p.buf[:], 0)
	field, i := 0, 0
	for i < n && field < 1 {
		if p.buf[i] == ' ' {
			field++
		}
		i++
	}
	var v int64
	digits := 0
	for ; i < n && p.buf[i] >= '0' && p.buf[i] <= '9'; i++ {
		v = v*10 + int64(p.buf[i]-'0')
		digits++
	}
	return v * p.page, digits > 0
}

// BootID returns the kernel's id of this boot.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("collector: boot id: %w", err)
	}
	if len(b) < 36 {
		return "", errors.New("collector: boot id: " + strconv.Quote(string(b)))
	}
	return string(b[:36]), nil
}
