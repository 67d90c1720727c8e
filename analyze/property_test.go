package analyze

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawMetric draws a metric of two systems with positive run values and, sometimes,
// an order of execution.
func drawMetric(t *rapid.T) Metric {
	value := rapid.Float64Range(50, 150)
	nA := rapid.IntRange(2, 9).Draw(t, "nA")
	nB := rapid.IntRange(2, 9).Draw(t, "nB")
	a := rapid.SliceOfN(value, nA, nA).Draw(t, "a")
	b := rapid.SliceOfN(value, nB, nB).Draw(t, "b")
	m := metricOf(Higher, runsOf(b...), runsOf(a...))
	m.Margin = rapid.Float64Range(0.001, 0.2).Draw(t, "margin")
	if rapid.Bool().Draw(t, "ordered") {
		order := rapid.Permutation(indices(nA+nB)).Draw(t, "order")
		for i := range m.Systems[0].Runs {
			m.Systems[0].Runs[i].Slot = order[i]
		}
		for i := range m.Systems[1].Runs {
			m.Systems[1].Runs[i].Slot = order[nB+i]
		}
	}
	return m
}

func indices(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

// withValues returns m with every run value replaced by f.
func withValues(m Metric, f func(float64) float64) Metric {
	m.Systems = slices.Clone(m.Systems)
	for k := range m.Systems {
		m.Systems[k].Runs = slices.Clone(m.Systems[k].Runs)
		for i := range m.Systems[k].Runs {
			m.Systems[k].Runs[i].Value = f(m.Systems[k].Runs[i].Value)
		}
	}
	return m
}

func compareOne(m Metric) Comparison { return Judge([]Metric{m}, Options{})[0].Comparisons[0] }

const tight = 1e-9

// alike compares what does not depend on the unit.
func alike(t *rapid.T, what string, x, y Comparison) {
	t.Helper()
	if (x.P == nil) != (y.P == nil) || x.Method != y.Method {
		t.Fatalf("%s: %+v, then %+v", what, x, y)
	}
	if x.P == nil {
		return
	}
	if math.Abs(*x.P-*y.P) > tight || relErr(*x.DF, *y.DF) > tight {
		t.Fatalf("%s: p %v, df %v, then p %v, df %v", what, *x.P, *x.DF, *y.P, *y.DF)
	}
	if !near(x.Percent.Lo, y.Percent.Lo, 1e-7) || !near(x.Percent.Hi, y.Percent.Hi, 1e-7) {
		t.Fatalf("%s: percent %+v, then %+v", what, x.Percent, y.Percent)
	}
}

func TestPropertyScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMetric(t)
		c := math.Exp(rapid.Float64Range(-30, 30).Draw(t, "log scale"))
		x, y := compareOne(m), compareOne(withValues(m, func(v float64) float64 { return v * c }))
		alike(t, "scaled", x, y)
		if x.P != nil && relErr(y.Difference.Value, c*x.Difference.Value) > 1e-6 && math.Abs(x.Difference.Value) > 1e-6 {
			t.Fatalf("difference %v, scaled by %v: %v", x.Difference.Value, c, y.Difference.Value)
		}
	})
}

func TestPropertyExchange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMetric(t)
		n := m
		n.Baseline = "new"
		x, y := compareOne(m), compareOne(n)
		if x.P == nil || y.P == nil {
			if (x.P == nil) != (y.P == nil) {
				t.Fatalf("tested one way only: %+v, %+v", x, y)
			}
			return
		}
		log := func(v float64) float64 { return math.Log1p(v / 100) }
		if math.Abs(*x.P-*y.P) > tight || math.Abs(log(x.Percent.Lo)+log(y.Percent.Hi)) > 1e-7 || math.Abs(log(x.Percent.Value)+log(y.Percent.Value)) > 1e-9 {
			t.Fatalf("%+v, exchanged %+v", x.Percent, y.Percent)
		}
		other := map[Verdict]Verdict{Better: Worse, Worse: Better, Same: Same, Undecided: Undecided}
		if y.Verdict != other[x.Verdict] {
			t.Fatalf("verdict %q, exchanged %q", x.Verdict, y.Verdict)
		}
	})
}

func TestPropertyOrderOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMetric(t)
		n := withValues(m, func(v float64) float64 { return v })
		for k := range n.Systems {
			n.Systems[k].Runs = rapid.Permutation(n.Systems[k].Runs).Draw(t, "runs")
		}
		x, y := compareOne(m), compareOne(n)
		alike(t, "permuted", x, y)
		if x.Verdict != y.Verdict {
			t.Fatalf("verdict %q, permuted %q", x.Verdict, y.Verdict)
		}
	})
}

// On the natural scale a common shift leaves the difference alone.
func TestPropertyShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := withValues(drawMetric(t), func(v float64) float64 { return v - 1000 })
		c := rapid.Float64Range(-800, 800).Draw(t, "shift")
		x, y := compareOne(m), compareOne(withValues(m, func(v float64) float64 { return v + c }))
		if (x.P == nil) != (y.P == nil) {
			t.Fatalf("%+v, shifted %+v", x, y)
		}
		if x.P != nil && (math.Abs(*x.P-*y.P) > 1e-7 || !near(x.Difference.Lo, y.Difference.Lo, 1e-7) || !near(x.Difference.Hi, y.Difference.Hi, 1e-7)) {
			t.Fatalf("%+v, shifted %+v", x.Difference, y.Difference)
		}
	})
}

// Without trimming, a run's value does not depend on the direction of time.
func TestPropertyTimeReversal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 200).Draw(t, "x")
		one := seriesOf(x).Window(Window{})
		r := slices.Clone(x)
		slices.Reverse(r)
		two := seriesOf(r).Window(Window{})
		if one.Known != two.Known || math.Abs(one.Value-two.Value) > 1e-9 {
			t.Fatalf("%v, reversed %v", one, two)
		}
		w, v := WithinRun(x), WithinRun(r)
		if w.Known != v.Known || w.Known && relErr(w.ESS, v.ESS) > 1e-3 && w.LRV == v.LRV {
			t.Fatalf("%+v, reversed %+v", w, v)
		}
	})
}

func TestPropertyDeterministicAndUntouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := []Metric{drawMetric(t), drawMetric(t)}
		x := rapid.SliceOfN(rapid.Float64Range(90, 110), 70, 130).Draw(t, "rows")
		ms[0].Systems[0].Runs[0].Series = seriesOf(x)
		before := []Metric{withValues(ms[0], func(v float64) float64 { return v }), withValues(ms[1], func(v float64) float64 { return v })}
		rows := slices.Clone(x)
		opt := Options{Window: Auto, RunSeconds: 10}
		one := Judge(ms, opt)
		if !reflect.DeepEqual(one, Judge(ms, opt)) {
			t.Fatal("two results of one input differ")
		}
		before[0].Systems[0].Runs[0].Series.Num = rows
		if !reflect.DeepEqual(ms, before) {
			t.Fatal("inputs changed")
		}
		mustBeFinite(t, reflect.ValueOf(one), "result")
	})
}

func TestPropertyAdjust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		bh, by := AdjustBH(p), AdjustBY(p)
		for i := range p {
			if bh[i] < p[i]-1e-15 || bh[i] > 1 || by[i] < bh[i]-1e-15 || by[i] > 1 {
				t.Fatalf("p %v, BH %v, BY %v", p[i], bh[i], by[i])
			}
			for j := range p {
				if p[i] < p[j] && bh[i] > bh[j] {
					t.Fatal("order of p lost")
				}
			}
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

// mustBeFinite walks v and fails on a NaN or an infinity.
func mustBeFinite(t fataler, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Float64:
		if !isFinite(v.Float()) {
			t.Fatalf("%s is %v", path, v.Float())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			mustBeFinite(t, v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			mustBeFinite(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			mustBeFinite(t, v.Index(i), path)
		}
	}
}
