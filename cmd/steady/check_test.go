package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/loaders"
)

var publishedFile = filepath.Join("..", "..", "examples", "published-figures.yaml")

func TestCheckPublishedFigures(t *testing.T) {
	for name, args := range map[string][]string{"check": {"check", publishedFile}, "check-json": {"check", publishedFile, "--json"}} {
		r := steady(args...)
		if r.code != exitWorse {
			t.Errorf("%s: exit %d", name, r.code)
		}
		golden(t, name, r)
	}
}

// What an honest reader finds in the published table, and nothing else.
func TestCheckPublishedFindings(t *testing.T) {
	var r checkReport
	if err := json.Unmarshal([]byte(steady("check", publishedFile, "--json").stdout), &r); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		severity analyze.FindingSeverity
		subject  string
		rule     int
		value    string
		number   float64
	}{
		{"error", "web, 10000 connections, A", 1, "little_mean_s", 0.1389},
		{"warning", "web, 10000 connections, A", 4, "cpu_per_operation_s", 400e-6},
		{"impossible", "web, 10000 connections, A", 8, "tail_mean_s", 137.7},
		{"error", "web, 10000 connections, B", 1, "little_mean_s", 0.1667},
		{"warning", "web, 10000 connections, B", 4, "cpu_per_operation_s", 555e-6},
		{"impossible", "web, 10000 connections, B", 8, "tail_mean_s", 164.7},
		{"note", "web, throughput", 16, "difference_1", 0.0897},
		{"note", "database, 500 threads, A", 1, "little_mean_s", 0.0417},
		{"note", "database, 500 threads, B", 1, "little_mean_s", 0.0455},
		{"note", "database, throughput", 16, "difference_3", 0.125},
		{"warning", "network, 10 connections, A", 6, "usual_bit_per_s", 9.415e9},
		{"warning", "network, 50 connections, A", 6, "usual_bit_per_s", 9.415e9},
		{"warning", "network, 50 connections, B", 6, "usual_bit_per_s", 9.415e9},
		{"warning", "network, 100 connections, A", 6, "usual_bit_per_s", 9.415e9},
		{"warning", "network", 18, "points", 3},
		{"note", "container-creation", 11, "rate_A_2_per_s", 13.64},
		{"note", "container-service, throughput", 16, "difference_1", 0.2},
		{"warning", "all figures", 15, "detectable", 0.0614},
	}
	for i, f := range r.Findings {
		if i >= len(want) {
			t.Errorf("besides: %+v", f)
			continue
		}
		w := want[i]
		if v := f.Values[w.value]; f.Severity != w.severity || f.Subject != w.subject || f.Rule != w.rule || v < w.number*0.998 || v > w.number*1.002 {
			t.Errorf("got %+v, want %+v", f, w)
		}
		if f.Holds != (f.Severity == analyze.FindingNote) {
			t.Errorf("holds: %+v", f)
		}
	}
	if len(r.Findings) < len(want) {
		t.Errorf("%d findings, want %d", len(r.Findings), len(want))
	}
}

func TestCheckExits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "format: steady.figures/1\nsystems: [A]\ntests:\n  - name: web\n    points:\n      - connections: 100\n        "
	sound := write("sound.yaml", head+"throughput: 1000\n        loop: closed\n        latency_mean: 100 ms\n")
	wrong := write("wrong.yaml", head+"throughput: 1000\n        loop: closed\n        latency_mean: 1 s\n")
	for _, tt := range []struct {
		name, path             string
		asJSON                 bool
		code                   int
		stdoutPart, stderrPart string
	}{
		{"no file", filepath.Join(dir, "none.yaml"), false, exitFailed, "", "no such file"},
		{"a directory", dir, false, exitFailed, "", "is a directory"},
		{"bad figures", write("bad.yaml", head+"latency_mean: 3\n"), false, exitFailed, "", "bad.yaml:7:23: latency_mean: \"3\" has no unit"},
		{"sound", sound, false, exitDone, "AGREES\n  web, 100 connections, A   [1 Little's law]\n      100 connections / (1000/s) = 100 ms agrees with the stated mean of 100 ms\n", ""},
		{"sound, JSON", sound, true, exitDone, `"holds": 1`, ""},
		{"an error is not impossible", wrong, false, exitDone, "ERRORS", ""},
		{"nothing to say", write("nothing.yaml", head+"cores: 2\n"), true, exitDone, `"findings": []`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"check", tt.path}
			if tt.asJSON {
				args = append(args, "--json")
			}
			r := steady(args...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdoutPart) || !strings.Contains(r.stderr, tt.stderrPart) {
				t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
			}
			if (tt.stderrPart == "") != (r.stderr == "") || r.code != exitDone && r.stdout != "" {
				t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
			}
		})
	}
	if code := run([]string{"check", sound}, strings.NewReader(""), brokenWriter{}, &bytes.Buffer{}); code != exitFailed {
		t.Errorf("a full disk: exit %d", code)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

// Every key of the format reaches a field of its own, and every field has a key.
func TestCheckEveryKeyReachesAField(t *testing.T) {
	filled := map[string]bool{"Test": true, "Label": true, "System": true, "Run": true, "Percentiles": true, "Other": true,
		// Of measured runs only.
		"WithinVariance": true, "WithinDF": true}
	for _, k := range loaders.FigureKeys() {
		if k.Name == "text" || k.Name == "ratio" || k.Name == "inverse_ratio" {
			continue
		}
		v := loaders.FigureValue{Number: 3, Word: "w", Flag: true, List: []loaders.FigureValue{{Number: 3}}}
		p := plausiblePoint(loaders.FigurePoint{Values: map[string]map[string]loaders.FigureValue{k.Name: {"A": v}}}, "", "A")
		found := false
		r := reflect.ValueOf(p)
		for i := range r.NumField() {
			if name := r.Type().Field(i).Name; name != "System" && !r.Field(i).IsZero() {
				found, filled[name] = true, true
			}
		}
		if !found {
			t.Errorf("key %q fills nothing", k.Name)
		}
	}
	r := reflect.TypeFor[analyze.PlausiblePoint]()
	for i := range r.NumField() {
		if !filled[r.Field(i).Name] {
			t.Errorf("no key fills %s", r.Field(i).Name)
		}
	}
}

// The page lists every rule with its formula, and every key with its kind.
func TestCheckPageIsWhole(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(home, "..", "..", "docs", "CHECK.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, r := range analyze.PlausibleRules() {
		row := fmt.Sprintf("| %d | %s | %s | %s | %s |", r.Rule, r.Name, strings.ReplaceAll(r.Formula, "|", "\\|"), r.Severity, r.Source)
		if !strings.Contains(page, row) {
			t.Errorf("docs/CHECK.md lacks:\n%s", row)
		}
	}
	for _, k := range loaders.FigureKeys() {
		row := fmt.Sprintf("| `%s` | %s | %s |", k.Name, k.Kind, k.Help)
		if !strings.Contains(page, row) {
			t.Errorf("docs/CHECK.md lacks:\n%s", row)
		}
	}
}

// From YAML to JSON, whatever the figures: no panic, and JSON knows no NaN.
func FuzzCheck(f *testing.F) {
	example, err := os.ReadFile(publishedFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte("format: steady.figures/1\nsystems: [A, B]\nbaseline: A\ntests:\n  - name: t\n    tool: wrk\n    points:\n      - connections: 0\n        throughput: {A: 1e308, B: 0}\n        latency_mean: 1e-300 ms\n        latency_p50: 0 s\n        difference: -300 %\n        run_values: [0, 0, 1e300]\n        per_second: [0, 0, 1e308, 0]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		figures, err := loaders.ReadFigures("f.yaml", data)
		if err != nil {
			return
		}
		findings := analyze.Plausibility(plausibleFigures(figures))
		var text, object bytes.Buffer
		if err := writeFindings(&text, figures, findings); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(&object, newCheckReport(figures, findings)); err != nil || !json.Valid(object.Bytes()) {
			t.Fatal(err)
		}
	})
}
