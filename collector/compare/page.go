package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

//go:embed page.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Headline, Began string
	Sentences       []string
	Groups          []group
	Columns         []line
}

// group are the charts of an activity.
type group struct {
	Name   string
	Charts []chart
}

// chart is one column of one device.
type chart struct {
	Sar, Ours, Device string
	Why               string // it differs
	Low, High         string // labels of the axis
	SarPath, OursPath string
	LoadX, LoadWidth  float64 // where the load was; 0: nowhere
	End               string  // label of the time axis
}

// line is a row of the table of all columns.
type line struct{ Activity, Sar, Ours, Readings, Agree, Verdict, Largest, Why string }

// Size of a chart's drawing, in its own units.
const (
	chartWidth  = 240
	chartHeight = 72
)

// writePage writes the comparison as one HTML file that needs nothing else.
func (c *comparison) writePage(path string) error {
	p := page{Headline: c.headline(), Began: c.began.Format("2006-01-02 15:04:05 MST"), Sentences: c.summary().sentences()}
	for _, r := range c.results {
		name := strings.TrimPrefix(r.Activity, "A_")
		p.Columns = append(p.Columns, line{name, r.Sar, r.Ours, fmt.Sprint(r.Compared), share(r.Agreed, r.Compared), r.Verdict, r.largest(), r.Why})
		ch, ok := c.chart(r)
		if !ok {
			continue
		}
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Name != name {
			p.Groups = append(p.Groups, group{Name: name})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Charts = append(g.Charts, ch)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// chart draws the device whose number moved most. Of CPUs that is none of the total: the
// kernel rounds it, and single ticks then come at other times than in the sum of what is
// rounded.
func (c *comparison) chart(r *result) (chart, bool) {
	if !r.Moved || r.expr == nil {
		return chart{}, false
	}
	var at, sar, ours []float64
	device, most := "", math.Inf(-1)
	for _, name := range slices.Sorted(maps.Keys(r.series)) {
		if name == "" && len(r.series) > 1 {
			continue
		}
		a, x, y := r.rate(r.series[name])
		lo, hi := limits(slices.Concat(x, y))
		if m := max(hi-lo, hi); m > most {
			device, most, at, sar, ours = name, m, a, x, y
		}
	}
	if len(at) < 2 {
		return chart{}, false
	}
	factor, unit := r.shown()
	for i := range at {
		sar[i], ours[i] = sar[i]*factor, ours[i]*factor
	}
	lo, hi := limits(slices.Concat(sar, ours))
	if r.counter {
		lo = min(lo, 0)
	}
	if hi <= lo {
		hi = lo + 1
	}
	end := at[len(at)-1]
	ch := chart{Sar: r.Sar, Ours: r.Ours, Device: device, Why: r.Why, Low: scaled(lo, unit), High: scaled(hi, unit),
		SarPath: path(at, sar, end, lo, hi), OursPath: path(at, ours, end, lo, hi), End: fmt.Sprintf("%.0f s", end)}
	if c.load {
		ch.LoadX = min(c.length.Seconds()/2/end, 1) * chartWidth
		ch.LoadWidth = chartWidth - ch.LoadX
	}
	return ch, true
}

// shown returns what brings a column's numbers to what people read, and its unit.
func (r *result) shown() (factor float64, unit string) {
	per := ""
	if r.counter {
		per = "/s"
	}
	switch r.Unit {
	case "KiB":
		return 1024, "B" + per
	case "sector":
		return 512, "B" + per
	case "tick":
		return 1, " % of a CPU" // 100 ticks a second
	case "us":
		return 1e-4, " %"
	case "ms":
		return 0.1, " %"
	case "0.01":
		return 0.01, ""
	case "0.01 %":
		return 0.01, " %"
	case "0.01 MHz":
		return 1e4, "Hz"
	case "B":
		return 1, "B" + per
	}
	return 1, per
}

func limits(x []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// path draws a line through the points that are known.
func path(at, y []float64, end, lo, hi float64) string {
	var b strings.Builder
	pen := "M"
	for i := range at {
		if math.IsNaN(y[i]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, at[i]/end*chartWidth, chartHeight-(y[i]-lo)/(hi-lo)*chartHeight)
		pen = "L"
	}
	return b.String()
}

// scaled writes a number with a prefix: binary ones for bytes.
func scaled(v float64, unit string) string {
	base, prefixes := 1000.0, []string{"", "k", "M", "G", "T"}
	if strings.HasPrefix(unit, "B") {
		base, prefixes = 1024, []string{"", "Ki", "Mi", "Gi", "Ti"}
	}
	i := 0
	for math.Abs(v) >= base && i < len(prefixes)-1 && !strings.Contains(unit, "%") {
		v /= base
		i++
	}
	gap := ""
	if prefixes[i] != "" || strings.HasPrefix(unit, "B") || unit == "Hz" {
		gap = " "
	}
	return fmt.Sprintf("%.3g", v) + gap + prefixes[i] + unit
}
