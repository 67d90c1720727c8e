package analyze

import (
	"math"
	"testing"
)

// relErr is the relative difference of got from a want that is not 0.
func relErr(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }

func TestNoncentralT(t *testing.T) {
	// 40-digit quadrature with mpmath 1.3; agrees with scipy 1.17 stats.nct.
	for _, tt := range []struct{ t, df, ncp, lower, upper float64 }{
		{2.776445105197799, 4, 3, 0.3807424629197882, 0.6192575370802118},
		{2.776445105197799, 4, 0, 0.97500000000000012, 0.024999999999999876},
		{-2.776445105197799, 4, 3, 3.9223221173688277e-6, 0.99999607767788263},
		{4.302652729911275, 2, 5, 0.28081946466756535, 0.71918053533243465},
		{12.706204736432095, 1, 2.5, 0.84436874720586871, 0.15563125279413129},
		{2.1, 17.3, 1.4, 0.73590075023540965, 0.26409924976459035},
		{1.97, 200, 2.8, 0.20370525092145803, 0.79629474907854197},
		{3.3, 2.4, 0.7, 0.91428661399090388, 0.085713386009096123},
		{50, 4, 40, 0.63379982874971916, 0.36620017125028084},
		{1.5, 1e5, 4.3, 0.0025552253170445583, 0.99744477468295544},
		{8.6, 4, 12, 0.10972841884622366, 0.89027158115377634},
		{100, 3, 20, 0.98926042636836146, 0.01073957363163854},
	} {
		lower, upper := noncentralT(tt.t, tt.df, tt.ncp)
		if relErr(lower, tt.lower) > 1e-12 || relErr(upper, tt.upper) > 1e-12 {
			t.Errorf("noncentralT(%v, %v, %v) = %v, %v, want %v, %v", tt.t, tt.df, tt.ncp, lower, upper, tt.lower, tt.upper)
		}
	}
}

func TestTCritical(t *testing.T) {
	// scipy 1.10 stats.t.ppf(.975, df), itself good to 4e-10: df 1 has tan(.475 pi) =
	// 12.706204736174705 in closed form.
	for df, want := range map[float64]float64{
		1: 12.706204736432095, 2: 4.302652729911275, 3: 3.182446305284263, 4: 2.7764451051977987,
		5: 2.5705818366147395, 9: 2.2621571627409915, 19: 2.093024054408263, 72: 1.9934635662785827,
	} {
		if got := tCritical(0.05, df); relErr(got, want) > 5e-10 {
			t.Errorf("tCritical(.05, %v) = %v, want %v", df, got, want)
		}
	}
	if got, want := tCritical(0.05, 1), math.Tan(0.475*math.Pi); relErr(got, want) > 1e-14 {
		t.Errorf("tCritical(.05, 1) = %v, want %v", got, want)
	}
	for _, df := range []float64{1, 1.3, 2, 2.7, 4, 17.2, 300, 1e6, 1e13} {
		for _, alpha := range []float64{0.999, 0.5, 0.05, 1e-4, 1e-12} {
			if got := tP(tCritical(alpha, df), df); relErr(got, alpha) > 1e-12 {
				t.Errorf("tP(tCritical(%v, %v)) = %v", alpha, df, got)
			}
		}
	}
}

func TestTP(t *testing.T) {
	// 40-digit incomplete beta function, mpmath 1.3.
	for _, tt := range []struct{ t, df, want float64 }{
		{2.5, 3.7, 0.071822022911826773},
		{0.3, 3.7, 0.7802674871314623},
		{1e-05, 4, 0.99999250000000016},
		{30, 2.2, 0.00064402567821345156},
		{7, 1e6, 2.5612241113740789e-12},
		{7.2, 300, 4.8674874766841735e-12},
		{1.2, 50.5, 0.23573876014354545},
		{200, 1, 0.0031830723364119383},
		{12, 8, 2.1438667476887712e-6},
		{1e8, 3, 2.2053155816871674e-24},
		{0.9, 1.5, 0.48896754700861339},
		{3, 1e9, 0.0026997961297379157},
		{0.001, 250, 0.9992029130562023},
		{40, 25, 3.4699802777591578e-24},
		{2, 99.5, 0.048225866626978482},
	} {
		if got := tP(tt.t, tt.df); relErr(got, tt.want) > 1e-12 {
			t.Errorf("tP(%v, %v) = %v, want %v (rel %.1e)", tt.t, tt.df, got, tt.want, relErr(got, tt.want))
		}
	}
}

func TestPower(t *testing.T) {
	// statsmodels 0.13 TTestIndPower: effect in standard deviations, n a side.
	for _, tt := range []struct{ n, effect, want float64 }{
		{3, 2, 0.46264081189130507},
		{5, 1.5, 0.5493855978198305},
	} {
		if got := power(tt.effect*math.Sqrt(tt.n/2), 2*tt.n-2, tCritical(0.05, 2*tt.n-2)); relErr(got, tt.want) > 1e-9 {
			t.Errorf("power(n=%v, d=%v) = %v, want %v", tt.n, tt.effect, got, tt.want)
		}
	}
	for _, df := range []float64{1, 2.3, 4, 9, 60, 1e4} {
		for _, ncp := range []float64{0, 0.5, 3, 8, 30} {
			c := tCritical(0.01, df)
			_, upper := noncentralT(c, df, ncp)
			lower, _ := noncentralT(-c, df, ncp)
			if got := power(ncp, df, c); math.Abs(got-upper-lower) > 1e-8 {
				t.Errorf("power(%v, %v) = %v, want %v", ncp, df, got, upper+lower)
			}
		}
	}
	// statsmodels asks for 16.7147 a side.
	if n, ok := newPlanner(0.05, 0.8).runs(1, func(n int) float64 { return 2*float64(n) - 2 }); !ok || n != 17 {
		t.Errorf("runs(1) = %d, %v, want 17", n, ok)
	}
}

func BenchmarkNoncentralT(b *testing.B) {
	for b.Loop() {
		noncentralT(2.776, 4, 3)
	}
}

func BenchmarkTCritical(b *testing.B) {
	for b.Loop() {
		tCritical(0.05, 3.7)
	}
}

func BenchmarkPower(b *testing.B) {
	for b.Loop() {
		power(3, 4, 2.776)
	}
}
