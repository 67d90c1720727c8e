package analyze

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func plausN(v float64) *PlausibleNumber { return PlausibleExact(v) }

// plausPublished is a figure as written, half a unit of its last digit loose.
func plausPublished(v, half float64, text string) *PlausibleNumber {
	return &PlausibleNumber{Value: v, Half: half, Text: text}
}

func plausNs(v ...float64) (out []PlausibleNumber) {
	for _, x := range v {
		out = append(out, PlausibleNumber{Value: x})
	}
	return out
}

func plausPq(q, v float64) PlausiblePercentile {
	return PlausiblePercentile{q, PlausibleNumber{Value: v}}
}

func plausRepeat(v float64, times int) (out []float64) {
	for range times {
		out = append(out, v)
	}
	return out
}

// plausNoisy is a series without any of the smells of rule 17.
func plausNoisy(level float64, times int) (out []float64) {
	state := uint32(1)
	for range times {
		state = state*1664525 + 1013904223
		out = append(out, level+float64(state>>20)/4096*level/10)
	}
	return out
}

var plausYes, plausNo = true, false

// Each case breaks one rule. fine moves one figure to the allowed side; without
// any of the fields of missing the rule is silent.
var plausRuleCases = []struct {
	name     string
	rule     int
	severity FindingSeverity
	text     string // part of the sentence
	point    PlausiblePoint
	fine     func(*PlausiblePoint)
	missing  string
}{
	{"Little, a factor of 1000", 1, FindingError, "as 0.14 s it agrees, a factor of 1000",
		PlausiblePoint{Loop: "closed", Connections: plausN(10000), Throughput: plausN(72000), LatencyMean: plausPublished(0.14e-3, 0.005e-3, "0.14 ms")},
		func(p *PlausiblePoint) { p.LatencyMean = plausPublished(0.14, 0.005, "0.14 s") }, "Loop Connections Throughput LatencyMean"},
	{"Little, 20 % high", 1, FindingWarning, "100 connections / (1000/s) = 100 ms, but the stated mean is 120 ms: 1.2 times too high",
		PlausiblePoint{Loop: "closed", Connections: plausN(100), Throughput: plausN(1000), LatencyMean: plausN(0.120)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.114) }, "Connections Throughput LatencyMean"},
	{"Little, with think time", 1, FindingError, "100 connections / (1000/s) − 90 ms = 10 ms",
		PlausiblePoint{Loop: "closed", Connections: plausN(100), Throughput: plausN(1000), ThinkTime: plausN(0.09), LatencyMean: plausN(0.2)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.01) }, "Connections Throughput LatencyMean"},
	{"Little, think time longer than N/X", 1, FindingImpossible, "cannot reach this throughput",
		PlausiblePoint{Loop: "closed", Connections: plausN(100), Throughput: plausN(1000), ThinkTime: plausN(0.2)},
		func(p *PlausiblePoint) { p.ThinkTime = plausN(0.099) }, "Connections Throughput ThinkTime"},
	{"open loop, more busy than connections", 1, FindingError, "1000/s · 500 ms = 500 operations at a time, more than the 100",
		PlausiblePoint{Loop: "open", Corrected: &plausNo, Connections: plausN(100), Throughput: plausN(1000), LatencyMean: plausN(0.5)},
		func(p *PlausiblePoint) { p.Corrected = &plausYes }, "Connections Throughput LatencyMean Corrected"},

	{"sysbench, 4 % off", 2, FindingError, "1000/s · 104 ms = 104 threads at work",
		PlausiblePoint{Tool: "sysbench", Connections: plausN(100), Throughput: plausN(1000), LatencyMean: plausN(0.104)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.1029) }, "Tool Connections Throughput LatencyMean"},
	{"sysbench, queries", 2, FindingWarning, "18 queries a transaction, but oltp_read_write makes 20",
		PlausiblePoint{Tool: "sysbench", Workload: "oltp_read_write", Throughput: plausN(1000), QueryRate: plausN(18000)},
		func(p *PlausiblePoint) { p.QueryRate = plausN(20100) }, "Tool Workload Throughput QueryRate"},
	{"sysbench, latency sum", 2, FindingWarning, "the sum of latencies 1000 s / 100 threads = 10 s each, but the run took 15 s",
		PlausiblePoint{Tool: "sysbench", Connections: plausN(100), LatencySum: plausN(1000), Seconds: plausN(15)},
		func(p *PlausiblePoint) { p.Seconds = plausN(10.4) }, "Connections LatencySum Seconds"},

	{"bounds, N/(D+Z)", 3, FindingImpossible, "is above N / (D + Z) = 10 / 10 ms = 1000/s",
		PlausiblePoint{Loop: "closed", Connections: plausN(10), Throughput: plausN(1100), Demand: plausN(0.01)},
		func(p *PlausiblePoint) { p.Throughput = plausN(1000) }, "Loop Connections Throughput Demand"},
	{"bounds, bottleneck", 3, FindingImpossible, "4 servers / 10 ms = 400/s",
		PlausiblePoint{Throughput: plausN(500), BottleneckDemand: plausN(0.01), Servers: plausN(4)},
		func(p *PlausiblePoint) { p.Throughput = plausN(400) }, "Throughput BottleneckDemand Servers"},
	{"bounds, R below D", 3, FindingImpossible, "below the service time D = 10 ms",
		PlausiblePoint{LatencyMean: plausN(0.009), Demand: plausN(0.01)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.01) }, "LatencyMean Demand"},
	{"bounds, R below N·Dmax/m − Z", 3, FindingImpossible, "100 · 10 ms / 4 − 0 s = 250 ms",
		PlausiblePoint{Loop: "closed", Connections: plausN(100), LatencyMean: plausN(0.2), BottleneckDemand: plausN(0.01), Servers: plausN(4)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.25) }, "Loop Connections LatencyMean BottleneckDemand Servers"},
	{"bounds, R below RTT", 3, FindingImpossible, "below one round trip of 1 ms",
		PlausiblePoint{LatencyMean: plausN(0.0005), RTT: plausN(0.001)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(0.001) }, "LatencyMean RTT"},

	{"CPU above all cores", 4, FindingImpossible, "150 % of all cores",
		PlausiblePoint{CPU: plausN(1.5)}, func(p *PlausiblePoint) { p.CPU = plausN(1) }, "CPU"},
	{"CPU cost times rate", 4, FindingImpossible, "100000/s · 1 ms = 100 cores busy, of 64",
		PlausiblePoint{Throughput: plausN(100000), CPUPerOperation: plausN(0.001), Cores: plausN(64)},
		func(p *PlausiblePoint) { p.CPUPerOperation = plausN(0.0006) }, "Throughput CPUPerOperation Cores"},
	{"CPU cost stated otherwise", 4, FindingWarning, "= 400 µs of CPU per operation, but 100 µs is stated",
		PlausiblePoint{CPU: plausN(0.45), Cores: plausN(64), Throughput: plausN(72000), CPUPerOperation: plausN(100e-6)},
		func(p *PlausiblePoint) { p.CPUPerOperation = plausN(390e-6) }, "CPU Cores Throughput CPUPerOperation"},
	{"CPU, dear static file", 4, FindingWarning, "= 400 µs of CPU per operation, 10 to 40 times",
		PlausiblePoint{Service: "static-file", CPU: plausN(0.45), Cores: plausN(64), Throughput: plausN(72000)},
		func(p *PlausiblePoint) { p.Cores = plausN(32) }, "Service CPU Cores Throughput"},
	{"CPU, too cheap HTTP", 4, FindingWarning, "= 4 µs of CPU per operation, less than the 5 µs",
		PlausiblePoint{Tool: "wrk", CPU: plausN(0.4), Cores: plausN(1), Throughput: plausN(100000)},
		func(p *PlausiblePoint) { p.CPU = plausN(0.6) }, "CPU Cores Throughput Tool"},
	{"CPU, capacity with SMT", 4, FindingWarning, "with SMT half busy is not half used",
		PlausiblePoint{CPU: plausN(0.5), Capacity: plausN(100000), SMT: &plausYes},
		func(p *PlausiblePoint) { p.SMT = &plausNo }, "CPU Capacity SMT"},
	{"CPU, capacity from low load", 4, FindingWarning, "below 20 % load",
		PlausiblePoint{CPU: plausN(0.15), Capacity: plausN(100000)},
		func(p *PlausiblePoint) { p.CPU = plausN(0.25) }, "CPU Capacity"},

	{"CPU states", 5, FindingError, "50 % + 20 % + 40 % = 110 %",
		PlausiblePoint{CPUStates: plausNs(0.5, 0.2, 0.4)}, func(p *PlausiblePoint) { p.CPUStates = plausNs(0.5, 0.2, 0.305) }, "CPUStates"},
	{"steal", 5, FindingWarning, "1.1 % of the CPU was stolen",
		PlausiblePoint{Steal: plausN(0.011)}, func(p *PlausiblePoint) { p.Steal = plausN(0.01) }, "Steal"},
	{"busy client", 5, FindingWarning, "95 % busy",
		PlausiblePoint{LoadCPU: plausN(0.95)}, func(p *PlausiblePoint) { p.LoadCPU = plausN(0.9) }, "LoadCPU"},

	{"transfer rate in bits", 6, FindingError, "a factor of 8, bits for bytes",
		PlausiblePoint{Throughput: plausN(1000), BytesPerOperation: plausN(1e6), TransferRate: plausN(8e9)},
		func(p *PlausiblePoint) { p.TransferRate = plausN(1e9) }, "Throughput BytesPerOperation TransferRate"},
	{"above the line rate", 6, FindingImpossible, "11 Gbit/s is above the line rate of 10 Gbit/s",
		PlausiblePoint{BitRate: plausN(11e9), LinkRate: plausN(10e9)},
		func(p *PlausiblePoint) { p.BothDirections = &plausYes }, "BitRate LinkRate"},
	{"above MTU 1500", 6, FindingImpossible, "9.6 Gbit/s is above the 9.493 Gbit/s that 10 Gbit/s can carry as payload at MTU 1500",
		PlausiblePoint{BitRate: plausN(9.6e9), LinkRate: plausN(10e9), MTU: plausN(1500)},
		func(p *PlausiblePoint) { p.BitRate = plausN(9.41e9) }, "BitRate LinkRate"},
	{"above with timestamps", 6, FindingWarning, "it needs timestamps off (9.493 Gbit/s)",
		PlausiblePoint{BitRate: plausN(9.46e9), LinkRate: plausN(10e9), MTU: plausN(1500)},
		func(p *PlausiblePoint) { p.Timestamps = &plausNo }, "BitRate LinkRate"},
	{"jumbo frames", 6, FindingWarning, "it needs jumbo frames, which are not stated",
		PlausiblePoint{BitRate: plausN(9.6e9), LinkRate: plausN(10e9)},
		func(p *PlausiblePoint) { p.MTU = plausN(9000) }, "BitRate LinkRate"},
	{"bytes of requests above the link", 6, FindingImpossible, "1000000/s · 10 kB = 80 Gbit/s is above the line rate",
		PlausiblePoint{Throughput: plausN(1e6), BytesPerOperation: plausN(1e4), LinkRate: plausN(10e9)},
		func(p *PlausiblePoint) { p.Loopback = &plausYes }, "Throughput BytesPerOperation LinkRate"},

	{"packets", 7, FindingImpossible, "/ (8 · (1518 + 20)) = 812743/s",
		PlausiblePoint{PacketRate: plausN(900000), FrameBytes: plausN(1518), LinkRate: plausN(10e9)},
		func(p *PlausiblePoint) { p.PacketRate = plausN(812000) }, "PacketRate FrameBytes LinkRate"},
	{"window", 7, FindingImpossible, "window's ceiling 1 · 8 · 65.54 kB / 10 ms = 52.43 Mbit/s",
		PlausiblePoint{BitRate: plausPublished(100e6, 0, "100 Mbit/s"), Connections: plausN(1), Window: plausPublished(65536, 0, "65.54 kB"), RTT: plausN(0.01)},
		func(p *PlausiblePoint) { p.RTT = plausN(0.005) }, "BitRate Connections Window RTT"},
	{"Mathis with Reno", 7, FindingWarning, "(Mathis, Reno)",
		PlausiblePoint{BitRate: plausN(1e9), Connections: plausN(1), MSS: plausN(1448), RTT: plausN(0.01), Loss: plausN(0.0001), CongestionControl: "reno"},
		func(p *PlausiblePoint) { p.BitRate = plausN(141e6) }, "BitRate Connections MSS RTT Loss"},
	{"Mathis with another control", 7, FindingNote, "(Mathis, holds for Reno only)",
		PlausiblePoint{BitRate: plausN(1e9), Connections: plausN(1), MSS: plausN(1448), RTT: plausN(0.01), Loss: plausN(0.0001)},
		func(p *PlausiblePoint) { p.Loss = plausN(1e-6) }, "BitRate Loss"},
	{"more received than sent", 7, FindingError, "2 GB received are more than the 1 GB sent",
		PlausiblePoint{BytesSent: plausN(1e9), BytesReceived: plausN(2e9)},
		func(p *PlausiblePoint) { p.BytesReceived = plausN(1e9) }, "BytesSent BytesReceived"},
	{"streams", 7, FindingError, "the 2 streams sum to 900 MB, but the total is 1 GB",
		PlausiblePoint{BytesSent: plausN(1e9), StreamBytes: plausNs(5e8, 4e8)},
		func(p *PlausiblePoint) { p.StreamBytes = plausNs(5e8, 5e8) }, "BytesSent StreamBytes"},
	{"intervals", 7, FindingError, "the 3 intervals sum to 1.2 GB",
		PlausiblePoint{BytesSent: plausN(1e9), IntervalBytes: plausNs(4e8, 4e8, 4e8)},
		func(p *PlausiblePoint) { p.IntervalBytes = plausNs(4e8, 4e8, 2e8) }, "BytesSent IntervalBytes"},
	{"retransmits", 7, FindingWarning, "= 200 MB, 20 % of the 1 GB sent",
		PlausiblePoint{BytesSent: plausN(1e9), Retransmits: plausN(200000), MSS: plausN(1000)},
		func(p *PlausiblePoint) { p.Retransmits = plausN(100000) }, "BytesSent Retransmits MSS"},

	{"percentiles out of order", 8, FindingImpossible, "P99 = 3 ms is above P99.9 = 2 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.999, .002), plausPq(.99, .003)}},
		func(p *PlausiblePoint) { p.Percentiles[0].Value = .003 }, "Percentiles"},
	{"P99 above the maximum", 8, FindingImpossible, "P99 = 3 ms is above the maximum = 2 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.99, .003)}, LatencyMax: plausN(.002)},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(.003) }, "Percentiles LatencyMax"},
	{"minimum above P50", 8, FindingImpossible, "the minimum = 2 ms is above P50 = 1 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.5, .001)}, LatencyMin: plausN(.002)},
		func(p *PlausiblePoint) { p.LatencyMin = plausN(.001) }, "Percentiles LatencyMin"},
	{"Markov at P50", 8, FindingImpossible, "P50 = 5 ms is above mean / (1 − q) = 2 ms / 0.5 = 4 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.5, .005)}, LatencyMean: plausN(.002)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(.0025) }, "Percentiles LatencyMean"},
	{"Markov at P99", 8, FindingImpossible, "P99 = 210 ms is above mean / (1 − q) = 2 ms / 0.01 = 200 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.99, .21)}, LatencyMean: plausN(.002)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(.0021) }, "Percentiles LatencyMean"},
	{"Cantelli", 8, FindingImpossible, "1 ms + 100 µs · 9.95 = 1.995 ms",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.99, .0025)}, LatencyMean: plausN(.001), LatencySD: plausN(.0001)},
		func(p *PlausiblePoint) { p.Percentiles[0].Value = .0019 }, "Percentiles LatencyMean LatencySD"},
	{"mean and median", 8, FindingImpossible, "are 1 ms apart, more than σ = 100 µs",
		PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.5, .001)}, LatencyMean: plausN(.002), LatencySD: plausN(.0001)},
		func(p *PlausiblePoint) { p.LatencySD = plausN(.001) }, "Percentiles LatencyMean LatencySD"},
	{"Samuelson", 8, FindingImpossible, "the maximum 1 s is above mean + σ·√(n−1) = 1 ms + 1 ms · 9.95",
		PlausiblePoint{LatencyMax: plausN(1), LatencyMean: plausN(.001), LatencySD: plausN(.001), LatencyCount: plausN(100)},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(.0109) }, "LatencyMax LatencyMean LatencySD LatencyCount"},
	{"tail of Little's mean against wrk's time-out", 8, FindingImpossible, "would need a mean of (138.9 ms − 0.999 · 1.2 ms) / 0.001 = 137.7 s, but wrk gives up after 2 s",
		PlausiblePoint{Tool: "wrk", Connections: plausN(10000), Throughput: plausN(72000), Percentiles: []PlausiblePercentile{{.999, *plausPublished(1.2e-3, .05e-3, "1.2 ms")}}},
		func(p *PlausiblePoint) { p.Percentiles[0].Value = .138 }, "Tool Connections Throughput Percentiles"},
	{"tail of the stated mean against the maximum", 8, FindingImpossible, "but the maximum is 50 ms",
		PlausiblePoint{LatencyMean: plausN(.01), LatencyMax: plausN(.05), Percentiles: []PlausiblePercentile{plausPq(.99, .001)}},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(.95) }, "LatencyMean LatencyMax Percentiles"},
	{"the same with failed operations", 8, FindingError, "failed and unanswered operations are not in the percentiles",
		PlausiblePoint{LatencyMean: plausN(.01), LatencyMax: plausN(.05), Errors: plausN(3), Percentiles: []PlausiblePercentile{plausPq(.99, .001)}},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(.95) }, "LatencyMean LatencyMax Percentiles"},
	{"tail against the length of the test", 8, FindingWarning, "would need a mean of (1 s − 0.99 · 1 ms) / 0.01 = 99.9 s, but the test took 60 s",
		PlausiblePoint{LatencyMean: plausN(1), Seconds: plausN(60), Percentiles: []PlausiblePercentile{plausPq(.99, .001)}},
		func(p *PlausiblePoint) { p.Seconds = plausN(100) }, "LatencyMean Seconds Percentiles"},
	{"too few operations for P99.9", 8, FindingWarning, "P99.9 rests on 5000 operations, of which 5 are above it: it needs 10000",
		PlausiblePoint{Total: plausN(5000), Percentiles: []PlausiblePercentile{plausPq(.99, .001), plausPq(.999, .002)}},
		func(p *PlausiblePoint) { p.Total = plausN(10000) }, "Total Percentiles"},

	{"gap without a long request", 9, FindingError, "3 s without one completion on 100 open connections, but the maximum latency is 50 ms",
		PlausiblePoint{Connections: plausN(100), LatencyMax: plausN(.05), PerSecond: []float64{100, 110, 0, 0, 0, 120}},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(3.2) }, "Connections LatencyMax PerSecond"},
	{"gap longer than the time-out", 9, FindingWarning, "drops the answer from its histogram",
		PlausiblePoint{Tool: "wrk", Connections: plausN(100), LatencyMax: plausN(.05), PerSecond: []float64{100, 110, 0, 0, 0, 120}},
		func(p *PlausiblePoint) { p.LatencyMax = plausN(3.2) }, "Connections LatencyMax PerSecond"},
	{"gap at the end", 9, FindingWarning, "the last 2 s of the run have no completion",
		PlausiblePoint{Connections: plausN(100), PerSecond: []float64{100, 110, 0, 0}},
		func(p *PlausiblePoint) { p.PerSecond[3] = 100 }, "Connections PerSecond"},
	{"P99 below the longest stall", 9, FindingWarning, "although 4 s of 100 s = 4 % of the run was stalled",
		PlausiblePoint{LongestStall: plausN(4), StalledTime: plausN(4), Seconds: plausN(100), Percentiles: []PlausiblePercentile{plausPq(.99, .04)}},
		func(p *PlausiblePoint) { p.Corrected = &plausYes }, "LongestStall StalledTime Seconds Percentiles"},

	{"total / T", 10, FindingError, "6000 operations / 60 s = 100/s, but 110/s is stated",
		PlausiblePoint{Throughput: plausN(110), Total: plausN(6000), Seconds: plausN(60)},
		func(p *PlausiblePoint) { p.Throughput = plausN(100.9) }, "Throughput Total Seconds"},
	{"mean of the seconds", 10, FindingError, "the 100 per-second rates have the mean",
		PlausiblePoint{Throughput: plausN(2000), PerSecond: plausNoisy(1000, 100)},
		func(p *PlausiblePoint) { p.Throughput = plausN(1050) }, "Throughput PerSecond"},
	{"sum of the seconds", 10, FindingError, "seconds sum to",
		PlausiblePoint{Total: plausN(200000), Seconds: plausN(100), PerSecond: plausNoisy(1000, 100)},
		func(p *PlausiblePoint) { p.Total = plausN(105000) }, "Total PerSecond"},
	{"trimmed and untrimmed", 10, FindingNote, "105/s kept, 100/s over the whole run (-4.76 %)",
		PlausiblePoint{Throughput: plausN(105), Untrimmed: plausN(100)},
		func(p *PlausiblePoint) { p.Untrimmed = plausN(104.5) }, "Throughput Untrimmed"},

	{"creation rate", 11, FindingError, "100 / 10 s = 10/s, but 4 at a time in 500 ms each give at most 8/s",
		PlausiblePoint{BatchCount: plausN(100), BatchTime: plausN(10), Concurrency: plausN(4), LatencyMean: plausN(.5)},
		func(p *PlausiblePoint) { p.LatencyMean = plausN(.4) }, "BatchCount BatchTime Concurrency LatencyMean"},
	{"docker in no time", 11, FindingWarning, "= 20 ms each, but docker needs at least 100 ms",
		PlausiblePoint{BatchCount: plausN(100), BatchTime: plausN(2), Concurrency: plausN(1), Runtime: "docker"},
		func(p *PlausiblePoint) { p.Concurrency = plausN(5) }, "BatchCount BatchTime Concurrency Runtime"},
	{"pid_max", 11, FindingImpossible, "40000 alive at once are more than pid_max = 32768",
		PlausiblePoint{Live: plausN(40000), PIDMax: plausN(32768)},
		func(p *PlausiblePoint) { p.Live = plausN(32768) }, "Live PIDMax"},
	{"more than the memory", 11, FindingImpossible, "1000 · 10 MB = 10 GB, more than the 8 GB",
		PlausiblePoint{Live: plausN(1000), PSS: plausN(10e6), MemoryTotal: plausN(8e9)},
		func(p *PlausiblePoint) { p.PSS = plausN(8e6) }, "Live PSS MemoryTotal"},
	{"bridge ports", 11, FindingImpossible, "1025 containers on one bridge",
		PlausiblePoint{Live: plausN(1025), OneBridge: &plausYes},
		func(p *PlausiblePoint) { p.Live = plausN(1024) }, "Live OneBridge"},
	{"live count", 11, FindingWarning, "100 / 10 s · 5 s of life = 50 alive at once, but 100 are stated",
		PlausiblePoint{BatchCount: plausN(100), BatchTime: plausN(10), Lifetime: plausN(5), Live: plausN(100)},
		func(p *PlausiblePoint) { p.Lifetime = plausN(10) }, "BatchCount BatchTime Lifetime Live"},

	{"ports, all stated", 12, FindingImpossible, "60000 connections are more than 1 address pairs · 55536 ports = 55536",
		PlausiblePoint{Connections: plausN(60000), Tuples: plausN(1), Ports: plausN(55536)},
		func(p *PlausiblePoint) { p.Tuples = plausN(2) }, "Connections"},
	{"ports, default range", 12, FindingError, "28232 ports (the default range)",
		PlausiblePoint{Connections: plausN(30000), Tuples: plausN(1)},
		func(p *PlausiblePoint) { p.Ports = plausN(55536) }, "Connections"},
	{"ports, pairs not stated", 12, FindingWarning, "it needs 3 pairs",
		PlausiblePoint{Connections: plausN(60000)},
		func(p *PlausiblePoint) { p.Connections = plausN(28232) }, "Connections"},
	{"new connections", 12, FindingWarning, "1 · 28232 ports / 60 s in TIME_WAIT = 470.5/s",
		PlausiblePoint{ConnectRate: plausN(1000), Tuples: plausN(1), ClientCloses: &plausYes},
		func(p *PlausiblePoint) { p.Loopback = &plausYes }, "ConnectRate Tuples ClientCloses"},
	{"descriptors", 12, FindingImpossible, "10000 connections are more than 4 processes · 1024 descriptors",
		PlausiblePoint{Connections: plausN(10000), OpenFiles: plausN(1024), Processes: plausN(4)},
		func(p *PlausiblePoint) { p.Processes = plausN(10) }, "Connections OpenFiles"},
	{"descriptors of one process", 12, FindingWarning, "the 1024 descriptors of one process",
		PlausiblePoint{Connections: plausN(10000), OpenFiles: plausN(1024)},
		func(p *PlausiblePoint) { p.OpenFiles = plausN(20000) }, "Connections OpenFiles"},

	{"commits", 13, FindingError, "5000/s commits are more than 1000/s fsyncs · 4 = 4000/s",
		PlausiblePoint{CommitRate: plausN(5000), FsyncRate: plausN(1000), GroupCommit: plausN(4)},
		func(p *PlausiblePoint) { p.GroupCommit = plausN(5) }, "CommitRate FsyncRate GroupCommit"},
	{"commit faster than fsync", 13, FindingError, "took less than 100 µs, but one fsync takes 1 ms",
		PlausiblePoint{CommitP50: plausN(.0001), FsyncLatency: plausN(.001)},
		func(p *PlausiblePoint) { p.CommitP50 = plausN(.001) }, "CommitP50 FsyncLatency"},
	{"disk bandwidth", 13, FindingError, "10000/s · 4 pages · 16.38 kB = 655.4 MB/s, more than the disk's 500 MB/s",
		PlausiblePoint{Throughput: plausN(10000), WritesPerOperation: plausN(4), PageBytes: plausN(16384), DiskBandwidth: plausN(500e6)},
		func(p *PlausiblePoint) { p.DiskBandwidth = plausN(700e6) }, "Throughput WritesPerOperation PageBytes DiskBandwidth"},

	{"PSS above RSS", 14, FindingImpossible, "PSS 2 MB is more than RSS 1 MB",
		PlausiblePoint{PSS: plausN(2e6), RSS: plausN(1e6)}, func(p *PlausiblePoint) { p.PSS = plausN(1e6) }, "PSS RSS"},
	{"available above the total", 14, FindingImpossible, "available 2 GB is more than the total 1 GB",
		PlausiblePoint{MemoryAvailable: plausN(2e9), MemoryTotal: plausN(1e9)},
		func(p *PlausiblePoint) { p.MemoryAvailable = plausN(1e9) }, "MemoryAvailable MemoryTotal"},
	{"not whole pages", 14, FindingWarning, "RSS 5000 bytes is not a multiple",
		PlausiblePoint{RSS: plausN(5000), PageBytes: plausN(4096)},
		func(p *PlausiblePoint) { p.RSS = plausN(8192) }, "RSS PageBytes"},
	{"growth", 14, FindingImpossible, "1 MB/s · 259200 s = 259.2 GB, more than the 256 GB",
		PlausiblePoint{MemoryGrowth: plausN(1e6), Seconds: plausN(259200), MemoryTotal: plausN(256e9)},
		func(p *PlausiblePoint) { p.MemoryGrowth = plausN(9e5) }, "MemoryGrowth Seconds MemoryTotal"},
	{"restart", 14, FindingWarning, "memory fell by 200 MB after 1 restarts",
		PlausiblePoint{MemoryChange: plausN(-200e6), Restarts: plausN(1)},
		func(p *PlausiblePoint) { p.Restarts = plausN(0) }, "MemoryChange Restarts"},

	{"equal runs", 15, FindingWarning, "all 3 runs gave 72000",
		PlausiblePoint{RunValues: plausNs(72000, 72000, 72000)},
		func(p *PlausiblePoint) { p.RunValues = plausNs(72000, 72000, 72001) }, "RunValues"},
	{"unstable runs", 15, FindingWarning, "= 20 % (limit 10 %): unstable",
		PlausiblePoint{RunValues: plausNs(80, 100, 120)},
		func(p *PlausiblePoint) { p.RunValues = plausNs(91, 100, 109) }, "RunValues"},
	{"unstable as stated", 15, FindingWarning, "a spread of 12 % over runs",
		PlausiblePoint{CV: plausN(.12)}, func(p *PlausiblePoint) { p.CV = plausN(.1) }, "CV"},
	{"less spread than the noise within", 15, FindingNote, "the runs vary less than the noise within them: s²/v = 0.0001 / 1 = 0.0001",
		PlausiblePoint{RunValues: plausNs(100.01, 100.02, 100), WithinVariance: plausN(1), WithinDF: plausN(24)},
		func(p *PlausiblePoint) { p.RunValues = plausNs(100.1, 100.2, 100) }, "RunValues WithinVariance WithinDF"},
	{"GRIM", 15, FindingError, "72000.5 · 3 runs = 216001.500, but the sum of whole numbers is whole: nearest are 216002/3 = 72000.666667",
		PlausiblePoint{Throughput: plausPublished(72000.5, .05, "72000.5"), Runs: plausN(3), Integers: &plausYes},
		func(p *PlausiblePoint) { p.Throughput = plausPublished(72000.7, .05, "72000.7") }, "Throughput Runs Integers"},

	{"average", 16, FindingError, "the mean of the 3 runs is 102, but 101 is stated (their median)",
		PlausiblePoint{Throughput: plausPublished(101, .5, "101"), RunValues: plausNs(100, 101, 105)},
		func(p *PlausiblePoint) { p.Throughput = plausPublished(102, .5, "102") }, "Throughput RunValues"},

	{"stuck", 17, FindingWarning, "1234 for 60 s in a row",
		PlausiblePoint{PerSecond: plausRepeat(1234, 60)}, func(p *PlausiblePoint) { p.PerSecond = plausRepeat(1234, 59) }, "PerSecond"},
	{"interpolated", 17, FindingWarning, "5 values in a straight line",
		PlausiblePoint{PerSecond: []float64{10.5, 20.5, 30.5, 40.5, 50.5, 51.5}},
		func(p *PlausiblePoint) { p.PerSecond[3] = 41.5 }, "PerSecond"},
	{"last digits", 17, FindingNote, "100 % of 120 values end in 0",
		PlausiblePoint{PerSecond: func() (x []float64) {
			for _, v := range plausNoisy(1000, 120) {
				x = append(x, 10*math.Round(v/10))
			}
			return x
		}()},
		func(p *PlausiblePoint) {
			for i, v := range plausNoisy(1000, 120) {
				p.PerSecond[i] = math.Round(v)
			}
		}, "PerSecond"},
	{"samples", 17, FindingWarning, "250000 samples, but 259200 s · (1 − 1 % missing) make 256608",
		PlausiblePoint{Samples: plausN(250000), Seconds: plausN(259200), Missing: plausN(.01)},
		func(p *PlausiblePoint) { p.Samples = plausN(256608) }, "Samples Seconds"},

	{"errors", 19, FindingWarning, "200 failed of 100000 operations = 0.2 %",
		PlausiblePoint{Errors: plausN(150), Timeouts: plausN(50), Total: plausN(100000)},
		func(p *PlausiblePoint) { p.Errors = plausN(50) }, "Errors Total"},
	{"errors of rate and time", 19, FindingWarning, "1000 failed of 100000 operations = 1 %",
		PlausiblePoint{Aborted: plausN(1000), Throughput: plausN(1000), Seconds: plausN(100)},
		func(p *PlausiblePoint) { p.Aborted = plausN(100) }, "Aborted Throughput Seconds"},
	{"some retransmits", 19, FindingWarning, "= 0.5 % of the segments",
		PlausiblePoint{BytesSent: plausN(1e9), Retransmits: plausN(5000), MSS: plausN(1000)},
		func(p *PlausiblePoint) { p.Retransmits = plausN(1000) }, "BytesSent Retransmits MSS"},

	{"eight", 20, FindingError, "transfer_rate: 100 and 800 differ by a factor of 8: bits for bytes",
		PlausiblePoint{Other: []PlausibleSource{{"transfer_rate", PlausibleNumber{Value: 100}, PlausibleNumber{Value: 800}}}},
		func(p *PlausiblePoint) { p.Other[0].Second.Value = 700 }, "Other"},
	{"GiB", 20, FindingError, "GB for GiB",
		PlausiblePoint{Other: []PlausibleSource{{"memory", PlausibleNumber{Value: 1 << 30}, PlausibleNumber{Value: 1e9}}}},
		func(p *PlausiblePoint) { p.Other[0].Second.Value = 1.2e9 }, "Other"},
}

// plausClonePoint copies the lists that fine changes in place.
func plausClonePoint(p PlausiblePoint) PlausiblePoint {
	p.Percentiles = append([]PlausiblePercentile(nil), p.Percentiles...)
	p.PerSecond = append([]float64(nil), p.PerSecond...)
	p.Other = append([]PlausibleSource(nil), p.Other...)
	return p
}

func plausSpeaks(found []Finding, rule int, text string) (Finding, bool) {
	for _, f := range found {
		if f.Rule == rule && !f.Holds && strings.Contains(f.Text, text) {
			return f, true
		}
	}
	return Finding{}, false
}

func TestPlausibleRules(t *testing.T) {
	covered := map[int]bool{}
	for _, tt := range plausRuleCases {
		covered[tt.rule] = true
		t.Run(tt.name, func(t *testing.T) {
			found := plausiblePoint(plausClonePoint(tt.point))
			f, ok := plausSpeaks(found, tt.rule, tt.text)
			if !ok || f.Severity != tt.severity {
				t.Fatalf("got %+v, want rule %d, %s, %q", found, tt.rule, tt.severity, tt.text)
			}
			if len(f.Values) == 0 {
				t.Error("no values")
			}
			p := plausClonePoint(tt.point)
			tt.fine(&p)
			if f, ok := plausSpeaks(plausiblePoint(p), tt.rule, ""); ok {
				t.Errorf("the allowed side speaks: %+v", f)
			}
			for _, name := range strings.Fields(tt.missing) {
				p := plausClonePoint(tt.point)
				reflect.ValueOf(&p).Elem().FieldByName(name).SetZero()
				if f, ok := plausSpeaks(plausiblePoint(p), tt.rule, tt.text); ok {
					t.Errorf("without %s it speaks: %+v", name, f)
				}
			}
		})
	}
	for _, rule := range []int{16, 18} { // have tests of their own
		covered[rule] = true
	}
	for rule := 1; rule <= 20; rule++ {
		if !covered[rule] {
			t.Errorf("rule %d has no case", rule)
		}
	}
	if found := plausiblePoint(PlausiblePoint{}); found != nil {
		t.Errorf("nothing known, but %+v", found)
	}
}

func TestPlausibleRuleListNamesEveryRule(t *testing.T) {
	for i, r := range PlausibleRules() {
		if r.Rule != i+1 || r.Name == "" || r.Formula == "" || r.Severity == "" || r.Source == "" {
			t.Errorf("rule %d: %+v", i+1, r)
		}
	}
	for _, tt := range plausRuleCases {
		if s := plausibleRules[tt.rule-1].Severity; !strings.Contains(s, string(tt.severity)) {
			t.Errorf("rule %d finds %s, its description says %q", tt.rule, tt.severity, s)
		}
	}
}

// Known answers: 0x8086.blogspot.com 2011 for Ethernet goodput.
func TestPlausibleGoodput(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		rate, mtu            float64
		stamps, v6, udp, tag bool
		want                 float64
	}{
		{"10 GbE", 10e9, 1500, true, false, false, false, 9.415e9},
		{"10 GbE jumbo", 10e9, 9000, true, false, false, false, 9.900e9},
		{"1 GbE", 1e9, 1500, true, false, false, false, 0.941e9},
		{"25 GbE", 25e9, 1500, true, false, false, false, 23.54e9},
		{"100 GbE", 100e9, 1500, true, false, false, false, 94.1e9},
		{"no timestamps", 10e9, 1500, false, false, false, false, 9.49e9},
		{"IPv6", 10e9, 1500, true, true, false, false, 9.28e9},
		{"UDP", 10e9, 1500, false, false, true, false, 9.57e9},
		{"VLAN", 10e9, 1500, true, false, false, true, 10e9 * 1448 / 1542},
		{"no room", 10e9, 20, true, false, false, false, 0},
		{"not a number", math.NaN(), 1500, true, false, false, false, 0},
	} {
		if got := PlausibleGoodput(tt.rate, tt.mtu, tt.stamps, tt.v6, tt.udp, tt.tag); math.Abs(got-tt.want) > 1e-3*tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// R's power.t.test(power = .8): 3.07, 2.024 and 1.325 standard deviations.
func TestPlausibleDetectable(t *testing.T) {
	for n, want := range map[float64]float64{3: 0.0614, 5: 0.04049, 10: 0.0265} {
		if got := plausDetectable(n, 0.02); math.Abs(got-want) > 0.00005 {
			t.Errorf("n = %v: got %v, want %v", n, got, want)
		}
	}
}

func TestPlausibleDifferences(t *testing.T) {
	diff := func(v, b, stated, half float64) PlausibleDifference {
		return PlausibleDifference{Measure: "throughput", System: "A", Base: "B", Value: plausN(v), BaseValue: plausN(b), Stated: &PlausibleNumber{Value: stated, Half: half}}
	}
	for _, tt := range []struct {
		name     string
		d        PlausibleDifference
		severity FindingSeverity // "" for nothing
		holds    bool
		text     string
	}{
		{"agrees rounded", diff(85000, 78000, .09, .005), FindingNote, true, "+8.97 % (stated +9.00 %)"},
		{"half up to the even", diff(13500, 12000, .12, .005), FindingNote, true, "+12.5 %"},
		{"off", diff(85000, 78000, .10, .005), FindingError, false, "+8.97 %, but +10.0 % is stated"},
		{"wrong base", diff(85000, 68000, .20, .005), FindingError, false, "share of A itself"},
		{"more than 100 % lower", diff(10, 100, -1.2, .005), FindingImpossible, false, "more than 100 % lower"},
		{"no base", PlausibleDifference{Measure: "throughput", System: "A", Value: plausN(110), BaseValue: plausN(100), Stated: plausN(.1)}, FindingWarning, false, "of what is not stated"},
		{"ratio and inverse", PlausibleDifference{Measure: "throughput", System: "A", Ratio: plausN(2), Inverse: plausN(.4)}, FindingError, false, "= 0.8, not 1"},
		{"ratio and inverse agree", PlausibleDifference{Measure: "throughput", System: "A", Ratio: plausN(2), Inverse: plausN(.5)}, "", false, ""},
		{"no value", PlausibleDifference{Measure: "throughput", System: "A", Base: "B", BaseValue: plausN(100), Stated: plausN(.1)}, "", false, ""},
		{"nothing stated", PlausibleDifference{Measure: "throughput", System: "A", Base: "B", Value: plausN(110), BaseValue: plausN(100)}, "", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := PlausibleDifferences(PlausibleTest{Name: "web", Differences: []PlausibleDifference{tt.d}})
			if tt.severity == "" {
				if got != nil {
					t.Fatalf("got %+v, want nothing", got)
				}
				return
			}
			if len(got) == 0 || got[0].Severity != tt.severity || got[0].Holds != tt.holds || !strings.Contains(got[0].Text, tt.text) {
				t.Errorf("got %+v, want %s %q", got, tt.severity, tt.text)
			}
		})
	}
}

func TestPlausibleSaturation(t *testing.T) {
	at := func(system string, conns, x, r float64) PlausiblePoint {
		p := PlausiblePoint{System: system, Loop: "closed", Connections: plausN(conns), Throughput: plausN(x)}
		if r > 0 {
			p.LatencyMean = plausN(r)
		}
		return p
	}
	link := func(system string, rate float64, mtu *PlausibleNumber) PlausiblePoint {
		return PlausiblePoint{System: system, Label: "10 connections", BitRate: plausN(rate), LinkRate: plausN(10e9), MTU: mtu}
	}
	withDemand := func(p PlausiblePoint) PlausiblePoint {
		p.Demand, p.BottleneckDemand, p.Servers = plausN(.02), plausN(.01), plausN(4)
		return p
	}
	for _, tt := range []struct {
		name     string
		points   []PlausiblePoint
		severity FindingSeverity
		text     string
	}{
		{"tied", []PlausiblePoint{link("A", 9.4e9, plausN(1500)), link("B", 9.3e9, plausN(1500))}, FindingWarning, "10 connections: 99.8 and 98.8 % of 9.415 Gbit/s"},
		{"one below the ceiling", []PlausiblePoint{link("A", 9.4e9, plausN(1500)), link("B", 9.1e9, plausN(1500))}, "", ""},
		{"ceiling of jumbo frames", []PlausiblePoint{link("A", 9.4e9, plausN(9000)), link("B", 9.4e9, plausN(9000))}, "", ""},
		{"one system", []PlausiblePoint{link("A", 9.4e9, plausN(1500))}, "", ""},
		{"flat, latency as N", []PlausiblePoint{at("A", 100, 1000, .1), at("A", 200, 1000, .2)}, "", ""},
		{"flat, latency unchanged", []PlausiblePoint{at("A", 100, 1000, .1), at("A", 400, 1000, .1)}, FindingError, "must raise the latency × 4, but it goes from 100 ms to 100 ms (× 1)"},
		{"flat, latency a little low", []PlausiblePoint{at("A", 100, 1000, .1), at("A", 200, 1000, .16)}, FindingWarning, "× 1.6"},
		{"flat, latency unknown", []PlausiblePoint{at("A", 100, 1000, 0), at("A", 200, 1000, 0)}, "", ""},
		{"superlinear", []PlausiblePoint{at("A", 100, 1000, 0), at("A", 200, 2200, 0)}, FindingWarning, "(× 2) the throughput grows × 2.2"},
		{"linear", []PlausiblePoint{at("A", 100, 1000, 0), at("A", 200, 2000, 0)}, "", ""},
		{"X·R falls", []PlausiblePoint{at("A", 100, 1000, .1), at("A", 200, 1500, .05)}, FindingWarning, "X · R falls from 100 to 75"},
		{"another system between", []PlausiblePoint{at("A", 100, 1000, 0), at("B", 100, 900, 0), at("A", 200, 2200, 0), at("B", 200, 1800, 0)}, FindingWarning, "superlinear"},
		{"knee", []PlausiblePoint{withDemand(at("A", 4, 200, 0)), withDemand(at("A", 16, 400, 0))}, FindingNote, "20 ms · 4 / 10 ms = 8 connections lies between 4 and 16"},
		{"knee elsewhere", []PlausiblePoint{withDemand(at("A", 16, 400, 0)), withDemand(at("A", 24, 400, 0))}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := PlausibleSaturation(PlausibleTest{Name: "web", Points: tt.points})
			if tt.severity == "" {
				if got != nil {
					t.Errorf("got %+v, want nothing", got)
				}
				return
			}
			if len(got) != 1 || got[0].Severity != tt.severity || !strings.Contains(got[0].Text, tt.text) {
				t.Errorf("got %+v, want %s %q", got, tt.severity, tt.text)
			}
		})
	}
}

func TestPlausibleBatches(t *testing.T) {
	at := func(label, system string, count, time float64) PlausiblePoint {
		return PlausiblePoint{Label: label, System: system, BatchCount: plausN(count), BatchTime: plausN(time)}
	}
	test := PlausibleTest{Name: "containers", Points: []PlausiblePoint{
		at("100", "A", 100, 8), at("100", "B", 100, 12), at("300", "A", 300, 22), at("300", "B", 300, 35), at("500", "A", 500, 40), at("500", "B", 500, 60)}}
	got := PlausibleBatches(test, "B")
	const want = "count / time = 12.5, 13.6, 12.5 per s A; 8.3, 8.6, 8.3 per s B; the times of A differ from B's by -33, -37, -33 %: no slow-down with the number"
	if len(got) != 1 || got[0].Text != want || !got[0].Holds {
		t.Errorf("got %+v", got)
	}
	test.Points[5].BatchTime = plausN(120)
	if got := PlausibleBatches(test, ""); len(got) != 1 || got[0].Holds || !strings.Contains(got[0].Text, "the rate changes with the number") {
		t.Errorf("got %+v", got)
	}
	if got := PlausibleBatches(PlausibleTest{Points: []PlausiblePoint{{BatchCount: plausN(3)}}}, "B"); got != nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestPlausibleUncertaintyIsSilentWithASpread(t *testing.T) {
	a, b := PlausiblePoint{System: "A", Runs: plausN(3)}, PlausiblePoint{System: "B"}
	f := func(p ...PlausiblePoint) PlausibleFigures {
		return PlausibleFigures{Tests: []PlausibleTest{{Points: p}}}
	}
	if got := PlausibleUncertainty(f(a, b)); len(got) != 1 || !strings.Contains(got[0].Text, "with 3 runs each and a run-to-run spread of 2 % a difference under 6.1 %") {
		t.Errorf("got %+v", got)
	}
	if got := PlausibleUncertainty(f(b, PlausiblePoint{System: "A"})); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := PlausibleUncertainty(f(a)); got != nil {
		t.Errorf("one system: got %+v", got)
	}
	b.RunValues = plausNs(1, 2, 3)
	if got := PlausibleUncertainty(f(a, b)); got != nil {
		t.Errorf("got %+v", got)
	}
}

// wrk with 10000 connections against nginx on two cores: measured, and sound.
func TestPlausibleRunsThatAreSound(t *testing.T) {
	var runs []PlausiblePoint
	for i, x := range []float64{54832, 55101, 54500} {
		runs = append(runs, PlausiblePoint{Test: "web", Label: "10000 connections", System: "A", Run: string(rune('1' + i)),
			Tool: "wrk", Service: "static-file", Connections: plausN(10000), Throughput: plausN(x), LatencyMean: plausN(.178), LatencyMax: plausN(.402),
			LatencySD: plausN(.02), Percentiles: []PlausiblePercentile{plausPq(.5, .166), plausPq(.99, .214)},
			Seconds: plausN(180), Total: plausN(x * 180), CPU: plausN(.9), Cores: plausN(2), PerSecond: plausScaleTo(plausNoisy(50000, 180), x)})
	}
	if got := PlausibilityOfRuns(runs); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	// The server frozen in the last 3 s: no error from wrk, percentiles untouched.
	last := &runs[2]
	for i := 177; i < 180; i++ {
		last.PerSecond[i] = 0
	}
	last.PerSecond = plausScaleTo(last.PerSecond, last.Throughput.Value)
	got := PlausibilityOfRuns(runs)
	if len(got) == 0 || got[0].Rule != 9 || !strings.Contains(got[0].Text, "the last 3 s") || got[0].Subject != "web, 10000 connections, A, run 3" {
		t.Errorf("got %+v", got)
	}
	for i := range runs {
		runs[i].Throughput = plausN(54832)
		runs[i].PerSecond = nil
		runs[i].Total = nil
	}
	got = PlausibilityOfRuns(runs)
	if len(got) != 1 || got[0].Rule != 15 || got[0].Subject != "web, 10000 connections, A" {
		t.Errorf("got %+v", got)
	}
}

func plausScaleTo(x []float64, mean float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for i := range x {
		x[i] *= mean * float64(len(x)) / sum
	}
	return x
}

// Three days of a few operations a second line up by chance, a paced load is level.
func TestPlausibleSeriesThatAreSound(t *testing.T) {
	few := plausNoisy(60, 259200)
	for i := range few {
		few[i] = math.Round(few[i])
	}
	for _, p := range []PlausiblePoint{{PerSecond: few}, {Loop: "open", PerSecond: plausRepeat(1000, 300)}} {
		if got := PlausibleSeries(p); got != nil {
			t.Errorf("got %+v", got)
		}
	}
	for i := range 40 {
		few[1000+i] = float64(60 + i)
	}
	if got := PlausibleSeries(PlausiblePoint{PerSecond: few}); len(got) != 1 || !strings.Contains(got[0].Text, "40 values in a straight line") && !strings.Contains(got[0].Text, "41 values in a straight line") {
		t.Errorf("got %+v", got)
	}
}

func TestPlausibleInputsStayAsTheyWere(t *testing.T) {
	p := PlausiblePoint{Percentiles: []PlausiblePercentile{plausPq(.999, 2), plausPq(.5, 1)}, RunValues: plausNs(3, 1, 2), Throughput: plausN(2)}
	plausiblePoint(p)
	if p.Percentiles[0].Q != .999 || p.RunValues[0].Value != 3 {
		t.Errorf("changed: %+v", p)
	}
}

// FuzzRules fills every field of a point from the input, hostile values included:
// no panic, no text or JSON with NaN or infinity.
func FuzzRules(f *testing.F) {
	f.Add([]byte{0}, 1.0, 2.0)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7}, math.NaN(), math.Inf(1))
	f.Add([]byte{7, 6, 5, 4, 3, 2, 1, 0}, 0.0, 1e308)
	f.Add([]byte{3, 3, 4, 5}, -1.0, 5e-324)
	f.Add([]byte{2, 4, 6, 3, 5}, 1e-300, 1e300)
	f.Fuzz(func(t *testing.T, script []byte, a, b float64) {
		plausCheckFindings(t, Plausibility(plausFuzzFigures(script, a, b)))
		runs := plausFuzzFigures(script, b, a).Tests[0].Points
		plausCheckFindings(t, PlausibilityOfRuns(runs))
	})
}

// TestHostileFigures is the same over a grid of values, always.
func TestPlausibleHostileFigures(t *testing.T) {
	values := []float64{0, 1, -1, .5, 3, 1e308, 5e-324, 1e-300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, a := range values {
		for _, b := range values {
			for seed := byte(0); seed < 12; seed++ {
				f := plausFuzzFigures([]byte{seed, seed * 7, seed ^ 5, 3 * seed, 11}, a, b)
				plausCheckFindings(t, Plausibility(f))
				plausCheckFindings(t, PlausibilityOfRuns(f.Tests[0].Points))
			}
		}
	}
}

func plausCheckFindings(t *testing.T, found []Finding) {
	t.Helper()
	if _, err := json.Marshal(found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if strings.Contains(f.Text, "NaN") || strings.Contains(f.Text, "Inf") || f.Text == "" {
			t.Fatalf("%+v", f)
		}
		for k, v := range f.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s: %+v", k, f)
			}
		}
	}
}

func plausFuzzFigures(script []byte, a, b float64) PlausibleFigures {
	at := 0
	next := func() byte {
		if len(script) == 0 {
			return 0
		}
		at++
		return script[at%len(script)] + byte(at/len(script))*31
	}
	choice := func() float64 {
		switch next() % 6 {
		case 0:
			return a
		case 1:
			return b
		case 2:
			return a * 1000
		case 3:
			return b / 3
		case 4:
			return float64(next())
		}
		return a + b
	}
	number := func() PlausibleNumber {
		p := PlausibleNumber{Value: choice()}
		if next()%3 == 0 {
			p.Half = choice()
		}
		if next()%5 == 0 {
			p.Text = "0.14 ms"
		}
		return p
	}
	fill := func(p *PlausiblePoint) {
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			if next()%4 == 0 {
				continue
			}
			switch x := v.Field(i).Addr().Interface().(type) {
			case **PlausibleNumber:
				n := number()
				*x = &n
			case **bool:
				flag := next()%2 == 0
				*x = &flag
			case *[]PlausibleNumber:
				for range next() % 4 {
					*x = append(*x, number())
				}
			case *[]PlausiblePercentile:
				for _, q := range []float64{.5, .99, .999, a} {
					*x = append(*x, PlausiblePercentile{q, number()})
				}
			case *[]float64:
				for range next() % 130 {
					*x = append(*x, choice())
				}
			case *[]PlausibleSource:
				*x = append(*x, PlausibleSource{"x", number(), number()})
			}
		}
		p.Tool = []string{"", "wrk", "sysbench", "iperf3", "wrk2"}[next()%5]
		p.Loop = []string{"", "closed", "open"}[next()%3]
		p.Service = []string{"", "http", "static-file"}[next()%3]
		p.Workload = []string{"", "oltp_read_write"}[next()%2]
		p.Runtime = []string{"", "docker"}[next()%2]
		p.System = []string{"A", "B"}[next()%2]
	}
	points := make([]PlausiblePoint, 4)
	for i := range points {
		fill(&points[i])
	}
	d := func() *PlausibleNumber { n := number(); return &n }
	return PlausibleFigures{Systems: []string{"A", "B"}, Baseline: "B", Tests: []PlausibleTest{{Name: "t", Points: points,
		Differences: []PlausibleDifference{{"x", "", "A", "B", d(), d(), d(), d(), d()}, {"x", "", "A", "", d(), d(), d(), d(), d()}}}}}
}
