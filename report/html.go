package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// Meta is what the report says about itself and about the machines.
type Meta struct {
	Title     string // empty: made from the name of the experiment
	Generator string // "steady 1.0"
	Created   string // a time, as it shall be shown
	Note      string // a paragraph of the user's, under the title
	Hosts     []Host
	Files     []File // what lies beside the report
}

// Host is a machine in a system's runs. Facts that differ among the hosts of a role
// are shown first, since they may explain a difference.
type Host struct {
	System string // empty: the machine serves all systems
	Host   string
	Roles  []string
	Facts  map[string]string
}

// File is something for the reader who wants the data.
type File struct{ Name, What string }

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"minus": minus,
	"wbr":   breakable,
	"group": grouped,
	"inc":   func(i int) int { return i + 1 },
	"deref": func(p *int64) int64 { return *p },
	"icon": func(kind string) bool {
		return slices.Contains([]string{schemas.Better, schemas.Worse, schemas.Same, schemas.Undecided, "differs", "alike"}, kind)
	},
	"noted": func(id string, marks []int) noted { return noted{id, marks} },
	"qargs": func(rows []qualityRow, title string) qualityTable { return qualityTable{rows, title} },
}).Parse(pageText))

// HTML writes the report as one file: no script is needed to read it, nothing is
// fetched from anywhere. It panics if a curve's slices differ in length.
func HTML(w io.Writer, r *schemas.Results, charts []Chart, meta Meta) error {
	p := newPage(r, charts, meta)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	// No control character of a name or of a tool's text reaches the page, whatever
	// part it is shown in; nor one that turns the writing direction.
	_, err := w.Write(bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !harmful(r) {
			return r
		}
		return '?'
	}, b.Bytes()))
	return err
}

// page is what the template shows.
type page struct {
	Title, Generator, Created, Note string
	CSS, JS                         template.HTML
	Experiment, Baseline, Margin    string
	Systems                         []legend
	Alerts                          []alert
	Tally                           []tally
	Facts                           []fact
	Summary                         []summary
	Forest                          *forest
	Scenarios                       []*scenario
	Orphans                         []figure
	Drift                           []driftRow
	Runs                            runCount
	Troubled, Whole                 []qualityRow
	Findings                        []schemas.Finding
	Machines                        *machines
	Files                           []File
}

type runCount struct{ Runs, Used int }

type fact struct{ Name, Value string }

type alert struct{ Kind, Text, Link string }

type tally struct {
	Kind string
	N    int
}

// summary is the headline of a scenario.
type summary struct {
	ID, Name, Params string
	Lines            []sentence
}

type sentence struct {
	Kind, Word, Class string
	System, Text      string
}

type forest struct {
	Scale  template.HTML
	Groups []forestGroup
}

type forestGroup struct {
	ID, Name string
	Rows     []forestLine
}

type forestLine struct {
	Metric, System, Class string
	Plot                  template.HTML
	Difference, CI        string
	Kind, Word            string
}

type scenario struct {
	ID, Name         string
	Params           []string
	Compared, Multi  bool
	Baseline         string
	LevelMean, Level string
	Primary, Differ  metricTable
	Rest             metricTable
	RestLine         string
	Notes            []string
	Figures          []figure
	Windows          []windowTable
}

type metricRows struct {
	Table, Name, Unit, Better, Help string
	Largest                         string // for sorting
	Rows                            []tableRow
}

type tableRow struct {
	First             bool
	Of                int
	System, Class     string
	Base, Mean        value
	Plot              template.HTML
	Difference, CI, Q string
	DiffMarks         []int
	Kind, Word        string
	Detail            string
	VerdictMarks      []int
}

// breakable lets a long name break after its points, dashes and underscores.
func breakable(s string) template.HTML {
	return template.HTML(nameBreaks.Replace(template.HTMLEscapeString(s)))
}

var nameBreaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", "-", "-<wbr>", "/", "/<wbr>")

// metricTable, qualityTable and noted are what the template's parts are given.
type metricTable struct {
	Scenario  *scenario
	Metrics   []metricRows
	Scale     template.HTML
	Title     string
	Secondary bool
}

type qualityTable struct {
	Rows  []qualityRow
	Title string
}

type noted struct {
	ID    string
	Marks []int
}

type value struct {
	Text  string
	Marks []int
}

type figure struct {
	Caption, Note string
	SVG           template.HTML
	Legend        []legend
	Wide          bool
}

type windowTable struct {
	Metric, Unit string
	Rows         []windowRow
}

type windowRow struct {
	System, Class              string
	Used, Median, Between      string
	Within, ESS                string
	Judged                     string
	Fixed, Auto                string
	FixedMean, AutoMean        string
	FixedJudged, AutoJudged    bool
	FixedUnsteady, AutoTrouble bool
}

type driftRow struct{ Kind, Word, Text string }

type qualityRow struct {
	schemas.RunNote
	Class    string
	Reason   string
	FlagText string
}

type machines struct {
	Heads []string
	Rows  []machineRow
	Same  []machineRow
}

type machineRow struct {
	Fact   string
	Values []string
}

const palette = 7 // classes s0 to s6 in the style sheet, s0 is the baseline's

func newPage(r *schemas.Results, charts []Chart, meta Meta) *page {
	names := systemNames(r)
	for i := range charts {
		for _, c := range charts[i].Curves {
			if !slices.Contains(names, c.System) {
				names = append(names, c.System)
			}
		}
	}
	offset := 0
	if r.Baseline == "" || !slices.Contains(names, r.Baseline) {
		offset = 1 // grey is the baseline's alone
	}
	color := func(s string) int {
		i := slices.Index(names, s)
		if i < 0 {
			return palette - 1
		}
		if i += offset; i >= palette {
			i = 1 + (i-1)%(palette-1)
		}
		return i
	}
	class := func(s string) string { return fmt.Sprintf("s%d", color(s)) }

	p := &page{
		Title: meta.Title, Generator: meta.Generator, Created: meta.Created, Note: meta.Note, Files: meta.Files,
		CSS: template.HTML("<style>" + pageCSS + "</style>"), JS: template.HTML("<script>" + pageJS + "</script>"),
		Experiment: r.Experiment, Baseline: r.Baseline, Margin: percentText(r.MarginPercent),
		Findings: r.Plausibility,
	}
	acc := account(r.Quality)
	p.Runs = runCount{acc.runs, acc.used}
	if p.Title == "" {
		p.Title = "Benchmark report: " + r.Experiment
	}
	for _, n := range names {
		p.Systems = append(p.Systems, legend{n, class(n)})
	}
	p.Facts = facts(r, names, acc)
	p.Alerts = alerts(r, acc)

	counts := map[string]int{}
	var primaries []interval
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		id := fmt.Sprintf("scenario-%d", i+1)
		sum := summary{ID: id, Name: s.Scenario, Params: strings.Join(params(s), ", ")}
		for _, m := range group(s).primary {
			for _, rw := range rows(r, m) {
				if rw.comp == nil && len(m.Comparisons) > 0 {
					continue
				}
				sum.Lines = append(sum.Lines, headline(r, s, &rw, class(rw.name)))
				if rw.comp != nil {
					counts[rw.verdict().kind]++
				}
				if iv, unit := rw.differenceOf(); iv.ok && unit == "%" {
					primaries = append(primaries, iv)
				}
			}
		}
		p.Summary = append(p.Summary, sum)
	}
	for _, k := range []string{schemas.Better, schemas.Worse, schemas.Same, schemas.Undecided} {
		if counts[k] > 0 {
			p.Tally = append(p.Tally, tally{k, counts[k]})
		}
	}
	if len(primaries) > 0 {
		p.Forest = newForest(r, forestAxis(primaries, r.MarginPercent), class)
	}
	shown := make([]bool, len(charts))
	for i := range r.Scenarios {
		p.Scenarios = append(p.Scenarios, newScenario(r, i, charts, shown, color))
	}
	for i := range charts {
		if !shown[i] {
			f := chartFigure(&charts[i], color)
			f.Caption = charts[i].Scenario + ": " + f.Caption
			p.Orphans = append(p.Orphans, f)
		}
	}
	for i := range r.Drift {
		d := &r.Drift[i]
		kind := map[string]string{"drift": "worse", "steady": "same"}[d.Verdict]
		if kind == "" {
			kind = "undecided"
		}
		p.Drift = append(p.Drift, driftRow{kind, d.Verdict, tied(minus(driftText(d)))})
	}
	for _, n := range r.Quality {
		q := qualityRow{RunNote: n, Class: class(n.System), FlagText: strings.Join(n.Flags, ", ")}
		if !n.Used {
			q.Reason = why(&n)
		}
		if !n.Used || troubles(&n) != "" {
			p.Troubled = append(p.Troubled, q)
		} else {
			p.Whole = append(p.Whole, q)
		}
	}
	p.Machines = newMachines(meta.Hosts)
	return p
}

func facts(r *schemas.Results, names []string, a accounts) []fact {
	var fs []fact
	fs = append(fs, fact{"Scenarios", fmt.Sprint(len(r.Scenarios))})
	if a.runs > 0 {
		fs = append(fs, fact{"Runs used", fmt.Sprintf("%d of %d", a.used, a.runs)})
		if a.expected > 0 {
			// Rounded down: 100 % is said of complete data only.
			got := 100 * float64(a.expected-a.missing) / float64(a.expected+a.missed)
			t := strings.TrimSuffix(fixed(floorTo(max(0, got), 2), 2), ".00") + " %"
			if a.uncertain > 0 {
				t += fmt.Sprintf(", unknown in %d", a.uncertain)
			}
			fs = append(fs, fact{"Ticks received", t})
		}
	}
	if r.Baseline != "" {
		fs = append(fs, fact{"Margin", "±" + percentText(r.MarginPercent)})
	}
	n := 0
	for i := range r.Scenarios {
		n += len(r.Scenarios[i].Metrics)
	}
	fs = append(fs, fact{"Metrics", grouped(int64(n))})
	return fs
}

func alerts(r *schemas.Results, a accounts) []alert {
	var as []alert
	if k := len(a.unused); k > 0 {
		reasons := []string{}
		for i := range a.unused {
			if i == 3 && k > 4 {
				reasons = append(reasons, fmt.Sprintf("and %d more", k-3))
				break
			}
			reasons = append(reasons, runName(&a.unused[i])+" ("+why(&a.unused[i])+")")
		}
		verb := " was"
		if k > 1 {
			verb = "s were"
		}
		as = append(as, alert{"warning", fmt.Sprintf("%d run%s not used: %s.", k, verb, strings.Join(reasons, "; ")), "#data"})
	}
	worst := map[string]int{}
	for _, f := range r.Plausibility {
		worst[f.Severity]++
	}
	if n := worst["error"]; n > 0 {
		as = append(as, alert{"error", fmt.Sprintf("%s that can't be true: see plausibility.", count(n, "figure")), "#plausibility"})
	}
	if n := len(r.Plausibility) - worst["error"]; n > 0 {
		as = append(as, alert{"warning", fmt.Sprintf("%s hardly plausible: see plausibility.", count(n, "figure")), "#plausibility"})
	}
	if r.Baseline == "" && len(r.Scenarios) > 0 {
		as = append(as, alert{"note", "There is no baseline: the systems are listed, not compared.", ""})
	}
	return as
}

// short is a metric's name without its table.
func short(l string) string {
	if i := strings.IndexByte(l, '.'); i > 0 && !strings.Contains(l[:i], " ") {
		return l[i+1:]
	}
	return l
}

// headline says a primary metric's result in a sentence.
func headline(r *schemas.Results, s *schemas.Scenario, rw *row, class string) sentence {
	name := short(label(s, rw.metric))
	v := rw.verdict()
	out := sentence{Kind: v.kind, Word: v.word, Class: class, System: rw.name}
	unit := rw.scale.unit
	mean := func(s *schemas.SystemResult) (string, bool) {
		if s == nil {
			return dash, false
		}
		iv := intervalOf(s.Mean, s.CI, rw.scale.factor)
		if !iv.ok {
			return dash, false
		}
		return fixed(iv.value, decimals(iv.value, iv.half())), true
	}
	mine, ok1 := mean(rw.system)
	if rw.comp == nil {
		if rw.system != nil {
			mine = intervalOf(rw.system.Mean, rw.system.CI, rw.scale.factor).mean()
		}
		out.Kind, out.Word = "plain", ""
		out.Text = strings.TrimSpace(name + " " + mine + " " + unit)
		if !ok1 {
			out.Text += " (" + strings.Join(rw.meanReason(rw.system), "; ") + ")"
		}
		out.Text = tied(minus(out.Text)) + "."
		return out
	}
	theirs, ok2 := mean(rw.base)
	pair := ""
	if ok1 && ok2 {
		pair = ", " + mine + " against " + theirs
		if unit != "" {
			pair += " " + unit
		}
	}
	iv, du := rw.differenceOf()
	if !iv.ok {
		why := append(slices.Clone(rw.comp.Warnings), rw.differenceReason()...)
		out.Text = minus(name + " can't be compared" + pair + ": " + strings.Join(why, "; ") + ".")
		return out
	}
	val, ci := iv.parts(du)
	if ci != "" {
		ci = " [" + ci + "]"
	}
	way := "higher"
	if iv.value < 0 {
		way = "lower"
	}
	amount := strings.TrimLeft(val, "+-")
	switch v.kind {
	case schemas.Better, schemas.Worse:
		out.Text = name + " is " + amount + " " + way + ci + pair
		if v.detail != "" {
			out.Text += ": " + v.detail + " " + v.kind
		}
	case schemas.Same:
		out.Text = name + " is the same " + v.detail + ": " + val + ci + pair
	case schemas.Undecided:
		out.Text = name + " is undecided at " + val + ci + pair
		switch m, ok := known(rw.comp.MDEPercent); {
		case ok:
			out.Text += ". That is not equality: these runs could only have seen " + percentText(m) + " or more"
		default:
			out.Text += ". That is not equality"
		}
		if n := rw.comp.RunsNeeded; n != nil {
			out.Text += fmt.Sprintf("; a decision needs about %s a system", count(*n, "run"))
		}
		if len(rw.comp.Warnings) > 0 {
			out.Text += " (" + strings.Join(rw.comp.Warnings, "; ") + ")"
		}
	case "differs":
		out.Text = name + " is " + amount + " " + way + ci + pair + "; neither way is better"
	case "alike":
		out.Text = name + " is not shown to differ: " + val + ci + pair
	default:
		out.Text = name + ": " + val + ci + pair + ", not judged"
		if len(rw.comp.Warnings) > 0 {
			out.Text += " (" + strings.Join(rw.comp.Warnings, "; ") + ")"
		}
	}
	out.Text = tied(minus(out.Text)) + "."
	return out
}

func plotTitle(rw *row, name string) string {
	iv, unit := rw.differenceOf()
	return minus(rw.name + ", " + name + ": " + iv.difference(unit) + ", " + rw.verdict().word)
}

func newForest(r *schemas.Results, a axis, class func(string) string) *forest {
	f := &forest{Scale: template.HTML(forestScale(a, forestTicks))}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		g := forestGroup{ID: fmt.Sprintf("scenario-%d", i+1), Name: s.Scenario}
		for _, m := range group(s).primary {
			for _, rw := range rows(r, m) {
				iv, unit := rw.differenceOf()
				if !iv.ok {
					continue
				}
				v := rw.verdict()
				l := forestLine{Metric: short(label(s, m)), System: rw.name, Class: class(rw.name), Kind: v.kind, Word: v.word}
				l.Difference, l.CI = iv.parts(unit)
				if unit == "%" {
					l.Plot = template.HTML(forestRow(a, forestTicks, iv, rw.comp.MarginPercent, v.kind, plotTitle(&rw, l.Metric)))
				}
				g.Rows = append(g.Rows, l)
			}
		}
		if len(g.Rows) > 0 {
			f.Groups = append(f.Groups, g)
		}
	}
	return f
}

func newScenario(r *schemas.Results, i int, charts []Chart, shown []bool, color func(string) int) *scenario {
	s := &r.Scenarios[i]
	class := func(n string) string { return fmt.Sprintf("s%d", color(n)) }
	lvMean, lvDiff := level(s)
	out := scenario{
		ID: fmt.Sprintf("scenario-%d", i+1), Name: s.Scenario, Params: params(s),
		Compared: compared(s), Baseline: r.Baseline, LevelMean: levelText(lvMean), Level: levelText(lvDiff),
	}
	g := group(s)
	// The primary metrics have an axis of their own: theirs are the small differences.
	axisOf := func(ms []*schemas.MetricResult) axis {
		var ivs []interval
		for _, m := range ms {
			for _, rw := range rows(r, m) {
				if iv, unit := rw.differenceOf(); iv.ok && unit == "%" {
					ivs = append(ivs, iv)
				}
			}
		}
		return forestAxis(ivs, r.MarginPercent)
	}
	var n notes
	set := func(ms []*schemas.MetricResult) metricTable {
		a := axisOf(ms)
		t := metricTable{Scenario: &out, Scale: template.HTML(forestScale(a, cellTicks))}
		for _, m := range ms {
			t.Metrics = append(t.Metrics, newMetric(r, s, m, a, &n, lvMean, lvDiff, class))
		}
		return t
	}
	out.Primary, out.Differ, out.Rest = set(g.primary), set(g.differ), set(g.rest)
	out.Primary.Title, out.Differ.Title, out.Rest.Title = "Primary metrics", "Other metrics that differ", "Metrics that show no difference"
	if !out.Compared {
		out.Differ.Title = "Other metrics"
	}
	out.Differ.Secondary, out.Rest.Secondary = true, true
	if len(g.rest) > 0 {
		out.RestLine = restLine(g.rest, r.MarginPercent)
	}
	out.Notes = n.texts

	// Charts: the primary metrics' first, throughput before all.
	var mine []int
	for j := range charts {
		if charts[j].Scenario == s.Scenario {
			mine = append(mine, j)
			shown[j] = true
		}
	}
	rank := func(metric string) int {
		k := slices.IndexFunc(g.primary, func(m *schemas.MetricResult) bool { return m.Metric == metric })
		switch {
		case strings.HasSuffix(metric, ".throughput"):
			return 0
		case k >= 0:
			return 1 + k
		}
		return 1 << 20
	}
	slices.SortStableFunc(mine, func(x, y int) int { return rank(charts[x].Metric) - rank(charts[y].Metric) })
	for _, j := range mine {
		out.Figures = append(out.Figures, chartFigure(&charts[j], color))
	}
	for _, m := range g.primary {
		sc := scaleOf(m)
		var ss []strip
		for _, n := range systemNames(r) {
			for k := range m.Systems {
				if x := &m.Systems[k]; x.System == n {
					ss = append(ss, strip{x.System, color(x.System), x.RunValues, intervalOf(x.Mean, x.CI, sc.factor), x.Used})
				}
			}
		}
		name := label(s, m)
		if svg := stripPlot(name+": every run, and the mean with its interval", sc, ss); svg != "" {
			out.Figures = append(out.Figures, figure{Caption: strings.TrimSuffix(name+", "+sc.unit, ", ") + ": runs, mean, interval", SVG: template.HTML(svg)})
		}
		out.Windows = append(out.Windows, newWindows(name, sc, m, systemNames(r), class))
	}
	return &out
}

func chartFigure(c *Chart, color func(string) int) figure {
	d := c.draw(color)
	return figure{Caption: d.Caption, Note: d.Note, SVG: template.HTML(d.SVG), Legend: d.Legend, Wide: true}
}

func newMetric(r *schemas.Results, s *schemas.Scenario, m *schemas.MetricResult, a axis, n *notes, lvMean, lvDiff float64, class func(string) string) metricRows {
	l := label(s, m)
	out := metricRows{Name: l, Help: help(m.Metric), Unit: scaleOf(m).unit, Largest: fmt.Sprintf("%.6g", largest(m))}
	if sh := short(l); sh != l {
		out.Table, out.Name = l[:len(l)-len(sh)], sh
	}
	switch m.Direction {
	case schemas.Higher:
		out.Better = "higher is better"
	case schemas.Lower:
		out.Better = "lower is better"
	}
	for _, rw := range rows(r, m) {
		t := tableRow{First: rw.first, Of: rw.of, System: rw.name, Class: class(rw.name)}
		t.Mean = meanValue(n, &rw, rw.system, lvMean)
		if compared(s) {
			if rw.first {
				t.Base = meanValue(n, &rw, rw.base, lvMean)
			}
			iv, unit := rw.differenceOf()
			v := rw.verdict()
			t.Difference, t.CI = dash, ""
			var reasons []string
			if iv.ok {
				t.Difference, t.CI = iv.parts(unit)
			}
			if !iv.bounded {
				reasons = rw.differenceReason()
			}
			if rw.comp != nil {
				if iv.bounded {
					reasons = append(reasons, levelNote(rw.comp.Level, lvDiff))
				}
				reasons = append(reasons, rw.comp.Warnings...)
				if q, ok := known(rw.comp.Q); ok {
					t.Q = probability(q)
				}
				if iv.ok && unit == "%" {
					t.Plot = template.HTML(forestRow(a, cellTicks, iv, rw.comp.MarginPercent, v.kind, plotTitle(&rw, l)))
				}
			}
			t.DiffMarks = n.add(reasons...)
			t.Kind, t.Word, t.Detail = v.kind, v.word, v.detail
			switch {
			case v.kind == "alike":
				t.Word = "not shown to differ"
			case v.kind == "none" && rw.comp != nil && len(rw.comp.Warnings) == 0:
				t.VerdictMarks = n.add("not judged, no reason given")
			}
		}
		out.Rows = append(out.Rows, t)
	}
	return out
}

func meanValue(n *notes, rw *row, s *schemas.SystemResult, lv float64) value {
	if s == nil {
		return value{dash, n.add(rw.meanReason(s)...)}
	}
	iv := intervalOf(s.Mean, s.CI, rw.scale.factor)
	reasons := slices.Clone(s.Warnings)
	if !iv.bounded {
		reasons = rw.meanReason(s)
	} else if t := levelNote(s.Level, lv); t != "" {
		reasons = append(reasons, t)
	}
	t := iv.mean()
	if iv.ok && !iv.bounded {
		t += " ±" + dash
	}
	return value{t, n.add(reasons...)}
}

// probability prints a p or q value.
func probability(q float64) string {
	switch {
	case q < 0.001:
		return "<0.001"
	case q < 0.1:
		return fixed(q, 3)
	}
	return fixed(q, 2)
}

func newWindows(name string, sc scale, m *schemas.MetricResult, order []string, class func(string) string) windowTable {
	t := windowTable{Metric: name, Unit: sc.unit}
	for _, n := range order {
		for i := range m.Systems {
			s := &m.Systems[i]
			if s.System != n {
				continue
			}
			iv := intervalOf(s.Mean, s.CI, sc.factor)
			num := func(p *float64) string {
				x, ok := known(p)
				if !ok {
					return dash
				}
				return fixed(x*sc.factor, decimals(x*sc.factor, iv.half()))
			}
			sd := func(p *float64) string {
				x, ok := known(p)
				if !ok {
					return dash
				}
				return fixed(x*sc.factor, min(decimals(0, x*sc.factor), 6))
			}
			row := windowRow{System: s.System, Class: class(s.System), Used: fmt.Sprintf("%d of %d", s.Used, s.Runs), Median: num(s.Median), Between: sd(s.SDBetween), Within: sd(s.SDWithin)}
			least := math.Inf(1)
			for _, e := range s.ESS {
				if x, ok := known(e); ok {
					least = min(least, x)
				}
			}
			row.ESS = dash
			if !math.IsInf(least, 1) {
				row.ESS = fixed(least, 0)
			}
			win := func(w *schemas.WindowResult) (span, mean string, unsteady bool) {
				if w == nil {
					return dash, "", false
				}
				span = trim(w.FromS) + " to " + trim(w.ToS) + " s"
				switch {
				case w.Steady == nil:
					span += ", steady: not known"
				case *w.Steady:
					span += ", steady"
				default:
					span += ", not steady"
					unsteady = true
				}
				return span, num(w.Mean), unsteady
			}
			row.Fixed, row.FixedMean, row.FixedUnsteady = win(s.Windows.Fixed)
			row.Auto, row.AutoMean, row.AutoTrouble = win(s.Windows.Auto)
			row.FixedJudged, row.AutoJudged = s.Window == "fixed", s.Window == "auto"
			row.Judged = s.Window
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// trim prints seconds with a tenth where there is one.
func trim(s float64) string { return strings.TrimSuffix(fixed(s, 1), ".0") }

// newMachines sets the facts side by side, those that differ first.
func newMachines(hosts []Host) *machines {
	if len(hosts) == 0 {
		return nil
	}
	m := &machines{}
	var keys []string
	for _, h := range hosts {
		head := h.Host
		if h.System != "" {
			head = h.System + ": " + head
		}
		if len(h.Roles) > 0 {
			head += " (" + strings.Join(h.Roles, ", ") + ")"
		}
		m.Heads = append(m.Heads, head)
		for k := range h.Facts {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		row := machineRow{Fact: k}
		byRole := map[string]string{}
		differ := false
		for _, h := range hosts {
			v, ok := h.Facts[k]
			if !ok {
				v = dash
			}
			row.Values = append(row.Values, v)
			role := strings.Join(h.Roles, ",")
			if old, ok := byRole[role]; ok && old != v {
				differ = true
			}
			byRole[role] = v
		}
		if differ {
			m.Rows = append(m.Rows, row)
		} else {
			m.Same = append(m.Same, row)
		}
	}
	return m
}
