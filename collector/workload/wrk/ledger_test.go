package wrk

import (
	"reflect"
	"testing"
)

func TestLedger(t *testing.T) {
	a, b := [2]int{0, 1}, [2]int{1, 1}
	type report struct {
		thread [2]int
		slot   int64
		counts
		next int64
	}
	for _, tt := range []struct {
		name    string
		begins  [2]int64
		reports []report
		end     int64
		want    []span
	}{
		{"whole intervals", [2]int64{1000, 1000}, []report{
			{a, 0, counts{5, 0}, 1}, {b, 0, counts{6, 1}, 1}, {a, 1, counts{7, 0}, 1}, {b, 1, counts{8, 0}, 1},
		}, 1200, []span{{1000, 1100, counts{11, 1}}, {1100, 1200, counts{15, 0}}}},
		{"a short first interval is joined to the next", [2]int64{1060, 1070}, []report{
			{a, 0, counts{1, 0}, 1}, {b, 0, counts{1, 0}, 1}, {a, 1, counts{7, 0}, 1},
		}, 1200, []span{{1070, 1200, counts{9, 0}}}},
		{"a short rest is joined to the last", [2]int64{1000, 1000}, []report{
			{a, 0, counts{1, 0}, 1}, {b, 0, counts{1, 0}, 2}, {a, 1, counts{7, 0}, 2}, {a, 2, counts{2, 0}, 2},
		}, 1240, []span{{1000, 1100, counts{2, 0}}, {1100, 1240, counts{9, 0}}}},
		{"a rest of half an interval is a row", [2]int64{1000, 1000}, nil, 1150, []span{{1000, 1100, counts{}}, {1100, 1150, counts{}}}},
		{"a stall is rows without answers", [2]int64{1000, 1000}, []report{
			{a, 0, counts{4, 0}, 3}, {b, 0, counts{4, 0}, 3}, {a, 3, counts{1, 0}, 3},
		}, 1400, []span{{1000, 1100, counts{8, 0}}, {1100, 1200, counts{}}, {1200, 1300, counts{}}, {1300, 1400, counts{1, 0}}}},
		{"a silent thread holds the rows back, not the end", [2]int64{1000, 1000}, []report{
			{a, 0, counts{4, 0}, 1}, {a, 1, counts{4, 0}, 2}, {a, 2, counts{3, 0}, 2},
		}, 1300, []span{{1000, 1100, counts{4, 0}}, {1100, 1200, counts{4, 0}}, {1200, 1300, counts{3, 0}}}},
		{"answers before the last thread began are in the first row", [2]int64{1010, 1130}, []report{
			{a, 0, counts{3, 0}, 1}, {a, 1, counts{3, 0}, 2}, {b, 1, counts{1, 0}, 2},
		}, 1200, []span{{1130, 1200, counts{7, 0}}}},
		{"shorter than half an interval", [2]int64{1010, 1010}, []report{{a, 0, counts{3, 0}, 0}}, 1020, []span{{1010, 1020, counts{3, 0}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []span
			l := &ledger{origin: 1000, step: 100, emit: func(s span) { got = append(got, s) }}
			l.join(a, tt.begins[0])
			l.join(b, tt.begins[1])
			l.start(max(tt.begins[0], tt.begins[1]))
			for _, r := range tt.reports {
				l.report(r.thread, r.slot, r.counts, r.next)
			}
			if last, ok := l.close(tt.end); ok {
				got = append(got, last)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Rows come while the load runs, one interval behind.
func TestLedgerIsLive(t *testing.T) {
	var got []span
	l := &ledger{origin: 0, step: 100, emit: func(s span) { got = append(got, s) }}
	one := [2]int{0, 1}
	l.join(one, 0)
	l.start(0)
	for k := range int64(5) {
		l.report(one, k, counts{k, 0}, k+1)
	}
	if len(got) != 4 || got[3] != (span{300, 400, counts{3, 0}}) {
		t.Errorf("got %v", got)
	}
}
