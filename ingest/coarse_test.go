package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// An interface whose driver counts every second tick: its rates are formed over the
// step, nothing is lost, and it is said once. Traffic that is merely rare, or comes in
// bursts of uneven distance, stays as it is.
func TestInterfaceThatCountsEverySecondTick(t *testing.T) {
	r := newRig(t)
	m := host("sut")
	r.begin(m, 1)
	const n = 80
	slow, rare, bursts, quick := int64(0), int64(0), int64(0), int64(0)
	for s := range int64(n) {
		if s%2 == 1 {
			slow += 4000
		}
		if s%2 == 1 {
			rare += 3
		}
		if s%7 == 1 || s%7 == 2 || s%13 == 5 {
			bursts += 9000
		}
		quick += 5000 + s
		net := func(name string, packets int64) row {
			return row{name, map[string]int64{"rx_packets": packets, "rx_bytes": 1000 * packets, "tx_packets": packets, "tx_bytes": 70 * packets}}
		}
		r.tick(m.producer(1), tick(s+1, block(&schemas.Net, m.at(s*second), net("slow", slow), net("rare", rare), net("bursts", bursts), net("quick", quick))))
	}
	r.end(m, 1, n)
	f := r.finish()
	same(t, "notes", slices.DeleteFunc(f.notes(), func(s string) bool { return !slices.Contains([]string{"coarse"}, fields(s)[3]) }),
		[]string{"1 net  slow coarse - -"})
	var sum, intervals int64
	x := f.frame(&schemas.Net)
	for i := range x.Rows() {
		device, rx, interval := x.Column("device").Texts[i], x.Column("rx_packets"), x.Column("interval_ns")
		if device != "slow" {
			if rx.Null(i) != (x.Column("elapsed_ns").Ints[i] == 0) {
				t.Errorf("%s at %d: null", device, x.Column("elapsed_ns").Ints[i])
			}
			continue
		}
		if rx.Null(i) != interval.Null(i) {
			t.Errorf("slow at %d: an increment without its interval, or an interval without", x.Column("elapsed_ns").Ints[i])
		}
		if !rx.Null(i) {
			sum, intervals = sum+rx.Ints[i], intervals+interval.Ints[i]
			if rate := float64(rx.Ints[i]) / (float64(interval.Ints[i]) / 1e9); rate != 2000 && intervals > second {
				t.Errorf("slow at %d: %v packets a second, want 2000", x.Column("elapsed_ns").Ints[i], rate)
			}
		}
	}
	if sum != slow || intervals != (n-1)*second {
		t.Errorf("%d packets in %d ns, want %d in %d", sum, intervals, slow, (n-1)*second)
	}
}

func fields(s string) (out []string) {
	var seq, table, column, part, reason string
	// An empty column leaves two blanks.
	if n, _ := fmt.Sscanf(s, "%s %s %s %s", &seq, &table, &part, &reason); n == 4 {
		return []string{seq, table, part, reason, column}
	}
	return []string{s, "", "", ""}
}
