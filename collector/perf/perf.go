// Package perf counts events by perf_event_open(2): for each CPU fixed groups of
// software and hardware events (table perf), and what a user chooses (table perf_event).
// It samples nothing, and forms no rates or ratios.
//
// # What is null
//
// An event that the host does not offer is null, its cause is in what Sources returns as
// absent. Counts are raw. Where more groups are open than the hardware can count at once
// they take turns, and a group's running time stays behind its enabled time: its counts
// stay, the metrics scale them, and the first such tick of a group is noted
// ("multiplexed"). A group that never gets a turn counted nothing that could be known: its
// counts are null.
//
// # CPUs that come and go
//
// The kernel ends a CPU's events with the CPU. One that comes back gets new events, which
// count from 0, after a tick without counts. In a sum over CPUs what the old ones counted
// stays.
//
// # Cost
//
// A reading of a group is a system call and an interrupt of its CPU, since the kernel reads
// counters where they are: a tick of 256 CPUs and 3 groups is 768 of them, and the reader
// waits for each. In a virtual machine, whose interrupts leave it, one took 0.7 us on the
// reader's own CPU, 19 us on another and 27 us on one that was idle. A CPU's groups are read
// together, so that it wakes once.
package perf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// Options say what is counted.
type Options struct {
	// Extended adds the groups of table perf that share the counters with the others.
	Extended bool
	// Events are the user's, each a list as perf stat -e takes it.
	Events []string
	// PerCPU gives each of them a row a CPU ("cycles@3"), in place of their sum.
	PerCPU bool
}

// Sources opens the counters of all CPUs that are online, and of those that come later.
// Below root ("/", or a directory like it) are the /proc and /sys that describe them.
// What the host does not offer is left out and named in absent, with the cause in words
// and what to do about it: "perf" as a whole, groups and events of it ("perf/core,
// branch", "perf/cache-misses"), and "perf_event/" with an event of the user's. An error says
// that an event is not one. The caller closes the sources.
func Sources(root string, clock collector.Clock, o Options) (sources []collector.Source, absent map[string]string, err error) {
	h := &host{proc: filepath.Join(root, "proc"), sys: filepath.Join(root, "sys"), kernel: linux{}, filesLeft: filesLeft}
	return h.sources(clock, o)
}

// host is where the sources count.
type host struct {
	proc, sys string
	kernel    kernel
	filesLeft func() (left, limit int)
}

func (h *host) sources(clock collector.Clock, o Options) (sources []collector.Source, absent map[string]string, err error) {
	events, err := parseEvents(o.Events)
	if err != nil {
		return nil, nil, err
	}
	absent = make(map[string]string)
	wide, lacks, err := h.openWide(clock, o.Extended)
	if err != nil {
		absent[schemas.Perf.Name] = err.Error()
	} else if maps.Copy(absent, lacks); wide != nil {
		sources = append(sources, wide)
	}
	if len(events) == 0 {
		return sources, absent, nil
	}
	tall, lacks, err := h.openTall(clock, events, o.PerCPU)
	if err != nil {
		absent[schemas.PerfEvent.Name] = err.Error()
	} else if maps.Copy(absent, lacks); tall != nil {
		sources = append(sources, tall)
	}
	return sources, absent, nil
}

// online is the list of CPUs that are, in an open file.
type online struct {
	f    *os.File
	buf  []byte
	text string // as it was parsed
	cpus []int
}

func (h *host) online() (*online, error) {
	f, err := os.Open(filepath.Join(h.sys, "devices/system/cpu/online"))
	if err != nil {
		return nil, fmt.Errorf("perf: which CPUs are online: %w: is /sys mounted?", err)
	}
	o := &online{f: f, buf: make([]byte, 4096)}
	if _, err := o.changed(); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return o, nil
}

// changed reads the list again and reports whether it is another one.
func (o *online) changed() (bool, error) {
	n, err := o.f.ReadAt(o.buf, 0)
	if n == 0 {
		return false, fmt.Errorf("perf: %s: %w", o.f.Name(), err)
	}
	if string(o.buf[:n]) == o.text {
		return false, nil
	}
	text := string(o.buf[:n])
	cpus, err := parseCPUs(strings.TrimSpace(text))
	if err != nil {
		return false, fmt.Errorf("perf: %s: %w", o.f.Name(), err)
	}
	o.text, o.cpus = text, cpus
	return true, nil
}

// notes are the events that the last Sample found, as rows of table quality.
type notes struct {
	table *schemas.Table
	rows  []schemas.Row
}

func (n *notes) add(b *schemas.Block, reason, column string, part []byte, detail string) {
	r := schemas.QualityRow(b.WallNS, b.BootNS, reason, n.table.Name, detail)
	r.SetText("column", column)
	r.SetText("part", string(part))
	n.rows = append(n.rows, r)
}

// away notes that counters ended although their CPU is there.
func (n *notes) away(b *schemas.Block, cpu int, part []byte) {
	n.add(b, "hotplug", "", part, fmt.Sprintf("CPU %d was away between two ticks, or its PMU: its counters ended and begin anew", cpu))
}

// closed notes once that a group can't be opened (again).
func (n *notes) closed(b *schemas.Block, h *host, g *group, column string, part []byte) {
	switch {
	case len(g.fds) > 0:
		g.told = false
	case !g.told:
		g.told = true
		for i, err := range g.errs {
			if err != nil {
				n.add(b, "absent", column, part, fmt.Sprintf("not counted on CPU %d: %s", g.cpu, h.cause(err, g.attrs[i].typ)))
				return
			}
		}
	}
}

// turns is what was said of a group's, or an event's, turns on the counters.
type turns struct{ shared, starved bool }

const (
	// fullTurn is the part of a tick below which a group is noted as multiplexed. What is
	// scaled by a ninth at most can't be far off, whatever happened in between.
	fullTurn = 0.9
	// starvedNS is how long a group waits for its first turn before its counts are
	// unknown: the kernel turns every few milliseconds.
	starvedNS = 100e6
)

// starved reports whether nothing was counted in time enough for it.
func (c *counts) starved() bool { return c.running == 0 && c.enabled >= starvedNS }

// turn notes, once each, that what is called name never had its turn on the counters, or
// shares them: step is what total grew by since the reading before.
func (n *notes) turn(b *schemas.Block, said *turns, total, step *counts, column string, part []byte, name string) {
	switch {
	case total.starved():
		if !said.starved {
			said.starved = true
			n.add(b, "absent", column, part, name+" never got its turn on the CPU's counters: more is asked for than they hold, or others keep them (the NMI watchdog: sysctl kernel.nmi_watchdog=0; a hypervisor; a profiler)")
		}
	case !said.shared && step.enabled > 0 && float64(step.running) < fullTurn*float64(step.enabled):
		said.shared = true
		n.add(b, "multiplexed", column, part, fmt.Sprintf("%s was counted for %.0f %% of the time, since more is asked for than the CPU's counters hold: its rates are estimates", name, 100*float64(step.running)/float64(step.enabled)))
	}
}

// lacks are the events that could not be opened.
type lacks struct {
	rows  []lack
	asked int
}

// lack is one of a group of size events, and why it is lacking.
type lack struct {
	group string
	size  int
	event string
	why   string
}

// add adds an event; why is empty if nothing is lacking.
func (l *lacks) add(group string, size int, event, why string) {
	l.asked++
	if why != "" {
		l.rows = append(l.rows, lack{group, size, event, why})
	}
}

// byCause returns the causes by what is lacking: the table, groups of it as a whole, or
// events.
func (l *lacks) byCause(table string) map[string]string {
	out := make(map[string]string)
	for _, x := range l.rows {
		var same []lack
		inGroup := make(map[string]int)
		for _, y := range l.rows {
			if y.why == x.why {
				same = append(same, y)
				inGroup[y.group]++
			}
		}
		var names []string
		for _, y := range same {
			name := y.event
			if inGroup[y.group] == y.size {
				name = y.group
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		what := table + "/" + strings.Join(names, ", ")
		if len(same) == l.asked {
			what = table
		}
		out[what] = x.why
	}
	return out
}

// why returns why an event of groups alike is not open on some CPU; "" if it is on all.
func (h *host) why(groups []*group, place int) string {
	n, first, cause := 0, 0, ""
	for _, g := range groups {
		if g.errs[place] == nil {
			continue
		}
		if n == 0 {
			first, cause = g.cpu, h.cause(g.errs[place], g.attrs[place].typ)
		}
		n++
	}
	if n == 0 || n == len(groups) {
		return cause
	}
	return fmt.Sprintf("on %d of %d CPUs (first on CPU %d): %s", n, len(groups), first, cause)
}

// tooMany says that files are lacking for events.
func tooMany(cpus, events, left, limit int) string {
	return fmt.Sprintf("it needs %d open files (%d CPUs x %d events); of the %d that the process may open %d are left for events: raise its hard limit (ulimit -Hn, LimitNOFILE= of a service)", cpus*events, cpus, events, limit, left)
}

var errNothing = errors.New("perf: no CPU counts any more")
