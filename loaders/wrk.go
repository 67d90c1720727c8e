package loaders

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/steadybench/steady/outputs"
	"github.com/steadybench/steady/schemas"
)

// wrkSlice begins a run of wrk that is a part of a longer one, and says when it was.
var wrkSlice = regexp.MustCompile(`^### slice (\d+) start (\d{9,11})\.(\d{9})$`)

// ReadWrk reads the output of wrk 4 (outputs.Wrk), one run or several behind one
// another; those that a line "### slice N start SECONDS" each begins are the slices of
// one run, a row each. name stands in errors, which refuse the file whole, with line and
// cause: output of something else, or whose figures don't fit together.
//
// A run in which every request failed is Failed: wrk itself ends well.
func ReadWrk(name, text string, o ForeignOptions) ([]*Foreign, error) {
	begins := func(line string) bool {
		return strings.HasPrefix(line, "Running ") && strings.Contains(line, " test @ ")
	}
	if !strings.HasPrefix(text, "### slice ") {
		return readLoads("wrk", name, text, o, begins, func() outputs.Parser { return &outputs.Wrk{} })
	}
	f, err := readSlices(text, o)
	if err != nil {
		return nil, fmt.Errorf("loaders: %s: %w", name, err)
	}
	return []*Foreign{f}, nil
}

// readSlices reads a run that is made of short ones.
func readSlices(text string, o ForeignOptions) (*Foreign, error) {
	all := &outputs.Report{Unit: "request", Params: map[string]any{}, Facts: map[string]string{}}
	var intervals []outputs.Interval
	failed := 0
	parts := outputParts(text, wrkSlice.MatchString)
	for _, s := range parts {
		m := wrkSlice.FindStringSubmatch(s.lines[0])
		if m == nil {
			return nil, fmt.Errorf("line %d: want ### slice N start SECONDS.NANOSECONDS", s.first)
		}
		at, err := time.ParseDuration(m[2] + "." + m[3] + "s")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", s.first, err)
		}
		ivs, r, err := feed(s, &outputs.Wrk{}, o.Salvage)
		if err != nil {
			return nil, fmt.Errorf("slice %s: %w", m[1], err)
		}
		start := time.Unix(0, int64(at)).UTC()
		if all.Start.IsZero() {
			all.Start, all.Params = start, r.Params
		}
		shift := start.Sub(all.Start).Nanoseconds()
		if shift < all.DurationNS {
			return nil, fmt.Errorf("line %d: slice %s begins before the one before it ended", s.first, m[1])
		}
		phase := schemas.Phase{Name: "slice-" + m[1], FromNS: shift, ToNS: shift + r.DurationNS}
		all.Phases = append(all.Phases, phase)
		all.DurationNS = phase.ToNS
		for _, iv := range ivs {
			iv.FromNS += shift
			iv.ToNS += shift
			intervals = append(intervals, iv)
		}
		for _, fig := range r.Figures {
			fig.Phase = phase.Name
			all.Figures = append(all.Figures, fig)
		}
		for _, w := range r.Warnings {
			all.Warnings = appendOnce(all.Warnings, w)
		}
		for _, why := range r.Incomplete {
			all.Incomplete = append(all.Incomplete, phase.Name+": "+why)
		}
		if len(r.Failed) > 0 {
			failed++
			all.Warnings = append(all.Warnings, phase.Name+": "+r.Failed[0])
		}
	}
	if failed == len(parts) {
		all.Failed = append(all.Failed, "every slice failed")
	}
	if len(intervals) == 0 && len(all.Failed) == 0 {
		return nil, errors.New("no slice has a result")
	}
	return foreignLoad("wrk", intervals, all)
}
