package analyze

// Estimate is a figure with its confidence interval, in the unit of the data.
type Estimate struct {
	Value    float64
	Known    bool    // false: Value means nothing
	Lo, Hi   float64 // bounds of the interval, Lo <= Hi
	Interval bool    // false: Lo and Hi mean nothing
	Level    float64 // confidence level of the interval, in (0, 1)
	N        int     // observations used
}

// point returns an estimate without an interval, unknown if v is not finite.
func point(v float64, n int) Estimate {
	if !isFinite(v) {
		return Estimate{N: n}
	}
	return Estimate{Value: v, Known: true, N: n}
}

// bound adds an interval to e if both bounds are finite.
func (e Estimate) bound(lo, hi, level float64) Estimate {
	if e.Known && isFinite(lo) && isFinite(hi) {
		e.Lo, e.Hi, e.Interval, e.Level = lo, hi, true, level
	}
	return e
}

// Direction says which way a metric is good. The zero value is no direction: a
// difference is neither better nor worse.
type Direction int

const (
	None   Direction = iota // no way is better
	Higher                  // more is better: throughput
	Lower                   // less is better: latency
)

// String returns "none", "higher" or "lower".
func (d Direction) String() string {
	switch d {
	case Higher:
		return "higher"
	case Lower:
		return "lower"
	}
	return "none"
}

// Verdict is what a comparison comes to. It is empty for a metric without
// direction.
type Verdict string

const (
	Better    Verdict = "better"    // a difference beyond chance, not inside the margin
	Worse     Verdict = "worse"     // likewise, the bad way
	Same      Verdict = "same"      // the difference lies inside the margin
	Undecided Verdict = "undecided" // the data do not tell; it is not equality
)

// ptr returns a pointer to v, nil if v is not finite.
func ptr(v float64) *float64 {
	if !isFinite(v) {
		return nil
	}
	return &v
}
