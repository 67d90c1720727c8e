package loaders

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sadfText is what sadf -j prints of samples, each its objects but the timestamp.
func sadfText(samples ...string) string {
	var b strings.Builder
	b.WriteString(`{"sysstat": {"hosts": [{"nodename": "h1", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64", "number-of-cpus": 4, "file-date": "2026-03-01", "statistics": [`)
	for i, s := range samples {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"timestamp": {"date": "2026-03-01", "time": "10:00:%02d", "utc": 1, "interval": 1}, %s}`, i+1, s)
	}
	b.WriteString(`], "restarts": []}]}}`)
	return b.String()
}

func mustSadf(t *testing.T, text string) (*Foreign, map[cell]float64) {
	t.Helper()
	f, err := ReadSadf("f", []byte(text), ForeignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return f, cellsOf(t, f)
}

// of returns a metric's values at all seconds of a boot, "-" where unknown.
func of(cells map[cell]float64, f *Foreign, table, device, column string) string {
	var out []string
	for _, boot := range f.Boots {
		for _, tick := range boot {
			if len(tick.Blocks) == 0 {
				out = append(out, "-")
				continue
			}
			if v, ok := cells[cell{time.Duration(tick.Blocks[0].BootNS), table, device, column}]; ok {
				out = append(out, fmt.Sprintf("%.2f", v))
			} else {
				out = append(out, "-")
			}
		}
	}
	return strings.Join(out, " ")
}

// JSON without a comma, and JSON cut off.
func TestSadfDamaged(t *testing.T) {
	comma := `{"sysstat":{"hosts":[{"nodename":"h1","number-of-cpus":2,"statistics":[{"timestamp":{"date":"2026-03-01","time":"10:00:01","utc":1,"interval":1},"paging":{"pgpgin":4.00,"pgpgout":8.00}"fchosts":[]}],"restarts":[]}]}}`
	whole := sadfText(`"paging": {"pgpgin": 4.00}`, `"paging": {"pgpgin": 5.00}`, `"paging": {"pgpgin": 678.90}`)
	cut := whole[:strings.Index(whole, "678.90")+4]
	for _, tt := range []struct {
		name, text, refused string
		salvaged            string // pgpgin
		incomplete          string
	}{
		{"missing comma", comma, fmt.Sprintf(`loaders: f: byte %d: want a comma or '}'`, strings.Index(comma, `"fchosts"`)), "4096.00", "a comma was missing, and is put back"},
		{"cut off in a number", cut, fmt.Sprintf("loaders: f: byte %d: cut off: make it anew, or salvage the samples before it", len(cut)), "4096.00 5120.00", "damaged, samples before that are kept"},
		{"cut off between samples", whole[:strings.LastIndex(whole, `, {"timestamp"`)], "cut off", "4096.00 5120.00", "damaged"},
		{"text behind", whole + "x", fmt.Sprintf("byte %d: text behind the end", len(whole)), "4096.00 5120.00 695193.60", "damaged"},
		{"no sample whole", whole[:strings.Index(whole, "4.00")], "cut off", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := ReadSadf("f", []byte(tt.text), ForeignOptions{}); f != nil || err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v, want %s", err, tt.refused)
			}
			f, err := ReadSadf("f", []byte(tt.text), ForeignOptions{Salvage: true})
			if tt.salvaged == "" {
				if err == nil || f != nil {
					t.Error("salvaged nothing, and says so by no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := of(cellsOf(t, f), f, "paging", "", "pgpgin_bytes_per_s"); got != tt.salvaged || len(f.Incomplete) != 1 || !strings.Contains(f.Incomplete[0], tt.incomplete) {
				t.Errorf("pgpgin %s, incomplete %q", got, f.Incomplete)
			}
		})
	}
	f, err := ReadSadf("f", []byte(comma), ForeignOptions{Salvage: true})
	if err != nil || of(cellsOf(t, f), f, "paging", "", "pgpgout_bytes_per_s") != "8192.00" {
		t.Error(f, err)
	}
}

// A decimal comma tells another locale: never 4, nor 497.
func TestSadfDecimalComma(t *testing.T) {
	text := sadfText(`"paging": {"pgpgin": 4,97, "pgpgout": 7,53}`)
	want := fmt.Sprintf("loaders: f: byte %d: a decimal comma: the tool ran in another locale: make the file anew by LC_ALL=C sadf -j", strings.Index(text, ",97"))
	for _, salvage := range []bool{false, true} {
		if f, err := ReadSadf("f", []byte(text), ForeignOptions{Salvage: salvage}); f != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The three meanings of used memory: MemTotal is 64,000,000 kB.
func TestUsedMemory(t *testing.T) {
	sample := func(rest, used string) string {
		return `"memory": {"memfree": 4000000, ` + rest + ` "buffers": 6000000, "cached": 30000000, ` + used + `}`
	}
	const avail, slab = `"avail": 44000000,`, `, "slab": 3000000`
	total := fmt.Sprintf("%.2f", 64e6*1024)
	for _, tt := range []struct {
		name, text     string
		meaning, total string
		available      string
		told           int
		warning        string
	}{
		{"until 11.7.3", sample(avail, `"memused": 60000000, "memused-percent": 93.75`+slab), "total-free", total, fmt.Sprintf("%.2f", 44e6*1024), -1, ""},
		{"until 12.7.7", sample(avail, `"memused": 21000000, "memused-percent": 32.81`+slab), "total-free-buffers-cached-slab", total, fmt.Sprintf("%.2f", 44e6*1024), -1, ""},
		{"since 12.7.8", sample(avail, `"memused": 20000000, "memused-percent": 31.25`+slab), "total-available", total, fmt.Sprintf("%.2f", 44e6*1024), -1, ""},
		{"until 12.7.7, without slab", sample(avail, `"memused": 21000000, "memused-percent": 32.81`), "total-free-buffers-cached-slab", "-", fmt.Sprintf("%.2f", 44e6*1024), -1, "it would take kbslab"},
		{"before 11.5.3, without available", sample("", `"memused": 60000000, "memused-percent": 93.75`), "total-free", total, "-", -1, ""},
		{"an old record, available not recorded", sample(`"avail": 0,`, `"memused": 60000000, "memused-percent": 93.75`+slab), "total-free", total, "-", -1, ""},
		{"an old record converted, by 12.7.8", sample(`"avail": 4000000,`, `"memused": 60000000, "memused-percent": 93.75`+slab), "total-free", total, "-", -1, "kbavail is kbmemfree in every sample"},
		{"of none", sample(avail, `"memused": 50000000, "memused-percent": 12.00`+slab), "", "-", fmt.Sprintf("%.2f", 44e6*1024), -1, "can't be told"},
		{"of two", `"memory": {"memfree": 4000000, "avail": 4000100, "memused": 60000000, "memused-percent": 93.75}`, "", "-", fmt.Sprintf("%.2f", 4000100.0*1024), -1, "can't be told"},
		{"of two, and the version is known", `"memory": {"memfree": 4000000, "avail": 4000100, "memused": 60000000, "memused-percent": 93.75}`, "total-free", total, fmt.Sprintf("%.2f", 4000100.0*1024), 0, ""},
		{"the version known says another", sample(avail, `"memused": 60000000, "memused-percent": 93.75`+slab), "", "-", fmt.Sprintf("%.2f", 44e6*1024), 1, "don't agree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := readSadf("f", []byte(sadfText(tt.text)), ForeignOptions{}, tt.told)
			if err != nil {
				t.Fatal(err)
			}
			cells := cellsOf(t, f)
			if got := f.Facts["sysstat.used_memory"]; got != tt.meaning {
				t.Errorf("meaning %q, want %q", got, tt.meaning)
			}
			if got := of(cells, f, "memory", "", "total_bytes"); got != tt.total {
				t.Errorf("total %s, want %s", got, tt.total)
			}
			if got := of(cells, f, "memory", "", "available_bytes"); got != tt.available {
				t.Errorf("available %s, want %s", got, tt.available)
			}
			if tt.available == "-" && strings.Contains(tt.text, "avail") && !slices.ContainsFunc(notesOf(f), func(n string) bool { return strings.HasPrefix(n, "1s memory.available_bytes absent") }) {
				t.Errorf("no reason: %q", notesOf(f))
			}
			if all := strings.Join(f.Warnings, "\n"); !strings.Contains(all, tt.warning) || tt.warning == "" && all != "" {
				t.Errorf("warnings %q", all)
			}
		})
	}
	for _, tt := range []struct {
		version string
		meaning int
	}{
		{"10.0.3", 0}, {"11.4.9", 0}, {"11.4.10", 1}, {"11.5.7", 0}, {"11.6.3", 0}, {"11.6.4", 1}, {"11.7.3", 0}, {"11.7.4", 1}, {"12.0.0", 1}, {"12.7.7", 1}, {"12.7.8", 2}, {"12.8.0", 2}, {"13.0.0", 2},
	} {
		if version, meaning, ok := versionOfSysstat([]byte("File created by sar/sadc from sysstat version " + tt.version + "\n")); !ok || version != tt.version || meaning != tt.meaning {
			t.Errorf("%s: %s %d %v", tt.version, version, meaning, ok)
		}
	}
}

const restarted = `Linux 6.1.0 (h1)   2026-03-01   _x86_64_   (4 CPU)

10:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:02        all      8.00      0.00      2.00      0.00      0.00     90.00
10:00:03        all     15.00      0.00      5.00      0.00      0.00     80.00
Average:        all     11.50      0.00      3.50      0.00      0.00     85.00

10:05:40     LINUX RESTART      (2 CPU)

10:06:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:06:02        all     25.00      0.00      5.00      0.00      0.00     70.00
10:06:03        all     30.00      0.00     10.00      0.00      0.00     60.00
`

// A restart in the middle of a text: two boots, averages not counted.
func TestSarRestart(t *testing.T) {
	f, err := ReadSar("f", []byte(restarted), utc)
	if err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, f)
	if got := of(cells, f, "cpu", "all", "idle_pct"); got != "90.00 80.00 70.00 60.00" {
		t.Errorf("idle %s: mean 75.00", got)
	}
	if got := of(cells, f, "cpu", "all", "busy_pct"); got != "10.00 20.00 30.00 40.00" {
		t.Errorf("busy %s", got)
	}
	if !slices.Equal(ticksOf(f), []int{2, 2}) || f.Facts["cpus"] != "4" || f.DurationNS != 362e9 {
		t.Errorf("ticks %v, %v", ticksOf(f), f)
	}
	boot := f.Boots[1][0]
	if boot.Blocks[0].BootNS != 361e9 || boot.Blocks[0].IntervalNS != 1e9 || len(boot.Rows) != 1 || !strings.Contains(fmt.Sprint(boot.Rows[0].Cells), "the host booted at 2026-03-01T10:05:40Z, with 2 CPUs") {
		t.Errorf("restart: %+v", boot)
	}
	// sadf -d calls all CPUs -1.
	g, err := ReadSadf("f", []byte("h1;-1;2026-03-01 10:05:40 UTC;LINUX-RESTART\t(2 CPU)\n"), ForeignOptions{})
	if err == nil || g != nil {
		t.Error("a file of no heading")
	}
	h, err := ReadSadf("f", []byte("# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\nh1;1;2026-03-01 10:00:02 UTC;-1;8.00;0.00;2.00;0.00;0.00;90.00\nh1;-1;2026-03-01 10:05:40 UTC;LINUX-RESTART\t(2 CPU)\n"+
		"# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\nh1;1;2026-03-01 10:06:02 UTC;-1;25.00;0.00;5.00;0.00;0.00;70.00\n"), ForeignOptions{})
	if err != nil || of(cellsOf(t, h), h, "cpu", "all", "idle_pct") != "90.00 70.00" || !slices.Equal(ticksOf(h), []int{1, 1}) {
		t.Error(h, err)
	}
}

// A 12-hour clock over midnight, and the day of the banner.
func TestSarTimes(t *testing.T) {
	twelve := func(date string) string {
		return "Linux 6.1.0 (h1) \t" + date + " \t_x86_64_\t(4 CPU)\n\n11:59:57 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n" +
			"11:59:58 PM     all      1.00      0.00      0.00      0.00      0.00     99.00\n11:59:59 PM     all      2.00      0.00      0.00      0.00      0.00     98.00\n" +
			"12:00:00 AM     all      3.00      0.00      0.00      0.00      0.00     97.00\n12:00:01 AM     all      4.00      0.00      0.00      0.00      0.00     96.00\n"
	}
	rows := func(banner string, times ...string) string {
		text := banner + "\n\n" + times[0] + "       runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n"
		for i, at := range times[1:] {
			text += fmt.Sprintf("%s        %d       200      0.50      0.40      0.30         0\n", at, i)
		}
		return text
	}
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	banner := "Linux 6.1.0 (h1) \t2026-10-25 \t_x86_64_\t(4 CPU)"
	for _, tt := range []struct {
		name, text string
		o          ForeignOptions
		refused    string
		times      string
	}{
		{"midnight", twelve("03/01/2026"), ForeignOptions{Zone: time.UTC, Date: "2026-03-01"}, "", "2026-03-01T23:59:58Z 2026-03-01T23:59:59Z 2026-03-02T00:00:00Z 2026-03-02T00:00:01Z"},
		{"day in two ways", twelve("03/01/2026"), utc, "line 1: the banner's day may be 2026-03-01 or 2026-01-03: give it", ""},
		{"day in two ways, short", twelve("03/04/26"), utc, "line 1: the banner's day may be 2026-03-04 or 2026-04-03 or 2003-04-26: give it", ""},
		{"day given is none of them", twelve("03/04/26"), ForeignOptions{Zone: time.UTC, Date: "2026-03-05"}, "the day given, 2026-03-05, is not the banner's", ""},
		{"day given twice alike", twelve("2026-03-01"), ForeignOptions{Zone: time.UTC, Date: "2026-03-01"}, "", "2026-03-01T23:59:58Z 2026-03-01T23:59:59Z 2026-03-02T00:00:00Z 2026-03-02T00:00:01Z"},
		{"no month 30", rows("Linux 6.1.0 (h1) \t11/30/26 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "", "2026-11-30T10:00:01Z"},
		{"day first", rows("Linux 6.1.0 (h1) \t30/11/2026 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "", "2026-11-30T10:00:01Z"},
		{"with points", rows("Linux 6.1.0 (h1) \t03.04.2026 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "", "2026-04-03T10:00:01Z"},
		{"day and month alike", rows("Linux 6.1.0 (h1) \t04/04/2026 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "", "2026-04-04T10:00:01Z"},
		{"no such day", rows("Linux 6.1.0 (h1) \t31/02/2026 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "is none", ""},
		{"a host in brackets", rows("Linux 6.1.0 (h (1)) \t2026-11-30 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "", "2026-11-30T10:00:01Z"},
		{"words of another language", rows("Linux 6.1.0 (h1) \t2026年11月30日 \t_x86_64_\t(4 CPU)", "10:00:00", "10:00:01"), utc, "not of sar in language C: make it anew by LC_ALL=C", ""},
		{"times of another language", rows(banner, "10時00分00秒", "10時00分01秒"), utc, "line 3: \"10時00分00秒\" is no time: not of sar in language C", ""},
		{"no banner", rows("", "10:00:00", "10:00:01")[2:], utc, "no banner of sar", ""},
		{"no banner, the day given", rows("", "10:00:00", "10:00:01")[2:], ForeignOptions{Zone: time.UTC, Date: "2026-11-30"}, "", "2026-11-30T10:00:01Z"},
		{"three days", rows(banner, "12:00:00", "20:00:00", "04:00:00", "12:00:00", "20:00:00", "04:00:00"), utc, "", "2026-10-25T20:00:00Z 2026-10-26T04:00:00Z 2026-10-26T12:00:00Z 2026-10-26T20:00:00Z 2026-10-27T04:00:00Z"},
		{"the hour that is twice", rows(banner, "02:29:59", "02:30:00"), ForeignOptions{Zone: paris}, "line 3: time 2026-10-25 02:29:59: clocks of Europe/Paris showed it twice, at the end of summer time: give the zone as an offset", ""},
		{"the hour that is twice, by offset", rows(banner, "02:29:59", "02:30:00"), ForeignOptions{Zone: time.FixedZone("", 7200)}, "", "2026-10-25T00:30:00Z"},
		{"around it", rows(banner, "01:59:59", "03:00:00"), ForeignOptions{Zone: paris}, "", "2026-10-25T02:00:00Z"},
		{"the hour that is not", rows(strings.Replace(banner, "10-25", "03-29", 1), "02:29:59", "02:30:00"), ForeignOptions{Zone: paris}, "clocks of Europe/Paris never showed it", ""},
		{"over the hour that is not", rows(strings.Replace(banner, "10-25", "03-29", 1), "01:59:58", "01:59:59", "03:00:00"), ForeignOptions{Zone: paris}, "", "2026-03-29T00:59:59Z 2026-03-29T01:00:00Z"},
		{"clock set back", rows(banner, "10:00:00", "10:00:05", "10:00:02"), utc, "line 5: the time is before that of the line above: the clock was set back", ""},
		{"24 and 12 hours", rows(banner, "10:00:00", "10:00:01", "10:00:02 AM"), utc, "line 5: another form of time", ""},
		{"13 o'clock in the morning", rows(banner, "13:00:00 AM", "13:00:01 AM"), utc, "is no time", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ReadSar("f", []byte(tt.text), tt.o)
			if tt.refused != "" {
				if f != nil || err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v, want %s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var times []string
			for _, tick := range f.Boots[0] {
				times = append(times, f.Start.Add(time.Duration(tick.Blocks[0].BootNS)).Format(time.RFC3339))
			}
			if got := strings.Join(times, " "); got != tt.times {
				t.Errorf("got %s, want %s", got, tt.times)
			}
		})
	}
	f, err := ReadSar("f", []byte(twelve("2026-03-01")), utc)
	if err != nil || of(cellsOf(t, f), f, "cpu", "all", "user_pct") != "1.00 2.00 3.00 4.00" || f.DurationNS != 4e9 {
		t.Error(f, err)
	}
}

// Rates that can't be true are null, and stand as printed in quality.
func TestImpossibleRates(t *testing.T) {
	nic := func(device string, rx, util string) string {
		return fmt.Sprintf(`{"iface": %q, "rxpck": 900.00, "txpck": 900.00, "rxkB": %s, "txkB": 10.00, "rxcmp": 0.00, "txcmp": 0.00, "rxmcst": 0.00, "ifutil-percent": %s}`, device, rx, util)
	}
	disk := func(tps, util string) string {
		return fmt.Sprintf(`"disk": [{"disk-device": "sda", "tps": %s, "rd_sec": 4.00, "wr_sec": 8.00, "rkB": 2.00, "wkB": 4.00, "areq-sz": 3.00, "aqu-sz": 0.10, "await": 0.50, "util-percent": %s}]`, tps, util)
	}
	f, cells := mustSadf(t, sadfText(
		`"network": {"net-dev": [`+nic("eth0", "600.00", "0.05")+", "+nic("eth1", "125000.00", "10.24")+`]}, `+disk("10.00", "12.00"),
		`"network": {"net-dev": [`+nic("eth0", "250000000.00", "20480.00")+", "+nic("eth1", "125000000.00", "10240.00")+`]}, `+disk("9223372036854775808.00", "2260.00"),
		`"network": {"net-dev": [`+nic("eth0", "620.00", "0.05")+", "+nic("eth1", "-3.00", "0.00")+`]}, `+disk("11.00", "100.40")+`, "process-and-context-switch": {"proc": 18446744073709551616.00, "cswch": 5.00}, "memory": {"swpfree": 18446744073709551615}`))
	for _, tt := range []struct{ table, device, column, want string }{
		{"net", "eth0", "rx_bytes_per_s", "614400.00 - 634880.00"}, // 600 and 620 kB/s: mean 610, 2 of 3
		{"net", "eth0", "tx_bytes_per_s", "10240.00 10240.00 10240.00"},
		{"net", "eth1", "rx_bytes_per_s", "128000000.00 - -"}, // 128 GB/s on 10 Gbit/s, as %ifutil says
		{"disk", "sda", "tps", "10.00 - 11.00"},
		{"disk", "sda", "await_s", "0.00 - 0.00"},
		{"disk", "sda", "io_pct", "12.00 - 100.40"},
		{"disk", "sda", "write_bytes_per_s", "4096.00 4096.00 4096.00"},
		{"memory", "", "swap_free_bytes", "- - -"},
	} {
		if got := of(cells, f, tt.table, tt.device, tt.column); got != tt.want {
			t.Errorf("%s.%s of %s: %s, want %s", tt.table, tt.column, tt.device, got, tt.want)
		}
	}
	want := []string{
		"2s net.rx_bytes_per_s eth0 impossible 250000000.00", "2s net.rx_bytes_per_s eth1 impossible 125000000.00",
		"2s disk.tps sda impossible 9223372036854775808.00", "2s disk.areq_bytes sda impossible 3.00", "2s disk.await_s sda impossible 0.50", "2s disk.io_pct sda impossible 2260.00",
		"3s net.rx_bytes_per_s eth1 impossible -3.00", "3s kernel.forks_per_s impossible 18446744073709551616.00", "3s memory.swap_free_bytes impossible 18446744073709551615",
	}
	if got := notesOf(f); !slices.Equal(got, want) {
		t.Errorf("quality:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// More reclaimed than scanned: sysstat counts pages twice. Flagged, not clipped.
func TestReclaimCountedTwice(t *testing.T) {
	paging := func(steal, eff string) string {
		return `"paging": {"pgpgin": 0.00, "pgscank": 130000.00, "pgscand": 900.00, "pgsteal": ` + steal + `, "vmeff-percent": ` + eff + `}`
	}
	f, cells := mustSadf(t, sadfText(paging("65450.00", "50.00"), paging("140000.00", "106.95"), `"paging": {"pgscank": 0.00, "pgscand": 0.00, "pgsteal": 0.00, "vmeff-percent": 0.00}`))
	if got := of(cells, f, "paging", "", "vmeff_pct"); got != "50.00 - -" {
		t.Errorf("efficiency %s", got)
	}
	if got := of(cells, f, "paging", "", "pgsteal_per_s"); got != "65450.00 140000.00 0.00" {
		t.Errorf("reclaimed %s", got)
	}
	if got := notesOf(f); !slices.Equal(got, []string{"2s paging.vmeff_pct impossible 106.95"}) || !strings.Contains(strings.Join(f.Warnings, ""), "may be twice") {
		t.Errorf("quality %q, warnings %q", got, f.Warnings)
	}
}

// Times of sadf: UTC, local with a zone told, samples of one second, a clock set back.
func TestSadfTimes(t *testing.T) {
	doc := func(zone string, stamps ...string) string {
		text := `{"sysstat": {"hosts": [{"nodename": "h1", ` + zone + `"statistics": [`
		for i, s := range stamps {
			if i > 0 {
				text += ","
			}
			text += `{"timestamp": {` + s + `}, "queue": {"plist-sz": ` + fmt.Sprint(i) + `}}`
		}
		return text + `], "restarts": []}]}}`
	}
	at := func(clock string, utc, interval int) string {
		return fmt.Sprintf(`"date": "2026-10-25", "time": %q, "utc": %d, "interval": %d`, clock, utc, interval)
	}
	for _, tt := range []struct {
		name, text string
		o          ForeignOptions
		refused    string
		start      string
		elapsed    string
		notes      []string
	}{
		{"UTC", doc("", at("10:00:01", 1, 1), at("10:00:02", 1, 1)), ForeignOptions{}, "", "10:00:00Z", "1s 2s", nil},
		{"until 10.0.4", doc("", at("10-00-01", 1, 1)), ForeignOptions{}, "", "10:00:00Z", "1s", nil},
		{"local, not told where", doc("", at("10:00:01", 0, 1)), ForeignOptions{}, "the zone of the times is not told: give it", "", "", nil},
		{"local, given", doc("", at("10:00:01", 0, 1)), ForeignOptions{Zone: time.FixedZone("", 3600)}, "", "09:00:00Z", "1s", nil},
		{"local, told", doc(`"timezone": "Europe/Paris", `, at("10:00:01", 0, 1)), ForeignOptions{}, "", "09:00:00Z", "1s", nil},
		{"local, told in letters that many have", doc(`"timezone": "CET", `, at("10:00:01", 0, 1)), ForeignOptions{}, "the zone of the times is not told", "", "", nil},
		{"local, the hour that is twice", doc(`"timezone": "Europe/Paris", `, at("02:30:01", 0, 1)), ForeignOptions{}, "showed it twice", "", "", nil},
		{"no date", doc("", at("x", 1, 1)), ForeignOptions{}, `time "2026-10-25 x": want`, "", "", nil},
		{"an interval that can't be", doc("", `"date": "2026-10-25", "time": "10:00:00", "utc": 1, "interval": 184467440737095516`, at("10:00:01", 1, 1)), ForeignOptions{}, "", "10:00:00Z", "1s", []string{"1s . skipped"}},
		{"two samples in a second as printed", doc("", at("10:00:01", 1, 1), at("10:00:01", 1, 1), at("10:00:03", 1, 1)), ForeignOptions{}, "", "10:00:00Z", "1s 2s 3s", []string{"2s . coarse"}},
		{"clock set back", doc("", at("10:00:05", 1, 1), at("10:00:02", 1, 1), at("10:00:03", 1, 1), at("10:00:04", 1, 1), at("10:00:09", 1, 5)), ForeignOptions{}, "", "10:00:04Z", "1s 2s 3s 4s 5s", []string{"2s . clock-step"}},
		{"no samples", doc(""), ForeignOptions{}, "no sample of any length", "", "", nil},
		{"two hosts", `{"sysstat": {"hosts": [{"nodename": "a"}, {"nodename": "b"}]}}`, ForeignOptions{}, "a second host: make a file of each", "", "", nil},
		{"something else", `{"a": [1, {"b": null}]}`, ForeignOptions{}, "not of sadf -j", "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ReadSadf("f", []byte(tt.text), tt.o)
			if tt.refused != "" {
				if f != nil || err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v, want %s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var elapsed []string
			for _, tick := range f.Boots[0] {
				elapsed = append(elapsed, time.Duration(tick.Blocks[0].BootNS).String())
			}
			if got := strings.Join(elapsed, " "); got != tt.elapsed || f.Start.Format("15:04:05Z") != tt.start || !slices.Equal(notesOf(f), tt.notes) {
				t.Errorf("from %v: %s, %q", f.Start, got, notesOf(f))
			}
		})
	}
}

// A row that does not fit its heading is refused, not guessed at.
func TestSarTorn(t *testing.T) {
	torn := restarted[:strings.LastIndex(restarted, "60.00")+2]
	for _, tt := range []struct{ name, text, refused, salvaged string }{
		{"the last line", torn, "line 12: cut off: it has no end", "90.00 80.00 70.00"},
		{"a line within", strings.Replace(restarted, "     80.00\n", "\n", 1), "line 5: 6 values below 7 headings", "90.00"},
		{"no number", strings.Replace(restarted, "80.00", "8o.00", 1), `line 5: %idle: "8o.00": not a number`, "90.00"},
		{"values first", "Linux 6.1.0 (h1) 2026-03-01 _x86_64_ (4 CPU)\n\n10:00:02   all 1.00\n", "line 3: values before any heading", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := ReadSar("f", []byte(tt.text), utc); f != nil || err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v, want %s", err, tt.refused)
			}
			f, err := ReadSar("f", []byte(tt.text), ForeignOptions{Zone: time.UTC, Salvage: true})
			if tt.salvaged == "" {
				if err == nil {
					t.Error("salvaged nothing, and says so by no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := of(cellsOf(t, f), f, "cpu", "all", "idle_pct"); got != tt.salvaged || len(f.Incomplete) == 0 {
				t.Errorf("idle %s, %q", got, f.Incomplete)
			}
		})
	}
}

// -z leaves out rows without activity, and with them whole samples: the heading, which
// then is printed each time, has the time at which the interval began.
func TestSarLeavesOutZeros(t *testing.T) {
	const heading = "       rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil IFACE\n"
	f, err := ReadSar("f", []byte("Linux 6.1.0 (h1) \t2026-03-01 \t_x86_64_\t(4 CPU)\n\n10:00:00"+heading+"10:00:01         1.00      2.00      3.00      4.00      0.00      0.00      0.00      0.00 eth0\n"+
		"\n10:00:04"+heading+"10:00:05         1.00      2.00      3.00      4.00      0.00      0.00      0.00      0.00 eth0\n\nAverage:"+heading+"Average:         0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00 eth0\n"), utc)
	if err != nil {
		t.Fatal(err)
	}
	ticks := f.Boots[0]
	if len(ticks) != 2 || ticks[1].Blocks[0].BootNS != 5e9 || ticks[1].Blocks[0].IntervalNS != 1e9 || len(f.Warnings) > 0 {
		t.Errorf("%+v, %q", ticks, f.Warnings)
	}
}
