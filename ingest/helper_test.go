package ingest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

const second = int64(time.Second)

// bootStart is the boot time clock at the start of every run made here.
const bootStart = 5000 * second

// wallStart is the wall clock at that moment.
var wallStart = time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC).UnixNano()

// machine is a host in one of its boots, with the clocks it had at the start.
type machine struct {
	host, bootID string
	wall, boot   int64
}

func host(name string) *machine {
	return &machine{host: name, bootID: "boot-a", wall: wallStart, boot: bootStart}
}

// at is a moment so many nanoseconds after the start.
func (m *machine) at(ns int64) schemas.Stamp {
	return schemas.Stamp{Host: m.host, WallNS: m.wall + ns, BootNS: m.boot + ns, BootID: m.bootID}
}

func (m *machine) producer(epoch int64) schemas.Producer {
	return schemas.Producer{Run: "RUN", Host: m.host, Epoch: epoch, BootID: m.bootID}
}

// row is one device's reading; a column not named is null.
type row struct {
	device string
	v      map[string]int64
}

func block(t *schemas.Table, at schemas.Stamp, rows ...row) schemas.Block {
	b := schemas.Block{Table: t, WallNS: at.WallNS, BootNS: at.BootNS}
	b.Resize(len(rows))
	for i, r := range rows {
		if t.Device != "" {
			b.Devices = append(b.Devices, r.device)
		}
		for name, v := range r.v {
			b.Set(i, t.Column(name), v)
		}
	}
	return b
}

func tick(seq int64, blocks ...schemas.Block) *schemas.Tick {
	return &schemas.Tick{Seq: seq, Blocks: blocks}
}

// message is one message of a stream.
type message struct {
	subject string
	data    []byte
}

func encoded(t testing.TB, p schemas.Producer, ticks ...*schemas.Tick) message {
	t.Helper()
	data, err := schemas.NewEncoder(p).Encode(ticks)
	if err != nil {
		t.Fatal(err)
	}
	return message{p.Subject(), data}
}

func control(t testing.TB, c schemas.Control) message {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return message{schemas.ControlSubject("RUN"), data}
}

// rig is a store that reads a stream kept here, as it would read a server's.
type rig struct {
	testing.TB
	dir    string
	s      *Store
	id     string // the stream's
	stream []message
	next   int // first message that the store has not been given
	warned []string
}

func newRig(t testing.TB) *rig {
	r := &rig{TB: t, dir: t.TempDir(), id: "STEADY@1"}
	r.open()
	t.Cleanup(func() { r.s.Close() })
	return r
}

func (r *rig) open() {
	r.Helper()
	s, err := OpenStore(r.dir, func(err error) { r.warned = append(r.warned, err.Error()) })
	if err != nil {
		r.Fatal(err)
	}
	r.s = s
	r.next = int(s.Begin(r.id)) - 1
}

// reopen ends the store as a kill would, without a word, and opens it again.
func (r *rig) reopen() {
	r.Helper()
	r.s.Close()
	r.open()
}

// read gives the store what it has not read yet.
func (r *rig) read() {
	r.Helper()
	for ; r.next < len(r.stream); r.next++ {
		m := r.stream[r.next]
		r.s.Add(uint64(r.next+1), m.subject, m.data)
	}
}

func (r *rig) send(m ...message) {
	r.Helper()
	r.stream = append(r.stream, m...)
	r.read()
}

func (r *rig) control(c schemas.Control) {
	r.Helper()
	r.send(control(r, c))
}

func (r *rig) tick(p schemas.Producer, ticks ...*schemas.Tick) {
	r.Helper()
	r.send(encoded(r, p, ticks...))
}

func (r *rig) flush() {
	r.Helper()
	if err := r.s.Flush(); err != nil {
		r.Fatal(err)
	}
}

// begin opens the run on m and says hello for its collectors' epochs.
func (r *rig) begin(m *machine, epochs ...int64) {
	r.Helper()
	r.control(schemas.Control{Kind: "open", At: m.at(0), Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1}})
	for _, e := range epochs {
		r.hello(m, e)
	}
}

func (r *rig) hello(m *machine, epoch int64) {
	r.Helper()
	r.control(schemas.Control{Kind: "hello", At: m.at(0), Hello: &schemas.Hello{Epoch: epoch, Kind: "collector", Roles: []string{"sut"}, IntervalNS: second}})
}

func (r *rig) end(m *machine, epoch, last int64) {
	r.Helper()
	r.control(schemas.Control{Kind: "end", At: m.at(last * second), End: &schemas.End{Epoch: epoch, LastSeq: last}})
}

// folder is a finished run.
type folder struct {
	testing.TB
	dir string
	m   *schemas.Manifest
}

func (r *rig) finish() folder {
	r.Helper()
	dir, m, err := r.s.Finish("RUN", "")
	if err != nil {
		r.Fatal(err)
	}
	return folder{r.TB, dir, m}
}

// frame returns a table of the folder, or an empty one where there is no file.
func (f folder) frame(t *schemas.Table) columns.Frame {
	f.Helper()
	if !slices.ContainsFunc(f.m.Tables, func(x schemas.TableFile) bool { return x.Table == t.Name }) {
		return fileFrame(t)
	}
	p, err := columns.Open(filepath.Join(f.dir, t.Name+".parquet"))
	if err != nil {
		f.Fatal(err)
	}
	defer p.Close()
	out, err := p.Read()
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// lines are the rows of a table as text, "-" for null, only those columns.
func (f folder) lines(t *schemas.Table, names ...string) []string {
	f.Helper()
	return lines(f.frame(t), names...)
}

func lines(in columns.Frame, names ...string) []string {
	var out []string
	for i := range in.Rows() {
		var words []string
		for _, n := range names {
			words = append(words, cell(in.Column(n), i))
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func cell(c *columns.Column, i int) string {
	switch {
	case c.Null(i):
		return "-"
	case c.Type == schemas.Float64:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 64)
	case c.Type == schemas.String:
		return c.Texts[i]
	case c.Type == schemas.Bytes:
		return fmt.Sprintf("%x", c.Blobs[i])
	}
	return strconv.FormatInt(c.Ints[i], 10)
}

// notes are the rows of quality but for the first readings.
func (f folder) notes() []string {
	f.Helper()
	return slices.DeleteFunc(f.lines(&schemas.Quality, "seq", "table", "column", "part", "reason", "previous", "current"),
		func(s string) bool { return strings.Contains(s, " first ") })
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func ptr[T any](v T) *T { return &v }
