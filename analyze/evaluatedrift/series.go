package evaluatedrift

import (
	"embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/analyze"
)

// Public series, each with its licence beside it: the artificial part of the
// Numenta Anomaly Benchmark and one half of the Turing Change Point Dataset.
//
//go:embed testdata
var data embed.FS

func read(name string) []byte {
	b, err := data.ReadFile(path.Join("testdata", name))
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	return b
}

// list returns the files of a folder with that ending, in order of name.
func list(folder, ext string) []string {
	var out []string
	e, err := fs.ReadDir(data, path.Join("testdata", folder))
	if err != nil {
		panic(err)
	}
	for _, f := range e {
		if strings.HasSuffix(f.Name(), ext) {
			out = append(out, path.Join(folder, f.Name()))
		}
	}
	slices.Sort(out)
	return out
}

// nabWindows cuts the artificial series into soaks of 72 h of ten-minute bins,
// without those that hold a labelled anomaly or lack a fifth of their bins.
func nabWindows() (names []string, bins []analyze.DriftBins) {
	var labels map[string][][2]string
	if err := json.Unmarshal(read("nab/combined_windows.json"), &labels); err != nil {
		panic(err)
	}
	const n, width = 432, int64(600e9)
	for _, f := range append(list("nab/artificialNoAnomaly", ".csv"), list("nab/artificialWithAnomaly", ".csv")...) {
		rows, err := csv.NewReader(strings.NewReader(string(read(f)))).ReadAll()
		if err != nil {
			panic(err)
		}
		stamp := func(s string) int64 {
			t, err := time.Parse("2006-01-02 15:04:05", s[:19])
			if err != nil {
				panic(err)
			}
			return t.UnixNano()
		}
		start := stamp(rows[1][0])
		b := analyze.NewDriftBinner(start, width)
		for _, r := range rows[1:] {
			v, err := strconv.ParseFloat(r[1], 64)
			if err != nil {
				panic(err)
			}
			// A stamp begins its five minutes.
			b.Add(stamp(r[0])+300e9, 300e9, v, 1, true)
		}
		all := b.Bins()
		for at := 0; at+n <= len(all.Mean); at += n {
			w := analyze.DriftBins{StartNS: start + int64(at)*width, WidthNS: width,
				Mean: all.Mean[at : at+n], Median: all.Median[at : at+n], Known: all.Known[at : at+n]}
			missing := 0
			for _, ok := range w.Known {
				if !ok {
					missing++
				}
			}
			labelled := false
			for _, l := range labels[strings.TrimPrefix(f, "nab/")] {
				if stamp(l[0]) < w.StartNS+n*width && stamp(l[1]) >= w.StartNS {
					labelled = true
				}
			}
			if labelled || missing > n/5 {
				continue
			}
			names = append(names, fmt.Sprintf("%s at %d h", path.Base(f), at/6))
			bins = append(bins, w)
		}
	}
	return names, bins
}

func negatives() []Row {
	names, bins := nabWindows()
	judge := func(b analyze.DriftBins) bool {
		v := analyze.Drift([]analyze.DriftSeries{{Bins: b}}, analyze.DriftOptions{NoTheilSen: true, NoSteps: true})
		return v[0].Verdict == analyze.DriftFound
	}
	var alarms, found float64
	var missed []string
	for i, b := range bins {
		if judge(b) {
			alarms++
		}
		s := b
		s.Mean, s.Median = slices.Clone(b.Mean), slices.Clone(b.Median)
		var level float64
		for _, v := range b.Mean {
			level += v / float64(len(b.Mean))
		}
		for k := 288; k < len(s.Mean); k++ {
			s.Mean[k] -= 0.1 * math.Abs(level)
			s.Median[k] -= 0.1 * math.Abs(level)
		}
		if judge(s) {
			found++
		} else {
			missed = append(missed, names[i])
		}
	}
	n := float64(len(bins))
	a := Row{Number: 15, Name: "alarms on NAB artificial soaks", Cell: fmt.Sprintf("%d soaks", len(bins)), Published: "prototype 0 of 38", Value: alarms, R: len(bins)}
	f := Row{Number: 15, Name: "a step of -10 % injected into them is found", Cell: "missed: " + strings.Join(missed, ", "), Value: found / n, R: len(bins)}
	changed := 0.0
	var quiet []string
	for _, s := range tcpdSeries() {
		none := 0
		for _, a := range s.annotators {
			if len(a) == 0 {
				none++
			}
		}
		if 2*none <= len(s.annotators) {
			continue
		}
		quiet = append(quiet, s.name)
		if len(analyze.ChangePoints(s.x)) > 0 {
			changed++
		}
	}
	q := Row{Number: 15, Name: "changes found in TCPD series where most annotators see none", Cell: strings.Join(quiet, ", "), Value: changed, R: len(quiet), Pass: true}
	return []Row{a.atMost(0, 0), f.atLeast(.9, .95), q}
}

type series struct {
	name       string
	x          []float64
	annotators [][]int
}

// tcpdSeries are the univariate series, in order of name; NaN is missing.
func tcpdSeries() []series {
	var labels map[string]map[string][]int
	if err := json.Unmarshal(read("tcpd/annotations.json"), &labels); err != nil {
		panic(err)
	}
	var out []series
	for _, f := range list("tcpd/datasets", ".json") {
		var j struct {
			Series []struct{ Raw []*float64 }
		}
		if err := json.Unmarshal(read(f), &j); err != nil {
			panic(err)
		}
		if len(j.Series) != 1 {
			continue
		}
		s := series{name: strings.TrimSuffix(path.Base(f), ".json")}
		for _, p := range j.Series[0].Raw {
			v := math.NaN()
			if p != nil {
				v = *p
			}
			s.x = append(s.x, v)
		}
		var ids []string
		for id := range labels[s.name] {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			s.annotators = append(s.annotators, labels[s.name][id])
		}
		out = append(out, s)
	}
	return out
}

func changePoints() []Row {
	ss := tcpdSeries()
	var f, c, zf, zc float64
	for _, s := range ss {
		p := analyze.ChangePoints(s.x)
		f += analyze.ChangePointsF1(s.annotators, p, 5) / float64(len(ss))
		c += analyze.ChangePointsCover(s.annotators, p, len(s.x)) / float64(len(ss))
		zf += analyze.ChangePointsF1(s.annotators, nil, 5) / float64(len(ss))
		zc += analyze.ChangePointsCover(s.annotators, nil, len(s.x)) / float64(len(ss))
	}
	a := Row{Number: 16, Name: "TCPD F1, one setting", Cell: fmt.Sprintf("%d series", len(ss)), Naive: fmt.Sprintf("no change %.3f", zf),
		Published: "binseg .692, pelt .677, amoc .677", Value: f, R: len(ss)}
	b := Row{Number: 16, Name: "TCPD cover, one setting", Cell: fmt.Sprintf("%d series", len(ss)), Naive: fmt.Sprintf("no change %.3f", zc),
		Published: "amoc .682, pelt .651, binseg .649", Value: c, R: len(ss)}
	return []Row{a.atLeast(.73, .80), b.atLeast(.69, .74)}
}
