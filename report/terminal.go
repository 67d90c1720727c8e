package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/steadybench/steady/schemas"
)

// TerminalOptions says how Terminal prints.
type TerminalOptions struct {
	Width int  // columns; 0 is unlimited
	Color bool // verdicts in colour, by ANSI sequences
	All   bool // the metrics that show no difference too
}

// Terminal prints the results for a terminal or a text file: a table a scenario,
// primary metrics first, then those that differ; why what is unknown is unknown;
// which runs were used, and how whole their data are.
func Terminal(w io.Writer, r *schemas.Results, opt TerminalOptions) error {
	p := &printer{opt: opt}
	p.head(r)
	for i := range r.Scenarios {
		p.scenario(r, &r.Scenarios[i])
	}
	p.legend(r)
	p.drift(r.Drift)
	p.quality(r)
	p.findings(r.Plausibility)
	_, err := w.Write(p.b.Bytes())
	return err
}

type printer struct {
	b   bytes.Buffer
	opt TerminalOptions
}

// ANSI attributes by kind of text.
var colors = map[string]string{
	schemas.Better: "1;32", schemas.Worse: "1;31", schemas.Same: "2", schemas.Undecided: "2",
	"differs": "1", "alike": "2", "head": "1", "quiet": "2", "error": "1;31", "warning": "33", "drift": "1;31", "steady": "2",
}

func (p *printer) paint(kind, s string) string {
	c := colors[kind]
	if !p.opt.Color || c == "" || s == "" {
		return s
	}
	return "\x1b[" + c + "m" + s + "\x1b[0m"
}

// line prints one line, cut to the width.
func (p *printer) line(kind, s string) {
	if p.opt.Width > 0 {
		s = elideEnd(s, p.opt.Width)
	}
	p.b.WriteString(strings.TrimRight(p.paint(kind, s), " ") + "\n")
}

// wrap prints text with a first indent and a hanging one.
func (p *printer) wrap(kind, first, hang, s string) {
	words := strings.Fields(plain(s))
	cur, used := first, false
	for _, w := range words {
		sep := " "
		if !used {
			sep = ""
		}
		if used && p.opt.Width > 0 && width(cur)+1+width(w) > p.opt.Width {
			p.line(kind, cur)
			cur, sep = hang, ""
		}
		cur += sep + w
		used = true
	}
	p.line(kind, cur)
}

func (p *printer) head(r *schemas.Results) {
	names := systemNames(r)
	s := "Experiment " + plain(r.Experiment) + ": " + count(len(names), "system") + ", " + count(len(r.Scenarios), "scenario")
	if a := account(r.Quality); a.runs > 0 {
		s += fmt.Sprintf(", %d of %s used", a.used, count(a.runs, "run"))
	}
	if r.Baseline == "" {
		s += "; no baseline: nothing is compared"
	} else {
		s += "; compared with " + plain(r.Baseline) + ", margin ±" + percentText(r.MarginPercent)
	}
	p.wrap("head", "", "  ", s)
}

// cell is a table's cell: text, its kind for the colour, and whether it stands right.
type cell struct {
	text, kind string
	right      bool
}

func (p *printer) scenario(r *schemas.Results, s *schemas.Scenario) {
	p.b.WriteByte('\n')
	title := plain(s.Scenario)
	if ps := params(s); len(ps) > 0 {
		title += "  (" + plain(strings.Join(ps, ", ")) + ")"
	}
	p.line("head", title)
	g := group(s)
	cmp := compared(s)
	listed := append(append([]*schemas.MetricResult{}, g.primary...), g.differ...)
	if p.opt.All || !cmp {
		listed = append(listed, g.rest...)
		g.rest = nil
	}
	if len(listed) > 0 {
		for _, lay := range []layout{{details: true}, {}, {stacked: true}, {stacked: true, terse: true}, {stacked: true, terse: true, narrow: true}, {stacked: true, list: true}} {
			if p.table(r, s, listed, len(g.primary), lay) {
				break
			}
		}
	} else {
		p.line("quiet", "  no metric is primary or differs")
	}
	if len(g.rest) > 0 {
		p.wrap("quiet", "  ", "  ", restLine(g.rest, r.MarginPercent)+": --all prints them")
	}
}

// layout is a way to set a table. They are tried from the widest on.
type layout struct {
	details bool // verdicts say more than a word
	stacked bool // the metric has a line of its own
	terse   bool // verdicts are one word
	narrow  bool // systems' names are cut
	list    bool // no columns at all: fits everywhere
}

// table prints the metrics if they fit, and reports whether it did.
func (p *printer) table(r *schemas.Results, s *schemas.Scenario, listed []*schemas.MetricResult, primaries int, lay layout) bool {
	var n notes
	lvMean, lvDiff := level(s)
	cmp := compared(s)
	multi := len(systemNames(r)) > 2 || !cmp
	single := ""
	base := r.Baseline != "" && cmp

	type block struct {
		title string
		rows  [][]cell
	}
	var blocks []block
	arrows := map[schemas.Direction]string{schemas.Higher: "↑", schemas.Lower: "↓"}
	for _, m := range listed {
		var bl block
		for _, rw := range rows(r, m) {
			var cells []cell
			if rw.first {
				name, unit := plain(label(s, m)), rw.scale.unit
				if a := arrows[m.Direction]; a != "" {
					unit = strings.TrimSpace(unit + " " + a)
				}
				bl.title = name
				if unit != "" {
					bl.title += ", " + unit
				}
				if base && lay.stacked {
					bl.title += ": " + plain(r.Baseline) + " " + meanCell(&n, &rw, rw.base, lvMean).text
				}
				if !lay.stacked {
					cells = append(cells, cell{text: name}, cell{text: unit})
				}
			} else if !lay.stacked {
				cells = append(cells, cell{}, cell{})
			}
			if base && !lay.stacked {
				if rw.first {
					cells = append(cells, meanCell(&n, &rw, rw.base, lvMean))
				} else {
					cells = append(cells, cell{})
				}
			}
			if multi {
				nm := plain(rw.name)
				if lay.narrow {
					nm = elideMiddle(nm, 8)
				}
				cells = append(cells, cell{text: nm})
			} else {
				single = rw.name
			}
			cells = append(cells, meanCell(&n, &rw, rw.system, lvMean))
			if cmp {
				cells = append(cells, differenceCell(&n, &rw, lvDiff), verdictCell(&n, &rw, lay.details, lay.terse))
			}
			bl.rows = append(bl.rows, cells)
		}
		blocks = append(blocks, bl)
	}

	var head []cell
	if !lay.stacked {
		head = append(head, cell{text: "metric"}, cell{text: "unit"})
	}
	if base && !lay.stacked {
		head = append(head, cell{text: plain(r.Baseline), right: true})
	}
	if multi {
		head = append(head, cell{text: "system"})
		head = append(head, cell{text: "mean ±" + levelText(lvMean), right: true})
	} else {
		head = append(head, cell{text: plain(single), right: true})
	}
	if cmp {
		head = append(head, cell{text: "difference [" + levelText(lvDiff) + "]", right: true}, cell{text: "verdict"})
	}
	if lay.stacked { // the heads of number columns must not widen them
		for i := range head {
			head[i].text = elideMiddle(head[i].text, 22)
		}
	}

	all := [][]cell{head}
	for _, b := range blocks {
		all = append(all, b.rows...)
	}
	widths := make([]int, len(head))
	for _, cs := range all {
		for i, c := range cs {
			widths[i] = max(widths[i], width(c.text))
		}
	}
	indent := 2
	if lay.stacked {
		indent = 4
	}
	total := indent - 2
	for _, w := range widths {
		total += w + 2
	}
	if p.opt.Width > 0 && total > p.opt.Width {
		over := total - p.opt.Width
		switch {
		case !lay.stacked && widths[0]-over >= 24: // names may lose their middle
			widths[0] -= over
			for _, cs := range all {
				cs[0].text = elideMiddle(cs[0].text, widths[0])
			}
		case !lay.list:
			return false
		}
	}

	put := func(cs []cell, kind string) {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", indent))
		used := indent
		for i, c := range cs {
			t := c.text
			if p.opt.Width > 0 {
				t = elideEnd(t, max(0, p.opt.Width-used))
			}
			pad := strings.Repeat(" ", max(0, widths[i]-width(t)))
			k := c.kind
			if kind != "" {
				k = kind
			}
			if c.right {
				b.WriteString(pad + p.paint(k, t))
			} else {
				b.WriteString(p.paint(k, t) + pad)
			}
			b.WriteString("  ")
			used += widths[i] + 2
		}
		p.b.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	if lay.list {
		put = func(cs []cell, _ string) {
			var words []string
			for _, c := range cs {
				words = append(words, c.text)
			}
			p.wrap(cs[len(cs)-1].kind, "    ", "      ", strings.Join(words, "; "))
		}
	} else {
		put(head, "quiet")
	}
	for i, b := range blocks {
		if i == primaries && primaries > 0 {
			t := "differing, not primary:"
			if !cmp || p.opt.All {
				t = "not primary:"
			}
			p.line("quiet", "  "+t)
		}
		if lay.stacked {
			t := b.title
			if p.opt.Width > 0 {
				t = elideMiddle(t, p.opt.Width-2)
			}
			p.line("", "  "+t)
		}
		for _, cs := range b.rows {
			put(cs, "")
		}
	}
	for i, t := range n.texts {
		m := fmt.Sprintf("  (%d) ", i+1)
		p.wrap("quiet", m, strings.Repeat(" ", len(m)), t)
	}
	return true
}

// marked appends footnote marks to a cell's text.
func marked(s string, marks []int) string {
	for _, m := range marks {
		s += fmt.Sprintf(" (%d)", m)
	}
	return s
}

func meanCell(n *notes, rw *row, s *schemas.SystemResult, lv float64) cell {
	if s == nil {
		return cell{text: marked(dash, n.add(rw.meanReason(s)...)), right: true}
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
	return cell{text: marked(t, n.add(reasons...)), right: true}
}

func differenceCell(n *notes, rw *row, lv float64) cell {
	iv, unit := rw.differenceOf()
	var reasons []string
	if !iv.bounded {
		reasons = rw.differenceReason()
	} else {
		reasons = append(reasons, levelNote(rw.comp.Level, lv))
	}
	if rw.comp != nil {
		reasons = append(reasons, rw.comp.Warnings...)
	}
	return cell{text: marked(iv.difference(unit), n.add(reasons...)), right: true}
}

func verdictCell(n *notes, rw *row, details, terse bool) cell {
	v := rw.verdict()
	c := cell{text: v.word, kind: v.kind}
	switch {
	case v.kind == "alike":
		c.text = "not shown to differ"
		if !details {
			c.text = "not shown"
		}
	case v.kind == "none" && rw.comp != nil && len(rw.comp.Warnings) == 0:
		c.text = marked(c.text, n.add("not judged, no reason given"))
	case v.detail == "":
	case details:
		c.text += ", " + v.detail
	case v.kind == schemas.Undecided:
		c.text = marked(c.text, n.add(v.long...))
	case v.kind != schemas.Same && !terse:
		c.text += " ≥" + strings.TrimPrefix(v.detail, "at least ")
	}
	return c
}

// legend explains what the tables use.
func (p *printer) legend(r *schemas.Results) {
	var arrows, undecided bool
	for i := range r.Scenarios {
		for _, m := range r.Scenarios[i].Metrics {
			arrows = arrows || m.Direction == schemas.Higher || m.Direction == schemas.Lower
			for _, c := range m.Comparisons {
				undecided = undecided || c.Verdict != nil && *c.Verdict == schemas.Undecided
			}
		}
	}
	var parts []string
	if arrows {
		parts = append(parts, "↑ higher is better, ↓ lower is better")
	}
	if undecided {
		parts = append(parts, "undecided is not equality: it needs more runs, and these could only have seen the difference given or a larger one")
	}
	if len(parts) > 0 {
		p.b.WriteByte('\n')
		p.wrap("quiet", "", "", strings.Join(parts, "; "))
	}
}

func (p *printer) drift(ds []schemas.Drift) {
	if len(ds) == 0 {
		return
	}
	p.b.WriteByte('\n')
	p.line("head", "Drift within runs")
	for i := range ds {
		d := &ds[i]
		t := driftText(d)
		p.wrap(d.Verdict, "  ", "    ", plain(d.Verdict)+": "+t)
	}
}

// driftText says what is known of a metric of a soak.
func driftText(d *schemas.Drift) string {
	name := d.Metric
	if d.Device != nil {
		name += " " + *d.Device
	}
	if d.Host != nil {
		name += " on " + *d.Host
	}
	s := name + " of " + d.Run
	if iv := intervalOf(d.Percent, d.PercentCI, 1); iv.ok {
		s += ", " + iv.difference("%")
	}
	if d.Shape != nil {
		s += ", " + *d.Shape
	}
	if d.Onset != nil {
		s += " from " + *d.Onset
		if d.OnsetCI[0] != nil && d.OnsetCI[1] != nil {
			s += " (" + *d.OnsetCI[0] + " to " + *d.OnsetCI[1] + ")"
		}
	}
	if m, ok := known(d.MDE); ok && d.Verdict != "drift" {
		s += ", would have seen " + percentText(m) + " or more"
	}
	if len(d.Warnings) > 0 {
		s += " [" + strings.Join(d.Warnings, "; ") + "]"
	}
	return s
}

func (p *printer) quality(r *schemas.Results) {
	a := account(r.Quality)
	p.b.WriteByte('\n')
	p.line("head", "Data")
	if a.runs == 0 {
		p.line("warning", "  no account of the runs")
		return
	}
	kind := ""
	if a.used < a.runs {
		kind = "warning"
	}
	p.wrap(kind, "  ", "  ", fmt.Sprintf("%d of %s used", a.used, count(a.runs, "run")))
	for i := range a.unused {
		n := &a.unused[i]
		t := runName(n) + " not used: " + why(n)
		if tr := troubles(n); tr != "" {
			t += " (" + tr + ")"
		}
		p.wrap("warning", "  - ", "    ", t)
	}
	t := "ticks: "
	switch {
	case a.uncertain == 0:
		t += grouped(a.expected) + " expected"
	case int(a.uncertain) == a.runs:
		t += dash + " expected (no producer said its last word)"
	default:
		t += fmt.Sprintf("%s expected in %s, not known in %d", grouped(a.expected), count(a.runs-int(a.uncertain), "run"), a.uncertain)
	}
	t += fmt.Sprintf(", %s received, %s missing, %s late, %s missed, %s came twice",
		grouped(a.received), grouped(a.missing), grouped(a.late), grouped(a.missed), grouped(a.duplicates))
	p.wrap("", "  ", "    ", t)
	for i := range a.marked {
		n := &a.marked[i]
		p.wrap("quiet", "  - ", "    ", runName(n)+": "+troubles(n))
	}
}

func (p *printer) findings(fs []schemas.Finding) {
	if len(fs) == 0 {
		return
	}
	p.b.WriteByte('\n')
	p.line("head", "Plausibility")
	for _, f := range fs {
		p.wrap(f.Severity, "  ", "    ", f.Severity+": "+f.Subject+": "+f.Text+" ["+f.Rule+"]")
	}
}

// plain makes a name or a reason harmless for a terminal: no control characters, no
// changes of the writing direction.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case harmful(r):
			return '?'
		}
		return r
	}, s)
}

func harmful(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// width returns how many columns a terminal needs for s.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// elideEnd cuts s to w columns.
func elideEnd(s string, w int) string {
	if width(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	return prefixOf(s, w-1) + "…"
}

// elideMiddle cuts s to w columns and keeps both its ends, which tell names apart.
func elideMiddle(s string, w int) string {
	if width(s) <= w {
		return s
	}
	if w < 3 {
		return elideEnd(s, w)
	}
	head := (w - 1) / 2
	rs := []rune(s)
	tail, n := len(rs), 0
	for tail > 0 && n+runeWidth(rs[tail-1]) <= w-1-head {
		tail--
		n += runeWidth(rs[tail])
	}
	return prefixOf(s, head) + "…" + string(rs[tail:])
}

func prefixOf(s string, w int) string {
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > w {
			return s[:i]
		}
	}
	return s
}
