package report

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/steadybench/steady/schemas"
)

func ptr[T any](x T) *T { return &x }

// study is a made-up experiment whose figures hang together: each run has a value,
// means and intervals come from them.
type study struct {
	r       schemas.Results
	rng     *rand.Rand
	systems []string
	runs    int
}

func newStudy(systems []string, runs int) *study {
	s := &study{rng: rand.New(rand.NewPCG(7, 11)), systems: systems, runs: runs}
	s.r = schemas.Results{Schema: schemas.ResultsSchema, Experiment: "web", Baseline: systems[0], MarginPercent: 2}
	return s
}

// t975 and t95 are Student's quantiles for the sizes used here (df 2 and 4).
const t975df2, t975df4, t95df4 = 4.303, 2.776, 2.132

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// metric adds a metric: each system's true value, and the scatter of its runs in
// percent.
func (s *study) metric(name, unit string, dir schemas.Direction, role string, primary bool, cv float64, truth ...float64) *schemas.MetricResult {
	sc := &s.r.Scenarios[len(s.r.Scenarios)-1]
	m := schemas.MetricResult{Metric: name, Role: role, Unit: unit, Direction: dir, Primary: primary}
	values := make([][]float64, len(truth))
	for i, x := range truth {
		sys := schemas.SystemResult{System: s.systems[i], Runs: s.runs, Used: s.runs, Level: 0.95, Window: "fixed"}
		for range s.runs {
			v := x * math.Exp(cv/100*s.rng.NormFloat64())
			values[i] = append(values[i], v)
			sys.RunValues = append(sys.RunValues, ptr(v))
			sys.ESS = append(sys.ESS, ptr(40+30*s.rng.Float64()))
		}
		mean, v := moments(values[i])
		h := t975df2 * math.Sqrt(v/float64(s.runs))
		sys.Mean, sys.CI, sys.Median = ptr(mean), [2]*float64{ptr(mean - h), ptr(mean + h)}, ptr(values[i][s.runs/2])
		sys.SDBetween, sys.SDWithin = ptr(math.Sqrt(v)), ptr(mean*0.03)
		sys.Windows = schemas.WindowsResult{
			Fixed: &schemas.WindowResult{FromS: 120, ToS: 300, Steady: ptr(true), Mean: ptr(mean)},
			Auto:  &schemas.WindowResult{FromS: 46, ToS: 300, Steady: ptr(true), Mean: ptr(mean * 0.999)},
		}
		m.Systems = append(m.Systems, sys)
	}
	logs := func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = math.Log(x[i])
		}
		return out
	}
	for i := 1; i < len(truth); i++ {
		la, va := moments(logs(values[i]))
		lb, vb := moments(logs(values[0]))
		d, se := la-lb, math.Sqrt((va+vb)/float64(s.runs))
		pct := func(x float64) *float64 { return ptr(100 * (math.Exp(x) - 1)) }
		base := *m.Systems[0].Mean
		c := schemas.ComparisonResult{
			System: s.systems[i], Difference: ptr(*m.Systems[i].Mean - base),
			DifferenceCI: [2]*float64{ptr(base * (math.Exp(d-t975df4*se) - 1)), ptr(base * (math.Exp(d+t975df4*se) - 1))},
			Percent:      pct(d), PercentCI: [2]*float64{pct(d - t975df4*se), pct(d + t975df4*se)},
			Level: 0.95, DF: ptr(4.0), Method: "welch-log", MarginPercent: 2, MDEPercent: ptr(100 * 3.9 * se),
		}
		sig := math.Abs(d) > t975df4*se
		c.Differs = ptr(sig)
		c.P = ptr(math.Exp(-math.Abs(d) / se))
		c.Q = ptr(math.Min(1, *c.P*2))
		margin := math.Log(1.02)
		inside := d-t95df4*se > -margin && d+t95df4*se < margin
		if dir != schemas.None {
			v := schemas.Undecided
			switch {
			case inside:
				v = schemas.Same
			case sig && (d > 0) == (dir == schemas.Higher):
				v = schemas.Better
			case sig:
				v = schemas.Worse
			default:
				c.RunsNeeded = ptr(int(math.Ceil(3 + 9*se*100/2)))
			}
			c.Verdict = ptr(v)
		}
		m.Comparisons = append(m.Comparisons, c)
	}
	sc.Metrics = append(sc.Metrics, m)
	return &sc.Metrics[len(sc.Metrics)-1]
}

func (s *study) scenario(name string, params map[string]any) {
	s.r.Scenarios = append(s.r.Scenarios, schemas.Scenario{Scenario: name, Params: params})
	for _, sys := range s.systems {
		for k := range s.runs {
			s.r.Quality = append(s.r.Quality, schemas.RunNote{System: sys, Scenario: name, Run: fmt.Sprintf("%02d", k+1),
				Status: schemas.Complete, Used: true, Expected: ptr(int64(600)), Received: 600})
		}
	}
}

// realistic is three systems, three runs each, three scenarios.
func realistic() *schemas.Results {
	s := newStudy([]string{"baseline", "ctyunos", "ctyunos-tuned"}, 3)
	for i, c := range []int{1000, 10000} {
		s.scenario(fmt.Sprintf("web-static_connections-%d", c), map[string]any{"connections": float64(c), "file": "1KiB"})
		f := 1 - 0.23*float64(i)
		s.metric("workload.throughput", "1/s", schemas.Higher, "load", true, 0.8, 78000*f, 85000*f, 78600*f)
		s.metric("workload.latency_p99", "s", schemas.Lower, "load", true, 2.5, 0.0241/f, 0.0198/f, 0.0236/f)
		s.metric("workload.error_pct", "%", schemas.Lower, "load", false, 20, 0.012, 0.011, 0.012)
		s.metric("cpu.busy_pct", "%", schemas.Lower, "sut", false, 1, 52, 45, 51.6)
		s.metric("cpu.busy_pct", "%", schemas.Lower, "load", false, 2, 31, 31.4, 31.2)
		s.metric("memory.used_bytes", "B", schemas.Lower, "sut", false, 0.4, 2.5e9, 2.1e9, 2.49e9)
		s.metric("net.tx_bytes_per_s", "B/s", schemas.None, "sut", false, 0.8, 98e6*f, 107e6*f, 98.6e6*f).Device = ptr("eth0")
		s.metric("disk.write_bytes_per_s", "B/s", schemas.None, "sut", false, 12, 51000, 53000, 50000).Device = ptr("nvme0n1")
		s.metric("load.runq_sz", "task", schemas.None, "sut", false, 6, 34, 29, 33)
		s.metric("pressure.some_pct", "%", schemas.Lower, "sut", false, 5, 12.4, 8.1, 12.6).Device = ptr("cpu")
		s.metric("pressure.some_pct", "%", schemas.Lower, "sut", false, 40, 0.031, 0.029, 0.034).Device = ptr("io")
		for j, n := range []string{"pgfault", "pgfree", "pgmajfault", "pgactivate", "pgscan_kswapd", "slabs_scanned", "thp_fault_alloc", "workingset_refault_file"} {
			s.metric("paging."+n+"_per_s", "page/s", schemas.None, "sut", false, 9, 800*math.Pow(3, float64(j-3)), 800*math.Pow(3, float64(j-3)), 810*math.Pow(3, float64(j-3)))
		}
		for _, n := range []string{"cached_bytes", "slab_bytes", "anon_bytes", "page_tables_bytes"} {
			s.metric("memory."+n, "B", schemas.None, "sut", false, 0.7, 3.1e8, 3.11e8, 3.1e8)
		}
		s.metric("memory.available_bytes", "B", schemas.Higher, "sut", false, 0.2, 2.51e11, 2.514e11, 2.51e11)
		s.metric("cpu.steal_pct", "%", schemas.Lower, "sut", false, 40, 0.02, 0.019, 0.021)
		s.metric("disk.await_s", "s", schemas.Lower, "sut", false, 0.5, 0.00012, 0.00012, 0.000121).Device = ptr("nvme0n1")
	}
	s.scenario("mysql-oltp_threads-500", map[string]any{"threads": 500.0})
	s.metric("workload.throughput", "1/s", schemas.Higher, "load", true, 0.5, 11000, 11030, 10320)
	s.metric("workload.latency_p99", "s", schemas.Lower, "load", true, 3.5, 0.105, 0.1038, 0.118)
	s.metric("cpu.busy_pct", "%", schemas.Lower, "sut", false, 1, 71, 70.6, 74)
	s.metric("disk.write_bytes_per_s", "B/s", schemas.None, "sut", false, 2, 2.1e8, 2.12e8, 1.97e8).Device = ptr("nvme0n1")

	// What goes wrong in practice.
	q := s.r.Quality
	q[4].Missing, q[4].Received, q[4].Late = 12, 588, 2
	q[4].Flags = []string{"gap 31 s to 43 s on host sut1"}
	q[7].Late, q[7].Missed = 5, 1
	q[26].Status, q[26].Used, q[26].Why = schemas.Failed, false, "failed: mysqld ended with signal 9 at 212 s"
	q[26].Expected, q[26].Received = nil, 424
	db := &s.r.Scenarios[2].Metrics[0]
	db.Systems[2].Used = 2
	db.Systems[2].Windows.Fixed.Steady = ptr(false)
	db.Systems[2].Warnings = []string{"one of 3 runs is not used"}
	s.r.Plausibility = []schemas.Finding{{Rule: "little", Severity: "warning", Subject: "ctyunos/web-static_connections-10000",
		Text: "10,000 connections / 65,450 requests a second give a mean latency of 152.8 ms, the tool says 149.1 ms"}}
	return &s.r
}

// curves are the seconds behind a throughput chart: a warm-up, scatter with memory,
// and what goes wrong.
func curves(systems []string, runs int, seconds int, level []float64) []Curve {
	rng := rand.New(rand.NewPCG(3, 5))
	var out []Curve
	for i, sys := range systems {
		for k := range runs {
			c := Curve{System: sys, Run: fmt.Sprintf("%02d", k+1), Used: true}
			x := 0.0
			for t := range seconds {
				x = 0.7*x + 0.012*rng.NormFloat64()
				v := level[i] * (1 + 0.006*float64(k-1) + x) * (1 - 0.55*math.Exp(-float64(t)/(22+6*float64(i))))
				if k == 2 && i == 0 && t == seconds*2/3 {
					v *= 0.35 // a stall of one second
				}
				c.T, c.V = append(c.T, float64(t)), append(c.V, v)
				c.Known = append(c.Known, !(i == 1 && k == 1 && t >= seconds/2 && t < seconds/2+12))
			}
			out = append(out, c)
		}
	}
	return out
}

func realisticCharts() []Chart {
	systems := []string{"baseline", "ctyunos", "ctyunos-tuned"}
	phases := []Phase{{"gate", Span{0, 12}}, {"warmup", Span{12, 120}}, {"measure", Span{120, 300}}, {"cooldown", Span{300, 315}}}
	var out []Chart
	for i, c := range []int{1000, 10000} {
		f := 1 - 0.23*float64(i)
		name := fmt.Sprintf("web-static_connections-%d", c)
		out = append(out,
			Chart{name, "workload.throughput", "1/s", Span{120, 300}, phases, curves(systems, 3, 315, []float64{78000 * f, 85000 * f, 78600 * f})},
			Chart{name, "memory.used_bytes", "B", Span{120, 300}, phases, curves(systems, 3, 315, []float64{2.5e9, 2.1e9, 2.49e9})})
	}
	db := curves(systems, 3, 315, []float64{11000, 11030, 10320})
	db[8].Used = false
	db[8].T, db[8].V, db[8].Known = db[8].T[:212], db[8].V[:212], db[8].Known[:212]
	return append(out, Chart{"mysql-oltp_threads-500", "workload.throughput", "1/s", Span{120, 300}, phases, db})
}

func realisticMeta() Meta {
	return Meta{Title: "Web and database load on three systems", Generator: "steady 0.1", Created: "2026-03-04 10:15 UTC",
		Note: "Nightly comparison; the load generator is another host, on the same 10 Gbit/s switch.",
		Hosts: []Host{
			{"baseline", "sut1", []string{"sut"}, map[string]string{"kernel": "5.14.0-427.el9", "cpu": "2 x 32 cores", "governor": "performance", "memory": "256 GiB"}},
			{"ctyunos", "sut1", []string{"sut"}, map[string]string{"kernel": "5.10.0-136.ctl3", "cpu": "2 x 32 cores", "governor": "performance", "memory": "256 GiB"}},
			{"ctyunos-tuned", "sut1", []string{"sut"}, map[string]string{"kernel": "5.10.0-136.ctl3", "cpu": "2 x 32 cores", "governor": "performance", "memory": "256 GiB"}},
			{"", "load1", []string{"load"}, map[string]string{"kernel": "6.1.0-32", "cpu": "1 x 24 cores", "memory": "64 GiB"}},
		},
		Files: []File{{"results.json", "all numbers of this report, and those it leaves out"}}}
}
