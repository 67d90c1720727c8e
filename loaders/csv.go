package loaders

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/schemas"
)

// CSVRun is one run of an imported table: values at times, ascending.
type CSVRun struct {
	Run string // as in the column run, "" where there is none
	// Start is the time of the first sample where the table tells it, else zero.
	Start time.Time
	// IntervalNS[i] is the time from the sample before to sample i; that of the first
	// is the median of the others. EndNS[i] is the sum of them up to i.
	IntervalNS, EndNS []int64
	Value             []float64
	Known             []bool // false: empty, NaN or null in the table
}

// Foreign returns the run as a load's throughput in unit a second.
func (r *CSVRun) Foreign(unit string) *Foreign {
	f := &Foreign{Kind: "csv", Run: r.Run, Start: r.Start, DurationNS: r.EndNS[len(r.EndNS)-1], Params: map[string]any{}}
	if r.Run != "" {
		f.Params["run"] = r.Run
	}
	ticks := make([]schemas.Tick, len(r.Value))
	for i := range ticks {
		row := schemas.NewRow(&schemas.Workload, 0, r.EndNS[i], r.IntervalNS[i])
		row.SetText("driver", "csv")
		row.SetText("unit", unit)
		ticks[i].Rows = []schemas.Row{row}
		if r.Known[i] {
			row.SetFloat("operations", r.Value[i]*float64(r.IntervalNS[i])*1e-9)
		} else {
			ticks[i].Rows = append(ticks[i].Rows, schemas.QualityRow(0, r.EndNS[i], "nan", schemas.Workload.Name, "the table has no number here"))
		}
	}
	f.Boots = [][]schemas.Tick{ticks}
	return f
}

// ReadCSV reads a table with a heading of time and value, and run where there are
// several, in any order; separated by comma, semicolon or tab. Times are RFC 3339,
// "2006-01-02 15:04:05" in zone, or seconds (since 1970, if they are 10^8 or more, else
// since the start). name stands in errors, which refuse the file whole with line and
// cause: a column unknown, a number that is none, times that don't ascend within a run.
func ReadCSV(name string, r io.Reader, zone *time.Location) ([]CSVRun, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(4096)
	first, _, _ := strings.Cut(strings.TrimPrefix(string(head), "\ufeff"), "\n")
	c := csv.NewReader(in)
	c.Comma = ','
	for _, sep := range []rune{';', '\t'} {
		if strings.ContainsRune(first, sep) {
			c.Comma = sep
		}
	}
	c.TrimLeadingSpace = true
	heading, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("loaders: %s: line 1: %w: want a heading, time,value or run,time,value", name, csvCause(err))
	}
	at := map[string]int{}
	for i, h := range heading {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		if _, twice := at[h]; twice || !slices.Contains([]string{"run", "time", "value"}, h) {
			return nil, fmt.Errorf("loaders: %s: line 1: column %q: want a heading of time,value or run,time,value", name, h)
		}
		at[h] = i
	}
	if _, ok := at["time"]; !ok || len(at) < 2 {
		return nil, fmt.Errorf("loaders: %s: line 1: want a heading of time,value or run,time,value", name)
	}
	if _, ok := at["value"]; !ok {
		return nil, fmt.Errorf("loaders: %s: line 1: no column value", name)
	}
	var runs []csvSamples
	for {
		rec, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("loaders: %s: %w", name, csvCause(err))
		}
		line, _ := c.FieldPos(0)
		run := ""
		if i, ok := at["run"]; ok {
			run = strings.TrimSpace(rec[i])
		}
		i := slices.IndexFunc(runs, func(x csvSamples) bool { return x.run == run })
		if i < 0 {
			i = len(runs)
			runs = append(runs, csvSamples{run: run})
		}
		if err := runs[i].add(rec[at["time"]], rec[at["value"]], zone); err != nil {
			return nil, fmt.Errorf("loaders: %s: line %d: %w", name, line, err)
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("loaders: %s: no rows behind the heading", name)
	}
	out := make([]CSVRun, len(runs))
	for i := range runs {
		if out[i], err = runs[i].finish(); err != nil {
			return nil, fmt.Errorf("loaders: %s: %w", name, err)
		}
	}
	return out, nil
}

// csvCause says what a wrong number of fields most often is.
func csvCause(err error) error {
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("%w: numbers with a decimal comma? write them with a point, or separate columns by a semicolon", err)
	}
	return err
}

// csvSamples is a run while it is read; times are in nanoseconds since 1970 or the start.
type csvSamples struct {
	run   string
	clock bool // times tell the date
	at    []int64
	value []float64
	known []bool
}

func (s *csvSamples) add(when, what string, zone *time.Location) error {
	ns, clock, err := csvTime(strings.TrimSpace(when), zone)
	if err != nil {
		return err
	}
	if n := len(s.at); n > 0 {
		if clock != s.clock {
			return fmt.Errorf("time %q: another kind of time than in the lines before", when)
		}
		if ns <= s.at[n-1] {
			return fmt.Errorf("time %q: not after the one before (run %q): sort the table, or name the runs in a column run", when, s.run)
		}
	}
	v, known, err := csvValue(strings.TrimSpace(what))
	if err != nil {
		return err
	}
	s.clock = clock
	s.at, s.value, s.known = append(s.at, ns), append(s.value, v), append(s.known, known)
	return nil
}

// epochSeconds tells seconds since 1970 from seconds since a start.
const epochSeconds = 1e8

func csvTime(s string, zone *time.Location) (ns int64, clock bool, err error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		if math.IsNaN(v) || math.Abs(v) > 9e9 {
			return 0, false, fmt.Errorf("time %q: out of range", s)
		}
		// In two parts: nanoseconds since 1970 have more digits than a float64.
		whole, frac := math.Modf(v)
		return int64(whole)*1e9 + int64(math.Round(frac*1e9)), v >= epochSeconds, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, err = time.ParseInLocation("2006-01-02 15:04:05", s, zone)
	}
	if err != nil || t.Year() < 1971 || t.Year() > 2200 {
		return 0, false, fmt.Errorf("time %q: want 2006-01-02T15:04:05Z, 2006-01-02 15:04:05 or seconds", s)
	}
	return t.UnixNano(), true, nil
}

func csvValue(s string) (v float64, known bool, err error) {
	switch strings.ToLower(s) {
	case "", "nan", "-nan", "null", "na", "n/a", "-", "inf", "-inf", "+inf":
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(s, 64)
	if err != nil {
		if strings.Contains(s, ",") {
			return 0, false, fmt.Errorf("value %q: a decimal comma: write numbers with a point", s)
		}
		return 0, false, fmt.Errorf("value %q: not a number", s)
	}
	return v, true, nil
}

func (s *csvSamples) finish() (CSVRun, error) {
	if len(s.at) < 2 {
		return CSVRun{}, fmt.Errorf("run %q: one row: at least two are needed to know the interval", s.run)
	}
	out := CSVRun{Run: s.run, Value: s.value, Known: s.known}
	if s.clock {
		out.Start = time.Unix(0, s.at[0]).UTC()
	}
	steps := make([]int64, 0, len(s.at)-1)
	for i := 1; i < len(s.at); i++ {
		steps = append(steps, s.at[i]-s.at[i-1])
	}
	sorted := slices.Sorted(slices.Values(steps))
	out.IntervalNS = append([]int64{sorted[len(sorted)/2]}, steps...)
	if s.clock {
		out.Start = out.Start.Add(-time.Duration(out.IntervalNS[0]))
	}
	var end int64
	for _, iv := range out.IntervalNS {
		end += iv
		out.EndNS = append(out.EndNS, end)
	}
	return out, nil
}
