package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/procfs"
	"github.com/steadybench/steady/schemas"
)

// sampledHost is a host of files with a source, whose ticks become a run.
type sampledHost struct {
	*rig
	root   string
	source collector.Source
	seq    int64
	tk     schemas.Tick
	m      *machine
}

func newSampledHost(t *testing.T, open func(root string, clock collector.Clock) (collector.Source, error), files map[string]string) *sampledHost {
	t.Helper()
	h := &sampledHost{rig: newRig(t), root: t.TempDir(), m: host("h")}
	for name, text := range files {
		h.write(name, text)
	}
	var err error
	h.source, err = open(h.root, func() (wallNS, bootNS int64) {
		at := h.m.at(h.seq * second)
		return at.WallNS, at.BootNS
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.source.Close() })
	for _, table := range h.source.Tables() {
		h.tk.Blocks = append(h.tk.Blocks, schemas.Block{Table: table})
	}
	h.begin(h.m, 1)
	return h
}

func (h *sampledHost) write(name, text string) {
	h.Helper()
	path := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		h.Fatal(err)
	}
}

// sample takes a tick a second after the last, as the sampler does.
func (h *sampledHost) sample() {
	h.Helper()
	h.seq++
	h.tk.Seq, h.tk.Rows = h.seq, nil
	if err := h.source.Sample(h.tk.Blocks); err != nil {
		h.Fatal(err)
	}
	h.tk.Rows = h.source.(collector.Noter).Notes(h.tk.Rows)
	h.tick(h.m.producer(1), &h.tk)
}

func (h *sampledHost) done() folder {
	h.Helper()
	h.end(h.m, 1, h.seq)
	return h.finish()
}

// reasons are the notes on a table but for columns that are absent.
func (f folder) reasons(table string) []string {
	f.Helper()
	return slices.DeleteFunc(f.lines(&schemas.Quality, "seq", "table", "column", "part", "reason", "previous", "current"), func(s string) bool {
		return !strings.Contains(s, " "+table+" ") || strings.Contains(s, " absent ")
	})
}

func openGroups(root string, clock collector.Clock) (collector.Source, error) {
	s, _, err := procfs.Groups(root, []string{"/docker/*"}, clock)
	return s, err
}

func cpuStat(usec int) string {
	return fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 0\n", usec, usec)
}

// A container restarts under its name, and its counters begin anew: the second is null
// with both readings, the next is normal, and a sum over containers is formed from
// their increments. No increment is invented where the new counter is beyond the old.
func TestContainerRestarts(t *testing.T) {
	h := newSampledHost(t, openGroups, map[string]string{
		"proc/self/mountinfo":  "30 1 0:26 / /cg rw - cgroup2 none rw\n",
		"cg/docker/a/cpu.stat": cpuStat(16000000),
		"cg/docker/b/cpu.stat": cpuStat(500),
		"cg/docker/c/cpu.stat": cpuStat(100),
	})
	anew := func(group string, usec int) {
		t.Helper()
		h.write("cg/"+group+"/cpu.stat", cpuStat(usec))
		old := filepath.Join(h.root, "cg/docker", group)
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(h.root, "cg", group), old); err != nil {
			t.Fatal(err)
		}
	}
	h.sample()
	h.write("cg/docker/a/cpu.stat", cpuStat(16405214))
	h.write("cg/docker/b/cpu.stat", cpuStat(1500))
	h.sample()
	anew("a", 781274)
	h.write("cg/docker/b/cpu.stat", cpuStat(3500))
	anew("c", 9000000) // one second: more CPU time than the old one had in all its life
	h.sample()
	h.write("cg/docker/a/cpu.stat", cpuStat(1781274))
	h.write("cg/docker/b/cpu.stat", cpuStat(6500))
	h.write("cg/docker/c/cpu.stat", cpuStat(9500000))
	h.sample()
	h.write("cg/docker/c/cpu.stat", cpuStat(9600000))
	h.sample()
	f := h.done()
	same(t, "cgroup", f.lines(&schemas.Cgroup, "seq", "device", "interval_ns", "cpu_ns"), []string{
		"1 /docker/a - -", "2 /docker/a 1000000000 405214000", "3 /docker/a 1000000000 -", "4 /docker/a 1000000000 1000000000", "5 /docker/a 1000000000 0",
		"1 /docker/b - -", "2 /docker/b 1000000000 1000000", "3 /docker/b 1000000000 2000000", "4 /docker/b 1000000000 3000000", "5 /docker/b 1000000000 0",
		"1 /docker/c - -", "2 /docker/c 1000000000 0", "4 /docker/c 2000000000 -", "5 /docker/c 1000000000 100000000",
	})
	same(t, "quality", f.reasons("cgroup"), []string{
		"1 cgroup  /docker/a first - -", "1 cgroup  /docker/b first - -", "1 cgroup  /docker/c first - -",
		"3 cgroup  /docker/a restart - -",
		"3 cgroup cpu_ns /docker/a reset 16405214000 781274000",
		"3 cgroup system_ns /docker/a reset 0 0",
		"3 cgroup user_ns /docker/a reset 16405214000 781274000",
		"3 cgroup  /docker/c restart - -",
		"4 cgroup cpu_ns /docker/c hotplug 100000 9500000000",
		"4 cgroup system_ns /docker/c hotplug 0 0",
		"4 cgroup user_ns /docker/c hotplug 100000 9500000000",
	})
	if got := f.m.Quality["restart"]; got != 2 {
		t.Errorf("%d restarts", got)
	}
}

// A host whose groups all went away goes on, and those that come are new devices.
func TestNoContainersForAWhile(t *testing.T) {
	h := newSampledHost(t, openGroups, map[string]string{
		"proc/self/mountinfo":  "30 1 0:26 / /cg rw - cgroup2 none rw\n",
		"cg/docker/a/cpu.stat": cpuStat(7),
	})
	h.sample()
	if err := os.RemoveAll(filepath.Join(h.root, "cg/docker/a")); err != nil {
		t.Fatal(err)
	}
	h.sample()
	h.write("cg/docker/b/cpu.stat", cpuStat(5))
	h.sample()
	h.write("cg/docker/b/cpu.stat", cpuStat(8))
	h.sample()
	f := h.done()
	same(t, "cgroup", f.lines(&schemas.Cgroup, "seq", "device", "cpu_ns"), []string{"1 /docker/a -", "3 /docker/b -", "4 /docker/b 3000"})
	if f.m.Status != schemas.Complete {
		t.Errorf("%s: %q", f.m.Status, f.m.Reasons)
	}
}

// statOf is the text of /proc/PID/stat of a process that used so many ticks of CPU time.
func statOf(pid, start, user int) string {
	return fmt.Sprintf("%d (nginx) S 1 1 1 0 -1 4194304 0 0 0 0 %d 0 0 0 20 0 1 0 %d 4096000 10 18446744073709551615\n", pid, user, start)
}

// Of a server with many workers one row adds them up: it goes on when a worker ends, has
// all that a new one did, and takes nothing back when a pid is used again; and so does
// the row of a single process, whose counters never go back.
func TestWorkersComeAndGo(t *testing.T) {
	h := newSampledHost(t, func(root string, clock collector.Clock) (collector.Source, error) {
		s, _, err := procfs.Processes(root, []procfs.Selector{{Comm: "nginx"}, {Comm: "ngin?", Each: true}}, clock)
		return s, err
	}, map[string]string{"proc/10/stat": statOf(10, 100, 500), "proc/11/stat": statOf(11, 100, 9000)})
	end := func(pid int) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(h.root, fmt.Sprintf("proc/%d", pid))); err != nil {
			t.Fatal(err)
		}
	}
	h.sample()
	h.write("proc/10/stat", statOf(10, 100, 520))
	h.write("proc/11/stat", statOf(11, 100, 9030))
	h.sample()
	end(11)
	h.write("proc/12/stat", statOf(12, 700, 7))
	h.sample()
	h.write("proc/11/stat", statOf(11, 800, 40)) // another one
	h.sample()
	h.write("proc/11/stat", statOf(11, 800, 41))
	h.sample()
	f := h.done()
	same(t, "process", f.lines(&schemas.Process, "seq", "device", "user_ns", "processes"), []string{
		"1 nginx - 2", "2 nginx 500000000 2", "3 nginx 70000000 2", "4 nginx 400000000 3", "5 nginx 10000000 3",
		"1 nginx[10] - 1", "2 nginx[10] 200000000 1", "3 nginx[10] 0 1", "4 nginx[10] 0 1", "5 nginx[10] 0 1",
		"1 nginx[11] - 1", "2 nginx[11] 300000000 1", "4 nginx[11] 400000000 1", "5 nginx[11] 10000000 1",
		"3 nginx[12] - 1", "4 nginx[12] 0 1", "5 nginx[12] 0 1",
	})
	same(t, "quality", f.reasons("process"), []string{
		"1 process  nginx first - -", "1 process  nginx[10] first - -", "1 process  nginx[11] first - -", "3 process  nginx[12] first - -",
	})
}
