package procfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// hardware are the sources below sys: each fills one table, of the same name.
var hardware = []struct {
	table  *schemas.Table
	finder func(h *host) finder
}{
	{&schemas.CPUFreq, cpufreqFinder},
	{&schemas.Temperature, temperatureFinder},
	{&schemas.Fan, sensorFinder("fan", &schemas.Fan)},
	{&schemas.Voltage, sensorFinder("in", &schemas.Voltage)},
	{&schemas.Current, sensorFinder("curr", &schemas.Current)},
	{&schemas.Power, sensorFinder("power", &schemas.Power)},
	{&schemas.Energy, energyFinder},
	{&schemas.Battery, batteryFinder},
	{&schemas.NUMA, numaFinder},
	{&schemas.HugePages, hugePagesFinder},
	{&schemas.USB, usbFinder},
	{&schemas.FC, fcFinder},
	{&schemas.InfiniBand, infinibandFinder},
	{&schemas.EDAC, edacFinder},
}

// lookEvery is how often a tree looks for devices that came or went, and reads what
// hardly ever changes (limits, link speeds).
const lookEvery = int64(10 * time.Second)

// hardware adds the sources of /sys and of the clock. What this host lacks is named in
// absent; a kind of device of which there is none at the start has no source, so one
// that comes later is not seen.
func (h *host) hardware(sources []collector.Source, clock collector.Clock, absent map[string]string) []collector.Source {
	for i, s := range sources {
		if s, ok := s.(*source); ok && s.tables[0] == &schemas.Net {
			if class := filepath.Join(h.sys, "class/net"); exists(class) {
				sources[i] = &netSource{s, newLinks(h)}
			} else {
				absent[schemas.Link.Name] = class + " does not exist"
			}
		}
	}
	for i := range hardware {
		k := &hardware[i]
		t := &tree{h: h, table: k.table, tables: []*schemas.Table{k.table}, clock: clock, find: k.finder(h)}
		found := t.look()
		for part, cause := range found.lacks {
			absent[k.table.Name+"/"+part] = cause
		}
		if cause := t.nothing(&found); cause != "" {
			absent[k.table.Name] = cause
			t.Close() // nothing was written
			continue
		}
		sources = append(sources, t)
	}
	return append(sources, newClockSource(h, clock, absent))
}

// sysFile is a file of sysfs.
//
// The kernel writes the text of such a file whole, at each reading from the beginning: a
// short reading is its end. It is no os.File: that waits for ever upon EAGAIN, which
// drivers return for sensors that are switched off.
type sysFile int

func openSysFile(path string) (handle, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return sysFile(fd), nil
}

func (f sysFile) ReadAt(p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(int(f), p, off)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n < len(p):
			return n, io.EOF
		default:
			return n, nil
		}
	}
}

func (f sysFile) Close() error { return unix.Close(int(f)) }

// A cell is a file of sysfs whose text fills a cell, or a few, of a table.
type cell struct {
	path  string
	short string // path without what is before sys
	rows  []int  // of the devices that the text is about
	col   int    // the column that it fills, or the first one
	slow  bool   // to be read every lookEvery
	proc  bool   // a file of proc
	fill  filler
	meter

	r         handle
	buf, text []byte
	err       error // of the last reading
	told      bool  // that it can't be read
}

// A filler fills a block from a cell's text. It is pure but for the cell's meter.
type filler func(c *cell, b *schemas.Block) fault

// open opens the cell's file, or takes it over from old, which has the same path.
func (c *cell) open(h *host, old *cell) {
	c.short, _ = strings.CutPrefix(c.path, filepath.Dir(h.sys)+"/")
	if old != nil {
		c.meter.from(&old.meter)
		c.told = old.told
		if old.r != nil && old.err == nil {
			c.r, c.buf, c.text = old.r, old.buf, old.text
			old.r = nil
			return
		}
		c.meter.known = false // it may be another device
	}
	size := 64
	if c.proc {
		size = cpuinfoEachTick
		c.r, c.err = h.open(c.path)
	} else {
		c.r, c.err = h.openAttribute(c.path)
	}
	if c.err == nil {
		c.buf = make([]byte, size)
		c.read()
	}
}

// openAttribute opens a file of sysfs.
func (h *host) openAttribute(path string) (handle, error) {
	if h.openSys != nil {
		return h.openSys(path)
	}
	return openSysFile(path)
}

func (c *cell) read() {
	if c.r == nil {
		return
	}
	n, err := c.r.ReadAt(c.buf, 0)
	for err == nil { // it may be longer
		c.buf = make([]byte, 2*len(c.buf))
		n, err = c.r.ReadAt(c.buf, 0)
	}
	c.text, c.err = c.buf[:n], nil
	if err != io.EOF {
		c.text, c.err = nil, err
	}
}

func (c *cell) close() error {
	if c.r == nil {
		return nil
	}
	return c.r.Close()
}

// layout is what a finder found.
type layout struct {
	table *schemas.Table
	names []string // of the rows
	// alt are other names of the rows: of those that have the same name it is added.
	alt   []string
	cells []*cell
	// watch are directories, and files, that change when the layout does.
	watch []string
	cause string            // why there is nothing
	lacks map[string]string // what the devices lack, and why
}

// A finder looks for a table's devices. It may take its time: it is asked when devices
// came or went.
type finder func(l *layout)

// row adds a device.
func (l *layout) row(name, alt string) int {
	l.names, l.alt = append(l.names, name), append(l.alt, alt)
	return len(l.names) - 1
}

// cell adds a file that fills a column of the rows. Files that don't exist are left out.
func (l *layout) cell(path, column string, fill filler, rows ...int) *cell {
	c := &cell{path: path, rows: rows, col: l.table.Column(column), fill: fill}
	l.cells = append(l.cells, c)
	return c
}

// sources adds the files below dir that the columns' Sources name.
func (l *layout) sources(dir string, row int, fill filler) {
	for i := range l.table.Columns {
		c := &l.table.Columns[i]
		l.cell(filepath.Join(dir, c.Source), c.Name, fill, row)
	}
}

// unique makes names that occur twice different.
func (l *layout) unique() {
	n := make(map[string]int)
	for _, name := range l.names {
		n[name]++
	}
	for i, name := range l.names {
		if n[name] > 1 {
			l.names[i] = name + " " + l.alt[i]
		}
	}
}

// entries returns the names in a directory below sys that begin with prefix, those of
// equal length in order, and watches the directory.
func (l *layout) entries(h *host, dir, prefix string) (names []string) {
	path := filepath.Join(h.sys, dir)
	l.watch = append(l.watch, path)
	list, err := os.ReadDir(path)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.cause = path + " does not exist"
	case err != nil:
		l.cause = err.Error()
	}
	return names
}

// line returns the text of a file below sys, "" if there is none.
func (h *host) line(elem ...string) string {
	return h.text(filepath.Join(h.sys, filepath.Join(elem...)))
}

// text returns the text of a file of sysfs, "" if there is none.
func (h *host) text(path string) string {
	c := cell{path: path}
	c.open(h, nil)
	c.close() // nothing was written
	return string(bytes.TrimSpace(c.text))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tree is the source of a table whose rows are devices in sysfs. A reading that fails
// costs its cells: they are null, and it is said once for each file.
type tree struct {
	h      *host
	table  *schemas.Table
	tables []*schemas.Table // that one
	clock  collector.Clock
	find   finder

	names   [][]byte
	cells   []*cell
	watched []watch
	due     int64 // boot time at which to look again
	gone    bool  // a file is no longer there: look at the next tick

	bad   skips
	notes notes
}

var (
	_ collector.Source  = (*tree)(nil)
	_ collector.Skipper = (*tree)(nil)
	_ collector.Noter   = (*tree)(nil)
)

func (t *tree) Name() string             { return t.table.Name }
func (t *tree) Tables() []*schemas.Table { return t.tables }

// Sample reads all files before it parses any, since one stamp stands for all. It never
// fails as a whole.
func (t *tree) Sample(blocks []schemas.Block) error {
	b := &blocks[0]
	b.WallNS, b.BootNS = t.clock()
	slow := b.BootNS >= t.due
	if slow {
		t.due = b.BootNS + lookEvery
	}
	if t.gone || slow && t.changed() {
		t.look()
		b.WallNS, b.BootNS = t.clock()
	}
	for _, c := range t.cells {
		if c.slow && !slow {
			continue
		}
		had := c.err == nil
		if c.read(); had && c.err == unix.ENODEV { // sysfs took the file away
			t.gone = true
		}
	}
	b.Resize(len(t.names))
	for row, name := range t.names {
		b.SetDevice(row, name)
	}
	for _, c := range t.cells {
		if c.err != nil {
			if !c.told {
				c.told = true
				n := note{reason: "absent", table: t.table.Name, column: t.table.Columns[c.col].Name, detail: c.failure()}
				if len(c.rows) > 0 {
					n.part = string(t.names[c.rows[0]])
				}
				t.notes.add(b, n)
			}
			continue
		}
		if f := c.fill(c, b); f.why != "" {
			t.bad.add(c.short, 1, f)
		}
	}
	trim(b, len(t.names))
	return nil
}

// look finds the devices anew; what is open already stays so.
func (t *tree) look() layout {
	l := layout{table: t.table}
	t.find(&l)
	l.unique()
	old := make(map[string]*cell)
	for _, c := range t.cells {
		old[c.path] = c
	}
	t.cells = nil
	for _, c := range l.cells {
		if c.open(t.h, old[c.path]); !errors.Is(c.err, fs.ErrNotExist) || c.r != nil {
			t.cells = append(t.cells, c)
		}
	}
	for _, c := range old {
		c.close() // nothing was written
	}
	t.names = nil
	for _, name := range l.names {
		t.names = append(t.names, []byte(name))
	}
	for i := range t.watched {
		t.watched[i].close()
	}
	t.watched = nil
	for _, path := range l.watch {
		if w, ok := newWatch(path); ok {
			t.watched = append(t.watched, w)
		}
	}
	t.gone = false
	return l
}

// nothing returns why the tree has nothing to say: no device, or none whose files can be
// opened.
func (t *tree) nothing(found *layout) (cause string) {
	if len(t.names) == 0 && found.cause != "" {
		return found.cause
	}
	cause = found.watch[0] + " has nothing for table " + t.table.Name
	for _, c := range t.cells {
		if c.r != nil {
			return ""
		}
		cause = c.failure()
	}
	return cause
}

func (c *cell) failure() string {
	var path *fs.PathError
	if errors.As(c.err, &path) {
		return c.err.Error()
	}
	return "read " + c.path + ": " + c.err.Error()
}

// changed reports whether devices came or went.
func (t *tree) changed() bool {
	changed := false
	for i := range t.watched {
		changed = t.watched[i].changed() || changed
	}
	return changed
}

func (t *tree) Close() error {
	var errs []error
	for _, c := range t.cells {
		errs = append(errs, c.close())
	}
	for i := range t.watched {
		errs = append(errs, t.watched[i].close())
	}
	return errors.Join(errs...)
}

func (t *tree) Skipped() (lines int64, example string) { return t.bad.lines, t.bad.example }

// Notes tells of each file that could not be read, once.
func (t *tree) Notes(dst []schemas.Row) []schemas.Row { return t.notes.take(dst) }

// note is an event.
type note struct {
	wallNS, bootNS                      int64
	reason, table, column, part, detail string
}

// notes are the events of a tick.
type notes []note

// add adds an event at the stamp of b.
func (ns *notes) add(b *schemas.Block, n note) {
	n.wallNS, n.bootNS = b.WallNS, b.BootNS
	*ns = append(*ns, n)
}

// take appends the events to dst and forgets them.
func (ns *notes) take(dst []schemas.Row) []schemas.Row {
	for _, n := range *ns {
		r := schemas.QualityRow(n.wallNS, n.bootNS, n.reason, n.table, n.detail)
		r.SetText("column", n.column)
		r.SetText("part", n.part)
		dst = append(dst, r)
	}
	*ns = (*ns)[:0]
	return dst
}

// watch is a directory, or a file of sysfs, and what it said last.
type watch struct {
	fd        int
	dir       bool
	buf, last []byte
}

func newWatch(path string) (w watch, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return w, false
	}
	var st unix.Stat_t
	w = watch{fd: fd, dir: unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR, buf: make([]byte, 4096)}
	w.changed()
	return w, true
}

// changed reports whether it says another thing than at the last call. A directory says
// its entries with their inodes, which sysfs does not use again soon.
func (w *watch) changed() bool {
	said := 0
	for {
		if said == len(w.buf) {
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
		n, err := 0, error(nil)
		switch {
		case !w.dir:
			n, err = unix.Pread(w.fd, w.buf[said:], int64(said))
		case said == 0:
			if _, err = unix.Seek(w.fd, 0, io.SeekStart); err == nil {
				n, err = unix.ReadDirent(w.fd, w.buf)
			}
		default:
			n, err = unix.ReadDirent(w.fd, w.buf[said:])
		}
		if err == unix.EINVAL && w.dir && said > 0 { // no room for the next entry
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
			continue
		}
		if n <= 0 || err != nil {
			break
		}
		said += n
	}
	if bytes.Equal(w.buf[:said], w.last) {
		return false
	}
	w.last = append(w.last[:0], w.buf[:said]...)
	return true
}

func (w *watch) close() error { return unix.Close(w.fd) }

// The parsers take a text without the blanks around it.

// integer returns the one number of a text, which may be negative.
func integer(text []byte) (v int64, f fault) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	u, f := natural(digits)
	switch {
	case f.why != "":
	case len(digits) == len(text) && u <= math.MaxInt64:
		return int64(u), fault{}
	case len(digits) < len(text) && u <= 1<<63:
		return -int64(u), fault{}
	default:
		f.why = outOfRange
	}
	return 0, fault{text, f.why}
}

// natural returns the one number of a text, which is below 2^64.
func natural(text []byte) (v uint64, f fault) {
	v, rest, f := number(text)
	if f.why == "" && (len(rest) > 0 || blank(text[0])) {
		f = fault{text, notNumber}
	}
	return v, f
}

// hexadecimal returns the one number of a text, "0x" and up to 16 digits.
func hexadecimal(text []byte) (v uint64, f fault) {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 {
		return 0, fault{text, notNumber}
	}
	if len(digits) > 16 {
		return 0, fault{text, outOfRange}
	}
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			if d = c | 0x20 - 'a' + 10; d < 10 || d > 15 {
				return 0, fault{text, notNumber}
			}
		}
		v = v<<4 | uint64(d)
	}
	return v, fault{}
}

// put sets a cell to a number that may be negative, brought to the column's unit; like
// set, it keeps the bits of a counter.
func put(b *schemas.Block, row, col int, v int64) bool {
	c := &b.Table.Columns[col]
	mul := max(c.Mul, 1)
	if !c.Kind.Cumulative() && (v > math.MaxInt64/mul || v < math.MinInt64/mul) {
		return false
	}
	b.Set(row, col, v*mul)
	return true
}

// fillNumber fills the cell's column with the one number of its text.
func fillNumber(c *cell, b *schemas.Block) fault {
	if b.Table.Columns[c.col].Kind.Cumulative() {
		return fillCounter(c, b)
	}
	return fillGauge(c, b)
}

var (
	fillCounter = fillValue(func(text []byte) (int64, bool, fault) {
		v, f := natural(text)
		return int64(v), true, f
	})
	fillGauge = fillValue(func(text []byte) (int64, bool, fault) {
		v, f := integer(text)
		return v, true, f
	})
)

// fillValue returns the filler of one value, which may be said to be unknown.
func fillValue(parse func(text []byte) (v int64, known bool, f fault)) filler {
	return func(c *cell, b *schemas.Block) fault {
		text := bytes.TrimSpace(c.text)
		v, known, f := parse(text)
		if f.why != "" || !known {
			return f
		}
		for _, row := range c.rows {
			if !put(b, row, c.col, v) {
				return fault{text, outOfRange}
			}
		}
		return fault{}
	}
}
