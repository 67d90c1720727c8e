package loaders

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// Cell is one metric in one run.
type Cell struct {
	// Series are the rows, of all hosts of the role; nil for a quantile, or where the
	// run has none.
	Series *Series
	// Value and Count are a quantile over the fixed window and the observations
	// behind it.
	Value float64
	Count int64
}

// Metric is one metric of a scenario over its runs.
type Metric struct {
	Table *schemas.Table
	Def   schemas.Metric
	Role  string
	Host  *string // nil: all hosts of the role
	// Device nil is the total, or a table without devices.
	Device *string
	Cells  []Cell // one a run of the scenario
}

// Is reports whether both are the same metric of the same place.
func (m *Metric) Is(o *Metric) bool {
	same := func(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return m.Name() == o.Name() && m.Role == o.Role && same(m.Host, o.Host) && same(m.Device, o.Device)
}

// Name is the metric's name in results: table and metric.
func (m *Metric) Name() string { return m.Table.Name + "." + m.Def.Name }

// Scenario is a scenario's runs, all of them, and what was measured in them.
type Scenario struct {
	Name    string
	Params  map[string]any
	Runs    []*Run // by system, then number
	Windows []Window
	Metrics []Metric
}

// Window is a run's fixed window and what an automatic one may keep, in elapsed time.
type Window struct {
	FromNS, ToNS         int64
	SpanFromNS, SpanToNS int64
	// Whole says that nothing told which part to keep.
	Whole bool
}

// FixedWindow returns the run's fixed window: its measure phase; keepNS > 0 cuts to
// its last so many nanoseconds. Without phases it counts from the run's end.
func (r *Run) FixedWindow(keepNS int64) Window {
	w := Window{ToNS: r.Manifest.DurationNS, Whole: true}
	w.SpanToNS = w.ToNS
	if p, ok := r.Manifest.Phase("measure"); ok {
		w.FromNS, w.ToNS, w.Whole = p.FromNS, p.ToNS, false
		w.SpanFromNS, w.SpanToNS = p.FromNS, p.ToNS
		if p, ok := r.Manifest.Phase("warmup"); ok {
			w.SpanFromNS = p.FromNS
		}
	}
	if keepNS > 0 {
		w.FromNS, w.Whole = max(w.FromNS, w.ToNS-keepNS), false
	}
	return w
}

// compared are the tables whose metrics systems are compared by.
var compared = []*schemas.Table{&schemas.Workload, &schemas.CPU, &schemas.Memory, &schemas.Disk, &schemas.Net, &schemas.Load, &schemas.Paging, &schemas.Pressure,
	&schemas.Kernel, &schemas.Softnet, &schemas.NetProto, &schemas.Sockets, &schemas.Perf, &schemas.PerfEvent, &schemas.Temperature, &schemas.Energy, &schemas.Cgroup, &schemas.Process}

// Scenarios groups runs by scenario and forms every metric that they have. A metric
// that is zero or unknown in every row of every run says nothing, and is left out.
func Scenarios(runs []*Run, keepNS int64) ([]Scenario, error) {
	var out []Scenario
	for _, r := range runs {
		i := slices.IndexFunc(out, func(s Scenario) bool { return s.Name == r.Manifest.Scenario })
		if i < 0 {
			i = len(out)
			out = append(out, Scenario{Name: r.Manifest.Scenario, Params: r.Manifest.Params})
		}
		out[i].Runs = append(out[i].Runs, r)
		out[i].Windows = append(out[i].Windows, r.FixedWindow(keepNS))
	}
	slices.SortStableFunc(out, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	for i := range out {
		for _, t := range compared {
			ms, err := out[i].metrics(t)
			if err != nil {
				return nil, err
			}
			out[i].Metrics = append(out[i].Metrics, ms...)
		}
		for _, r := range out[i].Runs {
			r.Release()
		}
	}
	return out, nil
}

// Each gives every metric of a table in one run to yield, one after the other, with all
// of its rows; none if the run has no rows of the table.
func (r *Run) Each(t *schemas.Table, yield func(*Metric) error) error {
	s := Scenario{Name: r.Manifest.Scenario, Params: r.Manifest.Params, Runs: []*Run{r}, Windows: []Window{r.FixedWindow(0)}}
	return s.each(t, func(_ int, m Metric) error { return yield(&m) })
}

// Curve returns a metric's rows in a run, for looking at: of a quantile that of each
// row, and only of the first host. Nil if the run has none.
func (m *Metric) Curve(r *Run) (*Series, error) {
	x, err := r.Table(m.Table)
	if ok, _ := r.Manifest.Usable(); errors.Is(err, ErrNoData) || (err != nil && !ok) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Release()
	device := Total
	if m.Device != nil {
		device = *m.Device
	}
	if m.Def.Quantile != 0 {
		return x.QuantileSeries(&m.Def, x.Hosts[0], device)
	}
	return x.role(&m.Def, roleHosts(r.Manifest, m.Role), device)
}

// place is where a metric is measured.
type place struct {
	role   string
	host   string // "": all of the role
	device string // "": the total, or no device
}

// metrics forms the metrics of one table: place by place, all of the table's.
func (s *Scenario) metrics(t *schemas.Table) ([]Metric, error) {
	var out [][]Metric
	err := s.each(t, func(place int, m Metric) error {
		for len(out) <= place {
			out = append(out, nil)
		}
		for i := range m.Cells {
			if c := &m.Cells[i]; c.Series != nil {
				c.Series = c.Series.Compact(s.Windows[i])
			}
		}
		out[place] = append(out[place], m)
		return nil
	})
	return slices.Concat(out...), err
}

// each forms the metrics of one table one after the other, each of all places, and
// gives them to yield with the place's number.
func (s *Scenario) each(t *schemas.Table, yield func(place int, m Metric) error) error {
	tables := make([]*Table, len(s.Runs))
	var places []place
	for i, r := range s.Runs {
		x, err := r.Table(t)
		if ok, _ := r.Manifest.Usable(); errors.Is(err, ErrNoData) || (err != nil && !ok) {
			continue // no rows, or damaged ones of a run that is left out anyway
		}
		if err != nil {
			return err
		}
		tables[i] = x
		for _, p := range x.places(r.Manifest) {
			if !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	for _, def := range t.Metrics() {
		for k, p := range places {
			m := Metric{Table: t, Def: def, Role: p.role, Cells: make([]Cell, len(s.Runs))}
			if p.host != "" {
				m.Host = &p.host
			}
			if p.device != Total {
				m.Device = &p.device
			}
			something := false
			for i, x := range tables {
				if x == nil {
					continue
				}
				hosts := roleHosts(s.Runs[i].Manifest, p.role)
				if p.host != "" {
					hosts = []string{p.host}
				}
				if err := x.cell(&m.Cells[i], &def, hosts, p.device, s.Windows[i]); err != nil {
					return fmt.Errorf("%s: %w", s.Runs[i].Dir, err)
				}
				something = something || m.Cells[i].Count > 0 || m.Cells[i].Series.something()
			}
			if something {
				if err := yield(k, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cell forms one metric in one run.
func (x *Table) cell(c *Cell, def *schemas.Metric, hosts []string, device string, w Window) (err error) {
	if def.Quantile != 0 {
		c.Value, c.Count, err = x.Quantile(def, hosts, device, w.FromNS, w.ToNS)
		return err
	}
	c.Series, err = x.role(def, hosts, device)
	return err
}

// something reports whether any row is known and not zero.
func (s *Series) something() bool {
	if s == nil {
		return false
	}
	for i := range s.Num {
		if s.Known[i] && s.Num[i] != 0 {
			return true
		}
	}
	return false
}

// places returns where the table's metrics are measured in a run.
func (x *Table) places(m *schemas.Manifest) []place {
	roles := []string{"load"} // what the load generator says
	if x.Schema != &schemas.Workload {
		roles = nil
		for _, h := range m.Hosts {
			for _, role := range hostRoles(h) {
				if !slices.Contains(roles, role) {
					roles = append(roles, role)
				}
			}
		}
	}
	var out []place
	for _, role := range roles {
		hosts := []string{""}
		if hs := roleHosts(m, role); len(hs) > 1 {
			hosts = append(hosts, hs...)
		}
		for _, h := range hosts {
			if summable(x.Schema) {
				out = append(out, place{role, h, Total})
			}
			if x.Schema.Alike {
				continue
			}
			for _, d := range x.Devices {
				if d != schemas.All || !summable(x.Schema) {
					out = append(out, place{role, h, d})
				}
			}
		}
	}
	return out
}

// hostRoles are the roles under which a host's own metrics stand: one that carries
// both the system under test and the load stands under sut.
func hostRoles(h schemas.Host) []string {
	if slices.Contains(h.Roles, "sut") || len(h.Roles) == 0 {
		return []string{"sut"}
	}
	return h.Roles
}

// roleHosts returns the hosts whose metrics stand under the role; for load, those
// that generate it.
func roleHosts(m *schemas.Manifest, role string) []string {
	var out []string
	for _, h := range m.Hosts {
		if slices.Contains(hostRoles(h), role) || (role == "load" && (slices.Contains(h.Roles, "load") || len(m.Hosts) == 1)) {
			out = append(out, h.Host)
		}
	}
	return out
}

// role forms a metric over the hosts of a role. The rows of several hosts stand side
// by side: of a rate or a level each counts as many times as there are hosts, so that
// the window's value is their sum; a share pools parts and wholes.
func (x *Table) role(m *schemas.Metric, hosts []string, device string) (*Series, error) {
	var all []*Series
	for _, h := range hosts {
		s, err := x.Series(m, h, device)
		if err != nil {
			return nil, err
		}
		if len(s.EndNS) > 0 {
			all = append(all, s)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	out := &Series{}
	for _, s := range all {
		out.EndNS = append(out.EndNS, s.EndNS...)
		out.IntervalNS = append(out.IntervalNS, s.IntervalNS...)
		out.Den = append(out.Den, s.Den...)
		out.Known = append(out.Known, s.Known...)
		times := float64(len(all))
		if m.Per != nil {
			times = 1
		}
		for _, v := range s.Num {
			out.Num = append(out.Num, times*v)
		}
	}
	out.sort()
	return out, nil
}

func (s *Series) sort() {
	order := make([]int, len(s.EndNS))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.EndNS[a], s.EndNS[b]) })
	c := *s
	s.EndNS, s.IntervalNS, s.Num, s.Den, s.Known = pick(c.EndNS, order), pick(c.IntervalNS, order), pick(c.Num, order), pick(c.Den, order), pick(c.Known, order)
}

func pick[T any](x []T, order []int) []T {
	out := make([]T, len(x))
	for i, j := range order {
		out[i] = x[j]
	}
	return out
}

// Find resolves RUN as users write it: a folder, or "EXPERIMENT/SYSTEM/SCENARIO/NN",
// the keys' names (system=...) allowed, in the data directory.
func Find(data, name string) (*Run, error) {
	if r, err := Open(name); err == nil {
		return r, nil
	}
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for i := range parts {
		if _, v, ok := strings.Cut(parts[i], "="); ok {
			parts[i] = v
		}
	}
	if len(parts) != 4 {
		return nil, fmt.Errorf("loaders: run %q: want EXPERIMENT/SYSTEM/SCENARIO/NN, as steady ls prints it, or a run folder", name)
	}
	runs, err := Runs(data, parts[0])
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		m := r.Manifest
		if m.System == parts[1] && m.Scenario == parts[2] && strings.TrimLeft(m.Run, "0") == strings.TrimLeft(parts[3], "0") {
			return r, nil
		}
	}
	return nil, fmt.Errorf("loaders: %w: run %q: steady ls prints those there are", ErrNoData, name)
}
