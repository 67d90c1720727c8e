package procfs

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// energyFinder finds the domains of /sys/class/powercap
// (Documentation/ABI/testing/sysfs-class-powercap) and hwmon's energy inputs.
//
// A domain is named by the names above it and its own, package-0/dram; those of another
// control type than intel-rapl, which shows the same domains again by other means
// (intel-rapl-mmio), have it before. Since Linux 5.10 the counters are for root only.
// Reading one interrupts a CPU of the package.
func energyFinder(h *host) finder {
	return func(l *layout) {
		const class = "class/powercap"
		for _, zone := range l.entries(h, class, "") {
			dir := filepath.Join(h.sys, class, zone)
			kind, ids, ok := strings.Cut(zone, ":")
			if !ok || !exists(filepath.Join(dir, "energy_uj")) {
				continue // a control type, or a domain that only limits
			}
			var path []string
			if kind != "intel-rapl" {
				path = []string{kind}
			}
			above := kind
			for id := range strings.SplitSeq(ids, ":") {
				above += ":" + id
				path = append(path, h.line(class, above, "name"))
			}
			c := l.cell(filepath.Join(dir, "energy_uj"), "energy_uj", fillEnergy, l.row(strings.Join(path, "/"), zone))
			c.limit, _ = strconv.ParseUint(h.line(class, zone, "max_energy_range_uj"), 10, 64)
		}
		cause := l.cause
		h.sensors(l, "energy")
		for _, c := range l.cells {
			if strings.HasSuffix(c.path, "_input") {
				c.fill = fillEnergy
			}
		}
		if cause != "" {
			l.cause = cause
		}
	}
}

// meter adds up an energy counter in microjoules that wraps.
type meter struct {
	limit   uint64 // the counter's largest value, 0: unknown
	started bool   // there is a total
	known   bool   // last is a reading of this counter
	last    uint64
	bootNS  int64 // of last
	total   uint64
}

// mostWatts is more than a domain draws, in the mean between two readings.
const mostWatts = 1000

// from goes on with the total of another meter of the same domain.
func (m *meter) from(old *meter) {
	limit := m.limit
	*m = *old
	m.limit = limit
}

// add takes a reading and returns the energy since the first one; ok is false if what was
// used since the last one can't be known.
//
// A counter that fell wrapped, once, if the energy that this gives is plausible: after a
// suspend it may also have begun anew. It takes the values 0 to limit, less than one unit
// of the hardware (61 uJ) short of the truth. Between readings so far apart that it could
// have gone all the way round, nothing is known.
func (m *meter) add(v uint64, bootNS int64) (total uint64, ok bool) {
	if !m.known {
		ok = !m.started
		m.started, m.known, m.last, m.bootNS = true, true, v, bootNS
		return m.total, ok
	}
	most := float64(bootNS-m.bootNS) * (mostWatts * 1e-3) // uJ
	used := v - m.last
	ok = m.limit == 0 || most < float64(m.limit)
	if v < m.last {
		used = m.limit - m.last + 1 + v
		ok = ok && m.limit >= m.last && float64(used) <= most
	}
	m.last, m.bootNS = v, bootNS
	if ok {
		m.total += used
	}
	return m.total, ok
}

func fillEnergy(c *cell, b *schemas.Block) fault {
	text := bytes.TrimSpace(c.text)
	v, f := natural(text)
	if f.why != "" {
		return f
	}
	total, ok := c.add(v, b.BootNS)
	if !ok {
		return fault{text, "the counter began anew, or may have wrapped more than once"}
	}
	set(b, c.rows[0], c.col, total)
	return fault{}
}
