package perf

import (
	"fmt"
	"testing"
)

// BenchmarkTick reads the running kernel's counters, and those of a host of 256 CPUs whose
// kernel costs nothing: that is the part which is ours. On a real one each group of each
// CPU costs what "groups/op" of the running kernel cost, and more where the CPU has to wake.
func BenchmarkTick(b *testing.B) {
	events := []string{"cs", "faults", "migrations"}
	for _, r := range live(b, "/", Options{Events: events}) {
		b.Run("live/"+r.source.Name(), func(b *testing.B) { benchmarkTick(b, r) })
	}
	for _, o := range []Options{{Events: events}, {Extended: true}} {
		m := newMachine(b, "0-255")
		m.fake.hurry = true
		sources, _ := m.open(o)
		for _, s := range sources {
			b.Run(fmt.Sprintf("big/%s/extended=%v", s.Name(), o.Extended), func(b *testing.B) {
				benchmarkTick(b, newReader(b, s))
			})
		}
	}
}

func benchmarkTick(b *testing.B, r *reader) {
	r.tick()
	groups := 0
	switch s := r.source.(type) {
	case *wide:
		for _, c := range s.cpus {
			groups += len(c.groups)
		}
	case *tall:
		for range s.parts {
			groups++
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.source.Sample(r.block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(groups), "groups/op")
}
