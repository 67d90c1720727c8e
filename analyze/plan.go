package analyze

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MDE returns the smallest true difference that a two-sided t test at alpha finds
// with probability power, in the unit of se: the standard error of the difference,
// which has df degrees of freedom. It solves the noncentral t distribution (Student's
// t under an alternative: Johnson, Welch 1940, doi:10.1093/biomet/31.3-4.362) and
// takes se as the truth. ok is false if se is not positive, df below .1, or the answer
// not finite.
//
// MDE panics unless alpha and power lie in (0, 1).
func MDE(se, df, alpha, power float64) (difference float64, ok bool) {
	mustShare("alpha", alpha)
	mustShare("power", power)
	if df > normalDF {
		df = normalDF
	}
	if !(se > 0) || !(df >= minDF) || !isFinite(se) || alpha >= power {
		return 0, false
	}
	difference = se * newPlanner(alpha, power).noncentrality(df)
	return finiteOr0(difference)
}

// planner solves plans for one alpha and power, and keeps what they share.
type planner struct {
	alpha, want float64
	critical    map[float64]float64 // by degrees of freedom
	ncp         map[float64]float64
}

func newPlanner(alpha, want float64) *planner {
	return &planner{alpha, want, make(map[float64]float64), make(map[float64]float64)}
}

func (p *planner) crit(df float64) float64 {
	c, ok := p.critical[df]
	if !ok {
		c = tCritical(p.alpha, df)
		p.critical[df] = c
	}
	return c
}

// noncentrality returns the noncentrality at which the two-sided t test reaches the
// wanted power.
func (p *planner) noncentrality(df float64) float64 {
	if n, ok := p.ncp[df]; ok {
		return n
	}
	c := p.crit(df)
	at := func(ncp float64) float64 { return power(ncp, df, c) - p.want }
	lo, hi := 0.0, c+4
	for at(hi) < 0 && hi < 1e300 {
		lo, hi = hi, 2*hi
	}
	n := root(at, lo, hi)
	p.ncp[df] = n
	return n
}

// root returns the zero of the increasing f in [lo, hi] by regula falsi with the
// Illinois step, which keeps the bracket.
func root(f func(float64) float64, lo, hi float64) float64 {
	flo, fhi := f(lo), f(hi)
	side := 0
	for range 100 {
		if hi-lo <= 1e-10*(math.Abs(lo)+math.Abs(hi)) || fhi == flo {
			break
		}
		x := (lo*fhi - hi*flo) / (fhi - flo)
		if !(x > lo && x < hi) {
			x = (lo + hi) / 2
		}
		fx := f(x)
		switch {
		case fx == 0:
			return x
		case fx < 0:
			lo, flo = x, fx
			if side == -1 {
				fhi /= 2
			}
			side = -1
		default:
			hi, fhi = x, fx
			if side == 1 {
				flo /= 2
			}
			side = 1
		}
		if math.Abs(fx) < 1e-11 {
			return x
		}
	}
	return (lo + hi) / 2
}

// SDUpper returns the upper confidence limit, one-sided at level, of a standard
// deviation s estimated with df degrees of freedom from normal data:
// s*sqrt(df/chi2), chi2 the (1-level) quantile. SDUpper panics unless level lies in
// (0, 1). ok is false if s or df is not positive.
func SDUpper(s, df, level float64) (upper float64, ok bool) {
	mustShare("level", level)
	if !(s > 0) || !(df >= minDF) || df > normalDF || !isFinite(s) {
		return 0, false
	}
	upper = s * math.Sqrt(df/chiSquaredQuantile(1-level, df))
	return finiteOr0(upper)
}

// maxRunsNeeded is where a plan is no plan any more.
const maxRunsNeeded = 100_000

// RunsNeeded returns how many runs each of two systems needs so that a two-sided t
// test at alpha finds a true difference with probability power. s is the standard
// deviation of a run in the unit of difference, estimated with df degrees of
// freedom; the plan uses its upper 80 % limit, because half of all plans from s
// itself would be too small. ok is false if no plan of up to 100,000 runs does it, or
// s, df or difference is not positive.
//
// RunsNeeded panics unless alpha and power lie in (0, 1).
func RunsNeeded(difference, s, df, alpha, power float64) (runs int, ok bool) {
	mustShare("power", power)
	mustShare("alpha", alpha)
	upper, ok := SDUpper(s, df, 0.8)
	if !ok || !(difference > 0) {
		return 0, false
	}
	return newPlanner(alpha, power).runs(difference/upper, func(n int) float64 { return 2*float64(n) - 2 })
}

// runs solves the plan for an effect in standard deviations of one run; df says how
// many degrees of freedom n runs a side leave.
func (p *planner) runs(effect float64, df func(n int) float64) (int, bool) {
	enough := func(n int) bool {
		d := df(n)
		return d > 0 && power(effect*math.Sqrt(float64(n)/2), d, p.crit(d)) >= p.want
	}
	// The normal plan is a few runs short of that of t: step up from there.
	z := distuv.UnitNormal.Quantile(1-p.alpha/2) + distuv.UnitNormal.Quantile(p.want)
	guess := 2 * (z / effect) * (z / effect)
	if !(guess < 2*maxRunsNeeded) {
		return 0, false
	}
	hi := max(2, int(guess))
	lo := hi - 1
	for step := 1; lo > 1 && enough(lo); step *= 2 {
		hi, lo = lo, max(1, lo-step)
	}
	for step := 1; !enough(hi); step *= 2 {
		lo, hi = hi, hi+step
		if hi > 2*maxRunsNeeded {
			return 0, false
		}
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, hi <= maxRunsNeeded
}

func mustShare(name string, v float64) {
	if !(v > 0 && v < 1) {
		panic("analyze: " + name + " outside (0, 1)")
	}
}

// ExtendedRuns returns how many runs each of two systems needs in all, those of the
// pilot a and b included, so that the two-stage interval at level has at most the
// half width log(1+margin) of the ratio (of values not all positive: margin times the
// mean of b): max(n0, 2(t s/h)^2), t and s from the pilot of n0 runs a side (Stein 1945,
// doi:10.1214/aoms/1177731088). The rule looks at the spread only, never at the
// difference, and may be used once: give n0 as Metric.Pilot with the extended set.
// Extended whenever the rule asks for it, the test rejects at most 5 % of equal systems;
// extended only where the first verdict is undecided, up to 6.6 %. Any other second look needs fresh
// runs. Normal run values of one variance.
//
// ok is false if the sides differ in length, have fewer than two runs or no
// variation, or more than 100,000 runs would be needed. ExtendedRuns panics unless
// level lies in (0, 1) and margin is positive.
func ExtendedRuns(a, b []float64, margin, level float64) (runs int, ok bool) {
	mustShare("level", level)
	if !(margin > 0) {
		panic("analyze: margin not positive")
	}
	n0 := len(a)
	if len(b) != n0 || n0 < 2 {
		return 0, false
	}
	h := math.Log1p(margin)
	if positive(a) && positive(b) {
		a, b = logs(a), logs(b)
	} else {
		m, _ := Mean(b)
		h = margin * math.Abs(m)
	}
	_, vA, okA := MeanVariance(a)
	_, vB, okB := MeanVariance(b)
	v := vA/2 + vB/2
	if !okA || !okB || !(v > 0) || !(h > 0) {
		return 0, false
	}
	t := tCritical(1-level, float64(2*n0-2))
	n := math.Max(float64(n0), math.Ceil(2*(t*t)*(v/h/h)))
	if !(n <= maxRunsNeeded) {
		return 0, false
	}
	return int(n), true
}

// NoiseFloor returns, in percent, the difference between two sets of n runs of the
// same system that chance exceeds with probability alpha: what an A/A test would show.
// x are run values of that system, all positive; independent and roughly normal on
// logarithms. ok is false with fewer than two values, one not positive, or no
// variation. NoiseFloor panics unless n >= 1 and alpha lies in (0, 1).
func NoiseFloor(x []float64, n int, alpha float64) (percent float64, ok bool) {
	mustShare("alpha", alpha)
	if n < 1 {
		panic("analyze: NoiseFloor: n below 1")
	}
	if len(x) < 2 || !positive(x) || constant(x) {
		return 0, false
	}
	_, v, ok := MeanVariance(logs(x))
	percent = 100 * math.Expm1(tCritical(alpha, float64(len(x)-1))*math.Sqrt(v)*math.Sqrt(2/float64(n)))
	if !ok {
		return 0, false
	}
	return finiteOr0(percent)
}

// finiteOr0 returns v, or 0 and false if it is not finite.
func finiteOr0(v float64) (float64, bool) {
	if !isFinite(v) {
		return 0, false
	}
	return v, true
}

func positive(x []float64) bool {
	for _, v := range x {
		if !(v > 0) || !isFinite(v) {
			return false
		}
	}
	return true
}
