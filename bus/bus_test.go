package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/steadybench/steady/schemas"
)

// line is a server, a connection to it and what a test does with both.
type line struct {
	testing.TB
	dir  string
	port int
	srv  *Server
	conn *Conn
}

func newLine(t testing.TB) *line {
	t.Helper()
	l := &line{TB: t, dir: t.TempDir()}
	l.serve()
	t.Cleanup(func() { l.srv.Close() })
	l.conn = l.connect(l.srv.URL())
	l.ensure(1 << 30)
	return l
}

// serve starts the server, after the first time on the same port and directory.
func (l *line) serve() {
	l.Helper()
	srv, err := StartServer(ServerOptions{Dir: l.dir, Port: l.port})
	if err != nil {
		l.Fatal(err)
	}
	u, err := url.Parse(srv.URL())
	if err != nil {
		l.Fatal(err)
	}
	l.port, _ = strconv.Atoi(u.Port())
	l.srv = srv
}

func (l *line) connect(url string) *Conn {
	l.Helper()
	c, err := Connect(url, "test", false)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(c.Close)
	return c
}

func (l *line) ensure(maxBytes int64) *Stream {
	l.Helper()
	s, err := l.conn.EnsureStream(l.Context(), maxBytes, 1)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

func (l *line) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// until asks until it is so.
func (l *line) until(what string, is func() bool) {
	l.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatal("not so: ", what)
		}
	}
}

func (l *line) stream() *Stream {
	l.Helper()
	s, err := l.conn.Stream(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	return s
}

var errEnough = errors.New("enough")

// all returns the stream's messages up to its last.
func (l *line) all(from uint64) []*Delivery {
	l.Helper()
	s := l.stream()
	var out []*Delivery
	err := l.conn.Consume(l.Context(), s, from, 50*time.Millisecond, func(d *Delivery) error {
		if d != nil {
			out = append(out, d)
		}
		if s.Last == 0 || (d != nil && d.Seq == s.Last) || (d == nil && s.First > s.Last) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		l.Fatal(err)
	}
	return out
}

// seqs are the ticks of the messages, in the stream's order.
func (l *line) seqs(ds []*Delivery) []int64 {
	l.Helper()
	d := schemas.NewDecoder()
	var out []int64
	for _, x := range ds {
		m, err := d.Decode(x.Data)
		if err != nil {
			l.Fatal(err)
		}
		for _, t := range m.Ticks {
			out = append(out, t.Seq)
		}
	}
	return out
}

// inOrder fails unless the ticks are 1 to n, each once.
func (l *line) inOrder(got []int64, n int64) {
	l.Helper()
	for i, seq := range got {
		if seq != int64(i)+1 {
			l.Fatalf("tick %d in place %d", seq, i+1)
		}
	}
	if int64(len(got)) != n {
		l.Fatalf("%d ticks of %d", len(got), n)
	}
}

var producer = schemas.Producer{Run: "RUN", Host: "h", Epoch: 1, BootID: "b"}

// tick is one of so many disks, or of 27 values of paging for none, which can't be
// packed.
func tick(seq int64, devices int) *schemas.Tick {
	r := rand.New(rand.NewPCG(uint64(seq), 1))
	b := schemas.Block{Table: &schemas.Disk}
	if devices == 0 {
		b.Table = &schemas.Paging
	}
	for i := range devices {
		b.Devices = append(b.Devices, fmt.Sprint("sd", i))
	}
	b.Resize(max(devices, 1))
	for i := range b.Values[:min(len(b.Values), max(27, 17*devices))] {
		b.Values[i], b.Known[i] = int64(r.Uint64()), true
	}
	return &schemas.Tick{Seq: seq, Blocks: []schemas.Block{b}}
}

func (l *line) settled(p *Publisher) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l.must(p.Close(ctx))
}

// What is published is delivered in order, each once, from anywhere in the stream.
func TestPublishedIsDeliveredOnceInOrder(t *testing.T) {
	l := newLine(t)
	p := NewPublisher(l.conn, producer, PublisherOptions{})
	for seq := int64(1); seq <= 200; seq++ {
		l.must(p.Tick(tick(seq, 1)))
	}
	l.must(p.Control(&schemas.Control{Kind: "close", At: schemas.Stamp{Host: "h"}}))
	l.settled(p)
	got := l.all(1)
	if c, err := schemas.DecodeControl(got[200].Data); err != nil || c.Kind != "close" || got[200].Subject != "steady.v1.RUN._control" {
		t.Errorf("%+v %v", c, err)
	}
	l.inOrder(l.seqs(got[:200]), 200)
	if later := l.all(151); len(later) != 51 || later[0].Seq != 151 || later[0].Subject != producer.Subject() {
		t.Errorf("from 151: %d", len(later))
	}
	if p.UnackedBytes() != 0 || p.Resent() != 0 {
		t.Errorf("%d bytes, %d sent again", p.UnackedBytes(), p.Resent())
	}
	if l.conn.URL() != l.srv.URL() {
		t.Error(l.conn.URL())
	}
}

// proxy stands between a client and the server, and can keep the server's answers to
// itself.
type proxy struct {
	l     net.Listener
	deaf  atomic.Bool
	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(l *line) *proxy {
	l.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	p := &proxy{l: in}
	to := fmt.Sprintf("127.0.0.1:%d", l.port)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := in.Accept()
			if err != nil {
				return
			}
			srv, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, srv)
			p.mu.Unlock()
			wg.Go(func() { io.Copy(srv, client); srv.Close() })
			wg.Go(func() {
				defer client.Close()
				for buf := make([]byte, 64<<10); ; {
					n, err := srv.Read(buf)
					if err != nil {
						return
					}
					if !p.deaf.Load() {
						client.Write(buf[:n])
					}
				}
			})
		}
	})
	l.Cleanup(func() { in.Close(); p.cut(); wg.Wait() })
	return p
}

func (p *proxy) url() string { return "nats://" + p.l.Addr().String() }

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// The server stored 120 messages and its word was lost: they are sent again under the
// same id, the answer "duplicate" is as good, and each is in the stream once.
func TestLostAcknowledgements(t *testing.T) {
	l := newLine(t)
	x := newProxy(l)
	c := l.connect(x.url())
	p := NewPublisher(c, producer, PublisherOptions{})
	l.must(p.Tick(tick(1, 1)))
	seq := int64(1)
	for range 2 {
		l.until("all acknowledged", func() bool { return p.UnackedBytes() == 0 })
		x.deaf.Store(true)
		for range 60 {
			seq++
			l.must(p.Tick(tick(seq, 1)))
		}
		l.until("all stored", func() bool { return int64(l.stream().Last) == seq })
		if p.UnackedBytes() == 0 {
			t.Fatal("acknowledged all the same")
		}
		x.deaf.Store(false)
		x.cut()
	}
	l.settled(p)
	l.inOrder(l.seqs(l.all(1)), 121)
	if p.Resent() != 120 {
		t.Errorf("%d messages were sent again", p.Resent())
	}
}

// The server is away for a while: its clients hold what they have, up to their bound,
// refuse the rest with an error that counts, and lose nothing of what they took.
func TestServerAwayForAWhile(t *testing.T) {
	l := newLine(t)
	var warned []string
	var mu sync.Mutex
	p := NewPublisher(l.conn, producer, PublisherOptions{Pending: 20000, Warn: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, err.Error())
	}})
	l.must(p.Tick(tick(1, 1)))
	l.until("the first is stored", func() bool { return p.UnackedBytes() == 0 })
	l.srv.Close()
	taken, refused := int64(1), 0
	for seq := int64(2); seq <= 200; seq++ {
		err := p.Tick(tick(seq, 1))
		switch {
		case err == nil && refused == 0:
			taken = seq
		case errors.Is(err, ErrFull) && strings.Contains(err.Error(), "is the server there, and its stream not full?"):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if taken < 20 || refused == 0 || p.UnackedBytes() > 20000 {
		t.Errorf("took %d, refused %d, holds %d bytes", taken, refused, p.UnackedBytes())
	}
	// A control message is never refused.
	l.must(p.Control(&schemas.Control{Kind: "close", At: schemas.Stamp{Host: "h", BootNS: 1}}))
	l.serve()
	l.settled(p)
	got := l.all(1)
	l.inOrder(l.seqs(got[:len(got)-1]), taken)
	mu.Lock()
	defer mu.Unlock()
	if len(warned) != 2 || !strings.Contains(warned[0], "will try again until it works") || !strings.Contains(warned[1], "takes messages again") {
		t.Errorf("warned %q", warned)
	}
}

// Close says what never was acknowledged.
func TestCloseWithoutAServer(t *testing.T) {
	l := newLine(t)
	p := NewPublisher(l.conn, producer, PublisherOptions{})
	l.srv.Close()
	for seq := int64(1); seq <= 3; seq++ {
		l.must(p.Tick(tick(seq, 1)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("bus: 3 messages (%d bytes) were not acknowledged: the run will be incomplete", p.UnackedBytes())) {
		t.Error(err)
	}
	l.serve()
}

// A client may be there before the server.
func TestClientBeforeServer(t *testing.T) {
	l := newLine(t)
	l.srv.Close()
	if _, err := Connect(l.srv.URL(), "test", false); err == nil || !strings.Contains(err.Error(), "start a nats-server with JetStream there, or leave --nats out") {
		t.Error(err)
	}
	c, err := Connect(fmt.Sprintf("nats://127.0.0.1:%d", l.port), "test", true)
	l.must(err)
	defer c.Close()
	p := NewPublisher(c, producer, PublisherOptions{})
	l.must(p.Tick(tick(1, 1)))
	l.serve()
	l.settled(p)
	l.until("connected", l.conn.Connected)
	l.inOrder(l.seqs(l.all(1)), 1)
}

// A full stream refuses messages; the publisher keeps them until there is room, which a
// finished run's purge gives.
func TestFullStream(t *testing.T) {
	l := &line{TB: t, dir: t.TempDir()}
	l.serve()
	t.Cleanup(func() { l.srv.Close() })
	l.conn = l.connect(l.srv.URL())
	s := l.ensure(60000)
	if s.Max != 60000 || s.Last != 0 || !strings.HasPrefix(s.ID(), "STEADY@2") {
		t.Errorf("%+v %s", s, s.ID())
	}
	old := producer
	old.Run = "OLD"
	p := NewPublisher(l.conn, old, PublisherOptions{})
	for seq := int64(1); seq <= 20; seq++ {
		l.must(p.Tick(tick(seq, 10)))
	}
	l.settled(p)
	full := make(chan string, 10)
	p = NewPublisher(l.conn, producer, PublisherOptions{Warn: func(err error) { full <- err.Error() }})
	for seq := int64(1); seq <= 20; seq++ {
		l.must(p.Tick(tick(seq, 10)))
	}
	if got := <-full; !strings.Contains(got, "% full") && !strings.Contains(got, "maximum bytes exceeded") {
		t.Error(got)
	}
	if l.stream().Last == 40 || p.UnackedBytes() == 0 {
		t.Fatal("the stream took all")
	}
	l.must(l.conn.PurgeRun(t.Context(), "OLD"))
	l.settled(p)
	l.inOrder(l.seqs(l.all(1)), 20)
}

// More than the server takes at once is split into as few messages as needed; a single
// tick that is too large is refused by name.
func TestLargerThanTheServerTakes(t *testing.T) {
	l := newLine(t)
	for _, tt := range []struct {
		ticks, devices, messages int
	}{
		{6000, 0, 2}, // of 220 bytes and a number
		{6000, 2, 0},
		{900, 20, 3}, // 2.6 MB
		{100, 1, 1},
	} {
		t.Run(fmt.Sprint(tt.ticks, " of ", tt.devices), func(t *testing.T) {
			from := l.stream().Last + 1
			pr := producer
			pr.Epoch = int64(tt.ticks + tt.devices)
			p := NewPublisher(l.conn, pr, PublisherOptions{})
			var ticks []*schemas.Tick
			for seq := int64(1); seq <= int64(tt.ticks); seq++ {
				ticks = append(ticks, tick(seq, tt.devices))
			}
			whole, err := schemas.NewEncoder(pr).Encode(ticks)
			l.must(err)
			l.must(p.Ticks(ticks))
			l.settled(p)
			got := l.all(from)
			l.inOrder(l.seqs(got), int64(tt.ticks))
			fewest := (len(whole)-1)/(1<<20-headerRoom) + 1
			if len(got) != fewest || (tt.messages > 0 && len(got) != tt.messages) {
				t.Errorf("%d bytes in %d messages, %d would do", len(whole), len(got), fewest)
			}
		})
	}
	p := NewPublisher(l.conn, producer, PublisherOptions{})
	huge := []*schemas.Tick{tick(1, 9000), tick(2, 9000)}
	if err := p.Tick(huge[0]); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "tick 1 has ") || !strings.Contains(err.Error(), "raise max_payload on the server") {
		t.Error(err)
	}
	if err := p.Ticks(huge); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "tick 2 has ") {
		t.Error(err)
	}
	if err := p.Ticks(nil); err == nil {
		t.Error("took nothing")
	}
	l.settled(p)
}

// A message taken before the server's limit was known, and above it, is given up and
// named; those behind it go on.
func TestLimitLearntTooLate(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	c, err := Connect(fmt.Sprintf("nats://127.0.0.1:%d", port), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	warned := make(chan string, 100)
	p := NewPublisher(c, producer, PublisherOptions{Warn: func(err error) { warned <- err.Error() }})
	for seq, devices := range []int{1, 900, 1} {
		if err := p.Tick(tick(int64(seq+1), devices)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 64 << 10, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	l := &line{TB: t}
	l.conn = l.connect(fmt.Sprintf("nats://127.0.0.1:%d", port))
	l.ensure(1 << 20)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.Close(ctx); err == nil || !strings.Contains(err.Error(), "RUN/h/1/2: refused for good: nats: maximum payload exceeded") || strings.Contains(err.Error(), "not acknowledged") {
		t.Error(err)
	}
	if got := fmt.Sprint(l.seqs(l.all(1))); got != "[1 3]" {
		t.Error(got)
	}
}

// Ticks that do not belong together are the caller's mistake, told at once.
func TestTicksOfTwoLayouts(t *testing.T) {
	l := newLine(t)
	p := NewPublisher(l.conn, producer, PublisherOptions{})
	if err := p.Ticks([]*schemas.Tick{tick(1, 1), tick(2, 2)}); !errors.Is(err, schemas.ErrLayout) {
		t.Error(err)
	}
	bad := &schemas.Control{Kind: "open", Open: &schemas.Open{Params: map[string]any{"x": func() {}}}}
	var unsupported *json.UnsupportedTypeError
	if err := p.Control(bad); !errors.As(err, &unsupported) {
		t.Error(err)
	}
	l.settled(p)
}

func TestServerThatCanNotStart(t *testing.T) {
	l := newLine(t)
	if _, err := StartServer(ServerOptions{Dir: t.TempDir(), Port: l.port}); err == nil || !strings.Contains(err.Error(), "address already in use: choose another address with --listen, or use the running server with --nats") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	l.must(os.WriteFile(file, nil, 0o644))
	if _, err := StartServer(ServerOptions{Dir: file}); err == nil || !strings.HasPrefix(err.Error(), "bus: embedded server: ") {
		t.Error(err)
	}
}

// A stream that would lose unread messages is refused, with what to do.
func TestStreamsThatLoseMessages(t *testing.T) {
	l := &line{TB: t, dir: t.TempDir()}
	l.serve()
	t.Cleanup(func() { l.srv.Close() })
	l.conn = l.connect(l.srv.URL())
	for name, cfg := range map[string]jetstream.StreamConfig{
		"age":       {Discard: jetstream.DiscardNew, MaxAge: time.Hour},
		"old first": {Discard: jetstream.DiscardOld, MaxBytes: 1 << 20},
		"interest":  {Discard: jetstream.DiscardNew, Retention: jetstream.InterestPolicy},
		"memory":    {Discard: jetstream.DiscardNew, Storage: jetstream.MemoryStorage},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Name, cfg.Subjects = StreamName, []string{"steady.v1.>"}
			if _, err := l.conn.js.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			_, err := l.conn.EnsureStream(t.Context(), 1<<20, 1)
			if err == nil || !strings.Contains(err.Error(), "delete it, steady makes its own") {
				t.Error(err)
			}
			l.must(l.conn.js.DeleteStream(t.Context(), StreamName))
		})
	}
	if _, err := l.conn.Stream(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Error(err)
	}
	if err := l.conn.PurgeRun(t.Context(), "RUN"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Error(err)
	}
	s := l.ensure(1 << 20)
	if again := l.ensure(1 << 30); !again.Created.Equal(s.Created) || again.Max != 1<<20 {
		t.Errorf("%+v, then %+v", s, again)
	}
}

func TestServerWithoutJetStream(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	l := &line{TB: t}
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("not ready")
	}
	c := l.connect(s.ClientURL())
	if _, err := c.EnsureStream(t.Context(), 1<<20, 1); err == nil || !strings.Contains(err.Error(), "the server runs without JetStream: start it with -js") {
		t.Error(err)
	}
}

// Consume ends with what ended it: its handler, its context, its stream.
func TestConsumeEnds(t *testing.T) {
	l := newLine(t)
	p := NewPublisher(l.conn, producer, PublisherOptions{})
	l.must(p.Tick(tick(1, 1)))
	l.settled(p)
	if err := l.conn.Consume(t.Context(), l.stream(), 1, time.Second, func(*Delivery) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Error(err)
	}
	if err := l.conn.Consume(t.Context(), l.stream(), 2, time.Millisecond, func(d *Delivery) error {
		if d != nil {
			t.Error("a message before the one asked for")
		}
		return errEnough
	}); !errors.Is(err, errEnough) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := l.conn.Consume(ctx, l.stream(), 1, time.Millisecond, func(*Delivery) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, anew := range []bool{false, true} {
		s := l.ensure(1 << 20)
		did := false
		err := l.conn.Consume(t.Context(), s, 1, 10*time.Millisecond, func(*Delivery) error {
			if did {
				return nil
			}
			did = true
			l.must(l.conn.js.DeleteStream(t.Context(), StreamName))
			if anew {
				l.ensure(1 << 20)
			}
			return nil
		})
		if err == nil || errors.Is(err, errEnough) {
			t.Errorf("anew %v: %v", anew, err)
		}
		if anew && !errors.Is(err, ErrOtherStream) {
			t.Logf("told as %v", err)
		}
		if anew {
			if err := l.conn.same(t.Context(), s); !errors.Is(err, ErrOtherStream) {
				t.Error(err)
			}
		} else if err := l.conn.same(t.Context(), s); !errors.Is(err, ErrOtherStream) {
			t.Error(err)
		}
	}
}

// Waiting grows to two seconds.
func TestBackoff(t *testing.T) {
	var b backoff
	for _, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
		if got := b.longer(); got != want*time.Millisecond {
			t.Errorf("%s, want %d ms", got, want)
		}
	}
}
