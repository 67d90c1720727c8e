package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/schemas"
)

// source is a source of table load that counts its readings.
type source struct{ n int64 }

func (s *source) Name() string             { return "made" }
func (s *source) Tables() []*schemas.Table { return []*schemas.Table{&schemas.Load} }
func (s *source) Close() error             { return nil }
func (s *source) Sample(b []schemas.Block) error {
	s.n++
	b[0].WallNS, b[0].BootNS = collector.Now()
	b[0].Resize(1)
	b[0].Set(0, 0, s.n)
	return nil
}

// load emits a row each 20 ms until it is ended, or until it fails.
type load struct {
	startBootNS int64
	fails       error
	began       chan struct{} // closed with the sixth row
}

func (l *load) Run(ctx context.Context, emit func(schemas.Row)) error {
	if !workload.SleepUntil(ctx, l.startBootNS) {
		return nil
	}
	for k := 0; ; k++ {
		wall, boot := collector.Now()
		row := schemas.NewRow(&schemas.Workload, wall, boot, 20e6)
		row.SetFloat("operations", 10)
		emit(row)
		if k == 5 { // by then the collector has begun too
			close(l.began)
		}
		if k == 2 && l.fails != nil {
			return l.fails
		}
		if !workload.SleepUntil(ctx, boot+20e6) {
			return nil
		}
	}
}

// told is what a run's stream held.
type told struct {
	controls []schemas.Control
	rows     map[string]int64 // by table
	last     map[int64]int64  // sequence number by epoch
}

// lab is a server and a controller on it.
type lab struct {
	conn *bus.Conn
	Controller
	mu     sync.Mutex
	warned []string
	phases []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	s, err := bus.StartServer(bus.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := bus.Connect(s.URL(), "test", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.EnsureStream(t.Context(), 1<<26, 1); err != nil {
		t.Fatal(err)
	}
	l := &lab{conn: c}
	l.Controller = Controller{Conn: c, Interval: 20 * time.Millisecond,
		Host: Host{Name: "h", Roles: []string{"sut", "load"}, BootID: "b", Facts: map[string]string{"cpus": "2"},
			Sources: func([]workload.Watch) ([]collector.Source, map[string]string, error) {
				return []collector.Source{&source{}}, map[string]string{"pressure": "none"}, nil
			}},
		Warn: func(err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.warned = append(l.warned, err.Error())
		},
		Phase: func(_ *Run, phase string, _ time.Duration) { l.phases = append(l.phases, phase) }}
	return l
}

// read returns what the stream holds.
func (l *lab) read(t *testing.T) told {
	t.Helper()
	s, err := l.conn.Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := told{rows: map[string]int64{}, last: map[int64]int64{}}
	d := schemas.NewDecoder()
	all := errors.New("all is read")
	err = l.conn.Consume(t.Context(), s, 1, time.Second, func(m *bus.Delivery) error {
		if m == nil {
			return errors.New("nothing came for a second")
		}
		if strings.HasSuffix(m.Subject, "._control") {
			c, err := schemas.DecodeControl(m.Data)
			if err != nil {
				return err
			}
			out.controls = append(out.controls, *c)
		} else {
			x, err := d.Decode(m.Data)
			if err != nil {
				return err
			}
			for _, tick := range x.Ticks {
				out.last[x.Epoch] = max(out.last[x.Epoch], tick.Seq)
				for _, b := range tick.Blocks {
					out.rows[b.Table.Name] += int64(b.Rows())
				}
				for _, r := range tick.Rows {
					out.rows[r.Table.Name]++
				}
			}
		}
		if m.Seq == s.Last {
			return all
		}
		return nil
	})
	if !errors.Is(err, all) {
		t.Fatal(err)
	}
	return out
}

// collector returns the kinds of the controls but those of the workload, in order.
func (x *told) collector() (kinds []string) {
	gen := x.hello("workload")
	for _, c := range x.controls {
		if gen != nil && (c.Hello != nil && c.Hello.Epoch == gen.Epoch || c.End != nil && c.End.Epoch == gen.Epoch) {
			continue
		}
		kinds = append(kinds, c.Kind)
	}
	return kinds
}

func (x *told) hello(kind string) *schemas.Hello {
	for _, c := range x.controls {
		if c.Hello != nil && c.Hello.Kind == kind {
			return c.Hello
		}
	}
	return nil
}

func (x *told) end(epoch int64) *schemas.End {
	for _, c := range x.controls {
		if c.End != nil && c.End.Epoch == epoch {
			return c.End
		}
	}
	return nil
}

func (x *told) abort() (c schemas.Control) {
	for _, c := range x.controls {
		if c.Kind == "abort" {
			return c
		}
	}
	return c
}

func (x *told) at(kind, phase string) int64 {
	for _, c := range x.controls {
		if c.Kind == kind && c.Phase == phase {
			return c.At.BootNS
		}
	}
	return 0
}

// whole checks that both producers said their end and all that they sent is there.
func (x *told) whole(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"collector", "workload"} {
		h := x.hello(kind)
		if h == nil {
			t.Fatalf("no hello of %s", kind)
		}
		if e := x.end(h.Epoch); e == nil || e.LastSeq == 0 || x.last[h.Epoch] != e.LastSeq {
			t.Errorf("%s: last is %d, its end says %+v", kind, x.last[h.Epoch], e)
		}
	}
	if x.rows["load"] == 0 || x.rows["workload"] == 0 || x.rows["collector"] == 0 {
		t.Errorf("rows %v", x.rows)
	}
}

// driven returns a run of two phases with the load, and how often its clean-up ran.
func driven(l *load, measure time.Duration) (*Run, *int) {
	l.began = make(chan struct{})
	cleaned := new(int)
	return &Run{Open: schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Slot: 4, Params: map[string]any{"n": 1.0}},
		Length: 100*time.Millisecond + measure,
		Setup: func(context.Context) (*workload.Session, error) {
			return &workload.Session{Job: func(start int64) workload.Job {
				l.startBootNS = start
				return &workload.Timed{Load: l, StartBootNS: start, Phases: []workload.Phase{{Name: "warmup", Duration: 100 * time.Millisecond}, {Name: "measure", Duration: measure}}}
			}, Stop: func() error { *cleaned++; return nil }, Facts: map[string]string{"tool": "made"}}, nil
		}}, cleaned
}

func TestRunToItsEnd(t *testing.T) {
	l := newLab(t)
	r, cleaned := driven(&load{}, 200*time.Millisecond)
	if err := l.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	x := l.read(t)
	if want := []string{"open", "hello", "phase", "phase", "phase", "end", "close"}; !slices.Equal(x.collector(), want) {
		t.Errorf("controls %q, want %q", x.collector(), want)
	}
	if !slices.Equal(l.phases, []string{"warmup", "measure", "cooldown"}) || *cleaned != 1 || len(l.warned) > 0 {
		t.Errorf("phases %q, clean-ups %d, warnings %q", l.phases, *cleaned, l.warned)
	}
	start := x.at("open", "")
	if a, b, c := x.at("phase", "warmup")-start, x.at("phase", "measure")-start, x.at("phase", "cooldown")-start; a != 0 || b != 100e6 || c != 300e6 {
		t.Errorf("the phases begin at %d and %d ns and end at %d", a, b, c)
	}
	i := slices.IndexFunc(x.controls, func(c schemas.Control) bool { return c.Open != nil })
	o := x.controls[i].Open // the workload's hello may come before it
	if !o.Controlled || o.Hosts != 1 || o.Slot != 4 || o.Params["n"] != 1.0 || len(r.ID) != 26 {
		t.Errorf("id %q, %+v", r.ID, o)
	}
	x.whole(t)
	// A tick at the start, one each 20 ms, and one at the end: taken, or missed.
	if e := x.end(x.hello("collector").Epoch); e.LastSeq+e.Missed != 16 {
		t.Errorf("the collector's end: %+v, want 16 ticks", e)
	}
	if h := x.hello("collector"); h.Facts["cpus"] != "2" || h.Facts["tool"] != "made" || h.Absent["pressure"] != "none" || h.IntervalNS != 20e6 {
		t.Errorf("hello %+v", h)
	}
}

func TestLoadThatCannotBeDriven(t *testing.T) {
	l := newLab(t)
	r, cleaned := driven(&load{fails: errors.New("no such server")}, time.Minute)
	began := time.Now()
	err := l.Do(t.Context(), r)
	if err == nil || err.Error() != "campaign: e/s/c/01: no such server" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to see it", took)
	}
	x := l.read(t)
	k := x.collector()
	if n := len(k); n < 4 || k[n-1] != "abort" || k[n-2] != "end" {
		t.Errorf("controls %q", k)
	}
	if c := x.abort(); c.Cause != "no such server" || c.At.BootNS-x.at("open", "") > 20e9 {
		t.Errorf("%+v, %d ns after the start", c, c.At.BootNS-x.at("open", ""))
	}
	if *cleaned != 1 {
		t.Errorf("%d clean-ups", *cleaned)
	}
	x.whole(t)
}

func TestInterruptKeepsRows(t *testing.T) {
	l := newLab(t)
	driver := &load{}
	r, cleaned := driven(driver, time.Minute)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-driver.began
		interrupt()
	}()
	err := l.Do(ctx, r)
	if !errors.Is(err, ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	x := l.read(t)
	if k := x.collector(); k[len(k)-1] != "abort" || *cleaned != 1 {
		t.Errorf("controls %q, clean-ups %d", k, *cleaned)
	}
	if c := x.abort(); c.Cause != "interrupted" || c.At.BootNS-x.at("open", "") > 20e9 {
		t.Errorf("%+v", c)
	}
	x.whole(t)
}

func TestSetupThatFails(t *testing.T) {
	l := newLab(t)
	broken := errors.New("broken")
	r := &Run{Open: schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1},
		Setup: func(context.Context) (*workload.Session, error) { return nil, broken }}
	if err := l.Do(t.Context(), r); !errors.Is(err, broken) || !strings.Contains(err.Error(), "e/s/c/01: set-up") {
		t.Errorf("got %v", err)
	}
	if s, err := l.conn.Stream(t.Context()); err != nil || s.Last != 0 {
		t.Errorf("%v: a run that never began is in the stream: %+v", err, s)
	}
}

func TestCleanupThatFails(t *testing.T) {
	l := newLab(t)
	r, _ := driven(&load{}, 50*time.Millisecond)
	setup, broken := r.Setup, errors.New("broken")
	r.Setup = func(ctx context.Context) (*workload.Session, error) {
		s, err := setup(ctx)
		s.Stop = func() error { return broken }
		return s, err
	}
	if err := l.Do(t.Context(), r); !errors.Is(err, broken) || !strings.Contains(err.Error(), "clean-up") {
		t.Errorf("got %v", err)
	}
	x := l.read(t)
	if k := x.collector(); k[len(k)-1] != "close" {
		t.Errorf("controls %q", k)
	}
}

func TestRunWithoutLoad(t *testing.T) {
	l := newLab(t)
	r := &Run{Open: schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1}, Length: 60 * time.Millisecond}
	if err := l.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	x := l.read(t)
	if want := []string{"open", "hello", "end", "close"}; !slices.Equal(x.collector(), want) || x.hello("workload") != nil {
		t.Errorf("controls %q", x.collector())
	}
}

func TestOrder(t *testing.T) {
	abc := []string{"A", "B", "C"}
	for repeats, want := range map[int]string{0: "", 1: "ABC", 2: "ABCCBA", 3: "ABCCBAABC", 4: "ABCCBAABCCBA"} {
		if got := strings.Join(Order(abc, repeats), ""); got != want {
			t.Errorf("%d: %s, want %s", repeats, got, want)
		}
	}
}

func TestSharedRunID(t *testing.T) {
	// Hosts with different releases must come together: never another one.
	const want = "67956A57ZRZYAQ81DE24BDPJWN"
	if got := SharedRunID("e", "s", "c", 1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, id := range []string{SharedRunID("e", "s", "c", 1), SharedRunID("e", "s", "c", 2), SharedRunID("e", "sc", "", 1), SharedRunID("es", "", "c", 1), SharedRunID("e", "s", "c1", 1)} {
		if seen[id] || len(id) != 26 {
			t.Errorf("%q twice, or no ULID", id)
		}
		seen[id] = true
	}
	if a, b := NewRunID(), NewRunID(); a == b || len(a) != 26 {
		t.Errorf("%s and %s", a, b)
	}
}

func TestFacts(t *testing.T) {
	f := Facts()
	for _, k := range []string{"cpus", "kernel", "architecture"} {
		if f[k] == "" {
			t.Errorf("no %s", k)
		}
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}
