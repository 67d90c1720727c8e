package analyze

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// driftDraw is a soak of any length with noise, a cycle, a change and gaps.
func driftDraw(t *rapid.T) DriftBins {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(60, 300).Draw(t, "bins")
	x := driftNoise(r, n, rapid.Float64Range(0, 0.98).Draw(t, "phi"))
	change, at := rapid.Float64Range(-5, 5).Draw(t, "change"), rapid.IntRange(0, n).Draw(t, "at")
	trend := rapid.Bool().Draw(t, "trend")
	for i := range x {
		x[i] += 100 + 2*math.Sin(2*math.Pi*float64(i)/144)
		switch {
		case trend:
			x[i] += change * float64(i) / float64(n)
		case i >= at:
			x[i] += change
		}
	}
	b := driftBinsOf(x, int64(rapid.SampledFrom([]float64{60e9, 600e9, 1200e9}).Draw(t, "width")))
	for range rapid.IntRange(0, n/4).Draw(t, "missing") {
		b.Known[r.IntN(n)] = false
	}
	return b
}

func driftMap(b DriftBins, f func(float64) float64) DriftBins {
	c := driftBinsOf(b.Mean, b.WidthNS)
	for i, v := range b.Mean {
		c.Mean[i], c.Median[i], c.Known[i] = f(v), f(v), b.Known[i]
	}
	return c
}

func driftNear(a, b, scale float64) bool {
	return math.Abs(a-b) <= 1e-6*(math.Abs(a)+math.Abs(b)+scale)
}

// A factor on the data is one on the changes and leaves all else as it was.
func TestDriftScaleInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := driftDraw(t)
		kind := rapid.SampledFrom([]DriftKind{DriftGauge, DriftThroughput}).Draw(t, "kind")
		// A power of two is exact to the last bit.
		c := math.Ldexp(1, rapid.IntRange(-40, 40).Draw(t, "log2"))
		v := Drift([]DriftSeries{{Bins: b, Kind: kind}}, DriftOptions{})[0]
		w := Drift([]DriftSeries{{Bins: driftMap(b, func(x float64) float64 { return c * x }), Kind: kind}}, DriftOptions{})[0]
		if v.Verdict != w.Verdict || v.Shape != w.Shape || v.P != w.P || v.Onset != w.Onset || v.Percent != w.Percent ||
			v.Change.Value*c != w.Change.Value || v.PerDay.Lo*c != w.PerDay.Lo || v.TheilSen.Value*c != w.TheilSen.Value {
			t.Errorf("scaled by %g: %+v, then %+v", c, v, w)
		}
	})
}

// Upside down, a rise is a fall of the same size and certainty.
func TestDriftSignAntisymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := driftDraw(t)
		v := Drift([]DriftSeries{{Bins: b}}, DriftOptions{})[0]
		w := Drift([]DriftSeries{{Bins: driftMap(b, func(x float64) float64 { return -x })}}, DriftOptions{})[0]
		if v.Verdict != w.Verdict || v.Shape != w.Shape || v.Onset != w.Onset || v.P != w.P ||
			v.Change.Value != -w.Change.Value || v.Change.Lo != -w.Change.Hi || v.Total.Hi != -w.Total.Lo || v.TheilSen.Value != -w.TheilSen.Value {
			t.Errorf("%+v, upside down %+v", v, w)
		}
	})
}

// A level added to the data leaves the tests alone.
func TestDriftShiftInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := driftDraw(t)
		c := rapid.Float64Range(-1000, 1000).Draw(t, "shift")
		s := DriftSeries{Bins: b, GateAbsolute: 1}
		v := Drift([]DriftSeries{s}, DriftOptions{NoSteps: true})[0]
		s.Bins = driftMap(b, func(x float64) float64 { return x + c })
		w := Drift([]DriftSeries{s}, DriftOptions{NoSteps: true})[0]
		if !driftNear(v.PerDay.Value, w.PerDay.Value, 1) || math.Abs(math.Log(v.P/w.P)) > 1e-4*(1-math.Log(v.P)) {
			t.Errorf("shifted by %g: %+v, then %+v", c, v, w)
		}
	})
}

// Of differences: a minus b is b minus a upside down.
func TestDriftDifferenceAntisymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := driftDraw(t)
		b := driftMap(a, func(x float64) float64 { return 100 + math.Mod(x*1e6, 1) })
		v := Drift([]DriftSeries{{Bins: DriftDifference(a, b), GateAbsolute: 1}}, DriftOptions{})[0]
		w := Drift([]DriftSeries{{Bins: DriftDifference(b, a), GateAbsolute: 1}}, DriftOptions{})[0]
		if v.Verdict != w.Verdict || v.P != w.P || v.Change.Value != -w.Change.Value {
			t.Errorf("%+v, the other way %+v", v, w)
		}
	})
}

// Bins gathered row by row, in batches or cut off and gone on with, are the same.
func TestDriftBinnerPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(0, 400).Draw(t, "rows")
		end, width, num := make([]int64, n), make([]int64, n), make([]float64, n)
		known := make([]bool, n)
		at := int64(0)
		for i := range n {
			width[i] = 1e9 + r.Int64N(2e8)
			at += width[i] + r.Int64N(5)*r.Int64N(2e9)
			end[i], num[i], known[i] = at, math.Floor(10*r.Float64()), r.Float64() < 0.9
		}
		a, b := NewDriftBinner(0, 20e9), NewDriftBinner(0, 20e9)
		a.AddRows(end, width, num, nil, known)
		for i := range n {
			b.Add(end[i], width[i], num[i], 1, known[i])
			if r.IntN(10) == 0 {
				b.Bins()
			}
		}
		x, y := a.Bins(), b.Bins()
		if len(x.Mean) != len(y.Mean) || x.Rows != y.Rows || x.Zeros != y.Zeros {
			t.Fatalf("%+v, %+v", x, y)
		}
		for i := range x.Mean {
			if x.Mean[i] != y.Mean[i] || x.Median[i] != y.Median[i] || x.Known[i] != y.Known[i] {
				t.Errorf("bin %d: %+v, %+v", i, x, y)
			}
		}
	})
}

// driftFinite fails on a NaN or an infinity anywhere in a verdict.
func driftFinite(t *testing.T, v DriftVerdict) {
	t.Helper()
	f := []float64{v.Phi, v.Memory, v.PTrend, v.PStep, v.PLeak, v.P, v.Q, v.Gate, v.MDE, v.MDEPercent}
	for _, i := range []DriftInterval{v.Change, v.Percent, v.Total, v.PerDay, v.TheilSen, v.Median} {
		f = append(f, i.Value, i.Lo, i.Hi)
	}
	for _, s := range v.Steps {
		f = append(f, s.Shift.Value, s.Shift.Lo, s.Shift.Hi, s.P)
	}
	if l := v.Leak; l != nil {
		f = append(f, l.Slope, l.P, l.Total.Value, l.Total.Lo, l.Total.Hi)
	}
	for i, x := range f {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("figure %d is %g: %+v", i, x, v)
		}
	}
	if v.Verdict == "" || v.P < 0 || v.P > 1 || v.Q < v.P || v.Q > 1 {
		t.Errorf("%+v", v)
	}
	if v.Verdict == DriftUndecided && !v.Known && len(v.Warnings) == 0 {
		t.Errorf("undecided without a reason: %+v", v)
	}
}

// driftFuzzValues turns bytes into values, the awkward ones among them.
func driftFuzzValues(b []byte) []float64 {
	awkward := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, math.MaxFloat64, 5e-324, 1e-300}
	var x []float64
	for len(b) > 0 {
		if k := int(b[0]); k < len(awkward) {
			x, b = append(x, awkward[k]), b[1:]
			continue
		}
		if len(b) >= 9 && b[0] < 16 {
			x, b = append(x, math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))), b[9:]
			continue
		}
		x, b = append(x, float64(b[0])), b[1:]
	}
	return x
}

func driftFuzzSeeds(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 1, 2, 59, 60, 61, 100, 300, 500} {
		for _, lo := range []int{0, 3, 6, 11, 20} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(lo + r.IntN(1+lo*3))
			}
			f.Add(b, uint8(n), true)
			f.Add(b, uint8(lo), false)
		}
	}
	for _, c := range []byte{0, 1, 6, 9, 50} { // constant, and constant but for the end
		b := make([]byte, 200)
		for i := range b {
			b[i] = c
		}
		f.Add(b, uint8(2), true)
		b = append([]byte(nil), b...)
		for i := 150; i < 200; i++ {
			b[i] = 60
		}
		f.Add(b, uint8(1), false)
	}
}

func FuzzDrift(f *testing.F) {
	driftFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte, mode uint8, gappy bool) {
		x := driftFuzzValues(raw)
		if len(x) > 1000 {
			x = x[:1000]
		}
		b := driftBinsOf(x, []int64{600e9, 10e9, 3600e9, 7 * 3600e9}[mode%4])
		for i := range b.Known {
			b.Known[i] = !gappy || i%7 != int(mode)%7
		}
		s := DriftSeries{Bins: b, Kind: DriftKind(mode % 3)}
		d := DriftSeries{Bins: DriftDifference(b, driftMap(b, func(v float64) float64 { return v / 2 })), Kind: DriftKind(mode % 3), GateAbsolute: float64(mode)}
		for _, v := range Drift([]DriftSeries{s, d}, DriftOptions{Alpha: float64(mode) / 255}) {
			driftFinite(t, v)
		}
	})
}

func FuzzDriftBinner(f *testing.F) {
	driftFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte, mode uint8, gappy bool) {
		b := NewDriftBinner(int64(mode)*1e9-100e9, 1+int64(mode)*1e8)
		x := driftFuzzValues(raw)
		for i, v := range x {
			at := int64(i) * 1e9
			if gappy && i%11 == 3 {
				at = int64(min(max(v, -9e18), 9e18))
			}
			b.Add(at, 1e9, v, float64(i%3), i%5 != 0)
		}
		d := b.Bins()
		if len(d.Mean) != len(d.Known) || len(d.Median) != len(d.Known) {
			t.Fatal("lengths differ")
		}
		for i := range d.Mean {
			if math.IsNaN(d.Mean[i]+d.Median[i]) || math.IsInf(d.Mean[i], 0) || math.IsInf(d.Median[i], 0) || !d.Known[i] && d.Mean[i] != 0 {
				t.Errorf("bin %d: %g, %g, %v", i, d.Mean[i], d.Median[i], d.Known[i])
			}
		}
	})
}

func FuzzMannKendall(f *testing.F) {
	driftFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte, mode uint8, _ bool) {
		x := driftFuzzValues(raw)
		if len(x) > 200 {
			x = x[:200]
		}
		y := append([]float64(nil), x...)
		for i, j := 0, len(y)-1; i < j; i, j = i+1, j-1 {
			y[i], y[j] = y[j], y[i]
		}
		p := 1 + int(mode%13)
		for i, r := range []MannKendallResult{MannKendall(x), MannKendallHamedRao(x, int(mode)), MannKendallYueWang(x, int(mode)), MannKendallPreWhitening(x),
			MannKendallTrendFree(x), MannKendallSeasonal(x, p), MannKendallCorrelatedSeasonal(x, p), MannKendallPartial(x, y)} {
			for _, v := range []float64{r.S, r.VarS, r.Tau, r.Z, r.P, r.Slope, r.Intercept} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("test %d: %+v", i, r)
				}
			}
			if !r.Known && len(r.Warnings) == 0 {
				t.Errorf("test %d unknown without a reason", i)
			}
		}
	})
}

func FuzzChangePoints(f *testing.F) {
	driftFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte, _ uint8, _ bool) {
		x := driftFuzzValues(raw)
		last := 0
		for _, k := range ChangePoints(x) {
			if k <= last || k >= len(x) {
				t.Fatalf("change at %d after %d of %d", k, last, len(x))
			}
			last = k
		}
		DriftLeak(x)
	})
}

// The table holds the values of the specification for the tests with cosines:
// 5, 0.5 % of the CUSUM in 72 h of white noise, and Student's t with 8 degrees
// of freedom for the trend.
func TestDriftCriticalValues(t *testing.T) {
	c := newDriftCritical(3, 432)
	for _, tt := range []struct {
		name      string
		row       []float64
		p         float64
		want, tol float64
	}{
		{"CUSUM", c.a.cusum, 0.05, 1.92, 0.05},
		{"CUSUM", c.a.cusum, 0.005, 3.01, 0.15},
		{"CUSUM, 24 h", newDriftCritical(0, 144).a.cusum, 0.05, 1.96, 0.05},
		{"t with 8 degrees", c.a.ewc, 0.05, 2.306, 0.06},
		{"t with 8 degrees", c.a.ewc, 0.01, 3.355, 0.15},
	} {
		if got := driftQuantile(tt.row, tt.p); math.Abs(got-tt.want) > tt.tol {
			t.Errorf("%s at %g: %.3f, want %.3f", tt.name, tt.p, got, tt.want)
		}
	}
	for i := range driftTables {
		tb := &driftTables[i]
		if len(tb.trend) != len(driftPhis) || len(tb.step) != len(driftPhis) || len(tb.trendLM) != len(driftPhis) || len(tb.stepLM) != len(driftPhis) {
			t.Fatalf("table %d: sizes", i)
		}
		rows := append(append([][]float64{tb.ewc, tb.cusum, tb.ewcLong, tb.cusumLong}, tb.trend...), tb.step...)
		for _, r := range rows {
			for l := 1; l < len(driftLevels); l++ {
				if len(r) != len(driftLevels) || r[l] <= r[l-1] {
					t.Fatalf("table %d: %v does not rise", i, r)
				}
			}
			// The p-value and its inverse agree.
			for _, p := range []float64{0.9, 0.3, 0.01, 1e-3, 1e-6} {
				if q := driftP(r, driftQuantile(r, p)); math.Abs(q-p) > 1e-9+1e-6*p {
					t.Errorf("table %d: p %g comes back as %g", i, p, q)
				}
			}
		}
	}
}
