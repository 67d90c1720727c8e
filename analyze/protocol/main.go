// Command protocol measures the error rates of package analyze by seeded simulation and
// on public series, row by row of the evaluation protocol, and writes them as Markdown.
// It exits with 1 if a figure misses its bar by more than three standard errors.
//
//	go run ./analyze/protocol -o docs/EVALUATION.md   full size, a quarter of an hour on 2 cores
//	go run ./analyze/protocol -short                  a glance, to standard output
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/steadybench/steady/analyze/evaluate"
	"github.com/steadybench/steady/analyze/evaluatedrift"
)

// figure is one cell of a row, of either package.
type figure struct {
	name, cell, naive, published, must, moonshot string
	value, se                                    float64
	r                                            int
	fails, pass, reached                         bool
}

// titles are the rows of the protocol.
var titles = map[int]string{
	1: "Interval of a system's mean over runs", 2: "Interval of a ratio", 3: "A/A on 586 real benchmarks", 4: "Real coverage, 3 forks",
	5: "False discoveries and power over 300 metrics", 6: "Errors of the verdict", 7: "Interval within one run", 8: "Planning: runs needed",
	9: "Warm-up, synthetic", 10: "Warm-up, human labels", 11: "Soak: false alarms at 1 %", 12: "Soak: power for a 3 % step at 48 h, sd 1 %",
	13: "Soak: power for +200 MB", 14: "Soak: where the step was", 15: "Soak: public series without a change", 16: "Change points on public series",
	17: "Digits on NIST StRD", 18: "References", 19: "Histograms merged", 20: "Cost", 21: "Invariances",
}

// elsewhere are the rows that are measured in another way.
var elsewhere = map[int]string{
	3:  "Needs data whose licence does not let them be here.",
	4:  "Needs data whose licence does not let them be here.",
	10: "Needs data whose licence does not let them be here.",
	19: "Tests of package loaders: quantiles of merged histograms equal those of a histogram of all values.",
	20: "`make bench`: BenchmarkDriftRun in cmd/steady (from Parquet), BenchmarkDrift and BenchmarkJudge in analyze.",
}

// shortScale keeps a glance under two minutes on two cores.
var shortScale = map[int]float64{1: 0.05, 2: 0.05, 5: 0.02, 6: 0.03, 7: 0.1, 8: 0.1, 9: 0.01, 17: 1, 18: 1, 21: 0.05}

const (
	rows           = 21
	shortScaleSoak = 0.03
	seed           = 1
)

func main() {
	out := flag.String("o", "", "file (default: standard output)")
	short := flag.Bool("short", false, "fewer repetitions")
	flag.Parse()
	os.Exit(run(*out, *short))
}

func run(path string, short bool) int {
	began := time.Now()
	var b strings.Builder
	failed := 0
	for n := 1; n <= rows; n++ {
		if text, ok := elsewhere[n]; ok {
			fmt.Fprintf(&b, "\n## %d. %s\n%s\n", n, titles[n], text)
			continue
		}
		started := time.Now()
		fs := measure(n, short)
		failed += section(&b, n, fs)
		fmt.Fprintf(os.Stderr, "row %d: %d figures, %s\n", n, len(fs), time.Since(started).Round(time.Second))
	}
	w := io.Writer(os.Stdout)
	if path != "" {
		f, err := os.Create(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer f.Close()
		w = f
	}
	size := "full size"
	if short {
		size = "a glance: fewer repetitions, see R"
	}
	_, err := fmt.Fprintf(w, `# Measured error rates

Written by `+"`make evaluate`"+` (%s, seed %d). Each figure is measured by seeded
simulation, or on public series, against the bar that was set before (MUST) and the best
that was hoped for (MOONSHOT). ± is the standard error of the measurement, R the
repetitions of the cell. A figure misses its bar where it is beyond it by more than two
standard errors (soaks: three), and cells count one by one: the worst is the score.
%s`, size, seed, b.String())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "%d figures miss their bar by more than three standard errors; %s in all\n", failed, time.Since(began).Round(time.Second))
	return min(failed, 1)
}

// measure measures one row.
func measure(n int, short bool) []figure {
	var out []figure
	if n >= 11 && n <= 16 {
		scale := 1.0
		if short {
			scale = shortScaleSoak
		}
		for _, r := range evaluatedrift.Run(n, scale, seed) {
			out = append(out, figure{r.Name, r.Cell, r.Naive, r.Published, r.Must, r.Moonshot, r.Value, r.SE, r.R, !r.Pass, r.Pass, r.Reached})
		}
		return out
	}
	scale := 1.0
	if short {
		scale = shortScale[n]
	}
	for _, r := range evaluate.Run(n, scale, seed) {
		out = append(out, figure{r.Name, r.Cell, r.Naive, r.Published, r.Must, r.Moonshot, r.Value, r.SE, r.R, r.Fails(3), r.Pass, r.Wish})
	}
	return out
}

// section writes a row's figures and returns how many fail.
func section(b *strings.Builder, n int, fs []figure) (failed int) {
	met, barred, wished, reached := 0, 0, 0, 0
	for _, f := range fs {
		if f.must != "" {
			barred++
			if f.pass {
				met++
			}
		}
		if f.moonshot != "" {
			wished++
			if f.reached {
				reached++
			}
		}
		if f.fails {
			failed++
		}
	}
	fmt.Fprintf(b, "\n## %d. %s\nMUST met in %d of %d cells, MOONSHOT in %d of %d.\n\n", n, titles[n], met, barred, reached, wished)
	b.WriteString("| figure | cell | naive | published | MUST | MOONSHOT | ours | R | |\n| --- | --- | --- | --- | --- | --- | --- | ---: | --- |\n")
	for _, f := range fs {
		mark := ""
		switch {
		case f.must != "" && !f.pass:
			mark = "missed"
		case f.reached:
			mark = "moonshot"
		}
		value := fmt.Sprintf("%.4g", f.value)
		if f.se > 0 {
			value += fmt.Sprintf(" ± %.2g", f.se)
		}
		cells := []string{f.name, f.cell, f.naive, f.published, f.must, f.moonshot, value, fmt.Sprint(f.r), mark}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	return failed
}
