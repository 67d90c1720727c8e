package analyze

import (
	"math"
	"strconv"
	"strings"
)

// plausNumber renders v with four significant digits, whole numbers below 1e15 in
// full.
func plausNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	a := math.Abs(v)
	if a >= 1e15 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := 3 - int(math.Floor(math.Log10(a)))
	if decimals < 0 {
		decimals = 0
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// plausFixed renders v with n decimals.
func plausFixed(v float64, n int) string {
	if math.Abs(v) >= 1e15 {
		return plausNumber(v)
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

type plausScale struct {
	factor float64
	unit   string
}

// plausScaled renders v with the largest unit that leaves at least 1.
func plausScaled(v float64, scales []plausScale) string {
	pick := scales[0]
	for _, s := range scales[1:] {
		if math.Abs(v) >= s.factor*(1-1e-9) {
			pick = s
		}
	}
	return plausNumber(v/pick.factor) + " " + pick.unit
}

func plausSeconds(v float64) string {
	if v == 0 {
		return "0 s"
	}
	return plausScaled(v, []plausScale{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}})
}

func plausBytes(v float64) string {
	return plausScaled(v, []plausScale{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}})
}

func plausBits(v float64) string {
	return plausScaled(v, []plausScale{{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}, {1e12, "Tbit/s"}})
}

func plausPercent(v float64) string {
	if math.Abs(v) >= 1e15 {
		return plausNumber(v) + " · 100 %" // v*100 may overflow
	}
	return plausNumber(v*100) + " %"
}

// plausSignedPercent renders v with its sign and three significant digits, at least
// one and at most two decimals.
func plausSignedPercent(v float64) string {
	if math.Abs(v) >= 1e15 {
		return plausPercent(v)
	}
	decimals := 1
	if math.Abs(v) < 0.0995 {
		decimals = 2
	}
	s := plausFixed(v*100, decimals)
	if v >= 0 {
		s = "+" + s
	}
	return s + " %"
}

// show renders a figure as published, else by render.
func (s plausSpan) show(render func(float64) string) string {
	if s.text != "" {
		return s.text
	}
	return render(s.v)
}

// plausPerSecond renders a rate as published with "/s" where no unit is there.
func plausPerSecond(s plausSpan) string {
	if strings.ContainsAny(s.text, "/ ") {
		return s.text
	}
	return s.show(plausNumber) + "/s"
}

// plausQuantile names a percentile: .99 is "P99", .999 "P99.9".
func plausQuantile(q float64) string {
	return "P" + strconv.FormatFloat(math.Round(q*1e8)/1e6, 'f', -1, 64)
}

// plausComplement renders 1-q as a percentage: .999 is "0.1 %".
func plausComplement(q float64) string {
	return strconv.FormatFloat(math.Round((1-q)*1e8)/1e6, 'f', -1, 64) + " %"
}

// plausPrefixSlip says with which unit a time would agree when it is off by a power
// of 1000: ("0.14 ms", 1000) gives "0.14 s".
func plausPrefixSlip(s plausSpan, factor float64) string {
	units := []string{"ns", "µs", "ms", "s"}
	step := int(math.Round(math.Log10(factor) / 3))
	if digits, unit, ok := strings.Cut(s.text, " "); ok {
		if unit == "us" {
			unit = "µs"
		}
		for i, u := range units {
			if u == unit && i+step >= 0 && i+step < len(units) {
				return digits + " " + units[i+step]
			}
		}
	}
	return plausSeconds(s.v * factor)
}

// plausUnitSlip returns the factor that explains ratio within the relative tolerance
// tol, and what it means; ok is false if none does. The factors are 8 (bits for
// bytes), 1000^k and 1.024^k (decimal for binary prefixes), and their inverses.
func plausUnitSlip(ratio, tol float64) (factor float64, meaning string, ok bool) {
	if !plausFinite(ratio) || ratio <= 0 {
		return 0, "", false
	}
	for _, c := range []struct {
		factor  float64
		meaning string
		tight   bool
	}{
		{8, "bits for bytes", false},
		{1e3, "a prefix", false}, {1e6, "two prefixes", false}, {1e9, "three prefixes", false},
		{1.024, "1000 for 1024", true}, {1.024 * 1.024, "MB for MiB", true},
		{1.024 * 1.024 * 1.024, "GB for GiB", true}, {1.024 * 1.024 * 1.024 * 1.024, "TB for TiB", true},
	} {
		t := tol
		if c.tight {
			t = min(tol, 0.004)
		}
		for _, f := range []float64{c.factor, 1 / c.factor} {
			if math.Abs(ratio/f-1) <= t {
				return f, c.meaning, true
			}
		}
	}
	return 0, "", false
}
