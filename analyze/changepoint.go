package analyze

import (
	"math"
	"slices"
)

// ChangePoints returns the indices of the first point of each new segment of x,
// in order: equally spaced values whose level or slope changes at unknown places,
// as a benchmark's history over commits. NaN marks a missing value.
//
// It is optimal partitioning under a quadratic loss (Jackson and others 2005)
// with the pruning of PELT (Killick, Fearnhead and Eckley 2012), once with a
// level to a segment and once with a line. The penalty is 1.5 log n for each
// parameter of a change, its place included, times the long-run variance of
// first-order autoregressive noise, estimated on the residuals of the fit and
// fitted again until it stands: under autocorrelation the usual penalty finds
// changes everywhere. Of the two fits the one with the better likelihood of its
// innovations stands, at the same price for a parameter. There is nothing to
// tune.
//
// Assumption: the noise has a first-order memory, the same everywhere. Poor data
// gives none.
func ChangePoints(x []float64) []int {
	z, ok := changeStandard(x)
	if !ok || len(z) < 4 {
		return nil
	}
	level, cl := changeFit(z, changeLevel)
	line, cr := changeFit(z, changeLine)
	if cr < cl {
		return line
	}
	return level
}

// changePrice is the penalty for a parameter in units of log n.
const changePrice = 1.5

// changeModel is the number of parameters of a segment: 1 a level, 2 a line.
type changeModel int

const (
	changeLevel changeModel = 1
	changeLine  changeModel = 2
)

// changeGuess is the first guess of the long-run variance, as a part of all
// variance. Steps that go one way make most of that themselves: from all of it,
// the fit would start with too few of them and stay there.
const changeGuess = 1.0 / 8

// changeFit partitions z and returns the criterion of the fit, less for better.
func changeFit(z []float64, model changeModel) ([]int, float64) {
	n := float64(len(z))
	base := changePrice * float64(model+1) * math.Log(n)
	c := newChangeCost(z, model)
	cp := c.partition(base*changeGuess, 2*int(model))
	for range 5 {
		_, lrv := c.noise(cp)
		next := c.partition(base*max(lrv, 1e-6), 5)
		if slices.Equal(next, cp) {
			break
		}
		cp = next
	}
	innovation, _ := c.noise(cp)
	k := float64(len(cp)*int(model+1) + int(model))
	return cp, n*math.Log(max(innovation, 1e-12)) + changePrice*math.Log(n)*k
}

// changeStandard carries the last value over gaps, which adds no slope, and
// scales to variance 1.
func changeStandard(x []float64) ([]float64, bool) {
	y := make([]float64, len(x))
	last := -1
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if last >= 0 {
				y[i] = y[last]
			}
			continue
		}
		for k := range i {
			if last >= 0 {
				break
			}
			y[k] = v
		}
		y[i], last = v, i
	}
	if last < 0 {
		return nil, false
	}
	z, _, _, ok := driftStandard(y)
	if !ok {
		return nil, false
	}
	sd := math.Sqrt(driftDot(z, z) / float64(len(z)))
	for i := range z {
		z[i] /= sd
	}
	return z, true
}

// changeCost gives the residual sum of squares of any segment from running sums.
type changeCost struct {
	model    changeModel
	z        []float64
	s, q, tz []float64 // sums of z, z², t·z up to i
}

func newChangeCost(z []float64, model changeModel) *changeCost {
	n := len(z)
	c := &changeCost{model: model, z: z, s: make([]float64, n+1), q: make([]float64, n+1), tz: make([]float64, n+1)}
	for i, v := range z {
		c.s[i+1], c.q[i+1], c.tz[i+1] = c.s[i]+v, c.q[i]+v*v, c.tz[i]+float64(i)*v
	}
	return c
}

// line is the slope of z[a:b], its mean and the centre of its times.
func (c *changeCost) line(a, b int) (slope, mean, centre, stt float64) {
	n := float64(b - a)
	mean = (c.s[b] - c.s[a]) / n
	centre = float64(a+b-1) / 2
	stt = n * (n*n - 1) / 12
	if c.model == changeLine && stt > 0 {
		slope = (c.tz[b] - c.tz[a] - centre*n*mean) / stt
	}
	return slope, mean, centre, stt
}

func (c *changeCost) cost(a, b int) float64 {
	slope, mean, _, stt := c.line(a, b)
	return max(0, c.q[b]-c.q[a]-float64(b-a)*mean*mean-slope*slope*stt)
}

// partition minimises the sum of squares within segments plus penalty for each
// change; segments have least points or more.
func (c *changeCost) partition(penalty float64, least int) []int {
	n := len(c.z)
	best := make([]float64, n+1)
	prev := make([]int, n+1)
	for i := range best {
		best[i] = math.Inf(1)
	}
	best[0] = -penalty
	alive := []int{0}
	cost := make([]float64, 0, n)
	for t := least; t <= n; t++ {
		cost = cost[:0]
		for _, k := range alive {
			if k > t-least {
				break
			}
			v := best[k] + c.cost(k, t)
			cost = append(cost, v)
			if v+penalty < best[t] {
				best[t], prev[t] = v+penalty, k
			}
		}
		keep := alive[:0]
		for i, k := range alive {
			if i >= len(cost) || cost[i] <= best[t] {
				keep = append(keep, k)
			}
		}
		alive = append(keep, t)
	}
	var out []int
	for t := prev[n]; t > 0; t = prev[t] {
		out = append(out, t)
	}
	slices.Reverse(out)
	return out
}

// noise is the variance of the innovations and the long-run variance of
// first-order autoregressive noise, on the residuals around the segments.
func (c *changeCost) noise(cp []int) (innovation, longRun float64) {
	n := len(c.z)
	r := make([]float64, n)
	from := 0
	for i := 0; i <= len(cp); i++ {
		to := n
		if i < len(cp) {
			to = cp[i]
		}
		slope, mean, centre, _ := c.line(from, to)
		for k := from; k < to; k++ {
			r[k] = c.z[k] - mean - slope*(float64(k)-centre)
		}
		from = to
	}
	g0 := driftDot(r, r)
	if !(g0 > 0) {
		return 0, 0
	}
	phi := min(max(driftDot(r[1:], r[:n-1])/g0, 0), 0.97)
	v := g0 / float64(n)
	e := r[0] * r[0] * (1 - phi*phi)
	for i := 1; i < n; i++ {
		d := r[i] - phi*r[i-1]
		e += d * d
	}
	return e / float64(n), v * (1 + phi) / (1 - phi)
}
