package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"github.com/steadybench/steady/analyze"
)

// transients are courses of 300 seconds around a steady level of 1.
var transients = []struct {
	name string
	at   func(t float64) float64
}{
	{"none", func(float64) float64 { return 0 }},
	{"exponential 20 s", func(t float64) float64 { return -0.2 * math.Exp(-t/20) }},
	{"exponential 40 s", func(t float64) float64 { return -0.2 * math.Exp(-t/40) }},
	{"step 60 s", func(t float64) float64 { return -0.1 * before(t, 60) }},
	{"ramp 90 s", func(t float64) float64 { return -0.3 * math.Max(0, 1-t/90) }},
	{"overshoot", func(t float64) float64 { return 0.1 * math.Exp(-t/30) * math.Cos(t/20) }},
	{"late step", func(t float64) float64 { return -0.05 * before(t, 200) }},
	{"drift", func(t float64) float64 { return 0.03 * (t/300 - 0.5) }},
}

func before(t, end float64) float64 {
	if t < end {
		return 1
	}
	return 0
}

// row9: two systems of three runs of 300 seconds each, spread 2 %, with a known
// transient. The error is that of a run's value in the common automatic window, over
// that of the run's own MSER-5.
func row9(reps int, seed uint64) []Row {
	phis := []float64{0, 0.5, 0.9}
	const seconds300, runs = 300, 3
	cells := len(phis) * len(transients)
	res := simulate(9, cells, reps, seed, func(k int, r *rand.Rand, t *tally) {
		phi, tr := phis[k/len(transients)], transients[k%len(transients)]
		m := analyze.Metric{Primary: true, Baseline: "b", Systems: []analyze.SystemRuns{{System: "a"}, {System: "b"}}}
		for i := range m.Systems {
			for range runs {
				x := make([]float64, seconds300)
				ar1(r, x, phi)
				for j := range x {
					x[j] = 1 + tr.at(float64(j)) + 0.02*x[j]
				}
				m.Systems[i].Runs = append(m.Systems[i].Runs, analyze.Run{Series: seconds(x), Slot: -1, Fixed: analyze.Window{FromNS: 120e9, ToNS: 300e9}})
			}
		}
		j := analyze.Judge([]analyze.Metric{m}, analyze.Options{Window: analyze.Auto})[0]
		s := j.Systems[0]
		var ours, mser, none, fixed, sumOurs, sumMSER float64
		for i, run := range s.Run {
			x := m.Systems[0].Runs[i].Series.Num
			e := run.Auto.Value - 1
			f := stat.Mean(x[analyze.MSER5(x, 0.5):], nil) - 1
			ours, mser = ours+e*e, mser+f*f
			sumOurs, sumMSER = sumOurs+e/runs, sumMSER+f/runs
			g := stat.Mean(x, nil) - 1
			none += g * g
			fixed += (run.Fixed.Value - 1) * (run.Fixed.Value - 1)
		}
		t.add(0, ours)
		t.add(1, mser)
		t.count(2, s.Auto.Late)
		t.add(3, none)
		t.add(4, fixed)
		t.add(5, sumOurs*sumOurs)
		t.add(6, sumMSER*sumMSER)
		t.count(7, s.Auto.Steady != nil && !*s.Auto.Steady)
	})
	var out []Row
	for k := range cells {
		t := &res[k]
		phi, tr := phis[k/len(transients)], transients[k%len(transients)]
		name := fmt.Sprintf("phi=%g %s", phi, tr.name)
		ratio := func(what string, a, b float64) Row {
			row := figure(what, name, math.Sqrt(a/b), 0.5/math.Sqrt(float64(reps*runs)), reps)
			row.Naive = fmt.Sprintf("%.2f no trim, %.2f fixed 120 s", math.Sqrt(t.at(3)/b), math.Sqrt(t.at(4)/b))
			return row
		}
		flag := share("flagged by the first gate", name, t.at(2), reps)
		switch tr.name {
		case "late step":
			if phi <= 0.5 {
				flag = flag.bar(0.95, inf, 0.95, inf)
			} else {
				flag = flag.bar(0.95, inf, 0.9, inf)
			}
		case "drift":
			if phi <= 0.5 {
				flag = flag.bar(0.8, inf, 0.8, inf)
			}
		case "none":
			flag = flag.bar(low, 0.07, low, 0.07)
		}
		out = append(out, flag)
		if tr.name != "late step" && tr.name != "drift" {
			out = append(out, ratio("error of a run's value over MSER-5", t.at(0), t.at(1)).bar(low, 1.05, low, 1))
			system := ratio("error of a system's mean over MSER-5", t.at(5), t.at(6))
			system.Naive = ""
			out = append(out, system)
		} else {
			out = append(out, share("judged not steady in the end", name, t.at(7), reps))
		}
	}
	return out
}
