package procfs

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseMeminfo(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]int64 // bytes or pages by column
		skipped    int64
		example    string
		err        string
	}{
		{name: "before Linux 3.14, with a bad line",
			text: "MemTotal: 8000000 kB\nMemFree: 2000000 kB\nBuffers: 300000 kB\nCached: 3000000 kB\nGarbage:\n",
			want: map[string]int64{"total_bytes": 8000000 * 1024, "free_bytes": 2000000 * 1024,
				"buffers_bytes": 300000 * 1024, "cached_bytes": 3000000 * 1024},
			skipped: 1, example: `procfs: meminfo: line 5: field "": missing`},
		{name: "another order, unknown lines, pages",
			text: "HugePages_Free:        3\nNew(thing):  5 kB\nOther: 6\nActive(anon): 7 kB\nActive: 8 kB\nMemTotal: 9 kB\n",
			want: map[string]int64{"huge_pages_free": 3, "active_anon_bytes": 7 << 10, "active_bytes": 8 << 10, "total_bytes": 9 << 10}},
		{name: "bad lines",
			text:    "MemTotal: 9 kB\nMemFree: x kB\nCached: -5 kB\nBuffers: 5 MB\nDirty: 5\nMapped: 5 kB 6\nHugePages_Free: 5 kB\nSlab 7 kB\nShmem: 18446744073709551616 kB\n",
			want:    map[string]int64{"total_bytes": 9 << 10},
			skipped: 8, example: `procfs: meminfo: line 2: field "x": not a number`},
		{name: "too large for bytes", text: "MemTotal: 9 kB\nMemFree: 9007199254740991 kB\nCached: 9007199254740992 kB\n",
			want:    map[string]int64{"total_bytes": 9 << 10, "free_bytes": 9007199254740991 << 10},
			skipped: 1, example: `procfs: meminfo: line 3: field "9007199254740992": out of range`},
		{name: "named twice", text: "MemTotal: 9 kB\nMemFree: 1 kB\nMemFree: 2 kB\n",
			want:    map[string]int64{"total_bytes": 9 << 10, "free_bytes": 1 << 10},
			skipped: 1, example: `procfs: meminfo: line 3: field "2": named twice`},
		{name: "cut off", text: "MemTotal: 9 kB\nMemFree: 123",
			want:    map[string]int64{"total_bytes": 9 << 10},
			skipped: 1, example: `procfs: meminfo: line 2: field "MemFree: 123": cut off`},
		{name: "empty", err: "procfs: memory: meminfo is empty"},
		{name: "total 0", text: "MemTotal: 0 kB\n", err: "procfs: memory: MemTotal is 0"},
		{name: "total 0, not first", text: "MemFree: 5 kB\nMemTotal: 0 kB\n", err: "procfs: memory: MemTotal is 0"},
		{name: "first line bad", text: "MemTotal: x kB\nMemFree: 5 kB\n", err: `procfs: meminfo: line 1: field "x": not a number`},
		{name: "first line without a unit", text: "MemTotal: 5\n", err: `procfs: meminfo: line 1: field "5": not followed by its unit alone`},
		{name: "Linux 2.4", text: "        total:    used:    free:\nMem:  5 4 1\nMemTotal: 5 kB\n", err: `procfs: meminfo: line 1: field "used:": not a number`},
		{name: "one line cut off", text: "MemTotal: 12", err: `procfs: meminfo: line 1: field "MemTotal: 12": no whole line`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkNamed(t, &schemas.Memory, parseMeminfo, tt.text, tt.want, tt.skipped, tt.example, tt.err)
		})
	}
}

func TestParseVmstat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]int64
		skipped    int64
		example    string
		err        string
	}{
		{name: "scanned and stolen, by whom and of what",
			text: "pgscan_kswapd 130000\npgscan_direct 900\npgscan_khugepaged 0\npgscan_direct_throttle 7\npgscan_anon 0\npgscan_file 130900\n" +
				"pgsteal_kswapd 65000\npgsteal_direct 450\npgsteal_khugepaged 0\npgsteal_anon 0\npgsteal_file 65450\n",
			want: map[string]int64{"pgscan_kswapd": 130000, "pgscan_direct": 900, "pgscan_khugepaged": 0,
				"pgsteal_kswapd": 65000, "pgsteal_direct": 450, "pgsteal_khugepaged": 0}},
		{name: "zones of an old kernel",
			text: "nr_free_pages 1\npgpgin 3\npgalloc_normal 9\npgscan_kswapd_dma 1\npgscan_kswapd_dma32 20\npgscan_kswapd_normal 300\npgscan_kswapd_movable 4000\n" +
				"pgscan_direct_normal 5\npgscan_direct_throttle 6\npgrefill_high 7\n",
			want: map[string]int64{"pgpgin_bytes": 3 << 10, "pgscan_kswapd": 4321, "pgscan_direct": 5, "pgrefill": 7}},
		{name: "zones of today",
			text: "nr_free_pages 1\npgalloc_dma 7\nallocstall_dma 1\nallocstall_dma32 20\nallocstall_normal 300\nallocstall_movable 4000\nallocstall_device 50000\npgfree 8\n",
			want: map[string]int64{"allocstall": 54321, "pgfree": 8}},
		{name: "one zone unknown", text: "nr_free_pages 1\npgscan_kswapd_dma 1\npgscan_kswapd_dma32 x\npgscan_kswapd_normal 300\npgscan_direct_dma 4\n",
			want:    map[string]int64{"pgscan_direct": 4},
			skipped: 1, example: `procfs: vmstat: line 3: field "x": not a number`},
		{name: "zones beside the whole", text: "pgrefill 5\npgrefill_dma 1\npgscan_direct_dma 4\npgscan_direct 4\n",
			want:    map[string]int64{"pgscan_direct": 4},
			skipped: 2, example: `procfs: vmstat: line 2: field "1": named twice`},
		{name: "all 64 bits, also of bytes", text: "pgfault 18446744073709551615\npgpgin 18446744073709551615\npgpgout 18446744073709551616\n",
			want:    map[string]int64{"pgfault": -1, "pgpgin_bytes": -1024},
			skipped: 1, example: `procfs: vmstat: line 3: field "18446744073709551616": out of range`},
		{name: "bad lines", text: "pgfault 5\noom_kill\n\n pgpgin 4\npswpin 5 6\npswpout -7\npgfree 0x5\npgactivate \n",
			want:    map[string]int64{"pgfault": 5},
			skipped: 7, example: `procfs: vmstat: line 2: field "oom_kill": no name`},
		{name: "empty", err: `procfs: vmstat: line 1: field "": no whole line`},
		{name: "first line bad", text: "nr_free_pages x\npgpgin 4\n", err: `procfs: vmstat: line 1: field "x": not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkNamed(t, &schemas.Paging, parseVmstat, tt.text, tt.want, tt.skipped, tt.example, tt.err)
		})
	}
}

type namedParser func(*schemas.Block, []byte, *names, *skips) error

// checkNamed parses text thrice: with new names, with the names that it left, and with
// those that another text left.
func checkNamed(t *testing.T, table *schemas.Table, parse namedParser, text string, want map[string]int64, skipped int64, example, cause string) {
	t.Helper()
	other := "MemTotal: 5 kB\nMemFree: 5 kB\nMemAvailable: 6 kB\n\nBuffers: 9 kB\nSlab: 4 kB\n"
	if table == &schemas.Paging {
		other = "pgfault 5\npgpgin 5\npgpgout 5\npgscan_kswapd_normal 4\n\npgfree 5\n"
	}
	n := newNames(table)
	b := schemas.Block{Table: table}
	for _, text := range []string{text, text, other, text} {
		var bad skips
		err := parse(&b, []byte(text), n, &bad)
		if text == other {
			continue
		}
		if bad.lines != skipped || bad.example != example {
			t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, skipped, example)
		}
		if (err != nil || cause != "") && (err == nil || err.Error() != cause) {
			t.Errorf("error %v, want %q", err, cause)
		}
		if err != nil {
			continue
		}
		if got := columns(&b); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// In a kernel of today only the stalls of allocations are counted by zone.
func TestZonesToday(t *testing.T) {
	text, err := os.ReadFile(fixture + "/proc/vmstat")
	if err != nil {
		t.Fatal(err)
	}
	n := newNames(&schemas.Paging)
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); n.columns[name].zone && !strings.HasPrefix(name, "allocstall_") {
			t.Errorf("%s is taken for a zone", name)
		}
	}
}

// Each column that is read by name says which.
func TestColumnsHaveSources(t *testing.T) {
	for _, table := range []*schemas.Table{&schemas.Memory, &schemas.Paging, &schemas.NetProto, &schemas.NetProto6, &schemas.Sockets} {
		seen := make(map[string]bool)
		for _, c := range table.Columns {
			if c.Source == "" || seen[c.Source] {
				t.Errorf("%s.%s: source %q", table.Name, c.Name, c.Source)
			}
			seen[c.Source] = true
		}
	}
	for _, table := range []*schemas.Table{&schemas.Memory, &schemas.Paging, &schemas.NetProto6, &schemas.NFSClient, &schemas.NFSServer} {
		if got := len(table.Columns); got > 64*len(columnSet{}) {
			t.Errorf("%s: %d columns are more than a columnSet takes", table.Name, got)
		}
	}
}
