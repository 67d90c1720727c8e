package loaders

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// FiguresFormat is the value of "format" in a file of figures.
const FiguresFormat = "steady.figures/1"

// MaxFiguresBytes bounds the size of a file of figures.
const MaxFiguresBytes = 1 << 20

// Figures is a file of published or own figures, docs/CHECK.md.
type Figures struct {
	Title, Source string
	Systems       []string // at least one, in the file's order
	Baseline      string   // one of Systems, or ""
	Tests         []FigureTest
}

// FigureTest is one test and its points in the file's order.
type FigureTest struct {
	Name   string
	Points []FigurePoint
}

// FigurePoint is one value of the parameter, all systems side by side.
type FigurePoint struct {
	Label string // "10000 connections"
	// Values holds, by key and system, what the point says itself and what it
	// takes over from its test and from "setup". A key given once for all
	// systems stands under each.
	Values map[string]map[string]FigureValue
	// Differences are the stated differences, in the order of the file.
	Differences []FigureDifference
	// Other holds the same figures from a second source, by key and system.
	Other map[string]map[string]FigureValue
}

// FigureDifference is the stated difference of System from the baseline: Value is
// ratio - 1 ("+9 %" is 0.09).
type FigureDifference struct {
	Measure, System string
	Value           FigureValue
}

// FigureValue is one figure in SI base units: s, bytes, bits/s, shares 0 to 1.
type FigureValue struct {
	Number float64
	Half   float64 // half a unit of the last digit written; 0 for whole numbers without a unit prefix
	Text   string  // as written, one space before the unit
	Word   string  // of a key that takes a word
	Flag   bool    // of a key that takes yes or no
	List   []FigureValue
}

// FigureKey describes one key of a point, of a test or of "setup".
type FigureKey struct {
	Name string
	Kind string // "count", "rate", "time", ..., see figureKinds; "list of ..." takes a list
	Help string
}

// figureKind is a dimension: its units and what a value looks like.
type figureKind struct {
	units   map[string]float64
	example string
	bare    bool // may stand without a unit
	signed  bool
}

var figureByteUnits = map[string]float64{"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

func figurePerSecondUnits(units map[string]float64) map[string]float64 {
	m := map[string]float64{}
	for u, f := range units {
		m[u+"/s"] = f
	}
	return m
}

var figureKinds = map[string]figureKind{
	"count":      {units: map[string]float64{}, example: "10000", bare: true},
	"rate":       {units: map[string]float64{"1/s": 1, "/s": 1, "1/min": 1.0 / 60}, example: "72000 or 72000 1/s", bare: true},
	"time":       {units: map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}, example: "0.14 ms"},
	"bytes":      {units: figureByteUnits, example: "2.1 GB or 512 MiB"},
	"bytes rate": {units: figurePerSecondUnits(figureByteUnits), example: "80 MB/s"},
	"bits rate":  {units: map[string]float64{"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}, example: "9.4 Gbit/s"},
	"share":      {units: map[string]float64{"%": 0.01}, example: "45 %"},
	"difference": {units: map[string]float64{"%": 0.01}, example: "+9 %", signed: true},
	"change":     {units: figureByteUnits, example: "-200 MB", signed: true},
	"growth":     {units: figurePerSecondUnits(figureByteUnits), example: "800 B/s", signed: true},
	"flag":       {example: "yes or no"},
	"word":       {example: "wrk"},
	"text":       {example: "stable"},
}

// figureWords are the words a key allows; a key of kind "word" without an entry
// takes any.
var figureWords = map[string][]string{
	"loop":    {"closed", "open"},
	"service": {"http", "static-file"},
	"runtime": {"fork", "runc", "docker"},
}

var figureKeys = []FigureKey{
	{"tool", "word", "what measured: wrk, wrk2, ab, sysbench, iperf3, ... Its habits are known: loop, time-out"},
	{"loop", "word", "closed: each connection waits for its answer; open: operations are sent at a given rate"},
	{"service", "word", "http, or static-file for HTTP of a small file from memory"},
	{"workload", "word", "sysbench's script: oltp_read_write, ..."},
	{"connections", "count", "N, each with one operation at a time"},
	{"threads", "count", "the same, as sysbench calls it"},
	{"throughput", "rate", "operations per second"},
	{"untrimmed", "rate", "throughput over the whole run, where throughput is of a part"},
	{"think_time", "time", "Z, pause of a connection between answer and next request"},
	{"duration", "time", "T, length of what the figures cover"},
	{"total", "count", "operations in T"},
	{"query_rate", "rate", "queries per second"},
	{"latency_min", "time", "latency of an operation: least"},
	{"latency_mean", "time", "mean"},
	{"latency_max", "time", "greatest"},
	{"latency_sd", "time", "standard deviation"},
	{"latency_count", "count", "values in the tool's histogram"},
	{"latency_sum", "time", "sum"},
	{"timeout", "time", "after which the load generator gives up; wrk: 2 s unless given"},
	{"corrected", "flag", "latencies contain the wait before sending (wrk2)"},
	{"longest_stall", "time", "longest time without a completion"},
	{"stalled_time", "time", "all time without completions"},
	{"rtt", "time", "round trip of the network"},
	{"demand", "time", "D, service time of an operation over all resources"},
	{"bottleneck_demand", "time", "Dmax, of the busiest resource"},
	{"servers", "count", "m, servers (cores) of that resource"},
	{"cores", "count", "CPUs of the system under test"},
	{"cpu", "share", "busy share of all cores"},
	{"cpu_per_operation", "time", "stated CPU time of an operation"},
	{"capacity", "rate", "stated throughput at full load, extrapolated"},
	{"smt", "flag", "simultaneous multithreading is on"},
	{"cpu_states", "list of share", "shares of user, system, idle, ... of all cores together"},
	{"steal", "share", "stolen by the hypervisor"},
	{"load_cpu", "share", "busy share of the load generator"},
	{"bytes_per_operation", "bytes", "payload of an operation"},
	{"transfer_rate", "bytes rate", "as the tool printed it"},
	{"bit_rate", "bits rate", "goodput"},
	{"link", "bits rate", "line rate"},
	{"mtu", "bytes", "of the link"},
	{"timestamps", "flag", "TCP timestamps"},
	{"ipv6", "flag", "IPv6"},
	{"udp", "flag", "UDP instead of TCP"},
	{"vlan", "flag", "VLAN tag"},
	{"loopback", "flag", "the traffic does not cross the link"},
	{"both_directions", "flag", "rates are the sum of both directions"},
	{"packet_rate", "rate", "frames per second"},
	{"frame_bytes", "bytes", "size of a frame with header and check sum"},
	{"window", "bytes", "a connection may have in flight"},
	{"loss", "share", "of segments lost"},
	{"mss", "bytes", "payload of a segment"},
	{"congestion_control", "word", "reno, cubic, bbr, ..."},
	{"bytes_sent", "bytes", "of the transfer"},
	{"bytes_received", "bytes", "of the transfer"},
	{"stream_bytes", "list of bytes", "of each stream"},
	{"interval_bytes", "list of bytes", "of each interval, omitted ones left out"},
	{"retransmits", "count", "segments sent again"},
	{"containers", "count", "created in a batch"},
	{"processes_created", "count", "the same for processes"},
	{"batch_time", "time", "of the whole batch"},
	{"concurrency", "count", "created at the same time"},
	{"runtime", "word", "fork, runc or docker"},
	{"lifetime", "time", "of one container or process"},
	{"live", "count", "alive at once"},
	{"pid_max", "count", "limit of the kernel"},
	{"one_bridge", "flag", "every container has a port on the same bridge"},
	{"tuples", "count", "source address x destination address x port"},
	{"ports", "count", "ephemeral ports; 28232 unless given"},
	{"connect_rate", "rate", "new connections per second"},
	{"client_closes", "flag", "the client closes first"},
	{"open_files", "count", "limit of descriptors of a process"},
	{"processes", "count", "that share the connections"},
	{"commit_rate", "rate", "commits per second"},
	{"fsync_rate", "rate", "of the disk"},
	{"group_commit", "count", "commits one fsync makes durable"},
	{"commit_p50", "time", "median time of a commit"},
	{"fsync_latency", "time", "of the disk"},
	{"writes_per_operation", "count", "pages written"},
	{"page_bytes", "bytes", "size of a page, of the database or of memory"},
	{"disk_bandwidth", "bytes rate", "of the disk"},
	{"memory", "bytes", "used"},
	{"pss", "bytes", "proportional set size, of one"},
	{"rss", "bytes", "resident set size"},
	{"memory_total", "bytes", "of the machine"},
	{"memory_available", "bytes", "MemAvailable"},
	{"memory_growth", "growth", "per second"},
	{"memory_change", "change", "over T"},
	{"restarts", "count", "restarts and OOM kills in T"},
	{"runs", "count", "runs the figure is the mean of"},
	{"run_values", "list of rate", "throughput of each run"},
	{"integers", "flag", "each run's throughput is a whole number"},
	{"cv", "share", "standard deviation of the runs / mean"},
	{"ci_low", "rate", "confidence interval of the throughput: lower bound"},
	{"ci_high", "rate", "upper bound"},
	{"errors", "count", "failed operations in T"},
	{"timeouts", "count", "operations given up in T"},
	{"aborted", "count", "transactions rolled back in T"},
	{"per_second", "list of rate", "throughput of each second"},
	{"samples", "count", "number of samples"},
	{"missing", "share", "of the samples"},
	{"ratio", "count", "stated throughput ratio to the baseline"},
	{"inverse_ratio", "count", "stated ratio of the baseline to this system"},
	{"text", "text", "a finding in words; shown to readers of the file, not checked"},
}

var figurePercentileKey = regexp.MustCompile(`^latency_p([0-9]{1,2}(?:\.[0-9]{1,6})?)$`)

// FigureKeys returns all keys a point may have, but for latency_pQ; the slice is
// the caller's.
func FigureKeys() []FigureKey { return slices.Clone(figureKeys) }

// FigurePercentile returns the share of a key such as "latency_p99.9": 0.999.
func FigurePercentile(key string) (q float64, ok bool) {
	m := figurePercentileKey.FindStringSubmatch(key)
	if m == nil {
		return 0, false
	}
	p, err := strconv.ParseFloat(m[1], 64)
	return math.Round(p*1e6) / 1e8, err == nil && p > 0
}

// figureLabelKeys name a point, the first one it has itself.
var figureLabelKeys = []struct{ key, noun string }{
	{"connections", "connections"}, {"threads", "threads"},
	{"containers", "containers"}, {"processes_created", "processes"},
}

var figureNamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// ReadFigures reads a file of figures from data; name stands in the errors. It is
// strict: an error names file:line:column, what is wrong and what to write, one
// line each, at most ten, joined.
func ReadFigures(name string, data []byte) (f *Figures, err error) {
	if len(data) > MaxFiguresBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes; split the figures into several files", name, MaxFiguresBytes)
	}
	r := &figuresReader{name: name}
	// The YAML parser has panicked on hostile input before; a file must not end
	// the program.
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("%s: not YAML the parser understands; check indentation and quotes", name)
		}
	}()
	if line, depth := figureDeepest(data); depth > 32 {
		return nil, fmt.Errorf("%s:%d:1: nested %d deep; a file of figures needs no more than 8", name, line, depth)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
			return nil, fmt.Errorf("%s:%d:%d: not YAML: %s; check indentation and quotes", name, syntax.Token.Position.Line, syntax.Token.Position.Column, syntax.Message)
		}
		return nil, fmt.Errorf("%s: not YAML: %s", name, strings.SplitN(err.Error(), "\n", 2)[0])
	}
	var docs []ast.Node
	for _, d := range file.Docs {
		if d != nil && d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	switch {
	case len(docs) == 0:
		return nil, fmt.Errorf("%s:1:1: empty; begin with \"format: %s\"", name, FiguresFormat)
	case len(docs) > 1:
		r.fail(docs[1], "a second document; write one file for each")
		return nil, r.err()
	}
	f = r.file(docs[0])
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// figureDeepest returns the deepest nesting of flow brackets, quotes and comments not
// considered, or the widest indentation with its dashes if that is more, and its
// line: the parser recurses as deep.
func figureDeepest(data []byte) (line, depth int) {
	now, at, indent, leading := 0, 1, 0, true
	for _, c := range data {
		switch c {
		case '\n', '\r':
			if c == '\n' {
				at++
			}
			indent, leading = 0, true
			continue
		case '{', '[':
			now++
		case '}', ']':
			now = max(0, now-1)
		}
		if leading = leading && strings.IndexByte(" \t-?:", c) >= 0; leading {
			indent++
		}
		if d := max(now, indent/2); d > depth {
			line, depth = at, d
		}
	}
	return line, depth
}

type figuresReader struct {
	name string
	errs []error
	more int
}

func (r *figuresReader) err() error {
	if r.more > 0 {
		r.errs = append(r.errs, fmt.Errorf("%s: and %d more", r.name, r.more))
		r.more = 0
	}
	return errors.Join(r.errs...)
}

func (r *figuresReader) fail(n ast.Node, format string, args ...any) {
	if len(r.errs) >= 10 {
		r.more++
		return
	}
	line, column := 1, 1
	if n != nil {
		if t := figureFirstToken(n); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
	}
	r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: %s", r.name, line, column, fmt.Sprintf(format, args...)))
}

// figureFirstToken is where a node begins: of a block mapping that is its first key.
func figureFirstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return figureFirstToken(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

// odd complains about YAML's shorthands.
func (r *figuresReader) odd(n ast.Node) bool {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		r.fail(n, "anchors, aliases, tags and merges are not used in this format; write the value out")
		return true
	}
	return false
}

// figurePair is one key of a mapping.
type figurePair struct {
	key   string
	at    ast.Node
	value ast.Node
}

// pairs returns the keys of a mapping in order.
func (r *figuresReader) pairs(n ast.Node, what string) ([]figurePair, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		if r.odd(n) {
			return nil, false
		}
		r.fail(n, "%s must be keys with values, as in \"key: value\"", what)
		return nil, false
	}
	var out []figurePair
	seen := map[string]bool{}
	for _, v := range values {
		key, ok := figureScalar(v.Key)
		if !ok {
			r.fail(v.Key, "a key must be a plain word; anchors, aliases, tags and merges are not used in this format")
			return nil, false
		}
		if seen[key] {
			r.fail(v.Key, "%q stands twice; remove one", key)
			continue
		}
		seen[key] = true
		out = append(out, figurePair{key, v.Key, v.Value})
	}
	return out, true
}

// figureScalar returns the text of a plain or quoted scalar as written.
func figureScalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(n.GetToken().Value), true
	}
	return "", false
}

// sequence returns the entries of a list.
func (r *figuresReader) sequence(n ast.Node, what string) ([]ast.Node, bool) {
	s, ok := n.(*ast.SequenceNode)
	if !ok && r.odd(n) {
		return nil, false
	}
	if !ok {
		r.fail(n, "%s must be a list, as in \"[a, b]\" or lines that begin with \"- \"", what)
		return nil, false
	}
	return s.Values, true
}

// word reads a plain text.
func (r *figuresReader) word(n ast.Node, what string) string {
	s, ok := figureScalar(n)
	if s = strings.TrimSpace(s); !ok || s == "" {
		r.fail(n, "%s must be a text", what)
		return ""
	}
	return s
}

type figureKeyed map[string]map[string]FigureValue

func (r *figuresReader) file(n ast.Node) *Figures {
	f := &Figures{}
	top, ok := r.pairs(n, "the file")
	if !ok {
		return nil
	}
	var format, systems, baseline, setup, tests *figurePair
	for i := range top {
		p := &top[i]
		switch p.key {
		case "format":
			format = p
		case "title":
			f.Title = r.word(p.value, "title")
		case "source":
			f.Source = r.word(p.value, "source")
		case "systems":
			systems = p
		case "baseline":
			baseline = p
		case "setup":
			setup = p
		case "tests":
			tests = p
		default:
			r.unknown(p, []string{"format", "title", "source", "systems", "baseline", "setup", "tests"})
		}
	}
	if format == nil {
		r.fail(n, "\"format\" is missing; begin with \"format: %s\"", FiguresFormat)
	} else if s, _ := figureScalar(format.value); s != FiguresFormat {
		r.fail(format.value, "format %q is not known; this version reads %q", s, FiguresFormat)
		return nil
	}
	if systems == nil {
		r.fail(n, "\"systems\" is missing; list them, as in \"systems: [A, B]\"")
		return nil
	}
	list, ok := r.sequence(systems.value, "systems")
	if !ok {
		return nil
	}
	for _, e := range list {
		s := r.word(e, "a system")
		switch {
		case s == "":
		case !figureNamePattern.MatchString(s) || s == "null":
			r.fail(e, "system %q: a name is a letter and up to 63 letters, digits, '.', '_', '-'", s)
		case slices.Contains(f.Systems, s):
			r.fail(e, "system %q stands twice; remove one", s)
		default:
			f.Systems = append(f.Systems, s)
		}
	}
	if len(f.Systems) == 0 {
		r.fail(systems.value, "systems names none; list them, as in \"systems: [A, B]\"")
		return nil
	}
	if baseline != nil {
		f.Baseline = r.word(baseline.value, "baseline")
		if f.Baseline != "" && !slices.Contains(f.Systems, f.Baseline) {
			r.fail(baseline.value, "baseline %q is not one of the systems: %s", f.Baseline, strings.Join(f.Systems, ", "))
		}
	}
	common := figureKeyed{}
	if setup != nil {
		if ps, ok := r.pairs(setup.value, "setup"); ok {
			r.values(f, ps, common, nil)
		}
	}
	if tests == nil {
		r.fail(n, "\"tests\" is missing; list at least one with \"name\" and \"points\"")
		return nil
	}
	list, ok = r.sequence(tests.value, "tests")
	if !ok {
		return nil
	}
	if len(list) == 0 {
		r.fail(tests.value, "tests is empty; list at least one with \"name\" and \"points\"")
	}
	names := map[string]bool{}
	for _, e := range list {
		t, at := r.test(f, e, common)
		if t.Name != "" && names[t.Name] {
			r.fail(at, "test %q stands twice; give each its name", t.Name)
		}
		names[t.Name] = true
		f.Tests = append(f.Tests, t)
	}
	return f
}

func (r *figuresReader) test(f *Figures, n ast.Node, common figureKeyed) (t FigureTest, at ast.Node) {
	ps, ok := r.pairs(n, "a test")
	if !ok {
		return t, n
	}
	var points *figurePair
	var own []figurePair
	at = n
	for i := range ps {
		switch ps[i].key {
		case "name":
			at = ps[i].value
			t.Name = r.word(at, "name")
		case "points":
			points = &ps[i]
		default:
			own = append(own, ps[i])
		}
	}
	if t.Name == "" {
		r.fail(n, "a test needs a \"name\"")
	}
	inherited := figureClone(common)
	r.values(f, own, inherited, nil)
	if points == nil {
		r.fail(n, "a test needs \"points\"")
		return t, at
	}
	list, ok := r.sequence(points.value, "points")
	if !ok {
		return t, at
	}
	if len(list) == 0 {
		r.fail(points.value, "points is empty; list at least one")
	}
	for _, e := range list {
		t.Points = append(t.Points, r.point(f, e, inherited))
	}
	return t, at
}

func figureClone(k figureKeyed) figureKeyed {
	out := figureKeyed{}
	for key, m := range k {
		out[key] = m
	}
	return out
}

func (r *figuresReader) point(f *Figures, n ast.Node, inherited figureKeyed) FigurePoint {
	p := FigurePoint{Values: figureClone(inherited)}
	ps, ok := r.pairs(n, "a point")
	if !ok {
		return p
	}
	var own []figurePair
	for i := range ps {
		if ps[i].key == "label" {
			p.Label = r.word(ps[i].value, "label")
			continue
		}
		own = append(own, ps[i])
	}
	r.values(f, own, p.Values, &p)
	for _, l := range figureLabelKeys {
		if p.Label != "" {
			break
		}
		for _, o := range own {
			if o.key == l.key {
				if s, ok := figureScalar(o.value); ok {
					p.Label = s + " " + l.noun
				}
			}
		}
	}
	return p
}

// unknown complains about a key.
func (r *figuresReader) unknown(p *figurePair, known []string) {
	if best := figureNearest(p.key, known); best != "" {
		r.fail(p.at, "key %q is not known; did you mean %q?", p.key, best)
		return
	}
	if len(known) > 12 {
		r.fail(p.at, "key %q is not known here; docs/CHECK.md lists the keys", p.key)
		return
	}
	r.fail(p.at, "key %q is not known here; allowed: %s", p.key, strings.Join(known, ", "))
}

// figureNearest returns the known key at an edit distance of at most 2, or "".
func figureNearest(key string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := figureDistance(key, k); d < least && d < len(k)-1 {
			best, least = k, d
		}
	}
	return best
}

// figureDistance is Levenshtein's.
func figureDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// figureKindOf returns the kind of a key; list says that it takes a list.
func figureKindOf(key string) (kind string, list, ok bool) {
	if _, ok := FigurePercentile(key); ok {
		return "time", false, true
	}
	for _, k := range figureKeys {
		if k.Name == key {
			kind, list := strings.CutPrefix(k.Kind, "list of ")
			return kind, list, true
		}
	}
	return "", false, false
}

// values reads the keys of a point (p not nil), a test or the set-up into k.
func (r *figuresReader) values(f *Figures, ps []figurePair, k figureKeyed, p *FigurePoint) {
	for i := range ps {
		o := &ps[i]
		switch {
		case p != nil && o.key == "difference":
			r.differences(f, o, p)
			continue
		case p != nil && o.key == "other_source":
			p.Other = figureKeyed{}
			if inner, ok := r.pairs(o.value, "other_source"); ok {
				r.values(f, inner, p.Other, nil)
			}
			continue
		}
		kind, list, ok := figureKindOf(o.key)
		if !ok {
			known := []string{"label", "difference", "other_source"}
			if p == nil {
				known = []string{"name", "points"}
			}
			for _, x := range figureKeys {
				known = append(known, x.Name)
			}
			r.unknown(o, append(known, "latency_p50", "latency_p90", "latency_p95", "latency_p99", "latency_p99.9"))
			continue
		}
		if m := r.perSystem(f, o, kind, list); m != nil {
			k[o.key] = m
		}
	}
}

// perSystem reads one value for all systems, or a value for some.
func (r *figuresReader) perSystem(f *Figures, o *figurePair, kind string, list bool) map[string]FigureValue {
	out := map[string]FigureValue{}
	switch o.value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		ps, ok := r.pairs(o.value, o.key)
		if !ok {
			return nil
		}
		for i := range ps {
			if !slices.Contains(f.Systems, ps[i].key) {
				r.fail(ps[i].at, "%s: %q is not one of the systems: %s", o.key, ps[i].key, strings.Join(f.Systems, ", "))
				continue
			}
			if v, ok := r.value(o.key, ps[i].value, kind, list); ok {
				out[ps[i].key] = v
			}
		}
	default:
		v, ok := r.value(o.key, o.value, kind, list)
		if !ok {
			return nil
		}
		for _, s := range f.Systems {
			out[s] = v
		}
	}
	return out
}

// differences reads "difference: +9 %", of the throughput, or by measure.
func (r *figuresReader) differences(f *Figures, o *figurePair, p *FigurePoint) {
	if f.Baseline == "" {
		r.fail(o.at, "a difference needs a base; name it at the top, as in \"baseline: %s\"", f.Systems[len(f.Systems)-1])
		return
	}
	read := func(measure string, at *figurePair) {
		var others []string
		for _, s := range f.Systems {
			if s != f.Baseline {
				others = append(others, s)
			}
		}
		if _, plain := figureScalar(at.value); plain && len(others) != 1 {
			r.fail(at.value, "difference of %s: say of which system, as in {%s: +9 %%}", measure, f.Systems[0])
			return
		}
		for _, s := range others {
			if m := r.perSystem(f, &figurePair{"difference", at.at, at.value}, "difference", false); m != nil {
				if v, ok := m[s]; ok {
					p.Differences = append(p.Differences, FigureDifference{measure, s, v})
				}
			}
		}
	}
	if _, plain := figureScalar(o.value); plain {
		read("throughput", o)
		return
	}
	ps, ok := r.pairs(o.value, "difference")
	if !ok {
		return
	}
	for i := range ps {
		if _, list, ok := figureKindOf(ps[i].key); !ok || list {
			r.fail(ps[i].at, "difference: %q is not a figure; write \"difference: {throughput: +9 %%}\"", ps[i].key)
			continue
		}
		read(ps[i].key, &ps[i])
	}
}

// value reads one figure, or a list.
func (r *figuresReader) value(key string, n ast.Node, kind string, list bool) (FigureValue, bool) {
	if !list {
		return r.figure(key, n, kind)
	}
	entries, ok := r.sequence(n, key)
	if !ok {
		return FigureValue{}, false
	}
	out := FigureValue{List: []FigureValue{}}
	for _, e := range entries {
		v, ok := r.figure(key, e, kind)
		if !ok {
			return FigureValue{}, false
		}
		out.List = append(out.List, v)
	}
	return out, true
}

var figurePattern = regexp.MustCompile(`^([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?\s*(.*)$`)

// figure reads one value of a kind.
func (r *figuresReader) figure(key string, n ast.Node, kind string) (FigureValue, bool) {
	s, ok := figureScalar(n)
	if !ok && r.odd(n) {
		return FigureValue{}, false
	}
	s = strings.TrimSpace(s)
	if !ok || s == "" {
		r.fail(n, "%s: write a value, as in %s; leave the key out where it is not known", key, figureKinds[kind].example)
		return FigureValue{}, false
	}
	switch kind {
	case "word", "text":
		if words := figureWords[key]; words != nil && !slices.Contains(words, s) {
			r.fail(n, "%s: %q is not known; write one of %s", key, s, strings.Join(words, ", "))
			return FigureValue{}, false
		}
		return FigureValue{Word: s, Text: s}, true
	case "flag":
		switch s {
		case "yes", "true", "on":
			return FigureValue{Flag: true, Text: s}, true
		case "no", "false", "off":
			return FigureValue{Text: s}, true
		}
		r.fail(n, "%s: %q; write yes or no", key, s)
		return FigureValue{}, false
	}
	k := figureKinds[kind]
	m := figurePattern.FindStringSubmatch(s)
	if m == nil {
		r.fail(n, "%s: %q is not a number; write digits and a decimal point, as in %s", key, s, k.example)
		return FigureValue{}, false
	}
	sign, whole, decimals, exponent, unit := m[1], m[2], m[3], m[4], m[5]
	factor := 1.0
	switch {
	case unit == "" && !k.bare:
		r.fail(n, "%s: %q has no unit; write one, as in %s", key, s, k.example)
		return FigureValue{}, false
	case unit != "":
		if factor, ok = k.units[unit]; !ok {
			switch {
			case strings.HasPrefix(unit, ",") || strings.HasPrefix(unit, "_") || strings.HasPrefix(unit, "'"):
				r.fail(n, "%s: %q: write numbers without separators and with a decimal point, as in %s", key, s, k.example)
			case len(k.units) == 0:
				r.fail(n, "%s: unit %q is not used here; write a plain number, as in %s", key, unit, k.example)
			default:
				r.fail(n, "%s: unit %q is not known here; allowed: %s", key, unit, strings.Join(figureUnitNames(k.units), ", "))
			}
			return FigureValue{}, false
		}
	}
	if sign == "-" && !k.signed {
		r.fail(n, "%s: %q is negative; this figure cannot be", key, s)
		return FigureValue{}, false
	}
	digits := whole
	if decimals != "" {
		digits += "." + decimals
	}
	power := 0
	if exponent != "" {
		power, _ = strconv.Atoi(exponent)
	}
	half := 0.5 * math.Pow(10, float64(power-len(decimals))) * factor
	if p := math.Round(math.Log10(factor)); math.Abs(factor/math.Pow(10, p)-1) < 1e-12 {
		power, factor = power+int(p), 1 // 0.14 ms is the float64 next to 0.00014
	}
	number, err := strconv.ParseFloat(sign+digits+"e"+strconv.Itoa(power), 64)
	number *= factor
	if err != nil || math.IsInf(number, 0) || math.IsInf(half, 0) {
		r.fail(n, "%s: %q is too large", key, s)
		return FigureValue{}, false
	}
	if unit == "" && decimals == "" && exponent == "" && kind == "count" {
		half = 0 // counts are exact
	}
	text := strings.TrimSuffix(s, unit)
	if text = strings.TrimSpace(text); unit != "" {
		text += " " + unit
	}
	return FigureValue{Number: number, Half: half, Text: text}, true
}

// figureUnitNames lists units from small to large.
func figureUnitNames(units map[string]float64) []string {
	var names []string
	for u := range units {
		if u != "μs" { // the other micro sign looks the same
			names = append(names, u)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case units[a] < units[b]:
			return -1
		case units[a] > units[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}
