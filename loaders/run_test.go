package loaders

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
)

const second = int64(time.Second)

var start = time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC).UnixNano()

// lab makes real run folders out of messages.
type lab struct {
	testing.TB
	data string
	s    *ingest.Store
	seq  uint64
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{TB: t, data: t.TempDir()}
	s, err := ingest.OpenStore(l.data, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.Begin("STEADY@1")
	t.Cleanup(s.Close)
	l.s = s
	return l
}

// run is one run and the hosts in it.
type run struct {
	system, scenario string
	number           int
	roles            map[string][]string // of hosts
	phases           map[string]int64    // their starts, in seconds; "" ends the run
	ticks            []hostTick
}

type hostTick struct {
	host string
	at   int64 // seconds
	b    []schemas.Block
	rows []schemas.Row
}

// row is one device's reading.
type row struct {
	device string
	v      map[string]int64
}

// read is a reading of a table so many seconds after the start.
func read(host string, at int64, t *schemas.Table, rows ...row) hostTick {
	b := schemas.Block{Table: t, WallNS: start + at*second, BootNS: at * second}
	b.Resize(len(rows))
	for i, r := range rows {
		if t.Device != "" {
			b.Devices = append(b.Devices, r.device)
		}
		for name, v := range r.v {
			b.Set(i, t.Column(name), v)
		}
	}
	return hostTick{host, at, []schemas.Block{b}, nil}
}

func (l *lab) make(r run) *Run {
	l.Helper()
	id := fmt.Sprintf("R%s%s%d", r.system, r.scenario, r.number)
	send := func(subject string, data []byte, err error) {
		if err != nil {
			l.Fatal(err)
		}
		l.seq++
		l.s.Add(l.seq, subject, data)
	}
	say := func(host string, at int64, c schemas.Control) {
		c.At = schemas.Stamp{Host: host, WallNS: start + at*second, BootNS: at * second, BootID: "b"}
		data, err := json.Marshal(c)
		send(schemas.ControlSubject(id), data, err)
	}
	if r.roles == nil {
		r.roles = map[string][]string{"h": {"load", "sut"}}
	}
	var hosts []string
	for h := range r.roles {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	say(hosts[0], 0, schemas.Control{Kind: "open", Open: &schemas.Open{Experiment: "e", System: r.system, Scenario: r.scenario, Run: max(r.number, 1), Hosts: len(hosts), Params: map[string]any{"clients": 8}}})
	for i, h := range hosts {
		say(h, 0, schemas.Control{Kind: "hello", Hello: &schemas.Hello{Epoch: int64(i), Kind: "collector", Roles: r.roles[h]}})
	}
	for name, at := range r.phases {
		if name == "" {
			say(hosts[0], at, schemas.Control{Kind: "close"})
		} else {
			say(hosts[0], at, schemas.Control{Kind: "phase", Phase: name})
		}
	}
	for i, h := range hosts {
		p := schemas.Producer{Run: id, Host: h, Epoch: int64(i), BootID: "b"}
		seq := int64(0)
		for _, x := range r.ticks {
			if x.host == h {
				seq++
				tick := schemas.Tick{Seq: seq, Blocks: x.b, Rows: x.rows}
				if len(x.b) > 0 && x.b[0].Rates != nil { // which don't travel
					l.seq++
					l.s.AddMessage(l.seq, &schemas.Message{Producer: p, Ticks: []schemas.Tick{tick}})
					continue
				}
				data, err := schemas.NewEncoder(p).Encode([]*schemas.Tick{&tick})
				send(p.Subject(), data, err)
			}
		}
		say(h, 1000, schemas.Control{Kind: "end", End: &schemas.End{Epoch: int64(i), LastSeq: seq}})
	}
	dir, _, err := l.s.Finish(id, "")
	if err != nil {
		l.Fatal(err)
	}
	out, err := Open(dir)
	if err != nil {
		l.Fatal(err)
	}
	return out
}

func (l *lab) table(r *Run, t *schemas.Table) *Table {
	l.Helper()
	x, err := r.Table(t)
	if err != nil {
		l.Fatal(err)
	}
	return x
}

// values are a metric's rows as text, "-" where unknown.
func (l *lab) values(x *Table, host, device, metric string) string {
	l.Helper()
	m, ok := x.Schema.Metric(metric)
	if !ok {
		l.Fatalf("no metric %s", metric)
	}
	return text(series(l.TB, x, &m, host, device))
}

func text(s *Series) string {
	var out []string
	for i := range s.EndNS {
		if v, ok := s.Value(i); ok {
			out = append(out, fmt.Sprintf("%.2f", v))
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, " ")
}

func (l *lab) want(what, got, want string) {
	l.Helper()
	if got != want {
		l.Errorf("%s: %s, want %s", what, got, want)
	}
}

func cpu(device string, user, system, idle int64) row {
	return row{device, map[string]int64{"user_ticks": user, "nice_ticks": 0, "system_ticks": system, "idle_ticks": idle, "iowait_ticks": 0}}
}

// One CPU began anew: it is unknown for this second, and all together are formed from
// those that are known.
func TestSharesAfterHotplug(t *testing.T) {
	l := newLab(t)
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.CPU, cpu("0", 100, 100, 100), cpu("1", 100, 100, 100), cpu("8", 500, 300, 90000)),
		read("h", 1, &schemas.CPU, cpu("0", 130, 110, 160), cpu("1", 110, 100, 190), cpu("8", 20, 10, 60)),
	}}), &schemas.CPU)
	if fmt.Sprint(x.Hosts, x.Devices) != "[h] [0 1 8]" {
		t.Error(x.Hosts, x.Devices)
	}
	for device, want := range map[string]string{"0": "- 40.00", "1": "- 10.00", "8": "- -", Total: "- 25.00"} {
		l.want("busy of "+device, l.values(x, "h", device, "busy_pct"), want)
	}
	l.want("idle of all", l.values(x, "h", Total, "idle_pct"), "- 75.00")
}

// Waiting for I/O that goes back counts as 0 in the share and in the whole.
func TestSharesWhenIowaitRetreats(t *testing.T) {
	l := newLab(t)
	at := func(s, user, system, idle, iowait int64) hostTick {
		return read("h", s, &schemas.CPU, row{"0", map[string]int64{"user_ticks": user, "nice_ticks": 0, "system_ticks": system, "idle_ticks": idle, "iowait_ticks": iowait}})
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{at(0, 1000, 500, 80000, 300), at(1, 1020, 510, 80071, 299)}}), &schemas.CPU)
	for metric, want := range map[string]string{"user_pct": "- 19.80", "system_pct": "- 9.90", "idle_pct": "- 70.30", "iowait_pct": "- 0.00", "nice_pct": "- 0.00", "steal_pct": "- -"} {
		for _, device := range []string{"0", Total} {
			l.want(metric, l.values(x, "h", device, metric), want)
		}
	}
}

// Guest time is inside user time and no part of the whole.
func TestSharesOfAGuest(t *testing.T) {
	l := newLab(t)
	at := func(s, user, system, idle, guest int64) hostTick {
		return read("h", s, &schemas.CPU, row{"0", map[string]int64{"user_ticks": user, "nice_ticks": 0, "system_ticks": system, "idle_ticks": idle, "guest_ticks": guest, "guest_nice_ticks": 0}})
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{at(0, 0, 0, 0, 0), at(1, 60, 10, 30, 50)}}), &schemas.CPU)
	for metric, want := range map[string]string{"user_pct": "- 60.00", "guest_pct": "- 50.00", "system_pct": "- 10.00", "idle_pct": "- 30.00", "busy_pct": "- 70.00"} {
		l.want(metric, l.values(x, "h", "0", metric), want)
	}
}

// Stolen time that went back is unknown and left out of the whole; a column that is
// unknown for another reason makes all shares unknown.
func TestSharesWithUnknownParts(t *testing.T) {
	l := newLab(t)
	at := func(s int64, v map[string]int64) hostTick { return read("h", s, &schemas.CPU, row{"0", v}) }
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		at(0, map[string]int64{"user_ticks": 0, "idle_ticks": 0, "steal_ticks": 9, "irq_ticks": 0}),
		at(1, map[string]int64{"user_ticks": 25, "idle_ticks": 75, "steal_ticks": 7, "irq_ticks": 0}),
		at(2, map[string]int64{"user_ticks": 50, "idle_ticks": 150, "steal_ticks": 7}),
		at(3, map[string]int64{"user_ticks": 75, "idle_ticks": 225, "steal_ticks": 7, "irq_ticks": 0}),
		at(4, map[string]int64{"user_ticks": 75, "idle_ticks": 225, "steal_ticks": 107, "irq_ticks": 0}),
	}}), &schemas.CPU)
	l.want("user", l.values(x, "h", "0", "user_pct"), "- 25.00 - - 0.00")
	l.want("steal", l.values(x, "h", "0", "steal_pct"), "- - - - 100.00")
}

// What one host's kernel lacks is left out for that host, whatever another one has.
func TestSharesWhereOneHostLacksAField(t *testing.T) {
	l := newLab(t)
	var ticks []hostTick
	for s := range int64(3) {
		ticks = append(ticks, read("new", s, &schemas.CPU, row{"0", map[string]int64{"user_ticks": 50 * s, "idle_ticks": 40 * s, "softirq_ticks": 10 * s}}),
			read("old", s, &schemas.CPU, row{"0", map[string]int64{"user_ticks": 25 * s, "idle_ticks": 75 * s}}))
	}
	x := l.table(l.make(run{system: "s", scenario: "c", roles: map[string][]string{"new": {"sut"}, "old": {"sut"}}, ticks: ticks}), &schemas.CPU)
	l.want("new", l.values(x, "new", "0", "user_pct"), "- 50.00 50.00")
	l.want("old", l.values(x, "old", "0", "user_pct"), "- 25.00 25.00")
	both, err := x.role(metric(t, &schemas.CPU, "user_pct"), []string{"new", "old"}, Total)
	if err != nil {
		t.Fatal(err)
	}
	l.want("both", text(both), "- - 50.00 25.00 50.00 25.00")
}

func metric(t testing.TB, table *schemas.Table, name string) *schemas.Metric {
	t.Helper()
	m, ok := table.Metric(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return &m
}

// Rates are per second of the interval's own length; totals leave out what is counted
// elsewhere too, and go on while a device is unknown.
func TestRatesAndTotals(t *testing.T) {
	l := newLab(t)
	net := func(s, lo, eth0, eth1 int64) hostTick {
		rows := []row{{"lo", map[string]int64{"rx_bytes": lo}}, {"eth0", map[string]int64{"rx_bytes": eth0}}}
		if eth1 >= 0 {
			rows = append(rows, row{"eth1", map[string]int64{"rx_bytes": eth1}})
		}
		return read("h", s, &schemas.Net, rows...)
	}
	disk := func(s, sda, dm int64) hostTick {
		return read("h", s, &schemas.Disk, row{"sda", map[string]int64{"reads": sda, "writes": sda, "read_ns": 3e6 * sda, "write_ns": 5e6 * sda, "io_ns": 250e6 * s, "in_flight": 4, "weighted_io_ns": 2e9 * s}},
			row{"dm-0", map[string]int64{"reads": dm, "in_flight": 9}}, row{"loop0", map[string]int64{"reads": dm, "in_flight": 9}})
	}
	r := l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		net(0, 0, 1000, -1), net(1, 500, 1100, -1), net(3, 900, 1300, 50), net(4, 990, 1400, 80),
		disk(5, 0, 0), disk(6, 10, 1000), disk(7, 10, 2000),
	}})
	x := l.table(r, &schemas.Net)
	l.want("eth0", l.values(x, "h", "eth0", "rx_bytes_per_s"), "- 100.00 100.00 100.00")
	l.want("lo", l.values(x, "h", "lo", "rx_bytes_per_s"), "- 500.00 200.00 90.00")
	l.want("eth1", l.values(x, "h", "eth1", "rx_bytes_per_s"), "- 30.00")
	l.want("all", l.values(x, "h", Total, "rx_bytes_per_s"), "- 100.00 100.00 130.00")
	l.want("nobody", l.values(x, "other", Total, "rx_bytes_per_s"), "")
	if s := series(t, x, metric(t, &schemas.Net, "rx_bytes_per_s"), "h", Total); fmt.Sprint(s.EndNS, s.IntervalNS) != fmt.Sprint([]int64{0, second, 3 * second, 4 * second}, []int64{0, second, 2 * second, second}) {
		t.Error(s.EndNS, s.IntervalNS)
	}
	x = l.table(r, &schemas.Disk)
	for name, want := range map[string]string{"reads_per_s": "- 10.00 0.00", "await_s": "- 0.00 -", "io_pct": "- 25.00 25.00", "in_flight": "- 4.00 4.00", "queue_size": "- 2.00 2.00"} {
		l.want(name, l.values(x, "h", Total, name), want)
	}
	s := series(t, x, metric(t, &schemas.Disk, "await_s"), "h", "sda")
	if v, ok := s.Value(1); !ok || math.Abs(v-0.004) > 1e-15 {
		t.Errorf("await %v %v", v, ok)
	}
	if summable(&schemas.Pressure) || !summable(&schemas.Net) || !summable(&schemas.Load) {
		t.Error("totals")
	}
}

// Gauges are weighted by interval; used memory is total less available, and unknown
// where the kernel says no available.
func TestGauges(t *testing.T) {
	l := newLab(t)
	r := l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.Memory, row{v: map[string]int64{"total_bytes": 1000, "free_bytes": 5}}),
		read("h", 1, &schemas.Memory, row{v: map[string]int64{"total_bytes": 1000, "available_bytes": 400, "free_bytes": 0}}),
		read("h", 3, &schemas.Memory, row{v: map[string]int64{"total_bytes": 1000, "free_bytes": 7}}),
	}})
	x := l.table(r, &schemas.Memory)
	l.want("used", l.values(x, "h", "", "used_bytes"), "- 600.00 -")
	l.want("free", l.values(x, "h", "", "free_bytes"), "- 0.00 7.00")
	l.want("cached", l.values(x, "h", "", "cached_bytes"), "- - -")
	if s := series(t, x, metric(t, &schemas.Memory, "free_bytes"), "h", ""); s.Num[2] != 14 || s.Den[2] != 2 {
		t.Errorf("%v %v", s.Num, s.Den)
	}
}

// A level of a level is the mean of the one over the mean of the other, whatever the
// intervals; of nothing it is unknown.
func TestRatioOfGauges(t *testing.T) {
	l := newLab(t)
	mem := func(at, total, free, swap int64) hostTick {
		return read("h", at, &schemas.Memory, row{v: map[string]int64{"huge_pages_total": total, "huge_pages_free": free, "swap_total_bytes": swap, "swap_free_bytes": swap}})
	}
	r := l.make(run{system: "s", scenario: "c", ticks: []hostTick{mem(0, 10, 9, 0), mem(1, 10, 5, 0), mem(4, 30, 24, 7)}})
	x := l.table(r, &schemas.Memory)
	l.want("huge pages", l.values(x, "h", "", "huge_pages_used_pct"), "- 50.00 20.00")
	l.want("swap", l.values(x, "h", "", "swap_used_pct"), "- - 0.00")
	s := series(t, x, metric(t, &schemas.Memory, "huge_pages_used_pct"), "h", "")
	if num, den := s.Num[1]+s.Num[2], s.Den[1]+s.Den[2]; num != 100*(5+3*6) || den != 10+3*30 {
		t.Errorf("over the window %v of %v", num, den)
	}
}

// Pages scanned and reclaimed are those of who did it, whom an older kernel may lack.
func TestEfficiencyOfReclaim(t *testing.T) {
	l := newLab(t)
	scan := func(at, kswapd, direct, stealKswapd, stealDirect int64) hostTick {
		return read("h", at, &schemas.Paging, row{v: map[string]int64{"pgscan_kswapd": kswapd, "pgscan_direct": direct,
			"pgsteal_kswapd": stealKswapd, "pgsteal_direct": stealDirect}})
	}
	r := l.make(run{system: "s", scenario: "c", ticks: []hostTick{scan(0, 0, 0, 0, 0), scan(1, 130000, 900, 65000, 450), scan(2, 130000, 900, 65000, 450)}})
	x := l.table(r, &schemas.Paging)
	l.want("scanned", l.values(x, "h", "", "pgscan_per_s"), "- 130900.00 0.00")
	l.want("reclaimed", l.values(x, "h", "", "pgsteal_per_s"), "- 65450.00 0.00")
	l.want("efficiency", l.values(x, "h", "", "vmeff_pct"), "- 50.00 -")
}

// Discards count among a disk's requests where the kernel tells of them.
func TestRequestsOfADisk(t *testing.T) {
	l := newLab(t)
	disk := func(at, n int64, discards bool) hostTick {
		v := map[string]int64{"reads": 10 * n, "read_bytes": 40960 * n, "read_ns": 20e6 * n, "writes": 20 * n, "write_bytes": 20480 * n, "write_ns": 40e6 * n}
		if discards {
			maps.Copy(v, map[string]int64{"discards": 10 * n, "discard_bytes": 102400 * n, "discard_ns": 100e6 * n})
		}
		return read("h", at, &schemas.Disk, row{"sda", v})
	}
	for discards, want := range map[bool][3]string{true: {"- 40.00", "- 4096.00", "- 0.0040"}, false: {"- 30.00", "- 2048.00", "- 0.0020"}} {
		r := l.make(run{system: "s", scenario: fmt.Sprintf("c%v", discards), ticks: []hostTick{disk(0, 0, discards), disk(1, 1, discards)}})
		x := l.table(r, &schemas.Disk)
		l.want("tps", l.values(x, "h", "sda", "tps"), want[0])
		l.want("size", l.values(x, "h", "sda", "areq_bytes"), want[1])
		s := series(t, x, metric(t, &schemas.Disk, "await_s"), "h", "sda")
		v, ok := s.Value(1)
		l.want("await", fmt.Sprintf("- %.4f", v), want[2])
		if !ok {
			t.Error("await is unknown")
		}
	}
}

// A zero is a zero and a null is a null, and times are microseconds of UTC.
func TestZerosNullsAndTimes(t *testing.T) {
	l := newLab(t)
	v := func(n int64) map[string]int64 { return map[string]int64{"runq_sz": n, "ldavg_1": n} }
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		read("h", 0, &schemas.Load, row{v: v(0)}), read("h", 1, &schemas.Load, row{v: map[string]int64{}}), read("h", 2, &schemas.Load, row{v: v(5)}),
	}}), &schemas.Load)
	f, err := x.Read()
	if err != nil {
		t.Fatal(err)
	}
	tasks, load, at := f.Column("runq_sz"), f.Column("ldavg_1"), f.Column("time")
	if fmt.Sprint(tasks.Ints, tasks.Known, load.Floats, load.Known) != "[0 0 5] [true false true] [0 0 0.05] [true false true]" {
		t.Error(tasks, load)
	}
	if !at.Time || at.Ints[0] != 1772359200123456 {
		t.Error(at)
	}
	l.want("tasks", l.values(x, "h", "", "runq_sz"), "- - 5.00")
}

func histogram(values ...int64) []byte {
	h := hdrhistogram.New(1, 60*second, 3)
	for _, v := range values {
		h.RecordValue(v)
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return b
}

func workload(host string, at int64, ops float64, hist []byte) hostTick {
	r := schemas.NewRow(&schemas.Workload, start+at*second, at*second, second)
	r.SetFloat("operations", ops)
	r.SetInt("errors", 1)
	r.SetFloat("latency_mean_s", 0.001*float64(at))
	if hist != nil {
		r.SetBytes("latency_hist", hist)
	}
	return hostTick{host: host, at: at, rows: []schemas.Row{r}}
}

// A quantile is that of all values in the window, however they are spread over rows and
// hosts; it is never a mean of quantiles.
func TestQuantilesOfMergedHistograms(t *testing.T) {
	l := newLab(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	all := hdrhistogram.New(1, 60*second, 3)
	var ticks []hostTick
	for s := int64(1); s <= 10; s++ {
		for _, h := range []string{"a", "b"} {
			var values []int64
			for range 200 {
				v := int64(1e5 * math.Exp(2*rnd.NormFloat64()))
				values = append(values, v)
				if s > 2 && s <= 9 {
					all.RecordValue(v)
				}
			}
			ticks = append(ticks, workload(h, s, 200, histogram(values...)))
		}
	}
	ticks = append(ticks, workload("a", 11, 1, nil), workload("b", 12, 1, histogram()))
	x := l.table(l.make(run{system: "s", scenario: "c", roles: map[string][]string{"a": {"load"}, "b": {"load"}}, ticks: ticks}), &schemas.Workload)
	for _, name := range []string{"latency_p50", "latency_p90", "latency_p99", "latency_p99_9"} {
		m := metric(t, &schemas.Workload, name)
		v, n, err := x.Quantile(m, []string{"a", "b"}, "", 2*second, 9*second)
		if want := float64(all.ValueAtQuantile(100*m.Quantile)) * 1e-9; err != nil || n != 2800 || v != want {
			t.Errorf("%s: %v of %d, want %v: %v", name, v, n, want, err)
		}
	}
	p50 := metric(t, &schemas.Workload, "latency_p50")
	if _, n, err := x.Quantile(p50, []string{"a", "b"}, "", 10*second, 99*second); n != 0 || err != nil {
		t.Errorf("of nothing: %d %v", n, err)
	}
	s, err := x.QuantileSeries(p50, "b", "")
	if err != nil || len(s.EndNS) != 11 || !s.Known[0] || s.Known[10] {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := x.QuantileSeries(p50, "a", ""); err != nil || s.Known[10] {
		t.Errorf("%+v %v", s, err)
	}
	l.want("throughput", l.values(x, "a", "", "throughput")[:14], "200.00 200.00 ")
	l.want("errors", l.values(x, "a", "", "error_pct")[:5], "0.50 ")
	mean := series(t, x, metric(t, &schemas.Workload, "latency_mean"), "a", "")
	if mean.Num[1] != 0.4 || mean.Den[1] != 200 {
		t.Errorf("mean %v over %v", mean.Num, mean.Den)
	}
	defer func() {
		if recover() == nil {
			t.Error("a quantile summed up")
		}
	}()
	x.Series(p50, "a", "")
}

// A histogram that can't be read, or has another range than the others, is an error.
func TestHistogramsThatCanNotBeMerged(t *testing.T) {
	l := newLab(t)
	small := hdrhistogram.New(1, 1000, 3)
	small.RecordValue(5)
	b, err := small.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{workload("h", 1, 1, b), workload("h", 2, 1, histogram(1e9)), workload("h", 3, 1, []byte("none"))}}), &schemas.Workload)
	m := metric(t, &schemas.Workload, "latency_p50")
	if _, _, err := x.Quantile(m, []string{"h"}, "", 0, 2*second); err == nil || !strings.Contains(err.Error(), "row 1: 1 values do not fit") {
		t.Error(err)
	}
	if _, _, err := x.Quantile(m, []string{"h"}, "", 2*second, 3*second); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Error(err)
	}
	if _, err := x.QuantileSeries(m, "h", ""); err == nil {
		t.Error("a series of what can't be read")
	}
}

// The window is the measure phase, or what is kept of its end.
func TestFixedWindow(t *testing.T) {
	phases := []schemas.Phase{{Name: "warmup", FromNS: 10, ToNS: 100}, {Name: "measure", FromNS: 100, ToNS: 400}, {Name: "cooldown", FromNS: 400, ToNS: 500}}
	for _, tt := range []struct {
		name   string
		phases []schemas.Phase
		keep   int64
		want   Window
	}{
		{"no phases", nil, 0, Window{0, 500, 0, 500, true}},
		{"no phases, the last", nil, 120, Window{380, 500, 0, 500, false}},
		{"no phases, more than there is", nil, 1000, Window{0, 500, 0, 500, false}},
		{"phases", phases, 0, Window{100, 400, 10, 400, false}},
		{"phases, the last", phases, 120, Window{280, 400, 10, 400, false}},
		{"phases, more than there is", phases, 1000, Window{100, 400, 10, 400, false}},
		{"no warm-up", phases[1:], 0, Window{100, 400, 100, 400, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Run{Manifest: &schemas.Manifest{DurationNS: 500, Phases: tt.phases}}
			if got := r.FixedWindow(tt.keep); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// A metric of a role is the sum over its hosts where it is a rate or a level, and one
// share of all where it is a share.
func TestScenariosAndRoles(t *testing.T) {
	l := newLab(t)
	var runs []*Run
	for n, system := range []string{"y", "x"} {
		var ticks []hostTick
		for s := range int64(4) {
			for i, h := range []string{"a", "b"} {
				ticks = append(ticks, hostTick{h, s, []schemas.Block{
					read(h, s, &schemas.CPU, row{"0", map[string]int64{"user_ticks": 10 * s * int64(i+1), "idle_ticks": 90 * s}}).b[0],
					read(h, s, &schemas.Net, row{"eth0", map[string]int64{"rx_bytes": 100 * s * int64(i+1)}}, row{"lo", map[string]int64{"rx_bytes": 7 * s}}).b[0],
					read(h, s, &schemas.Pressure, row{"cpu", map[string]int64{"some_ns": s * second / 10}}).b[0],
					read(h, s, &schemas.Load, row{v: map[string]int64{"ldavg_1": 200 * int64(i+1)}}).b[0],
				}, nil})
			}
			if s > 0 {
				ticks = append(ticks, workload("gen", s, 50, histogram(1e6)))
			}
		}
		runs = append(runs, l.make(run{system: system, scenario: fmt.Sprint("c", n), number: n + 1, ticks: ticks,
			roles: map[string][]string{"a": {"sut"}, "b": {"sut"}, "gen": {"load"}}, phases: map[string]int64{"warmup": 0, "measure": 1, "": 3}}))
	}
	got, err := Scenarios(runs, 0)
	if err != nil || len(got) != 2 || got[0].Name != "c0" || len(got[0].Runs) != 1 || got[0].Windows[0] != (Window{second, 3 * second, 0, 3 * second, false}) {
		t.Fatalf("%+v %v", got, err)
	}
	var lines []string
	for _, m := range got[0].Metrics {
		host, device, value := "*", "*", fmt.Sprint(m.Cells[0].Value, m.Cells[0].Count)
		if m.Host != nil {
			host = *m.Host
		}
		if m.Device != nil {
			device = *m.Device
		}
		if s := m.Cells[0].Series; s != nil {
			num, den := 0.0, 0.0
			for i := range s.EndNS {
				if s.Known[i] && in(s.EndNS[i], s.IntervalNS[i], second, 3*second) {
					num, den = num+s.Num[i], den+s.Den[i]
				}
			}
			value = fmt.Sprintf("%.4g", num/den)
		}
		lines = append(lines, fmt.Sprint(m.Name(), " ", m.Role, " ", host, " ", device, " ", value))
	}
	for _, want := range []string{
		"workload.throughput load * * 50", "workload.error_pct load * * 1.961", "workload.latency_p99 load * * 0.001000447 2",
		"cpu.user_pct sut * * 14.29", "cpu.user_pct sut a * 10", "cpu.user_pct sut b * 18.18",
		"net.rx_bytes_per_s sut * * 300", "net.rx_bytes_per_s sut a * 100", "net.rx_bytes_per_s sut b eth0 200", "net.rx_bytes_per_s sut * lo 14",
		"pressure.some_pct sut a cpu 10", "load.ldavg_1 sut * * 6", "load.ldavg_1 sut b * 4",
	} {
		if !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	for _, s := range lines {
		if strings.HasPrefix(s, "cpu.nice") || strings.HasPrefix(s, "net.tx") || strings.HasPrefix(s, "cpu.user_pct sut * 0") || strings.HasPrefix(s, "pressure.some_pct sut * * ") {
			t.Errorf("%s says nothing", s)
		}
	}
}

// A host that carries both stands under the system under test, but for what the load
// generator itself says.
func TestRolesOfHosts(t *testing.T) {
	both := &schemas.Manifest{Hosts: []schemas.Host{{Host: "h", Roles: []string{"load", "sut"}}}}
	two := &schemas.Manifest{Hosts: []schemas.Host{{Host: "g", Roles: []string{"load"}}, {Host: "h", Roles: []string{}}, {Host: "m", Roles: []string{"monitor", "load"}}}}
	for _, tt := range []struct {
		m    *schemas.Manifest
		role string
		want string
	}{{both, "sut", "[h]"}, {both, "load", "[h]"}, {two, "sut", "[h]"}, {two, "load", "[g m]"}, {two, "monitor", "[m]"}} {
		if got := fmt.Sprint(roleHosts(tt.m, tt.role)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.role, got, tt.want)
		}
	}
}

// Runs come in order and are found by what they are called.
func TestRunsAndFind(t *testing.T) {
	l := newLab(t)
	if _, err := Runs(filepath.Join(l.data, "none"), ""); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "name it with --data") {
		t.Error(err)
	}
	if _, err := Runs(l.data, ""); !errors.Is(err, ErrNoData) {
		t.Error(err)
	}
	tick := []hostTick{read("h", 0, &schemas.Load, row{v: map[string]int64{"runq_sz": 1}})}
	for _, n := range []int{10, 2} {
		l.make(run{system: "s", scenario: "c", number: n, ticks: tick})
	}
	runs, err := Runs(l.data, "e")
	if err != nil || len(runs) != 2 || runs[0].Name() != "system=s/scenario=c/run=02" || !runs[0].Has("load") || runs[0].Has("cpu") {
		t.Fatalf("%v %v", runs, err)
	}
	if _, err := Runs(l.data, "other"); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), `experiment "other": there are e`) {
		t.Error(err)
	}
	if _, err := Runs(l.data, "["); err == nil {
		t.Error("no such pattern")
	}
	for _, name := range []string{runs[0].Dir, "e/s/c/02", "e/s/c/2", "/experiment=e/system=s/scenario=c/run=02/"} {
		if r, err := Find(l.data, name); err != nil || r.Manifest.Run != "02" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, says := range map[string]string{"e/s/c": "want EXPERIMENT/SYSTEM/SCENARIO/NN", "e/s/c/3": "steady ls prints those there are", "x/s/c/2": "there are e"} {
		if _, err := Find(l.data, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := runs[0].Table(&schemas.CPU); !errors.Is(err, ErrNoData) {
		t.Error(err)
	}
	x := l.table(runs[0], &schemas.Load)
	if l.table(runs[0], &schemas.Load) != x {
		t.Error("read twice")
	}
	runs[0].Release()
	if l.table(runs[0], &schemas.Load) == x {
		t.Error("not released")
	}
	// A scenario in which one run lacks a table still has it.
	empty := l.make(run{system: "t", scenario: "c"})
	got, err := Scenarios(append(runs, empty), 0)
	if err != nil || len(got) != 1 || len(got[0].Runs) != 3 {
		t.Errorf("%+v %v", got, err)
	}
}

// A folder that is not as it was written is told from one that is.
func TestDamagedFolders(t *testing.T) {
	write := func(t *testing.T, path string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	manifest := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "manifest.json"), func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) })
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   string
		is     error
	}{
		{"cut off", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "load.parquet"), func(b []byte) []byte { return b[:len(b)-100] })
		}, "bytes, ", columns.ErrUnreadable},
		{"a bit", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "load.parquet"), func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
		}, "its bytes are not those that were written: copy it again from its source, or leave the run out with steady exclude", columns.ErrUnreadable},
		{"swapped", func(t *testing.T, dir string) {
			for _, x := range [][2]string{{"load", "x"}, {"memory", "load"}, {"x", "memory"}} {
				if err := os.Rename(filepath.Join(dir, x[0]+".parquet"), filepath.Join(dir, x[1]+".parquet")); err != nil {
					t.Fatal(err)
				}
			}
		}, "load.parquet: not a whole Parquet file", columns.ErrUnreadable},
		{"missing", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "load.parquet")); err != nil {
				t.Fatal(err)
			}
		}, "load.parquet", os.ErrNotExist},
		{"table version", manifest(`"table": "load",
      "version": 1`, `"table": "load",
      "version": 2`), "table load has version 2, this steady reads up to 1", nil},
		{"manifest version", manifest(schemas.ManifestSchema, "steady.manifest/7"), `manifest of schema "steady.manifest/7", this steady reads steady.manifest/1`, nil},
		{"manifest", manifest("{", "["), "manifest.json: ", nil},
		{"no manifest", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}, "not a run folder: it has no manifest.json", ErrNoData},
		{"manifest is a directory", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "manifest.json")
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
				t.Fatal(err)
			}
		}, "is a directory", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			dir := l.make(run{system: "s", scenario: "c", ticks: []hostTick{
				read("h", 0, &schemas.Load, row{v: map[string]int64{"runq_sz": 1}}), read("h", 1, &schemas.Memory, row{v: map[string]int64{"total_bytes": 1}}),
			}}).Dir
			tt.damage(t, dir)
			r, err := Open(dir)
			if err == nil {
				_, err = r.Table(&schemas.Load)
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Error(err)
			}
			if runs, err := Runs(l.data, ""); err == nil {
				if _, err = Scenarios(runs, 0); err == nil {
					t.Error("entered the statistics")
				}
			}
		})
	}
}

// A file of another shape than its table, its checksum right, is refused by name.
func TestFilesOfAnotherShape(t *testing.T) {
	for _, tt := range []struct {
		columns columns.Frame
		want    string
	}{
		{columns.Frame{{Name: "host", Type: schemas.String, Required: true}}, "no column time"},
		{func() columns.Frame {
			var f columns.Frame
			for _, c := range append(slices.Clone(schemas.Load.CommonColumns()), schemas.Load.Columns...) {
				f = append(f, &columns.Column{Name: c.Name, Type: c.Physical()})
			}
			f.Column("ldavg_1").Type = schemas.Int64
			return f
		}(), "column ldavg_1 has another type than table load"},
	} {
		path := filepath.Join(t.TempDir(), "f.parquet")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(columns.NewWriter(file, tt.columns, nil).Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
		f, err := columns.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := newTable(&schemas.Load, 1, f); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want a word of %s", err, tt.want)
		}
	}
}

// rates is a tool's own figures of two seconds that end so many seconds after the start.
func rates(at int64, t *schemas.Table, metric string, of map[string]float64) hostTick {
	b := schemas.Block{Table: t, WallNS: start + at*second, BootNS: at * second, IntervalNS: 2 * second}
	b.Devices = slices.Sorted(maps.Keys(of))
	b.Resize(len(b.Devices))
	for i, d := range b.Devices {
		b.SetRate(i, metric, of[d])
	}
	return hostTick{"h", at, []schemas.Block{b}, nil}
}

// A tool's own figures stand where there are no increments: from the first row on, over
// the interval that the tool says, and its own total is the total.
func TestAToolsOwnFigures(t *testing.T) {
	l := newLab(t)
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{
		rates(2, &schemas.CPU, "user_pct", map[string]float64{"all": 21, "0": 10, "1": 30}),
		rates(4, &schemas.CPU, "user_pct", map[string]float64{"0": 40, "1": 60}),
		rates(6, &schemas.CPU, "user_pct", map[string]float64{"all": math.NaN(), "0": math.Inf(1), "1": 8}),
	}}), &schemas.CPU)
	user := metric(t, &schemas.CPU, "user_pct")
	for device, want := range map[string]string{"0": "10.00 40.00 -", "1": "30.00 60.00 8.00", "all": "21.00 -", Total: "21.00 50.00 8.00"} {
		if got := text(series(t, x, user, "h", device)); got != want {
			t.Errorf("device %q: %s, want %s", device, got, want)
		}
	}
	if s := series(t, x, user, "h", Total); s.IntervalNS[0] != 2*second || s.EndNS[0] != 2*second {
		t.Errorf("%+v: the first interval is the tool's", s)
	}
	if s := series(t, x, metric(t, &schemas.CPU, "system_pct"), "h", Total); slices.Contains(s.Known, true) {
		t.Errorf("%+v: nobody said it", s)
	}
	disk := l.table(l.make(run{system: "s", scenario: "d", ticks: []hostTick{
		rates(2, &schemas.Disk, "read_bytes_per_s", map[string]float64{"sda": 100, "sdb": 20, "dm-0": 120}),
		read("h", 4, &schemas.Disk, row{"sda", map[string]int64{"read_bytes": 1000}}),
		read("h", 5, &schemas.Disk, row{"sda", map[string]int64{"read_bytes": 1700}}),
	}}), &schemas.Disk)
	if got := text(series(t, disk, metric(t, &schemas.Disk, "read_bytes_per_s"), "h", Total)); got != "120.00 - 700.00" {
		t.Errorf("%s: increments come first", got)
	}
}

// 160,000 KiB/s are 13.11 % of 10 Gbit/s, over intervals of any length; of a link whose
// speed nobody knows nothing is known.
func TestUseOfALink(t *testing.T) {
	l := newLab(t)
	at := func(s, kib int64) hostTick {
		known := row{"eth0", map[string]int64{"rx_bytes": kib * 1024, "tx_bytes": kib * 256, "speed_bit_per_s": 1e10}}
		return read("h", s, &schemas.Net, known, row{"veth", map[string]int64{"rx_bytes": kib * 1024}})
	}
	x := l.table(l.make(run{system: "s", scenario: "c", ticks: []hostTick{at(0, 0), at(1, 160000), at(3, 480000)}}), &schemas.Net)
	l.want("received", l.values(x, "h", "eth0", "rx_util_pct"), "- 13.11 13.11")
	l.want("sent", l.values(x, "h", "eth0", "tx_util_pct"), "- 3.28 3.28")
	l.want("unknown speed", l.values(x, "h", "veth", "rx_util_pct"), "- - -")
}

func series(t testing.TB, x *Table, m *schemas.Metric, host, device string) *Series {
	t.Helper()
	s, err := x.Series(m, host, device)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is joined has the same value over the window and beside it, to the last bit but
// for the order of sums, and rows enough to be looked at.
func TestCompact(t *testing.T) {
	const n = 3*MaxRows + 5
	s := &Series{}
	for i := range n {
		s.EndNS = append(s.EndNS, int64(i+1)*second)
		s.IntervalNS = append(s.IntervalNS, second)
		s.Num, s.Den, s.Known = append(s.Num, float64(i%7)), append(s.Den, 1), append(s.Known, i%5 != 0)
	}
	w := Window{FromNS: 1001 * second, ToNS: 9003 * second}
	c := s.Compact(w)
	if len(c.EndNS) > MaxRows+3 || len(c.EndNS) < MaxRows/2 {
		t.Errorf("%d rows of %d", len(c.EndNS), n)
	}
	value := func(s *Series, from, to int64) (num, den float64) {
		for i := range s.EndNS {
			if s.Known[i] && in(s.EndNS[i], s.IntervalNS[i], from, to) {
				num, den = num+s.Num[i], den+s.Den[i]
			}
		}
		return num, den
	}
	for _, span := range [][2]int64{{0, w.FromNS}, {w.FromNS, w.ToNS}, {w.ToNS, n * second}} {
		a, b := value(s, span[0], span[1])
		if c, d := value(c, span[0], span[1]); a != c || b != d {
			t.Errorf("%v: %v over %v, want %v over %v", span, c, d, a, b)
		}
	}
	if short := (&Series{EndNS: []int64{1}}); short.Compact(w) != short {
		t.Error("a short series was copied")
	}
}
