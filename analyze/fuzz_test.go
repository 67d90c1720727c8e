package analyze

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
)

// nasty are values that break arithmetic.
var nasty = []float64{0, 1, -1, 1e308, -1e308, 1e-308, 5e-324, 1e154, 1e-160, math.NaN(), math.Inf(1), math.Inf(-1), 100, 101, 1 + 1e-15}

// floats reads values from data: a first byte below 200 picks a nasty one, any other
// takes the next eight bytes as they are.
func floats(data []byte) []float64 {
	var x []float64
	for len(data) > 0 && len(x) < 400 {
		b := data[0]
		data = data[1:]
		if b < 200 || len(data) < 8 {
			x = append(x, nasty[int(b)%len(nasty)])
			continue
		}
		x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		data = data[8:]
	}
	return x
}

func seeds(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint8(1))
	f.Add([]byte{3, 3, 4, 3, 12, 13, 1, 2}, uint8(2))
	f.Add([]byte{9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14}, uint8(3))
	long := make([]byte, 150)
	for i := range long {
		long[i] = byte(12 + i*i%3)
	}
	f.Add(long, uint8(4))
	for i := range long {
		long[i] = byte(3 + i%4)
	}
	f.Add(long, uint8(5))
}

// FuzzEstimators: whatever the data, no panic, no NaN, no infinity.
func FuzzEstimators(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		x := floats(data)
		check := func(name string, v ...any) {
			for _, v := range v {
				mustBeFinite(t, reflect.ValueOf(v), name)
			}
		}
		m, ok := Mean(x)
		check("Mean", m, ok)
		m, v, _ := MeanVariance(x)
		check("MeanVariance", m, v)
		e, s := MeanOverRuns(x, 0.95)
		check("MeanOverRuns", e, s)
		med, _ := Median(x)
		check("Median", med)
		check("EWC", EWC(x, 1+int(k)%12))
		r, _ := Autocorrelation(x, int(k)%5)
		check("Autocorrelation", r)
		check("WithinRun", WithinRun(x))
		check("TrendOf", TrendOf(x))
		check("MSER5", MSER5(x, 0.5))
		check("FindStart", FindStart(x))
		half := len(x) / 2
		a, b := x[:half], x[half:]
		n, _ := ExtendedRuns(a, b[:half], 0.02, 0.95)
		check("ExtendedRuns", n)
		floor, _ := NoiseFloor(x, 1+int(k), 0.05)
		check("NoiseFloor", floor)
		df := make([]float64, len(x))
		for i := range df {
			df[i] = float64(1 + (i+int(k))%9)
		}
		if p, ok := FitPrior(x, df); ok {
			check("FitPrior", p)
			v, d, _ := p.Squeeze(math.Abs(m), 4)
			check("Squeeze", v, d)
		}
		fit, _ := LeastSquares(a, b[:half], df[:half])
		check("LeastSquares", fit)
		fit, _ = Polynomial(a, b[:half], int(k)%4)
		check("Polynomial", fit)
		lo, hi, _ := JointQuantile(x)
		check("JointQuantile", lo, hi)
		if len(x) >= 4 {
			d, _ := MDE(x[0], x[1], 0.05, 0.8)
			check("MDE", d)
			n, _ := RunsNeeded(x[0], x[1], x[2], 0.01, 0.8)
			check("RunsNeeded", n)
			u, _ := SDUpper(x[0], x[1], 0.8)
			check("SDUpper", u)
			best, _ := BestRunSeconds(x[0], x[1], x[2])
			check("BestRunSeconds", best)
		}
		finite := true
		for _, v := range x {
			finite = finite && isFinite(v)
		}
		if finite {
			check("Hampel", Hampel(x, 1+int(k)%10, 4))
			if s := Sum(x); !isFinite(s) && isFinite(sumScaled(x, 0x1p-70)*0x1p70) {
				t.Fatalf("Sum = %v although the total fits", s)
			}
		}
	})
}

// FuzzJudge judges systems of runs made from the data: values and series, with and
// without order, gaps and unknown rows.
func FuzzJudge(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		x := floats(data)
		rows := &Series{}
		var end int64
		for i, v := range x {
			d := int64(1e9)
			if i%7 == 6 {
				d = 2e9
			}
			end += d
			if k%3 == 1 && i%11 == 10 {
				end += 5e9
			}
			rows.EndNS, rows.IntervalNS = append(rows.EndNS, end), append(rows.IntervalNS, d)
			rows.Num, rows.Den = append(rows.Num, v), append(rows.Den, float64(d)/1e9)
			rows.Known = append(rows.Known, i%13 != 12)
		}
		var a, b []Run
		for i, v := range x {
			r := Run{Value: v, Known: i%9 != 8, Slot: i}
			if k%2 == 1 {
				r.Slot = -1
			}
			if k%5 == 4 {
				r.Slot = i / 2
			}
			if i%2 == 0 {
				a = append(a, r)
			} else {
				b = append(b, r)
			}
			if i > 30 {
				break
			}
		}
		ms := []Metric{
			{Name: "v", Primary: true, Direction: Higher, Baseline: "b", Pilot: int(k) % 4, Systems: []SystemRuns{{"a", a}, {"b", b}}},
			{Name: "s", Scenario: "s", Direction: Lower, Baseline: "b", Systems: []SystemRuns{
				{"a", []Run{{Series: rows, Slot: -1}, {Series: rows, Slot: -1, Span: Window{0, 90e9}}, {Value: 1, Known: true, Slot: -1}}},
				{"b", []Run{{Series: rows, Slot: -1, Fixed: Window{10e9, 50e9}}, {Series: rows, Slot: -1}, {Series: &Series{}, Slot: -1}}}}},
		}
		for i := range 25 {
			m := ms[0]
			m.Primary, m.Class, m.Pilot = false, "c", 0
			if len(a) > i%5 {
				m.Systems = []SystemRuns{{"a", a[i%5:]}, {"b", b}}
			}
			ms = append(ms, m)
		}
		for _, opt := range []Options{{}, {Window: Auto, RunSeconds: 30, BY: true}} {
			mustBeFinite(t, reflect.ValueOf(Judge(ms, opt)), "Judge")
		}
	})
}
