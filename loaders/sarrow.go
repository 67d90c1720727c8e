package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/steadybench/steady/schemas"
)

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
		kind := strings.ToLower(a.head)
		r.device = fmt.Appendf(nil, "%s/%s%s", r.raw[a.bySar["DEVICE"]], kind, bytes.TrimPrefix(r.device, []byte(kind)))
	case sarFormUSB:
		id := func(column string) string {
			hex := string(r.raw[a.bySar[column]])
			return strings.Repeat("0", max(0, 4-len(hex))) + hex
		}
		r.device = []byte(strings.TrimSpace(fmt.Sprintf("%s %s:%s %s", r.device, id("idvendor"), id("idprod"), r.raw[a.bySar["product"]])))
	case sarFormBattery:
		r.device = append([]byte(a.head), bytes.TrimPrefix(r.device, []byte(a.head))...)
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
	case c.def != nil && math.Abs(v.float)*max(c.def.Div, 1) > 1<<62:
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
		if !math.IsNaN(v) {
			b.rate(at, storedRate(t, metric), v)
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

// storedRate returns the place of a metric among those that t's files can store, which
// it must be.
func storedRate(t *schemas.Table, metric string) int {
	k := slices.IndexFunc(t.Stored(), func(m schemas.Metric) bool { return m.Name == metric })
	if k < 0 {
		panic("loaders: table " + t.Name + " stores no " + metric)
	}
	return k
}

// interrupts takes a row of A_IRQ: row sum is all of them, and by CPU; the other rows are
// one interrupt each.
func (s *sysstat) interrupts(x *sarSample, a *sarActivity, r *sarRow) error {
	total := r.raw[a.bySar["all"]]
	if total == nil {
		total = r.raw[a.bySar["intr/s"]]
	}
	put := func(t *schemas.Table, metric, device string, raw []byte) error {
		if raw == nil {
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
			x.note("skipped", t.Name, "", device, nil, "named twice in a sample: the first row counts")
		case math.IsNaN(v):
			x.note("nan", t.Name, metric, device, raw, "not a number: the value is unknown")
		case v < 0 || v > sarMaxEvents:
			x.note("impossible", t.Name, metric, device, raw, "no number of interrupts a second")
		default:
			b.rate(at, storedRate(t, metric), v)
		}
		return nil
	}
	for _, c := range r.cpus { // before any is taken
		if _, err := sarNumber(c.raw); err != nil {
			return fmt.Errorf("interrupts: %w", err)
		}
	}
	if name := string(r.device); name != "sum" && name != "-1" {
		return put(&schemas.Interrupts, "count_per_s", name, total)
	}
	if err := put(&schemas.InterruptsCPU, "interrupts_per_s", schemas.All, total); err != nil {
		return err
	}
	for _, c := range r.cpus {
		if err := put(&schemas.InterruptsCPU, "interrupts_per_s", string(c.cpu), c.raw); err != nil {
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

var errDecimalComma = errors.New("a decimal comma: the tool ran in another locale: make the file anew by LC_ALL=C sadf -j FILE -- -A")
