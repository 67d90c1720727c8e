package loaders

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const figuresHead = "format: steady.figures/1\nsystems: [A, B]\nbaseline: B\n"

func figuresWith(point string) string {
	return figuresHead + "tests:\n  - name: web\n    points:\n      - " + strings.ReplaceAll(point, "\n", "\n        ") + "\n"
}

func TestReadFigures(t *testing.T) {
	f, err := ReadFigures("f.yaml", []byte(`format: steady.figures/1
title: a comparison
source: measured here
systems: [A, B]
baseline: B
setup:
  cores: 64
  link: 10 Gbit/s
tests:
  - name: web
    tool: wrk
    cores: 32
    points:
      - connections: 10000
        throughput: {A: 72000, B: 6e4 1/s}
        difference: +20 %
        latency_mean: {A: 0.14 ms, B: 170 us}
        latency_p99.9: {A: 1.2ms}
        run_values: {A: [71000, 72000, 73000]}
        smt: {A: yes, B: no}
        other_source: {throughput: {A: 71900.5}}
      - label: the rest
        difference: {memory: -3 %, cpu: {A: -1.5 %}}
        text: {B: 'about -3 %, later'}
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Title != "a comparison" || f.Source != "measured here" || f.Baseline != "B" || len(f.Systems) != 2 || len(f.Tests) != 1 || len(f.Tests[0].Points) != 2 {
		t.Fatalf("got %+v", f)
	}
	p := f.Tests[0].Points[0]
	if p.Label != "10000 connections" || f.Tests[0].Points[1].Label != "the rest" {
		t.Errorf("labels %q, %q", p.Label, f.Tests[0].Points[1].Label)
	}
	for _, tt := range []struct {
		key, system  string
		number, half float64
		text         string
	}{
		{"throughput", "A", 72000, .5, "72000"},
		{"throughput", "B", 60000, 5000, "6e4 1/s"},
		{"latency_mean", "A", .14e-3, .005e-3, "0.14 ms"},
		{"latency_mean", "B", 170e-6, .5e-6, "170 us"},
		{"latency_p99.9", "A", 1.2e-3, .05e-3, "1.2 ms"},
		{"connections", "A", 10000, 0, "10000"}, {"connections", "B", 10000, 0, "10000"},
		{"cores", "A", 32, 0, "32"}, {"link", "B", 10e9, .5e9, "10 Gbit/s"},
	} {
		v := p.Values[tt.key][tt.system]
		if math.Abs(v.Number-tt.number) > 1e-12*tt.number || math.Abs(v.Half-tt.half) > 1e-12 || v.Text != tt.text {
			t.Errorf("%s of %s: got %+v, want %v ± %v %q", tt.key, tt.system, v, tt.number, tt.half, tt.text)
		}
	}
	if _, ok := p.Values["latency_p99.9"]["B"]; ok {
		t.Error("B has a P99.9 nobody stated")
	}
	if v := p.Values["run_values"]["A"].List; len(v) != 3 || v[2].Number != 73000 {
		t.Errorf("run values %+v", v)
	}
	if !p.Values["smt"]["A"].Flag || p.Values["smt"]["B"].Flag {
		t.Error("flags")
	}
	if v := p.Other["throughput"]["A"]; v.Number != 71900.5 {
		t.Errorf("other source %+v", v)
	}
	if d := p.Differences; len(d) != 1 || d[0].Measure != "throughput" || d[0].System != "A" || math.Abs(d[0].Value.Number-.2) > 1e-15 || d[0].Value.Half != .005 {
		t.Errorf("differences %+v", d)
	}
	if d := f.Tests[0].Points[1].Differences; len(d) != 2 || d[0].Measure != "memory" || d[0].Value.Number != -.03 || d[1].Measure != "cpu" || d[1].Value.Number != -.015 {
		t.Errorf("differences %+v", d)
	}
	if w := f.Tests[0].Points[1].Values["text"]["B"].Word; w != "about -3 %, later" {
		t.Errorf("text %q", w)
	}
}

func TestReadFiguresErrors(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"empty", "", `f.yaml:1:1: empty; begin with "format: steady.figures/1"`},
		{"only a comment", "# nothing\n", `f.yaml:1:1: empty; begin with "format: steady.figures/1"`},
		{"not a mapping", "- a\n", `f.yaml:1:1: the file must be keys with values, as in "key: value"`},
		{"no format", "systems: [A]\ntests: []\n", "f.yaml:1:1: \"format\" is missing; begin with \"format: steady.figures/1\"\nf.yaml:2:8: tests is empty; list at least one with \"name\" and \"points\""},
		{"another format", "format: steady.figures/2\n", `f.yaml:1:9: format "steady.figures/2" is not known; this version reads "steady.figures/1"`},
		{"no systems", "format: steady.figures/1\n", `f.yaml:1:1: "systems" is missing; list them, as in "systems: [A, B]"`},
		{"system twice", "format: steady.figures/1\nsystems: [A, A]\ntests: []\n", "f.yaml:2:14: system \"A\" stands twice; remove one\nf.yaml:3:8: tests is empty; list at least one with \"name\" and \"points\""},
		{"system's name", "format: steady.figures/1\nsystems: [our system]\n", `f.yaml:2:11: system "our system": a name is a letter and up to 63 letters, digits, '.', '_', '-'` + "\n" + `f.yaml:2:10: systems names none; list them, as in "systems: [A, B]"`},
		{"baseline", "format: steady.figures/1\nsystems: [A]\nbaseline: C\ntests: [{name: x, points: [{cores: 2}]}]\n", `f.yaml:3:11: baseline "C" is not one of the systems: A`},
		{"top key", figuresHead + "test: []\n", "f.yaml:4:1: key \"test\" is not known; did you mean \"tests\"?\nf.yaml:1:1: \"tests\" is missing; list at least one with \"name\" and \"points\""},
		{"test without points", figuresHead + "tests:\n  - name: web\n", `f.yaml:5:5: a test needs "points"`},
		{"test twice", figuresHead + "tests:\n  - name: web\n    points: [{cores: 1}]\n  - name: web\n    points: [{cores: 1}]\n", `f.yaml:7:11: test "web" stands twice; give each its name`},
		{"key", figuresWith("latency_meen: 1 ms"), `f.yaml:7:9: key "latency_meen" is not known; did you mean "latency_mean"?`},
		{"far key", figuresWith("speed: 1 ms"), `f.yaml:7:9: key "speed" is not known here; docs/CHECK.md lists the keys`},
		{"quite another key", figuresWith("happiness: 1 ms"), `f.yaml:7:9: key "happiness" is not known here; docs/CHECK.md lists the keys`},
		{"percentile 0", figuresWith("latency_p0: 1 ms"), `f.yaml:7:9: key "latency_p0" is not known; did you mean "latency_p50"?`},
		{"system of a value", figuresWith("throughput: {A: 1, C: 2}"), `f.yaml:7:28: throughput: "C" is not one of the systems: A, B`},
		{"no unit", figuresWith("latency_mean: 0.14"), `f.yaml:7:23: latency_mean: "0.14" has no unit; write one, as in 0.14 ms`},
		{"wrong unit", figuresWith("latency_mean: {A: 0.14 GB}"), `f.yaml:7:27: latency_mean: unit "GB" is not known here; allowed: ns, us, µs, ms, s, min, h, d`},
		{"bits for bytes", figuresWith("transfer_rate: 10 Gbit/s"), `f.yaml:7:24: transfer_rate: unit "Gbit/s" is not known here; allowed: B/s, KB/s, kB/s, KiB/s, MB/s, MiB/s, GB/s, GiB/s, TB/s, TiB/s`},
		{"a unit on a count", figuresWith("connections: 10 k"), `f.yaml:7:22: connections: unit "k" is not used here; write a plain number, as in 10000`},
		{"a separator", figuresWith("throughput: '72,000'"), `f.yaml:7:21: throughput: "72,000": write numbers without separators and with a decimal point, as in 72000 or 72000 1/s`},
		{"an underscore", figuresWith("throughput: 72_000"), `f.yaml:7:21: throughput: "72_000": write numbers without separators and with a decimal point, as in 72000 or 72000 1/s`},
		{"words for a number", figuresWith("throughput: about 9"), `f.yaml:7:21: throughput: "about 9" is not a number; write digits and a decimal point, as in 72000 or 72000 1/s`},
		{"hexadecimal", figuresWith("connections: 0x10"), `f.yaml:7:22: connections: unit "x10" is not used here; write a plain number, as in 10000`},
		{"not a number", figuresWith("throughput: .nan"), `f.yaml:7:21: throughput: ".nan" is not a number; write digits and a decimal point, as in 72000 or 72000 1/s`},
		{"negative", figuresWith("throughput: -1"), `f.yaml:7:21: throughput: "-1" is negative; this figure cannot be`},
		{"too large", figuresWith("throughput: 1e999"), `f.yaml:7:21: throughput: "1e999" is too large`},
		{"null", figuresWith("throughput:"), `f.yaml:7:21: throughput: write a value, as in 72000 or 72000 1/s; leave the key out where it is not known`},
		{"list for one", figuresWith("throughput: [1, 2]"), `f.yaml:7:21: throughput: write a value, as in 72000 or 72000 1/s; leave the key out where it is not known`},
		{"one for a list", figuresWith("run_values: 3"), `f.yaml:7:21: run_values must be a list, as in "[a, b]" or lines that begin with "- "`},
		{"flag", figuresWith("smt: maybe"), `f.yaml:7:14: smt: "maybe"; write yes or no`},
		{"word", figuresWith("loop: half"), `f.yaml:7:15: loop: "half" is not known; write one of closed, open`},
		{"difference without base", "format: steady.figures/1\nsystems: [A, B]\ntests:\n  - name: web\n    points:\n      - difference: +9 %\n", `f.yaml:6:9: a difference needs a base; name it at the top, as in "baseline: B"`},
		{"difference of nothing", figuresWith("difference: {speed: +9 %}"), `f.yaml:7:22: difference: "speed" is not a figure; write "difference: {throughput: +9 %}"`},
		{"difference without percent", figuresWith("difference: 9"), `f.yaml:7:21: difference: "9" has no unit; write one, as in +9 %`},
		{"alias", figuresHead + "setup: &s {cores: 2}\ntests: *s\n", "f.yaml:4:8: anchors, aliases, tags and merges are not used in this format; write the value out\nf.yaml:5:8: anchors, aliases, tags and merges are not used in this format; write the value out"},
		{"two documents", figuresHead + "tests: []\n---\na: b\n", `f.yaml:6:1: a second document; write one file for each`},
		{"deep", figuresHead + "tests: " + strings.Repeat("[", 50) + "\n", `f.yaml:4:1: nested 50 deep; a file of figures needs no more than 8`},
		{"large", strings.Repeat("#", MaxFiguresBytes+1), `f.yaml: larger than 1048576 bytes; split the figures into several files`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ReadFigures("f.yaml", []byte(tt.yaml))
			if err == nil {
				t.Fatalf("read as %+v", f)
			}
			if f != nil || err.Error() != tt.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, tt.want)
			}
		})
	}
	for _, tt := range []struct{ name, yaml, want string }{
		{"key twice", figuresWith("cores: 1\ncores: 2"), "f.yaml:8:9: "},
		{"broken YAML", "format: [\n", "f.yaml:1:"},
		{"tab", "format: steady.figures/1\n\tsystems: [A]\n", "f.yaml:2:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ReadFigures("f.yaml", []byte(tt.yaml)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s...", err, tt.want)
			}
		})
	}
	t.Run("many", func(t *testing.T) {
		_, err := ReadFigures("f.yaml", []byte(figuresWith(strings.Repeat("x: 1\n", 1)+"cores: x\nmtu: 3\nlink: 3\nrtt: 3\ncpu: 3\nsteal: 3\nmemory: 3\npss: 3\nrss: 3\nmss: 3\nwindow: 3")))
		if err == nil || strings.Count(err.Error(), "\n") != 10 || !strings.HasSuffix(err.Error(), "f.yaml: and 2 more") {
			t.Errorf("got %v", err)
		}
	})
}

func TestFiguresEveryKeyHasAKindAndHelp(t *testing.T) {
	for _, k := range FigureKeys() {
		kind, _, ok := figureKindOf(k.Name)
		if _, known := figureKinds[kind]; !ok || !known || k.Help == "" {
			t.Errorf("%+v", k)
		}
	}
}

func FuzzReadFigures(f *testing.F) {
	example, err := os.ReadFile(filepath.Join("..", "examples", "published-figures.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add(figuresWith("latency_mean: {A: 0.14 ms, B: 1e308 d}\ndifference: {throughput: -300 %}"))
	f.Add(figuresWith("run_values: [1, 1e300, 0]\n? x\n: !!str y"))
	f.Add("a: &x [*x]\n<<: *x\n")
	f.Add("%YAML 1.2\n---\n|\n x\n...\n")
	f.Fuzz(func(t *testing.T, data string) {
		got, err := ReadFigures("f.yaml", []byte(data))
		if (got == nil) == (err == nil) {
			t.Fatalf("figures %v, error %v", got, err)
		}
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f.yaml:") {
					t.Fatalf("error %q", err)
				}
			}
			return
		}
		for _, test := range got.Tests {
			for _, p := range test.Points {
				for key, values := range p.Values {
					for system, v := range values {
						if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) || math.IsNaN(v.Half) || math.IsInf(v.Half, 0) || v.Half < 0 {
							t.Fatalf("%s of %s: %+v", key, system, v)
						}
					}
				}
			}
		}
	})
}
