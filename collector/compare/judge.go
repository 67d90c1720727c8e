package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/schemas"
)

// Two readings agree if sar's lies between ours, give or take slack units (and one for
// each further device of a sum, since the kernel rounds the sum and we sum what is
// rounded); a gauge also if it is within nearly of one of them.
const (
	slack  = 2
	nearly = 0.01
)

// result is what came of one column of sar's.
type result struct {
	Activity string `json:"activity"`
	Sar      string `json:"sar"`
	Unit     string `json:"unit,omitempty"`
	Ours     string `json:"ours,omitempty"`
	Verdict  string `json:"verdict"`
	Why      string `json:"why,omitempty"`   // the two disagree, or there is none of ours
	Compared int    `json:"compared"`        // readings
	Agreed   int    `json:"agreed"`          // of them
	Passed   int    `json:"passed_over"`     // readings of devices that came or went, or of a record without a bracket
	Moved    bool   `json:"moved"`           // the number changed at all
	Worst    *miss  `json:"worst,omitempty"` // the largest difference

	rows    int
	counter bool
	expr    *expr
	column  *column
	series  map[string]*series // by device
	seen    map[string]string  // by device: its first number
}

// miss is a reading that does not agree.
type miss struct {
	Device string        `json:"device,omitempty"`
	At     time.Duration `json:"at_ns"` // from the first record
	Sar    uint64        `json:"sar"`
	Before string        `json:"before"` // our readings, "null" where there is none
	After  string        `json:"after"`
	By     uint64        `json:"by"` // how far outside; 0 where ours are null
}

// series are one device's readings.
type series struct{ points []point }

// point is one record: sar's number, and ours after it.
type point struct {
	at         time.Duration // from the first record
	sarAt      time.Duration // uptime
	oursAt     time.Duration
	sar, ours  uint64
	oursKnown  bool
	continuous bool // the device was in the record before as well
}

// Verdicts on a column.
const (
	agrees      = "agrees"
	neverMoved  = "agrees, never moved"
	differs     = "DIFFERS"
	explained   = "differs, reason known"
	absent      = "none of ours"
	notCompared = "not compared"
)

// conclude forms the verdict.
func (r *result) conclude() {
	switch c := r.column; {
	case c.ours == "":
		r.Verdict, r.Why = absent, c.why
	case r.Compared == 0 && r.Passed == 0:
		r.Verdict, r.Why = notCompared, "sar says 0 and ours null, where neither knows"
	case r.Compared == 0:
		r.Verdict, r.Why = notCompared, "its devices came or went, or no record lay between two readings"
	case r.Agreed == r.Compared && r.Moved:
		r.Verdict = agrees
	case r.Agreed == r.Compared:
		r.Verdict = neverMoved
	case c.why != "":
		r.Verdict, r.Why = explained, c.why
	case c.level && 2*r.Agreed > r.Compared:
		r.Verdict, r.Why = explained, "a level that came and went between two readings"
	default:
		r.Verdict, r.Why = differs, "no known reason"
	}
}

// judge holds sar's rows against our brackets. A number that acts doesn't know is an
// error: nothing is to be left out without a reason.
func judge(acts []activity, rows []row, brackets []bracket) ([]*result, error) {
	results, byName := []*result{}, map[string]*result{}
	known := map[string]*activity{}
	for i := range acts {
		a := &acts[i]
		known[a.name] = a
		for j := range a.columns {
			c := &a.columns[j]
			r := &result{Activity: a.name, Sar: c.sar, Unit: c.unit, Ours: c.ours, column: c, series: map[string]*series{}, seen: map[string]string{}}
			if c.ours != "" {
				var err error
				if r.expr, err = parseExpr(c.ours); err != nil {
					return nil, err
				}
			}
			results, byName[a.name+" "+c.sar] = append(results, r), r
		}
	}
	start := rows[0].was
	for i := range rows {
		x := &rows[i]
		a := known[x.activity]
		if a == nil {
			return nil, fmt.Errorf("activity %s of sysstat's is not known here: add it to the table", x.activity)
		}
		device, err := a.deviceOf(x)
		if err != nil {
			return nil, err
		}
		for _, v := range x.values {
			r := byName[x.activity+" "+v.name]
			if r == nil {
				return nil, fmt.Errorf("%s: column %q of sysstat's is not known here: add it to the table", x.activity, v.name)
			}
			r.rows++
			r.counter = v.counter
			if r.expr == nil {
				r.note(device, v.is)
				continue
			}
			if x.was == start && v.counter && !x.fresh { // the first record has no rows of its own
				if err := r.take(a, device, x.was, v.was, start, false, brackets); err != nil {
					return nil, err
				}
			}
			if err := r.take(a, device, x.at, v.is, start, !x.fresh, brackets); err != nil {
				return nil, err
			}
		}
	}
	// What this file of sadc's has no rows of is not part of the comparison.
	results = slices.DeleteFunc(results, func(r *result) bool { return r.rows == 0 })
	for _, r := range results {
		r.conclude()
	}
	return results, nil
}

// deviceOf returns the name of ours for a row's device, "" for the total.
func (a *activity) deviceOf(x *row) (string, error) {
	if a.id == "" {
		return a.device, nil
	}
	d, ok := x.ids[a.id]
	if !ok {
		return "", fmt.Errorf("%s: a row without %s", a.name, a.id)
	}
	if d == a.all {
		return "", nil
	}
	return d, nil
}

func (r *result) note(device, number string) {
	first, ok := r.seen[device]
	if !ok {
		r.seen[device] = number
	}
	r.Moved = r.Moved || ok && first != number
}

// take compares one reading of sar's.
func (r *result) take(a *activity, device string, at time.Duration, number string, start time.Duration, continuous bool, brackets []bracket) error {
	v, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.Activity, r.Sar, err)
	}
	b := find(brackets, at)
	if b == nil {
		r.note(device, number)
		r.Passed++
		return nil
	}
	before, n, knew := r.ours(a, b.before, device)
	after, m, knows := r.ours(a, b.after, device)
	if v == 0 && r.column.zero && !knew && !knows {
		return nil // sar says 0 for what nobody knows
	}
	if partition(r.expr.table, device) {
		return nil
	}
	r.note(device, number)
	if knew != knows {
		r.Passed++ // a device that came or went
		return nil
	}
	r.Compared++
	s := r.series[device]
	if s == nil {
		s = &series{}
		r.series[device] = s
	}
	tab := b.after.blocks[r.expr.table]
	s.points = append(s.points, point{at - start, at, time.Duration(tab.BootNS), v, after, knows, continuous})
	r.Moved = r.Moved || knows && s.points[0].oursKnown && s.points[0].ours != after
	by, ok := uint64(0), false
	if knows {
		by = outside(v, before, after, r.column.bits)
		ok = by <= slack+uint64(max(n, m, 1)-1) || !r.counter && float64(by) <= nearly*float64(max(before, after))
	}
	if ok {
		r.Agreed++
		return nil
	}
	if r.Worst == nil || by > r.Worst.By {
		r.Worst = &miss{device, at - start, v, show(before, knew), show(after, knows), by}
	}
	return nil
}

func show(v uint64, known bool) string {
	if !known {
		return "null"
	}
	return strconv.FormatUint(v, 10)
}

// find returns the bracket of the record of that uptime, which is cut to 10 ms.
func find(brackets []bracket, at time.Duration) *bracket {
	for i := range brackets {
		if b := &brackets[i]; b.before.end < at+10*time.Millisecond && b.after.begin >= at {
			return b
		}
	}
	return nil
}

// ours evaluates the column's expression for a device, or for the total of n devices,
// those left out that are counted elsewhere too.
func (r *result) ours(a *activity, x *reading, device string) (sum uint64, n int, known bool) {
	b, ok := x.blocks[r.expr.table]
	if !ok {
		return 0, 0, false
	}
	for row := range b.Rows() {
		if r.expr.table.Device != "" {
			name := b.Devices[row]
			if device != "" && name != device || device == "" && counted(r.expr.table, name) {
				continue
			}
		}
		v, ok := r.expr.of(&b, row)
		if !ok {
			if device != "" || r.expr.table.Device == "" {
				return 0, 0, false
			}
			continue // of a total, those that have the column
		}
		sum += v
		n++
	}
	if n == 0 {
		return 0, 0, false
	}
	if a.mean {
		sum /= uint64(n)
	}
	if f := r.column.factor; f != 0 {
		sum *= f
	}
	return sum, n, true
}

// counted reports whether a total leaves a device out, since it is counted elsewhere.
func counted(t *schemas.Table, device string) bool {
	return slices.ContainsFunc(t.NoTotal, func(prefix string) bool { return prefix != "" && strings.HasPrefix(device, prefix) })
}

// partition reports whether a disk of sar's is a partition: its whole disk counts it,
// and table disk leaves it out.
func partition(t *schemas.Table, device string) bool {
	if t != &schemas.Disk || device == "" {
		return false
	}
	_, err := os.Stat(filepath.Join("/sys/class/block", filepath.Base(device), "partition"))
	return err == nil
}

// outside returns how far v is from what lies between a and b, counting modulo 2^bits:
// a counter that wraps is between its readings, and one may go back.
func outside(v, a, b uint64, bits int) uint64 {
	signed := func(x uint64) int64 {
		if bits == 32 {
			return int64(int32(x))
		}
		return int64(x)
	}
	d, span := signed(v-a), signed(b-a)
	lo, hi := min(0, span), max(0, span)
	switch {
	case d < lo:
		return uint64(lo - d)
	case d > hi:
		return uint64(d - hi)
	}
	return 0
}

// rate returns the points of a chart: a counter's rate, a gauge's level, of sar's and of
// ours, NaN where there is none.
func (r *result) rate(s *series) (at []float64, sar, ours []float64) {
	for i, p := range s.points {
		if !r.counter {
			at, sar = append(at, p.at.Seconds()), append(sar, float64(p.sar))
			ours = append(ours, known(float64(p.ours), p.oursKnown))
			continue
		}
		if i == 0 {
			continue
		}
		q := s.points[i-1]
		at = append(at, p.at.Seconds())
		delta := func(a, b uint64) float64 {
			if r.column.bits == 32 {
				return float64(int32(b - a))
			}
			return float64(int64(b - a))
		}
		sar = append(sar, known(delta(q.sar, p.sar)/(p.sarAt-q.sarAt).Seconds(), p.continuous))
		ours = append(ours, known(delta(q.ours, p.ours)/(p.oursAt-q.oursAt).Seconds(), p.continuous && p.oursKnown && q.oursKnown))
	}
	return at, sar, ours
}

func known(v float64, ok bool) float64 {
	if !ok || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
