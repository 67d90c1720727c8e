package evaluatedrift

import (
	"math"
	"math/rand/v2"
)

// A noise fills x with one series of standard deviation 1, a value a bin.
type noise func(r *rand.Rand, x []float64)

// memory is first-order autoregressive noise with that decay time in bins; 0 is
// white.
func memory(bins float64) noise {
	phi := 0.0
	if bins > 0 {
		phi = math.Exp(-1 / bins)
	}
	s := math.Sqrt(1 - phi*phi)
	return func(r *rand.Rand, x []float64) {
		v := r.NormFloat64()
		for i := range x {
			if i > 0 {
				v = phi*v + s*r.NormFloat64()
			}
			x[i] = v
		}
	}
}

// averaged is first-order noise with that decay time in bins as a real soak has it:
// sampled ten times a bin, each bin the mean of its samples.
func averaged(bins float64) noise {
	const samples = 10
	phi := math.Exp(-1 / (samples * bins))
	s := math.Sqrt(1 - phi*phi)
	// The variance of a mean of correlated samples, so that the bins' is 1.
	v := 1.0
	for k := 1; k < samples; k++ {
		v += 2 * (1 - float64(k)/samples) * math.Pow(phi, float64(k))
	}
	scale := 1 / math.Sqrt(v/samples)
	return func(r *rand.Rand, x []float64) {
		a := r.NormFloat64()
		for i := range x {
			sum := 0.0
			for range samples {
				sum += a
				a = phi*a + s*r.NormFloat64()
			}
			x[i] = scale * sum / samples
		}
	}
}

// heavy is the same with innovations of Student's t with 3 degrees of freedom.
func heavy(bins float64) noise {
	phi := math.Exp(-1 / bins)
	s := math.Sqrt((1 - phi*phi) / 3)
	return func(r *rand.Rand, x []float64) {
		var v float64
		for i := -int(20 * bins); i < len(x); i++ {
			var c float64
			for range 3 {
				z := r.NormFloat64()
				c += z * z
			}
			v = phi*v + s*r.NormFloat64()/math.Sqrt(c/3)
			if i >= 0 {
				x[i] = v
			}
		}
	}
}

// fractional is long memory of order d in (0, 0.5), exact for n values
// (Durbin and Levinson).
func fractional(d float64, n int) noise {
	rho := make([]float64, n+1)
	rho[0] = 1
	for k := 1; k <= n; k++ {
		rho[k] = rho[k-1] * (float64(k) - 1 + d) / (float64(k) - d)
	}
	coef := make([][]float64, n)
	sd := make([]float64, n)
	v := 1.0
	sd[0] = 1
	for i := 1; i < n; i++ {
		coef[i] = make([]float64, i)
		a := rho[i]
		for j := 1; j < i; j++ {
			a -= coef[i-1][j-1] * rho[i-j]
		}
		a /= v
		for j := 1; j < i; j++ {
			coef[i][j-1] = coef[i-1][j-1] - a*coef[i-1][i-j-1]
		}
		coef[i][i-1] = a
		v *= 1 - a*a
		sd[i] = math.Sqrt(v)
	}
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			m := sd[i] * r.NormFloat64()
			for j, f := range coef[i] {
				m += f * x[i-1-j]
			}
			x[i] = m
		}
	}
}

// sawtooth rises for that many bins and falls back, and carries noise that
// remembers one bin.
func sawtooth(period int) noise {
	a := memory(1)
	return func(r *rand.Rand, x []float64) {
		a(r, x)
		p := r.Float64() * float64(period)
		for i := range x {
			s := math.Mod(float64(i)+p, float64(period))/float64(period) - 0.5
			x[i] = 0.6*x[i] + 0.8*math.Sqrt(12)*s
		}
	}
}

// mixed is noise with that memory under white noise of the same variance, as of
// a slow process seen through a noisy counter.
func mixed(bins float64) noise {
	a := memory(bins)
	return func(r *rand.Rand, x []float64) {
		a(r, x)
		for i := range x {
			x[i] = (x[i] + r.NormFloat64()) / math.Sqrt2
		}
	}
}

// square adds to a noise a daily square wave, high for three tenths of the day.
func square(a noise, day int, height float64) noise {
	return func(r *rand.Rand, x []float64) {
		a(r, x)
		p := r.IntN(day)
		for i := range x {
			if (i+p)%day < day*3/10 {
				x[i] += height
			}
		}
	}
}

// shocked is noise with that memory and one shock of that size, at a random
// place, from which it returns as from all others.
func shocked(bins, size float64) noise {
	a := memory(bins)
	return func(r *rand.Rand, x []float64) {
		a(r, x)
		at := r.IntN(len(x))
		for i := at; i < len(x); i++ {
			x[i] += size * math.Exp(-float64(i-at)/bins)
		}
	}
}

// teeth are those of a collector: they rise by 3.5 over about that many bins and
// fall back to near the same level.
func teeth(period int) noise {
	a := memory(1)
	return func(r *rand.Rand, x []float64) {
		a(r, x)
		n := period + r.IntN(5) - 2
		p := r.IntN(n)
		for i := range x {
			x[i] = 0.2*x[i] + 3.5*float64((i+p)%n)/float64(n)
		}
	}
}
