package wrk

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/goccy/go-yaml"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/collector/workload/undo"
	"github.com/steadybench/steady/schemas"
)

// recorder is an Out that keeps all.
type recorder struct {
	t       *testing.T
	inside  sync.Mutex // one goroutine at a time
	rows    []schemas.Row
	phases  map[string]int64
	outputs map[string]string
	onPhase func(string)
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, phases: map[string]int64{}, outputs: map[string]string{}, onPhase: func(string) {}}
}

func (r *recorder) alone() func() {
	if !r.inside.TryLock() {
		r.t.Error("two goroutines at once")
		return func() {}
	}
	return r.inside.Unlock
}

func (r *recorder) Row(row schemas.Row) {
	defer r.alone()()
	r.rows = append(r.rows, row)
}

func (r *recorder) Phase(name string, bootNS int64) {
	defer r.alone()()
	if _, ok := r.phases[name]; ok {
		r.t.Errorf("phase %s twice", name)
	}
	r.phases[name] = bootNS
	r.onPhase(name)
}

func (r *recorder) Output(name string, data []byte) {
	defer r.alone()()
	r.outputs[name] += string(data)
}

func cell(row schemas.Row, column string) schemas.Cell {
	return row.Cells[row.Table.Column(column)]
}

// part returns the rows of a part of the load, which must be contiguous.
func (r *recorder) part(name string) (out []schemas.Row) {
	r.t.Helper()
	for _, row := range r.rows {
		if row.Table != &schemas.Workload || row.Device != name {
			continue
		}
		if n := len(out); n > 0 && row.BootNS-row.IntervalNS != out[n-1].BootNS {
			r.t.Errorf("part %q: a row begins %d ns after the last one ended", name, row.BootNS-row.IntervalNS-out[n-1].BootNS)
		}
		out = append(out, row)
	}
	return out
}

// of returns the rows of a part that lie in the measured phase.
func (r *recorder) measured(name string) (out []schemas.Row) {
	r.t.Helper()
	for _, row := range r.part(name) {
		if mid := row.BootNS - row.IntervalNS/2; mid >= r.phases["measure"] && mid <= r.phases["cooldown"] {
			out = append(out, row)
		}
	}
	return out
}

func sum(rows []schemas.Row, column string) (v float64) {
	for _, row := range rows {
		c := cell(row, column)
		v += c.Float + float64(c.Int)
	}
	return v
}

// figure returns a value of table summary.
func (r *recorder) figure(source, metric string) float64 {
	r.t.Helper()
	for _, row := range r.rows {
		if row.Table == &schemas.Summary && cell(row, "metric").Text == metric && cell(row, "source").Text == source {
			if phase := cell(row, "phase").Text; phase != "measure" {
				r.t.Errorf("%s of phase %q", metric, phase)
			}
			return cell(row, "value").Float
		}
	}
	r.t.Errorf("no %s of %s in table summary", metric, source)
	return 0
}

// histogram returns the one that the last measured row has.
func (r *recorder) histogram() *hdrhistogram.Histogram {
	r.t.Helper()
	rows := r.measured("")
	for i, row := range rows {
		b := cell(row, "latency_hist").Bytes
		if (b != nil) != (i == len(rows)-1) {
			r.t.Fatalf("row %d of %d: histogram of %d bytes", i, len(rows), len(b))
		}
	}
	h, err := hdrhistogram.Decode(cell(rows[len(rows)-1], "latency_hist").Bytes)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// lab is a driver with its environment.
type lab struct {
	*testing.T
	dir      string
	env      *workload.Env
	limits   *limits // in place of the host's
	mu       sync.Mutex
	warnings []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{T: t, dir: t.TempDir()}
	j, err := undo.Open(filepath.Join(l.dir, "undo.journal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := j.Left(); len(left) > 0 {
			t.Errorf("left in the journal: %v", left)
		}
		j.Undo()
		j.Close()
	})
	scratch := filepath.Join(l.dir, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	l.env = &workload.Env{Dir: scratch, Warmup: time.Second, Measure: 2 * time.Second, Interval: time.Second, Undo: j,
		Warn: func(err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.warnings = append(l.warnings, err.Error())
		}}
	return l
}

func (l *lab) warned() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.warnings, "\n")
}

func decoder(params string) func(any) error {
	return func(into any) error { return yaml.UnmarshalWithOptions([]byte(params), into, yaml.Strict()) }
}

func (l *lab) start(params string) *workload.Session {
	l.Helper()
	w, err := New(decoder(params))
	if err != nil {
		l.Fatal(err)
	}
	if l.limits != nil {
		w.(*Workload).limits = func() (limits, error) { return *l.limits, nil }
	}
	s, err := w.Start(l.Context(), l.env)
	if err != nil {
		l.Fatal(err)
	}
	if s.Stop != nil {
		l.Cleanup(func() {
			if err := s.Stop(); err != nil && !l.Failed() && !strings.Contains(err.Error(), "ended") {
				l.Error(err)
			}
		})
	}
	return s
}

// run starts a session and runs its job.
func (l *lab) run(ctx context.Context, params string, onPhase func(s *workload.Session, phase string)) (*recorder, *workload.Session, error) {
	l.Helper()
	s := l.start(params)
	r := newRecorder(l.T)
	if onPhase != nil {
		r.onPhase = func(phase string) { onPhase(s, phase) }
	}
	_, boot := collector.Now()
	return r, s, s.Job(boot).Run(ctx, r)
}

// need skips a test where a tool can't be had.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s: not installed (.ci/tools)", tool)
		}
	}
}

// script makes an executable shell script.
func (l *lab) script(name, text string) string {
	l.Helper()
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		l.Fatal(err)
	}
	return path
}
