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

// Table is a run's rows of a table, open for reading: of its own columns only those of
// the metric last asked for are in memory, so that three days of a large host fit.
type Table struct {
	Schema *schemas.Table
	// Hosts and Devices are what occurs, in the order of the file.
	Hosts, Devices []string

	file              *columns.File
	elapsed, interval *columns.Column
	groups            map[[2]string][]int32 // rows of a host's device, in order of time
	columns           map[string]*column    // read last
	ticks             map[string][]int32    // of each host, by row: the number of its tick
	counts            map[string]int        // of each host: its ticks
}

// column is a column that was read, and the hosts that have any value in it: of others
// the kernel lacks it.
type column struct {
	*columns.Column
	def  *schemas.Column
	says map[string]bool
}

func newTable(t *schemas.Table, version int, f *columns.File) (*Table, error) {
	x := &Table{Schema: t, file: f, groups: map[[2]string][]int32{}, columns: map[string]*column{}, ticks: map[string][]int32{}, counts: map[string]int{}}
	names := []string{"elapsed_ns", "interval_ns", "host"}
	for _, c := range append(slices.Clone(t.CommonColumns()), t.Columns...) {
		col := f.Columns().Column(c.Name)
		switch {
		case col == nil && version < t.Version && !slices.Contains(names, c.Name):
			continue // a later version has added it
		case col == nil:
			return nil, fmt.Errorf("no column %s", c.Name)
		case c.Name != "time" && col.Type != c.Physical():
			return nil, fmt.Errorf("column %s has another type than table %s", c.Name, t.Name)
		case c.Name == "device":
			names = append(names, c.Name)
		}
	}
	frame, err := f.Read(names...)
	if err != nil {
		return nil, err
	}
	x.elapsed, x.interval = frame[0], frame[1]
	var last [2]string
	var group []int32
	for i, host := range frame[2].Texts {
		k := [2]string{host, ""}
		if len(frame) > 3 {
			k[1] = frame[3].Texts[i]
		}
		if i == 0 || k != last {
			if i > 0 {
				x.groups[last] = group
			}
			last, group = k, x.groups[k]
			if !slices.Contains(x.Hosts, host) {
				x.Hosts = append(x.Hosts, host)
			}
			if t.Device != "" && !slices.Contains(x.Devices, k[1]) {
				x.Devices = append(x.Devices, k[1])
			}
		}
		group = append(group, int32(i))
	}
	if group != nil {
		x.groups[last] = group
	}
	return x, nil
}

// Read returns all columns of the table, as in the file.
func (x *Table) Read() (columns.Frame, error) { return x.file.Read() }

// use reads the named columns, and forgets those that are not among them.
func (x *Table) use(names ...[]string) error {
	all := slices.Concat(names...)
	for name := range x.columns {
		if !slices.Contains(all, name) {
			delete(x.columns, name)
		}
	}
	for _, name := range all {
		if x.columns[name] != nil {
			continue
		}
		c := &column{Column: &columns.Column{Ints: make([]int64, x.elapsed.Len()), Known: make([]bool, x.elapsed.Len())}, def: &schemas.Column{}, says: map[string]bool{}}
		if i := x.Schema.Column(name); i >= 0 {
			c.def = &x.Schema.Columns[i]
		}
		if x.file.Columns().Column(name) != nil { // else of a version before it came
			f, err := x.file.Read(name)
			if err != nil {
				return err
			}
			c.Column = f[0]
		}
		for k, rows := range x.groups {
			c.says[k[0]] = c.says[k[0]] || slices.ContainsFunc(rows, func(i int32) bool { return !c.Null(int(i)) })
		}
		x.columns[name] = c
	}
	return nil
}

// Series is one metric of one run: row i covers (EndNS-IntervalNS, EndNS] of the run's
// elapsed time, and its value is Num/Den; a window's value is the sum of Num over that
// of Den. So rates have the increment and the seconds, shares 100 times the part and
// the whole, gauges value times seconds and seconds, a gauge of a gauge both times seconds.
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

// summable reports whether the table's devices have a total.
func summable(t *schemas.Table) bool { return t.Device == "" || !slices.Contains(t.NoTotal, "") }

// inTotal reports whether a device counts in the total.
func inTotal(t *schemas.Table, device string) bool {
	return !slices.ContainsFunc(t.NoTotal, func(prefix string) bool { return strings.HasPrefix(device, prefix) })
}

// Series forms a metric of one host from the increments, or where a row was imported
// from a tool that prints the metric, from that; device Total is the sum over devices that are
// counted nowhere else (schemas.Table.NoTotal), of those known at each tick. It panics
// on a metric with a quantile: see Quantile.
func (x *Table) Series(m *schemas.Metric, host, device string) (*Series, error) {
	if m.Quantile != 0 {
		panic("loaders: a quantile is no series of sums")
	}
	var told []string
	if x.file.Columns().Column(m.Name) != nil && x.Schema.Column(m.Name) < 0 {
		told = []string{m.Name}
	}
	if err := x.use(m.Plus, m.Minus, m.Per, x.turns(m), told); err != nil {
		return nil, err
	}
	if x.Schema.Device == "" || device != Total || !summable(x.Schema) {
		return x.ofDevice(m, host, device), nil
	}
	return x.total(m, host)
}

// ofDevice forms the metric over one device's rows.
func (x *Table) ofDevice(m *schemas.Metric, host, device string) *Series {
	rows := x.groups[[2]string{host, device}]
	n := len(rows)
	s := &Series{EndNS: make([]int64, n), IntervalNS: make([]int64, n), Num: make([]float64, n), Den: make([]float64, n), Known: make([]bool, n)}
	elapsed, interval := x.elapsed, x.interval
	plus, minus, per := x.cols(m.Plus), x.cols(m.Minus), x.cols(m.Per)
	gauge, ratio := x.gauge(m.Plus), x.gauge(m.Per)
	told := x.columns[m.Name]
	if told != nil && x.Schema.Column(m.Name) >= 0 {
		told = nil // a gauge's metric has the column's name
	}
	for k, row := range rows {
		i := int(row)
		s.EndNS[k] = elapsed.Ints[i]
		if interval.Null(i) || interval.Ints[i] <= 0 {
			continue
		}
		s.IntervalNS[k] = interval.Ints[i]
		seconds := float64(interval.Ints[i]) * 1e-9
		s.Num[k], s.Den[k], s.Known[k] = x.form(m, plus, minus, per, host, i, seconds, gauge, ratio)
		if !s.Known[k] && told != nil && !told.Null(i) {
			s.Num[k], s.Den[k], s.Known[k] = told.Floats[i]*seconds, seconds, true
		}
	}
	return s
}

// form forms the metric of row i, which is so many seconds long, from the columns.
func (x *Table) form(m *schemas.Metric, plus, minus, per []*column, host string, i int, seconds float64, gauge, ratio bool) (num, den float64, ok bool) {
	if num, ok = x.sum(plus, host, i, m.Per != nil); !ok {
		return 0, 0, false
	}
	less, ok := x.sum(minus, host, i, false)
	if !ok {
		return 0, 0, false
	}
	num = cmp.Or(m.Factor, 1) * (num - less)
	den = seconds
	switch {
	case m.Per != nil:
		if den, ok = x.sum(per, host, i, true); !ok {
			return 0, 0, false
		}
		switch {
		case ratio && gauge: // a level of a level: both over the interval
			num, den = num*seconds, den*seconds
		case ratio: // what happened, of what could have
			den *= seconds
		case gauge: // a mean latency counts as often as there were operations
			num *= den
		}
	case gauge:
		num *= seconds
	}
	return num, den, true
}

// gauge reports whether the named columns are levels.
func (x *Table) gauge(names []string) bool {
	return len(names) > 0 && x.Schema.Columns[x.Schema.Column(names[0])].Kind == schemas.Gauge
}

func (x *Table) cols(names []string) []*column {
	out := make([]*column, len(names))
	for i, n := range names {
		out[i] = x.columns[n]
	}
	return out
}

// sum adds the columns of row i. ok is false if one of them is null, but for what a
// kernel lacks altogether and what retreats to null: both are left out. In a share a
// negative increment, as of iowait, counts as 0. A counter that took turns is scaled.
func (x *Table) sum(cols []*column, host string, i int, share bool) (total float64, ok bool) {
	counted := 0
	for _, c := range cols {
		if c.Null(i) {
			if !c.says[host] && len(cols) > 1 || c.def.Retreats == "null" && len(cols) > 1 {
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
		scale, ok := x.scale(c.def, i)
		if !ok {
			return 0, false
		}
		v *= scale
		if share && v < 0 && c.def.Retreats != "" {
			v = 0
		}
		total += v
		counted++
	}
	return total, counted > 0 || len(cols) == 0
}

// scale returns what brings a counter's increment in row i to what it would have been
// without turns. ok is false if that is not known: it had none in the interval.
func (x *Table) scale(c *schemas.Column, i int) (factor float64, ok bool) {
	if c.Running == "" {
		return 1, true
	}
	enabled, running := x.columns[c.Enabled], x.columns[c.Running]
	if enabled.Null(i) || running.Null(i) || running.Ints[i] <= 0 {
		return 0, false
	}
	return float64(enabled.Ints[i]) / float64(running.Ints[i]), true
}

// turns returns the columns that scale those of a metric.
func (x *Table) turns(m *schemas.Metric) (names []string) {
	for _, name := range slices.Concat(m.Plus, m.Minus, m.Per) {
		if c := &x.Schema.Columns[x.Schema.Column(name)]; c.Running != "" {
			names = append(names, c.Enabled, c.Running)
		}
	}
	return names
}

// total adds a host's devices tick by tick. A tick's value is known if one device's is:
// of a device that has just come nothing is known yet, and the others' work counts.
func (x *Table) total(m *schemas.Metric, host string) (*Series, error) {
	if err := x.number(host); err != nil {
		return nil, err
	}
	n := x.counts[host]
	out := &Series{EndNS: make([]int64, n), IntervalNS: make([]int64, n), Num: make([]float64, n), Den: make([]float64, n), Known: make([]bool, n)}
	whole := make([]bool, n) // a row for all devices told it
	devices := slices.DeleteFunc(slices.Clone(x.Devices), func(d string) bool { return d == schemas.All })
	if len(devices) < len(x.Devices) {
		devices = slices.Insert(devices, 0, schemas.All) // first: it leaves the others nothing to add
	}
	for _, d := range devices {
		if !inTotal(x.Schema, d) {
			continue
		}
		part := x.ofDevice(m, host, d)
		for k, row := range x.groups[[2]string{host, d}] {
			j := x.ticks[host][row]
			if out.EndNS[j] == 0 {
				out.EndNS[j] = part.EndNS[k]
			}
			if !part.Known[k] || whole[j] {
				continue
			}
			whole[j] = d == schemas.All
			out.Num[j] += part.Num[k]
			if m.Per != nil { // shares add up part by part, rates share one clock
				out.Den[j] += part.Den[k]
			} else {
				out.Den[j] = max(out.Den[j], part.Den[k])
			}
			out.IntervalNS[j] = max(out.IntervalNS[j], part.IntervalNS[k])
			out.Known[j] = true
		}
	}
	return out, nil
}

// number numbers the ticks of a host in order of time, over the devices that count in
// its total.
func (x *Table) number(host string) error {
	if x.ticks[host] != nil {
		return nil
	}
	f, err := x.file.Read("epoch", "seq")
	if err != nil {
		return err
	}
	type tick struct{ epoch, seq int64 }
	type place struct {
		tick
		end int64
	}
	index := map[tick]int32{}
	var all []place
	for _, d := range x.Devices {
		if !inTotal(x.Schema, d) {
			continue
		}
		for _, i := range x.groups[[2]string{host, d}] {
			t := tick{f[0].Ints[i], f[1].Ints[i]}
			if _, ok := index[t]; !ok {
				index[t] = 0
				all = append(all, place{t, x.elapsed.Ints[i]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.end, b.end) })
	for k, p := range all {
		index[p.tick] = int32(k)
	}
	ticks := make([]int32, len(x.elapsed.Ints))
	for _, d := range x.Devices {
		if inTotal(x.Schema, d) {
			for _, i := range x.groups[[2]string{host, d}] {
				ticks[i] = index[tick{f[0].Ints[i], f[1].Ints[i]}]
			}
		}
	}
	x.ticks[host], x.counts[host] = ticks, len(all)
	return nil
}

// MaxRows is how many rows of a series an analysis needs to see.
const MaxRows = 4096

// Compact joins neighbouring rows until there are at most about MaxRows, none across a
// bound of the window: sums over sums are what they were, and three days of hundreds of
// metrics fit into memory.
func (s *Series) Compact(w Window) *Series {
	n := len(s.EndNS)
	if n <= MaxRows {
		return s
	}
	step := (n + MaxRows - 1) / MaxRows
	side := func(i int) int {
		switch mid := s.EndNS[i] - s.IntervalNS[i]/2; {
		case mid < w.FromNS:
			return 0
		case mid < w.ToNS:
			return 1
		}
		return 2
	}
	out := &Series{}
	for i := 0; i < n; {
		j := i + 1
		for j < n && j-i < step && side(j) == side(i) {
			j++
		}
		var num, den float64
		var interval int64
		known := false
		for k := i; k < j; k++ {
			if s.Known[k] {
				num, den, known = num+s.Num[k], den+s.Den[k], true
			}
			interval += s.IntervalNS[k]
		}
		out.EndNS = append(out.EndNS, s.EndNS[j-1])
		out.IntervalNS = append(out.IntervalNS, interval)
		out.Num, out.Den, out.Known = append(out.Num, num), append(out.Den, den), append(out.Known, known)
		i = j
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
func (x *Table) Quantile(m *schemas.Metric, hosts []string, device string, fromNS, toNS int64) (value float64, count int64, err error) {
	if err := x.use(m.Plus); err != nil {
		return 0, 0, err
	}
	c := x.columns[m.Plus[0]]
	var out *hdrhistogram.Histogram
	for _, host := range hosts {
		for _, row := range x.groups[[2]string{host, device}] {
			i := int(row)
			if c.Null(i) || x.interval.Null(i) || !in(x.elapsed.Ints[i], x.interval.Ints[i], fromNS, toNS) {
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
func (x *Table) QuantileSeries(m *schemas.Metric, host, device string) (*Series, error) {
	if err := x.use(m.Plus); err != nil {
		return nil, err
	}
	c := x.columns[m.Plus[0]]
	s := &Series{}
	for _, row := range x.groups[[2]string{host, device}] {
		i := int(row)
		s.EndNS = append(s.EndNS, x.elapsed.Ints[i])
		s.IntervalNS = append(s.IntervalNS, x.interval.Ints[i])
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
