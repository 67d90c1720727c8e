package analyze_test

import (
	"fmt"

	"github.com/steadybench/steady/analyze"
)

func ExampleJudge() {
	runs := func(values ...float64) (r []analyze.Run) {
		for _, v := range values {
			r = append(r, analyze.Run{Value: v, Known: true, Slot: -1})
		}
		return r
	}
	throughput := analyze.Metric{
		Name: "workload.throughput", Scenario: "web", Primary: true, Direction: analyze.Higher, Baseline: "old",
		Systems: []analyze.SystemRuns{{System: "old", Runs: runs(71800, 72100, 71950)}, {System: "new", Runs: runs(78300, 78650, 78500)}},
	}
	j := analyze.Judge([]analyze.Metric{throughput}, analyze.Options{})[0]
	c := j.Comparisons[0]
	fmt.Printf("%s: %s by %.1f %% (%.1f to %.1f), at least %.1f %%, %s\n", c.System, c.Verdict, c.Percent.Value, c.Percent.Lo, c.Percent.Hi, *c.AtLeast, c.Method)
	// Output: new: better by 9.1 % (8.5 to 9.6), at least 8.5 %, welch-log
}
