package evaluate

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/steadybench/steady/analyze"
)

//go:embed testdata/nist
var nist embed.FS

var (
	dataLines = regexp.MustCompile(`Data\s*:?\s*\(?\s*lines\s+(\d+)\s+to\s+(\d+)`)
	coefLine  = regexp.MustCompile(`^\s+B(\d+)\s+(\S+)\s+(\S+)`)
)

// digits is the number of correct digits, at most 15, as McCullough (1998, The American
// Statistician 52:358) scores software.
func digits(got, want float64) float64 {
	e := math.Abs(got - want)
	if want != 0 {
		e /= math.Abs(want)
	}
	if e == 0 {
		return 15
	}
	return math.Max(0, math.Min(15, -math.Log10(e)))
}

// nistFile returns the lines of a file and the rows of its data.
func nistFile(name string) (lines []string, rows [][]float64) {
	b, err := fs.ReadFile(nist, "testdata/nist/"+name+".dat")
	if err != nil {
		panic(err) // embedded
	}
	lines = strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n")
	m := dataLines.FindStringSubmatch(string(b))
	from, _ := strconv.Atoi(m[1])
	to, _ := strconv.Atoi(m[2])
	for _, l := range lines[from-1 : min(to, len(lines))] {
		var row []float64
		for f := range strings.FieldsSeq(l) {
			if v, err := strconv.ParseFloat(f, 64); err == nil {
				row = append(row, v)
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return lines, rows
}

// row17: correct digits of NIST's Statistical Reference Datasets.
func row17(int, uint64) []Row {
	var out []Row
	for _, name := range []string{"Lew", "Lottery", "Mavro", "Michelso", "NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4", "PiDigits"} {
		lines, rows := nistFile(name)
		var want []float64
		for _, l := range lines {
			if strings.Contains(l, "ybar:") || strings.Contains(l, " s:") || strings.Contains(l, "r(1):") {
				if v, err := strconv.ParseFloat(strings.Fields(l[strings.LastIndex(l, ":")+1:])[0], 64); err == nil {
					want = append(want, v)
				}
			}
		}
		x := make([]float64, len(rows))
		for i := range rows {
			x[i] = rows[i][0]
		}
		mean, v, _ := analyze.MeanVariance(x)
		r1, _ := analyze.Autocorrelation(x, 1)
		sd := 13.0
		switch name { // limited by the data's rounding to binary
		case "NumAcc3":
			sd = 9.4
		case "NumAcc4":
			sd = 8.2
		}
		out = append(out,
			figure("digits of the mean", name, digits(mean, want[0]), 0, 1).bar(14.5, inf, 15, inf),
			figure("digits of the standard deviation", name, digits(math.Sqrt(v), want[1]), 0, 1).bar(sd, inf, sd, inf),
			figure("digits of the autocorrelation", name, digits(r1, want[2]), 0, 1).bar(low, inf, 10, inf))
	}
	gonum := map[string]float64{"Norris": 12.2, "Longley": 10.9, "Filip": 8.2, "Wampler5": 5.5}
	wish := map[string]float64{"Filip": 8, "Wampler5": 6}
	for _, name := range []string{"Norris", "Pontius", "NoInt1", "NoInt2", "Longley", "Filip", "Wampler1", "Wampler2", "Wampler3", "Wampler4", "Wampler5"} {
		lines, rows := nistFile(name)
		var coef, se []float64
		first := 0
		for _, l := range lines {
			f := coefLine.FindStringSubmatch(l)
			if f == nil {
				continue
			}
			c, e1 := strconv.ParseFloat(f[2], 64)
			s, e2 := strconv.ParseFloat(f[3], 64)
			if e1 != nil || e2 != nil {
				continue
			}
			if len(coef) == 0 {
				first, _ = strconv.Atoi(f[1])
			}
			coef, se = append(coef, c), append(se, s)
		}
		fit := nistFit(rows, first, len(coef))
		least, leastSE := 15.0, 15.0
		for j := range coef {
			if j >= len(fit.Coef) {
				least, leastSE = 0, 0
				break
			}
			least = math.Min(least, digits(fit.Coef[j], coef[j]))
			leastSE = math.Min(leastSE, digits(fit.SE[j], se[j]))
		}
		must, ok := gonum[name]
		if !ok {
			must = 5.5
		}
		row := figure("least digits of the coefficients", name, least, 0, 1).bar(must, inf, math.Max(must, wish[name]), inf)
		if ok {
			row.Naive = fmt.Sprintf("%.1f QR without refinement", must)
		}
		out = append(out, row, figure("least digits of the standard errors", name, leastSE, 0, 1))
	}
	return out
}

// nistFit fits a polynomial where there is one predictor and a constant.
func nistFit(rows [][]float64, first, p int) analyze.Fit {
	y, x := make([]float64, len(rows)), make([]float64, len(rows))
	columns := make([][]float64, p)
	for i, row := range rows {
		y[i], x[i] = row[0], row[1]
		for j := range columns {
			v := 1.0
			if k := first + j; k > 0 && k < len(row) {
				v = row[k]
			}
			columns[j] = append(columns[j], v)
		}
	}
	if len(rows[0]) == 2 && first == 0 {
		fit, _ := analyze.Polynomial(x, y, p-1)
		return fit
	}
	fit, _ := analyze.LeastSquares(y, columns...)
	return fit
}

// row18: t, p and adjusted p against reference values.
func row18(int, uint64) []Row {
	worst := func(what, cell string, pairs ...float64) Row {
		var e float64
		for i := 0; i < len(pairs); i += 2 {
			e = math.Max(e, math.Abs(pairs[i]-pairs[i+1])/math.Abs(pairs[i+1]))
		}
		return figure("relative error of "+what, cell, e, 0, 1).bar(low, 1e-10, low, 1e-12)
	}
	a, b := []float64{100.2, 101.5, 99.7}, []float64{97.1, 98.3, 96.0, 97.9}
	m := analyze.Metric{Primary: true, Baseline: "b", Systems: []analyze.SystemRuns{
		// Shifted by a constant, so that a value is negative and the natural scale is tested.
		{System: "a", Runs: runsOf(shift(a, -100))}, {System: "b", Runs: runsOf(shift(b, -100))}}}
	c := analyze.Judge([]analyze.Metric{m}, analyze.Options{})[0].Comparisons[0]
	p := []float64{0.0001, 0.004, 0.019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1}
	bh, by := analyze.AdjustBH(p), analyze.AdjustBY(p)
	x := []float64{0, 1, 2, 3, 4}
	line, _ := analyze.LeastSquares([]float64{1, 3, 2, 5, 4}, []float64{1, 1, 1, 1, 1}, x)
	return []Row{
		worst("p", "Welch, scipy 1.10", *c.P, 0.009314860767593908),
		worst("q", "Benjamini-Hochberg, statsmodels 0.13", bh[0], 0.0015, bh[1], 0.030000000000000002, bh[2], 0.0603, bh[3], 0.047499999999999994, bh[5], 0.06385714285714286, bh[7], 0.0645),
		worst("q", "Benjamini-Yekutieli, statsmodels 0.13", by[0], 0.004977343489843491, by[1], 0.0995468697968698, by[2], 0.20008920829170831, by[3], 0.1576158771783772),
		// By hand: slope 8/10, residual sum of squares 3.6 on 3 degrees of freedom.
		worst("slope and its error", "straight line", line.Coef[1], 0.8, line.SE[1], math.Sqrt(0.12)),
	}
}

func shift(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + by
	}
	return y
}

// row21: the worst violation of an invariance over random comparisons.
func row21(reps int, seed uint64) []Row {
	names := []string{"scale", "exchange of the systems", "order of the runs", "repetition, bit for bit"}
	res := simulate(21, 1, reps, seed, func(_ int, r *rand.Rand, t *tally) {
		nA, nB := 2+r.IntN(8), 2+r.IntN(8)
		a, b := make([]float64, nA), make([]float64, nB)
		level := math.Exp(20 * r.NormFloat64())
		for i := range a {
			a[i] = level * math.Exp(0.1*r.NormFloat64())
		}
		for i := range b {
			b[i] = level * math.Exp(0.1*r.NormFloat64())
		}
		judge := func(a, b []float64) analyze.Comparison {
			return analyze.Judge([]analyze.Metric{{Primary: true, Direction: analyze.Higher, Baseline: "b",
				Systems: []analyze.SystemRuns{{System: "a", Runs: runsOf(a)}, {System: "b", Runs: runsOf(b)}}}}, analyze.Options{})[0].Comparisons[0]
		}
		one := judge(a, b)
		scale := math.Exp(5 * r.NormFloat64())
		scaled := judge(times(a, scale), times(b, scale))
		swapped := judge(b, a)
		r.Shuffle(nA, func(i, j int) { a[i], a[j] = a[j], a[i] })
		permuted := judge(a, b)
		differ := func(x, y analyze.Comparison, sign float64) float64 {
			log := func(v float64) float64 { return math.Log1p(v / 100) }
			lo, hi := log(y.Percent.Lo), log(y.Percent.Hi)
			if sign < 0 {
				lo, hi = -hi, -lo
			}
			e := math.Max(math.Abs(log(x.Percent.Lo)-lo), math.Abs(log(x.Percent.Hi)-hi))
			return math.Max(e, math.Abs(*x.P-*y.P))
		}
		for k, e := range []float64{differ(one, scaled, 1), differ(one, swapped, -1), differ(one, permuted, 1), differ(permuted, judge(a, b), 1)} {
			t.keep(k, e)
		}
	})
	var out []Row
	for k, name := range names {
		var worst float64
		for _, e := range res[0].list[k] {
			worst = math.Max(worst, e)
		}
		bound := 1e-9
		if k == 3 {
			bound = 0
		}
		out = append(out, figure("largest violation", name, worst, 0, reps).bar(low, bound, low, bound))
	}
	return out
}

func times(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * by
	}
	return y
}
