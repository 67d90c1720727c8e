package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// stepNS is how far the wall clock must jump against the boot time clock between two
// ticks to be called a step: slewing stays far below it.
const stepNS = 100e6

// seriesKey is one device's counters; in a table that is PerEpoch, one producer's.
type seriesKey struct {
	host, bootID, device string
	epoch                int64
}

// series is a device's state between rows.
type series struct {
	begun  bool // there was a row
	bootNS int64
	tick   int     // number of the host's tick of the last row
	last   []int64 // last known reading of each column
	known  []bool  // of last: there is one
	fresh  []bool  // the last row had it
	coarse bool    // the device's counters step less than once a tick
}

func newSeries(t *schemas.Table) *series {
	return &series{last: make([]int64, len(t.Columns)), known: make([]bool, len(t.Columns)), fresh: make([]bool, len(t.Columns))}
}

// hostTicks numbers the ticks of a table on a host in time order, so that a device
// that was away while the table came can be told from a tick that is missing whole.
type hostTicks struct {
	number map[tickKey]int
	next   int
	last   map[int64]tickStamp // of each epoch
}

// tickStamp is when a tick of a table was.
type tickStamp struct {
	key            tickKey
	bootID         string
	wallNS, bootNS int64
}

// convert writes a table's rows to w and returns their number: counters become
// increments, with a row in quality for each that can't be known.
func (c *conversion) convert(t *schemas.Table, w *columns.Writer) (rows int64, err error) {
	state := map[seriesKey]*series{}
	ticks := map[string]*hostTicks{} // by host and boot
	out := fileFrame(t)
	err = c.buckets(t, func(raw columns.Frame) error {
		out.Reset()
		order := c.sorted(raw)
		c.numberTicks(ticks, raw)
		if t.Steps {
			c.findCoarse(t, raw, order, state)
		}
		for _, i := range order {
			c.common(out, t, raw, i)
			if t.Typed {
				for j := range t.Columns {
					out.Column(t.Columns[j].Name).AppendFrom(raw[rawValues+j], i)
				}
				continue
			}
			c.row(t, out, raw, i, state, ticks)
		}
		rows += int64(out.Rows())
		return w.WriteGroup(out)
	})
	return rows, err
}

// numberTicks continues the numbering of each host's ticks with those of raw.
func (c *conversion) numberTicks(ticks map[string]*hostTicks, raw columns.Frame) {
	seen := map[tickKey]bool{}
	var all []tickStamp
	for i := range raw.Rows() {
		k := tickKey{raw[rawHost].Texts[i], raw[rawEpoch].Ints[i], raw[rawSeq].Ints[i]}
		if !seen[k] {
			seen[k] = true
			all = append(all, tickStamp{k, raw[rawBootID].Texts[i], raw[rawWall].Ints[i], raw[rawBoot].Ints[i]})
		}
	}
	slices.SortFunc(all, func(a, b tickStamp) int {
		return cmp.Or(cmp.Compare(a.key.host, b.key.host), cmp.Compare(a.key.epoch, b.key.epoch), cmp.Compare(a.key.seq, b.key.seq))
	})
	for _, b := range all {
		h := ticks[b.key.host+"/"+b.bootID]
		if h == nil {
			h = &hostTicks{number: map[tickKey]int{}, last: map[int64]tickStamp{}}
			ticks[b.key.host+"/"+b.bootID] = h
		}
		a, ok := h.last[b.key.epoch]
		h.last[b.key.epoch] = b
		if !ok || c.stepped[b.key] || b.wallNS == schemas.NoWall {
			continue
		}
		if step := (b.wallNS - b.bootNS) - (a.wallNS - a.bootNS); step >= stepNS || step <= -stepNS {
			c.stepped[b.key] = true
			c.note(c.at(b.wallNS, b.bootNS, b.key.host, b.bootID, b.key), "", "", "", "clock-step", nil, nil,
				fmt.Sprintf("the wall clock moved by %+.3f s after seq %d", float64(step)/1e9, a.key.seq))
		}
	}
	slices.SortStableFunc(all, func(a, b tickStamp) int {
		return cmp.Or(cmp.Compare(a.key.host, b.key.host), cmp.Compare(a.bootID, b.bootID), cmp.Compare(a.bootNS, b.bootNS))
	})
	for _, x := range all {
		h := ticks[x.key.host+"/"+x.bootID]
		h.number[x.key] = h.next
		h.next++
	}
}

// common appends the columns that every file begins with.
func (c *conversion) common(out columns.Frame, t *schemas.Table, raw columns.Frame, i int) {
	o := c.boots[bootKey{raw[rawHost].Texts[i], raw[rawBootID].Texts[i]}]
	appendTime(out[0], raw[rawWall].Ints[i])
	out[1].AppendInt(raw[rawBoot].Ints[i] - o.originNS)
	out[2].AppendInt(o.index)
	if t.Typed { // else row sets it
		if iv := raw[rawInterval].Ints[i]; iv > 0 {
			out[3].AppendInt(iv)
		} else {
			out[3].AppendNull()
		}
	}
	out[4].AppendInt(raw[rawEpoch].Ints[i])
	out[5].AppendInt(raw[rawSeq].Ints[i])
	out[6].AppendText(raw[rawHost].Texts[i])
	if t.Device != "" {
		out[7].AppendText(raw[rawDevice].Texts[i])
	}
}

func appendTime(c *columns.Column, wallNS int64) {
	if wallNS == schemas.NoWall {
		c.AppendNull()
		return
	}
	c.AppendInt(floorDiv(wallNS, 1000))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// row appends the interval and the values of raw row i.
func (c *conversion) row(t *schemas.Table, out, raw columns.Frame, i int, state map[seriesKey]*series, ticks map[string]*hostTicks) {
	host, bootID, device := raw[rawHost].Texts[i], raw[rawBootID].Texts[i], raw[rawDevice].Texts[i]
	tk := tickKey{host, raw[rawEpoch].Ints[i], raw[rawSeq].Ints[i]}
	at := c.at(raw[rawWall].Ints[i], raw[rawBoot].Ints[i], host, bootID, tk)
	number := ticks[host+"/"+bootID].number[tk]
	k := keyOf(t, raw, i)
	prev := state[k]
	first := prev == nil || !prev.begun
	if prev == nil {
		prev = newSeries(t)
		state[k] = prev
	}
	if first {
		prev.begun = true
		if told := raw[rawInterval].Ints[i]; told > 0 {
			out[3].AppendInt(told)
		} else {
			out[3].AppendNull()
		}
		if hasCounters(t, raw, i) {
			c.note(at, t.Name, "", device, "first", nil, nil, "the first reading has no increment")
		}
	} else if told := raw[rawInterval].Ints[i]; told > 0 {
		out[3].AppendInt(told)
	} else if prev.coarse && !moved(t, raw, i, prev) {
		// Nothing is known of this tick; the step to come covers it.
		out[3].AppendNull()
		for j := range out[len(t.CommonColumns()):] {
			out[len(t.CommonColumns())+j].AppendNull()
		}
		prev.tick = number
		return
	} else {
		out[3].AppendInt(raw[rawBoot].Ints[i] - prev.bootNS)
	}
	// A device that was away while its table came may be another one of the same name.
	away := !first && !t.PerEpoch && number > prev.tick+1
	reset := !first && !away && t.Device != "" && fell(t, raw, i, prev)
	base := len(t.CommonColumns())
	rates := out[base+len(t.Columns):]
	for k, dst := range rates {
		if hasRates(t, raw) {
			dst.AppendFrom(raw[rawValues+len(t.Columns)+k], i)
		} else {
			dst.AppendNull()
		}
	}
	for j := range t.Columns {
		col, dst, src := &t.Columns[j], out[base+j], raw[rawValues+j]
		if src.Null(i) {
			dst.AppendNull()
			if (first || prev.fresh[j]) && !t.Sparse && !said(t, j, rates) {
				c.note(at, t.Name, col.Name, device, "absent", nil, nil, "the host did not say")
			}
			prev.fresh[j] = false
			continue
		}
		v := src.Ints[i]
		if !col.Kind.Cumulative() {
			if col.Div != 0 {
				dst.AppendFloat(float64(v) / col.Div)
			} else {
				dst.AppendInt(v)
			}
			prev.fresh[j] = true
			continue
		}
		if v < 0 {
			c.note(at, t.Name, col.Name, device, "large", nil, &v, "a reading of 2^63 or more")
		}
		diff := increment(t, prev.last[j], v)
		reason := ""
		switch {
		case !prev.known[j]:
			if !first { // it appeared, or was absent from the start
				c.note(at, t.Name, col.Name, device, "first", nil, &v, "the first reading has no increment")
			}
			dst.AppendNull()
			prev.know(j, v)
			continue
		case away:
			reason = "hotplug"
		case !prev.fresh[j]:
			reason = "gap"
		case reset:
			reason = "reset"
		case diff < 0 && col.Retreats == "signed":
			c.note(at, t.Name, col.Name, device, "retreat", &prev.last[j], &v, "kept as a negative increment, counted as 0 in shares")
		case diff < 0 && col.Retreats == "null":
			reason = "retreat"
		case diff < 0:
			reason = "reset"
		}
		if reason == "" {
			dst.AppendInt(diff)
		} else {
			dst.AppendNull()
			c.note(at, t.Name, col.Name, device, reason, &prev.last[j], &v, detail[reason])
		}
		prev.know(j, v)
	}
	prev.bootNS, prev.tick = raw[rawBoot].Ints[i], number
}

// said reports whether a foreign tool's rate stands for column j in the row just
// appended to rates.
func said(t *schemas.Table, j int, rates columns.Frame) bool {
	m, ok := t.Of(j)
	if !ok {
		return false
	}
	r := rates.Column(m.Name)
	return r != nil && !r.Null(r.Len()-1)
}

var detail = map[string]string{
	"hotplug": "the device was away in between; it may be another one of the same name",
	"gap":     "the column had no reading in between",
	"reset":   "a counter of the device went back: it began anew",
	"retreat": "the counter went back, as it does on some kernels",
}

func (s *series) know(j int, v int64) { s.last[j], s.known[j], s.fresh[j] = v, true, true }

// maxTick is the largest increment of a 32-bit counter within a tick that is taken for
// one: more is a counter that began anew. Nothing counts 268 million events a tick.
const maxTick = 1 << 28

// increment returns the difference of two readings of a counter, modulo 2^64, or where
// the kernel counts in 32 bits modulo 2^32.
func increment(t *schemas.Table, last, v int64) int64 {
	diff := v - last
	if round := diff & (1<<32 - 1); t.Wraps && diff < 0 && round < maxTick {
		return round
	}
	return diff
}

// fell reports whether an ordinary counter of the row went back: then the device began
// anew, and those of its counters that seem to have gone on are not to be trusted.
func fell(t *schemas.Table, raw columns.Frame, i int, prev *series) bool {
	for j := range t.Columns {
		c := &t.Columns[j]
		if c.Kind.Cumulative() && c.Retreats == "" && prev.known[j] && !raw[rawValues+j].Null(i) && increment(t, prev.last[j], raw[rawValues+j].Ints[i]) < 0 {
			return true
		}
	}
	return false
}

// hasCounters reports whether row i has a reading of a counter.
func hasCounters(t *schemas.Table, raw columns.Frame, i int) bool {
	for j := range t.Columns {
		if t.Columns[j].Kind.Cumulative() && !raw[rawValues+j].Null(i) {
			return true
		}
	}
	return false
}

// noteAt is where a row of quality belongs.
type noteAt struct {
	wall, elapsed, boot int64
	host                string
	epoch, seq          int64
}

func (c *conversion) at(wall, bootNS int64, host, bootID string, k tickKey) noteAt {
	o := c.boots[bootKey{host, bootID}]
	return noteAt{wall: wall, elapsed: bootNS - o.originNS, boot: o.index, host: host, epoch: k.epoch, seq: k.seq}
}

// note adds a row to quality. previous and current are readings, written as the
// unsigned numbers that they are.
func (c *conversion) note(at noteAt, table, column, part, reason string, previous, current *int64, text string) {
	q := c.quality
	appendTime(q[0], at.wall)
	q[1].AppendInt(at.elapsed)
	q[2].AppendInt(at.boot)
	q[3].AppendNull()
	q[4].AppendInt(at.epoch)
	q[5].AppendInt(at.seq)
	q[6].AppendText(at.host)
	for i, v := range []string{table, column, part, reason} {
		q[7+i].AppendText(v)
	}
	for i, v := range []*int64{previous, current} {
		if v == nil {
			q[11+i].AppendNull()
		} else {
			q[11+i].AppendText(strconv.FormatUint(uint64(*v), 10))
		}
	}
	q[13].AppendText(text)
}

// convertQuality writes what producers noted and what the conversion did.
func (c *conversion) convertQuality(w *columns.Writer) (rows int64, err error) {
	err = c.buckets(&schemas.Quality, func(raw columns.Frame) error {
		for i := range raw.Rows() {
			c.common(c.quality, &schemas.Quality, raw, i)
			for j := range schemas.Quality.Columns {
				c.quality[7+j].AppendFrom(raw[rawValues+j], i)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	order := make([]int, c.quality.Rows())
	for i := range order {
		order[i] = i
	}
	q := c.quality
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(q[6].Texts[a], q[6].Texts[b]), cmp.Compare(q[2].Ints[a], q[2].Ints[b]), cmp.Compare(q[1].Ints[a], q[1].Ints[b]),
			cmp.Compare(q[7].Texts[a], q[7].Texts[b]), cmp.Compare(q[9].Texts[a], q[9].Texts[b]), cmp.Compare(q[8].Texts[a], q[8].Texts[b]), cmp.Compare(q[10].Texts[a], q[10].Texts[b]))
	})
	out := fileFrame(&schemas.Quality)
	for _, i := range order {
		for j := range out {
			out[j].AppendFrom(q[j], i)
		}
	}
	return int64(out.Rows()), w.WriteGroup(out)
}
