package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
	"github.com/steadybench/steady/simulate"
)

type simulateFlags struct {
	data, experiment, scenario string
	systems                    []string
	effects                    map[string]string
	runs, experiments          int
	seed                       uint64
	plan                       simulate.Plan
	step, trend, leak          string
	memory, memoryNoise        float64
	memoryPhi, memoryDaily     float64
	json                       bool
}

func (a *app) simulate() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate EXPERIMENT",
		Short: "synthetic runs with known truth, as ordinary run folders",
		Long: `Makes runs whose truth is known: noise that remembers, run effects, warm-up, daily
cycles, steps, trends, leaks, saw-teeth, gaps and spikes. The same --seed gives the same
runs. With --experiments N it makes EXPERIMENT-0001 to EXPERIMENT-N, with seeds that
follow each other: steady analyze and steady drift take them all at once.

Changes are given as shares of the level: --effect new=9% makes system new better by
9 %, --step -3%@48h lowers the level by 3 % from hour 48 on.`,
		Args: args(1),
		RunE: func(c *cobra.Command, arg []string) error {
			f.experiment = arg[0]
			return a.runSimulate(c.Context(), f)
		},
	}
	dataFlag(c, &f.data)
	jsonFlag(c, &f.json)
	fl := c.Flags()
	fl.StringVar(&f.scenario, "scenario", "simulated", "name of the scenario")
	fl.StringSliceVar(&f.systems, "systems", []string{"baseline", "new"}, "the systems")
	fl.StringToStringVar(&f.effects, "effect", nil, "true effect on a system's throughput (new=9%)")
	fl.IntVar(&f.runs, "runs", 3, "runs of each system")
	fl.IntVar(&f.experiments, "experiments", 0, "so many experiments, numbered (0: one, not numbered)")
	fl.Uint64Var(&f.seed, "seed", 1, "of the first experiment")
	fl.DurationVar(&f.plan.Duration, "duration", 5*time.Minute, "length of a run")
	fl.DurationVar(&f.plan.Keep, "keep", 3*time.Minute, "the measure phase at its end (0: all)")
	fl.DurationVar(&f.plan.Interval, "interval", time.Second, "between samples")
	t := &f.plan.Throughput
	fl.Float64Var(&t.Level, "level", 10_000, "throughput, operations a second")
	percentVar(c, &t.Noise.SD, "sd", "2%", "noise within a run, standard deviation of a sample")
	fl.Float64Var(&t.Noise.Phi, "phi", 0.5, "correlation of neighbouring samples")
	fl.Float64Var(&t.Noise.D, "memory-d", 0, "long memory of this order instead, below 0.5")
	fl.Float64Var(&t.Noise.Tails, "tails", 0, "heavy tails: Student's t with so many degrees of freedom (0: normal)")
	percentVar(c, &t.Run, "run-sd", "1%", "difference between runs, standard deviation")
	percentVar(c, &t.Transient, "transient", "0%", "what the first sample is off by")
	fl.DurationVar(&t.TransientTime, "transient-time", 20*time.Second, "how long until a third of that is left")
	percentVar(c, &t.Daily, "daily", "0%", "amplitude of a daily cycle")
	fl.StringVar(&f.step, "step", "", "a step, SHARE@TIME (-3%@48h)")
	fl.StringVar(&f.trend, "trend", "", "a linear change over the run (-3%)")
	percentVar(c, &t.Spikes, "spikes", "0%", "share of samples that are off")
	percentVar(c, &t.SpikeSize, "spike-size", "50%", "by how much")
	percentVar(c, &f.plan.Missing, "missing", "0%", "share of samples that never came")
	fl.DurationVar(&f.plan.Gap, "gap", 0, "a hole in time of this length")
	fl.DurationVar(&f.plan.GapAt, "gap-at", 0, "where the hole begins")
	fl.Float64Var(&f.memory, "memory", 0, "memory used, MB (0: no memory table)")
	fl.Float64Var(&f.memoryNoise, "memory-sd", 50, "its noise, MB")
	fl.Float64Var(&f.memoryPhi, "memory-phi", 0.9, "correlation of neighbouring samples of memory")
	fl.Float64Var(&f.memoryDaily, "memory-daily", 0, "amplitude of its daily cycle, MB")
	fl.StringVar(&f.leak, "leak", "", "growth over the run, MB (200)")
	percentVar(c, &f.plan.Memory.Saw, "saw", "0%", "a saw-tooth of memory, up by this share")
	fl.DurationVar(&f.plan.Memory.SawPeriod, "saw-period", 0, "its period")
	return c
}

// percentValue is a flag of a share, written as a percentage.
type percentValue struct {
	to   *float64
	text string
}

func percentVar(c *cobra.Command, to *float64, name, value, help string) {
	v := &percentValue{to: to}
	if err := v.Set(value); err != nil {
		panic(err) // a default that is none
	}
	c.Flags().Var(v, name, help)
}

func (p *percentValue) String() string { return p.text }
func (p *percentValue) Type() string   { return "percent" }

func (p *percentValue) Set(s string) error {
	v, err := parsePercent(s)
	if err == nil {
		*p.to, p.text = v, s
	}
	return err
}

func parsePercent(s string) (float64, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q: want a percentage, such as 3%%", s)
	}
	return v / 100, nil
}

func (f *simulateFlags) parse() error {
	t := &f.plan.Throughput
	var err error
	if f.step != "" {
		share, at, ok := strings.Cut(f.step, "@")
		if t.Step, err = parsePercent(share); err == nil {
			t.StepAt, err = time.ParseDuration(at)
		}
		if !ok || err != nil {
			return usage("--step %q: want SHARE@TIME, such as -3%%@48h", f.step)
		}
	}
	if f.trend != "" {
		if t.Trend, err = parsePercent(f.trend); err != nil {
			return usage("--trend %w", err)
		}
	}
	const mb = 1e6
	if f.memory > 0 {
		m := &f.plan.Memory
		m.Level = f.memory * mb
		m.Noise = simulate.Noise{SD: f.memoryNoise / f.memory, Phi: f.memoryPhi}
		m.Daily = f.memoryDaily / f.memory
		if f.leak != "" {
			grown, err := strconv.ParseFloat(f.leak, 64)
			if err != nil {
				return usage("--leak %q: want a number of MB", f.leak)
			}
			m.Trend = grown / f.memory
		}
	} else if f.leak != "" {
		return usage("--leak: needs --memory, the level that grows")
	}
	if f.runs < 1 || f.runs > 9999 || f.experiments < 0 || len(f.systems) == 0 {
		return usage("simulate: %d runs, %d experiments, %d systems", f.runs, f.experiments, len(f.systems))
	}
	for name := range f.effects {
		known := false
		for _, s := range f.systems {
			known = known || s == name
		}
		if !known {
			return usage("--effect %s: no such system: there are %s", name, strings.Join(f.systems, ", "))
		}
	}
	for _, s := range f.systems {
		if err := schemas.CheckName("--systems", s); err != nil {
			return usage("%w", err)
		}
	}
	if err := schemas.CheckName("experiment", f.experiment); err != nil {
		return usage("%w", err)
	}
	if err := f.plan.Check(); err != nil {
		return usage("%w", err)
	}
	return nil
}

// simulatedStart is when simulated runs are: a fixed time, so that they are the same
// to the byte.
const simulatedStart = 1_767_225_600e9 // 2026-01-01

func (a *app) runSimulate(ctx context.Context, f simulateFlags) error {
	if err := f.parse(); err != nil {
		return err
	}
	store, err := ingest.OpenStore(f.data, a.warn)
	if err != nil {
		return err
	}
	defer store.Close()
	store.Volatile = true
	for e := range max(f.experiments, 1) {
		name := f.experiment
		if f.experiments > 0 {
			name = fmt.Sprintf("%s-%04d", f.experiment, e+1)
		}
		number := map[string]int{}
		for slot, system := range campaign.Order(f.systems, f.runs) {
			if ctx.Err() != nil {
				return &exitError{exitFailed, fmt.Errorf("interrupted: %d of %d experiments are whole", e, max(f.experiments, 1))}
			}
			number[system]++
			plan := f.plan
			if text, ok := f.effects[system]; ok {
				if plan.Throughput.Effect, err = parsePercent(text); err != nil {
					return usage("--effect %s=%w", system, err)
				}
			}
			seed := (f.seed+uint64(e))<<20 + uint64(slot)
			open := schemas.Open{Experiment: name, System: system, Scenario: f.scenario, Run: number[system], Slot: slot, Hosts: 1,
				Params: map[string]any{"simulated": true, "seed": f.seed + uint64(e)}}
			if err := simulateRun(store, &plan, open, seed, int64(slot)); err != nil {
				return err
			}
		}
	}
	a.say("simulate: %d runs in %s", max(f.experiments, 1)*f.runs*len(f.systems), f.data)
	return nil
}

// simulateRun makes one run folder.
func simulateRun(s *ingest.Store, plan *simulate.Plan, open schemas.Open, seed uint64, slot int64) error {
	wall := int64(simulatedStart) + slot*(plan.Duration+time.Minute).Nanoseconds()
	const boot = int64(time.Hour)
	ticks := plan.Run(seed, wall, boot)
	at := func(d time.Duration) schemas.Stamp {
		return schemas.Stamp{Host: "simulated", WallNS: wall + d.Nanoseconds(), BootNS: boot + d.Nanoseconds(), BootID: "simulated"}
	}
	keep := plan.Keep
	if keep == 0 {
		keep = plan.Duration
	}
	controls := []schemas.Control{
		{Kind: "open", At: at(0), Open: &open},
		{Kind: "hello", At: at(0), Hello: &schemas.Hello{Epoch: int64(seed >> 1), Kind: "simulate", Roles: []string{"sut", "load"}, IntervalNS: plan.Interval.Nanoseconds()}},
	}
	if keep < plan.Duration {
		controls = append(controls, schemas.Control{Kind: "phase", At: at(0), Phase: "warmup"})
	}
	controls = append(controls,
		schemas.Control{Kind: "phase", At: at(plan.Duration - keep), Phase: "measure"},
		schemas.Control{Kind: "end", At: at(plan.Duration), End: &schemas.End{Epoch: int64(seed >> 1), LastSeq: int64(len(ticks))}},
		schemas.Control{Kind: "close", At: at(plan.Duration)})
	return storeRun(s, schemas.Producer{Run: campaign.SharedRunID(open.Experiment, open.System, open.Scenario, open.Run), Host: "simulated", Epoch: int64(seed >> 1), BootID: "simulated"}, controls, ticks)
}

// storeRun makes a run folder of ticks that are all there, without a broker.
func storeRun(s *ingest.Store, id schemas.Producer, controls []schemas.Control, ticks []schemas.Tick) error {
	seq := s.Begin("made here: " + id.Run)
	for i := range controls {
		s.AddControl(seq, id.Run, &controls[i])
		seq++
	}
	const batch = 512
	for part := range slices.Chunk(ticks, batch) {
		s.AddMessage(seq, &schemas.Message{Producer: id, Ticks: part})
		seq++
		if s.Buffered() > 1<<18 {
			if err := s.Flush(); err != nil {
				return err
			}
		}
	}
	if _, _, err := s.Finish(id.Run, ""); err != nil {
		return err
	}
	return s.Forget(id.Run)
}
