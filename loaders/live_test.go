package loaders

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// installed skips a test of a tool that this host lacks.
func installed(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("no %s on this host: %v", tool, err)
	}
}

// output runs a tool and returns what it printed.
func output(t *testing.T, tool string, args ...string) string {
	t.Helper()
	c := exec.Command(tool, args...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s%s", tool, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// agree checks that the rows of a part add up to a figure of the summary: to 1 %, and to
// the part of the time that no row covers, since a tool that is held up prints less. A
// starved one does so few operations that those under way when it prints its last line
// show: one a thread, of two.
func agree(t *testing.T, f *Foreign, part, phase, metric string) {
	t.Helper()
	agreeOn(t, f, part, phase, "operations", metric)
}

func agreeOn(t *testing.T, f *Foreign, part, phase, column, metric string) {
	t.Helper()
	sound(t, f)
	all := loadRows(f, part)
	want, _ := figureOf(f, phase, metric)
	if phase != "run" {
		for _, p := range f.Phases {
			if p.Name == phase {
				for len(all) > 0 && all[0].BootNS <= p.FromNS {
					all = all[1:]
				}
			}
		}
	}
	covered := int64(0)
	for _, r := range all {
		covered += r.IntervalNS
	}
	bare := 1 - float64(covered)/float64(f.DurationNS)
	if phase != "run" {
		bare = 0
	}
	const underWay = 2
	if got := addUp(all, column); len(all) == 0 || !withinPart(got, want, 0.01+bare+underWay/max(want, 1)) {
		t.Errorf("%d rows of part %q, %.4f of the time bare: %v %s, the total %s is %v", len(all), part, bare, got, column, metric, want)
	}
	if len(f.Failed)+len(f.Incomplete) > 0 {
		t.Errorf("failed %q, incomplete %q", f.Failed, f.Incomplete)
	}
}

func TestWrkOfThisHost(t *testing.T) {
	installed(t, "wrk")
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write([]byte("ok"))
	}))
	defer s.Close()
	run := func(args ...string) *Foreign {
		return oneRun(t, ReadWrk, output(t, "wrk", append([]string{"-t2", "-c20", "-d3s"}, args...)...), ForeignOptions{})
	}
	f := run("--latency", "-s", "testdata/wrk/wrk_hist.lua", s.URL)
	agree(t, f, "", "run", "operations")
	if _, n := quantileOf(t, loadRows(f, "")[0], "latency_hist", 0.5); float64(n) != addUp(loadRows(f, ""), "operations") {
		t.Errorf("%d latencies of %v requests: %q", n, addUp(loadRows(f, ""), "operations"), f.Warnings)
	}
	f = run("-s", "testdata/wrk/wrk_persec_response.lua", s.URL)
	agree(t, f, "", "run", "operations")
	if n := len(loadRows(f, "")); n < 3 || n > 5 {
		t.Errorf("%d rows of 3 s: %q", n, f.Warnings)
	}
	if f = run(s.URL + "/no"); !anyHas(f.Failed, "every response was an error") {
		t.Errorf("failed %q", f.Failed)
	}
}

func TestSysbenchOfThisHost(t *testing.T) {
	installed(t, "sysbench")
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		c := exec.Command("sysbench", append([]string{"--time=3", "--report-interval=1", "--histogram=on", "--percentile=99", "--threads=2"}, args...)...)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			t.Fatalf("sysbench %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	read := func(text string) *Foreign { return oneRun(t, ReadSysbench, text, ForeignOptions{}) }
	for _, test := range []string{"cpu", "threads"} {
		f := read(run(test, "run"))
		agree(t, f, "", "run", "operations")
		p99, _ := figureOf(f, "run", "latency_p99")
		events, _ := figureOf(f, "run", "operations")
		_, r := figureOf(f, "run", "latency_mean")
		if q, n := quantileOf(t, r, "hist", 0.99); float64(n) != events || math.Abs(q-p99) > 0.02*p99+1e-5 {
			t.Errorf("%s: histogram of %d, p99 %v, want %v, %v", test, n, q, events, p99)
		}
	}
	agree(t, read(run("memory", "--memory-total-size=100T", "run")), "", "run", "operations")
	run("fileio", "--file-total-size=16M", "--file-num=2", "prepare")
	agree(t, read(run("fileio", "--file-total-size=16M", "--file-num=2", "--file-test-mode=rndrd", "run")), "", "run", "operations")
}

// A server of one's own, on a socket in a directory of its own.
func TestSysbenchOLTPOfThisHost(t *testing.T) {
	for _, tool := range []string{"sysbench", "mariadbd", "mariadb-install-db", "mariadb-admin"} {
		installed(t, tool)
	}
	if os.Geteuid() != 0 {
		t.Skip("a database server of one's own needs root here: mariadb-install-db changes the owner of its files")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "steady-") // short: a socket's path has 107 characters
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, data := filepath.Join(dir, "s"), filepath.Join(dir, "data")
	output(t, "mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	server := exec.Command("mariadbd", "--no-defaults", "--user=root", "--datadir="+data, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(dir, "pid"), "--init-file="+filepath.Join(dir, "init"), "--innodb-flush-log-at-trx-commit=0")
	if err := os.WriteFile(filepath.Join(dir, "init"), []byte("CREATE DATABASE sbtest;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if exec.Command("mariadb-admin", "--no-defaults", "--user=root", "--socket="+socket, "ping").Run() == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
	run := func(args ...string) string {
		return output(t, "sysbench", append([]string{"oltp_read_write", "--db-driver=mysql", "--mysql-socket=" + socket, "--mysql-user=root", "--mysql-db=sbtest",
			"--tables=1", "--table-size=1000", "--threads=2", "--time=3", "--report-interval=1", "--percentile=99", "--histogram=on"}, args...)...)
	}
	text := run("prepare")
	if _, err := ReadSysbench("f", text, ForeignOptions{}); err == nil || !strings.Contains(err.Error(), "no run") {
		t.Errorf("a preparation: %v", err)
	}
	f := oneRun(t, ReadSysbench, run("run"), ForeignOptions{})
	agree(t, f, "", "run", "operations")
	if f.Facts["sysbench.test"] != "oltp" || text == "" {
		t.Errorf("facts %v", f.Facts)
	}
	for _, column := range []string{"reads", "writes", "others"} {
		agreeOn(t, f, "", "run", column, column)
	}
}

// iperf3Server serves one test and returns its port.
func iperf3Server(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	c := exec.Command("iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port, "--forceflush")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Server listening") {
			go func() {
				for lines.Scan() { // it must not wait for us
				}
			}()
			return port
		}
	}
	t.Fatal("iperf3 -s does not listen")
	return ""
}

func TestIperf3OfThisHost(t *testing.T) {
	installed(t, "iperf3")
	for _, tt := range []struct {
		name   string
		args   []string
		phase  string
		totals map[string]string // by part
	}{
		{"TCP", []string{"-J"}, "run", map[string]string{"": "sent_bits"}},
		{"three streams in text", []string{"-P", "3", "--forceflush"}, "run", map[string]string{"": "sent_bits"}},
		{"kilobits", []string{"-f", "k", "--forceflush"}, "run", map[string]string{"": "sent_bits"}},
		{"reverse", []string{"-J", "-R"}, "run", map[string]string{"": "received_bits"}},
		{"both ways", []string{"-J", "--bidir"}, "run", map[string]string{"send": "sent_bits", "receive": "reverse_received_bits"}},
		{"omitted", []string{"-J", "-O", "1"}, "measure", map[string]string{"": "sent_bits"}},
		{"UDP", []string{"-J", "-u", "-b", "50M"}, "run", map[string]string{"send": "sent_bits", "": "received_bits"}},
		{"UDP in text", []string{"-u", "-b", "50M", "--forceflush"}, "run", map[string]string{"send": "sent_bits", "": "received_bits"}},
		{"UDP, reverse", []string{"-J", "-u", "-b", "50M", "-R"}, "run", map[string]string{"": "received_bits"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			port := iperf3Server(t)
			f := oneRun(t, ReadIperf3, output(t, "iperf3", append([]string{"-c", "127.0.0.1", "-p", port, "-t", "3"}, tt.args...)...), ForeignOptions{})
			for part, metric := range tt.totals {
				agree(t, f, part, tt.phase, metric)
			}
		})
	}
}

func TestPerfOfThisHost(t *testing.T) {
	installed(t, "perf")
	events := "task-clock,context-switches,page-faults,cycles,instructions"
	file := filepath.Join(t.TempDir(), "out")
	if out, err := exec.Command("perf", "stat", "-a", "-e", "task-clock", "-x,", "-o", file, "true").CombinedOutput(); err != nil {
		t.Skipf("perf may not count the system here: %v: %s", err, out)
	}
	t.Parallel()
	for _, args := range [][]string{{"-x,"}, {"-x;", "-A"}, {"-j"}, {"-j", "--per-socket"}, {}} {
		output(t, "perf", append(append([]string{"stat", "-a", "-I", "500", "-e", events, "-o", file}, args...), "sleep", "2")...)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := oneRun(t, ReadPerf, string(text), ForeignOptions{Zone: time.Local})
		sound(t, f)
		if n := len(f.Boots[0]); n < 3 || n > 6 || f.DurationNS < 2e9 || time.Since(f.Start) > time.Minute {
			t.Errorf("perf %v: %d ticks, %d ns, start %v", args, n, f.DurationNS, f.Start)
		}
		// The CPUs' own clock is what they have of time.
		clock := 0.0
		for _, tick := range f.Boots[0] {
			clock += rate(tick, &schemas.Perf, schemas.All, "task_clock_pct") * float64(tick.Blocks[0].IntervalNS)
		}
		cpus := clock / 100 / float64(f.DurationNS)
		if whole := math.Round(cpus); whole < 1 || !withinPart(cpus, whole, 0.02) {
			t.Errorf("perf %v: task-clock of %v CPUs", args, cpus)
		}
		if v := rate(f.Boots[0][0], &schemas.Perf, schemas.All, "context_switches_per_s"); !(v > 0) {
			t.Errorf("perf %v: %v context switches a second: %s", args, v, fmt.Sprint(f.Boots[0][0].Blocks))
		}
	}
}
