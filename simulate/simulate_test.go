package simulate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

// Noise has the mean, spread and correlation that it is asked for, within four standard
// errors of an estimate from so long a series.
func TestNoise(t *testing.T) {
	const n = 200_000
	for _, tt := range []struct {
		name  string
		noise Noise
		r1    float64
		// essShare is the share of n that the noise is worth for its mean.
		essShare float64
	}{
		{"white", Noise{SD: 0.02}, 0, 1},
		{"AR(1)", Noise{SD: 0.02, Phi: 0.9}, 0.9, 0.1 / 1.9},
		{"heavy tails", Noise{SD: 0.02, Tails: 5}, 0, 1},
		{"long memory", Noise{SD: 0.02, D: 0.3}, 0.3 / 0.7, 0.002}, // r1 = d/(1-d)
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := tt.noise.series(n, rand.New(rand.NewPCG(1, 2)))
			var sum, sq, lag float64
			for i, v := range x {
				sum += v
				sq += v * v
				if i > 0 {
					lag += v * x[i-1]
				}
			}
			mean := sum / n
			sd := math.Sqrt(sq/n - mean*mean)
			r1 := (lag/(n-1) - mean*mean) / (sd * sd)
			if se := 0.02 / math.Sqrt(n*tt.essShare); math.Abs(mean) > 4*se {
				t.Errorf("mean %g, standard error %g", mean, se)
			}
			if math.Abs(sd/0.02-1) > 0.03 {
				t.Errorf("sd %g, want 0.02", sd)
			}
			if math.Abs(r1-tt.r1) > 0.02 {
				t.Errorf("lag-one correlation %g, want %g", r1, tt.r1)
			}
		})
	}
}

// Without noise a signal is what it says, at each moment.
func TestSignal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	at := func(s Signal, n int, interval time.Duration, i int) float64 {
		s.Level = 100
		return s.series(n, interval, r)[i]
	}
	for _, tt := range []struct {
		name string
		s    Signal
		i    int
		want float64
	}{
		{"level", Signal{}, 3, 100},
		{"effect", Signal{Effect: 0.09}, 3, 109},
		{"before a step", Signal{Step: -0.03, StepAt: 5 * time.Second}, 4, 100},
		{"after a step", Signal{Step: -0.03, StepAt: 5 * time.Second}, 5, 97},
		{"half of a trend", Signal{Trend: 0.1}, 4, 104.5},
		{"transient", Signal{Transient: -0.5, TransientTime: time.Second}, 0, 100 * (1 - 0.5*math.Exp(-0.5))},
		{"saw-tooth", Signal{Saw: 0.4, SawPeriod: 4 * time.Second}, 5, 115},
		{"spike", Signal{Spikes: 1, SpikeSize: 0.5}, 2, 150},
	} {
		if got := at(tt.s, 10, time.Second, tt.i); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
	if got := at(Signal{Daily: 0.1}, 24, time.Hour, 5); math.Abs(got-(100+10*math.Sin(2*math.Pi*5.5/24))) > 1e-9 {
		t.Errorf("daily cycle: %g", got)
	}
}

func TestRun(t *testing.T) {
	p := Plan{Interval: time.Second, Duration: 100 * time.Second, GapAt: 10 * time.Second, Gap: 5 * time.Second,
		Throughput: Signal{Level: 1000, Noise: Noise{SD: 0.02, Phi: 0.5}}, Memory: Signal{Level: 1e9}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	a, b := p.Run(7, 1e18, 1e9), p.Run(7, 1e18, 1e9)
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gave two runs")
	}
	if reflect.DeepEqual(a, p.Run(8, 1e18, 1e9)) {
		t.Error("two seeds gave one run")
	}
	if len(a) != 95 {
		t.Errorf("%d ticks, want 100 less the 5 of the gap", len(a))
	}
	for i, tick := range a {
		if tick.Seq != int64(i+1) || len(tick.Rows) != 1 || tick.Rows[0].Table != &schemas.Workload || len(tick.Blocks) != 1 {
			t.Fatalf("tick %d: %+v", i, tick)
		}
	}
	if got := a[10].Rows[0].BootNS - a[9].Rows[0].BootNS; got != 6e9 {
		t.Errorf("over the gap %d ns, want 6 s", got)
	}
	missing := p
	missing.Missing = 0.5
	if n := len(missing.Run(1, 0, 0)); n < 30 || n > 65 {
		t.Errorf("%d ticks of 95 with half of them missing", n)
	}
}

func TestCheck(t *testing.T) {
	ok := Plan{Interval: time.Second, Duration: time.Minute, Throughput: Signal{Level: 1}}
	for _, tt := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Interval = 0 }, "interval"},
		{func(p *Plan) { p.Duration = time.Second }, "samples"},
		{func(p *Plan) { p.Keep = time.Hour }, "keep"},
		{func(p *Plan) { p.Missing = 1 }, "missing"},
		{func(p *Plan) { p.Throughput.Noise.Phi = 1 }, "phi"},
		{func(p *Plan) { p.Throughput.Noise.D = 0.5 }, "noise"},
		{func(p *Plan) { p.Throughput.Noise.Tails = 2 }, "tails"},
		{func(p *Plan) { p.Memory.Saw = 1 }, "period"},
	} {
		p := ok
		tt.change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want a word of %s", err, tt.want)
		}
	}
}
