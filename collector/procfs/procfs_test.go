package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

func golden(t *testing.T, fixture string) map[string]int64 {
	f, err := os.Open(fixture + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := make(map[string]int64)
	for s := bufio.NewScanner(f); s.Scan(); {
		space := strings.LastIndexByte(s.Text(), ' ') // a device may have one
		v, err := strconv.ParseInt(s.Text()[space+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[s.Text()[:space]] = v
	}
	return out
}

func TestFixturesExact(t *testing.T) {
	for _, fixture := range fixtures {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			got := sampleAll(t, fixture)
			for _, d := range differences(got, golden(t, fixture)) {
				t.Error(d)
			}
			for _, d := range differences(got, reference(t, fixture, wholeByName)) {
				t.Error("reference:", d)
			}
		})
	}
}

func TestBigHostAsReference(t *testing.T) {
	root := bigHost(t)
	got := sampleAll(t, root)
	if n := 256*10 + 64*17 + 40*16 + 256*505 + 507 + 256*11 + 256*6 + 65*5; len(got) < n {
		t.Errorf("%d values, want %d and more", len(got), n)
	}
	for _, d := range differences(got, reference(t, root, wholeByName)) {
		t.Error(d)
	}
}

// Between two plain readings of the running kernel no counter is outside of them.
func TestLiveBetweenReadings(t *testing.T) {
	retreats := make(map[string]bool)
	levels := make(map[string]bool)
	for _, table := range schemas.Tables {
		for _, c := range table.Columns {
			retreats[table.Name+"/"+c.Name] = c.Retreats != ""
			levels[table.Name+"/"+c.Name] = !c.Kind.Cumulative()
		}
	}
	before := reference(t, "/", (&host{sys: "/sys"}).wholeDisk)
	got := sampleAll(t, "/")
	after := reference(t, "/", (&host{sys: "/sys"}).wholeDisk)
	for key, lo := range before {
		hi, ok := after[key]
		if !ok {
			continue // a device went away
		}
		part := strings.Split(key, "/")
		column := part[0] + "/" + part[len(part)-1]
		v, ok := got[key]
		switch {
		case !ok:
			t.Errorf("%s: null, want %d to %d", key, lo, hi)
		case levels[column], retreats[column]:
		case v < lo, v > hi:
			t.Errorf("%s: %d, want %d to %d", key, v, lo, hi)
		}
	}
	if len(got) < 100 {
		t.Errorf("only %d values", len(got))
	}
}

func TestNoAllocationATick(t *testing.T) {
	for _, root := range slices.Concat(fixtures, []string{"/", bigHost(t)}) {
		sources, _, err := Sources(root, collector.Now, Options{InterruptCells: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			blocks := newBlocks(s)
			n := testing.AllocsPerRun(100, func() {
				if err := s.Sample(blocks); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%s of %s: %v allocations a tick", s.Name(), root, n)
			}
		}
	}
}

func TestNoAllocationForBadLines(t *testing.T) {
	text := []byte("MemTotal: 8 kB\nMemFree: x kB\nGarbage:\nnothing\n")
	b := schemas.Block{Table: &schemas.Memory}
	n := newNames(b.Table)
	var bad skips
	if got := testing.AllocsPerRun(100, func() { parseMeminfo(&b, text, n, &bad) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	if bad.lines != 3*101 || bad.example != `procfs: meminfo: line 2: field "x": not a number` {
		t.Errorf("%d lines, %s", bad.lines, bad.example)
	}
}

func TestSourcesInOrder(t *testing.T) {
	sources, absent, err := newHost(fixture, Options{}).sources(collector.Now)
	if err != nil || !maps.Equal(absent, lacking(fixture, noVM)) {
		t.Fatal(absent, err)
	}
	var got []string
	for _, s := range sources {
		line := s.Name()
		for _, table := range s.Tables() {
			line += " " + table.Name
		}
		got = append(got, line)
	}
	want := []string{"stat cpu load kernel", "meminfo memory", "diskstats disk", "net_dev net", "vmstat paging", "pressure pressure",
		"interrupts interrupts interrupts_cpu", "softnet softnet", "serial serial", "filesystem filesystem", "net_proto net_proto",
		"net_proto6 net_proto6", "sockets sockets", "swaps swap"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// noVM are the sources that the fixture does not have, and their files.
var noVM = map[string]string{"nfs_client": "net/rpc/nfs", "nfs_server": "net/rpc/nfsd", "schedstat": "schedstat"}

// lacking are the causes of what lacks these files.
func lacking(root string, files map[string]string) map[string]string {
	out := make(map[string]string)
	for what, file := range files {
		out[what] = filepath.Join(root, "proc", file) + " does not exist"
	}
	return out
}

func TestInterruptCellsWhenAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		sources, _, err := Sources(fixture, collector.Now, Options{InterruptCells: asked})
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, s := range sources {
			got = got || slices.Contains(s.Tables(), &schemas.InterruptCells)
			if err := s.Sample(newBlocks(s)); err != nil {
				t.Error(err)
			}
		}
		if got != asked {
			t.Errorf("asked %v, got %v", asked, got)
		}
	}
}

func TestAbsent(t *testing.T) {
	const all = "stat meminfo diskstats net_dev vmstat pressure interrupts softnet serial filesystem net_proto net_proto6 sockets swaps"
	for _, tt := range []struct {
		name   string
		remove []string
		lost   string            // sources
		absent map[string]string // what is lacking, and which file the cause names
	}{
		{"nothing", nil, "", nil},
		{"a source", []string{"vmstat"}, "vmstat", map[string]string{"vmstat": "vmstat"}},
		{"loadavg", []string{"loadavg"}, "", map[string]string{"loadavg": "loadavg"}},
		{"kernel tables", []string{"sys"}, "", map[string]string{"sys/fs/dentry-state": "sys/fs/dentry-state", "sys/fs/file-nr": "sys/fs/file-nr",
			"sys/fs/inode-nr": "sys/fs/inode-nr", "sys/kernel/pty/nr": "sys/kernel/pty/nr"}},
		{"stat", []string{"stat"}, "stat", map[string]string{"stat": "stat"}},
		{"one pressure", []string{"pressure/cpu"}, "", map[string]string{"pressure/cpu": "pressure/cpu"}},
		{"all pressure", []string{"pressure"}, "pressure", map[string]string{"pressure": "pressure/cpu"}},
		{"softirqs", []string{"softirqs"}, "", map[string]string{"softirqs": "softirqs"}},
		{"interrupts", []string{"interrupts"}, "interrupts", map[string]string{"interrupts": "interrupts"}},
		{"snmp", []string{"net/snmp"}, "", map[string]string{"net/snmp": "net/snmp"}},
		{"IPv6", []string{"net/snmp6", "net/sockstat6"}, "net_proto6", map[string]string{"net_proto6": "net/snmp6", "net/sockstat6": "net/sockstat6"}},
		{"all", []string{"stat", "loadavg", "meminfo", "diskstats", "net", "vmstat", "pressure", "sys", "interrupts", "softirqs", "tty", "self", "swaps"}, all,
			map[string]string{"stat": "stat", "meminfo": "meminfo", "diskstats": "diskstats", "net_dev": "net/dev", "vmstat": "vmstat", "pressure": "pressure/cpu",
				"interrupts": "interrupts", "softnet": "net/softnet_stat", "serial": "tty/driver/serial", "filesystem": "self/mountinfo", "net_proto": "net/snmp",
				"net_proto6": "net/snmp6", "sockets": "net/sockstat", "swaps": "swaps"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(fixture)); err != nil {
				t.Fatal(err)
			}
			for _, name := range tt.remove {
				if err := os.RemoveAll(filepath.Join(root, "proc", name)); err != nil {
					t.Fatal(err)
				}
			}
			sources, absent, err := hostAt(root).sources(collector.Now)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range sources {
				names = append(names, s.Name())
				if err := s.Sample(newBlocks(s)); err != nil {
					t.Error(err)
				}
			}
			want := slices.DeleteFunc(strings.Fields(all), func(s string) bool { return slices.Contains(strings.Fields(tt.lost), s) })
			if !slices.Equal(names, want) {
				t.Errorf("sources %q, want %q", names, want)
			}
			causes := lacking(root, noVM)
			maps.Copy(causes, lacking(root, tt.absent))
			if !maps.Equal(absent, causes) {
				t.Errorf("absent %q, want %q", absent, causes)
			}
		})
	}
}

// A file may be there and not be for everybody.
func TestAbsentWhenNotPermitted(t *testing.T) {
	h := hostAt(fixture)
	h.open = func(path string) (handle, error) {
		if filepath.Base(path) == "serial" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: unix.EACCES}
		}
		return openFile(path)
	}
	_, absent, err := h.sources(collector.Now)
	if err != nil || absent["serial"] != "open "+fixture+"/proc/tty/driver/serial: permission denied" {
		t.Errorf("absent %q, %v", absent, err)
	}
}

// A pressure file may be there and say at the reading that it is not supported.
func TestPressureNotSupported(t *testing.T) {
	for _, tt := range []struct {
		off     []string
		devices []string
		absent  string
	}{
		{[]string{"cpu"}, []string{"memory", "io"}, "pressure/cpu"},
		{[]string{"cpu", "memory", "io"}, nil, "pressure"},
	} {
		t.Run(tt.absent, func(t *testing.T) {
			var off []*fake
			h := hostAt(fixture)
			h.open = func(path string) (handle, error) {
				if filepath.Base(filepath.Dir(path)) != "pressure" || !slices.Contains(tt.off, filepath.Base(path)) {
					return openFile(path)
				}
				off = append(off, &fake{read: func(int) (string, error) {
					return "", &fs.PathError{Op: "read", Path: path, Err: unix.EOPNOTSUPP}
				}})
				return off[len(off)-1], nil
			}
			sources, absent, err := h.sources(collector.Now)
			if err != nil {
				t.Fatal(err)
			}
			want := lacking(fixture, noVM)
			want[tt.absent] = fixture + "/proc/pressure/cpu is there, but the kernel does not support it (switched off)"
			if !maps.Equal(absent, want) {
				t.Errorf("absent %q", absent)
			}
			var devices []string
			for _, s := range sources {
				for range 2 {
					b := newBlocks(s)
					if err := s.Sample(b); err != nil {
						t.Error(err)
					}
					if s.Name() == "pressure" {
						devices = b[0].Devices
					}
				}
			}
			if !slices.Equal(devices, tt.devices) {
				t.Errorf("devices %q", devices)
			}
			for _, f := range off {
				if f.n != 1 || !f.closed {
					t.Errorf("read %d times, closed %v", f.n, f.closed)
				}
			}
		})
	}
}

func TestRootUnusable(t *testing.T) {
	if _, _, err := Sources(filepath.Join(t.TempDir(), "none"), collector.Now, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := Sources(fixture+"/proc/stat", collector.Now, Options{}); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
}

// Text longer than the buffer is read again, not joined from two readings, and the
// stamp is the last reading's.
func TestReadAgainWhenTooLong(t *testing.T) {
	long := func(n int) string {
		return "cpu  1 1 1 1\n" + strings.Repeat(fmt.Sprintf("cpu0 %04d 1 1 1\n", n), 400+400*n) + "procs_blocked 1\n"
	}
	var stat *fake
	h := hostAt(fixture)
	h.open = func(path string) (handle, error) {
		if filepath.Base(path) == "stat" {
			stat = &fake{read: func(n int) (string, error) { return long(n), nil }}
			return stat, nil
		}
		return openFile(path)
	}
	var now int64
	sources, _, err := h.sources(func() (wallNS, bootNS int64) { now++; return 100 + now, now })
	if err != nil {
		t.Fatal(err)
	}
	if now != 0 {
		t.Error("the clock was read while opening")
	}
	s, first := sources[0], stat.n
	b := newBlocks(s)
	if err := s.Sample(b); err != nil {
		t.Fatal(err)
	}
	if stat.n == first || first < 2 {
		t.Errorf("%d readings, then %d", first, stat.n)
	}
	if got, want := b[0].Rows(), 400+400*stat.n; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for r := range b[0].Rows() {
		if v := b[0].Values[r*len(b[0].Table.Columns)]; v != int64(stat.n) {
			t.Fatalf("row %d is of reading %d, want %d", r, v, stat.n)
		}
	}
	for i := range b {
		if want := int64(stat.n - first); b[i].BootNS != want || b[i].WallNS != 100+want {
			t.Errorf("block %d: stamp %d, %d, want %d", i, b[i].WallNS, b[i].BootNS, want)
		}
	}
}

// A reading may fail and the next one succeed.
func TestReadingFails(t *testing.T) {
	broken := false
	h := hostAt(fixture)
	h.open = func(path string) (handle, error) {
		return &fake{read: func(int) (string, error) {
			if broken {
				return "", unix.EIO
			}
			text, err := os.ReadFile(path)
			return string(text), err
		}}, nil
	}
	sources, _, err := h.sources(collector.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		blocks := newBlocks(s)
		for _, broken = range []bool{false, true, false} {
			if err := s.Sample(blocks); errors.Is(err, unix.EIO) != broken {
				t.Errorf("%s: broken %v: %v", s.Name(), broken, err)
			}
		}
	}
}

// A tick that was handed on keeps its list of devices, whatever comes later.
func TestDevicesOfEarlierTicksStay(t *testing.T) {
	b := schemas.Block{Table: &schemas.Net}
	var bad skips
	var held, want [][]string
	for _, names := range []string{"a b c", "a b", "a b d", "x b d e", "", "y", "y z"} {
		var text strings.Builder
		text.WriteString("Inter-|\n")
		for _, name := range strings.Fields(names) {
			fmt.Fprintf(&text, "%s: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", name)
		}
		if err := parseNetDev(&b, []byte(text.String()), &bad); err != nil {
			t.Fatal(err)
		}
		held, want = append(held, b.Devices), append(want, strings.Fields(names))
		if n := len(b.Devices) * len(b.Table.Columns); len(b.Values) != n || len(b.Known) != n {
			t.Errorf("%q: %d values, %d marks", names, len(b.Values), len(b.Known))
		}
	}
	for i := range held {
		if !slices.Equal(held[i], want[i]) {
			t.Errorf("tick %d: %q, want %q", i, held[i], want[i])
		}
	}
}
