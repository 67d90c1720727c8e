package analyze

import (
	"fmt"
	"math"
)

// QuantileNeeds returns how many samples a quantile q in (0, 1) needs to mean
// something: enough that one lies beyond it, and ten beyond a quantile above .99,
// where single stalls decide. P99 needs 100 samples, P99.9 needs 10,000.
// QuantileNeeds panics unless q lies in (0, 1).
func QuantileNeeds(q float64) int64 {
	mustShare("quantile", q)
	beyond := 1.0
	if q > 0.99 {
		beyond = 10
	}
	// The slack keeps 1/(1-.99) at 100.
	return int64(math.Ceil(beyond/math.Max(1-q, 1e-15) - 1e-6))
}

// CheckQuantile reports whether count samples carry the quantile q, and a warning if
// not: the quantile is then unknown, not the maximum. It panics unless q lies in
// (0, 1).
func CheckQuantile(q float64, count int64) (ok bool, warning string) {
	if need := QuantileNeeds(q); count < need {
		return false, fmt.Sprintf("p%.6g of %d samples: needs %d; run for longer or read a lower percentile", 100*q, count, need)
	}
	return true, ""
}

// JointQuantile returns all that quantiles of parts (clients, intervals) say about
// the same quantile of the whole: it lies between the least and the greatest of
// them. Percentiles do not average: merge the histograms for the value. ok is false
// if parts is empty or not finite.
func JointQuantile(parts []float64) (lo, hi float64, ok bool) {
	if _, ok := scaleOf(parts); !ok {
		return 0, 0, false
	}
	lo, hi = parts[0], parts[0]
	for _, v := range parts {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	return lo, hi, true
}
