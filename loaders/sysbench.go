package loaders

import (
	"strings"

	"github.com/steadybench/steady/outputs"
)

// ReadSysbench reads the output of sysbench 1.0 and 1.1 (outputs.Sysbench), one run or
// several behind one another. name stands in errors, which refuse the file whole, with
// line and cause: a line that is cut off, output of something else or of a preparation.
//
// Where a run's histogram is printed (--histogram), it stands with the latency_mean of
// its phase in summary, and in the row itself if the run has only one. A run that was
// interrupted keeps its rows and is Incomplete; one that completed no event is Failed.
func ReadSysbench(name, text string, o ForeignOptions) ([]*Foreign, error) {
	return readLoads("sysbench", name, text, o, func(line string) bool {
		return strings.HasPrefix(line, "sysbench ") && strings.Contains(line, "(using ")
	}, func() outputs.Parser { return &outputs.Sysbench{} })
}
