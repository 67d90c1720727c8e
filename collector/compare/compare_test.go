package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// The load is this program once more, also where that is a test.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == loadArg {
		main()
	}
	os.Exit(m.Run())
}

// Six seconds beside the real sadc: every column agrees, and none does once what it is
// held against is doubled.
func TestBesideSadc(t *testing.T) {
	c, rows, err := compare(t.Context(), 6*time.Second, true, os.Stderr)
	if errors.Is(err, errNoSadc) {
		t.Skip("skipped: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c.headline())
	for _, s := range c.summary().sentences() {
		t.Log(s)
	}
	moved := map[string]bool{}
	for _, r := range c.results {
		if r.Verdict == differs {
			t.Errorf("%s %s: %d of %d readings agree with %s; %s", r.Activity, r.Sar, r.Agreed, r.Compared, r.Ours, r.largest())
		}
		moved[r.Activity+" "+r.Sar] = r.Verdict == agrees
	}
	for _, name := range []string{"A_CPU %usr", "A_PCSW proc/s", "A_PCSW cswch/s", "A_IRQ sum", "A_IRQ intr/s CPU", "A_PAGE fault/s", "A_PAGE pgfree/s",
		"A_NET_DEV rxkB/s", "A_NET_IP irec/s", "A_NET_TCP active/s", "A_NET_UDP idgm/s", "A_NET_UDP noport/s", "A_NET_SOFT total/s"} {
		if !moved[name] {
			t.Errorf("%s: the load did not move it, or it does not agree", name)
		}
	}

	doubled := deepCopy(activities)
	for i := range doubled {
		for j := range doubled[i].columns {
			doubled[i].columns[j].factor = 2
		}
	}
	wrong, err := judge(doubled, rows, c.brackets)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range wrong {
		least := uint64(1 << 62) // what the column's readings are at least
		for _, s := range r.series {
			for _, p := range s.points {
				least = min(least, p.sar)
			}
		}
		if c.results[i].Agreed > 0 && r.Verdict != differs && r.column.why == "" && least > 3*slack {
			t.Errorf("%s %s: %d of %d readings agree with the double of %s", r.Activity, r.Sar, r.Agreed, r.Compared, r.Ours)
		}
	}

	page := filepath.Join(t.TempDir(), "page.html")
	if err := c.writePage(page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "<figure>"); n < len(moved)/5 {
		t.Errorf("%d charts of %d columns", n, len(moved))
	}
	for _, bad := range []string{"NaN", "Inf", "http:", "https:", "<script", "ZgotmplZ"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
}

func deepCopy(acts []activity) []activity {
	out := slices.Clone(acts)
	for i := range out {
		out[i].columns = slices.Clone(out[i].columns)
	}
	return out
}

// Every column of the table is one of ours, or has a reason why not; no name comes
// twice.
func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range activities {
		for _, c := range a.columns {
			name := a.name + " " + c.sar
			if seen[name] {
				t.Errorf("%s: twice", name)
			}
			seen[name] = true
			if c.ours == "" && c.why == "" {
				t.Errorf("%s: neither ours nor a reason", name)
			}
			if c.ours == "" {
				continue
			}
			if _, err := parseExpr(c.ours); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if c.unit == "" {
				t.Errorf("%s: no unit", name)
			}
		}
	}
}

func readTestdata(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("testdata/sadf.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := parseRaw(f)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRows(t *testing.T) {
	rows := readTestdata(t)
	const first = 12173140 * time.Millisecond
	for _, want := range []row{
		{"A_PCSW", map[string]string{}, first + time.Second, first, false, []value{{"proc/s", true, "189551", "189551"}, {"cswch/s", true, "100277408", "100277582"}}},
		{"A_PCSW", map[string]string{}, first + 2*time.Second, first + time.Second, false, []value{{"proc/s", true, "189551", "189608"}, {"cswch/s", true, "100277582", "100278629"}}},
		{"A_IRQ", map[string]string{"interrupt": ""}, first + time.Second, first, false, []value{{"sum", true, "54507924", "54508312"}}},
		{"A_IRQ", map[string]string{"interrupt": "0"}, first + time.Second, first, false, []value{{"sum CPU", true, "31828352", "31828466"}}},
		{"A_IRQ", map[string]string{"interrupt": "LOC"}, first + time.Second, first, false, []value{{"intr/s", true, "26518154", "26518493"}}},
		{"A_IRQ", map[string]string{"interrupt": "LOC/1"}, first + time.Second, first, false, []value{{"intr/s CPU", true, "11161035", "11161307"}}},
		// The second printing of memory, and a gauge.
		{"A_MEMORY", map[string]string{}, first + 2*time.Second, first + time.Second, false, []value{{"kbswpfree", false, "", "0"}, {"kbttlswp", false, "", "0"}, {"kbswpcad", false, "", "0"}}},
	} {
		if !slices.ContainsFunc(rows, func(got row) bool { return reflect.DeepEqual(got, want) }) {
			t.Errorf("no row %+v", want)
		}
	}
	if slices.ContainsFunc(rows, func(x row) bool { return x.was >= x.at }) {
		t.Error("a row that is not after the one before")
	}
}

func TestMarksOfRows(t *testing.T) {
	const head = "# uptime_cs; 100;\n# uptime_cs; 200;\n# name; A_X;\n"
	for _, tt := range []struct {
		name, line string
		want       []row
		err        string
	}{
		{"a new interface", `1; IFACE [NEW]; veth0; rxpck/s; 0; 2;`, []row{{"A_X", map[string]string{"IFACE": "veth0"}, 2 * time.Second, time.Second, true, []value{{"rxpck/s", true, "0", "2"}}}}, ""},
		{"one that came back", `1; IFACE [BCK]; veth0; rxpck/s; 0; 2;`, []row{{"A_X", map[string]string{"IFACE": "veth0"}, 2 * time.Second, time.Second, true, []value{{"rxpck/s", true, "0", "2"}}}}, ""},
		{"a CPU without ticks", `1; CPU [TLS]; 1; %usr; 7; 7;`, []row{{"A_X", map[string]string{"CPU": "1"}, 2 * time.Second, time.Second, false, []value{{"%usr", true, "7", "7"}}}}, ""},
		{"a number that went back", `1; CPU; 1; %idle [DEC]; 7; 6;`, []row{{"A_X", map[string]string{"CPU": "1"}, 2 * time.Second, time.Second, false, []value{{"%idle", true, "7", "6"}}}}, ""},
		{"a CPU that is offline has no row", `1; CPU [OFF]; 1; %usr; 7; 0;`, nil, "no rows"},
		{"a file system by its device has no row", `1; FILESYSTEM; "/dev/vda"; f_bfree; 7;`, nil, "no rows"},
		{"a mount point", `1; MOUNTPOINT; "/a b"; f_bfree; 7;`, []row{{"A_X", map[string]string{"MOUNTPOINT": "/a b"}, 2 * time.Second, time.Second, false, []value{{"f_bfree", false, "", "7"}}}}, ""},
		{"a new serial line has no numbers yet", `1; TTY [NEW]; 3;`, []row{{"A_X", map[string]string{"TTY": "3"}, 2 * time.Second, time.Second, true, nil}}, ""},
		{"an unknown mark", `1; IFACE [ODD]; veth0; rxpck/s; 0; 2;`, nil, "unknown mark [ODD"},
		{"a name without a number", `1; rxpck/s; txpck/s; 1; 2;`, nil, "rxpck/s has no value"},
		{"three numbers", `1; rxpck/s; 1; 2; 3;`, nil, "three values"},
		{"a device without a name", `1; IFACE;`, nil, "IFACE has no value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseRaw(strings.NewReader(head + tt.line + "\n"))
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
	if _, err := parseRaw(strings.NewReader("1; proc/s; 1; 2;\n")); err == nil {
		t.Error("a row before its activity: no error")
	}
}

// What sysstat has and the table doesn't know is an error, never left out in silence.
func TestUnknownColumnsAreErrors(t *testing.T) {
	rows := readTestdata(t)
	if _, err := judge(activities, rows, nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		row  row
		want string
	}{
		{"activity", row{activity: "A_NEW"}, "A_NEW"},
		{"column", row{activity: "A_SWAP", values: []value{{"new/s", true, "1", "2"}}}, `A_SWAP: column "new/s"`},
		{"device", row{activity: "A_CPU", values: []value{{"%usr", true, "1", "2"}}}, "without CPU"},
		{"number", row{activity: "A_SWAP", at: 3, was: 2, values: []value{{"pswpin/s", true, "1", "1.5"}}}, `A_SWAP: pswpin/s: strconv`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := judge(activities, append(slices.Clone(rows), tt.row), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	b := schemas.Block{Table: &schemas.Memory}
	b.Resize(1)
	set := func(column string, v int64) { b.Set(0, schemas.Memory.Column(column), v) }
	set("total_bytes", 8<<20)
	set("free_bytes", 3<<20)
	set("huge_pages_total", 5)
	set("huge_page_bytes", 2<<20)
	for _, tt := range []struct {
		text  string
		want  uint64
		known bool
	}{
		{"memory.total_bytes", 8 << 20, true},
		{"memory.total_bytes / 1024", 8 << 10, true},
		{"memory.total_bytes - free_bytes", 5 << 20, true},
		{"memory.huge_pages_total * huge_page_bytes / 1024 + 7", 10<<10 + 7, true},
		{"memory.free_bytes - total_bytes", 1<<64 - 5<<20, true}, // modulo 2^64
		{"memory.total_bytes - cached_bytes", 0, false},
	} {
		e, err := parseExpr(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got, known := e.of(&b, 0); got != tt.want || known != tt.known {
			t.Errorf("%s: got %d, %v, want %d, %v", tt.text, got, known, tt.want, tt.known)
		}
	}
	for _, text := range []string{"", "7", "memory", "memory.nonesuch", "nonesuch.x", "memory.total_bytes ^ 2", "memory.total_bytes / free_bytes",
		"memory.total_bytes + cpu.user_ticks", "memory.total_bytes / 0"} {
		if e, err := parseExpr(text); err == nil {
			t.Errorf("%q: no error, %+v", text, e)
		}
	}
}

func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		name    string
		v, a, b uint64
		bits    int
		want    uint64
	}{
		{"between", 5, 3, 7, 0, 0},
		{"at an end", 7, 3, 7, 0, 0},
		{"above", 9, 3, 7, 0, 2},
		{"below", 1, 3, 7, 0, 2},
		{"one that went back", 5, 7, 3, 0, 0},
		{"one that wrapped", 1, 1<<64 - 2, 4, 0, 0},
		{"cut to 32 bits", 7, 1<<32 + 3, 1<<32 + 9, 32, 0},
		{"cut to 32 bits as it wraps", 2, 1<<32 - 3, 1<<32 + 9, 32, 0},
		{"cut to 32 bits, outside", 11, 1<<32 + 3, 1<<32 + 9, 32, 2},
	} {
		if got := outside(tt.v, tt.a, tt.b, tt.bits); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// at makes a reading of block b at second s.
func at(s float64, b schemas.Block) *reading {
	d := time.Duration(s * 1e9)
	b.BootNS = int64(d)
	return &reading{begin: d, end: d, blocks: map[*schemas.Table]schemas.Block{b.Table: b}}
}

// block makes a block of a table with a value in one column, by device; -1 is null.
func block(t *schemas.Table, column string, values ...any) schemas.Block {
	b := schemas.Block{Table: t}
	b.Resize(len(values) / 2)
	for i := 0; i < len(values); i += 2 {
		b.SetDevice(i/2, []byte(values[i].(string)))
		if v := values[i+1].(int); v >= 0 {
			b.Set(i/2, t.Column(column), int64(v))
		}
	}
	return b
}

func TestVerdicts(t *testing.T) {
	rx := func(v ...any) schemas.Block { return block(&schemas.Net, "rx_bytes", v...) }
	packets := func(at int, fresh bool, was, is string) row {
		return row{activity: "X", ids: map[string]string{"IFACE": "eth0"}, at: time.Duration(at) * time.Second, was: time.Duration(at-1) * time.Second, fresh: fresh, values: []value{{"rx", true, was, is}}}
	}
	around := func(n int, before, after schemas.Block) bracket {
		return bracket{at(float64(n)-0.01, before), at(float64(n)+0.01, after)}
	}
	for _, tt := range []struct {
		name     string
		column   column
		rows     []row
		brackets []bracket
		want     string
		result   result
	}{
		{"in between, at the first record too", column{ours: "net.rx_bytes"}, []row{packets(2, false, "10", "25")},
			[]bracket{around(1, rx("eth0", 8), rx("eth0", 12)), around(2, rx("eth0", 20), rx("eth0", 30))}, agrees, result{Compared: 2, Agreed: 2}},
		{"never moved", column{ours: "net.rx_bytes"}, []row{packets(2, false, "10", "10")},
			[]bracket{around(1, rx("eth0", 10), rx("eth0", 10)), around(2, rx("eth0", 10), rx("eth0", 10))}, neverMoved, result{Compared: 2, Agreed: 2}},
		{"two units are nothing", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "32")},
			[]bracket{around(2, rx("eth0", 20), rx("eth0", 30))}, neverMoved, result{Compared: 1, Agreed: 1}},
		{"three are", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "33")},
			[]bracket{around(2, rx("eth0", 20), rx("eth0", 30))}, differs, result{Compared: 1}},
		{"a known reason", column{ours: "net.rx_bytes", why: "known"}, []row{packets(2, true, "0", "33")},
			[]bracket{around(2, rx("eth0", 20), rx("eth0", 30))}, explained, result{Compared: 1}},
		{"a device that came", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "5"), packets(3, false, "5", "7")},
			[]bracket{around(2, rx(), rx("eth0", 5)), around(3, rx("eth0", 6), rx("eth0", 8))}, agrees, result{Compared: 1, Agreed: 1, Passed: 1}},
		{"a device that ours lacks", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "5")},
			[]bracket{around(2, rx("lo", 5), rx("lo", 5))}, differs, result{Compared: 1}},
		{"a column that ours lacks", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "5")},
			[]bracket{around(2, rx("eth0", -1), rx("eth0", -1))}, differs, result{Compared: 1}},
		{"neither knows, and sar says 0", column{ours: "net.rx_bytes", zero: true}, []row{packets(2, true, "0", "0")},
			[]bracket{around(2, rx("eth0", -1), rx("eth0", -1))}, notCompared, result{}},
		{"a record that no readings surround", column{ours: "net.rx_bytes"}, []row{packets(2, true, "0", "5")},
			[]bracket{around(5, rx("eth0", 5), rx("eth0", 5))}, notCompared, result{Passed: 1}},
		{"none of ours", column{why: "none"}, []row{packets(2, true, "0", "5")}, nil, absent, result{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.column.sar = "rx"
			got, err := judge([]activity{{name: "X", id: "IFACE", columns: []column{tt.column}}}, tt.rows, tt.brackets)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			r := got[0]
			if r.Verdict != tt.want || r.Compared != tt.result.Compared || r.Agreed != tt.result.Agreed || r.Passed != tt.result.Passed {
				t.Errorf("got %q, %d compared, %d agreed, %d passed over; want %q, %+v", r.Verdict, r.Compared, r.Agreed, r.Passed, tt.want, tt.result)
			}
			if (r.Verdict == differs) != (r.Worst != nil) && tt.want != explained {
				t.Errorf("worst %+v", r.Worst)
			}
		})
	}
}

// Levels may be 1 % off, and those that come and go may be elsewhere for less than half
// of the readings.
func TestLevels(t *testing.T) {
	free := func(v int) schemas.Block { return block(&schemas.Memory, "free_bytes", "", v) }
	judged := func(level bool, sar ...string) *result {
		var rows []row
		var brackets []bracket
		for i, v := range sar {
			at1 := time.Duration(i+1) * time.Second
			rows = append(rows, row{activity: "X", at: at1, was: at1 - time.Second, values: []value{{"free", false, "", v}}})
			brackets = append(brackets, bracket{at(float64(i)+0.99, free(10000)), at(float64(i)+1.01, free(10000))})
		}
		got, err := judge([]activity{{name: "X", columns: []column{{sar: "free", ours: "memory.free_bytes", level: level}}}}, rows, brackets)
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	for _, tt := range []struct {
		name  string
		level bool
		sar   []string
		want  string
	}{
		{"within 1 %", false, []string{"10100", "9900"}, agrees},
		{"beyond", false, []string{"10000", "10000", "10102"}, differs},
		{"beyond once, of one that comes and goes", true, []string{"10000", "10000", "10102"}, explained},
		{"beyond half of the time", true, []string{"10000", "10102"}, differs},
	} {
		if got := judged(tt.level, tt.sar...); got.Verdict != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got.Verdict, tt.want)
		}
	}
}

func TestTotals(t *testing.T) {
	whole := func(act activity, ids map[string]string, sar string, b schemas.Block) *result {
		rows := []row{{activity: "X", ids: ids, at: 2e9, was: 1e9, fresh: true, values: []value{{"x", true, "0", sar}}}}
		got, err := judge([]activity{act}, rows, []bracket{{at(1.99, b), at(2.01, b)}})
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	cpu := activity{name: "X", id: "CPU", all: "-1", columns: []column{{sar: "x", ours: "cpu.user_ticks"}}}
	mean := cpu
	mean.mean = true
	disks := activity{name: "X", columns: []column{{sar: "x", ours: "disk.reads"}}}
	ticks := block(&schemas.CPU, "user_ticks", "0", 100, "1", 200, "8", 300)
	reads := block(&schemas.Disk, "reads", "vda", 100, "dm-0", 50, "vdb", 20)
	for _, tt := range []struct {
		name string
		a    activity
		ids  map[string]string
		sar  string
		b    schemas.Block
		want bool
	}{
		{"a sum", cpu, map[string]string{"CPU": "-1"}, "600", ticks, true},
		{"a sum of rounded numbers", cpu, map[string]string{"CPU": "-1"}, "604", ticks, true}, // 2, and 1 for each CPU but one
		{"not just any", cpu, map[string]string{"CPU": "-1"}, "605", ticks, false},
		{"a mean", mean, map[string]string{"CPU": "-1"}, "200", ticks, true},
		{"one", mean, map[string]string{"CPU": "8"}, "300", ticks, true},
		{"disks that others count are left out", disks, nil, "120", reads, true},
		{"and only they", disks, nil, "170", reads, false},
	} {
		if got := whole(tt.a, tt.ids, tt.sar, tt.b); (got.Agreed == 1) != tt.want {
			t.Errorf("%s: agrees: %v; %+v", tt.name, got.Agreed == 1, got.Worst)
		}
	}
}

func TestRates(t *testing.T) {
	nan := func(x float64) bool { return x != x }
	r := &result{counter: true, column: &column{bits: 32}}
	s := &series{points: []point{
		{at: 0, sarAt: 1e9, oursAt: 1.1e9, sar: 1<<32 - 10, ours: 1<<32 - 10, oursKnown: true},
		{at: 1e9, sarAt: 2e9, oursAt: 2.1e9, sar: 10, ours: 1<<32 + 10, oursKnown: true, continuous: true},
		{at: 3e9, sarAt: 4e9, oursAt: 4.1e9, sar: 30, continuous: true},
		{at: 4e9, sarAt: 5e9, oursAt: 5.1e9, sar: 5},
	}}
	_, sar, ours := r.rate(s)
	if sar[0] != 20 || ours[0] != 20 {
		t.Errorf("over a wrap: %v and %v, want 20", sar[0], ours[0])
	}
	if sar[1] != 10 || !nan(ours[1]) {
		t.Errorf("over two seconds, ours null: %v and %v, want 10 and NaN", sar[1], ours[1])
	}
	if !nan(sar[2]) || !nan(ours[2]) {
		t.Errorf("of a device that is new: %v and %v, want NaN", sar[2], ours[2])
	}
}

func TestOutput(t *testing.T) {
	c := &comparison{version: "12.6.1", began: time.Unix(0, 0).UTC(), records: 3, load: true, length: 2 * time.Second, results: []*result{
		{Activity: "A_X", Sar: "a/s", Unit: "B", Ours: "net.rx_bytes", Verdict: agrees, Compared: 4, Agreed: 4, Moved: true, column: &column{}},
		{Activity: "A_X", Sar: "b/s", Unit: "B", Ours: "net.tx_bytes", Verdict: differs, Why: "no known reason", Compared: 4, Agreed: 1, column: &column{},
			Worst: &miss{Device: "eth0", At: 3e9, Sar: 7, Before: "1", After: "2", By: 5}},
		{Activity: "A_X", Sar: "c", Verdict: absent, Why: "none", column: &column{}},
		{Activity: "A_X", Sar: "d", Verdict: absent, Why: "none", column: &column{}},
		{Activity: "A_X", Sar: "e", Verdict: absent, Why: "another", column: &column{}},
	}}
	var s strings.Builder
	if err := c.writeText(&s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"X         a/s  net.rx_bytes  4         100.0 %  agrees",
		"X         b/s  net.tx_bytes  4         25.0 %   DIFFERS       5 B, eth0 at 3 s: sar 7, ours 1 to 2",
		"1 of 2 columns agree always (1 of them moved); 5 of 8 readings agree (62.500 %).",
		"1 differ, 0 of them for a known reason.",
		"3 more have nothing of ours to be compared with.",
		"  X b/s: DIFFERS: no known reason\n",
		"  X c d: none of ours: none\n  X e: none of ours: another\n",
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in\n%s", want, &s)
		}
	}
	s.Reset()
	if err := c.writeJSON(&s); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Summary struct{ Columns, Differ int }
		Columns []struct{ Verdict string }
	}
	if err := json.Unmarshal([]byte(s.String()), &got); err != nil || got.Summary.Columns != 5 || got.Summary.Differ != 1 || len(got.Columns) != 5 || got.Columns[1].Verdict != differs {
		t.Errorf("%v\n%s", err, &s)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-for", "1s"}, {"-load", "some"}, {"more"}, {"-nonesuch"}} {
		var out, say strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), &out, &say); code != 2 || say.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, &out, &say)
		}
	}
}
