package analyze

import (
	"errors"
	"math"
)

// driftDay is the cycle that is removed.
const driftDay = 86400 * int64(1e9)

// DriftWidth is the length of a bin, in ns, for a soak of that length in ns: a
// 432nd of it (ten minutes in 72 hours), at least 10 seconds.
func DriftWidth(lengthNS int64) int64 {
	return max(10e9, (lengthNS+431)/432)
}

// DriftBins are the bins of one metric. Bin i covers the time from
// StartNS + i·WidthNS on, for WidthNS. Mean, Median and Known have one length n;
// a bin that is not known holds 0.
type DriftBins struct {
	StartNS, WidthNS int64
	Mean             []float64 // Σ num / Σ den
	Median           []float64 // median of the rows' num / den
	Known            []bool    // at least half of the bin was measured
	Rows, Zeros      int       // rows used; those among them whose value is 0
	Late             int       // rows dropped: older than the bin being filled
	Base             float64   // level that percentages refer to; 0: the series' own
}

// A DriftBinner gathers the rows of one metric, about one a second and in order
// of time, into bins. It holds the rows of one bin only.
type DriftBinner struct {
	bins     DriftBins
	cur      int   // bin being filled
	covered  int64 // ns measured in it
	num, den float64
	values   []float64
}

// NewDriftBinner returns a binner for bins of widthNS from startNS on; see
// [DriftWidth]. It panics if widthNS is not positive.
func NewDriftBinner(startNS, widthNS int64) *DriftBinner {
	if widthNS <= 0 {
		panic("analyze: bins without width")
	}
	return &DriftBinner{bins: DriftBins{StartNS: startNS, WidthNS: widthNS}}
}

// driftMaxBins bounds what one absurd timestamp can make a binner allocate: ten
// years of ten-minute bins.
const driftMaxBins = 525960

// Add takes one row: it ended at endNS and lasted intervalNS; its value is
// num/den, with den 1 for a plain gauge. A row that is not known, has no
// duration or no finite value counts as not measured, as does one longer than a
// bin, which cannot be placed.
func (b *DriftBinner) Add(endNS, intervalNS int64, num, den float64, known bool) {
	w := b.bins.WidthNS
	if !known || intervalNS <= 0 || intervalNS > w || endNS <= b.bins.StartNS {
		return
	}
	v := num / den
	if math.IsNaN(v) || math.IsInf(v, 0) || math.IsInf(den, 0) {
		return
	}
	i64 := (endNS - 1 - b.bins.StartNS) / w
	if i64 < 0 || i64 >= driftMaxBins {
		return
	}
	i := int(i64)
	switch {
	case i < b.cur:
		b.bins.Late++
		return
	case i > b.cur:
		b.flush(i)
	}
	b.covered += intervalNS
	b.num += num
	b.den += den
	b.values = append(b.values, v)
	b.bins.Rows++
	if v == 0 {
		b.bins.Zeros++
	}
}

// AddRows takes a batch of rows: slices of one length n; den nil stands for
// ones, known nil for all. It panics if the lengths differ.
func (b *DriftBinner) AddRows(endNS, intervalNS []int64, num, den []float64, known []bool) {
	n := len(endNS)
	if len(intervalNS) != n || len(num) != n || den != nil && len(den) != n || known != nil && len(known) != n {
		panic("analyze: rows differ in length")
	}
	for i, e := range endNS {
		d, k := 1.0, true
		if den != nil {
			d = den[i]
		}
		if known != nil {
			k = known[i]
		}
		b.Add(e, intervalNS[i], num[i], d, k)
	}
}

// flush closes the current bin and opens bin next.
func (b *DriftBinner) flush(next int) {
	b.bins = b.close(b.bins, next)
	b.cur = next
	b.covered, b.num, b.den, b.values = 0, 0, 0, b.values[:0]
}

// close appends the current bin and the empty ones before bin next.
func (b *DriftBinner) close(d DriftBins, next int) DriftBins {
	mean, median, ok := 0.0, 0.0, false
	if len(b.values) > 0 && b.covered >= b.bins.WidthNS/2 {
		mean, median = b.num/b.den, driftMedian(b.values)
		ok = !math.IsNaN(mean) && !math.IsInf(mean, 0)
		if !ok {
			mean, median = 0, 0
		}
	}
	d.Mean, d.Median, d.Known = append(d.Mean, mean), append(d.Median, median), append(d.Known, ok)
	for len(d.Mean) < next {
		d.Mean, d.Median, d.Known = append(d.Mean, 0), append(d.Median, 0), append(d.Known, false)
	}
	return d
}

// Bins returns what was gathered so far, the bin being filled included; more
// rows may follow. The slices are the caller's.
func (b *DriftBinner) Bins() DriftBins {
	d := b.bins
	d.Mean = append(make([]float64, 0, b.cur+1), d.Mean...)
	d.Median = append(make([]float64, 0, b.cur+1), d.Median...)
	d.Known = append(make([]bool, 0, b.cur+1), d.Known...)
	if len(b.values) > 0 {
		d = b.close(d, b.cur+1)
	}
	return d
}

// DriftDifference is run a minus run b in lock-step: bin i of one minus bin i of
// the other, each counted from its own start. A bin that either lacks is not
// known; the longer run is cut. Percentages then refer to the level of b. What
// both runs share, a daily job or a slow leak of the harness, drops out; a known
// good run as b makes the test that of the change.
//
// It panics if the bins differ in width.
func DriftDifference(a, b DriftBins) DriftBins {
	if a.WidthNS != b.WidthNS {
		panic("analyze: bins differ in width")
	}
	n := min(len(a.Mean), len(b.Mean))
	d := DriftBins{StartNS: a.StartNS, WidthNS: a.WidthNS, Rows: a.Rows, Zeros: a.Zeros, Late: a.Late,
		Mean: make([]float64, n), Median: make([]float64, n), Known: make([]bool, n)}
	var sum float64
	var c int
	for i := range n {
		x, y := a.Mean[i]-b.Mean[i], a.Median[i]-b.Median[i]
		if !a.Known[i] || !b.Known[i] || math.IsNaN(x+y) || math.IsInf(x+y, 0) {
			continue
		}
		d.Mean[i], d.Median[i], d.Known[i] = x, y, true
		c++
		sum += (b.Mean[i] - sum) / float64(c)
	}
	if !math.IsInf(sum, 0) && !math.IsNaN(sum) {
		d.Base = sum
	}
	return d
}

// driftMedian selects the median of v, which it reorders; 0 for none.
func driftMedian(v []float64) float64 {
	n := len(v)
	if n == 0 {
		return 0
	}
	m := driftSelect(v, n/2)
	if n%2 == 1 {
		return m
	}
	lo := v[0]
	for _, x := range v[:n/2] {
		lo = max(lo, x)
	}
	return lo/2 + m/2
}

// driftSelect is quickselect: it leaves the k smallest in v[:k], in any order,
// and returns the next. The pivot is the median of three; two scans from the
// ends keep it linear for many equal values.
func driftSelect(v []float64, k int) float64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		a, b, c := v[lo], v[lo+(hi-lo)/2], v[hi]
		p := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for v[i] < p {
				i++
			}
			for v[j] > p {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}

var (
	errDriftShort    = errors.New("too short: fewer than 60 bins known; measure longer")
	errDriftDaily    = errors.New("daily cycle not separable: shorter than 48 h; soak longer to tell a cycle from drift")
	errDriftFlat     = errors.New("no variation: check that the sensor is alive")
	errDriftFinite   = errors.New("values not finite left out; check the source")
	errDriftLate     = errors.New("rows out of order dropped; sort by time")
	errDriftGate     = errors.New("no level to take a percentage of: set an absolute gate")
	errDriftSmall    = errors.New("a change below the gate is significant; lower the gate if it matters")
	errDriftMemory   = errors.New("the noise remembers too long for this soak: error rates not assured; soak longer")
	errDriftLong     = errors.New("correlation of the noise is not of first order: judged by the wider reference of long memory")
	errDriftRough    = errors.New("daily pattern rougher than three harmonics: the mean day was removed")
	errDriftMissing  = errors.New("more than a fifth of the bins is missing; fill the gaps or soak longer")
	errDriftDisagree = errors.New("mean and median differ: stalls or bursts carry the change; look at the zero seconds")
	errDriftRange    = errors.New("values too large to be judged; change the unit")
)
