package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
)

// fixture is a run made by hand: two hosts, of which "sut" is sampled and "gen" drives
// the load, a tick a second, one second of warm-up and fixtureSeconds that are kept.
type fixture struct {
	experiment, system string
	run, slot          int
	operations         float64 // in each second
	wiggle             float64 // how far single seconds lie from it
	nan                bool    // the tool prints a NaN in second 3
	reset              bool    // disk sdb begins anew in second 4
	silent             bool    // no rows come
	wide               bool    // memory and disks are sampled too
	abort              string  // the run ends with it
	lost               int64   // this tick of the collector never comes
}

const (
	fixtureScenario = "http"
	fixtureSeconds  = 12
)

// fixtureStart is when the first run of an experiment starts.
var fixtureStart = time.Date(2026, 3, 1, 8, 0, 0, 250e6, time.UTC)

// build makes run folders as ingest makes them, from messages as producers send them.
func build(t testing.TB, data string, runs ...fixture) {
	t.Helper()
	s, err := ingest.OpenStore(data, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := &maker{t: t, s: s}
	s.Begin("STEADY@2026-03-01T07:59:00Z")
	for i := range runs {
		id := fmt.Sprintf("01JN8G%-8.8s%04d%04d%04d", strings.ToUpper(strings.ReplaceAll(runs[i].experiment, "-", "")), runs[i].slot, runs[i].run, i)
		id = strings.ReplaceAll(id, " ", "0")
		m.run(id, &runs[i])
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Finish(id, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Forget(id); err != nil {
			t.Fatal(err)
		}
	}
}

type maker struct {
	t   testing.TB
	s   *ingest.Store
	seq uint64
}

func (m *maker) add(subject string, data []byte) {
	m.t.Helper()
	m.seq++
	m.s.Add(m.seq, subject, data)
}

func (m *maker) say(id string, c schemas.Control) {
	m.t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.add(schemas.ControlSubject(id), b)
}

func (m *maker) tick(e *schemas.Encoder, p schemas.Producer, tick *schemas.Tick) {
	m.t.Helper()
	b, err := e.Encode([]*schemas.Tick{tick})
	if err != nil {
		m.t.Fatal(err)
	}
	m.add(p.Subject(), b)
}

func (m *maker) run(id string, f *fixture) {
	const bootNS = 1000e9 // of both hosts, when the first run starts
	since := time.Duration(f.slot) * time.Minute
	at := func(host string, s float64) schemas.Stamp {
		d := since.Nanoseconds() + int64(s*1e9)
		return schemas.Stamp{Host: host, WallNS: fixtureStart.UnixNano() + d, BootNS: bootNS + d, BootID: "boot-of-" + host}
	}
	sut := schemas.Producer{Run: id, Host: "sut", Epoch: 1000 + int64(f.slot), BootID: "boot-of-sut"}
	gen := schemas.Producer{Run: id, Host: "gen", Epoch: 2000 + int64(f.slot), BootID: "boot-of-gen"}
	m.say(id, schemas.Control{Kind: "open", At: at("sut", 0), Open: &schemas.Open{Experiment: f.experiment, System: f.system, Scenario: fixtureScenario,
		Run: f.run, Slot: f.slot, Hosts: 2, Controlled: true, Params: map[string]any{"connections": 8, "loop": "open"}}})
	m.say(id, schemas.Control{Kind: "hello", At: at("sut", 0), Hello: &schemas.Hello{Epoch: sut.Epoch, Kind: "collector", Roles: []string{"sut"}, IntervalNS: 1e9,
		Facts: map[string]string{"kernel": "6.12.0-" + f.system, "cpus": "2"}, Absent: map[string]string{"pressure": "the kernel has none"}}})
	m.say(id, schemas.Control{Kind: "hello", At: at("gen", 0), Hello: &schemas.Hello{Epoch: gen.Epoch, Kind: "workload", Roles: []string{"load"}, IntervalNS: 1e9,
		Facts: map[string]string{"kernel": "6.12.0", "cpus": "4"}}})
	m.say(id, schemas.Control{Kind: "phase", At: at("sut", 0), Phase: "warmup"})
	m.say(id, schemas.Control{Kind: "phase", At: at("sut", 1), Phase: "measure"})
	var ticks, rows int64
	if !f.silent {
		ticks, rows = fixtureSeconds+2, fixtureSeconds+1
		sampled, driven := schemas.NewEncoder(sut), schemas.NewEncoder(gen)
		for k := range ticks {
			x := f.sample(k)
			stamp := at("sut", float64(k))
			for i := range x.Blocks {
				x.Blocks[i].WallNS, x.Blocks[i].BootNS = stamp.WallNS, stamp.BootNS
			}
			if x.Seq != f.lost {
				m.tick(sampled, sut, x)
			}
		}
		for k := range rows {
			stamp := at("gen", float64(k+1))
			row := f.drive(m.t, k)
			row.WallNS, row.BootNS, row.IntervalNS = stamp.WallNS, stamp.BootNS, 1e9
			m.tick(driven, gen, &schemas.Tick{Seq: k + 1, Rows: append([]schemas.Row{row}, row.Clean()...)})
		}
	}
	end := float64(fixtureSeconds + 1)
	m.say(id, schemas.Control{Kind: "end", At: at("sut", end), End: &schemas.End{Epoch: sut.Epoch, LastSeq: ticks}})
	m.say(id, schemas.Control{Kind: "end", At: at("gen", end), End: &schemas.End{Epoch: gen.Epoch, LastSeq: rows}})
	last := schemas.Control{Kind: "close", At: at("sut", end)}
	if f.abort != "" {
		last.Kind, last.Cause = "abort", f.abort
	}
	m.say(id, last)
}

// waves are how single seconds lie around their mean: they sum to zero.
var waves = [...]float64{0, 1, -1, 0.5, -0.5, 1.5, -1.5, 0.25, -0.25, 0.75, -0.75, 0}

// drive returns the load's row of second k.
func (f *fixture) drive(t testing.TB, k int64) schemas.Row {
	n := f.operations + f.wiggle*waves[k%int64(len(waves))]
	row := schemas.NewRow(&schemas.Workload, 0, 0, 0)
	row.SetText("driver", "made")
	row.SetText("unit", "request")
	row.SetFloat("operations", n)
	row.SetInt("errors", 0)
	if f.nan && k == 3 {
		row.SetFloat("operations", math.NaN())
	}
	l := latenciesOf(t, n)
	row.SetFloat("latency_mean_s", l.mean/1e9)
	row.SetFloat("latency_p50_s", l.p50/1e9)
	row.SetFloat("latency_p95_s", l.p95/1e9)
	row.SetFloat("latency_p99_s", l.p99/1e9)
	row.SetFloat("latency_max_s", l.max/1e9)
	row.SetBytes("latency_hist", l.hist)
	return row
}

// latencies are a second's, in nanoseconds.
type latencies struct {
	mean, p50, p95, p99, max float64
	hist                     []byte
}

// made are the latencies of each number of operations, since many seconds are alike.
var made = map[float64]latencies{}

// latenciesOf returns those of n operations: from 1 ms on, the longer the fewer
// operations there are.
func latenciesOf(t testing.TB, n float64) latencies {
	if l, ok := made[n]; ok {
		return l
	}
	h := hdrhistogram.New(1, 20e6, 3)
	for i := range int64(n) {
		if err := h.RecordValue(1e6 + i*1000*1e6/int64(n*n)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := h.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	at := func(percent float64) float64 { return float64(h.ValueAtPercentile(percent)) }
	made[n] = latencies{h.Mean(), at(50), at(95), at(99), float64(h.Max()), b}
	return made[n]
}

// sample returns the collector's tick of second k: 30 of 100 ticks of CPU 0 are user
// time, all of CPU 1 is idle; 1 MiB/s is read from sda; swap is 0 and zswap unknown.
func (f *fixture) sample(k int64) *schemas.Tick {
	cpu := schemas.Block{Table: &schemas.CPU, Devices: []string{"0", "1"}}
	cpu.Resize(2)
	for r := range 2 {
		for c := range schemas.CPU.Columns {
			cpu.Set(r, c, 0)
		}
	}
	cpu.Set(0, schemas.CPU.Column("user_ticks"), 500+30*k)
	cpu.Set(0, schemas.CPU.Column("idle_ticks"), 9000+70*k)
	cpu.Set(1, schemas.CPU.Column("idle_ticks"), 9500+100*k)
	memory := schemas.Block{Table: &schemas.Memory}
	memory.Resize(1)
	for name, v := range map[string]int64{"total_bytes": 8 << 30, "free_bytes": 4<<30 - k<<20, "available_bytes": 6 << 30, "swap_total_bytes": 0, "swap_free_bytes": 0} {
		memory.Set(0, schemas.Memory.Column(name), v)
	}
	disk := schemas.Block{Table: &schemas.Disk, Devices: []string{"sda", "sdb"}}
	disk.Resize(2)
	n := k
	if f.reset && k >= 4 {
		n = k - 4
	}
	disk.Set(0, schemas.Disk.Column("reads"), 1000+16*k)
	disk.Set(0, schemas.Disk.Column("read_bytes"), 1<<40+k<<20)
	disk.Set(1, schemas.Disk.Column("reads"), 100*n)
	disk.Set(1, schemas.Disk.Column("read_bytes"), n<<20)
	load := schemas.Block{Table: &schemas.Load}
	load.Resize(1)
	load.Set(0, schemas.Load.Column("ldavg_1"), 150)
	load.Set(0, schemas.Load.Column("runq_sz"), 2)
	blocks := []schemas.Block{cpu, load}
	if f.wide {
		blocks = []schemas.Block{cpu, memory, disk, load}
	}
	return &schemas.Tick{Seq: k + 1, Blocks: blocks}
}

// runsOf returns a system's runs with those operations a second, in an order in which
// systems take turns.
func runsOf(experiment, system string, place, systems int, wiggle float64, operations ...float64) []fixture {
	var out []fixture
	for i, n := range operations {
		slot := i*systems + place
		if i%2 == 1 {
			slot = i*systems + systems - 1 - place
		}
		out = append(out, fixture{experiment: experiment, system: system, run: i + 1, slot: slot, operations: n, wiggle: wiggle})
	}
	return out
}

func together(lists ...[]fixture) []fixture {
	var out []fixture
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// fixtures are all experiments of the golden tests.
func fixtures() []fixture {
	excluded := together(
		runsOf("excluded", "baseline", 0, 2, 5, 1000, 1004, 997, 300),
		runsOf("excluded", "new", 1, 2, 5, 1001, 1003, 998, 1000))
	nan := together(
		runsOf("nan", "baseline", 0, 2, 5, 1000, 1004, 997),
		runsOf("nan", "new", 1, 2, 5, 1101, 1103, 1098))
	nan[1].nan = true
	partial := together(
		runsOf("partial", "baseline", 0, 2, 5, 1000, 1004, 997, 1001),
		runsOf("partial", "new", 1, 2, 5, 1001, 1003, 998, 1000))
	for i := range nan {
		nan[i].wide = true
	}
	for i := range partial {
		partial[i].wide = true
	}
	partial[3].silent = true
	partial[4].abort = "the server ended: exit status 1"
	partial[5].lost = 5
	partial[6].reset = true
	return together(
		runsOf("kernels", "baseline", 0, 3, 5, 1000, 1004, 997),
		runsOf("kernels", "tuned", 1, 3, 5, 1101, 1097, 1103),
		runsOf("kernels", "debug", 2, 3, 5, 900, 905, 898),
		runsOf("alike", "baseline", 0, 2, 5, 1000, 1004, 997),
		runsOf("alike", "twin", 1, 2, 5, 1001, 1003, 998),
		runsOf("noisy", "baseline", 0, 2, 5, 1000, 1150, 870),
		runsOf("noisy", "new", 1, 2, 5, 1080, 930, 1140),
		runsOf("flat", "baseline", 0, 2, 0, 1000, 1000, 1000),
		runsOf("flat", "new", 1, 2, 0, 1100, 1100, 1100),
		runsOf("single", "baseline", 0, 2, 5, 1000),
		runsOf("single", "new", 1, 2, 5, 1100),
		excluded, nan, partial)
}

// fixtureData returns a data directory with all fixtures, made once; tests that write
// there take a copy.
func fixtureData(t testing.TB) string {
	t.Helper()
	data := filepath.Join(scratch, "fixtures")
	if _, err := os.Stat(data); err != nil {
		build(t, data, fixtures()...)
	}
	return data
}

// copyData gives the test a copy of the fixtures as "data" in a directory of its own,
// which becomes the working directory: so paths in messages are alike everywhere.
func copyData(t *testing.T) {
	t.Helper()
	from := fixtureData(t)
	t.Chdir(t.TempDir())
	if err := os.CopyFS("data", os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
