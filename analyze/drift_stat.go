package analyze

import (
	"math"
	"slices"
)

// DriftStatistic holds the raw statistics of one series, before any critical
// value: what the program in the folder critical tabulates. All are free of the
// unit of the data except Slope, Line, Shift and their SE.
type DriftStatistic struct {
	N     int  // bins used
	Known bool // false: the rest means nothing

	TrendPhi float64 // memory of the noise around a line: its correlation from bin to bin
	Trend    float64 // |t| of the trend by generalised least squares
	TrendLM  float64 // what correlation is left in the innovations around the line

	StepPhi float64 // memory around the best step
	Step    float64 // greatest |t| of the difference in level, over all places
	StepLM  float64 // what correlation is left in the innovations around the step
	Jump    float64 // p-value of the innovation at the step among the others
	Located float64 // |t| of the difference in level at the step found

	Daily float64 // correlation with itself a day later, the harmonics removed

	EWC   float64 // |t| of the trend by least squares and 8 cosines
	CUSUM float64 // sup|CUSUM|/√n/ω by least squares and 8 cosines

	Slope, SlopeSE float64 // change over the whole span, generalised least squares
	Line, LineSE   float64 // the same by least squares, with cosines
	Shift, ShiftSE float64 // change of level at At
	At             int     // index of the first bin after the step
	From, To       int     // 95 % confidence set of At, its hull
	Others         []int   // further steps, so great that they had to be fitted beside it

	trendLL, stepLL float64 // log likelihoods, same constant
}

// driftOnsetLR is the 95 % critical value of the likelihood ratio of a place of
// change, -2 log(1 - √0.95): Hansen (2000), Eo and Morley (2015).
const driftOnsetLR = 7.352

// driftWork is the scratch memory of one goroutine for one design.
type driftWork struct {
	d              *driftDesign
	ar             *driftAR
	y, r, step     []float64
	gain, net, den []float64
	abs            []float64
}

func newDriftWork(d *driftDesign) *driftWork {
	m := len(d.t)
	b := make([]float64, 7*m)
	w := &driftWork{d: d, ar: newDriftAR(d)}
	for i, p := range []*[]float64{&w.y, &w.r, &w.step, &w.gain, &w.net, &w.den, &w.abs} {
		*p = b[i*m : (i+1)*m : (i+1)*m]
	}
	return w
}

// driftAveraged is the moving average that means over bins of a first-order process
// have: .253 for a memory of one bin, .264 for six, 2-√3 = .268 for a random walk.
const driftAveraged = 0.26

// unaveraged returns x, [m], with the moving average of bins taken out if that makes
// first-order noise the likelier (restricted likelihood around a line), else x itself.
// A level stays what it is, a line too but for its first bins; after a gap the filter
// begins anew.
func (w *driftWork) unaveraged(x []float64) []float64 {
	y := make([]float64, len(x))
	y[0] = x[0] / (1 + driftAveraged)
	for i := 1; i < len(x); i++ {
		if w.d.t[i]-w.d.t[i-1] != 1 {
			y[i] = x[i] / (1 + driftAveraged)
		} else {
			y[i] = x[i] - driftAveraged*y[i-1]
		}
	}
	likelihood := func(v []float64) float64 {
		copy(w.y, v)
		driftProject(w.d.q, w.y)
		if !(driftDot(w.y, w.y) > 0) {
			return math.Inf(-1)
		}
		w.ar.load(w.y, w.d.xr)
		f, ok := w.ar.at(w.ar.reml())
		if !ok {
			return math.Inf(-1)
		}
		return f.rl
	}
	if !(likelihood(y) > likelihood(x)) {
		return x
	}
	for i := range y {
		y[i] *= 1 + driftAveraged
	}
	return y
}

// driftEdge is the number of bins at either end where no step is looked for.
func driftEdge(m int) int { return max(2, m/25) }

// statistic computes all statistics of x, [m] and finite, of the order of 1.
func (w *driftWork) statistic(x []float64) (s DriftStatistic, ok bool) {
	d, a, m := w.d, w.ar, len(x)
	s.N = m
	df := float64(m - a.p - 1)
	if df < 4 || !(d.sx > 0) || len(d.cosT) == 0 {
		return s, false
	}
	y := w.y
	copy(y, x)
	driftProject(d.q, y)
	total := driftDot(y, y)
	if !(total > 1e-20*(driftDot(x, x)+1e-300)) {
		return s, false
	}

	s.Daily = d.daily(y)

	// Trend, by least squares with cosines.
	b := driftDot(y, d.xr) / d.sx
	copy(w.r, y)
	driftAxpy(-b, d.xr, w.r)
	floor := 1e-18 * total / float64(m)
	s.Line, s.LineSE = b, math.Sqrt(max(driftEWC(d.cosT, w.r), floor)/d.sx)
	s.EWC = math.Abs(b) / s.LineSE

	// Trend, by generalised least squares.
	a.load(y, d.xr)
	phi := a.reml()
	f, ok := a.at(phi)
	if !ok {
		return s, false
	}
	s.trendLL = f.ll
	s.TrendPhi = phi
	s.Slope, s.SlopeSE = f.b, math.Sqrt(f.rss/df/f.den)
	s.Trend = math.Abs(f.b) / s.SlopeSE
	copy(w.r, y)
	driftAxpy(-f.b, d.xr, w.r)
	a.fit(phi, w.r)
	s.TrendLM = driftLM(a.e)

	s.CUSUM = w.cusum(d, y, floor)
	lo := driftEdge(m)
	hi := m - lo

	// Step, by generalised least squares: place and memory in turn. With the
	// memory of a series that still holds the step, the place is found by the
	// jump; with the memory around it, by all bins.
	k := -1
	phi = min(phi, 0.97)
	for range 4 {
		a.fit(phi, y)
		a.steps(lo, hi, w.gain, w.net, w.den)
		kk := lo
		for i := lo; i < hi; i++ {
			if w.gain[i] > w.gain[kk] {
				kk = i
			}
		}
		if kk == k {
			break
		}
		k = kk
		for i := range w.step {
			w.step[i] = 0
			if i >= k {
				w.step[i] = 1
			}
		}
		a.load(y, w.step)
		phi = a.reml()
	}
	f, ok = a.at(phi)
	if !ok {
		return s, false
	}
	s.stepLL = f.ll
	s.StepPhi, s.At = phi, k
	sigma2 := f.rss / df
	a.fit(phi, y)
	a.steps(lo, hi, w.gain, w.net, w.den)
	for i := lo; i < hi; i++ {
		s.Step = max(s.Step, math.Abs(w.net[i])*math.Sqrt(w.den[i]/sigma2))
	}
	s.Shift, s.ShiftSE = w.net[k], math.Sqrt(sigma2/max(w.den[k], 1e-12))
	s.Located = math.Abs(s.Shift) / s.ShiftSE
	s.Jump = w.jump(k)
	s.From, s.To = driftSet(w.gain, lo, hi, k, sigma2)
	apart := driftApart(m)
	// Another step shows as a second jump; steps() leaves e around no step.
	again := false
	for i := lo; i < hi; i++ {
		if (i <= k-apart || i >= k+apart) && a.e[i]*a.e[i] > driftJump*sigma2 {
			again = true
		}
	}
	copy(w.r, y)
	for i := k; i < m; i++ {
		w.r[i] -= f.b
	}
	a.fit(phi, w.r)
	s.StepLM = driftLM(a.e)
	if again {
		w.more(&s)
	}
	return s, true
}

// cusum is sup|CUSUM|/√n/ω of y, from which d.q is removed, with the long-run
// variance ω² of what the best step by least squares leaves, at least floor.
func (w *driftWork) cusum(d *driftDesign, y []float64, floor float64) float64 {
	m := len(y)
	lo := driftEdge(m)
	hi := m - lo
	var sum, sup, best, shift float64
	at := lo
	for i := m - 1; i > 0; i-- {
		sum += y[i]
		sup = max(sup, math.Abs(sum))
		if i >= lo && i < hi && d.stepDen[i] > 1e-9 {
			if g := sum * sum / d.stepDen[i]; g > best {
				best, at, shift = g, i, sum/d.stepDen[i]
			}
		}
	}
	copy(w.r, y)
	for i := at; i < m; i++ {
		w.r[i] -= shift
	}
	// The cosines are orthogonal to q: no need to project the step.
	return sup / math.Sqrt(float64(m)*max(driftEWC(d.cosS, w.r), floor))
}

const (
	// driftJump is the square of an innovation, in units of its variance, that
	// is worth the search for a second step.
	driftJump = 14
	// driftBeside is the |t| of the difference in level that a further step must
	// reach to be fitted beside the first; noise does so once in 10,000 series.
	driftBeside = 5.5
	// driftMost is the number of steps fitted together.
	driftMost = 5
)

// more fits further steps beside the first. One step left in makes noise of the
// others, and a memory that is not there. Only steps far beyond chance count, so
// the critical values of one step hold.
func (w *driftWork) more(s *DriftStatistic) {
	m := len(w.y)
	lo := driftEdge(m)
	hi := m - lo
	found := []int{s.At}
	for len(found) < driftMost {
		a := newDriftAR(w.beside(found))
		y := append([]float64(nil), w.y...)
		driftProject(a.d.q, y)
		k, phi := -1, s.StepPhi
		for range 4 {
			a.fit(phi, y)
			a.steps(lo, hi, w.gain, w.net, w.den)
			kk := -1
			for i := lo; i < hi; i++ {
				if (kk < 0 || w.gain[i] > w.gain[kk]) && driftFar(i, found, driftApart(m)) {
					kk = i
				}
			}
			if kk == k {
				break
			}
			k = kk
			a.load(y, driftStepAt(m, k))
			phi = a.reml()
		}
		if k < 0 {
			return
		}
		f, ok := a.at(phi)
		if !ok {
			return
		}
		sigma2 := f.rss / float64(m-a.p-1)
		a.fit(phi, y)
		a.steps(lo, hi, w.gain, w.net, w.den)
		if math.Abs(w.net[k])*math.Sqrt(w.den[k]/sigma2) < driftBeside {
			return
		}
		found = append(found, k)
		// Each step again, given the others: the greatest is the one reported.
		best := *s
		best.Step, best.StepPhi, best.Jump = 0, phi, 1
		// A place and a height each (Schwarz 1978).
		best.stepLL = f.ll - float64(len(found)-1)*math.Log(float64(m))
		for i, k := range found {
			rest := append(append([]int(nil), found[:i]...), found[i+1:]...)
			a := newDriftAR(w.beside(rest))
			y := append([]float64(nil), w.y...)
			driftProject(a.d.q, y)
			a.fit(phi, y)
			a.steps(lo, hi, w.gain, w.net, w.den)
			t := math.Abs(w.net[k]) * math.Sqrt(w.den[k]/sigma2)
			if t <= best.Step {
				continue
			}
			best.Step, best.Located, best.At, best.Others = t, t, k, rest
			best.Shift, best.ShiftSE = w.net[k], math.Sqrt(sigma2/max(w.den[k], 1e-12))
			best.From, best.To = driftSet(w.gain, lo, hi, k, sigma2)
			r := append([]float64(nil), y...)
			e := driftStepAt(m, k)
			driftProject(a.d.q, e)
			a.load(y, e)
			if g, ok := a.at(phi); ok {
				driftAxpy(-g.b, e, r)
			}
			a.fit(phi, r)
			best.StepLM = driftLM(a.e)
			a.d.forSteps()
			best.CUSUM = w.cusum(a.d, y, 1e-18*driftDot(w.y, w.y)/float64(m))
		}
		*s = best
	}
}

// driftApart is the least length of a level between two steps, in bins: 6 h of
// 72 h. What is shorter is an episode, and noise with heavy tails is full of
// them.
func driftApart(m int) int { return max(12, m/12) }

func driftFar(i int, from []int, apart int) bool {
	for _, k := range from {
		if i > k-apart && i < k+apart {
			return false
		}
	}
	return true
}

// beside is the design with the steps at those places among the regressors.
func (w *driftWork) beside(at []int) *driftDesign {
	d := *w.d
	d.q = append([][]float64(nil), d.q...)
	for _, k := range at {
		d.q = append(d.q, driftStepAt(len(d.t), k))
	}
	d.q = driftOrtho(d.q)
	return &d
}

func driftStepAt(m, k int) []float64 {
	s := make([]float64, m)
	for i := k; i < m; i++ {
		s[i] = 1
	}
	return s
}

// driftSet is the hull of the places whose likelihood ratio to the best, at k or
// beside it, is not significant.
func driftSet(gain []float64, lo, hi, k int, sigma2 float64) (from, to int) {
	top := gain[k]
	for _, g := range gain[lo:hi] {
		top = max(top, g)
	}
	from, to = k, k
	for i := lo; i < hi; i++ {
		if top-gain[i] <= driftOnsetLR*sigma2 {
			from, to = min(from, i), max(to, i)
		}
	}
	return from, to
}

// jump is how surprising the innovation at k is as the greatest of all, given
// the tail of the others: the tail index by Hill, the exceedance by Weissman
// (1978). In Gaussian noise it is on the safe side, and in noise with heavy
// tails, where big innovations are common, it stays so.
func (w *driftWork) jump(k int) float64 {
	e := w.ar.e
	v := w.abs[:0]
	for i, x := range e {
		// The bin after a spike carries its echo.
		if i < k || i > k+1 {
			v = append(v, math.Abs(x))
		}
	}
	top := max(5, len(v)/32)
	if len(v) < 2*top {
		return 1
	}
	slices.Sort(v)
	base := v[len(v)-top-1]
	z := math.Abs(e[k])
	if !(base > 0) || !(z > base) {
		return 1
	}
	var h float64
	for _, x := range v[len(v)-top:] {
		h += math.Log(x / base)
	}
	h /= float64(top)
	if !(h > 1e-3) {
		h = 1e-3
	}
	return min(1, float64(top)*math.Pow(z/base, -1/h))
}

// driftLM is Σ ρ(k)/k, k from 1, times √n: the score of a fractional order of
// integration in the innovations e (Robinson 1994). It is great where the noise
// remembers longer than its first-order fit says.
func driftLM(e []float64) float64 {
	n := len(e)
	g0 := driftDot(e, e)
	if !(g0 > 0) {
		return 0
	}
	var s float64
	for k := 1; k <= min(n/3, 60); k++ {
		s += driftDot(e[k:], e[:n-k]) / float64(k)
	}
	return s / g0 * math.Sqrt(float64(n))
}

// DriftStatistics returns the raw statistics of series that share their times;
// see DriftStatistic.
//
// x is [series][m] and t [m]: values, and times in bins, increasing, out of span
// bins; day is the length of a day in bins and harmonics the number of daily
// harmonics removed, 0 for none. A series is not Known if it has too few bins, no
// variation, or a value that is not finite. It panics if the lengths differ or
// if harmonics is not in 0 to 6.
//
// Assumptions: the noise is stationary around a line or a step; for Trend and
// Step, its autocorrelation is of first order.
func DriftStatistics(x [][]float64, t []float64, span, day float64, harmonics int) []DriftStatistic {
	if harmonics < 0 || harmonics > 6 {
		panic("analyze: harmonics out of range")
	}
	out := make([]DriftStatistic, len(x))
	var w *driftWork
	for i, v := range x {
		if len(v) != len(t) {
			panic("analyze: series and times differ in length")
		}
		if len(v) < 12 {
			continue
		}
		z, _, scale, ok := driftStandard(v)
		if !ok {
			continue
		}
		if w == nil {
			w = newDriftWork(newDriftDesign(t, span, day, harmonics))
		}
		out[i], ok = w.statistic(z)
		out[i].Known = ok
		out[i].rescale(scale)
	}
	return out
}

func (s *DriftStatistic) rescale(c float64) {
	for _, p := range []*float64{&s.Slope, &s.SlopeSE, &s.Line, &s.LineSE, &s.Shift, &s.ShiftSE} {
		*p = driftClamp(*p * c)
	}
}

func driftClamp(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return 0
	case v > math.MaxFloat64:
		return math.MaxFloat64
	case v < -math.MaxFloat64:
		return -math.MaxFloat64
	}
	return v
}

// driftStandard returns (x - centre)/scale in [-1, 1] without overflow. ok is
// false for a value that is not finite, and if x has no variation beyond
// rounding.
func driftStandard(x []float64) (z []float64, centre, scale float64, ok bool) {
	var top float64
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, 0, 0, false
		}
		top = max(top, math.Abs(v))
	}
	if top == 0 || len(x) == 0 {
		return nil, 0, 0, false
	}
	z = make([]float64, len(x))
	var c float64
	for i, v := range x {
		z[i] = v / top
		c += z[i]
	}
	c /= float64(len(x))
	var dev float64
	for i := range z {
		z[i] -= c
		dev = max(dev, math.Abs(z[i]))
	}
	if dev <= 1e-13 {
		return nil, c * top, 0, false
	}
	for i := range z {
		z[i] /= dev
	}
	return z, c * top, dev * top, true
}
