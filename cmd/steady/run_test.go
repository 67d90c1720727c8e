package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// writePlan writes a plan of two systems on steady's own load, and returns its path.
func writePlan(t *testing.T, name, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	text := fmt.Sprintf(`experiment: %s
duration: 3s
keep: 2s
repeats: 2
%s`, name, more)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoSystems = `systems:
  - name: plain
  - name: gzip
    with: {http: {gzip: true}}
scenarios:
  - name: web
    workload: http
    with: {connections: [2]}
`

func TestPlanIsShownBeforeItRuns(t *testing.T) {
	plan := writePlan(t, "shown", twoSystems)
	data := t.TempDir()
	r := must(t, "run", plan, "--data", data, "--dry-run")
	var order []string
	for line := range strings.Lines(r.stdout) {
		if f := strings.Fields(line); len(f) > 5 && f[3] == "run" {
			order = append(order, f[1]+f[4])
		}
	}
	if want := []string{"plain01", "gzip01", "gzip02", "plain02"}; !slices.Equal(order, want) || !strings.Contains(r.stdout, "4 runs, about 15s") {
		t.Errorf("%q\n%s", order, r.stdout)
	}
	if left, _ := os.ReadDir(data); len(left) > 0 {
		t.Errorf("a dry run made %v", left)
	}
	var runs []plannedRun
	if err := json.Unmarshal([]byte(must(t, "run", plan, "--dry-run", "--json").stdout), &runs); err != nil || len(runs) != 4 || runs[1].Params["gzip"] != true {
		t.Errorf("%v %+v", err, runs)
	}
	if r := steady("run", writePlan(t, "wrong", strings.Replace(twoSystems, "http\n", "https\n", 1))); r.code != exitUsage || !strings.Contains(r.stderr, `plan.yaml: line 11: scenarios[0].workload: "https": want one of`) {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// runPlan starts steady run in a process of its own.
func runPlan(t *testing.T, mark, plan, data string) *process {
	t.Helper()
	return startSteady(t, []string{markEnv + "=" + mark}, "run", plan, "--data", data, "--json")
}

// Killed in the middle, the same command undoes what was left, and does what is missing
// and no more; done, it does nothing.
func TestKilledExperimentGoesOn(t *testing.T) {
	dir := t.TempDir()
	flag := filepath.Join(dir, "flag")
	plan := writePlan(t, "killed", strings.Replace(twoSystems, "with: {http", fmt.Sprintf("setup: [\"touch %s\"]\n    teardown: [\"rm %s\"]\n    with: {http", flag, flag), 1))
	data, mark := filepath.Join(dir, "data"), filepath.Base(scratch)+"-"+t.Name()
	p := runPlan(t, mark, plan, data)
	p.says(t, "run 2 of 4: web_connections-2 on gzip")
	await(t, "the system is set up and the server runs", func() bool {
		_, err := os.Stat(flag)
		return err == nil && slices.ContainsFunc(marked(mark), func(s string) bool { return strings.Contains(s, "http-server") }) || p.ended()
	})
	p.signal(t, syscall.SIGKILL)
	noneLeft(t, mark)
	if _, err := os.Stat(flag); err != nil {
		t.Fatal("what the system set up is gone by itself: this test shows nothing")
	}

	p = runPlan(t, mark, plan, data)
	if code := p.wait(t, 2*time.Minute); code != 0 {
		t.Fatalf("exit %d\n%s", code, p.stderr.String())
	}
	for _, want := range []string{"left by a run that was killed: sh -c rm " + flag, "experiment killed: 3 runs to do, 1 done"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, p.stderr.String())
		}
	}
	if _, err := os.Stat(flag); err == nil {
		t.Error("the flag is still there")
	}
	var r schemas.Results
	if err := json.Unmarshal([]byte(p.stdout.String()), &r); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, q := range r.Quality {
		if q.Used {
			used++
		}
	}
	if used != 4 {
		t.Errorf("%d runs used: %+v", used, r.Quality)
	}
	if left, _ := os.ReadDir(filepath.Join(data, "scratch")); len(left) > 0 {
		t.Errorf("left in scratch: %v", left)
	}
	before := manifests(t, data)
	if r := must(t, "run", plan, "--data", data); strings.Contains(r.stderr, "run 1 of") {
		t.Errorf("done, and done again:\n%s", r.stderr)
	}
	if after := manifests(t, data); len(after) != len(before) {
		t.Errorf("%d runs, then %d", len(before), len(after))
	}
	changed := writePlan(t, "killed", twoSystems)
	if r := steady("run", changed, "--data", data); r.code != exitFailed || !strings.Contains(r.stderr, "began with another plan") {
		t.Errorf("another plan: exit %d: %s", r.code, r.stderr)
	}
}

// A run that can't be set up is tried again; what never works is left out, said, and
// keeps no other from being done.
func TestOneSystemThatFailsKeepsNoOther(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	plan := writePlan(t, "fails", `systems:
  - name: plain
  - name: flaky
    setup: ["echo x >> `+count+`; [ $(wc -l < `+count+`) != 1 ]"]
  - name: never
    setup: ["echo no such disk >&2; false"]
scenarios:
  - name: web
    workload: http
    repeats: 1
    with: {connections: 2}
`)
	data := filepath.Join(dir, "data")
	p := startSteady(t, nil, "run", plan, "--data", data)
	code := p.wait(t, 2*time.Minute)
	said := p.stderr.String()
	if code != exitFailed || !strings.Contains(said, "no such disk") || !strings.Contains(said, "again: attempt 2 of 2") {
		t.Errorf("exit %d\n%s", code, said)
	}
	done := map[string]bool{}
	for _, m := range manifests(t, data) {
		done[m.System+" "+m.Status] = true
	}
	if !done["plain complete"] || !done["flaky complete"] || len(done) != 2 {
		t.Errorf("runs %v", done)
	}
	if out := p.stdout.String(); !strings.Contains(out, "plain") || !strings.Contains(out, "flaky") {
		t.Errorf("the others are not reported:\n%s", out)
	}
}
