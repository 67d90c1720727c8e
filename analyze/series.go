package analyze

import "fmt"

// Window is a stretch of a run's elapsed time, [FromNS, ToNS), in nanoseconds since
// the start of the run. The zero Window stands for the whole series.
type Window struct{ FromNS, ToNS int64 }

func (w Window) contains(ns int64) bool {
	return w == (Window{}) || (w.FromNS <= ns && ns < w.ToNS)
}

// Series is one metric of one run, a row an interval. Row i covers
// (EndNS[i]-IntervalNS[i], EndNS[i]] of the run's elapsed time, and its value is
// Num[i]/Den[i]. That makes one rule for every kind of column:
//
//	rate:  increment      / seconds
//	share: 100 * part     / whole
//	gauge: value * seconds / seconds
//
// All slices have the same length; Known may be nil: all known. Rows are in order
// of EndNS. A row whose Den is not positive, or whose numbers are not finite, counts
// as unknown. Methods panic if lengths differ.
type Series struct {
	EndNS, IntervalNS []int64
	Num, Den          []float64
	Known             []bool
}

func (s *Series) check() {
	n := len(s.EndNS)
	if len(s.IntervalNS) != n || len(s.Num) != n || len(s.Den) != n || (s.Known != nil && len(s.Known) != n) {
		panic(fmt.Sprintf("analyze: series of unequal lengths: %d ends, %d intervals, %d num, %d den, %d known",
			n, len(s.IntervalNS), len(s.Num), len(s.Den), len(s.Known)))
	}
}

func (s *Series) known(i int) bool {
	return (s.Known == nil || s.Known[i]) && s.Den[i] > 0 && isFinite(s.Den[i]) && isFinite(s.Num[i]/s.Den[i])
}

func (s *Series) mid(i int) int64   { return s.EndNS[i] - s.IntervalNS[i]/2 }
func (s *Series) start(i int) int64 { return s.EndNS[i] - s.IntervalNS[i] }

// rows returns the half-open range of rows whose midpoint lies in w.
func (s *Series) rows(w Window) (lo, hi int) {
	n := len(s.EndNS)
	for lo < n && !w.contains(s.mid(lo)) {
		lo++
	}
	hi = n
	for hi > lo && !w.contains(s.mid(hi-1)) {
		hi--
	}
	return lo, hi
}

// WindowValue is what a window of a run amounts to.
type WindowValue struct {
	FromNS, ToNS int64   // the time asked for; for a whole series, what its rows cover
	Value        float64 // sum of Num / sum of Den over the known rows
	Known        bool    // false: no known row, Value means nothing
	Rows         int     // known rows kept
	Unknown      int     // rows in the window that were unknown
	Gaps         int     // places where time between two rows is covered by none
	MissingNS    int64   // time in the window of unknown rows and gaps
}

// Window returns the value of the window: the compensated sum of Num over that of
// Den, over known rows whose interval's midpoint lies in w. Rows weigh by their Den:
// a late tick that covers two seconds counts as two.
func (s *Series) Window(w Window) WindowValue {
	s.check()
	lo, hi := s.rows(w)
	v := WindowValue{FromNS: w.FromNS, ToNS: w.ToNS}
	if w == (Window{}) && hi > lo {
		v.FromNS, v.ToNS = s.start(lo), s.EndNS[hi-1]
	}
	var num, den accumulator
	for i := lo; i < hi; i++ {
		if gap := s.gapBefore(i); i > lo && gap > 0 {
			v.Gaps++
			v.MissingNS += gap
		}
		if !s.known(i) {
			v.Unknown++
			v.MissingNS += s.IntervalNS[i]
			continue
		}
		v.Rows++
		num.add(s.Num[i])
		den.add(s.Den[i])
	}
	if v.Rows > 0 {
		if r := num.sum() / den.sum(); isFinite(r) {
			v.Value, v.Known = r, true
		}
	}
	return v
}

// gapBefore returns the time between the end of row i-1 and the start of row i.
func (s *Series) gapBefore(i int) int64 {
	if i == 0 {
		return 0
	}
	return s.start(i) - s.EndNS[i-1]
}

// Values returns the values Num/Den of the known rows whose midpoint lies in w, in
// order of time, as a new slice.
func (s *Series) Values(w Window) []float64 {
	s.check()
	lo, hi := s.rows(w)
	x := make([]float64, 0, hi-lo)
	for i := lo; i < hi; i++ {
		if s.known(i) {
			x = append(x, s.Num[i]/s.Den[i])
		}
	}
	return x
}
