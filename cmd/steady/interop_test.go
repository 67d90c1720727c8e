package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// readerFacts is what read_runs.py says of a table in one reader.
type readerFacts struct {
	Types        map[string]string            `json:"types"`
	Rows         int64                        `json:"rows"`
	Sums         map[string]string            `json:"sums"`
	Nulls, Zeros map[string]int64             `json:"-"`
	Keys         map[string][]string          `json:"keys"`
	Metadata     map[string]map[string]string `json:"metadata"`
	Schema       bool                         `json:"steady.schema"`
}

func (f *readerFacts) UnmarshalJSON(b []byte) error {
	type plain readerFacts
	x := struct {
		*plain
		Nulls map[string]int64 `json:"nulls"`
		Zeros map[string]int64 `json:"zeros"`
	}{plain: (*plain)(f)}
	err := json.Unmarshal(b, &x)
	f.Nulls, f.Zeros = x.Nulls, x.Zeros
	return err
}

// readRuns runs read_runs.py and returns its output, and the same decoded.
func readRuns(t *testing.T, data string) ([]byte, map[string]map[string]readerFacts) {
	t.Helper()
	python := tool(t, "venv/bin/python")
	script := filepath.Join(home, "..", "..", "loaders", "python", "read_runs.py")
	cmd := exec.Command(python, "-B", script, data)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("read_runs.py: %v\n%s", err, msg.String())
	}
	if msg.Len() > 0 {
		t.Errorf("a reader is not satisfied: %s", msg.String())
	}
	var facts map[string]map[string]readerFacts
	if err := json.Unmarshal(out.Bytes(), &facts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), facts
}

// types are what a physical type is called by each reader.
var types = map[string]map[any]string{
	"duckdb":  {schemas.Int64: "BIGINT", schemas.Float64: "DOUBLE", schemas.String: "VARCHAR", schemas.Bytes: "BLOB", "time": "TIMESTAMP WITH TIME ZONE"},
	"polars":  {schemas.Int64: "Int64", schemas.Float64: "Float64", schemas.String: "String", schemas.Bytes: "Binary", "time": "Datetime(time_unit='us', time_zone='UTC')"},
	"pandas":  {schemas.Int64: "Int64", schemas.Float64: "Float64", schemas.String: "string", schemas.Bytes: "object", "time": "datetime64[us, UTC]"},
	"pyarrow": {schemas.Int64: "int64", schemas.Float64: "double", schemas.String: "string", schemas.Bytes: "binary", "time": "timestamp[us, tz=UTC]"},
}

func TestDocumentedReaders(t *testing.T) {
	tool(t, "venv/bin/python")
	made := t.TempDir()
	build(t, made, slices.DeleteFunc(fixtures(), func(f fixture) bool { return f.experiment != "partial" && f.experiment != "nan" })...)
	for name, data := range map[string]string{"made by hand": made, "of the demo": demoData(t)} {
		t.Run(name, func(t *testing.T) {
			_, facts := readRuns(t, data)
			var names []string
			for _, tab := range schemas.Tables {
				want := truth(t, data, tab)
				if want == nil {
					continue
				}
				names = append(names, tab.Name)
				for reader, got := range facts[tab.Name] {
					sameFacts(t, tab, reader, &got, want)
				}
				if len(facts[tab.Name]) != len(types) {
					t.Errorf("%s: %d readers", tab.Name, len(facts[tab.Name]))
				}
			}
			if len(names) != len(facts) || len(names) < 6 {
				t.Errorf("tables %q, the readers found %d", names, len(facts))
			}
		})
	}
}

// truth forms from the files, read by this project's own reader, and the manifests
// what other readers must see; nil if there are no rows.
func truth(t *testing.T, data string, tab *schemas.Table) *readerFacts {
	t.Helper()
	runs, err := loaders.Runs(data, "")
	if err != nil {
		t.Fatal(err)
	}
	want := &readerFacts{Sums: map[string]string{}, Nulls: map[string]int64{}, Zeros: map[string]int64{}, Keys: map[string][]string{}}
	ints, floats := map[string]int64{}, map[string]float64{}
	for _, r := range runs {
		n := tableRows(r.Manifest, tab.Name)
		if n == 0 {
			continue
		}
		want.Rows += n
		for key, v := range map[string]string{"experiment": r.Manifest.Experiment, "system": r.Manifest.System, "scenario": r.Manifest.Scenario, "run": r.Manifest.Run} {
			if !slices.Contains(want.Keys[key], v) {
				want.Keys[key] = append(want.Keys[key], v)
			}
		}
		x, err := r.Table(tab)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range read(t, x) {
			for i := range c.Len() {
				switch {
				case c.Null(i):
					want.Nulls[c.Name]++
				case c.Type == schemas.Float64:
					floats[c.Name] += c.Floats[i]
					want.Zeros[c.Name] += zero(c.Floats[i] == 0)
				case c.Type == schemas.Int64 && !c.Time:
					ints[c.Name] += c.Ints[i]
					want.Zeros[c.Name] += zero(c.Ints[i] == 0)
				}
			}
			switch {
			case c.Type == schemas.Float64:
				want.Sums[c.Name] = strconv.FormatFloat(floats[c.Name], 'g', -1, 64)
			case c.Type == schemas.Int64 && !c.Time:
				want.Sums[c.Name] = strconv.FormatInt(ints[c.Name], 10)
			}
		}
		r.Release()
	}
	if want.Rows == 0 {
		return nil
	}
	return want
}

func zero(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func sameFacts(t *testing.T, tab *schemas.Table, reader string, got, want *readerFacts) {
	t.Helper()
	if got.Rows != want.Rows {
		t.Errorf("%s by %s: %d rows, want %d", tab.Name, reader, got.Rows, want.Rows)
	}
	for _, c := range append(tab.CommonColumns(), tab.Columns...) {
		kind := types[reader][c.Physical()]
		if c.Name == "time" {
			kind = types[reader]["time"]
		}
		if got.Types[c.Name] != kind {
			t.Errorf("%s.%s by %s: type %q, want %q", tab.Name, c.Name, reader, got.Types[c.Name], kind)
		}
		if got.Nulls[c.Name] != want.Nulls[c.Name] || got.Zeros[c.Name] != want.Zeros[c.Name] {
			t.Errorf("%s.%s by %s: %d nulls, %d zeros, want %d, %d", tab.Name, c.Name, reader, got.Nulls[c.Name], got.Zeros[c.Name], want.Nulls[c.Name], want.Zeros[c.Name])
		}
		if w, ok := want.Sums[c.Name]; ok && !sameNumber(got.Sums[c.Name], w, c.Physical()) && c.Name != "epoch" { // random 63-bit numbers: no sum
			t.Errorf("%s.%s by %s: sum %s, want %s", tab.Name, c.Name, reader, got.Sums[c.Name], w)
		}
		own := tab.Column(c.Name) >= 0 // the common ones say their unit in their names
		if reader == "pyarrow" && (own && got.Metadata[c.Name]["unit"] != c.Unit || got.Metadata[c.Name]["help"] != c.Help) {
			t.Errorf("%s.%s by pyarrow: metadata %q, want unit %q and help %q", tab.Name, c.Name, got.Metadata[c.Name], c.Unit, c.Help)
		}
	}
	if reader == "pyarrow" && !got.Schema {
		t.Errorf("%s: no steady.schema in the file's metadata", tab.Name)
	}
	if reader == "duckdb" || reader == "polars" {
		for key, w := range want.Keys {
			g := got.Keys[key]
			if key == "run" { // a reader may take 01 for the number 1
				g, w = slices.Clone(g), slices.Clone(w)
				for i := range g {
					n, _ := strconv.Atoi(g[i])
					g[i] = fmt.Sprintf("%02d", n)
				}
			}
			slices.Sort(w)
			slices.Sort(g)
			if !slices.Equal(g, w) {
				t.Errorf("%s by %s: %s is %q, want %q", tab.Name, reader, key, g, w)
			}
		}
	}
}

// sameNumber compares sums: of integers exactly, of floats as far as order lets them.
func sameNumber(a, b string, kind schemas.Physical) bool {
	if kind != schemas.Float64 {
		return a == b
	}
	x, err := strconv.ParseFloat(a, 64)
	y, e := strconv.ParseFloat(b, 64)
	return err == nil && e == nil && math.Abs(x-y) <= 1e-5+1e-9*math.Abs(y)
}

// TestLiveDisturbsNoReader puts parts of a run still going on beside the run folders.
func TestLiveDisturbsNoReader(t *testing.T) {
	tool(t, "venv/bin/python")
	t.Chdir(t.TempDir())
	build(t, "data", runsOf("e", "s", 0, 1, 5, 1000, 1001)...)
	before, _ := readRuns(t, "data")
	url, c := serve(t)
	ensureStream(t, c)
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "http", "--run-number", "3", "--interval", "50ms")
	in := startSteady(t, nil, "ingest", "--data", "data", "--nats", url, "--flush", "50ms")
	await(t, "parts", func() bool {
		parts, _ := filepath.Glob("data/live/*/part-*/cpu.part")
		return len(parts) > 2 || col.ended() || in.ended()
	})
	in.signal(t, os.Interrupt)
	if len(alive(t, "data")) != 1 {
		t.Fatalf("in live: %q", alive(t, "data"))
	}
	during, _ := readRuns(t, "data")
	if !bytes.Equal(before, during) {
		t.Error("the readers see another thing with parts in live")
	}
	for _, m := range manifests(t, "data") {
		for _, f := range m.Tables {
			x, err := columns.Open(filepath.Join("data", "runs", "experiment=e", "system=s", "scenario=http", "run="+m.Run, f.Table+".parquet"))
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
		}
	}
}
