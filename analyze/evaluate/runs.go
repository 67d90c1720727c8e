package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/steadybench/steady/analyze"
)

// seconds makes a series of one-second rows of a gauge.
func seconds(x []float64) *analyze.Series {
	n := len(x)
	s := &analyze.Series{EndNS: make([]int64, n), IntervalNS: make([]int64, n), Num: x, Den: make([]float64, n)}
	for i := range x {
		s.EndNS[i], s.IntervalNS[i], s.Den[i] = int64(i+1)*1e9, 1e9, 1
	}
	return s
}

func runsOf(y []float64) []analyze.Run {
	runs := make([]analyze.Run, len(y))
	for i, v := range y {
		runs[i] = analyze.Run{Value: v, Known: true, Slot: -1}
	}
	return runs
}

func quantileT(p, df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p) }

// row1: the interval of a system's mean over n runs of 180 autocorrelated seconds, with
// and without an effect of the run; then run effects that are not normal.
func row1(reps int, seed uint64) []Row {
	type cell struct {
		n       int
		phi, sb float64
		shape   string
	}
	var cells []cell
	for _, n := range []int{3, 5, 10} {
		for _, phi := range []float64{0, 0.5, 0.9, 0.99} {
			for _, sb := range []float64{0, 0.3, 1} {
				cells = append(cells, cell{n, phi, sb, ""})
			}
		}
	}
	for _, n := range []int{3, 5, 10} {
		cells = append(cells, cell{n: n, shape: "lognormal"}, cell{n: n, shape: "bimodal"})
	}
	const seconds180 = 180
	res := simulate(1, len(cells), reps, seed, func(k int, r *rand.Rand, t *tally) {
		c := cells[k]
		y := make([]float64, c.n)
		truth, slow := 0.0, 0
		x := make([]float64, seconds180)
		var pooled []float64
		for i := range y {
			switch c.shape {
			case "lognormal":
				y[i], truth = math.Exp(0.5*r.NormFloat64()), math.Exp(0.125)
			case "bimodal": // one run in five in a mode five standard deviations off
				y[i], truth = 100+r.NormFloat64(), 101
				if r.Float64() < 0.2 {
					y[i] += 5
					slow++
				}
			default:
				ar1(r, x, c.phi)
				b := c.sb * r.NormFloat64()
				for j := range x {
					x[j] += b
				}
				y[i] = seconds(x).Window(analyze.Window{}).Value
				pooled = append(pooled, x...)
			}
		}
		j := analyze.Judge([]analyze.Metric{{Systems: []analyze.SystemRuns{{System: "a", Runs: runsOf(y)}}}}, analyze.Options{})
		s := j[0].Systems[0]
		t.count(0, s.Mean.Lo <= truth && truth <= s.Mean.Hi)
		h := quantileT(0.975, float64(c.n-1)) * stat.StdDev(y, nil) / math.Sqrt(float64(c.n))
		t.keep(0, (s.Mean.Hi-s.Mean.Lo)/2/h)
		if mixed := slow > 0 && slow < c.n; mixed {
			t.add(2, 1)
			t.count(3, s.Unstable)
		}
		if pooled != nil {
			m, sd := stat.MeanStdDev(pooled, nil)
			n := float64(len(pooled))
			t.count(1, math.Abs(m-truth) <= quantileT(0.975, n-1)*sd/math.Sqrt(n))
		}
	})
	var out []Row
	for k, c := range cells {
		t := &res[k]
		if c.shape != "" {
			name := fmt.Sprintf("n=%d %s", c.n, c.shape)
			wish := 0.92
			if c.shape == "bimodal" {
				wish = 0.88
			}
			out = append(out, share("coverage of the mean's interval", name, t.at(0), reps).bar(low, inf, wish, inf))
			if c.shape == "bimodal" && c.n >= 5 && t.at(2) > 0 {
				out = append(out, share("warned of two modes, where both occur", name, t.at(3), int(t.at(2))).bar(low, inf, 0.9, inf))
			}
			continue
		}
		name := fmt.Sprintf("n=%d phi=%g sb=%g", c.n, c.phi, c.sb)
		row := share("coverage of the mean's interval", name, t.at(0), reps).bar(0.94, 0.96, 0.94, 0.96)
		row.Naive = fmt.Sprintf("%.3f pooled seconds", t.at(1)/float64(reps))
		row.Published = "bootstrap over runs .72 (n=3) to .90 (n=10)"
		out = append(out, row, figure("width over that of Student's t", name, median(t.list[0]), 1e-9, reps).bar(low, 1.15, low, 1.15))
	}
	return out
}

// row2: the interval of a ratio.
func row2(reps int, seed uint64) []Row {
	type cell struct {
		nA, nB int
		cA, cB float64
		slots  bool
	}
	var cells []cell
	for _, slots := range []bool{false, true} {
		for _, n := range [][2]int{{3, 3}, {3, 10}, {5, 5}, {10, 10}} {
			for _, c := range [][2]float64{{.01, .01}, {.01, .05}, {.05, .01}, {.1, .1}} {
				if !slots || n[0] == n[1] {
					cells = append(cells, cell{n[0], n[1], c[0], c[1], slots})
				}
			}
		}
	}
	const truth = 0.97
	res := simulate(2, len(cells), reps, seed, func(k int, r *rand.Rand, t *tally) {
		c := cells[k]
		a, b := make([]float64, c.nA), make([]float64, c.nB)
		for i := range a {
			a[i] = truth * (1 + c.cA*r.NormFloat64())
		}
		for i := range b {
			b[i] = 1 + c.cB*r.NormFloat64()
		}
		m := analyze.Metric{Primary: true, Direction: analyze.Higher, Baseline: "b",
			Systems: []analyze.SystemRuns{{System: "a", Runs: runsOf(a)}, {System: "b", Runs: runsOf(b)}}}
		if c.slots {
			abba(m.Systems[0].Runs, m.Systems[1].Runs)
		}
		e := analyze.Judge([]analyze.Metric{m}, analyze.Options{})[0].Comparisons[0].Percent
		want := 100 * (truth - 1)
		t.count(0, e.Interval && e.Lo <= want && want <= e.Hi)
		ref := welchHalf(a, b)
		t.keep(0, (math.Log1p(e.Hi/100)-math.Log1p(e.Lo/100))/2/ref)
		t.count(1, pooledCovers(a, b, math.Log(truth)))
	})
	var out []Row
	for k, c := range cells {
		t := &res[k]
		name := fmt.Sprintf("%d v %d, CV %g v %g", c.nA, c.nB, c.cA, c.cB)
		row := share("coverage of the ratio's interval", name, t.at(0), reps)
		width := figure("width over that of log Welch", name, median(t.list[0]), 0.3/math.Sqrt(float64(reps)), reps)
		row.Naive = fmt.Sprintf("%.3f pooled t", t.at(1)/float64(reps))
		row.Published = "percentile bootstrap .75 to .92"
		if c.slots { // an order costs a degree of freedom: no bar of its own
			row.Cell += ", ABBA"
			width.Cell += ", ABBA"
			out = append(out, row, width)
			continue
		}
		must := row.bar(0.93, 0.975, 0.94, 0.97)
		out = append(out, must, width.bar(low, 1.15, low, 1.15))
	}
	return out
}

// abba gives the runs of a and b, equally many, the slots of A B B A A B B A ...
func abba(a, b []analyze.Run) {
	for i := range a {
		first, second := &a[i], &b[i]
		if i%2 == 1 {
			first, second = second, first
		}
		first.Slot, second.Slot = 2*i, 2*i+1
	}
}

func logs(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Log(v)
	}
	return y
}

// welchHalf is the half width of Welch's interval on logarithms.
func welchHalf(a, b []float64) float64 {
	vA, vB := stat.Variance(logs(a), nil)/float64(len(a)), stat.Variance(logs(b), nil)/float64(len(b))
	df := (vA + vB) * (vA + vB) / (vA*vA/float64(len(a)-1) + vB*vB/float64(len(b)-1))
	return quantileT(0.975, df) * math.Sqrt(vA+vB)
}

func pooledCovers(a, b []float64, truth float64) bool {
	nA, nB := float64(len(a)), float64(len(b))
	mA, vA := stat.MeanVariance(logs(a), nil)
	mB, vB := stat.MeanVariance(logs(b), nil)
	v := ((nA-1)*vA + (nB-1)*vB) / (nA + nB - 2)
	return math.Abs(mA-mB-truth) <= quantileT(0.975, nA+nB-2)*math.Sqrt(v*(1/nA+1/nB))
}

// row5: 300 secondary metrics, 30 of them with an effect of 10 %, three runs a side.
func row5(reps int, seed uint64) []Row {
	const metrics, real, delta, n = 300, 30, 0.10, 3
	cells := []struct {
		d0, rho float64
		abba    bool
	}{{4, 0, false}, {4, 0.5, false}, {4, 0.9, false}, {0.9, 0, false}, {0.9, 0.9, false}, {4, 0, true}, {4, 0.9, true}}
	reps = max(20, reps/4) // a repetition is 300 comparisons
	res := simulate(5, len(cells), reps, seed, func(k int, r *rand.Rand, t *tally) {
		c := cells[k]
		ms := make([]analyze.Metric, metrics)
		var shared [2 * n]float64
		for i := range shared {
			shared[i] = r.NormFloat64()
		}
		p := make([]float64, metrics)
		for i := range ms {
			sigma := 0.02 * math.Sqrt(c.d0/chiSquared(r, c.d0))
			y := make([]float64, 2*n)
			for j := range y {
				y[j] = sigma * (math.Sqrt(1-c.rho)*r.NormFloat64() + math.Sqrt(c.rho)*shared[j])
				if i < real && j < n {
					y[j] -= delta
				}
			}
			p[i] = welchP(y[:n], y[n:])
			for j := range y {
				y[j] = math.Exp(y[j])
			}
			ms[i] = analyze.Metric{Class: "c", Direction: analyze.Higher, Baseline: "b",
				Systems: []analyze.SystemRuns{{System: "a", Runs: runsOf(y[:n])}, {System: "b", Runs: runsOf(y[n:])}}}
			if c.abba {
				abba(ms[i].Systems[0].Runs, ms[i].Systems[1].Runs)
			}
		}
		var found, wrong, missed float64
		for i, j := range analyze.Judge(ms, analyze.Options{}) {
			if cmp := j.Comparisons[0]; cmp.Q != nil && *cmp.Q <= 0.05 {
				found++
				if i >= real {
					wrong++
				}
				if e := cmp.Percent; i < real && (e.Lo > 100*math.Expm1(-delta) || e.Hi < 100*math.Expm1(-delta)) || i >= real && (e.Lo > 0 || e.Hi < 0) {
					missed++
				}
			}
		}
		t.add(0, wrong/math.Max(1, found))
		t.add(1, (found-wrong)/real)
		t.add(2, missed/math.Max(1, found))
		var nFound, nWrong float64
		for i, q := range analyze.AdjustBH(p) {
			if q <= 0.05 {
				nFound++
				if i >= real {
					nWrong++
				}
			}
		}
		t.add(3, nWrong/math.Max(1, nFound))
		t.add(4, (nFound-nWrong)/real)
		t.keep(0, wrong/math.Max(1, found))
		t.keep(1, (found-wrong)/real)
		t.keep(2, missed/math.Max(1, found))
	})
	var out []Row
	for k, c := range cells {
		t := &res[k]
		R := float64(reps)
		name := fmt.Sprintf("d0=%g rho=%g", c.d0, c.rho)
		if c.abba {
			name += " ABBA"
		}
		mean := func(i int, what string) Row {
			row := figure(what, name, t.at(i)/R, stat.StdDev(t.list[i], nil)/math.Sqrt(R), reps)
			if i < 2 {
				row.Naive = fmt.Sprintf("%.3f Welch", t.at(3+i)/R)
			}
			return row
		}
		fdr, pow := mean(0, "false discovery rate"), mean(1, "power")
		if c.d0 == 4 && !c.abba {
			fdr = fdr.bar(low, map[float64]float64{0: 0.06, 0.5: 0.07, 0.9: 0.08}[c.rho], low, 0.06)
			if c.rho == 0 { // under correlation four degrees of freedom are all there is
				pow = pow.bar(0.8, inf, 0.84, inf)
			}
		}
		out = append(out, fdr, pow, mean(2, "non-coverage of selected intervals"))
	}
	return out
}

func welchP(a, b []float64) float64 {
	mA, vA := stat.MeanVariance(a, nil)
	mB, vB := stat.MeanVariance(b, nil)
	vA, vB = vA/float64(len(a)), vB/float64(len(b))
	df := (vA + vB) * (vA + vB) / (vA*vA/float64(len(a)-1) + vB*vB/float64(len(b)-1))
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.Survival(math.Abs(mA-mB)/math.Sqrt(vA+vB))
}

// row6: verdicts on one primary metric, and the two-stage extension.
func row6(reps int, seed uint64) []Row {
	const margin = 0.02
	type cell struct {
		cv    float64
		n     int
		truth float64 // on logarithms
		abba  bool
		drift float64 // per slot
		pilot bool    // extended once if the spread asks for it
		peek  bool    // but only where the first look is undecided
	}
	var cells []cell
	for _, cv := range []float64{0.005, 0.01, 0.02} {
		for _, n := range []int{3, 5, 10, 20} {
			for _, d := range []float64{0, 0.005, math.Log1p(margin), -math.Log1p(margin), 0.05, 3 * math.Log1p(margin)} {
				cells = append(cells, cell{cv: cv, n: n, truth: d})
			}
		}
	}
	for _, drift := range []float64{0, 0.01} {
		for _, n := range []int{3, 5} {
			for _, d := range []float64{0, math.Log1p(margin), 0.03} {
				cells = append(cells, cell{cv: 0.01, n: n, truth: d, abba: true, drift: drift})
			}
		}
	}
	for _, peek := range []bool{false, true} {
		for _, n := range []int{3, 5} {
			for _, cv := range []float64{0.01, 0.02} {
				for _, d := range []float64{0, math.Log1p(margin), 0.05} {
					cells = append(cells, cell{cv: cv, n: n, truth: d, pilot: true, peek: peek})
				}
			}
		}
	}
	res := simulate(6, len(cells), reps, seed, func(k int, r *rand.Rand, t *tally) {
		c := cells[k]
		draw := func(n int, level float64) []float64 {
			y := make([]float64, n)
			for i := range y {
				y[i] = 1000 * math.Exp(level+c.cv*r.NormFloat64())
			}
			return y
		}
		a, b := draw(c.n, c.truth), draw(c.n, 0)
		judge := func(pilot int) analyze.Comparison {
			m := analyze.Metric{Primary: true, Direction: analyze.Higher, Baseline: "b", Margin: margin, Pilot: pilot}
			ra, rb := runsOf(a), runsOf(b)
			if c.abba {
				abba(ra, rb)
				for i := range ra {
					ra[i].Value *= math.Exp(c.drift * float64(ra[i].Slot))
					rb[i].Value *= math.Exp(c.drift * float64(rb[i].Slot))
				}
			}
			m.Systems = []analyze.SystemRuns{{System: "a", Runs: ra}, {System: "b", Runs: rb}}
			return analyze.Judge([]analyze.Metric{m}, analyze.Options{})[0].Comparisons[0]
		}
		cmp := judge(0)
		if c.pilot && (!c.peek || cmp.Verdict == analyze.Undecided) {
			if n, ok := analyze.ExtendedRuns(a, b, margin, 0.95); ok && n > c.n && n <= 2000 {
				a = append(a, draw(n-c.n, c.truth)...)
				b = append(b, draw(n-c.n, 0)...)
				cmp = judge(c.n)
			}
		}
		for i, v := range []analyze.Verdict{analyze.Better, analyze.Worse, analyze.Same, analyze.Undecided} {
			t.count(i, cmp.Verdict == v)
		}
		t.count(4, cmp.P != nil && *cmp.P <= 0.05)
		e := cmp.Percent
		want := 100 * math.Expm1(c.truth)
		t.count(5, e.Interval && e.Lo <= want && want <= e.Hi)
	})
	var out []Row
	for k, c := range cells {
		t := &res[k]
		name := fmt.Sprintf("CV %g n=%d truth %+.2g", c.cv, c.n, c.truth)
		switch {
		case c.abba:
			name += fmt.Sprintf(" ABBA drift %g", c.drift)
		case c.peek:
			name += " extended if undecided"
		case c.pilot:
			name += " extended"
		}
		better, worse, same, undecided := t.at(0), t.at(1), t.at(2), t.at(3)
		atMargin := math.Abs(math.Abs(c.truth)-math.Log1p(margin)) < 1e-9
		switch {
		case c.truth == 0:
			false1, rejected := share("false better or worse", name, better+worse, reps), share("rejected", name, t.at(4), reps)
			if !c.peek { // a look at the difference before the extension costs up to a point
				false1, rejected = false1.bar(low, 0.06, low, 0.06), rejected.bar(low, 0.06, low, 0.06)
			}
			out = append(out, false1)
			if c.abba || c.pilot {
				out = append(out, rejected)
			}
		case atMargin || c.truth > margin:
			wrong := worse
			if c.truth < 0 {
				wrong = better
			}
			out = append(out, share("wrong direction", name, wrong, reps).bar(low, 0.005, low, 0.005),
				share("false same", name, same, reps).bar(low, 0.05, low, 0.05))
		}
		if c.cv == 0.01 && c.n == 5 && !c.abba && !c.pilot && c.truth > 0.055 {
			out = append(out, share("undecided", name, undecided, reps).bar(low, inf, low, 0.05))
		}
		if c.pilot {
			out = append(out, share("coverage", name, t.at(5), reps))
		}
		if c.abba && c.truth == 0.03 {
			out = append(out, share("power", name, t.at(4), reps))
		}
	}
	return out
}

// row7: the interval from one run of 180 autocorrelated seconds.
func row7(reps int, seed uint64) []Row {
	const n = 180
	phis := []float64{0, 0.5, 0.9, 0.99}
	res := simulate(7, len(phis), reps, seed, func(k int, r *rand.Rand, t *tally) {
		x := make([]float64, n)
		ar1(r, x, phis[k])
		w := analyze.WithinRun(x)
		m := stat.Mean(x, nil)
		h := quantileT(0.975, float64(w.Nu)) * math.Sqrt(w.Variance)
		t.count(0, math.Abs(m) <= h)
		t.count(1, w.ESS < 10)
		if w.ESS >= 10 {
			t.count(2, math.Abs(m) <= h)
		}
		// The reference: plain cosines, 12 or 6 of them.
		nu := 12
		if r1, _ := analyze.Autocorrelation(x, 1); r1 > 0.8 {
			nu = 6
		}
		ref := quantileT(0.975, float64(nu)) * math.Sqrt(analyze.EWC(x, nu)/n)
		t.count(3, math.Abs(m) <= ref)
		t.keep(0, h)
		t.keep(1, ref)
		sd := stat.StdDev(x, nil)
		t.count(4, math.Abs(m) <= quantileT(0.975, n-1)*sd/math.Sqrt(n))
	})
	var out []Row
	for k, phi := range phis {
		t := &res[k]
		name := fmt.Sprintf("phi=%g", phi)
		cover := share("coverage of all intervals", name, t.at(0), reps)
		cover.Naive = fmt.Sprintf("%.3f independent rows", t.at(4)/float64(reps))
		cover.Published = fmt.Sprintf("%.3f plain EWC", t.at(3)/float64(reps))
		flag := share("refused", name, t.at(1), reps)
		switch {
		case phi <= 0.5:
			cover = cover.bar(0.94, inf, 0.945, inf)
			flag = flag.bar(low, 0.01, low, 0.01)
		case phi == 0.9:
			cover = cover.bar(0.90, inf, 0.93, inf)
		default:
			flag = flag.bar(0.98, inf, 0.98, inf)
		}
		out = append(out, cover, flag)
		if phi <= 0.9 {
			kept := reps - int(t.at(1))
			out = append(out, share("coverage of intervals not refused", name, t.at(2), max(1, kept)),
				figure("width over that of plain EWC", name, median(t.list[0])/median(t.list[1]), 1/math.Sqrt(float64(reps)), reps).bar(low, 1.15, low, 1.15))
		}
	}
	return out
}

// row8: plans from a pilot of n0 runs a side, for power .8 at an effect of 3 % and a
// true spread of 2 %, where 9 runs a side are right.
func row8(reps int, seed uint64) []Row {
	const effect, cv = 0.03, 0.02
	pilots := []int{3, 5, 10}
	const metrics = 40 // of the class, in the moderated cells
	cells := 2 * len(pilots)
	powers := make([]float64, 200) // by runs a side; beyond, it is 1
	for n := range powers {
		if n >= 2 {
			powers[n] = achieved(n, effect/cv)
		}
	}
	res := simulate(8, cells, reps, seed, func(k int, r *rand.Rand, t *tally) {
		n0, shared := pilots[k%len(pilots)], k >= len(pilots)
		df := float64(2*n0 - 2)
		s2 := cv * cv * chiSquared(r, df) / df
		if shared { // the metrics of the class have spreads of their own, d0 = 4
			all, dfs := []float64{s2}, []float64{df}
			for range metrics - 1 {
				sigma2 := cv * cv * 4 / chiSquared(r, 4)
				all, dfs = append(all, sigma2*chiSquared(r, df)/df), append(dfs, df)
			}
			if p, ok := analyze.FitPrior(all, dfs); ok {
				s2, df, _ = p.Squeeze(s2, df)
			}
		}
		n, ok := analyze.RunsNeeded(effect, math.Sqrt(s2), df, 0.05, 0.8)
		if !ok {
			n = 100000
		}
		p := 1.0
		if n < len(powers) {
			p = powers[n]
		}
		t.add(0, p)
		t.count(1, p < 0.7)
		t.keep(0, float64(n))
		t.keep(1, p)
	})
	var out []Row
	for k := range cells {
		t := &res[k]
		n0 := pilots[k%len(pilots)]
		name := fmt.Sprintf("pilot %d", n0)
		mean := figure("mean power of the plan", name, t.at(0)/float64(reps), stat.StdDev(t.list[1], nil)/math.Sqrt(float64(reps)), reps)
		short := share("plans with power below .7", name, t.at(1), reps)
		size := figure("median plan", name, median(t.list[0]), 0.5, reps)
		if k >= len(pilots) {
			mean.Cell, short.Cell, size.Cell = name+", moderated", name+", moderated", name+", moderated"
			mean, short = mean.bar(low, inf, 0.8, 0.9), short.bar(low, inf, low, 0.08)
		} else {
			mean = mean.bar(0.8, inf, 0.8, 0.9)
			short = short.bar(low, 0.12, low, 0.08)
			size = size.bar(low, map[int]float64{3: 20, 5: 14, 10: 12}[n0], low, inf)
			mean.Naive = "plug-in s: .73 / .77 / .80"
			short.Naive = "plug-in s: .40 / .30 / .18"
		}
		out = append(out, mean, short, size)
	}
	return out
}

// achieved is the true power of n runs a side, by numeric integration over the
// chi distribution: independent of package analyze.
func achieved(n int, effect float64) float64 {
	df := float64(2*n - 2)
	c := quantileT(0.975, df)
	ncp := effect * math.Sqrt(float64(n)/2)
	chi := distuv.ChiSquared{K: df}
	const steps = 100
	var p float64
	for i := range steps {
		s := math.Sqrt(chi.Quantile((float64(i)+0.5)/steps) / df)
		p += (distuv.UnitNormal.Survival(c*s-ncp) + distuv.UnitNormal.CDF(-c*s-ncp)) / steps
	}
	return p
}
