package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// warnings collects what a publisher and its log say.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, err.Error())
}

func (w *warnings) has(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.text, func(s string) bool { return strings.Contains(s, part) })
}

func (l *line) log(dir string, o LogOptions) *Log {
	l.Helper()
	log, err := OpenLog(dir, o)
	if err != nil {
		l.Fatal(err)
	}
	return log
}

// leave ends a publisher at once: what it could not deliver stays in its log.
func (l *line) leave(p *Publisher) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.Close(ctx)
}

func at(bootNS int64) schemas.Stamp {
	return schemas.Stamp{Host: "h", WallNS: 1e18 + bootNS, BootNS: bootNS, BootID: "b"}
}

func openOf(bootNS int64) *schemas.Control {
	return &schemas.Control{Kind: "open", At: at(bootNS), Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1}}
}

func helloOf(epoch, bootNS int64) *schemas.Control {
	return &schemas.Control{Kind: "hello", At: at(bootNS), Hello: &schemas.Hello{Epoch: epoch, Kind: "collector"}}
}

// story is what a run's messages tell, each in a word: "open", "hello 1", "1/7" for
// tick 7 of epoch 1, "end 1 7" for its end after that tick, "cut 1 7" said by another.
func (l *line) story(run string) (out []string) {
	l.Helper()
	d := schemas.NewDecoder()
	for _, x := range l.all(1) {
		if !strings.HasPrefix(x.Subject, schemas.SubjectPrefix+run+".") {
			continue
		}
		if x.Subject != schemas.ControlSubject(run) {
			m, err := d.Decode(x.Data)
			l.must(err)
			for _, t := range m.Ticks {
				out = append(out, fmt.Sprintf("%d/%d", m.Epoch, t.Seq))
			}
			continue
		}
		c, err := schemas.DecodeControl(x.Data)
		l.must(err)
		switch {
		case c.Hello != nil:
			out = append(out, fmt.Sprint("hello ", c.Hello.Epoch))
		case c.End != nil && c.End.Cut:
			out = append(out, fmt.Sprintf("cut %d %d", c.End.Epoch, c.End.LastSeq))
		case c.End != nil:
			out = append(out, fmt.Sprintf("end %d %d", c.End.Epoch, c.End.LastSeq))
		default:
			out = append(out, c.Kind)
		}
	}
	return out
}

func ofEpoch(epoch int64, run string) schemas.Producer {
	return schemas.Producer{Run: run, Host: "h", Epoch: epoch, BootID: "b"}
}

// What a publisher could not deliver goes out before what the next one takes, under its
// own ids and in its own run, and who did not say its end has it said.
func TestNextPublisherDeliversWhatTheLogHas(t *testing.T) {
	l := newLine(t)
	dir := t.TempDir()
	p := NewPublisher(l.conn, ofEpoch(1, "OLD"), PublisherOptions{Log: l.log(dir, LogOptions{})})
	l.must(p.Control(openOf(1)))
	l.must(p.Control(helloOf(1, 1)))
	l.must(p.Tick(tick(1, 1)))
	l.until("the first is stored", func() bool { return p.UnackedBytes() == 0 })
	l.srv.Close()
	l.must(p.Tick(tick(2, 1)))
	l.must(p.Tick(tick(3, 1)))
	left := p.UnackedBytes()
	if err := l.leave(p); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("bus: 2 messages (%d bytes) were not acknowledged: they stay in %s, and the next steady collect on it delivers them", left, dir)) {
		t.Error(err)
	}

	log := l.log(dir, LogOptions{})
	if n, bytes := log.Left(); n != 2 || bytes != left {
		t.Errorf("left %d messages, %d bytes, want 2, %d", n, bytes, left)
	}
	if last, ok := log.LastTick("OLD", "h"); !ok || last.BootID != "b" || last.Host != "h" || last.BootNS == 0 || time.Since(time.Unix(0, last.WallNS)).Abs() > time.Minute {
		t.Errorf("last tick at %+v, %v", last, ok)
	}
	if _, ok := log.LastTick("NEW", "h"); ok {
		t.Error("a tick in a run that is new")
	}
	p = NewPublisher(l.conn, ofEpoch(2, "NEW"), PublisherOptions{Log: log})
	if p.UnackedBytes() != left {
		t.Errorf("%d bytes wait, want %d", p.UnackedBytes(), left)
	}
	l.must(p.Control(openOf(2)))
	l.must(p.Control(helloOf(2, 2)))
	l.must(p.EndKilled())
	l.must(p.Tick(tick(1, 1)))
	l.must(p.Control(&schemas.Control{Kind: "end", At: at(9), End: &schemas.End{Epoch: 2, LastSeq: 1}}))
	l.serve()
	l.settled(p)
	if got, want := l.story("OLD"), []string{"open", "hello 1", "1/1", "1/2", "1/3", "cut 1 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := l.story("NEW"), []string{"open", "hello 2", "2/1", "end 2 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.wal1")); len(left) > 0 {
		t.Errorf("all is delivered, left %q", left)
	}
}

// A killed producer of which the log has no message any more is known by its head.
func TestKilledWithAllDelivered(t *testing.T) {
	l := newLine(t)
	dir := t.TempDir()
	p := NewPublisher(l.conn, ofEpoch(1, "RUN"), PublisherOptions{Log: l.log(dir, LogOptions{Bytes: 64 << 10})})
	l.must(p.Control(openOf(1)))
	l.must(p.Control(helloOf(1, 1)))
	for seq := int64(1); seq <= 100; seq++ {
		l.must(p.Tick(tick(seq, 10)))
		l.until("stored", func() bool { return p.UnackedBytes() == 0 })
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wal1"))
	l.must(err)
	if len(files) == 0 || strings.Contains(files[0], "00000001-") {
		t.Fatalf("the first file should be gone: %q", files)
	}
	before := int64(0)
	for n := range 2 { // and the second is killed before it says the first one's end
		copied := t.TempDir() // the log as a kill leaves it
		l.must(os.CopyFS(copied, os.DirFS(dir)))
		l.leave(p)
		log := l.log(copied, LogOptions{})
		last, ok := log.LastTick("RUN", "h")
		if !ok || (before != 0 && last.BootNS != before) {
			t.Fatalf("last tick %+v %v, before %d", last, ok, before)
		}
		before = last.BootNS
		p = NewPublisher(l.conn, ofEpoch(int64(2+n), "RUN"), PublisherOptions{Log: log})
		l.must(p.Control(openOf(2)))
		l.must(p.Control(helloOf(int64(2+n), 2)))
		l.until("stored", func() bool { return p.UnackedBytes() == 0 })
		dir = copied
	}
	l.must(p.EndKilled())
	l.settled(p)
	got := l.story("RUN")
	tail := slices.Sorted(slices.Values(got[len(got)-2:]))
	// The server may have the last ones before the log.
	if len(got) != 1+1+100+2+2+2 || !slices.Contains([]string{"cut 1 98", "cut 1 99", "cut 1 100"}, tail[0]) || tail[1] != "cut 2 0" {
		t.Errorf("%q", got)
	}
}

// A long outage costs disk, not memory.
func TestMemoryDuringAnOutage(t *testing.T) {
	l := newLine(t)
	p := NewPublisher(l.conn, producer, PublisherOptions{Log: l.log(t.TempDir(), LogOptions{})})
	l.must(p.Tick(tick(1, 20)))
	l.until("the first is stored", func() bool { return p.UnackedBytes() == 0 })
	l.srv.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const n = 3000
	ahead := func(from, to int64) {
		for seq := from; seq <= to; seq++ {
			x := tick(seq, 60)
			l.until("room", func() bool { return p.Tick(x) == nil })
		}
	}
	ahead(2, n/10)
	early := heap()
	ahead(n/10+1, n)
	if grown := heap() - early; grown > p.UnackedBytes()/3 || p.UnackedBytes() < 20<<20 {
		t.Errorf("the heap grew by %d bytes while %d waited", grown, p.UnackedBytes())
	}
	l.serve()
	l.settled(p)
	l.inOrder(l.seqs(l.all(1)), n)
}

// A full log refuses, and takes again when the server took some.
func TestFullLog(t *testing.T) {
	l := newLine(t)
	dir := t.TempDir()
	p := NewPublisher(l.conn, producer, PublisherOptions{Log: l.log(dir, LogOptions{Bytes: 200_000})})
	l.srv.Close()
	var taken []int64
	var refusal error
	seq := int64(0)
	for range 1000 {
		seq++
		if err := p.Tick(tick(seq, 10)); err == nil {
			taken = append(taken, seq)
		} else if !errors.Is(err, ErrFull) {
			t.Fatal(err)
		} else {
			refusal = err
		}
	}
	if refusal == nil || !strings.Contains(refusal.Error(), "the log "+dir+" is full (--wal-bytes)") || len(taken) < 50 {
		t.Errorf("%d taken, then %v", len(taken), refusal)
	}
	l.must(p.Control(openOf(1)))
	if bytes := p.queue.log.Bytes(); bytes > 201_000 {
		t.Errorf("%d bytes", bytes)
	}
	l.serve()
	l.until("takes again", func() bool {
		seq++
		err := p.Tick(tick(seq, 10))
		if err == nil {
			taken = append(taken, seq)
		}
		return err == nil
	})
	l.settled(p)
	got := l.all(1)
	got = slices.DeleteFunc(got, func(d *Delivery) bool { return d.Subject == schemas.ControlSubject("RUN") })
	if seqs := l.seqs(got); !slices.Equal(seqs, taken) {
		t.Errorf("%d delivered of %d", len(seqs), len(taken))
	}
}

// A disk that does not answer holds up neither ticks nor their way to the server; when
// that is away too, memory is bounded, and the end says what happened.
func TestHungDisk(t *testing.T) {
	for _, hung := range []string{"create", "write", "sync"} {
		t.Run(hung, func(t *testing.T) {
			l := newLine(t)
			free := make(chan struct{})
			var blocked atomic.Bool
			log := l.log(t.TempDir(), LogOptions{Step: func(what string) {
				if what == hung {
					blocked.Store(true)
					<-free
				}
			}})
			t.Cleanup(func() { close(free) })
			p := NewPublisher(l.conn, producer, PublisherOptions{Log: log})
			seq := int64(0)
			if hung == "sync" { // which is for what the server has not
				l.srv.Close()
				l.until("hung", func() bool { seq++; l.must(p.Tick(tick(seq, 1))); return blocked.Load() })
				l.serve()
			}
			for range 400 { // more than unwrittenBytes
				seq++
				x := tick(seq, 20)
				l.until("room", func() bool { return p.Tick(x) == nil })
			}
			l.until("all stored", func() bool { return p.UnackedBytes() == 0 })
			if !blocked.Load() {
				t.Fatal("never at the disk")
			}
			p.queue.mu.Lock()
			held := p.queue.bytes
			p.queue.mu.Unlock()
			if held > 0 {
				t.Errorf("%d bytes are held of what the server has", held)
			}
			l.srv.Close()
			var err error
			for n := 0; err == nil; n++ {
				if err = p.Tick(tick(seq+1, 10)); err == nil {
					seq++
				}
				if n > 2000 {
					t.Fatal("no bound")
				}
			}
			if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "takes none: is its disk full, or slow?") {
				t.Error(err)
			}
			if err := l.leave(p); err == nil || !strings.Contains(err.Error(), "does not answer: what it has not taken is lost") || !strings.Contains(err.Error(), "were not acknowledged") {
				t.Error(err)
			}
			l.serve()
			l.until("connected", l.conn.Connected)
			got := l.seqs(l.all(1))
			l.inOrder(got, int64(len(got)))
		})
	}
}

// On a full disk ticks wait in memory; nothing taken is lost once there is room.
func TestLogOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a small file system has to be mounted: needs root")
	}
	dir := filepath.Join(os.TempDir(), "steady-test-full-bus")
	unix.Unmount(dir, unix.MNT_DETACH) // of a test that was killed
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=100k"); err != nil {
		t.Skipf("tmpfs can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		unix.Unmount(dir, unix.MNT_DETACH)
		os.Remove(dir)
	})
	l := newLine(t)
	var w warnings
	p := NewPublisher(l.conn, producer, PublisherOptions{Log: l.log(dir, LogOptions{}), Warn: w.warn})
	l.srv.Close()
	seq := int64(0)
	for !w.has("no space left on device: ticks wait in memory, up to 1048576 bytes: free some space") {
		seq++
		l.must(p.Tick(tick(seq, 10)))
	}
	l.must(unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=10m"))
	l.until("takes again", func() bool {
		seq++
		l.must(p.Tick(tick(seq, 10)))
		return w.has("takes ticks again")
	})
	if err := l.leave(p); err == nil {
		t.Error("all delivered without a server?")
	}
	p = NewPublisher(l.conn, ofEpoch(2, "RUN"), PublisherOptions{Log: l.log(dir, LogOptions{})})
	l.serve()
	l.settled(p)
	l.inOrder(l.seqs(l.all(1)), seq)
}

// What the server has by then is not synced; what it has not is, once a second at most.
func TestSyncsOnlyWhatTheServerHasNot(t *testing.T) {
	l := newLine(t)
	var syncs atomic.Int64
	p := NewPublisher(l.conn, producer, PublisherOptions{Log: l.log(t.TempDir(), LogOptions{Step: func(what string) {
		if what == "sync" {
			syncs.Add(1)
		}
	}})})
	seq := int64(0)
	push := func() { seq++; l.must(p.Tick(tick(seq, 1))) }
	for began := time.Now(); time.Since(began) < 3*syncEvery/2; {
		push()
		l.until("stored", func() bool { return p.UnackedBytes() == 0 })
	}
	if n := syncs.Load(); n > 0 {
		t.Errorf("%d syncs of what the server has", n)
	}
	l.srv.Close()
	began := time.Now()
	tries := 0
	l.until("synced twice", func() bool {
		if tries++; tries%50 == 1 { // few, since a file that is begun syncs the one before
			push()
		}
		return syncs.Load() == 2
	})
	if took := time.Since(began); took < 2*syncEvery {
		t.Errorf("two syncs within %s", took)
	}
	push() // one and no more is synced as well
	l.until("synced", func() bool { return syncs.Load() >= 3 })
	l.serve()
	l.settled(p)
	l.inOrder(l.seqs(l.all(1)), seq)
}

// Ticks sent in batches wait for their number, for a control message or for the end.
func TestBatches(t *testing.T) {
	l := newLine(t)
	for _, logged := range []bool{false, true} {
		t.Run(fmt.Sprint("with a log: ", logged), func(t *testing.T) {
			var syncs atomic.Int64
			o := PublisherOptions{Batch: 10}
			if logged {
				o.Log = l.log(t.TempDir(), LogOptions{Step: func(what string) {
					if what == "sync" {
						syncs.Add(1)
					}
				}})
			}
			run := fmt.Sprint("BATCH", logged)
			p := NewPublisher(l.conn, ofEpoch(1, run), o)
			push := func(from, to int64) {
				for seq := from; seq <= to; seq++ {
					l.must(p.Tick(tick(seq, 1)))
				}
			}
			var counts []int
			state := func(all bool) {
				l.Helper()
				if all {
					l.until("stored", func() bool { return p.UnackedBytes() == 0 })
				}
				counts = append(counts, len(l.story(run)))
			}
			l.must(p.Control(openOf(1)))
			state(true)
			push(1, 9)
			if logged {
				l.until("logged", func() bool { return p.queue.log.wal.Last() == 10 })
			}
			state(false)
			push(10, 10)
			state(true)
			push(11, 13)
			l.must(p.Control(helloOf(1, 1)))
			state(true)
			push(14, 25)
			l.until("ten stored", func() bool { n, _ := p.queue.unackedNow(); return n == 2 })
			state(false)
			l.settled(p)
			l.settled(p) // once more is none too many
			counts = append(counts, len(l.story(run)))
			if want := []int{1, 1, 11, 15, 25, 27}; !slices.Equal(counts, want) {
				t.Errorf("in the stream %v, want %v", counts, want)
			}
			if n := syncs.Load(); n > 0 {
				t.Errorf("%d syncs while the server answers", n)
			}
		})
	}
}

// Damage costs the ticks that it hit; the log says so, and the rest is delivered.
func TestDamagedLog(t *testing.T) {
	l := newLine(t)
	dir := t.TempDir()
	p := NewPublisher(l.conn, ofEpoch(1, "RUN"), PublisherOptions{Log: l.log(dir, LogOptions{Bytes: 200_000})})
	l.srv.Close()
	for seq := int64(1); seq <= 50; seq++ {
		l.must(p.Tick(tick(seq, 10)))
	}
	if err := l.leave(p); err == nil {
		t.Error("delivered?")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wal1"))
	l.must(err)
	b, err := os.ReadFile(files[0])
	l.must(err)
	b[len(b)/2] ^= 64
	l.must(os.WriteFile(files[0], b, 0o644))
	var w warnings
	log := l.log(dir, LogOptions{Warn: w.warn})
	p = NewPublisher(l.conn, ofEpoch(2, "RUN"), PublisherOptions{Log: log, Warn: w.warn})
	l.must(p.EndKilled())
	l.serve()
	l.settled(p)
	got := l.story("RUN")
	if !w.has("are damaged, 1 records lost") || len(got) != 50 || got[49] != "cut 1 50" || len(slices.Compact(slices.Clone(got))) != 50 {
		t.Errorf("%d: %q, warned %q", len(got), got, w.text)
	}
}

// Who says the end of a producer says its hello once more; killed in between, it does not
// make the next one forget how far the producer was.
func TestHelloSaidAgain(t *testing.T) {
	l := &line{TB: t}
	log := l.log(t.TempDir(), LogOptions{})
	defer log.Close()
	note := func(m *message, err error) {
		l.must(err)
		log.note(m, m.encode())
	}
	note(controlMessage(ofEpoch(1, "RUN"), openOf(1)))
	note(controlMessage(ofEpoch(1, "RUN"), helloOf(1, 1)))
	note(&message{subject: ofEpoch(1, "RUN").Subject(), id: "RUN/h/1/7", header: map[string][]string{headerSeq: {"7"}, headerTicks: {"3"}}, wallNS: 5, bootNS: 6}, nil)
	note(controlMessage(ofEpoch(1, "RUN"), helloOf(1, 1)))
	ms, err := log.ends(ofEpoch(2, "RUN"))
	l.must(err)
	c, err := schemas.DecodeControl(ms[len(ms)-1].data)
	if err != nil || len(ms) != 3 || c.End.LastSeq != 9 || !c.End.Cut || c.At != (schemas.Stamp{Host: "h", WallNS: 5, BootNS: 6, BootID: "b"}) {
		t.Errorf("%+v %+v, %v", c, c.End, err)
	}
}

func TestLogInUse(t *testing.T) {
	l := &line{TB: t}
	dir := t.TempDir()
	log := l.log(dir, LogOptions{})
	if _, err := OpenLog(dir, LogOptions{}); err == nil || !strings.Contains(err.Error(), dir+": another process writes there: end it, or choose another directory with --wal") {
		t.Error(err)
	}
	l.must(log.Close())
	l.must((*Log)(nil).Close())
	if _, err := OpenLog(filepath.Join(dir, "lock", "x"), LogOptions{}); err == nil || !strings.Contains(err.Error(), "choose another directory with --wal, or none") {
		t.Error(err)
	}
}

// What a record is decoded to, it is encoded to again; anything else is no message.
func FuzzDecodeMessage(f *testing.F) {
	m := &message{subject: "steady.v1.RUN.h", id: "RUN/h/1/2", header: map[string][]string{"B": {"2"}, "A": {""}}, data: []byte("data"), wallNS: 1, bootNS: -2}
	f.Add(m.encode())
	f.Add([]byte{})
	f.Add(m.encode()[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMessage(b)
		if err != nil {
			return
		}
		again, err := decodeMessage(m.encode())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(m) {
			t.Errorf("%v, then %v, %v", m, again, err)
		}
		producerOf(m.id)
	})
}
