package procfs

import (
	"testing"

	"github.com/steadybench/steady/collector"
)

// BenchmarkSample reads and parses, a source at a time and all of them.
func BenchmarkSample(b *testing.B) {
	for _, host := range []struct{ name, root string }{{"fixture", fixture}, {"live", "/"}, {"big", bigHost(b)}} {
		sources, _, err := Sources(host.root, collector.Now, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range sources {
			b.Run(host.name+"/"+s.Name(), func(b *testing.B) { benchmark(b, s) })
		}
		b.Run(host.name+"/all", func(b *testing.B) { benchmark(b, sources...) })
	}
}

// BenchmarkInterruptCells is source interrupts of the big host with each of its 129,280
// cells.
func BenchmarkInterruptCells(b *testing.B) {
	sources, _, err := Sources(bigHost(b), collector.Now, Options{InterruptCells: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range sources {
		if s.Name() == "interrupts" {
			benchmark(b, s)
		}
	}
}

func benchmark(b *testing.B, sources ...collector.Source) {
	b.ReportAllocs()
	values := 0
	for _, s := range sources {
		blocks := newBlocks(s)
		if err := s.Sample(blocks); err != nil {
			b.Fatal(err)
		}
		for _, block := range blocks {
			values += len(block.Values)
		}
	}
	run := make([]func(), len(sources))
	for i, s := range sources {
		blocks := newBlocks(s)
		run[i] = func() {
			if err := s.Sample(blocks); err != nil {
				b.Fatal(err)
			}
		}
		run[i]() // the first tick allocates
	}
	for b.Loop() {
		for _, tick := range run {
			tick()
		}
	}
	b.ReportMetric(float64(values), "values/op")
}

// BenchmarkParse is the part of BenchmarkSample that is not the kernel's.
func BenchmarkParse(b *testing.B) {
	for _, host := range []struct{ name, root string }{{"fixture", fixture}, {"big", bigHost(b)}} {
		sources, _, err := newHost(host.root, Options{}).sources(collector.Now)
		if err != nil {
			b.Fatal(err)
		}
		for _, each := range sources {
			s := each.(*source)
			b.Run(host.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				blocks := newBlocks(s)
				if err := s.Sample(blocks); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := s.parse(blocks, s.files, &s.bad); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
