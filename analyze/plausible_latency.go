package analyze

import (
	"fmt"
	"math"
	"sort"
)

// plausBinSlack: histograms round; sysbench's bins are 1.8 % wide.
const plausBinSlack = 1.02

type plausPercentile struct {
	q float64
	plausSpan
}

// percentiles returns the usable percentiles in order of Q.
func (p PlausiblePoint) percentiles() []plausPercentile {
	var out []plausPercentile
	for i := range p.Percentiles {
		s, ok := plausSpanOf(&p.Percentiles[i].PlausibleNumber)
		if q := p.Percentiles[i].Q; ok && q > 0 && q < 1 {
			out = append(out, plausPercentile{q, s})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].q < out[j].q })
	return out
}

// requests is how many operations the percentiles rest on, at least.
func (p PlausiblePoint) requests() (n float64, ok bool) {
	for _, c := range []*PlausibleNumber{p.LatencyCount, p.Total} {
		if s, ok := plausSpanOf(c); ok {
			return s.v, true
		}
	}
	x, okX := plausPositive(p.Throughput)
	t, okT := plausPositive(p.Seconds)
	return x.v * t.v, okX && okT && plausFinite(x.v*t.v)
}

// failed says whether operations are known to have failed, timed out or stalled:
// then a histogram of answers does not hold all of them.
func (p PlausiblePoint) failed() bool {
	for _, n := range []*PlausibleNumber{p.Errors, p.Timeouts, p.Aborted} {
		if s, ok := plausPositive(n); ok && s.v > 0 {
			return true
		}
	}
	for _, v := range p.PerSecond {
		if v == 0 {
			return true
		}
	}
	return false
}

// PlausibleLatency is rule 8, what percentiles, mean, deviation σ and maximum of
// one set of values allow each other (s):
//
//   - min ≤ P50 ≤ … ≤ P99.9 ≤ max: impossible when broken;
//   - P_q ≤ mean/(1−q), hence mean ≥ P50/2 (Markov): impossible;
//   - P_q ≤ mean + σ·√(q/(1−q)) (Cantelli): impossible;
//   - |mean − P50| ≤ σ: impossible;
//   - max ≤ mean + σ·√(n−1) (Samuelson): impossible;
//   - mean ≤ q·P_q + (1−q)·max. The mean is the stated one and, in a closed loop,
//     Little's N/X − Z; max is the stated one or the load generator's time-out:
//     impossible, but an error when failed or stalled operations are known, since
//     those are not in the histogram. Without either the mean the slowest 1−q
//     would need is held against the length of the test: warning;
//   - P_q needs 10/(1−q) operations, P99.9 10 000: warning.
//
// Each bound allows 2 % for the bins of histograms, and the rounding.
//
// Source: Markov's and Cantelli's inequalities; H. Hotelling, L. M. Solomons, The
// Limits of a Measure of Skewness (1932), doi:10.1214/aoms/1177732911; P. A.
// Samuelson, How Deviant Can You Be?, JASA 63 (1968),
// doi:10.1080/01621459.1968.10480944; time-out of wrk: wrk/src/wrk.h.
func PlausibleLatency(p PlausiblePoint) []Finding {
	var out []Finding
	ps := p.percentiles()
	mean, okMean := plausSpanOf(p.LatencyMean)
	sd, okSD := plausSpanOf(p.LatencySD)
	top, okTop := plausSpanOf(p.LatencyMax)

	type step struct {
		name string
		plausSpan
	}
	var ladder []step
	if s, ok := plausSpanOf(p.LatencyMin); ok {
		ladder = append(ladder, step{"the minimum", s})
	}
	for _, s := range ps {
		ladder = append(ladder, step{plausQuantile(s.q), s.plausSpan})
	}
	if okTop {
		ladder = append(ladder, step{"the maximum", top})
	}
	for i := 1; i < len(ladder); i++ {
		a, b := ladder[i-1], ladder[i]
		if a.lo > b.hi*plausBinSlack {
			out = append(out, p.say(8, FindingImpossible, map[string]float64{"lower_s": a.v, "upper_s": b.v},
				fmt.Sprintf("%s = %s is above %s = %s", a.name, a.show(plausSeconds), b.name, b.show(plausSeconds)))...)
		}
	}
	for _, s := range ps {
		name := plausQuantile(s.q)
		if bound := mean.v / (1 - s.q); okMean && s.lo > plausBinSlack*mean.hi/(1-s.q) {
			out = append(out, p.say(8, FindingImpossible, map[string]float64{"q": s.q, "percentile_s": s.v, "mean_s": mean.v, "bound_s": bound},
				fmt.Sprintf("%s = %s is above mean / (1 − q) = %s / %s = %s: that share alone would raise the mean above what is stated", name, s.show(plausSeconds), mean.show(plausSeconds), plausNumber(math.Round((1-s.q)*1e8)/1e8), plausSeconds(bound)))...)
			continue
		}
		if k := math.Sqrt(s.q / (1 - s.q)); okMean && okSD && s.lo > plausBinSlack*(mean.hi+sd.hi*k) {
			out = append(out, p.say(8, FindingImpossible, map[string]float64{"q": s.q, "percentile_s": s.v, "mean_s": mean.v, "sd_s": sd.v, "bound_s": mean.v + sd.v*k},
				fmt.Sprintf("%s = %s is above mean + σ·√(q/(1−q)) = %s + %s · %s = %s", name, s.show(plausSeconds), mean.show(plausSeconds), sd.show(plausSeconds), plausNumber(k), plausSeconds(mean.v+sd.v*k)))...)
		}
		if s.q == 0.5 && okMean && okSD {
			if gap := max(mean.lo-s.hi, s.lo-mean.hi); gap > plausBinSlack*sd.hi+0.02*s.v {
				out = append(out, p.say(8, FindingImpossible, map[string]float64{"mean_s": mean.v, "median_s": s.v, "sd_s": sd.v},
					fmt.Sprintf("mean %s and median %s are %s apart, more than σ = %s", mean.show(plausSeconds), s.show(plausSeconds), plausSeconds(math.Abs(mean.v-s.v)), sd.show(plausSeconds)))...)
			}
		}
	}
	if n, ok := plausPositive(p.LatencyCount); ok && okTop && okMean && okSD && n.v >= 1 {
		k := math.Sqrt(n.v - 1)
		if top.lo > plausBinSlack*(mean.hi+sd.hi*k) {
			out = append(out, p.say(8, FindingImpossible, map[string]float64{"max_s": top.v, "mean_s": mean.v, "sd_s": sd.v, "count": n.v, "bound_s": mean.v + sd.v*k},
				fmt.Sprintf("the maximum %s is above mean + σ·√(n−1) = %s + %s · %s = %s", top.show(plausSeconds), mean.show(plausSeconds), sd.show(plausSeconds), plausNumber(k), plausSeconds(mean.v+sd.v*k)))...)
		}
	}

	// The tail must carry what the percentiles leave of the mean.
	if okMean {
		out = append(out, p.tail(mean, "a mean of "+mean.show(plausSeconds))...)
	}
	if law, text, ok := p.littleMean(); ok && law.lo > 0 {
		if !okMean || law.lo > 1.15*mean.hi {
			out = append(out, p.tail(law, "a mean of "+text)...)
		}
	}

	if n, ok := p.requests(); ok {
		for i := len(ps) - 1; i >= 0; i-- {
			if need := math.Round(10 / (1 - ps[i].q)); n < need {
				out = append(out, p.say(8, FindingWarning, map[string]float64{"q": ps[i].q, "operations": n, "needed": need},
					fmt.Sprintf("%s rests on %s operations, of which %s are above it: it needs %s", plausQuantile(ps[i].q), plausNumber(n), plausNumber(n*(1-ps[i].q)), plausNumber(need)))...)
				break
			}
		}
	}
	return out
}

// tail holds mean ≤ q·P_q + (1−q)·max against the percentile that asks most of
// its tail; what names the mean with its arithmetic.
func (p PlausiblePoint) tail(mean plausSpan, what string) []Finding {
	limit, whose, hard := p.timeout()
	if top, ok := plausSpanOf(p.LatencyMax); ok && (!hard || top.hi < limit.hi || p.Timeout == nil) {
		limit, whose, hard = top, "the maximum is "+top.show(plausSeconds), true
	}
	if !hard {
		t, ok := plausPositive(p.Seconds)
		if !ok {
			return nil
		}
		limit, whose = t, "the test took "+t.show(plausSeconds)
	}
	var worst struct {
		q, need, least float64
		s              plausSpan
	}
	for _, s := range p.percentiles() {
		need := (mean.v - s.q*s.v) / (1 - s.q)
		least := (mean.lo - s.q*s.hi) / (1 - s.q)
		if least > worst.least {
			worst.q, worst.need, worst.least, worst.s = s.q, need, least, s.plausSpan
		}
	}
	if worst.least <= plausBinSlack*limit.hi {
		return nil
	}
	severity, reserve := FindingImpossible, ""
	switch {
	case !hard:
		severity = FindingWarning
	case p.failed():
		severity, reserve = FindingError, " (failed and unanswered operations are not in the percentiles)"
	}
	return p.say(8, severity, map[string]float64{"mean_s": mean.v, "q": worst.q, "percentile_s": worst.s.v, "tail_mean_s": worst.need, "limit_s": limit.v},
		fmt.Sprintf("%s does not go with %s = %s: the slowest %s would need a mean of (%s − %s · %s) / %s = %s, but %s%s",
			what, plausQuantile(worst.q), worst.s.show(plausSeconds), plausComplement(worst.q), plausSeconds(mean.v), plausNumber(worst.q), worst.s.show(plausSeconds),
			plausNumber(math.Round((1-worst.q)*1e8)/1e8), plausSeconds(worst.need), whose, reserve))
}

// PlausibleOmission is rule 9, coordinated omission. k whole seconds without a
// completion while connections are open hold a request for at least k s, so the
// maximum is at least k s: error, unless operations failed or timed out (the tool
// drops those) or no completion follows (they were never answered): warning. And
// a P99 below the longest stall (s) although more than 1 % of the run was stalled
// is a percentile of a closed loop, which asks no question while it waits:
// warning, unless the latencies are corrected.
//
// Source: G. Tene, How NOT to Measure Latency (2013); wrk/src/wrk.c drops
// answers slower than its time-out from the histogram.
func PlausibleOmission(p PlausiblePoint) []Finding {
	var out []Finding
	inner, trailing, zeros, known := plausStalls(p.PerSecond)
	n, okN := plausPositive(p.Connections)
	top, okTop := plausSpanOf(p.LatencyMax)
	if gap := float64(inner); okN && okTop && gap >= 1 && top.hi*plausBinSlack < gap {
		severity, reserve := FindingError, ""
		lost := false
		for _, x := range []*PlausibleNumber{p.Errors, p.Timeouts, p.Aborted} {
			if s, ok := plausPositive(x); ok && s.v > 0 {
				lost = true
			}
		}
		if limit, text, ok := p.timeout(); lost || ok && limit.v <= gap {
			severity, reserve = FindingWarning, ": failed operations are not in the histogram"
			if !lost {
				reserve = ": " + text + " and drops the answer from its histogram"
			}
		}
		out = append(out, p.say(9, severity, map[string]float64{"gap_s": gap, "max_s": top.v, "connections": n.v},
			fmt.Sprintf("%s s without one completion on %s open connections, but the maximum latency is %s%s", plausNumber(gap), n.show(plausNumber), top.show(plausSeconds), reserve))...)
	}
	if okN && trailing >= 1 && known > trailing {
		out = append(out, p.say(9, FindingWarning, map[string]float64{"gap_s": float64(trailing), "connections": n.v},
			fmt.Sprintf("the last %d s of the run have no completion on %s open connections: requests never answered are in no percentile", trailing, n.show(plausNumber)))...)
	}
	stall, okS := plausSpanOf(p.LongestStall)
	stalled, okT := plausSpanOf(p.StalledTime)
	if !okS && inner > 0 {
		stall, okS = plausSpan{v: float64(inner), lo: float64(inner), hi: float64(inner)}, true
	}
	if !okT && known > 0 {
		stalled, okT = plausSpan{v: float64(zeros), lo: float64(zeros), hi: float64(zeros)}, true
	}
	length, okL := plausPositive(p.Seconds)
	if !okL && known > 0 {
		length, okL = plausSpan{v: float64(known), lo: float64(known), hi: float64(known)}, true
	}
	if !okS || !okT || !okL || plausIsTrue(p.Corrected) || stalled.lo <= 0.01*length.hi {
		return out
	}
	for _, s := range p.percentiles() {
		if s.q == 0.99 && s.hi < stall.lo {
			out = append(out, p.say(9, FindingWarning, map[string]float64{"p99_s": s.v, "longest_stall_s": stall.v, "stalled_s": stalled.v, "seconds": length.v},
				fmt.Sprintf("P99 = %s is below the longest stall of %s although %s of %s = %s of the run was stalled: these are percentiles of a closed loop, which asks nothing while it waits",
					s.show(plausSeconds), stall.show(plausSeconds), stalled.show(plausSeconds), length.show(plausSeconds), plausPercent(stalled.v/length.v)))...)
		}
	}
	return out
}

// plausStalls returns, of a series of one value a second, the longest run of zeros
// that has values on both sides, the zeros at its end, all zeros between its
// first value and its end, and the number of known seconds.
func plausStalls(x []float64) (inner, trailing, zeros, known int) {
	run, started := 0, false
	for _, v := range x {
		if !plausUsable(v) {
			run = 0
			continue
		}
		known++
		switch {
		case v != 0:
			if started {
				inner = max(inner, run)
			}
			run, started = 0, true
		case started:
			run++
			zeros++
		}
	}
	return inner, run, zeros, known
}
