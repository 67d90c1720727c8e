package analyze

import "math"

// driftNu is the number of cosines in the long-run variance: Student's t with
// 8 degrees of freedom is the reference distribution of the trend. Fewer lose
// power, more lose size under a memory of an hour and above.
const driftNu = 8

// driftDesign is what the tests need to know of the times alone; metrics with
// the same missing bins share one.
//
// m is the number of bins kept, t their times in bins, q an orthonormal basis of
// the constant and the daily harmonics, one row a regressor.
type driftDesign struct {
	t       []float64
	span    float64     // length of the soak in bins, gaps included
	q       [][]float64 // [p][m]
	z       [][]float64 // [p][m], the raw regressors
	lag     int         // a day in whole bins, if harmonics are removed
	xr      []float64   // time/span, with q removed
	sx      float64     // its sum of squares
	cosT    [][]float64 // cosines orthogonal to q and xr
	cosS    [][]float64 // cosines orthogonal to q
	stepDen []float64   // [m] squared length of the step at k, q removed
}

func driftDot(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// driftAxpy adds c·x to y.
func driftAxpy(c float64, x, y []float64) {
	for i, v := range x {
		y[i] += c * v
	}
}

// driftProject removes from v what lies in the span of the orthonormal rows q.
// It goes twice over them: once is not enough in floating point where v lies
// nearly in the span.
func driftProject(q [][]float64, v []float64) {
	for range 2 {
		for _, r := range q {
			driftAxpy(-driftDot(r, v), r, v)
		}
	}
}

// driftOrtho is an orthonormal basis of the rows of z in their order; a row that
// lies in the span of those before it is left out.
func driftOrtho(z [][]float64) [][]float64 {
	var q [][]float64
	for _, r := range z {
		v := append([]float64(nil), r...)
		n0 := math.Sqrt(driftDot(v, v))
		driftProject(q, v)
		n := math.Sqrt(driftDot(v, v))
		if !(n > 1e-8*n0) {
			continue
		}
		for i := range v {
			v[i] /= n
		}
		q = append(q, v)
	}
	return q
}

// driftCosines are nu type-II cosines over m points, made orthogonal to q and
// then to each other in order of frequency. One that the regressors absorb, its
// remainder no longer than 0.6, is skipped: it would carry hardly any variance
// of the noise. used are the frequencies that were taken.
func driftCosines(q [][]float64, nu, m int) (out [][]float64, used []int) {
	basis := append([][]float64(nil), q...)
	for j := 1; len(out) < nu && j <= nu+len(q)+8 && j < m; j++ {
		c := make([]float64, m)
		s := math.Sqrt(2 / float64(m))
		for i := range c {
			c[i] = s * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/float64(m))
		}
		driftProject(basis, c)
		n := math.Sqrt(driftDot(c, c))
		if n <= 0.6 {
			continue
		}
		for i := range c {
			c[i] /= n
		}
		out, used = append(out, c), append(used, j)
		basis = append(basis, c)
	}
	return out, used
}

// newDriftDesign is the design for bins at times t (in bins, increasing) out of
// span bins, with k harmonics of a day of that many bins.
func newDriftDesign(t []float64, span, day float64, k int) *driftDesign {
	m := len(t)
	d := &driftDesign{t: append([]float64(nil), t...), span: span}
	one := make([]float64, m)
	for i := range one {
		one[i] = 1
	}
	d.z = append(d.z, one)
	for h := 1; h <= k; h++ {
		s, c := make([]float64, m), make([]float64, m)
		for i, v := range t {
			s[i], c[i] = math.Sincos(2 * math.Pi * float64(h) * v / day)
		}
		d.z = append(d.z, s, c)
	}
	d.q = driftOrtho(d.z)
	d.xr = make([]float64, m)
	for i, v := range t {
		d.xr[i] = (v - (span-1)/2) / span
	}
	driftProject(d.q, d.xr)
	d.sx = driftDot(d.xr, d.xr)
	qx := d.q
	if d.sx > 0 {
		u := append([]float64(nil), d.xr...)
		n := math.Sqrt(d.sx)
		for i := range u {
			u[i] /= n
		}
		qx = append(append([][]float64(nil), d.q...), u)
	}
	if k > 0 {
		d.lag = int(math.Round(day))
	}
	d.cosT, _ = driftCosines(qx, driftNu, m)
	d.forSteps()
	return d
}

// forSteps computes what the CUSUM needs of q.
func (d *driftDesign) forSteps() {
	m := len(d.t)
	d.cosS, _ = driftCosines(d.q, driftNu, m)
	d.stepDen = make([]float64, m)
	for k := range d.stepDen {
		d.stepDen[k] = float64(m - k)
	}
	for _, r := range d.q {
		var s float64
		for i := m - 1; i >= 0; i-- {
			s += r[i]
			d.stepDen[i] -= s * s
		}
	}
}

// daily is the correlation of y with itself a day later; 0 without harmonics.
func (d *driftDesign) daily(y []float64) float64 {
	if d.lag == 0 {
		return 0
	}
	var xy, xx, yy float64
	k := 0
	for i, t := range d.t {
		for k < len(d.t) && d.t[k] < t+float64(d.lag) {
			k++
		}
		if k == len(d.t) {
			break
		}
		if d.t[k] == t+float64(d.lag) {
			xy += y[i] * y[k]
			xx += y[i] * y[i]
			yy += y[k] * y[k]
		}
	}
	if !(xx > 0 && yy > 0) {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// withoutDay returns x less its mean day, each time of day by itself. The day is
// fitted beside the step or line that explains most, lest it take its share of
// the change.
func (d *driftDesign) withoutDay(x []float64) []float64 {
	m := len(x)
	slot := make([]int, m)
	count := make([]float64, d.lag)
	for i, t := range d.t {
		slot[i] = int(t) % d.lag
		count[slot[i]]++
	}
	demean := func(v []float64) ([]float64, []float64) {
		mean := make([]float64, d.lag)
		for i, u := range v {
			mean[slot[i]] += u / count[slot[i]]
		}
		r := make([]float64, m)
		for i, u := range v {
			r[i] = u - mean[slot[i]]
		}
		return r, mean
	}
	y, _ := demean(x)
	line, _ := demean(d.t)
	change := make([]float64, m)
	var best float64
	if l := driftDot(line, line); l > 0 {
		b := driftDot(line, y) / l
		best = b * b * l
		for i, t := range d.t {
			change[i] = b * t
		}
	}
	// Squared length of the step less its mean day: each time of day gives
	// after·(all - after)/all.
	after := make([]float64, d.lag)
	var sum, den, shift float64
	at := -1
	lo := driftEdge(m)
	for i := m - 1; i >= lo; i-- {
		u := slot[i]
		den -= after[u] * (count[u] - after[u]) / count[u]
		after[u]++
		den += after[u] * (count[u] - after[u]) / count[u]
		sum += y[i]
		if i < m-lo && den > 1e-9 && sum*sum/den > best {
			best, at, shift = sum*sum/den, i, sum/den
		}
	}
	if at >= 0 {
		for i := range change {
			change[i] = 0
			if i >= at {
				change[i] = shift
			}
		}
	}
	rest := make([]float64, m)
	for i := range rest {
		rest[i] = x[i] - change[i]
	}
	_, mean := demean(rest)
	out := make([]float64, m)
	for i := range out {
		out[i] = x[i] - mean[slot[i]]
	}
	return out
}

// driftEWC is the mean of the squared loadings of r on the orthonormal cosines:
// the long-run variance (Lazarus, Lewis, Stock and Watson 2018).
func driftEWC(c [][]float64, r []float64) float64 {
	var s float64
	for _, v := range c {
		l := driftDot(v, r)
		s += l * l
	}
	return s / float64(len(c))
}
