package analyze

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Fit is an ordinary least squares fit.
type Fit struct {
	Coef, SE  []float64 // a value a column; SE for independent errors of one variance
	Residuals []float64
	Sigma     float64 // residual standard deviation
	DF        int     // rows less columns
}

// LeastSquares fits y by the columns, each as long as y; a constant is a column like
// any other. Householder QR of the scaled columns, then refinement with residuals in
// twice the precision (Björck 1967, doi:10.1007/BF01939321), which keeps the digits of nearly
// collinear polynomials. ok is false if there are fewer rows than columns plus one,
// the columns are collinear to working precision, or a value is not finite.
//
// LeastSquares panics if lengths differ or there is no column.
func LeastSquares(y []float64, columns ...[]float64) (fit Fit, ok bool) {
	return leastSquares(y, columns, nil)
}

// Polynomial fits y by the powers 0 to degree of x, as LeastSquares does, with the
// powers in twice the working precision: their rounding alone would cost the last
// digits of a high degree. It panics if lengths differ or degree < 0.
func Polynomial(x, y []float64, degree int) (fit Fit, ok bool) {
	if degree < 0 {
		panic("analyze: Polynomial: negative degree")
	}
	columns, low := make([][]float64, degree+1), make([][]float64, degree+1)
	for j := range columns {
		columns[j], low[j] = make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			if j == 0 {
				columns[j][i] = 1
				continue
			}
			// (a+b)v, the error of the product kept.
			a, b := columns[j-1][i], low[j-1][i]
			p := a * v
			columns[j][i], low[j][i] = twoSum(p, math.FMA(a, v, -p)+b*v)
		}
	}
	return leastSquares(y, columns, low)
}

// leastSquares fits by columns+low; low may be nil.
func leastSquares(y []float64, columns, low [][]float64) (fit Fit, ok bool) {
	n, p := len(y), len(columns)
	if p == 0 {
		panic("analyze: LeastSquares: no column")
	}
	for j, c := range columns {
		if len(c) != n {
			panic(fmt.Sprintf("analyze: LeastSquares: column %d has %d rows, y has %d", j, len(c), n))
		}
	}
	if n < p+1 {
		return Fit{}, false
	}
	// Powers of two: scaling rounds nothing.
	scaleY, ok := columnScale(y)
	if !ok {
		return Fit{}, false
	}
	scale := make([]float64, p)
	x := blas64.General{Rows: n, Cols: p, Stride: p, Data: make([]float64, n*p)}
	for j, c := range columns {
		if scale[j], ok = columnScale(c); !ok {
			return Fit{}, false
		}
		for i, v := range c {
			x.Data[i*p+j] = v * scale[j]
		}
	}
	var xLo []float64
	if low != nil {
		xLo = make([]float64, n*p)
		for j, c := range low {
			for i, v := range c {
				xLo[i*p+j] = v * scale[j]
				ok = ok && isFinite(xLo[i*p+j])
			}
		}
	}
	q := factorize(x)
	if !(q.condition() < 1e15) {
		return Fit{}, false
	}
	b := make([]float64, n)
	for i, v := range y {
		b[i] = v * scaleY
	}
	coef, r, refined := q.refine(x, xLo, b)
	if !ok || !refined {
		return Fit{}, false
	}
	fit = Fit{Coef: coef, SE: make([]float64, p), Residuals: r, DF: n - p}
	var sum accumulator
	for i, v := range r {
		sum.add(v * v)
		r[i] = v / scaleY
		ok = ok && isFinite(r[i])
	}
	sigma := math.Sqrt(sum.sum() / float64(fit.DF))
	for j := range coef {
		// Row j of the inverse of R: its norm is the unscaled standard error.
		e := make([]float64, p)
		e[j] = 1
		q.solve(blas.Trans, e)
		var d accumulator
		for _, v := range e {
			d.add(v * v)
		}
		fit.SE[j] = sigma * math.Sqrt(d.sum()) * scale[j] / scaleY
		coef[j] = coef[j] * scale[j] / scaleY
		ok = ok && isFinite(fit.SE[j]) && isFinite(coef[j])
	}
	fit.Sigma = sigma / scaleY
	if !ok || !isFinite(fit.Sigma) {
		return Fit{}, false
	}
	return fit, true
}

// qr is a Householder factorisation.
type qr struct {
	a   blas64.General // R above, the reflectors below the diagonal
	tau []float64
}

func factorize(x blas64.General) qr {
	q := qr{a: x, tau: make([]float64, x.Cols)}
	q.a.Data = slices.Clone(x.Data)
	work := make([]float64, 1)
	lapack64.Geqrf(q.a, q.tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(q.a, q.tau, work, len(work))
	return q
}

func (q qr) upper() blas64.Triangular {
	return blas64.Triangular{N: q.a.Cols, Stride: q.a.Stride, Data: q.a.Data, Uplo: blas.Upper, Diag: blas.NonUnit}
}

func (q qr) condition() float64 {
	p := q.a.Cols
	return 1 / lapack64.Trcon(lapack.MaxColumnSum, q.upper(), make([]float64, 3*p), make([]int, p))
}

// multiply replaces v by Q v or its transpose.
func (q qr) multiply(t blas.Transpose, v []float64) {
	c := blas64.General{Rows: len(v), Cols: 1, Stride: 1, Data: v}
	work := make([]float64, 1)
	lapack64.Ormqr(blas.Left, t, q.a, q.tau, c, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Ormqr(blas.Left, t, q.a, q.tau, c, work, len(work))
}

// solve replaces v by the solution of R z = v or of its transpose.
func (q qr) solve(t blas.Transpose, v []float64) {
	blas64.Trsv(t, q.upper(), blas64.Vector{N: len(v), Inc: 1, Data: v})
}

// refine solves the least squares problem as the augmented system r + x z = b,
// x' r = 0 for both z and r: refining the coefficients alone stalls where the
// residuals are large. Both are kept in two words.
func (q qr) refine(x blas64.General, xLo, b []float64) (coef, r []float64, ok bool) {
	n, p := x.Rows, x.Cols
	z, zLo := make([]float64, p), make([]float64, p)
	r, rLo := make([]float64, n), make([]float64, n)
	f, g := slices.Clone(b), make([]float64, p)
	last := math.Inf(1)
	for range 15 {
		q.solve(blas.Trans, g) // g = R^-T g
		q.multiply(blas.Trans, f)
		d := make([]float64, p)
		for j := range d {
			d[j] = f[j] - g[j]
			f[j] = g[j]
		}
		q.solve(blas.NoTrans, d)
		q.multiply(blas.NoTrans, f)
		size := blas64.Nrm2(blas64.Vector{N: p, Inc: 1, Data: d})
		if !isFinite(size) || size > last/2 {
			break // no progress any more
		}
		last = size
		for j := range z {
			z[j], zLo[j] = addWord(z[j], zLo[j], d[j])
		}
		for i := range r {
			r[i], rLo[i] = addWord(r[i], rLo[i], f[i])
		}
		// What is still missing, in twice the working precision.
		sumG := make([]twofold, p)
		for i := range b {
			row := x.Data[i*p : (i+1)*p]
			t := twofold{b[i], 0}
			t.add(-r[i])
			t.lo -= rLo[i]
			for j, v := range row {
				t.addProduct(-v, z[j])
				t.lo -= v * zLo[j]
				sumG[j].addProduct(-v, r[i])
				sumG[j].lo -= v * rLo[i]
				if xLo != nil {
					t.lo -= xLo[i*p+j] * z[j]
					sumG[j].lo -= xLo[i*p+j] * r[i]
				}
			}
			f[i] = t.hi + t.lo
		}
		for j := range g {
			g[j] = sumG[j].hi + sumG[j].lo
		}
	}
	return z, r, isFinite(last)
}

// twofold is a number as the sum of two.
type twofold struct{ hi, lo float64 }

func (t *twofold) add(v float64) {
	s, e := twoSum(t.hi, v)
	t.hi, t.lo = s, t.lo+e
}

func (t *twofold) addProduct(a, b float64) {
	p := a * b
	t.add(p)
	t.lo += math.FMA(a, b, -p)
}

func addWord(hi, lo, d float64) (float64, float64) {
	s, e := twoSum(hi, d)
	return twoSum(s, lo+e)
}

// columnScale returns the power of two that brings the norm of x near 1.
func columnScale(x []float64) (float64, bool) {
	s, ok := scaleOf(x)
	if !ok {
		return 0, false
	}
	var q float64
	for _, v := range x {
		q += v * s * v * s
	}
	if q == 0 {
		return 1, true
	}
	_, e := math.Frexp(math.Sqrt(q))
	s = math.Ldexp(s, -e)
	return s, isFinite(s) && s > 0
}

// twoSum returns a+b and its rounding error.
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	z := s - a
	return s, (a - (s - z)) + (b - z)
}
