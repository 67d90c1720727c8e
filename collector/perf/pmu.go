package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attr is what is counted, in the kernel's terms (perf_event_attr in
// perf_event_open(2)).
type attr struct {
	typ     uint32
	config  [3]uint64 // config, config1, config2
	exclude uint64
}

// target is an event and the CPUs that it is counted on.
type target struct {
	attr
	// cpus are those of the PMU; nil: all that are online.
	cpus []int
	// fixed says that the PMU counts for several CPUs at once (a socket's memory
	// controllers): the kernel moves its events when their CPU goes away.
	fixed bool
}

// pmu is a device below /sys/bus/event_source/devices
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-*).
type pmu struct {
	name string
	dir  string
	typ  uint32
	cpus []int // that it counts on; nil: on any
	core bool  // it is a CPU's own
	once bool  // one CPU stands for several
}

// pmu reads a device of that name; fs.ErrNotExist if there is none.
func (h *host) pmu(name string) (p pmu, err error) {
	p.name, p.dir = name, filepath.Join(h.devices(), name)
	text, err := readWord(filepath.Join(p.dir, "type"))
	if err != nil {
		return p, err
	}
	typ, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return p, fmt.Errorf("%s/type: %q is no number", p.dir, text)
	}
	p.typ, p.core = uint32(typ), name == "cpu"
	for _, file := range []string{"cpus", "cpumask"} {
		text, err := readWord(filepath.Join(p.dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, err
		}
		if p.cpus, err = parseCPUs(text); err != nil {
			return p, fmt.Errorf("%s/%s: %w", p.dir, file, err)
		}
		p.core = p.core || file == "cpus"
		p.once = file == "cpumask"
		break
	}
	return p, nil
}

func (h *host) devices() string { return filepath.Join(h.sys, "bus/event_source/devices") }

// corePMUs returns the PMUs of the CPUs themselves: several where the cores are of several
// kinds, none where there are no hardware counters.
func (h *host) corePMUs() (out []pmu) {
	entries, err := os.ReadDir(h.devices())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if p, err := h.pmu(e.Name()); err == nil && p.core {
			out = append(out, p)
		}
	}
	return out
}

// resolve finds out what an event is on this host. An error says why it has none of it.
func (h *host) resolve(e *spec) ([]target, error) {
	one := attr{typ: e.typ, config: [3]uint64{e.config}, exclude: e.exclude}
	switch e.typ {
	case unix.PERF_TYPE_RAW:
		// The numbers are those of the CPU's PMU, which has its own type where there are
		// several.
		cores := h.corePMUs()
		if len(cores) < 2 {
			break
		}
		var out []target
		for _, p := range cores {
			one.typ = p.typ
			out = append(out, target{attr: one, cpus: p.cpus})
		}
		return out, nil
	case unix.PERF_TYPE_TRACEPOINT:
		id, err := h.tracepoint(e.system, e.tracepoint)
		if err != nil {
			return nil, err
		}
		one.config[0] = id
	case typePMU:
		return h.ofPMU(e)
	}
	return []target{{attr: one}}, nil
}

// tracepoint returns a tracepoint's number.
func (h *host) tracepoint(system, name string) (uint64, error) {
	for _, dir := range []string{"kernel/tracing", "kernel/debug/tracing"} {
		events := filepath.Join(h.sys, dir, "events")
		if _, err := os.Stat(events); errors.Is(err, fs.ErrPermission) {
			return 0, fmt.Errorf("%w: run as root", err)
		} else if err != nil {
			continue
		}
		text, err := readWord(filepath.Join(events, system, name, "id"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("the kernel has no such tracepoint: see %s", events)
		case errors.Is(err, fs.ErrPermission):
			return 0, fmt.Errorf("%w: run as root", err)
		case err != nil:
			return 0, err
		}
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("its id %q is no number", text)
		}
		return id, nil
	}
	return 0, errors.New("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing")
}

// ofPMU resolves pmu/terms/. Where there is no PMU of the name, all are meant whose name
// goes on with a number, as in uncore_imc_0: one each for a memory controller.
func (h *host) ofPMU(e *spec) ([]target, error) {
	names := []string{e.pmu}
	if _, err := os.Stat(filepath.Join(h.devices(), e.pmu)); errors.Is(err, fs.ErrNotExist) {
		names = nil
		entries, _ := os.ReadDir(h.devices()) // none, then
		for _, x := range entries {
			if digits, ok := strings.CutPrefix(x.Name(), e.pmu+"_"); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
				names = append(names, x.Name())
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the host has no PMU %s: see %s", e.pmu, h.devices())
	}
	var out []target
	for _, name := range names {
		p, err := h.pmu(name)
		if err != nil {
			return nil, err
		}
		a, err := p.attr(e.terms)
		if err != nil {
			return nil, err
		}
		a.exclude = e.exclude
		out = append(out, target{attr: a, cpus: p.cpus, fixed: p.once})
	}
	return out, nil
}

// attr brings terms into the PMU's fields: those of an event that it knows by name first,
// so that others can change them.
func (p *pmu) attr(terms []term) (attr, error) {
	a := attr{typ: p.typ}
	var open []string // fields that the event leaves to the user
	for pass := range 2 {
		for _, t := range terms {
			text, err := readWord(filepath.Join(p.dir, "events", t.name))
			isEvent := t.plain && err == nil
			switch known, ok := named[t.name]; {
			case isEvent != (pass == 0):
			case isEvent:
				event, missing, err := parseAlias(text)
				if err != nil {
					return a, fmt.Errorf("%s/events/%s: %w", p.dir, t.name, err)
				}
				open = append(open, missing...)
				for _, x := range event {
					if err := p.set(&a, x); err != nil {
						return a, err
					}
				}
			case t.plain && ok && p.core && known.typ != unix.PERF_TYPE_SOFTWARE:
				// The kernel's own name: the PMU of the CPU that it is opened on takes it.
				if len(terms) > 1 {
					return a, fmt.Errorf("%s stands alone: its number on the PMU is the kernel's", t.name)
				}
				a.typ, a.config[0] = known.typ, known.config
			default:
				if err := p.set(&a, t); err != nil {
					return a, err
				}
				open = slices.DeleteFunc(open, func(name string) bool { return name == t.name })
			}
		}
	}
	if len(open) > 0 {
		return a, fmt.Errorf("the event needs %s: add %s=NUMBER", strings.Join(open, ", "), open[0])
	}
	return a, nil
}

// set sets a field of the PMU, or one of the numbers that the fields are parts of.
func (p *pmu) set(a *attr, t term) error {
	if i := slices.Index([]string{"config", "config1", "config2"}, t.name); i >= 0 && !t.plain {
		a.config[i] = t.value
		return nil
	}
	text, err := readWord(filepath.Join(p.dir, "format", t.name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("PMU %s has no event or field %s: see %s/events and format", p.name, t.name, p.dir)
	}
	if err != nil {
		return err
	}
	f, err := parseFormat(text)
	if err != nil {
		return fmt.Errorf("%s/format/%s: %w", p.dir, t.name, err)
	}
	if err := f.put(&a.config, t.value); err != nil {
		return fmt.Errorf("%s=%#x: %w", t.name, t.value, err)
	}
	return nil
}

// parseAlias returns the terms of a file in events, "event=0x3c,umask=0x00", and those
// that it leaves open, as in "domain=?".
func parseAlias(text string) (terms []term, open []string, err error) {
	var set []string
	for _, x := range strings.Split(text, ",") {
		if name, ok := strings.CutSuffix(x, "=?"); ok {
			open = append(open, name)
		} else {
			set = append(set, x)
		}
	}
	if set != nil {
		terms, err = parseTerms(strings.Join(set, ","))
	}
	return terms, open, err
}

// format says which bits of which number a PMU's field is: "config:0-7,32-35".
type format struct {
	word int
	bits []int // from the field's lowest
}

func parseFormat(text string) (f format, err error) {
	word, list, ok := strings.Cut(text, ":")
	f.word = slices.Index([]string{"config", "config1", "config2"}, word)
	if !ok || f.word < 0 {
		return f, fmt.Errorf("format %q: want config:, config1: or config2: and bits", text)
	}
	err = ranges(list, func(first, last int) error {
		if last > 63 {
			return fmt.Errorf("there is no bit %d", last)
		}
		for b := first; b <= last; b++ {
			if slices.Contains(f.bits, b) {
				return fmt.Errorf("bit %d twice", b)
			}
			f.bits = append(f.bits, b)
		}
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("format %q: %w", text, err)
	}
	return f, nil
}

// put sets the field's bits, and leaves all others.
func (f *format) put(config *[3]uint64, v uint64) error {
	if n := len(f.bits); n < 64 && v>>n != 0 {
		return fmt.Errorf("the field has %d bits", n)
	}
	for i, b := range f.bits {
		config[f.word] = config[f.word]&^(1<<b) | v>>i&1<<b
	}
	return nil
}

// parseCPUs returns the numbers of a list of CPUs (cpuset(7)), "0-3,8", ascending. It may
// be empty.
func parseCPUs(text string) ([]int, error) {
	cpus := []int{}
	if text == "" {
		return cpus, nil
	}
	const most = 1 << 16 // the kernel's own limit is 8192
	err := ranges(text, func(first, last int) error {
		if last >= most || len(cpus) > 0 && first <= cpus[len(cpus)-1] {
			return fmt.Errorf("CPU %d", last)
		}
		for n := first; n <= last; n++ {
			cpus = append(cpus, n)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%q is no list of CPUs: %w", text, err)
	}
	return cpus, nil
}

// ranges calls yield for each range of "0-7,18".
func ranges(list string, yield func(first, last int) error) error {
	for _, x := range strings.Split(list, ",") {
		a, b, ok := strings.Cut(x, "-")
		if !ok {
			b = a
		}
		first, err1 := strconv.ParseUint(a, 10, 31)
		last, err2 := strconv.ParseUint(b, 10, 31)
		if err1 != nil || err2 != nil || last < first {
			return fmt.Errorf("%q is no range", x)
		}
		if err := yield(int(first), int(last)); err != nil {
			return err
		}
	}
	return nil
}

func readWord(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
