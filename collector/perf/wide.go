package perf

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// wide fills table perf: a row a CPU, its groups beside each other.
type wide struct {
	h      *host
	clock  collector.Clock
	online *online
	kinds  []kind
	cpus   []*cpu // in order of their numbers
	buf    []byte
	notes  notes
}

// kind is a group of table perf.
type kind struct {
	*schemas.PerfGroup
	attrs []attr
	col   int // of its enabled time; running and the events follow
	turns turns
}

// cpu is a CPU that is online.
type cpu struct {
	number int
	device []byte
	groups []*group // by kind
}

var (
	_ collector.Source = (*wide)(nil)
	_ collector.Noter  = (*wide)(nil)
)

func (w *wide) Name() string                          { return schemas.Perf.Name }
func (w *wide) Tables() []*schemas.Table              { return []*schemas.Table{&schemas.Perf} }
func (w *wide) Notes(dst []schemas.Row) []schemas.Row { return append(dst, w.notes.rows...) }

// openWide opens the groups on all CPUs, then starts them. It returns nil if the host
// offers none.
func (h *host) openWide(clock collector.Clock, extended bool) (*wide, map[string]string, error) {
	o, err := h.online()
	if err != nil {
		return nil, nil, err
	}
	w := &wide{h: h, clock: clock, online: o, notes: notes{table: &schemas.Perf}}
	device := h.deviceNames()
	for _, n := range o.cpus {
		w.cpus = append(w.cpus, &cpu{number: n, device: device(n)})
	}
	var lacks lacks
	left, limit := h.filesLeft()
	most, col := 0, 0
	for i := range schemas.PerfGroups {
		k := kind{PerfGroup: &schemas.PerfGroups[i], col: col}
		n := len(k.Events)
		col += 2 + n
		if k.Extended && !extended {
			continue
		}
		most = max(most, n)
		for _, e := range k.Events {
			x := named[e.Source]
			k.attrs = append(k.attrs, attr{typ: x.typ, config: [3]uint64{x.config}})
		}
		groups := make([]*group, len(w.cpus))
		open := 0
		enough := len(w.cpus)*n <= left
		for c := range w.cpus {
			groups[c] = newGroup(k.attrs, w.cpus[c].number)
			if enough && groups[c].open(h.kernel) {
				open++
			}
			left -= len(groups[c].fds)
		}
		for place, e := range k.Events {
			why := tooMany(len(w.cpus), n, left, limit)
			if enough {
				why = h.why(groups, place)
			}
			lacks.add(k.Name, n, e.Source, why)
		}
		if open == 0 {
			continue
		}
		w.kinds = append(w.kinds, k)
		for c := range w.cpus {
			w.cpus[c].groups = append(w.cpus[c].groups, groups[c])
		}
	}
	absent := lacks.byCause(schemas.Perf.Name)
	if len(w.kinds) == 0 {
		w.Close() // nothing was written
		return nil, absent, nil
	}
	w.buf = make([]byte, size(most))
	for _, c := range w.cpus {
		for _, g := range c.groups {
			g.told = len(g.fds) == 0 // by absent
			g.start(h.kernel)
		}
	}
	return w, absent, nil
}

// deviceNames returns the names of CPUs as devices: their numbers, behind the kind of
// core where there are several.
func (h *host) deviceNames() func(number int) []byte {
	cores := h.corePMUs()
	return func(number int) []byte {
		var name []byte
		if len(cores) > 1 {
			for _, p := range cores {
				if slices.Contains(p.cpus, number) {
					name = append(append(name, p.name...), '/')
					break
				}
			}
		}
		return strconv.AppendInt(name, int64(number), 10)
	}
}

// Sample reads all groups of a CPU before those of the next.
func (w *wide) Sample(blocks []schemas.Block) error {
	w.notes.rows = w.notes.rows[:0]
	b := &blocks[0]
	changed, err := w.online.changed()
	if err != nil {
		return err
	}
	b.WallNS, b.BootNS = w.clock()
	if changed {
		w.hotplug(b)
		b.WallNS, b.BootNS = w.clock()
	}
	rows := 0
	for _, c := range w.cpus {
		if c.tick(w.h.kernel, w.buf) {
			w.notes.away(b, c.number, c.device)
		}
		for i, g := range c.groups {
			w.notes.closed(b, w.h, g, w.kinds[i].column(1), c.device)
		}
		if c.counts() {
			rows++
		}
	}
	b.Resize(rows)
	row := 0
	for _, c := range w.cpus {
		if !c.counts() {
			continue
		}
		b.SetDevice(row, c.device)
		for i, g := range c.groups {
			if g.known {
				w.fill(b, row, &w.kinds[i], c, g)
			}
		}
		row++
	}
	if rows == 0 {
		return errNothing
	}
	if len(b.Devices) > rows {
		b.Devices = slices.Clone(b.Devices[:rows]) // a tick handed on may hold the list
	}
	return nil
}

// tick reads the groups. Where one has stopped all begin anew, the others would show it
// later: a row's counts are of the same time, or there are none.
func (c *cpu) tick(k kernel, buf []byte) (stopped bool) {
	for _, g := range c.groups {
		g.tick(k, buf)
		stopped = stopped || g.stopped
	}
	if stopped {
		for _, g := range c.groups {
			if g.known {
				g.end(k)
				g.begin(k)
			}
		}
	}
	return stopped
}

// counts reports whether any group of the CPU is open.
func (c *cpu) counts() bool {
	for _, g := range c.groups {
		if len(g.fds) > 0 {
			return true
		}
	}
	return false
}

func (k *kind) column(i int) string { return schemas.Perf.Columns[k.col+i].Name }

func (w *wide) fill(b *schemas.Block, row int, k *kind, c *cpu, g *group) {
	b.Set(row, k.col, g.now.enabled)
	b.Set(row, k.col+1, g.now.running)
	w.notes.turn(b, &k.turns, &g.now, &g.step, k.column(1), c.device, k.Name)
	if g.now.starved() {
		return
	}
	for place, v := range g.now.values {
		if g.errs[place] == nil {
			b.Set(row, k.col+2+place, v)
		}
	}
}

// hotplug closes the counters of CPUs that went and has those of CPUs that came opened.
func (w *wide) hotplug(b *schemas.Block) {
	w.cpus = slices.DeleteFunc(w.cpus, func(c *cpu) bool {
		if slices.Contains(w.online.cpus, c.number) {
			return false
		}
		c.end(w.h.kernel)
		w.notes.add(b, "hotplug", "", c.device, "the CPU went away: its counters ended")
		return true
	})
	device := w.h.deviceNames()
	for _, n := range w.online.cpus {
		if slices.ContainsFunc(w.cpus, func(c *cpu) bool { return c.number == n }) {
			continue
		}
		c := &cpu{number: n, device: device(n)}
		w.notes.add(b, "hotplug", "", c.device, "the CPU came: its counters begin")
		for i := range w.kinds {
			g := newGroup(w.kinds[i].attrs, n)
			g.wanted = true
			c.groups = append(c.groups, g)
		}
		w.cpus = append(w.cpus, c)
	}
	slices.SortFunc(w.cpus, func(a, b *cpu) int { return cmp.Compare(a.number, b.number) })
}

func (c *cpu) end(k kernel) {
	for _, g := range c.groups {
		g.end(k)
	}
}

func (w *wide) Close() error {
	for _, c := range w.cpus {
		c.end(w.h.kernel)
	}
	return w.online.f.Close()
}
