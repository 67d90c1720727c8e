package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// judgeOptions are what analyze asks of judge.
type judgeOptions struct {
	keepNS   int64
	baseline string
	margin   float64 // share
	window   analyze.WindowKind
	primary  []string
	by       bool // Benjamini-Yekutieli
	aa       bool // all systems are the same
	// extended are the scenarios to which runs were added, once, and from how many.
	extended map[string]campaign.Extension
}

// defaultPrimary are the primary metrics unless a plan names others.
var defaultPrimary = []string{"workload.throughput", "workload.latency_p99"}

// judge forms the results document of an experiment's runs: it maps the loaders'
// metrics to analyze's and the judgements to results.json.
func judge(runs []*loaders.Run, o judgeOptions) (*schemas.Results, []loaders.Scenario, error) {
	if len(runs) == 0 {
		return nil, nil, loaders.ErrNoData
	}
	base, err := baseline(runs, o.baseline)
	if err != nil {
		return nil, nil, err
	}
	out := &schemas.Results{Schema: schemas.ResultsSchema, Experiment: runs[0].Manifest.Experiment, Baseline: base, MarginPercent: 100 * o.margin,
		Scenarios: []schemas.Scenario{}, Drift: []schemas.Drift{}, Quality: []schemas.RunNote{}, Plausibility: []schemas.Finding{}}
	for _, r := range runs {
		out.Quality = append(out.Quality, runNote(r))
	}
	scenarios, err := loaders.Scenarios(runs, o.keepNS)
	if err != nil {
		return nil, nil, err
	}
	var metrics []analyze.Metric
	for i := range scenarios {
		for j := range scenarios[i].Metrics {
			metrics = append(metrics, toMetric(&scenarios[i], &scenarios[i].Metrics[j], base, o))
		}
	}
	judged := analyze.Judge(metrics, analyze.Options{Margin: o.margin, Window: o.window, BY: o.by})
	k := 0
	for i := range scenarios {
		s := &scenarios[i]
		sr := schemas.Scenario{Scenario: s.Name, Params: s.Params, Metrics: []schemas.MetricResult{}}
		for j := range s.Metrics {
			sr.Metrics = append(sr.Metrics, fromJudgement(s, &s.Metrics[j], &metrics[k], &judged[k]))
			k++
		}
		out.Scenarios = append(out.Scenarios, sr)
	}
	out.Plausibility = plausibility(scenarios)
	out.AA = o.aa
	return out, scenarios, nil
}

// need is how many runs of each system a scenario has, and how many its primary metrics
// need.
type need struct{ pilot, runs int }

// neededRuns asks analyze.ExtendedRuns for every scenario's primary metrics. The rule is
// for as many runs on either side: what it has no answer for needs nothing.
func neededRuns(r *schemas.Results, margin float64) map[string]need {
	out := map[string]need{}
	for _, s := range r.Scenarios {
		for _, m := range s.Metrics {
			if !m.Primary {
				continue
			}
			var base []float64
			for _, x := range m.Systems {
				if x.System == r.Baseline {
					base = knownValues(x)
				}
			}
			for _, x := range m.Systems {
				v := knownValues(x)
				if n, ok := analyze.ExtendedRuns(base, v, margin, 0.95); ok && x.System != r.Baseline {
					out[s.Scenario] = need{pilot: len(v), runs: max(n, out[s.Scenario].runs)}
				}
			}
		}
	}
	return out
}

func knownValues(s schemas.SystemResult) (out []float64) {
	for _, v := range s.RunValues {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// baseline returns the system that the others are compared with: the one asked for,
// the one of that name, or the one that ran first.
func baseline(runs []*loaders.Run, asked string) (string, error) {
	var systems []string
	first := runs[0]
	for _, r := range runs {
		if !slices.Contains(systems, r.Manifest.System) {
			systems = append(systems, r.Manifest.System)
		}
		if s, f := r.Manifest.Start, first.Manifest.Start; s != nil && (f == nil || s.Before(*f)) {
			first = r
		}
	}
	switch {
	case asked == "" && slices.Contains(systems, "baseline"):
		return "baseline", nil
	case asked == "":
		return first.Manifest.System, nil
	case !slices.Contains(systems, asked):
		return "", usage("--baseline %s: no such system: there are %s", asked, strings.Join(systems, ", "))
	}
	return asked, nil
}

func runNote(r *loaders.Run) schemas.RunNote {
	m := r.Manifest
	n := schemas.RunNote{System: m.System, Scenario: m.Scenario, Run: m.Run, Status: m.Status, Flags: []string{}}
	n.Used, n.Why = m.Usable()
	var expected int64
	known := true
	for _, p := range m.Producers {
		if p.Expected == nil {
			known = false
		} else {
			expected += *p.Expected
		}
		n.Received += p.Received
		n.Missing += count(p.Missing)
		n.Duplicates += p.Duplicates
		n.Late += p.Late
		n.Missed += p.Missed
	}
	if known {
		n.Expected = &expected
	}
	for _, reason := range sortedKeys(m.Quality) {
		switch reason {
		case "first", "absent", "late", "missed": // as it must be, or counted above
		default:
			n.Flags = append(n.Flags, fmt.Sprintf("%s: %d", reason, m.Quality[reason]))
		}
	}
	return n
}

// toMetric gives a metric's runs to analyze. Runs that don't enter statistics are
// there without a value, so that "2 of 3 runs" is said.
func toMetric(s *loaders.Scenario, m *loaders.Metric, base string, o judgeOptions) analyze.Metric {
	out := analyze.Metric{Name: m.Name(), Scenario: s.Name, Class: class(m), Direction: direction(m.Def.Better),
		Primary: slices.Contains(o.primary, m.Name()) && m.Host == nil && m.Device == nil, Baseline: base, Pilot: o.extended[s.Name].Pilot}
	for i, r := range s.Runs {
		j := slices.IndexFunc(out.Systems, func(x analyze.SystemRuns) bool { return x.System == r.Manifest.System })
		if j < 0 {
			j = len(out.Systems)
			out.Systems = append(out.Systems, analyze.SystemRuns{System: r.Manifest.System})
		}
		w := s.Windows[i]
		run := analyze.Run{Slot: r.Manifest.Slot,
			Fixed: analyze.Window{FromNS: w.FromNS, ToNS: w.ToNS}, Span: analyze.Window{FromNS: w.SpanFromNS, ToNS: w.SpanToNS}}
		c := &m.Cells[i]
		if ok, _ := r.Manifest.Usable(); ok {
			switch {
			case m.Def.Quantile != 0 && c.Count > 0:
				run.Known, _ = analyze.CheckQuantile(m.Def.Quantile, c.Count)
				run.Value = c.Value
			case c.Series != nil:
				run.Known = true
				run.Series = toSeries(c.Series)
			}
		}
		out.Systems[j].Runs = append(out.Systems[j].Runs, run)
	}
	return out
}

func class(m *loaders.Metric) string {
	switch {
	case m.Table == &schemas.Workload && strings.HasPrefix(m.Def.Name, "latency"):
		return "latency"
	case m.Table == &schemas.Workload:
		return "throughput"
	}
	return m.Table.Class
}

func direction(d schemas.Direction) analyze.Direction {
	switch d {
	case schemas.Higher:
		return analyze.Higher
	case schemas.Lower:
		return analyze.Lower
	}
	return analyze.None
}

func fromJudgement(s *loaders.Scenario, m *loaders.Metric, in *analyze.Metric, j *analyze.Judgement) schemas.MetricResult {
	out := schemas.MetricResult{Metric: m.Name(), Role: m.Role, Host: m.Host, Device: m.Device, Unit: m.Def.Unit, Direction: m.Def.Better,
		Primary: in.Primary, Systems: []schemas.SystemResult{}, Comparisons: []schemas.ComparisonResult{}}
	for i := range j.Systems {
		sys := fromSystem(&j.Systems[i])
		if m.Def.Quantile != 0 {
			sys.Warnings = append(sys.Warnings, quantileNotes(s, m, sys.System)...)
			sys.Window = string(analyze.Fixed)
			if w := firstWindow(s, sys.System); w != nil {
				sys.Windows.Fixed = &schemas.WindowResult{FromS: seconds(w.FromNS), ToS: seconds(w.ToNS), Mean: sys.Mean}
			}
		}
		out.Systems = append(out.Systems, sys)
	}
	for i := range j.Comparisons {
		out.Comparisons = append(out.Comparisons, fromComparison(&j.Comparisons[i]))
	}
	for i := range out.Comparisons {
		out.Comparisons[i].Warnings = append(out.Comparisons[i].Warnings, j.Warnings...)
	}
	return out
}

func firstWindow(s *loaders.Scenario, system string) *loaders.Window {
	for i, r := range s.Runs {
		if r.Manifest.System == system {
			return &s.Windows[i]
		}
	}
	return nil
}

// quantileNotes say what has to be known of a latency quantile.
func quantileNotes(s *loaders.Scenario, m *loaders.Metric, system string) []string {
	var notes []string
	for i, r := range s.Runs {
		if r.Manifest.System != system {
			continue
		}
		if c := m.Cells[i]; c.Count > 0 {
			if ok, why := analyze.CheckQuantile(m.Def.Quantile, c.Count); !ok && !slices.Contains(notes, why) {
				notes = append(notes, why)
			}
		}
		if loop, _ := r.Manifest.Params["loop"].(string); loop == "closed" {
			if note := "closed loop: service times under self-throttling, not what users at a fixed rate would see"; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

func seconds(ns int64) float64 { return float64(ns) * 1e-9 }

func fromSystem(s *analyze.System) schemas.SystemResult {
	out := schemas.SystemResult{System: s.System, Runs: s.Runs, Used: s.Used, RunValues: []*float64{}, ESS: []*float64{},
		Level: s.Mean.Level, Median: s.Median, Window: string(s.Window), SDBetween: s.SDBetween, SDWithin: s.SDWithin,
		Warnings: append([]string{}, s.Warnings...)}
	out.Mean, out.CI = estimate(s.Mean)
	out.NoiseFloorPercent = noiseFloor(s)
	for i := range s.Run {
		var v *float64
		if s.Run[i].Known {
			v = &s.Run[i].Value
		}
		out.RunValues = append(out.RunValues, v)
		out.ESS = append(out.ESS, s.Run[i].ESS)
	}
	out.Windows = schemas.WindowsResult{Fixed: fromWindow(&s.Fixed), Auto: fromWindow(&s.Auto)}
	if s.Advice != "" {
		out.Warnings = append(out.Warnings, s.Advice)
	}
	return out
}

// noiseFloor is the difference between two sets of as many runs of this system that
// chance exceeds one time in twenty.
func noiseFloor(s *analyze.System) *float64 {
	var values []float64
	for i := range s.Run {
		if s.Run[i].Known {
			values = append(values, s.Run[i].Value)
		}
	}
	if len(values) < 2 {
		return nil
	}
	if f, ok := analyze.NoiseFloor(values, len(values), 0.05); ok {
		return &f
	}
	return nil
}

func fromWindow(w *analyze.WindowSummary) *schemas.WindowResult {
	if !w.Mean.Known {
		return nil
	}
	mean, _ := estimate(w.Mean)
	return &schemas.WindowResult{FromS: seconds(w.FromNS), ToS: seconds(w.ToNS), Steady: w.Steady, Mean: mean}
}

func estimate(e analyze.Estimate) (value *float64, ci [2]*float64) {
	if e.Known {
		value = &e.Value
	}
	if e.Known && e.Interval {
		ci = [2]*float64{&e.Lo, &e.Hi}
	}
	return value, ci
}

func fromComparison(c *analyze.Comparison) schemas.ComparisonResult {
	out := schemas.ComparisonResult{System: c.System, Level: cmp.Or(c.Percent.Level, c.Difference.Level), P: c.P, Q: c.Q, DF: c.DF, Paired: c.Paired,
		Method: c.Method, MarginPercent: 100 * c.Margin, Differs: c.Differs, MDEPercent: c.MDEPercent, RunsNeeded: c.RunsNeeded,
		Warnings: append([]string{}, c.Warnings...)}
	out.Difference, out.DifferenceCI = estimate(c.Difference)
	out.Percent, out.PercentCI = estimate(c.Percent)
	if c.Verdict != "" {
		v := string(c.Verdict)
		out.Verdict = &v
	}
	return out
}
