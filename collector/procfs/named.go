package procfs

import (
	"bytes"
	"fmt"

	"github.com/steadybench/steady/schemas"
)

func meminfoParser(*host) parser {
	names := newNames(&schemas.Memory)
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseMeminfo(&blocks[0], files[0].text, names, bad)
	}
}

func vmstatParser(*host) parser {
	names := newNames(&schemas.Paging)
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseVmstat(&blocks[0], files[0].text, names, bad)
	}
}

// parseMeminfo fills memory from the text of /proc/meminfo (proc_meminfo(5)), "name:
// number unit", by the columns' Source. A column in bytes must be given in kB.
func parseMeminfo(memory *schemas.Block, text []byte, names *names, bad *skips) error {
	if len(text) == 0 {
		return fmt.Errorf("procfs: memory: meminfo is empty")
	}
	if err := parseNamed(memory, "meminfo", ':', "kB", text, names, bad); err != nil {
		return err
	}
	if total := memory.Table.Column("total_bytes"); memory.Known[total] && memory.Values[total] == 0 {
		return fmt.Errorf("procfs: memory: MemTotal is 0")
	}
	return nil
}

// parseVmstat fills paging from the text of /proc/vmstat (proc_vmstat(5)), "name
// number", by the columns' Source. Some are counted by zone (allocstall_normal; before
// Linux 4.8 also pgscan_kswapd_normal): their sum is the column.
func parseVmstat(paging *schemas.Block, text []byte, names *names, bad *skips) error {
	return parseNamed(paging, "vmstat", ' ', "", text, names, bad)
}

// parseNamed fills b, one row, from lines of a name that ends at sep, a number and, in
// columns with a Mul, the unit.
func parseNamed(b *schemas.Block, name string, sep byte, unit string, text []byte, names *names, bad *skips) error {
	b.Resize(1)
	l := lines{text: text}
	var zoned, lost columnSet // sums of zones; those of which one is unknown
	for line, ok := l.next(); ok; line, ok = l.next() {
		is, s, f := names.split(l.n, line, sep)
		var v uint64
		if f.why == "" {
			field := s
			if v, s, f = number(s); f.why == "" && is.col >= 0 {
				f = setNamed(b, is, v, field, s, unit, &zoned)
			}
		}
		switch {
		case f.why == "":
			continue
		case l.n == 1:
			return f.in(name, 1)
		case is.col >= 0 && is.zone:
			lost.add(is.col)
		}
		bad.add(name, l.n, f)
	}
	if l.n == 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	for col := range b.Table.Columns {
		if lost.has(col) {
			forget(b, 0, col, col+1)
		}
	}
	return nil
}

// setNamed sets a line's column to v, which was read from field and has after behind it.
func setNamed(b *schemas.Block, is column, v uint64, field, after []byte, unit string, zoned *columnSet) fault {
	field, _ = word(field)
	if b.Table.Columns[is.col].Mul == 0 {
		unit = ""
	}
	got, after := word(after)
	if more, _ := word(after); string(got) != unit || len(more) > 0 {
		return fault{field, "not followed by its unit alone"}
	}
	if b.Known[is.col] {
		if !is.zone || !zoned.has(is.col) {
			return fault{field, "named twice"}
		}
		b.Values[is.col] += int64(v) // no zone's column has a Mul
		return fault{}
	}
	if is.zone {
		zoned.add(is.col)
	}
	if !set(b, 0, is.col, v) {
		return fault{field, outOfRange}
	}
	return fault{}
}

// columnSet is a set of a table's columns.
type columnSet [2]uint64

func (s *columnSet) add(col int)      { s[col/64] |= 1 << (col % 64) }
func (s *columnSet) has(col int) bool { return s[col/64]>>(col%64)&1 != 0 }

// column says what a line is good for.
type column struct {
	col  int  // of the table, -1 for none
	zone bool // a part of it
}

// names finds the columns of lines by their names. A kernel writes the same lines in
// the same places at each reading, so it remembers what was where and compares that
// first.
type names struct {
	columns map[string]column
	seen    []seen // by line number
}

type seen struct {
	name []byte
	column
}

func newNames(t *schemas.Table) *names {
	n := &names{columns: make(map[string]column)}
	for i := range t.Columns {
		c := &t.Columns[i]
		n.columns[c.Source] = column{col: i}
		if c.Mul == 0 && c.Kind.Cumulative() {
			for _, zone := range []string{"dma", "dma32", "normal", "high", "movable", "device"} {
				n.columns[c.Source+"_"+zone] = column{col: i, zone: true}
			}
		}
	}
	return n
}

// split cuts a line, the number'th from 1, at sep, and finds its column.
func (n *names) split(number int, line []byte, sep byte) (is column, rest []byte, f fault) {
	if number <= len(n.seen) {
		s := &n.seen[number-1]
		if i := len(s.name); i > 0 && i < len(line) && line[i] == sep && bytes.Equal(line[:i], s.name) {
			return s.column, line[i+1:], fault{}
		}
	}
	name, rest, ok := bytes.Cut(line, []byte{sep})
	if !ok || len(name) == 0 {
		return column{col: -1}, line, fault{line, "no name"}
	}
	is, ok = n.columns[string(name)]
	if !ok {
		is.col = -1
	}
	for number > len(n.seen) {
		n.seen = append(n.seen, seen{})
	}
	s := &n.seen[number-1]
	s.name, s.column = append(s.name[:0], name...), is
	return is, rest, fault{}
}
