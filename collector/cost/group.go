package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// group is a contender's processes: what it started and their children.
//
// It is a control group where this program may make one: the kernel then counts also
// what processes and threads spent that have ended. Elsewhere it is the tree of
// processes below the first, and what has ended is lost.
type group struct {
	dir   string // of the control group; "" without
	usage string // its file of CPU time
	unit  int64  // of that, in ns
	field string // before it in the file; "" if the file is the number
	cmd   *exec.Cmd
	ended chan struct{}
	seen  []int // its processes, without a control group
}

// hierarchy is where control groups that count CPU time can be made.
type hierarchy struct {
	dir, usage, field string
	unit              int64
}

// findHierarchy returns where to make control groups, ok if this program may: below
// its own group, of version 2 (cpu.stat) or of version 1 (cpuacct.usage).
func findHierarchy() (h hierarchy, ok bool) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return h, false
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return h, false
	}
	for line := range strings.Lines(string(mounts)) {
		// ID parent major:minor root mountpoint options - type source options
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		var path string
		switch options := "," + r[2] + ","; {
		case r[0] == "cgroup2":
			h, path = hierarchy{usage: "cpu.stat", field: "usage_usec ", unit: 1000}, ownPath(own, "")
		case r[0] == "cgroup" && strings.Contains(options, ",cpuacct,"):
			h, path = hierarchy{usage: "cpuacct.usage", unit: 1}, ownPath(own, "cpuacct")
		default:
			continue
		}
		path, below := strings.CutPrefix(path, strings.TrimSuffix(l[3], "/"))
		if !below {
			continue
		}
		h.dir = filepath.Join(l[4], path)
		if try, err := os.MkdirTemp(h.dir, "steady-cost-"); err == nil {
			_, err := os.Stat(filepath.Join(try, h.usage))
			if os.Remove(try) == nil && err == nil {
				return h, true
			}
		}
	}
	return hierarchy{}, false
}

// ownPath returns this process's group in a hierarchy of version 1 by its controller,
// of version 2 by "": lines of "ID:controllers:path".
func ownPath(own []byte, controller string) string {
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[1] == controller || controller != "" && strings.Contains(","+f[1]+",", ","+controller+",")) {
			return f[2]
		}
	}
	return ""
}

// start starts a command in a group of its own. Its output goes to a file beside dir.
func start(h hierarchy, ok bool, dir string, env []string, argv []string) (*group, error) {
	g := &group{ended: make(chan struct{})}
	if ok {
		var err error
		if g.dir, err = os.MkdirTemp(h.dir, "steady-cost-"); err != nil {
			return nil, err
		}
		g.usage, g.unit, g.field = filepath.Join(g.dir, h.usage), h.unit, h.field
		argv = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs")}, argv...)
	}
	log, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, errors.Join(err, g.remove())
	}
	defer log.Close() // the child has its own
	g.cmd = exec.Command(argv[0], argv[1:]...)
	g.cmd.Dir, g.cmd.Stdout, g.cmd.Stderr = dir, log, log
	g.cmd.Env = append(append(os.Environ(), "LC_ALL=C", "TZ=UTC"), env...)
	g.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // a signal from the terminal is for us
	if err := g.cmd.Start(); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	go func() {
		g.cmd.Wait() // that it ended is what counts
		close(g.ended)
	}()
	for g.alive() { // until it is in its group
		if pids, err := g.pids(); err != nil || len(pids) > 0 {
			return g, err
		}
		time.Sleep(time.Millisecond)
	}
	return g, nil
}

// pids are the processes of the group.
func (g *group) pids() (pids []int, err error) {
	if g.dir == "" {
		// What was seen once is of the group also when it lost its parent.
		g.seen, err = descendants(append(g.seen, g.cmd.Process.Pid)...)
		return slices.Clone(g.seen), err
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	for _, f := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// descendants returns those of some processes that live, and all that live below them.
func descendants(roots ...int) (out []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		i := bytes.LastIndexByte(text, ')') // of the command's name
		if err != nil || i < 0 {
			continue // it has ended
		}
		if f := strings.Fields(string(text[i+1:])); len(f) > 1 && f[0] != "Z" {
			if parents[pid], err = strconv.Atoi(f[1]); err != nil {
				return nil, fmt.Errorf("/proc/%d/stat: %w", pid, err)
			}
		}
	}
	for pid := range parents {
		for p, living := pid, true; living; p, living = parents[p], parents[p] > 0 {
			if slices.Contains(roots, p) {
				out = append(out, pid)
				break
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// signal sends a signal to all processes of the group. Those that have ended don't mind.
func (g *group) signal(s unix.Signal) error {
	pids, err := g.pids()
	if err != nil {
		return err
	}
	var errs []error
	for _, pid := range pids {
		if err := unix.Kill(pid, s); err != nil && err != unix.ESRCH {
			errs = append(errs, fmt.Errorf("signal %s to process %d: %w", s, pid, err))
		}
	}
	return errors.Join(errs...)
}

// alive reports whether the command that was started still runs.
func (g *group) alive() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

// end ends all processes of the group, and the group.
func (g *group) end() error {
	err := errors.Join(g.signal(unix.SIGCONT), g.signal(unix.SIGTERM))
	const patience, killing = 3 * time.Second, 10 * time.Second
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		pids, e := g.pids()
		switch waited := time.Since(began); {
		case e != nil:
			return errors.Join(err, e)
		case len(pids) == 0 && !g.alive():
			return errors.Join(err, g.remove())
		case waited > patience+killing:
			return errors.Join(err, fmt.Errorf("processes %v don't end", pids))
		case waited > patience:
			if e := g.signal(unix.SIGKILL); e != nil {
				return errors.Join(err, e)
			}
		}
	}
}

// adopt makes orphans among all that is started below this process its children, so
// that reap finds them.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	return nil
}

// reap takes leave of the orphans that have ended. All that was started must have been
// waited for.
func reap() error {
	for {
		switch pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); {
		case err == unix.EINTR:
		case err == unix.ECHILD, err == nil && pid == 0:
			return nil
		case err != nil:
			return fmt.Errorf("wait4: %w", err)
		}
	}
}

func (g *group) remove() error {
	if g.dir == "" {
		return nil
	}
	return os.Remove(g.dir)
}

// snapshot is what a group had used at some moment.
type snapshot struct {
	at       time.Time
	group    int64         // CPU time in ns, ended threads included; 0 without a control group
	cpu      map[int]int64 // CPU time in ns by thread; nil with a control group
	switches map[int]int64 // context switches by thread
	written  map[int]int64 // bytes given to write(2) and its like, to files and sockets, by process
}

// used is what a group used in between.
type used struct {
	seconds  float64
	cpuNS    int64
	switches int64
	written  int64
}

// since returns what was used since an earlier snapshot. What has ended in between is
// missing, but for the CPU time of a control group.
func (s *snapshot) since(before *snapshot) used {
	rise := func(now, then map[int]int64) (sum int64) {
		for id, n := range now {
			sum += n - then[id]
		}
		return sum
	}
	return used{s.at.Sub(before.at).Seconds(), s.group - before.group + rise(s.cpu, before.cpu), rise(s.switches, before.switches), rise(s.written, before.written)}
}

// snapshot reads what the group has used.
func (g *group) snapshot() (*snapshot, error) {
	pids, err := g.pids()
	if err != nil {
		return nil, err
	}
	s := &snapshot{at: time.Now(), switches: map[int]int64{}, written: map[int]int64{}}
	if g.dir == "" {
		s.cpu = map[int]int64{}
	} else if s.group, err = g.cpuTime(); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		s.written[pid] = fields(filepath.Join(dir, "io"))["wchar:"]
		threads, _ := os.ReadDir(filepath.Join(dir, "task")) // none: it has ended
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name()) // they are numbers
			status := fields(filepath.Join(dir, "task", t.Name(), "status"))
			s.switches[tid] = status["voluntary_ctxt_switches:"] + status["nonvoluntary_ctxt_switches:"]
			if g.dir == "" {
				s.cpu[tid] = first(filepath.Join(dir, "task", t.Name(), "schedstat"))
			}
		}
	}
	return s, nil
}

// cpuTime returns the control group's CPU time.
func (g *group) cpuTime() (ns int64, err error) {
	text, err := os.ReadFile(g.usage)
	if err != nil {
		return 0, err
	}
	_, number, found := strings.Cut(string(text), g.field)
	number, _, _ = strings.Cut(strings.TrimSpace(number), "\n")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("%s: no CPU time in %.40q", g.usage, text)
	}
	return n * g.unit, nil
}

// memory is resident memory, with shared pages counted in each process that has them
// (rss), or shared out among them (pss).
type memory struct{ rss, pss int64 }

func (g *group) memory() (m memory, err error) {
	pids, err := g.pids()
	if err != nil {
		return m, err
	}
	for _, pid := range pids {
		f := fields(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
		m.rss += f["Rss:"] << 10
		m.pss += f["Pss:"] << 10
	}
	return m, nil
}

// fields returns the first number of each line of a file, by the line's first word;
// none of a process that has ended.
func fields(path string) map[string]int64 {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	out := map[string]int64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) > 1 {
			if n, err := strconv.ParseInt(w[1], 10, 64); err == nil {
				out[w[0]] = n
			}
		}
	}
	return out
}

// first returns the first number of a file, 0 of a process that has ended.
func first(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	number, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
