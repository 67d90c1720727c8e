package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/steadybench/steady/schemas"
)

// softnetColumns are where a line of /proc/net/softnet_stat has the columns of table
// softnet, from 0; softnetCPU is where it has the number of the CPU.
var softnetColumns = [...]int{0, 1, 2, 9, 10, 11}

const (
	softnetBase = 3 // columns that every kernel has
	softnetCPU  = 12
)

func softnetParser(h *host) parser {
	p := softnetFile{online: h.onlineCPUs}
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return p.parse(&blocks[0], files[0].text, bad)
	}
}

// softnetFile is /proc/net/softnet_stat.
type softnetFile struct {
	online func() ([]uint64, error)
	cpus   []uint64 // of the lines, where they don't say
}

// parse fills softnet from the text of /proc/net/softnet_stat (net/core/net-procfs.c):
// hexadecimal numbers, of which a younger kernel has more.
//
// The lines are of the CPUs that are online. Older kernels do not say which: they are
// taken in the order of those that /sys says are online, which is asked again when
// their number changes. Where it says another number of them, no line's CPU is known.
func (p *softnetFile) parse(softnet *schemas.Block, text []byte, bad *skips) error {
	const name = "net/softnet_stat"
	n := countLines(text)
	softnet.Resize(n)
	l := lines{text: text}
	row := 0
	asked := false
	for line, ok := l.next(); ok; line, ok = l.next() {
		cpu, said, f := softnetLine(softnet, row, line)
		switch {
		case f.why != "":
			forget(softnet, row, 0, len(softnet.Table.Columns))
			if l.n == 1 {
				return f.in(name, 1)
			}
			bad.add(name, l.n, f)
			continue
		case !said:
			if len(p.cpus) != n && !asked {
				asked = true
				p.cpus, _ = p.online() // an error leaves none
			}
			if len(p.cpus) != n {
				forget(softnet, row, 0, len(softnet.Table.Columns))
				bad.add(name, l.n, fault{line, "its CPU is not known: there is another number of lines than of CPUs that are online"})
				continue
			}
			cpu = p.cpus[l.n-1]
		}
		var digits [20]byte
		softnet.SetDevice(row, strconv.AppendUint(digits[:0], cpu, 10))
		row++
	}
	if l.n == 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	trim(softnet, row)
	return nil
}

// softnetLine sets a row, and returns the line's CPU, if it says it.
func softnetLine(softnet *schemas.Block, row int, line []byte) (cpu uint64, said bool, f fault) {
	field, s := word(line)
	for i, col := 0, 0; len(field) > 0; i++ {
		v, f := hex32(field)
		if f.why != "" {
			return 0, false, f
		}
		if col < len(softnetColumns) && i == softnetColumns[col] {
			softnet.Set(row, col, int64(v))
			col++
		}
		if i == softnetCPU {
			cpu, said = v, true
		}
		field, s = word(s)
	}
	if !softnet.Known[row*len(softnet.Table.Columns)+softnetBase-1] {
		return 0, false, fault{s, missing}
	}
	return cpu, said, fault{}
}

// hex32 returns a field's number of 32 bits, which has no prefix.
func hex32(field []byte) (v uint64, f fault) {
	if len(field) > 8 {
		return 0, fault{field, outOfRange}
	}
	for _, c := range field {
		d := hexDigits[c]
		if d == 0 {
			return 0, fault{field, "not a hexadecimal number"}
		}
		v = v<<4 | uint64(d-1)
	}
	return v, fault{}
}

// hexDigits are the digits' values, and 1, by character; 0 is none.
var hexDigits = func() (d [256]byte) {
	for i, c := range []byte("0123456789abcdef") {
		d[c] = byte(i) + 1
	}
	return d
}()

// onlineCPUs returns the numbers of the CPUs that are online, in order.
func (h *host) onlineCPUs() ([]uint64, error) {
	name := filepath.Join(h.sys, "devices/system/cpu/online")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("procfs: %w", err)
	}
	ids, f := cpuList(bytes.TrimSuffix(text, []byte("\n")))
	if f.why == "" && len(ids) == 0 {
		f = fault{text, missing}
	}
	if f.why != "" {
		return nil, f.in(name, 1)
	}
	cpus := make([]uint64, len(ids))
	for i, id := range ids {
		cpus[i] = uint64(id)
	}
	return cpus, nil
}
