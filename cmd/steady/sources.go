package main

import (
	"errors"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/perf"
	"github.com/steadybench/steady/collector/procfs"
	"github.com/steadybench/steady/collector/workload"
)

// sourceFlags say what is read beside /proc and /sys.
type sourceFlags struct {
	perf               []string
	interrupts         bool
	cgroups, processes []string
}

func (f *sourceFlags) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.perf, "perf", []string{"default"}, "CPU event counters: default, extended, none, and perf's names of events (sched:sched_switch, cycles:k, r1a8)")
	fl.StringArrayVar(&f.cgroups, "cgroup", nil, "control groups, by a pattern of paths: /system.slice/*, /kubepods.slice/**, / (may be given several times)")
	fl.StringArrayVar(&f.processes, "process", nil, "processes, added up: a name or pattern (nginx, post*), cmd:REGEXP of the command line, pid:N, tree:N (may be given several times)")
	fl.BoolVar(&f.interrupts, "interrupt-cells", false, "each interrupt on each CPU: 128,000 values a tick on a large host")
}

// perfOptions returns what --perf asks for; ok is false for none.
func (f *sourceFlags) perfOptions() (o perf.Options, ok bool) {
	for _, e := range f.perf {
		switch e {
		case "none":
			return perf.Options{}, false
		case "default":
		case "extended":
			o.Extended = true
		default:
			o.Events = append(o.Events, e)
		}
	}
	return o, true
}

// open opens the sources of this host. What it lacks is in absent, by name with the
// cause.
func (f *sourceFlags) open(watch []workload.Watch) (sources []collector.Source, absent map[string]string, err error) {
	defer func() {
		if err != nil {
			for _, s := range sources {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	sources, absent, err = procfs.Sources("/", collector.Now, procfs.Options{InterruptCells: f.interrupts})
	if err != nil {
		return nil, nil, err
	}
	if o, ok := f.perfOptions(); ok {
		more, lacks, err := perf.Sources("/", collector.Now, o)
		if err != nil {
			return sources, nil, usage("--perf: %w", err)
		}
		sources = append(sources, more...)
		maps.Copy(absent, lacks)
	}
	add := func(s collector.Source, lacks map[string]string, err error) error {
		if err == nil {
			sources = append(sources, s)
			maps.Copy(absent, lacks)
		}
		return err
	}
	if len(f.cgroups) > 0 {
		if err := add(procfs.Groups("/", f.cgroups, collector.Now)); err != nil {
			return sources, nil, usage("--cgroup: %w", err)
		}
	}
	var selectors []procfs.Selector
	for _, text := range f.processes {
		s, err := procfs.ParseSelector(text)
		if err != nil {
			return sources, nil, usage("--process: %w", err)
		}
		selectors = append(selectors, s)
	}
	for _, w := range watch {
		selectors = append(selectors, procfs.Selector{Name: w.Name, PID: w.PID, Tree: true})
	}
	if len(selectors) > 0 {
		if err := add(procfs.Processes("/", selectors, collector.Now)); err != nil {
			return sources, nil, err
		}
	}
	return sources, absent, nil
}

// sayAbsent says once what this host lacks: in one line by name, since most hosts lack
// much. The causes are in the manifest.
func (a *app) sayAbsent(absent map[string]string) {
	if len(absent) > 0 {
		a.say("not on this host: %s (steady show RUN says why)", strings.Join(sortedKeys(absent), ", "))
	}
}
