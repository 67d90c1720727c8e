package analyze

import (
	"math"
	"strings"
)

// FindingSeverity says how much a [Finding] weighs.
type FindingSeverity string

const (
	// FindingImpossible: a law is broken; at least one of the figures in the
	// sentence is wrong, whatever the machine.
	FindingImpossible FindingSeverity = "impossible"
	// FindingError: the figures contradict each other; one of them is wrong
	// unless something is true that they do not tell.
	FindingError FindingSeverity = "error"
	// FindingWarning: unlikely, or true only under a condition not stated.
	FindingWarning FindingSeverity = "warning"
	// FindingNote: to know when reading the figures.
	FindingNote FindingSeverity = "note"
)

// Finding is what one rule says about one subject.
type Finding struct {
	Rule     int             `json:"rule"` // 1 to 20, see [PlausibleRules]
	Name     string          `json:"name"` // of the rule: "Little's law"
	Severity FindingSeverity `json:"severity"`
	// Holds: the rule was applied and is fulfilled; the sentence shows the
	// arithmetic. Only then is Severity "note" without any reserve.
	Holds   bool   `json:"holds"`
	Subject string `json:"subject"` // test, parameter, system, run
	Text    string `json:"text"`    // one sentence with its arithmetic
	// Values holds the numbers of the arithmetic in SI base units, keyed by name
	// with the unit (mean_s, bit_rate_bit_per_s, cores). All are finite.
	Values map[string]float64 `json:"values"`
}

// PlausibleNumber is one figure as a rule takes it: finite, at most 1e50 and, except
// where a field says otherwise, not negative. A rule treats any other value as
// absent.
type PlausibleNumber struct {
	Value float64 // in the unit of the field
	// Half is half a unit of the last digit given, in the unit of the field: a
	// published 0.14 ms is anything from 0.135 to 0.145. 0 for exact figures.
	Half float64
	Text string // as published ("0.14 ms"); empty: rendered from Value
}

// PlausibleExact returns v as a figure without rounding.
func PlausibleExact(v float64) *PlausibleNumber { return &PlausibleNumber{Value: v} }

// PlausiblePercentile is the latency (s) that the share Q of the operations does
// not exceed, 0 < Q < 1.
type PlausiblePercentile struct {
	Q float64
	PlausibleNumber
}

// PlausibleSource is one quantity as two sources give it, in the same unit.
type PlausibleSource struct {
	Measure       string
	First, Second PlausibleNumber
}

// PlausiblePoint is one measurement point: one system (or one run of it) at one
// parameter of one test. Every field may be absent (nil, "", empty); a rule that
// lacks an input does not speak.
//
// Units: times s, sizes bytes, shares 0 to 1, rates 1/s; bytes/s and bits/s where
// named.
type PlausiblePoint struct {
	Test, Label, System, Run string // what the finding's subject is made of

	// How it was measured.
	Tool     string // "wrk", "wrk2", "sysbench", "iperf3", ...: its known habits apply
	Loop     string // "closed", "open"; "" as the tool's habit, else unknown
	Service  string // "http", "static-file" (HTTP too)
	Workload string // sysbench's script: "oltp_read_write", ...

	// Load and rate.
	Throughput  *PlausibleNumber // operations per s
	Untrimmed   *PlausibleNumber // the same over the whole run
	Connections *PlausibleNumber // N: connections or threads, each with one operation at a time
	ThinkTime   *PlausibleNumber // Z, s
	Seconds     *PlausibleNumber // T: length of what the figures cover
	Total       *PlausibleNumber // operations in T
	QueryRate   *PlausibleNumber // queries per s

	// Latency of an operation.
	LatencyMin, LatencyMean, LatencyMax, LatencySD *PlausibleNumber
	LatencyCount                                   *PlausibleNumber // values in the histogram
	LatencySum                                     *PlausibleNumber
	Percentiles                                    []PlausiblePercentile
	Timeout                                        *PlausibleNumber // of the load generator
	Corrected                                      *bool            // latencies contain the wait before sending
	LongestStall, StalledTime                      *PlausibleNumber
	RTT                                            *PlausibleNumber

	// Service demand and CPU.
	Demand           *PlausibleNumber // D: service time of an operation over all resources
	BottleneckDemand *PlausibleNumber // of the busiest resource, before division by Servers
	Servers          *PlausibleNumber // servers (cores) of that resource
	Cores            *PlausibleNumber
	CPU              *PlausibleNumber // busy share of all cores
	CPUPerOperation  *PlausibleNumber // stated CPU time of an operation
	Capacity         *PlausibleNumber // stated throughput at full load, extrapolated
	SMT              *bool
	CPUStates        []PlausibleNumber // shares of all states, of all cores together
	Steal, LoadCPU   *PlausibleNumber  // stolen share; busy share of the load generator

	// Bytes, link, packets.
	BytesPerOperation *PlausibleNumber
	TransferRate      *PlausibleNumber // bytes/s
	BitRate           *PlausibleNumber // goodput, bits/s
	LinkRate          *PlausibleNumber // line rate, bits/s
	MTU               *PlausibleNumber
	Timestamps, IPv6  *bool
	UDP, VLAN         *bool
	Loopback          *bool            // the traffic does not cross the link
	BothDirections    *bool            // rates are the sum of both directions
	PacketRate        *PlausibleNumber // frames per s
	FrameBytes        *PlausibleNumber // with header and check sum
	Window            *PlausibleNumber // bytes a connection may have in flight
	Loss              *PlausibleNumber // share of segments
	MSS               *PlausibleNumber
	CongestionControl string
	BytesSent         *PlausibleNumber
	BytesReceived     *PlausibleNumber
	StreamBytes       []PlausibleNumber // of each stream; their sum is BytesSent
	IntervalBytes     []PlausibleNumber // of each interval, omitted ones left out; their sum is BytesSent
	Retransmits       *PlausibleNumber  // segments

	// Creation of containers or processes.
	BatchCount  *PlausibleNumber
	BatchTime   *PlausibleNumber
	Concurrency *PlausibleNumber // created at the same time
	Runtime     string           // "fork", "runc", "docker"
	Lifetime    *PlausibleNumber // of one
	Live        *PlausibleNumber // alive at once
	PIDMax      *PlausibleNumber
	OneBridge   *bool // every one has a port on the same bridge

	// Connections.
	Tuples       *PlausibleNumber // source address x destination address x port
	Ports        *PlausibleNumber // ephemeral ports
	ConnectRate  *PlausibleNumber // new connections per s
	ClientCloses *bool
	OpenFiles    *PlausibleNumber // limit of descriptors of a process
	Processes    *PlausibleNumber // that share the connections

	// Durability.
	CommitRate         *PlausibleNumber
	FsyncRate          *PlausibleNumber
	GroupCommit        *PlausibleNumber // commits one fsync makes durable
	CommitP50          *PlausibleNumber
	FsyncLatency       *PlausibleNumber
	WritesPerOperation *PlausibleNumber // pages
	PageBytes          *PlausibleNumber // of the memory (rule 14) or the database (rule 13)
	DiskBandwidth      *PlausibleNumber // bytes/s

	// Memory.
	Memory, PSS, RSS             *PlausibleNumber
	MemoryTotal, MemoryAvailable *PlausibleNumber
	MemoryGrowth                 *PlausibleNumber // bytes/s, may be negative
	MemoryChange                 *PlausibleNumber // over T, may be negative
	Restarts                     *PlausibleNumber // restarts and OOM kills during T

	// Runs.
	Runs             *PlausibleNumber
	RunValues        []PlausibleNumber // throughput of each run; rates and others may be negative
	Integers         *bool             // every run's value is a whole number
	CV               *PlausibleNumber  // stated spread over runs
	CILow, CIHigh    *PlausibleNumber  // stated interval of the throughput
	WithinVariance   *PlausibleNumber  // of one run's value, from the noise within it (unit of RunValues squared)
	WithinDF         *PlausibleNumber  // its degrees of freedom
	Errors, Timeouts *PlausibleNumber  // failed operations in T
	Aborted          *PlausibleNumber

	// Series of one value a second. PerSecond is the throughput.
	PerSecond []float64
	Samples   *PlausibleNumber // number of samples said to be there
	Missing   *PlausibleNumber // share of samples said to be missing

	Other []PlausibleSource // the same figures from other sources
}

// PlausibleDifference is a stated difference of two systems.
type PlausibleDifference struct {
	Measure, Label, System, Base string // Base "": not stated
	Value, BaseValue             *PlausibleNumber
	Stated                       *PlausibleNumber // ratio - 1: +9 % is 0.09; may be negative
	Ratio, Inverse               *PlausibleNumber // Value/BaseValue and BaseValue/Value, where stated
}

// PlausibleTest is one test: its points in order of the parameter, systems side
// by side.
type PlausibleTest struct {
	Name        string
	Points      []PlausiblePoint
	Differences []PlausibleDifference
}

// PlausibleFigures are the figures of one publication or report.
type PlausibleFigures struct {
	Systems  []string
	Baseline string
	Tests    []PlausibleTest
}

// Plausibility applies all rules to f. The order is that of f: for each test its
// points in order, for each point the rules from 1 to 20, then the rules that
// compare points; at the end what is said of the whole. Findings with Holds set
// show where a rule was applied and is fulfilled.
func Plausibility(f PlausibleFigures) []Finding {
	var out []Finding
	for _, t := range f.Tests {
		for _, p := range t.Points {
			if p.Test == "" {
				p.Test = t.Name
			}
			out = append(out, plausiblePoint(p)...)
		}
		out = append(out, PlausibleBatches(t, f.Baseline)...)
		out = append(out, PlausibleDifferences(t)...)
		out = append(out, PlausibleSaturation(t)...)
	}
	return append(out, PlausibleUncertainty(f)...)
}

// PlausibilityOfRuns applies the rules to measured runs: one point a run, Run
// set, Test the scenario's workload and Label its parameter. The runs of one
// (Test, Label, System) are taken together for the rules on spread. Findings
// with Holds set are left out. The order is that of first appearance.
func PlausibilityOfRuns(runs []PlausiblePoint) []Finding {
	type key struct{ test, label, system string }
	var out []Finding
	var order []key
	groups := map[key][]PlausiblePoint{}
	for _, p := range runs {
		k := key{p.Test, p.Label, p.System}
		if _, seen := groups[k]; !seen {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
		out = append(out, plausiblePoint(p)...)
	}
	var tests []PlausibleTest
	at := map[string]int{}
	for _, k := range order {
		mean := plausibleMeanOfRuns(groups[k])
		out = append(out, PlausibleSpread(mean)...)
		if _, seen := at[k.test]; !seen {
			at[k.test] = len(tests)
			tests = append(tests, PlausibleTest{Name: k.test})
		}
		t := &tests[at[k.test]]
		t.Points = append(t.Points, mean)
	}
	for _, t := range tests {
		out = append(out, PlausibleSaturation(t)...)
	}
	kept := out[:0]
	for _, f := range out {
		if !f.Holds {
			kept = append(kept, f)
		}
	}
	return kept
}

// plausibleMeanOfRuns is the point of a system: its runs' mean throughput and
// latency, their values, and the first run's set-up.
func plausibleMeanOfRuns(runs []PlausiblePoint) PlausiblePoint {
	p := runs[0]
	p.Run, p.PerSecond, p.Percentiles = "", nil, nil
	p.RunValues = nil
	mean := func(get func(PlausiblePoint) *PlausibleNumber) *PlausibleNumber {
		sum := 0.0
		for _, r := range runs {
			s, ok := plausSpanOf(get(r))
			if !ok {
				return nil
			}
			sum += s.v / float64(len(runs))
		}
		return PlausibleExact(sum)
	}
	for _, r := range runs {
		if s, ok := plausSpanOf(r.Throughput); ok {
			p.RunValues = append(p.RunValues, PlausibleNumber{Value: s.v})
		}
	}
	p.Throughput = mean(func(r PlausiblePoint) *PlausibleNumber { return r.Throughput })
	p.BitRate = mean(func(r PlausiblePoint) *PlausibleNumber { return r.BitRate })
	p.LatencyMean = mean(func(r PlausiblePoint) *PlausibleNumber { return r.LatencyMean })
	return p
}

// plausiblePoint applies the rules on one point, in order.
func plausiblePoint(p PlausiblePoint) []Finding {
	var out []Finding
	for _, rule := range []func(PlausiblePoint) []Finding{
		PlausibleLittle, PlausibleSysbench, PlausibleBounds, PlausibleCPU,
		PlausibleCPUStates, PlausibleBytes, PlausiblePackets, PlausibleLatency,
		PlausibleOmission, PlausibleRates, PlausibleCreation,
		PlausibleConnections, PlausibleDurability, PlausibleMemory,
		PlausibleSpread, PlausibleAverage, PlausibleSeries, PlausibleErrors,
		PlausibleUnits,
	} {
		out = append(out, rule(p)...)
	}
	return out
}

// plausSpan is a figure with the bounds its rounding leaves.
type plausSpan struct {
	v, lo, hi float64
	text      string
}

// plausSpanOf returns n with its bounds; ok is false when n is absent, not finite or
// negative.
func plausSpanOf(n *PlausibleNumber) (s plausSpan, ok bool) {
	s, ok = plausSignedSpanOf(n)
	if !ok || s.v < 0 {
		return plausSpan{}, false
	}
	s.lo = max(0, s.lo)
	return s, true
}

// plausSignedSpanOf is plausSpanOf for figures that may be negative.
func plausSignedSpanOf(n *PlausibleNumber) (plausSpan, bool) {
	if n == nil || !plausUsable(n.Value) {
		return plausSpan{}, false
	}
	h := n.Half
	if !plausUsable(h) || h < 0 {
		h = 0
	}
	return plausSpan{n.Value, n.Value - h, n.Value + h, n.Text}, true
}

// plausPositive is plausSpanOf for figures a rule divides by.
func plausPositive(n *PlausibleNumber) (plausSpan, bool) {
	s, ok := plausSpanOf(n)
	return s, ok && s.lo >= 1/plausLargest
}

// plausSpans returns the figures of a list; ok is false when it is empty or holds one
// that is not usable.
func plausSpans(list []PlausibleNumber) (out []plausSpan, ok bool) {
	for i := range list {
		s, ok := plausSpanOf(&list[i])
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, len(out) > 0
}

// plausLargest bounds what can have been measured, in any unit: with it the
// arithmetic of the rules stays within float64.
const plausLargest = 1e50

// plausUsable says whether x can have been measured: a number, not too large.
func plausUsable(x float64) bool { return math.Abs(x) <= plausLargest }

func plausFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func plausIsTrue(b *bool) bool  { return b != nil && *b }
func plausIsFalse(b *bool) bool { return b != nil && !*b }

// plausSubject joins what is known of "test, label, system, run".
func plausSubject(parts ...string) string {
	var known []string
	for _, s := range parts {
		if s != "" {
			known = append(known, s)
		}
	}
	return strings.Join(known, ", ")
}

func (p PlausiblePoint) subject() string {
	run := p.Run
	if run != "" {
		run = "run " + run
	}
	return plausSubject(p.Test, p.Label, p.System, run)
}

// say makes one finding of the point.
func (p PlausiblePoint) say(rule int, severity FindingSeverity, values map[string]float64, text string) []Finding {
	return plausSayOf(p.subject(), rule, severity, values, text)
}

// holds makes one finding that shows a rule fulfilled.
func (p PlausiblePoint) holds(rule int, values map[string]float64, text string) []Finding {
	f := p.say(rule, FindingNote, values, text)
	for i := range f {
		f[i].Holds = true
	}
	return f
}

// plausSayOf makes one finding, or none when a number of its arithmetic left the range
// of float64: such a sentence would prove nothing.
func plausSayOf(subject string, rule int, severity FindingSeverity, values map[string]float64, text string) []Finding {
	for _, v := range values {
		if !plausFinite(v) {
			return nil
		}
	}
	return []Finding{{Rule: rule, Name: plausibleRules[rule-1].Name, Severity: severity, Subject: subject, Text: text, Values: values}}
}
