package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
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
// tick that takes long moves no other. What can't begin within its own interval is
// not made up for: it is missed, and the next one says so.
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
	tick    schemas.Tick
	first   []int // index of a source's first block
	failed  []int64
	failing []bool
	skipped []bool
	self    self
	account Account
	missed  int64 // ticks missed just before this one
	rusage  unix.Rusage
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
// that sampling can't begin at all.
func (s *Sampler) Run(ctx context.Context) (Account, error) {
	if err := s.prepare(); err != nil {
		return Account{}, err
	}
	defer s.self.close()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	interval := s.Interval.Nanoseconds()
	for k := int64(0); s.Ticks == 0 || k < s.Ticks; k++ {
		due := s.StartBootNS + k*interval
		for {
			_, now := s.Clock()
			if e := s.end.Load(); e != 0 && k > 0 && due-interval >= e {
				return s.account, nil // the one before was the last
			}
			if now >= due {
				skip := (now - due) / interval
				if s.Ticks != 0 {
					skip = min(skip, s.Ticks-k) // after the last there are none to miss
				}
				if skip > 0 {
					s.account.Missed += skip
					s.missed = skip
					k += skip
					due += skip * interval
					if s.Ticks != 0 && k >= s.Ticks {
						return s.account, nil
					}
				}
				s.Take(now - due)
				break
			}
			timer.Reset(time.Duration(due - now))
			select {
			case <-ctx.Done():
				return s.account, nil
			case <-timer.C:
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s.account, nil
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
		s.first = append(s.first, len(s.tick.Blocks))
		for _, t := range src.Tables() {
			s.tick.Blocks = append(s.tick.Blocks, schemas.Block{Table: t})
		}
		if slices.Contains(own.Devices, src.Name()) {
			return fmt.Errorf("collector: two sources, or one and the collector's own row, are called %q", src.Name())
		}
		own.SetDevice(len(own.Devices), []byte(src.Name()))
	}
	s.tick.Blocks = append(s.tick.Blocks, own)
	s.failed = make([]int64, len(s.Sources))
	s.failing = make([]bool, len(s.Sources))
	s.skipped = make([]bool, len(s.Sources))
	return nil
}

// Take takes one tick now, which was due lateNS ago, and hands it to the sink.
func (s *Sampler) Take(lateNS int64) {
	s.tick.Seq++
	s.tick.Rows = s.tick.Rows[:0]
	wall, boot := s.Clock()
	if s.tick.Seq > 1 && lateNS > s.Interval.Nanoseconds()/10 {
		s.account.Late++
		s.note(wall, boot, "late", "", fmt.Sprintf("the tick began %.3f s after it was due", float64(lateNS)/1e9))
	}
	if s.Since != nil && s.tick.Seq == 1 {
		s.resume(wall, boot)
	}
	if s.missed > 0 {
		s.note(wall, boot, "missed", "", fmt.Sprintf("%d ticks before this one could not begin within their interval", s.missed))
		s.missed = 0
	}
	own := &s.tick.Blocks[len(s.tick.Blocks)-1]
	own.Resize(1 + len(s.Sources))
	_, began := s.Clock()
	for i, src := range s.Sources {
		blocks := s.tick.Blocks[s.first[i] : s.first[i]+len(src.Tables())]
		err := src.Sample(blocks)
		_, ended := s.Clock()
		for j := range blocks {
			blocks[j].Gap = err != nil
		}
		if err != nil {
			s.failed[i]++
			if !s.failing[i] {
				s.Warn(fmt.Errorf("collector: %s: %w", src.Name(), err))
			}
			for j := range blocks {
				s.note(wall, boot, "failed", blocks[j].Table.Name, err.Error())
			}
		}
		s.failing[i] = err != nil
		s.noteSkipped(i, src, wall, boot)
		if n, ok := src.(Noter); ok {
			s.tick.Rows = n.Notes(s.tick.Rows)
		}
		own.Set(1+i, colSample, ended-began)
		own.Set(1+i, colFailed, s.failed[i])
		began = ended
	}
	own.WallNS, own.BootNS = s.Clock()
	own.Set(0, colLate, lateNS)
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
	s.account.LastSeq = s.tick.Seq
	if err := s.Sink.Tick(&s.tick); err != nil {
		if len(s.account.Refused) == 0 {
			s.Warn(fmt.Errorf("collector: tick %d: %w", s.tick.Seq, err))
		}
		s.account.Refused = AddToRanges(s.account.Refused, s.tick.Seq)
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
func (s *Sampler) noteSkipped(i int, src Source, wall, boot int64) {
	k, ok := src.(Skipper)
	if !ok || s.skipped[i] {
		return
	}
	if n, example := k.Skipped(); n > 0 {
		s.skipped[i] = true
		s.Warn(fmt.Errorf("collector: %s: line skipped: %s", src.Name(), example))
		s.note(wall, boot, "skipped", src.Tables()[0].Name, example)
	}
}

func (s *Sampler) note(wall, boot int64, reason, table, detail string) {
	s.tick.Rows = append(s.tick.Rows, schemas.QualityRow(wall, boot, reason, table, detail))
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
