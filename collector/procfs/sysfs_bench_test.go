package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// bigMachine writes a server of 256 CPUs in two packages, with all that cpufreq and
// thermal_throttle show, a sensor a core, 8 nodes and 40 interfaces. Its files cost less
// than the kernel's: they are not made at each reading.
func bigMachine(tb testing.TB) string {
	root := tb.TempDir()
	const cpus, cores = 256, 128
	dir := filepath.Join(root, "sys/devices/system/cpu")
	write(tb, fmt.Sprintf("0-%d\n", cpus-1), dir, "online")
	var states strings.Builder
	for khz := 3500; khz >= 800; khz -= 100 {
		fmt.Fprintf(&states, "%d000 %d\n", khz, 1000000+khz)
	}
	for i := range cpus {
		cpu, policy := filepath.Join(dir, fmt.Sprintf("cpu%d", i)), filepath.Join(dir, fmt.Sprintf("cpufreq/policy%d", i))
		core := i % cores
		package0 := core / (cores / 2) * (cores / 2)
		write(tb, fmt.Sprintf("%d,%d\n", core, core+cores), cpu, "topology/thread_siblings_list")
		write(tb, fmt.Sprintf("%d-%d,%d-%d\n", package0, package0+cores/2-1, cores+package0, cores+package0+cores/2-1), cpu, "topology/core_siblings_list")
		for _, file := range []string{"core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count", "package_throttle_total_time_ms"} {
			write(tb, fmt.Sprintf("%d\n", i), cpu, "thermal_throttle", file)
		}
		for _, file := range []string{"scaling_cur_freq", "scaling_min_freq", "scaling_max_freq"} {
			write(tb, fmt.Sprintf("%d\n", 2000000+i), policy, file)
		}
		write(tb, states.String(), policy, "stats/time_in_state")
		symlink(tb, "../cpufreq/"+filepath.Base(policy), cpu, "cpufreq")
	}
	for chip := range 2 {
		hwmon := filepath.Join(root, fmt.Sprintf("sys/class/hwmon/hwmon%d", chip))
		write(tb, fmt.Sprintf("coretemp%d\n", chip), hwmon, "name")
		for i := range cores / 2 {
			for _, file := range []string{"input", "max", "crit"} {
				write(tb, "51000\n", hwmon, fmt.Sprintf("temp%d_%s", i+1, file))
			}
			write(tb, fmt.Sprintf("Core %d\n", i), hwmon, fmt.Sprintf("temp%d_label", i+1))
		}
	}
	fixture := machine(tb, "intel-2s")
	for i := range 8 {
		for _, file := range []string{"numastat", "meminfo"} {
			text, err := os.ReadFile(filepath.Join(fixture, "sys/devices/system/node/node0", file))
			if err != nil {
				tb.Fatal(err)
			}
			write(tb, string(text), root, fmt.Sprintf("sys/devices/system/node/node%d", i), file)
		}
	}
	net := "Inter-|\n face |\n"
	for i := range 40 {
		net += fmt.Sprintf("  eth%d: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", i)
		for file, text := range map[string]string{"carrier_changes": "3", "operstate": "up", "mtu": "1500", "speed": "25000", "duplex": "full"} {
			write(tb, text+"\n", root, "sys/class/net", fmt.Sprintf("eth%d", i), file)
		}
	}
	write(tb, net, root, "proc/net/dev")
	return root
}

// A tick of a big machine: all values are there, and it allocates nothing.
func TestBigMachine(t *testing.T) {
	s := open(t, newHost(bigMachine(t), Options{}))
	got := s.tick(0)
	for key, want := range map[string]int64{"cpufreq/255/cur_hz": 2000255000, "cpufreq/64/package_throttles": 64, "cpufreq/127/core_throttle_ns": 127e6,
		"temperature/coretemp1-virtual-0/Core 63/temp_degc": 51000, "numa/7/numa_hit": 4812203411, "net/eth39/speed_bit_per_s": 25000e6} {
		if got[key] != want {
			t.Errorf("%s: %d, want %d", key, got[key], want)
		}
	}
	if n := len(of("cpufreq", got)); n != 256*5+128*2+2*2 {
		t.Errorf("%d values of cpufreq", n)
	}
	for i, source := range s.sources {
		if n := testing.AllocsPerRun(5, func() {
			s.ns += lookEvery / 2
			if err := source.Sample(s.blocks[i]); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a tick", source.Name(), n)
		}
	}
}

// BenchmarkHardware is a tick, one second after the last.
func BenchmarkHardware(b *testing.B) {
	roots := map[string]string{"live": "/", "big": bigMachine(b)}
	for name := range machines {
		roots[name] = machine(b, name)
	}
	for name, root := range roots {
		s := open(b, newHost(root, Options{}))
		s.tick(0)
		tick := func(b *testing.B, i int) {
			if err := s.sources[i].Sample(s.blocks[i]); err != nil {
				b.Fatal(err)
			}
		}
		for i, source := range s.sources {
			b.Run(name+"/"+source.Name(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.ns += second
					tick(b, i)
				}
			})
		}
		b.Run(name+"/all", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.ns += second
				for i := range s.sources {
					tick(b, i)
				}
			}
		})
	}
}

// BenchmarkCpuinfo parses the text of 256 CPUs, which the kernel takes some milliseconds
// to write.
func BenchmarkCpuinfo(b *testing.B) {
	root := b.TempDir()
	cpuinfo(b, root, 256)
	text, err := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	if err != nil {
		b.Fatal(err)
	}
	ids, _ := cpuList([]byte("0-255"))
	fill := fillCpuinfo(ids)
	block := schemas.Block{Table: &schemas.CPUFreq}
	block.Resize(256)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if f := fill(&cell{text: text}, &block); f.why != "" {
			b.Fatal(f.why)
		}
	}
}
