package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// parse is a parser of the text of one file.
type parse = func([]schemas.Block, []byte, *skips) error

// fuzz holds a parser to what it promises for any text: it doesn't panic; the text it
// parsed before makes no difference; and what it says that it read stands in the text.
func fuzz(f *testing.F, tables []*schemas.Table, file string, seeds []string, newParse func() parse) {
	fuzzAny(f, tables, file, seeds, newParse, func(t *testing.T, text string, blocks []schemas.Block, _ *skips) {
		in := numbersIn(text)
		for i := range blocks {
			b := &blocks[i]
			for _, device := range b.Devices {
				if device == "" || !strings.Contains(text, device) {
					t.Errorf("%s: device %q is not in the text", b.Table.Name, device)
				}
			}
			for cell, known := range b.Known {
				c := &b.Table.Columns[cell%len(b.Table.Columns)]
				v := b.Values[cell]
				switch {
				case known && !c.Kind.Cumulative() && v < 0:
					t.Errorf("%s: %d", c.Name, v)
				case known && !in.has(c, v) && !zonesIn(c, text):
					t.Errorf("%s: %d is not in the text", c.Name, v)
				}
			}
		}
	})
}

// fuzzPrinted holds a parser to the same, but that what it read need not stand in the
// text: it is, when printed as the kernel does and read again, what it was.
func fuzzPrinted(f *testing.F, tables []*schemas.Table, file string, seeds []string, newParse func() parse, printed func([]schemas.Block) string) {
	fuzzAny(f, tables, file, seeds, newParse, func(t *testing.T, _ string, blocks []schemas.Block, _ *skips) {
		again := make([]schemas.Block, len(tables))
		for i, table := range tables {
			again[i].Table = table
		}
		text := printed(blocks)
		if err := newParse()(again, []byte(text), new(skips)); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for i := range blocks {
			for _, d := range differences(cells(&again[i]), cells(&blocks[i])) {
				t.Errorf("%s in\n%s", d, text)
			}
		}
	})
}

// fuzzAny holds a parser to what all promise, and then check to what it made of a text.
func fuzzAny(f *testing.F, tables []*schemas.Table, file string, seeds []string, newParse func() parse, check func(*testing.T, string, []schemas.Block, *skips)) {
	for _, fixture := range fixtures {
		if text, err := os.ReadFile(filepath.Join(fixture, "proc", file)); err == nil {
			f.Add(text, []byte(seeds[0]))
		} else if !errors.Is(err, fs.ErrNotExist) {
			f.Fatal(err)
		}
	}
	for i, seed := range seeds {
		f.Add([]byte(seed), []byte(seeds[(i+1)%len(seeds)]))
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
		for i := range blocks {
			b := &blocks[i]
			if n := b.Rows() * len(b.Table.Columns); len(b.Values) != n || len(b.Known) != n {
				t.Fatalf("%s: %d values, %d marks for %d cells", b.Table.Name, len(b.Values), len(b.Known), n)
			}
			if u := &used[i]; !slices.Equal(u.Devices, b.Devices) || !slices.Equal(u.Values, b.Values) || !slices.Equal(u.Known, b.Known) {
				t.Fatalf("%s: another result after another text", b.Table.Name)
			}
			for cell, known := range b.Known {
				if v := b.Values[cell]; !known && v != 0 {
					t.Errorf("%s: a null has the value %d", b.Table.Columns[cell%len(b.Table.Columns)].Name, v)
				}
			}
		}
		check(t, string(text), blocks, &bad)
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
	fuzz(f, []*schemas.Table{&schemas.CPU, &schemas.Load, &schemas.Kernel}, "stat", []string{
		"cpu  1540 0 820 250000 0 0 0 0 0 0\ncpu0 1000 0 500 80000 0 0 0 0 0 0\ncpu8 500 0 300 90000\nprocs_blocked 2\n",
		"cpu  1 2 3 4\ncpu0 18446744073709551615 18446744073709551616 3 4\ncpu1 1 2\ncpux 5\ncpu2 1 2 3 4 5 6 7 8 9 10 11 12\nprocs_blocked x",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error {
			return parseStat(&b[0], &b[1], &b[2], text, bad)
		}
	})
}

func FuzzLoadavg(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Load}, "loadavg", []string{
		"0.00 0.05 1234.50 0/1 1\n", "0,53 2,81 3,93 1/103 18081\n", "92233720368547758.07 0.1 .01 1/9223372036854775808\n",
	}, func() parse {
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
	}, func() parse {
		n := newNames(&schemas.Memory)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseMeminfo(&b[0], text, n, bad) }
	})
}

func FuzzVmstat(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Paging}, "vmstat", []string{
		"pgscan_kswapd 130000\npgscan_direct 900\npgscan_direct_throttle 7\npgsteal_file 65450\npgpgin 18446744073709551615\n",
		"nr_free_pages 1\npgscan_kswapd_dma 1\npgscan_kswapd_normal x\npgscan_direct_normal 5\npgrefill 4\npgrefill_dma 3\noom_kill",
	}, func() parse {
		n := newNames(&schemas.Paging)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseVmstat(&b[0], text, n, bad) }
	})
}

func FuzzDiskstats(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Disk}, "diskstats", []string{
		" 8  0 sda 10 0 80 5 20 0 160 8 0 12 13\n 8  0 sdb 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1\n 8  0 sdc 10 0 80 5 20 0 160 8 0 12 13 3 0 24\n",
		"8 1 sda1 10 80 20 160\n259 0 nvme0n1 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1 2 4 5\n8 48\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n8 0 sdd 18446744073709551615",
	}, func() parse {
		w := newWhole(wholeByName)
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseDiskstats(&b[0], text, w, bad) }
	})
}

func FuzzNetDev(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Net}, "net/dev", []string{
		"eth0:5000000007 12 0 0 0 0 0 0 700 9 0 0 0 0 0 0\nteam0:1:       7 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\neth1:0:321 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		"Inter-|\na: 1 2\nc d: 1\n: 5\nnothing\nf: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseNetDev(&b[0], text, bad) }
	})
}

func FuzzPressure(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.Pressure}, "pressure/io", []string{
		"some avg10=1.25 avg60=2.04 avg300=22.98 total=1166053990\nfull avg10=0.07 avg60=0.00 avg300=0.00 total=8\n",
		"some new=x avg10=100.00 total=18446744073709551615\nother avg10=1.00 total=9\nfull avg10=0.1 total=6\n", "full avg10=0.00 total=5",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(1)
			b[0].SetDevice(0, []byte("total"))
			return parsePressure(&b[0], 0, "pressure/io", text, bad)
		}
	})
}

// printRows prints a line for each row of a block: what line returns for the known
// values, in the order of the columns, or bad where one of them is null.
func printRows(b *schemas.Block, line func(device string, v []int64) string, bad string) string {
	var out strings.Builder
	n := len(b.Table.Columns)
	for row, device := range b.Devices {
		if slices.Contains(b.Known[row*n:(row+1)*n], false) {
			out.WriteString(device + bad)
		} else {
			out.WriteString(line(device, b.Values[row*n:(row+1)*n]))
		}
	}
	return out.String()
}

func FuzzSysctl(f *testing.F) {
	for _, tt := range []struct{ name, text string }{{"sys/fs/dentry-state", "1 2 3\n"}, {"sys/fs/file-nr", "5\t6\t7\n"}, {"sys/fs/inode-nr", "9 9\n"}, {"sys/kernel/pty/nr", "18446744073709551615\n"}} {
		f.Add(tt.name, []byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		read := func(text []byte) (map[string]int64, int64) {
			b := schemas.Block{Table: &schemas.Kernel}
			b.Resize(1)
			var bad skips
			parseSysctl(&b, name, text, &bad)
			return cells(&b), bad.lines
		}
		got, bad := read(text)
		if bad > 0 && len(got) > 0 || bad == 0 && len(got) == 0 && strings.HasPrefix(name, "sys/fs/dentry-state") {
			t.Fatalf("%v, %d bad", got, bad)
		}
		var again string
		switch name {
		case "sys/fs/dentry-state":
			again = fmt.Sprint(got["kernel//dentries"], got["kernel//dentries_unused"])
		case "sys/fs/file-nr":
			again = fmt.Sprint(got["kernel//files"], 0)
		case "sys/fs/inode-nr":
			again = fmt.Sprint(got["kernel//inodes"], 0)
		case "sys/kernel/pty/nr":
			again = fmt.Sprint(got["kernel//ptys"])
		default:
			if len(got) > 0 {
				t.Errorf("%v", got)
			}
			return
		}
		if more, _ := read([]byte(again + "\n")); bad == 0 && !maps.Equal(got, more) {
			t.Errorf("%v, then %v", got, more)
		}
	})
}

func FuzzInterrupts(f *testing.F) {
	tables := []*schemas.Table{&schemas.Interrupts, &schemas.InterruptsCPU, &schemas.InterruptCells}
	fuzzPrinted(f, tables, "interrupts", []string{
		"  CPU0 CPU8\n 1:  5  6 x\nLOC: 18446744073709551615 1 a\nLOC: 7 8\nERR: 3\n",
		" CPU0\n 1: 5 text\n ERR: 5\n2: 18446744073709551616 x\n", "CPU1 CPU2\n1: 4\n1: 4 5 6\n1: 4 x\nnothing\n2: 1 2",
		"CPU1 CPU2\n1: 4 5\n2: 8\n1: 4 x\n2: 5 6\n", " CPU0       CPU1\nA:          0          0 x\nB:         10          0 x\n",
	}, func() parse {
		var p interruptFiles
		return func(b []schemas.Block, text []byte, bad *skips) error {
			return p.parseInterrupts(&b[0], &b[1], &b[2], text, bad)
		}
	}, func(b []schemas.Block) string {
		var out strings.Builder
		for _, cpu := range b[1].Devices {
			out.WriteString(" CPU" + cpu)
		}
		out.WriteString("\n")
		each := cells(&b[2])
		lost := len(b[1].Known) > 0 && !b[1].Known[0]
		for row, id := range b[0].Devices {
			line, rest := "", uint64(b[0].Values[row])
			for _, cpu := range b[1].Devices {
				if v, ok := each["interrupt_cells/"+id+"/"+cpu+"/count"]; ok {
					line += fmt.Sprintf(" %10d", uint64(v))
					rest -= uint64(v)
				}
			}
			if !b[0].Known[row] {
				fmt.Fprintf(&out, "%s: x\n", id)
				continue
			}
			if line != "" {
				fmt.Fprintf(&out, "%s:%s text\n", id, line)
			}
			if line == "" || rest != 0 { // of the system as a whole
				fmt.Fprintf(&out, "%s: %d\n", id, rest)
			}
		}
		if lost {
			out.WriteString("not an interrupt\n")
		}
		return out.String()
	})
}

func FuzzSoftirqs(f *testing.F) {
	fuzzPrinted(f, []*schemas.Table{&schemas.InterruptsCPU}, "softirqs", []string{
		"CPU0 CPU1 CPU3\nHI: 5 6 7\nBLOCK_IOPOLL: 18446744073709551615 0 1\nNEW: 1 2 3\n", "CPU3\nHI: 7\nHI: 8\nRCU: x\nTIMER: 1 2\nSCHED: 1", "x",
	}, func() parse {
		p := interruptFiles{cpus: [][]byte{[]byte("0"), []byte("3")}}
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(2)
			b[0].SetDevice(0, p.cpus[0])
			b[0].SetDevice(1, p.cpus[1])
			p.parseSoftirqs(&b[0], text, bad)
			return nil
		}
	}, func(b []schemas.Block) string {
		var out strings.Builder
		for col, c := range b[0].Table.Columns {
			cpus, line := "", c.Source+":"
			for row, cpu := range b[0].Devices {
				if i := row*len(b[0].Table.Columns) + col; b[0].Known[i] {
					cpus += " CPU" + cpu
					line += fmt.Sprintf(" %d", uint64(b[0].Values[i]))
				}
			}
			if cpus != "" {
				if out.Len() == 0 {
					out.WriteString(cpus + "\n")
				}
				out.WriteString(line + "\n")
			}
		}
		return out.String()
	})
}

func FuzzSoftnet(f *testing.F) {
	newParse := func(online []uint64) parse {
		p := softnetFile{online: func() ([]uint64, error) { return online, nil }}
		return func(b []schemas.Block, text []byte, bad *skips) error { return p.parse(&b[0], text, bad) }
	}
	fuzzAny(f, []*schemas.Table{&schemas.Softnet}, "net/softnet_stat", []string{
		"00000001 00000002 00000003 0 0 0 0 0 0 ffffffff\n0 1 2\n7 8 9 0 0 0 0 0 0 1 2 3 4 5 6 7 8 9\n", "1 2\n", "1 2 3 0 0 0 0 0 0 1 2 3 7\n1 2 x\n100000000 1 1\n1 2 3 4",
	}, func() parse { return newParse([]uint64{0, 1, 3}) }, func(t *testing.T, _ string, blocks []schemas.Block, _ *skips) {
		for r, cpu := range blocks[0].Devices {
			id, err := strconv.ParseUint(cpu, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			n := len(blocks[0].Table.Columns)
			line := ""
			for i, at := 0, 0; i < n && blocks[0].Known[r*n+i]; i, at = i+1, at+1 {
				for ; at < softnetColumns[i]; at++ {
					line += "00000000 "
				}
				line += fmt.Sprintf("%08x ", blocks[0].Values[r*n+i])
			}
			again := []schemas.Block{{Table: blocks[0].Table}}
			if err := newParse([]uint64{id})(again, []byte(line+"\n"), new(skips)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if got, want := row(&again[0], 0), row(&blocks[0], r); got != want || again[0].Devices[0] != cpu {
				t.Errorf("%s: CPU %s %s, was %s %s", line, again[0].Devices[0], got, cpu, want)
			}
		}
	})
}

func FuzzSerial(f *testing.F) {
	fuzzPrinted(f, []*schemas.Table{&schemas.Serial}, "tty/driver/serial", []string{
		"serinfo:1.0 driver revision:\n0: uart:16550A port:000003F8 irq:26 tx:-1 rx:2147483648 fe:5 brk:6 RTS|DTR\n1: uart:unknown port:0 irq:0\n",
		"serinfo:\n0: tx:1\n1: tx:-2147483649 rx:0\n2: tx:4294967296 rx:0\nx: tx:1 rx:1\n3: tx:1 tx:1 rx:1\n4: rx:1 tx:1", "serial\n",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseSerial(&b[0], text, bad) }
	}, func(b []schemas.Block) string {
		return "serinfo:1.0 driver revision:\n" + printRows(&b[0], func(line string, v []int64) string {
			return fmt.Sprintf("%s: uart:16550A irq:4 tx:%d rx:%d fe:%d pe:%d brk:%d oe:%d RTS\n", line, int32(v[1]), int32(v[0]), int32(v[2]), int32(v[3]), int32(v[4]), int32(v[5]))
		}, ": tx:x\n")
	})
}

// Mounts that were chosen are chosen again when there are no others, if they are a tree.
func FuzzMounts(f *testing.F) {
	for _, fixture := range fixtures {
		text, err := os.ReadFile(filepath.Join(fixture, "proc", mountsFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("1 1 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / /a\\134b rw - ext4 /dev/b\\043 rw\n3 2 0:1 / /a\\134b rw - nfs x rw\n4 5 8:1 / /c rw - ext4 /dev/c rw\n5 4 8:1 / /c rw - ext4 /dev/d rw\nx\n"))
	escape := strings.NewReplacer("\\", `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`, "#", `\043`)
	f.Fuzz(func(t *testing.T, text []byte) {
		mounts, err := localMounts(text, new(skips))
		if err != nil || len(mounts) == 0 {
			return
		}
		parents := make(map[uint64]uint64)
		for i := range mounts {
			parents[mounts[i].id] = mounts[i].parent
		}
		for id := range parents {
			for range parents {
				if up, ok := parents[id]; ok {
					id = up
				}
			}
			if _, circle := parents[id]; circle || len(parents) < len(mounts) {
				return
			}
		}
		var out strings.Builder
		for i := range mounts {
			m := &mounts[i]
			m.line = i + 1
			if m.point == "" || !local(m.kind, m.source) {
				t.Errorf("%+v", m)
			}
			fmt.Fprintf(&out, "%d %d 8:1 %s %s rw shared:1 - %s %s rw\n", m.id, m.parent, escape.Replace(m.root), escape.Replace(m.point), m.kind, escape.Replace(m.source))
		}
		again, err := localMounts([]byte(out.String()), new(skips))
		if err != nil || !reflect.DeepEqual(again, mounts) {
			t.Errorf("%+v, then %+v, %v, in\n%s", mounts, again, err, out.String())
		}
	})
}

func FuzzHeaded(f *testing.F) {
	fuzzPrinted(f, []*schemas.Table{&schemas.NetProto}, "net/snmp", []string{
		"Tcp: MaxConn CurrEstab InSegs\nTcp: -1 5 18446744073709551615\nUdp: InDatagrams New NoPorts\nUdp: 1 x 2\n",
		"Tcp: CurrEstab\nTcp: 9223372036854775808\n", "TcpExt: TW\nTcpExt: 1 2\nTcpE: xtTW\nTcpE: 5\nTcp: InSegs\nUdp: 1\nIp: InReceives\nIp: x\nIp: InReceives",
	}, func() parse {
		known := newHeadings(&schemas.NetProto)
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(1)
			return parseHeaded(&b[0], "net/snmp", text, known, bad)
		}
	}, func(b []schemas.Block) string {
		out := "None: None\nNone: 0\n"
		for i, c := range b[0].Table.Columns {
			if b[0].Known[i] {
				v := divided(uint64(b[0].Values[i]), uint64(max(c.Mul, 1)))
				out += fmt.Sprintf("%s: %s\n%s: %d\n", c.Source[:1], c.Source[1:], c.Source[:1], v)
			}
		}
		return out
	})
}

// divided returns a number that times by gives v, modulo 2^64, if there is one.
func divided(v, by uint64) uint64 {
	shift := bits.TrailingZeros64(by)
	odd := by >> shift
	inverse := odd
	for range 6 { // by Newton's method: each time right in twice as many bits
		inverse *= 2 - odd*inverse
	}
	return v >> shift * inverse
}

func FuzzSNMP6(f *testing.F) {
	fuzz(f, []*schemas.Table{&schemas.NetProto6}, "net/snmp6", []string{
		"Ip6InReceives                   \t2\nNew\t5\nUdp6NoPorts 18446744073709551615\n", "Ip6InReceives x\nUdp6NoPorts 5 6\n", "Ip6InReceives 1\nUdp6NoPorts\nUdp6NoPorts 4\nUdp6NoPorts 4\nUdp6",
	}, func() parse {
		names := newNames(&schemas.NetProto6)
		return func(b []schemas.Block, text []byte, bad *skips) error {
			return parseNamed(&b[0], "net/snmp6", ' ', "", text, names, bad)
		}
	})
}

func FuzzSockets(f *testing.F) {
	const page = 4096
	fuzzPrinted(f, []*schemas.Table{&schemas.Sockets}, "net/sockstat", []string{
		"sockets: used 14\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 2251799813685247\nNEW: inuse 5\n",
		"TCP: mem 2251799813685248\n", "UDP: inuse 1 inuse 2\nTCP inuse 5\nRAW: inuse\nFRAG: inuse x memory 5\nFRAG: memory 5 new 9\nTCP6: inuse 1",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error {
			b[0].Resize(1)
			return parseSockets(&b[0], "net/sockstat", text, page, bad)
		}
	}, func(b []schemas.Block) string {
		out := "none: 5 5\n"
		for i, c := range b[0].Table.Columns {
			if b[0].Known[i] {
				v := b[0].Values[i]
				if strings.HasSuffix(c.Source, ":mem") {
					v /= page
				}
				out += fmt.Sprintf("%s %d\n", strings.Replace(c.Source, ":", ": ", 1), v)
			}
		}
		return out
	})
}

// What can be read of NFS is what a plain reader sums.
func FuzzNFS(f *testing.F) {
	for _, of := range []struct {
		table *schemas.Table
		file  string
		known map[string]nfsLine
	}{{&schemas.NFSClient, "net/rpc/nfs", nfsClient}, {&schemas.NFSServer, "net/rpc/nfsd", nfsServer}} {
		text, err := os.ReadFile("testdata/nfs-5.14/proc/" + of.file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(of.table == &schemas.NFSServer, text)
	}
	f.Add(false, []byte("net 0 0\nrpc 1 2 3 4\nproc3 3 18446744073709551615 1 2\nproc4 2 5 6\n"))
	f.Add(false, []byte("rpc 1 2\nproc3 3 1 2\nproc4 2 5 6 7\nproc2 18446744073709551615 1\n"))
	f.Add(true, []byte("rc 1 2 3\nth 9223372036854775808\nio 1\nproc3 0\nproc3 0\nproc4ops 4 0 0 0 5"))
	f.Fuzz(func(t *testing.T, server bool, text []byte) {
		table, known := &schemas.NFSClient, nfsClient
		if server {
			table, known = &schemas.NFSServer, nfsServer
		}
		b := schemas.Block{Table: table}
		var bad skips
		if err := parseNFS(&b, "nfs", text, known, &bad); err != nil || bad.lines > 0 {
			return
		}
		want := make(map[string]int64)
		set := func(col, number string, add bool) {
			v, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if col = table.Name + "//" + col; add {
				v += uint64(want[col])
			}
			want[col] = int64(v)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
			if len(fields) == 0 {
				continue
			}
			is, ok := known[fields[0]]
			switch {
			case !ok:
			case is.ops == nil:
				for col := is.first; col <= is.last; col++ {
					set(table.Columns[col].Name, fields[1+col-is.first], false)
				}
			default:
				set(table.Columns[is.first].Name, "0", true)
				for i, v := range fields[2:] {
					set(table.Columns[is.first].Name, v, true)
					if i < len(is.ops) && is.ops[i] >= 0 {
						set(table.Columns[is.ops[i]].Name, v, true)
					}
				}
			}
		}
		for _, d := range differences(cells(&b), want) {
			t.Error(d)
		}
	})
}

func FuzzSwaps(f *testing.F) {
	escape := strings.NewReplacer("\\", `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	fuzzPrinted(f, []*schemas.Table{&schemas.Swap}, "swaps", []string{
		"Filename Type Size Used Priority\n/a\\040b\\134c\\9 file 10 0 -2\n/dev/b partition 9007199254740991 1 9223372036854775807\n",
		"Filename\n/a file 9007199254740992 0 1\n/b file x 0 1\n/c\n/d file 1 2 -9223372036854775808\n/e file 1 2 3", "x\n",
	}, func() parse {
		var path []byte
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseSwaps(&b[0], text, &path, bad) }
	}, func(b []schemas.Block) string {
		paths := schemas.Block{Table: b[0].Table, Values: b[0].Values, Known: b[0].Known}
		for _, path := range b[0].Devices {
			paths.Devices = append(paths.Devices, escape.Replace(path))
		}
		return "Filename\n" + printRows(&paths, func(path string, v []int64) string {
			return fmt.Sprintf("%s file %d %d %d\n", path, v[0]/1024, v[1]/1024, v[2])
		}, " file x\n")
	})
}

func FuzzSchedstat(f *testing.F) {
	fuzzPrinted(f, []*schemas.Table{&schemas.Sched}, "schedstat", []string{
		"version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 18446744073709551615 5 6\ndomain0 ff 0 0\ncpu8 1 2 3 4 5 6 7 8 9\n",
		"version 13\ncpu0 1 2 3 4 5 6 7 8 9\n", "version 99\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpux 1\ncpu1 1 2 3\ncpu2 1 2 3 4 5 6 7 8 x\ncpu3 1", "version\n",
	}, func() parse {
		return func(b []schemas.Block, text []byte, bad *skips) error { return parseSchedstat(&b[0], text, bad) }
	}, func(b []schemas.Block) string {
		out := printRows(&b[0], func(cpu string, v []int64) string {
			return fmt.Sprintf("cpu%s 0 0 0 0 0 0 %d %d %d\n", cpu, uint64(v[0]), uint64(v[1]), uint64(v[2]))
		}, " x\n")
		return "version 17\n" + out
	})
}
