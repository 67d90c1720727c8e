package collector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// among runs a sampler of a second with the fakes as its sources, and returns of each
// tick when each source was read, in seconds after the start; a gap is "-".
func among(t *testing.T, ctx context.Context, ticks int64, s *sink, fakes ...*fake) (a collector.Account, at []string, warned []string) {
	t.Helper()
	var sources []collector.Source
	for _, f := range fakes {
		sources = append(sources, f)
	}
	_, start := clock()
	x := &collector.Sampler{StartBootNS: start, Ticks: ticks, Sources: sources, Sink: s, Clock: clock,
		Warn: func(err error) { warned = append(warned, err.Error()) }}
	a, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { time.Sleep(time.Minute) }) // what is slow returns
	for _, k := range s.ticks {
		var words []string
		for i := range fakes {
			if k.gap[i] {
				words = append(words, "-")
			} else {
				words = append(words, fmt.Sprintf("%.3f", float64(k.bootNS[i]-start)/1e9))
			}
		}
		at = append(at, strings.Join(words, " "))
	}
	return a, at, warned
}

func quick(name string) *fake { return &fake{name: name} }

// One reading of .9 s delays those after it by a tenth of the interval, once. It goes
// with the tick after, under its own stamp; when the source is quick for a while it is
// read in its turn again.
func TestSlowReadingHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		f := &fake{name: "f", takes: slow(2, 900*time.Millisecond)}
		a, at, warned := among(t, t.Context(), 16, s, quick("a"), f, quick("b"))
		want := []string{"0.000 0.000 0.001", "1.000 - 1.100"}
		for k := 2; k < 12; k++ { // begun when the tick before was done
			begun := fmt.Sprintf("%d.000", k-1)
			want = append(want, fmt.Sprintf("%d.000 %s %d.000", k, begun, k))
		}
		want = append(want, "12.000 11.000 12.000", "13.000 13.000 13.001", "14.000 14.000 14.001", "15.000 15.000 15.001")
		if !slices.Equal(at, want) {
			t.Errorf("read at\n%s\nwant\n%s", strings.Join(at, "\n"), strings.Join(want, "\n"))
		}
		if a.Missed != 0 || a.Late != 0 || a.LastSeq != 16 {
			t.Errorf("%+v", a)
		}
		if n := s.ticks[1].notes; !slices.Equal(n, []string{"failed load the reading that began 0.100 s before has not returned"}) {
			t.Errorf("notes %q", n)
		}
		if n := s.ticks[2].notes; len(n) > 0 {
			t.Errorf("the next: notes %q", n)
		}
		if len(warned) != 2 || !strings.Contains(warned[0], "f: a reading takes longer than 100ms: it is read apart") || warned[1] != "collector: f: is read among the others again" {
			t.Errorf("warned %q", warned)
		}
	})
}

// A source that is slow each time has a reading in each tick, a tick late.
func TestSourceThatIsAlwaysSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f", takes: func(int) (time.Duration, error) { return 600 * time.Millisecond, nil }}
		a, at, _ := among(t, t.Context(), 15, &sink{}, f, quick("b"))
		for k, got := range at {
			want := fmt.Sprintf("%d.000 %d.000", k-1, k)
			switch k {
			case 0:
				want = "- 0.100"
			case 1:
				want = "0.000 1.000"
			}
			if got != want {
				t.Errorf("tick %d: read at %s, want %s", k, got, want)
			}
		}
		if a.Missed != 0 || a.Late != 0 {
			t.Errorf("%+v", a)
		}
	})
}

// A source that hangs has no values until it returns, and holds up neither the others
// nor the end. That it hangs is said in each tick.
func TestSourceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		hangs := &fake{name: "f", takes: func(n int) (time.Duration, error) {
			if n == 3 {
				<-free
			}
			return 0, nil
		}}
		s := &sink{}
		a, at, _ := among(t, t.Context(), 8, s, hangs, quick("b"))
		want := []string{"0.000 0.000", "1.000 1.000", "- 2.100", "- 3.000", "- 4.000", "- 5.000", "- 6.000", "- 7.000"}
		if !slices.Equal(at, want) || a.Missed != 0 || a.LastSeq != 8 {
			t.Errorf("%+v, read at\n%s", a, strings.Join(at, "\n"))
		}
		if n := s.ticks[7].notes; !slices.Equal(n, []string{"failed load the reading that began 5.000 s before has not returned"}) {
			t.Errorf("notes %q", n)
		}
		close(free)
	})
}

// Two that hang one after the other cost each a tenth of one interval.
func TestTwoSourcesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		hang := func(n int) (time.Duration, error) {
			if n == 2 {
				<-free
			}
			return 0, nil
		}
		a, at, _ := among(t, t.Context(), 4, &sink{}, &fake{name: "f", takes: hang}, &fake{name: "g", takes: hang}, quick("b"))
		want := []string{"0.000 0.000 0.000", "- - 1.200", "- - 2.000", "- - 3.000"}
		if !slices.Equal(at, want) || a.Missed != 0 {
			t.Errorf("%+v, read at\n%s", a, strings.Join(at, "\n"))
		}
		close(free)
	})
}

// Many sources of some time each are not slow, though the tick is.
func TestManySourcesAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fakes []*fake
		for i := range 6 {
			fakes = append(fakes, &fake{name: fmt.Sprint("f", i), takes: func(int) (time.Duration, error) { return 70 * time.Millisecond, nil }})
		}
		_, at, warned := among(t, t.Context(), 3, &sink{}, fakes...)
		if at[2] != "2.000 2.070 2.140 2.210 2.280 2.350" || len(warned) > 0 {
			t.Errorf("read at %q, warned %q", at, warned)
		}
	})
}

// A reading that is slow and then fails is a gap with its cause, in the tick after.
func TestSlowReadingThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		_, at, warned := among(t, t.Context(), 4, s, &fake{name: "f", takes: func(n int) (time.Duration, error) {
			if n == 2 {
				return 500 * time.Millisecond, errors.New("broken")
			}
			return 0, nil
		}}, quick("b"))
		if want := []string{"0.000 0.000", "- 1.100", "- 2.000", "2.000 3.000"}; !slices.Equal(at, want) {
			t.Errorf("read at %q", at)
		}
		if n := s.ticks[2].notes; !slices.Equal(n, []string{"failed load broken"}) || s.ticks[2].failed != 1 {
			t.Errorf("notes %q, %d failed", n, s.ticks[2].failed)
		}
		if len(warned) != 2 || warned[1] != "collector: f: broken" {
			t.Errorf("warned %q", warned)
		}
	})
}

// The end does not wait for a source longer than a tick would.
func TestEndWhileASourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		ctx, stop := context.WithTimeout(t.Context(), 2010*time.Millisecond)
		defer stop()
		_, start := clock()
		a, at, _ := among(t, ctx, 0, &sink{}, &fake{name: "f", takes: func(n int) (time.Duration, error) {
			if n == 3 {
				<-free
			}
			return 0, nil
		}}, quick("b"))
		if _, now := clock(); now-start != 21e8 || a.LastSeq != 3 || at[2] != "- 2.100" {
			t.Errorf("%+v after %d ns, read at %q", a, now-start, at)
		}
		close(free)
	})
}

// The devices of a source that hangs stay those of its last reading, so that the ticks
// have one layout.
func TestHangingSourceKeepsItsDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		s := &layouts{}
		_, start := clock()
		x := &collector.Sampler{StartBootNS: start, Ticks: 4, Sink: s, Clock: clock, Sources: []collector.Source{&disks{hangs: func(n int) {
			if n == 3 {
				<-free
			}
		}}}}
		if _, err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{`["sda1"]`, `["sda2"]`, `["sda2"]`, `["sda2"]`}
		if !slices.Equal(s.devices, want) {
			t.Errorf("devices %q, want %q", s.devices, want)
		}
		close(free)
	})
}

// disks is a source of table disk with another device at each reading.
type disks struct {
	n     int
	hangs func(n int)
}

func (d *disks) Name() string             { return "disks" }
func (d *disks) Tables() []*schemas.Table { return []*schemas.Table{&schemas.Disk} }
func (d *disks) Close() error             { return nil }

func (d *disks) Sample(blocks []schemas.Block) error {
	d.n++
	blocks[0].SetDevice(0, fmt.Appendf(nil, "sda%d", d.n))
	blocks[0].Resize(1)
	d.hangs(d.n)
	return nil
}

// layouts keeps the devices of each tick's first block.
type layouts struct{ devices []string }

func (l *layouts) Tick(t *schemas.Tick) error {
	l.devices = append(l.devices, fmt.Sprintf("%q", t.Blocks[0].Devices))
	return nil
}
