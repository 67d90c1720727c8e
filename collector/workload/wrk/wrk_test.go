package wrk

import (
	"bytes"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/outputs"
)

func TestParametersThatMakeNoSense(t *testing.T) {
	for params, want := range map[string]string{
		"connections: 0":                      "connections: 0: want 1 to 1000000",
		"threads: -1":                         "threads: -1: ",
		"connections: 2\nthreads: 3":          "threads: 3: ",
		"timeout: 1500ms":                     "timeout: 1.5s: want whole seconds",
		"timeout: 2h":                         "timeout: 2h0m0s: ",
		"body_bytes: 0":                       "body_bytes: 0: ",
		"port: 70000":                         "port: 70000: ",
		"wrk: ''":                             "wrk: want ",
		"url: ftp://host/":                    "url: \"ftp://host/\": ",
		"url: http:///x":                      "url: ",
		"url: http://a:b@host/":               "url: with a user",
		"url: http://host/\nport: 80":         "url: with port",
		"url: http://host/\nconfig: gzip on;": "url: with port",
	} {
		if _, err := New(decoder(params)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", params, err, want)
		}
	}
}

func TestParamsHaveEveryDefault(t *testing.T) {
	w, err := New(decoder("{}"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"connections": 1000, "threads": 0, "timeout": "2s", "wrk": "wrk", "url": "", "loop": "closed",
		"body_bytes": 1024, "workers": 0, "port": 0, "config": "", "nginx": "nginx"}
	if got := w.Params(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProcessesAndWorkersByTheLimits(t *testing.T) {
	for _, tt := range []struct {
		connections, workers, cpus int
		url                        string
		limits                     limits
		wantProcesses, wantWorkers int
	}{
		{1000, 0, 1, "", limits{20000, 28232}, 1, 1},
		{18000, 0, 1, "", limits{20000, 28232}, 1, 1},
		{18001, 0, 1, "", limits{20000, 28232}, 2, 2},
		{20000, 0, 4, "", limits{20000, 28232}, 2, 4},
		{20000, 3, 4, "", limits{20000, 28232}, 2, 3},
		{20000, 0, 1, "", limits{1 << 20, 10000}, 3, 1},          // each process has an address of its own
		{20000, 0, 1, "http://h/", limits{1 << 20, 10000}, 1, 1}, // there is only one
		{20000, 0, 1, "", limits{0, 0}, 20000, 20000},
	} {
		w := &Workload{Connections: tt.connections, Workers: tt.workers, URL: tt.url}
		if p, n := w.processes(tt.limits), w.workers(tt.limits, tt.cpus); p != tt.wantProcesses || n != tt.wantWorkers {
			t.Errorf("%+v: %d processes, %d workers", tt, p, n)
		}
	}
	if got := share(20000, 3); !reflect.DeepEqual(got, []int{6667, 6667, 6666}) {
		t.Errorf("got %v", got)
	}
}

// problems returns what Check says, fatal first.
func (l *lab) problems(params string) (fatal, warnings string) {
	l.Helper()
	w, err := New(decoder(params))
	if err != nil {
		l.Fatal(err)
	}
	if l.limits != nil {
		w.(*Workload).limits = func() (limits, error) { return *l.limits, nil }
	}
	for _, p := range w.Check(l.Context()) {
		if p.Fatal {
			fatal += p.String() + "\n"
		} else {
			warnings += p.String() + "\n"
		}
	}
	return fatal, warnings
}

func TestCheck(t *testing.T) {
	need(t, "wrk", "nginx")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	plenty := limits{1 << 20, 1 << 16}
	for _, tt := range []struct {
		name, params    string
		limits          limits
		fatal, warnings []string
	}{
		{"all is well", "connections: 10", plenty, nil, nil},
		{"no wrk", "connections: 10\nwrk: /nowhere/wrk", plenty, []string{"/nowhere/wrk", "apt-get install wrk"}, nil},
		{"another tool", "connections: 10\nwrk: echo", plenty, []string{"echo: does not say that it is wrk"}, nil},
		{"no nginx", "connections: 10\nnginx: nginx-that-is-not-there", plenty, []string{"nginx-that-is-not-there: not installed: install nginx"}, nil},
		{"port taken", "connections: 10\nport: " + strconv.Itoa(taken.Addr().(*net.TCPAddr).Port), plenty, []string{"address already in use: end what listens there"}, nil},
		{"config refused", "connections: 10\nconfig: nonsense 1;", plenty, []string{`unknown directive "nonsense"`, "see parameter config"}, nil},
		{"defaults said otherwise", "connections: 10\nconfig: 'sendfile off; open_file_cache off;'", plenty, nil, nil},
		{"split", "connections: 20000", limits{20000, 28232}, nil, []string{"connections: 20000: split over 2 processes"}},
		{"far too few files", "connections: 20000", limits{1024, 28232}, []string{"22 processes of wrk", "ulimit -Hn"}, nil},
		{"too few workers", "connections: 20000\nworkers: 1", limits{20000, 28232}, []string{"workers: 1: too few for 20000 connections", "workers: 2, or raise"}, nil},
		{"too few ports", "connections: 20000\nurl: http://127.0.0.1:1/", limits{1 << 20, 10000}, []string{"to one address with 10000 local ports: sysctl -w net.ipv4.ip_local_port_range"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.limits = &tt.limits
			fatal, warnings := l.problems(tt.params)
			for _, want := range tt.fatal {
				if !strings.Contains(fatal, want) {
					t.Errorf("fatal %q: want %q", fatal, want)
				}
			}
			if tt.fatal == nil && fatal != "" {
				t.Errorf("fatal %q", fatal)
			}
			for _, want := range tt.warnings {
				if !strings.Contains(warnings, want) {
					t.Errorf("warnings %q: want %q", warnings, want)
				}
			}
		})
	}
}

func TestVersionsOfWrk(t *testing.T) {
	l := newLab(t)
	for text, want := range map[string]string{
		"wrk debian/4.1.0-3+b2 [epoll] Copyright": "debian/4.1.0-3+b2",
		"wrk 4.2.0 [kqueue] Copyright":            "4.2.0",
		"wrk 3.1.2 [epoll] Copyright":             "error: version 3.1.2: too old",
		"wrk 4.0.0 [epoll]\n --rate <T>":          "error: is wrk2",
		"":                                        "error: does not say that it is wrk",
	} {
		got, err := wrkVersion(t.Context(), l.script("wrk", "cat <<'X'\n"+text+"\nX\nexit 1\n"))
		if message, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%q: got %v", text, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestNginxConfiguration(t *testing.T) {
	c := &nginxConfig{build: &nginxBuild{version: "1.22.1", options: "--without-http_scgi_module"}, workers: 2, cpus: []int{1, 3}, files: 20000,
		connections: 20000, addresses: 2, port: 8080, statusPort: 8081, extra: "\tsendfile off; # mine"}
	text := string(c.text())
	for _, want := range []string{"worker_processes 2;", "worker_cpu_affinity auto 1010;", "worker_rlimit_nofile 20000;", "worker_connections 19900;",
		"listen 127.0.0.1:8080 backlog=20000 reuseport;", "listen 127.0.0.2:8080 ", "listen 127.0.0.1:8081;", "uwsgi_temp_path", "sendfile off; # mine"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"scgi_temp_path scgi", "sendfile on", "user root"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in\n%s", not, text)
		}
	}
	if n := len(body(1000)); n != 1000 {
		t.Errorf("a body of %d bytes", n)
	}
	if got := (&nginxBuild{version: "1.14.1"}).args("d"); len(got) != 4 {
		t.Errorf("got %q: -e came with 1.19.5", got)
	}
}

func TestStubStatus(t *testing.T) {
	const text = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630948 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n"
	if n, err := parseStatus([]byte(text)); n != 31070465 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for _, text := range []string{"", "<html>404</html>", "server accepts handled requests\n1 2 3", "server accepts handled requests\n 1 2\n3\n", "server accepts handled requests\n 1 2 x \n", "server accepts handled requests\n 1 2 -3 \n"} {
		if n, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("%q: got %d", text, n)
		}
	}
}

func FuzzStubStatus(f *testing.F) {
	f.Add([]byte("Active connections: 1 \nserver accepts handled requests\n 1 1 3 \nReading: 0 Writing: 1 Waiting: 0 \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, err := parseStatus(text); err == nil && (n < 0 || !bytes.Contains(text, []byte(strconv.FormatInt(n, 10)))) {
			t.Errorf("%q: got %d", text, n)
		}
	})
}

// FuzzTold feeds the lines of two processes with two threads each: what is taken is in
// the rows, all of it, and the rows are contiguous.
func FuzzTold(f *testing.F) {
	f.Add("begin 1 5\nbegin 2 7", "begin 1 6\nbegin 2 9\n1 0 3 1 1\n2 0 1 0 4")
	f.Fuzz(func(t *testing.T, a, b string) {
		j := &job{w: &Workload{}, out: newRecorder(t)}
		r := &result{processes: []*process{{threads: 2}, {threads: 2}}}
		var rows []span
		_, now := collector.Now()
		l := &ledger{origin: 0, step: now/100 + 1, emit: func(s span) { rows = append(rows, s) }}
		var want counts
		for i, text := range []string{a, b} {
			for _, line := range strings.Split(text, "\n") {
				if j.told(r, l, measure, i, line) != nil {
					continue
				}
				if fields := strings.Fields(line); len(fields) == 5 {
					good, _ := strconv.ParseInt(fields[2], 10, 64)
					bad, _ := strconv.ParseInt(fields[3], 10, 64)
					want.add(counts{good, bad}) // a sum that wraps wraps in the rows alike
				}
			}
		}
		last, ok := l.close(now)
		if !ok {
			return
		}
		var got counts
		rows = append(rows, last)
		for i, s := range rows {
			got.add(s.counts)
			if s.end < s.begin || i > 0 && s.begin != rows[i-1].end {
				t.Errorf("rows %v", rows)
			}
		}
		if got != want {
			t.Errorf("rows hold %v, want %v", got, want)
		}
	})
}

// A process of the load without any answer takes nothing from what the others know.
func TestMergeWithAProcessWithoutAnswers(t *testing.T) {
	told := func(good float64, latencies ...outputs.Bucket) *process {
		return &process{report: &outputs.Report{Figures: []outputs.Figure{{Metric: "operations", Value: good}}},
			interval: outputs.Interval{Values: map[string]float64{"operations": good}, Latencies: latencies}}
	}
	whole, _ := merge([]*process{told(0), told(3, outputs.Bucket{NS: 1e6, Count: 2}, outputs.Bucket{NS: 4e6, Count: 1}), told(1, outputs.Bucket{NS: 1e6, Count: 1})})
	want := map[string]float64{"operations": 4, "latency_mean_s": 0.00175, "latency_p50_s": 0.001, "latency_p90_s": 0.004,
		"latency_p95_s": 0.004, "latency_p99_s": 0.004, "latency_p99_9_s": 0.004, "latency_max_s": 0.004}
	if !reflect.DeepEqual(whole.Values, want) {
		t.Errorf("got %v, want %v", whole.Values, want)
	}
	if whole, _ := merge([]*process{told(0), told(0)}); len(whole.Latencies) != 0 || whole.Values["operations"] != 0 {
		t.Errorf("of nothing: %v", whole)
	}
	if whole, _ := merge([]*process{told(2, outputs.Bucket{NS: 1, Count: 2}), told(2)}); len(whole.Latencies) != 0 {
		t.Errorf("latencies of half of the operations: %v", whole)
	}
}
