package analyze

import (
	"errors"
	"math"
	"slices"
)

// MannKendallResult is the outcome of a Mann-Kendall test. If it is not Known,
// the other fields mean nothing.
type MannKendallResult struct {
	S, VarS float64 // score and its variance without a trend
	Tau     float64 // Kendall's rank correlation with time, in [-1, 1]
	Z, P    float64 // standardised score, two-sided p-value
	// Theil and Sen's line: slope per observation (per cycle of the seasonal
	// tests), intercept at the first.
	Slope, Intercept float64
	N                int // observations used
	Known            bool
	Warnings         []error
}

var (
	errMannKendallShort  = errors.New("too few observations for a rank test; measure longer")
	errMannKendallFlat   = errors.New("no variation: no rank test; check that the sensor is alive")
	errMannKendallSerial = errors.New("correction for autocorrelation gave no positive variance; use the drift test")
)

// MannKendall tests x, [n] and equally spaced, for a monotonic trend (Mann 1945,
// Kendall 1975), with the variance corrected for ties and the score for
// continuity. NaN marks a missing value.
//
// Assumption: independent observations. On samples of a running system, which
// are not, it raises false alarms in most soaks: judge those with [Drift].
func MannKendall(x []float64) MannKendallResult {
	y := driftKnown(x)
	r := mannKendallBase(y)
	r.Slope, r.Intercept = TheilSen(x)
	return r.finish(true)
}

// MannKendallHamedRao corrects the variance for the significant
// autocorrelations, at level 5 %, of the ranks of the detrended series, up to
// that lag; 0 for all (Hamed and Rao 1998).
func MannKendallHamedRao(x []float64, lag int) MannKendallResult {
	y := driftKnown(x)
	r := mannKendallBase(y)
	r.Slope, r.Intercept = TheilSen(x)
	n := len(y)
	if n < 4 {
		return r.finish(true)
	}
	rho := mannKendallACF(mannKendallRanks(mannKendallDetrend(y, r.Slope)))
	bound := 1.959963984540054 / math.Sqrt(float64(n))
	var s float64
	for i := 1; i < mannKendallLags(lag, n); i++ {
		if math.Abs(rho[i]) > bound {
			m := float64(n - i)
			s += m * (m - 1) * (m - 2) * rho[i]
		}
	}
	m := float64(n)
	r.VarS *= 1 + 2/(m*(m-1)*(m-2))*s
	return r.finish(true)
}

// MannKendallYueWang corrects the variance for the autocorrelations of the
// detrended series up to that lag; 0 for all (Yue and Wang 2004).
func MannKendallYueWang(x []float64, lag int) MannKendallResult {
	y := driftKnown(x)
	r := mannKendallBase(y)
	r.Slope, r.Intercept = TheilSen(x)
	n := len(y)
	if n < 3 {
		return r.finish(true)
	}
	rho := mannKendallACF(mannKendallDetrend(y, r.Slope))
	var s float64
	for i := 1; i < mannKendallLags(lag, n); i++ {
		s += (1 - float64(i)/float64(n)) * rho[i]
	}
	r.VarS *= 1 + 2*s
	return r.finish(true)
}

// MannKendallPreWhitening tests what is left after the autocorrelation at lag 1
// is taken out (Yue and Wang 2002).
func MannKendallPreWhitening(x []float64) MannKendallResult {
	y := driftKnown(x)
	var w []float64
	if len(y) > 1 {
		w = mannKendallWhiten(y, mannKendallACF(y)[1])
	}
	r := mannKendallBase(w)
	r.Slope, r.Intercept = TheilSen(x)
	return r.finish(true)
}

// MannKendallTrendFree detrends before it whitens, and puts the trend back
// (Yue and others 2002). It finds the most trends of all, false ones too.
func MannKendallTrendFree(x []float64) MannKendallResult {
	y := driftKnown(x)
	slope, intercept := TheilSen(x)
	var w []float64
	if len(y) > 1 {
		d := mannKendallDetrend(y, slope)
		w = mannKendallWhiten(d, mannKendallACF(d)[1])
		for i := range w {
			w[i] += float64(i+1) * slope
		}
	}
	r := mannKendallBase(w)
	r.Slope, r.Intercept = slope, intercept
	return r.finish(true)
}

// MannKendallSeasonal sums the scores of the seasons, each against itself in
// other cycles of that period (Hirsch, Slack and Smith 1982). It panics if
// period is less than 1.
func MannKendallSeasonal(x []float64, period int) MannKendallResult {
	r := MannKendallRegional(mannKendallSeasons(x, period))
	r.Slope, r.Intercept = TheilSenSeasonal(x, period)
	return r
}

// MannKendallRegional sums the scores of several series, the columns of rows
// (Helsel and Frans 2006), taken as independent of one another. It panics if the
// rows differ in length.
func MannKendallRegional(rows [][]float64) MannKendallResult {
	c := mannKendallWidth(rows)
	var r MannKendallResult
	var pairs float64
	for j := range c {
		y := driftKnown(mannKendallColumn(rows, j))
		b := mannKendallBase(y)
		r.S += b.S
		r.VarS += b.VarS
		r.N += len(y)
		pairs += 0.5 * float64(len(y)) * float64(len(y)-1)
	}
	if pairs > 0 {
		r.Tau = r.S / pairs
	}
	r.Slope, r.Intercept = mannKendallRowsSen(rows, c)
	return r.finish(true)
}

// MannKendallCorrelated is the regional test for columns that depend on one
// another; rows with a missing value are left out (Libiseller and Grimvall
// 2002). It panics if the rows differ in length.
func MannKendallCorrelated(rows [][]float64) MannKendallResult {
	c := mannKendallWidth(rows)
	full := mannKendallComplete(rows)
	n := len(full)
	var r MannKendallResult
	r.N = n * c
	cols, ranks := make([][]float64, c), make([][]float64, c)
	for j := range c {
		cols[j] = mannKendallColumn(full, j)
		ranks[j] = mannKendallR(cols[j])
		r.S += mannKendallScore(cols[j])
	}
	if n > 1 {
		r.Tau = r.S / (float64(c) * 0.5 * float64(n) * float64(n-1))
	}
	for i := range c {
		for j := range c {
			r.VarS += mannKendallCov(cols[i], cols[j], ranks[i], ranks[j])
		}
	}
	r.Slope, r.Intercept = mannKendallRowsSen(rows, c)
	return r.finish(false)
}

// MannKendallCorrelatedSeasonal is the seasonal test for seasons that depend on
// one another; cycles with a missing value are left out (Hipel and McLeod 1994).
// It panics if period is less than 1.
func MannKendallCorrelatedSeasonal(x []float64, period int) MannKendallResult {
	r := MannKendallCorrelated(mannKendallSeasons(x, period))
	r.Slope, r.Intercept = TheilSenSeasonal(x, period)
	return r
}

// MannKendallPartial tests x given a covariate: the part of its score that the
// score of the covariate does not explain (Libiseller and Grimvall 2002). It
// panics if the lengths differ.
func MannKendallPartial(x, covariate []float64) MannKendallResult {
	if len(x) != len(covariate) {
		panic("analyze: series and covariate differ in length")
	}
	rows := make([][]float64, len(x))
	for i := range x {
		rows[i] = []float64{x[i], covariate[i]}
	}
	full := mannKendallComplete(rows)
	n := float64(len(full))
	r := MannKendallResult{N: len(full)}
	if len(full) > 2 {
		a, b := mannKendallColumn(full, 0), mannKendallColumn(full, 1)
		sa := mannKendallScore(a)
		v := n * (n - 1) * (2*n + 5) / 18
		rho := mannKendallCov(a, b, mannKendallR(a), mannKendallR(b)) / v
		r.S = sa - rho*mannKendallScore(b)
		r.VarS = (1 - rho*rho) * v
		if mannKendallBase(a).VarS == 0 {
			r.VarS = 0
		}
		r.Tau = sa / (0.5 * n * (n - 1))
	}
	r.Slope, r.Intercept = TheilSen(x)
	return r.finish(false)
}

// TheilSen is the median of the slopes of all pairs of observations, per
// observation, and the intercept through the medians (Theil 1950, Sen 1968). x
// is equally spaced; NaN marks a missing value. Both are 0 for fewer than two
// values. It takes time and memory for n²/2 slopes.
func TheilSen(x []float64) (slope, intercept float64) {
	var t, v []float64
	for i, y := range x {
		if !math.IsNaN(y) && !math.IsInf(y, 0) {
			t, v = append(t, float64(i)), append(v, y)
		}
	}
	if len(v) < 2 {
		return 0, 0
	}
	slope = driftClamp(driftTheilSen(t, v, nil))
	return slope, driftClamp(driftMedian(v) - driftMedian(t)*slope)
}

// TheilSenSeasonal is the median of the slopes of all pairs within a season, per
// cycle of that period (Hirsch, Slack and Smith 1982). It panics if period is
// less than 1.
func TheilSenSeasonal(x []float64, period int) (slope, intercept float64) {
	if period < 1 {
		panic("analyze: period less than 1")
	}
	var s, t, v []float64
	for i, y := range x {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		t, v = append(t, float64(i)), append(v, y)
		for k, c := i+period, 1.0; k < len(x); k, c = k+period, c+1 {
			if !math.IsNaN(x[k]) && !math.IsInf(x[k], 0) {
				s = append(s, (x[k]-y)/c)
			}
		}
	}
	if len(s) == 0 {
		return 0, 0
	}
	slope = driftClamp(driftMedian(s))
	return slope, driftClamp(driftMedian(v) - driftMedian(t)/float64(period)*slope)
}

// driftTheilSen is the median slope of x over the times t. buf is scratch memory
// to keep for the next call, or nil.
func driftTheilSen(t, x []float64, buf *[]float64) float64 {
	n := len(x)
	var s []float64
	if buf != nil {
		s = (*buf)[:0]
	}
	if need := n * (n - 1) / 2; cap(s) < need {
		s = make([]float64, 0, need)
	}
	for i := range x {
		for k := i + 1; k < n; k++ {
			s = append(s, (x[k]-x[i])/(t[k]-t[i]))
		}
	}
	if buf != nil {
		*buf = s
	}
	return driftMedian(s)
}

// driftKnown is x without what is not finite.
func driftKnown(x []float64) []float64 {
	y := make([]float64, 0, len(x))
	for _, v := range x {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			y = append(y, v)
		}
	}
	return y
}

// mannKendallBase is the score of y, its variance and tau.
func mannKendallBase(y []float64) MannKendallResult {
	n := float64(len(y))
	r := MannKendallResult{N: len(y)}
	if len(y) < 2 {
		return r
	}
	r.S = mannKendallScore(y)
	r.Tau = r.S / (0.5 * n * (n - 1))
	v := n * (n - 1) * (2*n + 5)
	s := slices.Clone(y)
	slices.Sort(s)
	for i := 0; i < len(s); {
		k := i
		for k < len(s) && s[k] == s[i] {
			k++
		}
		t := float64(k - i)
		v -= t * (t - 1) * (2*t + 5)
		i = k
	}
	r.VarS = v / 18
	return r
}

// finish sets Z and P. continuity moves the score by one towards zero.
func (r MannKendallResult) finish(continuity bool) MannKendallResult {
	if r.N < 3 {
		return MannKendallResult{N: r.N, P: 1, Warnings: []error{errMannKendallShort}}
	}
	if !(r.VarS > 0) {
		w := errMannKendallSerial
		if r.VarS == 0 {
			w = errMannKendallFlat
		}
		return MannKendallResult{N: r.N, P: 1, Warnings: append(r.Warnings, w)}
	}
	s := r.S
	if continuity {
		switch {
		case s > 0:
			s--
		case s < 0:
			s++
		}
	}
	r.Z = s / math.Sqrt(r.VarS)
	r.P = math.Erfc(math.Abs(r.Z) / math.Sqrt2)
	r.Known = true
	return r
}

// driftCompare is the sign of a - b without the overflow of the difference.
func driftCompare(a, b float64) float64 {
	switch {
	case a > b:
		return 1
	case a < b:
		return -1
	}
	return 0
}

func mannKendallScore(y []float64) float64 {
	var s float64
	for i, a := range y {
		for _, b := range y[i+1:] {
			s += driftCompare(b, a)
		}
	}
	return s
}

func mannKendallLags(lag, n int) int {
	if lag <= 0 || lag+1 > n {
		return n
	}
	return lag + 1
}

// mannKendallACF are the autocorrelations of y, [n].
func mannKendallACF(y []float64) []float64 {
	n := len(y)
	z, _, _, ok := driftStandard(y)
	out := make([]float64, n)
	if !ok {
		if n > 0 {
			out[0] = 1
		}
		return out
	}
	g0 := driftDot(z, z)
	for k := range out {
		out[k] = driftDot(z[k:], z[:n-k]) / g0
	}
	return out
}

func mannKendallDetrend(y []float64, slope float64) []float64 {
	d := make([]float64, len(y))
	for i, v := range y {
		d[i] = driftClamp(v - float64(i+1)*slope)
	}
	return d
}

func mannKendallWhiten(y []float64, rho float64) []float64 {
	w := make([]float64, len(y)-1)
	for i := range w {
		w[i] = driftClamp(y[i+1] - y[i]*rho)
	}
	return w
}

// mannKendallRanks are the ranks of y from 1, ties sharing their mean.
func mannKendallRanks(y []float64) []float64 {
	idx := make([]int, len(y))
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(a, b int) int { return int(driftCompare(y[a], y[b])) })
	r := make([]float64, len(y))
	for i := 0; i < len(idx); {
		k := i
		for k < len(idx) && y[idx[k]] == y[idx[i]] {
			k++
		}
		for _, a := range idx[i:k] {
			r[a] = float64(i+k+1) / 2
		}
		i = k
	}
	return r
}

// mannKendallR are the ranks as Libiseller and Grimvall write them.
func mannKendallR(y []float64) []float64 {
	n := float64(len(y))
	r := make([]float64, len(y))
	for j, a := range y {
		s := n + 1
		for _, b := range y {
			s += driftCompare(a, b)
		}
		r[j] = s / 2
	}
	return r
}

// mannKendallCov is the covariance of the scores of x and y (Dietz and Killeen
// 1981).
func mannKendallCov(x, y, rx, ry []float64) float64 {
	n := float64(len(x))
	var k float64
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			k += driftCompare(x[j], x[i]) * driftCompare(y[j], y[i])
		}
	}
	return (k + 4*driftDot(rx, ry) - n*(n+1)*(n+1)) / 3
}

func mannKendallWidth(rows [][]float64) int {
	if len(rows) == 0 {
		return 0
	}
	for _, r := range rows {
		if len(r) != len(rows[0]) {
			panic("analyze: rows differ in length")
		}
	}
	return len(rows[0])
}

func mannKendallColumn(rows [][]float64, j int) []float64 {
	c := make([]float64, len(rows))
	for i, r := range rows {
		c[i] = r[j]
	}
	return c
}

// mannKendallComplete are the rows without a missing value.
func mannKendallComplete(rows [][]float64) [][]float64 {
	var out [][]float64
	for _, r := range rows {
		if len(driftKnown(r)) == len(r) {
			out = append(out, r)
		}
	}
	return out
}

// mannKendallSeasons lays x out in rows of one cycle, the last filled with NaN.
func mannKendallSeasons(x []float64, period int) [][]float64 {
	if period < 1 {
		panic("analyze: period less than 1")
	}
	var rows [][]float64
	for i := 0; i < len(x); i += period {
		r := make([]float64, period)
		for k := range r {
			r[k] = math.NaN()
		}
		copy(r, x[i:min(i+period, len(x))])
		rows = append(rows, r)
	}
	return rows
}

func mannKendallRowsSen(rows [][]float64, c int) (slope, intercept float64) {
	if c == 0 {
		return 0, 0
	}
	flat := make([]float64, 0, len(rows)*c)
	for _, r := range rows {
		flat = append(flat, r...)
	}
	return TheilSenSeasonal(flat, c)
}
