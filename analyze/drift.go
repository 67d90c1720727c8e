package analyze

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// DriftKind says which value of a bin is judged and against which gate.
type DriftKind int

const (
	// DriftGauge judges the medians of the bins; gate 1 %.
	DriftGauge DriftKind = iota
	// DriftThroughput judges the means, which a stalled second lowers and a
	// median does not, and keeps the medians as a companion; gate 1 %.
	DriftThroughput
	// DriftMemory judges the medians, in bytes, and the lower envelope of a
	// saw-tooth; gate 50 MB.
	DriftMemory
)

// DriftSeries is one metric of one soak.
type DriftSeries struct {
	Bins DriftBins
	Kind DriftKind

	// The practical gate: a change that is smaller does not matter. GateAbsolute,
	// in the unit of the data, wins over Gate, a fraction of the level; 0 stands
	// for the default of the kind.
	Gate, GateAbsolute float64
}

// DriftOptions are the choices for a batch.
type DriftOptions struct {
	Alpha       float64 // level of the tests and of the false discovery rate; 0 is 0.01
	Alone       bool    // judge each series by itself: Q is P
	NoTheilSen  bool    // leave out the Theil-Sen companion, the slowest part
	NoSteps     bool    // do not look for further steps
	NoHarmonics bool    // keep the daily cycle in: for runs known to have none
}

// DriftInterval is an estimate with the bounds of an interval. If it is not
// Known, the other fields mean nothing and are 0.
type DriftInterval struct {
	Value, Lo, Hi float64
	Level         float64 // confidence level, in (0, 1); 0: no bounds, Lo = Hi = Value
	Known         bool
}

// DriftTime is a time in ns with the bounds of a 95 % confidence set.
type DriftTime struct {
	NS, LoNS, HiNS int64
	Known          bool
}

// DriftStep is one change of level.
type DriftStep struct {
	Onset DriftTime
	Shift DriftInterval // change of the level in the unit of the data, 95 %
	P     float64       // of the step test on the segment that holds it
}

// The verdicts and shapes of a soak.
const (
	DriftFound     = "drift"
	DriftSteady    = "steady"
	DriftUndecided = "undecided"

	DriftShapeStep    = "step"
	DriftShapeTrend   = "trend" // gradual, or several steps
	DriftShapeUnclear = "unclear"
)

// DriftVerdict is the judgement of one metric. All changes are in the unit of
// the data, percentages of the level before the change.
type DriftVerdict struct {
	Verdict string // "drift", "steady" or "undecided"
	Shape   string // of a drift: "step", "trend" or "unclear"; else empty

	N            int     // bins used
	DailyRemoved bool    // the daily cycle was estimated and removed
	Phi          float64 // correlation of the noise from bin to bin, around the shape that fits best
	Memory       float64 // its decay time in seconds

	Known         bool    // false: no test was possible, the p-values are 1
	PTrend, PStep float64 // of the two tests alone
	PLeak         float64 // of the lower envelope, 1 where there is none
	P             float64 // of the metric: smallest of them, weighted
	Q             float64 // P adjusted for the metrics of the batch (Benjamini and Hochberg)

	Change   DriftInterval // the change judged: of level for a step, else in total; 95 %
	Percent  DriftInterval // the same in percent
	Total    DriftInterval // change of the fitted line from first to last, 90 %: the test of "steady"
	PerDay   DriftInterval // slope per day, 95 %
	TheilSen DriftInterval // slope per day, median of all pairs of bins less their daily cycle; no bounds
	Median   DriftInterval // throughput: the change in percent seen by the medians; no bounds
	Onset    DriftTime     // of a step: first bin after it; else not known
	Steps    []DriftStep   // all steps, in order of time, where the shape is a step
	Leak     *DriftLeakResult

	Gate       float64 // the practical gate in the unit of the data; 0: none
	MDE        float64 // change in total that this soak would have found, judged alone, with probability 0.8; 0: not known
	MDEPercent float64 // the same in percent; 0: not known

	Zeros    int // rows of value 0
	Warnings []error
}

// driftLeakShare is the part of the error probability for the lower envelope,
// where there is one.
const driftLeakShare = 0.1

// shares divides the error probability between the tests of a trend and of a
// step. More goes to the trend because it needs it more: a step is seen by its
// level and by its jump. Memory leaks as a trend.
func (k DriftKind) shares() (trend, step float64) {
	if k == DriftMemory {
		return 0.85, 0.15
	}
	return 0.6, 0.4
}

// safety divides the error probability of a test: by 1.2 for the error of the
// simulated tables, and by up to as much as long where the noise remembers long.
// The longer the memory, the more rests on the model of it, and the less a gate
// on the size of the change protects. Not for memory, whose gate is apart from
// its noise and where a leak missed costs more than a look.
func (k DriftKind) safety(phi, long float64) float64 {
	if k == DriftMemory {
		return 1
	}
	return 1.2 + (long-1.2)*driftLong(phi)
}

// A step is seen from near as well as from afar, and rests less on the memory.
const (
	driftSafetyTrend = 2.5
	driftSafetyStep  = 2
)

// Drift judges every metric of a soak: did it drift, is it steady, or can this
// soak not tell? The result has one verdict for each series, in order.
//
// Each series is 60 bins or more. If the soak lasts 48 h, three harmonics of a
// day are part of the model; from 12 h on, a change must be found with one and
// with none. Two tests share the error probability.
//
// Noise of first order within the bins is not of first order between their means: the
// average of each adds a moving average (Working 1960, doi:10.2307/1907574). Where the
// likelihood says so, it is taken out first.
//
//   - Trend: generalised least squares under noise with a first-order memory that
//     is estimated by restricted maximum likelihood (Cheang and Reinsel 2000),
//     with critical values simulated for that estimate.
//   - Step: the greatest difference in level before and after any place, by the
//     same means. Or: an innovation that stands out from the tail of the others
//     (Hill 1975, Weissman 1978) names the place, and the difference in level
//     there, that innovation left out, is tested alone.
//
// Where the innovations left over are still correlated (Robinson 1994), as in
// long memory, both give way to least squares with the long-run variance from 8
// cosines (Lazarus, Lewis, Stock and Watson 2018) and to the CUSUM with it,
// against critical values of fractional noise.
//
// Of gauges and memory, bins far off their neighbours, three in a row at most,
// are set aside as episodes and counted in a warning; of throughput they stay, as
// a stall is part of it. Memory is also judged by the lower envelope of its
// saw-tooth, [DriftLeak].
//
// "drift": the false discovery rate over the batch admits it and the change
// reaches the gate. "steady": no test rejects and the 90 % interval of the total
// change lies inside the gate. Else "undecided". The result is a function of the
// arguments alone, whatever their order.
//
// Assumptions: noise that is stationary around its level. A random walk cannot
// be told from drift by any test; a warning says when the noise comes near it.
// A daily cycle of a shape rougher than three harmonics is replaced by the mean
// day, fitted beside the change.
func Drift(series []DriftSeries, opt DriftOptions) []DriftVerdict {
	alpha := opt.Alpha
	if !(alpha > 0 && alpha < 1) {
		alpha = 0.01
	}
	var cache, cycle driftCache
	out := make([]DriftVerdict, len(series))
	work := make([]driftJudge, len(series))
	for i, s := range series {
		work[i] = driftJudge{s: s, opt: opt, alpha: alpha, v: &out[i], cache: &cache, cycle: &cycle}
		work[i].test()
	}
	if opt.Alone {
		for i := range out {
			out[i].Q = out[i].P
		}
	} else {
		driftAdjust(out)
	}
	for i := range work {
		work[i].decide()
	}
	return out
}

// driftAdjust sets Q by Benjamini and Hochberg over the metrics tested.
func driftAdjust(v []DriftVerdict) {
	var idx []int
	for i := range v {
		if v[i].Known {
			idx = append(idx, i)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		switch {
		case v[a].P < v[b].P:
			return -1
		case v[a].P > v[b].P:
			return 1
		}
		return 0
	})
	q := 1.0
	for r := len(idx); r > 0; r-- {
		i := idx[r-1]
		q = min(q, v[i].P*float64(len(idx))/float64(r))
		v[i].Q = q
	}
}

// driftCache keeps the design of the times last seen: the metrics of a soak
// mostly share theirs.
type driftCache struct {
	t         []float64
	span, day float64
	harmonics int
	w         *driftWork
	pairs     []float64 // scratch for Theil-Sen
}

func (c *driftCache) work(t []float64, span, day float64, harmonics int) *driftWork {
	if c.w == nil || c.span != span || c.day != day || c.harmonics != harmonics || !slices.Equal(c.t, t) {
		c.t, c.span, c.day, c.harmonics = slices.Clone(t), span, day, harmonics
		c.w = newDriftWork(newDriftDesign(t, span, day, harmonics))
	}
	return c.w
}

// driftJudge is the judgement of one series, in two parts: the batch is adjusted
// between them.
type driftJudge struct {
	s     DriftSeries
	opt   DriftOptions
	alpha float64
	v     *DriftVerdict
	cache *driftCache
	cycle *driftCache // for the single harmonic

	t, x    []float64 // the bins used
	mean    float64   // of x, before episodes are set aside
	percent float64   // of the level, in a unit of the data; 0: not known
	medians []float64
	span    float64
	day     float64 // in bins
	k       int     // harmonics

	stat         DriftStatistic
	single       bool // a day may hide in it, and be too short to remove
	rough        bool // the mean day was removed
	longT, longS bool // long memory around the line, around the step
	rowT, rowS   []float64
	edge         float64 // log likelihood of the step over the line, penalised
}

func (j *driftJudge) warn(e error) { j.v.Warnings = append(j.v.Warnings, e) }

// pick keeps the bins that are known and finite.
func (j *driftJudge) pick() {
	b := j.s.Bins
	n := len(b.Mean)
	if len(b.Median) != n || len(b.Known) != n {
		panic("analyze: bins differ in length")
	}
	x, other := b.Median, b.Mean
	if j.s.Kind == DriftThroughput {
		x, other = other, x
	}
	first, last := -1, -1
	bad := false
	for i, ok := range b.Known {
		if !ok {
			continue
		}
		if v := x[i] + other[i]; math.IsNaN(v) || math.IsInf(x[i], 0) || math.IsInf(other[i], 0) {
			bad = true
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		// Of daily phase only the difference matters: the start may be bin 0.
		j.t = append(j.t, float64(i))
		j.x = append(j.x, x[i])
		j.medians = append(j.medians, other[i])
	}
	if bad {
		j.warn(errDriftFinite)
	}
	if b.Late > 0 {
		j.warn(errDriftLate)
	}
	if first >= 0 {
		for i := range j.t {
			j.t[i] -= float64(first)
		}
		j.span = float64(last - first + 1)
	}
	j.v.N, j.v.Zeros = len(j.x), b.Zeros
	if first > 0 {
		j.s.Bins.StartNS += int64(first) * b.WidthNS
	}
}

func (j *driftJudge) test() {
	v := j.v
	v.Verdict = DriftUndecided
	v.PTrend, v.PStep, v.PLeak, v.P, v.Q = 1, 1, 1, 1, 1
	j.pick()
	if len(j.x) < 60 {
		j.warn(errDriftShort)
		return
	}
	if float64(len(j.x)) < 0.8*j.span {
		j.warn(errDriftMissing)
	}
	j.day = float64(driftDay) / float64(j.s.Bins.WidthNS)
	switch {
	case j.opt.NoHarmonics:
	// The last bin of 48 h may be missing.
	case j.span*float64(j.s.Bins.WidthNS) >= 1.98*float64(driftDay) && j.day >= 12:
		j.k = 3
		v.DailyRemoved = true
	default:
		j.single = j.span >= j.day/2
		j.warn(errDriftDaily)
	}
	for _, x := range j.x {
		j.mean += x / float64(len(j.x))
	}
	if j.s.Kind != DriftThroughput {
		if n := driftEpisodes(j.x); n > 0 {
			j.warn(fmt.Errorf("%d bins far off their neighbours set aside as episodes; look at them", n))
		}
	}
	z, _, scale, ok := driftStandard(j.x)
	if !ok {
		j.constant()
		return
	}
	if scale > math.MaxFloat64/1e6 {
		j.warn(errDriftRange)
		return
	}
	w := j.cache.work(j.t, j.span, j.day, j.k)
	z = w.unaveraged(z)
	j.stat, ok = w.statistic(z)
	if ok && j.stat.Daily > driftPattern {
		z = w.d.withoutDay(z)
		j.rough = true
		j.warn(errDriftRough)
		j.stat, ok = w.statistic(z)
	}
	if !ok {
		j.constant()
		return
	}
	j.stat.rescale(scale)
	s := &j.stat
	v.Known = true
	j.judge(newDriftCritical(j.k, len(j.x)))
	if j.single {
		j.beyondCycle(z)
	}

	// The step costs its place more, which is worth two parameters of as many
	// independent observations as there are (Zhang and Siegmund 2007).
	mean := (s.TrendPhi + s.StepPhi) / 2
	neff := max(2, float64(s.N)*(1-mean)/(1+mean))
	j.edge = 2*(s.stepLL-s.trendLL) - 2*math.Log(neff)
	v.Phi = s.TrendPhi
	if j.edge > 0 {
		v.Phi = s.StepPhi
	}
	if v.Phi > 1e-3 {
		v.Memory = -float64(j.s.Bins.WidthNS) / 1e9 / math.Log(v.Phi)
	}
	if float64(s.N)*(1-v.Phi)/(1+v.Phi) < 9 {
		j.warn(errDriftMemory)
	}

	// The interval of the line.
	slope, se, row := s.Slope, s.SlopeSE, j.rowT
	if j.longT {
		slope, se = s.Line, s.LineSE
		j.warn(errDriftLong)
	}
	v.Total = driftBounds(slope, se*driftQuantile(row, 0.10), 0.90)
	perDay := j.day / j.span
	v.PerDay = driftBounds(slope, se*driftQuantile(row, 0.05), 0.95).times(perDay)
	if j.s.Kind == DriftMemory {
		j.leak()
	}
	j.level()
	if !j.opt.NoTheilSen {
		// Of the bins less their daily cycle, which alone can fake a slope.
		for _, q := range w.d.q[1:] {
			driftAxpy(-driftDot(q, z), q, z)
		}
		ts := driftClamp(driftTheilSen(j.t, z, &j.cache.pairs) * scale * j.day)
		v.TheilSen = DriftInterval{Value: ts, Lo: ts, Hi: ts, Known: true}
	}
}

// driftEpisodes replaces in x, in place, what lies ten times the usual deviation
// off the median of its neighbours, twelve on either side, for three bins at
// most, and returns how many bins it were (Hampel). An episode from which the
// level returns is no drift, and one bin can hide one. Where they are more than
// a seventh of all, they are what the metric does, and stay.
func driftEpisodes(x []float64) int {
	const side, run = 12, 3
	n := len(x)
	mid, dev := make([]float64, n), make([]float64, n)
	buf := make([]float64, 0, 2*side+1)
	for i := range x {
		buf = append(buf[:0], x[max(0, i-side):min(n, i+side+1)]...)
		mid[i] = driftMedian(buf)
		dev[i] = math.Abs(x[i]/2 - mid[i]/2)
	}
	limit := 10 * 1.4826 * driftMedian(append([]float64(nil), dev...))
	var off []int
	for i := 0; i < n; {
		k := i
		for k < n && dev[k] > limit && dev[k] > 1e-12*math.Abs(mid[k]) {
			k++
		}
		if k > i && k-i <= run {
			for ; i < k; i++ {
				off = append(off, i)
			}
		}
		i = max(k, i+1)
	}
	if len(off) > n/7 {
		return 0
	}
	for _, i := range off {
		x[i] = mid[i]
	}
	return len(off)
}

// driftPattern is the correlation from day to day, harmonics removed, that noise
// with a memory of hours does not reach.
const driftPattern = 0.4

// judge turns the statistics into p-values.
func (j *driftJudge) judge(c driftCritical) {
	s, v := &j.stat, j.v
	trend := func(t *driftTable) [][]float64 { return t.trend }
	j.longT = s.TrendLM > c.limit(func(t *driftTable) [][]float64 { return t.trendLM }, s.TrendPhi)
	j.longS = s.StepLM > c.limit(func(t *driftTable) [][]float64 { return t.stepLM }, s.StepPhi)
	if j.longT {
		j.rowT = c.level(func(t *driftTable) []float64 { return t.ewcLong })
		v.PTrend = driftP(j.rowT, s.EWC)
	} else {
		j.rowT = c.row(trend, s.TrendPhi)
		v.PTrend = driftP(j.rowT, s.Trend)
	}
	// One place, known: the distribution of the trend's statistic serves.
	j.rowS = c.row(trend, s.StepPhi)
	var located float64
	v.PStep, located = j.pStep(c)
	a, share := j.s.Kind.shares()
	a /= j.doubt(s.TrendPhi, driftSafetyTrend, j.longT)
	b := share / j.doubt(s.StepPhi, driftSafetyStep, j.longS)
	// What the memory is matters least to the jump: no doubt on that route.
	v.P = min(1, v.PTrend/a, v.PStep/b, located/share)
	v.PStep = min(v.PStep, located)
}

// beyondCycle asks of a soak from 12 to 48 h that its change stand out from a
// daily cycle too: one harmonic beside it, which leaves of a line hardly
// anything and of a step most. Alone, the cycle would pass for drift in most
// such soaks.
func (j *driftJudge) beyondCycle(z []float64) {
	st, ok := j.cycle.work(j.t, j.span, j.day, 1).statistic(z)
	v := j.v
	if !ok {
		v.PTrend, v.PStep, v.P = 1, 1, 1
		return
	}
	sub := driftJudge{stat: st, v: &DriftVerdict{}, s: DriftSeries{Kind: j.s.Kind}}
	sub.judge(newDriftCritical(3, len(j.x)))
	v.PTrend = max(v.PTrend, sub.v.PTrend)
	v.PStep = max(v.PStep, sub.v.PStep)
	v.P = max(v.P, sub.v.P)
}

// doubt is the factor on a p-value for what the noise may hide: a long memory, a
// correlation that is not of first order, a mean day that was fitted beside the
// change that explains most and so favours it.
func (j *driftJudge) doubt(phi, safety float64, long bool) float64 {
	d := j.s.Kind.safety(phi, safety)
	if long {
		d = max(d, 3)
	}
	if j.rough {
		d *= 3
	}
	return d
}

// pStep returns the p-values of the greatest difference in level over all places
// and of the one at the place that a jump names.
func (j *driftJudge) pStep(c driftCritical) (anywhere, located float64) {
	s := &j.stat
	if j.longS {
		return driftP(c.level(func(t *driftTable) []float64 { return t.cusumLong }), s.CUSUM), 1
	}
	anywhere = driftP(c.row(func(t *driftTable) [][]float64 { return t.step }, s.StepPhi), s.Step)
	located = 1
	// Jump and level are independent without a step: Fisher's product. The jump
	// must be one, or the place was chosen by the level, whose test is the other;
	// and the level must agree, or every shock from which the process returns
	// would count as a step.
	neff := float64(s.N) * (1 - s.StepPhi) / (1 + s.StepPhi)
	if l := driftStudentP(s.Located, max(3, neff-2)); l <= 0.05 && s.Jump <= 0.03 {
		w := max(s.Jump*l, 1e-300)
		located = min(1, w*(1-math.Log(w)))
	}
	return anywhere, located
}

// driftStudentP is the two-sided p-value of Student's t.
func driftStudentP(t, df float64) float64 {
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// constant judges a series without variation but for its daily cycle.
func (j *driftJudge) constant() {
	v := j.v
	j.warn(errDriftFlat)
	zero := DriftInterval{Known: true}
	v.Change, v.Total, v.PerDay, v.TheilSen = zero, zero, zero, zero
	v.Change.Level, v.Total.Level, v.PerDay.Level = 0.95, 0.90, 0.95
	v.Verdict = DriftSteady
	j.level()
	if v.Gate > 0 {
		v.Percent = DriftInterval{Level: 0.95, Known: true}
	}
}

func driftBounds(value, half, level float64) DriftInterval {
	return DriftInterval{Value: driftClamp(value), Lo: driftClamp(value - half), Hi: driftClamp(value + half), Level: level, Known: true}
}

// times scales an estimate by f, not negative.
func (i DriftInterval) times(f float64) DriftInterval {
	i.Value, i.Lo, i.Hi = driftClamp(i.Value*f), driftClamp(i.Lo*f), driftClamp(i.Hi*f)
	return i
}

// level sets the change judged, its percentage and the gate.
func (j *driftJudge) level() {
	v, s := j.v, &j.stat
	base, scale := j.mean, 0.0
	for _, x := range j.x {
		scale = max(scale, math.Abs(x))
	}
	if v.Known {
		if j.edge > 0 {
			v.Change = driftBounds(s.Shift, s.ShiftSE*driftQuantile(j.rowS, 0.05), 0.95)
			base -= s.Shift * float64(s.N-s.At) / float64(s.N)
		} else {
			f := j.span / j.day
			v.Change = v.PerDay.times(f)
			var t float64
			for _, x := range j.t {
				t += x / float64(len(j.t))
			}
			base -= v.Change.Value * t / j.span
		}
	}
	if j.s.Bins.Base != 0 {
		base = j.s.Bins.Base
	}
	base = math.Abs(base)
	known := base > 1e-9*scale && base <= math.MaxFloat64
	switch {
	case j.s.GateAbsolute > 0:
		v.Gate = driftClamp(j.s.GateAbsolute)
	case j.s.Gate > 0 && known:
		v.Gate = driftClamp(j.s.Gate * base)
	case j.s.Gate > 0:
	case j.s.Kind == DriftMemory:
		v.Gate = 50e6
	case known:
		v.Gate = 0.01 * base
	}
	if v.Known {
		v.MDE = j.promise()
	}
	if known && v.Known {
		j.percent = 100 / base
		v.Percent = v.Change.times(j.percent)
		v.MDEPercent = driftClamp(v.MDE * j.percent)
		if j.s.Kind == DriftThroughput {
			m := driftClamp(j.companion() * j.percent)
			v.Median = DriftInterval{Value: m, Lo: m, Hi: m, Known: true}
		}
	}
}

// promise is the change in total that the trend test finds, and the gate lets
// pass, with probability 0.8: 0.84 standard errors above the critical value and
// above the gate. The standard error is itself uncertain, as the variance of so
// many independent observations is.
func (j *driftJudge) promise() float64 {
	s := &j.stat
	se := s.SlopeSE
	if j.longT {
		se = s.LineSE
	}
	share, _ := j.s.Kind.shares()
	crit := driftQuantile(j.rowT, j.alpha*share/j.doubt(s.TrendPhi, driftSafetyTrend, j.longT))
	neff := max(2, float64(s.N)*(1-s.TrendPhi)/(1+s.TrendPhi))
	return driftClamp(max(se*crit*(1+0.84/math.Sqrt(2*neff)), j.v.Gate) + 0.84*se)
}

// companion is the change of the medians by the same fit: of level between both
// sides of the step, or along a line; by plain least squares on the residuals of
// the daily cycle.
func (j *driftJudge) companion() float64 {
	z, _, scale, ok := driftStandard(j.medians)
	if !ok {
		return 0
	}
	d := j.cache.work(j.t, j.span, j.day, j.k).d
	driftProject(d.q, z)
	if j.edge <= 0 {
		return scale * driftDot(z, d.xr) / d.sx
	}
	var sum float64
	for _, v := range z[j.stat.At:] {
		sum += v
	}
	return scale * sum / max(d.stepDen[j.stat.At], 1e-9)
}

func (j *driftJudge) decide() {
	v, s := j.v, &j.stat
	if !v.Known {
		return
	}
	if v.Gate == 0 {
		j.warn(errDriftGate)
		return
	}
	leak := v.Leak != nil && driftLeakP(v) == v.P && v.P < 1
	passes := math.Abs(v.Change.Value) >= v.Gate
	if leak {
		passes = math.Abs(v.Leak.Total.Value) >= v.Gate
	}
	inside := v.Total.Lo > -v.Gate && v.Total.Hi < v.Gate
	switch {
	case v.Q <= j.alpha && passes:
		v.Verdict = DriftFound
	case v.Q <= j.alpha:
		j.warn(errDriftSmall)
		return
	case v.P > j.alpha && inside:
		v.Verdict = DriftSteady
		return
	default:
		return
	}
	switch {
	case leak:
		v.Shape = DriftShapeTrend
		v.Change = v.Leak.Total
		v.PerDay = v.Change.times(j.day / j.span)
		if j.percent > 0 {
			v.Percent = v.Change.times(j.percent)
		}
		return
	case math.Abs(j.edge) < 6:
		v.Shape = DriftShapeUnclear
	case j.edge > 0:
		v.Shape = DriftShapeStep
	default:
		v.Shape = DriftShapeTrend
	}
	if j.edge > 0 {
		v.Onset = j.onset(s.From, s.At, s.To)
	}
	if v.Shape == DriftShapeStep {
		v.Steps = []DriftStep{{Onset: v.Onset, Shift: v.Change, P: v.PStep}}
		if !j.opt.NoSteps {
			j.steps()
		}
	}
	if j.s.Kind == DriftThroughput && v.Median.Known && math.Abs(v.Median.Value-v.Percent.Value) > max(1, math.Abs(v.Percent.Value)/2) {
		j.warn(errDriftDisagree)
	}
}

// onset is the start of the first bin after the step. The change may fall inside
// a bin: the set reaches one further on either side.
func (j *driftJudge) onset(from, at, to int) DriftTime {
	b := j.s.Bins
	ns := func(t float64) int64 { return b.StartNS + int64(t)*b.WidthNS }
	lo := j.t[0]
	if from > 0 {
		lo = j.t[from-1]
	}
	hi := j.t[to] + 1
	return DriftTime{NS: ns(j.t[at]), LoNS: ns(lo), HiNS: ns(hi), Known: true}
}

// steps looks for further steps on both sides of the first, and so on: binary
// segmentation, with the same test, on the series less its daily cycle.
func (j *driftJudge) steps() {
	s, v := &j.stat, j.v
	z, _, scale, ok := driftStandard(j.x)
	if !ok {
		return
	}
	if j.k > 0 {
		// The cycle is fitted beside the step, lest it bend to meet it.
		d := j.cache.work(j.t, j.span, j.day, j.k).d
		r := slices.Clone(z)
		for i := s.At; i < len(r); i++ {
			r[i] -= s.Shift / scale
		}
		for _, q := range d.q[1:] {
			driftAxpy(-driftDot(q, r), q, z)
		}
	}
	// Six hours, and no fewer bins than the tables begin with.
	least := max(36, int(math.Ceil(6*3600e9/float64(j.s.Bins.WidthNS))))
	var cut func(lo, hi int)
	cut = func(lo, hi int) {
		if hi-lo < least {
			return
		}
		t := slices.Clone(j.t[lo:hi])
		first := t[0]
		for i := range t {
			t[i] -= first
		}
		zz, _, sc, ok := driftStandard(z[lo:hi])
		if !ok {
			return
		}
		span := t[len(t)-1] + 1
		st, ok := newDriftWork(newDriftDesign(t, span, j.day, 0)).statistic(zz)
		if !ok {
			return
		}
		st.rescale(sc)
		st.rescale(scale)
		sub := driftJudge{stat: st, v: &DriftVerdict{}, s: DriftSeries{Kind: j.s.Kind}}
		sub.judge(newDriftCritical(0, hi-lo))
		_, share := j.s.Kind.shares()
		p := min(1, sub.doubt(st.StepPhi, driftSafetyStep, sub.longS)*sub.v.PStep/share)
		if p > j.alpha || math.Abs(st.Shift) < v.Gate {
			return
		}
		v.Steps = append(v.Steps, DriftStep{
			Onset: j.onset(lo+st.From, lo+st.At, lo+st.To),
			Shift: driftBounds(st.Shift, st.ShiftSE*driftQuantile(sub.rowS, 0.05), 0.95),
			P:     sub.v.PStep,
		})
		cut(lo, lo+st.At)
		cut(lo+st.At, hi)
	}
	cut(0, s.At)
	cut(s.At, len(z))
	slices.SortFunc(v.Steps, func(a, b DriftStep) int {
		switch {
		case a.Onset.NS < b.Onset.NS:
			return -1
		case a.Onset.NS > b.Onset.NS:
			return 1
		}
		return 0
	})
}

// MDEText says what the soak would have found, for reports; empty if unknown.
func (v DriftVerdict) MDEText() string {
	switch {
	case v.MDEPercent > 0:
		return fmt.Sprintf("would have seen a change of %.2g %% or more", v.MDEPercent)
	case v.MDE > 0:
		return fmt.Sprintf("would have seen a change of %.3g or more", v.MDE)
	}
	return ""
}
