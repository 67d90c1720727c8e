package campaign

import (
	"time"

	"github.com/steadybench/steady/collector/workload"
)

// Gate says how quiet a host must be before a run begins, and for how long.
type Gate struct {
	For     workload.Duration `yaml:"for"`
	Timeout workload.Duration `yaml:"timeout"`
	// OnTimeout is "fail" (the default) or "run": the run is done, and marked.
	OnTimeout string `yaml:"on_timeout"`
	// Limits; null takes the default, 0 or less none.
	LoadPerCPU    *float64 `yaml:"load_per_cpu"`
	BusyPct       *float64 `yaml:"busy_pct"`
	StealPct      *float64 `yaml:"steal_pct"`
	DiskBytesPerS *float64 `yaml:"disk_bytes_per_s"`
	NetBytesPerS  *float64 `yaml:"net_bytes_per_s"`
	SwapPerS      *float64 `yaml:"swap_per_s"`
	TempC         *float64 `yaml:"temp_c"`
}

const defaultGateTimeout = 10 * time.Minute

func (g *Gate) check(c *planChecker) {
	if g.Timeout == 0 {
		g.Timeout = workload.Duration(defaultGateTimeout)
	}
	if g.OnTimeout == "" {
		g.OnTimeout = "fail"
	}
	if g.OnTimeout != "fail" && g.OnTimeout != "run" {
		c.say("gate.on_timeout", "%q: want fail or run", g.OnTimeout)
	}
	if g.Timeout < g.For {
		c.say("gate.timeout", "%s: shorter than the %s that the host must be quiet", g.Timeout, g.For)
	}
}
