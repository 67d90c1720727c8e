package procfs

import (
	"bytes"
	"math"

	"github.com/steadybench/steady/schemas"
)

func serialParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseSerial(&blocks[0], files[0].text, bad)
	}
}

// parseSerial fills serial from the text of /proc/tty/driver/serial (uart_proc_show in
// drivers/tty/serial/serial_core.c): after a heading "0: uart:16550A port:000003F8
// irq:4 tx:218 rx:0 fe:2 RTS|DTR". Ports without a chip have no tx and rx, nor has any
// where the reader lacks CAP_SYS_ADMIN: they are left out. The kernel leaves out the
// errors that are 0.
func parseSerial(serial *schemas.Block, text []byte, bad *skips) error {
	const name = "tty/driver/serial"
	all := len(serial.Table.Columns)
	l := lines{text: text}
	heading, ok := l.next()
	if !ok {
		return fault{text, "no whole line"}.in(name, 1)
	}
	if !bytes.HasPrefix(heading, []byte("serinfo:")) {
		return fault{heading, "not the heading of serial lines"}.in(name, 1)
	}
	serial.Resize(countLines(l.text))
	row := 0
	for line, ok := l.next(); ok; line, ok = l.next() {
		id, s, _ := bytes.Cut(line, []byte{':'})
		f := fault{}
		if !whole(id) {
			f = fault{id, notNumber}
		} else if f = serialLine(serial, row, s); f.why == "" && !serial.Known[row*all] {
			continue // no chip, or no permission
		}
		if f.why != "" {
			forget(serial, row, 0, all)
			bad.add(name, l.n, f)
			if !whole(id) {
				continue
			}
		}
		serial.SetDevice(row, id)
		row++
	}
	l.end(name, bad)
	trim(serial, row)
	return nil
}

// serialLine sets a row from the fields "key:number" of a line, if rx and tx are among
// them.
func serialLine(serial *schemas.Block, row int, s []byte) fault {
	columns := serial.Table.Columns
	known := serial.Known[row*len(columns):][:len(columns)]
	for field, s := word(s); len(field) > 0; field, s = word(s) {
		key, value, _ := bytes.Cut(field, []byte{':'})
		for col := range columns {
			if columns[col].Source != string(key) {
				continue
			}
			v, f := signed32(value)
			if f.why != "" {
				return f
			}
			if known[col] {
				return fault{field, "named twice"}
			}
			serial.Set(row, col, v)
		}
	}
	if rx, tx := known[0], known[1]; rx != tx {
		return fault{bytes.TrimSpace(s), "without rx or tx"}
	} else if !rx {
		return fault{}
	}
	for col := range columns {
		if !known[col] {
			serial.Set(row, col, 0)
		}
	}
	return fault{}
}

// signed32 returns a counter of 32 bits that was printed as a signed number.
func signed32(field []byte) (int64, fault) {
	digits, negative := bytes.CutPrefix(field, []byte{'-'})
	v, _, f := number(digits)
	switch {
	case f.why != "":
		return 0, fault{field, f.why}
	case negative && v > -math.MinInt32, v > math.MaxUint32:
		return 0, fault{field, outOfRange}
	case negative:
		v = uint64(-uint32(v))
	}
	return int64(v), fault{}
}
