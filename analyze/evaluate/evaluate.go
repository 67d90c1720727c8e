// Package evaluate measures package analyze against known truths: simulations with
// fixed seeds, cell by cell of a grid, beside what a naive analysis and published
// methods reach. The worst cell of a row is its score; averages over cells hide
// failures.
//
// The rows are numbered: 1 interval of a mean over runs, 2 interval of a ratio, 5 false
// discoveries and power among many metrics, 6 wrong verdicts, 7 interval from a single
// run, 8 planning, 9 warm-up, 17 NIST's certified digits, 18 reference values, 21
// invariances. It reads no file and no clock.
package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Row is one measured figure of one cell.
type Row struct {
	Number    int
	Name      string // what the figure is
	Cell      string // where in the grid
	Naive     string // what the obvious method does there, or ""
	Published string
	Must      string // the bar
	Moonshot  string // the wish, or ""
	Value, SE float64
	R         int     // repetitions
	Lo, Hi    float64 // the bar, as bounds of Value; infinite: none
	WishLo    float64 // the wish likewise
	WishHi    float64
	Pass      bool // Value does not miss the bar by more than two SE: at a nominal level a bare comparison is a coin toss
	Wish      bool // and likewise the wish
}

// Fails reports whether the value misses the bar by more than z standard errors: what
// a short run may fail for.
func (r Row) Fails(z float64) bool {
	return r.Value < r.Lo-z*r.SE || r.Value > r.Hi+z*r.SE || math.IsNaN(r.Value)
}

// Run measures one row. scale 1 is full size, 10,000 repetitions a cell (row 5: 2,500
// sets of 300 metrics); 0.01 is a glance. The result depends on row, scale and seed only, whatever
// GOMAXPROCS is. Run panics on a row that is not one of those of the package.
func Run(row int, scale float64, seed uint64) []Row {
	f, ok := rows[row]
	if !ok {
		panic(fmt.Sprintf("evaluate: no row %d", row))
	}
	out := f(max(1, int(math.Round(10000*scale))), seed)
	for i := range out {
		r := &out[i]
		r.Number = row
		r.Pass = !r.Fails(2)
		wish := *r
		wish.Lo, wish.Hi = r.WishLo, r.WishHi
		r.Wish = r.Pass && !wish.Fails(2)
	}
	return out
}

// Numbers are the rows there are, in order.
func Numbers() []int {
	var n []int
	for k := range rows {
		n = append(n, k)
	}
	slices.Sort(n)
	return n
}

var rows = map[int]func(reps int, seed uint64) []Row{
	1: row1, 2: row2, 5: row5, 6: row6, 7: row7, 8: row8, 9: row9, 17: row17, 18: row18, 21: row21,
}

// bar sets the bounds of a row.
func (r Row) bar(lo, hi, wishLo, wishHi float64) Row {
	r.Lo, r.Hi, r.WishLo, r.WishHi = lo, hi, wishLo, wishHi
	show := func(lo, hi float64) string {
		switch {
		case math.IsInf(lo, 0) && math.IsInf(hi, 0):
			return ""
		case math.IsInf(lo, 0):
			return fmt.Sprintf("<= %.4g", hi)
		case math.IsInf(hi, 0):
			return fmt.Sprintf(">= %.4g", lo)
		}
		return fmt.Sprintf("%.4g to %.4g", lo, hi)
	}
	r.Must, r.Moonshot = show(lo, hi), show(wishLo, wishHi)
	return r
}

var (
	inf = math.Inf(1)
	low = math.Inf(-1)
)

// share makes a row of k successes in n.
func share(name, cell string, k float64, n int) Row {
	p := k / float64(n)
	return Row{Name: name, Cell: cell, Value: p, SE: math.Sqrt(p*(1-p)/float64(n)) + 0.5/float64(n), R: n}.bar(low, inf, low, inf)
}

// figure makes a row of a value that is not a share.
func figure(name, cell string, v, se float64, n int) Row {
	return Row{Name: name, Cell: cell, Value: v, SE: se, R: n}.bar(low, inf, low, inf)
}

// tally is what a chunk of repetitions adds up.
type tally struct {
	sum  []float64
	list [][]float64
}

func (t *tally) add(k int, v float64) {
	for len(t.sum) <= k {
		t.sum = append(t.sum, 0)
	}
	t.sum[k] += v
}

func (t *tally) count(k int, yes bool) {
	if yes {
		t.add(k, 1)
	} else {
		t.add(k, 0)
	}
}

func (t *tally) keep(k int, v float64) {
	for len(t.list) <= k {
		t.list = append(t.list, nil)
	}
	t.list[k] = append(t.list[k], v)
}

func (t *tally) at(k int) float64 {
	if k < len(t.sum) {
		return t.sum[k]
	}
	return 0
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// chunk is how many repetitions share a random stream.
const chunk = 100

// simulate runs reps repetitions of every cell, in parallel, and returns a tally a
// cell. Every chunk of a cell has its own stream, and chunks are added in order, so
// the result does not depend on who computed what.
func simulate(row, cells, reps int, seed uint64, f func(cell int, r *rand.Rand, t *tally)) []tally {
	chunks := (reps + chunk - 1) / chunk
	parts := make([]tally, cells*chunks)
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				cell, c := j/chunks, j%chunks
				r := rand.New(rand.NewPCG(seed, uint64(row)<<48|uint64(cell)<<24|uint64(c)))
				for range min(chunk, reps-c*chunk) {
					f(cell, r, &parts[j])
				}
			}
		})
	}
	for j := range parts {
		jobs <- j
	}
	close(jobs)
	wg.Wait()
	out := make([]tally, cells)
	for j := range parts {
		t := &out[j/chunks]
		for k, v := range parts[j].sum {
			t.add(k, v)
		}
		for k, l := range parts[j].list {
			for len(t.list) <= k {
				t.list = append(t.list, nil)
			}
			t.list[k] = append(t.list[k], l...)
		}
	}
	return out
}

// ar1 fills x with an AR(1) process of variance 1.
func ar1(r *rand.Rand, x []float64, phi float64) {
	s := math.Sqrt(1 - phi*phi)
	for i := range x {
		z := r.NormFloat64()
		if i == 0 {
			x[i] = z
		} else {
			x[i] = phi*x[i-1] + s*z
		}
	}
}

// chiSquared draws from the chi-squared distribution with a whole or fractional
// number of degrees of freedom (Marsaglia, Tsang 2000, doi:10.1145/358407.358414).
func chiSquared(r *rand.Rand, df float64) float64 {
	a := df / 2
	boost := 1.0
	if a < 1 {
		boost = math.Pow(1-r.Float64(), 1/a)
		a++
	}
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		z := r.NormFloat64()
		v := 1 + c*z
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - r.Float64(); math.Log(u) < z*z/2+d-d*v+d*math.Log(v) {
			return 2 * d * v * boost
		}
	}
}
