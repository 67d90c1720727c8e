package loaders

import (
	"bytes"
	"fmt"
	"math"

	"github.com/steadybench/steady/schemas"
)

// sarMemory finds out what a file means by used memory. sysstat has counted it in three
// ways (CHANGES of 11.4.10, 11.6.4, 11.7.4 and 12.7.8), by the version that prints, not
// the one that recorded, and prints neither the version nor the total.
type sarMemory struct {
	rows []sarMemoryRow
	// told is the meaning by the version that printed, -1: not told.
	told      int
	unwritten bool // kbavail 0 was noted
}

// sarMemoryRow is one sample: the total by each meaning in kB, -1 where it can't be
// formed, and whether the percentage agrees.
type sarMemoryRow struct {
	sample *sarSample
	block  *sarBlock
	total  [3]int64
	agrees [3]bool
	// left is what a total of the second meaning has for slab, where that isn't printed.
	left                float64
	available, sameFree bool
}

// meaningsOfUsed are the three, oldest first.
var meaningsOfUsed = [3]string{"total-free", "total-free-buffers-cached-slab", "total-available"}

// meaningOfUsed returns the one of a version of sysstat.
func meaningOfUsed(major, minor, patch int) int {
	at := func(a, b, c int) bool {
		return major > a || major == a && (minor > b || minor == b && patch >= c)
	}
	switch {
	case at(12, 7, 8):
		return 2
	case at(11, 7, 4), at(11, 6, 4) && minor == 6, at(11, 4, 10) && minor == 4:
		return 1
	}
	return 0
}

// take remembers a row of A_MEMORY.
func (m *sarMemory) take(x *sarSample, a *sarActivity, r *sarRow, b *sarBlock) {
	get := func(column string) (int64, bool) {
		raw := r.raw[a.bySar[column]]
		v, err := sarNumber(raw)
		return int64(v), raw != nil && err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<52
	}
	free, ok1 := get("kbmemfree")
	used, ok2 := get("kbmemused")
	share := r.raw[a.bySar["%memused"]]
	percent, err := sarNumber(share)
	if !ok1 || !ok2 || share == nil || err != nil {
		return
	}
	buffers, ok1 := get("kbbuffers")
	cached, ok2 := get("kbcached")
	slab, ok3 := get("kbslab")
	available, hasAvailable := get("kbavail")
	if hasAvailable && available == 0 {
		hasAvailable = false
		if !m.unwritten {
			m.unwritten = true
			x.note("absent", "memory", "available_bytes", "", []byte("0"), "kbavail 0 is: not recorded")
		}
	}
	row := sarMemoryRow{sample: x, block: b, total: [3]int64{used + free, -1, -1}, left: -1, available: hasAvailable, sameFree: hasAvailable && available == free}
	if ok1 && ok2 && ok3 {
		row.total[1] = used + free + buffers + cached + slab
	} else if percent > 0 {
		row.left = float64(used)/percent*100 - float64(used+free+buffers+cached)
	}
	if hasAvailable {
		row.total[2] = used + available
	}
	half := 0.5
	if point := bytes.IndexByte(share, '.'); point >= 0 {
		half *= math.Pow(10, -float64(len(share)-point-1))
	}
	for k, total := range row.total {
		row.agrees[k] = total > 0 && math.Abs(100*float64(used)/float64(total)-percent) <= half+1e-9
	}
	m.rows = append(m.rows, row)
}

// finish says which meaning it is and sets what follows from it.
func (m *sarMemory) finish(s *sysstat) {
	if len(m.rows) == 0 {
		return
	}
	agrees, formed, left, converted := [3]bool{true, true, true}, [3]bool{true, true, true}, true, true
	for i := range m.rows {
		r := &m.rows[i]
		for k := range r.agrees {
			formed[k] = formed[k] && r.total[k] >= 0
			agrees[k] = agrees[k] && r.agrees[k]
		}
		left, converted = left && r.left > 0, converted && r.sameFree
	}
	// Since 12.7.8 sadf -c writes the free memory where the old record had none.
	if converted {
		s.withdrawAvailable(m.rows, "kbavail is kbmemfree in every sample: an old file, converted")
		agrees[2] = false
	}
	meaning := -1
	switch {
	case s.human: // a total of rounded parts would be none
	case m.told >= 0:
		meaning = m.told
		if converted && meaning == 2 {
			meaning = 0 // of the converted file they are the same
		}
		if formed[meaning] && !agrees[meaning] {
			s.warn("memory: kbmemused and %%memused don't agree by the meaning of the sysstat that printed them (%s)", meaningsOfUsed[meaning])
			return
		}
	default:
		for k := range agrees {
			if agrees[k] && meaning >= 0 {
				s.warn("memory: which of sysstat's meanings of used memory the file has can't be told: its parts are kept, the total is unknown")
				return
			} else if agrees[k] {
				meaning = k
			}
		}
		if meaning < 0 && !formed[1] && left {
			meaning = 1 // the others are out
		}
	}
	if meaning < 0 {
		s.warn("memory: which of sysstat's meanings of used memory the file has can't be told: its parts are kept, the total is unknown")
		return
	}
	s.f.Facts["sysstat.used_memory"] = meaningsOfUsed[meaning]
	if !formed[meaning] {
		s.warn("memory: the total is unknown: it would take kbslab, which sar prints with -r ALL")
		return
	}
	total := schemas.Memory.Column("total_bytes")
	for i := range m.rows {
		m.rows[i].block.level(0, total, m.rows[i].total[meaning]*sarKiB)
	}
}

// withdrawAvailable makes available memory null.
func (s *sysstat) withdrawAvailable(rows []sarMemoryRow, why string) {
	column := schemas.Memory.Column("available_bytes")
	for i := range rows {
		rows[i].block.known[column] = false
	}
	rows[0].sample.note("absent", "memory", "available_bytes", "", nil, why)
	s.warn("memory: available_bytes is unknown: %s", why)
}

// versionOfSysstat reads "12.6.1" out of a tool's words.
func versionOfSysstat(text []byte) (version string, meaning int, ok bool) {
	_, text, ok = bytes.Cut(text, []byte("sysstat version "))
	if !ok {
		return "", 0, false
	}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(string(text), "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return "", 0, false
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch), meaningOfUsed(major, minor, patch), true
}
