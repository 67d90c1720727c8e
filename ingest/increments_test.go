package ingest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// cpuTick is one tick of a whole number of seconds after the start.
func cpuTick(m *machine, seq, atSecond int64, rows ...row) *schemas.Tick {
	return tick(seq, block(&schemas.CPU, m.at(atSecond*second), rows...))
}

// of is a run of one collector's ticks, finished.
func of(t *testing.T, m *machine, ticks ...*schemas.Tick) folder {
	t.Helper()
	r := newRig(t)
	r.begin(m, 1)
	for _, x := range ticks {
		r.tick(m.producer(1), x)
	}
	r.end(m, 1, ticks[len(ticks)-1].Seq)
	return r.finish()
}

func cpu(device string, user, system, idle int64) row {
	return row{device, map[string]int64{"user_ticks": user, "system_ticks": system, "idle_ticks": idle}}
}

// The first reading has no increment; the reading itself stands nowhere but in time.
func TestFirstTickIsNull(t *testing.T) {
	m := host("h")
	f := of(t, m, cpuTick(m, 1, 0, cpu("0", 1000, 500, 7)), cpuTick(m, 2, 1, cpu("0", 1020, 510, 77)))
	same(t, "cpu", f.lines(&schemas.CPU, "time", "elapsed_ns", "boot", "interval_ns", "epoch", "seq", "host", "device", "user_ticks", "system_ticks", "idle_ticks", "steal_ticks"), []string{
		"1772359200123456 0 0 - 1 1 h 0 - - - -",
		"1772359201123456 1000000000 0 1000000000 1 2 h 0 20 10 70 -",
	})
	same(t, "quality", f.lines(&schemas.Quality, "seq", "table", "column", "part", "reason"), []string{
		"1 cpu  0 first", "1 cpu guest_nice_ticks 0 absent", "1 cpu guest_ticks 0 absent", "1 cpu iowait_ticks 0 absent", "1 cpu irq_ticks 0 absent",
		"1 cpu nice_ticks 0 absent", "1 cpu softirq_ticks 0 absent", "1 cpu steal_ticks 0 absent",
	})
	if f.m.Status != schemas.Complete || f.m.Quality["first"] != 1 || f.m.Quality["absent"] != 7 || f.m.DurationNS != second {
		t.Errorf("%+v", f.m)
	}
}

// A CPU that went away and came back began anew; its neighbours did not, and no CPU is
// invented where the numbers have holes.
func TestHotpluggedCPUBeginsAnew(t *testing.T) {
	m := host("h")
	f := of(t, m,
		cpuTick(m, 1, 0, cpu("0", 100, 100, 100), cpu("1", 100, 100, 100), cpu("8", 500, 300, 90000)),
		cpuTick(m, 2, 1, cpu("0", 130, 110, 160), cpu("1", 110, 100, 190), cpu("8", 20, 10, 60)),
		cpuTick(m, 3, 2, cpu("0", 131, 110, 160), cpu("1", 110, 100, 190), cpu("8", 25, 10, 65)),
	)
	same(t, "cpu", f.lines(&schemas.CPU, "seq", "device", "user_ticks", "system_ticks", "idle_ticks"), []string{
		"1 0 - - -", "2 0 30 10 60", "3 0 1 0 0",
		"1 1 - - -", "2 1 10 0 90", "3 1 0 0 0",
		"1 8 - - -", "2 8 - - -", "3 8 5 0 5",
	})
	same(t, "quality", slices.DeleteFunc(f.notes(), absent), []string{
		"2 cpu idle_ticks 8 reset 90000 60", "2 cpu system_ticks 8 reset 300 10", "2 cpu user_ticks 8 reset 500 20",
	})
}

func absent(s string) bool { return len(s) > 3 && s[len(s)-3:] == "- -" }

// Counters of one row are trusted together: where one fell, those that seem to have
// gone on are unknown too.
func TestResetTakesTheWholeDevice(t *testing.T) {
	m := host("h")
	net := func(seq, rx, tx int64) *schemas.Tick {
		return tick(seq, block(&schemas.Net, m.at(seq*second), row{"eth0", map[string]int64{"rx_bytes": rx, "tx_bytes": tx}}, row{"eth1", map[string]int64{"rx_bytes": seq}}))
	}
	f := of(t, m, net(1, 1000, 5), net(2, 10, 900), net(3, 20, 905))
	same(t, "net", f.lines(&schemas.Net, "seq", "device", "rx_bytes", "tx_bytes"), []string{
		"1 eth0 - -", "2 eth0 - -", "3 eth0 10 5", "1 eth1 - -", "2 eth1 1 -", "3 eth1 1 -",
	})
}

// Idle and iowait may go back by a few ticks and nothing began anew: the increment is
// negative. Steal's is null, and the others' stay.
func TestCountersThatRetreat(t *testing.T) {
	m := host("h")
	at := func(seq, user, system, idle, iowait, steal int64) *schemas.Tick {
		return cpuTick(m, seq, seq, row{"0", map[string]int64{"user_ticks": user, "nice_ticks": 0, "system_ticks": system, "idle_ticks": idle, "iowait_ticks": iowait, "steal_ticks": steal}})
	}
	f := of(t, m, at(1, 1000, 500, 80000, 300, 50), at(2, 1020, 510, 80071, 299, 50), at(3, 1030, 510, 80070, 300, 47), at(4, 1030, 510, 80070, 300, 48))
	same(t, "cpu", f.lines(&schemas.CPU, "seq", "user_ticks", "nice_ticks", "system_ticks", "idle_ticks", "iowait_ticks", "steal_ticks"), []string{
		"1 - - - - - -", "2 20 0 10 71 -1 0", "3 10 0 0 -1 1 -", "4 0 0 0 0 0 1",
	})
	same(t, "quality", slices.DeleteFunc(f.notes(), absent), []string{
		"2 cpu iowait_ticks 0 retreat 300 299", "3 cpu idle_ticks 0 retreat 80071 80070", "3 cpu steal_ticks 0 retreat 50 47",
	})
}

// Guest time stays inside user time.
func TestGuestTimeIsNotSubtracted(t *testing.T) {
	m := host("h")
	at := func(seq, user, system, idle, guest int64) *schemas.Tick {
		return cpuTick(m, seq, seq, row{"0", map[string]int64{"user_ticks": user, "system_ticks": system, "idle_ticks": idle, "guest_ticks": guest, "guest_nice_ticks": 0}})
	}
	f := of(t, m, at(1, 0, 0, 0, 0), at(2, 60, 10, 30, 50))
	same(t, "cpu", f.lines(&schemas.CPU, "user_ticks", "system_ticks", "idle_ticks", "guest_ticks", "guest_nice_ticks"), []string{"- - - - -", "60 10 30 50 0"})
}

// A second that no tick was taken in makes the next interval longer. No row is made up.
func TestSkippedSecond(t *testing.T) {
	m := host("h")
	f := of(t, m, cpuTick(m, 1, 0, cpu("0", 1000, 0, 0)), cpuTick(m, 2, 1, cpu("0", 1100, 0, 0)), cpuTick(m, 3, 3, cpu("0", 1300, 0, 0)), cpuTick(m, 4, 4, cpu("0", 1400, 0, 0)))
	same(t, "cpu", f.lines(&schemas.CPU, "elapsed_ns", "interval_ns", "user_ticks"), []string{
		"0 - -", "1000000000 1000000000 100", "3000000000 2000000000 200", "4000000000 1000000000 100",
	})
}

// A tick that was lost on its way is the same, and the run says so.
func TestLostTickMakesALongInterval(t *testing.T) {
	m := host("h")
	f := of(t, m, cpuTick(m, 1, 1, cpu("0", 100, 0, 0)), cpuTick(m, 3, 3, cpu("0", 300, 0, 0)))
	same(t, "cpu", f.lines(&schemas.CPU, "seq", "interval_ns", "user_ticks"), []string{"1 - -", "3 2000000000 200"})
	if got := fmt.Sprint(f.m.Status, f.m.Reasons, f.m.Producers[0].Missing); got != "incomplete[collector 1 on h: 1 of 3 ticks are missing] [{2 2}]" {
		t.Error(got)
	}
}

// A device may come in the middle. One that was away for some ticks may be another of
// the same name when it comes back: no difference goes across.
func TestDevicesComeAndGo(t *testing.T) {
	m := host("h")
	f := of(t, m,
		cpuTick(m, 1, 1, cpu("0", 1, 1, 1)),
		cpuTick(m, 2, 2, cpu("0", 2, 1, 1), cpu("2", 100, 100, 100)),
		cpuTick(m, 3, 3, cpu("0", 3, 1, 1), cpu("2", 110, 100, 100)),
		cpuTick(m, 4, 4, cpu("0", 4, 1, 1)),
		cpuTick(m, 5, 5, cpu("0", 5, 1, 1)),
		cpuTick(m, 6, 6, cpu("0", 6, 1, 1), cpu("2", 600, 100, 100)),
		cpuTick(m, 7, 7, cpu("0", 7, 1, 1), cpu("2", 601, 100, 100)),
	)
	same(t, "cpu", f.lines(&schemas.CPU, "device", "seq", "interval_ns", "user_ticks")[7:], []string{
		"2 2 - -", "2 3 1000000000 10", "2 6 3000000000 -", "2 7 1000000000 1",
	})
	same(t, "quality", slices.DeleteFunc(f.notes(), absent), []string{
		"6 cpu idle_ticks 2 hotplug 100 100", "6 cpu system_ticks 2 hotplug 100 100", "6 cpu user_ticks 2 hotplug 110 600",
	})
}

// A column that the host does not say is null, said once; its first reading has no
// increment, and none goes across a hole in it.
func TestColumnAppearsAndHasAHole(t *testing.T) {
	m := host("h")
	at := func(seq int64, faults int64, said bool) *schemas.Tick {
		v := map[string]int64{"pgfree": 10 * seq}
		if said {
			v["pgfault"] = faults
		}
		return tick(seq, block(&schemas.Paging, m.at(seq*second), row{v: v}))
	}
	f := of(t, m, at(1, 0, false), at(2, 0, false), at(3, 100, true), at(4, 105, true), at(5, 0, false), at(6, 0, false), at(7, 300, true), at(8, 301, true))
	same(t, "paging", f.lines(&schemas.Paging, "seq", "pgfree", "pgfault"), []string{
		"1 - -", "2 10 -", "3 10 -", "4 10 5", "5 10 -", "6 10 -", "7 10 -", "8 10 1",
	})
	of := slices.DeleteFunc(f.lines(&schemas.Quality, "seq", "column", "reason", "previous", "current"), func(s string) bool { return s[2:9] != "pgfault" })
	same(t, "quality", of, []string{"1 pgfault absent - -", "3 pgfault first - 100", "5 pgfault absent - -", "7 pgfault gap 105 300"})
}

// A reading that failed leaves no row; the next interval is longer, and it is no
// hotplug.
func TestGapOfATableLeavesNoRow(t *testing.T) {
	m := host("h")
	gap := cpuTick(m, 2, 2, cpu("0", 0, 0, 0))
	gap.Blocks[0].Gap = true
	f := of(t, m, cpuTick(m, 1, 1, cpu("0", 1, 0, 0)), gap, cpuTick(m, 3, 3, cpu("0", 5, 0, 0)))
	same(t, "cpu", f.lines(&schemas.CPU, "seq", "interval_ns", "user_ticks"), []string{"1 - -", "3 2000000000 4"})
	if f.m.Status != schemas.Complete || f.m.Quality["hotplug"] != 0 {
		t.Errorf("%s %v", f.m.Status, f.m.Quality)
	}
}

// Counters of all 64 bits come exact: the increments, and readings of 2^63 or more as
// text beside them.
func TestCountersOf64Bits(t *testing.T) {
	m := host("h")
	at := func(seq int64, v uint64) *schemas.Tick {
		return tick(seq, block(&schemas.Net, m.at(seq*second), row{"eth0", map[string]int64{"rx_bytes": int64(v)}}))
	}
	f := of(t, m, at(1, 9007199254740992), at(2, 9007199254740993), at(3, math.MaxInt64), at(4, 9223372036854775808), at(5, 9223372036854775810),
		at(6, 18446744073709551614), at(7, 18446744073709551615), at(8, 3)) // and over the end
	same(t, "net", f.lines(&schemas.Net, "seq", "rx_bytes"), []string{
		"1 -", "2 1", "3 9214364837600034814", "4 1", "5 2", "6 9223372036854775804", "7 1", "8 4",
	})
	same(t, "quality", slices.DeleteFunc(f.notes(), absent), []string{
		"4 net rx_bytes eth0 large - 9223372036854775808", "5 net rx_bytes eth0 large - 9223372036854775810",
		"6 net rx_bytes eth0 large - 18446744073709551614", "7 net rx_bytes eth0 large - 18446744073709551615",
	})
}

// Gauges stay as read; those with a divisor become what they mean.
func TestGaugesStay(t *testing.T) {
	m := host("h")
	at := func(seq, load, tasks int64) *schemas.Tick {
		return tick(seq, block(&schemas.Load, m.at(seq*second), row{v: map[string]int64{"ldavg_1": load, "plist_sz": tasks}}))
	}
	f := of(t, m, at(1, 125, 7), at(2, 0, 0))
	same(t, "load", f.lines(&schemas.Load, "interval_ns", "ldavg_1", "plist_sz", "blocked"), []string{"- 1.25 7 -", "1000000000 0 0 -"})
	if f.m.Quality["first"] != 0 {
		t.Error("a table without counters has no first reading to note")
	}
}

// The wall clock steps back by three seconds: the rows stay in their order, rates are
// formed from the boot time clock, and one event says what happened.
func TestWallClockStepsBack(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	for i, wall := range []int64{0, 1, -1, 0} {
		at := m.at(int64(i) * second)
		at.WallNS = m.wall + wall*second
		r.tick(m.producer(1), tick(int64(i)+1, block(&schemas.CPU, at, cpu("0", 1000+100*int64(i), 0, 0)), block(&schemas.Paging, at, row{v: map[string]int64{"pgfree": 1}})))
	}
	r.end(m, 1, 4)
	f := r.finish()
	same(t, "cpu", f.lines(&schemas.CPU, "time", "elapsed_ns", "seq", "interval_ns", "user_ticks"), []string{
		"1772359200123456 0 1 - -", "1772359201123456 1000000000 2 1000000000 100",
		"1772359199123456 2000000000 3 1000000000 100", "1772359200123456 3000000000 4 1000000000 100",
	})
	q := f.lines(&schemas.Quality, "reason", "seq", "detail")
	same(t, "events", slices.DeleteFunc(q, func(s string) bool { return s[:10] != "clock-step" }), []string{
		"clock-step 3 the wall clock moved by -3.000 s after seq 2",
	})
	if f.m.DurationNS != 3*second {
		t.Errorf("the run took %d ns", f.m.DurationNS)
	}
}

// A step between two spans of rows that are written together is a step too.
func TestWallClockStepsBetweenRowGroups(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	for seq := range int64(4) {
		at := m.at(3598*second + seq*second) // the third is in the second hour
		if seq >= 2 {
			at.WallNS -= 3 * second
		}
		r.tick(m.producer(1), tick(seq+1, block(&schemas.CPU, at, cpu("0", seq, 0, 0))))
	}
	r.end(m, 1, 4)
	if f := r.finish(); f.m.Quality["clock-step"] != 1 {
		t.Errorf("%v", f.m.Quality)
	}
}

// Seconds with a fraction below a microsecond, and before 1970, are rounded down.
func TestTimesBefore1970(t *testing.T) {
	for _, tt := range []struct{ ns, us int64 }{{1999, 1}, {-1, -1}, {-1000, -1}, {-1001, -2}, {0, 0}} {
		if got := floorDiv(tt.ns, 1000); got != tt.us {
			t.Errorf("%d ns: %d us, want %d", tt.ns, got, tt.us)
		}
	}
}

// The collector starts again in the same boot: what the kernel counts goes on across,
// what the process counts begins anew. The one that died is named.
func TestCollectorRestartsInTheSameBoot(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	at := func(seq, s, user, own int64) *schemas.Tick {
		at := m.at(s * second)
		return tick(seq, block(&schemas.CPU, at, cpu("0", user, 0, 0)), block(&schemas.Collector, at, row{"process", map[string]int64{"cpu_ns": own}}))
	}
	r.tick(m.producer(11), at(1, 1, 100, 7000))
	r.tick(m.producer(11), at(2, 2, 110, 7500))
	r.hello(m, 22)
	if over := r.s.Over(time.Hour); len(over) != 0 {
		t.Errorf("over before the second collector's end: %v", over)
	}
	r.tick(m.producer(22), at(1, 6, 150, 9000))
	r.tick(m.producer(22), at(2, 7, 160, 9100))
	r.end(m, 22, 2)
	if over := r.s.Over(time.Hour); len(over) != 1 {
		t.Errorf("not over though the second collector ended: %v", over)
	}
	f := r.finish()
	same(t, "cpu", f.lines(&schemas.CPU, "epoch", "seq", "interval_ns", "user_ticks"), []string{
		"11 1 - -", "11 2 1000000000 10", "22 1 4000000000 40", "22 2 1000000000 10",
	})
	same(t, "collector", f.lines(&schemas.Collector, "epoch", "seq", "interval_ns", "cpu_ns"), []string{
		"11 1 - -", "11 2 1000000000 500", "22 1 - -", "22 2 1000000000 100",
	})
	same(t, "reasons", f.m.Reasons, []string{"collector 11 on h did not say its end: what it sampled after tick 2 is unknown"})
	if f.m.Status != schemas.Incomplete || len(f.m.Hosts[0].Boots) != 1 {
		t.Errorf("%+v", f.m)
	}
}

// A collector and a load generator on one host keep apart: each has its own account
// and its own sequence.
func TestTwoProducersOnOneHost(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.control(schemas.Control{Kind: "hello", At: m.at(0), Hello: &schemas.Hello{Epoch: 2, Kind: "workload", Roles: []string{"load"}}})
	for seq := int64(1); seq <= 3; seq++ {
		r.tick(m.producer(1), cpuTick(m, seq, seq, cpu("0", seq, 0, 0)))
		at := m.at(seq*second + 1)
		w := schemas.NewRow(&schemas.Workload, at.WallNS, at.BootNS, second)
		w.SetFloat("operations", float64(100*seq))
		w.SetText("unit", "request")
		w.SetInt("errors", 0)
		w.SetBytes("latency_hist", []byte{1, 2})
		r.tick(m.producer(2), &schemas.Tick{Seq: seq, Rows: []schemas.Row{w}})
	}
	r.end(m, 1, 3)
	r.end(m, 2, 4)
	f := r.finish()
	same(t, "workload", f.lines(&schemas.Workload, "elapsed_ns", "interval_ns", "epoch", "seq", "unit", "operations", "errors", "latency_mean_s", "latency_hist"), []string{
		"1000000001 1000000000 2 1 request 100 0 - 0102", "2000000001 1000000000 2 2 request 200 0 - 0102", "3000000001 1000000000 2 3 request 300 0 - 0102",
	})
	if len(f.frame(&schemas.CPU)[0].Ints) != 3 {
		t.Error("rows of cpu")
	}
	same(t, "reasons", f.m.Reasons, []string{"workload 2 on h: 1 of 4 ticks are missing"})
	if got := fmt.Sprint(f.m.Hosts[0].Roles); got != "[load sut]" {
		t.Error(got)
	}
}

// Another host's boot clock began at another time: its elapsed time is aligned by the
// wall clock, and the manifest says so.
func TestSecondHostIsAlignedByWallTime(t *testing.T) {
	a, b := host("a"), host("b")
	b.boot, b.wall = 17*second, a.wall+second/4
	r := newRig(t)
	r.begin(a, 1)
	r.hello(b, 2)
	for seq := int64(1); seq <= 2; seq++ {
		r.tick(a.producer(1), cpuTick(a, seq, seq, cpu("0", seq, 0, 0)))
		r.tick(b.producer(2), cpuTick(b, seq, seq, cpu("0", 5*seq, 0, 0)))
	}
	r.control(schemas.Control{Kind: "phase", At: b.at(second), Phase: "measure"})
	r.end(a, 1, 2)
	r.end(b, 2, 2)
	f := r.finish()
	same(t, "cpu", f.lines(&schemas.CPU, "host", "elapsed_ns", "user_ticks"), []string{
		"a 1000000000 -", "a 2000000000 1", "b 1250000000 -", "b 2250000000 5",
	})
	if got := fmt.Sprint(f.m.Hosts[0].Boots, f.m.Hosts[1].Boots, f.m.Phases); got != "[{boot-a 5000000000000 false}] [{boot-a 16750000000 true}] [{measure 1250000000 2250000000}]" {
		t.Error(got)
	}
}

// A host whose clock is hours behind has all of its rows.
func TestHostWithAClockHoursBehind(t *testing.T) {
	a, b := host("a"), host("b")
	b.boot, b.wall = 17*second, a.wall-3*3600*second
	r := newRig(t)
	r.begin(a, 1)
	r.hello(b, 2)
	for seq := int64(1); seq <= 3; seq++ {
		r.tick(b.producer(2), cpuTick(b, seq, seq, cpu("0", seq, 0, 0)))
	}
	f := r.finish()
	if n := f.frame(&schemas.CPU).Rows(); n != 3 {
		t.Errorf("%d rows of 3", n)
	}
}

// The host boots again in the middle: a second boot, and no increment across, though
// every counter is higher than before.
func TestRebootInTheMiddle(t *testing.T) {
	m := host("h")
	after := &machine{host: "h", bootID: "boot-z", wall: m.wall, boot: -95 * second}
	r := newRig(t)
	r.begin(m, 1)
	r.tick(m.producer(1), cpuTick(m, 1, 1, cpu("0", 100, 0, 0)), cpuTick(m, 2, 2, cpu("0", 101, 0, 0)))
	r.hello(after, 2)
	r.tick(after.producer(2), cpuTick(after, 1, 100, cpu("0", 5000, 0, 0)), cpuTick(after, 2, 101, cpu("0", 5007, 0, 0)))
	r.end(after, 2, 2)
	f := r.finish()
	same(t, "cpu", f.lines(&schemas.CPU, "boot", "elapsed_ns", "interval_ns", "user_ticks"), []string{
		"0 1000000000 - -", "0 2000000000 1000000000 1", "1 100000000000 - -", "1 101000000000 1000000000 7",
	})
	if got := fmt.Sprint(f.m.Hosts[0].Boots); got != "[{boot-a 5000000000000 false} {boot-z -95000000000 true}]" || f.m.Quality["reboot"] != 1 {
		t.Error(got, f.m.Quality)
	}
	if got := f.lines(&schemas.Quality, "reason", "boot", "elapsed_ns", "host"); !slices.Contains(got, "reboot 1 100000000000 h") {
		t.Error(got)
	}
}

// CPUs are in the order of their numbers, other devices in that of their names.
func TestOrderOfDevices(t *testing.T) {
	got := []string{"sdb", "10", "2", "", "sda10", "cpu2", "0", "sda"}
	slices.SortFunc(got, compareDevices)
	if want := []string{"", "0", "2", "10", "cpu2", "sda", "sda10", "sdb"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A counter of 32 bits that goes round goes on, and so does a sum of such; one that
// begins anew does not.
func TestCountersOf32Bits(t *testing.T) {
	r := newRig(t)
	m := host("sut")
	r.begin(m, 1)
	readings := []struct{ line, sum, anew int64 }{
		{1<<32 - 100, 5<<32 - 50, 5000}, {900, 4<<32 + 450, 20}, {1900, 4<<32 + 550, 120},
	}
	for i, x := range readings {
		r.tick(m.producer(1), tick(int64(i+1), block(&schemas.Interrupts, m.at(int64(i)*second),
			row{"24", map[string]int64{"count": x.line}}, row{"LOC", map[string]int64{"count": x.sum}}, row{"25", map[string]int64{"count": x.anew}})))
	}
	r.end(m, 1, 3)
	f := r.finish()
	same(t, "increments", f.lines(&schemas.Interrupts, "device", "count"), []string{
		"24 -", "24 1000", "24 1000", "25 -", "25 -", "25 100", "LOC -", "LOC 500", "LOC 100"})
	same(t, "notes", f.notes(), []string{"2 interrupts count 25 reset 5000 20"})
}
