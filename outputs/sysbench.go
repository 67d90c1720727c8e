package outputs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// Sysbench reads the output of sysbench 1.0 and 1.1: oltp_*, cpu, memory, threads,
// mutex, fileio, and scripts that report as these do. It is a Parser.
//
// An interval is what an interval line says, its rates times the time since the line
// before: sysbench prints whole seconds, and leaves some out when it is held up. What
// no line covers, as often the last second, is the summary less the lines. A run
// without lines is one interval.
//
// A latency of 0.00 ms is none: sysbench prints it of an interval without events, and
// below 5 us. Percentiles are steps of a scale of 1024 from 1 us to 100 s
// (sb_histogram.c): good to 1.8 %.
//
// Checkpoints (--report-checkpoints) set the counters back: each report, and the one at
// the end, is about the time since the one before. These are the phases checkpoint-1,
// checkpoint-2, ... The interval line that a checkpoint fell into has no latency, since
// the histogram was emptied on the way.
type Sysbench struct {
	facts      map[string]string
	params     map[string]any
	unit       string
	every      int64   // report interval in s, 0: none
	rate       bool    // --rate: a line about the queue follows each interval line
	blockBytes float64 // of the memory and fileio tests

	began, named bool      // it ran; its line with the version was there
	held         *Interval // waits for the line about its queue
	lines        int
	lastS        int64              // second of the last interval line
	checkpointS  int64              // second of the last checkpoint
	sum          map[string]float64 // of the interval lines, by column
	lost         bool               // what an interval line counted is unknown

	section  string // of the report that is being printed
	block    *sysbenchBlock
	blocks   []*sysbenchBlock
	buckets  []Bucket
	fatal    []string
	warnings []string
}

// sysbenchBlock is a report: that of a checkpoint, or the one at the end.
type sysbenchBlock struct {
	checkpoint, done bool
	figures          map[string]float64 // by a name of ours
	percent          string             // which percentile it has
}

var (
	sysbenchVersion = regexp.MustCompile(`^sysbench (1\.\d+\S*) \(using (.*)\)$`)
	sysbenchStamp   = regexp.MustCompile(`^\[ *(\d+)s \] (.*)$`)
	sysbenchEvents  = regexp.MustCompile(`^thds: \d+ (?:tps: (\S+) qps: \S+ \(r/w/o: ([^/ ]+)/([^/ ]+)/([^/ ]+)\)|eps: (\S+)) lat \(ms,(\d+)%\): (\S+)(?: err/s: (\S+) reconn/s: (\S+))?$`)
	sysbenchMemory  = regexp.MustCompile(`^(\S+) MiB/sec$`)
	sysbenchFiles   = regexp.MustCompile(`^reads: (\S+) MiB/s writes: (\S+) MiB/s fsyncs: (\S+)/s latency \(ms,(\d+)%\): (\S+)$`)
	sysbenchQueue   = regexp.MustCompile(`^queue length: (\d+), concurrency: (\d+)$`)
	sysbenchEvery   = regexp.MustCompile(`^Report intermediate results every (\d+) second`)
	sysbenchSize    = regexp.MustCompile(`^(\d+)([KMG]?)iB$`)
	sysbenchPercent = regexp.MustCompile(`^(\d+)th percentile$`)
	sysbenchBar     = regexp.MustCompile(`^ *(\d+)\.(\d{3}) \|\**\s+(\d+)$`)
)

// sysbenchSections are the parts of a report, and what is taken from them, by label.
var sysbenchSections = map[string]map[string]string{
	"SQL statistics:": {"read": "reads", "write": "writes", "other": "others", "transactions": "transactions",
		"ignored errors": "errors", "reconnects": "reconnects"},
	"CPU speed:":          {},
	"File operations:":    {},
	"General statistics:": {"total time": "total_s", "total number of events": "events"},
	"Throughput:":         {"time elapsed": "elapsed_s", "total number of events": "events"},
	"Latency (ms):":       {"min": "min_ms", "avg": "avg_ms", "max": "max_ms", "sum": "sum_ms"},
	"Threads fairness:":   {"execution time (avg/stddev)": "end"},
}

// sysbenchColumns are the columns that an interval's percentile goes to.
var sysbenchColumns = map[string]string{"50": "latency_p50_s", "90": "latency_p90_s", "95": "latency_p95_s", "99": "latency_p99_s"}

const sysbenchHistogram = "Latency histogram (values are in milliseconds)"

// Line takes the next line.
func (s *Sysbench) Line(line string) ([]Interval, error) {
	if s.facts == nil {
		s.facts, s.params, s.sum = map[string]string{}, map[string]any{}, map[string]float64{}
	}
	line = strings.TrimRight(line, " \r")
	if m := sysbenchStamp.FindStringSubmatch(line); m != nil {
		out, err := s.stamped(m[1], m[2])
		if err != nil {
			err = fmt.Errorf("sysbench: %q: %w", short(line), err)
		}
		return out, err
	}
	var err error
	switch {
	case sysbenchVersion.MatchString(line):
		m := sysbenchVersion.FindStringSubmatch(line)
		s.named = true
		s.facts["sysbench.version"], s.facts["sysbench.luajit"] = short(m[1]), short(m[2])
	case strings.HasPrefix(line, "FATAL: "):
		s.fatal = append(s.fatal, told(line))
	case strings.HasPrefix(line, "ALERT: "), strings.HasPrefix(line, "WARNING: "):
		s.warn("%s", told(line))
	case line == sysbenchHistogram:
		s.section, s.buckets = line, nil
	case sysbenchSections[line] != nil:
		s.report(line)
	case strings.HasPrefix(line, "Total operations: "): // the memory test's report begins with it
		s.report("")
	case s.section == sysbenchHistogram:
		err = s.bar(line)
	case s.block != nil:
		err = s.reported(line)
	default:
		s.option(strings.TrimSpace(line))
	}
	if err != nil {
		err = fmt.Errorf("sysbench: %q: %w", short(line), err)
	}
	return s.release(), err
}

// release gives the interval that waited for its queue.
func (s *Sysbench) release() []Interval {
	if s.held == nil {
		return nil
	}
	out := []Interval{*s.held}
	s.held = nil
	return out
}

func (s *Sysbench) warn(format string, a ...any) {
	if w := fmt.Sprintf(format, a...); !slices.Contains(s.warnings, w) {
		s.warnings = append(s.warnings, w)
	}
}

// option takes a line of what sysbench says before it begins.
func (s *Sysbench) option(line string) {
	if m := sysbenchEvery.FindStringSubmatch(line); m != nil {
		s.every, _ = natural(m[1])
		return
	}
	if line == "Threads started!" {
		s.began = true
		return
	}
	if size, ok := strings.CutPrefix(line, "Block size "); ok { // fileio
		s.test("fileio", sysbenchBytes(size))
		return
	}
	label, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	v, ok := natural(strings.TrimSuffix(value, "/sec"))
	switch {
	case label == "Number of threads" && ok:
		s.began = true
		s.params["threads"] = v
	case label == "Target transaction rate" && ok:
		s.rate = true
		s.params["rate"] = v
	case label == "Prime numbers limit" && ok:
		s.facts["sysbench.test"] = "cpu"
		s.params["prime_limit"] = v
	case label == "block size":
		s.test("memory", sysbenchBytes(value))
	case (label == "operation" || label == "scope") && s.blockBytes > 0:
		s.params[label] = short(value)
	}
}

func (s *Sysbench) test(name string, blockBytes float64) {
	s.facts["sysbench.test"], s.blockBytes = name, blockBytes
	if blockBytes > 0 {
		s.params["block_bytes"] = blockBytes
	}
}

// sysbenchBytes returns a size such as 16KiB in bytes, 0 if it is none.
func sysbenchBytes(size string) float64 {
	m := sysbenchSize.FindStringSubmatch(size)
	if m == nil {
		return 0
	}
	v, _ := number(m[1])
	if m[2] == "" {
		return v
	}
	return v * float64(int64(1)<<(10*(1+strings.Index("KMG", m[2]))))
}

// stamped takes a line that begins with its second.
func (s *Sysbench) stamped(second, rest string) ([]Interval, error) {
	if m := sysbenchQueue.FindStringSubmatch(rest); m != nil {
		if s.held != nil { // else its interval line could not be read
			queue, _ := number(m[1])
			concurrency, _ := number(m[2])
			s.held.set("queue", queue)
			s.held.set("concurrency", concurrency)
		}
		return s.release(), nil
	}
	out := s.release()
	at, ok := natural(second)
	if _, fits := seconds(float64(at)); !ok || !fits {
		return out, fmt.Errorf("second %s: out of range", second)
	}
	if rest == "Checkpoint report:" {
		s.checkpointS = at
		s.report("")
		s.block.checkpoint = true
		return out, nil
	}
	if at < s.lastS {
		return out, fmt.Errorf("second %d behind second %d: of another run? each begins with its line \"sysbench 1...\"", at, s.lastS)
	}
	iv, err := s.interval(at, rest)
	if err != nil {
		return out, err
	}
	s.began = true
	s.lines++
	s.lastS = at
	if s.rate {
		s.held = iv
		return out, nil
	}
	return append(out, *iv), nil
}

// interval forms the interval that ends at a second from what stands behind the second.
func (s *Sysbench) interval(at int64, rest string) (*Interval, error) {
	iv := &Interval{FromNS: s.lastS * 1e9, ToNS: at * 1e9}
	length := float64(at - s.lastS)
	var fields, columns []string
	var percent, latency string
	switch {
	case sysbenchEvents.MatchString(rest):
		m := sysbenchEvents.FindStringSubmatch(rest)
		percent, latency = m[6], m[7]
		fields, columns = m[1:5], []string{"operations", "reads", "writes", "others"}
		if s.unit = "transaction"; m[5] != "" {
			s.unit, fields, columns = "event", m[5:6], columns[:1]
		} else {
			s.facts["sysbench.test"] = "oltp"
		}
		if m[8] != "" {
			fields, columns = append(slices.Clone(fields), m[8:10]...), append(slices.Clone(columns), "errors", "reconnects")
		}
	case sysbenchMemory.MatchString(rest):
		fields = sysbenchMemory.FindStringSubmatch(rest)[1:2]
	case sysbenchFiles.MatchString(rest):
		m := sysbenchFiles.FindStringSubmatch(rest)
		fields, percent, latency = m[1:4], m[4], m[5]
	default:
		return nil, errors.New("no whole interval line of sysbench 1.0 or 1.1")
	}
	rates := make([]float64, len(fields))
	for k, f := range fields {
		var ok bool
		if rates[k], ok = number(f); !ok || rates[k] < 0 {
			return nil, fmt.Errorf("field %q: want a number, not below 0%s", f, comma(f))
		}
	}
	if columns == nil { // MiB of blocks a second, and fsyncs
		s.unit = "event"
		columns = []string{"operations"}
		switch {
		case s.blockBytes == 0:
			columns = nil
			s.lost = true
			iv.note("operations", "absent", short(rest), "the size of a block is not in the output, or below 1 KiB: how many there were is unknown")
		case len(rates) == 1:
			rates[0] *= 1 << 20 / s.blockBytes
		default:
			rates = []float64{(rates[0]+rates[1])*(1<<20)/s.blockBytes + rates[2]}
		}
	}
	if length == 0 {
		s.lost = true
		iv.note("", "gap", "", fmt.Sprintf("another line of second %d: how long its interval was is unknown", at))
		return iv, nil
	}
	for k, column := range columns {
		iv.set(column, rates[k]*length)
		s.sum[column] += rates[k] * length
	}
	if ops := s.sum["operations"]; math.IsNaN(ops) || math.IsInf(ops, 0) {
		s.lost = true
	}
	return iv, s.latency(iv, percent, latency)
}

// comma says what a field with a comma most often is.
func comma(field string) string {
	if strings.Contains(field, ",") {
		return ": a decimal comma? run the tool with LC_ALL=C"
	}
	return ""
}

// latency sets the percentile of a line's interval.
func (s *Sysbench) latency(iv *Interval, percent, ms string) error {
	if percent == "" || percent == "0" { // there is none: memory, --percentile=0
		return nil
	}
	column := sysbenchColumns[percent]
	v, ok := number(ms)
	switch {
	case !ok || v < 0:
		return fmt.Errorf("field %q: want a number, not below 0%s", ms, comma(ms))
	case column == "":
		s.warn("percentile %s of the interval lines has no column: 50, 90, 95 and 99 have one (--percentile)", percent)
	case v == 0:
		iv.note(column, "absent", ms, "no data: sysbench prints 0.00 of an interval without events, and below 5 us")
	case s.checkpointS > s.lastS:
		iv.note(column, "reset", ms, fmt.Sprintf("the checkpoint of second %d emptied the histogram within the interval", s.checkpointS))
	default:
		iv.set(column, v/1e3)
	}
	return nil
}

// report begins a section of a report, and the report if none is open.
func (s *Sysbench) report(section string) {
	s.began = true
	s.section = section
	if s.block == nil {
		s.block = &sysbenchBlock{figures: map[string]float64{}}
		s.blocks = append(s.blocks, s.block)
	}
}

// bar takes a line of the histogram.
func (s *Sysbench) bar(line string) error {
	if !strings.Contains(line, "|") { // the heading, and the empty line behind
		return nil
	}
	m := sysbenchBar.FindStringSubmatch(line)
	if m == nil {
		return errors.New("histogram: want VALUE |*** COUNT")
	}
	us, ok := natural(m[1] + m[2])
	n, ok2 := natural(m[3])
	if last := len(s.buckets) - 1; !ok || !ok2 || us > 100e6 || last >= 0 && us*1e3 < s.buckets[last].NS {
		return errors.New("histogram: want values up to 100000 ms, ascending")
	}
	s.buckets = append(s.buckets, Bucket{us * 1e3, n})
	return nil
}

// reported takes a line "label: value" of a report.
func (s *Sysbench) reported(line string) error {
	label, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok {
		return nil
	}
	if value = strings.TrimSpace(value); value == "" { // a heading: what follows is its own
		if label != "queries performed" {
			s.section = ""
		}
		return nil
	}
	name := sysbenchSections[s.section][label]
	if m := sysbenchPercent.FindStringSubmatch(label); m != nil && s.section == "Latency (ms):" {
		name, s.block.percent = "percentile_ms", m[1]
	}
	switch name {
	case "":
		return nil
	case "end":
		s.block.done = true
		s.block, s.section = nil, ""
		return nil
	}
	field, rest, _ := strings.Cut(value, " ")
	v, ok := number(strings.TrimSuffix(field, "s"))
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return fmt.Errorf("field %q: want a number, not below 0%s", short(field), comma(field))
	}
	s.block.figures[name] = v
	if name == "transactions" {
		s.unit, s.facts["sysbench.test"] = "transaction", "oltp"
		per := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(rest), "("), " per sec.)")
		if v, ok := number(per); ok {
			s.block.figures["transactions_per_s"] = v
		}
	}
	return nil
}

// End returns the intervals that only the reports tell, and the report.
func (s *Sysbench) End() ([]Interval, *Report, error) {
	out := s.release()
	switch {
	case s.named && !s.began && len(s.fatal) == 0:
		return nil, nil, errors.New("sysbench: it made or removed tables or files: that is no run")
	case !s.began && len(s.fatal) == 0:
		return nil, nil, errors.New("sysbench: nothing of sysbench 1.0 or 1.1 in it: want its line \"sysbench 1...\", interval lines or statistics")
	}
	r := newReport(s.unit)
	if s.unit == "" {
		r.Unit = "event"
	}
	r.Facts, r.Params, r.Warnings = s.facts, s.params, s.warnings
	if s.facts["sysbench.version"] == "" {
		r.warn("the version is not in the output: 1.0 and 1.1 differ in what they print")
	}
	r.DurationNS = s.lastS * 1e9

	// Of each report, the time that it is about.
	var from float64
	var events float64
	for k, b := range s.blocks {
		if !b.done {
			break
		}
		to := from + b.figures["elapsed_s"]
		if total, ok := b.figures["total_s"]; ok {
			to = total
		}
		fromNS, _ := seconds(from)
		toNS, ok := seconds(to)
		if !ok || toNS <= fromNS {
			r.warn("report %d: a time of %g s is none: its figures are left out", k+1, to)
			continue
		}
		phase := whole
		if len(s.blocks) > 1 {
			phase = "checkpoint-" + strconv.Itoa(k+1)
			r.Phases = append(r.Phases, schemas.Phase{Name: phase, FromNS: fromNS, ToNS: toNS})
		}
		hist := s.buckets
		if k < len(s.blocks)-1 || b.checkpoint { // the histogram is about the last report
			hist = nil
		}
		iv := s.summary(r, b, phase, fromNS, toNS, hist)
		if s.lines == 0 {
			out = append(out, *iv)
		}
		events += b.figures["events"]
		from = to
		r.DurationNS = max(r.DurationNS, toNS)
	}

	n := len(s.blocks)
	complete := n > 0 && s.blocks[n-1].done && !s.blocks[n-1].checkpoint
	if complete && s.lines > 0 {
		if iv := s.tail(r, from); iv != nil {
			out = append(out, *iv)
		} else if a, b := s.sum["operations"]/float64(s.lastS), events/from; !s.lost && math.Abs(a-b) > 0.02*b {
			r.warn("the interval lines tell of %.5g %ss a second, the reports of %.5g: lines are missing", a, r.Unit, b)
		}
	}
	switch {
	case len(s.fatal) > 0 && s.lines == 0 && !complete:
		r.Failed = append(r.Failed, s.fatal[0])
	case len(s.fatal) > 0:
		r.Incomplete = append(r.Incomplete, s.fatal[0])
	case len(out) == 0 && s.lines == 0:
		r.Failed = append(r.Failed, "there is no result: sysbench was interrupted, or crashed")
	case !complete:
		r.Incomplete = append(r.Incomplete, "there are no statistics at the end: sysbench was interrupted, or crashed")
	case events == 0:
		r.Failed = append(r.Failed, "no event was completed")
	}
	return out, r, nil
}

// summary takes a report into the figures of a phase, and returns it as an interval.
func (s *Sysbench) summary(r *Report, b *sysbenchBlock, phase string, fromNS, toNS int64, hist []Bucket) *Interval {
	iv := &Interval{FromNS: fromNS, ToNS: toNS}
	f := b.figures
	events, known := f["events"]
	if known {
		iv.set("operations", events)
		r.figure("operations", phase, r.Unit, events, 0)
		r.figure("throughput", phase, "1/s", events/(float64(toNS-fromNS)/1e9), 0)
	}
	if v, ok := f["transactions_per_s"]; ok { // over a slightly longer time than the total
		r.figure("transactions_per_s", phase, "1/s", v, 0)
	}
	for _, x := range []struct{ name, unit string }{{"errors", r.Unit}, {"reconnects", ""}, {"reads", "query"}, {"writes", "query"}, {"others", "query"}} {
		if v, ok := f[x.name]; ok {
			iv.set(x.name, v)
			r.figure(x.name, phase, x.unit, v, 0)
		}
	}
	if n := int64(events); len(hist) > 0 && total(hist) != n {
		r.warn("the histogram holds %d of %d events: it is left out", total(hist), n)
		hist = nil
	}
	if events == 0 {
		return iv
	}
	if len(hist) > 0 && hist[len(hist)-1].NS >= 100e9 {
		r.warn("events of 100 s or more stand as 100 s in the histogram")
	}
	mean, coarse := f["sum_ms"]/events/1e3, false
	if f["sum_ms"] > 0 {
		iv.set("latency_mean_s", mean)
		m := r.figure("latency_mean", phase, "s", mean, int64(events))
		m.Latencies = hist
	}
	for _, x := range []struct{ name, metric, column string }{
		{"min_ms", "latency_min", ""}, {"max_ms", "latency_max", "latency_max_s"},
		{"percentile_ms", "latency_p" + b.percent, sysbenchColumns[b.percent]},
	} {
		v, ok := f[x.name]
		if coarse = coarse || ok && v == 0; !ok || v == 0 {
			continue
		}
		r.figure(x.metric, phase, "s", v/1e3, int64(events))
		if x.column != "" {
			iv.set(x.column, v/1e3)
		}
	}
	if coarse {
		r.warn("a latency of 0.00 ms is below 5 us: it is left out")
	}
	if b.percent != "" {
		r.Facts["sysbench.latency_resolution"] = "1.8 %"
	}
	iv.Latencies = hist
	return iv
}

// tail returns the interval from the last line to the end, which the reports cover and
// no line does; nil if it is shorter than half a report interval, and than a second.
func (s *Sysbench) tail(r *Report, to float64) *Interval {
	toNS, _ := seconds(to)
	iv := &Interval{FromNS: s.lastS * 1e9, ToNS: toNS}
	if 2*(iv.ToNS-iv.FromNS) < min(max(s.every, 1), 2)*1e9 {
		return nil
	}
	if s.lost {
		iv.note("", "gap", "", "no line says what happened here, and not all lines say what they counted")
		return iv
	}
	rest := map[string]float64{}
	for _, b := range s.blocks {
		for column, v := range b.figures {
			if column == "events" {
				column = "operations"
			}
			rest[column] += v
		}
	}
	slack := 0.5 + 0.005*float64(s.lastS) // of rates rounded to hundredths, and of counts
	for _, column := range []string{"operations", "errors", "reads", "writes", "others", "reconnects"} {
		lines, ok := s.sum[column]
		all, ok2 := rest[column]
		switch d := all - lines; {
		case !ok || !ok2:
		case d < -slack:
			iv.note(column, "impossible", strconv.FormatFloat(d, 'f', 2, 64), "the interval lines add up to more than the report: what is left for the time behind them is unknown")
		default:
			iv.set(column, max(d, 0))
		}
	}
	return iv
}
