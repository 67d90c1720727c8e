package loaders

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

var utc = ForeignOptions{Zone: time.UTC}

// readSysstat reads a file by the reader that its content asks for.
func readSysstat(t testing.TB, name string, o ForeignOptions) (*Foreign, error) {
	t.Helper()
	path := filepath.Join("testdata/sysstat", name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case IsSa(text):
		needSadf(t)
		f, _, err := ReadSa(path, o)
		return f, err
	case strings.HasPrefix(string(text), "Linux "):
		return ReadSar(name, text, o)
	}
	return ReadSadf(name, text, o)
}

func needSadf(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("sadf"); err != nil {
		t.Skip("sysstat's sadf is not installed, which alone reads binary files")
	}
}

// cell is one value of a foreign file.
type cell struct {
	at     time.Duration // since the start
	table  string
	device string
	column string // or metric
}

// cellsOf are the values of a file, those of its quality aside.
func cellsOf(t testing.TB, f *Foreign) map[cell]float64 {
	t.Helper()
	out := map[cell]float64{}
	last := int64(-1)
	for _, boot := range f.Boots {
		for _, tick := range boot {
			for i := range tick.Blocks {
				b := &tick.Blocks[i]
				if b.BootNS <= last && i == 0 || b.BootNS != tick.Blocks[0].BootNS || b.IntervalNS <= 0 {
					t.Fatalf("table %s ends at %d after %d, with interval %d", b.Table.Name, b.BootNS, last, b.IntervalNS)
				}
				stored := b.Table.Stored()
				n, rows := len(b.Table.Columns), b.Rows()
				if len(b.Values) != rows*n || len(b.Known) != rows*n || b.Rates != nil && len(b.Rates) != rows*len(stored) {
					t.Fatalf("table %s: %d rows, %d values, %d rates", b.Table.Name, rows, len(b.Values), len(b.Rates))
				}
				for r := range rows {
					k := cell{at: time.Duration(b.BootNS), table: b.Table.Name}
					if b.Table.Device != "" {
						k.device = b.Devices[r]
					}
					for c := range n {
						if b.Known[r*n+c] {
							k.column = b.Table.Columns[c].Name
							v := float64(b.Values[r*n+c])
							if div := b.Table.Columns[c].Div; div != 0 {
								v /= div
							}
							out[k] = v
						}
					}
					for m := range stored {
						if b.Rates != nil && !math.IsNaN(b.Rates[r*len(stored)+m]) {
							k.column = stored[m].Name
							out[k] = b.Rates[r*len(stored)+m]
						}
					}
				}
			}
			if len(tick.Blocks) > 0 {
				last = tick.Blocks[0].BootNS
			}
		}
	}
	return out
}

// notesOf are the rows of quality, as "2s cpu.user_pct 0 impossible 120.00".
func notesOf(f *Foreign) []string {
	var out []string
	for _, boot := range f.Boots {
		for _, tick := range boot {
			for _, r := range tick.Rows {
				get := func(column string) string { return r.Cells[schemas.Quality.Column(column)].Text }
				out = append(out, strings.Join(strings.Fields(fmt.Sprint(time.Duration(r.BootNS), " ", get("table"), ".", get("column"), " ", get("part"), " ", get("reason"), " ", get("current"))), " "))
			}
		}
	}
	return out
}

func ticksOf(f *Foreign) []int {
	var out []int
	for _, boot := range f.Boots {
		out = append(out, len(boot))
	}
	return out
}

// Each file of the corpus, cut where it is long, has the values that were found in it by
// other means, or is refused with the way out.
func TestSysstatCorpus(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int, table, device, column string) cell {
		return cell{time.Duration(s) * time.Second, table, device, column}
	}
	nic := func(device string) func(map[cell]float64) string {
		return func(cells map[cell]float64) string {
			var seconds []string
			for s := range 20 {
				if _, ok := cells[at(s, "net", device, "rx_bytes_per_s")]; ok {
					seconds = append(seconds, fmt.Sprint(s))
				}
			}
			return strings.Join(seconds, " ")
		}
	}
	for _, tt := range []struct {
		file    string
		o       ForeignOptions
		refused string // a part of the error
		start   string
		ticks   []int
		seconds int64
		cells   map[cell]float64
		also    func(map[cell]float64) string
		want    string // of also
		notes   []string
		warning string
	}{
		{file: "sar_u.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{120}, seconds: 120,
			cells: map[cell]float64{
				at(48, "cpu", "all", "user_pct"): 59.90, at(48, "cpu", "all", "nice_pct"): 0, at(48, "cpu", "all", "kernel_pct"): 37.06, at(48, "cpu", "all", "iowait_pct"): 0.51,
				at(48, "cpu", "all", "steal_pct"): 0, at(48, "cpu", "all", "idle_pct"): 2.54, at(48, "cpu", "all", "busy_pct"): 96.96,
			},
			also: func(cells map[cell]float64) string { // the mean of the rows; sar's own average is that of the counters, 48.76
				sum := 0.0
				for s := 1; s <= 120; s++ {
					sum += cells[at(s, "cpu", "all", "idle_pct")]
				}
				return fmt.Sprintf("%.4f", sum/120)
			}, want: "48.5117"},
		{file: "sar_u_ALL_P_ALL.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20, cells: map[cell]float64{at(4, "cpu", "1", "user_pct"): 0.98, at(4, "cpu", "1", "system_pct"): 0.98, at(4, "cpu", "1", "kernel_pct"): 0.98, at(4, "cpu", "1", "busy_pct"): 1.96}},
		{file: "sar_u_ISO.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20},
		{file: "sar_u_en_US_12h.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20},
		{file: "sar_u_TZ_NY.txt", o: ForeignOptions{Zone: newYork}, start: "2026-11-30T17:02:57Z", ticks: []int{120}, seconds: 120, cells: map[cell]float64{at(48, "cpu", "all", "user_pct"): 59.90}},
		{file: "sar_u_t_TZ_NY.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{120}, seconds: 120},
		{file: "sar_u.txt", refused: "sar's text tells no zone: give it"},
		{file: "sar_u_window.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{12}, seconds: 120, cells: map[cell]float64{at(50, "cpu", "all", "user_pct"): 59.48}},
		{file: "sar_u_de_DE.txt", o: utc, refused: "line 4: %usr: a decimal comma: the tool ran in another locale: make the file anew by LC_ALL=C sadf -j"},
		{file: "sar_u_de_DE.txt", o: ForeignOptions{Zone: time.UTC, Salvage: true}, refused: "a decimal comma"},
		{file: "sar_u_fr_FR.txt", o: utc, refused: "line 4: %user: a decimal comma"},
		{file: "sar_d.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{120}, seconds: 120, cells: map[cell]float64{
			at(48, "disk", "vda", "tps"): 2510, at(48, "disk", "vda", "read_bytes_per_s"): 0, at(48, "disk", "vda", "write_bytes_per_s"): 6804 * 1024, at(48, "disk", "vda", "discard_bytes_per_s"): 1352 * 1024,
			at(48, "disk", "vda", "areq_bytes"): 3.25 * 1024, at(48, "disk", "vda", "queue_size"): 0.20, at(48, "disk", "vda", "await_s"): 0.06e-3, at(48, "disk", "vda", "io_pct"): 20.40,
		}, also: func(cells map[cell]float64) string { // in an idle second there is no mean time of a request
			_, known := cells[at(2, "disk", "vda", "await_s")]
			return fmt.Sprint(cells[at(2, "disk", "vda", "tps")], known)
		}, want: "0 false"},
		{file: "sar_d_pretty.txt", o: utc, ticks: []int{120}, start: "2026-11-30T17:02:57Z", seconds: 120, cells: map[cell]float64{at(48, "disk", "vda", "tps"): 2510}},
		{file: "sar_n_DEV_nic.txt", o: utc, start: "2026-11-30T17:04:00Z", ticks: []int{20}, seconds: 20, also: nic("vC0"), want: "3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"},
		{file: "sar_n_DEV_nic.txt", o: utc, start: "2026-11-30T17:04:00Z", ticks: []int{20}, seconds: 20, also: nic("lo"), want: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"},
		{file: "sar_B.txt", o: utc, start: "2026-11-30T17:03:40Z", ticks: []int{10}, seconds: 10, also: func(cells map[cell]float64) string {
			_, known := cells[at(5, "paging", "", "vmeff_pct")] // nothing was scanned
			return fmt.Sprint(known)
		}, want: "false"},
		{file: "sadf_j_A_17_03_45.json", start: "2026-11-30T17:03:43Z", ticks: []int{5}, seconds: 5, cells: map[cell]float64{
			at(2, "memory", "", "free_bytes"): 17827000 << 10, at(2, "memory", "", "buffers_bytes"): 100532 << 10, at(2, "memory", "", "cached_bytes"): 5414100 << 10, at(2, "memory", "", "slab_bytes"): 362932 << 10,
			at(2, "memory", "", "total_bytes"): 24684092 << 10, at(2, "cpu", "all", "user_pct"): 59.90, at(2, "disk", "vda", "tps"): 2510, at(2, "disk", "all", "discard_bytes_per_s"): 2704 * 512,
		}},
		{file: "stress80_sadf_u.csv", start: "2026-11-30T16:52:09Z", ticks: []int{71}, seconds: 71, also: func(cells map[cell]float64) string { // 16:52:17 to 16:53:13
			sum, n := 0.0, 0
			for s := 8; s <= 64; s++ {
				sum, n = sum+100-cells[at(s, "cpu", "all", "idle_pct")], n+1
			}
			return fmt.Sprintf("%.2f of %d", sum/float64(n), n)
		}, want: "80.39 of 57"},
		{file: "restart_sar_u.txt", o: utc, start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, cells: map[cell]float64{at(5, "cpu", "all", "user_pct"): 72.86, at(6, "cpu", "all", "user_pct"): 88.50, at(11, "cpu", "all", "user_pct"): 95.98, at(14, "cpu", "all", "idle_pct"): 67.18},
			notes: []string{"5s . skipped", "11s . reboot"}, warning: "samples of interval 0 are left out"},
		{file: "restart_sar_u_noC.txt", o: utc, start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, notes: []string{"5s . skipped", "11s . reboot"}},
		{file: "restart_sadf_j.json", start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, cells: map[cell]float64{at(6, "cpu", "all", "user_pct"): 88.50, at(14, "cpu", "all", "idle_pct"): 67.18}, notes: []string{"6s . skipped", "11s . reboot"}},
		{file: "restart_sadf_d.csv", start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, cells: map[cell]float64{at(14, "net", "eth0", "rx_bytes_per_s"): 7268.24 * 1024}, notes: []string{"5s . skipped", "11s . reboot"}},
		{file: "restart_sadf_p.txt", refused: "neither JSON, as sadf -j prints, nor fields with a heading, as sadf -d: make JSON by LC_ALL=C sadf -j"},
		{file: "restart_sadf_x.xml", refused: "XML, as sadf -x prints: make JSON by LC_ALL=C sadf -j"},
		{file: "restart_sar_dec0.txt", o: utc, start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, cells: map[cell]float64{at(1, "cpu", "all", "user_pct"): 77}, notes: []string{"5s . skipped", "11s . reboot"}, warning: "numbers are rounded: they have 0 decimals"},
		{file: "restart_sar_human.txt", o: utc, start: "2026-11-30T16:22:31Z", ticks: []int{8, 4}, seconds: 14, cells: map[cell]float64{at(1, "cpu", "all", "user_pct"): 76.7, at(14, "filesystem", "/dev/vda", "size_bytes"): math.Round(234.7*(1<<30) + 17.2*(1<<30)), at(14, "net", "eth0", "rx_bytes_per_s"): 7.1 * (1 << 20)}, notes: []string{"5s . skipped", "11s . reboot"},
			warning: "numbers are rounded, as sar --human prints them"},
		{file: "cpu_offline_sar_u.txt", o: utc, start: "2026-11-30T17:04:59Z", ticks: []int{24}, seconds: 24, notes: []string{"17s cpu. 1 hotplug"}, also: func(cells map[cell]float64) string {
			n := 0
			for s := 1; s <= 24; s++ {
				if _, ok := cells[at(s, "cpu", "1", "idle_pct")]; ok {
					n++
				}
			}
			return fmt.Sprint(n)
		}, want: "16"},
		{file: "cpu_offline_sadf_j.json", start: "2026-11-30T17:04:59Z", ticks: []int{24}, seconds: 24, notes: []string{"17s cpu. 1 hotplug"}},
		{file: "cpu_offline_sadf_d.csv", start: "2026-11-30T17:04:59Z", ticks: []int{24}, seconds: 24, notes: []string{"17s cpu. 1 hotplug"}},
		{file: "truncated_sar_u.txt", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{68}, seconds: 68, warning: "the text does not end in averages"},
		{file: "truncated_sadf_j.json", start: "2026-11-30T17:02:57Z", ticks: []int{68}, seconds: 68},
		{file: "sadf_d_uPALL.csv", start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20},
		{file: "sadf_dU_uPALL.csv", start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20},
		{file: "sadf_dT_uPALL.csv", o: utc, start: "2026-11-30T17:02:57Z", ticks: []int{20}, seconds: 20},
		{file: "sadf_dT_uPALL.csv", refused: "line 2: timestamp \"2026-11-30 17:02:58\": the zone of the times is not told"},
		{file: "sadf_d_de_DE.csv", refused: "line 2: %user: a decimal comma"},
		{file: "sadf_d_h_A.txt", refused: "line 1: of sadf -d -h, which has several devices in a row"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			f, err := readSysstat(t, tt.file, tt.o)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || f != nil {
					t.Fatalf("got %v, want %s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Start.Format(time.RFC3339); got != tt.start || !slices.Equal(ticksOf(f), tt.ticks) || f.DurationNS != tt.seconds*1e9 || f.Host != "vm" {
				t.Errorf("host %s from %s, ticks %v, %d ns", f.Host, got, ticksOf(f), f.DurationNS)
			}
			cells := cellsOf(t, f)
			for k, want := range tt.cells {
				if got, ok := cells[k]; !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
					t.Errorf("%v: %v %v, want %v", k, got, ok, want)
				}
			}
			if tt.also != nil && tt.also(cells) != tt.want {
				t.Errorf("got %s, want %s", tt.also(cells), tt.want)
			}
			if notes := notesOf(f); !slices.Equal(notes, tt.notes) {
				t.Errorf("quality: %q, want %q", notes, tt.notes)
			}
			if all := strings.Join(f.Warnings, "\n"); !strings.Contains(all, tt.warning) || tt.warning == "" && all != "" && !strings.Contains(all, "interval 0") && !strings.Contains(all, "cpufreq") {
				t.Errorf("warnings: %q, want %q", all, tt.warning)
			}
		})
	}
}

// The same seconds are the same, cell by cell, by whichever way they came, and nothing
// that sysstat 12.6.1 prints with -A is unknown.
func TestSysstatSameSecondsAgree(t *testing.T) {
	want, err := readSysstat(t, "restart_sadf_j_A.json", ForeignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, want)
	if len(cells) < 12*300 {
		t.Errorf("%d cells", len(cells))
	}
	for _, file := range []string{"restart_sadf_d_A.csv", "restart_sar_A.txt", "sa_restart_comment"} {
		t.Run(file, func(t *testing.T) {
			f, err := readSysstat(t, file, utc)
			if err != nil {
				t.Fatal(err)
			}
			got := cellsOf(t, f)
			for k, v := range cells {
				if w, ok := got[k]; !ok || math.Abs(v-w) > 1e-9*math.Abs(v) {
					t.Errorf("%v: %v %v, JSON %v", k, w, ok, v)
				}
			}
			if len(got) != len(cells) || !f.Start.Equal(want.Start) || !slices.Equal(ticksOf(f), ticksOf(want)) {
				t.Errorf("%d cells from %v in ticks %v; of JSON %d from %v in %v", len(got), f.Start, ticksOf(f), len(cells), want.Start, ticksOf(want))
			}
			for _, w := range f.Warnings {
				if strings.Contains(w, "not known") {
					t.Error(w)
				}
			}
			if file == "sa_restart_comment" {
				if v := f.Facts["sysstat.version"]; v != "12.6.1" {
					t.Errorf("version %q", v)
				}
				return
			}
			if got, want := f.Facts["sysstat.comment.1"], "2026-11-30T16:22:36Z phase=warmup run=7"; got != want || f.Facts["sysstat.comment.2"] != "" {
				t.Errorf("comments: %v", f.Facts)
			}
		})
	}
	for _, w := range want.Warnings {
		if strings.Contains(w, "not known") {
			t.Error(w)
		}
	}
}

// -p moves names to the end of rows, --human gives numbers units, --dec takes decimals:
// the values stay within what that rounds.
func TestSarOptionsAgree(t *testing.T) {
	want, err := readSysstat(t, "restart_sar_A.txt", utc)
	if err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, want)
	for _, tt := range []struct {
		file     string
		relative float64
		absolute float64
		least    int
	}{
		{"restart_sar_pretty.txt", 1e-9, 0, 500},
		{"restart_sar_human.txt", 0.05, 0.05, 300}, // one decimal: 1.0k is 0.95 to 1.05
		{"restart_sar_dec0.txt", 0.5, 1.5, 80},
	} {
		f, err := readSysstat(t, tt.file, utc)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for k, got := range cellsOf(t, f) {
			v, ok := cells[k]
			absolute := tt.absolute
			if k.column == "user_pct" || k.column == "nice_pct" || k.column == "kernel_pct" || k.column == "busy_pct" {
				absolute += 0.02 // sums of what -u ALL parts
			}
			if !ok || math.Abs(v-got) > max(tt.relative*math.Abs(v), absolute) {
				t.Errorf("%s: %v: %v, want %v %v", tt.file, k, got, v, ok)
			}
			n++
		}
		if n < tt.least {
			t.Errorf("%s: %d cells", tt.file, n)
		}
	}
}

// What sar averages by itself as a mean of its rows is the mean of ours.
func TestMeansAreSarsAverages(t *testing.T) {
	text, err := os.ReadFile("testdata/sysstat/restart_sar_A.txt")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadSar("a", text, utc)
	if err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, f)
	mean := func(table, device, column string, boot int) float64 {
		sum, n := 0.0, 0.0
		for _, tick := range f.Boots[boot] {
			if v, ok := cells[cell{time.Duration(tick.Blocks[0].BootNS), table, device, column}]; ok {
				sum, n = sum+v, n+1
			}
		}
		return sum / n
	}
	// By hand, of the averages of each segment. The first counts the sample of interval 0
	// too, whose levels are those of the sample before: so only the second is compared.
	var heading []string
	boot, checked := 0, 0
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		switch {
		case len(w) == 0:
		case strings.Contains(line, "LINUX RESTART"):
			boot = 1
		case w[0] != "Average:" && len(w) > 1 && w[1] != "COM" && strings.IndexByte("0123456789", w[1][0]) < 0 && strings.IndexByte("0123456789", w[len(w)-1][0]) < 0:
			heading = w[1:]
		case w[0] == "Average:" && boot == 1 && len(w) == len(heading)+1:
			for i, name := range heading {
				for _, want := range []struct {
					sar, table, column string
					scale              float64
				}{
					{"kbmemfree", "memory", "free_bytes", 1024}, {"kbavail", "memory", "available_bytes", 1024}, {"kbslab", "memory", "slab_bytes", 1024}, {"kbswpfree", "memory", "swap_free_bytes", 1024},
					{"ldavg-1", "load", "ldavg_1", 1}, {"plist-sz", "load", "plist_sz", 1},
				} {
					if name != want.sar {
						continue
					}
					var average float64
					fmt.Sscan(w[i+1], &average)
					if got := mean(want.table, "", want.column, boot) / want.scale; math.Abs(got-average) > 0.5 {
						t.Errorf("%s: mean %v, sar's average %v", name, got, average)
					}
					checked++
				}
			}
		}
	}
	if checked != 6 {
		t.Errorf("%d averages compared", checked)
	}
}

// A file cut off is refused by what sadf says of it, though it exits with 0 and prints
// whole JSON; salvage keeps what is before.
func TestReadSaChecksWhatSadfSays(t *testing.T) {
	needSadf(t)
	whole, err := os.ReadFile("testdata/sysstat/sa_restart_comment")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := write("sa-cut", whole[:40000])
	if _, _, err := ReadSa(cut, ForeignOptions{}); err == nil || !strings.Contains(err.Error(), `cut off: sadf says "End of system activity file unexpected"`) {
		t.Errorf("cut off: %v", err)
	}
	f, text, err := ReadSa(cut, ForeignOptions{Salvage: true})
	if err != nil || len(f.Incomplete) == 0 || len(ticksOf(f)) != 1 || ticksOf(f)[0] < 6 || !json.Valid(text) {
		t.Errorf("salvaged: %v, %+v", err, f)
	}
	if _, _, err := ReadSa(write("text", []byte("Linux")), ForeignOptions{}); err == nil || !strings.Contains(err.Error(), "not a binary file of sadc") {
		t.Errorf("text: %v", err)
	}
	other := slices.Clone(whole)
	other[2], other[3] = 0x71, 0x21 // the format of sysstat 10
	if _, _, err := ReadSa(write("old", other), ForeignOptions{}); err == nil || !strings.Contains(err.Error(), "convert it by sadf -c") {
		t.Errorf("another format: %v", err)
	}
	if _, _, err := ReadSa(filepath.Join(t.TempDir(), "none"), ForeignOptions{}); err == nil {
		t.Error("no file")
	}
	if _, err := ReadSadf("sa", whole, ForeignOptions{}); err == nil || !strings.Contains(err.Error(), "a binary file of sadc") {
		t.Errorf("as JSON: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := ReadSa(cut, ForeignOptions{}); err == nil || !strings.Contains(err.Error(), "sadf is not installed: install sysstat, or make JSON") {
		t.Errorf("no sadf: %v", err)
	}
}

// The real sadc, read in all ways.
func TestSysstatLive(t *testing.T) {
	needSadf(t)
	sadc := "/usr/lib/sysstat/sadc"
	if _, err := os.Stat(sadc); err != nil {
		if sadc, err = exec.LookPath("sadc"); err != nil {
			t.Skip("sysstat's sadc is not installed, which records")
		}
	}
	if testing.Short() {
		t.Skip("records for 3 s")
	}
	path := filepath.Join(t.TempDir(), "sa")
	if out, err := exec.Command(sadc, "-S", "XALL", "1", "4", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, _, err := ReadSa(path, ForeignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := cellsOf(t, f)
	if n := ticksOf(f); len(n) != 1 || n[0] != 3 || len(want) < 3*250 {
		t.Fatalf("ticks %v, %d cells", n, len(want))
	}
	for _, w := range f.Warnings {
		if strings.Contains(w, "not known") {
			t.Error(w)
		}
	}
	run := func(name string, arg ...string) []byte {
		c := exec.Command(name, arg...)
		c.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "S_TIME_FORMAT=ISO")
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	texts := map[string]func() (*Foreign, error){
		"sadf -d": func() (*Foreign, error) { return ReadSadf("d", run("sadf", "-d", path, "--", "-A"), utc) },
		"sar":     func() (*Foreign, error) { return ReadSar("sar", run("sar", "-A", "-f", path), utc) },
	}
	for name, read := range texts {
		g, err := read()
		if err != nil {
			t.Fatal(name, err)
		}
		got := cellsOf(t, g)
		for k, v := range want {
			if w, ok := got[k]; !ok || math.Abs(v-w) > 1e-9*math.Abs(v) {
				t.Errorf("%s: %v: %v %v, JSON %v", name, k, w, ok, v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d cells, JSON %d", name, len(got), len(want))
		}
	}
}

// One second, 16:22:34 of the recording, from the kernel's counters (sadf -r) through our
// own way, and as sar printed it: the loaders give the same.
func TestImportIsWhatWeWouldHaveMeasured(t *testing.T) {
	l := newLab(t)
	ticks := func(device string, v ...int64) row { // usr sys iowait steal irq soft idle
		return row{device, map[string]int64{"user_ticks": v[0], "nice_ticks": 0, "system_ticks": v[1], "iowait_ticks": v[2], "steal_ticks": v[3], "irq_ticks": v[4], "softirq_ticks": v[5], "idle_ticks": v[6], "guest_ticks": 0, "guest_nice_ticks": 0}}
	}
	own := l.make(run{system: "own", scenario: "c", ticks: []hostTick{
		read("h", 2, &schemas.CPU, ticks("0", 81887, 30405, 196, 1107, 0, 4937, 45441), ticks("1", 85324, 28005, 664, 1161, 0, 4098, 44668)),
		read("h", 3, &schemas.CPU, ticks("0", 81978, 30415, 196, 1107, 0, 4937, 45442), ticks("1", 85386, 28040, 664, 1162, 0, 4099, 44669)),
	}})
	f, err := readSysstat(t, "restart_sadf_j_A.json", ForeignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var imported []hostTick
	for _, tick := range f.Boots[0] {
		blocks := slices.DeleteFunc(slices.Clone(tick.Blocks), func(b schemas.Block) bool { return b.Table != &schemas.CPU && b.Table != &schemas.Memory })
		imported = append(imported, hostTick{"h", tick.Blocks[0].BootNS / second, blocks, tick.Rows})
	}
	sar := l.make(run{system: "sar", scenario: "c", ticks: imported})
	x, y := l.table(own, &schemas.CPU), l.table(sar, &schemas.CPU)
	third := func(values string) string { return strings.Fields(values)[2] }
	for _, metric := range []string{"user_pct", "nice_pct", "system_pct", "kernel_pct", "irq_pct", "softirq_pct", "iowait_pct", "steal_pct", "guest_pct", "idle_pct", "busy_pct"} {
		for _, device := range []string{Total, "0", "1"} {
			var ours, theirs float64
			fmt.Sscan(strings.Fields(l.values(x, "h", device, metric))[1], &ours)
			fmt.Sscan(third(l.values(y, "h", device, metric)), &theirs)
			if math.Abs(ours-theirs) > 0.0151 { // three parts of two decimals
				t.Errorf("%s of %q: ours %v, sar's %v", metric, device, ours, theirs)
			}
		}
	}
	l.want("all", third(l.values(y, "h", Total, "user_pct")), "75.74")
	m := l.table(sar, &schemas.Memory)
	l.want("used memory", third(l.values(m, "h", "", "used_bytes")), "1199218688.00") // (24684092 - 23512980) kB: MemTotal less kbavail
}

// Reading keeps rows and no tree of the JSON: a sample of 400 values in 20 tables takes a
// handful of allocations a table.
func TestSadfAllocations(t *testing.T) {
	text, err := os.ReadFile("testdata/sysstat/restart_sadf_j_A.json")
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := ReadSadf("f", text, ForeignOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 13*160 {
		t.Errorf("%v allocations for 13 samples", allocs)
	}
}
