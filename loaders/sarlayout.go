package loaders

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// sarLayout is what a heading says of the fields below it.
type sarLayout struct {
	activity *sarActivity
	fields   []sarField
	// key tells headings of one block apart: one that is repeated has the same, with
	// whichever CPUs were there.
	key string
	// tail is the number of fields before one that may have blanks, -1: there is none.
	tail int
}

// sarField is a field: a column's place, or what follows.
type sarField struct {
	column int
	cpu    string
}

const (
	sarDevice  = -1 - iota
	sarCPUs    // of one CPU
	sarAllCPUs // "CPU*" of sadf -d: one for all, one each
	sarUnknown
)

// heading finds the block that has such a heading, nil if there is none. What such a
// block had not in any version that was known is unknown.
func (s *sysstat) heading(names []string) *sarLayout {
	line := strings.Join(names, " ")
	l, ok := s.layouts[line]
	if !ok {
		l = s.layout(names)
		s.layouts[line] = l
	}
	return l
}

func (s *sysstat) layout(names []string) *sarLayout {
	var best *sarLayout
	most := 0
	for _, a := range sarActivities() {
		l := &sarLayout{activity: a, tail: -1}
		known, device := 0, a.head == ""
		var key strings.Builder
		key.WriteString(a.name)
		for i, name := range names {
			f := sarField{column: sarUnknown}
			if c, ok := a.bySar[name]; ok {
				f.column = c
			}
			switch {
			case name == a.head, a.form == sarFormFilesystem && name == sarMountPoint:
				f.column, device = sarDevice, true
			case a.form == sarFormInterrupts && name == "CPU*":
				f.column = sarAllCPUs
			case a.form == sarFormInterrupts && strings.HasPrefix(name, "CPU"):
				f.column, f.cpu = sarCPUs, name[3:]
			}
			if f.column != sarUnknown {
				known++
			}
			if f.column != sarCPUs {
				key.WriteString(" " + name)
			}
			if i == len(names)-1 && (f.column == sarDevice && i > 0 || f.column >= 0 && a.columns[f.column].text && a.form != sarFormBattery) {
				l.tail = i
			}
			l.fields = append(l.fields, f)
		}
		if a.form == sarFormUSB {
			l.tail = len(names) - 2 // maker and product
		}
		if l.key = key.String(); device && known > most {
			best, most = l, known
		}
	}
	if best == nil || 2*most <= len(names) || most < 2 && len(names) > 1 {
		s.warn("a block of sar with the heading %q is not known: left out", strings.Join(names, " "))
		return nil
	}
	for i, f := range best.fields {
		if f.column == sarUnknown {
			s.warn("column %s of %s is not known: left out", names[i], best.activity.name)
		}
	}
	return best
}

// fill puts fields into a row.
func (l *sarLayout) fill(r *sarRow, fields [][]byte) error {
	r.clear()
	for i, f := range l.fields {
		switch f.column {
		case sarDevice:
			r.device = bytes.TrimSpace(fields[i])
		case sarCPUs:
			r.cpus = append(r.cpus, sarCell{[]byte(f.cpu), fields[i]})
		case sarAllCPUs:
			return l.fillCPUs(r, fields[i:])
		case sarUnknown:
		default:
			r.raw[f.column] = fields[i]
		}
	}
	return nil
}

// fillCPUs takes the numbers of "CPU*": that of all CPUs, then one each. Their numbers
// are not told: they are those from 0 on if together they are all.
func (l *sarLayout) fillCPUs(r *sarRow, fields [][]byte) error {
	r.raw[l.activity.bySar["all"]] = fields[0]
	total, err := sarNumber(fields[0])
	var sum float64
	for i, f := range fields[1:] {
		v, e := sarNumber(f)
		err = cmp.Or(err, e)
		sum += v
		r.cpus = append(r.cpus, sarCell{fmt.Append(nil, i), f})
	}
	if err != nil {
		return fmt.Errorf("INTR: %w", err)
	}
	if math.Abs(sum-total) > 0.006*float64(len(fields)) {
		r.cpus = r.cpus[:0]
	}
	return nil
}

// words splits a row of text. A field that may have blanks is the rest of the row.
func (l *sarLayout) words(dst [][]byte, line []byte) [][]byte {
	dst = dst[:0]
	for len(dst) != l.tail {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 {
			return dst
		}
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		dst, line = append(dst, line[:end]), line[end:]
	}
	if len(line) > 0 { // one blank parts fields, what is beyond it is the field's
		line = line[1:]
	}
	return append(dst, bytes.TrimRight(line, " \t"))
}

// sarTimes holds the samples of a file in which one time is spread over many blocks.
type sarTimes struct {
	*sysstat
	segment int
	at      map[sarAt]*sarSample
	untold  bool // the file does not tell intervals
}

type sarAt struct {
	segment int
	wallNS  int64
}

// sample returns the sample of a time.
func (t *sarTimes) sample(wallNS int64) *sarSample {
	k := sarAt{t.segment, wallNS}
	x := t.at[k]
	if x == nil {
		x = &sarSample{segment: t.segment, wallNS: wallNS}
		t.at[k] = x
	}
	return x
}

// finish hands the samples on in order of time.
func (t *sarTimes) finish() (*Foreign, error) {
	all := make([]*sarSample, 0, len(t.at))
	for _, x := range t.at {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *sarSample) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.wallNS, b.wallNS))
	})
	if t.untold {
		t.intervals(all)
	}
	for _, x := range all {
		if len(t.f.Incomplete) == 0 || len(x.blocks) > 0 { // else of the damage
			t.add(x)
		}
	}
	return t.close()
}

// intervals sets the samples' intervals: since the one before, or since the time of the
// heading, where samples without any row were between.
func (t *sarTimes) intervals(all []*sarSample) {
	var known []int64
	for i, x := range all {
		begin := x.beginNS
		if i > 0 && all[i-1].segment == x.segment {
			begin = max(begin, all[i-1].wallNS)
		}
		if begin > 0 && begin < x.wallNS {
			x.intervalNS = x.wallNS - begin
			known = append(known, x.intervalNS)
		}
	}
	if len(known) == 0 {
		return
	}
	slices.Sort(known)
	for _, x := range all {
		if x.intervalNS == 0 {
			x.intervalNS = known[len(known)/2]
		}
	}
}
