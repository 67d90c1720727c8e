package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/schemas"
)

// Environment of the process that is killed.
const (
	childURL   = "INGEST_TEST_URL"
	childData  = "INGEST_TEST_DATA"
	childKill  = "INGEST_TEST_KILL_BEFORE" // number of the step, from 1; 0: none
	childEvery = "INGEST_TEST_FLUSH_EVERY" // messages; 0: as Run does, after each
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child ingests one run and ends; each step is a line on stdout. Before the step
// asked for it kills itself.
func child() error {
	killBefore, _ := strconv.Atoi(os.Getenv(childKill))
	every, _ := strconv.Atoi(os.Getenv(childEvery))
	s, err := OpenStore(os.Getenv(childData), nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := ReadManifest(killedFolder(os.Getenv(childData))); err == nil && len(s.Live()) == 0 {
		return nil // only the last step was cut off
	}
	steps := 0
	s.step = func(what string) {
		steps++
		if steps == killBefore {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Println(what)
	}
	conn, err := bus.Connect(os.Getenv(childURL), "ingest", false)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	done := false
	o := Options{FlushEvery: time.Hour, Silence: time.Hour, Warn: func(error) {}, Sealed: func(string, *schemas.Manifest) { done = true; cancel() }}
	if every == 0 {
		o.FlushEvery = 1
		err = Run(ctx, conn, s, o)
	} else {
		err = ingestEvery(ctx, conn, s, o, every)
	}
	if !done {
		return fmt.Errorf("not finished: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}

// ingestEvery is Run with a part each so many messages.
func ingestEvery(ctx context.Context, conn *bus.Conn, s *Store, o Options, every int) error {
	stream, err := conn.EnsureStream(ctx, bus.DefaultStreamBytes, 1)
	if err != nil {
		return err
	}
	l := &loop{s: s, conn: conn, o: o, flushed: time.Now(), looked: time.Now().Add(time.Hour), stuck: map[string]bool{}}
	return conn.Consume(ctx, stream, s.Begin(stream.ID()), 10*time.Millisecond, func(d *bus.Delivery) error {
		if err := l.handle(ctx, d); err != nil {
			return err
		}
		if d != nil && d.Seq%uint64(every) == 0 {
			return s.Flush()
		}
		return nil
	})
}

var reasonRE = regexp.MustCompile(`message [0-9]+ of`)

func killedFolder(data string) string { return RunDir(data, "e", "s", "c", 1) }

// killedRun is the same messages each time: two hosts, 300 ticks each, with a device
// that comes and goes, ten ticks refused, a message that came twice and a damaged one.
func killedRun(t testing.TB) []message {
	a, b := host("a"), host("b")
	b.boot, b.bootID = 77*second, "boot-b"
	var out []message
	say := func(m *machine, at int64, c schemas.Control) {
		c.At = m.at(at)
		out = append(out, control(t, c))
	}
	say(a, 0, schemas.Control{Kind: "open", Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 2, Controlled: true}})
	for i, m := range []*machine{a, b} {
		say(m, 0, schemas.Control{Kind: "hello", Hello: &schemas.Hello{Epoch: int64(i), Kind: "collector", Roles: []string{"sut"}}})
	}
	say(a, 1, schemas.Control{Kind: "phase", Phase: "measure"})
	for from := int64(1); from <= 300; from += 10 {
		for i, m := range []*machine{a, b} {
			var ticks []*schemas.Tick
			for seq := from; seq < from+10; seq++ {
				at := m.at(seq * second)
				rows := []row{{"0", map[string]int64{"user_ticks": 7 * seq * seq, "idle_ticks": seq}}}
				if seq < 120 || seq > 180 {
					rows = append(rows, row{"1", map[string]int64{"user_ticks": -5 + seq}})
				}
				if len(ticks) > 0 && len(rows) != len(ticks[0].Blocks[0].Devices) {
					out = append(out, encoded(t, m.producer(int64(i)), ticks...))
					ticks = nil
				}
				ticks = append(ticks, tick(seq, block(&schemas.CPU, at, rows...), block(&schemas.Load, at, row{v: map[string]int64{"ldavg_1": seq % 7}})))
			}
			x := encoded(t, m.producer(int64(i)), ticks...)
			switch {
			case from == 51 && i == 1: // refused
			case from == 91 && i == 0:
				out = append(out, x, x)
			case from == 141 && i == 1:
				damaged := bytes.Clone(x.data)
				damaged[len(damaged)/2] ^= 1
				out = append(out, x, message{x.subject, damaged})
			default:
				out = append(out, x)
			}
		}
	}
	say(a, 300*second, schemas.Control{Kind: "end", End: &schemas.End{Epoch: 0, LastSeq: 300}})
	say(b, 300*second, schemas.Control{Kind: "end", End: &schemas.End{Epoch: 1, LastSeq: 300, Refused: []schemas.Range{{First: 51, Last: 60}}}})
	say(a, 300*second, schemas.Control{Kind: "close"})
	return out
}

// server is one that children read from, and the run to be read.
type killServer struct {
	testing.TB
	url string
	js  jetstream.JetStream
	run []message
}

func newKillServer(t testing.TB) *killServer {
	t.Helper()
	srv, err := bus.StartServer(bus.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	conn, err := bus.Connect(srv.URL(), "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.EnsureStream(context.Background(), 1<<30, 1); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &killServer{TB: t, url: srv.URL(), js: js, run: killedRun(t)}
}

// publish puts the whole run into the stream, in order.
func (k *killServer) publish() {
	k.Helper()
	var acks []jetstream.PubAckFuture
	for _, m := range k.run {
		f, err := k.js.PublishAsync(m.subject, m.data)
		if err != nil {
			k.Fatal(err)
		}
		acks = append(acks, f)
	}
	for _, f := range acks {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			k.Fatal(err)
		}
	}
}

// child runs the process and returns its steps and whether it was killed.
func (k *killServer) child(data string, killBefore, every int) (steps []string, killed bool) {
	k.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+k.url, childData+"="+data, childKill+"="+strconv.Itoa(killBefore), childEvery+"="+strconv.Itoa(every))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
		steps = append(steps, in.Text())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return steps, true
	}
	if err != nil {
		k.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return steps, false
}

// check compares a finished data directory with an undisturbed one.
func (k *killServer) check(data string, want folder) {
	k.Helper()
	m, err := ReadManifest(killedFolder(data))
	if err != nil {
		k.Fatal(err)
	}
	if got, want := withoutStream(k, m), withoutStream(k, want.m); got != want {
		k.Errorf("manifest, with the files' checksums:\n%s\nwant\n%s", got, want)
	}
	for _, x := range m.Tables {
		t, _ := schemas.Lookup(x.Table)
		if got := (folder{k.TB, killedFolder(data), m}).frame(t); !reflect.DeepEqual(got, want.frame(t)) {
			k.Errorf("table %s has other rows", x.Table)
		}
	}
	left, err := os.ReadDir(filepath.Join(data, "live"))
	if err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		k.Errorf("left in live: %v %v", left, err)
	}
}

func withoutStream(t testing.TB, m *schemas.Manifest) string {
	c := *m
	c.Stream = ""
	b, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// The damaged message's number depends on what the stream held before.
	return reasonRE.ReplaceAllString(string(b), "message N of")
}

// undisturbed ingests the run once without a kill.
func (k *killServer) undisturbed(every int) (want folder, steps []string) {
	k.Helper()
	data := k.TempDir()
	k.publish()
	steps, killed := k.child(data, 0, every)
	if killed {
		k.Fatal("killed by itself")
	}
	m, err := ReadManifest(killedFolder(data))
	if err != nil {
		k.Fatal(err)
	}
	want = folder{k.TB, killedFolder(data), m}
	// What must be in it, told without the code under test: 290 + 300 ticks; of each
	// 239 with two CPUs, less ten of the lost ones.
	if n := want.frame(&schemas.CPU).Rows(); n != 2*300+2*239-20 {
		k.Fatalf("%d rows of cpu", n)
	}
	if n := want.frame(&schemas.Load).Rows(); n != 590 {
		k.Fatalf("%d rows of load", n)
	}
	return want, steps
}

// However the process ends, the next one makes the same folder: killed before every
// single step of parts, folder, purge and removal.
func TestKilledBeforeEveryStep(t *testing.T) {
	const every = 20
	want, steps := newKillServer(t).undisturbed(every)
	const workers = 3
	for w := range workers {
		t.Run(fmt.Sprint("worker", w), func(t *testing.T) {
			t.Parallel()
			k := newKillServer(t)
			kills := 0
			for n := 1 + w; n <= len(steps); n += workers {
				data := t.TempDir()
				k.publish()
				if _, killed := k.child(data, n, every); !killed {
					t.Fatalf("step %d of %d: not reached", n, len(steps))
				}
				kills++
				k.child(data, 0, every)
				k.check(data, want)
				if t.Failed() {
					t.Fatalf("after a kill before step %d (%s)", n, steps[n-1])
				}
			}
			t.Logf("%d steps in all, %d kills here", len(steps), kills)
		})
	}
}

// Twenty kills at random steps, one after the other, with a part a message.
func TestKilledAtRandom(t *testing.T) {
	k := newKillServer(t)
	want, steps := k.undisturbed(0)
	r := rand.New(rand.NewPCG(20, 26))
	kills, runs := 0, 0
	for kills < 20 {
		data := t.TempDir()
		k.publish()
		for kills < 20 {
			if _, killed := k.child(data, 1+r.IntN(len(steps)/6), 0); !killed {
				break
			}
			kills++
		}
		k.child(data, 0, 0)
		k.check(data, want)
		runs++
	}
	t.Logf("%d steps in an undisturbed run, %d kills in %d runs", len(steps), kills, runs)
}
