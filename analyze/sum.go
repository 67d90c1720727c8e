package analyze

import "math"

// Sum returns the sum of x by compensated summation: its error does not grow with
// the number of terms (Neumaier 1974, doi:10.1002/zamm.19740540106). x must be
// finite; as with any addition, a sum beyond the largest float64 is infinite.
func Sum(x []float64) float64 {
	s := sumScaled(x, 1)
	if isFinite(s) {
		return s
	}
	// A partial sum overflowed; the whole may still fit.
	const far = 1 << 62
	return sumScaled(x, 1.0/far) * far
}

func sumScaled(x []float64, scale float64) float64 {
	var a accumulator
	for _, v := range x {
		a.add(v * scale)
	}
	return a.sum()
}

// accumulator is a running compensated sum.
type accumulator struct{ s, c float64 }

func (a *accumulator) add(v float64) {
	t := a.s + v
	if math.Abs(a.s) >= math.Abs(v) {
		a.c += (a.s - t) + v
	} else {
		a.c += (v - t) + a.s
	}
	a.s = t
}

func (a *accumulator) sum() float64 {
	if r := a.s + a.c; isFinite(r) {
		return r
	}
	return a.s // the correction of an infinite sum is NaN
}

// Mean returns the mean of x. ok is false, and mean 0, if x is empty or holds a
// value that is not finite.
func Mean(x []float64) (mean float64, ok bool) {
	scale, ok := scaleOf(x)
	if !ok {
		return 0, false
	}
	return unscale(meanScaled(x, scale), scale)
}

// meanScaled returns the mean of x*scale. The mean of the residuals corrects the
// rounding of the division.
func meanScaled(x []float64, scale float64) float64 {
	n := float64(len(x))
	m := sumScaled(x, scale) / n
	var r accumulator
	for _, v := range x {
		r.add(v*scale - m)
	}
	return m + r.sum()/n
}

// MeanVariance returns the mean of x and its sample variance (divisor n-1), by the
// corrected two-pass algorithm (Chan, Golub, LeVeque 1983,
// doi:10.1080/00031305.1983.10483115) on compensated sums. ok is false, and both
// are 0, if x has fewer than two values, holds one that is not finite, or has a
// variance beyond the range of float64.
func MeanVariance(x []float64) (mean, variance float64, ok bool) {
	scale, ok := scaleOf(x)
	if !ok || len(x) < 2 {
		return 0, 0, false
	}
	m := meanScaled(x, scale)
	var r, q accumulator
	for _, v := range x {
		d := v*scale - m
		r.add(d)
		q.add(d * d)
	}
	n := float64(len(x))
	v := math.Max(0, (q.sum()-r.sum()*r.sum()/n)/(n-1))
	mean, okM := unscale(m, scale)
	variance, okV := unscale(v, scale)
	if okV {
		variance, okV = unscale(variance, scale)
	}
	if !okM || !okV {
		return 0, 0, false
	}
	return mean, variance, true
}

// scaleOf returns the power of two that brings x into a range whose squares
// neither overflow nor vanish; 1 for ordinary data, so that they are not touched.
// ok is false if x is empty or not finite.
func scaleOf(x []float64) (scale float64, ok bool) {
	var m float64
	for _, v := range x {
		a := math.Abs(v)
		if !(a <= math.MaxFloat64) {
			return 1, false
		}
		m = math.Max(m, a)
	}
	if len(x) == 0 {
		return 1, false
	}
	if m == 0 || (m > 0x1p-300 && m < 0x1p300) {
		return 1, true
	}
	_, e := math.Frexp(m)
	return math.Ldexp(1, max(-1000, min(1000, -e))), true
}

func unscale(v, scale float64) (float64, bool) {
	return finiteOr0(v / scale)
}

func isFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// constant reports whether all values of x are the same.
func constant(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
