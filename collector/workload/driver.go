package workload

import (
	"context"
	"io"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload/undo"
	"github.com/steadybench/steady/schemas"
)

// A Workload is a load with its parameters, and what it needs to run: a server, data, a
// tool.
type Workload interface {
	// Params are the parameters as the manifest shows them: strings, numbers, booleans,
	// every default filled in.
	Params() map[string]any
	// Check returns what this host lacks for the workload, without changing anything.
	Check(ctx context.Context) []Problem
	// Needs is about how long preparing and clearing away take, for the time left.
	Needs() time.Duration
	// Start brings up what the load needs. What must not outlive the run is in env's
	// journal before it is there. On error all of it is gone again.
	Start(ctx context.Context, env *Env) (*Session, error)
}

// Problem is something that keeps a workload from running, or makes its figures
// doubtful.
type Problem struct {
	What   string // "wrk: not installed"
	Remedy string // "apt-get install wrk"
	// Fatal says that the workload can't run so.
	Fatal bool
}

func (p Problem) String() string {
	if p.Remedy == "" {
		return p.What
	}
	return p.What + ": " + p.Remedy
}

// Env is where a workload works.
type Env struct {
	// Dir is a directory of the run's own, removed when the run is over.
	Dir string
	// Server, Load and Probe are the CPUs of what is under test, of the load and of
	// what measures beside it; nil is all.
	Server, Load, Probe []int
	// Warmup and Measure are how long the load is to run before and while it counts.
	Warmup, Measure time.Duration
	// Interval is the nominal length of a row.
	Interval time.Duration
	// Undo is the journal of what must not outlive the run.
	Undo *undo.Journal
	// Warn is told what a user should know.
	Warn func(error)
}

// Session is a workload that is up.
type Session struct {
	// Job returns the load of a run that begins at a moment of the boot time clock.
	Job func(startBootNS int64) Job
	// Watch are the processes whose CPU and memory the run is about.
	Watch []Watch
	// Facts are versions of tools and servers, and the exact commands.
	Facts map[string]string
	// Stop ends what Start brought up, and takes what it left out of the journal. It is
	// called once, however the run ended.
	Stop func() error
}

// Watch names a process with all of its descendants.
type Watch struct {
	Name string
	PID  int
}

// Out takes what a job has to say. Its methods may be called from one goroutine at a
// time.
type Out interface {
	// Row takes a row of table workload or summary.
	Row(schemas.Row)
	// Phase says that a phase begins at a moment of the boot time clock: "warmup", then
	// "measure", and "cooldown" where that ends.
	Phase(name string, bootNS int64)
	// Output takes the next bytes of what a tool printed, for a file of that name.
	Output(name string, data []byte)
}

// A Job is a load from its start to its own end.
type Job interface {
	// Run drives the load, says when its phases begin, and returns when the measured
	// one is over. ctx ends it before its time. An error says that the load could not
	// be driven, or gave no result.
	Run(ctx context.Context, out Out) error
}

// Timed makes a job of a load without an end of its own: phases as planned, on the boot
// time clock.
type Timed struct {
	Load        Load
	StartBootNS int64
	Phases      []Phase
}

// Phase is a part of a run.
type Phase struct {
	Name     string
	Duration time.Duration
}

// Run implements Job.
func (t *Timed) Run(ctx context.Context, out Out) error {
	driving, end := context.WithCancel(ctx)
	defer end()
	rows := make(chan schemas.Row)
	done := make(chan error, 1)
	go func() {
		done <- t.Load.Run(driving, func(r schemas.Row) { rows <- r })
		close(rows)
	}()
	at := t.StartBootNS
	next := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case row, ok := <-rows:
			if !ok {
				return <-done
			}
			out.Row(row)
		case <-timer.C:
			_, now := collector.Now()
			switch {
			case now < at:
				timer.Reset(time.Duration(at - now))
			case next < len(t.Phases):
				out.Phase(t.Phases[next].Name, at)
				at += t.Phases[next].Duration.Nanoseconds()
				next++
				timer.Reset(0)
			default:
				out.Phase("cooldown", at)
				end()
			}
		}
	}
}

// Output returns a writer of a tool's output to out.
func Output(out Out, name string) io.Writer { return &outputWriter{out, name} }

type outputWriter struct {
	out  Out
	name string
}

func (w *outputWriter) Write(b []byte) (int, error) {
	w.out.Output(w.name, b)
	return len(b), nil
}

// SleepUntil waits for a moment of the boot time clock and reports whether it came
// before ctx ended.
func SleepUntil(ctx context.Context, bootNS int64) bool {
	for {
		_, now := collector.Now()
		if now >= bootNS {
			return ctx.Err() == nil
		}
		if !sleep(ctx, time.Duration(bootNS-now)) {
			return false
		}
	}
}

// SummaryRow returns a row of table summary: a tool's own figure over so many
// nanoseconds that end at the stamps.
func SummaryRow(wallNS, bootNS, intervalNS int64, source, metric, phase, unit string, value float64) schemas.Row {
	row := schemas.NewRow(&schemas.Summary, wallNS, bootNS, intervalNS)
	row.SetText("metric", metric)
	row.SetText("phase", phase)
	row.SetFloat("value", value)
	row.SetText("unit", unit)
	row.SetText("source", source)
	return row
}
