package perf

import (
	"fmt"
	"slices"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// tall fills table perf_event: a row an event of the user's, or one an event and CPU.
type tall struct {
	h      *host
	clock  collector.Clock
	online *online
	events []*userEvent
	perCPU bool
	buf    []byte
	sum    counts
	notes  notes
}

// userEvent is an event and where it is counted.
type userEvent struct {
	name    string
	targets []target
	rows    []*row
	turns   turns
}

// row is a row of the table and the counters that it is the sum of.
type row struct {
	device []byte
	cpu    int // -1: all
	parts  []part
}

// part is a group of one event.
type part struct {
	*group
	of *target
}

var (
	_ collector.Source = (*tall)(nil)
	_ collector.Noter  = (*tall)(nil)
)

var (
	eventEnabled = schemas.PerfEvent.Column("enabled_ns")
	eventRunning = schemas.PerfEvent.Column("running_ns")
	eventCount   = schemas.PerfEvent.Column("count")
)

func (t *tall) Name() string                          { return schemas.PerfEvent.Name }
func (t *tall) Tables() []*schemas.Table              { return []*schemas.Table{&schemas.PerfEvent} }
func (t *tall) Notes(dst []schemas.Row) []schemas.Row { return append(dst, t.notes.rows...) }

// openTall opens the events on their CPUs, then starts them. It returns nil if the host
// offers none.
func (h *host) openTall(clock collector.Clock, events []spec, perCPU bool) (*tall, map[string]string, error) {
	o, err := h.online()
	if err != nil {
		return nil, nil, err
	}
	t := &tall{h: h, clock: clock, online: o, perCPU: perCPU, buf: make([]byte, size(1)),
		sum: counts{values: make([]int64, 1)}, notes: notes{table: &schemas.PerfEvent}}
	var lacks lacks
	left, limit := h.filesLeft()
	for i := range events {
		e := &userEvent{name: events[i].name}
		if e.targets, err = h.resolve(&events[i]); err != nil {
			lacks.add(e.name, 1, e.name, err.Error())
			continue
		}
		var groups []*group
		for j := range e.targets {
			for _, n := range o.cpus {
				if e.targets[j].on(n) {
					groups = append(groups, t.add(e, &e.targets[j], n))
				}
			}
		}
		if len(groups) > left {
			lacks.add(e.name, 1, e.name, tooMany(len(groups), 1, left, limit))
			continue
		}
		open := 0
		for _, g := range groups {
			if g.open(h.kernel) {
				open++
			}
		}
		left -= open
		why := h.why(groups, 0)
		if len(groups) == 0 {
			why = "none of its CPUs is online"
		}
		lacks.add(e.name, 1, e.name, why)
		if open > 0 {
			t.events = append(t.events, e)
		}
	}
	absent := lacks.byCause(schemas.PerfEvent.Name)
	if len(t.events) == 0 {
		t.Close() // nothing was written
		return nil, absent, nil
	}
	for p := range t.parts {
		p.told = len(p.fds) == 0 // by absent
		p.start(h.kernel)
	}
	return t, absent, nil
}

// on reports whether a CPU is one of the target's.
func (x *target) on(cpu int) bool { return x.cpus == nil || slices.Contains(x.cpus, cpu) }

// add adds a counter to its row.
func (t *tall) add(e *userEvent, of *target, cpu int) *group {
	g := newGroup([]attr{of.attr}, cpu)
	name, of1 := e.name, -1
	if t.perCPU {
		name, of1 = fmt.Sprintf("%s@%d", e.name, cpu), cpu
	}
	i := slices.IndexFunc(e.rows, func(r *row) bool { return r.cpu == of1 })
	if i < 0 {
		i = len(e.rows)
		e.rows = append(e.rows, &row{device: []byte(name), cpu: of1})
	}
	e.rows[i].parts = append(e.rows[i].parts, part{g, of})
	return g
}

// parts yields all counters.
func (t *tall) parts(yield func(part) bool) {
	for _, e := range t.events {
		for _, r := range e.rows {
			for _, p := range r.parts {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Sample reads an event on all CPUs before the next event.
func (t *tall) Sample(blocks []schemas.Block) error {
	t.notes.rows = t.notes.rows[:0]
	b := &blocks[0]
	changed, err := t.online.changed()
	if err != nil {
		return err
	}
	b.WallNS, b.BootNS = t.clock()
	if changed {
		t.hotplug(b)
		b.WallNS, b.BootNS = t.clock()
	}
	rows := 0
	for _, e := range t.events {
		for _, r := range e.rows {
			for _, p := range r.parts {
				p.tick(t.h.kernel, t.buf)
				if p.stopped {
					t.notes.away(b, p.cpu, r.device)
				}
				t.notes.closed(b, t.h, p.group, schemas.PerfEvent.Columns[eventRunning].Name, r.device)
			}
			if t.has(r) {
				rows++
			}
		}
	}
	b.Resize(rows)
	i := 0
	for _, e := range t.events {
		for _, r := range e.rows {
			if t.has(r) {
				b.SetDevice(i, r.device)
				t.fill(b, i, e, r)
				i++
			}
		}
	}
	if len(b.Devices) > rows {
		b.Devices = slices.Clone(b.Devices[:rows]) // a tick handed on may hold the list
	}
	return nil
}

// has reports whether a row is there: that of a CPU that is.
func (t *tall) has(r *row) bool {
	return !t.perCPU || slices.ContainsFunc(r.parts, func(p part) bool { return len(p.fds) > 0 })
}

// fill sets a row to the sum of its counters, if any was read. What those counted that
// ended stays in it: it only grows.
func (t *tall) fill(b *schemas.Block, i int, e *userEvent, r *row) {
	var step counts
	known := false
	t.sum.reset()
	for _, p := range r.parts {
		t.sum.add(&p.prior)
		t.sum.add(&p.now)
		if p.known {
			known = true
			step.add(&p.step)
		}
	}
	if !known {
		return
	}
	b.Set(i, eventEnabled, t.sum.enabled)
	b.Set(i, eventRunning, t.sum.running)
	t.notes.turn(b, &e.turns, &t.sum, &step, schemas.PerfEvent.Columns[eventRunning].Name, r.device, e.name)
	if !t.sum.starved() {
		b.Set(i, eventCount, t.sum.values[0])
	}
}

// hotplug ends the counters of CPUs that went, and has those of CPUs that came opened.
// Those that count for several CPUs the kernel moves.
func (t *tall) hotplug(b *schemas.Block) {
	for _, e := range t.events {
		for i := range e.targets {
			x := &e.targets[i]
			if x.fixed {
				continue
			}
			for _, n := range t.online.cpus {
				if x.on(n) && !e.counts(x, n) {
					t.add(e, x, n).wanted = true
				}
			}
		}
		for _, r := range e.rows {
			for _, p := range r.parts {
				switch on := slices.Contains(t.online.cpus, p.cpu); {
				case p.of.fixed:
				case on && len(p.fds) == 0:
					p.wanted = true
				case !on && len(p.fds) > 0:
					p.sample(t.h.kernel, t.buf) // what it counted to the end
					p.end(t.h.kernel)
					t.notes.add(b, "hotplug", "", r.device, fmt.Sprintf("CPU %d went away: its counters ended", p.cpu))
				}
			}
		}
	}
}

// counts reports whether an event has a counter for a target on a CPU, open or not.
func (e *userEvent) counts(of *target, cpu int) bool {
	for _, r := range e.rows {
		for _, p := range r.parts {
			if p.of == of && p.cpu == cpu {
				return true
			}
		}
	}
	return false
}

func (t *tall) Close() error {
	for p := range t.parts {
		p.end(t.h.kernel)
	}
	return t.online.f.Close()
}
