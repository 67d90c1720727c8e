package analyze

import (
	"math"
	"testing"
)

func TestMDEReference(t *testing.T) {
	// scipy 1.10 stats.nct, bisected: percent, power .8, alpha .05.
	for _, tt := range []struct{ cv, n, percent float64 }{
		{.005, 3, 1.54}, {.005, 5, 1.01}, {.01, 3, 3.07}, {.01, 10, 1.32}, {.02, 3, 6.14}, {.02, 20, 1.82}, {.05, 5, 10.12},
	} {
		if d, ok := MDE(tt.cv*math.Sqrt(2/tt.n), 2*tt.n-2, 0.05, 0.8); !ok || math.Abs(100*d-tt.percent) > 0.006 {
			t.Errorf("CV %v, n %v: %v %%, want %v", tt.cv, tt.n, 100*d, tt.percent)
		}
	}
	for _, bad := range [][2]float64{{0, 4}, {-1, 4}, {1, 0}, {math.NaN(), 4}, {math.Inf(1), 4}, {1, math.NaN()}} {
		if d, ok := MDE(bad[0], bad[1], 0.05, 0.8); ok || d != 0 {
			t.Errorf("MDE(%v) = %v, %v", bad, d, ok)
		}
	}
}

func TestSDUpper(t *testing.T) {
	// chi-squared .2 quantile, 4 degrees of freedom: 1.648777 (tables).
	if got, ok := SDUpper(1, 4, 0.8); !ok || math.Abs(got-math.Sqrt(4/1.648777)) > 1e-6 {
		t.Errorf("SDUpper = %v", got)
	}
	a, _ := SDUpper(1, 0.99e7, 0.8)
	b, _ := SDUpper(1, 1.01e7, 0.8)
	if math.Abs(a-b) > 1e-5 || a < 1 {
		t.Errorf("many degrees of freedom: %v, %v", a, b)
	}
}

func TestRunsNeeded(t *testing.T) {
	two := func(n int) float64 { return 2*float64(n) - 2 }
	for _, alpha := range []float64{0.05, 0.001} {
		p := newPlanner(alpha, 0.8)
		for _, effect := range []float64{0.05, 0.3, 1, 2.5, 10, 80} {
			n, ok := p.runs(effect, two)
			reaches := func(n int) bool {
				return n > 1 && power(effect*math.Sqrt(float64(n)/2), two(n), tCritical(alpha, two(n))) >= 0.8
			}
			if !ok || !reaches(n) || reaches(n-1) {
				t.Errorf("effect %v at %v: %d runs, %v", effect, alpha, n, ok)
			}
		}
	}
	if n, ok := RunsNeeded(1e-9, 1, 4, 0.05, 0.8); ok {
		t.Errorf("hopeless: %d", n)
	}
	if n, ok := RunsNeeded(0.03, 0.02, 4, 0.05, 0.8); !ok || n <= 9 {
		t.Errorf("from a pilot of 3: %d, want more than the 9 a known spread needs", n)
	}
}

func TestExtendedRuns(t *testing.T) {
	a, b := []float64{100, 102, 98}, []float64{101, 103, 99}
	n, ok := ExtendedRuns(a, b, 0.02, 0.95)
	_, vA, _ := MeanVariance(logs(a))
	_, vB, _ := MeanVariance(logs(b))
	want := int(math.Ceil(2 * math.Pow(2.7764451051977987/math.Log(1.02), 2) * (vA + vB) / 2))
	if !ok || n != want {
		t.Errorf("%d, %v, want %d", n, ok, want)
	}
	if n, ok := ExtendedRuns(a, a, 0.5, 0.95); !ok || n != 3 {
		t.Errorf("enough already: %d, %v", n, ok)
	}
	if _, ok := ExtendedRuns([]float64{1, 1}, []float64{1, 1}, 0.02, 0.95); ok {
		t.Error("no variation extended")
	}
	// The extended set is judged with the pilot's spread.
	m := metricOf(Higher, runsOf(append(b, 101, 100, 150)...), runsOf(append(a, 101, 100, 50)...))
	m.Pilot = 3
	c := Judge([]Metric{m}, Options{})[0].Comparisons[0]
	se := math.Sqrt((vA + vB) / 2 * (2. / 6))
	lo := math.Log1p(c.Percent.Value/100) - tCritical(0.05, 4)*se
	if c.Method != "stein-log" || *c.DF != 4 || !near(math.Log1p(c.Percent.Lo/100), lo, 1e-9) {
		t.Errorf("%s, df %v, %+v", c.Method, *c.DF, c.Percent)
	}
}

func TestNoiseFloor(t *testing.T) {
	got, ok := NoiseFloor([]float64{99, 100, 101}, 3, 0.05)
	if !ok || math.Abs(got-3.57) > 0.01 { // 4.3027*.01*sqrt(2/3), on logarithms
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := NoiseFloor([]float64{5, 5, 5}, 3, 0.05); ok {
		t.Error("no variation has a floor")
	}
}

func TestQuantileRules(t *testing.T) {
	for q, need := range map[float64]int64{0.5: 2, 0.9: 10, 0.95: 20, 0.99: 100, 0.999: 10000, 0.9999: 100000} {
		if got := QuantileNeeds(q); got != need {
			t.Errorf("p%v needs %d, want %d", 100*q, got, need)
		}
	}
	if ok, _ := CheckQuantile(0.99, 100); !ok {
		t.Error("p99 of 100 refused")
	}
	if ok, why := CheckQuantile(0.99, 6); ok || why != "p99 of 6 samples: needs 100; run for longer or read a lower percentile" {
		t.Errorf("p99 of 6: %v, %q", ok, why)
	}
	// The joint p99 of two clients is not known, only bounded.
	if lo, hi, ok := JointQuantile([]float64{5, 500}); !ok || lo != 5 || hi != 500 {
		t.Errorf("%v, %v, %v", lo, hi, ok)
	}
	if _, _, ok := JointQuantile(nil); ok {
		t.Error("no part has a quantile")
	}
}

func TestFitPrior(t *testing.T) {
	// limma 3.54 squeezeVar's arithmetic by hand: equal variances have no spread beyond
	// chance, so the prior takes its cap.
	s2, df := make([]float64, 30), make([]float64, 30)
	for i := range s2 {
		s2[i], df[i] = 2, 4
	}
	p, ok := FitPrior(s2, df)
	if !ok || p.DF != maxPriorDF {
		t.Fatalf("%+v, %v", p, ok)
	}
	if v, d, used := p.Squeeze(2, 4); !used || d != 8 || v <= 0 {
		t.Errorf("%v, %v, %v", v, d, used)
	}
	if v, d, used := p.Squeeze(1e3, 4); used || v != 1e3 || d != 4 {
		t.Errorf("a noisy metric borrowed: %v, %v", v, d)
	}
	// Trigamma's inverse: trigamma(1) = pi^2/6, trigamma(.5) = pi^2/2.
	if x := trigammaInverse(math.Pi * math.Pi / 6); relErr(x, 1) > 1e-9 {
		t.Errorf("trigammaInverse = %v, want 1", x)
	}
	if x := trigammaInverse(math.Pi * math.Pi / 2); relErr(x, 0.5) > 1e-9 {
		t.Errorf("trigammaInverse = %v, want .5", x)
	}
	if x := trigammaInverse(1e-8); relErr(x, 1e8) > 1e-6 {
		t.Errorf("trigammaInverse(1e-8) = %v", x)
	}
}

// Many alike secondary metrics lend each other their variance; primary ones do not.
func TestModeratedOnlyForManySecondary(t *testing.T) {
	var ms []Metric
	for i := range 25 {
		x := float64(i%5) / 2
		m := metricOf(Higher, runsOf(100, 101+x, 99), runsOf(100, 101, 99-x))
		m.Primary, m.Class = i < 2, "cpu"
		ms = append(ms, m)
	}
	j := Judge(ms, Options{})
	if got := j[0].Comparisons[0].Method; got != "welch-log" {
		t.Errorf("primary: %s", got)
	}
	if c := j[5].Comparisons[0]; c.Method != "moderated-log" || *c.DF <= 4 || *c.DF > 8 {
		t.Errorf("secondary: %s, df %v", c.Method, *c.DF)
	}
	for i := range ms {
		ms[i].Primary = i < 10
	}
	if got := Judge(ms, Options{})[15].Comparisons[0].Method; got != "welch-log" {
		t.Errorf("fifteen secondary metrics: %s", got)
	}
}
