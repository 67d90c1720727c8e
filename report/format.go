package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// scale brings a value from its base unit to the unit it is read in.
type scale struct {
	factor float64 // multiplies the value
	unit   string
}

type prefix struct {
	above  float64 // base units from which on it is used
	factor float64
	unit   string
}

var (
	byteUnits = []prefix{{1 << 40, 1.0 / (1 << 40), "TiB"}, {1 << 30, 1.0 / (1 << 30), "GiB"}, {1 << 20, 1.0 / (1 << 20), "MiB"}, {1 << 10, 1.0 / (1 << 10), "KiB"}, {0, 1, "B"}}
	timeUnits = []prefix{{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}}
	bitUnits  = []prefix{{1e12, 1e-12, "Tbit"}, {1e9, 1e-9, "Gbit"}, {1e6, 1e-6, "Mbit"}, {1e3, 1e-3, "kbit"}, {0, 1, "bit"}}
)

// scaleFor returns the scale for values up to largest, in unit.
func scaleFor(unit string, largest float64) scale {
	if largest < 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		largest = 0
	}
	pick := func(table []prefix, per string, base float64) scale {
		for _, p := range table {
			if largest*base >= p.above && (p.above > 0 || largest > 0) {
				return scale{p.factor * base, p.unit + per}
			}
		}
		return scale{1, unit}
	}
	body, per := unit, ""
	if i := strings.LastIndex(unit, "/"); i > 0 {
		body, per = unit[:i], unit[i:]
	}
	switch body {
	case "B", "byte":
		return pick(byteUnits, per, 1)
	case "bit":
		return pick(bitUnits, per, 1)
	case "s":
		return pick(timeUnits, per, 1)
	case "ns":
		return pick(timeUnits, per, 1e-9)
	case "%":
		return scale{1, unit}
	case "1", "":
		return decimal(largest, per)
	}
	s := decimal(largest, "")
	return scale{s.factor, strings.TrimSpace(s.unit + " " + unit)}
}

// decimal scales plain numbers from 10,000 on.
func decimal(largest float64, per string) scale {
	switch {
	case largest >= 1e10:
		return scale{1e-9, "G" + per}
	case largest >= 1e7:
		return scale{1e-6, "M" + per}
	case largest >= 1e4:
		return scale{1e-3, "k" + per}
	}
	if per != "" {
		return scale{1, "1" + per}
	}
	return scale{1, ""}
}

// scaleOf returns the one scale in which all systems of a metric are read.
func scaleOf(m *schemas.MetricResult) scale {
	var top float64
	for i := range m.Systems {
		if x, ok := known(m.Systems[i].Mean); ok {
			top = max(top, math.Abs(x))
		}
	}
	for i := range m.Comparisons {
		if x, ok := known(m.Comparisons[i].Difference); ok && top == 0 {
			top = max(top, math.Abs(x))
		}
	}
	return scaleFor(m.Unit, top)
}

// unsupported is how many significant digits a number has that no interval stands
// behind.
const unsupported = 3

// decimals returns how many digits after the point a value may be shown with, when
// its uncertainty is half: two digits of the uncertainty if they are below 35, else
// one. It is negative if even the tens are uncertain. Without an uncertainty the
// value gets three significant digits.
func decimals(value, half float64) int {
	half, value = math.Abs(half), math.Abs(value)
	d := 0
	switch {
	case half > 0:
		e := int(math.Floor(math.Log10(half)))
		lead := half / math.Pow10(e) // in [1, 10)
		switch {
		case lead < 3.55:
			d = 1 - e
		case lead < 9.5:
			d = -e
		default: // rounds up to 10
			d = -e
		}
	case value > 0:
		d = unsupported - 1 - int(math.Floor(math.Log10(value)))
	}
	if value > 0 { // an interval of next to nothing doesn't make a value of 15 digits
		d = min(d, 5-int(math.Floor(math.Log10(value))))
	}
	return min(d, 12)
}

// fixed prints x with d digits after the point; a negative d rounds to tens,
// hundreds, ...
func fixed(x float64, d int) string {
	if d < 0 {
		p := math.Pow10(-d)
		x, d = math.Round(x/p)*p, 0
	}
	s := strconv.FormatFloat(x, 'f', d, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// signed is fixed with the sign always said; a zero has none.
func signed(x float64, d int) string {
	s := fixed(x, d)
	if x > 0 && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}

// floorTo rounds x toward zero to d digits, so that "at least" holds.
func floorTo(x float64, d int) float64 {
	p := math.Pow10(d)
	return math.Trunc(x*p+1e-9) / p
}

// interval is a value with its interval, in the unit it is read in.
type interval struct {
	value, lo, hi float64
	ok, bounded   bool // the value, and the bounds, are known
}

func intervalOf(value *float64, ci [2]*float64, factor float64) interval {
	v, ok := known(value)
	lo, ok1 := known(ci[0])
	hi, ok2 := known(ci[1])
	return interval{v * factor, lo * factor, hi * factor, ok, ok && ok1 && ok2}
}

func (iv interval) half() float64 {
	if !iv.bounded {
		return 0
	}
	return (iv.hi - iv.lo) / 2
}

// mean prints the value as "123.4 ±1.2", or as "123.4 [120.1, 130.2]" if the
// interval is not symmetric.
func (iv interval) mean() string {
	if !iv.ok {
		return dash
	}
	d := decimals(iv.value, iv.half())
	if !iv.bounded {
		return fixed(iv.value, d)
	}
	if math.Abs((iv.hi-iv.value)-(iv.value-iv.lo)) < math.Pow10(-d) {
		return fixed(iv.value, d) + " ±" + fixed(iv.half(), d)
	}
	return fixed(iv.value, d) + " [" + fixed(iv.lo, d) + ", " + fixed(iv.hi, d) + "]"
}

// difference prints the value as "+9.0 % [+6.8, +11.4]".
func (iv interval) difference(unit string) string {
	if !iv.ok {
		return dash
	}
	v, ci := iv.parts(unit)
	if ci == "" {
		return v
	}
	return v + " [" + ci + "]"
}

// parts returns the value with its unit, and "lo, hi".
func (iv interval) parts(unit string) (value, ci string) {
	d := decimals(iv.value, iv.half())
	if !iv.bounded && unit == "%" {
		d = min(d, 1)
	}
	value = strings.TrimSpace(bounded(iv.value, d, unit) + " " + unit)
	if iv.bounded {
		ci = bounded(iv.lo, d, unit) + ", " + bounded(iv.hi, d, unit)
	}
	return value, ci
}

// bounded is signed, but a percentage beyond all reason is only said to be that.
func bounded(x float64, d int, unit string) string {
	if unit == "%" && x > 9999 {
		return ">+9999"
	}
	return signed(x, d)
}

// differenceOf returns a comparison's difference in percent, or in the metric's
// unit where a percentage has no meaning (a baseline of zero).
func (rw *row) differenceOf() (interval, string) {
	if rw.comp == nil {
		return interval{}, ""
	}
	if _, ok := known(rw.comp.Percent); ok {
		return intervalOf(rw.comp.Percent, rw.comp.PercentCI, 1), "%"
	}
	return intervalOf(rw.comp.Difference, rw.comp.DifferenceCI, rw.scale.factor), rw.scale.unit
}

// percentText prints a percentage that has no interval, with two significant
// digits.
func percentText(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0 %"
	case a >= 10:
		return fixed(x, 0) + " %"
	case a >= 1:
		return strings.TrimSuffix(fixed(x, 1), ".0") + " %"
	}
	return strconv.FormatFloat(x, 'g', 2, 64) + " %"
}

// grouped prints an integer with thousands separated.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if neg {
		return "-" + b.String()
	}
	return b.String()
}
