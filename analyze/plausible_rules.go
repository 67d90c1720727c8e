package analyze

// PlausibleRule says what a rule does, for help texts and documents.
type PlausibleRule struct {
	Rule     int
	Name     string
	Formula  string // in the words of the rule's doc comment
	Severity string // what it can find
	Source   string
}

// PlausibleRules returns the 20 rules in order; the slice is the caller's.
func PlausibleRules() []PlausibleRule { return append([]PlausibleRule(nil), plausibleRules[:]...) }

var plausibleRules = [20]PlausibleRule{
	{1, "Little's law", "closed loop: R = N/X − Z; (R+Z)·X/N off from 1 by 15 %: warning, by a factor of 2: error; Z > N/X: impossible; open loop: X·R ≤ N for latencies without the wait before sending", "impossible, error, warning", "Little 1961, doi:10.1287/opre.9.3.383; Denning and Buzen 1978, doi:10.1145/356733.356735"},
	{2, "sysbench", "TPS·mean = threads ±3 %: error; queries per transaction 16 (oltp_read_only), 20 (oltp_read_write), 6 (oltp_write_only), 1 (oltp_point_select) ±1 %: warning; Σ latency / threads = time ±5 %: warning", "error, warning", "sysbench 1.0, src/sysbench.c, src/lua/oltp_*.lua"},
	{3, "asymptotic bounds", "X ≤ N/(D+Z), X ≤ m/Dmax, R ≥ D, R ≥ N·Dmax/m − Z, R ≥ RTT", "impossible", "Muntz and Wong 1974; Lazowska et al., Quantitative System Performance, 1984, chapter 5"},
	{4, "utilisation law", "S = U·cores/X; U ≤ 1 and X·S ≤ cores: impossible; a stated S off by 15 %, S < 5 µs for HTTP, S > 200 µs for a static file, X/U extrapolated with SMT or from U < 20 %: warning", "impossible, warning", "Denning and Buzen 1978; costs measured with nginx"},
	{5, "CPU states", "Σ states = 100 % ± 1: error; stolen > 1 %, load generator > 90 % busy: warning", "error, warning", "proc(5), /proc/stat"},
	{6, "link goodput", "X·bytes = transfer rate −3 % (+1 KiB of headers): error; payload ≤ rate·(MTU − headers)/(MTU + 38): above the stated MTU's (9000 where none is stated): impossible; above that of MTU 1500 with timestamps, neither stated: warning", "impossible, error, warning", "IEEE 802.3; RFC 791, 8200, 9293, 7323, 768"},
	{7, "packets and windows", "frames/s ≤ rate/(8·(frame+20)), rate ≤ N·8·window/RTT: impossible; rate ≤ N·8·1.22·MSS/(RTT·√p): warning with Reno, else note; received ≤ sent, Σ streams = Σ intervals = sent ±1 %: error; retransmits·MSS ≤ 10 % of sent: warning", "impossible, error, warning, note", "IEEE 802.3; Mathis et al. 1997, doi:10.1145/263932.264023; iperf3"},
	{8, "percentiles", "min ≤ P50 ≤ … ≤ max; P_q ≤ mean/(1−q); P_q ≤ mean + σ·√(q/(1−q)); |mean − P50| ≤ σ; max ≤ mean + σ·√(n−1); mean ≤ q·P_q + (1−q)·max, max or time-out: impossible (error with failed operations), length of the test: warning; P_q from n ≥ 10/(1−q): warning", "impossible, error, warning", "Markov; Cantelli; Hotelling and Solomons 1932, doi:10.1214/aoms/1177732911; Samuelson 1968, doi:10.1080/01621459.1968.10480944; wrk/src/wrk.h"},
	{9, "coordinated omission", "k s without a completion on open connections: max ≥ k s: error (warning when the tool dropped or never got the answers); P99 < longest stall although stalled > 1 % of the run: warning", "error, warning", "Tene, How NOT to Measure Latency, 2013; wrk/src/wrk.c"},
	{10, "rate bookkeeping", "X = total/T, mean of the seconds = X, Σ seconds = total, ±1 %: error; trimmed and untrimmed differ by 1 %: note", "error, note", "arithmetic; Jain 1991, chapter 12"},
	{11, "creation", "rate ≤ concurrency/mean: error; live ≤ pid_max, RAM/PSS, 1024 bridge ports: impossible; live = rate·lifetime ±15 %, time of one ≥ 0.3 ms (fork), 20 ms (runc), 100 ms (docker): warning", "impossible, error, warning, note", "Little 1961; net/bridge/br_private.h; proc(5)"},
	{12, "connections", "N ≤ tuples·ports: impossible (error with the default 28 232 ports, warning without tuples); new/s ≤ tuples·ports/60 s where the client closes first: warning; N ≤ descriptors·processes: impossible (warning without processes)", "impossible, error, warning", "ip-sysctl.rst; include/net/tcp.h; getrlimit(2)"},
	{13, "durability", "commits/s ≤ fsyncs/s·group; P50 of a commit ≥ fsync; X·pages·page size ≤ disk bandwidth", "error", "Gray and Reuter 1992; fsync(2)"},
	{14, "memory", "PSS ≤ RSS ≤ total, available ≤ total, used ≤ total, growth·T ≤ total: impossible; RSS a multiple of the page, a drop after a restart: warning", "impossible, warning", "proc(5)"},
	{15, "spread of runs", "n ≥ 3 equal values, s/mean > 10 %, no spread stated at all: warning; s²/v below the 0.1 % point of F(n−1, ν): note; mean of n whole numbers = k/n: error", "error, warning, note", "Brown and Heathers 2017, doi:10.1177/1948550616673876; Simonsohn 2013, doi:10.1177/0956797613480366; Hoefler and Belli 2015, doi:10.1145/2807591.2807644"},
	{16, "differences and averages", "value/base − 1 as stated, mean of the runs as stated, ratio·inverse = 1, within the rounding: error; more than 100 % lower: impossible; base not stated: warning", "impossible, error, warning", "arithmetic; Fleming and Wallace 1986, doi:10.1145/5666.5673"},
	{17, "series", "the same value for 60 s, 5 values (whole numbers: more than by chance) in a straight line, samples ≠ T·(1 − missing) ±1 %: warning; last digits not uniform, χ² p < 1e-6: note", "warning, note", "Preece 1981, doi:10.2307/2987702"},
	{18, "saturation", "all systems ≥ 98 % of the goodput: tied: warning; X equal while N doubles: R2/R1 = N2/N1 ±15 %: warning, factor 2: error; X faster than N, X·R falling: warning; N* = (D+Z)·m/Dmax: note", "error, warning, note", "Lazowska et al. 1984; Gunther 2007"},
	{19, "errors", "failed/total ≤ 0.1 %, retransmits·MSS/sent ≤ 0.1 %: warning", "warning", "wrk/src/wrk.c; iperf3"},
	{20, "units", "two sources in the ratio 8, 1000^k, 1.024^k: error", "error", "IEC 80000-13; wrk/src/units.c"},
}
