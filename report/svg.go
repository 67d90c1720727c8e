package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// All drawings share one technique: positions along x are percentages of the
// element's width, heights are pixels. So text, lines and dots keep their size
// whatever the page's width, without a script.

// steps returns nice ticks within [lo, hi], at most n of them or so, and the number
// of decimals they need.
func steps(lo, hi float64, n int) (ticks []float64, dec int) {
	if !(hi > lo) || n < 1 {
		return []float64{lo}, 0
	}
	raw := (hi - lo) / float64(n)
	mag := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * mag
	for _, m := range []float64{1, 2, 5} {
		if m*mag >= raw*(1-1e-9) {
			step = m * mag
			break
		}
	}
	dec = max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks, dec
}

// timeAxis returns the unit in which times up to end seconds are read, and its ticks
// in seconds.
func timeAxis(end float64) (unit string, per float64, ticks []float64) {
	unit, per = "h", 3600.0
	list := []float64{1, 2, 3, 6, 12, 24, 48, 72, 168}
	switch {
	case end <= 900:
		unit, per, list = "s", 1, []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180}
	case end <= 4*3600:
		unit, per, list = "min", 60, []float64{1, 2, 5, 10, 15, 30, 60}
	}
	step := list[len(list)-1]
	for _, s := range list {
		if end/per/s <= 7 {
			step = s
			break
		}
	}
	for end/per/step > 12 {
		step *= 2
	}
	for i := 0.0; i*step*per <= end*(1+1e-9); i++ {
		ticks = append(ticks, i*step*per)
	}
	return unit, per, ticks
}

// pc prints a percentage of the width.
func pc(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + "%" }

func px(y float64) string { return strconv.FormatFloat(math.Round(y*10)/10, 'f', -1, 64) }

// axis maps values to percentages of the width.
type axis struct{ lo, hi float64 }

func (a axis) at(x float64) float64 { return (x - a.lo) / (a.hi - a.lo) * 100 }

func (a axis) clip(x float64) float64 { return min(100, max(0, a.at(x))) }

// Forest plots: one drawing a row, on a common axis of percent.

const (
	forestHeight = 22
	forestTicks  = 6 // of the overview
	cellTicks    = 4 // of the drawings in tables
)

// forestAxis returns an axis that shows the margin and nearly all intervals; the few
// that are far wider end in arrows.
func forestAxis(ivs []interval, margin float64) axis {
	var ends []float64
	for _, iv := range ivs {
		if !iv.ok {
			continue
		}
		if iv.bounded {
			ends = append(ends, math.Abs(iv.lo), math.Abs(iv.hi))
		}
	}
	limit := max(2*margin, 1)
	if len(ends) > 0 {
		slices.Sort(ends)
		// Nothing is cut as long as the widest interval leaves the others readable.
		if wide, common := ends[len(ends)-1], ends[len(ends)*3/4]; wide <= 4*max(common, limit) {
			limit = max(limit, wide)
		} else {
			limit = max(limit, 1.5*common)
		}
	}
	a := axis{-margin * 1.5, margin * 1.5}
	for _, iv := range ivs {
		if iv.ok {
			a.lo, a.hi = min(a.lo, max(iv.value, -limit)), max(a.hi, min(iv.value, limit))
			if iv.bounded {
				a.lo, a.hi = min(a.lo, max(iv.lo, -limit)), max(a.hi, min(iv.hi, limit))
			}
		}
	}
	if !(a.hi > a.lo) {
		a = axis{-1, 1}
	}
	pad := (a.hi - a.lo) * 0.04
	return axis{a.lo - pad, a.hi + pad}
}

// forestRow draws a difference with its interval against the margin.
func forestRow(a axis, ticks int, iv interval, margin float64, kind, title string) string {
	var b strings.Builder
	mid := forestHeight / 2
	fmt.Fprintf(&b, `<svg class="fr v-%s" width="100%%" height="%d" role="img" aria-label="%s"><title>%s</title>`, html.EscapeString(kind), forestHeight, html.EscapeString(title), html.EscapeString(title))
	if margin > 0 {
		fmt.Fprintf(&b, `<rect class="band" x="%s" width="%s" y="0" height="%d"/>`, pc(a.clip(-margin)), pc(a.clip(margin)-a.clip(-margin)), forestHeight)
	}
	grid, _ := steps(a.lo, a.hi, ticks)
	for _, t := range grid {
		class := "grid"
		if math.Abs(t) < 1e-9 {
			class = "zero"
		}
		fmt.Fprintf(&b, `<line class="%s" x1="%s" x2="%[2]s" y1="0" y2="%d"/>`, class, pc(a.at(t)), forestHeight)
	}
	if iv.bounded {
		fmt.Fprintf(&b, `<line class="ci" x1="%s" x2="%s" y1="%d" y2="%[3]d"/>`, pc(a.clip(iv.lo)), pc(a.clip(iv.hi)), mid)
		end := func(x float64, dir int) {
			if p := a.at(x); p >= 0 && p <= 100 {
				fmt.Fprintf(&b, `<line class="ci" x1="%s" x2="%[1]s" y1="%d" y2="%d"/>`, pc(p), mid-3, mid+3)
				return
			}
			p := a.clip(x)
			fmt.Fprintf(&b, `<svg x="%s" y="%d" width="1" height="1" overflow="visible"><path class="ci" fill="none" d="M%d -4L0 0L%d 4"/></svg>`, pc(p), mid, -dir*5, -dir*5)
		}
		end(iv.lo, -1)
		end(iv.hi, 1)
	}
	if p := a.at(iv.value); iv.ok && p >= 0 && p <= 100 {
		fmt.Fprintf(&b, `<svg x="%s" y="%d" width="1" height="1" overflow="visible">%s</svg>`, pc(p), mid, marker(kind))
	}
	b.WriteString("</svg>")
	return b.String()
}

// marker is the point of a forest plot; its shape says the verdict too.
func marker(kind string) string {
	switch kind {
	case "better":
		return `<circle class="pt" r="5"/>`
	case "worse":
		return `<rect class="pt" x="-4.5" y="-4.5" width="9" height="9"/>`
	case "same":
		return `<path class="pt" d="M0 -6L6 0L0 6L-6 0Z"/>`
	}
	return `<circle class="pt open" r="4.5"/>`
}

// forestScale draws the axis of a forest plot.
func forestScale(a axis, ticks int) string {
	var b strings.Builder
	b.WriteString(`<svg class="fr scale" width="100%" height="16" aria-hidden="true">`)
	grid, dec := steps(a.lo, a.hi, ticks)
	for _, t := range grid {
		fmt.Fprintf(&b, `<text x="%s" y="12" text-anchor="middle">%s</text>`, pc(a.at(t)), minus(signed(t, dec)))
	}
	b.WriteString("</svg>")
	return b.String()
}

// minus sets a proper minus sign before numbers; the hyphens of names stay.
func minus(s string) string {
	b := []byte(nil)
	for i := 0; i < len(s); i++ {
		if s[i] == '-' && (i == 0 || strings.IndexByte(" [(>", s[i-1]) >= 0) && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
			b = append(b, "−"...)
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// tied keeps together on a line what belongs together: a number and its sign of
// percent, an interval.
func tied(s string) string {
	s = strings.ReplaceAll(s, " %", "\u00a0%")
	var b strings.Builder
	deep := 0
	for _, r := range s {
		switch {
		case r == '[':
			deep++
		case r == ']':
			deep--
		case r == ' ' && deep > 0:
			r = '\u00a0'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Strip plots: each run's value beside the mean and interval of its system.

type strip struct {
	name  string
	color int
	runs  []*float64
	iv    interval // scaled
	used  int
}

func stripPlot(title string, sc scale, ss []strip) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	see := func(x float64) { lo, hi = min(lo, x), max(hi, x) }
	for _, s := range ss {
		for _, r := range s.runs {
			if x, ok := known(r); ok {
				see(x * sc.factor)
			}
		}
		if s.iv.ok {
			see(s.iv.value)
		}
	}
	if lo > hi {
		return ""
	}
	// An interval much wider than what was measured (two runs) may not hide the
	// dots: it ends in the frame's edge.
	span := max(hi-lo, math.Abs(hi)*0.002)
	for _, s := range ss {
		if s.iv.bounded {
			see(max(s.iv.lo, lo-2*span))
			see(min(s.iv.hi, hi+2*span))
		}
	}
	if hi == lo {
		hi, lo = hi+max(1, math.Abs(hi))*0.01, lo-max(1, math.Abs(lo))*0.01
	}
	pad := (hi - lo) * 0.05
	a := axis{lo - pad, hi + pad}
	const row = 26
	h := row * len(ss)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot strip" width="100%%" height="%d" role="img" aria-label="%s">`, h+32, html.EscapeString(title))
	ticks, dec := steps(a.lo, a.hi, 5)
	for _, t := range ticks {
		at := pc(a.at(t))
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="0" y2="%d"/><text class="tick" x="%s" y="%d" text-anchor="middle">%s</text>`, at, at, h, at, h+14, minus(fixed(t, dec)))
	}
	fmt.Fprintf(&b, `<line class="axis" x1="0" x2="100%%" y1="%d" y2="%[1]d"/><text class="tick" x="100%%" y="%d" text-anchor="end">%s</text>`, h, h+28, html.EscapeString(sc.unit))
	for i, s := range ss {
		y := float64(row*i) + row/2
		fmt.Fprintf(&b, `<g class="s%d"><text class="name" x="-10" y="%s" text-anchor="end">%s<title>%s</title></text>`, s.color, px(y+4), html.EscapeString(elideMiddle(s.name, 16)), html.EscapeString(s.name))
		if s.iv.bounded {
			x1, x2 := a.clip(s.iv.lo), a.clip(s.iv.hi)
			fmt.Fprintf(&b, `<rect class="ival" x="%s" width="%s" y="%s" height="12"/>`, pc(x1), pc(max(0.2, x2-x1)), px(y-6))
		}
		if s.iv.ok {
			fmt.Fprintf(&b, `<line class="mean" x1="%s" x2="%[1]s" y1="%s" y2="%s"/>`, pc(a.at(s.iv.value)), px(y-9), px(y+9))
		}
		for j, r := range s.runs {
			x, ok := known(r)
			if !ok {
				continue
			}
			t := fmt.Sprintf("%s, value %d: %s %s", s.name, j+1, fixed(x*sc.factor, decimals(x*sc.factor, s.iv.half()/2)), sc.unit)
			fmt.Fprintf(&b, `<circle class="run" cx="%s" cy="%s" r="3.5"><title>%s</title></circle>`, pc(a.at(x*sc.factor)), px(y+float64(j%3-1)*3), html.EscapeString(minus(t)))
		}
		fmt.Fprintf(&b, `<text class="val" x="100%%" dx="12" y="%s">%s</text></g>`, px(y+4), html.EscapeString(minus(s.iv.mean())))
	}
	b.WriteString("</svg>")
	return b.String()
}
