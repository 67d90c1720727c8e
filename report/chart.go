package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is one metric of a scenario over time, all runs of all systems overlaid.
type Chart struct {
	Scenario string // as in the results; charts of others are shown at the end
	Metric   string // "workload.throughput", or with its device "disk.io_pct sda"
	Unit     string // base unit of the curves' values
	Window   Span   // what the analysis kept; zero: all
	Phases   []Phase
	Curves   []Curve
}

// Span is a part of a run, in seconds since its start.
type Span struct{ FromS, ToS float64 }

// Phase is a named part of the runs.
type Phase struct {
	Name string
	Span
}

// Curve is one run. T and V have the same length n, and Known too unless it is nil;
// HTML panics otherwise.
type Curve struct {
	System, Run string
	Used        bool      // it entered the statistics
	T           []float64 // [n] seconds since the start of the run, ascending
	V           []float64 // [n] in the chart's unit
	Known       []bool    // [n]; nil: all are. What is not known, NaN or infinite is a gap
}

// known reports whether point i may be drawn.
func (c *Curve) known(i int) bool {
	return (c.Known == nil || c.Known[i]) && !math.IsNaN(c.V[i]) && !math.IsInf(c.V[i], 0)
}

// interval returns the usual distance of the curve's points, in seconds.
func (c *Curve) interval() float64 {
	if len(c.T) < 2 {
		return 0
	}
	d := make([]float64, 0, len(c.T)-1)
	for i := 1; i < len(c.T); i++ {
		d = append(d, c.T[i]-c.T[i-1])
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// columns is how many pixel columns a curve is reduced to; a curve with fewer points
// is drawn as it is.
const columns = 800

// point is a vertex of a drawn line; gap says that it isn't joined to the one before.
type point struct {
	t, v float64
	gap  bool
}

// reduce returns the curve's vertices for a drawing that spans [0, end] seconds in n
// columns: of each column the least and the greatest value in the order of their
// times, so that no spike is lost. Where points are unknown or missing, and the hole
// reaches into another column, the line is broken; gaps are the columns in which
// anything lacks. means are the columns' means, nil if there are too few points in
// each to need them.
func (c *Curve) reduce(end float64, n int) (line, means []point, gaps []int) {
	usual := c.interval()
	column := func(t float64) int { return min(n-1, max(0, int(t/end*float64(n)))) }
	every := len(c.T) <= 2*n
	dense := len(c.T) > 8*n
	var cur []point // of the current column: at most two
	var sumT, sumV, count float64
	var broken bool
	mean := func() {
		if dense && count > 0 {
			means = append(means, point{sumT / count, sumV / count, broken})
		}
	}
	at := -1
	hole := true
	last := math.NaN()
	lack := func(from, to float64) {
		for k := column(from); k <= column(to); k++ {
			if len(gaps) == 0 || gaps[len(gaps)-1] < k {
				gaps = append(gaps, k)
			}
		}
	}
	for i := range c.T {
		t := c.T[i]
		if !c.known(i) {
			lack(t, t+usual*0.99)
			hole = true
			continue
		}
		if !math.IsNaN(last) && usual > 0 && t-last > 2.5*usual {
			lack(last+usual, t-usual)
			hole = true
		}
		last = t
		p := point{t, c.V[i], hole}
		k := column(t)
		if every || k != at {
			mean()
			sumT, sumV, count, broken = 0, 0, 0, hole
		}
		sumT, sumV, count = sumT+t, sumV+p.v, count+1
		if every || k != at {
			line = append(line, cur...)
			cur, at, hole = append(cur[:0], p), k, false
			continue
		}
		// The column's own holes are narrower than what can be drawn.
		hole = false
		switch {
		case len(cur) == 1 && p.v != cur[0].v:
			cur = append(cur, point{p.t, p.v, false})
		case len(cur) == 2:
			lo, hi := min(cur[0].v, cur[1].v), max(cur[0].v, cur[1].v)
			if p.v >= lo && p.v <= hi {
				break
			}
			first := cur[0].gap
			// The new extreme replaces the old one of its side; the other stays before it.
			keep := cur[0]
			if (p.v > hi) == (cur[0].v > cur[1].v) {
				keep = cur[1]
			}
			keep.gap = first
			cur[0], cur[1] = keep, point{p.t, p.v, false}
		}
	}
	mean()
	return append(line, cur...), means, gaps
}

// path draws the vertices into a box of w by h units.
func path(line []point, end float64, y axis, w, h float64) string {
	var b strings.Builder
	var px, py int
	for i, p := range line {
		x := int(math.Round(p.t / end * w))
		v := int(math.Round((1 - (p.v-y.lo)/(y.hi-y.lo)) * h))
		switch {
		case p.gap || i == 0:
			b.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(v))
			if i+1 == len(line) || line[i+1].gap { // alone: a dot, by its round ends
				b.WriteString("h1")
			}
		case x == px:
			b.WriteString("v" + strconv.Itoa(v-py))
		default:
			b.WriteString("l" + strconv.Itoa(x-px))
			if v >= py {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(v - py))
		}
		px, py = x, v
	}
	return b.String()
}

// drawn is a chart ready for the page.
type drawn struct {
	Caption, Note string
	SVG           string
	Legend        []legend
}

type legend struct {
	Name  string
	Class string
}

// duration prints seconds as a reader says them.
func duration(s float64) string {
	switch {
	case s >= 90*60:
		return fixed(s/3600, 1) + " h"
	case s >= 90:
		return fixed(s/60, 1) + " min"
	}
	return fixed(s, 0) + " s"
}

const (
	plotTop    = 20  // pixels above the plot, for the window's bracket
	plotHeight = 210 // of the plot itself
)

// draw sets the chart; color gives each system its colour.
func (c *Chart) draw(color func(string) int) drawn {
	var d drawn
	var end float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range c.Curves {
		cv := &c.Curves[i]
		if len(cv.V) != len(cv.T) || cv.Known != nil && len(cv.Known) != len(cv.T) {
			panic("report: chart " + c.Metric + ": curve of unequal lengths")
		}
		for j := range cv.T {
			end = max(end, cv.T[j])
			if cv.known(j) {
				lo, hi = min(lo, cv.V[j]), max(hi, cv.V[j])
			}
		}
	}
	end = max(end, c.Window.ToS)
	for _, p := range c.Phases {
		end = max(end, p.ToS)
	}
	if lo > hi || end <= 0 {
		d.Caption, d.Note = c.Metric, "No value of this metric is known."
		return d
	}
	sc := scaleFor(c.Unit, max(math.Abs(lo), math.Abs(hi)))
	lo, hi = lo*sc.factor, hi*sc.factor

	// From zero, unless everything would be one flat line at the top.
	y := axis{min(lo, 0), max(hi, 0)}
	flat := 0.08
	if !strings.HasSuffix(c.Metric, ".throughput") {
		flat = 0.2
	}
	if lo > 0 && (hi-lo)/hi < flat && hi > lo {
		y = axis{lo - (hi-lo)*0.1, hi}
		d.Note = "The y axis does not start at zero."
	}
	if !(y.hi > y.lo) {
		y.hi = y.lo + 1
	}
	y.hi += (y.hi - y.lo) * 0.04
	if y.lo < 0 {
		y.lo -= (y.hi - y.lo) * 0.04
	}
	yTicks, dec := steps(y.lo, y.hi, 5)
	unit, per, xTicks := timeAxis(end)
	x := axis{0, end}

	d.Caption = c.Metric
	if sc.unit != "" {
		d.Caption += ", " + sc.unit
	}
	var b strings.Builder
	bottom := plotTop + plotHeight
	height := bottom + 34
	if len(c.Phases) > 0 {
		height += 18
	}
	fmt.Fprintf(&b, `<svg class="plot time" width="100%%" height="%d" role="img" aria-label="%s">`, height, html.EscapeString(d.Caption+" over time, one line a run"))

	// What is not kept is shaded, what is kept has a bracket.
	if w := c.Window; w.ToS > w.FromS {
		x1, x2 := x.clip(w.FromS), x.clip(w.ToS)
		cut := func(from, to float64) {
			if to-from > 0.05 {
				fmt.Fprintf(&b, `<rect class="cut" x="%s" width="%s" y="%d" height="%d"><title>discarded</title></rect>`, pc(from), pc(to-from), plotTop, plotHeight)
				if to-from > 14 {
					fmt.Fprintf(&b, `<text class="tick cutlabel" x="%s" y="%d" text-anchor="middle">discarded</text>`, pc((from+to)/2), plotTop-8)
				}
			}
		}
		cut(0, x1)
		cut(x2, 100)
		y0 := plotTop - 3
		fmt.Fprintf(&b, `<line class="kept" x1="%s" x2="%s" y1="%d" y2="%[3]d"/>`, pc(x1), pc(x2), y0)
		for _, e := range []float64{x1, x2} {
			fmt.Fprintf(&b, `<line class="kept" x1="%s" x2="%s" y1="%d" y2="%d"/><line class="edge" x1="%s" x2="%s" y1="%d" y2="%d"/>`, pc(e), pc(e), y0-3, y0+3, pc(e), pc(e), y0, bottom)
		}
		f := func(s float64) string { return strconv.FormatFloat(math.Round(s/per*100)/100, 'f', -1, 64) }
		fmt.Fprintf(&b, `<text class="tick keptlabel" x="%s" y="%d" text-anchor="middle">kept: %s to %s %s</text>`, pc((x1+x2)/2), plotTop-8, f(w.FromS), f(w.ToS), unit)
	}
	py := func(v float64) float64 { return plotTop + (1-(v-y.lo)/(y.hi-y.lo))*plotHeight }
	for _, t := range yTicks {
		class := "grid"
		if math.Abs(t) < 1e-12 {
			class = "axis"
		}
		fmt.Fprintf(&b, `<line class="%s" x1="0" x2="100%%" y1="%s" y2="%s"/><text class="tick" x="-8" y="%s" text-anchor="end">%s</text>`, class, px(py(t)), px(py(t)), px(py(t)+4), minus(fixed(t, dec)))
	}
	for i, t := range xTicks {
		class := "tick"
		if len(xTicks) > 5 && i%2 == 1 {
			class = "tick odd" // left out on a narrow page
		}
		at := pc(x.at(t))
		fmt.Fprintf(&b, `<line class="axis" x1="%s" x2="%s" y1="%d" y2="%d"/><text class="%s" x="%s" y="%d" text-anchor="middle">%s</text>`, at, at, bottom, bottom+4, class, at, bottom+17, strconv.FormatFloat(math.Round(t/per*100)/100, 'f', -1, 64))
	}
	fmt.Fprintf(&b, `<line class="axis" x1="0" x2="100%%" y1="%d" y2="%[1]d"/>`, bottom)
	fmt.Fprintf(&b, `<text class="tick" x="100%%" y="%d" text-anchor="end">%s since the start of the run</text>`, bottom+31, unit)

	// Lines, those of runs left out first, so that the others lie on them.
	const w, h = columns, plotHeight * 5
	fmt.Fprintf(&b, `<svg y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, plotTop, plotHeight, w, h)
	order := make([]int, len(c.Curves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := 0, 0
		if c.Curves[i].Used {
			a = 1
		}
		if c.Curves[j].Used {
			b = 1
		}
		return a - b
	})
	var lacking [columns]int
	type tail struct {
		name   string
		sum, y float64
		n      int
	}
	var tails []tail
	unused, dense := false, false
	var front []string
	for _, i := range order {
		cv := &c.Curves[i]
		scaled := Curve{T: cv.T, V: make([]float64, len(cv.V)), Known: cv.Known}
		for j, v := range cv.V {
			scaled.V[j] = v * sc.factor
		}
		line, means, gaps := scaled.reduce(end, columns)
		for _, k := range gaps {
			lacking[k]++
		}
		t := tail{name: cv.System}
		least, most := math.Inf(1), math.Inf(-1)
		for j := range cv.T {
			if !cv.known(j) {
				continue
			}
			inside := c.Window.ToS <= c.Window.FromS || cv.T[j] >= c.Window.FromS && cv.T[j] <= c.Window.ToS
			if inside {
				least, most = min(least, scaled.V[j]), max(most, scaled.V[j])
			}
			if cv.T[j] > end*0.92 {
				t.sum += scaled.V[j]
				t.n++
			}
		}
		title := cv.System + ", run " + cv.Run
		class := fmt.Sprintf("run s%d", color(cv.System))
		if !cv.Used {
			title += ", not used"
			class += " unused"
			unused = true
		}
		if least <= most {
			dd := decimals(most, max((most-least)/20, most*1e-3))
			title += fmt.Sprintf(": %s to %s %s", fixed(least, dd), fixed(most, dd), sc.unit)
			if c.Window.ToS > c.Window.FromS {
				title += " in what is kept"
			}
		}
		if n := len(gaps); n > 0 {
			title += "; with gaps"
		}
		if k := slices.IndexFunc(tails, func(o tail) bool { return o.name == t.name }); k < 0 {
			tails = append(tails, t)
		} else {
			tails[k].sum += t.sum
			tails[k].n += t.n
		}
		title = html.EscapeString(title)
		if means != nil {
			// Nine such envelopes hide one another: they are set back, and the means
			// stand before all of them.
			dense = true
			fmt.Fprintf(&b, `<path class="%s envelope" d="%s"><title>%s</title></path>`, class, path(line, end, y, w, h), title)
			front = append(front, fmt.Sprintf(`<path class="%s" d="%s"><title>%s</title></path>`, class, path(means, end, y, w, h), title))
			continue
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s"><title>%s</title></path>`, class, path(line, end, y, w, h), title)
	}
	b.WriteString(strings.Join(front, ""))
	b.WriteString("</svg>")

	// Under the axis: where any run lacks seconds.
	holes := false
	for k := 0; k < columns; {
		if lacking[k] == 0 {
			k++
			continue
		}
		from := k
		for k < columns && lacking[k] > 0 {
			k++
		}
		holes = true
		fmt.Fprintf(&b, `<rect class="hole" x="%s" width="%s" y="%d" height="3"><title>a run has no data here</title></rect>`, pc(float64(from)/columns*100), pc(max(0.25, float64(k-from)/columns*100)), bottom+1)
	}
	if len(c.Phases) > 0 {
		for _, p := range c.Phases {
			x1, x2 := x.clip(p.FromS), x.clip(p.ToS)
			if !(x2 > x1) {
				continue
			}
			fmt.Fprintf(&b, `<line class="phase" x1="%s" x2="%s" y1="%d" y2="%[3]d"/>`, pc(x1+0.15), pc(x2-0.15), bottom+39)
			if x2-x1 > 9 {
				fmt.Fprintf(&b, `<text class="tick" x="%s" y="%d" text-anchor="middle">%s</text>`, pc((x1+x2)/2), bottom+51, html.EscapeString(elideEnd(p.Name, 14)))
			}
		}
	}

	// Names stand beside the lines' ends, pushed apart where they would overlap.
	for i := range tails {
		if tails[i].n > 0 {
			tails[i].y = py(tails[i].sum / float64(tails[i].n))
		} else {
			tails[i].y = plotTop + plotHeight/2
		}
	}
	for _, t := range tails {
		d.Legend = append(d.Legend, legend{t.name, fmt.Sprintf("s%d", color(t.name))})
	}
	slices.SortFunc(d.Legend, func(a, b legend) int { return color(a.Name) - color(b.Name) })
	slices.SortStableFunc(tails, func(a, b tail) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
	const apart = 15
	for range 40 {
		for i := 1; i < len(tails); i++ {
			if over := apart - (tails[i].y - tails[i-1].y); over > 0.1 {
				tails[i].y += over / 2
				tails[i-1].y -= over / 2
			}
		}
	}
	for _, t := range tails {
		fmt.Fprintf(&b, `<text class="direct s%d" x="100%%" dx="8" y="%s">%s<title>%s</title></text>`, color(t.name), px(t.y+4), html.EscapeString(elideMiddle(t.name, 15)), html.EscapeString(t.name))
	}
	b.WriteString("</svg>")
	d.SVG = b.String()
	if dense {
		each := end / columns
		d.Note = strings.TrimSpace(fmt.Sprintf("%s Lines are means of %s; behind them, from the least to the greatest value.", d.Note, duration(each)))
	}
	if holes {
		d.Note = strings.TrimSpace(d.Note + " Marks under the axis: seconds that a run lacks; lines are broken there, never joined.")
	}
	if unused {
		d.Note = strings.TrimSpace(d.Note + " Dashed: runs left out of the statistics.")
	}
	return d
}
