package evaluate

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"testing"
)

// shortScale keeps each row below a few seconds on one core.
var shortScale = map[int]float64{1: 0.05, 2: 0.05, 5: 0.02, 6: 0.03, 7: 0.1, 8: 0.1, 9: 0.01, 17: 1, 18: 1, 21: 0.05}

// TestRows fails where a figure misses its bar by more than three standard errors. With
// EVALUATE_SCALE=1 the rows have their full size; -v prints every figure.
func TestRows(t *testing.T) {
	for _, n := range Numbers() {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			scale := shortScale[n]
			if s, err := strconv.ParseFloat(os.Getenv("EVALUATE_SCALE"), 64); err == nil {
				scale = s
			}
			for _, r := range Run(n, scale, 1) {
				line := fmt.Sprintf("%-45s %-40s %10.4g ± %-8.2g R=%-6d must %-14s wish %-14s pass %v/%v  %s; %s", r.Name, r.Cell, r.Value, r.SE, r.R, r.Must, r.Moonshot, r.Pass, r.Wish, r.Naive, r.Published)
				t.Log(line)
				if r.Fails(3) {
					t.Error("missed: " + line)
				}
			}
		})
	}
}

func TestDeterminism(t *testing.T) {
	one := Run(2, 0.03, 7)
	old := runtime.GOMAXPROCS(1)
	two := Run(2, 0.03, 7)
	runtime.GOMAXPROCS(max(2, old))
	three := Run(2, 0.03, 7)
	runtime.GOMAXPROCS(old)
	if !reflect.DeepEqual(one, two) || !reflect.DeepEqual(one, three) {
		t.Error("rows depend on GOMAXPROCS")
	}
}

func BenchmarkRow5(b *testing.B) {
	for b.Loop() {
		Run(5, 0.001, 1)
	}
}
