package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// natsServer starts a real nats-server with its streams in dir, in front of it what
// brings it where it is to run.
func natsServer(t testing.TB, before []string, dir, host, port string) *process {
	t.Helper()
	line := append(slices.Clone(before), tool(t, "nats-server"), "-js", "-sd", dir, "-a", host, "-p", port)
	p := start(t, nil, line[0], line[1:]...)
	p.says(t, "Server is ready")
	return p
}

// The lab: a network namespace for the server and one for each host, with addresses
// that exist nowhere else.
const (
	labServer = "steady-test-server"
	labNet    = "10.93.0."
)

var labHosts = []string{"steady-test-a", "steady-test-b"}

// lab makes the namespaces, or skips the test where it may not.
func lab(t *testing.T) {
	t.Helper()
	ip := tool(t, "ip", "/sbin/ip", "/usr/sbin/ip", "/usr/bin/ip")
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	remove := func() {
		for _, ns := range append([]string{labServer}, labHosts...) {
			exec.Command(ip, "netns", "del", ns).Run() // mostly there is none
		}
	}
	remove() // of a test that was killed
	if out, err := exec.Command(ip, "netns", "add", labServer).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v: %s", err, out)
	}
	t.Cleanup(remove)
	do := func(line string) {
		t.Helper()
		if out, err := exec.Command(ip, strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
	do("-n " + labServer + " link set lo up")
	do("-n " + labServer + " link add br0 type bridge")
	do("-n " + labServer + " addr add " + labNet + "1/24 dev br0")
	do("-n " + labServer + " link set br0 up")
	for i, ns := range labHosts {
		port := fmt.Sprintf("port%d", i)
		do("netns add " + ns)
		do(fmt.Sprintf("-n %s link add %s type veth peer name eth0 netns %s", labServer, port, ns))
		do(fmt.Sprintf("-n %s link set %s master br0 up", labServer, port))
		do(fmt.Sprintf("-n %s addr add %s%d/24 dev eth0", ns, labNet, 2+i))
		do("-n " + ns + " link set lo up")
		do("-n " + ns + " link set eth0 up")
	}
}

// within is what brings a command into a namespace.
func within(ns string) []string { return []string{"ip", "netns", "exec", ns} }

// startSteadyIn starts the command in a namespace.
func startSteadyIn(t *testing.T, ns string, args ...string) *process {
	t.Helper()
	line := append(append(within(ns), os.Args[0]), args...)
	return start(t, []string{actEnv + "=1"}, line[0], line[1:]...)
}

func TestTwoHostsAcrossARealNetwork(t *testing.T) {
	tool(t, "nats-server")
	lab(t)
	data, url := t.TempDir(), "nats://"+labNet+"1:4222"
	natsServer(t, within(labServer), t.TempDir(), labNet+"1", "4222")
	in := startSteadyIn(t, labServer, "ingest", "--data", data, "--nats", url)
	in.says(t, "ingest: "+url)

	args := []string{"collect", "--nats", url, "--experiment", "lab", "--system", "s", "--scenario", "c", "--hosts", "2", "--interval", "100ms", "--duration", "2s"}
	collectors := []*process{
		startSteadyIn(t, labHosts[0], append(args, "--host", "alpha", "--role", "sut")...),
		startSteadyIn(t, labHosts[1], append(args, "--host", "beta/β.1", "--role", "load")...),
	}
	for _, p := range collectors {
		if code := p.wait(t, patience); code != 0 {
			t.Fatalf("%s: exit %d\n%s", p.name, code, p.stderr.String())
		}
	}
	in.says(t, "complete")
	if took := in.signal(t, syscall.SIGTERM); in.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("ingest: exit %d after %s", in.cmd.ProcessState.ExitCode(), took)
	}

	m := one(t, data)
	if m.Status != schemas.Complete || len(m.Hosts) != 2 || m.Hosts[0].Host != "alpha" || m.Hosts[1].Host != "beta/β.1" {
		t.Fatalf("%s %q, hosts %v", m.Status, m.Reasons, m.Hosts)
	}
	if r := m.Hosts[0].Roles; !slices.Equal(r, []string{"sut"}) {
		t.Errorf("alpha's roles: %q", r)
	}
	for _, p := range m.Producers {
		if p.Expected == nil || *p.Expected != 21 || p.Received+p.Missed != 21 || len(p.Missing) > 0 {
			t.Errorf("%s: expected %v, received %d, missed %d, missing %v", p.Host, p.Expected, p.Received, p.Missed, p.Missing)
		}
	}
	sameTime(t, data, m)
	if left := alive(t, data); len(left) > 0 {
		t.Errorf("left in live: %q", left)
	}
}

// sameTime checks that elapsed time runs alike on all hosts of a run: they are on one
// machine here, so that time less elapsed time is one moment, and that moment is the
// run's start.
func sameTime(t *testing.T, data string, m *schemas.Manifest) {
	t.Helper()
	r, err := loaders.Find(data, strings.Join([]string{m.Experiment, m.System, m.Scenario, m.Run}, "/"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := r.Table(&schemas.Net)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Hosts) != len(m.Hosts) || !slices.Equal(x.Devices, []string{"eth0", "lo"}) {
		t.Errorf("table net has hosts %q, devices %q", x.Hosts, x.Devices)
	}
	f := read(t, x)
	for i := range f.Rows() {
		zero := f[0].Ints[i]*1000 - f[1].Ints[i]
		if off := math.Abs(float64(zero - m.Start.UnixNano())); off > 5e6 {
			t.Fatalf("row %d of %s: time less elapsed time is %.3f ms off the start", i, f[6].Texts[i], off/1e6)
		}
	}
}

func TestServerKilledAndStartedAgain(t *testing.T) {
	data, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	url := "nats://127.0.0.1:" + port
	server := natsServer(t, nil, dir, "127.0.0.1", port)
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url, "--flush", "500ms")
	in.says(t, "ingest: "+url)
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "20ms", "--host", "h")
	c := connect(t, url)
	await(t, "ticks in the stream", func() bool { return streamed(c) > 20 })

	for range 2 {
		server.signal(t, syscall.SIGKILL)
		col.says(t, "will try again until it works")
		server = natsServer(t, nil, dir, "127.0.0.1", port)
		before := uint64(0)
		await(t, "ticks in the stream again", func() bool {
			n := streamed(c)
			if before == 0 {
				before = n
			}
			return n > before+20
		})
	}
	col.signal(t, syscall.SIGINT)
	if code := col.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("collect: exit %d", code)
	}
	in.says(t, "complete")
	in.signal(t, syscall.SIGTERM)

	m := one(t, data)
	p := m.Producers[0]
	if m.Status != schemas.Complete || p.Expected == nil || p.Received != *p.Expected || len(p.Missing) > 0 || len(p.Refused) > 0 {
		t.Errorf("%s %q: %+v", m.Status, m.Reasons, p)
	}
	r, err := loaders.Find(data, "e/s/c/1")
	if err != nil {
		t.Fatal(err)
	}
	x, err := r.Table(&schemas.Memory)
	if err != nil {
		t.Fatal(err)
	}
	for i, seq := range read(t, x).Column("seq").Ints {
		if seq != int64(i+1) {
			t.Fatalf("row %d is tick %d", i, seq)
		}
	}
}

func TestCollectorEndsOnSignal(t *testing.T) {
	url, c := serve(t)
	data := t.TempDir()
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "ingest: ")
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "50ms")
	await(t, "ticks in the stream", func() bool { return streamed(c) > 5 })
	t.Logf("collect ended %.2f s after SIGTERM", col.signal(t, syscall.SIGTERM).Seconds())
	if code := col.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("collect: exit %d", code)
	}
	in.says(t, "complete")
	t.Logf("ingest ended %.2f s after SIGINT", in.signal(t, syscall.SIGINT).Seconds())
	if code := in.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ingest: exit %d", code)
	}
	if m := one(t, data); m.Status != schemas.Complete {
		t.Errorf("%s: %q", m.Status, m.Reasons)
	}
	reopens(t, data)
}

// TestIngestEndsInTheMiddle ends ingest while a run goes on: the rows are durable,
// and the next ingest makes the folder with the rest.
func TestIngestEndsInTheMiddle(t *testing.T) {
	url, c := serve(t)
	ensureStream(t, c)
	data := t.TempDir()
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "50ms")
	await(t, "ticks in the stream", func() bool { return streamed(c) > 5 })
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "ingest: ")
	await(t, "the run in live", func() bool {
		in.signal(t, syscall.SIGTERM)
		if len(alive(t, data)) > 0 {
			return true
		}
		in = startSteady(t, nil, "ingest", "--data", data, "--nats", url)
		in.says(t, "ingest: ")
		return false
	})
	if code := in.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ingest: exit %d", code)
	}
	if r := must(t, "ls", "--data", data); !strings.Contains(r.stdout, "live: ") {
		t.Errorf("ls doesn't show the live run:\n%s", r.stdout)
	}
	col.signal(t, syscall.SIGINT)
	in = startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "complete")
	in.signal(t, syscall.SIGTERM)
	if m := one(t, data); m.Status != schemas.Complete || m.Producers[0].Received != *m.Producers[0].Expected {
		t.Errorf("%s: %q", m.Status, m.Reasons)
	}
}

func TestTakenPort(t *testing.T) {
	port := freePort(t)
	data := t.TempDir()
	in := startSteady(t, nil, "ingest", "--data", data, "--listen", "127.0.0.1:"+port)
	in.says(t, "ingest: ")
	for _, command := range []string{"ingest", "demo"} {
		p := startSteady(t, nil, command, "--data", t.TempDir(), "--listen", "127.0.0.1:"+port)
		code, text := p.wait(t, patience), p.stderr.String()
		if code != exitFailed || !strings.Contains(text, "127.0.0.1:"+port) || !strings.Contains(text, "choose another address with --listen") {
			t.Errorf("%s: exit %d: %s", command, code, text)
		}
	}
}

func TestDeadServer(t *testing.T) {
	url := "nats://127.0.0.1:" + freePort(t)
	for _, command := range []string{"ingest", "demo"} {
		p := startSteady(t, nil, command, "--data", t.TempDir(), "--nats", url)
		code, text := p.wait(t, patience), p.stderr.String()
		if code != exitFailed || !strings.Contains(text, url) || !strings.Contains(text, "start a nats-server with JetStream there, or leave --nats out") {
			t.Errorf("%s: exit %d: %s", command, code, text)
		}
	}
	// A collector waits for its server, and when it is ended says what becomes of its ticks.
	for wal, says := range map[string]string{"none": "were not acknowledged: the run will be incomplete", t.TempDir(): "were not acknowledged: they stay in "} {
		col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--wal", wal)
		col.says(t, "will try again until it works")
		t.Logf("collect ended %.2f s after SIGINT", col.signal(t, syscall.SIGINT).Seconds())
		if code := col.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(col.stderr.String(), says) {
			t.Errorf("collect: exit %d: %s", code, col.stderr.String())
		}
	}
}

func TestServerWithoutJetStream(t *testing.T) {
	port := freePort(t)
	p := start(t, nil, tool(t, "nats-server"), "-a", "127.0.0.1", "-p", port)
	p.says(t, "Server is ready")
	d := startSteady(t, nil, "demo", "--data", t.TempDir(), "--nats", "nats://127.0.0.1:"+port)
	if code := d.wait(t, patience); code != exitFailed || !strings.Contains(d.stderr.String(), "start it with -js") {
		t.Errorf("exit %d: %s", code, d.stderr.String())
	}
}

func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a small file system has to be mounted: needs root")
	}
	// A fixed place, so that what a killed test left can be found.
	data := filepath.Join(os.TempDir(), "steady-test-full-disk")
	unix.Unmount(data, unix.MNT_DETACH) // mostly there is nothing
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("tmpfs can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		unix.Unmount(data, unix.MNT_DETACH)
		os.Remove(data)
	})
	url, c := serve(t)
	ensureStream(t, c)
	col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "10ms", "--duration", "500ms")
	if code := col.wait(t, patience); code != 0 {
		t.Fatalf("collect: exit %d", code)
	}
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	if code := in.wait(t, patience); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if text := in.stderr.String(); !strings.Contains(text, "no space left on device") || !strings.Contains(text, "free some space and start again") {
		t.Errorf("it says %s", text)
	}
	if ms := manifests(t, data); len(ms) > 0 {
		t.Fatalf("%d runs on a full disk", len(ms))
	}
	if err := unix.Mount("tmpfs", data, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	in = startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "complete")
	in.signal(t, syscall.SIGTERM)
	m := one(t, data)
	if p := m.Producers[0]; m.Status != schemas.Complete || p.Received+p.Missed != 51 || p.Received != *p.Expected {
		t.Errorf("%s %q: %+v", m.Status, m.Reasons, p)
	}
	if left := alive(t, data); len(left) > 0 {
		t.Errorf("left in live: %q", left)
	}
}

func ensureStream(t *testing.T, c *bus.Conn) {
	t.Helper()
	if _, err := c.EnsureStream(t.Context(), 1<<30, 1); err != nil {
		t.Fatal(err)
	}
}
