package main

import (
	"fmt"
	"strconv"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// plausibility applies the rules to the runs that entered the statistics.
func plausibility(scenarios []loaders.Scenario) []schemas.Finding {
	var points []analyze.PlausiblePoint
	for i := range scenarios {
		s := &scenarios[i]
		for k, r := range s.Runs {
			if ok, _ := r.Manifest.Usable(); ok {
				points = append(points, runPoint(s, k))
			}
		}
	}
	out := []schemas.Finding{}
	for _, f := range analyze.PlausibilityOfRuns(points) {
		out = append(out, schemas.Finding{Rule: fmt.Sprintf("%d %s", f.Rule, f.Name), Severity: string(f.Severity), Subject: f.Subject, Text: f.Text})
	}
	return out
}

// runPoint is what a run measured in its fixed window.
func runPoint(s *loaders.Scenario, k int) analyze.PlausiblePoint {
	r, w := s.Runs[k], s.Windows[k]
	p := analyze.PlausiblePoint{Test: s.Name, System: r.Manifest.System, Run: r.Manifest.Run,
		Seconds: analyze.PlausibleExact(seconds(w.ToNS - w.FromNS))}
	p.Loop, _ = r.Manifest.Params["loop"].(string)
	if n, ok := r.Manifest.Params["connections"].(float64); ok {
		p.Connections = analyze.PlausibleExact(n)
	}
	window := analyze.Window{FromNS: w.FromNS, ToNS: w.ToNS}
	for j := range s.Metrics {
		m := &s.Metrics[j]
		if m.Host != nil || m.Device != nil {
			continue
		}
		c := &m.Cells[k]
		if q := m.Def.Quantile; q != 0 {
			if c.Count > 0 {
				p.Percentiles = append(p.Percentiles, analyze.PlausiblePercentile{Q: q, PlausibleNumber: *analyze.PlausibleExact(c.Value)})
				p.LatencyCount = analyze.PlausibleExact(float64(c.Count))
			}
			continue
		}
		if c.Series == nil {
			continue
		}
		series := toSeries(c.Series)
		v := series.Window(window)
		if !v.Known {
			continue
		}
		switch m.Name() {
		case "workload.throughput":
			p.Throughput = analyze.PlausibleExact(v.Value)
			p.PerSecond = series.Values(window)
		case "workload.latency_mean":
			p.LatencyMean = analyze.PlausibleExact(v.Value)
		case "cpu.busy_pct":
			if m.Role == "sut" {
				p.CPU = analyze.PlausibleExact(v.Value / 100)
				p.Cores = cores(r)
			}
		case "cpu.steal_pct":
			if m.Role == "sut" {
				p.Steal = analyze.PlausibleExact(v.Value / 100)
			}
		}
	}
	// Where one host carries both, its CPU time is not the server's alone.
	if len(r.Manifest.Hosts) == 1 {
		p.CPU, p.Cores = nil, nil
	}
	return p
}

func cores(r *loaders.Run) *analyze.PlausibleNumber {
	for _, h := range r.Manifest.Hosts {
		if n, err := strconv.Atoi(h.Facts["cpus"]); err == nil && len(h.Roles) > 0 && h.Roles[0] == "sut" {
			return analyze.PlausibleExact(float64(n))
		}
	}
	return nil
}

func toSeries(s *loaders.Series) *analyze.Series {
	return &analyze.Series{EndNS: s.EndNS, IntervalNS: s.IntervalNS, Num: s.Num, Den: s.Den, Known: s.Known}
}
