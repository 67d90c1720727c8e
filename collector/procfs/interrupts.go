package procfs

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/steadybench/steady/schemas"
)

func interruptsParser(*host) parser {
	var p interruptFiles
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		var cells *schemas.Block
		if len(blocks) > 2 {
			cells = &blocks[2]
		}
		if err := p.parseInterrupts(&blocks[0], &blocks[1], cells, files[0].text, bad); err != nil {
			return err
		}
		if len(files) > 1 {
			p.parseSoftirqs(&blocks[1], files[1].text, bad)
		}
		return nil
	}
}

// interruptFiles is what /proc/interrupts and /proc/softirqs looked like. Kernels write
// the same lines in the same order at each reading, on a large host a million bytes of
// them.
type interruptFiles struct {
	header  []byte
	cpus    [][]byte // numbers of the CPUs in header, in its order
	lines   []interruptLine
	cells   []int    // by row of table interrupts: where the name's cells are, in names
	devices []string // of table interrupt_cells
	numbers []uint64 // of a line, by CPU
	sums    []uint64 // of this reading, by CPU

	softHeader []byte
	softRows   []int // by column: the row of its CPU, -1 if that is offline
	softNums   []uint64
}

// interruptLine is a line of /proc/interrupts. A name that comes twice has one row.
type interruptLine struct {
	name []byte
	row  int  // of table interrupts
	each bool // it has a number for each CPU
	bad  bool
}

// parseInterrupts fills counts by the names of interrupts, cpus by the numbers of the
// CPUs that are online, and cells, unless it is nil, from the text of /proc/interrupts
// (proc_interrupts(5)). It sizes them.
//
// The heading names the CPUs. A line has a number for each of them, or a single one for
// the whole system and nothing after it (ERR, MIS). The kernel writes each line for the
// CPUs that are online at its time: a line that has another number of them was written
// while a CPU came or went. It is null, and so are the CPUs' totals, which lack it.
func (p *interruptFiles) parseInterrupts(counts, cpus, cells *schemas.Block, text []byte, bad *skips) error {
	const name = "interrupts"
	l := lines{text: text}
	header, ok := l.next()
	if !ok {
		return fault{text, "no whole line"}.in(name, 1)
	}
	if p.cpus == nil || !bytes.Equal(header, p.header) {
		cpus, f := cpuNumbers(header)
		if f.why != "" {
			return f.in(name, 1)
		}
		*p = interruptFiles{header: bytes.Clone(header), cpus: cpus, numbers: make([]uint64, len(cpus)), sums: make([]uint64, len(cpus))}
	}
	clear(p.sums)
	counts.Resize(countLines(l.text))
	if cells != nil {
		cells.Resize(0)
	}
	at := interruptsPlace{interruptFiles: p}
	lost := false
	for line, ok := l.next(); ok; line, ok = l.next() {
		id, total, each, f := p.line(line)
		if f.why != "" {
			bad.add(name, l.n, f)
			lost = true
		}
		if len(id) == 0 {
			continue
		}
		is := at.next(id, each, f.why != "")
		counts.SetDevice(is.row, id)
		if cells != nil && is.each {
			p.addCells(cells, is)
		}
		if is.bad {
			continue
		}
		counts.Set(is.row, 0, counts.Values[is.row]+int64(total))
		if each {
			for i, v := range p.numbers {
				p.sums[i] += v
			}
		}
	}
	if len(l.text) > 0 {
		l.end(name, bad)
		lost = true
	}
	at.end()
	trim(counts, at.rows)
	for i := range p.lines { // after all: the name's other line may be good
		if is := &p.lines[i]; is.bad {
			forget(counts, is.row, 0, 1)
			if at := p.cells[is.row]; cells != nil && at >= 0 {
				n := len(p.cpus)
				clear(cells.Values[at*n : (at+1)*n])
				clear(cells.Known[at*n : (at+1)*n])
			}
		}
	}
	if cells != nil {
		cells.Devices = p.devices
	}
	cpus.Resize(len(p.cpus))
	for i, id := range p.cpus {
		cpus.SetDevice(i, id)
		if !lost {
			cpus.Set(i, 0, int64(p.sums[i]))
		}
	}
	trim(cpus, len(p.cpus))
	return nil
}

// line reads a line: its name, the sum of its numbers, and whether there is one for
// each CPU, which p.numbers then has.
func (p *interruptFiles) line(line []byte) (id []byte, total uint64, each bool, f fault) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return nil, 0, false, fault{line, "no colon after a name"}
	}
	id, more := word(line[:colon])
	if len(id) == 0 || len(more) > 0 {
		return nil, 0, false, fault{line[:colon], "not one name"}
	}
	total, n, rest, f := numbersAhead(p.numbers, line[colon+1:])
	next, _ := word(rest)
	switch {
	case f.why != "":
	case n == 1 && len(next) == 0:
		return id, total, false, fault{}
	case n < len(p.numbers), whole(next):
		f = fault{line[colon+1:], "not a number for each CPU of the heading"}
	}
	return id, total, f.why == "", f
}

// addCells adds a line's numbers to its row of cells, which is at most one past the
// last.
func (p *interruptFiles) addCells(cells *schemas.Block, is *interruptLine) {
	n := len(p.numbers)
	from := p.cells[is.row] * n
	if from == len(cells.Values) {
		cells.Values = slices.Grow(cells.Values, n)[:from+n]
		cells.Known = slices.Grow(cells.Known, n)[:from+n]
		clear(cells.Values[from:])
		clear(cells.Known[from:])
	}
	values, known := cells.Values[from:from+n], cells.Known[from:from+n]
	for i, v := range p.numbers {
		values[i] += int64(v)
		known[i] = true
	}
}

// interruptsPlace is where a reading is in the lines of the one before.
type interruptsPlace struct {
	*interruptFiles
	n       int            // lines seen
	rows    int            // names seen
	counted int            // of them, those that count by CPU
	index   map[string]int // rows by name; nil: all lines were as before
}

// next returns what is known of the next line. each says that it counts by CPU, which a
// bad one doesn't.
func (p *interruptsPlace) next(id []byte, each, bad bool) *interruptLine {
	if p.index == nil && p.n < len(p.lines) {
		if is := &p.lines[p.n]; bytes.Equal(is.name, id) && each == is.each {
			is.bad = bad
			p.n++
			p.rows = max(p.rows, is.row+1)
			return is
		}
	}
	if p.index == nil {
		p.forgetFrom(p.n)
	}
	row, ok := p.index[string(id)]
	if !ok {
		row = p.rows
		p.index[string(id)] = row
		p.rows++
		p.cells = append(p.cells, -1)
	}
	p.lines = append(p.lines, interruptLine{name: bytes.Clone(id), row: row, each: each, bad: bad})
	p.n++
	p.count(row, each)
	return &p.lines[p.n-1]
}

// forgetFrom makes the lines before n all that is known.
func (p *interruptsPlace) forgetFrom(n int) {
	p.lines, p.cells, p.index = p.lines[:n], p.cells[:0], make(map[string]int)
	for range p.rows {
		p.cells = append(p.cells, -1)
	}
	for i := range p.lines {
		is := &p.lines[i]
		p.index[string(is.name)] = is.row
		p.count(is.row, is.each)
	}
}

// count gives a row its place among those that count by CPU, if it has none yet.
func (p *interruptsPlace) count(row int, each bool) {
	if each && p.cells[row] < 0 {
		p.cells[row] = p.counted
		p.counted++
	}
}

// end is after the last line.
func (p *interruptsPlace) end() {
	if p.index == nil {
		if p.n == len(p.lines) {
			return
		}
		p.forgetFrom(p.n)
	}
	p.devices = make([]string, p.counted*len(p.cpus))
	for i := range p.lines {
		if is := &p.lines[i]; is.each {
			for k, cpu := range p.cpus {
				p.devices[p.cells[is.row]*len(p.cpus)+k] = string(is.name) + "/" + string(cpu)
			}
		}
	}
}

// parseSoftirqs adds the text of /proc/softirqs (proc_softirqs(5)) to cpus, which
// parseInterrupts has sized. It has a column for each CPU that is possible.
func (p *interruptFiles) parseSoftirqs(cpus *schemas.Block, text []byte, bad *skips) {
	const name = "softirqs"
	l := lines{text: text}
	header, ok := l.next()
	if !ok {
		bad.add(name, 1, fault{text, "no whole line"})
		return
	}
	if p.softRows == nil || !bytes.Equal(header, p.softHeader) {
		ids, f := cpuNumbers(header)
		if f.why != "" {
			bad.add(name, 1, f)
			return
		}
		p.softHeader, p.softRows, p.softNums = bytes.Clone(header), make([]int, len(ids)), make([]uint64, len(ids))
		for i, id := range ids {
			p.softRows[i] = slices.IndexFunc(p.cpus, func(cpu []byte) bool { return bytes.Equal(cpu, id) })
		}
	}
	for line, ok := l.next(); ok; line, ok = l.next() {
		id, s, _ := bytes.Cut(line, []byte{':'})
		id, _ = word(id)
		col := softirqColumn(cpus.Table, id)
		if col < 0 {
			continue
		}
		_, n, rest, f := numbersAhead(p.softNums, s)
		next, _ := word(rest)
		switch {
		case f.why != "":
		case n < len(p.softNums), len(next) > 0:
			f = fault{s, "not a number for each CPU of the heading"}
		case cpus.Rows() > 0 && cpus.Known[col]:
			f = fault{id, "named twice"}
		}
		if f.why != "" {
			bad.add(name, l.n, f)
			continue
		}
		for i, row := range p.softRows {
			if row >= 0 {
				cpus.Set(row, col, int64(p.softNums[i]))
			}
		}
	}
	l.end(name, bad)
}

// softirqColumn returns the column of interrupts_cpu for a type of softirq, or -1.
func softirqColumn(t *schemas.Table, id []byte) int {
	if string(id) == "BLOCK_IOPOLL" { // before Linux 4.5
		id = []byte("IRQ_POLL")
	}
	for col := range t.Columns {
		if source := t.Columns[col].Source; source != "" && source == string(id) {
			return col
		}
	}
	return -1
}

// cpuNumbers returns the numbers of the CPUs in a heading: "CPU0 CPU8" are 0 and 8.
func cpuNumbers(header []byte) ([][]byte, fault) {
	var ids [][]byte
	for field, s := word(header); len(field) > 0; field, s = word(s) {
		id, ok := bytes.CutPrefix(field, []byte("CPU"))
		if !ok || !whole(id) {
			return nil, fault{field, "not a CPU"}
		}
		ids = append(ids, bytes.Clone(id))
	}
	if ids == nil {
		return nil, fault{header, "no CPU"}
	}
	return ids, fault{}
}

// whole reports whether a field has digits and nothing else.
func whole(field []byte) bool {
	for _, c := range field {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(field) > 0
}

// numbersAhead fills to from the numbers that s begins with, and returns their sum, how
// many there are and what follows them. The kernel writes ten places and a blank for
// each, and most are 0: these it knows at a glance.
func numbersAhead(to []uint64, s []byte) (sum uint64, n int, rest []byte, f fault) {
	const (
		eight = 0x2020202020202020 // blanks
		zero  = 0x20302020         // two blanks, a 0 and a blank
	)
	i := 0
	for n < len(to) {
		if i+12 <= len(s) && binary.LittleEndian.Uint64(s[i:]) == eight {
			if binary.LittleEndian.Uint32(s[i+8:]) == zero {
				to[n] = 0
				n++
				i += 11
				continue
			}
			i += 8
		}
		for i < len(s) && blank(s[i]) {
			i++
		}
		start := i
		var v uint64
		for ; i < len(s); i++ {
			d := uint64(s[i] - '0')
			if d > 9 {
				break
			}
			v = v*10 + d
		}
		if i == start || i < len(s) && !blank(s[i]) {
			return sum, n, s[start:], fault{}
		}
		if i-start > 19 { // all of 19 digits fit into 64 bits
			if v, _, f = number(s[start:]); f.why != "" {
				return sum, n, s[start:], f
			}
		}
		to[n] = v
		sum += v
		n++
	}
	return sum, n, s[i:], fault{}
}
