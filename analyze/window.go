package analyze

import (
	"math"
	"slices"
)

const (
	minTicks    = 60   // below which there is no automatic window
	hampelHalf  = 10   // rows on either side of the filter's median
	hampelLimit = 4    // scaled median deviations at which a row is an outlier
	searchFirst = 0.5  // share of the run in which the start is looked for
	searchLate  = 0.75 // and where it is, after the first gate failed
	gateNu      = 8
	gateAlpha   = 0.04 // the long-run variance of a short rest is a little low: .05 flags 7 %
	gateChange  = 0.01 // a trend within this share of the mean is no trend
	gateTicks   = 20   // below which nothing can be said of a trend
)

// Hampel returns a copy of x in which every value further than limit scaled median
// absolute deviations (1.4826 MAD, the standard deviation of normal data) from the
// median of the 2*half+1 values around it is replaced by that median (Davies, Gather
// 1993, doi:10.1080/01621459.1993.10476339). The ends are continued by their last value;
// deviations are taken each from its own median. Hampel panics if half < 1. x is
// finite.
func Hampel(x []float64, half int, limit float64) []float64 {
	if half < 1 {
		panic("analyze: Hampel: half below 1")
	}
	med := rollingMedian(x, half)
	dev := make([]float64, len(x))
	for i := range x {
		dev[i] = math.Abs(x[i] - med[i])
	}
	mad := rollingMedian(dev, half)
	for i := range x {
		if !(dev[i] > limit*1.4826*mad[i]) {
			med[i] = x[i]
		}
	}
	return med
}

// rollingMedian returns the median of the 2*half+1 values around each one, the ends
// continued. The window is kept sorted: one value leaves, one enters.
func rollingMedian(x []float64, half int) []float64 {
	n := len(x)
	out := make([]float64, n)
	if n == 0 {
		return out
	}
	at := func(i int) float64 { return x[max(0, min(n-1, i))] }
	w := make([]float64, 0, 2*half+1)
	for i := -half; i <= half; i++ {
		w = append(w, at(i))
	}
	slices.Sort(w)
	for i := range x {
		if i > 0 {
			slide(w, at(i-half-1), at(i+half))
		}
		out[i] = w[half]
	}
	return out
}

// slide replaces one value old of the sorted w by v, keeping the order.
func slide(w []float64, old, v float64) {
	if old == v {
		return
	}
	i, _ := slices.BinarySearch(w, old)
	for ; i+1 < len(w) && w[i+1] < v; i++ {
		w[i] = w[i+1]
	}
	for ; i > 0 && w[i-1] > v; i-- {
		w[i] = w[i-1]
	}
	w[i] = v
}

// MSER5 returns how many of the first values of x to leave out as warm-up: the
// multiple of 5 below share*len(x) at which the squared standard error of the mean
// of the rest, in batches of 5, is least (White 1997,
// doi:10.1177/003754979706900601; White, Cobb, Spratt 2000, WSC). It is blind to a
// change after share of the series: test what is kept. x is finite. MSER5 panics unless
// share lies in (0, 1).
func MSER5(x []float64, share float64) int {
	mustShare("share", share)
	return mser(x, 5, batchMean, share, 0)
}

// mser is MSER on batches of any size, taking the earliest start whose criterion is
// within slack of the least.
func mser(x []float64, batch int, value func([]float64) float64, share, slack float64) int {
	k := len(x) / batch
	limit := int(float64(k) * share)
	scale, ok := scaleOf(x)
	if limit < 1 || !ok {
		return 0
	}
	b := make([]float64, k)
	for i := range b {
		b[i] = value(x[i*batch:(i+1)*batch]) * scale
	}
	centre := sumScaled(b, 1) / float64(k)
	var sum, square float64
	least := math.Inf(1)
	for i := k - 1; i >= 0; i-- {
		d := b[i] - centre
		sum += d
		square += d * d
		if n := float64(k - i); i < limit {
			b[i] = math.Max(0, square-sum*sum/n) / (n * n)
			least = math.Min(least, b[i])
		}
	}
	for i, g := range b[:limit] {
		if g <= least*(1+slack) {
			return i * batch
		}
	}
	return 0
}

func batchMean(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v / float64(len(x))
	}
	return s
}

func batchMedian(x []float64) float64 { return medianSorted(slices.Sorted(slices.Values(x))) }

// mserSlack takes the earliest start whose criterion is within this share of the
// least: on noise alone the criterion is flat, and its minimum throws data away.
const mserSlack = 0.05

// longSeries is from how many rows on the search uses more than batches of 5.
const longSeries = 1000

// settled returns where a series settles: MSER-5 of the filtered rows. In long series
// batches of 5 follow every mood of the noise: there it is medians of 150 batches, and
// at least a fifteenth is left out, which lies nearer to where people see the steady
// state begin in 3,000 iterations.
func settled(raw, filtered []float64, share float64) int {
	n := len(raw)
	if n < longSeries {
		return mser(filtered, 5, batchMean, share, mserSlack)
	}
	return max(mser(raw, n/150, batchMedian, share, mserSlack), n/15)
}

// Start is where a series becomes steady.
type Start struct {
	Index  int  // rows to leave out
	Late   bool // the start found in the first half was not steady
	Steady bool // what is kept has no trend
	Known  bool // false: fewer than 60 rows, or not finite
}

// FindStart finds the start of the steady state of one series x, evenly spaced and in
// order of time: MSER-5 after a Hampel filter over the first half; if what is kept has
// a trend (TrendOf at .04, and more than 1 % of the mean), over three quarters; if it
// still has, the first start stands and Steady is false.
func FindStart(x []float64) Start {
	if _, ok := scaleOf(x); !ok || len(x) < minTicks {
		return Start{}
	}
	c := curve{stepNS: 1, bin: make([]int, len(x)), raw: x, smooth: Hampel(x, hampelHalf, hampelLimit)}
	for i := range c.bin {
		c.bin[i] = i
	}
	start, late, never := commonStart([]curve{c})
	return Start{Index: int(start), Late: late != nil, Steady: !never, Known: true}
}

// Trend is a test for a change over a series that should be steady.
type Trend struct {
	Change float64 // of the fitted line from the first to the last value, in the unit of x
	Mean   float64
	P      float64 // of no trend
	Known  bool    // false: too short or not finite
}

// TrendOf tests x, evenly spaced and in order of time, for a linear trend under
// autocorrelated noise: the least squares slope over its standard error by EWC from
// cosines 2 to 9 of the residuals (the first is nearly the trend itself), against t
// with 8 degrees of freedom (Sun 2011, doi:10.1016/j.jeconom.2011.06.017). A constant x
// has p 1.
func TrendOf(x []float64) Trend {
	scale, ok := scaleOf(x)
	if !ok || len(x) < gateTicks {
		return Trend{}
	}
	mean := meanScaled(x, scale)
	n := float64(len(x))
	at := func(i int) float64 { return (float64(i) - (n-1)/2) / n }
	var xt, tt float64
	for i, v := range x {
		t := at(i)
		xt += t * (v*scale - mean)
		tt += t * t
	}
	b := xt / tt
	r := make([]float64, len(x))
	for i, v := range x {
		r[i] = v*scale - mean - b*at(i)
	}
	var lrv float64
	for _, l := range cosines(r, 1, 0, 2, gateNu+1) {
		lrv += l * l / gateNu
	}
	out := Trend{P: 1, Known: true}
	if se := math.Sqrt(lrv / tt); constant(x) {
		b = 0
	} else if se > 0 {
		out.P = tP(b/se, gateNu)
	} else if b != 0 {
		out.P = 0
	}
	out.Mean, ok = unscale(mean, scale)
	out.Change, out.Known = unscale(b*(n-1)/n, scale)
	out.Known = out.Known && ok
	if !out.Known {
		return Trend{}
	}
	return out
}

// steady reports whether the trend is beyond neither chance nor what matters.
func (t Trend) steady() bool {
	return !(t.P < gateAlpha && math.Abs(t.Change) > gateChange*math.Abs(t.Mean))
}
