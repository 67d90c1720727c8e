package ingest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// reading is one raw counter as it came.
type reading struct {
	bootNS int64
	key    string // host, epoch and seq of its tick
	v      int64
}

// world is made up hosts, and the readings of theirs that came.
type world struct {
	r    *rand.Rand
	msgs []message
	came map[string][]reading // by series and column
	rows map[string]int       // table's rows that came
}

// run makes one producer's ticks on a machine: counters of odd sizes that go on,
// begin anew, are unread for a while, on devices that come and go; ticks that are
// late, lost or come twice.
func (w *world) run(t testing.TB, m *machine, epoch int64, from int64, counters map[string]int64, ticks int) (until int64) {
	tables := []*schemas.Table{&schemas.CPU, &schemas.Net, &schemas.Paging, &schemas.Collector}
	devices := []string{"0", "1", "8", "eth0"}
	away := map[string]bool{}
	at := from
	var batch []*schemas.Tick
	send := func() {
		if len(batch) > 0 {
			x := encoded(t, m.producer(epoch), batch...)
			w.msgs = append(w.msgs, x)
			if w.r.IntN(9) == 0 {
				w.msgs = append(w.msgs, x)
			}
		}
		batch = nil
	}
	for seq := int64(1); seq <= int64(ticks); seq++ {
		at += second + w.r.Int64N(second/20)
		if w.r.IntN(15) == 0 {
			at += 2 * second // late
		}
		lost := w.r.IntN(12) == 0
		stamp := m.at(at)
		key := fmt.Sprint(m.host, epoch, seq)
		var blocks []schemas.Block
		type got struct {
			series string
			reading
		}
		var read []got
		count := map[string]int{}
		for _, table := range tables {
			names := []string{""}
			if table.Device != "" {
				names = devices
			}
			gap := w.r.IntN(14) == 0
			var rows []row
			for _, d := range names {
				id := table.Name + "/" + d
				switch x := w.r.IntN(40); {
				case x == 0 && d != "":
					away[id] = !away[id]
				case x == 1: // the device begins anew
					for i := range table.Columns {
						counters[id+"/"+table.Columns[i].Name] = w.r.Int64N(100)
					}
				}
				if away[id] {
					continue
				}
				values := map[string]int64{}
				for i := range table.Columns {
					c := &table.Columns[i]
					if !c.Kind.Cumulative() {
						continue
					}
					name := id + "/" + c.Name
					v, ok := counters[name]
					if !ok {
						v = []int64{0, 1000, 9007199254740993, math.MaxInt64 - 3, math.MinInt64, -4}[w.r.IntN(6)]
					}
					v += w.r.Int64N(1 << w.r.IntN(30))
					if c.Retreats != "" && w.r.IntN(10) == 0 {
						v -= 1 + w.r.Int64N(3)
					}
					counters[name] = v
					if w.r.IntN(20) == 0 {
						continue // not said
					}
					values[c.Name] = v
					series := fmt.Sprintf("%s/%s/%s/%s/%s", table.Name, m.host, m.bootID, d, c.Name)
					if table.PerEpoch {
						series += fmt.Sprint("/", epoch)
					}
					read = append(read, got{series, reading{stamp.BootNS, key, v}})
				}
				rows = append(rows, row{d, values})
			}
			b := block(table, stamp, rows...)
			if b.Gap = gap; gap {
				read = slices.DeleteFunc(read, func(g got) bool { return g.series[:len(table.Name)+1] == table.Name+"/" })
			} else {
				count[table.Name] = len(rows)
			}
			blocks = append(blocks, b)
		}
		next := tick(seq, blocks...)
		if lost {
			send()
			continue
		}
		for _, g := range read {
			w.came[g.series] = append(w.came[g.series], g.reading)
		}
		for name, n := range count {
			w.rows[name] += n
		}
		if len(batch) > 0 && (!schemas.SameLayout(batch[0], next) || w.r.IntN(4) == 0) {
			send()
		}
		batch = append(batch, next)
	}
	send()
	return at
}

// For every counter the increments, and what quality says of those that are null,
// make up the way from the first reading to the last: nothing is invented, nothing is
// lost, whatever came late, twice, not at all, or from a device that began anew.
func TestIncrementsAndQualityMakeUpTheWholeWay(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			w := &world{r: rand.New(rand.NewPCG(seed, 7)), came: map[string][]reading{}, rows: map[string]int{}}
			a, b := host("a"), host("b")
			b.boot = 3 * second
			rebooted := &machine{host: "a", bootID: "boot-z", wall: a.wall, boot: -590 * second}
			counters := map[string]int64{}
			until := w.run(t, a, 1, 0, counters, 60)
			until = w.run(t, a, 2, until+3*second, counters, 40) // a new process in the same boot
			w.run(t, rebooted, 3, until+60*second, map[string]int64{}, 40)
			w.run(t, b, 4, 0, map[string]int64{}, 60)
			// Messages come in any order; parts are made at any time.
			for i := range w.msgs {
				j := min(len(w.msgs)-1, i+w.r.IntN(6))
				w.msgs[i], w.msgs[j] = w.msgs[j], w.msgs[i]
			}
			r := newRig(t)
			r.begin(a, 1)
			for _, m := range w.msgs {
				r.send(m)
				switch w.r.IntN(20) {
				case 0:
					r.flush()
				case 1:
					r.reopen()
					r.read()
				}
			}
			f := r.finish()
			w.check(t, f)
		})
	}
}

func (w *world) check(t *testing.T, f folder) {
	// What quality says of the way, by cell.
	type cellKey struct{ table, tick, device, column string }
	jumped := map[cellKey]uint64{}
	explained := map[cellKey]string{}
	q := f.frame(&schemas.Quality)
	text := func(name string, i int) string { return q.Column(name).Texts[i] }
	for i := range q.Rows() {
		k := cellKey{text("table", i), fmt.Sprint(q[6].Texts[i], q[4].Ints[i], q[5].Ints[i]), text("part", i), text("column", i)}
		reason := text("reason", i)
		if reason == "large" || reason == "absent" {
			continue
		}
		explained[k] = reason
		if !q.Column("previous").Null(i) {
			previous, err1 := strconv.ParseUint(text("previous", i), 10, 64)
			current, err2 := strconv.ParseUint(text("current", i), 10, 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("quality row %d: %v %v", i, err1, err2)
			}
			jumped[k] = current - previous
		}
	}
	sums := map[string]uint64{}
	nulls := 0
	for _, table := range []*schemas.Table{&schemas.CPU, &schemas.Net, &schemas.Paging, &schemas.Collector} {
		x := f.frame(table)
		if x.Rows() != w.rows[table.Name] {
			t.Errorf("%s: %d rows, %d came", table.Name, x.Rows(), w.rows[table.Name])
		}
		boots := map[string]map[int64]string{"a": {0: "boot-a", 1: "boot-z"}, "b": {0: "boot-a"}}
		seen := map[string]bool{}
		for i := range x.Rows() {
			hostName, device := x[6].Texts[i], ""
			if table.Device != "" {
				device = x[7].Texts[i]
			}
			tick := fmt.Sprint(hostName, x[4].Ints[i], x[5].Ints[i])
			if seen[tick+device] {
				t.Errorf("%s: %s %s is there twice", table.Name, tick, device)
			}
			seen[tick+device] = true
			for j := range table.Columns {
				c := &table.Columns[j]
				if !c.Kind.Cumulative() {
					continue
				}
				series := fmt.Sprintf("%s/%s/%s/%s/%s", table.Name, hostName, boots[hostName][x[2].Ints[i]], device, c.Name)
				if table.PerEpoch {
					series += fmt.Sprint("/", x[4].Ints[i])
				}
				col := x.Column(c.Name)
				k := cellKey{table.Name, tick, device, c.Name}
				if !col.Null(i) {
					sums[series] += uint64(col.Ints[i])
					continue
				}
				nulls++
				came := slices.ContainsFunc(w.came[series], func(g reading) bool { return g.key == tick })
				all := k
				all.column = ""
				if came && explained[k] == "" && explained[all] == "" {
					t.Errorf("%s of %s: null without a reason at %s", c.Name, device, tick)
				}
				if came && c.Retreats == "signed" && explained[k] == "retreat" {
					t.Errorf("%s of %s: null, not negative, at %s", c.Name, device, tick)
				}
				sums[series] += jumped[k]
			}
		}
	}
	if nulls == 0 || len(sums) < 100 {
		t.Errorf("the test is empty: %d nulls in %d series", nulls, len(sums))
	}
	for series, came := range w.came {
		slices.SortFunc(came, func(a, b reading) int { return int(min(max(a.bootNS-b.bootNS, -1), 1)) })
		if want := uint64(came[len(came)-1].v - came[0].v); sums[series] != want {
			t.Errorf("%s: %d in all, the readings went %d", series, sums[series], want)
		}
	}
}
