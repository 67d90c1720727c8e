package analyze

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// pyMannKendall reads the inputs and expected values of the test-suite of
// pyMannKendall, checked there against R packages; testdata/pymannkendall.
func pyMannKendall(t testing.TB) (x []float64, rows [][]float64, want map[string]map[string]float64) {
	t.Helper()
	b, err := os.ReadFile("testdata/pymannkendall/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		One      []*float64   `json:"arbitrary_1d_data"`
		Two      [][]*float64 `json:"arbitrary_2d_data"`
		Expected map[string]struct{ Expected map[string]any }
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	value := func(p *float64) float64 {
		if p == nil {
			return math.NaN()
		}
		return *p
	}
	for _, p := range f.One {
		x = append(x, value(p))
	}
	for _, r := range f.Two {
		var row []float64
		for _, p := range r {
			row = append(row, value(p))
		}
		rows = append(rows, row)
	}
	want = map[string]map[string]float64{}
	for name, e := range f.Expected {
		want[name] = map[string]float64{}
		for k, v := range e.Expected {
			if v, ok := v.(float64); ok {
				want[name][k] = v
			}
		}
	}
	return x, rows, want
}

func TestMannKendallReference(t *testing.T) {
	x, rows, want := pyMannKendall(t)
	sen := func(s, i float64) MannKendallResult { return MannKendallResult{Slope: s, Intercept: i} }
	got := map[string]MannKendallResult{
		"test_sens_slope":                                 sen(TheilSen(x)),
		"test_seasonal_sens_slope":                        sen(TheilSenSeasonal(x, 12)),
		"test_original_test":                              MannKendall(x),
		"test_hamed_rao_modification_test":                MannKendallHamedRao(x, 0),
		"test_hamed_rao_modification_test_lag3":           MannKendallHamedRao(x, 3),
		"test_yue_wang_modification_test":                 MannKendallYueWang(x, 0),
		"test_yue_wang_modification_test_lag1":            MannKendallYueWang(x, 1),
		"test_pre_whitening_modification_test":            MannKendallPreWhitening(x),
		"test_trend_free_pre_whitening_modification_test": MannKendallTrendFree(x),
		"test_seasonal_test":                              MannKendallSeasonal(x, 12),
		"test_regional_test":                              MannKendallRegional(rows),
		"test_correlated_multivariate_test":               MannKendallCorrelated(rows),
		"test_correlated_seasonal_test":                   MannKendallCorrelatedSeasonal(x, 12),
		"test_partial_test":                               MannKendallPartial(mannKendallColumn(rows, 0), mannKendallColumn(rows, 1)),
	}
	if len(got) != len(want) {
		t.Errorf("%d tests of %d", len(got), len(want))
	}
	worst := 0.0
	for name, w := range want {
		g := got[name]
		have := map[string]float64{"p": g.P, "z": g.Z, "Tau": g.Tau, "s": g.S, "var_s": g.VarS, "slope": g.Slope, "intercept": g.Intercept}
		for k, v := range w {
			e := math.Abs(have[k]-v) / math.Abs(v)
			worst = max(worst, e)
			if !(e <= 1e-11) {
				t.Errorf("%s: %s is %.17g, want %.17g", name, k, have[k], v)
			}
		}
	}
	t.Logf("greatest relative error %.1e", worst)
}

func TestMannKendallPoorData(t *testing.T) {
	nan := math.NaN()
	for _, x := range [][]float64{nil, {1}, {1, 2}, {nan, nan, nan}, {3, 3, 3, 3}, {math.Inf(1), 1, nan}} {
		for _, r := range []MannKendallResult{MannKendall(x), MannKendallHamedRao(x, 0), MannKendallYueWang(x, 0),
			MannKendallPreWhitening(x), MannKendallTrendFree(x), MannKendallSeasonal(x, 2), MannKendallPartial(x, x)} {
			if r.Known || r.P != 1 || len(r.Warnings) != 1 {
				t.Errorf("%v: %+v, want unknown with a warning", x, r)
			}
		}
	}
	if r := MannKendall([]float64{1, 2, 3, 4, 5}); r.S != 10 || r.Tau != 1 || r.Slope != 1 || r.Intercept != 1 {
		t.Errorf("a line: %+v", r)
	}
}
