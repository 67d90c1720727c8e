package analyze

import (
	"fmt"
	"math"
	"strings"
)

// plausibleTool is what is known of a load generator without being told.
type plausibleTool struct {
	loop    string
	timeout float64 // s; 0: none
	service string
}

// plausibleTools: wrk gives up after SOCKET_TIMEOUT_MS (wrk/src/wrk.h) and drops
// the answer from its histogram; wrk2 sends at a given rate.
var plausibleTools = map[string]plausibleTool{
	"wrk":      {loop: "closed", timeout: 2, service: "http"},
	"wrk2":     {loop: "open", timeout: 2, service: "http"},
	"ab":       {loop: "closed", service: "http"},
	"sysbench": {loop: "closed"},
}

func (p PlausiblePoint) loop() string {
	if p.Loop != "" {
		return p.Loop
	}
	return plausibleTools[p.Tool].loop
}

// timeout is the load generator's, with its habit as the default; text says
// whose it is.
func (p PlausiblePoint) timeout() (s plausSpan, text string, ok bool) {
	if s, ok = plausPositive(p.Timeout); ok {
		return s, "the load generator gives up after " + s.show(plausSeconds), true
	}
	if d := plausibleTools[p.Tool].timeout; d > 0 && p.Timeout == nil {
		return plausSpan{v: d, lo: d, hi: d}, p.Tool + " gives up after " + plausSeconds(d), true
	}
	return plausSpan{}, "", false
}

// thinkTime is 0 where none is given.
func (p PlausiblePoint) thinkTime() (plausSpan, bool) {
	if p.ThinkTime == nil {
		return plausSpan{}, true
	}
	return plausSpanOf(p.ThinkTime)
}

// littleMean is the mean latency of a closed loop by Little's law, s.
func (p PlausiblePoint) littleMean() (mean plausSpan, text string, ok bool) {
	n, okN := plausPositive(p.Connections)
	x, okX := plausPositive(p.Throughput)
	z, okZ := p.thinkTime()
	if p.loop() != "closed" || !okN || !okX || !okZ {
		return plausSpan{}, "", false
	}
	mean = plausSpan{v: n.v/x.v - z.v, lo: n.lo/x.hi - z.hi, hi: n.hi/x.lo - z.lo}
	text = n.show(plausNumber) + " connections / (" + plausPerSecond(x) + ")"
	if z.v > 0 {
		text += " − " + z.show(plausSeconds)
	}
	return mean, text + " = " + plausSeconds(mean.v), plausFinite(mean.v) && plausFinite(mean.lo) && plausFinite(mean.hi)
}

// PlausibleLittle is rule 1: in a closed loop N connections, each with one
// operation at a time, fix the mean latency: R = N/X − Z (s; N connections, X
// 1/s, Z think time in s, 0 unless given). (R+Z)·X/N off from 1 by more than 15 %
// is a warning, by more than a factor of 2 an error, Z > N/X impossible. Without
// a closed loop only X·R ≤ N holds, and only for latencies that do not contain
// the wait before sending (Corrected false). Bounds are widened by the rounding
// of the figures. A deviation of sysbench is left to [PlausibleSysbench].
//
// Source: J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations
// Research 9 (1961), doi:10.1287/opre.9.3.383; interactive response time law: P.
// J. Denning, J. P. Buzen, The Operational Analysis of Queueing Network Models,
// ACM Computing Surveys 10 (1978), doi:10.1145/356733.356735.
func PlausibleLittle(p PlausiblePoint) []Finding {
	n, okN := plausPositive(p.Connections)
	x, okX := plausPositive(p.Throughput)
	if !okN || !okX {
		return nil
	}
	r, okR := plausSpanOf(p.LatencyMean)
	if p.loop() != "closed" {
		if !okR || !plausIsFalse(p.Corrected) {
			return nil
		}
		busy, least := x.v*r.v, x.lo*r.lo/n.hi
		severity := FindingWarning
		switch {
		case least > 2:
			severity = FindingError
		case least <= 1.15:
			return nil
		}
		return p.say(1, severity, map[string]float64{"busy": busy, "connections": n.v, "throughput_per_s": x.v, "mean_s": r.v},
			fmt.Sprintf("%s · %s = %s operations at a time, more than the %s connections can hold", plausPerSecond(x), r.show(plausSeconds), plausNumber(busy), n.show(plausNumber)))
	}
	z, okZ := p.thinkTime()
	law, arithmetic, ok := p.littleMean()
	if !ok || !okZ {
		return nil
	}
	values := map[string]float64{"connections": n.v, "throughput_per_s": x.v, "think_time_s": z.v, "little_mean_s": law.v}
	if law.hi <= 0 {
		return p.say(1, FindingImpossible, values, arithmetic+": with this think time the connections cannot reach this throughput")
	}
	if !okR {
		return nil
	}
	ratio := plausSpan{v: (r.v + z.v) * x.v / n.v, lo: (r.lo + z.lo) * x.lo / n.hi, hi: (r.hi + z.hi) * x.hi / n.lo}
	values["mean_s"], values["ratio"] = r.v, ratio.v
	severity := FindingNote
	switch {
	case ratio.lo > 2 || ratio.hi < 0.5:
		severity = FindingError
	case ratio.lo > 1.15 || ratio.hi < 0.85:
		severity = FindingWarning
	}
	if p.Tool == "sysbench" && z.v == 0 && (ratio.lo > 1.03 || ratio.hi < 0.97) {
		return nil // rule 2 says it
	}
	if severity == FindingNote {
		return p.holds(1, values, fmt.Sprintf("%s agrees with the stated mean of %s", arithmetic, r.show(plausSeconds)))
	}
	text := fmt.Sprintf("%s, but the stated mean is %s", arithmetic, r.show(plausSeconds))
	if r.v > 0 && law.v > 0 {
		k := law.v / r.v
		if k >= 1 {
			text += fmt.Sprintf(": %s times too low", plausNumber(k))
		} else {
			text += fmt.Sprintf(": %s times too high", plausNumber(1/k))
		}
		factor, _, slip := plausUnitSlip(k, 0.1)
		switch {
		case slip && (factor >= 999 || factor <= 1.0/999):
			times := plausNumber(factor)
			if factor < 1 {
				times = "1/" + plausNumber(math.Round(1/factor))
			}
			text += fmt.Sprintf("; as %s it agrees, a factor of %s in the unit", plausPrefixSlip(r, factor), times)
		case k > 1:
			text += fmt.Sprintf("; only %s of the connections would be at work", plausNumber(x.v*(r.v+z.v)))
		}
		values["factor"] = k
	}
	return p.say(1, severity, values, text)
}

// plausSysbenchQueries: queries of a transaction with default options.
var plausSysbenchQueries = map[string]float64{"oltp_read_only": 16, "oltp_read_write": 20, "oltp_write_only": 6, "oltp_point_select": 1}

// PlausibleSysbench is rule 2, for sysbench's closed loop without think time:
// TPS · mean latency = threads within 3 % (error; N, X in 1/s, R in s); queries
// per transaction are 16 (oltp_read_only), 20 (oltp_read_write), 6
// (oltp_write_only), 1 (oltp_point_select) with default options, 1 % more or
// less a warning; events = TPS · time within 1 % (error); sum of latencies /
// threads = time within 5 % (warning).
//
// Source: sysbench 1.0, src/sysbench.c (report) and src/lua/oltp_*.lua.
func PlausibleSysbench(p PlausiblePoint) []Finding {
	if p.Tool != "sysbench" {
		return nil
	}
	var out []Finding
	n, okN := plausPositive(p.Connections)
	x, okX := plausPositive(p.Throughput)
	z, okZ := p.thinkTime()
	if r, ok := plausSpanOf(p.LatencyMean); ok && okN && okX && okZ && z.v == 0 && p.loop() == "closed" {
		busy := x.v * r.v
		if x.lo*r.lo/n.hi > 1.03 || x.hi*r.hi/n.lo < 0.97 {
			out = append(out, p.say(2, FindingError, map[string]float64{"busy": busy, "threads": n.v, "throughput_per_s": x.v, "mean_s": r.v, "little_mean_s": n.v / x.v},
				fmt.Sprintf("%s · %s = %s threads at work, but sysbench keeps %s at work all the time (the mean would be %s / (%s) = %s)",
					plausPerSecond(x), r.show(plausSeconds), plausNumber(busy), n.show(plausNumber), n.show(plausNumber), plausPerSecond(x), plausSeconds(n.v/x.v)))...)
		}
	}
	if q, ok := plausPositive(p.QueryRate); ok && okX {
		if want := plausSysbenchQueries[p.Workload]; want > 0 && (q.lo/x.hi > want*1.01 || q.hi/x.lo < want*0.99) {
			out = append(out, p.say(2, FindingWarning, map[string]float64{"queries_per_s": q.v, "throughput_per_s": x.v, "queries": q.v / x.v, "expected": want},
				fmt.Sprintf("(%s) / (%s) = %s queries a transaction, but %s makes %s with default options", plausPerSecond(q), plausPerSecond(x), plausNumber(q.v/x.v), p.Workload, plausNumber(want)))...)
		}
	}
	t, okT := plausPositive(p.Seconds)
	if sum, ok := plausSpanOf(p.LatencySum); ok && okN && okT {
		each := sum.v / n.v
		if sum.lo/n.hi > t.hi*1.05 || sum.hi/n.lo < t.lo*0.95 {
			out = append(out, p.say(2, FindingWarning, map[string]float64{"latency_sum_s": sum.v, "threads": n.v, "each_s": each, "seconds": t.v},
				fmt.Sprintf("the sum of latencies %s / %s threads = %s each, but the run took %s", sum.show(plausSeconds), n.show(plausNumber), plausSeconds(each), t.show(plausSeconds)))...)
		}
	}
	return out
}

// PlausibleBounds is rule 3, the asymptotic bounds of a closed loop: X ≤ N/(D+Z),
// X ≤ m/Dmax, R ≥ D, R ≥ N·Dmax/m − Z, and R ≥ RTT for an operation that crosses
// the network. D is the service time (s) of an operation over all resources,
// Dmax that of the busiest one, m its servers (cores), Z the think time (s).
// Broken by more than 2 % beyond the rounding: impossible.
//
// Source: R. R. Muntz, J. W. Wong, Asymptotic properties of closed queueing
// network models, 8th Princeton Conference (1974); E. D. Lazowska et al.,
// Quantitative System Performance (1984), chapter 5.
func PlausibleBounds(p PlausiblePoint) []Finding {
	var out []Finding
	n, okN := plausPositive(p.Connections)
	x, okX := plausPositive(p.Throughput)
	z, okZ := p.thinkTime()
	r, okR := plausSpanOf(p.LatencyMean)
	closed := p.loop() == "closed" && okZ
	if d, ok := plausPositive(p.Demand); ok {
		if bound := n.v / (d.v + z.v); closed && okN && okX && x.lo > 1.02*n.hi/(d.lo+z.lo) {
			out = append(out, p.say(3, FindingImpossible, map[string]float64{"throughput_per_s": x.v, "bound_per_s": bound, "connections": n.v, "demand_s": d.v, "think_time_s": z.v},
				fmt.Sprintf("%s is above N / (D + Z) = %s / %s = %s", plausPerSecond(x), n.show(plausNumber), plausSeconds(d.v+z.v), plausNumber(bound)+"/s"))...)
		}
		if okR && r.hi < d.lo*0.98 {
			out = append(out, p.say(3, FindingImpossible, map[string]float64{"mean_s": r.v, "demand_s": d.v},
				fmt.Sprintf("a mean latency of %s is below the service time D = %s", r.show(plausSeconds), d.show(plausSeconds)))...)
		}
	}
	if d, ok := plausPositive(p.BottleneckDemand); ok {
		m, okM := plausPositive(p.Servers)
		if bound := m.v / d.v; okM && okX && x.lo > 1.02*m.hi/d.lo {
			out = append(out, p.say(3, FindingImpossible, map[string]float64{"throughput_per_s": x.v, "bound_per_s": bound, "bottleneck_demand_s": d.v, "servers": m.v},
				fmt.Sprintf("%s is above what the bottleneck can do: %s servers / %s = %s", plausPerSecond(x), m.show(plausNumber), d.show(plausSeconds), plausNumber(bound)+"/s"))...)
		}
		if closed && okM && okN && okR {
			if bound := n.v*d.v/m.v - z.v; r.hi < 0.98*(n.lo*d.lo/m.hi-z.hi) {
				out = append(out, p.say(3, FindingImpossible, map[string]float64{"mean_s": r.v, "bound_s": bound, "connections": n.v, "bottleneck_demand_s": d.v, "servers": m.v, "think_time_s": z.v},
					fmt.Sprintf("a mean latency of %s is below N · Dmax / m − Z = %s · %s / %s − %s = %s", r.show(plausSeconds), n.show(plausNumber), d.show(plausSeconds), m.show(plausNumber), plausSeconds(z.v), plausSeconds(bound)))...)
			}
		}
	}
	if rtt, ok := plausPositive(p.RTT); ok && okR && r.hi < rtt.lo*0.98 {
		out = append(out, p.say(3, FindingImpossible, map[string]float64{"mean_s": r.v, "rtt_s": rtt.v},
			fmt.Sprintf("a mean latency of %s is below one round trip of %s", r.show(plausSeconds), rtt.show(plausSeconds)))...)
	}
	return out
}

// What HTTP costs: bounds of rule 4, s of CPU a request.
const (
	plausCheapHTTP   = 5e-6   // less is suspicious through the kernel's TCP
	plausDearFile    = 200e-6 // more is suspicious for a static file
	plausFileFromRAM = 10e-6  // a small static file from memory: 10 to 40 µs
	plausFileSlow    = 40e-6
)

// PlausibleCPU is rule 4, the utilisation law: busy cores = U·cores = X·S, so S =
// U·cores/X is the CPU time (s) of an operation. U or X·S above all cores is
// impossible; a stated S off by more than 15 % from U·cores/X is a warning; so is
// S below 5 µs for HTTP through the kernel's TCP, or above 200 µs for a static
// file; so is a capacity X/U extrapolated with SMT on (half busy is not half
// used) or from U < 20 %. A fulfilled rule shows S, to compare systems by.
//
// Source: Denning and Buzen (see [PlausibleLittle]), utilisation law; the costs
// are measured figures of nginx on current x86 servers.
func PlausibleCPU(p PlausiblePoint) []Finding {
	var out []Finding
	u, okU := plausSpanOf(p.CPU)
	cores, okC := plausPositive(p.Cores)
	x, okX := plausPositive(p.Throughput)
	stated, okS := plausPositive(p.CPUPerOperation)
	if okU && u.lo > 1.01 {
		out = append(out, p.say(4, FindingImpossible, map[string]float64{"cpu": u.v},
			fmt.Sprintf("%s of all cores is more than there is (100 %% is one core in some tools, all cores here)", u.show(plausPercent)))...)
		okU = false
	}
	if okS && okX && okC && x.lo*stated.lo > cores.hi*1.01 {
		out = append(out, p.say(4, FindingImpossible, map[string]float64{"throughput_per_s": x.v, "cpu_per_operation_s": stated.v, "busy_cores": x.v * stated.v, "cores": cores.v},
			fmt.Sprintf("%s · %s = %s cores busy, of %s", plausPerSecond(x), stated.show(plausSeconds), plausNumber(x.v*stated.v), cores.show(plausNumber)))...)
	}
	if okU && okC && okX && u.v > 0 {
		cost := plausSpan{v: u.v * cores.v / x.v, lo: u.lo * cores.lo / x.hi, hi: u.hi * cores.hi / x.lo}
		arithmetic := fmt.Sprintf("%s of %s cores / (%s) = %s of CPU per operation", u.show(plausPercent), cores.show(plausNumber), plausPerSecond(x), plausSeconds(cost.v))
		values := map[string]float64{"cpu": u.v, "cores": cores.v, "throughput_per_s": x.v, "cpu_per_operation_s": cost.v}
		service := p.Service
		if service == "" {
			service = plausibleTools[p.Tool].service
		}
		switch {
		case okS && (stated.hi < cost.lo*0.85 || stated.lo > cost.hi*1.15):
			values["stated_s"] = stated.v
			out = append(out, p.say(4, FindingWarning, values, fmt.Sprintf("%s, but %s is stated", arithmetic, stated.show(plausSeconds)))...)
		case cost.hi < plausCheapHTTP && (service == "http" || service == "static-file"):
			out = append(out, p.say(4, FindingWarning, values, arithmetic+", less than the 5 µs that HTTP through the kernel's TCP needs at least")...)
		case cost.lo > plausDearFile && service == "static-file":
			out = append(out, p.say(4, FindingWarning, values,
				fmt.Sprintf("%s, %s to %s times the 10 to 40 µs that a small static file needs from memory (limit 200 µs)", arithmetic, plausNumber(math.Round(cost.v/plausFileSlow)), plausNumber(math.Round(cost.v/plausFileFromRAM))))...)
		default:
			out = append(out, p.holds(4, values, arithmetic)...)
		}
	}
	if capacity, ok := plausPositive(p.Capacity); ok && okU && (plausIsTrue(p.SMT) || u.hi < 0.2) {
		why := "below 20 % load the cost of an operation is not yet that of a full machine"
		if plausIsTrue(p.SMT) {
			why = "with SMT half busy is not half used"
		}
		out = append(out, p.say(4, FindingWarning, map[string]float64{"cpu": u.v, "capacity_per_s": capacity.v},
			fmt.Sprintf("the capacity of %s is extrapolated from %s busy: %s", plausPerSecond(capacity), u.show(plausPercent), why))...)
	}
	return out
}

// PlausibleCPUStates is rule 5: the shares of all CPU states of all cores
// together sum to 1 ± 0.01 (error); more than 1 % stolen is noise of the cloud
// (warning); a load generator busier than 90 % is what was measured (warning).
//
// Source: proc(5), /proc/stat; steal: Documentation/filesystems/proc.rst of the
// Linux kernel.
func PlausibleCPUStates(p PlausiblePoint) []Finding {
	var out []Finding
	if states, ok := plausSpans(p.CPUStates); ok {
		sum := plausSpan{}
		var terms []string
		for _, s := range states {
			sum.v, sum.lo, sum.hi = sum.v+s.v, sum.lo+s.lo, sum.hi+s.hi
			terms = append(terms, s.show(plausPercent))
		}
		if sum.lo > 1.01 || sum.hi < 0.99 {
			out = append(out, p.say(5, FindingError, map[string]float64{"sum": sum.v},
				fmt.Sprintf("the CPU states sum to %s = %s, not to 100 %%", strings.Join(terms, " + "), plausPercent(sum.v)))...)
		}
	}
	if s, ok := plausSpanOf(p.Steal); ok && s.lo > 0.01 {
		out = append(out, p.say(5, FindingWarning, map[string]float64{"steal": s.v},
			fmt.Sprintf("%s of the CPU was stolen by the hypervisor (limit 1 %%): the neighbours are in the figures", s.show(plausPercent)))...)
	}
	if s, ok := plausSpanOf(p.LoadCPU); ok && s.lo > 0.9 {
		out = append(out, p.say(5, FindingWarning, map[string]float64{"load_cpu": s.v},
			fmt.Sprintf("the load generator was %s busy (limit 90 %%): the figures are the client's", s.show(plausPercent)))...)
	}
	return out
}

// PlausibleGoodput returns the highest rate of payload (bits/s) on Ethernet of
// lineRate (bits/s) with full frames of mtu bytes: rate · (MTU − headers) / (MTU +
// 38), 42 with a VLAN tag. Headers: IPv4 20 or IPv6 40; TCP 20, and 12 more with
// timestamps, or UDP 8. 10 Gbit/s gives 9.415 (MTU 1500, TCP, timestamps), 9.493
// without, 9.900 at MTU 9000. It returns 0 where nothing is left.
//
// Source: IEEE 802.3 (preamble 8, header 14, check sum 4, gap 12 bytes), RFC 791,
// 8200, 9293, 7323, 768.
func PlausibleGoodput(lineRate, mtu float64, timestamps, ipv6, udp, vlan bool) float64 {
	headers, frame := 20.0+20, 38.0
	if ipv6 {
		headers += 20
	}
	switch {
	case udp:
		headers += 8 - 20
	case timestamps:
		headers += 12
	}
	if vlan {
		frame += 4
	}
	g := lineRate * ((mtu - headers) / (mtu + frame))
	if !plausFinite(g) || g < 0 {
		return 0
	}
	return g
}

// payloadRate is the rate (bits/s) the link must have carried as payload, and
// how it was formed.
func (p PlausiblePoint) payloadRate() (rate plausSpan, text string, ok bool) {
	if s, ok := plausPositive(p.BitRate); ok {
		return s, s.show(plausBits), true
	}
	if s, ok := plausPositive(p.TransferRate); ok {
		return plausSpan{v: 8 * s.v, lo: 8 * s.lo, hi: 8 * s.hi}, s.show(func(v float64) string { return plausBytes(v) + "/s" }) + " = " + plausBits(8*s.v), true
	}
	x, okX := plausPositive(p.Throughput)
	b, okB := plausPositive(p.BytesPerOperation)
	if !okX || !okB {
		return plausSpan{}, "", false
	}
	return plausSpan{v: 8 * x.v * b.v, lo: 8 * x.lo * b.lo, hi: 8 * x.hi * b.hi}, fmt.Sprintf("%s · %s = %s", plausPerSecond(x), b.show(plausBytes), plausBits(8*x.v*b.v)), true
}

// plausLinkSlack: what socket buffers add to a sender's count in a run of seconds.
const plausLinkSlack = 1.002

// usualCeiling is the goodput (bits/s) of the link as far as it is described:
// MTU 1500 and TCP timestamps, IPv4, unless stated otherwise.
func (p PlausiblePoint) usualCeiling() (g float64, ok bool) {
	link, ok := plausPositive(p.LinkRate)
	if !ok || plausIsTrue(p.Loopback) {
		return 0, false
	}
	mtu, okM := plausPositive(p.MTU)
	if !okM {
		mtu.v = 1500
	}
	g = p.directions() * PlausibleGoodput(link.v, mtu.v, !plausIsFalse(p.Timestamps), plausIsTrue(p.IPv6), plausIsTrue(p.UDP), plausIsTrue(p.VLAN))
	return g, g > 0
}

func (p PlausiblePoint) directions() float64 {
	if plausIsTrue(p.BothDirections) {
		return 2
	}
	return 1
}

// PlausibleBytes is rule 6. X · bytes per operation = transfer rate: less than
// 97 % of it, or more than 1 KiB of headers an operation above, is an error. And
// the payload (bits/s: the goodput stated, else 8 · transfer rate, else 8 · X ·
// bytes) fits the link by [PlausibleGoodput]: above the line rate, above the
// goodput of the stated MTU, or above that of MTU 9000 where none is stated, is
// impossible; between is a warning naming what it needs (jumbo frames, no
// timestamps). 0.2 % is allowed for socket buffers, and the rounding. Traffic on
// loopback is exempt.
//
// Source: see [PlausibleGoodput].
func PlausibleBytes(p PlausiblePoint) []Finding {
	var out []Finding
	x, okX := plausPositive(p.Throughput)
	b, okB := plausPositive(p.BytesPerOperation)
	if t, ok := plausSpanOf(p.TransferRate); ok && okX && okB {
		low, high := t.hi < 0.97*x.lo*b.lo, t.lo > 1.03*x.hi*(b.hi+1024)
		if low || high {
			text := fmt.Sprintf("%s · %s = %s/s, but the transfer rate stated is %s", plausPerSecond(x), b.show(plausBytes), plausBytes(x.v*b.v), t.show(func(v float64) string { return plausBytes(v) + "/s" }))
			if factor, meaning, slip := plausUnitSlip(t.v/(x.v*b.v), 0.05); slip {
				text += fmt.Sprintf(": a factor of %s, %s", plausNumber(max(factor, 1/factor)), meaning)
			}
			out = append(out, p.say(6, FindingError, map[string]float64{"throughput_per_s": x.v, "bytes": b.v, "product_bytes_per_s": x.v * b.v, "transfer_bytes_per_s": t.v}, text)...)
		}
	}
	link, okL := plausPositive(p.LinkRate)
	rate, text, okR := p.payloadRate()
	if !okL || !okR || plausIsTrue(p.Loopback) {
		return out
	}
	both := p.directions()
	values := map[string]float64{"payload_bit_per_s": rate.v, "link_bit_per_s": link.v}
	const excuses = ": loopback, a virtual link, both directions summed, or GB for Gb or GiB"
	if rate.lo > both*link.v*plausLinkSlack {
		return append(out, p.say(6, FindingImpossible, values, fmt.Sprintf("%s is above the line rate of %s", text, plausBits(both*link.v))+excuses)...)
	}
	ipv6, udp, vlan := plausIsTrue(p.IPv6), plausIsTrue(p.UDP), plausIsTrue(p.VLAN)
	goodput := func(mtu float64, timestamps bool) float64 {
		return both * PlausibleGoodput(link.v, mtu, timestamps, ipv6, udp, vlan)
	}
	mtu, okM := plausPositive(p.MTU)
	most := 9000.0
	if okM {
		most = mtu.v
	}
	ceiling := goodput(most, plausIsTrue(p.Timestamps))
	usual, _ := p.usualCeiling()
	values["ceiling_bit_per_s"], values["usual_bit_per_s"] = ceiling, usual
	switch {
	case rate.lo > ceiling*plausLinkSlack:
		return append(out, p.say(6, FindingImpossible, values, fmt.Sprintf("%s is above the %s that %s can carry as payload at MTU %s", text, plausBits(ceiling), plausBits(both*link.v), plausNumber(most))+excuses)...)
	case usual == 0 || rate.lo <= usual*plausLinkSlack:
		return out
	case okM:
		return append(out, p.say(6, FindingWarning, values, fmt.Sprintf("%s is above the %s that TCP with timestamps reaches at MTU %s on %s: it needs timestamps off (%s), which is not stated", text, plausBits(usual), plausNumber(mtu.v), plausBits(both*link.v), plausBits(ceiling)))...)
	}
	transport, kept := "TCP with timestamps", goodput(1500, false)
	switch {
	case udp:
		transport = "UDP"
	case plausIsFalse(p.Timestamps):
		transport = "TCP without timestamps"
	}
	sentence := fmt.Sprintf("%s is above the %s that %s reaches on %s at MTU 1500", text, plausBits(usual), transport, plausBits(both*link.v))
	if !udp && p.Timestamps == nil {
		sentence += fmt.Sprintf(" (%s without)", plausBits(kept))
	}
	sentence += fmt.Sprintf(" and below %s at MTU 9000: it needs jumbo frames, which are not stated", plausBits(goodput(9000, !plausIsFalse(p.Timestamps))))
	if !udp && p.Timestamps == nil && rate.lo <= kept {
		if rate.v <= kept {
			sentence += ", or timestamps off"
		} else {
			sentence += ", unless timestamps are off and it was rounded up"
		}
	}
	return append(out, p.say(6, FindingWarning, values, sentence)...)
}

// PlausiblePackets is rule 7. Frames per s ≤ line rate / (8 · (frame + 20)) with
// preamble and gap (impossible; 812 744/s at 1518 bytes and 14.88 million at 64
// on 10 Gbit/s); rate ≤ connections · 8 · window/RTT (impossible); Mathis: rate ≤
// connections · 8 · 1.22 · MSS/(RTT·√p), which holds for Reno only (warning with
// Reno, note otherwise); of one transfer received ≤ sent, Σ streams = sent, Σ
// intervals = sent within 1 % (errors; intervals that were omitted must be left
// out), and retransmits · MSS ≪ sent (warning above 10 %).
//
// Source: IEEE 802.3; M. Mathis et al., The Macroscopic Behavior of the TCP
// Congestion Avoidance Algorithm, CCR 27 (1997), doi:10.1145/263932.264023;
// iperf3's JSON.
func PlausiblePackets(p PlausiblePoint) []Finding {
	var out []Finding
	link, okL := plausPositive(p.LinkRate)
	if pps, ok := plausPositive(p.PacketRate); ok && okL && !plausIsTrue(p.Loopback) {
		if f, ok := plausPositive(p.FrameBytes); ok {
			bound := p.directions() * link.v / (8 * (f.v + 20))
			if pps.lo > plausLinkSlack*p.directions()*link.v/(8*(f.lo+20)) {
				out = append(out, p.say(7, FindingImpossible, map[string]float64{"packets_per_s": pps.v, "bound_per_s": bound, "link_bit_per_s": link.v, "frame_bytes": f.v},
					fmt.Sprintf("%s frames of %s are more than %s / (8 · (%s + 20)) = %s", plausPerSecond(pps), f.show(plausBytes), plausBits(p.directions()*link.v), plausNumber(f.v), plausNumber(math.Floor(bound))+"/s"))...)
			}
		}
	}
	rate, text, okR := p.payloadRate()
	n, okN := plausPositive(p.Connections)
	rtt, okT := plausPositive(p.RTT)
	if w, ok := plausPositive(p.Window); ok && okR && okN && okT {
		bound := n.v * 8 * w.v / rtt.v
		if rate.lo > plausLinkSlack*n.hi*8*w.hi/rtt.lo {
			out = append(out, p.say(7, FindingImpossible, map[string]float64{"payload_bit_per_s": rate.v, "bound_bit_per_s": bound, "connections": n.v, "window_bytes": w.v, "rtt_s": rtt.v},
				fmt.Sprintf("%s is above the window's ceiling %s · 8 · %s / %s = %s", text, n.show(plausNumber), w.show(plausBytes), rtt.show(plausSeconds), plausBits(bound)))...)
		}
	}
	mss, okS := plausPositive(p.MSS)
	if loss, ok := plausPositive(p.Loss); ok && okR && okN && okT && okS {
		bound := n.v * 8 * 1.22 * mss.v / (rtt.v * math.Sqrt(loss.v))
		if rate.lo > 1.15*n.hi*8*1.22*mss.hi/(rtt.lo*math.Sqrt(loss.lo)) {
			severity, whose := FindingNote, "holds for Reno only"
			if strings.EqualFold(p.CongestionControl, "reno") {
				severity, whose = FindingWarning, "Reno"
			}
			out = append(out, p.say(7, severity, map[string]float64{"payload_bit_per_s": rate.v, "bound_bit_per_s": bound, "loss": loss.v, "mss_bytes": mss.v, "rtt_s": rtt.v},
				fmt.Sprintf("%s is above %s · 8 · 1.22 · %s / (%s · √%s) = %s (Mathis, %s)", text, n.show(plausNumber), mss.show(plausBytes), rtt.show(plausSeconds), plausNumber(loss.v), plausBits(bound), whose))...)
		}
	}
	sent, okSent := plausPositive(p.BytesSent)
	if !okSent {
		return out
	}
	if got, ok := plausSpanOf(p.BytesReceived); ok && got.lo > sent.hi {
		out = append(out, p.say(7, FindingError, map[string]float64{"received_bytes": got.v, "sent_bytes": sent.v},
			fmt.Sprintf("%s received are more than the %s sent", got.show(plausBytes), sent.show(plausBytes)))...)
	}
	for _, part := range []struct {
		what string
		list []PlausibleNumber
	}{{"streams", p.StreamBytes}, {"intervals", p.IntervalBytes}} {
		list, ok := plausSpans(part.list)
		if !ok {
			continue
		}
		sum := plausSpan{}
		for _, s := range list {
			sum.v, sum.lo, sum.hi = sum.v+s.v, sum.lo+s.lo, sum.hi+s.hi
		}
		if sum.lo > sent.hi*1.01 || sum.hi < sent.lo*0.99 {
			out = append(out, p.say(7, FindingError, map[string]float64{"sum_bytes": sum.v, "sent_bytes": sent.v, "parts": float64(len(list))},
				fmt.Sprintf("the %d %s sum to %s, but the total is %s", len(list), part.what, plausBytes(sum.v), sent.show(plausBytes)))...)
		}
	}
	if re, ok := plausSpanOf(p.Retransmits); ok && okS && re.lo*mss.lo > 0.1*sent.hi {
		out = append(out, p.say(7, FindingWarning, map[string]float64{"retransmits": re.v, "mss_bytes": mss.v, "sent_bytes": sent.v, "share": re.v * mss.v / sent.v},
			fmt.Sprintf("%s retransmits · %s = %s, %s of the %s sent", re.show(plausNumber), mss.show(plausBytes), plausBytes(re.v*mss.v), plausPercent(re.v*mss.v/sent.v), sent.show(plausBytes)))...)
	}
	return out
}

// PlausibleCreation is rule 11 for one point. Containers or processes per s ≤
// concurrency / mean time of one (error); live ones ≤ pid_max, ≤ RAM/PSS, ≤ 1024
// ports of one bridge (impossible), live = rate · lifetime within 15 % (warning);
// time of one = batch time · concurrency / count below what the kernel and the
// runtime need at least (fork and exec 0.3 ms, runc 20 ms, docker run 100 ms)
// means that something else was timed (warning). Times in s.
//
// Source: Little's law; net/bridge/br_private.h (BR_MAX_PORTS), proc(5)
// (pid_max); the least times are measured ones.
func PlausibleCreation(p PlausiblePoint) []Finding {
	var out []Finding
	count, okN := plausPositive(p.BatchCount)
	took, okT := plausPositive(p.BatchTime)
	c, okC := plausPositive(p.Concurrency)
	if okN && okT && okC {
		rate, each := count.v/took.v, took.v*c.v/count.v
		if mean, ok := plausPositive(p.LatencyMean); ok && count.lo/took.hi > 1.02*c.hi/mean.lo {
			out = append(out, p.say(11, FindingError, map[string]float64{"rate_per_s": rate, "bound_per_s": c.v / mean.v, "concurrency": c.v, "mean_s": mean.v},
				fmt.Sprintf("%s / %s = %s/s, but %s at a time in %s each give at most %s/s", count.show(plausNumber), took.show(plausSeconds), plausNumber(rate), c.show(plausNumber), mean.show(plausSeconds), plausNumber(c.v/mean.v)))...)
		}
		least := map[string]float64{"fork": 0.3e-3, "runc": 20e-3, "docker": 100e-3}[p.Runtime]
		if least > 0 && took.hi*c.hi/count.lo < least {
			out = append(out, p.say(11, FindingWarning, map[string]float64{"each_s": each, "least_s": least, "concurrency": c.v, "count": count.v, "batch_s": took.v},
				fmt.Sprintf("%s · %s / %s = %s each, but %s needs at least %s: something else was timed", took.show(plausSeconds), c.show(plausNumber), count.show(plausNumber), plausSeconds(each), p.Runtime, plausSeconds(least)))...)
		}
	}
	live, ok := plausPositive(p.Live)
	if !ok {
		return out
	}
	if most, ok := plausPositive(p.PIDMax); ok && live.lo > most.hi {
		out = append(out, p.say(11, FindingImpossible, map[string]float64{"live": live.v, "pid_max": most.v},
			fmt.Sprintf("%s alive at once are more than pid_max = %s", live.show(plausNumber), most.show(plausNumber)))...)
	}
	if ram, ok := plausPositive(p.MemoryTotal); ok {
		if pss, ok := plausPositive(p.PSS); ok && live.lo*pss.lo > ram.hi {
			out = append(out, p.say(11, FindingImpossible, map[string]float64{"live": live.v, "pss_bytes": pss.v, "product_bytes": live.v * pss.v, "memory_total_bytes": ram.v},
				fmt.Sprintf("%s · %s = %s, more than the %s of memory", live.show(plausNumber), pss.show(plausBytes), plausBytes(live.v*pss.v), ram.show(plausBytes)))...)
		}
	}
	if plausIsTrue(p.OneBridge) && live.lo > 1024 {
		out = append(out, p.say(11, FindingImpossible, map[string]float64{"live": live.v, "bridge_ports": 1024},
			fmt.Sprintf("%s containers on one bridge are more than its 1024 ports", live.show(plausNumber)))...)
	}
	if life, ok := plausPositive(p.Lifetime); ok && okN && okT {
		want := count.v / took.v * life.v
		if live.lo > 1.15*count.hi/took.lo*life.hi || live.hi < 0.85*count.lo/took.hi*life.lo {
			out = append(out, p.say(11, FindingWarning, map[string]float64{"live": live.v, "expected": want, "lifetime_s": life.v},
				fmt.Sprintf("%s / %s · %s of life = %s alive at once, but %s are stated", count.show(plausNumber), took.show(plausSeconds), life.show(plausSeconds), plausNumber(want), live.show(plausNumber)))...)
		}
	}
	return out
}

// PlausibleBatches is rule 11 over a test's batches: count/time of each, and how
// the times of a system differ from the baseline's. A rate that falls below 80 %
// of the highest is a note that creation slows down (or starts slowly); otherwise
// the finding shows the rule fulfilled.
func PlausibleBatches(t PlausibleTest, baseline string) []Finding {
	type series struct {
		system string
		rates  []float64
		times  map[string]float64
		labels []string
	}
	var all []*series
	find := func(system string) *series {
		for _, s := range all {
			if s.system == system {
				return s
			}
		}
		s := &series{system: system, times: map[string]float64{}}
		all = append(all, s)
		return s
	}
	for _, p := range t.Points {
		n, okN := plausPositive(p.BatchCount)
		d, okD := plausPositive(p.BatchTime)
		if !okN || !okD {
			continue
		}
		s := find(p.System)
		s.rates = append(s.rates, n.v/d.v)
		s.times[p.Label] = d.v
		s.labels = append(s.labels, p.Label)
	}
	var parts []string
	values := map[string]float64{}
	slow := false
	for _, s := range all {
		var rates []string
		least, most := math.Inf(1), 0.0
		for i, r := range s.rates {
			rates = append(rates, plausFixed(r, 1))
			least, most = min(least, r), max(most, r)
			values[fmt.Sprintf("rate_%s_%d_per_s", s.system, i+1)] = r
		}
		slow = slow || least < 0.8*most
		parts = append(parts, strings.TrimSpace(strings.Join(rates, ", ")+" per s "+s.system))
	}
	if len(parts) == 0 {
		return nil
	}
	text := "count / time = " + strings.Join(parts, "; ")
	for _, base := range all {
		if base.system != baseline || baseline == "" {
			continue
		}
		for _, s := range all {
			var less []string
			for _, l := range s.labels {
				if b, ok := base.times[l]; ok && s != base {
					less = append(less, plausFixed(100*(s.times[l]-b)/b, 0))
				}
			}
			if less != nil {
				text += fmt.Sprintf("; the times of %s differ from %s's by %s %%", s.system, baseline, strings.Join(less, ", "))
			}
		}
	}
	if slow {
		return plausSayOf(t.Name, 11, FindingNote, values, text+": the rate changes with the number")
	}
	f := plausSayOf(t.Name, 11, FindingNote, values, text+": no slow-down with the number")
	for i := range f {
		f[i].Holds = true
	}
	return f
}

const (
	plausDefaultPorts = 60999 - 32768 + 1 // ip_local_port_range
	plausTimeWait     = 60.0              // TCP_TIMEWAIT_LEN, s
)

// PlausibleConnections is rule 12. Connections ≤ tuples · ephemeral ports, a tuple
// being source address, destination address and port; 28 232 ports by default.
// Broken with both stated: impossible; with the default range: error; with tuples
// not stated: warning naming how many it needs. New connections per s ≤ tuples ·
// ports / 60 s (TIME_WAIT) where the client closes first and not on loopback
// (warning: about 470/s a tuple). Connections ≤ descriptors of a process ·
// processes (impossible; warning when the processes are not stated).
//
// Source: Linux Documentation/networking/ip-sysctl.rst (ip_local_port_range,
// tcp_tw_reuse), include/net/tcp.h (TCP_TIMEWAIT_LEN), getrlimit(2).
func PlausibleConnections(p PlausiblePoint) []Finding {
	var out []Finding
	tuples, okT := plausPositive(p.Tuples)
	ports, okP := plausPositive(p.Ports)
	if !okP {
		ports = plausSpan{v: plausDefaultPorts, lo: plausDefaultPorts, hi: plausDefaultPorts}
	}
	n, okN := plausPositive(p.Connections)
	if okN {
		values := map[string]float64{"connections": n.v, "ports": ports.v}
		need := math.Ceil(n.v / ports.v)
		switch {
		case okT && n.lo > tuples.hi*ports.hi:
			severity, whose := FindingImpossible, ""
			if !okP {
				severity, whose = FindingError, " (the default range)"
			}
			values["tuples"], values["bound"] = tuples.v, tuples.v*ports.v
			out = append(out, p.say(12, severity, values, fmt.Sprintf("%s connections are more than %s address pairs · %s ports%s = %s",
				n.show(plausNumber), tuples.show(plausNumber), plausNumber(ports.v), whose, plausNumber(tuples.v*ports.v)))...)
		case !okT && n.lo > ports.hi:
			values["tuples_needed"] = need
			out = append(out, p.say(12, FindingWarning, values, fmt.Sprintf("%s connections are more than the %s ports of one address pair: it needs %s pairs or a wider port range, which is not stated",
				n.show(plausNumber), plausNumber(ports.v), plausNumber(need)))...)
		}
		if files, ok := plausPositive(p.OpenFiles); ok {
			procs, okProcs := plausPositive(p.Processes)
			severity, text := FindingImpossible, fmt.Sprintf("%s connections are more than %s processes · %s descriptors", n.show(plausNumber), procs.show(plausNumber), files.show(plausNumber))
			if !okProcs {
				procs = plausSpan{v: 1, lo: 1, hi: 1}
				severity, text = FindingWarning, fmt.Sprintf("%s connections are more than the %s descriptors of one process: it needs several, which is not stated", n.show(plausNumber), files.show(plausNumber))
			}
			if n.lo > files.hi*procs.hi {
				out = append(out, p.say(12, severity, map[string]float64{"connections": n.v, "descriptors": files.v, "processes": procs.v}, text)...)
			}
		}
	}
	if rate, ok := plausPositive(p.ConnectRate); ok && okT && plausIsTrue(p.ClientCloses) && !plausIsTrue(p.Loopback) {
		bound := tuples.v * ports.v / plausTimeWait
		if rate.lo > 1.02*tuples.hi*ports.hi/plausTimeWait {
			out = append(out, p.say(12, FindingWarning, map[string]float64{"connects_per_s": rate.v, "bound_per_s": bound, "tuples": tuples.v, "ports": ports.v},
				fmt.Sprintf("%s new connections are more than %s · %s ports / 60 s in TIME_WAIT = %s/s where the client closes first", plausPerSecond(rate), tuples.show(plausNumber), plausNumber(ports.v), plausNumber(bound)))...)
		}
	}
	return out
}

// PlausibleDurability is rule 13. Commits per s ≤ fsyncs per s · commits of one
// fsync; P50 of a commit ≥ latency of an fsync; X · pages written · page size ≤
// bandwidth of the disk (bytes/s). Broken by more than 2 % beyond the rounding it
// is an error: commits were not durable, or a cache answered.
//
// Source: J. Gray, A. Reuter, Transaction Processing (1992), group commit;
// fsync(2).
func PlausibleDurability(p PlausiblePoint) []Finding {
	var out []Finding
	if c, ok := plausPositive(p.CommitRate); ok {
		f, okF := plausPositive(p.FsyncRate)
		g, okG := plausPositive(p.GroupCommit)
		if okF && okG && c.lo > 1.02*f.hi*g.hi {
			out = append(out, p.say(13, FindingError, map[string]float64{"commits_per_s": c.v, "fsyncs_per_s": f.v, "group": g.v, "bound_per_s": f.v * g.v},
				fmt.Sprintf("%s commits are more than %s fsyncs · %s = %s/s: not durable, or a write cache answered", plausPerSecond(c), plausPerSecond(f), g.show(plausNumber), plausNumber(f.v*g.v)))...)
		}
	}
	if c, ok := plausSpanOf(p.CommitP50); ok {
		if f, ok := plausPositive(p.FsyncLatency); ok && c.hi < 0.98*f.lo {
			out = append(out, p.say(13, FindingError, map[string]float64{"commit_p50_s": c.v, "fsync_s": f.v},
				fmt.Sprintf("half of the commits took less than %s, but one fsync takes %s", c.show(plausSeconds), f.show(plausSeconds)))...)
		}
	}
	x, okX := plausPositive(p.Throughput)
	w, okW := plausPositive(p.WritesPerOperation)
	page, okP := plausPositive(p.PageBytes)
	if disk, ok := plausPositive(p.DiskBandwidth); ok && okX && okW && okP {
		need := x.v * w.v * page.v
		if x.lo*w.lo*page.lo > 1.02*disk.hi {
			out = append(out, p.say(13, FindingError, map[string]float64{"written_bytes_per_s": need, "disk_bytes_per_s": disk.v},
				fmt.Sprintf("%s · %s pages · %s = %s/s, more than the disk's %s", plausPerSecond(x), w.show(plausNumber), page.show(plausBytes), plausBytes(need), disk.show(func(v float64) string { return plausBytes(v) + "/s" })))...)
		}
	}
	return out
}

// PlausibleMemory is rule 14. PSS ≤ RSS ≤ MemTotal, MemAvailable ≤ MemTotal, used
// ≤ MemTotal (impossible); an exact RSS is a multiple of the page size (warning);
// growth · time ≤ MemTotal (impossible); after a restart or an OOM kill a drop is
// not a recovery (warning). Bytes, s. That used + free + cache is the total is
// not asked: it depends on the definition of "used".
//
// Source: proc(5), /proc/meminfo and /proc/pid/smaps_rollup.
func PlausibleMemory(p PlausiblePoint) []Finding {
	var out []Finding
	for _, c := range []struct {
		small, large         *PlausibleNumber
		smallName, largeName string
	}{
		{p.PSS, p.RSS, "PSS", "RSS"},
		{p.RSS, p.MemoryTotal, "RSS", "the total"},
		{p.MemoryAvailable, p.MemoryTotal, "available", "the total"},
		{p.Memory, p.MemoryTotal, "used", "the total"},
	} {
		s, okS := plausSpanOf(c.small)
		l, okL := plausPositive(c.large)
		if okS && okL && s.lo > l.hi {
			out = append(out, p.say(14, FindingImpossible, map[string]float64{"part_bytes": s.v, "whole_bytes": l.v},
				fmt.Sprintf("%s %s is more than %s %s", c.smallName, s.show(plausBytes), c.largeName, l.show(plausBytes)))...)
		}
	}
	if rss, ok := plausPositive(p.RSS); ok && rss.lo == rss.hi && rss.text == "" {
		if page, ok := plausPositive(p.PageBytes); ok && math.Mod(rss.v, page.v) != 0 {
			out = append(out, p.say(14, FindingWarning, map[string]float64{"rss_bytes": rss.v, "page_bytes": page.v},
				fmt.Sprintf("RSS %s bytes is not a multiple of the page of %s", plausNumber(rss.v), page.show(plausBytes)))...)
		}
	}
	if g, ok := plausSignedSpanOf(p.MemoryGrowth); ok {
		t, okT := plausPositive(p.Seconds)
		ram, okR := plausPositive(p.MemoryTotal)
		if okT && okR && g.lo*t.lo > ram.hi {
			out = append(out, p.say(14, FindingImpossible, map[string]float64{"growth_bytes_per_s": g.v, "seconds": t.v, "grown_bytes": g.v * t.v, "memory_total_bytes": ram.v},
				fmt.Sprintf("%s/s · %s = %s, more than the %s there are", plausBytes(g.v), t.show(plausSeconds), plausBytes(g.v*t.v), ram.show(plausBytes)))...)
		}
	}
	if change, ok := plausSignedSpanOf(p.MemoryChange); ok && change.hi < 0 {
		if r, ok := plausPositive(p.Restarts); ok {
			out = append(out, p.say(14, FindingWarning, map[string]float64{"change_bytes": change.v, "restarts": r.v},
				fmt.Sprintf("memory fell by %s after %s restarts or OOM kills: that is no recovery", plausBytes(-change.v), r.show(plausNumber)))...)
		}
	}
	return out
}
