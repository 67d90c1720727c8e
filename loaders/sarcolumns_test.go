package loaders

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// The table of columns has a place for each column or says why there is none; each name
// that sysstat 12.6.1 prints is in it.
func TestSarColumns(t *testing.T) {
	sar, fields := map[string]bool{}, map[string]bool{}
	for _, c := range SarColumns() {
		sar[c.Activity+" "+c.Sar] = true
		if c.JSON != "" {
			if fields[c.JSON] {
				t.Errorf("%s twice", c.JSON)
			}
			fields[c.JSON] = true
		}
		switch {
		case c.Table == "" && c.Why == "":
			t.Errorf("%s %s has no place, and no reason why", c.Activity, c.Sar)
		case c.Table == "":
			continue
		}
		table, err := schemas.Lookup(c.Table)
		if err != nil {
			t.Error(err)
			continue
		}
		_, isMetric := table.Metric(c.Column)
		if i := table.Column(c.Column); i < 0 && !isMetric || i >= 0 && table.Columns[i].Kind != schemas.Gauge {
			t.Errorf("%s %s: %s has no level and no metric %s", c.Activity, c.Sar, c.Table, c.Column)
		}
	}
	// All activities, and those that this host has.
	if n := len(sarActivities()); n != 43 {
		t.Errorf("%d activities", n)
	}
	text, err := os.ReadFile("testdata/sysstat/restart_sadf_j_A.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Sysstat struct {
			Hosts []struct{ Statistics []map[string]any }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	seen := 0
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(strings.TrimPrefix(path+"."+k, "."), x)
			}
		case []any:
			for _, x := range v {
				walk(path, x)
			}
		default:
			if at, ok := strings.CutPrefix(path, "interrupts.CPU"); ok && at != "" {
				path = "interrupts.CPU*"
			}
			if seen++; !fields[path] && !strings.HasPrefix(path, "timestamp.") {
				t.Errorf("%s has no place", path)
			}
		}
	}
	for _, sample := range doc.Sysstat.Hosts[0].Statistics {
		walk("", sample)
	}
	if seen < 1000 {
		t.Errorf("%d fields", seen)
	}
	headings := 0
	fieldsText, err := os.ReadFile("testdata/sysstat/restart_sadf_d_A.csv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(fieldsText)) {
		if names, ok := strings.CutPrefix(strings.TrimSpace(line), "# hostname;interval;timestamp;"); ok {
			headings++
			s := newSysstat("", "", ForeignOptions{})
			l := s.heading(strings.Split(names, ";"))
			if l == nil || len(s.f.Warnings) > 0 {
				t.Errorf("%s: %v", names, s.f.Warnings)
				continue
			}
			for name := range strings.SplitSeq(names, ";") {
				if !sar[l.activity.name+" "+name] {
					t.Errorf("%s: %s has no place", l.activity.name, name)
				}
			}
		}
	}
	if headings != 2*37 {
		t.Errorf("%d headings", headings)
	}
}

// Fields and headings that other versions of sysstat have.
func TestSysstatVersions(t *testing.T) {
	old := sadfText(`"cpu-load-all": [{"cpu": "all", "usr": 10.00, "nice": 1.00, "sys": 3.00, "iowait": 0.50, "steal": 0.25, "irq": 0.75, "soft": 0.50, "guest": 5.00, "idle": 79.00}, {"cpu": "1", "usr": 0.00, "nice": 0.00, "sys": 0.00, "iowait": 0.00, "steal": 0.00, "irq": 0.00, "soft": 0.00, "guest": 0.00, "idle": 0.00}],
		"interrupts": [{"intr": "sum", "value": 250.00}, {"intr": "9", "value": 25.00}],
		"io": {"tps": 3.00, "io-reads": {"rtps": 1.00, "bread": 8.00}, "io-writes": {"wtps": 2.00, "bwrtn": 16.00}},
		"memory": {"memfree": 1000, "memused": 3000, "memused-percent": 75.00, "buffers": 10, "cached": 20, "commit": 30, "commit-percent": 0.50, "active": 1, "inactive": 2, "frmpg": -3.00, "bufpg": 0.00, "campg": 1.00},
		"hugepages": {"hugfree": 2048, "hugused": 4096, "hugused-percent": 66.67},
		"disk": [{"disk-device": "dev8-0", "tps": 3.00, "rd_sec": 8.00, "wr_sec": 16.00, "avgrq-sz": 8.00, "avgqu-sz": 0.02, "await": 5.00, "svctm": 2.00, "util-percent": 0.60}],
		"power-management": {"cpu-frequency": [{"number": "all", "frequency": 2000.00}, {"number": "0", "frequency": 2100.50}, {"number": "1", "frequency": 0.00}],
			"fan-speed": [{"number": 1, "rpm": 1200, "drpm": 600, "device": "it8718-isa-0290"}],
			"temperature": [{"number": 1, "degC": -3.50, "percent-temp": 55.00, "device": "k10temp-pci-00c3"}],
			"voltage-input": [{"number": 0, "inV": 1.22, "percent-in": 30.00, "device": "it8718-isa-0290"}],
			"cpu-weighted-frequency": [{"number": "0", "weighted-frequency": 1500.00}],
			"usb-devices": [{"bus_number": 1, "idvendor": "46d", "idprod": "c52b", "maxpower": 98, "manufact": "Logitech", "product": "USB Receiver"}]},
		"filesystems": [{"filesystem": "/dev/sda1", "MBfsfree": 100, "MBfsused": 300, "%fsused": 75.00, "%ufsused": 80.00, "Ifree": 10, "Iused": 30, "%Iused": 75.00}]`)
	old = strings.Replace(old, `"hosts":`, `"sysdata-version": 2.13, "hosts":`, 1)
	f, cells := mustSadf(t, old)
	is := func(what string, cells map[cell]float64, table, device, column string, want float64) {
		t.Helper()
		if got, ok := cells[cell{time.Second, table, device, column}]; !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %s.%s of %q: %v %v, want %v", what, table, column, device, got, ok, want)
		}
	}
	for _, tt := range []struct {
		table, device, column string
		want                  float64
	}{
		{"cpu", "all", "user_pct", 15}, {"cpu", "all", "nice_pct", 1}, {"cpu", "all", "system_pct", 3}, {"cpu", "all", "kernel_pct", 4.25}, {"cpu", "all", "busy_pct", 20.25}, {"cpu", "all", "guest_pct", 5},
		{"interrupts_cpu", "all", "interrupts_per_s", 250}, {"interrupts", "9", "count_per_s", 25},
		{"disk", "all", "tps", 3}, {"disk", "all", "read_bytes_per_s", 4096}, {"disk", "all", "writes_per_s", 2}, {"disk", "dev8-0", "write_bytes_per_s", 8192}, {"disk", "dev8-0", "areq_bytes", 4096},
		{"disk", "dev8-0", "queue_size", 0.02}, {"disk", "dev8-0", "await_s", 5e-3},
		{"memory", "", "total_bytes", 4000 << 10}, {"memory", "", "commit_pct", 0.5}, {"hugepages", "default", "total_bytes", 6144 << 10}, {"hugepages", "default", "free_bytes", 2048 << 10},
		{"cpufreq", "0", "cur_hz", 2100.5e6}, {"cpufreq", "0", "weighted_hz", 1500e6}, {"fan", "it8718-isa-0290/fan1", "rpm", 1200}, {"fan", "it8718-isa-0290/fan1", "above_min_rpm", 600},
		{"temperature", "k10temp-pci-00c3/temp1", "temp_degc", -3.5}, {"voltage", "it8718-isa-0290/in0", "in_v", 1.22}, {"usb", "1 046d:c52b USB Receiver", "max_power_a", 0.098},
		{"filesystem", "/dev/sda1", "size_bytes", 400 << 20}, {"filesystem", "/dev/sda1", "inodes", 40}, {"filesystem", "/dev/sda1", "ufsused_pct", 80},
	} {
		is("JSON", cells, tt.table, tt.device, tt.column, tt.want)
	}
	if _, ok := cells[cell{time.Second, "cpu", "1", "idle_pct"}]; ok || !slices.Equal(notesOf(f), []string{"1s cpu. 1 hotplug"}) || f.Facts["sysstat.data_version"] != "2.13" {
		t.Errorf("a CPU that is offline: %q, %v", notesOf(f), f.Facts)
	}
	if _, ok := cells[cell{time.Second, "cpufreq", "1", "cur_hz"}]; ok {
		t.Error("the frequency of a CPU that is offline")
	}

	const banner = "Linux 3.10.0 (h1) \t11/30/2026 \t_x86_64_\t(2 CPU)\n"
	block := func(heading, values string) string {
		return "\n10:00:00 " + heading + "\n10:00:01 " + values + "\nAverage:  " + values + "\n"
	}
	f, err := ReadSar("f", []byte(banner+
		block("   CPU   %usr %nice %sys %iowait %steal %irq %soft %guest %idle", "   all   10.00 1.00 3.00 0.50 0.25 0.75 0.50 5.00 79.00")+
		block("  INTR    intr/s", "   sum    250.00")+
		block("  tps rtps wtps bread/s bwrtn/s", "  3.00 1.00 2.00 8.00 16.00")+
		block("  frmpg/s bufpg/s campg/s", "  -3.00 0.00 1.00")+
		block("  kbmemfree kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact", " 1000 3000 75.00 10 20 30 0.50 1 2")+
		block("  kbhugfree kbhugused %hugused", "  2048 4096 66.67")+
		block("  DEV  tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util", "  dev8-0 3.00 8.00 16.00 8.00 0.02 5.00 2.00 0.60")+
		block("  TTY rcvin/s txmtin/s framerr/s prtyerr/s brk/s ovrun/s", "  0 1.00 2.00 0.00 0.00 0.00 0.00")+
		block("  FAN rpm drpm DEVICE", "  1 1200.00 600.00 it8718-isa-0290")+
		block("  TEMP degC %temp DEVICE", "  1 -3.50 55.00 k10temp-pci-00c3")+
		block("  IN inV %in DEVICE", "  0 1.22 30.00 it8718-isa-0290")+
		block("  BUS  idvendor    idprod  maxpower manufact                product", "  1 46d c52b 98 Logitech                USB Receiver")+
		block("  MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused MOUNTPOINT", "  100 300 75.00 80.00 10 30 75.00 /mnt/my disk")+
		block("  fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s FCHOST", "  1.00 2.00 3.00 4.00 host6")), utc)
	if err != nil {
		t.Fatal(err)
	}
	cells = cellsOf(t, f)
	for _, tt := range []struct {
		table, device, column string
		want                  float64
	}{
		{"cpu", "all", "user_pct", 15}, {"cpu", "all", "busy_pct", 20.25}, {"interrupts_cpu", "all", "interrupts_per_s", 250}, {"disk", "all", "read_bytes_per_s", 4096}, {"memory", "", "total_bytes", 4000 << 10},
		{"hugepages", "default", "total_bytes", 6144 << 10}, {"disk", "dev8-0", "write_bytes_per_s", 8192}, {"serial", "0", "tx_per_s", 2}, {"fan", "it8718-isa-0290/fan1", "rpm", 1200},
		{"temperature", "k10temp-pci-00c3/temp1", "temp_degc", -3.5}, {"voltage", "it8718-isa-0290/in0", "in_v", 1.22}, {"usb", "1 046d:c52b USB Receiver", "max_power_a", 0.098},
		{"filesystem", "/mnt/my disk", "size_bytes", 400 << 20}, {"fc", "host6", "tx_words_per_s", 4},
	} {
		is("text", cells, tt.table, tt.device, tt.column, tt.want)
	}
	if len(f.Warnings) != 0 || len(notesOf(f)) != 0 {
		t.Errorf("%q, %q", f.Warnings, notesOf(f))
	}

	// sadf -d says of USB devices in another order than its heading.
	f, err = ReadSadf("f", []byte("# hostname;interval;timestamp;manufact;product;BUS;idvendor;idprod;maxpower\nh1;1;2026-11-30 10:00:01 UTC;1;46d;c52b;98;Logitech;USB Receiver\n"+
		"# hostname;interval;timestamp;FAN;DEVICE;rpm;drpm\nh1;1;2026-11-30 10:00:01 UTC;1;it8718-isa-0290;1200.00;600.00\n"+
		"# hostname;interval;timestamp;INTR;intr/s\nh1;1;2026-11-30 10:00:01 UTC;-1;250.00\nh1;1;2026-11-30 10:00:01 UTC;9;25.00\n"), ForeignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cells = cellsOf(t, f)
	is("sadf -d", cells, "usb", "1 046d:c52b USB Receiver", "max_power_a", 0.098)
	is("sadf -d", cells, "fan", "it8718-isa-0290/fan1", "rpm", 1200)
	is("sadf -d", cells, "interrupts_cpu", "all", "interrupts_per_s", 250)
	is("sadf -d", cells, "interrupts", "9", "count_per_s", 25)

	// sysstat 12.7 and 12.8.
	f, err = ReadSar("f", []byte(banner+
		block("  pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s pgprom/s pgdem/s", " 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00 9.00 10.00")+
		block("  kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact kbdirty kbshmem", " 1000 2500 1500 37.50 10 20 30 0.50 1 2 3 77")+
		block("  atmptf/s estres/s retrseg/s isegerr/s orsts/s", "  1.00 2.00 3.00 4.00 5.00")+
		block("  BAT %cap cap/min status", "  0 80 -0.50 ↘")+
		block("  newcol/s other/s", "  1.00 2.00")+
		block("  CPU total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len more/s", "  all 1.00 0.00 0.00 0.00 0.00 4 9.00")), utc)
	if err != nil {
		t.Fatal(err)
	}
	cells = cellsOf(t, f)
	is("12.8", cells, "memory", "", "total_bytes", 4000<<10)
	is("12.8", cells, "memory", "", "shmem_bytes", 77<<10)
	is("12.8", cells, "paging", "", "pgpromote_success_per_s", 9)
	is("12.8", cells, "net_proto", "", "tcp_retrans_segs_per_s", 3)
	is("12.8", cells, "battery", "BAT0", "capacity_pct", 80)
	is("12.8", cells, "battery", "BAT0", "discharging", 1)
	is("12.8", cells, "softnet", "all", "backlog_len", 4)
	if got := strings.Join(f.Warnings, "\n"); got != "a block of sar with the heading \"newcol/s other/s\" is not known: left out\ncolumn more/s of A_NET_SOFT is not known: left out" || f.Facts["sysstat.used_memory"] != "total-available" {
		t.Errorf("%s, %v", got, f.Facts)
	}
	f, cells = mustSadf(t, sadfText(`"memory": {"memfree": 1000, "avail": 2500, "memused": 1500, "memused-percent": 37.50, "shared": 77}, "newthing": {"a": [1, "b"]}, "psi": {"psi-cpu": {"some_avg10": 0.50, "some_avg": 1.25, "some_avg7": 1.00}},
		"power-management": {"battery": [{"number": 0, "percent-capacity": 80, "variation": -0.50, "status": "Charging"}]}`))
	is("12.8", cells, "memory", "", "shmem_bytes", 77<<10)
	is("12.8", cells, "pressure", "cpu", "some_pct", 1.25)
	is("12.8", cells, "pressure", "cpu", "some_avg10_pct", 0.5)
	is("12.8", cells, "battery", "BAT0", "discharging", 0)
	if got := strings.Join(f.Warnings, "\n"); got != "newthing of sadf is not known: left out\npsi.psi-cpu.some_avg7 of sadf is not known: left out" {
		t.Error(got)
	}
}
