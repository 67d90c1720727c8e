package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// burn is work of some hundred milliseconds for sh.
const burn = `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`

// patience is how long a test waits before it fails.
const patience = time.Minute

// groups calls f with a group of a control group and with one of the process tree.
func groups(t *testing.T, f func(t *testing.T, h hierarchy, counted bool)) {
	t.Run("control group", func(t *testing.T) {
		h, ok := findHierarchy()
		if !ok {
			t.Skip("skipped: this process may not make a control group")
		}
		f(t, h, true)
	})
	t.Run("process tree", func(t *testing.T) { f(t, hierarchy{}, false) })
}

func begin(t *testing.T, h hierarchy, counted bool, script string) *group {
	t.Helper()
	g, err := start(h, counted, t.TempDir(), nil, []string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if g.dir == "" && !g.alive() {
			return
		}
		if err := g.end(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	return g
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("no %s within %s", what, patience)
		}
	}
}

// The kernel tells the CPU time of a process and of the children that it waited for
// when it ends: what a group says must be as much.
func TestCPUTimeIsTheKernels(t *testing.T) {
	groups(t, func(t *testing.T, h hierarchy, counted bool) {
		script := burn + `; wait; echo done; while [ ! -e stop ]; do sleep 0.05; done`
		if counted {
			script = `(` + burn + `) & ` + script // that child has ended when we look
		}
		g := begin(t, h, counted, script)
		dir := g.cmd.Dir
		before, err := g.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		await(t, "end of the work", func() bool {
			text, err := os.ReadFile(filepath.Join(dir, "output"))
			return err == nil && strings.Contains(string(text), "done")
		})
		after, err := g.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		<-g.ended
		state := g.cmd.ProcessState
		want := state.UserTime() + state.SystemTime()
		got := time.Duration(after.since(before).cpuNS)
		if got > want || got < want/2 {
			t.Errorf("%s between the snapshots, %s in all", got, want)
		}
		if counted {
			total, err := g.cpuTime()
			if err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(float64(total) - float64(want)); d > 0.02*float64(want)+5e6 {
				t.Errorf("the control group says %s, the kernel at the end %s", time.Duration(total), want)
			}
		}
		if u := after.since(before); u.written < int64(len("done\n")) || u.switches < 0 {
			t.Errorf("%d bytes written, %d context switches", u.written, u.switches)
		}
	})
}

// All processes of a contender end, also those that don't want to.
func TestEndLeavesNothing(t *testing.T) {
	groups(t, func(t *testing.T, h hierarchy, counted bool) {
		g := begin(t, h, counted, `sh -c 'trap "" TERM; while :; do sleep 100; done' & while :; do sleep 100; done`)
		var pids []int
		// The first ends of the signal, and leaves orphans that don't.
		await(t, "four processes", func() bool {
			var err error
			if pids, err = g.pids(); err != nil {
				t.Fatal(err)
			}
			return len(pids) == 4
		})
		if err := g.signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := g.end(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(text), ") Z ") {
				t.Errorf("process %d lives: %s", pid, text)
			}
		}
		if counted {
			if _, err := os.Stat(g.dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the control group is still there: %v", err)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestUseBetweenSnapshots(t *testing.T) {
	at := time.Unix(100, 0)
	for _, tt := range []struct {
		name          string
		before, after snapshot
		want          used
	}{
		{"a control group counts", snapshot{at: at, group: 1000}, snapshot{at: at.Add(2 * time.Second), group: 5000}, used{seconds: 2, cpuNS: 4000}},
		{"threads that began and ended", // 7 ended, 9 began
			snapshot{at: at, cpu: map[int]int64{7: 500, 8: 100}, switches: map[int]int64{7: 50, 8: 10}, written: map[int]int64{7: 5}},
			snapshot{at: at.Add(time.Second), cpu: map[int]int64{8: 150, 9: 30}, switches: map[int]int64{8: 12, 9: 3}, written: map[int]int64{}},
			used{seconds: 1, cpuNS: 80, switches: 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.after.since(&tt.before); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestOwnGroup(t *testing.T) {
	const v1, v2 = "9:name=systemd:/\n2:cpu,cpuacct:/a/b\n0::/\n", "0::/user.slice/session-1.scope\n"
	for _, tt := range []struct{ text, controller, want string }{
		{v1, "cpuacct", "/a/b"},
		{v1, "", "/"},
		{v2, "", "/user.slice/session-1.scope"},
		{v2, "cpuacct", ""},
	} {
		if got := ownPath([]byte(tt.text), tt.controller); got != tt.want {
			t.Errorf("%q of %q: got %q, want %q", tt.controller, tt.text, got, tt.want)
		}
	}
}

// made is a bench whose turns are made up.
func made() *bench {
	turns := func(cpu ...int64) (out []turn) {
		for i, c := range cpu {
			out = append(out, turn{used: used{seconds: 2, cpuNS: c, switches: 4, written: 8000}, memory: memory{rss: 3 << 20, pss: 1 << 20}, processes: i + 1, busy: 10 * float64(i+1)})
		}
		return out
	}
	return &bench{rounds: 3, turn: 2 * time.Second, began: time.Unix(0, 0).UTC(), counted: true, entries: []*entry{
		{contender: contender{name: "base", what: "the base"}, turns: turns(2e6, 4e6, 3e6)},
		{contender: contender{name: "other", what: "the other"}, turns: turns(4e6, 4e6, 9e6)},
		{contender: contender{name: "gone", what: "not here"}, absent: "gone is not here: apt-get install gone, or the like"},
	}}
}

func TestText(t *testing.T) {
	const want = `What collecting once a second costs: 3 rounds of 2s each, begun 1970-01-01 00:00 UTC. Median (least to most).

| collector | CPU, ms a tick | times base | RSS, MiB | PSS, MiB | context switches a tick | bytes written a tick | processes | CPUs busy, by all, % |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| base | 1.500 (1.000 to 2.000) | 1.00 | 3.0 | 1.0 | 2.0 | 4000 | 3 | 20 (10 to 30) |
| other | 2.000 (2.000 to 4.500) | 2.00 (1.00 to 3.00) | 3.0 | 1.0 | 2.0 | 4000 | 3 | 20 (10 to 30) |

- base: the base
- other: the other
- gone was not measured: gone is not here: apt-get install gone, or the like

CPU time is that of a control group of the collector's own, ended threads and children included. What the kernel does later on a collector's behalf (writing back, receiving) is nobody's here. The ratio is of turns of the same round. Contenders that are one program share its pages: alone, their PSS would be larger.
`
	var s strings.Builder
	if err := made().writeText(&s); err != nil {
		t.Fatal(err)
	}
	if s.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &s, want)
	}
}

func TestJSON(t *testing.T) {
	var s strings.Builder
	if err := made().writeJSON(&s); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Collectors []struct {
			Name, Absent string
			Ratio        *spread
			CPU          spread `json:"cpu_ms_per_tick"`
		}
	}
	if err := json.Unmarshal([]byte(s.String()), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Collectors
	if len(c) != 3 || c[1].CPU != (spread{2, 2, 4.5}) || *c[1].Ratio != (spread{2, 1, 3}) || c[2].Absent == "" || c[2].Ratio != nil {
		t.Errorf("got %s", &s)
	}
}

// Without the first contender there are no ratios.
func TestNoBase(t *testing.T) {
	b := made()
	b.entries[0].turns, b.entries[0].absent = nil, "not here"
	if c := b.costs(); c[1].Ratio != nil || c[1].CPU.Median != 2 {
		t.Errorf("got %+v", c[1])
	}
}

func TestChoose(t *testing.T) {
	got, err := choose("sadc, netdata")
	if err != nil || len(got) != 2 || got[0].name != "sadc" || got[1].name != "netdata" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := choose("sadc,nonesuch"); err == nil || !strings.Contains(err.Error(), "node_exporter") {
		t.Errorf("an unknown one: %v", err)
	}
}

// steady and sadc are measured as make compare-cost does, shortly; nothing stays.
func TestRun(t *testing.T) {
	if _, err := program("sysstat", sadcPaths...); err != nil {
		t.Skip("skipped: " + err.Error())
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out, say strings.Builder
	code := run(t.Context(), []string{"-only", "sadc -S XALL,steady collect", "-rounds", "2", "-for", "2s", "-settle", "1s", "-warm", "1s", "-json"}, &out, &say)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, &say)
	}
	var got struct{ Collectors []cost }
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Collectors {
		t.Logf("%s: %.3f ms a tick", c.Name, c.CPU.Median)
		if c.Turns != 2 || c.CPU.Low <= 0 || c.RSS.Low <= 0 || c.PSS.Low <= 0 || c.PSS.Low > c.RSS.Low || c.Written.Median < 1000 || c.Ratio == nil || c.Processes != 1 {
			t.Errorf("got %+v", c)
		}
	}
	if left := must(os.ReadDir(tmp)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if pids := must(descendants(os.Getpid())); len(pids) > 1 {
		t.Errorf("left running: %v", pids[1:])
	}
}

// A run that is interrupted ends its processes, too.
func TestInterrupt(t *testing.T) {
	if _, err := program("sysstat", sadcPaths...); err != nil {
		t.Skip("skipped: " + err.Error())
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	said := func(p []byte) (int, error) {
		if strings.Contains(string(p), "contenders run for") {
			cancel()
		}
		return len(p), nil
	}
	if code := run(ctx, []string{"-only", "sadc", "-warm", "1h"}, writer(func(p []byte) (int, error) { return len(p), nil }), writer(said)); code != 1 {
		t.Errorf("exit %d", code)
	}
	if left := must(os.ReadDir(tmp)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if pids := must(descendants(os.Getpid())); len(pids) > 1 {
		t.Errorf("left running: %v", pids[1:])
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// What is not on the host is named, with the remedy, and costs nothing else.
func TestAbsentContendersAreNamed(t *testing.T) {
	b := &bench{say: func(string, ...any) {}, dir: t.TempDir()}
	plan := func(err error) contender {
		return contender{name: "nonesuch", plan: func(*bench, string) (*plan, error) { return nil, err }}
	}
	if err := b.start(0, plan(missing("nonesuch is not here"))); err != nil {
		t.Error(err)
	}
	if e := b.entries[0]; e.group != nil || e.absent != "nonesuch is not here" {
		t.Errorf("got %+v", e)
	}
	if err := b.start(1, plan(errors.New("disk full"))); err == nil || err.Error() != "nonesuch: disk full" {
		t.Errorf("a failure: got %v", err)
	}
	if _, err := program("some-package", "no-such-program"); err == nil || !strings.Contains(err.Error(), "apt-get install some-package") {
		t.Errorf("got %v", err)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-for", "1ms"}, {"more"}, {"-only", "x"}, {"-nonesuch"}} {
		var out, say strings.Builder
		if code := run(t.Context(), args, &out, &say); code != 2 || say.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, &out, &say)
		}
	}
}

func TestMachineIsBusy(t *testing.T) {
	if got := (ticks{1000, 400}).busySince(ticks{1200, 450}); got != 75 {
		t.Errorf("got %v %%, want 75", got)
	}
	if got := parseTicks("cpu  1 20 300 4000 50000 600000 7000000 80000000 5 6\ncpu0 1\n"); got != (ticks{87654321, 54000}) {
		t.Errorf("got %+v", got)
	}
	if got := machineTicks(); got.all <= got.idle || got.idle <= 0 {
		t.Errorf("got %+v", got)
	}
}

func TestMedians(t *testing.T) {
	x := []float64{3, 1, 2, 10}
	if got := spreadOf(x); got != (spread{2.5, 1, 10}) {
		t.Errorf("got %v", got)
	}
	if !slices.Equal(x, []float64{3, 1, 2, 10}) {
		t.Errorf("changed to %v", x)
	}
}
