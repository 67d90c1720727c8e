package loaders

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/schemas"
)

// sysstat makes rows of what a file of sysstat says: its readers find the samples and
// the fields, it knows what they mean.
type sysstat struct {
	name string
	o    ForeignOptions
	f    *Foreign

	samples  []*sarSample
	restarts []sarRestart
	dropped  []sarDropped // what has no tick, for the next one
	warned   map[string]bool

	before  map[*schemas.Table]*sarBlock // of the sample that was begun last
	absent  map[*schemas.Table]*sarBlank // values of rows that have none
	memory  sarMemory
	layouts map[string]*sarLayout // by heading; nil: unknown

	seen    map[string]int // the last sample of each CPU
	cpus    int            // samples that had any
	lastCPU *sarSample
	human   bool // numbers with a unit, of sar --human
	digits  int  // behind the point, the most that a percentage had
	doubts  bool // pages reclaimed are counted twice
}

// sarRestart is when the host booted.
type sarRestart struct {
	wallNS int64
	cpus   int // 0: not told
}

// sarDropped is the note of a sample that is left out.
type sarDropped struct {
	wallNS int64
	note   schemas.Row
}

// sarSample is what a file says of one time.
type sarSample struct {
	segment    int // restarts before it
	wallNS     int64
	intervalNS int64
	beginNS    int64 // by a heading; 0: none tells
	blocks     []*sarBlock
	notes      []schemas.Row
}

// sarBlock is a table's rows of one sample.
type sarBlock struct {
	table *schemas.Table
	// devices[:rows] are this sample's. Behind them may be those that the sample before
	// had, in their order: so a list that stays the same is kept once.
	devices  []string
	shared   bool
	rows     int
	values   []int64
	known    []bool
	rates    []float64
	by       []int // the activity that filled the row last
	activity int
	next     int
}

// sarBlank are the values of rows that have none: read-only, the same for all.
type sarBlank struct {
	values []int64
	known  []bool
}

// sarRow is one line of a block, or one object, before it is understood.
type sarRow struct {
	device []byte
	raw    [32][]byte // by the activity's columns; nil: not there
	cpus   []sarCell  // of interrupts
}

type sarCell struct{ cpu, raw []byte }

func (r *sarRow) clear() {
	r.device = nil
	clear(r.raw[:])
	r.cpus = r.cpus[:0]
}

func newSysstat(name, kind string, o ForeignOptions) *sysstat {
	return &sysstat{name: name, o: o, f: &Foreign{Kind: kind, Facts: map[string]string{}, Params: map[string]any{}}, warned: map[string]bool{},
		digits: -1, before: map[*schemas.Table]*sarBlock{}, absent: map[*schemas.Table]*sarBlank{}, seen: map[string]int{}, layouts: map[string]*sarLayout{}}
}

// warn says something once.
func (s *sysstat) warn(format string, arg ...any) {
	w := fmt.Sprintf(format, arg...)
	if !s.warned[w] {
		s.warned[w] = true
		s.f.Warnings = append(s.f.Warnings, w)
	}
}

// drop notes a sample that is left out, beside the one that follows.
func (s *sysstat) drop(wallNS int64, why string) {
	s.dropped = append(s.dropped, sarDropped{wallNS, schemas.QualityRow(0, 0, "skipped", "", "the sample of "+stamp(wallNS)+" is left out: "+why)})
}

func stamp(wallNS int64) string { return time.Unix(0, wallNS).UTC().Format(time.RFC3339) }

// add takes a sample in, in the order of the file.
func (s *sysstat) add(x *sarSample) {
	const longest = 1e8 // seconds
	switch {
	case x.intervalNS == 0:
		s.drop(x.wallNS, "its interval is 0: the recording was begun anew")
		s.warn("samples of interval 0 are left out: the recording was begun anew within the file")
		return
	case x.intervalNS < 0 || x.intervalNS > longest*1e9:
		s.drop(x.wallNS, "its interval is impossible")
		s.warn("samples of an impossible interval are left out")
		return
	}
	s.dropped = slices.DeleteFunc(s.dropped, func(d sarDropped) bool {
		if d.wallNS <= x.wallNS {
			x.notes = append(x.notes, d.note)
		}
		return d.wallNS <= x.wallNS
	})
	s.samples = append(s.samples, x)
}

// block returns the sample's rows of a table.
func (s *sysstat) block(x *sarSample, t *schemas.Table) *sarBlock {
	for _, b := range x.blocks {
		if b.table == t {
			return b
		}
	}
	b := &sarBlock{table: t, shared: true, activity: -1}
	if before := s.before[t]; before != nil && t.Device != "" {
		b.devices = before.devices[:before.rows:before.rows]
	}
	s.before[t] = b
	x.blocks = append(x.blocks, b)
	return b
}

// row returns the row of a device; ok is false if the same part of an activity had it
// already.
func (b *sarBlock) row(device []byte, activity int) (row int, ok bool) {
	if b.table.Device == "" {
		if b.rows == 0 {
			b.rows = 1
			b.by = append(b.by, -1)
		}
		ok = b.by[0] != activity
		b.by[0] = activity
		return 0, ok
	}
	if b.activity != activity {
		b.activity, b.next = activity, 0
	}
	switch at := b.next; {
	case at < b.rows && b.devices[at] == string(device):
		row = at
	case b.rows < len(b.devices) && b.devices[b.rows] == string(device):
		row = b.rows
		b.rows++
	default:
		if row = slices.Index(b.devices[:b.rows], string(device)); row >= 0 {
			break
		}
		row = b.rows
		if b.shared || b.rows < len(b.devices) {
			b.devices, b.shared = append(make([]string, 0, max(b.rows+1, len(b.devices))), b.devices[:b.rows]...), false
		}
		b.devices = append(b.devices, string(device))
		b.rows++
	}
	b.next = row + 1
	for len(b.by) < b.rows {
		b.by = append(b.by, -1)
	}
	ok = b.by[row] != activity
	b.by[row] = activity
	return row, ok
}

// level sets a level.
func (b *sarBlock) level(row, column int, v int64) {
	n := len(b.table.Columns)
	if rows := max(b.rows, len(b.devices)); len(b.values) < rows*n {
		b.values = append(b.values, make([]int64, rows*n-len(b.values))...)
		b.known = append(b.known, make([]bool, rows*n-len(b.known))...)
	}
	b.values[row*n+column], b.known[row*n+column] = v, true
}

// rate sets a metric as the tool has it.
func (b *sarBlock) rate(row, k int, v float64) {
	n := len(b.table.Stored())
	rows := max(b.rows, len(b.devices))
	if len(b.rates) == 0 {
		b.rates = make([]float64, 0, rows*n)
	}
	for len(b.rates) < rows*n {
		b.rates = append(b.rates, math.NaN())
	}
	b.rates[row*n+k] = v
}

// block makes the rows a block of a tick.
func (s *sysstat) finish(b *sarBlock, intervalNS, bootNS int64) schemas.Block {
	out := schemas.Block{Table: b.table, BootNS: bootNS, IntervalNS: intervalNS}
	if b.table.Device != "" {
		out.Devices = b.devices[:b.rows:b.rows]
	}
	if n := b.rows * len(b.table.Columns); b.values != nil {
		for len(b.values) < n {
			b.values, b.known = append(b.values, 0), append(b.known, false)
		}
		out.Values, out.Known = b.values[:n:n], b.known[:n:n]
	} else {
		blank := s.absent[b.table]
		if blank == nil || len(blank.values) < n {
			blank = &sarBlank{make([]int64, n), make([]bool, n)}
			s.absent[b.table] = blank
		}
		out.Values, out.Known = blank.values[:n:n], blank.known[:n:n]
	}
	if n := b.rows * len(b.table.Stored()); b.rates != nil {
		for len(b.rates) < n {
			b.rates = append(b.rates, math.NaN())
		}
		out.Rates = b.rates[:n:n]
	}
	return out
}

// note adds a row of quality about one cell.
func (x *sarSample) note(reason, table, column, device string, raw []byte, detail string) {
	q := schemas.QualityRow(0, 0, reason, table, detail)
	q.SetText("column", column)
	q.SetText("part", device)
	if raw != nil {
		q.SetText("current", string(raw))
	}
	x.notes = append(x.notes, q)
}

// take understands a row of an activity.
func (s *sysstat) take(x *sarSample, a *sarActivity, r *sarRow) error {
	if a.head != "" && len(r.device) == 0 {
		return fmt.Errorf("%s: a row without a name in %s", a.name, a.head)
	}
	switch a.form {
	case sarFormInterrupts:
		return s.interrupts(x, a, r)
	case sarFormCPU:
		return s.cpu(x, a, r)
	case sarFormCPUFreq:
		r.device = allCPUs(r.device)
		if string(r.device) == schemas.All && a.name == "A_PWR_CPU" {
			s.warn("cpufreq: sar's mean over CPUs is left out: it is no total (with -P ALL sar and sadf print each CPU)")
			return nil
		}
		for i := range a.columns { // a CPU that is offline, a driver without statistics
			if v, err := sarNumber(r.raw[i]); err == nil && v == 0 {
				r.raw[i] = nil
			}
		}
	case sarFormSensor:
		r.device = append(append(bytes.Clone(r.raw[a.bySar["DEVICE"]]), '/'), append([]byte(strings.ToLower(a.head)), r.device...)...)
	case sarFormUSB:
		id := func(column string) string {
			hex := string(r.raw[a.bySar[column]])
			return strings.Repeat("0", max(0, 4-len(hex))) + hex
		}
		r.device = []byte(strings.TrimSpace(fmt.Sprintf("%s %s:%s %s", r.device, id("idvendor"), id("idprod"), r.raw[a.bySar["product"]])))
	case sarFormBattery:
		r.device = append([]byte("BAT"), r.device...)
	}
	if a.table == "softnet" {
		r.device = allCPUs(r.device)
	}
	return s.columns(x, a, r)
}

// allCPUs brings sadf's number of all CPUs to sar's name.
func allCPUs(device []byte) []byte {
	if string(device) == "-1" {
		return []byte(schemas.All)
	}
	return device
}

// columns takes a row column by column.
func (s *sysstat) columns(x *sarSample, a *sarActivity, r *sarRow) error {
	var values [len(r.raw)]sarValue
	for i := range a.columns { // all of it, before any is taken
		c := &a.columns[i]
		if c.text && c.table != nil && r.raw[i] != nil {
			r.raw[i] = batteryState(r.raw[i])
		}
		if r.raw[i] == nil || c.text && c.table == nil {
			continue
		}
		var err error
		if values[i], err = s.number(c, r.raw[i]); err != nil {
			return fmt.Errorf("%s: %w", c.label(), err)
		}
	}
	var b *sarBlock
	at, device := 0, r.device
	for i := range a.columns {
		c := &a.columns[i]
		raw, v := r.raw[i], values[i]
		if raw == nil || c.table == nil || c.after != "" && r.raw[a.bySar[c.after]] != nil {
			continue
		}
		if b == nil || c.device != "" && c.device != string(device) {
			if c.device != "" {
				device = []byte(c.device)
			}
			b = s.block(x, c.table)
			var ok bool
			if at, ok = b.row(device, a.number<<8|i); !ok && c.device == "" {
				x.note("skipped", c.table.Name, "", string(device), nil, "named twice in a sample: the first row counts")
				return nil
			}
		}
		if c.added != "" {
			j := a.bySar[c.added]
			if r.raw[j] == nil {
				continue
			}
			other := values[j]
			v.int, v.float = v.int+other.int, v.float+other.float
			v.exact = v.exact && other.exact && v.int >= 0
		}
		if math.IsNaN(v.float) {
			x.note("nan", c.table.Name, c.name(), string(device), raw, "not a number: the value is unknown")
			continue
		}
		if s.unknown(a, c, r, v) {
			continue
		}
		if why := s.impossible(a, c, r, v); why != "" {
			x.note("impossible", c.table.Name, c.name(), string(device), raw, c.label()+": "+why)
			continue
		}
		s.set(b, at, a, c, v)
	}
	if a.form == sarFormMemory && b != nil {
		s.memory.take(x, a, r, b)
	}
	return nil
}

func (c *sarColumn) label() string {
	if c.sar != "" {
		return c.sar
	}
	return c.json
}

// unknown reports whether sar prints v where there is nothing to tell.
func (s *sysstat) unknown(a *sarActivity, c *sarColumn, r *sarRow, v sarValue) bool {
	zero := func(columns ...string) bool {
		for _, name := range columns {
			if n, err := sarNumber(r.raw[a.bySar[name]]); err != nil || n != 0 {
				return false
			}
		}
		return true
	}
	switch {
	case a.form == sarFormMemory:
		return c.sar == "kbmemused" || c.sar == "kbavail" && v.float == 0
	case a.form == sarFormDisk && (c.metric == "await_s" || c.metric == "areq_bytes"):
		return zero("tps")
	case a.form == sarFormPaging && c.metric == "vmeff_pct":
		return zero("pgscank/s", "pgscand/s")
	}
	return false
}

// impossible returns why the value can't be true, "" if it can.
func (s *sysstat) impossible(a *sarActivity, c *sarColumn, r *sarRow, v sarValue) string {
	const back, large = "negative: a counter went back", "more than can be: a counter went back or was read wrong"
	switch {
	case v.float < 0 && a.form != sarFormSensor:
		return back
	case v.float > c.limit:
		if c.metric == "vmeff_pct" {
			s.doubts = true
			return "more was reclaimed than scanned: sysstat counts pages twice on Linux 5.8 and later, as by who reclaimed them so by what they held"
		}
		return large
	case c.def != nil && !v.exact && math.Abs(v.float) > 1<<62, c.def != nil && c.def.Div != 0 && math.Abs(v.float*c.def.Div) > 1<<62:
		return large
	}
	switch c.metric {
	case "await_s", "areq_bytes":
		if tps, err := sarNumber(r.raw[a.bySar["tps"]]); err == nil && (tps < 0 || tps > sarMaxEvents) {
			return "formed with an impossible tps"
		}
	case "rx_bytes_per_s", "tx_bytes_per_s":
		if beyondLink(a, r, v.float) {
			return "more than the link carries, by %ifutil"
		}
	}
	return ""
}

// beyondLink reports whether v, bytes a second, exceeds the speed that %ifutil tells:
// that is formed from the larger of both directions, or their sum.
func beyondLink(a *sarActivity, r *sarRow, v float64) bool {
	get := func(column string) float64 {
		n, err := sarNumber(r.raw[a.bySar[column]])
		if err != nil {
			return 0
		}
		return n
	}
	util := get("%ifutil")
	return util > sarMaxShare && v/sarKiB*100 > max(get("rxkB/s"), get("txkB/s"))/util*1e4
}

func (s *sysstat) set(b *sarBlock, at int, a *sarActivity, c *sarColumn, v sarValue) {
	if a.table == "load" && c.sar == "runq-sz" {
		v.int, v.float = v.int+1, v.float+1
	}
	switch {
	case c.rate >= 0:
		b.rate(at, c.rate, v.float)
	case c.def.Div != 0:
		b.level(at, c.column, int64(math.Round(v.float*c.def.Div)))
	case v.exact:
		b.level(at, c.column, v.int)
	default:
		b.level(at, c.column, int64(math.Round(v.float)))
	}
}

// cpu takes a row of A_CPU, in which the parts must add up to ours.
func (s *sysstat) cpu(x *sarSample, a *sarActivity, r *sarRow) error {
	t := &schemas.CPU
	device := allCPUs(r.device)
	var part [len(r.raw)]float64
	all := 0.0
	for i := range a.columns {
		if r.raw[i] == nil {
			continue
		}
		v, err := s.number(&a.columns[i], r.raw[i])
		if err != nil {
			return fmt.Errorf("%s: %w", a.columns[i].sar, err)
		}
		part[i] = v.float
		all += math.Abs(v.float)
	}
	if all == 0 && r.raw[a.bySar["%idle"]] != nil { // before sysstat 11.7.3; since then such a row isn't there
		x.note("hotplug", t.Name, "", string(device), nil, "the CPU is offline")
		return nil
	}
	b := s.block(x, t)
	at, ok := b.row(device, a.number<<8)
	if !ok {
		x.note("skipped", t.Name, "", string(device), nil, "named twice in a sample: the first row counts")
		return nil
	}
	if x != s.lastCPU {
		s.cpus, s.lastCPU = s.cpus+1, x
	}
	if last, was := s.seen[string(device)]; was && last < s.cpus-1 {
		x.note("hotplug", t.Name, "", string(device), nil, "the CPU was away: its shares are of the whole time since it left")
	}
	s.seen[string(device)] = s.cpus
	// sum returns the sum of the columns that are there, NaN where none is or one can't be.
	sum := func(columns ...string) float64 {
		total := math.NaN()
		for _, name := range columns {
			switch i := a.bySar[name]; {
			case r.raw[i] == nil:
			case !(part[i] >= 0 && part[i] <= sarMaxCPU):
				return math.NaN()
			case math.IsNaN(total):
				total = part[i]
			default:
				total += part[i]
			}
		}
		return math.Round(total*1e6) / 1e6 // of numbers with at most a few decimals
	}
	for i := range a.columns {
		if c := &a.columns[i]; r.raw[i] != nil && !(part[i] >= 0 && part[i] <= sarMaxCPU) {
			x.note("impossible", t.Name, c.name(), string(device), r.raw[i], c.sar+": no share of a CPU's time")
		}
	}
	set := func(metric string, v float64) {
		if k := slices.IndexFunc(t.Stored(), func(m schemas.Metric) bool { return m.Name == metric }); k >= 0 && !math.IsNaN(v) {
			b.rate(at, k, v)
		}
	}
	user, nice := sum("%user"), sum("%nice")
	if r.raw[a.bySar["%usr"]] != nil {
		user, nice = sum("%usr", "%guest"), sum("%nice", "%gnice")
	}
	kernel := sum("%system")
	if r.raw[a.bySar["%sys"]] != nil && r.raw[a.bySar["%irq"]] != nil && r.raw[a.bySar["%soft"]] != nil {
		kernel = sum("%sys", "%irq", "%soft")
	}
	set("user_pct", user)
	set("nice_pct", nice)
	set("kernel_pct", kernel)
	set("busy_pct", math.Round((user+nice+kernel)*1e6)/1e6)
	for _, c := range []string{"%sys", "%iowait", "%steal", "%irq", "%soft", "%guest", "%gnice", "%idle"} {
		set(a.columns[a.bySar[c]].metric, sum(c))
	}
	return nil
}

// interrupts takes a row of A_IRQ: row sum is the system's, and by CPU; the other rows
// are one interrupt each.
func (s *sysstat) interrupts(x *sarSample, a *sarActivity, r *sarRow) error {
	total := r.raw[a.bySar["all"]]
	if total == nil {
		total = r.raw[a.bySar["intr/s"]]
	}
	put := func(table, metric, device string, raw []byte) error {
		t, err := schemas.Lookup(table)
		if err != nil || raw == nil {
			return nil
		}
		v, err := sarNumber(raw)
		if err != nil {
			return fmt.Errorf("interrupts: %w", err)
		}
		b := s.block(x, t)
		at, ok := b.row([]byte(device), a.number<<8)
		switch {
		case !ok:
			x.note("skipped", table, "", device, nil, "named twice in a sample: the first row counts")
		case math.IsNaN(v):
			x.note("nan", table, metric, device, raw, "not a number: the value is unknown")
		case v < 0 || v > sarMaxEvents:
			x.note("impossible", table, metric, device, raw, "no number of interrupts a second")
		default:
			b.rate(at, slices.IndexFunc(t.Stored(), func(m schemas.Metric) bool { return m.Name == metric }), v)
		}
		return nil
	}
	if name := string(r.device); name != "sum" && name != "-1" {
		for _, c := range r.cpus {
			if _, err := sarNumber(c.raw); err != nil {
				return fmt.Errorf("interrupts: %w", err)
			}
		}
		return put("interrupts", "count_per_s", name, total)
	}
	if err := put("kernel", "interrupts_per_s", "", total); err != nil {
		return err
	}
	for _, c := range r.cpus {
		if err := put("interrupts_cpu", "interrupts_per_s", string(c.cpu), c.raw); err != nil {
			return err
		}
	}
	return nil
}

// batteryState is 1 while a battery discharges, 0 in any other state that is known.
// sar has arrows, sadf words.
func batteryState(raw []byte) []byte {
	switch strings.ToLower(string(raw)) {
	case "discharging", "↘":
		return []byte("1")
	case "charging", "not charging", "full", "↗", "→", "↑":
		return []byte("0")
	}
	return []byte("nan")
}

// sarValue is a number in our unit.
type sarValue struct {
	float float64
	int   int64
	exact bool // int is the number
}

// number reads a field in sar's unit and brings it to ours.
func (s *sysstat) number(c *sarColumn, raw []byte) (sarValue, error) {
	mul := c.mul
	if n := len(raw); n > 1 && c.sar != "" {
		switch unit := raw[n-1]; {
		case unit == '%' && strings.HasPrefix(c.sar, "%"):
			raw, s.human = raw[:n-1], true
		case strings.IndexByte("BkMGTP", unit) >= 0 && (c.mul == sarKiB || c.mul == sarMiB):
			raw, s.human = raw[:n-1], true
			mul = math.Pow(1024, float64(strings.IndexByte("BkMGTP", unit)))
		}
	}
	v, err := sarNumber(raw)
	if err != nil {
		return sarValue{}, err
	}
	point := bytes.IndexByte(raw, '.')
	if c.fraction && s.digits < 2 {
		digits := 0
		if point >= 0 {
			digits = len(raw) - point - 1
		}
		s.digits = max(s.digits, digits)
	}
	out := sarValue{float: v * mul}
	if point < 0 && len(raw) <= 15 && mul == math.Trunc(mul) {
		out.int, out.exact = int64(v)*int64(mul), math.Abs(out.float) < 1<<62
	}
	return out, nil
}

// sarNumber reads a number as sar writes one; nan is one that is not known.
func sarNumber(raw []byte) (float64, error) {
	digits := raw
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	var n uint64
	point, count := -1, 0
	for i, ch := range digits {
		switch {
		case ch >= '0' && ch <= '9':
			n = n*10 + uint64(ch-'0')
			count++
		case ch == '.' && point < 0 && i > 0 && i < len(digits)-1:
			point = i
		case ch == ',':
			return 0, errDecimalComma
		default:
			if string(digits) == "nan" || string(digits) == "inf" {
				return math.NaN(), nil
			}
			return 0, fmt.Errorf("%q: not a number", raw)
		}
	}
	if count == 0 {
		return 0, fmt.Errorf("%q: not a number", raw)
	}
	if count > 15 {
		return strconv.ParseFloat(string(raw), 64)
	}
	v := float64(n)
	if point >= 0 { // exact as ParseFloat: both are exact numbers
		v /= powersOfTen[len(digits)-1-point]
	}
	if raw[0] == '-' {
		v = -v
	}
	return v, nil
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

var errDecimalComma = fmt.Errorf("a decimal comma: the tool ran in another locale: make the file anew by LC_ALL=C sadf -j FILE -- -A")

// close makes the boots of what was added. cause is why the file broke off, nil if it
// is whole.
func (s *sysstat) close() (*Foreign, error) {
	switch {
	case len(s.samples) == 0:
		return nil, fmt.Errorf("loaders: %s: no sample of any length", s.name)
	case !slices.ContainsFunc(s.samples, func(x *sarSample) bool { return len(x.blocks) > 0 }):
		return nil, fmt.Errorf("loaders: %s: nothing in it has a place: %s", s.name, cmp.Or(strings.Join(s.f.Warnings, "; "), "its samples are empty"))
	}
	s.memory.finish(s)
	if s.human {
		s.warn("numbers are rounded, as sar --human prints them")
	} else if s.digits == 0 || s.digits == 1 {
		s.warn("numbers are rounded: they have %d decimals, where sar has 2 by itself", s.digits)
	}
	if s.doubts {
		s.warn("paging: pgsteal_per_s and vmeff_pct may be twice what they should be: sysstat counts reclaimed pages twice on Linux 5.8 and later")
	}
	first := s.samples[0]
	start := first.wallNS - first.intervalNS
	s.f.Start = time.Unix(0, start).UTC()
	var elapsed, wall int64 = 0, start
	late := false
	boot, segment := 0, 0
	for i, x := range s.samples {
		if i == 0 || x.segment != segment {
			s.f.Boots = append(s.f.Boots, nil)
			boot = len(s.f.Boots) - 1
		}
		at := x.wallNS - start
		if at <= elapsed { // a clock set back, or two samples in one second as printed
			if !late {
				reason, detail := "clock-step", "the clock was set back to "+stamp(x.wallNS)+": elapsed time goes on by the intervals"
				if x.wallNS == wall {
					reason, detail = "coarse", "two samples in one second, as printed: elapsed time goes on by the interval"
				}
				x.note(reason, "", "", "", nil, detail)
			}
			at = elapsed + x.intervalNS
		}
		late = x.wallNS <= wall && i > 0
		if i > 0 && x.segment != segment {
			r := s.restarts[x.segment-1]
			detail := "the host booted at " + stamp(r.wallNS)
			if r.cpus > 0 {
				detail += fmt.Sprintf(", with %d CPUs", r.cpus)
			}
			x.note("reboot", "", "", "", nil, detail)
		}
		elapsed, wall, segment = at, x.wallNS, x.segment
		tick := schemas.Tick{Rows: x.notes}
		for k := range tick.Rows {
			tick.Rows[k].BootNS = at
		}
		for _, b := range x.blocks {
			tick.Blocks = append(tick.Blocks, s.finish(b, x.intervalNS, at))
		}
		s.f.Boots[boot] = append(s.f.Boots[boot], tick)
		s.samples[i] = nil
	}
	last := &s.f.Boots[boot][len(s.f.Boots[boot])-1]
	for _, d := range s.dropped {
		d.note.BootNS = elapsed
		last.Rows = append(last.Rows, d.note)
	}
	s.f.DurationNS = elapsed
	return s.f, nil
}
