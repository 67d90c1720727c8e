package analyze

import (
	"errors"
	"math"
)

// DriftLeakResult is the course of the lower envelope of a saw-tooth: memory
// that grows until a collector frees it is no leak as long as the troughs stay
// level.
type DriftLeakResult struct {
	Period  int       // of the saw-tooth, in samples; 0: none found
	Window  int       // samples to a trough
	Troughs []float64 // lowest value of each window
	At      []int     // its index
	Known   bool      // there is a slope

	Slope   float64       // of the troughs, per sample
	Total   DriftInterval // their change over the whole series, 95 %
	P       float64       // of the test that it is 0; 1 if it could not be made
	Decided bool          // false: fewer than 12 windows, the slope is not tested

	Warnings []error
}

var (
	errDriftNoTeeth  = errors.New("no saw-tooth found; judge the drift of the medians")
	errDriftFewTeeth = errors.New("fewer than 12 windows of two saw-tooth periods: leak undecided; measure longer")
)

// driftLeakWindows is the number of troughs below which their slope is not tested.
const driftLeakWindows = 12

// DriftEnvelope returns the lowest value of each whole window of that many
// samples of x, and its index; the first one, where there are several. It panics
// if window is less than 1.
func DriftEnvelope(x []float64, window int) (troughs []float64, at []int) {
	if window < 1 {
		panic("analyze: window less than 1")
	}
	for i := 0; i+window <= len(x); i += window {
		k := -1
		for j := i; j < i+window; j++ {
			if !math.IsNaN(x[j]) && !math.IsInf(x[j], 0) && (k < 0 || x[j] < x[k]) {
				k = j
			}
		}
		if k >= 0 {
			troughs, at = append(troughs, x[k]), append(at, k)
		}
	}
	return troughs, at
}

// DriftPeriod is the period of x in samples, the lag of the greatest
// autocorrelation of the detrended series after it first falls below zero; ok is
// false if that is below 0.3 or the series is shorter than two periods.
func DriftPeriod(x []float64) (period int, ok bool) {
	n := len(x)
	z, _, _, ok := driftStandard(x)
	if !ok || n < 6 {
		return 0, false
	}
	mid := float64(n-1) / 2
	var b, s float64
	for i, v := range z {
		t := float64(i) - mid
		b += t * v
		s += t * t
	}
	b /= s
	for i := range z {
		z[i] -= b * (float64(i) - mid)
	}
	g0 := driftDot(z, z)
	if !(g0 > 0) {
		return 0, false
	}
	best, below := 0.3, false
	for k := 1; k <= n/2; k++ {
		// Each lag by its own number of products: a long one is not held down.
		r := driftDot(z[k:], z[:n-k]) / g0 * float64(n) / float64(n-k)
		if r < 0 {
			below = true
		}
		// A multiple of the period must be clearly better to replace it.
		if below && k > 1 && r > best+0.05 || below && period == 0 && r > best {
			if period > 0 && k > period+period/2 && r < best+0.2 {
				continue
			}
			best, period = r, k
		}
	}
	return period, period > 0
}

// DriftLeak judges the lower envelope of x, equally spaced: the slope of the
// troughs, one from each window of two periods of the saw-tooth, found from the
// autocorrelation. Two periods hold a whole one wherever the window begins. With
// fewer than 12 such windows the troughs are taken from one period each, and
// their slope is given but not tested.
//
// Assumption: noise of the troughs with a first-order memory, as in [Drift].
func DriftLeak(x []float64) DriftLeakResult {
	r := DriftLeakResult{P: 1}
	period, ok := DriftPeriod(x)
	if !ok {
		r.Warnings = []error{errDriftNoTeeth}
		return r
	}
	r.Period, r.Window = period, 2*period
	r.Decided = len(x)/r.Window >= driftLeakWindows
	if !r.Decided {
		r.Window = period
		r.Warnings = []error{errDriftFewTeeth}
	}
	r.Troughs, r.At = DriftEnvelope(x, r.Window)
	n := len(r.Troughs)
	if n < 2 {
		r.Decided = false
		return r
	}
	// Exact for whole numbers, as counts of bytes are: no standardisation.
	var mt, mv float64
	for i, v := range r.Troughs {
		mt += float64(r.At[i]) / float64(n)
		mv += v / float64(n)
	}
	var sxy, sxx float64
	t := make([]float64, n)
	for i, v := range r.Troughs {
		u := float64(r.At[i]) - mt
		sxy += u * (v - mv)
		sxx += u * u
		t[i] = float64(i)
	}
	r.Slope = driftClamp(sxy / sxx)
	total := driftClamp(r.Slope * float64(len(x)))
	r.Total = DriftInterval{Value: total, Lo: total, Hi: total, Known: true}
	r.Known = true
	if !r.Decided {
		return r
	}
	st := DriftStatistics([][]float64{r.Troughs}, t, float64(n), 1, 0)[0]
	if !st.Known {
		return r // level: nothing to test
	}
	row := newDriftCritical(0, n).row(func(t *driftTable) [][]float64 { return t.trend }, st.TrendPhi)
	r.P = driftP(row, st.Trend)
	r.Total = driftBounds(st.Slope, st.SlopeSE*driftQuantile(row, 0.05), 0.95)
	return r
}

// leak adds the envelope of a memory metric, its daily cycle removed. Missing
// bins are filled in a straight line: it only serves to find troughs.
func (j *driftJudge) leak() {
	v := j.v
	z, centre, scale, ok := driftStandard(j.x)
	if !ok {
		return
	}
	for _, q := range j.cache.work(j.t, j.span, j.day, j.k).d.q[1:] {
		driftAxpy(-driftDot(q, z), q, z)
	}
	full := make([]float64, int(j.span))
	for i, t := range j.t {
		full[int(t)] = centre + scale*z[i]
		if i == 0 {
			continue
		}
		for u := j.t[i-1] + 1; u < t; u++ {
			w := (u - j.t[i-1]) / (t - j.t[i-1])
			full[int(u)] = centre + scale*((1-w)*z[i-1]+w*z[i])
		}
	}
	r := DriftLeak(full)
	if !r.Known {
		return
	}
	v.Leak = &r
	if !r.Decided {
		j.warn(errDriftFewTeeth)
		return
	}
	v.PLeak = r.P
	v.P = min(1, v.P/(1-driftLeakShare), driftLeakP(v))
}

func driftLeakP(v *DriftVerdict) float64 { return min(1, v.PLeak/driftLeakShare) }
