package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func ran(seq int64, m *machine, name string, data []byte) *schemas.Tick {
	at := m.at(seq * second)
	return &schemas.Tick{Seq: seq, Rows: schemas.OutputRows(at.WallNS, at.BootNS, name, data)}
}

func outputs(f folder) map[string]string {
	out := map[string]string{}
	for _, o := range f.m.Outputs {
		b, err := os.ReadFile(filepath.Join(f.dir, "tool-output", o.Name))
		if err != nil {
			f.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if int64(len(b)) != o.Bytes || hex.EncodeToString(sum[:]) != o.SHA256 {
			f.Errorf("%s is not as the manifest says", o.Name)
		}
		out[o.Name] = string(b)
	}
	return out
}

// What a tool printed is a file again, byte for byte, however it was cut, and whatever
// came in between or twice.
func TestToolOutputIsWhole(t *testing.T) {
	r := newRig(t)
	m := host("sut")
	r.begin(m, 1)
	long := bytes.Repeat([]byte("0123456789\x00\n"), schemas.OutputPiece/5)
	r.tick(m.producer(1), ran(1, m, "wrk.txt", []byte("Running 10s test\n")), ran(2, m, "wrk.txt", long))
	r.flush()
	r.tick(m.producer(1), ran(2, m, "wrk.txt", long))
	r.tick(m.producer(1), ran(3, m, "../../../etc/x", []byte("no\n")), ran(4, m, "empty", nil), ran(5, m, "wrk.txt", []byte("done")))
	r.end(m, 1, 5)
	f := r.finish()
	got := outputs(f)
	if len(got) != 3 || got["wrk.txt"] != "Running 10s test\n"+string(long)+"done" || got[".._.._.._etc_x"] != "no\n" || got["empty"] != "" {
		t.Errorf("%d files", len(got))
		for name, text := range got {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "output.parquet")); err == nil {
		t.Error("pieces of files are no table")
	}
}

func TestToolOutputOfTwoHosts(t *testing.T) {
	r := newRig(t)
	a, b := host("a"), host("b")
	r.begin(a, 1)
	r.hello(b, 2)
	r.tick(a.producer(1), ran(1, a, "log", []byte("of a")))
	r.tick(b.producer(2), ran(1, b, "log", []byte("of b")))
	r.end(a, 1, 1)
	r.end(b, 2, 1)
	got := outputs(r.finish())
	if len(got) != 2 || got[schemas.HostToken("a")+"/log"] != "of a" || got[schemas.HostToken("b")+"/log"] != "of b" {
		t.Errorf("%q", got)
	}
}

// later makes a second live run of the same folder's name, which is to be added to it.
func (r *rig) later(m *machine, epoch int64, ticks ...*schemas.Tick) {
	r.Helper()
	n := r.s.Begin("made here")
	r.s.AddControl(n, "LATER", &schemas.Control{Kind: "open", At: m.at(0), Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1, Params: map[string]any{"clients": 3}}})
	r.s.AddControl(n+1, "LATER", &schemas.Control{Kind: "hello", At: m.at(0), Hello: &schemas.Hello{Epoch: epoch, Kind: "import", Roles: []string{"load"}, Facts: map[string]string{"tool": "wrk"}}})
	p := m.producer(epoch)
	p.Run = "LATER"
	for i, x := range ticks {
		r.s.AddMessage(n+2+uint64(i), &schemas.Message{Producer: p, Ticks: []schemas.Tick{*x}})
	}
	r.s.AddControl(n+100, "LATER", &schemas.Control{Kind: "end", At: m.at(9 * second), End: &schemas.End{Epoch: epoch, LastSeq: int64(len(ticks))}})
}

// A folder that is added to has the rows of both, in order, and is otherwise what it was.
func TestAddToAFolder(t *testing.T) {
	r := newRig(t)
	m := host("sut")
	r.begin(m, 1)
	for s := range int64(3) {
		r.tick(m.producer(1), tick(s+1, block(&schemas.Load, m.at(s*second), row{"", map[string]int64{"runq_sz": s}}),
			block(&schemas.Disk, m.at(s*second), row{"sda", map[string]int64{"reads": 10 * s}})))
	}
	r.tick(m.producer(1), ran(4, m, "log.txt", []byte("first")))
	r.end(m, 1, 4)
	f := r.finish()

	rated := block(&schemas.Disk, m.at(second), row{"sdb", nil})
	rated.IntervalNS = second
	rated.SetRate(0, "reads_per_s", 7.5)
	r.later(m, 2, tick(1, rated), tick(2, block(&schemas.Paging, m.at(5*second), row{"", map[string]int64{"pgfault": 3}})), ran(3, m, "log.txt", []byte("second")))
	got, err := r.s.AddTo("LATER", f.dir)
	if err != nil {
		t.Fatal(err)
	}
	both := folder{t, f.dir, got}
	same(t, "disk", both.lines(&schemas.Disk, "device", "elapsed_ns", "interval_ns", "reads", "reads_per_s"), []string{
		"sda 0 - - -", "sda 1000000000 1000000000 10 -", "sda 2000000000 1000000000 10 -", "sdb 1000000000 1000000000 - 7.5"})
	same(t, "load", both.lines(&schemas.Load, "runq_sz"), []string{"0", "1", "2"})
	same(t, "paging", both.lines(&schemas.Paging, "elapsed_ns"), []string{"5000000000"})
	if o := outputs(both); o["log.txt"] != "first" || o["log-2.txt"] != "second" || len(o) != 2 {
		t.Errorf("%q", o)
	}
	h := got.Hosts[0]
	if got.Status != schemas.Complete || len(got.Producers) != 2 || got.Params["clients"] == nil || h.Facts["tool"] != "wrk" || !slices.Equal(h.Roles, []string{"load", "sut"}) || got.DurationNS != 9*second && got.DurationNS < 5*second {
		t.Errorf("%+v", got)
	}
	if m, err := ReadManifest(f.dir); err != nil || m.ID != "RUN" || len(m.Tables) != len(got.Tables) {
		t.Errorf("%v %+v", err, m)
	}
	// The same again is the same producer.
	if _, err := r.s.AddTo("LATER", f.dir); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("again: %v", err)
	}
	if err := r.s.Forget("LATER"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(r.dir, "live"))
	if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.Contains(e.Name(), "LATER") }) {
		t.Errorf("left: %v %v", left, err)
	}
}
