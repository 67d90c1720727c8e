package collector_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/procfs"
	"github.com/steadybench/steady/schemas"
)

// clock is the bubble's: it moves only when everyone waits.
func clock() (wallNS, bootNS int64) {
	now := time.Now().UnixNano()
	return now + 5e17, now
}

// fake is a source of table load whose readings take, fail and are skipped as told.
type fake struct {
	name  string
	n     int // of the reading, from 1
	takes func(n int) (time.Duration, error)
	bad   int64
}

func (f *fake) Name() string             { return f.name }
func (f *fake) Tables() []*schemas.Table { return []*schemas.Table{&schemas.Load} }
func (f *fake) Close() error             { return nil }
func (f *fake) Skipped() (int64, string) { return f.bad, "line 3" }

func (f *fake) Sample(blocks []schemas.Block) error {
	f.n++
	blocks[0].WallNS, blocks[0].BootNS = clock()
	blocks[0].Resize(1)
	blocks[0].Set(0, 0, int64(f.n))
	if f.takes == nil {
		return nil
	}
	d, err := f.takes(f.n)
	time.Sleep(d)
	return err
}

// took is what a sink was given of a tick.
type took struct {
	seq                           int64
	bootNS                        []int64 // of the blocks
	gap                           []bool
	notes                         []string // reason table detail
	late, missed, refused, failed int64
}

// sink keeps ticks, refuses those that it is told to, and takes as long as it is told:
// it stands for whatever stops the process.
type sink struct {
	ticks  []took
	refuse func(seq int64) error
	takes  func(seq int) (time.Duration, error)
}

func (s *sink) Tick(t *schemas.Tick) error {
	x := took{seq: t.Seq}
	for _, b := range t.Blocks {
		x.gap = append(x.gap, b.Gap)
		x.bootNS = append(x.bootNS, b.BootNS)
	}
	for _, r := range t.Rows {
		text := func(column string) string { return r.Cells[r.Table.Column(column)].Text }
		x.notes = append(x.notes, strings.TrimSpace(text("reason")+" "+text("table")+" "+text("detail")))
	}
	own := &t.Blocks[len(t.Blocks)-1]
	value := func(row int, column string) int64 {
		return own.Values[row*len(own.Table.Columns)+own.Table.Column(column)]
	}
	x.late, x.missed, x.refused, x.failed = value(0, "late_ns"), value(0, "missed_ticks"), value(0, "refused_ticks"), value(1, "failed")
	s.ticks = append(s.ticks, x)
	if s.takes != nil {
		d, _ := s.takes(int(t.Seq))
		time.Sleep(d)
	}
	if s.refuse != nil {
		return s.refuse(t.Seq)
	}
	return nil
}

// sample runs a sampler of one second in a bubble of time and returns its account, the
// moments of its ticks after the start, in seconds, and its warnings.
func sample(t *testing.T, ticks int64, f *fake, s *sink) (a collector.Account, at []float64, warned []string) {
	t.Helper()
	_, start := clock()
	x := &collector.Sampler{StartBootNS: start, Ticks: ticks, Sources: []collector.Source{f}, Sink: s, Clock: clock,
		Warn: func(err error) { warned = append(warned, err.Error()) }}
	a, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range s.ticks {
		at = append(at, float64(k.bootNS[0]-start)/1e9)
		if k.seq != int64(i+1) {
			t.Errorf("tick %d has sequence number %d", i+1, k.seq)
		}
	}
	return a, at, warned
}

// slow returns a reading that takes so long the nth time.
func slow(nth int, d time.Duration) func(int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		if n == nth {
			return d, nil
		}
		return time.Millisecond, nil
	}
}

func TestLateTickIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{takes: slow(2, 1500*time.Millisecond)}
		a, at, _ := sample(t, 5, &fake{name: "f"}, s)
		if want := []float64{0, 1, 2.5, 3, 4}; !slices.Equal(at, want) {
			t.Errorf("ticks at %v, want %v", at, want)
		}
		if a.Late != 1 || a.Missed != 0 {
			t.Errorf("%+v", a)
		}
		if k := s.ticks[2]; k.late != 5e8 || !slices.Equal(k.notes, []string{"late  the tick began 0.500 s after it was due"}) {
			t.Errorf("late by %d, notes %q", k.late, k.notes)
		}
		if k := s.ticks[3]; k.late != 0 || len(k.notes) > 0 {
			t.Errorf("the next: late by %d, notes %q", k.late, k.notes)
		}
	})
}

func TestMissedTicksAreSkippedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{takes: slow(2, 3250*time.Millisecond)}
		a, at, _ := sample(t, 8, &fake{name: "f"}, s)
		// Those due at 2 and 3 are gone; the one due at 4 can still begin.
		if want := []float64{0, 1, 4.25, 5, 6, 7}; !slices.Equal(at, want) {
			t.Errorf("ticks at %v, want %v", at, want)
		}
		if a.Missed != 2 || a.LastSeq != 6 || a.Late != 1 {
			t.Errorf("%+v", a)
		}
		k := s.ticks[2]
		if k.missed != 2 || k.late != 25e7 || len(k.notes) != 2 || !strings.HasPrefix(k.notes[1], "missed  2 ticks before this one") {
			t.Errorf("%+v", k)
		}
		if k := s.ticks[3]; k.missed != 2 || len(k.notes) > 0 {
			t.Errorf("the next: %+v", k)
		}
	})
}

func TestTheLastTicksMayBeMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{takes: slow(2, time.Minute)}
		a, at, _ := sample(t, 4, &fake{name: "f"}, s)
		if want := []float64{0, 1}; !slices.Equal(at, want) {
			t.Errorf("ticks at %v, want %v", at, want)
		}
		if a.Missed != 2 || a.LastSeq != 2 {
			t.Errorf("%+v: of 4 ticks 2 were taken", a)
		}
	})
}

func TestFailingSourceIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &sink{}
		_, _, warned := sample(t, 6, &fake{name: "f", takes: func(n int) (time.Duration, error) {
			if n == 2 || n == 3 || n == 5 {
				return 0, broken
			}
			return 0, nil
		}}, s)
		for i, want := range []bool{false, true, true, false, true, false} {
			k := s.ticks[i]
			if k.gap[0] != want || k.gap[1] {
				t.Errorf("tick %d: gaps %v", i+1, k.gap)
			}
			if noted := slices.Contains(k.notes, "failed load broken"); noted != want {
				t.Errorf("tick %d: notes %q", i+1, k.notes)
			}
		}
		if n := s.ticks[5].failed; n != 3 {
			t.Errorf("%d failures counted, want 3", n)
		}
		// Once each time it begins to fail.
		if want := []string{"collector: f: broken", "collector: f: broken"}; !slices.Equal(warned, want) {
			t.Errorf("warned %q", warned)
		}
	})
}

func TestRefusedTicksAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		s := &sink{refuse: func(seq int64) error {
			if seq == 2 || seq == 3 || seq == 5 {
				return full
			}
			return nil
		}}
		a, _, warned := sample(t, 6, &fake{name: "f"}, s)
		if want := []schemas.Range{{First: 2, Last: 3}, {First: 5, Last: 5}}; !slices.Equal(a.Refused, want) || a.LastSeq != 6 {
			t.Errorf("%+v", a)
		}
		for i, want := range []int64{0, 0, 1, 2, 2, 3} {
			if got := s.ticks[i].refused; got != want {
				t.Errorf("tick %d says that %d were refused, want %d", i+1, got, want)
			}
		}
		if len(warned) != 1 || warned[0] != "collector: tick 2: full" {
			t.Errorf("warned %q", warned)
		}
	})
}

// noting is a source with an event at its second reading.
type noting struct{ fake }

func (f *noting) Notes(dst []schemas.Row) []schemas.Row {
	if f.n != 2 {
		return dst
	}
	wall, boot := clock()
	return append(dst, schemas.QualityRow(wall, boot, "suspend", "", "for 3 s"))
}

func TestEventsOfASourceTravelWithTheirTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		_, start := clock()
		if _, err := (&collector.Sampler{StartBootNS: start, Ticks: 3, Sources: []collector.Source{&noting{fake{name: "f"}}}, Sink: s, Clock: clock}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range [][]string{nil, {"suspend  for 3 s"}, nil} {
			if !slices.Equal(s.ticks[i].notes, want) {
				t.Errorf("tick %d: %q, want %q", i+1, s.ticks[i].notes, want)
			}
		}
	})
}

// One that takes the place of a killed collector counts the ticks due since that one's
// last, wherever the boot clock began.
func TestGapOfAKilledCollectorIsCounted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ago    time.Duration
		missed int64
		note   string
	}{
		{"a while", 7300 * time.Millisecond, 6, "missed  the collector before this one was killed: there is no tick of the 7.300 s before, 6 of them"},
		{"within a tick", 700 * time.Millisecond, 0, "missed  the collector before this one was killed: there is no tick of the 0.700 s before, 0 of them"},
		{"an age ago, in another boot", 1 << 62, 4611686017, "missed  the collector before this one was killed: there is no tick of the 4611686018.427 s before, 4611686017 of them"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sink{takes: slow(1, 1200*time.Millisecond)}
				_, start := clock()
				since := start - int64(tt.ago)
				x := &collector.Sampler{StartBootNS: start, Ticks: 3, Sources: []collector.Source{&fake{name: "f"}}, Sink: s, Clock: clock, Since: &since}
				a, err := x.Run(t.Context())
				if err != nil || a.Missed != tt.missed {
					t.Errorf("%d missed, %v", a.Missed, err)
				}
				if k := s.ticks[0]; k.missed != tt.missed || !slices.Equal(k.notes, []string{tt.note}) {
					t.Errorf("%d missed, notes %q", k.missed, k.notes)
				}
				if k := s.ticks[1]; len(k.notes) != 1 || !strings.HasPrefix(k.notes[0], "late") {
					t.Errorf("the next: notes %q", k.notes)
				}
			})
		})
	}
}

func TestSkippedLinesAreSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		_, _, warned := sample(t, 3, &fake{name: "f", bad: 7}, s)
		if len(warned) != 1 || warned[0] != "collector: f: line skipped: line 3" {
			t.Errorf("warned %q", warned)
		}
		if n := s.ticks[0].notes; !slices.Equal(n, []string{"skipped load line 3"}) {
			t.Errorf("notes %q", n)
		}
		if n := s.ticks[1].notes; len(n) > 0 {
			t.Errorf("again: %q", n)
		}
	})
}

func TestSamplerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		s := &sink{}
		_, start := clock()
		a, err := (&collector.Sampler{Sources: []collector.Source{&fake{name: "f"}}, Sink: s, Clock: clock}).Run(ctx)
		if _, now := clock(); err != nil || a.LastSeq != 3 || now-start != 25e8 {
			t.Errorf("%v: %+v after %d ns, want 3 ticks in 2.5 s", err, a, now-start)
		}
	})
}

func TestSamplerWaitsForItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		_, start := clock()
		if _, err := (&collector.Sampler{StartBootNS: start + 3e9, Ticks: 2, Sources: []collector.Source{&fake{name: "f"}}, Sink: s, Clock: clock}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if at := s.ticks[0].bootNS[0] - start; at != 3e9 || len(s.ticks) != 2 {
			t.Errorf("first tick after %d ns, %d in all", at, len(s.ticks))
		}
	})
}

func TestShortestInterval(t *testing.T) {
	if _, err := (&collector.Sampler{Interval: 9 * time.Millisecond, Sink: &sink{}}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the shortest is 10ms") {
		t.Errorf("got %v", err)
	}
}

// nothing is a sink that takes every tick.
type nothing struct{}

func (nothing) Tick(*schemas.Tick) error { return nil }

func TestTickDoesNotAllocate(t *testing.T) {
	s := onProc(t)
	if n := testing.AllocsPerRun(100, func() { s.Take(0) }); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}

func BenchmarkTick(b *testing.B) {
	s := onProc(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Take(0)
	}
}

// onProc returns a sampler of this host that took its first tick.
func onProc(t testing.TB) *collector.Sampler {
	t.Helper()
	sources, _, err := procfs.Sources("/", collector.Now, procfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range sources {
			s.Close()
		}
	})
	s := &collector.Sampler{Sources: sources, Sink: nothing{}, UnackedBytes: func() int64 { return 0 }, LogBytes: func() int64 { return 0 }}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	s.Take(0)
	return s
}
