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

	contextSwitches = schemas.Kernel.Column("context_switches")
	forks           = schemas.Kernel.Column("forks")
	interrupts      = schemas.Kernel.Column("interrupts")
	softirqs        = schemas.Kernel.Column("softirqs")
	dentries        = schemas.Kernel.Column("dentries") // and dentries_unused
	openFiles       = schemas.Kernel.Column("files")
	inodes          = schemas.Kernel.Column("inodes")
	ptys            = schemas.Kernel.Column("ptys")
)

func statParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		cpu, load, kernel := &blocks[0], &blocks[1], &blocks[2]
		if err := parseStat(cpu, load, kernel, files[0].text, bad); err != nil {
			return err
		}
		for _, f := range files[1:] { // of which a host may lack any
			if f.name != "loadavg" {
				parseSysctl(kernel, f.name, f.text, bad)
			} else if err := parseLoadavg(load, f.text, bad); err != nil {
				return err
			}
		}
		return nil
	}
}

// minCPUFields is how many fields every kernel has: user, nice, system and idle.
const minCPUFields = 4

// parseStat fills cpu, by the numbers of the CPUs that are there ("0", "8"), the
// blocked tasks of load, and the counters of kernel from the text of /proc/stat
// (proc_stat(5)). It sizes all three.
//
// A kernel's line ends where its fields do: the columns that it doesn't know are null.
func parseStat(cpu, load, kernel *schemas.Block, text []byte, bad *skips) error {
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
	kernel.Resize(1)
	row := 0
	for line, ok = l.next(); ok; line, ok = l.next() {
		s, is := bytes.CutPrefix(line, []byte("cpu"))
		if !is {
			if f := statLine(load, kernel, line); f.why != "" {
				bad.add(name, l.n, f)
			}
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

// statLine sets a column from the first number of a line that is not of a CPU: of intr
// and softirq it is the total.
func statLine(load, kernel *schemas.Block, line []byte) fault {
	name, s := word(line)
	b, col := kernel, -1
	switch string(name) {
	case "intr":
		col = interrupts
	case "ctxt":
		col = contextSwitches
	case "processes":
		col = forks
	case "procs_blocked":
		b, col = load, blocked
	case "softirq":
		col = softirqs
	}
	if col < 0 {
		return fault{}
	}
	if b.Known[col] {
		return fault{name, "named twice"}
	}
	_, f := numbers(b, 0, col, col+1, s)
	return f
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

// parseSysctl adds the text of a file below /proc/sys, which is one line, to kernel,
// which parseStat has sized (proc_sys_fs(5), Documentation/admin-guide/sysctl/fs.rst).
func parseSysctl(kernel *schemas.Block, name string, text []byte, bad *skips) {
	l := lines{text: text}
	line, ok := l.next()
	f := fault{text, "no whole line"}
	if ok {
		switch name {
		case "sys/fs/dentry-state": // all, unused, ...
			if _, f = numbers(kernel, 0, dentries, dentries+2, line); f.why != "" {
				forget(kernel, 0, dentries, dentries+2)
			}
		case "sys/fs/file-nr": // allocated, free, ...
			f = inUse(kernel, openFiles, line)
		case "sys/fs/inode-nr":
			f = inUse(kernel, inodes, line)
		case "sys/kernel/pty/nr":
			_, f = numbers(kernel, 0, ptys, ptys+1, line)
		}
	}
	if f.why != "" {
		bad.add(name, 1, f)
	}
}

// inUse sets a column to the first number of a line less the second.
func inUse(kernel *schemas.Block, col int, line []byte) fault {
	all, s, f := number(line)
	if f.why != "" {
		return f
	}
	free, _, f := number(s)
	if f.why != "" {
		return f
	}
	if free > all || !set(kernel, 0, col, all-free) {
		return fault{line, outOfRange}
	}
	return fault{}
}
