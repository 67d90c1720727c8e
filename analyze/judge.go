package analyze

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// WindowKind names the window that is judged.
type WindowKind string

const (
	Fixed WindowKind = "fixed" // the one the plan sets
	Auto  WindowKind = "auto"  // the one found in the data
	Given WindowKind = "given" // a value that came without its rows
)

// Options are the settings of a judgement. A zero field takes its default.
type Options struct {
	Alpha      float64    // false discovery rate of a family of tests; 0.05
	Level      float64    // level of intervals not selected by a test; 0.95
	Margin     float64    // differences within this share are no difference in practice; 0.02
	Power      float64    // of plans and of the smallest detectable difference; 0.8
	BY         bool       // Benjamini-Yekutieli instead of Benjamini-Hochberg
	Window     WindowKind // which window is judged; Fixed
	RunSeconds float64    // what a run costs besides its measured seconds, for advice; 0: no such advice
}

func (o Options) withDefaults() Options {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Alpha, 0.05)
	def(&o.Level, 0.95)
	def(&o.Margin, 0.02)
	def(&o.Power, 0.8)
	if o.Window == "" {
		o.Window = Fixed
	}
	mustShare("2*Options.Alpha", 2*o.Alpha)
	mustShare("Options.Level", o.Level)
	mustShare("Options.Power", o.Power)
	if !(o.Margin > 0 && isFinite(o.Margin)) {
		panic("analyze: Options.Margin not positive")
	}
	if o.Window != Fixed && o.Window != Auto {
		panic("analyze: Options.Window neither fixed nor auto")
	}
	return o
}

// Run is one repetition: its series, or only its value where no series exists.
type Run struct {
	Value  float64 // used if Series is nil
	Known  bool    // likewise; false: the run gave no value
	Slot   int     // position in the executed order over all systems, from 0; runs at the same time share it; -1: unknown
	Series *Series
	Fixed  Window // what the plan keeps; zero: the whole series
	Span   Window // what the automatic window may keep, from the start of the load on; zero: the whole series
}

// SystemRuns are the runs of one system, in their order.
type SystemRuns struct {
	System string
	Runs   []Run
}

// Metric is one metric of one scenario (of one host and device, which the caller
// keeps) over the systems compared.
type Metric struct {
	Name, Scenario string
	Class          string // metrics alike in kind and noise: "throughput", "latency", "cpu"; "" shares nothing
	Direction      Direction
	Primary        bool    // named in the plan before the runs
	Margin         float64 // 0: that of the options
	Baseline       string
	Pilot          int // runs a side before the set was extended once; 0: never extended
	Systems        []SystemRuns
}

// Judgement is the result for one metric.
type Judgement struct {
	Systems     []System     // as in the metric
	Comparisons []Comparison // the systems but the baseline, in their order
	Unstable    bool         // a system's runs scatter or fall apart in groups: do not rank systems by it
	Warnings    []string
}

// Comparison is one system against the baseline. Nil is unknown; the warnings say
// why.
type Comparison struct {
	System, Baseline string
	Difference       Estimate // system less baseline, in the unit of the metric
	Percent          Estimate // of the baseline
	Adjusted         bool     // the level of both covers the selection of this comparison by its test
	P, Q             *float64 // of no difference; Q adjusted over the family
	DF               *float64
	Paired           bool
	Method           string  // "welch-log", ...; "-log": on logarithms; "": not compared
	Margin           float64 // share, as used
	Verdict          Verdict
	Differs          *bool    // true: beyond chance and margin; false: within the margin; nil: undecided
	AtLeast          *float64 // percent: the end of the interval nearer to no difference, of a better or worse
	MDE              *float64 // smallest difference found with the power of the options at TestAlpha; unit of the metric
	MDEPercent       *float64
	TestAlpha        *float64 // what the family leaves to this test
	RunsNeeded       *int     // per system, to find a difference as large as the margin with that power
	Warnings         []string
}

// Judge summarises every system of every metric, compares each system with the
// metric's baseline, and judges. The result has the order of metrics.
//
// Run values on which a logarithm can be taken are compared by ratio, others by
// difference. Runs are independent of one another and roughly normal on that scale;
// with known order of execution a linear drift of the machine over the runs is
// removed. Tests form two families, primary metrics and the rest, so that a named
// question does not pay for a hundred others; in each the false discovery rate is
// Options.Alpha. Intervals of comparisons that their test selected have the level
// 1-alpha*R/m, R selected of m, which keeps the expected share of wrong intervals
// among those selected (Benjamini, Yekutieli 2005,
// doi:10.1198/016214504000001907): exact for independent metrics, .066 instead of .05
// at a correlation of .5, .135 at .9.
//
// A verdict needs a test that rejects and a 1-2*alpha interval that is not within
// the margin; same needs that interval within the margin, which is two one-sided
// tests (Schuirmann 1987, doi:10.1007/BF01068419).
//
// Judge panics on options outside their range, a negative margin, and series of
// unequal lengths.
func Judge(metrics []Metric, opt Options) []Judgement {
	opt = opt.withDefaults()
	out := make([]Judgement, len(metrics))
	starts := autoStarts(metrics)
	for i := range metrics {
		m := &metrics[i]
		if m.Margin < 0 || !isFinite(m.Margin) {
			panic("analyze: Metric.Margin negative")
		}
		out[i].Systems = make([]System, len(m.Systems))
		for k := range m.Systems {
			out[i].Systems[k] = summarise(m, i, k, &starts[i], opt)
			out[i].Unstable = out[i].Unstable || out[i].Systems[k].Unstable
		}
	}
	tests := compareAll(metrics, out, opt)
	moderate(tests)
	for _, primary := range []bool{true, false} {
		var family []*test
		for _, t := range tests {
			if t.metric.Primary == primary {
				family = append(family, t)
			}
		}
		decide(family, opt)
	}
	for _, t := range tests {
		*t.out = t.Comparison
	}
	return out
}

// test is a comparison under way.
type test struct {
	Comparison
	metric   *Metric
	main     contrast // the scale of the verdict
	natural  contrast // the unit of the metric
	ok       bool     // main is tested
	base     float64  // baseline mean in the unit of the metric
	hasBase  bool
	margin   float64 // on the scale of main; 0: none can be formed
	selected bool
	lost     bool        // runs failed and left too few: a failed run may be the one that differs
	out      *Comparison // where the result goes
}

// compareAll makes the comparisons of all metrics, before anything is known of
// their families, and makes room for them in out.
func compareAll(metrics []Metric, out []Judgement, opt Options) []*test {
	var tests []*test
	for i := range metrics {
		m := &metrics[i]
		base := slices.IndexFunc(m.Systems, func(s SystemRuns) bool { return s.System == m.Baseline })
		if base < 0 {
			if len(m.Systems) > 1 {
				out[i].Warnings = append(out[i].Warnings, fmt.Sprintf("no runs of the baseline %q: nothing to compare with", m.Baseline))
			}
			continue
		}
		out[i].Comparisons = make([]Comparison, len(m.Systems)-1)
		next := 0
		for k := range m.Systems {
			if k == base {
				continue
			}
			t := compare(m, &out[i].Systems[k], &out[i].Systems[base], opt)
			t.out = &out[i].Comparisons[next]
			next++
			tests = append(tests, t)
		}
	}
	return tests
}

// compare contrasts one system with the baseline.
func compare(m *Metric, sys, base *System, opt Options) *test {
	t := &test{metric: m}
	t.System, t.Baseline = sys.System, base.System
	t.Margin = m.Margin
	if t.Margin == 0 {
		t.Margin = opt.Margin
	}
	a, b := sys.side(), base.side()
	all := slices.Concat(a.y, b.y)
	t.base, t.hasBase = base.Mean.Value, base.Mean.Known
	if sys.Mean.Known && base.Mean.Known {
		t.Difference = point(sys.Mean.Value-base.Mean.Value, len(all))
	}
	for _, s := range []*System{sys, base} {
		if s.Used == s.Runs {
			continue
		}
		if t.lost = t.lost || s.Used < 3; s.Used < 3 {
			t.warn("%s: only %d of %d runs used: no verdict; repeat the missing", s.System, s.Used, s.Runs)
		} else {
			t.warn("%s: %d of %d runs used: repeat the missing", s.System, s.Used, s.Runs)
		}
	}
	log := len(all) > 0 && positive(all)
	if log {
		t.Percent = point(100*(sys.Mean.Value/base.Mean.Value-1), len(all))
	}
	if len(a.y) < 2 || len(b.y) < 2 {
		t.percentOfDifference(log)
		t.warn("%d and %d runs: a comparison needs two a side, better three", len(a.y), len(b.y))
		return t
	}
	if constant(a.y) && constant(b.y) {
		t.percentOfDifference(log)
		t.warn("no variation: all runs of a system gave the same value; check the source")
		return t
	}
	var ok bool
	t.natural, ok = contrastOf(a, b, false, m.Pilot)
	if ok {
		t.Difference = point(t.natural.d, len(all))
	}
	if log {
		la, lb := side{logs(a.y), a.slot}, side{logs(b.y), b.slot}
		t.main, ok = contrastOf(la, lb, true, m.Pilot)
		t.Percent = point(100*math.Expm1(t.main.d), len(all))
		t.margin = math.Log1p(t.Margin)
	} else {
		t.main = t.natural
		t.margin = t.Margin * math.Abs(t.base)
		t.percentOfDifference(log)
	}
	t.ok = ok && t.main.tested()
	if designOf(a.slot, b.slot) == designBlocks && t.main.method != "stein" {
		t.warn("order confounded: all runs of one system came before the other's; alternate them")
	}
	if !t.ok {
		if ok {
			t.warn("no variation left: the runs' order explains every difference; add runs")
		} else {
			t.warn("values out of range: not compared; check the unit")
		}
		return t
	}
	t.Method, t.Paired = t.main.name(), t.main.paired
	t.P = ptr(t.main.p())
	return t
}

// percentOfDifference explains a percentage that cannot be formed.
func (t *test) percentOfDifference(log bool) {
	switch {
	case log || !t.hasBase || !t.Difference.Known:
	case t.base == 0 && t.Difference.Value == 0:
		t.warn("0 -> 0, no change: no percentage")
	case t.base == 0:
		t.warn("baseline 0: no percentage")
	case t.base < 0:
		t.warn("baseline negative: no percentage")
	default:
		t.Percent = point(100*t.Difference.Value/t.base, t.Difference.N)
		t.warn("values of 0 or less: compared by difference, not by ratio")
	}
}

func (t *test) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

func logs(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Log(v)
	}
	return y
}

// moderate lets secondary metrics of a class share what they know of their variance.
func moderate(tests []*test) {
	const enough = 20 // metrics of a class
	groups := make(map[string][]*test)
	var keys []string
	for _, t := range tests {
		c := &t.main
		if t.metric.Primary || t.metric.Class == "" || !t.ok || !c.log || c.nA != c.nB || c.nA < 3 ||
			(c.method != "welch" && c.method != "ols-slot") {
			continue
		}
		key := strings.Join([]string{t.metric.Class, t.System, t.Baseline}, "\x00")
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], t)
	}
	sort.Strings(keys)
	for _, key := range keys {
		group := groups[key]
		if len(group) < enough {
			continue
		}
		s2, df := make([]float64, len(group)), make([]float64, len(group))
		for i, t := range group {
			s2[i], df[i] = t.main.s*t.main.s, t.main.sdf
		}
		prior, ok := FitPrior(s2, df)
		if !ok {
			continue
		}
		for i, t := range group {
			t.squeeze(prior, s2[i], df[i])
		}
	}
}

// squeeze replaces the test's variance by its posterior; the natural scale follows in
// proportion.
func (t *test) squeeze(prior Prior, s2, df float64) {
	v, d, used := prior.Squeeze(s2, df)
	method := "moderated"
	if !used {
		if t.main.method == "ols-slot" {
			return
		}
		method = "pooled"
	}
	for _, c := range []*contrast{&t.main, &t.natural} {
		c.s *= math.Sqrt(v / s2)
		c.se = c.s * c.unscaled
		c.df, c.sdf = d, d
		c.method = method
		c.prior = used
	}
	t.Method = t.main.name()
	t.P = ptr(t.main.p())
}

// decide adjusts the p values of one family and fills in what depends on it.
func decide(family []*test, opt Options) {
	var p []float64
	for _, t := range family {
		if t.P != nil {
			p = append(p, *t.P)
		}
	}
	m := float64(len(p))
	penalty := 1.0
	q := AdjustBH(p)
	if opt.BY {
		penalty = harmonic(len(p))
		q = AdjustBY(p)
	}
	k, rejected := 0, 0.0
	for _, t := range family {
		if t.P == nil {
			continue
		}
		t.Q = ptr(q[k])
		t.selected = q[k] <= opt.Alpha
		if t.selected {
			rejected++
		}
		k++
	}
	// What a test must beat: its own rank for one selected, the next for the others.
	planOf := func(rank float64) *planner { return newPlanner(opt.Alpha*rank/(m*penalty), opt.Power) }
	var chosen, others *planner
	if rejected > 0 {
		chosen = planOf(rejected)
	}
	if m > 0 {
		others = planOf(math.Min(m, rejected+1))
	}
	for _, t := range family {
		t.conclude(opt)
		if t.P == nil {
			continue
		}
		plan, level := others, opt.Level
		if t.selected {
			plan, level, t.Adjusted = chosen, 1-chosen.alpha, true
		}
		t.bounds(level)
		t.plan(plan)
		if t.Differs != nil && *t.Differs && t.Percent.Interval {
			near := t.Percent.Lo
			if t.Percent.Value < 0 {
				near = t.Percent.Hi
			}
			t.AtLeast = ptr(math.Abs(near))
		}
	}
}

// conclude sets verdict and Differs.
func (t *test) conclude(opt Options) {
	if t.metric.Direction != None {
		t.Verdict = Undecided
	}
	if !t.ok || t.lost {
		return
	}
	lo, hi := t.main.interval(1 - 2*opt.Alpha)
	switch inside := t.margin > 0 && -t.margin < lo && hi < t.margin; {
	case inside:
		t.Differs = new(bool)
	case t.selected:
		t.Differs = new(bool)
		*t.Differs = true
	}
	if t.metric.Direction == None || t.Differs == nil {
		return
	}
	up := t.main.d > 0
	switch {
	case !*t.Differs:
		t.Verdict = Same
	case up == (t.metric.Direction == Higher):
		t.Verdict = Better
	default:
		t.Verdict = Worse
	}
}

// bounds sets the intervals of difference and percentage.
func (t *test) bounds(level float64) {
	t.DF = ptr(t.main.df)
	if t.natural.tested() {
		lo, hi := t.natural.interval(level)
		t.Difference = t.Difference.bound(lo, hi, level)
	}
	lo, hi := t.main.interval(level)
	switch {
	case t.main.log:
		t.Percent = t.Percent.bound(100*math.Expm1(lo), 100*math.Expm1(hi), level)
	case t.Percent.Known: // the baseline's own error is left out
		t.Percent = t.Percent.bound(100*lo/t.base, 100*hi/t.base, level)
	}
}

// plan sets what this design can see and what it would need.
func (t *test) plan(p *planner) {
	t.TestAlpha = ptr(p.alpha)
	c := &t.main // Cochran's critical value is left out: Welch's plan is a little short of it
	if d := c.se * p.noncentrality(c.df); c.log {
		t.MDEPercent = ptr(100 * math.Expm1(d))
		t.MDE = ptr(math.Abs(t.base) * math.Expm1(d))
	} else {
		t.MDE = ptr(d)
		if t.base > 0 {
			t.MDEPercent = ptr(100 * d / t.base)
		}
	}
	upper, ok := SDUpper(c.s, c.sdf, 0.8)
	if !ok || !(t.margin > 0) {
		return
	}
	if n, ok := p.runs(t.margin/upper, c.planDF); ok {
		t.RunsNeeded = &n
	} else {
		t.warn("more than %d runs needed for the margin: widen it or quieten the machine", maxRunsNeeded)
	}
}
