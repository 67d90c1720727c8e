package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/report"
	"github.com/steadybench/steady/schemas"
)

func (a *app) analyze() *cobra.Command {
	var data, margin, window string
	var asJSON, gate, all bool
	var keep time.Duration
	o := judgeOptions{}
	c := &cobra.Command{
		Use:   "analyze EXPERIMENT...",
		Short: "results of an experiment: intervals, differences, verdicts",
		Long: `Forms each run's values over its window, summarises each system over its runs,
compares each with the baseline, and writes DATA/experiments/EXPERIMENT/results.json.
Of several experiments (names, or patterns such as 'web-*') the verdicts on primary
metrics are counted.
With --gate the exit code is 3 if a primary metric got worse, 4 if one is undecided,
5 if the data don't allow a judgement.`,
		Args: atLeast(1),
		RunE: func(c *cobra.Command, arg []string) error {
			if err := o.parse(keep, margin, window); err != nil {
				return err
			}
			if names := experiments(data, arg); len(names) > 1 {
				return a.analyzeAll(c.Context(), data, names, o, asJSON)
			}
			results, _, err := a.judgeExperiment(data, arg[0], o)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(a.stdout, results)
			} else {
				err = report.Terminal(a.stdout, results, terminalOptions(a.stdout, all))
			}
			switch {
			case err != nil:
				return err
			case o.aa:
				return a.reportAA(results, asJSON)
			case gate:
				return gateResult(results)
			}
			return nil
		},
	}
	dataFlag(c, &data)
	jsonFlag(c, &asJSON)
	fl := c.Flags()
	fl.DurationVar(&keep, "keep", 0, "keep the last part of the measured phase only (3m)")
	fl.StringVar(&o.baseline, "baseline", "", "the system the others are compared with (default: baseline, or the first that ran)")
	fl.StringVar(&margin, "margin", "2%", "what is no difference in practice")
	fl.StringVar(&window, "window", "fixed", "the window that is judged: fixed or auto")
	fl.StringSliceVar(&o.primary, "primary", defaultPrimary, "the metrics that the experiment is about")
	fl.BoolVar(&o.by, "by", false, "control false discoveries by Benjamini-Yekutieli: under any dependence, with less power")
	fl.BoolVar(&o.aa, "aa", false, "the systems are one and the same: report the noise floor, and exit 3 if a primary metric differs")
	fl.BoolVar(&gate, "gate", false, "exit 3, 4 or 5 unless nothing is worse, undecided, or missing")
	fl.BoolVar(&all, "all", false, "print metrics that show no difference too")
	return c
}

// experiments returns the experiments named, patterns replaced by those that match.
func experiments(data string, names []string) []string {
	var out []string
	for _, n := range names {
		const key = "experiment="
		dirs, err := filepath.Glob(filepath.Join(data, "runs", key+n))
		if err != nil || len(dirs) == 0 {
			out = append(out, n) // to be complained of where it is opened
		}
		for _, d := range dirs {
			out = append(out, strings.TrimPrefix(filepath.Base(d), key))
		}
	}
	return out
}

// verdictLine is one comparison of a primary metric, as analyze prints it of several
// experiments.
type verdictLine struct {
	Experiment string      `json:"experiment"`
	Scenario   string      `json:"scenario"`
	Metric     string      `json:"metric"`
	System     string      `json:"system"`
	Verdict    string      `json:"verdict"`
	Percent    *float64    `json:"percent"`
	PercentCI  [2]*float64 `json:"percent_ci"`
	Level      float64     `json:"level"`
}

// analyzeAll judges several experiments and counts the verdicts on primary metrics.
func (a *app) analyzeAll(ctx context.Context, data string, names []string, o judgeOptions, asJSON bool) error {
	type key struct{ scenario, metric, system string }
	counts := map[key]map[string]int{}
	var order []key
	lines := []verdictLine{}
	for _, n := range names {
		if ctx.Err() != nil {
			return &exitError{exitFailed, errors.New("interrupted")}
		}
		results, _, err := a.judgeExperiment(data, n, o)
		if err != nil {
			return err
		}
		for _, s := range results.Scenarios {
			for _, m := range s.Metrics {
				for _, c := range m.Comparisons {
					if !m.Primary || c.Verdict == nil {
						continue
					}
					lines = append(lines, verdictLine{n, s.Scenario, m.Metric, c.System, *c.Verdict, c.Percent, c.PercentCI, c.Level})
					k := key{s.Scenario, m.Metric, c.System}
					if counts[k] == nil {
						counts[k] = map[string]int{}
						order = append(order, k)
					}
					counts[k][*c.Verdict]++
				}
			}
		}
	}
	if asJSON {
		return writeJSON(a.stdout, lines)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d experiments\nSCENARIO\tMETRIC\tSYSTEM\tBETTER\tWORSE\tSAME\tUNDECIDED\n", len(names))
	for _, k := range order {
		n := counts[k]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", k.scenario, k.metric, k.system, n[schemas.Better], n[schemas.Worse], n[schemas.Same], n[schemas.Undecided])
	}
	return w.Flush()
}

func (o *judgeOptions) parse(keep time.Duration, margin, window string) error {
	m, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(margin), "%"), 64)
	switch {
	case err != nil || !strings.HasSuffix(margin, "%") || m <= 0 || m >= 100:
		return usage("--margin %q: want a percentage, such as 2%%", margin)
	case keep < 0:
		return usage("--keep %s: want a length of time, such as 3m", keep)
	case window != string(analyze.Fixed) && window != string(analyze.Auto):
		return usage("--window %q: want fixed or auto", window)
	}
	o.keepNS, o.margin, o.window = keep.Nanoseconds(), m/100, analyze.WindowKind(window)
	return nil
}

// judgeExperiment judges an experiment and writes its results.json.
func (a *app) judgeExperiment(data, experiment string, o judgeOptions) (*schemas.Results, []loaders.Scenario, error) {
	if err := schemas.CheckName("experiment", experiment); err != nil {
		return nil, nil, usage("%w", err)
	}
	runs, err := loaders.Runs(data, experiment)
	if err != nil {
		return nil, nil, err
	}
	if o.extended, err = extensions(data, experiment); err != nil {
		return nil, nil, err
	}
	results, scenarios, err := judge(runs, o)
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	if err := writeJSON(&b, results); err != nil {
		return nil, nil, err
	}
	return results, scenarios, replaceFile(filepath.Join(data, "experiments", experiment, "results.json"), b.Bytes())
}

// extensions returns which scenarios of an experiment were extended; none where it was
// not carried out by steady run.
func extensions(data, experiment string) (map[string]campaign.Extension, error) {
	path := filepath.Join(data, "experiments", experiment, "state.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var s campaign.State
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("analyze: %s: %w", path, err)
	}
	return s.Extended, nil
}

// replaceFile writes a file by one rename.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, path)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// terminalOptions fits the table to where it is printed.
func terminalOptions(w io.Writer, all bool) report.TerminalOptions {
	o := report.TerminalOptions{All: all}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
	}
	return o
}

// reportAA prints the noise floor of the primary metrics, and fails if systems that are
// one and the same were told apart.
func (a *app) reportAA(r *schemas.Results, asJSON bool) error {
	var apart []string
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nNOISE FLOOR\tSYSTEM\tRUNS\tCHANCE ALONE MAKES")
	for _, s := range r.Scenarios {
		for _, m := range s.Metrics {
			if !m.Primary {
				continue
			}
			for _, x := range m.Systems {
				floor := "unknown: two runs or more are needed, all positive and not all the same"
				if x.NoiseFloorPercent != nil {
					floor = fmt.Sprintf("±%.2g %% one time in twenty", *x.NoiseFloorPercent)
				}
				fmt.Fprintf(w, "%s %s\t%s\t%d against %d\t%s\n", s.Scenario, m.Metric, x.System, x.Used, x.Used, floor)
			}
			for _, c := range m.Comparisons {
				if c.Verdict != nil && (*c.Verdict == schemas.Better || *c.Verdict == schemas.Worse) {
					apart = append(apart, fmt.Sprintf("%s %s of %s is called %s", s.Scenario, m.Metric, c.System, *c.Verdict))
				}
			}
		}
	}
	if !asJSON {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if len(apart) > 0 {
		return &exitError{exitWorse, fmt.Errorf("a/a: %s: one comparison in twenty is; if it happens again, the order of the runs, the machine or the method is at fault", strings.Join(apart, ", "))}
	}
	return nil
}

// gateResult turns the primary metrics' verdicts into an exit code.
func gateResult(r *schemas.Results) error {
	var worse, undecided []string
	judged := 0
	for _, s := range r.Scenarios {
		for _, m := range s.Metrics {
			for _, c := range m.Comparisons {
				if !m.Primary || c.Verdict == nil {
					continue
				}
				what := fmt.Sprintf("%s %s of %s", s.Scenario, m.Metric, c.System)
				switch {
				case c.P == nil:
				case *c.Verdict == schemas.Worse:
					worse = append(worse, what)
					judged++
				case *c.Verdict == schemas.Undecided:
					undecided = append(undecided, what)
					judged++
				default:
					judged++
				}
			}
		}
	}
	switch {
	case len(worse) > 0:
		return &exitError{exitWorse, fmt.Errorf("gate: worse: %s", strings.Join(worse, ", "))}
	case judged == 0:
		return &exitError{exitBadData, errors.New("gate: no primary metric could be judged: see the warnings")}
	case len(undecided) > 0:
		return &exitError{exitUndecided, fmt.Errorf("gate: undecided: %s", strings.Join(undecided, ", "))}
	}
	return nil
}

func (a *app) report() *cobra.Command {
	var data, out, margin, window string
	var keep time.Duration
	var markdown bool
	o := judgeOptions{}
	c := &cobra.Command{
		Use:   "report EXPERIMENT",
		Short: "the results as one HTML file that needs nothing else, or as Markdown",
		Args:  args(1),
		RunE: func(c *cobra.Command, arg []string) error {
			if err := o.parse(keep, margin, window); err != nil {
				return err
			}
			results, scenarios, err := a.judgeExperiment(data, arg[0], o)
			if err != nil {
				return err
			}
			if markdown {
				return report.Markdown(a.stdout, results)
			}
			path, err := a.writeReport(data, out, results, scenarios)
			if err == nil {
				a.say("report: %s", path)
			}
			return err
		},
	}
	dataFlag(c, &data)
	fl := c.Flags()
	fl.StringVarP(&out, "output", "o", "", "file (default: report.html beside results.json)")
	fl.BoolVar(&markdown, "markdown", false, "Markdown on standard output")
	fl.DurationVar(&keep, "keep", 0, "as for analyze")
	fl.StringVar(&o.baseline, "baseline", "", "as for analyze")
	fl.StringVar(&margin, "margin", "2%", "as for analyze")
	fl.StringVar(&window, "window", "fixed", "as for analyze")
	fl.StringSliceVar(&o.primary, "primary", defaultPrimary, "as for analyze")
	return c
}

// charted are the metrics drawn over time.
var charted = []string{"workload.throughput", "workload.latency_p99", "cpu.busy_pct"}

// writeReport writes the HTML report and returns where it is.
func (a *app) writeReport(data, out string, results *schemas.Results, scenarios []loaders.Scenario) (string, error) {
	charts, err := makeCharts(scenarios)
	if err != nil {
		return "", err
	}
	meta := report.Meta{Generator: "steady " + version(), Created: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Hosts: reportHosts(scenarios),
		Files: []report.File{{Name: "results.json", What: "every number of this page"}, {Name: "../../runs/experiment=" + results.Experiment, What: "the runs as Parquet"}}}
	var b bytes.Buffer
	if err := report.HTML(&b, results, charts, meta); err != nil {
		return "", err
	}
	if out == "" {
		out = filepath.Join(data, "experiments", results.Experiment, "report.html")
	}
	return out, replaceFile(out, b.Bytes())
}

func makeCharts(scenarios []loaders.Scenario) ([]report.Chart, error) {
	var out []report.Chart
	for i := range scenarios {
		s := &scenarios[i]
		for _, name := range charted {
			for j := range s.Metrics {
				m := &s.Metrics[j]
				if m.Name() != name || m.Host != nil || m.Device != nil {
					continue
				}
				c := report.Chart{Scenario: s.Name, Metric: name, Unit: m.Def.Unit,
					Window: report.Span{FromS: seconds(s.Windows[0].FromNS), ToS: seconds(s.Windows[0].ToNS)}}
				for _, p := range s.Runs[0].Manifest.Phases {
					c.Phases = append(c.Phases, report.Phase{Name: p.Name, Span: report.Span{FromS: seconds(p.FromNS), ToS: seconds(p.ToNS)}})
				}
				for _, r := range s.Runs {
					series, err := m.Curve(r)
					if err != nil {
						return nil, err
					}
					if series != nil {
						c.Curves = append(c.Curves, curve(r, series))
					}
				}
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// curve is a run's rows up to the end of its last phase: a load that is being ended
// says nothing.
func curve(r *loaders.Run, s *loaders.Series) report.Curve {
	used, _ := r.Manifest.Usable()
	end := r.Manifest.DurationNS
	if n := len(r.Manifest.Phases); n > 0 {
		end = r.Manifest.Phases[n-1].ToNS
	}
	c := report.Curve{System: r.Manifest.System, Run: r.Manifest.Run, Used: used}
	for i := range s.EndNS {
		v, ok := s.Value(i)
		if s.IntervalNS[i] == 0 || s.EndNS[i]-s.IntervalNS[i]/2 > end {
			continue // a first reading belongs to no interval
		}
		c.T = append(c.T, seconds(s.EndNS[i]-s.IntervalNS[i]/2))
		c.V = append(c.V, v)
		c.Known = append(c.Known, ok)
	}
	return c
}

// reportHosts lists the machines once, or a system each where they differ.
func reportHosts(scenarios []loaders.Scenario) []report.Host {
	var out []report.Host
	seen := map[string]bool{}
	for i := range scenarios {
		for _, r := range scenarios[i].Runs {
			for _, h := range r.Manifest.Hosts {
				facts, _ := json.Marshal(h.Facts) // keys in order
				if key := h.Host + string(facts); !seen[key] {
					seen[key] = true
					out = append(out, report.Host{Host: h.Host, Roles: h.Roles, Facts: h.Facts})
				}
			}
		}
	}
	return out
}
