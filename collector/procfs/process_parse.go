package procfs

import (
	"bytes"
	"math"
	"slices"

	"github.com/steadybench/steady/schemas"
)

// Columns of table process, by index.
var (
	pUser     = processColumn("user_ns")
	pSystem   = processColumn("system_ns")
	pRun      = processColumn("run_ns")
	pRunDelay = processColumn("run_delay_ns")
	pMinflt   = processColumn("minflt")
	pMajflt   = processColumn("majflt")
	pCswch    = processColumn("cswch")
	pNvcswch  = processColumn("nvcswch")
	pRSS      = processColumn("rss_bytes")
	pMembers  = processColumn("processes")
	pThreads  = processColumn("threads")
	pFDs      = processColumn("fds")
)

func processColumn(name string) int {
	col := schemas.Process.Column(name)
	if col < 0 {
		panic("procfs: table process has no column " + name)
	}
	return col
}

// reading is what a process, or a sum of them, says, by column of table process.
type reading struct {
	v     []uint64
	known []bool
}

func newReading() reading {
	n := len(schemas.Process.Columns)
	return reading{make([]uint64, n), make([]bool, n)}
}

func (r *reading) reset() {
	clear(r.v)
	clear(r.known)
}

func (r *reading) set(col int, v uint64) { r.v[col], r.known[col] = v, true }

// pidStat is what a line of /proc/PID/stat tells beside the values in a reading.
type pidStat struct {
	comm    []byte // valid as long as the text
	ppid    int32
	start   uint64 // ticks since boot: with the pid, who it is
	threads uint64
}

// statFields are the numbers that are read after the name, by their distance from the
// state, which is field 3 of proc_pid_stat(5).
const (
	statPPID    = 4 - 3
	statMinflt  = 10 - 3
	statMajflt  = 12 - 3
	statUtime   = 14 - 3
	statStime   = 15 - 3
	statThreads = 20 - 3
	statStart   = 22 - 3
)

// parsePidStat reads the text of /proc/PID/stat (proc_pid_stat(5)). The name may hold
// blanks, newlines and parentheses: it ends at the last one, since what follows has
// none.
func parsePidStat(r *reading, text []byte) (st pidStat, f fault) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return st, fault{text, "no name in parentheses"}
	}
	s, ok := bytes.CutSuffix(text[end+1:], []byte("\n"))
	if !ok {
		return st, fault{text, "cut off"}
	}
	st.comm = text[open+1 : end]
	state, s := word(s)
	if len(state) != 1 {
		return st, fault{state, "not a state"}
	}
	var v [statStart + 1]uint64
	for i := 1; i < len(v); i++ {
		field, rest := word(s)
		switch i {
		case statPPID, statMinflt, statMajflt, statUtime, statStime, statThreads, statStart:
			if v[i], _, f = number(field); f.why != "" {
				return st, f
			}
		default: // some are negative
			if len(field) == 0 {
				return st, fault{field, missing}
			}
		}
		s = rest
	}
	if v[statPPID] > math.MaxInt32 || v[statThreads] > math.MaxInt32 {
		return st, fault{text, outOfRange}
	}
	const tick = 1e9 / userHZ
	r.set(pUser, v[statUtime]*tick)
	r.set(pSystem, v[statStime]*tick)
	r.set(pMinflt, v[statMinflt])
	r.set(pMajflt, v[statMajflt])
	r.set(pThreads, v[statThreads])
	st.ppid, st.start, st.threads = int32(v[statPPID]), v[statStart], v[statThreads]
	return st, fault{}
}

// namedColumn is a line of a file and the column that it gives.
type namedColumn struct {
	name string
	col  int
	mul  uint64
}

// statusMemory are the lines of /proc/PID/status on memory, in kB. The first of them is
// there wherever there is memory.
var statusMemory = []namedColumn{
	{"VmRSS", pRSS, 1024}, {"RssAnon", processColumn("anon_bytes"), 1024}, {"RssFile", processColumn("file_bytes"), 1024},
	{"RssShmem", processColumn("shmem_bytes"), 1024}, {"VmSwap", processColumn("swap_bytes"), 1024},
}

// statusSwitches are those on context switches: of one thread.
var statusSwitches = []namedColumn{
	{"voluntary_ctxt_switches", pCswch, 1}, {"nonvoluntary_ctxt_switches", pNvcswch, 1},
}

// ioLines are the lines of /proc/PID/io.
var ioLines = []namedColumn{
	{"rchar", processColumn("rchar_bytes"), 1}, {"wchar", processColumn("wchar_bytes"), 1},
	{"syscr", processColumn("syscr"), 1}, {"syscw", processColumn("syscw"), 1},
	{"read_bytes", processColumn("read_bytes"), 1}, {"write_bytes", processColumn("write_bytes"), 1},
}

// The columns of these files.
var (
	statusColumns = columnsOf(slices.Concat(statusMemory, statusSwitches))
	ioColumns     = columnsOf(ioLines)
)

func columnsOf(lines []namedColumn) (out []int) {
	for i := range lines {
		out = append(out, lines[i].col)
	}
	return out
}

// parseNamedLines sets columns from lines "name: number", with the unit kB where mul is
// 1024. A name is looked for at the beginning of a line, where the kernel writes what
// it means: it escapes the newlines in a process's own name.
func parseNamedLines(r *reading, lines []namedColumn, text []byte) (f fault) {
	for i := range lines {
		n := &lines[i]
		line, ok := lineOf(text, n.name)
		if !ok {
			continue
		}
		v, rest, is := number(line)
		unit, more := word(rest)
		want := ""
		if n.mul == 1024 {
			want = "kB"
		}
		if is.why == "" && (string(unit) != want || len(bytes.TrimSpace(more)) > 0 || n.mul > 1 && v > math.MaxInt64/n.mul) {
			is = fault{line, "not followed by its unit alone"}
		}
		if is.why != "" {
			f = is
			continue
		}
		r.set(n.col, v*n.mul)
	}
	return f
}

// lineOf returns what follows "name:" at the beginning of a whole line.
func lineOf(text []byte, name string) (line []byte, ok bool) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return nil, false
		}
		i += at
		after := i + len(name)
		if (i == 0 || text[i-1] == '\n') && after < len(text) && text[after] == ':' {
			line, _, ok = bytes.Cut(text[after+1:], []byte("\n"))
			return line, ok
		}
		at = i + 1
	}
}

// parseTaskSchedstat reads the text of /proc/PID/schedstat, of one thread
// (Documentation/scheduler/sched-stats.rst): nanoseconds on a CPU, nanoseconds that it
// waited for one, and how often it ran.
func parseTaskSchedstat(text []byte) (run, delay uint64, f fault) {
	line, ok := bytes.CutSuffix(text, []byte("\n"))
	if !ok {
		return 0, 0, fault{text, "cut off"}
	}
	if run, line, f = number(line); f.why == "" {
		delay, line, f = number(line)
	}
	if f.why == "" {
		_, line, f = number(line)
	}
	if more, _ := word(line); f.why == "" && len(more) > 0 {
		f = fault{more, "more than three numbers"}
	}
	return run, delay, f
}
