package analyze

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// PlausibleRates is rule 10: the throughput (1/s) is total/T, the mean of the
// per-second series is the throughput, and the series' sum is the total where it
// has all seconds; off by more than 1 % (and two partial seconds) beyond the
// rounding is an error. A trimmed throughput that differs from the untrimmed one
// by more than 1 % is a note: the one used has to be named.
//
// Source: arithmetic; R. Jain, The Art of Computer Systems Performance Analysis
// (1991), chapter 12, on the mean of rates.
func PlausibleRates(p PlausiblePoint) []Finding {
	var out []Finding
	x, okX := plausPositive(p.Throughput)
	total, okN := plausSpanOf(p.Total)
	t, okT := plausPositive(p.Seconds)
	whole := x // the rate that belongs to the total
	if u, ok := plausPositive(p.Untrimmed); ok {
		whole = u
	}
	if okX && okN && okT && (whole.lo > 1.01*total.hi/t.lo || whole.hi < 0.99*total.lo/t.hi) {
		out = append(out, p.say(10, FindingError, map[string]float64{"total": total.v, "seconds": t.v, "quotient_per_s": total.v / t.v, "throughput_per_s": whole.v},
			fmt.Sprintf("%s operations / %s = %s/s, but %s is stated", total.show(plausNumber), t.show(plausSeconds), plausNumber(total.v/t.v), plausPerSecond(whole)))...)
	}
	sum, n := 0.0, 0.0
	for _, v := range p.PerSecond {
		if plausUsable(v) && v >= 0 {
			sum += v
			n++
		}
	}
	if n > 0 {
		mean, tol := sum/n, 0.01+2/n
		if okX && (mean > x.hi*(1+tol) || mean < x.lo*(1-tol)) {
			out = append(out, p.say(10, FindingError, map[string]float64{"series_mean_per_s": mean, "throughput_per_s": x.v, "seconds": n},
				fmt.Sprintf("the %s per-second rates have the mean %s/s, but the throughput is %s", plausNumber(n), plausNumber(mean), plausPerSecond(x)))...)
		}
		if okN && okT && math.Abs(n-t.v) <= 1 && (sum > total.hi*(1+tol) || sum < total.lo*(1-tol)) {
			out = append(out, p.say(10, FindingError, map[string]float64{"series_sum": sum, "total": total.v, "seconds": n},
				fmt.Sprintf("the %s seconds sum to %s, but the total is %s", plausNumber(n), plausNumber(sum), total.show(plausNumber)))...)
		}
	}
	if u, ok := plausPositive(p.Untrimmed); ok && okX && math.Abs(u.v/x.v-1) > 0.01 {
		out = append(out, p.say(10, FindingNote, map[string]float64{"throughput_per_s": x.v, "untrimmed_per_s": u.v, "ratio": u.v / x.v},
			fmt.Sprintf("%s kept, %s over the whole run (%s): say which one is meant", plausPerSecond(x), plausPerSecond(u), plausSignedPercent(u.v/x.v-1)))...)
	}
	return out
}

// PlausibleSpread is rule 15, the spread of n runs' values: the same value in all
// of n ≥ 3 runs (warning); coefficient of variation s/mean above 10 %, from the
// values or as stated (warning: unstable); less spread than the noise within the
// runs makes: s²/v below the 0.1 % point of F(n−1, ν), v the variance (unit of the
// values squared) of one run's value from the noise within it, ν its degrees of
// freedom (note; valid for steady windows only); GRIM: the mean of n whole
// numbers is k/n, where the mean's rounding is finer than 1/(2n) (error).
//
// Source: N. J. L. Brown, J. A. J. Heathers, The GRIM Test, SPPS 8 (2017),
// doi:10.1177/1948550616673876; U. Simonsohn, Just Post It, Psychological
// Science 24 (2013), doi:10.1177/0956797613480366, on too little spread.
func PlausibleSpread(p PlausiblePoint) []Finding {
	var out []Finding
	var x []float64
	for i := range p.RunValues {
		s, ok := plausSignedSpanOf(&p.RunValues[i])
		if !ok {
			x = nil
			break
		}
		x = append(x, s.v)
	}
	n := float64(len(x))
	if n >= 2 {
		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += v / n
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / (n - 1)
		}
		same := true
		for _, v := range x {
			same = same && v == x[0]
		}
		sd := math.Sqrt(variance)
		switch cv := sd / math.Abs(mean); {
		case same && n >= 3:
			out = append(out, p.say(15, FindingWarning, map[string]float64{"value": x[0], "runs": n},
				fmt.Sprintf("all %d runs gave %s: no measurement repeats to the last digit", len(x), plausNumber(x[0])))...)
		case cv > 0.10:
			out = append(out, p.say(15, FindingWarning, map[string]float64{"mean": mean, "sd": sd, "cv": cv, "runs": n},
				fmt.Sprintf("%d runs: standard deviation %s / mean %s = %s (limit 10 %%): unstable", len(x), plausNumber(sd), plausNumber(mean), plausPercent(cv)))...)
		}
		v, okV := plausPositive(p.WithinVariance)
		df, okD := plausPositive(p.WithinDF)
		if f := variance / v.v; okV && okD && !same && plausFinite(f) && df.v >= 1 && df.v <= 1e9 && n <= 1e6 && f < 1e6 { // F's range in gonum
			if low := (distuv.F{D1: n - 1, D2: df.v}).CDF(f); low < 0.001 {
				out = append(out, p.say(15, FindingNote, map[string]float64{"f": f, "p": low, "runs": n, "within_variance": v.v, "within_df": df.v},
					fmt.Sprintf("the runs vary less than the noise within them: s²/v = %s / %s = %s, probability %s under F(%d, %s)", plausNumber(variance), plausNumber(v.v), plausNumber(f), plausNumber(low), len(x)-1, df.show(plausNumber)))...)
			}
		}
	} else if cv, ok := plausSpanOf(p.CV); ok && cv.lo > 0.10 {
		out = append(out, p.say(15, FindingWarning, map[string]float64{"cv": cv.v},
			fmt.Sprintf("a spread of %s over runs (limit 10 %%): unstable", cv.show(plausPercent)))...)
	}
	mean, okM := plausSpanOf(p.Throughput)
	runs, okR := plausPositive(p.Runs)
	if h := mean.hi - mean.v; okM && okR && plausIsTrue(p.Integers) && runs.v == math.Trunc(runs.v) && mean.text != "" && h < 1/(2*runs.v) && mean.v*runs.v < 1e15 {
		if k := math.Round(mean.v * runs.v); math.Abs(k/runs.v-mean.v) > h*(1+1e-9) {
			out = append(out, p.say(15, FindingError, map[string]float64{"mean": mean.v, "runs": runs.v, "sum": mean.v * runs.v},
				fmt.Sprintf("%s · %s runs = %s, but the sum of whole numbers is whole: nearest are %s/%s = %s", mean.show(plausNumber), plausNumber(runs.v), plausFixed(mean.v*runs.v, 3), plausNumber(k), plausNumber(runs.v), plausFixed(k/runs.v, 6)))...)
		}
	}
	return out
}

// PlausibleUncertainty is rule 15 over the whole: two or more systems are compared
// and not one figure has run values, a spread or an interval beside it: warning,
// with the difference that n runs with a run-to-run spread of 2 % can tell from
// noise (two-sided t test at 5 %, power 80 %).
//
// Source: noncentral t distribution; T. Hoefler, R. Belli, Scientific Benchmarking
// of Parallel Computing Systems, SC '15, doi:10.1145/2807591.2807644, rule 5.
func PlausibleUncertainty(f PlausibleFigures) []Finding {
	systems := map[string]bool{}
	runs := 0.0
	for _, t := range f.Tests {
		for _, p := range t.Points {
			systems[p.System] = true
			if len(p.RunValues) > 1 || p.CV != nil || p.CILow != nil || p.CIHigh != nil {
				return nil
			}
			if r, ok := plausPositive(p.Runs); ok && runs == 0 {
				runs = r.v
			}
		}
	}
	if len(systems) < 2 {
		return nil
	}
	text := "not one figure has the values of its runs, a spread or an interval beside it"
	values := map[string]float64{}
	if runs >= 2 && runs <= 1e6 {
		mde := plausDetectable(math.Floor(runs), 0.02)
		values["runs"], values["cv"], values["detectable"] = runs, 0.02, mde
		text += fmt.Sprintf(": with %s runs each and a run-to-run spread of 2 %% a difference under %s %% cannot be told from noise (t test at 5 %%, power 80 %%)", plausNumber(runs), plausFixed(100*mde, 1))
	} else {
		text += ": differences cannot be told from noise"
	}
	return plausSayOf("all figures", 15, FindingWarning, values, text)
}

// plausDetectable returns the smallest relative difference that a two-sided t test at
// 5 % of n against n runs with the coefficient of variation cv finds with a
// power of 80 %.
func plausDetectable(n, cv float64) float64 {
	df := 2*n - 2
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(0.975)
	chi := distuv.ChiSquared{K: df}
	// P(|T| > critical), T noncentral: over u = χ²'s distribution function.
	power := func(ncp float64) float64 {
		return quad.Fixed(func(u float64) float64 {
			s := math.Sqrt(chi.Quantile(u) / df)
			return distuv.UnitNormal.CDF(ncp-critical*s) + distuv.UnitNormal.CDF(-ncp-critical*s)
		}, 0, 1, 60, nil, 0)
	}
	lo, hi := 0.0, 100.0
	for range 60 {
		if mid := (lo + hi) / 2; power(mid) < 0.8 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi * cv * math.Sqrt(2/n)
}

// PlausibleAverage is rule 16 for one point: the stated throughput is the mean of
// the runs' values within the rounding (error; the text says so when it is the
// median or the best run instead).
//
// Source: arithmetic.
func PlausibleAverage(p PlausiblePoint) []Finding {
	stated, ok := plausSignedSpanOf(p.Throughput)
	if !ok || len(p.RunValues) < 2 {
		return nil
	}
	sum := plausSpan{}
	best := math.Inf(-1)
	var values []float64
	for i := range p.RunValues {
		s, ok := plausSignedSpanOf(&p.RunValues[i])
		if !ok {
			return nil
		}
		sum.v, sum.lo, sum.hi = sum.v+s.v, sum.lo+s.lo, sum.hi+s.hi
		best = max(best, s.v)
		values = append(values, s.v)
	}
	n := float64(len(values))
	mean, slack := sum.v/n, 1e-9*math.Abs(sum.v/n)
	if stated.lo <= sum.hi/n+slack && stated.hi >= sum.lo/n-slack {
		return nil
	}
	text := fmt.Sprintf("the mean of the %d runs is %s, but %s is stated", len(values), plausNumber(mean), stated.show(plausNumber))
	near := func(v float64) bool { return v >= stated.lo-slack && v <= stated.hi+slack }
	switch {
	case near(plausMedian(values)):
		text += " (their median)"
	case near(best):
		text += " (the best run)"
	}
	return p.say(16, FindingError, map[string]float64{"mean": mean, "stated": stated.v, "runs": n}, text)
}

// plausMedian returns the median of x, len(x) > 0, and leaves x as it was.
func plausMedian(x []float64) float64 {
	s := append([]float64(nil), x...)
	for i := range s { // a handful of runs
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	if m := len(s) / 2; len(s)%2 == 1 {
		return s[m]
	} else {
		return s[m-1]/2 + s[m]/2
	}
}

// PlausibleDifferences is rule 16 for stated differences of a test: value/base − 1
// recomputed from the table must be the stated one within the rounding of all
// three (error, saying so when it fits the other system as the base); a quantity
// more than 100 % lower is impossible; a base that is not stated is a warning;
// ratio · inverse = 1 within the rounding (error). The differences of a measure
// that agree are shown in one finding.
//
// Source: arithmetic; P. J. Fleming, J. J. Wallace, How not to lie with
// statistics, CACM 29 (1986), doi:10.1145/5666.5673.
func PlausibleDifferences(t PlausibleTest) []Finding {
	var out []Finding
	type agreed struct {
		measure string
		parts   []string
		values  map[string]float64
	}
	var all []*agreed
	for _, d := range t.Differences {
		about := plausSubject(t.Name, d.Label, d.System)
		if r, ok := plausPositive(d.Ratio); ok {
			if i, ok := plausPositive(d.Inverse); ok && (r.lo*i.lo > 1.0001 || r.hi*i.hi < 0.9999) {
				out = append(out, plausSayOf(about, 16, FindingError, map[string]float64{"ratio": r.v, "inverse": i.v, "product": r.v * i.v},
					fmt.Sprintf("%s: ratio %s · inverse %s = %s, not 1", d.Measure, r.show(plausNumber), i.show(plausNumber), plausNumber(r.v*i.v)))...)
			}
		}
		stated, okS := plausSignedSpanOf(d.Stated)
		if !okS {
			continue
		}
		if stated.hi < -1 {
			out = append(out, plausSayOf(about, 16, FindingImpossible, map[string]float64{"stated": stated.v},
				fmt.Sprintf("%s: %s: nothing that cannot be negative gets more than 100 %% lower", d.Measure, stated.show(plausSignedPercent)))...)
			continue
		}
		v, okV := plausPositive(d.Value)
		b, okB := plausPositive(d.BaseValue)
		if !okV || !okB {
			continue
		}
		if d.Base == "" {
			out = append(out, plausSayOf(about, 16, FindingWarning, map[string]float64{"stated": stated.v},
				fmt.Sprintf("%s: %s of what is not stated", d.Measure, stated.show(plausSignedPercent)))...)
		}
		diff := v.v/b.v - 1
		lo, hi := v.lo/b.hi-1, v.hi/b.lo-1
		arithmetic := fmt.Sprintf("%s / %s − 1 = %s", v.show(plausNumber), b.show(plausNumber), plausSignedPercent(diff))
		values := map[string]float64{"value": v.v, "base": b.v, "difference": diff, "stated": stated.v}
		const slack = 1e-9
		if stated.lo > hi+slack || stated.hi < lo-slack {
			text := fmt.Sprintf("%s: %s, but %s is stated", d.Measure, arithmetic, stated.show(plausSignedPercent))
			if inverse := 1 - b.v/v.v; inverse >= stated.lo-slack && inverse <= stated.hi+slack {
				text += fmt.Sprintf(": that is the difference as a share of %s itself", d.System)
			}
			out = append(out, plausSayOf(about, 16, FindingError, values, text)...)
			continue
		}
		var a *agreed
		for _, x := range all {
			if x.measure == d.Measure {
				a = x
			}
		}
		if a == nil {
			a = &agreed{measure: d.Measure, values: map[string]float64{}}
			all = append(all, a)
		}
		a.parts = append(a.parts, fmt.Sprintf("%s (stated %s)", arithmetic, stated.show(plausSignedPercent)))
		a.values[fmt.Sprintf("difference_%d", len(a.parts))] = diff
		a.values[fmt.Sprintf("stated_%d", len(a.parts))] = stated.v
	}
	for _, a := range all {
		f := plausSayOf(plausSubject(t.Name, a.measure), 16, FindingNote, a.values, strings.Join(a.parts, ", ")+": agrees within the rounding stated")
		for i := range f {
			f[i].Holds = true
		}
		out = append(out, f...)
	}
	return out
}

// PlausibleSeries is rule 17 for a series of one value a second: the same value
// other than 0 for 60 s or more (stuck, warning); five or more values in a
// straight line that is not level (filled by linear interpolation, warning; whole
// numbers may line up by chance, so there the line must be so long that chance
// makes one in less than 1 of 10 000 series); last digits of 100 or more whole
// numbers of three digits and more far from uniform (χ² with 9 degrees of freedom,
// p < 1e-6: note); number of samples off from T · (1 − missing) by more than 1 %
// and two samples (warning). An open loop sends at a given rate: of it only the
// number of samples is asked.
//
// Source: D. A. Preece, Distributions of final digits in data, The Statistician 30
// (1981), doi:10.2307/2987702.
func PlausibleSeries(p PlausiblePoint) []Finding {
	var out []Finding
	x := p.PerSecond
	same, line, longestSame, longestLine := 0, 0, 0, 0
	var stuck float64
	digits := [10]float64{}
	count := 0.0
	for i, v := range x {
		if !plausUsable(v) {
			same, line = 0, 0
			continue
		}
		if i > 0 && v == x[i-1] && v != 0 {
			same++
		} else {
			same = 0
		}
		if same+1 > longestSame {
			longestSame, stuck = same+1, v
		}
		// A straight line but for the rounding of its own arithmetic.
		if i > 1 && x[i-1] != x[i-2] && math.Abs((v-x[i-1])-(x[i-1]-x[i-2])) <= 1e-12*math.Abs(v) {
			line++
			longestLine = max(longestLine, line+2)
		} else {
			line = 0
		}
		if v == math.Trunc(v) && v >= 100 && v < 1e15 {
			digits[int(math.Mod(v, 10))]++
			count++
		}
	}
	paced := p.loop() == "open"
	if longestSame >= 60 && !paced {
		out = append(out, p.say(17, FindingWarning, map[string]float64{"value": stuck, "seconds": float64(longestSame)},
			fmt.Sprintf("%s for %d s in a row (limit 60 s): a stuck reading", plausNumber(stuck), longestSame))...)
	}
	if longestLine >= plausLineByChance(x) && !paced {
		out = append(out, p.say(17, FindingWarning, map[string]float64{"values": float64(longestLine)},
			fmt.Sprintf("%d values in a straight line: filled by linear interpolation, not measured", longestLine))...)
	}
	if count >= 100 && longestSame < 60 && !paced {
		chi2, most, digit := 0.0, 0.0, 0
		for d, k := range digits {
			chi2 += (k - count/10) * (k - count/10) / (count / 10)
			if k > most {
				most, digit = k, d
			}
		}
		if prob := (distuv.ChiSquared{K: 9}).Survival(chi2); prob < 1e-6 {
			out = append(out, p.say(17, FindingNote, map[string]float64{"chi2": chi2, "p": prob, "values": count, "digit": float64(digit), "share": most / count},
				fmt.Sprintf("%s of %s values end in %d (10 %% expected, χ² = %s): rounded or made up", plausPercent(most/count), plausNumber(count), digit, plausNumber(chi2)))...)
		}
	}
	samples, ok := plausSpanOf(p.Samples)
	if !ok && len(x) > 0 {
		samples, ok = plausSpan{v: float64(len(x)), lo: float64(len(x)), hi: float64(len(x))}, true
	}
	t, okT := plausPositive(p.Seconds)
	missing, okM := plausSpanOf(p.Missing)
	if !okM {
		missing, okM = plausSpan{}, p.Missing == nil
	}
	if ok && okT && okM && missing.hi <= 1 {
		want := t.v * (1 - missing.v)
		if samples.lo > 1.01*t.hi*(1-missing.lo)+2 || samples.hi < 0.99*t.lo*(1-missing.hi)-2 {
			out = append(out, p.say(17, FindingWarning, map[string]float64{"samples": samples.v, "seconds": t.v, "missing": missing.v, "expected": want},
				fmt.Sprintf("%s samples, but %s · (1 − %s missing) make %s", samples.show(plausNumber), t.show(plausSeconds), missing.show(plausPercent), plausNumber(want)))...)
		}
	}
	return out
}

// plausLineByChance returns how many values in a straight line are too many for
// chance: 5, more for a series of whole numbers that vary little. Of those a second
// difference is 0 with the probability 0.4/sd.
func plausLineByChance(x []float64) int {
	sum, n := 0.0, 0.0
	for i := 2; i < len(x); i++ {
		for _, v := range x[i-2 : i+1] {
			if plausUsable(v) && v != math.Trunc(v) {
				return 5
			}
		}
		if d := x[i] - 2*x[i-1] + x[i-2]; plausUsable(d) {
			sum += d * d
			n++
		}
	}
	if sum == 0 {
		return 5 // one line from end to end
	}
	chance := min(0.9, 0.4/math.Sqrt(sum/n))
	return max(5, 2+int(math.Ceil(math.Log(1e4*n)/-math.Log(chance))))
}

// PlausibleSaturation is rule 18 over a test's points. Two or more systems at 98 %
// or more of a link's goodput (see [PlausibleGoodput]; MTU 1500 and timestamps
// unless stated) are tied by the ceiling, not equal (warning). From one point of a
// system to the next with more connections: throughput equal within 5 % while N
// doubles must raise the latency as N (a closed loop without think time: off by
// more than 15 % a warning, by a factor of 2 an error); throughput growing faster
// than N by more than 5 % is superlinear (warning); X·R falling by more than 5 %
// while N grows (warning). With D and Dmax known, N* = (D+Z)·m/Dmax is the knee
// (note, where points lie on both sides).
//
// Source: Lazowska et al. (see [PlausibleBounds]); N. J. Gunther, Guerrilla
// Capacity Planning (2007), on superlinear speed-up.
func PlausibleSaturation(t PlausibleTest) []Finding {
	out := plausTied(t)
	last := map[string]int{}
	for i, b := range t.Points {
		j, seen := last[b.System]
		last[b.System] = i
		if !seen {
			continue
		}
		out = append(out, plausScaling(t.Points[j], b)...)
	}
	return out
}

// plausTied finds the labels at which all systems stand at the ceiling.
func plausTied(t PlausibleTest) []Finding {
	type at struct {
		label string
		texts []string
		n     int
		all   bool
	}
	var order []*at
	var ceiling float64
	for _, p := range t.Points {
		g, okG := p.usualCeiling()
		rate, _, okR := p.payloadRate()
		if !okG || !okR || !plausFinite(100*rate.v/g) {
			continue
		}
		var a *at
		for _, x := range order {
			if x.label == p.Label {
				a = x
			}
		}
		if a == nil {
			a = &at{label: p.Label, all: true}
			order = append(order, a)
		}
		a.n++
		a.all = a.all && rate.hi >= 0.98*g && rate.v >= 0.98*g
		a.texts = append(a.texts, plausFixed(100*rate.v/g, 1))
		ceiling = g
	}
	var parts []string
	for _, a := range order {
		if a.n >= 2 && a.all {
			parts = append(parts, strings.TrimPrefix(a.label+": ", ": ")+strings.Join(a.texts, " and "))
		}
	}
	if parts == nil {
		return nil
	}
	return plausSayOf(t.Name, 18, FindingWarning, map[string]float64{"ceiling_bit_per_s": ceiling, "points": float64(len(parts))},
		fmt.Sprintf("tied by the ceiling of the link, not equal systems: %s %% of %s", strings.Join(parts, "; "), plausBits(ceiling)))
}

// plausScaling compares two points a, b of one system, b with more connections.
func plausScaling(a, b PlausiblePoint) []Finding {
	na, ok1 := plausPositive(a.Connections)
	nb, ok2 := plausPositive(b.Connections)
	xa, ok3 := plausPositive(a.Throughput)
	xb, ok4 := plausPositive(b.Throughput)
	if !ok1 || !ok2 || !ok3 || !ok4 || nb.v <= na.v {
		return nil
	}
	var out []Finding
	n, x := nb.v/na.v, xb.v/xa.v
	values := func(more map[string]float64) map[string]float64 {
		m := map[string]float64{"n1": na.v, "n2": nb.v, "x1_per_s": xa.v, "x2_per_s": xb.v}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	if xb.lo/xa.hi > 1.05*nb.hi/na.lo {
		out = append(out, b.say(18, FindingWarning, values(map[string]float64{"speed_up": x, "growth": n}),
			fmt.Sprintf("from %s to %s connections (× %s) the throughput grows × %s (%s to %s): superlinear", na.show(plausNumber), nb.show(plausNumber), plausNumber(n), plausNumber(x), plausPerSecond(xa), plausPerSecond(xb)))...)
	}
	ra, okA := plausPositive(a.LatencyMean)
	rb, okB := plausPositive(b.LatencyMean)
	if okA && okB {
		r := rb.v / ra.v
		lo, hi := rb.lo/ra.hi, rb.hi/ra.lo
		z, okZ := b.thinkTime()
		want := n / x
		if n >= 1.98 && math.Abs(x-1) <= 0.05 && b.loop() == "closed" && okZ && z.v == 0 && (lo > 1.15*want || hi < 0.85*want) {
			severity := FindingWarning
			if lo > 2*want || hi < want/2 {
				severity = FindingError
			}
			out = append(out, b.say(18, severity, values(map[string]float64{"r1_s": ra.v, "r2_s": rb.v, "ratio": r, "expected": want}),
				fmt.Sprintf("connections × %s at the same throughput must raise the latency × %s, but it goes from %s to %s (× %s)", plausNumber(n), plausNumber(want), ra.show(plausSeconds), rb.show(plausSeconds), plausNumber(r)))...)
		} else if xb.hi*rb.hi < 0.95*xa.lo*ra.lo {
			out = append(out, b.say(18, FindingWarning, values(map[string]float64{"busy1": xa.v * ra.v, "busy2": xb.v * rb.v}),
				fmt.Sprintf("X · R falls from %s to %s operations at a time while the connections grow from %s to %s", plausNumber(xa.v*ra.v), plausNumber(xb.v*rb.v), na.show(plausNumber), nb.show(plausNumber)))...)
		}
	}
	d, okD := plausPositive(b.Demand)
	top, okT := plausPositive(b.BottleneckDemand)
	m, okM := plausPositive(b.Servers)
	z, okZ := b.thinkTime()
	if knee := (d.v + z.v) * m.v / top.v; okD && okT && okM && okZ && na.v < knee && nb.v >= knee {
		out = append(out, b.say(18, FindingNote, values(map[string]float64{"knee": knee}),
			fmt.Sprintf("the knee N* = (D + Z) · m / Dmax = %s · %s / %s = %s connections lies between %s and %s", plausSeconds(d.v+z.v), m.show(plausNumber), top.show(plausSeconds), plausNumber(knee), na.show(plausNumber), nb.show(plausNumber)))...)
	}
	return out
}

// PlausibleErrors is rule 19: failed, timed out and aborted operations above 0.1 %
// of all (total, else X·T) make the throughput one of successes and failures; so
// do retransmits above 0.1 % of the segments sent for a transfer (warnings).
//
// Source: wrk counts answers with an error status among its requests
// (wrk/src/wrk.c); iperf3's JSON.
func PlausibleErrors(p PlausiblePoint) []Finding {
	var out []Finding
	sum, known := plausSpan{}, false
	for _, n := range []*PlausibleNumber{p.Errors, p.Timeouts, p.Aborted} {
		if s, ok := plausSpanOf(n); ok {
			sum.v, sum.lo, known = sum.v+s.v, sum.lo+s.lo, true
		}
	}
	total, ok := plausPositive(p.Total)
	if !ok {
		x, okX := plausPositive(p.Throughput)
		t, okT := plausPositive(p.Seconds)
		total, ok = plausSpan{v: x.v * t.v, lo: x.lo * t.lo, hi: x.hi * t.hi}, okX && okT
	}
	if known && ok && sum.lo > 0.001*total.hi {
		out = append(out, p.say(19, FindingWarning, map[string]float64{"failed": sum.v, "total": total.v, "share": sum.v / total.v},
			fmt.Sprintf("%s failed of %s operations = %s (limit 0.1 %%): only successes count as throughput", plausNumber(sum.v), plausNumber(math.Round(total.v)), plausPercent(sum.v/total.v)))...)
	}
	re, okR := plausPositive(p.Retransmits)
	mss, okM := plausPositive(p.MSS)
	sent, okS := plausPositive(p.BytesSent)
	if okR && okM && okS && re.lo*mss.lo > 0.001*sent.hi && re.lo*mss.lo <= 0.1*sent.hi {
		out = append(out, p.say(19, FindingWarning, map[string]float64{"retransmits": re.v, "mss_bytes": mss.v, "sent_bytes": sent.v, "share": re.v * mss.v / sent.v},
			fmt.Sprintf("%s retransmits · %s / %s = %s of the segments (limit 0.1 %%)", re.show(plausNumber), mss.show(plausBytes), sent.show(plausBytes), plausPercent(re.v*mss.v/sent.v)))...)
	}
	return out
}

// PlausibleUnits is rule 20: the same figure from two sources in the ratio 8,
// 1000^k or 1.024^k (k = 1 to 4, either way; within 1 %, 0.4 % for 1.024^k) is a
// slip of the unit (error).
//
// Source: IEC 80000-13 (prefixes); wrk prints bytes with binary prefixes and rates
// with decimal ones (wrk/src/units.c).
func PlausibleUnits(p PlausiblePoint) []Finding {
	var out []Finding
	for _, o := range p.Other {
		a, okA := plausPositive(&o.First)
		b, okB := plausPositive(&o.Second)
		if !okA || !okB {
			continue
		}
		ratio := b.v / a.v
		// What the rounding of both lets pass for another factor proves nothing.
		if loose := (a.hi-a.lo)/a.v + (b.hi-b.lo)/b.v; math.Abs(ratio-1) <= loose {
			continue
		}
		if factor, meaning, ok := plausUnitSlip(ratio, 0.01); ok {
			out = append(out, p.say(20, FindingError, map[string]float64{"first": a.v, "second": b.v, "ratio": ratio, "factor": factor},
				fmt.Sprintf("%s: %s and %s differ by a factor of %s: %s", o.Measure, a.show(plausNumber), b.show(plausNumber), plausNumber(max(factor, 1/factor)), meaning))...)
		}
	}
	return out
}
