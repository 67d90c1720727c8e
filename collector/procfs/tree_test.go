package procfs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// watched is a host whose readings of sysfs are counted, and may be made to fail.
type watched struct {
	*host
	fail  map[string]error // by the end of the path
	reads map[string]int   // by path below the root
	opens map[string]int
}

type watchedFile struct {
	handle
	w    *watched
	path string
}

func watchHost(root string) *watched {
	w := &watched{newHost(root, Options{}), make(map[string]error), make(map[string]int), make(map[string]int)}
	w.openSys = func(path string) (handle, error) {
		short := strings.TrimPrefix(path, root+"/")
		w.opens[short]++
		f, err := openSysFile(path)
		if err != nil {
			return nil, err
		}
		return &watchedFile{f, w, short}, nil
	}
	return w
}

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	f.w.reads[f.path]++
	for end, err := range f.w.fail {
		if strings.HasSuffix(f.path, end) {
			return 0, err
		}
	}
	return f.handle.ReadAt(p, off)
}

func write(tb testing.TB, text string, path ...string) {
	tb.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, path ...string) {
	tb.Helper()
	if err := os.RemoveAll(filepath.Join(path...)); err != nil {
		tb.Fatal(err)
	}
}

// missing are the keys of a that b doesn't have.
func without(a, b map[string]int64) (out []string) {
	for k := range a {
		if _, ok := b[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// A sensor that can't be read is null, whatever the driver says, and told once; all else
// of its table is there.
func TestSensorFails(t *testing.T) {
	const key = "temperature/coretemp-isa-0001/Core 0/temp_degc"
	root := machine(t, "intel-2s")
	for _, err := range []error{unix.EIO, unix.ENODATA, unix.EAGAIN, unix.EINVAL, unix.ENODEV, unix.ETIMEDOUT, unix.EOPNOTSUPP} {
		t.Run(err.Error(), func(t *testing.T) {
			w := watchHost(root)
			s := open(t, w.host)
			whole := s.tick(0)
			w.fail["hwmon1/temp2_input"] = err
			for range 3 {
				if got := without(whole, s.tick(1e9)); !slices.Equal(got, []string{key}) {
					t.Fatalf("null: %q", got)
				}
			}
			want := []string{"absent temp_degc coretemp-isa-0001/Core 0: read " + filepath.Join(w.sys, "class/hwmon/hwmon1/temp2_input") + ": " + err.Error()}
			if got := s.notes("temperature"); !slices.Equal(got, want) {
				t.Errorf("notes %q", got)
			}
			clear(w.fail)
			if got := s.tick(lookEvery); !maps.Equal(got, whole) {
				t.Errorf("afterwards: %q", differences(got, whole))
			}
			w.fail["hwmon1/temp2_input"] = err
			s.tick(1e9)
			if got := s.notes("temperature"); len(got) != 0 {
				t.Errorf("told again: %q", got)
			}
			if n := w.opens["sys/class/hwmon/hwmon2/temp1_input"]; n != 1 {
				t.Errorf("a sensor that did not fail was opened %d times", n)
			}
		})
	}
}

// A text that is no number costs its cell and is counted.
func TestSensorSaysNonsense(t *testing.T) {
	root := machine(t, "intel-2s")
	s := open(t, newHost(root, Options{}))
	whole := s.tick(0)
	write(t, "<unknown>\n", root, "sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq")
	if got := without(whole, s.tick(1e9)); !slices.Equal(got, []string{"cpufreq/2/cur_hz"}) {
		t.Errorf("null: %q", got)
	}
	n, example := s.source("cpufreq").(*tree).Skipped()
	if n != 1 || example != `procfs: sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq: line 1: field "<unknown>": not a number` {
		t.Errorf("%d: %s", n, example)
	}
}

// A tick costs nothing while the devices stay, whether sensors fail or not, and whether
// it is one that looks for devices.
func TestNoAllocationATickOfHardware(t *testing.T) {
	for name := range machines {
		w := watchHost(machine(t, name))
		s := open(t, w.host)
		s.tick(0)
		w.fail["temp1_input"] = unix.ENODATA
		w.fail["speed"] = unix.EINVAL
		write(t, "x\n", w.sys, "devices/system/cpu/cpufreq/policy0/scaling_cur_freq")
		s.tick(1e9)
		s.tick(1e9) // devices are looked for
		for i, source := range s.sources {
			var notes []schemas.Row
			n := testing.AllocsPerRun(10, func() {
				s.ns += lookEvery / 2
				if err := source.Sample(s.blocks[i]); err != nil {
					t.Fatal(err)
				}
				if source, ok := source.(*tree); ok {
					notes = source.Notes(notes[:0])
				}
			})
			if n != 0 {
				t.Errorf("%s: %s: %v allocations a tick", name, source.Name(), n)
			}
		}
	}
}

// Devices that come are seen within lookEvery, those that go too, and the lists of the
// ticks before stay as they were.
func TestHotplug(t *testing.T) {
	const (
		nvme   = "temperature/nvme-virtual-0/Composite/temp_degc"
		mouse  = "usb/1-7 046d:c077 Mouse/max_power_a"
		second = "battery/BAT2/capacity_pct"
		core   = "temperature/coretemp-isa-0000/Core 2/temp_degc"
	)
	root := machine(t, "laptop")
	s := open(t, newHost(root, Options{}))
	before := s.tick(0)
	hwmon, usb, power := s.blocks[slices.Index(s.sources, s.source("temperature"))][0].Devices, s.blocks[slices.Index(s.sources, s.source("usb"))][0].Devices, len(before)
	held := slices.Concat(hwmon, usb)

	dir := filepath.Join(root, "sys/class")
	write(t, "nvme\n", dir, "hwmon/hwmon9/name")
	write(t, "31850\n", dir, "hwmon/hwmon9/temp1_input")
	write(t, "Composite\n", dir, "hwmon/hwmon9/temp1_label")
	write(t, "67000\n", dir, "hwmon/hwmon0/temp4_input") // a CPU that went online
	write(t, "Core 2\n", dir, "hwmon/hwmon0/temp4_label")
	write(t, "Battery\n", dir, "power_supply/BAT2/type")
	write(t, "55\n", dir, "power_supply/BAT2/capacity")
	write(t, "046d\n", root, "sys/bus/usb/devices/1-7/idVendor")
	write(t, "c077\n", root, "sys/bus/usb/devices/1-7/idProduct")
	write(t, "Mouse\n", root, "sys/bus/usb/devices/1-7/product")
	write(t, "100mA\n", root, "sys/bus/usb/devices/1-7/bMaxPower")
	if got := s.tick(lookEvery / 2); len(got) != power {
		t.Errorf("within the time: %q", without(got, before))
	}
	got := s.tick(lookEvery / 2)
	if d := without(got, before); !slices.Equal(d, []string{second, core, nvme, mouse}) {
		t.Errorf("came: %q", d)
	}
	for k, want := range map[string]int64{nvme: 31850, core: 67000, second: 55, mouse: 100} {
		if got[k] != want {
			t.Errorf("%s: %d, want %d", k, got[k], want)
		}
	}
	if !slices.Equal(held, slices.Concat(hwmon, usb)) {
		t.Error("the devices of an earlier tick changed")
	}

	write(t, "64000\n", dir, "hwmon/hwmon0/temp5_input") // within a chip that is there
	if got := s.tick(lookEvery)["temperature/coretemp-isa-0000/temp5/temp_degc"]; got != 64000 {
		t.Errorf("a sensor of a chip: %d", got)
	}

	remove(t, dir, "hwmon/hwmon9")
	remove(t, dir, "hwmon/hwmon0/temp5_input")
	remove(t, dir, "hwmon/hwmon0/temp4_input")
	remove(t, dir, "hwmon/hwmon0/temp4_label")
	remove(t, dir, "power_supply/BAT2")
	remove(t, root, "sys/bus/usb/devices/1-7")
	if got := s.tick(lookEvery); !maps.Equal(got, before) {
		t.Errorf("afterwards: %q", differences(got, before))
	}
	for _, source := range s.sources {
		if tree, ok := source.(*tree); ok {
			if n, example := tree.Skipped(); n != 0 {
				t.Error(example)
			}
			if got := s.notes(tree.Name()); len(got) != 0 {
				t.Error(got)
			}
		}
	}
}

// A file that sysfs took away is looked for at the next tick, not after lookEvery.
func TestUnplugged(t *testing.T) {
	w := watchHost(machine(t, "amd-epyc"))
	s := open(t, w.host)
	before := s.tick(0)
	remove(t, w.sys, "class/hwmon/hwmon4")
	w.fail["hwmon4/temp1_input"] = unix.ENODEV
	s.tick(1e9)
	got := s.tick(1e9)
	for _, k := range without(before, got) {
		if !strings.HasPrefix(k, "temperature/drivetemp-scsi-8-0/temp1/") {
			t.Errorf("%s is null", k)
		}
	}
	if i := slices.Index(s.sources, s.source("temperature")); slices.Contains(s.blocks[i][0].Devices, "drivetemp-scsi-8-0/temp1") {
		t.Errorf("devices %q", s.blocks[i][0].Devices)
	}
}

// When the last device goes there are no rows.
func TestAllUnplugged(t *testing.T) {
	root := machine(t, "laptop")
	s := open(t, newHost(root, Options{}))
	s.tick(0)
	remove(t, root, "sys/class/power_supply")
	if got := of("battery", s.tick(lookEvery)); len(got) != 0 {
		t.Errorf("batteries %v", got)
	}
}

// Limits are read every lookEvery only.
func TestLimitsAreReadSeldom(t *testing.T) {
	w := watchHost(machine(t, "intel-2s"))
	s := open(t, w.host)
	s.tick(0)
	clear(w.reads)
	for range 10 {
		s.tick(lookEvery / 10)
	}
	for file, want := range map[string]int{"sys/class/hwmon/hwmon0/temp1_input": 10, "sys/class/hwmon/hwmon0/temp1_crit": 1,
		"sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": 10, "sys/class/net/lo/operstate": 10, "sys/bus/usb/devices/1-3/bMaxPower": 1} {
		if got := w.reads[file]; got != want {
			t.Errorf("%s was read %d times, want %d", file, got, want)
		}
	}
}

// What a tick of the two-socket server costs in readings; each is one system call.
func TestReadingsATick(t *testing.T) {
	w := watchHost(machine(t, "intel-2s"))
	s := open(t, w.host)
	s.tick(0)
	for _, tt := range []struct {
		afterNS int64
		want    int
	}{{1e9, 88}, {lookEvery, 150}} {
		clear(w.reads)
		s.tick(tt.afterNS)
		n := 0
		for _, reads := range w.reads {
			n += reads
		}
		if n != tt.want {
			t.Errorf("%d readings %s after the last tick, want %d", n, time.Duration(tt.afterNS), tt.want)
		}
	}
}

// What nobody may read is absent, with the cause.
func TestNotPermitted(t *testing.T) {
	h := newHost(machine(t, "amd-epyc"), Options{})
	h.openSys = func(path string) (handle, error) {
		if strings.HasSuffix(path, "energy_uj") || strings.HasSuffix(path, "energy1_input") || strings.HasSuffix(path, "energy2_input") {
			return nil, &os.PathError{Op: "open", Path: path, Err: unix.EACCES}
		}
		return openSysFile(path)
	}
	s := open(t, h)
	if got := of("energy", s.tick(0)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := s.absent["energy"]; !strings.HasPrefix(got, "open "+h.sys) || !strings.HasSuffix(got, ": permission denied") {
		t.Errorf("absent: %q", got)
	}
}

// A file longer than the buffer is read again, with a larger one.
func TestLongFile(t *testing.T) {
	root := machine(t, "arm-scpi")
	write(t, strings.Repeat("1000000 1\n", 200), root, "sys/devices/system/cpu/cpufreq/policy0/stats/time_in_state")
	s := open(t, newHost(root, Options{}))
	if got := s.tick(0)["cpufreq/3/stat_ticks"]; got != 200 {
		t.Errorf("%d ticks", got)
	}
}

// Two names of devices that are the same become different.
func TestUniqueNames(t *testing.T) {
	l := layout{names: []string{"a", "b", "a"}, alt: []string{"x", "y", "z"}}
	if l.unique(); !slices.Equal(l.names, []string{"a x", "b", "a z"}) {
		t.Errorf("%q", l.names)
	}
}

// What a host's sources hold open is given back, also after devices came and went.
func TestCloseGivesAllBack(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	root := machine(t, "laptop")
	before := files()
	sources, _, err := Sources(root, func() (wallNS, bootNS int64) { return 0, 0 }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	for _, s := range sources {
		if s, ok := s.(*tree); ok {
			s.clock = func() (wallNS, bootNS int64) { return now, now }
		}
	}
	for _, change := range []func(){func() {}, func() { remove(t, root, "sys/class/hwmon/hwmon0") }, func() { write(t, "Battery\n", root, "sys/class/power_supply/BAT3/type") }} {
		change()
		now += lookEvery
		for _, s := range sources {
			if err := s.Sample(newBlocks(s)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := files(); n < before+50 {
		t.Errorf("%d files open, %d before: nothing stays open", n, before)
	}
	for _, s := range sources {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := files(); n != before {
		t.Errorf("%d files open, %d before", n, before)
	}
}
