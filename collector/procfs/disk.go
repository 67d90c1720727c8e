package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// Where the groups of columns of table disk begin, which are in the file's order.
var (
	discards = schemas.Disk.Column("discards")
	flushes  = schemas.Disk.Column("flushes")
)

func diskstatsParser(h *host) parser {
	whole := wholeDisks{is: make(map[string]bool), look: h.wholeDisk}
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseDiskstats(&blocks[0], files[0].text, &whole, bad)
	}
}

// parseDiskstats fills disk from the text of /proc/diskstats
// (Documentation/admin-guide/iostats.rst). It leaves out partitions, and devices that
// never did anything.
//
// Kernels write 11 numbers a device, 4 more for discards since 4.18, 2 more for flushes
// since 5.5; what a later one adds is ignored. A group that is not whole is null and
// counted.
func parseDiskstats(disk *schemas.Block, text []byte, whole *wholeDisks, bad *skips) error {
	const name = "diskstats"
	disk.Resize(countLines(text))
	l := lines{text: text}
	row := 0
	for line, ok := l.next(); ok; line, ok = l.next() {
		device, s, f := diskName(line)
		if f.why == "" && !whole.has(device) {
			continue // Linux before 2.6.25 has fewer fields for a partition
		}
		if f.why != "" {
			if l.n == 1 {
				return f.in(name, 1)
			}
			bad.add(name, l.n, f)
			continue
		}
		base, f := diskLine(disk, row, s)
		if f.why != "" {
			if l.n == 1 && !base {
				return f.in(name, 1)
			}
			bad.add(name, l.n, f)
		}
		if base && !active(disk, row) {
			forget(disk, row, 0, len(disk.Table.Columns))
			continue
		}
		disk.SetDevice(row, device)
		row++
	}
	if l.n == 0 && len(text) > 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	trim(disk, row)
	return nil
}

// diskName returns the name of a line's device and what follows it.
func diskName(line []byte) (name, rest []byte, f fault) {
	_, s, f := number(line) // major
	if f.why == "" {
		_, s, f = number(s) // minor
	}
	name, rest = word(s)
	if f.why == "" && len(name) == 0 {
		f = fault{name, missing}
	}
	return name, rest, f
}

// diskLine sets a row; base says that the fields that all kernels write are known, so
// that a fault costs only the group of fields that it is in, and those after it.
func diskLine(disk *schemas.Block, row int, s []byte) (base bool, f fault) {
	all := len(disk.Table.Columns)
	if s, f = numbers(disk, row, 0, discards, s); f.why != "" {
		forget(disk, row, 0, all)
		return false, f
	}
	for from, to := discards, flushes; from < to; from, to = to, all {
		if len(bytes.TrimLeft(s, " \t")) == 0 {
			break
		}
		if s, f = numbers(disk, row, from, to, s); f.why != "" {
			forget(disk, row, from, all)
			return true, f
		}
	}
	return true, fault{}
}

// active reports whether a device ever did anything.
func active(disk *schemas.Block, row int) bool {
	n := len(disk.Table.Columns)
	for _, v := range disk.Values[row*n : (row+1)*n] {
		if v != 0 {
			return true
		}
	}
	return false
}

// wholeDisks tells whole devices from partitions, and remembers.
type wholeDisks struct {
	is   map[string]bool
	look func(name string) bool
}

func (w *wholeDisks) has(name []byte) bool {
	is, ok := w.is[string(name)]
	if !ok {
		is = w.look(string(name))
		w.is[string(name)] = is
	}
	return is
}

// wholeDisk reports whether a name in diskstats is a whole device, no partition. It asks
// the kernel: /sys/block has the whole devices, with "!" for "/". Where sysfs isn't
// mounted the name must do.
func (h *host) wholeDisk(name string) bool {
	block := filepath.Join(h.sys, "block")
	if _, err := os.Stat(block); err != nil {
		return wholeByName(name)
	}
	_, err := os.Lstat(filepath.Join(block, strings.ReplaceAll(name, "/", "!")))
	return err == nil
}

// wholeByName goes by the kernel's rule for the names of partitions: a number, after a
// "p" if the device's own name ends in a digit. Of the devices whose name ends in a
// letter those below have partitions.
func wholeByName(name string) bool {
	device := strings.TrimRight(name, "0123456789")
	if device == name || device == "" {
		return true
	}
	if base, ok := strings.CutSuffix(device, "p"); ok && base != "" && base[len(base)-1] >= '0' && base[len(base)-1] <= '9' {
		return false
	}
	for _, prefix := range []string{"sd", "hd", "vd", "xvd", "dasd", "rssd"} {
		if len(device) > len(prefix) && strings.HasPrefix(device, prefix) {
			return false
		}
	}
	return true
}
