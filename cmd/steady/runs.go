package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// sealed tells the user of a run folder.
func (a *app) sealed(dir string, m *schemas.Manifest) {
	var rows int64
	for _, t := range m.Tables {
		rows += t.Rows
	}
	why := ""
	if len(m.Reasons) > 0 {
		why = ": " + strings.Join(m.Reasons, "; ")
	}
	a.say("run %s: %s, %d rows%s", dir, m.Status, rows, why)
}

func (a *app) ls() *cobra.Command {
	var data string
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls [EXPERIMENT]",
		Short: "the runs there are, how whole their data are, and what is still going on",
		Args:  between(0, 1),
		RunE: func(c *cobra.Command, arg []string) error {
			experiment := ""
			if len(arg) > 0 {
				experiment = arg[0]
			}
			live, err := filepath.Glob(filepath.Join(data, "live", "[0-9A-Z]*"))
			if err != nil {
				return err
			}
			runs, err := loaders.Runs(data, experiment)
			if err != nil && !(errors.Is(err, loaders.ErrNoData) && len(live) > 0 && experiment == "") {
				return err
			}
			if asJSON {
				ms := make([]*schemas.Manifest, len(runs))
				for i, r := range runs {
					ms[i] = r.Manifest
				}
				return writeJSON(a.stdout, ms)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tSTART\tLENGTH\tHOSTS\tSTATUS\tROWS\tSIZE")
			for _, r := range runs {
				m := r.Manifest
				var rows, size int64
				for _, t := range m.Tables {
					rows, size = rows+t.Rows, size+t.Bytes
				}
				status := m.Status
				if ok, why := m.Usable(); !ok {
					status = why
				}
				fmt.Fprintf(w, "%s/%s/%s/%s\t%s\t%s\t%d\t%s\t%d\t%.1f KiB\n", m.Experiment, m.System, m.Scenario, m.Run,
					startText(m, time.DateTime), time.Duration(m.DurationNS).Round(time.Second), len(m.Hosts), status, rows, float64(size)/1024)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, l := range live {
				fmt.Fprintf(a.stdout, "live: %s\n", filepath.Base(l))
			}
			return nil
		},
	}
	dataFlag(c, &data)
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) exclude() *cobra.Command {
	var data, reason string
	var undo bool
	c := &cobra.Command{
		Use:   "exclude RUN --reason TEXT",
		Short: "leave a bad run out of the statistics, visibly",
		Args:  args(1),
		RunE: func(c *cobra.Command, arg []string) error {
			if (reason == "") != undo {
				return usage("exclude: want --reason TEXT, or --undo")
			}
			r, err := loaders.Find(data, arg[0])
			if err != nil {
				return err
			}
			r.Manifest.Excluded = nil
			if !undo {
				r.Manifest.Excluded = &schemas.Exclusion{Reason: reason, Time: time.Now().UTC()}
			}
			return ingest.WriteManifest(r.Dir, r.Manifest)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&reason, "reason", "", "why, for everyone who reads the results")
	c.Flags().BoolVar(&undo, "undo", false, "take it in again")
	return c
}

func (a *app) show() *cobra.Command {
	var data string
	var asCSV, asJSON bool
	c := &cobra.Command{
		Use:   "show RUN [TABLE]",
		Short: "a run's manifest, or a table of it as text or CSV",
		Long: `Without TABLE: what the run is, its phases, hosts, producers and tables. With TABLE:
its metrics a row each second and device, as sar prints them; --csv prints the columns
of the file as they are.`,
		Args: between(1, 2),
		RunE: func(c *cobra.Command, arg []string) error {
			r, err := loaders.Find(data, arg[0])
			if err != nil {
				return err
			}
			if len(arg) == 1 {
				if asJSON {
					return writeJSON(a.stdout, r.Manifest)
				}
				return a.showManifest(r)
			}
			t, err := schemas.Lookup(arg[1])
			if err != nil {
				return usage("%w", err)
			}
			x, err := r.Table(t)
			if err != nil {
				if errors.Is(err, loaders.ErrNoData) {
					err = fmt.Errorf("%w: it has %s", err, strings.Join(tableNames(r), ", "))
				}
				return err
			}
			defer r.Release()
			if !asJSON && !asCSV && t != &schemas.Quality && t != &schemas.Summary {
				return a.showMetrics(x)
			}
			f, err := x.Read()
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return a.showJSON(f)
			case asCSV:
				return a.showCSV(f)
			}
			return a.showRows(t, f)
		},
	}
	dataFlag(c, &data)
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&asCSV, "csv", false, "print CSV on standard output")
	return c
}

func startText(m *schemas.Manifest, layout string) string {
	if m.Start == nil {
		return "unknown"
	}
	return m.Start.Format(layout)
}

func tableNames(r *loaders.Run) []string {
	var out []string
	for _, t := range r.Manifest.Tables {
		out = append(out, t.Table)
	}
	return out
}

func (a *app) showManifest(r *loaders.Run) error {
	m := r.Manifest
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "run\t%s\nid\t%s\nfolder\t%s\nstart\t%s\nlength\t%s\nstatus\t%s\n", r.Name(), m.ID, r.Dir, startText(m, time.RFC3339Nano), time.Duration(m.DurationNS), m.Status)
	for _, reason := range m.Reasons {
		fmt.Fprintf(w, "\t%s\n", reason)
	}
	if m.Excluded != nil {
		fmt.Fprintf(w, "excluded\t%s (%s)\n", m.Excluded.Reason, m.Excluded.Time.Format(time.RFC3339))
	}
	for _, k := range sortedKeys(m.Params) {
		fmt.Fprintf(w, "parameter\t%s = %v\n", k, m.Params[k])
	}
	for _, p := range m.Phases {
		fmt.Fprintf(w, "phase\t%s\t%.3f s to %.3f s\n", p.Name, seconds(p.FromNS), seconds(p.ToNS))
	}
	for _, h := range m.Hosts {
		fmt.Fprintf(w, "host\t%s\t%s\n", h.Host, strings.Join(h.Roles, ", "))
		for _, k := range sortedKeys(h.Facts) {
			fmt.Fprintf(w, "\t%s\t%s\n", k, h.Facts[k])
		}
		for _, k := range sortedKeys(h.Absent) {
			fmt.Fprintf(w, "\tno %s\t%s\n", k, h.Absent[k])
		}
	}
	for _, p := range m.Producers {
		expected := "unknown"
		if p.Expected != nil {
			expected = strconv.FormatInt(*p.Expected, 10)
		}
		fmt.Fprintf(w, "producer\t%s on %s\t%s ticks expected, %d received, %d missing, %d doubled, %d late, %d missed\n", p.Kind, p.Host, expected, p.Received, count(p.Missing), p.Duplicates, p.Late, p.Missed)
	}
	for _, t := range m.Tables {
		fmt.Fprintf(w, "table\t%s\t%d rows, %d bytes\n", t.Table, t.Rows, t.Bytes)
	}
	for _, k := range sortedKeys(m.Quality) {
		fmt.Fprintf(w, "quality\t%s\t%d\n", k, m.Quality[k])
	}
	return w.Flush()
}

// cell returns row i of a column as text, empty for null.
func cell(c *columns.Column, i int) string {
	switch {
	case c.Null(i):
		return ""
	case c.Type == schemas.Float64:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 64)
	case c.Type == schemas.String:
		return c.Texts[i]
	case c.Type == schemas.Bytes:
		return string(c.Blobs[i])
	case c.Time:
		return time.UnixMicro(c.Ints[i]).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return strconv.FormatInt(c.Ints[i], 10)
}

func (a *app) showCSV(f columns.Frame) error {
	w := csv.NewWriter(a.stdout)
	record := make([]string, len(f))
	for i, c := range f {
		record[i] = c.Name
	}
	w.Write(record) // its error is kept
	for i := range f.Rows() {
		for j, c := range f {
			record[j] = cell(c, i)
		}
		w.Write(record)
	}
	w.Flush()
	return w.Error()
}

func (a *app) showJSON(f columns.Frame) error {
	rows := make([]map[string]any, f.Rows())
	for i := range rows {
		rows[i] = map[string]any{}
		for _, c := range f {
			switch {
			case c.Null(i):
				rows[i][c.Name] = nil
			case c.Type == schemas.Float64:
				rows[i][c.Name] = c.Floats[i]
			case c.Type == schemas.Bytes:
				rows[i][c.Name] = c.Blobs[i]
			case c.Type == schemas.String || c.Time:
				rows[i][c.Name] = cell(c, i)
			default:
				rows[i][c.Name] = c.Ints[i]
			}
		}
	}
	return writeJSON(a.stdout, rows)
}

// showRows prints the rows of a table that forms no metrics.
func (a *app) showRows(t *schemas.Table, f columns.Frame) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	names := append([]string{"elapsed_s", "host"}, columnNames(t)...)
	fmt.Fprintln(w, strings.Join(names, "\t")+"\t")
	for i := range f.Rows() {
		fmt.Fprintf(w, "%.3f\t%s\t", seconds(f[1].Ints[i]), f[6].Texts[i])
		for _, name := range names[2:] {
			text := cell(f.Column(name), i)
			if f.Column(name).Type == schemas.Bytes && text != "" {
				text = fmt.Sprintf("%d bytes", len(text))
			}
			fmt.Fprintf(w, "%s\t", text)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// showMetrics prints the table's metrics, a row each second and device; those of which
// the run knows nothing are left out.
func (a *app) showMetrics(x *loaders.Table) error {
	t := x.Schema
	devices := x.Devices
	if t.Device == "" {
		devices = []string{loaders.Total}
	}
	named := slices.ContainsFunc(devices, func(d string) bool { return d != "" })
	type place struct{ host, device string }
	var places []place
	for _, h := range x.Hosts {
		for _, d := range devices {
			places = append(places, place{h, d})
		}
	}
	var metrics []string
	series := make([][]*loaders.Series, len(places)) // by place, then metric
	for _, m := range t.Metrics() {
		all := make([]*loaders.Series, len(places))
		some := false
		for k, p := range places {
			var err error
			if all[k], err = metricRows(x, &m, p.host, p.device); err != nil {
				return err
			}
			some = some || slices.Contains(all[k].Known, true)
		}
		if !some {
			continue
		}
		metrics = append(metrics, m.Name)
		for k := range places {
			series[k] = append(series[k], all[k])
		}
	}
	if metrics == nil {
		return fmt.Errorf("show: table %s: no metric is known in any row: steady show RUN quality says why", t.Name)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "elapsed_s\thost\t")
	if named {
		fmt.Fprintf(w, "%s\t", t.Device)
	}
	fmt.Fprintf(w, "%s\t\n", strings.Join(metrics, "\t"))
	for k, p := range places {
		for i, end := range series[k][0].EndNS {
			fmt.Fprintf(w, "%.3f\t%s\t", seconds(end), p.host)
			if named {
				fmt.Fprintf(w, "%s\t", p.device)
			}
			for _, s := range series[k] {
				if v, ok := s.Value(i); ok {
					fmt.Fprintf(w, "%.6g\t", v)
				} else {
					fmt.Fprint(w, "-\t")
				}
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

func metricRows(x *loaders.Table, m *schemas.Metric, host, device string) (*loaders.Series, error) {
	if m.Quantile != 0 {
		return x.QuantileSeries(m, host, device)
	}
	return x.Series(m, host, device)
}

func columnNames(t *schemas.Table) []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

func (a *app) schema() *cobra.Command {
	var asJSON, markdown bool
	c := &cobra.Command{
		Use:   "schema [TABLE]",
		Short: "the tables, their columns, units and sar's names for them",
		Args:  between(0, 1),
		RunE: func(c *cobra.Command, arg []string) error {
			tables := schemas.Tables
			if len(arg) == 1 {
				t, err := schemas.Lookup(arg[0])
				if err != nil {
					return usage("%w", err)
				}
				tables = []*schemas.Table{t}
			}
			switch {
			case markdown:
				return errors.Join(schemas.WriteDoc(a.stdout), loaders.WriteSarDoc(a.stdout))
			case asJSON:
				out := make([]schemas.Description, len(tables))
				for i, t := range tables {
					out[i] = t.Describe()
				}
				return writeJSON(a.stdout, out)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "TABLE\tCOLUMN\tUNIT\tKIND\tMETRIC\tBETTER\tSAR\tIS")
			for _, t := range tables {
				for _, c := range t.Describe().Columns {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, c.Name, c.Unit, c.Kind, c.Metric, c.Direction, c.Sar, c.Help)
				}
				for _, m := range t.Derived {
					fmt.Fprintf(w, "%s\t\t%s\tderived\t%s\t%s\t%s\t%s: %s\n", t.Name, m.Unit, m.Name, m.Better, m.Sar, m.Help, t.Formula(&m))
				}
			}
			return w.Flush()
		},
	}
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&markdown, "markdown", false, "print docs/SCHEMA.md")
	return c
}
