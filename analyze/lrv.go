package analyze

import "math"

// EWC returns the long-run variance of the stationary series x (the variance of its
// sum over sqrt(n), autocorrelation included) as the equal-weighted mean of the
// squares of its first nu cosine coefficients: t statistics formed with it have nu
// degrees of freedom (Lazarus, Lewis, Stock, Watson 2018,
// doi:10.1080/07350015.2018.1506926). x is in order of time and evenly spaced; its mean
// is taken out here. Unit: that of x, squared.
//
// It returns 0 where there is none: x constant, not finite, or not longer than 2*nu.
// EWC panics if nu < 1.
func EWC(x []float64, nu int) float64 {
	if nu < 1 {
		panic("analyze: EWC: nu below 1")
	}
	scale, ok := scaleOf(x)
	if !ok || len(x) <= 2*nu || constant(x) {
		return 0
	}
	m := meanScaled(x, scale)
	var sum float64
	for _, l := range cosines(x, scale, m, 1, nu) {
		sum += l * l
	}
	v, ok := unscale(sum/float64(nu), scale)
	if ok {
		v, ok = unscale(v, scale)
	}
	if !ok {
		return 0
	}
	return v
}

// cosines returns the coefficients first to last of x*scale-m on
// sqrt(2/n)*cos(pi*j*(t-1/2)/n). One cosine a row: the others follow by Chebyshev's
// recurrence in j, which is stable.
func cosines(x []float64, scale, m float64, first, last int) []float64 {
	n := float64(len(x))
	all := make([]float64, last+1)
	for t, v := range x {
		d := v*scale - m
		c := math.Cos(math.Pi * (float64(t) + 0.5) / n)
		before, now := 1.0, c
		for j := 1; j <= last; j++ {
			all[j] += now * d
			before, now = now, 2*c*now-before
		}
	}
	f := math.Sqrt(2 / n)
	for j := range all {
		all[j] *= f
	}
	return all[first:]
}

// Autocorrelation returns the sample autocorrelation of x at lag: the sum of products
// of deviations lag apart over the sum of squares. ok is false if x is constant, not
// finite or not longer than lag. Autocorrelation panics if lag < 0.
func Autocorrelation(x []float64, lag int) (r float64, ok bool) {
	if lag < 0 {
		panic("analyze: Autocorrelation: negative lag")
	}
	scale, ok := scaleOf(x)
	if !ok || len(x) <= lag || constant(x) {
		return 0, false
	}
	m := meanScaled(x, scale)
	var num, den accumulator
	for i, v := range x {
		d := v*scale - m
		den.add(d * d)
		if i >= lag {
			num.add(d * (x[i-lag]*scale - m))
		}
	}
	return finiteOr0(num.sum() / den.sum())
}

// ewcNu is the number of cosines for n rows, by the rule .4*n^(2/3) within bounds.
func ewcNu(n int) int {
	return max(6, min(12, int(0.4*math.Pow(float64(n), 2./3))))
}

// Within is what one run alone says about the mean of its rows.
type Within struct {
	N        int     // rows
	LRV      float64 // long-run variance of a row
	Nu       int     // its degrees of freedom
	Variance float64 // of the mean: LRV/N
	ESS      float64 // rows' worth of independent information, 1 to N
	Known    bool    // false: too few rows, or no variation
}

// minESS is the effective sample size below which a run alone gives no interval.
const minESS = 10

// WithinRun analyses the rows x of one run, in order of time and evenly spaced. Where
// the lag-one autocorrelation r exceeds .3 the rows are first prewhitened by r and
// the LRV recoloured (Andrews, Monahan 1992, doi:10.2307/2951574), above .5 with fewer
// cosines: plain ones cover 91 % instead of 93 % at r = .9 with 180 rows. ESS is the smaller of n times variance
// over LRV and of n(1-r)/(1+r), r corrected for its bias (Kendall 1954,
// doi:10.1093/biomet/41.3-4.403): the first alone misses one slow series in ten. The
// rows are stationary; x̄ ± t(Nu)*sqrt(Variance) is an interval for this run's level only,
// and means nothing with an ESS below 10.
func WithinRun(x []float64) Within {
	w := Within{N: len(x)}
	r, ok := Autocorrelation(x, 1)
	if !ok {
		return w
	}
	n := float64(len(x))
	corrected := r + (1+3*r)/n
	w.Nu = ewcNu(len(x))
	if r > 0.5 {
		w.Nu = min(w.Nu, 9)
	}
	if r > 0.3 {
		w.LRV = prewhitened(x, math.Min(corrected, 0.97), w.Nu)
	} else {
		w.LRV = EWC(x, w.Nu)
	}
	_, v, ok := MeanVariance(x)
	if !ok || !(w.LRV > 0) {
		return w
	}
	w.Variance = w.LRV / n
	w.ESS = math.Min(n*(v/w.LRV), n*(1-corrected)/(1+corrected))
	w.ESS = math.Max(1, math.Min(n, w.ESS))
	w.Known = w.Variance > 0
	return w
}

// prewhitened returns the EWC long-run variance of x[t]-r*x[t-1], recoloured.
func prewhitened(x []float64, r float64, nu int) float64 {
	e := make([]float64, len(x)-1)
	for i := range e {
		e[i] = x[i+1] - r*x[i]
	}
	v := EWC(e, nu) / ((1 - r) * (1 - r))
	if !isFinite(v) {
		return 0
	}
	return v
}
