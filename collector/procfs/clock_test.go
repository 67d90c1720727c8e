package procfs

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

func TestFillClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		t    unix.Timex
		want string // offset, frequency, max and estimated error, synchronised, TAI
	}{
		{"nobody disciplines it", unix.Timex{Tick: 10000, Maxerror: 16000000, Esterror: 16000000, Status: unix.STA_UNSYNC}, "0 0 16000000 16000000 0 -"},
		{"in microseconds", unix.Timex{Tick: 10000, Offset: -250, Freq: -12 << 16, Maxerror: 4500, Esterror: 12, Status: 1, Tai: 37}, "-250000 -786432 4500 12 1 37"},
		{"in nanoseconds", unix.Timex{Tick: 10000, Offset: -250, Freq: 1, Maxerror: 1, Esterror: 2, Status: unix.STA_NANO}, "-250 1 1 2 1 -"},
		{"by the tick", unix.Timex{Tick: 9999, Freq: 3 << 15, Status: unix.STA_NANO}, "0 -6455296 0 0 1 -"}, // 1.5 - 100 ppm
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Clock}
			b.Resize(1)
			if fillClock(&b, &tt.t); row(&b, 0) != tt.want {
				t.Errorf("%s, want %s", row(&b, 0), tt.want)
			}
		})
	}
}

// clockHost is a clock source whose clocks are set by hand.
func clockHost(t *testing.T, root string) (s *clockSource, boot, mono *int64, absent map[string]string) {
	boot, mono, absent = new(int64), new(int64), make(map[string]string)
	*boot, *mono = 100*second, 100*second
	s = newClockSource(newHost(root, Options{}), func() (wallNS, bootNS int64) { return 1e18, *boot }, absent)
	s.now = func(clock int32) int64 {
		if clock == unix.CLOCK_BOOTTIME {
			return *boot
		}
		return *mono
	}
	s.adjtimex = func(x *unix.Timex) (int, error) {
		x.Tick, x.Maxerror = 10000, 5
		return 0, nil
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, boot, mono, absent
}

// details takes a tick and returns the events' "reason: detail".
func details(t *testing.T, s *clockSource, b []schemas.Block) (out []string) {
	t.Helper()
	if err := s.Sample(b); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Notes(nil) {
		if r.BootNS != b[0].BootNS {
			t.Errorf("stamped %d, the tick %d", r.BootNS, b[0].BootNS)
		}
		out = append(out, r.Cells[r.Table.Column("reason")].Text+": "+r.Cells[r.Table.Column("detail")].Text)
	}
	return out
}

func TestSuspend(t *testing.T) {
	s, boot, mono, _ := clockHost(t, machine(t, "laptop"))
	b := newBlocks(s)
	for _, tt := range []struct {
		name       string
		boot, mono int64 // how far they went
		want       []string
	}{
		{"the first tick", 0, 0, nil},
		{"a tick", second, second, nil},
		{"a late tick", 90 * second, 90 * second, nil},
		{"too short to tell", second + 50e6, second, nil},
		{"a suspend", 63 * second, second / 2, []string{"suspend: the host was suspended for 62.500 s"}},
		{"only once", second, second, nil},
		{"a short one", second + 51e6, second, []string{"suspend: the host was suspended for 0.051 s"}},
	} {
		*boot, *mono = *boot+tt.boot, *mono+tt.mono
		if got := details(t, s, b); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Being held up between two readings of clocks is no suspend.
func TestHeldUpBetweenClocks(t *testing.T) {
	s, _, _, _ := clockHost(t, machine(t, "laptop"))
	b := newBlocks(s)
	var now int64
	for before := range 4 { // which reading of the three
		for tick, held := range []bool{true, false, true, true, false} {
			call := 0
			s.now = func(int32) int64 {
				if call++; held && call == before {
					now += 200e6
				}
				return now
			}
			now += second
			if got := details(t, s, b); len(got) != 0 {
				t.Errorf("held up before reading %d, tick %d: %q", before, tick, got)
			}
		}
	}
}

func TestClockSourceChanges(t *testing.T) {
	root := machine(t, "intel-2s")
	s, _, _, absent := clockHost(t, root)
	b := newBlocks(s)
	file := filepath.Join(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"tsc\n", nil}, {"hpet\n", []string{"clock-source: the kernel counts time by hpet, before by tsc"}}, {"hpet\n", nil},
		{"\n", nil}, {"tsc\n", []string{"clock-source: the kernel counts time by tsc, before by hpet"}},
	} {
		write(t, tt.text, file)
		if got := details(t, s, b); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	if len(absent) != 0 {
		t.Errorf("absent %q", absent)
	}
}

func TestNoClockSource(t *testing.T) {
	root := t.TempDir()
	s, _, _, absent := clockHost(t, root)
	want := map[string]string{"clock/clock_source": "open " + root + "/sys/devices/system/clocksource/clocksource0/current_clocksource: no such file or directory"}
	if !maps.Equal(absent, want) {
		t.Errorf("absent %q", absent)
	}
	b := newBlocks(s)
	if got := details(t, s, b); len(got) != 0 || row(&b[0], 0) != "0 0 5 0 1 -" {
		t.Errorf("%q %s", got, row(&b[0], 0))
	}
}

// Where adjtimex is refused (a seccomp filter) the cells are null, which is told once.
func TestAdjtimexRefused(t *testing.T) {
	s, _, _, _ := clockHost(t, machine(t, "laptop"))
	s.adjtimex = func(*unix.Timex) (int, error) { return 0, unix.EPERM }
	b := newBlocks(s)
	for _, want := range [][]string{{"absent: adjtimex: operation not permitted"}, nil} {
		if got := details(t, s, b); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := row(&b[0], 0); got != "- - - - - -" {
			t.Errorf("%s", got)
		}
	}
}

// This host's clock, beside its own words.
func TestClockLive(t *testing.T) {
	s := newClockSource(newHost("/", Options{}), collector.Now, make(map[string]string))
	defer s.Close()
	b := newBlocks(s)
	if got := details(t, s, b); len(got) != 0 {
		t.Errorf("%q", got)
	}
	got := cells(&b[0])
	var x unix.Timex
	if _, err := unix.Adjtimex(&x); err != nil {
		t.Fatal(err)
	}
	if want := int64(x.Freq) + (int64(x.Tick)-10000)*100*65536; got["clock//frequency_ppm"] != want || len(got) < 5 {
		t.Errorf("%v, want frequency %d", got, want)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Sample(b); err != nil {
			t.Fatal(err)
		}
		s.Notes(nil)
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}
