package procfs

import (
	"bytes"
	"fmt"
	"math"

	"github.com/steadybench/steady/schemas"
)

// What a group's files say: a line, or a file, that does not parse costs its columns of
// that group's row, which are then null, and is counted.

// setTimes sets a cell to v times mul, which is a counter modulo 2^64 or a gauge that
// fits.
func setTimes(b *schemas.Block, row, col int, v, mul uint64) bool {
	if !b.Table.Columns[col].Kind.Cumulative() && v > math.MaxInt64/mul {
		return false
	}
	b.Set(row, col, int64(v*mul))
	return true
}

// parseFlat sets columns from lines "name value" by their names.
func parseFlat(b *schemas.Block, row int, names *names, mul []uint64, name string, text []byte, bad *skips) {
	known := b.Known[row*len(b.Table.Columns):]
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		is, s, f := names.split(l.n, line, ' ')
		if f.why == "" && is.col < 0 {
			continue
		}
		var v uint64
		field := s
		if f.why == "" {
			v, s, f = number(s)
		}
		if more, _ := word(s); f.why == "" && len(more) > 0 {
			f = fault{more, "more than a number"}
		}
		switch {
		case f.why != "":
		case known[is.col]:
			f = fault{line, "named twice"}
		case !setTimes(b, row, is.col, v, mul[is.col]):
			f = fault{field, outOfRange}
		}
		if f.why != "" {
			bad.add(name, l.n, f)
		}
	}
	l.end(name, bad)
}

// unlimited is the least limit that is none: v1 has no word for it, and says the most
// that its counter of pages holds, in bytes.
const unlimited = 1 << 62

// parseOne sets a column from a file of one number. It reports false where it says
// that there is no limit.
func parseOne(b *schemas.Block, row, col int, name string, text []byte, bad *skips) bool {
	l := lines{text: text}
	line, ok := l.next()
	if !ok || len(l.text) > 0 {
		bad.add(name, 1, fault{text, "not one line"})
		return true
	}
	if string(line) == "max" {
		return false
	}
	v, rest, f := number(line)
	if more, _ := word(rest); f.why == "" && len(more) > 0 {
		f = fault{more, "more than a number"}
	}
	switch gauge := !b.Table.Columns[col].Kind.Cumulative(); {
	case f.why != "":
		bad.add(name, 1, f)
	case gauge && v >= unlimited:
		return false
	default:
		b.Set(row, col, int64(v))
	}
	return true
}

// parseTotals sets two columns from the totals, in microseconds, of a file of pressure
// (Documentation/accounting/psi.rst). The file of cpu has no line "full" before Linux
// 5.13.
func parseTotals(b *schemas.Block, row, some, full int, name string, text []byte, bad *skips) {
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		kind, _ := word(line)
		col := some
		switch string(kind) {
		case "some":
		case "full":
			col = full
		default:
			bad.add(name, l.n, fault{kind, `neither "some" nor "full"`})
			continue
		}
		_, total, ok := bytes.Cut(line, []byte(" total="))
		v, rest, f := number(total)
		if more, _ := word(rest); !ok || len(more) > 0 {
			f = fault{line, "without a total"}
		}
		if f.why != "" {
			bad.add(name, l.n, f)
			continue
		}
		setTimes(b, row, col, v, 1000)
	}
	l.end(name, bad)
}

// ioKeys are the fields of a line of io.stat.
var ioKeys = [...]struct {
	key string
	col int
}{
	{"rbytes", groupColumn("read_bytes")}, {"wbytes", groupColumn("write_bytes")},
	{"rios", groupColumn("reads")}, {"wios", groupColumn("writes")},
	{"dbytes", groupColumn("discard_bytes")}, {"dios", groupColumn("discards")},
}

// ioFields are the values of a line, or their sums.
type ioFields struct {
	v   [len(ioKeys)]uint64
	has [len(ioKeys)]bool
}

// parseIOStat sets columns to the sums over the lines of io.stat
// (Documentation/admin-guide/cgroup-v2.rst), "8:0 rbytes=1 wbytes=2 rios=3 ...", of the
// devices that count. A file without a line is a group without I/O: 0. Discards are
// counted since Linux 4.20; a sum of which a part is not known is null.
//
// Kernels write a device of which they have nothing to say without the end of the line,
// "7:1 7:0 rbytes=1 ...", the last one too.
func parseIOStat(b *schemas.Block, row int, d *disks, name string, text []byte, bad *skips) {
	var sum ioFields
	for i := range sum.has {
		sum.has[i] = true
	}
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		device, s := ioDevice(line)
		var x ioFields
		f := fault{line, "no device"}
		if len(device) > 0 {
			if more, _ := word(s); len(more) == 0 || !d.has(device) {
				continue
			}
			x, f = ioLine(s)
		}
		if f.why != "" {
			bad.add(name, l.n, f)
		}
		for i := range ioKeys {
			sum.v[i] += x.v[i]
			sum.has[i] = sum.has[i] && x.has[i]
		}
	}
	if device, s := ioDevice(l.text); len(device) == 0 || len(bytes.TrimSpace(s)) > 0 {
		if l.end(name, bad); len(l.text) > 0 {
			return
		}
	}
	for i := range ioKeys {
		if sum.has[i] {
			b.Set(row, ioKeys[i].col, int64(sum.v[i]))
		}
	}
}

// ioDevice returns the last of the devices that a line begins with, and what follows.
func ioDevice(line []byte) (device, rest []byte) {
	for {
		next, s := word(line)
		if !isDevice(next) {
			return device, line
		}
		device, line = next, s
	}
}

// ioLine returns the fields "key=value" of a line; a field that does not parse is not
// there.
func ioLine(s []byte) (x ioFields, f fault) {
	var seen [len(ioKeys)]bool
	for field, s := word(s); len(field) > 0; field, s = word(s) {
		key, value, _ := bytes.Cut(field, []byte("="))
		for i := range ioKeys {
			if string(key) != ioKeys[i].key {
				continue
			}
			v, rest, is := number(value)
			x.v[i], x.has[i] = v, is.why == "" && len(rest) == 0 && !seen[i]
			seen[i] = true
			if !x.has[i] {
				f = fault{field, "not a number, once"}
			}
		}
	}
	return x, f
}

// isDevice reports whether s names a device: "8:0", or "(unknown)" for one without a
// number, such as a path below a multipath NVMe disk.
func isDevice(s []byte) bool {
	if string(s) == "(unknown)" {
		return true
	}
	major, minor, ok := bytes.Cut(s, []byte(":"))
	return ok && digits(major) && digits(minor)
}

func digits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}

// blkioOps are the operations of v1's blkio that don't overlap, in the order of the
// columns that they are given.
var blkioOps = [...]string{"Read", "Write", "Discard"}

// parseBlkio sets cols to the sums of the operations over the lines of a file of v1's
// blkio controller (Documentation/admin-guide/cgroup-v1/blkio-controller.rst), "8:0
// Read 1", of the devices that count. Where a kernel says 0 of what it doesn't count,
// which all tells, 0 is null. Linux before 4.19 has no discards.
func parseBlkio(b *schemas.Block, row int, cols []int, d *disks, all bool, name string, text []byte, bad *skips) {
	var sum [len(blkioOps)]uint64
	known := [len(blkioOps)]bool{true, true, false}
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		device, s := word(line)
		if string(device) == "Total" {
			continue
		}
		op, s := word(s)
		v, rest, f := number(s)
		switch more, _ := word(rest); {
		case !isDevice(device):
			f = fault{device, "no device"}
		case f.why == "" && len(more) > 0:
			f = fault{more, "more than a number"}
		}
		if f.why != "" {
			bad.add(name, l.n, f)
			return
		}
		for i := range blkioOps {
			if string(op) != blkioOps[i] {
				continue
			}
			known[i] = true
			if d.has(device) {
				sum[i] += v
			}
		}
	}
	if l.end(name, bad); len(l.text) > 0 {
		return
	}
	for i := range blkioOps {
		if known[i] && (all || sum[i] > 0) {
			b.Set(row, cols[i], int64(sum[i]))
		}
	}
}

// countsAll reports whether a kernel of this release counts all I/O in the files of
// blkio.throttle. From 5.16 to 6.4 it counted that of groups with a limit, and since
// 6.10 it counts once a limit was set on the device.
func countsAll(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	v := major*1000 + minor
	return v < 5_016 || v >= 6_005 && v < 6_010
}
