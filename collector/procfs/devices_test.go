package procfs

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// What a value of sysfs is taken for: its number, "unknown", or why it is none.
func TestValues(t *testing.T) {
	number := func(text []byte) (int64, bool, fault) {
		v, f := integer(text)
		return v, true, f
	}
	counter := func(text []byte) (int64, bool, fault) {
		v, f := natural(text)
		return int64(v), true, f
	}
	khz := func(text []byte) (int64, bool, fault) {
		v, f := thousandths(text)
		return int64(v), true, f
	}
	for _, tt := range []struct {
		name  string
		parse func([]byte) (int64, bool, fault)
		texts string // text=value, in order
	}{
		{"integer", number, "0=0 42=42 -5=-5 9223372036854775807=9223372036854775807 -9223372036854775808=-9223372036854775808 9223372036854775808=out_of_range " +
			"-9223372036854775809=out_of_range =missing -=missing x=not_a_number 5x=not_a_number 1.5=not_a_number 1_2=not_a_number -_1=not_a_number --1=not_a_number"},
		{"natural", counter, "0=0 18446744073709551615=-1 18446744073709551616=out_of_range -1=not_a_number 1_2=not_a_number _1=not_a_number =missing"},
		{"Fibre Channel", fcCounter, "0x0=0 0x1f=31 0xABCdef=11259375 0x8000000000000000=-9223372036854775808 0xffffffffffffffff=unknown 0x10000000000000000=out_of_range 0x=not_a_number 12=not_a_number 0xg=not_a_number 0x1_2=not_a_number 0x@=not_a_number 0x`=not_a_number"},
		{"InfiniBand", portRate, "100_Gb/sec_(4X_EDR)=100000000000 2.5_Gb/sec_(1X_SDR)=2500000000 0_Gb/sec=0 2.55_Gb/sec=not_a_rate_in_Gb/sec 10_Mb/sec=not_a_rate_in_Gb/sec .5_Gb/sec=not_a_rate_in_Gb/sec 5._Gb/sec=not_a_rate_in_Gb/sec 99999999999_Gb/sec=not_a_rate_in_Gb/sec =not_a_rate_in_Gb/sec"},
		{"USB", milliamperes, "500mA=500 0mA=0 =unknown 500=not_a_current_in_mA -5mA=not_a_current_in_mA mA=not_a_current_in_mA"},
		{"battery", discharging, "Discharging=1 Charging=0 Full=0 Not_charging=0 Unknown=unknown discharging=not_a_battery's_status"},
		{"kilohertz", khz, "2793.438=2793438 0.001=1 2793=not_a_number_with_three_decimals 2793.43=not_a_number_with_three_decimals 1.0.0=not_a_number_with_three_decimals -1.000=not_a_number_with_three_decimals 99999999999999999.000=out_of_range"},
	} {
		for _, pair := range strings.Split(tt.texts, " ") {
			text, want, _ := strings.Cut(strings.ReplaceAll(pair, "_", " "), "=")
			v, known, f := tt.parse([]byte(text))
			got := fmt.Sprint(v)
			switch {
			case f.why != "":
				got = f.why
			case !known:
				got = "unknown"
			}
			if got != want {
				t.Errorf("%s: %q: %s, want %s", tt.name, text, got, want)
			}
		}
	}
}

func TestFillNumber(t *testing.T) {
	for _, tt := range []struct {
		table        *schemas.Table
		column, text string
		want         int64
		why          string
	}{
		{&schemas.CPUFreq, "cur_hz", "2450000\n", 2450000000, ""},
		{&schemas.CPUFreq, "cur_hz", "9223372036854775807\n", 0, outOfRange},
		{&schemas.Battery, "energy_j", "-9223372036854775808\n", 0, outOfRange},
		{&schemas.Battery, "energy_j", "-5\n", -18000, ""},
		{&schemas.InfiniBand, "rx_bytes", "18446744073709551615\n", -4, ""},
		{&schemas.InfiniBand, "rx_bytes", "9223372036854775807\n", -4, ""},
		{&schemas.EDAC, "ce_count", "-1\n", 0, notNumber},
		{&schemas.Temperature, "temp_degc", " 5 \n", 5, ""},
		{&schemas.Temperature, "temp_degc", "\n", 0, missing},
		{&schemas.Temperature, "temp_degc", "5\n6\n", 0, notNumber},
	} {
		b := schemas.Block{Table: tt.table}
		b.Resize(1)
		c := cell{col: tt.table.Column(tt.column), rows: []int{0}, text: []byte(tt.text)}
		if f := fillNumber(&c, &b); f.why != tt.why || b.Values[c.col] != tt.want || b.Known[c.col] != (tt.why == "") {
			t.Errorf("%s %q: %d, %q, want %d, %q", tt.column, tt.text, b.Values[c.col], f.why, tt.want, tt.why)
		}
	}
}

func TestFillNode(t *testing.T) {
	const none = "- - - - - - - - - - -"
	for _, tt := range []struct{ name, text, want, why string }{
		{"numastat", "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n", "1 2 3 4 5 6 - - - - -", ""},
		{"meminfo", "Node 0 MemTotal:        9922764 kB\nNode 0 MemFree: 1 kB\nNode 0 New(x): 5 kB\nNode 0 HugePages_Total:   3\nNode 0 AnonPages: 2 kB\n", "- - - - - - 10160910336 1024 - - 2048", ""},
		{"another order", "new_counter 9\nother_node 6\nnuma_hit 18446744073709551615\n", "-1 - - - - 6 - - - - -", ""},
		{"a bad line", "numa_hit x\nnuma_miss 2\nnuma_foreign 5 6\nlocal_node\n", "- 2 - - - - - - - - -", "not a number"},
		{"no unit", "Node 0 MemTotal: 5\nNode 0 MemFree: 6 MB\nNode 0 MemUsed: 7 kB\n", "- - - - - - - - 7168 - -", "not followed by its unit alone"},
		{"a unit", "numa_hit 5 kB\n", none, "not followed by its unit alone"},
		{"too large", "Node 0 MemTotal: 9007199254740992 kB\n", none, "out of range"},
		{"cut off", "numa_hit 5\nnuma_miss 12", "5 - - - - - - - - - -", "cut off"},
		{"empty", "", none, ""}, {"a node alone", "Node\nNode 0\n", none, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.NUMA}
			b.Resize(1)
			f := fillNode(&cell{rows: []int{0}, text: []byte(tt.text)}, &b)
			if got := row(&b, 0); got != tt.want || f.why != tt.why {
				t.Errorf("%s, %q, want %s, %q", got, f.why, tt.want, tt.why)
			}
		})
	}
}

func TestFillPages(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
		why  string
	}{{"3\n", 3 << 30, ""}, {"0\n", 0, ""}, {"-1\n", 0, outOfRange}, {fmt.Sprintln(int64(math.MaxInt64)), 0, outOfRange}} {
		b := schemas.Block{Table: &schemas.HugePages}
		b.Resize(1)
		if f := fillPages(1<<30)(&cell{rows: []int{0}, text: []byte(tt.text)}, &b); f.why != tt.why || b.Values[0] != tt.want {
			t.Errorf("%q: %d, %q, want %d, %q", tt.text, b.Values[0], f.why, tt.want, tt.why)
		}
	}
}

// A file of sysfs is read whole, again and again.
func TestSysFile(t *testing.T) {
	f, err := openSysFile("/proc/self/stat") // as the kernel writes it anew at each reading
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4096)
	for range 2 {
		if n, err := f.ReadAt(p, 0); n < 20 || err == nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if n, err := f.ReadAt(p[:4], 0); n != 4 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := openSysFile(t.TempDir() + "/none"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
