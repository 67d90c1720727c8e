package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sizes are of Parquet files, which any release of the library may change; TestSizes
// holds them against the files.
var sizes = regexp.MustCompile(`[\d.]+ (bytes|KiB)\n`)

// golden compares what a command printed with testdata/NAME.stdout and .stderr; what
// is empty has no file.
func golden(t *testing.T, name string, r result) {
	t.Helper()
	r.stdout = sizes.ReplaceAllString(r.stdout, "N $1\n")
	for ext, got := range map[string]string{".stdout": r.stdout, ".stderr": r.stderr} {
		path := filepath.Join(home, "testdata", name+ext)
		if *update {
			os.Remove(path)
			if got != "" {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil && got != "" {
			t.Errorf("%v: -update writes it", err)
			continue
		}
		if got != string(want) {
			t.Errorf("%s is not what was printed (-update rewrites it):\n%s", filepath.Base(path), difference(string(want), got))
		}
	}
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; ; i++ {
		switch {
		case i >= len(w) || i >= len(g):
			return "want " + strings.Join(w[min(i, len(w)):], "\n") + "\ngot  " + strings.Join(g[min(i, len(g)):], "\n")
		case w[i] != g[i]:
			return "want " + w[i] + "\ngot  " + g[i]
		}
	}
}

func TestCommandsPrint(t *testing.T) {
	copyData(t)
	for _, tt := range []struct {
		name string
		code int
		args string
	}{
		{"help", 0, "--help"},
		{"help-demo", 0, "demo --help"},
		{"help-collect", 0, "collect --help"},
		{"help-ingest", 0, "ingest --help"},
		{"help-seal", 0, "seal --help"},
		{"help-analyze", 0, "analyze --help"},
		{"help-report", 0, "report --help"},
		{"help-ls", 0, "ls --help"},
		{"help-show", 0, "show --help"},
		{"help-exclude", 0, "exclude --help"},
		{"help-schema", 0, "schema --help"},
		{"help-workload", 0, "workload http-server --help"},

		{"schema", 0, "schema"},
		{"schema-load", 0, "schema load"},
		{"schema-load-json", 0, "schema load --json"},
		{"schema-unknown", 2, "schema nosuch"},

		{"ls", 0, "ls"},
		{"ls-experiment", 0, "ls partial"},
		{"show", 0, "show kernels/tuned/http/02"},
		{"show-keys", 0, "show experiment=kernels/system=tuned/scenario=http/run=2"},
		{"show-folder", 0, "show data/runs/experiment=kernels/system=tuned/scenario=http/run=02"},
		{"show-aborted", 0, "show partial/new/http/1"},
		{"show-silent", 0, "show partial/baseline/http/4"},
		{"show-cpu", 0, "show kernels/tuned/http/02 cpu"},
		{"show-disk-reset", 0, "show partial/new/http/3 disk"},
		{"show-disk-csv", 0, "show partial/new/http/3 disk --csv"},
		{"show-load-json", 0, "show kernels/tuned/http/02 load --json"},
		{"show-workload", 0, "show nan/baseline/http/2 workload"},
		{"show-quality", 0, "show nan/baseline/http/2 quality"},
		{"show-no-rows", 1, "show kernels/tuned/http/02 net"},
		{"show-no-table", 2, "show kernels/tuned/http/02 nosuch"},
		{"show-no-run", 1, "show kernels/tuned/http/99"},
		{"show-no-name", 1, "show tuned"},

		{"analyze", 3, "analyze kernels --gate"},
		{"analyze-all", 0, "analyze alike --gate --all"},
		{"analyze-baseline", 0, "analyze kernels --baseline debug --margin 20% --primary workload.throughput"},
		{"analyze-keep", 0, "analyze alike --keep 5s"},
		{"analyze-auto", 0, "analyze alike --window auto"},
		{"analyze-noisy", 4, "analyze noisy --gate"},
		{"analyze-single", 5, "analyze single --gate"},
		{"analyze-flat", 5, "analyze flat --gate"},
		{"analyze-nan", 0, "analyze nan"},
		{"analyze-partial", 0, "analyze partial"},
		{"analyze-json", 0, "analyze flat --json --primary workload.throughput"},
		{"report-markdown", 0, "report kernels --markdown"},

		{"usage-command", 2, "frobnicate"},
		{"usage-flag", 2, "ls --nosuch"},
		{"usage-arguments", 2, "analyze"},
		{"usage-too-many", 2, "ls one two"},
		{"usage-show", 2, "show"},
		{"usage-margin", 2, "analyze kernels --margin 2"},
		{"usage-window", 2, "analyze kernels --window some"},
		{"usage-keep", 2, "analyze kernels --keep -1s"},
		{"usage-baseline", 2, "analyze kernels --baseline nosuch"},
		{"usage-name", 2, "analyze ../kernels"},
		{"usage-exclude", 2, "exclude kernels/tuned/http/02"},
		{"usage-demo", 2, "demo --repeats 0"},
		{"usage-demo-keep", 2, "demo --keep 10ms"},
		{"usage-listen", 2, "ingest --listen nowhere"},
		{"usage-collect", 2, "collect --experiment e --system s --scenario c"},
		{"usage-collect-names", 2, "collect --nats nats://127.0.0.1:1"},
		{"usage-collect-role", 2, "collect --experiment e --system s --scenario c --role cook"},
		{"usage-collect-interval", 2, "collect --experiment e --system s --scenario c --interval 1ms"},

		{"error-experiment", 1, "analyze nosuch"},
		{"error-data", 1, "ls --data nosuch"},
		{"error-seal", 1, "seal nosuch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := steady(strings.Fields(tt.args)...)
			if r.code != tt.code {
				t.Errorf("steady %s: exit %d, want %d", tt.args, r.code, tt.code)
			}
			golden(t, tt.name, r)
		})
	}
}

// TestAnalyzeKnowsTheTruth holds results against what the fixtures were made of.
func TestAnalyzeKnowsTheTruth(t *testing.T) {
	copyData(t)
	var res schemas.Results
	if err := json.Unmarshal([]byte(must(t, "analyze", "kernels", "--json").stdout), &res); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		mean    float64
		verdict string
	}{"baseline": {(1000 + 1004 + 997) / 3.0, ""}, "tuned": {(1101 + 1097 + 1103) / 3.0, schemas.Better}, "debug": {(900 + 905 + 898) / 3.0, schemas.Worse}}
	for _, m := range res.Scenarios[0].Metrics {
		if m.Metric != "workload.throughput" {
			continue
		}
		for _, s := range m.Systems {
			if s.Mean == nil || *s.Mean-want[s.System].mean > 1e-9 || want[s.System].mean-*s.Mean > 1e-9 {
				t.Errorf("%s: mean %v, want %v", s.System, s.Mean, want[s.System].mean)
			}
		}
		for _, c := range m.Comparisons {
			if c.Verdict == nil || *c.Verdict != want[c.System].verdict {
				t.Errorf("%s: verdict %v, want %s", c.System, c.Verdict, want[c.System].verdict)
			}
		}
		return
	}
	t.Error("no throughput")
}

// moment is when something was done: the only thing printed that differs each time.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

func TestExcludeAndUndo(t *testing.T) {
	copyData(t)
	before := must(t, "analyze", "excluded")
	golden(t, "exclude-before", before)
	must(t, "exclude", "excluded/baseline/http/4", "--reason", "the disk was being scrubbed")
	golden(t, "exclude-ls", must(t, "ls", "excluded"))
	golden(t, "exclude-analyze", must(t, "analyze", "excluded"))
	r := must(t, "show", "excluded/baseline/http/4")
	if n := len(moment.FindAllString(r.stdout, -1)); n != 1 {
		t.Errorf("%d moments, want that of the exclusion:\n%s", n, r.stdout)
	}
	r.stdout = moment.ReplaceAllString(r.stdout, "NOW")
	golden(t, "exclude-show", r)
	must(t, "exclude", "excluded/baseline/http/4", "--undo")
	if after := must(t, "analyze", "excluded"); after != before {
		t.Errorf("not as before:\n%s", difference(before.stdout, after.stdout))
	}
	if r := steady("exclude", "excluded/baseline/http/9", "--reason", "r"); r.code != exitFailed {
		t.Errorf("a run that isn't there: exit %d", r.code)
	}
}

func TestDamagedFolders(t *testing.T) {
	const dir = "data/runs/experiment=alike/system=twin/scenario=http/run=02"
	for _, tt := range []struct {
		name   string
		damage func() error
		args   []string
	}{
		{"damage-manifest", func() error { return os.WriteFile(dir+"/manifest.json", []byte(`{"schema": "steady.mani`), 0o644) }, []string{"analyze", "alike"}},
		{"damage-manifest-other", func() error {
			return os.WriteFile(dir+"/manifest.json", []byte(`{"schema": "steady.manifest/7"}`), 0o644)
		}, []string{"ls", "alike"}},
		{"damage-manifest-gone", func() error { return os.Remove(dir + "/manifest.json") }, []string{"analyze", "alike"}},
		{"damage-truncated", func() error { return os.Truncate(dir+"/workload.parquet", 1000) }, []string{"analyze", "alike"}},
		{"damage-flipped", func() error { return flip(dir + "/workload.parquet") }, []string{"show", "alike/twin/http/2", "workload"}},
		{"damage-gone", func() error { return os.Remove(dir + "/cpu.parquet") }, []string{"analyze", "alike"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			copyData(t)
			if err := tt.damage(); err != nil {
				t.Fatal(err)
			}
			r := steady(tt.args...)
			if r.code != exitFailed || r.stdout != "" {
				t.Errorf("exit %d, printed %q", r.code, r.stdout)
			}
			golden(t, tt.name, r)
		})
	}
}

// TestExcludeHelpsWhereAFileIsDamaged holds the errors above to the remedy they name.
func TestExcludeHelpsWhereAFileIsDamaged(t *testing.T) {
	copyData(t)
	if err := os.Truncate("data/runs/experiment=excluded/system=baseline/scenario=http/run=04/workload.parquet", 1000); err != nil {
		t.Fatal(err)
	}
	if r := steady("analyze", "excluded"); r.code != exitFailed || !strings.Contains(r.stderr, "leave the run out with steady exclude") {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	must(t, "exclude", "excluded/baseline/http/4", "--reason", "damaged")
	if r := must(t, "analyze", "excluded"); !strings.Contains(r.stdout, "baseline/http/04 not used: excluded: damaged") {
		t.Errorf("it says\n%s", r.stdout)
	}
	must(t, "report", "excluded")
}

// flip changes one byte in the middle of a file.
func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(path, b, 0o644)
}

func TestNoDataDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{"ls", "show a/b/c/1", "analyze e", "report e", "exclude a/b/c/1 --reason r"} {
		r := steady(strings.Fields(args)...)
		if want := "steady: loaders: data: no data: no such directory: name it with --data\n"; r.code != exitFailed || r.stderr != want {
			t.Errorf("steady %s: exit %d, %q", args, r.code, r.stderr)
		}
	}
	if err := os.Mkdir("data", 0o755); err != nil {
		t.Fatal(err)
	}
	if r := steady("ls"); r.code != exitFailed || r.stderr != "steady: loaders: data: no data: no run is in it yet\n" {
		t.Errorf("empty: exit %d, %q", r.code, r.stderr)
	}
}

func TestSchemaAsJSON(t *testing.T) {
	var all []schemas.Description
	if err := json.Unmarshal([]byte(must(t, "schema", "--json").stdout), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(schemas.Tables) {
		t.Errorf("%d tables, want %d", len(all), len(schemas.Tables))
	}
}

func TestLsAndShowAsJSON(t *testing.T) {
	copyData(t)
	var list []schemas.Manifest
	if err := json.Unmarshal([]byte(must(t, "ls", "--json").stdout), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != len(fixtures()) {
		t.Errorf("%d runs, want %d", len(list), len(fixtures()))
	}
	var m schemas.Manifest
	if err := json.Unmarshal([]byte(must(t, "show", "kernels/debug/http/3", "--json").stdout), &m); err != nil {
		t.Fatal(err)
	}
	if m.System != "debug" || m.Run != "03" {
		t.Errorf("%+v", m)
	}
}

func TestSizes(t *testing.T) {
	data := fixtureData(t)
	list := must(t, "ls", "--data", data).stdout
	for _, m := range manifests(t, data) {
		dir := ingest.RunDir(data, m.Experiment, m.System, m.Scenario, 1)
		dir = filepath.Join(filepath.Dir(dir), "run="+m.Run)
		shown := must(t, "show", dir).stdout
		var sum int64
		for _, x := range m.Tables {
			st, err := os.Stat(filepath.Join(dir, x.Table+".parquet"))
			if err != nil {
				t.Fatal(err)
			}
			sum += st.Size()
			if !strings.Contains(shown, fmt.Sprintf(" %d rows, %d bytes\n", x.Rows, st.Size())) {
				t.Errorf("%s: show doesn't say that %s has %d bytes:\n%s", dir, x.Table, st.Size(), shown)
			}
		}
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s/%s/%s/%s .* %.1f KiB$`, m.Experiment, m.System, m.Scenario, m.Run, float64(sum)/1024))
		if !line.MatchString(list) {
			t.Errorf("%s: ls doesn't say that it has %.1f KiB", dir, float64(sum)/1024)
		}
	}
}

func TestReportIsWritten(t *testing.T) {
	copyData(t)
	must(t, "report", "kernels", "-o", "page.html")
	must(t, "report", "kernels")
	for _, path := range []string{"page.html", "data/experiments/kernels/report.html"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "tuned") {
			t.Errorf("%s doesn't name the systems", path)
		}
	}
	if left, _ := filepath.Glob("data/experiments/kernels/.*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The page of all tables and of sar's columns is the one in the documents.
func TestSchemaPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/SCHEMA.md")
	if r := must(t, "schema", "--markdown"); err != nil || r.stdout != string(page) {
		t.Errorf("docs/SCHEMA.md is not what steady schema --markdown prints (%v): write it anew", err)
	}
}
