package analyze

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Above manyDF expansions in 1/df reach the rounding of float64; above normalDF
// Student's t is the normal distribution.
const (
	manyDF   = 1e4
	normalDF = 1e12
)

// tP returns the two-sided p value of Student's t with df > 0 degrees of freedom, with
// its relative accuracy kept in the far tail: the incomplete beta function by its
// continued fraction (DLMF 8.17.22), from both its argument and the complement.
func tP(t, df float64) float64 {
	t = math.Abs(t)
	switch {
	case t == 0:
		return 1
	case t > 1e150:
		return 0
	case df >= normalDF:
		return math.Erfc(t / math.Sqrt2)
	case df >= manyDF:
		return math.Erfc(tToNormal(t, df) / math.Sqrt2)
	}
	a, b := df/2, 0.5
	y, x := df/(df+t*t), t*t/(df+t*t)
	front := math.Exp(-a*math.Log1p(t*t/df)+logGammaHalf(a)) * math.Sqrt(x/math.Pi)
	if y < (a+1)/(a+b+2) {
		return math.Min(1, front*betaFraction(a, b, y)/a)
	}
	return 1 - front*betaFraction(b, a, x)/b
}

// tToNormal maps t to the normal deviate with the same p (Hill 1970,
// Algorithm 395, CACM 13:617).
func tToNormal(t, df float64) float64 {
	a := df - 0.5
	b := 48 * a * a
	z := math.Sqrt(a * math.Log1p(t*t/df))
	z2 := z * z
	return z + z*(z2+3)/b - z*(((4*z2+33)*z2+240)*z2+855)/(10*b*(b+0.8*z2*z2+100))
}

// logGammaHalf returns log(Gamma(a+1/2)/Gamma(a)); the difference of two large
// logarithms would lose digits.
func logGammaHalf(a float64) float64 {
	if a > 20 {
		i := 1 / a
		j := i * i
		return 0.5*math.Log(a) - i*(1./8-j*(1./192-j*(1./640-j*17./14336)))
	}
	p, _ := math.Lgamma(a + 0.5)
	q, _ := math.Lgamma(a)
	return p - q
}

// betaFraction is the continued fraction of the incomplete beta function by Lentz's
// method; it converges in some sqrt(max(a, b)) steps for x < (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 { // from zero
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 10000; m++ {
		e := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+e*d)
		c = away(1 + e/c)
		f *= c * d
		e = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+e*d)
		c = away(1 + e/c)
		step := c * d
		f *= step
		if math.Abs(step-1) < 4e-16 {
			break
		}
	}
	return f
}

// tDensity returns the density of Student's t.
func tDensity(t, df float64) float64 {
	return math.Exp(logGammaHalf(df/2)-(df+1)/2*math.Log1p(t*t/df)) / math.Sqrt(df*math.Pi)
}

// tCritical returns the two-sided critical value: |T| exceeds it with probability
// alpha, in (0, 1). Hill's approximation gives a start, Newton's method the digits:
// on logarithms in the tail, where p is nearly a power of t.
func tCritical(alpha, df float64) float64 {
	if df >= normalDF {
		return -distuv.UnitNormal.Quantile(alpha / 2)
	}
	t := hillQuantile(alpha, df)
	if !(t > 0) || !isFinite(t) {
		t = -distuv.UnitNormal.Quantile(alpha / 2)
	}
	for range 60 {
		p, f := tP(t, df), 2*tDensity(t, df)
		var next float64
		if alpha > 0.5 {
			next = math.Max(t/8, t+(p-alpha)/f)
		} else {
			next = t * math.Exp(p/(t*f)*math.Log(p/alpha))
		}
		if !(next > 0) || !isFinite(next) {
			break
		}
		done := math.Abs(next-t) <= 1e-9*t // the next step would be below rounding
		t = next
		if done {
			break
		}
	}
	return t
}

// hillQuantile is Hill's approximation to the two-sided critical value (Hill 1970,
// doi:10.1145/355598.355600).
func hillQuantile(alpha, df float64) float64 {
	a := 1 / (df - 0.5)
	b := 48 / (a * a)
	c := ((20700*a/b-98)*a-16)*a + 96.36
	d := ((94.5/(b+c)-3)/b + 1) * math.Sqrt(a*math.Pi/2) * df
	y := math.Pow(d*alpha, 2/df)
	if y <= 0.05+a {
		y = ((1/(((df+6)/(df*y)-0.089*d-0.822)*(df+2)*3)+0.5/(df+4))*y-1)*(df+1)/(df+2) + 1/y
		return math.Sqrt(df * y)
	}
	x := distuv.UnitNormal.Quantile(alpha / 2)
	y = x * x
	if df < 5 {
		c += 0.3 * (df - 4.5) * (x + 0.6)
	}
	c = (((0.05*d*x-5)*x-7)*x-2)*x + b + c
	y = (((((0.4*y+6.3)*y+36)*y+94.5)/c-y-3)/b + 1) * x
	return math.Sqrt(df * math.Expm1(a*y*y))
}

// noncentralT returns P(T <= t) and P(T > t) of the noncentral t distribution with
// df > 0 degrees of freedom and noncentrality delta: T = (Z+delta)/S with S the
// square root of a chi-squared over its degrees of freedom.
//
// With u = log S the density of u is smooth on the whole line and falls off at
// least exponentially on both sides, so the trapezoid rule converges
// exponentially (Trefethen, Weideman 2014, doi:10.1137/130932132). The weights are
// normalised by their own sum, which removes the gamma function.
func noncentralT(t, df, delta float64) (lower, upper float64) {
	if df >= normalDF {
		return normalCDF(t - delta), normalCDF(delta - t)
	}
	// log density up to a constant: df*(u - (e^2u-1)/2), with its peak 0 at u = 0.
	const far = 42 // e^-42 is below the rounding of the result
	left := -math.Min(far/df+1, math.Sqrt(2*far/df)*1.5+far/df)
	right := math.Min(math.Sqrt(far/df), 0.5*math.Log(2*far/df+2)+1)
	width := math.Min(1/math.Sqrt(2*df), 1/(1+math.Max(math.Abs(t), math.Abs(delta))))
	width = math.Max(width, (right-left)/4000)
	h := math.Min(width, 0.5) / 3
	n := int(math.Ceil((right - left) / h))
	h = (right - left) / float64(n)
	var w, lo, up float64
	for i := 0; i <= n; i++ {
		u := left + float64(i)*h
		g := math.Exp(df * (u - math.Expm1(2*u)/2))
		z := t*math.Exp(u) - delta
		w += g
		lo += g * normalCDF(z)
		up += g * normalCDF(-z)
	}
	return lo / w, up / w
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// power returns the probability that a two-sided t test rejects when the statistic's
// noncentrality is ncp >= 0; critical is the test's critical value. It is
// noncentralT with fewer nodes, good to some 1e-9: a plan needs no more.
func power(ncp, df, critical float64) float64 {
	if df >= normalDF {
		return normalCDF(ncp-critical) + normalCDF(-ncp-critical)
	}
	const far = 23
	left := -math.Min(far/df+1, math.Sqrt(2*far/df)*1.5+far/df)
	right := math.Min(math.Sqrt(far/df), 0.5*math.Log(2*far/df+2)+1)
	h := math.Min(1/math.Sqrt(2*df), 1/(1+math.Max(critical, ncp)))
	h = math.Min(math.Max(h, (right-left)/2000)*0.6, 0.4)
	n := int(math.Ceil((right - left) / h))
	h = (right - left) / float64(n)
	var w, p float64
	s, step := math.Exp(left), math.Exp(h)
	for i := 0; i <= n; i, s = i+1, s*step {
		e := df * (left + float64(i)*h - (s*s-1)/2)
		if e < -far {
			continue
		}
		g := math.Exp(e)
		w += g
		p += g * normalCDF(ncp-critical*s)
		if other := ncp + critical*s; other < 6 {
			p += g * normalCDF(-other)
		}
	}
	return math.Min(1, p/w)
}

// chiSquaredQuantile returns the p quantile; for many degrees of freedom by Wilson and
// Hilferty (1931, doi:10.1073/pnas.17.12.684), whose error vanishes there.
func chiSquaredQuantile(p, df float64) float64 {
	if df > 1e7 {
		v := 2 / (9 * df)
		c := 1 - v + distuv.UnitNormal.Quantile(p)*math.Sqrt(v)
		return df * c * c * c
	}
	return distuv.ChiSquared{K: df}.Quantile(p)
}

// minDF is the least number of degrees of freedom that planning takes; less is no
// data.
const minDF = 0.1
