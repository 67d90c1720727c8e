package loaders

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// Table is a run's rows of a table.
type Table struct {
	Schema *schemas.Table
	Frame  columns.Frame // as in the file
	// Hosts and Devices are what occurs, in the order of the file.
	Hosts, Devices []string

	groups map[[2]string][]int // rows of a host's device, in order of time
	says   map[[2]string]bool  // hosts and columns with any value: of others the kernel has none
}

func newTable(t *schemas.Table, f columns.Frame) (*Table, error) {
	x := &Table{Schema: t, Frame: f, groups: map[[2]string][]int{}, says: map[[2]string]bool{}}
	for _, c := range append(slices.Clone(t.CommonColumns()), t.Columns...) {
		col := f.Column(c.Name)
		if col == nil {
			return nil, fmt.Errorf("no column %s", c.Name)
		}
		if c.Name != "time" && col.Type != c.Physical() {
			return nil, fmt.Errorf("column %s has another type than table %s", c.Name, t.Name)
		}
	}
	for i := range f.Rows() {
		k := [2]string{x.host(i), x.device(i)}
		x.groups[k] = append(x.groups[k], i)
		if !slices.Contains(x.Hosts, k[0]) {
			x.Hosts = append(x.Hosts, k[0])
		}
		if t.Device != "" && !slices.Contains(x.Devices, k[1]) {
			x.Devices = append(x.Devices, k[1])
		}
	}
	for i := range t.Columns {
		c := f.Column(t.Columns[i].Name)
		last := ""
		for row := range f.Rows() {
			if h := x.host(row); h != last && !c.Null(row) {
				x.says[[2]string{h, c.Name}] = true
				last = h
			}
		}
	}
	return x, nil
}

func (x *Table) host(i int) string { return x.Frame[6].Texts[i] }

func (x *Table) device(i int) string {
	if x.Schema.Device == "" {
		return ""
	}
	return x.Frame[7].Texts[i]
}

// Series is one metric of one run: row i covers (EndNS-IntervalNS, EndNS] of the run's
// elapsed time, and its value is Num/Den; a window's value is the sum of Num over that
// of Den. So rates have the increment and the seconds, shares 100 times the part and
// the whole, gauges value times seconds and seconds.
type Series struct {
	EndNS, IntervalNS []int64
	Num, Den          []float64
	Known             []bool
}

// Value returns row i's value and whether it is known.
func (s *Series) Value(i int) (float64, bool) {
	if !s.Known[i] || s.Den[i] <= 0 {
		return 0, false
	}
	return s.Num[i] / s.Den[i], true
}

// Total asks for the total over devices.
const Total = ""

// Summable reports whether the table's devices have a total.
func Summable(t *schemas.Table) bool { return t.Device == "" || !slices.Contains(t.NoTotal, "") }

// inTotal reports whether a device counts in the total.
func inTotal(t *schemas.Table, device string) bool {
	return !slices.ContainsFunc(t.NoTotal, func(prefix string) bool { return strings.HasPrefix(device, prefix) })
}

// Series forms a metric of one host; device Total is the sum over devices that are
// counted nowhere else (schemas.Table.NoTotal), of those known at each tick. It panics
// on a metric with a quantile: see Quantile.
func (x *Table) Series(m *schemas.Metric, host, device string) *Series {
	if m.Quantile != 0 {
		panic("loaders: a quantile is no series of sums")
	}
	if x.Schema.Device == "" || device != Total {
		return x.device1(m, x.groups[[2]string{host, device}])
	}
	var parts []*Series
	var rows [][]int
	for _, d := range x.Devices {
		if g := x.groups[[2]string{host, d}]; len(g) > 0 && inTotal(x.Schema, d) {
			parts = append(parts, x.device1(m, g))
			rows = append(rows, g)
		}
	}
	return x.total(m, parts, rows)
}

// device1 forms the metric over one device's rows.
func (x *Table) device1(m *schemas.Metric, rows []int) *Series {
	n := len(rows)
	s := &Series{EndNS: make([]int64, n), IntervalNS: make([]int64, n), Num: make([]float64, n), Den: make([]float64, n), Known: make([]bool, n)}
	elapsed, interval := x.Frame[1], x.Frame[3]
	factor := cmp.Or(m.Factor, 1)
	plus, minus, per := x.cols(m.Plus), x.cols(m.Minus), x.cols(m.Per)
	gauge := x.gauge(m)
	for k, i := range rows {
		s.EndNS[k] = elapsed.Ints[i]
		if interval.Null(i) || interval.Ints[i] <= 0 {
			continue
		}
		s.IntervalNS[k] = interval.Ints[i]
		seconds := float64(interval.Ints[i]) * 1e-9
		num, ok := x.sum(plus, i, m.Per != nil)
		if !ok {
			continue
		}
		less, ok := x.sum(minus, i, false)
		if !ok {
			continue
		}
		num = factor * (num - less)
		den := seconds
		switch {
		case m.Per != nil:
			if den, ok = x.sum(per, i, true); !ok {
				continue
			}
			if gauge { // a mean latency counts as often as there were operations
				num *= den
			}
		case gauge:
			num *= seconds
		}
		s.Num[k], s.Den[k], s.Known[k] = num, den, true
	}
	return s
}

// gauge reports whether the metric's numerator is a level.
func (x *Table) gauge(m *schemas.Metric) bool {
	return x.Schema.Columns[x.Schema.Column(m.Plus[0])].Kind == schemas.Gauge
}

type col struct {
	*columns.Column
	def *schemas.Column
}

func (x *Table) cols(names []string) []col {
	var out []col
	for _, n := range names {
		out = append(out, col{x.Frame.Column(n), &x.Schema.Columns[x.Schema.Column(n)]})
	}
	return out
}

// sum adds the columns of row i. ok is false if one of them is null, but for what a
// kernel lacks altogether and what retreats to null: both are left out. In a share a
// negative increment, as of iowait, counts as 0.
func (x *Table) sum(cols []col, i int, share bool) (sum float64, ok bool) {
	counted := 0
	for _, c := range cols {
		if c.Null(i) {
			if !x.says[[2]string{x.host(i), c.Name}] && len(cols) > 1 || c.def.Retreats == "null" && len(cols) > 1 {
				continue
			}
			return 0, false
		}
		v := 0.0
		if c.Type == schemas.Float64 {
			v = c.Floats[i]
		} else {
			v = float64(c.Ints[i])
		}
		if share && v < 0 && c.def.Retreats != "" {
			v = 0
		}
		sum += v
		counted++
	}
	return sum, counted > 0 || len(cols) == 0
}

// total adds devices tick by tick. A tick's value is known if one device's is: of a
// device that has just come nothing is known yet, and the others' work counts.
func (x *Table) total(m *schemas.Metric, parts []*Series, rows [][]int) *Series {
	type tick struct{ epoch, seq int64 }
	type sums struct {
		end, interval int64
		num, den      float64
		known         bool
	}
	index := map[tick]int{}
	var all []sums
	perDevice := m.Per != nil // shares add up part by part, rates share one clock
	for p, s := range parts {
		for k, i := range rows[p] {
			t := tick{x.Frame[4].Ints[i], x.Frame[5].Ints[i]}
			j, ok := index[t]
			if !ok {
				j = len(all)
				index[t] = j
				all = append(all, sums{end: s.EndNS[k]})
			}
			a := &all[j]
			if !s.Known[k] {
				continue
			}
			a.num += s.Num[k]
			if perDevice {
				a.den += s.Den[k]
			} else {
				a.den = max(a.den, s.Den[k])
			}
			a.interval = max(a.interval, s.IntervalNS[k])
			a.known = true
		}
	}
	slices.SortStableFunc(all, func(a, b sums) int { return cmp.Compare(a.end, b.end) })
	out := &Series{}
	for _, a := range all {
		out.EndNS = append(out.EndNS, a.end)
		out.IntervalNS = append(out.IntervalNS, a.interval)
		out.Num = append(out.Num, a.num)
		out.Den = append(out.Den, a.den)
		out.Known = append(out.Known, a.known)
	}
	return out
}

// in reports whether a row's interval has its midpoint in the window.
func in(end, interval, from, to int64) bool {
	mid := end - interval/2
	return mid >= from && mid < to
}

// Quantile returns a quantile metric over a window, in the metric's unit, from the
// merged histograms of the hosts, and the observations behind it: 0 if there are none,
// or no row has a histogram. Percentiles are never averaged.
func (x *Table) Quantile(m *schemas.Metric, hosts []string, fromNS, toNS int64) (value float64, count int64, err error) {
	c := x.Frame.Column(m.Plus[0])
	var out *hdrhistogram.Histogram
	for _, host := range hosts {
		for _, i := range x.groups[[2]string{host, ""}] {
			if c.Null(i) || x.Frame[3].Null(i) || !in(x.Frame[1].Ints[i], x.Frame[3].Ints[i], fromNS, toNS) {
				continue
			}
			h, err := hdrhistogram.Decode(c.Blobs[i])
			if err != nil {
				return 0, 0, fmt.Errorf("loaders: %s: row %d: %w", c.Name, i, err)
			}
			if out == nil {
				out = h
				continue
			}
			if lost := out.Merge(h); lost > 0 {
				return 0, 0, fmt.Errorf("loaders: %s: row %d: %d values do not fit into the merged histogram", c.Name, i, lost)
			}
		}
	}
	if out == nil || out.TotalCount() == 0 {
		return 0, 0, nil
	}
	return float64(out.ValueAtQuantile(100*m.Quantile)) * 1e-9, out.TotalCount(), nil
}

// QuantileSeries returns the quantile of each row, for looking at: it can't be summed.
func (x *Table) QuantileSeries(m *schemas.Metric, host string) (*Series, error) {
	c := x.Frame.Column(m.Plus[0])
	s := &Series{}
	for _, i := range x.groups[[2]string{host, ""}] {
		s.EndNS = append(s.EndNS, x.Frame[1].Ints[i])
		s.IntervalNS = append(s.IntervalNS, x.Frame[3].Ints[i])
		v, known := 0.0, false
		if !c.Null(i) {
			h, err := hdrhistogram.Decode(c.Blobs[i])
			if err != nil {
				return nil, fmt.Errorf("loaders: %s: row %d: %w", m.Plus[0], i, err)
			}
			v, known = float64(h.ValueAtQuantile(100*m.Quantile))*1e-9, h.TotalCount() > 0
		}
		s.Num, s.Den, s.Known = append(s.Num, v), append(s.Den, 1), append(s.Known, known && !math.IsNaN(v))
	}
	return s, nil
}
