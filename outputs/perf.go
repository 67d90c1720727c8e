package outputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Perf reads the output of perf stat, of perf 4 to 6: CSV (-x, with any separator),
// lines of JSON (-j), or text; with -I an interval is what has one time, without it is
// all. The counts are perf's: of an event that took turns on the counters they are
// already scaled to the whole time.
//
// Derived metrics are skipped, since they are quotients of the counts, and so are the
// totals that --summary puts behind intervals.
//
// Numbers with a decimal comma are refused, but for CSV with another separator.
type Perf struct {
	form      perfForm
	separator string
	now       PerfInterval
	lastNS    int64
	intervals int
	timed     bool // -I
	totals    bool // what follows are totals of the intervals
	report    PerfReport
	metrics   int // lines of derived metrics
}

type perfForm int

const (
	perfUnknown perfForm = iota
	perfCSV
	perfJSON
	perfText
)

// PerfInterval is what perf stat says of an interval.
type PerfInterval struct {
	// FromNS and ToNS are its bounds, in time since perf began to count. They are the same
	// where perf doesn't tell the time.
	FromNS, ToNS int64
	Counts       []PerfCount
}

// PerfCount is what perf stat says of an event.
type PerfCount struct {
	// Event is perf's name, with its modifiers and PMU: "cycles:u", "cpu_core/cycles/".
	Event string
	// Scope is where it was counted: "CPU0", a core "S0-D0-C1", a socket "S0", a node
	// "N0", a thread "name-123"; "" all together.
	Scope string
	// Cgroup is the control group it was counted for, "" if none was asked for.
	Cgroup string
	// Value is the count in Unit: "" for a plain number, "ns" for clocks.
	Value float64
	Unit  string
	// Missing says why there is no value: "not counted", "not supported".
	Missing string
	// RunNS is how long it was counted, summed over CPUs, and Running which part of the
	// time in which it was to be that is, in percent; NaN where perf doesn't say.
	RunNS   int64
	Running float64
}

// PerfReport is what perf stat says beside the counts.
type PerfReport struct {
	// Started is what it says of its start, a time without zone; "" if it doesn't.
	Started string
	// Of is what it counted, from the text form: "system wide", "sleep 1".
	Of       string
	Warnings []string
}

// StartedAt returns when perf was started, read in a zone. ok is false if it doesn't
// say.
func (r *PerfReport) StartedAt(zone *time.Location) (at time.Time, ok bool) {
	at, err := time.ParseInLocation(time.ANSIC, r.Started, zone)
	return at, err == nil
}

var (
	perfBetween = regexp.MustCompile(`[^\w.<> /-]+`)
	perfTime    = regexp.MustCompile(`^\d+\.\d{9}$`)
	perfScope   = regexp.MustCompile(`^(CPU\d+|[SN]\d+(-D\d+)?(-(C|CLS)\d+|-L\d+-ID\d+)?|.+-\d+)$`)
	perfGroup   = regexp.MustCompile(`^[SN]\d`) // of several CPUs, whose number follows
	perfPart    = regexp.MustCompile(`^\d{1,3}\.\d\d$`)
	perfUnit    = regexp.MustCompile(`^[A-Za-z%/]{0,12}$`)
	perfGrouped = regexp.MustCompile(`^(\d+|\d{1,3}(,\d{3})+)(\.\d{2}|\.\d{6})?$`)
	perfRunning = regexp.MustCompile(`\(\s*(\d+\.\d+)%\)\s*$`)
	perfElapsed = regexp.MustCompile(`^\s+(\d+[.,]\d+)\s.*seconds time elapsed`)
	perfComma   = regexp.MustCompile(`,\d{1,3},\d\d(,|$)|[: ]\d+,\d{2,}[,} ]`)
)

// perfLocale is the way out of decimal commas.
const perfLocale = "decimal commas: run perf with LC_ALL=C, or with -x';', which can be read"

// Line takes the next line. It returns the interval before, if the line begins another.
func (p *Perf) Line(line string) (*PerfInterval, error) {
	line = strings.TrimRight(line, " \r")
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		return nil, nil
	case strings.HasPrefix(trimmed, "# started on "):
		p.report.Started = strings.TrimPrefix(trimmed, "# started on ")
		return nil, nil
	case strings.HasPrefix(trimmed, "#") && strings.HasSuffix(trimmed, "events") && strings.Contains(trimmed, "counts"):
		p.form = perfText
		return nil, nil
	case strings.HasPrefix(trimmed, "Performance counter stats for "):
		if p.timed {
			p.totals = true
		}
		p.form = perfText
		p.report.Of = short(strings.Trim(strings.TrimSuffix(strings.TrimPrefix(trimmed, "Performance counter stats for "), ":"), "'"))
		return nil, nil
	case strings.HasPrefix(trimmed, "#"):
		return nil, nil
	case p.form == perfUnknown && trimmed[0] == '{':
		p.form = perfJSON
	case p.form == perfUnknown:
		p.form = perfCSV
	}
	var at string
	var c *PerfCount
	var err error
	switch p.form {
	case perfJSON:
		at, c, err = p.object(trimmed)
	case perfText:
		at, c, err = p.column(line)
	default:
		at, c, err = p.fields(trimmed)
	}
	if err != nil {
		return nil, fmt.Errorf("perf: %q: %w", short(trimmed), err)
	}
	if c == nil || p.totals {
		return nil, nil
	}
	return p.add(at, c)
}

// add puts a count into its interval.
func (p *Perf) add(at string, c *PerfCount) (done *PerfInterval, err error) {
	if at == "" {
		if p.timed { // of --summary
			p.totals = true
			return nil, nil
		}
		p.now.Counts = append(p.now.Counts, *c)
		return nil, nil
	}
	s, ok := number(at)
	ns, ok2 := seconds(s)
	if whole, frac, cut := strings.Cut(at, "."); ok && ok2 && cut && len(frac) == 9 { // exactly
		w, _ := natural(whole)
		f, _ := natural(frac)
		ns = w*1e9 + f
	}
	switch {
	case !ok || !ok2 || ns == 0:
		return nil, fmt.Errorf("perf: time %q: want seconds since the start", at)
	case !p.timed && len(p.now.Counts) > 0:
		return nil, fmt.Errorf("perf: time %q behind lines without a time", at)
	case ns < p.now.ToNS:
		return nil, fmt.Errorf("perf: time %s behind %.9f: of another run? each begins with its line \"# started on\"", at, float64(p.now.ToNS)/1e9)
	case ns > p.now.ToNS:
		done = p.take()
		p.now = PerfInterval{FromNS: p.lastNS, ToNS: ns}
		p.lastNS = ns
	}
	p.timed = true
	p.now.Counts = append(p.now.Counts, *c)
	return done, nil
}

// take returns the interval that was being read, nil if there is none.
func (p *Perf) take() *PerfInterval {
	if len(p.now.Counts) == 0 {
		return nil
	}
	iv := p.now
	p.now = PerfInterval{}
	p.intervals++
	return &iv
}

// End returns the last interval and the report. An error says that this was nothing of
// perf stat.
func (p *Perf) End() (*PerfInterval, *PerfReport, error) {
	iv := p.take()
	if p.intervals == 0 {
		if p.metrics > 0 {
			return nil, nil, errors.New("perf: derived metrics only, no counts: leave out --metric-only")
		}
		return nil, nil, errors.New("perf: nothing of perf stat in it: want its CSV (-x), lines of JSON (-j) or text, of counts")
	}
	if p.metrics > 0 {
		p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("%d lines of derived metrics were left out: quotients are formed from the counts", p.metrics))
	}
	return iv, &p.report, nil
}

// object takes a line of JSON.
func (p *Perf) object(line string) (at string, c *PerfCount, err error) {
	text, _ := repair([]byte(line))
	var o struct {
		Interval json.Number `json:"interval"`
		CPU      string      `json:"cpu"`
		Core     string      `json:"core"`
		Die      string      `json:"die"`
		Cluster  string      `json:"cluster"`
		Cache    string      `json:"cache"`
		Socket   string      `json:"socket"`
		Node     string      `json:"node"`
		Thread   string      `json:"thread"`
		Cgroup   string      `json:"cgroup"`
		Value    *string     `json:"counter-value"`
		Unit     string      `json:"unit"`
		Event    string      `json:"event"`
		RunNS    json.Number `json:"event-runtime"`
		Running  *float64    `json:"pcnt-running"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		if perfComma.MatchString(line) {
			return "", nil, errors.New(perfLocale)
		}
		return "", nil, err
	}
	if o.Value == nil || o.Event == "" {
		p.metrics++
		return "", nil, nil
	}
	if o.CPU != "" {
		o.CPU = "CPU" + o.CPU
	}
	c = &PerfCount{Event: o.Event, Cgroup: o.Cgroup, Unit: o.Unit, Running: math.NaN()}
	for _, scope := range []string{o.CPU, o.Core, o.Die, o.Cluster, o.Cache, o.Socket, o.Node, o.Thread} {
		if scope != "" {
			c.Scope = scope
			break
		}
	}
	if o.Running != nil {
		c.Running = *o.Running
	}
	c.RunNS, _ = natural(o.RunNS.String())
	return o.Interval.String(), c, c.value(*o.Value, true)
}

// value sets the value from what perf printed. JSON prints whole numbers with decimals.
func (c *PerfCount) value(text string, decimals bool) error {
	switch text {
	case "<not counted>", "<not supported>":
		c.Missing = strings.Trim(text, "<>")
		c.Running = math.NaN() // perf prints 100.00
		return nil
	}
	v, ok := number(text)
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("value %q: want a number%s", short(text), comma(text))
	}
	if c.Running < 0 || c.Running > 100 {
		return fmt.Errorf("running %g %%: want 0 to 100", c.Running)
	}
	c.Value = v
	name, _, _ := strings.Cut(c.Event, ":")
	if name == "task-clock" || name == "cpu-clock" {
		// In ms with its unit, and before perf 5 without; of late in ns.
		_, fraction, _ := strings.Cut(text, ".")
		if c.Unit == "msec" || c.Unit == "" && !decimals && fraction != "" {
			c.Value *= 1e6
		}
		c.Unit = "ns"
	}
	return nil
}

// fields takes a line of CSV.
func (p *Perf) fields(line string) (at string, c *PerfCount, err error) {
	if p.separator != "" {
		at, c, err := p.split(line, p.separator)
		if err != nil && p.separator == "," && perfComma.MatchString(line) {
			err = errors.New(perfLocale)
		}
		return at, c, err
	}
	candidates := []string{",", ";", "\t", "|", ":", " "}
	for _, f := range perfBetween.FindAllString(line, -1) {
		candidates = append(candidates, f, f[:1])
	}
	for _, sep := range candidates {
		if at, c, err := p.split(line, sep); err == nil && c != nil {
			p.separator = sep
			return at, c, nil
		}
	}
	if perfComma.MatchString(line) {
		return "", nil, errors.New(perfLocale)
	}
	if strings.HasPrefix(line, "time") || strings.Count(line, ",") > 0 && !strings.ContainsAny(line, "<0123456789") { // --metric-only
		p.metrics++
		return "", nil, nil
	}
	return "", nil, errors.New("no line of perf stat -x: want [TIME,][CPU,]VALUE,UNIT,EVENT,RUN TIME,PERCENT")
}

// split takes a line of CSV apart. c is nil for a line without a count.
func (p *Perf) split(line, sep string) (at string, c *PerfCount, err error) {
	f := strings.Split(line, sep)
	for k := range f {
		f[k] = strings.TrimSpace(f[k])
	}
	decimal := func(s string) string {
		if sep != "," && strings.Count(s, ",") == 1 {
			return strings.Replace(s, ",", ".", 1)
		}
		return s
	}
	next := func() (s string) {
		if len(f) > 0 {
			s, f = f[0], f[1:]
		}
		return s
	}
	if f[0] == "summary" {
		next()
	}
	if perfTime.MatchString(decimal(f[0])) {
		at = decimal(next())
	}
	c = &PerfCount{Running: math.NaN()}
	if len(f) > 0 && perfScope.MatchString(f[0]) {
		c.Scope = next()
		if perfGroup.MatchString(c.Scope) {
			if _, ok := natural(first(f)); !ok {
				return "", nil, errors.New("want the number of CPUs behind " + c.Scope)
			}
			next()
		}
	}
	value := decimal(next())
	if value == "" {
		if p.separator == "" {
			return "", nil, errors.New("no value")
		}
		p.metrics++
		return at, nil, nil
	}
	c.Unit = next()
	c.Event = next()
	for strings.Count(c.Event, "/")%2 == 1 && len(f) > 0 { // terms of a PMU's event
		c.Event += sep + next()
	}
	if !perfUnit.MatchString(c.Unit) || c.Event == "" || strings.Trim(c.Event, "0123456789.") == "" {
		return "", nil, errors.New("want a value, its unit and the event")
	}
	if _, ok := natural(first(f)); !ok && !strings.HasSuffix(first(f), "%") {
		c.Cgroup = next()
	}
	if strings.HasSuffix(first(f), "%") { // -r
		next()
	}
	run := next()
	part := decimal(next())
	var ok bool
	if c.RunNS, ok = natural(run); !ok || !perfPart.MatchString(part) {
		return "", nil, fmt.Errorf("fields %q, %q: want the event's run time in ns and percent", short(run), short(part))
	}
	c.Running, _ = number(part)
	return at, c, c.value(value, false)
}

func first(f []string) string {
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// perfUnits are the units that text puts between count and event.
var perfUnits = []string{"msec", "ns", "Joules", "MiB", "KiB", "GiB", "MB", "KB", "GB", "bytes", "Bytes", "C", "%", "Watts"}

// column takes a line of text.
func (p *Perf) column(line string) (at string, c *PerfCount, err error) {
	if m := perfElapsed.FindStringSubmatch(line); m != nil {
		return p.elapsed(m[1])
	}
	c = &PerfCount{Running: 100} // perf says it where it is less
	if m := perfRunning.FindStringSubmatch(line); m != nil {
		c.Running, _ = number(m[1])
		line = strings.TrimSuffix(line, m[0])
	}
	left, _, _ := strings.Cut(line, " # ")
	left, _, _ = strings.Cut(left, "( +-")
	f := strings.Fields(left)
	if len(f) > 0 && perfTime.MatchString(f[0]) {
		at, f = f[0], f[1:]
	}
	if len(f) == 0 {
		if at != "" {
			p.metrics++
		}
		return "", nil, nil
	}
	switch b := f[0][0]; {
	case b >= '0' && b <= '9', b == '<':
	case at == "" && p.report.Of != "" && !perfScope.MatchString(f[0]): // what perf says beside its counts
		return "", nil, nil
	case perfScope.MatchString(f[0]):
		c.Scope, f = f[0], f[1:]
		if perfGroup.MatchString(c.Scope) && len(f) > 0 {
			f = f[1:] // the number of CPUs
		}
	}
	if len(f) >= 2 && f[0] == "<not" {
		f = append([]string{f[0] + " " + f[1]}, f[2:]...)
	}
	if len(f) > 0 && p.report.Of != "" && (slices.Contains(f, "seconds") || len(f) == 1) {
		return "", nil, nil // user and sys time, tables of -r
	}
	if len(f) < 2 {
		if at != "" && len(f) == 0 {
			p.metrics++
			return "", nil, nil
		}
		return "", nil, errors.New("want a count and its event: write -x';' or -j, which can be read")
	}
	value := f[0]
	if value[0] != '<' {
		if !perfGrouped.MatchString(value) {
			return "", nil, fmt.Errorf("count %q: %s", short(value), perfLocale)
		}
		value = strings.ReplaceAll(value, ",", "")
	}
	f = f[1:]
	switch {
	case len(f) > 1 && slices.Contains(perfUnits, f[0]):
		c.Unit, f = f[0], f[1:]
	case len(f) == 2 && f[1] == "(msec)": // before perf 5
		c.Unit, f = "msec", f[:1]
	}
	if len(f) != 1 {
		return "", nil, errors.New("which of it is the event can't be told: write -x';' or -j, which can be read")
	}
	c.Event = f[0]
	return at, c, c.value(value, false)
}

// elapsed takes how long a command took as the length of the one interval there is.
func (p *Perf) elapsed(text string) (at string, c *PerfCount, err error) {
	s, ok := number(text)
	ns, ok2 := seconds(s)
	if !ok || !ok2 {
		return "", nil, errors.New(perfLocale)
	}
	if !p.timed {
		p.now.ToNS = ns
	}
	return "", nil, nil
}
