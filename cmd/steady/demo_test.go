package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
)

// demoOnce is one small demo, which several tests look at.
var demoOnce struct {
	sync.Once
	data, mark string
	code       int
	stdout     string
	stderr     string
}

// demoExperiment is its name.
const demoExperiment = "small"

// demoData returns the data directory of a demo that was run once for all tests.
func demoData(t testing.TB) string {
	t.Helper()
	d := &demoOnce
	d.Do(func() {
		d.data, d.mark = filepath.Join(scratch, "demo"), filepath.Base(scratch)+"-demo"
		p := startSteady(t, []string{markEnv + "=" + d.mark}, "demo", "--data", d.data, "--experiment", demoExperiment,
			"--warmup", "1s", "--keep", "2s", "--repeats", "1", "--connections", "4", "--json")
		d.code = p.wait(t, time.Minute)
		d.stdout, d.stderr = p.stdout.String(), p.stderr.String()
	})
	if d.code != 0 {
		t.Fatalf("steady demo: exit %d\n%s", d.code, d.stderr)
	}
	return d.data
}

func TestDemo(t *testing.T) {
	data := demoData(t)
	var printed, written schemas.Results
	if err := json.Unmarshal([]byte(demoOnce.stdout), &printed); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(data, "experiments", demoExperiment, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &written); err != nil {
		t.Fatal(err)
	}
	if string(b) != demoOnce.stdout {
		t.Error("results.json is not what was printed")
	}
	if len(printed.Scenarios) != 1 || len(printed.Quality) != 3 || printed.Baseline != "baseline" {
		t.Fatalf("%d scenarios, %d runs, baseline %s", len(printed.Scenarios), len(printed.Quality), printed.Baseline)
	}
	for _, name := range []string{"workload.throughput", "workload.latency_p99", "cpu.busy_pct"} {
		i := slices.IndexFunc(printed.Scenarios[0].Metrics, func(m schemas.MetricResult) bool { return m.Metric == name })
		if i < 0 {
			t.Errorf("no metric %s", name)
			continue
		}
		for _, s := range printed.Scenarios[0].Metrics[i].Systems {
			if s.Used != 1 || s.Mean == nil || *s.Mean <= 0 {
				t.Errorf("%s of %s: %d runs used, mean %v", name, s.System, s.Used, s.Mean)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(data, "experiments", demoExperiment, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range demoSystems {
		if !strings.Contains(string(page), s.name) {
			t.Errorf("the report doesn't name %s", s.name)
		}
	}
	ms := manifests(t, data)
	if len(ms) != 3 {
		t.Fatalf("%d runs, want 3", len(ms))
	}
	for _, m := range ms {
		if m.Status != schemas.Complete || len(m.Phases) != 3 || len(m.Producers) != 2 {
			t.Errorf("%s: %s %q, %d phases, %d producers", m.System, m.Status, m.Reasons, len(m.Phases), len(m.Producers))
		}
	}
	if left := alive(t, data); len(left) > 0 {
		t.Errorf("left in live: %q", left)
	}
	if left := marked(demoOnce.mark); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
}

// startDemo starts a demo whose first run lasts, and returns it when rows of that run
// are in the stream, with its data directory and mark.
func startDemo(t *testing.T) (p *process, data, mark string) {
	t.Helper()
	data, mark = t.TempDir(), filepath.Base(scratch)+"-"+t.Name()
	port := freePort(t)
	p = startSteady(t, []string{markEnv + "=" + mark}, "demo", "--data", data, "--experiment", "cut", "--warmup", "1s", "--keep", "5m",
		"--repeats", "1", "--connections", "2", "--listen", "127.0.0.1:"+port)
	p.says(t, "run 1 of 3: http-static_connections-2 on baseline")
	c := connect(t, "nats://127.0.0.1:"+port)
	// Four or five are the run's opening, then comes a tick of two producers a second.
	await(t, "rows in the stream", func() bool { return streamed(c) >= 9 || p.ended() })
	if !slices.ContainsFunc(marked(mark), func(s string) bool { return strings.Contains(s, "http-server") }) {
		t.Fatalf("no server process: %q", marked(mark))
	}
	return p, data, mark
}

// noneLeft waits until nothing with the mark runs.
func noneLeft(t *testing.T, mark string) {
	t.Helper()
	await(t, "no process left", func() bool { return len(marked(mark)) == 0 })
}

// settles checks that ingest takes the data directory up again and leaves nothing in
// live, where a slow host may not have come to it before the end.
func settles(t *testing.T, data string) {
	t.Helper()
	in := startSteady(t, nil, "ingest", "--data", data)
	in.says(t, "ingest: ")
	await(t, "nothing in live", func() bool { return len(alive(t, data)) == 0 || in.ended() })
	in.signal(t, syscall.SIGTERM)
	if code := in.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ingest: exit %d\n%s", code, in.stderr.String())
	}
}

// reopens checks that the data directory can be opened for writing again.
func reopens(t *testing.T, data string) {
	t.Helper()
	s, err := ingest.OpenStore(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestInterruptedDemoKeepsWhatWasMeasured(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			p, data, mark := startDemo(t)
			took := p.signal(t, s)
			t.Logf("ended %.2f s after the signal", took.Seconds())
			if left := marked(mark); len(left) > 0 {
				t.Errorf("processes left: %q", left)
			}
			if code := p.cmd.ProcessState.ExitCode(); code != exitFailed {
				t.Errorf("exit %d, want %d", code, exitFailed)
			}
			if !strings.Contains(p.stderr.String(), "interrupted after 0 of 3 runs") {
				t.Errorf("it says\n%s", p.stderr.String())
			}
			m := one(t, data)
			if m.Status != schemas.Failed || !slices.Contains(m.Reasons, "aborted: interrupted") {
				t.Errorf("the run is %s: %q", m.Status, m.Reasons)
			}
			for _, table := range []string{"cpu", "workload"} {
				if tableRows(m, table) == 0 {
					t.Errorf("no rows of %s", table)
				}
			}
			for _, x := range m.Producers {
				if !x.Ended || len(x.Missing) > 0 {
					t.Errorf("%s: ended %v, missing %v", x.Kind, x.Ended, x.Missing)
				}
			}
			if n := len(m.Phases); n != 2 || m.Phases[1].ToNS > m.DurationNS+2e9 {
				t.Errorf("phases %v of a run of %d ns", m.Phases, m.DurationNS)
			}
			settles(t, data)
			if again := one(t, data); !reflect.DeepEqual(again, m) {
				t.Errorf("the next ingest made another run of it: %+v", again)
			}
		})
	}
}

func TestKilledDemoIsRecovered(t *testing.T) {
	p, data, mark := startDemo(t)
	p.signal(t, syscall.SIGKILL)
	noneLeft(t, mark)
	if ms := manifests(t, data); len(ms) != 0 {
		t.Fatalf("%d runs before anyone could make a folder", len(ms))
	}

	// The stream still has it all; the controller that would end the run is gone.
	q := startSteady(t, nil, "ingest", "--data", data, "--flush", "50ms")
	var id string
	await(t, "a part in live", func() bool {
		parts, _ := filepath.Glob(filepath.Join(data, "live", "*", "part-*"))
		if len(parts) > 0 {
			id = filepath.Base(filepath.Dir(parts[0]))
		}
		return id != "" || q.ended()
	})
	if r := steady("ingest", "--data", data); r.code != exitFailed || !strings.Contains(r.stderr, "another steady writes there") {
		t.Errorf("a second ingest: exit %d: %s", r.code, r.stderr)
	}
	t.Logf("ingest ended %.2f s after SIGTERM", q.signal(t, syscall.SIGTERM).Seconds())
	if code := q.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ingest: exit %d", code)
	}

	r := must(t, "seal", id, "--data", data)
	if !strings.Contains(r.stderr, "incomplete") || !strings.Contains(r.stderr, "sealed by hand") {
		t.Errorf("seal says %s", r.stderr)
	}
	check := func() {
		t.Helper()
		m := one(t, data)
		if m.Status != schemas.Incomplete || m.ID != id || tableRows(m, "cpu") == 0 || tableRows(m, "workload") == 0 {
			t.Errorf("%s is %s, tables %v", m.ID, m.Status, m.Tables)
		}
		for _, x := range m.Producers {
			if x.Ended || x.Expected != nil || x.Received == 0 {
				t.Errorf("%s: ended %v, expected %v, received %d", x.Kind, x.Ended, x.Expected, x.Received)
			}
		}
	}
	check()

	// The stream still holds the sealed run: it comes back, and finds its folder.
	q = startSteady(t, nil, "ingest", "--data", data, "--silence", "200ms")
	q.says(t, "run "+filepath.Join(data, "runs"))
	q.signal(t, syscall.SIGTERM)
	check()
	if left := alive(t, data); len(left) > 0 {
		t.Errorf("left in live: %q", left)
	}
}
