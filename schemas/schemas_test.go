package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

var unitSuffix = map[string]string{"_bytes": "B", "_ns": "ns", "_ticks": "tick", "_s": "s", "_pct": "%"}

// Every table follows the rules by which files, metrics and documents are made of it.
func TestEveryTableFollowsTheRules(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, table := range Tables {
		t.Run(table.Name, func(t *testing.T) {
			if seen[table.Name] || !name.MatchString(table.Name) || table.Version < 1 || table.Class == "" || table.Help == "" {
				t.Errorf("%q, version %d, class %q, help %q", table.Name, table.Version, table.Class, table.Help)
			}
			seen[table.Name] = true
			if got, err := Lookup(table.Name); err != nil || got != table {
				t.Errorf("looked up: %v", err)
			}
			names := map[string]bool{}
			for i := range Common {
				names[Common[i].Name] = true
			}
			for i := range table.Columns {
				c := &table.Columns[i]
				if names[c.Name] || !name.MatchString(c.Name) || c.Help == "" {
					t.Errorf("column %q, help %q: twice, or no name", c.Name, c.Help)
				}
				names[c.Name] = true
				if table.Column(c.Name) != i {
					t.Errorf("%s is not found", c.Name)
				}
				for suffix, unit := range unitSuffix {
					if strings.HasSuffix(c.Name, suffix) && !strings.HasSuffix(c.Name, "_per_s") && c.Unit != unit {
						t.Errorf("%s has unit %q", c.Name, c.Unit)
					}
				}
				// missed_ticks are the collector's, not the kernel's.
				if c.Unit == "B" && !strings.Contains(c.Name, "_bytes") || c.Unit == "tick" && !strings.HasSuffix(c.Name, "_ticks") {
					t.Errorf("%s does not say its unit %q", c.Name, c.Unit)
				}
				if c.Kind == Share && !strings.HasSuffix(c.Name, "_ticks") || c.Kind == Busy && !strings.HasSuffix(c.Name, "_ns") {
					t.Errorf("%s is a %s", c.Name, c.Kind)
				}
				if c.Within != "" && table.Column(c.Within) < 0 {
					t.Errorf("%s is within %q", c.Name, c.Within)
				}
				if !slices.Contains([]string{"", "signed", "null"}, c.Retreats) || c.Retreats != "" && !c.Kind.Cumulative() {
					t.Errorf("%s retreats %q", c.Name, c.Retreats)
				}
				for _, name := range []string{c.Enabled, c.Running} {
					if (name == "") != (c.Running == "") {
						t.Errorf("%s is enabled %q, running %q", c.Name, c.Enabled, c.Running)
					} else if name != "" {
						x := table.Columns[table.Column(name)]
						if _, ok := table.metric(&x); ok || x.Kind != Counter || x.Unit != "ns" || x.Running != "" || !c.Kind.Cumulative() {
							t.Errorf("%s takes turns by %s", c.Name, name)
						}
					}
				}
				if !table.Typed && (c.Float || c.Kind == Text || c.Kind == Histogram || c.Kind == Amount) {
					t.Errorf("%s is no integer, and its table travels as such", c.Name)
				}
				if table.Typed && (c.Kind.Cumulative() || c.Div != 0) {
					t.Errorf("%s is a %s of a typed table", c.Name, c.Kind)
				}
				if c.Div != 0 && c.Kind != Gauge {
					t.Errorf("%s is divided and no gauge", c.Name)
				}
			}
			metrics := map[string]bool{}
			for _, m := range table.Metrics() {
				if metrics[m.Name] || !name.MatchString(m.Name) || len(m.Plus) == 0 || m.Help == "" || table.Formula(&m) == "" {
					t.Errorf("metric %q of %q: twice, or of nothing", m.Name, m.Plus)
				}
				metrics[m.Name] = true
				if !slices.Contains([]Direction{Higher, Lower, None}, m.Better) {
					t.Errorf("%s: better is %q", m.Name, m.Better)
				}
				for _, c := range slices.Concat(m.Plus, m.Minus, m.Per) {
					if table.Column(c) < 0 {
						t.Errorf("%s is formed from %q", m.Name, c)
					}
				}
				if m.Quantile < 0 || m.Quantile >= 1 || m.Quantile != 0 && table.Columns[table.Column(m.Plus[0])].Kind != Histogram {
					t.Errorf("%s is quantile %g of %s", m.Name, m.Quantile, m.Plus[0])
				}
				if got, ok := table.Metric(m.Name); !ok || !reflect.DeepEqual(got, m) {
					t.Errorf("%s is not found", m.Name)
				}
			}
		})
	}
	if _, err := Lookup("none"); err == nil || !strings.Contains(err.Error(), "there are cpu, memory") {
		t.Error(err)
	}
	if _, ok := CPU.Metric("none"); ok {
		t.Error("a metric that there is not")
	}
}

// What the columns' kinds make of them.
func TestMetricsOfColumns(t *testing.T) {
	for _, tt := range []struct {
		table             *Table
		name, unit, forms string
	}{
		{&CPU, "user_pct", "%", "sum(user_ticks) / sum(user_ticks + nice_ticks + system_ticks + idle_ticks + iowait_ticks + irq_ticks + softirq_ticks + steal_ticks) * 100"},
		{&CPU, "guest_pct", "%", "sum(guest_ticks) / sum(user_ticks + nice_ticks + system_ticks + idle_ticks + iowait_ticks + irq_ticks + softirq_ticks + steal_ticks) * 100"},
		{&Net, "rx_bytes_per_s", "B/s", "sum(rx_bytes) / seconds"},
		{&Net, "rx_packets_per_s", "1/s", "sum(rx_packets) / seconds"},
		{&Memory, "used_bytes", "B", "mean of (total_bytes - available_bytes), weighted by interval"},
		{&Memory, "commit_pct", "%", "mean of (committed_bytes) / mean of (total_bytes + swap_total_bytes), weighted by interval * 100"},
		{&Perf, "context_switches_per_s", "1/s", "sum(context_switches) / seconds, counts scaled by software_enabled_ns / software_running_ns"},
		{&Perf, "ghz", "GHz", "sum(cycles) / sum(core_enabled_ns), counts scaled by core_enabled_ns / core_running_ns"},
		{&Perf, "core_running_pct", "%", "sum(core_running_ns) / sum(core_enabled_ns) * 100"},
		{&Workload, "latency_mean", "s", "mean of (latency_mean_s), weighted by operations"},
		{&Workload, "latency_p99_9", "s", "quantile 0.999 of the merged latency_hist"},
	} {
		m, ok := tt.table.Metric(tt.name)
		if !ok || m.Unit != tt.unit || tt.table.Formula(&m) != tt.forms {
			t.Errorf("%s: %v %q %s", tt.name, ok, m.Unit, tt.table.Formula(&m))
		}
	}
	if m, ok := Perf.Metric("core_running_ns_per_s"); ok {
		t.Errorf("the time of turns is a metric: %+v", m)
	}
	if m, ok := Disk.Metric("io_pct"); !ok || m.Factor != 100e-9 || m.Per != nil {
		t.Errorf("io_pct: %+v", m)
	}
}

// The page of all tables begins as the one in the documents; a test of the command holds
// the whole.
func TestSchemaPageIsCurrent(t *testing.T) {
	var b bytes.Buffer
	if err := WriteDoc(&b); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/SCHEMA.md")
	if err != nil || !bytes.HasPrefix(page, b.Bytes()) {
		t.Errorf("docs/SCHEMA.md is not what steady schema --markdown prints (%v): write it anew", err)
	}
	for _, table := range Tables {
		if !bytes.Contains(page, []byte("\n## "+table.Name+"\n")) {
			t.Errorf("no table %s", table.Name)
		}
	}
}

// A file's metadata says what its columns are: as JSON, and as the schema that Arrow
// readers decode.
func TestFileMetadata(t *testing.T) {
	for _, table := range Tables {
		md, err := table.FileMetadata()
		if err != nil {
			t.Fatal(err)
		}
		var d Description
		if err := json.Unmarshal([]byte(md["steady.schema"]), &d); err != nil || !reflect.DeepEqual(d, table.Describe()) {
			t.Errorf("%s: %+v %v", table.Name, d, err)
		}
		raw, err := base64.StdEncoding.DecodeString(md["ARROW:schema"])
		if err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%s: %v", table.Name, err)
		}
		want := append(slices.Clone(table.CommonColumns()), table.Columns...)
		for _, m := range table.Stored() {
			want = append(want, Column{Name: m.Name, Unit: m.Unit, Kind: Gauge, Float: true, Help: m.Help})
		}
		fields := r.Schema().Fields()
		if len(fields) != len(want) {
			t.Fatalf("%s: %d fields of %d", table.Name, len(fields), len(want))
		}
		for i, f := range fields {
			c := &want[i]
			typ := arrow.DataType(arrow.PrimitiveTypes.Int64)
			switch {
			case c.Name == "time":
				typ = arrow.FixedWidthTypes.Timestamp_us
			case c.Physical() == Float64:
				typ = arrow.PrimitiveTypes.Float64
			case c.Physical() == String:
				typ = arrow.BinaryTypes.String
			case c.Physical() == Bytes:
				typ = arrow.BinaryTypes.Binary
			}
			if f.Name != c.Name || !arrow.TypeEqual(f.Type, typ) {
				t.Errorf("%s: field %s %s, want %s %s", table.Name, f.Name, f.Type, c.Name, typ)
			}
			if help := f.Metadata.FindKey("help"); help < 0 || f.Metadata.Values()[help] != c.Help {
				t.Errorf("%s: %s has no help", table.Name, f.Name)
			}
			if unit := f.Metadata.FindKey("unit"); unit >= 0 && f.Metadata.Values()[unit] != c.Unit {
				t.Errorf("%s: %s has unit %q", table.Name, f.Name, f.Metadata.Values()[unit])
			}
		}
	}
}

// Names become directories, keys of partitions and text in reports.
func TestCheckName(t *testing.T) {
	for _, ok := range []string{"a", "Ubuntu-24.04", "x_1", strings.Repeat("a", 64), "nullable", "a..b"} {
		if err := CheckName("system", ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "null", "1a", ".a", "..", "-a", "_a", "a b", "a/b", "a=b", "ä", "a\n", strings.Repeat("a", 65)} {
		if err := CheckName("system", bad); err == nil || !strings.HasPrefix(err.Error(), "system: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Any host has a subject, and no two the same.
func TestSubjects(t *testing.T) {
	token := regexp.MustCompile(`^[0-9a-v]+$`)
	seen := map[string]string{}
	for _, host := range []string{"a", "A", "a.b", "a b", "*", ">", "_control", "ä", "host\x00", strings.Repeat("x", 64), "a\n"} {
		p := Producer{Run: "R", Host: host, Epoch: 5}
		x := HostToken(host)
		if !token.MatchString(x) || seen[x] != "" {
			t.Errorf("%q and %q: %s", host, seen[x], x)
		}
		seen[x] = host
		if p.Subject() != "steady.v1.R."+x || p.Subject() == ControlSubject("R") || p.MessageID(7) != "R/"+host+"/5/7" {
			t.Errorf("%s %s", p.Subject(), p.MessageID(7))
		}
	}
	if ControlSubject("R") != "steady.v1.R._control" || RunSubjects("R") != "steady.v1.R.>" {
		t.Error(ControlSubject("R"), RunSubjects("R"))
	}
	if a, b := NewEpoch(), NewEpoch(); a < 0 || b < 0 || a == b {
		t.Error(a, b)
	}
}

func TestDecodeControl(t *testing.T) {
	at := Stamp{Host: "h", WallNS: 1, BootNS: 2, BootID: "b"}
	open := Open{Experiment: "e", System: "s", Scenario: "c", Run: 1, Hosts: 1, Slot: -1}
	but := func(change func(*Open)) *Open {
		o := open
		change(&o)
		return &o
	}
	for _, tt := range []struct {
		name string
		c    Control
		says string
	}{
		{"open", Control{Kind: "open", At: at, Open: &open}, ""},
		{"hello", Control{Kind: "hello", At: at, Hello: &Hello{Epoch: 1, Kind: "collector", Absent: map[string]string{"a": "b"}}}, ""},
		{"phase", Control{Kind: "phase", At: at, Phase: "measure"}, ""},
		{"end", Control{Kind: "end", At: at, End: &End{Epoch: 1, LastSeq: 2, Refused: []Range{{1, 1}}}}, ""},
		{"close", Control{Kind: "close", At: at}, ""},
		{"abort", Control{Kind: "abort", At: at, Cause: "x"}, ""},
		{"no host", Control{Kind: "close"}, "no host"},
		{"open of nothing", Control{Kind: "open", At: at}, "unknown or incomplete"},
		{"hello of nobody", Control{Kind: "hello", At: at}, "unknown or incomplete"},
		{"end of nobody", Control{Kind: "end", At: at}, "unknown or incomplete"},
		{"phase without a name", Control{Kind: "phase", At: at}, "unknown or incomplete"},
		{"unknown", Control{Kind: "begin", At: at}, "unknown or incomplete"},
		{"run 0", Control{Kind: "open", At: at, Open: but(func(o *Open) { o.Run = 0 })}, "run number 0"},
		{"run 10000", Control{Kind: "open", At: at, Open: but(func(o *Open) { o.Run = 10000 })}, "run number 10000"},
		{"no hosts", Control{Kind: "open", At: at, Open: but(func(o *Open) { o.Hosts = 0 })}, "0 hosts"},
		{"system", Control{Kind: "open", At: at, Open: but(func(o *Open) { o.System = "../x" })}, "system: "},
		{"scenario", Control{Kind: "open", At: at, Open: but(func(o *Open) { o.Scenario = "null" })}, "scenario: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := json.Marshal(tt.c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeControl(b)
			if tt.says == "" {
				if err != nil || !reflect.DeepEqual(*got, tt.c) {
					t.Errorf("%+v %v", got, err)
				}
			} else if got != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	if _, err := DecodeControl([]byte("{")); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// FuzzDecodeControl: what is taken is whole, and the same when written and read again.
func FuzzDecodeControl(f *testing.F) {
	f.Add([]byte(`{"kind":"open","at":{"host":"h","wall_ns":1},"open":{"experiment":"e","system":"s","scenario":"c","run":1,"hosts":1,"params":{"a":1.5}}}`))
	f.Add([]byte(`{"kind":"end","at":{"host":"h"},"end":{"epoch":1,"last_seq":5,"refused":[{"first":1,"last":2}]}}`))
	f.Add([]byte(`{"kind":"hello","at":{"host":"h"},"hello":{"epoch":1,"facts":{"a":"b"}}}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeControl(b)
		if err != nil {
			if c != nil || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v %v", c, err)
			}
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if c2, err := DecodeControl(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		} else if third, _ := json.Marshal(c2); !bytes.Equal(third, again) {
			t.Fatalf("%s, then %s", again, third)
		}
	})
}

// Only whole runs that nobody excluded enter statistics.
func TestUsable(t *testing.T) {
	for _, tt := range []struct {
		m   Manifest
		ok  bool
		why string
	}{
		{Manifest{Status: Complete}, true, ""},
		{Manifest{Status: Incomplete}, false, "incomplete"},
		{Manifest{Status: Failed, Reasons: []string{"a", "b"}}, false, "failed: a"},
		{Manifest{Status: Complete, Excluded: &Exclusion{Reason: "cable"}}, false, "excluded: cable"},
	} {
		if ok, why := tt.m.Usable(); ok != tt.ok || why != tt.why {
			t.Errorf("%+v: %v %q", tt.m, ok, why)
		}
	}
	m := Manifest{Phases: []Phase{{"warmup", 0, 5}, {"measure", 5, 9}}}
	if p, ok := m.Phase("measure"); !ok || p.FromNS != 5 {
		t.Error(p, ok)
	}
	if _, ok := m.Phase("none"); ok {
		t.Error("a phase that there is not")
	}
}
