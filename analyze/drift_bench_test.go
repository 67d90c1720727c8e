package analyze

import (
	"math/rand/v2"
	"testing"
)

// One metric of 72 h of seconds, from rows to bins.
func BenchmarkDriftBinner(b *testing.B) {
	const n = 259200
	r := rand.New(rand.NewPCG(1, 1))
	end, width, num := make([]int64, n), make([]int64, n), make([]float64, n)
	for i := range n {
		end[i], width[i], num[i] = int64(i+1)*1e9, 1e9, r.Float64()
	}
	b.ReportAllocs()
	for b.Loop() {
		k := NewDriftBinner(0, DriftWidth(n*1e9))
		k.AddRows(end, width, num, nil, nil)
		if len(k.Bins().Mean) != 432 {
			b.Fatal("bins")
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// 300 metrics of 72 h, from bins to verdicts.
func BenchmarkDrift(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var s []DriftSeries
	for i := range 300 {
		s = append(s, DriftSeries{Bins: driftBinsOf(driftNoise(r, 432, 0.8), 600e9), GateAbsolute: 1, Kind: DriftKind(i % 3)})
	}
	b.ReportAllocs()
	for b.Loop() {
		Drift(s, DriftOptions{})
	}
	b.ReportMetric(300*float64(b.N)/b.Elapsed().Seconds(), "metrics/s")
}

func BenchmarkChangePoints(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x := driftNoise(r, 500, 0.5)
	for b.Loop() {
		ChangePoints(x)
	}
}

// Rows are gathered without a piece of garbage each: a bin at a time.
func TestDriftBinnerAllocations(t *testing.T) {
	k := NewDriftBinner(0, 600e9)
	at := int64(0)
	add := func() {
		for range 600 {
			at += 1e9
			k.Add(at, 1e9, float64(at%7), 1, true)
		}
	}
	add()
	if n := testing.AllocsPerRun(50, add); n > 1 {
		t.Errorf("%g allocations a bin, want at most the growth of the slices", n)
	}
}
