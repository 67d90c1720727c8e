package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/collector/workload/wrk"
)

// drivers are the workloads that a plan can name.
var drivers = map[string]campaign.Driver{
	"http": workload.NewHTTP,
	"wrk":  wrk.New,
}

type runFlags struct {
	data         string
	nats         natsFlags
	dryRun, json bool
	extend       bool
	limit        int
}

func (a *app) run() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run PLAN.yaml",
		Short: "an experiment: every run of a plan, analysed and reported",
		Long: `Carries out a plan (docs/PLAN.md): brings each workload up, drives it, collects, stores, and at the end analyses and reports. Killed, rebooted or
interrupted, the same command undoes what was left behind and does what is missing and no
more. A run that fails is kept as failed and done again.`,
		Args: args(1),
		RunE: func(c *cobra.Command, arg []string) error { return a.runPlan(c.Context(), arg[0], f) },
	}
	dataFlag(c, &f.data)
	jsonFlag(c, &f.json)
	f.nats.add(c, true)
	fl := c.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "print every run in order with its parameters, and the time all will take; change nothing")
	fl.BoolVar(&f.extend, "extend", false, "add runs once where the spread needs them for intervals as narrow as the margin (Stein's rule)")
	fl.IntVar(&f.limit, "extend-limit", 20, "with --extend: the most runs of a system")
	return c
}

func (a *app) runPlan(ctx context.Context, path string, f runFlags) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	plan, variants, err := campaign.ParsePlan(path, text, drivers)
	if err != nil {
		return usage("%w", err)
	}
	if f.limit < 2 {
		return usage("--extend-limit %d: want 2 or more", f.limit)
	}
	if f.dryRun {
		seed := uint64(0)
		if plan.Seed != nil {
			seed = *plan.Seed
		}
		items := plan.Schedule(variants, seed)
		if f.json {
			return writeJSON(a.stdout, planned(plan, items))
		}
		_, err := fmt.Fprint(a.stdout, describePlan(plan, items))
		return err
	}
	e := &experiment{plan: plan, variants: variants, text: text, data: f.data, nats: f.nats, extend: f.extend, limit: f.limit}
	results, scenarios, err := a.carryOut(ctx, e)
	if results == nil {
		return err
	}
	if e := a.showExperiment(f.data, results, scenarios, f.json); e != nil {
		return e
	}
	return err
}

// plannedRun is a run as --dry-run --json prints it.
type plannedRun struct {
	System   string         `json:"system"`
	Scenario string         `json:"scenario"`
	Repeat   int            `json:"repeat"`
	Workload string         `json:"workload"`
	Params   map[string]any `json:"params"`
	TakesS   float64        `json:"takes_s"`
}

func planned(p *campaign.Plan, items []campaign.Item) []plannedRun {
	out := make([]plannedRun, len(items))
	for i, x := range items {
		out[i] = plannedRun{x.System.Name, x.Name, x.Repeat, x.Scenario.Workload, x.Workload.Params(), p.Takes(x.Variant).Seconds()}
	}
	return out
}
