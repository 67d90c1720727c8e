package analyze

import "fmt"

// autoStart is the start of the automatic window of one metric, one for all its
// systems, so that they are trimmed alike.
type autoStart struct {
	ok      bool
	startNS int64           // since the start of each run's span
	late    bool            // found only by searching further
	lateOf  map[[2]int]bool // by metric and system: whose curve made that necessary
	never   bool            // what is kept is not steady
	why     string          // why there is none, if not ok
	steady  []*bool         // per system, of this metric
	shifts  []string        // per system: what the gate saw, if not steady
}

func spanOf(r *Run) Window  { return r.Span }
func fixedOf(r *Run) Window { return r.Fixed }

// autoStarts finds the starts. The load settles once for a scenario: the primary
// metrics that have series decide it for all metrics of the scenario; without any,
// every metric decides for itself.
func autoStarts(metrics []Metric) []autoStart {
	out := make([]autoStart, len(metrics))
	deciders := make(map[string][]int)
	for i := range metrics {
		if metrics[i].Primary && hasSeries(&metrics[i]) {
			deciders[metrics[i].Scenario] = append(deciders[metrics[i].Scenario], i)
		}
	}
	found := make(map[string]autoStart)
	for i := range metrics {
		m := &metrics[i]
		if !hasSeries(m) {
			out[i].why = "no automatic window: only values, no rows"
			continue
		}
		if set := deciders[m.Scenario]; len(set) > 0 {
			a, ok := found[m.Scenario]
			if !ok {
				a = findStart(metrics, set)
				found[m.Scenario] = a
			}
			out[i] = a
		} else {
			out[i] = findStart(metrics, []int{i})
		}
		if out[i].ok {
			out[i].gate(m)
		}
	}
	return out
}

func hasSeries(m *Metric) bool {
	for _, s := range m.Systems {
		for i := range s.Runs {
			if s.Runs[i].Series != nil {
				return true
			}
		}
	}
	return false
}

// findStart searches the mean curve of every system on every deciding metric. On the
// mean curve the noise of the runs is averaged; the latest start over single runs
// throws away more than the warm-up of any.
func findStart(metrics []Metric, set []int) autoStart {
	var curves []curve
	var of [][2]int // metric and system of each curve
	for _, i := range set {
		for k, s := range metrics[i].Systems {
			c := meanCurve(s.Runs, spanOf, true)
			if len(c.parts) == 0 {
				continue
			}
			if len(c.raw) < minTicks {
				return autoStart{why: fmt.Sprintf("no automatic window: %d ticks, it needs %d", len(c.raw), minTicks)}
			}
			curves = append(curves, c)
			of = append(of, [2]int{i, k})
		}
	}
	if len(curves) == 0 {
		return autoStart{why: "no automatic window: no known rows"}
	}
	a := autoStart{ok: true}
	var late []int
	a.startNS, late, a.never = commonStart(curves)
	a.late = late != nil && !a.never
	for _, i := range late {
		if a.lateOf == nil {
			a.lateOf = make(map[[2]int]bool)
		}
		a.lateOf[of[i]] = true
	}
	return a
}

// commonStart returns the latest start over the curves, which of them had a trend
// after the first search (nil: none), and whether one still has after the second, which
// goes further on those only. Then the first start is kept: the later one brought
// nothing.
func commonStart(curves []curve) (startNS int64, late []int, never bool) {
	for i := range curves {
		startNS = max(startNS, curves[i].settled(searchFirst))
	}
	later := startNS
	for i := range curves {
		if !curves[i].steadyFrom(startNS) {
			late = append(late, i)
			later = max(later, curves[i].settled(searchLate))
		}
	}
	if late == nil {
		return startNS, nil, false
	}
	for i := range curves {
		if !curves[i].steadyFrom(later) {
			return startNS, late, true
		}
	}
	return later, late, false
}

func (c *curve) settled(share float64) int64 { return c.start(settled(c.raw, c.smooth, share)) }

// steadyFrom applies the gate; too short a rest counts as steady.
func (c *curve) steadyFrom(startNS int64) bool {
	t := TrendOf(c.raw[c.from(startNS):])
	return !t.Known || t.steady()
}

// gate tests what each system of the metric keeps.
func (a *autoStart) gate(m *Metric) {
	a.steady, a.shifts = make([]*bool, len(m.Systems)), make([]string, len(m.Systems))
	for k, s := range m.Systems {
		c := meanCurve(s.Runs, spanOf, false)
		a.steady[k], a.shifts[k] = gateCurve(c.raw[c.from(a.startNS):])
	}
}

// gateCurve returns nil if x is too short to say.
func gateCurve(x []float64) (steady *bool, shift string) {
	t := TrendOf(x)
	if !t.Known {
		return nil, ""
	}
	ok := t.steady()
	if !ok && t.Mean != 0 {
		shift = fmt.Sprintf("%+.1f %% from start to end", 100*t.Change/t.Mean)
	} else if !ok {
		shift = fmt.Sprintf("%+.3g from start to end", t.Change)
	}
	return &ok, shift
}
