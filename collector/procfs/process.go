package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// A Selector chooses processes, by one of Comm, Cmdline and PID. What it chose it keeps
// until the process ends, or gives itself another name that the selector does not
// choose.
type Selector struct {
	// Name is what its row is called; empty: as String has it.
	Name string
	// Comm is a shell pattern (*, ?, [a-z], \) that the process's name matches, which
	// the kernel cuts to 15 bytes.
	Comm string
	// Cmdline is a regular expression (RE2) found in the command line, its arguments
	// joined by blanks. Threads of the kernel have none.
	Cmdline string
	// PID is a process: the one that has this id when it is first seen, not one that
	// has it later.
	PID int
	// Tree adds to PID what descends from it. A process whose parent ended before it
	// was first seen is not known to descend.
	Tree bool
	// Each asks for a row for each process, named comm[pid], in place of one for all.
	Each bool
	// FDs asks for the number of open file descriptors. Before Linux 6.2 they are
	// counted one by one.
	FDs bool
}

// ParseSelector reads a selector from text: "nginx" is a Comm, "cmd:java .*kafka" a
// Cmdline, "pid:1" a PID, "tree:1" a PID with its Tree.
func ParseSelector(text string) (Selector, error) {
	var s Selector
	kind, rest, ok := strings.Cut(text, ":")
	switch {
	case ok && kind == "cmd":
		s.Cmdline = rest
	case ok && (kind == "pid" || kind == "tree"):
		pid, err := strconv.Atoi(rest)
		if err != nil || pid < 1 || pid > math.MaxInt32 {
			return Selector{}, fmt.Errorf(`procfs: process %q: want the number of a process, as in "%s:1"`, text, kind)
		}
		s.PID, s.Tree = pid, kind == "tree"
	default:
		s.Comm = text
	}
	_, err := s.compile()
	return s, err
}

// String returns the name of the selector's row: its Name, else what ParseSelector reads.
func (s Selector) String() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.PID != 0 && s.Tree:
		return fmt.Sprintf("tree:%d", s.PID)
	case s.PID != 0:
		return fmt.Sprintf("pid:%d", s.PID)
	case s.Cmdline != "":
		return "cmd:" + s.Cmdline
	}
	return s.Comm
}

// selector is a Selector at work.
type selector struct {
	Selector
	glob  string
	re    *regexp.Regexp
	sum   *line  // unless Each
	found bool   // it chose one at some time
	start uint64 // of the process of PID, once it was found
}

// noSlash stands for a slash in the name of a process (kworker/0:1), which path.Match
// would not let * match.
const noSlash = "\x00"

func (s Selector) compile() (*selector, error) {
	c := &selector{Selector: s}
	given := 0
	for _, is := range []bool{s.Comm != "", s.Cmdline != "", s.PID != 0} {
		if is {
			given++
		}
	}
	var err error
	switch {
	case given != 1 || s.PID < 0 || s.PID > math.MaxInt32 || s.Tree && s.PID == 0:
		err = errors.New("chooses nothing")
	case s.Cmdline != "":
		c.re, err = regexp.Compile(s.Cmdline)
	case s.Comm != "":
		c.glob, err = shellGlob(strings.ReplaceAll(s.Comm, "/", noSlash))
	}
	if err != nil {
		return nil, fmt.Errorf(`procfs: process %q: %w: want a name or a pattern of names ("nginx", "post*"), "cmd:" and a regular expression for the command line, "pid:" or "tree:" and a number`, s, err)
	}
	return c, nil
}

// Processes opens source "processes" of the host whose /proc is below root: the processes
// that the selectors choose, as they come and go, a row a selector that adds them up, or
// a row a process. The collector itself is chosen by nothing but its pid.
//
// Each tick lists /proc, and reads what is new: its name, its command line if a
// selector asks for it. A process is looked at again 1, 2, 4 ... 32 ticks after it was
// first seen and then every 64 ticks (of more than 4096 processes, 64 of them a tick),
// since it may take its name or run its program later. Of a process that is chosen four
// small files are read, and two more for each of its threads but one. Processes that
// /proc hides (hidepid, proc(5)) are not there.
//
// A selector that chooses nothing yet is named in absent, with the cause in words. An
// error says that a selector is none, or that there is no /proc. The caller closes the
// source. It is a [collector.Noter]: the first time that a column is null is noted with
// the reason "absent".
func Processes(root string, selectors []Selector, clock collector.Clock) (s collector.Source, absent map[string]string, err error) {
	p, absent, err := openProcesses(root, selectors, clock, newKeeper())
	if err != nil {
		return nil, nil, err
	}
	return p, absent, nil
}

// firstGauge is the first column of table process that is no counter: those before it
// all are.
var firstGauge = pRSS

// line is a row to be: the sum over processes. Its counters go on as its processes come
// and end.
type line struct {
	device string
	total  []uint64 // counters
	tick   reading  // gauges of this tick; known: of every process
	n      int      // processes of this tick
	fds    bool     // wanted
	looked bool     // for columns that are null
}

func newLine(device string) *line {
	return &line{device: device, total: make([]uint64, firstGauge), tick: newReading()}
}

// begin begins a tick without processes.
func (l *line) begin() {
	l.tick.reset()
	for col := range l.tick.known {
		l.tick.known[col] = true
	}
	l.n = 0
}

// process is a process that is chosen.
type process struct {
	pid     int32
	start   uint64
	comm    string
	dir     string   // "123"
	chosen  []bool   // by selector
	lines   []*line  // that it counts in
	each    *line    // of lines, its own; or nil
	fds     bool     // wanted
	fresh   bool     // it began after the last tick, and was not read yet
	read    bool     // it was read
	last    []uint64 // counters
	known   []bool   // of last
	sums    perThread
	threads []thread // by id, but the first, whose files are the process's own

	stat, fd, task kept
	io             waiting
}

// perThread are the counters that the kernel has for threads only, in the order of
// threadColumns.
type perThread [4]uint64

var threadColumns = [len(perThread{})]int{pRun, pRunDelay, pCswch, pNvcswch}

// thread is a thread of a chosen process.
type thread struct {
	tid           int32
	dir           string // "123", "123/task/124"
	sched, status waiting
	last          perThread
	known         [len(perThread{})]bool // of last
	fresh         bool                   // it began after the last tick, and was not read yet
	seen          bool                   // in the last listing
}

// entry is a process that is there.
type entry struct {
	pid  int32
	born uint32 // the scan that saw it first
	dir  string
	p    *process // if it is chosen
}

// identity is who a process is.
type identity struct {
	comm  []byte // valid until the next reading
	ppid  int32
	start uint64
}

// processes is the source.
type processes struct {
	clock     collector.Clock
	keeper    *keeper
	root      int   // descriptor of /proc
	self      int32 // the collector's pid there
	real      bool  // /proc is the kernel's
	schedstat bool  // the kernel keeps it
	trees     bool  // a selector wants one
	selectors []*selector
	each      map[string]*line // rows of single processes that there ever were

	scans   uint32
	pids    []int32 // of a listing
	entries []entry // by pid
	spare   []entry
	looked  []kin      // at, in a scan
	chosen  []*process // by pid
	resort  bool       // chosen

	pick           []bool // by selector: scratch, as are those below
	comm           []byte
	glob           []byte // comm, as path.Match shall see it
	cmdline        []byte
	reading        reading
	aux            reading
	devices        []string
	lacks          lacks
	bad            skips
	wallNS, bootNS int64 // of the last tick
}

// kin is a process and its parent.
type kin struct {
	entry int // index
	ppid  int32
}

var (
	_ collector.Source  = (*processes)(nil)
	_ collector.Skipper = (*processes)(nil)
	_ collector.Noter   = (*processes)(nil)
)

// openProcesses opens /proc and finds the processes that are there.
func openProcesses(root string, selectors []Selector, clock collector.Clock, k *keeper) (*processes, map[string]string, error) {
	if len(selectors) == 0 {
		return nil, nil, errors.New("procfs: process: no selector: which processes?")
	}
	s := &processes{clock: clock, keeper: k, self: -1, schedstat: true, each: make(map[string]*line),
		pick: make([]bool, len(selectors)), reading: newReading(), aux: newReading(), lacks: newLacks(&schemas.Process)}
	for i, sel := range selectors {
		c, err := sel.compile()
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(selectors[:i], func(o Selector) bool { return o.String() == sel.String() }) {
			return nil, nil, fmt.Errorf("procfs: process %q: given twice", sel)
		}
		if !sel.Each {
			c.sum = newLine(sel.String())
			c.sum.fds = sel.FDs
		}
		s.trees = s.trees || sel.Tree
		s.selectors = append(s.selectors, c)
	}
	proc := filepath.Join(root, "proc")
	var err error
	if s.root, err = openRoot(proc); err != nil {
		return nil, nil, fmt.Errorf("procfs: process: %w", err)
	}
	s.learn(proc)
	if err := s.scan(); err != nil {
		unix.Close(s.root) // nothing was written
		return nil, nil, err
	}
	absent := make(map[string]string)
	for _, c := range s.selectors {
		switch {
		case c.found:
		case len(c.Comm) > 15:
			absent["process "+c.String()] = "no process matches it yet (the kernel cuts names to 15 bytes)"
		default:
			absent["process "+c.String()] = "no process matches it yet"
		}
	}
	return s, absent, nil
}

// learn finds out what this /proc has, and who it says that the collector is.
func (s *processes) learn(proc string) {
	var fs unix.Statfs_t
	s.real = unix.Fstatfs(s.root, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
	if link, err := os.Readlink(filepath.Join(proc, "self")); err == nil {
		if pid, err := strconv.ParseInt(link, 10, 32); err == nil {
			s.self = int32(pid)
		}
	}
	cause := s.lacks.cause
	for col := range cause {
		cause[col] = "stat does not say"
	}
	for _, n := range slices.Concat(statusMemory, statusSwitches) {
		cause[n.col] = "status does not say"
	}
	for _, n := range ioLines {
		cause[n.col] = "io does not say"
	}
	// A kernel that was told not to keep it says 0 of everyone: not of the one who asks.
	text, err := os.ReadFile(filepath.Join(proc, "self/schedstat"))
	if err == nil && string(text) == "0 0 0\n" {
		s.schedstat = false
		cause[pRun], cause[pRunDelay] = "schedstat is switched off", "schedstat is switched off"
	}
}

func (s *processes) Name() string             { return "processes" }
func (s *processes) Tables() []*schemas.Table { return []*schemas.Table{&schemas.Process} }

// Sample finds the processes before it takes the stamp, and reads them after it.
func (s *processes) Sample(blocks []schemas.Block) error {
	if err := s.scan(); err != nil {
		return err
	}
	b := &blocks[0]
	b.WallNS, b.BootNS = s.clock()
	s.wallNS, s.bootNS = b.WallNS, b.BootNS
	for _, c := range s.selectors {
		if c.sum != nil {
			c.sum.begin()
		}
	}
	n := 0
	for _, p := range s.chosen {
		if p = s.take(p); p != nil {
			s.chosen[n] = p
			n++
		}
	}
	clear(s.chosen[n:])
	s.chosen = s.chosen[:n]
	b.Resize(len(s.selectors) + n)
	s.devices = s.devices[:0]
	for _, c := range s.selectors {
		if c.sum != nil {
			s.row(b, c.sum)
		}
	}
	for _, p := range s.chosen {
		if p.each != nil {
			s.row(b, p.each)
		}
	}
	setDevices(b, s.devices)
	return nil
}

// lookTicks is after how many ticks a process that isn't chosen is looked at again; of
// so many processes that it would be more than lookTicks in one tick, later.
const lookTicks = 64

// scan lists the processes, and looks at those that are new, or due.
func (s *processes) scan() error {
	s.pids = s.pids[:0]
	err := s.keeper.list(s.root, func(_ uint64, _ byte, name []byte) {
		if pid, rest, f := number(name); f.why == "" && len(rest) == 0 && pid > 0 && pid <= math.MaxInt32 {
			s.pids = append(s.pids, int32(pid))
		}
	})
	if err != nil {
		return fmt.Errorf("procfs: process: list /proc: %w", err)
	}
	if !slices.IsSorted(s.pids) {
		slices.Sort(s.pids)
	}
	s.scans++
	old, now := s.entries, s.spare[:0]
	for _, pid := range s.pids {
		for ; len(old) > 0 && old[0].pid < pid; old = old[1:] {
			s.end(&old[0])
		}
		if len(old) > 0 && old[0].pid == pid {
			now = append(now, old[0])
			old = old[1:]
		} else {
			now = append(now, entry{pid: pid, born: s.scans, dir: strconv.Itoa(int(pid))})
		}
	}
	for ; len(old) > 0; old = old[1:] {
		s.end(&old[0])
	}
	s.entries, s.spare = now, s.entries
	s.looked = s.looked[:0]
	period := max(lookTicks, uint32(len(s.entries)/lookTicks))
	for i := range s.entries {
		e := &s.entries[i]
		if e.p != nil {
			continue
		}
		age := s.scans - e.born
		if age&(age-1) == 0 && age < lookTicks || (age+uint32(e.pid))%period == 0 {
			s.look(i, age == 0 && s.scans > 1)
		}
	}
	s.climb()
	if s.resort {
		s.resort = false
		s.chosen = s.chosen[:0]
		for i := range s.entries {
			if p := s.entries[i].p; p != nil {
				s.chosen = append(s.chosen, p)
			}
		}
	}
	return nil
}

// index returns which entry a pid is, or -1.
func (s *processes) index(pid int32) int {
	i, ok := slices.BinarySearchFunc(s.entries, pid, func(e entry, pid int32) int { return cmp.Compare(e.pid, pid) })
	if !ok {
		return -1
	}
	return i
}

// look reads who entry i is, and begins with it if a selector chooses it; fresh says
// that it began after the last tick.
func (s *processes) look(i int, fresh bool) {
	e := &s.entries[i]
	id, ok := s.who(e)
	if !ok {
		return // it is gone, or will be looked at again
	}
	if s.trees {
		s.looked = append(s.looked, kin{i, id.ppid})
	}
	clear(s.pick)
	if s.choose(e, &id) {
		s.begin(e, &id, fresh)
	}
}

// climb chooses those looked at whose parent a tree has, as long as there are any: a
// parent's pid may be above its child's.
func (s *processes) climb() {
	for again := true; again; {
		again = false
		for _, k := range s.looked {
			e, parent := &s.entries[k.entry], s.index(k.ppid)
			if parent < 0 || s.entries[parent].p == nil || e.pid == s.self {
				continue
			}
			for i, c := range s.selectors {
				if !c.Tree || !s.entries[parent].p.chosen[i] || e.p != nil && e.p.chosen[i] {
					continue
				}
				if e.p == nil {
					id, ok := s.who(e)
					if !ok {
						continue // it is gone
					}
					clear(s.pick)
					s.begin(e, &id, e.born == s.scans && s.scans > 1)
				}
				e.p.chosen[i], again = true, true
				s.enlist(e.p)
			}
		}
	}
}

// who reads who an entry is; ok is false if it is gone, or can't be read.
func (s *processes) who(e *entry) (id identity, ok bool) {
	var f kept
	text, err := s.keeper.read(s.root, &f, e.dir, "stat")
	s.keeper.close(&f)
	if err != nil {
		return id, false
	}
	st, is := parsePidStat(&s.aux, text)
	if is.why != "" {
		s.bad.add(e.dir+"/stat", 1, is)
		return id, false
	}
	s.comm = append(s.comm[:0], st.comm...)
	return identity{s.comm, st.ppid, st.start}, true
}

// choose sets pick where a selector chooses a process for what it is itself.
func (s *processes) choose(e *entry, id *identity) (any bool) {
	asked := false
	for i, c := range s.selectors {
		switch {
		case c.PID != 0:
			if e.pid == int32(c.PID) && (!c.found || c.start == id.start) {
				s.pick[i], c.start = true, id.start
			}
		case e.pid == s.self:
		case c.re != nil:
			if !asked {
				asked = true
				s.ask(e)
			}
			s.pick[i] = len(s.cmdline) > 0 && c.re.Match(s.cmdline)
		default:
			s.glob = append(s.glob[:0], id.comm...)
			for j := range s.glob {
				if s.glob[j] == '/' {
					s.glob[j] = noSlash[0]
				}
			}
			s.pick[i], _ = path.Match(c.glob, string(s.glob))
		}
		any = any || s.pick[i]
	}
	return any
}

// ask reads an entry's command line.
func (s *processes) ask(e *entry) {
	var f kept
	text, err := s.keeper.read(s.root, &f, e.dir, "cmdline")
	s.keeper.close(&f)
	s.cmdline = s.cmdline[:0]
	if err != nil {
		return
	}
	s.cmdline = append(s.cmdline, bytes.TrimRight(text, "\x00")...)
	for i, c := range s.cmdline {
		if c == 0 {
			s.cmdline[i] = ' '
		}
	}
}

// begin begins with a process that pick chooses.
func (s *processes) begin(e *entry, id *identity, fresh bool) {
	p := &process{pid: e.pid, start: id.start, comm: string(id.comm), dir: e.dir, chosen: slices.Clone(s.pick), fresh: fresh,
		last: make([]uint64, firstGauge), known: make([]bool, firstGauge), threads: []thread{{tid: e.pid, dir: e.dir, fresh: fresh, seen: true}}}
	for _, col := range threadColumns {
		p.known[col] = true // they begin here, with 0
	}
	s.enlist(p)
	e.p = p
	s.resort = true
}

// enlist finds the rows that a process counts in.
func (s *processes) enlist(p *process) {
	p.lines, p.each, p.fds = p.lines[:0], nil, false
	for i, c := range s.selectors {
		if !p.chosen[i] {
			continue
		}
		c.found = true
		p.fds = p.fds || c.FDs
		if !c.Each {
			p.lines = append(p.lines, c.sum)
			continue
		}
		if p.each == nil {
			device := deviceName(p.comm, p.pid)
			if p.each = s.each[device]; p.each == nil {
				p.each = newLine(device)
				s.each[device] = p.each
			}
			p.lines = append(p.lines, p.each)
		}
		p.each.fds = p.each.fds || c.FDs
	}
}

// deviceName is the name of a process's own row. What can't be printed is replaced.
func deviceName(comm string, pid int32) string {
	comm = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, comm)
	return fmt.Sprintf("%s[%d]", comm, pid)
}

// end forgets an entry's process.
func (s *processes) end(e *entry) {
	p := e.p
	if p == nil {
		return
	}
	e.p = nil
	s.resort = true
	for _, f := range []*kept{&p.stat, &p.fd, &p.task, &p.io.kept} {
		s.keeper.close(f)
	}
	for i := range p.threads {
		s.endThread(&p.threads[i])
	}
}

func (s *processes) endThread(t *thread) {
	s.keeper.close(&t.sched.kept)
	s.keeper.close(&t.status.kept)
}

// take reads a process into its rows, and returns it; or the process that has its pid
// by now, if it is chosen too; or nil.
func (s *processes) take(p *process) *process {
	for range 3 { // no pid is used again so fast
		if p.each != nil {
			p.each.begin()
		}
		if s.readProcess(p) {
			s.add(p)
			return p
		}
		i := s.index(p.pid)
		if i < 0 {
			break
		}
		e := &s.entries[i]
		s.end(e)
		e.born = s.scans
		s.look(i, true)
		if p = e.p; p == nil {
			break
		}
	}
	return nil
}

// add adds what was read of a process to its rows.
func (s *processes) add(p *process) {
	r := &s.reading
	for col := range firstGauge {
		if !r.known[col] {
			for _, l := range p.lines {
				l.tick.known[col] = false
			}
			continue
		}
		step := r.v[col] - p.last[col]
		if !p.known[col] && !p.fresh {
			step = 0 // what it did before is of no interval
		}
		p.last[col], p.known[col] = r.v[col], true
		for _, l := range p.lines {
			l.total[col] += step
		}
	}
	for _, l := range p.lines {
		l.n++
		for col := firstGauge; col < len(r.v); col++ {
			l.tick.v[col] += r.v[col]
			l.tick.known[col] = l.tick.known[col] && r.known[col]
		}
	}
	p.fresh, p.read = false, true
}

// row adds a line to the block.
func (s *processes) row(b *schemas.Block, l *line) {
	row := len(s.devices)
	copy(l.tick.v, l.total)
	l.tick.set(pMembers, uint64(l.n))
	l.tick.known[pFDs] = l.tick.known[pFDs] && l.fds
	for col, known := range l.tick.known {
		if known {
			b.Set(row, col, int64(l.tick.v[col]))
		}
	}
	s.devices = append(s.devices, l.device)
	if l.n > 0 && !l.looked {
		l.looked = true
		told := s.lacks.told[pFDs]
		s.lacks.told[pFDs] = told || !l.fds
		s.lacks.look(b, row, l.device)
		s.lacks.told[pFDs] = told || l.fds && s.lacks.told[pFDs]
	}
}

// gone reports whether an error says that there is no such process (any more).
func gone(err error) bool { return err == unix.ESRCH || err == unix.ENOENT }

// readProcess reads what a process says now; false says that it is gone, or not chosen
// any more.
func (s *processes) readProcess(p *process) bool {
	r := &s.reading
	r.reset()
	text, err := s.keeper.read(s.root, &p.stat, p.dir, "stat")
	if err != nil {
		return !gone(err)
	}
	st, f := parsePidStat(r, text)
	if f.why != "" {
		s.bad.add(p.dir+"/stat", 1, f)
		r.reset()
		return true
	}
	if st.start != p.start {
		return false
	}
	if string(st.comm) != p.comm && !s.renamed(p, st.comm) {
		return false
	}
	if !s.readThreads(p, st.threads) || !s.readIO(p) {
		return false
	}
	if p.fds {
		s.readFDs(p)
	}
	return true
}

// renamed chooses anew for a process with another name: it runs another program. The
// pid and the trees that it is in stay.
func (s *processes) renamed(p *process, comm []byte) bool {
	s.comm = append(s.comm[:0], comm...)
	p.comm = string(comm)
	copy(s.pick, p.chosen)
	if !s.choose(&entry{pid: p.pid, dir: p.dir}, &identity{comm: s.comm, start: p.start}) {
		return false
	}
	copy(p.chosen, s.pick)
	s.enlist(p)
	if p.each != nil {
		p.each.begin()
	}
	return true
}

// text reads a file of a process, unless it is to wait: then it returns nil. alive is
// false if the process, or the thread, is gone.
func (s *processes) text(p *process, w *waiting, dir, name string, columns []int) (text []byte, alive bool) {
	if w.wait > 0 {
		w.wait--
		return nil, true
	}
	text, err := s.keeper.read(s.root, &w.kept, dir, name)
	switch {
	case err == nil:
		return text, true
	case err == unix.ESRCH, dir != p.dir && err == unix.ENOENT:
		return nil, false
	case err == unix.ENOENT:
		if _, err := s.keeper.read(s.root, &p.stat, p.dir, "stat"); err != nil {
			return nil, false
		}
	}
	w.wait = waitTicks
	s.lacks.because(columns, name, err)
	return nil, true
}

// readIO reads what a process read and wrote; false says that it is gone.
func (s *processes) readIO(p *process) bool {
	text, alive := s.text(p, &p.io, p.dir, "io", ioColumns)
	if f := parseNamedLines(&s.reading, ioLines, text); f.why != "" {
		s.bad.add(p.dir+"/io", 1, f)
	}
	return alive
}

// readFDs counts a process's open files.
func (s *processes) readFDs(p *process) {
	fd, err := s.keeper.open(s.root, &p.fd, p.dir, "fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		s.lacks.because([]int{pFDs}, "fd", err)
		return
	}
	defer s.keeper.done(&p.fd, fd)
	// Since Linux 6.2 the directory's size is their number.
	if st := &s.keeper.stat; s.real && unix.Fstat(fd, st) == nil && st.Size > 0 {
		s.reading.set(pFDs, uint64(st.Size))
		return
	}
	n := uint64(0)
	if err := s.keeper.list(fd, func(uint64, byte, []byte) { n++ }); err != nil {
		s.lacks.because([]int{pFDs}, "fd", err)
		return
	}
	s.reading.set(pFDs, n)
}

// readThreads reads the threads of a process that has n: it adds up what the kernel has
// of threads only, and takes the memory that they share from the first that has it,
// which is not one that has ended. A process of none that has it has no memory: it is a
// thread of the kernel, or a zombie. False says that the process is gone.
func (s *processes) readThreads(p *process, n uint64) bool {
	if (n > 1 || len(p.threads) > 1) && !s.listThreads(p) {
		return false
	}
	r := &s.reading
	var lost [len(perThread{})]bool
	ended, unread := false, false
	for i := range p.threads {
		t := &p.threads[i]
		x, alive := s.readThread(p, t)
		if !alive {
			if i == 0 {
				return false
			}
			t.seen, ended = false, true
			continue
		}
		unread = unread || !x.whole
		for c, v := range x.v {
			switch {
			case !x.known[c]:
				lost[c] = true
				continue
			case !t.known[c] && t.fresh, v < t.last[c]: // it is another thread with the id
				p.sums[c] += v
			case t.known[c]:
				p.sums[c] += v - t.last[c]
			}
			t.last[c], t.known[c] = v, true
		}
		t.fresh = false
	}
	if ended {
		s.dropThreads(p)
	}
	for c, col := range threadColumns {
		r.v[col], r.known[col] = p.sums[c], !lost[c]
	}
	if !r.known[pRSS] && !unread {
		for _, n := range statusMemory {
			r.set(n.col, 0)
		}
	}
	return true
}

// threadReading is what a thread says, in the order of threadColumns.
type threadReading struct {
	v     perThread
	known [len(perThread{})]bool
	whole bool // its status was read, and is as it should be
}

// readThread reads what the kernel has of threads, and the process's memory if no thread
// before had it.
func (s *processes) readThread(p *process, t *thread) (x threadReading, alive bool) {
	if s.schedstat {
		text, alive := s.text(p, &t.sched, t.dir, "schedstat", threadColumns[:2])
		if !alive {
			return x, false
		}
		if text != nil {
			var f fault
			if x.v[0], x.v[1], f = parseTaskSchedstat(text); f.why != "" {
				s.bad.add(t.dir+"/schedstat", 1, f)
			}
			x.known[0], x.known[1] = f.why == "", f.why == ""
		}
	}
	text, alive := s.text(p, &t.status, t.dir, "status", statusColumns)
	if text == nil {
		return x, alive
	}
	r := &s.aux
	r.reset()
	f := parseNamedLines(r, statusSwitches, text)
	if !s.reading.known[pRSS] && f.why == "" {
		f = parseNamedLines(&s.reading, statusMemory, text)
	}
	if f.why != "" {
		s.bad.add(t.dir+"/status", 1, f)
	}
	x.v[2], x.v[3], x.known[2], x.known[3] = r.v[pCswch], r.v[pNvcswch], r.known[pCswch], r.known[pNvcswch]
	x.whole = f.why == ""
	return x, true
}

// listThreads brings a process's list of threads up to date; false says that the
// process is gone.
func (s *processes) listThreads(p *process) bool {
	fd, err := s.keeper.open(s.root, &p.task, p.dir, "task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return !gone(err)
	}
	defer s.keeper.done(&p.task, fd)
	n := len(p.threads)
	for i := range p.threads[1:] {
		p.threads[1+i].seen = false
	}
	err = s.keeper.list(fd, func(_ uint64, _ byte, name []byte) {
		tid, rest, f := number(name)
		if f.why != "" || len(rest) > 0 || tid > math.MaxInt32 || int32(tid) == p.pid {
			return
		}
		i, ok := slices.BinarySearchFunc(p.threads[1:n], int32(tid), func(t thread, tid int32) int { return cmp.Compare(t.tid, tid) })
		if ok {
			p.threads[1+i].seen = true
			return
		}
		p.threads = append(p.threads, thread{tid: int32(tid), dir: p.dir + "/task/" + string(name), fresh: p.fresh || p.read, seen: true})
	})
	s.dropThreads(p)
	slices.SortFunc(p.threads[1:], func(a, b thread) int { return cmp.Compare(a.tid, b.tid) })
	return !gone(err)
}

// dropThreads forgets the threads that were not seen.
func (s *processes) dropThreads(p *process) {
	p.threads = slices.DeleteFunc(p.threads, func(t thread) bool {
		if !t.seen {
			s.endThread(&t)
		}
		return !t.seen
	})
}

func (s *processes) Skipped() (lines int64, example string) { return s.bad.lines, s.bad.example }

func (s *processes) Notes(dst []schemas.Row) []schemas.Row {
	return s.lacks.take(dst, s.wallNS, s.bootNS)
}

func (s *processes) Close() error {
	for i := range s.entries {
		s.end(&s.entries[i])
	}
	return unix.Close(s.root)
}
