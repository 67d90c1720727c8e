package analyze

import "math"

//go:generate sh -c "go run ./critical > critical_table.new && mv critical_table.new critical_table.go"

// driftTable holds simulated critical values for one layout: the daily harmonics
// removed and the number of bins. Rows are the memories of driftPhis, columns
// the levels of driftLevels.
type driftTable struct {
	harmonics, n int

	trend, step     [][]float64 // by φ, level
	trendLM, stepLM [][]float64 // by φ: 70 % and 99 % quantile

	ewc, cusum         []float64 // by level: white noise
	ewcLong, cusumLong []float64 // by level: long memory
}

// driftCritical interpolates the tables, linearly in the logarithm of the
// number of bins and in -log(1-φ); outside them, the nearest holds.
type driftCritical struct {
	a, b *driftTable
	w    float64 // weight of b
}

func newDriftCritical(harmonics, n int) driftCritical {
	var c driftCritical
	if harmonics > 0 {
		harmonics = 3
	}
	for i := range driftTables {
		t := &driftTables[i]
		if t.harmonics != harmonics {
			continue
		}
		if t.n <= n || c.a == nil {
			c.a, c.b = t, t
		} else if c.a == c.b {
			c.b = t
		}
	}
	if c.a != c.b && n > c.a.n {
		c.w = math.Log(float64(n)/float64(c.a.n)) / math.Log(float64(c.b.n)/float64(c.a.n))
	}
	return c
}

// driftPhiIndex is the place of φ in driftPhis: row i and the weight of i+1.
func driftPhiIndex(phi float64) (i int, w float64) {
	u := -math.Log(1 - min(max(phi, 0), driftMaxPhi))
	for i = 0; i < len(driftPhis)-1; i++ {
		lo, hi := -math.Log(1-driftPhis[i]), -math.Log(1-driftPhis[i+1])
		if u <= hi {
			return i, (u - lo) / (hi - lo)
		}
	}
	return len(driftPhis) - 2, 1
}

// row gives the critical values by level for φ.
func (c driftCritical) row(get func(*driftTable) [][]float64, phi float64) []float64 {
	i, w := driftPhiIndex(phi)
	a, b := get(c.a), get(c.b)
	out := make([]float64, len(driftLevels))
	for l := range out {
		x := (1-w)*math.Log(a[i][l]) + w*math.Log(a[i+1][l])
		y := (1-w)*math.Log(b[i][l]) + w*math.Log(b[i+1][l])
		out[l] = math.Exp((1-c.w)*x + c.w*y)
	}
	return out
}

func (c driftCritical) level(get func(*driftTable) []float64) []float64 {
	a, b := get(c.a), get(c.b)
	out := make([]float64, len(driftLevels))
	for l := range out {
		out[l] = (1-c.w)*a[l] + c.w*b[l]
	}
	return out
}

// limit is the greatest correlation left in the innovations that passes for a
// memory of first order. It is the 70 % quantile where φ is from 0.2 to 0.5: long
// memory looks so at first order, and its reference then costs little and
// protects most. It is the 99 % quantile where φ is below 0.05 or above 0.8, and
// weighted between.
func (c driftCritical) limit(get func(*driftTable) [][]float64, phi float64) float64 {
	i, w := driftPhiIndex(phi)
	a, b := get(c.a), get(c.b)
	at := func(l int) float64 {
		return (1-c.w)*((1-w)*a[i][l]+w*a[i+1][l]) + c.w*((1-w)*b[i][l]+w*b[i+1][l])
	}
	u := max(driftLong(phi), min(max((0.2-phi)/0.15, 0), 1))
	return (1-u)*at(0) + u*at(1)
}

// driftLong rises from 0 for a memory that is short, φ up to 0.5, to 1 for one
// that is long, from 0.8 on.
func driftLong(phi float64) float64 { return min(max((phi-0.5)/0.3, 0), 1) }

// driftP is the p-value of a statistic, given the critical values by level:
// log p linear in the logarithm of the statistic, beyond the last level as
// between the last two that are an order of magnitude apart. A power law is the
// heavier, safer tail.
func driftP(critical []float64, stat float64) float64 {
	n := len(critical)
	if !(stat > 0) {
		return 1
	}
	if stat <= critical[0] {
		return 1 - (1-driftLevels[0])*stat/critical[0]
	}
	x := math.Log(stat)
	i := 1
	for i < n-1 && stat > critical[i] {
		i++
	}
	lo, hi := i-1, i
	if stat > critical[n-1] {
		lo, hi = n-4, n-1
	}
	x0, x1 := math.Log(critical[lo]), math.Log(critical[hi])
	p0, p1 := math.Log(driftLevels[lo]), math.Log(driftLevels[hi])
	p := p1 + (p1-p0)*(x-x1)/(x1-x0)
	return math.Exp(max(p, -690))
}

// driftQuantile is the statistic whose p-value is p.
func driftQuantile(critical []float64, p float64) float64 {
	n := len(critical)
	if p >= driftLevels[0] {
		return critical[0] * (1 - p) / (1 - driftLevels[0])
	}
	i := 1
	for i < n-1 && p < driftLevels[i] {
		i++
	}
	lo, hi := i-1, i
	if p < driftLevels[n-1] {
		lo, hi = n-4, n-1
	}
	x0, x1 := math.Log(critical[lo]), math.Log(critical[hi])
	p0, p1 := math.Log(driftLevels[lo]), math.Log(driftLevels[hi])
	return math.Exp(x1 + (x1-x0)*(math.Log(max(p, 1e-300))-p1)/(p1-p0))
}
