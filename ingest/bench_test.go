package ingest

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/procfs"
	"github.com/steadybench/steady/schemas"
)

// fixtureHost is a host made from a real one's /proc: its gauges wander, and its
// counters grow at random rates, as far as they ever did.
type fixtureHost struct {
	id   schemas.Producer
	tick schemas.Tick
	rate [][]float64
	rnd  *rand.Rand
}

func newFixtureHost(tb testing.TB) *fixtureHost {
	tb.Helper()
	sources, _, err := procfs.Sources("../collector/procfs/testdata/vm-6.18", collector.Now, procfs.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	h := &fixtureHost{id: schemas.Producer{Run: "01HHHHHHHHHHHHHHHHHHHHHHHH", Host: "h1", Epoch: 1, BootID: "boot"}, rnd: rand.New(rand.NewPCG(1, 2))}
	for _, s := range sources {
		blocks := make([]schemas.Block, len(s.Tables()))
		for i, t := range s.Tables() {
			blocks[i].Table = t
		}
		if err := s.Sample(blocks); err != nil {
			tb.Fatal(err)
		}
		s.Close()
		h.tick.Blocks = append(h.tick.Blocks, blocks...)
	}
	for _, b := range h.tick.Blocks {
		rates := make([]float64, len(b.Values))
		for i, v := range b.Values {
			if v > 0 {
				rates[i] = h.rnd.ExpFloat64() * float64(v) / 50_000
			}
		}
		h.rate = append(h.rate, rates)
	}
	return h
}

func (h *fixtureHost) values() (n int) {
	for _, b := range h.tick.Blocks {
		n += len(b.Values)
	}
	return n
}

// next returns the payload of the next second.
func (h *fixtureHost) next(tb testing.TB, enc *schemas.Encoder) []byte {
	h.tick.Seq++
	for k := range h.tick.Blocks {
		b := &h.tick.Blocks[k]
		b.WallNS = 1_780_000_000e9 + h.tick.Seq*1e9 + h.rnd.Int64N(100_000)
		b.BootNS = 1000e9 + h.tick.Seq*1e9 + h.rnd.Int64N(100_000)
		for i := range b.Values {
			step := int64(h.rate[k][i] * h.rnd.ExpFloat64())
			if b.Table.Columns[i%len(b.Table.Columns)].Kind == schemas.Gauge && h.rnd.IntN(2) == 0 {
				step = -min(step, b.Values[i])
			}
			b.Values[i] += step
		}
	}
	data, err := enc.Encode([]*schemas.Tick{&h.tick})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func openControl(h *fixtureHost, t testing.TB, s *Store) {
	at := schemas.Stamp{Host: h.id.Host, WallNS: 1_780_000_000e9, BootNS: 1000e9, BootID: h.id.BootID}
	for i, c := range []schemas.Control{
		{Kind: "open", At: at, Open: &schemas.Open{Experiment: "bench", System: "s", Scenario: "c", Run: 1, Hosts: 1}},
		{Kind: "hello", At: at, Hello: &schemas.Hello{Epoch: 1, Kind: "collector", Roles: []string{"sut"}}},
	} {
		data, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(uint64(i+1), schemas.ControlSubject(h.id.Run), data)
	}
}

// BenchmarkIngestHour takes an hour of one host's messages through parts into a run
// folder, as a live ingest does, and reports what it costs a row and what a value
// takes on disk.
func BenchmarkIngestHour(b *testing.B) {
	const ticks = 3600
	h := newFixtureHost(b)
	enc := schemas.NewEncoder(h.id)
	messages := make([][]byte, ticks)
	wire := 0
	for i := range messages {
		messages[i] = h.next(b, enc)
		wire += len(messages[i])
	}
	values := float64(ticks * h.values())
	var rows, bytes int64
	b.ReportAllocs()
	for b.Loop() {
		s, err := OpenStore(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		s.Begin("bench")
		openControl(h, b, s)
		for i, m := range messages {
			s.Add(uint64(i+3), h.id.Subject(), m)
			if i%600 == 599 {
				if err := s.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		}
		dir, m, err := s.Finish(h.id.Run, "")
		if err != nil {
			b.Fatal(err)
		}
		rows, bytes = 0, 0
		for _, t := range m.Tables {
			rows += t.Rows
		}
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".parquet") {
				st, _ := d.Info()
				bytes += st.Size()
			}
			return err
		})
		s.Close()
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(bytes)/values, "B/value")
	b.ReportMetric(float64(wire)/ticks, "wire-B/tick")
	b.ReportMetric(values/ticks, "values/tick")
}
