package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/schemas"
)

// cut says the end of a collector that was killed, as its successor does.
func (r *rig) cut(m *machine, epoch, last int64) {
	r.Helper()
	r.control(schemas.Control{Kind: "end", At: m.at(last * second), End: &schemas.End{Epoch: epoch, LastSeq: last, Cut: true}})
}

// A collector that was killed and came back, its last ticks delivered by the second: all
// that was taken is there, the gap is counted, and the one that was killed is marked.
func TestKilledCollectorThatCameBack(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	r.ticks(m, 11, 1, 2)
	r.hello(m, 22)
	r.ticks(m, 11, 3, 3) // from the log
	r.cut(m, 11, 3)
	if over := r.s.Over(time.Hour); len(over) > 0 {
		t.Error("over before the second one's end")
	}
	r.ticks(m, 22, 1, 2)
	r.control(schemas.Control{Kind: "end", At: m.at(9 * second), End: &schemas.End{Epoch: 22, LastSeq: 2, Missed: 4}})
	if over := r.s.Over(time.Hour); len(over) != 1 {
		t.Error("not over though the second one ended")
	}
	f := r.finish()
	if f.m.Status != schemas.Complete || len(f.m.Reasons) > 0 {
		t.Errorf("%s: %q", f.m.Status, f.m.Reasons)
	}
	for i, want := range []schemas.ProducerAccount{
		{Host: "h", Epoch: 11, Kind: "collector", Ended: true, Cut: true, Expected: ptr(int64(3)), Received: 3},
		{Host: "h", Epoch: 22, Kind: "collector", Ended: true, Expected: ptr(int64(2)), Received: 2, Missed: 4},
	} {
		got := f.m.Producers[i]
		if got.Epoch != want.Epoch || got.Ended != want.Ended || got.Cut != want.Cut || *got.Expected != *want.Expected || got.Received != want.Received || got.Missed != want.Missed || len(got.Missing) > 0 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Ticks that the log of a killed collector knows of and that did not come are missing
// still, and a run is not over before they are here.
func TestKilledCollectorWhoseTicksAreLost(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	r.ticks(m, 11, 1, 2)
	r.hello(m, 22)
	r.cut(m, 11, 6)
	r.ticks(m, 11, 5, 8) // more than its log knew of had been sent
	r.end(m, 22, 0)
	if over := r.s.Over(time.Hour); len(over) > 0 {
		t.Error("over though ticks 3 and 4 are not here")
	}
	f := r.finish()
	same(t, "reasons", f.m.Reasons, []string{"collector 11 on h: 2 of 8 ticks are missing"})
}

func TestKilledCollectorThatDidNotComeBack(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	r.ticks(m, 11, 1, 3)
	r.cut(m, 11, 3) // a collector of another run delivered the rest
	f := r.finish()
	same(t, "reasons", f.m.Reasons, []string{"collector 11 on h was killed after tick 3 and did not come back"})
	if f.m.Status != schemas.Incomplete {
		t.Error(f.m.Status)
	}
}

// What comes after a run's folder was made is neither put into it nor thrown away, and
// what the folder has is no news.
func TestTicksAfterTheFolderWasMade(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	r.ticks(m, 11, 1, 3)
	r.end(m, 11, 4) // 4 is lost
	f := r.finish()
	if err := r.s.Forget("RUN"); err != nil {
		t.Fatal(err)
	}

	r.begin(m, 11)
	r.ticks(m, 11, 2, 3)
	if again := r.finish(); again.dir != f.dir {
		t.Errorf("made another folder, %s", again.dir)
	}
	r.ticks(m, 11, 4, 4)
	r.ticks(m, 22, 1, 2)
	_, _, err := r.s.Finish("RUN", "")
	if !errors.Is(err, ErrRunExists) || !strings.Contains(err.Error(), "3 more ticks stay in "+r.s.liveDir("RUN")) {
		t.Error(err)
	}
	if live := r.s.Live(); !slices.Equal(live, []string{"RUN"}) {
		t.Errorf("live: %v", live)
	}
}

// While the server is away a run is not silent: nobody could be heard.
func TestServerAwayIsNoSilence(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 11)
	r.ticks(m, 11, 1, 1)
	long := func() { r.s.runs["RUN"].touched = time.Now().Add(-time.Hour) }
	long()
	if over := r.s.Over(time.Minute); len(over) != 1 {
		t.Fatal("not over though silent for an hour")
	}
	away, err := bus.Connect("nats://127.0.0.1:1", "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	l := &loop{s: r.s, conn: away, o: Options{FlushEvery: time.Hour, Silence: time.Minute, Warn: func(error) {}}, flushed: time.Now()}
	if err := l.handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if over := r.s.Over(time.Minute); len(over) > 0 {
		t.Error("over while the server is away")
	}
	long()
	r.s.Begin(r.id)
	if over := r.s.Over(time.Minute); len(over) > 0 {
		t.Error("over as soon as the server is there again")
	}
}
