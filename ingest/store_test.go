package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// steady sends n ticks of one CPU, from a second on.
func (r *rig) ticks(m *machine, epoch, from, to int64) {
	r.Helper()
	for seq := from; seq <= to; seq++ {
		r.tick(m.producer(epoch), cpuTick(m, seq, seq, cpu("0", 10*seq, seq, seq)))
	}
}

// What comes twice is left out and counted.
func TestDuplicatesAreLeftOutAndCounted(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 5)
	r.flush()
	r.ticks(m, 1, 4, 7)
	r.ticks(m, 1, 7, 7)
	r.reopen()
	r.read()
	r.end(m, 1, 7)
	f := r.finish()
	if p := f.m.Producers[0]; f.frame(&schemas.CPU).Rows() != 7 || p.Received != 7 || p.Duplicates != 3 || len(p.Missing) != 0 || f.m.Status != schemas.Complete {
		t.Errorf("%d rows, %+v, %s", f.frame(&schemas.CPU).Rows(), p, f.m.Status)
	}
}

// A control message that comes twice changes nothing: a phase sent again is one phase.
func TestControlThatComesTwiceIsOne(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	phases := []schemas.Control{{Kind: "phase", At: m.at(0), Phase: "warmup"}, {Kind: "phase", At: m.at(2 * second), Phase: "measure"}}
	r.control(phases[1]) // and in another order
	r.control(phases[0])
	r.ticks(m, 1, 1, 9)
	r.flush()
	r.reopen()
	r.read()
	r.begin(m, 1)
	r.control(phases[1])
	r.control(phases[0])
	r.end(m, 1, 9)
	r.control(schemas.Control{Kind: "close", At: m.at(10 * second)})
	r.control(schemas.Control{Kind: "close", At: m.at(10 * second)})
	f := r.finish()
	if got := fmt.Sprint(f.m.Phases); got != "[{warmup 0 2000000000} {measure 2000000000 10000000000}]" {
		t.Error(got)
	}
}

// The stream was full while nobody read: what is missing is told by host, exactly, and
// the run is not complete.
func TestMissingTicksAreNamedByHost(t *testing.T) {
	r := newRig(t)
	hosts := []*machine{host("a"), host("b"), host("c")}
	r.begin(hosts[0], 1)
	r.hello(hosts[1], 2)
	r.hello(hosts[2], 3)
	n := 0
	for seq := int64(1); seq <= 600; seq++ {
		for i, m := range hosts {
			if n++; n > 800 { // the oldest 800 of 1800 are gone
				r.ticks(m, int64(i+1), seq, seq)
			}
		}
	}
	for i, m := range hosts {
		r.end(m, int64(i+1), 600)
	}
	if over := r.s.Over(time.Hour); len(over) != 0 {
		t.Error("over, though what is missing may still come")
	}
	f := r.finish()
	same(t, "reasons", f.m.Reasons, []string{
		"collector 1 on a: 267 of 600 ticks are missing", "collector 2 on b: 267 of 600 ticks are missing", "collector 3 on c: 266 of 600 ticks are missing",
	})
	var got []string
	for _, p := range f.m.Producers {
		got = append(got, fmt.Sprint(p.Host, *p.Expected, p.Received, p.Missing))
	}
	same(t, "accounts", got, []string{"a600 333 [{1 267}]", "b600 333 [{1 267}]", "c600 334 [{1 266}]"})
	if ok, why := f.m.Usable(); ok || why != "incomplete: collector 1 on a: 267 of 600 ticks are missing" || f.frame(&schemas.CPU).Rows() != 1000 {
		t.Error(ok, why)
	}
}

// Ticks that the producer had to refuse are missing, and known to be: nobody waits for
// them.
func TestRefusedTicksAreNotWaitedFor(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 3)
	r.ticks(m, 1, 6, 8)
	r.control(schemas.Control{Kind: "end", At: m.at(9 * second), End: &schemas.End{Epoch: 1, LastSeq: 8, Refused: []schemas.Range{{First: 4, Last: 5}}, Missed: 2}})
	if over := r.s.Over(time.Hour); !slices.Equal(over, []string{"RUN"}) {
		t.Errorf("over: %v", over)
	}
	p := r.finish().m.Producers[0]
	if got := fmt.Sprint(p.Missing, p.Refused, p.Missed); got != "[{4 5}] [{4 5}] 2" {
		t.Error(got)
	}
}

// A message that can't be read is kept beside the tables and costs the run its
// status.
func TestCorruptMessageIsKeptAside(t *testing.T) {
	m := host("h")
	for name, damage := range map[string]func(x message) message{
		"cut off":  func(x message) message { return message{x.subject, x.data[:len(x.data)/2]} },
		"not ours": func(x message) message { return message{x.subject, []byte("hello")} },
		"empty":    func(x message) message { return message{x.subject, nil} },
		"another's subject": func(x message) message {
			return message{schemas.SubjectPrefix + "RUN." + schemas.HostToken("b"), x.data}
		},
		"control": func(x message) message { return message{schemas.ControlSubject("RUN"), []byte(`{"kind":"open"}`)} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.begin(m, 1)
			r.ticks(m, 1, 1, 2)
			bad := damage(encoded(t, m.producer(1), cpuTick(m, 3, 3, cpu("0", 1, 1, 1))))
			r.send(bad)
			at := len(r.stream)
			r.flush()
			r.reopen()
			r.read()
			r.end(m, 1, 3)
			f := r.finish()
			kept, err := os.ReadFile(filepath.Join(f.dir, refusedName(uint64(at))))
			if err != nil || !bytes.Equal(kept, bad.data) {
				t.Errorf("kept %q, %v", kept, err)
			}
			if f.m.Status != schemas.Incomplete || len(f.m.Reasons) != 2 || !strings.HasPrefix(f.m.Reasons[1], fmt.Sprintf("message %d of the stream could not be read: schemas: corrupt message", at)) {
				t.Errorf("%s %q", f.m.Status, f.m.Reasons)
			}
			if f.frame(&schemas.CPU).Rows() != 2 || len(r.warned) == 0 || !strings.Contains(r.warned[0], "kept aside") {
				t.Errorf("%d rows, warned %q", f.frame(&schemas.CPU).Rows(), r.warned)
			}
		})
	}
}

// Subjects that name no run, or a path, are left alone.
func TestForeignSubjects(t *testing.T) {
	r := newRig(t)
	for _, s := range []string{"steady.v1.", "steady.v1.RUN", "steady.v1.a/b.c", "steady.v1..x", `steady.v1.a\b.c`, "other"} {
		r.send(message{s, []byte("x")})
	}
	if live := r.s.Live(); len(live) != 0 || len(r.warned) != 6 {
		t.Errorf("live %v, warned %q", live, r.warned)
	}
}

// Rows of a run that nobody opened stay where they are, and are reported once, not
// before the opening had its time to come.
func TestRunNeverOpened(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.ticks(m, 1, 1, 3)
	r.flush()
	if got := r.s.Orphans(); len(got) != 0 {
		t.Errorf("at once: %v", got)
	}
	r.s.runs["RUN"].touched = time.Now().Add(-time.Minute)
	if got := r.s.Orphans(); !slices.Equal(got, []string{"RUN"}) {
		t.Errorf("later: %v", got)
	}
	if got := r.s.Orphans(); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
	if _, _, err := r.s.Finish("RUN", ""); err == nil || !strings.Contains(err.Error(), "nobody said what it is: it stays in "+filepath.Join(r.dir, "live", "RUN")) {
		t.Error(err)
	}
	if over := r.s.Over(0); len(over) != 0 {
		t.Errorf("over: %v", over)
	}
	// Someone says it after all.
	r.reopen()
	r.read()
	r.begin(m, 1)
	r.end(m, 1, 3)
	if f := r.finish(); f.m.Status != schemas.Complete || f.frame(&schemas.CPU).Rows() != 3 {
		t.Errorf("%+v", f.m)
	}
	if _, _, err := r.s.Finish("OTHER", ""); err == nil {
		t.Error("a run that there is not was finished")
	}
}

// The number of the run is taken: nothing is overwritten, nothing is lost.
func TestRunNumberIsTaken(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 2)
	r.end(m, 1, 2)
	first := r.finish()
	again, m2, err := r.s.Finish("RUN", "")
	if err != nil || again != first.dir || m2.ID != "RUN" || !reflect.DeepEqual(m2.Tables, first.m.Tables) {
		t.Errorf("made before: %s %v %v", again, m2, err)
	}
	if err := r.s.Forget("RUN"); err != nil {
		t.Fatal(err)
	}
	for _, x := range slices.Clone(r.stream) { // the same again under another id
		x.subject = strings.Replace(x.subject, "RUN", "RUN2", 1)
		if !strings.HasSuffix(x.subject, "_control") {
			continue
		}
		r.send(x)
	}
	p := m.producer(1)
	p.Run = "RUN2"
	r.tick(p, cpuTick(m, 1, 1, cpu("0", 1, 1, 1)))
	_, _, err = r.s.Finish("RUN2", "")
	if !errors.Is(err, ErrRunExists) || !strings.Contains(err.Error(), "give the run another number; its rows stay in "+filepath.Join(r.dir, "live", "RUN2")) {
		t.Error(err)
	}
	if old, err := ReadManifest(first.dir); err != nil || old.ID != "RUN" {
		t.Errorf("%v %v", old, err)
	}
	r.reopen()
	if live := r.s.Live(); !slices.Equal(live, []string{"RUN2"}) || r.s.runs["RUN2"].parts[0].Tables["cpu"] != 1 {
		t.Errorf("live: %v", live)
	}
}

// A run without rows is a folder that says so, without tables.
func TestRunWithoutRows(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m)
	r.control(schemas.Control{Kind: "close", At: m.at(second)})
	f := r.finish()
	files, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil || len(files) != 1 || len(f.m.Tables) != 0 {
		t.Errorf("%q %v %v", files, f.m.Tables, err)
	}
	if f.m.Status != schemas.Incomplete || fmt.Sprint(f.m.Reasons) != "[0 of 1 hosts took part no rows came]" {
		t.Errorf("%s %q", f.m.Status, f.m.Reasons)
	}
}

// A table without rows has no file; one with rows has one, whose size and rows the
// manifest tells, with its facts in the metadata.
func TestOnlyTablesWithRowsHaveFiles(t *testing.T) {
	m := host("h")
	f := of(t, m, tick(1, block(&schemas.CPU, m.at(0)), block(&schemas.Load, m.at(0), row{v: map[string]int64{"ldavg_1": 1}})))
	files, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	same(t, "files", files, []string{"load.parquet", "manifest.json", "quality.parquet"})
	for _, x := range f.m.Tables {
		st, err := os.Stat(filepath.Join(f.dir, x.Table+".parquet"))
		if err != nil || st.Size() != x.Bytes || x.Version != 1 {
			t.Errorf("%+v %v %v", x, st, err)
		}
		p, err := columns.Open(filepath.Join(f.dir, x.Table+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		table, _ := schemas.Lookup(x.Table)
		want, err := table.FileMetadata()
		for k, v := range want {
			if p.Metadata(k) != v {
				t.Errorf("%s: metadata %s", x.Table, k)
			}
		}
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// An aborted run has failed, whatever else is to be said of it.
func TestAbortedRunHasFailed(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.control(schemas.Control{Kind: "phase", At: m.at(second), Phase: "measure"})
	r.ticks(m, 1, 1, 3)
	r.control(schemas.Control{Kind: "abort", At: m.at(4 * second), Cause: "the load could not be driven"})
	f := r.finish()
	if f.m.Status != schemas.Failed || f.m.Reasons[0] != "aborted: the load could not be driven" || len(f.m.Reasons) != 2 {
		t.Errorf("%s %q", f.m.Status, f.m.Reasons)
	}
	if fmt.Sprint(f.m.Phases) != "[{measure 1000000000 4000000000}]" {
		t.Errorf("%v", f.m.Phases)
	}
}

// When a run is over: its producers' word, its controller's, or a long silence.
func TestOver(t *testing.T) {
	m := host("h")
	say := func(kind string) func(*rig) {
		return func(r *rig) { r.control(schemas.Control{Kind: kind, At: m.at(second)}) }
	}
	open := func(hosts int, controlled bool) func(*rig) {
		return func(r *rig) {
			r.control(schemas.Control{Kind: "open", At: m.at(0), Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: hosts, Controlled: controlled}})
			r.hello(m, 1)
		}
	}
	rows := func(r *rig) { r.ticks(m, 1, 1, 3) }
	end := func(r *rig) { r.end(m, 1, 3) }
	quiet := func(d time.Duration) func(*rig) {
		return func(r *rig) { r.s.runs["RUN"].touched = time.Now().Add(-d) }
	}
	for _, tt := range []struct {
		name  string
		steps []func(*rig)
		over  bool
	}{
		{"all ended", []func(*rig){open(1, false), rows, end}, true},
		{"no end", []func(*rig){open(1, false), rows}, false},
		{"ended, rows on their way", []func(*rig){open(1, false), end}, false},
		{"another host is to come", []func(*rig){open(2, false), rows, end}, false},
		{"ended, the controller goes on", []func(*rig){open(1, true), rows, end}, false},
		{"closed", []func(*rig){open(1, true), rows, end, say("close")}, true},
		{"aborted", []func(*rig){open(1, true), rows, end, say("abort")}, true},
		{"closed, an end is to come", []func(*rig){open(1, true), rows, say("close")}, false},
		{"closed, and no end came", []func(*rig){open(1, true), rows, say("close"), quiet(6 * time.Second)}, true},
		{"silent", []func(*rig){open(1, true), rows, quiet(2 * time.Minute)}, true},
		{"silent for a while", []func(*rig){open(1, true), rows, quiet(30 * time.Second)}, false},
		{"rows of a producer that never said hello", []func(*rig){open(1, false), rows, end, func(r *rig) { r.ticks(m, 9, 1, 1) }}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			for _, step := range tt.steps {
				step(r)
			}
			if over := r.s.Over(time.Minute); (len(over) == 1) != tt.over {
				t.Errorf("over: %v", over)
			}
		})
	}
}

// What ended a run early is in its manifest.
func TestFinishedForACause(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 1)
	r.end(m, 1, 1)
	_, man, err := r.s.Finish("RUN", "sealed by hand")
	if err != nil || man.Status != schemas.Incomplete || fmt.Sprint(man.Reasons) != "[sealed by hand]" {
		t.Errorf("%v %v", man, err)
	}
}

// The stream is made anew in the middle: the run goes on, what is sent again is not
// doubled, a restart reads the new stream from its beginning.
func TestStreamMadeAnew(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 5)
	r.flush()
	r.id, r.stream = "STEADY@2", nil
	if from := r.s.Begin(r.id); from != 1 {
		t.Errorf("the new stream is read from %d", from)
	}
	r.next = 0
	r.hello(m, 1)
	r.ticks(m, 1, 5, 8)
	r.flush()
	r.ticks(m, 1, 9, 10)
	r.reopen()
	r.read()
	r.end(m, 1, 10)
	f := r.finish()
	if f.frame(&schemas.CPU).Rows() != 10 || f.m.Status != schemas.Complete || f.m.Stream != "STEADY@2" || f.m.Producers[0].Duplicates != 1 {
		t.Errorf("%d rows, %+v", f.frame(&schemas.CPU).Rows(), f.m)
	}
}

// A restart reads on from where every run is durable, and no further.
func TestRestartReadsOn(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 4) // messages 3 to 6
	r.flush()
	r.ticks(m, 1, 5, 6)
	r.flush() // its part says that all was durable up to 6
	r.ticks(m, 1, 7, 7)
	r.s.Close()
	r.open()
	if r.next != 6 {
		t.Errorf("read on after message %d", r.next)
	}
	if n := r.s.Buffered(); n != 0 {
		t.Errorf("%d rows in memory", n)
	}
	r.read()
	if n := r.s.Buffered(); n != 1 {
		t.Errorf("%d rows in memory", n)
	}
}

// Two processes must not write in one directory.
func TestSecondStoreIsRefused(t *testing.T) {
	r := newRig(t)
	if _, err := OpenStore(r.dir, nil); err == nil || !strings.Contains(err.Error(), r.dir+": another steady writes there: end it, or choose another directory with --data") {
		t.Error(err)
	}
	r.s.Close()
	s, err := OpenStore(r.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestDataDirectoryThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(file, nil); err == nil || !strings.Contains(err.Error(), "choose one that can be written, with --data") {
		t.Error(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "live", ".lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(dir, nil); err == nil {
		t.Error("opened without a lock")
	}
}

// A part that can't be read is named.
func TestUnreadablePart(t *testing.T) {
	m := host("h")
	for _, tt := range []struct {
		name, file, content, says string
		open                      bool // told on opening the store, else on making the folder
	}{
		{"no part.json", "part.json", "", "part.json: no such file", true},
		{"not JSON", "part.json", "{", "part.json: unexpected end of JSON input", true},
		{"another version", "part.json", `{"schema":"steady.part/9"}`, `schema "steady.part/9", this steady reads steady.part/1`, true},
		{"not Parquet", "cpu.part", "PAR1", "cpu.part: not a whole Parquet file", false},
		{"no table", "cpu.part", "", "cpu.part: no such file", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.begin(m, 1)
			r.ticks(m, 1, 1, 2)
			r.end(m, 1, 2)
			r.flush()
			path := filepath.Join(r.dir, "live", "RUN", "part-000001", tt.file)
			err := os.Remove(path)
			if tt.content != "" {
				err = os.WriteFile(path, []byte(tt.content), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.open {
				r.s.Close()
				_, err = OpenStore(r.dir, nil)
			} else {
				_, _, err = r.s.Finish("RUN", "")
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "RUN") {
				t.Error(err)
			}
			if _, err := os.Stat(RunDir(r.dir, "e", "s", "c", 1)); err == nil {
				t.Error("there is a folder")
			}
		})
	}
}

// What a kill left behind of a run that was done is cleared away on opening; what it
// left of a part is passed over.
func TestLeftoversOfAKill(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.begin(m, 1)
	r.ticks(m, 1, 1, 2)
	r.flush()
	live := filepath.Join(r.dir, "live")
	for _, d := range []string{".trash-OLD/part-000001", "RUN/.new-000002", "RUN/.new-folder", "RUN/notes"} {
		if err := os.MkdirAll(filepath.Join(live, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.reopen()
	if n := len(r.s.runs["RUN"].parts); n != 1 || !slices.Equal(r.s.Live(), []string{"RUN"}) {
		t.Errorf("%d parts, %v", n, r.s.Live())
	}
	if _, err := os.Stat(filepath.Join(live, ".trash-OLD")); err == nil {
		t.Error("the trash is still there")
	}
	if err := r.s.Forget("RUN"); err != nil || len(r.s.Live()) != 0 {
		t.Error(err)
	}
	if err := r.s.Forget("RUN"); err != nil {
		t.Errorf("what is gone is forgotten: %v", err)
	}
}

// A full disk loses nothing: once there is room, the store, opened again on the same
// stream, makes the same folder.
func TestFullDisk(t *testing.T) {
	m := host("h")
	fill := func(r *rig) {
		r.begin(m, 1)
		for seq := int64(1); seq <= 400; seq++ {
			r.tick(m.producer(1), cpuTick(m, seq, seq, cpu("0", 10*seq*seq, 3*seq*seq*seq, seq), cpu("1", seq*seq*seq*seq, seq, seq)))
		}
		r.end(m, 1, 400)
	}
	plain := newRig(t)
	fill(plain)
	want := plain.finish()

	for _, inFolder := range []bool{false, true} {
		t.Run(fmt.Sprint("in the folder ", inFolder), func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
				t.Skipf("mount a small tmpfs: %v", err)
			}
			t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
			r := &rig{TB: t, dir: filepath.Join(disk, "data"), id: "STEADY@1"}
			r.open()
			t.Cleanup(func() { r.s.Close() })
			fill(r)
			if inFolder {
				r.flush()
			}
			ballast := filepath.Join(disk, "ballast")
			fillUp(t, ballast)
			var err error
			if inFolder {
				_, _, err = r.s.Finish("RUN", "")
			} else {
				err = r.s.Flush()
			}
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "nothing is lost, the messages stay in the stream: free some space and start again") {
				t.Fatal(err)
			}
			if _, err := os.Stat(RunDir(r.dir, "e", "s", "c", 1)); err == nil {
				t.Error("there is a folder")
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			r.reopen()
			r.read()
			if got := r.finish(); !reflect.DeepEqual(got.m.Tables, want.m.Tables) || got.m.Status != schemas.Complete {
				t.Errorf("%+v\nwant\n%+v", got.m.Tables, want.m.Tables)
			}
		})
	}
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			n /= 2
		}
	}
}

// A run of hours is written in row groups of an hour, whatever parts it came in: the
// same bytes as from one part.
func TestHoursInRowGroups(t *testing.T) {
	m := host("h")
	const ticks = 3*3600 - 1
	make1 := func(parts bool) folder {
		r := newRig(t)
		r.begin(m, 1)
		var msgs []message
		for from := int64(1); from <= ticks; from += 60 {
			var batch []*schemas.Tick
			for seq := from; seq < from+60 && seq <= ticks; seq++ {
				at := m.at(seq * second)
				batch = append(batch, tick(seq, block(&schemas.Pressure, at, row{"cpu", map[string]int64{"some_ns": seq * seq}}, row{"io", map[string]int64{"some_avg10_pct": seq % 100}})))
			}
			msgs = append(msgs, encoded(t, m.producer(1), batch...))
		}
		if parts { // and late: of each ten messages the first comes last
			for i := 0; i+10 <= len(msgs); i += 10 {
				msgs[i], msgs[i+9] = msgs[i+9], msgs[i]
			}
			late := msgs[59] // an hour late
			msgs = append(slices.Delete(msgs, 59, 60), late)
		}
		for i, x := range msgs {
			r.send(x)
			if parts && i%17 == 0 {
				r.flush()
			}
		}
		r.end(m, 1, ticks)
		if f := r.s.runs["RUN"]; parts && len(f.parts) < 5 {
			t.Fatalf("%d parts", len(f.parts))
		}
		return r.finish()
	}
	one, many := make1(false), make1(true)
	if !reflect.DeepEqual(one.m, many.m) {
		t.Errorf("%+v\nfrom one part, from many\n%+v", one.m, many.m)
	}
	p, err := columns.Open(filepath.Join(many.dir, "pressure.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Groups() != 3 {
		t.Errorf("%d row groups", p.Groups())
	}
	x := many.frame(&schemas.Pressure)
	i := 0
	for hour := range int64(3) {
		for _, d := range []string{"cpu", "io"} {
			for s := max(hour*3600, 1); s < (hour+1)*3600; s++ {
				if x[7].Texts[i] != d || x[1].Ints[i] != s*second || (s > 1 && x[3].Ints[i] != second) {
					t.Fatalf("row %d: %s at %d", i, x[7].Texts[i], x[1].Ints[i])
				}
				if s > 1 && d == "cpu" && x.Column("some_ns").Ints[i] != 2*s-1 {
					t.Fatalf("row %d: %d", i, x.Column("some_ns").Ints[i])
				}
				i++
			}
		}
	}
	if i != x.Rows() {
		t.Errorf("%d rows of %d", i, x.Rows())
	}
}

// What is in parts of a run still going on can be read, by its id or its name, while
// the store is open; the run itself is not touched.
func TestSnapshotOfALiveRun(t *testing.T) {
	m := host("h")
	r := newRig(t)
	r.ticks(m, 1, 1, 2)
	r.flush()
	if err := Snapshot(r.dir, "RUN", t.TempDir()); err == nil || !strings.Contains(err.Error(), "nobody said what it is") {
		t.Error(err)
	}
	r.begin(m, 1)
	r.ticks(m, 1, 3, 5)
	r.flush()
	r.ticks(m, 1, 6, 7) // in no part yet
	for name, id := range map[string]string{"RUN": "RUN", "e/s/c/01": "RUN", "e/s/c/02": "", "OTHER": ""} {
		if got := FindLive(r.dir, name); got != id {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := FindLive(filepath.Join(r.dir, "none"), "RUN"); got != "" {
		t.Error(got)
	}
	dir := filepath.Join(t.TempDir(), "snapshot")
	if err := Snapshot(r.dir, "RUN", dir); err != nil {
		t.Fatal(err)
	}
	man, err := ReadManifest(dir)
	if err != nil || man.Status != schemas.Incomplete || man.Reasons[0] != "still going on" || (folder{t, dir, man}).frame(&schemas.CPU).Rows() != 5 {
		t.Errorf("%+v %v", man, err)
	}
	r.end(m, 1, 7)
	if f := r.finish(); f.m.Status != schemas.Complete || f.frame(&schemas.CPU).Rows() != 7 {
		t.Errorf("%+v", f.m)
	}
}

// Manifests are replaced whole, and read only where their version is known.
func TestManifestOnDisk(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadManifest(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	want := &schemas.Manifest{Schema: schemas.ManifestSchema, ID: "RUN", Reasons: []string{}, Start: ptr(time.Unix(0, wallStart).UTC())}
	for range 2 {
		if err := WriteManifest(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadManifest(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if err := WriteManifest(filepath.Join(dir, "none"), want); err == nil {
		t.Error("written into a directory that there is not")
	}
	for content, says := range map[string]string{"{": "manifest.json", `{"schema":"steady.manifest/9"}`: `manifest of schema "steady.manifest/9", this steady reads steady.manifest/1`} {
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManifest(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Error(err)
		}
	}
}

// A set of sequence numbers agrees with a plain map, however it is filled.
func TestRanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var x, parts ranges
		have := map[int64]bool{}
		for range rnd.IntN(40) {
			seq := 1 + rnd.Int64N(30)
			if x.add(seq) == have[seq] {
				t.Fatalf("add %d to %v", seq, have)
			}
			have[seq] = true
			parts.merge([]schemas.Range{{First: seq, Last: seq}})
		}
		if !slices.Equal(x, parts) || x.count() != int64(len(have)) {
			t.Fatalf("%v, merged %v, of %v", x, parts, have)
		}
		last := rnd.Int64N(40)
		missing := ranges(x.missing(last))
		for seq := int64(1); seq <= 40; seq++ {
			gone := slices.ContainsFunc(missing, func(r schemas.Range) bool { return r.First <= seq && seq <= r.Last })
			if gone != (!have[seq] && seq <= last) {
				t.Fatalf("%v of 1..%d: missing %v", x, last, missing)
			}
		}
	}
}
