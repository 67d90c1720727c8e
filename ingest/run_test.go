package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/schemas"
)

// running is Run on a real server.
type running struct {
	testing.TB
	srv    *bus.Server
	dir    string // the server's
	port   int
	conn   *bus.Conn
	s      *Store
	sealed chan folder
	warned chan string
	stop   context.CancelFunc
	err    chan error
}

func newRunning(t testing.TB, o Options) *running {
	t.Helper()
	x := &running{TB: t, dir: t.TempDir(), sealed: make(chan folder, 10), warned: make(chan string, 1000)}
	x.serve()
	t.Cleanup(func() { x.srv.Close() })
	x.conn = x.connect()
	s, err := OpenStore(t.TempDir(), func(err error) { x.warned <- err.Error() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	x.s = s
	x.run(o)
	return x
}

func (x *running) serve() {
	x.Helper()
	srv, err := bus.StartServer(bus.ServerOptions{Dir: x.dir, Port: x.port})
	if err != nil {
		x.Fatal(err)
	}
	x.srv = srv
	u, err := url.Parse(srv.URL())
	if err != nil {
		x.Fatal(err)
	}
	x.port, _ = strconv.Atoi(u.Port())
}

func (x *running) connect() *bus.Conn {
	x.Helper()
	conn, err := bus.Connect(x.srv.URL(), "test", false)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(conn.Close)
	return conn
}

func (x *running) run(o Options) {
	ctx, stop := context.WithCancel(context.Background())
	x.stop, x.err = stop, make(chan error, 1)
	o.Warn = func(err error) { x.warned <- err.Error() }
	o.Sealed = func(dir string, m *schemas.Manifest) { x.sealed <- folder{x.TB, dir, m} }
	var done sync.WaitGroup
	done.Go(func() { x.err <- Run(ctx, x.conn, x.s, o) })
	x.Cleanup(func() { stop(); done.Wait() })
}

func (x *running) folder() folder {
	x.Helper()
	select {
	case f := <-x.sealed:
		return f
	case err := <-x.err:
		x.Fatal("ended: ", err)
	case <-time.After(30 * time.Second):
		x.Fatal("no folder")
	}
	return folder{}
}

func (x *running) warning(part string) {
	x.Helper()
	for {
		select {
		case w := <-x.warned:
			if strings.Contains(w, part) {
				return
			}
		case <-time.After(30 * time.Second):
			x.Fatalf("no warning of %q", part)
		}
	}
}

func (x *running) publisher(m *machine, epoch int64) *bus.Publisher {
	return bus.NewPublisher(x.connect(), m.producer(epoch), bus.PublisherOptions{})
}

func (x *running) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func opening(m *machine) *schemas.Control {
	return &schemas.Control{Kind: "open", At: m.at(0), Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1}}
}

func helloOf(m *machine, epoch int64) *schemas.Control {
	return &schemas.Control{Kind: "hello", At: m.at(0), Hello: &schemas.Hello{Epoch: epoch, Kind: "collector", Roles: []string{"sut"}}}
}

func endOf(m *machine, epoch, last int64) *schemas.Control {
	return &schemas.Control{Kind: "end", At: m.at(last * second), End: &schemas.End{Epoch: epoch, LastSeq: last}}
}

// settled waits for what the publisher holds.
func (x *running) settled(p *bus.Publisher) {
	x.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	x.must(p.Close(ctx))
}

// A run goes from publisher to folder, the server away in between; then its messages
// are out of the stream and nothing is left in live.
func TestRunFromPublisherToFolder(t *testing.T) {
	x := newRunning(t, Options{FlushEvery: 20 * time.Millisecond})
	m := host("h")
	p := x.publisher(m, 1)
	x.must(p.Control(opening(m)))
	x.must(p.Control(helloOf(m, 1)))
	for seq := int64(1); seq <= 200; seq++ {
		x.must(p.Tick(cpuTick(m, seq, seq, cpu("0", 10*seq, seq, seq))))
		if seq == 120 {
			x.srv.Close()
			x.serve()
		}
	}
	x.must(p.Control(endOf(m, 1, 200)))
	x.settled(p)
	f := x.folder()
	if f.m.Status != schemas.Complete || f.frame(&schemas.CPU).Rows() != 200 || f.m.Producers[0].Received != 200 {
		t.Errorf("%+v", f.m)
	}
	stream, err := x.conn.Stream(t.Context())
	x.must(err)
	if stream.Bytes != 0 || stream.Last < 203 {
		t.Errorf("%d bytes in the stream, last message %d", stream.Bytes, stream.Last)
	}
	x.stop()
	x.must(<-x.err)
	if live := x.s.Live(); len(live) != 0 {
		t.Errorf("live: %v", live)
	}
}

// The stream is deleted while a run goes on: another is made, and the run is whole.
func TestRunOutlivesItsStream(t *testing.T) {
	x := newRunning(t, Options{FlushEvery: 10 * time.Millisecond})
	m := host("h")
	p := x.publisher(m, 1)
	x.must(p.Control(opening(m)))
	x.must(p.Control(helloOf(m, 1)))
	for seq := int64(1); seq <= 50; seq++ {
		x.must(p.Tick(cpuTick(m, seq, seq, cpu("0", 10*seq, seq, seq))))
	}
	x.settled(p)
	// Wait until all of it is durable here: what is only in the stream goes with it.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if parts, _ := filepath.Glob(filepath.Join(x.s.dir, "live", "RUN", "part-*")); len(parts) > 0 {
			n := int64(0)
			for _, dir := range parts {
				part, err := readPart(dir)
				x.must(err)
				n += part.Tables["cpu"]
			}
			if n == 50 {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no parts")
		}
	}
	nc, err := nats.Connect(x.srv.URL())
	x.must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	x.must(err)
	x.must(js.DeleteStream(t.Context(), bus.StreamName))
	p = x.publisher(m, 1)
	for seq := int64(48); seq <= 60; seq++ {
		x.must(p.Tick(cpuTick(m, seq, seq, cpu("0", 10*seq, seq, seq))))
	}
	x.must(p.Control(helloOf(m, 1)))
	x.must(p.Control(endOf(m, 1, 60)))
	x.settled(p)
	f := x.folder()
	if f.m.Status != schemas.Complete || f.frame(&schemas.CPU).Rows() != 60 || f.m.Producers[0].Duplicates != 3 {
		t.Errorf("%d rows, %+v", f.frame(&schemas.CPU).Rows(), f.m)
	}
}

// The run's number is taken: said once, and others go on.
func TestRunNumberTakenDoesNotStopOthers(t *testing.T) {
	x := newRunning(t, Options{FlushEvery: time.Millisecond})
	m := host("h")
	one := func(run string, number int) {
		p := m.producer(1)
		p.Run = run
		pub := bus.NewPublisher(x.connect(), p, bus.PublisherOptions{})
		o := opening(m)
		o.Open.Run = number
		x.must(pub.Control(o))
		x.must(pub.Control(helloOf(m, 1)))
		x.must(pub.Tick(cpuTick(m, 1, 1, cpu("0", 1, 1, 1))))
		x.must(pub.Control(endOf(m, 1, 1)))
		x.settled(pub)
	}
	one("FIRST", 1)
	x.folder()
	one("SECOND", 1)
	x.warning("another run has this number (FIRST): give the run another number")
	one("THIRD", 2)
	if f := x.folder(); f.m.ID != "THIRD" {
		t.Error(f.m.ID)
	}
	x.stop()
	x.must(<-x.err)
	if live := fmt.Sprint(x.s.Live()); live != "[SECOND]" {
		t.Error(live)
	}
}

// When Run ends, all that it read is durable, and the next one goes on from there.
func TestInterruptMakesAllDurable(t *testing.T) {
	x := newRunning(t, Options{FlushEvery: time.Hour})
	m := host("h")
	p := x.publisher(m, 1)
	x.must(p.Tick(&schemas.Tick{Seq: 1, Rows: nil, Blocks: []schemas.Block{block(&schemas.CPU, m.at(0), cpu("0", 1, 1, 1))}}))
	x.must(p.Control(&schemas.Control{Kind: "hello", At: m.at(0)})) // not whole: the warning tells that all before was read
	x.settled(p)
	x.warning("kept aside")
	x.stop()
	x.must(<-x.err)
	part, err := readPart(filepath.Join(x.s.dir, "live", "RUN", "part-000001"))
	if err != nil || part.Tables["cpu"] != 1 || part.Last != 2 {
		t.Errorf("%+v %v", part, err)
	}
	x.run(Options{FlushEvery: time.Hour, Silence: time.Nanosecond})
	p = x.publisher(m, 2)
	x.must(p.Control(opening(m)))
	x.settled(p)
	f := x.folder()
	if f.m.Status != schemas.Incomplete || f.frame(&schemas.CPU).Rows() != 1 {
		t.Errorf("%+v", f.m)
	}
}

// A data directory that can't be written ends Run with what to do about it.
func TestUnwritableDataDirectoryEndsRun(t *testing.T) {
	x := newRunning(t, Options{FlushEvery: time.Millisecond})
	x.must(os.RemoveAll(filepath.Join(x.s.dir, "live")))
	x.must(os.WriteFile(filepath.Join(x.s.dir, "live"), nil, 0o644))
	m := host("h")
	p := x.publisher(m, 1)
	x.must(p.Tick(cpuTick(m, 1, 1, cpu("0", 1, 1, 1))))
	x.settled(p)
	select {
	case err := <-x.err:
		if err == nil || !strings.Contains(err.Error(), "ingest: run RUN: part: ") || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("goes on")
	}
}

// A server whose stream would lose messages is refused in words, again and again
// until it is put right.
func TestRunWaitsForAStreamThatIsSafe(t *testing.T) {
	x := &running{TB: t, dir: t.TempDir(), sealed: make(chan folder, 10), warned: make(chan string, 1000)}
	x.serve()
	t.Cleanup(func() { x.srv.Close() })
	nc, err := nats.Connect(x.srv.URL())
	x.must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	x.must(err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamName, Subjects: []string{"x"}, MaxAge: time.Hour, Discard: jetstream.DiscardNew, MaxBytes: 1 << 20})
	x.must(err)
	x.conn = x.connect()
	x.s, err = OpenStore(t.TempDir(), nil)
	x.must(err)
	t.Cleanup(x.s.Close)
	x.run(Options{})
	x.warning("it would lose unread messages")
	x.must(js.DeleteStream(t.Context(), bus.StreamName))
	m := host("h")
	for { // Run makes the stream anew
		if _, err := x.conn.Stream(t.Context()); err == nil {
			break
		}
	}
	p := x.publisher(m, 1)
	for _, c := range []*schemas.Control{opening(m), helloOf(m, 1), endOf(m, 1, 0)} {
		x.must(p.Control(c))
	}
	x.settled(p)
	if f := x.folder(); f.m.Status != schemas.Incomplete {
		t.Errorf("%+v", f.m)
	}
}

// Rows that nobody opened a run for are reported while others go on.
func TestRunReportsOrphans(t *testing.T) {
	x := newRunning(t, Options{})
	x.stop()
	x.must(<-x.err)
	x.s.run("RUN").touched = time.Now().Add(-time.Minute)
	l := &loop{s: x.s, conn: x.conn, o: Options{FlushEvery: time.Hour, Silence: time.Hour, Warn: func(err error) { x.warned <- err.Error() }}, stuck: map[string]bool{}}
	x.must(l.handle(t.Context(), nil))
	x.warning("ingest: run RUN: rows came, and nobody said what the run is")
}
