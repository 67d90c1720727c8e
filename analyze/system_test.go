package analyze

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWithinRun(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := WithinRun(noise(r, 3600, 0))
	if !w.Known || w.ESS < 2000 || w.Nu != 12 || math.Abs(w.LRV-1) > 1.5 {
		t.Errorf("white: %+v", w)
	}
	if w := WithinRun(noise(r, 180, 0.99)); w.ESS >= minESS {
		t.Errorf("nearly a random walk: %+v", w)
	}
	for _, x := range [][]float64{nil, {1}, {1, 2}, {1, 2, 3, 4, 5}, {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}} {
		if w := WithinRun(x); w.Known {
			t.Errorf("%v: %+v", x, w)
		}
	}
}

// The long-run variance of an alternating series is that of what is left over.
func TestEWC(t *testing.T) {
	x := make([]float64, 400)
	for i := range x {
		x[i] = float64(1 - 2*(i%2))
	}
	if v := EWC(x, 8); v > 0.01 {
		t.Errorf("alternating: %v", v)
	}
	if EWC(x[:16], 8) != 0 || EWC(x[:17], 8) == 0 {
		t.Error("needs more than 2*nu rows")
	}
	// By the definition, term by term.
	r := rand.New(rand.NewPCG(2, 2))
	y := noise(r, 101, 0.5)
	m, _ := Mean(y)
	var want float64
	for j := 1; j <= 6; j++ {
		var l float64
		for i, v := range y {
			l += math.Sqrt(2./101) * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/101) * (v - m)
		}
		want += l * l / 6
	}
	if got := EWC(y, 6); relErr(got, want) > 1e-12 {
		t.Errorf("EWC = %v, want %v", got, want)
	}
}

func TestSpreadBetweenAndWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	system := func(between float64) System {
		s := SystemRuns{System: "a"}
		for range 20 {
			level := 1000 + between*r.NormFloat64()
			x := noise(r, 300, 0)
			for i := range x {
				x[i] = level + 10*x[i]
			}
			s.Runs = append(s.Runs, Run{Series: seriesOf(x), Slot: -1})
		}
		return Judge([]Metric{{Systems: []SystemRuns{s}}}, Options{RunSeconds: 60})[0].Systems[0]
	}
	s := system(20)
	if s.SDBetween == nil || math.Abs(*s.SDBetween-20) > 10 || math.Abs(*s.SDWithin-10/math.Sqrt(300)) > 0.2 || s.Advice == "" {
		t.Errorf("between runs: %+v", s)
	}
	// T* = sqrt(60 * 100 / 400).
	if s.BestSeconds == nil || *s.BestSeconds < 2 || *s.BestSeconds > 8 {
		t.Errorf("best length %v, want about 4 s", s.BestSeconds)
	}
	if s.Run[0].ESS == nil || *s.Run[0].ESS < 100 || !s.Run[0].Within.Interval {
		t.Errorf("first run: %+v", s.Run[0])
	}
	if s := system(0); s.SDBetween == nil || *s.SDBetween > 0.6 || hasWarning(s.Warnings, "less spread") {
		t.Errorf("no effect of the run: %v, %q", *s.SDBetween, s.Warnings)
	}
}

// Runs that share their level to more digits than their noise allows were not
// measured apart.
func TestLessSpreadThanExpected(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s := SystemRuns{System: "a"}
	for k := range 4 {
		x := noise(r, 300, 0)
		m, _ := Mean(x)
		for i := range x {
			x[i] = 1000 + 10*(x[i]-m) + 1e-4*float64(k)
		}
		s.Runs = append(s.Runs, Run{Series: seriesOf(x), Slot: -1})
	}
	if got := Judge([]Metric{{Systems: []SystemRuns{s}}}, Options{})[0].Systems[0]; !hasWarning(got.Warnings, "less spread than expected") {
		t.Errorf("%q", got.Warnings)
	}
}

func TestUnstable(t *testing.T) {
	for _, tt := range []struct {
		name    string
		values  []float64
		warning string
		is      bool
	}{
		{"quiet", []float64{100, 101, 99, 100.5, 99.4}, "", false},
		{"wide", []float64{100, 104, 111}, "unstable: runs differ by more than 10 %", true},
		{"one apart", []float64{100, 100.1, 99.9, 100.05, 93}, "run 5 stands apart, below", true},
		{"two modes", []float64{100, 100.1, 99.9, 105, 105.1, 104.9, 100}, "two groups of runs (4 low, 3 high)", true},
	} {
		j, _ := judgeOne(Higher, runsOf(1), runsOf(tt.values...))
		s := j.Systems[1]
		if s.Unstable != tt.is || tt.warning != "" && !hasWarning(s.Warnings, tt.warning) {
			t.Errorf("%s: unstable %v, %q", tt.name, s.Unstable, s.Warnings)
		}
	}
}

func TestMissingTimeIsSaid(t *testing.T) {
	s := seriesOf(make([]float64, 100))
	for i := range s.Num {
		s.Num[i] = 100 + float64(i%3)
	}
	s.Known = make([]bool, 100)
	for i := range s.Known {
		s.Known[i] = i < 50 || i >= 60
	}
	j, _ := judgeOne(Higher, []Run{{Series: s, Slot: -1}}, runsOf(1))
	if got := j.Systems[0]; !hasWarning(got.Warnings, "10 % of the time is missing (10 unknown rows") {
		t.Errorf("%q", got.Warnings)
	}
}

// Honest runs with a shape in common and no effect of the run are the hardest case.
func TestHonestRunsAreNotAccused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	accused := 0
	for k := range 400 {
		s := SystemRuns{System: "a"}
		for range 3 + 2*(k%2) {
			x := noise(r, 180, 0.5)
			for i := range x {
				x[i] = 1000 + 10*x[i] + 15*math.Sin(float64(i)/4)
			}
			s.Runs = append(s.Runs, Run{Series: seriesOf(x), Slot: -1})
		}
		if hasWarning(Judge([]Metric{{Systems: []SystemRuns{s}}}, Options{})[0].Systems[0].Warnings, "less spread") {
			accused++
		}
	}
	if accused > 3 {
		t.Errorf("%d of 400 accused, .4 expected", accused)
	}
}
