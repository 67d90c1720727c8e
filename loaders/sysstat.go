package loaders

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/steadybench/steady/schemas"
)

// sysstat makes rows of what a file of sysstat says: its readers find the samples and
// the fields, it knows what they mean.
type sysstat struct {
	name string
	o    ForeignOptions
	f    *Foreign

	samples  []*sarSample
	restarts []sarRestart
	dropped  []sarDropped // what has no tick, for the next one
	warned   map[string]bool

	before  map[*schemas.Table]*sarBlock // of the sample that was begun last
	absent  map[*schemas.Table]*sarBlank // values of rows that have none
	memory  sarMemory
	layouts map[string]*sarLayout // by heading; nil: unknown

	seen    map[string]int // the last sample of each CPU
	cpus    int            // samples that had any
	lastCPU *sarSample
	human   bool // numbers with a unit, of sar --human
	digits  int  // behind the point, the most that a percentage had
	doubts  bool // pages reclaimed are counted twice
}

// sarRestart is when the host booted.
type sarRestart struct {
	wallNS int64
	cpus   int // 0: not told
}

// sarDropped is the note of a sample that is left out.
type sarDropped struct {
	wallNS int64
	note   schemas.Row
}

// sarSample is what a file says of one time.
type sarSample struct {
	segment    int // restarts before it
	wallNS     int64
	intervalNS int64
	beginNS    int64 // by a heading; 0: none tells
	blocks     []*sarBlock
	notes      []schemas.Row
}

// sarBlock is a table's rows of one sample.
type sarBlock struct {
	table *schemas.Table
	// devices[:rows] are this sample's. Behind them may be those that the sample before
	// had, in their order: so a list that stays the same is kept once.
	devices  []string
	shared   bool
	rows     int
	values   []int64
	known    []bool
	rates    []float64
	by       []int // the activity that filled the row last
	activity int
	next     int
}

// sarBlank are the values of rows that have none: read-only, the same for all.
type sarBlank struct {
	values []int64
	known  []bool
}

func newSysstat(name, kind string, o ForeignOptions) *sysstat {
	return &sysstat{name: name, o: o, f: &Foreign{Kind: kind, Facts: map[string]string{}, Params: map[string]any{}}, warned: map[string]bool{},
		digits: -1, before: map[*schemas.Table]*sarBlock{}, absent: map[*schemas.Table]*sarBlank{}, seen: map[string]int{}, layouts: map[string]*sarLayout{}}
}

// warn says something once.
func (s *sysstat) warn(format string, arg ...any) {
	w := fmt.Sprintf(format, arg...)
	if !s.warned[w] {
		s.warned[w] = true
		s.f.Warnings = append(s.f.Warnings, w)
	}
}

// drop notes a sample that is left out, beside the one that follows.
func (s *sysstat) drop(wallNS int64, why string) {
	s.dropped = append(s.dropped, sarDropped{wallNS, schemas.QualityRow(0, 0, "skipped", "", "the sample of "+stamp(wallNS)+" is left out: "+why)})
}

func stamp(wallNS int64) string { return time.Unix(0, wallNS).UTC().Format(time.RFC3339) }

// add takes a sample in, in the order of the file.
func (s *sysstat) add(x *sarSample) {
	const longest = 1e8 // seconds
	switch {
	case x.intervalNS == 0:
		s.drop(x.wallNS, "its interval is 0: the recording was begun anew")
		s.warn("samples of interval 0 are left out: the recording was begun anew within the file")
		return
	case x.intervalNS < 0 || x.intervalNS > longest*1e9:
		s.drop(x.wallNS, "its interval is impossible")
		s.warn("samples of an impossible interval are left out")
		return
	}
	s.dropped = slices.DeleteFunc(s.dropped, func(d sarDropped) bool {
		if d.wallNS <= x.wallNS {
			x.notes = append(x.notes, d.note)
		}
		return d.wallNS <= x.wallNS
	})
	s.samples = append(s.samples, x)
}

// block returns the sample's rows of a table.
func (s *sysstat) block(x *sarSample, t *schemas.Table) *sarBlock {
	for _, b := range x.blocks {
		if b.table == t {
			return b
		}
	}
	b := &sarBlock{table: t, shared: true, activity: -1}
	if before := s.before[t]; before != nil && t.Device != "" {
		b.devices = before.devices[:before.rows:before.rows]
	}
	b.by = make([]int, 0, max(len(b.devices), 1))
	s.before[t] = b
	x.blocks = append(x.blocks, b)
	return b
}

// row returns the row of a device; ok is false if the same part of an activity had it
// already.
func (b *sarBlock) row(device []byte, activity int) (row int, ok bool) {
	if b.table.Device == "" {
		if b.rows == 0 {
			b.rows = 1
			b.by = append(b.by, -1)
		}
		ok = b.by[0] != activity
		b.by[0] = activity
		return 0, ok
	}
	if b.activity != activity {
		b.activity, b.next = activity, 0
	}
	switch at := b.next; {
	case at < b.rows && b.devices[at] == string(device):
		row = at
	case b.rows < len(b.devices) && b.devices[b.rows] == string(device):
		row = b.rows
		b.rows++
	default:
		if row = slices.Index(b.devices[:b.rows], string(device)); row >= 0 {
			break
		}
		row = b.rows
		if b.shared || b.rows < len(b.devices) {
			b.devices, b.shared = append(make([]string, 0, max(b.rows+1, len(b.devices))), b.devices[:b.rows]...), false
		}
		b.devices = append(b.devices, string(device))
		b.rows++
	}
	b.next = row + 1
	for len(b.by) < b.rows {
		b.by = append(b.by, -1)
	}
	ok = b.by[row] != activity
	b.by[row] = activity
	return row, ok
}

// level sets a level.
func (b *sarBlock) level(row, column int, v int64) {
	n := len(b.table.Columns)
	if rows := max(b.rows, len(b.devices)); len(b.values) < rows*n {
		b.values = append(b.values, make([]int64, rows*n-len(b.values))...)
		b.known = append(b.known, make([]bool, rows*n-len(b.known))...)
	}
	b.values[row*n+column], b.known[row*n+column] = v, true
}

// rate sets a metric as the tool has it.
func (b *sarBlock) rate(row, k int, v float64) {
	n := len(b.table.Stored())
	rows := max(b.rows, len(b.devices))
	if len(b.rates) == 0 {
		b.rates = make([]float64, 0, rows*n)
	}
	for len(b.rates) < rows*n {
		b.rates = append(b.rates, math.NaN())
	}
	b.rates[row*n+k] = v
}

// made makes the rows a block of a tick.
func (s *sysstat) made(b *sarBlock, intervalNS, bootNS int64) schemas.Block {
	out := schemas.Block{Table: b.table, BootNS: bootNS, IntervalNS: intervalNS}
	if b.table.Device != "" {
		out.Devices = b.devices[:b.rows:b.rows]
	}
	if n := b.rows * len(b.table.Columns); b.values != nil {
		for len(b.values) < n {
			b.values, b.known = append(b.values, 0), append(b.known, false)
		}
		out.Values, out.Known = b.values[:n:n], b.known[:n:n]
	} else {
		blank := s.absent[b.table]
		if blank == nil || len(blank.values) < n {
			blank = &sarBlank{make([]int64, n), make([]bool, n)}
			s.absent[b.table] = blank
		}
		out.Values, out.Known = blank.values[:n:n], blank.known[:n:n]
	}
	if n := b.rows * len(b.table.Stored()); b.rates != nil {
		for len(b.rates) < n {
			b.rates = append(b.rates, math.NaN())
		}
		out.Rates = b.rates[:n:n]
	}
	return out
}

// note adds a row of quality about one cell.
func (x *sarSample) note(reason, table, column, device string, raw []byte, detail string) {
	q := schemas.QualityRow(0, 0, reason, table, detail)
	q.SetText("column", column)
	q.SetText("part", device)
	if raw != nil {
		q.SetText("current", string(raw))
	}
	x.notes = append(x.notes, q)
}

// close makes boots of what was added.
func (s *sysstat) close() (*Foreign, error) {
	switch {
	case len(s.samples) == 0:
		return nil, fmt.Errorf("loaders: %s: no sample of any length", s.name)
	case !slices.ContainsFunc(s.samples, func(x *sarSample) bool { return len(x.blocks) > 0 }):
		return nil, fmt.Errorf("loaders: %s: nothing in it has a place: %s", s.name, cmp.Or(strings.Join(s.f.Warnings, "; "), "its samples are empty"))
	}
	s.memory.finish(s)
	if s.human {
		s.warn("numbers are rounded, as sar --human prints them")
	} else if s.digits == 0 || s.digits == 1 {
		s.warn("numbers are rounded: they have %d decimals, where sar has 2 by itself", s.digits)
	}
	if s.doubts {
		s.warn("paging: pgsteal_per_s and vmeff_pct may be twice what they should be: sysstat counts reclaimed pages twice on Linux 5.8 and later")
	}
	first := s.samples[0]
	start := first.wallNS - first.intervalNS
	s.f.Start = time.Unix(0, start).UTC()
	var elapsed, wall int64 = 0, start
	late := false
	boot, segment := 0, 0
	for i, x := range s.samples {
		if i == 0 || x.segment != segment {
			s.f.Boots = append(s.f.Boots, nil)
			boot = len(s.f.Boots) - 1
		}
		at := x.wallNS - start
		behind := at <= elapsed // a clock set back, or two samples in one second as printed
		if behind {
			if !late {
				reason, detail := "clock-step", "the clock was set back to "+stamp(x.wallNS)+": elapsed time goes on by the intervals"
				if x.wallNS == wall {
					reason, detail = "coarse", "two samples in one second, as printed: elapsed time goes on by the interval"
				}
				x.note(reason, "", "", "", nil, detail)
			}
			at = elapsed + x.intervalNS
		}
		late = behind
		if i > 0 && x.segment != segment {
			r := s.restarts[x.segment-1]
			detail := "the host booted at " + stamp(r.wallNS)
			if r.cpus > 0 {
				detail += fmt.Sprintf(", with %d CPUs", r.cpus)
			}
			x.note("reboot", "", "", "", nil, detail)
		}
		elapsed, wall, segment = at, x.wallNS, x.segment
		tick := schemas.Tick{Blocks: make([]schemas.Block, 0, len(x.blocks)), Rows: x.notes}
		for k := range tick.Rows {
			tick.Rows[k].BootNS = at
		}
		for _, b := range x.blocks {
			tick.Blocks = append(tick.Blocks, s.made(b, x.intervalNS, at))
		}
		s.f.Boots[boot] = append(s.f.Boots[boot], tick)
		s.samples[i] = nil
	}
	last := &s.f.Boots[boot][len(s.f.Boots[boot])-1]
	for _, d := range s.dropped {
		d.note.BootNS = elapsed
		last.Rows = append(last.Rows, d.note)
	}
	s.f.DurationNS = elapsed
	return s.f, nil
}
