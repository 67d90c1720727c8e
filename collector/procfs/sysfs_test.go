package procfs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// machines are the fixtures of /sys, and their chips as sensors 3.6.0 names them when the
// fixture is mounted over /sys; "-" for those that another source reads.
var machines = map[string]map[string]string{
	"intel-2s": {"hwmon0": "coretemp-isa-0000", "hwmon1": "coretemp-isa-0001", "hwmon2": "nvme-pci-5e00", "hwmon3": "mlx5-pci-3b00", "hwmon4": "mlx5-pci-3b01",
		"hwmon5": "power_meter-acpi-0", "hwmon6": "power_meter-acpi-0", "hwmon7": "nct6779-isa-0290", "hwmon8": "-"},
	"amd-epyc": {"hwmon0": "k10temp-pci-00c3", "hwmon1": "k10temp-pci-00cb", "hwmon2": "spd5118-i2c-3-50", "hwmon3": "spd5118-i2c-3-51", "hwmon4": "drivetemp-scsi-8-0",
		"hwmon5": "amd_energy-isa-0000"},
	"arm-scpi": {"hwmon0": "scpi_sensors-isa-0000"},
	"laptop": {"hwmon0": "coretemp-isa-0000", "hwmon1": "thinkpad-isa-0000", "hwmon2": "-", "hwmon3": "ucsi_source_psy_USBC000:001-isa-0000",
		"hwmon4": "-"},
}

// machine returns the root of a fixture. Its files are stored with %3A for a colon, which
// the go command takes in no file name of a module.
func machine(tb testing.TB, name string) string {
	tb.Helper()
	root := tb.TempDir()
	from := filepath.Join("testdata", name)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root, strings.ReplaceAll(strings.TrimPrefix(path, from), "%3A", ":"))
		switch {
		case e.IsDir():
			return os.MkdirAll(to, 0o777)
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o777); err != nil {
		tb.Fatal(err)
	}
	return root
}

// ticking is a sampler of a host under test, whose clock stands still between ticks.
type ticking struct {
	t       testing.TB
	ns      int64
	sources []collector.Source
	absent  map[string]string
	blocks  [][]schemas.Block
}

// open opens the sources of a host's hardware, but that of the clock.
func open(t testing.TB, h *host) *ticking {
	t.Helper()
	s := &ticking{t: t, ns: 1e9, absent: make(map[string]string)}
	clock := func() (wallNS, bootNS int64) { return 1e18 + s.ns, s.ns }
	all, _, err := h.sources(clock)
	if err != nil {
		t.Fatal(err)
	}
	var net []collector.Source
	for _, source := range all {
		if source.Name() == "net_dev" {
			net = append(net, source)
		} else if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, source := range h.hardware(net, clock, s.absent) {
		if source.Name() == "clock" {
			if err := source.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		s.sources = append(s.sources, source)
		s.blocks = append(s.blocks, newBlocks(source))
	}
	t.Cleanup(func() {
		for _, source := range s.sources {
			if err := source.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// tick takes a tick so many ns after the last one and returns what is known.
func (s *ticking) tick(afterNS int64) map[string]int64 {
	s.t.Helper()
	s.ns += afterNS
	out := make(map[string]int64)
	for i, source := range s.sources {
		if err := source.Sample(s.blocks[i]); err != nil {
			s.t.Fatal(err)
		}
		for j := range s.blocks[i] {
			b := &s.blocks[i][j]
			if n := b.Rows() * len(b.Table.Columns); len(b.Values) != n || len(b.Known) != n {
				s.t.Fatalf("%s: %d values, %d marks for %d cells", b.Table.Name, len(b.Values), len(b.Known), n)
			}
			maps.Copy(out, cells(b))
		}
	}
	return out
}

// of returns the values of a table.
func of(table string, values map[string]int64) map[string]int64 {
	out := make(map[string]int64)
	for k, v := range values {
		if k, ok := strings.CutPrefix(k, table+"/"); ok {
			out[k] = v
		}
	}
	return out
}

// source returns the named source.
func (s *ticking) source(name string) collector.Source {
	s.t.Helper()
	i := slices.IndexFunc(s.sources, func(x collector.Source) bool { return x.Name() == name })
	if i < 0 {
		s.t.Fatalf("no source %s: %s", name, s.absent[name])
	}
	return s.sources[i]
}

// notes returns the events of a source, as "reason column part: detail".
func (s *ticking) notes(name string) (out []string) {
	s.t.Helper()
	for _, r := range s.source(name).(collector.Noter).Notes(nil) {
		text := func(column string) string { return r.Cells[r.Table.Column(column)].Text }
		out = append(out, fmt.Sprintf("%s %s %s: %s", text("reason"), text("column"), text("part"), text("detail")))
	}
	return out
}

func TestMachines(t *testing.T) {
	for name, chips := range machines {
		t.Run(name, func(t *testing.T) {
			root := machine(t, name)
			s := open(t, newHost(root, Options{}))
			got := s.tick(0)
			for _, d := range differences(got, hardwareReference(t, root, chips)) {
				t.Error("reference:", d)
			}
			var lines []string
			for k, v := range got {
				lines = append(lines, k+" "+strconv.FormatInt(v, 10))
			}
			for i := range s.blocks {
				for _, b := range s.blocks[i] {
					for r, device := range b.Devices {
						if n := len(b.Table.Columns); !slices.Contains(b.Known[r*n:(r+1)*n], true) {
							lines = append(lines, b.Table.Name+"/"+device+" null")
						}
					}
				}
			}
			for k, cause := range s.absent {
				lines = append(lines, "absent "+k+": "+strings.ReplaceAll(cause, root, ""))
			}
			for _, source := range s.sources {
				if n, example := source.(collector.Skipper).Skipped(); n > 0 {
					lines = append(lines, fmt.Sprintf("skipped %s: %d: %s", source.Name(), n, example))
				}
			}
			slices.Sort(lines)
			text := strings.Join(lines, "\n") + "\n"
			golden, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			if text != string(golden) {
				t.Errorf("not the golden file:\n%s", text)
			}
			if again := s.tick(1e9); !maps.Equal(again, got) {
				t.Errorf("another tick differs: %q", differences(again, got))
			}
		})
	}
}

// Between two plain readings of the running kernel no counter is outside of them, and
// what they have is there.
func TestHardwareLive(t *testing.T) {
	counters := make(map[string]bool)
	for _, table := range schemas.Tables {
		for _, c := range table.Columns {
			counters[table.Name+"/"+c.Name] = c.Kind.Cumulative()
		}
	}
	s := open(t, newHost("/", Options{}))
	before := hardwareReference(t, "/", nil)
	got := s.tick(0)
	after := hardwareReference(t, "/", nil)
	n := 0
	for key, lo := range before {
		part := strings.Split(key, "/")
		hi, stays := after[key]
		if !stays || !slices.Contains([]string{"net", "link", "numa", "hugepages"}, part[0]) {
			continue
		}
		n++
		v, ok := got[key]
		if !ok {
			t.Errorf("%s: null, want %d to %d", key, lo, hi)
		} else if counters[part[0]+"/"+part[len(part)-1]] && (v < lo || v > hi) {
			t.Errorf("%s: %d, want %d to %d", key, v, lo, hi)
		}
	}
	if n < 20 {
		t.Errorf("only %d values", n)
	}
	for key := range got {
		part := strings.Split(key, "/")
		if _, ok := before[key]; !ok && slices.Contains([]string{"link", "numa", "hugepages"}, part[0]) && after[key] == 0 {
			t.Errorf("%s is not there", key)
		}
	}
}

// hardwareReference reads the same in the plainest way.
func hardwareReference(t *testing.T, root string, chips map[string]string) map[string]int64 {
	t.Helper()
	out := make(map[string]int64)
	sys := filepath.Join(root, "sys")
	list := func(pattern ...string) []string {
		all, err := filepath.Glob(filepath.Join(append([]string{sys}, pattern...)...))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	text := func(path ...string) string {
		b, _ := os.ReadFile(filepath.Join(path...))
		return strings.TrimSpace(string(b))
	}
	put := func(key string, v string, times int64) {
		if n, err := strconv.ParseInt(v, 0, 64); err == nil {
			out[key] = n * times
		}
	}
	// net and link
	for _, line := range strings.Split(text(root, "proc/net/dev"), "\n")[2:] {
		name, numbers, _ := strings.Cut(strings.TrimSpace(line), ":")
		for i, v := range strings.Fields(numbers) {
			put("net/"+name+"/"+schemas.Net.Columns[i].Name, v, 1)
		}
		dir := filepath.Join(sys, "class/net", name)
		put("link/"+name+"/carrier_changes", text(dir, "carrier_changes"), 1)
		put("link/"+name+"/mtu_bytes", text(dir, "mtu"), 1)
		if state := text(dir, "operstate"); state == "up" || state == "down" {
			out["link/"+name+"/up"] = map[string]int64{"up": 1}[state]
		}
		if speed := text(dir, "speed"); speed != "-1" {
			put("net/"+name+"/speed_bit_per_s", speed, 1e6)
		}
		if d := text(dir, "duplex"); d == "full" || d == "half" {
			out["net/"+name+"/full_duplex"] = map[string]int64{"full": 1}[d]
		}
	}
	// cpufreq
	for _, cpu := range list("devices/system/cpu/cpu[0-9]*") {
		id := strings.TrimPrefix(filepath.Base(cpu), "cpu")
		key := "cpufreq/" + id + "/"
		put(key+"cur_hz", text(cpu, "cpufreq/scaling_cur_freq"), 1000)
		put(key+"min_hz", text(cpu, "cpufreq/scaling_min_freq"), 1000)
		put(key+"max_hz", text(cpu, "cpufreq/scaling_max_freq"), 1000)
		for _, line := range strings.Split(text(cpu, "cpufreq/stats/time_in_state"), "\n") {
			var khz, ticks int64
			if n, _ := fmt.Sscan(line, &khz, &ticks); n == 2 {
				out[key+"stat_cycles"] += khz * 1000 * ticks / 100
				out[key+"stat_ticks"] += ticks
			}
		}
		for level, siblings := range map[string]string{"core": "thread_siblings_list", "package": "core_siblings_list"} {
			if first := strings.FieldsFunc(text(cpu, "topology", siblings), func(r rune) bool { return r == '-' || r == ',' }); len(first) > 0 && first[0] == id {
				put(key+level+"_throttles", text(cpu, "thermal_throttle", level+"_throttle_count"), 1)
				put(key+level+"_throttle_ns", text(cpu, "thermal_throttle", level+"_throttle_total_time_ms"), 1e6)
			}
		}
	}
	// sensors
	for _, x := range []struct{ table, quantity, limits string }{
		{"temperature", "temp", "temp_degc=input min_degc=min max_degc=max crit_degc=crit"},
		{"fan", "fan", "rpm=input min_rpm=min max_rpm=max"},
		{"voltage", "in", "in_v=input min_v=min max_v=max crit_v=crit"},
		{"current", "curr", "current_a=input min_a=min max_a=max crit_a=crit"},
		{"power", "power", "power_w=input average_w=average cap_w=cap max_w=max crit_w=crit"},
		{"energy", "energy", ""},
	} {
		var keys []string
		var paths []string
		for hwmon, chip := range chips {
			seen := make(map[string]bool)
			for _, path := range slices.Concat(list("class/hwmon", hwmon, x.quantity+"[0-9]*_input"), list("class/hwmon", hwmon, x.quantity+"[0-9]*_average")) {
				base := path[:strings.LastIndex(path, "_")]
				if chip == "-" || seen[base] {
					continue
				}
				seen[base] = true
				label := filepath.Base(base)
				if s := text(base + "_label"); s != "" {
					label = s
				}
				keys, paths = append(keys, x.table+"/"+chip+"/"+label), append(paths, base)
			}
		}
		for i, key := range keys {
			base := paths[i]
			same, sameChip := 0, 0
			for j := range keys {
				if keys[j] == key {
					same++
					if filepath.Dir(paths[j]) == filepath.Dir(base) {
						sameChip++
					}
				}
			}
			if sameChip > 1 {
				key += " " + filepath.Base(base)
			} else if same > 1 {
				device, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(base), "device"))
				if err != nil {
					t.Fatal(err)
				}
				key += " " + filepath.Base(device)
			}
			if x.table == "energy" {
				out[key+"/energy_uj"] = 0
			}
			for _, limit := range strings.Fields(x.limits) {
				column, suffix, _ := strings.Cut(limit, "=")
				if suffix == "input" && text(base+"_fault") == "1" {
					continue
				}
				put(key+"/"+column, text(base+"_"+suffix), 1)
			}
		}
	}
	types := make(map[string]int)
	for _, zone := range list("class/thermal/thermal_zone*") {
		types[text(zone, "type")]++
	}
	for _, zone := range list("class/thermal/thermal_zone*") {
		key := "temperature/thermal/" + text(zone, "type")
		if types[text(zone, "type")] > 1 {
			key += " " + filepath.Base(zone)
		}
		if v := text(zone, "temp"); v != "-274000" {
			put(key+"/temp_degc", v, 1)
		}
		for i := range 3 {
			if trip := filepath.Join(zone, "trip_point_"+strconv.Itoa(i)); text(trip+"_type") == "critical" {
				put(key+"/crit_degc", text(trip+"_temp"), 1)
			}
		}
	}
	for _, zone := range list("class/powercap/*:*") {
		name := text(zone, "name")
		if parent := filepath.Join(filepath.Dir(zone), filepath.Base(zone)[:strings.LastIndex(filepath.Base(zone), ":")]); text(parent, "name") != "" {
			name = text(parent, "name") + "/" + name
		}
		if strings.HasPrefix(filepath.Base(zone), "intel-rapl-mmio:") {
			name = "intel-rapl-mmio/" + name
		}
		out["energy/"+name+"/energy_uj"] = 0
	}
	// the rest
	for _, supply := range list("class/power_supply/BAT*") {
		key := "battery/" + filepath.Base(supply) + "/"
		put(key+"capacity_pct", text(supply, "capacity"), 1)
		put(key+"energy_j", text(supply, "energy_now"), 3600)
		put(key+"charge_c", text(supply, "charge_now"), 3600)
		put(key+"power_w", text(supply, "power_now"), 1)
		put(key+"voltage_v", text(supply, "voltage_now"), 1)
		put(key+"current_a", text(supply, "current_now"), 1)
		if status := text(supply, "status"); status != "Unknown" {
			out[key+"discharging"] = map[string]int64{"Discharging": 1}[status]
		}
	}
	for _, node := range list("devices/system/node/node[0-9]*") {
		key := "numa/" + strings.TrimPrefix(filepath.Base(node), "node") + "/"
		for _, line := range strings.Split(text(node, "numastat"), "\n") {
			f := strings.Fields(line)
			put(key+f[0], f[1], 1)
		}
		for _, line := range strings.Split(text(node, "meminfo"), "\n") {
			f := strings.Fields(line)
			if column := map[string]string{"MemTotal:": "total_bytes", "MemFree:": "free_bytes", "MemUsed:": "used_bytes", "FilePages:": "file_bytes", "AnonPages:": "anon_bytes"}[f[2]]; column != "" {
				put(key+column, f[3], 1024)
			}
		}
	}
	if sizes := list("kernel/mm/hugepages/*"); len(sizes) > 1 {
		for _, dir := range sizes {
			size := strings.TrimPrefix(filepath.Base(dir), "hugepages-")
			kb, err := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			for column, file := range map[string]string{"total_bytes": "nr_hugepages", "free_bytes": "free_hugepages", "reserved_bytes": "resv_hugepages", "surplus_bytes": "surplus_hugepages"} {
				put("hugepages/"+size+"/"+column, text(dir, file), kb*1024)
			}
		}
	}
	for _, device := range list("bus/usb/devices/[0-9]*") {
		if strings.Contains(filepath.Base(device), ":") {
			continue
		}
		name := strings.TrimSpace(filepath.Base(device) + " " + text(device, "idVendor") + ":" + text(device, "idProduct") + " " + text(device, "product"))
		put("usb/"+name+"/max_power_a", strings.TrimSuffix(text(device, "bMaxPower"), "mA"), 1)
	}
	for _, dir := range list("class/fc_host/*") {
		for _, c := range []string{"rx_frames", "tx_frames", "rx_words", "tx_words"} {
			put("fc/"+filepath.Base(dir)+"/"+c, text(dir, "statistics", c), 1) // all ones are out of range
		}
	}
	for _, dir := range list("class/infiniband/*/ports/*") {
		key := "infiniband/" + filepath.Base(filepath.Dir(filepath.Dir(dir))) + "/" + filepath.Base(dir) + "/"
		for column, file := range map[string]string{"rx_packets": "port_rcv_packets", "rx_errors": "port_rcv_errors", "tx_packets": "port_xmit_packets", "tx_discards": "port_xmit_discards", "tx_wait": "port_xmit_wait", "link_downed": "link_downed"} {
			put(key+column, text(dir, "counters", file), 1)
		}
		put(key+"rx_bytes", text(dir, "counters/port_rcv_data"), 4)
		put(key+"tx_bytes", text(dir, "counters/port_xmit_data"), 4)
		put(key+"speed_bit_per_s", strings.Fields(text(dir, "rate"))[0], 1e9)
	}
	for _, dir := range list("devices/system/edac/mc/mc*") {
		put("edac/"+filepath.Base(dir)+"/ce_count", text(dir, "ce_count"), 1)
		put("edac/"+filepath.Base(dir)+"/ue_count", text(dir, "ue_count"), 1)
	}
	return out
}
