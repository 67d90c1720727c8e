package procfs

import (
	"bytes"

	"github.com/steadybench/steady/schemas"
)

func schedstatParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseSchedstat(&blocks[0], files[0].text, bad)
	}
}

const (
	oldestSchedstat = 14 // the first version whose lines of CPUs are as below
	schedstatFields = 9  // numbers of a CPU; the last three are those of table sched
)

// parseSchedstat fills sched from the text of /proc/schedstat
// (Documentation/scheduler/sched-stats.rst), by the numbers of the CPUs. Lines of CPUs
// were the same in versions 14 to 17; one of another length is not understood.
func parseSchedstat(sched *schemas.Block, text []byte, bad *skips) error {
	const name = "schedstat"
	all := len(sched.Table.Columns)
	l := lines{text: text}
	line, _ := l.next()
	s, ok := bytes.CutPrefix(line, []byte("version "))
	if !ok {
		return fault{text, "no version"}.in(name, 1)
	}
	version, _, f := number(s)
	if f.why == "" && version < oldestSchedstat {
		f = fault{s, "a version that is too old"}
	}
	if f.why != "" {
		return f.in(name, 1)
	}
	sched.Resize(countLines(l.text))
	row := 0
	for line, ok := l.next(); ok; line, ok = l.next() {
		s, ok := bytes.CutPrefix(line, []byte("cpu"))
		if !ok {
			continue
		}
		id, s := word(s)
		if !whole(id) {
			bad.add(name, l.n, fault{id, notNumber})
			continue
		}
		if f := schedstatLine(sched, row, s); f.why != "" {
			forget(sched, row, 0, all)
			bad.add(name, l.n, f)
		}
		sched.SetDevice(row, id)
		row++
	}
	l.end(name, bad)
	trim(sched, row)
	return nil
}

func schedstatLine(sched *schemas.Block, row int, s []byte) fault {
	for range schedstatFields - len(sched.Table.Columns) {
		var f fault
		if _, s, f = number(s); f.why != "" {
			return f
		}
	}
	s, f := numbers(sched, row, 0, len(sched.Table.Columns), s)
	if f.why == "" {
		if more, _ := word(s); len(more) > 0 {
			f = fault{more, "more numbers than this version of steady knows"}
		}
	}
	return f
}
