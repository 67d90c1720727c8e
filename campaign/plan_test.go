package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/collector/workload"
)

// made is a workload that does nothing, with a parameter of each kind.
type made struct {
	Connections int               `yaml:"connections"`
	File        string            `yaml:"file"`
	TLS         bool              `yaml:"tls"`
	Timeout     workload.Duration `yaml:"timeout"`
}

func (m *made) Params() map[string]any {
	return map[string]any{"connections": m.Connections, "file": m.File, "tls": m.TLS}
}
func (m *made) Check(context.Context) []workload.Problem { return nil }
func (m *made) Needs() time.Duration                     { return 2 * time.Second }
func (m *made) Start(context.Context, *workload.Env) (*workload.Session, error) {
	return &workload.Session{}, nil
}

var drivers = map[string]Driver{"made": func(decode func(any) error) (workload.Workload, error) {
	m := &made{Connections: 10}
	if err := decode(m); err != nil {
		return nil, err
	}
	if m.Connections < 1 {
		return nil, fmt.Errorf("connections: %d: want 1 or more", m.Connections)
	}
	return m, nil
}, "other": func(func(any) error) (workload.Workload, error) { return nil, errors.New("other: no") }}

const whole = `
experiment: web
baseline: b
margin: 3%
duration: 5m
keep: 3m
repeats: 2
systems:
  - name: b
  - name: tuned
    sysctl: {net.core.somaxconn: "4096"}
    setup: [echo hello]
    with: {made: {tls: true}}
placement: {server: 0-2, load: "3,5"}
scenarios:
  - name: static
    workload: made
    with:
      connections: [1000, 20000]
      file: 1k.bin
  - name: soak
    workload: made
    duration: 72h
    keep: 71h
    repeats: 1
`

func names(items []Item) string {
	var out []string
	for _, i := range items {
		out = append(out, fmt.Sprintf("%s/%s/%d", i.Name, i.System.Name, i.Repeat))
	}
	return strings.Join(out, " ")
}

func TestPlan(t *testing.T) {
	p, variants, err := ParsePlan("plan.yaml", []byte(whole), drivers)
	if err != nil {
		t.Fatal(err)
	}
	if p.Margin != 0.03 || time.Duration(p.Duration) != 5*time.Minute || *p.Retries != 1 || fmt.Sprint(p.Placement.Server, p.Placement.Load) != "[0 1 2] [3 5]" {
		t.Errorf("%+v", p)
	}
	want := "static_connections-1000/b/1 static_connections-1000/tuned/1 static_connections-1000/tuned/2 static_connections-1000/b/2 " +
		"static_connections-20000/b/1 static_connections-20000/tuned/1 static_connections-20000/tuned/2 static_connections-20000/b/2 soak/b/1 soak/tuned/1"
	if got := names(p.Schedule(variants, 1)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	first, second := variants[0].Workload.Params(), variants[1].Workload.Params()
	if first["connections"] != 1000 || first["file"] != "1k.bin" || first["tls"] != false || second["tls"] != true {
		t.Errorf("%v %v", first, second)
	}
	if s := variants[0].Scenario; time.Duration(s.Keep) != 3*time.Minute || p.Takes(variants[0]) != 5*time.Minute+2*time.Second {
		t.Errorf("%+v takes %s", s, p.Takes(variants[0]))
	}
}

func TestOrders(t *testing.T) {
	p, variants, err := ParsePlan("plan.yaml", []byte(strings.Replace(strings.Replace(whole, "keep: 3m", "keep: 3m\norder: random", 1), "repeats: 2", "repeats: 40", 1)), drivers)
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.Schedule(variants, 7), p.Schedule(variants, 7)
	if names(a) != names(b) || names(a) == names(p.Schedule(variants, 8)) {
		t.Error("the seed does not decide the order")
	}
	first := map[string]int{}
	for k := 0; k < 80; k += 2 { // each repeat has both, in either order
		if a[k].System == a[k+1].System || a[k].Repeat != a[k+1].Repeat || a[k].Repeat != k/2+1 {
			t.Fatalf("repeat %d: %s", k/2+1, names(a[k:k+2]))
		}
		first[a[k].System.Name]++
	}
	if first["b"] < 10 || first["tuned"] < 10 {
		t.Errorf("first: %v", first)
	}
	p.Order = OrderBlocks
	if got := names(p.Schedule(variants, 1)[38:42]); got != "static_connections-1000/b/39 static_connections-1000/b/40 static_connections-1000/tuned/1 static_connections-1000/tuned/2" {
		t.Errorf("blocks: %s", got)
	}
}

// Everything that is wrong is said at once, each with its line.
func TestPlanSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no YAML", "experiment: [", "plan: p.yaml: line 1: "},
		{"unknown key", strings.Replace(whole, "repeats: 2", "repeat: 2", 1), `plan: p.yaml: line 7: unknown field "repeat"`},
		{"wrong type", strings.Replace(whole, "repeats: 2", "repeats: many", 1), "plan: p.yaml: line 7: "},
		{"time", strings.Replace(whole, "keep: 3m", "keep: 3 minutes", 1), `"3 minutes": want a time such as 5m or 90s`},
		{"margin", strings.Replace(whole, "margin: 3%", "margin: 0.03", 1), `"0.03": want percent above 0`},
		{"name", strings.Replace(whole, "experiment: web", "experiment: ../web", 1), `plan: p.yaml: line 2: experiment: experiment: "../web": a name has`},
		{"baseline", strings.Replace(whole, "baseline: b", "baseline: c", 1), `plan: p.yaml: line 3: baseline: "c" is none of the systems`},
		{"order", whole + "order: any\n", `line 26: order: "any": want abba, random or blocks`},
		{"keep", strings.Replace(whole, "keep: 71h", "keep: 73h", 1), "line 24: scenarios[1].keep: 73h0m0s of 72h0m0s: want at least 2s"},
		{"workload", strings.Replace(whole, "workload: made\n    duration", "workload: nginx\n    duration", 1), `line 22: scenarios[1].workload: "nginx": want one of made, other`},
		{"parameter", strings.Replace(whole, "file: 1k.bin", "fiel: 1k.bin", 1), "line 20: scenarios[0].with.fiel: no such parameter"},
		{"parameter's type", strings.Replace(whole, "[1000, 20000]", "[1000, many]", 1), "line 19: scenarios[0].with.connections: a string where int is wanted"},
		{"parameter's value", strings.Replace(whole, "[1000, 20000]", "-1", 1), "line 19: scenarios[0].with.connections: -1: want 1 or more"},
		{"no systems", "experiment: e\nscenarios:\n  - workload: made\n", "systems: none: name at least one"},
		{"twice", strings.Replace(whole, "name: soak", "name: static_connections-1000", 1), "two of them are called static_connections-1000 on system b"},
		{"system twice", strings.Replace(whole, "name: tuned", "name: b", 1), "systems[1]: a second system b"},
		{"setting", strings.Replace(whole, "net.core.somaxconn", "../../etc/passwd", 1), `line 11: systems[1].sysctl: "../../etc/passwd" is no name of a kernel setting`},
		{"cpus", strings.Replace(whole, "server: 0-2", "server: 2-0", 1), `"2-0": want CPUs such as 0-3,8`},
		{"free and placed", strings.Replace(whole, "server: 0-2", "free: true, server: 0-2", 1), "placement.server: CPUs, and free as well"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := ParsePlan("p.yaml", []byte(tt.text), drivers)
			if err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
	_, _, err := ParsePlan("p.yaml", []byte("experiment: 1\nbaseline: x\nsystems: []\nscenarios: []\n"), drivers)
	if n := strings.Count(fmt.Sprint(err), "plan: p.yaml: line"); n != 4 {
		t.Errorf("%d complaints, want 4:\n%v", n, err)
	}
}

func TestSecret(t *testing.T) {
	t.Setenv("STEADY_TEST_SECRET", "s3")
	path := t.TempDir() + "/secret"
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for v, want := range map[string]string{"plain": "plain", "env:STEADY_TEST_SECRET": "s3", "file:" + path: "from a file"} {
		if got, err := workload.Secret(v); err != nil || got != want {
			t.Errorf("%s: %q %v", v, got, err)
		}
	}
	if _, err := workload.Secret("env:STEADY_TEST_NONE"); err == nil || !strings.Contains(err.Error(), "STEADY_TEST_NONE is not set") {
		t.Error(err)
	}
}

func TestSysctlPath(t *testing.T) {
	for name, want := range map[string]string{"net.core.somaxconn": "/proc/sys/net/core/somaxconn", "net.ipv4.conf.eth0/1.forwarding": "/proc/sys/net/ipv4/conf/eth0.1/forwarding"} {
		if got := SysctlPath(name); got != want || !sysctlRE.MatchString(name) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add(whole)
	f.Add("experiment: e\nsystems: [{name: a}]\nscenarios: [{workload: made, with: {connections: [1, [2]]}}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, variants, err := ParsePlan("p", []byte(text), drivers)
		if err == nil && (len(variants) == 0 || len(p.Systems) == 0) {
			t.Error("a plan of nothing")
		}
	})
}
