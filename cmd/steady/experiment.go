package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/collector/workload/undo"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// experiment is a plan that is carried out on this host.
type experiment struct {
	plan     *campaign.Plan
	variants []*campaign.Variant
	text     []byte // the plan as written, kept beside its results
	data     string
	nats     natsFlags
	// extend adds runs once, by Stein's rule, up to limit a system.
	extend bool
	limit  int

	a        *app
	state    campaign.State
	host     campaign.Host
	conn     *bus.Conn
	store    *ingest.Store
	journal  *undo.Journal
	sealed   chan string
	dead     <-chan struct{}
	stop     func() error
	done     []campaign.Done
	failures []error
	refused  map[string]error // variants that this host can't run, by system/scenario
}

// carryOut does what of the experiment is not done, and judges it.
func (a *app) carryOut(ctx context.Context, e *experiment) (results *schemas.Results, scenarios []loaders.Scenario, err error) {
	e.a = a
	e.refused = map[string]error{}
	if err := e.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, e.end()) }()
	if err := e.runAll(ctx); err != nil {
		return nil, nil, err
	}
	opts := judgeOptions{baseline: e.plan.Baseline, margin: float64(e.plan.Margin), window: analyze.Fixed, primary: e.plan.Primary}
	if opts.primary == nil {
		opts.primary = defaultPrimary
	}
	if len(e.done) == 0 && len(e.failures) > 0 {
		return nil, nil, fmt.Errorf("run: no run succeeded: %w", e.failures[0])
	}
	if e.extend {
		more, err := e.extension(opts)
		if err != nil {
			return nil, nil, err
		}
		if more {
			if err := e.runAll(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := e.stopIngest(); err != nil {
		return nil, nil, err
	}
	results, scenarios, err = a.judgeExperiment(e.data, e.plan.Experiment, opts)
	if err == nil {
		err = errors.Join(e.failures...)
	}
	return results, scenarios, err
}

func (e *experiment) dir() string { return filepath.Join(e.data, "experiments", e.plan.Experiment) }

// begin opens what all runs need, and undoes what a killed run left.
func (e *experiment) begin(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, e.end())
		}
	}()
	if err := e.remember(); err != nil {
		return err
	}
	if e.journal, err = undo.Open(filepath.Join(e.data, "undo.journal")); err != nil {
		return err
	}
	undone, err := e.journal.Undo()
	for _, s := range undone {
		e.a.say("left by a run that was killed: %s", s)
	}
	if err != nil {
		return fmt.Errorf("run: %w: undo it by hand, then remove %s", err, filepath.Join(e.data, "undo.journal"))
	}
	if err := e.place(); err != nil {
		return err
	}
	if e.store, err = ingest.OpenStore(e.data, e.a.warn); err != nil {
		return err
	}
	var closeConn func()
	if e.conn, closeConn, err = e.a.connect(e.nats, e.data, "steady run"); err != nil {
		return err
	}
	// Made before the first run, so that none of its messages has to wait for it.
	if _, err := e.conn.EnsureStream(ctx, e.nats.bytes, 1); err != nil {
		closeConn()
		return err
	}
	e.sealed = make(chan string, 1024)
	stop, dead := e.a.startIngest(ctx, e.conn, e.store, ingest.Options{StreamBytes: e.nats.bytes, Warn: e.a.warn,
		Sealed: func(dir string, m *schemas.Manifest) {
			if m.Status != schemas.Complete {
				e.a.sealed(dir, m)
			}
			e.sealed <- m.ID
		}})
	e.dead = dead
	e.stop = func() error {
		err := stop()
		closeConn()
		return err
	}
	e.host, err = thisHost("", []string{"sut", "load"}, sourceFlags{perf: e.plan.Sources.Perf, cgroups: e.plan.Sources.Cgroups, processes: e.plan.Sources.Processes})
	return err
}

// stopIngest ends ingest; its second call does nothing.
func (e *experiment) stopIngest() error {
	if e.stop == nil {
		return nil
	}
	stop := e.stop
	e.stop = nil
	return stop()
}

func (e *experiment) end() error {
	err := e.stopIngest()
	if e.store != nil {
		e.store.Close()
		e.store = nil
	}
	if e.journal != nil {
		err = errors.Join(err, e.journal.Close())
		e.journal = nil
	}
	return err
}

// remember reads what the experiment's folder says of an earlier start, and writes plan
// and state into a new one.
func (e *experiment) remember() error {
	plan, state := filepath.Join(e.dir(), "plan.yaml"), filepath.Join(e.dir(), "state.json")
	before, err := os.ReadFile(plan)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run: %w", err)
	}
	if err := campaign.SamePlan(before, e.text); err != nil {
		return fmt.Errorf("run: %s: %w", plan, err)
	}
	if b, err := os.ReadFile(state); err == nil {
		if err := json.Unmarshal(b, &e.state); err != nil || e.state.Schema != campaign.StateSchema {
			return fmt.Errorf("run: %s: not a state of this steady (%v): give the plan another experiment name", state, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run: %w", err)
	} else {
		e.state = campaign.State{Schema: campaign.StateSchema, Seed: e.plan.Seeded()}
		if err := e.saveState(); err != nil {
			return err
		}
	}
	e.state.Extend(e.variants)
	return replaceFile(plan, e.text)
}

func (e *experiment) saveState() error {
	b, err := json.MarshalIndent(&e.state, "", "  ")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return replaceFile(filepath.Join(e.dir(), "state.json"), append(b, '\n'))
}

// place gives the server half of the CPUs, and the load with this process the rest,
// unless the plan says where they go.
func (e *experiment) place() error {
	p := &e.plan.Placement
	cpus, err := workload.Available()
	if err != nil {
		return err
	}
	for _, asked := range []workload.CPUs{p.Server, p.Load, p.Collector} {
		for _, c := range asked {
			if !slices.Contains(cpus, c) {
				return fmt.Errorf("run: placement: CPU %d: this process may run on %v", c, cpus)
			}
		}
	}
	if !p.Free && p.Server == nil && p.Load == nil && len(cpus) >= 2 {
		p.Server, p.Load = cpus[len(cpus)/2:], cpus[:len(cpus)/2]
	}
	if p.Collector == nil {
		p.Collector = p.Load
	}
	if p.Collector == nil {
		return nil
	}
	return workload.Pin(p.Collector)
}

// known reads which runs have a folder.
func (e *experiment) known() error {
	runs, err := loaders.Runs(e.data, e.plan.Experiment)
	if err != nil && !errors.Is(err, loaders.ErrNoData) {
		return err
	}
	e.done = nil
	for _, r := range runs {
		n, err := strconv.Atoi(r.Manifest.Run)
		if err != nil {
			return fmt.Errorf("run: %s: run number %q", r.Dir, r.Manifest.Run)
		}
		usable, _ := r.Manifest.Usable()
		e.done = append(e.done, campaign.Done{System: r.Manifest.System, Scenario: r.Manifest.Scenario, Run: n, Complete: usable})
	}
	return nil
}

// runAll carries out what remains of the schedule.
func (e *experiment) runAll(ctx context.Context) error {
	if err := e.known(); err != nil {
		return err
	}
	e.check(ctx)
	left := slices.DeleteFunc(campaign.Remaining(e.plan.Schedule(e.variants, e.state.Seed), e.done), func(x campaign.Item) bool { return e.refused[key(x.Variant)] != nil })
	var total time.Duration
	for _, x := range left {
		total += e.plan.Takes(x.Variant)
	}
	if len(left) == 0 {
		return nil
	}
	if err := e.room(left); err != nil {
		return err
	}
	e.a.say("experiment %s: %d runs to do, %d done; about %s", e.plan.Experiment, len(left), len(e.done), total.Round(time.Second))
	if e.plan.Order == campaign.OrderBlocks {
		e.a.warn(errors.New("order: blocks: whatever changes on the host with time is taken for a difference between systems: abba or random spread it"))
	}
	bar := e.a.progress(total)
	defer bar.end()
	control := &campaign.Controller{Conn: e.conn, Host: e.host, Interval: time.Duration(e.plan.Interval), Warn: e.a.warn}
	for k, x := range left {
		for attempt := 0; ; attempt++ {
			bar.describe(fmt.Sprintf("run %d of %d: %s on %s", k+1, len(left), x.Name, x.System.Name))
			err := e.one(ctx, control, x)
			select {
			case <-e.dead:
				return e.stopIngest()
			default:
			}
			if ctx.Err() != nil {
				bar.end()
				return errors.Join(errInterrupted(e.data, k, len(left)), e.sealRest())
			}
			if err == nil {
				break
			}
			e.a.warn(err)
			if attempt >= *e.plan.Retries {
				e.failures = append(e.failures, err)
				break
			}
			e.a.say("again: attempt %d of %d", attempt+2, *e.plan.Retries+1)
		}
		if k+1 < len(left) && !sleep(ctx, time.Duration(e.plan.Pause)) {
			return errors.Join(errInterrupted(e.data, k+1, len(left)), e.sealRest())
		}
	}
	return nil
}

func key(v *campaign.Variant) string { return v.System.Name + "/" + v.Name }

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// check asks every workload what this host lacks, and refuses those that can't run; the
// others go on.
func (e *experiment) check(ctx context.Context) {
	said := map[string]bool{}
	for _, v := range e.variants {
		if e.refused[key(v)] != nil {
			continue
		}
		for _, p := range v.Workload.Check(ctx) {
			text := v.Name + ": " + p.String()
			if p.Fatal {
				e.refused[key(v)] = errors.New(text)
				e.failures = append(e.failures, fmt.Errorf("run: %s on %s: %s", v.Name, v.System.Name, p))
			}
			if !said[text] {
				said[text] = true
				e.a.warn(errors.New(text))
			}
		}
	}
}

// Bytes that a run takes, measured with every source on: a host's tick on the wire and
// in the parts, twice, and the folder.
const (
	bytesPerTick = 16 << 10
	bytesPerRun  = 8 << 20
)

// room refuses to begin what the disk has no room for.
func (e *experiment) room(items []campaign.Item) error {
	var need uint64
	for _, x := range items {
		need += bytesPerRun + bytesPerTick*uint64(time.Duration(x.Scenario.Duration)/time.Duration(e.plan.Interval))
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(e.data, &fs); err != nil {
		return fmt.Errorf("run: %s: %w", e.data, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < need {
		return fmt.Errorf("run: %s: %d MB free, about %d MB needed: make room, or choose another directory with --data", e.data, free>>20, need>>20)
	}
	return nil
}

// one carries out one run, until its folder is there.
func (e *experiment) one(ctx context.Context, control *campaign.Controller, x campaign.Item) error {
	number := campaign.NextNumber(e.done, x.System.Name, x.Name)
	r := &campaign.Run{ID: campaign.NewRunID(), Length: time.Duration(x.Scenario.Duration),
		Open: schemas.Open{Experiment: e.plan.Experiment, System: x.System.Name, Scenario: x.Name, Run: number, Slot: len(e.done), Params: x.Workload.Params()}}
	r.Setup = func(ctx context.Context) (*workload.Session, error) { return e.setup(ctx, r.ID, x) }
	err := control.Do(ctx, r)
	whole := e.awaitSealed(ctx, r.ID, err != nil)
	if whole {
		e.done = append(e.done, campaign.Done{System: x.System.Name, Scenario: x.Name, Run: number, Complete: err == nil})
	}
	if err == nil && !whole {
		err = fmt.Errorf("run: %s was not put together in %s: it stays in %s", r.ID, sealTime, filepath.Join(e.data, "live"))
	}
	return err
}

// setup brings the system and the workload up for a run. What it changes is undone when
// the session stops, and if it can't be brought up at once.
func (e *experiment) setup(ctx context.Context, id string, x campaign.Item) (s *workload.Session, err error) {
	var undos []func() error
	undoAll := func() (err error) {
		for _, u := range slices.Backward(undos) {
			err = errors.Join(err, u())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undoAll())
		}
	}()
	note := func(u func() error, err error) error {
		if err == nil {
			undos = append(undos, u)
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(x.System.Sysctl)) {
		if err := note(e.journal.Set(campaign.SysctlPath(name), x.System.Sysctl[name])); err != nil {
			return nil, fmt.Errorf("system %s: %w", x.System.Name, err)
		}
	}
	for _, commands := range []struct {
		whose           string
		setup, teardown []string
	}{{"system " + x.System.Name, x.System.Setup, x.System.Teardown}, {"scenario " + x.Name, x.Scenario.Setup, x.Scenario.Teardown}} {
		for _, c := range slices.Backward(commands.teardown) {
			if err := note(e.journal.Running("sh", "-c", c)); err != nil {
				return nil, err
			}
		}
		for _, c := range commands.setup {
			p, err := (&workload.Command{Path: "/bin/sh", Args: []string{"-c", c}}).Start()
			if err == nil {
				err = p.Wait(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: setup %q: %w", commands.whose, c, err)
			}
		}
	}
	dir, err := filepath.Abs(filepath.Join(e.data, "scratch", id))
	if err != nil {
		return nil, err
	}
	if err := note(e.journal.Removing(dir)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &e.plan.Placement
	s, err = x.Workload.Start(ctx, &workload.Env{Dir: dir, Server: p.Server, Load: p.Load, Probe: p.Collector,
		Warmup: time.Duration(x.Scenario.Duration - x.Scenario.Keep), Measure: time.Duration(x.Scenario.Keep),
		Interval: time.Duration(e.plan.Interval), Undo: e.journal, Warn: e.a.warn})
	if err != nil {
		return nil, err
	}
	stop := s.Stop
	s.Stop = func() (err error) {
		if stop != nil {
			err = stop()
		}
		return errors.Join(err, undoAll())
	}
	return s, nil
}

// sealTime is how long ingest may take for a run's folder; briefSealTime is the same
// for a run that was aborted, of which nothing may have come at all.
const (
	sealTime      = 30 * time.Second
	briefSealTime = time.Second
)

// awaitSealed waits for the run's folder and reports whether it came. Ids of other
// runs, of which some may have been left by an earlier start, are passed over.
func (e *experiment) awaitSealed(ctx context.Context, run string, aborted bool) bool {
	timer := time.NewTimer(sealTime)
	defer timer.Stop()
	done := ctx.Done()
	if aborted {
		timer.Reset(briefSealTime)
		done = nil
	}
	for {
		select {
		case id := <-e.sealed:
			if id == run {
				return true
			}
		case <-e.dead:
			return false
		case <-done:
			timer.Reset(briefSealTime)
			done = nil
		case <-timer.C:
			return false
		}
	}
}

func errInterrupted(data string, done, all int) error {
	return &exitError{exitFailed, fmt.Errorf("interrupted after %d of %d runs: what was measured is in %s (steady ls); the same command goes on", done, all, data)}
}

// sealRest ends ingest and makes folders of the runs that an interrupt left.
func (e *experiment) sealRest() error {
	err := e.stopIngest()
	for _, id := range e.store.Live() {
		dir, m, x := e.store.Finish(id, "")
		if x != nil {
			err = errors.Join(err, x)
			continue
		}
		e.a.sealed(dir, m)
	}
	return err
}

// extension decides, once for each scenario, how many runs its primary metrics need for
// intervals as narrow as the margin, and reports whether there is something to add. The
// rule sees the spread of the runs, never their difference, so that looking at it twice
// costs nothing (analyze.ExtendedRuns).
func (e *experiment) extension(o judgeOptions) (more bool, err error) {
	runs, err := loaders.Runs(e.data, e.plan.Experiment)
	if err != nil {
		return false, err
	}
	results, _, err := judge(runs, o)
	if err != nil {
		return false, err
	}
	needs := neededRuns(results, o.margin)
	if e.state.Extended == nil {
		e.state.Extended = map[string]campaign.Extension{}
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		n := needs[name]
		if _, before := e.state.Extended[name]; before || n.runs <= n.pilot {
			continue
		}
		want := min(n.runs, e.limit)
		e.a.say("extend %s: %d runs of each system instead of %d, for intervals of at most %.3g %% either way%s", name, want, n.pilot, 100*o.margin,
			map[bool]string{true: fmt.Sprintf(" (%d would be needed, --extend-limit allows %d)", n.runs, e.limit)}[want < n.runs])
		if want > n.pilot {
			e.state.Extended[name] = campaign.Extension{Pilot: n.pilot, Runs: want}
			more = true
		}
	}
	if !more {
		e.a.say("extend: nothing to add")
		return false, nil
	}
	e.state.Extend(e.variants)
	return true, e.saveState()
}

// describePlan returns every run in order with its parameters, for --dry-run.
func describePlan(p *campaign.Plan, items []campaign.Item) string {
	var b strings.Builder
	var total time.Duration
	for i, x := range items {
		params := x.Workload.Params()
		words := make([]string, 0, len(params))
		for _, k := range sortedKeys(params) {
			words = append(words, fmt.Sprintf("%s=%v", k, params[k]))
		}
		total += p.Takes(x.Variant)
		fmt.Fprintf(&b, "%4d  %-16s %-40s run %02d  %s (last %s kept)  %s\n", i+1, x.System.Name, x.Name, x.Repeat, x.Scenario.Duration, x.Scenario.Keep, strings.Join(words, " "))
	}
	fmt.Fprintf(&b, "%d runs, about %s\n", len(items), total.Round(time.Second))
	return b.String()
}
