package procfs

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/steadybench/steady/schemas"
)

// lines walks through a text's lines. A last line without its end is not among them:
// it was cut off, perhaps within a number.
type lines struct {
	text []byte
	n    int // number of the line returned last, from 1
}

func (l *lines) next() (line []byte, ok bool) {
	end := bytes.IndexByte(l.text, '\n')
	if end < 0 {
		return nil, false
	}
	line, l.text = l.text[:end], l.text[end+1:]
	l.n++
	return line, true
}

// end counts the line that was cut off, if there is one.
func (l *lines) end(name string, bad *skips) {
	if len(l.text) > 0 {
		bad.add(name, l.n+1, fault{l.text, "cut off"})
	}
}

// fault is why something does not parse; the zero value is none.
type fault struct {
	field []byte
	why   string
}

// Causes of a fault.
const (
	notNumber  = "not a number"
	outOfRange = "out of range"
	missing    = "missing"
)

func (f fault) in(name string, line int) error {
	const enough = 64
	return fmt.Errorf("procfs: %s: line %d: field %q: %s", name, line, f.field[:min(len(f.field), enough)], f.why)
}

// skips counts what did not parse.
type skips struct {
	lines   int64
	example string
}

func (s *skips) add(name string, line int, f fault) {
	if s.lines++; s.lines == 1 {
		s.example = f.in(name, line).Error()
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// word returns the next field of s and what follows it. The field is empty at the end.
func word(s []byte) (field, rest []byte) {
	i := 0
	for i < len(s) && blank(s[i]) {
		i++
	}
	j := i
	for j < len(s) && !blank(s[j]) {
		j++
	}
	return s[i:j], s[j:]
}

// number returns the next field of s, a whole number below 2^64, and what follows it.
func number(s []byte) (v uint64, rest []byte, f fault) {
	i := 0
	for i < len(s) && blank(s[i]) {
		i++
	}
	start := i
	const tenth = math.MaxUint64 / 10
	for ; i < len(s); i++ {
		d := uint64(s[i] - '0')
		if d > 9 {
			break
		}
		if v >= tenth && (v > tenth || d > math.MaxUint64%10) {
			field, _ := word(s[start:])
			return 0, s, fault{field, outOfRange}
		}
		v = v*10 + d
	}
	switch {
	case start == len(s):
		return 0, s, fault{s[start:], missing}
	case i == start, i < len(s) && !blank(s[i]):
		field, _ := word(s[start:])
		return 0, s, fault{field, notNumber}
	}
	return v, s[i:], fault{}
}

// hundredths returns the number of hundredths in a field with two decimals: "0.53" is
// 53.
func hundredths(field []byte) (int64, fault) {
	i := len(field) - 3
	if i < 1 || field[i] != '.' || field[i+1]-'0' > 9 || field[i+2]-'0' > 9 {
		return 0, fault{field, "not a number with two decimals"}
	}
	v, rest, f := number(field[:i])
	switch {
	case f.why != "" || len(rest) > 0:
		return 0, fault{field, "not a number with two decimals"}
	case v > math.MaxInt64/100-1:
		return 0, fault{field, outOfRange}
	}
	return int64(v)*100 + int64(field[i+1]-'0')*10 + int64(field[i+2]-'0'), fault{}
}

// set sets a cell to a number of the kernel, brought to the column's unit. Of a counter
// it keeps the bits: it may use all 64, and differences, with Mul too, are taken modulo
// 2^64. A gauge must fit.
func set(b *schemas.Block, row, col int, v uint64) bool {
	c := &b.Table.Columns[col]
	mul := uint64(max(c.Mul, 1))
	if !c.Kind.Cumulative() && v > math.MaxInt64/mul {
		return false
	}
	b.Set(row, col, int64(v*mul))
	return true
}

// numbers sets the columns from (with) to (without) of a row from the fields of s, in
// order.
func numbers(b *schemas.Block, row, from, to int, s []byte) (rest []byte, f fault) {
	for col := from; col < to; col++ {
		var v uint64
		field := s
		if v, s, f = number(s); f.why != "" {
			return s, f
		}
		if !set(b, row, col, v) {
			field, _ = word(field)
			return s, fault{field, outOfRange}
		}
	}
	return s, fault{}
}

// forget makes the columns from (with) to (without) of a row null.
func forget(b *schemas.Block, row, from, to int) {
	row *= len(b.Table.Columns)
	clear(b.Values[row+from : row+to])
	clear(b.Known[row+from : row+to])
}

// trim brings a block that was given more room down to n rows, all of them named. The
// list of devices is cloned, never cut: a tick handed on may hold it.
func trim(b *schemas.Block, n int) {
	cells := n * len(b.Table.Columns)
	b.Values, b.Known = b.Values[:cells], b.Known[:cells]
	if len(b.Devices) != n {
		b.Devices = slices.Clone(b.Devices[:n])
	}
}

// countLines returns how many lines text has at most: what to make room for.
func countLines(text []byte) int { return bytes.Count(text, []byte{'\n'}) }
