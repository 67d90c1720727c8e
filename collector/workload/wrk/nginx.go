package wrk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
)

const (
	bodyFile  = "body"                 // what is served
	errorLog  = "error.log"            // below the run's directory
	readyTime = 10 * time.Second       // for nginx to serve
	pollTime  = 900 * time.Millisecond // for stub_status to be answered: below a second
)

// address returns the k-th address that an own nginx listens on.
func address(k int) string { return net.IPv4(127, 0, 0, byte(1+k)).String() }

// nginxBuild is what an nginx says of itself.
type nginxBuild struct {
	version string // "1.22.1"
	options string // of its configure
}

var (
	nginxVersionRE = regexp.MustCompile(`(?m)^(?:nginx|[\w-]+) version: \S+?/(\d+\.\d+\.\d+)`)
	nginxLevelRE   = regexp.MustCompile(`^\S+ \S+ \[(alert|crit|emerg)\] `)
)

func askNginx(ctx context.Context, path string) (*nginxBuild, error) {
	text, err := tell(ctx, path, "-V")
	if err != nil {
		return nil, err
	}
	m := nginxVersionRE.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s: does not say that it is nginx: %s", path, firstLine(text))
	}
	return &nginxBuild{version: m[1], options: text}, nil
}

// with reports whether an optional module is in the build; without, whether one that
// is there by default is.
func (b *nginxBuild) with(module string) bool {
	return strings.Contains(b.options, "--with-"+module)
}

func (b *nginxBuild) without(module string) bool {
	return strings.Contains(b.options, "--without-"+module)
}

// args are the arguments by which it works below dir and nowhere else.
func (b *nginxBuild) args(dir string) []string {
	args := []string{"-p", dir, "-c", "nginx.conf"}
	var major, minor, patch int
	fmt.Sscanf(b.version, "%d.%d.%d", &major, &minor, &patch)
	if slices.Compare([]int{major, minor, patch}, []int{1, 19, 5}) >= 0 { // else it opens the log of its build first
		args = append(args, "-e", "stderr")
	}
	return args
}

// nginxConfig is what a configuration is made of.
type nginxConfig struct {
	build       *nginxBuild
	workers     int
	cpus        []int // of the workers; nil is all
	files       int   // limit of a worker
	connections int
	addresses   int // that it listens on
	port        int
	statusPort  int // 0: no stub_status
	extra       string
	root        bool // it is started by root
}

// text returns the configuration. All its paths are below the prefix.
//
// Workers with a listening socket each (reuseport) get connections by hash, as many each
// but for chance. From a common one the worker that wakes first takes most of them, up
// to its limit, where it drops those that come after.
func (c *nginxConfig) text() []byte {
	var b bytes.Buffer
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line("daemon off;")
	if c.root { // the directory of the run may be root's alone
		line("user root;")
	}
	line("pid nginx.pid;")
	line("error_log %s warn;", errorLog)
	line("worker_processes %d;", c.workers)
	if mask := cpuMask(c.cpus); mask != "" {
		line("worker_cpu_affinity auto %s;", mask)
	}
	line("worker_rlimit_nofile %d;", c.files)
	// All connections may be on one worker, and each worker has some of its own.
	line("events { worker_connections %d; multi_accept on; }", max(min(c.connections+1024, c.files-100), 16))
	line("http {")
	for _, m := range []string{"proxy", "fastcgi", "uwsgi", "scgi"} {
		if !c.build.without("http_" + m + "_module") {
			line("\t%s_temp_path %s_temp;", m, m)
		}
	}
	line("\tclient_body_temp_path client_body_temp;")
	for _, d := range []string{"access_log off", "default_type application/octet-stream", "sendfile on", "tcp_nopush on",
		"keepalive_requests 1000000000", "keepalive_timeout 1h", "open_file_cache max=16"} {
		name, _, _ := strings.Cut(d, " ")
		if !regexp.MustCompile(`(?m)(^|[;{}])\s*` + name + `\s`).MatchString(c.extra) { // said twice it is an error
			line("\t%s;", d)
		}
	}
	if c.extra != "" {
		line("%s", c.extra)
	}
	line("\tserver {")
	for k := range c.addresses {
		reuse := ""
		if c.workers > 1 {
			reuse = " reuseport"
		}
		line("\t\tlisten %s:%d backlog=%d%s;", address(k), c.port, min(max(c.connections, 511), 65535), reuse)
	}
	line("\t\troot html;")
	line("\t}")
	if c.statusPort != 0 {
		line("\tserver {\n\t\tlisten %s:%d;\n\t\tlocation = /stub_status { stub_status; }\n\t}", address(0), c.statusPort)
	}
	line("}")
	return b.Bytes()
}

// cpuMask returns CPUs as worker_cpu_affinity takes them, "" where it can't.
func cpuMask(cpus []int) string {
	if len(cpus) == 0 || slices.Max(cpus) >= 1024 { // CPU_SETSIZE
		return ""
	}
	mask := bytes.Repeat([]byte("0"), slices.Max(cpus)+1)
	for _, c := range cpus {
		mask[len(mask)-1-c] = '1'
	}
	return string(mask)
}

// write puts the configuration and the file to serve below dir.
func (c *nginxConfig) write(dir string, bodyBytes int) error {
	html := filepath.Join(dir, "html")
	if err := os.MkdirAll(html, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(html, bodyFile), body(bodyBytes), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "nginx.conf"), c.text(), 0o644)
}

func body(n int) []byte {
	return bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n]
}

// config returns the configuration of this workload.
func (w *Workload) config(b *nginxBuild, l limits, cpus []int, addresses int) (*nginxConfig, error) {
	n, err := count(cpus)
	if err != nil {
		return nil, err
	}
	return &nginxConfig{build: b, workers: w.workers(l, n), cpus: cpus, files: l.files, connections: w.Connections,
		addresses: addresses, extra: w.Config, root: os.Geteuid() == 0}, nil
}

// checkNginx returns what keeps an own nginx from working.
func (w *Workload) checkNginx(ctx context.Context, l limits) []workload.Problem {
	fatal := func(remedy string, err error) []workload.Problem {
		return []workload.Problem{{What: err.Error(), Remedy: remedy, Fatal: true}}
	}
	b, err := askNginx(ctx, w.Nginx)
	if err != nil {
		return fatal("install nginx (apt-get install nginx-light), name it with parameter nginx, or name a server with url", err)
	}
	addresses := 2 * w.processes(l)
	if w.Port != 0 {
		if err := free(w.Port, addresses); err != nil {
			return fatal("end what listens there, or leave port out", err)
		}
	}
	c, err := w.config(b, l, nil, addresses)
	if err != nil {
		return fatal("", err)
	}
	if c.port, err = freePort(addresses); err != nil {
		return fatal("", err)
	}
	var out []workload.Problem
	if b.with("http_stub_status_module") {
		c.statusPort = c.port + 1 // it is not listened on
	} else {
		out = append(out, workload.Problem{What: w.Nginx + ": built without stub_status: nothing but wrk counts requests", Remedy: "install a build with http_stub_status_module"})
	}
	dir, err := os.MkdirTemp("", "steady-nginx-")
	if err != nil {
		return append(out, fatal("", err)...)
	}
	defer os.RemoveAll(dir)
	if err := c.write(dir, 1); err != nil {
		return append(out, fatal("", err)...)
	}
	text, err := tell(ctx, w.Nginx, append(b.args(dir), "-t")...)
	if err == nil && !strings.Contains(text, "test is successful") {
		err = fmt.Errorf("%s: refuses its configuration: %s", w.Nginx, strings.TrimSpace(text))
	}
	if err != nil {
		out = append(out, fatal("see parameter config", err)...)
	}
	return out
}

// free returns an error if something listens on a port of the addresses.
func free(port, addresses int) error {
	for k := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(address(k), strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("port: %d: %w", port, err)
		}
		l.Close()
	}
	return nil
}

// freePort returns a port that is free on all the addresses.
func freePort(addresses int) (port int, err error) {
	for range 20 {
		l, err := net.Listen("tcp", address(0)+":0")
		if err != nil {
			return 0, fmt.Errorf("wrk: %w", err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		if err = free(port, addresses); err == nil {
			return port, nil
		}
	}
	return 0, errors.New("wrk: found no port that is free on " + address(0) + " and the addresses that follow it")
}

// nginx is an own server.
type nginx struct {
	process *workload.Process
	port    int
	dir     string
	config  []byte
	facts   map[string]string
	forget  func() error
	status  *status // nil: it has no stub_status
}

// startNginx starts an nginx on so many addresses and returns it when it serves.
func (w *Workload) startNginx(ctx context.Context, env *workload.Env, l limits, addresses int) (*nginx, error) {
	b, err := askNginx(ctx, w.Nginx)
	if err != nil {
		return nil, err
	}
	c, err := w.config(b, l, env.Server, addresses)
	if err != nil {
		return nil, err
	}
	c.port = w.Port
	if w.Port == 0 {
		c.port, err = freePort(addresses)
	} else {
		err = free(w.Port, addresses) // nginx may share a port with another (reuseport)
	}
	if err != nil {
		return nil, err
	}
	s := &nginx{port: c.port, dir: env.Dir}
	if b.with("http_stub_status_module") {
		for c.statusPort == 0 || c.statusPort == c.port {
			if c.statusPort, err = freePort(1); err != nil {
				return nil, err
			}
		}
		s.status = newStatus(fmt.Sprintf("http://%s:%d/stub_status", address(0), c.statusPort))
	}
	s.config = c.text()
	if err := c.write(env.Dir, w.BodyBytes); err != nil {
		return nil, fmt.Errorf("wrk: %w", err)
	}
	command := &workload.Command{Path: w.Nginx, Args: b.args(env.Dir), CPUs: env.Server}
	s.facts = map[string]string{"nginx.version": b.version, "nginx.command": command.String(), "nginx.workers": strconv.Itoa(c.workers)}
	if s.process, err = command.Start(); err != nil {
		return nil, err
	}
	// Its workers outlive it if it is killed.
	if s.forget, err = env.Undo.Killing(s.process.PID); err != nil {
		return nil, errors.Join(err, s.process.Stop())
	}
	if err := s.ready(ctx, addresses, w.BodyBytes); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *nginx) stop() error {
	if s.status != nil {
		s.status.client.CloseIdleConnections()
	}
	return errors.Join(s.process.Stop(), s.forget())
}

// ready waits until the server answers with the file on every address.
func (s *nginx) ready(ctx context.Context, addresses, bodyBytes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("does not serve within %v", readyTime))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for k := range addresses {
		for {
			err := s.answers(ctx, client, fmt.Sprintf("http://%s:%d/%s", address(k), s.port, bodyFile), bodyBytes)
			if err == nil {
				break
			}
			select {
			case <-s.process.Done:
				return fmt.Errorf("wrk: nginx ended at once%s", s.complaints())
			case <-ctx.Done():
				return fmt.Errorf("wrk: nginx: %w: %w%s", context.Cause(ctx), err, s.complaints())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func (s *nginx) answers(ctx context.Context, client *http.Client, url string, bodyBytes int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || n != int64(bodyBytes)) {
		err = fmt.Errorf("%s: status %d, %d bytes", url, resp.StatusCode, n)
	}
	return err
}

// log returns the end of the error log.
func (s *nginx) log() []byte {
	const most = 1 << 20
	f, err := os.Open(filepath.Join(s.dir, errorLog))
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		f.Seek(-most, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, most))
	return b
}

// complaints returns the log's lines from alert upwards: how many, and the first.
func (s *nginx) complaints() string {
	var first string
	n := 0
	for _, line := range strings.Split(string(s.log()), "\n") {
		if nginxLevelRE.MatchString(line) {
			if n++; n == 1 {
				first = line
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(": %d errors in its log, the first: %s", n, first)
}

// status polls nginx's stub_status over a connection that is kept.
type status struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	polls int64 // made, each of which nginx counts too
}

// reading is what stub_status said.
type reading struct {
	bootNS   int64 // in the middle of the poll
	requests int64 // since nginx began, but for the polls
}

func newStatus(url string) *status {
	return &status{url: url, client: &http.Client{Timeout: pollTime, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
}

func (s *status) poll() (reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, from := collector.Now()
	s.polls++
	resp, err := s.client.Get(s.url)
	if err != nil {
		return reading{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return reading{}, err
	}
	_, to := collector.Now()
	requests, err := parseStatus(b)
	return reading{bootNS: from + (to-from)/2, requests: requests - s.polls}, err
}

// parseStatus returns the requests of stub_status's text (ngx_http_stub_status_module):
// the third number of the line behind its header.
func parseStatus(text []byte) (requests int64, err error) {
	_, rest, ok := bytes.Cut(text, []byte("server accepts handled requests\n"))
	line, _, ok2 := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	if !ok || !ok2 || len(fields) < 3 {
		return 0, fmt.Errorf("wrk: stub_status: %s: want accepts, handled, requests", firstLine(string(text)))
	}
	requests, err = strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil || requests < 0 {
		return 0, fmt.Errorf("wrk: stub_status: requests %q", fields[2])
	}
	return requests, nil
}
