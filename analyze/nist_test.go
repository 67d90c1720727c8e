package analyze

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// lre is the number of correct digits, at most 15: log relative error, as
// McCullough (1998, The American Statistician 52:358) scores software.
func lre(got, want float64) float64 {
	e := math.Abs(got - want)
	if want != 0 {
		e /= math.Abs(want)
	}
	if e == 0 {
		return 15
	}
	return math.Max(0, math.Min(15, -math.Log10(e)))
}

var (
	dataLines = regexp.MustCompile(`Data\s*:?\s*\(?\s*lines\s+(\d+)\s+to\s+(\d+)`)
	coefLine  = regexp.MustCompile(`^\s+B(\d+)\s+(\S+)\s+(\S+)`)
)

// nistFile returns the lines of a file and the rows of its data.
func nistFile(t *testing.T, name string) (lines []string, rows [][]float64) {
	t.Helper()
	b, err := os.ReadFile("evaluate/testdata/nist/" + name + ".dat")
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n")
	m := dataLines.FindStringSubmatch(string(b))
	if m == nil {
		t.Fatalf("%s: no data lines in its header", name)
	}
	lo, _ := strconv.Atoi(m[1])
	hi, _ := strconv.Atoi(m[2])
	for _, l := range lines[lo-1 : min(hi, len(lines))] {
		var row []float64
		for _, f := range strings.Fields(l) {
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

func TestNISTUnivariate(t *testing.T) {
	// The digits of s in NumAcc3 and 4 are limited by the decimal data's rounding to
	// binary, not by the algorithm.
	for name, digits := range map[string]struct{ mean, sd, r1 float64 }{
		"Lew": {15, 14, 10}, "Lottery": {15, 14, 10}, "Mavro": {15, 13, 10}, "Michelso": {15, 13.5, 10},
		"NumAcc1": {15, 15, 10}, "NumAcc2": {15, 14, 10}, "NumAcc3": {15, 9.4, 10}, "NumAcc4": {15, 8.2, 8},
		"PiDigits": {15, 14, 10},
	} {
		lines, rows := nistFile(t, name)
		var certified []float64
		for _, l := range lines {
			if strings.Contains(l, "ybar:") || strings.Contains(l, " s:") || strings.Contains(l, "r(1):") {
				v, err := strconv.ParseFloat(strings.Fields(l[strings.LastIndex(l, ":")+1:])[0], 64)
				if err != nil {
					t.Fatal(name, err)
				}
				certified = append(certified, v)
			}
		}
		x := make([]float64, len(rows))
		for i := range rows {
			x[i] = rows[i][0]
		}
		mean, v, ok := MeanVariance(x)
		r1, ok1 := Autocorrelation(x, 1)
		if !ok || !ok1 || len(certified) != 3 {
			t.Fatalf("%s: %v %v, %d certified values", name, ok, ok1, len(certified))
		}
		m, s, r := lre(mean, certified[0]), lre(math.Sqrt(v), certified[1]), lre(r1, certified[2])
		t.Logf("%-8s digits: mean %.1f, s %.1f, r1 %.1f", name, m, s, r)
		if m < digits.mean || s < digits.sd || r < digits.r1 {
			t.Errorf("%s: digits mean %.1f, s %.1f, r1 %.1f, want %v", name, m, s, r, digits)
		}
	}
}

func TestNISTLinear(t *testing.T) {
	for name, want := range map[string]struct{ coef, se float64 }{
		"Norris": {13, 13}, "Pontius": {13, 13}, "NoInt1": {14, 14}, "NoInt2": {14, 14}, "Longley": {13, 12},
		"Filip": {13, 7}, "Wampler1": {14, 14}, "Wampler2": {13, 14}, "Wampler3": {14, 13}, "Wampler4": {14, 13}, "Wampler5": {14, 13},
	} {
		lines, rows := nistFile(t, name)
		var coef, se []float64
		first := 0
		for _, l := range lines {
			if f := coefLine.FindStringSubmatch(l); f != nil {
				c, e1 := strconv.ParseFloat(f[2], 64)
				s, e2 := strconv.ParseFloat(f[3], 64)
				if e1 == nil && e2 == nil {
					if len(coef) == 0 {
						first, _ = strconv.Atoi(f[1])
					}
					coef, se = append(coef, c), append(se, s)
				}
			}
		}
		y := make([]float64, len(rows))
		columns := make([][]float64, len(coef))
		for i, row := range rows {
			y[i] = row[0]
			for j := range columns {
				v := 1.0
				switch k := first + j; {
				case len(row) > 2 && k > 0:
					v = row[k]
				case len(row) == 2:
					v = math.Pow(row[1], float64(k))
				}
				columns[j] = append(columns[j], v)
			}
		}
		fit, ok := LeastSquares(y, columns...)
		if len(rows[0]) == 2 && first == 0 {
			x := make([]float64, len(rows))
			for i, row := range rows {
				x[i] = row[1]
			}
			fit, ok = Polynomial(x, y, len(coef)-1)
		}
		if !ok {
			t.Errorf("%s: not fitted", name)
			continue
		}
		least, leastSE := 15.0, 15.0
		for j := range coef {
			least = math.Min(least, lre(fit.Coef[j], coef[j]))
			leastSE = math.Min(leastSE, lre(fit.SE[j], se[j]))
		}
		t.Logf("%-8s digits: coefficients %.1f, standard errors %.1f", name, least, leastSE)
		if least < want.coef || leastSE < want.se {
			t.Errorf("%s: digits of coefficients %.1f, of standard errors %.1f, want %v", name, least, leastSE, want)
		}
	}
}
