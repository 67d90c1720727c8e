package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/bus"
)

// contender is a collector that is measured, once a second.
type contender struct {
	name string
	what string // what it does, for people
	// plan returns what to start in dir. An error that is missing says that it is not on
	// this host.
	plan func(b *bench, dir string) (*plan, error)
}

// plan is how a contender runs.
type plan struct {
	argv []string
	env  []string
	// beside runs while the contender is measured, in this process: it is not counted.
	beside func(ctx context.Context)
}

// contenders are all, the one first that the others are divided by.
var contenders = []contender{
	{"sadc -S XALL", "sysstat, all activities, to a file", sadc("-S", "XALL")},
	{"sadc", "sysstat, its default activities, to a file", sadc()},
	{"steady collect", "through its write-ahead log to a nats-server (not counted)", collect()},
	{"steady, everything on", "steady collect --interrupt-cells --perf extended: also each interrupt on each CPU, as sadc has, and more CPU events", collect("--interrupt-cells", "--perf", "extended")},
	{"steady, lean", "steady collect --profile lean: the tables that verdicts are formed of, ten ticks at a time", collect("--profile", "lean")},
	{"node_exporter", "Prometheus, its default collectors, scraped over HTTP (the scraper not counted)", nodeExporter},
	{"netdata", "without cloud, machine learning, health and orchestrators, to its own database", netdata},
	{"PCP", "pmcd, pmdalinux and pmlogger, some 670 values, to an archive", pcp},
}

var sadcPaths = []string{"/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc", "/usr/libexec/sysstat/sadc"}

func sadc(args ...string) func(*bench, string) (*plan, error) {
	return func(_ *bench, dir string) (*plan, error) {
		path, err := program("sysstat", sadcPaths...)
		return &plan{argv: append(append([]string{path}, args...), "1", filepath.Join(dir, "sa"))}, err
	}
}

// collect is steady itself, of the sources that the bench was built from.
func collect(args ...string) func(*bench, string) (*plan, error) {
	return func(b *bench, dir string) (*plan, error) {
		url, err := b.server()
		if err == nil && b.steady == "" {
			b.steady = filepath.Join(b.dir, "steady")
			err = build(b.steady, "github.com/steadybench/steady/cmd/steady")
		}
		return &plan{argv: append([]string{b.steady, "collect", "--nats", url, "--experiment", "cost", "--system", "steady",
			"--scenario", filepath.Base(dir)}, args...), env: []string{"STATE_DIRECTORY=" + dir}}, err
	}
}

func nodeExporter(_ *bench, dir string) (*plan, error) {
	path, err := program("prometheus-node-exporter", "prometheus-node-exporter", "node_exporter")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return &plan{argv: []string{path, "--web.listen-address=" + address}, beside: func(ctx context.Context) { scrape(ctx, "http://"+address+"/metrics") }}, nil
}

// scrape reads url each second, compressed and over one connection, as Prometheus does.
func scrape(ctx context.Context, url string) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		if req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err == nil {
			if r, err := client.Do(req); err == nil { // it may not listen yet
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func netdata(_ *bench, dir string) (*plan, error) {
	path, err := program("netdata", "netdata", "/usr/sbin/netdata")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"etc", "log", "cache", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	user := ""
	if os.Getuid() == 0 {
		user = "run as user = root"
	}
	conf := fmt.Sprintf(`[global]
 %s
[directories]
 config = %[2]s/etc
 log = %[2]s/log
 cache = %[2]s/cache
 lib = %[2]s/lib
[db]
 mode = dbengine
 update every = 1
[web]
 bind to = %[3]s
[cloud]
 enabled = no
[statsd]
 enabled = no
[ml]
 enabled = no
[health]
 enabled = no
[plugins]
 go.d = no
 python.d = no
 charts.d = no
 ebpf = no
 fping = no
`, user, dir, address)
	return &plan{argv: []string{path, "-D", "-c", filepath.Join(dir, "netdata.conf")}, env: []string{"DO_NOT_TRACK=1", "DISABLE_TELEMETRY=1"}},
		errors.Join(
			os.WriteFile(filepath.Join(dir, "netdata.conf"), []byte(conf), 0o644),
			os.WriteFile(filepath.Join(dir, "etc", ".opt-out-from-anonymous-statistics"), nil, 0o644))
}

// Logs of PCP's daemons must be files: as root, pmcd unlinks and makes anew what it is
// given.
func pcp(_ *bench, dir string) (*plan, error) {
	pmcd, err := program("pcp", "/usr/lib/pcp/bin/pmcd", "/usr/libexec/pcp/bin/pmcd")
	if err != nil {
		return nil, err
	}
	pmlogger, err := program("pcp", "pmlogger", "/usr/lib/pcp/bin/pmlogger", "/usr/libexec/pcp/bin/pmlogger")
	if err != nil {
		return nil, err
	}
	const names, agents = "/var/lib/pcp/pmns", "/var/lib/pcp/pmdas"
	if _, err := os.Stat(filepath.Join(names, "root")); err != nil {
		return nil, missing("PCP has no name space yet: cd " + names + " && ./Rebuild -u")
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address) // it has both
	user := "pcp"
	if os.Getuid() == 0 {
		user = "root"
	}
	script := fmt.Sprintf(`%s -f -A -i 127.0.0.1 -p %s -s %s/pmcd.socket -c %[3]s/pmcd.conf -l %[3]s/pmcd.log -U %[4]s &
until pmprobe -h localhost pmcd.numclients >/dev/null 2>&1; do sleep 0.2; done
exec %[5]s -U %[4]s -h localhost -c %[3]s/pmlogger.conf -t 1sec -l %[3]s/pmlogger.log %[3]s/archive
`, pmcd, port, dir, user, pmlogger)
	return &plan{argv: []string{"sh", filepath.Join(dir, "run.sh")},
			// Without derived metrics: pmlogger would print an error for one of them at each reading.
			env: []string{"PCP_DERIVED_CONFIG=", "PCP_TMP_DIR=" + dir, "PCP_LOG_DIR=" + dir, "PCP_RUN_DIR=" + dir, "PMCD_PORT=" + port}},
		errors.Join(
			os.WriteFile(filepath.Join(dir, "run.sh"), []byte(script), 0o755),
			os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte("pmcd 2 dso pmcd_init "+agents+"/pmcd/pmda_pmcd.so\nlinux 60 pipe binary "+agents+"/linux/pmdalinux\n"), 0o644),
			os.WriteFile(filepath.Join(dir, "pmlogger.conf"), []byte("log mandatory on 1 sec {\n"+strings.Join(pcpMetrics, "\n")+"\n}\n"), 0o644))
}

// pcpMetrics are about what steady and sadc read.
var pcpMetrics = []string{
	"kernel.all.cpu", "kernel.percpu.cpu", "kernel.all.load", "kernel.all.pressure", "kernel.all.intr", "kernel.all.pswitch",
	"kernel.all.running", "kernel.all.blocked", "kernel.all.sysfork", "kernel.all.nprocs", "kernel.percpu.intr",
	"mem.util", "mem.vmstat", "swap", "disk.dev", "disk.all", "filesys", "vfs",
	"network.interface", "network.ip", "network.icmp", "network.tcp", "network.tcpconn", "network.udp", "network.sockstat", "network.softnet",
}

// program returns the first of the programs that is here: a path, or a name to be
// looked up.
func program(pkg string, names ...string) (string, error) {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", missing(fmt.Sprintf("%s is not here: apt-get install %s, or the like", filepath.Base(names[0]), pkg))
}

// missing says what is not on this host, with the remedy.
type missing string

func (m missing) Error() string { return string(m) }

// freeAddress returns an address of this host where nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// server returns the URL of a nats-server with a stream for steady, which it starts
// the first time.
func (b *bench) server() (url string, err error) {
	if b.nats != nil {
		return b.url, nil
	}
	dir := filepath.Join(b.dir, "nats-server")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "nats-server")
	if err := build(path, "github.com/nats-io/nats-server/v2"); err != nil {
		return "", err
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	conf := filepath.Join(dir, "server.conf")
	// Clients that are stopped do not answer for minutes.
	text := "listen: " + strconv.Quote(address) + "\nping_interval: \"1h\"\njetstream { store_dir: " + strconv.Quote(filepath.Join(dir, "jetstream")) + " }\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return "", err
	}
	if b.nats, err = start(b.hierarchy, b.counted, dir, nil, []string{path, "-c", conf}); err != nil {
		return "", err
	}
	b.url = "nats://" + address
	var conn *bus.Conn
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if conn, err = bus.Connect(b.url, "steady cost", false); err == nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			return "", fmt.Errorf("nats-server does not answer: see its output: %w", err)
		}
	}
	defer conn.Close()
	_, err = conn.EnsureStream(context.Background(), 1<<30, 1)
	return b.url, err
}

// build builds a program of this module.
func build(out, pkg string) error {
	c := exec.Command("go", "build", "-trimpath", "-o", out, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", pkg, err, text)
	}
	return nil
}
