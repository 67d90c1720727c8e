// Package simulate makes runs with known truth: the same seed gives the same numbers,
// on any machine. What it makes goes the way of real samples, so that the statistics
// can be tried through the command line.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/steadybench/steady/schemas"
)

// Noise is a stationary series of standard deviation SD (as a share of the level) and
// mean 0.
type Noise struct {
	SD float64
	// Phi is the correlation of neighbouring samples of an AR(1), in [0, 1).
	Phi float64
	// D makes long memory instead: fractionally integrated white noise of order D, in
	// (0, 0.5) (Granger, Joyeux 1980, doi:10.1111/j.1467-9892.1980.tb00297.x).
	D float64
	// Tails draws from Student's t with so many degrees of freedom; 0: normal.
	Tails float64
}

// Signal is the truth of one measured quantity: level times one plus what changes.
// Shares are of the level.
type Signal struct {
	Level  float64
	Noise  Noise
	Run    float64 // sd of a run's own level, a share
	Effect float64 // of the system, a share
	// Transient is what the first sample is off by, decaying with TransientTime.
	Transient     float64
	TransientTime time.Duration
	// Daily is the amplitude of a daily cycle, Phase its share of a day.
	Daily, Phase float64
	// Step changes the level by a share from StepAt on.
	Step   float64
	StepAt time.Duration
	// Trend changes the level linearly by a share over the whole run.
	Trend float64
	// Saw adds a saw-tooth: from 0 up to a share within SawPeriod, then down.
	Saw       float64
	SawPeriod time.Duration
	// Spikes are a share of samples that are off by SpikeSize.
	Spikes, SpikeSize float64
}

// Plan is what to make.
type Plan struct {
	Interval time.Duration
	Duration time.Duration
	// Keep is how much of the end is the measure phase; 0: all.
	Keep time.Duration
	// Missing is the share of samples that never came, GapAt and Gap a hole in time.
	Missing float64
	GapAt   time.Duration
	Gap     time.Duration
	// Throughput, operations a second, is always made; Memory, bytes used, if its
	// level is not zero.
	Throughput, Memory Signal
	MemoryTotal        float64
}

// Check returns what is wrong with the plan.
func (p *Plan) Check() error {
	n := p.Duration / max(p.Interval, 1)
	switch {
	case p.Interval < time.Millisecond:
		return fmt.Errorf("simulate: interval %s: the shortest is 1ms", p.Interval)
	case n < 2 || n > 10_000_000:
		return fmt.Errorf("simulate: %d samples: want 2 to 10 million", n)
	case p.Keep < 0 || p.Keep > p.Duration:
		return fmt.Errorf("simulate: keep %s of %s", p.Keep, p.Duration)
	case p.Missing < 0 || p.Missing > 0.9:
		return fmt.Errorf("simulate: missing share %g: want 0 to 0.9", p.Missing)
	}
	for _, s := range []*Signal{&p.Throughput, &p.Memory} {
		x := s.Noise
		switch {
		case x.SD < 0 || s.Level < 0 || x.Phi < 0 || x.Phi >= 1 || x.D < 0 || x.D >= 0.5:
			return fmt.Errorf("simulate: noise: sd %g, level %g, phi %g, d %g: want sd and level of 0 or more, phi in [0, 1), d in [0, 0.5)", x.SD, s.Level, x.Phi, x.D)
		case x.Tails != 0 && x.Tails <= 2:
			return fmt.Errorf("simulate: noise: tails %g: want more than 2 degrees of freedom", x.Tails)
		case s.SawPeriod < 0 || (s.Saw != 0 && s.SawPeriod == 0):
			return fmt.Errorf("simulate: a saw-tooth needs a period")
		}
	}
	return nil
}

// Run returns a run's ticks, those that are missing left out: seq counts those that
// are there. startWallNS and startBootNS are the run's start. seed makes it
// repeatable; two runs of an experiment need two.
func (p *Plan) Run(seed uint64, startWallNS, startBootNS int64) []schemas.Tick {
	n := int(p.Duration / p.Interval)
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	thr := p.Throughput.series(n, p.Interval, r)
	var mem []float64
	if p.Memory.Level > 0 {
		mem = p.Memory.series(n, p.Interval, r)
	}
	var out []schemas.Tick
	for i := range n {
		end := p.Interval * time.Duration(i+1)
		if (p.Gap > 0 && end > p.GapAt && end <= p.GapAt+p.Gap) || (p.Missing > 0 && r.Float64() < p.Missing) {
			continue
		}
		wall, boot := startWallNS+end.Nanoseconds(), startBootNS+end.Nanoseconds()
		t := schemas.Tick{Seq: int64(len(out) + 1)}
		row := schemas.NewRow(&schemas.Workload, wall, boot, p.Interval.Nanoseconds())
		row.SetText("driver", "simulate")
		row.SetText("unit", "operation")
		row.SetFloat("operations", max(thr[i], 0)*p.Interval.Seconds())
		row.SetInt("errors", 0)
		t.Rows = append(t.Rows, row)
		if mem != nil {
			t.Blocks = append(t.Blocks, p.memoryBlock(mem[i], wall, boot))
		}
		out = append(out, t)
	}
	return out
}

var (
	memTotal     = schemas.Memory.Column("total_bytes")
	memAvailable = schemas.Memory.Column("available_bytes")
	memAnon      = schemas.Memory.Column("anon_bytes")
)

// memoryBlock is a meminfo in which all that is used is anonymous memory.
func (p *Plan) memoryBlock(used float64, wall, boot int64) schemas.Block {
	total := int64(p.MemoryTotal)
	if total == 0 {
		total = int64(8 * p.Memory.Level)
	}
	u := min(max(int64(used), 0), total) &^ 4095
	b := schemas.Block{Table: &schemas.Memory, WallNS: wall, BootNS: boot}
	b.Resize(1)
	b.Set(0, memTotal, total)
	b.Set(0, memAvailable, total-u)
	b.Set(0, memAnon, u)
	return b
}

// series returns the signal's n values.
func (s *Signal) series(n int, interval time.Duration, r *rand.Rand) []float64 {
	noise := s.Noise.series(n, r)
	base := s.Level * (1 + s.Effect) * (1 + s.Run*r.NormFloat64())
	out := make([]float64, n)
	for i := range out {
		at := interval.Seconds() * (float64(i) + 0.5)
		x := 1 + noise[i]
		if s.Transient != 0 && s.TransientTime > 0 {
			x += s.Transient * math.Exp(-at/s.TransientTime.Seconds())
		}
		x += s.Daily * math.Sin(2*math.Pi*(at/86400+s.Phase))
		if s.Step != 0 && at >= s.StepAt.Seconds() {
			x += s.Step
		}
		x += s.Trend * at / (float64(n) * interval.Seconds())
		if s.Saw != 0 {
			x += s.Saw * math.Mod(at, s.SawPeriod.Seconds()) / s.SawPeriod.Seconds()
		}
		if s.Spikes > 0 && r.Float64() < s.Spikes {
			x += s.SpikeSize
		}
		out[i] = base * x
	}
	return out
}

// series returns n values of the noise, from its stationary distribution.
func (x Noise) series(n int, r *rand.Rand) []float64 {
	draw := r.NormFloat64
	if x.Tails > 0 {
		scale := math.Sqrt((x.Tails - 2) / x.Tails)
		draw = func() float64 { return scale * r.NormFloat64() / math.Sqrt(chiSquared(x.Tails, r)/x.Tails) }
	}
	out := make([]float64, n)
	if x.SD == 0 {
		return out
	}
	if x.D > 0 {
		return x.longMemory(n, draw)
	}
	innovation := math.Sqrt(1 - x.Phi*x.Phi)
	v := draw()
	for i := range out {
		out[i] = x.SD * v
		v = x.Phi*v + innovation*draw()
	}
	return out
}

// longMemory convolves white noise with the first weights of (1-B)^-d: psi(0) = 1,
// psi(k) = psi(k-1) (k-1+d)/k. 2,000 of them, and as many values before the first,
// keep the memory of any series that is looked at here.
func (x Noise) longMemory(n int, draw func() float64) []float64 {
	const terms = 2000
	psi := make([]float64, terms)
	psi[0] = 1
	power := 1.0
	for k := 1; k < terms; k++ {
		psi[k] = psi[k-1] * (float64(k) - 1 + x.D) / float64(k)
		power += psi[k] * psi[k]
	}
	white := make([]float64, n+terms)
	for i := range white {
		white[i] = draw()
	}
	scale := x.SD / math.Sqrt(power)
	out := make([]float64, n)
	for i := range out {
		sum := 0.0
		for k, w := range psi {
			sum += w * white[i+terms-k]
		}
		out[i] = scale * sum
	}
	return out
}

// chiSquared draws from a chi-squared distribution: a gamma variate of shape df/2 and
// scale 2 (Marsaglia, Tsang 2000, doi:10.1145/358407.358414).
func chiSquared(df float64, r *rand.Rand) float64 {
	d := df/2 - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		z := r.NormFloat64()
		v := 1 + c*z
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < 0.5*z*z+d-d*v+d*math.Log(v) {
			return 2 * d * v
		}
	}
}
