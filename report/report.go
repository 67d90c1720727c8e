// Package report writes an experiment's results for people: to a terminal, as
// Markdown for an issue, and as one HTML file that needs nothing else.
//
// It is the only place where values are scaled for reading (KiB, ms, k/s) and
// rounded: no number is shown with more digits than its interval supports, and what
// is unknown is a dash with its reason beside it. It reads no file, computes no
// statistic and decides nothing: verdicts are those of the results.
package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// dash stands for what is unknown.
const dash = "–"

// known returns the number behind p, and whether there is one.
func known(p *float64) (float64, bool) {
	if p == nil || math.IsNaN(*p) || math.IsInf(*p, 0) {
		return 0, false
	}
	return *p, true
}

// notes numbers footnotes: the same text has the same number.
type notes struct {
	texts []string
}

// add returns the numbers of the texts, in ascending order.
func (n *notes) add(texts ...string) []int {
	var marks []int
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if t == "" {
			continue
		}
		i := slices.Index(n.texts, t)
		if i < 0 {
			i = len(n.texts)
			n.texts = append(n.texts, t)
		}
		if !slices.Contains(marks, i+1) {
			marks = append(marks, i+1)
		}
	}
	slices.Sort(marks)
	return marks
}

// row is one line of a table: a metric, a system, and how it compares with the
// baseline.
type row struct {
	metric *schemas.MetricResult
	scale  scale
	system *schemas.SystemResult // nil: the metric has no such system
	base   *schemas.SystemResult // nil: no baseline
	comp   *schemas.ComparisonResult
	name   string // of the system
	isBase bool   // the row is the baseline's own: there is nothing to compare
	first  bool   // of its metric
	of     int    // rows of its metric
}

// rows returns the metric's lines: one a comparison, or one a system if nothing is
// compared.
func rows(r *schemas.Results, m *schemas.MetricResult) []row {
	sc := scaleOf(m)
	var base *schemas.SystemResult
	for i := range m.Systems {
		if r.Baseline != "" && m.Systems[i].System == r.Baseline {
			base = &m.Systems[i]
		}
	}
	var out []row
	for i := range m.Systems {
		s := &m.Systems[i]
		if s == base && len(m.Systems) > 1 {
			continue
		}
		rw := row{metric: m, scale: sc, system: s, base: base, name: s.System, isBase: s == base}
		for j := range m.Comparisons {
			if m.Comparisons[j].System == s.System {
				rw.comp = &m.Comparisons[j]
			}
		}
		out = append(out, rw)
	}
	for j := range m.Comparisons {
		c := &m.Comparisons[j]
		if !slices.ContainsFunc(m.Systems, func(s schemas.SystemResult) bool { return s.System == c.System }) {
			out = append(out, row{metric: m, scale: sc, base: base, comp: c, name: c.System})
		}
	}
	for i := range out {
		out[i].first, out[i].of = i == 0, len(out)
	}
	return out
}

// compared reports whether anything in the scenario is compared.
func compared(s *schemas.Scenario) bool {
	return slices.ContainsFunc(s.Metrics, func(m schemas.MetricResult) bool { return len(m.Comparisons) > 0 })
}

// systemNames returns the systems of the results, the baseline first, the others in
// the order of their first appearance.
func systemNames(r *schemas.Results) []string {
	var names []string
	add := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for i := range r.Scenarios {
		for j := range r.Scenarios[i].Metrics {
			for _, s := range r.Scenarios[i].Metrics[j].Systems {
				add(s.System)
			}
		}
	}
	for _, q := range r.Quality {
		add(q.System)
	}
	if i := slices.Index(names, r.Baseline); i > 0 {
		names = append([]string{r.Baseline}, slices.Delete(names, i, i+1)...)
	}
	return names
}

// Groups of a scenario's metrics.
type groups struct {
	primary []*schemas.MetricResult
	differ  []*schemas.MetricResult // secondary, shown to differ or judged better or worse
	rest    []*schemas.MetricResult // secondary, not shown to differ
}

func group(s *schemas.Scenario) groups {
	var g groups
	for i := range s.Metrics {
		m := &s.Metrics[i]
		switch {
		case m.Primary:
			g.primary = append(g.primary, m)
		case len(m.Comparisons) == 0 || differs(m):
			g.differ = append(g.differ, m)
		default:
			g.rest = append(g.rest, m)
		}
	}
	slices.SortStableFunc(g.differ, func(a, b *schemas.MetricResult) int {
		return cmp.Compare(largest(b), largest(a))
	})
	return g
}

func differs(m *schemas.MetricResult) bool {
	return slices.ContainsFunc(m.Comparisons, func(c schemas.ComparisonResult) bool {
		return c.Differs != nil && *c.Differs || c.Verdict != nil && (*c.Verdict == schemas.Better || *c.Verdict == schemas.Worse)
	})
}

// largest returns the largest known difference of the metric, in percent without
// its sign, -1 if none is known.
func largest(m *schemas.MetricResult) float64 {
	d := -1.0
	for i := range m.Comparisons {
		if p, ok := known(m.Comparisons[i].Percent); ok {
			d = max(d, math.Abs(p))
		}
	}
	return d
}

// restLine sums up the metrics that are not listed.
func restLine(rest []*schemas.MetricResult, margin float64) string {
	var same, undecided, none, not int
	for _, m := range rest {
		verdicts := map[string]int{}
		for _, c := range m.Comparisons {
			switch {
			case c.Verdict != nil:
				verdicts[*c.Verdict]++
			case m.Direction == schemas.None && c.Differs != nil:
				verdicts["none"]++
			default:
				verdicts["not"]++
			}
		}
		switch {
		case verdicts["not"] > 0:
			not++
		case verdicts[schemas.Undecided] > 0:
			undecided++
		case verdicts["none"] > 0:
			none++
		default:
			same++
		}
	}
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(same, "the same within ±"+percentText(margin))
	add(undecided, "undecided")
	add(none, "without a better direction")
	add(not, "not comparable")
	noun := "more metrics show"
	if len(rest) == 1 {
		noun = "more metric shows"
	}
	return fmt.Sprintf("%d %s no difference (%s)", len(rest), noun, strings.Join(parts, ", "))
}

// label returns the metric's name with what tells it from its namesakes.
func label(s *schemas.Scenario, m *schemas.MetricResult) string {
	l := m.Metric
	if m.Device != nil {
		l += " " + *m.Device
	}
	if m.Host != nil {
		l += " on " + *m.Host
	}
	for i := range s.Metrics {
		o := &s.Metrics[i]
		if o.Metric == m.Metric && o.Role != m.Role && text(o.Device) == text(m.Device) && text(o.Host) == text(m.Host) {
			return l + " (" + m.Role + ")"
		}
	}
	return l
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// help returns the schema's explanation of a metric called table.metric.
func help(metric string) string {
	table, name, ok := strings.Cut(metric, ".")
	if !ok {
		return ""
	}
	t, err := schemas.Lookup(table)
	if err != nil {
		return ""
	}
	m, ok := t.Metric(name)
	if !ok {
		return ""
	}
	return m.Help
}

// meanReason says why a system's mean is unknown.
func (rw *row) meanReason(s *schemas.SystemResult) []string {
	switch {
	case s == nil:
		return []string{"no data of this metric"}
	case len(s.Warnings) > 0:
		return s.Warnings
	case s.Runs > 0 && s.Used == 0:
		return []string{fmt.Sprintf("none of %s can be used", count(s.Runs, "run"))}
	case s.Used < 2:
		return []string{fmt.Sprintf("%s used: no interval over runs", count(s.Used, "run"))}
	}
	if _, ok := known(s.Mean); ok {
		return []string{"the interval is not known, no reason given"}
	}
	return []string{"not known, no reason given"}
}

// verdict is what is said of a comparison.
type verdict struct {
	kind   string // better, worse, same, undecided, differs, alike or none
	word   string
	detail string   // "at least 17.9 %", "needs ~12 runs, sees 6.1 % or more"
	long   []string // the same in sentences
}

func (rw *row) verdict() verdict {
	c := rw.comp
	if c == nil {
		return verdict{kind: "none", word: dash}
	}
	if c.Verdict == nil {
		switch {
		case rw.metric.Direction == schemas.None && c.Differs != nil && *c.Differs:
			return verdict{kind: "differs", word: "differs"}
		case rw.metric.Direction == schemas.None && c.Differs != nil:
			return verdict{kind: "alike", word: "not shown"}
		case rw.metric.Direction == schemas.None && c.P != nil:
			return verdict{kind: schemas.Undecided, word: schemas.Undecided}
		}
		return verdict{kind: "none", word: dash}
	}
	v := verdict{kind: *c.Verdict, word: *c.Verdict}
	switch v.kind {
	case schemas.Better, schemas.Worse:
		if near := rw.near(); near != "" {
			v.detail = "at least " + near
		}
	case schemas.Same:
		v.detail = "within ±" + percentText(c.MarginPercent)
	case schemas.Undecided:
		var short []string
		long := "not shown to be equal"
		if c.RunsNeeded != nil {
			short = append(short, fmt.Sprintf("needs ~%s", count(*c.RunsNeeded, "run")))
			long += fmt.Sprintf("; needs ~%s a system", count(*c.RunsNeeded, "run"))
		}
		if d, ok := known(c.MDEPercent); ok {
			short = append(short, "sees ≥"+percentText(d))
			long += "; the smallest difference these could have seen is " + percentText(d)
		}
		v.detail = strings.Join(short, ", ")
		v.long = []string{long}
	}
	return v
}

// near returns the end of the difference's interval that is nearer to zero, without
// its sign; "" if there is none, or if the interval holds zero.
func (rw *row) near() string {
	end := func(x *float64, ci [2]*float64) (float64, float64, bool) {
		_, ok := known(x)
		lo, ok1 := known(ci[0])
		hi, ok2 := known(ci[1])
		if !ok || !ok1 || !ok2 || lo <= 0 && hi >= 0 {
			return 0, 0, false
		}
		return math.Min(math.Abs(lo), math.Abs(hi)), (hi - lo) / 2, true
	}
	if x, h, ok := end(rw.comp.Percent, rw.comp.PercentCI); ok {
		return nearText(x, *rw.comp.Percent, h) + " %"
	}
	if x, h, ok := end(rw.comp.Difference, rw.comp.DifferenceCI); ok {
		f := rw.scale.factor
		return strings.TrimSpace(nearText(x*f, *rw.comp.Difference*f, h*f) + " " + rw.scale.unit)
	}
	return ""
}

// nearText has the digits of the interval beside it, and one at least that is not 0:
// "at least 0 %" would say nothing.
func nearText(x, value, half float64) string {
	s := fixed(x, decimals(value, half))
	if strings.Trim(s, "0.") == "" {
		s = fixed(x, int(-math.Floor(math.Log10(x))))
	}
	return s
}

// differenceReason says why a difference is unknown.
func (rw *row) differenceReason() []string {
	switch {
	case rw.isBase:
		return nil
	case rw.comp == nil && rw.base == nil:
		return []string{"no baseline of this metric to compare with"}
	case rw.comp == nil:
		return []string{"not compared"}
	case len(rw.comp.Warnings) > 0:
		return nil // they are noted in any case
	}
	if iv, _ := rw.differenceOf(); iv.ok {
		return []string{"the difference's interval is not known, no reason given"}
	}
	return []string{"the difference is not known, no reason given"}
}

// level returns the commonest confidence level of the comparisons, or of the
// systems if nothing is compared.
func level(s *schemas.Scenario) (systems, comparisons float64) {
	a, b := map[float64]int{}, map[float64]int{}
	for i := range s.Metrics {
		for _, x := range s.Metrics[i].Systems {
			if _, ok := known(x.CI[0]); ok {
				a[x.Level]++
			}
		}
		for _, c := range s.Metrics[i].Comparisons {
			if _, ok := known(c.DifferenceCI[0]); ok {
				b[c.Level]++
			}
		}
	}
	common := func(m map[float64]int) float64 {
		best, n := 0.95, 0
		keys := make([]float64, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		sort.Float64s(keys)
		for _, k := range keys {
			if k > 0 && m[k] > n {
				best, n = k, m[k]
			}
		}
		return best
	}
	return common(a), common(b)
}

// levelNote says that an interval has another level than its column's head.
func levelNote(lv, column float64) string {
	if lv <= 0 || math.Abs(lv-column) < 1e-9 {
		return ""
	}
	return "interval at " + levelText(lv) + ", not " + levelText(column)
}

func levelText(l float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", l*100), "0"), ".") + " %"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// params returns a scenario's parameters as sorted "name=value" words.
func params(s *schemas.Scenario) []string {
	var out []string
	for k, v := range s.Params {
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1e15 {
			v = int64(f)
		}
		out = append(out, fmt.Sprintf("%s=%v", k, v))
	}
	slices.Sort(out)
	return out
}

// accounts sums up the runs' data.
type accounts struct {
	runs, used                                   int
	expected, received                           int64
	missing, late, missed, duplicates, uncertain int64
	unused, marked                               []schemas.RunNote
}

func account(q []schemas.RunNote) accounts {
	var a accounts
	for _, n := range q {
		a.runs++
		if n.Used {
			a.used++
		} else {
			a.unused = append(a.unused, n)
		}
		if n.Expected != nil {
			a.expected += *n.Expected
		} else {
			a.uncertain++
		}
		a.received += n.Received
		a.missing += n.Missing
		a.late += n.Late
		a.missed += n.Missed
		a.duplicates += n.Duplicates
		if n.Used && (n.Missing+n.Late+n.Missed+n.Duplicates > 0 || n.Expected == nil || len(n.Flags) > 0) {
			a.marked = append(a.marked, n)
		}
	}
	return a
}

func runName(n *schemas.RunNote) string { return n.System + "/" + n.Scenario + "/" + n.Run }

// why says why a run is not used.
func why(n *schemas.RunNote) string {
	switch {
	case n.Why != "":
		return n.Why
	case n.Status != "" && n.Status != schemas.Complete:
		return n.Status
	}
	return "no reason given"
}

// troubles lists what a run's data lack, in words.
func troubles(n *schemas.RunNote) string {
	var p []string
	add := func(k int64, word string) {
		if k > 0 {
			p = append(p, grouped(k)+" "+word)
		}
	}
	if n.Expected == nil {
		p = append(p, "expected ticks not known: a producer never said its last word")
	}
	add(n.Missing, "missing")
	add(n.Late, "late")
	add(n.Missed, "missed")
	add(n.Duplicates, "came twice")
	p = append(p, n.Flags...)
	return strings.Join(p, ", ")
}
