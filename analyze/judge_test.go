package analyze

import (
	"math"
	"strings"
	"testing"
)

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*math.Max(1, math.Abs(want)) }

// runsOf makes runs of known values without an order; NaN stands for a run that gave
// no value.
func runsOf(values ...float64) []Run {
	runs := make([]Run, len(values))
	for i, v := range values {
		runs[i] = Run{Value: v, Known: !math.IsNaN(v), Slot: -1}
	}
	return runs
}

func metricOf(dir Direction, base, sys []Run) Metric {
	return Metric{Name: "m", Direction: dir, Primary: true, Baseline: "base",
		Systems: []SystemRuns{{"base", base}, {"new", sys}}}
}

func judgeOne(dir Direction, base, sys []Run) (Judgement, Comparison) {
	j := Judge([]Metric{metricOf(dir, base, sys)}, Options{})[0]
	return j, j.Comparisons[0]
}

func hasWarning(ws []string, part string) bool {
	for _, w := range ws {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}

func TestMeanOverRuns(t *testing.T) {
	m, s := MeanOverRuns([]float64{100, 104, 108}, 0.95)
	if m.Value != 104 || *s != 4 || !near(m.Hi-104, 9.9366, 1e-5) || !near(m.Lo, 94.06, 1e-4) {
		t.Errorf("100, 104, 108: %+v, s %v", m, *s)
	}
	if m, s = MeanOverRuns([]float64{104}, 0.95); !m.Known || m.Value != 104 || m.Interval || s != nil {
		t.Errorf("one run: %+v, s %v", m, s)
	}
	if m, s = MeanOverRuns([]float64{7.1, 7.1, 7.1}, 0.95); !m.Interval || m.Lo != 7.1 || m.Hi != 7.1 || *s != 0 {
		t.Errorf("identical runs: %+v, s %v", m, *s)
	}
	if m, _ = MeanOverRuns(nil, 0.95); m.Known {
		t.Errorf("no run: %+v", m)
	}
}

func TestSystemCountsRuns(t *testing.T) {
	j, _ := judgeOne(Higher, runsOf(1, 2), runsOf(100, 110, math.NaN()))
	s := j.Systems[1]
	if s.Runs != 3 || s.Used != 2 || s.Mean.Value != 105 || s.Mean.N != 2 {
		t.Errorf("summary %+v", s)
	}
	if !near(s.Mean.Lo, 41.47, 1e-4) || !near(s.Mean.Hi, 168.53, 1e-4) {
		t.Errorf("interval [%v, %v]", s.Mean.Lo, s.Mean.Hi)
	}
	if !hasWarning(s.Warnings, "2 of 3 runs") {
		t.Errorf("warnings %q", s.Warnings)
	}
	if _, c := judgeOne(Higher, runsOf(100, 101, 99), runsOf(100, 110, math.NaN())); c.Verdict != Undecided {
		t.Errorf("verdict %q with an incomplete side", c.Verdict)
	}
	if j, _ := judgeOne(Higher, runsOf(1, 2), runsOf(5, 5, 5)); !hasWarning(j.Systems[1].Warnings, "no variation seen") {
		t.Errorf("identical runs: %q", j.Systems[1].Warnings)
	}
}

func TestSecondsAreNotRuns(t *testing.T) {
	runs := make([]Run, 3)
	for i, mean := range []float64{100, 104, 108} {
		x := make([]float64, 300)
		for k := range x {
			x[k] = mean + 10*math.Sqrt(299.0/300)*float64(1-2*(k%2))
		}
		runs[i] = Run{Series: seriesOf(x), Slot: -1}
	}
	j, _ := judgeOne(Higher, runs, runsOf(1))
	if m := j.Systems[0].Mean; m.N != 3 || !near(m.Hi-m.Value, 9.9366, 1e-5) {
		t.Errorf("interval %+v", m)
	}
}

// seriesOf makes a series of one-second gauge rows.
func seriesOf(x []float64) *Series {
	s := &Series{Num: x}
	for i := range x {
		s.EndNS = append(s.EndNS, int64(i+1)*1e9)
		s.IntervalNS = append(s.IntervalNS, 1e9)
		s.Den = append(s.Den, 1)
	}
	return s
}

func TestZeroBaseline(t *testing.T) {
	_, c := judgeOne(Higher, runsOf(0, 0, 0), runsOf(0, 0, 0))
	if !c.Difference.Known || c.Difference.Value != 0 || c.Percent.Known || c.Verdict != Undecided ||
		!hasWarning(c.Warnings, "0 -> 0, no change") || !hasWarning(c.Warnings, "no variation") {
		t.Errorf("0 -> 0: %+v", c)
	}
	_, c = judgeOne(Higher, runsOf(0, 0, 0), runsOf(3, 4, 5))
	if c.Difference.Value != 4 || !near(c.Difference.Lo, 1.5159, 1e-4) || !near(c.Difference.Hi, 6.4841, 1e-4) {
		t.Errorf("0 -> 4: %+v", c.Difference)
	}
	if c.Percent.Known || !hasWarning(c.Warnings, "baseline 0") || c.Method != "welch" || *c.DF != 2 {
		t.Errorf("0 -> 4: %+v", c)
	}
}

func TestDirection(t *testing.T) {
	scatter := func(v float64) []Run { return runsOf(v*0.999, v, v*1.001) }
	for _, tt := range []struct {
		dir      Direction
		from, to float64
		percent  float64
		verdict  Verdict
	}{
		{Higher, 1000, 900, -10, Worse},
		{Lower, 10, 9, -10, Better},
		{Lower, 143, 130, -100 * 13. / 143, Better},
		{Lower, 143, 143, 0, Same},
		{None, 10, 9, -10, ""},
	} {
		_, c := judgeOne(tt.dir, scatter(tt.from), scatter(tt.to))
		if c.Verdict != tt.verdict || !near(c.Percent.Value, tt.percent, 1e-9) {
			t.Errorf("%v %v -> %v: %q, %v %%", tt.dir, tt.from, tt.to, c.Verdict, c.Percent.Value)
		}
		if differs := tt.percent != 0; c.Differs == nil || *c.Differs != differs {
			t.Errorf("%v %v -> %v: Differs %v", tt.dir, tt.from, tt.to, c.Differs)
		}
	}
}

func TestUndecided(t *testing.T) {
	for name, tt := range map[string]struct {
		base, sys []Run
		warning   string
	}{
		"one run":           {runsOf(100, 101, 102), runsOf(150), "1 and 3 runs"},
		"no run":            {runsOf(100, 101, 102), nil, "0 and 3 runs"},
		"no variation":      {runsOf(5, 5, 5), runsOf(6, 6, 6), "no variation"},
		"infinite":          {runsOf(1, 2, 3), runsOf(math.Inf(1), 5, 6), "2 of 3"},
		"out of range":      {runsOf(-1e308, 1e308), runsOf(1e308, 1.1e308), "out of range"},
		"blocks confound":   {slotted(0, 100, 101, 99), slotted(3, 100, 101, 98), "order confounded"},
		"nothing but order": {slottedAt([]int{0, 2, 4}, 1, 4, 16), slottedAt([]int{1, 3, 5}, 2, 8, 32), "explains every difference"},
	} {
		_, c := judgeOne(Higher, tt.base, tt.sys)
		if c.Verdict != Undecided || c.Differs != nil || !hasWarning(c.Warnings, tt.warning) {
			t.Errorf("%s: %q, differs %v, warnings %q", name, c.Verdict, c.Differs, c.Warnings)
		}
	}
}

func slotted(first int, values ...float64) []Run {
	runs := runsOf(values...)
	for i := range runs {
		runs[i].Slot = first + i
	}
	return runs
}

func slottedAt(slots []int, values ...float64) []Run {
	runs := runsOf(values...)
	for i := range runs {
		runs[i].Slot = slots[i]
	}
	return runs
}

// Welch's test against scipy 1.10 (ttest_ind, equal_var=False).
func TestWelchReference(t *testing.T) {
	a, b := []float64{100.2, 101.5, 99.7}, []float64{97.1, 98.3, 96.0, 97.9}
	c, ok := contrastOf(side{y: a}, side{y: b}, false, 0)
	if !ok || c.method != "welch" {
		t.Fatalf("%+v, %v", c, ok)
	}
	if got := c.d / c.se; relErr(got, 4.2553392151393385) > 1e-12 {
		t.Errorf("t = %v", got)
	}
	if got := c.p(); relErr(got, 0.009314860767593908) > 1e-12 {
		t.Errorf("p = %v", got)
	}
}

func TestDesignChoosesMethod(t *testing.T) {
	for _, tt := range []struct {
		name      string
		base, sys []Run
		method    string
	}{
		{"no order", runsOf(10, 11, 12), runsOf(11, 12, 14), "welch-log"},
		{"blocks", slotted(0, 10, 11, 12), slotted(3, 11, 12, 14), "welch-log"},
		{"alternating", slottedAt([]int{0, 3, 4}, 10, 11, 12), slottedAt([]int{1, 2, 5}, 11, 12, 14), "ols-slot-log"},
		{"two a side", slottedAt([]int{0, 3}, 10, 11), slottedAt([]int{1, 2}, 11, 14), "welch-log"},
		{"at the same time", slotted(0, 10, 11, 12), slotted(0, 11, 12, 14), "paired-log"},
		{"very unequal", runsOf(10, 11, 12), runsOf(11, 12, 14, 11, 12, 14, 11, 12, 13), "welch-cochran-log"},
		{"a zero", runsOf(0, 11, 12), runsOf(11, 12, 14), "welch"},
	} {
		if _, c := judgeOne(Higher, tt.base, tt.sys); c.Method != tt.method || c.Paired != strings.HasPrefix(tt.method, "paired") {
			t.Errorf("%s: method %q, paired %v, want %q", tt.name, c.Method, c.Paired, tt.method)
		}
	}
}

// The drift of the machine over the slots leaves the difference alone.
func TestSlotTakesOutDrift(t *testing.T) {
	noise := []float64{.1, -.2, .15, -.05, .1, -.1}
	base, sys := []int{0, 3, 4}, []int{1, 2, 5}
	at := func(slots []int, level float64, off int) []float64 {
		y := make([]float64, len(slots))
		for i, s := range slots {
			y[i] = level + 5*float64(s) + noise[i+off]
		}
		return y
	}
	c, ok := contrastOf(side{at(sys, 103, 3), sys}, side{at(base, 100, 0), base}, false, 0)
	if !ok || c.df != 3 || math.Abs(c.d-3) > 0.2 || c.s > 0.3 {
		t.Errorf("%+v", c)
	}
}

// The closed form against a general least squares fit.
func TestSlotAgainstLeastSquares(t *testing.T) {
	a, b := side{[]float64{10, 13, 11, 15}, []int{1, 2, 5, 9}}, side{[]float64{9, 12, 14}, []int{0, 4, 7}}
	c, ok := contrastOf(a, b, false, 0)
	var y, one, system, slot []float64
	for i, s := range []side{a, b} {
		for k, v := range s.y {
			y, one, system, slot = append(y, v), append(one, 1), append(system, float64(1-i)), append(slot, float64(s.slot[k]))
		}
	}
	fit, fitted := LeastSquares(y, one, system, slot)
	if !ok || !fitted || c.method != "ols-slot" || relErr(c.d, fit.Coef[1]) > 1e-12 || relErr(c.se, fit.SE[1]) > 1e-12 || c.df != 4 {
		t.Errorf("%+v, want %v ± %v", c, fit.Coef[1], fit.SE[1])
	}
}

func TestOptionsPanic(t *testing.T) {
	for _, opt := range []Options{{Alpha: 0.5}, {Alpha: -1}, {Level: 1}, {Power: 2}, {Margin: -1}, {Window: "other"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v accepted", opt)
				}
			}()
			Judge(nil, opt)
		}()
	}
}

func TestAdjust(t *testing.T) {
	// statsmodels 0.13 multipletests.
	p := []float64{0.0001, 0.004, 0.019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1}
	bh := []float64{0.0015, 0.030000000000000002, 0.0603, 0.047499999999999994, 0.0603, 0.06385714285714286, 0.06385714285714286, 0.0645}
	by := []float64{0.004977343489843491, 0.0995468697968698, 0.20008920829170831, 0.1576158771783772, 0.20008920829170831, 0.21189262285333715}
	for i, want := range bh {
		if got := AdjustBH(p)[i]; relErr(got, want) > 1e-12 {
			t.Errorf("BH[%d] = %v, want %v", i, got, want)
		}
	}
	for i, want := range by {
		if got := AdjustBY(p)[i]; relErr(got, want) > 1e-12 {
			t.Errorf("BY[%d] = %v, want %v", i, got, want)
		}
	}
	if len(AdjustBH(nil)) != 0 {
		t.Error("AdjustBH(nil) not empty")
	}
}

// A named question does not pay for the crowd: the same data, primary and not.
func TestFamiliesApart(t *testing.T) {
	metrics := make([]Metric, 101)
	for i := range metrics {
		x := float64(i % 7)
		metrics[i] = metricOf(Higher, runsOf(100+x, 101-x/2, 99), runsOf(100, 101, 99+x))
		metrics[i].Primary = false
	}
	metrics[0] = metricOf(Higher, runsOf(100, 102, 98), runsOf(110, 112, 108))
	if c := Judge(metrics, Options{})[0].Comparisons[0]; c.Verdict != Better || *c.P != *c.Q || !c.Adjusted || c.Percent.Level != 0.95 {
		t.Errorf("primary: %+v", c)
	}
	metrics[0].Primary = false
	if c := Judge(metrics, Options{})[0].Comparisons[0]; c.Verdict != Undecided || *c.Q <= *c.P || c.Adjusted {
		t.Errorf("secondary: %+v", c)
	}
}

func TestWindowOfSeries(t *testing.T) {
	// Unequal intervals: bits over seconds.
	s := &Series{EndNS: []int64{150e6, 200e6, 300e6}, IntervalNS: []int64{150e6, 50e6, 100e6},
		Num: []float64{1e7, 1e7, 1e7}, Den: []float64{.15, .05, .1}}
	if v := s.Window(Window{}); !near(v.Value, 100e6, 1e-12) || v.Rows != 3 {
		t.Errorf("iperf: %+v", v)
	}
	// A tick that skipped a second covers two.
	s = &Series{EndNS: []int64{1e9, 3e9, 4e9}, IntervalNS: []int64{1e9, 2e9, 1e9}, Num: []float64{100, 200, 100}, Den: []float64{1, 2, 1}}
	if v := s.Window(Window{}); v.Value != 100 || v.Rows != 3 || v.Gaps != 0 {
		t.Errorf("late tick: %+v", v)
	}
	// By midpoint, half open; an unknown row and a gap are counted, not invented.
	s = &Series{EndNS: []int64{1e9, 2e9, 3e9, 6e9, 7e9}, IntervalNS: []int64{1e9, 1e9, 1e9, 1e9, 1e9},
		Num: []float64{1, 2, 4, 8, 16}, Den: []float64{1, 1, 1, 1, 1}, Known: []bool{true, true, false, true, true}}
	v := s.Window(Window{500e6, 6500e6})
	if v.Rows != 3 || v.Unknown != 1 || v.Gaps != 1 || v.MissingNS != 3e9 || !near(v.Value, 11./3, 1e-15) {
		t.Errorf("gap: %+v", v)
	}
	if x := s.Values(Window{500e6, 6500e6}); len(x) != 3 || x[2] != 8 {
		t.Errorf("values %v", x)
	}
	if v := s.Window(Window{100e9, 200e9}); v.Known || v.Rows != 0 {
		t.Errorf("empty window: %+v", v)
	}
	defer func() {
		if recover() == nil {
			t.Error("unequal lengths did not panic")
		}
	}()
	(&Series{EndNS: []int64{1}}).Window(Window{})
}

func TestPlan(t *testing.T) {
	// n=3 a side, CV 1 %: 3.07 % at alpha .05 (scipy stats.nct, bisected).
	if d, ok := MDE(0.01*math.Sqrt(2./3), 4, 0.05, 0.8); !ok || math.Abs(d-0.0307) > 5e-5 {
		t.Errorf("MDE = %v, %v", d, ok)
	}
	if n, ok := newPlanner(0.05, 0.8).runs(0.03/0.02, func(n int) float64 { return 2*float64(n) - 2 }); !ok || n != 9 {
		t.Errorf("runs for 3 %% at CV 2 %% = %d, want 9", n)
	}
	_, c := judgeOne(Higher, runsOf(100, 102, 98), runsOf(101, 103, 99))
	if c.MDEPercent == nil || c.RunsNeeded == nil || *c.RunsNeeded < 10 || *c.TestAlpha != 0.05 {
		t.Errorf("plan of %+v", c)
	}
}

func TestJudgeEmpty(t *testing.T) {
	if got := Judge(nil, Options{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	j := Judge([]Metric{{Baseline: "x", Systems: []SystemRuns{{"a", nil}, {"b", nil}}}}, Options{})[0]
	if len(j.Comparisons) != 0 || !hasWarning(j.Warnings, "no runs of the baseline") {
		t.Errorf("%+v", j)
	}
}
