package schemas_test

import (
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/procfs"
	"github.com/steadybench/steady/schemas"
)

// fixtureTick returns a real host's tick.
func fixtureTick(tb testing.TB) *schemas.Tick {
	tb.Helper()
	sources, _, err := procfs.Sources("../collector/procfs/testdata/vm-6.18", collector.Now, procfs.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	t := &schemas.Tick{Seq: 1}
	for _, s := range sources {
		blocks := make([]schemas.Block, len(s.Tables()))
		for i, table := range s.Tables() {
			blocks[i].Table = table
		}
		if err := s.Sample(blocks); err != nil {
			tb.Fatal(err)
		}
		s.Close()
		t.Blocks = append(t.Blocks, blocks...)
	}
	return t
}

func BenchmarkEncodeTick(b *testing.B) {
	t := fixtureTick(b)
	enc := schemas.NewEncoder(schemas.Producer{Run: "01HHHHHHHHHHHHHHHHHHHHHHHH", Host: "h1", Epoch: 1, BootID: "boot"})
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		data, err := enc.Encode([]*schemas.Tick{t})
		if err != nil {
			b.Fatal(err)
		}
		size = len(data)
	}
	b.ReportMetric(float64(size), "B/tick")
}

func BenchmarkDecodeTick(b *testing.B) {
	enc := schemas.NewEncoder(schemas.Producer{Run: "01HHHHHHHHHHHHHHHHHHHHHHHH", Host: "h1", Epoch: 1, BootID: "boot"})
	data, err := enc.Encode([]*schemas.Tick{fixtureTick(b)})
	if err != nil {
		b.Fatal(err)
	}
	dec := schemas.NewDecoder()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dec.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
