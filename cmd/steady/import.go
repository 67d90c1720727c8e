package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	start, date                        string
	phases                             []string
	salvage, add, asJSON               bool
}

// importKind is a kind of files that can be imported: the word before the file's name,
// whose role such data have, and its reader.
type importKind struct {
	name, role string
	read       func(path string, text []byte, o loaders.ForeignOptions, unit string) ([]*loaders.Foreign, error)
}

var importKinds = []importKind{
	{"sadf", "sut", func(path string, text []byte, o loaders.ForeignOptions, _ string) ([]*loaders.Foreign, error) {
		if loaders.IsSa(text) {
			f, _, err := loaders.ReadSa(path, o)
			return []*loaders.Foreign{f}, err
		}
		f, err := loaders.ReadSadf(path, text, o)
		return []*loaders.Foreign{f}, err
	}},
	{"sar", "sut", func(path string, text []byte, o loaders.ForeignOptions, _ string) ([]*loaders.Foreign, error) {
		f, err := loaders.ReadSar(path, text, o)
		return []*loaders.Foreign{f}, err
	}},
	{"perf", "sut", textReader(loaders.ReadPerf)},
	{"wrk", "load", textReader(loaders.ReadWrk)},
	{"sysbench", "load", textReader(loaders.ReadSysbench)},
	{"iperf3", "load", textReader(loaders.ReadIperf3)},
	{"csv", "load", func(path string, text []byte, o loaders.ForeignOptions, unit string) ([]*loaders.Foreign, error) {
		runs, err := loaders.ReadCSV(path, bytes.NewReader(text), cmp.Or(o.Zone, time.UTC))
		var out []*loaders.Foreign
		for i := range runs {
			out = append(out, runs[i].Foreign(unit))
		}
		return out, err
	}},
}

func textReader(read func(name, text string, o loaders.ForeignOptions) ([]*loaders.Foreign, error)) func(string, []byte, loaders.ForeignOptions, string) ([]*loaders.Foreign, error) {
	return func(path string, text []byte, o loaders.ForeignOptions, _ string) ([]*loaders.Foreign, error) {
		return read(path, string(text), o)
	}
}

func importNames() string {
	names := make([]string, len(importKinds))
	for i, k := range importKinds {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

func (a *app) importFiles() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import KIND=FILE...",
		Short: "existing measurements become runs",
		Long: `Files of other tools become run folders, with the originals beside the tables.

  sadf=FILE      sysstat's data: a binary file of sadc (read through this host's sadf), or
                 what LC_ALL=C sadf -j FILE -- -A printed; also sadf -d
  sar=FILE       sar's text; it tells no zone: give --tz
  perf=FILE      perf stat -I 1000, as CSV (-x,), JSON (-j) or text
  wrk=FILE       wrk's output, with or without --latency
  sysbench=FILE  sysbench 1.0 or 1.1, with or without --report-interval and --histogram
  iperf3=FILE    iperf3's JSON (-J, --json-stream) or text
  csv=FILE       a table of time,value or run,time,value: the value is a throughput, in
                 --unit a second

Several files become one run, each where its own times say, else from the run's start
on; --add adds to a run that is there. A file with several runs (a table, or outputs
behind one another) makes a run folder of each. A file that can't be read whole is
refused, with file, line or byte, and cause; --salvage keeps what is before the damage,
and marks the run incomplete. docs/IMPORT.md says what becomes of every figure.`,
		Args: atLeast(1),
		RunE: func(c *cobra.Command, arg []string) error { return a.runImport(arg, f) },
	}
	dataFlag(c, &f.data)
	fl := c.Flags()
	fl.StringVar(&f.experiment, "experiment", "", "the comparison that the runs belong to")
	fl.StringVar(&f.system, "system", "", "the variant under test")
	fl.StringVar(&f.scenario, "scenario", "", "the workload, as a name")
	fl.IntVar(&f.number, "run-number", 1, "number of the (first) run")
	fl.StringVar(&f.host, "host", "", "the host's name (default: as the files say, else imported)")
	fl.StringVar(&f.role, "role", "", "sut, load or both, with a comma (default: what the kinds of files are about)")
	fl.StringVar(&f.zone, "tz", "", "zone of times that name none (Europe/Berlin, or a fixed offset: +02:00)")
	fl.StringVar(&f.unit, "unit", "operation", "what a table's values count, a second")
	fl.StringVar(&f.start, "start", "", "start of a run whose files tell none (RFC 3339)")
	fl.StringVar(&f.date, "date", "", "day of a file that tells none, or ambiguously (2006-01-02)")
	fl.StringArrayVar(&f.phases, "phase", nil, "a phase: measure=2m..5m, in time since the start")
	fl.BoolVar(&f.add, "add", false, "add the files to the run that is there")
	jsonFlag(c, &f.asJSON)
	fl.BoolVar(&f.salvage, "salvage", false, "keep what is before the damage of a file; the run is incomplete")
	return c
}

// importPhase is a phase as the user gives it.
type importPhase struct {
	name     string
	from, to time.Duration
}

func (f *importFlags) parse() (o loaders.ForeignOptions, start time.Time, phases []importPhase, err error) {
	o = loaders.ForeignOptions{Date: f.date, Salvage: f.salvage}
	for _, r := range f.roles() {
		if r != "sut" && r != "load" {
			return o, start, nil, usage("--role %q: want sut, load or sut,load", f.role)
		}
	}
	if err := errors.Join(schemas.CheckName("--experiment", f.experiment), schemas.CheckName("--system", f.system), schemas.CheckName("--scenario", f.scenario)); err != nil {
		return o, start, nil, usage("%w", err)
	}
	if f.number < 1 || f.number > 9999 {
		return o, start, nil, usage("--run-number %d: want 1 to 9999", f.number)
	}
	if t, err := time.Parse("-07:00", f.zone); err == nil {
		o.Zone = t.Location()
	} else if f.zone != "" {
		if o.Zone, err = time.LoadLocation(f.zone); err != nil {
			return o, start, nil, usage("--tz %q: %w", f.zone, err)
		}
	}
	if _, err := time.Parse(time.DateOnly, f.date); f.date != "" && err != nil {
		return o, start, nil, usage("--date %q: want 2006-01-02", f.date)
	}
	if f.start != "" {
		if start, err = time.Parse(time.RFC3339Nano, f.start); err != nil {
			return o, start, nil, usage("--start %q: want 2006-01-02T15:04:05Z", f.start)
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
			return o, start, nil, usage("--phase %q: want NAME=FROM..TO, such as measure=2m..5m", p)
		}
		phases = append(phases, x)
	}
	slices.SortFunc(phases, func(a, b importPhase) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(phases); i++ {
		if phases[i].from < phases[i-1].to {
			return o, start, nil, usage("--phase %s and %s: they overlap", phases[i-1].name, phases[i].name)
		}
	}
	return o, start, phases, nil
}

func (f *importFlags) roles() []string {
	if f.role == "" {
		return nil
	}
	return strings.Split(f.role, ",")
}

// imported is a file that was read, or one of several runs in it.
type imported struct {
	*loaders.Foreign
	host  string
	roles []string
	path  string
	text  []byte
}

func (a *app) runImport(files []string, f importFlags) error {
	o, start, phases, err := f.parse()
	if err != nil {
		return err
	}
	var all []imported
	most := 0 // runs in a file
	for _, arg := range files {
		kind, path, ok := strings.Cut(arg, "=")
		k := slices.IndexFunc(importKinds, func(x importKind) bool { return x.name == kind })
		if !ok || k < 0 {
			return usage("import %q: want KIND=FILE, where KIND is one of %s", arg, importNames())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		got, err := importKinds[k].read(path, text, o, f.unit)
		if err != nil {
			return err
		}
		most = max(most, len(got))
		for _, g := range got {
			x := imported{Foreign: g, host: cmp.Or(f.host, g.Host, "imported"), roles: f.roles(), path: path, text: text}
			if x.roles == nil {
				x.roles = []string{importKinds[k].role}
			}
			all = append(all, x)
		}
	}
	if most > 1 && (len(files) > 1 || f.add) {
		return usage("import: a file with several runs goes alone: import it first, the others with --add")
	}
	store, err := ingest.OpenStore(f.data, a.warn)
	if err != nil {
		return err
	}
	defer store.Close()
	runs := [][]imported{all}
	if most > 1 {
		runs = slices.Collect(slices.Chunk(all, 1))
	}
	var done []importedRun
	for i, files := range runs {
		d, err := a.importRun(store, &f, files, f.number+i, start, phases)
		if err != nil {
			return err
		}
		done = append(done, *d)
	}
	if f.asJSON {
		return writeJSON(a.stdout, done)
	}
	for _, d := range done {
		fmt.Fprintf(a.stdout, "%s: %s, %.0f s, %d rows\n", d.Run, d.Status, d.DurationS, d.Rows)
		for _, why := range d.Reasons {
			fmt.Fprintf(a.stdout, "  %s\n", why)
		}
	}
	return nil
}

// importedRun is what came of an import.
type importedRun struct {
	Run       string   `json:"run"`
	Dir       string   `json:"dir"`
	Status    string   `json:"status"`
	Reasons   []string `json:"reasons"`
	DurationS float64  `json:"duration_s"`
	Rows      int64    `json:"rows"`
	Warnings  []string `json:"warnings"`
}

// importRun makes a run folder of files, or adds them to one.
func (a *app) importRun(s *ingest.Store, f *importFlags, files []imported, number int, start time.Time, phases []importPhase) (*importedRun, error) {
	dir := ingest.RunDir(f.data, f.experiment, f.system, f.scenario, number)
	if exists(dir) && !f.add {
		return nil, fmt.Errorf("import: %s: there is a run of this number: give another --run-number, or --add to add to it", dir)
	}
	// The files that tell no start begin at --start, else with the run.
	begin := time.Time{}
	for _, x := range files {
		if t := x.Start; begin.IsZero() || !t.IsZero() && t.Before(begin) {
			begin = t
		}
		if x.Start.IsZero() && !start.IsZero() && (begin.IsZero() || start.Before(begin)) {
			begin = start
		}
	}
	if f.add {
		m, err := ingest.ReadManifest(dir)
		if err != nil {
			return nil, fmt.Errorf("import: --add: there is no such run: %w", err)
		}
		if m.Start != nil {
			begin = *m.Start
		}
	}
	var length int64
	for i := range files {
		x := &files[i]
		if x.Start.IsZero() {
			x.Start = cmp.Or(start, begin)
		}
		length = max(length, x.Start.Sub(begin).Nanoseconds()+x.DurationNS)
	}
	for _, p := range phases {
		if p.to.Nanoseconds() > length {
			return nil, usage("--phase %s=%s..%s: the run is %s long", p.name, p.from, p.to, time.Duration(length))
		}
	}
	run := campaign.NewRunID()
	w := importWriter{s: s, seq: s.Begin("imported: " + run), run: run, begin: begin}
	warnings := w.write(f, files, number, length, phases)
	for _, text := range warnings {
		a.warn(errors.New(text))
	}
	var incomplete []string
	for _, x := range files {
		incomplete = append(incomplete, x.Incomplete...)
	}
	var m *schemas.Manifest
	var err error
	if f.add {
		m, err = s.AddTo(run, dir)
	} else {
		dir, m, err = s.Finish(run, strings.Join(incomplete, "; "))
	}
	if err != nil {
		return nil, errors.Join(err, s.Forget(run))
	}
	if err := s.Forget(run); err != nil {
		return nil, err
	}
	d := &importedRun{Run: fmt.Sprintf("%s/%s/%s/%s", m.Experiment, m.System, m.Scenario, m.Run), Dir: dir, Status: m.Status, Reasons: m.Reasons,
		DurationS: float64(m.DurationNS) * 1e-9, Warnings: append([]string{}, warnings...)}
	for _, t := range m.Tables {
		if t.Table != schemas.Quality.Name {
			d.Rows += t.Rows
		}
	}
	return d, nil
}

// importWriter hands a run's files to the store.
type importWriter struct {
	s     *ingest.Store
	seq   uint64
	run   string
	begin time.Time // zero: unknown
}

func (w *importWriter) wall(elapsedNS int64) int64 {
	if w.begin.IsZero() {
		return schemas.NoWall
	}
	return w.begin.UnixNano() + elapsedNS
}

func (w *importWriter) say(host string, elapsedNS int64, c schemas.Control) {
	c.At = schemas.Stamp{Host: host, WallNS: w.wall(elapsedNS), BootNS: elapsedNS, BootID: bootName(0)}
	w.s.AddControl(w.seq, w.run, &c)
	w.seq++
}

// bootName is the id of a host's boots, of which foreign files tell only the number.
func bootName(k int) string { return fmt.Sprintf("imported-%d", k+1) }

// write writes a run of so many nanoseconds and returns what there is to warn of.
func (w *importWriter) write(f *importFlags, files []imported, number int, length int64, phases []importPhase) (warnings []string) {
	var kinds []string
	hosts := map[string]bool{}
	params := map[string]any{}
	for _, x := range files {
		kinds = append(kinds, x.Kind)
		hosts[x.host] = true
		for k, v := range x.Params {
			if _, twice := params[k]; twice {
				k = x.Kind + "." + k
			}
			params[k] = v
		}
	}
	params["imported"] = strings.Join(kinds, ",")
	first := files[0].host
	w.say(first, 0, schemas.Control{Kind: "open", Open: &schemas.Open{Experiment: f.experiment, System: f.system, Scenario: f.scenario,
		Run: number, Slot: -1, Hosts: len(hosts), Params: params}})
	told := len(phases) > 0
	for i, p := range phases {
		w.say(first, p.from.Nanoseconds(), schemas.Control{Kind: "phase", Phase: p.name})
		if i+1 == len(phases) || phases[i+1].from > p.to {
			w.say(first, p.to.Nanoseconds(), schemas.Control{Kind: "phase", Phase: "rest"})
		}
	}
	var failed []string
	for _, x := range files {
		shift := x.Start.Sub(w.begin).Nanoseconds()
		failed = append(failed, x.Failed...)
		if !told {
			for _, p := range x.Phases {
				w.say(first, p.FromNS+shift, schemas.Control{Kind: "phase", Phase: p.Name})
				told = true
			}
		}
		warnings = append(warnings, w.file(&x, shift)...)
	}
	if len(failed) > 0 {
		w.say(first, length, schemas.Control{Kind: "abort", Cause: strings.Join(failed, "; ")})
	} else {
		w.say(first, length, schemas.Control{Kind: "close"})
	}
	return warnings
}

// file writes one file's ticks, moved by shift, and the file itself.
func (w *importWriter) file(x *imported, shift int64) (warnings []string) {
	p := schemas.Producer{Run: w.run, Host: x.host, Epoch: schemas.NewEpoch()}
	w.say(x.host, shift, schemas.Control{Kind: "hello", Hello: &schemas.Hello{Epoch: p.Epoch, Kind: "import " + x.Kind, Roles: x.roles, Facts: x.Facts}})
	var seq int64
	add := func(boot int, ticks []schemas.Tick) {
		for i := range ticks {
			t := &ticks[i]
			seq++
			t.Seq = seq
			for j := range t.Blocks {
				b := &t.Blocks[j]
				b.BootNS += shift
				b.WallNS = w.wall(b.BootNS)
			}
			for j := range t.Rows {
				r := &t.Rows[j]
				r.BootNS += shift
				r.WallNS = w.wall(r.BootNS)
			}
		}
		p.BootID = bootName(boot)
		w.s.AddMessage(w.seq, &schemas.Message{Producer: p, Ticks: ticks})
		w.seq++
	}
	for boot, ticks := range x.Boots {
		add(boot, ticks)
	}
	last := schemas.Tick{Rows: schemas.OutputRows(0, x.DurationNS, filepath.Base(x.path), x.text)}
	for _, text := range x.Warnings {
		warnings = append(warnings, fmt.Sprintf("import: %s: %s", x.path, text))
		last.Rows = append(last.Rows, schemas.QualityRow(0, x.DurationNS, "import", "", text))
	}
	add(max(len(x.Boots)-1, 0), []schemas.Tick{last})
	w.say(x.host, x.DurationNS+shift, schemas.Control{Kind: "end", End: &schemas.End{Epoch: p.Epoch, LastSeq: seq}})
	return warnings
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
