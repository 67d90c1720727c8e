package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// counterKey is one column of one device on one boot of a host.
type counterKey struct{ table, device, column string }

// reading is what a counter said at one tick.
type reading struct {
	seq int64
	v   int64
}

// TestIncrementsAreTheReadings samples this host, reads the raw counters from the
// stream beside ingest, and holds the run folder against them: the increments and what
// quality lists sum up to the last reading less the first.
func TestIncrementsAreTheReadings(t *testing.T) {
	url, c := serve(t)
	ensureStream(t, c)
	data := t.TempDir()
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "100ms", "--duration", "5s", "--host", "h")
	raw, ticks := readings(t, c)
	if code := col.wait(t, patience); code != 0 {
		t.Fatalf("collect: exit %d", code)
	}
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "complete")
	in.signal(t, syscall.SIGTERM)

	r, err := loaders.Find(data, "e/s/c/1")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Manifest.Hosts[0].Boots) != 1 || ticks < 10 {
		t.Fatalf("%d boots, %d ticks", len(r.Manifest.Hosts[0].Boots), ticks)
	}
	sums := map[counterKey]int64{}
	for _, tab := range schemas.Tables {
		if tab.Typed || !r.Has(tab.Name) {
			continue
		}
		x, err := r.Table(tab)
		if err != nil {
			t.Fatal(err)
		}
		f := read(t, x)
		for i := range tab.Columns {
			if !tab.Columns[i].Kind.Cumulative() {
				continue
			}
			col := f.Column(tab.Columns[i].Name)
			for k := range col.Len() {
				if !col.Null(k) {
					sums[counterKey{tab.Name, device(f, k), col.Name}] += col.Ints[k]
				}
			}
		}
	}
	listed := listed(t, r)
	checked := 0
	for k, rs := range raw {
		want := rs[len(rs)-1].v - rs[0].v
		if got := sums[k] + listed[k]; got != want {
			t.Errorf("%v: increments sum to %d, with quality to %d; the readings went from %d to %d, by %d", k, sums[k], got, rs[0].v, rs[len(rs)-1].v, want)
		}
		checked++
	}
	t.Logf("%d counters over %d ticks, %d of them in quality", checked, ticks, len(listed))
	if checked < 100 {
		t.Errorf("only %d counters", checked)
	}
}

func device(f columns.Frame, row int) string {
	if c := f.Column("device"); c != nil {
		return c.Texts[row]
	}
	return ""
}

// read returns all columns of a table.
func read(t testing.TB, x *loaders.Table) columns.Frame {
	t.Helper()
	f, err := x.Read()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readings follows the stream to the producer's end and returns what its counters
// said, in order, and the number of ticks.
func readings(t *testing.T, c *bus.Conn) (map[counterKey][]reading, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := c.Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, ticks := map[counterKey][]reading{}, 0
	d := schemas.NewDecoder()
	ended := errors.New("the run ended")
	err = c.Consume(ctx, s, 1, 100*time.Millisecond, func(m *bus.Delivery) error {
		if m == nil {
			return nil
		}
		if strings.HasSuffix(m.Subject, "._control") {
			if x, err := schemas.DecodeControl(m.Data); err != nil || x.Kind == "end" {
				return errors.Join(err, ended)
			}
			return nil
		}
		msg, err := d.Decode(m.Data)
		if err != nil {
			return err
		}
		for _, tick := range msg.Ticks {
			ticks++
			for _, b := range tick.Blocks {
				for i := range b.Values {
					row, j := i/len(b.Table.Columns), i%len(b.Table.Columns)
					if b.Gap || !b.Known[i] || !b.Table.Columns[j].Kind.Cumulative() {
						continue
					}
					k := counterKey{table: b.Table.Name, column: b.Table.Columns[j].Name}
					if b.Table.Device != "" {
						k.device = b.Devices[row]
					}
					out[k] = append(out[k], reading{tick.Seq, b.Values[i]})
				}
			}
		}
		return nil
	})
	if !errors.Is(err, ended) {
		t.Fatal(err)
	}
	return out, ticks
}

// listed returns, by counter, the differences that are not in an increment but stand
// in quality with both readings.
func listed(t *testing.T, r *loaders.Run) map[counterKey]int64 {
	t.Helper()
	x, err := r.Table(&schemas.Quality)
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, x)
	text := func(column string, i int) string { return f.Column(column).Texts[i] }
	out := map[counterKey]int64{}
	for i := range f.Rows() {
		if f.Column("previous").Null(i) || f.Column("current").Null(i) {
			continue
		}
		tab, err := schemas.Lookup(text("table", i))
		if err != nil {
			t.Fatal(err)
		}
		k := counterKey{tab.Name, text("part", i), text("column", i)}
		if text("reason", i) == "retreat" && tab.Columns[tab.Column(k.column)].Retreats == "signed" {
			continue // in the increment, with its sign
		}
		was, err := strconv.ParseUint(text("previous", i), 10, 64)
		is, e := strconv.ParseUint(text("current", i), 10, 64)
		if err := errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
		out[k] += int64(is - was)
	}
	return out
}
