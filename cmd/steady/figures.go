package main

import (
	"slices"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/loaders"
)

type checkPoint = analyze.PlausiblePoint

// checkNumbers says which field of a point a key fills.
var checkNumbers = map[string]func(*checkPoint) **analyze.PlausibleNumber{
	"connections":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.Connections },
	"threads":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Connections },
	"throughput":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.Throughput },
	"untrimmed":            func(p *checkPoint) **analyze.PlausibleNumber { return &p.Untrimmed },
	"think_time":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.ThinkTime },
	"duration":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.Seconds },
	"total":                func(p *checkPoint) **analyze.PlausibleNumber { return &p.Total },
	"query_rate":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.QueryRate },
	"latency_min":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencyMin },
	"latency_mean":         func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencyMean },
	"latency_max":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencyMax },
	"latency_sd":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencySD },
	"latency_count":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencyCount },
	"latency_sum":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.LatencySum },
	"timeout":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Timeout },
	"longest_stall":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.LongestStall },
	"stalled_time":         func(p *checkPoint) **analyze.PlausibleNumber { return &p.StalledTime },
	"rtt":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.RTT },
	"demand":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.Demand },
	"bottleneck_demand":    func(p *checkPoint) **analyze.PlausibleNumber { return &p.BottleneckDemand },
	"servers":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Servers },
	"cores":                func(p *checkPoint) **analyze.PlausibleNumber { return &p.Cores },
	"cpu":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.CPU },
	"cpu_per_operation":    func(p *checkPoint) **analyze.PlausibleNumber { return &p.CPUPerOperation },
	"capacity":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.Capacity },
	"steal":                func(p *checkPoint) **analyze.PlausibleNumber { return &p.Steal },
	"load_cpu":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.LoadCPU },
	"bytes_per_operation":  func(p *checkPoint) **analyze.PlausibleNumber { return &p.BytesPerOperation },
	"transfer_rate":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.TransferRate },
	"bit_rate":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.BitRate },
	"link":                 func(p *checkPoint) **analyze.PlausibleNumber { return &p.LinkRate },
	"mtu":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.MTU },
	"packet_rate":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.PacketRate },
	"frame_bytes":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.FrameBytes },
	"window":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.Window },
	"loss":                 func(p *checkPoint) **analyze.PlausibleNumber { return &p.Loss },
	"mss":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.MSS },
	"bytes_sent":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.BytesSent },
	"bytes_received":       func(p *checkPoint) **analyze.PlausibleNumber { return &p.BytesReceived },
	"retransmits":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.Retransmits },
	"containers":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.BatchCount },
	"processes_created":    func(p *checkPoint) **analyze.PlausibleNumber { return &p.BatchCount },
	"batch_time":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.BatchTime },
	"concurrency":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.Concurrency },
	"lifetime":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.Lifetime },
	"live":                 func(p *checkPoint) **analyze.PlausibleNumber { return &p.Live },
	"pid_max":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.PIDMax },
	"tuples":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.Tuples },
	"ports":                func(p *checkPoint) **analyze.PlausibleNumber { return &p.Ports },
	"connect_rate":         func(p *checkPoint) **analyze.PlausibleNumber { return &p.ConnectRate },
	"open_files":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.OpenFiles },
	"processes":            func(p *checkPoint) **analyze.PlausibleNumber { return &p.Processes },
	"commit_rate":          func(p *checkPoint) **analyze.PlausibleNumber { return &p.CommitRate },
	"fsync_rate":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.FsyncRate },
	"group_commit":         func(p *checkPoint) **analyze.PlausibleNumber { return &p.GroupCommit },
	"commit_p50":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.CommitP50 },
	"fsync_latency":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.FsyncLatency },
	"writes_per_operation": func(p *checkPoint) **analyze.PlausibleNumber { return &p.WritesPerOperation },
	"page_bytes":           func(p *checkPoint) **analyze.PlausibleNumber { return &p.PageBytes },
	"disk_bandwidth":       func(p *checkPoint) **analyze.PlausibleNumber { return &p.DiskBandwidth },
	"memory":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.Memory },
	"pss":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.PSS },
	"rss":                  func(p *checkPoint) **analyze.PlausibleNumber { return &p.RSS },
	"memory_total":         func(p *checkPoint) **analyze.PlausibleNumber { return &p.MemoryTotal },
	"memory_available":     func(p *checkPoint) **analyze.PlausibleNumber { return &p.MemoryAvailable },
	"memory_growth":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.MemoryGrowth },
	"memory_change":        func(p *checkPoint) **analyze.PlausibleNumber { return &p.MemoryChange },
	"restarts":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.Restarts },
	"runs":                 func(p *checkPoint) **analyze.PlausibleNumber { return &p.Runs },
	"cv":                   func(p *checkPoint) **analyze.PlausibleNumber { return &p.CV },
	"ci_low":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.CILow },
	"ci_high":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.CIHigh },
	"errors":               func(p *checkPoint) **analyze.PlausibleNumber { return &p.Errors },
	"timeouts":             func(p *checkPoint) **analyze.PlausibleNumber { return &p.Timeouts },
	"aborted":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Aborted },
	"samples":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Samples },
	"missing":              func(p *checkPoint) **analyze.PlausibleNumber { return &p.Missing },
}

var checkLists = map[string]func(*checkPoint) *[]analyze.PlausibleNumber{
	"cpu_states":     func(p *checkPoint) *[]analyze.PlausibleNumber { return &p.CPUStates },
	"stream_bytes":   func(p *checkPoint) *[]analyze.PlausibleNumber { return &p.StreamBytes },
	"interval_bytes": func(p *checkPoint) *[]analyze.PlausibleNumber { return &p.IntervalBytes },
	"run_values":     func(p *checkPoint) *[]analyze.PlausibleNumber { return &p.RunValues },
}

var checkFlags = map[string]func(*checkPoint) **bool{
	"corrected":       func(p *checkPoint) **bool { return &p.Corrected },
	"smt":             func(p *checkPoint) **bool { return &p.SMT },
	"timestamps":      func(p *checkPoint) **bool { return &p.Timestamps },
	"ipv6":            func(p *checkPoint) **bool { return &p.IPv6 },
	"udp":             func(p *checkPoint) **bool { return &p.UDP },
	"vlan":            func(p *checkPoint) **bool { return &p.VLAN },
	"loopback":        func(p *checkPoint) **bool { return &p.Loopback },
	"both_directions": func(p *checkPoint) **bool { return &p.BothDirections },
	"one_bridge":      func(p *checkPoint) **bool { return &p.OneBridge },
	"client_closes":   func(p *checkPoint) **bool { return &p.ClientCloses },
	"integers":        func(p *checkPoint) **bool { return &p.Integers },
}

var checkWords = map[string]func(*checkPoint) *string{
	"tool":               func(p *checkPoint) *string { return &p.Tool },
	"loop":               func(p *checkPoint) *string { return &p.Loop },
	"service":            func(p *checkPoint) *string { return &p.Service },
	"workload":           func(p *checkPoint) *string { return &p.Workload },
	"runtime":            func(p *checkPoint) *string { return &p.Runtime },
	"congestion_control": func(p *checkPoint) *string { return &p.CongestionControl },
}

func checkNumber(v loaders.FigureValue) *analyze.PlausibleNumber {
	return &analyze.PlausibleNumber{Value: v.Number, Half: v.Half, Text: v.Text}
}

// plausibleFigures gives the rules what the file says.
func plausibleFigures(f *loaders.Figures) analyze.PlausibleFigures {
	out := analyze.PlausibleFigures{Systems: f.Systems, Baseline: f.Baseline}
	for _, t := range f.Tests {
		test := analyze.PlausibleTest{Name: t.Name}
		for _, p := range t.Points {
			for _, system := range f.Systems {
				test.Points = append(test.Points, plausiblePoint(p, t.Name, system))
			}
			test.Differences = append(test.Differences, plausibleDifferences(f, p)...)
		}
		out.Tests = append(out.Tests, test)
	}
	return out
}

func plausiblePoint(p loaders.FigurePoint, test, system string) checkPoint {
	out := checkPoint{Test: test, Label: p.Label, System: system}
	var keys []string
	for key := range p.Values {
		keys = append(keys, key)
	}
	slices.Sort(keys) // "threads" after "connections", always
	for _, key := range keys {
		v, ok := p.Values[key][system]
		if !ok {
			continue
		}
		if q, ok := loaders.FigurePercentile(key); ok {
			out.Percentiles = append(out.Percentiles, analyze.PlausiblePercentile{Q: q, PlausibleNumber: *checkNumber(v)})
		} else if field := checkNumbers[key]; field != nil {
			*field(&out) = checkNumber(v)
		} else if field := checkFlags[key]; field != nil {
			*field(&out) = &v.Flag
		} else if field := checkWords[key]; field != nil {
			*field(&out) = v.Word
		} else if field := checkLists[key]; field != nil {
			for _, e := range v.List {
				*field(&out) = append(*field(&out), *checkNumber(e))
			}
		} else if key == "per_second" {
			for _, e := range v.List {
				out.PerSecond = append(out.PerSecond, e.Number)
			}
		}
	}
	keys = keys[:0]
	for key := range p.Other {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		first, ok1 := p.Values[key][system]
		second, ok2 := p.Other[key][system]
		if ok1 && ok2 && first.List == nil {
			out.Other = append(out.Other, analyze.PlausibleSource{Measure: key, First: *checkNumber(first), Second: *checkNumber(second)})
		}
	}
	return out
}

func plausibleDifferences(f *loaders.Figures, p loaders.FigurePoint) []analyze.PlausibleDifference {
	var out []analyze.PlausibleDifference
	add := func(measure, system string) *analyze.PlausibleDifference {
		d := analyze.PlausibleDifference{Measure: measure, Label: p.Label, System: system, Base: f.Baseline}
		if v, ok := p.Values[measure][system]; ok {
			d.Value = checkNumber(v)
		}
		if v, ok := p.Values[measure][f.Baseline]; ok {
			d.BaseValue = checkNumber(v)
		}
		out = append(out, d)
		return &out[len(out)-1]
	}
	for _, s := range p.Differences {
		add(s.Measure, s.System).Stated = checkNumber(s.Value)
	}
	for _, system := range f.Systems {
		r, ok1 := p.Values["ratio"][system]
		i, ok2 := p.Values["inverse_ratio"][system]
		if ok1 && ok2 {
			d := add("throughput", system)
			d.Ratio, d.Inverse = checkNumber(r), checkNumber(i)
		}
	}
	return out
}
