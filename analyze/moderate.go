package analyze

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Prior is what the metrics of one class say about a variance before a metric's own
// data are seen: S2 is the typical variance, worth DF degrees of freedom.
type Prior struct{ DF, S2 float64 }

// maxPriorDF caps the trust in the other metrics. Metrics of one run share its
// disturbances, so their variances look more alike than they are: without a cap the
// false discovery rate doubles at a correlation of .9.
const maxPriorDF = 4

// FitPrior estimates the prior of the variances s2, estimated with df degrees of
// freedom each, by matching the moments of their logarithms (Smyth 2004,
// doi:10.2202/1544-6115.1027). Variances of zero are left out. DF is capped at 4, and at
// the least of df: the others never weigh more than a metric's own data. ok is false
// with fewer than three positive variances.
//
// FitPrior panics if the lengths differ.
func FitPrior(s2, df []float64) (prior Prior, ok bool) {
	if len(s2) != len(df) {
		panic("analyze: FitPrior: lengths differ")
	}
	d0 := float64(maxPriorDF)
	e := make([]float64, 0, len(s2))
	tri := make([]float64, 0, len(s2))
	for i, v := range s2 {
		if d := df[i] / 2; v > 0 && isFinite(v) && d > 0 {
			e = append(e, math.Log(v)-mathext.Digamma(d)+math.Log(d))
			tri = append(tri, mathext.Zeta(2, d))
			d0 = math.Min(d0, df[i])
		}
	}
	if len(e) < 3 {
		return Prior{}, false
	}
	mean, variance, ok := MeanVariance(e)
	if !ok {
		return Prior{}, false
	}
	expected, _ := Mean(tri)
	if rest := variance - expected; rest > 0 {
		d0 = math.Min(d0, 2*trigammaInverse(rest))
	}
	p := Prior{DF: d0, S2: math.Exp(mean + mathext.Digamma(d0/2) - math.Log(d0/2))}
	return p, p.DF > 0 && p.S2 > 0 && isFinite(p.S2)
}

// Squeeze returns the posterior variance of one metric and its degrees of freedom. A
// metric whose own variance is implausible under the prior (beyond its 95 %
// quantile) keeps it: borrowing would make a noisy metric look quiet.
func (p Prior) Squeeze(s2, df float64) (posterior, posteriorDF float64, used bool) {
	if !(p.DF > 0) || !(p.S2 > 0) || !(df > 0) || !(s2 >= 0) {
		return s2, df, false
	}
	if s2 > p.S2*(distuv.F{D1: df, D2: p.DF}).Quantile(0.95) {
		return s2, df, false
	}
	w := p.DF / (p.DF + df)
	return w*p.S2 + (1-w)*s2, p.DF + df, true
}

// trigammaInverse solves trigamma(x) = y for y > 0 by Newton's method on 1/trigamma,
// which is nearly linear and convex: it converges from the start given, without a
// safeguard (Smyth 2004, appendix).
func trigammaInverse(y float64) float64 {
	switch {
	case y > 1e7:
		return 1 / math.Sqrt(y)
	case y < 1e-6:
		return 1 / y
	}
	x := 0.5 + 1/y
	for range 50 {
		tri := mathext.Zeta(2, x)
		step := tri * (1 - tri/y) / (-2 * mathext.Zeta(3, x))
		x += step
		if -step/x < 1e-10 {
			break
		}
	}
	return x
}
