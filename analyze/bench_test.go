package analyze

import (
	"math"
	"math/rand/v2"
	"testing"
)

func BenchmarkSum(b *testing.B) {
	x := noise(rand.New(rand.NewPCG(1, 1)), 3600, 0)
	b.ReportAllocs()
	for b.Loop() {
		Sum(x)
	}
	b.ReportMetric(3600, "rows/op")
}

func BenchmarkEWC(b *testing.B) {
	x := noise(rand.New(rand.NewPCG(1, 1)), 3600, 0)
	b.ReportAllocs()
	for b.Loop() {
		EWC(x, 12)
	}
	b.ReportMetric(3600, "rows/op")
}

func BenchmarkHampel(b *testing.B) {
	x := noise(rand.New(rand.NewPCG(1, 1)), 3600, 0)
	b.ReportAllocs()
	for b.Loop() {
		Hampel(x, hampelHalf, hampelLimit)
	}
	b.ReportMetric(3600, "rows/op")
}

func BenchmarkMSER5(b *testing.B) {
	x := noise(rand.New(rand.NewPCG(1, 1)), 3600, 0)
	for b.Loop() {
		MSER5(x, 0.5)
	}
	b.ReportMetric(3600, "rows/op")
}

// BenchmarkJudge has 300 metrics of two systems of three runs of 300 seconds.
func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	ms := make([]Metric, 300)
	rows := 0
	for i := range ms {
		ms[i] = Metric{Scenario: "s", Class: "c", Direction: Higher, Primary: i == 0, Baseline: "base"}
		for _, name := range []string{"base", "new"} {
			s := loaded(r, name, 3, 300, func(t float64) float64 { return -0.2 * math.Exp(-t/20) })
			ms[i].Systems = append(ms[i].Systems, s)
			rows += 900
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		Judge(ms, Options{Window: Auto})
	}
	b.ReportMetric(float64(rows), "rows/op")
}

// BenchmarkJudgeSoak has one metric of one run of 72 hours.
func BenchmarkJudgeSoak(b *testing.B) {
	const rows = 259200
	x := noise(rand.New(rand.NewPCG(1, 1)), rows, 0.5)
	for i := range x {
		x[i] += 100
	}
	m := []Metric{{Systems: []SystemRuns{{System: "a", Runs: []Run{{Series: seriesOf(x), Slot: -1}}}}}}
	b.ReportAllocs()
	for b.Loop() {
		Judge(m, Options{Window: Auto})
	}
	b.ReportMetric(rows, "rows/op")
}
