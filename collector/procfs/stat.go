package procfs

import (
	"bytes"
	"fmt"

	"github.com/steadybench/steady/schemas"
)

var (
	ldavg1  = schemas.Load.Column("ldavg_1")
	runq    = schemas.Load.Column("runq_sz")
	plist   = schemas.Load.Column("plist_sz")
	blocked = schemas.Load.Column("blocked")
)

func statParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		if err := parseStat(&blocks[0], &blocks[1], files[0].text, bad); err != nil {
			return err
		}
		if len(files) == 1 {
			return nil // a host without loadavg
		}
		return parseLoadavg(&blocks[1], files[1].text, bad)
	}
}

// minCPUFields is how many fields every kernel has: user, nice, system and idle.
const minCPUFields = 4

// parseStat fills cpu, by the numbers of the CPUs that are there ("0", "8"), and the
// blocked tasks of load from the text of /proc/stat (proc_stat(5)). It sizes both.
//
// A kernel's line ends where its fields do: the columns that it doesn't know are null.
func parseStat(cpu, load *schemas.Block, text []byte, bad *skips) error {
	const name = "stat"
	l := lines{text: text}
	line, ok := l.next()
	if first, rest := word(line); !ok || string(first) != "cpu" {
		return fault{line, "not the line of all CPUs"}.in(name, 1)
	} else if _, _, f := number(rest); f.why != "" {
		return f.in(name, 1)
	}
	cpu.Resize(countLines(text))
	load.Resize(1)
	row := 0
	for line, ok = l.next(); ok; line, ok = l.next() {
		if s, is := bytes.CutPrefix(line, []byte("procs_blocked ")); is {
			if _, f := numbers(load, 0, blocked, blocked+1, s); f.why != "" {
				bad.add(name, l.n, f)
			}
			continue
		}
		s, is := bytes.CutPrefix(line, []byte("cpu"))
		if !is {
			continue
		}
		id, s := word(s)
		if _, _, f := number(id); f.why != "" {
			bad.add(name, l.n, f)
			continue
		}
		cpu.SetDevice(row, id)
		if f := cpuLine(cpu, row, s); f.why != "" {
			forget(cpu, row, 0, len(cpu.Table.Columns))
			bad.add(name, l.n, f)
		}
		row++
	}
	l.end(name, bad)
	if row == 0 {
		return fmt.Errorf("procfs: %s: no line of a CPU", name)
	}
	trim(cpu, row)
	return nil
}

func cpuLine(cpu *schemas.Block, row int, s []byte) fault {
	s, f := numbers(cpu, row, 0, minCPUFields, s)
	for col := minCPUFields; f.why == "" && col < len(cpu.Table.Columns) && len(bytes.TrimLeft(s, " \t")) > 0; col++ {
		s, f = numbers(cpu, row, col, col+1, s)
	}
	return f
}

// parseLoadavg adds the text of /proc/loadavg (proc_loadavg(5)), which is one line, to
// load, which parseStat has sized.
func parseLoadavg(load *schemas.Block, text []byte, bad *skips) error {
	const name = "loadavg"
	l := lines{text: text}
	line, ok := l.next()
	if !ok {
		return fault{text, "no whole line"}.in(name, 1)
	}
	s := line
	for col := ldavg1; col < ldavg1+3; col++ {
		var field []byte
		field, s = word(s)
		v, f := hundredths(field)
		if f.why != "" {
			return f.in(name, 1)
		}
		load.Set(0, col, v)
	}
	tasks, _ := word(s)
	running, all, ok := bytes.Cut(tasks, []byte("/"))
	if !ok {
		return fault{tasks, "not two numbers and a slash"}.in(name, 1)
	}
	if _, f := numbers(load, 0, runq, runq+1, running); f.why != "" {
		return f.in(name, 1)
	}
	if _, f := numbers(load, 0, plist, plist+1, all); f.why != "" {
		return f.in(name, 1)
	}
	l.end(name, bad)
	return nil
}
