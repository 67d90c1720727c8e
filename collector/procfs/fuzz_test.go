package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// fuzz holds a parser to what it promises for any text: it doesn't panic; the text it
// parsed before makes no difference; and what it says that it read stands in the text.
func fuzz(f *testing.F, tables []*schemas.Table, file string, seeds []string, newParse func() func([]schemas.Block, []byte, *skips) error) {
	text, err := os.ReadFile(filepath.Join(fixture, "proc", file))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, []byte(seeds[0]))
	for _, seed := range seeds {
		f.Add([]byte(seed), text)
	}
	f.Fuzz(func(t *testing.T, text, before []byte) {
		blocks := make([]schemas.Block, len(tables))
		used := make([]schemas.Block, len(tables))
		for i, table := range tables {
			blocks[i].Table, used[i].Table = table, table
		}
		var bad, badUsed skips
		parse := newParse()
		parse(used, before, new(skips)) // an error is as good
		earlier, held := used[0].Devices, slices.Clone(used[0].Devices)
		errUsed := parse(used, text, &badUsed)
		if !slices.Equal(earlier, held) {
			t.Fatalf("the devices of the tick before became %q, were %q", earlier, held)
		}
		err := newParse()(blocks, text, &bad)
		if fmt.Sprint(err) != fmt.Sprint(errUsed) || bad != badUsed {
			t.Fatalf("after another text: %v, %v, else %v, %v", errUsed, badUsed, err, bad)
		}
		if err != nil {
			return
		}
		in := numbersIn(string(text))
		for i := range blocks {
			b := &blocks[i]
			if n := b.Rows() * len(b.Table.Columns); len(b.Values) != n || len(b.Known) != n {
				t.Fatalf("%s: %d values, %d marks for %d cells", b.Table.Name, len(b.Values), len(b.Known), n)
			}
			if u := &used[i]; !slices.Equal(u.Devices, b.Devices) || !slices.Equal(u.Values, b.Values) || !slices.Equal(u.Known, b.Known) {
				t.Fatalf("%s: another result after another text", b.Table.Name)
			}
			for _, device := range b.Devices {
				if device == "" || !strings.Contains(string(text), device) {
					t.Errorf("%s: device %q is not in the text", b.Table.Name, device)
				}
			}
			for cell, known := range b.Known {
				c := &b.Table.Columns[cell%len(b.Table.Columns)]
				v := b.Values[cell]
				switch {
				case !known && v != 0:
					t.Errorf("%s: a null has the value %d", c.Name, v)
				case known && !c.Kind.Cumulative() && v < 0:
					t.Errorf("%s: %d", c.Name, v)
				case known && !in.has(c, v) && !zonesIn(c, string(text)):
					t.Errorf("%s: %d is not in the text", c.Name, v)
				}
			}
		}
	})
}

// numbersOf are the numbers of a text: whole ones as read, those with two decimals as
// hundredths.
type numbersOf struct{ whole, hundredths map[uint64]bool }

func numbersIn(text string) numbersOf {
	n := numbersOf{make(map[uint64]bool), make(map[uint64]bool)}
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n:/=", r) }) {
		if v, err := strconv.ParseUint(s, 10, 64); err == nil {
			n.whole[v] = true
		}
		if a, b, ok := strings.Cut(s, "."); ok && len(b) == 2 {
			if v, err := strconv.ParseUint(a+b, 10, 64); err == nil {
				n.hundredths[v] = true
			}
		}
	}
	return n
}

func (n numbersOf) has(c *schemas.Column, v int64) bool {
	if c.Div != 0 {
		return n.hundredths[uint64(v)]
	}
	if c.Mul == 0 {
		return n.whole[uint64(v)]
	}
	for w := range n.whole {
		if w*uint64(c.Mul) == uint64(v) {
			return true
		}
	}
	return false
}

// zonesIn reports whether a column may be a sum.
func zonesIn(c *schemas.Column, text string) bool {
	return c.Source != "" && c.Mul == 0 && strings.Contains(text, c.Source+"_")
}

func FuzzStat(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.CPU, &schemas.Load}, "stat", []string{
		"cpu  1540 0 820 250000 0 0 0 0 0 0\ncpu0 1000 0 500 80000 0 0 0 0 0 0\ncpu8 500 0 300 90000\nprocs_blocked 2\n",
		"cpu  1 2 3 4\ncpu0 18446744073709551615 18446744073709551616 3 4\ncpu1 1 2\ncpux 5\ncpu2 1 2 3 4 5 6 7 8 9 10 11 12\nprocs_blocked x",
	}, func() func([]schemas.Block, []byte, *skips) error {
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseStat(&b[0], &b[1], text, bad) }
	})
}

func FuzzLoadavg(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Load}, "loadavg", []string{
		"0.00 0.05 1234.50 0/1 1\n", "0,53 2,81 3,93 1/103 18081\n", "92233720368547758.07 0.1 .01 1/9223372036854775808\n",
	}, func() func([]schemas.Block, []byte, *skips) error {
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(1)
			return parseLoadavg(&b[0], text, bad)
		}
	})
}

func FuzzMeminfo(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Memory}, "meminfo", []string{
		"MemTotal: 8000000 kB\nMemFree: 2000000 kB\nBuffers: 300000 kB\nCached: 3000000 kB\nGarbage:\n",
		"MemTotal: 0 kB\n", "HugePages_Free: 3\nActive(anon): 7 kB\nActive: 8 MB\nMemFree: 1 kB\nMemFree: 9007199254740992 kB\n",
	}, func() func([]schemas.Block, []byte, *skips) error {
		n := newNames(&schemas.Memory)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseMeminfo(&b[0], text, n, bad) }
	})
}

func FuzzVmstat(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Paging}, "vmstat", []string{
		"pgscan_kswapd 130000\npgscan_direct 900\npgscan_direct_throttle 7\npgsteal_file 65450\npgpgin 18446744073709551615\n",
		"nr_free_pages 1\npgscan_kswapd_dma 1\npgscan_kswapd_normal x\npgscan_direct_normal 5\npgrefill 4\npgrefill_dma 3\noom_kill",
	}, func() func([]schemas.Block, []byte, *skips) error {
		n := newNames(&schemas.Paging)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseVmstat(&b[0], text, n, bad) }
	})
}

func FuzzDiskstats(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Disk}, "diskstats", []string{
		" 8  0 sda 10 0 80 5 20 0 160 8 0 12 13\n 8  0 sdb 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1\n 8  0 sdc 10 0 80 5 20 0 160 8 0 12 13 3 0 24\n",
		"8 1 sda1 10 80 20 160\n259 0 nvme0n1 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1 2 4 5\n8 48\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n8 0 sdd 18446744073709551615",
	}, func() func([]schemas.Block, []byte, *skips) error {
		w := newWhole(wholeByName)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseDiskstats(&b[0], text, w, bad) }
	})
}

func FuzzNetDev(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Net}, "net/dev", []string{
		"eth0:5000000007 12 0 0 0 0 0 0 700 9 0 0 0 0 0 0\nteam0:1:       7 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\neth1:0:321 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		"Inter-|\na: 1 2\nc d: 1\n: 5\nnothing\nf: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615",
	}, func() func([]schemas.Block, []byte, *skips) error {
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseNetDev(&b[0], text, bad) }
	})
}

func FuzzPressure(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Pressure}, "pressure/io", []string{
		"some avg10=1.25 avg60=2.04 avg300=22.98 total=1166053990\nfull avg10=0.07 avg60=0.00 avg300=0.00 total=8\n",
		"some new=x avg10=100.00 total=18446744073709551615\nother avg10=1.00 total=9\nfull avg10=0.1 total=6\n", "full avg10=0.00 total=5",
	}, func() func([]schemas.Block, []byte, *skips) error {
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(1)
			b[0].SetDevice(0, []byte("total"))
			return parsePressure(&b[0], 0, "pressure/io", text, bad)
		}
	})
}
