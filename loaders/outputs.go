package loaders

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/steadybench/steady/outputs"
	"github.com/steadybench/steady/schemas"
)

// knownTools are the tools whose output is read, by what only they print.
var knownTools = []struct {
	kind string
	mark *regexp.Regexp
}{
	{"wrk", regexp.MustCompile(`(?m)^Running \S+ test @ `)},
	{"sysbench", regexp.MustCompile(`(?m)^sysbench \d|^\[ *\d+s \] thds: `)},
	{"iperf3", regexp.MustCompile(`(?m)"version":\s*"iperf|^Connecting to host |^Accepted connection from |^iperf3: `)},
	{"perf", regexp.MustCompile(`(?m)^# started on |Performance counter stats for |^\{"interval" : |^#\s+time .*counts unit events`)},
	{"sar", regexp.MustCompile(`(?m)^Linux \S+ \(.*\)\s+\S+\s+_`)},
}

// otherTool says which tool's output a text is, where it isn't the kind's.
func otherTool(kind, text string) string {
	for _, t := range knownTools {
		if t.kind != kind && t.mark.MatchString(text) {
			return "; it looks like output of " + t.kind + ": import it as that"
		}
	}
	return ""
}

// errEmpty is what a tool leaves that could not begin.
var errEmpty = errors.New("empty: the tool printed nothing; why is in what it wrote to standard error")

// outputPart is the output of one run in a file: its lines, and the number of the first.
type outputPart struct {
	first int
	lines []string
}

// outputParts cuts a text where a run begins. What stands before the first belongs to it.
func outputParts(text string, begins func(line string) bool) []outputPart {
	var out []outputPart
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	begun, from := false, 0
	for k, line := range lines {
		if !begins(line) {
			continue
		}
		if begun {
			out = append(out, outputPart{from + 1, lines[from:k]})
			from = k
		}
		begun = true
	}
	return append(out, outputPart{from + 1, lines[from:]})
}

// readLoads reads the runs of a file of a load generator's output.
func readLoads(kind, name, text string, o ForeignOptions, begins func(line string) bool, parser func() outputs.Parser) ([]*Foreign, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("loaders: %s: %w", name, errEmpty)
	}
	parts := outputParts(text, begins)
	var out []*Foreign
	for k, s := range parts {
		intervals, report, err := feed(s, parser(), o.Salvage)
		if err != nil {
			return nil, fmt.Errorf("loaders: %s: %w%s", name, err, otherTool(kind, text))
		}
		f, err := foreignLoad(kind, intervals, report)
		if err != nil {
			return nil, fmt.Errorf("loaders: %s: %w", name, err)
		}
		if len(parts) > 1 {
			f.Run = strconv.Itoa(k + 1)
		}
		out = append(out, f)
	}
	return out, nil
}

// feed gives the lines to a parser. With salvage, damage ends the part, and is
// a reason why it is incomplete.
func feed(s outputPart, p outputs.Parser, salvage bool) ([]outputs.Interval, *outputs.Report, error) {
	var all []outputs.Interval
	var damage error
	for k, line := range s.lines {
		ivs, err := p.Line(line)
		all = append(all, ivs...)
		if err != nil {
			damage = fmt.Errorf("line %d: %w", s.first+k, err)
			break
		}
	}
	ivs, report, err := p.End()
	if damage == nil {
		damage = err
	}
	switch {
	case damage == nil:
	case report == nil || !salvage:
		return nil, nil, damage
	default:
		report.Incomplete = append(report.Incomplete, "damaged, and kept up to the damage: "+damage.Error())
	}
	return append(all, ivs...), report, nil
}

// foreignLoad returns a load generator's run. The report's rows stand in the last tick.
func foreignLoad(kind string, intervals []outputs.Interval, r *outputs.Report) (*Foreign, error) {
	outputs.ReviewLoss(intervals)
	f := &Foreign{Kind: kind, Host: r.Host, Start: r.Start, DurationNS: r.DurationNS, Phases: r.Phases, Facts: r.Facts, Params: r.Params,
		Warnings: r.Warnings, Incomplete: r.Incomplete, Failed: r.Failed}
	slices.SortStableFunc(intervals, func(a, b outputs.Interval) int { return cmp.Compare(a.ToNS, b.ToNS) })
	var ticks []schemas.Tick
	var at int64 = -1
	tick := func(ns int64) *schemas.Tick {
		if ns > at {
			ticks = append(ticks, schemas.Tick{})
			at = ns
		}
		return &ticks[len(ticks)-1]
	}
	for k := range intervals {
		iv := &intervals[k]
		rows, err := iv.Rows(kind, r.Unit, 0, iv.ToNS)
		if err != nil {
			return nil, err
		}
		t := tick(iv.ToNS)
		t.Rows = append(t.Rows, rows...)
		f.DurationNS = max(f.DurationNS, iv.ToNS)
	}
	rows, err := r.Rows(kind, 0, f.DurationNS)
	if err != nil {
		return nil, err
	}
	for _, why := range r.Failed {
		rows = append(rows, schemas.QualityRow(0, f.DurationNS, "failed", schemas.Workload.Name, why))
	}
	if len(rows) > 0 {
		t := tick(f.DurationNS)
		t.Rows = append(t.Rows, rows...)
	}
	f.Boots = [][]schemas.Tick{ticks}
	return f, nil
}

// appendOnce appends a sentence that is not there yet.
func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
