package procfs

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

const fixture = "testdata/vm-6.18"

// newBlocks returns the empty blocks that a source fills.
func newBlocks(s collector.Source) []schemas.Block {
	var blocks []schemas.Block
	for _, t := range s.Tables() {
		blocks = append(blocks, schemas.Block{Table: t})
	}
	return blocks
}

// cells returns a block's known values by "table/device/column".
func cells(b *schemas.Block) map[string]int64 {
	out := make(map[string]int64)
	for row := range b.Rows() {
		device := ""
		if b.Table.Device != "" {
			device = b.Devices[row]
		}
		for col := range b.Table.Columns {
			if i := row*len(b.Table.Columns) + col; b.Known[i] {
				out[b.Table.Name+"/"+device+"/"+b.Table.Columns[col].Name] = b.Values[i]
			}
		}
	}
	return out
}

// row returns a row's values in the order of the columns, "-" for null.
func row(b *schemas.Block, row int) string {
	var out []string
	n := len(b.Table.Columns)
	for i := row * n; i < (row+1)*n; i++ {
		if b.Known[i] {
			out = append(out, strconv.FormatInt(b.Values[i], 10))
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, " ")
}

// sampleAll returns the known values of all sources below root, read once.
func sampleAll(t *testing.T, root string) map[string]int64 {
	t.Helper()
	sources, _, err := Sources(root, collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int64)
	for _, s := range sources {
		blocks := newBlocks(s)
		if err := s.Sample(blocks); err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			maps.Copy(out, cells(&blocks[i]))
		}
		if n, example := s.(collector.Skipper).Skipped(); n != 0 {
			t.Errorf("%s: %d lines skipped: %s", s.Name(), n, example)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return out
}

// reference reads the same as sampleAll, in the plainest way.
func reference(t *testing.T, root string, whole func(string) bool) map[string]int64 {
	t.Helper()
	out := make(map[string]int64)
	number := func(s string) int64 {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(v)
	}
	percent := func(s string) int64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(math.Round(v * 100))
	}
	lines := func(name string) (out [][]string) {
		text, err := os.ReadFile(filepath.Join(root, "proc", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			out = append(out, strings.Fields(line))
		}
		return out
	}
	inOrder := func(table *schemas.Table, device string, fields []string) {
		for i := range min(len(table.Columns), len(fields)) {
			c := &table.Columns[i]
			out[table.Name+"/"+device+"/"+c.Name] = number(fields[i]) * max(c.Mul, 1)
		}
	}
	named := func(table *schemas.Table, name string) {
		for _, f := range lines(name) {
			for _, c := range table.Columns {
				if c.Source == strings.TrimSuffix(f[0], ":") {
					out[table.Name+"//"+c.Name] = number(f[1]) * max(c.Mul, 1)
				}
				if c.Source == "allocstall" && strings.HasPrefix(f[0], "allocstall_") {
					out[table.Name+"//"+c.Name] += number(f[1])
				}
			}
		}
	}
	for _, f := range lines("stat") {
		if f[0] == "procs_blocked" {
			out["load//blocked"] = number(f[1])
		}
		if id, ok := strings.CutPrefix(f[0], "cpu"); ok && id != "" {
			inOrder(&schemas.CPU, id, f[1:])
		}
	}
	f := lines("loadavg")[0]
	out["load//ldavg_1"], out["load//ldavg_5"], out["load//ldavg_15"] = percent(f[0]), percent(f[1]), percent(f[2])
	tasks := strings.Split(f[3], "/")
	out["load//runq_sz"], out["load//plist_sz"] = number(tasks[0]), number(tasks[1])
	named(&schemas.Memory, "meminfo")
	named(&schemas.Paging, "vmstat")
	for _, f := range lines("diskstats") {
		if whole(f[2]) && strings.Trim(strings.Join(f[3:], ""), "0") != "" {
			inOrder(&schemas.Disk, f[2], f[3:])
		}
	}
	for _, f := range lines("net/dev")[2:] {
		inOrder(&schemas.Net, strings.TrimSuffix(f[0], ":"), f[1:])
	}
	for _, resource := range []string{"cpu", "memory", "io"} {
		for _, f := range lines("pressure/" + resource) {
			key := "pressure/" + resource + "/" + f[0]
			out[key+"_avg10_pct"] = percent(strings.TrimPrefix(f[1], "avg10="))
			out[key+"_ns"] = 1000 * number(strings.TrimPrefix(f[4], "total="))
		}
	}
	return out
}

// bigHost writes a host of 256 CPUs, 64 disks of 3 partitions and 40 interfaces; the
// rest is the fixture's.
func bigHost(tb testing.TB) string {
	root := tb.TempDir()
	if err := os.CopyFS(root, os.DirFS(fixture)); err != nil {
		tb.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, "proc", name), []byte(text), 0o666); err != nil {
			tb.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, " %d", r.Uint64()>>(24+r.IntN(30)))
		}
		return b.String()
	}
	var stat, disks, nets strings.Builder
	fmt.Fprintf(&stat, "cpu %s\n", numbers(10))
	for i := range 256 {
		fmt.Fprintf(&stat, "cpu%d%s\n", i, numbers(10))
	}
	fmt.Fprintf(&stat, "intr%s\nctxt 1\nbtime 2\nprocesses 3\nprocs_running 4\nprocs_blocked 5\nsoftirq%s\n", numbers(2000), numbers(11))
	write("stat", stat.String())
	for i := range 64 {
		fmt.Fprintf(&disks, " 259 %7d nvme%dn1%s\n", 4*i, i, numbers(17))
		for p := range 3 {
			fmt.Fprintf(&disks, " 259 %7d nvme%dn1p%d%s\n", 4*i+p+1, i, p+1, numbers(17))
		}
	}
	write("diskstats", disks.String())
	nets.WriteString("Inter-|   Receive  |  Transmit\n face |bytes  |bytes\n")
	for i := range 40 {
		fmt.Fprintf(&nets, "%6s:%s\n", fmt.Sprintf("eth%d", i), numbers(16))
	}
	write("net/dev", nets.String())
	return root
}

// differences are the keys whose values aren't the same in both.
func differences(got, want map[string]int64) (out []string) {
	keys := slices.Collect(maps.Keys(got))
	for k := range want {
		if _, ok := got[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	show := func(m map[string]int64, k string) string {
		if v, ok := m[k]; ok {
			return strconv.FormatInt(v, 10)
		}
		return "null"
	}
	for _, k := range keys {
		if g, w := show(got, k), show(want, k); g != w {
			out = append(out, fmt.Sprintf("%s: got %s, want %s", k, g, w))
		}
	}
	return out
}

// fake is a file whose text is another at each reading.
type fake struct {
	read   func(n int) (string, error) // the n-th reading, from 1
	n      int
	closed bool
}

func (f *fake) ReadAt(p []byte, off int64) (int, error) {
	f.n++
	text, err := f.read(f.n)
	if err != nil {
		return 0, err
	}
	if n := copy(p, text[off:]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}
