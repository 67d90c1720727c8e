package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update rewrites it. Got:\n%s", file, got)
	}
}

// two is a small experiment of two systems, for the cases that differ by one thing.
func two(runs int, edit func(s *study)) *schemas.Results {
	s := newStudy([]string{"old", "new"}, runs)
	s.scenario("tcp_streams-10", map[string]any{"streams": 10.0})
	s.metric("workload.throughput", "bit/s", schemas.Higher, "load", true, 0.3, 9.1e9, 9.4e9)
	s.metric("workload.latency_p99", "s", schemas.Lower, "load", true, 6, 61e-6, 60e-6)
	s.metric("net.rx_dropped_per_s", "1/s", schemas.Lower, "sut", false, 30, 3, 9).Device = ptr("eth0")
	s.metric("memory.cached_bytes", "B", schemas.None, "sut", false, 0.4, 6.1e9, 6.4e9)
	edit(s)
	return &s.r
}

func nothing(*study) {}

// nulls takes away what can be unknown.
func nulls(s *study) {
	ms := s.r.Scenarios[0].Metrics
	ms[0].Comparisons[0] = schemas.ComparisonResult{System: "new", Warnings: []string{"no variation"}, Verdict: ptr(schemas.Undecided), MarginPercent: 2}
	ms[1].Systems[0] = schemas.SystemResult{System: "old", Runs: 3, Warnings: []string{"the tool gave no histogram"}}
	ms[1].Comparisons[0] = schemas.ComparisonResult{System: "new", Warnings: []string{"the baseline is not known"}}
	ms[2].Systems[1].Mean, ms[2].Systems[1].CI = nil, [2]*float64{}
	ms[2].Comparisons = nil
	ms[3].Comparisons[0].Level = 0.983
	// Not allowed in results, and no reason to print it.
	ms[3].Systems[0].Mean = ptr(math.NaN())
	ms[3].Comparisons[0].PercentCI[1] = ptr(math.Inf(1))
}

func failed(s *study) {
	s.r.Quality[5] = schemas.RunNote{System: "new", Scenario: "tcp_streams-10", Run: "03", Status: schemas.Failed, Why: "iperf3: unable to connect to server: No route to host", Received: 12}
	s.r.Quality[1].Status, s.r.Quality[1].Used, s.r.Quality[1].Why = schemas.Incomplete, false, "incomplete: 61 ticks of host sut1 never came"
	s.r.Quality[1].Missing, s.r.Quality[1].Received = 61, 539
	s.r.Quality[0].Duplicates, s.r.Quality[0].Late = 4, 2
	s.r.Quality[0].Flags = []string{"clock step of 1.2 s at 88 s"}
	s.r.Plausibility = []schemas.Finding{
		{Rule: "line-rate", Severity: "error", Subject: "new/tcp_streams-10/02", Text: "9.6 Gbit/s of TCP payload don't fit through 10 Gbit/s Ethernet with an MTU of 1500: the limit is 9.49"},
		{Rule: "cpu-per-request", Severity: "warning", Subject: "new", Text: "400 us of CPU a request are 10 to 40 times what is usual"},
	}
}

func soak(s *study) {
	s.r.Drift = []schemas.Drift{
		{Run: "system=new/scenario=soak/run=01", Metric: "workload.throughput", Verdict: "drift", Shape: ptr("step"), Onset: ptr("2026-01-03T00:00:00Z"),
			OnsetCI: [2]*string{ptr("2026-01-02T23:10:00Z"), ptr("2026-01-03T00:50:00Z")}, Percent: ptr(-3.02), PercentCI: [2]*float64{ptr(-3.31), ptr(-2.74)}},
		{Run: "system=new/scenario=soak/run=01", Metric: "memory.used_bytes", Verdict: "steady", Percent: ptr(0.04), PercentCI: [2]*float64{ptr(-0.2), ptr(0.28)}, MDE: ptr(0.61)},
		{Run: "system=old/scenario=soak/run=01", Metric: "memory.used_bytes", Host: ptr("sut1"), Verdict: "undecided", Warnings: []string{"too short"}},
	}
}

func zeroBaseline(s *study) {
	m := &s.r.Scenarios[0].Metrics[2]
	m.Systems[0].Mean, m.Systems[0].CI = ptr(0.0), [2]*float64{ptr(0.0), ptr(0.0)}
	for i := range m.Systems[0].RunValues {
		m.Systems[0].RunValues[i] = ptr(0.0)
	}
	c := &m.Comparisons[0]
	c.Percent, c.PercentCI, c.MDEPercent = nil, [2]*float64{}, nil
	c.Difference, c.DifferenceCI, c.Method = ptr(9.1), [2]*float64{ptr(3.2), ptr(15.0)}, "welch"
	c.Verdict, c.Differs = ptr(schemas.Worse), ptr(true)
	c.Warnings = []string{"difference in the metric's unit: a value is 0"}
}

func noBaseline(s *study) {
	s.r.Baseline = ""
	for i := range s.r.Scenarios[0].Metrics {
		s.r.Scenarios[0].Metrics[i].Comparisons = nil
	}
}

func oneRun(s *study) {
	for i := range s.r.Scenarios[0].Metrics {
		m := &s.r.Scenarios[0].Metrics[i]
		for j := range m.Systems {
			m.Systems[j].CI, m.Systems[j].SDBetween = [2]*float64{}, nil
		}
		m.Systems[0].CI = [2]*float64{ptr(*m.Systems[0].Mean * 0.99), ptr(*m.Systems[0].Mean * 1.01)}
		m.Systems[0].Warnings = []string{"one run: the interval is of that run only"}
		c := &m.Comparisons[0]
		c.DifferenceCI, c.PercentCI, c.MDEPercent, c.Differs = [2]*float64{}, [2]*float64{}, nil, nil
		c.Q, c.P = nil, nil
		if m.Direction != schemas.None {
			c.Verdict = ptr(schemas.Undecided)
		}
		c.RunsNeeded = nil
		c.Warnings = []string{"one run a system says nothing about the scatter between runs"}
	}
}

func hostile(s *study) {
	s.r.Experiment = "x\x1b[31m"
	s.r.Scenarios[0].Metrics[2].Device = ptr("eth0|\x1b]0;x\a`$(id)`\u202e")
	s.r.Scenarios[0].Metrics[0].Comparisons[0].Warnings = []string{"first line\nsecond | <b>line</b>"}
}

var cases = []struct {
	name string
	r    func() *schemas.Results
	opt  TerminalOptions
}{
	{"wide", realistic, TerminalOptions{}},
	{"80-columns", realistic, TerminalOptions{Width: 80}},
	{"80-columns-two-systems", func() *schemas.Results { return two(3, nothing) }, TerminalOptions{Width: 80}},
	{"40-columns", func() *schemas.Results { return two(3, nothing) }, TerminalOptions{Width: 40}},
	{"color", func() *schemas.Results { return two(3, failed) }, TerminalOptions{Width: 100, Color: true}},
	{"all", realistic, TerminalOptions{Width: 140, All: true}},
	{"nulls", func() *schemas.Results { return two(3, nulls) }, TerminalOptions{Width: 100}},
	{"one-run", func() *schemas.Results { return two(3, oneRun) }, TerminalOptions{Width: 100}},
	{"no-baseline", func() *schemas.Results { return two(3, noBaseline) }, TerminalOptions{Width: 100}},
	{"zero-baseline", func() *schemas.Results { return two(3, zeroBaseline) }, TerminalOptions{Width: 120}},
	{"failed", func() *schemas.Results { return two(3, failed) }, TerminalOptions{Width: 100}},
	{"soak", func() *schemas.Results { return two(3, soak) }, TerminalOptions{Width: 100}},
	{"hostile", func() *schemas.Results { return two(3, hostile) }, TerminalOptions{Width: 100}},
	{"empty", func() *schemas.Results { return &schemas.Results{Experiment: "web"} }, TerminalOptions{}},
}

func TestTerminal(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Terminal(&b, tt.r(), tt.opt); err != nil {
				t.Fatal(err)
			}
			golden(t, "terminal-"+tt.name, b.Bytes())
			plainText := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "")
			if !tt.opt.Color && plainText != b.String() {
				t.Error("an ANSI sequence without colour")
			}
			for _, l := range strings.Split(plainText, "\n") {
				if tt.opt.Width > 0 && width(l) > tt.opt.Width {
					t.Errorf("%d columns of %d: %s", width(l), tt.opt.Width, l)
				}
			}
			noNonsense(t, plainText)
		})
	}
}

func noNonsense(t *testing.T, s string) {
	t.Helper()
	if m := regexp.MustCompile(`\b(NaN|[+-]?Inf|nil|null)\b|%!|e[+-]\d\d`).FindString(s); m != "" {
		t.Errorf("the text holds %q", m)
	}
}

func TestMarkdown(t *testing.T) {
	for _, name := range []string{"wide", "nulls", "no-baseline", "failed", "soak", "hostile"} {
		i := slices.IndexFunc(cases, func(c struct {
			name string
			r    func() *schemas.Results
			opt  TerminalOptions
		}) bool {
			return c.name == name
		})
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Markdown(&b, cases[i].r()); err != nil {
				t.Fatal(err)
			}
			golden(t, "markdown-"+name, b.Bytes())
			noNonsense(t, b.String())
			// All rows of a table have the same number of cells.
			cells := 0
			for _, l := range strings.Split(b.String(), "\n") {
				if !strings.HasPrefix(l, "|") {
					cells = 0
					continue
				}
				n := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|")
				if cells != 0 && n != cells {
					t.Errorf("%d bars, not %d: %s", n, cells, l)
				}
				cells = n
			}
		})
	}
}

// checkHTML reads the page as the browser would and holds it against its promises.
func checkHTML(t *testing.T, page []byte) {
	t.Helper()
	void := map[string]bool{"meta": true, "input": true, "br": true, "link": true, "img": true, "wbr": true}
	for _, r := range string(page) {
		if r < ' ' && r != '\n' && r != '\t' || r == '\u202e' {
			t.Errorf("the page holds %U", r)
		}
	}
	markup := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAll(page, nil)
	d := xml.NewDecoder(bytes.NewReader(markup))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	var stack []string
	ids := map[string]bool{}
	var refs []string
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("at %d: %v", d.InputOffset(), err)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			for _, a := range x.Attr {
				v := strings.TrimSpace(a.Value)
				switch a.Name.Local {
				case "src", "srcset", "action", "data", "poster":
					t.Errorf("<%s %s=%q>", x.Name.Local, a.Name.Local, v)
				case "href":
					if !strings.HasPrefix(v, "#") {
						t.Errorf("<%s href=%q> leads out of the page", x.Name.Local, v)
					}
					refs = append(refs, strings.TrimPrefix(v, "#"))
				case "id":
					if ids[v] {
						t.Errorf("id %q twice", v)
					}
					ids[v] = true
				}
				if strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s>", x.Name.Local, a.Name.Local)
				}
			}
			if !void[x.Name.Local] {
				stack = append(stack, x.Name.Local)
			}
		case xml.EndElement:
			if void[x.Name.Local] {
				continue
			}
			if len(stack) == 0 || stack[len(stack)-1] != x.Name.Local {
				t.Fatalf("at %d: </%s> closes %v", d.InputOffset(), x.Name.Local, stack)
			}
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		t.Errorf("left open: %v", stack)
	}
	for _, r := range refs {
		if !ids[r] {
			t.Errorf("#%s leads nowhere", r)
		}
	}
	for _, s := range []string{"http://", "https://", "@import", "url(", "<link", "@font-face"} {
		if bytes.Contains(page, []byte(s)) {
			t.Errorf("the page holds %s", s)
		}
	}
	body := string(markup)
	noNonsense(t, strings.ReplaceAll(body, "null before", "")) // of the schema's help
	if n := strings.Count(body, "<table"); n != strings.Count(body, "<caption") {
		t.Error("a table has no caption")
	}
	if strings.Contains(body, "<th>") || strings.Contains(body, "<th class") {
		t.Error("a head has no scope")
	}
}

func TestHTML(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			var charts []Chart
			var meta Meta
			if tt.name == "wide" {
				charts, meta = realisticCharts(), realisticMeta()
			}
			if err := HTML(&b, tt.r(), charts, meta); err != nil {
				t.Fatal(err)
			}
			checkHTML(t, b.Bytes())
			if dir := os.Getenv("STEADY_REPORT_DIR"); dir != "" { // to be looked at
				if err := os.WriteFile(filepath.Join(dir, tt.name+".html"), b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Every text that users or tools choose goes through the page's escaping.
func TestHTMLEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>'`
	s := newStudy([]string{"base" + evil, "new" + evil}, 3)
	s.r.Experiment = evil
	s.scenario("scenario"+evil, map[string]any{"p" + evil: evil})
	m := s.metric("m"+evil, "u"+evil, schemas.Higher, "r"+evil, true, 1, 10, 12)
	m.Host, m.Device = ptr("h"+evil), ptr("d"+evil)
	m.Systems[0].Warnings, m.Comparisons[0].Warnings = []string{evil}, []string{evil}
	s.r.Plausibility = []schemas.Finding{{Rule: evil, Severity: evil, Subject: evil, Text: evil}}
	s.r.Quality[0] = schemas.RunNote{System: evil, Scenario: evil, Run: evil, Status: evil, Why: evil, Flags: []string{evil}}
	s.r.Drift = []schemas.Drift{{Run: evil, Metric: evil, Verdict: evil, Shape: ptr(evil), Warnings: []string{evil}}}
	c := Curve{System: evil, Run: evil, T: []float64{0, 1, 2}, V: []float64{1, 2, 3}}
	charts := []Chart{
		{Scenario: "scenario" + evil, Metric: evil, Unit: evil, Phases: []Phase{{evil, Span{0, 2}}}, Curves: []Curve{c}},
		{Scenario: evil, Metric: evil, Unit: evil, Curves: []Curve{c}},
	}
	meta := Meta{evil, evil, evil, evil, []Host{{evil, evil, []string{evil}, map[string]string{evil: evil}}}, []File{{evil, evil}}}
	var b bytes.Buffer
	if err := HTML(&b, &s.r, charts, meta); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("<script")); n != 1 {
		t.Errorf("%d scripts, want the page's own", n)
	}
	if bytes.Contains(b.Bytes(), []byte("alert(1)</script")) {
		t.Error("a name is not escaped")
	}
	checkHTML(t, b.Bytes())
}

func TestHTMLSaysWhatItMust(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, realistic(), realisticCharts(), realisticMeta()); err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(b.String(), "\u00a0", " ")
	for _, s := range []string{
		`at least 6.6 % better.`,               // the near end of the interval
		`That is not equality`,                 // beside undecided
		`a decision needs about 17 runs a sys`, // and what would help
		`mysqld ended with signal 9 at 212 s`,  // why a run is not used
		`kept: 120 to 300 s`,                   // the window, in the chart
		`class="hole"`,                         // what is missing
		`one of 3 runs is not used`,            // a warning as a note
		`not steady`,                           // the judged window of one system
		`prefers-color-scheme:dark`, `@media print`,
		`≠ kernel`, // what differs between the machines
	} {
		if !strings.Contains(page, s) {
			t.Errorf("the page doesn't say %q", s)
		}
	}
}

// A soak of three days in seconds, nine runs: the file stays small.
func TestHTMLSize(t *testing.T) {
	const seconds = 259200
	charts := []Chart{{"soak", "workload.throughput", "1/s", Span{600, seconds}, nil, curves([]string{"a", "b", "c"}, 3, seconds, []float64{1000, 1100, 1200})}}
	var b bytes.Buffer
	if err := HTML(&b, &schemas.Results{Experiment: "soak"}, charts, Meta{}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 250e3 {
		t.Errorf("%d bytes", b.Len())
	}
	// Many scenarios and metrics.
	s := newStudy([]string{"a", "b", "c"}, 3)
	for i := range 12 {
		s.scenario(fmt.Sprintf("scenario-%d", i), nil)
		for j := range 60 {
			s.metric(fmt.Sprintf("memory.m%d_bytes", j), "B", schemas.Lower, "sut", j < 2, 1, 1e9, 1.02e9, 1e9)
		}
	}
	b.Reset()
	if err := HTML(&b, &s.r, nil, Meta{}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 4e6 {
		t.Errorf("%d bytes", b.Len())
	}
}

// Text and lines stand out from the page, by the measure of WCAG 2 (AA: 4.5).
func TestColorsHaveContrast(t *testing.T) {
	luminance := func(hex string) float64 {
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		var l float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			var v int
			if _, err := fmt.Sscanf(hex[2*i:2*i+2], "%x", &v); err != nil {
				t.Fatal(err)
			}
			c := float64(v) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			l += weight * c
		}
		return l
	}
	blocks := regexp.MustCompile(`:root\{[^}]*\}`).FindAllString(pageCSS, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d sets of colours, want light, dark and print", len(blocks))
	}
	for _, b := range blocks {
		vars := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9]+):#([0-9a-f]+)`).FindAllStringSubmatch(b, -1) {
			vars[m[1]] = m[2]
		}
		for _, fore := range []string{"ink", "ink2", "link", "better", "worse", "same", "undecided", "warn", "s0", "s1", "s2", "s3", "s4", "s5", "s6"} {
			for _, back := range []string{"bg", "panel"} {
				if back == "panel" && fore[0] == 's' {
					continue
				}
				hi, lo := luminance(vars[fore]), luminance(vars[back])
				if hi < lo {
					hi, lo = lo, hi
				}
				if c := (hi + 0.05) / (lo + 0.05); c < 4.5 {
					t.Errorf("%s #%s on %s #%s: %.2f", fore, vars[fore], back, vars[back], c)
				}
			}
		}
	}
}

func TestReduceKeepsSpikesAndGaps(t *testing.T) {
	const n = 100000
	c := Curve{T: make([]float64, n), V: make([]float64, n), Known: make([]bool, n)}
	for i := range c.T {
		c.T[i], c.V[i], c.Known[i] = float64(i), 10+0.001*float64(i%7), true
	}
	c.V[12345], c.V[77777], c.V[77780] = 99, -5, 42
	for i := 30000; i < 34000; i++ {
		c.Known[i] = false
	}
	c.V[60010] = math.NaN()
	line, means, gaps := c.reduce(n, 800)
	if k := slices.IndexFunc(means, func(p point) bool { return p.gap && p.t > 34000 }); len(means) != 800-32 || k < 0 || means[k].t > 34200 || means[k].v < 10 {
		t.Errorf("%d means, after the gap: number %d", len(means), k)
	}
	if len(line) > 2*800 {
		t.Errorf("%d vertices", len(line))
	}
	for _, want := range []point{{12345, 99, false}, {77777, -5, false}, {77780, 42, false}} {
		if !slices.ContainsFunc(line, func(p point) bool { return p.t == want.t && p.v == want.v }) {
			t.Errorf("%v is lost", want)
		}
	}
	if !slices.IsSortedFunc(line, func(a, b point) int { return int(a.t - b.t) }) {
		t.Error("not in the order of time")
	}
	breaks := 0
	for i, p := range line {
		if p.t >= 30000 && p.t < 34000 {
			t.Errorf("a vertex in the gap: %v", p)
		}
		if p.gap && i > 0 {
			breaks++
		}
	}
	if breaks != 1 { // one unknown second is narrower than a column, but marked
		t.Errorf("%d breaks", breaks)
	}
	if !slices.Contains(gaps, 60010*800/n) || !slices.Contains(gaps, 32000*800/n) {
		t.Errorf("gaps %v", gaps)
	}
}

func TestReduceBreaksWhereRowsLack(t *testing.T) {
	c := Curve{T: []float64{0, 1, 2, 9, 10, 20}, V: []float64{1, 1, 1, 2, 2, 3}}
	line, means, _ := c.reduce(20, 800)
	if means != nil {
		t.Error("means of single points")
	}
	var at []float64
	for _, p := range line {
		if p.gap {
			at = append(at, p.t)
		}
	}
	if !slices.Equal(at, []float64{0, 9, 20}) {
		t.Errorf("lines begin at %v", at)
	}
	if d := path(line, 20, axis{0, 4}, 200, 100); d != "M0 75l10 0l10 0M90 50l10 0M200 25h1" {
		t.Errorf("path %q", d)
	}
}

func TestNumbersEndWhereTheirIntervalDoes(t *testing.T) {
	for _, tt := range []struct {
		value, half float64
		want        string
	}{
		{123.43, 1.23, "123.4 ±1.2"},
		{123.43, 4.1, "123 ±4"},
		{123.43, 0.0312, "123.430 ±0.031"},
		{123.43, 96, "120 ±100"},
		{1234, 213, "1230 ±210"},
		{0.0421, 0.004, "0.042 ±0.004"},
		{12, 0, "12.0 ±0.0"},
		{0, 0, "0 ±0"},
		{-0.001, 1.4, "0.0 ±1.4"},
		{85012.5, 1e-9, "85012.5 ±0.0"},
	} {
		iv := interval{tt.value, tt.value - tt.half, tt.value + tt.half, true, true}
		if got := iv.mean(); got != tt.want {
			t.Errorf("%v ±%v: %q, want %q", tt.value, tt.half, got, tt.want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		unit   string
		value  float64
		factor float64
		want   string
	}{
		{"B", 2.1e9, 1.0 / (1 << 30), "GiB"},
		{"B/s", 5e6, 1.0 / (1 << 20), "MiB/s"},
		{"B", 100, 1, "B"},
		{"s", 0.0421, 1e3, "ms"},
		{"s", 3e-5, 1e6, "us"},
		{"s", 72, 1, "s"},
		{"ns", 3e5, 1e-3, "us"},
		{"1/s", 85000, 1e-3, "k/s"},
		{"1/s", 850, 1, "1/s"},
		{"bit/s", 9.4e9, 1e-9, "Gbit/s"},
		{"page/s", 1.2e5, 1e-3, "k page/s"},
		{"%", 99, 1, "%"},
		{"", 4e7, 1e-6, "M"},
		{"s", 0, 1, "s"},
	} {
		sc := scaleFor(tt.unit, tt.value)
		if sc.unit != tt.want || math.Abs(sc.factor/tt.factor-1) > 1e-12 {
			t.Errorf("%v %s: %v, want %v %s", tt.value, tt.unit, sc, tt.factor, tt.want)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	r, charts, meta := realistic(), realisticCharts(), realisticMeta()
	for b.Loop() {
		if err := HTML(io.Discard, r, charts, meta); err != nil {
			b.Fatal(err)
		}
	}
}
