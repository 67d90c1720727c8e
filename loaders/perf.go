package loaders

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/steadybench/steady/outputs"
	"github.com/steadybench/steady/schemas"
)

// ReadPerf reads the output of perf stat, of perf 4 to 6 (outputs.Perf): CSV, lines of
// JSON or text, one run or several behind one another. name stands in errors, which
// refuse the file whole, with line and cause: a decimal comma that can't be told from a
// separator, derived metrics without counts, output of something else.
//
// A count over the length of its interval becomes the rate of the event's column in table
// perf, or a row of table perf_event if it has none. Devices of perf are CPUs ("0"), what
// perf counted together otherwise ("S0-D0-C1"), on hybrid CPUs by kind ("cpu_core",
// "cpu_core/0"), and "all". Quotients (ipc) are of events that were counted in the same
// time, and of "all" the sums of such. What was not counted is null; each event that ever
// was not, and each count that perf scaled since the event took turns on the counters,
// has a row of table quality.
//
// Without -I there is one interval; where perf doesn't tell its length, the counts stand
// in summary only. The start needs a zone, since perf prints none.
func ReadPerf(name, text string, o ForeignOptions) ([]*Foreign, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("loaders: %s: %w", name, errEmpty)
	}
	parts := outputParts(text, func(line string) bool { return strings.HasPrefix(line, "# started on ") })
	var out []*Foreign
	for k, s := range parts {
		f, err := readPerf(s, o)
		if err != nil {
			return nil, fmt.Errorf("loaders: %s: %w%s", name, err, otherTool("perf", text))
		}
		if len(parts) > 1 {
			f.Run = strconv.Itoa(k + 1)
		}
		out = append(out, f)
	}
	return out, nil
}

func readPerf(s outputPart, o ForeignOptions) (*Foreign, error) {
	var p outputs.Perf
	var intervals []*outputs.PerfInterval
	var damage error
	for k, line := range s.lines {
		iv, err := p.Line(line)
		if iv != nil {
			intervals = append(intervals, iv)
		}
		if err != nil {
			damage = fmt.Errorf("line %d: %w", s.first+k, err)
			break
		}
	}
	if damage != nil && !o.Salvage {
		return nil, damage
	}
	last, report, err := p.End()
	if last != nil && (damage == nil || last.ToNS == 0) { // else not all of its events are there
		intervals = append(intervals, last)
	}
	switch {
	case len(intervals) == 0 && damage != nil:
		return nil, damage
	case err != nil:
		return nil, err
	}
	f := &Foreign{Kind: "perf", Facts: map[string]string{}, Params: map[string]any{}, Warnings: report.Warnings}
	if damage != nil {
		f.Incomplete = append(f.Incomplete, "damaged, and kept up to the damage: "+damage.Error())
	}
	if report.Of != "" {
		f.Facts["perf.of"] = report.Of
	}
	if n := len(intervals); n > 1 && len(intervals[n-1].Counts) < len(intervals[n-2].Counts) {
		f.Incomplete = append(f.Incomplete, fmt.Sprintf("the last interval has %d counts, the one before %d: the output is cut off", len(intervals[n-1].Counts), len(intervals[n-2].Counts)))
	}
	if report.Started != "" {
		if o.Zone == nil {
			f.Warnings = append(f.Warnings, "the start is unknown: perf prints it without a zone, and none was given")
		} else if at, ok := report.StartedAt(o.Zone); ok {
			f.Start = at.UTC()
		}
	}
	r := perfReader{f: f, missing: map[string]*perfMissing{}, slow: map[string]*perfSlow{}}
	var ticks []schemas.Tick
	for _, iv := range intervals {
		ticks = append(ticks, r.tick(iv))
		f.DurationNS = iv.ToNS
	}
	r.notes(&ticks[0], intervals[0].ToNS, len(intervals))
	f.Boots = [][]schemas.Tick{ticks}
	return f, nil
}

// perfReader makes ticks of intervals.
type perfReader struct {
	f       *Foreign
	missing map[string]*perfMissing // by event
	slow    map[string]*perfSlow    // by event
	events  []string                // in the order in which they were printed
	hybrid  bool
	scoped  bool
}

// perfMissing is how often an event was not counted.
type perfMissing struct {
	why string
	n   int
}

// perfSlow is how often an event was counted for less than 90 % of the time.
type perfSlow struct {
	n    int
	part float64
}

// fast is how much of the time an event must have been counted, in percent, for its
// scaled count to pass without a warning.
const fast = 90

// perfCell is a count in its place.
type perfCell struct {
	device, event string // event without its PMU
	*outputs.PerfCount
}

// perfCells are an interval's counts in a table.
type perfCells struct {
	list []perfCell
	at   map[[2]string]*outputs.PerfCount // by device and event, by the table's names
}

func (x *perfCells) add(f *Foreign, device, event string, c *outputs.PerfCount) {
	k := [2]string{device, schemas.PerfEventName(event)}
	if x.at[k] != nil {
		f.Warnings = appendOnce(f.Warnings, fmt.Sprintf("event %s was asked for twice: the first count is taken", c.Event))
		return
	}
	if x.at == nil {
		x.at = map[[2]string]*outputs.PerfCount{}
	}
	x.at[k] = c
	x.list = append(x.list, perfCell{device, event, c})
}

// coreEvent tells the event of a hybrid CPU's PMU from its PMU: "cpu_core" and "cycles"
// of "cpu_core/cycles/".
func coreEvent(event string) (pmu, name string) {
	pmu, rest, ok := strings.Cut(event, "/")
	if name, ok2 := strings.CutSuffix(rest, "/"); ok && ok2 {
		if _, known := schemas.PerfColumn(name); known {
			if pmu == "cpu" {
				pmu = ""
			}
			return pmu, name
		}
	}
	return "", event
}

// scopeName is a scope as a device is named.
func scopeName(scope string) string {
	if n, ok := strings.CutPrefix(scope, "CPU"); ok {
		return n
	}
	return scope
}

// tick returns the tick of an interval.
func (r *perfReader) tick(iv *outputs.PerfInterval) schemas.Tick {
	length := iv.ToNS - iv.FromNS
	var t schemas.Tick
	var wide, tall perfCells
	kinds := map[string]string{} // kind of core, by CPU
	for k := range iv.Counts {
		c := &iv.Counts[k]
		if pmu, _ := coreEvent(c.Event); pmu != "" {
			r.hybrid = true
			if c.Missing == "" {
				kinds[c.Scope] = pmu
			}
		}
	}
	for k := range iv.Counts {
		c := &iv.Counts[k]
		r.scoped = r.scoped || c.Scope != ""
		if !slices.Contains(r.events, c.Event) {
			r.events = append(r.events, c.Event)
		}
		if c.Missing != "" {
			m := r.missing[c.Event]
			if m == nil {
				m = &perfMissing{why: c.Missing}
				r.missing[c.Event] = m
			}
			m.n++
		}
		pmu, event := coreEvent(c.Event)
		if _, ok := schemas.PerfColumn(event); ok && c.Cgroup == "" {
			wide.add(r.f, device(pmu, kinds, c.Scope), event, c)
			continue
		}
		d := c.Event
		if c.Cgroup != "" {
			d += "@" + c.Cgroup
		}
		if c.Scope != "" {
			d += "@" + scopeName(c.Scope)
		}
		tall.add(r.f, d, c.Event, c)
		if c.Unit != "" {
			r.f.Facts["perf.unit."+c.Event] = c.Unit
		}
	}
	if length <= 0 {
		t.Rows = r.summary(append(slices.Clone(wide.list), tall.list...), iv.ToNS)
	} else {
		seconds := float64(length) / 1e9
		if len(wide.list) > 0 {
			t.Blocks = append(t.Blocks, wideBlock(&wide, iv.ToNS, length, seconds))
		}
		if len(tall.list) > 0 {
			t.Blocks = append(t.Blocks, tallBlock(&tall, iv.ToNS, length, seconds))
		}
	}
	for _, c := range wide.list {
		column, _ := schemas.PerfColumn(c.event)
		t.Rows = r.running(t.Rows, &c, wide.list, schemas.Perf.Name, column, iv.ToNS)
	}
	for _, c := range tall.list {
		t.Rows = r.running(t.Rows, &c, tall.list, schemas.PerfEvent.Name, "count", iv.ToNS)
	}
	return t
}

// device returns the device of table perf that a count of a PMU in a scope belongs to.
func device(pmu string, kinds map[string]string, scope string) string {
	if pmu == "" && scope != "" {
		pmu = kinds[scope] // a software event on a CPU of that kind
	}
	switch place := scopeName(scope); {
	case pmu == "" && place == "":
		return schemas.All
	case place == "":
		return pmu
	case pmu == "":
		return place
	default:
		return pmu + "/" + place
	}
}

// running appends a row of quality if a count was scaled.
func (r *perfReader) running(rows []schemas.Row, c *perfCell, all []perfCell, table, column string, bootNS int64) []schemas.Row {
	if c.Missing != "" || !(c.Running < 100) {
		return rows
	}
	if pmu, _ := coreEvent(c.Event); pmu != "" {
		// Of a task on a hybrid CPU: the time it was on each kind.
		var sum float64
		for k := range all {
			if x := &all[k]; x.event == c.event && x.Scope == c.Scope && x.Missing == "" {
				sum += x.Running
			}
		}
		if sum >= 99.5 {
			return rows
		}
	}
	if c.Running < fast {
		s := r.slow[c.Event]
		if s == nil {
			s = &perfSlow{part: c.Running}
			r.slow[c.Event] = s
		}
		s.n++
		s.part = min(s.part, c.Running)
	}
	q := schemas.QualityRow(0, bootNS, "multiplexed", table, "the event took turns on the counters: perf scaled what it counted in that part of the time, in percent")
	q.SetText("column", column)
	q.SetText("part", c.device)
	q.SetText("current", strconv.FormatFloat(c.Running, 'f', 2, 64))
	return append(rows, q)
}

// notes puts what is to know of all intervals into the first tick and the warnings.
func (r *perfReader) notes(t *schemas.Tick, bootNS int64, intervals int) {
	for _, e := range r.events {
		if m := r.missing[e]; m != nil {
			table, column := schemas.PerfEvent.Name, "count"
			_, event := coreEvent(e)
			if c, ok := schemas.PerfColumn(event); ok {
				table, column = schemas.Perf.Name, c
			}
			q := schemas.QualityRow(0, bootNS, "absent", table, fmt.Sprintf("perf: %s: %s, %d times in %d intervals", e, m.why, m.n, intervals))
			q.SetText("column", column)
			t.Rows = append(t.Rows, q)
		}
		if s := r.slow[e]; s != nil {
			r.f.Warnings = append(r.f.Warnings, fmt.Sprintf("%s was counted in less than %d %% of the time, once in %.2f %% (%d counts): they are perf's estimates", e, fast, s.part, s.n))
		}
	}
	if r.hybrid {
		r.f.Warnings = append(r.f.Warnings, "a hybrid CPU: its kinds of core stand apart, and their sum is no figure of a CPU with one kind")
	}
	if !r.scoped && r.f.Facts["perf.of"] == "" {
		r.f.Warnings = append(r.f.Warnings, "whether perf counted the whole system (-a) or a program is not in its output")
	}
}

// sameTime reports whether two events were counted in the same time: all of it, or the
// same turns, which perf's run times tell to some microseconds.
func sameTime(a, b *outputs.PerfCount) bool {
	if a.Missing != "" || b.Missing != "" {
		return false
	}
	full := func(c *outputs.PerfCount) bool { return !(c.Running < 99.99) }
	if full(a) && full(b) {
		return true
	}
	return full(a) == full(b) && a.RunNS > 0 && math.Abs(float64(a.RunNS-b.RunNS)) <= 1e-4*float64(a.RunNS)
}

// perfRate is a metric of table perf that perf's output can give: the event counted, and
// of quotients the one that it is divided by.
type perfRate struct {
	schemas.Metric
	event, per string
	running    bool // divided by the time in which it was counted
}

var perfRates = func() (out []perfRate) {
	source := func(names []string) string {
		if len(names) != 1 {
			return ""
		}
		return schemas.Perf.Columns[schemas.Perf.Column(names[0])].Source
	}
	for _, m := range schemas.Perf.Stored() {
		x := perfRate{Metric: m, event: source(m.Plus), per: source(m.Per), running: m.Name == "ghz"}
		if m.Factor == 0 {
			x.Factor = 1
		}
		if x.event != "" && (m.Per == nil || x.per != "" || x.running) {
			out = append(out, x)
		}
	}
	return out
}()

// wideBlock returns an interval's rates as a block of table perf.
func wideBlock(cells *perfCells, bootNS, length int64, seconds float64) schemas.Block {
	b := schemas.Block{Table: &schemas.Perf, BootNS: bootNS, IntervalNS: length}
	seen := map[string]bool{}
	for _, c := range cells.list {
		if !seen[c.device] {
			seen[c.device] = true
			b.Devices = append(b.Devices, c.device)
		}
	}
	parts := slices.DeleteFunc(slices.Clone(b.Devices), func(d string) bool { return d == schemas.All })
	if !seen[schemas.All] {
		b.Devices = append(b.Devices, schemas.All)
	}
	b.Resize(len(b.Devices))
	for row, d := range b.Devices {
		for _, m := range perfRates {
			places := []string{d}
			if d == schemas.All && cells.at[[2]string{d, m.event}] == nil {
				places = parts
			}
			if v, ok := m.over(cells, places, seconds); ok {
				b.SetRate(row, m.Name, v)
			}
		}
	}
	return b
}

// over returns the metric over some places together. A rate is known if it is of each of
// them that has the event, a quotient is that of the places where it is known.
func (m *perfRate) over(cells *perfCells, places []string, seconds float64) (float64, bool) {
	var num, den float64
	for _, place := range places {
		c := cells.at[[2]string{place, m.event}]
		per := cells.at[[2]string{place, m.per}]
		switch {
		case c == nil:
		case m.running:
			if c.Missing == "" && c.RunNS > 0 && c.Running > 0 {
				num, den = num+c.Value, den+float64(c.RunNS)*100/c.Running
			}
		case m.Per != nil:
			if per != nil && per != c && sameTime(c, per) {
				num, den = num+c.Value, den+per.Value
			}
		case c.Missing != "":
			return 0, false
		default:
			num, den = num+c.Value, seconds
		}
	}
	return m.Factor * num / den, den > 0
}

// tallBlock returns an interval's rates as a block of table perf_event: a row an event
// and place, and one an event of all its places.
func tallBlock(cells *perfCells, bootNS, length int64, seconds float64) schemas.Block {
	b := schemas.Block{Table: &schemas.PerfEvent, BootNS: bootNS, IntervalNS: length}
	var values []float64
	whole := map[string]int{} // row, by event and control group
	for _, c := range cells.list {
		v := c.Value / seconds
		if c.Missing != "" {
			v = math.NaN()
		}
		if c.Scope != "" {
			all := strings.TrimSuffix(c.device, "@"+scopeName(c.Scope))
			row, ok := whole[all]
			if !ok {
				row = len(values)
				whole[all] = row
				b.Devices, values = append(b.Devices, all), append(values, 0)
			}
			values[row] += v
		}
		b.Devices, values = append(b.Devices, c.device), append(values, v)
	}
	b.Resize(len(b.Devices))
	for row, v := range values {
		b.SetRate(row, "count_per_s", v)
	}
	return b
}

// summary returns the counts of an interval of unknown length as rows of table summary.
func (r *perfReader) summary(cells []perfCell, bootNS int64) []schemas.Row {
	var rows []schemas.Row
	for _, c := range cells {
		if c.Missing != "" {
			continue
		}
		metric := c.Event
		if c.Scope != "" {
			metric = c.Event + "@" + scopeName(c.Scope)
		}
		row := schemas.NewRow(&schemas.Summary, 0, bootNS, 0)
		row.SetText("metric", metric)
		row.SetText("phase", "run")
		row.SetFloat("value", c.Value)
		row.SetText("unit", c.Unit)
		row.SetText("source", "perf")
		rows = append(rows, row)
	}
	r.f.Warnings = append(r.f.Warnings, "perf counted once (no -I) and does not say for how long: there are no rates, the counts stand in summary")
	return rows
}
