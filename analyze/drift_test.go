package analyze

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// driftNoise is first-order autoregressive with standard deviation 1.
func driftNoise(r *rand.Rand, n int, phi float64) []float64 {
	x := make([]float64, n)
	v := r.NormFloat64()
	for i := range x {
		if i > 0 {
			v = phi*v + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
		x[i] = v
	}
	return x
}

func driftBinsOf(x []float64, width int64) DriftBins {
	b := DriftBins{WidthNS: width, Mean: slices.Clone(x), Median: slices.Clone(x), Known: make([]bool, len(x))}
	for i := range b.Known {
		b.Known[i] = true
	}
	return b
}

// The cosines used are those of the specification: for 72 h, three harmonics and
// eight cosines orthogonal to a trend, j = 2, 3, 4, 5, 8, 9, 10, 11.
func TestDriftCosinesSkipAbsorbed(t *testing.T) {
	at := make([]float64, 432)
	for i := range at {
		at[i] = float64(i)
	}
	d := newDriftDesign(at, 432, 144, 3)
	if len(d.cosT) != 8 || len(d.cosS) != 8 {
		t.Fatalf("%d and %d cosines, want 8", len(d.cosT), len(d.cosS))
	}
	u := slices.Clone(d.xr)
	for i := range u {
		u[i] /= math.Sqrt(d.sx)
	}
	_, used := driftCosines(append(slices.Clone(d.q), u), driftNu, 432)
	if want := []int{2, 3, 4, 5, 8, 9, 10, 11}; !slices.Equal(used, want) {
		t.Errorf("cosines %v, want %v", used, want)
	}
	for i, a := range d.cosT {
		for _, q := range append(append([][]float64{}, d.q...), d.xr) {
			if s := driftDot(a, q); math.Abs(s) > 1e-12 {
				t.Errorf("cosine %d has %g of a regressor", i, s)
			}
		}
		for k, b := range d.cosT {
			want := 0.0
			if i == k {
				want = 1
			}
			if s := driftDot(a, b); math.Abs(s-want) > 1e-12 {
				t.Errorf("cosines %d and %d: %g", i, k, s)
			}
		}
	}
}

// The moments give what a whitened regression gives, gaps or not.
func TestDriftMomentsMatchWhitening(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, gaps := range []bool{false, true} {
		var at []float64
		for i := range 200 {
			if gaps && (i%17 == 3 || i > 90 && i < 110) {
				continue
			}
			at = append(at, float64(i))
		}
		d := newDriftDesign(at, 200, 60, 2)
		a := newDriftAR(d)
		x := driftNoise(r, len(at), 0.7)
		a.load(x, d.xr)
		for _, phi := range []float64{0, 0.3, 0.9, 0.99} {
			f, ok := a.at(phi)
			if !ok {
				t.Fatal("no fit")
			}
			y := slices.Clone(x)
			driftAxpy(-f.b, d.xr, y)
			a.fit(phi, y)
			if rss := driftDot(a.e, a.e); math.Abs(rss-f.rss) > 1e-9*rss {
				t.Errorf("gaps %v, φ %g: residual sum of squares %g, want %g", gaps, phi, f.rss, rss)
			}
		}
	}
}

// A step seen by steps is what a regression on it gives, with and without the
// innovation at its place.
func TestDriftStepsMatchRegression(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var at []float64
	for i := range 120 {
		if i%13 != 5 {
			at = append(at, float64(i))
		}
	}
	m := len(at)
	d := newDriftDesign(at, 120, 40, 1)
	a := newDriftAR(d)
	x := driftNoise(r, m, 0.6)
	gain, net, den := make([]float64, m), make([]float64, m), make([]float64, m)
	a.fit(0.6, x)
	a.steps(3, m-3, gain, net, den)
	for _, k := range []int{3, 40, m - 4} {
		a.set(0.6)
		white := func(v []float64) []float64 { w := make([]float64, m); a.whiten(w, v); return w }
		s := make([]float64, m)
		for i := k; i < m; i++ {
			s[i] = 1
		}
		var z [][]float64
		for _, q := range d.q {
			z = append(z, white(q))
		}
		y, ws := white(x), white(s)
		q := driftOrtho(z)
		driftProject(q, ws)
		if g := math.Pow(driftDot(ws, y), 2) / driftDot(ws, ws); math.Abs(g-gain[k]) > 1e-9*(g+1) {
			t.Errorf("step at %d: gain %g, want %g", k, gain[k], g)
		}
		one := make([]float64, m)
		one[k] = 1
		q = driftOrtho(append(z, one))
		ws = white(s)
		driftProject(q, ws)
		if b := driftDot(ws, y) / driftDot(ws, ws); math.Abs(b-net[k]) > 1e-9 || math.Abs(driftDot(ws, ws)-den[k]) > 1e-9 {
			t.Errorf("step at %d: net %g of weight %g, want %g of %g", k, net[k], den[k], b, driftDot(ws, ws))
		}
	}
}

func TestDriftVerdicts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const n, width = 432, int64(600e9)
	soak := func(f func(i int) float64) DriftSeries {
		x := driftNoise(r, n, 0.5)
		for i := range x {
			x[i] = 100 + 0.5*x[i] + 2*math.Sin(2*math.Pi*float64(i)/144) + f(i)
		}
		return DriftSeries{Bins: driftBinsOf(x, width), Kind: DriftThroughput}
	}
	step := func(at int, d float64) func(int) float64 {
		return func(i int) float64 {
			if i >= at {
				return d
			}
			return 0
		}
	}
	v := Drift([]DriftSeries{
		soak(func(int) float64 { return 0 }),
		soak(step(288, -3)),
		soak(func(i int) float64 { return -4 * float64(i) / n }),
		soak(func(i int) float64 { return step(150, -3)(i) + step(300, 5)(i) }),
	}, DriftOptions{})
	if v[0].Verdict != DriftSteady || !v[0].DailyRemoved || v[0].Onset.Known || v[0].Shape != "" {
		t.Errorf("nothing: %+v", v[0])
	}
	if s := v[1]; s.Verdict != DriftFound || s.Shape != DriftShapeStep || len(s.Steps) != 1 ||
		s.Onset.NS < 287*width || s.Onset.NS > 289*width || s.Onset.LoNS > 288*width || s.Onset.HiNS < 288*width ||
		math.Abs(s.Percent.Value+3) > 0.5 || s.Percent.Lo > -3 || s.Percent.Hi < -3 {
		t.Errorf("a step: %+v", v[1])
	}
	if s := v[2]; s.Verdict != DriftFound || s.Shape != DriftShapeTrend || s.Onset.Known || math.Abs(s.PerDay.Value+4.0/3) > 0.3 ||
		math.Abs(s.TheilSen.Value-s.PerDay.Value) > 0.5 {
		t.Errorf("a trend: %+v", v[2])
	}
	if s := v[3]; s.Verdict != DriftFound || len(s.Steps) != 2 || s.Steps[0].Shift.Value > -2 || s.Steps[1].Shift.Value < 4 {
		t.Errorf("two steps: %+v", v[3])
	}
	for i, s := range v {
		if !(s.MDEPercent > 0) || s.MDEText() == "" || s.Q < s.P {
			t.Errorf("verdict %d: MDE %g, P %g, Q %g", i, s.MDEPercent, s.P, s.Q)
		}
	}
}

func TestDriftPoorData(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	flat := make([]float64, 100)
	for i := range flat {
		flat[i] = 7
	}
	few := driftBinsOf(driftNoise(r, 100, 0), 600e9)
	for i := range few.Known {
		few.Known[i] = i < 59
	}
	v := Drift([]DriftSeries{{}, {Bins: few}, {Bins: driftBinsOf(flat, 600e9)}, {Bins: driftBinsOf(make([]float64, 500), 600e9), Kind: DriftMemory},
		{Bins: driftBinsOf(driftNoise(r, 90, 0), 10e9), Gate: 1e-9}}, DriftOptions{})
	for i, want := range []string{DriftUndecided, DriftUndecided, DriftSteady, DriftSteady, DriftUndecided} {
		if v[i].Verdict != want || len(v[i].Warnings) == 0 {
			t.Errorf("case %d: %q, want %q; warnings %v", i, v[i].Verdict, want, v[i].Warnings)
		}
	}
}

func TestDriftLeavesInputAndRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	var s, c []DriftSeries
	for range 4 {
		x := driftNoise(r, 300, 0.8)
		b := driftBinsOf(x, 900e9)
		b.Known[17] = false
		s = append(s, DriftSeries{Bins: b, Kind: DriftMemory, GateAbsolute: 1})
		c = append(c, DriftSeries{Bins: DriftBins{WidthNS: 900e9, Mean: slices.Clone(b.Mean), Median: slices.Clone(b.Median), Known: slices.Clone(b.Known)}, Kind: DriftMemory, GateAbsolute: 1})
	}
	a := Drift(s, DriftOptions{})
	if !reflect.DeepEqual(s, c) {
		t.Error("input changed")
	}
	slices.Reverse(c)
	b := Drift(c, DriftOptions{})
	slices.Reverse(b)
	if !reflect.DeepEqual(a, b) {
		t.Error("verdicts depend on the order of the metrics")
	}
}

// CASES C31: a saw-tooth whose troughs are level is no leak; one whose troughs
// rise by 1 MiB in 4 minutes is.
func TestDriftLeakSawtooth(t *testing.T) {
	healthy := []float64{14, 35, 56, 76, 14, 35, 56, 76, 14, 35, 56, 76}
	leaking := []float64{14, 35, 56, 76, 15, 36, 57, 77, 16, 37, 58, 78}
	for _, tt := range []struct {
		x       []float64
		slope   float64
		troughs []float64
	}{{healthy, 0, []float64{14, 14, 14}}, {leaking, 0.25, []float64{14, 15, 16}}} {
		r := DriftLeak(tt.x)
		if !r.Known || r.Period != 4 || r.Slope != tt.slope || !slices.Equal(r.Troughs, tt.troughs) || r.Decided || r.P != 1 {
			t.Errorf("%v: %+v", tt.x, r)
		}
	}
	// Long enough to decide: 432 bins of a saw-tooth of 12, noise 2 MB, and
	// 60 MB lost on the way, less than the amplitude.
	r := rand.New(rand.NewPCG(6, 1))
	for _, leak := range []float64{0, 60e6} {
		x := driftNoise(r, 432, 0.5)
		for i := range x {
			x[i] = 1e9 + 2e6*x[i] + 200e6*float64(i%12)/12 + leak*float64(i)/432
		}
		v := Drift([]DriftSeries{{Bins: driftBinsOf(x, 600e9), Kind: DriftMemory}}, DriftOptions{})[0]
		if v.Leak == nil || !v.Leak.Decided || v.Leak.Period != 12 {
			t.Fatalf("leak %g: %+v", leak, v.Leak)
		}
		if want := leak > 0; (v.Verdict == DriftFound) != want {
			t.Errorf("leak %g: %s, %+v, %+v", leak, v.Verdict, v, v.Leak)
		}
	}
}

func TestDriftBinner(t *testing.T) {
	const w = int64(10e9)
	b := NewDriftBinner(0, w)
	for i := range int64(30) {
		known := i < 20 || i%3 == 0 // the last bin has three of ten
		v := float64(i)
		if i == 4 {
			v = 0
		}
		b.Add((i+1)*1e9, 1e9, v*2, 2, known)
	}
	b.Add(1e9, 1e9, 5, 1, true)
	d := b.Bins()
	if want := []bool{true, true, false}; !slices.Equal(d.Known, want) {
		t.Errorf("known %v, want %v", d.Known, want)
	}
	if d.Mean[0] != 4.1 || d.Median[0] != 4 || d.Mean[1] != 14.5 || d.Median[1] != 14.5 || d.Mean[2] != 0 {
		t.Errorf("means %v, medians %v", d.Mean, d.Median)
	}
	if d.Rows != 23 || d.Zeros != 2 || d.Late != 1 {
		t.Errorf("rows %d, zeros %d, late %d", d.Rows, d.Zeros, d.Late)
	}
	// A prefix, then on; a gap leaves bins that are not known.
	b.Add(62e9, 1e9, 1, 1, true)
	e := b.Bins()
	if len(d.Mean) != 3 || len(e.Mean) != 7 || e.Mean[1] != 14.5 || e.Known[5] {
		t.Errorf("%d bins, then %d: %v", len(d.Mean), len(e.Mean), e)
	}
	if DriftWidth(72*3600e9) != 600e9 || DriftWidth(60e9) != 10e9 {
		t.Error("width")
	}
}

func TestDriftDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	const n = 300
	shared := driftNoise(r, n, 0.9) // what both runs share, far above their own noise
	x, y := driftNoise(r, n, 0.2), driftNoise(r, n, 0.2)
	for i := range x {
		x[i] = 100 + 0.2*x[i] + 5*shared[i] + 2*float64(i)/n
		y[i] = 100 + 0.2*y[i] + 5*shared[i]
	}
	a, b := driftBinsOf(x, 600e9), driftBinsOf(y, 600e9)
	for i := 40; i < 58; i++ {
		b.Known[i] = false
	}
	d := DriftDifference(a, b)
	v := Drift([]DriftSeries{{Bins: d, Kind: DriftThroughput}, {Bins: a, Kind: DriftThroughput}}, DriftOptions{})
	if v[0].Verdict != DriftFound || v[0].N != n-18 || math.Abs(v[0].Percent.Value-2) > 0.4 {
		t.Errorf("difference: %+v", v[0])
	}
	if v[1].Verdict != DriftUndecided {
		t.Errorf("alone: %+v", v[1])
	}
}

func TestDriftOnlyPanicsOnMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"rows":       func() { NewDriftBinner(0, 1).AddRows(make([]int64, 2), make([]int64, 1), nil, nil, nil) },
		"width":      func() { NewDriftBinner(0, 0) },
		"bins":       func() { Drift([]DriftSeries{{Bins: DriftBins{Mean: make([]float64, 3)}}}, DriftOptions{}) },
		"difference": func() { DriftDifference(DriftBins{WidthNS: 1}, DriftBins{WidthNS: 2}) },
		"statistics": func() { DriftStatistics([][]float64{make([]float64, 3)}, nil, 1, 1, 0) },
		"window":     func() { DriftEnvelope(nil, 0) },
		"period":     func() { MannKendallSeasonal(nil, 0) },
		"partial":    func() { MannKendallPartial([]float64{1}, nil) },
		"regional":   func() { MannKendallRegional([][]float64{{1}, {1, 2}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// A soak that is still running is judged on what there is: nothing found before
// the step, the step soon after, at its place, three hours of gap or not.
func TestDriftGrowing(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	const width = int64(600e9)
	x := driftNoise(r, 432, 0.4)
	for i := range x {
		x[i] = 100 + 0.5*x[i] + math.Sin(2*math.Pi*float64(i)/144)
		if i >= 240 {
			x[i] -= 4
		}
	}
	b := driftBinsOf(x, width)
	b.StartNS = 1_700_000_000e9
	for i := 180; i < 198; i++ {
		b.Known[i] = false
	}
	found := 0
	for n := 0; n <= len(x); n += 12 {
		p := b
		p.Mean, p.Median, p.Known = b.Mean[:n], b.Median[:n], b.Known[:n]
		v := Drift([]DriftSeries{{Bins: p, Kind: DriftThroughput}}, DriftOptions{})[0]
		driftFinite(t, v)
		if v.Verdict != DriftFound {
			continue
		}
		if n <= 240 {
			t.Errorf("drift found in %d bins, the step comes at 240", n)
		}
		if found == 0 {
			found = n
		}
		if at := v.Onset.NS - b.StartNS; v.Onset.Known && (at < 239*width || at > 241*width) {
			t.Errorf("%d bins: step at %d, want 240", n, at/width)
		}
	}
	if found == 0 || found > 312 {
		t.Errorf("found after %d bins, want within 12 h of 240", found)
	}
}

// No size is special: none, one, two, an hour of ticks.
func TestDriftSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for _, n := range []int{0, 1, 2, 3, 59, 60, 3600} {
		x := driftNoise(r, n, 0.9)
		for _, k := range []DriftKind{DriftGauge, DriftThroughput, DriftMemory} {
			v := Drift([]DriftSeries{{Bins: driftBinsOf(x, 10e9), Kind: k}}, DriftOptions{})[0]
			driftFinite(t, v)
			if v.N != n || v.Known != (n >= 60) {
				t.Errorf("%d bins: %+v", n, v)
			}
		}
		if m := MannKendall(x); m.Known != (n >= 3) {
			t.Errorf("%d values: %+v", n, m)
		}
		ChangePoints(x)
		DriftLeak(x)
	}
}

// Benjamini and Hochberg by hand: p·m/rank, not above the next greater.
func TestDriftAdjust(t *testing.T) {
	var v []DriftVerdict
	for _, p := range []float64{0.01, 0.04, 0.03, 0.02} {
		v = append(v, DriftVerdict{Known: true, P: p})
	}
	v = append(v, DriftVerdict{P: 1, Q: 1})
	driftAdjust(v)
	for i, want := range []float64{0.04, 0.04, 0.04, 0.04, 1} {
		if math.Abs(v[i].Q-want) > 1e-15 {
			t.Errorf("q of %g: %g, want %g", v[i].P, v[i].Q, want)
		}
	}
	v = []DriftVerdict{{Known: true, P: 0.001}, {Known: true, P: 0.5}, {Known: true, P: 0.02}}
	driftAdjust(v)
	for i, want := range []float64{0.003, 0.5, 0.03} {
		if math.Abs(v[i].Q-want) > 1e-15 {
			t.Errorf("q of %g: %g, want %g", v[i].P, v[i].Q, want)
		}
	}
}
