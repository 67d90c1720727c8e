package procfs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

func TestTimeInState(t *testing.T) {
	for _, tt := range []struct {
		text            string
		kHzTicks, ticks uint64
		why             string
	}{
		{"2450000 100\n1500000 300\n", 2450000*100 + 1500000*300, 400, ""},
		{"800000 0\n", 0, 0, ""},
		{"", 0, 0, "no whole line"},
		{"2450000 100\n1500000 30", 0, 0, "cut off"},
		{"2450000\n", 0, 0, "missing"},
		{"2450000 x\n", 0, 0, "not a number"},
		{"2450000 5 6\n", 0, 0, "not a number"},
		{"-5 5\n", 0, 0, "not a number"},
		{"18446744073709551615 2\n", 0, 0, "out of range"},
		{"1000000000000 1000000\n1000000000000 1000000\n", 0, 0, "out of range"},
		{"0 18446744073709551615\n0 1\n", 0, 0, "out of range"},
	} {
		if a, b, f := timeInState([]byte(tt.text)); a != tt.kHzTicks || b != tt.ticks || f.why != tt.why {
			t.Errorf("%q: %d, %d, %q, want %d, %d, %q", tt.text, a, b, f.why, tt.kHzTicks, tt.ticks, tt.why)
		}
	}
}

// The derived metric is sar's wghMHz: the mean of frequencies by the time at each, over
// any window.
func TestWeightedFrequency(t *testing.T) {
	m, ok := schemas.CPUFreq.Metric("weighted_hz")
	if !ok || !slices.Equal(m.Plus, []string{"stat_cycles"}) || !slices.Equal(m.Per, []string{"stat_ticks"}) {
		t.Fatalf("%+v", m)
	}
	b := schemas.Block{Table: &schemas.CPUFreq}
	b.Resize(2)
	for row, text := range []string{"2400000 1000\n1200000 5000\n", "2400000 1030\n1200000 5010\n"} {
		if f := fillTimeInState(&cell{rows: []int{row}, text: []byte(text)}, &b); f.why != "" {
			t.Fatal(f.why)
		}
	}
	n := len(b.Table.Columns)
	hz := m.Factor * float64(b.Values[n+statCycles]-b.Values[statCycles]) / float64(b.Values[n+statTicks]-b.Values[statTicks])
	if hz != (2.4e9*30+1.2e9*10)/40 {
		t.Errorf("%g Hz", hz)
	}
}

func TestCPUList(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{"0-3,8", "[0 1 2 3 8]"}, {"0", "[0]"}, {"", "[]"}, {"0,2-2", "[0 2]"},
		{"3-1", "out of range"}, {"0-99999999", "out of range"}, {"x", "not a number"}, {"0-", "missing"}, {"1-2-3", "not a number"}, {" 1", "not a number"},
	} {
		ids, f := cpuList([]byte(tt.text))
		got := fmt.Sprint(ids)
		if f.why != "" {
			got = f.why
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestFillCpuinfo(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		ids        []int
		want       []int64 // MHz times 1000 by row, 0: null
		why        string
	}{
		{"each CPU", "processor\t: 0\ncpu MHz\t\t: 2793.438\n\nprocessor\t: 1\ncpu MHz\t\t: 800.000\n", []int{0, 1}, []int64{2793438, 800000}, ""},
		{"holes", "processor\t: 0\ncpu MHz\t\t: 1.001\nprocessor\t: 3\ncpu MHz\t\t: 3.003\nprocessor\t: 9\ncpu MHz\t\t: 9.009\n", []int{0, 2, 9}, []int64{1001, 0, 9009}, ""},
		{"no frequency", "processor\t: 0\nBogoMIPS\t: 100.00\n", []int{0}, []int64{0}, ""},
		{"before any processor", "cpu MHz\t\t: 1.001\n", []int{0}, []int64{0}, ""},
		{"not a frequency", "processor\t: 0\ncpu MHz\t\t: 2793.43\n", []int{0}, []int64{0}, "not a number with three decimals"},
		{"not a processor", "processor\t: x\n", []int{0}, []int64{0}, "not a number"},
		{"too large", "processor\t: 0\ncpu MHz\t\t: 99999999999999.000\n", []int{0}, []int64{0}, "out of range"},
		{"cut off", "processor\t: 0\ncpu MHz\t\t: 2793.4", []int{0}, []int64{0}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.CPUFreq}
			b.Resize(len(tt.ids))
			if f := fillCpuinfo(tt.ids)(&cell{text: []byte(tt.text)}, &b); f.why != tt.why {
				t.Errorf("%q, want %q", f.why, tt.why)
			}
			for row, want := range tt.want {
				i := row*len(b.Table.Columns) + curHz
				if b.Values[i] != 1000*want || b.Known[i] != (want != 0) {
					t.Errorf("row %d: %d, want %d", row, b.Values[i], 1000*want)
				}
			}
		})
	}
}

// cpuinfo writes /proc/cpuinfo of n CPUs, which run at 2000.000, 2000.001, ... MHz.
func cpuinfo(tb testing.TB, root string, n int) {
	tb.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "processor\t: %d\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 2000.%03d\nflags\t\t: %s\n\n", i, i, strings.Repeat("feature ", 150))
	}
	write(tb, text.String(), root, "proc/cpuinfo")
}

// Without cpufreq the frequency is that of /proc/cpuinfo, of many CPUs only every
// lookEvery.
func TestFrequencyWithoutCpufreq(t *testing.T) {
	for _, tt := range []struct {
		cpus     int
		eachTick bool
	}{{8, true}, {256, false}} {
		root := machine(t, "intel-2s")
		remove(t, root, "sys/devices/system/cpu")
		write(t, fmt.Sprintf("0-%d\n", tt.cpus-1), root, "sys/devices/system/cpu/online")
		cpuinfo(t, root, tt.cpus)
		h := newHost(root, Options{})
		reads := 0
		h.open = func(path string) (handle, error) {
			f, err := openFile(path)
			if filepath.Base(path) == "cpuinfo" {
				return &counted{f, &reads}, err
			}
			return f, err
		}
		s := open(t, h)
		got := of("cpufreq", s.tick(0))
		want := make(map[string]int64)
		for i := range tt.cpus {
			want[fmt.Sprintf("%d/cur_hz", i)] = 2e9 + int64(i)*1000
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d CPUs: %q", tt.cpus, differences(got, want))
		}
		reads = 0
		for range 10 {
			s.tick(lookEvery / 10)
		}
		if tt.eachTick && reads != 10 || !tt.eachTick && reads != 1 {
			t.Errorf("%d CPUs: read %d times in 10 ticks", tt.cpus, reads)
		}
		write(t, fmt.Sprintf("0-%d\n", tt.cpus-2), root, "sys/devices/system/cpu/online") // one goes
		if got := of("cpufreq", s.tick(lookEvery)); len(got) != tt.cpus-1 {
			t.Errorf("%d CPUs: %d after one went", tt.cpus, len(got))
		}
		reads = 0
		for range 9 {
			s.tick(lookEvery / 10)
		}
		if tt.eachTick && reads != 9 || !tt.eachTick && reads != 0 {
			t.Errorf("%d CPUs: read %d times in 9 ticks after one went", tt.cpus, reads)
		}
		if cause := s.absent["cpufreq/scaling_cur_freq"]; !strings.HasSuffix(cause, "does not exist: cur_hz is cpu MHz of "+root+"/proc/cpuinfo") {
			t.Errorf("cause %q", cause)
		}
	}
}

// counted counts whole readings.
type counted struct {
	handle
	n *int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	*c.n++
	return c.handle.ReadAt(p, off)
}

// Kernels that wait at each CPU's scaling_cur_freq are not asked for it.
func TestFrequencyOfSlowKernels(t *testing.T) {
	for _, tt := range []struct {
		name     string
		takes    []time.Duration // the first, second, ... reading
		cpuinfo  bool            // has frequencies
		fallback bool
	}{
		{"fast", []time.Duration{0, 0, 0, 0}, true, false},
		{"slow", []time.Duration{20 * time.Millisecond, 10 * time.Millisecond, 12 * time.Millisecond}, true, true},
		{"slow, and nothing else", []time.Duration{20 * time.Millisecond, 10 * time.Millisecond, 12 * time.Millisecond}, false, false},
		{"held up once", []time.Duration{20 * time.Millisecond, 0, 12 * time.Millisecond}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := machine(t, "intel-2s")
			if tt.cpuinfo {
				cpuinfo(t, root, 8)
			}
			h := newHost(root, Options{})
			now, n := time.Unix(0, 0), 0
			h.now = func() time.Time { return now }
			h.openSys = func(path string) (handle, error) {
				if filepath.Base(path) == "scaling_cur_freq" && n < len(tt.takes) {
					now = now.Add(tt.takes[n])
					n++
				}
				return openSysFile(path)
			}
			s := open(t, h)
			want := int64(3100000000)
			if tt.fallback {
				want = 2000000000
			}
			got := s.tick(0)
			if got["cpufreq/0/cur_hz"] != want || got["cpufreq/0/max_hz"] != 3700000000 {
				t.Errorf("%d Hz, want %d", got["cpufreq/0/cur_hz"], want)
			}
			if cause := s.absent["cpufreq/scaling_cur_freq"]; (cause != "") != tt.fallback {
				t.Errorf("cause %q", cause)
			}
		})
	}
}

// Neither cpufreq nor a frequency in cpuinfo, as in a guest on ARM.
func TestNoFrequency(t *testing.T) {
	root := machine(t, "arm-scpi")
	remove(t, root, "sys/devices/system/cpu/cpufreq")
	s := open(t, newHost(root, Options{}))
	if got := of("cpufreq", s.tick(0)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for _, key := range []string{"cpufreq", "cpufreq/scaling_cur_freq"} {
		if s.absent[key] == "" {
			t.Errorf("absent %q", s.absent)
		}
	}
}

// A CPU that goes offline takes its row along, and its package's throttling goes on on
// the next CPU's row.
func TestCPUGoesOffline(t *testing.T) {
	root := machine(t, "intel-2s")
	s := open(t, newHost(root, Options{}))
	before := of("cpufreq", s.tick(0))
	dir := filepath.Join(root, "sys/devices/system/cpu")
	write(t, "1-7\n", dir, "online")
	remove(t, dir, "cpu0")
	remove(t, dir, "cpufreq/policy0")
	for cpu, core := range map[string]string{"1": "1,5", "4": "4", "5": "1,5"} {
		write(t, core+"\n", dir, "cpu"+cpu, "topology/thread_siblings_list")
		write(t, "1,4-5\n", dir, "cpu"+cpu, "topology/core_siblings_list")
	}
	got := of("cpufreq", s.tick(lookEvery))
	want := maps.Clone(before)
	for k, v := range before {
		if column, ok := strings.CutPrefix(k, "0/"); ok {
			delete(want, k)
			if strings.HasPrefix(column, "package") {
				want["1/"+column] = v
			}
			if strings.HasPrefix(column, "core") {
				want["4/"+column] = v
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q", differences(got, want))
	}
}
