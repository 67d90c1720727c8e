package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

type importFlags struct {
	data, experiment, system, scenario string
	number                             int
	host, role, zone, unit             string
	start                              string
	phases                             []string
}

func (a *app) importFiles() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import csv=FILE...",
		Short: "existing measurements become runs",
		Long: `csv=FILE is a table of time,value or run,time,value: the value is a throughput, in
--unit a second. Times are RFC 3339, "2006-01-02 15:04:05" in --tz, or seconds. Each run
of the table becomes a run folder, numbered from --run-number on. A file that can't be
read whole is refused, with line and cause.`,
		Args: atLeast(1),
		RunE: func(c *cobra.Command, arg []string) error { return a.runImport(arg, f) },
	}
	dataFlag(c, &f.data)
	fl := c.Flags()
	fl.StringVar(&f.experiment, "experiment", "", "the comparison that the runs belong to")
	fl.StringVar(&f.system, "system", "", "the variant under test")
	fl.StringVar(&f.scenario, "scenario", "", "the workload, as a name")
	fl.IntVar(&f.number, "run-number", 1, "number of the first run")
	fl.StringVar(&f.host, "host", "imported", "the host's name")
	fl.StringVar(&f.role, "role", "load", "sut or load")
	fl.StringVar(&f.zone, "tz", "UTC", "zone of times that name none (Europe/Berlin, or a fixed offset: +02:00)")
	fl.StringVar(&f.unit, "unit", "operation", "what the values count, a second")
	fl.StringVar(&f.start, "start", "", "start of a run whose times are seconds (RFC 3339)")
	fl.StringArrayVar(&f.phases, "phase", nil, "a phase: measure=2m..5m, in time since the start")
	return c
}

// importPhase is a phase as the user gives it.
type importPhase struct {
	name     string
	from, to time.Duration
}

func (f *importFlags) parse() (zone *time.Location, start time.Time, phases []importPhase, err error) {
	if f.role != "sut" && f.role != "load" {
		return nil, start, nil, usage("--role %q: want sut or load", f.role)
	}
	if err := errors.Join(schemas.CheckName("--experiment", f.experiment), schemas.CheckName("--system", f.system), schemas.CheckName("--scenario", f.scenario)); err != nil {
		return nil, start, nil, usage("%w", err)
	}
	if t, err := time.Parse("-07:00", f.zone); err == nil {
		zone = t.Location()
	} else if zone, err = time.LoadLocation(f.zone); err != nil {
		return nil, start, nil, usage("--tz %q: %w", f.zone, err)
	}
	if f.start != "" {
		if start, err = time.Parse(time.RFC3339Nano, f.start); err != nil {
			return nil, start, nil, usage("--start %q: want 2006-01-02T15:04:05Z", f.start)
		}
	}
	for _, p := range f.phases {
		name, span, ok := strings.Cut(p, "=")
		from, to, ok2 := strings.Cut(span, "..")
		x := importPhase{name: name}
		var e1, e2 error
		x.from, e1 = time.ParseDuration(from)
		x.to, e2 = time.ParseDuration(to)
		if !ok || !ok2 || e1 != nil || e2 != nil || x.to <= x.from || x.from < 0 || name == "" {
			return nil, start, nil, usage("--phase %q: want NAME=FROM..TO, such as measure=2m..5m", p)
		}
		phases = append(phases, x)
	}
	return zone, start, phases, nil
}

func (a *app) runImport(files []string, f importFlags) error {
	zone, start, phases, err := f.parse()
	if err != nil {
		return err
	}
	var runs []loaders.CSVRun
	for _, arg := range files {
		kind, path, ok := strings.Cut(arg, "=")
		if !ok || kind != "csv" {
			return usage("import %q: want csv=FILE", arg)
		}
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		got, err := loaders.ReadCSV(path, file, zone)
		file.Close()
		if err != nil {
			return err
		}
		runs = append(runs, got...)
	}
	store, err := ingest.OpenStore(f.data, a.warn)
	if err != nil {
		return err
	}
	defer store.Close()
	for i := range runs {
		if err := a.importCSV(store, &f, &runs[i], f.number+i, start, phases); err != nil {
			return err
		}
	}
	a.say("import: %d runs in %s", len(runs), f.data)
	return nil
}

// importCSV makes a run folder of a table's run.
func (a *app) importCSV(s *ingest.Store, f *importFlags, r *loaders.CSVRun, number int, start time.Time, phases []importPhase) error {
	if dir := ingest.RunDir(f.data, f.experiment, f.system, f.scenario, number); exists(dir) {
		return fmt.Errorf("import: %s: there is a run of this number: give another --run-number", dir)
	}
	when := r.Start
	if when.IsZero() {
		when = start
	}
	wall := func(elapsedNS int64) int64 {
		if when.IsZero() {
			return schemas.NoWall
		}
		return when.UnixNano() + elapsedNS
	}
	epoch := schemas.NewEpoch()
	at := func(d time.Duration) schemas.Stamp {
		return schemas.Stamp{Host: f.host, WallNS: wall(d.Nanoseconds()), BootNS: d.Nanoseconds(), BootID: "imported"}
	}
	ticks := make([]schemas.Tick, len(r.Value))
	for i := range ticks {
		row := schemas.NewRow(&schemas.Workload, wall(r.EndNS[i]), r.EndNS[i], r.IntervalNS[i])
		row.SetText("driver", "csv")
		row.SetText("unit", f.unit)
		ticks[i] = schemas.Tick{Seq: int64(i + 1), Rows: []schemas.Row{row}}
		if r.Known[i] {
			row.SetFloat("operations", r.Value[i]*float64(r.IntervalNS[i])*1e-9)
		} else {
			ticks[i].Rows = append(ticks[i].Rows, schemas.QualityRow(row.WallNS, row.BootNS, "nan", schemas.Workload.Name, "the table has no number here"))
		}
	}
	length := time.Duration(r.EndNS[len(r.EndNS)-1])
	params := map[string]any{"imported": "csv"}
	if r.Run != "" {
		params["run"] = r.Run
	}
	controls := []schemas.Control{
		{Kind: "open", At: at(0), Open: &schemas.Open{Experiment: f.experiment, System: f.system, Scenario: f.scenario, Run: number, Slot: -1, Hosts: 1, Params: params}},
		{Kind: "hello", At: at(0), Hello: &schemas.Hello{Epoch: epoch, Kind: "import", Roles: []string{f.role}, IntervalNS: r.IntervalNS[0]}},
	}
	for _, p := range phases {
		if p.to > length {
			return usage("--phase %s=%s..%s: the run is %s long", p.name, p.from, p.to, length)
		}
		controls = append(controls, schemas.Control{Kind: "phase", At: at(p.from), Phase: p.name}, schemas.Control{Kind: "phase", At: at(p.to), Phase: "rest"})
	}
	controls = append(controls,
		schemas.Control{Kind: "end", At: at(length), End: &schemas.End{Epoch: epoch, LastSeq: int64(len(ticks))}},
		schemas.Control{Kind: "close", At: at(length)})
	id := schemas.Producer{Run: campaign.NewRunID(), Host: f.host, Epoch: epoch, BootID: "imported"}
	if err := storeRun(s, id, controls, ticks); err != nil {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
