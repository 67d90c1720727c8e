// Package schemas says what steady measures and how it travels: the tables and
// their columns, the wire codec, the control messages, the run manifest and the
// results document. It does no I/O and keeps no state.
package schemas

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind tells how a column's numbers behave, and with that how its increments and
// its metric are formed.
type Kind uint8

const (
	// Counter counts since boot (or since the producer's start, in a table that is
	// PerEpoch). The file holds its increments; its metric is a rate, name_per_s.
	Counter Kind = iota
	// Share is a counter whose metric is its part of the row's whole, in percent:
	// user_ticks becomes user_pct, by sysstat's rules.
	Share
	// Busy is a counter of nanoseconds whose metric is its part of the interval, in
	// percent: io_ns becomes io_pct.
	Busy
	// Gauge is a level at the moment of the reading. The file holds it as read.
	Gauge
	// Amount belongs to the row's own interval: what happened in it. It is neither
	// differenced on the way in nor cumulative.
	Amount
	// Text is a label; it forms no metric.
	Text
	// Histogram is an HdrHistogram of the row's interval, in nanoseconds, in the
	// compressed V2 encoding.
	Histogram
	// Blob is bytes that nobody interprets.
	Blob
)

var kindNames = [...]string{"counter", "share", "busy", "gauge", "amount", "text", "histogram", "blob"}

func (k Kind) String() string { return kindNames[k] }

// Cumulative reports whether the wire carries a running total, of which the run
// folder holds increments.
func (k Kind) Cumulative() bool { return k == Counter || k == Share || k == Busy }

// Direction tells which way a metric is better.
type Direction string

const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
	None   Direction = "none"
)

// Physical is a column's one physical type in Parquet and Arrow, for ever.
type Physical uint8

const (
	Int64 Physical = iota
	Float64
	String
	Bytes
)

// Column is one column of a table, said once: the wire, Parquet, the documents,
// the loaders' metrics and the report's directions all come from it.
type Column struct {
	Name string
	Unit string // SI base unit, "" for a plain number
	Kind Kind
	// Better is the direction of the column's metric; empty means None.
	Better Direction
	// Source is the kernel's name of the field, for readers that look fields up by
	// name (meminfo, vmstat).
	Source string
	// Mul brings a source number to Unit (1024 for kB); 0 means 1.
	Mul int64
	// Div divides the wire's integer to give the file's float64 (100 for a load
	// average with two decimals); 0 leaves the integer.
	Div float64
	// Within names the column that already contains this one (guest time is inside
	// user time), so that it is no part of the whole.
	Within string
	// Retreats marks a counter known to go back by kernel artefact: "signed" keeps
	// the negative increment and counts it as 0 in the whole (iowait, idle);
	// "null" makes the increment null and leaves it out of the whole (steal).
	Retreats string
	// Enabled and Running name the counters of nanoseconds in which this one was to
	// count and in which it did: it takes turns on its hardware with others. Metrics
	// scale its increment by their quotient; it is unknown where it never had a turn. The
	// two form no metric of their own.
	Enabled, Running string
	// Float marks a float64 column of a typed table.
	Float bool
	Sar   string // sar's or perf's name, "" where they have none
	Help  string
}

// Physical returns the column's type in files.
func (c *Column) Physical() Physical {
	switch {
	case c.Kind == Text:
		return String
	case c.Kind == Histogram, c.Kind == Blob:
		return Bytes
	case c.Float || c.Div != 0:
		return Float64
	}
	return Int64
}

// Metric is what a table's columns say about a system: the sum of its Plus columns
// less its Minus columns, over the sum of its Per columns.
type Metric struct {
	Name        string
	Unit        string
	Better      Direction
	Plus, Minus []string
	// Per is the denominator: columns, or nil for the interval (seconds).
	Per []string
	// Factor multiplies the quotient (100 for percent); 0 means 1.
	Factor float64
	// Quantile, in (0, 1), asks for a quantile of the merged histogram in Plus[0].
	Quantile float64
	Sar      string
	Help     string
}

// All is the device of a row that stands for all devices of its table: foreign tools
// print such totals, sources never do. Where there is one it is the total.
const All = "all"

// Table is a kind of rows. Every file of it carries all of its columns.
type Table struct {
	Name    string
	Version int
	// Device is what its device column names ("cpu", "disk", ...); empty when the
	// table has one row a tick.
	Device string
	// PerEpoch says that counters start with the producer, not with the boot.
	PerEpoch bool
	// Sparse says that a column is meant for some of the devices only: that the others
	// have none is no news.
	Sparse bool
	// Wraps says that the kernel counts the table's counters, or the parts that they add
	// up, in 32 bits: one that seems to go back may have gone round.
	Wraps bool
	// Steps says that a device may bring its counters up to date less than once a tick.
	Steps bool
	// Typed tables travel as records with their own intervals, not as counters.
	Typed bool
	// Files says that the rows are pieces of files, which the run folder has as such.
	Files bool
	// NoTotal are prefixes of devices that a total over devices leaves out, since
	// they are counted elsewhere too.
	NoTotal []string
	// Alike says that devices are interchangeable: their total is compared, not each.
	Alike bool
	// Class groups metrics whose run-to-run spread is alike.
	Class   string
	Columns []Column
	Derived []Metric
	Help    string
}

// Column returns the named column's index, or -1.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Metrics returns all that the table's columns give: one metric a column that
// forms one, then the derived ones.
func (t *Table) Metrics() []Metric {
	var out []Metric
	for i := range t.Columns {
		if m, ok := t.metric(&t.Columns[i]); ok {
			out = append(out, m)
		}
	}
	return append(out, t.Derived...)
}

// Metric returns the named metric of the table.
func (t *Table) Metric(name string) (Metric, bool) {
	for _, m := range t.Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// Stored returns the metrics that the table's files can also hold as they are, in a
// float64 column of the metric's name: those that sar, perf or another tool prints. A
// row has either its increments or, where it was imported from such a tool, these.
func (t *Table) Stored() []Metric {
	if t.Typed {
		return nil
	}
	if s, ok := stored.Load(t); ok {
		return s.([]Metric)
	}
	var out []Metric
	for _, m := range t.Metrics() {
		if m.Sar != "" && t.Column(m.Name) < 0 {
			out = append(out, m)
		}
	}
	stored.Store(t, out)
	return out
}

// stored remembers what Stored found, by table: none changes once it is in use.
var stored sync.Map

// Of returns the metric that column j forms by itself.
func (t *Table) Of(j int) (Metric, bool) { return t.metric(&t.Columns[j]) }

// Whole returns the columns whose sum is a row's whole.
func (t *Table) Whole() []string {
	var out []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Kind == Share && c.Within == "" {
			out = append(out, c.Name)
		}
	}
	return out
}

func (t *Table) metric(c *Column) (Metric, bool) {
	m := Metric{Name: c.Name, Unit: c.Unit, Better: c.Better, Plus: []string{c.Name}, Sar: c.Sar, Help: c.Help}
	if m.Better == "" {
		m.Better = None
	}
	switch c.Kind {
	case Counter:
		if slices.ContainsFunc(t.Columns, func(x Column) bool { return c.Name == x.Enabled || c.Name == x.Running }) {
			return m, false
		}
		m.Name = c.Name + "_per_s"
		m.Unit = c.Unit + "/s"
		if c.Unit == "" {
			m.Unit = "1/s"
		}
	case Share:
		m.Name = strings.TrimSuffix(c.Name, "_ticks") + "_pct"
		m.Unit, m.Per, m.Factor = "%", t.Whole(), 100
	case Busy:
		m.Name = strings.TrimSuffix(c.Name, "_ns") + "_pct"
		m.Unit, m.Factor = "%", 100e-9
	case Gauge:
		if t.Typed {
			return m, false // a typed table says its metrics itself
		}
	default:
		return m, false
	}
	return m, true
}

// Common are the columns that every file begins with; "device" only where the
// table has one.
var Common = []Column{
	{Name: "time", Unit: "us", Help: "wall clock at the reading, UTC, microseconds; null where unknown"},
	{Name: "elapsed_ns", Unit: "ns", Help: "boot time clock (CLOCK_BOOTTIME) since the start of the run on this host"},
	{Name: "boot", Help: "0 for the boot in which the host entered the run, then 1, ..."},
	{Name: "interval_ns", Unit: "ns", Help: "length of the interval that ends here; null for the first reading"},
	{Name: "epoch", Help: "random id of the producer's start"},
	{Name: "seq", Help: "the producer's number of the tick, from 1"},
	{Name: "host", Kind: Text, Help: "the host's name"},
	{Name: "device", Kind: Text, Help: "what the row is about: a CPU, a disk, ..."},
}

// Lookup returns the table of that name and an error that names what is known.
func Lookup(name string) (*Table, error) {
	for _, t := range Tables {
		if t.Name == name {
			return t, nil
		}
	}
	names := make([]string, len(Tables))
	for i, t := range Tables {
		names[i] = t.Name
	}
	return nil, fmt.Errorf("schemas: no table %q: there are %s", name, strings.Join(names, ", "))
}
