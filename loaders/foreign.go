package loaders

import (
	"time"

	"github.com/steadybench/steady/schemas"
)

// Foreign is what a file of another tool says, as rows that can become a run or a part
// of one.
type Foreign struct {
	// Kind is the tool: "sadf", "sar", "perf", "wrk", "sysbench", "iperf3", "csv".
	Kind string
	// Run tells several runs of one file apart; "" where it has one.
	Run string
	// Host is the host's name as the file tells it, else "".
	Host string
	// Start is when elapsed time 0 was, where the file tells it, else zero.
	Start time.Time
	// Boots are the ticks of each boot that the file covers: one, and one more after
	// each restart. Their rows and blocks are stamped with BootNS, the time since
	// Start in nanoseconds, ascending, at the end of their IntervalNS; Seq and WallNS
	// are for the one who stores them to fill.
	Boots [][]schemas.Tick
	// DurationNS is how long the file's measurement took, at least to its last row.
	DurationNS int64
	// Phases are those that the file itself tells, in elapsed time.
	Phases []schemas.Phase
	// Facts are what is known of the host and the tool ("sysstat.version"), Params of
	// the load ("connections").
	Facts  map[string]string
	Params map[string]any
	// Warnings are what to know before trusting the figures, a sentence each.
	Warnings []string
	// Incomplete are reasons why the data are not whole (a file cut off, and salvaged);
	// Failed are reasons why they measure nothing (every request failed). Neither enters
	// statistics.
	Incomplete, Failed []string
}

// ForeignOptions are what a reader of foreign files can't know from the file.
type ForeignOptions struct {
	// Zone is the zone of times printed without one; nil: unknown, and a file that needs
	// it is refused with the way out.
	Zone *time.Location
	// Date is the day of a file that prints none, or prints it in a form that can be
	// read in several ways, as 2006-01-02; "": unknown.
	Date string
	// Salvage keeps the part of a damaged file before the damage.
	Salvage bool
}
