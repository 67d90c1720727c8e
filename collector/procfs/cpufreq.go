package procfs

import (
	"bytes"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/steadybench/steady/schemas"
)

// cpuinfoEachTick is up to which length /proc/cpuinfo is read at each tick, a longer one
// every lookEvery: the kernel writes 1.3 KB for a CPU, and takes 10 us for it.
const cpuinfoEachTick = 64 << 10

// slowFrequency is how long reading a CPU's frequency may take before /proc/cpuinfo is
// read instead.
const slowFrequency = 2 * time.Millisecond

var (
	curHz      = schemas.CPUFreq.Column("cur_hz")
	statCycles = schemas.CPUFreq.Column("stat_cycles")
	statTicks  = schemas.CPUFreq.Column("stat_ticks")
)

// cpufreqFinder finds the CPUs that are online. CPUs that share a policy share its files.
//
// Where the frequency comes from is decided at the start. On x86 between Linux 4.13 and
// 5.17 reading scaling_cur_freq interrupts the CPU, and if nobody read it within the
// second waits for 10 to 20 ms, each CPU anew (arch/x86/kernel/cpu/aperfmperf.c), while
// /proc/cpuinfo waits once for all. Later kernels answer at once from what the scheduler's
// tick measured, of an idle CPU with what the driver last set.
func cpufreqFinder(h *host) finder {
	decided, useCpuinfo, seldom := false, false, false
	return func(l *layout) {
		const dir = "devices/system/cpu"
		online := filepath.Join(h.sys, dir, "online")
		l.watch = append(l.watch, online)
		ids, _ := cpuList([]byte(h.line(dir, "online")))
		var policies []*cell // those with a frequency
		byPath := make(map[string][]*cell)
		for _, id := range ids {
			cpu := filepath.Join(h.sys, dir, "cpu"+strconv.Itoa(id))
			row := l.row(strconv.Itoa(id), "")
			policy, err := filepath.EvalSymlinks(filepath.Join(cpu, "cpufreq"))
			if err == nil {
				if byPath[policy] == nil {
					cur := &cell{path: filepath.Join(policy, "scaling_cur_freq"), col: curHz, fill: fillNumber}
					policies = append(policies, cur)
					low := l.cell(filepath.Join(policy, "scaling_min_freq"), "min_hz", fillNumber)
					high := l.cell(filepath.Join(policy, "scaling_max_freq"), "max_hz", fillNumber)
					low.slow, high.slow = true, true
					byPath[policy] = []*cell{cur, low, high, l.cell(filepath.Join(policy, "stats/time_in_state"), "stat_cycles", fillTimeInState)}
				}
				for _, c := range byPath[policy] {
					c.rows = append(c.rows, row)
				}
			}
			throttles := func(list, of string) {
				if first, _ := cpuList([]byte(h.line(dir, "cpu"+strconv.Itoa(id), "topology", list))); len(first) == 0 || first[0] != id {
					return
				}
				l.cell(filepath.Join(cpu, "thermal_throttle", of+"_throttle_count"), of+"_throttles", fillNumber, row)
				l.cell(filepath.Join(cpu, "thermal_throttle", of+"_throttle_total_time_ms"), of+"_throttle_ns", fillNumber, row)
			}
			throttles("thread_siblings_list", "core")
			throttles("core_siblings_list", "package")
		}
		if len(ids) == 0 {
			l.cause = online + " names no CPU"
			return
		}
		info := &cell{path: filepath.Join(h.proc, "cpuinfo"), proc: true, col: curHz, fill: fillCpuinfo(ids)}
		for row := range ids {
			info.rows = append(info.rows, row)
		}
		if !decided {
			var why string
			if useCpuinfo, why = h.preferCpuinfo(policies, info); why != "" {
				l.lacks = map[string]string{"scaling_cur_freq": why}
			}
			decided, seldom = true, len(info.text) > cpuinfoEachTick
		}
		if useCpuinfo {
			info.slow = seldom
			l.cells = append(l.cells, info)
		} else {
			l.cells = append(l.cells, policies...)
		}
	}
}

// preferCpuinfo reports whether frequencies are to be read from /proc/cpuinfo, and why. It
// leaves its text in info.
func (h *host) preferCpuinfo(policies []*cell, info *cell) (prefer bool, why string) {
	info.open(h, nil)
	has := info.err == nil && bytes.Contains(info.text, []byte("\ncpu MHz"))
	info.close() // nothing was written
	cpufreq := filepath.Join(h.sys, "devices/system/cpu/cpu*/cpufreq/scaling_cur_freq")
	found, slow := false, len(policies) > 0
	for i, c := range policies {
		if i == 3 {
			break
		}
		probe := cell{path: c.path}
		began := h.now()
		probe.open(h, nil)
		slow = slow && h.now().Sub(began) >= slowFrequency
		found = found || probe.err == nil
		probe.close() // nothing was written
	}
	switch {
	case !found && has:
		return true, cpufreq + " does not exist: cur_hz is cpu MHz of " + info.path
	case !found:
		return false, cpufreq + " does not exist, nor cpu MHz in " + info.path
	case slow && has:
		return true, "this kernel takes " + slowFrequency.String() + " and more for each CPU's scaling_cur_freq: cur_hz is cpu MHz of " + info.path
	}
	return false, ""
}

// cpuList returns the CPUs of a list like "0-3,8" (Documentation/admin-guide/cputopology.rst).
func cpuList(text []byte) (ids []int, f fault) {
	for s := range bytes.SplitSeq(text, []byte(",")) {
		if len(s) == 0 {
			continue
		}
		from, to, isRange := bytes.Cut(s, []byte("-"))
		lo, f := natural(from)
		hi := lo
		if f.why == "" && isRange {
			hi, f = natural(to)
		}
		const most = 1 << 16
		if f.why == "" && (hi < lo || hi > most || len(ids) > 0 && int(lo) <= ids[len(ids)-1]) {
			f = fault{s, outOfRange}
		}
		if f.why != "" {
			return nil, f
		}
		for id := lo; id <= hi; id++ {
			ids = append(ids, int(id))
		}
	}
	return ids, fault{}
}

// fillTimeInState fills stat_cycles and stat_ticks from a policy's time_in_state
// (Documentation/cpu-freq/cpufreq-stats.rst): a line for each frequency, in kHz, and the
// time at it in ticks of 10 ms.
func fillTimeInState(c *cell, b *schemas.Block) fault {
	cycles, ticks, f := timeInState(c.text)
	if f.why != "" {
		return f
	}
	for _, row := range c.rows {
		set(b, row, statCycles, cycles)
		set(b, row, statTicks, ticks)
	}
	return fault{}
}

// timeInState returns the sum of kHz times ticks, and that of the ticks.
func timeInState(text []byte) (kHzTicks, ticks uint64, f fault) {
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		khz, s, f := number(line)
		var n uint64
		if f.why == "" {
			n, s, f = number(s)
		}
		if f.why == "" && len(bytes.Trim(s, " \t")) > 0 {
			f = fault{line, notNumber}
		}
		hi, lo := bits.Mul64(khz, n)
		sum, carry := bits.Add64(kHzTicks, lo, 0)
		all, more := bits.Add64(ticks, n, 0)
		if f.why == "" && (hi|carry|more != 0 || sum > math.MaxUint64/10) {
			f = fault{line, outOfRange}
		}
		if f.why != "" {
			return 0, 0, f
		}
		kHzTicks, ticks = sum, all
	}
	switch {
	case len(l.text) > 0:
		return 0, 0, fault{l.text, "cut off"}
	case l.n == 0:
		return 0, 0, fault{text, "no whole line"}
	}
	return kHzTicks, ticks, fault{}
}

// fillCpuinfo fills cur_hz from the lines "processor" and "cpu MHz" of /proc/cpuinfo; ids
// are the CPUs of the rows, in ascending order.
func fillCpuinfo(ids []int) filler {
	return func(c *cell, b *schemas.Block) fault {
		row, known := 0, false
		l := lines{text: c.text}
		for line, ok := l.next(); ok; line, ok = l.next() {
			name, value, _ := bytes.Cut(line, []byte(":"))
			switch string(bytes.TrimRight(name, " \t")) {
			case "processor":
				id, f := natural(bytes.TrimSpace(value))
				if f.why != "" {
					return f
				}
				row, known = slices.BinarySearch(ids, int(min(id, math.MaxInt32)))
			case "cpu MHz":
				khz, f := thousandths(bytes.TrimSpace(value))
				if f.why != "" {
					return f
				}
				if known && !set(b, row, curHz, khz) {
					return fault{value, outOfRange}
				}
			}
		}
		return fault{}
	}
}

// thousandths returns the number of thousandths in a field with three decimals: "2793.438"
// is 2793438.
func thousandths(field []byte) (uint64, fault) {
	whole, part, _ := bytes.Cut(field, []byte("."))
	v, f := natural(whole)
	if d, g := natural(part); len(part) == 3 && part[0] != ' ' && f.why == "" && g.why == "" {
		if v < math.MaxUint64/1000 {
			return v*1000 + d, fault{}
		}
		return 0, fault{field, outOfRange}
	}
	return 0, fault{field, "not a number with three decimals"}
}
