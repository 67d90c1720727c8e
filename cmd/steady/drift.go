package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

type driftFlags struct {
	data, against   string
	alpha, gate     float64
	memoryGateBytes float64
	keep            time.Duration
	json, all, exit bool
	primary         []string
}

// driftPrimary are the metrics that a soak is about unless others are named.
var driftPrimary = []string{"workload.throughput", "memory.used_bytes"}

func (a *app) drift() *cobra.Command {
	var f driftFlags
	c := &cobra.Command{
		Use:   "drift RUN...",
		Short: "did a long run drift, is it steady, or can't it tell?",
		Long: `Judges every metric of a run that was long under a constant load: drift, with its shape,
size and onset; steady, if no change as large as the gate can hide in it; or undecided,
with the smallest drift that this run would have shown. A run still going on is judged
by what there is of it. --against judges the difference to a known-good run in lock-step.
Of several runs (names, or patterns such as 'soak-*/new/*/01') the verdicts are counted.`,
		Args: atLeast(1),
		RunE: func(c *cobra.Command, arg []string) error { return a.runDrift(c.Context(), arg, f) },
	}
	dataFlag(c, &f.data)
	jsonFlag(c, &f.json)
	fl := c.Flags()
	fl.StringVar(&f.against, "against", "", "a known-good run to compare with in lock-step")
	percentVar(c, &f.alpha, "alpha", "1%", "share of healthy runs that may be called drifting")
	percentVar(c, &f.gate, "gate", "1%", "the smallest change that matters")
	fl.Float64Var(&f.memoryGateBytes, "memory-gate", 50e6, "the same for memory, bytes")
	fl.StringSliceVar(&f.primary, "primary", driftPrimary, "the metrics that the run is about")
	fl.BoolVar(&f.all, "all", false, "print metrics that did not drift too")
	fl.BoolVar(&f.exit, "gate-exit", false, "exit 3 if a primary metric drifts, 4 if one is undecided")
	return c
}

func (a *app) runDrift(ctx context.Context, names []string, f driftFlags) error {
	if f.alpha <= 0 || f.alpha >= 0.5 || f.gate < 0 || f.memoryGateBytes < 0 {
		return usage("drift: --alpha above 0%% and below 50%%, gates of 0 or more")
	}
	var against *loaders.Run
	if f.against != "" {
		r, done, err := openRun(f.data, f.against)
		if err != nil {
			return err
		}
		defer done()
		against = r
	}
	runs := expandRuns(f.data, names)
	var all []schemas.Drift
	for _, name := range runs {
		if ctx.Err() != nil {
			return &exitError{exitFailed, errors.New("interrupted")}
		}
		r, done, err := openRun(f.data, name)
		if err != nil {
			return err
		}
		ds, err := driftOf(r, against, f)
		done()
		if err != nil {
			return err
		}
		if len(runs) > 1 {
			ds = slices.DeleteFunc(ds, func(d schemas.Drift) bool { return !slices.Contains(f.primary, d.Metric) })
			for i := range ds {
				ds[i].Run = name
			}
		}
		all = append(all, ds...)
	}
	var err error
	switch {
	case f.json:
		err = writeJSON(a.stdout, all)
	case len(runs) > 1:
		err = a.countDrifts(len(runs), all)
	default:
		err = a.printDrifts(all, f)
	}
	if err != nil || !f.exit {
		return err
	}
	code := exitDone
	for _, d := range all {
		switch {
		case !slices.Contains(f.primary, d.Metric):
		case d.Verdict == analyze.DriftFound:
			code = exitWorse
		case d.Verdict == analyze.DriftUndecided && code == exitDone:
			code = exitUndecided
		}
	}
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// expandRuns replaces patterns of run names by those that match.
func expandRuns(data string, names []string) []string {
	var out []string
	for _, n := range names {
		parts := strings.Split(n, "/")
		if len(parts) != 4 || !strings.ContainsAny(n, "*?[") {
			out = append(out, n)
			continue
		}
		dirs, err := filepath.Glob(filepath.Join(data, "runs", "experiment="+parts[0], "system="+parts[1], "scenario="+parts[2], "run="+parts[3]))
		if err != nil || len(dirs) == 0 {
			out = append(out, n) // to be complained of where it is opened
		}
		out = append(out, dirs...)
	}
	return out
}

// openRun opens a run folder, or makes one for reading of a run that is still going on.
func openRun(data, name string) (*loaders.Run, func(), error) {
	r, err := loaders.Find(data, name)
	if err == nil {
		return r, func() {}, nil
	}
	id := ingest.FindLive(data, name)
	if id == "" {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "steady-live-")
	if err != nil {
		return nil, nil, err
	}
	done := func() { os.RemoveAll(dir) }
	if err := ingest.Snapshot(data, id, filepath.Join(dir, "run")); err != nil {
		done()
		return nil, nil, err
	}
	if r, err = loaders.Open(filepath.Join(dir, "run")); err != nil {
		done()
		return nil, nil, err
	}
	return r, done, nil
}

// driftTables are the tables whose metrics may drift.
var driftTables = []*schemas.Table{&schemas.Workload, &schemas.Memory, &schemas.CPU, &schemas.Disk, &schemas.Net, &schemas.Paging, &schemas.Pressure,
	&schemas.Kernel, &schemas.Sockets, &schemas.Filesystem, &schemas.Perf, &schemas.Temperature, &schemas.Energy, &schemas.Cgroup, &schemas.Process}

// driftOf judges a run's metrics, the primary ones as a family of their own.
func driftOf(r, against *loaders.Run, f driftFlags) ([]schemas.Drift, error) {
	w := r.FixedWindow(f.keep.Nanoseconds())
	type item struct {
		m      loaders.Metric
		series analyze.DriftSeries
	}
	var families [2][]item
	for _, t := range driftTables {
		var theirs []goodBins
		if against != nil {
			aw := against.FixedWindow(f.keep.Nanoseconds())
			if err := against.Each(t, func(m *loaders.Metric) error {
				if s := m.Cells[0].Series; s != nil {
					theirs = append(theirs, goodBins{*m, binned(s, aw)})
				}
				return nil
			}); err != nil {
				return nil, err
			}
			against.Release()
		}
		err := r.Each(t, func(m *loaders.Metric) error {
			s := m.Cells[0].Series
			if s == nil {
				return nil // quantiles don't add up over bins
			}
			m.Cells = nil // the bins are all that is needed from here on
			bins := binned(s, w)
			if against != nil {
				i := slices.IndexFunc(theirs, func(x goodBins) bool { return x.m.Is(m) })
				if i < 0 {
					return nil
				}
				bins = analyze.DriftDifference(bins, theirs[i].bins)
			}
			x := item{m: *m, series: analyze.DriftSeries{Bins: bins, Kind: analyze.DriftGauge, Gate: f.gate}}
			switch {
			case m.Name() == "workload.throughput":
				x.series.Kind = analyze.DriftThroughput
			case t == &schemas.Memory:
				x.series.Kind, x.series.GateAbsolute = analyze.DriftMemory, f.memoryGateBytes
			}
			family := 1
			if slices.Contains(f.primary, m.Name()) && m.Host == nil && m.Device == nil {
				family = 0
			}
			families[family] = append(families[family], x)
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.Release()
	}
	out := []schemas.Drift{}
	for _, items := range families {
		series := make([]analyze.DriftSeries, len(items))
		for i := range items {
			series[i] = items[i].series
		}
		for i, v := range analyze.Drift(series, analyze.DriftOptions{Alpha: f.alpha}) {
			out = append(out, fromDrift(r, &items[i].m, &v))
		}
	}
	explain(out)
	return out, nil
}

// goodBins are a metric of the run that is compared with.
type goodBins struct {
	m    loaders.Metric
	bins analyze.DriftBins
}

func binned(s *loaders.Series, w loaders.Window) analyze.DriftBins {
	b := analyze.NewDriftBinner(w.FromNS, analyze.DriftWidth(w.ToNS-w.FromNS))
	from, to := 0, len(s.EndNS)
	for from < to && s.EndNS[from] <= w.FromNS {
		from++
	}
	for to > from && s.EndNS[to-1]-s.IntervalNS[to-1]/2 > w.ToNS {
		to--
	}
	b.AddRows(s.EndNS[from:to], s.IntervalNS[from:to], s.Num[from:to], s.Den[from:to], s.Known[from:to])
	return b.Bins()
}

func fromDrift(r *loaders.Run, m *loaders.Metric, v *analyze.DriftVerdict) schemas.Drift {
	d := schemas.Drift{Run: r.Name(), Metric: m.Name(), Host: m.Host, Device: m.Device, Verdict: v.Verdict, Warnings: []string{}}
	if v.Shape != "" {
		d.Shape = &v.Shape
	}
	if v.Known {
		d.Q = &v.Q
	}
	when := func(ns int64) *string {
		text := time.Duration(ns).Round(time.Second).String()
		if r.Manifest.Start != nil {
			text = r.Manifest.Start.Add(time.Duration(ns)).UTC().Truncate(time.Second).Format(time.RFC3339)
		}
		return &text
	}
	if v.Onset.Known {
		d.Onset = when(v.Onset.NS)
		d.OnsetCI = [2]*string{when(v.Onset.LoNS), when(v.Onset.HiNS)}
		elapsed := [3]float64{seconds(v.Onset.NS), seconds(v.Onset.LoNS), seconds(v.Onset.HiNS)}
		d.OnsetS, d.OnsetSCI = &elapsed[0], [2]*float64{&elapsed[1], &elapsed[2]}
	}
	if v.Percent.Known {
		d.Percent = &v.Percent.Value
		if v.Percent.Level > 0 {
			d.PercentCI = [2]*float64{&v.Percent.Lo, &v.Percent.Hi}
		}
	}
	if v.Change.Known {
		d.Absolute = &v.Change.Value
	}
	if v.PerDay.Known {
		d.PerDay = &v.PerDay.Value
	}
	if v.MDEPercent > 0 {
		d.MDE = &v.MDEPercent
	}
	d.Unit, d.Zeros = m.Def.Unit, v.Zeros
	for _, w := range v.Warnings {
		d.Warnings = append(d.Warnings, w.Error())
	}
	if v.Leak != nil {
		for _, w := range v.Leak.Warnings {
			d.Warnings = append(d.Warnings, w.Error())
		}
	}
	return d
}

// memoryParts are what memory's growth is made of.
var memoryParts = map[string]string{
	"memory.anon_bytes": "anonymous memory", "memory.slab_bytes": "slab", "memory.cached_bytes": "page cache",
	"memory.page_tables_bytes": "page tables", "memory.kernel_stack_bytes": "kernel stacks",
}

// suspects may explain a fall of throughput.
var suspects = []string{"cpu.steal_pct", "cpu.busy_pct"}

// explain says, beside a drift of memory, which part of it grew, and beside one of
// throughput what moved with it.
func explain(ds []schemas.Drift) {
	for i := range ds {
		d := &ds[i]
		if d.Verdict != analyze.DriftFound {
			continue
		}
		for j := range ds {
			x := &ds[j]
			if x.Verdict != analyze.DriftFound || x.Absolute == nil {
				continue
			}
			if part := memoryParts[x.Metric]; d.Metric == "memory.used_bytes" && part != "" {
				d.Warnings = append(d.Warnings, fmt.Sprintf("with it: %s %+.0f MB", part, *x.Absolute/1e6))
			}
			if d.Metric == "workload.throughput" && slices.Contains(suspects, x.Metric) && x.Device == nil {
				d.Warnings = append(d.Warnings, fmt.Sprintf("with it: %s %+.2f %s", x.Metric, *x.Absolute, x.Unit))
			}
		}
	}
}

func (a *app) countDrifts(runs int, ds []schemas.Drift) error {
	counts := map[string]map[string]int{}
	for _, d := range ds {
		if counts[d.Metric] == nil {
			counts[d.Metric] = map[string]int{}
		}
		counts[d.Metric][d.Verdict]++
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d runs\nMETRIC\tDRIFT\tSTEADY\tUNDECIDED\n", runs)
	for _, m := range sortedKeys(counts) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", m, counts[m][analyze.DriftFound], counts[m][analyze.DriftSteady], counts[m][analyze.DriftUndecided])
	}
	return w.Flush()
}

func (a *app) printDrifts(ds []schemas.Drift, f driftFlags) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "METRIC\tVERDICT\tSHAPE\tCHANGE\tINTERVAL\tONSET\tWOULD HAVE SEEN")
	hidden := map[string]int{}
	var notes []string
	for _, d := range ds {
		primary := slices.Contains(f.primary, d.Metric) && d.Device == nil
		if !f.all && !primary && d.Verdict != analyze.DriftFound {
			hidden[d.Verdict]++
			continue
		}
		name := d.Metric
		if d.Device != nil {
			name += " " + *d.Device
		}
		change, interval, onset, shape, mde := "-", "-", "-", "-", "-"
		if d.Percent != nil {
			change = fmt.Sprintf("%+.2f %%", *d.Percent)
		}
		if d.PercentCI[0] != nil {
			interval = fmt.Sprintf("[%+.2f, %+.2f]", *d.PercentCI[0], *d.PercentCI[1])
		}
		if d.Onset != nil {
			onset = *d.Onset
		}
		if d.Shape != nil {
			shape = *d.Shape
		}
		if d.MDE != nil && !math.IsInf(*d.MDE, 0) {
			mde = fmt.Sprintf("%.2g %%", *d.MDE)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, d.Verdict, shape, change, interval, onset, mde)
		for _, n := range d.Warnings {
			notes = append(notes, name+": "+n)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(a.stdout, "  %s\n", n)
	}
	if len(hidden) > 0 {
		fmt.Fprintf(a.stdout, "%d more metrics: %d steady, %d undecided: --all prints them\n", hidden[analyze.DriftSteady]+hidden[analyze.DriftUndecided], hidden[analyze.DriftSteady], hidden[analyze.DriftUndecided])
	}
	return nil
}
