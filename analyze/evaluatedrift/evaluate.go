// Package evaluatedrift measures the drift tests of package analyze on
// simulated soaks with known truth and on public series: the rows 11 to 16 of
// the evaluation protocol. Every figure is a function of the row, the scale and
// the seed, whatever the number of processors.
//
// It does not judge the comparison of runs.
package evaluatedrift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/steadybench/steady/analyze"
)

// Row is one cell of a row of the protocol.
type Row struct {
	Number           int    // of the protocol
	Name, Cell       string // what is measured, on what
	Naive, Published string // the trivial and the published competitor
	Must, Moonshot   string // the bars; empty: reported without one
	Value            float64
	SE               float64 // its Monte-Carlo standard error; 0 if it has none
	R                int     // simulations or series
	Pass             bool    // Value meets Must, within 3 SE; true without a bar
	Reached          bool    // Value meets Moonshot; false without one
}

// Run measures one row of the protocol, 11 to 16. scale multiplies the number of
// simulations of a cell, 10,000 at 1; rows 15 and 16, on public series, ignore
// it and the seed. It panics for another row.
func Run(row int, scale float64, seed uint64) []Row {
	r := max(20, int(math.Round(10000*scale)))
	switch row {
	case 11:
		return falseAlarms(r, seed)
	case 12:
		return append(stepPower(r, seed), trends(r, seed)...)
	case 13:
		return memoryPower(r, seed)
	case 14:
		return localisation(r, seed)
	case 15:
		return negatives()
	case 16:
		return changePoints()
	}
	panic(fmt.Sprint("evaluatedrift: no row ", row))
}

// soak is one kind of simulated soak: 432 bins of ten minutes unless n is set.
type soak struct {
	n        int
	width    int64 // ns; 0: 600 s
	noise    noise
	sd       float64 // in units of the data
	level    float64
	daily    float64 // amplitude of a daily cycle of two harmonics, random phase
	step     float64 // change at bin at
	at       int
	trend    float64 // change over the whole
	missing  bool    // 5 % of the bins at random, and three hours
	kind     analyze.DriftKind
	absolute float64
}

func (s soak) series(r *rand.Rand) analyze.DriftSeries {
	n := s.n
	if n == 0 {
		n = 432
	}
	width := s.width
	if width == 0 {
		width = 600e9
	}
	x := make([]float64, n)
	s.noise(r, x)
	p, day := 2*math.Pi*r.Float64(), 86400e9/float64(width)
	b := analyze.DriftBins{WidthNS: width, Mean: x, Median: x, Known: make([]bool, n)}
	for i := range x {
		u := 2 * math.Pi * float64(i) / day
		x[i] = s.level + s.sd*x[i] + s.daily*(math.Sin(u+p)+0.3*math.Sin(2*u+1)) + s.trend*float64(i)/float64(n)
		if i >= s.at {
			x[i] += s.step
		}
		b.Known[i] = !s.missing || r.Float64() >= 0.05 && (i < 200 || i >= 218)
	}
	return analyze.DriftSeries{Bins: b, Kind: s.kind, GateAbsolute: s.absolute}
}

// simulate judges r soaks, each with a random stream of its own, and returns
// what see says of each, in order.
func simulate[T any](s soak, r int, seed, stream uint64, see func(analyze.DriftVerdict) T) []T {
	out := make([]T, r)
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), r)
	for w := range workers {
		wg.Go(func() {
			batch := make([]analyze.DriftSeries, 0, 64)
			index := make([]int, 0, 64)
			flush := func() {
				// In one call for the design they share, each judged alone.
				for k, v := range analyze.Drift(batch, analyze.DriftOptions{Alone: true, NoTheilSen: true, NoSteps: true}) {
					out[index[k]] = see(v)
				}
				batch, index = batch[:0], index[:0]
			}
			for i := w; i < r; i += workers {
				batch = append(batch, s.series(rand.New(rand.NewPCG(seed, stream<<32|uint64(i)))))
				index = append(index, i)
				if len(batch) == cap(batch) {
					flush()
				}
			}
			flush()
		})
	}
	wg.Wait()
	return out
}

func share(v []bool) (p, se float64) {
	n := 0
	for _, b := range v {
		if b {
			n++
		}
	}
	p = float64(n) / float64(len(v))
	// Never a standard error of 0: one more of the other kind might come.
	q := (float64(n) + 1) / (float64(len(v)) + 2)
	return p, math.Sqrt(q * (1 - q) / float64(len(v)))
}

// atMost and atLeast fill in a row with bars on one side.
func (r Row) atMost(must, moonshot float64) Row {
	r.Must, r.Moonshot = fmt.Sprintf("≤ %.4g", must), fmt.Sprintf("≤ %.4g", moonshot)
	r.Pass, r.Reached = r.Value <= must+3*r.SE, r.Value <= moonshot
	return r
}

func (r Row) atLeast(must, moonshot float64) Row {
	r.Must, r.Moonshot = fmt.Sprintf("≥ %.4g", must), fmt.Sprintf("≥ %.4g", moonshot)
	r.Pass, r.Reached = r.Value >= must-3*r.SE, r.Value >= moonshot
	return r
}

const percent = 100 // level of the simulated throughput: a unit is a percent

func throughput(n noise) soak {
	return soak{noise: n, sd: 1, level: percent, daily: 2, kind: analyze.DriftThroughput}
}

func falseAlarms(r int, seed uint64) []Row {
	daily := func(s soak, a float64) soak { s.daily = a; return s }
	gappy := func(s soak) soak { s.missing = true; return s }
	week := func(s soak) soak { s.n, s.width = 432, 1400e9; return s }
	short := func(s soak) soak { s.n, s.width, s.daily = 432, 200e9, 0; return s }
	two := func(s soak) soak { s.width = 400e9; return s }
	long := fractional(0.3, 432)
	cells := []struct {
		cell           string
		s              soak
		naive          string
		must, moonshot float64
	}{
		{"white", throughput(memory(0)), "MK .04 (at 5 %)", .015, .012},
		{"memory 10 min", throughput(memory(1)), "MK .18", .015, .012},
		{"memory 1 h", throughput(memory(6)), "MK .57", .015, .012},
		{"memory 1 h, daily cycle 5 %", daily(throughput(memory(6)), 5), "MK .69", .015, .012},
		{"memory 1 h, daily 5 %, 5 % missing and 3 h gap", gappy(daily(throughput(memory(6)), 5)), "", .015, .012},
		{"memory 1 h, t3 tails", throughput(heavy(6)), "MK .53", .015, .012},
		{"saw-tooth of 6 h", throughput(sawtooth(36)), "", .015, .012},
		{"memory 4 h", throughput(memory(24)), "MK .74", .045, .02},
		{"long memory d=0.3", throughput(long), "MK .59", .055, .02},
		{"long memory d=0.3, 5 % missing and 3 h gap", gappy(throughput(long)), "", .055, .02},
		{"memory 4 h, one shock of 3 sd that decays", throughput(shocked(24, 3)), "", 0, 0},
		{"memory 4 h under white noise", throughput(mixed(24)), "", 0, 0},
		{"memory 1 h under a daily square wave of 20 %", throughput(square(memory(6), 144, 20)), "", 0, 0},
		{"48 h: memory 1 h", two(throughput(memory(9))), "", 0, 0},
		{"7 days: memory 2 h", week(throughput(memory(5.14))), "", 0, 0},
		{"24 h: memory 20 min, no daily cycle", short(throughput(memory(6))), "", 0, 0},
		{"24 h: memory 10 min, daily cycle 2 %", func() soak { s := short(throughput(memory(3))); s.daily = 2; return s }(), "", 0, 0},
		{"90 bins: memory 2 bins", func() soak { s := short(throughput(memory(2))); s.n = 90; return s }(), "", 0, 0},
		{"memory 10 min within the bins", throughput(averaged(1)), "", .015, .012},
		{"memory 1 h within the bins", throughput(averaged(6)), "", .015, .012},
		{"memory 4 h within the bins", throughput(averaged(24)), "", .045, .02},
	}
	var out []Row
	for i, c := range cells {
		type seen struct{ any, gated bool }
		v := simulate(c.s, r, seed, uint64(1100+i), func(v analyze.DriftVerdict) seen {
			return seen{v.P <= 0.01, v.Verdict == analyze.DriftFound}
		})
		any, gated := make([]bool, r), make([]bool, r)
		for k, s := range v {
			any[k], gated[k] = s.any, s.gated
		}
		row := Row{Number: 11, Name: "false alarms at 1 %", Cell: c.cell, Naive: c.naive, Published: "PELT ~1.0", R: r, Pass: true}
		row.Value, row.SE = share(any)
		g := row
		g.Name = "false alarms at 1 % beyond the gate"
		g.Value, g.SE = share(gated)
		if c.must > 0 {
			row = row.atMost(c.must, c.moonshot)
			g = g.atMost(c.must, .005)
		}
		out = append(out, row, g)
	}
	return out
}

func stepPower(r int, seed uint64) []Row {
	var out []Row
	for i, c := range []struct {
		cell           string
		noise          noise
		must, moonshot float64
	}{{"memory 10 min", memory(1), .99, .99}, {"memory 1 h", memory(6), .95, .98}, {"memory 4 h", memory(24), .70, .85}, {"24 h, at 16 h: memory 10 min", memory(3), 0, 0},
		// The bars were set for noise between the bins; within them less of it is quick,
		// and less of a step stands out.
		{"memory 10 min within the bins", averaged(1), 0, 0}, {"memory 1 h within the bins", averaged(6), 0, 0}, {"memory 4 h within the bins", averaged(24), 0, 0}} {
		for k, step := range []float64{-3, 3} {
			s := throughput(c.noise)
			s.step, s.at = step, 288
			if strings.HasPrefix(c.cell, "24 h") {
				s.width = 200e9
			}
			v := simulate(s, r, seed, uint64(1200+10*i+k), func(v analyze.DriftVerdict) bool { return v.Verdict == analyze.DriftFound })
			row := Row{Number: 12, Name: fmt.Sprintf("power, step of %+g %% at 48 h, sd 1 %%", step), Cell: c.cell, R: r}
			row.Value, row.SE = share(v)
			row.Pass = true
			if c.must > 0 {
				row = row.atLeast(c.must, c.moonshot)
			}
			out = append(out, row)
		}
	}
	return out
}

// trends adds to row 12 what has no bar: trends, their shape, the coverage of the
// interval of the slope, the promise of the smallest change that would have been
// found, and how often a soak without change is called steady.
func trends(r int, seed uint64) []Row {
	var out []Row
	for i, c := range []struct {
		cell string
		bins float64
	}{{"memory 10 min", 1}, {"memory 1 h", 6}, {"memory 4 h", 24}} {
		s := throughput(memory(c.bins))
		s.trend = -3
		type seen struct {
			found, trend, step, covered, steady bool
			mde                                 float64
		}
		see := func(v analyze.DriftVerdict) seen {
			return seen{v.Verdict == analyze.DriftFound, v.Shape == analyze.DriftShapeTrend, v.Shape == analyze.DriftShapeStep,
				v.PerDay.Lo <= -1 && -1 <= v.PerDay.Hi, v.Verdict == analyze.DriftSteady, v.MDE}
		}
		v := simulate(s, r, seed, uint64(1250+10*i), see)
		var found, trend, step, covered []bool
		for _, o := range v {
			found, covered = append(found, o.found), append(covered, o.covered)
			if o.found {
				trend, step = append(trend, o.trend), append(step, o.step)
			}
		}
		add := func(name string, b []bool) {
			if len(b) == 0 {
				return
			}
			row := Row{Number: 12, Name: name, Cell: c.cell, R: len(b), Pass: true}
			row.Value, row.SE = share(b)
			out = append(out, row)
		}
		add("power, -3 % in a line over 72 h", found)
		add("such a trend called trend", trend)
		add("such a trend called step", step)
		add("coverage of the 95 % interval of the slope", covered)
		s.trend = 0
		v = simulate(s, r, seed, uint64(1251+10*i), see)
		var steady []bool
		var mde []float64
		for _, o := range v {
			steady, mde = append(steady, o.steady), append(mde, o.mde)
		}
		add("no change called steady, gate 1 %", steady)
		slices.Sort(mde)
		s.trend = mde[len(mde)/2]
		found = found[:0]
		for _, o := range simulate(s, r, seed, uint64(1252+10*i), see) {
			found = append(found, o.found)
		}
		add(fmt.Sprintf("power at the median promise, %.2f %%, should be 0.8", s.trend), found)
		s.trend = 1
		v = simulate(s, r, seed, uint64(1253+10*i), see)
		steady = steady[:0]
		for _, o := range v {
			steady = append(steady, o.steady)
		}
		add("a trend as high as the gate called steady", steady)
	}
	return out
}

func memoryPower(r int, seed uint64) []Row {
	found := func(v analyze.DriftVerdict) bool { return v.Verdict == analyze.DriftFound }
	var out []Row
	for i, c := range []struct {
		noise          noise
		within         string
		sd             float64
		must, moonshot float64
	}{{memory(6), "", 50e6, .95, .99}, {memory(6), "", 100e6, 0, .60}, {averaged(6), " within the bins", 50e6, .95, .99}, {averaged(6), " within the bins", 100e6, 0, .60}} {
		s := soak{noise: c.noise, sd: c.sd, level: 4e9, daily: 50e6, trend: 200e6, kind: analyze.DriftMemory}
		cell := fmt.Sprintf("sd %g MB, memory 1 h%s", c.sd/1e6, c.within)
		row := Row{Number: 13, Name: "power, +200 MB in 72 h", Cell: cell, R: r}
		row.Value, row.SE = share(simulate(s, r, seed, uint64(1300+2*i), found))
		out = append(out, row.atLeast(c.must, c.moonshot))
		s.trend = 0
		row = Row{Number: 13, Name: "false alarms at 1 %, memory", Cell: cell, R: r}
		row.Value, row.SE = share(simulate(s, r, seed, uint64(1301+2*i), func(v analyze.DriftVerdict) bool { return v.P <= 0.01 }))
		out = append(out, row.atMost(.015, .012))
	}
	// A collector that runs every two hours and frees 350 MB: the troughs tell.
	for i, leak := range []float64{0, 60e6} {
		s := soak{noise: teeth(12), sd: 100e6, level: 4e9, daily: 0, trend: leak, kind: analyze.DriftMemory}
		row := Row{Number: 13, Name: fmt.Sprintf("drift found, saw-tooth of 350 MB in 2 h, leak of %g MB", leak/1e6), Cell: "period of 10 to 14 bins, troughs ± 20 MB", R: r, Pass: true}
		row.Value, row.SE = share(simulate(s, r, seed, uint64(1310+i), found))
		if leak == 0 {
			row = row.atMost(.015, .012)
		}
		out = append(out, row)
	}
	return out
}

func localisation(r int, seed uint64) []Row {
	var out []Row
	for i, c := range []struct {
		cell           string
		bins           float64
		must, moonshot float64 // minutes
	}{{"memory 10 min", 1, 20, 10}, {"memory 1 h", 6, 90, 30}, {"memory 4 h", 24, 0, 0}} {
		s := throughput(memory(c.bins))
		s.step, s.at = -3, 288
		type seen struct {
			found, step, covered bool
			minutes              float64
			width                float64
			shift                bool
		}
		v := simulate(s, r, seed, uint64(1400+i), func(v analyze.DriftVerdict) seen {
			o := seen{found: v.Verdict == analyze.DriftFound, step: v.Shape == analyze.DriftShapeStep}
			if v.Onset.Known {
				truth := int64(288 * 600e9)
				o.minutes = math.Abs(float64(v.Onset.NS-truth)) / 60e9
				o.covered = v.Onset.LoNS <= truth && truth <= v.Onset.HiNS
				o.width = float64(v.Onset.HiNS-v.Onset.LoNS) / 60e9
				o.shift = v.Change.Lo <= -3 && -3 <= v.Change.Hi
			} else {
				o.minutes = math.Inf(1)
			}
			return o
		})
		var minutes, width []float64
		var covered, step, shift []bool
		for _, o := range v {
			if !o.found {
				continue
			}
			// A drift called gradual has no onset: it counts as the worst.
			minutes = append(minutes, o.minutes)
			step = append(step, o.step)
			if !math.IsInf(o.minutes, 1) {
				covered = append(covered, o.covered)
				shift = append(shift, o.shift)
				width = append(width, o.width)
			}
		}
		slices.Sort(minutes)
		slices.Sort(width)
		row := Row{Number: 14, Name: "localisation of a -3 % step, 90 % of errors within, min", Cell: c.cell, R: len(minutes), Pass: true}
		if len(minutes) > 0 {
			row.Value = minutes[len(minutes)*9/10]
		}
		if c.must > 0 {
			row = row.atMost(c.must, c.moonshot)
		}
		out = append(out, row)
		for _, e := range []struct {
			name           string
			v              []bool
			must, moonshot float64
		}{
			{"coverage of the 95 % onset set", covered, .95, .95},
			{"coverage of the 95 % interval of the shift", shift, .90, .94},
			{"a step called step", step, 0, .9},
		} {
			if len(e.v) == 0 {
				continue
			}
			row := Row{Number: 14, Name: e.name, Cell: c.cell, R: len(e.v)}
			row.Value, row.SE = share(e.v)
			out = append(out, row.atLeast(e.must, e.moonshot))
		}
		row = Row{Number: 14, Name: "median width of the onset set, min", Cell: c.cell, R: len(width), Pass: true}
		if len(width) > 0 {
			row.Value = width[len(width)/2]
		}
		out = append(out, row)
	}
	return out
}
