package analyze

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// RunSummary is what is known of one run.
type RunSummary struct {
	Value       float64 // in the window judged
	Known       bool
	Slot        int         // as given
	Fixed, Auto WindowValue // Auto.Known false: no automatic window
	ESS         *float64    // rows' worth of independent information in the window judged
	SDWithin    *float64    // of Value, from the noise within the run
	Within      Estimate    // Value with an interval from this run alone: for the run's own level, never for a comparison
}

// WindowSummary is one window over the runs of a system.
type WindowSummary struct {
	FromNS, ToNS int64    // in the first run that has it
	Mean         Estimate // over the run values in this window
	Steady       *bool    // whether what it keeps has no trend; nil: not tested
	Late         bool     // automatic window: the start found in the first half of the run was not steady for this system
}

// System is the summary of one system for one metric.
type System struct {
	System      string
	Runs        int          // runs given
	Used        int          // runs with a value
	Run         []RunSummary // one a run given
	Window      WindowKind   // the window judged
	Fixed, Auto WindowSummary
	Mean        Estimate // of the run values in the window judged, over runs
	SD          *float64 // of the run values; nil below two
	Median      *float64 // of the run values
	Min, Max    *float64
	SDBetween   *float64 // between runs, the noise within them taken out
	SDWithin    *float64 // of a run's value, from the noise within it
	BestSeconds *float64 // length of a run that buys most precision for its time, given Options.RunSeconds
	Advice      string   // more runs or longer runs; "" if the data do not tell
	Unstable    bool     // runs scatter widely or fall apart in groups: no ranking
	Warnings    []string
}

func (s *System) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// values returns the run values in use.
func (s *System) values() []float64 {
	y := make([]float64, 0, len(s.Run))
	for i := range s.Run {
		if r := &s.Run[i]; r.Known {
			y = append(y, r.Value)
		}
	}
	return y
}

// side returns the run values with their order, nil where a run's is unknown.
func (s *System) side() side {
	d := side{y: s.values(), slot: []int{}}
	for i := range s.Run {
		switch r := &s.Run[i]; {
		case !r.Known:
		case r.Slot < 0:
			d.slot = nil
		case d.slot != nil:
			d.slot = append(d.slot, r.Slot)
		}
	}
	return d
}

// MeanOverRuns returns the mean of run values with Student's t interval at level:
// mean ± t(n-1) s/sqrt(n) (Student 1908, doi:10.1093/biomet/6.1.1). Runs are
// independent and roughly normal: with two modes among the runs the true coverage
// of 95 % is near 87 %. One value has no interval; values without variation have
// the interval [m, m]. s is the standard deviation, nil below two values.
//
// MeanOverRuns panics unless level lies in (0, 1).
func MeanOverRuns(x []float64, level float64) (mean Estimate, s *float64) {
	mustShare("level", level)
	m, ok := Mean(x)
	if !ok {
		return Estimate{N: len(x)}, nil
	}
	mean = point(m, len(x))
	if len(x) < 2 {
		return mean, nil
	}
	if constant(x) {
		return point(x[0], len(x)).bound(x[0], x[0], level), new(float64)
	}
	_, v, ok := MeanVariance(x)
	if !ok {
		return mean, nil
	}
	n := float64(len(x))
	h := tCritical(1-level, n-1) * math.Sqrt(v/n)
	return mean.bound(m-h, m+h, level), ptr(math.Sqrt(v))
}

// Median returns the median of x; ok is false if x is empty or not finite. x stays
// as it was.
func Median(x []float64) (median float64, ok bool) {
	if _, ok := scaleOf(x); !ok {
		return 0, false
	}
	return medianSorted(slices.Sorted(slices.Values(x))), true
}

func medianSorted(x []float64) float64 {
	h := len(x) / 2
	if len(x)%2 == 1 {
		return x[h]
	}
	return x[h-1]/2 + x[h]/2
}

// summarise forms the run values of system k of metric m, number id, and their
// summary.
func summarise(m *Metric, id, k int, auto *autoStart, opt Options) System {
	in := &m.Systems[k]
	s := System{System: in.System, Runs: len(in.Runs), Window: Given, Run: make([]RunSummary, len(in.Runs))}
	for i := range in.Runs {
		if in.Runs[i].Series != nil {
			s.Window = Fixed
		}
	}
	if s.Window == Fixed && opt.Window == Auto {
		if auto.ok {
			s.Window = Auto
		} else {
			s.warn("%s: the fixed one is judged", auto.why)
		}
	}
	for i := range in.Runs {
		run, r := &in.Runs[i], &s.Run[i]
		r.Slot = run.Slot
		if run.Series == nil {
			r.Value, r.Known = run.Value, run.Known && isFinite(run.Value)
		} else {
			r.measure(run, auto, s.Window)
		}
		if r.Known {
			s.Used++
		} else {
			r.Value = 0
		}
	}
	s.windows(in.Runs, [2]int{id, k}, auto, opt)
	y := s.values()
	s.Mean, s.SD = MeanOverRuns(y, opt.Level)
	if s.Used < s.Runs {
		s.warn("%d of %d runs used: the others gave no value", s.Used, s.Runs)
	}
	s.within(opt)
	s.robust(y)
	s.gaps()
	return s
}

// measure forms the values of a run that has a series, and what the run alone says.
func (r *RunSummary) measure(run *Run, auto *autoStart, judged WindowKind) {
	r.Fixed = run.Series.Window(run.Fixed)
	w, v := run.Fixed, &r.Fixed
	if auto.ok {
		a := run.autoWindow(auto.startNS)
		if a.FromNS < a.ToNS {
			r.Auto = run.Series.Window(a)
		}
		if judged == Auto {
			w, v = a, &r.Auto
		}
	}
	r.Value, r.Known = v.Value, v.Known
	if !r.Known {
		return
	}
	n := WithinRun(run.Series.linearised(w, r.Value))
	if !n.Known {
		return
	}
	sd := math.Sqrt(n.Variance)
	r.ESS, r.SDWithin = ptr(n.ESS), ptr(sd)
	r.Within = point(r.Value, n.N)
	if n.ESS >= minESS {
		h := tCritical(withinAlpha, float64(n.Nu)) * sd
		r.Within = r.Within.bound(r.Value-h, r.Value+h, 1-withinAlpha)
	}
}

// withinAlpha is the error of intervals from one run alone.
const withinAlpha = 0.05

// linearised returns (Num-value*Den)/mean(Den) of the known rows in w: the influence
// of each row on the ratio of sums (delta method). For rows of equal Den these are
// the deviations of the values from their mean.
func (s *Series) linearised(w Window, value float64) []float64 {
	lo, hi := s.rows(w)
	e := make([]float64, 0, hi-lo)
	var den accumulator
	for i := lo; i < hi; i++ {
		if s.known(i) {
			e = append(e, s.Num[i]-value*s.Den[i])
			den.add(s.Den[i])
		}
	}
	mean := den.sum() / float64(len(e))
	for i := range e {
		e[i] /= mean
	}
	return e
}

// windows summarises both windows.
func (s *System) windows(runs []Run, id [2]int, auto *autoStart, opt Options) {
	collect := func(of func(*RunSummary) *WindowValue) WindowSummary {
		var w WindowSummary
		var y []float64
		for i := range s.Run {
			if v := of(&s.Run[i]); v.Known {
				if len(y) == 0 {
					w.FromNS, w.ToNS = v.FromNS, v.ToNS
				}
				y = append(y, v.Value)
			}
		}
		w.Mean, _ = MeanOverRuns(y, opt.Level)
		return w
	}
	s.Fixed = collect(func(r *RunSummary) *WindowValue { return &r.Fixed })
	if s.Window == Given {
		return
	}
	judged := meanCurve(runs, fixedOf, false)
	var shift string
	s.Fixed.Steady, shift = gateCurve(judged.raw)
	if s.Fixed.Steady != nil && !*s.Fixed.Steady {
		s.warn("fixed window not steady (%s): warm up for longer", shift)
	}
	if auto.ok {
		s.Auto = collect(func(r *RunSummary) *WindowValue { return &r.Auto })
		s.Auto.Steady, s.Auto.Late = auto.steady[id[1]], auto.lateOf[id]
		switch unsteady := s.Auto.Steady != nil && !*s.Auto.Steady; {
		case unsteady && auto.never:
			s.warn("no steady state (%s): the value is that of a moving system", auto.shifts[id[1]])
		case unsteady:
			s.warn("automatic window not steady (%s): run for longer", auto.shifts[id[1]])
		case auto.late && s.Auto.Late:
			s.warn("late settling: steady only after %.3g s; warm up for longer", float64(auto.startNS)/1e9)
		}
	}
	if s.Window == Auto {
		judged = meanCurve(runs, func(r *Run) Window { return r.autoWindow(auto.startNS) }, false)
	}
	s.lessSpread(&judged, s.Window == Fixed && isTrue(s.Fixed.Steady) || s.Window == Auto && isTrue(s.Auto.Steady))
}

func isTrue(b *bool) bool { return b != nil && *b }

// autoWindow returns the run's span from the common start on.
func (r *Run) autoWindow(startNS int64) Window {
	w := r.Span
	if w == (Window{}) && len(r.Series.EndNS) > 0 {
		w = Window{r.Series.start(0), r.Series.EndNS[len(r.Series.EndNS)-1]}
	}
	w.FromNS += startNS
	return w
}

// lessSpread says so when runs agree better than their own noise allows: chance below
// .001. The shape common to the runs is taken out first; on honest runs with a common
// shape the test would fire without that.
func (s *System) lessSpread(c *curve, steady bool) {
	y := s.values()
	n := len(c.parts)
	if !steady || n < 3 || n != len(y) || constant(y) {
		return
	}
	_, v, ok := MeanVariance(y)
	rows := c.residuals()
	t := len(rows[0])
	nu := ewcNu(t)
	var lrv float64
	for _, x := range rows {
		lrv += EWC(x, nu) / float64(n-1) // n-1: the mean curve took one run's worth
	}
	if expected := lrv / float64(t); ok && expected > 0 {
		f := distuv.F{D1: float64(n - 1), D2: float64((n - 1) * nu)}
		if f.CDF(v/expected) < 0.001 {
			s.warn("less spread than expected: the runs differ less than the noise within them; check that they are separate runs")
		}
	}
}

// within splits the variance of the run values, and advises.
func (s *System) within(opt Options) {
	var w, lrv accumulator
	n, few := 0, 0
	for i := range s.Run {
		r := &s.Run[i]
		if r.ESS == nil {
			continue
		}
		n++
		if *r.ESS < minESS {
			few++
		}
		w.add(*r.SDWithin * *r.SDWithin)
		v := r.Fixed
		if s.Window == Auto {
			v = r.Auto
		}
		t := float64(v.ToNS-v.FromNS-v.MissingNS) / 1e9
		lrv.add(*r.SDWithin * *r.SDWithin * t)
	}
	if few > 0 {
		s.warn("%d of %d runs hold fewer than %d independent rows: no interval from a run alone; run for longer", few, n, minESS)
	}
	if n == 0 {
		return
	}
	within := w.sum() / float64(n)
	s.SDWithin = ptr(math.Sqrt(within))
	if s.SD == nil || s.Used < 2 {
		return
	}
	between := math.Max(0, *s.SD**s.SD-within)
	s.SDBetween = ptr(math.Sqrt(between))
	switch {
	case s.Used < 3:
	case between > 4*within:
		s.Advice = "runs differ by more than their noise: more runs help, longer ones do not"
	case between < within/4:
		s.Advice = "noise within the runs dominates: longer runs help as much as more"
	}
	if opt.RunSeconds > 0 {
		if best, ok := BestRunSeconds(opt.RunSeconds, lrv.sum()/float64(n), between); ok {
			s.BestSeconds = ptr(best)
		}
	}
}

// BestRunSeconds returns how long a run should measure so that a given total time
// buys the narrowest interval: sqrt(overhead*lrv/between), overhead the seconds a run
// costs besides, lrv the variance of a run's value times its measured seconds, between
// the variance of run levels, both in the squared unit of the value (Kalibera, Jones
// 2013, doi:10.1145/2491894.2464160). ok is false if an argument is not positive: without
// variance between runs one long run is best.
func BestRunSeconds(overhead, lrv, between float64) (seconds float64, ok bool) {
	if !(overhead > 0) || !(lrv > 0) || !(between > 0) {
		return 0, false
	}
	seconds = math.Sqrt(overhead) * math.Sqrt(lrv) / math.Sqrt(between)
	return finiteOr0(seconds)
}

// robust adds median and range, and says when they contradict a mean.
func (s *System) robust(y []float64) {
	if len(y) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(y))
	lo, hi := sorted[0], sorted[len(sorted)-1]
	s.Median, s.Min, s.Max = ptr(medianSorted(sorted)), ptr(lo), ptr(hi)
	switch {
	case len(y) == 1:
		s.warn("one run: no interval over runs; repeat it")
		return
	case lo == hi:
		s.warn("no variation seen in %d runs", len(y))
		return
	}
	if lo > 0 && hi/lo > unstableRatio || hi < 0 && lo/hi > unstableRatio {
		s.Unstable = true
		s.warn("unstable: runs differ by more than 10 %%; find the cause before ranking")
	}
	if below, apart := gapTest(sorted); apart {
		s.Unstable = true
		above := len(y) - below
		switch {
		case below == 1:
			s.warn("run %d stands apart, below the others: look at it", s.runOf(lo))
		case above == 1:
			s.warn("run %d stands apart, above the others: look at it", s.runOf(hi))
		default:
			s.warn("two groups of runs (%d low, %d high): bimodal, the mean describes neither and its interval is too narrow", below, above)
		}
	}
}

// unstableRatio is the ratio of the largest to the smallest run value beyond which
// systems are not ranked.
const unstableRatio = 1.1

// runOf returns the number, from 1, of the run with a value.
func (s *System) runOf(v float64) int {
	return 1 + slices.IndexFunc(s.Run, func(r RunSummary) bool { return r.Known && r.Value == v })
}

// gapLimits are 95 % quantiles, for 4, 5, ... 20 normal values, of the widest gap
// between neighbours over the standard deviation within the two groups it makes
// (400,000 samples each). Three values cannot tell a gap from chance.
var gapLimits = [...]float64{11.86, 7.16, 5.41, 4.48, 3.87, 3.46, 3.14, 2.90, 2.72, 2.57, 2.44, 2.34, 2.25, 2.17, 2.10, 2.04, 2.00}

// gapTest reports whether sorted values fall into two groups, and how many are in the
// lower one.
func gapTest(sorted []float64) (below int, apart bool) {
	n := len(sorted)
	if n < 4 {
		return 0, false
	}
	limit := gapLimits[min(n-4, len(gapLimits)-1)]
	for k := 1; k < n; k++ {
		ss := squares(sorted[:k]) + squares(sorted[k:])
		gap := sorted[k] - sorted[k-1]
		if ratio := gap / math.Sqrt(ss/float64(n-2)); ratio > limit {
			limit, below, apart = ratio, k, true
		}
	}
	return below, apart
}

// squares returns the sum of squared deviations from the mean.
func squares(x []float64) float64 {
	_, v, ok := MeanVariance(x)
	if !ok {
		return 0
	}
	return v * float64(len(x)-1)
}

// gaps says what time is missing.
func (s *System) gaps() {
	var unknown, gaps int
	var missing, total int64
	for i := range s.Run {
		v := &s.Run[i].Fixed
		if s.Window == Auto {
			v = &s.Run[i].Auto
		}
		unknown += v.Unknown
		gaps += v.Gaps
		missing += v.MissingNS
		total += v.ToNS - v.FromNS
	}
	if missing > 0 && total > 0 {
		s.warn("%.2g %% of the time is missing (%d unknown rows, %d gaps)", 100*float64(missing)/float64(total), unknown, gaps)
	}
}
