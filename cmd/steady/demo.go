package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/report"
	"github.com/steadybench/steady/schemas"
)

// demoSystem is a variant that the demo compares.
type demoSystem struct {
	name string
	gzip bool
}

// demoSystems are the baseline, its twin (an A/A comparison, in which nothing should
// be found) and an honest difference: a server that compresses every answer.
var demoSystems = []demoSystem{
	{name: "baseline"},
	{name: "twin"},
	{name: "gzip", gzip: true},
}

type demoFlags struct {
	data, experiment string
	nats             natsFlags
	repeats          int
	warmup, keep     time.Duration
	connections      int
	pin              bool
	json             bool
}

func (a *app) demo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "the whole pipeline on this host, in a minute and a half",
		Long: `Compares three systems, three runs each, in the order ABC CBA ABC: a small HTTP server
(baseline), the same once more (twin), and one that compresses every answer (gzip).
Samples of this host and of the load go through JetStream into Parquet, are analysed,
and become a report. The same code runs an experiment of five minutes a run.`,
		Args: args(0),
		RunE: func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), f) },
	}
	dataFlag(c, &f.data)
	jsonFlag(c, &f.json)
	f.nats.add(c, true)
	fl := c.Flags()
	fl.StringVar(&f.experiment, "experiment", "", "name (default: demo- and the time)")
	fl.IntVar(&f.repeats, "repeats", 3, "runs of each system")
	fl.DurationVar(&f.warmup, "warmup", 3*time.Second, "the part of a run that is discarded")
	fl.DurationVar(&f.keep, "keep", 5*time.Second, "the part of a run that is kept")
	fl.IntVar(&f.connections, "connections", 20, "connections of the load")
	fl.BoolVar(&f.pin, "pin", true, "server and load on CPUs of their own, where there are two")
	return c
}

func (f *demoFlags) check() error {
	if f.experiment == "" {
		f.experiment = "demo-" + time.Now().UTC().Format("20060102-150405")
	}
	switch {
	case f.repeats < 1:
		return usage("--repeats %d: want 1 or more", f.repeats)
	case f.warmup < 0 || f.keep < time.Second:
		return usage("--warmup %s --keep %s: want 0s or more, and 1s or more", f.warmup, f.keep)
	case f.connections < 1:
		return usage("--connections %d: want 1 or more", f.connections)
	}
	if err := schemas.CheckName("--experiment", f.experiment); err != nil {
		return usage("%w", err)
	}
	return nil
}

func (a *app) runDemo(ctx context.Context, f demoFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	text := f.plan()
	plan, variants, err := campaign.ParsePlan("demo", text, drivers)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	results, scenarios, err := a.carryOut(ctx, &experiment{plan: plan, variants: variants, text: text, data: f.data, nats: f.nats})
	if err != nil {
		return err
	}
	return a.showExperiment(f.data, results, scenarios, f.json)
}

// showExperiment writes the report and prints the results.
func (a *app) showExperiment(data string, results *schemas.Results, scenarios []loaders.Scenario, asJSON bool) error {
	path, err := a.writeReport(data, "", results, scenarios)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, results)
	}
	if err := report.Terminal(a.stdout, results, terminalOptions(a.stdout, false)); err != nil {
		return err
	}
	a.say("report: %s (open it in a browser)", path)
	a.say("data: %s: steady ls, steady show, or the README's notebook cell", filepath.Join(data, "runs", "experiment="+results.Experiment))
	return nil
}

// plan is the demo as a plan.
func (f *demoFlags) plan() []byte {
	var systems strings.Builder
	for _, s := range demoSystems {
		fmt.Fprintf(&systems, "  - {name: %s, with: {http: {gzip: %v}}}\n", s.name, s.gzip)
	}
	return fmt.Appendf(nil, `experiment: %s
repeats: %d
duration: %s
keep: %s
retries: 0
placement: {free: %v}
systems:
%sscenarios:
  - name: http-static
    workload: http
    with: {connections: [%d]}
`, f.experiment, f.repeats, f.warmup+f.keep, f.keep, !f.pin, systems.String(), f.connections)
}

// progress is a bar with the time left on a terminal, and a line a step elsewhere.
type progress struct {
	a    *app
	bar  *progressbar.ProgressBar
	quit chan struct{}
	done chan struct{}
}

func (a *app) progress(total time.Duration) *progress {
	p := &progress{a: a}
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.bar = newBar(a.stderr, total)
	p.quit, p.done = make(chan struct{}), make(chan struct{})
	a.onLine = func() { p.bar.Clear() }
	go func() {
		defer close(p.done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		start := time.Now()
		for {
			select {
			case <-tick.C:
				a.mu.Lock()
				p.bar.Set64(min(time.Since(start).Milliseconds(), total.Milliseconds()-1))
				a.mu.Unlock()
			case <-p.quit:
				return
			}
		}
	}()
	return p
}

func newBar(w io.Writer, total time.Duration) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total.Milliseconds(), progressbar.OptionSetWriter(w), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
}

func (p *progress) describe(what string) {
	if p.bar == nil {
		p.a.say("%s", what)
		return
	}
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.bar.Describe(what)
}

func (p *progress) end() {
	if p.quit == nil {
		return
	}
	close(p.quit)
	<-p.done
	p.quit = nil
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.bar.Clear()
	p.a.onLine = nil
}
