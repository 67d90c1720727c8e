package analyze

import (
	"math"
	"slices"
)

// AdjustBH returns the Benjamini-Hochberg q values of p, in the order of p: to
// reject where q <= a keeps the expected share of false rejections below a, for
// independent or positively dependent tests (Benjamini, Hochberg 1995,
// doi:10.1111/j.2517-6161.1995.tb02031.x). p values lie in [0, 1].
func AdjustBH(p []float64) []float64 { return adjust(p, 1) }

// AdjustBY returns the Benjamini-Yekutieli q values of p: valid under any
// dependence, at a loss of power of the factor 1+1/2+...+1/m (Benjamini, Yekutieli
// 2001, doi:10.1214/aos/1013699998).
func AdjustBY(p []float64) []float64 { return adjust(p, harmonic(len(p))) }

func harmonic(m int) float64 {
	var h float64
	for i := m; i >= 1; i-- { // small terms first
		h += 1 / float64(i)
	}
	return h
}

func adjust(p []float64, factor float64) []float64 {
	m := len(p)
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	q := make([]float64, m)
	least := 1.0
	for k := m - 1; k >= 0; k-- {
		i := order[k]
		least = math.Min(least, p[i]*factor*float64(m)/float64(k+1))
		q[i] = least
	}
	return q
}
