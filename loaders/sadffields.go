package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// sadfFields is what sadf -d prints, while it is read.
type sadfFields struct {
	sarTimes
	layout *sarLayout
	headed bool // there was a heading, if of a block unknown
	row    sarRow
	fields [][]byte
	empty  map[int64]bool   // times of samples of interval 0
	times  map[string]int64 // by how they are written: each block has them all
}

// readFields reads sadf -d: headings "# hostname;interval;timestamp;...", and rows.
func (s *sysstat) readFields(text []byte) (*Foreign, error) {
	d := &sadfFields{sarTimes: sarTimes{sysstat: s, at: map[sarAt]*sarSample{}}, empty: map[int64]bool{}, times: map[string]int64{}}
	whole := text
	if n := bytes.LastIndexByte(text, '\n') + 1; n < len(text) {
		if !s.o.Salvage {
			return nil, fmt.Errorf("loaders: %s: line %d: cut off: it has no end: make it anew, or salvage what is before it", s.name, bytes.Count(text, []byte("\n"))+1)
		}
		whole = text[:n]
		s.f.Incomplete = append(s.f.Incomplete, "cut off in the last line, which is left out")
	}
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		err := d.line(bytes.TrimRight(line, "\r\n"))
		if err == nil {
			continue
		}
		if !s.o.Salvage || errors.Is(err, errDecimalComma) || len(d.at) == 0 {
			return nil, fmt.Errorf("loaders: %s: line %d: %w", s.name, number, err)
		}
		s.f.Incomplete = append(s.f.Incomplete, fmt.Sprintf("damaged, lines before that are kept: line %d: %v", number, err))
		break
	}
	return d.finish()
}

func (d *sadfFields) line(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if heading, ok := bytes.CutPrefix(bytes.TrimPrefix(line, []byte("\ufeff")), []byte("# ")); ok {
		names := strings.Split(string(heading), ";")
		switch {
		case len(names) < 4 || names[0] != "hostname" || names[1] != "interval" || names[2] != "timestamp":
			return errors.New("a heading without hostname;interval;timestamp and a column")
		case strings.Contains(string(heading), "[...]"):
			return errors.New("of sadf -d -h, which has several devices in a row: make it anew without -h")
		}
		d.layout, d.headed = d.heading(names[3:]), true
		return nil
	}
	fields := d.split(line)
	if len(fields) < 4 {
		return fmt.Errorf("%d fields: want hostname;interval;timestamp and a value", len(fields))
	}
	if d.f.Host == "" {
		d.f.Host = string(fields[0])
	} else if d.f.Host != string(fields[0]) {
		return fmt.Errorf("host %q, and before it %q: make a file of each", fields[0], d.f.Host)
	}
	at, ok := d.times[string(fields[2])]
	if !ok {
		var err error
		if at, err = d.time(string(fields[2])); err != nil {
			return err
		}
		d.times[string(fields[2])] = at
	}
	interval, err := strconv.ParseInt(string(fields[1]), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("interval %q: not whole seconds", fields[1])
	case err == nil && interval == -1:
		return d.event(at, strings.Join(strings.Fields(string(bytes.Join(fields[3:], []byte(";")))), " "))
	case err != nil || interval < 0 || interval > 1e8:
		interval = -1
	}
	switch {
	case !d.headed:
		return errors.New("values before any heading")
	case d.layout == nil:
		return nil
	case interval <= 0:
		if !d.empty[at] {
			d.empty[at] = true
			d.add(&sarSample{segment: d.segment, wallNS: at, intervalNS: interval})
		}
		return nil
	}
	return d.values(at, interval*1e9, fields[3:])
}

// split cuts a line into the fields between its semicolons, which stay as they are until
// the next line.
func (d *sadfFields) split(line []byte) [][]byte {
	d.fields = d.fields[:0]
	for f := range bytes.SplitSeq(line, []byte(";")) {
		d.fields = append(d.fields, f)
	}
	return d.fields
}

func (d *sadfFields) values(at, intervalNS int64, fields [][]byte) error {
	l := d.layout
	if l.activity.form == sarFormUSB { // sadf -d has them in another order than it says
		if n := len(fields); n >= 6 {
			d.row.clear()
			d.row.device = fields[0]
			for i, name := range []string{"idvendor", "idprod", "maxpower", "manufact"} {
				d.row.raw[l.activity.bySar[name]] = fields[1+i]
			}
			d.row.raw[l.activity.bySar["product"]] = bytes.Join(fields[5:], []byte(";"))
			return d.into(at, intervalNS)
		}
	}
	all := l.fields[len(l.fields)-1].column == sarAllCPUs
	if len(fields) != len(l.fields) && !(all && len(fields) >= len(l.fields)) {
		for _, f := range fields {
			if _, err := sarNumber(f); errors.Is(err, errDecimalComma) {
				return err
			}
		}
		return fmt.Errorf("%d values below %d headings", len(fields), len(l.fields))
	}
	if err := l.fill(&d.row, fields); err != nil {
		return err
	}
	return d.into(at, intervalNS)
}

func (d *sadfFields) into(at, intervalNS int64) error {
	x := d.sample(at)
	x.intervalNS = intervalNS
	return d.take(x, d.layout.activity, &d.row)
}

// event is a restart or a comment.
func (d *sadfFields) event(at int64, words string) error {
	if rest, ok := strings.CutPrefix(words, "LINUX-RESTART"); ok {
		d.segment++
		d.restarts = append(d.restarts, sarRestart{at, restartCPUs(rest)})
		return nil
	}
	if rest, ok := strings.CutPrefix(words, "COM "); ok && utf8.ValidString(rest) {
		d.comment(at, rest)
		return nil
	}
	return fmt.Errorf("%q: neither a restart nor a comment", words)
}

// restartCPUs reads "(2 CPU)".
func restartCPUs(words string) int {
	var n int
	if _, err := fmt.Sscanf(strings.TrimSpace(words), "(%d CPU)", &n); err != nil {
		return 0
	}
	return n
}

// time reads a time as of sadf -d: with UTC, in local time (-T, -t), or in seconds since
// 1970 (-U).
func (d *sadfFields) time(said string) (int64, error) {
	if seconds, err := strconv.ParseInt(said, 10, 64); err == nil {
		if seconds < 631152000 || seconds > 7258118400 {
			return 0, fmt.Errorf("timestamp %q: no seconds since 1970", said)
		}
		return seconds * 1e9, nil
	}
	date, rest, _ := strings.Cut(said, " ")
	clock, suffix, _ := strings.Cut(rest, " ")
	zone := time.UTC
	if suffix != "UTC" {
		if zone = d.o.Zone; zone == nil {
			return 0, fmt.Errorf("timestamp %q: %w", said, errNoZone)
		}
	}
	at, err := inZone(date, clock, zone)
	return at.UnixNano(), err
}
