package analyze

import (
	"math"
)

// contrast is the difference of two systems on one scale, with what is needed to
// test it, bound it and plan from it.
type contrast struct {
	log      bool // on logarithms: d is the log of a ratio
	d        float64
	se       float64 // 0: no variation, no test
	df       float64
	s        float64 // standard deviation of one run, for planning
	sdf      float64 // its degrees of freedom
	method   string  // "welch", "welch-cochran", "ols-slot", "paired", "stein", ...
	paired   bool
	nA, nB   int
	parts    *[4]float64 // cochran: variances of the two means, their degrees of freedom
	unscaled float64     // se over s, where they are in proportion
	lost     float64     // degrees of freedom taken by covariates
	prior    bool        // s and df lean on the metrics of its class
}

func (c *contrast) name() string {
	if c.log {
		return c.method + "-log"
	}
	return c.method
}

func (c *contrast) tested() bool { return c.se > 0 && c.df > 0 }

// critical returns the two-sided critical value of |d|/se at alpha.
func (c *contrast) critical(alpha float64) float64 {
	if c.parts == nil {
		return tCritical(alpha, c.df)
	}
	p := c.parts
	cochran := p[0]*tCritical(alpha, p[2]) + p[1]*tCritical(alpha, p[3])
	if min(p[2], p[3]) < 2 {
		return cochran
	}
	return math.Sqrt(cochran * tCritical(alpha, c.df))
}

// p returns the two-sided p value. Cochran's statistic has no distribution of its
// own: its p is the alpha whose critical value is the statistic, which lies between
// those of t with the most and the fewest degrees of freedom.
func (c *contrast) p() float64 {
	t := math.Abs(c.d) / c.se
	if c.parts == nil {
		return tP(t, c.df)
	}
	least := tP(t, max(c.df, c.parts[2], c.parts[3]))
	most := tP(t, min(c.df, c.parts[2], c.parts[3]))
	if !(least > 1e-290) || !(most < 1) {
		return most
	}
	return math.Exp(root(func(log float64) float64 { return t - c.critical(math.Exp(log)) }, math.Log(least), math.Log(most)))
}

func (c *contrast) interval(level float64) (lo, hi float64) {
	h := c.critical(1-level) * c.se
	return c.d - h, c.d + h
}

// planDF returns the degrees of freedom that the same design has with n runs a side.
func (c *contrast) planDF(n int) float64 {
	if c.paired {
		return float64(n) - 1
	}
	return 2*float64(n) - 2 - c.lost
}

// side is one system's run values on the scale of the comparison.
type side struct {
	y    []float64
	slot []int // position in the executed order; nil: unknown
}

// design is how the runs of two systems lie in time.
type design int

const (
	designUnknown      design = iota // no order known
	designBlocks                     // all runs of one system before those of the other
	designInterleaved                // mixed: order and system can be told apart
	designSimultaneous               // every run has a partner at the same time
)

// designOf reads the design from the executed order. Runs at the same time share a
// slot.
func designOf(a, b []int) design {
	if a == nil || b == nil || len(a) == 0 || len(b) == 0 {
		return designUnknown
	}
	owner := make(map[int]int, len(a)+len(b)) // 1: a, 2: b, 3: both
	for _, s := range a {
		if s < 0 || owner[s] != 0 {
			return designUnknown
		}
		owner[s] = 1
	}
	shared := 0
	for _, s := range b {
		if s < 0 || owner[s] >= 2 {
			return designUnknown
		}
		shared += owner[s]
		owner[s] += 2
	}
	switch {
	case shared == len(a) && shared == len(b):
		return designSimultaneous
	case shared > 0:
		return designUnknown
	}
	minA, maxA := extremes(a)
	minB, maxB := extremes(b)
	if maxA < minB || maxB < minA {
		return designBlocks
	}
	return designInterleaved
}

func extremes(x []int) (lo, hi int) {
	lo, hi = x[0], x[0]
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// contrastOf compares a with b, choosing the estimator by the design. pilot > 0 says
// that the first pilot values of each side decided how many more followed. ok is
// false if a side has fewer than two values or the arithmetic leaves float64.
func contrastOf(a, b side, log bool, pilot int) (c contrast, ok bool) {
	c = contrast{log: log, nA: len(a.y), nB: len(b.y)}
	if c.nA < 2 || c.nB < 2 {
		return c, false
	}
	mA, vA, okA := MeanVariance(a.y)
	mB, vB, okB := MeanVariance(b.y)
	if !okA || !okB {
		return c, false
	}
	if constant(a.y) {
		vA = 0
	}
	if constant(b.y) {
		vB = 0
	}
	nA, nB := float64(c.nA), float64(c.nB)
	c.d = mA - mB
	c.sdf = nA + nB - 2
	c.s = math.Sqrt(((nA-1)*vA + (nB-1)*vB) / c.sdf)
	switch kind := designOf(a.slot, b.slot); {
	case pilot >= 2 && pilot <= min(c.nA, c.nB) && (pilot < c.nA || pilot < c.nB):
		c.stein(a.y, b.y, pilot)
	case kind == designSimultaneous:
		c.pairedT(a, b)
	case kind == designInterleaved && min(c.nA, c.nB) >= 3 && max(c.nA, c.nB) < 3*min(c.nA, c.nB):
		c.slotOLS(a, b)
	default:
		c.welch(vA/nA, vB/nB)
	}
	return c, isFinite(c.d) && isFinite(c.se) && isFinite(c.df)
}

// welch sets the unequal variance t test (Welch 1947, doi:10.1093/biomet/34.1-2.28).
// With group sizes of 3:1 and more its approximate degrees of freedom are too many
// when the small group is the noisy one: 95 % intervals cover 92 %, of two against
// ten runs 88 %. Cochran's weighted critical value (Cochran 1964,
// Biometrics 20:191) hardly ever covers less than 95 %, and is up to 1.3 times as wide.
// The geometric mean of the two covers 94 to 97 %; with two runs on a side it is
// Cochran's alone.
func (c *contrast) welch(vA, vB float64) {
	dfA, dfB := float64(c.nA-1), float64(c.nB-1)
	c.method = "welch"
	c.se = math.Sqrt(vA + vB)
	c.unscaled = math.Sqrt(1/float64(c.nA) + 1/float64(c.nB)) // of equal n
	if c.se == 0 {
		return
	}
	fA := vA / (vA + vB) // shares first: squares of tiny variances vanish
	fB := vB / (vA + vB)
	c.df = 1 / (fA*fA/dfA + fB*fB/dfB)
	if max(c.nA, c.nB) >= 3*min(c.nA, c.nB) {
		c.method = "welch-cochran"
		c.parts = &[4]float64{fA, fB, dfA, dfB}
	}
}

// pairedT sets the t test on the differences of runs at the same time.
func (c *contrast) pairedT(a, b side) {
	at := make(map[int]float64, len(b.y))
	for i, s := range b.slot {
		at[s] = b.y[i]
	}
	diff := make([]float64, len(a.y))
	for i, s := range a.slot {
		diff[i] = a.y[i] - at[s]
	}
	m, v, ok := MeanVariance(diff)
	n := float64(len(diff))
	c.method, c.paired = "paired", true
	if !ok {
		c.se = math.Inf(1)
		return
	}
	if negligible(v, a.y, b.y, c.log) {
		v = 0
	}
	c.d, c.se, c.df = m, math.Sqrt(v/n), n-1
	c.s, c.sdf = math.Sqrt(v/2), n-1
}

// slotOLS sets the t test of the system's coefficient in a least squares fit on
// system and position in the executed order, which takes a linear drift of the
// machine out of the difference. Residuals are independent, of one variance; from five
// runs a side on each system has its own, with degrees of freedom as Welch's. The order
// is centred, so the normal equations are well conditioned.
func (c *contrast) slotOLS(a, b side) {
	n := float64(c.nA + c.nB)
	var origin float64 // of the slots: distances are small whole numbers
	for _, s := range a.slot {
		origin += float64(s)
	}
	for _, s := range b.slot {
		origin += float64(s)
	}
	origin /= n
	shareA := float64(c.nA) / n
	var sss, szs, mA, mB accumulator
	for _, s := range a.slot {
		t := float64(s) - origin
		sss.add(t * t)
		szs.add(t)
	}
	for _, s := range b.slot {
		t := float64(s) - origin
		sss.add(t * t)
	}
	meanA, _ := Mean(a.y)
	meanB, _ := Mean(b.y)
	szz := n * shareA * (1 - shareA)
	// Within-group sums are enough: the system's column is constant in a group.
	slotA, slotB := szs.sum()/float64(c.nA), -szs.sum()/float64(c.nB)
	within := sss.sum() - szs.sum()*szs.sum()/szz
	for i, s := range a.slot {
		mA.add((float64(s) - origin - slotA) * (a.y[i] - meanA))
	}
	for i, s := range b.slot {
		mB.add((float64(s) - origin - slotB) * (b.y[i] - meanB))
	}
	drift := (mA.sum() + mB.sum()) / within
	c.method = "ols-slot"
	c.d = meanA - meanB - drift*(slotA-slotB)
	// The residual sum of squares of each group, its share of the slope's degree of
	// freedom, and the weight of its variance in that of the difference.
	group := func(s side, mean, slot float64) (rss, share, weight float64) {
		var q accumulator
		m := float64(len(s.y))
		for i, at := range s.slot {
			t := float64(at) - origin - slot
			r := s.y[i] - mean - drift*t
			q.add(r * r)
			share += t * t / within
			w := 1/m + (slotA-slotB)*t/within // t sums to 0: the sign is the same for both
			weight += w * w
		}
		return q.sum(), share, weight
	}
	rA, hA, wA := group(a, meanA, slotA)
	rB, hB, wB := group(b, meanB, slotB)
	v := (rA + rB) / (n - 3)
	if negligible(v, a.y, b.y, c.log) {
		return // se stays 0
	}
	c.unscaled = math.Sqrt(1/float64(c.nA) + 1/float64(c.nB) + (slotA-slotB)*(slotA-slotB)/within)
	c.se, c.df = math.Sqrt(v)*c.unscaled, n-3
	c.s, c.sdf, c.lost = math.Sqrt(v), n-3, 1
	if min(c.nA, c.nB) >= splitRuns {
		dfA, dfB := float64(c.nA)-1-hA, float64(c.nB)-1-hB
		vA, vB := wA*rA/dfA, wB*rB/dfB
		fA, fB := vA/(vA+vB), vB/(vA+vB)
		c.se, c.df = math.Sqrt(vA+vB), 1/(fA*fA/dfA+fB*fB/dfB)
	}
}

// splitRuns is from how many runs a side each system has a variance of its own beside
// a slope: with fewer, the degrees of freedom it costs are worth more than its safety.
const splitRuns = 5

// stein sets the two-stage t test: the standard deviation and its degrees of freedom
// are the pilot's alone, because the pilot decided how many runs followed (Stein
// 1945, doi:10.1214/aoms/1177731088).
func (c *contrast) stein(a, b []float64, pilot int) {
	_, vA, _ := MeanVariance(a[:pilot])
	_, vB, _ := MeanVariance(b[:pilot])
	v := (vA + vB) / 2
	if negligible(v, a, b, c.log) {
		v = 0
	}
	c.method = "stein"
	c.se = math.Sqrt(v * (1/float64(c.nA) + 1/float64(c.nB)))
	c.df = float64(2*pilot - 2)
	c.s, c.sdf = math.Sqrt(v), c.df
}

// negligible reports whether the variance v is rounding only. Logarithms carry the
// relative rounding of their argument as an absolute one.
func negligible(v float64, a, b []float64, log bool) bool {
	var m float64
	if log {
		m = 1
	}
	for _, y := range a {
		m = math.Max(m, math.Abs(y))
	}
	for _, y := range b {
		m = math.Max(m, math.Abs(y))
	}
	return math.Sqrt(v) <= 1e-14*m
}
