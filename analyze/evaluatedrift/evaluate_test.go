package evaluatedrift

import (
	"flag"
	"reflect"
	"runtime"
	"testing"
)

var (
	scale = flag.Float64("scale", 0.03, "simulations per cell in units of 10,000")
	seed  = flag.Uint64("seed", 7, "seed")
)

// Every cell of rows 11 to 16 against its bar, at 300 simulations a cell; a bar
// is failed beyond three standard errors. The full evaluation is the same test
// with -scale 1.
func TestEvaluate(t *testing.T) {
	for row := 11; row <= 16; row++ {
		for _, r := range Run(row, *scale, *seed) {
			t.Logf("%d %s | %s: %.4f ± %.4f, R %d, must %s, moonshot %s (%v); naive %s, published %s",
				r.Number, r.Name, r.Cell, r.Value, r.SE, r.R, r.Must, r.Moonshot, r.Reached, r.Naive, r.Published)
			if !r.Pass {
				t.Errorf("%d %s | %s: %.4f ± %.4f, must %s", r.Number, r.Name, r.Cell, r.Value, r.SE, r.Must)
			}
		}
	}
}

// The figures do not depend on how many processors there are.
func TestRunIsDeterministic(t *testing.T) {
	a := Run(14, 0.005, 3)
	old := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(old)
	if b := Run(14, 0.005, 3); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}
