package analyze

import (
	"math"
	"slices"
)

// curve is the course of a metric over the runs of one system: the mean over the
// runs at the same time since the start of their windows. Each run's own level is
// taken out first, so that a run that misses a tick does not shift the curve.
type curve struct {
	stepNS int64
	bin    []int     // bin of each point: its time is bin*stepNS
	raw    []float64 // mean over the runs
	smooth []float64 // likewise, of the runs after the Hampel filter; nil if not asked for
	parts  []part    // the runs
}

// part is one run on the grid of a curve.
type part struct {
	run   int       // its index
	known []bool    // per bin
	dev   []float64 // per bin: value less the run's level
}

// meanCurve lays the runs that have a series on one grid, whose step is the longest
// of their median intervals. It returns a curve without points if no run has rows.
func meanCurve(runs []Run, window func(*Run) Window, filter bool) curve {
	var c curve
	var bins int
	for i := range runs {
		s := runs[i].Series
		if s == nil || len(s.EndNS) == 0 {
			continue
		}
		c.stepNS = max(c.stepNS, medianInterval(s))
	}
	if c.stepNS == 0 {
		return c
	}
	var level accumulator
	for i := range runs {
		s := runs[i].Series
		if s == nil {
			continue
		}
		p, mean, ok := gridOf(s, window(&runs[i]), c.stepNS)
		if !ok {
			continue
		}
		p.run = i
		bins = max(bins, len(p.dev))
		level.add(mean)
		c.parts = append(c.parts, p)
	}
	if len(c.parts) == 0 {
		return c
	}
	centre := level.sum() / float64(len(c.parts))
	smooth := make([][]float64, len(c.parts))
	c.bin, c.raw = make([]int, 0, bins), make([]float64, 0, bins)
	if filter {
		c.smooth = make([]float64, 0, bins)
		for k := range c.parts {
			smooth[k] = c.parts[k].filtered()
		}
	}
	for b := range bins {
		var raw, soft float64
		n := 0
		for k, p := range c.parts {
			if b < len(p.dev) && p.known[b] {
				n++
				raw += p.dev[b]
				if filter {
					soft += smooth[k][b]
				}
			}
		}
		if 2*n < len(c.parts) || n == 0 {
			continue
		}
		c.bin = append(c.bin, b)
		c.raw = append(c.raw, centre+raw/float64(n))
		if filter {
			c.smooth = append(c.smooth, centre+soft/float64(n))
		}
	}
	return c
}

func medianInterval(s *Series) int64 {
	d := slices.Sorted(slices.Values(s.IntervalNS))
	return max(1, d[len(d)/2])
}

// from returns the index of the first point at or after start.
func (c *curve) from(startNS int64) int {
	i, _ := slices.BinarySearchFunc(c.bin, startNS, func(b int, ns int64) int {
		switch at := int64(b) * c.stepNS; {
		case at < ns:
			return -1
		case at > ns:
			return 1
		}
		return 0
	})
	return i
}

// start returns the time of point i.
func (c *curve) start(i int) int64 { return int64(c.bin[i]) * c.stepNS }

// gridOf sums the rows of a window into bins of one step. Rows are put by their
// midpoint.
func gridOf(s *Series, w Window, stepNS int64) (p part, mean float64, ok bool) {
	lo, hi := s.rows(w)
	if hi == lo {
		return part{}, 0, false
	}
	origin := w.FromNS
	if w == (Window{}) {
		origin = s.start(lo)
	}
	n := (s.mid(hi-1)-origin)/stepNS + 1
	if n <= 0 || n > int64(2*(hi-lo)+1000) { // a clock that jumped: no grid worth its memory
		return part{}, 0, false
	}
	num, den := make([]float64, n), make([]float64, n)
	var sumNum, sumDen accumulator
	for i := lo; i < hi; i++ {
		b := (s.mid(i) - origin) / stepNS
		if !s.known(i) || b < 0 || b >= n {
			continue
		}
		num[b] += s.Num[i]
		den[b] += s.Den[i]
		sumNum.add(s.Num[i])
		sumDen.add(s.Den[i])
	}
	mean = sumNum.sum() / sumDen.sum()
	if !isFinite(mean) {
		return part{}, 0, false
	}
	p.known = make([]bool, n)
	for b := range num {
		d := num[b]/den[b] - mean
		p.known[b] = den[b] > 0 && isFinite(d)
		if p.known[b] {
			num[b] = d
		} else {
			num[b] = 0
		}
	}
	p.dev = num
	return p, mean, true
}

// filtered returns the deviations after the Hampel filter over the known bins.
func (p *part) filtered() []float64 {
	x := make([]float64, 0, len(p.dev))
	for b, d := range p.dev {
		if p.known[b] {
			x = append(x, d)
		}
	}
	x = Hampel(x, hampelHalf, hampelLimit)
	out := make([]float64, len(p.dev))
	i := 0
	for b := range p.dev {
		if p.known[b] {
			out[b] = x[i]
			i++
		}
	}
	return out
}

// residuals returns, for every run, its deviations from the curve at the bins known
// in all runs: what is left is each run's own noise.
func (c *curve) residuals() [][]float64 {
	out := make([][]float64, len(c.parts))
	shared := math.MaxInt
	for _, p := range c.parts {
		shared = min(shared, len(p.dev))
	}
	n := float64(len(c.parts))
	for b := range shared {
		mean, all := 0.0, true
		for _, p := range c.parts {
			all = all && p.known[b]
			mean += p.dev[b] / n
		}
		if !all {
			continue
		}
		for k, p := range c.parts {
			out[k] = append(out[k], p.dev[b]-mean)
		}
	}
	return out
}
