// Package wrk drives wrk, the HTTP load generator, against an nginx of its own or a
// server that is named.
//
// wrk is a closed loop: each connection waits for its answer before it asks again. It
// runs twice, for the warm-up and for the measured phase, so that what it says at the end
// is of the measured phase alone. Answers a second come from a script that wrk runs
// (count.lua), and of an own nginx from its stub_status as well. The latencies are known
// for the whole phase only; they stand on its last row.
//
// It tunes nothing of the host: what keeps a load from running is said by Check.
package wrk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector/workload"
)

// Workload is workload "wrk".
type Workload struct {
	// Connections are kept open, each with one request at a time.
	Connections int `yaml:"connections"`
	// Threads of wrk; 0 is one a CPU of the load.
	Threads int `yaml:"threads"`
	// BodyBytes is the size of the file that the own nginx serves.
	BodyBytes int `yaml:"body_bytes"`
	// Timeout is what an answer may take to be in the latencies, whole seconds.
	Timeout workload.Duration `yaml:"timeout"`
	// Workers of the own nginx; 0 is one a CPU of the server.
	Workers int `yaml:"workers"`
	// Port of the own nginx; 0 is a free one.
	Port int `yaml:"port"`
	// URL names another server than an own nginx.
	URL string `yaml:"url"`
	// Config are more lines for nginx's http block.
	Config string `yaml:"config"`
	// Nginx and Wrk are the programs.
	Nginx string `yaml:"nginx"`
	Wrk   string `yaml:"wrk"`

	limits func() (limits, error) // of this host
}

// New is the driver.
func New(decode func(any) error) (workload.Workload, error) {
	w := &Workload{Connections: 1000, BodyBytes: 1024, Timeout: workload.Duration(2 * time.Second), Nginx: "nginx", Wrk: "wrk", limits: hostLimits}
	if err := decode(w); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name      string
		v, lo, hi int
	}{
		{"connections", w.Connections, 1, 1_000_000},
		{"threads", w.Threads, 0, 4096},
		{"body_bytes", w.BodyBytes, 1, 64 << 20},
		{"workers", w.Workers, 0, 4096},
		{"port", w.Port, 0, 65535},
	} {
		if p.v < p.lo || p.v > p.hi {
			return nil, fmt.Errorf("%s: %d: want %d to %d", p.name, p.v, p.lo, p.hi)
		}
	}
	if t := time.Duration(w.Timeout); t < time.Second || t > time.Minute || t%time.Second != 0 {
		return nil, fmt.Errorf("timeout: %v: want whole seconds, 1s to 60s: wrk knows no others", w.Timeout)
	}
	if w.Threads > w.Connections {
		return nil, fmt.Errorf("threads: %d: want no more than connections (%d)", w.Threads, w.Connections)
	}
	for name, path := range map[string]string{"nginx": w.Nginx, "wrk": w.Wrk} {
		if path == "" {
			return nil, fmt.Errorf("%s: want a program's name or path", name)
		}
	}
	if w.URL == "" {
		return w, nil
	}
	u, err := url.Parse(w.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.ContainsAny(w.URL, " \t\r\n"):
		return nil, fmt.Errorf("url: %q: want http://HOST:PORT/PATH", w.URL)
	case u.User != nil:
		return nil, errors.New("url: with a user: wrk does not send it: leave it out")
	case w.Port != 0 || w.Workers != 0 || w.Config != "":
		return nil, errors.New("url: with port, workers or config, which are of the own nginx: leave one or the other out")
	}
	return w, nil
}

// Params implements workload.Workload.
func (w *Workload) Params() map[string]any {
	p := map[string]any{"connections": w.Connections, "threads": w.Threads, "timeout": w.Timeout.String(), "wrk": w.Wrk, "url": w.URL, "loop": "closed"}
	if w.URL == "" {
		p["body_bytes"], p["workers"], p["port"], p["config"], p["nginx"] = w.BodyBytes, w.Workers, w.Port, w.Config, w.Nginx
	}
	return p
}

// Needs implements workload.Workload: nginx, two starts of wrk, and that wrk ends up to
// 0.1 s late.
func (w *Workload) Needs() time.Duration { return 2 * time.Second }

// limits are those of this host that a load can hit.
type limits struct {
	files int // that a process may open: the hard limit up to 2^20, to which the soft one is raised
	ports int // of this host's side to one address
}

// Nearly all of a limit is used, not all: a process opens other files, other processes
// have ports.
const usable = 0.9

// most processes of wrk that still measure the same as one.
const mostProcesses = 8

func hostLimits() (limits, error) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return limits{}, fmt.Errorf("wrk: file limit: %w", err)
	}
	const path = "/proc/sys/net/ipv4/ip_local_port_range"
	b, err := os.ReadFile(path)
	if err != nil {
		return limits{}, fmt.Errorf("wrk: %w", err)
	}
	var lo, hi int
	if _, err := fmt.Sscan(string(b), &lo, &hi); err != nil || hi < lo {
		return limits{}, fmt.Errorf("wrk: %s: %q: want two ports", path, b)
	}
	return limits{files: int(min(files.Max, 1<<20)), ports: hi - lo + 1}, nil
}

// parts returns how many parts n connections must be split into for no part to be above
// nine tenths of limit.
func parts(n, limit int) int {
	most := max(int(usable*float64(limit)), 1)
	return (n + most - 1) / most
}

// processes returns how many processes of wrk it takes: each has its own files, and
// asks an own nginx at another address, to which all local ports are free again.
func (w *Workload) processes(l limits) int {
	if w.URL != "" {
		return parts(w.Connections, l.files)
	}
	return parts(w.Connections, min(l.files, l.ports))
}

// workers returns how many workers nginx has on so many CPUs.
func (w *Workload) workers(l limits, cpus int) int {
	if w.Workers > 0 {
		return w.Workers
	}
	return max(cpus, parts(w.Connections, l.files))
}

const raiseFiles = "raise the hard limit of open files (ulimit -Hn, LimitNOFILE= of the service, /etc/security/limits.conf), or take fewer connections"

// Check implements workload.Workload.
func (w *Workload) Check(ctx context.Context) []workload.Problem {
	var out []workload.Problem
	fatal := func(remedy, format string, a ...any) {
		out = append(out, workload.Problem{What: fmt.Sprintf(format, a...), Remedy: remedy, Fatal: true})
	}
	warn := func(remedy, format string, a ...any) {
		out = append(out, workload.Problem{What: fmt.Sprintf(format, a...), Remedy: remedy})
	}
	if _, err := wrkVersion(ctx, w.Wrk); err != nil {
		fatal("install wrk 4 (apt-get install wrk), or name it with parameter wrk", "%v", err)
	}
	l, err := w.limits()
	if err != nil {
		fatal("", "%v", err)
		return out
	}
	switch n := w.processes(l); {
	case n > mostProcesses:
		fatal(raiseFiles+"; more local ports: sysctl -w net.ipv4.ip_local_port_range='10000 65535'",
			"connections: %d: %d processes of wrk would have to share them: a process may open %d files, and there are %d local ports", w.Connections, n, l.files, l.ports)
	case n > 1:
		warn("to have it in one: "+raiseFiles, "connections: %d: split over %d processes of wrk (%d files, %d local ports)", w.Connections, n, l.files, l.ports)
	}
	if w.URL != "" {
		if w.Connections > int(usable*float64(l.ports)) {
			fatal("sysctl -w net.ipv4.ip_local_port_range='10000 65535', or take fewer connections",
				"connections: %d: to one address with %d local ports", w.Connections, l.ports)
		}
		return out
	}
	if w.Workers > 0 && parts(w.Connections, l.files) > w.Workers {
		fatal(fmt.Sprintf("workers: %d, or %s", parts(w.Connections, l.files), raiseFiles),
			"workers: %d: too few for %d connections, where a process may open %d files", w.Workers, w.Connections, l.files)
	}
	if b, err := os.ReadFile("/proc/sys/net/core/somaxconn"); err == nil {
		each := w.Connections / w.processes(l)
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && n < each {
			warn("sysctl -w net.core.somaxconn=65535, or sysctl of the system in the plan",
				"net.core.somaxconn: %d: %d connections are opened at once: those that overflow the queue begin a second or more late", n, each)
		}
	}
	out = append(out, w.checkNginx(ctx, l)...)
	return out
}

var (
	wrkVersionRE = regexp.MustCompile(`(?m)^wrk (\D*(\d+)\.\S+) \[`)
	toolTime     = 10 * time.Second // for a tool to say its version
)

// wrkVersion returns what wrk says it is.
func wrkVersion(ctx context.Context, path string) (string, error) {
	text, err := tell(ctx, path, "-v") // it ends with status 1, and its usage
	if err != nil {
		return "", err
	}
	m := wrkVersionRE.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: does not say that it is wrk: %s", path, firstLine(text))
	}
	if strings.Contains(text, "--rate") {
		return "", fmt.Errorf("%s: is wrk2, which is another tool", path)
	}
	if major, _ := strconv.Atoi(m[2]); major < 4 {
		return "", fmt.Errorf("%s: version %s: too old, its scripts have no answers", path, m[1])
	}
	return m[1], nil
}

// tell runs a tool that says something of itself and returns it, whatever its status.
func tell(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	b, err := cmd.CombinedOutput()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s %s: no end within %v", path, strings.Join(args, " "), toolTime)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s: not installed", path)
	case err != nil && !errors.As(err, &status):
		return "", err
	}
	return string(b), nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strconv.Quote(line[:min(len(line), 200)])
}

// Start implements workload.Workload.
func (w *Workload) Start(ctx context.Context, env *workload.Env) (*workload.Session, error) {
	l, err := w.limits()
	if err != nil {
		return nil, err
	}
	version, err := wrkVersion(ctx, w.Wrk)
	if err != nil {
		return nil, err
	}
	script, err := writeScript(env.Dir)
	if err != nil {
		return nil, err
	}
	n := w.processes(l)
	j := &job{w: w, env: env, files: l.files, script: script, connections: share(w.Connections, n)}
	if j.loadCPUs, err = count(env.Load); err != nil {
		return nil, err
	}
	s := &workload.Session{Facts: map[string]string{"wrk.version": version, "wrk.processes": strconv.Itoa(n)}}
	for i := range n {
		// The measured phase has addresses of its own: the ports of the warm-up's
		// connections are not free before a while (TIME_WAIT).
		j.urls = append(j.urls, [2]string{w.URL, w.URL})
		if w.URL == "" {
			j.urls[i] = [2]string{address(2 * i), address(2*i + 1)}
		}
	}
	opened := 0
	for _, c := range j.connections {
		opened += c - c%j.threads(c)
	}
	if opened != w.Connections {
		env.Warn(fmt.Errorf("wrk: connections: %d: wrk opens %d, as many for each of its threads: choose a multiple of the threads", w.Connections, opened))
	}
	if w.URL == "" {
		if j.server, err = w.startNginx(ctx, env, l, 2*n); err != nil {
			return nil, err
		}
		for i := range j.urls {
			for k := range j.urls[i] {
				j.urls[i][k] = fmt.Sprintf("http://%s:%d/%s", j.urls[i][k], j.server.port, bodyFile)
			}
		}
		s.Watch = []workload.Watch{{Name: "nginx", PID: j.server.process.PID}}
		for k, v := range j.server.facts {
			s.Facts[k] = v
		}
		s.Stop = j.server.stop
	}
	commands := make([]string, n)
	for i := range n {
		commands[i] = j.command(measure, i).String()
	}
	s.Facts["wrk.command"] = strings.Join(commands, " & ")
	s.Job = func(startBootNS int64) workload.Job {
		j.origin = startBootNS
		return j
	}
	return s, nil
}

// share splits n into so many parts, as even as they can be.
func share(n, parts int) []int {
	out := make([]int, parts)
	for i := range out {
		out[i] = n / parts
		if i < n%parts {
			out[i]++
		}
	}
	return out
}

// count returns how many CPUs a list of CPUs means.
func count(cpus []int) (int, error) {
	if cpus != nil {
		return len(cpus), nil
	}
	all, err := workload.Available()
	return len(all), err
}
