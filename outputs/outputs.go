// Package outputs reads what load generators and perf stat print: line by line while
// they run, or a file of it afterwards. What they say becomes records, and rows of the
// tables workload and summary.
//
// It starts no tool, opens no file and reads no clock. It doesn't judge: what a tool
// can't know, or says in a way that can't be trusted, is left out with a note, and a
// report says why a run counts for nothing.
package outputs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/schemas"
)

// A Parser reads one run of a load generator.
type Parser interface {
	// Line takes the next line, without its end, and returns the intervals that it
	// completes, often none. A line that should be the tool's and can't be read is an
	// error: the line is lost, the parser goes on.
	Line(line string) ([]Interval, error)
	// End returns the intervals that only the end of the output tells, and the report.
	// An error without a report says that this was no output of a run, and what was
	// missing. One beside a report says where the output is damaged: they are what stands
	// before.
	End() ([]Interval, *Report, error)
}

// Interval is what a load generator says of an interval: a row of table workload.
type Interval struct {
	// Part is the part of the load that it is about, "" the whole.
	Part string
	// FromNS and ToNS are its bounds, in time since the load began. If they are the same
	// its length is unknown.
	FromNS, ToNS int64
	// Values are by column of table workload, in the columns' units. What is not there,
	// the tool did not say.
	Values map[string]float64
	// Latencies are those of the interval's operations, ascending, where the tool tells
	// them all.
	Latencies []Bucket
	// Notes say why a value is not there, or what to know of it.
	Notes []Note
}

// Bucket counts operations of one latency.
type Bucket struct {
	NS, Count int64
}

// Note is a row of table quality to be: why a value is null, or not what it seems.
type Note struct {
	Column, Reason, Current, Detail string
}

func (iv *Interval) set(column string, v float64) {
	if iv.Values == nil {
		iv.Values = map[string]float64{}
	}
	iv.Values[column] = v
}

func (iv *Interval) note(column, reason, current, detail string) {
	iv.Notes = append(iv.Notes, Note{column, reason, current, detail})
}

// Rows returns the interval as a row of table workload, its end at the given wall and
// boot time, and behind it a row of table quality for each note.
func (iv *Interval) Rows(driver, unit string, wallNS, bootNS int64) ([]schemas.Row, error) {
	row := schemas.NewRow(&schemas.Workload, wallNS, bootNS, iv.ToNS-iv.FromNS)
	row.Device = iv.Part
	row.SetText("driver", driver)
	row.SetText("unit", unit)
	for column, v := range iv.Values {
		if schemas.Workload.Columns[schemas.Workload.Column(column)].Float {
			row.SetFloat(column, v)
		} else {
			row.SetInt(column, int64(math.Round(v)))
		}
	}
	if len(iv.Latencies) > 0 {
		hist, err := Histogram(iv.Latencies)
		if err != nil {
			return nil, err
		}
		row.SetBytes("latency_hist", hist)
	}
	rows := append([]schemas.Row{row}, row.Clean()...)
	for _, n := range iv.Notes {
		rows = append(rows, n.row(schemas.Workload.Name, iv.Part, wallNS, bootNS))
	}
	return rows, nil
}

func (n *Note) row(table, part string, wallNS, bootNS int64) schemas.Row {
	q := schemas.QualityRow(wallNS, bootNS, n.Reason, table, n.Detail)
	q.SetText("column", n.Column)
	q.SetText("part", part)
	if n.Current != "" {
		q.SetText("current", n.Current)
	}
	return q
}

// Figure is what a tool says once a run or phase: a row of table summary.
type Figure struct {
	Metric, Phase, Unit string
	Value               float64
	// Count is the number of observations behind it, 0 if the tool does not say.
	Count int64
	// Latencies are those behind it, ascending, where the tool tells them all.
	Latencies []Bucket
}

// whole is the phase of a figure about all of a run.
const whole = "run"

// Report is what a load generator says of a whole run.
type Report struct {
	// Unit is what it counts: request, transaction, event, bit.
	Unit string
	// Host is the name of the host that the tool ran on, "" where it doesn't say.
	Host string
	// Start is when the load began, zero where the tool doesn't say.
	Start time.Time
	// DurationNS is how long the load lasted.
	DurationNS int64
	// Phases are those that the tool tells, in time since the load began.
	Phases  []schemas.Phase
	Figures []Figure
	Notes   []Note
	// Facts are what is known of the tool ("wrk.url"), Params of the load ("threads").
	Facts  map[string]string
	Params map[string]any
	// Warnings are what to know before trusting the figures, a sentence each.
	Warnings []string
	// Incomplete are reasons why the data are not whole, Failed why they measure nothing.
	Incomplete, Failed []string
}

func newReport(unit string) *Report {
	return &Report{Unit: unit, Facts: map[string]string{}, Params: map[string]any{}}
}

func (r *Report) figure(metric, phase, unit string, v float64, count int64) *Figure {
	r.Figures = append(r.Figures, Figure{Metric: metric, Phase: phase, Unit: unit, Value: v, Count: count})
	return &r.Figures[len(r.Figures)-1]
}

func (r *Report) warn(format string, a ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, a...))
}

// Rows returns the report's figures as rows of table summary, and its notes, at the
// given wall and boot time; driver is who says so.
func (r *Report) Rows(driver string, wallNS, bootNS int64) ([]schemas.Row, error) {
	var rows []schemas.Row
	for _, f := range r.Figures {
		interval := r.DurationNS
		for _, p := range r.Phases {
			if p.Name == f.Phase {
				interval = p.ToNS - p.FromNS
			}
		}
		row := schemas.NewRow(&schemas.Summary, wallNS, bootNS, interval)
		row.SetText("metric", f.Metric)
		row.SetText("phase", f.Phase)
		row.SetFloat("value", f.Value)
		row.SetText("unit", f.Unit)
		if f.Count > 0 {
			row.SetInt("count", f.Count)
		}
		row.SetText("source", driver)
		if len(f.Latencies) > 0 {
			hist, err := Histogram(f.Latencies)
			if err != nil {
				return nil, err
			}
			row.SetBytes("hist", hist)
		}
		rows = append(append(rows, row), row.Clean()...)
	}
	for _, n := range r.Notes {
		rows = append(rows, n.row(schemas.Workload.Name, "", wallNS, bootNS))
	}
	return rows, nil
}

// maxLatency is the least end of a histogram's range: that of the drivers' own
// histograms, so that all merge.
const maxLatency = 60 * time.Second

// Histogram returns the buckets as an HdrHistogram of nanoseconds with three digits, in
// the compressed V2 encoding. A latency or count below 0, or a sum of counts above
// 2^63-1, is an error.
func Histogram(buckets []Bucket) ([]byte, error) {
	highest := int64(maxLatency)
	for _, b := range buckets {
		highest = max(highest, b.NS)
	}
	h := hdrhistogram.New(1, highest, 3)
	for _, b := range buckets {
		if err := h.RecordValues(b.NS, b.Count); err != nil {
			return nil, fmt.Errorf("outputs: histogram: %d ns, %d times: %w", b.NS, b.Count, err)
		}
	}
	return h.EncodeV2()
}

// quantile returns the q-quantile of buckets, in seconds, by nearest rank: the least
// latency that at least q of the n operations don't exceed.
func quantile(buckets []Bucket, n int64, q float64) float64 {
	rank := max(int64(math.Ceil(q*float64(n))), 1)
	for _, b := range buckets {
		if rank -= b.Count; rank <= 0 {
			return float64(b.NS) / 1e9
		}
	}
	return math.NaN()
}

// total returns how many operations the buckets hold.
func total(buckets []Bucket) (n int64) {
	for _, b := range buckets {
		n += b.Count
	}
	return n
}

// number returns the value of a plain decimal, or of nan and inf as C prints them.
// Anything else, and so a decimal comma, is none.
func number(s string) (v float64, ok bool) {
	switch strings.TrimPrefix(s, "-") {
	case "nan", "inf":
		v, _ = strconv.ParseFloat(strings.TrimPrefix(s, "-"), 64)
		return v, true
	}
	if s == "" || strings.Trim(s, "-.0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// natural returns the value of a whole number that is not negative.
func natural(s string) (v int64, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// seconds brings seconds to nanoseconds. It is false of what is no time of a run: not a
// number, negative, or above 30 years.
func seconds(s float64) (ns int64, ok bool) {
	if !(s >= 0 && s < 1e9) {
		return 0, false
	}
	return int64(math.Round(s * 1e9)), true
}

// latest is the last second since 1970 that is taken for a time.
const latest = 9e9

// short is a line or field as an error quotes it.
func short(s string) string { return cut(s, 80) }

// told is a sentence of a tool, as a reason.
func told(s string) string { return cut(s, 400) }

func cut(s string, enough int) string {
	if len(s) > enough {
		s = s[:enough] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
