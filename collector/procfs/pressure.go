package procfs

import (
	"bytes"

	"github.com/steadybench/steady/schemas"
)

var (
	someNS    = schemas.Pressure.Column("some_ns")
	fullNS    = schemas.Pressure.Column("full_ns")
	someAvg10 = schemas.Pressure.Column("some_avg10_pct")
	fullAvg10 = schemas.Pressure.Column("full_avg10_pct")
)

func pressureParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		b := &blocks[0]
		b.Resize(len(files))
		for row, f := range files {
			b.SetDevice(row, f.device)
			if err := parsePressure(b, row, f.name, f.text, bad); err != nil {
				return err
			}
		}
		trim(b, len(files))
		return nil
	}
}

// parsePressure fills a row of pressure from the text of a file in /proc/pressure
// (Documentation/accounting/psi.rst), called name in errors. The file of cpu has no
// line "full" before Linux 5.13.
func parsePressure(pressure *schemas.Block, row int, name string, text []byte, bad *skips) error {
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		kind, s := word(line)
		total, avg10 := someNS, someAvg10
		switch {
		case string(kind) == "some" && l.n == 1:
		case l.n == 1:
			return fault{kind, `not "some"`}.in(name, 1)
		case string(kind) == "full":
			total, avg10 = fullNS, fullAvg10
		default:
			continue
		}
		switch f := pressureLine(pressure, row, total, avg10, s); {
		case f.why == "":
		case l.n == 1:
			return f.in(name, 1)
		default:
			forget(pressure, row, total, total+1)
			forget(pressure, row, avg10, avg10+1)
			bad.add(name, l.n, f)
		}
	}
	if l.n == 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	return nil
}

// pressureLine sets two columns from "avg10=0.00 avg60=0.00 avg300=0.00 total=0".
func pressureLine(pressure *schemas.Block, row, total, avg10 int, s []byte) fault {
	line := s
	known := pressure.Known[row*len(pressure.Table.Columns):]
	for field, s := word(s); len(field) > 0; field, s = word(s) {
		key, value, _ := bytes.Cut(field, []byte("="))
		switch string(key) {
		case "avg10":
			v, f := hundredths(value)
			if f.why != "" {
				return fault{field, f.why}
			}
			pressure.Set(row, avg10, v)
		case "total":
			if _, f := numbers(pressure, row, total, total+1, value); f.why != "" {
				return fault{field, f.why}
			}
		}
	}
	if !known[total] || !known[avg10] {
		return fault{bytes.TrimSpace(line), "without avg10 or total"}
	}
	return fault{}
}
