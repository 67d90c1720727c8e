package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/report"
	"github.com/steadybench/steady/schemas"
)

// demoSystem is a variant that the demo compares.
type demoSystem struct {
	name string
	args []string // of the server
}

// demoSystems are the baseline, its twin (an A/A comparison, in which nothing should
// be found) and an honest difference: a server that compresses every answer.
var demoSystems = []demoSystem{
	{name: "baseline"},
	{name: "twin"},
	{name: "gzip", args: []string{"--gzip"}},
}

type demoFlags struct {
	data, experiment string
	nats             natsFlags
	repeats          int
	warmup, keep     time.Duration
	connections      int
	pin              bool
	json             bool
	serverCPUs       []int
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

// place gives the server half of the CPUs and this process, with the load, the rest.
func (f *demoFlags) place() error {
	cpus, err := workload.Available()
	if err != nil {
		return err
	}
	if !f.pin || len(cpus) < 2 {
		return nil
	}
	f.serverCPUs = cpus[len(cpus)/2:]
	return workload.Pin(cpus[:len(cpus)/2])
}

func (a *app) runDemo(ctx context.Context, f demoFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := f.place(); err != nil {
		return err
	}
	store, err := ingest.OpenStore(f.data, a.warn)
	if err != nil {
		return err
	}
	defer store.Close()
	conn, done, err := a.connect(f.nats, f.data, "steady demo")
	if err != nil {
		return err
	}
	defer done()
	// Made before the first run, so that none of its messages has to wait for it.
	if _, err := conn.EnsureStream(ctx, f.nats.bytes, 1); err != nil {
		return err
	}
	sealed := make(chan string, 64)
	stop, ingestDead := a.startIngest(ctx, conn, store, ingest.Options{StreamBytes: f.nats.bytes, Warn: a.warn,
		Sealed: func(dir string, m *schemas.Manifest) {
			if m.Status != schemas.Complete {
				a.sealed(dir, m)
			}
			sealed <- m.ID
		}})
	stopped := false
	defer func() {
		if !stopped {
			err = errors.Join(err, stop())
		}
	}()

	host, err := thisHost("", []string{"sut", "load"})
	if err != nil {
		return err
	}
	names := make([]string, len(demoSystems))
	for i, s := range demoSystems {
		names[i] = s.name
	}
	order := campaign.Order(names, f.repeats)
	a.say("demo: experiment %s: %s; %s a run, the last %s kept; about %s in all",
		f.experiment, strings.Join(order, " "), f.warmup+f.keep, f.keep, (time.Duration(len(order)) * (f.warmup + f.keep + demoPause)).Round(time.Second))
	bar := a.progress(time.Duration(len(order)) * (f.warmup + f.keep + demoPause))
	defer bar.end()
	control := &campaign.Controller{Conn: conn, Host: host, Warn: a.warn}
	number := map[string]int{}
	var failures []error
	for slot, name := range order {
		number[name]++
		r := f.run(exe, name, number[name], slot)
		bar.describe(fmt.Sprintf("run %d of %d: %s", slot+1, len(order), name))
		err := control.Do(ctx, r)
		whole := awaitSealed(ctx, sealed, ingestDead, r.ID, err != nil)
		select {
		case <-ingestDead:
			stopped = true
			return stop()
		default:
		}
		if err == nil && !whole {
			err = fmt.Errorf("demo: run %s was not put together in %s: it stays in %s", r.ID, sealTime, filepath.Join(f.data, "live"))
		}
		if ctx.Err() != nil {
			bar.end()
			stopped = true
			return errors.Join(errInterrupted(f.data, slot, len(order)), a.sealRest(stop, store))
		}
		if err != nil {
			a.warn(err)
			failures = append(failures, err)
		}
	}
	bar.end()
	stopped = true
	if err := stop(); err != nil {
		return err
	}
	if len(failures) == len(order) {
		return fmt.Errorf("demo: no run succeeded: %w", failures[0])
	}
	results, scenarios, err := a.judgeExperiment(f.data, f.experiment, judgeOptions{baseline: "baseline", margin: 0.02, window: analyze.Fixed, primary: defaultPrimary})
	if err != nil {
		return err
	}
	path, err := a.writeReport(f.data, "", results, scenarios)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(a.stdout, results)
	}
	if err := report.Terminal(a.stdout, results, terminalOptions(a.stdout, false)); err != nil {
		return err
	}
	a.say("report: %s (open it in a browser)", path)
	a.say("data: %s: steady ls, steady show, or the README's notebook cell", filepath.Join(f.data, "runs", "experiment="+f.experiment))
	return nil
}

// sealTime is how long ingest may take for a run's folder; briefSealTime is the same
// for a run that was aborted, of which nothing may have come at all.
const (
	sealTime      = 30 * time.Second
	briefSealTime = time.Second
)

// awaitSealed waits for the run's folder and reports whether it came. Ids of other
// runs, of which some may have been left by an earlier demo, are passed over.
func awaitSealed(ctx context.Context, sealed <-chan string, dead <-chan struct{}, run string, aborted bool) bool {
	timer := time.NewTimer(sealTime)
	defer timer.Stop()
	done := ctx.Done()
	if aborted {
		timer.Reset(briefSealTime)
		done = nil
	}
	for {
		select {
		case id := <-sealed:
			if id == run {
				return true
			}
		case <-dead:
			return false
		case <-done:
			timer.Reset(briefSealTime)
			done = nil
		case <-timer.C:
			return false
		}
	}
}

// demoPause is what a run takes besides its phases.
const demoPause = 700 * time.Millisecond

func errInterrupted(data string, done, all int) error {
	return &exitError{exitFailed, fmt.Errorf("interrupted after %d of %d runs: what was measured is in %s (steady ls)", done, all, data)}
}

// sealRest ends ingest and makes folders of the runs that an interrupt left.
func (a *app) sealRest(stop func() error, s *ingest.Store) error {
	err := stop()
	for _, id := range s.Live() {
		dir, m, e := s.Finish(id, "")
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		a.sealed(dir, m)
	}
	return err
}

// run is one run of the demo.
func (f *demoFlags) run(exe, system string, number, slot int) *campaign.Run {
	var s demoSystem
	for _, d := range demoSystems {
		if d.name == system {
			s = d
		}
	}
	return &campaign.Run{
		Open: schemas.Open{Experiment: f.experiment, System: system, Scenario: "http-static_connections-" + strconv.Itoa(f.connections), Run: number, Slot: slot,
			Params: map[string]any{"connections": f.connections, "body_bytes": len(workload.Body()), "loop": "closed"}},
		Length: f.warmup + f.keep,
		Setup: func(ctx context.Context) (*workload.Session, error) {
			server, addr, err := workload.StartServer(ctx, exe, slices.Concat([]string{"workload", "http-server"}, pinArgs(f.serverCPUs), s.args))
			if err != nil {
				return nil, err
			}
			return &workload.Session{Job: func(start int64) workload.Job {
				return &workload.Timed{StartBootNS: start, Phases: []workload.Phase{{Name: "warmup", Duration: f.warmup}, {Name: "measure", Duration: f.keep}},
					Load: &workload.HTTP{Schedule: workload.Schedule{StartBootNS: start}, URL: "http://" + addr + "/", Connections: f.connections,
						Want: workload.Body(), Gzip: len(s.args) > 0}}
			}, Stop: server.Stop}, nil
		},
	}
}

func pinArgs(cpus []int) []string {
	var out []string
	for _, c := range cpus {
		out = append(out, "--cpus", strconv.Itoa(c))
	}
	return out
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
