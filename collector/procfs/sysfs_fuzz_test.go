package procfs

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// FuzzValue holds the parsers of one value to their word: what they take, printed again,
// is the text, but for zeros that say nothing.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"0", "42", "-5", "18446744073709551615", "-9223372036854775808", "9223372036854775808", "0x1f", "0xffffffffffffffff",
		"100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)", "500mA", "2793.438", "0-3,8", "", "-", "007", "0x", "full", "up", "Discharging", " 1", "1e9", "999999999999999999999"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text) // as fillers do
		said := string(text)
		same := func(what, printed string, f fault) {
			if f.why == "" && printed != plain(said) {
				t.Errorf("%s: %q is %q", what, said, printed)
			}
		}
		v, fa := integer(text)
		same("integer", strconv.FormatInt(v, 10), fa)
		u, fa := natural(text)
		same("natural", strconv.FormatUint(u, 10), fa)
		if want, ok := new(big.Int).SetString(said, 10); ok && !strings.ContainsAny(said, "+_") && (want.IsInt64() != (mustNot(integer(text)))) {
			t.Errorf("integer: %q", said)
		}
		if u, fa := hexadecimal(text); fa.why == "" {
			if want, ok := new(big.Int).SetString(strings.TrimPrefix(said, "0x"), 16); !ok || want.Uint64() != u || !want.IsUint64() {
				t.Errorf("hexadecimal: %q is %d", said, u)
			}
		}
		if u, fa := thousandths(text); fa.why == "" {
			if printed := fmt.Sprintf("%d.%03d", u/1000, u%1000); printed != plain(said) {
				t.Errorf("thousandths: %q is %q", said, printed)
			}
		}
		if v, known, fa := milliamperes(text); fa.why == "" && known {
			if printed := strconv.FormatInt(v, 10) + "mA"; printed != plain(said) {
				t.Errorf("milliamperes: %q is %q", said, printed)
			}
		}
		if v, _, fa := portRate(text); fa.why == "" {
			number, _, _ := strings.Cut(strings.ReplaceAll(said, "\t", " "), " ")
			printed := strconv.FormatInt(v/1e9, 10)
			if strings.Contains(number, ".") {
				printed += "." + strconv.FormatInt(v%1e9/1e8, 10)
			}
			if v < 0 || printed != plain(number) {
				t.Errorf("rate: %q is %q", said, printed)
			}
		}
		if ids, fa := cpuList(text); fa.why == "" {
			again, fb := cpuList([]byte(strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")))
			if fb.why != "" || fmt.Sprint(again) != fmt.Sprint(ids) {
				t.Errorf("list: %q is %v, then %v %s", said, ids, again, fb.why)
			}
		}
		for _, parse := range []func([]byte) (int64, bool, fault){linkSpeed, duplex, operational, discharging, fcCounter} {
			if v, known, fa := parse(text); fa.why != "" && (known && v != 0) {
				t.Errorf("%q: %d, and %s", said, v, fa.why)
			}
		}
		if string(text) != said {
			t.Errorf("%q became %q", said, text)
		}
	})
}

func mustNot[T any](_ T, f fault) bool { return f.why == "" }

// plain is a number without leading zeros, with what stands behind it.
func plain(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	trimmed := strings.TrimLeft(s, "0")
	if trimmed == "" || trimmed[0] < '0' || trimmed[0] > '9' {
		trimmed = "0" + trimmed
	}
	if trimmed == "0" {
		return trimmed
	}
	return sign + trimmed
}

// FuzzTimeInState: what is taken is the sum of its lines, as big numbers have it.
func FuzzTimeInState(f *testing.F) {
	f.Add([]byte("2450000 100\n1500000 300\n"))
	f.Add([]byte("1000000000000 1000000\n18446744073709551615 1\n"))
	f.Add([]byte("1 2 3\n"))
	f.Add([]byte("1 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		kHzTicks, ticks, fa := timeInState(text)
		if fa.why != "" {
			if kHzTicks != 0 || ticks != 0 {
				t.Errorf("%d, %d, and %s", kHzTicks, ticks, fa.why)
			}
			return
		}
		a, b := new(big.Int), new(big.Int)
		for line := range strings.Lines(string(text)) {
			fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
			if len(fields) != 2 {
				t.Fatalf("%q", line)
			}
			khz, _ := new(big.Int).SetString(fields[0], 10)
			n, _ := new(big.Int).SetString(fields[1], 10)
			a.Add(a, khz.Mul(khz, n))
			b.Add(b, n)
		}
		if !a.IsUint64() || a.Uint64() != kHzTicks || !b.IsUint64() || b.Uint64() != ticks {
			t.Errorf("%d, %d, want %s, %s", kHzTicks, ticks, a, b)
		}
	})
}

// FuzzFill holds the fillers of several cells to what fuzz holds parsers to: each known
// number stands in the text, and what a block held before makes no difference.
func FuzzFill(f *testing.F) {
	f.Add([]byte("numa_hit 1\nnuma_miss 2\nother_node 18446744073709551615\n"))
	f.Add([]byte("Node 0 MemTotal:        9922764 kB\nNode 0 AnonPages: 2 kB\nNode 0 MemFree: x kB\n"))
	f.Add([]byte("processor\t: 0\ncpu MHz\t\t: 2793.438\n\nprocessor\t: 2\ncpu MHz\t\t: 800.000\nprocessor : 18446744073709551615\ncpu MHz: 1.000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		numbers := numbersIn(string(text))
		for _, x := range []struct {
			table *schemas.Table
			fill  filler
		}{{&schemas.NUMA, fillNode}, {&schemas.CPUFreq, fillCpuinfo([]int{0, 2, 5})}} {
			b := schemas.Block{Table: x.table}
			b.Resize(3)
			x.fill(&cell{rows: []int{0}, text: text}, &b)
			for i, known := range b.Known {
				c := &x.table.Columns[i%len(x.table.Columns)]
				switch {
				case !known && b.Values[i] != 0:
					t.Errorf("%s: a null has the value %d", c.Name, b.Values[i])
				case known && x.table == &schemas.CPUFreq:
					if mhz := fmt.Sprintf("%d.%03d", uint64(b.Values[i])/1e6, uint64(b.Values[i])/1e3%1000); !strings.Contains(string(text), mhz[1:]) {
						t.Errorf("%s MHz are not in the text", mhz)
					}
				case known && !c.Kind.Cumulative() && b.Values[i] < 0, known && !numbers.has(c, b.Values[i]):
					t.Errorf("%s: %d is not in the text", c.Name, b.Values[i])
				}
			}
		}
	})
}
