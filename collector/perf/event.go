package perf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// spec is an event as a user wrote it: what it means on this host is still to be found
// out.
type spec struct {
	name string // as written
	// typ and config are those of perf_event_attr(2), for a tracepoint or an event of a
	// named PMU without the config.
	typ     uint32
	config  uint64
	exclude uint64 // bits of perf_event_attr

	pmu   string // of pmu/terms/
	terms []term

	system, tracepoint string // of system:tracepoint
}

// typePMU is the type of events whose PMU is named: the host says which that is.
const typePMU = unix.PERF_TYPE_MAX

// term is what stands between the slashes of pmu/terms/: a field and its value, or the
// name of an event of the PMU.
type term struct {
	name  string
	value uint64
	plain bool // there is no value
}

// named are the events of the kernel's own types (perf_event_open(2)), by perf's names.
var named = namedEvents()

type kernelEvent struct {
	typ    uint32
	config uint64
}

func namedEvents() map[string]kernelEvent {
	out := map[string]kernelEvent{
		"cpu-clock":        {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK},
		"task-clock":       {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
		"page-faults":      {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
		"context-switches": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
		"cpu-migrations":   {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS},
		"minor-faults":     {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS_MIN},
		"major-faults":     {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		"alignment-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_ALIGNMENT_FAULTS},
		"emulation-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_EMULATION_FAULTS},
		"cgroup-switches":  {unix.PERF_TYPE_SOFTWARE, 11}, // PERF_COUNT_SW_CGROUP_SWITCHES

		"cycles":                  {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
		"instructions":            {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
		"cache-references":        {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES},
		"cache-misses":            {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
		"branches":                {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		"branch-misses":           {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
		"bus-cycles":              {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BUS_CYCLES},
		"stalled-cycles-frontend": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
		"stalled-cycles-backend":  {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		"ref-cycles":              {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_REF_CPU_CYCLES},
	}
	// A cache event is cache | operation << 8 | result << 16.
	for cache, name := range []string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"} {
		for op, names := range [][2]string{{"loads", "load"}, {"stores", "store"}, {"prefetches", "prefetch"}} {
			config := uint64(cache | op<<8)
			out[name+"-"+names[0]] = kernelEvent{unix.PERF_TYPE_HW_CACHE, config | unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS<<16}
			out[name+"-"+names[1]+"-misses"] = kernelEvent{unix.PERF_TYPE_HW_CACHE, config | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16}
		}
	}
	return out
}

// parseEvents returns the events of lists as perf stat -e takes them: separated by
// commas, those between slashes belong to their event. An error says what is no event.
func parseEvents(lists []string) (out []spec, err error) {
	for _, list := range lists {
		for list != "" {
			end, slashes := 0, 0
			for end < len(list) && (list[end] != ',' || slashes == 1) {
				if list[end] == '/' {
					slashes++
				}
				end++
			}
			s, err := parseEvent(strings.TrimSpace(list[:end]))
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(out, func(x spec) bool { return x.name == s.name }) {
				return nil, fmt.Errorf("perf: event %q: given twice", s.name)
			}
			out = append(out, s)
			list = strings.TrimPrefix(list[end:], ",")
		}
	}
	return out, nil
}

// parseEvent returns an event by perf's syntax (perf-list(1)): a name ("cycles",
// "L1-dcache-load-misses"), a raw event of the CPU ("r1a8"), a tracepoint
// ("sched:sched_switch") or an event of a PMU ("cpu/event=0x3c,umask=1/"), and what of
// the time it counts (":u", ":k").
func parseEvent(s string) (e spec, err error) {
	e.name = s
	fail := func(format string, a ...any) (spec, error) {
		return spec{}, fmt.Errorf("perf: event %q: "+format, append([]any{s}, a...)...)
	}
	if strings.ContainsAny(s, "{}") {
		return fail("braces: events that are counted together can't be chosen, list them one by one")
	}
	var modifiers string
	if pmu, rest, ok := strings.Cut(s, "/"); ok {
		terms, after, ok := strings.Cut(rest, "/")
		switch {
		case !ok:
			return fail("the second slash is missing: want pmu/event/")
		case !fileName(pmu):
			return fail("%q is no name of a PMU", pmu)
		}
		e.typ, e.pmu, modifiers = typePMU, pmu, strings.TrimPrefix(after, ":")
		if e.terms, err = parseTerms(terms); err != nil {
			return fail("%w", err)
		}
	} else {
		name, rest, colon := strings.Cut(s, ":")
		raw, isRaw := rawConfig(name)
		known, isNamed := named[schemas.PerfEventName(name)]
		switch {
		case isNamed:
			e.typ, e.config, modifiers = known.typ, known.config, rest
		case isRaw:
			e.typ, e.config, modifiers = unix.PERF_TYPE_RAW, raw, rest
		case colon:
			e.typ, e.system = unix.PERF_TYPE_TRACEPOINT, name
			e.tracepoint, modifiers, _ = strings.Cut(rest, ":")
			if !fileName(e.system) || !fileName(e.tracepoint) {
				return fail("no name of a tracepoint: want system:name, as in sched:sched_switch")
			}
		default:
			return fail("unknown: perf list shows what there is; write what only perf knows by name as pmu/event=NUMBER,umask=NUMBER/ (perf stat -vv shows them)")
		}
	}
	if e.exclude, err = excluded(modifiers); err != nil {
		return fail("%w", err)
	}
	return e, nil
}

// rawConfig returns the number of an event written "rNNN", in hexadecimal.
func rawConfig(s string) (config uint64, ok bool) {
	digits, ok := strings.CutPrefix(s, "r")
	if !ok || digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	config, err := strconv.ParseUint(digits, 16, 64)
	return config, err == nil
}

// fileName reports whether a name may be looked up as a file: it leads nowhere else.
func fileName(s string) bool {
	return s != "" && s[0] != '.' && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
	}) < 0
}

// parseTerms returns the terms between the slashes, and of a file that describes an
// event in /sys.
func parseTerms(s string) (out []term, err error) {
	for _, x := range strings.Split(strings.TrimSpace(s), ",") {
		name, value, ok := strings.Cut(x, "=")
		t := term{name: name, plain: !ok, value: 1}
		if !fileName(name) {
			return nil, fmt.Errorf("term %q: want NAME or NAME=NUMBER", x)
		}
		if ok {
			if t.value, err = strconv.ParseUint(value, 0, 64); err != nil || strings.Contains(value, "_") {
				return nil, fmt.Errorf("term %q: %q is no number, decimal or 0x and hexadecimal", x, value)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// excluded returns the bits of perf_event_attr for modifiers: of u, k and h (user,
// kernel, hypervisor) those that are not named are left out, of G and H (guest, host)
// too.
func excluded(modifiers string) (bits uint64, err error) {
	for _, set := range [][]struct {
		modifier string
		bit      uint64
	}{
		{{"u", unix.PerfBitExcludeUser}, {"k", unix.PerfBitExcludeKernel}, {"h", unix.PerfBitExcludeHv}},
		{{"G", unix.PerfBitExcludeGuest}, {"H", unix.PerfBitExcludeHost}},
	} {
		var left uint64
		some := false
		for _, x := range set {
			if strings.Contains(modifiers, x.modifier) {
				some = true
			} else {
				left |= x.bit
			}
		}
		if some {
			bits |= left
		}
	}
	if other := strings.Trim(modifiers, "ukhGH"); other != "" {
		return 0, fmt.Errorf("modifier %q: there are u, k, h, G and H", other)
	}
	return bits, nil
}
