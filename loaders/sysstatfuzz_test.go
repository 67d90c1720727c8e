package loaders

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/steadybench/steady/schemas"
)

// asSadf prints a file's values as sadf -j would, those aside that it prints in a form
// from which they don't come back by themselves.
func asSadf(f *Foreign) string {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	var samples, restarts []string
	stamp := func(elapsed int64) string {
		t := f.Start.Add(time.Duration(elapsed))
		return fmt.Sprintf(`"date": %q, "time": %q, "utc": 1`, t.Format(time.DateOnly), t.Format(time.TimeOnly))
	}
	last := int64(0)
	for i, boot := range f.Boots {
		if i > 0 {
			restarts = append(restarts, `{"boot": {`+stamp(last)+`}}`)
		}
		for _, tick := range boot {
			if len(tick.Blocks) == 0 {
				continue
			}
			last = tick.Blocks[0].BootNS
			groups := map[string][]string{}
			for _, a := range sarActivities() {
				var rows []string
				for k := range tick.Blocks {
					rows = append(rows, rowsAsSadf(a, &tick.Blocks[k], quote)...)
				}
				if len(rows) == 0 {
					continue
				}
				group, name, ok := strings.Cut(a.paths[0], "/")
				if !ok {
					group, name = "", group
				}
				value := "[" + strings.Join(rows, ", ") + "]"
				if a.head == "" {
					value = strings.Join(rows, `, "`+name+`": `) // a row of each device, as A_PSI has
				}
				groups[group] = append(groups[group], quote(name)+": "+value)
			}
			text := `{"timestamp": {` + stamp(last) + fmt.Sprintf(`, "interval": %d}`, tick.Blocks[0].IntervalNS/1e9)
			for group, members := range groups {
				if group == "" {
					text += ", " + strings.Join(members, ", ")
				} else {
					text += ", " + quote(group) + ": {" + strings.Join(members, ", ") + "}"
				}
			}
			samples = append(samples, text+"}")
		}
	}
	return `{"sysstat": {"hosts": [{"statistics": [` + strings.Join(samples, ",\n") + `], "restarts": [` + strings.Join(restarts, ", ") + `]}]}}`
}

func rowsAsSadf(a *sarActivity, b *schemas.Block, quote func(string) string) []string {
	var out []string
	n, stored := len(b.Table.Columns), b.Table.Stored()
	for r := range b.Rows() {
		device := ""
		if b.Table.Device != "" {
			device = b.Devices[r]
		}
		get := func(c *sarColumn) (float64, bool) {
			switch {
			case c.table != b.Table, c.device != "" && c.device != device:
				return 0, false
			case c.rate >= 0:
				if b.Rates == nil || math.IsNaN(b.Rates[r*len(stored)+c.rate]) {
					return 0, false
				}
				return b.Rates[r*len(stored)+c.rate], true
			case !b.Known[r*n+c.column]:
				return 0, false
			case c.def.Div != 0:
				return float64(b.Values[r*n+c.column]) / c.def.Div, true
			}
			return float64(b.Values[r*n+c.column]), true
		}
		var members []string
		put := func(key string, v float64) {
			members = append(members, quote(key)+": "+strconv.FormatFloat(v, 'f', -1, 64))
		}
		if a.form == sarFormInterrupts {
			rate := func(metric string) (float64, bool) {
				for k, m := range stored {
					if m.Name == metric && b.Rates != nil && !math.IsNaN(b.Rates[r*len(stored)+k]) {
						return b.Rates[r*len(stored)+k], true
					}
				}
				return 0, false
			}
			switch b.Table.Name {
			case "interrupts_cpu":
				if v, ok := rate("interrupts_per_s"); ok && device == schemas.All {
					device = "sum"
					put("all", v)
				} else if ok {
					out = append(out, fmt.Sprintf(`{"intr": "sum", %s: %s}`, quote("CPU"+device), strconv.FormatFloat(v, 'f', -1, 64)))
				}
			case "interrupts":
				if v, ok := rate("count_per_s"); ok {
					put("all", v)
				}
			}
			if len(members) > 0 {
				out = append(out, fmt.Sprintf(`{"intr": %s, %s}`, quote(device), strings.Join(members, ", ")))
			}
			continue
		}
		if a.table != b.Table.Name || a.form == sarFormUSB {
			continue
		}
		for i := range a.columns {
			c := &a.columns[i]
			v, ok := get(c)
			if !ok || c.json == "" || c.after != "" || c.sar == "%usr" || c.sar == "kbmemused" {
				continue
			}
			if c.added != "" {
				other, ok := get(&a.columns[a.bySar[c.added]])
				if !ok {
					continue
				}
				v -= other
			}
			if c.sar == "runq-sz" {
				v--
			}
			if c.text {
				members = append(members, quote(c.json)+": "+map[float64]string{0: `"Full"`, 1: `"Discharging"`}[v])
				continue
			}
			put(c.json, v/c.mul)
		}
		if len(members) == 0 {
			continue
		}
		if a.head != "" {
			if a.form == sarFormSensor {
				at := strings.LastIndex(device, "/")
				members = append(members, `"device": `+quote(device[:at]))
				device = strings.TrimPrefix(device[at+1:], strings.ToLower(a.head))
			}
			if a.form == sarFormBattery {
				device = strings.TrimPrefix(device, "BAT")
			}
			members = append(members, quote(a.key)+": "+quote(device))
		}
		out = append(out, "{"+strings.Join(members, ", ")+"}")
	}
	return out
}

// checkReprint checks that what was read is the same when it is printed and read again.
func checkReprint(t *testing.T, f *Foreign) {
	t.Helper()
	cells := cellsOf(t, f)
	for k := range cells {
		if !utf8.ValidString(k.device) {
			return // JSON can't say it
		}
		if k.table == "usb" || k.column == "total_bytes" && k.table == "memory" || k.table == "memory" && k.column == "available_bytes" {
			delete(cells, k)
		}
	}
	for _, boot := range f.Boots {
		for _, tick := range boot {
			if len(tick.Blocks) == 0 {
				return // whose time isn't told
			}
		}
	}
	if len(cells) == 0 {
		return
	}
	text := asSadf(f)
	g, err := ReadSadf("again", []byte(text), ForeignOptions{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again := cellsOf(t, g)
	for k, v := range cells {
		if k.table == "cpu" && k.column == "busy_pct" {
			continue // formed of rounded parts
		}
		if w, ok := again[k]; !ok || math.Abs(v-w) > 1e-6+1e-9*math.Abs(v) {
			t.Fatalf("%v: %v, again %v %v\n%s", k, v, w, ok, text)
		}
	}
}

func TestSysstatReprints(t *testing.T) {
	for _, file := range []string{"restart_sadf_j_A.json", "restart_sar_A.txt", "cpu_offline_sadf_d.csv", "restart_sar_human.txt", "sadf_j_A_17_03_45.json"} {
		f, err := readSysstat(t, file, utc)
		if err != nil {
			t.Fatal(err)
		}
		checkReprint(t, f)
	}
}

// checkRead checks what holds of any text: refused, it gives no rows; accepted, it gives
// the same again.
func checkRead(t *testing.T, f *Foreign, err error, salvage bool) {
	t.Helper()
	if err != nil {
		if f != nil {
			t.Fatal("refused, and rows: ", err)
		}
		return
	}
	if len(f.Incomplete) > 0 && !salvage {
		t.Fatal("incomplete unasked: ", f.Incomplete)
	}
	n := 0
	for _, boot := range f.Boots {
		n += len(boot)
	}
	if n == 0 || f.DurationNS <= 0 {
		t.Fatalf("no ticks, or no time: %d, %d", n, f.DurationNS)
	}
	checkReprint(t, f)
}

func seeds(f *testing.F, add func(string), suffix string, also ...string) {
	files, err := filepath.Glob("testdata/sysstat/*" + suffix)
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 4000 {
			add(string(text))
		}
	}
	for _, s := range also {
		add(s)
	}
}

func FuzzReadSadf(f *testing.F) {
	add := func(s string) { f.Add(s, false); f.Add(s, true) }
	seeds(f, add, ".json",
		sadfText(`"cpu-load": [{"cpu": "all", "user": 1.00, "idle": 99.00}]`, `"power-management": {"battery": [{"number": 0, "percent-capacity": 80, "status": "Charging"}], "temperature": [{"number": 1, "degC": nan, "device": "a/b"}]}`),
		sadfText(`"interrupts": [{"intr": "sum", "all": 3.00, "CPU0": 1.00, "CPU1": 2.00}, {"intr": "LOC", "value": 1.00}]`),
		sadfText(`"memory": {"memfree": 1, "swpfree": 2, "swpused": 3}, "hugepages": {"hugfree": 1, "hugused": 1}, "filesystems": [{"mountpoint": "/a\040b", "MBfsfree": 1, "MBfsused": 2}]`))
	seeds(f, add, ".csv")
	f.Fuzz(func(t *testing.T, text string, salvage bool) {
		got, err := ReadSadf("f", []byte(text), ForeignOptions{Zone: time.UTC, Salvage: salvage})
		checkRead(t, got, err, salvage)
		if err == nil && !salvage && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && !json.Valid([]byte(text)) && !strings.ContainsAny(text, `\`) && !strings.Contains(text, "nan") && !strings.Contains(text, "inf") {
			t.Fatal("accepted what is no JSON")
		}
	})
}

func FuzzReadSar(f *testing.F) {
	add := func(s string) { f.Add(s, false); f.Add(s, true) }
	seeds(f, add, ".txt", restarted)
	f.Fuzz(func(t *testing.T, text string, salvage bool) {
		got, err := ReadSar("f", []byte(text), ForeignOptions{Zone: time.UTC, Salvage: salvage})
		checkRead(t, got, err, salvage)
	})
}
