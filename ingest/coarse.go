package ingest

import (
	"fmt"
	"slices"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// A driver may bring an interface's counters up to date only every few seconds: ticks
// without any change between ticks with all of it. Traffic that really comes in bursts
// looks alike, so a device is called coarse only where the pattern leaves little doubt:
// many steps, each of much, a fixed number of ticks apart.
const (
	coarseSteps   = 30   // steps seen
	coarseAmount  = 1000 // median growth of a step over all counts but those in bytes
	coarseRegular = 0.9  // share of gaps within one tick of their median
)

// findCoarse marks the devices of raw, sorted by order, that are coarse, and notes it
// once for each.
func (c *conversion) findCoarse(t *schemas.Table, raw columns.Frame, order []int, state map[seriesKey]*series) {
	for len(order) > 0 {
		k := keyOf(t, raw, order[0])
		n := slices.IndexFunc(order, func(i int) bool { return keyOf(t, raw, i) != k })
		if n < 0 {
			n = len(order)
		}
		if state[k] == nil {
			state[k] = newSeries(t)
		}
		if s := state[k]; !s.coarse {
			if every, ok := stepsEvery(t, raw, order[:n]); ok {
				s.coarse = true
				i := order[0]
				tk := tickKey{raw[rawHost].Texts[i], raw[rawEpoch].Ints[i], raw[rawSeq].Ints[i]}
				c.note(c.at(raw[rawWall].Ints[i], raw[rawBoot].Ints[i], k.host, k.bootID, tk), t.Name, "", k.device, "coarse", nil, nil,
					fmt.Sprintf("its counters step every %d ticks: rates are formed over the step", every))
			}
		}
		order = order[n:]
	}
}

func keyOf(t *schemas.Table, raw columns.Frame, i int) seriesKey {
	k := seriesKey{host: raw[rawHost].Texts[i], bootID: raw[rawBootID].Texts[i], device: raw[rawDevice].Texts[i]}
	if t.PerEpoch {
		k.epoch = raw[rawEpoch].Ints[i]
	}
	return k
}

// stepsEvery returns how many ticks apart a device's counters change, if that is more
// than one and as regular as only a driver's clock makes it.
func stepsEvery(t *schemas.Table, raw columns.Frame, rows []int) (ticks int, ok bool) {
	var gaps []int
	var amounts []int64
	last := -1
	for k := 1; k < len(rows); k++ {
		var amount int64
		changed := false
		for j := range t.Columns {
			col := raw[rawValues+j]
			if !t.Columns[j].Kind.Cumulative() || col.Null(rows[k]) || col.Null(rows[k-1]) {
				continue
			}
			d := col.Ints[rows[k]] - col.Ints[rows[k-1]]
			if d < 0 {
				return 0, false
			}
			changed = changed || d != 0
			if t.Columns[j].Unit != "B" {
				amount += d
			}
		}
		if !changed {
			continue
		}
		if last >= 0 {
			gaps, amounts = append(gaps, k-last), append(amounts, amount)
		}
		last = k
	}
	if len(gaps) < coarseSteps {
		return 0, false
	}
	slices.Sort(amounts)
	slices.Sort(gaps)
	median := gaps[len(gaps)/2]
	regular := 0
	for _, g := range gaps {
		if g >= median-1 && g <= median+1 && g > 1 {
			regular++
		}
	}
	return median, median > 1 && amounts[len(amounts)/2] >= coarseAmount && float64(regular) >= coarseRegular*float64(len(gaps))
}

// moved reports whether any counter of row i differs from the last reading.
func moved(t *schemas.Table, raw columns.Frame, i int, prev *series) bool {
	for j := range t.Columns {
		if col := raw[rawValues+j]; t.Columns[j].Kind.Cumulative() && !col.Null(i) && (!prev.known[j] || col.Ints[i] != prev.last[j]) {
			return true
		}
	}
	return false
}
