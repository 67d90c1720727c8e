package analyze

import "math"

// driftMaxPhi bounds the memory that is fitted: beyond it, a stationary noise
// cannot be told from a random walk on the bins of any soak here.
const driftMaxPhi = 0.995

// driftGroup are the bins that follow their predecessor at a distance of g bins,
// with the moments of the basis q at the design's gaps: a = Σ q(t)q(t)',
// b = Σ q(t)q(t-)' + q(t-)q(t)', c = Σ q(t-)q(t-)'.
type driftGroup struct {
	g       float64
	at      []int
	a, b, c []float64 // [dim*dim], lower triangle
}

// driftAR is a regression on the kept bins with first-order autoregressive
// errors. A gap of g bins enters as φ^g, which is exact for that process.
//
// The restricted likelihood needs only moments, quadratic in φ for each length
// of gap, so that a value of φ costs no pass over the data.
type driftAR struct {
	d      *driftDesign
	p      int // columns of q
	dim    int // p + 2: q, one more regressor, data
	groups []driftGroup
	chol   []float64
	first  []float64 // row 0 of all columns

	even       bool // no gaps
	w          [][]float64
	e          []float64 // whitened data, q removed
	scale, phi []float64 // scale: 1/sd of innovation i in units of σ; phi: φ^gap
}

func newDriftAR(d *driftDesign) *driftAR {
	m, p := len(d.t), len(d.q)
	a := &driftAR{d: d, p: p, dim: p + 2, even: true, e: make([]float64, m),
		scale: make([]float64, m), phi: make([]float64, m)}
	index := map[float64]int{}
	for i := 1; i < m; i++ {
		g := d.t[i] - d.t[i-1]
		if g != 1 {
			a.even = false
		}
		n, ok := index[g]
		if !ok {
			n = len(a.groups)
			index[g] = n
			a.groups = append(a.groups, driftGroup{g: g})
		}
		a.groups[n].at = append(a.groups[n].at, i)
	}
	for n := range a.groups {
		gr := &a.groups[n]
		gr.a, gr.b, gr.c = make([]float64, a.dim*a.dim), make([]float64, a.dim*a.dim), make([]float64, a.dim*a.dim)
		for i := range p {
			a.moment(gr, i, i, d.q[i], d.q[i])
			for j := range i {
				a.moment(gr, i, j, d.q[i], d.q[j])
			}
		}
	}
	a.chol = make([]float64, a.dim*a.dim)
	a.first = make([]float64, a.dim)
	for i := range p {
		a.first[i] = d.q[i][0]
	}
	for range p {
		a.w = append(a.w, make([]float64, m))
	}
	return a
}

func (a *driftAR) moment(gr *driftGroup, i, j int, x, y []float64) {
	var s0, s1, s2 float64
	for _, t := range gr.at {
		x0, x1, y0, y1 := x[t], x[t-1], y[t], y[t-1]
		s0 += x0 * y0
		s1 += x0*y1 + x1*y0
		s2 += x1 * y1
	}
	k := i*a.dim + j
	gr.a[k], gr.b[k], gr.c[k] = s0, s1, s2
}

// load takes the data and one more regressor, both [m].
func (a *driftAR) load(x, extra []float64) {
	a.column(a.p, extra, nil)
	a.column(a.p+1, x, extra)
}

func (a *driftAR) column(i int, v, extra []float64) {
	a.first[i] = v[0]
	for n := range a.groups {
		gr := &a.groups[n]
		for j := range a.p {
			a.moment(gr, i, j, v, a.d.q[j])
		}
		if extra != nil {
			a.moment(gr, i, a.p, v, extra)
		}
		a.moment(gr, i, i, v, v)
	}
}

// driftFit is a fit for one φ: the restricted and the full log likelihood up to
// a constant, the coefficient b of the extra regressor, the squared length den
// of its part orthogonal to the others and the residual sum of squares.
type driftFit struct{ rl, ll, b, den, rss float64 }

// at fits what was loaded for one φ. ok is false if the regressors are
// dependent.
func (a *driftAR) at(phi float64) (f driftFit, ok bool) {
	n, l := a.dim, a.chol
	s2 := 1 - phi*phi
	for i := range n {
		for j := range i + 1 {
			l[i*n+j] = s2 * a.first[i] * a.first[j]
		}
	}
	logw := 0.5 * math.Log(s2)
	for k := range a.groups {
		gr := &a.groups[k]
		r, w := phi, 1.0
		if gr.g != 1 {
			r = math.Pow(phi, gr.g)
			w = s2 / (1 - r*r)
			logw += 0.5 * math.Log(w) * float64(len(gr.at))
		}
		c1, c2 := -w*r, w*r*r
		for i := range n {
			for j := i * n; j <= i*n+i; j++ {
				l[j] += w*gr.a[j] + c1*gr.b[j] + c2*gr.c[j]
			}
		}
	}
	total := l[n*n-1]
	var logdet float64
	for i := range n {
		for j := range i + 1 {
			s := l[i*n+j]
			for k := range j {
				s -= l[i*n+k] * l[j*n+k]
			}
			if j < i {
				l[i*n+j] = s / l[j*n+j]
				continue
			}
			if i == n-1 {
				f.rss = max(s, 1e-18*total)
				continue
			}
			if !(s > 0) {
				return f, false
			}
			logdet += math.Log(s)
			l[i*n+i] = math.Sqrt(s)
		}
	}
	r := a.p*n + a.p
	f.den = l[r] * l[r]
	f.b = l[(n-1)*n+a.p] / l[r]
	if !(f.rss > 0) || math.IsNaN(f.b) || math.IsInf(f.b, 0) {
		return f, false
	}
	m := float64(len(a.e))
	lr := math.Log(f.rss)
	f.rl = -0.5*((m-float64(a.p+1))*lr+logdet) + logw
	f.ll = -0.5*m*lr + logw
	return f, true
}

// reml is the φ in [0, driftMaxPhi] of the greatest restricted likelihood for
// what was loaded. It is nearly unbiased where the moment estimator is not, with
// many regressors and near one (Cheang and Reinsel 2000).
func (a *driftAR) reml() float64 {
	f := func(u float64) float64 {
		r, ok := a.at(1 - math.Exp(-u))
		if !ok {
			return math.Inf(-1)
		}
		return r.rl
	}
	// u = -log(1-φ) spreads the values near one.
	lo, up := 0.0, -math.Log(1-driftMaxPhi)
	const g = 0.6180339887498949
	c, d := up-g*(up-lo), lo+g*(up-lo)
	fc, fd := f(c), f(d)
	for range 17 {
		if fc >= fd {
			up, d, fd = d, c, fc
			c = up - g*(up-lo)
			fc = f(c)
		} else {
			lo, c, fc = c, d, fd
			d = lo + g*(up-lo)
			fd = f(d)
		}
	}
	return 1 - math.Exp(-(lo+up)/2)
}

// set fixes φ for whiten.
func (a *driftAR) set(phi float64) {
	s2 := 1 - phi*phi
	a.phi[0], a.scale[0] = 0, math.Sqrt(s2)
	for _, gr := range a.groups {
		p, s := phi, 1.0
		if gr.g != 1 {
			p = math.Pow(phi, gr.g)
			s = math.Sqrt(s2 / (1 - p*p))
		}
		for _, i := range gr.at {
			a.phi[i], a.scale[i] = p, s
		}
	}
}

func (a *driftAR) whiten(dst, x []float64) {
	dst[0] = x[0] * a.scale[0]
	if a.even {
		p := a.phi[len(a.phi)-1]
		for i := 1; i < len(x); i++ {
			dst[i] = x[i] - p*x[i-1]
		}
		return
	}
	for i := 1; i < len(x); i++ {
		dst[i] = (x[i] - a.phi[i]*x[i-1]) * a.scale[i]
	}
}

// fit leaves in a.w an orthonormal basis of the whitened q and in a.e the
// whitened x without its part in it.
func (a *driftAR) fit(phi float64, x []float64) {
	a.set(phi)
	a.whiten(a.e, x)
	for j, v := range a.w {
		a.whiten(v, a.d.q[j])
		for _, u := range a.w[:j] {
			driftAxpy(-driftDot(u, v), u, v)
		}
		s := driftDot(v, v)
		if s > 0 {
			s = 1 / math.Sqrt(s)
		}
		for i := range v {
			v[i] *= s
		}
		driftAxpy(-driftDot(v, a.e), v, a.e)
	}
}

// steps gives, for each bin k in [lo, hi), the generalised least squares step at
// k after fit, the level of the data changing between k-1 and k: gain[k] is what
// it takes off the residual sum of squares.
//
// net and den are the same without the innovation at k: net the coefficient, den
// the inverse of its variance in units of σ². They compare the levels before and
// after and are blind to a mere jump of the process at k, from which it returns.
func (a *driftAR) steps(lo, hi int, gain, net, den []float64) {
	m, n := len(a.e), a.p
	var sy, sw float64 // sums over i > k of w·e and w²
	// 1 + 2·6 harmonics, and the steps fitted beside: 17 at most.
	var sqa, aqa [24]float64
	sq, aq := sqa[:n], aqa[:n]
	for i := m - 1; i >= lo; i-- {
		c := a.scale[i]
		num, dn := sy+c*a.e[i], sw+c*c
		var h, x float64 = 1, c
		for j := range n {
			v := a.w[j][i]
			q := sq[j] + c*v
			aq[j] = q
			dn -= q * q
			h -= v * v
			x -= v * q
		}
		if i < hi {
			if dn > 1e-9 {
				gain[i] = num * num / dn
			} else {
				gain[i] = 0
			}
			// Row i dropped from both sides: the regression with a dummy for it.
			if h > 1e-9 {
				num -= x * a.e[i] / h
				dn -= x * x / h
			}
			if dn > 1e-9 {
				net[i], den[i] = num/dn, dn
			} else {
				net[i], den[i] = 0, 0
			}
		}
		w := (1 - a.phi[i]) * c
		sy += w * a.e[i]
		sw += w * w
		for j := range n {
			sq[j] += w * a.w[j][i]
		}
	}
}
