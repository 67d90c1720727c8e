package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
	"github.com/steadybench/steady/simulate"
)

// What is planted is found, and what is not planted is found no more often than said,
// through the command line alone.
func TestSimulatedExperiments(t *testing.T) {
	data := t.TempDir()
	const n = 40
	must(t, "simulate", "aa", "--data", data, "--experiments", fmt.Sprint(n), "--phi", "0.9", "--duration", "2m", "--keep", "1m")
	must(t, "simulate", "real", "--data", data, "--experiments", "10", "--runs", "5", "--effect", "new=9%", "--run-sd", "2%", "--duration", "2m", "--keep", "1m")
	count := func(pattern string) map[string]int {
		var lines []verdictLine
		if err := json.Unmarshal([]byte(must(t, "analyze", pattern, "--data", data, "--json").stdout), &lines); err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, l := range lines {
			out[l.Verdict]++
		}
		return out
	}
	// 5 % of 40 are 2; seven and more come once in 300 seeds, and this seed is fixed.
	if got := count("aa-*"); got["better"]+got["worse"] > 6 || got["better"]+got["worse"]+got["same"]+got["undecided"] != n {
		t.Errorf("no difference planted: %v", got)
	}
	if got := count("real-*"); got["better"] < 9 {
		t.Errorf("9 %% planted: %v", got)
	}
}

// The same seed gives the same files.
func TestSimulateRepeats(t *testing.T) {
	sums := func(seed string) string {
		data := t.TempDir()
		must(t, "simulate", "e", "--data", data, "--seed", seed, "--duration", "1m", "--keep", "30s", "--memory", "1000")
		manifests, err := filepath.Glob(filepath.Join(data, "runs", "*", "*", "*", "*", "manifest.json"))
		if err != nil || len(manifests) != 6 {
			t.Fatalf("%d runs, %v", len(manifests), err)
		}
		var out strings.Builder
		for _, path := range manifests {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var m schemas.Manifest
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Tables {
				fmt.Fprintln(&out, f.Table, f.Rows, f.SHA256)
			}
		}
		return out.String()
	}
	one := sums("7")
	if one != sums("7") {
		t.Error("one seed gave two experiments")
	}
	if one == sums("8") {
		t.Error("two seeds gave one experiment")
	}
}

func drifts(t *testing.T, args ...string) map[string]schemas.Drift {
	t.Helper()
	var ds []schemas.Drift
	if err := json.Unmarshal([]byte(must(t, append([]string{"drift", "--json"}, args...)...).stdout), &ds); err != nil {
		t.Fatal(err)
	}
	out := map[string]schemas.Drift{}
	for _, d := range ds {
		if d.Device == nil {
			out[d.Metric] = d
		}
	}
	return out
}

func TestDriftOfSoaks(t *testing.T) {
	data := t.TempDir()
	soak := func(name string, args ...string) map[string]schemas.Drift {
		t.Helper()
		must(t, append([]string{"simulate", name, "--data", data, "--systems", "new", "--runs", "1", "--duration", "72h", "--keep", "0s",
			"--interval", "1m", "--sd", "1%", "--phi", "0.9", "--run-sd", "0%"}, args...)...)
		return drifts(t, name+"/new/simulated/01", "--data", data)
	}
	if d := soak("healthy", "--daily", "2%")["workload.throughput"]; d.Verdict == "drift" {
		t.Errorf("healthy: %+v", d)
	}
	d := soak("step", "--step=-3%@48h")["workload.throughput"]
	if d.Verdict != "drift" || d.Shape == nil || *d.Shape != "step" || d.OnsetS == nil || math.Abs(*d.OnsetS-48*3600) > 20*60 {
		t.Errorf("step: %+v", d)
	}
	if d.PercentCI[0] == nil || *d.PercentCI[0] > -3 || *d.PercentCI[1] < -3 {
		t.Errorf("step: %v misses -3 %%", d.PercentCI)
	}
	got := soak("leak", "--memory", "4000", "--memory-sd", "50", "--memory-phi", "0.9", "--leak", "200")
	if d := got["memory.used_bytes"]; d.Verdict != "drift" || d.Absolute == nil || math.Abs(*d.Absolute/200e6-1) > 0.3 {
		t.Errorf("leak: %+v", d)
	}
	if d := got["memory.used_bytes"]; !strings.Contains(strings.Join(d.Warnings, "; "), "anonymous memory") {
		t.Errorf("leak: no word of what grew: %q", d.Warnings)
	}
	if d := got["workload.throughput"]; d.Verdict == "drift" {
		t.Errorf("beside the leak: %+v", d)
	}
	// In lock-step with itself nothing is left.
	if d := drifts(t, "step/new/simulated/01", "--against", "step/new/simulated/01", "--data", data)["workload.throughput"]; d.Verdict == "drift" {
		t.Errorf("against itself: %+v", d)
	}
	if r := steady("drift", "step/new/simulated/01", "--data", data, "--gate-exit"); r.code != exitWorse {
		t.Errorf("gate: exit %d", r.code)
	}
	if r := must(t, "drift", "*/new/simulated/01", "--data", data); !strings.HasPrefix(r.stdout, "3 runs\n") {
		t.Errorf("several:\n%s", r.stdout)
	}
	if r := steady("drift", "none/new/simulated/01", "--data", data); r.code != exitFailed || !strings.Contains(r.stderr, `experiment "none"`) {
		t.Errorf("unknown: exit %d, %s", r.code, r.stderr)
	}
}

// A run still going on is judged by its parts, which a live ingest keeps on writing.
func TestDriftOfALiveRun(t *testing.T) {
	data := t.TempDir()
	s, err := ingest.OpenStore(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan := simulate.Plan{Interval: time.Minute, Duration: 72 * time.Hour, Throughput: simulate.Signal{Level: 1000,
		Noise: simulate.Noise{SD: 0.01, Phi: 0.5}, Step: -0.05, StepAt: 24 * time.Hour}}
	const wall, boot = int64(1_767_225_600e9), int64(1e12)
	at := schemas.Stamp{Host: "h", WallNS: wall, BootNS: boot, BootID: "b"}
	id := schemas.Producer{Run: "01LIVE", Host: "h", Epoch: 1, BootID: "b"}
	s.Begin("stream")
	for i, c := range []schemas.Control{
		{Kind: "open", At: at, Open: &schemas.Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1, Controlled: true}},
		{Kind: "hello", At: at, Hello: &schemas.Hello{Epoch: 1, Kind: "simulate", Roles: []string{"load"}}},
	} {
		data, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(uint64(i+1), schemas.ControlSubject(id.Run), data)
	}
	ticks := plan.Run(1, wall, boot)[:48*60]
	for k := 0; k < len(ticks); k += 360 {
		s.AddMessage(uint64(k+3), &schemas.Message{Producer: id, Ticks: ticks[k : k+360]})
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"e/s/c/01", "01LIVE"} {
		if d := drifts(t, name, "--data", data)["workload.throughput"]; d.Verdict != "drift" || d.Shape == nil || *d.Shape != "step" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if got := s.Live(); len(got) != 1 {
		t.Errorf("live: %q", got)
	}
	if _, err := loaders.Runs(data, ""); !errors.Is(err, loaders.ErrNoData) {
		t.Errorf("a live run is a run folder: %v", err)
	}
}

// Systems that are one and the same have a noise floor, and are not told apart.
func TestAnalyzeAA(t *testing.T) {
	data := t.TempDir()
	must(t, "simulate", "aa", "--data", data, "--seed", "3", "--duration", "2m", "--keep", "1m")
	if r := must(t, "analyze", "aa", "--data", data, "--aa", "--by"); !strings.Contains(r.stdout, "one time in twenty") {
		t.Errorf("no noise floor:\n%s", r.stdout)
	}
	must(t, "simulate", "ab", "--data", data, "--effect", "new=50%", "--duration", "2m", "--keep", "1m")
	if r := steady("analyze", "ab", "--data", data, "--aa"); r.code != exitWorse || !strings.Contains(r.stderr, "a/a") {
		t.Errorf("told apart: exit %d, %s", r.code, r.stderr)
	}
}

// Runs of 100, 104 and 108 have the mean 104 ± 4.302653 x 4/sqrt(3), whatever their
// seconds are.
func TestImportCSV(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, "t.csv")
	var table strings.Builder
	table.WriteString("run,time,value\n")
	for run, mean := range []int{100, 104, 108} {
		for k := range 60 {
			fmt.Fprintf(&table, "%d,%s,%d\n", run, time.Date(2026, 3, 1, 10, run, k, 0, time.UTC).Format(time.RFC3339), mean+10-20*(k%2))
		}
	}
	if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "import", "csv="+path, "--data", data, "--experiment", "e", "--system", "s", "--scenario", "c", "--phase", "measure=0s..1m")
	var r schemas.Results
	if err := json.Unmarshal([]byte(must(t, "analyze", "e", "--data", data, "--json").stdout), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0].Metrics[0].Systems[0]
	half := 4.302652729696142 * 4 / math.Sqrt(3)
	if s.Mean == nil || math.Abs(*s.Mean-104) > 1e-9 || math.Abs(*s.CI[0]-(104-half)) > 1e-6 || math.Abs(*s.CI[1]-(104+half)) > 1e-6 || s.Used != 3 {
		t.Errorf("mean %v, interval %v to %v of %d runs", *s.Mean, *s.CI[0], *s.CI[1], s.Used)
	}
	// Again, it is refused: the numbers are taken.
	if r := steady("import", "csv="+path, "--data", data, "--experiment", "e", "--system", "s", "--scenario", "c"); r.code != exitFailed || !strings.Contains(r.stderr, "--run-number") {
		t.Errorf("again: exit %d, %s", r.code, r.stderr)
	}
	// Without a date the time is unknown, and a value that is none is null with a reason.
	if err := os.WriteFile(path, []byte("time,value\n0,1\n1,nan\n2,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "import", "csv="+path, "--data", data, "--experiment", "u", "--system", "s", "--scenario", "c")
	if got := must(t, "show", "u/s/c/1", "quality", "--data", data, "--csv").stdout; !strings.Contains(got, ",nan,") || !strings.HasPrefix(strings.Split(got, "\n")[1], ",2000000000,") {
		t.Errorf("quality:\n%s", got)
	}
	if r := must(t, "ls", "u", "--data", data); !strings.Contains(r.stdout, "unknown") {
		t.Errorf("ls:\n%s", r.stdout)
	}
	if r := steady("import", "tsv="+path, "--data", data, "--experiment", "u", "--system", "s", "--scenario", "c"); r.code != exitUsage {
		t.Errorf("another kind: exit %d", r.code)
	}
}
