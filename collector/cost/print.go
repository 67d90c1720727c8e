package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticks are those of all CPUs since boot, of any kind and idle.
type ticks struct{ all, idle int64 }

func machineTicks() ticks {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{} // the share will be 0
	}
	return parseTicks(string(text))
}

func parseTicks(text string) (t ticks) {
	line, _, _ := strings.Cut(text, "\n")
	for i, f := range strings.Fields(line) {
		// user nice system idle iowait irq softirq steal; guest time is in user and nice
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || i > 8 {
			continue
		}
		if t.all += n; i == 4 || i == 5 {
			t.idle += n
		}
	}
	return t
}

// busySince returns how busy all CPUs were from t to u, in %.
func (t ticks) busySince(u ticks) float64 {
	if u.all <= t.all {
		return 0
	}
	return 100 - 100*float64(u.idle-t.idle)/float64(u.all-t.all)
}

// spread is the median of some turns and their range.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func spreadOf(x []float64) spread {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	if n == 0 {
		return spread{}
	}
	return spread{(x[(n-1)/2] + x[n/2]) / 2, x[0], x[n-1]}
}

// cost is what a contender costs, per second and so per tick.
type cost struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Absent string `json:"absent,omitempty"` // why it was not measured
	Turns  int    `json:"turns"`
	CPU    spread `json:"cpu_ms_per_tick"`
	// Ratio is the CPU time over that of the first contender in the same round.
	Ratio     *spread `json:"ratio,omitempty"`
	Switches  spread  `json:"context_switches_per_tick"`
	Written   spread  `json:"written_bytes_per_tick"`
	RSS       spread  `json:"rss_bytes"`
	PSS       spread  `json:"pss_bytes"`
	Processes int     `json:"processes"`
	Busy      spread  `json:"machine_busy_pct"`
}

// costs returns what came of all contenders.
func (b *bench) costs() (out []cost) {
	for _, e := range b.entries {
		over := func(f func(t turn) float64) spread {
			var x []float64
			for _, t := range e.turns {
				x = append(x, f(t))
			}
			return spreadOf(x)
		}
		c := cost{Name: e.name, What: e.what, Absent: e.absent, Turns: len(e.turns),
			CPU:      over(func(t turn) float64 { return float64(t.cpuNS) / 1e6 / t.seconds }),
			Switches: over(func(t turn) float64 { return float64(t.switches) / t.seconds }),
			Written:  over(func(t turn) float64 { return float64(t.written) / t.seconds }),
			RSS:      over(func(t turn) float64 { return float64(t.rss) }),
			PSS:      over(func(t turn) float64 { return float64(t.pss) }),
			Busy:     over(func(t turn) float64 { return t.busy })}
		var ratios []float64
		for i, t := range e.turns {
			c.Processes = max(c.Processes, t.processes)
			if base := b.entries[0]; i < len(base.turns) && base.turns[i].cpuNS > 0 {
				ratios = append(ratios, float64(t.cpuNS)/t.seconds/(float64(base.turns[i].cpuNS)/base.turns[i].seconds))
			}
		}
		if len(ratios) > 0 {
			r := spreadOf(ratios)
			c.Ratio = &r
		}
		out = append(out, c)
	}
	return out
}

// writeText writes a Markdown table.
func (b *bench) writeText(w io.Writer) error {
	var s strings.Builder
	costs := b.costs()
	fmt.Fprintf(&s, "What collecting once a second costs: %d rounds of %s each, begun %s. Median (least to most).\n\n", b.rounds, b.turn, b.began.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(&s, "| collector | CPU, ms a tick | times %s | RSS, MiB | PSS, MiB | context switches a tick | bytes written a tick | processes | CPUs busy, by all, %% |\n", b.entries[0].name)
	s.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range costs {
		if c.Absent != "" {
			continue
		}
		ratio := ""
		if c.Ratio != nil {
			ratio = c.Ratio.format("%.2f", 1)
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s | %s | %s | %d | %s |\n", c.Name, c.CPU.format("%.3f", 1), ratio,
			c.RSS.format("%.1f", 1<<20), c.PSS.format("%.1f", 1<<20), c.Switches.format("%.1f", 1), c.Written.format("%.0f", 1), c.Processes, c.Busy.format("%.0f", 1))
	}
	s.WriteString("\n")
	for _, c := range costs {
		if c.Absent != "" {
			fmt.Fprintf(&s, "- %s was not measured: %s\n", c.Name, c.Absent)
		} else {
			fmt.Fprintf(&s, "- %s: %s\n", c.Name, c.What)
		}
	}
	fmt.Fprintf(&s, "\nCPU time is %s. What the kernel does later on a collector's behalf (writing back, receiving) is nobody's here. The ratio is of turns of the same round. Contenders that are one program share its pages: alone, their PSS would be larger.\n", b.method())
	_, err := io.WriteString(w, s.String())
	return err
}

// method says how CPU time was measured.
func (b *bench) method() string {
	if b.counted {
		return "that of a control group of the collector's own, ended threads and children included"
	}
	return "the sum of /proc/PID/task/*/schedstat over its processes: threads that ended are lost"
}

func (s spread) format(verb string, unit float64) string {
	m, l, h := fmt.Sprintf(verb, s.Median/unit), fmt.Sprintf(verb, s.Low/unit), fmt.Sprintf(verb, s.High/unit)
	if l == h {
		return m
	}
	return fmt.Sprintf("%s (%s to %s)", m, l, h)
}

func (b *bench) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{"began": b.began.UTC(), "rounds": b.rounds, "turn_s": b.turn.Seconds(), "settle_s": b.settle.Seconds(),
		"warm_s": b.warm.Seconds(), "method": b.method(), "collectors": b.costs(), "took_s": time.Since(b.began).Seconds()})
}
