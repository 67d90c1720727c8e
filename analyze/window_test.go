package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noise returns n values of an AR(1) process of variance 1.
func noise(r *rand.Rand, n int, phi float64) []float64 {
	x := make([]float64, n)
	s := math.Sqrt(1 - phi*phi)
	for i := range x {
		z := r.NormFloat64()
		if i == 0 {
			x[i] = z
		} else {
			x[i] = phi*x[i-1] + s*z
		}
	}
	return x
}

func TestRollingMedianAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 5, 40, 333} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(r.IntN(9)) // ties
		}
		for _, half := range []int{1, 3, 10} {
			got := rollingMedian(x, half)
			for i := range x {
				var w []float64
				for k := i - half; k <= i+half; k++ {
					w = append(w, x[max(0, min(n-1, k))])
				}
				slices.Sort(w)
				if got[i] != w[half] {
					t.Fatalf("n=%d half=%d: median %d is %v, want %v", n, half, i, got[i], w[half])
				}
			}
		}
	}
}

func TestHampel(t *testing.T) {
	x := noise(rand.New(rand.NewPCG(3, 4)), 100, 0)
	before := slices.Clone(x)
	y := slices.Clone(x)
	y[50] = 40
	got := Hampel(y, 10, 4)
	if math.Abs(got[50]) > 2 {
		t.Errorf("outlier left at %v", got[50])
	}
	changed := 0
	for i := range x {
		if i != 50 && got[i] != y[i] {
			changed++
		}
	}
	if changed > 2 || !slices.Equal(x, before) {
		t.Errorf("%d ordinary values changed", changed)
	}
}

// mserPlain is the definition, O(n^2).
func mserPlain(x []float64, share float64) int {
	k := len(x) / 5
	b := make([]float64, k)
	for i := range b {
		b[i], _ = Mean(x[5*i : 5*i+5])
	}
	best, least := 0, math.Inf(1)
	for d := range int(float64(k) * share) {
		n := float64(k - d)
		m, _ := Mean(b[d:])
		var q float64
		for _, v := range b[d:] {
			q += (v - m) * (v - m)
		}
		if g := q / (n * n); g < least {
			best, least = d, g
		}
	}
	return 5 * best
}

func TestMSER5AgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		x := noise(r, 20+r.IntN(300), 0.5)
		for i := range x {
			x[i] += 1000 - 5*math.Exp(-float64(i)/20)
		}
		if got, want := MSER5(x, 0.5), mserPlain(x, 0.5); got != want {
			t.Fatalf("MSER5 of %d values = %d, want %d", len(x), got, want)
		}
	}
	if got := MSER5([]float64{1, 2, 3}, 0.5); got != 0 {
		t.Errorf("of three values: %d", got)
	}
}

func TestTrendLevel(t *testing.T) {
	x := make([]float64, 100)
	for i := range x {
		x[i] = 5
	}
	if got := TrendOf(x); !got.Known || got.P != 1 || got.Change != 0 || !got.steady() {
		t.Errorf("constant: %+v", got)
	}
	for i := range x {
		x[i] = 100 + float64(i)/9.9
	}
	if got := TrendOf(x); got.P > 1e-6 || !near(got.Change, 10, 1e-9) || got.steady() {
		t.Errorf("straight line: %+v", got)
	}
	if got := TrendOf(x[:10]); got.Known {
		t.Errorf("ten values: %+v", got)
	}
	// Its level: 4 % of steady noisy series are beyond the gate's alpha.
	r := rand.New(rand.NewPCG(7, 8))
	n := 0
	for range 2000 {
		if TrendOf(noise(r, 200, 0.5)).P < 0.05 {
			n++
		}
	}
	if p := float64(n) / 2000; math.Abs(p-0.05) > 4*0.005 {
		t.Errorf("rejects %v of steady series at .05", p)
	}
}

// loaded makes a system of runs that settle after some seconds.
func loaded(r *rand.Rand, name string, runs, seconds int, settle func(t float64) float64) SystemRuns {
	s := SystemRuns{System: name}
	for range runs {
		x := noise(r, seconds, 0.3)
		for i := range x {
			x[i] = 1000 * (1 + settle(float64(i)) + 0.01*x[i])
		}
		s.Runs = append(s.Runs, Run{Series: seriesOf(x), Slot: -1, Fixed: Window{120e9, 300e9}})
	}
	return s
}

func TestAutomaticWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	flat := func(float64) float64 { return 0 }
	step := func(at float64) func(float64) float64 {
		return func(t float64) float64 {
			if t < at {
				return -0.1
			}
			return 0
		}
	}
	drift := func(t float64) float64 { return 0.2 * t / 300 }
	for _, tt := range []struct {
		name     string
		new      func(float64) float64
		seconds  int
		from, to float64
		late     bool
		steady   bool
		warning  string
	}{
		{"warm-up of 60 s", step(60), 300, 60, 75, false, true, ""},
		{"late step", step(200), 300, 200, 215, true, true, "late settling"},
		{"drift", drift, 300, 0, 300, true, false, "no steady state"},
	} {
		m := Metric{Primary: true, Baseline: "base", Systems: []SystemRuns{loaded(r, "base", 3, tt.seconds, flat), loaded(r, "new", 3, tt.seconds, tt.new)}}
		j := Judge([]Metric{m}, Options{Window: Auto})[0]
		s := j.Systems[1]
		from := float64(s.Auto.FromNS) / 1e9
		if s.Window != Auto || from < tt.from || from > tt.to || s.Auto.Late != tt.late || s.Auto.Steady == nil || *s.Auto.Steady != tt.steady {
			t.Errorf("%s: from %v s, %+v", tt.name, from, s.Auto)
		}
		if tt.warning != "" && !hasWarning(s.Warnings, tt.warning) {
			t.Errorf("%s: warnings %q", tt.name, s.Warnings)
		}
		if j.Systems[0].Auto.FromNS != s.Auto.FromNS {
			t.Errorf("%s: systems trimmed differently", tt.name)
		}
		if !s.Fixed.Mean.Known || s.Fixed.FromNS != 120e9 {
			t.Errorf("%s: fixed window missing: %+v", tt.name, s.Fixed)
		}
	}
	short := Metric{Baseline: "base", Systems: []SystemRuns{loaded(r, "base", 3, 50, flat), loaded(r, "new", 3, 50, flat)}}
	for i := range short.Systems {
		for k := range short.Systems[i].Runs {
			short.Systems[i].Runs[k].Fixed = Window{}
		}
	}
	s := Judge([]Metric{short}, Options{Window: Auto})[0].Systems[0]
	if s.Window != Fixed || !s.Mean.Known || !hasWarning(s.Warnings, "50 ticks") {
		t.Errorf("50 s: window %v, warnings %q", s.Window, s.Warnings)
	}
}

// The load settles once for a scenario: host metrics are trimmed like its throughput.
func TestScenarioSharesStart(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	flat := func(float64) float64 { return 0 }
	warm := func(t float64) float64 { return -0.3 * math.Max(0, 1-t/90) }
	load := Metric{Scenario: "web", Primary: true, Systems: []SystemRuns{loaded(r, "a", 3, 300, warm)}}
	cpu := Metric{Scenario: "web", Systems: []SystemRuns{loaded(r, "a", 3, 300, flat)}}
	other := Metric{Scenario: "db", Systems: []SystemRuns{loaded(r, "a", 3, 300, flat)}}
	j := Judge([]Metric{load, cpu, other}, Options{Window: Auto})
	one, two, three := j[0].Systems[0].Auto.FromNS, j[1].Systems[0].Auto.FromNS, j[2].Systems[0].Auto.FromNS
	if one != two || one < 60e9 || three > 60e9 {
		t.Errorf("starts %v, %v, %v", one, two, three)
	}
}

func TestFindStart(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, tt := range []struct {
		n, step, from, to int
		late              bool
	}{{300, 0, 0, 150, false}, {300, 60, 60, 70, false}, {300, 200, 200, 215, true}, {3000, 600, 600, 640, false}, {3000, 0, 200, 1500, false}} {
		x := noise(r, tt.n, 0.3)
		for i := range x {
			x[i] = 100 + x[i]
			if i < tt.step {
				x[i] -= 10
			}
		}
		got := FindStart(x)
		if !got.Known || !got.Steady || got.Late != tt.late || got.Index < tt.from || got.Index > tt.to {
			t.Errorf("step at %d of %d: %+v", tt.step, tt.n, got)
		}
	}
	if got := FindStart(make([]float64, 59)); got.Known {
		t.Errorf("59 rows: %+v", got)
	}
}
