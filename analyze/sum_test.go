package analyze

import (
	"math"
	"slices"
	"testing"
)

func TestSum(t *testing.T) {
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{1, 1e100, 1, -1e100}, 2},
		{[]float64{1e308, 1e308, -1e308}, 1e308}, // a partial sum overflows
		{slices.Repeat([]float64{0.1}, 10), 1},
	} {
		if got := Sum(tt.x); got != tt.want {
			t.Errorf("Sum(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
}

func TestMeanVariance(t *testing.T) {
	for _, tt := range []struct {
		x       []float64
		mean, v float64
		ok      bool
	}{
		{[]float64{1, 2, 3}, 2, 1, true},
		{[]float64{1e200, 3e200}, 0, 0, false}, // the variance has no float64
		{[]float64{1e-170, 3e-170}, 2e-170, 0, true},
		{[]float64{1e9 + 1, 1e9 + 2, 1e9 + 3}, 1e9 + 2, 1, true},
		{[]float64{5}, 0, 0, false},
		{nil, 0, 0, false},
		{[]float64{1, math.NaN()}, 0, 0, false},
		{[]float64{1, math.Inf(-1)}, 0, 0, false},
	} {
		m, v, ok := MeanVariance(tt.x)
		if ok != tt.ok || !near(m, tt.mean, 1e-15) || math.Abs(v-tt.v) > 1e-15 {
			t.Errorf("MeanVariance(%v) = %v, %v, %v", tt.x, m, v, ok)
		}
	}
	if m, ok := Mean([]float64{1e308, 1e308, 1e308}); !ok || m != 1e308 {
		t.Errorf("Mean of large values = %v, %v", m, ok)
	}
	x := []float64{3, 1, 2}
	if m, ok := Median(x); !ok || m != 2 || x[0] != 3 {
		t.Errorf("Median = %v, x now %v", m, x)
	}
	if m, ok := Median([]float64{1e308, 1.2e308}); !ok || m != 1.1e308 {
		t.Errorf("Median of large values = %v", m)
	}
}
